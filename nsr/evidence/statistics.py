"""Statistics: a share, a mean or a difference with its interval, and the exact test of two strategies on the
same problems."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np


class Interval(NamedTuple):
    value: float
    low: float
    high: float


def wilson(k: int, n: int, confidence: float = 0.95) -> Interval:
    """A share k / n with Wilson's score interval:  (p̂ + z²/2n ± z √(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n).

    >>> [round(x, 4) for x in wilson(5, 100)]
    [0.05, 0.0215, 0.1118]
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is not a share")
    if n == 0:
        return Interval(math.nan, 0.0, 1.0)
    z, p = NormalDist().inv_cdf(0.5 + confidence / 2), k / n
    middle = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
    return Interval(p, 0.0 if k == 0 else low, 1.0 if k == n else high)


def bootstrap(
    values: Sequence[float] | np.ndarray,
    rng: np.random.Generator,
    statistic: Callable[..., Any] = np.mean,
    draws: int = 2000,
    confidence: float = 0.95,
) -> Interval:
    """A statistic of a sample with its percentile bootstrap interval; `statistic(values, axis=-1)` must
    accept an axis."""
    values = np.asarray(values, dtype=float)
    if not len(values):
        return Interval(math.nan, math.nan, math.nan)
    samples = statistic(values[rng.integers(0, len(values), (draws, len(values)))], axis=-1)  # (draws,)
    low, high = np.quantile(samples, [0.5 - confidence / 2, 0.5 + confidence / 2])
    return Interval(float(statistic(values, axis=-1)), float(low), float(high))


def paired_bootstrap(
    a: Sequence[float],
    b: Sequence[float],
    rng: np.random.Generator,
    draws: int = 2000,
    confidence: float = 0.95,
) -> Interval:
    """Mean of a − b over the same problems, with an interval that draws problems, so that their difficulty
    cancels."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.shape != b.shape:
        raise ValueError(f"paired samples must have one value per problem each, got {len(a)} and {len(b)}")
    return bootstrap(a - b, rng, draws=draws, confidence=confidence)


class McNemar(NamedTuple):
    only_a: int  # problems that only a solved
    only_b: int
    p_value: float


def mcnemar(a: Sequence[bool], b: Sequence[bool]) -> McNemar:
    """Exact test that two strategies solve the same share of the same problems: of the n they disagree on,
    a's number is Bin(n, ½).

    >>> mcnemar([True] * 8 + [False] * 2, [False] * 8 + [True, False])
    McNemar(only_a=8, only_b=1, p_value=0.0390625)
    """
    a, b = np.asarray(a, dtype=bool), np.asarray(b, dtype=bool)
    if a.shape != b.shape:
        raise ValueError(f"paired samples must have one value per problem each, got {len(a)} and {len(b)}")
    only_a, only_b = int(np.sum(a & ~b)), int(np.sum(~a & b))
    n, few = only_a + only_b, min(only_a, only_b)
    tail = sum(math.comb(n, i) for i in range(few + 1)) / 2**n
    return McNemar(only_a, only_b, min(1.0, 2 * tail))
