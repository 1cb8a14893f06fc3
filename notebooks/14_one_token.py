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
# # The network copies at one token
#
# **Claim.** A formula that was never shown leaves the tree of training formulas at one token. The network finds that token very unlikely,
# and no other; told it, the network mostly writes the rest.
#
# **You will see.** The tree of beginnings; a walk along a formula; the same token, known to one network and new to another; what one told
# token changes; the last leaf, which the theorem is about.
#
# **Needs.** [04](04_reproduction_bias.py), [05](05_beam_search.py).
#
# **From the paper.** Sections 4 and 5.1 raise the question; the measurements are ours.
#
# **Runtime.** Tiny: half a minute. Laptop: half a minute; measuring again, two minutes per network. On a laptop with 2 cores.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the resampling
weights: str = "laptop/nesymres"  # the first of the networks that are asked; empty: train tiny ones now
n_networks: int = 4  # at most so many networks of this recipe, as far as they are here
n_problems: int = 400  # problems per test set and seed
n_points: int = 100  # points given per problem
n_seeds: int = 3  # test sets of each kind
recompute: bool = False  # measure what the table lacks

# %% [markdown]
# ## Asked, done, found, not shown
#
# *Asked.* Chapter 04 says that a network mostly answers with formulas of its training set. At which token does it decide to do so?
#
# *Done.* We walk along the true tokens of formulas that the network has never seen, and ask at each place how likely it finds the true
# token. Several networks with different training sets answer the same questions.
#
# *Found.* The verdicts at the end of the page say what holds.
#
# *Not shown.* All networks here are small and have one architecture. Formulas with constants are left out, because the set of beginnings
# that was shown with constants is not kept. Whether a larger training set moves the place of the novel step, and what that changes, is open.
#
# The margins below were chosen after a trial with one network, and before any other network was measured.

# %%
import math
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from nsr import book
from nsr.evidence import (
    BLUE, GREEN, GREY, ORANGE, RED, bare_problems, last_leaves, log_probabilities, mean, measured,
    networks_for, paired_difference, save, step_jobs, use_style, verdict_on_claim,
)
from nsr.formulas import END, PrefixTree, to_infix

use_style()
MARGINS = {"lower": 2.0, "told": 0.2, "near": 0.5}  # nats, share of problems, nats
networks = networks_for(weights, n_networks)
trained = next(iter(networks.values()))
print(len(networks), "networks:", ", ".join(networks))

# %% [markdown]
# ## The tree of beginnings
#
# The network writes a formula token by token, in prefix notation: `add x1 sin x2` is $x_1 + \sin x_2$. All beginnings of all training
# templates form a tree. We count how many templates go through each of its nodes. A formula ends with the token END.

# %%
def beginnings(templates):
    """How many templates begin with each prefix."""
    counts = Counter()
    for template in templates:
        tokens = (*template, END)
        counts.update(tokens[:n] for n in range(len(tokens) + 1))
    return counts


tree = PrefixTree(trained.templates)
counts = beginnings(trained.templates)
assert all(tree.count(prefix) == n for prefix, n in counts.items())
print(f"{len(trained.templates):,} templates have {len(counts):,} beginnings")

# %% [markdown]
# A formula that is not a training template leaves this tree somewhere. The *novel step* is the first token at which no training template
# begins like the formula.


# %%
def novel_step(formula):
    tokens = (*formula, END)
    return next(n for n in range(len(tokens)) if tokens[: n + 1] not in counts)


unknown = bare_problems(trained, "not_included", 0, 60, n_points)
assert all(novel_step(p.truth) == tree.novel_step(p.truth) for p in unknown)
places = [novel_step(p.truth) / len(p.truth) for p in unknown]
print(f"of {len(unknown)} unknown formulas the novel step is at {np.mean(places):.2f} of the length")

# %% [markdown]
# One formula as an example: the first of the test set whose novel step is in its middle. At each place of the walk the picture shows
# the tokens with which training templates go on. A number is how many of them do.

# %%
inner = [p for p in unknown if 3 <= novel_step(p.truth) < len(p.truth) - 1]
example = inner[0] if inner else unknown[0]
wall = novel_step(example.truth)


def draw_walk(ax, formula, most=5):
    """Training templates that go on from each beginning of a formula, up to the novel step."""
    for place in range(wall + 1):
        known = {k[-1]: n for k, n in counts.items() if len(k) == place + 1 and k[:place] == formula[:place]}
        shown = sorted(known, key=known.get, reverse=True)[:most]
        if formula[place] in known and formula[place] not in shown:
            shown[-1] = formula[place]
        for row, token in enumerate(shown):
            on = token == formula[place]
            ax.text(place, -row, f"{token} {known[token]}", ha="center", va="center", fontsize=8,
                    color=BLUE if on else GREY, weight="bold" if on else "normal")
    ax.text(wall, 1, f"{formula[wall]} 0", ha="center", va="center", color=RED, weight="bold", fontsize=9)
    ax.axvline(wall - 0.5, color=RED, lw=1.2, ls="--")
    ax.set(xlim=(-0.6, wall + 0.6), ylim=(-most, 1.6), yticks=[], xlabel="place in the formula")
    ax.set_title(f"{to_infix(formula)}: no training formula goes on with {formula[wall]!r}", fontsize=10)


figure, ax = plt.subplots(figsize=(9.5, 2.8))
draw_walk(ax, example.truth)
save(figure, "tree")
plt.show()

# %% [markdown]
# Blue is the true formula, grey is what training templates do instead, and right of the red line the true token has no template at all.

# %% [markdown]
# ## A walk along one formula
#
# The network is given the points and the true tokens up to a place. How likely does it find the next true token? One pass of the decoder
# answers for all places.

# %%
def walked(problem):
    table = log_probabilities(trained, [problem], [problem.truth])[0]  # (tokens + 1, vocabulary)
    ids = [trained.vocabulary.ids[token] for token in (*problem.truth, END)]
    return table[np.arange(len(ids)), ids]


def draw_bars(ax, problem):
    said, novel = walked(problem), novel_step(problem.truth)
    ax.bar(range(len(said)), said, color=[BLUE] * novel + [RED] + [GREEN] * (len(said) - novel - 1))
    ax.set_xticks(range(len(said)), [*problem.truth, "END"], fontsize=8)
    ax.set(ylabel="log-probability", title=f"{to_infix(problem.truth)}: the novel step is red")


figure, ax = plt.subplots(figsize=(8.5, 2.6))
draw_bars(ax, example)
save(figure, "walk")
plt.show()
said = walked(example)
print(f"probability of the true token: at the novel step {math.exp(said[wall]):.1e},",
      f"the smallest elsewhere {math.exp(np.delete(said, wall).min()):.1e}")

# %% [markdown]
# One formula proves nothing, and other tokens can be unlikely, too. For a person there is a slider over the unknown formulas.

# %%
if not book.headless():
    from ipywidgets import IntSlider, interact

    @interact(number=IntSlider(0, 0, len(unknown) - 1, description="formula"))
    def walk_along(number):
        draw_bars(plt.subplots(figsize=(8.5, 2.6))[1], unknown[number])
        plt.show()

# %% [markdown]
# ## All formulas, all networks
#
# The same for many problems: `baseline` draws from the generator, the same for every network, and `not_included`, unknown to the network
# that is asked. No formula here has constants.

# %%
jobs = step_jobs(networks, range(n_seeds), n_problems, n_points, [5])
steps = measured("novel_steps", jobs, networks, scale=scale, recompute=recompute, live=jobs[: len(networks)])
walks = steps[steps.what == "walk"]
asked = walks[walks.test_set == "not_included"]
PHASES = {"before": BLUE, "at": RED, "after": GREEN}


def phases(lines):
    """Median log-probability of the true token, and how often it is the most likely one."""
    groups = lines[lines.phase.isin(PHASES)].groupby("phase")
    return pd.DataFrame({"median log-probability": groups.log_prob.median(),
                         "most likely (%)": 100 * groups["rank"].agg(lambda r: (r == 0).mean()),
                         "tokens": groups.size()}).reindex(PHASES).round(2)


phases(asked)

# %%
figure, axes = plt.subplots(1, 3, figsize=(9.5, 2.6), sharex=True, sharey=True)
for ax, (phase, colour) in zip(axes, PHASES.items()):
    for name, lines in asked[asked.phase == phase].groupby("weights"):
        ax.hist(lines.log_prob, bins=np.linspace(-20, 0, 41), density=True, histtype="step", color=colour)
    ax.set(title=f"{phase} the novel step", xlabel="log-probability of the true token")
axes[0].set_ylabel("density, a line per network")
save(figure, "phases")
plt.show()

# %% [markdown]
# Before and after the novel step the true token is mostly the most likely one. At the novel step it is rarely so.

# %% [markdown]
# ## Is the token merely rare?
#
# A reviewer would say: the novel step is just a rare token, and rare tokens are unlikely. So look at steps that are as rare as a step
# can be without being new. In *known* formulas of `baseline`, take the places where exactly one training template goes on like the
# truth, and at least two go on differently.

# %%
known = walks[(walks.test_set == "baseline") & (walks.phase.fillna("") == "")]
twig = known[(known.alike == 1) & (known.others >= 2)]
print(f"one template goes on like this: {len(twig)} steps, most likely in {100 * (twig['rank'] == 0).mean():.0f} %,",
      f"median log-probability {twig.log_prob.median():.2f}")

# %% [markdown]
# If one single template is enough, then it counts whether the step was ever shown, and hardly how often.

# %% [markdown]
# ## The same token, known to one network and new to another
#
# The strongest control leaves everything equal but the training set. The problems of `baseline` are the same for all networks, points
# included. At the same place of the same formula, let the step be new to network A and known to network B, and let all tokens before it be
# known to both. We compare $\log p_B - \log p_A$ with the same difference at steps that both know.

# %%
KEY = ["seed", "problem", "truth", "place"]
common = walks[walks.test_set == "baseline"]
pairs = common.merge(common, on=KEY, suffixes=("", "_b")).query("weights != weights_b")
pairs = pairs.assign(gain=pairs.log_prob_b - pairs.log_prob)
on_both = (pairs.alike_b > 0) & (pairs.phase.fillna("") != "after")
new_to_a = pairs[on_both & (pairs.phase == "at")]
known_to_both = pairs[on_both & (pairs.alike > 0)]
by_one = new_to_a[(new_to_a.alike_b == 1) & (new_to_a.others_b >= 2)]


def mean_gain(lines):
    return mean(lines.gain, lines.truth, lines.weights, seed)


groups = {"new to A": new_to_a, "… and B knows one template": by_one, "known to both": known_to_both}
gains = {name: mean_gain(lines) for name, lines in groups.items() if len(lines)}
for name, gain in gains.items():
    print(f"{name}: log p_B − log p_A = {gain.value:+.2f} ({gain.low:+.2f} to {gain.high:+.2f}),",
          f"{len(groups[name])} steps")

# %%
if len(new_to_a):
    figure, ax = plt.subplots(figsize=(7, 2.8))
    bins = np.linspace(-15, 15, 61)
    for (name, lines), colour in zip(groups.items(), (RED, ORANGE, GREY)):
        ax.hist(lines.gain, bins=bins, density=True, histtype="step", lw=1.6, color=colour, label=name)
    ax.axvline(0, color=GREY, lw=0.8)
    ax.set(xlabel="log-probability by network B − by network A", ylabel="density",
           title="The same token: unlikely to the network that never wrote it")
    ax.legend(frameon=False)
    save(figure, "two_networks")
    plt.show()

# %% [markdown]
# Intervals draw networks, templates and problems together (chapter 11). With one network there is no pair, and the cell above is empty.

# %% [markdown]
# ## One token decides
#
# Now the network searches, with a beam of five, on problems that are unknown to it. It is told nothing; or the true tokens before the
# novel step; or one token more, the novel step. Telling needs the truth, so this is no strategy. It measures what the one token is worth.

# %%
told = steps[steps.what == "told"].assign(accurate=lambda lines: lines.r2 > 0.99)
told = told.astype({"accurate": float, "same": float})
worth = told.groupby("told")[["accurate", "same"]].mean().reindex(["nothing", "before", "at"])
figure, ax = plt.subplots(figsize=(6.5, 2.8))
(100 * worth).plot.bar(ax=ax, color=[BLUE, ORANGE], rot=0, width=0.7)
ax.set(xlabel="true tokens told: none, those before the novel step, and that step, too",
       ylabel="% of the problems",
       title=f"One token more: {worth.same['at']:.0%} true templates instead of {worth.same['before']:.0%}")
ax.legend(["accurate, R² > 0.99", "the true template"], frameon=False)
save(figure, "told")
plt.show()
(100 * worth).round(1)

# %%
ASKED = ["weights", "seed", "problem", "truth"]
wide = told.pivot_table(index=ASKED, columns="told", values="same", aggfunc="first").astype(float).reset_index()
one_token = paired_difference(wide["at"], wide["before"], wide.truth, wide.weights, seed)
print("true template, told the novel step too, minus told what comes before:",
      "{:+.0%} ({:+.0%} to {:+.0%})".format(*one_token))

# %% [markdown]
# ## What the theorem is about: the last leaf
#
# The theorem (chapter 01) says that no network of this kind can always find the last token from the data. Can it in practice? Given the
# data and all true tokens but the last leaf, the network chooses among the variables. Two yardsticks: what it expects before it sees these
# data (it is given those of another problem), and trying all variables.

# %%
leaf = steps[steps.what == "leaf"].astype({"network": bool, "expected": bool, "tried": bool})
WAYS = {"expected": "data of another problem", "network": "the network", "tried": "trying each variable"}
leaf = leaf.assign(formula=np.where(leaf.known.astype(bool), "known", "unknown"))
shares = leaf.groupby("formula")[list(WAYS)].mean().rename(columns=WAYS)
(100 * shares).round(1).assign(problems=leaf.groupby("formula").size())

# %% [markdown]
# So the network does look at the data, also in formulas that it has never seen. The theorem says that there are formulas for which it
# must fail. It does not explain why the network copies, since at the last leaf of unknown formulas it mostly does not fail. The novel step
# comes earlier, and there it mostly does.

# %%
now = last_leaves(trained, unknown[:20])
print(f"asked again now: {now.network.mean():.0%} of {len(now)} last leaves are right")

# %% [markdown]
# ## Verdicts
#
# A claim holds if the whole 95 % interval is beyond its margin: two nats are a factor of seven in probability.

# %%
walls = asked.pivot_table(index=ASKED, columns="phase", values="log_prob").dropna(subset=["at", "before"])
walls = walls.reset_index()
before = paired_difference(walls.before, walls["at"], walls.truth, walls.weights, seed)
lines = [("the novel step is less likely than the steps before it, by 2 nats", before, MARGINS["lower"])]
if "new to A" in gains:
    lines += [("the same token is less likely to the network to which it is new, by 2 nats", gains["new to A"], MARGINS["lower"])]
if "… and B knows one template" in gains:
    lines += [("… also if the other network has one template with it", gains["… and B knows one template"], MARGINS["lower"])]
lines += [("being told the novel step finds the true template more often, by 20 points", one_token, MARGINS["told"])]
verdicts = [(text, *np.round(found, 2), verdict_on_claim(found, above=bound)) for text, found, bound in lines]
if "known to both" in gains:
    low, high = -MARGINS["near"], MARGINS["near"]
    found = gains["known to both"]
    verdicts.append(("a token that both know is as likely to both, within half a nat", *np.round(found, 2),
                     verdict_on_claim(found, above=low, below=high)))
book.record(networks=len(networks), told=float(one_token.value), at=float(asked[asked.phase == "at"].log_prob.median()))
pd.DataFrame(verdicts, columns=["claim", "value", "low", "high", "verdict"]).style.hide(axis="index").format(precision=2)

# %% [markdown]
# ## Exercises
#
# 1. *Predict.* The training set is `sin x1`, `sin x2` and `add x1 x2`. At which place (from 0) does `add x1 sin x2` leave its tree?

# %% tags=["solution"]
place = 2  # add x1 is a beginning, add x1 sin is none

# %% tags=["check"]
small = PrefixTree([("sin", "x1"), ("sin", "x2"), ("add", "x1", "x2")])
assert place == small.novel_step(("add", "x1", "sin", "x2")), "walk along the tokens: which beginnings are there?"

# %% [markdown]
# 2. *Turn.* Choose a number of templates `n` such that the tree of the first `n` training templates (in sorted order) has fewer than half of
#    the beginnings of the whole tree, but more than a tenth.

# %% tags=["solution"]
n = len(trained.templates) // 3

# %% tags=["check"]
part = len(beginnings(sorted(trained.templates)[:n])) / len(counts)
print(f"{part:.0%} of the beginnings")
assert 0.1 < part < 0.5, "more templates have more beginnings"

# %% [markdown]
# 3. *Build.* Write `novel_steps(formula)`: the places of *all* tokens that are new if every novel step before them is forgiven, that is, if
#    after a novel step one walks on in the tree of what may follow the same token. Two templates `sin x1` and `cos x2` and the formula
#    `sin x2` have one: the place 1. Use only `counts` and the rule that a place is new if (token before, token) never stand side by side.

# %% tags=["solution"]
followed = {(key[-2] if len(key) > 1 else "", key[-1]) for key in counts if key}


def novel_steps(formula):
    tokens = ("", *formula, END)
    return [place for place in range(len(formula) + 1) if (tokens[place], tokens[place + 1]) not in followed]


# %% tags=["check"]
neighbours = {(key[-2] if len(key) > 1 else "", key[-1]) for key in counts if key}
for problem in unknown[:20]:
    tokens = ("", *problem.truth, END)
    expected = [k for k in range(len(tokens) - 1) if tokens[k : k + 2] not in neighbours]
    assert novel_steps(problem.truth) == expected, "compare each token with the one before it"
assert novel_steps(("tan", "tan", "tan", "x1"))[:1] != [0] or ("", "tan") not in neighbours
print("pairs of neighbours are known almost everywhere: what is new is where they stand")
