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
# # At equal beam size TPSR is much more accurate; at equal cost only its novelty is higher
#
# **Claim.** TPSR plans every token by a tree search. It is more accurate than a beam of its own size, because it tries more formulas. A
# beam that tries as many is more accurate still, but copies; TPSR's answers are novel more often.
#
# **You will see.** Four phases built by hand, beam and TPSR on one tree, both at equal cost.
#
# **Needs.** [05](05_beam_search.py).
#
# **From the paper.** Section 6 "Incorporating MCTS"; Appendix "TPSR"; Table "Breakdown of generated expressions".
#
# **Runtime.** Tiny: one minute. Laptop: one minute. Paper: some minutes of a GPU. On a laptop with 2 cores.

# %% [markdown]
# The tables of this lesson were measured before and are read; the searches on the first `n_live` problems are made while you read.
# More settings and more comparisons are in the report [A06](appendix/A06_tpsr.py).

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the test set that is solved while you read
weights: str = "laptop/nesymres"  # the first of the networks; empty: train tiny ones now
n_networks: int = 4  # at most so many networks of this recipe, as far as they are here
rollouts: int = 6  # r, of the tree that you step through; the published setting is 3
k_max: int = 3  # tokens that a node may be expanded to
n_problems: int = 150  # problems of a test set
n_seeds: int = 3  # test sets of each kind, drawn with different seeds
n_points: int = 100  # points given per problem; as many fresh ones judge
n_live: int = 10  # problems solved while you read

# %% [markdown]
# Imports, the network and a few problems whose templates it was not trained on:

# %% tags=["hide-input"]
import math
from dataclasses import dataclass, field

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from nsr import book
from nsr.evidence import (
    ACCURATE, PAPER_BEAM, PHASES, Row, TrainingSet, charts, control, draw_rollout, draw_walks, judged_together, lead_over_beams,
    measured, networks_for, novelty_line, outside_language, paired, percent, problems_of, save, style_of, use_style, verdicts_on,
)
from nsr.formulas import END, to_infix
from nsr.numbers import evaluate
from nsr.search import TPSR, BeamSearch, Complete, NextTokens, Rollout, Verify, r2_text, solve, solve_all

use_style()
networks = networks_for(weights, n_networks)
trained = next(iter(networks.values()))
training = TrainingSet.of(trained)
problems = problems_of(trained, "not_included", seed, n_problems, n_points)[:n_live]

# %% [markdown]
# ## A network small enough to check by hand
#
# Beam search judges a formula when it is finished, and by then nothing can be changed. TPSR writes the answer token by token, and before
# each token it tries how well the formula could end. Trying is called a *rollout*.
#
# Let us build this for a toy. Its "network" is a table: after each token (or at the start) it gives the next ones and their
# probabilities, most likely first. Its data are six points of $y = x_1 + \sin x_1$. A formula is complete when no argument is missing:
# `add` opens one place more, `x1` fills one.

# %%
NEXT = {"": [("sin", 0.6), ("add", 0.4)],
        "sin": [("x1", 0.7), ("sin", 0.3)],
        "add": [("x1", 0.6), ("sin", 0.4)],
        "x1": [("x1", 0.8), ("sin", 0.2)]}  # after the first argument of `add`
X = np.linspace(0.5, 3, 6)[:, None]
y = X[:, 0] + np.sin(X[:, 0])


def tokens_after(prefix):
    missing = 1 + sum({"add": 1, "sin": 0, "x1": -1}[token] for token in prefix)
    return NEXT[prefix[-1] if prefix else ""] if missing else []


# %% [markdown]
# The most likely formula of this network is `sin x1`. The truth, `add sin x1 x1`, has the probability
# $0.4 \cdot 0.4 \cdot 0.7 \cdot 0.8$, and three formulas are more likely: a beam of two does not find it.
#
# ## Four phases
#
# The tree has a node for each beginning of a formula. A node counts its visits, $N$, and keeps the largest reward that was ever found
# below it, $Q$. **Selection** goes from the root down to a node that still has untried tokens. On the way it takes the child $a$ of the
# node $s$ with the largest
#
# $$Q(s,a) + \beta(s)\, p(a \mid s) \frac{\sqrt{\ln N(s)}}{1 + N(s,a)}, \qquad
# \beta(s) = \ln \frac{N(s) + c_{\mathrm{base}} + 1}{c_{\mathrm{base}}} + c.$$
#
# This sum is called P-UCB. Its first term prefers what was good so far; the second prefers what the network finds likely and the search
# has visited rarely.

# %%
@dataclass
class Node:
    prefix: tuple = ()
    p: float = 1.0  # the network's probability of the last token
    N: int = 0
    Q: float = -math.inf
    untried: list | None = None  # tokens and probabilities; None: not asked yet
    children: list = field(default_factory=list)


def p_ucb(parent, child, c=1.0, c_base=50.0):
    beta = math.log((parent.N + c_base + 1) / c_base) + c
    return child.Q + beta * child.p * math.sqrt(math.log(parent.N)) / (1 + child.N)


def select(root):
    path = [root]
    while path[-1].children and not path[-1].untried:
        parent = path[-1]
        path.append(max(parent.children, key=lambda child: p_ucb(parent, child)))
    return path


# %% [markdown]
# **Expansion** adds one child to the node that was selected: the most likely token that was not tried yet.

# %%
def expand(path):
    node = path[-1]
    if node.untried:
        token, p = node.untried.pop(0)
        node.children.append(Node((*node.prefix, token), p))
        path.append(node.children[-1])


# %% [markdown]
# **Simulation** lets the network complete the formula from there, and computes its reward. The reward grows with the fit;
# NMSE is the mean squared error, divided by the mean of $y^2$:
#
# $$\mathrm{reward} = \frac{1}{1 + \mathrm{NMSE}} + \lambda \exp\Big(-\frac{|\mathbf{s}|}{L}\Big).$$
#
# The second term prefers short formulas; the toy leaves it out.

# %%
def simulate(prefix):
    while tokens := tokens_after(prefix):
        prefix = (*prefix, tokens[0][0])
    nmse = np.mean((evaluate(prefix, X) - y) ** 2) / np.mean(y**2)
    return prefix, 1 / (1 + nmse)


# %% [markdown]
# **Back-up** goes the same way back to the root. Each node on it has one more visit, and keeps the reward if it is the largest so far:

# %%
def back_up(path, reward):
    for node in path:
        node.N += 1
        node.Q = max(node.Q, reward)


# %% [markdown]
# A rollout is these four, one after the other. A node asks the network for its tokens once, and may use the $k$ most likely:

# %%
def one_rollout(root, k=2):
    path = select(root)
    if path[-1].untried is None:
        path[-1].untried = tokens_after(path[-1].prefix)[:k]
    expand(path)
    formula, reward = simulate(path[-1].prefix)
    back_up(path, reward)
    return path, formula, reward


# %% [markdown]
# Five rollouts before the first token. Selection goes by the first two columns. Check the third rollout by hand: the root has $N = 2$,
# so $\beta = \ln\frac{53}{50} + 1$, and `sin`, visited once with $p = 0.6$, has its reward plus
# $\beta \cdot 0.6 \cdot \sqrt{\ln 2} / 2$.

# %%
root, toy_log, lines = Node(), [], []
for n in range(1, 6):
    scores = [round(p_ucb(root, child), 3) for child in root.children if n > 2]
    path, formula, reward = one_rollout(root)
    node = " ".join(path[-1].prefix)
    lines.append((n, *(scores or ["", ""]), node, to_infix(formula), round(reward, 3)))
    prefixes = tuple(one.prefix for one in path)
    toy_log.append(Rollout("toy", (), prefixes, path[-1].p, formula, reward))
assert formula == ("add", "sin", "x1", "x1") and reward == 1
columns = ["rollout", "P-UCB of sin", "P-UCB of add", "new node", "completed", "reward"]
pd.DataFrame(lines, columns=columns).set_index("rollout")

# %% [markdown]
# The fifth rollout finds the truth. Its four phases as pictures; under each node stand $Q$ and, in brackets, $N$:

# %% tags=["hide-input"]
figure, axes = plt.subplots(2, 2, figsize=(7, 5.4))
for ax, phase in zip(axes.flat, PHASES):
    draw_rollout(ax, toy_log, 5, phase)
    ax.set_title(phase, fontsize=10)
figure.suptitle("Rollout 5 tries add once more and finds the truth", weight="bold", fontsize=11)
save(figure, "four_phases", alt="Four pictures of the toy's tree. Selection goes from the start to add, expansion adds sin below it, "
     "the completion is sin(x1) + x1 with reward 1, and back-up raises the value of all three nodes to 1.")

# %% [markdown]
# Dark is the way down, and orange is the new token with its probability. The frame holds the completion, and the values that back-up raised
# are bold. Now the child with the largest $Q$, `add`, is written. It becomes the root, and the same begins again one token further.
#
# ## The same on the network
#
# Only who is asked changes. A strategy of this book *yields* its questions: `NextTokens` for probabilities, `Complete` for completions by
# a beam of size $b$, `Verify` for fitted constants and errors. A node that ends with END is a finished formula.

# %%
class TPSRByHand:
    name = "TPSR by hand"

    def __init__(self, r, k_max, beam_size=1):
        self.r, self.k_max, self.beam_size, self.log = r, k_max, beam_size, []

    def search(self, view, rng):
        root = Node()
        while root.prefix[-1:] != (END,):
            for _ in range(self.r):
                path = select(root)
                last = path[-1]
                if last.untried is None and last.prefix[-1:] != (END,):
                    tokens = yield NextTokens(last.prefix)
                    last.untried = [(t, math.exp(log_p)) for t, log_p in tokens[: self.k_max]]
                expand(path)
                formulas, last = [path[-1].prefix[:-1]], path[-1]
                if last.prefix[-1] != END:
                    beam = yield Complete(last.prefix, self.beam_size)
                    formulas = [hypothesis.prefix for hypothesis in beam]
                candidates = yield Verify(tuple(formulas))
                reward = max(TPSR().reward(c, view.problem) for c in candidates)
                back_up(path, reward)
                self.log.append((view.problem.name, tuple(n.prefix for n in path), reward))
            root = max(root.children, key=lambda child: child.Q)


# %% [markdown]
# Departure: the paper does not say what NMSE is divided by; we follow the published code. $L$ is the longest expression that can be
# written here, and $\lambda = 0.01$ as in the paper (0.1 in the published code). [A06](appendix/A06_tpsr.py) varies all three.
#
# `nsr` has a faster TPSR that remembers its completions. It must grow the same trees, rollout by rollout:

# %%
log, by_hand = [], TPSRByHand(rollouts, k_max)
watched = TPSR(rollouts, k_max, watch=log.append)
planned = solve_all(problems, watched, trained, reference=training)
solve_all(problems, by_hand, trained)
for problem in problems:
    theirs = [(event.path, event.reward) for event in log if event.problem == problem.name]
    ours = [(path, reward) for name, path, reward in by_hand.log if name == problem.name]
    assert [path for path, _ in ours] == [path for path, _ in theirs]
    assert np.allclose([reward for _, reward in ours], [reward for _, reward in theirs])
print(f"the same {len(log):,} rollouts on {len(problems)} problems")

# %% [markdown]
# Step through the rollouts before the first token, on the first problem where they go below the root's children:

# %% tags=["hide-input"]
events = [[event for event in log if event.problem == p.name][:rollouts] for p in problems]
stepped = next((some for some in events if max(len(event.path) for event in some) > 2), events[0])


def draw_step(step):
    figure, ax = plt.subplots(figsize=(7, 4))
    draw_rollout(ax, stepped, *step)
    ax.set_title(f"Rollout {step[0]}: {step[1]}", fontsize=10)
    return figure


shown = [(n, phase) for n in range(1, min(len(stepped), 6) + 1) for phase in PHASES
         if phase == "back-up" or n > k_max]  # the first ones only fill the root
steps = {f"rollout {n}: {phase}": (n, phase) for n, phase in shown}
control(draw_step, "step", steps, alt="The search tree before the first token is written, at {}.")

# %% [markdown]
# The first rollouts fill the root with its children. Only then selection has a choice, and goes deeper.
#
# ## The published tree is one token deep
#
# > We set the number of rollouts to $r = 3$, the number of expandable tokens to $k_{\max} = 3$, and the beam size for expression
# > completion to $b = 1$. (Section 6.1)
#
# With $r \le k_{\max}$ every rollout is spent on a new child of the root, and then the root moves on: P-UCB is never used. So the
# published setting needs no tree. Three completions, take the first token of the best, repeat:

# %%
class OneTokenAhead:
    name = "one token ahead"

    def search(self, view, rng):
        written, best = (), None
        while (tokens := (yield NextTokens(written)))[0][0] != END:
            options = [(*written, token) for token, _ in tokens[:3]]
            beams = yield [Complete(option, beam_size=1) for option in options]
            candidates = yield Verify(tuple(beam[0].prefix for beam in beams))
            rewards = [TPSR().reward(candidate, view.problem) for candidate in candidates]
            written, best = max(zip(rewards, options, candidates), key=lambda x: x[0])[1:]
        return best


# %% [markdown]
# It must walk to the same formula as TPSR with published settings. Near the longest possible length fewer than three tokens fit, a
# rollout is left over and the tree becomes deeper; such problems are left out:

# %%
walk = []
published = solve_all(problems, TPSR(published=True, watch=walk.append), trained)
deeper = {event.problem for event in walk if len(event.path) > 2 and event.path[1][-1] != END}
answers = [(a.answer and a.answer.prefix, b.answer and b.answer.prefix)
           for a, b in zip(solve_all(problems, OneTokenAhead(), trained), published)
           if a.problem.name not in deeper]
print(f"the same answer on {sum(a == b for a, b in answers)} of {len(answers)} problems")
assert all(a == b for a, b in answers)

# %% [markdown]
# ## One search that works, one that fails
#
# Now TPSR with published settings ($r = 3$, $b = 1$) beside a beam of one, and beside a beam with as many candidates as TPSR had. *Works*:
# the first problem on which TPSR has $R^2 > 0.99$ and the beam of one has not. *Fails*: the first on which TPSR has not, and the beam with
# as many candidates has.

# %%
tpsr, small = (solve_all(problems, strategy, trained) for strategy in (TPSR(), BeamSearch(1)))
large = [solve(r.problem, BeamSearch(r.n_candidates), trained) for r in tpsr]
good = [[result.r2 > ACCURATE for result in some] for some in (tpsr, small, large)]
works = next((i for i, (t, s, _) in enumerate(zip(*good)) if t and not s), 0)
fails = next((i for i, (t, _, b) in enumerate(zip(*good)) if b and not t), len(problems) - 1)

# %% [markdown]
# What they answered. *Novel*: the template of the answer is not in the training set.

# %% tags=["hide-input"]
lines = []
for word, i in (("works", works), ("fails", fails)):
    lines.append((word, "the truth", to_infix(problems[i].truth), "", "", ""))
    for name, result in (("beam of 1", small[i]), ("TPSR", tpsr[i]), ("beam, same cost", large[i])):
        prefix = result.answer.prefix if result.answer else ()
        novel = "novel" if training.novelty(prefix)["novel"] else "copied"
        lines.append((word, name, to_infix(prefix) if prefix else "–", r2_text(result.r2), result.n_candidates, novel))
book.record(accurate=float(np.mean(good[0])), candidates=float(np.mean([r.n_candidates for r in tpsr])))
pd.DataFrame(lines, columns=["example", "by", "formula", "R² fresh", "candidates", "structure"]).set_index(["example", "by"])

# %% [markdown]
# ## Beam and TPSR on the same tree
#
# The picture shows all formulas that both searches verified for the problem that fails, as one tree that begins on the left. The coloured
# part is what one search wrote; the grey part is the other's. A dot ends each formula.

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7, 4.6))
both = [list(result.generated) for result in (large[fails], tpsr[fails])]
for ax, name, own in zip(axes, ("beam", "tpsr"), both):
    novel = {formula: bool(training.novelty(formula)["novel"]) for formula in own}
    draw_walks(ax, both[0] + both[1], novel, style_of(name)["color"])
    starts = len({formula[:2] for formula in own})
    ax.set_title(f"{style_of(name)['label']}: {starts} ways to begin,\n{sum(novel.values())} of {len(novel)} are novel", fontsize=10)
save(figure, "same_tree", alt="The same tree of formulas twice. The beam's formulas share their first tokens and end in mostly copied ones; "
     "TPSR's leave the common way at every token and end in more novel ones.")

# %% [markdown]
# Purple dots are novel formulas, dark red ones copies. The beam spends its candidates on beginnings that are likely as a whole. TPSR
# forces the second and the third best token on the network at every place of the way, and the network goes on from beginnings that it
# would not have written.
#
# ## At equal beam size, and at equal cost
#
# One tree proves nothing. The tables have TPSR with $b = 1, 3, 5$ and beam search on the same problems. TPSR with $b = 1$ has verified
# many more candidates than a beam of one, so both shares are drawn against the number of candidates:

# %% tags=["hide-input"]
few = {"n_problems": n_problems, "n_points": n_points}
how = {"scale": scale, "live": min(n_live, 6)}
trees, beams = [TPSR(beam_size=b) for b in (1, 3, 5)], [BeamSearch(b) for b in (PAPER_BEAM if weights else (1, 5, 20))]
rows = pd.concat([measured(table, [Row(strategy, "not_included", s, weights=name, **few) for name in networks for strategy in strategies
                                   for s in range(n_seeds)], networks, by_network=True, **how)
                  for table, strategies in (("tpsr", trees), ("beam", beams))])
plan, beam = (rows[rows.strategy == name] for name in ("tpsr", "beam"))
figure, axes = plt.subplots(1, 2, figsize=(7, 3.3))
names = [("beam", b) for b in sorted(beam.beam_size.unique())] + [("tpsr", b) for b in (1, 3, 5)]
for ax, what, title in zip(axes, ("accurate", "novel"), ("a beam is more accurate", "TPSR has more novel answers")):
    charts.draw_tradeoff(ax, rows, names, what)
    ax.set(xlabel="candidates per problem", ylabel=f"{what} answers (%)")
    ax.set_title(f"At equal cost {title}", fontsize=10)
axes[1].legend(fontsize=8)
save(figure, "cost", alt="Two panels against the number of candidates, on a logarithmic axis. Accurate answers: the line of beam search lies "
     "above TPSR's. Novel answers: TPSR's line lies far above the beam's.")

# %% [markdown]
# Read it vertically. Small numbers are $b$; thin lines say what the same search would have answered, had it been stopped earlier.
#
# Departure: our TPSR remembers completions, and counts each once; the paper counts every rollout, which would move TPSR to the right.
#
# The differences, problem by problem, with intervals over templates, and over networks where there are several. A beam that costs exactly as
# much was not measured, so its share is interpolated between the two nearest. A TPSR that costs more than the largest beam is stopped there.
# The p-values are corrected for all lines together, by Holm's method (chapter 11).

# %%
leads = {}
for b, own in plan.groupby("beam_size"):
    for what in ("accurate", "novel"):
        if len(same := beam[beam.beam_size == b]):
            leads[b, what, "equal b"] = paired(own, same, what)[0]
        for cost in ("candidates", "evaluations", "seconds"):
            leads[b, what, f"equal {cost}"] = lead_over_beams(own, beam, cost, what)
found = judged_together(leads)
found[found.points != "–"].rename_axis(["TPSR's b", "more", "than a beam of"])

# %% [markdown]
# ## Novel, or outside the language?
#
# In this vocabulary `mul` attaches a constant; no template of the generator multiplies two variables. TPSR tries unlikely tokens, and such
# a product is novel in a way that no test formula could match. How many of all answers are of that kind, and how many of the novel ones are
# accurate?

# %%
lines = {}
for key, part in rows.groupby(["strategy", "beam_size"]):
    new = part[part.novel]
    product = outside_language(new.answer)
    good = {"accurate if inside": percent(new.accurate[~product]), "if outside": percent(new.accurate[product])}
    lines[key] = novelty_line(part) | good
pd.DataFrame(lines).T.rename_axis(["strategy", "b"])

# %% [markdown]
# About half of TPSR's novelty is of that kind, and these answers are accurate less often.
#
# ## Paper, ours, verdict
#
# Numbers are points or %, on `not_included`, with 95 % intervals. *As published* means: without a grammar, stopped at the first $b$
# finished formulas, constants by BFGS, on 150 problems.

# %% tags=["hide-input"]
first = [Row.under("published", name, b, "not_included", seed=0, **few)
         for name, b in (*(("beam", b) for b in PAPER_BEAM), ("tpsr", 1), ("tpsr", 5))]
as_published = measured("protocols", first, trained, **how) if weights else rows[:0]  # a tiny network has none
sentences = {
    ("feedback_raises_novelty", "novel(tpsr 1) - novel(beam 5)"): "TPSR writes novel formulas (b = 1, beam of 5)",
    ("novelty_at_equal_candidates", "novel(tpsr 1) - novel(beam @ tpsr 1)"): "… also at equal candidates",
    ("tpsr_lowers_accuracy", "accurate(tpsr 1) - accurate(beam 5)"): "TPSR lowers accuracy (b = 1, beam of 5)",
    ("tpsr_lowers_accuracy_at_equal_beam", "accurate(tpsr 1) - accurate(beam 1)"): "… read at equal b",
    ("beam_is_most_accurate_at_equal_candidates", "accurate(beam @ tpsr 1) - accurate(tpsr 1)"):
        "at equal candidates a beam is more accurate",
    ("novel_tpsr_answers_are_rarely_accurate", "accurate_if_novel(tpsr 1)"): "hardly any novel answer is accurate (< 10 %)"}
verdicts_on(sentences, rows, as_published)

# %% [markdown]
# Slip: the paper's text says that TPSR lowers accuracy. Its own table says so only across beam sizes, TPSR with $b = 1$ beside a beam of
# five; at equal $b$ its number is positive, too.
#
# ## Exercises
#
# 1. *Predict.* A root was visited four times. Its child `sin` has $Q = 0.6$, $N = 3$, $p = 0.5$; its child `cos` has $Q = 0.5$, $N = 1$,
#    $p = 0.5$. No tokens are untried. Which child is selected, and what are the two $Q$ after a reward of 0.55 came back from it?

# %% tags=["solution"]
selected, q_sin, q_cos = "cos", 0.6, 0.55  # 0.6 + 0.16 against 0.5 + 0.32; the reward is larger than 0.5

# %% tags=["check"]
children = [Node(("sin",), 0.5, 3, 0.6), Node(("cos",), 0.5, 1, 0.5)]
way = select(Node((), 1.0, 4, 0.6, [], children))
back_up(way, 0.55)
assert selected == way[-1].prefix[-1], "compute P-UCB of both: how much does the second term add?"
assert (q_sin, q_cos) == tuple(child.Q for child in children), "which nodes are on the way back, and is it the largest so far?"

# %% [markdown]
# 2. *Turn.* Give the toy's nodes at most `k` tokens: `one_rollout(root, k)`. What is the smallest `k` with which the truth is completed
#    within 50 rollouts, and which rollout completes it?

# %% tags=["solution"]
smallest_k, needed = 2, 5  # with one token per node, every completion is the greedy one

# %% tags=["check"]
def rollouts_until(k, most=50):
    root = Node()
    formulas = [one_rollout(root, k)[1] for _ in range(most)]
    truth = ("add", "sin", "x1", "x1")
    return formulas.index(truth) + 1 if truth in formulas else None


counts = {k: rollouts_until(k) for k in (1, 2)}
print("rollouts until the truth:", counts)
assert (smallest_k, needed) == next((k, n) for k, n in counts.items() if n), "try both values of k"

# %% [markdown]
# 3. *Build.* Forbid products and recount. Write `best_inside(result)`: of the verified candidates of a search (`result.candidates`, best
#    first), the best one whose answer does not multiply variables, or `None`. `outside_language` takes formulas as texts. How many novel
#    answers of the searches above remain?

# %% tags=["solution"]
def best_inside(result):
    texts = [" ".join(candidate.prefix) for candidate in result.candidates]
    inside = [c for c, out in zip(result.candidates, outside_language(texts)) if c.valid and not out]
    return inside[0] if inside else None


# %% tags=["check"]
kept = [best_inside(result) for result in planned]
texts = [" ".join(candidate.prefix) for candidate in kept if candidate]
assert len(texts) == len(planned), "a product with a constant is allowed"
assert not outside_language(texts).any(), "an answer still multiplies variables"
for result, chosen in zip(planned, kept):
    better = [c for c in result.candidates if c.key < chosen.key]
    assert outside_language([" ".join(c.prefix) for c in better]).all(), "a better formula inside the language was left out"
before, after = ([bool(training.novelty(c.prefix)["novel"]) for c in some if c]
                 for some in ([r.answer for r in planned], kept))
print(f"novel answers: {sum(before)} of {len(before)} before, {sum(after)} without products")

# %% [markdown]
# **What's next.** [NSR-gvs](07_nsr_gvs.py): feedback not for tokens but for subtrees.
