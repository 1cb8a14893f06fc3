"""Separation: columns that stand before a formula as powers are divided out, and the rest is searched alone.

    y = ∏ xⁿ (some columns) · h(the other columns)

Where the columns are independent, the slopes of log |y| in the logarithms of the columns tell the exponents n, up
to an error that the spread of h makes. Such columns are divided out, all of them and fewer, until a plain form
explains h. It has fewer columns, so its terms may be longer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from nsr.formulas.expressions import VARIABLES, Valued
from nsr.formulas.parsing import power
from nsr.numbers.evaluation import evaluate, r2_score
from nsr.numbers.weighting import roots
from nsr.search.deadline import Deadline
from nsr.search.plain_forms import fraction, linear_forms
from nsr.search.product_forms import product_forms

NEAR, ERRORS = 0.05, 3.5  # a slope is a multiple of 1/2 if it is so near, or within so many standard errors
FAR = 0.22  # but never if it is farther away
MANY = 5  # columns: of more, products of all have been tried with short factors only
ROWS = 150  # that the rest is searched in
HANDED_ON = 3  # forms of each rest
ENOUGH = 1e-12  # share of the variance below which nothing is left to explain


def powers_of(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> dict[int, float]:
    """Columns of X (P, D) that seem to stand before h as powers, and their exponents.

    log |y| is fitted by a quadratic function of the logarithms of the columns. Before h stands a column whose
    squares and products say nothing, and whose slope is close to a multiple of 1/2.
    """
    there = y != 0
    columns = [j for j in range(X.shape[1]) if np.ptp(X[:, j]) > 0 and (X[:, j] != 0).all()]
    D = len(columns)
    if not columns or there.sum() < 2 * (D + 1) * (D + 2):
        return {}
    # no weights by the size of y: they would depend on h, and the slopes with them
    weight = roots(weights, len(y))[there] if weights is not None else np.ones(there.sum())
    logs = np.log(np.abs(X[there][:, columns]))  # (P, D)
    logs = logs - logs.mean(0)
    both = list(itertools.combinations_with_replacement(range(D), 2))
    A = np.column_stack([np.ones(len(logs)), logs, *(logs[:, i] * logs[:, k] for i, k in both)])
    A, goal = A * weight[:, None], np.log(np.abs(y[there])) * weight
    scale = np.linalg.norm(A, axis=0)
    if not (np.isfinite(scale).all() and scale.all()):
        return {}
    A = A / scale
    c = np.linalg.lstsq(A, goal, rcond=None)[0]
    variance = float(np.sum((goal - A @ c) ** 2)) / (len(goal) - len(c))
    errors = np.sqrt(np.abs(np.diag(np.linalg.pinv(A.T @ A))) * variance)
    told = np.abs(c) > ERRORS * errors
    found = {}
    for k, j in enumerate(columns):
        slope, error = c[1 + k] / scale[1 + k], errors[1 + k] / scale[1 + k]
        n = round(2 * slope) / 2
        curved = any(told[1 + D + m] for m, pair in enumerate(both) if k in pair)
        near = abs(slope - n) < min(FAR, max(NEAR, ERRORS * error))
        if n and near and not curved and (n == int(n) or (X[:, j] > 0).all()):
            found[j] = n
    return found


def powers_before(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None
) -> Iterator[dict[int, float]]:
    """Which columns are divided out with which exponents: all that seem to be powers, those with whole
    exponents, all but one of them, and each alone."""
    every = powers_of(X, y, weights)
    choices = [every, {j: n for j, n in every.items() if n == int(n)}]
    choices += [{j: n for j, n in every.items() if j != left} for left in every]
    choices += [{j: n} for j, n in every.items()]
    seen: list[dict[int, float]] = []
    for one in choices:
        if one and one not in seen:
            seen.append(one)
            yield one


def separated_forms(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None, deadline: Deadline | None = None
) -> list[Valued]:
    """Formulas for y (P,) in the columns of X (P, D), with their constants: powers of some columns times a plain
    form of the others.

    >>> from nsr.formulas.notation import to_infix
    >>> X = np.random.default_rng(0).uniform(1, 5, (200, 5))
    >>> y = X[:, 0] * X[:, 1] / np.sqrt(X[:, 2] ** 2 + X[:, 3] ** 2 + X[:, 4] + 1)
    >>> to_infix(*separated_forms(X, y)[0])
    'x1*x2*sqrt(1/(1 + x5 + x3**2 + x4**2))'
    """
    deadline, found = deadline or Deadline(), []
    rows = np.linspace(0, len(y) - 1, min(ROWS, len(y))).astype(int)
    for powers in powers_before(X, y, weights):
        rest = [j for j in range(X.shape[1]) if j not in powers]
        if not rest or deadline.passed:
            continue
        before = np.prod([X[:, j] ** n for j, n in powers.items()], axis=0)  # (P,)
        h = y / before
        part = X[rows][:, rest]
        if not np.isfinite(h).all() or np.ptp(h) == 0:
            continue
        share = None if weights is None else weights[rows]
        forms = [] if X.shape[1] <= MANY else product_forms(part, h[rows], share)[:HANDED_ON]
        for prefix, constants in (*forms, *linear_forms(part, h[rows], share)[:HANDED_ON]):
            named = {VARIABLES[k]: VARIABLES[j] for k, j in enumerate(rest)}
            inner = tuple(named.get(token, token) for token in prefix), constants
            left = 1.0 - r2_score(h, evaluate(inner[0], X, inner[1]), weights)
            found.append((left, multiplied(powers, inner)))
        if found and min(left for left, _ in found) <= ENOUGH:
            break
    found.sort(key=lambda one: one[0])
    return [form for _, form in found]


def multiplied(powers: dict[int, float], inner: Valued) -> Valued:
    """∏ xⁿ times a formula, with one fraction line where the formula has one."""
    above, below = (
        [power(((VARIABLES[j],), ()), abs(n)) for j, n in powers.items() if (n > 0) == up]
        for up in (True, False)
    )
    return fraction(1.0, [*above, inner], below)
