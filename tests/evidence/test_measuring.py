"""Measuring: lines are right (sympy judges), do not depend on company, and a grid survives kills, other
weights and other commits."""

import dataclasses
import json
import math
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sympy
import torch

from nsr.book.result_tables import read_table, record_path
from nsr.book.run_records import REFERENCE
from nsr.data.problems import Problem
from nsr.data.templates import TreeRecipe, training_draws
from nsr.evidence import measuring, reference_tables
from nsr.evidence.measuring import measure, measure_all, problems_of, ranks, share_with_rank, snapshot_steps
from nsr.evidence.novelty import TrainingSet
from nsr.evidence.reference_tables import Job, read_records, results_path
from nsr.evidence.rows import Row
from nsr.formulas.expressions import SIMPLIFIED
from nsr.network.checkpoints import export, load_folder, weights_digest
from nsr.network.model import Config, Network
from nsr.network.shown import Seen
from nsr.search.oracle import Oracle
from nsr.search.protocol import PROTOCOLS
from nsr.search.result import Result
from nsr.search.strategies import GVS, TPSR, BeamSearch, NSRwH
from nsr.search.strategies.names import by_name, kind_of

FEW = {"n_problems": 4, "n_points": 20}


def newborn(folder, seed):
    """An untrained network in the form of a trained one: it writes nonsense, and the measuring must not mind."""
    torch.manual_seed(seed)
    config = Config(
        vocabulary=len(SIMPLIFIED),
        width=16,
        heads=2,
        encoder_blocks=1,
        inducing=4,
        seeds=4,
        decoder_layers=1,
        feedforward=16,
    )
    templates = set(training_draws(30, TreeRecipe(SIMPLIFIED, 1, 3)))
    about = {"settings": {"min_operators": 1, "max_operators": 3, "max_constants": 6}, "history": []}
    export(folder, Network(config), SIMPLIFIED, templates, Seen.of([]), about)
    return load_folder(folder, "test/newborn")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return newborn(tmp_path_factory.mktemp("newborn"), 0)


@pytest.fixture(scope="module")
def measured(trained):
    return measure(trained, BeamSearch(4, max_len=8), "not_included", 1, **FEW)


def test_one_line_per_problem_with_the_r2_that_sympy_finds(trained, measured):
    problems = problems_of(trained, "not_included", 1, **FEW)
    assert measured["problem"].tolist() == [problem.name for problem in problems]
    assert set(measured["seed"]) == {1} and set(measured["test_set"]) == {"not_included"}
    names = sympy.symbols("x1:6")
    for line, problem in zip(measured.itertuples(), problems):
        formula = sympy.lambdify(names, sympy.parse_expr(line.answer_infix), "numpy")
        columns = np.pad(problem.X_fresh, ((0, 0), (0, 5 - problem.n_variables))).T
        y_hat = np.broadcast_to(formula(*columns), problem.y_fresh.shape)
        r2 = 1 - np.sum((problem.y_fresh - y_hat) ** 2) / np.sum(
            (problem.y_fresh - problem.y_fresh.mean()) ** 2
        )
        assert line.r2 == pytest.approx(r2, rel=1e-3, abs=1e-3)  # the printed constants have six digits


def test_not_included_is_not_included(trained):
    for name in ("not_included", "not_included_matched"):
        truths = [problem.truth for problem in problems_of(trained, name, 0, **FEW)]
        novelty = TrainingSet.of(trained)
        assert all(novelty.novelty(truth)["novel"] for truth in truths)


def test_the_first_problems_have_the_lines_they_have_among_all(trained, measured):
    part = measure(trained, BeamSearch(4, max_len=8), "not_included", 1, limit=2, **FEW)
    # the trace has seconds in it, too
    same = [name for name in measured.columns if name not in ("seconds", "trace", "log_prob")]
    assert part[same].to_csv() == measured[:2][same].to_csv()
    # a matrix product rounds by the number of its rows
    np.testing.assert_allclose(part.log_prob, measured.log_prob[:2], rtol=1e-6)


def test_ranks_are_places_in_the_order_of_generation():
    x = np.linspace(-2, 2, 30)[:, None]
    oracle = Oracle(Problem(x, np.sin(x[:, 0]), truth=("sin", "x1")))
    oracle.verify([("exp", "x1"), ("cos", "add", "C", "x1"), ("mul", "C", "sin", "x1"), ("sin", "x1")])
    found = ranks(Result.of(oracle, "by hand", 4, 0, None))
    # a phase makes the cosine fit; the shortest exact one is picked
    assert found == {"pick_rank": 4, "accurate_rank": 2, "truth_rank": 3}
    empty = ranks(Result.of(Oracle(oracle.problem), "by hand", 4, 0, None))
    assert all(math.isnan(value) for value in empty.values())


def test_share_with_rank_is_the_share_counted_by_hand():
    values = [5, math.nan, 1, 1, 7]
    assert share_with_rank(values, range(1, 9)).tolist() == [
        sum(v <= k for v in values) / 5 for k in range(1, 9)
    ]


# ---- the grid -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch):
    """How often `measure` is called, and a way to make it fail."""
    real, calls = measuring.measure, []

    def watched(*arguments, **options):
        if len(calls) == watched.fails_at:
            raise RuntimeError("killed")
        calls.append(arguments[2:4])
        return real(*arguments, **options)

    watched.fails_at = -1
    monkeypatch.setattr(measuring, "measure", watched)
    return calls, watched


GRID = [
    Row(BeamSearch(2, max_len=6, length_penalty=alpha), "baseline", seed, **FEW, show=("length_penalty",))
    for alpha in (1.0, 0.0)
    for seed in (0, 1)
]


def test_a_row_with_noise_is_a_row_of_its_own_and_is_judged_on_clean_points(
    trained, measured, monkeypatch, tmp_path
):
    plain = Row(BeamSearch(4, max_len=8), "not_included", 1, **FEW)
    noisy = dataclasses.replace(plain, noise=0.1, limit=3)
    assert not {"noise", "first"} & set(plain.parameters(trained)), (
        "tables measured before there was noise keep their rows"
    )
    assert noisy.parameters(trained) == plain.parameters(trained) | {"noise": 0.1, "first": 3}
    seen, real = [], measuring.solve_all
    monkeypatch.setattr(
        measuring, "solve_all", lambda problems, *a, **k: (seen.append(problems), real(problems, *a, **k))[1]
    )
    for folder, strategy in (("a", noisy.strategy), ("b", BeamSearch(1, max_len=8))):
        table = measure_all(
            [plain, dataclasses.replace(noisy, strategy=strategy)],
            tmp_path / folder / "noise.csv.gz",
            trained,
        )
        assert table["noise"].fillna(0).tolist() == [0, 0, 0, 0, 0.1, 0.1, 0.1]
    # one is searched before the clock runs
    clean, given, _, again = [problems for problems in seen if len(problems) > 1]
    for before, after, other in zip(clean, given, again):
        np.testing.assert_array_equal(after.y, other.y)  # the same for every strategy
        np.testing.assert_array_equal(before.y_fresh, after.y_fresh)
        assert 0.02 < np.std(after.y - before.y) / before.y.std() < 0.3
    assert table.problem.tolist() == [p.name for p in [*clean, *given]]


def test_a_protocol_is_a_decoder_and_a_fit_and_rows_from_before_there_were_protocols_keep_their_records(
    trained, tmp_path
):
    rows = [Row.under(protocol, "beam", 3, "not_included", **FEW) for protocol in PROTOCOLS]
    table = measure_all(rows, tmp_path / "protocols.csv.gz", trained)
    assert table.groupby("protocol", sort=False)["problem"].nunique().to_dict() == dict.fromkeys(PROTOCOLS, 4)
    ours, published, decoder, fit = (row.parameters(trained) for row in rows)
    assert ours == Row(BeamSearch(3), "not_included", **FEW).parameters(trained)
    assert published == decoder | {"fit": "bfgs"} and fit == ours | {"fit": "bfgs"}
    assert decoder["options"] == ours["options"] | {"masked": False, "stop": "published"}
    assert (table.evaluations[table.fits > 0] > 0).all()
    for strategy in (TPSR(), NSRwH(given="all"), GVS(TPSR())):
        options = Row(strategy, "not_included").parameters(trained)["options"]
        assert "stop" not in options | options.get("predictor", {})
    assert "stop" in Row(TPSR(stop="enough"), "not_included").parameters(trained)["options"]


def test_a_killed_grid_loses_one_row_and_goes_on(trained, tmp_path, counted):
    calls, watched = counted
    path = tmp_path / "table.csv.gz"
    watched.fails_at = 2
    with pytest.raises(RuntimeError):
        measure_all(GRID, path, trained)
    assert len(read_table(path)) == 2 * FEW["n_problems"]
    watched.fails_at = -1
    table = measure_all(GRID, path, trained)
    assert len(calls) == 4 and len(table) == 4 * FEW["n_problems"]
    assert table.groupby(["length_penalty", "seed"]).size().tolist() == [4, 4, 4, 4]
    again = measure_all(GRID, path, trained)
    assert len(calls) == 4 and again.equals(table)
    records = json.loads(record_path(path).read_text())["rows"]
    assert set(records) == set(table["run"])
    assert all(
        record["parameters"]["weights_digest"] and record["seconds"] > 0 and record["date"]
        for record in records.values()
    )


@pytest.mark.parametrize("moment, measured", [("table", 3), ("record", 2)])
def test_a_kill_between_table_and_record_loses_nothing_that_was_written(
    moment, measured, trained, tmp_path, counted, monkeypatch
):
    path, replace = tmp_path / "table.csv", os.replace
    file = path if moment == "table" else record_path(path)
    measure_all(GRID[:1], path, trained)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda one, other: replace(one, other) if other != file else killed())
        with pytest.raises(KeyboardInterrupt):
            measure_all(GRID[:2], path, trained)
    first = measure_all(GRID[:1], path, trained)  # what was finished before is there in any case
    assert len(first) == (measured == 2) * FEW["n_problems"] + FEW["n_problems"] and len(counted[0]) == 2
    assert len(measure_all(GRID[:2], path, trained)) == 2 * FEW["n_problems"] and len(counted[0]) == measured


def killed():
    raise KeyboardInterrupt


def test_other_weights_replace_the_rows_and_other_rows_stay(trained, tmp_path, counted):
    calls, _ = counted
    path = tmp_path / "table.csv"
    measure_all(GRID[:2], path, trained)
    # rows that were not asked for stay
    assert len(measure_all(GRID[2:3], path, trained)) == 3 * FEW["n_problems"]
    other = newborn(tmp_path / "other", 1)
    assert len(measure_all(GRID[:1], path, other)) == FEW["n_problems"] and len(calls) == 4
    namesake = dataclasses.replace(other, name="test/another")
    assert len(measure_all(GRID[:1], path, namesake)) == 2 * FEW["n_problems"]


def test_another_commit_is_no_reason_to_measure_again(trained, tmp_path, counted, monkeypatch):
    path = tmp_path / "table.csv"
    measure_all(GRID[:1], path, trained)
    monkeypatch.setattr("nsr.book.run_records.git_state", lambda: ("another", True))
    measure_all(GRID[:1], path, trained)
    assert len(counted[0]) == 1


def test_test_sets_of_different_sizes_do_not_share_a_table(trained, tmp_path):
    measure_all(GRID[:1], tmp_path / "table.csv", trained)
    before = (tmp_path / "table.csv").read_bytes()
    with pytest.raises(ValueError, match="holds test sets of 4 problems with 20 points"):
        measure_all([dataclasses.replace(GRID[0], n_problems=3)], tmp_path / "table.csv", trained)
    assert (tmp_path / "table.csv").read_bytes() == before


def test_an_interrupted_search_is_no_result(trained, tmp_path, monkeypatch):
    real = measuring.measure
    monkeypatch.setattr(measuring, "measure", lambda *a, **o: real(*a, **o).assign(stopped="interrupted"))
    with pytest.raises(KeyboardInterrupt):
        measure_all(GRID[:1], tmp_path / "table.csv", trained)
    assert not (tmp_path / "table.csv").exists()


def test_results_are_read_from_the_readers_own_place_first(tmp_path, monkeypatch):
    monkeypatch.setattr(reference_tables, "OWN", tmp_path)
    assert results_path("no such table").is_relative_to(reference_tables.REFERENCE)
    own = results_path("no such table", write=True)
    own.parent.mkdir(parents=True)
    own.touch()
    assert results_path("no such table") == own
    monkeypatch.setenv("NSR_REFERENCE", "1")
    assert results_path("no such table").is_relative_to(reference_tables.REFERENCE)


def test_committed_rows_stand_behind_the_own_ones_and_publishing_joins_them(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(reference_tables, "OWN", tmp_path / "own")
    monkeypatch.setattr(reference_tables, "REFERENCE", tmp_path / "reference")
    shipped = results_path("some")
    measure_all(GRID[:1], shipped, trained)
    before = shipped.read_bytes()
    own = results_path("some", write=True)
    both = measure_all(GRID[:2], own, trained)
    assert shipped.read_bytes() == before, "a measurement never writes to the reference"
    assert both.run.nunique() == 2 and len(read_records(own)[1]) == 1, "a committed row is not measured again"
    other = dataclasses.replace(newborn(tmp_path / "other", 1), name=trained.name)
    measure_all(GRID[:1], own, other)
    assert reference_tables.publish_tables() == [shipped]
    digests = {r["parameters"]["weights_digest"] for r in read_records(shipped)[1].values()}
    assert digests == {weights_digest(other)}, "rows of other weights of this name are gone"


# ---- the one call -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def table(trained, tmp_path, monkeypatch, counted):
    """A project whose tables lie in `tmp_path`; a call asks for the rows of the table `beam`."""
    for place in ("OWN", "REFERENCE"):
        monkeypatch.setattr(reference_tables, place, tmp_path / place)

    def ask(rows=GRID, network=trained, **options):
        return measuring.measured("beam", rows, network, **options)

    return ask


def test_a_table_is_read_and_only_what_it_lacks_is_measured(table, counted, capsys):
    assert len(table(GRID[:1], recompute=True)) == 4 and len(counted[0]) == 1
    assert "beam, measured: 4 lines, 20" in capsys.readouterr().out
    part = table(GRID[:3])
    said = capsys.readouterr().out
    assert len(part) == 4 and len(counted[0]) == 1 and "missing: beam b=2 baseline seed 1, " in said
    assert said.startswith("beam, read: 4 lines, 20") and ", commit " in said
    whole = table(GRID[:3], recompute=True)
    assert len(whole) == 12 and len(counted[0]) == 3
    assert table(GRID[1:2]).equals(whole[whole.run == whole.run[4]].reset_index(drop=True))
    assert len(counted[0]) == 3, "reading measures nothing"
    capsys.readouterr()
    assert len(table(GRID[:3], recompute=True)) == 12 and len(counted[0]) == 3
    assert capsys.readouterr().out.startswith("beam, read: ")


def test_without_a_table_a_few_problems_of_the_first_seed_are_searched_and_nothing_is_kept(
    table, counted, capsys, tmp_path, trained
):
    lines = table(live=2)
    assert "beam, live: there is no table yet, so 4 searches were made now" in capsys.readouterr().out
    assert len(lines) == 4 and set(lines.seed) == {0} and set(lines.length_penalty) == {0.0, 1.0}
    assert not list(tmp_path.rglob("*.csv*"))
    tiny = dataclasses.replace(trained, name="tiny/newborn")
    assert len(table(network=tiny, live=2, recompute=True)) == 16  # all of it, and recompute keeps nothing
    assert not list(tmp_path.rglob("*.csv*"))
    table(GRID[:1], recompute=True)
    other = [dataclasses.replace(row, n_problems=3) for row in GRID[:1]]
    assert len(table(other, live=3)) == 3 and "the table has none of these rows" in capsys.readouterr().out
    assert len(table(GRID[:1], live=[GRID[1]])) == 4 and table(other, live=[GRID[1]]).seed.tolist() == [1] * 4


def test_of_several_networks_each_line_says_which_made_it(table, trained):
    both = {"a": trained, "b": trained}
    rows = [dataclasses.replace(GRID[0], weights=name) for name in both]
    for options in ({"live": 2}, {"recompute": True}, {}):
        lines = table(rows, both, by_network=True, **options)
        assert lines.network.tolist() == sorted([*lines.network]) and set(lines.network) == {"a", "b"}


def test_lines_of_other_weights_are_refused(table, tmp_path, capsys):
    table(GRID[:1], recompute=True)
    other = newborn(tmp_path / "other", 1)
    assert len(table(GRID[:1], other, live=1)) == 1
    assert "made with other weights, so 1 searches were made now" in capsys.readouterr().out


def test_what_is_not_shipped_is_known_by_the_other_parameters(table, trained, tmp_path, monkeypatch, capsys):
    """A snapshot or a network that made a table need not be here to read the table."""
    (snapshots := trained.folder.parent / "snapshots").mkdir()
    (snapshots / "step-7.safetensors").write_bytes((trained.folder / "weights.safetensors").read_bytes())
    rows = [dataclasses.replace(GRID[0], step=7), dataclasses.replace(GRID[1], weights=trained.name)]
    try:
        assert snapshot_steps("beam", trained) == [7]
        made = table(rows, {"": trained, trained.name: trained}, recompute=True)
    finally:
        for file in (snapshots / "step-7.safetensors", snapshots):
            file.unlink() if file.is_file() else file.rmdir()
    assert snapshot_steps("beam", trained) == [7], "the record knows what was followed"
    assert table(rows, trained).equals(made) and table(rows, trained, recompute=True).equals(made)
    with pytest.raises(FileNotFoundError, match="No weights for 'test/absent'"):
        table([dataclasses.replace(GRID[0], weights="test/absent")], trained, recompute=True)
    with pytest.raises(FileNotFoundError, match="nothing here to measure it with"):
        table([dataclasses.replace(GRID[0], step=8)], trained)


def test_flags_are_booleans_and_a_failure_is_neither_novel_nor_accurate(table, trained, capsys):
    lines = measure(trained, BeamSearch(2, max_len=6), "baseline", **FEW)
    lines.loc[0, ["answer", "answer_infix", "r2"]] = ["", "", -math.inf]  # a failure in a table of long ago,
    lines["novel"] = lines["novel"].astype(object)
    lines.loc[0, "novel"] = None  # which left its novelty open
    lines["novel_family"] = None  # and nobody looked at this
    known = {"weights": trained.name, "weights_digest": "?", "n": 1}
    job = Job("old", known, lambda: lines)
    for found in (table([job], recompute=True), table([job])):
        assert found.novel.dtype == found.same_template.dtype == found.accurate.dtype == bool
        assert not found.loc[0, ["novel", "accurate", "copied"]].any()
        assert found.novel_family.isna().all()
        assert found.novel[1:].tolist() == lines.novel[1:].tolist()


def test_a_table_made_at_once_is_made_read_or_live(table, trained, capsys, tmp_path):
    made = []

    def make():
        made.append(1)
        return pd.DataFrame({"value": [1.5]})

    few = pd.DataFrame({"value": [0.5]})
    assert table(make, live=lambda: few, seed=3).equals(few) and not made
    assert "beam, live: there is no table yet" in capsys.readouterr().out
    assert table(make, live=lambda: few, seed=3, recompute=True).value.tolist() == [1.5]
    assert table(make, live=lambda: few, seed=3).value.tolist() == [1.5] and len(made) == 1
    assert table(make, live=lambda: few, seed=4).equals(few)
    assert table(make, newborn(tmp_path / "other", 1), live=lambda: few, seed=3).equals(few)
    assert capsys.readouterr().out.count("made with other") == 2


@pytest.mark.parametrize(
    "table, strategy",
    [
        ("beam", "beam"),
        ("tpsr", "tpsr"),
        ("gvs", "gvs"),
        ("gvs", "gvs+tpsr"),
        ("nsrwh", "nsrwh-all"),
        ("families", "families"),
        ("local", "local"),
    ],
)
def test_an_option_that_came_later_renames_no_row_that_was_measured_before(table, strategy):
    row = Row(by_name(strategy, 1 if "tpsr" in strategy else 5), "not_included", weights="")
    settings = {"min_operators": 2, "max_operators": 5}
    trained = SimpleNamespace(
        name=f"laptop/{kind_of(strategy)}", folder=Path(), snapshots=dict, settings=settings
    )
    expected = row.parameters(trained)
    records = json.loads((REFERENCE / "laptop" / "results" / f"{table}.json").read_text())["rows"].values()
    known = [reference_tables._but_weights(record["parameters"]) for record in records]
    assert reference_tables._but_weights(expected) in known


@pytest.mark.parametrize(
    "path", sorted((REFERENCE / "laptop" / "results").glob("*.json")), ids=lambda p: p.stem
)
def test_the_names_of_the_runs_follow_from_their_parameters(path):
    """If this changed, no row of the reference tables would be found any more."""
    for run, record in json.loads(path.read_text()).get("rows", {}).items():
        assert Job("", record["parameters"], None).run == run
