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
# # A network that was shown few formulas often copies at one token
#
# **Claim.** An unknown formula leaves the tree of training formulas at one token. Our networks find that token very unlikely,
# others mostly likely. With many formulas, each shown a few times, most of these tokens are not.
#
# **You will see.** The tree of beginnings; a walk along a formula; two networks; one told token; a search that forces one; the last leaf of
# the theorem; few formulas or many.
#
# **Needs.** [04](04_reproduction_bias.py), [05](05_beam_search.py).
#
# **From the paper.** Sections 4 and 5.1 raise the question; the measurements are ours.
#
# **Runtime.** Tiny: half a minute. Laptop: half a minute; measuring again, minutes per network. On a laptop with 2 cores.

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
# *Done.* We walk along the true tokens of formulas that the network has never seen. At each place we ask how likely the network finds the
# true token. Several networks with different training sets answer the same questions.
#
# *Found.* It decides at the first token at which no training formula begins like the true one. This is so where few formulas were shown
# often. Exchanging subtrees between them helps nearly as much as drawing many; smoothed labels, random orders and self-training do not.
#
# *Not shown.* All networks here are small, and those of other trainings are one each. Constants and transformer4sr are in the report.
#
# The margins of the verdicts at the end were chosen after a trial with one network, and before any other network was measured.
# [A14](appendix/A14_one_token.py) has the details.

# %% tags=["hide-input"]
import math
from collections import Counter
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from nsr import book
from nsr.evidence import (
    GREY, INK, NOVEL, bare_problems, control, draw_beginnings, draw_tokens, gaps, log_probabilities, mean, measured,
    networks_for, paired, paired_difference, read_plan, results_path, save, step_jobs, stopped_at, use_style, verdict_on_claim,
)
from nsr.formulas import END, PrefixTree, to_infix
from nsr.search import Complete, NextTokens, Verify, solve, solve_all, strategies

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


counts = beginnings(trained.templates)
print(f"{len(trained.templates):,} templates have {len(counts):,} beginnings")

# %% [markdown]
# A formula that is not a training template leaves this tree. The *novel step* is the first token at which no training template begins like
# the formula. `PrefixTree` of `nsr` finds the same novel steps.


# %%
def novel_step(formula):
    tokens = (*formula, END)
    return next(n for n in range(len(tokens)) if tokens[: n + 1] not in counts)


unknown = bare_problems(trained, "not_included", 0, 60, n_points)
tree = PrefixTree(trained.templates)
assert all(novel_step(p.truth) == tree.novel_step(p.truth) for p in unknown)

# %% [markdown]
# The example is the first formula of the test set whose novel step is in its middle and that a beam of five does not find ($R^2 \le 0.99$).
# The picture shows with which tokens training templates go on at each place, and how many do.

# %%
results = solve_all(unknown, strategies.BeamSearch(5), trained)
missed = [r.problem for r in results if r.r2 <= 0.99 and 3 <= novel_step(r.problem.truth) < len(r.problem.truth) - 1]
example = (missed or unknown)[0]
wall = novel_step(example.truth)
print(to_infix(example.truth), "leaves the tree at place", wall)

# %% tags=["hide-input"]
figure, ax = plt.subplots(figsize=(7, 2.8))
draw_beginnings(ax, example.truth, tree)
save(figure, "tree", alt=f"The tokens with which training templates go on, place by place along {to_infix(example.truth)}. "
     f"At place {wall} no template goes on with the true token {example.truth[wall]}.")

# %% [markdown]
# Bold is the true formula, grey is what training templates do instead. Right of the dashed line the true token has no template at all.
#
# ## A walk along one formula
#
# The network is given the points and the true tokens up to a place. How likely does it find the next true token? One pass of the decoder
# answers for all places: row $k$ of its table holds the log-probabilities of all tokens after the first $k$ true ones.

# %%
def walked(problem):
    table = log_probabilities(trained, [problem], [problem.truth])[0]  # (tokens + 1, vocabulary)
    ids = [trained.vocabulary.ids[token] for token in (*problem.truth, END)]
    return table[np.arange(len(ids)), ids]


said = walked(example)
print(f"probability of the true token: at the novel step {math.exp(said[wall]):.1e},",
      f"the smallest elsewhere {math.exp(np.delete(said, wall).min()):.1e}")
least = [int(walked(p).argmin()) == novel_step(p.truth) for p in unknown]
print(f"the novel step is the least likely token in {sum(least)} of {len(least)} formulas")

# %% [markdown]
# The slider goes through the first formulas of the test set. The bar of the novel step is purple.

# %% tags=["hide-input"]
def draw_walk(number):
    figure, ax = plt.subplots(figsize=(7, 2.6))
    problem = unknown[number]
    draw_tokens(ax, (*problem.truth, "END"), walked(problem), novel_step(problem.truth))
    ax.set(ylabel="log-probability", title=to_infix(problem.truth))
    return figure


control(draw_walk, "formula", range(min(12, len(unknown))), alt="Log-probability of each true token of formula {}. The novel step has its own colour.")

# %% [markdown]
# ## All formulas, all networks
#
# The same for many problems. `baseline` draws from the generator and is the same for every network. `not_included` is unknown to the
# network that is asked. No formula here has constants.

# %%
jobs = step_jobs(networks, range(n_seeds), n_problems, n_points, [5])
steps = measured("novel_steps", jobs, networks, scale=scale, recompute=recompute, live=jobs[: len(networks)])
walks = steps[steps.what == "walk"]
asked = walks[walks.test_set == "not_included"]

# %% [markdown]
# For the tokens before, at and after the novel step: the median log-probability of the true token, and how often it is the most likely one.

# %%
groups = asked[asked.phase.isin(["before", "at", "after"])].groupby("phase")
phases = pd.DataFrame({"median log-probability": groups.log_prob.median(),
                       "most likely (%)": 100 * groups["rank"].agg(lambda rank: (rank == 0).mean()),
                       "tokens": groups.size()})
phases.reindex(["before", "at", "after"]).round(2)

# %% tags=["hide-input"]
figure, axes = plt.subplots(3, 1, figsize=(7, 4.6), sharex=True, sharey=True)
for ax, (phase, colour) in zip(axes, {"before": INK, "at": NOVEL, "after": GREY}.items()):
    for name, lines in asked[asked.phase == phase].groupby("weights"):
        ax.hist(lines.log_prob, bins=np.linspace(-20, 0, 41), density=True, histtype="step", color=colour)
    ax.set_title(f"{phase} the novel step", fontsize=9)
figure.supylabel("density, a line per network", fontsize=9)
figure.suptitle("Only at the novel step the true token is often unlikely", weight="bold", fontsize=11)
axes[2].set_xlabel("log-probability of the true token")
save(figure, "phases", alt="Three histograms of the log-probability of true tokens. Before and after the novel step most values are near 0; "
     "at the novel step they spread between -15 and 0.")

# %% [markdown]
# Before and after the novel step the true token is mostly the most likely one. At it, it rarely is, for each network.
#
# ## Is the token merely rare?
#
# A reviewer would say: the novel step is a rare token, and rare tokens are unlikely. So look at steps that are as rare as a step can be
# without being new. In *known* formulas of `baseline`, take the places where exactly one training template goes on like the truth, and at
# least two go on differently.

# %%
known = walks[(walks.test_set == "baseline") & (walks.phase.fillna("") == "")]
twig = known[(known.alike == 1) & (known.others >= 2)]
print(f"{len(twig)} such steps: most likely in {100 * (twig['rank'] == 0).mean():.0f} %,",
      f"median log-probability {twig.log_prob.median():.2f}")

# %% [markdown]
# One single template is enough. What counts is whether the step was ever shown, and hardly how often.
#
# ## The same token, known to one network and new to another
#
# The strongest control leaves everything equal but the training set. The problems of `baseline` are the same for all networks, points
# included. At the same place of the same formula, let the step be new to network A and known to network B, and let all tokens before it
# be known to both. We compare $\log p_B - \log p_A$ with the same difference at steps that both know. Intervals draw networks, templates
# and problems together.

# %%
common = walks[walks.test_set == "baseline"]
pairs = common.merge(common, on=["seed", "problem", "truth", "place"], suffixes=("", "_b")).query("weights != weights_b")
pairs = pairs.assign(gain=pairs.log_prob_b - pairs.log_prob)
pairs = pairs[(pairs.alike_b > 0) & (pairs.phase.fillna("") != "after")]  # B knows it, A all before it
new_to_a = pairs[pairs.phase == "at"]
groups = {"new to A": new_to_a, "new to A, and one template of B": new_to_a.query("alike_b == 1 and others_b >= 2"),
          "known to both": pairs[pairs.alike > 0]}
gains = {name: mean(lines.gain, lines.truth, lines.weights, seed) for name, lines in groups.items() if len(lines)}
for name, gain in gains.items():
    print(f"{name}: log p_B − log p_A = {gain.value:+.2f} ({gain.low:+.2f} to {gain.high:+.2f}), {len(groups[name])} steps")

# %% tags=["hide-input"]
if len(new_to_a):
    figure, ax = plt.subplots(figsize=(7, 2.8))
    for (name, lines), look in zip(groups.items(), ({"color": NOVEL}, {"color": NOVEL, "ls": ":"}, {"color": GREY})):
        ax.hist(lines.gain, bins=np.linspace(-15, 15, 61), density=True, histtype="step", lw=1.6, label=name, **look)
    ax.set(xlabel="log-probability by network B − by network A", ylabel="density",
           title="The same token is unlikely only where it is new")
    ax.legend(fontsize=8)
    save(figure, "two_networks", alt="Histograms of the difference of log-probability between two networks. Where the token is new to "
         "A it spreads far to the right of 0; where both know it, it is a peak at 0.")

# %% [markdown]
# ## One token decides
#
# Now the network searches, with a beam of five, on problems that are unknown to it. It is told nothing; or the true tokens before the
# novel step; or one token more, the novel step. Telling needs the truth, so this is no strategy. It measures what the one token is worth.

# %%
class Told:
    """A beam search that begins with the first n tokens of the truth."""

    def __init__(self, n):
        self.name, self.n = f"told {n}", n

    def search(self, view, rng):
        hypotheses = yield Complete(view.problem.truth[: self.n], beam_size=5)
        yield Verify.beam(hypotheses)


for n in (0, wall, wall + 1):
    found = solve(example, Told(n), trained)
    answer = to_infix(found.answer.prefix, found.answer.constants, digits=3)
    print(f"told {n} tokens: {answer}, R² = {found.r2:.3f}")

# %% [markdown]
# The same for all unknown problems. *True template* means that the answer is the true formula up to the order of its terms.

# %% tags=["hide-input"]
told = steps[steps.what == "told"].assign(accurate=lambda lines: lines.r2 > 0.99).astype({"accurate": float, "same": float})
worth = told.groupby("told")[["accurate", "same"]].mean().reindex(["nothing", "before", "at"])
figure, ax = plt.subplots(figsize=(7, 2.8))
(100 * worth).plot.bar(ax=ax, color=[GREY, INK], rot=0, width=0.7)
ax.set_xticks(range(3), ["nothing", "the tokens before\nthe novel step", "… and the novel step"])
ax.set(xlabel="what the network is told", ylabel="answers (%)",
       title=f"One token more: {worth.same['at']:.0%} true templates instead of {worth.same['before']:.0%}")
ax.legend(["accurate, R² > 0.99", "the true template"], fontsize=8)
save(figure, "told", alt=f"Bars. Told nothing {worth.same['nothing']:.0%} true templates, told what comes before the novel step "
     f"{worth.same['before']:.0%}, told the novel step too {worth.same['at']:.0%}.")

# %%
ASKED = ["weights", "seed", "problem", "truth"]
wide = told.pivot_table(index=ASKED, columns="told", values="same", aggfunc="first").astype(float).reset_index()
one_token = paired_difference(wide["at"], wide["before"], wide.truth, wide.weights, seed)
print("true template, told the novel step too, minus told what comes before:",
      "{:+.0%} ({:+.0%} to {:+.0%})".format(*one_token))

# %% [markdown]
# ## Force one token
#
# Nobody who searches knows the novel step. But a search can try. Take the beginnings of a beam's hypotheses, force each token that no
# hypothesis has there, and let the network write the rest greedily. Rank the results by their probability without the forced token,
# because this is the one that the network misjudges. Then verify the first ones.


# %%
class ForceOne:
    name = "force one"

    def search(self, view, rng):
        beam = yield Complete((), beam_size=20)
        yield Verify.beam(beam)
        places = list(dict.fromkeys(h.prefix[:n] for h in beam for n in range(len(h.prefix))))
        tables = dict(zip(places, (yield [NextTokens(place) for place in places])))
        likely = {p: sum(dict(tables[p[:n]])[p[n]] for n in range(len(p))) for p in places}
        written = {*places, *(h.prefix for h in beam)}
        places.sort(key=likely.get, reverse=True)
        turns = [(p, token) for p in places[:60] for token, _ in tables[p] if (*p, token) not in written]
        rests = yield [Complete((*place, token), beam_size=1) for place, token in turns]
        scored = {}
        for (place, _), (rest, *_) in ((turn, found) for turn, found in zip(turns, rests) if found):
            score = (likely[place] + rest.log_prob) / (1 + len(rest.prefix))
            scored[rest.prefix] = max(score, scored.get(rest.prefix, -math.inf))
        yield Verify(sorted(scored, key=scored.get, reverse=True)[: 150 - len(beam)])


ours = solve(example, strategies.OffTree(counted=0.0), trained)
assert set(solve(example, ForceOne(), trained).generated) == set(ours.generated)

# %% [markdown]
# `nsr` calls this strategy `OffTree`. All strategies of the next table generate 150 candidates for each problem; with families (chapter 10)
# those that differ only in constants are fitted once, so that fewer count.
# [A14](appendix/A14_one_token.py) has the problems on which the options of `OffTree` were chosen.

# %% tags=["hide-input"]
def lines_of(table):
    sizes = read_plan()["sizes"][scale] | {"beam_size": 150}
    rows = [replace(row, weights=name) for name, one in networks.items()
            for row in read_plan()["tables"][table].rows(one, "nesymres", sizes, scale) if row.test_set == "not_included"]
    return measured(table, rows, networks, scale=scale, live=2, by_network=True)


searched = pd.concat([lines_of(table) for table in ("off_tree", "beam", "local")])
wide_beam = searched[searched.strategy == "beam"].beam_size.max()
forced = searched[searched.strategy == "off-tree"]
beams = searched[(searched.strategy == "beam") & (searched.beam_size == wide_beam)]
local = searched[searched.strategy == "local"]
local = stopped_at(local, [150] * len(local)).assign(same_template=np.nan)

# %% tags=["hide-input"]
shown = {"beam search": beams, "off-tree search": forced, "… with families": searched[searched.strategy == "families+off-tree"],
         "local search, stopped there": local}
table = {name: {"novel (%)": 100 * part.novel.mean(), "accurate (%)": 100 * part.accurate.mean(),
                "novel and accurate (%)": 100 * (part.novel & part.accurate).mean(), "true template (%)": 100 * part.same_template.mean(),
                "candidates": min(part.candidates.mean(), 150 if part is local else np.inf), "problems": f"{len(part):,}"}
         for name, part in shown.items() if len(part)}
pd.DataFrame(table).T.map(lambda value: value if isinstance(value, str) else "–" if np.isnan(value) else f"{value:.1f}")

# %% [markdown]
# The comparison with the beam, on the same problems. It is at equal candidates: with the tokens or the seconds of that beam, off-tree search is
# behind it ([A14](appendix/A14_one_token.py)).

# %%
changes = {}
for what in ("novel", "accurate", "same_template"):
    changes[what] = paired(forced, beams, what, seed)[0]
    print(f"{what}: off-tree search − beam search = {{:+.1%}} ({{:+.1%}} to {{:+.1%}})".format(*changes[what]))

# %% [markdown]
# ## What the theorem is about: the last leaf
#
# The theorem (chapter 01) says that no network of this kind can always find the last token from the data. Can it in practice? Given the
# data and all true tokens but the last leaf, the network chooses among the variables. For comparison, the network is given the data of
# another problem, and all variables are tried.

# %%
leaf = steps[steps.what == "leaf"].astype({"network": bool, "expected": bool, "tried": bool})
WAYS = {"expected": "data of another problem", "network": "the network", "tried": "trying each variable"}
leaf = leaf.assign(formula=np.where(leaf.known.astype(bool), "known", "unknown"))
shares = leaf.groupby("formula")[list(WAYS)].mean().rename(columns=WAYS)
(100 * shares).round(1).assign(problems=leaf.groupby("formula").size())

# %% [markdown]
# So the network looks at the data, also in formulas that it has never seen. The theorem says that there are formulas for which it must
# fail. It does not explain why the network copies: at the last leaf of unknown formulas it is mostly right, and at the novel step, which
# comes earlier, it is mostly wrong.
#
# ## Few formulas, shown often
#
# Each template of these networks was shown about a thousand times. Is that the reason? The recipe `brief` trains the same network for a
# quarter of the steps, with few templates or many, and keeps it at ten moments. All are asked about the same formulas, which none was
# shown. The *gap* of a formula is the mean log-probability of its true tokens before the novel step minus that at it.

# %%
path = results_path("novel_steps_shown", scale)
shown = book.read_table(path if path.exists() else results_path("novel_steps_shown"))
each = gaps(shown)
for (templates, often), gap in each[each.step == each.step.max()].groupby(["templates", "shown"]).gap:
    print(f"{templates:6,} templates, each shown {often:5,.0f} times: mean gap {gap.mean():.1f} nats, median {gap.median():.1f}")
moments = each.groupby(["templates", "weights", "shown"]).gap.mean().reset_index()
print(f"rank correlation with how often a template was shown: {moments.gap.corr(moments.shown, method='spearman'):.2f}")

# %%
figure, ax = plt.subplots(figsize=(7, 3.2))
for (_, line), marker in zip(moments.groupby(moments.weights.str.extract(r"-(\d+)")[0]), "os^"):
    ax.plot(line.shown, line.gap, marker, color=NOVEL, mfc=NOVEL if marker == "o" else "white",
            label=f"{line.templates.min():,} templates or a few more")
ax.axhline(0, color=GREY, lw=0.8)
ax.set(xscale="log", xlabel="how often each template was shown", ylabel="mean gap (nats)", title="The more often each formula was shown, the larger the gap")
ax.legend(fontsize=8)
save(figure, "shown", alt="Points of several trainings: how often each template was shown, and the gap at the novel step. The gap is small "
     "where templates were shown a few times, and grows to several nats where they were shown a thousand times.")

# %% [markdown]
# With many formulas, each shown a few times, most formulas have no gap, and a beam finds the true template more often
# ([A14](appendix/A14_one_token.py)).
#
# ## Does another training lower it?
#
# Four other trainings begin with the same few templates: labels are smoothed; terms of sums stand in a random order, another every time;
# templates are added by exchanging subtrees; or those that the network's own searches found are added (self-training). The formulas are those
# of above, the beam has five hypotheses.

# %%
NAMES = {"1000": "the first network", "1000@1": "another of its recipe", "smoothed-1000": "smoothed", "reordered-1000": "reordered",
         "exchanged-1000": "exchanged", "1000+found-3": "self-training", "1000+nothing-3": "as long, nothing added", "100000": "100 times the draws"}
tables = [book.read_table(results_path(f"novel_steps_{name}")) for name in ("draws", "variants", "improved")]
tried = pd.concat(tables).query("test_set == 'not_included_matched'")
tried = tried.drop_duplicates(["weights", "what", "problem", "place", "told"])  # the first network is in two tables
tried = tried.assign(training=tried.weights.str.removeprefix("laptop/brief-").map(NAMES))
lines = {}
for training, own in tried.groupby("training"):
    gap, alone = gaps(own[own.what == "walk"]), own[own.told == "nothing"]
    lines[training] = {"gap (nats)": "{:.1f} ({:.1f} to {:.1f})".format(*mean(gap.gap, gap.truth, seed=seed))}
    for what, hit in {"accurate": alone.r2 > 0.99, "true template": alone.same.astype(float)}.items():
        lines[training][what] = "{:.0%} ({:.0%} to {:.0%})".format(*mean(hit, alone.truth, seed=seed))
pd.DataFrame(lines).T.reindex([training for training in NAMES.values() if training in lines])

# %% [markdown]
# Smoothing makes the token less unlikely, and the beam finds nothing new. Random orders change little. Self-training adds templates, and the gap shrinks; it does so as
# well if random templates are added. Exchanging subtrees makes many templates of the few, and helps nearly as much as drawing many.
#
# ## Verdicts
#
# A claim holds if the whole 95 % interval is beyond its margin: two nats are a factor of seven in probability.

# %% tags=["hide-input"]
walls = asked.pivot_table(index=ASKED, columns="phase", values="log_prob").dropna(subset=["at", "before"]).reset_index()
before = paired_difference(walls.before, walls["at"], walls.truth, walls.weights, seed)
lines = [("the novel step is less likely than the steps before it, by 2 nats", before, {"above": MARGINS["lower"]}),
         ("the same token is less likely to the network to which it is new, by 2 nats", gains.get("new to A"), {"above": MARGINS["lower"]}),
         ("… also if the other network has one template with it", gains.get("new to A, and one template of B"), {"above": MARGINS["lower"]}),
         ("a token that both know is as likely to both, within half a nat", gains.get("known to both"),
          {"above": -MARGINS["near"], "below": MARGINS["near"]}),
         ("being told the novel step finds the true template more often, by 20 points", one_token, {"above": MARGINS["told"]}),
         ("forcing one token makes answers novel more often than a beam does, by 20 points", changes["novel"], {"above": MARGINS["told"]}),
         ("… finds the true template more often", changes["same_template"], {"above": 0.0}),
         ("… and is less accurate", changes["accurate"], {"below": 0.0})]
verdicts = [(text, *np.round(found, 2), verdict_on_claim(found, **bound)) for text, found, bound in lines if found]
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
# 3. *Build.* Is the token new, or only the place where it stands? Write `novel_steps(formula)`: the list of all places whose token, in the
#    training templates, never comes directly after the token before it. (Before the first token, take `""`; END is the last token.) With the
#    templates `sin x1` and `cos x2`, the formula `sin x2` has one such place, 1. The keys of `counts` are all beginnings.

# %% tags=["solution"]
followed = {(key[-2] if len(key) > 1 else "", key[-1]) for key in counts if key}


def novel_steps(formula):
    tokens = ("", *formula, END)
    return [place for place in range(len(formula) + 1) if (tokens[place], tokens[place + 1]) not in followed]


# %% tags=["check"]
neighbours = {(key[-2] if len(key) > 1 else "", key[-1]) for key in counts if key}
for formula in [*(problem.truth for problem in unknown[:20]), ("x1", "add"), ("tan", "tan", "tan", "x1")]:
    tokens = ("", *formula, END)
    expected = [k for k in range(len(tokens) - 1) if tokens[k : k + 2] not in neighbours]
    assert novel_steps(formula) == expected, f"compare each token of {formula} with the one before it"
assert novel_steps(("x1", "add")), "no formula ends with add"
known_pairs = np.mean([not novel_steps(problem.truth) for problem in unknown])
print(f"{known_pairs:.0%} of the unknown formulas have no such place: each pair of neighbours is known, and only its place is new")

# %% [markdown]
# **What's next.** This was the last lesson. Report [A14](appendix/A14_one_token.py) goes on from here.
