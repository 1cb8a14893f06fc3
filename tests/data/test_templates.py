"""p_Tree and p_E against brute force, sympy and the facts of the published code."""

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from nsr.data.templates import (
    TreeRecipe,
    draw_templates,
    exchanged,
    is_held_out,
    raw_draws,
    sample_templates,
    template_from,
    training_draws,
    tree_counts,
)
from nsr.formulas.equivalence import canonical
from nsr.formulas.expressions import ARITY, FULL, SIMPLIFIED, check, variables


def shapes(n):
    """All unary-binary trees with n operators, by brute force, as strings of arities."""
    if n == 0:
        return ["0"]
    out = ["1" + t for t in shapes(n - 1)]
    for k in range(n):
        out += ["2" + a + b for a, b in itertools.product(shapes(k), shapes(n - 1 - k))]
    return out


def test_counts_are_the_large_schroeder_numbers():
    D = tree_counts(6)
    assert D[1].tolist() == [1, 2, 6, 22, 90, 394, 1806]
    assert D[2].tolist() == [1, 4, 16, 68, 304, 1412, 6752]


@pytest.mark.parametrize("n", range(1, 6))
def test_counts_by_brute_force(n):
    assert tree_counts(n)[1, n] == len(set(shapes(n)))


@pytest.mark.parametrize("n", [2, 3])
def test_trees_are_uniform(n):
    draws = raw_draws(20_000, TreeRecipe(SIMPLIFIED, n, n), np.random.default_rng(0))
    counts = Counter("".join(str(ARITY.get(token, 0)) for token in prefix) for prefix in draws)
    assert set(counts) == set(shapes(n))
    assert stats.chisquare(list(counts.values())).pvalue > 1e-4


def test_operators_follow_their_weights_within_an_arity():
    draws = raw_draws(20_000, TreeRecipe(FULL, 3, 6), np.random.default_rng(1))
    counts = Counter(token for prefix in draws for token in prefix if token in ARITY)
    weights = dict(FULL.weights)
    for arity in (1, 2):
        ops = [op for op in weights if ARITY[op] == arity]
        total, weight = sum(counts[op] for op in ops), sum(weights[op] for op in ops)
        assert (
            stats.chisquare([counts[op] for op in ops], [total * weights[op] / weight for op in ops]).pvalue
            > 1e-4
        )


def test_leaves_are_ordered():
    """The first leaf is x1; each later one is uniform over the variables so far and the next."""
    second = Counter()
    for prefix in raw_draws(6000, TreeRecipe(SIMPLIFIED, 2, 6), np.random.default_rng(2)):
        leaves = [int(token[1:]) for token in check(prefix) if token[0] == "x"]
        assert leaves[0] == 1
        assert all(leaf <= max(leaves[:i]) + 1 for i, leaf in enumerate(leaves) if i)
        second.update(leaves[1:2])
    assert stats.binomtest(second[1], second.total()).pvalue > 1e-4


def test_templates_are_canonical_complete_and_reproducible():
    recipe = TreeRecipe(FULL, 2, 5)
    draws = draw_templates(2000, recipe, seed=3)
    assert draws == draw_templates(2000, recipe, seed=3) != draw_templates(2000, recipe, seed=4)
    for template in set(draws):
        assert canonical(template) == template and "C" not in template
        assert variables(template) == tuple(f"x{i + 1}" for i in range(len(variables(template))))


def test_the_same_templates_on_any_number_of_processes():
    assert draw_templates(3000, seed=1, processes=2) == draw_templates(3000, seed=1)


def test_rejections():
    assert template_from(("add", "x1", "x1")) is None
    assert template_from(("sub", "add", "x1", "x2", "x1")) is None
    assert template_from(("add", "x1", "x3")) is None
    assert template_from(("exp", "log", "x1")) is None
    assert template_from(("sub", "sin", "x1", "x2")) == ("sub", "sin", "x1", "x2")


def test_published_coverage():
    """facts: 100K draws of 3–6 operators give about 35K templates and 73% of fresh draws are among them; here
    at 20K."""
    recipe = TreeRecipe(SIMPLIFIED, 3, 6)
    known = set(draw_templates(20_000, recipe, seed=0))
    assert 0.4 < len(known) / 20_000 < 0.65
    fresh = draw_templates(4000, recipe, seed=1)
    assert 0.5 < np.mean([t in known for t in fresh]) < 0.7


def test_held_out_templates_are_never_trained_on():
    draws = training_draws(3000, seed=0)
    assert len(draws) == 3000 and not any(map(is_held_out, draws))
    share = np.mean([is_held_out(t) for t in draw_templates(20_000, seed=2)])
    assert 0.02 < share < 0.12


def test_exchanged_templates_are_made_of_parts_of_others_and_never_held_out():
    known = training_draws(300, seed=0)
    made = list(exchanged(known, 500, TreeRecipe(), seed=0))
    assert made == list(exchanged(known, 500, TreeRecipe(), seed=0)) and len(made) == 500
    assert len(set(made) - set(known)) > 250, "most of them are new"
    for template in made:
        assert template_from(template) == template and not is_held_out(template)
        assert 2 <= sum(token in ARITY for token in template) <= 5
    only = list(exchanged([("sin", "add", "x1", "x2"), ("exp", "tan", "x1")], 50, TreeRecipe(), seed=1))
    assert {token for template in only for token in template} <= {"sin", "add", "exp", "tan", "x1", "x2"}
    with pytest.raises(ValueError, match="exchanging"):
        list(exchanged([("sin", "x1")], 1, TreeRecipe(min_operators=3)))


def test_sample_templates_gives_distinct_ones_or_says_why_not():
    templates = sample_templates(500, SIMPLIFIED, seed=9)
    assert len(set(templates)) == 500
    with pytest.raises(ValueError, match="different templates were found"):
        sample_templates(1000, SIMPLIFIED, seed=0, min_operators=1, max_operators=1)
    with pytest.raises(ValueError, match="0 ≤ min ≤ max"):
        sample_templates(10, SIMPLIFIED, seed=0, min_operators=5, max_operators=2)
