"""Constants, supports, points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from strategies import prefixes

from nsr.data.items import ItemRecipe, TemplateBank, sample_items
from nsr.data.templates import TreeRecipe, draw_templates
from nsr.formulas.constant_places import saturate
from nsr.formulas.equivalence import canonical, template_of
from nsr.formulas.expressions import FULL, SIMPLIFIED, is_valid
from nsr.formulas.notation import to_sympy
from nsr.formulas.parsing import parse

TEMPLATES = list(dict.fromkeys(draw_templates(1500, seed=0)))
BANK = TemplateBank(TEMPLATES)
ITEMS = sample_items(BANK, np.random.default_rng(0), 4000, n_points=30)


def test_items_are_their_expressions_at_their_points():
    """The judge is sympy: substitute the first point."""
    for i in range(60):
        expression = to_sympy(ITEMS.prefix(i), ITEMS.values(i))
        point = {f"x{d + 1}": ITEMS.X[i, 0, d] for d in range(5)}
        exact = float(expression.evalf(30, subs={s: point[s.name] for s in expression.free_symbols}))
        assert np.isclose(exact, ITEMS.y[i, 0], rtol=1e-7, atol=1e-9)


def test_targets_are_canonical_and_belong_to_their_template():
    for i in range(len(ITEMS)):
        prefix = ITEMS.prefix(i)
        assert canonical(prefix) == prefix
        assert template_of(prefix) == TEMPLATES[ITEMS.template[i]]
        assert len(ITEMS.values(i)) == prefix.count("C") <= 5


def test_targets_of_full_belong_to_their_template():
    bank = TemplateBank(dict.fromkeys(draw_templates(800, TreeRecipe(FULL, 2, 5), seed=0)), FULL)
    items = sample_items(bank, np.random.default_rng(1), 1500, n_points=20)
    assert np.isfinite(items.y).all() and (np.abs(items.y) < 65504).all()
    for i, target in enumerate(items.targets()):
        assert template_of(items.prefix(i)) == template_of(target) == bank[items.template[i]]


def test_points_lie_in_their_supports_and_absent_variables_are_zero():
    low, high = ITEMS.supports[..., 0], ITEMS.supports[..., 1]
    assert (low >= -10).all() and (high <= 10).all() and (high - low >= 1 - 1e-12).all()
    used = np.array([[f"x{d + 1}" in TEMPLATES[t] for d in range(5)] for t in ITEMS.template])
    inside = (ITEMS.X >= low[:, None]) & (ITEMS.X <= high[:, None])
    assert inside[np.broadcast_to(used[:, None], inside.shape)].all()
    assert (ITEMS.X[np.broadcast_to(~used[:, None], inside.shape)] == 0).all()
    assert np.isfinite(ITEMS.y).all() and (np.ptp(ITEMS.y, axis=1) > 0).all()


def test_the_number_of_constants_follows_the_published_rule():
    """With many places: P(u) ∝ 1/(u+1) for u < 6."""
    template, _ = parse("sin(x1) + cos(x2) + tan(x3) + exp(x4)")  # 12 places, no two additive ones meet
    items = sample_items(TemplateBank([template]), np.random.default_rng(2), 6000, n_points=1)
    counts = np.bincount((~np.isnan(items.constants)).sum(1), minlength=6)
    expected = 1 / np.arange(1, 7)
    # validity of points favours some counts a little, hence a band and not a test of significance
    assert np.allclose(counts / 6000, expected / expected.sum(), atol=0.04)


def test_distributions_of_the_constants():
    """x1 alone in a sine: its factor is log-uniform(0.05, 10), its summand uniform(−10, 10), three decimals."""
    items = sample_items(TemplateBank([("sin", "x1")]), np.random.default_rng(3), 20_000, n_points=2)
    adds = [
        items.values(i)[-1]
        for i in range(len(items))
        if items.prefix(i)[-5:] == ("sin", "add", "C", "x1")[-5:]
    ]
    assert stats.kstest(np.array(adds), stats.uniform(-10, 20).cdf).pvalue > 1e-4
    muls = [items.values(i)[0] for i in range(len(items)) if items.prefix(i) == ("mul", "C", "sin", "x1")]
    assert stats.kstest(np.log(muls), stats.uniform(np.log(0.05), np.log(200)).cdf).pvalue > 1e-4
    assert np.allclose(np.round(muls, 3), muls)


def test_meeting_additive_constants_are_one_with_their_signs():
    """(x1 + a) − (x2 + b) is one constant a − b."""
    recipe = ItemRecipe(max_constants=6, mul_low=1.0, mul_high=1.0)
    items = sample_items(
        TemplateBank([("sub", "x1", "x2")]), np.random.default_rng(4), 4000, n_points=1, recipe=recipe
    )
    sums = [
        items.values(i)[0] for i in range(len(items)) if items.prefix(i) == ("sub", "add", "C", "x1", "x2")
    ]
    assert len(sums) > 100 and abs(np.mean(sums)) < 1.0
    assert max(np.abs(sums)) > 11  # only a difference of two reaches beyond 10


def test_seeds():
    again = sample_items(BANK, np.random.default_rng(0), 4000, n_points=30)
    assert np.array_equal(again.y, ITEMS.y) and np.array_equal(again.ids, ITEMS.ids)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from((SIMPLIFIED, FULL)).flatmap(lambda v: prefixes(v, constants=False)))
def test_saturation_of_anything_is_valid_and_strips_back(prefix):
    full = saturate(prefix).prefix()
    assert is_valid(full)
    assert template_of(full) == template_of(prefix)


def test_a_template_without_valid_points_is_named():
    bank, nowhere = TemplateBank([("sin", "x1")]), ItemRecipe(y_limit=1e-9)
    with pytest.raises(ValueError, match="no valid points for template"):
        sample_items(bank, np.random.default_rng(0), templates=[0], recipe=nowhere)
    with pytest.raises(ValueError, match="no valid points"):
        sample_items(bank, np.random.default_rng(0), 2, recipe=nowhere)
    with pytest.raises(ValueError, match="at least one template"):
        TemplateBank([])


def test_a_given_template_without_valid_points_may_be_replaced_by_another_of_its_bank():
    nowhere, somewhere = ("asin", "add", "pow2", "x1", "exp", "pow2", "x1"), ("sin", "x1")
    assert is_valid(nowhere)
    bank = TemplateBank([nowhere, somewhere], FULL)
    with pytest.raises(ValueError, match="no valid points for template"):
        sample_items(bank, np.random.default_rng(0), templates=[1, 0], recipe=ItemRecipe(max_constants=1))
    items = sample_items(
        bank, np.random.default_rng(0), templates=[1, 0], recipe=ItemRecipe(max_constants=1), replace=True
    )
    assert [items.prefix(i) for i in range(2)] == [somewhere, somewhere]
