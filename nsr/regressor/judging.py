"""Judging: the R² of found formulas on all rows of a table, and how many digits of their constants have to be
printed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nsr.data.problems import Problem, rounding_floor
from nsr.data.rescaling import Units
from nsr.formulas.expressions import Prefix, Valued
from nsr.numbers.evaluation import blocks, evaluate, gradient, r2_score
from nsr.numbers.simplification import is_strained
from nsr.numbers.weighting import roots
from nsr.search.deadline import Deadline
from nsr.search.disguises import calmed, limits
from nsr.search.model_selection import description_length
from nsr.search.oracle import NOISE, Candidate, Oracle
from nsr.search.pruning import plainer

# Candidates are fitted to so many rows of a longer table, and the printed digits are checked on them.
SAMPLE = 4000
STEPS = 4  # of the fit to all rows
FINALISTS = 5  # candidates that are always judged on all rows; the best so many are fitted to all rows
# of the spread of y (largest minus smallest): so far may the printed formula be from what `predict` says
CLOSE = 1e-6
# of the residual's deviation: digits of a constant that change less than that say nothing about the data, and
# are dropped
UNTOLD = 1e-3
IDLE = 1e-8  # of the spread of y: what a constant changes at least
STRAINED = 1e5  # a constant above that, or below its inverse, is enormous or tiny
AS_WELL = 1.1  # times what a formula leaves may a plainer one leave
# share of y's variance: so much more than a formula with strained constants may a plain one leave …
A_LITTLE = 1e-2
STRAIN = 30.0  # … or so many nats longer may its description be
LAW = 4  # constants: an exact formula that has no more may be a law, whatever their sizes
SIZES = 1e-3, 1e4  # of the largest value of plain columns, and of y: between them, constants are plain, too
SPARE = 2  # digits that a constant may need more than y has, at no price
BEYOND, FAR = (
    0.1,
    10.0,
)  # how far outside the data a formula is looked at, and how far off it may be, in spreads


class Found(NamedTuple):
    """A candidate in the units of the search, and its formula in the user's."""

    candidate: Candidate
    prefix: Prefix
    constants: tuple[float, ...]


def sample_of(X: np.ndarray, y: np.ndarray, most: int, seed: int) -> np.ndarray | slice:
    """Which rows stand for a long table: about `most` at random, and those with the ends of every column; all
    rows of a shorter one.

    >>> sample_of(np.zeros((10, 2)), np.zeros(10), 10, 0)
    slice(None, None, None)
    """
    if len(y) <= most:
        return slice(None)
    ends = [X.argmin(0), X.argmax(0), [y.argmin(), y.argmax()]]
    return np.unique(np.concatenate([np.random.default_rng(seed).choice(len(y), most, replace=False), *ends]))


def judged(
    found: list[Found],
    X: np.ndarray,
    y: np.ndarray,
    selection: str,
    deadline: Deadline,
    weights: np.ndarray | None = None,
) -> list[tuple[Found, float]]:
    """The candidates with their R² on all rows X (P, D), y (P,), with weights (P,) or without.

    Those of a long table, which were fitted to a sample, are judged from the most promising one on, as long
    as there is time, and the best are fitted to all rows.
    """
    if len(y) <= SAMPLE:
        return [(one, _r2(one, X, y, weights)) for one in found]
    floor = rounding_floor(y)

    def key(one: Found, r2: float) -> tuple:
        tokens, K = len(one.candidate.prefix), len(one.candidate.constants)
        length = description_length(r2, len(y), tokens, K, floor)
        return (length, len(one.prefix)) if selection == "short" else (-r2, len(one.prefix))

    done: list[tuple[Found, float]] = []
    promising = sorted(
        found, key=lambda one: (one.candidate.note != "yardstick", *key(one, one.candidate.r2))
    )
    for one in promising:
        if len(done) < FINALISTS or not deadline.passed:
            done.append((one, _r2(one, X, y, weights)))
    done.sort(key=lambda pair: key(*pair))
    for i, (one, r2) in enumerate(done[:FINALISTS]):
        if one.constants and r2 > -np.inf and 1.0 - r2 > NOISE and (i == 0 or not deadline.passed):
            done[i] = refined(one, r2, X, y, weights, deadline)
    return done


def refined(
    one: Found, r2: float, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None, deadline: Deadline
) -> tuple[Found, float]:
    """A formula that was fitted to a sample, fitted to all rows, and its R²: by the method of Gauss and Newton, which
    needs few steps from there and sees one block of rows at a time."""
    K = len(one.constants)
    for step in range(STEPS):
        if step > 0 and deadline.passed:
            break
        R = np.empty((0, K + 1))  # of the QR decomposition of (J, y − f), (P, K + 1)
        for rows in blocks(len(y)):
            values, J = gradient(one.prefix, X[rows], one.constants)
            share = 1.0 if weights is None else np.sqrt(weights[rows])[:, None]
            R = np.vstack([R, np.column_stack([J, y[rows] - values]) * share])
            if not np.isfinite(R).all():
                return one, r2
            R = np.linalg.qr(R, mode="r")
        scale = np.linalg.norm(R[:, :K], axis=0)
        scale[scale == 0.0] = 1.0
        move = np.linalg.lstsq(R[:, :K] / scale, R[:, K], rcond=1e-12)[0] / scale
        moved = one._replace(constants=tuple((np.array(one.constants) + move).tolist()))
        better = _r2(moved, X, y, weights)
        if not better > r2:
            break
        one, r2 = moved, better
    return one._replace(**dict(zip(("prefix", "constants"), Units.same(X.shape[1]).back(*one[1:])))), r2


def _r2(one: Found, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> float:
    finite = np.isfinite(one.constants).all()
    return r2_score(y, evaluate(one.prefix, X, one.constants), weights) if finite else -np.inf


def digits_for(prefix: Prefix, constants: Sequence[float], X: np.ndarray, close: float) -> int | None:
    """The fewest digits, from 6 on, with which the constants give the same values at X (P, D), or values so
    close; None: all digits.

    >>> digits_for(("sub", "mul", "C", "x1", "C"), (1e9 / 3, 1e9 / 7), np.array([[1.0], [2.0]]), 1e-6)
    15
    """
    values = evaluate(prefix, X, constants)
    there = np.isfinite(values)
    for digits in range(6, 17):
        with np.errstate(over="ignore"):
            off = np.abs(evaluate(prefix, X, rounded(constants, digits))[there] - values[there])
            if np.all(off <= close):
                return digits
    return None


def price_of_digits(prefix: Prefix, constants: Sequence[float], X: np.ndarray, spread: float) -> float:
    """What constants cost, in nats, that need more digits than y has: large terms cancel. A constant c whose
    c·∂f/∂c is 10ⁿ times the spread of y needs n digits more, and each beyond the second costs ln 10.

    >>> X, large = np.linspace(1, 5, 50)[:, None], 0.5 / 0.0001234567**2
    >>> price_of_digits(("mul", "C", "pow2", "x1"), (0.5,), X, 12.0)
    0.0
    >>> price_of_digits(("sub", "C", "mul", "C", "cos", "mul", "C", "x1"), (large, large, 0.0001234567), X, 12.0) > 20
    True
    """
    if not constants:
        return 0.0
    with np.errstate(all="ignore"):
        J = gradient(prefix, X, constants)[1]  # (P, K)
        digits = np.log10(np.abs(J * np.array(constants)).max(0) / spread)  # (K,)
    return float(np.sum(np.clip(np.nan_to_num(digits) - SPARE, 0.0, 17.0))) * math.log(10.0)


def is_idle(prefix: Prefix, constants: Sequence[float], X: np.ndarray, spread: float) -> bool:
    """Whether a constant c changes nothing at X (P, D): c·∂f/∂c is tiny beside the spread of y.

    >>> is_idle(("add", "x1", "mul", "C", "pow2", "x1"), (1e-14,), np.linspace(1, 5, 50)[:, None], 4.0)
    True
    """
    if not constants:
        return False
    with np.errstate(all="ignore"):
        J = gradient(prefix, X, constants)[1]  # (P, K)
        return bool((np.abs(J * np.array(constants)).max(0) < IDLE * spread).any())


def is_plain_sized(X: np.ndarray, y: np.ndarray) -> bool:
    """Whether the values of all columns of X (P, D) and of y (P,) are of plain sizes: formulas for them need no
    enormous or tiny constants.

    >>> is_plain_sized(np.ones((3, 2)), np.ones(3)), is_plain_sized(np.full((3, 2), 6.6e-34), np.ones(3))
    (True, False)
    """
    sizes = [float(np.abs(column).max()) for column in (*X.T, y)]
    return SIZES[0] <= min(sizes) and max(sizes) <= SIZES[1]


def undisguised(formula: Valued, table: Problem, deadline: Deadline) -> Valued:
    """A formula with enormous, tiny or cancelling constants, or a plain one that fits the table as well: without what
    the data do not need (nsr.search.pruning), and as the limit that it is close to (nsr.search.disguises).

    >>> x = np.linspace(1, 5, 50)
    >>> wave = ("sub", "C", "mul", "C", "cos", "mul", "C", "x1"), (2e4, 2e4, 0.01)
    >>> undisguised(wave, Problem(x[:, None], x**2), Deadline())[0]
    ('pow2', 'x1')
    """
    oracle, spread = Oracle(table), float(np.ptp(table.y))

    def price(one: Candidate) -> float:
        given = one.prefix, one.constants, table.X, spread
        return price_of_digits(*given) + 10.0 * (is_strained(one.constants, STRAINED) or is_idle(*given))

    def plainest(best: Candidate) -> Candidate:
        while best.valid and price(best) > 0 and not deadline.passed:
            forms = [form(best.prefix, best.constants, table.X) for form in (calmed, limits)]
            forms = list(dict([*forms[1], *forms[0]]).items())
            tried = oracle.verify([p for p, _ in forms], initial=tuple(c or None for _, c in forms), starts=0)
            enough = 1.0 - NOISE - AS_WELL * (1.0 - best.r2)
            good = [one for one in tried if one.valid and one.r2 >= enough and price(one) < price(best)]
            if not good:
                break
            best = min(good, key=lambda one: (price(one), len(one.prefix)))
        return best

    best = plainest(oracle.verify([formula[0]], initial=(formula[1] or None,), starts=0)[0])
    best = plainest(plainer(best, oracle, deadline)) if best.valid else best
    return (best.prefix, best.constants) if best.valid else formula


def plain_one(rows: list[dict]) -> dict | None:
    """The shortest description among rows without strained constants that explain about as much as the first row,
    whose constants are strained; None if that is a short law as it stands, or if there is none."""
    first = rows[0]
    if first["left"] <= NOISE and first["constants"] <= LAW:
        enough, longest = NOISE, -math.inf
    else:
        enough, longest = AS_WELL * first["left"] + A_LITTLE, first["description_length"] + STRAIN
    good = [
        row
        for row in rows
        if not row["strained"] and (row["left"] <= enough or row["description_length"] <= longest)
    ]
    return min(good, key=lambda row: row["description_length"], default=None)


def half_widths(
    prefix: Prefix,
    constants: Sequence[float],
    X: np.ndarray,
    residual: np.ndarray,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Half the 95 % intervals (K,) of fitted constants, t · s · √diag (JᵀJ)⁻¹: if the form is right, the errors
    of y are independent and of one size (with weights (P,): of sizes as 1/√w), and the formula is linear in
    its constants over the interval.

    `residual` (P,) is y minus the formula at X (P, D).
    """
    from scipy.stats import t

    P, K = len(residual), len(constants)
    if not 0 < K < P:
        return np.full(K, np.inf)
    root = roots(weights, P)
    J, residual = gradient(prefix, X, constants)[1] * root[:, None], residual * root  # (P, K), (P,)
    if not np.isfinite(J).all():
        return np.full(K, np.inf)
    scale = np.linalg.norm(J, axis=0)
    scale[~(scale > 0)] = 1.0
    inverse = np.linalg.pinv((J / scale).T @ (J / scale), rcond=1e-14, hermitian=True)
    deviation = math.sqrt(float(residual @ residual) / (P - K))
    return float(t.ppf(0.975, P - K)) * deviation * np.sqrt(np.abs(np.diag(inverse))) / scale


def beyond(prefix: Prefix, constants: Sequence[float], X: np.ndarray) -> list[tuple[int, str]]:
    """Where the formula has no value, or one that is far from all it has in the data, when a column of X
    (P, D) goes a tenth of its range below or above what it has there; never down to 0 or less where it is
    positive. Columns by their numbers.

    >>> beyond(("log", "sub", "x1", "C"), (0.99,), np.linspace(1, 5, 50)[:, None])
    [(0, 'below')]
    """
    inside, found = evaluate(prefix, X, constants), []
    low, high = X.min(0), X.max(0)
    middle, far = np.median(inside), FAR * np.ptp(inside)
    for j, step in enumerate(BEYOND * (high - low)):
        lowest = max(low[j] - step, low[j] / 2) if low[j] > 0 else low[j] - step
        for side, edge in (("below", lowest), ("above", high[j] + step)):
            moved = X.copy()
            moved[:, j] = edge
            if step > 0 and not np.all(np.abs(evaluate(prefix, moved, constants) - middle) <= far):
                found.append((j, side))
    return found


def rounded(constants: Sequence[float], digits: int | None) -> tuple[float, ...]:
    """The constants with so many significant digits.

    >>> rounded((2.005861234, 1e9 / 3), 6)
    (2.00586, 333333000.0)
    """
    return tuple(constants) if digits is None else tuple(float(f"{c:.{digits}g}") for c in constants)
