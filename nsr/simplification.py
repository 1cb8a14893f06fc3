"""Simplification: an expression with fitted constants, written without those that are 0, ±1 or a quarter turn.

The canonical form (nsr.normal_form) knows tokens only; here every constant has a value, so a negative factor becomes a subtraction,
a term with the factor 0 disappears, and sin(u + π/2) becomes cos(u).
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nsr.expressions import CONSTANT, Prefix, fold
from nsr.normal_form import sort_key
from nsr.numerics import evaluate

QUARTER = math.pi / 2
ODD = ("sin", "tan", "asin")
_TURNS = {0: (1, "sin"), 1: (1, "cos"), 2: (-1, "sin"), 3: (-1, "cos")}  # sin(u + n·π/2)


class Term(NamedTuple):
    """One term of a sum: its sign, its tokens, and the values of the constants among them."""

    sign: int
    prefix: Prefix
    values: tuple[float, ...] = ()


Value = float | list[Term]  # a number that is known, or a sum
Valued = tuple[Prefix, tuple[float, ...]]  # tokens, and the values of the constants among them


def simplify(prefix: Prefix, constants: tuple[float, ...], fixed: Mapping[int, float] | None = None) -> Valued:
    """The same function with constant k at the number fixed[k] and out of sight where possible, in the canonical layout.

    Signs of factors become additions and subtractions, terms with the factor 0 disappear, sin(u + π/2) becomes cos(u).

    >>> simplify(("add", "mul", "C", "x1", "mul", "C", "sin", "x2"), (1.0, -3.0), {0: 1.0})
    (('sub', 'x1', 'mul', 'C', 'sin', 'x2'), (3.0,))
    """
    return _write(_terms(_value(prefix, constants, fixed or {})))


def _value(prefix: Prefix, constants: tuple[float, ...], fixed: Mapping[int, float]) -> Value:
    """The expression as a number or a sum."""
    number = {i: k for k, i in enumerate(i for i, token in enumerate(prefix) if token == CONSTANT)}

    def visit(token: str, i: int, *args: Value) -> Value:
        if token == CONSTANT:
            k = number[i]
            return float(fixed[k]) if k in fixed else [Term(1, (CONSTANT,), (float(constants[k]),))]
        if not args:
            return [Term(1, (token,))]
        if token in ("add", "sub"):
            return _sum(args[0], args[1] if token == "add" else _opposite(args[1]))
        if token == "neg":
            return _opposite(args[0])
        if token in ("mul", "div"):
            return _product(token, *args)
        if isinstance(args[0], float):
            return float(evaluate((token, CONSTANT), np.zeros((1, 1)), (args[0],))[0])
        return _function(token, args[0])

    return fold(prefix, visit)


def _terms(value: Value) -> list[Term]:
    """A value as terms: a number other than 0 is a constant."""
    if isinstance(value, float):
        return [Term(1, (CONSTANT,), (value,))] if value else []
    return value


def _opposite(value: Value) -> Value:
    return -value if isinstance(value, float) else [term._replace(sign=-term.sign) for term in value]


def _sum(a: Value, b: Value) -> Value:
    """All terms; the additive constants are one."""
    if isinstance(a, float) and isinstance(b, float):
        return a + b
    terms = _terms(a) + _terms(b)
    added = [term.sign * term.values[0] for term in terms if term.prefix == (CONSTANT,)]
    rest = [term for term in terms if term.prefix != (CONSTANT,)]
    return [Term(1, (CONSTANT,), (math.fsum(added),)), *rest] if added else rest


def _product(token: str, a: Value, b: Value) -> Value:
    if isinstance(a, float) and isinstance(b, float):
        return a * b if token == "mul" else a / b if b else math.nan
    if isinstance(a, float) and token == "mul":
        a, b = b, a  # the number is on the right
    if b in (1.0, -1.0):
        return a if b == 1.0 else _opposite(a)
    if a == 0.0 or b == 0.0 and token == "mul":
        return 0.0
    (s, p, v), (t, q, w) = (_factor(part) for part in (a, b))
    if token == "mul" and (q == (CONSTANT,) or p != (CONSTANT,) and sort_key(q) < sort_key(p)):
        p, v, q, w = q, w, p, v
    if token == "mul" and p == (CONSTANT,) and q[:2] == ("mul", CONSTANT):  # two factors are one
        p, v, q, w = p, (v[0] * w[0],), q[2:], w[1:]
    return [Term(s * t, (token, *p, *q), v + w)]


def _factor(value: Value) -> Term:
    """A value as one term; the sign of a constant is outside."""
    terms = _terms(value)
    if len(terms) != 1:
        return Term(1, *_write(terms))
    sign, prefix, values = terms[0]
    if prefix == (CONSTANT,) and values[0] < 0:
        return Term(-sign, prefix, (-values[0],))
    return terms[0]


def _function(token: str, terms: list[Term]) -> list[Term]:
    """f(u), with −u for u where that has fewer minus signs, and whole or quarter turns of the phase taken out."""
    sign = 1
    others = [term for term in terms if term.prefix != (CONSTANT,)]
    if token == "cos" or token in ODD:
        minus, other = sum(term.sign < 0 for term in others), _opposite(terms)
        tie = 2 * minus == len(others)
        if 2 * minus > len(others) or tie and sort_key(_write(other)[0]) < sort_key(_write(terms)[0]):
            terms, sign = other, -1 if token in ODD else 1
    if token in ("sin", "cos", "tan"):
        phase = sum(term.sign * term.values[0] for term in terms if term.prefix == (CONSTANT,))
        rest = [term for term in terms if term.prefix != (CONSTANT,)]
        quarters = phase / QUARTER
        if token == "tan":
            turn = math.remainder(phase, math.pi)
        elif phase and quarters == round(quarters):  # it was set to a quarter turn
            factor, token = _TURNS[(round(quarters) + (token == "cos")) % 4]
            sign, turn = sign * factor, 0.0
        else:
            turn = math.remainder(phase, 2 * math.pi)
        if len(rest) < len(terms):
            terms = ([Term(1, (CONSTANT,), (turn,))] if turn else []) + rest
    prefix, values = _write(terms)
    return [Term(sign, (token, *prefix), values)]


def _write(terms: list[Term]) -> Valued:
    """The canonical layout: constant, positive terms nested to the right, then the negative ones to the left."""
    constant = [Term(1, (CONSTANT,), (t.sign * t.values[0],)) for t in terms if t.prefix == (CONSTANT,)]
    terms = [t if t.sign > 0 else _turned(t) or t for t in terms if t.prefix != (CONSTANT,)]
    terms.sort(key=lambda t: sort_key(t.prefix))
    plus, minus = constant + [t for t in terms if t.sign > 0], [t for t in terms if t.sign < 0]
    if not plus and minus:  # −u alone: the sign is a constant
        taken = next((t for t in minus if t.prefix[:2] == ("mul", CONSTANT)), minus[0])
        minus.remove(taken)
        has_factor = taken.prefix[:2] == ("mul", CONSTANT)
        plus = [Term(1, taken.prefix, (-taken.values[0], *taken.values[1:])) if has_factor
                else Term(1, ("mul", CONSTANT, *taken.prefix), (-1.0, *taken.values))]
    plus = plus or [Term(1, (CONSTANT,), (0.0,))]
    prefix = plus[-1].prefix
    for term in reversed(plus[:-1]):
        prefix = ("add", *term.prefix, *prefix)
    for term in minus:
        prefix = ("sub", *prefix, *term.prefix)
    return prefix, tuple(value for term in plus + minus for value in term.values)


def _turned(term: Term) -> Term | None:
    """−c·sin(x1 − x2) is c·sin(x2 − x1): the term with its sign in the argument of an odd function, if that has a positive term then."""
    n = int(term.prefix[:2] == ("mul", CONSTANT))
    if term.prefix[2 * n] not in ODD:
        return None
    inner = _terms(_opposite(_value(term.prefix[2 * n + 1 :], term.values[n:], {})))
    if not any(t.prefix != (CONSTANT,) and (t.sign > 0 or _turned(t)) for t in inner):
        return None
    prefix, values = _write(inner)
    return Term(1, (*term.prefix[: 2 * n + 1], *prefix), term.values[:n] + values)
