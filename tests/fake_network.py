"""A network without weights: next-token logits are a fixed random function of the data, the prompt and the
prefix.

It has the interface of nsr.network.model.Network, its answers do not depend on the batch, and with a toy
vocabulary everything it can write can be enumerated. So it judges searches exactly.
"""

import zlib
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import torch

from nsr.formulas.expressions import Vocabulary

TOY = Vocabulary("TOY", (("add", 1), ("sin", 1)), 2)


@dataclass
class FakeState:
    rows: list  # (memory value, token ids) per row

    def select(self, index):
        return FakeState([self.rows[i] for i in index.tolist()])

    def read(self, lengths):
        return [ids[:n] for (_, ids), n in zip(self.rows, lengths)]


@dataclass
class FakeNetwork:
    vocabulary: Vocabulary = TOY
    positions: int = 60
    sharpness: float = 2.0
    passes: list = field(default_factory=list)  # rows of every pass, for counting

    @property
    def config(self):
        return SimpleNamespace(positions=self.positions)

    @property
    def device(self):
        return torch.device("cpu")

    def encode(self, points, mask=None, hints=None):
        """(B, 1, 1): a number that stands for the data (and the hints)."""
        total = points.double().sum((1, 2))
        if hints is not None:
            total = total + (hints * torch.arange(1, hints.shape[1] + 1)).sum(1)
        return total.round(decimals=2)[:, None, None]

    def row_logits(self, value, ids):
        """Logits (V,) after the ids, for the problem with this memory value."""
        seed = zlib.crc32(repr((round(float(value), 2), tuple(ids))).encode())
        return self.sharpness * np.random.default_rng(seed).standard_normal(len(self.vocabulary))

    def _logits(self, rows):
        self.passes.append(len(rows))
        return torch.tensor(
            np.array([self.row_logits(value, ids) for value, ids in rows]).reshape(
                len(rows), len(self.vocabulary)
            )
        )

    def prefill(self, memory, tokens, lengths=None, problem=None, past=None):
        new = zip(tokens.tolist(), lengths.tolist(), problem.tolist(), past or [None] * len(tokens))
        rows = [(float(memory[p, 0, 0]), (*(read or ()), *ids[:n])) for ids, n, p, read in new]
        return self._logits(rows), FakeState(rows)

    def step(self, tokens, state):
        rows = [(value, (*ids, token)) for (value, ids), token in zip(state.rows, tokens.tolist())]
        return self._logits(rows), FakeState(rows)


def fake_model(**options):
    """What solve_all needs: a network and its vocabulary."""
    network = FakeNetwork(**options)
    return SimpleNamespace(network=network, vocabulary=network.vocabulary)
