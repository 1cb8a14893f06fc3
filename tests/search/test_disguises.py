"""Disguises that a fit may find, and what they come close to: values judge, and the plain formula is known."""

import numpy as np
import pytest
from tiny_full import tiny_full

from nsr.data.problems import Problem
from nsr.data.rescaling import Units
from nsr.data.templates import sample_templates
from nsr.formulas.expressions import FULL, is_valid
from nsr.numbers.evaluation import evaluate
from nsr.numbers.simplification import is_strained
from nsr.search.disguises import calmed, limits
from nsr.search.engine import solve
from nsr.search.oracle import Oracle
from nsr.search.pruning import plainer
from nsr.search.strategies.families import Book, family_of

X = np.random.default_rng(0).uniform(1, 5, (80, 2))
FAR = np.random.default_rng(1).uniform(1, 50, (80, 2))  # where a disguise is seen through
BIG, POLE = 1e6, np.pi / 2
DISGUISES = {  # tokens, constants, what it is a disguise of, and its tokens
    "a sum as a product": (
        "add C mul C mul add C x1 add C x2",
        (-BIG, 1 / BIG, BIG, BIG),
        lambda a, b: a + b,
        3,
    ),
    "a line as a tangent": ("mul C tan mul C x1", (3 * BIG, 1 / BIG), lambda a, b: 3 * a, 3),
    "a line as an exponential": ("add C mul C exp mul C x2", (-BIG, BIG, 2 / BIG), lambda a, b: 2 * b, 3),
    "a square as a cosine": ("add C mul C cos mul C x1", (3.1e7, -3.1e7, 1e-4), lambda a, b: 0.155 * a**2, 4),
    "a square as a cosine beside x2": (
        "add mul C x2 add C mul C cos add C mul C x1",
        (2.0, 3e6, -3e6, -1e-3, 1e-3),
        lambda a, b: 2 * b + 1.5 * (a - 1) ** 2,
        11,
    ),
    "a product beside a function": ("mul x1 mul C sin mul C x2", (BIG, 1 / BIG), lambda a, b: a * b, 3),
    "a reciprocal at a pole": ("mul C tan add C mul C x1", (3 / BIG, -POLE, 1 / BIG), lambda a, b: -3 / a, 3),
    "a reciprocal as a power": (
        "mul C exp mul C log add C x1",
        (5.0, -1.0, 1.7),
        lambda a, b: 5 / (a + 1.7),
        5,
    ),
    "a root as a power": ("exp mul C log x2", (0.5,), lambda a, b: np.sqrt(b), 2),
    "a square as a power": ("mul x1 exp mul C log x2", (2.0,), lambda a, b: a * b**2, 4),
}


@pytest.mark.parametrize("name", DISGUISES)
def test_a_disguise_is_written_plainly(name):
    text, constants, truth, tokens = DISGUISES[name]
    oracle = Oracle(Problem(X, truth(*X.T)))
    disguise = oracle.verify([tuple(text.split())], initial=(constants,), starts=1)[0]
    assert disguise.r2 > 0.999
    plain = plainer(disguise, oracle)
    assert len(plain.prefix) <= tokens < len(disguise.prefix)
    assert np.allclose(evaluate(plain.prefix, FAR, plain.constants), truth(*FAR.T), rtol=1e-5)


class OneFamily:
    """Verifies one template as a family, and nothing else."""

    name = "one family"

    def __init__(self, template):
        self.template = template

    def search(self, view, rng):
        yield from Book(view).verify([self.template])


@pytest.mark.parametrize("template", [("tan", "x1"), ("exp", "x1"), ("mul", "x1", "sin", "x2")], ids=" ".join)
def test_a_search_that_is_solved_by_a_disguise_answers_without_it(template):
    truth = X[:, 0] * X[:, 1] if "mul" in template else 3 * X[:, 0]
    result = solve(
        Problem(X, truth, X_fresh=FAR, y_fresh=FAR[:, 0] * FAR[:, 1] if "mul" in template else 3 * FAR[:, 0]),
        OneFamily(template),
        tiny_full(),
    )
    assert not {"tan", "exp", "sin"} & set(result.answer.prefix) and result.r2 > 1 - 1e-9
    # it was one, and all that was tried counts
    assert any(is_strained(c.constants) for c in result.candidates) and result.n_candidates > 3


def test_what_is_no_disguise_stays():
    for text, values in (
        ("mul C sin mul C x1", (2.0, 1.3)),
        ("mul add C x1 add C x2", (0.5, -0.7)),
        ("exp mul C log x1", (1.37,)),
    ):
        prefix = tuple(text.split())
        oracle = Oracle(Problem(X, evaluate(prefix, X, values)))
        plain = plainer(oracle.verify([prefix], initial=(values,))[0], oracle)
        assert plain.r2 > 1 - 1e-9 and np.allclose(
            evaluate(plain.prefix, FAR, plain.constants), evaluate(prefix, FAR, values), rtol=1e-6
        )


def test_a_limit_of_any_formula_is_a_formula_with_its_constants():
    rng, offered = np.random.default_rng(2), 0
    for template in sample_templates(200, FULL, seed=11):
        prefix = family_of(template)
        for new, constants in limits(
            prefix, tuple(rng.uniform(-2, 2, prefix.count("C"))), rng.uniform(-3, 3, (30, 5))
        ):
            assert (
                is_valid(new)
                and len(constants) == new.count("C")
                and np.isfinite(constants).all()
                and new != prefix
            )
            offered += 1
    assert offered > 200


def test_where_a_function_is_nearly_straight_its_limit_has_its_values():
    for token in ("sin", "tan", "exp", "log", "sqrt", "pow2", "pow3", "asin"):
        prefix, constants = (token, "add", "C", "mul", "C", "x1"), (0.4, 1e-5)
        line = limits(prefix, constants, X)[0]
        assert token not in line[0]
        assert np.allclose(evaluate(line[0], X, line[1]), evaluate(prefix, X, constants), atol=1e-8)


def test_a_term_that_hardly_varies_is_a_number_or_left_out():
    for text, constants, plain in (
        ("mul add x1 C exp x2", (7e14,), "mul C exp x2"),
        ("add pow2 x1 add x2 div C x1", (3e-13,), "add x2 pow2 x1"),
        ("sub pow2 x1 log add C mul C x2", (3.0, 1e-9), "add C pow2 x1"),
    ):
        prefix = tuple(text.split())
        forms = dict(calmed(prefix, constants, X))
        values = evaluate(prefix, X, constants)
        assert tuple(plain.split()) in forms
        assert np.allclose(evaluate(tuple(plain.split()), X, forms[tuple(plain.split())]), values, rtol=1e-8)


def test_a_phase_is_less_than_a_turn_after_a_change_of_units():
    units = Units((0.0,), (1.0,), 0.0, 10.0)
    prefix, constants = ("sin", "add", "C", "x1"), (100.0,)
    new, back = units.back(prefix, constants)
    assert max(map(abs, back)) <= 10.0
    assert np.allclose(evaluate(new, X[:, :1], back), 10 * evaluate(prefix, X[:, :1], constants))
