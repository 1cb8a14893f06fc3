"""Product forms: short formulas that are products, tried on every table beside the sums of
`nsr.search.plain_forms`.

    log |y| = c + Σ n_j · log |x_j| + Σ m_k · log |f_k|

The logarithms of all columns are always there. A factor f is a function of a column, a sum of two terms a + θb,
exp(θu) − 1, exp(θu) + 1 or log(1 + θu), where θ is looked for on a grid and then by Newton's method; exp(θu) itself is a term u
of the logarithm. All single factors and all pairs of the good ones are compared by least squares.

A sum has no short form for y = x1·(x2 − x3)·x4/x5 or for x1·√(1 − x2²/c²); a product finds them at once.
Letters: P points, D columns, M factors.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nsr.formulas.expressions import VARIABLES, ExpressionError, Prefix, Valued, join, number
from nsr.formulas.parsing import power
from nsr.numbers.evaluation import evaluate
from nsr.numbers.weighting import roots
from nsr.search.plain_forms import Term, added, different, fraction, largest, telling, values_of

GRID = tuple(10.0 ** (k / 4) for k in range(-6, 7))  # sizes of θ, where 1 makes both terms equally large
PAIRED = 60  # factors that are paired with all others
TRIED = 24  # single factors and pairs whose θ is looked for
KEPT = 6  # products that are handed on
STEPS = 8  # of Newton's method
EXACT = 1e-20  # share of the variance of log |y| below which nothing is left to explain
LITTLE = 0.3  # of the median of |y|: smaller values count less, since an error of y is large beside them
HALF = 1e-3  # an exponent so close to a multiple of 1/2 is that multiple
ALIKE = 1e-4  # a + b and a − b are tried where the smaller is typically at least this share of the larger
ONE = 1e-6  # a θ that differs from ±1 by this share is ±1


class Factor(NamedTuple):
    """A factor of a product: its kind ("of", "sum", "minus", "plus", "log" or "exp"), the terms in it, and θ."""

    kind: str
    one: Term
    other: Term = Term()
    theta: float = 0.0

    @property
    def size(self) -> int:
        return self.one.size + self.other.size

    def written(self) -> Valued:
        """The factor itself; "exp" has none, it stands in the exponent."""
        if self.kind == "of":
            return self.one.above[0], ()
        theta = math.copysign(1.0, self.theta) if abs(abs(self.theta) - 1.0) < ONE else self.theta
        if self.kind == "sum":
            return added([(1.0, self.one), (theta, self.other)])
        if self.kind == "log":
            return join("log", added([(1.0, Term()), (theta, self.one)]))
        inner = join("exp", added([(theta, self.one)]))
        return join("sub" if self.kind == "minus" else "add", inner, number(1.0))


class Product(NamedTuple):
    """|y| = exp(offset) · ∏ |x|ⁿ · ∏ |f|ᵐ, and the share that it leaves of the variance of log |y|."""

    offset: float
    columns: tuple[tuple[float, str], ...]
    factors: tuple[tuple[float, Factor], ...]
    left: float

    @property
    def size(self) -> int:
        return 2 * len(self.columns) + sum(2 + f.size for _, f in self.factors)


def product_forms(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> list[Valued]:
    """Formulas for y (P,) in the columns of X (P, D), with their constants.

    >>> from nsr.formulas.notation import to_infix
    >>> X = np.random.default_rng(0).uniform(1, 20, (60, 3))
    >>> to_infix(*product_forms(X, X[:, 0] * (X[:, 1] - X[:, 2]) ** 2)[0])
    'x1*(x3 - x2)**2'
    """
    found, left = _products(X, y, weights)
    if left > EXACT and np.abs(y).max() <= math.pi / 2:  # y may be an angle
        angles, left = _products(X, np.sin(y), weights)
        found = [join("asin", form) for form in angles] + found if left <= EXACT else found
    return list(dict(reversed(found)).items())[::-1]


def _products(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> tuple[list[Valued], float]:
    """The best products for y, and what the best of them leaves."""
    columns = [j for j in range(X.shape[1]) if np.ptp(X[:, j]) > 0]
    there = y != 0
    if there.sum() < len(columns) + 10 or not there.mean() > 0.9:
        return [], math.inf
    weights = None if weights is None else weights[there]
    with np.errstate(all="ignore"):
        found = _Logarithm(X[there], y[there], columns, weights).products()
        forms = [form for one in found if (form := written(one, X, y)) is not None]
    return forms, min(one.left for one in found)


# -------------------------------------------------------------------------------------------------------------- factors


@lru_cache(maxsize=32)
def terms_of(columns: tuple[int, ...]) -> tuple[list[Term], list[Term]]:
    """Short products of powers of the columns, and such products with a sine or cosine."""
    names = [VARIABLES[j] for j in columns]
    few = len(names) > 5

    def term(above: Iterable[str] = (), below: Iterable[str] = (), square: bool = False) -> Term:
        of = [tuple(sorted((("pow2", n) if square else (n,)) for n in side)) for side in (above, below)]
        return Term(*of)

    powers = [term([n], square=square) for n in names for square in (False, True)]
    powers += [Term((("sqrt", n),)) for n in names]
    for a, b in itertools.combinations(names, 2):
        powers += [
            term(above, below, square)
            for above, below in (([a, b], []), ([a], [b]))
            for square in (False, True)
        ]
        powers += [Term((("pow2", a),), ((b,),)), Term((("pow2", b),), ((a,),))]
        powers += [] if few else [Term(tuple(sorted((("pow2", c), (d,))))) for c, d in ((a, b), (b, a))]
    for triple in itertools.combinations(names, 3) if not few else ():
        powers += [term(triple), *(term([n for n in triple if n != c], [c]) for c in triple)]
        powers += [term([c], [n for n in triple if n != c]) for c in triple]
    for four in itertools.combinations(names, 4) if not few else ():
        powers += [term([n for n in four if n != c], [c]) for c in four]
        powers += [term(pair, [n for n in four if n not in pair]) for pair in itertools.combinations(four, 2)]
    waves = [(token, n) for token in ("sin", "cos") for n in names]
    waves += [("cos", "sub", a, b) for a, b in itertools.combinations(names, 2)]
    waves += [("cos", "mul", a, b) for a, b in itertools.combinations(names, 2)]
    waving = [Term((wave,)) for wave in waves]
    for wave in waves if not few else ():
        waving += [Term(tuple(sorted((wave, (n,))))) for n in names if n not in wave]
        waving += [Term((wave,), ((n,),)) for n in names if n not in wave]
    return list(dict.fromkeys(powers)), list(dict.fromkeys(waving))


@lru_cache(maxsize=32)
def functions_of(columns: tuple[int, ...]) -> list[Term]:
    """Fixed functions of the columns: sines, cosines, logarithms, differences of them, sums of squares."""
    names = [VARIABLES[j] for j in columns]
    inner: list[Prefix] = [(n,) for n in names]
    if len(names) <= 5:
        pairs = list(itertools.combinations(names, 2))
        inner += [(token, a, b) for token in ("sub", "add", "mul") for a, b in pairs]
    found = [(token, *u) for token in ("sin", "cos") for u in inner]
    found += [(token, n) for token in ("log", "tan") for n in names]
    for a, b, c in itertools.combinations(names[:6], 3):
        found += [("add", "pow2", a, "add", "pow2", b, "pow2", c)]
    return [Term((f,)) for f in found]


class _Logarithm:
    """log |y| (P,) and the factors that may explain it, all weighted and without what the columns explain."""

    def __init__(self, X: np.ndarray, y: np.ndarray, columns: list[int], weights: np.ndarray | None) -> None:
        size = np.abs(y)
        self.X, self.weight = X, size / (size + LITTLE * np.median(size)) * roots(weights, len(y))  # (P,)
        self.goal = self.weight * np.log(size)
        self.base = [j for j in columns if (X[:, j] != 0).all()]
        logs = [np.ones(len(y)), *(np.log(np.abs(X[:, j])) for j in self.base)]
        self.B = np.stack(logs, axis=1) * self.weight[:, None]  # (P, 1 + D)
        self.Q = np.linalg.qr(self.B)[0]
        self.total = float(np.sum((self.goal - self.Q[:, 0] * (self.Q[:, 0] @ self.goal)) ** 2)) or 1.0
        self.t = self.goal - self.Q @ (self.Q.T @ self.goal)
        self.columns = tuple(columns)

    def products(self) -> list[Product]:
        alone = self.solved([])
        if alone.left <= EXACT:
            return [alone]
        factors, R = self.screened()  # M, (M, P)
        if not factors:
            return [alone]
        r = R @ self.t
        first = largest(r**2, PAIRED)
        g = R[first] @ R.T  # (S, M)
        apart = 1.0 - g * g
        both = np.where(
            apart > 1e-7, (r[first, None] ** 2 + r**2 - 2 * r[first, None] * r * g) / apart, -np.inf
        )
        pairs = {
            tuple(sorted((int(first[k // len(r)]), int(k % len(r)))))
            for k in largest(both.ravel(), 3 * TRIED)
        }
        singles = largest(r**2, TRIED)
        worth = {(int(i),): r[i] ** 2 for i in singles}
        where = {int(i): n for n, i in enumerate(first)}
        for pair in pairs:
            i, k = pair if pair[0] in where else pair[::-1]
            worth[pair] = both[where[i], k]
        found = [alone]
        for chosen in (singles, sorted(pairs, key=lambda pair: -worth[pair])[:TRIED]):
            found += [self.refined([factors[i] for i in np.atleast_1d(one)]) for one in chosen]
            if min(one.left for one in found) <= EXACT:
                break
        seen: dict = {}
        for one in sorted(
            found, key=lambda one: len(self.goal) / 2 * math.log(max(one.left, EXACT)) + 3.0 * one.size
        ):
            seen.setdefault(tuple((f.kind, f.one, f.other) for _, f in one.factors), one)
        return list(seen.values())[:KEPT]

    def screened(self) -> tuple[list[Factor], np.ndarray]:
        """All factors that say something that the columns do not, and their logarithms (M, P) of length 1."""
        powers, waving = (telling(terms, self.X) for terms in terms_of(self.columns))
        factors = [Factor("of", term) for term in telling(functions_of(self.columns), self.X)]
        factors += [Factor("exp", term) for term in (*powers, *waving)]
        sizes = dict(
            zip((*powers, *waving), np.median(np.abs(values_of([*powers, *waving], self.X)), axis=1))
        )
        for term in (*powers, *waving):
            above, below = Term(term.above), Term(term.below)
            scale = 1.0 / sizes[term] if sizes[term] > 0 else 0.0
            if not (0 < scale < math.inf):
                continue
            thetas = [sign * g * scale for g in GRID for sign in (1.0, -1.0)]
            both = (1.0, -1.0) if ALIKE < scale < 1.0 / ALIKE else ()
            factors += [Factor("sum", below, above, theta) for theta in (*both, *thetas)]
            if term not in waving:
                factors += [Factor(kind, term, theta=t) for kind in ("minus", "plus") for t in thetas[6:-2]]
                factors += [Factor("log", term, theta=t) for t in (1.0, *thetas[::2])]
        values = self.logarithms(factors)
        fine = np.isfinite(values).all(1)
        factors, R = [f for f, use in zip(factors, fine) if use], values[fine]
        del values  # there are tens of thousands of factors
        R *= self.weight
        before = np.linalg.norm(R, axis=1)
        R -= (R @ self.Q) @ self.Q.T
        norms = np.linalg.norm(R, axis=1)
        fine = norms > 1e-7 * before
        chosen = np.array(sorted(np.flatnonzero(fine), key=lambda i: factors[i].size), dtype=int)
        R = R[chosen]
        R /= norms[chosen, None]
        apart = different(R) if len(R) else chosen
        return [factors[chosen[i]] for i in apart], R[apart]

    def logarithms(self, factors: list[Factor]) -> np.ndarray:
        """log |f| (M, P), not weighted; of "exp" the term itself."""
        terms = list({term for f in factors for term in (f.one, f.other)})
        at = dict(zip(terms, values_of(terms, self.X)))
        L = np.empty((len(factors), len(self.X)))
        for row, (kind, one, other, theta) in zip(L, factors):
            a = at[one]
            z = theta * a
            if kind == "sum":
                row[:] = np.log(np.abs(a + theta * at[other]))
            elif kind == "minus":
                row[:] = np.maximum(z, 0.0) + np.log(-np.expm1(-np.abs(z)))
            elif kind == "log":
                row[:] = np.log(np.abs(np.log1p(z)))
            elif kind == "plus":
                row[:] = np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z)))
            else:
                row[:] = np.log(np.abs(a)) if kind == "of" else a
        return L

    def solved(self, factors: list[Factor]) -> Product:
        """The exponents by least squares."""
        logs = (self.logarithms(factors) * self.weight).T if factors else np.empty((len(self.goal), 0))
        A = np.column_stack([self.B, logs])  # (P, 1 + D + n)
        scale = np.linalg.norm(A, axis=0)
        if not (np.isfinite(scale).all() and scale.all()):
            return Product(0.0, (), (), math.inf)
        c = np.linalg.lstsq(A / scale, self.goal, rcond=None)[0] / scale
        left = float(np.sum((self.goal - A @ c) ** 2)) / self.total
        n = 1 + len(self.base)
        powers = tuple((float(e), VARIABLES[j]) for e, j in zip(c[1:n], self.base))
        return Product(float(c[0]), powers, tuple(zip(c[n:].tolist(), factors)), left)

    def refined(self, factors: list[Factor]) -> Product:
        """The product with the θ of its factors improved, by Newton's method on the linearised logarithms."""
        best = self.solved(factors)
        moving = [k for k, f in enumerate(factors) if f.theta]
        for _ in range(STEPS if moving else 0):
            exponents = [e for e, _ in best.factors]
            if best.left <= EXACT or not math.isfinite(best.left) or not all(exponents[k] for k in moving):
                break
            now = [f for _, f in best.factors]
            step = [f._replace(theta=f.theta * (1 + 1e-6)) for f in now]
            logs = self.logarithms([*now, *(step[k] for k in moving)])
            slopes = (logs[len(now) :] - logs[moving]) * 1e6  # by log θ
            A = np.column_stack([self.B, *(self.weight * row for row in (*logs[: len(now)], *slopes))])
            scale = np.linalg.norm(A, axis=0)
            if not (np.isfinite(scale).all() and scale.all()):
                break
            c = np.linalg.lstsq(A / scale, self.goal, rcond=1e-12)[0] / scale
            better = None
            for share in (1.0, 0.3):
                tried = list(now)
                for k, d in zip(moving, c[-len(moving) :]):
                    move = float(np.clip(share * d / exponents[k], -0.7, 0.7))
                    tried[k] = now[k]._replace(theta=now[k].theta * (1.0 + move))
                new = self.solved(tried)
                if new.left < best.left:
                    better = new
                    break
            if better is None:
                break
            best = better
        return best


# -------------------------------------------------------------------------------------------------------------- writing


def written(one: Product, X: np.ndarray, y: np.ndarray) -> Valued | None:
    """The product as a formula, with exponents that are multiples of 1/2 where they nearly are; None if it has
    no value somewhere."""
    above: list[Valued] = []
    below: list[Valued] = []
    rest: list[tuple[float, Term]] = []
    parts = [(e, ((name,), ())) for e, name in one.columns]
    parts += [(e, f.written()) for e, f in one.factors if f.kind != "exp"]
    for e, base in parts:
        twice = round(2 * e)
        if abs(2 * e - twice) < HALF and abs(twice) <= 12:
            if twice:
                try:
                    (above if e > 0 else below).append(power(base, abs(twice) / 2))
                except ExpressionError:
                    return None
        elif base[1] or not (evaluate(base[0], X) > 0).all():
            return None  # a broken power of a negative number, or of a formula with constants
        else:
            rest.append((e, Term((("log", *base[0]),))))
    rest += [(e, f.one) for e, f in one.factors if f.kind == "exp"]
    if rest:
        above.append(join("exp", added(rest)))
    form = fraction(1.0, above, below)
    values = evaluate(form[0], X, form[1])
    if not np.isfinite(values).all() or not values.any():
        return None
    large = np.abs(values) >= np.median(np.abs(values))
    factor = float(np.median(y[large] / values[large]))
    if not math.isfinite(factor) or factor == 0.0:
        return None
    factor = math.copysign(1.0, factor) if abs(abs(factor) - 1.0) < ONE else factor
    whole = fraction(factor, above, below)
    return whole if np.isfinite(whole[1]).all() else None
