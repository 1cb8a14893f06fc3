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
# # Choosing the last token is as hard as evaluating a Boolean formula
#
# **Claim.** Even with everything but the last token given, symbolic regression hides a problem that constant-depth Transformers of
# limited precision cannot solve at every length, unless TC⁰ = NC¹.
#
# **You will see.** Every step of the proof run: formulae, reduction, soundness on all small formulae, circuits that stay flat, what has
# to be mended, and Transformers that try.
#
# **Needs.** Nothing.
#
# **From the paper.** Section 4; appendix "Theoretical Background and Proof", Theorem 1.
#
# **Runtime.** Tiny: half a minute. Laptop: 2 minutes. Paper: 20 minutes. On a laptop with 2 cores.

# %% [markdown]
# Everything this chapter can be asked to do differently is in one cell. `recompute` trains all networks of the last section again.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # where random numbers begin
formula: str = "((1∨0)∧(¬(0∨0)))"  # the formula that is taken through the reduction
max_size: int = 21  # soundness is checked on all formulae of up to this many symbols
largest_formula: int = 1000  # and at random up to this many
n_random: int = 30  # random formulae of each size
largest_circuit: int = 48  # circuits are built for up to this many symbols
live_steps: int = 300  # training steps of the one network that is trained while you read
recompute: bool = False  # train all networks of the experiment again, about 25 minutes of one core

# %% [markdown]
# The theory lives in `nsr/theory/`, a file per noun: `boolean`, `reduction`, `circuits`, `proof_circuits`, `last_token`.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from nsr import book
from nsr.evidence import BLUE, ORANGE, RED, SKY, save, use_style, wilson
from nsr.formulas import FULL, is_valid
from nsr.numbers import evaluate, fit_constants
from nsr.theory import (
    LastTokenProblem, boolean, circuits, experiment, proof_circuits, reduce_formula, reduction,
)
from nsr.theory.drawings import (
    bracket_picture, draw_circuit, draw_classes, experiment_picture, growth_picture, reduction_picture,
)
from nsr.theory.last_token import WORDS, make_examples, token_counts

use_style()
torch.set_num_threads(1)
sampling_rng, circuit_rng = np.random.default_rng(seed).spawn(2)

# %% [markdown]
# ## The last-token problem
#
# A model that writes an expression token by token has to get the last token right too. Surely that is the easy part: the rest is there,
# the data are there, and only a handful of leaves can finish the sequence.
#
# > the last-token prediction problem asks to find a leaf token $u^\ast$ such that
# > $u^\ast = \operatorname{arg\,min}_{u \in \Gamma} \mathcal{L}(\mathbf{y}, e_{(\widetilde{\mathbf{s}},u)}(\mathbf{x}))$ (Section 4)
#
# As code it is a prefix s̃, points X, values y, and brute force over the leaves, with constants fitted. By hand first:
# s̃ = `add x1` and two points where y = x₁ + x₂. One leaf makes the error zero.

# %%
toy = LastTokenProblem(prefix=("add", "x1"), X=[[1.0, 5.0], [2.0, 7.0]], y=[6.0, 9.0])
assert toy.solve() == "x2" and toy.losses()["x2"] == 0
assert np.isclose(toy.losses()["C"], np.var([6 - 1, 9 - 2]))  # the best constant leaves the variance
toy.losses()

# %% [markdown]
# The answer is `x2`, as it should be. `C` is not far off, because a constant may take its best value. To *decide* which leaf is best one
# must know what s̃ computes. That is where the difficulty comes from: an expression can compute anything a Boolean formula can.
#
# ## Boolean formulae
#
# The formulae of the proof are those of Buss (1987), with every bracket written.
#
# > 1. $0$ and $1$ are Boolean formulae; 2. If $\mathbf{t}_1$ and $\mathbf{t}_2$ are two Boolean formulae, then $(\lnot \mathbf{t}_1),
# > (\mathbf{t}_1 \land \mathbf{t}_2), (\mathbf{t}_1 \lor \mathbf{t}_2)$ are also Boolean formulae. (Appendix)
#
# `parse` reads exactly this grammar, in one pass and without recursion, and returns the symbols in prefix order: the connective of a
# bracket moves to where the bracket was opened, and brackets vanish.

# %%
symbols = boolean.parse(formula)
print(" ".join(symbols))
print("value", boolean.value(formula), " depth", boolean.depth(formula), " size", len(formula))

# %% [markdown]
# Anything else is refused, with the place of the fault.

# %%
for wrong in ("(1∧0", "1∧0", "((1∨0)∧)", "(¬0∧1)"):
    try:
        boolean.parse(wrong)
    except ValueError as fault:
        print(fault, "\n")

# %% [markdown]
# The *size* of a formula is its number of symbols n, brackets included: the length of the input, in which the theorem is stated. A
# bracket pair and its connective cost three symbols, so the number N(n) of formulae of size n obeys
#
# $$N(1) = 2, \qquad N(n) = N(n-3) + 2 \sum_{a} N(a)\, N(n-3-a).$$
#
# Counting is enough to list and to draw: `formula_at(size, index)` writes out the formula with a given number, so a uniform number
# gives a uniform formula, at a thousand symbols as at ten.

# %%
sizes = np.arange(1, 41)
drawn = boolean.sample(60, sampling_rng)
print(drawn, "=", boolean.value(drawn))
figure, ax = plt.subplots(figsize=(7, 2.8))
colours = [BLUE if n <= max_size else SKY for n in sizes]
ax.bar(sizes, [boolean.count(int(n)) for n in sizes], color=colours)
ax.set(yscale="log", xlabel="symbols n", ylabel="formulae N(n)", ylim=(1, 1e12))
ax.set_title("There are exponentially many formulae of n symbols")
ax.axvline(max_size + 0.5, color=RED, lw=1)
ax.text(max_size + 0.2, 1e9, "checked one by one\nup to here", color=RED, fontsize=9, ha="right")
save(figure, "formula_counts");

# %% [markdown]
# Notice the line: what lies left of it will be checked without exception, what lies right of it by samples. Is the listing right? The
# strings of the first sizes can be grown straight from the grammar, and must be the same set.

# %%
grown = [{"0", "1"}]
for n in range(1, 4):
    pairs = [(a, b) for i in range(n) for a in grown[i] for b in grown[n - 1 - i]]
    joined = {f"({a}{op}{b})" for a, b in pairs for op in "∧∨"}
    grown.append({f"(¬{t})" for t in grown[n - 1]} | joined)
small = {t for row in grown for t in row if len(t) <= 12}
assert small == {t for n in range(1, 13) for t in boolean.formulae(n)}

# %% [markdown]
# ## The reduction, step by step
#
# **Step 1: no ∨.** By De Morgan a∨b = ¬(¬a∧¬b). The paper does it by editing the text in place:
#
# > for all $\lor$ in $\mathbf{t}$, we must replace the nearest left bracket containing $\lor$ with $\lnot(\lnot$ and also replace
# > $\lor$ with $\land\lnot$. (Appendix, Step 2 of the proof)
#
# The only question an edit has to ask is *which* bracket. With a stack of open brackets that is one line.

# %%
def edit_or(text: str) -> str:
    out, open_brackets = list(text), []
    for i, symbol in enumerate(text):
        if symbol == "(":
            open_brackets.append(i)
        elif symbol == ")":
            open_brackets.pop()
        elif symbol == "∨":
            out[open_brackets[-1]], out[i] = "¬(¬", "∧¬"
    return "".join(out)


print(formula, " → ", edit_or(formula))
assert edit_or(formula) == reduction.or_free(formula)

# %% [markdown]
# Departure: the result is not a Boolean formula any more. The grammar knows `(¬t)` with its own brackets, and the edit writes a bare
# `¬`. We read it with one more rule, `t ::= ¬t`, where ¬ binds tighter than ∧ (`parse(…, bare_not=True)`). Nothing is lost: a third
# edit, at the right bracket, keeps the text inside the grammar, and both texts mean the same.

# %%
try:
    boolean.parse(edit_or("(0∨1)"))
except ValueError as fault:
    print(fault)
mended = reduction.or_free_in_grammar(formula)
print("\nwith a third edit: ", reduction.or_free_in_grammar("(0∨1)"))
assert boolean.parse(mended) == boolean.parse(edit_or(formula), bare_not=True)

# %% [markdown]
# **Step 2: prefix order.** Connectives to the front, brackets gone. **Step 3: tokens.** Each symbol becomes tokens of an expression:
#
# | symbol | tokens | at the data points it computes |
# |---|---|---|
# | 0 | `mul x1 x2` | x₁x₂ = 0 |
# | 1 | `sub x1 x2` | x₁ − x₂ = 1 |
# | ∧ | `mul` | a·b |
# | ¬ | `sub sub x1 x2` | (x₁ − x₂) − a = 1 − a |
#
# The data points are (x₁, x₂, y) = (1, 0, 1) and (0, −1, 0). At both of them x₁x₂ = 0 and x₁ − x₂ = 1, so the expression
# s computes the value of the formula, twice.
#
# Departure: the paper writes these replacements as sets, {×, x₁, x₂}. They are sequences: the order is the meaning.

# %%
prefix_symbols = reduction.to_prefix(reduction.or_free(formula))
s = reduction.to_tokens(prefix_symbols)
print(" ".join(prefix_symbols), "\n", " ".join(s), sep="")
assert (evaluate(s, reduction.POINTS) == boolean.value(formula)).all()

# %% [markdown]
# **Step 4: one more token to come.** Prepend `add`. The sequence s̃ = `add` s waits for a leaf u, and the expression is
# eval(t) + u. With y = (1, 0), which is the column x₁ and also 1 + x₂, the three leaves have the losses
#
# | | u = x₁ | u = x₂ | u = C |
# |---|---|---|---|
# | eval(t) = 0 | **0** | 1 | 1/4 at c = 1/2 |
# | eval(t) = 1 | 1 | **0** | 1/4 at c = −1/2 |
#
# So x₁ is best if and only if the formula is false, x₂ if and only if it is true, and `C` never. `reduce_formula` is all steps in
# one call.

# %%
problem = reduce_formula(formula)
assert problem.prefix == ("add", *s)
print(problem.losses(), "→", problem.solve())
save(reduction_picture(formula), "reduction");

# %% [markdown]
# Follow a colour from top to bottom: every symbol of the formula owns a few tokens of the expression. On the right, the leaf without a
# bar wins. If somebody is there, the next cell lets you type your own formula (`&`, `|`, `~` are fine).

# %%
if not book.headless():
    from ipywidgets import Text, interact

    @interact(typed=Text(formula, description="formula", continuous_update=False))
    def watch(typed: str) -> None:
        if len(typed) > 100:
            return print("too many symbols for a picture; reduce_formula takes as many as you like")
        try:
            plt.show(reduction_picture(boolean.typed(typed)))
        except ValueError as fault:
            print(fault)

# %% [markdown]
# ## Soundness, without exception
#
# The claim is about *every* formula, so let us try every formula, up to the size that patience allows. The losses are computed in
# integers (four times the loss), so there is no rounding to hide behind.

# %%
everything = [t for n in range(1, max_size + 1) for t in boolean.formulae(n)]
listed = book.progress(everything, label="formulae")
symbols_of = [reduction.to_prefix(reduction.or_free(t)) for t in listed]
prefixes = [("add", *reduction.to_tokens(symbols)) for symbols in symbols_of]
losses = reduction.exact_losses(prefixes)  # (N, 3): four times the loss of x1, x2, C
truth = np.array([boolean.value(t) for t in everything])
found = [[np.unique(column).tolist() for column in losses[truth == v].T / 4] for v in (0, 1)]
assert (losses[truth == 0] == [0, 4, 1]).all() and (losses[truth == 1] == [4, 0, 1]).all()
best = np.array(["x1", "x2", "C"])[losses.argmin(axis=1)]
assert ((best == "x2") == (truth == 1)).all() and ((best == "x1") == (truth == 0)).all()
print(f"{len(everything):,} formulae, no exception")
pd.DataFrame(found, ["eval = 0", "eval = 1"], ["loss of x1", "loss of x2", "loss of C"])

# %% [markdown]
# Each cell of the table lists every value that occurs, and only one does; the asserts say the same in a form that could fail.
#
# Beyond that size we draw uniformly, and solve with the general solver: compiled evaluation, fitted constants, no knowledge of the
# trick.

# %%
rows = []
for n in np.geomspace(30, largest_formula, 6).astype(int):
    for text in (boolean.sample(int(n), sampling_rng) for _ in range(n_random)):
        one = reduce_formula(text)
        right, off = one.solve() == ("x1", "x2")[boolean.value(text)], abs(one.loss("C") - 0.25)
        rows.append((n, len(one.prefix), boolean.depth(text), right, off))
names = ["symbols", "tokens", "depth", "right", "loss of C, off by"]
random_check = pd.DataFrame(rows, columns=names)
assert random_check["right"].all() and (random_check["loss of C, off by"] < 1e-9).all()
how = {"tokens": "median", "depth": "median", "right": "mean", "loss of C, off by": "max"}
random_check.groupby("symbols").agg(how)

# %% [markdown]
# The leaf is right every time, for sequences of thousands of tokens. As a picture, all formulae of the exhaustive check by their best
# leaf:

# %%
figure, ax = plt.subplots(figsize=(7, 3))
size_of = np.array([len(t) for t in everything])
for leaf, shift, colour in (("x1", -0.2, BLUE), ("x2", 0.2, ORANGE)):
    by_size = np.bincount(size_of[best == leaf], minlength=max_size + 1)
    place = np.arange(max_size + 1) + shift
    ax.bar(place, by_size, width=0.4, color=colour, label=f"best leaf is {leaf}")
ax.set(yscale="log", xlabel="symbols n", ylabel="formulae")
ax.set_title(f"All {len(everything):,} formulae get the leaf the proof says")
ax.legend()
save(figure, "soundness");

# %% [markdown]
# Notice that the two leaves are equally frequent: swapping ∧ with ∨ and 0 with 1 turns every true formula of a size into a false one.
# Always answering the same wins nothing.

# %% [markdown]
# Departure: the paper writes the loss of `C` as arg min over c and compares it with 1/4. It must be min over c. The arg min
# is the constant itself; for true formulae it is negative, and the inequality as printed is false.

# %%
for text in ("0", "1"):
    small = reduce_formula(text)
    fit = fit_constants((*small.prefix, "C"), small.X, small.y)
    c = fit.constants[0]
    print(f"eval {text}:  arg min {c:+.3f},  min {fit.mse:.3f},  arg min ≥ 1/4: {c >= 0.25}")
    assert np.isclose(fit.mse, 0.25) and np.isclose(c, 0.5 - int(text))

# %% [markdown]
# ## Circuits: what can be done in constant depth
#
# A reduction proves hardness only if it is itself easy. Easy here means: a circuit of **constant depth** and polynomial size. Three
# classes matter, and they differ in gates and depth only.
#
# > AC⁰ ⊊ TC⁰ ⊂ NC¹. Whether TC⁰ is a proper subset of NC¹ is an open question, but it is widely believed that this is the case.
# > (Appendix)
#
# AC⁰ has AND, OR and NOT with any number of inputs. TC⁰ adds majority. NC¹ has only two inputs per gate, but depth may grow like
# log n. A circuit in `nsr` is a list of gates; each names the gates it reads. Majority is a single gate, and counting takes three levels:
# [count = k] = [≥ k] ∧ ¬[≥ k+1]. From there parity is one OR away.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=[1, 2.2])
draw_circuit(left, circuits.majority(5), "Majority: one gate")
draw_circuit(right, circuits.parity(4), "Parity: count, then ask for an odd count")
save(figure, "counting_circuits");

# %% [markdown]
# Read from left (inputs) to right (the output has a dark edge). Parity is the classic that AC⁰ *cannot* do in polynomial size, which is
# why AC⁰ ⊊ TC⁰ is a theorem. "At least k" is a majority gate with constants added, so using it is not cheating.

# %%
inputs = np.array([[int(bit) for bit in f"{i:08b}"] for i in range(256)])
parity = circuits.parity(8)
for circuit in (parity, circuits.as_majority(parity)):
    assert (circuits.run(circuit, inputs)[:, 0] == inputs.sum(axis=1) % 2).all()
    print("depth", circuits.depth(circuit), dict(circuits.census(circuit)))

# %% [markdown]
# **Matching brackets by counting.** The stack of step 1 is a sequential thing, and a constant-depth circuit cannot push and pop. It can
# count. Let E(a, b) be the number of `(` minus the number of `)` in positions a … b. Then
#
# $$t_i \text{ and } t_j \text{ are a pair} \quad\iff\quad t_i = \texttt{(},\; t_j = \texttt{)},\; E(i, k) \ge 1 \text{ for } i \le k < j,\; E(i, j) \le 0,$$
#
# and each inequality is **one** threshold gate: E(a, b) ≥ e says that at least b − a + 1 + e of the bits "is `(`" and "is not `)`" are
# on. This is the lemma on bracket parsing.

# %%
n = len(formula)
bits = np.array([[symbol == "(" for symbol in formula] + [symbol == ")" for symbol in formula]])
to_left, to_right = circuits.run(proof_circuits.bracket_matching(n), bits).reshape(2, n, n)
save(bracket_picture(formula, to_right), "bracket_matching")
stack = []
for i, symbol in enumerate(formula):
    if symbol == "(":
        stack.append(i)
    elif symbol == ")":
        assert to_right[stack[-1], i] and to_left[i, stack.pop()]
    elif stack:
        assert to_left[i, stack[-1]]  # the nearest bracket around it, as step 1 asks

# %% [markdown]
# The grey steps are the height E(1, k), the blue lines the pairs that come out of the circuit: a pair ends where the height first falls
# back below the step that its left bracket made. The stack in the second half of the cell agrees with every one of them.
#
# **∨-elimination as a circuit.** A text enters as seven bits per position, one for each symbol of the alphabet. First every `(` learns
# whether its connective is ∨. Then symbols must make room: symbol i moves right by 2·(edited brackets before it) + (∨ before
# it), which again is counting. Last, each output place takes the symbol that lands on it.

# %%
texts = [boolean.sample(21, circuit_rng) for _ in range(200)]
elimination = proof_circuits.or_elimination(21)
made = proof_circuits.decode(circuits.run(elimination, proof_circuits.encode(texts, 21)))
assert made == [edit_or(t) for t in texts]
print(f"depth {circuits.depth(elimination)}, {circuits.size(elimination):,} gates")
print(texts[0], "→", made[0])

# %% [markdown]
# **Step 2 as a circuit.** In the ∨-free text with all its brackets, a `(` sees its connective next door: it is ¬ if a ¬ follows, and
# ∧ otherwise. So every bracket becomes its connective, leaves stay, the rest becomes blank. That is local, within AC⁰; only closing the
# gaps counts. Steps 3 and 4 replace single symbols by fixed tokens, which is local too.
#
# The paper says steps 2 to 4 are in AC⁰, citing Buss for step 2. We did not need it: step 1 is in TC⁰ anyway, and so is the whole.
#
# **The value itself.** A formula is its own circuit, but as deep as the formula. Cutting a middle-sized part G out and asking both ways,
#
# $$F = (G \land F[G{:=}1]) \lor (\lnot G \land F[G{:=}0]),$$
#
# makes the depth logarithmic, at fan-in two: this is the natural NC¹ circuit. We build it for lopsided formulae (1∧(1∨(1∧…))), the
# worst case, with the leaf values as inputs.

# %%
def lopsided(n_connectives: int) -> tuple[str, ...]:
    return tuple(word for i in range(n_connectives) for word in ("∧∨"[i % 2], "1")) + ("0",)


text_sizes = [n for n in (4, 8, 12, 16, 24, 32, 48, 64) if n <= largest_circuit]
lops = {4 * k + 1: lopsided(k) for k in 2 ** np.arange(1, 9)}  # by number of symbols
families = {
    "bracket matching": {n: proof_circuits.bracket_matching(n) for n in text_sizes},
    "∨-elimination": {n: proof_circuits.or_elimination(n) for n in text_sizes},
    "prefix order": {n: proof_circuits.prefix_order(n) for n in text_sizes},
    "value, balanced": {n: proof_circuits.balanced_circuit(t) for n, t in lops.items()},
    "value, as written": {n: proof_circuits.tree_circuit(t) for n, t in lops.items()},
}
rows = [(name, n, circuits.depth(c), circuits.size(c)) for name in families for n, c in families[name].items()]
growth = pd.DataFrame(rows, columns=["family", "n", "depth", "gates"])
save(growth_picture(growth), "circuit_growth");

# %% [markdown]
# Left: the blue and green lines are level, which is what "in TC⁰" means; the orange line climbs by a constant at every doubling, which is
# NC¹; the grey one, the formula as written, leaves the picture. Right: straight lines on these axes are polynomials. Their slope is the
# exponent:

# %%
def exponent(rows: pd.DataFrame) -> float:
    large = rows[rows.n >= 8]
    return float(np.polyfit(np.log(large.n), np.log(large.gates), 1)[0])


families = growth.groupby("family", sort=False)
summary = families.depth.agg(["min", "max"]).rename(columns="depth, {}".format)
summary["exponent of gates"] = [round(exponent(rows), 2) for _, rows in families]
for flat in ("bracket matching", "∨-elimination", "prefix order"):
    row = summary.loc[flat]
    assert row["depth, min"] == row["depth, max"] and row["exponent of gates"] < 3
balanced = growth[growth.family == "value, balanced"]
assert (balanced.depth <= 3 * np.log(balanced.n) / np.log(1.5) + 3).all()
summary

# %% [markdown]
# What this does *not* show: that no flat circuit for formula values exists. Nobody can show it; it is the assumption TC⁰ ≠ NC¹. Nor does
# our orange circuit read the formula as text, as Buss's theorem does: it knows the shape and gets only the leaves.
#
# ## The proof on one page

# %%
figure, ax = plt.subplots(figsize=(8.6, 4.9))
draw_classes(ax)
ax.set_title("If the last token were in TC⁰, so would be every formula")
save(figure, "classes");

# %% [markdown]
# 1. *Simulation.* A Transformer of constant depth and logarithmic precision is a TC⁰ circuit (Merrill and Sabharwal, 2023). So if, for
#    every length m, one of depth D and width at most Q(m) solved LastTokenPrediction(m), the problem would be in TC⁰.
# 2. *Reduction.* Steps 1 to 4 above turn a formula into a last-token problem, in TC⁰.
# 3. *Soundness.* The best leaf is x₂ exactly when the formula is true. Hence formula values would be in TC⁰ too: a flat circuit
#    after a flat circuit is a flat circuit.
# 4. *Contradiction.* Formula values are complete for NC¹ (Buss, 1987), so TC⁰ would equal NC¹, against the assumption.
#
# ## What has to be mended
#
# The idea stands. The wording does not always, and each of the following is a line of code.
#
# Departure: **for all m, not for some m.** The theorem says that some size m defeats all Transformers of depth D. Its negation is:
# for *every* m there is one that works. The proof instead supposes one "for some sufficiently large m", and from one m no
# contradiction can follow: for a single size a circuit can know all formulae by heart, in depth two.

# %%
rows = []
for n in (5, 9, 13, 16, 17):
    memory, texts = proof_circuits.lookup(n), list(boolean.formulae(n))
    known = circuits.run(memory, proof_circuits.encode(texts, n))[:, 0]
    assert (known == [boolean.value(t) for t in texts]).all() and circuits.depth(memory) == 2
    rows.append((n, len(texts), circuits.depth(memory), circuits.size(memory), known.mean()))
pd.DataFrame(rows, columns=["n", "formulae", "depth", "gates", "share that is true"])

# %% [markdown]
# Always right, always flat; only its *growth* with n is hopeless. The statement is about families, and a family is what "for all m"
# provides. (The network may differ from m to m, so the assumption is about circuit families without uniformity.)
#
# Departure: **leaves, not all of Γ.** The definition lets u range over Γ, which contains operators and the end token. With those the
# sequence is no expression and has no loss.

# %%
finish = [token for token in FULL.tokens if is_valid((*problem.prefix, token))]
print("finish the expression:", *finish)
print("do not:", *[token for token in FULL.tokens if token not in finish])
assert set(finish) == {"C", "x1", "x2", "x3", "x4", "x5"}

# %% [markdown]
# Departure: **padding to exactly m.** Formulae of the same size give sequences of many lengths, yet LastTokenPrediction(m) is about
# length exactly m. It can be mended: every length is a multiple of four, since L leaves, L − 1 conjunctions and N negations make
# 1 + 3L + (L − 1) + 4N = 4(L + N) tokens; and a factor x₁ − x₂ = 1 costs four tokens and changes nothing.

# %%
some = np.flatnonzero(size_of == max_size)[:5000]
lengths = [len(prefixes[i]) for i in some]
padded = [reduction.pad_to(prefixes[i], max(lengths)) for i in some]
print(f"{min(lengths)} to {max(lengths)} tokens; padded, all have {len(padded[0])}")
assert len({len(prefix) for prefix in padded}) == 1 and all(length % 4 == 0 for length in lengths)
assert (reduction.exact_losses(padded) == losses[some]).all()

# %% [markdown]
# Departure: **more than two variables.** With five variables the data need values for x₃, x₄, x₅, and these are leaves that
# may win. Constant columns are safe, because a constant leaf is no better than `C`, whose loss is 1/4. A careless column is not: a copy
# of x₁ ties with it.

# %%
careful = reduce_formula("(0∧1)", n_variables=5)
X = careful.X.copy()
X[:, 2] = X[:, 0]
careless = LastTokenProblem(careful.prefix, X, careful.y)
assert careful.solve() == "x1" and careless.losses()["x3"] == careless.losses()["x1"]
pd.DataFrame({"x3 is 0": careful.losses(), "x3 copies x1": careless.losses()}).T.round(3)

# %% [markdown]
# ## The experiment the paper does not have
#
# What happens if one simply trains Transformers on this problem? Each network reads the two data points and s̃, and answers with a leaf.
# Networks have one to six layers. Formulae in training have a limited depth; a second test set is deeper and longer than all of them.
#
# Random formulae would give the game away: many conjunctions mean 0, many ones mean 1. So every formula comes with a **twin** in which
# a 0 and a 1 have changed places and which has the opposite value. Labels are then balanced at every depth, and nothing that only counts
# tokens can tell twins apart. (Depth 1 has no twins: (0∧1) and (1∧0) are the same.)

# %%
pair = make_examples([2], 2, np.random.default_rng(seed + 1), max_tokens=24)
for row, length, label in zip(pair.ids, pair.length, pair.label):
    print(" ".join(WORDS[i] for i in row[: length - 1]), "→", ("x1", "x2")[label])
assert (token_counts(pair)[0] == token_counts(pair)[1]).all() and pair.label.sum() == 1

# %% [markdown]
# All networks together take about twenty-five minutes of one core. So at the laptop scale this page shows a stored table and trains
# one small network live; at the tiny scale everything is trained here, but hardly.

# %%
setting, layers, seeds = experiment.Setting(), range(1, 7), range(3)
stored = experiment.TABLE.exists()
if scale == "tiny" or not (recompute or stored):
    small = {"train_depth": 3, "longer_depth": 4, "per_depth": 300, "n_test": 60, "width": 32}
    setting, layers, seeds = experiment.Setting(steps=live_steps, **small), (1, 2), (0, 1)
if recompute or scale == "tiny" or not stored:
    table, source = experiment.run(setting, layers, seeds), "trained on this page"
else:
    table, source = book.read_table(experiment.TABLE), f"reference table {book.short(experiment.TABLE)}"
there, wanted = len(table[table.n_layers > 0].groupby(["n_layers", "seed"])), len(layers) * len(seeds)
print(f"{source}: {there} of {wanted} networks, {setting.steps:,} steps each")
if there < wanted:
    print("The table is unfinished. To go on: python -m nsr.theory.experiment")

# %% [markdown]
# Right answers against the depth of the formula. A dot is a seed, a line the mean over seeds. "Familiar" formulae are drawn as in
# training; "longer" ones have more tokens than any training example.

# %%
save(experiment_picture(table), "last_token_experiment");

# %% [markdown]
# Read three things off the picture: how the lines fall from left to right within the familiar formulae, how far the longer formulae
# are from chance, and whether more layers (darker) help. A classifier that sees only how often each token occurs, dashed, stays at chance,
# as it must. The same as numbers, with 95% intervals over the problems of all seeds:

# %%
counted = ["n", "right", "n_unseen", "right_unseen"]
totals = table.groupby(["kind", "depth", "n_layers"])[counted].sum().reset_index()
share = totals.right / totals.n
_, low, high = wilson(totals.right.to_numpy(), totals.n.to_numpy())
totals["accuracy"] = [f"{s:.2f} [{a:.2f}, {b:.2f}]" for s, a, b in zip(share, low, high)]
wide = totals.pivot(index=["kind", "depth"], columns="n_layers", values="accuracy")
wide.rename(columns={0: "counts"})

# %% [markdown]
# The intervals take problems as independent. Twins are not quite, and seeds differ more than problems do: trust the dots.
#
# Is it memory? There are few small formulae, so many test problems occurred in training. On those that did not:

# %%
of_networks = totals[totals.n_layers > 0]
networks = of_networks[of_networks.kind == "familiar"].groupby("depth")[counted].sum()
networks["right, all"] = networks.right / networks.n
unseen = networks.n_unseen.where(networks.n_unseen > 0)
networks["right, unseen in training"] = networks.right_unseen / unseen
networks.drop(columns=["right", "right_unseen"]).round(3)

# %% [markdown]
# And one network trained while you read, for a fraction of the steps, to see that nothing is hidden:

# %%
small = {"train_depth": 2, "longer_depth": 3, "per_depth": 2000, "n_test": 200, "width": 48}
live = experiment.run(experiment.Setting(steps=live_steps, **small), layers=(2,), seeds=(seed,))
live["accuracy"] = live.right / live.n
assert (live[live.n_layers == 0].accuracy == 0.5).all()  # counting cannot tell twins apart
wide = live.pivot(index=["kind", "depth"], columns="n_layers", values="accuracy")
wide.rename(columns={0: "counts", 2: "2 layers, live"}).round(2)

# %% [markdown]
# **What the experiment shows.** How far networks of this size, trained this long, get in learning to evaluate formulae from examples,
# and how little of it carries over to longer ones.
#
# **What it can't show.** The theorem. That one is about all parameters, at unbounded length. A network that fails after a short training
# may have parameters that work, and for any fixed length it has (a lookup table exists). Failure here is failure to learn on a small
# budget; success would refute nothing; and neither says anything about expressions of sixty tokens, or about models that may write
# intermediate results down. The paper's sentence that Transformers "inherently lack the capacity" holds in the theorem's sense only.
#
# ## Paper, ours, verdict

# %%
deepest, longer = networks.iloc[-1], of_networks[of_networks.kind == "longer"][counted].sum()
at_depth, on_longer = deepest["right, all"], longer.right / longer.n
flat = {
    name: f"depth {row['depth, max']:.0f} at every n, gates like n^{row['exponent of gates']}"
    for name, row in summary.iterrows()
}
checked = f"{len(everything):,} small formulae, {len(random_check)} large ones: no exception"
learned = f"{at_depth:.2f} right at depth {networks.index[-1]}, {on_longer:.2f} on longer ones"
verdicts = [
    ("the best leaf is x1 iff eval = 0, x2 iff eval = 1", checked, "holds"),
    ("loss of C is at least 1/4", "1/4 everywhere as a min; false as an arg min", "holds, mended"),
    ("bracket parsing is in TC⁰", flat["bracket matching"], "holds"),
    ("∨-elimination is in TC⁰", flat["∨-elimination"], "holds; leaves the grammar"),
    ("steps 2 to 4 are in AC⁰", "local up to blanks; gaps closed by counting", "not needed"),
    ("some m defeats all of depth D", "negation: for every m there is one", "holds, mended"),
    ("length m, d variables", "padded in fours, extra variables constant", "holds, mended"),
    ("Transformers lack the capacity", learned, "asymptotic: no experiment can tell"),
]
book.record(formulae_checked=len(everything), accuracy_deepest=at_depth, accuracy_longer=on_longer)
pd.DataFrame(verdicts, columns=["paper", "ours", "verdict"]).style.hide(axis="index")

# %% [markdown]
# ## Exercises
#
# 1. *Predict.* Without running it: how many tokens does s̃ have for `(0∨1)`, and which leaf wins? (Count the leaves and the negations
#    after De Morgan's law.)

# %% tags=["solution"]
n_tokens, winner = 20, "x2"  # 2 leaves and 3 negations: 4·(2 + 3)

# %% tags=["check"]
reduced = reduce_formula("(0∨1)")
assert n_tokens == len(reduced.prefix), "each leaf and each negation costs four tokens"
assert winner == reduced.solve(), "the winning leaf says whether the formula is true"

# %% [markdown]
# 2. *Turn.* Move the second data point from (0, −1, 0) to (0, 1, 0). Find a formula that now gets the wrong verdict, or none at all.

# %% tags=["solution"]
moved = np.array([[1.0, 0.0], [0.0, 1.0]])
broken = "(1∧1)"
print("the symbol 1 now computes", evaluate(reduction.TOKENS_OF["1"], moved))

# %% tags=["check"]
def fitting(points):
    """The last tokens that fit these two points exactly."""
    losses = LastTokenProblem(reduce_formula(broken).prefix, points, reduction.VALUES).losses()
    return {token for token, loss in losses.items() if loss < 1e-9}


assert fitting(moved) != fitting(reduction.POINTS), "this formula survives by luck: its last token is still the right one"

# %% [markdown]
# 3. *Build.* Some authors also have ⊕, exclusive or. Write the tokens of a ⊕ b with `add`, `sub` and `mul`. (Why does nesting it make
#    them exponentially long, and which token of the full vocabulary avoids that?)

# %% tags=["solution"]
def xor(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    """a ⊕ b = a(1 − b) + b(1 − a): both operands occur twice, so nesting doubles the length."""
    one = ("sub", "x1", "x2")
    return ("add", "mul", *a, "sub", *one, *b, "mul", *b, "sub", *one, *a)


# %% tags=["check"]
zero, one = reduction.TOKENS_OF["0"], reduction.TOKENS_OF["1"]
for a, b in ((zero, zero), (zero, one), (one, zero), (one, one)):
    short = evaluate(("pow2", "sub", *a, *b), reduction.POINTS)  # (a − b)² has each operand once
    assert np.allclose(evaluate(xor(a, b), reduction.POINTS), short), "0 ⊕ 1 = 1 ⊕ 0 = 1, else 0"

# %% [markdown]
# ## What's next
#
# The proof only needed the expressions to be able to compute. [Chapter 02](02_expressions_and_data.py) looks at the expressions and data
# that the networks of the paper are trained on.
