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
# **You will see.** A formula from a CSV file in ten lines, how it is chosen, 92 laws of physics against time, laws by known and
# unknown template, what fails and why.
#
# **Needs.** [07](07_nsr_gvs.py), [10](10_families_and_local_search.py).
#
# **From the paper.** Appendix "Numerical Accuracy in Practical Settings".
#
# **Runtime.** Tiny: two minutes. Laptop: two minutes. Paper: two minutes, after its report. On 2 cores.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the points, the splits and the searches
weights: str = "laptop/full"  # the plain network with all operators; empty: train tiny ones now
n_live: int = 6  # problems of each set that are searched now where there is no table
n_points: int = 100  # points given per formula; as many fresh ones judge
largest_beam: int = 150  # of the two beam sizes, the second
iterations: int = 30  # T, of NSR-gvs; of NSR-gvs + TPSR, each of them is a tree search
most_candidates: int = 450  # verified by local search, at most
seconds: float = 3.0  # for us and for each other program, on each problem
n_against: int = 100  # problems of each set in that comparison, at most

# %% tags=["hide-input"]
import dataclasses
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown

from nsr import NSRegressor
from nsr.data import Units, equations
from nsr.evidence import ACCURATE, GREY, INK, LIGHT, Row, control, labelled, measured, network_for, paired_difference, percent, practical_strategies, save, style_of, use_style, verdict_on_claim, wilson
from nsr.formulas import template_of
from nsr.regressor import BASELINES, OURS, same_time
from nsr.search import Budget

use_style()
pd.set_option("display.max_colwidth", 60)
networks = {kind: network_for(weights and weights + kind.removeprefix("full"), kind) for kind in ("full", "full-gvs")}
trained = networks["full"]
own = str(trained.folder)

# %% [markdown]
# ## A formula for your table
#
# First we need a table. The law is I.43.16 of Feynman's lectures, the drift of ions: mobility · charge · voltage / distance. We measure it
# 200 times, with the voltage in millivolts, which no network was trained on, and with errors of one percent of the spread.

# %%
rng = np.random.default_rng(seed)
names = ["mobility", "charge", "voltage", "distance"]
table = pd.DataFrame(rng.uniform(1, 5, (200, 4)), columns=names)
truth = table.mobility * table.charge * table.voltage / table.distance
table["voltage"] *= 1000  # millivolts
table["drift"] = truth + 0.01 * truth.std() * rng.standard_normal(200)
path = Path(tempfile.mkdtemp()) / "ions.csv"
table.to_csv(path, index=False)

# %% [markdown]
# These lines are all that a user writes; outside this page `NSRegressor()` finds its network by itself. Without Python,
# `python -m nsr fit ions.csv drift` does the same.

# %%
data = pd.read_csv(path)
X, y = data.drop(columns="drift"), data["drift"]
model = NSRegressor(own, max_time=10, random_state=seed)
model.fit(X, y)
print("drift =", model.formula_)
print("R² on the table:", round(model.score(X, y), 4))

# %% [markdown]
# The answer is one of many candidates. From the shortest to the longest, the *front* keeps each one that fits better than all before it.

# %%
best, front = -np.inf, []
order = model.equations_.sort_values(["complexity", "r2"], ascending=[True, False])
for row, r2 in order.r2.items():
    if r2 > best:
        best = r2
        front.append(row)
assert front == model.pareto_front_.index.tolist()

# %% [markdown]
# The arrow marks the pick, which has row number 0.

# %%
columns = ["complexity", "constants", "r2", "equation"]
shown = model.equations_.loc[sorted({0, *front}), columns].sort_values("complexity")
shown.insert(0, "", ["▶" if row == 0 else "" for row in shown.index])
assert shown.equation[0] == model.formula_
shown.round(6)

# %% [markdown]
# What is the value for a new row, and how sure are the constants? The half-widths of their 95 % intervals hold if the form is right and
# the errors are independent and of one size. `beyond_` names columns just outside whose data the formula has no value, or an absurd one.

# %%
new = pd.DataFrame([[2.0, 1.5, 3000.0, 4.0]], columns=X.columns)
print(f"predicted {model.predict(new)[0]:.4f}, by the law {2.0 * 1.5 * 3.0 / 4.0:.4f}")
print("half-widths of the constants:", [f"{half:.2g}" for half in model.half_widths_])
print("undefined or absurd beyond the data:", model.beyond_ or "nowhere")
assert np.allclose(model.to_numpy()(X.to_numpy()), model.predict(X))

# %% [markdown]
# A table without an answer is refused in a sentence that says what to do. Here are text, missing values and a single row.

# %%
text, missing = X.assign(ion=["Na", "Cl"] * 100), X.assign(charge=np.nan)
for bad in (text, missing, X.head(1)):
    try:
        NSRegressor(own).fit(bad, y.head(len(bad)))
    except ValueError as sentence:
        print("•", sentence)

# %% [markdown]
# ## How the answer is chosen
#
# The candidate that fits the given rows best also fits their errors. `NSRegressor` answers with the *shortest description*, in nats:
#
# $$\mathrm{DL} = \underbrace{\tfrac{P}{2} \ln s^2}_{\text{residuals}} +
# \underbrace{\tfrac{K}{2} \ln P + L \ln V}_{\text{formula}}$$
#
# $$s^2 = (1 - R^2) \frac{P}{P - K}$$
#
# with $P$ rows, $K$ constants, $L$ tokens and $V$ symbols. Fitting $K$ constants makes residuals smaller than the errors, hence $P - K$.
# ($s^2$ has a floor, what the rounding of $y$ leaves. A constant that needs more digits than $y$ has costs more.) Both parts by hand:

# %%
P = len(y)
nats = model.equations_[np.isfinite(model.equations_.description_length)].copy()
s2 = (1 - nats.r2) * P / (P - nats.constants)
nats["residuals"] = P / 2 * np.log(np.maximum(s2, 1e-12))
nats["formula"] = nats.description_length - nats.residuals
assert (nats.formula > 0).all() and (nats.residuals + nats.formula).idxmin() == 0
print(f"the answer: {nats.residuals[0]:.0f} nats for residuals, {nats.formula[0]:.0f} for the formula")

# %% [markdown]
# Whoever trusts the data more, or less, gives the formula another weight. Move the control; with weight 1 the pick is the shortest
# description. Each dot is a candidate, and the line goes through all points with the same weighted sum as the pick.

# %% tags=["hide-input"]
def choice(weight):
    pick = nats.loc[(nats.residuals + weight * nats.formula).idxmin()]
    figure, ax = plt.subplots(figsize=(7, 3.4))
    ax.plot(nats.formula, nats.residuals, "o", color=LIGHT, markeredgecolor=GREY, markersize=4)
    along = np.array([0, nats.formula.max()])
    ax.plot(along, pick.residuals - weight * (along - pick.formula), color=INK, lw=0.8)
    ax.plot(pick.formula, pick.residuals, "o", color=INK, markersize=8)
    room = 0.06 * np.ptp(nats.residuals)
    ax.set(xlabel="nats for the formula", ylabel="nats for the residuals", ylim=(nats.residuals.min() - room, nats.residuals.max() + room))
    ax.set_title(f"weight {weight:g}: {pick.complexity} tokens, $R^2$ = {pick.r2:.4f}\n{pick.equation[:60]}", fontsize=9)
    return figure


control(choice, "weight of the formula", (0, 0.1, 0.3, 1, 3, 10, 30), alt="Weight {}: candidates as dots, nats for the formula against nats for the residuals; the pick is dark, and a line through it has no dot below it.")

# %% [markdown]
# No dot lies below the line. With weight 0 the pick is the best fit, however long it is.
#
# ## 92 laws of physics
#
# > This dataset consists of 91 equations with up to five independent variables, extracted from the AIFeynman database.
#
# Slip: the usual list has 92 lines. In one of them, II.13.17, the current $I$ was read as the imaginary unit, and that is probably the
# one that is missing. Our table is written from the lectures; a test compares it with the usual list.

# %%
laws = {f"feynman-{law.lecture}": law for law in equations()}
sizes = [(law.law, law.formula, len(law.names), len(law.parsed[0])) for law in laws.values()]
shown = pd.DataFrame(sizes, columns=["law", "formula", "variables", "tokens"])
assert len(shown) == 92 and shown.variables.max() == 5
shown.set_index("law").iloc[::20]

# %% [markdown]
# ## One regression finds some of them
#
# Many laws are *power laws*, $y = c\,x_1^{a_1} x_2^{a_2} \cdots$. The logarithm turns such a law into a straight line,
# $\ln y = \ln c + a_1 \ln x_1 + a_2 \ln x_2 + \cdots$, and one linear regression finds its exponents. `NSRegressor` tries such plain forms
# before it asks a network.


# %%
def power_law(X, y):
    """ln c and the exponents (D+1,), and the share of the variance that is left."""
    A = np.column_stack([np.ones(len(X)), np.log(X)])  # (P, D+1)
    found, *_ = np.linalg.lstsq(A, np.log(y), rcond=None)
    return found, np.mean((np.exp(A @ found) - y) ** 2) / np.var(y)


found, left = power_law(X.to_numpy(), y)
print(f"ions: c = {np.exp(found[0]):.4g}, exponents {found[1:].round(3)}, left {left:.1e}")

# %% [markdown]
# How many of the 92 laws does this find, without errors in $y$? We call a law *recovered* if at most $1.2 \cdot 10^{-7}$ of the variance
# is left, a measure of other published comparisons, and much stricter than $R^2 > 0.99$.

# %%
RECOVERED, by_regression = 1.2e-7, []
for name, law in laws.items():
    problem = law.problem(np.random.default_rng(seed), n_points)
    columns = problem.X[:, : len(law.names)]
    if columns.min() > 0 and problem.y.min() > 0:
        _, left = power_law(columns, problem.y)
        by_regression += [name] if left <= RECOVERED else []
print(f"{len(by_regression)} of {len(laws)} laws are found by one regression")

# %% [markdown]
# A search has to find more than these. The strategies of the earlier chapters now search with two networks that know all operators, on
# 100 points of each law.
#
# Departure: fit and decoder are ours, not the published ones (chapters 04 and 05), and with all operators a family may be shifted as a
# whole, so that $2 + e^{-x_1}$ can be written.
#
# gplearn and pyoperon are genetic programming from pip, with their own defaults, on one core, in the same seconds for each problem;
# `NSRegressor` is called with four fifths of them. Nothing was tuned for or against them.

# %% tags=["hide-input"]
drawn = {"min_operators": 2, "max_operators": 5} if weights == "laptop/full" else {}  # NSR-gvs, as the table was measured
strategies = practical_strategies(largest_beam, iterations, most_candidates, **drawn)
SETS = {"feynman": "laws", "only_five_variables_nc": "five variables", "black_box": "black box"}
grid = [Row(strategy, name, seed, weights=kind, n_points=n_points) for strategy, kind in strategies.values() for name in SETS]
few = [dataclasses.replace(row, limit=n_live) for row in grid if row.test_set != "black_box"]
results = labelled(measured("practical", grid, networks, scale=scale, live=few))
endless = dataclasses.replace(strategies["local search"][0], candidates=10**9)
timed = [Row(endless, name, seed, weights="full", n_points=n_points, limit=n_against, budget=Budget(seconds=seconds)) for name in SETS]
few = [dataclasses.replace(row, limit=min(n_live, n_against)) for row in timed if row.test_set != "black_box"]
against = labelled(measured("practical_baselines", same_time(timed, networks), networks, scale=scale, live=same_time(few, networks)))

# %% [markdown]
# ## How many, and how fast
#
# Now the searches, judged on fresh points. An answer counts from the second at which its search ended. *Accurate* is $R^2 > 0.99$.
# (`NSRegressor` was measured in an earlier version, without the plain forms; the line above names its commit.)

# %%
others = against[against.label != "local search"]  # with its own end it is in `results`
both = pd.concat([results, others]).query("test_set == 'feynman'").copy()
both["recovered"] = 1 - both.r2 <= RECOVERED
columns = {"recovered": ("recovered", percent), "accurate": ("accurate", percent)}
columns |= {"seconds": ("seconds", "mean"), "slowest": ("seconds", "max")}
both.groupby("label").agg(**columns).sort_values("seconds").round(2)

# %% [markdown]
# Against time, for the most accurate strategies and the two programs that come closest:

# %% tags=["hide-input"]
LOOKS = {f"beam {largest_beam}": "beam", "NSR-gvs": "gvs", "NSR-gvs + TPSR": "gvs+tpsr", "local search": "local"}
DASHES = {OURS: (INK, "-"), "pyoperon": (GREY, "--")}
figure, ax = plt.subplots(figsize=(7, 3.8))
for label, part in both.groupby("label"):
    ends = np.sort(part.seconds[part.recovered.astype(bool)])
    share = 100 * np.arange(1, len(ends) + 1) / len(part)
    if label in LOOKS and len(ends):
        ax.step(ends, share, where="post", color=style_of(LOOKS[label])["color"], label=label)
    elif label in DASHES and len(ends):
        ax.step(ends, share, where="post", color=DASHES[label][0], linestyle=DASHES[label][1], label=label)
ax.set(xscale="log", xlabel="seconds of one core for a law", ylabel="laws recovered (%)", ylim=(0, 100))
best = both.groupby("label").recovered.mean()
ax.set_title(f"{best.idxmax()} recovers most laws: {best.max():.0%}")
ax.legend(fontsize=8)
save(figure, "laws_by_time", alt="Share of the 92 laws recovered against seconds for a law, logarithmic. A curve for each strategy rises to its final share; local search ends highest, and a beam is fastest.")

# %% [markdown]
# A beam is fast and ends early; local search goes on to the highest share. The tables were measured on a shared machine, so read a
# factor in time, not a percent of it.
#
# ## Known and unknown templates
#
# The network may recall a law instead of finding it, because its training set has the template of some of them. A law is *known* if its
# template, with the variables in the order of the columns, is in that set.

# %%
known = {name: template_of(law.parsed[0]) in trained.templates for name, law in laws.items()}
both["known"] = both.problem.map(known)
for flag in (True, False):
    lengths = [len(laws[name].parsed[0]) for name in known if known[name] == flag]
    print(f"{'known' if flag else 'unknown'}: {len(lengths)} laws, {np.mean(lengths):.1f} tokens on average")
split = both.groupby(["label", "known"]).recovered
split.apply(percent).unstack().rename(columns={True: "known", False: "unknown"})

# %% [markdown]
# As a picture, with 95 % intervals:

# %% tags=["hide-input"]
split = split.agg(["sum", "size"]).astype(int)
labels = [label for label in best.sort_values().index if label in {*LOOKS, *DASHES}]
figure, ax = plt.subplots(figsize=(7, 3.4))
for flag, marker, name, shift in ((True, "o", "known template", -0.12), (False, "D", "unknown template", 0.12)):
    for y_, label in enumerate(labels):
        if (label, flag) in split.index:
            value, low, high = (100 * share for share in wilson(*split.loc[(label, flag), ["sum", "size"]]))
            ax.errorbar(value, y_ + shift, xerr=[[max(0, value - low)], [max(0, high - value)]], marker=marker, color=INK if flag else GREY, label=name if y_ == 0 else None)
ax.set_yticks(range(len(labels)), labels)
ax.set(xlabel="laws recovered (%)", xlim=(0, 100))
ax.set_title("Laws of known templates are recovered far more often")
ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
save(figure, "known_unknown", alt="For each strategy the share of recovered laws with a known and with an unknown template, with intervals. The known ones lie far to the right for every strategy.")

# %% [markdown]
# The circles lie far to the right of the diamonds in every row. This is not recall alone: pyoperon has no training set, and laws of unknown
# templates are longer, so they are harder for everybody.
#
# ## What fails, and why
#
# Take `NSRegressor`, the program of this page. Which templates have the laws that it missed?

# %%
longest = max(map(len, trained.templates))


def reason(name):
    if len(template_of(laws[name].parsed[0])) > longest:
        return f"longer than every training template ({longest} tokens)"
    return "known template" if known[name] else "unknown template"


mine = both[both.label == OURS].set_index("problem").recovered
kinds = pd.Series({name: reason(name) for name in mine.index}, name="template")
pd.crosstab(kinds, mine.map({True: "recovered", False: "missed"}).rename("laws"))

# %% [markdown]
# The example that fails is the first law, in the order of the lectures, that was missed then and is missed now. We ask for the missed ones
# one after the other, with five seconds each.

# %%
for name in [name for name in laws if name in mine.index and not mine[name]][:12]:
    law = laws[name]
    problem = law.problem(np.random.default_rng(seed), n_points, n_points)
    fitted = NSRegressor(own, max_time=5, random_state=seed)
    fitted.fit(problem.X[:, : len(law.names)], problem.y)
    r2 = fitted.score(problem.X_fresh[:, : len(law.names)], problem.y_fresh)
    print(f"{law.law}: {law.formula}")
    print(f"    {fitted.formula_[:75]}   1 − R² = {1 - r2:.1e}")
    if 1 - r2 > RECOVERED:
        break

# %% [markdown]
# The last one is the failure. A good fit is not the law. The report [A13](appendix/A13_practice.py) decides by the form of the answer instead of its values, with
# noise and without, and lists all strategies.
#
# ## Data without a law
#
# The tables called *black box* are real data, and nobody knows a formula for them. $R^2$ is computed on the quarter of the rows that was held
# out. The number of problems of each set is in brackets.

# %% tags=["hide-input"]
rows = []
for name, title in SETS.items():
    for who in (OURS, "local search", *BASELINES):
        part = against[(against.test_set == name) & (against.label == who)]
        if len(part):
            rows.append((f"{title} ({len(part)})", who, percent(part.r2 > ACCURATE), f"{part.r2.clip(0).median():.3f}", f"{part.seconds.mean():.1f}"))
pd.DataFrame(rows, columns=["set", f"{seconds:g} s each", "R² > 0.99", "median R²", "seconds"]).set_index(["set", f"{seconds:g} s each"])

# %% [markdown]
# On black-box data hardly any answer reaches $R^2 > 0.99$, whoever gives it: there may be no short formula to find.
#
# ## Paper, ours, verdict
#
# The paper prints these results as a figure only, so its sentences are compared. A difference is between shares of problems with
# $R^2 > 0.99$, in points; a sentence *holds* if its whole 95 % interval is above zero, and *fails* if all of it is below.

# %%
large = f"beam {largest_beam}"


def line(claim, a, b, table=results):
    """A line of the table below: the share of a minus that of b, and the verdict."""
    wide = table.assign(accurate=table.accurate.astype(float))
    wide = wide.pivot_table(index="problem", columns="label", values="accurate")
    if a not in wide or b not in wide:
        return f"| {claim} | missing | not measured |"
    pair = wide[[a, b]].dropna()
    change = paired_difference(pair[a], pair[b], pair.index)
    points = "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * x for x in change))
    return f"| {claim} | {points} | {verdict_on_claim(change, above=0)} |"


# %% [markdown]
# All sets together, one network of each kind:

# %% tags=["hide-input"]
claims = [
    line("a large beam does well (against beam 5)", large, "beam 5"),
    line(f"TPSR does poorly ({large} against it)", large, "TPSR"),
    line("NSR-gvs improves performance (against beam 5)", "NSR-gvs", "beam 5"),
    line("NSR-gvs + TPSR does well (against TPSR)", "NSR-gvs + TPSR", "TPSR"),
    line(f"ours: local search beats {large}", "local search", large),
    line(f"ours: {OURS} beats pyoperon in {seconds:g} s each", OURS, "pyoperon", against),
]
Markdown("| claim | ours | verdict |\n|---|---|---|\n" + "\n".join(claims))

# %% [markdown]
# ## Exercises
#
# 1. *Predict.* The law I.12.1 is $\mu N$. A user measures $N$ in thousandths, so the column runs from 1000 to 5000. What does `Units` do to
#    the column (`shift` and `size`), and which `constant` must the formula show in the user's units?

# %% tags=["solution"]
shift, size, constant = 0.0, 1000.0, 0.001

# %% tags=["check"]
column = 1000 * np.linspace(1, 5, 50)
units = Units.of(column[:, None], column / 1000)
prefix, constants = units.back(("x1",), ())
assert (units.shift[0], units.scale[0]) == (shift, size) and np.isclose(constants[0], constant)

# %% [markdown]
# 2. *Turn.* Fit the ions again with `selection="r2"`, as `greedy`: the best fit is the answer. In its table, how many tokens has the row
#    with the shortest description, and how many has the answer? Give both as `lengths`.

# %% tags=["solution"]
greedy = NSRegressor(own, max_time=10, random_state=seed, selection="r2").fit(X, y)
shortest = greedy.equations_.description_length.idxmin()
lengths = greedy.equations_.complexity[shortest], greedy.equations_.complexity[0]

# %% tags=["check"]
listed = greedy.equations_
at = listed.description_length.idxmin()
assert greedy.selection == "r2" and listed.r2[0] == listed.r2.max(), "the best fit comes first"
assert tuple(lengths) == (listed.complexity[at], listed.complexity[0])
clean = [1 - np.mean((greedy.predict(X, row) - truth) ** 2) / truth.var(ddof=0) for row in (at, 0)]
print(f"tokens: {lengths[0]} and {lengths[1]};  R² without errors: {clean[0]:.6f} and {clean[1]:.6f}")

# %% [markdown]
# 3. *Build.* Now your own CSV. Write `formula_of(path, target)`: it reads the file, fits all rows but the last quarter, and returns the
#    formula and its $R^2$ on the last quarter, which it has not seen. (`NSRegressor(own, max_time=5, random_state=0)`; `model.score(X, y)`
#    is $R^2$.) Then try it on a file of yours.

# %% tags=["solution"]
def formula_of(path, target):
    table = pd.read_csv(path)
    cut = len(table) - len(table) // 4
    X, y = table.drop(columns=target), table[target]
    model = NSRegressor(own, max_time=5, random_state=0).fit(X[:cut], y[:cut])
    return model.formula_, model.score(X[cut:], y[cut:])


# %% tags=["check"]
springs = pd.DataFrame(np.random.default_rng(1).uniform(1, 5, (80, 2)), columns=["force", "stiffness"])
springs["stretch"] = 2 * springs.force / springs.stiffness
broken = springs.copy()
broken.loc[60:, "stretch"] = broken.stretch[60:].to_numpy()[::-1]  # the last quarter no longer follows the law
for number, (frame, follows) in enumerate(((springs, True), (broken, False))):
    frame.to_csv(path.with_name(f"springs{number}.csv"), index=False)
    text, r2 = formula_of(path.with_name(f"springs{number}.csv"), "stretch")
    assert "force" in text and (r2 > 0.99) == follows, "R² is that of the rows that the fit has not seen"

# %% [markdown]
# **What's next.** [One token](14_one_token.py): the place at which the network copies.
