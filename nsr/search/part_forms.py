"""Part forms: where y is known to be a sum, or a product, of unknown functions of some columns each, every function is
searched alone.

    y ≈ s1(a) + s2(b)        polynomials, fitted together
    f(a) ≈ y − s2(b)         a plain form of few columns (nsr.search.plain_forms)
    g(b) ≈ y − f(a)          and so on, with what was found in place of the polynomials

A product is a sum of logarithms, where all of y has one sign.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from nsr.data.problems import Problem
from nsr.formulas.expressions import CONSTANT, VARIABLES, Token, Valued, nest_valued
from nsr.numbers.evaluation import evaluate
from nsr.numbers.weighting import roots
from nsr.search.deadline import Deadline
from nsr.search.model_selection import by_length
from nsr.search.oracle import Candidate, Oracle
from nsr.search.plain_forms import STARTS, curved_forms, exponents_of, fraction, linear_forms

MONOMIALS = {1: 11, 2: 28, 3: 35}  # of a polynomial in so many columns, at most
ROWS_EACH = 3  # rows for each monomial, at least
ROUNDS = 2  # of searching every function
ROWS = 200  # that a function is searched in
KEPT = 3  # forms of each function that are put together


def part_forms(
    problem: Problem, groups: Sequence[frozenset[Token]], product: bool, deadline: Deadline | None = None
) -> list[Valued]:
    """Formulas for y that are sums, or products, of plain forms of each group of columns.

    >>> from nsr.formulas.notation import to_infix
    >>> X = np.random.default_rng(0).uniform(0.1, 4, (200, 2))
    >>> y = 3 * X[:, 0] / (2 + X[:, 0]) + X[:, 1] * np.sin(X[:, 1])
    >>> forms = part_forms(Problem(X, y), [frozenset({"x1"}), frozenset({"x2"})], False)
    >>> any(prefix.count("sin") == 1 == prefix.count("div") for prefix, _ in forms)
    True
    """
    deadline, y, X = deadline or Deadline(), problem.y, problem.X
    sign = 1.0 if (y > 0).all() else -1.0
    if product and not (sign * y > 0).all():
        return []
    columns = [[VARIABLES.index(name) for name in VARIABLES if name in group] for group in groups]
    parts = smooth_parts(X, np.log(sign * y) if product else y, columns, problem.weights)
    if product:
        parts = [np.exp(part) for part in parts]
    found: list[list[Candidate]] = [[] for _ in groups]
    rows = np.linspace(0, len(y) - 1, min(ROWS, len(y))).astype(int)
    for _, i in itertools.product(range(ROUNDS), range(len(groups))):
        if deadline.passed:
            break
        others = [part for k, part in enumerate(parts) if k != i]
        h = sign * y / np.prod(others, axis=0) if product else y - np.sum(others, axis=0)
        weights = problem.weights
        if product:  # errors of h are those of y, divided by the other functions
            weights = np.prod(others, axis=0) ** 2 * (1.0 if weights is None else weights)
            weights = weights / weights.max()
        own = X[:, columns[i]]
        if not np.isfinite(h).all() or np.ptp(h) == 0 or len(columns[i]) == len(VARIABLES):
            continue
        table = Problem(own, h, "part", floor=problem.floor, weights=weights)
        best = _forms(table.part(rows), deadline)
        if best:
            values = evaluate(best[0].prefix, own, best[0].constants)
            found[i], parts[i] = best[:KEPT], values if np.isfinite(values).all() else parts[i]
    if not all(found):
        return []
    together = itertools.product(*([_named(c, columns[i]) for c in best] for i, best in enumerate(found)))
    return [_multiplied(sign, one) if product else nest_valued("add", list(one)) for one in together]


def _forms(table: Problem, deadline: Deadline) -> list[Candidate]:
    """Plain forms fitted to the table, the shortest descriptions first."""
    oracle, found = Oracle(table), []
    bag = table.X, table.y, table.weights
    for forms, starts in ((linear_forms, 0), (curved_forms, STARTS)):
        if not deadline.passed:
            valued = forms(*bag)
            initial = tuple(constants or None for _, constants in valued)
            found += oracle.verify([p for p, _ in valued], initial=initial, starts=starts, note="plain")
    return by_length(found, len(table.y), table.floor)


def _multiplied(factor: float, parts: Sequence[Valued]) -> Valued:
    """factor · ∏ parts, with one number before it."""
    above: list[Valued] = []
    below: list[Valued] = []
    for prefix, constants in parts:
        number_first = len(prefix) > 1 and prefix[0] in ("mul", "div") and prefix[1] == CONSTANT
        if number_first or prefix == (CONSTANT,):
            factor *= constants[0]
            prefix, constants, down = prefix[2:], constants[1:], prefix[0] == "div"
        else:
            down = False
        if prefix:
            (below if down else above).append((prefix, constants))
    return fraction(factor, above, below)


def _named(one: Candidate, columns: Sequence[int]) -> Valued:
    """A formula of some columns in the names of all."""
    named = {VARIABLES[k]: VARIABLES[j] for k, j in enumerate(columns)}
    return tuple(named.get(token, token) for token in one.prefix), one.constants


def smooth_parts(
    X: np.ndarray, y: np.ndarray, columns: Sequence[Sequence[int]], weights: np.ndarray | None
) -> list[np.ndarray]:
    """Polynomials of each group of columns whose sum is close to y, as their values (P,)."""
    low, high = X.min(0), X.max(0)
    Z = 2 * (X - low) / np.where(high > low, high - low, 1.0) - 1  # (P, D)
    most = max(2, len(y) // (ROWS_EACH * len(columns)))
    blocks = []
    for group in columns:
        degree, room = 1, min(most, MONOMIALS.get(len(group), 40))
        while math.comb(len(group) + degree + 1, degree + 1) <= room:
            degree += 1
        waves = np.cos(
            np.arange(degree + 1)[:, None, None] * np.arccos(np.clip(Z[:, group], -1, 1))
        )  # (n, P, d)
        chosen = exponents_of(len(group), degree)[1:]
        blocks.append(
            np.stack([np.prod([waves[n, :, k] for k, n in enumerate(e)], axis=0) for e in chosen], axis=1)
        )
    root = roots(weights, len(y))
    A = np.column_stack([np.ones(len(y)), *blocks])
    c = np.linalg.lstsq(A * root[:, None], y * root, rcond=1e-10)[0]
    places = np.cumsum([1, *(block.shape[1] for block in blocks)])
    parts = [block @ c[start : start + block.shape[1]] for block, start in zip(blocks, places)]
    parts[0] = parts[0] + c[0]
    return parts
