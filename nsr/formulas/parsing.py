"""Infix text to prefix tuples, with a hand-written parser that can do nothing but build an expression.

No text ever reaches eval or sympify.  A run of `+` (or `*`) nests to the right, everything else to the left,
as in the canonical layout:

    a + b + c - d - e   ⇔   sub sub add a add b c d e
"""

from __future__ import annotations

import itertools
import math
import re

from nsr.formulas.expressions import (
    CONSTANT,
    UNARY,
    VARIABLES,
    ExpressionError,
    Valued,
    join,
    nest_valued,
    number,
    whole_power,
)

MAX_NESTING = 200  # brackets inside brackets; an expression of the paper has fewer than ten
MAX_LENGTH = 100_000  # characters, and tokens in all powers together: ((x1**999)**999)**999 has thousands

_ALIASES = {"ln": "log", "arcsin": "asin"}
_NUMBERS = {"pi": math.pi, "e": math.e}
_WANTED = "an exponent must be a number or C; write exp(b*log(a)) for a**b"
_NUMBER = r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
_LEXER = re.compile(rf"{_NUMBER}|(?P<name>[^\W\d]\w*)|(?P<op>\*\*|[-+*/^()])|(?P<other>\S)")


def parse(text: str) -> Valued:
    """Read infix text into a prefix tuple and its constants.

    Every number becomes a C.  A literal `C` is a constant without a value; then no constants are returned.

    >>> parse("sin(x1) + 2.5*x2")
    (('add', 'sin', 'x1', 'mul', 'C', 'x2'), (2.5,))
    >>> parse("C*exp(x_1)")
    (('mul', 'C', 'exp', 'x1'), ())
    """
    if not isinstance(text, str):
        raise ExpressionError(f"parse reads text, got {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"the text has {len(text)} characters; at most {MAX_LENGTH} are read")
    prefix, values = _Reader(text).read()
    if None in values and any(v is not None for v in values):
        both = "numbers and the placeholder C cannot be mixed"
        raise ExpressionError(f"{both}: give every constant a value or none")
    return prefix, () if None in values else values


class _Reader:
    """Operator-precedence parsing with an explicit stack of open brackets, so that depth costs no recursion."""

    def __init__(self, text: str) -> None:
        self.text, self.i, self.in_powers = text, 0, 0
        self.lexemes: list[tuple[str, str, int]] = []
        for match in _LEXER.finditer(text):
            if match.lastgroup == "other":
                raise self.error(f"unexpected character {match.group()!r}", match.start())
            self.lexemes.append((match.lastgroup, match.group(), match.start()))
        self.lexemes.append(("end", "", len(text)))

    def error(self, message: str, position: int) -> ExpressionError:
        low, high = max(0, position - 30), position + 30
        line = "".join(" " if c.isspace() else c for c in self.text[low:high])
        caret = " " * (position - low) + "^"
        return ExpressionError(f"{message}, at character {position + 1}:\n    {line}\n    {caret}")

    def read(self) -> Valued:
        if len(self.lexemes) == 1:
            raise ExpressionError("empty expression")
        frames = [_Frame("", 0)]
        while True:
            kind, word, position = self.lexemes[self.i]
            self.i += 1
            frame = frames[-1]
            if frame.wants_operand:
                if kind == "number":
                    self.operand(frame, number(self.number(word, position)))
                elif kind == "name":
                    self.name(frames, word, position)
                elif word == "(":
                    self.open(frames, "", position)
                elif word in ("+", "-"):
                    frame.negative ^= word == "-"
                else:
                    missing = word in (")", "")
                    raise self.error("an operand is missing" if missing else f"unexpected {word!r}", position)
            elif word in ("+", "-", "*", "/"):
                frame.operator(word)
            elif word == ")":
                if len(frames) == 1:
                    raise self.error("this bracket was never opened", position)
                frames.pop()
                inner = frame.value()
                self.operand(frames[-1], join(frame.function, inner) if frame.function else inner)
            elif kind == "end":
                if len(frames) > 1:
                    raise self.error("this bracket is never closed", frame.position)
                return frame.value()
            else:
                raise self.error(f"an operator is missing before {word!r}", position)

    def number(self, word: str, position: int) -> float:
        value = float(word)
        if not math.isfinite(value):
            shown = word[:20] + "…" * (len(word) > 20)
            raise self.error(f"the constant {shown} is too large for a float", position)
        return value

    def name(self, frames: list[_Frame], word: str, position: int) -> None:
        variable = re.fullmatch(r"[xX]_?(\d+)", word, re.ASCII)
        function = _ALIASES.get(word, word)
        if variable:
            if not 1 <= int(variable[1][:6]) <= len(VARIABLES):
                raise self.error(f"variable {word} is out of range x1 … x{len(VARIABLES)}", position)
            self.operand(frames[-1], ((f"x{int(variable[1])}",), ()))
        elif word == CONSTANT:
            self.operand(frames[-1], number(None))
        elif word in _NUMBERS:
            self.operand(frames[-1], number(_NUMBERS[word]))
        elif function in UNARY:
            if self.lexemes[self.i][1] != "(":
                raise self.error(f"{word} needs its argument in brackets", position)
            self.i += 1
            self.open(frames, function, position)
        else:
            hint = f"names are x1 … x{len(VARIABLES)}, C, pi, e and {', '.join(UNARY)}"
            if word.lower() in ("nan", "inf", "infinity"):
                hint = "a constant must be a finite number"
            raise self.error(f"unknown name {word[:30]!r} ({hint})", position)

    def open(self, frames: list[_Frame], function: str, position: int) -> None:
        if len(frames) > MAX_NESTING:
            raise self.error(f"brackets are nested more than {MAX_NESTING} deep", position)
        frames.append(_Frame(function, position))

    def operand(self, frame: _Frame, value: Valued) -> None:
        """Take an operand; a power binds tighter than the sign before it."""
        if self.lexemes[self.i][1] in ("**", "^"):
            position = self.lexemes[self.i][2]
            self.i += 1
            exponent = self.exponent()
            if self.lexemes[self.i][1] in ("**", "^"):
                raise self.error("a power of a power needs brackets", self.lexemes[self.i][2])
            try:
                value = power(value, exponent)
            except ExpressionError as problem:
                raise self.error(str(problem), position) from None
            self.in_powers += len(value[0])
            if self.in_powers > MAX_LENGTH:
                raise self.error(f"written out, the powers have more than {MAX_LENGTH} tokens", position)
        frame.operand(value)

    def exponent(self) -> float | None:
        """A literal exponent: a signed number or fraction, perhaps in brackets; or C, which has no value."""
        i, bracket = self.i, self.lexemes[self.i][1] == "("
        if self.lexemes[i][1] == CONSTANT:
            self.i += 1
            return None
        i += bracket
        sign = -1.0 if self.lexemes[i][1] == "-" else 1.0
        i += self.lexemes[i][1] in ("+", "-")
        kind, word, position = self.lexemes[i]
        if kind != "number":
            raise self.error(_WANTED, self.lexemes[self.i][2])
        value, i = sign * self.number(word, position), i + 1
        if bracket and self.lexemes[i][1] == "/" and self.lexemes[i + 1][0] == "number":
            below = self.number(*self.lexemes[i + 1][1:])
            value, i = (value / below if below else math.inf), i + 2
        if bracket:
            if self.lexemes[i][1] != ")":
                raise self.error(_WANTED, self.lexemes[i][2])
            i += 1
        self.i = i
        return value


class _Frame:
    """What has been read since an opening bracket: finished terms with their signs, and the product in
    progress."""

    def __init__(self, function: str, position: int) -> None:
        self.function, self.position = function, position
        self.terms: list[tuple[str, Valued]] = []
        self.factors: list[tuple[str, Valued]] = []
        self.term_sign, self.factor_sign = "+", "*"
        self.wants_operand, self.negative = True, False

    def operand(self, value: Valued) -> None:
        if self.negative:
            prefix, values = value
            if prefix == (CONSTANT,) and values[0] is not None:
                value = number(-values[0])
            else:
                value = join("mul", number(None if None in values else -1.0), value)
        self.factors.append((self.factor_sign, value))
        self.wants_operand, self.negative = False, False

    def operator(self, word: str) -> None:
        if word in "+-":
            self.close_term()
            self.term_sign = word
        else:
            self.factor_sign = word
        self.wants_operand = True

    def close_term(self) -> None:
        self.terms.append((self.term_sign, _chain(self.factors, "*", "mul", "div")))
        self.factors, self.factor_sign = [], "*"

    def value(self) -> Valued:
        self.close_term()
        return _chain(self.terms, "+", "add", "sub")


def _chain(parts: list[tuple[str, Valued]], plus: str, right: str, left: str) -> Valued:
    """Join a chain of operands: a run of `plus` nests to the right, the other operator to the left."""
    before, after = [], [parts[0][1]]  # operators from the inside out, and what they are applied to
    for sign, run in itertools.groupby(parts[1:], lambda part: part[0]):
        operands = [operand for _, operand in run]
        before += [right] if sign == plus else [left] * len(operands)
        after += [nest_valued(right, operands)] if sign == plus else operands
    prefix, values = join("", *after)
    return (*reversed(before), *prefix[1:]), values


def power(base: Valued, exponent: float | None) -> Valued:
    """base ** exponent in operators of the vocabulary: roots and whole powers for multiples of 1/2, else
    exp(exponent * log(base)), which has a value where the base is positive.

    >>> power((("x1",), ()), -2)
    (('div', 'C', 'pow2', 'x1'), (1.0,))
    >>> power((("x1",), ()), 0.3)
    (('exp', 'mul', 'C', 'log', 'x1'), (0.3,))
    """
    if exponent is None or (math.isfinite(exponent) and not is_half(exponent)):
        return join("exp", join("mul", number(exponent), join("log", base)))
    if not 0 < abs(exponent) <= 1000:
        raise ExpressionError(f"the exponent {exponent:g} cannot be written with pow2 … pow5 and sqrt")
    if exponent < 0:
        return join("div", number(None if None in base[1] else 1.0), power(base, -exponent))
    if exponent != int(exponent):
        return power(join("sqrt", base), int(2 * exponent))
    return whole_power(base, int(exponent))


def is_half(exponent: float) -> bool:
    """Whether the exponent is a multiple of 1/2, so that `power` writes it with roots and whole powers."""
    return exponent % 0.5 == 0
