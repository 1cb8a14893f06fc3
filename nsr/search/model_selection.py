"""Choosing among candidates when the data are noisy or rounded: description length, and the front of accuracy
against length.

On noisy data the candidate with the best R² is the one that fits the noise. The description length weighs the
fit against the formula,

    DL = P/2 · ln max(s², floor) + K/2 · ln P + L · ln V,     s² = (1 − R²) · P / (P − K)

the number of nats to write down the residuals, the constants (each to a precision of 1/√P) and the tokens: P
points, K constants, L tokens, V symbols to choose a token from. K fitted constants make residuals look
smaller than they are, by (P − K)/P. Below the `floor`, the share of y's variance that is mere rounding
(nsr.data.problems), there is nothing to explain, and a shorter formula is the better one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from nsr.search.oracle import NOISE, Candidate

SYMBOLS = 20  # V: the operators of FULL and the leaves


def description_length(
    r2: float, n_points: int, n_tokens: int, n_constants: int, floor: float = 0.0
) -> float:
    """DL in nats; inf for a failure, and for as many constants as points.

    >>> short, long = description_length(0.90, 50, 5, 1), description_length(0.901, 50, 15, 4)
    >>> short < long, description_length(1.0, 50, 15, 4) < short, description_length(1.0, 50, 15, 4, floor=0.1) < short
    (True, True, False)
    """
    if not r2 > -math.inf or n_constants >= n_points:
        return math.inf
    left = max((1.0 - r2) * n_points / (n_points - n_constants), NOISE, floor)
    return n_points / 2 * math.log(left) + n_constants / 2 * math.log(n_points) + n_tokens * math.log(SYMBOLS)


def price_of_a_constant(n_points: int) -> float:
    """What a constant and its operator are worth by DL, in the units of nsr.search.pruning (ln P, for twice
    the nats): 1 + 4 ln V / ln P.

    >>> round(price_of_a_constant(100), 2)
    3.6
    """
    return 1.0 + 4.0 * math.log(SYMBOLS) / math.log(n_points)


def by_length(candidates: Iterable[Candidate], n_points: int, floor: float = 0.0) -> list[Candidate]:
    """The valid candidates, that with the shortest description first."""

    def key(c: Candidate) -> tuple:
        return description_length(c.r2, n_points, len(c.prefix), len(c.constants), floor), c.key

    return sorted((c for c in candidates if c.valid), key=key)


def shortest(candidates: Iterable[Candidate], n_points: int, floor: float = 0.0) -> Candidate | None:
    """The valid candidate with the smallest description length."""
    return next(iter(by_length(candidates, n_points, floor)), None)


def promising(candidates: Sequence[Candidate], n: int, n_points: int, floor: float = 0.0) -> list[Candidate]:
    """The n candidates that fit best and the n with the shortest descriptions: on noisy data these are
    different ones."""
    best = sorted((c for c in candidates if c.valid), key=lambda c: c.key)[:n]
    return list({c.prefix: c for c in [*best, *by_length(candidates, n_points, floor)[:n]]}.values())


def pareto(lengths: Sequence[float], r2: Sequence[float]) -> list[int]:
    """Indices on the front, shortest first: no other is at most as long and fits better, or as well and is
    shorter.

    >>> pareto([3, 5, 5, 9, 7], [0.5, 0.9, 0.8, 0.91, 0.7])
    [0, 1, 3]
    """
    front: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: (lengths[i], -r2[i])):
        if r2[i] > -math.inf and (not front or r2[i] > r2[front[-1]]):
            front.append(i)
    return front
