"""The PAC guarantee: formulas against the text, the fast simulation against the literal loop, counts against
listing."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kstest

from nsr.evidence.statistics import wilson
from nsr.theory import pac


@pytest.fixture(scope="module")
def space():
    return pac.hypotheses(2, epsilon=0.8, X=np.linspace(-1, 1, 9)[:, None])


def test_rounds_keep_the_proofs_promises():
    for U, r, depth, delta, beta in [(100, 1, 2, 0.1, 0.3), (5000, 4, 5, 0.01, 0.05), (20, 3, 1, 0.5, 1.0)]:
        B, R = pac.burn_in(U, r, depth, delta), pac.extra_rounds(beta, delta)
        assert 2**depth * (1 - r / U) ** B <= delta / 2 + 1e-12
        assert (1 - beta) ** R <= delta / 2 + 1e-12
        assert (B - 1) < U / r * math.log(2**depth / (delta / 2)) <= B


def test_the_call_bound_holds_for_every_delta():
    """B + R is never more than twice the bound, also where ln(1/δ) vanishes: the bound with ln(1/δ) was wrong
    by 69 there."""
    U, r, depth, beta, delta = 10, 1, 1, 1e-5, 0.99
    calls = pac.burn_in(U, r, depth, delta) + pac.extra_rounds(beta, delta)
    assert calls / (U / r * (depth + math.log(1 / delta)) + math.log(1 / delta) / beta) > 60
    assert calls / pac.call_bound(U, r, depth, beta, delta) < 1.01
    rng = np.random.default_rng(4)
    for _ in range(2000):
        U, beta, delta = (
            int(10 ** rng.uniform(0, 6)),
            10 ** rng.uniform(-5, 0),
            1 - 10 ** rng.uniform(-9, -0.001),
        )
        r, depth = int(rng.integers(1, U + 1)), int(rng.integers(1, 30))
        calls = pac.burn_in(U, r, depth, delta) + pac.extra_rounds(beta, delta)
        assert 0.5 < calls / pac.call_bound(U, r, depth, beta, delta) < 2


def test_the_class_is_listed_completely(space):
    assert len(space) == pac.class_size(2, n_leaves=7) == 105
    assert len({pac.text(space, u) for u in range(len(space))}) == len(space)
    three = pac.hypotheses(3, epsilon=0.8, X=np.zeros((2, 1)))
    assert len(three) == pac.class_size(3, n_leaves=7) and three.level.max() == 3
    assert max(len(pac.subtrees(three, u)) for u in range(0, len(three), 501)) <= pac.most_subtrees(
        3, "levels"
    )


def test_values_are_right(space):
    x = np.linspace(-1, 1, 9)
    u = next(u for u in range(len(space)) if pac.text(space, u) == "x1·x1")
    assert np.allclose(space.values[u], x * x) and len(pac.subtrees(space, u)) == 2
    assert pac.mean_squared_errors(space, x * x)[u] == 0


def test_subtree_count_by_convention():
    def full(levels: int) -> int:
        return 1 if levels == 1 else 1 + 2 * full(levels - 1)

    for depth in range(1, 6):
        assert pac.most_subtrees(depth, "levels") == full(depth) <= 2**depth
        assert pac.most_subtrees(depth, "edges") == full(depth + 1) > 2**depth


def test_last_place_has_the_right_law():
    """Without replacement: the largest of K places among U, against all subsets."""
    U, K = 8, 3
    rng = np.random.default_rng(0)
    ready, _ = pac.hitting_times(U, K, 1, 1.0, 40_000, rng)
    subsets = [max(subset) for subset in combinations(range(1, U + 1), K)]
    for m in range(1, U + 1):
        p = np.mean(np.array(subsets) <= m)
        assert abs(np.mean(ready <= m) - p) < 4 * math.sqrt(0.25 / 40_000)
    assert pac.hitting_times(U, K, 3, 1.0, 1000, rng)[0].max() <= 3


@pytest.mark.parametrize("replacement", [False, True])
def test_fast_simulation_agrees_with_the_loop(space, replacement):
    y = np.linspace(-1, 1, 9) ** 2
    errors = pac.mean_squared_errors(space, y)
    target = int(errors.argmin())
    transformer = pac.stand_in(space, target, beta=0.2)
    rng = np.random.default_rng(1)
    rounds, runs, r = 700, 120, 2
    loop = []
    for _ in range(runs):
        history = pac.run_loop(transformer, errors, r, rounds, rng, replacement)
        assert (np.diff(history) <= 0).all()
        loop.append(int(np.argmax(history <= errors[target])) + 1)
    # one optimum, so that its error means it was hit
    assert (np.sort(errors)[:2] == errors[target]).sum() == 1
    _, fast = pac.hitting_times(
        len(space), len(pac.subtrees(space, target)), r, 0.2, 20_000, rng, replacement
    )
    assert kstest(loop, fast).pvalue > 1e-3


def test_the_guarantee_holds_where_it_promises():
    rng = np.random.default_rng(2)
    for U, depth, r, beta, delta in [(50, 3, 1, 0.2, 0.1), (400, 2, 4, 0.5, 0.3)]:
        K = pac.most_subtrees(depth, "levels")
        rounds = pac.burn_in(U, r, depth, delta) + pac.extra_rounds(beta, delta)
        for replacement in (False, True):
            _, hit = pac.hitting_times(U, K, r, beta, 20_000, rng, replacement)
            assert wilson(int((hit > rounds).sum()), 20_000).low <= delta
