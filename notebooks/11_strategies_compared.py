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
# # A wider beam makes answers more accurate, feedback makes them novel
#
# **Claim.** Larger beams raise accuracy and hardly novelty. TPSR and NSR-gvs raise novelty. At equal cost neither is shown to be more accurate
# than a beam; with ours a beam is ahead of TPSR and, less surely, of NSR-gvs; with the published one the lead over NSR-gvs is not decided.
#
# **You will see.** All strategies on one table; novelty against accuracy and cost; six statements judged; what decoder and fit contribute.
#
# **Needs.** [05](05_beam_search.py), [06](06_tpsr.py), [07](07_nsr_gvs.py), [09](09_nsrwh.py), [10](10_families_and_local_search.py).
#
# **From the paper.** Section 6; Table "Breakdown of generated expressions"; Figures "Evaluation" and "Trade-off".
#
# **Runtime.** Tiny: one minute. Laptop: one minute. Paper: as laptop. On a laptop with 2 cores.

# %% [markdown]
# This chapter reads what was measured for the chapters before it.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the bootstrap
weights: str = "laptop"  # where nesymres, gvs and nsrwh are, for live_rows; empty: train tiny ones now
live_rows: str = ""  # rows to measure now instead of reading tables, like "beam 5, tpsr 1"
n_problems: int = 150  # problems of a test set
n_points: int = 100  # points given per problem; as many fresh ones judge
n_seeds: int = 3  # test sets of each kind that are looked at

# %% tags=["hide-input"]
import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from nsr import book
from nsr.evidence import GREY, KEY, MISSING, Interval, at_equal_cost, charts, control, correlation, gathered, judge, judge_twice, judged_together, layout, lead_over_beams, mcnemar, novelty_line, paired, paper, percent_of, read_claims, read_rows, results_path, row_of, save, share_at, title_of, true_template, use_style, verdict_on_claim
from nsr.formulas import to_infix
from nsr.search import r2_text

use_style()
pd.set_option("display.max_colwidth", 120)

# %% [markdown]
# ## The table
#
# A *row* is a strategy with a beam size. It has one line per problem: the answer, whether it is novel, and its $R^2$ on fresh points. A
# problem without an answer counts, as neither novel nor accurate. Where several networks were measured, `one` has the first's lines.

# %%
rows = gathered(scale, live_rows, weights, n_seeds=n_seeds,
                n_problems=n_problems, n_points=n_points)
one = rows[rows.network == 0].drop(columns="network") if "network" in rows else rows
ROWS = charts.present(rows, layout(rows))
THEIRS = [name for name in ROWS if paper.row(*name)]
print(f"{len(THEIRS)} of the paper's {len(paper.table())} rows are measured,",
      f"and {len(ROWS) - len(THEIRS)} of our own")

# %% [markdown]
# The paper's table has four cells per row: novel or copied, accurate ($R^2 > 0.99$) or not. We count one row by hand. The last row of
# NSR-gvs:

# %%
last = [name for name in ROWS if name[0] == "gvs"][-1]
part = row_of(rows, *last)
cells = {(novel, accurate): int(((part.novel == novel) & (part.accurate == accurate)).sum())
         for novel in (True, False) for accurate in (True, False)}
assert sum(cells.values()) == len(part)  # no problem is left out
for (novel, accurate), theirs in zip(cells, paper.row(*last)):
    ours = 100 * cells[novel, accurate] / len(part)
    print(f"novel {novel}, accurate {accurate}: {ours:.1f} %, the paper {theirs:.1f} %")

# %% [markdown]
# All rows in the same way, on `not_included`; beside our shares the paper's, where it has the row. Of the novel answers some have a
# *new family*, some are *degenerate* or *outside the language* (chapter 04). *True family*: answer and truth are the same formula up to
# constants (chapter 10). *Last leaf* takes the families of a beam and tries every other variable as their last leaf (report A10).

# %%
lines = []
for name in ROWS:
    part, theirs = row_of(rows, *name), paper.row(*name)
    said = [f"{x:.0f} %" for x in (theirs.novel, theirs.accurate)] if theirs else ["–", "–"]
    novel, *kinds = novelty_line(part).values()
    own = (f"{100 * part.same_family.mean():.0f} %", round(part.candidates.mean()), round(1000 * part.seconds.mean()))
    n_networks = part.network.nunique() if "network" in part else 1
    lines.append((title_of(*name), n_networks, novel, said[0], *kinds, percent_of(part, "accurate"), said[1], *own))
columns = ["", "networks", "novel", "paper", "new family", "degenerate", "outside", "accurate", "paper", "true family",
           "candidates", "milliseconds"]
pd.DataFrame(lines, columns=columns).set_index("")

# %% [markdown]
# As bars: thick ours, thin the paper's.

# %% tags=["hide-input"]
figure, ax = plt.subplots(figsize=(7, 0.9 + 0.34 * len(ROWS)))
charts.draw_breakdown(ax, rows, ROWS)
ax.axhline(len(THEIRS) - 0.5, color=GREY, lw=0.8)
best, newest = (max(ROWS, key=lambda name: row_of(rows, *name)[what].mean()) for what in ("accurate", "novel"))
ax.set_title(f"Most accurate: {title_of(*best)};\nmost novel: {title_of(*newest)}")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8)
save(figure, "breakdown", alt="A bar for every strategy, ours and below it the paper's, cut into novel and accurate, novel only, copied and accurate, and neither. Beams are mostly copied; NSR-gvs, its combination with TPSR and local search are mostly novel.")

# %% [markdown]
# Notice that in the rows of beam search the red part grows and the purple parts stay thin: more of the copies are accurate. And our accurate parts
# are longer than the paper's; the last section asks why.
#
# ## Two problems
#
# What does such a row look like on one problem? The example that works: the first problem that NSR-gvs solves with a novel answer and the
# largest beam does not. The example that fails: the first that the beam solves and NSR-gvs does not.

# %%
beam = [name for name in ROWS if name[0] == "beam"][-1]
pair = row_of(one, *last).merge(row_of(one, *beam), on=KEY, suffixes=("_gvs", "_beam"))
works = pair[pair.accurate_gvs & pair.novel_gvs & ~pair.accurate_beam]
fails = pair[pair.accurate_beam & ~pair.accurate_gvs]
print(f"only NSR-gvs, with a novel answer: {len(works)} problems; only the beam: {len(fails)}")

# %% tags=["hide-input"]
lines = []
for text, some in (("works", works), ("fails", fails)):
    for line in some.head(1).itertuples():
        truth = to_infix(tuple(line.truth.split()))
        for name in ("gvs", "beam"):
            get = lambda what: getattr(line, f"{what}_{name}")
            lines.append((text, truth, title_of(*(last if name == "gvs" else beam)), get("answer_infix"), "novel" if get("novel") else "copied", r2_text(get("r2"))))
pd.DataFrame(lines, columns=["example", "truth", "strategy", "answer", "template", "R², fresh"]).set_index(["example", "truth", "strategy"])

# %% [markdown]
# Notice that the two strategies solve partly different problems. Exercise 3 makes use of that.
#
# ## Are novelty and accuracy correlated?
#
# > The results support the conclusion … that the reduction of reproduction bias is only weakly correlated with numerical accuracy.
# > (Appendix)
#
# The statement is about strategies, so a strategy is a point. Pearson's $r$ of $m$ points has a 95 % interval by Fisher: $\operatorname{artanh} r$
# has the standard error $1/\sqrt{m - 3}$.

# %%
def pearson(x, y):
    x, y = np.asarray(x) - np.mean(x), np.asarray(y) - np.mean(y)
    return x @ y / np.sqrt((x @ x) * (y @ y))


def fisher(r, m):
    """The 95 % interval of a correlation over m points."""
    z, half = np.arctanh(r), 1.96 / np.sqrt(m - 3)
    return np.tanh(z - half), np.tanh(z + half)


# %% [markdown]
# For our rows and for the paper's table:

# %%
shares = [row_of(one, *name)[["novel", "accurate"]].mean() for name in THEIRS]
ours = pearson(*np.array(shares, dtype=float).T)
cells = [paper.row(*name) for name in THEIRS]
theirs = pearson([row.novel for row in cells], [row.accurate for row in cells])
for text, r in (("ours", ours), ("the paper's", theirs)):
    low, high = fisher(r, len(THEIRS))
    print(f"{text}: r = {r:+.2f} ({low:+.2f} to {high:+.2f}) over {len(THEIRS)} rows")
found = correlation(one, "novel", "accurate", THEIRS)[0]
assert np.allclose([ours, *fisher(ours, len(THEIRS))], found, atol=1e-3, equal_nan=True)

# %% tags=["hide-input"]
figure, ax = plt.subplots(figsize=(7, 4.2))
charts.draw_correlation(ax, one, [name for name in ROWS if name in THEIRS or name[0] == "local"])
ax.set_title(f"Over {len(THEIRS)} rows r = {ours:+.2f}; in the paper's table {theirs:+.2f}")
save(figure, "correlation", alt="Every strategy as a point, novelty against accuracy. Beams climb along the left edge; TPSR and NSR-gvs lie further right; NSR-gvs with TPSR and local search are at the top right. Hollow points, the paper's, lie lower.")

# %% [markdown]
# Filled points are ours, with the smallest and the largest beam size beside them; hollow ones are the paper's. Notice that a larger beam moves up and hardly to the
# right. With so few strategies the interval of $r$ is wide.
#
# ## What it costs
#
# > … and used the number of candidate expressions generated by the model during the generation of a single equation. (Appendix)
#
# A search keeps a *trace*: a word for each change of its best answer, with candidates, decoder tokens, seconds, the number of thresholds of
# $R^2$ passed (0.99 is the fourth), and whether it is novel. So we know what every search would have answered, had it been stopped earlier.

# %%
def accurate_at(trace, budget):
    """Whether the best answer had R² > 0.99 when `budget` candidates were fitted."""
    accurate = False
    for word in trace.split() if isinstance(trace, str) else []:
        spent, _, _, passed, _ = word.split("/")
        if float(spent) <= budget:
            accurate = int(passed) >= 4
    return accurate


part = row_of(rows, *last)
print("the trace of one search:", part.trace.iloc[0])
for budget in (5, 50, 150):
    share = np.mean([accurate_at(trace, budget) for trace in part.trace])
    assert np.isclose(share, share_at(part.trace, [budget])[0])
    print(f"{title_of(*last)} after {budget} candidates: {share:.1%} accurate")

# %% [markdown]
# Now move the budget. Each strategy is stopped when it has fitted so many candidates per problem; of beam search we take the largest beam
# that costs no more. Upwards is more accurate; to the right, more answers are novel.

# %% tags=["hide-input"]
BUDGETS = (1, 2, 5, 10, 20, 50, 100, 150, 300, 1000)
RACERS = [name for name in ("beam", "tpsr", "gvs", "gvs+tpsr", "local", "local-random") if len(row_of(rows, name))]


def draw_budget(budget):
    figure, ax = plt.subplots(figsize=(7, 4.2))
    charts.draw_standing(ax, rows, RACERS, BUDGETS[: BUDGETS.index(budget) + 1])
    ax.set_title(f"{budget} candidate" + "s" * (budget > 1) + " per problem")
    ax.legend(fontsize=8, loc="upper left")
    return figure


control(draw_budget, "candidates", BUDGETS, alt="Novelty against accuracy of six strategies when each has spent {} candidates per problem, with the way each came as a thin line.")

# %% [markdown]
# Notice who goes which way. Beam search climbs straight up. NSR-gvs and both local searches go right and up together. TPSR first goes up, like a
# beam, and then right. Is a strategy more accurate than a beam that costs as much, in candidates, in *evaluations* of formulas, in seconds?
# The share of such a beam lies on the line between two sizes; a strategy that costs more than the largest is stopped where that ends.
#
# Of so many answers some look certain by chance. Holm's correction multiplies the smallest of $k$ p-values by $k$, the next by $k - 1$, and so
# on; then all lines together are wrong with at most 5 %.

# %%
beams = row_of(rows, "beam")
rivals = [name for name in ROWS if name[0] in ("tpsr", "gvs", "gvs+tpsr", "families", "families+gvs", "local", "local-random")]
leads = {(title_of(*name), cost): lead_over_beams(row_of(rows, *name), beams, cost)
         for name in rivals for cost in ("candidates", "evaluations", "seconds")}
together = judged_together(leads)
together[together.points != "–"].rename_axis(["more accurate than a beam", "of equal"])

# %% [markdown]
# *Fails*: the beam is more accurate. No strategy of the paper holds; ours do in candidates, with the network. Rows were measured on different
# days, so seconds are less exact; older rows have no evaluations.
#
# ## How a statement is judged
#
# > In some cases, acquiring the ability to generate novel expressions leads to a decrease in numerical accuracy (TPSR). (Section 6.2)
#
# As a number: the accuracy of TPSR minus that of a beam of five, on the same problems. The sentence says that it is below zero. Problems with
# the same true template are alike, so its interval draws templates, each with all its problems, two thousand times.

# %%
def interval(a, b, what, draws=2000):
    pair = a.merge(b, on=KEY)
    change = 100 * (pair[f"{what}_x"].astype(float) - pair[f"{what}_y"].astype(float))
    groups = change.groupby(pair.truth.map(true_template)).agg(["sum", "size"]).to_numpy()
    chosen = np.random.default_rng(seed).integers(0, len(groups), (draws, len(groups)))
    sums = groups[chosen].sum(axis=1)  # (draws, 2): of the changes, and how many problems
    return Interval(change.mean(), *np.quantile(sums[:, 0] / sums[:, 1], [0.025, 0.975]))


# %% [markdown]
# A claim *holds* if the interval is on the claimed side, *fails* if it is entirely on the other side, and is otherwise *undecided*.

# %%
def verdict(estimate, above=-math.inf, below=math.inf):
    if estimate.low > above and estimate.high < below:
        return "holds"
    return "fails" if estimate.high < above or estimate.low > below else "undecided"


# %% [markdown]
# `nsr` has the same number, and the same interval up to its own random draws.

# %%
tpsr, five = row_of(one, "tpsr", 1), row_of(one, "beam", 5)
by_hand = interval(tpsr, five, "accurate")
judged = Interval(*(100 * x for x in paired(tpsr, five, "accurate")[0]))
assert np.isclose(by_hand.value, judged.value)
assert len(tpsr) < 100 or np.allclose(by_hand, judged, atol=1)
assert verdict(judged, below=0) == verdict_on_claim(judged, below=0)
print("TPSR (1) − beam search (5): {:+.1f} points ({:+.1f} to {:+.1f});".format(*judged),
      "TPSR lowers accuracy:", verdict(judged, below=0))

# %% [markdown]
# ## Six statements of the paper
#
# `params/claims.yaml` has all statements as data: which numbers are compared, in which direction, by how much. A statement of several numbers
# holds if all of them do. Each is judged under two protocols. *Published*: the decoder writes without a grammar and stops at the first $b$ finished
# formulas, and BFGS fits the constants. *Ours*: the decoder follows the grammar and stops when nothing better can come, and constants are fitted by
# least squares. Under one protocol all strategies have the same decoder and the same fit.

# %%
SIX = {
    "beams_raise_accuracy_more_than_novelty": "Larger beams raise accuracy more than novelty",
    "feedback_raises_novelty": "TPSR, NSR-gvs and both together write novel formulas",
    "gvs_raises_both": "NSR-gvs raises novelty and accuracy, against a beam of 5",
    "tpsr_lowers_accuracy": "TPSR is less accurate than a beam of 5",
    "beam_is_most_accurate_at_equal_candidates": "At equal candidates a beam is more accurate",
    "weakly_correlated": "Novelty and accuracy are weakly correlated"}
claims = judge(read_claims(), rows, seed) if live_rows else judge_twice(scale, seed)
if "published" not in claims:  # live rows have one protocol
    claims = claims.assign(published=math.nan,
                           published_verdict=MISSING, published_claim_verdict=MISSING)
assert set(claims.claim) == {claim.id for claim in read_claims()}

# %% tags=["hide-input"]
in_its_table = lambda words: "fails" if "fails" in set(words) else "holds" if "holds" in set(words) else "–"
whole = claims.groupby("claim", sort=False).agg(**{
    "the paper's table": ("paper_verdict", in_its_table), "published protocol": ("published_claim_verdict", "first"), "ours": ("claim_verdict", "first")})
book.record(**{word.replace(" ", "_"): int(n) for word, n in whole.ours.value_counts().items()})
print(f"all {len(whole)} statements, ours:", ", ".join(f"{n} {word}" for word, n in whole.ours.value_counts().items()))
whole.loc[list(SIX)].set_axis(SIX.values()).rename_axis("the paper says")

# %% [markdown]
# *Not measured yet* says that one of the rows that a statement needs is missing. So let us open the fifth statement and see the numbers that are
# there: a beam of as many candidates minus the strategy, in points.

# %%
fifth = claims[claims.claim == "beam_is_most_accurate_at_equal_candidates"].set_index("check")
numbers = fifth[["paper", "published", "ours"]].round(1).astype(object)
numbers = numbers.where(numbers.notna(), "–")
numbers.assign(**{"published is": fifth.published_verdict, "ours is": fifth.verdict})

# %% [markdown]
# Under our protocol a plain beam is the better use of the same candidates, as the paper says. Under the published one it is ahead of TPSR; against
# NSR-gvs nothing is decided. Notice also the fourth statement: TPSR does not lower accuracy under either protocol.
#
# Slip: at equal beam size the paper's own table, too, shows TPSR *more* accurate than beam search.

# %% [markdown]
# ## Decoder and fit: two changes, four protocols
#
# Departure: our fit is least squares with exact derivatives, the paper's is BFGS.
#
# Departure: our decoder is masked by the grammar and stops later.
#
# Our accuracies are higher than the paper's. Is it one of these changes? Each can be made alone, so there are four protocols. Accurate answers of
# the largest beam, in %, on the problems of one seed:

# %%
measured_too = results_path("protocols", scale).exists() and not live_rows
four = read_rows(scale, ("protocols",))[0] if measured_too else rows.assign(protocol="ours")
shares = 100 * four[four.test_set == "not_included"].pivot_table(
    index=["strategy", "beam_size"], columns="protocol", values="accurate")
two = {("ours", "ours"): "ours", ("ours", "published"): "published fit",
       ("published", "ours"): "published decoder", ("published", "published"): "published"}
square = pd.Series({key: shares.loc[beam].get(name, math.nan) for key, name in two.items()})
square.unstack().round(1).rename_axis(index="decoder", columns="fit")

# %% [markdown]
# Read down a column for the decoder, along a line for the fit. The differences to ours with their intervals, and below them the same for every row
# that was measured under all four, in points:

# %%
order = [name for name in two.values() if name in shares]
lines = {name: row_of(four[four.protocol == name], *beam) for name in order}
for name in order[1:]:
    value, low, high = (100 * x for x in paired(lines[name], lines["ours"], "accurate")[0])
    print(f"{title_of(*beam)}, {name} − ours: {value:+.1f} points ({low:+.1f} to {high:+.1f})")
lost = shares[order].sub(shares["ours"], axis=0).dropna()
lost[order[1:]].round(1)

# %% [markdown]
# The published decoder costs large beams most, because it stops at the first $b$ finished formulas, which are short. The fit costs less. Both
# together explain only part of the distance to the paper's levels; the rest is unexplained.
#
# Every pair of strategies, seeds, known formulas, other senses of novelty, and all statements with their margins:
# [report A11](appendix/A11_strategies.py).

# %% [markdown]
# ## Exercises
#
# 1. *Predict.* Two strategies are both right on about 30 % of 450 problems. In one case they are right on the same problems, in the other on
#    problems chosen independently. In which case is a difference of 3 points easier to show? Give `"same"` or `"independent"`.

# %% tags=["solution"]
easier = "same"  # where two strategies mostly agree, little is left to chance

# %% tags=["check"]
a = np.arange(450) < 135
overlap = {"same": np.arange(450) < 122, "independent": np.random.default_rng(1).permutation(450) < 122}
p_values = {name: mcnemar(a, b).p_value for name, b in overlap.items()}
print({name: f"{p:.2g}" for name, p in p_values.items()})
assert easier == min(p_values, key=p_values.get), "compare the two p-values above"

# %% [markdown]
# 2. *Turn.* $R^2 > 0.99$ is one threshold of seven. Which of the rows in `THEIRS` is the most accurate at 0.99999? Give its name and beam size
#    as `sharpest`.

# %% tags=["solution"]
sharpest = max(THEIRS, key=lambda name: (row_of(rows, *name).r2 > 0.99999).mean())

# %% tags=["check"]
at_five_nines = {name: (row_of(rows, *name).r2 > 0.99999).mean() for name in THEIRS}
print("at 0.99999:", sharpest, " at 0.99:", max(THEIRS, key=lambda name: row_of(rows, *name).accurate.mean()))
assert sharpest in at_five_nines, "a row of THEIRS"
assert at_five_nines[sharpest] == max(at_five_nines.values()), "another row has more"

# %% [markdown]
# 3. *Build.* A portfolio: run two strategies and keep the answer that fits the *given* points better. Write `portfolio(a, b)`, which takes the
#    lines of two rows and returns, for the problems both have, a table with the columns of `KEY`, `accurate` of the kept answer, and
#    `candidates`, what both cost together. The check compares it with a beam that costs as much.

# %% tags=["solution"]
def portfolio(a, b):
    pair = a.merge(b, on=KEY, suffixes=("_a", "_b"))
    kept = np.where(pair.r2_given_a >= pair.r2_given_b, pair.accurate_a, pair.accurate_b)
    return pair[KEY].assign(accurate=kept, candidates=pair.candidates_a + pair.candidates_b)


# %% tags=["check"]
first, second = row_of(one, "beam", 50), row_of(one, "gvs", 1)
both, pair = portfolio(first, second), first.merge(second, on=KEY, suffixes=("_a", "_b"))
better = (pair.r2_given_a >= pair.r2_given_b).to_numpy()
assert len(both) == len(pair), "one line for each problem that both have"
assert np.array_equal(both.candidates, pair.candidates_a + pair.candidates_b), "both searches cost"
assert np.array_equal(both.accurate, np.where(better, pair.accurate_a, pair.accurate_b)), "chosen by the given points, not by the fresh ones"
beam_for_it = at_equal_cost(row_of(one, "beam"), both.candidates.mean())
value, low, high = (100 * x for x in paired(both, beam_for_it, "accurate")[0])
print(f"{both.candidates.mean():.0f} candidates: portfolio {100 * both.accurate.mean():.1f} %, minus a beam of as many {value:+.1f} ({low:+.1f} to {high:+.1f})")

# %% [markdown]
# **What's next.** [transformer4sr](12_transformer4sr.py): is all this a matter of one system?
