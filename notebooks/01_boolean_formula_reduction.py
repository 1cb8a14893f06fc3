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
# # Choosing the last token is at least as hard as evaluating a Boolean formula
#
# **Claim.** Given the data and all tokens but the last, no Transformer of fixed depth and limited precision finds the best last token at
# every length, unless two classes of circuits, TC⁰ and NC¹, are equal.
#
# **You will see.** A Boolean formula become a symbolic regression problem; the proof; what the theorem says about networks in practice.
#
# **Needs.** Nothing.
#
# **From the paper.** Section 4 (Definition 4.1, Theorem 4.2); Appendix G.1 and G.2.
#
# **Runtime.** Half a minute at every scale, on a laptop with 2 cores.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the resampling
formula: str = "(0∨1)"  # the formula that is taken through the reduction
max_size: int = 13  # the reduction is checked on all formulas of up to this many symbols

# %% tags=["hide-input"]
import itertools
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from nsr import book
from nsr.evidence import BLUE, GREY, INK, control, mean, results_path, save, use_style
from nsr.theory import LastTokenProblem, boolean, classes_picture, reduce_formula, reduction_picture

use_style()

# %% [markdown]
# ## The last token
#
# A network writes a formula token by token, operators first: `add x1 mul x1 x2` is $x_1 + x_1 x_2$. The paper asks for the last token
# only. The sequence $\widetilde{\mathbf{s}}$ lacks a *leaf* $u$: a variable or a constant `C`.
#
# > find a leaf token $u^\ast$ such that
# > $u^\ast = \operatorname{argmin}_{u \in \Gamma} \mathcal{L}(\mathbf{y}, e_{(\widetilde{\mathbf{s}},u)}(\mathbf{x}))$ (Definition 4.1)
#
# $\mathcal{L}$ is the mean squared error. First, the value of an expression. From right to left, arguments come before their operator.

# %%
def compute(tokens, point):
    """The value of an expression at a point such as {"x1": 1, "x2": 0}."""
    stack = []
    for token in reversed(tokens):
        if token in point:
            stack.append(point[token])
        else:
            a, b = stack.pop(), stack.pop()
            stack.append({"add": a + b, "sub": a - b, "mul": a * b}[token])
    return stack.pop()


compute(("add", "x1", "mul", "x1", "x2"), {"x1": 2, "x2": 5})

# %% [markdown]
# Now the loss of every leaf. Here a constant is always *added*, so its best value is the mean of what is left of y, and the error is the
# variance.

# %%
def losses(prefix, points, y):
    """The mean squared error of every last token."""
    found = {}
    for leaf in ("x1", "x2", "C"):
        values = [compute((*prefix, leaf), {**point, "C": 0}) for point in points]
        left = np.array(y) - values
        found[leaf] = float(np.var(left) if leaf == "C" else np.mean(left**2))
    return found


# %% [markdown]
# By hand: after `add x1`, with $y = x_1 + x_2$ at both points, `x2` has no error. `nsr` agrees.

# %%
points = [{"x1": 1, "x2": 5}, {"x1": 2, "x2": 7}]
found = losses(("add", "x1"), points, [6, 9])
again = LastTokenProblem(("add", "x1"), [[1, 5], [2, 7]], [6, 9]).losses()
assert all(np.isclose(found[leaf], again[leaf]) for leaf in found)
found

# %% [markdown]
# Three leaves: that seems easy. But what does the sequence compute? It can be the value of any Boolean formula.
#
# ## Boolean formulas
#
# > 1\. $0$ and $1$ are Boolean formulae; 2. If $\mathbf{t}_1$ and $\mathbf{t}_2$ are two Boolean formulae, then $(\lnot \mathbf{t}_1),
# > (\mathbf{t}_1 \land \mathbf{t}_2), (\mathbf{t}_1 \lor \mathbf{t}_2)$ are also Boolean formulae. (Definition G.3)
#
# ¬ is *not*, ∧ *and*, ∨ *or*. To evaluate a formula, replace every innermost bracket by its value, all at once: one
# *round*. Repeat until one symbol is left.

# %%
VALUES = dict(zip("¬0 ¬1 0∧0 0∧1 1∧0 1∧1 0∨0 0∨1 1∨0 1∨1".split(), "1000010111"))


def evaluated(text):
    """The formula after every round; the last entry is its value."""
    rounds = [text]
    while len(rounds[-1]) > 1:
        rounds.append(re.sub(r"\(([^()]+)\)", lambda bracket: VALUES[bracket[1]], rounds[-1]))
    return rounds


# %% [markdown]
# Four rounds. `nsr` agrees.

# %%
example = "(((1∨0)∧(¬0))∨(¬((0∨1)∧1)))"
print("\n".join(evaluated(example)))
assert evaluated(example)[-1] == str(boolean.value(example))

# %% [markdown]
# ## The reduction
#
# A *reduction* translates one problem into another: who solves the second has solved the first. Here it takes four steps.
#
# **Step 1: no ∨.** De Morgan's law is $a \lor b = \lnot(\lnot a \land \lnot b)$.
#
# > for all $\lor$ in $\mathbf{t}$, we must replace the nearest left bracket containing $\lor$ with $\lnot(\lnot$ and also replace
# > $\lor$ with $\land\lnot$. (Appendix G.2)

# %%
def without_or(text):
    out, open_brackets = list(text), []
    for place, symbol in enumerate(text):
        if symbol == "(":
            open_brackets.append(place)
        elif symbol == ")":
            open_brackets.pop()
        elif symbol == "∨":
            out[open_brackets[-1]], out[place] = "¬(¬", "∧¬"
    return "".join(out)


print(formula, "→", without_or(formula))

# %% [markdown]
# **Step 2: prefix order.** Each ∧ moves to where its bracket was opened, and the brackets go.

# %%
def to_prefix(text):
    out, open_places = [], []
    for symbol in text:
        if symbol == "(":
            open_places.append(len(out))
            out.append("")  # a place for ∧, if there is one
        elif symbol == ")":
            open_places.pop()
        elif symbol == "∧":
            out[open_places[-1]] = "∧"
        else:
            out.append(symbol)
    return [symbol for symbol in out if symbol]


print(*to_prefix(without_or(formula)))

# %% [markdown]
# **Step 3: tokens.** The data points are (x₁, x₂) = (1, 0) and (0, −1). At both, $x_1 x_2 = 0$ and $x_1 - x_2 = 1$. So expressions of x₁ and
# x₂ can compute with 0 and 1, and the sequence has the value of the formula at both points.

# %%
TOKENS = {
    "0": ["mul", "x1", "x2"],  # x1·x2 = 0
    "1": ["sub", "x1", "x2"],  # x1 − x2 = 1
    "∧": ["mul"],  # a·b
    "¬": ["sub", "sub", "x1", "x2"],  # (x1 − x2) − a = 1 − a
}
POINTS = [{"x1": 1, "x2": 0}, {"x1": 0, "x2": -1}]


def to_tokens(symbols, tokens_of=TOKENS):
    return tuple(token for symbol in symbols for token in tokens_of[symbol])


s = to_tokens(to_prefix(without_or(formula)))
print(*s, "  computes", [compute(s, point) for point in POINTS])

# %% [markdown]
# **Step 4: one token is missing.** With `add` in front, the sequence computes eval(t) + $u$: the value of the formula plus the last token. The
# data say $y = (1, 0)$.

# %%
def reduced(text, tokens_of=TOKENS):
    return ("add", *to_tokens(to_prefix(without_or(text)), tokens_of))


Y = [1, 0]
assert reduced(formula) == reduce_formula(formula).prefix
losses(reduced(formula), POINTS, Y)

# %% [markdown]
# Lines lead from a symbol to what becomes of it.

# %% tags=["hide-input"]
save(reduction_picture(formula), "reduction", alt=f"The formula {formula} in four rows: as it is, without ∨, in prefix order, and as "
     "tokens. Lines join each symbol with the symbols below that it becomes. Bars show the loss of the three leaves.")

# %% [markdown]
# In the last row a ¬ has four tokens, a 0 or 1 three, a ∧ one. Move the slider through all formulas of four and five symbols: x₂ has no error
# exactly when the formula is true.

# %% tags=["hide-input"]
short = [text for size in (4, 5) for text in boolean.formulae(size)]
control(reduction_picture, "formula", short, alt="The reduction of {} in four rows, and the losses of x1, x2 and C.")

# %% [markdown]
# ## Why it is right
#
# The losses depend on eval(t) alone, and can be written down by hand. So whoever finds the best leaf knows the value of the formula. We try
# all formulas of up to `max_size` symbols.

# %%
BY_HAND = {  # eval(t) → loss of every leaf, with y = (1, 0)
    "0": {"x1": 0, "x2": 1, "C": 0.25},  # best c = +1/2
    "1": {"x1": 1, "x2": 0, "C": 0.25},  # best c = −1/2
}


def value_by_last_token(text, points=POINTS):
    found = losses(reduced(text), points, Y)
    return {"x1": "0", "x2": "1"}.get(min(found, key=found.get))


small = [text for size in range(1, max_size + 1) for text in boolean.formulae(size)]
for text in small:
    value = evaluated(text)[-1]
    assert losses(reduced(text), POINTS, Y) == BY_HAND[value] and value_by_last_token(text) == value
print(f"{len(small):,} formulas, no exception")

# %% [markdown]
# Slip: the paper calls the loss of `C` an arg min over $c$, and at least 1/4. It is a min. The arg min is $c$ itself, negative where
# the formula is true.
#
# **Where it fails.** Move the second point from (0, −1) to (0, 1), where $x_1 - x_2$ is not 1. The first formula, by size, that gets
# a wrong leaf:

# %%
moved = [{"x1": 1, "x2": 0}, {"x1": 0, "x2": 1}]
wrong = next(text for text in small if value_by_last_token(text, moved) != evaluated(text)[-1])
print(wrong, "has the losses", losses(reduced(wrong), moved, Y))

# %% [markdown]
# The symbol 1 no longer computes 1 at both points, and a constant wins. Exercise 3 mends it.
#
# ## What NC¹-hard means
#
# A *circuit* is made of gates for *and*, *or*, *not*. Its *depth*, the longest way through it, is the time it takes if all gates work at once.
# A round is one layer of gates. How many does a formula need?

# %%
def balanced(levels):
    if levels == 0:
        return "1"
    return f"({balanced(levels - 1)}{'∧∨'[levels % 2]}{balanced(levels - 1)})"


def lopsided(levels):
    return "1" if levels == 0 else f"(1∧{lopsided(levels - 1)})"


rounds = {len(text): len(evaluated(text)) - 1 for text in map(balanced, range(1, 11))}
rounds_lopsided = {len(text): len(evaluated(text)) - 1 for text in map(lopsided, range(1, 11))}
print(rounds)

# %% tags=["hide-input"]
figure, ax = plt.subplots(figsize=(6, 2.8))
ax.plot(list(rounds_lopsided), list(rounds_lopsided.values()), "x-", color=GREY, label="rounds for a lopsided formula")
ax.plot(list(rounds), list(rounds.values()), "o-", color=BLUE, label="rounds for a balanced formula")
ax.axhline(6, color=INK, ls="--", label="layers of a network, here 6")
ax.set(xscale="log", xlabel="symbols of the formula", ylabel="depth", ylim=(0, 11))
ax.set_title("Longer formulas need more rounds, a network has a fixed depth")
ax.legend()
save(figure, "rounds", alt="Rounds against symbols, the axis of symbols logarithmic: for balanced formulas a straight line from 1 to 10, for "
     "lopsided ones a steep curve; the layers of a network are a level line.")

# %% [markdown]
# Balanced: twice the symbols, one round more, the logarithm of n. A lopsided formula can be rearranged so that this holds for it, too (report).
#
# - **NC¹**: problems for circuits of depth about log n, with polynomially many gates of two inputs.
# - **TC⁰**: polynomially many gates with any number of inputs, also for majorities, so that they count; but one depth for all n.
# - **NC¹-hard**: every problem of NC¹ can be translated into it in constant depth. To evaluate formulas is NC¹-hard (Buss, 1987).
#
# A layer of a Transformer sees all tokens and can count, so it does more than a round. The question is whether *any* fixed number of layers is
# enough for all n. Most researchers believe not: TC⁰ ≠ NC¹. Nobody has proved it.

# %% [markdown]
# ## The theorem and its proof
#
# > Assume $\mathrm{TC}^0 \neq \mathrm{NC}^1$. For any integer $D$ and any polynomial $Q$, there exists a problem size $m$ such that no
# > log-precision Transformer […] with depth $D$ and hidden dimension $d \le Q(m)$ can solve $\operatorname{LastTokenPrediction}(m)$.
# > (Theorem 4.2)
#
# *Log-precision*: numbers inside the network have about log m bits.

# %% tags=["hide-input"]
save(classes_picture(), "classes", alt="The box TC⁰, constant depth, inside the box NC¹, depth like log n. In TC⁰: Transformers of depth D "
     "and the reduction. In NC¹: values of Boolean formulas. An arrow, steps 1 to 4, leads from these to the last token outside.")

# %% [markdown]
# 1. *Simulation.* A log-precision Transformer of constant depth is a TC⁰ circuit (Merrill and Sabharwal, 2023). If for every m one of depth D
#    solved LastTokenPrediction(m), the problem would be in TC⁰.
# 2. *Reduction.* Steps 1 to 4 are in TC⁰.
# 3. *Soundness.* The best leaf is x₂ exactly when the formula is true. So evaluating formulas would be in TC⁰.
# 4. *Contradiction.* That is NC¹-hard, so TC⁰ would equal NC¹, against the assumption.
#
# Sentence 2 needs a proof: our stack reads one bracket after the other, which is not constant depth. But brackets can be matched by
# *counting*: a bracket closes at the first place where fewer are open. All pairs are tried at once.

# %%
def pairs_by_counting(text):
    opened = np.cumsum([(symbol == "(") - (symbol == ")") for symbol in text])
    return {
        (i, j)
        for i, j in itertools.combinations(range(len(text)), 2)
        if text[i] == "(" and opened[j] == opened[i] - 1 and min(opened[i:j]) >= opened[i]
    }


stack, pairs = [], set()
for place, symbol in enumerate(example):
    if symbol == "(":
        stack.append(place)
    elif symbol == ")":
        pairs.add((stack.pop(), place))
assert pairs == pairs_by_counting(example)

# %% [markdown]
# The [report](appendix/A01_circuits_and_experiment.py) builds the circuits, whose depth stays constant, and lists smaller slips.
#
# Slip: the proof supposes a Transformer "for some sufficiently large m". From one m nothing follows, since a list of all formulas of that size
# is enough. The negation of the theorem is "for every m", and then the list grows too fast:

# %%
{size: boolean.count(size) for size in (5, 13, 21, 29, 37)}

# %% [markdown]
# **The theorem says**: for every depth, some length defeats all networks of that depth, whatever their parameters.
#
# **It does not say** at which length, or how often they fail; nor anything about lengths used in practice, about networks that write down
# intermediate results, or about copying.
#
# ## The last leaf in practice
#
# > Our analysis implies that Transformers are unable to internally compute which leaf token […] would be the most appropriate given
# > the input numerical data. (Section 1)
#
# [Chapter 14](14_one_token.py) measured it. Trained networks were given the data and all true tokens but the last leaf, of formulas never
# shown to them, and chose this leaf among the variables; then again, with the data of another problem. (Intervals resample networks and formulas.)

# %% tags=["hide-input"]
path = results_path("novel_steps", scale)
steps = book.read_table(path if path.exists() else results_path("novel_steps"))
leaf = steps[steps.what == "leaf"]
unknown = leaf[~leaf.known.astype(bool)].astype({"network": float, "expected": float, "tried": float})
WAYS = {"expected": "data of another problem", "network": "the right data", "tried": "every variable tried"}
shares = {way: mean(unknown[way], unknown.truth, unknown.weights, seed) for way in WAYS}
values, low, high = 100 * np.array(list(shares.values())).T
figure, ax = plt.subplots(figsize=(6, 2.1))
ax.barh(list(WAYS.values()), values, 0.6, color="#A3ADB8", xerr=[values - low, high - values], capsize=3)
for place in range(len(WAYS)):
    ax.text(2, place, f"{values[place]:.0f} % ({low[place]:.0f} to {high[place]:.0f})", va="center", weight="bold")
ax.set(xlim=(0, 104), xlabel=f"right (%) of {len(unknown):,} last leaves of unknown formulas")
ax.set_title("With the right data the networks find most last leaves")
save(figure, "last_leaf", alt="Three bars: right last leaves with the data of another problem, about half; with the right data, most; "
     "by trying every variable, all.")

# %% [markdown]
# The distance between the lowest two bars is what the networks get from the data. **The theorem explains** that no training promises every last
# leaf at every length. **It does not explain** why some leaves are missed here, at short lengths, nor the copying: networks
# that copy still find most last leaves. They fail earlier, at the first token at which no training formula begins like the true one (chapter 14).
#
# Transformers trained on the reduction itself are close to guessing on unseen formulas (report).

# %% [markdown]
# ## Paper, ours, verdict

# %% tags=["hide-input"]
network = 100 * shares["network"].value
verdicts = [
    ("x₁ is best if eval = 0, x₂ if eval = 1", f"{len(small):,} formulas, no exception", "holds"),
    ("the loss of C is at least 1/4", "as a min; as an arg min it is false", "holds"),
    ("steps 1 to 4 are in TC⁰", "circuits of constant depth (report)", "holds"),
    ("some m defeats every Transformer of depth D", "with “for every m” in its proof", "holds"),
    ("Transformers are unable to compute the best leaf", f"{network:.0f} % right at short lengths", "fails"),
]
book.record(formulas_checked=len(small), last_leaves_right=shares["network"].value)
pd.DataFrame(verdicts, columns=["paper", "ours", "verdict"]).style.hide(axis="index")

# %% [markdown]
# ## Exercises
#
# 1. *Predict.* How many tokens does the sequence of `((¬1)∨0)` have, `add` included, and which leaf is best?

# %% tags=["solution"]
n_tokens, winner = 24, "x1"  # 1 + 2 leaves of 3 tokens + 4 negations of 4 tokens + 1 conjunction

# %% tags=["check"]
asked = reduce_formula("((¬1)∨0)")
assert n_tokens == len(asked.prefix), "step 1 adds three negations"
assert winner == asked.solve(), "x2 is best exactly when the formula is true"

# %% [markdown]
# 2. *Turn.* Keep points and tokens. Find values `other_y`, not (1, 0), with which the best leaf of every formula stays the same.

# %% tags=["solution"]
other_y = [1.5, -0.5]

# %% tags=["check"]
assert list(other_y) != [1, 0], "other values than the paper's"
for text in small[:100]:
    right = ("x1", "x2")[boolean.value(text)]
    found = losses(reduced(text), POINTS, other_y)
    assert min(found, key=found.get) == right, f"{text} should have the best leaf {right}"

# %% [markdown]
# 3. *Build.* Make the reduction work with the points `moved` and $y = (1, 0)$: write `other_tokens` for the four symbols. The best leaf is
#    x₁ for false formulas and another, `if_true`, for true ones.

# %% tags=["solution"]
one = ["add", "x1", "x2"]  # x1 + x2 is 1 at both points
other_tokens = {"0": ["mul", "x1", "x2"], "1": one, "∧": ["mul"], "¬": ["sub", *one]}
if_true = "C"

# %% tags=["check"]
for text in small[:100]:
    made = reduced(text, other_tokens)
    values = [compute(made[1:], point) for point in moved]
    assert values == [boolean.value(text)] * 2, f"{text} computes {values} at the two points"
    found = losses(made, moved, Y)
    leaf_now = min(found, key=found.get)
    assert leaf_now == ("x1", if_true)[boolean.value(text)], f"the best leaf of {text} is {leaf_now}"

# %% [markdown]
# **What's next.** [Chapter 02](02_expressions_and_data.py): the formulas and data with which the networks of this book are trained.
