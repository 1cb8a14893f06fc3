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
# # A second system is not reproduced: ours has not learned its training set
#
# **Claim.** The paper finds that transformer4sr, a system with another generator and network, also copies. Ours copies most answers, too,
# but many of its novel ones are mistakes. A small one that has learned most of its set copies nearly everything.
#
# **You will see.** Its generator, network and decoder in pieces, two definitions of "copied", and novelty told from mistakes.
#
# **Needs.** [04](04_reproduction_bias.py).
#
# **From the paper.** Section 5.2 "Practical Setting"; Appendices "Definition of Reproduction Bias", "Varying the Number of Epochs".
#
# **Runtime.** Tiny: two minutes. Laptop: one minute. Paper: a day of a GPU. On a laptop with 2 cores.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the test problems
weights: str = "laptop/t4sr"  # the network of the largest set; empty: train tiny ones now
recompute: bool = False  # measure everything and write the tables, instead of reading them
n_problems: int = 300  # problems of a test set, as in the paper
n_draws: int = 10000  # random trees that the look at the generator draws
n_live: int = 12  # problems solved while you read

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown

from nsr import book
from nsr.data import WEIGHTS, skeleton_draws, skeleton_of, tables_of
from nsr.evidence import ACCURATE, COPIED, GREY, INK, NOVEL, control, draw_tree, measured, network_for, paired, percent, results_path, save, scaling, snapshot_steps, together, unpaired, use_style, verdict_on_claim, whiskers, wilson
from nsr.formulas import ARITY, START, TRANSFORMER4SR, bare, spans, to_infix
from nsr.network import read_settings, tiny_network
from nsr.search import Greedy, solve_all

use_style()
rng = np.random.default_rng(seed)

# %% [markdown]
# ## From a random tree to a skeleton
#
# transformer4sr draws a formula from its root. Every node is drawn by weight among operators *and* leaves. Inside a sine there is no
# other sine or cosine, and inside a logarithm no other logarithm or exponential. A leaf is the most likely draw, so most trees are small.
# Trees of 2 to 15 nodes are kept. `skeleton_draws` grows many trees at once and keeps the same share of them, up to chance.

# %%
def grow(rng, above=frozenset()):
    """A random tree in prefix order; `above` are the functions around it."""
    pairs = {"sin", "cos"}, {"log", "exp"}
    forbidden = set().union(*(pair for pair in pairs if pair & above))
    weights = {token: weight for token, weight in WEIGHTS.items() if token not in forbidden}
    chances = np.array(list(weights.values())) / sum(weights.values())
    token = str(rng.choice(list(weights), p=chances))
    arguments = [grow(rng, above | {token}) for _ in range(ARITY.get(token, 0))]
    return (token, *sum(arguments, ()))


ours = np.mean([2 <= len(grow(rng)) <= 15 for _ in range(2000)])
raws = skeleton_draws(n_draws, rng)
print(f"kept: {ours:.1%} of ours, {len(raws) / n_draws:.1%} of those of nsr")
assert abs(ours - len(raws) / n_draws) < 4 * np.sqrt(0.25 / 2000 + 0.25 / n_draws)

# %% [markdown]
# Then a tree is simplified, its variables are named in the order of their appearance, and filters are applied. What is left is a
# *skeleton*: a formula with exactly one `C`, which stands for any number. Here are the first three trees of at least five nodes that pass, and
# the first three that do not, with the filter that refused them. (`inv` is 1/x, `neg` is −x, `sq` is the square, `cb` the cube.)

# %%
fates = [(raw, *skeleton_of(raw)) for raw in raws if len(raw) >= 5]
passed = [fate for fate in fates if fate[1]][:3]
refused = [fate for fate in fates if not fate[1]][:3]
for raw, skeleton, why in passed + refused:
    print(f"{to_infix(raw):44} → {to_infix(skeleton) if skeleton else 'refused: ' + why}")

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7, 2.8))
for ax, tree, name in zip(axes, passed[0], ("a random tree", "its skeleton")):
    draw_tree(ax, tree, colour=GREY)
    ax.set_title(name, fontsize=10)
save(figure, "skeleton", alt="Two trees side by side: the first random tree that passes, and the skeleton that is left after it has been "
     "simplified and its variables were renamed.")

# %% [markdown]
# Notice what simplifying changes: variables have new names, and numbers are joined into one C.
#
# Departure: the published code simplifies with sympy. Ours is a small algebra that knows no trigonometric identity.
#
# ## A table
#
# A skeleton becomes several *tables*: the constant is uniform in [−100, 100], every variable log-uniform in [0.1, 10], and there are 50
# points. The network reads a table and writes the skeleton. Tables are made once and shown again in every epoch.

# %%
form = passed[0][1]
constants, tables = tables_of(form, rng, 3)  # (T,), (T, P, 7): x1 … x6, y
print(to_infix(form), "with C =", *constants)
pd.DataFrame(tables[0], columns=["x1", "x2", "x3", "x4", "x5", "x6", "y"]).head(3).round(3)

# %% [markdown]
# Slip: the "1.5M training expressions" of the paper are 1.5M *tables* in the published code, 25 of each skeleton, so about 60,000
# skeletons. Our sizes are tables, too.
#
# Departure: fewer tables of each skeleton, fewer epochs, a smaller network. So ours sees each skeleton far less often.

# %%
recipe = read_settings("t4sr", scale)
largest = recipe.data
epochs = recipe.training.steps * recipe.training.batch / largest.items
print(f"{largest.tables} tables of each skeleton (25 published), {epochs:.0f} epochs (100)")
for items in scaling.sizes(largest.items):
    print(f"{items:>9,} tables, {-(-items // largest.tables):>7,} skeletons")

# %% [markdown]
# ## The network
#
# One network for each size, with the same recipe. Where nobody has measured them, tiny ones are trained now.

# %% tags=["hide-input"]
there = all(results_path(name, scale).exists() for name in ("t4sr_scaling", "t4sr_epochs"))
if weights and (there or recompute):
    names = [f"{weights}-{n}" for n in scaling.sizes(largest.items)[:-1]] + [weights]
    networks = {weights: network_for(weights)}
else:
    small = scaling.sizes(read_settings("t4sr", "tiny").data.items)
    networks = {f"tiny/t4sr-{n}": network_for("", f"t4sr-{n}") for n in small}
    names = list(networks)
trained = networks[names[-1]]
net, known = trained.network, trained.templates
print(f"{trained.name}: {trained.settings['items']:,} tables of {len(known):,} skeletons")

# %% [markdown]
# The encoder keeps a grid with one vector for each point $p$ and column $c$. Its *mix* block lays the columns of a point side by side, lets
# the points look at each other by attention, and adds the result to all columns alike. In the end, the largest values over the points give
# one vector per column:
#
# $$X_{pc} \leftarrow X_{pc} + A_p, \qquad A = \mathrm{attention}\big(\mathrm{MLP}(X_{p1} \Vert \dots \Vert X_{p7})\big),$$
#
# $$\text{memory}_c = \max_p \mathrm{ReLU}(W X_{pc}).$$

# %%
def mix(block, grid):
    """One block: (B, P, C, h) → (B, P, C, h)."""
    y = block.mix(grid.flatten(-2))  # the columns side by side: (B, P, h)
    heads = block.qkv(y if block.post else block.norm(y)).unflatten(-1, (3, block.heads, -1))
    q, k, v = heads.permute(2, 0, 3, 1, 4)  # (B, H, P, h/H) each
    looks = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)  # points look at points
    a = block.out((looks @ v).transpose(1, 2).flatten(-2))  # (B, P, h)
    grid = grid + a.unsqueeze(2)
    return block.norm(grid) if block.post else grid


# %% [markdown]
# The whole encoder is then a short loop. It must give the memory that the network computes, whatever the order of the points.

# %%
table = torch.tensor(tables, dtype=torch.float32, device=net.device)  # (B, P, 7)
with torch.inference_mode():
    grid = net.embed(table)
    for block in net.blocks:
        grid = mix(block, grid)
    memory = net.pool(grid, None)
    turned = net.encode(table.flip(1))  # the points in reverse order
print("grid", tuple(grid.shape), "→ memory", tuple(memory.shape))
assert torch.allclose(memory, net.encode(table), atol=1e-3)
assert torch.allclose(memory, turned, atol=1e-3)

# %% [markdown]
# ## Greedy, until the tree closes
#
# The decoder writes the most likely token, again and again. There is no end token. It counts *open arguments* instead: one at the start;
# an operator with $k$ arguments adds $k - 1$, a leaf removes one. At zero the tree is closed.

# %%
IDS = TRANSFORMER4SR.ids
SYMBOLS = [token for token in IDS if not token.startswith("<")]  # operators and leaves


def write(net, points, longest=30):
    memory, tokens, needed = net.encode(points), [], 1
    while needed and len(tokens) < longest:
        ids = torch.tensor([[IDS[token] for token in (START, *tokens)]])
        logits = net.decode(memory, ids)[0, -1]
        tokens.append(max(SYMBOLS, key=lambda token: float(logits[IDS[token]])))
        needed += ARITY.get(tokens[-1], 0) - 1
    return tuple(tokens)


# %% [markdown]
# We ask for skeletons that are in no training set, and compare our decoder with `Greedy`, which also fits the constant.

# %%
problems = scaling.problems_of("new_skeletons", known, n_problems, seed)
training = scaling.skeleton_set(known)
results = solve_all(problems[:n_live], Greedy(), trained, seed=seed, reference=training)
for result in results:
    points = np.column_stack([result.problem.X, result.problem.y])[None]
    with torch.inference_mode():
        ours = write(net, torch.from_numpy(points).float())
    assert len(ours) == 30 or [ours] == list(result.generated)[:1]

# %% [markdown]
# ## Copied: with constants and without
#
# > If $e \in E^\ast$, we say **s** is a *reproduction* of expressions seen during training. (Appendix: considering constants)
#
# > $E^\ast_{\mathrm{templ}} = \{\mathrm{strip}(e^\ast)\ |\ e^\ast \in E^\ast\}$: the same without constants.
#
# So an answer can be novel because its `C` stands elsewhere, while its structure is old. To *strip* a skeleton, leave out C as a summand or
# factor, and simplify again. (A function of C alone is a constant, too.)

# %%
def arguments_of(prefix):
    ends, begin, found = spans(prefix), 1, []  # ends[i]: where the subtree at i ends
    while begin < len(prefix):
        found.append(prefix[begin : ends[begin]])
        begin = ends[begin]
    return found


def stripped(prefix):
    arguments = [stripped(argument) for argument in arguments_of(prefix)]
    if prefix[0] in ("add", "mul"):
        arguments = [argument for argument in arguments if argument != ("C",)] or [("C",)]
        if len(arguments) == 1:
            return arguments[0]
    return ("C",) if arguments == [("C",)] else (prefix[0], *sum(arguments, ()))


# %% [markdown]
# Two skeletons with the same structure. `bare` of nsr also simplifies what is left, and strips again until nothing changes; on top of
# ours it must give the same as alone.

# %%
one, other = ("mul", "C", "exp", "add", "x1", "x2"), ("exp", "add", "x1", "mul", "C", "x2")
print(to_infix(one), "and", to_infix(other), "both become", to_infix(stripped(other)))
some = sorted(known)[:300]
assert all(bare(stripped(form)) == bare(form) for form in some)
assert not any("C" in stripped(form) for form in some)

# %% [markdown]
# Now the answers: the first that is accurate ($R^2 > 0.99$ on fresh points), the first that is novel and inaccurate, and the first that is
# copied and inaccurate.

# %%
shown = set()
for result in (r for r in results if r.answer):
    answer = result.answer.prefix
    kind = "novel" if training.novelty(answer)["novel_constants"] else "copied"
    name = "accurate" if result.r2 > ACCURATE else f"inaccurate, {kind}"
    if name not in shown:
        print(f"{name}: R² = {result.r2:.2f}")
        print("   truth ", to_infix(result.problem.truth), "\n   answer", to_infix(answer))
    shown.add(name)

# %% [markdown]
# ## The experiment
#
# All networks get the same problems, whose skeletons are not in the *largest* set, hence in none. Some of them have an old structure, which
# it is right to copy; the last line counts them. A second test set has new tables of training skeletons.

# %% tags=["hide-input"]
options = {"scale": scale, "recompute": recompute}
size = {"n_problems": n_problems, "seed": seed}
rows = scaling.size_rows(names, known, **size)
by_size = measured("t4sr_scaling", rows, networks, **options)
moments = snapshot_steps("t4sr_epochs", trained, scale=scale)
rows = scaling.epoch_rows(names[-1], moments, known, **size)
by_epoch = measured("t4sr_epochs", rows, networks, **options)
new = by_size[by_size.test_set == "new_skeletons"]
old = by_size[by_size.test_set == "new_tables"]
top, top_old = (part[part["items"] == part["items"].max()] for part in (new, old))
assert not {*new.truth} & {" ".join(skeleton) for skeleton in known}
print("truths with an old structure:", percent(~top.truth_novel))

# %% tags=["hide-input"]
FLAGS = {"novel_constants": ("with constants", NOVEL, "o"), "novel": ("without constants", GREY, "s")}


def draw_sizes(ax, rows, flag, label, colour, marker):
    part = scaling.shares(rows, "items", [flag])
    ax.errorbar(part["items"], 100 * part.share, whiskers(part), fmt=f"{marker}-", color=colour, capsize=3, label=label)
    ax.set(xscale="log", xlabel="tables in the training set", ylabel="novel answers (%)")
    ax.minorticks_off()
    ax.set_xticks(part["items"], [f"{n:,}" for n in part["items"]])


figure, ax = plt.subplots(figsize=(7, 3.4))
for flag, (label, colour, marker) in FLAGS.items():
    draw_sizes(ax, new, flag, label, colour, marker)
    ax.axhline(scaling.PAPER[flag], color=colour, ls=":", label=f"the paper at 1.5M: below {scaling.PAPER[flag]:.0f} %")
ax.set_ylim(0, None)
ax.set_title(f"At the largest set {top.novel_constants.mean():.0%} are novel with constants, {top.novel.mean():.0%} without")
ax.legend(fontsize=8)
save(figure, "size", alt="Novel answers against the size of the training set, with and without constants: both lines rise and lie far "
     "above the two dotted lines of the paper.")

# %% [markdown]
# Notice the distance to the dotted lines: in the paper less is novel, with far more training. Bars are 95 % Wilson intervals over
# problems; there is one network per size.
#
# ## Novel, or not learned yet?
#
# A network that has not learned its training set also writes what is not in it. The second test set tells the two apart: there the truth
# *is* a training skeleton, so whatever is novel is a mistake.

# %% tags=["hide-input"]
figure, ax = plt.subplots(figsize=(7, 3.2))
draw_sizes(ax, new, "novel_constants", "the truth is new", INK, "o")
draw_sizes(ax, old, "novel_constants", "the truth is known", GREY, "s")
ax.set_ylim(0, None)
ax.set_title(f"Largest set: {top_old.novel_constants.mean():.0%} of the answers to known truths are novel, too")
ax.legend()
save(figure, "mistakes", alt="Novel answers against the size of the training set, for new truths and for known ones. Both lines rise; the "
     "line of known truths is only a little lower.")

# %% [markdown]
# Notice how close the lines are. What they have in common are mistakes. What lies between them is what the network does differently when
# the truth is new:

# %%
for items, part in new.groupby("items"):
    known_ones = old[old["items"] == items]
    beyond = unpaired(part, known_ones, "novel_constants")
    text = "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * x for x in beyond))
    found = percent(known_ones.same_skeleton)
    print(f"{items:>7,} tables: {text} points; known truths found: {found}")

# %% [markdown]
# At the largest set the network finds few of the skeletons that it *was* trained on. Its novelty therefore says little about copying. Move
# through the sizes to see all answers at once.

# %% tags=["hide-input"]
def draw_answers(items):
    figure, ax = plt.subplots(figsize=(7, 2.6))
    for y, (name, rows) in enumerate((("the truth is new", new), ("the truth is known", old))):
        part, left = rows[rows["items"] == items], 0.0
        for label, flags, colour in (("true skeleton", part.same_skeleton, INK),
                                     ("copied, wrong", ~part.novel_constants & ~part.same_skeleton, COPIED),
                                     ("novel, wrong", part.novel_constants & ~part.same_skeleton, NOVEL)):
            ax.barh(y, 100 * flags.mean(), left=left, color=colour, label=label if y == 0 else None)
            left += 100 * flags.mean()
    ax.set_yticks((0, 1), ("the truth is new", "the truth is known"))
    ax.invert_yaxis()
    ax.set(xlabel="answers (%)", xlim=(0, 100))
    ax.set_title(f"{items:,} tables", fontsize=10)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return figure


control(draw_answers, "tables", {f"{n:,}": n for n in new["items"].unique()},
        alt="With {} tables: the shares of true, copied and novel answers, for new truths and for known ones.")

# %% [markdown]
# Notice that most answers are copies at every size. An answer that is undefined at the points counts as copied and wrong.
#
# ## A set small enough to learn
#
# What would a network do that *has* learned its set? We train tiny ones, on 40 skeletons with 4 tables each, for 10 and for 100 epochs,
# and ask both for skeletons that they know and for new ones.

# %%
def answers_of(network, test_set, n=40):
    """Problems of a test set, and what the network answers."""
    some = scaling.problems_of(test_set, network.templates, n, seed)
    found = solve_all(some, Greedy(), network, seed=seed)
    return some, [result.answer and result.answer.prefix for result in found]


def novel_and_found(network):
    """Which answers to new skeletons are novel, and which known skeletons are found."""
    training = scaling.skeleton_set(network.templates)
    _, answers = answers_of(network, "new_skeletons")
    novel = [training.novelty(answer)["novel_constants"] for answer in answers]
    some, answers = answers_of(network, "new_tables")
    return novel, [answer == problem.truth for answer, problem in zip(answers, some)]


# %% [markdown]
# The first time they are trained here, and lines show the loss and one formula with what the network writes for it. Then they are kept.

# %%
for n_epochs in (10, 100):
    novel, found = novel_and_found(tiny_network("t4sr-160", epochs=n_epochs))
    print(f"{n_epochs} epochs: novel {percent(novel)}, known ones found {percent(found)}")

# %% [markdown]
# After 10 epochs many answers are novel, and little is learned. After 100 the network finds most of what it knows, and nearly every answer
# to a new problem is a copy. This is one small network, but it is what the paper reports for a large one. Our largest network, against
# epochs:

# %% tags=["hide-input"]
figure, ax = plt.subplots(figsize=(7, 3))
for flag, (label, colour, marker) in FLAGS.items():
    part = scaling.shares(by_epoch, "epoch", [flag])
    ax.errorbar(part.epoch, 100 * part.share, whiskers(part), fmt=f"{marker}-", color=colour, capsize=2, label=f"novel {label}")
fit = scaling.shares(by_epoch, "epoch", ["accurate"])
ax.plot(fit.epoch, 100 * fit.share, "^--", color=INK, mfc="white", lw=1, label=f"R² > {ACCURATE}")
ax.set(xlabel="epoch", ylabel="answers (%)", xlim=(0, None), ylim=(0, None))
ax.set_title(f"Accuracy: {fit.share.iloc[0]:.0%} at epoch {fit.epoch.iloc[0]:g}, {fit.share.iloc[-1]:.0%} at epoch {fit.epoch.iloc[-1]:g}")
ax.legend(fontsize=8, ncols=3)
save(figure, "epochs", alt="Novel answers with and without constants, and accurate answers, against the epoch of the training. Novelty "
     "stays about level, accuracy rises slowly until the end.")

# %% [markdown]
# Notice that accuracy grows while novelty stays about level: this network has not finished learning. More is in [report A12](appendix/A12_transformer4sr.py):
# answers as functions, a split that leaks, the schedule, and all steps between sizes.
#
# ## Paper, ours, verdict

# %% tags=["hide-input"]
in_points = lambda change: "{:+.1f} points ({:+.1f} to {:+.1f})".format(*(100 * x for x in change))
in_percent = lambda found: "{:.1f} % ({:.1f} to {:.1f})".format(*(100 * x for x in found))
lines = []
for flag, (label, _, _) in FLAGS.items():
    found, limit = wilson(int(top[flag].sum()), len(top)), scaling.PAPER[flag] / 100
    lines.append((f"less than {100 * limit:.0f} % novel {label}", in_percent(found), verdict_on_claim(found, below=limit)))
least = paired(top, new[new["items"] == new["items"].min()], "novel_constants")[0]
lines.append(("small sets copy more", in_points(least) + " from smallest to largest", verdict_on_claim(least, above=0)))
last = paired(top, new[new["items"] == sorted(new["items"].unique())[-2]], "novel_constants")[0]
trend = scaling.saturates(scaling.steps_between(new, "items", "novel_constants"))
lines.append(("the effect of scaling saturates", f"{in_points(last)} in the last step: {trend}", verdict_on_claim(last, below=0.05)))
beyond = unpaired(top, top_old, "novel_constants")
lines.append(("(ours) more is novel where the truth is new", in_points(beyond), verdict_on_claim(beyond, above=0)))
every = [wilson(int(part.novel_constants.sum()), len(part)) for _, part in by_epoch.groupby("epoch")]
lines.append(("copies throughout the training", f"at most {max(e.value for e in every):.0%} novel at any snapshot",
              together(verdict_on_claim(e, below=0.5) for e in every)))
book.record(novel_constants=float(top.novel_constants.mean()), novel=float(top.novel.mean()),
            accurate=float(top.accurate.mean()), known_found=float(top_old.same_skeleton.mean()))
Markdown("| the paper | ours | verdict |\n|---|---|---|\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines))

# %% [markdown]
# *Saturates* is read as less than five points in the last step. All verdicts are about our network, which has not learned its set.
#
# ## Exercises
#
# 1. *Predict.* The training set holds `C*sin(x1)` only. The network answers `sin(C*x1)`. Give four answers in this order: is it novel with
#    constants, is it novel without, is it novel as a function with constants, and as a function without?

# %% tags=["solution"]
answers = [True, False, True, False]  # only the place of C differs, and C inside the sine is another function

# %% tags=["check"]
toy = scaling.skeleton_set([("mul", "C", "sin", "x1")])
senses = toy.novelty(("sin", "mul", "C", "x1"))
assert answers == [senses[sense] for sense in scaling.SENSES], "strip both formulas, and look again"

# %% [markdown]
# 2. *Turn.* Train on only 10 skeletons (`"t4sr-40"` has 40 tables). How many epochs are `enough` to find at least half of them again?

# %% tags=["solution"]
enough = 200

# %% tags=["check"]
assert enough <= 400, "keep it short"
novel, found = novel_and_found(tiny_network("t4sr-40", epochs=enough))
print(f"novel {percent(novel)}, known skeletons found {percent(found)}")
assert np.mean(found) >= 0.5, "not learned yet"

# %% [markdown]
# 3. *Build.* Is novelty a matter of length? Write `by_length(rows, cuts)`: the share of novel answers (with constants) for each class of
#    `truth_length`. Apply it to the new and to the known truths of the largest set.

# %% tags=["solution"]
def by_length(rows, cuts):
    return rows.groupby(pd.cut(rows.truth_length, cuts), observed=True).novel_constants.mean()


# %% tags=["check"]
for name, rows in (("new", top), ("known", top_old)):
    split = by_length(rows, [0, 7, 10, 30])
    print(name, split.map("{:.0%}".format).to_dict())
    for piece, value in split.items():
        inside = rows[(rows.truth_length > piece.left) & (rows.truth_length <= piece.right)]
        assert np.isclose(value, inside.novel_constants.mean()), f"in the class {piece}"

# %% [markdown]
# **What's next.** [Practical benchmarks](13_practice.py): do the strategies help on formulas from physics?
