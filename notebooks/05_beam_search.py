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
# # A wider beam finds better formulas; how often they are novel depends on when it stops
#
# **Claim.** More candidates make answers more accurate; most of what is added is known, too. With the same network, a
# search that stops earlier has more novel answers and less accurate ones.
#
# **You will see.** A beam built in thirty lines, on a toy and on the network; a beam growing token by token; when it stops, and what
# that decides.
#
# **Needs.** [04](04_reproduction_bias.py).
#
# **From the paper.** Section 6 "Decoding with large beam size"; Table "Breakdown of generated expressions".
#
# **Runtime.** Tiny: one minute. Laptop: one minute, or an hour with `recompute`. Paper: some hours of a GPU. On a laptop with 2 cores.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the problems that are solved while you read
weights: str = "laptop/nesymres"  # the first of the networks that are asked; empty: train tiny ones now
n_networks: int = 4  # at most so many networks of this recipe, as far as they are here
recompute: bool = False  # measure what the tables lack, instead of only reading them
n_problems: int = 150  # problems of a test set
n_seeds: int = 3  # test sets of each kind, drawn with different seeds
n_points: int = 100  # points given per problem; as many fresh ones judge
largest_beam: int = 150  # the largest of the beam sizes 1, 5, 50, 100, 150 that is shown
n_live: int = 24  # problems solved while you read

# %% tags=["hide-input"]
import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from nsr import book
from nsr.evidence import (
    ACCURATE, BLUE, INK, PAPER_BEAM, Row, TrainingSet, beam_grid, control, draw_beam, measured, networks_for, novelty_line, paired,
    percent_of, problems_of, save, share_of, use_style, verdict_on_claim,
)
from nsr.formulas import END, to_infix
from nsr.search import BeamSearch, NextTokens, r2_text, solve, solve_all

use_style()
SIZES = [size for size in PAPER_BEAM if size <= largest_beam]
networks = networks_for(weights, n_networks)
trained = next(iter(networks.values()))
training = TrainingSet.of(trained)

# %% [markdown]
# ## The finding first
#
# A beam of size $b$ proposes $b$ formulas. Three decoders search with the same network and the same fit. *Ours* goes on until no beginning
# can still enter the $b$ best. The second is the same, but *stops at the first b* formulas that have ended. The *published decoder* stops
# like the second, and has two more differences, which come below.

# %% tags=["hide-input"]
size, how = {"n_problems": n_problems, "n_points": n_points}, {"scale": scale, "recompute": recompute, "live": n_live}
rows = [row for name in networks for row in beam_grid(SIZES, ["not_included"], range(n_seeds), weights=name, **size)]
unseen = measured("beam", rows, networks, by_network=True, **how)
rows = [Row(BeamSearch(b, stop=stop), "not_included", s, show=("masked", "stop", "length_penalty"), **size)
        for b in SIZES[:3] for stop in ("bound", "enough") for s in range(n_seeds)]
options = measured("beam_options", rows, trained, **how)
rows = [Row.under(name, "beam", b, "not_included", **size) for name in ("ours", "published decoder") for b in SIZES if b != 100]
protocols = measured("protocols", rows, trained, **how)
late, early = (options[options.stop == stop] for stop in ("bound", "enough"))
same, published = (protocols[protocols.protocol == name] for name in ("ours", "published decoder"))

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7, 3.3))
lines = {"ours": (unseen, "o-", BLUE), "stops at the first b": (early, "o--", "white"), "published decoder": (published, "s:", "white")}
for ax, what in zip(axes, ("novel", "accurate")):
    for name, (rows, style, face) in lines.items():
        found = {b: share_of(part, what) for b, part in rows.groupby("beam_size")}
        x, values = [SIZES.index(b) for b in found], 100 * np.array(list(found.values()))
        ax.errorbar(x, values[:, 0], np.abs(values[:, 1:] - values[:, :1]).T, fmt=style, color=BLUE, mfc=face, capsize=2, label=name, lw=1.3)
    cells = [0, 1] if what == "novel" else [0, 2]
    ax.plot([PAPER_BEAM[b][cells[0]] + PAPER_BEAM[b][cells[1]] for b in SIZES], "x", color=INK, label="the paper")
    ax.set_xticks(range(len(SIZES)), SIZES)
    ax.set(xlabel="beam size b")
axes[0].set(ylabel="novel answers (%), axis to 20", ylim=(0, 20), title="Stopping early: more novel …")
axes[1].set(ylabel=f"$R^2 > {ACCURATE}$ (%)", ylim=(0, 100), title="… and less accurate")
axes[0].legend(fontsize=8)
save(figure, "beam_sizes", alt="Left the share of novel answers, right the share of accurate ones, over the beam size, for three decoders and "
     "the paper. The decoder that stops at the first b has more novel answers and is less accurate than ours at b = 50.")

# %% [markdown]
# A wider beam is much more accurate and has a few more novel answers. What do the other two decoders change, on the same problems? Differences
# in points, with their 95 % intervals, and the verdict on "it has more novel answers":

# %%
def of_size(rows, b):
    return rows[rows.beam_size == b]


changes = {}
for name, (a, b) in {"stops at the first b": (early, late), "published decoder": (published, same)}.items():
    for n in sorted(set(a.beam_size) - {1}):
        found = {what: paired(of_size(a, n), of_size(b, n), what)[0] for what in ("novel", "accurate")}
        changes[name, n] = {k: "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * x for x in v)) for k, v in found.items()}
        changes[name, n]["more novel answers"] = verdict_on_claim(found["novel"], above=0)
pd.DataFrame(changes).T.rename_axis(["decoder", "b"])

# %% [markdown]
# Stopped at the first $b$, the same network has more novel answers and is less accurate. So a part of novelty is a matter of when a search stops,
# and not of what the network knows. The published decoder loses accuracy, too; the table says at which sizes it has more novel answers.
#
# ## A beam on three tokens
#
# The most likely formula cannot be found by always taking the most likely token, and all formulas cannot be tried. Beam search keeps the
# $b$ best *beginnings*, lets each go on in every way, and keeps the $b$ best again. A toy network with the tokens `a`, `b` and END, where
# no formula has more than two tokens:

# %%
toy = {
    (): {"a": 0.55, "b": 0.45},
    ("a",): {"a": 0.36, "b": 0.34, END: 0.30},
    ("b",): {"a": 0.10, END: 0.90},
}


def ask_toy(prefixes, table=toy):
    """For each prefix the possible next tokens with their log-probabilities."""
    answers = [table.get(prefix, {END: 1.0}) for prefix in prefixes]
    return [[(token, math.log(p)) for token, p in answer.items()] for answer in answers]


# %% [markdown]
# Expand: ask for the next tokens of all live beginnings, and add up log-probabilities. END ends a formula, any other token makes a longer
# beginning.


# %%
def expand(live, ask):
    grown, ended = {}, {}
    for (prefix, log_p), tokens in zip(live.items(), ask(list(live))):
        for token, step in tokens:
            if token == END:
                ended[prefix] = log_p + step
            else:
                grown[*prefix, token] = log_p + step
    return grown, ended


grown, ended = expand({(): 0.0}, ask_toy)
print("after one token:", {" ".join(p): round(math.exp(log_p), 3) for p, log_p in grown.items()})

# %% [markdown]
# Keep the $b$ best. Formulas that have ended are ranked by
#
# $$\mathrm{score}(\mathbf{s}) = \frac{\log q_\theta(\mathbf{s}, \mathrm{END} \mid \mathcal{D})}{1 + L},$$
#
# so that a long formula is not punished for its length $L$.


# %%
def best_of(found, b):
    return dict(sorted(found.items(), key=lambda item: -item[1])[:b])


def scored(ended):
    return {prefix: log_p / (1 + len(prefix)) for prefix, log_p in ended.items()}


# %% [markdown]
# ## When to stop
#
# *Our bound*: the log-probability of a beginning can only fall. So its score is at most $\log p / (1 + L_{\max})$, and if that is not
# above the worst of $b$ formulas that have ended, the beginning is given up. The search stops when none is left.
#
# *Enough*: stop as soon as $b$ formulas have ended.
#
# *Published*: the same, and END counts only where it is at least as likely as the last of the $b$ beginnings that go on.


# %%
def beam(ask, b, max_len, stop="bound"):
    live, done, moments = {(): 0.0}, {}, []
    while live:
        grown, ended = expand(live, ask)
        kept = best_of(grown, b)
        if stop == "published" and kept:
            ended = {p: log_p for p, log_p in ended.items() if log_p >= min(kept.values())}
        done = best_of(done | scored(ended), b)
        worst = min(done.values()) if len(done) == b else -math.inf
        if stop == "bound":
            live = {p: log_p for p, log_p in kept.items() if log_p / (1 + max_len) > worst}
        else:
            live = {} if len(done) == b else kept
        moments.append((live, list(done)))
    return done, moments


# %% [markdown]
# The beam of two on the toy, step by step: what is alive, and what has ended.

# %%
two, steps = beam(ask_toy, 2, max_len=2)
for n, (live, ended) in enumerate(steps, start=1):
    print(f"step {n}: alive", {" ".join(p): round(math.exp(log_p), 3) for p, log_p in live.items()},
          "ended", [" ".join(p) for p in ended])

# %% [markdown]
# Check it by hand: `b` ends with 0.45 · 0.90 = 0.405, `a a` with 0.55 · 0.36 = 0.198. Greedy decoding ($b = 1$) cannot find `b`. Without
# any limit the toy has five formulas, and the beam of two finds the two that score best.

# %%
every, live = {}, {(): 0.0}
while live:
    live, ended = expand(live, ask_toy)
    every |= scored(ended)
greedy = beam(ask_toy, 1, max_len=2)[0]
early_two = beam(ask_toy, 2, max_len=2, stop="enough")[0]
assert len(every) == 5 and list(two) == list(best_of(every, 2))
for name, found in {"greedy": greedy, "two, bound": two, "two, enough": early_two}.items():
    print(f"{name:12}", {" ".join(p): round(score, 2) for p, score in found.items()})

# %% [markdown]
# Stopped early, the beam of two never sees `a a`, and answers with the shorter and worse `a` in its place.
#
# ## On the network
#
# In this book a strategy does not call the network. It *yields* a request, and the engine answers the requests of many problems together.
# This one only asks for next tokens, and remembers the answers.


# %%
class Ask:
    name = "ask"

    def __init__(self, requests):
        self.requests = requests

    def search(self, view, rng):
        self.answers = yield self.requests


# %% [markdown]
# With it, the network is a function like `ask_toy`. Formulas have at most 16 tokens here.


# %%
def ask_network(problem, **rules):
    def ask(prefixes):
        question = Ask([NextTokens(prefix, max_len=16, **rules) for prefix in prefixes])
        solve(problem, question, trained)
        return question.answers

    return ask


# %% [markdown]
# Departure: our requests are *masked*: only tokens are possible with which a formula can still be completed. The published code lets the
# network write anything, and throws away what is no formula.
#
# The beam of this page and that of `nsr/search/decoding.py` must find the same formulas, with both decoders.

# %%
problems = problems_of(trained, "not_included", seed, n_problems, n_points)[:n_live]
ours = solve_all(problems, BeamSearch(5, max_len=16), trained, seed=seed, reference=training)
theirs = solve_all(problems, BeamSearch(5, max_len=16, masked=False, stop="published"), trained, seed=seed)
for mine, other in list(zip(ours, theirs))[:3]:
    found, _ = beam(ask_network(mine.problem), 5, max_len=16)
    assert set(found) == set(mine.generated)
    found, _ = beam(ask_network(mine.problem, masked=False), 5, max_len=16, stop="published")
    assert set(found) == set(other.generated)

# %% [markdown]
# ## A beam grows
#
# The first problem with an accurate answer. Move the slider to add tokens. Framed tokens are alive, grey ones were given up, and a square
# marks a formula that has ended, with the $R^2$ of its fit.

# %% tags=["hide-input"]
result = next((r for r in ours if r.r2 > ACCURATE), ours[0])
_, moments = beam(ask_network(result.problem), 5, max_len=16)
notes = {c.prefix: f"R² {r2_text(c.r2)}" + " ◀ pick" * (c == result.answer) for c in result.candidates}
truth = to_infix(result.problem.truth, result.problem.truth_constants or None, digits=3)


def grow(n):
    figure, ax = plt.subplots(figsize=(7, 4.2))
    draw_beam(ax, moments, n, notes)
    alive, ended = moments[n - 1]
    ax.set_title(f"Looking for {truth}\nafter {n} token{'s' * (n > 1)}: {len(alive)} alive, {len(ended)} ended", fontsize=10)
    return figure


control(grow, "tokens", range(1, len(moments) + 1),
        alt="The beginnings that a beam of five holds after {} tokens, as a tree; ended formulas have a square and their R².")

# %% [markdown]
# The whole beam at its end:

# %% tags=["hide-input"]
save(grow(len(moments)), "beam_tree", alt="The tree of all beginnings that the beam ever held; five formulas have ended, each with its R², "
     "and one of them is the pick.")

# %% [markdown]
# The pick is the formula whose constants fit best: the network proposes, and the fit decides (chapter 04). Grey beginnings were given up.
#
# ## Where stopping decides
#
# And an example that fails: the first problem whose answer is copied with our rule, and novel with the early one.

# %%
def is_novel(result):
    return result.answer is not None and training.novelty(result.answer.prefix)["novel"]


stopped = solve_all(problems, BeamSearch(5, max_len=16, stop="enough"), trained, seed=seed, reference=training)
pairs = list(zip(ours, stopped))
turned = [pair for pair in pairs if is_novel(pair[1]) and not is_novel(pair[0])]
chosen = (turned or pairs)[0]
print(f"the answers of {len(turned)} of {len(pairs)} problems turn from copied to novel")

# %% tags=["hide-input"]
def beam_table(result):
    return [f"{'▶ ' * (c == result.answer)}{to_infix(c.prefix, c.constants or None, digits=3)}  (R² {r2_text(c.r2)})"
            for c in result.candidates][:5]


print("truth:", to_infix(chosen[0].problem.truth, chosen[0].problem.truth_constants or None, digits=3))
print("R² of the answers on fresh points:", *(r2_text(r.r2) for r in chosen))
columns = {"ours": beam_table(chosen[0]), "stops at the first b": beam_table(chosen[1])}
pd.DataFrame({name: pd.Series(column) for name, column in columns.items()}).fillna("").style.hide(axis="index")

# %% [markdown]
# END is very unlikely after one token, but it counts, and the search stops before five better formulas have pushed it out. One token alone
# is in no training set, so it counts as novel. How many of the novel answers are no discoveries (chapter 04)? All columns are shares of all
# answers.

# %% tags=["hide-input"]
lines = []
for b in SIZES[1:]:
    for name, rows in {"ours": unseen, "stops at the first b": early, "published decoder": published}.items():
        if len(part := of_size(rows, b)):
            kinds = novelty_line(part)
            lines.append((b, name, *kinds.values(), percent_of(part, "accurate"), f"{part.answer_length.mean():.1f}"))
columns = ["b", "decoder", *kinds, "accurate", "tokens of the answer"]
pd.DataFrame(lines, columns=columns).style.hide(axis="index")

# %% [markdown]
# Early stopping gives shorter answers. At $b = 5$ most of its novel answers are degenerate: one token. The decoder is also one reason why our accuracy is
# above the paper's; chapter [11](11_strategies_compared.py) separates decoder and fit. The report [A05](appendix/A05_beam_search.py) has
# the mask alone, a score that favours long formulas, the cost, and all cells of the paper's table.
#
# ## What a wider beam adds
#
# > Since increasing the beam size does not provide the model with any additional information, our hypothesis is that simply adopting
# > a decoding strategy with a larger beam size will not alleviate reproduction bias. (Section 6.1)
#
# Answers, all candidates, and how often the true template is among them:

# %%
table = {b: {"answers novel": f"{part.novel.mean():.1%}",
             "candidates novel": f"{part.share_novel_candidates.mean():.1%}",
             "true template among the candidates": f"{part.truth_rank.notna().mean():.1%}",
             "accurate": f"{part.accurate.mean():.1%}"} for b, part in unseen.groupby("beam_size")}
pd.DataFrame(table).T.rename_axis("b")

# %% [markdown]
# Few candidates are novel at any size. The accurate answers are mostly formulas that fit without being the truth.
#
# ## Paper, ours, verdict
#
# The first four claims are the paper's, the last is ours. Differences are between the largest and the smallest beam on the same problems; "a
# limited extent" is less than ten points.

# %% tags=["hide-input"]
last, first = SIZES[-1], SIZES[0]
gain, gained = (paired(of_size(unseen, last), of_size(unseen, first), what)[0] for what in ("novel", "accurate"))
wide = of_size(unseen, last)
copied = share_of(wide, "copied")
earlier = paired(of_size(early, SIZES[2]), of_size(late, SIZES[2]), "novel")[0]
text = "{:+.1f} points ({:+.1f} to {:+.1f})"
points = lambda change: text.format(*(100 * x for x in change))
claims = [
    ("a larger beam does not alleviate the bias", "novel: " + points(gain), verdict_on_claim(gain, below=0)),
    ("… or only to a limited extent", "the same number", verdict_on_claim(gain, below=0.1)),
    (f"at b = {last} answers are mostly copies", "{:.0%} ({:.0%} to {:.0%})".format(*copied), verdict_on_claim(copied, above=0.5)),
    ("a large beam improves accuracy", points(gained), verdict_on_claim(gained, above=0)),
    (f"stopping at the first b gives more novel answers (b = {SIZES[2]})", points(earlier), verdict_on_claim(earlier, above=0)),
]
book.record(new=float(wide.novel.mean()), accurate=float(wide.accurate.mean()), stopping=earlier.value)
pd.DataFrame(claims, columns=["claim", "measured", "verdict"]).style.hide(axis="index")

# %% [markdown]
# ## Exercises
#
# 1. *Predict.* Can the answer at $b = 5$ be *worse* on the given points than at $b = 1$? Think about what happens to the greedy formula
#    in the wider beam.

# %% tags=["solution"]
can_be_worse = True  # the greedy formula may be pushed out by five that score higher

# %% tags=["check"]
given = unseen.pivot_table(index=["network", "seed", "problem"], columns="beam_size", values="r2_given")
worse = (given[SIZES[1]] < given[SIZES[0]] - 1e-6).mean()
print(f"worse at b = {SIZES[1]} than at b = {SIZES[0]}: {worse:.1%} of the problems")
assert can_be_worse is True, "a wider beam need not contain the greedy formula"

# %% [markdown]
# 2. *Turn.* In the toy END follows `a` with 0.30. Choose another probability `p_end`, the rest shared equally between `a` and `b`, such that
#    the beam of two finds the same two formulas whether it stops early or by the bound.

# %% tags=["solution"]
p_end = 0.7  # then short formulas are the likely ones, and nothing is lost by stopping early

# %% tags=["check"]
other = toy | {("a",): {"a": (1 - p_end) / 2, "b": (1 - p_end) / 2, END: p_end}}
ends = [beam(lambda prefixes: ask_toy(prefixes, other), 2, 2, stop)[0] for stop in ("bound", "enough")]
assert 0 < p_end < 1 and set(ends[0]) == set(ends[1]), "should `a` be a likely formula, or an unlikely one?"

# %% [markdown]
# 3. *Build.* Make a toy with the tokens `a`, `b` and END and at most two tokens, `lossy`, in which a beam of two does not hold the answer
#    of the greedy one.

# %% tags=["solution"]
lossy = {
    (): {"a": 0.51, "b": 0.49},
    ("a",): {"a": 0.34, "b": 0.33, END: 0.33},
    ("b",): {"a": 0.50, "b": 0.50},
}

# %% tags=["check"]
assert all(math.isclose(sum(row.values()), 1) for row in lossy.values()), "probabilities sum to one"
alone, both = (beam(lambda prefixes: ask_toy(prefixes, lossy), b, max_len=2)[0] for b in (1, 2))
print("greedy:", *map(" ".join, alone), "| two:", *map(" ".join, both))
assert not set(alone) & set(both), "both places must be taken by longer beginnings of the other first token"

# %% [markdown]
# **What's next.** [TPSR](06_tpsr.py): spend the same tokens on planning.
