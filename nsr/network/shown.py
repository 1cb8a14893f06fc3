"""The log of what a training has shown: 64 bits that stand for a target sequence, and how often it was shown.

A training at the paper's scale shows tens of millions of different sequences. The log takes twelve bytes for
each of them, in memory and in a file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nsr.formulas.expressions import Prefix

FRESH = 2**16  # hashes that wait before they are sorted and counted


def sequence_hash(prefix: Iterable[str]) -> int:
    """64 bits that stand for a token sequence; two of a million sequences collide with probability below
    1e-7.

    >>> sequence_hash(("sin", "x1")) == sequence_hash(["sin", "x1"]) != sequence_hash(("sin", "x2"))
    True
    """
    short = hashlib.blake2b(" ".join(prefix).encode(), digest_size=8).digest()
    return int.from_bytes(short, "big", signed=True)


@dataclass(frozen=True)
class Seen:
    """The log of target sequences really shown in training: `("sin", "x1") in seen`, `seen.count(("sin",
    "x1"))`."""

    hashes: np.ndarray  # (N,) int64, sorted
    counts: np.ndarray  # (N,) int32, how often each was shown

    @classmethod
    def of(cls, hashes: Iterable[int]) -> Seen:
        """The log of these hashes, in any order; one that comes twice counts twice."""
        different, counts = np.unique(np.fromiter(hashes, np.int64), return_counts=True)
        return cls(different, counts.astype(np.int32))

    def with_more(self, more: Seen) -> Seen:
        """Both logs in one: the counts of what stands in both are added.

        >>> both = Seen.of([1, 5, 5]).with_more(Seen.of([3, 5]))
        >>> both.hashes.tolist(), both.counts.tolist()
        ([1, 3, 5], [1, 1, 3])
        """
        at = np.searchsorted(self.hashes, more.hashes)
        new = np.ones(len(at), bool)
        inside = at < len(self)
        new[inside] = self.hashes[at[inside]] != more.hashes[inside]
        counts = self.counts.copy()
        counts[at[~new]] += more.counts[~new]
        hashes = np.insert(self.hashes, at[new], more.hashes[new])
        return Seen(hashes, np.insert(counts, at[new], more.counts[new]))

    def count(self, prefix: Iterable[str]) -> int:
        key = sequence_hash(prefix)
        at = int(np.searchsorted(self.hashes, key))
        return int(self.counts[at]) if at < len(self.hashes) and self.hashes[at] == key else 0

    def __contains__(self, prefix: Iterable[str]) -> bool:
        return self.count(prefix) > 0

    def __len__(self) -> int:
        return len(self.hashes)

    def tensors(self) -> dict[str, Tensor]:
        """For a file: the counts take two bytes each where all of them fit."""
        small = not len(self) or self.counts.max() < 2**15
        counts = self.counts.astype(np.int16) if small else self.counts
        return {"seen.hashes": torch.from_numpy(self.hashes), "seen.counts": torch.from_numpy(counts)}

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> Seen:
        return cls(tensors["seen.hashes"].numpy(), tensors["seen.counts"].numpy().astype(np.int32))


class Shown:
    """A log that grows, kept as sorted blocks. A new block is joined with the one before it as long as that
    one is not twice as large, so that a hash is moved a few times in all, however long the training."""

    def __init__(self, seen: Seen | None = None) -> None:
        self.blocks = [] if seen is None else [seen]
        self.fresh: list[int] = []

    def add(self, prefixes: Iterable[Prefix]) -> None:
        """These sequences were shown, each once more."""
        self.fresh.extend(map(sequence_hash, prefixes))
        if len(self.fresh) >= FRESH:
            self._sort()

    def seen(self) -> Seen:
        """All of it as one log."""
        self._sort()
        while len(self.blocks) > 1:
            last = self.blocks.pop()
            self.blocks.append(self.blocks.pop().with_more(last))
        return self.blocks[0]

    def _sort(self) -> None:
        block, self.fresh = Seen.of(self.fresh), []
        while self.blocks and len(self.blocks[-1]) < 2 * len(block):
            block = self.blocks.pop().with_more(block)
        self.blocks.append(block)
