"""Skeletons: how transformer4sr writes an expression down, simplified by our own fast algebra instead of
sympy's.

It is an algebra of its own because it does what the published pipeline does: it computes with numbers and
roots, takes common factors out and refuses some expressions. The canonical form (nsr.formulas.normal_form)
keeps every expression, looks at the sign of a C only, and never takes anything out of a sum.

A value is  c₀ + Σ c · Π atom^e.  A coefficient c is a number, or nan for the placeholder C: "some number",
which is how nan computes. An exponent is an integer in units of 1/64, so that square roots are exact.  An
atom is a variable, a function of a written value, or a written sum in brackets.  All variables are positive,
so √(x1²) is x1; where sympy would need an absolute value the expression is refused.

Compared with the published pipeline (sympy's factor and simplify, twice) ours collects equal terms and
factors, joins powers, roots and exponentials, pulls out common factors, turns signs out of brackets, sines
and cosines; it does not expand, divide polynomials, join logarithms or know trigonometric identities.  A
factor −1 is written `neg`, without the constant that the published code adds to it.
"""

import math
from functools import lru_cache
from typing import NamedTuple

from nsr.formulas.expressions import CONSTANT, EXPONENT, FUNCTIONS, Prefix, fold, nest
from nsr.formulas.normal_form import ranks, strip

ONE = 64
POWERS = {"sqrt": ONE // 2, **{token: n * ONE for token, n in EXPONENT.items()}}
_WRITTEN = {4: "sq sq", 3: "cb", 2: "sq", 1: "", 1.5: "sqrt cb", 0.5: "sqrt", 0.25: "sqrt sqrt"}
# and their negatives; the published list also has ±1/3, which needs a cube root
EXPONENTS = {int(n * ONE): tuple(tokens.split()) for n, tokens in _WRITTEN.items()}
_FREE = math.nan
_key = lru_cache(maxsize=1 << 16)(ranks)

Factors = tuple[tuple[Prefix, int], ...]  # atoms with their exponents, sorted


class Refused(ValueError):
    """An expression that is no skeleton, and why."""


class Value(NamedTuple):
    constant: float  # 0: none; nan: C
    terms: dict[Factors, float]


class _Algebra:
    """One simplification: the arithmetic of values, and what each atom stands for."""

    def __init__(self) -> None:
        self.inside: dict[Prefix, Value] = {}  # a function's argument, a bracket's content
        self.written: dict[Factors, Prefix] = {}  # products without coefficient, for they are sorted often

    def of(self, prefix: Prefix) -> Value:
        return fold(prefix, self.visit)

    def visit(self, token: str, position: int, *args: Value) -> Value:
        if not args:
            return Value(_FREE, {}) if token == CONSTANT else Value(0.0, {(((token,), ONE),): 1.0})
        if token == "add":
            return self.plus(*args)
        if token == "sub":
            return self.plus(args[0], self.scaled(args[1], -1.0))
        if token == "neg":
            return self.scaled(args[0], -1.0)
        if token in ("mul", "div"):
            c, left = self.product(args[0])
            d, right = self.power(args[1], ONE if token == "mul" else -ONE)
            return self.joined(c * d if c and d else 0.0, [*left, *right])
        if token in POWERS:
            return self.joined(*self.power(args[0], POWERS[token]))
        return self.function(token, args[0])

    # ---- sums -----------------------------------------------------------------------------------------------------------------

    def scaled(self, value: Value, c: float) -> Value:
        return Value(value.constant * c, {factors: d * c for factors, d in value.terms.items()})

    def plus(self, left: Value, right: Value) -> Value:
        terms = dict(left.terms)
        for factors, c in right.terms.items():
            c += terms.pop(factors, 0.0)
            if c:
                terms[factors] = c
        return Value(left.constant + right.constant, terms)

    def flat(self, value: Value) -> Value:
        """± brackets among the terms of a sum opened."""
        for factors, c in value.terms.items():
            (atom, e), *more = factors
            if not more and e == ONE and abs(c) == 1 and atom[0] == "add":
                rest = {f: d for f, d in value.terms.items() if f != factors}
                return self.flat(self.plus(Value(value.constant, rest), self.scaled(self.inside[atom], c)))
        return value

    def product(self, value: Value) -> tuple[float, list[tuple[Prefix, int]]]:
        """A value as coefficient times factors; of a sum the common factors come out, the rest is one
        bracket."""
        value = self.flat(value)
        if not value.terms:
            return value.constant, []
        if not value.constant and len(value.terms) == 1:
            ((factors, c),) = value.terms.items()
            return c, list(factors)
        common, rest = self.common(value)
        if common:
            c, factors = self.product(rest)
            return c, [*common, *factors]
        order = sorted(value.terms, key=self.key)
        signs = [value.terms[factors] for factors in order if not math.isnan(value.terms[factors])]
        sign = -1.0 if signs and signs[0] < 0 else 1.0  # the first term with a sign is positive
        value = self.scaled(value, sign)
        atom = self.write_sum(value)
        self.inside[atom] = value
        return sign, [(atom, ONE)]

    def common(self, value: Value) -> tuple[Factors, Value]:
        """Factors that all terms share, and what is left; none if a 1 would be left where no number was."""
        if value.constant or len(value.terms) < 2:
            return (), value
        tables = [dict(factors) for factors in value.terms]
        shared = []
        for atom in tables[0]:
            exponents = [table.get(atom, 0) for table in tables]
            e = min(exponents) if min(exponents) > 0 else max(exponents) if max(exponents) < 0 else 0
            if e:
                shared.append((atom, e))
        if not shared:
            return (), value
        rest = Value(0.0, {})
        for factors, c in value.terms.items():
            left = self.joined(c, [*factors, *((atom, -e) for atom, e in shared)])
            if not left.terms and abs(left.constant) == 1:
                return (), value
            rest = self.plus(rest, left)
        return tuple(shared), rest

    # ---- products -------------------------------------------------------------------------------------------------------------

    def joined(self, c: float, factors: list[tuple[Prefix, int]]) -> Value:
        """c · Π atom^e with equal atoms collected, exponentials joined and whole powers of bundles opened."""
        if c == 0:
            return Value(0.0, {})
        exponents: dict[Prefix, int] = {}
        for atom, e in factors:
            exponents[atom] = exponents.get(atom, 0) + e
        exponents = {atom: e for atom, e in exponents.items() if e}
        for atom, e in exponents.items():
            bundle = atom[0] not in ("add", *FUNCTIONS) and len(atom) > 1  # what stood under a root
            if bundle and e % ONE == 0:
                d, inner = self.power(self.inside[atom], e)
                return self.joined(c * d, [*((a, n) for a, n in exponents.items() if a != atom), *inner])
        grown = [atom for atom, e in exponents.items() if atom[0] == "exp"]
        if len(grown) > 1 or any(exponents[atom] != ONE for atom in grown):
            total = Value(0.0, {})
            for atom in grown:
                total = self.plus(total, self.scaled(self.inside[atom], exponents.pop(atom) / ONE))
            return self.joined(c, [*exponents.items(), *self.product(self.function("exp", total))[1]])
        ordered = tuple(sorted(exponents.items(), key=lambda item: _key(item[0])))
        if not ordered:
            return Value(c, {})
        if len(ordered) == 1 and ordered[0][1] == ONE and ordered[0][0][0] == "add" and abs(c) == 1:
            return self.scaled(self.inside[ordered[0][0]], c)
        return Value(0.0, {ordered: c})

    def power(self, value: Value, e: int) -> tuple[float, list[tuple[Prefix, int]]]:
        c, factors = self.product(value)
        if c == 0:
            if e < 0:
                raise Refused("a division by zero")
            return 0.0, []
        if e % ONE == 0:
            return c ** (e // ONE), [(atom, n * e // ONE) for atom, n in factors]
        known = [(atom, n) for atom, n in factors if self.positive(atom)]
        unknown = [(atom, n) for atom, n in factors if not self.positive(atom)]
        if any(n % 2 for _, n in factors):
            raise Refused("too many roots")
        if any(n % (4 * ONE) == 2 * ONE for _, n in unknown):
            raise Refused("the root of a square is an absolute value")
        even = [(atom, n) for atom, n in unknown if n % (4 * ONE) == 0]
        odd = [(atom, n) for atom, n in unknown if n % (4 * ONE)]
        if c < 0 and not odd:
            raise Refused("the root of a negative number")
        roots = [(atom, n // 2) for atom, n in (*known, *even)]
        if c < 0 or len(odd) > 1:  # signs decide where it is defined: it stays together under its root
            bundle = Value(0.0, {tuple(odd): -1.0 if c < 0 else 1.0})
            if len(odd) == 1 and odd[0][0][0] == "add" and odd[0][1] == ONE:  # √(−(x1 − x2)) is √(x2 − x1)
                bundle = self.scaled(self.inside[odd[0][0]], -1.0)
                atom = self.write_sum(bundle)
            else:
                atom = self.write(bundle)
            self.inside[atom] = bundle
            return abs(c) ** 0.5, [*roots, (atom, ONE // 2)]
        return c**0.5, [*roots, *((atom, n // 2) for atom, n in odd)]

    def positive(self, atom: Prefix) -> bool:
        if len(atom) == 1 or atom[0] == "exp":
            return True
        if atom[0] != "add":
            return False
        constant, terms = self.inside[atom]
        return constant >= 0 and all(
            c > 0 and all(self.positive(a) for a, _ in factors) for factors, c in terms.items()
        )

    # ---- functions ------------------------------------------------------------------------------------------------------------

    def function(self, name: str, value: Value) -> Value:
        value = self.flat(value)
        if not value.terms:
            if name == "log" and value.constant <= 0:
                raise Refused("the logarithm of a number that is not positive")
            try:
                return Value(getattr(math, name)(value.constant), {})
            except OverflowError:
                raise Refused("a number beyond all bounds") from None
        sign = 1.0
        if name in ("sin", "cos"):
            c, factors = self.product(value)
            if not math.isnan(c) and c < 0:
                value, sign = self.scaled(value, -1.0), -1.0 if name == "sin" else 1.0
        if not value.constant and len(value.terms) == 1:
            ((((atom, e), *more), c),) = value.terms.items()
            if not more and e == ONE and c == 1 and (name, atom[0]) in (("log", "exp"), ("exp", "log")):
                return self.inside[atom]
        atom = (name, *self.write(value))
        self.inside[atom] = value
        return Value(0.0, {((atom, ONE),): sign})

    # ---- writing --------------------------------------------------------------------------------------------------------------

    def write(self, value: Value) -> Prefix:
        value = self.flat(value)
        common, rest = self.common(value)
        if common:
            c, factors = self.product(rest)
            value = self.joined(c, [*common, *factors])
        return self.write_sum(value)

    def write_sum(self, value: Value) -> Prefix:
        """The constant, then the terms in the order of their tokens, whatever their coefficients."""
        order = sorted(value.terms, key=self.key)
        parts = [self.write_product(value.terms[factors], factors) for factors in order]
        return nest("add", [(CONSTANT,), *parts] if value.constant or not parts else parts)

    def key(self, factors: Factors) -> tuple[int, ...]:
        return _key(self.write_product(1.0, factors))

    def write_product(self, c: float, factors: Factors) -> Prefix:
        if factors not in self.written:
            self.written[factors] = nest("mul", [self.write_power(*factor) for factor in factors])
        form = self.written[factors]
        return form if c == 1 else ("neg", *form) if c == -1 else ("mul", CONSTANT, *form)

    def write_power(self, atom: Prefix, e: int) -> Prefix:
        if abs(e) not in EXPONENTS:
            raise Refused(f"the exponent {e / ONE:g}")
        return (*(("inv",) if e < 0 else ()), *EXPONENTS[abs(e)], *atom)


@lru_cache(maxsize=1 << 17)
def to_skeleton(prefix: Prefix) -> Prefix:
    """The skeleton of an expression: simplified again and again until nothing changes; `Refused` if it has
    none.

    >>> to_skeleton(("add", "mul", "x1", "x2", "mul", "x2", "x3"))
    ('mul', 'x2', 'add', 'x1', 'x3')
    >>> to_skeleton(("sqrt", "mul", "C", "sq", "x1")), to_skeleton(("mul", "exp", "x1", "inv", "exp", "x2"))
    (('mul', 'C', 'x1'), ('exp', 'add', 'x1', 'neg', 'x2'))
    """
    for _ in range(8):
        algebra = _Algebra()
        try:
            value = algebra.of(prefix)
            form = algebra.write(value)
        except (RecursionError, OverflowError):
            raise Refused("beyond this algebra") from None
        if not value.terms and not value.constant:
            raise Refused("zero")
        if form == prefix:
            return form
        prefix = form
    return prefix


def simplified(prefix: Prefix) -> Prefix:
    """The skeleton of an expression, or the expression itself where there is none (an answer may be
    anything)."""
    try:
        return to_skeleton(prefix)
    except Refused:
        return prefix


@lru_cache(maxsize=1 << 17)
def bare(prefix: Prefix) -> Prefix:
    """strip(e) as a skeleton: what is left without constants, the key of the paper's novelty of structure.

    >>> bare(("add", "C", "mul", "C", "exp", "mul", "C", "x1"))
    ('exp', 'x1')
    """
    form = simplified(prefix)
    for _ in range(8):
        left = simplified(strip(form))
        if left == form or left == (CONSTANT,):
            return left
        form = left
    return form
