"""Speed of a training step: the model's floating-point operations per second as a fraction of this machine's
own matrix products.

    model FLOP = products of the forward pass × 3 (backward costs two more; one for the bits of the points,
    which need no gradient),
                 counted from the sizes, the optimiser not included
    ratio      = model FLOP / (seconds of a whole step, optimiser included) / (FLOP/s of a large float32
               product, measured in turns with it)

Seconds are those of the processor, divided by the threads: waiting for other programs, and of our own threads
for each other, is left out.

    python tests/bench/bench_training.py [threads]
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that spin starve each other on a shared machine

import sys
import time

import numpy as np
import torch

from nsr.network.devices import Learner, Objective, Place
from nsr.network.model import PUBLISHED, Config, Network
from nsr.network.optimisers import make_optimisers


def model_flop(c: Config, batch: int, points: int, tokens: int) -> float:
    """Multiply–adds ×2 of every matrix product of one step, as the formulas are written (no shortcut
    subtracted)."""
    h, m, s = c.width, c.inducing, c.seeds
    bits = 16 * (c.n_variables + 1)

    def set_attention(
        queries: int, sources: int, query_width: int = h, source_width: int = h, shared: bool = False
    ) -> int:
        project = (0 if shared else queries * query_width * h) + 2 * sources * source_width * h
        feed = 2 * queries * h * c.encoder_feedforward if c.encoder_feedforward else queries * h * h
        return project + 2 * queries * sources * h + feed

    total = 0 if c.norm == "post" else points * bits * h
    # queries, keys and values of the first block, or the embedding
    no_gradient = points * bits * (3 * h if c.norm == "post" else h)
    for block in range(c.encoder_blocks):
        width = bits if c.norm == "post" and block == 0 else h
        total += set_attention(m, points, h, width, shared=True) + set_attention(points, m, width, h)
    total += set_attention(s, points, shared=True)
    layer = tokens * 4 * h * h + 2 * tokens * tokens * h  # self-attention
    layer += tokens * 2 * h * h + s * 2 * h * h + 2 * tokens * s * h  # attention to the memory
    total += c.decoder_layers * (layer + 2 * tokens * h * c.feedforward) + tokens * h * c.vocabulary
    return 2 * batch * (3 * total - no_gradient)


def clock() -> float:
    """Processor seconds per thread."""
    return time.process_time() / torch.get_num_threads()


def machine_flops(size: int = 2048, repeats: int = 3) -> float:
    a, b = torch.randn(size, size), torch.randn(size, size)
    start = clock()
    for _ in range(repeats):
        a @ b
    return repeats * 2 * size**3 / (clock() - start)


def measure(
    name: str,
    config: Config,
    optimiser: str,
    batch: int,
    points: int,
    tokens: int,
    goal: float,
    rounds: int = 7,
    steps: int = 3,
) -> None:
    torch.manual_seed(0)
    network = Network(config)
    learn, optimisers = (
        Learner(Objective(network), Place(torch.device("cpu"))),
        make_optimisers(network, optimiser, 1e-4),
    )
    x, ids = (
        torch.randn(batch, points, config.n_variables + 1),
        torch.randint(5, config.vocabulary, (batch, tokens + 1)),
    )

    def step() -> None:
        learn((x, ids[:, :-1], ids[:, 1:], None), 1 / ids[:, 1:].numel())
        for one in optimisers:
            one.step()
            one.zero_grad()

    step(), machine_flops()
    ratios, speeds = [], []
    for _ in range(rounds):  # in turns, so that whatever else runs on the machine slows both
        before = machine_flops()
        start = clock()
        for _ in range(steps):
            step()
        seconds = (clock() - start) / steps
        machine = (before + machine_flops()) / 2
        ratios.append(model_flop(config, batch, points, tokens) / seconds / machine)
        speeds.append(batch / seconds)
    parameters = sum(p.numel() for p in network.parameters()) / 1e6
    print(
        f"{name}: {parameters:.1f}M parameters, batch {batch}, {points} points, {tokens} tokens, {optimiser}: "
        f"{np.median(speeds):,.0f} samples/s, model FLOP/s ÷ matrix-product FLOP/s = {np.median(ratios):.2f} (goal {goal})",
        flush=True,
    )


def main() -> None:
    torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else min(2, os.cpu_count() or 1))
    torch.set_flush_denormal(True)
    print(
        f"{torch.get_num_threads()} threads, matrix products at {machine_flops(repeats=8) / 1e9:.0f} GFLOP/s"
    )
    laptop = Config(vocabulary=18)
    measure("laptop", laptop, "muon", batch=128, points=40, tokens=12, goal=0.45)
    measure("laptop", laptop, "adamw", batch=128, points=40, tokens=12, goal=0.45)
    published = Config(vocabulary=90, **PUBLISHED)
    measure("published", published, "adamw", batch=32, points=100, tokens=15, goal=0.75, rounds=3, steps=1)


if __name__ == "__main__":
    main()
