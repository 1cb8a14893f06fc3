"""Speed of decoding and of the engine, as ratios measured in one run on this machine.

1. Beam search with the key-value cache against the same search that reads the whole prefix again at every
step (150 beams, 30 tokens). 2. 150 problems together against one at a time. 3. Rows per pass: what
`nsr.search.decoding.ROWS` is chosen by.

    python tests/bench/bench_engine.py [--problems 150]
"""

import argparse
import time
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import torch

from nsr.data.problems import Problem
from nsr.formulas.expressions import SIMPLIFIED
from nsr.network.model import PUBLISHED, Config, Network
from nsr.numbers.fitting import fit_many
from nsr.search import decoding
from nsr.search.decoding import Complete, Job, complete
from nsr.search.engine import solve, solve_all
from nsr.search.strategies import BeamSearch

TEMPLATES = [
    ("add", "sin", "x1", "mul", "C", "x2"),
    ("sub", "exp", "x1", "cos", "add", "C", "x1"),
    ("add", "x1", "tan", "mul", "C", "x2"),
]


@dataclass
class Recomputed:
    """The network without a cache: every step is a full pass over all tokens so far."""

    network: Network

    @property
    def config(self):
        return self.network.config

    def prefill(self, memory, tokens, lengths, problem):
        state = RecomputedState(memory, tokens, problem)
        return self.network.decode(memory[problem], tokens)[:, -1], state

    def step(self, tokens, state):
        state = RecomputedState(state.memory, torch.cat([state.tokens, tokens[:, None]], 1), state.problem)
        return self.network.decode(state.memory[state.problem], state.tokens)[:, -1], state


@dataclass
class RecomputedState:
    memory: torch.Tensor
    tokens: torch.Tensor
    problem: torch.Tensor

    def select(self, index):
        return RecomputedState(self.memory, self.tokens[index], self.problem[index])


def make_network(**options) -> Network:
    torch.manual_seed(0)
    return Network(Config(vocabulary=len(SIMPLIFIED), **options)).eval()


def make_problems(n: int) -> list[Problem]:
    rng = np.random.default_rng(0)
    return [
        Problem.from_expression(TEMPLATES[i % 3], (rng.uniform(0.5, 2),), rng=rng, name=str(i), n_variables=5)
        for i in range(n)
    ]


def seconds(work, repeat: int = 1) -> float:
    """CPU seconds of the best of some runs: other work on the machine should not change a ratio."""
    best = float("inf")
    for _ in range(repeat):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


def cache_against_recomputing(label: str, network: Network) -> None:
    memory = network.encode(torch.randn(1, 100, 6)).detach()
    jobs = [Job(Complete((), 150, max_len=30), 0, 5)]
    tokens = complete(network, SIMPLIFIED, memory, jobs)[1][0]
    cached = seconds(lambda: complete(network, SIMPLIFIED, memory, jobs), 3)
    again = seconds(lambda: complete(Recomputed(network), SIMPLIFIED, memory, jobs))
    print(
        f"   {label}: cache {cached:.2f} s ({tokens / cached:,.0f} tokens/s), whole prefix again {again:.2f} s, ratio {again / cached:.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=150)
    n = parser.parse_args().problems
    torch.set_num_threads(1)

    print("1. beam search, 150 beams, 30 tokens, one problem")
    network = make_network()
    cache_against_recomputing("laptop network", network)
    cache_against_recomputing("published network", make_network(**PUBLISHED))

    print("2. rows per pass (8 problems, 150 beams, 30 tokens)")
    memory = network.encode(torch.randn(8, 100, 6)).detach()
    jobs = [Job(Complete((), 150, max_len=30), i, 5) for i in range(8)]
    before = decoding.ROWS
    for rows in (150, 300, 600, 1200):
        decoding.ROWS = rows
        print(f"   {rows:5d} rows: {seconds(lambda: complete(network, SIMPLIFIED, memory, jobs)):.2f} s")
    decoding.ROWS = before

    model, problems = SimpleNamespace(network=network, vocabulary=SIMPLIFIED), make_problems(n)
    print(f"3. solve_all, {n} problems together against one at a time (fits included)")
    solve(problems[0], BeamSearch(2), model)  # compile
    for beam_size in (1, 5, 50):
        strategy = BeamSearch(beam_size, max_len=30)
        some, few = problems[: max(2, 1500 // beam_size)], problems[: max(2, 50 // beam_size)]
        together = seconds(lambda: solve_all(some, strategy, model)) / len(some)
        alone = seconds(lambda: [solve(problem, strategy, model) for problem in few]) / len(few)
        fits = [(c.prefix, p.X, p.y) for p in few for c in solve(p, strategy, model).candidates]
        fitting = seconds(lambda: fit_many(fits)) / len(few)
        print(
            f"   b = {beam_size:3d}, {len(some)} problems: together {1e3 * together:.1f} ms per problem, alone {1e3 * alone:.1f} ms, ratio "
            f"{alone / together:.1f}; of these {1e3 * fitting:.1f} ms are fits, decoding alone: ratio {(alone - fitting) / (together - fitting):.1f}"
        )


if __name__ == "__main__":
    main()
