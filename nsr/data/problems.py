"""A problem: points (X, y), perhaps the expression behind them, and fresh points of the same support to
report on.

Data that no search can work with are refused here, in a sentence, before any search starts. Letters: P
points, D variables.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from nsr.formulas.expressions import VARIABLES, Prefix, check, variables
from nsr.numbers.evaluation import evaluate

HALF_MAX = 65504.0  # the largest number that the network's 16 bits can hold


class ProblemError(ValueError):
    """Data that no search can work with; the message says what is wrong with them."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Points X (P, D) and values y (P,), perhaps with the true expression and fresh points to report on.

    >>> Problem([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0], name="line")
    Problem('line': 3 points, 1 variable)
    >>> Problem([[0.0], [1.0]], [1.0, float("nan")])
    Traceback (most recent call last):
    nsr.data.problems.ProblemError: y has 1 value that is nan or infinite (first at point 2 of 2)
    """

    X: np.ndarray
    y: np.ndarray
    name: str = ""
    truth: Prefix | None = None
    truth_constants: tuple[float, ...] = ()
    X_fresh: np.ndarray | None = None
    y_fresh: np.ndarray | None = None
    floor: float | None = None  # share of y's variance that is mere rounding; None: as y's digits say
    weights: np.ndarray | None = None  # (P,) of the points, above 0; None: all count the same

    def __post_init__(self) -> None:
        where, keep = f"problem {self.name!r}: " if self.name else "", partial(object.__setattr__, self)
        X, y = _checked(self.X, self.y, "X", "y", where)
        keep("X", X)
        keep("y", y)
        if (self.X_fresh is None) != (self.y_fresh is None):
            raise ProblemError(f"{where}X_fresh and y_fresh belong together; one of them is missing")
        if self.X_fresh is not None:
            X_fresh, y_fresh = _checked(self.X_fresh, self.y_fresh, "X_fresh", "y_fresh", where)
            if X_fresh.shape[1] != X.shape[1]:
                raise ProblemError(f"{where}X has {X.shape[1]} columns, but X_fresh has {X_fresh.shape[1]}")
            keep("X_fresh", X_fresh)
            keep("y_fresh", y_fresh)
        if self.floor is None:
            keep("floor", rounding_floor(y))
        if self.truth is not None:
            keep("truth", check(self.truth))
        if self.weights is not None:
            weights = np.array(self.weights, np.float64)
            if weights.shape != y.shape or not (np.isfinite(weights) & (weights > 0)).all():
                raise ProblemError(f"{where}weights are {len(y)} finite numbers above 0, one for each point")
            if X.shape[1] == len(VARIABLES):  # √w needs a column (nsr.numbers.weighting)
                raise ProblemError(f"{where}weighted points have at most {len(VARIABLES) - 1} variables")
            keep("weights", weights)

    def __repr__(self) -> str:
        P, D = self.X.shape
        return f"Problem({self.name!r}: {P} points, {D} variable{'s' * (D > 1)})"

    @property
    def n_variables(self) -> int:
        return self.X.shape[1]

    def part(
        self, rows: np.ndarray | slice = slice(None), n_columns: int | None = None, name: str | None = None
    ) -> Problem:
        """Some of the given points and the first columns."""
        weights = None if self.weights is None else self.weights[rows]
        points, name = (self.X[rows, :n_columns], self.y[rows]), self.name if name is None else name
        return Problem(*points, name, floor=self.floor, weights=weights)

    def stream(self, seed: int) -> np.random.Generator:
        """Random numbers that depend on the seed and on this problem alone, so that company never changes a
        search."""
        digest = hashlib.sha256(self.name.encode() + self.X.tobytes() + self.y.tobytes()).digest()
        return np.random.default_rng([seed, *np.frombuffer(digest, dtype=np.uint32)])

    @classmethod
    def from_expression(
        cls,
        prefix: Prefix,
        constants: Sequence[float] = (),
        *,
        rng: np.random.Generator,
        n_points: int = 100,
        n_fresh: int = 100,
        support: Sequence[tuple[float, float]] | None = None,
        n_variables: int | None = None,
        noise: float = 0.0,
        name: str = "",
    ) -> Problem:
        """Sample points of an expression: x_d ~ U(low_d, high_d), kept where y is finite and within half
        precision.

        Without `support` each variable gets low ~ U(−10, 9), high ~ U(low + 1, 10), drawn again (up to 100
        times) until a fifth of the points is valid, as in the published code. `noise` adds Gaussian noise of
        that share of y's standard deviation to the given points, never to the fresh ones. Variables that do
        not occur are zero, as in training.
        """
        used = [VARIABLES.index(v) for v in variables(prefix)]
        D = n_variables or max(used, default=0) + 1
        if used and used[-1] >= D:
            raise ProblemError(f"the expression uses x{used[-1] + 1}, but n_variables is {D}")
        if support is not None and len(support) != D:
            raise ProblemError(f"support has {len(support)} pairs (low, high), but there are {D} variables")
        wanted = n_points + n_fresh
        for _ in range(100 if support is None else 5):
            if support is None:
                low = rng.uniform(-10, 9, D)
                high = rng.uniform(low + 1, 10)
            else:
                low, high = np.array(support, float).T
            X = np.zeros((5 * wanted, D))
            X[:, used] = rng.uniform(low, high, (5 * wanted, D))[:, used]
            y = evaluate(prefix, X, constants)
            good = np.flatnonzero(np.abs(y) < HALF_MAX)[:wanted]  # nan compares false
            given, fresh = good[:n_points], good[n_points:]
            if len(good) == wanted and np.ptp(y[given]) > 0 and (n_fresh < 2 or np.ptp(y[fresh]) > 0):
                rest = (X[fresh], y[fresh]) if n_fresh else (None, None)
                truth = tuple(prefix), tuple(float(c) for c in constants)
                return cls(X[given], noisy(y[given], noise, rng), name, *truth, *rest)
        few = f"too few finite values on its support to draw {wanted} points from"
        raise ProblemError(f"{name or 'the expression'} has {few}")


def noisy(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """y with Gaussian noise of that share of its standard deviation; y itself for 0, and then nothing is
    drawn."""
    return y + share * y.std() * rng.standard_normal(len(y)) if share else y


def rounding_floor(y: np.ndarray, digits: int = 7) -> float:
    """The share of y's variance that its rounding to decimals makes: step² / 12 / var(y), 0 for whole numbers
    and for all digits.

    A step of 10⁻ᵏ leaves errors that are uniform in ± half a step. Whole numbers may be counts, which nobody
    rounded.

    >>> y = np.array([0.13, 2.71, 5.0, 3.14])
    >>> bool(rounding_floor(y) == 0.01**2 / 12 / y.var()), rounding_floor(np.arange(9.0)), rounding_floor(np.sqrt(np.arange(9.0)))
    (True, 0.0, 0.0)
    """
    largest, variance = float(np.abs(y).max()), float(y.var())
    if not 1e-100 < largest < 1e100 or variance == 0.0:
        return 0.0
    for k in range(digits - math.floor(math.log10(largest))):
        scaled = y * 10.0**k
        if np.all(np.abs(scaled - np.round(scaled)) < 1e-7):
            return 10.0 ** (-2 * k) / 12 / variance if k else 0.0
    return 0.0


def _checked(X, y, x_name: str, y_name: str, where: str) -> tuple[np.ndarray, np.ndarray]:
    """The points as float64 arrays of their own, or a sentence about what is wrong with them."""
    arrays = []
    for name, values in ((x_name, X), (y_name, y)):
        try:
            array = np.array(values)
            if np.iscomplexobj(array):
                raise TypeError
            arrays.append(np.ascontiguousarray(array, dtype=np.float64))
        except (TypeError, ValueError):
            raise ProblemError(f"{where}{name} is not a table of real numbers") from None
    X, y = arrays
    if X.ndim != 2 or X.shape[1] == 0:
        raise ProblemError(f"{where}{x_name} has the shape {X.shape}; it must be (points, variables)")
    if y.ndim != 1:
        raise ProblemError(f"{where}{y_name} has the shape {y.shape}; it must be (points,)")
    if len(X) != len(y):
        raise ProblemError(f"{where}{x_name} has {len(X)} points, but {y_name} has {len(y)}")
    if X.shape[1] > len(VARIABLES):
        raise ProblemError(f"{where}{x_name} has {X.shape[1]} variables; at most {len(VARIABLES)} have names")
    if len(y) < 2:
        many = f"{len(y)} point{'s' * (len(y) != 1)}"
        raise ProblemError(f"{where}{many}; at least 2 are needed to tell expressions apart")
    for name, array in ((x_name, X), (y_name, y)):
        bad = ~np.isfinite(array.reshape(len(array), -1))
        if bad.any():
            n, first = int(bad.sum()), int(np.flatnonzero(bad.any(1))[0]) + 1
            verb = "values that are" if n > 1 else "value that is"
            place = f"first at point {first} of {len(array)}"
            raise ProblemError(f"{where}{name} has {n} {verb} nan or infinite ({place})")
    if np.ptp(y) == 0:
        why = "R² is undefined and there is nothing to search for"
        raise ProblemError(f"{where}{y_name} is the constant {y[0]:g}; {why}")
    return X, y
