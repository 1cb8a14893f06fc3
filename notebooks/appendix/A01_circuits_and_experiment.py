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
# # A01 · The last token: circuits, mends of the proof, and Transformers that try
#
# **Question.** Does the proof of [chapter 01](../01_boolean_formula_reduction.py) hold in every detail, and what do Transformers learn that
# are trained on it?
#
# **From the paper.** Appendix G.1 and G.2: Lemmas G.2 and G.4, Theorem G.5. The experiment is ours.
#
# **Runtime.** Tiny: a minute. Laptop: two minutes. With `recompute`, 25 minutes of one core more.
#
# **Knobs.** `recompute` trains the 18 networks of the experiment and writes the table `last_token`; `python -m nsr replicate` does that.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # where random numbers begin
max_size: int = 21  # the reduction is checked on all formulas of up to this many symbols
largest_formula: int = 1000  # and on random ones of up to this many
n_random: int = 30  # random formulas of each size
largest_circuit: int = 48  # circuits are built for up to this many symbols
steps: int = 2000  # training steps of each network
recompute: bool = False  # train the networks of the experiment, instead of reading their table

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from nsr import book
from nsr.evidence import save, use_style, wilson
from nsr.formulas import FULL, is_valid
from nsr.numbers import fit_constants
from nsr.theory import (
    LastTokenProblem, boolean, bracket_picture, circuits, draw_circuit, experiment, experiment_picture,
    growth_picture, last_token, proof_circuits, reduce_formula, reduction,
)

use_style()
torch.set_num_threads(1)
sampling_rng, circuit_rng = np.random.default_rng(seed).spawn(2)

# %% [markdown]
# ## All formulas, and long ones at random
#
# The *size* of a formula is its number of symbols n. A bracket pair and its connective cost three, so the number of formulas of size n is
#
# $$N(1) = 2, \qquad N(n) = N(n-3) + 2 \sum_{a} N(a)\, N(n-3-a).$$
#
# By counting, `formula_at(size, index)` writes the formula with a given number. So all formulas can be listed, and a uniform number gives a
# uniform formula. The list of the small ones is compared with the strings that the grammar makes.

# %%
made = [{"0", "1"}]
for n in range(1, 4):
    pairs = [(a, b) for i in range(n) for a in made[i] for b in made[n - 1 - i]]
    joined = {f"({a}{connective}{b})" for a, b in pairs for connective in "∧∨"}
    made.append({f"(¬{t})" for t in made[n - 1]} | joined)
assert {t for row in made for t in row if len(t) <= 12} == {t for n in range(1, 13) for t in boolean.formulae(n)}

# %% [markdown]
# All formulas of up to `max_size` symbols. Losses are computed in integers, four times the loss, so that nothing is rounded.

# %%
everything = [t for n in range(1, max_size + 1) for t in boolean.formulae(n)]
listed = book.progress(everything, label="formulas")
prefixes = [("add", *reduction.to_tokens(reduction.to_prefix(reduction.or_free(t)))) for t in listed]
losses = reduction.exact_losses(prefixes)  # (N, 3): four times the loss of x1, x2, C
truth = np.array([boolean.value(t) for t in everything])
assert (losses[truth == 0] == [0, 4, 1]).all() and (losses[truth == 1] == [4, 0, 1]).all()
print(f"{len(everything):,} formulas, no exception; {100 * truth.mean():.0f} % of them are true")

# %% [markdown]
# Exactly half are true at every size: exchanging ∧ with ∨ and 0 with 1 makes a false formula of a true one. So always answering the same
# is right half of the time.
#
# Longer formulas are drawn at random, and solved by the general solver: compiled evaluation, fitted constants.

# %%
rows = []
for n in np.geomspace(30, largest_formula, 6).astype(int):
    for text in (boolean.sample(int(n), sampling_rng) for _ in range(n_random)):
        one = reduce_formula(text)
        right, off = one.solve() == ("x1", "x2")[boolean.value(text)], abs(one.loss("C") - 0.25)
        rows.append((n, len(one.prefix), boolean.depth(text), right, off))
random_check = pd.DataFrame(rows, columns=["symbols", "tokens", "depth", "right", "loss of C, off by"])
assert random_check["right"].all() and (random_check["loss of C, off by"] < 1e-9).all()
how = {"tokens": "median", "depth": "median", "right": "mean", "loss of C, off by": "max"}
random_check.groupby("symbols").agg(how)

# %% [markdown]
# The best leaf is right every time, for sequences of thousands of tokens.
#
# ## Circuits of constant depth
#
# > AC⁰ ⊊ TC⁰ ⊂ NC¹. Whether TC⁰ is a proper subset of NC¹ is an open question, but it is widely believed that this is the case.
# > (Appendix G.1)
#
# AC⁰ has AND, OR and NOT with any number of inputs, in constant depth; TC⁰ has majority gates, too. "At least k" is a majority gate with
# constants added. Counting takes three levels, [count = k] = [≥ k] ∧ ¬[≥ k+1], and parity one more.

# %% tags=["hide-input"]
figure, (top, bottom) = plt.subplots(2, 1, figsize=(6.5, 5.6), height_ratios=[1, 1.5])
draw_circuit(top, circuits.majority(5), "Majority: one gate")
draw_circuit(bottom, circuits.parity(4), "Parity: count, then ask for an odd count")
save(figure, "counting_circuits", alt="Two small circuits from left to right: majority is one gate behind five inputs; parity has gates "
     "for “at least k”, pairs of them for “exactly k”, and one OR.")

# %% [markdown]
# Parity cannot be computed in AC⁰ with polynomially many gates; hence AC⁰ ≠ TC⁰. The circuits are run on all inputs of eight bits.

# %%
inputs = np.array([[int(bit) for bit in f"{i:08b}"] for i in range(256)])
parity = circuits.parity(8)
for circuit in (parity, circuits.as_majority(parity)):
    assert (circuits.run(circuit, inputs)[:, 0] == inputs.sum(axis=1) % 2).all()
    print("depth", circuits.depth(circuit), dict(circuits.census(circuit)))

# %% [markdown]
# **Brackets (Lemma G.4).** Let E(a, b) be the number of `(` minus the number of `)` at the places a to b. Then
#
# $$t_i \text{ and } t_j \text{ are a pair} \quad\iff\quad t_i = \texttt{(},\; t_j = \texttt{)},\; E(i, k) \ge 1 \text{ for } i \le k < j,\; E(i, j) \le 0.$$
#
# Each inequality is one threshold gate. A stack finds the same pairs.

# %%
shown = "((1∨0)∧(¬(0∨0)))"
bits = np.array([[symbol == "(" for symbol in shown] + [symbol == ")" for symbol in shown]])
found = circuits.run(proof_circuits.bracket_matching(len(shown)), bits).reshape(2, len(shown), len(shown))
to_left, to_right = found
stack = []
for i, symbol in enumerate(shown):
    if symbol == "(":
        stack.append(i)
    elif symbol == ")":
        assert to_right[stack[-1], i] and to_left[i, stack.pop()]
    elif stack:
        assert to_left[i, stack[-1]]  # the nearest bracket around it
save(bracket_picture(shown, to_right), "bracket_matching", alt="A formula along the axis, above it the number of open brackets as steps, below it "
     "lines that join each left bracket with its right one.")

# %% [markdown]
# A pair ends where the height first falls below the step that its left bracket made.
#
# **Step 1, no ∨.** A text enters as seven bits per place. First, gates find the brackets whose connective is ∨. Then symbol i moves right by
# 2·(edited brackets before it) + (∨ before it), which is counting again.

# %%
texts = [boolean.sample(21, circuit_rng) for _ in range(200)]
elimination = proof_circuits.or_elimination(21)
edited = proof_circuits.decode(circuits.run(elimination, proof_circuits.encode(texts, 21)))
assert edited == [reduction.or_free(t) for t in texts]
print(f"depth {circuits.depth(elimination)}, {circuits.size(elimination):,} gates")

# %% [markdown]
# **Step 2, prefix order.** Where every ¬ has its brackets, a `(` sees its connective beside it: ¬ if a ¬ follows, else ∧. So every bracket
# becomes its connective, leaves stay, and the rest becomes blank, which is in AC⁰. Only closing the gaps needs counting. Steps 3 and 4 replace
# single symbols. The paper says that steps 2 to 4 are in AC⁰; the proof does not need it, since step 1 is in TC⁰ anyway.
#
# **The value of a formula.** A formula is its own circuit, as deep as the formula. Cutting out a part G of middle size,
#
# $$F = (G \land F[G{:=}1]) \lor (\lnot G \land F[G{:=}0]),$$
#
# makes the depth logarithmic with gates of two inputs. We build it for lopsided formulas (1∧(1∨(1∧…))), whose depth is largest.

# %%
def lopsided(n_connectives: int) -> tuple[str, ...]:
    return tuple(word for i in range(n_connectives) for word in ("∧∨"[i % 2], "1")) + ("0",)


text_sizes = [n for n in (4, 8, 12, 16, 24, 32, 48, 64) if n <= largest_circuit]
uneven = {4 * k + 1: lopsided(k) for k in 2 ** np.arange(1, 9)}  # by number of symbols
families = {
    "bracket matching": {n: proof_circuits.bracket_matching(n) for n in text_sizes},
    "step 1, no ∨": {n: proof_circuits.or_elimination(n) for n in text_sizes},
    "step 2, prefix order": {n: proof_circuits.prefix_order(n) for n in text_sizes},
    "value, rearranged": {n: proof_circuits.balanced_circuit(t) for n, t in uneven.items()},
    "value, as written": {n: proof_circuits.tree_circuit(t) for n, t in uneven.items()},
}
rows = [(name, n, circuits.depth(c), circuits.size(c)) for name in families for n, c in families[name].items()]
growth = pd.DataFrame(rows, columns=["family", "n", "depth", "gates"])
save(growth_picture(growth), "circuit_growth", alt="Left, depth against symbols: level lines for bracket matching and steps 1 and 2, a slowly "
     "rising line for the rearranged value, a steep one for the formula as written. Right, gates against symbols on logarithmic axes.")

# %% [markdown]
# Left: level lines are TC⁰; the rearranged value grows by a constant at every doubling, which is NC¹. Right: straight lines are polynomials,
# and the table has their exponents.

# %%
def exponent(rows: pd.DataFrame) -> float:
    large = rows[rows.n >= 8]
    return float(np.polyfit(np.log(large.n), np.log(large.gates), 1)[0])


summary = growth.groupby("family", sort=False).depth.agg(["min", "max"]).rename(columns="depth, {}".format)
summary["exponent of gates"] = [round(exponent(rows), 2) for _, rows in growth.groupby("family", sort=False)]
for flat in list(families)[:3]:
    row = summary.loc[flat]
    assert row["depth, min"] == row["depth, max"] and row["exponent of gates"] < 3
rearranged = growth[growth.family == "value, rearranged"]
assert (rearranged.depth <= 3 * np.log(rearranged.n) / np.log(1.5) + 3).all()
summary

# %% [markdown]
# This does not show that no circuit of constant depth evaluates formulas: that is the assumption TC⁰ ≠ NC¹. Nor does the rearranged
# circuit read the formula as text, as in Buss's theorem: it knows the shape and is given the leaves.
#
# ## What has to be mended
#
# Slip: **for every m, not for some m.** The proof supposes one Transformer "for some sufficiently large m". For a single size, a
# circuit of depth two can list all formulas, and is always right:

# %%
rows = []
for n in (5, 9, 13, 16, 17):
    memory, texts = proof_circuits.lookup(n), list(boolean.formulae(n))
    known = circuits.run(memory, proof_circuits.encode(texts, n))[:, 0]
    assert (known == [boolean.value(t) for t in texts]).all() and circuits.depth(memory) == 2
    rows.append((n, len(texts), circuits.depth(memory), circuits.size(memory)))
pd.DataFrame(rows, columns=["n", "formulas", "depth", "gates"])

# %% [markdown]
# Only its growth with n is exponential. The network may differ from m to m, so the assumption TC⁰ ≠ NC¹ is about circuit families without
# uniformity.
#
# Slip: **min, not arg min.** The loss of `C` is written as an arg min over c and compared with 1/4.

# %%
for text in ("0", "1"):
    problem = reduce_formula(text)
    fit = fit_constants((*problem.prefix, "C"), problem.X, problem.y)
    print(f"eval {text}:  arg min {fit.constants[0]:+.3f},  min {fit.mse:.3f}")
    assert np.isclose(fit.mse, 0.25) and np.isclose(fit.constants[0], 0.5 - int(text))

# %% [markdown]
# Slip: **the grammar.** Step 1 leaves the definition, in which every ¬ has brackets of its own. A third edit, at the right bracket, stays
# within it, and both texts mean the same.

# %%
print(reduction.or_free("(0∨1)"), "with a third edit:", reduction.or_free_in_grammar("(0∨1)"))
for text in everything[:2000]:
    mended, loose = reduction.or_free_in_grammar(text), reduction.or_free(text)
    assert boolean.parse(mended) == boolean.parse(loose, bare_not=True)

# %% [markdown]
# Slip: **sequences, not sets.** Step 3 replaces 0 by $\{\times, x_1, x_2\}$. The order counts: it is a sequence.
#
# Slip: **leaves, not all of Γ.** Definition 4.1 takes the arg min over Γ, which has operators and the end token. With those the
# sequence is no expression and has no loss.

# %%
problem = reduce_formula("(0∨1)")
finish = [token for token in FULL.tokens if is_valid((*problem.prefix, token))]
assert set(finish) == {"C", "x1", "x2", "x3", "x4", "x5"}
print("these finish the expression:", *finish)

# %% [markdown]
# Slip: **length exactly m.** Formulas of one size give sequences of many lengths, but LastTokenPrediction(m) has length m. L leaves, L − 1
# conjunctions and N negations make 1 + 3L + (L − 1) + 4N = 4(L + N) tokens, always a multiple of four. A factor x₁ − x₂ = 1 costs four
# tokens and changes nothing, so all can be padded to the same length.

# %%
some = [i for i, text in enumerate(everything) if len(text) == max_size][:5000]
lengths = [len(prefixes[i]) for i in some]
padded = [reduction.pad_to(prefixes[i], max(lengths)) for i in some]
print(f"{min(lengths)} to {max(lengths)} tokens; padded, all have {len(padded[0])}")
assert len({len(prefix) for prefix in padded}) == 1 and all(length % 4 == 0 for length in lengths)
assert (reduction.exact_losses(padded) == losses[some]).all()

# %% [markdown]
# Slip: **more than two variables.** The data then need values for x₃ and so on, and these are leaves that may win. Constant columns are safe,
# since no constant is better than `C`. A column that copies x₁ ties with it.

# %%
careful = reduce_formula("(0∧1)", n_variables=5)
X = careful.X.copy()
X[:, 2] = X[:, 0]
careless = LastTokenProblem(careful.prefix, X, careful.y)
assert careful.solve() == "x1" and careless.losses()["x3"] == careless.losses()["x1"]
pd.DataFrame({"x3 is 0": careful.losses(), "x3 copies x1": careless.losses()}).T.round(3)

# %% [markdown]
# Slip: **letters.** d is the number of variables in Definition 4.1 and the hidden dimension in Theorem 4.2; the length of the input is m
# there and k in Definition G.1.
#
# ## Transformers trained on the reduction
#
# Each network reads the two data points and the sequence, and answers with a leaf. Networks have one to six layers. Training formulas have a
# limited depth. One test set is drawn like them (*familiar*); the formulas of the other are longer than all of them (*longer*).
#
# Random formulas could be guessed by counting: many ∧ mean 0, many 1 mean 1. So every formula comes with a *twin* in which a 0 and a 1 have
# changed places and which has the opposite value. Nothing that only counts tokens can tell twins apart.

# %%
pair = last_token.make_examples([2], 2, np.random.default_rng(seed + 1), max_tokens=24)
for row, length, label in zip(pair.ids, pair.length, pair.label):
    print(" ".join(last_token.WORDS[i] for i in row[: length - 1]), "→", ("x1", "x2")[label])
counts = last_token.token_counts(pair)
assert (counts[0] == counts[1]).all() and pair.label.sum() == 1

# %% [markdown]
# At the tiny scale a few small networks are trained now. Otherwise the page reads the table, or makes it with `recompute`.

# %%
setting, layers, seeds = experiment.Setting(steps=steps), experiment.LAYERS, experiment.SEEDS
if scale == "tiny":
    small = {"train_depth": 3, "longer_depth": 4, "per_depth": 300, "n_test": 60, "width": 32}
    setting, layers, seeds = experiment.Setting(steps=steps, **small), (1, 2), (0, 1)
if recompute:
    table, source = experiment.make(scale, setting, layers, seeds), "measured now"
elif scale == "tiny":
    table, source = experiment.run(setting, layers, seeds), "trained now"
else:
    table, source = experiment.read(scale)
print(f"last_token: {source}")

# %% [markdown]
# Right answers against the depth of the formula. A dot is a seed, a line the mean of the seeds. (Four and five layers are in the table below.)

# %% tags=["hide-input"]
save(experiment_picture(table), "last_token_experiment", alt="Right answers against formula depth. Left, familiar formulas: lines fall from "
     "near one towards one half, and are higher with more layers. Right, longer formulas: all lines lie at one half.")

# %% [markdown]
# On familiar formulas the lines fall with depth, and three layers do better than one. On longer formulas all networks guess. How much of
# the left panel is memory? There are few small formulas, and most of the familiar test formulas also occurred in the training.

# %%
counted = ["n", "right", "n_unseen", "right_unseen"]
of_networks = table[table.n_layers > 0]
familiar = of_networks[of_networks.kind == "familiar"].groupby("depth")[counted].sum()


def share(right, n):
    return ["none" if total == 0 else "{:.2f} ({:.2f} to {:.2f})".format(*wilson(k, total)) for k, total in zip(right, n)]


pd.DataFrame({
    "seen in training": share(familiar.right - familiar.right_unseen, familiar.n - familiar.n_unseen),
    "not seen": share(familiar.right_unseen, familiar.n_unseen), "all": share(familiar.right, familiar.n),
}, index=familiar.index)

# %% [markdown]
# **What it shows.** Right answers on familiar formulas are mostly memory: where a formula was not seen, they fall to a little above one half.
# (The intervals take answers as independent. Twins are not, and seeds differ more than problems do: trust the dots above.)
#
# **What it cannot show.** The theorem. That is about all parameters, at unbounded length. A network that fails after a short training may
# have parameters that work, and for a fixed length it has, since a list exists.
#
# All numbers, by layers; the column 0 is a classifier that sees only how often each token occurs.

# %%
totals = table.groupby(["kind", "depth", "n_layers"])[counted].sum().reset_index()
totals["right"] = share(totals.right, totals.n)
longer = of_networks[of_networks.kind == "longer"]
deepest = familiar.loc[familiar.n_unseen > 0] if (familiar.n_unseen > 0).any() else familiar
book.record(formulas_checked=len(everything), accuracy_longer=float(longer.right.sum() / longer.n.sum()),
            accuracy_unseen=float(deepest.right_unseen.sum() / max(deepest.n_unseen.sum(), 1)))
totals.pivot(index=["kind", "depth"], columns="n_layers", values="right")

# %% [markdown]
# ## Paper, ours, verdict

# %% tags=["hide-input"]
flat = {name: f"depth {row['depth, max']:.0f} at every n, gates like n^{row['exponent of gates']}" for name, row in summary.iterrows()}
checked = f"{len(everything):,} small formulas, {len(random_check)} large ones: no exception"
verdicts = [
    ("the best leaf is x₁ if eval = 0, x₂ if eval = 1", checked, "holds"),
    ("the loss of C is at least 1/4", "1/4 as a min; false as an arg min", "holds"),
    ("brackets are matched in TC⁰ (Lemma G.4)", flat["bracket matching"], "holds"),
    ("∨ is removed in TC⁰", flat["step 1, no ∨"] + "; leaves the grammar", "holds"),
    ("steps 2 to 4 are in AC⁰", "up to blanks; closing the gaps by counting; not needed", "undecided"),
    ("some m defeats every Transformer of depth D", "with “for every m” in the proof", "holds"),
]
pd.DataFrame(verdicts, columns=["paper", "ours", "verdict"]).style.hide(axis="index")

# %% [markdown]
# **What's next.** Back to [chapter 01](../01_boolean_formula_reduction.py), or on to [chapter 02](../02_expressions_and_data.py).
