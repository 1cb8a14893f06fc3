"""An allowance: which formulas may be answers, by their operators, the columns they use, units, and an
outer form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from nsr.formulas.expressions import ARITY, FULL, Prefix, Token, Valued
from nsr.search.dimensions import Dimensions, with_units
from nsr.search.outer import Outer

Tokens = Iterable[Token]
NAMES = FULL.operators
# Operators that come and go together: a difference is a sum with a negative constant, and some networks have
# names of their own.
_SAME = {"add": "sub neg", "sub": "add neg", "div": "inv", "pow2": "sq", "pow3": "cb"}


def _with_same(operators: Tokens) -> set[Token]:
    return {same for token in operators for same in (token, *_SAME.get(token, "").split())}


@dataclass(frozen=True)
class Allowance:
    """No answer has a forbidden operator, each has every needed variable and can have the unit of y. With an outer form, what is asked about is its
    core."""

    forbidden: frozenset[Token] = frozenset()
    needed: frozenset[Token] = frozenset()
    dimensions: Dimensions | None = None
    outer: Outer | None = None

    @classmethod
    def of(
        cls,
        operators: Tokens | None = None,
        forbid: Tokens = (),
        needed: Tokens = (),
        dimensions: Dimensions | None = None,
        outer: Outer | None = None,
    ) -> Allowance:
        """From the only operators that may occur (None: all of them), or those that may not.

        >>> Allowance.of(["add", "mul"]).admits(("sub", "x1", "x2")), Allowance.of(["add", "mul"]).admits(("sin", "x1"))
        (True, False)
        """
        allowed = set(ARITY) if operators is None else _with_same(operators)
        return cls(frozenset(set(ARITY) - allowed | _with_same(forbid)), frozenset(needed), dimensions, outer)

    def admits(self, prefix: Prefix) -> bool:
        """Whether the formula, in the user's units, may be an answer."""
        tokens = set(prefix)
        if tokens & self.forbidden or not tokens >= self.needed:
            return False
        if self.outer is not None:
            if not self.outer.admits(prefix):
                return False
            prefix = self.outer.around((prefix, ()))[0]
        return self.dimensions is None or self.dimensions.admits(prefix)

    def made_right(self, formula: Valued) -> Valued | None:
        """A formula that may be an answer, if need be with factors 1 that carry a unit; None if it cannot be one."""
        if self.dimensions is None or self.admits(formula[0]):
            return formula if self.admits(formula[0]) else None
        possible = "mul" not in self.forbidden and self.without_units.admits(formula[0])
        return with_units(formula, self.admits) if possible else None

    @property
    def without_units(self) -> Allowance:
        return replace(self, dimensions=None)

    def admits_part(self, prefix: Prefix) -> bool:
        """Whether the formula may stand inside an answer."""
        if set(prefix) & self.forbidden or self.outer is not None and not self.outer.admits(prefix):
            return False
        return self.dimensions is None or self.dimensions.admits_part(prefix)

    @property
    def of_structure(self) -> bool:
        """Whether it says more than which operators and columns."""
        return self.dimensions is not None or self.outer is not None
