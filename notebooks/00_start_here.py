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
# **Claim.** A Transformer trained to turn data into a formula mostly answers with formulas of its training set. Computing more at test
# time helps in different ways.
#
# **You will see.** Forty points, the formula behind them, the network's answer, and its line in the training set; all strategies in one
# figure; three ways through the book.
#
# **Needs.** Nothing.
#
# **From the paper.** *Can Test-time Computation Mitigate Reproduction Bias in Neural Symbolic Regression?* (Sato and Sato), Sections 1,
# 5.1 and 6.
#
# **Runtime.** Tiny: a minute. Laptop: half a minute. On a laptop with 2 cores.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # where random numbers begin
weights: str = "laptop/nesymres"  # the network that is asked; empty: train a tiny one now
n_problems: int = 150  # problems among which the examples are looked for
n_points: int = 40  # points given per problem

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np

from nsr import book
from nsr.evidence import (
    GREY, TrainingSet, charts, control, copy_picture, network_for, percent, percent_of, problems_of, read_rows, results_path,
    row_of, save, style_of, use_style,
)
from nsr.formulas import canonical, parse, strip, template_of, to_infix, variables
from nsr.numbers import evaluate, r2_score
from nsr.search import BeamSearch, solve_all

use_style()
trained = network_for(weights)

# %% [markdown]
# ## Symbolic regression
#
# *Symbolic regression* looks for a formula that explains measured points. It does not only fit numbers to a given form; it finds the form.
#
# *Neural* symbolic regression trains a network on many pairs of points and formulas, drawn at random. Given new points, the network
# writes a formula in less than a second.
#
# Which formula is behind forty points? The example is the first of our test set that can be drawn (one variable, no tangent, no
# exponential) and is not answered well.

# %%
def can_be_drawn(problem):
    return variables(problem.truth) == ("x1",) and not {"tan", "exp"} & set(problem.truth)


drawn = problems_of(trained, "not_included", seed, n_problems, n_points)
unknown = [problem for problem in drawn if can_be_drawn(problem)]
solved = solve_all(unknown, BeamSearch(5), trained, seed=seed)
answers = [result for result in solved if result.answer]
example = next((result for result in answers if result.r2 < 0.99), answers[0])
problem, answer = example.problem, example.answer

# %% tags=["hide-input"]
figure, ax = plt.subplots(figsize=(6, 2.4))
ax.plot(problem.X[:, 0], problem.y, "o", color=GREY, markersize=4.5)
ax.set(xlabel="$x_1$", ylabel="y", title=f"{len(problem.y)} points: which formula?")
save(figure, "points", alt="Forty grey points, y against x1, that seem to lie on a wave.")

# %% [markdown]
# The plainest method tries all formulas, from short to long; here with three functions, + and −.

# %%
def formulas(length):
    """All formulas of so many tokens, an operator before its arguments."""
    if length == 1:
        return [("x1",)]
    unary = [(f, *a) for f in ("sin", "cos", "exp") for a in formulas(length - 1)]
    binary = [
        (f, *a, *b)
        for f in ("add", "sub")
        for k in range(1, length - 1)  # tokens of the first argument
        for a in formulas(k)
        for b in formulas(length - 1 - k)
    ]
    return unary + binary


tried = [tokens for length in range(1, 7) for tokens in formulas(length)]
scores = [r2_score(problem.y, evaluate(tokens, problem.X)) for tokens in tried]
best = np.nanargmax(scores)
print(f"best of {len(tried):,}: {to_infix(tried[best])}, R² {scores[best]:.2f}")
print("formulas of 2, 4, 6, 8 tokens:", [len(formulas(length)) for length in (2, 4, 6, 8)])

# %% [markdown]
# $R^2 = 1$ is a perfect fit, a constant reaches 0, and below 0 is worse than a constant. Formulas grow in number exponentially with
# their length, so this ends soon. The network instead writes five candidates, their constants are fitted, and the best is its answer:

# %%
def compare(result):
    problem, answer = result.problem, result.answer
    print("the formula", to_infix(problem.truth, problem.truth_constants or None, digits=3))
    print("the answer ", to_infix(answer.prefix, answer.constants or None, digits=3))
    print(f"R² on fresh points: {result.r2:.3f}")


compare(example)

# %% [markdown]
# We call an answer *accurate* if $R^2 > 0.99$ on points that the network was not given. This one is not.
#
# ## Where the answer comes from
#
# Without its numbers, and with its terms in a fixed order, an answer becomes a *template*. The network was trained on a list of templates.
#
# > If $\mathrm{strip}(e) \in E_{\mathrm{templ}}$, we say **s** is a *reproduction* of expressions seen during training. (Definition 5.1)

# %%
def is_copy(tokens):
    bare = strip(tokens)  # without numbers
    template = canonical(bare)  # x2 + x1 becomes x1 + x2
    return template in trained.templates


print(f"{to_infix(template_of(answer.prefix))}: a copy? {is_copy(answer.prefix)}")
assert is_copy(answer.prefix) != TrainingSet.of(trained).novelty(answer.prefix)["novel"]

# %% [markdown]
# Data, formula and copy in one picture:

# %% tags=["hide-input"]
save(copy_picture(example, trained.templates), "copy", alt="Above, forty points, the curve of the true formula through them, and the curve of "
     "the answer beside them. Below, five lines of the sorted training list; the template of the answer is one of them.")

# %% [markdown]
# Notice the line in colour: the answer is a formula of the training list that comes near the points. The true formula is not in the list; it is
# *unknown*. The slider shows more unknown formulas.

# %% tags=["hide-input"]
shown = {str(number): result for number, result in enumerate(answers[:12], start=1)}
control(lambda result: copy_picture(result, trained.templates), "problem", shown,
        alt="Problem {}: the points, the curves of formula and answer, and the lines of the training list where the answer stands.")

# %% [markdown]
# Some copies fit well, because different formulas can have nearly the same curve.
#
# **Where copying is right.** The first *known* formula, one of the list, that can be drawn and is answered accurately, with its own template:

# %%
mixed = problems_of(trained, "baseline", seed, n_problems, n_points)
known = [problem for problem in mixed if is_copy(problem.truth) and can_be_drawn(problem)]
for result in solve_all(known, BeamSearch(5), trained, seed=seed):
    truth = template_of(result.problem.truth)
    if result.r2 > 0.99 and template_of(result.answer.prefix) == truth:
        compare(result)
        break

# %% [markdown]
# ## How often
#
# Each strategy was tried on hundreds of unknown problems, with one network or several. An answer is *novel* if it is not a copy. In brackets:
# 95 % intervals.

# %%
rows, sources = read_rows("paper" if scale == "paper" else "laptop")
plain = row_of(rows, "beam", 5)
print("novel   ", percent_of(plain, "novel"))
print("accurate", percent_of(plain, "accurate"), "of", len(plain), "answers")

# %% [markdown]
# That was the network with five candidates. Each strategy that computes more has a chapter. Small numbers in the figure are candidates per
# problem, small hollow marks single networks. (NSRwH is told properties of the true formula.)

# %% tags=["hide-input", "cover"]
figure, ax = plt.subplots(figsize=(6.4, 4.6))
charts.draw_strategies(ax, rows, ("beam", "tpsr", "gvs", "gvs+tpsr", "nsrwh-all", "local"))
ax.set_title("Larger beams are more accurate; feedback makes answers novel")
ax.legend(loc="lower right")
save(figure, "strategies", alt="Novel answers against accurate answers for six strategies. Beam search rises along the left edge: more accurate, "
     "hardly novel. TPSR, NSR-gvs, NSR-gvs with TPSR and local search lie further right; the last two are highest.")

# %% [markdown]
# Notice the left edge: larger beams are more accurate and still copy. Strategies with feedback from the data (TPSR, NSR-gvs, both) lie to the
# right, as does local search, which is ours. But costs differ, and local search hardly needs the network:

# %%
for name, size in (("gvs+tpsr", 1), ("local", 5), ("local-random", 5)):
    part = row_of(rows, name, size)
    print(f"{style_of(name)['label']:27} accurate {percent_of(part, 'accurate')}, {part.candidates.mean():.0f} candidates")

# %% [markdown]
# [Chapter 11](11_strategies_compared.py) compares at equal cost. All networks are small.
#
# ## Where the copying happens
#
# Along an unknown formula, one token is the first at which no training formula begins like it. The network finds this token very unlikely,
# and most others likely. Told this token, the network mostly writes the rest ([chapter 14](14_one_token.py)).

# %%
path = results_path("novel_steps", scale)
steps = book.read_table(path if path.exists() else results_path("novel_steps"))
walk = steps[(steps.what == "walk") & (steps.test_set == "not_included")]
for phase in ("before", "at", "after"):
    said = walk[walk.phase == phase].log_prob
    print(f"{phase:6} this token: median probability {np.exp(said.median()):.3f}")
told = steps[steps.what == "told"].astype({"same": float}).groupby("told").same
print("true template, told all tokens before it:", percent(told.get_group("before")))
print("true template, told it, too:            ", percent(told.get_group("at")))

# %% [markdown]
# ## What of the paper holds
#
# A statement of the paper *holds* if the whole 95 % interval is on its side, *fails* if all of it is on the other, and is else *undecided*.

# %%
claims = book.read_table(book.REFERENCE / "laptop" / "claims.csv").groupby("claim").claim_verdict.first()
book.record(statements=len(claims), copied=float(1 - plain.novel.mean()))
claims.value_counts().rename_axis("verdict").to_frame("statements")

# %% [markdown]
# ## Three ways through the book
#
# - **One hour**: this page, [copying](04_reproduction_bias.py), [the one token](14_one_token.py).
# - **A course of ten lessons**: this page, [data](02_expressions_and_data.py), [training](03_training.py), [copying](04_reproduction_bias.py),
#   [beams](05_beam_search.py), [tree search](06_tpsr.py), [feedback](07_nsr_gvs.py), [local search](10_families_and_local_search.py),
#   [comparison](11_strategies_compared.py), [the one token](14_one_token.py). For theory add [hardness](01_boolean_formula_reduction.py) and
#   [a guarantee](08_pac_guarantee.py).
# - **A researcher**: [comparison](11_strategies_compared.py), [the one token](14_one_token.py), [hints](09_nsrwh.py),
#   [a second system](12_transformer4sr.py), [real data](13_practice.py); `python -m nsr replicate --plan` lists every network and table.
#
# `python -m nsr run 04 --scale tiny` runs a chapter in a minute; `laptop` is what these pages show, `paper` the published size.

# %% [markdown]
# ## Exercises
#
# 1. *Predict.* The training list is `sin(x1) + x2` and `exp(x1)`. Which are copies: `0.3*sin(2*x1) + 7*x2`, `x2 + sin(x1)`, `sin(x2) + x1`?

# %% tags=["solution"]
copies = [True, True, False]  # numbers and order do not count, which variable stands where does

# %% tags=["check"]
lesson = {template_of(parse(text)[0]) for text in ("sin(x1) + x2", "exp(x1)")}
asked = ("0.3*sin(2*x1) + 7*x2", "x2 + sin(x1)", "sin(x2) + x1")
assert list(copies) == [template_of(parse(text)[0]) in lesson for text in asked], "take out the numbers, and put the terms in order"

# %% [markdown]
# 2. *Turn.* $R^2 > 0.99$ is strict. Find a number `above` such that half of the answers in `plain` have a larger $R^2$.

# %% tags=["solution"]
above = float(plain.r2.median())

# %% tags=["check"]
share = np.mean(plain.r2 > above)
assert 0.45 < share < 0.55, f"{share:.0%} of the answers are above {above}"

# %% [markdown]
# 3. *Build.* A regressor that only copies: `best_copy(problem, templates)` returns the template with the largest $R^2$, without constants.

# %% tags=["solution"]
def best_copy(problem, templates):
    def score(template):
        return r2_score(problem.y, evaluate(template, problem.X))

    return max(templates, key=lambda template: np.nan_to_num(score(template), nan=-np.inf))


# %% tags=["check"]
toy = [("sin", "x1"), ("exp", "x1"), ("add", "x1", "sin", "x1"), ("x1",)]
for right in toy:
    asked = type(problem)(problem.X, evaluate(right, problem.X) + 0.001 * problem.X[:, 0])
    assert best_copy(asked, toy) == right, f"the points are of {to_infix(right)}"

# %% [markdown]
# **What's next.** [Chapter 01](01_boolean_formula_reduction.py), a theorem; or straight on to [chapter 02](02_expressions_and_data.py).
