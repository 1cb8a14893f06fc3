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
# # Local search gets most of its accuracy without the network
#
# **Claim.** Fit a formula with all its constants free, change it in one place, fit again: at equal candidates this search is more accurate
# than the largest beam. Without any network it is a little less accurate and as novel, and finds the true formula less often.
#
# **You will see.** Families of formulas; six kinds of edits; a local search in twenty lines; what the network adds.
#
# **Needs.** [04](04_reproduction_bias.py), [05](05_beam_search.py), [07](07_nsr_gvs.py).
#
# **From the paper.** Nothing: this strategy is ours, an answer to the theorem of Section 4.
#
# **Runtime.** Tiny: one minute. Laptop: one minute. Paper: minutes of a GPU. On a laptop with 2 cores.

# %% [markdown]
# A few problems are searched while you read. The numbers about all problems are read from tables.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the problems that are solved while you read
weights: str = "laptop/nesymres"  # the network; empty: train a tiny one now
live_rows: str = ""  # rows to measure now instead of reading tables, like "beam 5, local 5"
candidates: int = 450  # fits after which a local search ends
n_problems: int = 150  # problems of a test set
n_seeds: int = 3  # test sets of each kind
n_points: int = 100  # points given per problem; as many fresh ones judge
n_live: int = 10  # problems solved while you read

# %% tags=["hide-input"]
import math
from collections import Counter
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from nsr.data import Problem
from nsr.evidence import GREY, INK, Interval, TrainingSet, charts, control, draw_tree, gathered, judged_together, network_for, novelty_line, paired, percent, percent_of, problems_of, pruned_answers, row_of, save, share_at, stopped_at, style_of, title_of, use_style
from nsr.formulas import CONSTANT, arity, edits, operators_of, parse, spans, subtrees, template_if_allowed, to_infix, variables
from nsr.search import Budget, LocalSearch, Oracle, alike, cost, family_of, pruned, random_templates, solve_all, starts_of

use_style()
trained = network_for(weights)
problems = problems_of(trained, "not_included", seed, n_problems, n_points)[:n_live]

# %% [markdown]
# ## A template stands for many formulas
#
# The theorem of chapter [01](01_boolean_formula_reduction.py) says that a network of fixed depth cannot, in the worst case, check its last
# token against the data. A fit can. But all strategies so far fit one formula at a time, with constants only where the network put them. The *template*
# $\sin x_1$ stands for eight formulas, because each of three places may hold a constant or not. The last of them has all constants. It is
# called the **family** of the template, because the seven others are special cases of it: a factor is 1, or a summand is 0. `family_of`
# makes the family of any template.

# %%
placements = [parse(f"{a}sin({c}{b}x1)")[0]
              for a in ("", "C*") for b in ("", "C*") for c in ("", "C + ")]
print([to_infix(placement) for placement in placements])
assert family_of(("sin", "x1")) == placements[-1]

# %% [markdown]
# Now data. They come from $y = 2.5 \sin(x_1 + 0.8)$. We fit all eight formulas to a hundred points.

# %%
truth = parse("C*sin(C + x1)")[0]
example = Problem.from_expression(truth, (2.5, 0.8), rng=np.random.default_rng(seed),
                                  n_points=100, support=[(-4, 4)], name="example")
fits = Oracle(example).verify(placements)
assert fits[-1].r2 >= max(fit.r2 for fit in fits) - 1e-9

# %% tags=["hide-input"]
figure, ax = plt.subplots(figsize=(6.4, 3))
ax.barh(range(8), [fit.r2 for fit in fits], color=[GREY] * 7 + [style_of("families")["color"]])
ax.set_yticks(range(8), [to_infix(placement) for placement in placements])
ax.set(xlabel="$R^2$ on the given points", xlim=(0, 1), ylim=(7.6, -0.6))
ax.set_title(f"{sum(fit.r2 > 0.99 for fit in fits)} of 8 formulas fit; the family is one of them")
save(figure, "placements", alt="Bars of R² for the eight placements of constants in sin(x1). Two reach 1: the true one, and the family with all three constants. The others stay below 0.7.")

# %% [markdown]
# Notice that the template is right in every line, and that most fits look wrong. One fit of the family covers all eight. That is
# the first half of our strategy: **verify families, not formulas**.
#
# ## Pruning takes constants out again
#
# A family has a constant everywhere, and the answer should not. So the best family is *pruned*. With $P$ points and $K$ constants,
#
# $$\text{cost} = P \ln(1 - R^2) + 2 \ln(P)\, K,$$
#
# and constants are set to 0 or 1, one after the other, as long as the cost goes down. Here is a family that is too large for its data:
# the points from above with a little noise, and the template $\sin x_1 + e^{x_1}$.

# %%
noise = 0.05 * np.random.default_rng(seed + 1).standard_normal(len(example.y))
oracle = Oracle(replace(example, y=example.y + noise))
large = family_of(("add", "exp", "x1", "sin", "x1"))
fitted = oracle.verify([large], initial=(starts_of(large),), starts=2)[0]
for c in (fitted, pruned(fitted, oracle)):
    formula = to_infix(c.prefix, c.constants, digits=2)
    print(f"cost {cost(c, 100):.1f}, R² {c.r2:.5f}: {formula}")

# %% [markdown]
# The exponential is gone. **A dropped term changes the template.** The family may come from a training template, and what is left of it
# may not be one. Then the answer counts as *novel*, although nobody searched for anything new. How often does this happen? A beam of five
# was verified twice, as written and as families; the formulas are the same. And answers of beams, from the tables, were only pruned.

# %%
rows = gathered(scale, live_rows, weights.partition("/")[0], n_seeds=n_seeds,
                n_problems=n_problems, n_points=n_points, budget=Budget(candidates))
first = rows[rows.network == 0].drop(columns="network") if "network" in rows else rows
asked = [p for s in range(n_seeds) for p in problems_of(trained, "not_included", s, n_problems, n_points)]
lines = {}
for name in charts.present(first, [("beam", 5), ("families", 5), ("beam", 150)]):
    part = row_of(first, *name)
    lines[title_of(*name), "as it is"] = part
    if name[0] == "beam":
        lines[title_of(*name), "pruned"] = pruned_answers(part, asked, TrainingSet.of(trained))
pd.DataFrame({name: novelty_line(part) | {"accurate": percent_of(part, "accurate")} for name, part in lines.items()}).T

# %% [markdown]
# So structural novelty can be had by pruning alone: it makes the answers of a large beam novel, and no more accurate; few of them have a new
# family. From here on we also count the **true family**: the answer and the truth have the same family.
#
# ## Six kinds of edits
#
# The second half of the strategy changes a formula in one place. All six kinds do the same thing: they put another subtree in the place of
# one. In prefix order a subtree is a slice of tokens, and `spans` says where each ends.

# %%
def replaced(tree, i, part):
    """The tree with `part` in the place of the subtree that begins at token i."""
    return (*tree[:i], *part, *tree[spans(tree)[i]:])


# %% [markdown]
# One edit of each kind on $\sin x_1 + x_2$. Its tokens are `add` (place 0), `sin` (1), `x1` (2) and `x2` (3).

# %%
tree = ("add", "sin", "x1", "x2")
SIX = {
    "leaf": (2, ("x3",)),  # another variable
    "operator": (1, ("exp", "x1")),  # another function
    "wrap": (3, ("tan", "x2")),  # a function around a subtree
    "unwrap": (1, ("x1",)),  # a function taken away
    "graft": (2, ("add", "x1", "exp", "x3")),  # something added to a subtree
    "drop": (0, ("sin", "x1")),  # one side of a sum taken away
}

# %% tags=["hide-input"]
figure, axes = plt.subplots(3, 2, figsize=(6.4, 7))
for ax, (kind, (i, part)) in zip(axes.flat, SIX.items()):
    edited = replaced(tree, i, part)
    draw_tree(ax, edited, colour=GREY, marked=range(i, i + len(part)))
    ax.set_title(f"{kind}: {to_infix(edited)}", fontsize=10)
figure.suptitle("One edit of each kind of sin(x1) + x2", weight="bold")
save(figure, "six_edits", alt="Six small trees, each one edit away from sin(x1) + x2: another leaf, another operator, a function around a subtree, a function taken away, a subtree added, a term dropped. The new part has a frame.")

# %% [markdown]
# The frame is around the new part, or, where something was taken away, around what is left. All edits of a tree are all kinds at all places:

# %%
def all_edits(tree, leaves, unary, grafts):
    """(kind, edited tree) for every single edit."""
    for i, token in enumerate(tree):
        part, n = tree[i : spans(tree)[i]], arity(token)
        middle = spans(part)[1] if n == 2 else 0  # where the second side begins
        parts = {
            "operator" if n else "leaf": [(t, *part[1:]) for t in (leaves, unary, ["add"])[n]],
            "wrap": [(f, *part) for f in unary],
            "unwrap": [part[1:]] if n == 1 else [],
            "drop": [part[1:middle], part[middle:]] if n == 2 else [],
            "graft": [("add", *part, *graft) for graft in grafts]}
        for kind, news in parts.items():
            yield from ((kind, replaced(tree, i, new)) for new in news if new != part)


# %% [markdown]
# `nsr` has the same edits in the same order. Subtraction is not needed: a family has a factor before each term, and it may be negative.

# %%
UNARY, _ = operators_of(trained.vocabulary)
leaves, grafts = ["x1", "x2", "x3"], [("x3",), ("exp", "x3")]
for one in (tree, ("sin", "sub", "x1", "exp", "x2")):
    ours = list(all_edits(one, leaves, UNARY, grafts))
    assert ours == [(e.kind, e.prefix) for e in edits(one, leaves, UNARY, ["add"], grafts)]
    print(len(ours), "edits of", to_infix(one), dict(Counter(kind for kind, _ in ours)))

# %% [markdown]
# ## A local search in twenty lines
#
# We need two small parts first. `verify` fits new families and notes the misfit of each, $\ln(1 - R^2)$. Two templates with the same
# family count once (`alike`).

# %%
def verify(problem, templates, families):
    """Add the new families to families: key → (ln(1 − R²), template)."""
    for template in templates:
        if alike(template) not in families:
            whole = family_of(template)
            first = starts_of(whole) or None  # starting values of the constants
            fit = Oracle(problem).verify([whole], initial=(first,), starts=2)[0]
            families[alike(template)] = math.log(max(1 - fit.r2, 1e-12)), template


# %% [markdown]
# `shuffled` gives the edits of a template in random order. Each kind has the same chance, whatever the number of its edits. (To draw without
# replacement by weights, add Gumbel noise to the logarithms of the weights, and sort.) Three things may be grafted: variables, functions of
# variables, and subtrees of the five best families so far.

# %%
def shuffled(template, families, leaves, rng):
    best = [t for _, t in sorted(families.values())[:5]]
    pieces = [(x,) for x in leaves] + [(f, x) for f in UNARY for x in leaves]
    pieces += [piece for t in best for piece in subtrees(t) if 2 < len(piece) <= 6]
    options = list(all_edits(template, leaves, UNARY, dict.fromkeys(pieces)))
    of_kind = Counter(kind for kind, _ in options)
    luck = rng.gumbel(size=len(options)) - [math.log(of_kind[kind]) for kind, _ in options]
    return [options[i] for i in np.argsort(luck)]


# %% [markdown]
# The search itself: choose the family that fits best, make eight edits of it, fit them, and go on. A family that was edited before has to
# wait: each round adds 0.2 to its score. `template_if_allowed` refuses formulas that the generator would refuse, such as $x_1 + x_1$, or
# that have more than six operators.

# %%
def local_search(problem, start, leaves, rng, rounds):
    families, waiting, times, log = {}, {}, Counter(), []
    verify(problem, start, families)
    while len(log) < rounds and min(families.values())[0] > math.log(1e-12):
        key = min((k for k in families if waiting.get(k) != []),
                  key=lambda k: families[k][0] + 0.2 * times[k])
        parent = families[key][1]
        if key not in waiting:
            waiting[key] = shuffled(parent, families, leaves, rng)
        times[key] += 1
        children = {}
        while waiting[key] and len(children) < 8:
            kind, edited = waiting[key].pop()
            child = template_if_allowed(edited, 6)
            if child and alike(child) not in families:
                children.setdefault(alike(child), (kind, child))
        verify(problem, [child for _, child in children.values()], families)
        log.append((parent, list(children.values())))
    return families, log


# %% [markdown]
# No network is in these lines. The start is five random templates of the generator, with variables that vary in the data. Does `nsr` do the
# same? We let its `LocalSearch` solve the first problems, without a network, and keep what each round did. Two options of `nsr` are turned
# off: completions, which need a network, and `robust`, which ranks families by $R^2$ of compressed values, so that a few points near a pole
# do not decide alone.

# %%
seen = []
nsr_search = LocalSearch(start="random", guided=False, completions=0, robust=False,
                         candidates=candidates, watch=seen.append)
results = {r.problem.name: r for r in solve_all(problems, nsr_search, trained, seed=seed)}
rounds_of = Counter(one.problem for one in seen)
solved = [name for name, r in results.items() if r.r2 > 0.99]
print(f"solved: {len(solved)} of {len(problems)} problems,",
      f"in {[rounds_of[name] for name in solved]} rounds")

# %% [markdown]
# Our example that works is the first problem that was solved in five to twenty rounds. Our example that fails is the first that was not
# solved. Our own search runs on both, with the same random numbers.

# %%
def searched(problem):
    leaves = [f"x{k + 1}" for k in range(problem.n_variables) if np.ptp(problem.X[:, k]) > 0]
    bank, rng = random_templates(trained.vocabulary), problem.stream(seed)
    order = [bank[i] for i in rng.permutation(len(bank))]
    start = [template for template in order if set(variables(template)) <= set(leaves)][:5]
    return local_search(problem, start, leaves, rng, rounds_of[problem.name])


works = next((p for p in problems if p.name in solved and 5 <= rounds_of[p.name] <= 20), problems[0])
fails = next((p for p in problems if p.name not in solved), problems[-1])
for problem in (works, fails):
    families, log = searched(problem)
    rounds = [one for one in seen if one.problem == problem.name]
    assert log == [(one.parent, [(e.kind, e.prefix) for e in one.children]) for one in rounds]
    left = math.exp(min(families.values())[0])
    print(f"{problem.name}: the same {len(log)} rounds; 1 − R² ends at {left:.2g}")

# %% [markdown]
# Round by round, the parents and all children are the same. Now step through the search that works. Above, the family that is edited and
# its best child; below, all children so far.

# %% tags=["hide-input"]
story, steps = searched(works)


def misfit(template):
    return max(math.exp(min(story[alike(template)][0], 1.0)), 1e-12)


def draw_round(n):
    figure, axes = plt.subplot_mosaic("ab;cc", figsize=(7, 5), height_ratios=(1.2, 1))
    parent, children = steps[n - 1]
    kind, best = min(children, key=lambda child: misfit(child[1]), default=("none", parent))
    for ax, text, one in ((axes["a"], "edited", parent), (axes["b"], f"best child, by {kind}", best)):
        draw_tree(ax, one, colour=INK)
        ax.set_title(f"{text}: 1 − $R^2$ = {misfit(one):.2g}", fontsize=10)
    dots = [(i, misfit(t)) for i, (_, some) in enumerate(steps[:n], 1) for _, t in some]
    axes["c"].plot(*zip(*dots or [(1, 1)]), "o", color=GREY, markersize=4)
    axes["c"].plot(n, misfit(best), "X", color=INK, markersize=10)
    axes["c"].set(xlim=(0.5, len(steps) + 0.5), ylim=(1e-13, 4), yscale="log", xlabel="round", ylabel="1 − $R^2$")
    return figure


shown = range(1, len(steps) + 1)[:20] if len(steps) > 1 else {"1": 1, "the end": 1}
control(draw_round, "round", shown, alt="Round {} of a local search: the tree that is edited, its best child, and the misfit of all children so far, which falls when a good edit is found.")
worse = [misfit(child) > misfit(parent) for parent, children in steps for _, child in children]
print(f"children that fit worse than their parent: {percent(worse)}")
print("behind the points:", to_infix(works.truth, works.truth_constants, digits=3))
print("the answer:       ", to_infix(results[works.name].answer.prefix, results[works.name].answer.constants, digits=3))

# %% [markdown]
# Notice how many children fit worse than the family they come from. Each costs one fit, and one good edit is enough. The example that fails:

# %% tags=["hide-input"]
answer = results[fails.name].answer
print("behind the points:", to_infix(fails.truth, fails.truth_constants, digits=3))
print("the answer:       ", to_infix(answer.prefix, answer.constants, digits=3))
print(f"R² on the given points {answer.r2:.4f}, on fresh ones {results[fails.name].r2:.4f}")

# %% [markdown]
# Here the candidates ran out before any family fitted. A search that goes edit by edit needs a way on which each edit, or nearly each, fits
# better than the one before.
#
# ## What the network adds
#
# `LocalSearch` can use the network in three places. It starts with the families of a beam of five. It tries likely edits first: an edit
# whose first new token is $t$, after the tokens $s$ before it, has the weight $p(t \mid s, \text{data}) / n$, where $n$ edits share that
# token and place. And after two of the likely tokens per round the network writes the rest of the formula (*completions*). The same
# problems, with and without the network:

# %%
with_network, without = row_of(rows, "local", 5), row_of(rows, "local-random", 5)
added = {}
for what in ("accurate", "novel", "same_family"):
    added[what] = Interval(*(100 * x for x in paired(with_network, without, what)[0]))
    print(f"{what}: with {percent(with_network[what])}, without {percent(without[what])};",
          "the network adds {:+.1f} points ({:+.1f} to {:+.1f})".format(*added[what]))

# %% [markdown]
# `same_family` is the true family. Most of the accuracy, and all of the novelty, come from families, edits and fits. What the network adds
# is mainly *which* formula: many more answers have the true family. (Without its start alone, or without its order of edits alone, no loss
# of accuracy is certain; the report has both.) How does this depend on the number of fits?

# %% tags=["hide-input"]
LINES = [("gvs", 5), ("gvs+tpsr", 1), ("families+gvs", 5), ("local", 5), ("local-random", 5)]
beams = [row_of(rows, *name) for name in charts.present(rows, [("beam", b) for b in (1, 5, 50, 100, 150)])]
figure, ax = plt.subplots(figsize=(7, 4.2))
ax.plot([b.candidates.mean() for b in beams], [100 * b.accurate.mean() for b in beams], **style_of("beam"))
for name in charts.present(rows, LINES):
    part, style = row_of(rows, *name), style_of(name[0])
    grid = np.geomspace(1, part.candidates.max(), 80)
    shares = 100 * share_at(part.trace, grid)
    ax.plot(grid, shares, color=style["color"], lw=1.6)
    ax.plot(grid[-1], shares[-1], **style, lw=0)
ax.set(xscale="log", xlabel="candidates fitted per problem", ylabel="$R^2 > 0.99$ on fresh points (%)", ylim=(0, 90))
ax.set_title("The network saves candidates; without it local search still rises")
ax.legend(fontsize=8, loc="upper left")
save(figure, "anytime", alt="Accuracy against candidates per problem for beam search, NSR-gvs, NSR-gvs with TPSR, families with NSR-gvs, and local search with and without a network. Local search with a network is at or near the top everywhere; without one it starts low, reaches the beams at about 150 candidates and ends above them.")

# %% [markdown]
# A line shows how many answers would have been accurate, had every search been stopped there. A mark shows where the longest search ends.
# Notice the two crosses: the line without a network starts low and ends close to the other.
#
# ## What holds, and what does not
#
# Each line compares local search with a rival on the same problems. *At its candidates* means that local search is stopped at the mean
# number of candidates of the rival. All lines are judged together, with p-values by Holm's correction (chapter 11): at most 5 % that one of
# them is called wrongly.

# %%
def lead(mine, rival, price=None):
    if price:
        mine = stopped_at(mine, [rival[price].mean()] * len(mine), price)
    return paired(mine, rival, "accurate")[0]


both, greedy = row_of(rows, "families+gvs", 5), row_of(rows, "beam", 1)
tests = {
    "the largest beam, at its candidates": (with_network, beams[-1], "candidates"),
    "the largest beam, in its seconds": (with_network, beams[-1], "seconds"),
    "the same beam, without any network": (without, beams[-1], "candidates"),
    "families + NSR-gvs, at its candidates": (with_network, both, "candidates"),
    "NSR-gvs + TPSR, which may use more": (with_network, row_of(rows, "gvs+tpsr", 1)),
    "a beam of 1, in its seconds": (with_network, greedy, "seconds"),
    "itself without a network": (with_network, without)}

# %% tags=["hide-input"]
judged_together({name: lead(*test) for name, test in tests.items() if len(test[0]) and len(test[1])}).rename_axis("local search is more accurate than")

# %% [markdown]
# Read the third line: with as many candidates as a large beam, a search without any network is not shown to be less accurate than that beam. The
# line of a beam of 1 is a limit: a family takes longer to fit than a formula, and in a few milliseconds local search has hardly begun. The line
# of NSR-gvs + TPSR compares both at their own costs.
#
# Three advantages of local search are not the rivals': its answer is pruned (the report prunes theirs, too), it ranks families by compressed
# values, and it is told which columns vary. No table takes the last two away yet.
#
# Departure: a family that was fitted before is not counted again. Fit and decoder are ours, not the published ones (chapters 04 and 05).
#
# Ablations, other test sets, noise, failures and the tests against every strategy: [report A10](appendix/A10_local_search.py).

# %% [markdown]
# ## Exercises
#
# 1. *Predict.* How many formulas does one fit of the family of $e^{x_1}$ cover? In $C e^{C x_1 + C}$ the summand does the same as the
#    factor in front, so `family_of` leaves it out.

# %% tags=["solution"]
n_placements = 4  # C·exp(C·x1): each of the two constants may be there or not

# %% tags=["check"]
print(to_infix(family_of(("exp", "x1"))))
assert n_placements == 2 ** family_of(("exp", "x1")).count(CONSTANT), "2 for every constant"

# %% [markdown]
# 2. *Turn.* After how many candidates is local search *without* a network at least as accurate as a beam of five? Turn the argument of
#    `share_at`. Give the smallest number as `enough`, or `None` if it never gets there.

# %% tags=["solution"]
curve = share_at(without.trace, range(1, candidates + 100))
target = row_of(rows, "beam", 5).accurate.mean()
enough = next((n for n, share in enumerate(curve, start=1) if share >= target), None)

# %% tags=["check"]
goal = row_of(rows, "beam", 5).accurate.mean()
before, then, end = share_at(without.trace, [(enough or 1) - 1, enough or 1, 10**9])
print(f"a beam of 5: {goal:.1%}; local search without a network after {enough} candidates: {then:.1%}")
assert (enough is None) == (not end >= goal), "does it get there?"
assert enough is None or then >= goal > before or enough == 1, "not the smallest number"

# %% [markdown]
# 3. *Build.* Add a kind of edit. From $x_1 + \sin x_2$ to $x_2 + \sin x_1$ takes two edits of a leaf, and the tree between them may fit
#    badly. Write `swaps(tree)`, the set of all trees in which two *different* variables at two places have changed places.

# %% tags=["solution"]
def swaps(tree):
    places, found = [i for i, token in enumerate(tree) if arity(token) == 0], set()
    for i in places:
        for j in places:
            if tree[i] != tree[j]:
                swapped = list(tree)
                swapped[i], swapped[j] = tree[j], tree[i]
                found.add(tuple(swapped))
    return found


# %% tags=["check"]
assert swaps(("add", "x1", "sin", "x2")) == {("add", "x2", "sin", "x1")}, "one pair, one swap"
three = ("add", "x1", "add", "sin", "x1", "exp", "x2")
assert swaps(three) == {("add", "x2", "add", "sin", "x1", "exp", "x1"),
                        ("add", "x1", "add", "sin", "x2", "exp", "x1")}, "one place each, not every x1"
assert swaps(("sin", "x1")) == set(), "nothing to swap"
new = swaps(works.truth) - {edited for _, edited in all_edits(works.truth, variables(works.truth), UNARY, [])}
print(f"of {to_infix(works.truth)}: {len(new)} trees that no single edit reaches")

# %% [markdown]
# **What's next.** [All strategies on one table](11_strategies_compared.py), and what becomes of the paper's statements about them.
