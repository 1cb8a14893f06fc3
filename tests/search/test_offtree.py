"""Off-tree search: what it forces, and in which order it verifies, by another way of counting."""

import math

import pytest
from fake_network import fake_model
from test_engine import problems

from nsr.formulas.expressions import SIMPLIFIED
from nsr.search.decoding import Complete, NextTokens
from nsr.search.engine import solve
from nsr.search.oracle import Verify
from nsr.search.strategies import OffTree


class Asked:
    """A search that only asks for the answers to some requests."""

    name = "asked"

    def __init__(self, requests):
        self.requests, self.answers = requests, []

    def search(self, view, rng):
        self.answers = yield list(self.requests)
        yield Verify((("x1",),))


def answers(problem, model, requests):
    asked = Asked(requests)
    solve(problem, asked, model)
    return asked.answers


@pytest.mark.parametrize("counted", [0.0, 1.0])
def test_every_candidate_is_a_hypothesis_of_the_beam_or_leaves_one_by_one_forced_token(counted):
    model, problem = fake_model(vocabulary=SIMPLIFIED.with_variables(2)), problems(1)[0]
    strategy = OffTree(beam_size=3, candidates=30, counted=counted, places=10_000)
    made = solve(problem, strategy, model)
    beam = [h.prefix for h in answers(problem, model, [Complete((), 3)])[0]]
    order = list(made.generated)
    assert order[: len(beam)] == beam and len(order) == len(set(order)) == 30

    scores = {}
    for hypothesis in beam:
        for n in range(len(hypothesis)):
            so_far = [
                dict(table)[hypothesis[k]]
                for k, table in enumerate(
                    answers(problem, model, [NextTokens(hypothesis[:k]) for k in range(n)]) if n else []
                )
            ]
            for token, log_prob in answers(problem, model, [NextTokens(hypothesis[:n])])[0]:
                turned = (*hypothesis[:n], token)
                if any(other[: n + 1] == turned for other in beam):
                    continue
                for rest in answers(problem, model, [Complete(turned, 1)])[0]:
                    score = sum(so_far) + counted * log_prob + rest.log_prob
                    score /= 1 + len(rest.prefix)
                    scores[rest.prefix] = max(score, scores.get(rest.prefix, -math.inf))
    forced = order[len(beam) :]
    best = sorted(scores.values(), reverse=True)[: len(forced)]
    assert [scores[prefix] for prefix in forced] == pytest.approx(best)


def test_nothing_is_forced_where_the_beam_alone_is_asked_for():
    model, problem = fake_model(vocabulary=SIMPLIFIED.with_variables(2)), problems(1)[0]
    assert len(solve(problem, OffTree(beam_size=5, candidates=5), model).generated) == 5
