"""Combinations: a linear combination of verified terms, for tables in which no short formula is to be found.

    y ≈ c0 + c1·u1 + … + ck·uk

The terms u are the formulas that a search found, the short terms of `nsr.search.plain_forms`, and waves of single
columns. They are added one after the other, each time the one that explains most of what is left (orthogonal
matching pursuit); how many is decided by cross-validation, in which the terms are fitted and chosen anew in every
fold. Letters: P points, D columns, T terms, F formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from nsr.formulas.expressions import VARIABLES, Prefix, Token, Valued, join, nest_valued, number
from nsr.numbers.evaluation import evaluate
from nsr.numbers.fitting import fit_constants
from nsr.numbers.weighting import roots
from nsr.search.plain_forms import different, fraction, telling, terms_of, values_of

MOST = 20  # terms
FOLDS = 5
NEW = 1e-3  # a term is left out if the chosen ones explain all but this share of it: large constants would cancel
POLE = (
    0.05  # a denominator changes its sign or is smaller than this share of its largest value: a pole is near
)
WAVES = (0.5, 1.0, 1.5, 2.0, 3.0)  # of sin kx and cos kx: k in units of 1 / x's standard deviation
SHORTER = 0.5  # standard errors: the smallest number of terms whose error is so close to the least


class Combination(NamedTuple):
    """The formula, and its squared errors (P,) in rows that it was not fitted to, beside those (F, P) of the
    formulas that were given."""

    formula: Valued
    errors: np.ndarray
    theirs: np.ndarray

    @property
    def predicts_better(self) -> bool:
        """Whether its errors are smaller than those of the first formula, by more than one standard error."""
        gain = self.theirs[0] - self.errors
        return not bool(gain.mean() <= gain.std() / np.sqrt(len(gain)))  # also where the formula has no value


def combination(
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None = None,
    formulas: Sequence[Valued] = (),
    forbidden: frozenset[Token] = frozenset(),
    admits: Callable[[Prefix], bool] | None = None,
) -> Combination | None:
    """The combination with the smallest error in rows that are left out; None if the terms say nothing.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(1, 5, (200, 2))
    >>> y = 2 * X[:, 0] + np.sin(X[:, 1]) + 0.3 * X[:, 1] ** 2 + 0.1 * rng.standard_normal(200)
    >>> found = combination(X, y, formulas=[(("mul", "C", "x1"), (2.0,))])
    >>> found.predicts_better, bool(found.errors.mean() < 0.02)
    (True, True)
    """
    P, root = len(y), roots(weights, len(y))
    most = min(MOST, (P - 5) // 4)
    terms, Z = usable_terms(X, forbidden, admits)
    if most < 1 or not (terms or formulas):
        return None
    folds = np.random.default_rng(0).permutation(P) % FOLDS
    errors, theirs = np.full((most + 1, P), np.inf), np.full((len(formulas), P), np.inf)
    for k in range(FOLDS):
        given, left = folds != k, folds == k
        share = None if weights is None else weights[given]
        fitted = [refitted(one, X[given], y[given], share) for one in formulas]
        F = values(fitted, X)
        theirs[:, left] = (root[left] * (y[left] - F[:, left])) ** 2
        every = np.vstack([F, Z])
        chosen = pursued(every[:, given], y[given], root[given], most)
        for n in range(len(chosen) + 1):
            c = solved(every[chosen[:n]][:, given], y[given], root[given])
            errors[n, left] = (root[left] * (y[left] - c[0] - c[1:] @ every[chosen[:n]][:, left])) ** 2
    mean = errors.mean(1)
    if not np.isfinite(mean).any():
        return None
    with np.errstate(invalid="ignore"):
        close = mean <= mean.min() + SHORTER * (errors - errors[mean.argmin()]).std(1) / np.sqrt(P)
    n = int(np.flatnonzero(close)[0])
    every, written = np.vstack([values(formulas, X), Z]), [*formulas, *terms]
    chosen = pursued(every, y, root, n)
    if not chosen:
        return None
    c = solved(every[chosen], y, root)
    parts = [join("mul", number(float(a)), written[i]) for a, i in zip(c[1:], chosen)]
    return Combination(nest_valued("add", [*parts, number(float(c[0]))]), errors[n], theirs)


def values(formulas: Sequence[Valued], X: np.ndarray) -> np.ndarray:
    """(F, P): the formulas at X, 0 where one has no value somewhere, so that it is never chosen."""
    F = np.array([evaluate(prefix, X, constants) for prefix, constants in formulas]).reshape(
        len(formulas), len(X)
    )
    return np.where(np.isfinite(F).all(1, keepdims=True), F, 0.0)


def refitted(formula: Valued, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Valued:
    prefix, constants = formula
    if not constants:
        return formula
    return prefix, fit_constants(prefix, X, y, starts=0, initial=constants, weights=weights).constants


def usable_terms(
    X: np.ndarray, forbidden: frozenset[Token], admits: Callable[[Prefix], bool] | None = None
) -> tuple[list[Valued], np.ndarray]:
    """Terms without poles near the rows of X (P, D) that differ from each other and are admitted, and their
    values (T, P)."""
    if forbidden & {"mul", "add"}:
        return [], np.empty((0, len(X)))
    with np.errstate(all="ignore"):
        every = telling(terms_of(X.shape[1]), X)
        below = {f: evaluate(f, X) for f in {f for term in every for f in term.below}}
        poles = {
            f
            for f, v in below.items()
            if not v.min() * v.max() > 0 or np.abs(v).min() < POLE * np.abs(v).max()
        }
        every = [term for term in every if not poles & set(term.below)]
        waves = [
            join(token, join("mul", number(float(f"{times / spread:.2g}")), ((name,), ())))
            for name, spread in zip(VARIABLES, X.std(0))
            for times in WAVES
            for token in ("sin", "cos")
            if spread > 0
        ]
        written = [
            *(fraction(1.0, [(f, ()) for f in t.above], [(f, ()) for f in t.below]) for t in every),
            *waves,
        ]
        Z = np.vstack([values_of(every, X), *(evaluate(prefix, X, c)[None] for prefix, c in waves)])  # (T, P)
        fine = np.isfinite(Z).all(1) & (np.abs(Z).max(1) < 1e100) & (np.ptp(Z, axis=1) > 0)
        fine &= [not forbidden & set(prefix) and (not admits or admits(prefix)) for prefix, _ in written]
        written, Z = [one for one, use in zip(written, fine) if use], Z[fine]
        chosen = different(Z) if written else np.arange(0)
    return [written[i] for i in chosen], Z[chosen]


def pursued(Z: np.ndarray, y: np.ndarray, root: np.ndarray, most: int) -> list[int]:
    """Which rows of Z (T, P) explain most of y (P,), one after the other."""
    q = root / np.linalg.norm(root)
    R, t = Z * root, y * root  # (T, P), (P,)
    R, t = R - np.outer(R @ q, q), t - (t @ q) * q
    norms = np.linalg.norm(R, axis=1)
    R = R / np.where(norms > 0, norms, np.inf)[:, None]
    left, chosen = np.sum(R * R, axis=1), []  # (T,): the share of each that is new
    for _ in range(most):
        gain = np.where(left > NEW, (R @ t) ** 2 / np.maximum(left, NEW), 0.0)
        i = int(gain.argmax())
        if not gain[i] > 0:
            break
        chosen.append(i)
        q = R[i] / np.linalg.norm(R[i])
        R, t = R - np.outer(R @ q, q), t - (t @ q) * q
        left = np.sum(R * R, axis=1)
    return chosen


def solved(Z: np.ndarray, y: np.ndarray, root: np.ndarray) -> np.ndarray:
    """The offset and the coefficients (1 + n,) of the rows of Z (n, P) by least squares."""
    A = np.column_stack([np.ones(len(y)), Z.T]) * root[:, None]
    scale = np.linalg.norm(A, axis=0)
    return np.linalg.lstsq(A / scale, y * root, rcond=None)[0] / scale
