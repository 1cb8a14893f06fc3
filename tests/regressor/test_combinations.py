"""Linear combinations of terms: greedy choice against brute force, coefficients against scikit-learn, and the answer
of NSRegressor where no short formula explains a table."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from test_estimator import small

from nsr.numbers.evaluation import evaluate
from nsr.search.combinations import combination, pursued, solved, usable_terms

RNG = np.random.default_rng(0)
Z, Y, W = RNG.standard_normal((12, 40)), RNG.standard_normal(40), RNG.uniform(0.5, 2.0, 40)


def left_by(rows) -> float:
    """Weighted squares that an offset and these rows leave, by scikit-learn."""
    model = LinearRegression().fit(Z[list(rows)].T, Y, W)
    return float(np.sum(W * (Y - model.predict(Z[list(rows)].T)) ** 2))


def test_each_term_is_the_one_that_leaves_least():
    chosen = pursued(Z, Y, np.sqrt(W), 4)
    for n in range(4):
        others = [i for i in range(len(Z)) if i not in chosen[:n]]
        assert chosen[n] == min(others, key=lambda i: left_by([*chosen[:n], i]))
    model = LinearRegression().fit(Z[chosen].T, Y, W)
    np.testing.assert_allclose(solved(Z[chosen], Y, np.sqrt(W)), [model.intercept_, *model.coef_], rtol=1e-8)


def test_terms_have_no_poles_near_the_rows_and_no_forbidden_operators():
    X = np.random.default_rng(5).uniform((-1, 0.5), (2, 2), (50, 2))
    terms, values = usable_terms(X, frozenset({"sin", "cos"}))
    assert not {token for prefix, _ in terms for token in prefix} & {"sin", "cos"}
    between = np.random.default_rng(6).uniform(X.min(0), X.max(0), (20_000, 2))
    for (prefix, constants), row in zip(terms, values):
        assert np.abs(evaluate(prefix, between, constants)).max() < 10 * np.abs(row).max()


def test_exponentials_that_span_many_orders_of_magnitude_are_no_terms():
    X = np.random.default_rng(5).uniform((1, 0), (20, 2), (50, 2))
    found = {" ".join(prefix) for prefix, _ in usable_terms(X, frozenset())[0]}
    assert any("exp x2" in text for text in found) and not any("exp x1" in text for text in found)


def friedman(n: int, rng: np.random.Generator):
    X = rng.uniform(0, 1, (n, 4))
    clean = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3]
    return X, clean + rng.standard_normal(n), clean


def test_a_combination_predicts_new_rows_and_its_errors_are_honest():
    X, y, _ = friedman(300, np.random.default_rng(1))
    line = LinearRegression().fit(X, y)
    found = combination(X, y, formulas=[(("add", "mul", "C", "x4", "C"), (10.0, 7.0))])
    fresh, y_fresh, clean = friedman(2000, np.random.default_rng(2))
    values = evaluate(found.formula[0], fresh, found.formula[1])
    assert r2_score(clean, values) > 0.95 > r2_score(clean, line.predict(fresh))
    assert found.errors.mean() == pytest.approx(np.mean((values - y_fresh) ** 2), rel=0.25)


def test_among_given_formulas_the_clearly_better_one_and_else_the_first_is_the_one_to_beat():
    X, y, _ = friedman(200, np.random.default_rng(1))
    line, sum_of = (
        (("add", "mul", "C", "x4", "C"), (10.0, 7.0)),
        ("add", "C", "add", "mul", "C", "x4", "mul", "C"),
    )
    better, same = (
        ((*sum_of, "mul", "x1", "x2"), (3.0, 10.0, 9.0)),
        (("add", "C", "mul", "x4", "C"), (7.0, 10.0)),
    )
    assert combination(X, y, formulas=[line, better]).best_given == 1
    assert combination(X, y, formulas=[line, same]).best_given == 0
    undefined = (("log", "sub", "x1", "C"), (0.5,))
    assert combination(X, y, formulas=[undefined, line]).best_given == 1


def test_from_few_rows_a_combination_of_few_terms_is_learnt():
    X, y, _ = friedman(75, np.random.default_rng(2))
    fresh, _, clean = friedman(2000, np.random.default_rng(3))
    found = combination(X, y, formulas=[(("add", "mul", "C", "x4", "C"), (10.0, 7.0))])
    assert r2_score(clean, evaluate(found.formula[0], fresh, found.formula[1])) > 0.9


def test_a_law_with_errors_stays_the_answer_and_a_table_without_one_gets_a_combination():
    rng = np.random.default_rng(3)
    X = rng.uniform(1, 5, (150, 2))
    law = X[:, 0] * X[:, 1]
    assert set(small().fit(X, law + 0.3 * law.std() * rng.standard_normal(150)).equations_.source) <= {
        "search",
        "yardstick",
    }
    X, y, _ = friedman(200, rng)
    model = small().fit(X, y)
    assert model.equations_.source[0] == "combination" and model.stopped_ is not None
    assert "combination" not in set(small(selection="r2").fit(X, y).equations_.source)
