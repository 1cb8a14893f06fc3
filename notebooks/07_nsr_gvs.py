# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Prompts make answers novel; verified parts keep them nearly as accurate
#
# **Claim.** NSR-gvs prompts the network with parts of its own better predictions. Prompts of any parts make the answers novel and cost
# accuracy; verified parts win most of it back. It beats the beam that it began with, but not one with as many candidates.
#
# **You will see.** A prompt that helps and one that hurts, the loop built by hand, what each ingredient adds.
#
# **Needs.** [05](05_beam_search.py), [06](06_tpsr.py).
#
# **From the paper.** Section 6 "NSR-gvs"; Appendix "NSR-gvs"; Table "Breakdown of generated expressions".
#
# **Runtime.** Tiny: one minute. Laptop: one minute. Paper: some minutes of a GPU. On a laptop with 2 cores.

# %% [markdown]
# The tables of this lesson were measured before and are read; the searches on the first `n_live` problems are made while you read. The
# report [A07](appendix/A07_nsr_gvs.py) has the other test sets, all decisions, and every comparison at equal cost.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the test set that is solved while you read
weights: str = "laptop/gvs"  # the prompted network; empty: train a tiny one now
plain_weights: str = "laptop/nesymres"  # the network without prompts that it is compared with
iterations: int = 30  # T, of the searches that you see
beam_size: int = 5  # b, of each prediction in them
n_problems: int = 150  # problems of a test set
n_seeds: int = 3  # test sets of each kind, drawn with different seeds
n_points: int = 100  # points given per problem; as many fresh ones judge
n_live: int = 10  # problems solved while you read

# %% [markdown]
# Imports, the two networks, and a few problems whose templates neither was trained on:

# %% tags=["hide-input"]
import math
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import display

from nsr import book
from nsr.data import TemplateBank, TreeRecipe, sample_items
from nsr.evidence import (
    ACCURATE, INK, PAPER_BEAM, Row, TrainingSet, charts, control, draw_loop, judged_together, lead_over_beams, measured,
    network_for, novelty_line, paired, percent, problems_of, save, style_of, use_style, verdicts_on,
)
from nsr.formulas import to_infix, variables
from nsr.network import Prompts, draw_prompt, sequence
from nsr.search import GVS, TPSR, BeamSearch, Complete, Verify, pieces, r2_fresh, r2_text, random_subtrees, solve_all

use_style()
trained, plain = network_for(weights, "gvs"), network_for(plain_weights)
training = TrainingSet.of(trained)
assert trained.templates == plain.templates
problems = problems_of(trained, "not_included", seed, n_problems, n_points)[:n_live]

# %% [markdown]
# ## Parts as a prompt
#
# TPSR judges tokens. NSR-gvs judges *subtrees*, because formulas that fit the same data may share parts. To use a part, the network must be
# able to read one. So it is trained with a *prompt* before its target: subtrees of the true formula, each between two marks. This is what
# the decoder reads and writes for a formula of six tokens and two of its parts:

# %%
formula = ("add", "sin", "x1", "mul", "C", "x2")
spelled = sequence(formula, [("sin", "x1"), ("x2",)])
print(" ".join(spelled))
assert spelled[7:] == ("<start>", *formula, "<end>")

# %% [markdown]
# Only what follows `<start>` is learned.
#
# Departure: the paper does not say how many subtrees a training prompt has. Ours is empty with some probability; else distinct proper
# subtrees are drawn until their length exceeds a limit that is drawn, too. Some prompts of the training:

# %%
s, rng = trained.settings, np.random.default_rng(seed)
how_drawn = Prompts(s["prompt_empty"], s["prompt_longest"], s["prompt_total"])
bank = TemplateBank(sorted(trained.templates)[:500], trained.vocabulary)
for target in sample_items(bank, rng, 5, n_points=2).targets():
    prompt = draw_prompt(rng, target, how_drawn)
    print(f"{to_infix(target):32s} ← ", ",  ".join(map(to_infix, prompt)) or "(none)")

# %% [markdown]
# ## A prompt that helps, and one that hurts
#
# For every problem take a *right* part, the shortest proper subtree of its truth with more than one token; and a *wrong* one, the first
# such subtree of the other problems that has the same length and does not occur in the truth.

# %%
def parts(prefix):
    return sorted((tree for tree in pieces(prefix)[1:] if 2 <= len(tree) <= 9), key=len)


def right_and_wrong(problem):
    others = [tree for other in problems for tree in parts(other.truth)]
    for right in parts(problem.truth):
        for wrong in others:
            known = set(variables(wrong)) <= set(variables(problem.truth))
            if len(wrong) == len(right) and known and wrong not in pieces(problem.truth):
                return right, wrong


# %% [markdown]
# A beam search that reads a given prompt:

# %%
class Prompted:
    name, beam_size = "prompted", 5

    def __init__(self, prompts):
        self.prompts = prompts

    def search(self, view, rng):
        beam = yield Complete((), self.beam_size, self.prompts[view.problem.name])
        yield Verify.beam(beam)


# %% [markdown]
# It is asked three times: without a prompt, with the right part, with the wrong one.

# %%
pairs = {p.name: pair for p in problems if (pair := right_and_wrong(p))}
chosen = [p for p in problems if p.name in pairs]
prompts = {"none": lambda right, wrong: (), "right": lambda right, wrong: (right,),
           "wrong": lambda right, wrong: (wrong,)}
told = {}
for kind, make in prompts.items():
    given = {name: make(*pair) for name, pair in pairs.items()}
    told[kind] = solve_all(chosen, Prompted(given), trained)

# %% [markdown]
# *Helps*: the first problem on which the right part makes the answer accurate ($R^2 > 0.99$ on fresh points). *Hurts*: the first on which the
# wrong part makes an accurate answer inaccurate, or else the one that loses most.

# %% tags=["hide-input"]
r2 = {kind: np.array([max(result.r2, -1.0) for result in some]) for kind, some in told.items()}
good = {kind: values > ACCURATE for kind, values in r2.items()}
helped, lost = good["right"] & ~good["none"], good["none"] & ~good["wrong"]
helps = int(np.argmax(helped if helped.any() else r2["right"] - r2["none"]))
hurts = int(np.argmax(lost if lost.any() else r2["none"] - r2["wrong"]))
lines = []
for word, i, kinds in (("helps", helps, ("none", "right")), ("hurts", hurts, ("none", "wrong"))):
    lines.append((word, "", "the truth:  " + to_infix(chosen[i].truth), ""))
    for kind in kinds:
        result, prompt = told[kind][i], prompts[kind](*pairs[chosen[i].name])
        wrote = to_infix(result.answer.prefix) if result.answer else "–"
        lines.append((word, ",  ".join(map(to_infix, prompt)) or "(no prompt)", wrote, r2_text(result.r2)))
pd.DataFrame(lines, columns=["example", "prompt", "answer", "R² fresh"]).set_index(["example", "prompt"])

# %% [markdown]
# A whole test set was asked like this. Left: how many outputs contain a part when it is the prompt, beside the base rate when there is no
# prompt. Right: how often the answer is then accurate; *all right parts* is a prompt of all parts of the truth for which there is room.

# %% tags=["hide-input"]
few = {"n_problems": n_problems, "n_points": n_points}


def live_prompts():
    return pd.DataFrame([
        {"test_set": "not_included", "problem": r.problem.name, "kind": kind, "accurate": r.r2 > ACCURATE,
         **{f"has_{name}": np.mean([tree in pieces(c.prefix) for c in r.candidates])
            for name, tree in zip(("right", "wrong"), pairs[r.problem.name])}}
        for kind, some in told.items() for r in some])


asked = measured("gvs_prompts", live_prompts, trained, scale=scale, seed=0, **few, live=live_prompts)
asked = asked[asked.test_set == "not_included"]
by_kind = dict(list(asked.groupby("kind")))
figure, (ax, right) = plt.subplots(1, 2, figsize=(7, 3.2))
for x, name in enumerate(("right", "wrong")):
    for shift, kind, face in ((-0.19, "none", "white"), (0.19, name, INK)):
        ax.bar(x + shift, 100 * by_kind[kind][f"has_{name}"].mean(), 0.36, fc=face, ec=INK,
               label=("no prompt" if kind == "none" else "it is the prompt") if x == 0 else None)
ax.set_xticks((0, 1), ("a right part", "a wrong part"))
ax.set_ylabel("outputs that contain it (%)")
ax.set_title("The network follows prompts,\nright or wrong", fontsize=10)
ax.set(ylim=(0, 125), yticks=range(0, 101, 20))
ax.legend(fontsize=8, loc="upper left", ncols=2)
kinds = [kind for kind in ("wrong", "none", "right", "all right") if kind in by_kind]
for y, kind in enumerate(kinds):
    share = charts.share(by_kind[kind].accurate)
    right.errorbar(share.value, y, xerr=charts.bar(share), fmt="o", color=INK, capsize=3)
names = {"wrong": "a wrong part", "none": "no prompt", "right": "a right part", "all right": "all right parts"}
right.set_yticks(range(len(kinds)), [names[kind] for kind in kinds])
right.set(xlabel="accurate answers (%)", xlim=(0, 100), ylim=(-0.5, len(kinds) - 0.5))
right.set_title("Right parts help,\nwrong ones hurt", fontsize=10)
save(figure, "right_wrong_none", alt="Left: outputs rarely contain a part that is in no prompt, and nearly always one that is, right or wrong. Right: "
     "accuracy with a wrong part is lower than without a prompt, with a right part higher, with all right parts highest.")

# %% [markdown]
# In training every prompt was true, so the network did not learn that a part may be wrong. Whoever chooses the prompt must choose well.
#
# ## The loop
#
# NSR-gvs lets the fit decide. It keeps a *pool* of subtrees, each with a score $z$ and a count $c$: $z$ is the mean $R^2$ of the $c$
# predictions that contained it. After a prediction $\hat e$ with $R^2 = R$, every subtree of $\hat e$ is updated:
#
# $$(z, c) \leftarrow \Big(\frac{cz + R}{c + 1}, c + 1\Big), \qquad \text{or } (R, 1) \text{ if it is new.}$$

# %%
def update(pool, formula, reward):
    for tree in dict.fromkeys(pieces(formula)):  # each once
        z, c = pool.get(tree, (0.0, 0))
        pool[tree] = (c * z + reward) / (c + 1), c + 1


toy = {}
update(toy, ("add", "x1", "sin", "x2"), 0.9)
update(toy, ("sin", "x2"), 0.3)
assert toy[("sin", "x2")] == (0.6, 2) and toy[("x1",)] == (0.9, 1)

# %% [markdown]
# `sin x2` was in both predictions and has their mean; `x1` was in the better one only.
#
# Slip: the printed algorithm only updates subtrees that are in the pool and never adds one, so its pool stays empty. The text of the
# paper adds them, and so do we.
#
# Departure: $R^2$ is clipped to the range from 0 to 1, since one failure ($-\infty$) would exclude `x1` for ever.
#
# A prompt is made of two kinds of parts: the 39 best of the pool, without those with $z < 0.213$, and up to nine parts of random formulas.
# Parts of more than nine tokens are left out.

# %%
def suggestions(pool, random, score):
    best = sorted(pool, key=lambda tree: -score(*pool[tree]))[:39]
    verified = [tree for tree in best if pool[tree][0] >= 0.213]
    return [tree for tree in dict.fromkeys([*random, *verified]) if len(tree) <= 9]


# %% [markdown]
# Of these, parts are drawn with equal chances until their length exceeds a limit. What the decoder has no positions for is dropped again:

# %%
def draw_parts(trees, limit, positions, rng):
    prompt = []
    for i in rng.permutation(len(trees)):
        if sum(map(len, prompt)) > limit:
            break
        prompt.append(trees[i])
    while prompt and sum(len(tree) + 2 for tree in prompt) + 31 > positions:
        prompt.pop()
    return prompt


# %% [markdown]
# And the loop: draw a prompt, predict by a beam of $b = 5$, verify, update; thirty times. The first prompt is empty. The limit is drawn
# from 0 to $\lfloor 15.58 + 0.42\, t \rfloor$. The answer is the best candidate of all iterations.

# %%
class GVSByHand:
    name = "NSR-gvs by hand"

    def __init__(self, iterations=30, beam_size=5, score=lambda z, c: z):
        self.iterations, self.beam_size, self.score = iterations, beam_size, score
        self.log = []

    def search(self, view, rng):
        pool, n_variables = {}, view.problem.n_variables
        recipe = TreeRecipe(trained.vocabulary, s["min_operators"], s["max_operators"])
        for t in range(1, self.iterations + 1):
            limit, prompt = rng.integers(int(15.58 + 0.42 * t) + 1), []
            if t > 1:
                random = random_subtrees(9, recipe, n_variables, rng)
                merged = suggestions(pool, random, self.score)
                prompt = draw_parts(merged, limit, view.positions, rng)
            beam = yield Complete((), self.beam_size, tuple(prompt))
            outputs = yield Verify.beam(beam)
            best = min(outputs, key=lambda candidate: candidate.key)  # best first
            update(pool, best.prefix, min(1.0, max(0.0, best.r2)))
            self.log.append((view.problem.name, prompt, best.prefix, dict(pool)))


# %% [markdown]
# Departure: "until the length exceeds the limit" is taken literally, and marks have no length; random formulas come from a fixed bank of
# 2,048; a random part with a variable that the problem does not have is left out.
# [A07](appendix/A07_nsr_gvs.py) tries other choices for five such decisions.
#
# With the same random numbers, the strategy of `nsr` must draw the same prompts, write the same formulas and keep the same pool:

# %%
log, by_hand = [], GVSByHand(iterations, beam_size)
strategy = GVS(BeamSearch(beam_size), iterations, watch=log.append)
found = solve_all(problems, strategy, trained, seed=seed)
solve_all(problems, by_hand, trained, seed=seed)
for problem in problems:
    ours = [line[1:] for line in by_hand.log if line[0] == problem.name]
    theirs = [event for event in log if event.problem == problem.name]
    for event, (prompt, prediction, pool) in zip(theirs, ours, strict=True):
        assert [part.subtree for part in event.prompt] == prompt
        assert event.prediction == prediction
        assert {entry.subtree: (entry.score, entry.count) for entry in event.pool} == pool
print(f"the same {len(log)} iterations on {len(problems)} problems")

# %% [markdown]
# ## One search that works, one that fails
#
# *Works*: the first problem with an accurate answer that the first iteration, a beam without a prompt, had not found. *Fails*: the first
# problem without an accurate answer.

# %% tags=["hide-input"]
logs = [[event for event in log if event.problem == p.name] for p in problems]
begin = [max((r2_fresh(p, c) for c in some[0].outputs[:1]), default=-np.inf) for p, some in zip(problems, logs)]
good = [result.r2 > ACCURATE for result in found]
works = next((i for i, (b, g) in enumerate(zip(begin, good)) if g and b <= ACCURATE), 0)
fails = next((i for i, g in enumerate(good) if not g), len(problems) - 1)
lines = []
for word, i in (("works", works), ("fails", fails)):
    lines.append((word, "the truth", to_infix(problems[i].truth), "", "", ""))
    last = next((e.t for e in logs[i] if found[i].answer in e.outputs), 1)
    for name, c in (("iteration 1", logs[i][0].outputs[:1]), (f"answer, from iteration {last}", (found[i].answer,))):
        for c in filter(None, c):
            novel = "novel" if training.novelty(c.prefix)["novel"] else "copied"
            lines.append((word, name, to_infix(c.prefix), r2_text(c.r2), r2_text(r2_fresh(problems[i], c)), novel))
book.record(accurate=float(np.mean(good)), novel=float(np.mean([bool(training.novelty(r.answer.prefix)["novel"]) for r in found if r.answer])))
columns = ["example", "", "formula", "R² given", "R² fresh", "structure"]
pd.DataFrame(lines, columns=columns).set_index(columns[:2])

# %% [markdown]
# Move the prompt of the search that works, from iteration to iteration. A full dot marks a verified part, a ring a random one, and a tick a
# part that the prediction contains:

# %% tags=["hide-input"]
def draw_prompt_of(t):
    figure, ax = plt.subplots(figsize=(7, 3.6))
    draw_loop(ax, logs[works], t)
    return figure


times = [t for t in range(1, iterations + 1) if t <= 12 or t % 2 == 0]
control(draw_prompt_of, "iteration", times[:24], alt="The loop of NSR-gvs in iteration {}: the prompt, the prediction, its verification and the best "
        "subtrees of the pool.")

# %% [markdown]
# Many predictions contain parts of their prompt. Does the prompt cause that? A good part may be written anyway. Which of the allowed
# verified parts stand in a prompt is drawn at random, so those that could have been drawn and were not give the base rate:

# %%
lines = []
for some in logs:
    for before, now in zip(some, some[1:]):
        best = [entry.subtree for entry in before.pool[:39] if entry.score >= 0.213]
        drawn = {part.subtree for part in now.prompt}
        lines += [(tree in drawn, tree in pieces(now.prediction))
                  for tree in best if 2 <= len(tree) <= 9]
shown = pd.DataFrame(lines, columns=["in the prompt", "written"])
shown.groupby("in the prompt").written.agg(**{"share written": "mean", "parts": "size"}).round(2)

# %% [markdown]
# A part that is in the prompt is written several times as often as one that could have been in it and was not.
#
# ## What does each ingredient add?
#
# Six searches with 150 candidates each, on the same problems. Two have no prompts: a beam of 150, with the plain network and with the
# prompted one. The others are NSR-gvs and three variants, which take one ingredient away each:

# %%
T, B = (30, 5) if weights else (iterations, 3)
gvs = GVS(BeamSearch(B), T)
variants = {"random parts": replace(gvs, k=0),  # nothing from the pool
            "verified parts": replace(gvs, k_rand=0),  # nothing random
            "shuffled": replace(gvs, shuffled=True)}  # scores exchanged at random

# %% [markdown]
# Their tables:

# %% tags=["hide-input"]
SHOW = ("k", "k_rand", "threshold", "shuffled", "updates", "identity", "floor", "whole", "markers")
gvs_rows = lambda strategy, **more: [Row(strategy, "not_included", n, **few, **more) for n in range(n_seeds)]  # noqa: E731
where = {"scale": scale, "live": min(n_live, 6)}
whole = measured("gvs", [*gvs_rows(gvs), *gvs_rows(GVS(TPSR(), T))], trained, **where)
varied = [row for variant in variants.values() for row in gvs_rows(variant, show=SHOW)]
options = measured("gvs_options", [*gvs_rows(BeamSearch(B * T)), *varied], trained, **where)
sizes = PAPER_BEAM if plain_weights else (1, B, B * T)
beam = measured("beam", [row for b in sizes for row in gvs_rows(BeamSearch(b))], plain, **where)
full, combined = (whole[whole.strategy == name] for name in ("gvs", "gvs+tpsr"))
searches = {"beam, plain network": beam[beam.beam_size == beam.beam_size.max()],
            "beam, no prompts": options[options.strategy == "beam"],
            "random parts": options[options.k == 0], "verified parts": options[options.k_rand == 0],
            "shuffled": options[options.shuffled == True], "NSR-gvs": full}  # noqa: E712

# %% [markdown]
# The two shares of each, with 95 % intervals; below, which novel answers are no discoveries (chapter 04), in % of all answers:

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7, 3), sharey=True)
for ax, what in zip(axes, ("accurate", "novel")):
    for y, (name, part) in enumerate(searches.items()):
        style, share = style_of("beam" if "beam" in name else "gvs"), charts.share(part[what])
        ax.errorbar(share.value, y, xerr=charts.bar(share), fmt=style["marker"], color=style["color"], capsize=3,
                    mfc=style["color"] if y in (0, len(searches) - 1) else "white")
    ax.set(xlabel=f"{what} answers (%)", xlim=(0, 100), ylim=(len(searches) - 0.5, -0.5))
axes[0].set_yticks(range(len(searches)), searches)
axes[0].set_title("No search is more accurate\nthan a plain beam", fontsize=10)
axes[1].set_title("Prompts of any parts\nmake answers novel", fontsize=10)
save(figure, "ingredients", alt="Accurate and novel answers of six searches with equally many candidates. Accuracy: highest for the beams without prompts, "
     "nearly as high for NSR-gvs, lower for random or verified parts alone. Novelty: low without prompts, highest for NSR-gvs.")
pd.DataFrame({name: novelty_line(part) for name, part in searches.items()}).T

# %% [markdown]
# What each step changes, problem by problem; p-values are corrected for all lines together (Holm, chapter 11):

# %%
steps = {"training with prompts": ("beam, no prompts", "beam, plain network"),
         "prompts of random parts": ("random parts", "beam, no prompts"),
         "verified parts as well": ("NSR-gvs", "random parts"),
         "… that their scores are true": ("NSR-gvs", "shuffled"),
         "all prompts together": ("NSR-gvs", "beam, no prompts")}
leads = {(name, what): paired(searches[a], searches[b], what)[0]
         for name, (a, b) in steps.items() for what in ("accurate", "novel")}
judged_together(leads).rename_axis(["step", "makes answers more"])

# %% [markdown]
# Most of the novelty needs no feedback: prompts of random parts bring it, and cost accuracy. Verified parts win most of that back, and add
# novelty. An interval that crosses zero decides nothing. There is one network of each kind; the paper has no such ablation.
#
# ## Paper, ours, verdict
#
# Points or %, on `not_included`. *As published*: without a grammar, stopped at the first $b$ finished formulas, constants by BFGS, on 150
# problems.

# %% tags=["hide-input"]
rows = pd.concat([whole, beam])
under = lambda name, *sizes: [Row.under("published", name, b, "not_included", seed=0, **few) for b in sizes]  # noqa: E731
as_published = pd.concat([measured("protocols", under("beam", *PAPER_BEAM), plain, **where),
                          measured("protocols", under("gvs", 5), trained, **where)]) if weights else rows[:0]
leads = {(name, cost): lead_over_beams(part, beam, cost) for name, part in (("NSR-gvs", full), ("NSR-gvs + TPSR", combined))
         for cost in ("candidates", "evaluations", "seconds")}
equal = judged_together(leads)
display(equal[equal.points != "–"].rename_axis(["more accurate than a beam", "of equal"]))
sentences = {
    ("gvs_raises_both", "novel(gvs 5) - novel(beam 5)"): "NSR-gvs raises novelty (both b = 5)",
    ("gvs_raises_both", "accurate(gvs 5) - accurate(beam 5)"): "… and accuracy",
    ("novelty_at_equal_candidates", "novel(gvs 5) - novel(beam @ gvs 5)"): "its novelty is higher at equal candidates",
    ("beam_is_most_accurate_at_equal_candidates", "accurate(beam @ gvs 5) - accurate(gvs 5)"): "there a beam is more accurate",
    ("most_novel_answers_are_inaccurate", "accurate_if_novel(gvs 5)"): "most novel answers are inaccurate (< 50 %)",
    ("both_together_is_highest", "accurate(gvs+tpsr 1) - accurate(beam 150)"): "NSR-gvs + TPSR is the most accurate"}
verdicts_on(sentences, rows, as_published)

# %% [markdown]
# The fourth line depends on decoder and fit: as published, the sign is the other, and nothing is decided. The last line holds only at the
# strategy's own cost: stopped where the largest beam ends, in candidates or seconds, the first table says what is left.
#
# ## Exercises
#
# 1. *Predict.* The score of a part is a mean. Do parts that were in few predictions (`"rare"`) or in many (`"common"`) stand at the top of
#    the pool?

# %% tags=["solution"]
at_the_top = "rare"  # the fewer rewards a mean has, the further it can be from the middle

# %% tags=["check"]
tops = [entry for some in logs for entry in some[-1].pool[:5]]
everything = [entry for some in logs for entry in some[-1].pool]
counts = {name: float(np.mean([e.count for e in some])) for name, some in (("top five", tops), ("all", everything))}
print("predictions that a part was in:", {name: round(n, 1) for name, n in counts.items()})
assert at_the_top == "rare", "which means are extreme, those of few numbers or those of many?"

# %% [markdown]
# 2. *Turn.* Let only parts of formulas that nearly fit be used. Measure the share of verified parts in the prompts of the first four
#    problems, for a given `threshold` of `GVS`. What takes their place?

# %% tags=["solution"]
def verified_share(z):
    seen = []
    solve_all(problems[:4], replace(strategy, threshold=z, watch=seen.append), trained, seed=seed)
    sources = [part.source == "pool" for event in seen for part in event.prompt]
    return float(np.mean(sources)) if sources else 0.0


# %% tags=["check"]
by_threshold = {z: verified_share(z) for z in (0.0, 2.0)}
print("share of verified parts:", {z: f"{share:.0%}" for z, share in by_threshold.items()})
assert by_threshold[2.0] == 0.0 < by_threshold[0.0], "no R² is above 2, and then all parts are random ones"

# %% [markdown]
# 3. *Build.* A part that was in one good formula may have been lucky. Score it by a lower confidence bound: by Hoeffding, with 90 % certainty
#    the true mean of $c$ rewards between 0 and 1 is above $z - \sqrt{\ln(10) / (2c)}$. Write `lower_bound(z, c)`; the check runs the loop
#    with it.

# %% tags=["solution"]
def lower_bound(z, c):
    return z - math.sqrt(math.log(10) / (2 * c))


# %% tags=["check"]
assert lower_bound(0.8, 10) > lower_bound(0.9, 1), "a part of ten good formulas is safer than one of a single one"
assert np.isclose(0.6 - lower_bound(0.6, 8), np.sqrt(np.log(10)) / 4), "how large is the root for c = 8?"
careful = GVSByHand(iterations, beam_size, score=lower_bound)
bounded = solve_all(problems, careful, trained, seed=seed)
for name, some in (("mean", found), ("lower bound", bounded)):
    print(f"{name}: accurate {percent(r.r2 > ACCURATE for r in some)}, {np.mean([r.n_fits for r in some]):.0f} different formulas per problem")

# %% [markdown]
# **What's next.** [The PAC guarantee](08_pac_guarantee.py): what a loop of this kind can promise.
