"""A physical unit, read from text such as "kg*m/s**2", "kJ/mol" or "1".

A unit is a product of powers of base units and of prime numbers, for its size: a kilometre is 2³·5³·m. So units of
the same dimension and different size are different, and all of it is exact.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache

from nsr.book.spelling import refuse_unknown, shown

Axis = str  # a base unit, or a prime number in digits
Unit = tuple[tuple[Axis, Fraction], ...]  # the exponents that are not 0, in the order of their axes

LONGEST, DEEPEST, LARGEST = 200, 20, 100  # characters, brackets inside brackets, exponents
BASE = "m g s A K mol cd".split()
_PREFIXES = dict(zip("Q R Y Z E P T G M k".split(), range(30, 0, -3))) | {"h": 2, "da": 1, "d": -1, "c": -2}
_PREFIXES |= dict(zip("m µ n p f a z y r q".split(), range(-3, -33, -3))) | {"u": -6}
_LONG_PREFIXES = {"tera": 12, "giga": 9, "mega": 6, "kilo": 3, "hecto": 2, "deci": -1, "centi": -2}
_LONG_PREFIXES |= {"milli": -3, "micro": -6, "nano": -9, "pico": -12, "femto": -15}
# size, and the unit that it is the size of
_PREFIXED = {
    **dict(rad=(1, "1"), sr=(1, "1"), Hz=(1, "1/s"), N=(1, "kg*m/s**2"), Pa=(1, "N/m**2"), J=(1, "N*m")),
    **dict(W=(1, "J/s"), C=(1, "A*s"), V=(1, "W/A"), F=(1, "C/V"), ohm=(1, "V/A"), S=(1, "A/V")),
    **dict(Wb=(1, "V*s"), T=(1, "Wb/m**2"), H=(1, "Wb/A"), lm=(1, "cd"), lx=(1, "cd/m**2")),
    **dict(Bq=(1, "1/s"), Gy=(1, "J/kg"), Sv=(1, "J/kg"), kat=(1, "mol/s"), L=(1, "dm**3"), l=(1, "dm**3")),
    **dict(bar=(10**5, "Pa"), eV=(Fraction(1602176634, 10**28), "J"), cal=(Fraction("4.184"), "J")),
    **dict(t=(1000, "kg"), u=(Fraction("1.66053906660e-27"), "kg")),
}
_PLAIN = {
    "min": (60, "s"),
    "h": (3600, "s"),
    "d": (86400, "s"),
    "day": (86400, "s"),
    "%": (Fraction(1, 100), "1"),
}
_PLAIN |= {
    "dimensionless": (1, "1"),
    "atm": (101325, "Pa"),
    "deg": (Fraction(1, 180), "π"),
    "year": (31557600, "s"),
}
_LONG = dict(
    metre="m", meter="m", gram="g", second="s", ampere="A", kelvin="K", mole="mol", candela="cd", radian="rad",
    steradian="sr", hertz="Hz", newton="N", pascal="Pa", joule="J", watt="W", coulomb="C", volt="V", farad="F",
    siemens="S", weber="Wb", tesla="T", henry="H", lumen="lm", lux="lx", becquerel="Bq", gray="Gy", sievert="Sv",
    katal="kat", litre="L", liter="L", tonne="t", electron_volt="eV", calorie="cal", minute="min", hour="h",
    degree="deg", percent="%",
)  # fmt: skip
_OFFSET = {"degC", "degF", "celsius", "fahrenheit", "°C", "°F"}
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_LEXER = re.compile(
    r"(?P<power>\*\*|\^)|(?P<op>[*/()])|(?P<number>[0-9]+(?:\.[0-9]+)?)|(?P<name>[^\W\d]\w*|%)|(?P<sign>[-+])"
)


class UnitError(ValueError):
    """A text that is no unit; the message says why."""


def read_unit(text: str) -> Unit:
    """The unit that a text names.

    >>> read_unit("N") == read_unit("kg m / s^2") == read_unit("J/m"), read_unit("1"), read_unit("m**(1/2)/s")
    (True, (), (('m', Fraction(1, 2)), ('s', Fraction(-1, 1))))
    >>> read_unit("meter/secnd")
    Traceback (most recent call last):
    nsr.search.physical_units.UnitError: There is no unit 'secnd' (in 'meter/secnd'). Did you mean 'second'?
    """
    if not isinstance(text, str):
        raise UnitError(f"{shown(text)} is no unit; write text, such as 'm/s**2', or '1' for none")
    if len(text) > LONGEST:
        raise UnitError(f"a unit has at most {LONGEST} characters, not {len(text)}")
    return _Reader(text).read()


def unit_text(unit: Unit) -> str:
    """A unit in base units, as `read_unit` reads it if it has no size.

    >>> unit_text(read_unit("kJ")), unit_text(read_unit("J**(1/2)")), unit_text(())
    ('1000 kg*m**2/s**2', 'kg**(1/2)*m/s', '1')
    """
    powers = dict(unit)
    grams = powers.pop("g", Fraction(0))
    powers = dict(sorted(times(powers, {"2": 3 * grams, "5": 3 * grams}, -1).items()))
    digits = sum(
        float(powers.pop(a)) * math.log10(math.pi if a == "π" else int(a)) for a in [*powers] if a not in BASE
    )
    powers = {"kg": grams, **powers} if grams else powers
    above, below = (
        "*".join(f"{name}{_exponent(abs(n))}" for name, n in powers.items() if (n > 0) == up)
        for up in (True, False)
    )
    below = f"/({below})" if "*" in below.replace("**", "") else f"/{below}" if below else ""
    number = "" if abs(digits) < 1e-12 else f"{10.0**digits:.10g}" if abs(digits) < 300 else f"10**{digits:g}"
    return f"{number} {above or ('' if number else '1')}".strip() + below


def _exponent(n: Fraction) -> str:
    return "" if n == 1 else f"**{n}" if n.denominator == 1 else f"**({n})"


def times(one: Mapping, other: Mapping, power: Fraction | int = 1) -> dict:
    """Exponents of one · other**power; those that are 0 are left out."""
    both = dict(one)
    for axis, n in other.items():
        both[axis] = both.get(axis, 0) + n * power
    return {axis: n for axis, n in both.items() if n}


def _of_size(size: Fraction | int) -> dict[Axis, Fraction]:
    """A positive number as powers of primes."""
    found: dict[Axis, Fraction] = {}
    for number, sign in ((Fraction(size).numerator, 1), (Fraction(size).denominator, -1)):
        prime = 2
        while number > 1:
            if prime * prime > number:
                prime = number
            while number % prime == 0:
                number //= prime
                found = times(found, {str(prime): Fraction(sign)})
            prime += 1
    return found


@lru_cache(maxsize=1024)
def _named(name: str) -> Unit | None:
    """The unit with this name, perhaps behind a prefix."""
    name = name.replace("\u03bc", "\u00b5").replace("\u2126", "ohm").replace("\u03a9", "ohm")
    if name in BASE:
        return ((name, Fraction(1)),)
    if name == "π":
        return (("π", Fraction(1)),)
    if name in _PREFIXED or name in _PLAIN:
        size, of = (_PREFIXED | _PLAIN)[name]
        return _sorted(times(_of_size(size), dict(_Reader(of, ("π",)).read())))
    if name in _LONG or name.removesuffix("s") in _LONG:
        return _named(_LONG.get(name) or _LONG[name.removesuffix("s")])
    for prefixes, units in (
        (_PREFIXES, [*BASE, *_PREFIXED]),
        (_LONG_PREFIXES, [*_LONG, *(f"{n}s" for n in _LONG)]),
    ):
        for prefix, n in prefixes.items():
            if name.startswith(prefix) and name[len(prefix) :] in units:
                ten = {"2": Fraction(n), "5": Fraction(n)}
                return _sorted(times(dict(_named(name[len(prefix) :])), ten))
    return None


def _sorted(powers: Mapping[Axis, Fraction]) -> Unit:
    return tuple(sorted(powers.items()))


class _Reader:
    """A product of names, brackets and their powers, read from left to right: a/b*c is (a/b)·c."""

    def __init__(self, text: str, more: Iterable[str] = ()) -> None:
        self.words: list[tuple[str, str]] = []
        self.i, self.more, self.where = 0, more, f"in {shown(text)}"
        text = re.sub(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+", lambda found: f"**({found[0].translate(_RAISED)})", text)
        text, start = text.replace("·", "*").replace("⋅", "*").replace("−", "-"), 0
        for offset in _OFFSET:
            if offset in text:
                raise self.error(f"{offset} has a zero of its own; use K")
        text = text.replace("°", "deg")
        while start < len(text):
            word = _LEXER.match(text, start)
            if word:
                self.words.append((word.lastgroup, word[0]))
            elif not text[start].isspace():
                raise self.error(f"a unit has no character {text[start]!r}")
            start = word.end() if word else start + 1
        self.words.append(("end", ""))

    def error(self, message: str) -> UnitError:
        return UnitError(f"{message} ({self.where})")

    def read(self) -> Unit:
        unit = self.product(0)
        if self.words[self.i][0] != "end":
            raise self.error(f"{self.words[self.i][1]!r} stands where a unit ends")
        return _sorted(unit)

    def product(self, depth: int) -> dict[Axis, Fraction]:
        if depth > DEEPEST:
            raise self.error(f"brackets are nested more than {DEEPEST} deep")
        unit, sign = self.factor(depth), 1
        while self.words[self.i][1] not in (")", ""):
            if self.words[self.i][1] in ("*", "/"):
                sign = 1 if self.words[self.i][1] == "*" else -1
                self.i += 1
            else:
                sign = 1  # a blank is a product
            unit = times(unit, self.factor(depth), sign)
            self.check(unit)
        return unit

    def factor(self, depth: int) -> dict[Axis, Fraction]:
        kind, word = self.words[self.i]
        self.i += 1
        if word == "(":
            unit = self.product(depth + 1)
            self.expect(")")
        elif kind == "name":
            unit = self.name(word)
        elif kind == "number":
            if word != "1":
                raise self.error(
                    f"{word} is no unit; the only number is 1, and a size is a prefix, as in 'km'"
                )
            unit = {}
        else:
            raise self.error("a unit is empty" if len(self.words) == 1 else "a unit is missing")
        if self.words[self.i][0] == "power":
            self.i += 1
            power = self.exponent()
            if abs(power) > LARGEST or power.denominator > LARGEST:
                raise self.error(f"an exponent is larger than {LARGEST}")
            unit = times({}, unit, power)
            self.check(unit)
            if self.words[self.i][0] == "power":
                raise self.error("a power of a power needs brackets")
        return unit

    def check(self, unit: dict[Axis, Fraction]) -> None:
        if any(a in BASE and (abs(n) > LARGEST or n.denominator > LARGEST) for a, n in unit.items()):
            raise self.error(f"an exponent is larger than {LARGEST}")

    def name(self, word: str) -> dict[Axis, Fraction]:
        unit = _named(word) if word != "π" or word in self.more else None
        if unit is None:
            every = ["kg", *BASE, *_PREFIXED, *_PLAIN, *_LONG]
            refuse_unknown([word], every, "unit", UnitError, self.where)
        return dict(unit)

    def exponent(self) -> Fraction:
        """A signed number, perhaps in brackets; a fraction in brackets."""
        bracket = self.words[self.i][1] == "("
        self.i += bracket
        power = self.number()
        if bracket:
            if self.words[self.i][1] == "/":
                self.i += 1
                below = self.number()
                if not below:
                    raise self.error("an exponent is divided by 0")
                power /= below
            self.expect(")")
        return power

    def number(self) -> Fraction:
        sign = {"-": -1, "+": 1}.get(self.words[self.i][1])
        self.i += sign is not None
        kind, word = self.words[self.i]
        if kind != "number":
            raise self.error("an exponent must be a number, such as 2, 0.5 or (1/2)")
        if len(word) > 9:
            raise self.error(f"an exponent is larger than {LARGEST}, or has too many digits")
        self.i += 1
        return Fraction(word) * (sign or 1)

    def expect(self, word: str) -> None:
        if self.words[self.i][1] != word:
            raise self.error(f"{word!r} is missing")
        self.i += 1
