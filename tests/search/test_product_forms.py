"""Products and separated columns: formulas that no short sum has are found from a few rows."""

import numpy as np
import pytest

from nsr.formulas.parsing import parse
from nsr.numbers.evaluation import evaluate, r2_score
from nsr.search.plain_forms import different
from nsr.search.product_forms import product_forms
from nsr.search.separation import powers_of, separated_forms


def rows_of(text, signed=False, n=200):
    """Log-uniform rows from 0.1 to 10, with random signs or without, at which the formula has values."""
    rng = np.random.default_rng(len(text))
    prefix, constants = parse(text)
    columns = max(int(token[1:]) for token in prefix if token[0] == "x")
    X = 10.0 ** rng.uniform(-1, 1, (20 * n, columns)) * (
        rng.choice((-1, 1), (20 * n, columns)) if signed else 1
    )
    y = evaluate(prefix, X, constants)
    return X[np.isfinite(y)][:n], y[np.isfinite(y)][:n]


def left_by(form, X, y):
    return 1.0 - r2_score(y, evaluate(form[0], X, form[1]))


@pytest.mark.parametrize(
    "text, signed",
    [
        ("x1*x2*x3/x4", True),
        ("0 - 3*x1*x2**4/x3**2", True),
        ("x1*(x2 - x3)*x4", True),
        ("x1*(1 - x2/x3)**2/(1 + x4)", False),
        ("x1/(1 + exp(x2*x3/x4))", False),
        ("x1*(exp(0.3*x2/x3) - 1)", False),
        ("x1*log(1 + x2/x3)", False),
        ("x1**2*x2/(x3**2 + x4**2)**(3/2)", True),
        ("sin(x1)/sin(x2)", True),
    ],
)
def test_products_are_found(text, signed):
    X, y = rows_of(text, signed)
    assert left_by(product_forms(X[:150], y[:150])[0], X, y) < 1e-12


def test_an_angle_is_found_by_its_sine():
    X, y = rows_of("asin(0.01*x1/x2)")
    assert min(left_by(form, X, y) for form in product_forms(X, y)) < 1e-12


def test_rows_of_zeros_and_constant_columns_have_no_products():
    assert product_forms(np.ones((30, 2)), np.zeros(30)) == []


def test_the_columns_before_a_formula_are_told_from_those_inside():
    X, y = rows_of("x1*sqrt(x2)*(1 + x3*x4)/x5**2", n=500)
    assert powers_of(X, y) == {0: 1.0, 1: 0.5, 4: -2.0}


@pytest.mark.parametrize(
    "text, signed",
    [
        ("x4*x5/sqrt(x1**2 + x2**2 - 2*x1*x2*cos(x3))", False),
        ("x1*(x2/x3 + x3/x2 - sin(x4)**2)", False),
        ("x7*x8/((x1 - x2)**2 + (x3 - x4)**2 + (x5 - x6)**2)", True),
    ],
)
def test_what_stands_behind_powers_is_found(text, signed):
    X, y = rows_of(text, signed, 512)
    assert left_by(separated_forms(X, y)[0], X, y) < 1e-12


def test_terms_that_are_equal_on_the_rows_are_one():
    x, tiny = np.random.default_rng(0).uniform(1, 2, (2, 50)) * [[1.0], [1e-12]]
    assert different(np.array([x, x - tiny, 2 * x, x**2, -x])).tolist() == [0, 3]
