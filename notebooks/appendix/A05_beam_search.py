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
# # A05 · Beam search: sizes, options, ranks and cost
#
# **Question.** What stands behind the numbers of chapter [05](../05_beam_search.py): all test sets, the place of the first good candidate,
# mask, stopping and length penalty each alone, the cost, and the paper's table cell by cell?
#
# **Runtime.** A minute; nothing is measured if the tables are there.
#
# **Knobs.** `weights` and `n_networks`: whose lines of the table `beam` are read; `largest_beam`.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the resampling
weights: str = "laptop/nesymres"  # the first of the networks that are read; empty: train tiny ones now
n_networks: int = 4  # at most so many networks of this recipe, as far as they are here
n_problems: int = 150  # problems of a test set
n_seeds: int = 3  # test sets of each kind
n_points: int = 100  # points given per problem
largest_beam: int = 150  # the largest of the beam sizes 1, 5, 50, 100, 150 that is read
n_live: int = 24  # problems per row that are searched where there is no table

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from nsr import book
from nsr.data import TEST_SETS
from nsr.evidence import (
    ACCURATE, BLUE, GREY, PAPER_BEAM, SET_STYLES, Row, beam_grid, breakdown, compare, measured, networks_for, paired, percent,
    save, share_with_rank, use_style,
)
from nsr.search import BeamSearch

use_style()
SIZES = [size for size in PAPER_BEAM if size <= largest_beam]
TICKS = [size for size in SIZES if size != 100]  # on a logarithmic axis 100 and 150 would touch
networks = networks_for(weights, n_networks)
trained = next(iter(networks.values()))
size = {"n_problems": n_problems, "n_points": n_points}
how = {"scale": scale, "live": n_live}

# %% [markdown]
# Three tables: `beam`, all sizes on three test sets with our decoder; `beam_options`, other ways to run a beam on `not_included`; and
# `protocols`, where the published decoder is the one of the published code in every detail.

# %%
rows = [row for name in networks for row in beam_grid(SIZES, TEST_SETS, range(n_seeds), weights=name, **size)]
beam = measured("beam", rows, networks, by_network=True, **how).sort_values("beam_size")
variants = [{}, {"stop": "enough"}, {"length_penalty": 0.0}, {"length_penalty": 2.0}]
beams = [BeamSearch(b, masked=False, stop="enough") for b in SIZES]
beams += [BeamSearch(b, **variant) for b in SIZES[:3] for variant in variants]
shown = ("masked", "stop", "length_penalty")
rows = [Row(one, "not_included", s, **size, show=shown) for one in beams for s in range(n_seeds)]
options = measured("beam_options", rows, trained, **how)
rows = [Row.under("published decoder", "beam", b, "not_included", **size) for b in SIZES if b != 100]
published = measured("protocols", rows, trained, **how)
unseen = beam[beam.test_set == "not_included"]

# %% [markdown]
# ## From the smallest beam to the largest
#
# On the same problems, with McNemar's exact test, which looks at problems on which the two sizes disagree.

# %%
lines, last, first = [], SIZES[-1], SIZES[0]
for name, part in beam.groupby("test_set", sort=False):
    for what in ("novel", "accurate"):
        change, test, _ = paired(part[part.beam_size == last], part[part.beam_size == first], what, seed)
        lines.append((name, what, *(f"{100 * x:+.1f}" for x in change), test.only_a, test.only_b, f"{test.p_value:.1g}"))
pd.DataFrame(lines, columns=["test set", "", "points", "from", "to", f"only at {last}", f"only at {first}", "p"]).style.hide(axis="index")

# %% [markdown]
# ## Where the first good candidate stands
#
# In the widest beam, counted in the network's own order. The curve is the share of problems that have one among their first $k$; the marks
# are searches with a beam of that size.

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7, 3.3), sharey=True)
ks = np.arange(1, last + 1)
for name, (colour, marker) in SET_STYLES.items():
    part = beam[beam.test_set == name]
    for ax, rank in zip(axes, ("accurate_rank", "truth_rank")):
        ax.plot(ks, 100 * share_with_rank(part[part.beam_size == last][rank], ks), color=colour, label=name)
        own = 100 * part.groupby("beam_size")[rank].agg(lambda ranks: ranks.notna().mean())
        ax.plot(own.index, own, marker, color=colour, markersize=4)
for ax, title in zip(axes, (f"A candidate with $R^2 > {ACCURATE}$ …", "The truth's template …")):
    ax.set(xscale="log", xlabel="… is among the first k candidates", ylim=(0, 100))
    ax.set_xticks(TICKS, TICKS)
    ax.minorticks_off()
    ax.set_title(title, fontsize=10)
axes[0].set_ylabel("share of problems (%)")
axes[0].legend(fontsize=8)
save(figure, "ranks", alt="Two panels over the number of candidates, for three test sets: how often an accurate candidate, and how often the "
     "true template, is among the first k. The first rises steadily; the second stays low on the unknown sets.")

# %% [markdown]
# Accurate answers that no beam of five could have given, and how many of them are novel:

# %%
accurate = unseen[(unseen.beam_size == last) & unseen.accurate]
late = accurate.accurate_rank > 5
print(f"accurate at b = {last}:", len(accurate), "of", len(unseen[unseen.beam_size == last]))
print("with no accurate candidate among the first five:", percent(late))
print("novel among those:", percent(accurate[late].novel), "  among the others:", percent(accurate[~late].novel))

# %% [markdown]
# ## Mask, stopping, length
#
# Each option alone. *No mask* here counts END where it is among the $2b$ best continuations. A large $\alpha$, the exponent of the length in
# the score, favours long formulas.


# %%
def describe(row):
    if not row.masked:
        return "no mask, stops at the first b"
    if row.stop == "enough":
        return "stops at the first b"
    return "ours" if row.length_penalty == 1 else f"ours, α = {row.length_penalty:g}"


options["variant"] = [describe(row) for row in options.itertuples()]
parts = [*options[options.beam_size.isin(SIZES[:3])].groupby(["beam_size", "variant"], sort=False)]
parts += [((b, "published decoder"), part) for b, part in published[published.beam_size.isin(SIZES[:3])].groupby("beam_size")]
lines = []
for (b, variant), part in sorted(parts, key=lambda item: item[0]):
    single = part.novel & (part.answer_length == 1)
    lines.append((b, variant, len(part), percent(part.answer_length == 0), percent(part.novel), f"{single.mean():.1%}",
                  percent(part.accurate), f"{part.answer_length[part.answer_length > 0].mean():.1f}", round(part.tokens.mean())))
columns = ["b", "variant", "problems", "no answer", "novel", "novel, one token", "accurate", "answer's tokens", "decoder tokens"]
pd.DataFrame(lines, columns=columns).style.hide(axis="index")

# %% [markdown]
# What a score that favours long formulas changes on the same problems: another way in which novelty depends on the decoder.

# %%
exact = options[options.masked & (options.stop == "bound")]
for b in SIZES[1:3]:
    long, plain = (exact[(exact.length_penalty == alpha) & (exact.beam_size == b)] for alpha in (2, 1))
    for what in ("novel", "novel_family", "accurate"):
        change = paired(long, plain, what, seed)[0]
        print(f"b = {b}, α = 2 − α = 1, {what}:", "{:+.1f} points ({:+.1f} to {:+.1f})".format(*(100 * x for x in change)))

# %% [markdown]
# ## The cost
#
# Tokens that the decoder reads per problem, and processor seconds of decoding and fitting. Seconds depend on the machine, tokens do not.

# %% tags=["hide-input"]
cost = unseen.groupby("beam_size")[["tokens", "seconds"]].mean()
figure, axes = plt.subplots(1, 2, figsize=(7, 3))
for ax, what in zip(axes, ("tokens", "seconds")):
    ax.loglog(cost.index, cost[what], "o-", color=BLUE)
    ax.loglog(cost.index, cost[what].iloc[0] * cost.index, ":", color=GREY)
    ax.set(xlabel="beam size", ylabel=f"{what} per problem")
    ax.set_xticks(TICKS, TICKS)
    ax.minorticks_off()
axes[0].set_title(f"b = {last} reads {cost.tokens.iloc[-1] / cost.tokens.iloc[0]:.0f} × the tokens of b = {first}", fontsize=9)
axes[1].set_title("dotted: in proportion to the beam", fontsize=9)
save(figure, "cost", alt="Decoder tokens and seconds per problem over the beam size, on logarithmic axes, with a dotted line in proportion to "
     "the beam size; tokens lie above it.")
assert cost.tokens.is_monotonic_increasing

# %% [markdown]
# ## The paper's table, row by row
#
# On `not_included`: ours, and the published decoder with our fit (on fewer problems). *Same*: the interval of the difference lies within
# five points; *different*: it leaves zero out.

# %%
lines = []
for b in SIZES:
    cells = [list(breakdown(rows[rows.beam_size == b]).itertuples()) for rows in (unseen, published)]
    for i, (theirs, cell) in enumerate(zip(PAPER_BEAM[b], cells[0])):
        name = f"{'novel' if cell.novel else 'not novel'}, R² {'>' if cell.accurate else '≤'} {ACCURATE}"
        other = compare(theirs, cells[1][i].count, cells[1][i].n)[1:] if cells[1] else ("–", "–")
        lines.append((b, name, *compare(theirs, cell.count, cell.n), *other))
columns = ["b", "", "the paper", "ours", "verdict", "published decoder", "verdict of that"]
pd.DataFrame(lines, columns=columns).style.hide(axis="index")

# %% [markdown]
# ## Measure it again
#
# `python -m nsr replicate` makes these tables. One combination at a time is measured by [A00](A00_measure.py), and all of them by a sweep,
# `python -m nsr sweep params/sweeps/beam_size.yaml --workers 2`:

# %%
print((book.ROOT / "params" / "sweeps" / "beam_size.yaml").read_text())
