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
# # A12 · transformer4sr: the generator, the two encoders, the schedule, and every step between sizes
#
# **Question.** Which details of the second system could change its novelty, and by how much does each definition move the numbers?
#
# **Runtime.** Half a minute on a laptop with 2 cores; the tables are made by [chapter 12](../12_transformer4sr.py).
#
# **Knobs.** `n_draws` for the generator, `n_problems` and `seed` for the rows of the tables that are read.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the test problems
n_problems: int = 300  # problems of a test set, as in the paper
n_draws: int = 30000  # random trees that the look at the generator draws

# %% tags=["hide-input"]
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown

from nsr.data import FILTERS, WEIGHTS, skeleton_draws, skeleton_of, tables_of
from nsr.evidence import ACCURATE, GREY, INK, LIGHT, measured, network_for, paired, percent, results_path, save, scaling, snapshot_steps, use_style, verdict_on_claim, whiskers
from nsr.formulas import ARITY, START, TRANSFORMER4SR, to_infix, to_skeleton
from nsr.network import Config, Network, learning_rate, read_settings
from nsr.search import Greedy, solve_all

use_style()
rng = np.random.default_rng(seed)

# %% [markdown]
# ## The generator
#
# The mean number of arguments of a node is below one, so that trees end.

# %%
weight = pd.Series(WEIGHTS)
chance = weight.groupby(weight.index.map(lambda token: ARITY.get(token, 0))).sum() / weight.sum()
print("a leaf, one argument, two arguments:", ", ".join(f"{p:.0%}" for p in chance))
print(f"the mean number of arguments is {chance[1] + 2 * chance[2]:.2f}")

# %% [markdown]
# Where the draws go, and how soon the generator repeats itself. Exactly one constant is a strict filter, and short skeletons come again
# and again; the training set keeps each once.

# %%
raws = skeleton_draws(n_draws, rng)
fates = [skeleton_of(raw) for raw in raws]
skeletons = [form for form, _ in fates if form]
reasons = Counter(why or "accepted" for _, why in fates)
seen, found = set(), []
for form in skeletons:
    seen.add(form)
    found.append(len(seen))
assert all(to_skeleton(form) == form and all(passes(form) for passes in FILTERS.values()) for form in seen)

# %% tags=["hide-input"]
figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3))
names, counts = zip(*[(name, n) for name, n in reasons.most_common() if n > 0.002 * len(fates)])
left.barh(names, 100 * np.array(counts) / len(fates), color=[INK if name == "accepted" else LIGHT for name in names])
left.invert_yaxis()
left.set(xlabel="share of the trees (%)")
left.set_title(f"{reasons['accepted'] / len(fates):.0%} become a skeleton", fontsize=10)
right.plot(np.arange(1, len(found) + 1), found, color=INK)
right.plot([1, len(found)], [1, len(found)], color=GREY, ls=":", label="no repetition")
right.set(xlabel="accepted draws", ylabel="different skeletons")
right.set_title(f"{1 - found[-1] / len(found):.0%} are repetitions", fontsize=10)
right.legend()
save(figure, "generator", alt="Left, the share of trees that are accepted and the reasons why others are refused. Right, the number of "
     "different skeletons against accepted draws, far below the line without repetitions.")

# %% [markdown]
# Our algebra collects terms and powers, joins exponentials, pulls out common factors and signs:

# %%
for text in ("add mul x1 x2 mul x2 C", "mul exp x1 inv exp x2", "sqrt mul C sq x1"):
    raw = tuple(text.split())
    print(f"{to_infix(raw):24} → {to_infix(to_skeleton(raw))}")

# %% [markdown]
# ## Two encoders
#
# The simpler variant *mlp* treats all cells alike and takes maxima over points and over columns. Exchange $x_1$ with $y$ in the data: what
# *mlp* would write does not change. It cannot know which column is $y$. The published logs, 58 % of tokens right against 94 % for *mix*,
# fit that.

# %%
form = next(form for form in skeletons if len(form) == 6)
table = torch.from_numpy(tables_of(form, rng, 3)[1]).float()  # (B, P, 7)
turned = table[:, :, [6, 1, 2, 3, 4, 5, 0]]
start = torch.full((len(table), 1), TRANSFORMER4SR.ids[START])
for encoder in ("mix", "mlp"):
    torch.manual_seed(seed)
    sizes = dict(vocabulary=len(TRANSFORMER4SR), n_variables=6, width=32, positions=32)
    network = Network(Config(encoder=encoder, **sizes)).eval().requires_grad_(False)
    change = (network(table, None, start) - network(turned, None, start)).abs().max()
    print(f"{encoder}: largest change of a logit {float(change):.1e}")
    assert (change > 1e-3) == (encoder == "mix")

# %% [markdown]
# ## The learning rate
#
# Published is Noam Shazeer's schedule, $h^{-1/2} \min(s^{-1/2},\ s \cdot 4000^{-3/2})$ at step $s$.
#
# Departure: at the smaller scales the recipe warms up briefly and ends at zero, whatever the number of steps; the paper's scale keeps
# Noam. Numbers enter as $\mathrm{asinh}$, because $y$ reaches $10^9$; published, they enter as they are. Positions are learned, tokens are
# not multiplied by $\sqrt h$, and there is no split 8 : 1 : 1.

# %%
recipe = read_settings("t4sr", scale)
steps = {n: read_settings(f"t4sr-{n}", scale).training.steps for n in scaling.sizes(recipe.data.items)}
never = sum(k < 4000 for k in steps.values())
print(f"with Noam's warm-up {never} of {len(steps)} sizes would end before it is over")

# %% tags=["hide-input"]
t, longest = recipe.training, max(steps.values())
s = np.unique(np.geomspace(1, longest, 200).astype(int))
noam = np.array([learning_rate(k - 1, "noam", longest, warmup=4000) for k in s])
own = np.array([learning_rate(k - 1, t.schedule, longest, t.warmup, t.constant, t.decay) for k in s])
figure, ax = plt.subplots(figsize=(7, 2.6))
ax.plot(s, noam / 4000**-0.5, color=GREY, label="Noam, 4000 steps of warm-up")
ax.plot(s, own / max(own), color=INK, label=f"this recipe: {t.schedule}")
for k in steps.values():
    ax.axvline(k, color=LIGHT, lw=1, ls=":")
ax.set(xscale="log", xlabel="step (dotted: the end for each size)", ylabel="rate (relative)")
ax.set_title("Noam's warm-up is longer than most of our trainings")
ax.legend()
save(figure, "schedule", alt="Two learning rates against the step: Noam's rises until step 4000, the recipe's is constant and then falls "
     "to zero. Dotted lines mark where the training of each size ends.")

# %% [markdown]
# ## The tables

# %%
there = all(results_path(name, scale).exists() for name in ("t4sr_scaling", "t4sr_epochs"))
used = scale if there else "tiny"  # without tables: tiny networks, trained now
every = scaling.sizes(read_settings("t4sr", used).data.items)
names = [f"{used}/t4sr-{n}" for n in every[:-1]] + [f"{used}/t4sr"]
networks = {name: network_for(name) for name in (names[-1:] if there else names)}
trained = networks[names[-1]]
known = trained.templates
size = {"n_problems": n_problems, "seed": seed}
by_size = measured("t4sr_scaling", scaling.size_rows(names, known, **size), networks, scale=scale)
moments = snapshot_steps("t4sr_epochs", trained, scale=scale)
by_epoch = measured("t4sr_epochs", scaling.epoch_rows(names[-1], moments, known, **size), networks, scale=scale)
new, leaky = (by_size[by_size.test_set == name] for name in ("new_skeletons", "new_tables"))
top, leaky_top = (part[part["items"] == part["items"].max()] for part in (new, leaky))
assert not leaky.truth_novel.any()
LABEL = {"novel_constants": "with constants", "novel": "without constants"}

# %% [markdown]
# ## Every step between sizes
#
# The problems are the same, so consecutive sizes can be compared problem by problem (McNemar's exact test).

# %%
moves = {flag: scaling.steps_between(new, "items", flag) for flag in LABEL}
for flag, table in moves.items():
    print(f"{LABEL[flag]}: {scaling.saturates(table)}")
pd.concat(moves).round(3)

# %% [markdown]
# An answer that is undefined at the given points counts as not novel. How many are there, and would they be new as they are written?

# %%
failed = top[top.answer.isna() | (top.answer == "")]
print(f"largest set: {len(failed)} of {len(top)} are undefined; {failed.written_novel_constants.sum()} of them would be new with",
      f"constants, {failed.written_novel.sum()} without")

# %% [markdown]
# ## As functions
#
# > … adopting the definition of functional reproduction bias would only further reduce that proportion (Appendix)
#
# That is logic: a function that is new has a new spelling. By how much? And how much would looking answers up *as they are written*,
# without simplifying them, add?

# %%
flags = ["novel_constants", "novel_functional_constants", "novel", "novel_functional"]
assert all(not (new[b] & ~new[a]).any() for a, b in (flags[:2], flags[2:]))
training = scaling.skeleton_set(known)
spelled = [tuple(answer.split()) for answer in top.answer.fillna("")]
rows = {flag: percent(top[flag]) for flag in flags}
rows["novel_constants, not simplified"] = percent(prefix != () and prefix not in training.seen for prefix in spelled)
pd.Series(rows, name="novel at the largest set").to_frame()

# %% [markdown]
# The four senses for the first answers:

# %%
problems = scaling.problems_of("new_skeletons", known, n_problems, seed)[:12]
rows = []
for result in solve_all(problems, Greedy(), trained, seed=seed, reference=training):
    prefix = result.answer and result.answer.prefix
    senses = training.novelty(prefix)
    rows.append((to_infix(result.problem.truth), to_infix(prefix) if prefix else "–", f"{result.r2:.2f}",
                 *("new" if senses[sense] else "old" for sense in scaling.SENSES)))
pd.DataFrame(rows, columns=["truth", "answer", "R²", "with C", "without", "function with C", "function without"])

# %% [markdown]
# ## What a leaking split would have claimed
#
# Split by data set, as published, other tables of a test skeleton are in the training set. Then the right answer *is* a copy, and copying
# looks like finding.

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7, 3.2))
for ax, flag, words in zip(axes, ("same_skeleton", "accurate"), ("the true skeleton", f"R² > {ACCURATE}")):
    for rows, colour, marker, label in ((leaky, GREY, "s", "by data set (leaks)"), (new, INK, "o", "by skeleton")):
        part = scaling.shares(rows, "items", [flag])
        ax.errorbar(part["items"], 100 * part.share, whiskers(part), fmt=f"{marker}-", color=colour, capsize=3, label=label)
    ax.set(xscale="log", xlabel="tables in the training set", ylim=(-1.5, None))
    ax.minorticks_off()
    ax.set_xticks(part["items"], [f"{n / 1000:g}k" for n in part["items"]])
    ax.set_title(words, fontsize=10)
axes[0].set_ylabel("share of problems (%)")
axes[1].legend(fontsize=8, loc="lower right")
figure.suptitle("A split that leaks makes the networks look better", weight="bold", fontsize=11)
save(figure, "leak", alt="The share of true skeletons and of accurate answers against the size of the training set. The split by data set "
     "lies above the split by skeleton.")

# %%
for flag, words in (("same_skeleton", "true skeleton found"), ("accurate", f"R² > {ACCURATE}")):
    print(f"{words}: {percent(leaky_top[flag])} split by data set, {percent(top[flag])} by skeleton")

# %% [markdown]
# ## Against epochs
#
# The largest network at ten moments of its training, and the sentence of the paper that few epochs copy slightly less.

# %%
over = by_epoch.groupby("epoch").agg(**{flag: (flag, percent) for flag in (*LABEL, "accurate")})
first, last = (by_epoch[by_epoch.epoch == epoch] for epoch in (by_epoch.epoch.min(), by_epoch.epoch.max()))
over

# %%
lines = []
for flag, label in LABEL.items():
    less = paired(first, last, flag)[0]
    text = "{:+.1f} points ({:+.1f} to {:+.1f})".format(*(100 * x for x in less))
    lines.append((f"slightly less bias at few epochs ({label})", text + ", first − last", verdict_on_claim(less, above=0)))
lost = [int((top[a] & ~top[b]).sum()) for a, b in (flags[:2], flags[2:])]
lines.append(("functional novelty is only lower", f"{lost[0]} and {lost[1]} answers fewer", "holds"))
Markdown("| the paper | ours | verdict |\n|---|---|---|\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines))

# %% [markdown]
# What a difference to the paper can come from: our networks are smaller and are shown each skeleton less often; whether the paper's sizes
# are tables or skeletons is not said; whether it simplified the answers before it looked them up is not said either.
