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
# # A06 · TPSR: its reward, its settings, its answer, all test sets
#
# **Question.** Which decisions behind lesson [06](../06_tpsr.py) change its numbers, and how do all of them compare with the paper's?
#
# **Runtime.** Laptop: two minutes on 2 cores. The tables `tpsr`, `tpsr_options`, `beam` and `protocols` are read; `python -m nsr replicate`
# measures them.
#
# **Knobs.** `n_live` problems are searched with ten settings of $r$, $k_{\max}$ and $\lambda$ while the page runs.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the test set that is solved while the page runs
weights: str = "laptop/nesymres"  # the network; empty: train a tiny one now
n_problems: int = 150  # problems of a test set
n_seeds: int = 3  # test sets of each kind, drawn with different seeds
n_points: int = 100  # points given per problem; as many fresh ones judge
most_rollouts: int = 12  # the largest r that is tried live
n_live: int = 10  # problems solved while the page runs

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown, display

from nsr.data import TEST_SETS
from nsr.evidence import (
    ACCURATE, GREY, INK, KEY, PAPER_BEAM, SET_STYLES, Row, TrainingSet, beam_grid, breakdown, charts, compare,
    measured, network_for, paired, paper, percent, problems_of, save, tabulate, use_style,
)
from nsr.formulas import END
from nsr.search import PROTOCOLS, PUBLISHED, TPSR, BeamSearch, solve_all

use_style()
trained = network_for(weights)
training = TrainingSet.of(trained)
problems = problems_of(trained, "not_included", seed, n_problems, n_points)[:n_live]
signed = "{:+.1f} ({:+.1f} to {:+.1f})".format

# %% [markdown]
# ## What the reward sees
#
# $$r = \frac{1}{1 + \mathrm{NMSE}} + \lambda \exp\Big(-\frac{|\mathbf{s}|}{L}\Big)$$
#
# The paper does not say what the mean squared error is divided by. If it is the variance of $y$, then $\mathrm{NMSE} = 1 - R^2$. The
# published code divides by the mean of $y^2$, which is larger, so that
# $\mathrm{NMSE}_{\mathrm{power}} = (1 - R^2)\, \mathrm{var}(y) / \mathrm{mean}(y^2)$.
#
# Departure: $L$ is the longest expression that can be written here (200 in the published code); `nmse`, `lam` and `length_scale` are
# options of `TPSR`. Every candidate of a few searches with $r = 6$, with both rewards at $\lambda = 0$, and what a token costs:

# %% tags=["hide-input"]
planned = solve_all(problems, TPSR(6, 3), trained, reference=training, progress="r = 6")
power, variance = (TPSR(lam=0.0, nmse=name) for name in ("power", "variance"))
seen = [(c.r2, power.reward(c, r.problem), variance.reward(c, r.problem))
        for r in planned for c in r.candidates if c.r2 > -1]
r2, by_power, by_variance = map(np.array, zip(*seen))
assert np.allclose(by_variance, 1 / (2 - r2))
figure, (ax, right) = plt.subplots(1, 2, figsize=(7, 3.3))
ax.plot(r2, by_power, ".", color=GREY, markersize=4, label="divided by mean(y²)")
ax.plot(r2, by_variance, ".", color=INK, markersize=4, label="divided by var(y)")
ax.set(xlabel="$R^2$ on the given points", ylabel="1 / (1 + NMSE)", xlim=(-0.5, 1.03))
ax.set_title("The published reward can be high\nwhere $R^2$ is low", fontsize=10)
ax.legend(fontsize=8)
tokens = np.arange(1, 31)
for lam, L, line in ((0.01, 40, "-"), (0.1, 40, "--"), (0.1, 200, ":")):
    right.semilogy(tokens, lam / L * np.exp(-tokens / L), line, color=INK, lw=1.3, label=f"λ = {lam:g}, L = {L}")
right.axhline(1 - ACCURATE, color=GREY, lw=1)
right.text(30, 1.1 * (1 - ACCURATE), f"$R^2$ = {ACCURATE}", ha="right", fontsize=8)
right.set(xlabel="tokens", ylabel="NMSE that a token must save", ylim=(1e-5, 0.03))
right.set_title("Near a perfect fit,\nshortness decides", fontsize=10)
right.legend(fontsize=8, loc="lower left")
save(figure, "reward", alt="Left: the reward divided by the variance is one curve of R²; divided by the mean square it lies above it, differently "
     "for each problem. Right: the error that one more token must save falls with the number of tokens, for three settings.")

# %% [markdown]
# Left: where $y$ is far from zero, a formula that only has the mean right has a good published reward. Right: an improvement below the line
# is not worth a token to the search. Which candidate would each reward choose?

# %% tags=["hide-input"]
def pick(result, judge):
    return max(result.candidates, key=lambda c: judge.reward(c, result.problem)).prefix


lines = []
judges = {"power, λ = 0": power, "power, λ = 0.01": TPSR(), "power, λ = 0.1": TPSR(lam=0.1),
          "variance, λ = 0.01": TPSR(nmse="variance"), "power, λ = 1": TPSR(lam=1.0)}
for name, judge in judges.items():
    picks = [(pick(result, judge), result.answer.prefix) for result in planned if result.answer]
    saved = np.mean([len(best) - len(mine) for mine, best in picks])
    lines.append((name, percent(a != b for a, b in picks), round(float(saved), 1)))
columns = ["reward", "its best is not the one with the best R²", "tokens saved on average"]
pd.DataFrame(lines, columns=columns).set_index("reward")

# %% [markdown]
# ## Settings
#
# On the same problems: $r$ from 1 up; $k_{\max}$ at six rollouts; $\lambda$ at three. With $r = 1$ or $k_{\max} = 1$ only the most likely
# token is ever tried, and that is greedy decoding:

# %% tags=["hide-input"]
settings = {
    "r": {r: TPSR(r) for r in (1, 3, 6, 12) if r <= most_rollouts},
    "k_max": {k: TPSR(min(6, most_rollouts), k) for k in (1, 3, 6)},
    "λ": {lam: TPSR(lam=lam) for lam in (0.0, 0.01, 0.1, 1.0)},
}
found, lines = {TPSR(6, 3): planned}, []
for name, group in settings.items():
    for value, strategy in group.items():
        if strategy not in found:
            found[strategy] = solve_all(problems, strategy, trained, reference=training)
        t = tabulate(found[strategy], "not_included", training)
        lines.append((name, f"{value:g}", percent(t.r2 > ACCURATE), percent(t.novel), f"{(1 - t.r2_given.clip(0)).median():.1e}",
                      round(t.candidates.mean()), round(t.tokens.mean()), round(t.answer_length.mean(), 1)))
greedy = solve_all(problems, BeamSearch(1), trained)
assert all(set(a.generated) == set(b.generated) for a, b in zip(found[TPSR(1)], greedy))
columns = ["setting", "value", f"R² > {ACCURATE}", "novel", "median 1 − R² (given)", "candidates", "decoder tokens", "answer's tokens"]
pd.DataFrame(lines, columns=columns).set_index(columns[:2])

# %% [markdown]
# From one rollout to three the answers are much better. Beyond that, these few problems show no clear gain, and the cost grows. A large
# $\lambda$ makes answers shorter and worse.
#
# ## The tables
#
# The rest reads whole test sets.
#
# Departure: constants are fitted with our own method instead of BFGS, and completions are decoded with our mask and our stopping rule,
# except where a line says "published".

# %% tags=["hide-input"]
few = {"n_problems": n_problems, "n_points": n_points}
how = {"scale": scale, "live": min(n_live, 6)}
SIZES = (1, 3, 5) if weights else (1, 3)
paths = [Row(strategy, "not_included", s, **few, show=("published", "masked", "lam"))
         for s in range(n_seeds) for strategy in (TPSR(published=True), TPSR(**PUBLISHED))]
trees = [Row(TPSR(beam_size=b), name, s, **few) for b in SIZES for s in range(n_seeds) for name in TEST_SETS]
beams = beam_grid(PAPER_BEAM if weights else (1, 3), TEST_SETS, range(n_seeds), **few)
options = measured("tpsr_options", paths, trained, **how)
tpsr, beam = measured("tpsr", trees, trained, **how), measured("beam", beams, trained, **how)
beam = beam.merge(tpsr[KEY].drop_duplicates())
mine, against = (table[table.test_set == "not_included"] for table in (tpsr, beam))

# %% [markdown]
# ## The path or the best
#
# The published implementation answers with the tokens that it walked, even if a better formula was verified on the way. Ours answers with
# the best candidate that it ever verified. *All as published*: also no grammar, $\lambda = 0.1$, $L = 200$.

# %% tags=["hide-input"]
best, lines = mine[mine.beam_size == 1], []
others = {"the walked path": options[options.masked.astype(bool)], "all as published": options[~options.masked.astype(bool)]}
for name, other in others.items():
    for what in ("accurate", "novel"):
        change, test, n = paired(best, other, what)
        lines.append((name, what, percent(best[what]), percent(other[what]), signed(*(100 * x for x in change)), test.only_a, test.only_b, n))
columns = ["against", "", "best verified", "the other", "difference (points)", "only best verified", "only the other", "problems"]
given = best[[*KEY, "r2_given"]].merge(others["the walked path"][[*KEY, "r2_given"]], on=KEY)
print("a better fit than the walked path's had been verified:", percent(given.r2_given_x > given.r2_given_y + 1e-6))
pd.DataFrame(lines, columns=columns).set_index(columns[:2])

# %% [markdown]
# With $b = 1$ the path never leaves the best *reward*: the greedy completion of a chosen token is also the completion of its first child.
# So the two answers differ only as reward and $R^2$ differ. The largest reward of a search is that of its path:

# %% tags=["hide-input"]
walk = []
published = solve_all(problems, TPSR(published=True, watch=walk.append), trained)
deeper = {event.problem for event in walk if len(event.path) > 2 and event.path[1][-1] != END}
checked = [result for result in published if result.answer and result.problem.name not in deeper]
for result in checked:
    rewards = [event.reward for event in walk if event.problem == result.problem.name]
    assert np.isclose(TPSR().reward(result.answer, result.problem), max(rewards))
counted = sum(result.n_candidates for result in published)
print(f"true of {len(checked)} searches; {len(walk)} rollouts, {counted} candidates counted: a remembered completion costs nothing")

# %% [markdown]
# ## Three beam sizes, three test sets

# %% tags=["hide-input"]
lines = []
for name in TEST_SETS:
    for b in SIZES:
        for label, table in (("TPSR", tpsr), ("beam search", beam)):
            part = table[(table.test_set == name) & (table.beam_size == b)]
            if len(part):
                lines.append((name, b, label, percent(part.accurate), percent(part.novel), round(part.candidates.mean(), 1), len(part)))
columns = ["test set", "b", "strategy", f"R² > {ACCURATE}", "novel", "candidates", "problems"]
pd.DataFrame(lines, columns=columns).set_index(columns[:3])

# %% [markdown]
# TPSR against a beam of its own size on the three sets, as differences problem by problem:

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7, 3), sharey=True)
for shift, name in zip((-0.2, 0, 0.2), TEST_SETS):
    colour, marker = SET_STYLES[name]
    for y, b in enumerate(sorted(set(SIZES) & set(beam.beam_size))):
        pair = [table[(table.test_set == name) & (table.beam_size == b)] for table in (tpsr, beam)]
        for ax, what in zip(axes, ("accurate", "novel")):
            value, low, high = (100 * x for x in paired(*pair, what)[0])
            ax.errorbar(value, y + shift, xerr=[[max(0, value - low)], [max(0, high - value)]], fmt=marker, color=colour, capsize=2,
                        label=name if y == 0 else None)
            ax.set(xlabel=f"{what}: TPSR − beam (points)")
            ax.set_yticks(range(y + 1), [f"b = {size}" for size in sorted(set(SIZES) & set(beam.beam_size))][: y + 1])
for ax in axes:
    ax.axvline(0, color=INK, lw=0.8)
axes[0].set_title("At equal b TPSR is ahead on all sets", fontsize=10)
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
save(figure, "sets", alt="Differences of TPSR and a beam of the same size in accurate and in novel answers, with intervals, for three test sets: "
     "all are above zero.")

# %% [markdown]
# ## Cost in decoder tokens
#
# The prefix of a completion is read once, and remembered. A strategy is better where its line is higher at the same place:

# %% tags=["hide-input"]
rows = pd.concat([mine, against])
names = [("beam", int(b)) for b in sorted(against.beam_size.unique())] + [("tpsr", b) for b in SIZES]
figure, axes = plt.subplots(1, 2, figsize=(7, 3.3))
for ax, what in zip(axes, ("accurate", "novel")):
    charts.draw_tradeoff(ax, rows, names, what, "tokens")
    ax.set(xlabel="decoder tokens per problem", ylabel=f"{what} answers (%)")
axes[0].set_title("Per token a beam is more accurate", fontsize=10)
axes[1].set_title("TPSR has more novel answers", fontsize=10)
axes[1].legend(fontsize=8)
save(figure, "tokens", alt="Shares of accurate and of novel answers against decoder tokens: beam search is above TPSR in accuracy and far below it in "
     "novelty.")

# %% [markdown]
# ## What novel answers are worth
#
# Beside the accuracy of novel answers stands that of copies, and beside the novel answers the share of novel candidates:

# %% tags=["hide-input"]
lines = [(name, b, percent(part.novel), percent(part[part.novel].accurate), percent(part[~part.novel].accurate),
          percent(part.same_template.astype(bool)), f"{part.share_novel_candidates.mean():.0%}")
         for name, table in (("beam", against), ("tpsr", mine)) for b, part in table.groupby("beam_size")]
columns = ["strategy", "b", "novel", "accurate among novel", "accurate among copies", "truth's template", "novel candidates"]
pd.DataFrame(lines, columns=columns).set_index(columns[:2])

# %% [markdown]
# ## Decoder and fit
#
# The same searches under four protocols, on the first 150 problems of `not_included`: our decoder or the published one, our fit or BFGS.

# %% tags=["hide-input"]
if weights:
    both_ways = measured("protocols", [Row.under(protocol, name, b, "not_included", seed=0, **few)
                                       for protocol in PROTOCOLS for name, b in (("beam", 1), ("beam", 5), ("beam", 50), ("tpsr", 1))],
                         trained, **how)
    table = both_ways.groupby(["strategy", "beam_size", "protocol"]).agg(
        accurate=("accurate", percent), novel=("novel", percent), candidates=("candidates", "mean"))
    display(table.round(1))

# %% [markdown]
# ## The cells of the paper's table
#
# On `not_included`, with 95 % intervals; for the paper's, 450 problems are assumed. *Same*: the interval of the difference lies within five
# points; *different*: it leaves zero out; else *undecided*.

# %% tags=["hide-input"]
lines = []
for b in SIZES:
    cells = breakdown(mine[mine.beam_size == b])
    for cell, theirs in zip(cells.itertuples(), paper.row("tpsr", b)):
        name = f"{'novel' if cell.novel else 'not novel'}, R² {'>' if cell.accurate else '≤'} {ACCURATE}"
        lines.append((f"TPSR, b = {b}", name, *compare(theirs, cell.count, cell.n)))
print(f"{sum(line[-1] == 'same' for line in lines)} of {len(lines)} cells are the same within five points")
head = "| | | the paper | ours | verdict |\n|---|---|---|---|---|\n"
Markdown(head + "\n".join("| " + " | ".join(line) + " |" for line in lines))
