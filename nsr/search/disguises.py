"""Disguises: a fitted expression may be a simpler one in disguise.

With very large or very small constants an expression comes close to a simpler one, its limit, at all points
of the data: 10⁶·tan(10⁻⁶·x) is a straight line. This file writes the limits down. Letters: m and n are the
medians of u and v.

    f(u)           →  f(m) + f'(m)·(u − m)      where u stays close to m
    f(u)           →  a + b·(u − c)²            where u stays so close to m that f is a parabola
    u·v, u/v       →  n·u + m·v − m·n           where u and v vary little compared with m and n; u/v likewise
    tan(u)         →  1 / (π/2 − u)             close to a pole
    exp(c·log(u))  →  1/u, √u, u or u²          the one whose exponent is closest to c
    u + v          →  u + n, or u               where v varies little compared with u (`calmed`)

The constants of a limit follow from those of the expression. Whether it fits as well, a verification says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from nsr.data.rescaling import Units
from nsr.formulas.expressions import (
    ARITY,
    CONSTANT,
    Constants,
    Prefix,
    Valued,
    join,
    nest_valued,
    number,
    spans,
)
from nsr.numbers.evaluation import evaluate
from nsr.numbers.simplification import simplify

_EXPONENTS: dict[float, Prefix] = {-1: ("div", CONSTANT), 0.5: ("sqrt",), 1: (), 2: ("pow2",)}
SMALL = 0.5  # arguments that vary less than this are small beside 1, on whose scale functions bend
CLOSE = 1e-6  # a bend that is less than this beside the slope makes a straight line
LITTLE = 1e-4  # beside a term that varies so much more, another one is a number
_STEP = 1e-4  # of the argument's own spread, for the slope of a function


def limits(prefix: Prefix, constants: Constants, X: np.ndarray) -> list[Valued]:
    """What the expression with these constants may be a disguise of, at the points X (P, D); each once.

    >>> X = np.linspace(1.0, 2.0, 9)[:, None]
    >>> [" ".join(prefix) for prefix, _ in limits(("mul", "C", "tan", "mul", "C", "x1"), (3e6, 1e-6), X)]
    ['mul C add C mul C x1', 'div C add C mul C x1']
    """
    different: dict[Prefix, Valued] = {}
    with np.errstate(all="ignore"):
        for new in _limits(prefix, constants, X):
            if np.isfinite(new[1]).all():
                valued = simplify(*new)
                if np.isfinite(valued[1]).all() and valued[0] != prefix:
                    different.setdefault(valued[0], valued)
    return list(different.values())


def _limits(prefix: Prefix, constants: Constants, X: np.ndarray) -> Iterator[Valued]:
    ends = spans(prefix)
    # first[i] is the number of the first constant at token i or after it
    first = np.cumsum([0, *(token == CONSTANT for token in prefix)])

    def between(i: int, j: int) -> Valued:
        return prefix[i:j], tuple(constants[first[i] : first[j]])

    for i, token in enumerate(prefix):
        if token in ("add", "sub") or token not in ARITY:
            continue
        before, after = between(0, i), between(ends[i], len(prefix))
        u = between(i + 1, ends[i + 1])
        if ARITY[token] == 1:
            new = [_line(token, u, X), *_parabola(token, u, X)]
            if token == "tan":
                new.append(_reciprocal(u))
            if token == "exp" and "log" in u[0][:3:2]:
                new.extend(_power(u))
        else:
            v = between(ends[i + 1], ends[i])
            new = [_sum_of(token, u, v, X)] if (CONSTANT,) not in (u[0], v[0]) else []
        for middle in new:
            yield before[0] + middle[0] + after[0], before[1] + middle[1] + after[1]


def calmed(prefix: Prefix, constants: Constants, X: np.ndarray) -> list[Valued]:
    """The expression with one term of a sum as a number, or left out, where it varies little compared with the other
    at the points X (P, D); a number does not vary, and its size counts.

    >>> X = np.linspace(1.0, 2.0, 9)[:, None]
    >>> calmed(("mul", "x1", "sub", "x1", "C"), (1e9, ), X), calmed(("sub", "div", "C", "x1", "x1"), (1e-9, ), X)
    ([(('mul', 'C', 'x1'), (-1000000000.0,))], [(('mul', 'C', 'x1'), (-1.0,))])
    """
    ends, found = spans(prefix), []
    first = np.cumsum([0, *(token == CONSTANT for token in prefix)])

    def between(i: int, j: int) -> Valued:
        return prefix[i:j], tuple(constants[first[i] : first[j]])

    for i, token in enumerate(prefix):
        if token not in ("add", "sub"):
            continue
        before, after = between(0, i), between(ends[i], len(prefix))
        terms = between(i + 1, ends[i + 1]), between(ends[i + 1], ends[i])
        values = [evaluate(tokens, X, numbers) for tokens, numbers in terms]
        for k in (0, 1):
            other, size = values[1 - k], np.abs(values[1 - k]).max()
            if terms[k][0] == (CONSTANT,) or not np.ptp(values[k]) <= LITTLE * (np.ptp(other) or size):
                continue
            middle, both = float(np.median(values[k])), list(terms)
            both[k] = number(middle)
            inner = join(token, *both)
            if abs(middle) <= LITTLE * size:  # left out
                inner = join("mul", number(-1.0), terms[1]) if token == "sub" and k == 0 else terms[1 - k]
            new = simplify(before[0] + inner[0] + after[0], before[1] + inner[1] + after[1])
            if np.isfinite(new[1]).all() and new[0] != prefix:
                found.append(new)
    return list(dict(found).items())


def _line(token: str, u: Valued, X: np.ndarray) -> Valued:
    """f(u) as a straight line of u, at the median of u."""
    values = evaluate(u[0], X, u[1])
    m, h = float(np.median(values)), max(float(np.ptp(values)), 1e-300) * _STEP
    low, mid, high = evaluate((token, "x1"), np.array([[m - h], [m], [m + h]])).tolist()
    slope = (high - low) / (2 * h)
    return join("add", number(mid - slope * m), join("mul", number(slope), u))


def _parabola(token: str, u: Valued, X: np.ndarray) -> Iterator[Valued]:
    """f(u) as a parabola of u, at the median of u, where u is so small that f(u) is one: cos(εx) is 1 − ε²x²/2."""
    if token == "pow2":
        return
    values = evaluate(u[0], X, u[1])
    m, spread = float(np.median(values)), float(np.ptp(values))
    if not 0.0 < spread < SMALL:
        return
    h = 1e-3  # the function is smooth on the scale of 1; a smaller step would leave the curvature to rounding
    low, mid, high = evaluate((token, "x1"), np.array([[m - h], [m], [m + h]])).tolist()
    slope, bend = (high - low) / (2 * h), (high - 2 * mid + low) / (h * h) / 2
    if math.isfinite(bend) and abs(bend) * spread > CLOSE * abs(slope):
        away = slope / (2 * bend)  # from the vertex to m
        # in units of the spread: the numbers in u are tiny
        wide = Units.same(X.shape[1]).back(*join("mul", number(1.0 / spread), u))
        square = join("pow2", join("add", number((away - m) / spread), wide))
        yield join(
            "add", number(mid - bend * away * away), join("mul", number(bend * spread * spread), square)
        )


def _reciprocal(u: Valued) -> Valued:
    return join("div", number(-1.0), join("add", number(-math.pi / 2), u))


def _power(u: Valued) -> Iterator[Valued]:
    """exp(u) for u = log(w) or c·log(w)."""
    for layout, c in ((("log",), 1.0), (("mul", CONSTANT, "log"), u[1][0] if u[1] else 1.0)):
        if u[0][: len(layout)] == layout:
            w, values = u[0][len(layout) :], u[1][layout.count(CONSTANT) :]
            tokens = _EXPONENTS[min(_EXPONENTS, key=lambda n: abs(n - c))]
            yield (*tokens, *w), (*(1.0 for token in tokens if token == CONSTANT), *values)


def _sum_of(token: str, u: Valued, v: Valued, X: np.ndarray) -> Valued:
    """u·v = n·u + m·v − m·n + (u − m)·(v − n), without the last product; u/v = u/n − m·v/n² + m/n + …"""
    m, n = (float(np.median(evaluate(prefix, X, constants))) for prefix, constants in (u, v))
    if token == "div":
        n = 1.0 / n if n else math.inf
        a, b, c = n, -m * n * n, m * n
    else:
        a, b, c = n, m, -m * n
    return nest_valued("add", [number(c), join("mul", number(a), u), join("mul", number(b), v)])
