"""Novelty, the breakdown and the statistics, judged by sets, by hand and by scipy."""

import io
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nsr.data.problems import Problem
from nsr.evidence import novelty
from nsr.evidence.novelty import (
    SENSES,
    THRESHOLDS,
    TrainingSet,
    accuracy_curve,
    breakdown,
    novelty_table,
    tidy,
)
from nsr.evidence.statistics import bootstrap, mcnemar, paired_bootstrap, wilson
from nsr.search.oracle import Oracle
from nsr.search.result import Result

TRAINING = TrainingSet(
    [("add", "x1", "sin", "x2"), ("sin", "x1"), ("exp", "x1")],
    seen=[("sin", "x1"), ("mul", "C", "sin", "x1"), ("add", "x1", "sin", "x2")],
)
X = np.linspace(0.1, 3, 40)[:, None]


def result(prefixes, y=None, name="p", answer=None, truth=("sin", "x1")):
    """A finished search that verified these prefixes."""
    y = np.sin(X[:, 0]) if y is None else y
    oracle = Oracle(Problem(X, y, name, truth=truth, X_fresh=X + 0.01, y_fresh=np.sin(X[:, 0] + 0.01)))
    if prefixes:
        oracle.verify(prefixes)
    return Result.of(oracle, "beam", 5, 0, answer, reference=TRAINING)


# -------------------------------------------------------------------------------------------------------------- novelty


@pytest.mark.parametrize(
    "prefix, structural, seen, functional, in_family",
    [
        (("sin", "x1"), False, False, False, False),
        (("mul", "C", "sin", "x1"), False, False, False, False),  # constants do not make a template new
        (
            ("mul", "C", "sin", "mul", "C", "x1"),
            False,
            True,
            False,
            False,
        ),  # never shown like this, still a copy
        (("add", "sin", "x2", "x1"), False, True, False, False),  # another order
        (("sub", "x1", "sin", "x2"), True, True, True, False),  # a negative factor turns add into sub
        (("cos", "x1"), True, True, True, False),  # a phase turns sin into cos
        (("tan", "x1"), True, True, True, True),
    ],
)
def test_four_senses(prefix, structural, seen, functional, in_family):
    assert TRAINING.novelty(prefix) == dict(zip(SENSES, (structural, seen, functional, in_family)))


def test_novelty_only_narrows():
    """What is functionally or by family novel is structurally novel."""
    for prefix in [("cos", "x1"), ("tan", "x2"), ("sin", "x1"), ("exp", "add", "x1", "x2"), ("C",)]:
        novelty = TRAINING.novelty(prefix)
        assert novelty["novel"] or not (novelty["novel_functional"] or novelty["novel_family"])


def test_failures_are_not_novel():
    for prefix in (None, (), ("add", "x1"), ("x1", "x1"), ("<pad>",)):
        assert not any(TRAINING.novelty(prefix).values())


def test_without_a_log_the_seen_sense_is_unknown():
    assert TrainingSet([("x1",)]).novelty(("x1",)) == {
        "novel": False,
        "novel_seen": None,
        "novel_functional": False,
        "novel_family": False,
    }


def test_sets_are_made_when_asked_for():
    training = TrainingSet([("sin", "x1")])
    training.novelty(("add", "C", "sin", "x1"))  # decided by the template alone
    assert "functions" not in vars(training) and "families" not in vars(training)


def test_share_of_all_candidates():
    generated = {("sin", "x1"): 3, ("tan", "x1"): 2, ("add", "x1"): 5}
    assert TRAINING.share_novel(generated) == 0.2  # repetitions and failures are in the denominator
    assert math.isnan(TRAINING.share_novel({}))


# --------------------------------------------------------------------------------------------------------------- tables


def rows():
    good, copied, failed, nothing = (
        result([("tan", "x1"), ("sin", "x1")], name="a"),
        result([("exp", "x1")], name="b"),
        result([("add",)], name="c"),
        result([], name="d"),
    )
    novel = result([("tan", "x1")], name="e")
    return tidy([good, copied, failed, nothing, novel], test_set="toy", extra=1)


def test_tidy_rows():
    table = rows()
    needed = {
        "strategy",
        "beam_size",
        "test_set",
        "seed",
        "problem",
        "truth",
        "answer",
        "r2",
        *SENSES,
        "candidates",
        "tokens",
        "seconds",
        "answer_length",
        "log_prob",
        "r2_given",
        "truth_length",
        "share_novel_candidates",
        "extra",
    }
    assert needed <= set(table.columns) and len(table) == 5
    assert list(table["problem"]) == list("abcde") and set(table["test_set"]) == {"toy"}
    assert list(table["answer"]) == ["sin x1", "exp x1", "", "", "tan x1"]
    assert list(table["novel"]) == [False, False, False, False, True]
    assert math.isclose(table["r2"][0], 1) and table["r2"][2] == table["r2"][3] == -math.inf
    assert list(table["candidates"]) == [2, 1, 1, 0, 1] and table["share_novel_candidates"][0] == 0.5
    assert (
        list(table["same_template"]) == [True, False, False, False, False]
        and table["why"][3] == "no candidate was generated"
    )


def test_every_problem_is_in_the_denominator():
    table = breakdown(rows())
    assert table["count"].sum() == 5 and set(table["n"]) == {5} and math.isclose(table["share"].sum(), 1)
    cell = lambda novel, accurate: int(
        table[(table["novel"] == novel) & (table["accurate"] == accurate)]["count"].iloc[0]
    )
    assert (cell(True, True), cell(True, False), cell(False, True), cell(False, False)) == (0, 1, 1, 3)


def test_tables_survive_csv():
    text = rows().to_csv(index=False)
    again = pd.read_csv(io.StringIO(text))
    pd.testing.assert_frame_equal(breakdown(again), breakdown(rows()))
    pd.testing.assert_frame_equal(novelty_table(again), novelty_table(rows()))


def test_groups():
    both = pd.concat([rows(), rows().assign(strategy="other", r2=0.995)])
    assert len(breakdown(both)) == 8 and len(breakdown(both, by="strategy")) == 8
    curve = accuracy_curve(both)
    assert (
        list(curve["threshold"][:7]) == list(THRESHOLDS)
        and (curve["low"] <= curve["share"]).all()
        and (curve["share"] <= curve["high"]).all()
    )
    other = curve[curve["strategy"] == "other"]
    assert list(other["count"]) == [5, 5, 5, 5, 0, 0, 0]
    assert len(novelty_table(both)) == 2 * len(SENSES)


def test_the_seven_thresholds():
    assert THRESHOLDS == (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999)
    table = pd.DataFrame({"strategy": "s", "beam_size": 1, "r2": [0.99, 0.9900001, math.nan, -math.inf]})
    assert accuracy_curve(table, thresholds=(0.99,))["count"].tolist() == [
        1
    ]  # strictly above; nan is a failure


# ------------------------------------------------------------------------------------------------------------ statistics


@pytest.mark.parametrize("k, n", [(0, 150), (1, 150), (75, 150), (150, 150), (3, 7), (1, 1)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_against_scipy(k, n, confidence):
    judge = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
    found = wilson(k, n, confidence)
    assert math.isclose(found.low, judge.low, abs_tol=1e-12) and math.isclose(
        found.high, judge.high, abs_tol=1e-12
    )
    assert found.value == k / n


def test_wilson_without_data_and_with_nonsense():
    assert wilson(0, 0)[1:] == (0.0, 1.0)
    with pytest.raises(ValueError, match="5 of 3"):
        wilson(5, 3)


@pytest.mark.parametrize("seed", range(5))
def test_mcnemar_against_scipy(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.random(60) < 0.6, rng.random(60) < 0.45
    found = mcnemar(a, b)
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    assert (found.only_a, found.only_b) == (only_a, only_b)
    assert math.isclose(found.p_value, stats.binomtest(only_a, only_a + only_b, 0.5).pvalue)
    assert mcnemar(a, a).p_value == 1.0


def test_bootstrap_against_scipy():
    values = np.random.default_rng(0).exponential(size=200)
    found = bootstrap(values, np.random.default_rng(1), draws=10_000)
    judge = stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    assert found.value == values.mean()
    assert math.isclose(found.low, judge.low, abs_tol=0.01) and math.isclose(
        found.high, judge.high, abs_tol=0.01
    )


def test_paired_bootstrap_uses_the_pairs():
    rng = np.random.default_rng(0)
    hard = rng.normal(0, 10, 300)  # problems differ a lot, strategies a little
    better = hard + 0.5 + rng.normal(0, 0.5, 300)
    found = paired_bootstrap(better, hard, np.random.default_rng(1))
    assert 0.4 < found.low < found.value < found.high < 0.6
    with pytest.raises(ValueError, match="one value per problem"):
        paired_bootstrap([1, 2], [1], rng)
    with pytest.raises(ValueError, match="one value per problem"):
        mcnemar([True], [True, False])


def test_a_lone_constant_has_a_function():
    assert novelty.function_of(("C",)) == novelty.function_of(("C",))
    assert TRAINING.novelty(("C",))["novel"]
