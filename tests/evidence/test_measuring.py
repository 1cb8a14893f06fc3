"""Measuring: lines are right (sympy judges), do not depend on company, and a grid survives kills, other
weights and other commits."""

import dataclasses
import json
import math

import numpy as np
import pytest
import sympy
import torch

from nsr.book.run_records import certificate_path, read_table
from nsr.data.problems import Problem
from nsr.data.templates import TreeRecipe, training_draws
from nsr.evidence import measuring, reference_tables
from nsr.evidence.measuring import Row, measure, measure_all, problems_of, ranks, share_with_rank
from nsr.evidence.novelty import TrainingSet
from nsr.evidence.reference_tables import results_path
from nsr.formulas.expressions import SIMPLIFIED
from nsr.network.checkpoints import Seen, export, load_folder
from nsr.network.model import Config, Network
from nsr.search.oracle import Oracle
from nsr.search.result import Result
from nsr.search.strategies import BeamSearch

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
    export(folder, Network(config), SIMPLIFIED, templates, Seen.from_counts({}), about)
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
    part = measure(trained, BeamSearch(4, max_len=8), "not_included", 1, first=2, **FEW)
    same = [
        name for name in measured.columns if name not in ("seconds", "trace", "log_prob")
    ]  # the trace has seconds in it, too
    assert part[same].to_csv() == measured[:2][same].to_csv()
    np.testing.assert_allclose(
        part.log_prob, measured.log_prob[:2], rtol=1e-6
    )  # a matrix product rounds by the number of its rows


def test_ranks_are_places_in_the_order_of_generation():
    x = np.linspace(-2, 2, 30)[:, None]
    oracle = Oracle(Problem(x, np.sin(x[:, 0]), truth=("sin", "x1")))
    oracle.verify([("exp", "x1"), ("cos", "add", "C", "x1"), ("mul", "C", "sin", "x1"), ("sin", "x1")])
    found = ranks(Result.of(oracle, "by hand", 4, 0, None))
    assert found == {
        "pick_rank": 4,
        "accurate_rank": 2,
        "truth_rank": 3,
    }  # a phase makes the cosine fit; the shortest exact one is picked
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
    noisy = dataclasses.replace(plain, noise=0.1, first=3)
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
    clean, given, _, again = [
        problems for problems in seen if len(problems) > 1
    ]  # one is searched before the clock runs
    for before, after, other in zip(clean, given, again):
        np.testing.assert_array_equal(after.y, other.y)  # the same for every strategy
        np.testing.assert_array_equal(before.y_fresh, after.y_fresh)
        assert 0.02 < np.std(after.y - before.y) / before.y.std() < 0.3
    assert table.problem.tolist() == [p.name for p in [*clean, *given]]


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
    births = json.loads(certificate_path(path).read_text())["rows"]
    assert set(births) == set(table["run"])
    assert all(
        birth["parameters"]["weights_digest"] and birth["seconds"] > 0 and birth["date"]
        for birth in births.values()
    )


def test_a_certificate_without_its_table_is_measured_again(trained, tmp_path, counted):
    path = tmp_path / "table.csv"
    measure_all(GRID[:1], path, trained)
    before = path.read_bytes()
    measure_all(GRID[:2], path, trained)
    path.write_bytes(before)  # killed between the two writes of the second row
    assert len(measure_all(GRID[:2], path, trained)) == 2 * FEW["n_problems"] and len(counted[0]) == 3


def test_other_weights_replace_the_rows_and_other_rows_stay(trained, tmp_path, counted):
    calls, _ = counted
    path = tmp_path / "table.csv"
    measure_all(GRID[:2], path, trained)
    assert (
        len(measure_all(GRID[2:3], path, trained)) == 3 * FEW["n_problems"]
    )  # rows that were not asked for stay
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
    monkeypatch.setattr(reference_tables, "OUTPUTS", tmp_path)
    assert results_path("no such table").is_relative_to(reference_tables.REFERENCE)
    own = results_path("no such table", write=True)
    own.parent.mkdir(parents=True)
    own.touch()
    assert results_path("no such table") == own
