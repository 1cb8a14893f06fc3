"""The three test sets of the simplified setting."""

import numpy as np
import pytest

from nsr.data.templates import is_held_out, training_draws
from nsr.data.test_sets import TEST_SETS, size, test_set, test_templates
from nsr.formulas.equivalence import template_of
from nsr.numbers.evaluation import evaluate, r2_score

KNOWN = set(training_draws(5000, seed=0))


@pytest.mark.parametrize("name", TEST_SETS)
def test_problems_are_their_truths_and_reproducible(name):
    problems = test_set(name, KNOWN, n=40, seed=1)
    again = test_set(name, KNOWN, n=40, seed=1)
    assert all(np.array_equal(a.X, b.X) and np.array_equal(a.y, b.y) for a, b in zip(problems, again))
    for problem in problems:
        assert problem.X.shape == problem.X_fresh.shape == (100, 5)
        for X, y in ((problem.X, problem.y), (problem.X_fresh, problem.y_fresh)):
            assert r2_score(y, evaluate(problem.truth, X, problem.truth_constants)) > 1 - 1e-9
        assert (template_of(problem.truth) in KNOWN) <= (name == "baseline")


@pytest.mark.slow
def test_not_included_is_longer_and_the_matched_set_is_not():
    mean = {
        name: np.mean([size(t) for seed in range(3) for t in test_templates(name, KNOWN, seed=seed)], axis=0)
        for name in TEST_SETS
    }
    assert mean["not_included"][0] > mean["baseline"][0] + 1
    assert abs(mean["not_included_matched"] - mean["baseline"]).max() < 0.1
    assert all(is_held_out(t) for t in test_templates("not_included_matched", KNOWN))


def test_not_included_templates_are_different_and_unknown():
    templates = test_templates("not_included", KNOWN)
    assert len(set(templates)) == 150 and not KNOWN & set(templates)


def test_bad_requests_are_refused():
    with pytest.raises(ValueError, match="There are: not_included, baseline"):
        test_set("training", KNOWN)
