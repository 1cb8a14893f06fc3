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
# **You will see.** One item on its way from bits to loss; set attention and a training step built by hand; eight formulas learned by
# heart; what the network of this book answers.
#
# **Needs.** [02](02_expressions_and_data.py).
#
# **From the paper.** Section 3.2; Appendix A "Model architecture", "Details for training".
#
# **Runtime.** Tiny: one minute. Laptop: one minute. Paper: one minute, after a day of an A100. On a laptop with 2 cores.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # where random numbers begin
weights: str = "laptop/nesymres"  # the network that is shown; empty: train a tiny one now
n_points: int = 40  # points per item in the small demonstrations
overfit_steps: int = 250  # steps of the live training on eight formulas
n_probes: int = 8  # problems that the network answers at the end

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown

from nsr import book
from nsr.data import TemplateBank, sample_items, training_draws
from nsr.evidence import ACCURATE, GREY, INK, control, draw_fit, network_for, problems_of, save, use_style, wilson
from nsr.formulas import END, SIMPLIFIED, START, template_of, to_infix, variables
from nsr.network import PUBLISHED, Config, Network, Objective, greedy, half_bits, learning_rate, make_optimisers, read_settings
from nsr.search import BeamSearch, r2_fresh, r2_text, solve_all

use_style()
item_rng, overfit_rng = np.random.default_rng(seed).spawn(2)
torch.manual_seed(seed)
bank = TemplateBank(training_draws(500))
ids = SIMPLIFIED.ids

# %% [markdown]
# ## What the network reads
#
# An item is an expression and its points. The network reads the points, with $y$ in the last column, and learns to write the tokens of
# the expression. Each number becomes 16 bits of ±1 (chapter 02), so a point with five variables is a row of $16 \cdot 6 = 96$ inputs.
#
# Departure: the paper draws between 1 and 1000 points for an item. The network of this book was shown exactly 40 each time.

# %%
items = sample_items(bank, item_rng, 4, n_points)
data = np.concatenate([items.X, items.y[..., None]], -1)  # (B, P, D+1)
points = torch.from_numpy(data).float()
bits = half_bits(points).flatten(-2)  # (B, P, 16(D+1))
for i, target in enumerate(items.targets()):
    print(f"{to_infix(target, items.values(i)):40} {' '.join(target)}")
print("points", tuple(points.shape), " bits", tuple(bits.shape))

# %% [markdown]
# The first of these items as the network reads it, one row for each point, sorted by $y$; black is +1.

# %% tags=["hide-input"]
figure, ax = plt.subplots(figsize=(7, 2.6))
ax.imshow(bits[0, points[0, :, -1].argsort()], aspect="auto", cmap="Greys", interpolation="nearest")
ax.set(xticks=[16 * d + 8 for d in range(6)], xlabel="16 bits of each column", ylabel="point")
ax.set_xticklabels(["$x_1$", "$x_2$", "$x_3$", "$x_4$", "$x_5$", "$y$"])
for d in range(1, 6):
    ax.axvline(16 * d - 0.5, color=GREY, linewidth=0.8)
ax.set_title("All that the network is given about one item")
ax.grid(False)
save(figure, "bits", alt="A black and white picture with 40 rows and six blocks of 16 columns. Sign and exponent form broad stripes, the mantissa looks random, blocks of unused variables are white.")

# %% [markdown]
# Sign and exponent, on the left of each block, form broad stripes. The mantissa, on the right, looks random. Variables that do not
# occur are blank.
#
# ## Set attention
#
# Points have no order, so the encoder must not depend on one. *Attention* does not: a query is compared with the key of every point,
# the comparisons become weights that sum to one, and the answer is the weighted mean of the values:
#
# $$\mathrm{attention}(q, K, V) = \mathrm{softmax}\!\left(\tfrac{q K^\top}{\sqrt{d}}\right) V.$$

# %%
def attention(q, k, v):
    """A weighted mean of the values (P, d) for each query (m, d), and its weights."""
    scores = q @ k.mT / q.shape[-1] ** 0.5  # (m, P)
    weights = scores.softmax(-1)
    return weights @ v, weights


# %% [markdown]
# By hand with three points and $d = 2$: the query $(2, 0)$ has the products 2, 0 and 2 with the keys, so the first and the third
# point get equal weights, $e^{2/\sqrt 2} \approx 4.1$ times that of the second.

# %%
keys = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])  # (3, 2)
values = torch.tensor([[10.0], [20.0], [30.0]])  # (3, 1)
mean, looked = attention(torch.tensor([[2.0, 0.0]]), keys, values)
print("weights", [f"{weight:.3f}" for weight in looked[0]], f" mean {float(mean):.2f}")
assert torch.isclose(looked[0, 0] / looked[0, 1], torch.tensor(2 / 2**0.5).exp())

# %% [markdown]
# A *set attention block* of the set transformer (Lee et al., 2019) adds three things. Queries, keys and values are linear functions of
# what comes in. Several attentions, the *heads*, work side by side, each on its own part of the width $h$. And the result is added to
# the query, and so is the output of a small network that acts on every row alone.
#
# Departure: this block normalises before each part (*pre-norm*) and divides by $\sqrt{h/H}$ with $H$ heads. The published one normalises
# after each part and divides by $\sqrt{h}$.


# %%
def set_attention(block, query, source, residual=None):
    """Queries (m, h) look at points (P, h), with the matrices of `block`."""
    def heads(x):
        return x.unflatten(-1, (block.heads, -1)).transpose(-3, -2)  # (…, H, L, h/H)

    k, v = block.source(source).chunk(2, -1)  # (…, P, h) each
    mixed, weights = attention(heads(block.query(query)), heads(k), heads(v))
    mixed = mixed.transpose(-3, -2).flatten(-2)  # (…, m, h)
    out = (query if residual is None else residual) + mixed
    return out + block.feed(block.norm(out)), weights


# %% [markdown]
# If each point looked at each other point, the work would grow with the square of their number. In an *induced* block only $m$ learned
# vectors $I$ look at the points, and the points look back at the summary $Z$:
#
# $$Z = \mathrm{SetAttention}(I, X)$$
#
# $$\mathrm{ISAB}(X) = \mathrm{SetAttention}(X, Z)$$
#
# Here is the first half with the blocks of a fresh network. It is what `nsr` computes, although `nsr` multiplies in another order to
# save time.

# %%
network = Network(Config(vocabulary=len(SIMPLIFIED))).requires_grad_(False)
block = network.blocks[0]
x = block.norm_points(network.embed(bits))  # (B, P, h)
summary, looked = set_attention(block.gather, block.inducing, x)
print("points ", tuple(x.shape))
print("summary", tuple(summary.shape), " weights", tuple(looked.shape))
assert torch.allclose(summary, block.gather(block.inducing, x), atol=1e-4)

# %% [markdown]
# What do the learned vectors of a *trained* network look at? We load the network of this book and take the first problem of `baseline`
# that has one variable. Below its points is a heat map: a row for each of the 16 vectors in each of the 4 heads of the first
# block, a column for each point.

# %%
trained = network_for(weights)
problems = problems_of(trained, "baseline", seed, 40, n_points)
problem = next(p for p in problems if len(variables(p.truth)) == 1)
data = np.concatenate([problem.X, problem.y[:, None]], -1)  # (P, D+1)
data = data[problem.X[:, 0].argsort()]
embed, first = trained.network.embed, trained.network.blocks[0]
with torch.no_grad():
    read = half_bits(embed.weight.new_tensor(data[None])).flatten(-2)
    x = first.norm_points(embed(read))
    _, looked = set_attention(first.gather, first.inducing, x)
looked = np.array(looked[0].flatten(0, 1).tolist())  # (Hm, P)

# %% tags=["hide-input"]
figure, (above, below) = plt.subplots(2, 1, figsize=(7, 4.6), height_ratios=[1, 1.5])
above.plot(data[:, -1], ".", color=INK)
above.set(ylabel="y", xlim=(-0.5, n_points - 0.5), xticklabels=[])
far = np.abs(data[:, -1] - np.median(data[:, -1])).argsort()[-5:]
weight = float(looked[:, far].sum(-1).mean())
above.set_title(f"{to_infix(problem.truth, problem.truth_constants)}: five points get {weight:.0%} of the weight")
image = below.imshow(looked, aspect="auto", cmap="Greys", vmin=0)
below.set(xlabel="points, sorted by $x_1$", ylabel="learned vectors")
below.grid(False)
figure.colorbar(image, ax=below, label="weight", shrink=0.9)
save(figure, "set_attention", alt="Above, the values y of 40 points sorted by x1. Below, a heat map of attention weights, 64 rows of learned vectors against the 40 points.")
print(f"the five points farthest from the median y get {weight:.0%} of the weight; evenly spread, they would get {5 / n_points:.0%}")

# %% [markdown]
# The weight is concentrated: where the function changes fast the columns are dark, and where it is nearly straight they are pale. After
# some induced blocks $S$ learned *seeds* look at the set once and become the *memory*, which is all that the decoder is given. Two
# properties must hold: another order of the points changes nothing, and points that a mask hides do not matter, so that items with
# different numbers of points can share a batch.

# %%
memory = network.encode(points)  # (B, S, h)
shuffled = network.encode(points[:, torch.randperm(n_points)])
padded = torch.cat([points, torch.full((4, 7, 6), 1e4)], dim=1)  # seven points of nonsense
mask = torch.arange(n_points + 7).expand(4, -1) < n_points
print("memory", tuple(memory.shape))
assert torch.allclose(shuffled, memory, atol=1e-4)
assert torch.allclose(network.encode(padded, mask), memory, atol=1e-4)

# %% [markdown]
# ## One training step
#
# The decoder is a standard causal Transformer that also looks at the memory. While it learns it is given the true tokens so far (*teacher
# forcing*) and asked for the next one, at all places at once. The loss is the mean of
#
# $$-\log q_\theta(s^\ast_j \mid \mathbf{s}^\ast_{<j}, \mathcal{D})$$
#
# over the true tokens $s^\ast_j$. A network that knows nothing gives each of the $V$ tokens the same probability, and its loss is
# $\ln V$.

# %%
def token_table(targets):
    """Ids of the tokens between START and END, rows filled up with 0: (B, L+1)."""
    rows = [[ids[START], *SIMPLIFIED.encode(target), ids[END]] for target in targets]
    longest = max(map(len, rows))
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows])


# %% [markdown]
# The network reads the row without its last token, and its $j$-th output is compared with the token after the $j$-th.


# %%
def loss_of(network, points, table):
    read, wanted = table[:, :-1], table[:, 1:]  # (B, L) each
    log_q = network(points, None, read).log_softmax(-1)  # (B, L, V)
    of_truth = log_q.gather(-1, wanted[..., None])[..., 0]  # (B, L)
    return -of_truth[wanted != 0].mean()


# %% [markdown]
# A step of training is: compute the loss, compute its gradient, and move every parameter $\theta$ a little against it,
# $\theta \leftarrow \theta - \eta\,\nabla_\theta L$. Here are six steps on the four items.

# %%
table = token_table(items.targets())
learner = Network(Config(vocabulary=len(SIMPLIFIED), width=64))
summed = Objective(learner)(points, table[:, :-1], table[:, 1:])  # nsr's loss, not divided
assert torch.isclose(loss_of(learner, points, table), summed / (table[:, 1:] != 0).sum())
falling = []
for _ in range(6):
    loss = loss_of(learner, points, table)  # forward
    loss.backward()  # the gradient of every parameter
    with torch.no_grad():
        for parameter in learner.parameters():
            parameter -= 0.02 * parameter.grad  # the update
            parameter.grad = None
    falling.append(round(loss.item(), 3))
print("loss per token", falling, f"  ln {len(SIMPLIFIED)} = {np.log(len(SIMPLIFIED)):.3f}")
assert falling[-1] < falling[0]

# %% [markdown]
# ## Eight formulas by heart
#
# The first thing to try with any network: can it learn a handful of examples by heart? The loop is the same, with a better update.
#
# Departure: the paper uses AdamW. We use *Muon* for the hidden matrices: it makes all singular values of the update of a matrix nearly equal, so
# that every direction learns at the same pace. Everything else is learned with AdamW. The small networks of this page also have no
# biases; the network of the book has them, as published.

# %%
eight = sample_items(bank, overfit_rng, 8, n_points)
seen = np.concatenate([eight.X, eight.y[..., None]], -1)  # (8, P, D+1)
seen = torch.from_numpy(seen).float()
table = token_table(eight.targets())
config = Config(vocabulary=len(SIMPLIFIED), width=64, decoder_layers=2, feedforward=128)
small = Network(config)
optimisers = make_optimisers(small, "muon", lr=2e-3, muon_lr=1e-2)

# %% [markdown]
# Beside the loss we keep the probability that the network gave to every true token.

# %%
losses, given = [], []  # a number and an (8, L) array per step
for _ in book.progress(range(overfit_steps), label="eight formulas"):
    loss = loss_of(small, seen, table)
    loss.backward()
    for optimiser in optimisers:
        optimiser.step()
        optimiser.zero_grad()
    losses.append(loss.item())
    with torch.no_grad():
        q = small(seen, None, table[:, :-1]).softmax(-1)  # (8, L, V)
    q = q.gather(-1, table[:, 1:, None])[..., 0]  # (8, L)
    given.append(q.where(table[:, 1:] != 0, torch.nan).numpy())
print(f"loss per token {losses[0]:.2f} → {losses[-1]:.5f}")
assert losses[-1] < 0.1 * losses[0]

# %% [markdown]
# What is learned first? Move the control through the steps. A row is a formula, a cell one of its tokens; the darker, the more
# probable after the true tokens before it.

# %% tags=["hide-input"]
def beliefs(step):
    figure, (above, below) = plt.subplots(2, 1, figsize=(7, 4.6), height_ratios=[1, 2.4])
    above.semilogy(losses, color=GREY)
    above.plot(step, losses[step], "o", color=INK)
    above.set(ylabel="loss per token", title=f"step {step}: loss {losses[step]:.2g}")
    below.imshow(given[step], cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for i, target in enumerate(eight.targets()):
        for j, token in enumerate([*target, "end"]):
            below.text(j, i, token, ha="center", va="center", fontsize=8, color="white" if given[step][i, j] > 0.6 else INK)
    below.set(xticks=[], yticks=[])
    below.grid(False)
    return figure


steps = sorted({round(share * (overfit_steps - 1)) for share in (0, 0.01, 0.02, 0.04, 0.06, 0.08, 0.11, 0.15, 0.2, 0.3, 0.5, 1)})
control(beliefs, "step", steps, alt="Step {}: above, the loss over the steps with a dot at this one; below, eight rows of tokens, darker where the network gave the true token more probability.")

# %% [markdown]
# What is frequent is learned first: sums, variables, the end. Which function it is has to be read off the points, and is learned last.
# Now the network writes on its own: the most probable token, again and again, from the points alone.


# %%
def write(network, points, longest=30):
    """The most probable formula, token by token, for the points (1, P, D+1) of one item."""
    row = [ids[START]]
    while row[-1] != ids[END] and len(row) <= longest:
        logits = network(points, None, torch.tensor([row]))  # (1, L, V)
        row.append(int(logits[0, -1].argmax()))
    return SIMPLIFIED.decode(row)


small.eval().requires_grad_(False)
written = [write(small, seen[i : i + 1]) for i in range(8)]
assert written == [greedy(small, SIMPLIFIED, seen[i : i + 1]) for i in range(8)]
print(sum(a == b for a, b in zip(written, eight.targets())), "of 8 formulas are written as they are")

# %% [markdown]
# Learning by heart is easy. Chapter [04](04_reproduction_bias.py) asks whether the large network does anything else.
#
# ## The network of this book
#
# Now the same at length. The templates are fixed; constants, supports and points are drawn anew for every item, so the network never
# sees the same data twice.
#
# Departure: the learning rate is constant and falls to zero over the last three tenths of the steps (WSD: warm-up, stable, decay). The paper's
# is constant for 4000 steps and then falls with the inverse square root of the step.
#
# Departure: the large products of training are computed in bfloat16, with 7 bits of mantissa; the weights are kept in float32.

# %%
history, settings = pd.DataFrame(trained.history), trained.settings
parameters = sum(p.numel() for p in trained.network.parameters())
items_shown, hours = int(history.samples.iloc[-1]), history.seconds.iloc[-1] / 3600
print(f"{trained.name}: {parameters:,} parameters, {items_shown:,} items in {hours:.2f} hours")
often = items_shown / len(trained.templates)
print(f"{len(trained.templates):,} templates, each shown {often:,.0f} times on average")
book.record(parameters=parameters, final_loss=history.loss.iloc[-1])

# %% [markdown]
# The loss while it learned:

# %% tags=["hide-input"]
figure, ax = plt.subplots(figsize=(7, 3))
smooth = history.loss.rolling(max(1, len(history) // 60), min_periods=1).mean()
ax.plot(history.samples / 1e6, smooth, color=INK)
falls = history.samples[history.lr < 0.999 * history.lr.max()]
falls = falls[falls > history.samples[history.lr.idxmax()]].min() / 1e6
ax.axvline(falls, color=GREY, linestyle=":", label="the learning rate begins to fall")
ax.set(xlabel="items shown (millions)", ylabel="loss per token (nats)", ylim=(0.9 * smooth.min(), max(1.5, smooth.median())))
ax.set_title(f"{trained.name}: {history.loss.iloc[0]:.2f} → {smooth.iloc[-1]:.2f} nats per token")
ax.legend()
save(figure, "history", alt="Loss per token against millions of items shown. It falls fast, then slowly, and once more after the dotted line at which the learning rate begins to fall.")
assert smooth.iloc[-1] < history.loss.iloc[0]

# %% [markdown]
# The loss falls fast, then slowly, and once more when the learning rate goes to zero. It cannot reach zero, because which constants are
# present often cannot be seen in the points.
#
# ## What it answers
#
# The most probable formula is often wrong in one token. So one lets the network write several, fits their constants, and keeps the one
# with the largest $R^2$ on the given points; chapter [05](05_beam_search.py) builds this *beam search*. These are the first problems of
# `baseline`, the best of five formulas, its $R^2$ on fresh points, and whether its template is in the training set.

# %%
probes = problems_of(trained, "baseline", seed, n_probes)
results, rows = solve_all(probes, BeamSearch(5), trained), []
for problem, result in zip(probes, results):
    best = result.answer  # None if no formula was valid
    score = r2_fresh(problem, best) if best else -np.inf
    text = to_infix(best.prefix, best.constants, digits=3) if best else "nothing"
    known = bool(best) and template_of(best.prefix) in trained.templates
    rows.append((to_infix(problem.truth, problem.truth_constants, digits=3), text, score, known))
answers = pd.DataFrame(rows, columns=["behind the points", "best of 5", "R²", "known template"])
answers.assign(**{"R²": answers["R²"].map(r2_text)})

# %% [markdown]
# The first of them that is right ($R^2 > 0.99$) and the first that is wrong, on fresh points; a perfect answer lies on the line.

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7, 3.2))
for ax, name, right in zip(axes, ("right", "wrong"), (True, False)):
    found = [r for r, score in zip(results, answers["R²"]) if r.answer and (score > ACCURATE) == right]
    ax.set_title(f"the first that is {name}" if found else f"none is {name}", fontsize=9)
    if found:
        draw_fit(ax, found[0].problem, found[0].answer, colour=INK)
save(figure, "answers", alt="Two panels, truth against answer on fresh points. In the first all dots lie on the line, in the second they do not.")

# %% [markdown]
# What makes a network worth studying was set before training: with a beam of five, an accurate answer to at least 40 % of the problems
# of `baseline`. Chapter 05 measured it.

# %%
path = book.REFERENCE / "laptop" / "results" / "beam.csv.gz"
if weights and path.exists():
    measured = book.read_table(path).query("test_set == 'baseline' and beam_size == 5")
    share, low, high = wilson(int((measured.r2 > ACCURATE).sum()), len(measured))
    print(f"{share:.0%} of {len(measured)} problems (95 %: {low:.0%} to {high:.0%})")
    assert low > 0.40

# %% [markdown]
# ## Paper, ours, verdict
#
# > We set $b=200$, $h=512$, and $s=32$ for our experiments. (Appendix A)
#
# The paper's network is the same class with other numbers. The report [A03](appendix/A03_training.py) has its commands, what each size
# costs, and the trials behind the recipe.
#
# Slip: the text says five set blocks, the published code has six.

# %% tags=["hide-input"]
published = sum(p.numel() for p in Network(Config(vocabulary=90, **PUBLISHED)).parameters())
paper = read_settings("nesymres", "paper").flat()
paper_items = paper["steps"] * paper["batch"]
rows = [
    ("parameters", f"{published:,}", f"{parameters:,}"),
    ("draws of templates", f"{paper['draws']:,}", f"{settings['draws']:,}"),
    ("items per draw", f"{paper_items // paper['draws']:,}", f"{items_shown // settings['draws']:,}"),
    ("points per item", "1 to 1000", " to ".join(dict.fromkeys(str(settings[f"points_{end}"]) for end in ("min", "max")))),
    ("optimiser", "AdamW, inverse square root", f"{settings['optimiser']}, {settings['schedule']}"),
    ("time", "24 h of an A100", f"{hours:.1f} h of this CPU"),
]
lines = "\n".join(f"| {name} | {a} | {b} | {'same' if a == b else 'different'} |" for name, a, b in rows)
Markdown("| | the paper | this network | verdict |\n|---|---|---|---|\n" + lines)

# %% [markdown]
# Compare the items per draw: that is how often a template was seen. Whether the small network behaves like the large one cannot be
# known before the large one is trained here.
#
# ## Exercises
#
# 1. *Predict.* The paper's learning rate is constant for 4000 steps and then falls with the inverse square root of the step. What factor
#    is left of it at the end, after 500,000 steps?

# %% tags=["solution"]
factor = (4000 / 500_000) ** 0.5

# %% tags=["check"]
last = learning_rate(499_999, "inverse_sqrt", 500_000, constant=4000)
assert np.isclose(factor, last), "the rate at step t is √(4000 / t) of the first"

# %% [markdown]
# 2. *Turn.* An induced block compares twice: the learned vectors with the points, and the points with the learned vectors. Comparing every
#    point with every point needs how many times as many comparisons? Give the `ratio` for 100 points and 16 vectors. Then try other
#    numbers: from how many points on does the block save work?

# %% tags=["solution"]
ratio = 100 * 100 / (2 * 16 * 100)  # P² scores instead of m·P there and P·m back

# %% tags=["check"]
assert np.isclose(ratio, 100**2 / (2 * 16 * 100)), "an induced block has two attentions, from the learned vectors and back"

# %% [markdown]
# 3. *Build.* Write `induced(block, x)`, the whole induced block, with `set_attention`. The learned vectors (`block.inducing`) look at the
#    points after `block.norm_points`, as above, with `block.gather`. Then these normalised points look at the summary after
#    `block.norm_inducing`, with `block.spread`, and the result is added to $x$ itself (`residual=x`).

# %% tags=["solution"]
def induced(block, x):
    normed = block.norm_points(x)
    summary, _ = set_attention(block.gather, block.inducing, normed)
    return set_attention(block.spread, normed, block.norm_inducing(summary), residual=x)[0]


# %% tags=["check"]
embedded = network.embed(bits)
for one in network.blocks:
    assert torch.allclose(induced(one, embedded), one(embedded, None), atol=1e-4), "two attentions, each with its norm"

# %% [markdown]
# **What's next.** [Reproduction bias](04_reproduction_bias.py): what does this network write when the truth is new?
