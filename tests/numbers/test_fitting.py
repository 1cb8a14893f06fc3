"""Fitted constants against scipy from the same start, against numpy's linear least squares, and against
everything that can go wrong."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares
from strategies import prefixes

from nsr.data.items import TemplateBank, sample_items
from nsr.data.templates import sample_templates
from nsr.formulas.expressions import CONSTANT, FULL, SIMPLIFIED
from nsr.numbers.evaluation import evaluate, gradient, r2_score
from nsr.numbers.fitting import Fit, fit_constants, fit_many
from nsr.numbers.initial_guesses import analyse
from nsr.numbers.interpreter import compile_program

pytestmark = pytest.mark.filterwarnings("error")

X = np.random.default_rng(0).uniform(-3, 3, (64, 3))
NOISE = np.random.default_rng(1).normal(size=64)


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


@pytest.mark.parametrize(
    "text, truth, start",
    [
        ("add C mul C exp mul C x1", (1.0, 2.0, 0.7), (0.0, 1.0, 1.0)),
        ("add C mul C sin add C mul C x1", (0.5, 2.0, 0.3, 1.4), (0.0, 1.0, 0.0, 1.2)),
        ("sin add C mul C x1", (0.5, 1.2), (0.3, 1.0)),
        ("div mul C x1 add C pow2 x2", (3.0, 2.0), (1.0, 1.0)),
        ("exp sub mul C x1 pow2 mul C x2", (0.5, 0.8), (1.0, 1.0)),
        ("mul C sqrt add C x1", (2.0, 5.0), (1.0, 4.0)),
        ("add mul C x1 mul C add C cos mul C x2", (1.0, 2.0, 3.0, 1.5), (1.0, 1.0, 0.0, 1.4)),
    ],
)
def test_one_descent_ends_where_scipy_does(text, truth, start):
    prefix = words(text)
    # noise, so that the end is a matter of least squares, not of zero
    y = evaluate(prefix, X, truth) + 0.1 * NOISE
    fit = fit_constants(prefix, X, y, starts=0, initial=start)
    theirs = least_squares(lambda c: evaluate(prefix, X, c) - y, start, xtol=1e-14, ftol=1e-14, gtol=1e-14)
    assert fit.mse == pytest.approx(2 * theirs.cost / len(y), rel=1e-6)
    assert fit.r2 == pytest.approx(r2_score(y, evaluate(prefix, X, theirs.x)), abs=1e-7)


def test_linear_constants_are_solved_exactly():
    prefix = words("sub add C add mul C x1 mul C sin x2 div mul C x3 add x1 exp x2")
    y = np.cos(X[:, 0]) + X[:, 2] ** 2
    columns = [np.ones(64), X[:, 0], np.sin(X[:, 1]), -X[:, 2] / (X[:, 0] + np.exp(X[:, 1]))]
    expected = np.linalg.lstsq(np.stack(columns, 1), y, rcond=None)[0]
    np.testing.assert_allclose(fit_constants(prefix, X, y, starts=1).constants, expected, rtol=1e-9)


@settings(max_examples=300)
@given(prefixes(FULL, max_leaves=8), st.integers(0, 10**6))
def test_constants_called_linear_are(prefix, seed):
    K, rng = prefix.count(CONSTANT), np.random.default_rng(seed)
    linear = analyse(compile_program(prefix), K)[0]
    points, c = rng.uniform(0.1, 2, (5, 3)), rng.uniform(0.1, 2, K)
    moved = np.where(linear, rng.uniform(0.1, 2, K), c)
    (f, J), (f_moved, J_moved) = gradient(prefix, points, c), gradient(prefix, points, moved)
    ok = np.isfinite(f) & np.isfinite(f_moved) & (np.abs(J) < 1e6).all(axis=1) & (np.abs(f) < 1e6)
    np.testing.assert_allclose(J[ok][:, linear], J_moved[ok][:, linear], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(f_moved[ok], f[ok] + J[ok] @ (moved - c), rtol=1e-6, atol=1e-6)


def test_the_linear_ones_are_found():
    def linear(text):
        return analyse(compile_program(words(text)), text.split().count("C"))[0].tolist()

    assert linear("add C mul C sin add C mul C x1") == [True, True, False, False]
    # two linear ones inside beat the one outside
    assert linear("mul C add C mul C exp mul C x1") == [False, True, True, False]
    assert linear("div add C x1 add C x2") == [True, False]


@pytest.mark.parametrize(
    "text, truth",
    [
        ("mul C sin add C mul C x1", (2.5, 1.0, 7.7)),
        ("add mul C cos mul C x1 exp mul C x2", (3.0, 5.5, -0.4)),
        ("tan add C mul C x1", (0.3, 0.8)),
        ("add x1 tan add C x2", (-6.0,)),
        ("sin exp add C mul C x1", (0.5, 0.6)),
        ("log add C pow2 mul C x1", (4.0, 1.7)),
        ("asin mul C sin mul C x2", (0.8, 2.0)),
        ("pow3 add C mul C x1", (-2.0, 0.3)),
        ("mul C add C sin mul C x3", (0.1, 8.0, 9.0)),
    ],
)
def test_known_constants_are_recovered(text, truth):
    y = evaluate(words(text), X, truth)
    assert fit_constants(words(text), X, y).r2 > 0.999999


@pytest.mark.parametrize("vocabulary, least", [(SIMPLIFIED, 0.65), (FULL, 0.75)], ids=["SIMPLIFIED", "FULL"])
def test_drawn_problems_are_mostly_solved(vocabulary, least):
    items = sample_items(
        TemplateBank(sample_templates(200, vocabulary, seed=3), vocabulary), np.random.default_rng(3), 300
    )
    jobs = [(items.prefix(i), items.X[i], items.y[i]) for i in range(300) if items.values(i)][:100]
    assert np.mean([fit.r2 > 0.999999 for fit in fit_many(jobs)]) > least


def test_the_answer_does_not_depend_on_company_or_threads():
    items = sample_items(
        TemplateBank(sample_templates(30, SIMPLIFIED, seed=5)), np.random.default_rng(5), 30, n_points=40
    )
    jobs = [(items.prefix(i), items.X[i], items.y[i]) for i in range(30)]
    together = fit_many(jobs, threads=1)
    assert fit_many(jobs, threads=2) == together == fit_many(jobs, threads=7)
    assert fit_many(jobs[::-1])[::-1] == together
    assert [fit_constants(*job) for job in jobs] == together
    assert all(
        fit.r2 == pytest.approx(r2_score(job[2], evaluate(job[0], job[1], fit.constants)), abs=1e-12)
        for job, fit in zip(jobs, together)
    )


def test_seed_starts_and_initial_matter():
    prefix = words("sin mul C add C mul C sin mul C x1")
    y = np.random.default_rng(2).normal(size=64)
    fits = {fit_constants(prefix, X, y, seed=seed).constants for seed in range(4)}
    assert len(fits) > 1
    assert fit_constants(prefix, X, y, starts=12).r2 >= fit_constants(prefix, X, y, starts=1).r2
    truth = (1.3, 0.7, 2.1, 9.3)
    y = evaluate(prefix, X, truth)
    for initial in (truth, [truth, (1.0,) * 4], np.array([truth])):
        assert fit_constants(prefix, X, y, starts=0, initial=initial).constants == pytest.approx(truth)
    assert [fit.r2 > 0.999 for fit in fit_many([(prefix, X, y)] * 2, starts=1, initial=[None, truth])][1]
    with pytest.raises(ValueError, match="needs 4 constants"):
        fit_constants(prefix, X, y, initial=(1.0,))


@pytest.mark.parametrize(
    "text, y, why",
    [
        ("log sub C pow2 exp mul C x1", np.sin(X[:, 0]), ""),  # most starts are undefined, some are not
        ("log sub x1 C", X[:, 0] * 0 + np.arange(64), ""),
        ("sqrt sub sub x1 x1 exp C", np.arange(64.0), "undefined at 64 of 64 points"),
        ("mul C log x1", np.arange(64.0), "undefined at"),
        ("add C exp exp exp mul C x1", 1e-3 * X[:, 0], ""),  # overflows nearly everywhere
        ("add x1 sub C C", X[:, 0] + 1, ""),  # one of two is redundant
        ("add x1 mul C sub x2 x2", X[:, 0] + 1, ""),  # its derivative is 0
        ("sin mul sub x1 x1 C", X[:, 0], ""),
        ("C", X[:, 0], ""),
        ("x1", X[:, 0], ""),
        ("x1", X[:, 1], ""),
        ("add C mul C x1", np.full(64, 2.5), ""),
        ("add C mul C x1", np.zeros(64), ""),
        ("sin mul C x1", np.full(64, 7.0), ""),
        ("add C mul C x1", 1e300 * X[:, 0], ""),
        ("mul C exp mul C x1", 1.7e308 * np.sign(X[:, 0]), None),
        ("sin mul C x1", 1e300 * X[:, 0], ""),
        ("add C mul C sin x1", 1e6 + 1e-6 * np.sin(X[:, 0]), ""),
        ("mul C sin x1", 1e-300 * np.sin(X[:, 0]), ""),
        ("mul C exp mul C x1", 5e-324 * (X[:, 0] > 0), ""),
        ("add C mul C x1", np.full(64, math.nan), "y is not finite"),
        ("add C x1", np.where(np.arange(64) == 3, math.inf, 1.0), "y is not finite"),
        ("inv inv inv sub C C", X[:, 0], None),
        ("x9", X[:, 0], "x9"),
        ("add x1", X[:, 0], "missing"),
        ("sinh x1", X[:, 0], "sinh"),
        ("pow5 pow5 pow5 pow5 mul C x1", X[:, 0], ""),
    ],
)
def test_whatever_happens_there_is_a_score_and_a_reason(text, y, why):
    fit = fit_constants(words(text), X, y)
    assert isinstance(fit, Fit) and not math.isnan(fit.r2) and fit.r2 <= 1.0
    if why is not None:
        assert (fit.why == "") == (why == "") and why in fit.why
    if fit.why == "":
        assert np.isfinite(fit.constants).all()
        assert fit.r2 == pytest.approx(r2_score(y, evaluate(words(text), X, fit.constants)), abs=1e-9)


def test_scores_of_special_cases():
    assert fit_constants(words("add C mul C x1"), X, np.full(64, 2.5)).r2 == 1.0
    assert fit_constants(words("add C mul C x1"), X, np.zeros(64)).r2 == 1.0
    assert fit_constants(words("x1"), X, np.zeros(64)).r2 == -math.inf
    assert fit_constants(words("add C mul C x1"), X, 1e300 * X[:, 0] - 1e299).r2 > 0.999999
    # 1e-6 on 1e6 leaves four digits
    assert fit_constants(words("add C mul C sin x1"), X, 1e6 + 1e-6 * np.sin(X[:, 0])).r2 > 0.99
    assert fit_constants(words("C"), X, X[:, 0]).r2 == pytest.approx(0.0, abs=1e-12)
    assert fit_constants(words("add C x1"), X[:0], X[:0, 0]).why == "there are no points"


@pytest.mark.parametrize("points", [1, 2, 3])
def test_fewer_points_than_constants(points):
    fit = fit_constants(words("add C add mul C x1 mul C sin add C mul C x2"), X[:points], X[:points, 2])
    assert fit.r2 > 0.999 and fit.why == f"5 constants for {points} points"


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="job 1: X has 64 points, y has 3"):
        fit_many([(("x1",), X, X[:, 0]), (("x1",), X, X[:3, 0])])
    assert fit_many([]) == []
