"""NSR-gvs: the pool is recomputed from the history, every prompt is held against the text's rules, every
switch is turned."""

import math
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fake_network import FakeNetwork, fake_model
from second_reading import split
from test_engine import problems, summary
from test_tpsr import Recorded

from nsr.data.templates import TreeRecipe
from nsr.evidence.drawings import draw_pool, pool_over_time
from nsr.evidence.rows import Row
from nsr.formulas.expressions import SIMPLIFIED, is_valid
from nsr.network.model import Config, Network
from nsr.search import decoding
from nsr.search.decoding import Complete, Job, NextTokens, passes
from nsr.search.engine import Budget, solve, solve_all, suited
from nsr.search.oracle import Candidate, Verify
from nsr.search.strategies import GVS, TPSR, BeamSearch, Families, NSRwH, gvs, nsrwh
from nsr.search.strategies.gvs import Entry, Suggestion, random_subtrees

BEAM = BeamSearch(3, max_len=12)


def model(**options):
    return fake_model(vocabulary=SIMPLIFIED.with_variables(2), **options)


def history(strategy=GVS(BEAM, iterations=12), n=3, seed=0, **options):
    """The iterations of some problems, problem by problem, and the results."""
    log = defaultdict(list)
    watching = replace(strategy, watch=lambda iteration: log[iteration.problem].append(iteration))
    results = solve_all(problems(n), watching, model(**options), seed=seed)
    return list(log.values()), results


# ------------------------------------------------------------------------------------------------------------------ the pool


@pytest.mark.parametrize("floor", [0.0, -1.0])
def test_a_score_is_the_mean_reward_of_the_predictions_with_the_subtree(floor):
    for iterations in history(GVS(BEAM, iterations=10, floor=floor))[0]:
        rewards = defaultdict(list)
        for iteration in iterations:
            assert floor <= iteration.reward <= 1
            for tree in set(split(iteration.prediction)):
                rewards[tree].append(iteration.reward)
            assert {entry.subtree: entry.count for entry in iteration.pool} == {
                tree: len(r) for tree, r in rewards.items()
            }
            assert all(
                entry.score == pytest.approx(np.mean(rewards[entry.subtree])) for entry in iteration.pool
            )
            assert [e.score for e in iteration.pool] == sorted(
                (e.score for e in iteration.pool), reverse=True
            )


def test_the_pool_grows_from_nothing():
    for iterations in history()[0]:
        sizes = [len(iteration.pool) for iteration in iterations]
        # the printed algorithm would stay at 0
        assert sizes[0] > 0 and sizes == sorted(sizes) and sizes[-1] > sizes[0]


def test_an_iteration_tells_all_it_verified():
    for predictor in (BEAM, TPSR(max_len=8)):
        logs, results = history(GVS(predictor, iterations=5))
        by_name = {iterations[0].problem: iterations for iterations in logs}
        assert len(by_name) == len(results) == 3
        for result in results:
            iterations = by_name[result.problem.name]
            told = [c.prefix for i in iterations for c in i.outputs]
            assert set(told) == set(result.generated) and len(told) <= result.n_candidates
            assert all(
                i.prediction == i.outputs[0].prefix and i.reward == min(1.0, max(0.0, i.outputs[0].r2))
                for i in iterations
            )
            best = min((c for i in iterations for c in i.outputs), key=lambda c: c.key)
            assert (result.answer and result.answer.prefix) == (best.prefix if best.valid else None)


def test_updates_by_hand():
    pool = {}
    GVS().update(pool, Candidate(("add", "x1", "sin", "x1"), r2=0.8))
    GVS().update(pool, Candidate(("sin", "x1"), r2=-math.inf))
    assert pool == {
        ("add", "x1", "sin", "x1"): Entry(("add", "x1", "sin", "x1"), 0.8, 1),
        ("x1",): Entry(("x1",), 0.4, 2),
        ("sin", "x1"): Entry(("sin", "x1"), 0.4, 2),
    }
    GVS(whole=False).update(pool, Candidate(("cos", "x1"), r2=0.4))
    assert ("cos", "x1") not in pool and pool["x1",] == Entry(("x1",), pytest.approx(0.4), 3)
    pool = {}
    for prefix in (("add", "x2", "x1"), ("add", "x1", "x2")):
        GVS(identity="canonical").update(pool, Candidate(prefix, r2=1.0))
    assert pool["add", "x1", "x2"].count == 2 and len(pool) == 3
    GVS().update(pool, Candidate(("add", "x1")))  # not an expression: it has no subtrees
    assert len(pool) == 3


def test_all_outputs_may_update():
    best, every = (history(GVS(BEAM, iterations=1, updates=which))[0] for which in ("best", "all"))
    for a, b in zip(best, every):
        assert {e.subtree for e in a[0].pool} < {e.subtree for e in b[0].pool}
        assert max(e.count for e in b[0].pool) > 1


# --------------------------------------------------------------------------------------------------------------- the prompts


@pytest.mark.parametrize(
    "strategy", [GVS(BEAM), GVS(BEAM, markers=True, k=5, threshold=0.5)], ids=["default", "markers"]
)
def test_prompts_follow_the_rules(strategy):
    extra, sources = 2 * strategy.markers, set()
    for iterations in history(strategy, n=2)[0]:
        assert [i.t for i in iterations] == list(range(1, 31)) and iterations[0].prompt == ()
        for before, now in zip(iterations, iterations[1:]):
            trees, lengths = [s.subtree for s in now.prompt], [len(s.subtree) + extra for s in now.prompt]
            assert 0 <= now.limit <= math.floor(15.58 + 0.42 * now.t) and trees
            assert len(set(trees)) == len(trees) and max(lengths) <= 9 and all(map(is_valid, trees))
            assert sum(lengths[:-1]) <= now.limit  # it stops as soon as the limit is exceeded
            kth = sorted((e.score for e in before.pool), reverse=True)[: strategy.k][-1]
            good = {e.subtree for e in before.pool if e.score >= max(kth, strategy.threshold)}
            assert all(s.subtree in good for s in now.prompt if s.source == "pool")
            sure = {
                e.subtree
                for e in before.pool
                if e.score >= strategy.threshold and (e.score > kth or len(before.pool) <= strategy.k)
            }
            # even if the generator drew it too
            assert all(s.source == "pool" for s in now.prompt if s.subtree in sure)
            sources |= {s.source for s in now.prompt}
    assert sources == {"pool", "random"}


def test_a_prompt_is_as_long_as_the_limit_wants():
    rng = np.random.default_rng(0)
    for _ in range(200):
        trees = [("sin",) * int(n) + ("x1",) for n in rng.permutation(9)[: rng.integers(9)]]
        limit = int(rng.integers(29))
        prompt = GVS().prompt([Suggestion(tree, "pool") for tree in trees], limit, 120, rng)
        assert sum(len(s.subtree) for s in prompt) > limit or len(prompt) == len(trees)


def test_limits_reach_both_ends():
    # ⌊1.08⌋ = 1 first, ⌊8.58⌋ = 8 last
    narrow = GVS(BeamSearch(1, max_len=4), iterations=16, l_start=0.58, l_slope=0.5)
    limits = [[i.limit for i in iterations] for iterations in history(narrow, n=6)[0]]
    assert {row[0] for row in limits} == {0, 1} and {n for row in limits for n in row} == set(range(9))
    assert [math.floor(GVS().l_start + GVS().l_slope * t) for t in (1, 2, 30)] == [16, 16, 28]


def test_prompts_fit_the_decoder():
    for positions in (64, 40, 31):
        iterations, results = history(GVS(BEAM, iterations=10), n=2, positions=positions)
        lengths = [sum(len(s.subtree) + 2 for s in i.prompt) for each in iterations for i in each]
        assert max(lengths) <= positions - 31 and all(r.n_candidates == 30 for r in results)
        assert (max(lengths) > 0) == (positions > 31)


def test_equal_chances():
    """Every suggestion is drawn first equally often."""
    suggestions = [Suggestion((f"x{i}",), "pool") for i in range(1, 6)]
    rng = np.random.default_rng(0)
    first = [GVS().prompt(suggestions, 0, 64, rng)[0].subtree[0] for _ in range(2000)]
    counts = [first.count(f"x{i}") for i in range(1, 6)]
    assert sum((n - 400) ** 2 / 400 for n in counts) < 18.5  # χ², 4 degrees of freedom, p = 0.001


def test_random_subtrees_come_from_the_generator():
    rng = np.random.default_rng(0)
    drawn = random_subtrees(400, TreeRecipe(), 5, rng)
    assert len(drawn) == 400 and all(is_valid(tree) and tree in SIMPLIFIED for tree in drawn)
    assert len(set(drawn)) > 60 and any("C" in tree for tree in drawn) and max(map(len, drawn)) > 9
    assert all(
        set(tree) & {"x2", "x3", "x4", "x5"} == set() for tree in random_subtrees(200, TreeRecipe(), 1, rng)
    )


# ------------------------------------------------------------------------------------------------------------------ switches


def sources(strategy):
    return {s.source for iterations in history(strategy)[0] for i in iterations for s in i.prompt}


def test_ablations():
    few = GVS(BEAM, iterations=8)
    assert sources(replace(few, k_rand=0, threshold=-math.inf)) == {"pool"}
    assert sources(replace(few, k=0)) == {"random"}
    assert sources(replace(few, threshold=1.1)) == {"random"}
    assert sources(replace(few, k=0, k_rand=0)) == set()
    low = [
        s
        for iterations in history(replace(few, threshold=-math.inf))[0]
        for a, b in zip(iterations, iterations[1:])
        for s in b.prompt
        if dict((e.subtree, e.score) for e in a.pool).get(s.subtree, 1) < 0.213 and s.source == "pool"
    ]
    assert low  # without the threshold bad subtrees are used


def test_shuffled_scores_keep_the_pool_but_not_its_order():
    pool = {(f"x{i}",): Entry((f"x{i}",), i / 10, 1) for i in range(1, 11)}
    view = SimpleNamespace(vocabulary=SIMPLIFIED, problem=problems(1)[0])
    rng = np.random.default_rng(0)
    chosen = lambda strategy: {s.subtree for s in strategy.suggestions(pool, view, rng)}
    assert chosen(GVS(k=3, k_rand=0)) == {("x8",), ("x9",), ("x10",)}
    assert len(chosen(GVS(k_rand=0))) == 8  # x1 and x2 are below the threshold
    shuffled = [chosen(GVS(k=3, k_rand=0, shuffled=True)) for _ in range(20)]
    assert len(set().union(*shuffled)) == 10 and all(len(c) == 3 for c in shuffled)


@pytest.mark.parametrize(
    "options, message",
    [({"identity": "value"}, "identity is 'value'"), ({"updates": "none"}, "'best' or 'all'")],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        GVS(**options)


# --------------------------------------------------------------------------------------------------------------- composition


@pytest.mark.parametrize(
    "predictor", [BEAM, TPSR(max_len=8), TPSR(published=True, max_len=8)], ids=["beam", "tpsr", "published"]
)
def test_one_iteration_is_the_predictor_itself(predictor):
    plain, wrapped = (
        solve_all(problems(), predictor, model()),
        solve_all(problems(), GVS(predictor, iterations=1), model()),
    )
    for a, b in zip(plain, wrapped):
        assert [c.prefix for c in a.candidates] == [c.prefix for c in b.candidates]
        assert (a.n_candidates, a.n_fits, a.n_tokens) == (b.n_candidates, b.n_fits, b.n_tokens)
        assert (b.answer is None) == (not b.candidates[0].valid) and {c.note for c in b.candidates} == {
            "iteration 1"
        }


def test_every_request_carries_the_prompt():
    log, recorded = [], Recorded(GVS(TPSR(max_len=8), iterations=6, watch=lambda i: log.append(i)))
    result = solve(problems()[0], recorded, model())
    prompts = {r.prompt for r in recorded.requests if not isinstance(r, Verify)}
    assert prompts == {tuple(s.subtree for s in i.prompt) for i in log} and len(prompts) > 3
    assert {type(r) for r in recorded.requests} == {Complete, NextTokens, Verify}
    assert (
        recorded.name == "gvs+tpsr"
        and GVS(BEAM).name == "gvs"
        and GVS(BEAM).beam_size == 3
        and GVS().beam_size == 5
    )
    first = next(c for c in result.candidates if c.note.startswith("iteration 3"))
    counts = [sum(s.source == source for s in log[2].prompt) for source in ("pool", "random")]
    assert first.note == "iteration 3" + "".join(
        f", {n} {source}" for n, source in zip(counts, ("pool", "random")) if n
    )


def test_the_prediction_of_a_walking_tree_search_is_its_path():
    log, rollouts = [], []
    tree = TPSR(published=True, lam=5.0, max_len=10, watch=rollouts.append)
    solve(problems()[0], GVS(tree, iterations=3, watch=log.append), model())
    ends = [
        e.path[-1][:-1]
        for e, after in zip(rollouts, [*rollouts[1:], None])
        if after is None or (after.written == () != e.written)
    ]
    assert [i.prediction for i in log] == ends


# ------------------------------------------------------------------------------------------------------- together, seeds, budgets

STRATEGIES = [
    GVS(BEAM, iterations=6),
    GVS(BEAM, iterations=5, updates="all", shuffled=True),
    GVS(TPSR(max_len=8), iterations=3),
]
IDS = ["beam", "shuffled", "tpsr"]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=IDS)
def test_together_equals_alone(strategy):
    together = solve_all(problems(4), strategy, model(), seed=5)
    assert [summary(r) for r in together] == [
        summary(solve(p, strategy, model(), seed=5)) for p in problems(4)
    ]
    assert [summary(r) for r in together] == [
        summary(r) for r in solve_all(problems(4)[::-1], strategy, model(), seed=5)
    ][::-1]
    assert [summary(r) for r in together] != [
        summary(r) for r in solve_all(problems(4), strategy, model(), seed=6)
    ]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=IDS)
def test_stopped_at_any_candidate_the_best_so_far_is_the_answer(strategy):
    free = solve(problems()[1], strategy, model())
    for n in range(1, free.n_candidates, 5):
        result = solve(problems()[1], strategy, model(), budget=Budget(candidates=n))
        best = free.best_at(candidates=n)
        assert (
            result.n_candidates == n
            and result.stopped
            and (result.answer and result.answer.prefix) == (best and best.prefix)
        )


def test_watching_changes_nothing():
    strategy = GVS(BEAM, iterations=4)
    assert [summary(r) for r in history(strategy, n=3)[1]] == [
        summary(r) for r in solve_all(problems(3), strategy, model())
    ]


def test_a_real_network_with_prompts():
    torch.manual_seed(0)
    network = Network(
        Config(vocabulary=len(SIMPLIFIED), width=32, heads=2, positions=60, embedding_std=1.0)
    ).eval()
    real = SimpleNamespace(network=network, vocabulary=SIMPLIFIED)
    for strategy in (GVS(BEAM, iterations=3), GVS(TPSR(max_len=8), iterations=2)):
        for result in solve_all(problems(2), strategy, real):
            assert (
                result.answer is not None
                and result.answer is result.candidates[0]
                and math.isfinite(result.r2_given)
            )


@pytest.mark.parametrize(
    "strategy", [GVS(BEAM, iterations=2), Families(GVS(BEAM, iterations=2)), NSRwH(3, given="negatives")]
)
def test_random_expressions_are_as_large_as_in_the_training_of_the_network(strategy, monkeypatch):
    asked = []
    monkeypatch.setattr(gvs, "random_expressions", lambda recipe: asked.append(recipe) or [("sin", "x1")])
    monkeypatch.setattr(nsrwh, "random_templates", lambda recipe: asked.append(recipe) or (("sin", "x1"),))
    trained, settings = model(), {"min_operators": 3, "max_operators": 6}
    for given, expected in ((settings, (3, 6)), ({}, (2, 5))):
        asked.clear()
        one = replace(problems(1)[0], truth=("add", "x1", "sin", "x2"))
        solve(one, strategy, SimpleNamespace(**vars(trained), settings=given))
        assert {(recipe.min_operators, recipe.max_operators) for recipe in asked} == {expected}
    trained.name, trained.settings, trained.folder = "own", settings, Path("nowhere")
    options = Row(strategy, "not_included").parameters(trained)["options"]
    # the record says it, and a strategy that says it itself is not asked again
    assert options.get("inner", options)["max_operators"] == 6
    assert suited(GVS(max_operators=4), trained).max_operators == 4


# ------------------------------------------------------------------------------------------- prompts of different lengths in a pass


def random_jobs(rng, n, beam_size, share_prompted=0.8):
    trees = [("x1",), ("sin", "x1"), ("add", "x1", "x2"), ("mul", "C", "sin", "add", "x1", "x2")]
    prompts = [
        tuple(trees[i] for i in rng.permutation(4)[: rng.integers(5)])
        if rng.random() < share_prompted
        else ()
        for _ in range(n)
    ]
    return [Job(Complete((), beam_size, prompt), 0, 2) for prompt in prompts]


def test_passes_share_out_all_jobs_by_length():
    rng, cpu = np.random.default_rng(0), FakeNetwork()
    length = lambda job: sum(len(tree) + 2 for tree in job.request.prompt)
    for n, b in ((1, 5), (40, 5), (150, 5), (700, 1), (3, 1000)):
        jobs = random_jobs(rng, n, b, 1.0)
        groups = passes(jobs, list(range(n)), cpu)
        assert sorted(i for group in groups for i in group) == list(range(n))
        assert all(len(group) == 1 or len(group) * b <= decoding.PROMPTED for group in groups)
        assert max(map(len, groups)) - min(map(len, groups)) <= 1  # no small rest
        for before, after in zip(groups, groups[1:]):
            assert max(length(jobs[i]) for i in before) <= min(length(jobs[i]) for i in after)
    plain = random_jobs(rng, 250, 5, 0.0)
    assert passes(plain, list(range(250)), cpu) == [
        list(range(250))[k : k + decoding.ROWS // 5] for k in range(0, 250, decoding.ROWS // 5)
    ]


def real_model():
    torch.manual_seed(0)
    network = Network(
        Config(vocabulary=len(SIMPLIFIED), width=32, heads=2, positions=80, embedding_std=1.0)
    ).eval()
    return SimpleNamespace(network=network, vocabulary=SIMPLIFIED)


@pytest.mark.parametrize(
    "strategy", [GVS(BEAM, iterations=5), GVS(TPSR(max_len=6), iterations=2)], ids=["beam", "tpsr"]
)
def test_small_passes_large_passes_and_none_shared_agree_with_a_real_network(strategy, monkeypatch):
    """Padding a prompt to the longest of its pass, or reading it alone, changes nothing that can be seen."""
    real = real_model()
    together = [summary(r) for r in solve_all(problems(4), strategy, real)]
    assert together == [summary(solve(p, strategy, real)) for p in problems(4)]
    monkeypatch.setattr(decoding, "PROMPTED", 6)
    assert together == [summary(r) for r in solve_all(problems(4), strategy, real)]


# ------------------------------------------------------------------------------------------------------------------ pictures


def test_the_pool_as_a_picture():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    iterations = history(GVS(BEAM, iterations=10))[0][0]
    trees, scores = pool_over_time(iterations, shown=8)
    pool = iterations[-1].pool
    assert scores.shape == (8, 10) and len(set(trees)) == 8 and {e.subtree for e in pool[:4]} <= set(trees)
    assert min(e.count for e in pool[4:] if e.subtree in trees) >= max(
        e.count for e in pool[4:] if e.subtree not in trees
    )
    starts = [int(np.flatnonzero(np.isfinite(row))[0]) for row in scores]
    assert starts == sorted(starts)  # a staircase
    for tree, row, start in zip(trees, scores, starts):
        for column, iteration in enumerate(iterations):
            known = {e.subtree: e.score for e in iteration.pool}
            assert (tree in known) == (column >= start) and (column < start or row[column] == known[tree])
    figure, ax = plt.subplots()
    draw_pool(ax, iterations, problems(1)[0].truth or (), shown=8)
    dots = sum(s.subtree in trees for i in iterations for s in i.prompt)
    assert len(ax.lines) == dots and len(ax.get_yticklabels()) == 8
    plt.close(figure)
