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
# # A small network learns to write formulas on two cores
#
# **Claim.** A set encoder and a decoder of a million parameters, trained for under two hours on a laptop, write formulas from points
# well enough to study how they do it.
#
# **You will see.** One item on its way from bits to loss, every block with its shapes, eight formulas learned by heart, the history
# of the network that the rest of the book studies, what it costs.
#
# **Needs.** [02](02_expressions_and_data.py).
#
# **From the paper.** Section 3.2; Appendix A "Model architecture", "Details for training".
#
# **Runtime.** Tiny: one minute. Laptop: one minute. Paper: one minute, after a day of an A100. On a laptop with 2 cores.

# %% [markdown]
# The network that is shown further down is named here; with an empty name a tiny one is trained on the spot.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # where random numbers begin
weights: str = "laptop/nesymres"  # the network that is shown; empty: train a tiny one now
n_points: int = 40  # points per item in the small demonstrations
overfit_steps: int = 250  # steps of the live training on eight formulas
n_probes: int = 6  # items decoded at the end

# %% [markdown]
# Everything comes from the module; what is taught here is rebuilt from its parts below, and asserts hold the two together.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from IPython.display import Markdown

from nsr import book
from nsr.data import TemplateBank, sample_items, training_draws
from nsr.evidence import BLUE, GREEN, GREY, INK, ORANGE, RED, network_for, save, use_style, wilson
from nsr.formulas import END, SIMPLIFIED, START, to_infix
from nsr.network import (
    PUBLISHED, Config, Network, greedy, half_bits, learning_rate, make_optimisers, read_settings,
)

use_style()
item_rng, overfit_rng, probe_rng = np.random.default_rng(seed).spawn(3)
torch.manual_seed(seed)
bank = TemplateBank(training_draws(500))

# %% [markdown]
# ## One item
#
# An item is an expression and its points. The network reads the points, $y$ in the last column, and learns to write the
# expression's tokens.

# %%
items = sample_items(bank, item_rng, 4, n_points)
data = np.concatenate([items.X, items.y[..., None]], -1)  # (B, P, D+1)
points = torch.from_numpy(data).float()
for i, target in enumerate(items.targets()):
    print(f"{to_infix(target, items.values(i)):40} {' '.join(target)}")
print("points", tuple(points.shape))

# %% [markdown]
# Each number becomes 16 bits of ±1 (chapter 02), so a point with five variables is a row of $16 \cdot 6 = 96$ inputs. Here is one
# item as the network sees it, points sorted by $y$.

# %%
bits = half_bits(points).flatten(-2)  # (B, P, 16(D+1))
order = points[0, :, -1].argsort()
figure, ax = plt.subplots(figsize=(7.4, 2.6))
ax.imshow(bits[0, order], aspect="auto", cmap="Greys", interpolation="nearest")
ax.set(xticks=[16 * d + 8 for d in range(6)], xlabel="16 bits of each column", ylabel="point")
ax.set_xticklabels(["$x_1$", "$x_2$", "$x_3$", "$x_4$", "$x_5$", "$y$"])
for d in range(1, 6):
    ax.axvline(16 * d - 0.5, color=RED, linewidth=0.8)
ax.set_title("What the network reads: black is +1; unused variables are blank")
ax.grid(False)
save(figure, "bits")
plt.show()
assert bits.shape == (4, n_points, 96)

# %% [markdown]
# The sign and exponent (left of each block) form broad stripes, the mantissa (right) looks like noise. All that the network will ever
# know about the data is in this picture.

# %% [markdown]
# ## The encoder: a set becomes a few vectors
#
# Points have no order, so the encoder may not care about it. Attention does not: a query looks at all points and takes a weighted
# mean. But each point looking at each costs $P^2$. The *induced set attention block* lets $m$ learned vectors $I$ look at the points,
# and the points look at those:
#
# $$\mathrm{ISAB}(X) = \mathrm{MAB}(X, H), \qquad H = \mathrm{MAB}(I, X),$$
#
# where MAB is attention followed by a network that acts on every row alone:
#
# $$\mathrm{MAB}(Q, Y) = Q' + \mathrm{rFF}(Q'),\qquad Q' = Q + \mathrm{softmax}\!\left(\tfrac{Q Y^\top}{\sqrt{d}}\right) Y.$$
#
# At the end $S$ learned seeds look at the set once and become the *memory*. Block by block, with shapes:

# %%
config = Config(vocabulary=len(SIMPLIFIED))
network = Network(config).eval().requires_grad_(False)
with torch.no_grad():
    x = network.embed(bits)  # (B, P, h)
    print("embedded ", tuple(x.shape))
    for block in network.blocks:
        print("inducing ", tuple(block.inducing.shape))
        x = block(x, None)  # (B, P, h)
        print("block    ", tuple(x.shape))
    memory = network.pool(x, None)  # (B, S, h)
    print("memory   ", tuple(memory.shape))
    assert torch.allclose(memory, network.encode(points), atol=1e-5)

# %% [markdown]
# Two properties that must hold: shuffling the points changes nothing, and points hidden by the mask do not matter. Then items with
# different numbers of points can share a batch.

# %%
with torch.no_grad():
    shuffled = network.encode(points[:, torch.randperm(n_points)])
    padded = torch.cat([points, torch.full((4, 7, 6), 1e4)], dim=1)  # seven points of nonsense
    mask = torch.arange(n_points + 7).expand(4, -1) < n_points
    masked = network.encode(padded, mask)
print("largest change by shuffling", float((shuffled - memory).abs().max()))
print("largest change by padding  ", float((masked - memory).abs().max()))
assert torch.allclose(shuffled, memory, atol=1e-4) and torch.allclose(masked, memory, atol=1e-4)

# %% [markdown]
# ## The decoder and the loss
#
# The decoder is a standard causal Transformer that also looks at the memory. While learning it is given the true beginning (*teacher
# forcing*) and asked for the next token, at all positions at once:
#
# $$L_{\mathrm{tok}}(e^\ast; \theta) = -\sum_{j=1}^{L} \log q_\theta(s^\ast_j \mid \mathbf{s}^\ast_{<j}, \mathcal{D})$$

# %%
ids = SIMPLIFIED.ids
rows = [[ids[START], *SIMPLIFIED.encode(target), ids[END]] for target in items.targets()]
longest = max(map(len, rows))
table = torch.tensor([row + [0] * (longest - len(row)) for row in rows])  # (B, L+1), 0 is padding
tokens, targets = table[:, :-1], table[:, 1:]  # what is read, what is to be written
with torch.no_grad():
    logits = network(points, None, tokens)  # (B, L, V)
loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)
print("logits", tuple(logits.shape), " loss per token", round(float(loss), 3))

# %% [markdown]
# A newborn network knows nothing, so its loss should be near $\ln V$, that of a uniform guess over the vocabulary. A much larger
# value would be a bug in the initialisation.

# %%
uniform = np.log(len(SIMPLIFIED))
print(f"ln {len(SIMPLIFIED)} = {uniform:.3f}")
assert abs(float(loss) - uniform) < 1.0

# %% [markdown]
# ## Writing: one token at a time, with a memory of the past
#
# When the network writes, nothing it has already read changes, so keys and values of past tokens are kept (the *key-value cache*) and
# each step computes one token only. It must give the same logits as reading everything anew.

# %%
with torch.no_grad():
    step_logits, state = network.prefill(network.encode(points), tokens[:, :1])  # (B, V)
    steps = [step_logits]
    for j in range(1, tokens.shape[1]):
        step_logits, state = network.step(tokens[:, j], state)
        steps.append(step_logits)
incremental = torch.stack(steps, dim=1)  # (B, L, V)
real = targets != 0
print("largest difference", float((incremental - logits)[real].abs().max()))
assert torch.allclose(incremental[real], logits[real], atol=1e-4)

# %% [markdown]
# ## Eight formulas by heart
#
# The first thing to try with any network: can it memorise a handful of examples? Eight items, a small network, full batch. Hidden
# matrices are trained with *Muon* (momentum whose singular values are all made equal, so that every direction learns at the same
# pace), everything else with AdamW.

# %%
eight = sample_items(bank, overfit_rng, 8, n_points)
seen = torch.from_numpy(np.concatenate([eight.X, eight.y[..., None]], -1)).float()  # (8, P, D+1)
rows = [[ids[START], *SIMPLIFIED.encode(target), ids[END]] for target in eight.targets()]
longest = max(map(len, rows))
table = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
small = Network(Config(vocabulary=len(SIMPLIFIED), width=64, heads=4, decoder_layers=2, feedforward=128))
optimisers = make_optimisers(small, "muon", lr=2e-3, muon_lr=1e-2)

# %% [markdown]
# The loop is the whole of training in ten lines: loss, gradient, step. Beside the loss we keep what the network believed: the probability
# that it gave to every true token.

# %%
losses, believed = [], []  # a number and an (8, L) array per step
for _ in book.progress(range(overfit_steps), label="eight formulas"):
    logits = small(seen, None, table[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), table[:, 1:].flatten(), ignore_index=0)
    loss.backward()
    for optimiser in optimisers:
        optimiser.step()
        optimiser.zero_grad()
    losses.append(float(loss.detach()))
    of_truth = logits.detach().softmax(-1).gather(-1, table[:, 1:, None])[..., 0]  # (8, L)
    believed.append(of_truth.where(table[:, 1:] != 0, torch.nan).numpy())
print(f"loss per token {losses[0]:.2f} → {losses[-1]:.5f}")

# %% [markdown]
# Then write each formula greedily, from its points alone.

# %%
small.eval()
written = [greedy(small, SIMPLIFIED, seen[i : i + 1]) for i in range(8)]
for target, answer in zip(eight.targets(), written):
    print(f"{to_infix(target):36} {'✓' if answer == target else '✗'}")
learned = sum(answer == target for answer, target in zip(written, eight.targets()))
assert learned >= 7 and losses[-1] < 0.1 * losses[0]

# %% [markdown]
# What is learned first? A row is a formula, a cell one of its tokens; the darker, the more probable after all true tokens before it.


# %%
def draw_beliefs(ax, step):
    """The probability of every token of the eight formulas, before this step of training."""
    ax.imshow(believed[step], cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for i, target in enumerate(eight.targets()):
        for j, token in enumerate([*target, "end"]):
            colour = "white" if believed[step][i, j] > 0.6 else INK
            ax.text(j, i, token, ha="center", va="center", fontsize=8, color=colour)
    ax.set(xticks=[], yticks=[], title=f"step {step}: loss {losses[step]:.2g}")
    ax.grid(False)


figure, axes = plt.subplots(3, 1, figsize=(7, 7))
for ax, step in zip(axes, (0, overfit_steps // 20, overfit_steps // 8)):
    draw_beliefs(ax, step)
save(figure, "beliefs")
plt.show()

# %% [markdown]
# What is frequent comes first: sums, variables, the end. Which function it is has to be read off the points, and comes last. For a person
# there is a slider through the steps.

# %%
if not book.headless():
    from ipywidgets import IntSlider, interact

    @interact(step=IntSlider(0, 0, overfit_steps - 1, description="step"))
    def watch(step):
        above, below = plt.subplots(2, 1, figsize=(7, 5), height_ratios=[2, 3])[1]
        above.semilogy(losses, color=BLUE)
        above.plot(step, losses[step], "o", color=RED)
        above.set(xlabel="step", ylabel="loss per token")
        draw_beliefs(below, step)
        plt.show()

# %% [markdown]
# Memorising is easy. That is the good news and, for this book, the bad news: chapter [04](04_reproduction_bias.py) asks whether the
# large network does anything else.

# %% [markdown]
# ## The network of this book
#
# Now the same thing at length: templates are fixed, constants, supports and points are drawn anew for every item, so the network never
# sees the same data twice. This is the recipe, read from `params/training/`.

# %%
trained = network_for(weights)
if weights:
    book.uses(trained.folder / "about.json")
about, settings = trained.about, trained.settings
parameters = sum(p.numel() for p in trained.network.parameters())
keys = ["draws", "min_operators", "max_operators", "points_max", "width", "encoder_blocks"]
keys += ["decoder_layers", "batch", "steps", "optimiser", "muon_lr", "schedule"]
book.record(parameters=parameters, final_loss=trained.history[-1]["loss"])
pd.Series({"parameters": parameters, **{key: settings[key] for key in keys}}, name=trained.name).to_frame()

# %% [markdown]
# Its history: loss per token against items shown, with the learning rate below. The log also knows which target sequences were really
# shown, and how often: the true oracle for "copied".

# %%
history = pd.DataFrame(trained.history)
figure, (ax, below) = plt.subplots(2, 1, figsize=(7, 4), sharex=True, height_ratios=[3, 1])
ax.plot(history.samples / 1e6, history.loss, color=GREY, linewidth=0.6, alpha=0.6)
smooth = history.loss.rolling(max(1, len(history) // 60), min_periods=1).mean()
ax.plot(history.samples / 1e6, smooth, color=BLUE)
ax.set(ylabel="loss per token", ylim=(0.9 * history.loss.min(), min(2.0, history.loss.max())))
ax.set_title(f"{trained.name}: {history.loss.iloc[0]:.2f} → {smooth.iloc[-1]:.2f} nats per token")
below.plot(history.samples / 1e6, history.lr, color=ORANGE)
below.set(xlabel="items shown (millions)", ylabel="rate (relative)")
save(figure, "history")
plt.show()
assert smooth.iloc[-1] < history.loss.iloc[0]

# %% [markdown]
# The loss falls fast, then slowly, and once more when the learning rate goes to zero. It cannot reach zero: which constants are present,
# and in which of several equivalent places, is often not to be seen in the points.

# %%
minutes, items_shown = history.seconds.iloc[-1] / 60, history.samples.iloc[-1]
print(f"{items_shown:,} items in {minutes:.1f} minutes, {items_shown / minutes / 60:.0f} per second")
print(f"{len(trained.templates):,} templates, {len(trained.seen):,} different targets shown")
print(f"each template was shown {items_shown / len(trained.templates):,.0f} times on average")
record = about["birth"]
commit = f"commit {record['commit'][:10]}" if record["commit"] else "no commit"
print(f"made {record['date'][:10]}, {commit}, on {record['cores']} cores")
print(record.get("note", ""))

# %% [markdown]
# A few fresh items from its own training templates: what was behind the points, and what it writes when it simply takes the most
# likely token each time.

# %%
own = TemplateBank(sorted(trained.templates), trained.vocabulary)
probes = sample_items(own, probe_rng, n_probes, n_points)
rows = []
for i, target in enumerate(probes.targets()):
    data = np.concatenate([probes.X[i], probes.y[i][:, None]], -1)[None]  # (1, P, D+1)
    answer = greedy(trained.network, trained.vocabulary, torch.from_numpy(data).float())
    readable = to_infix(answer) if answer in trained.seen else " ".join(answer)
    rows.append((to_infix(target), readable, answer == target, trained.seen.count(answer)))
columns = ["behind the points", "greedy answer", "same tokens", "times shown in training"]
pd.DataFrame(rows, columns=columns)

# %% [markdown]
# A first guess need not have the same tokens as the truth, and what fits the points need not either: chapter 04 fits and judges. The last
# column is the number of times exactly this answer was a training target. Keep it in mind.

# %% [markdown]
# ## Worth studying?
#
# A network that cannot do its task teaches nothing about how it does it. The bar that was set before training: with a beam of five, an
# accurate answer ($R^2 > 0.99$ on fresh points) to at least 40 % of the problems of `baseline`. Chapter [05](05_beam_search.py) made
# the table that is read here.

# %%
bar, table_path = 0.40, book.REFERENCE / "laptop" / "results" / "beam.csv.gz"
if weights and table_path.exists():
    table = book.read_table(table_path)
    rows = table[(table.test_set == "baseline") & (table.beam_size == 5)]
    accurate = int((rows.r2 > 0.99).sum())
    low, high = wilson(accurate, len(rows))[-2:]
    print(f"{accurate} of {len(rows)}: {accurate / len(rows):.0%} (95 %: {low:.0%} to {high:.0%})")
    book.record(baseline_beam_5=accurate / len(rows))
    assert low > bar

# %% [markdown]
# ## What was tried
#
# The recipe was found by short trials on two shared cores, one seed each; the bar was learning per minute, never how novel the answers
# are. The table is read from the reference results with its record.

# %%
trials_path = book.REFERENCE / "laptop" / "results" / "training_trials.csv"
if trials_path.exists():
    trials = book.read_table(trials_path)
    last = trials.sort_values("step").groupby("trial").tail(1).set_index("trial")
    print(last[["muon_lr", "batch", "samples", "loss", "seconds"]].round(3).to_string())

# %% [markdown]
# Within a factor of ten the learning rate hardly matters to Muon; a batch half as large learns more per item and about the same per
# minute.

# %% [markdown]
# ## What it costs
#
# Three things grow: the points (linearly, thanks to the inducing points), the width (a little less than quadratically while it is
# small), the beams (linearly, but the first is the dearest). Measured here and now, relative to the first column.


# %%
def seconds(work, repeat=10):
    """The best of a few runs, in seconds."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        with torch.no_grad():
            work()
        best = min(best, time.perf_counter() - start)
    return best


def encode_time(n):
    data = torch.randn(8, n, 6)
    return seconds(lambda: network.encode(data))


def width_time(width):
    wide = Network(Config(vocabulary=len(SIMPLIFIED), width=width))
    data = torch.randn(8, 40, 6)
    return seconds(lambda: wide(data, None, tokens[:1].expand(8, -1)))


def beam_time(beams):
    first, problem = torch.full((beams, 1), ids[START]), torch.zeros(beams, dtype=torch.long)
    _, state = network.prefill(memory[:1], first, problem=problem)
    return seconds(lambda: network.step(first[:, 0], state))


# %% [markdown]
# One panel per quantity; the dotted line is "twice as much costs twice as much".

# %%
sweeps = {
    "points": (encode_time, [50, 100, 200, 400, 800]),
    "width": (width_time, [64, 128, 256, 512]),
    "beams": (beam_time, [1, 5, 50, 150]),
}
figure, axes = plt.subplots(1, 3, figsize=(7.8, 2.7))
for ax, (name, (work, sizes)), colour in zip(axes, sweeps.items(), (BLUE, GREEN, ORANGE)):
    times = [work(n) for n in sizes]
    ax.loglog(sizes, [t / times[0] for t in times], "o-", color=colour)
    ax.loglog(sizes, [n / sizes[0] for n in sizes], ":", color=GREY)
    ax.set(xlabel=name, title=name.capitalize(), xticks=sizes)
    ax.set_xticklabels(sizes)
    ax.minorticks_off()
axes[0].set_ylabel("time, relative to the first")
save(figure, "cost")
plt.show()

# %% [markdown]
# Below the dotted line there is something to gain from doing more at once: 150 beams cost far less than 150 times one.

# %% [markdown]
# ## The paper's size
#
# > We set $b=200$, $h=512$, and $s=32$ for our experiments. (Appendix A)
#
# The same class, other numbers. The published code has six set blocks, not the five of the text.

# %%
published = Network(Config(vocabulary=90, **PUBLISHED))
size = sum(p.numel() for p in published.parameters())
print(f"{size:,} parameters, {size / parameters:.0f} times this network")
assert 26e6 < size < 27e6

# %% [markdown]
# To train it, on one GPU and on eight (the paper: about 24 hours of one A100 for 1000 epochs of 100K):
#
# ```
# python -m nsr train nesymres --scale paper
# torchrun --nproc-per-node 8 -m nsr train nesymres --scale paper
# ```
#
# Any key of `params/training/paper/nesymres.yaml` can be changed with `-p key value`. A run that was killed goes on where it stopped when
# the same command is given again, and with the same numbers: batch $i$ depends on the seed and on $i$ alone.
#
# ## Paper, ours, verdict

# %%
paper = read_settings("nesymres", "paper").flat()
paper_items = paper["steps"] * paper["batch"]
rows = [
    ("parameters", f"{size:,}", f"{parameters:,}"),
    ("draws of templates", f"{paper['draws']:,}", f"{settings['draws']:,}"),
    ("items shown", f"{paper_items:,}", f"{items_shown:,}"),
    ("items per draw", f"{paper_items // paper['draws']:,}", f"{items_shown // settings['draws']:,}"),
    ("time", "24 h of an A100", f"{minutes / 60:.2f} h of this CPU"),
    ("optimiser", "AdamW, inverse square root", f"{settings['optimiser']}, {settings['schedule']}"),
]
table = "\n".join(f"| {name} | {theirs} | {ours} |" for name, theirs, ours in rows)
Markdown("| | the paper | this network |\n|---|---|---|\n" + table)

# %% [markdown]
# What decides whether a template is learned by heart is how often it is seen: compare the rows "items per draw". Whether the small
# network behaves like the large one is the question of every chapter from here on.

# %% [markdown]
# ## Exercises
#
# 1. *Predict.* The paper's schedule keeps the rate for 4000 steps and then lets it fall with the inverse square root. By which factor
#    has it fallen at the end, after 500,000 steps?

# %% tags=["solution"]
factor = (4000 / 500_000) ** 0.5

# %% tags=["check"]
last = learning_rate(499_999, "inverse_sqrt", 500_000, constant=4000)
assert np.isclose(factor, last), "the rate at step t is √(4000 / t) of the first"

# %% [markdown]
# 2. *Turn.* An ISAB block compares twice: the inducing points with the points, and the points with the inducing points. How many times
#    fewer comparisons is that than every point with every point? Give the `ratio` for 100 points and 16 inducing points; then try others:
#    from how many points on does the block pay?

# %% tags=["solution"]
ratio = 100 * 100 / (2 * 16 * 100)  # P² scores instead of I·P there and P·I back

# %% tags=["check"]
assert np.isclose(ratio, 100**2 / (2 * 16 * 100)), "an ISAB block has two attentions, from the inducing points and back to the points"

# %% [markdown]
# 3. *Build.* Without its positions the decoder would not know the order of what it has read. Write `order_matters(a, b)`: whether the
#    next-token logits after two beginnings differ. (`network.decode(memory[:1], row)` gives logits for all places of a `(1, L)` tensor of
#    ids that begins with `ids[START]`.)

# %% tags=["solution"]
def order_matters(a: list[str], b: list[str]) -> bool:
    with torch.no_grad():
        rows = [torch.tensor([[ids[START], *(ids[token] for token in tokens)]]) for tokens in (a, b)]
        here, there = (network.decode(memory[:1], row)[:, -1] for row in rows)
    return not torch.allclose(here, there, atol=1e-4)


# %% tags=["check"]
assert order_matters(["add", "x1", "sin"], ["x1", "add", "sin"]), "the same tokens in another order"
assert not order_matters(["add", "x1"], ["add", "x1"]), "the same tokens in the same order"

# %% [markdown]
# **What's next.** [Reproduction bias](04_reproduction_bias.py): what does this network write when the truth is new?
