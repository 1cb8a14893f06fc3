"""Local search: what it asks, what it verifies and when it stops, with a network that answers at random."""

import json
import math
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
import torch
from fake_network import fake_model
from test_engine import problems, summary
from test_tpsr import Recorded

from nsr.data.problems import Problem
from nsr.evidence.rows import Row
from nsr.formulas.editing import last_leaf, n_operators
from nsr.formulas.equivalence import is_reduced, template_of
from nsr.formulas.expressions import FULL, SIMPLIFIED
from nsr.network.model import Config, Network
from nsr.search.decoding import Complete, NextTokens
from nsr.search.engine import Budget, solve, solve_all
from nsr.search.oracle import Verify
from nsr.search.strategies import LastLeaf, LocalSearch
from nsr.search.strategies.families import alike
from nsr.search.strategies.local import by_chance

GUIDED = LocalSearch(beam_size=3, candidates=40)
RANDOM = LocalSearch(beam_size=3, candidates=40, start="random", guided=False)
PLAIN = LocalSearch(beam_size=3, candidates=40, families=False)
STRATEGIES, IDS = (
    [GUIDED, RANDOM, PLAIN, LastLeaf(3)],
    ["local", "local-random", "without families", "last-leaf"],
)


def model(**options):
    return fake_model(vocabulary=SIMPLIFIED.with_variables(2), **options)


def hard(n=3):
    """Problems with values that no template explains: the search goes on to its end."""
    out = []
    for i in range(n):
        rng = np.random.default_rng(i)
        X = rng.uniform(-2, 2, (40, 2))
        out.append(Problem(X, X[:, 0] + 0.5 * rng.normal(size=40), f"hard {i}", X_fresh=X, y_fresh=X[:, 0]))
    return out


def drafts(result):
    return [c for c in result.candidates if c.note != "pruned"]


# ----------------------------------------------------------------------------------------------------------------- last leaf


def test_only_last_leaves_are_changed():
    seen = 0
    for problem in hard(4):
        recorded = Recorded(LastLeaf(3))
        result = solve(problem, recorded, model())
        (complete,) = [r for r in recorded.requests if isinstance(r, Complete)]
        assert complete == Complete((), 3)
        beam = {template_of(c.prefix) for c in result.candidates if c.note == "beam"}
        allowed = {template_of(new) for t in beam for new in last_leaf(t, ["x1", "x2"]) if is_reduced(new)}
        changed = {template_of(c.prefix) for c in result.candidates if c.note == "last leaf"}
        assert changed <= allowed and {alike(t) for t in allowed} <= {
            alike(template_of(c.prefix)) for c in drafts(result)
        }
        seen += len(changed)
    assert seen > 3


# ------------------------------------------------------------------------------------------------------------------ requests


def test_without_a_network_nothing_is_asked_of_it():
    fake, recorded = model(), Recorded(RANDOM)
    result = solve(hard(1)[0], recorded, fake)
    assert (
        {type(r) for r in recorded.requests} == {Verify}
        and fake.network.passes == []
        and result.n_tokens == 0
    )
    assert result.strategy == "local-random" and result.n_candidates >= 40


def test_with_a_network_each_place_is_read_once():
    recorded, rounds = Recorded(replace(GUIDED, watch=lambda r: rounds.append(r))), []
    result = solve(hard(1)[0], recorded, model())
    read = [r for r in recorded.requests if isinstance(r, NextTokens)]
    shown = {r.parent for r in rounds}
    assert {r.prefix for r in read} <= {s[:i] for s in shown for i in range(len(s))} and len(rounds) > 2
    assert {type(r) for r in recorded.requests} == {Complete, NextTokens, Verify} and result.n_tokens > 0
    assert {e.kind for r in rounds for e in r.children} > {"complete", "graft"}


def test_the_network_decides_which_edits_come_first():
    """A network that always wants tan: edits with tan come first."""

    def share(sharp):
        fake = model()
        tan = fake.vocabulary.ids["tan"]
        fake.network.row_logits = lambda value, ids: np.where(
            np.arange(len(fake.vocabulary)) == tan, sharp, 0.0
        )
        log = []
        solve_all(hard(3), LocalSearch(3, "random", completions=0, candidates=20, watch=log.append), fake)
        return np.mean([Counter(e.prefix)["tan"] > Counter(r.parent)["tan"] for r in log for e in r.children])

    assert share(4.0) > share(0.0) + 0.2


def test_chance_follows_the_weights():
    rng = np.random.default_rng(0)
    first = Counter(int(by_chance(np.log([0.6, 0.3, 0.1]), rng)[-1]) for _ in range(3000))
    # χ², 2 degrees, p = 0.001
    assert sum((first[i] - 3000 * p) ** 2 / (3000 * p) for i, p in enumerate([0.6, 0.3, 0.1])) < 13.8


# ---------------------------------------------------------------------------------------------------------------- candidates


@pytest.mark.parametrize("strategy", [GUIDED, RANDOM], ids=IDS[:2])
def test_no_family_twice_none_too_large(strategy):
    for result in solve_all(hard(), strategy, model()):
        keys = [alike(template_of(c.prefix)) for c in drafts(result)]
        assert len(set(keys)) == len(keys)
        local = [template_of(c.prefix) for c in result.candidates if c.note == "local"]
        assert local and all(
            n_operators(t) <= strategy.max_operators
            and set(t) <= {*SIMPLIFIED.operators, "x1", "x2"} - {"mul"}
            for t in local
        )
        assert result.n_candidates == sum(result.generated.values())


def test_variables_that_do_not_vary_are_left_out():
    problem = hard(1)[0]
    X = np.column_stack([problem.X[:, 0], np.full(40, 2.0)])
    result = solve(Problem(X, problem.y, "one"), replace(RANDOM, candidates=25), model())
    assert all("x2" not in c.prefix for c in result.candidates)


def test_without_families_constants_stay_where_they_are():
    log = []
    result = solve(
        hard(1)[0],
        replace(PLAIN, watch=log.append, completions=0, kinds=("leaf", "operator", "wrap", "drop")),
        model(),
    )
    assert log and all(e.prefix.count("C") <= r.parent.count("C") for r in log for e in r.children)
    assert not any(c.note == "pruned" for c in result.candidates) and result.answer is result.candidates[0]


@pytest.mark.parametrize("kinds", [("leaf",), ("drop", "unwrap"), ("graft",)], ids=" ".join)
def test_kinds(kinds):
    log = []
    solve(hard(1)[0], replace(GUIDED, kinds=kinds, completions=0, watch=log.append), model())
    assert {e.kind for r in log for e in r.children} <= set(kinds)


def test_refusals():
    with pytest.raises(ValueError, match="'beam' or 'random'"):
        LocalSearch(start="nothing")
    with pytest.raises(ValueError, match="no kind of edits 'twist'"):
        LocalSearch(kinds=("leaf", "twist"))


# ------------------------------------------------------------------------------------------------------------------- answers


def test_it_finds_what_a_random_network_does_not():
    for strategy in (LocalSearch(candidates=150), LocalSearch(candidates=150, start="random", guided=False)):
        for result in solve_all(problems(3), strategy, model()):
            assert result.r2 > 0.999 and not result.stopped
            assert result.r2 < 1 - 1e-9 or result.n_candidates < 150  # solved: nothing more to look for


def test_full_vocabulary():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 2, (40, 2))
    for strategy in (LocalSearch(candidates=60), LocalSearch(candidates=60, start="random", guided=False)):
        result = solve(
            Problem(X, X[:, 0] * X[:, 1] + np.sqrt(X[:, 0])),
            strategy,
            fake_model(vocabulary=FULL.with_variables(2)),
        )
        assert result.r2_given > 0.95 and any(
            {"mul", "div"} & set(template_of(c.prefix)) for c in drafts(result)
        )


@pytest.mark.parametrize("strategy", STRATEGIES, ids=IDS)
def test_together_equals_alone(strategy):
    together = solve_all(hard(), strategy, model(), seed=2)
    assert [summary(r) for r in together] == [summary(solve(p, strategy, model(), seed=2)) for p in hard()]
    if strategy.name != "last-leaf":
        assert [summary(r) for r in together] != [
            summary(r) for r in solve_all(hard(), strategy, model(), seed=3)
        ]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=IDS)
def test_stopped_at_any_candidate(strategy):
    problem = hard(1)[0]
    free = solve(problem, strategy, model())
    for n in range(1, free.n_candidates, 7):
        result, then = (
            solve(problem, strategy, model(), budget=Budget(candidates=n)),
            free.best_at(candidates=n),
        )
        assert result.n_candidates == n and (result.answer.prefix, result.answer.constants) == (
            then.prefix,
            then.constants,
        )


def test_watching_changes_nothing():
    watched = solve_all(hard(), replace(GUIDED, watch=lambda r: None), model())
    assert [summary(r) for r in watched] == [summary(r) for r in solve_all(hard(), GUIDED, model())]


def test_noise_is_not_fitted():
    """y = x1 + noise: of some forty families the answer stays a short one, near the truth."""
    for result in solve_all(hard(4), RANDOM, model()):
        assert result.answer.prefix.count("C") <= 3 and result.r2 > 0.9


@pytest.mark.parametrize("strategy", STRATEGIES, ids=IDS)
def test_a_row_of_a_grid(strategy):
    with patch("nsr.evidence.rows.weights_digest", lambda *a: "0"):
        row = Row(strategy, "baseline", budget=Budget(candidates=50))
        assert (
            json.loads(json.dumps(row.parameters(SimpleNamespace(name="fake"))))["strategy"] == strategy.name
        )


def test_a_real_network():
    torch.manual_seed(0)
    network = Network(
        Config(vocabulary=len(SIMPLIFIED), width=32, heads=2, positions=60, embedding_std=1.0)
    ).eval()
    for result in solve_all(
        problems(2), LocalSearch(candidates=30), SimpleNamespace(network=network, vocabulary=SIMPLIFIED)
    ):
        assert result.answer is not None and math.isfinite(result.r2_given)
