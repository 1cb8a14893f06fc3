"""An answer with a term that the points do not need loses it, and with it perhaps its place in the training set."""

import numpy as np
import pandas as pd
import pytest

from nsr.data.problems import Problem
from nsr.evidence.novelty import TrainingSet
from nsr.evidence.pruned_lines import pruned_answers


def test_a_term_that_is_not_needed_is_dropped():
    truth = ("mul", "C", "sin", "x1")
    problem = Problem.from_expression(
        truth, (2.0,), rng=np.random.default_rng(0), n_points=60, support=[(-2, 2)], name="p"
    )
    larger = "add mul C sin x1 mul C exp x1"
    line = {
        "problem": "p",
        "truth": " ".join(truth),
        "answer": larger,
        "answer_length": 9,
        "r2": 1.0,
        "novel": False,
    }
    line |= {"novel_seen": False, "novel_functional": False, "novel_family": False, "same_family": False}
    line |= {"accurate": True, "copied": True}
    none = line | {"answer": np.nan, "accurate": False, "copied": False, "r2": -np.inf}
    rows = pd.DataFrame([line, none, line | {"problem": "another"}])
    found = pruned_answers(rows, [problem], TrainingSet([("add", "exp", "x1", "sin", "x1")], seen=[]))
    assert found.answer.tolist()[0] == "mul C sin x1" and len(found) == 2
    assert found.novel.tolist() == [True, False] and found.accurate.tolist() == [True, False]
    assert found.same_family.tolist() == [True, False] and found.copied.tolist() == [False, False]
    with pytest.raises(ValueError, match="is not the one"):
        pruned_answers(rows.assign(truth="x1"), [problem], TrainingSet([]))
