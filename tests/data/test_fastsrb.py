"""FastSRB's file: columns are drawn as it says, a broken file is refused in a sentence, and the parts are fixed."""

import numpy as np
import pytest

from nsr.data.fastsrb import PARTS, public_laws
from nsr.data.problems import ProblemError
from nsr.formulas.parsing import parse
from nsr.numbers.evaluation import evaluate

FILE = """
made.1:
    prepared: v1 * tanh(v2 / 2) / v3 ^ 2
    accept: [((v1*tanh((0.5*v2)))/(v3^2.0))]
    vars:
        v1: {name: a, sample_range: [1.0e1, 1.0e3], sample_type: [log, pos_neg]}
        v2: {name: b, sample_range: [0.0, 2.0], sample_type: [uni, pos]}
        v3: {name: n, sample_range: [1.0, 9.0], sample_type: [int, pos]}
        v0: {name: y}
made.2:
    prepared: sqrt(v1 - 2)
    accept: [sqrt((v1-2.0)), 2.0^(v1)]
    vars:
        v1: {name: x, sample_range: [1.0, 9.0, a remark], sample_type: [uni, pos]}
        v0: {name: y}
"""


@pytest.fixture
def laws(tmp_path):
    (tmp_path / "laws.yaml").write_text(FILE)
    return public_laws(path=tmp_path / "laws.yaml")


def test_columns_are_drawn_as_the_file_says(laws):
    a, b, n = laws[0].problem(n_points=300, n_fresh=100).X.T
    assert (np.abs(a) >= 10).all() and (np.abs(a) <= 1000).all() and (a < 0).any() and (a > 0).any()
    assert abs(np.median(np.log10(np.abs(a))) - 2.0) < 0.2
    assert b.min() >= 0 and b.max() <= 2 and abs(b.mean() - 1.0) < 0.2
    assert set(n) <= set(range(1, 10))


def test_the_values_are_those_of_the_law(laws):
    problem = laws[0].problem(n_points=50, n_fresh=20)
    for X, y in ((problem.X, problem.y), (problem.X_fresh, problem.y_fresh)):
        a, b, n = X.T
        assert np.allclose(y, a * np.tanh(b / 2) / n**2)


def test_rows_without_a_value_are_drawn_again(laws):
    problem = laws[1].problem(n_points=200, n_fresh=50)
    assert len(problem.y) == 200 and len(problem.y_fresh) == 50 and problem.X.min() >= 2


def test_a_law_without_values_is_refused(tmp_path):
    (tmp_path / "laws.yaml").write_text(FILE.replace("sqrt(v1 - 2)", "sqrt(0 - v1)"))
    with pytest.raises(ProblemError, match="only 0 of 20 rows have a value"):
        public_laws(path=tmp_path / "laws.yaml")[1].problem(n_points=10, n_fresh=10)


def test_the_same_seed_draws_the_same_rows(laws):
    one, again, other = (laws[0].problem(seed) for seed in (0, 0, 1))
    assert (one.X == again.X).all() and not (one.X[:, 0] == other.X[:, 0]).any()


@pytest.mark.parametrize(
    "old, new",
    [("prepared: sqrt", "prepare: sqrt"), ("[uni, pos]}\n        v0", "[odd, pos]}\n        v0"), ("v1: {name: x", "v7: {name: x")],
)  # fmt: skip
def test_a_broken_file_is_refused_in_a_sentence(tmp_path, old, new):
    assert old in FILE
    (tmp_path / "laws.yaml").write_text(FILE.replace(old, new))
    with pytest.raises(ProblemError, match="cannot be read as FastSRB's laws"):
        public_laws(path=tmp_path / "laws.yaml")


def test_the_file_itself_where_it_is():
    try:
        laws = public_laws()
    except FileNotFoundError:
        pytest.skip("FastSRB's file is not here")
    parts = [law.part for law in laws]
    assert len(laws) == 120 and [parts.count(part) for part in PARTS] == [24, 96]
    assert sum(not law.outside for law in laws) == 92
    for law in laws[::10]:
        problem = law.problem(n_points=20, n_fresh=20)
        prefix, constants = parse(law.formula)
        assert np.array_equal(evaluate(prefix, problem.X, constants), problem.y)
