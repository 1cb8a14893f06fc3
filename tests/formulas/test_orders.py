"""The orders of terms: canonical form, values and a count of permutations are the judges."""

import math
from collections import Counter

import numpy as np
import pytest

from nsr.data.templates import TreeRecipe, draw_templates
from nsr.formulas.equivalence import canonical
from nsr.formulas.expressions import FULL, SIMPLIFIED, is_valid
from nsr.formulas.orders import orders, reordered
from nsr.numbers.evaluation import evaluate

X = np.random.default_rng(1).uniform(0.2, 1.5, (20, 5))


@pytest.mark.parametrize("vocabulary", (SIMPLIFIED, FULL))
def test_another_order_is_the_same_formula(vocabulary):
    rng = np.random.default_rng(0)
    for template in draw_templates(200, TreeRecipe(vocabulary), seed=3):
        new = reordered(template, rng)
        assert is_valid(new) and canonical(new) == template and sorted(new) == sorted(template)
        before, after = (evaluate(prefix, X) for prefix in (template, new))
        assert np.allclose(before, after, equal_nan=True)


def test_every_order_is_written_and_about_as_often():
    prefix = ("sub", "sub", "add", "C", "add", "mul", "C", "x1", "sin", "add", "x1", "x2", "x3", "exp", "x2")
    every = orders(prefix)
    assert len(every) == math.factorial(3) * math.factorial(2) * math.factorial(2)  # plus, minus, within sin
    rng = np.random.default_rng(0)
    drawn = Counter(reordered(prefix, rng) for _ in range(2400))
    assert drawn.keys() == every and 50 < min(drawn.values()) and max(drawn.values()) < 150


def test_an_expression_without_sums_has_one_order():
    assert orders(("sin", "exp", "x1")) == {("sin", "exp", "x1")}
