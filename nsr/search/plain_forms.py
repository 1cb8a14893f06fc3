"""Plain forms: short formulas that are tried on every table before the network is asked.

    g(y) = c0 + c1·u1 + … + ck·uk      by least squares; g(y) is y, 1/y, y², 1/y², √y, log y or exp y
    logistic, Gaussian, Hill …         templates, whose constants the oracle fits

A term u is a product of powers and functions of the columns. All pairs of terms are compared, and the best
ones get further terms as long as something is left to explain. Residuals of g(y) are divided by g'(y), so
that they are residuals of y to first order.

A local search needs this beginning because it climbs by R². Where a and b go from 1 to 20, everything that is
one edit away from ab/(a + b) fits worse than products of logarithms do, and the search climbs those.
Letters: P points, D columns, T terms, K constants.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nsr.data.problems import Problem
from nsr.formulas.expressions import (
    CONSTANT,
    VARIABLES,
    Constants,
    Prefix,
    Valued,
    join,
    nest_valued,
    number,
    whole_power,
)
from nsr.formulas.parsing import power
from nsr.numbers.compression import deciding_rows
from nsr.numbers.evaluation import evaluate
from nsr.numbers.simplification import simplify
from nsr.numbers.weighting import roots
from nsr.numbers.weighting import total as total_of
from nsr.search.deadline import Deadline
from nsr.search.model_selection import by_length
from nsr.search.oracle import Candidate, Oracle
from nsr.search.pruning import plainer
from nsr.search.subsampling import bags_of

ROWS = 150  # of a table are looked at
MOST_TERMS = 4  # of a sum
BEAM = 24  # sums that get another term
FEW = 8  # of each length are written down
PAIRED = 300  # terms that are paired with all others: so many by their fit, and half as many by their length
KEPT = 6  # sums of each g that are handed on
STARTS = 3  # of the fit of a template
FITTED, PLAINER = 5, 2  # forms that are fitted to all rows, and made plainer
EXACT = 1e-13  # share of y's variance below which nothing is left to explain
PROMISING = 3  # of the g's get sums of more than three terms
MONOMIALS = 60  # at most, in a polynomial
SPREAD = 0.1  # share of the rows: if fewer make up the variance of y, it spans orders of magnitude
ENORMOUS = 1e6  # times the last coefficient: such a number alone becomes 1 instead
SAME = 1e-6  # two coefficients that differ by this share are one


class Term(NamedTuple):
    """A product of factors above a fraction line and below it."""

    above: tuple[Prefix, ...] = ()
    below: tuple[Prefix, ...] = ()

    def times(self, other: Term) -> Term:
        return Term(tuple(sorted(self.above + other.above)), tuple(sorted(self.below + other.below)))

    @property
    def is_logarithm(self) -> bool:
        return len(self.above) == 1 and self.above[0][0] == "log" and not self.below

    @property
    def size(self) -> int:
        return sum(map(len, self.above + self.below)) + len(self.above) + 2 * len(self.below)


class Sum(NamedTuple):
    """g(y) = offset + Σ coefficient · term, and the share of y's variance that it leaves."""

    target: str
    offset: float
    parts: tuple[tuple[float, Term], ...]
    left: float

    @property
    def tidy(self) -> Sum:
        """Without terms that are 0, and with coefficients that are 1 but for rounding."""
        ones = [(math.copysign(1.0, c) if abs(abs(c) - 1.0) < SAME else c, term) for c, term in self.parts]
        return self._replace(parts=tuple((c, term) for c, term in ones if c))

    @property
    def size(self) -> int:
        return sum(2 + term.size for _, term in self.parts)


def fitted(problem: Problem, forms: Callable[..., list[Valued]], deadline: Deadline) -> list[Candidate]:
    """The forms with the shortest descriptions, and the plainest of them: chosen on some rows, then fitted to
    all."""
    bag = bags_of(problem, 1, ROWS, problem.stream(0))[0]
    best, oracle = _verified(Oracle(bag), forms(bag.X, bag.y, bag.weights)), Oracle(problem)
    best = by_length(best, len(bag.y), problem.floor)[:FITTED]
    if not best or deadline.passed:
        return []
    best = _verified(oracle, [(c.prefix, c.constants) for c in best])
    ahead = by_length(best, len(problem.y), problem.floor)[:PLAINER]
    return [c for c in (*best, *(plainer(c, oracle, deadline) for c in ahead)) if c.valid]


def _verified(oracle: Oracle, forms: list[Valued]) -> list[Candidate]:
    """Forms verified from the constants that they have, or from a few starts."""
    if not forms:
        return []
    known = all(len(constants) == prefix.count(CONSTANT) for prefix, constants in forms)
    initial = tuple(constants or None for _, constants in forms)
    return oracle.verify(
        [prefix for prefix, _ in forms], initial=initial, starts=0 if known else STARTS, note="plain"
    )


# ----------------------------------------------------------------------------------------------------------------- terms


@lru_cache(maxsize=16)
def terms_of(n_columns: int) -> tuple[Term, ...]:
    """All terms in so many columns, the short ones first.

    >>> terms_of(2)[:3]
    (Term(above=(('x1',),), below=()), Term(above=(('x2',),), below=()), Term(above=(), below=(('x1',),)))
    """
    few = n_columns > 5
    columns = VARIABLES[:n_columns]

    def of(name: str, above: Iterable[str], below: Iterable[str]) -> list[Term]:
        inside = (name,)
        return [Term((_applied(token, inside),)) for token in above] + [
            Term((), (_applied(token, inside),)) for token in below
        ]

    functions = () if few else ("log", "exp", "sin", "cos")
    single = [
        term
        for name in columns
        for term in of(
            name,
            ("", "pow2", "pow3", "pow4", "pow5", "sqrt", "log", "exp", "sin", "cos"),
            ("", "pow2", "pow3", "sqrt", "exp"),
        )
    ]
    single += [Term((("pow2", token, name),)) for name in columns for token in ("sin", "cos")]
    factors = {
        name: of(name, ("", "pow2", "sqrt", *functions), ("", "pow2", "sqrt", *functions[1:2]))
        for name in columns
    }
    powers = {name: of(name, ("", "pow2"), ("",)) for name in columns}
    waves = {name: of(name, ("", "pow2", "sin", "cos"), ("", "pow2")) for name in columns}
    between = {
        (a, b): [
            *(Term((_applied(token, ("sub", a, b)),)) for token in ("", "pow2")),
            *(Term((), (_applied(token, ("sub", a, b)),)) for token in ("", "pow2")),
            Term((), (("add", a, b),)),
        ]
        for a, b in itertools.combinations(columns[:5], 2)
    }
    own = [  # x·sin(x), but not x·x²
        f.times(g)
        for name in columns
        for f, g in itertools.combinations(factors[name], 2)
        if any(token in functions for prefix in (*f, *g) for part in prefix for token in part)
    ]
    two = [
        f.times(g)
        for a, b in itertools.combinations(columns, 2)
        for f, g in itertools.product(factors[a], factors[b])
    ]
    three = [
        f.times(g).times(h)
        for a, b, c in itertools.combinations(columns, 3)
        for f, g, h in itertools.product(*((waves if n_columns <= 3 else powers)[n] for n in (a, b, c)))
    ]
    mixed = [
        f.times(g)
        for pair, terms in between.items()
        for f in terms
        for name in columns
        for g in of(name, ("", "pow2"), ("", "pow2"))
    ]
    every = [
        *single,
        *itertools.chain(*between.values()),
        *own,
        *two,
        *mixed,
        *three,
        *_longer_terms(columns),
    ]
    every = [term for term in every if not set(term.above) & set(term.below)]
    return tuple(sorted(dict.fromkeys(every), key=lambda term: (term.size, term)))


def _longer_terms(columns: Sequence[str]) -> Iterator[Term]:
    """Terms of three and four columns, of at most five: a·b·cos c, a·√(bc), c·√(a² + b²), a·b/(c − d)², abcd."""
    columns = columns[:5] if len(columns) <= 6 else columns[:0]
    for a, b in itertools.combinations(columns, 2):
        others = [name for name in columns if name not in (a, b)]
        for token in ("add", "sub"):
            root = ("sqrt", token, "pow2", a, "pow2", b)
            yield Term((root,))
            yield from (Term(tuple(sorted((root, (c,))))) for c in others)
        waves = [(w, token, a, b) for w in ("sin", "cos") for token in ("mul", "sub", "add")]
        yield from (Term((wave,)) for wave in waves)
        yield from (Term(tuple(sorted((wave, (c,))))) for wave in waves for c in others)
        sides = (((a,), (b,)), ()), (((a,),), ((b,),)), (((b,),), ((a,),))
        for (above, below), c in itertools.product(sides, others):
            for wave in (("sin", c), ("cos", c), ("sqrt", c), ("exp", c)):
                yield Term(tuple(sorted((*above, wave))), below)
        for c in others:
            yield Term(tuple(sorted(((c,), ("sqrt", a), ("sqrt", b)))))
            yield Term((("sqrt", a), ("sqrt", b)), ((c,),))
        for c, d in itertools.combinations(others, 2):
            for apart in (("sub", c, d), ("pow2", "sub", c, d), ("add", c, d)):
                yield from (Term(above, tuple(sorted((*below, apart)))) for above, below in sides)
                if apart[0] != "pow2":
                    yield from (Term(tuple(sorted((*above, apart))), below) for above, below in sides)
    for four in itertools.combinations(columns, 4):
        for signs in itertools.product((1, -1), repeat=4):
            above, below = (tuple((n,) for n, s in zip(four, signs) if s == sign) for sign in (1, -1))
            yield Term(above, below)


def _applied(token: str, inside: Prefix) -> Prefix:
    return (token, *inside) if token else inside


def values_of(terms: Sequence[Term], X: np.ndarray) -> np.ndarray:
    """(T, P): the terms at the points X (P, D)."""
    at = {f: evaluate(f, X) for f in {f for term in terms for f in (*term.above, *term.below)}}
    Z = np.ones((len(terms), len(X)))
    with np.errstate(all="ignore"):
        for row, term in zip(Z, terms):
            for f in term.above:
                row *= at[f]
            for f in term.below:
                row /= at[f]
    return Z


# ------------------------------------------------------------------------------------------------------------ least squares


class Target(NamedTuple):
    """g(y), named by its inverse: the weights 1/g'(y) and g(y) times them, and y's own sum of squares."""

    name: str
    weights: np.ndarray
    goal: np.ndarray
    total: float

    def solved(self, A: np.ndarray) -> tuple[list[float], float]:
        """Coefficients of the columns of A (P, n), the first of them the offset's, and the share of y's
        variance that is left."""
        scale = np.linalg.norm(A, axis=0)
        if not (np.isfinite(scale).all() and scale.all()):
            return [0.0] * len(scale), math.inf
        c = np.linalg.lstsq(A / scale, self.goal, rcond=None)[0] / scale
        left = float(np.sum((self.goal - A @ c) ** 2)) / self.total
        if left < EXACT:  # what rounding leaves of a coefficient
            c[np.abs(c) * scale < SAME * np.linalg.norm(self.goal)] = 0.0
        return c.tolist(), left


def targets_of(y: np.ndarray, weights: np.ndarray | None = None) -> list[Target]:
    """Every g that y allows."""
    total, root = total_of(y, weights), roots(weights, len(y))
    targets = [("y", np.ones(len(y)), y)]
    if (y > 0).all():
        targets += [("inv", y * y, y), ("sqrt", 0.5 / y, y / 2), ("inv sqrt", y**3 / 2, y / 2)]
        targets += [("exp", y, y * np.log(y)), ("pow2", 2 * np.sqrt(y), 2 * y)]
    if np.ptp(y) < 30 and np.abs(y).max() < 300:
        targets.append(("log", np.exp(y.min() - y), np.full(len(y), math.exp(y.min()))))
    return [
        Target(name, root * slope, root * goal, total)
        for name, slope, goal in targets
        if np.isfinite(slope).all() and np.isfinite(goal).all() and slope.any()
    ]


def flat_targets(y: np.ndarray, weights: np.ndarray | None = None) -> list[Target]:
    """1/y, y² and 1/y² with errors of their own, not of y: where y spans orders of magnitude, another choice of
    terms comes first."""
    if not (y > 0).all():
        return []
    root = roots(weights, len(y))
    found = []
    for name, g in (("inv", 1.0 / y), ("sqrt", y**2), ("inv sqrt", 1.0 / y**2)):
        total = total_of(g, weights)
        if np.isfinite(g).all() and math.isfinite(total) and total > 0:
            found.append(Target(name, root * np.ones(len(y)), root * g, total))
    return found


def linear_forms(
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None = None,
    admits: Callable[[Prefix], bool] | None = None,
) -> list[Valued]:
    """Formulas for y (P,) in the columns of X (P, D), with their constants, by least squares; of terms that
    are admitted.

    >>> from nsr.formulas.notation import to_infix
    >>> X = np.random.default_rng(0).uniform(1, 20, (60, 2))
    >>> to_infix(*linear_forms(X, X[:, 0] * X[:, 1] / X.sum(1))[0])
    'x1*x2/(x2 + x1)'
    """
    if (y < 0).all():
        return [
            simplify(*join("mul", number(-1.0), valued)) for valued in linear_forms(X, -y, weights, admits)
        ]
    with np.errstate(all="ignore"):
        found = [*power_laws(X, y, weights), *polynomials(X, y, weights)]
        if not any(one.left <= EXACT and len(one.parts) <= MOST_TERMS for one in found):
            spans_magnitudes = deciding_rows(y, weights) <= SPREAD * len(y)
            flat = flat_targets(y, weights) if spans_magnitudes else []
            found += sums(X, y, targets_of(y, weights) + flat, admits)
    # a token costs 3 nats (nsr.search.model_selection)
    found.sort(key=lambda one: len(y) / 2 * math.log(max(one.left, EXACT)) + 3.0 * one.size)
    formulas: dict[Prefix, Constants] = {}
    for name in {one.target: None for one in found}:
        best = map(written, [one for one in found if one.target == name and one.tidy.parts][:KEPT])
        formulas |= {prefix: constants for prefix, constants in best if np.isfinite(constants).all()}
    return list(formulas.items())


def different(Z: np.ndarray) -> np.ndarray:
    """Which rows of Z (T, P) differ from all before them by more than a factor: where x2 is tiny, x1 − x2 is x1, and
    sin(x2) is x2.

    >>> different(np.array([[1.0, 2.0], [2.0, 1.0], [2.0, 4.0]])).tolist()
    [0, 1]
    """
    unit = Z / np.abs(Z).max(1, keepdims=True)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    looks = np.abs(
        unit @ np.random.default_rng(0).standard_normal((Z.shape[1], 3))
    )  # (T, 3), whatever the sign
    return np.sort(np.unique(np.round(looks, 7), axis=0, return_index=True)[1])


def telling(terms: Sequence[Term], X: np.ndarray) -> list[Term]:
    """The terms whose sines, cosines, tangents and exponentials are neither constant at X (P, D) nor proportional to
    their arguments: where x1 is tiny, cos(x1) is 1 and sin(x1) is x1.

    >>> cosine = Term((("cos", "x1"),))
    >>> telling([cosine], np.array([[1e-9], [2e-9]])), len(telling([cosine], np.array([[1.0], [2.0]])))
    ([], 1)
    """
    dull: dict[Prefix, bool] = {}

    def is_dull(factor: Prefix) -> bool:
        inner = factor[1:] if factor[0] != "pow2" else factor[2:]
        if factor[: len(factor) - len(inner)][-1] not in ("sin", "cos", "tan", "exp"):
            return False
        if factor not in dull:
            outer = factor[len(factor) - len(inner) - 1 :]
            with np.errstate(all="ignore"):
                f, u = evaluate(outer, X), evaluate(inner, X)
                dull[factor] = any(bool(np.ptp(v) <= SAME * np.abs(v).max()) for v in (f, f / u))
        return dull[factor]

    return [term for term in terms if not any(map(is_dull, (*term.above, *term.below)))]


def sums(
    X: np.ndarray, y: np.ndarray, targets: list[Target], admits: Callable[[Prefix], bool] | None = None
) -> list[Sum]:
    """The best sums of a few terms for every g, long ones for the most promising."""
    most = min(MOST_TERMS, (len(y) - 5) // 3)
    if most < 1:
        return []
    terms = telling(terms_of(X.shape[1]), X)
    if admits:
        terms = [term for term in terms if admits(written_term(term))]
    Z = values_of(terms, X)  # (T, P)
    usable = np.isfinite(Z).all(1) & (np.abs(Z).max(1) < 1e100) & (np.ptp(Z, axis=1) > 0)
    terms, Z = [term for term, use in zip(terms, usable) if use], Z[usable]
    if not terms:
        return []
    chosen = different(Z)
    terms, Z = [terms[i] for i in chosen], Z[chosen]
    screens = [_Screen(target, terms, Z, most) for target in targets]
    for n in range(2, most):
        if min(screen.left for screen in screens) > EXACT:
            for screen in sorted(screens, key=lambda screen: screen.left)[: None if n == 2 else PROMISING]:
                screen.lengthen()
    return [one for screen in screens for one in screen.found()]


class _Screen:
    """The terms for one g(y), and the best choices among them so far.

    `rest` (T, P) are the weighted terms and t (P,) the weighted g(y), both without what the offset explains;
    a term is divided by its length.
    """

    def __init__(self, target: Target, terms: list[Term], Z: np.ndarray, most: int) -> None:
        self.target, self.terms, self.Z = target, terms, Z
        rest = Z * target.weights  # (T, P)
        before = np.linalg.norm(rest, axis=1)
        q = target.weights / np.linalg.norm(target.weights)
        rest -= np.outer(rest @ q, q)
        norms = np.linalg.norm(rest, axis=1)
        self.fine = np.flatnonzero(norms > 1e-9 * before)
        self.rest, self.t = rest[self.fine], target.goal - (target.goal @ q) * q
        self.rest /= norms[self.fine, None]
        self.r = self.rest @ self.t
        self.kept: list[tuple[int, ...]] = []
        self.best: list[tuple[int, ...]] = []
        self.left = 1.0
        if len(self.fine):
            self.keep([(i,) for i in largest(self.r**2, BEAM).tolist()])
            if most > 1 and self.left > EXACT:
                self.keep(self.pairs())

    def keep(self, choices: Iterable[tuple[int, ...]]) -> None:
        """Go on with the best of these."""
        left = {one: self.left_by(one) for one in choices}
        self.best = sorted(left, key=left.get)[:BEAM]
        self.left = min(self.left, *left.values()) if left else self.left
        self.kept += self.best[:FEW]

    def left_by(self, choice: tuple[int, ...]) -> float:
        """The share of y's variance that these terms leave."""
        Q = np.linalg.qr(self.rest[list(choice)].T)[0]
        return float(np.sum((self.t - Q @ (Q.T @ self.t)) ** 2)) / self.target.total

    def pairs(self) -> set[tuple[int, ...]]:
        """The best pairs, by the closed form of two regressors."""
        r = self.r
        some = np.unique([*largest(r**2, PAIRED), *range(min(PAIRED // 2, len(r)))])
        both = (
            self.rest[some] @ self.rest.T
        )  # (S, T), their products; they are large, and only three at a time
        alone = both * both
        np.subtract(1.0, alone, out=alone)
        both *= 2 * r[some, None] * r
        np.subtract(r[some, None] ** 2 + r**2, both, out=both)
        both /= alone
        both[~(alone > 1e-9)] = -np.inf
        places = largest(both.ravel(), 4 * BEAM)
        return {tuple(sorted((int(some[k // len(r)]), int(k % len(r))))) for k in places}

    def lengthen(self) -> None:
        """Add a term to the best choices."""
        self.keep({new for one in self.best for new in self.longer(one)})

    def longer(self, choice: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """A choice with one more term, the three best."""
        Q = np.linalg.qr(self.rest[list(choice)].T)[0]  # (P, n)
        alone = 1.0 - np.sum((self.rest @ Q) ** 2, axis=1)  # (T,)
        r = self.rest @ (self.t - Q @ (Q.T @ self.t))
        gain = np.where(alone > 1e-9, r**2 / np.maximum(alone, 1e-9), 0.0)
        for i in largest(gain, 3):
            if gain[i] > 0:
                yield tuple(sorted((*choice, int(i))))

    def found(self) -> Iterator[Sum]:
        """The choices with their coefficients."""
        for choice in self.kept:
            rows = self.fine[list(choice)]
            A = np.vstack([self.target.weights, self.Z[rows] * self.target.weights]).T  # (P, 1 + n)
            c, left = self.target.solved(A)
            yield Sum(self.target.name, c[0], tuple(zip(c[1:], (self.terms[i] for i in rows))), left)


def largest(values: np.ndarray, n: int) -> np.ndarray:
    """Where the n largest values are."""
    return np.argpartition(-values, n)[:n] if len(values) > n else np.arange(len(values))


def polynomials(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> Iterator[Sum]:
    """g(y) as a polynomial of all columns that vary, without its small terms, where that leaves nothing to
    explain; of the lowest degree."""
    columns = [j for j in range(X.shape[1]) if np.ptp(X[:, j]) > 0]
    size, targets = np.abs(X).max(0), targets_of(y, weights)
    for degree in range(2, 7):
        if math.comb(len(columns) + degree, degree) > min(MONOMIALS, len(y) - 10):
            return
        exponents = exponents_of(len(columns), degree)
        A = np.stack([np.prod((X / size)[:, columns] ** np.array(e), axis=1) for e in exponents], axis=1)
        for target in list(targets):
            weighted = A * target.weights[:, None]
            worth = np.abs(target.solved(weighted)[0]) * np.linalg.norm(weighted, axis=0)
            used = np.flatnonzero(worth > SAME * worth.max())
            c, left = target.solved(weighted[:, used])
            if left <= EXACT:
                targets = [other for other in targets if other is not target]
                chosen = [exponents[i] for i in used]
                units = [math.prod(size[j] ** n for j, n in zip(columns, e)) for e in chosen]
                values = {e: value / unit for e, value, unit in zip(chosen, c, units)}
                offset = values.pop((0,) * len(columns), 0.0)
                yield Sum(
                    target.name, offset, tuple((v, _monomial(columns, e)) for e, v in values.items()), left
                )


@lru_cache(maxsize=64)
def exponents_of(n_columns: int, degree: int) -> tuple[tuple[int, ...], ...]:
    """The exponents of all monomials up to a degree, the low ones first.

    >>> exponents_of(2, 2)
    ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
    """
    return tuple(
        tuple(chosen.count(j) for j in range(n_columns))
        for n in range(degree + 1)
        for chosen in itertools.combinations_with_replacement(range(n_columns), n)
    )


def _monomial(columns: Sequence[int], exponents: Sequence[int]) -> Term:
    powers = [whole_power(((VARIABLES[j],), ()), n)[0] for j, n in zip(columns, exponents) if n]
    return Term(tuple(sorted(powers)))


def power_laws(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> Iterator[Sum]:
    """y = c · ∏ xⁿ over all columns, by linear regression of logarithms, and without the columns whose
    exponents are close to 0."""
    target = next((target for target in targets_of(y, weights) if target.name == "exp"), None)
    columns = [j for j in range(X.shape[1]) if (X[:, j] > 0).all() and np.ptp(X[:, j]) > 0]
    while target and columns and len(y) > len(columns) + 5:
        A = np.column_stack([np.ones(len(y)), np.log(X[:, columns])]) * target.weights[:, None]
        c, left = target.solved(A)
        yield Sum(
            "exp", c[0], tuple((n, Term((("log", VARIABLES[j]),))) for n, j in zip(c[1:], columns)), left
        )
        fewer = [j for n, j in zip(c[1:], columns) if abs(n) > 0.02]
        columns = fewer if len(fewer) < len(columns) else []


# ------------------------------------------------------------------------------------------------------------------ writing


def written(one: Sum) -> Valued:
    """y as the inverse of g at the sum, with one fraction line or with one for each term, whichever is
    shorter.

    >>> from nsr.formulas.notation import to_infix
    >>> to_infix(*written(Sum("inv", 0.0, ((1.0, Term((), (("x1",),))), (1.0, Term((), (("x2",),)))), 0.0)))
    'x1*x2/(x2 + x1)'
    """
    one = one.tidy
    if one.target == "exp":
        return _exponential(one)
    fractions = any(term.below for _, term in one.parts)
    if one.target.startswith("inv") and fractions:  # a fraction in a denominator is hard to read
        return _together(one)
    every = [*([(one.offset, Term())] if one.offset else []), *one.parts]
    apart = added(every)
    for token in one.target.split()[::-1] if one.target != "y" else ():
        apart = join("div", number(1.0), apart) if token == "inv" else join(token, apart)
    return min(_together(one), apart, key=lambda valued: len(valued[0]) + len(valued[1]))


def _together(one: Sum) -> Valued:
    """The inverse of g at the sum, with one fraction line."""
    factor, above, inner, below = _factored(one.offset, one.parts, one.target != "y")
    if one.target in ("inv", "inv sqrt"):
        factor, above, inner, below = 1.0 / factor, below, None, [*above, *([inner] if inner else [])]
    else:
        above = [*above, *([inner] if inner else [])]
    value = fraction(factor, above, below)
    return value if one.target in ("y", "inv") else join(one.target.split()[-1], value)


def _factored(
    offset: float, parts: Sequence[tuple[float, Term]], leading: bool
) -> tuple[float, list[Valued], Valued | None, list[Valued]]:
    """A sum as factor · product · (sum without common factors) / product: the denominators are one, and what
    all terms share stands before the brackets. `leading`: the last term has no coefficient."""
    every = [*([(offset, Term())] if offset else []), *parts]
    below = _union(Counter(term.below) for _, term in every)
    tops = [(c, Counter(term.above) + (below - Counter(term.below))) for c, term in every]
    common = tops[0][1].copy()
    for _, top in tops:
        common &= top
    tops, cancelled = [(c, top - common) for c, top in tops], common & below
    below, common = below - cancelled, common - cancelled
    sizes = Counter(f"{abs(c):.6g}" for c, _ in tops)
    word, times = sizes.most_common(1)[0]
    if times == 1 and len(tops) > 1:
        one = abs(tops[-1][0]) if leading else 1.0
        alone = next((abs(c) for c, top in tops if not top), 0.0)
        word = f"{alone if leading and alone > ENORMOUS * one else one:.6g}"
    factor = next((abs(c) for c, _ in tops if f"{abs(c):.6g}" == word), 1.0)
    factor = 1.0 if abs(factor - 1.0) < SAME else factor
    if all(c < 0 for c, _ in tops):
        factor = -factor
    terms = []
    for c, top in tops:
        ratio = c / factor
        ratio = math.copysign(1.0, ratio) if abs(abs(ratio) - 1.0) < SAME else ratio
        terms.append((ratio, Term(tuple(sorted(top.elements())))))
    inner = added(terms) if len(terms) > 1 or terms[0][1].above else None
    listed = [[(f, ()) for f in sorted(count.elements())] for count in (common, below)]
    return factor, listed[0], inner, listed[1]


def _union(counts: Iterable[Counter]) -> Counter:
    every: Counter = Counter()
    for count in counts:
        every |= count
    return every


def added(terms: list[tuple[float, Term]]) -> Valued:
    """Σ c · term, positive ones first; log a − log b is log(a/b)."""
    logs = {c: term.above[0] for c, term in terms if abs(c) == 1.0 and term.is_logarithm}
    if len(terms) == 2 == len(logs):
        return ("log", "div", *logs[1.0][1:], *logs[-1.0][1:]), ()
    plus = [_term(c, term) for c, term in terms if c > 0]
    minus = [(c, term) for c, term in terms if c < 0]
    if not plus:
        plus, minus = [_term(*minus[0])], minus[1:]
    value = nest_valued("add", plus)
    for c, term in minus:
        value = join("sub", value, _term(-c, term))
    return value


def fraction(c: float, above: list[Valued], below: list[Valued]) -> Valued:
    """c · above / below, without a 1."""
    factors = [*([number(c)] if c != 1.0 or not above else []), *above]
    value = nest_valued("mul", factors)
    return join("div", value, nest_valued("mul", below)) if below else value


def _exponential(one: Sum) -> Valued:
    """exp of a sum; the logarithms in it whose coefficients are multiples of 1/2 are powers before it."""
    above: list[Valued] = []
    below: list[Valued] = []
    rest: list[tuple[float, Term]] = []
    for c, term in one.parts:
        twice = round(2 * c)
        if term.is_logarithm and 0 < abs(twice) <= 10 and abs(2 * c - twice) < 1e-3:
            (above if c > 0 else below).append(power((term.above[0][1:], ()), abs(twice) / 2))
        else:
            rest.append((c, term))
    if rest:
        above.append(join("exp", added(rest)))
    return fraction(math.exp(min(one.offset, 700.0)), above, below)


def written_term(term: Term) -> Prefix:
    return _term(1.0, term)[0]


def _term(c: float, term: Term) -> Valued:
    return fraction(c, [(f, ()) for f in term.above], [(f, ()) for f in term.below])


# ------------------------------------------------------------------------------------------------------------------ templates

_OF_ONE = """
    add C mul C exp mul C a
    add C mul C exp mul C log a
    add C mul C sin add C mul C a
    add C mul C log add C a
    add C div C add C a
    add C div C add C exp mul C a
    add C div C add C exp mul C log a
    add C mul C exp mul C pow2 add C a
    div pow3 mul C a add C exp mul C a
    div a add C mul C pow2 add C a
    mul add C mul C a exp mul C a
    mul C mul exp mul C a sin add C mul C a
    add C mul C mul a sin add C mul C a
    add mul C exp mul C a mul C exp mul C a
""".strip().split("\n")
_OF_TWO = """
    mul C mul a exp mul C b
    mul C mul a exp div mul C b c
    mul C mul a sin add C mul C b
    add C div mul C a add C b
    mul C exp mul C pow2 div sub a b c
    add C mul C sin mul C mul a b
""".strip().split("\n")


def curved_forms(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> list[Valued]:
    """Templates with constants inside functions, in each column that varies, and in each two or three of
    them; the constants have no values yet.

    >>> curved_forms(np.arange(9.0)[:, None], np.arange(9.0))[0]
    (('add', 'C', 'mul', 'C', 'exp', 'mul', 'C', 'x1'), ())
    """
    columns = tuple(name for name, column in zip(VARIABLES, X.T) if np.ptp(column) > 0)
    return [(form, ()) for form in _filled_in(columns)]


@lru_cache(maxsize=16)
def _filled_in(columns: tuple[str, ...]) -> tuple[Prefix, ...]:
    forms: list[Prefix] = []
    for text, letters in [*((t, "a") for t in _OF_ONE), *((t, "abc") for t in _OF_TWO)]:
        tokens = tuple(text.split())
        used = [letter for letter in letters if letter in tokens]
        for names in itertools.permutations(columns[: 4 if len(used) == 3 else 5], len(used)):
            stands_for = dict(zip(used, names))
            form = tuple(stands_for.get(token, token) for token in tokens)
            forms += [form, form[2:]] if form[:2] == ("add", CONSTANT) else [form]
    return tuple(forms)
