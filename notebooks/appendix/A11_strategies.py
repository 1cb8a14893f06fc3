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
# # A11 · Strategies: every pair, seed, sense and statement
#
# **Question.** Does what chapter [11](../11_strategies_compared.py) says depend on a threshold, a seed, a cost, a sense of *novel*, or the choice of
# strategies? And what becomes of each statement of the paper?
#
# **Runtime.** Laptop: two minutes.
#
# **Knobs.** `live_rows` measures rows now instead of reading tables. All rows are measured by `python -m nsr replicate --only tables`; one row with
# other settings by `python -m nsr run A00 -p strategy gvs -p beam_size 3`, and a grid of them by a file in `params/sweeps/` and `python -m nsr sweep`.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the bootstrap
weights: str = "laptop"  # where nesymres, gvs and nsrwh are; empty: train tiny ones now
live_rows: str = ""  # rows to measure now instead of reading tables, like "beam 5, tpsr 1"
n_problems: int = 150  # problems of a test set
n_points: int = 100  # points given per problem; as many fresh ones judge
n_seeds: int = 3  # test sets of each kind that are looked at
n_live: int = 12  # problems that are solved again, to see whether the table is still true

# %% tags=["hide-input"]
import math
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import HTML, display

from nsr import book
from nsr.evidence import (
    KEY, MISSING, ROW, Interval, charts, correlation, flagged, gathered, has_traces, holm, judge, judge_twice, judged_together, layout,
    lead_over_beams, mcnemar, measure, network_for, novelty_line, outside_language, paired, paper, percent, read_claims, read_rows, results_path, row_of, save, seconds_taken, stopped_at, style_of,
    title_of, use_style, wilson,
)
from nsr.search import by_name

use_style()
signed = "{:+.1f} ({:+.1f} to {:+.1f})".format
percents = lambda interval: Interval(*(100 * x for x in interval))

# %% [markdown]
# ## The rows
#
# A row is a strategy, a beam size and one of three networks: `nesymres` for beam search, TPSR, families and local search, `gvs`, which was trained with
# prompts, and `nsrwh`, trained with hints. All know the same templates. What is measured stands in `params/replicate.yaml`.

# %%
rows = gathered(scale, live_rows, weights, n_seeds=n_seeds, n_problems=n_problems, n_points=n_points)
if not live_rows:
    display(read_rows(scale)[1])
ROWS = charts.present(rows, layout(rows))
THEIRS = [name for name in ROWS if paper.row(*name)]
OURS = [name for name in ROWS if name not in THEIRS]
one = rows[rows.network == 0].drop(columns="network") if "network" in rows else rows

# %% [markdown]
# Were all rows asked the same problems? How many problems of each row have the very same truth in the row of `beam` with $b = 5$:

# %%
yardstick = row_of(one, "beam", 5)[KEY]
odd = {}
for name in ROWS:
    part = row_of(one, *name)
    assert not part.duplicated(KEY).any(), name  # a problem has one line per row
    if (n := len(part[KEY].merge(yardstick))) < len(part):
        odd[title_of(*name)] = f"{n} of {len(part)}"
print(f"the same problems in all {len(ROWS)} rows" if not odd else f"fewer in common: {odd}")

# %% [markdown]
# ## The whole table
#
# In each cell ours in %, with its 95 % Wilson interval, and below it the paper's number. The line separates the paper's rows from ours.

# %%
def line_of(name):
    part, theirs, texts = row_of(rows, *name), paper.row(*name) or [None] * 4, []
    for (novel, good), said in zip(charts.CELLS, theirs):
        value, low, high = percents(wilson(int(((part.novel == novel) & (part.accurate == good)).sum()), len(part)))
        texts.append(f"<b>{value:.1f}</b> ({low:.0f}–{high:.0f})" + (f"<br><small>{said:.2f}</small>" if said is not None else ""))
    return [title_of(*name), *texts, str(len(part))]


def table_html(head, lines, rule_after=0):
    out = "<tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr>"
    for i, line in enumerate(lines, start=1):
        style = " style='border-bottom: 2px solid'" if i == rule_after else ""
        out += f"<tr{style}>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>"
    return HTML(f"<table style='font-size: 85%'>{out}</table>")


head = ["", "novel, R² > 0.99", "novel, R² ≤ 0.99", "not novel, R² > 0.99", "not novel, R² ≤ 0.99", "n"]
table_html(head, [line_of(name) for name in ROWS], len(THEIRS))

# %% [markdown]
# How much longer are our accurate parts than the paper's?

# %%
ratios = {title_of(*name): 100 * row_of(rows, *name).accurate.mean() / paper.row(*name).accurate for name in THEIRS}
print(f"accurate, ours / the paper's: {np.median(list(ratios.values())):.1f} times in the median row;",
      ", ".join(f"{name} {ratio:.1f}" for name, ratio in ratios.items()))

# %% [markdown]
# ## The paper's table against its text
#
# Rows should add up to 100, and every cell should be a number of problems divided by their total, three times 150. For each row, the totals that could
# have been (rows that fit none are left out):

# %%
table = paper.table()
totals = [paper.denominators(paper.row(*name)) for name in table[ROW].itertuples(index=False, name=None)]
table = table.assign(sum=table[list(paper.CELLS)].sum(axis=1).round(2), totals=[", ".join(map(str, found)) or "none" for found in totals])
off = (table["sum"] - 100).abs() > 0.0201  # four roundings can add up to 0.02
print(f"{off.sum()} row is off by more than rounding; of {len(table)} rows {sum(map(bool, totals))} are counts over one total,",
      f"and {sum(450 in found for found in totals)} over 450")
table[off | (table.totals != "none")].set_index("name")[["sum", "totals"]]

# %% [markdown]
# Slip: totals of 449 or 447 would mean that problems without an answer were dropped instead of counted as failures. Rows that fit none may be means over
# seeds with different totals.
#
# Slip: the signs of the text depend on what is compared with what.

# %%
said = [("TPSR leads to a decrease in accuracy", ("tpsr", 1), ("beam", 1), "at equal b"),
        ("TPSR leads to a decrease in accuracy", ("tpsr", 5), ("beam", 5), "at equal b"),
        ("TPSR leads to a decrease in accuracy", ("tpsr", 1), ("beam", 5), "as in its figure"),
        ("NSR-gvs improves accuracy", ("gvs", 5), ("beam", 5), "as in its figure"),
        ("NSR-gvs improves accuracy", ("gvs", 5), ("beam", 150), "at equal candidates"),
        ("hints are information", ("nsrwh-all", 5), ("beam", 5), "all of them given")]
lines = [(text, f"{title_of(*a)} and {title_of(*b)}", how, *(round(paper.row(*x).accurate, 2) for x in (a, b)),
          round(paper.row(*a).accurate - paper.row(*b).accurate, 2)) for text, a, b, how in said]
columns = ["the text", "rows", "", "first (%)", "second (%)", "difference"]
pd.DataFrame(lines, columns=columns).set_index(columns[:3])

# %% [markdown]
# ## Seven thresholds
#
# Each strategy is a column of seven dots, one for each threshold 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999 from top to bottom; the large one is 0.99,
# with 95 % intervals, and small dashes are single seeds. The paper's figure, and the one about hints.

# %%
panels = {"strategies": [("beam", 5), ("beam", 150), ("tpsr", 1), ("gvs", 5), ("gvs+tpsr", 1)],
          "hints": [("beam", 5), *[name for name in THEIRS if name[0].startswith("nsrwh")]],
          "ours": [("beam", 5), *OURS]}
for title, names in panels.items():
    figure, ax = plt.subplots(figsize=(7, 3.8))
    charts.draw_thresholds(ax, rows, names)
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    newest = max(charts.present(rows, names), key=lambda name: row_of(rows, *name).novel.mean())
    ax.set(title=f"{title}: {title_of(*newest)} has the most novel answers", ylabel="$R^2$ above the threshold (%)")
    save(figure, f"novelty_accuracy_{title}", alt=f"Novelty against the share of answers above seven thresholds of R², for the {title}.")

# %% [markdown]
# ## Which strategies are correlated
#
# Pearson's $r$ of novelty and accuracy over rows. The interval over *problems* says how well we know these strategies; the one over *strategies* asks what
# another set of strategies would give, and decides the verdict.

# %%
span = lambda x: f"{x.low:+.2f} to {x.high:+.2f}" if not math.isnan(x.low) else "–"
groups = {"the paper's rows": THEIRS, "all rows": ROWS, "beam search alone": [name for name in ROWS if name[0] == "beam"],
          "the paper's rows without hints": [name for name in THEIRS if not name[0].startswith("nsrwh")]}
lines = []
for label, names in groups.items():
    found = correlation(rows, "novel", "accurate", names)
    if found:
        lines.append((f"{label} ({len(names)})", f"{found[0].value:+.2f}", span(found[1]), span(found[0])))
pd.DataFrame(lines, columns=["", "r", "95 % over problems", "95 % over strategies"]).set_index("")

# %% [markdown]
# ## Cost in candidates, tokens and seconds
#
# Dots are the settings of the table; thin lines are the same searches, stopped earlier. A candidate of TPSR shares its beginning with others, and one of
# NSR-gvs has a prompt before it, so the decoder's tokens and the seconds of the processor are counted, too. Seconds are those of the machines that the
# tables were measured on.

# %%
COMPARED = [name for name in ROWS if name[0] in ("beam", "tpsr", "gvs", "gvs+tpsr", "local", "local-random")]
for cost in ("candidates", "tokens", "seconds"):
    figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.8))
    for ax, what in zip(axes, ("novel", "accurate")):
        charts.draw_tradeoff(ax, rows, COMPARED, what, cost)
        ax.set(xlabel=f"{cost} per problem", ylabel=f"{what} (%)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    figure.suptitle(f"Novelty and accuracy against {cost}", weight="bold", fontsize=11)
    save(figure, f"tradeoff_{cost}", alt=f"Novelty and accuracy of six strategies against {cost} per problem, with any-time curves.")

# %% [markdown]
# In numbers: every strategy minus a beam that costs as much, in points. A strategy that costs more than the largest beam is stopped where that one ends. A
# star marks a difference that is left after Holm's correction for all cells of the table; a dash, that a cost was not counted in its rows.

# %%
beams = row_of(rows, "beam")
dearest = beams.groupby("beam_size")[["candidates", "tokens", "seconds"]].mean().max()
columns = [("novel", "candidates"), *(("accurate", cost) for cost in ("candidates", "tokens", "evaluations", "seconds"))]
leads = {(title_of(*name), *column): lead_over_beams(row_of(rows, *name), beams, column[1], column[0])
         for name in ROWS if name[0] != "beam" for column in columns}
found = judged_together(leads)
cells = found.points + np.where(found.verdict.isin(["holds", "fails"]), " *", "")
cells.unstack([1, 2])[columns].reindex([title_of(*name) for name in ROWS if name[0] != "beam"])

# %% [markdown]
# A lead at its own cost is not yet a lead at equal cost. The strategies that end highest, whole and stopped at the candidates of the largest beam, in points
# more accurate than that beam:

# %%
widest, lines = beams[beams.beam_size == beams.beam_size.max()], []
for name in [name for name in ROWS if name[0] in ("gvs+tpsr", "families+gvs", "local", "local-random")]:
    part = row_of(rows, *name)
    if has_traces(part):
        early = stopped_at(part, [dearest["candidates"]] * len(part))
        lines.append((title_of(*name), round(part.candidates.mean()), *(signed(*percents(paired(some, widest, "accurate")[0])) for some in (part, early))))
pd.DataFrame(lines, columns=["", "candidates", "whole", f"stopped at {dearest['candidates']:.0f}"]).set_index("")

# %% [markdown]
# ## Every pair
#
# McNemar's test looks only at the problems that one of two strategies solved and the other did not: if there were no difference, each would be won by
# either with probability ½. With many pairs some look different by chance, so p-values are corrected by Holm's method, as in chapter 11.

# %%
def all_pairs(what):
    """(n, n) differences in points, and where they are more than chance."""
    part = one[one.test_set == "not_included"].drop_duplicates([*KEY, *ROW])
    flags, n = part.pivot(index=KEY, columns=ROW, values=what)[ROWS], len(ROWS)
    points, p_values = np.full((n, n), np.nan), np.ones((n, n))
    for i, j in combinations(range(n), 2):
        both = flags.iloc[:, [i, j]].dropna().astype(bool).to_numpy()
        points[i, j] = 100 * (both[:, 0].mean() - both[:, 1].mean())
        points[j, i], p_values[i, j] = -points[i, j], mcnemar(*both.T).p_value
    above = np.triu_indices(n, 1)
    p_values[above] = holm(p_values[above])
    return points, np.minimum(p_values, p_values.T) < 0.05


# %% [markdown]
# Violet is ahead, orange behind: the row's strategy compared with the column's, in points. A dot is a difference that could be chance; the level is 5 % for
# all pairs of a picture together.

# %%
for what in ("accurate", "novel"):
    figure, ax = plt.subplots(figsize=(8.4, 2 + 0.33 * len(ROWS)))
    points, clear = all_pairs(what)
    charts.draw_matrix(ax, ROWS, points, clear)
    ax.set_title(f"{what}: {clear.sum() // 2} of {len(ROWS) * (len(ROWS) - 1) // 2} pairs differ", fontsize=10)
    save(figure, f"pairs_{what}", alt=f"A matrix of all pairs of strategies with their difference in points, {what}; dots where it could be chance.")

# %% [markdown]
# ## Over seeds
#
# The seeds draw different problems; the networks are the same. If problems were all that differs, shares of different seeds would scatter like coin flips.

# %%
lines = []
for name in ROWS:
    part = row_of(one, *name)
    for what in ("novel", "accurate"):
        by_seed, p = part.groupby("seed")[what].agg(["mean", "size"]), part[what].mean()
        lines.append((what, by_seed["mean"].std(), math.sqrt(p * (1 - p) / by_seed["size"].mean())))
mean = 100 * pd.DataFrame(lines, columns=["what", "seen", "expected"]).groupby("what").mean()
mean.round(1).rename(columns="standard deviation over seeds, {} (points)".format)

# %% [markdown]
# Where the two columns are alike, an interval over problems is also one over these seeds. It is one over trainings only where the tables have several networks.
# The paper does not say what its three seeds are seeds of.
#
# ## Known formulas
#
# > Only beam search with a large beam size significantly improves performance for the `baseline` dataset. (Appendix)
#
# Most formulas of `baseline` are known, so here copying is right. Lines: `baseline`; dashed: `not_included`.

# %%
for title, names in list(panels.items())[:2]:
    if charts.present(rows, names, "baseline"):
        figure, ax = plt.subplots(figsize=(7, 4))
        charts.draw_both_sets(ax, rows, names)
        ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
        ax.set(title=f"Known and unknown formulas: {title}", ylabel="share of problems (%)")
        save(figure, f"baseline_{title}", alt=f"Accuracy at seven thresholds on known formulas, lines, and on unknown ones, dashed, for the {title}.")

# %% [markdown]
# What does each strategy add to a beam of five on the two sets? A filled dot to the right of the line helps, one to the left harms.

# %%
against = [name for name in charts.present(rows, ROWS, "baseline") if name != ("beam", 5)]
figure, axes = plt.subplots(1, 2, figsize=(7.6, 1.2 + 0.26 * max(4, len(against))), sharex=True, sharey=True)
for ax, which in zip(axes, ("baseline", "not_included")):
    five = row_of(rows, "beam", 5, which)
    gains = {title_of(*name): percents(paired(row_of(rows, *name, which), five, "accurate")[0]) for name in against}
    charts.draw_differences(ax, gains, [style_of(name[0])["color"] for name in against])
    ax.set_title(f"{which}: {sum(d.low > 0 for d in gains.values())} of {len(against)} help", fontsize=10)
    ax.set_xlabel("points more than beam search (5)", fontsize=9)
save(figure, "gains", alt="Differences of accuracy to a beam of five for every strategy, on known and on unknown formulas.")

# %% [markdown]
# ## New in which sense
#
# *Novel* is about structure. A generous reader counts every token sequence that was never shown; a strict one wants a new function, or a new family of
# functions. Answers that multiply variables are outside the language: no template of this generator does.

# %%
new = rows.novel & (rows.test_set == "not_included")
rows["novel_inside"] = new & ~outside_language(rows.answer.where(new, ""))
SENSES = {"novel": "structure (the paper)", "novel_seen": "sequence", "novel_functional": "function", "novel_family": "family",
          "novel_inside": "structure, in the language"}
figure, ax = plt.subplots(figsize=(7, 1.4 + 0.34 * len(ROWS)))
charts.draw_senses(ax, rows, ROWS, SENSES)
outside = 1 - rows[new].novel_inside.mean()
ax.set_title(f"{outside:.0%} of all novel answers multiply variables" if new.any() else "no novel answer")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
save(figure, "senses", alt="For every strategy the share of answers that are new in five senses.")
assert not (rows.novel_family & ~rows.novel).any() and not (rows.novel_inside & ~rows.novel).any()
book.record(outside_language=float(outside) if new.any() else None)

# %% [markdown]
# How many of all answers are novel, of a new family, degenerate, outside the language; and how many of the novel ones are accurate?

# %%
lines = {}
for name in ROWS:
    part = row_of(rows, *name)
    new = part[part.novel]
    good = {"novel: accurate": new, "… if inside": new[new.novel_inside], "… if outside": new[~new.novel_inside]}
    lines[title_of(*name)] = novelty_line(part) | {text: percent(some.accurate) for text, some in good.items()}
pd.DataFrame(lines).T

# %% [markdown]
# ## Still true?
#
# The first `n_live` problems of the row of `beam` with $b = 5$, solved again by the code and the weights that you have:

# %%
now = flagged(measure(network_for(weights and f"{weights}/nesymres"), by_name("beam", 5), "not_included", 0, n_problems,
                      n_points=n_points, limit=n_live))
both = now.merge(row_of(one, "beam", 5), on=KEY, suffixes=("", "_then"))
same = (both.answer.fillna("") == both.answer_then.fillna("")).mean() if len(both) else math.nan
print(f"{len(both)} problems, the same answer on {same:.0%}; novel {percent(now.novel)}, accurate {percent(now.accurate)}")
assert not len(both) or same > 0.8  # another processor may break a tie differently
if not live_rows:
    taken = seconds_taken(scale)
    taken = taken[(taken.test_set == "not_included") & pd.MultiIndex.from_frame(taken[ROW]).isin(THEIRS)]
    one_seed = taken.groupby(ROW).seconds.mean().groupby("strategy").sum()
    print(f"one seed of the paper's {len(THEIRS)} rows took {book.clock(one_seed.sum())}:",
          ", ".join(f"{name} {book.clock(t)}" for name, t in one_seed.items()))

# %% [markdown]
# ## All statements, with their margins
#
# Words like "substantial" had to become numbers; `params/claims.yaml` says which, and when they were chosen. The number of each check is in %, or in points where
# it is a difference; `beam @ tpsr 1` is beam search at the candidates of TPSR. *Published* has the same number under the published protocol, as far as its rows were
# measured: one network, one seed.

# %%
claims = judge(read_claims(), rows, seed) if live_rows else judge_twice(scale, seed)
if "published" not in claims:
    claims = claims.assign(published=math.nan, published_low=math.nan, published_high=math.nan, published_verdict=MISSING, published_claim_verdict=MISSING)


def number(value, low=None, high=None, digits=1):
    if math.isnan(value):
        return "–"
    return f"{value:.{digits}f}" + (f" ({low:.{digits}f} to {high:.{digits}f})" if low is not None else "")


lines = []
for _, part in claims.groupby("claim", sort=False):
    for i, line in enumerate(part.itertuples()):
        digits = 2 if line.check.startswith("correlation") else 1
        lines.append((f"{line.says} <small>({line.where})</small>" if i == 0 else "", f"<code>{line.check}</code> {line.bound.replace('<', '&lt;')}",
                      number(line.paper, digits=digits),
                      f"{number(line.published, line.published_low, line.published_high, digits)}<br><small>{line.published_verdict}</small>",
                      f"{number(line.ours, line.low, line.high, digits)}<br><small>{line.verdict}</small>",
                      f"<b>{line.published_claim_verdict} · {line.claim_verdict}</b>" if i == 0 else ""))
display(table_html(["the paper", "check", "its table", "published", "ours", "verdict: published · ours"], lines))
print("the paper's own table disagrees with:", ", ".join(claims[claims.paper_verdict == "fails"].claim.unique()) or "nothing")

# %% [markdown]
# ## Four protocols
#
# Accurate and novel answers to `not_included` in % under both decoders and both fits, on the problems of the first seed (`nsr/search/protocol.py`).

# %%
if results_path("protocols", scale).exists() and not live_rows:
    four = read_rows(scale, ("protocols",))[0]
    four = four[four.test_set == "not_included"]
    for what in ("accurate", "novel"):
        print(what)
        display((100 * four.pivot_table(index=ROW, columns="protocol", values=what)).round(1))
    widest, published = (row_of(four[four.protocol == name], "beam", 150) for name in ("ours", "published"))
    print("beam 150, published − ours:", signed(*percents(paired(published, widest, "accurate")[0])), "points accurate,",
          signed(*percents(paired(published, widest, "novel")[0])), "novel")

# %% [markdown]
# What stands behind a disagreement with the paper: failures are counted; the fit of constants is ours; our decoder writes no ungrammatical formulas and stops later;
# the networks are smaller and know fewer templates. And some of the disagreements are within the paper, as shown above.
