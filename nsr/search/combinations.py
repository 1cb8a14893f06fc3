"""Combinations: a linear combination of verified terms, for tables in which no short formula is to be found.

    y ≈ c0 + c1·u1 + … + ck·uk

The terms u are two of the formulas that a search found, and either the short terms of `nsr.search.plain_forms` with
waves of single columns, or fewer: squares, products and waves. Of few rows nobody can choose among thousands. They are
added one after the other, each time the one that explains most of what is left (orthogonal matching pursuit); which
terms and how many is decided by cross-validation, in which the terms are fitted and chosen anew in every fold.
Letters: P points, D columns, T terms, F formulas.
"""

from __future__ import annotations

import itertools
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
STEEP = 1e4  # an exponential is left out whose largest value is so many times its smallest
FORMULAS = 2  # of those that are given are terms, too
PRODUCT_WAVES = (0.5, 1.0, 1.5, 2.0)  # of sin kuv: k in units of π / (size of u · size of v)
WAVES = (0.5, 1.0, 1.5, 2.0, 3.0)  # of sin kx and cos kx: k in units of 1 / x's standard deviation
SHORTER = 0.5  # standard errors: the smallest number of terms whose error is so close to the least
Admits = Callable[[Prefix], bool] | None  # whether a term may stand in an answer; None: any may


class Combination(NamedTuple):
    """The formula, and its squared errors (P,) in rows that it was not fitted to, beside those (F, P) of the
    formulas that were given."""

    formula: Valued
    errors: np.ndarray
    theirs: np.ndarray

    @property
    def best_given(self) -> int:
        """The number of the given formula that predicts best; 0 if that is not clearly better than the first."""
        k = int(self.theirs.mean(1).argmin())
        return k if are_smaller(self.theirs[k], self.theirs[0]) else 0

    @property
    def predicts_better(self) -> bool:
        """Whether its errors are clearly smaller than those of the best given formula."""
        return are_smaller(self.errors, self.theirs[self.best_given])


def are_smaller(errors: np.ndarray, others: np.ndarray) -> bool:
    """Whether some squared errors (P,) are smaller than others, by more than one standard error."""
    with np.errstate(invalid="ignore"):
        gain = others - errors
        # true also where the others are infinite
        return bool(np.isfinite(errors).all()) and not bool(gain.mean() <= gain.std() / np.sqrt(len(gain)))


def combination(
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None = None,
    formulas: Sequence[Valued] = (),
    forbidden: frozenset[Token] = frozenset(),
    admits: Admits = None,
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
    dictionaries = [
        one for one in (usable_terms(X, forbidden, admits), few_terms(X, forbidden, admits)) if one[0]
    ]
    if most < 1 or not (dictionaries or formulas):
        return None
    folds = np.random.default_rng(0).permutation(P) % FOLDS
    theirs, fitted = np.full((len(formulas), P), np.inf), []
    for k in range(FOLDS):
        given, left = folds != k, folds == k
        share = None if weights is None else weights[given]
        F = values([refitted(one, X[given], y[given], share) for one in formulas], X)
        theirs[:, left] = np.nan_to_num((root[left] * (y[left] - F[:, left])) ** 2, nan=np.inf)
        fitted.append(with_values(F[:FORMULAS]))
    options = []
    for terms, Z in dictionaries or [([], np.empty((0, P)))]:
        errors = np.full((most + 1, P), np.inf)
        for k in range(FOLDS):
            given, left = folds != k, folds == k
            every = np.vstack([fitted[k], Z])
            chosen = pursued(every[:, given], y[given], root[given], most)
            for n in range(len(chosen) + 1):
                c = solved(every[chosen[:n]][:, given], y[given], root[given])
                errors[n, left] = (root[left] * (y[left] - c[0] - c[1:] @ every[chosen[:n]][:, left])) ** 2
        mean = errors.mean(1)
        with np.errstate(invalid="ignore"):
            close = mean <= mean.min() + SHORTER * (errors - errors[mean.argmin()]).std(1) / np.sqrt(P)
        n = int(np.argmax(close))
        options.append((float(mean[n]), n, errors[n], terms, Z))
    best, n, errors, terms, Z = min(options, key=lambda option: option[0])
    if not np.isfinite(best):
        return None
    every, written = (
        np.vstack([with_values(values(formulas[:FORMULAS], X)), Z]),
        [*formulas[:FORMULAS], *terms],
    )
    chosen = pursued(every, y, root, n)
    if not chosen:
        return Combination(number(float(np.average(y, weights=weights))), np.full(P, np.inf), theirs)
    c = solved(every[chosen], y, root)
    parts = [join("mul", number(float(a)), written[i]) for a, i in zip(c[1:], chosen)]
    return Combination(nest_valued("add", [*parts, number(float(c[0]))]), errors, theirs)


def values(formulas: Sequence[Valued], X: np.ndarray) -> np.ndarray:
    """(F, P): the formulas at X."""
    found = [evaluate(prefix, X, constants) for prefix, constants in formulas]
    return np.array(found).reshape(len(formulas), len(X))


def with_values(F: np.ndarray) -> np.ndarray:
    """Formulas (F, P), 0 where one has no value somewhere, so that it is never chosen."""
    return np.where(np.isfinite(F).all(1, keepdims=True), F, 0.0)


def refitted(formula: Valued, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Valued:
    prefix, constants = formula
    if not constants:
        return formula
    return prefix, fit_constants(prefix, X, y, starts=0, initial=constants, weights=weights).constants


def usable_terms(
    X: np.ndarray, forbidden: frozenset[Token], admits: Admits = None
) -> tuple[list[Valued], np.ndarray]:
    """Terms that differ from each other, without poles near the rows of X (P, D) and without steep exponentials, and
    their values (T, P)."""
    if forbidden & {"mul", "add"}:
        return [], np.empty((0, len(X)))
    with np.errstate(all="ignore"):
        every = telling(terms_of(X.shape[1]), X)
        steep = {
            f
            for f in {f for term in every for f in (*term.above, *term.below) if f[0] == "exp"}
            if not (v := evaluate(f, X)).max() < STEEP * v.min()
        }
        every = [term for term in every if not steep & {*term.above, *term.below}]
        below = {f: evaluate(f, X) for f in {f for term in every for f in term.below}}
        poles = {
            f
            for f, v in below.items()
            if not v.min() * v.max() > 0 or np.abs(v).min() < POLE * np.abs(v).max()
        }
        every = [term for term in every if not poles & set(term.below)]
        waves = waves_in(X)
        written = [
            *(fraction(1.0, [(f, ()) for f in t.above], [(f, ()) for f in t.below]) for t in every),
            *waves,
        ]
        return _fine(written, np.vstack([values_of(every, X), values(waves, X)]), forbidden, admits)


def few_terms(
    X: np.ndarray, forbidden: frozenset[Token], admits: Admits = None
) -> tuple[list[Valued], np.ndarray]:
    """Columns of X (P, D), their squares, products, roots and logarithms, and waves of columns and of products of two,
    each measured from its smallest value; and the values (T, P) of all these."""
    if forbidden & {"mul", "add"}:
        return [], np.empty((0, len(X)))
    low, size = X.min(0), np.ptp(X, axis=0)
    columns = [j for j in range(X.shape[1]) if size[j] > 0]
    functions = [(), ("pow2",), ("sqrt",), ("log",)]
    written: list[Valued] = [((*f, VARIABLES[j]), ()) for j in columns for f in functions]
    written += waves_in(X)
    for i, j in itertools.combinations(columns, 2):
        written.append((("mul", VARIABLES[i], VARIABLES[j]), ()))
        above = [join("sub", ((VARIABLES[k],), ()), number(float(f"{low[k]:.3g}"))) for k in (i, j)]
        for times in PRODUCT_WAVES:
            pace = number(float(f"{times * np.pi / (size[i] * size[j]):.3g}"))
            written += [join(token, join("mul", pace, join("mul", *above))) for token in ("sin", "cos")]
    with np.errstate(all="ignore"):
        return _fine(written, values(written, X), forbidden, admits)


def waves_in(X: np.ndarray) -> list[Valued]:
    """sin kx and cos kx of every column of X (P, D) that varies."""
    return [
        join(token, join("mul", number(float(f"{times / spread:.2g}")), ((name,), ())))
        for name, spread in zip(VARIABLES, X.std(0))
        for times in WAVES
        for token in ("sin", "cos")
        if spread > 0
    ]


def _fine(
    written: list[Valued], Z: np.ndarray, forbidden: frozenset[Token], admits: Admits
) -> tuple[list[Valued], np.ndarray]:
    """The terms that are allowed and admitted, have values Z (T, P) at all rows, vary and differ from each other."""
    fine = np.isfinite(Z).all(1) & (np.abs(Z).max(1) < 1e100) & (np.ptp(Z, axis=1) > 0)
    fine &= [not forbidden & set(prefix) and (not admits or admits(prefix)) for prefix, _ in written]
    written, Z = [one for one, use in zip(written, fine) if use], Z[fine]
    chosen = different(Z) if written else np.arange(0)
    return [written[i] for i in chosen], Z[chosen]


def pursued(Z: np.ndarray, y: np.ndarray, root: np.ndarray, most: int) -> list[int]:
    """Which rows of Z (T, P) explain most of y (P,), one after the other."""
    share = root**2 / (root @ root)
    R, t = (Z - (Z @ share)[:, None]) * root, (y - y @ share) * root  # (T, P), (P,)
    norms = np.linalg.norm(R, axis=1)
    R /= np.where(norms > 0, norms, np.inf)[:, None]
    # single precision is enough to choose by
    R, t = R.astype(np.float32), (t / (np.linalg.norm(t) or 1.0)).astype(np.float32)
    # the share of each term that is new (T,), and an orthonormal basis of the chosen ones
    left, chosen, Q = (norms > 0).astype(float), [], np.empty((0, len(y)), np.float32)
    for _ in range(most):
        gain = np.where(left > NEW, (R @ t) ** 2 / np.maximum(left, NEW), 0.0)
        i = int(gain.argmax())
        if not gain[i] > 0:
            break
        chosen.append(i)
        q = R[i] - (R[i] @ Q.T) @ Q
        q /= np.linalg.norm(q)
        Q = np.vstack([Q, q])
        t = t - (t @ q) * q
        left -= (R @ q) ** 2
    return chosen


def solved(Z: np.ndarray, y: np.ndarray, root: np.ndarray) -> np.ndarray:
    """The offset and the coefficients (1 + n,) of the rows of Z (n, P) by least squares."""
    A = np.column_stack([np.ones(len(y)), Z.T]) * root[:, None]
    scale = np.linalg.norm(A, axis=0)
    return np.linalg.lstsq(A / scale, y * root, rcond=None)[0] / scale
