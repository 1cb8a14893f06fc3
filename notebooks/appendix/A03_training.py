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
# # A03 · Training: the trials behind the recipe, what a network costs, and the paper's size
#
# **Question.** How was the recipe of [chapter 03](../03_training.py) found, and how does the work grow with points, width and beams?
#
# **Runtime.** Half a minute, on a laptop with 2 cores.
#
# **Knobs.** `repeat`: how often each time is measured; the best counts.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
seed: int = 0  # of the weights of the networks that are timed
repeat: int = 10  # how often each time is measured

# %% tags=["hide-input"]
import time

import matplotlib.pyplot as plt
import numpy as np
import torch

from nsr import book
from nsr.evidence import GREY, INK, save, use_style
from nsr.formulas import SIMPLIFIED, START
from nsr.network import PUBLISHED, Config, Network

use_style()
_ = torch.manual_seed(seed)

# %% [markdown]
# ## What was tried
#
# Short trials of the recipe, one seed each, on two shared cores. They were judged by the loss for each minute, never by how novel the
# answers are. They were run before the templates of `not_included_matched` were held out.

# %%
trials = book.read_table(book.REFERENCE / "laptop" / "results" / "training_trials.csv")
last = trials.sort_values("step").groupby("trial").tail(1).set_index("trial")
last[["muon_lr", "batch", "samples", "loss", "seconds"]].round(3)

# %% [markdown]
# The learning rates differ by a factor of ten, the losses of trials a to c by less than 0.02 nats. With one seed each, that difference is
# not decided. The batch of half the size (d) was shown half the items in about half the time.
#
# ## A step with a cache
#
# When the network writes, what it has read does not change. So keys and values of past tokens are kept (the *key-value cache*), and a
# step computes one token only. It must give the same logits as reading everything anew.

# %%
network = Network(Config(vocabulary=len(SIMPLIFIED))).eval().requires_grad_(False)
points, tokens = torch.randn(4, 40, 6), torch.randint(5, len(SIMPLIFIED), (4, 9))
tokens[:, 0] = SIMPLIFIED.ids[START]
memory = network.encode(points)
logits, state = network.prefill(memory, tokens[:, :1])  # (B, V)
steps = [logits]
for j in range(1, tokens.shape[1]):
    logits, state = network.step(tokens[:, j], state)
    steps.append(logits)
assert torch.allclose(torch.stack(steps, 1), network(points, None, tokens), atol=1e-4)

# %% [markdown]
# ## What it costs
#
# The time of the encoder against the number of points, of the whole network against its width, and of one step against the number of
# beams.

# %%
def seconds(work):
    """The best of a few runs."""
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
    wide, data = Network(Config(vocabulary=len(SIMPLIFIED), width=width)), torch.randn(8, 40, 6)
    return seconds(lambda: wide(data, None, tokens[:1].expand(8, -1)))


def beam_time(beams):
    first, problem = torch.full((beams, 1), SIMPLIFIED.ids[START]), torch.zeros(beams, dtype=torch.long)
    _, state = network.prefill(memory[:1], first, problem=problem)
    return seconds(lambda: network.step(first[:, 0], state))


# %% [markdown]
# The slope of each line in these logarithmic axes is an exponent: 1 says that twice as much takes twice as long, 2 that it takes four
# times as long.

# %%
sweeps = {"points": (encode_time, [50, 100, 200, 400, 800]), "width": (width_time, [64, 128, 256, 512]),
          "beams": (beam_time, [1, 5, 50, 150])}
figure, ax = plt.subplots(figsize=(7, 3.6))
for (name, (work, sizes)), marker in zip(sweeps.items(), "os^"):
    times = np.array([work(n) for n in sizes])
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    ax.loglog(np.array(sizes) / sizes[0], times / times[0], marker=marker, color=INK, label=f"{name}: exponent {slope:.1f}")
    print(f"{name:7} {dict(zip(sizes, (1000 * times).round(2).tolist()))} milliseconds, exponent {slope:.2f}")
ax.plot([1, 150], [1, 150], ":", color=GREY, label="exponent 1")
ax.set(xlabel="size, relative to the smallest", ylabel="time, relative to the smallest")
ax.set_title("How time grows with size, measured on this machine")
ax.legend()
save(figure, "cost", alt="Time relative to the smallest size against the relative size, for points, width and beams, with logarithmic axes and a dotted line of slope one.")

# %% [markdown]
# Below the dotted line it pays to do more at once. The exponents are of this machine now: what else runs on it changes them.
#
# ## The paper's size
#
# The same class with the published sizes has as many parameters as the published network, with its vocabulary of 90 tokens.

# %%
published = sum(p.numel() for p in Network(Config(vocabulary=90, **PUBLISHED)).parameters())
print(f"{published:,} parameters, {published / sum(p.numel() for p in network.parameters()):.0f} times the laptop's")
assert 26e6 < published < 27e6

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
