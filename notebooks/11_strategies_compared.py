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
# # Which computation makes answers newer, and which makes them better
#
# **Claim.** Larger beams make answers more accurate, hardly newer. Feedback from the data makes them newer; NSR-gvs, more so with TPSR
# inside it, and our local search make them both.
#
# **You will see.** The whole table beside the paper's; novelty against accuracy; both against their cost; known formulas; every pair of
# strategies tested; the paper's sentences judged.
#
# **Needs.** [05](05_beam_search.py), [06](06_tpsr.py), [07](07_nsr_gvs.py), [09](09_nsrwh.py).
#
# **From the paper.** Section 6; Table "Breakdown of generated expressions"; Figures of novelty against accuracy, trade-off, baseline.
#
# **Runtime.** Tiny: one minute. Laptop: half a minute; measuring all again takes hours. Paper: days of a GPU.
# On a laptop with 2 cores.

# %% [markdown]
# This chapter reads what the chapters before it measured.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the bootstrap
weights: str = "laptop"  # where nesymres, gvs and nsrwh are; empty: train tiny ones now
n_problems: int = 150  # problems of a test set
n_points: int = 100  # points given per problem; as many fresh ones judge
n_seeds: int = 3  # test sets of each kind that are looked at
live_rows: str = ""  # rows to measure now instead of reading tables, like "beam 5, tpsr 1"
n_live: int = 12  # problems that are solved again, to see whether the table is still true

# %% [markdown]
# Imports.

# %%
import math
from functools import cache
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import HTML, display

from nsr.evidence import (
    ACCURATE, GREY, KEY, MISSING, ROW, THRESHOLDS, Interval, at_equal_cost, charts, correlation,
    flagged, has_traces, judge, layout, mcnemar, measure, network_for, outside_language,
    paired, paper, percent, read_claims, read_rows, results_path, row_of, save, seconds_taken, share_at,
    stopped_at, style_of, title_of, use_style, wilson,
)
from nsr.search import by_name, kind_of
from nsr import book

use_style()
signed = "{:+.1f} ({:+.1f} to {:+.1f})".format


@cache
def network(kind):
    return network_for(f"{weights}/{kind}" if weights else "", kind)


# %% [markdown]
# ## From a file to every row
#
# A row is a strategy, a beam size and one of three networks: `nesymres` for beam search and TPSR, `gvs`, which was trained with
# prompts, and `nsrwh`, trained with hints. All know the same templates. The rows are data, `params/replicate.yaml`; here is the
# beginning of its tables. One command measures whatever of them is missing, judges the claims, and runs this chapter:
#
# ```
# python -m nsr replicate --only "chapter 11"
# ```

# %%
plan = (book.ROOT / "params" / "replicate.yaml").read_text()
print(plan[plan.index("tables:"):][:1100])

# %% [markdown]
# We gather what there is. A row that nobody has measured yet is missing from the pictures, and says so in the tables.


# %%
def measured_now(names, sets=("not_included", "baseline")):
    """Rows measured on the spot, for a scale that keeps nothing."""
    parts = [measure(network(kind_of(name)), by_name(name, b), which, s, n_problems,
                     n_points=n_points, label=f"{name} {b} {which}")
             for name, b in names for which in sets for s in range(n_seeds)]
    return flagged(pd.concat(parts, ignore_index=True))


if live_rows:
    wanted = [(row.split()[0], int(row.split()[1])) for row in live_rows.split(",")]
    rows, sources = measured_now(wanted), None
    print("measured in this run:", len(rows), "lines")
else:
    rows, sources = read_rows(scale)
    rows = rows[rows.seed < n_seeds]
    display(sources)

# %% [markdown]
# The rows of the table in the paper's order, then our own. `OURS` and `THEIRS` are the names by which the rest of the page asks for them.

# %%
ROWS = layout(rows)
THEIRS = [name for name in ROWS if paper.row(*name)]
OURS = [name for name in ROWS if not paper.row(*name)]
there = charts.present(rows, ROWS)
print(f"{len(set(THEIRS) & set(there))} of the paper's {len(THEIRS)} rows are measured,",
      f"and {len(set(OURS) & set(there))} of our own")
missing = [title_of(*name) for name in THEIRS if name not in there]
print(f"{MISSING}:", ", ".join(missing) or "none")
for name in there:
    part = row_of(rows, *name)
    assert not part.duplicated(KEY).any(), name  # a problem has one line per row

# %% [markdown]
# Were all rows asked the same problems? The novelty filter depends on the training set, so this is worth a look: how many problems of
# each row have the very same truth in the row of `beam` with $b = 5$.

# %%
yardstick = row_of(rows, "beam", 5)[KEY]
shared = {title_of(*name): len(row_of(rows, *name)[KEY].merge(yardstick)) for name in there}
sizes = {title_of(*name): len(row_of(rows, *name)) for name in there}
odd = {name: n for name, n in shared.items() if n < sizes[name]}
print(f"the same problems in all {len(shared)} rows" if not odd else f"fewer in common: {odd}")
assert all(shared.values())

# %% [markdown]
# ## The table
#
# Every answer is novel or not, and accurate ($R^2 > 0.99$ on fresh points) or not. In each cell ours in %, with its 95 % Wilson interval,
# and below it the paper's number. A problem without an answer counts, as neither.

# %%
HEAD = ["", "novel, R² > 0.99", "novel, R² ≤ 0.99", "not novel, R² > 0.99",
        "not novel, R² ≤ 0.99", "n"]


def cells_of(part):
    """Counts in the order of the paper's columns."""
    return [int(((part.novel == new) & (part.accurate == good)).sum())
            for new in (True, False) for good in (True, False)]


def line_of(name):
    part, theirs = row_of(rows, *name), paper.row(*name) or [None] * 4
    texts = []
    for k, said in zip(cells_of(part), theirs):
        value, low, high = (100 * x for x in wilson(k, len(part)))
        ours = f"<b>{value:.1f}</b> ({low:.0f}–{high:.0f})" if len(part) else f"<i>{MISSING}</i>"
        texts.append(ours + (f"<br><small>{said:.2f}</small>" if said is not None else ""))
    return [title_of(*name), *texts, str(len(part))]


# %% [markdown]
# The line in the middle separates the paper's rows from ours.

# %%
def table_html(lines, rule_after):
    out = "<tr>" + "".join(f"<th>{cell}</th>" for cell in HEAD) + "</tr>"
    for i, line in enumerate(lines):
        style = " style='border-bottom: 2px solid #1d2430'" if i + 1 == rule_after else ""
        out += f"<tr{style}>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>"
    return f"<table>{out}</table>"


lines = [line_of(name) for name in ROWS]
for name in there:
    assert sum(cells_of(row_of(rows, *name))) == len(row_of(rows, *name))  # nobody is dropped
failed = sum(int((row_of(rows, *name).answer_length == 0).sum()) for name in there)
print(f"problems without an answer, all rows together: {failed}")
HTML(table_html(lines, len(THEIRS)))

# %% [markdown]
# The same as bars: thick ours, thin the paper's. Orange is novel, blue is copied; strong colours are accurate.

# %%
figure, ax = plt.subplots(figsize=(8.4, 0.9 + 0.34 * len(ROWS)))
charts.draw_breakdown(ax, rows, ROWS)
if OURS:
    ax.axhline(len(THEIRS) - 0.5, color=GREY, lw=0.8)
best = max(there, key=lambda name: row_of(rows, *name).accurate.mean())
newest = max(there, key=lambda name: row_of(rows, *name).novel.mean())
figure.suptitle(f"Most accurate: {title_of(*best)}; most novel: {title_of(*newest)}",
                weight="bold", fontsize=11)
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
save(figure, "breakdown")
plt.show()

# %% [markdown]
# Compare the strong orange with the pale orange: how much of what is new is also right? And the length of strong colour, orange and
# blue together, is the accuracy. It is longer here than in the paper. By how much?

# %%
ratios = {title_of(*name): row_of(rows, *name).accurate.mean() * 100 / paper.row(*name).accurate
          for name in THEIRS if name in there}
print(f"accurate, ours / the paper's: {np.median(list(ratios.values())):.1f} times in the median row;",
      ", ".join(f"{name} {ratio:.1f}" for name, ratio in ratios.items()))

# %% [markdown]
# Departure: the paper fits constants with BFGS. We use Levenberg–Marquardt with variable projection, and random starts from the
# generator's own ranges (chapter 04).
#
# Departure: the published decoder writes without a grammar and stops at the first $b$ finished formulas. Ours is masked by the grammar and
# stops when a bound says that nothing better can come (chapter 05).
#
# What does each of the two contribute? The same rows were measured under both decoders and both fits, on the problems of the first seed
# (`nsr/search/protocol.py`). Accurate answers to `not_included`, in %:

# %%
there_too = results_path("protocols", scale).exists() and not live_rows
both_ways = read_rows(scale, ("protocols",))[0] if there_too else rows.assign(protocol="ours")
PROTOCOLS = [name for name in ("ours", "published fit", "published decoder", "published")
             if name in set(both_ways.protocol)]


def by_protocol(what, which="not_included"):
    part = both_ways[both_ways.test_set == which]
    shares = 100 * part.pivot_table(index=ROW, columns="protocol", values=what, aggfunc="mean")
    shares.index = [title_of(*name) for name in shares.index]
    return shares.reindex(columns=PROTOCOLS).round(1)


display(by_protocol("accurate"))

# %% [markdown]
# Read a row from left to right: our protocol, with the published fit, with the published decoder, with both. The paper's own numbers are in
# the table above. Novel answers in the same way:

# %%
display(by_protocol("novel"))
changed = by_protocol("accurate").dropna()
if len(PROTOCOLS) == 4:
    lost = changed.sub(changed["ours"], axis=0).drop(columns="ours")
    print("points of accuracy against ours, median over rows:",
          ", ".join(f"{name} {lost[name].median():+.1f}" for name in lost))

# %% [markdown]
# The published decoder costs large beams most: it stops at the first $b$ finished formulas, so that a beam of 150 looks at fewer and shorter
# ones. The fit costs less. Both together explain about half of the distance to the paper's levels; the rest is unexplained.

# %% [markdown]
# ## The paper's table against its text
#
# Before we compare ourselves with these numbers: do they agree with each other? Rows should add up to 100, every cell should be a
# number of problems divided by their total, and there were three times 150. For each row, the totals that could have been:

# %%
table = paper.table()
table["sum"] = table[list(paper.CELLS)].sum(axis=1).round(2)
totals = [paper.denominators(paper.row(*name)) for name in THEIRS]
table["totals that fit"] = [", ".join(map(str, found)) or "none" for found in totals]
off = (table["sum"] - 100).abs() > 0.0201  # four roundings can add up to 0.02
exact = [found for found in totals if found]
print(f"{off.sum()} row is off by more than rounding; of {len(table)} rows {len(exact)} are counts",
      f"over one total, and {sum(450 in found for found in exact)} over 450")
odd_ones = off | (table["totals that fit"] != "none")
table[odd_ones].set_index("name")[["sum", "totals that fit"]]

# %% [markdown]
# (The other rows fit no total.) Totals of 449 or 447 would mean that problems without an answer were dropped instead of counted as
# failures; rows that fit none may be means over seeds with different totals. Then the sentences:


# %%
def said(name, what):
    return getattr(paper.row(*name), what)


contradictions = [
    ("TPSR leads to a decrease in accuracy", ("tpsr", 1), ("beam", 1), "at equal b"),
    ("TPSR leads to a decrease in accuracy", ("tpsr", 5), ("beam", 5), "at equal b"),
    ("TPSR leads to a decrease in accuracy", ("tpsr", 1), ("beam", 5), "as in its figure"),
    ("NSR-gvs improves accuracy", ("gvs", 5), ("beam", 5), "as in its figure"),
    ("NSR-gvs improves accuracy", ("gvs", 5), ("beam", 150), "at equal candidates"),
    ("hints are information", ("nsrwh-all", 5), ("beam", 5), "all of them given"),
]
lines = [(text, f"{title_of(*a)} and {title_of(*b)}", how, round(said(a, "accurate"), 2),
          round(said(b, "accurate"), 2), round(said(a, "accurate") - said(b, "accurate"), 2))
         for text, a, b, how in contradictions]
columns = ["the text", "rows", "", "first (%)", "second (%)", "difference"]
display(pd.DataFrame(lines, columns=columns).set_index(columns[:3]))
assert lines[0][-1] > 0 > lines[2][-1] and lines[3][-1] > 0 > lines[4][-1]

# %% [markdown]
# The signs depend on what is compared with what: at equal beam size TPSR is *more* accurate, and NSR-gvs, which improves on a beam of
# five, is less accurate than a beam of as many candidates. The last line is odd in another way: a network that is told more of the truth
# is half as accurate; chapter [09](09_nsrwh.py) looks into it.

# %% [markdown]
# ## Novelty against accuracy
#
# > However, the result shows that high novelty in generated expressions does not necessarily imply high numerical accuracy. (Section 6.2)
#
# Each strategy is a string of seven dots, one for each threshold 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999 from top to bottom; the
# large one is 0.99, with 95 % intervals, and small dashes are single seeds. First the paper's figure, then the one about hints, then our own.

# %%
FIGURE = [("beam", 5), ("beam", 150), ("tpsr", 1), ("gvs", 5), ("gvs+tpsr", 1)]
HINTS = [("beam", 5), *[name for name in THEIRS if name[0].startswith("nsrwh")]]
panels = [FIGURE, HINTS] + [[("beam", 5), *OURS]] * bool(OURS)
below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": 2, "fontsize": 7}
figure, axes = plt.subplots(1, len(panels), figsize=(10, 4.6), sharex=True, sharey=True)
for ax, names in zip(axes, panels):
    charts.draw_thresholds(ax, rows, names)
    ax.legend(**below)
    found = charts.present(rows, names)
    right = max(found, key=lambda name: row_of(rows, *name).novel.mean())
    more = f"; {len(names) - len(found)} {MISSING}" if len(found) < len(names) else ""
    ax.set_title(f"Newest: {title_of(*right)}{more}", fontsize=9)
    ax.set_ylabel("$R^2$ above the threshold (%)" if ax is axes[0] else "")
save(figure, "novelty_accuracy")
plt.show()

# %% [markdown]
# A strategy that is further right is newer, one that hangs higher is more accurate; where a colour appears twice, the number
# on top is the beam size. See which way a larger beam moves. If novelty paid, the strings on the right would hang higher: do they?

# %% [markdown]
# ## Are they correlated?
#
# > The results support the conclusion that the reduction of reproduction bias is only weakly correlated with numerical accuracy.
# > (Appendix)
#
# Pearson's $r$ over the rows of the table. There are two uncertainties. The interval over *problems* says how well we know these
# strategies. The interval over *strategies* asks what another set of strategies would give; Fisher's $z = \operatorname{artanh} r$ has
# standard error $1/\sqrt{m - 3}$ for $m$ rows. The paper's sentence is about strategies, so the second one decides its verdict below.


# %%
def fisher(r, m):
    """A 95 % interval for a correlation over m rows, as if these were drawn at random."""
    z, half = math.atanh(min(0.9999, max(-0.9999, r))), 1.96 / math.sqrt(m - 3)
    return math.tanh(z - half), math.tanh(z + half)


@cache
def correlated(names):
    names = charts.present(rows, names)
    found = correlation(rows, "novel", "accurate", names)
    if not found:
        return Interval(math.nan, math.nan, math.nan), len(names)
    assert len(names) < 4 or np.allclose(found[0][1:], fisher(found[0].value, len(names)), atol=1e-3)
    return found[1], len(names)


# %% [markdown]
# For the paper's table, for ours, and for beam search alone:

# %%
span = "{:+.2f} to {:+.2f}".format
table = [[said(name, what) for name in THEIRS] for what in ("novel", "accurate")]
theirs = np.corrcoef(*table)[0, 1]
lines = [("the paper's table", f"{theirs:+.2f}", "", span(*fisher(theirs, len(THEIRS))))]
groups = {"ours, the paper's rows": THEIRS, "ours, all rows": ROWS,
          "beam search alone": [name for name in ROWS if name[0] == "beam"]}
for label, names in groups.items():
    r, m = correlated(tuple(names))
    lines.append((f"{label} ({m})", f"{r.value:+.2f}", span(r.low, r.high),
                  span(*fisher(r.value, m)) if m > 3 else "–"))
columns = ["", "r", "95 % over problems", "95 % over strategies"]
pd.DataFrame(lines, columns=columns).set_index("")

# %% [markdown]
# With a dozen and a half strategies the last column is wide, and which strategies one chooses to list decides much of the number. The last
# line is another question: when only the beam grows, do novelty and accuracy rise together?

# %%
figure, ax = plt.subplots(figsize=(8.4, 4.2))
charts.draw_correlation(ax, rows, ROWS)
for name in dict.fromkeys(name[0] for name in ROWS):
    ax.plot([], [], lw=0, **style_of(name))
r, m = correlated(tuple(THEIRS))
ax.set_title(f"Over {m} rows of the table r = {r.value:+.2f}; in the paper's {theirs:+.2f}")
ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
save(figure, "correlation")
plt.show()

# %% [markdown]
# Filled: ours, with the beam size beside it; hollow: the paper's. Follow one colour to see what more candidates do, compare colours to
# see what another strategy does.

# %% [markdown]
# ## What it costs
#
# > We used the number of candidate expressions generated by the model during the generation of a single equation. (Appendix)
#
# Left novelty, right accuracy. Dots are the settings of the table. A thin line is an *any-time curve*: the answer that the same search
# would have given, had it been stopped there. (Dotted, for rows measured before traces were kept: the share of problems that had a
# candidate with $R^2 > 0.99$ on the given points by then.) A strategy is better where its line is above the others at the same place.

# %%
COMPARED = [name for name in ROWS if not name[0].startswith("nsrwh")]
figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.4))
for ax, what in zip(axes, ("novel", "accurate")):
    charts.draw_tradeoff(ax, rows, COMPARED, what)
    ax.set(xlabel="candidates per problem", ylabel=f"{what} (%)")
axes[0].set_title(f"Novelty: {title_of(*newest)} is highest", fontsize=10)
axes[1].set_title(f"Accuracy: {title_of(*best)} is highest", fontsize=10)
legend = {"loc": "outside lower center", "ncols": 5, "fontsize": 8}
figure.legend(*axes[0].get_legend_handles_labels(), **legend)
save(figure, "tradeoff")
plt.show()
traced = [title_of(*name) for name in there if has_traces(row_of(rows, *name))]
print("rows with any-time curves:", ", ".join(traced) or "none: measured before traces were kept")

# %% [markdown]
# Novelty and accuracy are two sides of one answer, so let us see them together: give every problem a budget of candidates, and ask where
# each strategy stands when it is spent. A search with a trace is stopped there; of the others we take the largest setting that costs no
# more, if there is one.

# %%
BUDGETS = (1, 2, 5, 10, 20, 50, 100, 150, 300, 1000)


@cache
def way_of(strategy, threshold=ACCURATE):
    """(budgets, 2): % of answers that are novel, and that have an R² above the threshold."""
    parts = [row_of(rows, *name) for name in there if name[0] == strategy]
    if has_traces(parts[-1]):
        stop = (parts[-1].trace, BUDGETS, "candidates")
        novel, accurate = (share_at(*stop, what, threshold) for what in ("novel", "accurate"))
        return 100 * np.stack([novel, accurate], 1)
    settings = [(part.candidates.mean(), part.novel.mean(), (part.r2 > threshold).mean())
                for part in parts]
    affordable = [[setting for setting in settings if setting[0] <= budget] for budget in BUDGETS]
    return 100 * np.array([max(some)[1:] if some else (math.nan, math.nan) for some in affordable])


# %% [markdown]
# A thin line is the way that a strategy came, from a budget of one candidate on.

# %%
RACERS = list(dict(charts.present(rows, COMPARED)))  # each strategy once
farthest = max(np.nanmax(way_of(name)[:, 0]) for name in RACERS)


def draw_race(ax, budget, threshold=ACCURATE):
    for name in RACERS:
        x, y = way_of(name, threshold)[: BUDGETS.index(budget) + 1].T
        style = style_of(name)
        ax.plot(x, y, color=style["color"], lw=1, alpha=0.6)
        ax.plot(x[-1], y[-1], **style, lw=0, markersize=8, markeredgecolor="white",
                markeredgewidth=0.5)
    ax.set(xlim=(-2, 1.06 * farthest), ylim=(-2, 102), xlabel="novel answers (%)")
    ax.set_title(f"{budget} candidate" + "s" * (budget > 1), fontsize=10)


# %% [markdown]
# Three moments of the race:

# %%
figure, axes = plt.subplots(1, 3, figsize=(9.6, 4.2), sharey=True)
for ax, budget in zip(axes, (5, 50, 300)):
    draw_race(ax, budget)
axes[0].set_ylabel(f"$R^2 > {ACCURATE}$ (%)")
figure.legend(*axes[0].get_legend_handles_labels(), **legend)
stand = {name: way_of(name)[BUDGETS.index(budget)] for name in RACERS}
first, ahead = (max(RACERS, key=lambda name: np.nan_to_num(stand[name][i])) for i in (1, 0))
title = f"Most accurate with {budget} candidates: {title_of(first)}; newest: {title_of(ahead)}"
figure.suptitle(title, weight="bold", fontsize=11)
save(figure, "race")
plt.show()

# %% [markdown]
# Upwards is better, to the right is newer: a wider beam climbs straight up, and see who goes both ways. Intervals are in the figures
# around this one. For a person the budget and the threshold are sliders.

# %%
if not book.headless():
    from ipywidgets import SelectionSlider, interact

    above = {"options": THRESHOLDS, "value": ACCURATE, "description": "R² above"}

    @interact(budget=SelectionSlider(options=BUDGETS, value=50, description="candidates"),
              threshold=SelectionSlider(**above, continuous_update=False))
    def race(budget, threshold):
        ax = plt.subplots(figsize=(8.6, 4.4))[1]
        draw_race(ax, budget, threshold)
        ax.set_ylabel(f"$R^2 > {threshold:g}$ (%)")
        ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
        plt.show()

# %% [markdown]
# The counts of candidates hide that a candidate of TPSR shares its beginning with others, and that one of NSR-gvs has a prompt before it
# that has to be read. So once more: against the tokens that the decoder read, and against seconds of the processor, all cores together.
# Seconds are those of the machines that the tables were measured on; tokens are not.

# %%
figure, axes = plt.subplots(2, 2, figsize=(9.6, 6.6), sharex="col", sharey="row")
for line, what in zip(axes, ("novel", "accurate")):
    for ax, cost in zip(line, ("tokens", "seconds")):
        charts.draw_tradeoff(ax, rows, COMPARED, what, cost)
    line[0].set_ylabel(f"{what} (%)")
axes[1, 0].set_xlabel("decoder tokens per problem")
axes[1, 1].set_xlabel("seconds per problem")
figure.legend(*axes[0, 0].get_legend_handles_labels(), **legend)
figure.suptitle("The same against tokens and seconds", weight="bold", fontsize=11)
save(figure, "tradeoff_tokens_seconds")
plt.show()

# %% [markdown]
# With numbers, problem by problem: every strategy against a beam that costs as much. No beam costs exactly as much, so the yardstick lies
# on the line between two measured sizes; where a strategy costs more than the largest beam, it is the largest beam.

# %%
beams = row_of(rows, "beam")
dearest = beams.groupby("beam_size")[["candidates", "tokens", "seconds"]].mean().max()
rivals, found = [name for name in there if name[0] != "beam"], {}
for name in rivals:
    part = row_of(rows, *name)
    for cost in dearest.index:
        equal = at_equal_cost(beams, part[cost].mean(), cost)
        for what in ("novel", "accurate"):
            change, _, n = paired(part, equal, what)
            found[name, cost, what] = Interval(*(100 * x for x in change))

# %% [markdown]
# Points more than the beam; a `>` says that the strategy spent more than the largest beam.

# %%
lines = []
for name in rivals:
    spent = row_of(rows, *name)[list(dearest.index)].mean()
    more = {cost: "> " if spent[cost] > dearest[cost] else "" for cost in dearest.index}
    marks = [more[cost] + signed(*found[name, cost, "accurate"]) for cost in dearest.index]
    lines.append((title_of(*name), signed(*found[name, "candidates", "novel"]), *marks))
columns = ["", "novel, equal candidates", "accurate, equal candidates", "… tokens", "… seconds"]
pd.DataFrame(lines, columns=columns).set_index("")

# %% [markdown]
# The same as a picture; filled dots are differences whose interval leaves zero out.

# %%
figure, axes = plt.subplots(2, 3, figsize=(10, 1.2 + 0.5 * max(2, len(rivals))),
                            sharey=True, sharex="row")
colours = [style_of(name[0])["color"] for name in rivals]
for line, what in zip(axes, ("novel", "accurate")):
    for ax, cost in zip(line, dearest.index):
        charts.draw_differences(ax, {title_of(*n): found[n, cost, what] for n in rivals}, colours)
        ax.set_title(f"{what}, equal {cost}", fontsize=9)
for ax in axes[1]:
    ax.set_xlabel("points more than a beam")
above = sum(found[name, "candidates", "accurate"].low > 0 for name in rivals)
figure.suptitle(f"{above} of {len(rivals)} are more accurate than a beam of as many candidates",
                weight="bold", fontsize=11)
save(figure, "equal_cost")
plt.show()

# %% [markdown]
# A lead at its own cost is not yet a lead at equal cost. The strategies that end highest, whole and stopped at the candidates of the
# largest beam, in points more accurate than that beam; the last one uses no network at all (chapter [10](10_families_and_local_search.py)).

# %%
widest, budget = beams[beams.beam_size == beams.beam_size.max()], dearest["candidates"]
lines = []
for name in [("gvs+tpsr", 1), ("local", 0), ("local-random", 0)]:
    part = row_of(rows, *name)
    if len(part) and has_traces(part):
        early = stopped_at(part, [budget] * len(part))
        leads = [signed(*(100 * x for x in paired(some, widest, "accurate")[0]))
                 for some in (part, early)]
        lines.append((title_of(*name), percent(part.novel), percent(part.accurate),
                      round(part.candidates.mean()), *leads))
columns = ["", "novel", "accurate", "candidates", "whole", f"stopped at {budget:.0f}"]
pd.DataFrame(lines, columns=columns).set_index("")

# %% [markdown]
# And the yardstick depends on the decoder. Chapters 05 and 06 also measured beams and TPSR decoded in the published way. Points by
# which a beam of as many candidates is more accurate than the strategy:

# %%
def published(name):
    """The lines of a table that were decoded without a mask; none where it was not measured."""
    path = results_path(name, scale)
    table = flagged(book.read_table(path)) if path.exists() and not live_rows else rows[:0]
    return table[~table.masked.astype(bool) & (table.seed < n_seeds)] if len(table) else table


decoders, lines = {"ours": beams, "published": published("beam_options")}, []
for name, how, part in [(("tpsr", 1), "ours", row_of(rows, "tpsr", 1)),
                        (("tpsr", 1), "published", published("tpsr_options")),
                        (("gvs", 5), "ours", row_of(rows, "gvs", 5))]:
    leads = [signed(*(100 * x for x in paired(at_equal_cost(some, part.candidates.mean()), part,
                                              "accurate")[0]))
             if len(part) and len(some) else MISSING for some in decoders.values()]
    lines.append((title_of(*name), how, percent(part.accurate) if len(part) else MISSING, *leads))
lines.append((title_of("gvs", 5), "published", *[MISSING] * 3))
columns = ["", "its decoder", "accurate", "a beam, our decoder", "a beam, published decoder"]
pd.DataFrame(lines, columns=columns).set_index(columns[:2])

# %% [markdown]
# Fair are only lines in which both decoders are the same. As long as the last line is missing, the paper's sentence that a plain beam is
# more accurate at equal candidates is judged below for our decoder alone.

# %% [markdown]
# ## Better means something
#
# Two strategies that answer the same problems can be compared problem by problem. McNemar's test looks only at the problems that one of
# them solved and the other did not: of these $m$, if there were no difference, each would be won by either with probability ½. With many
# pairs some look different by chance, so the smallest of $k$ p-values is multiplied by $k$, the next by $k - 1$, and so on (Holm).

# %%
def holm(p_values):
    """Adjusted p-values: the smallest of k times k, the next times k − 1, …, never decreasing."""
    order = np.argsort(p_values)
    scaled = np.asarray(p_values, dtype=float)[order] * np.arange(len(order), 0, -1)
    out = np.empty(len(order))
    out[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return out


assert np.allclose(holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])

# %% [markdown]
# All pairs of rows, on the problems that both have; one picture for accuracy and one for novelty.


# %%
def all_pairs(what):
    """(n, n) differences in points, and where they are more than chance."""
    part = rows[rows.test_set == "not_included"].drop_duplicates([*KEY, *ROW])
    flags = part.pivot(index=KEY, columns=ROW, values=what)[there]
    n = len(there)
    points, p_values = np.full((n, n), np.nan), np.ones((n, n))
    for i, j in combinations(range(n), 2):
        both = flags.iloc[:, [i, j]].dropna().astype(bool).to_numpy()
        points[i, j] = 100 * (both[:, 0].mean() - both[:, 1].mean())
        points[j, i], p_values[i, j] = -points[i, j], mcnemar(*both.T).p_value
    above = np.triu_indices(n, 1)
    p_values[above] = holm(p_values[above])
    return points, np.minimum(p_values, p_values.T) < 0.05


# %% [markdown]
# Violet is ahead, orange behind: the row's strategy compared with the column's, in points. A dot is a difference that could be chance.

# %%
n = len(there)
figure, axes = plt.subplots(*((2, 1) if n > 12 else (1, 2)),
                            figsize=(8.6, 2 + 0.66 * n) if n > 12 else (11, 5.4))
for ax, what in zip(axes, ("accurate", "novel")):
    points, clear = all_pairs(what)
    charts.draw_matrix(ax, there, points, clear)
    ax.set_title(f"{what}: {clear.sum() // 2} of {n * (n - 1) // 2} pairs differ", fontsize=10)
save(figure, "pairs")
plt.show()

# %% [markdown]
# Read a line from left to right. The level is 5 % for all pairs of a picture together: were there no differences at all, one picture in
# twenty would show a number.

# %% [markdown]
# ## Over seeds
#
# The three seeds draw different problems; the networks are the same. If problems were all that differs, shares of different seeds would
# scatter like coin flips, $\sqrt{p(1-p)/150}$. How much do they?

# %%
lines = []
for name in there:
    part = row_of(rows, *name)
    for what in ("novel", "accurate"):
        by_seed = part.groupby("seed")[what].agg(["mean", "size"])
        p, n = part[what].mean(), by_seed["size"].mean()
        expected = math.sqrt(p * (1 - p) / n)
        lines.append((title_of(*name), what, by_seed["mean"].std(), expected))
spread = pd.DataFrame(lines, columns=["row", "what", "seen", "expected"])
mean = spread.groupby("what")[["seen", "expected"]].mean() * 100
mean.round(1).rename(columns="standard deviation over seeds, {} (points)".format)

# %% [markdown]
# Where the two columns are alike, an interval over problems is also one over these seeds. It is not one over trainings: there is one
# network of each kind, and the paper does not say what its three seeds are seeds of.

# %% [markdown]
# ## Known formulas
#
# > Only beam search with a large beam size significantly improves performance for the `baseline` dataset. (Appendix)
#
# Most formulas of `baseline` are known, so here copying is the right thing to do. Lines: `baseline`; dashed: `not_included`. Left the
# strategies, right the hints.

# %%
figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.8), sharey=True)
for ax, names in zip(axes, panels):
    charts.draw_both_sets(ax, rows, names)
    ax.legend(**below)
axes[0].set_ylabel("share of problems (%)")
known = charts.present(rows, ROWS, "baseline")
top = max(known, key=lambda name: row_of(rows, *name, "baseline").accurate.mean())
figure.suptitle(f"On known formulas {title_of(*top)} is the most accurate of {len(known)} rows",
                weight="bold", fontsize=11)
save(figure, "baseline")
plt.show()

# %% [markdown]
# What does each strategy add to a beam of five, on the two sets? Paired differences at $R^2 > 0.99$, in points.

# %%
figure, axes = plt.subplots(1, 2, figsize=(9.6, 1.0 + 0.26 * max(4, len(known))),
                            sharex=True, sharey=True)
against = [name for name in known if name != ("beam", 5)]
gains = {}
for ax, which in zip(axes, ("baseline", "not_included")):
    one = row_of(rows, "beam", 5, which)
    tests = {name: paired(row_of(rows, *name, which), one, "accurate") for name in against}
    gains[which] = {title_of(*n): Interval(*(100 * x for x in d)) for n, (d, *_) in tests.items()}
    charts.draw_differences(ax, gains[which], [style_of(n[0])["color"] for n in against])
    helped = sum(d.low > 0 for d in gains[which].values())
    ax.set_title(f"{which}: {helped} of {len(against)} help", fontsize=10)
    ax.set_xlabel("points more than beam search (5)")
save(figure, "gains")
plt.show()

# %% [markdown]
# A filled dot to the right of the line helps, one to the left harms. Compare the two panels: what helps with unknown formulas need not
# help with known ones.

# %% [markdown]
# ## New in which sense?
#
# "Novel" is about structure. A generous reader counts every token *sequence* that was never shown; a strict one wants a new *function*, or
# a new *family* of functions (constants free, chapter 04). And there is a cheap way to be new: to multiply variables, which no template
# of this generator does (chapter 06). Such answers are outside the language, and do not count in the fifth sense.

# %%
new = rows.novel & (rows.test_set == "not_included")
rows["novel_inside"] = new & ~outside_language(rows.answer.where(new, ""))
SENSES = {"novel": "structure (the paper)", "novel_seen": "sequence",
          "novel_functional": "function", "novel_family": "family",
          "novel_inside": "structure, in the language"}
figure, ax = plt.subplots(figsize=(8.4, 1.2 + 0.34 * len(there)))
charts.draw_senses(ax, rows, there, SENSES)
outside = 1 - rows[new].novel_inside.mean()
ax.set_title(f"{outside:.0%} of all novel answers multiply variables")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
save(figure, "senses")
plt.show()
assert not (rows.novel_family & ~rows.novel).any() and not (rows.novel_inside & ~rows.novel).any()

# %% [markdown]
# The distance between orange and black is what a search gets for leaving the language. Where that happens: which novel answers are
# accurate, inside and outside?

# %%
lines = []
for name in there:
    part = row_of(rows, *name)
    part = part[part.novel]
    inside, out = part[part.novel_inside], part[~part.novel_inside]
    if len(out):
        lines.append((title_of(*name), len(part), percent(~part.novel_inside),
                      percent(part.accurate), percent(inside.accurate), percent(out.accurate)))
columns = ["", "novel answers", "outside", "accurate", "… if inside", "… if outside"]
book.record(outside_language=float(outside) if new.any() else None)
pd.DataFrame(lines, columns=columns).set_index("")

# %% [markdown]
# ## Still true?
#
# A table is a memory. The first `n_live` problems of the row of `beam` with $b = 5$, solved again by the code and the weights that you
# have:

# %%
now = flagged(measure(network("nesymres"), by_name("beam", 5), "not_included", 0, n_problems,
                      n_points=n_points, limit=n_live))
both = now.merge(row_of(rows, "beam", 5), on=KEY, suffixes=("", "_then"))
same = (both.answer.fillna("") == both.answer_then.fillna("")).mean() if len(both) else math.nan
print(f"{len(both)} problems, the same answer on {same:.0%}; novel {percent(now.novel)},",
      f"accurate {percent(now.accurate)}")
assert not len(both) or same > 0.8  # another processor may break a tie differently

# %% [markdown]
# And how long would it take to make the table again? From the records, which know how long every row took:

# %%
if sources is not None:
    taken = seconds_taken(scale)
    taken = taken[(taken.test_set == "not_included") & taken.seed.isin(range(n_seeds))]
    of_paper = pd.MultiIndex.from_frame(taken[ROW]).isin(THEIRS)
    one_seed = taken[of_paper].groupby(ROW).seconds.mean().groupby("strategy").sum()
    print(f"one seed of {len(set(there) & set(THEIRS))} of the {len(THEIRS)} rows:",
          book.clock(one_seed.sum()), "of wall time;", ", ".join(
              f"{name} {book.clock(t)}" for name, t in one_seed.items()))
    book.record(seconds_of_one_seed=float(one_seed.sum()))

# %% [markdown]
# ## Paper, ours, verdict
#
# The paper's sentences are data: `params/claims.yaml` says for each which numbers are compared, in which direction, and by how much.
# Words like "substantial" had to become numbers; the file says which. A claim *holds* if the 95 % intervals of all its numbers are on the
# claimed side of their bounds, *fails* if one is entirely on the other side, and is otherwise *undecided* at this scale. Intervals draw
# templates, each with all its problems, the same for every row; fewer than six templates settle nothing. The interval of a correlation is
# over strategies. All of this is in `nsr/evidence/statistics.py` and `verdicts.py`, and every chapter uses it.

# %%
claims = read_claims()
judged = judge(claims, rows, seed)
as_published = judge(claims, both_ways[both_ways.protocol == "published"], seed).set_index(["claim", "check"])
verdicts = judged.groupby("claim", sort=False).claim_verdict.first()
print("; ".join(f"{n} {verdict}" for verdict, n in verdicts.value_counts().items()))


def number(x, digits=1):
    return "–" if math.isnan(x) else f"{x:.{digits}f}"


def claim_lines(part):
    """A claim as lines of a table: its sentence once, a line for each of its numbers."""
    for i, line in enumerate(part.itertuples()):
        digits = 2 if line.check.startswith("correlation") else 1
        value, low, high = (number(x, digits) for x in (line.ours, line.low, line.high))
        text = f"{line.says} <small>({line.where})</small>" if i == 0 else ""
        other = as_published.loc[(line.claim, line.check)]
        yield (text, f"<code>{line.check}</code> {line.bound.replace('<', '&lt;')}",
               number(line.paper, digits),
               f"{number(other.ours, digits)}<br><small>{other.verdict}</small>" if other.problems else "",
               f"{value} ({low} to {high})" if line.problems else f"<i>{MISSING}</i>",
               line.verdict if line.problems else "",
               f"<b>{line.claim_verdict}</b>" if i == 0 else "")


# %% [markdown]
# The number of each check is in %, or in points where it is a difference; `beam @ tpsr 1` is beam search at the candidates of TPSR. The
# column "published" has the same number under the published protocol, where all of its rows were measured: one network, one seed.

# %%
HEAD = ["the paper", "check", "its table", "published", "ours", "", "verdict"]
lines = [line for _, part in judged.groupby("claim", sort=False) for line in claim_lines(part)]
display(HTML(table_html(lines, 0).replace("<table>", "<table style='font-size: 85%'>")))
disagree = judged[(judged.paper_verdict == "fails")]
print("the paper's own table disagrees with:", ", ".join(disagree.claim.unique()) or "nothing")
assert set(judged.claim) == {claim.id for claim in claims}

# %% [markdown]
# `python -m nsr replicate --only claims` writes this table as a file, with its record.

# %%
book.record(**{verdict.replace(" ", "_"): int(n) for verdict, n in verdicts.value_counts().items()})

# %% [markdown]
# What stands behind a disagreement? The chapters on the single strategies say: our answers are the best candidate verified, not the
# path that was walked (06); failures are counted; the fit of constants is ours; our decoder writes no ungrammatical formulas and stops
# later; the network is smaller and knows fewer templates. And some of the disagreements are within the paper, as shown above.

# %% [markdown]
# ## Exercises
#
# 1. *Predict.* Two strategies are both right on 30 % of 450 problems. In one case they are right on the same problems, in the other on
#    problems chosen independently. In which case is a difference of 3 points between two *such* strategies easier to show? Give
#    `"same"` or `"independent"`.

# %% tags=["solution"]
easier = "same"  # where two strategies mostly agree, little is left to be won by chance

# %% tags=["check"]
a = np.arange(450) < 135
overlap = {"same": np.arange(450) < 122,
           "independent": np.random.default_rng(1).permutation(450) < 122}
p_values = {name: mcnemar(a, b).p_value for name, b in overlap.items()}
print({name: f"{p:.2g}" for name, p in p_values.items()})
assert easier == min(p_values, key=p_values.get), "compare the two p-values above"

# %% [markdown]
# 2. *Turn.* $R^2 > 0.99$ is one of seven thresholds. Which of the measured rows of the paper is the most accurate at 0.99999? Give its name and beam
#    size as in `ROWS`.

# %% tags=["solution"]
sharpest = max(charts.present(rows, THEIRS),
               key=lambda name: (row_of(rows, *name).r2 > 0.99999).mean())

# %% tags=["check"]
shares = {name: (row_of(rows, *name).r2 > 0.99999).mean()
          for name in charts.present(rows, THEIRS)}
print("at 0.99999:", sharpest, " at 0.99:", best)
assert sharpest in shares and shares[sharpest] == max(shares.values()), "another row has more"

# %% [markdown]
# 3. *Build.* A user would not choose one strategy: they would run two and keep the better fit on the given points. Write
#    `portfolio(a, b)`, which takes the lines of two rows and returns, for the problems both have, the $R^2$ on fresh points of the answer
#    with the larger `r2_given`.


# %% tags=["solution"]
def portfolio(a, b):
    pair = a.merge(b, on=KEY, suffixes=("_a", "_b"))
    return np.where(pair.r2_given_a >= pair.r2_given_b, pair.r2_a, pair.r2_b)


# %% tags=["check"]
one, other = (row_of(rows, *name) for name in (there[0], there[-1]))
together = portfolio(one, other)
alone = [100 * part.accurate.mean() for part in (one, other)]
print(f"alone {alone[0]:.1f} % and {alone[1]:.1f} %,",
      f"together {100 * (together > ACCURATE).mean():.1f} %")
pair = one.merge(other, on=KEY, suffixes=("_a", "_b"))
first = (pair.r2_given_a >= pair.r2_given_b).to_numpy()
assert len(together) == len(pair), "one value for each problem that both have"
assert (together[first] == pair.r2_a[first]).all(), "a's where a fits better"
assert (together[~first] == pair.r2_b[~first]).all(), "and b's where b does"

# %% [markdown]
# **What's next.** [transformer4sr](12_transformer4sr.py): is all this a matter of one system?
