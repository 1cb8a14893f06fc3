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
# # Unseen formulas are longer formulas, and "different" is not what it seems
#
# **Claim.** A training set of random formulas already contains most of what the generator will ever draw; what it lacks is longer.
# And two templates that look different can describe the same functions once constants are free.
#
# **You will see.** Trees counted and drawn, templates, constants, points, the 16 bits of a number, the coverage curve, three test
# sets.
#
# **Needs.** [00](00_start_here.py).
#
# **From the paper.** Sections 3.1, 3.2 and 5.1; Remark 5.2; Appendix A.
#
# **Runtime.** Tiny: 15 seconds. Laptop: one minute. Paper: two minutes. On a laptop with 2 cores.

# %% [markdown]
# The numbers below decide how much is drawn; nothing here is trained.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # where random numbers begin
min_operators: int = 2  # operators of a tree, at least (3 in the published code)
max_operators: int = 5  # and at most (6 in the published code)
n_training: int = 5000  # draws that make the training set of the last sections
largest_set: int = 100000  # the coverage curve goes up to this many draws
n_fresh: int = 5000  # fresh draws on which coverage is measured
n_items: int = 20000  # items drawn to look at the distributions
n_seeds: int = 3  # test sets of each kind that are drawn

# %% [markdown]
# Each stage gets a random stream of its own, so that drawing one more picture never changes a result further down.

# %%
from collections import Counter
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown

from nsr import book
from nsr.data import (
    TEST_SETS, TemplateBank, TreeRecipe, draw_templates, raw_draws, sample_items, size, template_from,
    test_templates, training_draws, tree_counts,
)
from nsr.evidence import BLUE, GREEN, GREY, ORANGE, RED, draw_tree, save, use_style, wilson
from nsr.formulas import ARITY, SIMPLIFIED, canonical, depth, family, is_reduced, parse, saturate, to_infix
from nsr.network import half_bits
from nsr.numbers import evaluate, fingerprint, fit_constants

use_style()
tree_rng, coin_rng, item_rng, fit_rng = np.random.default_rng(seed).spawn(4)
recipe = TreeRecipe(SIMPLIFIED, min_operators, max_operators)

# %% [markdown]
# ## A uniform tree has to be counted
#
# > Draw a random binary-unary tree $T \sim p_{\mathrm{Tree}}$. (Section 3.1)
#
# The obvious way to grow a tree is to toss a coin at every open slot: leaf, unary or binary? That favours small and lopsided trees.
# Lample and Charton's $p_{\mathrm{Tree}}$ fixes the number of operators and makes all trees with that many *equally likely*. For
# this one has to count. Let $D(e, n)$ be the number of ways to fill $e$ empty slots with $n$ operators. Look at the first slot: it
# is a leaf, or holds a unary operator (one slot instead of one), or a binary one (two instead of one):
#
# $$D(0,n) = 0,\qquad D(e,0) = 1,\qquad D(e,n) = D(e-1,n) + D(e,n-1) + D(e+1,n-1).$$

# %%
D = tree_counts(6)
print("operators n        ", list(range(7)))
print("trees D(1, n)      ", D[1].tolist())

# %% [markdown]
# These are the large Schröder numbers. Check it by brute force: build every tree with up to four operators, as its string of
# arities, and count them.


# %%
def shapes(n):
    """All unary-binary trees with n operators: '2' opens two slots, '1' one, '0' is a leaf."""
    if n == 0:
        return ["0"]
    unary = ["1" + tree for tree in shapes(n - 1)]
    binary = ["2" + a + b for k in range(n) for a in shapes(k) for b in shapes(n - 1 - k)]
    return unary + binary


print("built one by one   ", [len(set(shapes(n))) for n in range(5)])
assert [len(set(shapes(n))) for n in range(5)] == D[1, :5].tolist()

# %% [markdown]
# To sample, choose how many slots to leave as leaves and the arity of the next operator, with the counts of what remains as
# weights. Here are all trees with three operators, drawn many times, beside the coin-tossing grower kept to the same size.


# %%
def coin_tree(rng):
    """Toss a coin at every slot until the tree closes."""
    tree, open_slots = "", 1
    while open_slots and len(tree) < 40:
        tree += rng.choice(["0", "1", "2"])
        open_slots += int(tree[-1]) - 1
    return tree if not open_slots else ""


def arities(prefix):
    return "".join(str(ARITY.get(token, 0)) for token in prefix)


order = sorted(shapes(3), key=lambda tree: (len(tree), tree))
counted = Counter(arities(p) for p in raw_draws(6000, TreeRecipe(SIMPLIFIED, 3, 3), tree_rng))
tosses = [coin_tree(coin_rng) for _ in range(20000)]
tossed = Counter(tree for tree in tosses if tree in order)

# %% [markdown]
# One bar per tree, short trees on the left.

# %%
figure, ax = plt.subplots(figsize=(7, 2.8))
for counts, colour, label in ((counted, BLUE, "counting (p_Tree)"), (tossed, ORANGE, "coin tossing")):
    share = [100 * counts[tree] / counts.total() for tree in order]
    shift = -0.2 if counts is counted else 0.2
    ax.bar(np.arange(len(order)) + shift, share, width=0.4, color=colour, label=label)
ax.axhline(100 / len(order), color=GREY, linestyle=":", label="uniform")
ax.set(xlabel="the trees with three operators, by number of tokens", xticks=[])
ax.set_ylabel("share of draws (%)")
ax.set_title("Counting makes every tree equally likely; coins prefer the short ones")
ax.legend()
save(figure, "tree_shapes")
plt.show()
assert set(counted) == set(order)

# %% [markdown]
# The blue bars are level. The orange ones fall from left to right: each extra token cost another coin.

# %% [markdown]
# ## From tree to template
#
# > Assign internal nodes independently and uniformly from $\mathcal{O}_{\mathrm{bin}}\cup\mathcal{O}_{\mathrm{un}}$, and leaves
# > uniformly from the variable set $\mathcal{V}$. (Section 3.1)
#
# Departure: as in the code the paper was run with, operators are drawn by weight within their arity, and leaves are *ordered*: the
# first leaf is $x_1$, a later one is uniform over the variables used so far and the next. Without this rule the same formula would
# appear under many names, and hardly any fresh draw would ever be in the training set.

# %%
for prefix in raw_draws(4, recipe, tree_rng):
    print(f"{to_infix(prefix):44}  {' '.join(prefix)}")
weights = {op: {"arguments": ARITY[op], "weight": w} for op, w in SIMPLIFIED.weights if w}
pd.DataFrame(weights)

# %% [markdown]
# Raw draws are redundant: $x_1 + x_2$ and $x_2 + x_1$, $x_1 - (x_2 - x_3)$ and $x_1 + x_3 - x_2$ are one formula. The *canonical form*
# flattens sums, sorts terms, moves signs (also through odd and even functions), and is one tuple for all of them.

# %%
for text in ("x2 + x1", "x1 - (x2 - x3)", "x3 - sin(x1 - x2)", "cos(x2 - x1)"):
    prefix, _ = parse(text)
    print(f"{text:20} →  {to_infix(canonical(prefix))}")
assert canonical(parse("x3 - sin(x1 - x2)")[0]) == canonical(parse("sin(x2 - x1) + x3")[0])

# %% [markdown]
# Some draws are rejected: repeated terms ($x_1 + x_1$ would need the integer 2, and integers are not tokens here) and cancelling
# ones ($x_1 - x_1$). How many survive?

# %%
raw = raw_draws(4000, recipe, tree_rng)
survivors = sum(is_reduced(prefix) for prefix in raw)
low, high = wilson(survivors, len(raw))[-2:]
print(f"{survivors} of {len(raw)} survive: {survivors / len(raw):.0%} (95 %: {low:.1%} to {high:.1%})")

# %% [markdown]
# About half of the raw trees are thrown away, which costs nothing: a template takes some tens of microseconds. Here is the whole way of
# a draw: above the tree as it was grown, below it the template that is kept.


# %%
def draw_growth(axes, n_operators, number):
    """One draw: the tree as grown on the first axes, on the second its template, if it survives."""
    fixed = TreeRecipe(SIMPLIFIED, n_operators, n_operators)
    grown = raw_draws(1, fixed, np.random.default_rng([n_operators, number]))[0]
    template = template_from(grown)
    for ax, tree, colour, name in zip(axes, (grown, template), (GREY, BLUE), ("grown", "template")):
        if tree:
            draw_tree(ax, tree, colour=colour)
        text = f"{name}: {to_infix(tree)}" if tree else "rejected: terms repeat or cancel"
        ax.set_title(fill(text, 40), fontsize=9)
        ax.set_axis_off()


# %% [markdown]
# Three draws with four operators.

# %%
figure, axes = plt.subplots(2, 3, figsize=(9, 4.4))
for column, number in zip(axes.T, (3, 4, 10)):
    draw_growth(column, 4, number)
save(figure, "templates")
plt.show()

# %% [markdown]
# Coloured nodes are operators; the leaves hold variables only. From grey to blue, terms are sorted and brackets opened, and the draw on
# the left, in which $x_1$ occurs twice in one sum, is lost. For a person there are sliders: how soon does nearly everything get lost?

# %%
if not book.headless():
    from ipywidgets import IntSlider, interact

    @interact(n_operators=IntSlider(4, 1, 8, description="operators"),
              number=IntSlider(4, 0, 200, description="draw"))
    def grow(n_operators, number):
        draw_growth(plt.subplots(1, 2, figsize=(9, 3.6))[1], n_operators, number)
        plt.show()

# %% [markdown]
# ## Constants have places
#
# > For each unary operator $u$, sample a constant $c_{\mathrm{mul}}$ and replace $u$ with $c_{\mathrm{mul}} u$ […] for each variable
# > $x$ […] replace $x$ with $c_{\mathrm{mul}} x + c_{\mathrm{add}}$; otherwise keep the variable as is. (Section 3.1)
#
# The places where constants may stand are known from the template: `saturate` fills them all. An item uses only some of them, and
# additive constants that meet in one sum are one constant.

# %%
template, _ = parse("x1 + sin(x2)")
print("template  ", to_infix(template))
print("saturated ", to_infix(saturate(template).prefix()))
bank = TemplateBank([template])
toy = sample_items(bank, item_rng, 6, n_points=5)
for i in range(len(toy)):
    print("item      ", to_infix(toy.prefix(i), toy.values(i)))

# %% [markdown]
# Departure: the text says "otherwise keep", without a probability, and at most 6 constants. The published code draws the number $u$
# of constants with $P(u) \propto 1/(u+1)$ for $u < \min(\text{places}, 6)$, so that there are at most five; we follow it. Multiplicative
# ones are log-uniform in (0.05, 10), additive ones uniform in (−10, 10), both with three decimals.

# %%
templates = draw_templates(2000, recipe, seed)
bank = TemplateBank(dict.fromkeys(templates))
items = sample_items(bank, item_rng, n_items, n_points=20)
used = (~np.isnan(items.constants)).sum(axis=1)
share = np.bincount(used, minlength=6) / len(items)

# %% [markdown]
# Three pictures of these items: how many constants they have, their values, and the intervals from which the points are drawn.

# %%
figure, axes = plt.subplots(1, 3, figsize=(7.8, 2.6))
axes[0].bar(range(len(share)), 100 * share, color=BLUE)
axes[0].set(title="Number of constants", xlabel="constants in an item", ylabel="items (%)")
axes[1].hist(items.constants[~np.isnan(items.constants)], bins=60, color=GREEN)
axes[1].set(title="Their values", xlabel="value of a constant", ylabel="count")
low, high = items.supports[:400, 0].T
axes[2].plot(low, high, ".", color=ORANGE, markersize=3)
axes[2].set(title="Supports", xlabel="lower end of $x_1$", ylabel="upper end of $x_1$")
save(figure, "constants_and_supports")
plt.show()
assert used.max() <= 5

# %% [markdown]
# No constant at all is the most frequent case, small factors are common because they are log-uniform, and supports fill the triangle
# above the diagonal.

# %% [markdown]
# ## Points
#
# Every variable has an interval of its own, its *support*; points are uniform in it:
#
# $$x_{\min,j} \sim \mathcal{U}(-10, 9),\qquad x_{\max,j} \sim \mathcal{U}(x_{\min,j}+1, 10),$$
#
# $$x_{ij} \sim \mathcal{U}(x_{\min,j}, x_{\max,j}),\qquad y_i = e^\ast(\mathbf{x}_i).$$
#
# A point is valid if $y$ is a number that half precision can hold; if fewer than a fifth of the points are, other supports are
# tried. Variables that do not occur are zero. Every item can be checked against its own expression.

# %%
i = int(np.argmax(used))
y_again = evaluate(items.prefix(i), items.X[i], items.values(i))  # (P,)
print(to_infix(items.prefix(i), items.values(i)))
print("largest difference:", np.abs(y_again - items.y[i]).max())
assert np.array_equal(y_again, items.y[i])
assert np.abs(items.y).max() < 65504

# %% [markdown]
# ## Sixteen bits
#
# A network wants inputs of moderate size, and $y$ ranges over many orders of magnitude. NeSymReS writes each number in half
# precision (1 sign, 5 exponent, 10 mantissa bits) and gives the network the bits as ±1. By hand: $-2.5 = -1.25 \cdot 2^1$, so the
# sign is set, the exponent is $1 + 15 = 10000_2$ and the mantissa $0.25 = 0100000000_2$.

# %%
numbers = torch.tensor([-2.5, 0.001, 1.0, 65504.0])
bits = half_bits(numbers).reshape(len(numbers), 16)  # (4, 16) of ±1
for number, row in zip(numbers, bits):
    text = "".join("1" if bit > 0 else "0" for bit in row)
    print(f"{number:10.3f}   {text[0]} {text[1:6]} {text[6:]}")
assert "".join("1" if bit > 0 else "0" for bit in bits[0]) == "1100000100000000"

# %% [markdown]
# What is lost? Ten bits of mantissa mean a relative error below $2^{-11}$, the same for small and large numbers. A constant that
# differs in the fourth digit looks the same to the network. This is a first, harmless-looking reason why it cannot check a formula
# against the data; a fit in double precision can.

# %%
x = 10 ** np.linspace(-6, 4.8, 400)
error = np.abs(x.astype(np.float16).astype(np.float64) - x) / x
figure, ax = plt.subplots(figsize=(7, 2.4))
ax.loglog(x, np.maximum(error, 1e-7), ".", color=BLUE, markersize=3)
ax.axhline(2.0**-11, color=RED, linestyle="--", label="$2^{-11}$")
ax.set(xlabel="number", ylabel="relative error")
ax.set_title("The network sees three digits of every number")
ax.legend()
save(figure, "half_precision")
plt.show()

# %% [markdown]
# Below about $6\cdot10^{-5}$ (left) the numbers become subnormal and lose digits.

# %% [markdown]
# ## Coverage: most of what the generator draws is already known
#
# The paper's training set has 100,000 equations. But a draw can repeat an earlier one, and short formulas do so all the time. What
# matters for "copying" is the share of *fresh* draws that are already in a set of $n$ draws.

# %%
sizes = [n for n in (1000, 2000, 5000, 10000, 20000, 50000, 100000) if n <= largest_set]
rows = []
for label, low, high in (("ours (2–5 operators)", 2, 5), ("published (3–6 operators)", 3, 6)):
    grown = TreeRecipe(SIMPLIFIED, low, high)
    draws = draw_templates(largest_set, grown, seed)
    fresh = draw_templates(n_fresh, grown, seed + 1)
    first_seen = {t: i for i, t in reversed(list(enumerate(draws)))}
    when = np.array([first_seen.get(t, largest_set) for t in fresh])
    rows += [(label, n, len(set(draws[:n])), int((when < n).sum())) for n in sizes]
coverage = pd.DataFrame(rows, columns=["setting", "draws", "distinct", "known"])
coverage["covered"] = coverage.known / n_fresh
shown = coverage.assign(covered=coverage.covered.map("{:.1%}".format))
shown.pivot(index="draws", columns="setting", values=["distinct", "covered"])

# %% [markdown]
# As a curve, with 95 % intervals.

# %%
figure, ax = plt.subplots(figsize=(7, 3))
for (label, part), colour in zip(coverage.groupby("setting"), (BLUE, ORANGE)):
    ends = 100 * np.array([wilson(k, n_fresh)[-2:] for k in part.known]).T
    ax.fill_between(part.draws, *ends, color=colour, alpha=0.25, linewidth=0)
    ax.plot(part.draws, 100 * part.covered, "o-", color=colour, label=label)
ax.set(xscale="log", xlabel="draws in the training set", ylim=(0, 100))
ax.set_ylabel("fresh draws already known (%)")
ax.set_title(f"{coverage.covered.max():.0%} of fresh draws are among {largest_set:,} earlier ones")
ax.legend(loc="lower right")
save(figure, "coverage")
plt.show()
assert coverage.groupby("setting").covered.apply(lambda c: c.is_monotonic_increasing).all()

# %% [markdown]
# The curves rise with the logarithm of the number of draws: each doubling buys the same few points. So "the network mostly writes
# formulas of its training set" is partly what one should *expect* of a generator whose next draw is mostly known; the bias is what
# goes beyond that. This is why the paper needs a test set of unknown formulas.

# %% [markdown]
# ## Three test sets
#
# > For the `not_included` set, we removed all $e_{\mathrm{templ}}$ appearing in the training data. In contrast, the `baseline` set
# > was sampled directly from the generator. (Section 5.1)
#
# Removing what is known removes the short ones first. Then an accuracy that drops from `baseline` to `not_included` may only say
# that longer formulas are harder.
#
# Departure: we add `not_included_matched`. One template in sixteen, chosen by a hash, is never trained on however often it is drawn;
# from these we take, for each formula of `baseline`, one with the same number of tokens and of variables.

# %%
training = set(training_draws(n_training, recipe, seed=0))
sets, summary = {}, {}
for name in TEST_SETS:
    found = [t for s in range(n_seeds) for t in test_templates(name, training, seed=s, recipe=recipe)]
    tokens, variables = np.mean([size(t) for t in found], axis=0)
    known = np.mean([t in training for t in found])
    sets[name] = found
    summary[name] = {"tokens": tokens, "variables": variables, "in the training set": known}
pd.DataFrame(summary).T.round(2)

# %% [markdown]
# The same as distributions of length.

# %%
figure, ax = plt.subplots(figsize=(7, 2.8))
lengths = np.arange(2, 14)
for (name, found), colour, shift in zip(sets.items(), (RED, BLUE, GREEN), (-0.27, 0, 0.27)):
    counts = np.bincount([len(t) for t in found], minlength=14)[2:14]
    ax.bar(lengths + shift, 100 * counts / counts.sum(), width=0.27, color=colour, label=name)
ax.set(xlabel="tokens of the template", ylabel="share of the test set (%)", xticks=lengths)
ax.set_title("not_included is longer; the matched set is not")
ax.legend()
save(figure, "test_sets")
plt.show()
assert not training & {*sets["not_included"], *sets["not_included_matched"]}
assert summary["not_included"]["tokens"] > summary["baseline"]["tokens"]

# %% [markdown]
# Red leans to the right of blue, green lies on blue. Chapter [04](04_reproduction_bias.py) measures on all three.

# %% [markdown]
# ## Structurally different, functionally the same
#
# > we choose the operators as described below, so that any pair of structurally different expressions is also functionally
# > different. (Remark 5.2)
#
# For templates *without* constants that seems right. Give each distinct template a fingerprint, a hash of its values at fixed
# points, and look for collisions.

# %%
distinct = list(dict.fromkeys(draw_templates(min(largest_set, 20000), recipe, seed)))
prints = Counter(fingerprint(t) for t in distinct)
collisions = sum(count - 1 for count in prints.values())
print(f"{len(distinct)} templates, {collisions} collisions of fingerprints")
book.record(templates=len(distinct), functional_collisions=collisions)
assert collisions == 0

# %% [markdown]
# But *strip* compares what is left after constants are removed, and constants are free: the fit chooses them. A phase turns a sine
# into a cosine, a negative factor turns a sum into a difference. Take data from one template and fit another, "novel" one.

# %%
pairs = [("cos(x1)", "sin(x1)"), ("x1 - x2", "x1 + x2")]
pairs += [("x2 + cos(x1 - x2)", "sin(x1 + x2) - x2"), ("sin(x1)", "exp(x1)")]
points = fit_rng.uniform(-2, 2, (80, 2))
for truth, other in pairs:
    a, b = parse(truth)[0], parse(other)[0]
    fit = fit_constants(saturate(b).prefix(), points, evaluate(a, points), starts=16)
    same = family(a) == family(b)
    print(f"{truth:18} fitted by {other:18} R² = {fit.r2:.6f}   same family: {same}")
    assert same == (fit.r2 > 0.999999)

# %% [markdown]
# The first three fit exactly; the last, a control, does not. `family` identifies templates whose functions coincide when constants
# may stand wherever the generator puts them. How much does this matter? Count families, and look at the unseen test set: how many of
# its templates are new only in spelling?

# %%
families = {family(t) for t in training}
unseen = sets["not_included"]
respelled = sum(family(t) in families for t in unseen)
low, high = wilson(respelled, len(unseen))[-2:]
print(f"{len(training)} training templates form {len(families)} families")
print(f"{respelled} of {len(unseen)} unseen templates belong to a known family:",
      f"{respelled / len(unseen):.0%} (95 %: {low:.0%} to {high:.0%})")
book.record(training_families=len(families), unseen_of_known_family=respelled / len(unseen))
assert 0 < respelled < len(unseen)

# %% [markdown]
# So a network that answers with a training template can be *exactly right* on a problem of `not_included`, and one that writes a
# "novel" template may have written a known function. We therefore measure novelty in four senses from here on: structural (the
# paper's), sequences really seen, functional, and by family.

# %% [markdown]
# ## Paper, ours, verdict
#
# At the sizes set in the parameters cell; the interval is over the fresh draws.

# %%
best = coverage[coverage.setting.str.startswith("published")].iloc[-1]
deepest = max(depth(t) for t in draw_templates(2000, TreeRecipe(SIMPLIFIED, 3, 6), seed))
verdicts = [
    ("trees have a maximum depth of 6 (App. A)",
     f"up to 6 operators reach depth {deepest - 1}, leaves not counted", "holds" if deepest <= 7 else "fails"),
    ("100K equations (5.1)",
     f"{best.draws:,} draws hold {best.distinct:,} different templates", "fewer than it sounds"),
    ("`baseline` is sampled without filtering (5.1)",
     f"{best.covered:.0%} of fresh draws are known", "mostly a test of recall"),
    ("structurally different ⇒ functionally different (5.2), without constants",
     f"{collisions} collisions", "fails" if collisions else "holds"),
    ("the same, with free constants",
     f"{respelled / len(unseen):.0%} of the unseen templates are of a known family", "fails"),
]
rows = "\n".join(f"| {paper} | {ours} | {verdict} |" for paper, ours, verdict in verdicts)
Markdown("| the paper | ours | verdict |\n|---|---|---|\n" + rows)

# %% [markdown]
# ## Exercises
#
# 1. *Predict.* Take all trees with exactly one operator, and at most two different variables. How many *templates* of SIMPLIFIED do they
#    give? Count by hand before you run the cell.

# %% tags=["solution"]
n_templates = 6  # four functions of x1, x1 + x2, x1 − x2

# %% tags=["check"]
one = TreeRecipe(SIMPLIFIED, 1, 1)
found = {template_from(p) for p in raw_draws(2000, one, np.random.default_rng(0))} - {None}
assert n_templates == len(found), "x1 + x1 is 2·x1, and x1 − x1 is nothing"

# %% [markdown]
# 2. *Turn.* Allow only one variable (`SIMPLIFIED.with_variables(1)`). Does the coverage of 1000 draws rise or fall? Measure it.

# %% tags=["solution"]
alone = TreeRecipe(SIMPLIFIED.with_variables(1), min_operators, max_operators)
known = set(draw_templates(1000, alone, 0))
one_variable = np.mean([t in known for t in draw_templates(1000, alone, 1)])

# %% tags=["check"]
ours = coverage[coverage.setting.str.startswith("ours")].set_index("draws")
print(f"one variable {one_variable:.2f}, five {ours.covered[1000]:.2f}")
assert one_variable > ours.covered[1000], "with fewer variables there are fewer templates to cover"

# %% [markdown]
# 3. *Build.* Write `leaves(template)`, the number of leaves, without looking at any name: from the arities alone. (In a tree, leaves
#    = 1 + number of binary operators.)

# %% tags=["solution"]
def leaves(template):
    return 1 + sum(ARITY.get(token, 0) == 2 for token in template)


# %% tags=["check"]
assert all(leaves(t) == sum(token[0] == "x" for token in t) for t in templates), "a unary operator adds no leaf"

# %% [markdown]
# **What's next.** [Training](03_training.py): a network learns to read these bits and write these tokens.
