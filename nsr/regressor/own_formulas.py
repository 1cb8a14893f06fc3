"""A formula of the user's own, as text in the names of the columns: `a*length/(b + length)`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nsr.book.spelling import shown
from nsr.formulas.expressions import UNARY, ExpressionError, Valued
from nsr.formulas.parsing import parse

LONGEST = 500  # tokens
_WORDS = {*UNARY, "ln", "arcsin", "pi", "e"}  # that a formula may use besides the names of columns
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
_RAISED = re.compile(r"(\*\*|\^)\s*\(?\s*[-+]?\s*$")  # what comes before is followed by an exponent


def read_formula(text: str, symbols: Sequence[str]) -> Valued:
    """Tokens, and where the fit of the constants begins: at the numbers in the text, and at 1 for every other
    letter; as an exponent at 0.9, because a whole number would be no constant. A letter that stands in two places
    is two constants.

    >>> read_formula("a*length/(2.5 + length)", ["mass", "length"])
    (('div', 'mul', 'C', 'x2', 'add', 'C', 'x2'), (1.0, 2.5))
    >>> read_formula("a*mass**n", ["mass", "length"])
    (('mul', 'C', 'exp', 'mul', 'C', 'log', 'x1'), (1.0, 0.9))
    """

    def read(name: re.Match) -> str:
        if name[0] in symbols:
            return f"x{symbols.index(name[0]) + 1}"
        letter = "0.9" if _RAISED.search(text[: name.start()]) else "1.0"
        return name[0] if name[0] in _WORDS else letter

    if not isinstance(text, str):
        raise ValueError(f"start: {text!r} is no text; write a formula, for instance 'a*{symbols[0]} + b'.")
    try:
        prefix, constants = parse(_NAME.sub(read, text))
    except ExpressionError as error:
        raise ValueError(f"start: {shown(text)} is no formula ({error}).") from None
    if len(prefix) > LONGEST:
        raise ValueError(
            f"start: {shown(text)} has {len(prefix):,} tokens; at most {LONGEST} are searched with."
        )
    return prefix, constants
