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
# # Most laws of physics are found; data without a law stay hard
#
# **Claim.** The paper's: with all operators and a large training set the pattern stays; a large beam and NSR-gvs + TPSR do well, TPSR
# alone does not. Ours: verified local search is the one to pick.
#
# **You will see.** A formula from a CSV file in ten lines, how it is chosen, 92 laws of physics, noise, which were really found, and what
# a user would pick instead.
#
# **Needs.** [07](07_nsr_gvs.py), [10](10_families_and_local_search.py).
#
# **From the paper.** Appendix "Numerical Accuracy in Practical Settings".
#
# **Runtime.** Tiny: two minutes. Laptop: one minute, or two hours with `recompute`. Paper: two days of a GPU. On 2 cores.

# %% [markdown]
# At the laptop scale the tables come from reference results, and a part is searched again while you read. `weights` is the plain network
# with all operators; NSR-gvs uses the one with `-gvs` behind its name.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the points, the splits and the searches
weights: str = "laptop/full"  # the network; empty: train tiny ones now
recompute: bool = False  # measure everything and write the tables, instead of reading them
n_live: int = 6  # problems of each set that are searched while you read
n_points: int = 100  # points given per formula; as many fresh ones judge
largest_beam: int = 150  # of the two beam sizes, the second
iterations: int = 30  # T, of NSR-gvs; of NSR-gvs + TPSR, each of them is a tree search
most_candidates: int = 450  # verified by local search, at most
n_noise: int = 46  # laws in the noise experiment
seconds: float = 3.0  # for us and for each baseline, on each problem of that section
n_against: int = 100  # problems of each set in that section, at most

# %% [markdown]
# Imports, the networks, and what may be missing.

# %%
import dataclasses
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sympy
from IPython.display import Markdown, display

from nsr import NSRegressor, book
from nsr.data import SETS, Units, black_box_data, equations, practical_set
from nsr.evidence import (
    ACCURATE, BLUE, GREEN, GREY, INK, LIGHT, ORANGE, PINK, RED, THRESHOLDS, Row, accuracy_curve,
    measure_practical, measured, network_for, paired_difference, percent, save, style_of, use_style,
    verdict_on_claim,
)
from nsr.formulas import is_valid, parse, to_infix
from nsr.regressor import BASELINES, OURS, as_prefix, available, same_time
from nsr.search import Budget, by_name

use_style()
pd.set_option("display.max_colwidth", 100)

# %% [markdown]
# Two networks, the plain one and the prompted one; without the black-box data there is no black-box part.

# %%
networks = {kind: network_for(weights and weights + kind.removeprefix("full"), kind)
            for kind in ("full", "full-gvs")}
trained, sets = networks["full"], list(SETS)
titles = dict(zip(SETS, ("AI-Feynman", "five variables", "black box")))
try:
    black_box_data("192_vineyard")
except OSError as missing:  # no folder with the data, or no network to fetch them
    print(missing, "Without them there is no black-box part.")
    sets.remove("black_box")
print(f"{trained.name}: {len(trained.vocabulary.operators)} operators,",
      f"{len(trained.templates):,} training templates")

# %% [markdown]
# ## From a CSV file to a formula
#
# Ten lines, five of which make the file. The law is I.43.16 of the lectures, the drift of ions: `mobility · charge · voltage / distance`,
# measured with one percent of noise, in units that no network was trained on.

# %%
rng = np.random.default_rng(seed)
inputs = ["mobility", "charge", "voltage (mV)", "distance"]
ions = pd.DataFrame(rng.uniform(1, 5, (200, 4)), columns=inputs)
ions["voltage (mV)"] *= 1000
drift = ions["mobility"] * ions["charge"] * ions["voltage (mV)"] / 1e3 / ions["distance"]
table = ions.assign(drift=drift * (1 + 0.01 * rng.standard_normal(200)))
path = Path(tempfile.mkdtemp()) / "ions.csv"
table.to_csv(path, index=False)

# %% [markdown]
# And the five that read it. `equations_` has one row per candidate, the answer first. (Without Python: `python -m nsr fit ions.csv drift`.)

# %%
data = pd.read_csv(path)
X, y = data.drop(columns="drift"), data["drift"]
own = str(trained.folder)  # outside this page: NSRegressor() alone
model = NSRegressor(own, max_time=20, random_state=seed).fit(X, y)
display(Markdown(f"$$\\mathrm{{drift}} = {model.latex()}$$"))
model.equations_[["complexity", "constants", "r2", "novel", "source", "equation"]].head(5)

# %% [markdown]
# The formula is in the units and names of the file, whatever units were searched in, and it is what `predict` computes. The front shows
# what each further token buys; rows called *yardstick* are a constant and a straight line, to see whether the search was worth it.

# %%
names = sympy.symbols(model.symbols_, real=True)
by_sympy = sympy.lambdify(names, model.sympy(), "numpy")(*X.to_numpy().T)
assert np.allclose(by_sympy, model.predict(X), rtol=1e-6)
line = float(model.equations_[model.equations_.source == "yardstick"].r2.max())
print(f"R² of the answer {model.score(X, y):.4f}, of a straight line {line:.4f}")
model.pareto_front_[["complexity", "r2", "equation"]]

# %% [markdown]
# A table that no formula can be found for is refused in a sentence that says what to do.

# %%
for bad in (X.assign(ion=["Na", "Cl"] * 100), X.assign(charge=np.nan), X.head(1), X.charge):
    try:
        NSRegressor(own).fit(bad, y.head(len(bad)))
    except ValueError as sentence:
        print("•", sentence)

# %% [markdown]
# ## How the answer is chosen
#
# The candidate that fits the given points best also fits their noise. `NSRegressor` answers with the *shortest description*, in nats:
#
# $$\mathrm{DL} = \underbrace{\tfrac{P}{2} \ln \max(s^2, \text{floor})}_{\text{residuals}} +
# \underbrace{\tfrac{K}{2} \ln P + L \ln V}_{\text{formula}}, \qquad s^2 = (1 - R^2) \frac{P}{P - K}$$
#
# with $P$ points, $K$ constants, $L$ tokens, $V$ symbols. Fitting $K$ constants makes residuals smaller than the noise, hence the $P - K$. The
# floor is what rounding leaves: where $y$ was written down with two decimals, errors of half a hundredth need no explanation. Constants
# whose terms cancel cost $\ln 10$ more for each digit that they need beyond those of $y$ and two others. Both parts by hand, for all
# candidates of the ions:

# %%
P = len(y)
nats = model.equations_[np.isfinite(model.equations_.description_length)].copy()
left = (1 - nats.r2) * P / (P - nats.constants)
nats["residuals"] = P / 2 * np.log(np.maximum(left, 1e-12))  # y has all its digits: no floor
nats["formula"] = nats.description_length - nats.residuals
assert (nats.formula > 0).all() and (nats.residuals + nats.formula).idxmin() == 0
print(f"the answer: {nats.residuals[0]:.0f} nats for residuals, {nats.formula[0]:.0f} for the formula")


# %% [markdown]
# In the plane of the two parts, all formulas with the same description length lie on a line that falls with slope −1. Whoever trusts the
# data more, or less, weighs the formula with another weight, and the line gets another slope.


# %%
def draw_choice(ax, weight):
    """All candidates; the pick for a weight of the formula, and the line of its peers."""
    pick = nats.loc[(nats.residuals + weight * nats.formula).idxmin()]
    front = nats.sort_values("formula")
    front = front[front.residuals <= front.residuals.cummin()]
    ax.plot(nats.formula, nats.residuals, "o", color=LIGHT, markeredgecolor=GREY, markersize=4)
    ax.step(front.formula, front.residuals, where="post", color=BLUE, lw=1)
    along = np.linspace(0, nats.formula.max(), 2)
    ax.plot(along, pick.residuals - weight * (along - pick.formula), color=RED, lw=0.8)
    ax.plot(pick.formula, pick.residuals, "o", color=RED, markersize=8)
    room = 0.06 * np.ptp(nats.residuals)
    ax.set(xlabel="nats for the formula", ylabel="nats for the residuals",
           ylim=(nats.residuals.min() - room, nats.residuals.max() + room))
    ax.set_title(f"weight {weight:g}: {pick.complexity} tokens, $R^2$ = {pick.r2:.4f}", fontsize=9)
    return pick


# %% [markdown]
# The best fit (weight 0), the shortest description (1), and a miser (30):

# %%
figure, axes = plt.subplots(1, 3, figsize=(10.4, 3.3), sharey=True)
for ax, weight in zip(axes, (0, 1, 30)):
    pick = draw_choice(ax, weight)
    print(f"weight {weight:g}: {pick.equation}")
for ax in axes[1:]:
    ax.set_ylabel("")
save(figure, "choice")
plt.show()

# %% [markdown]
# Grey dots are candidates, the blue steps their front, and the red line touches the front at the pick: no candidate lies below it. With
# weight 0 the line is flat and touches the lowest dot, however far to the right. For a person there is a slider.

# %%
if not book.headless():
    from ipywidgets import SelectionSlider, interact

    weights_of = {"options": (0, 0.1, 0.3, 1, 3, 10, 30, 100), "value": 1, "description": "weight"}

    @interact(weight=SelectionSlider(**weights_of))
    def weigh(weight):
        chosen = draw_choice(plt.subplots(figsize=(6.4, 3.8))[1], weight)
        plt.show()
        print(f"{chosen.equation}\n{chosen.residuals:.0f} nats for residuals, {chosen.formula:.0f} for the formula")

# %% [markdown]
# ## 92 laws
#
# > This dataset consists of 91 equations with up to five independent variables, extracted from the AIFeynman database.
#
# The usual list has 92 lines. In one of them, II.13.17, the current $I$ was read as the imaginary unit, and that is probably the one that
# is missing. Our table is written from the lectures; a test compares it with the usual list, number by number.

# %%
laws = equations()
shown = pd.DataFrame([(e.lecture, e.law, e.formula, len(e.names), len(e.parsed[0])) for e in laws],
                     columns=["lecture", "law", "formula", "variables", "tokens"])
assert len(shown) == 92 and shown.variables.max() == 5
print("variables:", shown.variables.value_counts().sort_index().to_dict())
shown.set_index("lecture").iloc[:: len(shown) // 10]

# %% [markdown]
# Few variables each, and most of them short. The repaired one, as an example of how a law becomes a problem: points uniform in its ranges, values by its formula.

# %%
repaired = next(e for e in laws if e.lecture == "II.13.17")
problem = repaired.problem(np.random.default_rng(seed), n_points)
eps, c, current, r = problem.X.T
assert np.allclose(problem.y, current / (2 * np.pi * eps * c**2 * r))
print(repaired.law, ":", repaired.formula, "=", to_infix(*repaired.parsed, digits=4))

# %% [markdown]
# ## Data of any size
#
# The networks saw numbers between −10 and 10. Where a column lies elsewhere it is divided by a power of ten, so that products stay
# products; only a column whose spread is small beside its size is shifted too. Formulas are brought back.

# %%
if "black_box" in sets:
    rows = []
    for name in ("663_rabe_266", "690_visualizing_galaxy", "192_vineyard"):
        X_, y_, columns = black_box_data(name)
        units = Units.of(X_, y_)
        shifts, scales = [*units.shift, units.y_shift], [*units.scale, units.y_scale]
        for column, values, shift, size in zip([*columns, "target"], [*X_.T, y_], shifts, scales):
            rows.append((name, column, values.min(), values.max(), shift, size))
    display(pd.DataFrame(rows, columns=["data", "column", "from", "to", "shift", "scale"])
            .set_index(["data", "column"]))

# %% [markdown]
# The sets in one picture: how far the numbers lie from what the networks were trained on.

# %%
beyond = []
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2))
for name, colour in zip(sets, (BLUE, GREEN, ORANGE)):
    some = practical_set(name, seed=seed, n_points=n_points, n_fresh=2)
    reach = np.sort([(np.abs(p.X).max(), np.abs(p.y).max()) for p in some], axis=0)  # (B, 2)
    beyond.append((reach > [10, 65504]).mean(0))
    for ax, largest in zip(axes, reach.T):
        ax.step(largest, np.linspace(0, 1, len(largest)), color=colour, label=titles[name],
                where="post")
for ax, what, limit in zip(axes, ("|x|", "|y|"), (10, 65504)):
    ax.axvline(limit, color=INK, linestyle=":", lw=1)
    ax.set(xscale="log", xlabel=f"largest {what} of a problem", ylabel="share of problems")
worst = np.max(beyond, axis=0)
farthest = titles[sets[np.argmax(beyond, axis=0)[0]]]
axes[0].set_title(f"{farthest}: {worst[0]:.0%} beyond ±10", fontsize=10)
axes[1].set_title(f"at most {worst[1]:.0%} beyond what 16 bits hold", fontsize=10)
axes[0].legend(fontsize=8)
save(figure, "ranges")
plt.show()

# %% [markdown]
# Left of the dotted line a network can read the numbers as they are; the titles say how many problems lie beyond it.

# %% [markdown]
# ## Six strategies, three sets
#
# > The general pattern remains consistent to the simplified setting, where large beam search and NSR-gvs+TPSR perform well, and
# > NeSymReS+TPSR perform poorly.
#
# The paper's figure: share of problems with $R^2$ above seven thresholds. For the formulas $R^2$ is on fresh points; for black-box data
# on the quarter of the rows that was held out. Failures count.
#
# Departure: `only_five_variables_nc` is drawn by our generator (NSRwH's file can be given by path), and data are brought into other units
# as above. The fit of constants and the decoder are ours, not the published ones (chapters 04 and 05).
#
# Departure: by the paper's text an additive constant stands beside a variable only, so $2 + e^{-x_1}$ could not be written. With all
# operators a family ([10](10_families_and_local_search.py)) may be shifted as a whole.


# %%
def strategy_of(name, size):
    made = by_name(name, size)
    turned = {"iterations": iterations, "candidates": most_candidates}
    if weights == "laptop/full":  # the shipped table was measured with these; the network knows 1 to 6
        turned |= {"min_operators": 2, "max_operators": 5}
    known = {f.name for f in dataclasses.fields(made)}
    return dataclasses.replace(made, **{k: v for k, v in turned.items() if k in known})


large = f"beam {largest_beam}"
SPECS = {"beam 5": ("beam", 5), large: ("beam", largest_beam), "TPSR": ("tpsr", 1),
         "NSR-gvs": ("gvs", 5), "NSR-gvs + TPSR": ("gvs+tpsr", 1), "local search": ("local", 5)}
strategies = {label: strategy_of(*spec) for label, spec in SPECS.items()}
home = {label: "full-gvs" if "gvs" in name else "full" for label, (name, _) in SPECS.items()}


# %% [markdown]
# A row of the table is a strategy on a set. The noise experiment takes a part of the laws, and leaves out the two tree searches, for
# time. What takes longest comes last: an interrupted measurement goes on where it stopped.

# %%
def row(label, name, noise=0.0, limit=None):
    return Row(strategies[label], name, seed, weights=home[label], noise=noise, n_points=n_points,
               limit=limit)


LEVELS, noisy = (0.01, 0.1), [label for label in strategies if "TPSR" not in label]
grid = [row(label, name) for label in noisy for name in sets]
grid += [row(label, "feynman", noise, n_noise) for noise in LEVELS for label in noisy]
grid += [row(label, name) for label in strategies if label not in noisy for name in sets]
few = [dataclasses.replace(r, limit=n_live) for r in grid]
results = measured("practical", grid, networks, scale=scale, recompute=recompute, live=few)

# %% [markdown]
# Where there is no table of these networks yet, a few problems of each set are searched now, and the intervals are wide. The cheapest
# row is measured again on a few laws: a part of a set must come out as it did in the whole.

# %%
again = measure_practical(trained, row("beam 5", "feynman", limit=n_live)).set_index("problem")
before = results[(results.strategy == "beam") & (results.beam_size == 5)]
before = before[before.noise == 0].set_index("problem").r2[again.index]
same = np.isclose(again.r2.astype(float), before.astype(float), atol=1e-3).mean()
print(f"measured again: {len(again)} laws, {same:.0%} as in the table")
assert same >= 0.8  # another machine adds in another order, and a fit may end elsewhere

# %% [markdown]
# Names for the lines of the figure, and the shares.

# %%
label_of = {name: label for label, (name, _) in SPECS.items()}
results["label"] = [f"beam {size:.0f}" if name == "beam" else label_of[name]
                    for name, size in zip(results.strategy, results.beam_size)]
results["r2"] = results.r2.astype(float)
clean = results[results.noise == 0]
curves = accuracy_curve(clean, by=["test_set", "label"])
LABELS = [label for label in SPECS if label in set(clean.label)]


def look(label):
    """Colour and marker of the strategy; the small beam is hollow and dashed."""
    style = style_of(SPECS[label][0])
    small = {"markerfacecolor": "white", "linestyle": "--"} if label == "beam 5" else {}
    return {"color": style["color"], "marker": style["marker"], **small}


# %% [markdown]
# And the figure.

# %%
figure, axes = plt.subplots(1, len(sets), figsize=(3.4 * len(sets) + 1, 3.7), sharey=True,
                            squeeze=False)
for ax, name in zip(axes.flat, sets):
    part = curves[curves.test_set == name]
    for label in LABELS:
        share = 100 * part[part.label == label].share
        ax.plot(range(len(share)), share, markersize=5, label=label, **look(label))
    at = part[part.threshold == ACCURATE]
    first = at[at.share == at.share.max()].label.tolist()
    who = first[0] if len(first) == 1 else f"{len(first)} tie"
    ax.set_title(f"{titles[name]}: {who}, {at.share.max():.0%}", fontsize=10)
    ax.set_xticks(range(len(THRESHOLDS)), [f"{t:g}" for t in THRESHOLDS], rotation=60,
                  fontsize=8)
    ax.set_xlabel("$R^2$ above")
axes[0, 0].set_ylabel("share of problems (%)")
axes[0, -1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
save(figure, "thresholds")
plt.show()

# %% [markdown]
# Each title names the strategy with the largest share at $R^2 > 0.99$ in that set, and that share. The same in numbers, with intervals,
# what it cost (seconds of one core; the machine was not equally busy for all rows), and how often the answer's template was not among
# the training templates:

# %%
rows = []
for name in sets:
    for label in LABELS:
        part = clean[(clean.test_set == name) & (clean.label == label)]
        if len(part):
            rows.append((f"{titles[name]} ({len(part)})", label, percent(part.r2 > ACCURATE),
                         percent(part.r2 > 0.9), percent(part.novel),
                         round(part.candidates.mean()), f"{part.seconds.mean():.2f}"))
columns = ["set", "strategy", f"R² > {ACCURATE}", "R² > 0.9", "novel", "candidates", "seconds"]
pd.DataFrame(rows, columns=columns).set_index(["set", "strategy"])

# %% [markdown]
# Which laws are found? Those with the largest and the smallest $R^2$ of local search, as the search wrote them: $x_1, x_2, \dots$ are the
# law's quantities in their order, in the units that were searched in. $R^2 = -\infty$: the answer has no value at some fresh point.

# %%
law_of = {f"feynman-{law.lecture}": law for law in laws}
searched = clean[(clean.test_set == "feynman") & (clean.label == "local search")]
searched = searched.sort_values(["r2", "answer_length"], ascending=[False, True])
ends = pd.concat([searched.head(6), searched.tail(4)]).drop_duplicates("problem")
pd.DataFrame([(law_of[name].law, law_of[name].formula, answer, f"{r2:.5f}")
              for name, answer, r2 in zip(ends.problem, ends.answer_infix, ends.r2)],
             columns=["law", "formula", "answer", "R²"]).set_index("law")

# %% [markdown]
# ## Noise
#
# Gaussian noise of 1 % and 10 % of $y$'s standard deviation on the given points; the fresh ones are clean. The strategies themselves answer
# with the best fit (local search with a pruned one); the shortest description among the same candidates is the other choice.

# %%
feynman = results[(results.test_set == "feynman") & results.label.isin(noisy)]
noised = feynman[feynman.noise > 0]
feynman = feynman[feynman.problem.isin(noised.problem)]  # the same laws at every level
levels = sorted(feynman.noise.unique())
best, short = (noised[c].astype(float).clip(0, 1) for c in ("r2", "r2_short"))
gain = paired_difference(short, best, noised.problem)  # all searches of a law are drawn together
better = {"holds": "shortest", "fails": "best fit"}.get(verdict_on_claim(gain, above=0), "undecided")
print(f"mean R² (below 0 as 0) with noise: best fit {best.mean():.3f},",
      f"shortest {short.mean():.3f};",
      f"difference {gain.value:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})",
      f"in {len(noised)} searches: {better}")

# %% [markdown]
# The same as a picture, for each strategy and level:

# %%
figure, ax = plt.subplots(figsize=(6.8, 3.4))
last = {}
for label in noisy:
    part = feynman[feynman.label == label].groupby("noise")
    for column, line in (("r2_short", ":"), ("r2", "-")):
        share = [100 * np.mean(group[column].astype(float) > ACCURATE) for _, group in part]
        if len(share) == len(levels):
            last[label] = share[-1]
            ax.plot(range(len(levels)), share, **{**look(label), "linestyle": line},
                    label=label if column == "r2" else None)
ax.set_xticks(range(len(levels)), [f"{level:.0%}" for level in levels])
ax.set(xlabel="noise on the given points", ylabel=f"fresh $R^2$ > {ACCURATE} (%)",
       ylim=(-3, 103))
first = [label for label in last if last[label] == max(last.values())]
who = first[0] if len(first) == 1 else f"{len(first)} tie"
ax.set_title(f"With {levels[-1]:.0%} noise: {who}, {max(last.values()):.0f} %")
ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
save(figure, "noise")
plt.show()

# %% [markdown]
# Solid: the best fit; dotted: the shortest description, hidden where both are the same. A dotted line above the solid one of its colour
# says that the shorter answer was the better one more often. The title names who is right most often at the largest noise.

# %% [markdown]
# ## Found, or only approximated?
#
# $R^2 > 0.99$ does not say that the law was found. An answer has the *right form* if the law itself is that expression with some
# constants: fitted to clean values of the law it leaves nothing ($1 - R^2 \le 10^{-10}$), and no constant is enormous or tiny (the sine of a
# thousandth is a disguise). `Equation.has_form` decides it by values. Its bounds were set after the first answers had been seen, so read
# small differences with care. A law and two answers to try it on:

# %%
lens = next(e for e in laws if e.lecture == "I.27.6")
right, wrong = parse("x1*x2/(x2 + x3*x1)")[0], parse("0.9*x1*x2/(x2 + 2.1*x3)")[0]
print(lens.law, ":", lens.formula, "  ", lens.has_form(right), lens.has_form(wrong))
assert lens.has_form(right) and not lens.has_form(wrong)

# %% [markdown]
# All answers to laws, at every noise, with the constants that they had to start from:

# %%
units_of = {p.name: Units.of(p.X, p.y) for p in practical_set("feynman", seed=seed,
                                                              n_points=n_points)}


def in_form(answer, infix, name):
    """Whether an answer, in the units that it was searched in, has the law's form."""
    prefix = tuple(str(answer).split())
    if not is_valid(prefix):  # a failure
        return False
    constants = parse(infix)[1]
    start = constants if len(constants) == prefix.count("C") else ()
    return law_of[name].has_form(prefix, start, units_of[name])


tried = results[results.test_set == "feynman"].copy()
tried["form"] = [in_form(*line) for line in zip(tried.answer, tried.answer_infix, tried.problem)]
untouched = tried[tried.noise == 0]

# %% [markdown]
# Left, without noise, three bars to jump over; right, how the last of them holds up with noise.

# %%
BARS = {f"$R^2$ > {ACCURATE}": lambda t: t.r2 > ACCURATE, "$R^2$ > 0.99999": lambda t: t.r2 > 0.99999,
        "right form": lambda t: t.form}
figure, axes = plt.subplots(1, 2, figsize=(10.4, 3.6), width_ratios=(1.3, 1))
for (bar, holds), shade in zip(BARS.items(), (LIGHT, GREY, GREEN)):
    shares = [100 * holds(untouched[untouched.label == label]).mean() for label in LABELS]
    axes[0].barh(range(len(LABELS)), shares, color=shade, label=bar,
                 height=0.8 if shade == LIGHT else 0.55 if shade == GREY else 0.3)
axes[0].set_yticks(range(len(LABELS)), LABELS)
axes[0].set(xlabel="share of the laws (%)", xlim=(0, 100), ylim=(len(LABELS) - 0.5, -0.5))
axes[0].grid(axis="y", visible=False)
forms = untouched.groupby("label").form.mean()
axes[0].set_title(f"{forms.idxmax()} has the right form most often", fontsize=10)
same_laws = tried[tried.problem.isin(noised.problem)]
for label in noisy:
    share = same_laws[same_laws.label == label].groupby("noise").form.mean()
    axes[1].plot(range(len(share)), 100 * share, label=label, **look(label))
axes[1].set_xticks(range(len(levels)), [f"{level:.0%}" for level in levels])
axes[1].set(xlabel="noise on the given points", ylabel="right form (%)", ylim=(-3, 100))
axes[1].legend(fontsize=8)
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
save(figure, "forms")
plt.show()

# %% [markdown]
# The distance between the bars is what $R^2$ alone would sell as a discovery. With noise a formula with a term too many fits the given
# points better, so who answers with the best fit loses the form with the first percent; pruning is there to keep it.

# %%
lines = []
for label in LABELS:
    part = untouched[untouched.label == label]
    lines.append((label, *(percent(holds(part)) for holds in BARS.values()),
                  round(part.answer_length.mean(), 1)))
columns = ["without noise", *(bar.replace("$R^2$", "R²") for bar in BARS), "tokens of the answer"]
pd.DataFrame(lines, columns=columns).set_index("without noise")

# %% [markdown]
# ## What a user would pick instead
#
# gplearn and pyoperon are genetic programming from pip, an optional extra here. They get the operators they have, one core, and the same
# seconds for each problem as local search, which here ends by the clock too. `NSRegressor` is called with nothing but the time, four
# fifths of it, since it ends a little late: the last column has what each took. Nothing is tuned for or against them.

# %%
def timed_rows(limit):
    endless = dataclasses.replace(strategies["local search"], candidates=10**9)
    timed = {"strategy": endless, "budget": Budget(seconds=seconds)}
    return [dataclasses.replace(row("local search", name, limit=limit), **timed)
            for name in sets]


jobs, few = (same_time(timed_rows(n), networks) for n in (n_against, min(n_live, n_against)))
against = measured("practical_baselines", jobs, networks, scale=scale, recompute=recompute, live=few)
missing = [name for name in (OURS, *BASELINES) if name not in set(against.strategy)]
print("not measured:", ", ".join(missing) or "nothing",
      "  installed here:", ", ".join(available()) or "none")

# %% [markdown]
# Shares and medians for each set; for the laws, how many answers have the right form. (Genetic programs write the same variable twice
# and more constants than needed. Factors that meet count as one, a summand before the whole is free, and all else counts as it is
# written.)

# %%
def law_found(who, line):
    """Whether the answer of one line has its law's form."""
    if who == "local search":
        return in_form(line.answer, line.answer_infix, line.problem)
    parsed = as_prefix(who, str(line.answer_infix))
    return parsed is not None and law_of[line.problem].has_form(*parsed)


against["r2"] = against.r2.astype(float)
against["label"] = [label_of.get(name, name) for name in against.strategy]
on_laws = against[against.test_set == "feynman"]
against.loc[on_laws.index, "form"] = [float(law_found(x.label, x)) for x in on_laws.itertuples()]

# %% [markdown]
# Who does best on what:

# %%
WHO = [who for who in (OURS, "local search", *BASELINES) if who in set(against.label)]
rows = []
for name in sets:
    for who in WHO:
        part = against[(against.test_set == name) & (against.label == who)]
        rows.append((f"{titles[name]} ({len(part)})", who, percent(part.r2 > ACCURATE),
                     percent(part.r2 > 0.9), f"{part.r2.clip(0).median():.3f}",
                     percent(part.form) if name == "feynman" else "",
                     f"{part.seconds.mean():.1f}"))
columns = ["set", "", f"R² > {ACCURATE}", "R² > 0.9", "median R²", "right form", "seconds"]
pd.DataFrame(rows, columns=columns).set_index(["set", ""])

# %% [markdown]
# The same problems as dots: what is left of the variance, `NSRegressor` against them.

# %%
remaining = {who: 1 - part.set_index("problem").r2.clip(0, 1 - 1e-9)
             for who, part in against.groupby("label")}
figure, ax = plt.subplots(figsize=(7.4, 4.2))
ahead = []
for who, colour in zip(BASELINES, (PINK, RED)):
    if who in remaining and OURS in remaining:
        pair = pd.concat([remaining[OURS], remaining[who]], axis=1, keys=["ours", "theirs"]).dropna()
        ours, theirs = (pair.ours < pair.theirs).mean(), (pair.theirs < pair.ours).mean()
        ax.loglog(pair.ours, pair.theirs, "o", color=colour, markersize=4, alpha=0.6,
                  label=f"{who}: ours is closer in {ours:.0%},\nit is in {theirs:.0%}")
        ahead += [who] if ours > theirs else []
ax.plot([1e-9, 1], [1e-9, 1], color=GREY, lw=0.8)
ax.set(xlabel=f"1 − $R^2$, {OURS}", ylabel="1 − $R^2$, baseline")
ax.set_title(f"{seconds:g} s each: closer more often than {' and '.join(ahead) or 'nobody'}",
             fontsize=10)
if ax.get_legend_handles_labels()[0]:
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
save(figure, "baselines")
plt.show()

# %% [markdown]
# Above the line the baseline left more unexplained. Dots at the left end are exact answers of ours, dots at the bottom exact ones of the
# baseline.

# %% [markdown]
# ## Paper, ours, verdict
#
# The paper prints these results as a figure only, so its sentences are compared, not its numbers. A difference is between shares of
# problems with $R^2 > 0.99$ on the same problems, all sets together. A sentence *holds* if the whole 95 % interval is above zero, *fails*
# if all of it is below, and is *undecided* otherwise; all searches of one problem are drawn together.

# %%
flags = results.astype({"accurate": float, "novel": float})


def wide(table, what):
    """One line per problem, one column per strategy."""
    return table.pivot_table(index=["test_set", "problem", "noise"], columns="label", values=what)


good, new = (wide(flags[flags.noise == 0], what) for what in ("accurate", "novel"))
good_noisy = wide(flags[flags.noise > 0], "accurate")
good_timed = wide(against.astype({"accurate": float}), "accurate")


def compared(a, b, table=good):
    """Share of a minus share of b, with its interval; None where one of them is missing."""
    if a not in table or b not in table:
        return None
    pair = table[[a, b]].dropna()
    return paired_difference(pair[a], pair[b], pair.index.get_level_values("problem"))


def told(change):
    if change is None:
        return "missing", "not measured"
    text = "{:+.1f} points ({:+.1f} to {:+.1f})".format(*(100 * x for x in change))
    return text, verdict_on_claim(change, above=0)


# %% [markdown]
# The paper's sentences, ours, and what the data say.

# %%
claims = [("a large beam does well (against beam 5)", compared(large, "beam 5")),
          (f"TPSR does poorly ({large} against it)", compared(large, "TPSR")),
          (f"… although it is newer (new templates, against {large})",
           compared("TPSR", large, new)),
          ("NSR-gvs improves performance (against beam 5)", compared("NSR-gvs", "beam 5")),
          ("… with noise, too", compared("NSR-gvs", "beam 5", good_noisy)),
          ("NSR-gvs + TPSR does well (against TPSR)", compared("NSR-gvs + TPSR", "TPSR")),
          (f"ours: local search beats {large}", compared("local search", large)),
          ("ours: local search beats NSR-gvs + TPSR", compared("local search", "NSR-gvs + TPSR"))]
claims += [(f"ours: {mine} beats {who} in {seconds:g} s each", compared(mine, who, good_timed))
           for mine in (OURS, "local search") for who in BASELINES]
form = wide(untouched.assign(form=untouched.form.astype(float)), "form")
form_timed = wide(against[against.test_set == "feynman"], "form")
claims += [(f"ours: {mine} has the law's form more often than {who}", compared(mine, who, table))
           for mine, who, table in (("local search", large, form), (OURS, "gplearn", form_timed),
                                    ("local search", "NSR-gvs + TPSR", form),
                                    (OURS, "pyoperon", form_timed))]
book.record(**{f"accurate {titles[n]} {label}": float(part.mean())
              for label in good for n, part in good[label].groupby("test_set")})
text = f"At `{trained.name}`, {len(good)} problems, one network of each kind.\n\n"
lines = [" | ".join(("", claim, *told(change), "")) for claim, change in claims]
Markdown(text + "| claim | ours | verdict |\n|---|---|---|\n" + "\n".join(line.strip() for line in lines))

# %% [markdown]
# ## Exercises
#
# 1. *Predict.* The law I.12.1 is $\mu N$. A user measures $N$ in thousandths, so the column runs from 1000 to 5000. What does `Units` do to
#    the column, and which constant must the formula show in the user's units?

# %% tags=["solution"]
shift, size, constant = 0.0, 1000.0, 0.001

# %% tags=["check"]
column = 1000 * np.linspace(1, 5, 50)
units = Units.of(column[:, None], column / 1000)
prefix, constants = units.back(("x1",), ())
assert (units.shift[0], units.scale[0]) == (shift, size) and np.isclose(constants[0], constant)

# %% [markdown]
# 2. *Turn.* Fit the ions again with `selection="r2"`: the best fit is the answer. In its table, how many tokens has the row with the
# shortest description, and how many has the answer? And which is better on points without noise?

# %% tags=["solution"]
greedy = NSRegressor(own, max_time=20, random_state=seed, selection="r2").fit(X, y)
shortest = greedy.equations_.description_length.idxmin()
lengths = greedy.equations_.complexity[shortest], greedy.equations_.complexity[0]

# %% tags=["check"]
listed = greedy.equations_
at = listed.description_length.idxmin()
assert greedy.selection == "r2" and listed.r2[0] == listed.r2.max(), "the best fit comes first"
assert tuple(lengths) == (listed.complexity[at], listed.complexity[0])
clean_r2 = [1 - np.mean((greedy.predict(X, i) - drift) ** 2) / drift.var(ddof=0) for i in (at, 0)]
print(f"tokens: {lengths[0]} and {lengths[1]};  R² without noise: {clean_r2[0]:.6f} and {clean_r2[1]:.6f}")

# %% [markdown]
# 3. *Build.* Another way to choose: of the rows of `equations_` whose $R^2$ is above 90 % of the best, return the shortest equation.

# %% tags=["solution"]
def plainest(fitted, least=0.9):
    rows = fitted.equations_
    return rows[rows.r2 > least * rows.r2.max()].sort_values("complexity").equation.iloc[0]


# %% tags=["check"]
plain, all_rows = plainest(model), model.equations_
near = all_rows[all_rows.r2 > 0.9 * all_rows.r2.max()]
assert plain in set(near.equation[near.complexity == near.complexity.min()]), "a shorter one is as good"
print("the plainest formula that is nearly as good:", plain)

# %% [markdown]
# **What's next.** [One token](14_one_token.py): the place at which the network copies.
