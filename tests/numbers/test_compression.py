"""Where a few rows decide R², a formula that explains only these is not called a fit."""

import numpy as np

from nsr.numbers.compression import compressed_r2, decided_by_few, fair_r2
from nsr.numbers.evaluation import r2_score


def test_a_fit_of_the_largest_row_alone_is_not_fair():
    y = np.exp(np.linspace(0.0, 300.0, 100))
    largest = np.where(y == y.max(), y, 1.0)
    assert decided_by_few(y) and r2_score(y, largest) > 0.99 > fair_r2(y, largest)
    assert fair_r2(y, y) == 1.0


def test_ordinary_values_are_judged_by_r2_itself():
    y = np.random.default_rng(0).normal(size=100)
    f = y + 0.1
    assert not decided_by_few(y) and fair_r2(y, f) == r2_score(y, f) and compressed_r2(y, y) == 1.0
