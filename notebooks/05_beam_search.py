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
# # A wider beam looks at more formulas without knowing more
#
# **Claim.** Asking for more candidates makes the answers more accurate, because the fit has more to choose from; but most of what is
# added is known, too.
#
# **You will see.** Beam search in fifteen lines, one beam as a tree, five beam sizes, the place where the first good candidate stands,
# mask and length penalty, the price.
#
# **Needs.** [04](04_reproduction_bias.py).
#
# **From the paper.** Section 6 "Decoding with large beam size"; Table "Breakdown of generated expressions".
#
# **Runtime.** Tiny: one minute. Laptop: one minute, or an hour with `recompute`. Paper: some hours of a GPU. On a laptop with 2 cores.

# %% [markdown]
# As in chapter 04, the laptop scale shows reference results and measures a part again. `beam_size`, `test_set` and `seed` choose that
# part; a sweep goes through all of them.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the test set that is solved while you read
weights: str = "laptop/nesymres"  # the network; empty: train a tiny one now
recompute: bool = False  # measure everything and write the tables, instead of reading them
beam_size: int = 5  # candidates per problem in the live part
test_set: str = "not_included"  # the live part's problems
n_problems: int = 150  # problems of a test set
n_seeds: int = 3  # test sets of each kind, drawn with different seeds
n_points: int = 100  # points given per problem; as many fresh ones judge
largest_beam: int = 150  # the largest of the beam sizes 1, 5, 50, 100, 150 that is measured
n_live: int = 24  # problems solved while you read

# %% [markdown]
# Imports, the network, and its training set.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown, display

from nsr import book
from nsr.data import TEST_SETS
from nsr.evidence import (
    ACCURATE, BLUE, GREEN, GREY, INK, LIGHT, ORANGE, PAPER_BEAM, RED, Row, TrainingSet, accuracy_curve,
    beam_grid, breakdown, compare, measured, network_for, novelty_table, paired, percent, problems_of,
    save, share_with_rank, tabulate, use_style, verdict_on_claim, whiskers, wilson,
)
from nsr.formulas import END, to_infix
from nsr.search import BeamSearch, Complete, Hypothesis, NextTokens, Verify, r2_text, solve, solve_all

use_style()
COLOURS = dict(zip(TEST_SETS, (RED, BLUE, GREEN)))  # as in chapters 02 and 04
SIZES = [size for size in PAPER_BEAM if size <= largest_beam]
TICKS = [size for size in SIZES if size != 100]  # on a logarithmic axis 100 and 150 would touch
trained = network_for(weights)
training = TrainingSet.of(trained)
problems = problems_of(trained, test_set, seed, n_problems, n_points)[:n_live]

# %% [markdown]
# ## Beam search by hand
#
# The most likely formula cannot be found by always taking the most likely token, and all formulas cannot be tried. Beam search keeps
# the $b$ best *beginnings*, lets each go on in every way, and keeps the $b$ best again. What has ended is ranked by
#
# $$\mathrm{score}(\mathbf{s}) = \frac{1}{(1 + L)^{\alpha}} \Big( \sum_{j=1}^{L} \log q_\theta(s_j \mid \mathbf{s}_{<j}, \mathcal{D}) +
# \log q_\theta(\mathrm{end} \mid \mathbf{s}) \Big), \qquad \alpha = 1,$$
#
# so that a long formula is not punished for its length. A beginning is given up when it could not reach the $b$ best even if all its
# further tokens were certain.
#
# In this book a strategy is written for one problem and *yields* what it needs; the engine answers.


# %%
class BeamByHand:
    name = "beam by hand"

    def __init__(self, beam_size, max_len):
        self.beam_size, self.max_len = beam_size, max_len
        self.tree = {}  # every beginning that was alive → its log-probability

    def search(self, view, rng):
        live, done, b = {(): 0.0}, [], self.beam_size
        while live:
            answers = yield [NextTokens(prefix, max_len=self.max_len) for prefix in live]
            grown = {}
            for (prefix, log_p), tokens in zip(live.items(), answers):
                for token, step in tokens:
                    if token == END:
                        score = (log_p + step) / (1 + len(prefix))
                        done.append(Hypothesis(prefix, log_p + step, score))
                    else:
                        grown[(*prefix, token)] = log_p + step
            done = sorted(done, key=lambda h: -h.score)[:b]
            worst = done[-1].score if len(done) == b else -math.inf
            best = sorted(grown, key=lambda prefix: -grown[prefix])[:b]
            live = {p: grown[p] for p in best if grown[p] / (1 + self.max_len) > worst}
            self.tree |= live
        yield Verify.beam(done)


# %% [markdown]
# `nsr/search/decoding.py` does the same for many problems at once, with a key-value cache. The two must find the same formulas.

# %%
batched = solve_all(problems, BeamSearch(5, max_len=16), trained, reference=training)
lengths = [len(max(result.generated, key=len)) for result in batched]
order = sorted(range(len(batched)), key=lambda i: (batched[i].r2 < 0.5, abs(lengths[i] - 8)))
result, search = batched[order[0]], BeamByHand(5, max_len=16)
by_hand = solve(result.problem, search, trained, reference=training)
assert set(by_hand.generated) == set(result.generated)
assert by_hand.answer == result.answer or np.isclose(by_hand.r2_given, result.r2_given)
result

# %% [markdown]
# ## One beam as a tree
#
# The beginnings that were alive at some time form a tree: that of the problem above. Each node is a token; the wider the line, the
# more probable the beginning. Layout first: leaves below each other, a parent beside its most probable child.


# %%
def layout(tree, done, deepest):
    """Where each prefix stands: (number of tokens, row), more probable children first."""
    nodes = [p for p in tree if len(p) <= deepest]
    nodes = set(nodes) | {p[:k] for p in [*nodes, *done] for k in range(1, len(p) + 1)}
    places, row = {}, 0

    def visit(prefix):
        nonlocal row
        children = [p for p in nodes if p[:-1] == prefix and p]
        for child in sorted(children, key=lambda p: -tree.get(p, 0.0)):
            visit(child)
        if not children:
            places[prefix] = (len(prefix), row)
            row += 1
        else:
            first = min(children, key=lambda p: places[p][1])
            places[prefix] = (len(prefix), places[first][1])

    visit(())
    return places


# %% [markdown]
# What the picture needs: the beginnings, the formulas that were finished, and the ways that led to them.

# %%
tree = search.tree
finished = {c.prefix: c for c in result.candidates}
deepest = max(map(len, finished))
places = layout(tree, finished, deepest)
pick = result.answer.prefix if result.answer else ()
ways = {p[:k] for p in finished for k in range(len(p) + 1)}  # beginnings of finished ones

# %% [markdown]
# Then a line from every beginning to each of its continuations, red on the way to the pick, and at every finished formula how well it fits.

# %%
n_rows = 1 + max(y for _, y in places.values())
figure, ax = plt.subplots(figsize=(9.2, 0.8 + 0.24 * n_rows))
for prefix, (x, y) in places.items():
    if not prefix:
        continue
    alive, chosen = prefix in ways, pick[: len(prefix)] == prefix
    colour = RED if chosen else BLUE if alive else LIGHT
    width = 0.6 + 6 * math.exp(tree.get(prefix, -9.0) / 2)
    above = places[prefix[:-1]][1]
    ax.plot([x - 1, x - 0.6, x], [above, y, y], color=colour, lw=width, zorder=1)
    ax.text(x, y, prefix[-1], ha="center", va="center", fontsize=8, zorder=2,
            color=INK if alive else GREY, bbox={"fc": "white", "ec": "none", "pad": 0.8})
    if prefix in finished:
        mark = f"■ R² {r2_text(finished[prefix].r2)}" + ("  ◀ the pick" if chosen else "")
        ax.text(x + 0.35, y, mark, va="center", fontsize=8, color=colour, weight="bold",
                bbox={"fc": "white", "ec": "none", "pad": 0.5})
ax.set(xlim=(-0.1, deepest + 2.6), ylim=(n_rows - 0.4, -0.6))
ax.set_axis_off()
truth = to_infix(result.problem.truth, result.problem.truth_constants or None, digits=3)
ax.set_title(f"Looking for  {truth}")
save(figure, "beam_tree")
plt.show()

# %% [markdown]
# Blue ways led to a finished formula, red is the one whose constants fitted best, grey ones were given up. The pick need not be the
# widest line: the network proposes, the fit decides.
#
# The tree hides the order of events. So the same beam once more, one token at a time: the longer a bar, the more probable the beginning;
# below them, with their $R^2$, the formulas that have ended and stayed among the best.

# %%
n_moments = 1 + max(map(len, tree))  # at the last one nothing is alive any more
moments = {n: (sorted((p for p in tree if len(p) == n), key=lambda p: -tree[p]),
               [p for p in finished if len(p) < n]) for n in range(1, n_moments + 1)}
longest = max(len(alive) + len(ended) for alive, ended in moments.values())
lowest = min(tree.values()) - 0.5


def draw_moment(ax, n_tokens):
    """What the beam holds after so many tokens."""
    alive, ended = moments[n_tokens]
    for row, prefix in enumerate([*alive, *ended]):
        chosen, useful = pick[: len(prefix)] == prefix, prefix in ways
        log_p = tree[prefix] if prefix in alive else finished[prefix].log_prob
        colour = RED if chosen else BLUE if useful else GREY
        ax.barh(row, log_p - lowest, left=lowest, color=colour, alpha=0.3)
        mark = "" if prefix in alive else f"  ■ R² {r2_text(finished[prefix].r2)}"
        words = "… " * (len(prefix) > 9) + " ".join(prefix[-9:])
        ax.text(lowest, row, f" {words}{mark}", va="center", fontsize=8)
    ax.set(xlim=(lowest, 0), ylim=(longest - 0.4, -0.6), yticks=[], xlabel="log-probability")
    ax.set_title(f"after {n_tokens} tokens: {len(alive)} alive, {len(ended)} ended", fontsize=9)


# %% [markdown]
# Near the beginning, in the middle, and at the end:

# %%
figure, axes = plt.subplots(1, 3, figsize=(9.6, 3))
for ax, n_tokens in zip(axes, (2, (2 + n_moments) // 2, n_moments)):
    draw_moment(ax, n_tokens)
save(figure, "moments")
plt.show()

# %% [markdown]
# Grey beginnings lead nowhere, the red one becomes the pick, and it need not have the longest bar. For a person there is a slider.

# %%
if not book.headless():
    from ipywidgets import IntSlider, interact

    @interact(n_tokens=IntSlider(1, 1, n_moments, description="tokens"))
    def step(n_tokens):
        draw_moment(plt.subplots(figsize=(7, 3.4))[1], n_tokens)
        plt.show()

# %% [markdown]
# ## The tables
#
# One line per problem for every beam size, test set and seed. A second table holds other ways to run the beam on `not_included`, among
# them the published one.
#
# Departure: the published code lets the network write anything and throws away what is not a formula, and it stops as soon as $b$
# formulas are finished. We allow only tokens with which a formula can still be completed (the *valid-prefix mask*), and go on until
# no beginning can enter the $b$ best.
#
# Departure: constants are fitted with our own method and not with BFGS (chapter 04), in both tables.

# %%
size = {"n_problems": n_problems, "n_points": n_points}
how = {"scale": scale, "recompute": recompute, "live": n_live}
variants = [{}, {"stop": "enough"}, {"length_penalty": 0.0}, {"length_penalty": 2.0}]
beams = [BeamSearch(b, masked=False, stop="enough") for b in SIZES]  # as published
beams += [BeamSearch(b, **variant) for b in SIZES[:3] for variant in variants]
shown = ("masked", "stop", "length_penalty")
others = [Row(beam, "not_included", s, **size, show=shown) for beam in beams for s in range(n_seeds)]
plain = beam_grid(SIZES, TEST_SETS, range(n_seeds), **size)
beam = measured("beam", plain, trained, **how).sort_values("beam_size")
options = measured("beam_options", others, trained, **how)
unseen = beam[beam.test_set == "not_included"]
published = options[~options.masked].sort_values("beam_size")

# %% [markdown]
# ## Five beam sizes
#
# > Since increasing the beam size does not provide the model with any additional information, our hypothesis is that simply adopting
# > a decoding strategy with a larger beam size will not alleviate reproduction bias. (Section 6.1)
#
# Novelty on the left, accuracy on the right, with 95 % intervals. The crosses are the paper's numbers for `not_included`, the dashed line
# is our network decoded in the published way.

# %%
novelty = novelty_table(beam, by=["test_set", "beam_size"])
novelty = novelty[novelty.sense == "novel"]
accuracy = accuracy_curve(beam, by=["test_set", "beam_size"], thresholds=[ACCURATE])

# %% [markdown]
# Both as curves over the beam size:

# %%
figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.5))
place = {size: i for i, size in enumerate(SIZES)}
for shift, (name, colour) in zip((-0.1, 0, 0.1), COLOURS.items()):
    for ax, table in zip(axes, (novelty, accuracy)):
        part = table[table.test_set == name]
        ax.errorbar(part.beam_size.map(place) + shift, 100 * part.share, whiskers(part),
                    fmt="o-", color=colour, capsize=2, label=name, markersize=5, lw=1.3)
for ax, what in zip(axes, ("novel", "accurate")):
    share = published.groupby("beam_size")[what].mean()
    ax.plot(share.index.map(place), 100 * share, "s--", color=RED, markerfacecolor="white",
            markersize=5, lw=1, label="not_included, published decoding")
paper = np.array([PAPER_BEAM[size] for size in SIZES])  # (sizes, 4)
axes[0].plot(paper[:, 0] + paper[:, 1], "x", color=INK, label="not_included, the paper")
axes[1].plot(paper[:, 0] + paper[:, 2], "x", color=INK)
for ax, label in zip(axes, ("novel answers (%)", f"$R^2 > {ACCURATE}$ (%)")):
    ax.set_xticks(range(len(SIZES)), SIZES)
    ax.set(xlabel="beam size", ylabel=label, ylim=(0, None))
first, last = SIZES[0], SIZES[-1]
share = {(b, what): unseen[unseen.beam_size == b][what].mean()
         for b in (first, last) for what in ("novel", "accurate")}
axes[0].set_title(f"Novel: {share[first, 'novel']:.0%} → {share[last, 'novel']:.0%}")
axes[1].set_title(f"Accurate: {share[first, 'accurate']:.0%} → {share[last, 'accurate']:.0%}")
axes[0].legend(fontsize=8)
save(figure, "beam_sizes")
plt.show()

# %% [markdown]
# The numbers in the titles are for `not_included` with our decoding, from the smallest to the largest beam. The problems are the same at
# every size, so the change can be tested problem by problem: an interval for the difference, and McNemar's test, which only looks at problems on
# which two sizes disagree.

# %%
changes, rows = {}, []
large, small = (unseen[unseen.beam_size == b] for b in (last, first))
for what in ("novel", "accurate"):
    change, test, _ = paired(large, small, what)
    changes[what] = change
    points = [f"{100 * x:+.1f}" for x in change]
    rows.append((what, *points, test.only_a, test.only_b, f"{test.p_value:.1g}"))
columns = ["", "points", "from", "to", f"only at {last}", f"only at {first}", "p"]
display(pd.DataFrame(rows, columns=columns).set_index(""))

# %% [markdown]
# The answer is the best of all candidates; how novel are the candidates themselves? And among the accurate answers, how many are
# copies?

# %%
rows = []
for b, part in unseen.groupby("beam_size"):
    good = part[part.accurate]
    rows.append((b, percent(part.novel), f"{part.share_novel_candidates.mean():.1%}",
                 percent(good.novel), percent(part.truth_rank.notna())))
columns = ["beam size", "answers novel", "candidates novel", "accurate answers: novel",
           "truth's template in the beam"]
pd.DataFrame(rows, columns=columns).set_index("beam size")

# %% [markdown]
# The last column is the ceiling for finding the truth itself, whatever way one chooses: what is not in the beam cannot be picked. The
# accurate answers beyond it are formulas that fit without being the truth.

# %% [markdown]
# ## How much is the decoder?
#
# The same network and the same fit, decoded in our way and in the published way, beside the paper. The last column says by how much our
# decoder alone multiplies the share of accurate answers.

# %%
rows = []
for b in SIZES:
    ours, theirs = (100 * part[part.beam_size == b].accurate.mean() for part in (unseen, published))
    said = sum(PAPER_BEAM[b][::2])
    rows.append((b, f"{ours:.1f} %", f"{theirs:.1f} %", f"{said:.1f} %",
                 f"{ours / theirs:.1f} times" if theirs else "–"))
columns = ["beam size", "our decoding", "published decoding", "the paper", "ours / published"]
pd.DataFrame(rows, columns=columns).set_index("beam size")

# %% [markdown]
# Where the published decoding is still above the paper, something else must explain the rest: probably the fit, perhaps the network or
# the test problems. That was not measured. Nor was NSR-gvs with the published decoding, so a comparison of strategies holds for our
# decoder only; chapter [11](11_strategies_compared.py) shows what changes with the other one.

# %% [markdown]
# ## What a wider beam adds
#
# In the widest beam, at which place does the first candidate with $R^2 > 0.99$ stand, counted in the network's own order? The curve is
# the share of problems that have one among their first $k$; the dots are real searches with a beam of that size.

# %%
widest = beam[beam.beam_size == last]
ks = np.arange(1, last + 1)
figure, (ax, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), sharey=True)
for name, colour in COLOURS.items():
    part = widest[widest.test_set == name]
    ax.plot(ks, 100 * share_with_rank(part.accurate_rank, ks), color=colour, label=name)
    right.plot(ks, 100 * share_with_rank(part.truth_rank, ks), color=colour)
    for b in SIZES:
        own = beam[(beam.test_set == name) & (beam.beam_size == b)]
        ax.plot(b, 100 * own.accurate_rank.notna().mean(), "o", color=colour, markersize=4)
        right.plot(b, 100 * own.truth_rank.notna().mean(), "o", color=colour, markersize=4)
titles = (f"A candidate with $R^2 > {ACCURATE}$ …", "The truth's template …")
for axis, title in zip((ax, right), titles):
    axis.set(xscale="log", xlabel="… is among the first k candidates", ylim=(0, None))
    axis.set_xticks(TICKS, TICKS)
    axis.minorticks_off()
    axis.set_title(title, fontsize=10)
ax.set_ylabel("share of problems (%)")
ax.legend(fontsize=8)
save(figure, "ranks")
plt.show()
assert (np.diff(share_with_rank(widest.accurate_rank, ks)) >= 0).all()

# %% [markdown]
# Where a curve is steep, more candidates pay; where it is flat, the network has said what it knows. The distance between the left and
# the right picture is again made of formulas that fit without being the truth. How many of the accurate answers owe it to a wide beam?

# %%
accurate = widest[(widest.test_set == "not_included") & widest.accurate]
late = accurate.accurate_rank > 5
print(f"accurate at b = {last}:", len(accurate), "of", len(unseen[unseen.beam_size == last]))
print("with no accurate candidate among the first five:", percent(late))
print("novel among those:", percent(accurate[late].novel), "  among the others:",
      percent(accurate[~late].novel))

# %% [markdown]
# ## Mask, stopping, length
#
# What makes the difference between the two decodings: the mask, or when to stop? Each can be switched off alone, and $\alpha$ can be
# changed. With $\alpha = 1$ a long formula of likely tokens beats a short one, and a beam that does not stop early gets to see it.


# %%
def describe(row):
    if not row.masked:
        return "published: no mask, stop early"
    if row.stop == "enough":
        return "mask, stop early"
    return "ours" if row.length_penalty == 1 else f"ours, α = {row.length_penalty:g}"


options["variant"] = [describe(row) for row in options.itertuples()]
options = options[options.beam_size.isin(SIZES[:3])]
rows = []
for (variant, b), part in options.groupby(["variant", "beam_size"], sort=False):
    answers = part[part.answer_length > 0]
    rows.append({"b": b, "variant": variant, "no answer": percent(part.answer_length == 0),
                 "novel": percent(part.novel), "accurate": percent(part.accurate),
                 "answer's length": round(answers.answer_length.mean(), 1),
                 "decoder tokens": round(part.tokens.mean())})
pd.DataFrame(rows).sort_values("b", kind="stable").set_index(["b", "variant"])

# %% [markdown]
# The same as a picture: novelty and accuracy of each variant.

# %%
figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.0), sharey=True)
names = list(dict.fromkeys(options.variant))
shifts = dict(zip(SIZES[:3], (-0.2, 0.0, 0.2)))
shades = dict(zip(SIZES[:3], (ORANGE, BLUE, GREEN)))
for (variant, b), part in options.groupby(["variant", "beam_size"], sort=False):
    y = names.index(variant) + shifts[b]
    for ax, what in zip(axes, ("novel", "accurate")):
        value, low, high = (100 * x for x in wilson(int(part[what].sum()), len(part)))
        ends = np.clip([[value - low], [high - value]], 0, None)
        ax.errorbar(value, y, xerr=ends, fmt="o", color=shades[b], markersize=4, capsize=2,
                    label=f"b = {b}" if variant == names[0] else None)
for ax, what in zip(axes, ("novel (%)", "accurate (%)")):
    ax.set(xlabel=what, xlim=(0, None))
axes[0].set_yticks(range(len(names)), names)
axes[0].invert_yaxis()
axes[1].legend(fontsize=8)
figure.suptitle("Options of beam search on not_included", weight="bold", fontsize=11)
save(figure, "options")
plt.show()
masked = options[options.masked]
assert (masked.answer_length > 0).mean() > 0.8  # with the mask nearly every search ends well

# %% [markdown]
# Dots of one colour belong together. A bar is the interval of one share; whether two of them differ is a question to their difference on
# the same problems, and bars that overlap do not answer it. A large
# $\alpha$ favours long formulas: compare *answer's length*, and note that novelty can be had that way, too. *Decoder tokens* is the cost.

# %% [markdown]
# ## The price
#
# What a search costs: the tokens that the decoder reads, and the time of decoding and fitting, per problem. Seconds depend on the
# machine (and on who else was using it), tokens do not.

# %%
cost = unseen.groupby("beam_size")[["tokens", "seconds", "candidates"]].mean()
figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.0))
for ax, what, colour in zip(axes, ("tokens", "seconds"), (BLUE, ORANGE)):
    ax.loglog(cost.index, cost[what], "o-", color=colour)
    ax.loglog(cost.index, cost[what].iloc[0] * cost.index, ":", color=GREY)
    ax.set(xlabel="beam size", ylabel=f"{what} per problem")
    ax.set_xticks(TICKS, TICKS)
    ax.minorticks_off()
times = cost.tokens.iloc[-1] / cost.tokens.iloc[0]
axes[0].set_title(f"b = {last} reads {times:.0f} × the tokens of b = {first}", fontsize=10)
axes[1].set_title("dotted: in proportion to the beam", fontsize=10)
save(figure, "cost")
plt.show()
assert cost.tokens.is_monotonic_increasing

# %% [markdown]
# Tokens are the cost axis on which chapter [11](11_strategies_compared.py) compares all strategies: a strategy that beats a small beam
# has to be compared with a beam that costs as much.

# %% [markdown]
# ## One point, live
#
# The parameters `beam_size`, `test_set` and `seed` of this notebook choose one point of all that. Here it is, measured now on the first
# `n_live` problems, next to the table.

# %%
results = solve_all(problems, BeamSearch(beam_size), trained, seed=seed, reference=training,
                    progress=f"b = {beam_size}")
now = tabulate(results, test_set, training).set_index("problem")
then = beam[(beam.beam_size == beam_size) & (beam.test_set == test_set)]
then = then.set_index("problem").reindex(now.index)
good = now.r2 > ACCURATE
book.record(novel=float(now.novel.mean()), accurate=float(good.mean()), problems=len(now),
           novel_candidates=float(now.share_novel_candidates.mean()),
           tokens=float(now.tokens.mean()), seconds_per_problem=float(now.seconds.mean()))
print(f"b = {beam_size}, {test_set}, seed {seed}:",
      f"novel {percent(now.novel)}, accurate {percent(good)}")
if then.answer.notna().any():
    same = (now.answer == then.answer.fillna("")).mean()
    print(f"the same answers as in the table: {same:.0%}")
    assert same > 0.8  # another processor may break a tie differently

# %% [markdown]
# ## The sweep
#
# To measure every combination, two at a time, skipping what is done:
#
# ```
# python -m nsr sweep params/sweeps/beam_size.yaml --workers 2
# ```
#
# The file names a notebook that only measures ([A00](appendix/A00_measure.py)) and the grid of its parameters:

# %%
sweep_file = book.ROOT / "params" / "sweeps" / "beam_size.yaml"
print(sweep_file.read_text())

# %% [markdown]
# ## Paper, ours, verdict
#
# The paper's table, row by row, on `not_included`: shares with 95 % intervals (for the paper's, 450 problems are assumed), once with our
# decoding and once with the published one; "same" means that the interval of their difference lies within five points
# (`nsr/evidence/verdicts.py` sets that margin), "different" that it leaves zero out, and "undecided" neither.

# %%
lines = []
for b in SIZES:
    cells = [breakdown(rows[rows.beam_size == b]).itertuples() for rows in (unseen, published)]
    for theirs, cell, other in zip(PAPER_BEAM[b], *cells):
        sign = ">" if cell.accurate else "≤"
        name = f"{'novel' if cell.novel else 'not novel'}, R² {sign} {ACCURATE}"
        early = compare(theirs, other.count, other.n)[1:]
        lines.append((str(b), name, *compare(theirs, cell.count, cell.n), *early))
agree = [sum(line[i] == "same" for line in lines) for i in (4, 6)]
print(f"of {len(lines)} cells {agree[0]} are the same with our decoding,",
      f"{agree[1]} with the published one")
head = "| b | | the paper | ours | verdict | published decoding | verdict |\n"
head += "|---" * 7 + "|\n"
Markdown(head + "\n".join("| " + " | ".join(line) + " |" for line in lines))

# %% [markdown]
# And the sentences, at the scale of this page. "To a limited extent" (Section 6.2) is less than ten points, as in chapter 11:

# %%
wide = unseen[unseen.beam_size == last]
novel_wide = wilson(int(wide.novel.sum()), len(wide))
gain, gained = changes["novel"], changes["accurate"]
theirs = [sum(PAPER_BEAM[b][:2]) for b in (first, last)]
signed = "{:+.1f} points ({:+.1f} to {:+.1f})".format
copied = "{:.0f} % ({:.0f} to {:.0f})".format(
    *(100 - 100 * x for x in (novel_wide.value, novel_wide.high, novel_wide.low)))
claims = [
    (f"a larger beam does not alleviate the bias (its table: {theirs[1] - theirs[0]:+.1f})",
     "novel " + signed(*(100 * x for x in gain)), verdict_on_claim(gain, below=0)),
    ("… or only to a limited extent", "the same number", verdict_on_claim(gain, below=0.1)),
    (f"at b = {last} answers are mostly copies", copied,
     verdict_on_claim(novel_wide, below=0.5)),
    ("a large beam improves accuracy", signed(*(100 * x for x in gained)),
     verdict_on_claim(gained, above=0)),
]
text = f"At `{trained.name}`, {len(wide)} problems, one network; paired intervals.\n\n"
head = "| the paper | ours | verdict |\n|---|---|---|\n"
Markdown(text + head + "\n".join("| " + " | ".join(row) + " |" for row in claims))

# %% [markdown]
# Where novelty rises with the beam, look back at the table of candidates: a larger beam contains more novel formulas, and the fit picks
# them when they fit. The network has not learned anything new; it was only asked for less likely formulas, too. And where the two
# decodings differ, part of "novelty" is a matter of when a search stops, not of what the network knows.

# %% [markdown]
# ## Exercises
#
# 1. *Predict.* With $b = 1$ the beam is greedy decoding. Can the answer at $b = 5$ be *worse* on the given points than at $b = 1$? Think
#    about what happens to the greedy formula in the wider beam, then look.

# %% tags=["solution"]
can_be_worse = True  # the greedy formula may be pushed out by five that score higher per token

# %% tags=["check"]
given = unseen.pivot_table(index=["seed", "problem"], columns="beam_size", values="r2_given")
worse = (given[SIZES[1]] < given[SIZES[0]] - 1e-6).mean()
print(f"worse at b = {SIZES[1]} than at b = {SIZES[0]}: {worse:.1%} of the problems")
assert can_be_worse is True, "a wider beam need not contain the greedy formula"

# %% [markdown]
# 2. *Turn.* Search the problems of this page with twice the beam. Is there one whose answer changes its template?

# %% tags=["solution"]
wider = solve_all(problems, BeamSearch(2 * beam_size), trained, reference=training)

# %% tags=["check"]
narrow = solve_all(problems, BeamSearch(beam_size), trained, reference=training)
assert len(wider) == len(problems) and all(r.beam_size == 2 * beam_size for r in wider), "one result per problem"
changed = sum(a.answer is not None and b.answer is not None and a.answer.prefix != b.answer.prefix for a, b in zip(narrow, wider))
print(f"{changed} of {len(problems)} answers changed")

# %% [markdown]
# 3. *Build.* `Complete` is the request that beam search makes. Write a strategy that asks for one formula at a time, each beginning with
#    another first token, and answers with the best: a beam that is forced to be diverse.

# %% tags=["solution"]
class FirstTokens:
    name, beam_size = "first tokens", 5

    def search(self, view, rng):
        tokens = yield NextTokens()
        requests = [Complete((token,), beam_size=1) for token, _ in tokens[: self.beam_size]]
        found = yield requests
        yield Verify.beam([hypothesis for part in found for hypothesis in part])


# %% tags=["check"]
found = solve_all(problems, FirstTokens(), trained, reference=training)
diverse = tabulate(found, test_set, training)
print("novel", percent(diverse.novel), " accurate", percent(diverse.r2 > ACCURATE))
firsts = [[prefix[0] for prefix in result.generated] for result in found]
assert (diverse.candidates <= 5).all() and all(len(set(row)) == len(row) > 0 for row in firsts), "each begins differently"

# %% [markdown]
# **What's next.** [TPSR](06_tpsr.py): spend the same tokens on planning.
