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
# # A13 · Practice: three sets, six strategies, noise, forms, and other programs
#
# **Question.** What stands behind [chapter 13](../13_practice.py): every set, threshold, noise level and claim?
#
# **Runtime.** One minute; with `recompute` two hours at the laptop scale and two days of a GPU at the paper scale.
#
# **Knobs.** `recompute`: measure what the tables `practical`, `practical_baselines`, `fastsrb` and `black_box` lack. `python -m nsr replicate`
# runs this page with it.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the points, the splits and the searches
weights: str = "laptop/full"  # the plain network with all operators; empty: train tiny ones now
recompute: bool = False  # measure everything and write the tables, instead of reading them
n_live: int = 6  # problems of each set that are searched where there is no table
n_points: int = 100  # points given per formula; as many fresh ones judge
largest_beam: int = 150  # of the two beam sizes, the second
iterations: int = 30  # T, of NSR-gvs; of NSR-gvs + TPSR, each of them is a tree search
most_candidates: int = 450  # verified by local search, at most
n_noise: int = 46  # laws in the noise experiment
seconds: float = 3.0  # for us and for each baseline, on each problem of that section
n_against: int = 100  # problems of each set in that section, at most

# %% tags=["hide-input"]
import dataclasses

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown

from nsr import book
from nsr.data import SETS, Units, black_box_data, equations, practical_set
from nsr.evidence import ACCURATE, GREY, INK, LIGHT, THRESHOLDS, Row, accuracy_curve, labelled, measure_practical, measured, network_for, paired_difference, percent, practical_strategies, save, style_of, use_style, verdict_on_claim, wilson
from nsr.formulas import is_valid, parse, template_of
from nsr.regressor import BASELINES, OURS, as_prefix, available, black_box_jobs, published, release_jobs, same_time
from nsr.search import Budget

use_style()
networks = {kind: network_for(weights and weights + kind.removeprefix("full"), kind) for kind in ("full", "full-gvs")}
trained, sets = networks["full"], list(SETS)
titles = dict(zip(SETS, ("AI-Feynman", "five variables", "black box")))
large = f"beam {largest_beam}"

# %% [markdown]
# ## Rows
#
# A row is a strategy on a set. The noise experiment takes a part of the laws and leaves out the two tree searches, for time. What takes
# longest comes last: an interrupted measurement goes on where it stopped.
#
# Departure: `only_five_variables_nc` is drawn by our generator (NSRwH's file can be given by path). The fit of constants and the decoder
# are ours. With all operators a family may be shifted as a whole, so that $2 + e^{-x_1}$ can be written; by the paper's text a constant is
# added to a variable only.

# %%
drawn = {"min_operators": 2, "max_operators": 5} if weights == "laptop/full" else {}  # of NSR-gvs, as the table was measured
strategies = practical_strategies(largest_beam, iterations, most_candidates, **drawn)


def row(label, name, noise=0.0, limit=None):
    strategy, kind = strategies[label]
    return Row(strategy, name, seed, weights=kind, noise=noise, n_points=n_points, limit=limit)


noisy = [label for label in strategies if "TPSR" not in label]
grid = [row(label, name) for label in noisy for name in sets]
grid += [row(label, "feynman", noise, n_noise) for noise in (0.01, 0.1) for label in noisy]
grid += [row(label, name) for label in strategies if label not in noisy for name in sets]
try:
    black_box_data("192_vineyard")
    here = sets
except OSError as missing:  # no folder with the data, or no network to fetch them
    print(missing, "Black-box problems cannot be searched here; their lines can be read.")
    here = [name for name in sets if name != "black_box"]
grid = [one for one in grid if not recompute or one.test_set in here]
few = [dataclasses.replace(one, limit=n_live) for one in grid if one.test_set in here]
results = labelled(measured("practical", grid, networks, scale=scale, recompute=recompute, live=few))

# %% [markdown]
# The cheapest row is measured again on a few laws: a part of a set must come out as it did in the whole.

# %%
again = measure_practical(trained, row("beam 5", "feynman", limit=n_live)).set_index("problem")
before = results[(results.label == "beam 5") & (results.noise == 0)].set_index("problem").r2[again.index]
same = np.isclose(again.r2.astype(float), before, atol=1e-3).mean()
print(f"measured again: {len(again)} laws, {same:.0%} as in the table")
assert same >= 0.8  # another machine adds in another order, and a fit may end elsewhere

# %% [markdown]
# ## Six strategies, three sets
#
# > The general pattern remains consistent to the simplified setting, where large beam search and NSR-gvs+TPSR perform well, and
# > NeSymReS+TPSR perform poorly.
#
# The paper's figure: share of problems with $R^2$ above seven thresholds. For formulas $R^2$ is on fresh points; for black-box data on
# the quarter of the rows that was held out. Failures count.

# %%
NAMES = {"TPSR": "tpsr", "NSR-gvs": "gvs", "NSR-gvs + TPSR": "gvs+tpsr", "local search": "local"}


def look(label):
    """Colour and marker of the strategy; the small beam is hollow and dashed."""
    style = style_of(NAMES.get(label, "beam"))
    small = {"markerfacecolor": "white", "linestyle": "--"} if label == "beam 5" else {}
    return {"color": style["color"], "marker": style["marker"], **small}


clean = results[results.noise == 0]
curves = accuracy_curve(clean, by=["test_set", "label"])
figure, axes = plt.subplots(len(sets), 1, figsize=(7, 2.7 * len(sets)), sharex=True)
for ax, name in zip(axes, sets):
    part = curves[curves.test_set == name]
    for label in strategies:
        share = 100 * part[part.label == label].share
        ax.plot(range(len(share)), share, markersize=5, label=label, **look(label))
    ax.set(title=titles[name], ylabel="problems (%)")
axes[-1].set_xticks(range(len(THRESHOLDS)), [f"{t:g}" for t in THRESHOLDS])
axes[-1].set_xlabel("$R^2$ above")
axes[0].legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
save(figure, "thresholds", alt="Three panels, one for each set: share of problems with R² above seven thresholds, a line for each of six strategies.")

# %% [markdown]
# In numbers, with what it cost (seconds of one core; the machine was not equally busy for all rows), and how often the answer's template
# was not among the training templates:

# %%
shares = clean.assign(good=clean.r2 > ACCURATE, fair=clean.r2 > 0.9, set=clean.test_set.map(titles)).groupby(["set", "label"])
shares.agg(problems=("r2", "size"), accurate=("good", percent), above_09=("fair", percent), novel=("novel", percent),
           candidates=("candidates", "mean"), seconds=("seconds", "mean")).round(2)

# %% [markdown]
# The laws by whether the training set of the network has their template (chapter 13 has the same at equal seconds, beside programs that have no
# training set). One rule selects all answers: the best fit on the given points.

# %%
templates = {f"feynman-{law.lecture}": template_of(law.parsed[0]) for law in equations()}
of_laws = clean[clean.test_set == "feynman"]
of_laws = of_laws.assign(known=np.where(of_laws.problem.map(templates).isin(trained.templates), "known", "unknown"), good=of_laws.r2 > ACCURATE)
by_known = of_laws.groupby(["label", "known"]).agg(laws=("good", "size"), accurate=("good", percent), seconds=("seconds", "mean"))
by_known.unstack().swaplevel(axis=1).sort_index(axis=1).round(2)

# %% [markdown]
# ## Data of any size
#
# The networks saw numbers between −10 and 10. Where a column lies elsewhere it is divided by a power of ten, so that products stay
# products; only a column whose spread is small beside its size is shifted too. Formulas are brought back.

# %%
lines = []
for name in ("663_rabe_266", "690_visualizing_galaxy", "192_vineyard") if "black_box" in here else ():
    X, y, columns = black_box_data(name)
    units = Units.of(X, y)
    shifts, scales = [*units.shift, units.y_shift], [*units.scale, units.y_scale]
    for column, values, shift, size in zip([*columns, "target"], [*X.T, y], shifts, scales):
        lines.append((name, column, values.min(), values.max(), shift, size))
pd.DataFrame(lines, columns=["data", "column", "from", "to", "shift", "scale"]).set_index(["data", "column"])

# %% [markdown]
# ## Noise
#
# Gaussian noise of 1 % and 10 % of $y$'s standard deviation on the given points; the fresh ones are clean. The strategies answer with the
# best fit (local search with a pruned one); the shortest description among the same candidates is the other choice.

# %%
laws = {f"feynman-{law.lecture}": law for law in equations()}
noised = results[results.noise > 0]
best, short = (noised[column].astype(float).clip(0, 1) for column in ("r2", "r2_short"))
gain = paired_difference(short, best, noised.problem)  # all searches of a law are drawn together
verdict = {"holds": "the shortest is better", "fails": "the best fit is better"}.get(verdict_on_claim(gain, above=0), "undecided")
print(f"mean R² (below 0 as 0): best fit {best.mean():.3f}, shortest {short.mean():.3f},",
      f"difference {gain.value:+.3f} ({gain.low:+.3f} to {gain.high:+.3f}) in {len(noised)} searches: {verdict}")

# %% [markdown]
# For each strategy and level, on the laws of the noise experiment: $R^2 > 0.99$ on fresh points of the best fit, and of the shortest.

# %%
tried = results[(results.test_set == "feynman") & results.problem.isin(noised.problem) & results.label.isin(noisy)]
tried = tried.assign(best=tried.r2 > ACCURATE, shortest=tried.r2_short.astype(float) > ACCURATE)
tried.groupby(["label", "noise"])[["best", "shortest"]].agg(percent).unstack("noise")

# %% [markdown]
# ## Found, or only approximated?
#
# An answer has the *right form* if the law itself is that expression with some constants: fitted to clean values of the law it leaves
# nothing ($1 - R^2 \le 10^{-10}$), and no constant is enormous or tiny (the sine of a very small number is that number). `Equation.has_form`
# decides it by values. Its bounds were set after the first answers had been seen, so read small differences with care.

# %%
lens = laws["feynman-I.27.6"]
right, wrong = parse("x1*x2/(x2 + x3*x1)")[0], parse("0.9*x1*x2/(x2 + 2.1*x3)")[0]
assert lens.has_form(right) and not lens.has_form(wrong)
units_of = {p.name: Units.of(p.X, p.y) for p in practical_set("feynman", seed=seed, n_points=n_points)}


def in_form(answer, infix, name):
    """Whether an answer, in the units that it was searched in, has the law's form."""
    prefix = tuple(str(answer).split())
    if not is_valid(prefix):  # a failure
        return False
    constants = parse(infix)[1]
    start = constants if len(constants) == prefix.count("C") else ()
    return laws[name].has_form(prefix, start, units_of[name])


on_laws = results[results.test_set == "feynman"].copy()
on_laws["form"] = [in_form(*line) for line in zip(on_laws.answer, on_laws.answer_infix, on_laws.problem)]
untouched = on_laws[on_laws.noise == 0]

# %% [markdown]
# Without noise, by three measures:

# %%
BARS = {f"R² > {ACCURATE}": untouched.r2 > ACCURATE, "R² > 0.99999": untouched.r2 > 0.99999, "right form": untouched.form}
figure, ax = plt.subplots(figsize=(7, 3.4))
labels = [label for label in strategies if label in set(untouched.label)]
for (bar, holds), shade, height in zip(BARS.items(), (LIGHT, GREY, INK), (0.8, 0.55, 0.3)):
    ax.barh(labels, [100 * holds[untouched.label == label].mean() for label in labels], color=shade, height=height, label=bar)
ax.set(xlabel="share of the laws (%)", xlim=(0, 100))
ax.invert_yaxis()
forms = untouched.groupby("label").form.mean()
ax.set_title(f"{forms.idxmax()} has the right form most often: {forms.max():.0%}")
ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
save(figure, "forms", alt="For each strategy three bars inside each other: the share of laws with R² above 0.99, above 0.99999, and with the right form.")

# %% [markdown]
# The distance between the bars is what $R^2$ alone would count as found. With noise, on the laws of that experiment:

# %%
with_noise = on_laws[on_laws.problem.isin(noised.problem) & on_laws.label.isin(noisy)]
with_noise.groupby(["label", "noise"]).form.agg(percent).unstack("noise")

# %% [markdown]
# The laws with the largest and the smallest $R^2$ of local search, as the search wrote them: $x_1, x_2, \dots$ are the law's quantities in
# their order, in the units that were searched in. $R^2 = -\infty$: the answer has no value at some fresh point.

# %%
searched = untouched[untouched.label == "local search"].sort_values(["r2", "answer_length"], ascending=[False, True])
ends = pd.concat([searched.head(6), searched.tail(6)]).drop_duplicates("problem")
pd.DataFrame([(laws[name].law, laws[name].formula, answer, f"{r2:.5f}") for name, answer, r2 in zip(ends.problem, ends.answer_infix, ends.r2)],
             columns=["law", "formula", "answer", "R²"]).set_index("law")

# %% [markdown]
# ## Other programs
#
# gplearn and pyoperon are genetic programming from pip, an optional extra here. They get the operators they have, their own defaults
# (*as published*), one core, and the same seconds for each problem as local search, which here ends by the clock too. `NSRegressor` stands
# beside pyoperon with better settings in the last two sections.

# %%
endless = dataclasses.replace(strategies["local search"][0], candidates=10**9)
timed = {"strategy": endless, "budget": Budget(seconds=seconds)}
jobs, few = ([dataclasses.replace(row("local search", name, limit=limit), **timed) for name in places]
             for limit, places in ((n_against, here if recompute else sets), (min(n_live, n_against), here)))
against = measured("practical_baselines", same_time(jobs, networks), networks, scale=scale, recompute=recompute, live=same_time(few, networks))
against = labelled(against)
gone = [name for name in BASELINES if name not in set(against.strategy)]
print("not measured:", ", ".join(gone) or "nothing", "  installed here:", ", ".join(available()) or "none")

# %% [markdown]
# Genetic programs write the same variable twice and more constants than needed. For the form, factors that meet count as one, a summand
# before the whole is free, and all else counts as it is written.

# %%
def law_found(line):
    """Whether the answer of one line has its law's form."""
    if line.label == "local search":
        return in_form(line.answer, line.answer_infix, line.problem)
    parsed = as_prefix(line.label, str(line.answer_infix))
    return parsed is not None and laws[line.problem].has_form(*parsed)


lawful = against[against.test_set == "feynman"]
against.loc[lawful.index, "form"] = [float(law_found(line)) for line in lawful.itertuples()]
lines = []
for (name, who), part in against.groupby(["test_set", "label"]):
    lines.append((f"{titles[name]} ({len(part)})", who, percent(part.r2 > ACCURATE), percent(part.r2 > 0.9), f"{part.r2.clip(0).median():.3f}",
                  percent(part.form) if name == "feynman" else "", f"{part.seconds.mean():.1f}", f"{part.seconds.max():.1f}"))
columns = ["set", "", f"R² > {ACCURATE}", "R² > 0.9", "median R²", "right form", "seconds", "slowest"]
pd.DataFrame(lines, columns=columns).set_index(["set", ""])

# %% [markdown]
# ## Laws that nobody here wrote
#
# FastSRB (Martinek 2025) has 120 laws, those of AI-Feynman and more, with the ranges of physical quantities. A quarter of them, by a hash
# of their names, was for development; the others are the test, measured once for a release of the method. 512 rows are given.
# *Recovered* is, as others count it, at most $1.19 \cdot 10^{-7}$ of the variance left on fresh rows; *in time* are those that took no longer
# than the budget; *the law* is an answer that equals an accepted form also far outside the rows; *form* is an answer that does so once its
# constants are fitted to clean values. Seconds are those of one processor, because the machine was shared.
#
# Programs. `NSRegressor` is called with nothing but the time. *No network* is the same with a local search that begins with random formulas
# and asks no network; its plain forms are the same. pyoperon is *tuned here*: of two settings (with its defaults no constants are fitted) the
# one that recovered most development laws in two seconds; columns and $y$ are divided by powers of ten for it, because it computes in single
# precision; it had at least the seconds of the budget (so *in time* says nothing about it), and a law that it recovered in fewer seconds counts
# in more without being run again.
#
# What was decided when. The laws are public, and whoever improved `NSRegressor` had seen the whole list, so the two parts differ in what was
# measured during development, not in what was known. Release 2 was measured on the test laws without noise, too; one development law that it
# lost (III.14.14, a defect: R² of a few rows chose between formulas) was then mended, and release 3, which is shown, was measured anew. When
# its rows without noise were done, a test with data of our own showed terms with a pole near the rows in combinations (below), and these
# terms went; a combination answers only where more than two percent of the variance are left, so this touches no recovered law. No rule
# was changed for a test law. Noise and other seeds were measured in one second, because the time of the measurement was short. After that, a
# guard against enormous and cancelling constants came: an answer has such constants only if it explains one percent of the variance more
# than all plain ones, or is an exact formula with at most four. It gives up series that only fit, so in one second one test law fewer was
# recovered; the table was not measured again.

# %%
public = measured("fastsrb", release_jobs(trained, weights == "laptop/full"), {"full": trained}, scale="laptop", recompute=recompute)
public["in_time"] = public.recovered & (public.processor <= public.budget)
quiet = public[public.noise == 0]
shown = {"laws": ("law", "size"), "recovered": ("recovered", percent), "in time": ("in_time", percent), "the law": ("is_the_law", percent)}
shown |= {"form": ("form", percent), "processor": ("processor", "mean"), "slowest": ("processor", "max")}
quiet.groupby(["part", "program", "budget", "seed"]).agg(**shown).round(2)

# %% [markdown]
# Apart: the laws that are not among AI-Feynman's 92. They have more variables, or come from other books.

# %%
test = quiet[(quiet.part == "test") & (quiet.seed == seed)]
test.groupby(["program", "budget", "outside"]).agg(**shown).round(2)

# %% [markdown]
# The differences between programs, in points of recovered laws and of accepted forms. The laws are drawn again, both programs together;
# seeds of a law stay together.

# %%
def lead(table, a, b, what):
    """The paired difference of two programs in one measure, and whether a is ahead."""
    wide = table.assign(**{what: table[what].astype(float)}).pivot_table(index=["law", "seed"], columns="program", values=what)
    if a not in wide or b not in wide:
        return "not measured"
    pair = wide[[a, b]].dropna()
    change = paired_difference(pair[a], pair[b], pair.index.get_level_values("law"))
    return "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * x for x in change)) + f", {len(pair)} fits: {verdict_on_claim(change, above=0)}"


lines = [(budget, rival, what, lead(part, OURS, rival, what)) for budget, part in quiet[quiet.part == "test"].groupby("budget")
         for rival in ("pyoperon", "no network") for what in ("recovered", "form")]
pd.DataFrame(lines, columns=["seconds", "ahead of", "in", "points"]).set_index(["seconds", "ahead of", "in"])

# %% [markdown]
# With noise, a share of $y$'s standard deviation on the given rows, constants cannot be exact, so the form counts. The published numbers are
# numeric recovery (psaegert/srbf, 107 of the laws, about ten seconds, PySR a hundred; hardware not known); ours are in the seconds that the
# table names. The two measures are not the same: ours forgives wrong constants, theirs forgives wrong forms.

# %%
others = pd.DataFrame(published()["with_noise"]).rename(columns=lambda name: f"{name}, published")
noisy_laws = public[(public.part == "test") & (public.noise > 0)]
mine = noisy_laws.groupby(["noise", "budget"]).agg(laws=("law", "size"), form=("form", percent), recovered=("recovered", percent))
mine.reset_index("budget").join(others)

# %% [markdown]
# Is the share of forms above each published share? An interval of ours against a number without one:

# %%
for level, part in noisy_laws.groupby("noise"):
    share = wilson(int(part.form.sum()), len(part))
    best = others.loc[level].max()
    print(f"noise {level:g}: {100 * share.value:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f}), best published {best:g} %: {verdict_on_claim(share, above=best / 100)}")

# %% [markdown]
# ## Tables without a law
#
# The black-box tables again, with the present `NSRegressor`, pyoperon as above, a linear model and a random forest; each seed is another split.
# Where the shortest description leaves more than two percent of the variance, cross-validation within the given rows compares it with other
# formulas, with a line, and with combinations of terms from a long and a short list (`nsr.search.combinations`). Another one is the answer if
# its error is smaller by more than a standard error. Lists and rule were chosen on splits 10, 11 and 12 of the same tables. This is the third
# version of the rule; split 0 was seen with the earlier ones, splits 1 and 2 were not. Most of these tables are made by Friedman's function,
# which contains a wave of a product of two columns, and the short list has such waves. Ours ran beside other work,
# and so did part of split 0 of the other programs; their splits 1 and 2 had the machine for themselves. On another machine pyoperon reached
# more on split 0 (a median of 0.92), so its speed counts.

# %%
boxes = measured("black_box", black_box_jobs(trained, 3.0, comparable=weights == "laptop/full"), {"full": trained}, scale="laptop", recompute=recompute)
boxes["r2"] = boxes.r2.clip(0)
shown = {"tables": ("r2", "size"), "median": ("r2", "median"), "mean": ("r2", "mean"), "R² > 0.9": ("r2", lambda r2: percent(r2 > 0.9)), "processor": ("processor", "mean")}
boxes.groupby("program").agg(**shown).round(3)

# %% [markdown]
# $R^2$ of ours minus that of each other, below 0 as 0, tables drawn again:

# %%
wide_boxes = boxes.pivot_table(index=["problem", "seed"], columns="program", values="r2")
for rival in wide_boxes.columns.drop(OURS):
    pair = wide_boxes[[OURS, rival]].dropna()
    change = paired_difference(pair[OURS], pair[rival], pair.index.get_level_values("problem"))
    medians = pair.median()
    print("{:14s} mean {:+.3f} ({:+.3f} to {:+.3f});".format(rival, *change), f"medians {medians[OURS]:.3f} and {medians[rival]:.3f}")

# %% [markdown]
# ## Paper, ours, verdict
#
# The paper prints these results as a figure only, so its sentences are compared. A difference is between shares of problems with
# $R^2 > 0.99$ on the same problems, all sets together. A sentence *holds* if the whole 95 % interval is above zero, *fails* if all of it
# is below, and is *undecided* otherwise; all searches of one problem are drawn together.

# %%
def wide(table, what):
    """One line per problem, one column per strategy."""
    return table.assign(**{what: table[what].astype(float)}).pivot_table(index=["test_set", "problem", "noise"], columns="label", values=what)


good, new = wide(clean, "accurate"), wide(clean, "novel")
good_noisy, good_timed = wide(noised, "accurate"), wide(against, "accurate")
form, form_timed = wide(untouched, "form"), wide(against[against.test_set == "feynman"], "form")


def line(claim, a, b, table=good):
    if a not in table or b not in table:
        return f"| {claim} | missing | not measured |"
    pair = table[[a, b]].dropna()
    change = paired_difference(pair[a], pair[b], pair.index.get_level_values("problem"))
    points = "{:+.1f} points ({:+.1f} to {:+.1f})".format(*(100 * x for x in change))
    return f"| {claim} | {points} | {verdict_on_claim(change, above=0)} |"


# %% [markdown]
# The paper's sentences, ours, and what the data say.

# %%
claims = [
    line("a large beam does well (against beam 5)", large, "beam 5"),
    line(f"TPSR does poorly ({large} against it)", large, "TPSR"),
    line(f"… although it is novel more often (against {large})", "TPSR", large, new),
    line("NSR-gvs improves performance (against beam 5)", "NSR-gvs", "beam 5"),
    line("… with noise, too", "NSR-gvs", "beam 5", good_noisy),
    line("NSR-gvs + TPSR does well (against TPSR)", "NSR-gvs + TPSR", "TPSR"),
    line(f"ours: local search beats {large}", "local search", large),
    line("ours: local search beats NSR-gvs + TPSR", "local search", "NSR-gvs + TPSR"),
    *(line(f"ours: local search beats {who} in {seconds:g} s each", "local search", who, good_timed) for who in BASELINES),
    line(f"ours: local search has the law's form more often than {large}", "local search", large, form),
    line("… than NSR-gvs + TPSR", "local search", "NSR-gvs + TPSR", form),
    *(line(f"… than {who} in {seconds:g} s each", "local search", who, form_timed) for who in BASELINES),
]
book.record(**{f"accurate {titles[name]} {label}": float(part.mean()) for label in good for name, part in good[label].groupby("test_set")})
Markdown(f"At `{trained.name}`, {len(good)} problems, one network of each kind.\n\n| claim | ours | verdict |\n|---|---|---|\n" + "\n".join(claims))
