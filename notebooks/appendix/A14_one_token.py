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
# **Question.** Which tokens are novel steps, and does it matter which? Is it so with constants, with all operators, with transformer4sr? Which
# trainings make them less unlikely? How were the options of off-tree search chosen?
#
# **Runtime.** Half a minute, from the tables of [chapter 14](../14_one_token.py); with `recompute`, a minute per network that is here.
#
# **Knobs.** `recompute` measures what the tables lack.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the problems over the training
weights: str = "laptop/nesymres"  # the first of the networks; empty: train tiny ones now
full_weights: str = "laptop/full"  # the network with all operators; empty: train a tiny one now
t4sr_weights: str = "laptop/t4sr"  # transformer4sr; empty: train a tiny one now
draws: str = "1000, 1000@1, 10000, 100000, 100000@1"  # of the templates of the networks that are compared at equal items
variants: str = "smoothed-1000, reordered-1000, exchanged-1000"  # other trainings at equal items, compared with the first of `draws`
improved: str = "laptop/brief-1000"  # the network that goes on with what its searches found
rounds: int = 3  # of searching and training
n_networks: int = 4  # at most so many networks of this recipe, as far as they are here
n_problems: int = 400  # problems per test set and seed
n_training: int = 150  # problems per test set and snapshot
n_points: int = 100  # points given per problem
n_seeds: int = 3  # test sets of each kind
recompute: bool = False  # measure what the tables lack

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from nsr.evidence import (
    BY, GREY, INK, NOVEL, choice_jobs, gaps, judged_together, lead_over_beams, mean, measured, network_for, networks_for, networks_here, paired_difference, read_plan, round_name, rounds_jobs,
    save, scaling, shown_with_constants, slot_of, snapshot_steps, step_jobs, training_jobs, use_style, verdict_on_claim,
)
from nsr.formulas import ARITY, END, PrefixTree, template_of

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
# ## One novel step, or several?
#
# After the novel step no training template begins like the formula, so the tree says nothing about the rest. Ask about pieces instead: a
# token with the three before it (the start counts as tokens) is a *new piece* if no training template has it anywhere. A formula that leaves
# the tree may be made of known pieces only, and then it is their combination that is new.

# %%
def pieces(tokens, m=3):
    padded = ("",) * m + (*tokens, END)
    return [padded[k : k + m + 1] for k in range(len(padded) - m)]


shown_pieces = {name: {piece for template in one.templates for piece in pieces(template)} for name, one in networks.items()}
by_weights = {one.name: shown_pieces[name] for name, one in networks.items()}
is_new = {(weights, truth): [piece not in by_weights[weights] for piece in pieces(truth.split())]
          for weights, truth in novel_walks[["weights", "truth"]].drop_duplicates().itertuples(index=False)}
pieced = novel_walks.assign(new=[is_new[weights, truth][int(place)] for weights, truth, place in zip(novel_walks.weights, novel_walks.truth, novel_walks.place)])
pieced = pieced.assign(piece=np.where(pieced.new, "new piece", "known piece"))
pieced.groupby(["phase", "piece"]).log_prob.agg(["median", "size"]).reindex(["before", "at", "after"], level=0).round(2)

# %% [markdown]
# Does the price add up? `first` is the mean log-probability of the true token at the novel step, `later` the mean of the sum over new pieces
# after it, `rest` the mean of the sum over all other tokens, by the number of new pieces at or after the novel step.

# %% tags=["hide-input"]
KEY = ["weights", "seed", "problem", "truth"]
off = pieced[pieced.phase != "before"]
count = off.groupby(KEY).new.sum().rename("new pieces")
first = off[off.phase == "at"].set_index(KEY).log_prob.rename("first")
later = off[(off.phase == "after") & off.new].groupby(KEY).log_prob.sum().rename("later")
rest = (pieced.groupby(KEY).log_prob.sum() - first - later.reindex(first.index).fillna(0)).rename("rest")
priced = pd.concat([count, first, later, rest], axis=1).fillna({"later": 0.0}).reset_index()
priced["new pieces"] = priced["new pieces"].clip(upper=4)
table = priced.groupby("new pieces")[["first", "later", "rest"]].mean().assign(formulas=priced.groupby("new pieces").size()).round(2)
table.rename(index={4: "4 or more"})

# %% [markdown]
# ## Which choice is hard?
#
# The theorem is about the last token. Three choices, given the data and all true tokens before: the last leaf, the last operator (among those
# of its arity), and an inner leaf (the middle one of those before the last). Each is made by the network, by the network with the data of
# another problem, and by trying: the formula with each token, on the given points. After an operator, all variables are tried for all later
# leaves. At an inner leaf, what is tried is told the rest of the formula, and the network is not.

# %% tags=["hide-input"]
chosen = measured("novel_steps_choices", choice_rows := choice_jobs(networks, range(n_seeds), n_problems, n_points), networks, scale=scale,
                  recompute=recompute, live=choice_rows[: len(networks)])
WAYS = {"expected": "data of another problem", "network": "the network", "tried": "trying"}
chosen = chosen.assign(formula=np.where(chosen.known.astype(bool), "known", "unknown"), **{way: chosen[way].astype(float) for way in WAYS},
                       tokens=pd.cut(chosen.length, [0, 7, 10, 99], labels=["to 7", "8 to 10", "more"]))
def shares_of(lines):
    return pd.Series({label: "{:.0%} ({:.0%} to {:.0%})".format(*mean(lines[way], lines.truth, lines.weights)) for way, label in WAYS.items()}
                     | {"problems": len(lines)})


pd.DataFrame({key: shares_of(lines) for key, lines in chosen.groupby(["slot", "formula", "tokens"], observed=True)}).T.rename_axis(["slot", "formula", "tokens"])

# %% [markdown]
# In known formulas all three choices are mostly right. In unknown ones the leaves still are, and the last operator is not, although trying finds
# it nearly always. Is it the kind of token, or is it that the last operator often is the novel step? (This question came after the table
# was seen.)

# %%
trees = {one.name: PrefixTree(one.templates) for one in networks.values()}
where = [slot_of(tokens := tuple(truth.split()), slot) - (trees[weights].novel_step(tokens) or 0)
         for weights, truth, slot in zip(chosen.weights, chosen.truth, chosen.slot)]
beside = chosen.assign(beside=np.select([np.less(where, 0), np.equal(where, 0)], ["1 before", "2 at"], "3 after"))[chosen.formula == "unknown"]
pd.DataFrame({key: shares_of(lines) for key, lines in beside.groupby(["slot", "beside"])}).T.rename_axis(["slot", "beside the novel step"])

# %% [markdown]
# It is both. Every choice is made worse at the novel step than beside it. But a last leaf is mostly found even there, and a last operator of an
# unknown formula is often missed on either side of it: with the data of another problem the network chooses nearly as well, so that there it
# makes little of the data. The theorem explains neither: it says that there are formulas whose last token no network of this kind finds, and
# not how many or which; here the last leaf is the choice that is found best.
#
# ## With constants
#
# Chapter 14 asks about formulas without constants, because the templates tell what was shown of those. The log of a training holds a hash of each
# sequence that it showed. Every way to put constants into every template is written here and looked up in the log, which gives back the sequences.

# %%
again = sum(1 for _ in shown_with_constants(next(iter(networks.values()))))
print(f"{again:,} of {len(next(iter(networks.values())).seen):,} shown sequences were found again")
constant_jobs = step_jobs(networks, [seed], n_problems, n_points, [5], constants=True)
constants = measured("novel_steps_constants", constant_jobs, networks, scale=scale, recompute=recompute, live=constant_jobs)
lines = constants[(constants.what == "walk") & constants.phase.isin(["before", "at", "after"])]
known_to = {one.name: one.templates for one in networks.values()}
lines = lines.assign(template=["known" if template_of(tuple(truth.split())) in known_to[weights] else "unknown"
                               for weights, truth in zip(lines.weights, lines.truth)])
lines.groupby(["template", "phase"]).log_prob.agg(["median", "size"]).unstack(0).reindex(["before", "at", "after"]).round(2)

# %%
gap = gaps(lines[lines.template == "unknown"])
lower = mean(gap.gap, gap.truth, gap.weights)
print("unknown template, before − at: {:.2f} nats ({:.2f} to {:.2f})".format(*lower), verdict_on_claim(lower, above=2.0))
told = constants[constants.what == "told"].astype({"same": float})
(100 * told.groupby("told").same.agg(["mean", "size"]).reindex(["nothing", "before", "at"])).assign(size=lambda t: t["size"] / 100).round(1)

# %% [markdown]
# The margin is that of chapter 14. It was taken over after a trial with the first network and 150 problems had been seen, so that this is no
# claim made before. `known` are templates that were shown, with constants in places in which they were not. The last table is that of
# chapter 14: how often (%) a beam of five finds the true template.
#
# ## With all operators
#
# Is the novel step as unlikely to a network with another vocabulary and a much larger training set? The network with all operators was
# trained on formulas of one to six operators. Its margin is that of chapter 14: the claim holds if the whole interval of the difference
# *before − at* lies above 2 nats. It was set before this network was measured; one network was trained, so the interval is over formulas
# only.

# %%
full = {"full": network_for(full_weights, "full")}
full_jobs = step_jobs(full, [seed], n_problems, n_points, [5])
of_full = measured("novel_steps_full", full_jobs, full, scale=scale, recompute=recompute, live=full_jobs)
its_walks = of_full[(of_full.what == "walk") & (of_full.test_set == "not_included")]
print(f"{len(full['full'].templates):,} templates instead of {len(next(iter(networks.values())).templates):,}")
its_walks.groupby("phase").log_prob.agg(["median", "size"]).reindex(["before", "at", "after"]).round(2)

# %%
gap = gaps(its_walks)
lower = mean(gap.gap, gap.truth)
print("before − at: {:.2f} nats ({:.2f} to {:.2f})".format(*lower), verdict_on_claim(lower, above=2.0))
told = of_full[of_full.what == "told"].astype({"same": float})
(100 * told.groupby("told").same.agg(["mean", "size"]).reindex(["nothing", "before", "at"])).assign(size=lambda t: t["size"] / 100).round(1)

# %% [markdown]
# The first table has the median log-probability of the true tokens; `mean` in the last is how often (%) a beam of five finds the true
# template, told nothing, the true tokens before the novel step, or that step, too.
#
# The claim fails with this network: its novel step is only a little less likely than the steps before it. It differs from the networks of
# chapter 14 in two ways: its language, and its training set, which has many more templates, each shown a few times only. The next section
# changes the second alone.
#
# ## transformer4sr
#
# Its network (chapter 12) has another architecture, another language and another generator, and learns a fixed set of tables: each skeleton is
# shown with its constants as it is. The problems are skeletons that it was not shown. The margin is again that of chapter 14, and was set
# before this network was asked.

# %%
t4sr = {"t4sr": network_for(t4sr_weights, "t4sr")}
t4sr_jobs = step_jobs(t4sr, [seed], n_problems, scaling.N_POINTS, [5], "new_skeletons")
of_t4sr = measured("novel_steps_t4sr", t4sr_jobs, t4sr, scale=scale, recompute=recompute, live=t4sr_jobs)
its_walks = of_t4sr[(of_t4sr.what == "walk") & (of_t4sr.test_set == "new_skeletons")]
items = t4sr["t4sr"].settings["steps"] * t4sr["t4sr"].settings["batch"]
print(f"{len(t4sr['t4sr'].templates):,} skeletons, each shown {items / len(t4sr['t4sr'].templates):,.0f} times on the average")
gap = gaps(its_walks)
lower = mean(gap.gap, gap.truth)
print("before − at: {:.2f} nats ({:.2f} to {:.2f})".format(*lower), verdict_on_claim(lower, above=2.0))
found = 100 * of_t4sr[of_t4sr.what == "told"].astype({"same": float}).groupby("told").same.mean()
print("true template (%), told nothing {nothing:.1f}, what comes before {before:.1f}, the novel step too {at:.1f}".format(**found))
its_walks.groupby("phase").log_prob.agg(["median", "size"]).reindex(["before", "at", "after"]).round(2)

# %% [markdown]
# The claim fails here, too: the step is less likely than those before it, by less than the margin. Each skeleton was shown far less often than
# a template of chapter 14's networks.
#
# ## Few templates and many, at equal items
#
# The recipe `brief` is that of chapter 14 with a quarter of the steps. It was trained with templates of 1,000, 10,000 and 100,000 draws, at
# both ends with two sets of templates: the same language, network, steps and number of items. All are asked about the same formulas, which
# were held out from every training set. Two claims were written down before a training had ended: with the most templates, *before − at* is
# smaller than with the fewest, by 1 nat; and a beam of five, told nothing, is more accurate. The second networks of both ends were trained
# after the first had been measured.

# %%
sets = networks_here(*(f"{scale}/brief-{one.strip()}" for one in draws.split(",")))
here = {name: one for name, one in sets.items() if one}
set_jobs = step_jobs(sets, [seed], n_problems, n_points, [5], "not_included_matched")
of_sets = measured("novel_steps_draws", set_jobs, here, scale=scale, recompute=recompute, live=set_jobs)
number = of_sets.weights.str.extract(r"-(\d+)@?(\d*)")
of_sets = of_sets.assign(draws=number[0].astype(int), number=number[1])[of_sets.test_set == "not_included_matched"]
walked, told = of_sets[of_sets.what == "walk"], of_sets[of_sets.what == "told"]
told = told.assign(accurate=told.r2.astype(float) > 0.99, same=told.same.astype(float))
medians = walked.groupby(["draws", "phase"]).log_prob.median().unstack()[["before", "at", "after"]]
at_step, found = walked[walked.phase == "at"], told.pivot_table(index="draws", columns="told", values="same")
medians.assign(place=(at_step.place / at_step.length).groupby(at_step.draws).mean(),
               **{f"true template, told {way} (%)": 100 * found[way] for way in ("nothing", "before", "at")},
               **{"accurate, told nothing (%)": 100 * told[told.told == "nothing"].groupby("draws").accurate.mean()}).round(2)

# %% [markdown]
# `place` is where the novel step stands, as a share of the formula's length: more templates make a larger tree, which a formula leaves
# later.

# %%
LOOKS = {"before": (INK, "-", "before the novel step"), "at": (NOVEL, "-", "at it"), "after": (GREY, "-", "after it"),
         "once": (INK, ":", "known by one template")}
figure, ax = plt.subplots(figsize=(7, 3.2))
for phase in medians:
    colour, dashes, label = LOOKS[phase]
    ax.plot(medians.index, medians[phase], "o", ls=dashes, color=colour, label=label)
ax.set(xscale="log", xlabel="templates drawn for the training set", ylabel="median log-probability of the true token",
       title="The median at the novel step: {:.1f} with few templates, {:.1f} with many".format(*medians["at"].iloc[[0, -1]]))
ax.legend(fontsize=8)
save(figure, "few_and_many", alt="Three lines over the number of drawn templates: the median log-probability of the true token before, at and "
     "after the novel step.")

# %%
ends = {"few": of_sets.draws.min(), "many": of_sets.draws.max()}
gap_of, alone = gaps(walked), told[told.told == "nothing"]
gap_of = gap_of.merge(walked[["weights", "draws", "number"]].drop_duplicates())
few, many = (gap_of[gap_of.draws == n] for n in ends.values())
pair = few.merge(many, on=["number", "problem", "truth"], suffixes=("_few", "_many"))
smaller = paired_difference(pair.gap_few, pair.gap_many, pair.truth, pair.number)
print("the gap is smaller by {:.2f} nats ({:.2f} to {:.2f})".format(*smaller), verdict_on_claim(smaller, above=1.0))
few, many = (alone[alone.draws == n].astype({"accurate": float}) for n in ends.values())
pair = many.merge(few, on=["number", "problem", "truth"], suffixes=("_many", "_few"))
gained = paired_difference(pair.accurate_many, pair.accurate_few, pair.truth, pair.number)
print("the beam is more accurate by {:.1%} ({:.1%} to {:.1%})".format(*gained), verdict_on_claim(gained, above=0.0))

# %% [markdown]
# Intervals draw networks and formulas together; two networks at either end are few.
#
# ## How often a template was shown
#
# A larger training set differs in two ways: it has more templates, and at equal items each is shown less often. The snapshots of the three
# trainings tell these apart, because a small set at an early step has shown each template as often as a large set at a late one. Before
# they were measured, this was expected: the gap depends on how often a template was shown, so that its rank correlation with that number is
# above 0.9 over all snapshots, and higher than its correlation with the step. (This was written before any snapshot was asked.)

# %%
snapshots = {name: snapshot_steps("novel_steps_shown", one or name, scale=scale) for name, one in sets.items()}
shown_jobs = training_jobs(sets, snapshots, seed, n_problems, n_points, "not_included_matched")
over_sets = measured("novel_steps_shown", shown_jobs, here, scale=scale, recompute=recompute, live=shown_jobs)
each = gaps(over_sets).groupby(["weights", "shown", "step"]).gap.mean().reset_index()
print("rank correlation of the gap with how often: {:.2f}, with the step: {:.2f}".format(
    each.gap.corr(each.shown, method="spearman"), each.gap.corr(each.step, method="spearman")))

# %% [markdown]
# Snapshots of one training are not independent, so there is no interval. Chapter 14 has the picture.
#
# ## Other trainings with few templates
#
# Can a training with few templates leave a smaller gap? Three networks differ from the first one above in one setting each. `smoothed`: a
# tenth of each target's probability is spread evenly over the vocabulary. `reordered`: the terms of sums stand in a random order, another
# at every exposure. `exchanged`: 99,000 draws are added to the 1,000, each a drawn template in which a subtree was exchanged
# for one of another; held-out formulas are left out. All see as many items, and are asked about the same formulas. The tree of `reordered`
# has its templates in all orders, that of `exchanged` has all its templates.
#
# Written down before one of these trainings had ended. For each: the gap is smaller by 1 nat. `smoothed` finds the true template not more
# often by 2 points: smoothing keeps every probability from being very small, and need not change which token is the most likely one.
# `reordered` finds it more often. `exchanged` finds it more often by 2 points, and is more accurate. (A beam of five, told nothing.)

# %%
others = networks_here(*(f"{scale}/brief-{one.strip()}" for one in variants.split(",")))
other_jobs = step_jobs(others, [seed], n_problems, n_points, [5], "not_included_matched")
of_others = measured("novel_steps_variants", other_jobs, {name: one for name, one in others.items() if one}, scale=scale,
                     recompute=recompute, live=other_jobs)
of_others = of_others[of_others.test_set == "not_included_matched"]
base = of_sets[of_sets.weights == of_sets.weights.iloc[0]]
every = {"another network": of_sets[(of_sets.draws == ends["few"]) & (of_sets.weights != base.weights.iloc[0])]}
every |= {name.partition("-")[2].rpartition("-")[0]: lines for name, lines in of_others.groupby("weights")}

# %% tags=["hide-input"]
def told_nothing(lines):
    alone = lines[(lines.what == "told") & (lines.told == "nothing")]
    return alone.assign(accurate=(alone.r2.astype(float) > 0.99).astype(float), true_template=alone.same.astype(float))


def against(lines, base):
    """What differs from the base network, formula by formula: its gap, how likely it finds the step that is new to the base, its answers."""
    walks, base_walks = (part[part.what == "walk"] for part in (lines, base))
    new_to_base = base_walks[base_walks.phase == "at"][["problem", "truth", "place", "log_prob"]]
    pairs = {"gap": gaps(walks).merge(gaps(base_walks), on=["problem", "truth"], suffixes=("", "_base"))}
    pairs["log_prob"] = walks.merge(new_to_base, on=["problem", "truth", "place"], suffixes=("", "_base"))
    answers = told_nothing(lines).merge(told_nothing(base), on=["problem", "truth"], suffixes=("", "_base"))
    pairs |= {"accurate": answers, "true_template": answers}
    return {what: paired_difference(pair[what], pair[f"{what}_base"], pair.truth) for what, pair in pairs.items() if len(pair)}


changes = {name: against(lines, base) for name, lines in every.items() if len(lines)}
show = lambda found, what: "{:+.2f} ({:+.2f} to {:+.2f})".format(*found) if what in ("gap", "log_prob") else "{:+.1%} ({:+.1%} to {:+.1%})".format(*found)
pd.DataFrame({name: {what: show(found, what) for what, found in row.items()} for name, row in changes.items()}).T

# %% [markdown]
# Each line is a network minus the first one of 1,000 draws, on the same formulas; one network each, so that intervals are over formulas
# only, and the first line says how much a second network of the same recipe differs. `log_prob` is at the step that is new to the first
# network, whichever tree the other has.

# %%
CLAIMED = {"smoothed": {"gap": {"below": -1.0}, "true_template": {"below": 0.02}},
           "reordered": {"gap": {"below": -1.0}, "true_template": {"above": 0.0}},
           "exchanged": {"gap": {"below": -1.0}, "true_template": {"above": 0.02}, "accurate": {"above": 0.0}}}
claims = [(name, what, str(bound), verdict_on_claim(changes[name][what], **bound))
          for name, some in CLAIMED.items() if name in changes for what, bound in some.items() if what in changes[name]]
pd.DataFrame(claims, columns=["training", "what", "claimed", "verdict"]).style.hide(axis="index")

# %% [markdown]
# Smoothing does what was expected of it: the gap is smaller, and a beam finds the true template as rarely as before (never in these formulas; the
# interval of that difference reaches beyond 2 points). With terms in random order the network changes little. Exchanged subtrees make a large training set of a small one, and come near to the network of
# 100,000 draws in the table above: the parts of a few hundred templates are enough, if they are shown in many combinations.
#
# ## Self-training
#
# Can a network find the templates that it lacks? `python -m nsr improve brief-1000 --rounds 3` does so. In each round it draws problems of
# templates that the network was never shown, searches each with local search (at most 150 candidates), keeps the answers that explain fresh
# points and whose template is new, and trains the network for some more steps with the old templates and all found ones. Four controls train
# as long, and add as many templates in each round: `random` ones of the generator, `unverified` ones (any candidates of the same searches),
# the `truths` behind the same problems, and `nothing`. No held-out template is added, and the formulas that are asked are the held-out ones
# of above. One network begins; all networks here go on from it.
#
# Written down before the first search, on the end of the third round (a beam of five, told nothing): the gap of `found` is smaller than that
# of `nothing`, by half a nat; `found` is more accurate than `nothing`; `found` is not more accurate than `random`, by 3 points; and
# `found` finds the true template not less often than `truths`, by 3 points.

# %%
improved_scale = improved.partition("/")[0]
rows = rounds_jobs(improved, rounds)
went_on = measured("self_training", rows, {}, scale=improved_scale, recompute=recompute, live=rows)
went_on["by round"] = went_on.by + " " + went_on["round"].astype(str)
went_on.set_index("by round")[["templates", "problems", "solved", "true", "steps", "searched", "trained"]]

# %% [markdown]
# `solved` counts the problems whose answer explains fresh points, `true` those with the true template. `searched` are seconds of one core,
# `trained` seconds on the clock of a machine that had other work, too; all ways train for the same steps. The searches are those of `found`:
# `unverified` takes its templates from them, and `truths` knows the formulas of the same problems.

# %%
names = [improved, *(round_name(improved, "found", number) for number in range(1, rounds)), *(round_name(improved, by, rounds) for by in BY)]
ones = networks_here(*names)
size = (n_problems, n_points) if scale == improved_scale else (400, 100)  # at another scale the committed table is read
improved_jobs = step_jobs(ones, [seed], *size, [5], "not_included_matched")
of_improved = measured("novel_steps_improved", improved_jobs, {name: one for name, one in ones.items() if one}, scale=improved_scale,
                       recompute=recompute, live=improved_jobs)
of_improved = of_improved[of_improved.test_set == "not_included_matched"]
by_name = {name.removeprefix(improved).lstrip("+") or "before": lines for name, lines in of_improved.groupby("weights", sort=False)}
its_gaps, answers = {name: gaps(lines[lines.what == "walk"]) for name, lines in by_name.items()}, {name: told_nothing(lines) for name, lines in by_name.items()}
pd.DataFrame({name: {"gap (nats)": "{:.2f} ({:.2f} to {:.2f})".format(*mean(gap.gap, gap.truth)),
                     "accurate": "{:.1%} ({:.1%} to {:.1%})".format(*mean(answers[name].accurate, answers[name].truth)),
                     "true template": "{:.1%} ({:.1%} to {:.1%})".format(*mean(answers[name].true_template, answers[name].truth))}
              for name, gap in its_gaps.items()}).T

# %%
last = lambda by: by_name[f"{by}-{rounds}"]
COMPARED = [("nothing", "gap", {"below": -0.5}), ("nothing", "accurate", {"above": 0.0}), ("random", "accurate", {"below": 0.03}),
            ("truths", "true_template", {"above": -0.03})]
lines = [("found − " + other, what, show(found := against(last("found"), last(other))[what], what), str(bound), verdict_on_claim(found, **bound))
         for other, what, bound in COMPARED]
pd.DataFrame(lines, columns=["difference", "what", "value", "claimed", "verdict"]).style.hide(axis="index")

# %% [markdown]
# Whatever is added, the gap becomes smaller by about as much: templates that were found and verified, any candidates, random ones or the
# truths. More templates do it; that they were verified adds nothing that can be seen here. No way makes the beam more accurate, as far as these
# intervals can tell.
#
# What a minute buys: the change since the beginning, divided by the minutes that the searches and the trainings took.

# %%
minutes = went_on.groupby("by", sort=False)[["searched", "trained"]].sum().sum(axis=1) / 60
bought = {by: against(last(by), by_name["before"]) for by in BY}
pd.DataFrame({by: {"minutes": f"{minutes[by]:.1f}", "gap": show(bought[by]["gap"], "gap"), "accurate": show(bought[by]["accurate"], "accurate"),
                   "gap per minute": f"{bought[by]['gap'].value / minutes[by]:+.3f}",
                   "accurate per minute": f"{bought[by]['accurate'].value / minutes[by]:+.2%}"} for by in BY}).T

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
# ## Off-tree search at equal cost
#
# Chapter 14 compares off-tree search with a beam of 150, which verifies as many candidates. Forcing tokens costs more than that: here the
# beam has as many candidates, decoded tokens, evaluations of functions or seconds as off-tree search. Its share is interpolated between the
# two nearest sizes, and what costs more than the largest beam is stopped there. The first network, `not_included`; p-values are corrected
# for all lines by Holm's method. The costs were chosen after the tables had been seen; the published decoder was not tried with this search.

# %%
first = next(iter(networks.values()))
sizes = read_plan()["sizes"][scale] | {"beam_size": 150}
planned = {name: read_plan()["tables"][name].rows(first, "nesymres", sizes, scale) for name in ("off_tree", "beam")}
forced, beams = (measured(name, [row for row in rows if row.test_set == "not_included"], first, scale=scale, live=2)
                 for name, rows in planned.items())
leads = {(name, what, f"equal {cost}"): lead_over_beams(own, beams, cost, what)
         for name, own in forced.groupby("strategy") for what in ("novel", "accurate")
         for cost in ("candidates", "tokens", "evaluations", "seconds")}
found = judged_together(leads)
found[found.points != "–"].rename_axis(["search", "more", "than a beam of"])

# %% [markdown]
# Off-tree search decodes all forced formulas before it verifies the first of them. Stopped at the tokens or the seconds of a beam of 150, it
# has hardly verified more than its own small beam. What it finds, it finds at a higher cost. (A line is left out where a table lacks the cost.)

# %% [markdown]
# ## How the options of off-tree search were chosen
#
# On 150 problems of their own (seed 901, which no other table has), with one network. `counted` is how much of the forced token's
# log-probability counts in the ranking, `places` at how many beginnings a token is forced. The default was
# chosen among the rows with a beam of 20, for the most answers that are novel and accurate; the other beams were measured afterwards, and a
# beam of 10 is as good.

# %%
rows = read_plan()["tables"]["off_tree_choice"].rows(first, "nesymres", read_plan()["sizes"][scale], scale)
choice = measured("off_tree_choice", rows, first, scale=scale, live=2)
choice = choice.assign(both=choice.novel & choice.accurate)
by = choice.fillna({"counted": 0, "places": 0}).groupby(["strategy", "beam_size", "counted", "places"])
(100 * by[["novel", "accurate", "both", "same_template"]].mean()).round(1).assign(tokens=by.tokens.mean().round(), problems=by.size())
