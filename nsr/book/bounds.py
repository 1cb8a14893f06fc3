"""The values that a setting may have, said in the type of its field; any other is refused in the same words
everywhere."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from nsr.book.spelling import refuse_unknown, shown


@dataclass(frozen=True)
class Between:
    """The range of a number, both ends included; infinity stands for "any finite number"."""

    low: float
    high: float = math.inf


MOST = 10**9  # of anything that is counted
Count = Annotated[int, Between(1, MOST)]
Natural = Annotated[int, Between(0, MOST)]
Share = Annotated[float, Between(0, 1)]
Amount = Annotated[float, Between(0)]


def refuse_outside(settings: Any, error: type[Exception] = ValueError) -> None:
    """Raise an error if a field of a dataclass has a value that its type does not allow.

    >>> @dataclass
    ... class Beam:
    ...     size: Count = 5
    ...     order: Literal["sum", "mean"] = "sum"
    >>> refuse_outside(Beam())
    >>> refuse_outside(Beam(size=0))
    Traceback (most recent call last):
    ValueError: size is 0; it must be a whole number from 1 to 1,000,000,000.
    >>> refuse_outside(Beam(order="max"))
    Traceback (most recent call last):
    ValueError: There is no order 'max'. There are: sum, mean.
    """
    for name, hint in _hints(type(settings)).items():
        value, (kind, *more) = getattr(settings, name), get_args(hint) or (hint,)
        if get_origin(hint) is Literal:
            refuse_unknown([value], get_args(hint), name, error)
        elif not _fits(value, kind, *more):
            raise error(f"{name} is {shown(value)}; it must be {_wanted(kind, *more)}.")


@cache
def _hints(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls, include_extras=True)
    return {name: hint for name, hint in hints.items() if isinstance(hint, type) or get_args(hint)}


def _fits(value: Any, kind: type, limits: Between | None = None) -> bool:
    if kind is float and type(value) is int:
        kind = int
    if type(value) is not kind:
        return False
    return limits is None or limits.low <= value <= limits.high and abs(value) < math.inf


def _wanted(kind: type, limits: Between | None = None) -> str:
    words = {bool: "true or false", str: "a text", int: "a whole number", float: "a number"}[kind]
    if limits is None:
        return words
    low, high = (f"{end:,}" for end in (limits.low, limits.high))
    return f"{words} from {low} to {high}" if math.isfinite(limits.high) else f"a finite number from {low} on"
