"""Dimensions: whether a formula can have the unit of y, if its columns have theirs.

A constant may carry any unit. What is added has one unit; sin, exp and the like are taken of numbers, and their
values are numbers. Three rules are about logarithms, because the logarithm of a quantity changes by a number if its
unit does:

    c + k·log(x)         is k·log(x/x0): a constant in the sum takes the unit up
    c·exp(k·log(x))      is c·xᵏ: a constant factor does
    log(x) − log(y)      is log(x/y)

So c1·x1 + c2·x2 is always possible, sin(c·x1), too; sin(x1) with x1 in metres is not, nor x1 + x2 in metres and
seconds. A factor of 1 that carries a unit is written down, x1 + 1·x2, and costs as much as every constant. The
exponents of the constants' units are the unknowns of a linear system, which is solved with fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from nsr.book.spelling import refuse_unknown, shown
from nsr.formulas.expressions import (
    ARITY,
    CONSTANT,
    EXPONENT,
    VARIABLES,
    Prefix,
    Valued,
    check,
    constants_at,
    spans,
)
from nsr.search.physical_units import Unit, UnitError, read_unit, times

# Exponents of base units, and of the unknown units of constants (numbers from 0 on), of columns and of y (names).
Powers = dict[str | int, Fraction]
_GOAL = "y"  # of an unknown unit
MOST_FACTORS = 12  # that are tried in a formula


@dataclass(frozen=True)
class Dimensions:
    """The units of x1, x2, … and of y; None: it may be any unit.

    >>> from nsr.search.physical_units import read_unit
    >>> fall = Dimensions((read_unit("m"), read_unit("s")), read_unit("m/s"))
    >>> fall.admits(("div", "x1", "x2")), fall.admits(("mul", "x1", "x2")), fall.admits(("mul", "C", "x2"))
    (True, False, True)
    >>> fall.of_constants(("mul", "C", "x2"))
    [(('m', Fraction(1, 1)), ('s', Fraction(-2, 1)))]
    """

    columns: tuple[Unit | None, ...]
    goal: Unit | None = None

    @classmethod
    def read(
        cls,
        X_units: Mapping[str, str | None] | Sequence[str | None] | None,
        y_units: str | None,
        names: Sequence[str],
        chosen: Sequence[int],
    ) -> Dimensions | None:
        """From the user's texts, for the chosen ones of the columns with these names; None if there are none.

        >>> Dimensions.read({"time": "s"}, None, ["mass", "time"], [1]).columns
        ((('s', Fraction(1, 1)),),)
        """
        if X_units is None and y_units is None:
            return None
        if X_units is not None and (isinstance(X_units, str) or not isinstance(X_units, Iterable)):
            raise ValueError(
                f"X_units is {shown(X_units)}; give a list with the unit of each column, or a dict."
            )
        if hasattr(X_units, "items"):  # a dict, or a series of pandas
            X_units = dict(X_units.items())
            refuse_unknown(X_units, names, "column", ValueError, "in X_units")
            given = [X_units.get(name) for name in names]
        else:
            given = list(X_units) if X_units is not None else [None] * len(names)
        if len(given) != len(names):
            raise ValueError(f"X_units has {len(given)} units, X has {len(names)} columns.")
        units = [_read(text, f"X_units of {shown(name)}") for text, name in zip(given, names)]
        return cls(tuple(units[j] for j in chosen), _read(y_units, "y_units"))

    def admits(self, prefix: Prefix) -> bool:
        """Whether some units of its constants give the formula the unit of y."""
        return _solved(prefix, self.columns, self.goal) is not None

    def admits_part(self, prefix: Prefix) -> bool:
        """Whether the formula may stand inside another one: it has some unit."""
        return _solved(prefix, self.columns, None) is not None

    def of_constants(self, prefix: Prefix) -> list[Unit | None]:
        """The units of the constants; None for one that may have several."""
        solved = _solved(prefix, self.columns, self.goal) or {}
        units = [_reduced({k: Fraction(1)}, solved) for k in range(prefix.count(CONSTANT))]
        return [
            None if any(not isinstance(a, str) or a in _UNKNOWN for a in u) else tuple(sorted(u.items()))
            for u in units
        ]


_UNKNOWN = (*VARIABLES, _GOAL)


def _read(text: str | None, where: str) -> Unit | None:
    try:
        return None if text is None else read_unit(text)
    except UnitError as error:
        raise ValueError(f"{where}: {error}") from None


class _Impossible(Exception):
    pass


@lru_cache(maxsize=65536)
def _solved(prefix: Prefix, columns: tuple[Unit | None, ...], goal: Unit | None) -> Mapping | None:
    """What the unknown units are, in terms of those that stay free; None if there is no solution."""
    check(prefix)
    units = dict(zip(VARIABLES, columns))
    number = {i: k for k, i in enumerate(constants_at(prefix))}
    taken, solved = taken_up(prefix), {}
    stack: list[tuple[Powers, Powers]] = []  # the unit, and the unit of what a sum of logarithms is taken of
    try:
        for i in range(len(prefix) - 1, -1, -1):
            token = prefix[i]
            args = [stack.pop() for _ in range(ARITY.get(token, 0))]
            if not args:
                unit = units.get(token) if token != CONSTANT else None
                known = None if unit is None else dict(unit)
                stack.append((known if known is not None else {number.get(i, token): Fraction(1)}, {}))
                continue
            (unit, log), (second, other) = args[0], args[-1]
            if token in ("add", "sub"):
                _equal(unit, second, solved)
                stack.append((unit, times(log, other, 1 if token == "add" else -1)))
                continue
            if token == "neg":
                stack.append((unit, times({}, log, -1)))
                continue
            if token == "exp":
                _equal(unit, {}, solved)
                stack.append((log, {}))
                continue
            for inside in (log, other):
                _equal(inside, {}, solved)
            if token in ("mul", "div"):
                stack.append((times(unit, second, 1 if token == "mul" else -1), {}))
            elif token in EXPONENT or token == "sqrt":
                stack.append((times({}, unit, EXPONENT.get(token, Fraction(1, 2))), {}))
            elif token == "log":
                stack.append(({}, {} if i in taken else unit))
            else:
                _equal(unit, {}, solved)
                stack.append(({}, {}))
        unit, log = stack[0]
        _equal(log, {}, solved)
        _equal(unit, {_GOAL: Fraction(1)} if goal is None else dict(goal), solved)
    except _Impossible:
        return None
    return solved


def _reduced(powers: Powers, solved: Mapping[str | int, Powers]) -> Powers:
    """Without the unknowns that are solved."""
    while found := [a for a in powers if a in solved]:
        for axis in found:
            n = powers[axis]
            powers = times({a: m for a, m in powers.items() if a != axis}, solved[axis], n)
    return powers


def _equal(one: Powers, other: Powers, solved: dict[str | int, Powers]) -> None:
    """Two units are the same: one more equation, solved for one of its unknowns."""
    left = _reduced(times(one, other, -1), solved)
    unknown = next((a for a in left if isinstance(a, int)), next((a for a in left if a in _UNKNOWN), None))
    if unknown is not None:
        n = left.pop(unknown)
        solved[unknown] = times({}, left, Fraction(-1) / n)
    elif left:
        raise _Impossible


def with_units(formula: Valued, admits: Callable[[Prefix], bool]) -> Valued | None:
    """The formula with the fewest factors 1 that make it admitted, because they carry a unit: x1 + 1·x2.

    >>> with_units((("add", "x1", "mul", "C", "x2"), (3.0,)), lambda prefix: prefix[:2] == ("mul", "C"))
    (('mul', 'C', 'add', 'x1', 'mul', 'C', 'x2'), (1.0, 3.0))
    """
    places = sorted({0, *(i for i, token in enumerate(formula[0]) if token in VARIABLES)})

    def written(kept: list[int]) -> Valued:
        tokens: list[str] = []
        constants, given = [], iter(formula[1])
        for i, token in enumerate(formula[0]):
            if i in kept:
                tokens += ["mul", CONSTANT]
                constants.append(1.0)
            tokens.append(token)
            constants += [next(given)] if token == CONSTANT else []
        return tuple(tokens), tuple(constants)

    kept = places
    if len(places) > MOST_FACTORS or not admits(written(kept)[0]):
        return None
    for place in places:
        fewer = [i for i in kept if i != place]
        kept = fewer if admits(written(fewer)[0]) else kept
    return written(kept)


def taken_up(prefix: Prefix) -> set[int]:
    """Where the logarithms stand whose argument may have a unit, because a constant takes it up.

    >>> taken_up(("add", "C", "mul", "C", "log", "x1")), taken_up(("mul", "C", "log", "x1"))
    ({4}, set())
    """
    if "log" not in prefix:
        return set()
    ends = spans(prefix)
    second = [ends[i + 1] if ARITY.get(token) == 2 else 0 for i, token in enumerate(prefix)]
    number = [False] * len(prefix)  # no variable in it
    summand, factor = [False] * len(prefix), [False] * len(prefix)  # the sum or product there has a constant
    for i in range(len(prefix) - 1, -1, -1):
        token = prefix[i]
        arguments = [i + 1, second[i]][: ARITY.get(token, 0)]
        number[i] = all(number[j] for j in arguments) if arguments else token == CONSTANT
        for has, tokens in ((summand, ("add", "sub", "neg")), (factor, ("mul", "div", "neg"))):
            has[i] = number[i] or token in tokens and any(has[j] for j in arguments)
    found: set[int] = set()
    # whether a constant around it takes a summand, a factor
    shift, scale = [False] * len(prefix), [False] * len(prefix)
    for i, token in enumerate(prefix):
        if token in ("add", "sub"):
            for j in (i + 1, second[i]):
                shift[j] = shift[i] or summand[i]
        elif token in ("mul", "div"):
            shift[i + 1] = shift[i] and number[second[i]]
            shift[second[i]] = shift[i] and number[i + 1] and token == "mul"
            for j in (i + 1, second[i]):
                scale[j] = scale[i] or factor[i]
        elif token == "exp":
            shift[i + 1] = scale[i]
        elif token == "log" and shift[i]:
            found.add(i)
            scale[i + 1] = True
        elif token == "neg":
            shift[i + 1], scale[i + 1] = shift[i], scale[i]
        elif token in EXPONENT or token == "sqrt":
            scale[i + 1] = scale[i]
    return found
