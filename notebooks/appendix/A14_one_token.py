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
# # A14 · The novel step in detail
#
# **Question.** Which tokens are novel steps, does it matter which, when in the training does the network begin to refuse them, and how
# were the options of off-tree search chosen?
#
# **Runtime.** Seconds, from the tables of [chapter 14](../14_one_token.py); with `recompute`, a minute per training that has its snapshots
# here.
#
# **Knobs.** `recompute` measures what the table over the training lacks.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the problems over the training
weights: str = "laptop/nesymres"  # the first of the networks; empty: train tiny ones now
n_networks: int = 4  # at most so many networks of this recipe, as far as they are here
n_problems: int = 400  # problems per test set and seed
n_training: int = 150  # problems per test set and snapshot
n_points: int = 100  # points given per problem
n_seeds: int = 3  # test sets of each kind
recompute: bool = False  # measure what the table over the training lacks

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from nsr.evidence import (
    GREY, INK, NOVEL, measured, networks_for, read_plan, save, snapshot_steps, step_jobs, training_jobs, use_style,
)
from nsr.formulas import ARITY, END

use_style()
networks = networks_for(weights, n_networks)
jobs = step_jobs(networks, range(n_seeds), n_problems, n_points, [5])
steps = measured("novel_steps", jobs, networks, scale=scale, live=jobs[: len(networks)])
walks = steps[steps.what == "walk"]
novel_walks = walks[(walks.test_set == "not_included") & walks.phase.isin(["before", "at", "after"])]
novel = walks[(walks.test_set == "not_included") & (walks.phase == "at")]

# %% [markdown]
# ## By kind of token
#
# Is the novel step an operator, a variable, or the end of the formula? Some formulas leave the tree only because training formulas that
# begin like them go on where they end.

# %%
kinds = novel.assign(kind=[token if token == END else "operator" if ARITY.get(token) else "variable" for token in novel.token])
kinds.groupby("kind").agg(steps=("place", "size"), median=("log_prob", "median"),
                          first=("rank", lambda rank: 100 * (rank == 0).mean())).round(2)

# %% [markdown]
# `first` is how often (%) the network finds the true token the most likely one.
#
# ## By place, and by what else could come
#
# Does it matter how far the formula had gone, and how many training templates begin like it?

# %%
place = pd.cut(novel.place / novel.length, [-0.01, 0.25, 0.5, 0.75, 1.0], labels=["first quarter", "second", "third", "last"])
others = pd.cut(novel.others, [0, 1, 10, 100, 1000, np.inf], labels=["1", "to 10", "to 100", "to 1,000", "more"])
pd.concat({name: novel.groupby(group, observed=True).log_prob.agg(["median", "size"])
           for name, group in {"place": place, "templates that begin like it": others}.items()}).round(2)

# %% [markdown]
# ## Over the training
#
# The snapshots of a training are walked along the same formulas. Steps that the network was shown once (exactly one template goes on like
# the truth, at least two differently) are the control.

# %%
places = {name: snapshot_steps("novel_steps_over_training", one, scale=scale) for name, one in networks.items()}
some = training_jobs(networks, places, seed, n_training, n_points)
if not some:  # a training without snapshots: its end
    over = novel_walks.assign(step=0)
else:
    over = measured("novel_steps_over_training", some, networks, scale=scale, recompute=recompute, live=some[:2])

# %%
LOOKS = {"before": (INK, "-", "before the novel step"), "at": (NOVEL, "-", "at it"), "after": (GREY, "-", "after it"),
         "once": (INK, ":", "known by one template")}
medians = over.groupby(["phase", "weights", "step"]).log_prob.median()
at = over[over.phase == "at"].groupby("step").log_prob.median()
figure, ax = plt.subplots(figsize=(7, 3.2))
for (phase, name), line in medians.groupby(level=["phase", "weights"]):
    colour, dashes, label = LOOKS[phase]
    first = name == over.weights.iloc[0]
    ax.plot(line.index.get_level_values("step"), line, color=colour, ls=dashes, label=label if first else None)
ax.set(xlabel="training step", ylabel="median log-probability of the true token",
       title="At the novel step the median goes from {:.1f} to {:.1f}".format(*at.loc[[at.index.min(), at.index.max()]]))
ax.legend(fontsize=8)
save(figure, "over_training", alt="Curves of the median log-probability over the training steps: before, at and after the novel step, and at "
     "steps known by one template.")

# %% [markdown]
# This was looked at after the other tables, and no margin was set before. The same as numbers, at the first and the last snapshot, over all
# networks:

# %%
ends = over[over.step.isin([over.step.min(), over.step.max()])]
ends.groupby(["phase", "step"]).log_prob.median().unstack().reindex(list(LOOKS)).round(2)

# %% [markdown]
# ## How the options of off-tree search were chosen
#
# On 150 problems of their own (seed 901, which no other table has), with one network. `counted` is how much of the forced token's
# log-probability counts in the ranking, `places` at how many beginnings a token is forced. The default was
# chosen among the rows with a beam of 20, for the most answers that are novel and accurate; the other beams were measured afterwards, and a
# beam of 10 is as good.

# %%
first = next(iter(networks.values()))
rows = read_plan()["tables"]["off_tree_choice"].rows(first, "nesymres", read_plan()["sizes"][scale], scale)
choice = measured("off_tree_choice", rows, first, scale=scale, live=2)
choice = choice.assign(both=choice.novel & choice.accurate)
by = choice.fillna({"counted": 0, "places": 0}).groupby(["strategy", "beam_size", "counted", "places"])
(100 * by[["novel", "accurate", "both", "same_template"]].mean()).round(1).assign(tokens=by.tokens.mean().round(), problems=by.size())
