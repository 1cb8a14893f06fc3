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
# **Claim.** A training set of random formulas contains most of what its generator will draw next; what it lacks is longer. And two
# templates that look different can describe the same functions once their constants are free.
#
# **You will see.** Trees counted, templates, constants and points; strip, canonical form and family built in a few lines each; the
# 16 bits of a number; how much a training set covers; three test sets.
#
# **Needs.** [00](00_start_here.py).
#
# **From the paper.** Sections 3.1, 3.2 and 5.1; Remark 5.2; Appendix A.
#
# **Runtime.** Tiny: 15 seconds. Laptop: one minute. Paper: two minutes. On a laptop with 2 cores.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # where random numbers begin
min_operators: int = 2  # operators of a tree, at least (3 in the published code)
max_operators: int = 5  # and at most (6 in the published code)
n_training: int = 5000  # draws that make the training set of this book
largest_set: int = 100000  # the coverage curve goes up to this many draws
n_fresh: int = 5000  # fresh draws on which coverage is measured
n_seeds: int = 3  # test sets of each kind that are drawn

# %% tags=["hide-input"]
from collections import Counter
from functools import lru_cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown

from nsr import book
from nsr.data import TEST_SETS, TemplateBank, TreeRecipe, draw_templates, raw_draws, sample_items, size, template_from, test_templates, training_draws, tree_counts
from nsr.evidence import GREY, INK, SET_STYLES, control, draw_tree, save, use_style, wilson
from nsr.formulas import ARITY, SIMPLIFIED, canonical, depth, family, is_reduced, parse, saturate, strip, to_infix
from nsr.network import half_bits
from nsr.numbers import evaluate, fingerprint, fit_constants

use_style()
tree_rng, coin_rng, item_rng, fit_rng = np.random.default_rng(seed).spawn(4)
recipe = TreeRecipe(SIMPLIFIED, min_operators, max_operators)

# %% [markdown]
# ## A formula is a tree
#
# Chapter 00 wrote a formula as a sequence of tokens with the operator first. To work on a formula we read this sequence back into a
# tree: a token, followed by as many trees as the token has arguments.


# %%
def tree(prefix):
    """The nested form of a sequence of tokens: (token, argument, …)."""
    tokens = iter(prefix)

    def read():
        token = next(tokens)
        return (token, *(read() for _ in range(ARITY.get(token, 0))))

    return read()


print(tree(("add", "x1", "sin", "x2")))

# %% [markdown]
# ## All trees of one size are equally likely
#
# > Draw a random binary-unary tree $T \sim p_{\mathrm{Tree}}$. (Section 3.1)
#
# One could toss a coin at every open place: leaf, function of one argument, or operator with two? This favours small trees. Lample and
# Charton's $p_{\mathrm{Tree}}$ instead fixes the number of operators and makes all trees with that many equally likely. For this one
# has to count. Let $D(e, n)$ be the number of ways to fill $e$ open places with $n$ operators. The first place gets a leaf, or a
# function, which keeps the number of open places, or an operator with two arguments, which opens one more:
#
# $$D(0,n) = 0,\qquad D(e,0) = 1,\qquad D(e,n) = D(e-1,n) + D(e,n-1) + D(e+1,n-1).$$
#
# `shapes` checks the count by building every tree, written as its arities: `2` opens two places, `1` one, `0` is a leaf.


# %%
@lru_cache
def D(e, n):
    if e == 0:
        return 0
    return 1 if n == 0 else D(e - 1, n) + D(e, n - 1) + D(e + 1, n - 1)


def shapes(n):
    """All trees with n operators, one after the other."""
    if n == 0:
        return ["0"]
    unary = ["1" + below for below in shapes(n - 1)]
    return unary + ["2" + a + b for k in range(n) for a in shapes(k) for b in shapes(n - 1 - k)]


print("trees with two operators:", shapes(2))
print("trees with 0 to 6 operators:", [D(1, n) for n in range(7)])
assert [len(set(shapes(n))) for n in range(5)] == [D(1, n) for n in range(5)]
assert [D(1, n) for n in range(7)] == tree_counts(6)[1].tolist()

# %% [markdown]
# To draw a tree, the next operator is placed with the counts of what remains as weights. The figure has a pair of bars for each tree
# with three operators: how often it is drawn in this way, and how often coins make it, among trees of this size.

# %% tags=["hide-input"]
def coin_tree(rng):
    """Toss a coin at every open place until the tree is closed."""
    made, places = "", 1
    while places and len(made) < 40:
        made += rng.choice(["0", "1", "2"])
        places += int(made[-1]) - 1
    return made


order = sorted(shapes(3), key=lambda shape: (len(shape), shape))
drawn = raw_draws(6000, TreeRecipe(SIMPLIFIED, 3, 3), tree_rng)
counted = Counter("".join(str(ARITY.get(token, 0)) for token in prefix) for prefix in drawn)
tossed = Counter(made for made in (coin_tree(coin_rng) for _ in range(20000)) if made in order)
figure, ax = plt.subplots(figsize=(7, 2.8))
for counts, colour, shift, label in ((counted, INK, -0.2, "counting ($p_{Tree}$)"), (tossed, "#A3ADB8", 0.2, "coins")):
    ax.bar(np.arange(len(order)) + shift, [100 * counts[t] / counts.total() for t in order], 0.4, color=colour, label=label)
ax.axhline(100 / len(order), color=GREY, linestyle=":", label="uniform")
ax.set(xlabel="the trees with three operators, by number of tokens", xticks=[], ylabel="share of draws (%)")
ax.set_title("Counting makes every tree equally likely")
ax.legend()
save(figure, "tree_shapes", alt="Bars for the 22 trees with three operators. The bars of counting are level; those of coins fall from the short trees to the long ones.")

# %% [markdown]
# The dark bars are level. The light ones fall from left to right, because each further token needs one more coin.
#
# ## From a tree to a template
#
# > Assign internal nodes independently and uniformly from $\mathcal{O}_{\mathrm{bin}}\cup\mathcal{O}_{\mathrm{un}}$, and leaves
# > uniformly from the variable set $\mathcal{V}$. (Section 3.1)
#
# Departure: as in the code that the paper was run with, operators are drawn by weight within their arity, and leaves are *ordered*: the
# first leaf is $x_1$, a later one is one of the variables used so far or the next. Without this rule one formula would appear under
# many names.

# %%
print({operator: weight for operator, weight in SIMPLIFIED.weights if weight})
raw = raw_draws(4000, recipe, tree_rng)
for prefix in raw[:4]:
    print(f"{to_infix(prefix):40} {' '.join(prefix)}")

# %% [markdown]
# One formula has many spellings: $x_1 + x_2$ and $x_2 + x_1$; $x_1 - (x_2 - x_3)$ and $x_1 + x_3 - x_2$. The *canonical form* chooses
# one spelling for all of them. It follows from three rules. A sum is a list of signed terms, and a difference turns the signs of its
# second part. The list is sorted. A sign comes out of a function: $\sin(-u) = -\sin u$, the same for the tangent, and
# $\cos(-u) = \cos u$; so the first term inside can always be positive. Of the three
# examples below the code the first two are one formula.


# %%
def terms(node):
    """A formula as a sorted list of (term, sign)."""
    name, *arguments = node
    if not arguments:
        return [(name, 1)]
    if name in ("add", "sub"):
        first, second = map(terms, arguments)
        turn = 1 if name == "add" else -1
        return sorted(first + [(term, turn * sign) for term, sign in second])
    inside, sign = terms(arguments[0]), 1
    if name in ("sin", "tan", "cos") and inside[0][1] < 0:  # f(−u)
        inside = [(term, -s) for term, s in inside]
        sign = 1 if name == "cos" else -1
    return [(f"{name}({written(inside)})", sign)]


def written(signed):
    return "".join("+-"[sign < 0] + term for term, sign in signed)


for text in ("x3 - sin(x1 - x2)", "sin(x2 - x1) + x3", "x3 + sin(x1 - x2)"):
    prefix, _ = parse(text)
    print(f"{text:18} here: {written(terms(tree(prefix))):18} nsr: {to_infix(canonical(prefix))}")

# %% [markdown]
# `nsr` chooses another spelling, and that does not matter: what counts is which formulas get the same one. So we compare this, on
# all draws that are kept. A draw is rejected if a term of a sum repeats or cancels (`is_reduced`): $x_1 + x_1$ would need the integer
# 2, which is no token.

# %%
kept = [prefix for prefix in raw if is_reduced(prefix)]
ours = [written(terms(tree(p))) for p in kept]
theirs = [canonical(p) for p in kept]
assert len(set(ours)) == len(set(theirs)) == len(set(zip(ours, theirs)))
share, low, high = wilson(len(kept), len(raw))
print(f"{len(kept)} of {len(raw)} draws are kept: {share:.0%} (95 %: {low:.0%} to {high:.0%})")
print(f"they are {len(set(theirs))} different formulas, by our rules and by nsr's")

# %% [markdown]
# What is kept, in its canonical form, is a *template*. Move the control through twelve draws with four operators, beginning with the
# first that is kept: on the left the tree as it was drawn, on the right its template, if it has one.

# %% tags=["hide-input"]
four = raw_draws(40, TreeRecipe(SIMPLIFIED, 4, 4), np.random.default_rng(seed))
first = next(i for i, draw in enumerate(four) if template_from(draw))
four = four[first : first + 12]


def grown(number):
    figure, axes = plt.subplots(1, 2, figsize=(7, 3.2))
    template = template_from(four[number])
    draw_tree(axes[0], four[number], colour=GREY)
    axes[0].set_title(f"drawn: {to_infix(four[number])}", fontsize=9)
    if template:
        draw_tree(axes[1], template, colour=INK)
    axes[1].set_title(f"template: {to_infix(template)}" if template else "rejected", fontsize=9)
    axes[1].set_axis_off()
    return figure


control(grown, "draw", range(len(four)), alt="Draw {}: on the left its tree, on the right the tree of its template, or nothing if it was rejected.")

# %% [markdown]
# From left to right brackets are opened and terms are sorted. Where the right side is empty, terms repeat or cancel.
#
# ## Constants have places, points have supports
#
# > For each unary operator $u$, sample a constant $c_{\mathrm{mul}}$ and replace $u$ with $c_{\mathrm{mul}} u$ […] for each variable
# > $x$ […] replace $x$ with $c_{\mathrm{mul}} x + c_{\mathrm{add}}$; otherwise keep the variable as is. (Section 3.1)
#
# So the template tells where constants may stand. `saturate` fills all these places; an *item* of the training data has some of them.
# Constants that are added in the same sum become one.
#
# Departure: the text gives no probability for "otherwise", and speaks of at most 6 constants. We follow the published code: the number
# $u$ of constants has $P(u) \propto 1/(u+1)$ for $u < \min(\text{places}, 6)$, so there are at most five. Factors are
# log-uniform in (0.05, 10), summands uniform in (−10, 10), all with three decimals.
#
# The points of a variable are uniform in an interval of its own, its *support*:
#
# $$x_{\min,j} \sim \mathcal{U}(-10, 9),\quad x_{\max,j} \sim \mathcal{U}(x_{\min,j}+1, 10)$$
#
# $$x_{ij} \sim \mathcal{U}(x_{\min,j}, x_{\max,j}),\quad y_i = e^\ast(\mathbf{x}_i)$$

# %%
template, _ = parse("x1 + sin(x2)")
print("all places:", to_infix(saturate(template).prefix()))
toy = sample_items(TemplateBank([template]), item_rng, 5, n_points=5)
for i in range(len(toy)):
    expression, (low, high) = (toy.prefix(i), toy.values(i)), toy.supports[i, 0]
    print(f"an item:    {to_infix(*expression):32} x1 from {low:.1f} to {high:.1f}")
    y = evaluate(expression[0], toy.X[i], expression[1])  # (P,)
    assert np.array_equal(y, toy.y[i]) and low <= toy.X[i, :, 0].min()

# %% [markdown]
# ## Strip removes the constants
#
# The way back is the paper's *strip*: remove every constant, and with it the operator that attached it. It decides what counts as
# copied: an answer is *novel* if its stripped form is not a training template.


# %%
def stripped(node):
    """The tokens that are left without constants; None if nothing is left."""
    name, *arguments = node
    if name == "C":
        return None
    left = [part for part in map(stripped, arguments) if part]
    if len(arguments) == 2 and len(left) == 1:
        return left[0]  # C·u and C + u become u
    return (name, *(token for part in left for token in part))


print(to_infix(toy.prefix(4)), "→", to_infix(stripped(tree(toy.prefix(4)))))

# %% [markdown]
# The check: on items of two thousand draws it is what `nsr` does, and it leads back to the template that the item was made from.

# %%
bank = TemplateBank(dict.fromkeys(draw_templates(2000, recipe, seed)))
items = sample_items(bank, item_rng, 2000, n_points=5)
prefixes = [items.prefix(i) for i in range(len(items))]
assert all(stripped(tree(p)) == strip(p) for p in prefixes)
assert {canonical(strip(p)) for p in prefixes} <= set(bank)
print("items by number of constants:", dict(sorted(Counter(p.count("C") for p in prefixes).items())))

# %% [markdown]
# ## A number is sixteen bits
#
# The values $y$ range over many orders of magnitude, and a network works best with inputs of one size. NeSymReS therefore gives the
# network the bits of each number in *half precision*, as ±1. Half precision writes a number as
#
# $$\pm\,(1 + m/1024)\cdot 2^{e},\qquad 0 \le m < 1024,\quad -14 \le e \le 15:$$
#
# one bit for the sign, five for $e + 15$, ten for the *mantissa* $m$. By hand: $-2.5 = -(1 + 256/1024) \cdot 2^1$.


# %%
def bits_of(number):
    e = int(np.floor(np.log2(abs(number))))
    m = round((abs(number) / 2**e - 1) * 1024)
    return f"{int(number < 0)} {e + 15:05b} {m:010b}"


for number in (-2.5, 0.001, 1.0, 65504.0):
    theirs = "".join("01"[int(bit > 0)] for bit in half_bits(torch.tensor(number)))
    print(f"{number:10.3f}   {bits_of(number)}")
    assert bits_of(number).replace(" ", "") == theirs

# %% [markdown]
# Two neighbouring numbers in half precision differ by 1 in $m$. So rounding changes a number by at most $2^{-11}$ of its size, about
# one in two thousand, whether the number is small or large. Below $2^{-14}$ the exponent cannot fall any more, and digits are lost.

# %% tags=["hide-input"]
x = 10 ** np.linspace(-6, 4.8, 400)
error = np.abs(x.astype(np.float16).astype(np.float64) - x) / x
figure, ax = plt.subplots(figsize=(7, 2.6))
ax.loglog(x, np.maximum(error, 1e-7), ".", color=INK, markersize=3)
ax.axhline(2.0**-11, color=GREY, linestyle="--", label="$2^{-11}$")
ax.axvline(2.0**-14, color=GREY, linestyle=":", label="the number $2^{-14}$")
ax.set(xlabel="number", ylabel="relative error")
ax.set_title("The network is given about three digits of every number")
ax.legend()
save(figure, "half_precision", alt="Relative error of half precision against the number, both logarithmic. Above 2 to the −14 all dots lie under 2 to the −11; below it the error grows.")
assert error[x > 2.0**-14].max() <= 2.0**-11

# %% [markdown]
# To the right of the dotted line no dot is above the dashed one. The network cannot see whether a constant is wrong in the fourth
# digit; a fit in double precision can.
#
# ## A training set covers most of what is drawn next
#
# A draw can repeat an earlier one, and short templates do so often. Which share of *fresh* draws is already in a set of $n$ draws? This
# share is the *coverage*. We measure it for the trees of this book and for those of the published code. The training set of this book
# lacks some draws, which are held out for a test set of the next section; so its star will lie below the curve.

# %%
def covered(known, fresh):
    """The share of fresh draws that are known, in %, with its 95 % interval."""
    return [100 * share for share in wilson(sum(t in known for t in fresh), len(fresh))]


sizes = [n for n in (1000, 2000, 5000, 10000, 20000, 50000, 100000) if n <= largest_set]
curves, distinct = {}, {}
for low, high, label in ((2, 5, "2–5 operators, this book"), (3, 6, "3–6 operators, published")):
    trees = TreeRecipe(SIMPLIFIED, low, high)
    draws = draw_templates(largest_set, trees, seed)
    fresh = draw_templates(n_fresh, trees, seed + 1)
    curves[label] = np.array([covered(set(draws[:n]), fresh) for n in sizes])
    distinct[label] = len(set(draws))
training = set(training_draws(n_training, recipe))
own = covered(training, draw_templates(n_fresh, recipe, seed + 1))
papers = curves[label][-1]
for name, (share, low, high) in (("this book's set", own), ("the paper's size", papers)):
    print(f"{name}: {share:.0f} % of fresh draws are known ({low:.0f} to {high:.0f})")

# %% [markdown]
# On the curves, stars mark the training set of this book and one of the paper's size. The bands are 95 % intervals.

# %% tags=["hide-input"]
figure, ax = plt.subplots(figsize=(7, 3.4))
for (label, curve), colour, marker in zip(curves.items(), (INK, "#7b8794"), "os"):
    ax.fill_between(sizes, curve[:, 1], curve[:, 2], color=colour, alpha=0.2, linewidth=0)
    ax.plot(sizes, curve[:, 0], marker=marker, color=colour, label=label)
for x, y, text in ((n_training, own[0], "this book's set"), (largest_set, papers[0], "the paper's size")):
    ax.plot(x, y, "*", color="#882255", markersize=15)
    ax.annotate(text, (x, y), (8 if x > n_training else 0, -27 if x > n_training else -20), textcoords="offset points", ha="right" if x > n_training else "center", color="#882255")
ax.set(xscale="log", xlabel="draws in the training set", ylabel="fresh draws already known (%)", ylim=(0, 100))
ax.set_title(f"This book's set covers {own[0]:.0f} % of fresh draws, one of the paper's size {papers[0]:.0f} %")
ax.legend(loc="lower right")
save(figure, "coverage", alt="Share of fresh draws that are known against the number of draws, for this book's trees and the published ones. Both curves rise; stars mark the set of this book and one of the paper's size.")

# %% [markdown]
# Both curves rise all the way. So the template of most fresh draws stands in the training set, and copying it is right. To see a bias
# one needs problems whose template is *not* in the set.
#
# ## Three test sets
#
# > For the `not_included` set, we removed all $e_{\mathrm{templ}}$ appearing in the training data. In contrast, the `baseline` set
# > was sampled directly from the generator. (Section 5.1)
#
# Removing what is known removes the short templates first. An accuracy that drops from `baseline` to `not_included` may then only say
# that longer formulas are harder.
#
# Departure: we add `not_included_matched`. One template in sixteen, chosen by a hash of its tokens, is never trained on. From these we
# take, for each formula of `baseline`, one with the same number of tokens and of variables.

# %%
sets, summary = {}, {}
for name in TEST_SETS:
    drawn = (test_templates(name, training, seed=s, recipe=recipe) for s in range(n_seeds))
    sets[name] = [t for templates in drawn for t in templates]
    tokens, variables = np.mean([size(t) for t in sets[name]], axis=0)
    known = np.mean([t in training for t in sets[name]])
    summary[name] = {"tokens": tokens, "variables": variables, "share that is known": known}
pd.DataFrame(summary).T.round(2)

# %% [markdown]
# The same as a figure: how long the templates of each set are.

# %% tags=["hide-input"]
figure, ax = plt.subplots(figsize=(7, 3))
lengths = np.arange(2, 12)
for name, templates in sets.items():
    colour, marker = SET_STYLES[name]
    counts = np.bincount([len(t) for t in templates], minlength=12)[2:12]
    hollow = {"markerfacecolor": "none", "markersize": 11, "linestyle": ":"} if "matched" in name else {}
    ax.plot(lengths, 100 * counts / counts.sum(), color=colour, marker=marker, label=name, **hollow)
ax.set(xlabel="tokens of the template", ylabel="share of the test set (%)", xticks=lengths)
ax.set_title("not_included is longer than baseline; the matched set is not")
ax.legend()
save(figure, "test_sets", alt="Share of templates by number of tokens for three test sets. not_included has its peak at more tokens than baseline; not_included_matched follows baseline.")
assert not training & {*sets["not_included"], *sets["not_included_matched"]}
assert summary["not_included"]["tokens"] > summary["baseline"]["tokens"]

# %% [markdown]
# The circles lie to the right; the triangles lie on the squares. Chapter [04](04_reproduction_bias.py) measures on all three.
#
# ## Different in structure, equal in function
#
# > we choose the operators as described below, so that any pair of structurally different expressions is also functionally
# > different. (Remark 5.2)
#
# For templates *without* constants we found no counterexample. A fingerprint is a hash of the values of a template at fixed points: do
# two templates share one?

# %%
distinct_templates = set(draw_templates(min(largest_set, 20000), recipe, seed))
prints = {fingerprint(t) for t in distinct_templates}
collisions = len(distinct_templates) - len(prints)
print(f"{len(distinct_templates)} templates, {collisions} pairs with the same values")
book.record(templates=len(distinct_templates), functional_collisions=collisions)
assert collisions == 0

# %% [markdown]
# But *strip* removes constants, and a fit chooses them freely. Then three rules make templates equal that look different. We call
# templates that follow from each other by these rules one *family*:
#
# 1. a negative factor turns a sum into a difference, so a sign does not count;
# 2. a phase turns a sine into a cosine, $\cos u = \sin(u + \pi/2)$, so they are one function;
# 3. $a x_1 + b x_1$ is one term, so a variable that occurs twice in a sum occurs once.


# %%
def family_terms(node):
    """The terms of a sum, sorted, up to the three rules."""
    name, *arguments = node
    if not arguments:
        return [name]
    if name in ("add", "sub"):  # rule 1: no signs
        both = sorted(family_terms(arguments[0]) + family_terms(arguments[1]))
        return [t for i, t in enumerate(both) if "(" in t or t not in both[:i]]  # rule 3
    name = "sin" if name == "cos" else name  # rule 2
    return [f"{name}({'+'.join(family_terms(arguments[0]))})"]


for text in ("x2 + cos(x1 - x2)", "sin(x1 + x2) - x2", "x1 + x1 + exp(x2)"):
    print(f"{text:20} {' + '.join(family_terms(tree(parse(text)[0])))}")

# %% [markdown]
# The first two are one family. Again we compare with `nsr` which templates are put together. Then we count the templates of
# `not_included` whose family is in the training set: they are new in spelling only.

# %%
ours = ["+".join(family_terms(tree(t))) for t in distinct_templates]
theirs = [family(t) for t in distinct_templates]
assert len(set(ours)) == len(set(theirs)) == len(set(zip(ours, theirs)))
print(f"{len(distinct_templates)} templates are {len(set(ours))} families")
relative = {family(t): t for t in sorted(training)}
unseen = sets["not_included"]
respelled = [t for t in unseen if family(t) in relative]
share, low, high = wilson(len(respelled), len(unseen))
book.record(unseen_of_known_family=share)
print(f"{len(respelled)} of {len(unseen)} unseen templates are of a known family:",
      f"{share:.0%} (95 %: {low:.0%} to {high:.0%})")

# %% [markdown]
# Take the first of them with at most two variables, draw data from it, and fit its relative of the training set, with a constant at
# every place. As an example that fails, fit the same training template to the first template of an unknown family.

# %%
short = [t for t in unseen if size(t)[1] <= 2]
works = next(t for t in short if family(t) in relative)
fails = next(t for t in short if family(t) not in relative)
trained_on = relative[family(works)]
points = fit_rng.uniform(-2, 2, (80, 2))
for truth in (works, fails):
    y = evaluate(truth, points)
    fit = fit_constants(saturate(trained_on).prefix(), points, y, starts=16)
    print(f"{to_infix(truth):30} fitted by {to_infix(trained_on)}:  R² = {fit.r2:.6f}")
    assert (fit.r2 > 0.999999) == (truth == works)

# %% [markdown]
# So a network that answers with a training template can be *exactly right* on a problem of `not_included`, and a "novel" template may
# be a known function. Later chapters therefore count novelty by family, too.
#
# ## Paper, ours, verdict
#
# These numbers are for the sizes in the parameters cell.

# %% tags=["hide-input"]
deepest = max(depth(t) for t in draw_templates(2000, TreeRecipe(SIMPLIFIED, 3, 6), seed))
verdicts = [
    ("trees have a maximum depth of 6 (App. A)",
     f"with up to 6 operators the depth is at most {deepest - 1}, leaves not counted", "holds" if deepest <= 7 else "fails"),
    ("100,000 equations (5.1)",
     f"{largest_set:,} draws are {distinct['3–6 operators, published']:,} different templates", "different"),
    ("different structure means different function (5.2), without constants",
     f"{collisions} counterexamples in {len(distinct_templates):,} templates", "fails" if collisions else "holds"),
    ("the same, with free constants",
     f"{share:.0%} ({low:.0%} to {high:.0%}) of the unseen templates are of a known family", "fails"),
]
rows = "\n".join(f"| {paper} | {ours} | {verdict} |" for paper, ours, verdict in verdicts)
Markdown("| the paper | ours | verdict |\n|---|---|---|\n" + rows)

# %% [markdown]
# ## Exercises
#
# 1. *Predict.* Take all trees with exactly one operator. How many *templates* of the operators above do they give? Count by hand before
#    you run the cell.

# %% tags=["solution"]
n_templates = 6  # four functions of x1, x1 + x2, x1 − x2

# %% tags=["check"]
one = TreeRecipe(SIMPLIFIED, 1, 1)
found = {template_from(p) for p in raw_draws(2000, one, np.random.default_rng(0))} - {None}
assert n_templates == len(found), "x1 + x1 is 2·x1, and x1 − x1 is nothing"

# %% [markdown]
# 2. *Turn.* Allow only one variable (`SIMPLIFIED.with_variables(1)`). Does the coverage of 1000 draws rise or fall? Measure it, in
#    percent, with `covered` and `draw_templates`.

# %% tags=["solution"]
alone = TreeRecipe(SIMPLIFIED.with_variables(1), min_operators, max_operators)
one_variable = covered(set(draw_templates(1000, alone, 0)), draw_templates(1000, alone, 1))[0]

# %% tags=["check"]
five = TreeRecipe(SIMPLIFIED, min_operators, max_operators)
five_variables = covered(set(draw_templates(1000, five, 0)), draw_templates(1000, five, 1))[0]
print(f"one variable {one_variable:.0f} %, five {five_variables:.0f} %")
assert 100 >= one_variable > five_variables, "with fewer variables there are fewer templates to cover"

# %% [markdown]
# 3. *Build.* Decide by numbers what the rules decide by letters. Write `same_family(a, b)` for two templates: whether each of them, with a
#    constant at every place, fits the values of the other at `points`. Try it on a sine and a cosine first.

# %% tags=["solution"]
def same_family(a, b):
    def fits(one, other):
        return fit_constants(saturate(one).prefix(), points, evaluate(other, points), starts=16).r2 > 0.999999

    return fits(a, b) and fits(b, a)


# %% tags=["check"]
for first, second in (("sin(x1)", "cos(x1)"), ("x1 - x2", "x1 + x2"), ("sin(x1)", "exp(x1)"), ("x1 + sin(x2)", "sin(x2)")):
    a, b = parse(first)[0], parse(second)[0]
    assert same_family(a, b) == same_family(b, a) == (family(a) == family(b)), f"{first} and {second}"

# %% [markdown]
# **What's next.** [Training](03_training.py): a network learns to read these bits and to write these tokens.
