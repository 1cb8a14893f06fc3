"""Novelty and the breakdown, judged by sets and by hand."""

import io
import math

import numpy as np
import pandas as pd
import pytest

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
    # strictly above; nan is a failure
    assert accuracy_curve(table, thresholds=(0.99,))["count"].tolist() == [1]


def test_a_lone_constant_has_a_function():
    assert novelty.function_of(("C",)) == novelty.function_of(("C",))
    assert TRAINING.novelty(("C",))["novel"]
