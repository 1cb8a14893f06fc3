"""Plain forms: what is written has the values of the sum, and the formulas of textbooks are found."""

import numpy as np
import pytest

from nsr.data.problems import Problem
from nsr.formulas.parsing import parse
from nsr.numbers.evaluation import evaluate, r2_score
from nsr.search.deadline import Deadline
from nsr.search.plain_forms import (
    Sum,
    curved_forms,
    fitted,
    linear_forms,
    power_laws,
    targets_of,
    terms_of,
    values_of,
    written,
)

INVERSE = {
    "y": lambda s: s,
    "inv": lambda s: 1 / s,
    "sqrt": np.sqrt,
    "inv sqrt": lambda s: 1 / np.sqrt(s),
    "exp": np.exp,
    "pow2": np.square,
    "log": np.log,
}


@pytest.mark.parametrize("target", INVERSE)
def test_what_is_written_has_the_values_of_the_sum(target):
    rng, terms = np.random.default_rng(len(target)), terms_of(3)
    X = rng.uniform(0.5, 1.5, (20, 3))
    for _ in range(100):
        chosen = [terms[i] for i in rng.choice(len(terms), rng.integers(1, 4), replace=False)]
        c = rng.choice([0.5, -0.5, 1.0, -1.0, 2.7, -0.3], len(chosen))
        offset = float(rng.choice([0.0, 0.5, 1.3]))
        total = offset + c @ values_of(chosen, X)
        with np.errstate(all="ignore"):
            expected = INVERSE[target](total)
        one = Sum(target, offset, tuple(zip(c.tolist(), chosen)), 0.0)
        there = np.isfinite(expected) & (total > 0 if "sqrt" in target else np.isfinite(total))
        form, constants = written(one)
        values = evaluate(form, X, constants)
        assert np.allclose(values[there], expected[there], rtol=1e-5, atol=1e-7), one


def test_every_target_is_to_first_order_y_itself():
    y = np.random.default_rng(0).uniform(1.0, 3.0, 30)
    derivative = {
        "y": 1.0, "inv": -1 / y**2, "sqrt": 2 * y, "inv sqrt": -2 / y**3, "exp": 1 / y, "pow2": 0.5 / np.sqrt(y),
    }  # fmt: skip
    for target in targets_of(y):
        if target.name != "log":  # its weights have another unit
            assert np.allclose(np.abs(target.weights * derivative[target.name]), 1.0), target.name
        g = target.goal / target.weights
        assert np.allclose(INVERSE[target.name](g), y)


LAWS = [  # formula, lower and upper end, tokens that suffice
    ("x1*x2/(x1 + x2)", 1, 20, 7),
    ("x1*x2/(x1 + x2)", 10, 200, 7),
    ("1/x1 - 1/x2", 1, 5, 7),
    ("x1*x2 + x3*x4", 1, 5, 7),
    ("x1*(x2**2 + x3**2 + x4**2)", 1, 5, 11),
    ("sqrt((x1 - x2)**2 + (x3 - x4)**2)", 1, 5, 10),
    ("8/(2 + x1**2 + x2**2)", -3, 3, 9),
    ("x1**5 + x1**4 + x1**3 + x1**2 + x1", -1, 1, 13),
    ("log(x1**3 + x1**2 + x1 + 1)", 0.1, 2, 11),
    ("0.4*exp(0 - 0.5*(x1 - x2)**2/x3**2)/x3", 1, 3, 17),
    ("1.7*exp(1.37*log(x1) - 0.4*log(x2))", 0.5, 10, 13),
    ("x1*sqrt(x2)/x3**2", 0.5, 10, 7),
    ("x1*log(x2/x3)", 1, 5, 6),
    ("sqrt(x1**2 + x2**2 - 2*x1*x2*cos(x3))", 1, 3, 20),
    ("4.6*x1/(1.9 + x1)", 0.1, 20, 9),
    ("3*x1 - 2*x3 + 1", -5, 5, 11),
]


@pytest.mark.parametrize("text, low, high, tokens", LAWS)
def test_laws_that_are_linear_in_their_constants(text, low, high, tokens):
    prefix, constants = parse(text)
    columns = max(int(token[1:]) for token in prefix if token[0] == "x")
    X = np.random.default_rng(1).uniform(low, high, (80, columns))
    y = evaluate(prefix, X, constants)
    exact = [
        form for form, values in linear_forms(X, y) if 1 - r2_score(y, evaluate(form, X, values)) < 1e-10
    ]
    assert exact and min(map(len, exact)) <= tokens


CURVES = [
    "1/(1 + exp(2.6 - 1.3*x1))",
    "2.5*exp(0 - 0.3*(x1 - 1.2)**2)",
    "5.3 + 2.1*exp(0 - 0.8*x1)",
    "3.1/(1 + exp(2.2*log(2.4) - 2.2*log(x1)))",
    "x1**3/(exp(x1) - 1)",
]


@pytest.mark.parametrize("text", CURVES)
def test_laws_with_constants_inside_functions(text):
    prefix, constants = parse(text)
    X = np.random.default_rng(2).uniform(0.3, 6.0, (80, 1))
    best = fitted(Problem(X, evaluate(prefix, X, constants)), curved_forms, Deadline(None))
    assert max(candidate.r2 for candidate in best) > 1 - 1e-12


def test_forms_of_noise_and_of_few_or_strange_rows():
    rng = np.random.default_rng(3)
    for X, y in (
        (rng.standard_normal((40, 2)), rng.standard_normal(40)),
        (rng.standard_normal((3, 2)), rng.standard_normal(3)),
        (np.column_stack([np.ones(30), rng.uniform(0, 1e200, 30)]), rng.uniform(0, 1e-140, 30)),
        (rng.integers(0, 2, (30, 3)).astype(float), rng.uniform(1e100, 1e149, 30)),
    ):
        for forms in (linear_forms, curved_forms):
            candidates = fitted(Problem(X, y), forms, Deadline(None))
            assert all(np.isfinite(c.constants).all() for c in candidates)


def test_a_power_law_of_nine_columns():
    rng = np.random.default_rng(4)
    X, n = rng.uniform(0.5, 3.0, (60, 9)), np.array([1.0, -2.0, 0.5, 0.0, 1.0, 1.0, -1.0, 0.0, 2.0])
    y = 0.7 * np.prod(X**n, axis=1)
    best = min(power_laws(X, y), key=lambda one: (one.left > 1e-12, len(one.parts)))
    form, constants = written(best)
    assert len(best.parts) == 7 and np.allclose(evaluate(form, X, constants), y)


def test_after_the_deadline_nothing_is_fitted_to_all_rows():
    X = np.random.default_rng(5).uniform(1, 5, (300, 2))
    assert fitted(Problem(X, X[:, 0] * X[:, 1]), linear_forms, Deadline(0.0)) == []
