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
# # A network that writes formulas mostly copies formulas
#
# **Claim.** A Transformer trained to turn data into a formula mostly repeats formulas of its training set. Computing more at test
# time helps when it tells the network something new.
#
# **You will see.** What an expression is in this book, the one line along which everything flows, and the chapters.
#
# **Needs.** Nothing.
#
# **From the paper.** *Can Test-time Computation Mitigate Reproduction Bias in Neural Symbolic Regression?* (Sato and Sato), Section 1.
#
# **Runtime.** A few seconds at every scale, on a laptop with 2 cores.

# %% [markdown]
# Every notebook begins with such a card and with a cell of parameters. This one has three; change one and run the notebook again.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # where random numbers begin
formula: str = "2.5*sin(x1) + x2 - exp(x3)"  # the formula that is taken apart below

# %% [markdown]
# The next cell always imports. What it imports is small and meant to be read: one file of `nsr/` for each noun of the paper.

# %%
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown

from nsr import book
from nsr.book import CHAPTERS
from nsr.evidence import BLUE, GREEN, GREY, INK, RED, draw_tree, save, use_style
from nsr.formulas import arity, depth, parse, strip, to_infix, to_latex
from nsr.numbers import evaluate

use_style()

# %% [markdown]
# ## A formula is a sequence of tokens
#
# A language model writes one token after another, so a formula has to become a sequence. We write the operator first and its
# arguments after it (prefix notation); then no brackets are needed, and a subtree is a slice. Numbers become the placeholder `C`
# and travel beside the sequence.

# %%
prefix, constants = parse(formula)
print("tokens    ", prefix)
print("constants ", constants)

# %% [markdown]
# The sequence and the tree are the same thing seen twice: read the tree from the top, left before right, and you get the tokens.

# %%
figure, ax = plt.subplots(figsize=(6, 2.8))
draw_tree(ax, prefix, constants)
ax.set_title(f"The tree of  ${to_latex(prefix, constants)}$")
save(figure, "tree")
plt.show()

# %% [markdown]
# Coloured nodes are operators, grey ones are variables and constants. Nothing may be lost on the way there and back, so we check it.

# %%
print("formula   ", to_infix(prefix, constants))
assert parse(to_infix(prefix, constants)) == (prefix, constants)

# %% [markdown]
# A tree can also be evaluated, at many points at once. Small enough to check by hand: at the origin every sine is 0 and every
# exponential 1.

# %%
x1_x2 = np.array([[0.0, 0.0], [np.pi / 2, 1.0]])  # (P, D): 2 points, 2 variables
y = evaluate(("sub", "sin", "x1", "exp", "x2"), x1_x2)  # (P,)
print("sin(x1) - exp(x2) at the two points:", y)
assert np.allclose(y, [-1.0, 1.0 - np.e])

# %% [markdown]
# ## When is a formula a copy?
#
# > If strip(*e*) ∈ `E_templ`, we say **s** is a *reproduction* of expressions seen during training. (Section 4.1)
#
# *strip* removes the constants. What remains is the *template*, and a template is either in the training set or it is not: that
# single question is what the book measures, and we call an answer **novel** when it is not.

# %%
toy = ("sin(x1) + x2 - exp(x3)", "sin(x1) + x2")
training_set = {strip(parse(text)[0]) for text in toy}


def verdict(text):
    return "copied" if strip(parse(text)[0]) in training_set else "novel"


print("template  ", strip(prefix))
print("verdict   ", verdict(formula))

# %% [markdown]
# When somebody is there, the next cell is a box for a formula of your own: its tokens, its tree, and whether it would be a copy. Every
# chapter has a cell like this one.

# %%
if not book.headless():
    from ipywidgets import Text, interact

    @interact(text=Text(formula, description="formula", continuous_update=False))
    def take_apart(text):
        try:
            tokens, values = parse(text)
            said = f"{verdict(text)}:  {' '.join(tokens)}"
        except ValueError as fault:
            return print(fault)
        if len(tokens) > 80:
            return print(said, "\n(too many tokens for a picture)")
        ax = plt.subplots(figsize=(6, 2.8))[1]
        draw_tree(ax, tokens, values)
        ax.set_title(fill(said, 70), fontsize=9)
        plt.show()

# %% [markdown]
# ## The one line
#
# Everything in this project lies on one line, and data moves along it from left to right. Below each station is the file of `nsr/`
# that is responsible for it.

# %%
stations = {
    "template": ("generator", BLUE), "expression": ("generator", BLUE),
    "problem\n(X, y)": ("problem", BLUE),
    "network": ("model, training", RED), "strategy": ("strategies", RED),
    "verified\ncandidates": ("problem", GREEN), "novelty ×\naccuracy": ("bias", GREEN),
}

# %% [markdown]
# A box for each station, an arrow to the next.

# %%
middle = {"ha": "center", "va": "center"}
figure, ax = plt.subplots(figsize=(7.6, 1.6))
for i, (name, (file, colour)) in enumerate(stations.items()):
    ax.add_patch(plt.Rectangle((i - 0.43, -0.3), 0.86, 0.6, color=colour))
    ax.text(i, 0, name, color="white", fontsize=8.5, weight="bold", **middle)
    ax.text(i, -0.5, file, color=GREY, fontsize=8, **middle)
    if i:
        ax.text(i - 0.5, 0, "▶", color=INK, fontsize=7, **middle)
ax.set(xlim=(-0.45, len(stations) - 0.55), ylim=(-0.62, 0.4))
ax.set_title("Data are made, a network guesses, and every guess is checked")
ax.set_axis_off()
save(figure, "flow")
plt.show()

# %% [markdown]
# Blue is what we know because we made it, red is what guesses, green is what judges. Nothing red ever judges itself: a
# candidate counts only after its constants have been fitted and its error measured on the data.

# %% [markdown]
# ## The chapters
#
# Each is a notebook of its own and can be read alone. The last column is read off the folder, so what it calls ready is there.

# %%
ready = book.notebooks()
lines = ["| | chapter | about | |", "|---|---|---|---|"]
for name in sorted(CHAPTERS | ready):
    title, about = name[3:].replace("_", " "), CHAPTERS.get(name, "")
    chapter = f"[{title}]({name}.py)" if name in ready else title
    lines.append(f"| {name[:2]} | {chapter} | {about} | {'ready' if name in ready else 'to come'} |")
book.record(chapters_ready=len(ready))
Markdown("\n".join(lines))

# %% [markdown]
# ## Three scales, one code
#
# `tiny` trains from nothing in seconds and is what the tests run; `laptop` is what these pages show; `paper` is the published setting
# and wants a GPU. Any parameter of any notebook can be changed from the command line, for instance
# `python -m nsr run 00 -p formula "cos(x1) - 0.5*x2"`.

# %% [markdown]
# ## Exercises
#
# Every chapter ends with three: predict, turn a parameter, build. A check follows each.
#
# 1. *Predict.* What are the tokens of `x1 - (x2 - x3)`? Write them down before you run the cell.

# %% tags=["solution"]
predicted = "sub x1 sub x2 x3"

# %% tags=["check"]
assert tuple(predicted.split()) == parse("x1 - (x2 - x3)")[0], "operator first, then its arguments"

# %% [markdown]
# 2. *Turn.* Find a formula that the toy training set above calls copied although it is none of its two formulas.

# %% tags=["solution"]
copied = "0.3*sin(x1) + 7*x2"

# %% tags=["check"]
assert copied not in toy and strip(parse(copied)[0]) in training_set, "only the numbers may differ"

# %% [markdown]
# 3. *Build.* Write a function that finds the depth of a tree from its tokens in one pass from right to left, with a stack: a leaf has
#    depth one, and an operator takes its arguments off the stack. (`arity(token)` says how many.)

# %% tags=["solution"]
def depth_by_stack(tokens):
    stack = []
    for token in reversed(tokens):
        arguments = [stack.pop() for _ in range(arity(token))]
        stack.append(1 + max(arguments, default=0))
    return stack[0]


# %% tags=["check"]
for text in (formula, "x1", "sin(cos(x1) + x2) - x3"):
    assert depth_by_stack(parse(text)[0]) == depth(parse(text)[0]), f"{text} has depth {depth(parse(text)[0])}"

# %% [markdown]
# **What's next.** [Why it is hard](01_boolean_formula_reduction.py), a theorem that the rest of the book does not need; or straight on to
# [expressions and data](02_expressions_and_data.py), where the formulas come from.
