"""Weighted fits: scipy's are the same, repeated rows are the same, and so is R² by scikit-learn."""

import numpy as np
import pytest
from scipy.optimize import curve_fit
from sklearn.metrics import r2_score as their_r2

from nsr.data.problems import Problem, ProblemError
from nsr.data.rescaling import Units
from nsr.numbers.evaluation import evaluate, r2_score
from nsr.numbers.fitting import fit_constants
from nsr.search.oracle import Oracle
from nsr.search.plain_forms import linear_forms
from nsr.search.pruning import _Linearised

RNG = np.random.default_rng(0)
X = np.linspace(0.2, 3.0, 60)[:, None]
ERROR = 10.0 ** RNG.uniform(-2, 0, 60)
FORMS = [  # tokens, the same in Python, constants
    ("add C mul C exp mul C x1", lambda x, a, b, c: a + b * np.exp(c * x), (1.0, 2.0, -0.7)),
    ("mul C sin add C mul C x1", lambda x, a, b, c: a * np.sin(b + c * x), (2.0, 0.3, 2.1)),
    ("div mul C x1 add C x1", lambda x, a, b: a * x / (b + x), (3.0, 0.8)),
    ("add C mul C x1", lambda x, a, b: a + b * x, (3.0, 0.8)),
]


@pytest.mark.parametrize(("tokens", "f", "truth"), FORMS, ids=[tokens for tokens, _, _ in FORMS])
def test_scipy_finds_the_same_constants_and_scikit_learn_the_same_r2(tokens, f, truth):
    prefix = tuple(tokens.split())
    y = f(X[:, 0], *truth) + ERROR * np.random.default_rng(1).standard_normal(60)
    fit = fit_constants(prefix, X, y, 0, initial=truth, weights=5 / ERROR**2)  # a common factor is nothing
    theirs, covariance = curve_fit(f, X[:, 0], y, p0=truth, sigma=ERROR, xtol=1e-14, ftol=1e-14)
    assert (np.abs(fit.constants - theirs) < 1e-3 * np.sqrt(np.diag(covariance))).all()
    y_hat = evaluate(prefix, X, fit.constants)
    assert fit.r2 == pytest.approx(their_r2(y, y_hat, sample_weight=1 / ERROR**2), abs=1e-12)
    assert fit.r2 == pytest.approx(r2_score(y, y_hat, 1 / ERROR**2), abs=1e-14)
    assert fit_constants(prefix, X, y, weights=1 / ERROR**2).r2 > fit.r2 - 1e-9  # also found from afar


@pytest.mark.parametrize(("tokens", "f", "truth"), FORMS, ids=[tokens for tokens, _, _ in FORMS])
def test_whole_weights_are_repeated_rows(tokens, f, truth):
    prefix, times = tuple(tokens.split()), np.random.default_rng(2).integers(1, 5, 60)
    y = f(X[:, 0], *truth) + 0.1 * np.random.default_rng(3).standard_normal(60)
    ours = fit_constants(prefix, X, y, starts=0, initial=truth, weights=times.astype(float))
    theirs = fit_constants(prefix, X.repeat(times, 0), y.repeat(times), starts=0, initial=truth)
    np.testing.assert_allclose(ours.constants, theirs.constants, rtol=1e-4)
    assert ours.r2 == pytest.approx(theirs.r2, abs=1e-9)
    assert r2_score(y, y * 0.9, times) == pytest.approx(r2_score(y.repeat(times), y.repeat(times) * 0.9))
    # what a pruning expects, and what the first screen of plain forms finds
    one, two = Problem(X, y, weights=times), Problem(X.repeat(times, 0), y.repeat(times))
    models = [
        _Linearised(Oracle(two).verify([prefix], initial=(truth,))[0], problem) for problem in (one, two)
    ]
    assert models[0].growth(0, 0.0) == pytest.approx(models[1].growth(0, 0.0))
    forms = [dict(linear_forms(p.X, p.y, p.weights)) for p in (one, two)]
    common = set(forms[0]) & set(forms[1])
    assert len(common) > 0.4 * len(forms[0]) > 4
    for form in common:
        values = [evaluate(form, X, found[form]) for found in forms]
        np.testing.assert_allclose(*values, rtol=1e-6, atol=1e-6)


def test_one_column_is_kept_for_the_weights():
    wide = np.random.default_rng(4).uniform(1, 2, (30, 10))
    fit = fit_constants(("mul", "C", "x9"), wide[:, :9], 3 * wide[:, 8], weights=wide[:, 0])
    assert fit.constants == pytest.approx((3.0,)) and fit.r2 == 1.0
    assert "uses x10" in fit_constants(("x10",), wide[:, :9], wide[:, 8], weights=wide[:, 0]).why
    with pytest.raises(ProblemError, match="at most 9 variables"):
        Problem(wide, wide[:, 0], weights=np.ones(30))


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0, 1.0], [1.0, -1.0, 2.0], [np.nan, 1.0, 1.0]])
def test_weights_that_cannot_be_are_refused(weights):
    with pytest.raises(ProblemError, match="3 finite numbers above 0"):
        Problem([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0], weights=weights)


def test_a_part_of_a_problem_and_other_units_keep_the_weights():
    problem = Problem(X * 1000, 5e6 * X[:, 0], weights=ERROR)
    moved = Units.of(problem.X, problem.y).problem(problem)
    assert moved.y.max() < 1e5 and (moved.part(np.arange(3)).weights == ERROR[:3]).all()
