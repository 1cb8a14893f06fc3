"""TPSR: judged by a second, recursive tree search that knows nothing of engines, and by numbers worked out by
hand."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from fake_network import TOY, fake_model
from test_engine import problems, summary

from nsr.data.problems import Problem
from nsr.formulas.expressions import ARITY, CONSTANT, END, SPECIAL, START, is_valid
from nsr.numbers.evaluation import evaluate
from nsr.numbers.fitting import fit_constants
from nsr.search.decoding import Complete, NextTokens
from nsr.search.engine import Budget, solve, solve_all
from nsr.search.oracle import Candidate
from nsr.search.strategies import TPSR
from nsr.search.strategies.tpsr import FAILURE, PUBLISHED, Node

MAX_LEN = 9


@dataclass(frozen=True)
class Recorded:
    """A strategy whose requests are written down on their way to the engine."""

    inner: object
    requests: list = field(default_factory=list)

    @property
    def name(self):
        return self.inner.name

    def search(self, view, rng):
        steps, answer = self.inner.search(view, rng), None
        while True:
            try:
                asked = steps.send(answer)
            except StopIteration as end:
                return end.value
            self.requests.extend(asked if isinstance(asked, list) else [asked])
            answer = yield asked


# ---------------------------------------------------------------------------------------------------------------- the judge


class Judge:
    """Tree search with dictionaries keyed by token sequences; decodes one token at a time, straight from the
    network's logits."""

    def __init__(self, problem, model, r, k, lam=0.01, c=1.0, c_base=50.0):
        self.problem, self.network, self.ids = problem, model.network, model.vocabulary.ids
        self.r, self.k, self.lam, self.c, self.c_base = r, k, lam, c, c_base
        points = np.concatenate([problem.X, problem.y[:, None]], 1)[None].astype(np.float32)
        self.memory = float(self.network.encode(torch.from_numpy(points))[0, 0, 0])
        self.N, self.Q, self.P, self.children, self.log = {}, {}, {}, {}, []

    def policy(self, s):
        """[(token, probability)] that may follow, most likely first."""
        logits = self.network.row_logits(self.memory, [self.ids[t] for t in (START, *s)])
        p = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        open_slots = 1 + sum(ARITY.get(t, 0) - 1 for t in s)
        if open_slots == 0:
            return [(END, 1.0)]
        fits = [
            t for t in TOY.tokens if t not in SPECIAL and len(s) + open_slots + ARITY.get(t, 0) <= MAX_LEN
        ]
        return sorted(((t, p[self.ids[t]]) for t in fits), key=lambda pair: -pair[1])

    def rollout(self, s):
        """The greedy completion and its reward."""
        while s[-1:] != (END,):
            s = (*s, self.policy(s)[0][0])
        s = s[:-1]
        fit = fit_constants(s, self.problem.X, self.problem.y)
        if fit.r2 == -math.inf:
            return s, FAILURE
        error = self.problem.y - evaluate(s, self.problem.X, fit.constants)
        return s, 1 / (1 + (error @ error) / (self.problem.y @ self.problem.y)) + self.lam * math.exp(
            -len(s) / MAX_LEN
        )

    def visit(self, s, path):
        """One rollout below s; returns its reward."""
        path = (*path, s)
        if s[-1:] == (END,):
            completion, reward = self.rollout(s)
            self.log.append((path, completion, reward))
        else:
            options, tried = self.policy(s)[: self.k], self.children.setdefault(s, [])
            if len(tried) < len(options):
                token, p = options[len(tried)]
                child = (*s, token)
                tried.append(child)
                self.P[child] = p
                completion, reward = self.rollout(child)
                self.N[child], self.Q[child] = 1, reward
                self.log.append(((*path, child), completion, reward))
            else:
                reward = self.visit(max(tried, key=lambda a: self.ucb(s, a)), path)
        self.N[s], self.Q[s] = self.N.get(s, 0) + 1, max(self.Q.get(s, -math.inf), reward)
        return reward

    def ucb(self, s, a):
        beta = math.log((self.N[s] + self.c_base + 1) / self.c_base) + self.c
        return self.Q[a] + beta * self.P[a] * math.sqrt(math.log(self.N[s])) / (1 + self.N[a])

    def run(self):
        s = ()
        while s[-1:] != (END,):
            for _ in range(self.r):
                self.visit(s, ())
            s = max(self.children[s], key=self.Q.get)
        return s[:-1]


@pytest.mark.parametrize("r, k, c", [(3, 3, 1.0), (2, 3, 1.0), (6, 2, 1.0), (9, 3, 4.0), (5, 1, 1.0)])
def test_the_same_tree_as_an_independent_search(r, k, c):
    deep = 0
    for problem in problems(3):
        log = []
        strategy = TPSR(r, k, c=c, published=True, max_len=MAX_LEN, watch=log.append)
        result = solve(problem, strategy, fake_model())
        judge = Judge(problem, fake_model(), r, k, c=c)
        walked = judge.run()
        assert [(e.path, e.completion) for e in log] == [entry[:2] for entry in judge.log]
        assert np.allclose([e.reward for e in log], [entry[2] for entry in judge.log], atol=1e-9)
        assert result.generated[walked] and (result.answer is None or result.answer.prefix == walked)
        deep += sum(len(e.path) > 2 and e.path[1][-1:] != (END,) for e in log)
        assert {path for e in log for path in e.path} == set(judge.N)
        # visits follow from the log
        assert all(sum(s in e.path for e in log) == n for s, n in judge.N.items())
    assert (deep > 0) == (r > k)


def test_selection_by_hand():
    """N(s) = 4: β = ln(55/50) + c and √ln 4 = 1.1774. The bold child is worth 0.693 and 2.283, the shy one
    0.658 and 2.777."""
    bold, shy = Node(("x1",), prior=0.6, visits=3, value=0.5), Node(("x2",), prior=0.4, visits=1, value=0.4)
    parent = Node(untried=[], children=[bold, shy], visits=4)
    assert [round(TPSR().p_ucb(parent, child), 3) for child in (bold, shy)] == [0.693, 0.658]
    assert [round(TPSR(c=10).p_ucb(parent, child), 3) for child in (bold, shy)] == [2.283, 2.777]
    assert TPSR().select(parent)[-1] is bold and TPSR(c=10).select(parent)[-1] is shy
    parent.untried = [("C", -3.0)]
    assert TPSR().select(parent) == [parent]  # what was not tried comes first


def test_the_tree_policy_chooses_only_with_more_rollouts_than_tokens(monkeypatch):
    choices, real = [], TPSR.p_ucb
    monkeypatch.setattr(
        TPSR,
        "p_ucb",
        lambda self, parent, child: choices.append(len(parent.children)) or real(self, parent, child),
    )
    solve_all(problems(3), TPSR(3, 3, max_len=MAX_LEN), fake_model())
    assert set(choices) <= {1}  # an only child: END after a complete expression
    solve_all(problems(3), TPSR(4, 3, max_len=MAX_LEN), fake_model())
    assert max(choices) == 3


# ------------------------------------------------------------------------------------------------------------------- reward


def test_reward_by_hand():
    # mean square 7.5, variance 1.25
    problem = Problem(np.arange(4.0)[:, None], np.array([1.0, 2.0, 3.0, 4.0]))
    candidate = Candidate(("sin", "x1"), r2=0.6, mse=0.5)
    assert TPSR(lam=0).reward(candidate, problem) == pytest.approx(7.5 / 8)
    assert (
        TPSR(lam=0, nmse="variance").reward(candidate, problem)
        == pytest.approx(1.25 / 1.75)
        == pytest.approx(1 / (2 - 0.6))
    )
    assert TPSR().reward(candidate, problem) == pytest.approx(7.5 / 8 + 0.01 * math.exp(-2 / 40))
    assert TPSR(**PUBLISHED).reward(candidate, problem) == pytest.approx(7.5 / 8 + 0.1 * math.exp(-2 / 200))
    assert TPSR().reward(Candidate(("add",)), problem) == FAILURE


def test_a_heavy_lambda_prefers_short_answers():
    def length(lam):
        return np.mean(
            [
                len(r.answer.prefix)
                for r in solve_all(problems(), TPSR(lam=lam, published=True, max_len=20), fake_model())
            ]
        )

    assert length(100.0) < length(0.0)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"rollouts": 0}, "rollouts is 0"),
        ({"k_max": 0}, "k_max is 0"),
        ({"nmse": "mean"}, "'power' or 'variance'"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        TPSR(**options)


# ------------------------------------------------------------------------------------------------------------------ caching


@pytest.mark.parametrize(
    "strategy",
    [TPSR(max_len=12), TPSR(7, 2, max_len=12), TPSR(beam_size=3, max_len=12), TPSR(masked=False, max_len=8)],
    ids=["r3", "r7", "b3", "unmasked"],
)
def test_nothing_is_decoded_twice(strategy):
    for problem in problems(3):
        recorded = Recorded(strategy)
        result = solve(problem, recorded, fake_model())
        completed = [r.prefix for r in recorded.requests if isinstance(r, Complete)]
        read = [r.prefix for r in recorded.requests if isinstance(r, NextTokens)]
        assert len(set(completed)) == len(completed) > 0 and len(set(read)) == len(read) > 0
        assert result.n_fits <= len(result.generated)
        if strategy.masked:
            # after a complete expression only END can come
            assert not any(is_valid(prefix) for prefix in read)
            whole = sum(is_valid(prefix) for prefix in completed)  # a complete prefix has one completion
            assert result.n_candidates <= len(completed) * strategy.beam_size - whole * (
                strategy.beam_size - 1
            )
        if strategy.masked and strategy.beam_size == 1:
            # greedy completions: no two of them are the same, a prefix on the way of one is never completed
            # again
            assert result.n_fits == result.n_candidates == len(result.candidates)


def test_the_log_probability_is_that_of_the_whole_expression():
    problem = problems(1)[0]
    found = {
        c.prefix: c.log_prob for c in solve(problem, TPSR(beam_size=2, max_len=6), fake_model()).candidates
    }
    judge = Judge(problem, fake_model(), 1, 1)
    for prefix, log_prob in found.items():
        logits = [
            judge.network.row_logits(judge.memory, [judge.ids[t] for t in (START, *prefix[:i])])
            for i in range(len(prefix) + 1)
        ]
        steps = [row - np.logaddexp.reduce(row) for row in logits]
        expected = sum(row[judge.ids[t]] for row, t in zip(steps, (*prefix, END)))
        assert log_prob == pytest.approx(expected)


# ------------------------------------------------------------------------------------------------------- answers and budgets


def test_the_published_mode_answers_with_its_path_the_default_with_its_best():
    walked = solve_all(problems(), TPSR(published=True, lam=0.5, max_len=12), fake_model())
    kept = solve_all(problems(), TPSR(lam=0.5, max_len=12), fake_model())
    assert [r.n_candidates for r in walked] == [r.n_candidates for r in kept]
    assert all(b.answer is b.candidates[0] and a.r2_given <= b.r2_given for a, b in zip(walked, kept))
    assert any(a.answer.prefix != b.answer.prefix for a, b in zip(walked, kept))


def test_without_the_grammar():
    results = solve_all(problems(), TPSR(**PUBLISHED, max_len=8), fake_model())
    assert all(r.answer is None or is_valid(r.answer.prefix) for r in results) and any(
        r.answer for r in results
    )
    log = []
    solve_all(problems(), TPSR(**PUBLISHED, max_len=8, watch=log.append), fake_model())
    # nonsense tokens take a place among the k_max, as published
    assert any(e.reward == FAILURE and not e.completion for e in log)


STRATEGIES = [TPSR(max_len=12), TPSR(6, 2, beam_size=2, max_len=10), TPSR(**PUBLISHED, max_len=8)]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=["default", "deep", "published"])
def test_together_equals_alone(strategy):
    together = solve_all(problems(), strategy, fake_model(), seed=3)
    assert [summary(r) for r in together] == [
        summary(solve(p, strategy, fake_model(), seed=3)) for p in problems()
    ]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=["default", "deep", "published"])
def test_stopped_at_any_candidate_the_best_so_far_is_the_answer(strategy):
    free = solve(problems()[2], strategy, fake_model())
    for n in range(1, free.n_candidates + 1, 3):
        result = solve(problems()[2], strategy, fake_model(), budget=Budget(candidates=n))
        best = free.best_at(candidates=n)
        assert result.n_candidates == n
        if result.stopped:
            assert (result.answer and result.answer.prefix) == (best and best.prefix)


def test_constants_and_a_single_variable():
    x = np.linspace(0, 3, 20)
    result = solve(Problem(x[:, None], 3 * x + 1), TPSR(5, 3, max_len=7), fake_model())
    assert all("x2" not in c.prefix for c in result.candidates) and any(
        CONSTANT in c.prefix for c in result.candidates
    )
