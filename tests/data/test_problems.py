"""Problems refuse bad data in a sentence; the oracle fits, scores, caches and counts."""

import math

import numpy as np
import pytest

from nsr.data.problems import Problem, ProblemError, rounding_floor
from nsr.numbers.evaluation import evaluate
from nsr.search.oracle import Candidate, Oracle, Verify, r2_fresh, verify_all

X = np.linspace(-2, 2, 30)[:, None]
LINE = ("add", "C", "mul", "C", "x1")


def line():
    return Problem(X, 1 + 2 * X[:, 0], "line", X_fresh=X + 0.01, y_fresh=1 + 2 * (X[:, 0] + 0.01))


@pytest.mark.parametrize(
    "X, y, sentence",
    [
        ([[1.0], [np.nan]], [1.0, 2.0], r"X has 1 value that is nan or infinite \(first at point 2 of 2\)"),
        (
            [[1.0], [2.0], [3.0]],
            [np.inf, 2.0, np.nan],
            r"y has 2 values that are nan or infinite \(first at point 1 of 3\)",
        ),
        ([[1.0]], [1.0], "1 point; at least 2"),
        (np.zeros((0, 1)), [], "0 points; at least 2"),
        ([[1.0], [2.0]], [3.0, 3.0], "y is the constant 3"),
        ([1.0, 2.0], [1.0, 2.0], r"X has the shape \(2,\); it must be \(points, variables\)"),
        ([[1.0], [2.0]], [[1.0], [2.0]], r"y has the shape \(2, 1\); it must be \(points,\)"),
        ([[1.0], [2.0]], [1.0, 2.0, 3.0], "X has 2 points, but y has 3"),
        (np.zeros((3, 0)), [1.0, 2.0, 3.0], "it must be"),
        (np.zeros((3, 11)), [1.0, 2.0, 3.0], "11 variables; at most 10"),
        ([["a"], ["b"]], [1.0, 2.0], "X is not a table of real numbers"),
        ([[1.0], [2.0]], [1.0, 2.0 + 1j], "y is not a table of real numbers"),
        ([[1.0], [2.0, 3.0]], [1.0, 2.0], "X is not a table of real numbers"),
    ],
)
def test_bad_data_are_refused_with_a_sentence(X, y, sentence):
    with pytest.raises(ProblemError, match=sentence):
        Problem(X, y)
    with pytest.raises(ProblemError, match="problem 'mine': "):
        Problem(X, y, "mine")


def test_fresh_points_must_fit_the_problem():
    with pytest.raises(ProblemError, match="belong together"):
        Problem(X, X[:, 0], X_fresh=X)
    with pytest.raises(ProblemError, match="X has 1 columns, but X_fresh has 2"):
        Problem(X, X[:, 0], X_fresh=np.ones((30, 2)), y_fresh=X[:, 0])


def test_a_problem_keeps_its_own_copy():
    points, y = X.copy(), X[:, 0].copy()
    problem = Problem(points, y)
    points[0], y[0] = 77, 77
    assert problem.X[0, 0] == problem.y[0] == -2


def test_points_of_an_expression():
    prefix, constants = ("add", "exp", "x1", "mul", "C", "x3"), (2.5,)
    problem = Problem.from_expression(
        prefix, constants, rng=np.random.default_rng(1), n_points=50, n_fresh=20, name="p"
    )
    assert problem.X.shape == (50, 3) and problem.X_fresh.shape == (20, 3) and not problem.X[:, 1].any()
    np.testing.assert_allclose(problem.y, np.exp(problem.X[:, 0]) + 2.5 * problem.X[:, 2])
    assert problem.truth == prefix and problem.truth_constants == constants
    again = Problem.from_expression(
        prefix, constants, rng=np.random.default_rng(1), n_points=50, n_fresh=20, name="p"
    )
    assert np.array_equal(problem.X, again.X) and not np.array_equal(problem.X[:20], problem.X_fresh)
    inside = Problem.from_expression(
        ("sqrt", "x1"), rng=np.random.default_rng(0), support=[(0.0, 2.0)], n_variables=1
    )
    assert inside.X.min() >= 0 and inside.X.max() <= 2
    wide = Problem.from_expression(("x1",), rng=np.random.default_rng(0), n_variables=5)
    assert wide.n_variables == 5 and not wide.X[:, 1:].any()


def test_noise_is_on_the_given_points_only():
    problem = Problem.from_expression(("x1",), rng=np.random.default_rng(0), n_points=2000, noise=0.1)
    residual = problem.y - evaluate(("x1",), problem.X)
    assert 0.09 < residual.std() / problem.y.std() < 0.11
    np.testing.assert_array_equal(problem.y_fresh, problem.X_fresh[:, 0])


def test_an_expression_without_values_is_refused():
    with pytest.raises(ProblemError, match="too few finite values"):
        Problem.from_expression(("sqrt", "sub", "C", "exp", "x1"), (-1.0,), rng=np.random.default_rng(0))


def test_streams_depend_on_seed_and_problem():
    a, b = line(), Problem(X, X[:, 0], "other")
    draw = lambda problem, seed: problem.stream(seed).random()
    assert draw(a, 0) == draw(line(), 0)
    assert len({draw(a, 0), draw(a, 1), draw(b, 0)}) == 3


# --------------------------------------------------------------------------------------------------------------- oracle


def test_the_oracle_counts_and_caches():
    oracle = Oracle(line())
    (first,) = oracle.verify([LINE])
    assert first.r2 > 1 - 1e-12 and np.allclose(first.constants, (1, 2))
    again = oracle.verify([LINE, LINE, ("x1",)])
    assert again[0] is first and again[1] is first
    assert (oracle.n_candidates, oracle.n_fits) == (4, 2)
    assert oracle.generated == {LINE: 3, ("x1",): 1} and oracle.seconds > 0


def test_other_starts_are_another_fit():
    oracle = Oracle(line())
    oracle.verify([LINE])
    oracle.verify([LINE], initial=((1.0, 2.0),))
    oracle.verify([LINE], starts=1)
    assert oracle.n_fits == 3 and oracle.n_candidates == 3


def test_failures_count_and_say_why():
    oracle = Oracle(line())
    found = oracle.verify([("add", "x1"), ("x1", "x1"), (), ("x2",), ("sqrt", "x1"), ("<pad>", "x1")])
    assert [c.valid for c in found] == [False] * 6 and all(c.why for c in found)
    assert "x2" in found[3].why and oracle.best is None and oracle.n_candidates == 6 and oracle.trace == []
    assert all(r2_fresh(oracle.problem, c) == -math.inf for c in found)


def test_the_trace_is_the_running_best():
    oracle = Oracle(line())
    oracle.verify([("add", "x1"), ("x1",)])
    oracle.verify([("mul", "x1", "x1"), LINE, ("mul", "C", "x1")])
    assert [point.candidates for point in oracle.trace] == [2, 4]
    assert [point.best.prefix for point in oracle.trace] == [("x1",), LINE]
    assert oracle.best.prefix == LINE and math.isclose(r2_fresh(oracle.problem, oracle.best), 1.0)


def test_among_equally_good_fits_the_shorter_wins():
    longer = ("add", "C", "add", "C", "mul", "C", "x1")
    oracle = Oracle(line())
    assert {c.r2 > 1 - 1e-12 for c in oracle.verify([longer, LINE])} == {True}
    assert oracle.best.prefix == LINE
    a, b = Candidate(("x1",), r2=1 - 1e-14, log_prob=-1.0), Candidate(("x2",), r2=1.0, log_prob=-2.0)
    assert a.key < b.key  # their R² differ by rounding only; the more probable one wins


def test_together_is_the_same_as_alone():
    rng = np.random.default_rng(3)
    problems = [Problem(rng.uniform(-3, 3, (40, 2)), rng.normal(size=40), str(i)) for i in range(4)]
    prefixes = (
        ("mul", "C", "sin", "mul", "C", "x1"),
        ("add", "C", "exp", "mul", "C", "x2"),
        ("add", "x1"),
        ("tan", "x2"),
    )
    together = verify_all([(Oracle(p), Verify(prefixes)) for p in problems])
    for problem, candidates in zip(problems, together):
        alone = [Oracle(problem).verify([prefix])[0] for prefix in prefixes]
        assert repr(alone) == repr(candidates)


def test_requests_are_checked():
    with pytest.raises(ValueError, match="2 prefixes, but 1 log_probs"):
        Verify((("x1",), ("x2",)), log_probs=(0.0,))
    short = Verify((("x1",), ("x2",)), (-1.0, -2.0), note="n").between(0, 1)
    assert short == Verify((("x1",),), (-1.0,), note="n")


def test_rounding_is_read_off_the_digits():
    exact = np.random.default_rng(0).uniform(-300, 300, 500)
    assert rounding_floor(exact) == rounding_floor(np.round(exact)) == 0.0  # whole numbers may be counts
    for digits in (1, 2, 4):
        y = np.round(exact, digits)
        assert np.isclose(rounding_floor(y), np.mean((y - exact) ** 2) / exact.var(), rtol=0.15)
        assert np.isclose(rounding_floor(y * 1e-9), rounding_floor(y))
    assert rounding_floor(np.array([1e120, 2e120])) == 0.0
    problem = Problem(exact[:, None], np.round(exact, 1), name="rounded")
    assert (
        problem.floor == rounding_floor(problem.y)
        and Problem([[0.0], [1.0]], [0.1, 0.2], floor=0.0).floor == 0.0
    )
