"""Statistics: shares, means, differences and correlations with their 95 % intervals, McNemar's exact
test, and Holm's correction.

A lone share has Wilson's interval. Whatever is compared has the interval of one resampling scheme, with three
levels. *Problems* with the same true template are alike, so *templates* are drawn, each with all its
problems, and a problem with the answers of all strategies. Where several *networks* answered the same
problems, networks are drawn as well, independently of the templates; in a difference of two sets of problems
both sides draw the same networks. One network is not drawn: then an interval says what other problems would
change, not what another training would.

Nothing is drawn again among the problems of a template that was drawn: their scatter is already in the
scatter of the templates, and would count twice (Davison and Hinkley, Bootstrap Methods and their Application,
section 3.8).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

DRAWS = 2000
CONFIDENCE = 0.95
ENDS = (0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2)
FEWEST = 6  # of fewer templates nothing is known: even if all agree, the sign test has p > 0.05
Labels = Iterable[Hashable] | None  # of each line its template or its network


class Interval(NamedTuple):
    value: float
    low: float
    high: float


UNKNOWN = Interval(math.nan, math.nan, math.nan)


def wilson(k: int | np.ndarray, n: int | np.ndarray, confidence: float = CONFIDENCE) -> Interval:
    """A share k / n with Wilson's score interval:  (p̂ + z²/2n ± z √(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n).

    Arrays of counts give arrays of ends.

    >>> [round(x, 4) for x in wilson(5, 100)]
    [0.05, 0.0215, 0.1118]
    """
    k, n = np.asarray(k, dtype=float), np.asarray(n, dtype=float)
    if np.any((k < 0) | (k > n)):
        raise ValueError(f"{k:g} of {n:g} is not a share" if k.ndim == n.ndim == 0 else "not all are shares")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = k / n
        middle, half = p + z * z / (2 * n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        ends = [(middle + side * half) / (1 + z * z / n) for side in (-1, 1)]
    low, high = np.where(k == 0, 0.0, ends[0]), np.where(k == n, 1.0, ends[1])
    return Interval(*(x.item() if x.ndim == 0 else x for x in (np.asarray(p), low, high)))


# -------------------------------------------------------------------------------------------------------------- resampling


@dataclass
class Sample:
    """Terms over the same problems: Σ factor · Σ top / Σ bottom, both sums over the lines of a table.

    A share has flags on top and ones below. The accuracy of novel answers has, of each answer, whether it is
    novel and accurate on top, and whether it is novel below.
    """

    factors: Sequence[float]
    tops: np.ndarray  # (terms, lines)
    bottoms: np.ndarray | None = None  # (terms, lines); None: ones
    templates: Labels = None  # None: each line has its own
    networks: Labels = None  # None: one network answered all lines

    def __post_init__(self) -> None:
        self.tops = np.atleast_2d(np.asarray(self.tops, dtype=float))
        self.bottoms = np.ones_like(self.tops) if self.bottoms is None else self.bottoms
        n = self.tops.shape[1]
        templates = range(n) if self.templates is None else self.templates
        networks = [0] * n if self.networks is None else list(self.networks)
        self.who = tuple(sorted(set(networks)))
        self.template, self.network = _places(templates, n), _places(networks, n, self.who)  # (lines,) each

    @property
    def span(self) -> tuple[float, float]:
        """The least and the most that the sum could be if the terms are shares, with all values from 0 to 1;
        nothing is known of the range of other values."""
        if not np.all((self.tops >= 0) & (self.tops <= 1)):
            return math.nan, math.nan
        return sum(c for c in self.factors if c < 0), sum(c for c in self.factors if c > 0)

    def doubt(self) -> tuple[float, float]:
        """How far below and above its value the sum may lie where all problems agree, so that no draw differs:
        what none of n templates showed is possible in as many of them as Wilson's interval of 0 of n says."""
        (least, most), value = self.span, np.dot(self.factors, self.values())
        if math.isnan(least):
            return 0.0, 0.0
        reach = wilson(0, self.n_templates()).high * (most - least)
        return min(reach, value - least), min(reach, most - value)

    def values(self) -> np.ndarray:
        """(terms,): the ratio of each term, without its factor."""
        return _ratio(self.tops.sum(1), self.bottoms.sum(1))

    def n_templates(self) -> int:
        """Of how many templates the term with the fewest has lines."""
        return min(len(set(self.template[bottom > 0])) for bottom in self.bottoms)

    def drawn(self, seed: int, stream: int = 0, of_networks: int | None = None) -> np.ndarray:
        """(draws, terms): the ratios in every draw. Samples with the same stream `of_networks` draw the same
        ones."""
        streams = (stream if of_networks is None else of_networks, stream)
        return _ratio(*(self._sums(part, seed, streams) for part in (self.tops, self.bottoms)))

    def _sums(self, parts: np.ndarray, seed: int, streams: tuple[int, int]) -> np.ndarray:
        """(draws, terms): sums of the lines that were drawn, each as often as its template and its network."""
        cells = np.zeros((len(parts), len(self.who), self.template.max() + 1))  # (K, G, T)
        np.add.at(cells, (slice(None), self.network, self.template), parts)
        # (draws, G), (draws, T)
        networks, templates = (
            times_drawn(n, seed, 2 * streams[i] + i) for i, n in enumerate(cells.shape[1:])
        )
        return np.einsum("dg,kgd->dk", networks, cells @ templates.T)


def _ratio(tops: np.ndarray, bottoms: np.ndarray) -> np.ndarray:
    return np.divide(tops, bottoms, out=np.full(np.shape(tops), np.nan), where=bottoms > 0)


def _places(labels: Iterable[Hashable], n: int, known: Iterable[Hashable] = ()) -> np.ndarray:
    """(n,) a number for each label; those that are `known` have the first numbers."""
    number: dict[Hashable, int] = {label: place for place, label in enumerate(known)}
    places = [number.setdefault(label, len(number)) for label in labels]
    if len(places) != n:
        raise ValueError(f"there are {n} lines and {len(places)} labels")
    return np.array(places, dtype=int)


@lru_cache(maxsize=16)
def times_drawn(n: int, seed: int, stream: int = 0) -> np.ndarray:
    """(draws, n): how often each of n things is among n that are drawn with replacement. One alone is always
    there."""
    chosen = np.random.default_rng([seed, stream]).integers(0, n, (DRAWS, n))
    places = chosen + n * np.arange(DRAWS)[:, None]
    return np.bincount(places.ravel(), minlength=DRAWS * n).reshape(DRAWS, n).astype(float)


def combined(*samples: Sample, seed: int = 0) -> Interval:
    """The sum of samples of different problems, with its percentile interval. Problems are drawn independently;
    networks are drawn together, if it is the same ones that answered all samples."""
    value = float(sum(np.dot(sample.factors, sample.values()) for sample in samples))
    if math.isnan(value):
        return UNKNOWN
    if min(sample.n_templates() for sample in samples) < FEWEST:
        return Interval(value, *map(sum, zip(*(sample.span for sample in samples))))
    shared = 0 if len({sample.who for sample in samples}) == 1 else None
    draws = [sample.drawn(seed, i, shared) @ np.asarray(sample.factors) for i, sample in enumerate(samples)]
    low, high = np.nanquantile(sum(draws), ENDS)
    for sample, drawn in zip(samples, draws):
        if np.nanmax(drawn) - np.nanmin(drawn) < 1e-12:
            down, up = sample.doubt()
            low, high = value - math.hypot(value - low, down), value + math.hypot(high - value, up)
    return Interval(value, float(low), float(high))


def mean(
    values: Iterable[float], templates: Labels = None, networks: Labels = None, seed: int = 0
) -> Interval:
    """The mean of a value per problem."""
    values = np.asarray(list(values), dtype=float)
    return combined(Sample([1.0], values, None, templates, networks), seed=seed)


def paired_difference(
    a: Iterable[float],
    b: Iterable[float],
    templates: Labels = None,
    networks: Labels = None,
    seed: int = 0,
) -> Interval:
    """Mean of a − b over the same problems: they are drawn together, so that their difficulty cancels."""
    return combined(Sample([1.0, -1.0], _pair(a, b, float), None, templates, networks), seed=seed)


def difference(
    a: Iterable[float],
    b: Iterable[float],
    templates: tuple[Labels, Labels] = (None, None),
    networks: tuple[Labels, Labels] = (None, None),
    seed: int = 0,
) -> Interval:
    """mean(a) − mean(b) of two sets of problems, which are drawn independently; networks are not.

    >>> [round(x, 2) for x in difference([2, 4] * 50, [3, 5] * 50)]
    [-1.0, -1.28, -0.74]
    """
    parts = (
        Sample([sign], np.asarray(list(values), dtype=float), None, *labels)
        for sign, values, *labels in zip((1.0, -1.0), (a, b), templates, networks)
    )
    return combined(*parts, seed=seed)


class Spread(NamedTuple):
    """Why a number of one network would differ if it were measured again: `between` is the standard deviation
    over trainings, `problems` over problems, `share` the part of the variance that is between trainings."""

    networks: int
    between: float
    problems: float
    share: float


def spread(values: Iterable[float], templates: Labels, networks: Labels, seed: int = 0) -> Spread:
    """How much of the variance of a mean is between networks.

    The means of the networks differ also because each has problems of its own. How much that alone makes is
    known from drawing templates, the same for all networks: with Σ the covariance of the means over these draws,
    their variance would be mean(Σ_gg) − mean(Σ_gh). What is seen beyond it, τ², is between networks; below it,
    τ² is 0. The share is τ² / (τ² + mean(Σ_gg)).
    """
    values, networks = np.asarray(list(values), dtype=float), list(networks)
    of = np.array(
        [[name == one for name in networks] for one in sorted(set(networks))], dtype=float
    )  # (G, lines)
    if len(of) < 2:
        return Spread(len(of), math.nan, math.nan, math.nan)
    sample = Sample([0.0] * len(of), of * values, of, templates)
    covariance = np.cov(sample.drawn(seed), rowvar=False)  # (G, G)
    own = float(np.mean(np.diag(covariance)))
    common = float(np.mean(covariance[~np.eye(len(of), dtype=bool)]))
    between = max(0.0, float(np.var(sample.values(), ddof=1)) - (own - common))
    total = between + own
    return Spread(len(of), math.sqrt(between), math.sqrt(own), between / total if total else 0.0)


def _pair(a: Iterable[float], b: Iterable[float], kind: type) -> np.ndarray:
    a, b = (np.asarray(list(values), dtype=kind) for values in (a, b))
    if a.shape != b.shape:
        raise ValueError(f"paired samples must have one value per problem each, got {len(a)} and {len(b)}")
    return np.stack([a, b])


# ------------------------------------------------------------------------------------------------ correlations and tests


def pearson(x: Sequence[float], y: Sequence[float]) -> tuple[Interval, float]:
    """Pearson's correlation of points, with Fisher's interval over points, and the p-value of no correlation.

    Points that all have the same x, or the same y, have no correlation.
    """
    from scipy.stats import pearsonr

    if len(x) < 3 or min(np.ptp(x), np.ptp(y)) == 0:
        return UNKNOWN, math.nan
    found = pearsonr(x, y)
    return Interval(float(found.statistic), *map(float, found.confidence_interval(CONFIDENCE))), float(
        found.pvalue
    )


def pearson_over_problems(x: Sample, y: Sample, seed: int = 0) -> Interval:
    """The same correlation, of terms of two samples of the same problems, with an interval that draws problems."""
    value = pearson(x.values(), y.values())[0].value
    if math.isnan(value) or x.n_templates() < FEWEST:
        return Interval(value, math.nan, math.nan)
    a, b = (part.drawn(seed) for part in (x, y))  # (draws, terms) each
    a, b = a - a.mean(1, keepdims=True), b - b.mean(1, keepdims=True)
    spread = np.sqrt((a * a).sum(1) * (b * b).sum(1))
    drawn = (a * b).sum(1)[spread > 0] / spread[spread > 0]
    return Interval(value, *map(float, np.quantile(drawn, ENDS)))


class McNemar(NamedTuple):
    only_a: int  # problems that only a solved
    only_b: int
    p_value: float


def mcnemar(a: Iterable[bool], b: Iterable[bool]) -> McNemar:
    """Exact test that two strategies solve the same share of the same problems: of the n they disagree on,
    a's number is Bin(n, ½).

    >>> mcnemar([True] * 8 + [False] * 2, [False] * 8 + [True, False])
    McNemar(only_a=8, only_b=1, p_value=0.0390625)
    """
    from scipy.stats import binomtest

    a, b = _pair(a, b, bool)
    only_a, only_b = int(np.sum(a & ~b)), int(np.sum(~a & b))
    n = only_a + only_b
    return McNemar(only_a, only_b, float(binomtest(only_a, n).pvalue) if n else 1.0)


def p_value_of(estimate: Interval) -> float:
    """The two-sided p-value of "it is zero" that belongs to a 95 % interval, as if it were normal:
    2 Φ(−|value| / s),  s = (high − low) / (2 · 1.96)  (Altman and Bland, BMJ 343, 2011).

    >>> round(p_value_of(Interval(1.96, 0.0, 3.92)), 3)
    0.05
    """
    half = (estimate.high - estimate.low) / 2
    if not half > 0:
        return math.nan if math.isnan(half) else float(estimate.value == 0)
    z = abs(estimate.value) / half * NormalDist().inv_cdf(ENDS[1])
    return 2 * NormalDist().cdf(-z)


def holm(p_values: Sequence[float]) -> np.ndarray:
    """Adjusted p-values of k tests: the smallest times k, the next times k − 1, …, never decreasing and at most 1.

    Rejecting those below α makes the probability of one false rejection or more at most α (Holm, 1979).

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    scaled = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted
