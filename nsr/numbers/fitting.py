"""Constants: the multi-start fit of one or many expressions.

Given a prefix with K placeholders C, find the constants c that minimise Σ_p (f(x_p; c) - y_p)². Where to
start is decided in initial_guesses.py, the descent from there is in least_squares.py. Poles are a trap of
their own: next to a pole of tan a single point can outweigh all the others. So every second searched start is
found and approached with chords instead of differences (see least_squares.chord), for which poles are
harmless; plain least squares has the last word.

`method="bfgs"` fits as the published systems do (see bfgs.py), for measurements that want to know what the fit
is worth.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numba import njit

from nsr.book.spelling import refuse_unknown
from nsr.formulas.expressions import ExpressionError, Prefix
from nsr.numbers.bfgs import fit_bfgs, normal_starts
from nsr.numbers.compiling import COMPILE
from nsr.numbers.initial_guesses import FACTOR, analyse, even_steps, new_stream, search
from nsr.numbers.interpreter import MUL, as_columns, prepare_program, run, stack_size
from nsr.numbers.least_squares import UNDEFINED, copy, count, descend, new_task, project
from nsr.numbers.weighting import roots, total, weighted_score

Job = tuple[Prefix, np.ndarray, np.ndarray]
Method = Literal["", "bfgs"]
METHODS = ("", "bfgs")  # how constants are fitted: ours, or as published

SEARCHED = 200  # vectors that the search for one start looks at ...
SEARCH_POINTS = 32  # ... on no more than twice this number of points
ENOUGH = 1e-12  # 1 - R² at which no other start is tried
_cores = [os.cpu_count() or 1]  # that `fit_many` uses; see `on_cores`


@contextmanager
def on_cores(n: int) -> Iterator[None]:
    """Fit on so many cores within the block, to be timed beside programs that use as many.

    >>> with on_cores(1):
    ...     _cores
    [1]
    """
    before, _cores[0] = _cores[0], n
    try:
        yield
    finally:
        _cores[0] = before


@dataclass(frozen=True)
class Fit:
    """Fitted constants in prefix order, their R² (-inf if impossible) and mean squared error on the given
    points, what went wrong, and how often the expression was evaluated.

    An evaluation is one at all points. One with N exact derivatives counts as 1 + N, which is what finite
    differences would need; one at a part of the points counts as this part.
    """

    constants: tuple[float, ...]
    r2: float
    mse: float
    why: str = ""
    evaluations: float = 0.0


def fit_constants(
    prefix: Prefix,
    X: np.ndarray,
    y: np.ndarray,
    starts: int = 4,
    seed: int = 0,
    initial=None,
    method: Method = "",
    weights: np.ndarray | None = None,
) -> Fit:
    """Fit the constants of an expression to the points X (P, D), y (P,), with weights (P,) above 0 or without.

    The first start has every constant at its neutral value (1 for a factor, 0 for a summand); the others are
    found by a search; `initial`, one vector (K,) or several (I, K), adds starts in front. An expression has
    to be defined at every given point: a start with an undefined value counts as infinitely bad, and if none
    is better the answer is R² = -inf with the reason in `why`. Never raises for an expression that cannot be
    fitted, and never warns. `method="bfgs"` is the published fit, with the published number and law of starts
    whatever `starts` says.

    >>> x = np.linspace(0, 5, 50)[:, None]
    >>> fit = fit_constants(("add", "C", "exp", "mul", "C", "x1"), x, 2.5 + np.exp(-0.7 * x[:, 0]))
    >>> [round(c, 6) for c in fit.constants], round(fit.r2, 9)
    ([2.5, -0.7], 1.0)
    """
    first = None if initial is None else [initial]
    return fit_many([(prefix, X, y)], starts, seed, first, method=method, weights=[weights])[0]


def fit_many(
    jobs: Sequence[Job],
    starts: int = 4,
    seed: int = 0,
    initial: Sequence | None = None,
    threads: int | None = None,
    method: Method = "",
    weights: Sequence[np.ndarray | None] | None = None,
) -> list[Fit]:
    """Fit many expressions, each to its own points, on all cores; `initial` and `weights` have one entry per
    job (None for none).

    The answer for a job depends on the job, its starts and the seed, not on its neighbours nor on the number
    of threads.
    """
    refuse_unknown([method], METHODS, "fit", ValueError)
    points: dict[tuple, Points] = {}  # candidates of one problem share its points: prepare them once
    jobs, tasks = list(jobs), []
    for index, (prefix, X, y) in enumerate(jobs):
        weighted = None if weights is None else weights[index]
        key = id(X), id(y), id(weighted)
        if key not in points:
            columns, y_row = as_columns(X), np.array(y, np.float64).reshape(-1)  # (D, P), (P,)
            if len(y_row) != columns.shape[1]:
                raise ValueError(f"job {index}: X has {columns.shape[1]} points, y has {len(y_row)}")
            points[key] = Points.of(columns, y_row, weighted)
        tasks.append((prefix, points[key], starts, seed, None if initial is None else initial[index], method))
    threads = min(threads or _cores[0], len(tasks))
    if threads <= 1:
        return [_fit(*task) for task in tasks]
    # the compiled code releases the GIL; a pool of Python threads is safe where numba's own is not (calls
    # from several threads)
    n, fits = 4 * threads, [None] * len(tasks)
    with ThreadPoolExecutor(threads) as pool:
        parts = pool.map(lambda part: [_fit(*task) for task in part], [tasks[i::n] for i in range(n)])
        for i, part in enumerate(parts):
            fits[i::n] = part
    return fits


class Points(NamedTuple):
    """What is fitted to: columns (D, P), y (P,) and its `measures`; with weights a last column √w and √w·y."""

    columns: np.ndarray
    y: np.ndarray
    measured: np.ndarray
    weights: np.ndarray | None = None

    @classmethod
    def of(cls, columns: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Points:
        if weights is None or not np.isfinite(y).all():
            return cls(columns, y, measures(y))
        weights = np.array(weights, np.float64)
        root = roots(weights, y.size)
        measured = measures(root * y)
        measured[1] = total(y / measured[0], weights) or 1.0
        return cls(np.vstack([columns, root]), root * y, measured, weights)

    def outcome(self, program: np.ndarray, constants: np.ndarray) -> tuple[int, float, float]:
        """Undefined points, R² and mean squared error of a program that is √w times an expression."""
        undefined, r2, mse = outcome(program, constants, self.columns, self.y)
        if self.weights is not None and not undefined:
            root, expression = self.columns[-1], program[2:]
            stack = np.empty((stack_size(expression), self.y.size))
            run(expression, constants, self.columns, stack)
            r2 = weighted_score(self.y / root, stack[0], self.weights)
        return undefined, r2, mse


def measures(y: np.ndarray) -> np.ndarray:
    """How to measure residuals: half the largest deviation of y, Σ of squared deviations in this unit, median
    of y, median deviation."""
    if y.size == 0 or not np.isfinite(y).all():
        return np.full(4, np.nan)
    unit, total = spread(y)
    if unit == 0.0:  # y is constant: measure in its own size
        unit, total = abs(y[0]) or 1.0, 1.0
    # Halves are taken because the mean of the two middle ones may overflow.
    unit, middle = max(unit, 1e-290), np.median(y / 2) * 2
    return np.array([unit, total, middle, max(np.median(np.abs(y / 2 - middle / 2)) * 2, 1e-6 * unit)])


def _fit(prefix: Prefix, points: Points, starts: int, seed: int, initial, method: Method) -> Fit:
    """One job in the reader's terms: compiled fit, then a score and a reason."""
    columns, y, measured, weights = points
    try:
        program, K = prepare_program(prefix, len(columns) - (weights is not None))
    except ExpressionError as error:
        return Fit((), -math.inf, math.inf, str(error))
    if weights is not None:
        program = np.concatenate([np.array([MUL, len(columns)]), program])
    neutral = (math.nan,) * K
    if y.size == 0:
        return Fit(neutral, -math.inf, math.inf, "there are no points")
    if np.isnan(measured[0]):
        return Fit(neutral, -math.inf, math.inf, "y is not finite at every point")
    if initial is not None and K and np.size(initial) % K:
        needed = f"needs {K} constants, got {np.size(initial)} numbers"
        raise ValueError(f"a start for {' '.join(prefix)} {needed}")
    # The shape is (I, K).
    first = np.empty((0, K)) if initial is None or K == 0 else np.array(initial, np.float64).reshape(-1, K)
    first = first[np.isfinite(first).all(axis=1)]
    if method == "bfgs":
        begun = np.concatenate([first, normal_starts(program, K, seed % 2**63)])
        constants, evaluations = fit_bfgs(program, columns, y, begun)
        undefined, r2, mse = points.outcome(program, constants)
    else:
        begun = np.empty((max(starts + len(first), 1), K))
        given = program, K, columns, y, measured, seed % 2**63, first, SEARCHED, ENOUGH, begun
        constants, undefined, r2, mse, _, evaluations = fit_program(*given)
        if weights is not None:
            undefined, r2, mse = points.outcome(program, constants)
    found = tuple(constants.tolist())
    if undefined:
        why = f"undefined at {undefined} of {y.size} points"
        return Fit(found, -math.inf, math.inf, why, evaluations)
    return Fit(found, r2, mse, f"{K} constants for {y.size} points" if K > y.size else "", evaluations)


@njit(**COMPILE)
def fit_program(program, K, X, y, measured, seed, initial, searched, enough, begun):
    """Multi-start fit of one program to X (D, P), y (P,): constants, undefined points, R², mse, number of
    starts used, evaluations (see `Fit`).

    As many starts as begun (I + starts, K) has rows; it receives them. Stops at the first one whose loss is
    at most the share `enough` of the variance of y.
    """
    unit, total, middle, typical = measured
    floor = total * 1e-26 + y.size * (4e-16 * (abs(middle) / unit + 1.0)) ** 2  # below, the loss is rounding
    linear, kind, width = analyse(program, K)
    task, work = new_task(program, X, y, linear, unit, middle, 0.0)
    soft, soft_work = new_task(program, X, y, np.zeros(K, np.bool_), unit, middle, typical)
    stride = max(y.size // SEARCH_POINTS, 1)
    few_X, few_y = np.empty((len(X), -(-y.size // stride))), np.empty(-(-y.size // stride))
    for p in range(few_y.size):
        few_y[p] = y[p * stride]
        for d in range(len(X)):
            few_X[d, p] = X[d, p * stride]
    sample, sample_work = new_task(program, few_X, few_y, linear, unit, middle, 0.0)
    u, steps = even_steps(~linear, new_stream(seed, program))

    best, c, lowest, used = np.empty(K), np.empty(K), np.inf, 0
    for s in range(len(begun)):
        used += 1
        chordal = (s - len(initial)) % 2 == 1
        if s < len(initial):
            copy(initial[s], c)
            chordal = False
        elif s == len(initial):
            for k in range(K):
                c[k] = 1.0 if kind[k] == FACTOR else 0.0
        else:
            search(sample, sample_work, kind, width, searched, typical if chordal else 0.0, u, steps, c)
        copy(c, begun[s])
        if chordal:
            project(task, work, c)
            descend(soft, soft_work, c, 1e-2, 1e-24)
        loss = descend(task, work, c, 1e-2, floor)
        if loss < lowest:
            lowest = loss
            copy(c, best)
        if lowest <= enough * total or count(linear) == K:
            break
    if lowest > floor and lowest < UNDEFINED:
        descend(task, work, best, 1e-6, floor)
    undefined, r2, mse = outcome(program, best, X, y)
    spent = work.spent[0] + soft_work.spent[0] + sample_work.spent[0] * few_y.size / y.size
    return best, undefined, r2, mse, used, spent


@njit(**COMPILE)
def outcome(program, c, X, y):
    """Of fitted constants: how many points are undefined, R² and mean squared error."""
    stack = np.empty((stack_size(program), y.size))
    run(program, c, X, stack)
    undefined, mse = 0, 0.0
    for p in range(y.size):
        undefined += not abs(stack[0, p]) < np.inf
        mse += (y[p] - stack[0, p]) ** 2 / y.size
    return undefined, score(y, stack[0]), mse


@njit(**COMPILE)
def spread(y: np.ndarray) -> tuple[float, float]:
    """Half the largest distance of y from its mean (the unit of all residuals), and Σ ((y - mean) / unit)²;
    zeros for a constant y."""
    largest, mean, unit, total, constant = 0.0, 0.0, 0.0, 0.0, True
    for p in range(y.size):
        largest = max(largest, abs(y[p]))
        constant &= y[p] == y[0]
    if constant:  # whatever rounding says about its mean
        return 0.0, 0.0
    for p in range(y.size):
        # It is scaled, so that 1e308 does not overflow; halves stand below for the same reason.
        mean += y[p] / largest / y.size
    mean *= largest
    for p in range(y.size):
        unit = max(unit, abs(y[p] / 2 - mean / 2))
    if unit == 0.0:
        return 0.0, 0.0
    for p in range(y.size):
        total += (2.0 * ((y[p] / 2 - mean / 2) / unit)) ** 2
    return unit, total


@njit(**COMPILE)
def score(y: np.ndarray, y_hat: np.ndarray) -> float:
    """R² of finite values, residuals measured in units of the spread of y."""
    unit, total = spread(y)
    residual, worst, largest = 0.0, 0.0, 0.0
    for p in range(y.size):
        half = y[p] / 2 - y_hat[p] / 2
        worst, largest = max(worst, abs(half)), max(largest, abs(y[p]))
        if unit > 0.0:
            residual += (2.0 * (half / unit)) ** 2
    if unit == 0.0:
        return 1.0 if worst <= 1e-12 * largest else -np.inf
    return 1.0 - residual / total
