"""An allowance: which formulas may be answers, by their operators and by the columns they use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nsr.formulas.expressions import ARITY, FULL, Prefix, Token

Tokens = Iterable[Token]
NAMES = FULL.operators
# Operators that come and go together: a difference is a sum with a negative constant, and some networks have
# names of their own.
_SAME = {"add": "sub neg", "sub": "add neg", "div": "inv", "pow2": "sq", "pow3": "cb"}


def _with_same(operators: Tokens) -> set[Token]:
    return {same for token in operators for same in (token, *_SAME.get(token, "").split())}


@dataclass(frozen=True)
class Allowance:
    """No answer has a forbidden operator, and each has every needed variable."""

    forbidden: frozenset[Token] = frozenset()
    needed: frozenset[Token] = frozenset()

    @classmethod
    def of(cls, operators: Tokens | None = None, forbid: Tokens = (), needed: Tokens = ()) -> Allowance:
        """From the only operators that may occur (None: all of them), or those that may not.

        >>> Allowance.of(["add", "mul"]).admits(("sub", "x1", "x2")), Allowance.of(["add", "mul"]).admits(("sin", "x1"))
        (True, False)
        """
        allowed = set(ARITY) if operators is None else _with_same(operators)
        return cls(frozenset(set(ARITY) - allowed | _with_same(forbid)), frozenset(needed))

    def admits(self, prefix: Prefix) -> bool:
        tokens = set(prefix)
        return not tokens & self.forbidden and tokens >= self.needed
