"""Intervals are judged by scipy, by hand and by copies of the data; verdicts by a table of all cases."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from nsr.evidence.statistics import (
    FEWEST,
    Interval,
    Sample,
    combined,
    difference,
    holm,
    mcnemar,
    mean,
    paired_difference,
    pearson,
    pearson_over_problems,
    spread,
    wilson,
)
from nsr.evidence.verdicts import MARGIN, together, verdict_on_claim, verdict_on_difference


def width(interval: Interval) -> float:
    return interval.high - interval.low


# ---- a lone share --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k, n", [(0, 150), (1, 150), (75, 150), (150, 150), (3, 7), (1, 1)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_against_scipy(k, n, confidence):
    judge = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
    assert wilson(k, n, confidence) == pytest.approx((k / n, judge.low, judge.high), abs=1e-12)


def test_wilson_without_data_with_nonsense_and_with_arrays():
    assert wilson(0, 0)[1:] == (0.0, 1.0)
    with pytest.raises(ValueError, match="5 of 3"):
        wilson(5, 3)
    with pytest.raises(ValueError, match="shares"):
        wilson(np.array([1, 5]), 3)
    ks, ns = np.array([[0, 3], [7, 7]]), np.array([10, 7])
    for i, j in itertools.product(range(2), range(2)):
        assert [end[i, j] for end in wilson(ks, ns)] == list(wilson(int(ks[i, j]), int(ns[j])))


def test_wilson_contains_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(3)
    for p in (0.02, 0.3):
        _, low, high = wilson(rng.binomial(200, p, size=4000), 200)
        assert 0.92 < np.mean((low <= p) & (p <= high)) < 0.98
    for end in wilson(30, 100)[1:]:  # the ends solve |p̂ − p| = z √(p(1−p)/n)
        assert abs(0.3 - end) == pytest.approx(stats.norm.ppf(0.975) * math.sqrt(end * (1 - end) / 100))


# ---- resampling ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["share", "skewed"])
def test_without_clusters_it_is_scipys_percentile_bootstrap(kind, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.random((2, 300)) < [[0.3], [0.5]] if kind == "share" else rng.exponential(size=(2, 300))
    a, b = a.astype(float), b.astype(float)
    how = {"n_resamples": 9999, "method": "percentile", "rng": np.random.default_rng(9)}
    for found, judge in (
        (mean(a), stats.bootstrap((a,), np.mean, **how)),
        (paired_difference(a, b), stats.bootstrap((a - b,), np.mean, **how)),
        (
            difference(a, b[:200]),
            stats.bootstrap((a, b[:200]), lambda x, y, axis: x.mean(axis) - y.mean(axis), **how),
        ),
    ):
        assert found.low == pytest.approx(judge.confidence_interval.low, abs=0.08 * width(found))
        assert found.high == pytest.approx(judge.confidence_interval.high, abs=0.08 * width(found))


def test_a_ratio_is_scipys():
    rng = np.random.default_rng(0)
    novel = rng.random(400) < 0.4
    accurate = novel & (rng.random(400) < 0.3)
    found = combined(Sample([1.0], [accurate], np.array([novel], dtype=float)))
    judge = stats.bootstrap(
        (accurate * 1.0, novel * 1.0),
        lambda x, y, axis: x.sum(axis) / y.sum(axis),
        n_resamples=9999,
        method="percentile",
        paired=True,
        rng=rng,
    ).confidence_interval
    assert found.value == pytest.approx(accurate.sum() / novel.sum())
    assert found[1:] == pytest.approx((judge.low, judge.high), abs=0.08 * width(found))


def test_pairs_cancel_the_difficulty_of_problems():
    rng = np.random.default_rng(0)
    hard = rng.normal(0, 10, 300)  # problems differ a lot, strategies a little
    better = hard + 0.5 + rng.normal(0, 0.5, 300)
    found = paired_difference(better, hard)
    assert 0.4 < found.low < found.value < found.high < 0.6
    for wrong in (paired_difference, mcnemar):
        with pytest.raises(ValueError, match="one value per problem"):
            wrong([1, 0], [1])
    with pytest.raises(ValueError, match="3 lines and 2 labels"):
        mean([1, 2, 3], templates=["a", "b"])


@settings(max_examples=25)
@given(st.integers(0, 2**31), st.integers(FEWEST, 40), st.integers(2, 6))
def test_copies_of_a_problem_add_nothing(seed, n, copies):
    """However often each template is asked: with equal outcomes the interval is that of one problem each, and
    wider than if the copies were taken for problems of their own."""
    values = np.random.default_rng(seed).normal(size=n)
    once, often = mean(values), mean(np.tile(values, copies), templates=list(range(n)) * copies)
    assert often == pytest.approx(once)
    assert width(often) > 1.1 * width(mean(np.tile(values, copies)))


def test_templates_whose_problems_are_not_alike_make_no_difference():
    """Drawing a template with all its problems is as wide as drawing problems, if they have nothing in common."""
    rng = np.random.default_rng(1)
    values, templates = rng.normal(size=1200), np.repeat(np.arange(400), 3)
    assert width(mean(values, templates)) == pytest.approx(width(mean(values)), rel=0.12)


def test_networks_are_drawn_with_templates():
    """Networks that differ widen the interval by what they differ; equal ones, or one, do not."""
    rng = np.random.default_rng(2)
    problems, n_networks = rng.normal(size=200), 8
    templates, networks = np.tile(np.arange(200), n_networks), np.repeat(np.arange(n_networks), 200)
    alone = mean(problems)
    assert mean(problems, networks=["only"] * 200) == alone
    assert mean(np.tile(problems, n_networks), templates, networks) == pytest.approx(alone)
    level = rng.normal(size=n_networks)
    found = mean(np.tile(problems, n_networks) + level[networks], templates, networks)
    by_hand = math.sqrt(problems.var() / 200 + level.var() / n_networks)
    assert width(found) == pytest.approx(2 * 1.96 * by_hand, rel=0.12)


def test_two_sets_of_problems_are_answered_by_the_same_networks():
    """What a network adds to both sides cancels; with other networks on either side it does not."""
    rng = np.random.default_rng(4)
    level, networks = rng.normal(0, 5, size=6), np.repeat(np.arange(6), 150)
    templates = (np.tile(np.arange(150), 6), np.tile(np.arange(150, 300), 6))
    a, b = rng.normal(size=(2, 900))
    without = difference(a, b, templates, (networks, networks))
    a, b = a + level[networks], b + level[networks]
    assert difference(a, b, templates, (networks, networks)) == pytest.approx(without)
    others = difference(a, b, templates, (networks, networks + 6))
    assert width(others) == pytest.approx(2 * 1.96 * math.sqrt(2 * level.var() / 6), rel=0.15)
    turned = slice(None, None, -1)  # in which order lines stand is no matter
    other = difference(a, b[turned], (templates[0], templates[1][turned]), (networks, networks[turned]))
    assert width(other) == pytest.approx(width(without), rel=0.15)


def test_how_much_of_the_spread_is_between_networks():
    """Judged by data that are made with known variances: half of the problems are common to all networks."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(60):
        level, common = rng.normal(0, 0.3, size=4), rng.normal(size=60)
        own = rng.normal(size=(4, 60))
        values = level[:, None] + np.concatenate([np.tile(common, (4, 1)), own], axis=1)  # (4, 120)
        names = [[f"c{i}" for i in range(60)] + [f"{g} {i}" for i in range(60)] for g in range(4)]
        found.append(spread(values.ravel(), sum(names, []), np.repeat(np.arange(4), 120)))
    between, problems = (
        np.mean([getattr(one, name) ** 2 for one in found]) for name in ("between", "problems")
    )
    assert between == pytest.approx(0.09, rel=0.25) and problems == pytest.approx(1 / 120, rel=0.1)
    assert np.mean([one.share for one in found]) > 0.8 and {one.networks for one in found} == {4}


def test_equal_networks_have_no_spread_and_one_has_none_that_is_known():
    values = np.random.default_rng(6).random(50)
    templates, networks = list(range(50)) * 3, np.repeat([0, 1, 2], 50)
    same = spread(np.tile(values, 3), templates, networks)
    assert (same.between, same.share) == (0.0, 0.0)
    assert same.problems == pytest.approx(values.std() / math.sqrt(50), rel=0.1)
    assert spread(values, templates[:50], networks[:50])[0] == 1
    assert math.isnan(spread(values, templates[:50], networks[:50]).share)


def test_an_interval_is_repeatable_and_does_not_depend_on_others():
    values = np.random.default_rng(0).random(50)
    first = mean(values)
    mean(values[:40])
    assert mean(values) == first and mean(values, seed=1) != first
    assert mean(values, seed=1).value == first.value


def test_few_templates_and_equal_values_leave_doubt():
    yes, no = [1.0] * 5, [0.0] * 5
    assert paired_difference(yes, no) == (1.0, -1.0, 1.0) and mean(yes) == (1.0, 0.0, 1.0)
    assert mean(yes * 100, templates=list("abcde") * 100) == (1.0, 0.0, 1.0)
    assert math.isnan(mean([3.0] * 5).low)  # no share: nothing is known about its range
    assert mean(no * 30) == pytest.approx(wilson(0, 150)) and mean(yes * 30) == pytest.approx(
        wilson(150, 150)
    )
    assert paired_difference(yes * 30, yes * 30)[1:] == pytest.approx(
        (-2 * wilson(0, 150).high, 2 * wilson(0, 150).high)
    )
    one_sided = difference([0.0] * 12, [1.0] * 60 + [0.0] * 390)  # the doubt about twelve times nothing
    assert one_sided.low < -0.13 and one_sided.high == pytest.approx(-0.133 + wilson(0, 12).high, abs=0.02)
    assert math.isnan(mean([]).value) and math.isnan(difference([], [1.0] * 9).low)
    never = Sample([1.0], [no * 30], np.zeros((1, 150)))  # nothing was novel: no share of it is accurate
    assert math.isnan(combined(never).value)


def test_unanimous_problems_decide_where_the_sign_test_does():
    for n in range(1, 30):
        found = paired_difference([1.0] * n, [0.0] * n)
        assert (found.low > 0) == (mcnemar([True] * n, [False] * n).p_value < 0.05)


# ---- correlations and tests ---------------------------------------------------------------------------------------------------


def test_correlations():
    rng = np.random.default_rng(0)
    x = rng.random(17)
    y = x + rng.random(17)
    found, p_value = pearson(x, y)
    z, half = math.atanh(found.value), stats.norm.ppf(0.975) / math.sqrt(14)
    assert found == pytest.approx((stats.pearsonr(x, y).statistic, math.tanh(z - half), math.tanh(z + half)))
    assert p_value == stats.pearsonr(x, y).pvalue
    assert math.isnan(pearson([1, 1, 1], [1, 2, 3])[0].value)
    few, many = (
        pearson_over_problems(*(Sample([1.0] * 17, rng.random((17, n)) < v[:, None] / 2) for v in (x, y)))
        for n in (50, 2000)
    )
    assert width(many) < 0.5 * width(few) and many.low < many.value < many.high


@pytest.mark.parametrize("seed", range(5))
def test_mcnemar_against_scipy(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.random(60) < 0.6, rng.random(60) < 0.45
    found = mcnemar(a, b)
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    assert (found.only_a, found.only_b) == (only_a, only_b)
    n = only_a + only_b
    tail = sum(math.comb(n, i) for i in range(min(only_a, only_b) + 1)) / 2**n
    assert found.p_value == pytest.approx(min(1.0, 2 * tail))
    assert mcnemar(a, a).p_value == 1.0


# ---- verdicts -----------------------------------------------------------------------------------------------------------------


def test_every_claim_has_the_verdict_of_the_table():
    """All orders of an interval and two bounds, points that coincide included."""
    for low, high, above, below in itertools.product(range(6), repeat=4):
        if low <= high and above < below:
            inside, outside = above < low and high < below, high < above or below < low
            expected = "holds" if inside else "fails" if outside else "undecided"
            assert verdict_on_claim(Interval(low, low, high), above, below) == expected
    one = Interval(1, 0.5, 1.5)
    assert [verdict_on_claim(one, above=x) for x in (0, 1, 2)] == ["holds", "undecided", "fails"]
    assert [verdict_on_claim(one, below=x) for x in (0, 1, 2)] == ["fails", "undecided", "holds"]
    assert verdict_on_claim(Interval(1, math.nan, math.nan), above=0) == "undecided"


def test_every_difference_has_the_verdict_of_the_table():
    for low, high in itertools.product(range(-3, 4), repeat=2):
        if low <= high:
            expected = "same" if -2 < low and high < 2 else "undecided" if low <= 0 <= high else "different"
            assert verdict_on_difference(Interval(low, low, high), margin=2) == expected
            # either way round
            assert verdict_on_difference(Interval(-low, -high, -low), margin=2) == expected
    assert verdict_on_difference(Interval(0, math.nan, math.nan)) == "undecided"
    assert verdict_on_difference(Interval(0, -0.9 * MARGIN, 0.9 * MARGIN)) == "same"


def test_intervals_that_overlap_can_be_of_different_numbers():
    a, b = [1.0] * 60 + [0.0] * 90, [1.0] * 83 + [0.0] * 67  # 40 % and 55 %
    assert wilson(60, 150).high > wilson(83, 150).low
    assert stats.fisher_exact([[60, 90], [83, 67]]).pvalue < 0.05
    assert verdict_on_difference(difference(a, b)) == "different"


def test_all_verdicts_together():
    for words in itertools.product(("holds", "fails", "undecided", "not measured yet"), repeat=3):
        found = together(words)
        assert (found == "fails") == ("fails" in words) and (found == "holds") == (set(words) == {"holds"})
        assert (found == "undecided") == (
            "undecided" in words and not {"fails", "not measured yet"} & set(words)
        )


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_what_its_definition_says(p_values):
    """A hypothesis is rejected at α if it, and all with smaller p, have p ≤ α / (how many are left)."""
    adjusted = holm(p_values)
    for alpha in (0.01, 0.05, 0.2, 0.7):
        rejected, left = set(), len(p_values)
        for i in sorted(range(len(p_values)), key=lambda i: p_values[i]):
            if p_values[i] * left > alpha:
                break
            rejected.add(i)
            left -= 1
        assert {i for i, p in enumerate(adjusted) if p <= alpha} == rejected
    assert holm([]).size == 0 and holm([0.02]).tolist() == [0.02]
