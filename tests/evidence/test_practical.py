"""Practical test sets, units, bags, choice and baselines."""

import dataclasses
import gzip
import importlib
from pathlib import Path

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from tiny_full import tiny_full

from nsr.data.items import TemplateBank, sample_items
from nsr.data.practical_sets import BLACK_BOX, PMLB, SETS, TESTSETS, black_box_data, folder_of, practical_set
from nsr.data.problems import Problem
from nsr.data.rescaling import Units, unit
from nsr.data.templates import TreeRecipe, draw_templates
from nsr.evidence import measuring
from nsr.evidence.measuring import jobs_of, measure_all, network_for
from nsr.evidence.practical import labelled, practical_strategies
from nsr.evidence.reference_tables import lines_of, results_path
from nsr.evidence.rows import Row
from nsr.formulas.expressions import FULL, variables
from nsr.numbers.evaluation import evaluate, r2_score
from nsr.regressor import baselines
from nsr.search import subsampling
from nsr.search.engine import Budget, solve_all
from nsr.search.model_selection import description_length, promising, shortest
from nsr.search.oracle import Candidate
from nsr.search.strategies import BeamSearch
from nsr.search.subsampling import bags_of, solve_bagged


def here(kind: str) -> Path:
    try:
        return folder_of(kind)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


# ---- units ------------------------------------------------------------------------------------------------------------------


def test_formulas_come_back_in_the_users_units():
    """Judge: the same points, evaluated before and after, for 300 expressions and random units; not where
    rounding decides the value."""
    rng = np.random.default_rng(0)
    items = sample_items(
        TemplateBank(draw_templates(300, TreeRecipe(FULL, 1, 5), seed=1005), FULL), rng, 300, 20
    )
    tested = 0
    for i in range(300):
        units = Units(
            tuple(rng.choice([0.0, 0.0, 3.0, -20.0], 5).tolist()),
            tuple(rng.choice([1.0, 1.0, 10.0, 0.01], 5).tolist()),
            float(rng.choice([0.0, 5.0])),
            float(rng.choice([1.0, 100.0])),
        )
        X = items.X[i] * np.array(units.scale) + np.array(units.shift)  # (P, D)
        y, shaken = (
            units.y_shift + units.y_scale * evaluate(items.prefix(i), units.x(X) * nearly, items.values(i))
            for nearly in (1.0, 1.0 + 1e-13)
        )
        prefix, constants = units.back(items.prefix(i), items.values(i))
        sure = np.abs(shaken - y) <= 1e-7 * np.abs(y).max()  # not sin(x**15)
        tested += sure.sum()
        assert np.allclose(
            evaluate(prefix, X, constants)[sure], y[sure], rtol=1e-6, atol=1e-6 * np.abs(y).max()
        )
    assert tested > 300 * 15


def test_units_leave_training_data_alone_and_tame_the_rest():
    rng = np.random.default_rng(1)
    X = np.column_stack(
        [
            rng.uniform(1, 5, 50),
            rng.uniform(0, 334, 50),
            rng.uniform(1e-4, 3e-4, 50),
            rng.uniform(1990, 2020, 50),
            np.ones(50),
        ]
    )
    units = Units.of(X, 1e6 * X[:, 0])
    assert units.shift[:3] == (0.0, 0.0, 0.0) and units.scale[:3] == (1.0, 100.0, 1e-4)
    assert units.shift[3] > 1900 and units.y_scale == 1e6 and not units.trivial
    Z = units.x(X)
    assert np.abs(Z).max() <= 10 and Units.of(X[:, :1], X[:, 0]).trivial
    assert unit(np.full(3, 7.0)) == (0.0, 1.0) and np.isfinite(unit(np.full(3, 1e9))).all()


def test_no_constant_is_too_small_or_too_large_to_come_back():
    """Judge: the expression itself, in the units that were searched in; a value is allowed to be infinite, an
    error is not."""
    units = Units((0.0, 2000.0), (100.0, 8.0), 5.0, 1e6)
    X = np.random.default_rng(0).uniform([10, 1990], [300, 2010], (20, 2))
    for prefix in (
        ("mul", "x1", "mul", "C", "x2"),
        ("mul", "x1", "add", "mul", "C", "x2", "C"),
        ("div", "x1", "mul", "C", "x2"),
        ("pow5", "mul", "C", "x1"),
        ("exp", "mul", "C", "x1"),
        ("div", "C", "add", "C", "x1"),
        ("sub", "mul", "C", "x1", "mul", "C", "x1"),
    ):
        for value in (0.0, 1e-320, 1.0, 1e200, -1e308):
            constants = (value,) * prefix.count("C")
            with np.errstate(all="ignore"):
                before, (back, numbers) = (
                    evaluate(prefix, units.x(X), constants),
                    units.back(prefix, constants),
                )
                after = evaluate(back, X, numbers) if np.isfinite(numbers).all() else np.full(20, np.nan)
            both = np.isfinite(before) & np.isfinite(after) & (abs(value) < 1e100)
            assert np.allclose(units.y(after[both]), before[both], rtol=1e-6, atol=1e-6)


# ---- bags and choice --------------------------------------------------------------------------------------------------------


def test_bags_are_samples_of_the_points():
    problem = Problem(np.arange(500.0)[:, None], np.r_[np.zeros(499), 1.0], name="rare")
    bags = bags_of(problem, 3, 50, np.random.default_rng(0))
    assert [len(b.y) for b in bags] == [50] * 3 and all(set(b.X[:, 0]) <= set(problem.X[:, 0]) for b in bags)
    assert bags_of(bags[0], 1, 50, np.random.default_rng(0)) == [bags[0]]


def test_bagged_search_judges_on_all_points_and_adds_up_costs():
    trained, strategy = tiny_full(), BeamSearch(3)
    problems = practical_set("feynman", limit=4, n_points=60, n_fresh=20)
    plain = solve_all([Units.of(p.X, p.y).problem(p) for p in problems], strategy, trained)
    same = solve_bagged(problems, strategy, trained)
    assert [r.answer for r in same] == [r.answer for r in plain]
    for p, r in zip(problems, solve_bagged(problems, strategy, trained, n_bags=3, bag_size=30)):
        assert r.n_candidates == 9 and r.n_fits >= 9 and sum(r.generated.values()) == 9
        best = max(r.candidates, key=lambda c: c.r2)
        assert r.answer.r2 == best.r2
        units = Units.of(p.X, p.y)
        prefix, constants = units.back(r.answer.prefix, r.answer.constants)
        assert np.isclose(r2_score(p.y, evaluate(prefix, p.X, constants)), r.answer.r2, atol=1e-6)
    budget = solve_bagged(problems, strategy, trained, n_bags=2, bag_size=30, budget=Budget(candidates=4))
    assert all(r.n_candidates == 4 for r in budget)


def test_bags_cost_what_their_searches_cost(monkeypatch):
    real = subsampling.solve_all
    monkeypatch.setattr(
        subsampling,
        "solve_all",
        lambda *a, **k: [dataclasses.replace(r, seconds=10.0, processor=20.0) for r in real(*a, **k)],
    )
    (result,) = solve_bagged(
        practical_set("feynman", limit=1, n_points=60, n_fresh=20),
        BeamSearch(3),
        tiny_full(),
        n_bags=3,
        bag_size=30,
    )
    # and the little that judging them on all points takes
    assert 30 <= result.seconds < 40 and 60 <= result.processor < 70


def test_the_shortest_description_refuses_to_fit_noise():
    short, long = Candidate(("x1",), (), 0.95), Candidate(("add", "x1") * 10 + ("x1",), (), 0.951)
    assert shortest([long, short], 100) is short and shortest([long, short], 100_000) is long
    assert shortest([long, short], 100_000, floor=0.06) is short  # all of the rest is rounding
    assert description_length(1.0, 5, 9, 5) == np.inf  # as many constants as points explain anything
    assert set(promising([long, short], 1, 100)) == {long, short}
    assert shortest([Candidate(("x1",))], 10) is None and description_length(-np.inf, 10, 1, 0) == np.inf


# ---- sets -------------------------------------------------------------------------------------------------------------------


def test_five_variables_from_the_generator():
    problems = practical_set("only_five_variables_nc", n_points=30, n_fresh=10)
    assert len(problems) == len({p.truth for p in problems}) == 100
    for p in problems:
        assert variables(p.truth) == ("x1", "x2", "x3", "x4", "x5") and "C" not in p.truth and p.truth in FULL
        assert np.abs(p.X).max() <= 10 and np.allclose(p.y_fresh, evaluate(p.truth, p.X_fresh))
    some = practical_set("only_five_variables_nc", limit=3, n_points=30, n_fresh=10)
    assert all(np.array_equal(a.y, {p.name: p for p in problems}[a.name].y) for a in some)


def test_five_variables_from_the_list():
    path = here(TESTSETS) / "only_five_variables_nc.csv"
    problems = practical_set("only_five_variables_nc", path=path, n_points=20, n_fresh=5)
    assert len(problems) == 100 and all(len(variables(p.truth)) == 5 for p in problems)


def test_black_box_splits_rows_and_never_mixes_them():
    here(PMLB)
    assert len(BLACK_BOX) == len(set(BLACK_BOX)) == 35 and "titanic" not in BLACK_BOX
    problems = practical_set("black_box")
    assert len(problems) == 35
    for problem in problems:
        X, y, names = black_box_data(problem.name)
        assert 1 <= problem.n_variables <= 5 and len(names) == problem.n_variables
        assert len(problem.y) + len(problem.y_fresh) == len(y) and abs(len(problem.y_fresh) - len(y) / 4) <= 2
        assert np.isclose(problem.y.sum() + problem.y_fresh.sum(), y.sum())
    other = practical_set("black_box", seed=1, limit=1)[0]
    assert not np.array_equal(other.y, problems[0].y)


def test_black_box_from_a_folder_by_path(tmp_path, monkeypatch):
    (tmp_path / "banana").mkdir()
    (tmp_path / "banana" / "banana.tsv.gz").write_bytes(
        gzip.compress(b"At1\tAt2\ttarget\n1\t2\t-1\n3\t4\t1\n")
    )
    monkeypatch.setenv("NSR_PMLB", str(tmp_path))
    X, y, names = black_box_data("banana")
    assert X.tolist() == [[1, 2], [3, 4]] and y.tolist() == [-1, 1] and names == ["At1", "At2"]
    monkeypatch.setattr(importlib, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    with pytest.raises(FileNotFoundError, match="Set NSR_PMLB"):
        black_box_data("192_vineyard")
    monkeypatch.setenv("NSR_TESTSETS", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="NSR_TESTSETS"):
        folder_of(TESTSETS)


def test_unknown_set():
    with pytest.raises(ValueError, match="There are: feynman, only_five"):
        practical_set("boston")


def test_a_limit_takes_evenly_spread_problems_and_at_most_all():
    names = [problem.name for problem in practical_set("feynman", n_points=10, n_fresh=2)]
    assert [p.name for p in practical_set("feynman", n_points=10, n_fresh=2, limit=1000)] == names
    assert [p.name for p in practical_set("feynman", n_points=10, n_fresh=2, limit=2)] == [
        names[0],
        names[46],
    ]


# ---- tables -----------------------------------------------------------------------------------------------------------------


def test_the_table_survives_and_is_not_measured_twice(tmp_path, monkeypatch):
    trained, path = tiny_full(), tmp_path / "practical.csv.gz"
    grid = [
        Row(BeamSearch(2), name, weights="tiny/full", n_points=30, limit=3, noise=noise)
        for name, noise in (("feynman", 0.0), ("feynman", 0.1), ("only_five_variables_nc", 0.0))
    ]
    table = measure_all(grid, path, {"tiny/full": trained})
    assert len(table) == 9 and set(table["test_set"]) <= set(SETS) and table["run"].nunique() == 3
    assert {"r2", "r2_given", "r2_short", "novel", "seconds", "noise"} <= set(table.columns)
    monkeypatch.setattr(measuring, "measure_practical", lambda *a, **k: pytest.fail("measured twice"))
    assert len(measure_all(grid, path, {"tiny/full": trained})) == 9


def test_a_grid_is_read_by_what_decides_its_rows(tmp_path):
    networks, path = {"tiny/full": tiny_full()}, tmp_path / "practical.csv.gz"
    one, other = (
        Row(BeamSearch(2), "feynman", weights="tiny/full", n_points=30, limit=2, seed=seed) for seed in (0, 1)
    )
    table, said = lines_of(jobs_of([one], networks), path)
    assert table.empty and said == "there is no table yet"
    measure_all([one], path, networks)
    both, said = lines_of(jobs_of([one, other], networks), path)
    assert len(both) == 2 and said.endswith("missing: tiny/full beam b=2 feynman seed 1")
    table, said = lines_of(jobs_of([other], networks), path)
    assert table.empty and said == "the table has none of these rows"


def test_baselines_get_the_same_problems_and_seconds_and_are_kept(tmp_path, monkeypatch):
    row = Row(BeamSearch(2), "feynman", weights="tiny/full", n_points=30, limit=2, budget=Budget(seconds=0.5))
    networks, path = {"tiny/full": tiny_full()}, tmp_path / "against.csv.gz"
    asked = []
    monkeypatch.setattr(
        baselines,
        "fit_baseline",
        lambda name, X, y, seconds, *rest: (
            asked.append((name, seconds)) or DummyRegressor().fit(X, y),
            "mean",
        ),
    )
    version = ["1.0"]
    monkeypatch.setattr(baselines.importlib.metadata, "version", lambda name: version[0])

    def jobs(names=("gplearn",), row=row):
        return baselines.same_time([row], networks, names)

    table = measure_all(jobs(), path, networks)
    assert asked == [("gplearn", 0.5)] * 2
    assert table.strategy.tolist() == ["beam"] * 2 + ["gplearn"] * 2
    assert table.problem.tolist() == 2 * table.problem.tolist()[:2] and (table.r2[2:] < 0.01).all()
    assert len(measure_all(jobs(), path, networks)) == 4 and len(asked) == 2  # nothing twice
    assert len(lines_of(jobs_of([row], networks), path)[0]) == 2
    table, said = lines_of(jobs([]), path)  # gplearn is not installed any more: its lines are still there
    assert len(table) == 4 and said.endswith("missing: pyoperon feynman")
    three = dataclasses.replace(row, limit=3)
    measure_all([three], path, networks)
    # others were not given these problems
    assert set(lines_of(jobs(row=three), path)[0].strategy) == {"beam"}
    version[0] = "2.0"
    measure_all(jobs(), path, networks)
    assert asked[2:] == [("gplearn", 0.5)] * 2  # another version, other numbers


@pytest.mark.parametrize(
    "text", ["", "mul(X1", "sigmoid(X0)", "x1 + ", "X" * 9, "(" * 5000 + "X1 +" + ")" * 5000]
)
def test_a_formula_that_nobody_can_read_is_none(text):
    assert all(baselines.as_prefix(name, text) is None for name in ("gplearn", "pyoperon"))


# ---- baselines --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", baselines.BASELINES)
def test_baselines_fit_and_are_scored_like_everything_else(name):
    if name not in baselines.available():
        pytest.skip(f"{name} is not installed")
    problem = practical_set("feynman", limit=1, n_points=40, n_fresh=20)[0]
    line = baselines.measure_baselines([problem], 0.2, names=[name]).iloc[0]
    assert line.r2_given > 0.5 and line.r2 <= 1 and line.answer_infix and not line.why


def test_a_missing_baseline_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(baselines, "available", lambda: [])
    with pytest.raises(ImportError, match="nsr-lab.baselines"):
        baselines.fit_baseline("gplearn", np.ones((3, 1)), np.arange(3.0), 1.0)
    with pytest.raises(ValueError, match="there are gplearn, pyoperon"):
        baselines.fit_baseline("pysr", np.ones((3, 1)), np.arange(3.0), 1.0)


def test_the_shipped_table_has_lines_of_every_strategy():
    """The options are those with which the table was measured, or nothing is read."""
    networks = {kind: network_for(f"laptop/{kind}") for kind in ("full", "full-gvs")}
    made = practical_strategies(min_operators=2, max_operators=5)
    rows = [Row(strategy, "feynman", weights=kind, n_points=100) for strategy, kind in made.values()]
    lines, _ = lines_of(jobs_of(rows, networks), results_path("practical", "laptop"))
    assert labelled(lines).label.value_counts().to_dict() == dict.fromkeys(made, 92)
