"""Simplification: an expression with fitted constants, written without those that are 0, ±1 or a quarter
turn.

It is an algebra of its own because every constant has a value that must not move: a negative factor becomes a
subtraction, a term with the factor 0 disappears, sin(u + π/2) becomes cos(u), and factors that meet in a
product or under a power are one. Equal terms stay apart, which the canonical form (nsr.formulas.normal_form)
joins: a fit found a number for each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from nsr.formulas.expressions import (
    CONSTANT,
    ODD,
    POWERS,
    SIGN_PASSES,
    Constants,
    Prefix,
    Valued,
    constants_at,
    fold,
    join,
    written_sum,
)
from nsr.formulas.normal_form import sort_key
from nsr.numbers.evaluation import function_at

QUARTER = math.pi / 2
_TURNS = {0: (1, "sin"), 1: (1, "cos"), 2: (-1, "sin"), 3: (-1, "cos")}  # sin(u + n·π/2)


class Term(NamedTuple):
    """One term of a sum: its sign, its tokens, and the values of the constants among them."""

    sign: int
    prefix: Prefix
    values: Constants = ()


Value = float | list[Term]  # a number that is known, or a sum


def simplify(prefix: Prefix, constants: Constants, fixed: Mapping[int, float] | None = None) -> Valued:
    """The same function with constant k at the number fixed[k] and out of sight where possible, in the
    canonical layout.

    Signs of factors become additions and subtractions, terms with the factor 0 disappear, sin(u + π/2)
    becomes cos(u).

    >>> simplify(("add", "mul", "C", "x1", "mul", "C", "sin", "x2"), (1.0, -3.0), {0: 1.0})
    (('sub', 'x1', 'mul', 'C', 'sin', 'x2'), (3.0,))
    >>> simplify(("div", "mul", "C", "x1", "pow2", "mul", "C", "x2"), (8.0, -2.0))
    (('div', 'mul', 'C', 'x1', 'pow2', 'x2'), (2.0,))
    >>> simplify(("mul", "C", "sqrt", "mul", "C", "x1"), (0.5, 36.0))
    (('mul', 'C', 'sqrt', 'x1'), (3.0,))
    """
    return _write(_terms(_value(prefix, constants, fixed or {})))


def _value(prefix: Prefix, constants: Constants, fixed: Mapping[int, float]) -> Value:
    """The expression as a number or a sum."""
    number = {i: k for k, i in enumerate(constants_at(prefix))}

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
        known = isinstance(args[0], float)
        if known or len(args[0]) == 1 and args[0][0].prefix == (CONSTANT,):  # a function of a constant is one
            argument = args[0] if known else _number(args[0][0])
            value = function_at(token, argument)
            if not math.isfinite(value):
                return [Term(1, (token, CONSTANT), (argument,))]
            return value if known else [Term(1, (CONSTANT,), (value,))]
        return _function(token, args[0])

    return fold(prefix, visit)


def _number(term: Term) -> float:
    """The value of a term that is a constant."""
    return term.sign * term.values[0]


def _terms(value: Value) -> list[Term]:
    """A value as terms: a number other than 0 is a constant."""
    if isinstance(value, float):
        return [Term(1, (CONSTANT,), (value,))] if value else []
    return value


def _opposite(value: Value) -> Value:
    return -value if isinstance(value, float) else [term._replace(sign=-term.sign) for term in value]


def _sum(a: Value, b: Value) -> Value:
    """All terms; the additive constants are one."""
    terms = _terms(a) + _terms(b)
    added = sum((_number(term) for term in terms if term.prefix == (CONSTANT,)), 0.0)
    if not math.isfinite(added):
        return terms
    if isinstance(a, float) and isinstance(b, float):
        return added
    rest = [term for term in terms if term.prefix != (CONSTANT,)]
    return [Term(1, (CONSTANT,), (added,)), *rest] if len(rest) < len(terms) else rest


def _product(token: str, a: Value, b: Value) -> Value:
    if isinstance(a, float) and isinstance(b, float) and math.isfinite(value := _together(token, a, b)):
        return value
    if isinstance(a, float) and token == "mul":
        a, b = b, a  # the number is on the right
    if b in (1.0, -1.0):
        return a if b == 1.0 else _opposite(a)
    if a == 0.0 != b or b == 0.0 and token == "mul":
        return 0.0
    x, y = _pulled(a), _pulled(b)
    size = _together(token, x.size, y.size)
    if size is not None and not math.isfinite(size):
        # A division by 0, or a number too large to be written: nothing is simplified.
        return [Term(1, *join(token, *(_write(_terms(part)) for part in (a, b))))]
    if token == "mul" and (not x.prefix or y.prefix and sort_key(y.prefix) < sort_key(x.prefix)):
        x, y = y, x  # the smaller one first, a mere constant last
    sign = x.sign * y.sign
    if not y.prefix:
        return _scaled(Factored(sign, size, x.prefix, x.values))
    if not x.prefix:  # C / u
        return [Term(sign, ("div", CONSTANT, *y.prefix), (size, *y.values))]
    return _scaled(Factored(sign, size, (token, *x.prefix, *y.prefix), x.values + y.values))


class Factored(NamedTuple):
    """A term with its constant factor, if it has one, beside it; a constant has nothing but that."""

    sign: int
    size: float | None
    prefix: Prefix
    values: Constants


def _pulled(value: Value) -> Factored:
    """A value with its factor pulled out of a product, or of a numerator."""
    terms = _terms(value)
    sign, prefix, values = terms[0] if len(terms) == 1 else Term(1, *_write(terms))
    for layout, rest in (((CONSTANT,), ()), (("mul", CONSTANT), ()), (("div", "mul", CONSTANT), ("div",))):
        if prefix[: len(layout)] == layout:
            sign = sign if values[0] >= 0 else -sign
            return Factored(sign, abs(values[0]), (*rest, *prefix[len(layout) :]), values[1:])
    return Factored(sign, None, prefix, values)


def _together(token: str, a: float | None, b: float | None) -> float | None:
    """Two factors as one, of a product or a division."""
    if a is None and b is None:
        return None
    a, b = 1.0 if a is None else a, 1.0 if b is None else b
    return a * b if token == "mul" else a / b if b else math.inf


def _scaled(term: Factored) -> list[Term]:
    """The factor back in its place: before a product, or in the numerator of a division."""
    sign, size, prefix, values = term
    if size is None:
        return [Term(sign, prefix, values)]
    if not prefix:
        return [Term(sign, (CONSTANT,), (size,))]
    if prefix[:2] == ("div", CONSTANT):  # it has one there
        return [Term(sign, prefix, (size * values[0], *values[1:]))]
    layout = ("div", "mul", CONSTANT, *prefix[1:]) if prefix[0] == "div" else ("mul", CONSTANT, *prefix)
    return [Term(sign, layout, (size, *values))]


def _function(token: str, terms: list[Term]) -> list[Term]:
    """f(u), with −u for u where that has fewer minus signs, and whole or quarter turns of the phase taken
    out; (c·u)ⁿ = cⁿ·uⁿ, and so for a root if c > 0."""
    if token in (*POWERS, "sqrt") and len(terms) == 1 and terms[0].prefix != (CONSTANT,):
        u = _pulled(terms)
        size = None if u.size is None else function_at(token, u.size)
        if (size is None or math.isfinite(size)) and not (token == "sqrt" and u.sign < 0):
            sign = u.sign if token in SIGN_PASSES else 1
            return _scaled(Factored(sign, size, (token, *u.prefix), u.values))
    sign = 1
    others = [term for term in terms if term.prefix != (CONSTANT,)]
    if token == "cos" or token in ODD:
        minus, other = sum(term.sign < 0 for term in others), _opposite(terms)
        tie = 2 * minus == len(others)
        if 2 * minus > len(others) or tie and sort_key(_write(other)[0]) < sort_key(_write(terms)[0]):
            terms, sign = other, -1 if token in ODD else 1
    if token in ("sin", "cos", "tan"):
        phase = sum(_number(term) for term in terms if term.prefix == (CONSTANT,))
        rest = [term for term in terms if term.prefix != (CONSTANT,)]
        quarters = phase / QUARTER
        if not math.isfinite(phase):  # two constants too large to be one
            turn, rest = 0.0, terms
        elif token == "tan":
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
    constant = [Term(1, (CONSTANT,), (_number(t),)) for t in terms if t.prefix == (CONSTANT,)]
    terms = [t if t.sign > 0 else _turned(t) or t for t in terms if t.prefix != (CONSTANT,)]
    terms.sort(key=lambda t: sort_key(t.prefix))
    plus, minus = constant + [t for t in terms if t.sign > 0], [t for t in terms if t.sign < 0]
    if not plus and minus:  # −u alone: the sign is a constant
        taken = next((t for t in minus if _pulled([t]).size is not None), minus[0])
        minus.remove(taken)
        u = _pulled([taken])
        plus = _scaled(u._replace(sign=1, size=u.sign * (1.0 if u.size is None else u.size)))
    plus = plus or [Term(1, (CONSTANT,), (0.0,))]
    prefix = written_sum([term.prefix for term in plus], [term.prefix for term in minus])
    return prefix, tuple(value for term in plus + minus for value in term.values)


def _turned(term: Term) -> Term | None:
    """−c·sin(x1 − x2) is c·sin(x2 − x1): the term with its sign in the argument of an odd function, if that
    has a positive term then."""
    n = int(term.prefix[:2] == ("mul", CONSTANT))
    if term.prefix[2 * n] not in ODD:
        return None
    inner = _terms(_opposite(_value(term.prefix[2 * n + 1 :], term.values[n:], {})))
    if not any(t.prefix != (CONSTANT,) and (t.sign > 0 or _turned(t)) for t in inner):
        return None
    prefix, values = _write(inner)
    return Term(1, (*term.prefix[: 2 * n + 1], *prefix), term.values[:n] + values)


STRAIN = 1e5  # a constant beyond it, or below its inverse, is the mark of a disguise (nsr.search.disguises)


def is_strained(constants: Iterable[float], most: float = STRAIN) -> bool:
    """Whether some constants are enormous or tiny. A search rescales its data, so the constants of a true
    formula are neither.

    >>> is_strained((3e6, 1e-6)), is_strained((3.0,)), is_strained(())
    (True, False, False)
    """
    return any(not 1 / most <= abs(c) <= most for c in constants)
