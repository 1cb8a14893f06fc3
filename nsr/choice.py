"""Choosing among candidates when the data are noisy: description length, and the front of accuracy against length.

On noisy data the candidate with the best R² is the one that fits the noise. The description length weighs the fit against the formula,

    DL = P/2 · ln(1 − R²) + K/2 · ln P + L · ln V          P points, K constants, L tokens, V symbols to choose a token from

the number of nats to write down the residuals, the constants (each to a precision of 1/√P) and the tokens.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from nsr.oracle import NOISE, Candidate

SYMBOLS = 20  # V: the operators of FULL and the leaves


def description_length(r2: float, n_points: int, n_tokens: int, n_constants: int) -> float:
    """DL in nats; inf for a failure.

    >>> short, long = description_length(0.90, 50, 5, 1), description_length(0.901, 50, 15, 4)
    >>> short < long, description_length(1.0, 50, 15, 4) < short
    (True, True)
    """
    if not r2 > -math.inf:
        return math.inf
    left = max(1.0 - r2, NOISE)
    return n_points / 2 * math.log(left) + n_constants / 2 * math.log(n_points) + n_tokens * math.log(SYMBOLS)


def shortest(candidates: Iterable[Candidate], n_points: int) -> Candidate | None:
    """The valid candidate with the smallest description length."""
    valid = [c for c in candidates if c.valid]
    return min(valid, default=None,
               key=lambda c: (description_length(c.r2, n_points, len(c.prefix), len(c.constants)), c.key))


def pareto(lengths: Sequence[float], r2: Sequence[float]) -> list[int]:
    """Indices on the front, shortest first: no other is at most as long and fits better, or as well and is shorter.

    >>> pareto([3, 5, 5, 9, 7], [0.5, 0.9, 0.8, 0.91, 0.7])
    [0, 1, 3]
    """
    front: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: (lengths[i], -r2[i])):
        if r2[i] > -math.inf and (not front or r2[i] > r2[front[-1]]):
            front.append(i)
    return front
