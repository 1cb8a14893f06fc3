"""Following: shares of outputs by hand, and points that belong to another problem."""

from dataclasses import replace

import numpy as np

from nsr.data.hints import Complexity, Negative, Positive
from nsr.data.problems import Problem
from nsr.evidence.following import followed, with_points_of_another
from nsr.formulas.parsing import parse
from nsr.search.oracle import Candidate


def outputs(*texts: str) -> list[Candidate]:
    return [Candidate(*parse(text)) for text in texts]


def test_an_output_follows_a_kind_if_all_its_hints_are_true():
    hints = [Positive(("sin", "x1")), Positive(("exp", "x2")), Negative(("cos", "x1"))]
    shares = followed(outputs("sin(x1) + exp(x2)", "sin(x1)", "cos(x1)", "exp(x2) + x1"), hints)
    assert (shares["positives"], shares["negatives"]) == (0.25, 0.75)
    assert np.isnan(shares["complexity"]) and np.isnan(shares["symmetry"])


def test_what_is_no_expression_follows_nothing():
    broken = replace(outputs("x1")[0], prefix=("sin",))
    assert followed([broken], [Complexity(1)])["complexity"] == 0.0
    assert np.isnan(followed([], [Complexity(1)])["complexity"])


def test_points_come_from_the_next_problem_with_the_same_variables():
    rng = np.random.default_rng(0)
    texts = "sin(x1)", "x1 + x2", "exp(x1)"
    problems = [Problem.from_expression(*parse(text), rng=rng, n_points=8) for text in texts]
    exchanged = with_points_of_another(problems)
    assert [p.truth for p in exchanged] == [problems[0].truth, problems[2].truth]
    assert np.array_equal(exchanged[0].y, problems[2].y) and np.array_equal(exchanged[1].y, problems[0].y)
