"""Hints: what somebody may know about an expression before it is found, as tokens for the hinted network
(NSRwH).

Four kinds of knowledge, in the order in which they are written:

    <hints>  x1~x2 x1≁x3                             symmetry
             <includes> sin mul C ≈2 x1 </includes>  positives, perhaps with values
             <excludes> exp x2 </excludes>           negatives
             length=9  </hints>                      complexity

No hints at all are `<hints> </hints>`. What each kind means, and where that differs from the published code,
is said at its class.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from nsr.formulas.equivalence import strip
from nsr.formulas.expressions import (
    CONSTANT,
    PAD,
    VARIABLES,
    ExpressionError,
    Prefix,
    Token,
    Vocabulary,
    check,
    subtrees,
)
from nsr.formulas.notation import to_infix
from nsr.numbers.symmetry import symmetries

BEGIN, FINISH = "<hints>", "</hints>"
INCLUDES, INCLUDED, EXCLUDES, EXCLUDED = "<includes>", "</includes>", "<excludes>", "</excludes>"
LONGEST = 40  # lengths above are all written as this one
ROOM = 128  # hint tokens that a network can read, unless its recipe says otherwise
_MANTISSAS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
_SIZES = tuple(m * 10.0**k for k in range(-2, 2) for m in _MANTISSAS)  # 0.01 … 70
VALUES = tuple(sorted(float(f"{sign * size:g}") for sign in (-1, 1) for size in _SIZES) + [0.0])


class HintError(ValueError):
    """A hint that cannot be read; the message says which and why."""


# ----------------------------------------------------------------------------------------------------- the kinds of knowledge


@dataclass(frozen=True)
class Complexity:
    """The number of tokens of the expression, as the paper defines it (the published code counts the nodes of
    sympy's tree)."""

    length: int

    def __post_init__(self) -> None:
        if self.length < 1:
            raise HintError(f"complexity is {self.length}; an expression has at least 1 token")
        object.__setattr__(self, "length", min(int(self.length), LONGEST))

    def words(self) -> tuple[str, ...]:
        return (f"length={self.length}",)

    def true_of(self, prefix: Prefix, constants: tuple[float, ...] = ()) -> bool:
        return min(len(prefix), LONGEST) == self.length

    def __str__(self) -> str:
        return f"{self.length}{' or more' * (self.length == LONGEST)} token{'s' * (self.length > 1)}"


@dataclass(frozen=True)
class Symmetry:
    """Whether the function stays the same when two variables change places."""

    first: Token
    second: Token
    holds: bool = True

    def __post_init__(self) -> None:
        pair = (self.first, self.second)
        if self.first == self.second or any(v not in VARIABLES for v in pair):
            wanted = f"name two different variables of x1 … x{len(VARIABLES)}"
            raise HintError(f"symmetry between {self.first!r} and {self.second!r}: {wanted}")
        for name, value in zip(("first", "second"), sorted(pair, key=VARIABLES.index)):
            object.__setattr__(self, name, value)

    def words(self) -> tuple[str, ...]:
        return (f"{self.first}{'~' if self.holds else '≁'}{self.second}",)

    def true_of(self, prefix: Prefix, constants: tuple[float, ...] = ()) -> bool:
        """A variable that does not occur is symmetric to another one that does not, and to no other."""
        neither = self.first not in prefix and self.second not in prefix
        return symmetries(prefix, constants).get((self.first, self.second), neither) == self.holds

    def __str__(self) -> str:
        return f"{self.first} and {self.second} {'can' if self.holds else 'cannot'} change places"


@dataclass(frozen=True)
class Positive:
    """A subtree of the expression, token by token, with C for its constants; some of them perhaps with a
    value, to about one figure.

    `values` has one number or None for each C; empty if nothing is known. Values are moved to the nearest of
    `VALUES`.

    >>> Positive(("sin", "mul", "C", "x1"), (2.13,)).words()
    ('<includes>', 'sin', 'mul', 'C', '≈2', 'x1', '</includes>')
    """

    tree: Prefix
    values: tuple[float | None, ...] = ()

    def __post_init__(self) -> None:
        n = _checked(self.tree, "positive").count(CONSTANT)
        if self.values and len(self.values) != n:
            both = f"{n} constants, but {len(self.values)} values"
            raise HintError(f"the positive {' '.join(self.tree)} has {both}")
        known = tuple(None if v is None else rounded(v) for v in self.values)
        object.__setattr__(self, "values", known if any(v is not None for v in known) else ())

    def words(self) -> tuple[str, ...]:
        values, out = iter(self.values), [INCLUDES]
        for token in self.tree:
            out.append(token)
            value = next(values, None) if token == CONSTANT else None
            if value is not None:
                out.append(f"≈{value:g}")
        return (*out, INCLUDED)

    def true_of(self, prefix: Prefix, constants: tuple[float, ...] = ()) -> bool:
        """Whether the tokens occur; values are not compared."""
        return self.tree in subtrees(prefix)

    def __str__(self) -> str:
        known = [f"{v:g}" for v in self.values if v is not None]
        return f"contains {to_infix(self.tree)}" + (f" (C about {', '.join(known)})" if known else "")


@dataclass(frozen=True)
class Negative:
    """A constant-free tree that the expression does not contain, whatever its constants are."""

    tree: Prefix

    def __post_init__(self) -> None:
        if CONSTANT in _checked(self.tree, "negative"):
            only = "negatives speak of structure only: leave it out"
            raise HintError(f"the negative {' '.join(self.tree)} has a constant; {only}")

    def words(self) -> tuple[str, ...]:
        return (EXCLUDES, *self.tree, EXCLUDED)

    def true_of(self, prefix: Prefix, constants: tuple[float, ...] = ()) -> bool:
        return self.tree not in structures(prefix)

    def __str__(self) -> str:
        return f"without {to_infix(self.tree)}"


Hint = Complexity | Symmetry | Positive | Negative
_ORDER = (Symmetry, Positive, Negative, Complexity)


def _checked(tree: Prefix, kind: str) -> Prefix:
    try:
        return check(tree)
    except ExpressionError as error:
        raise HintError(f"a {kind} must be an expression: {error}") from None


def rounded(value: float) -> float:
    """The nearest of `VALUES` on a logarithmic scale, with the sign; below 0.005 that is 0.

    >>> rounded(-2.6), rounded(0.004), rounded(1234)
    (-3.0, 0.0, 70.0)
    """
    if not math.isfinite(value):
        raise HintError(f"the value of a constant is {value}; it must be finite")
    size = abs(value)
    if size < _SIZES[0] / 2:
        return 0.0
    return math.copysign(float(f"{min(_SIZES, key=lambda s: abs(math.log(s / size))):g}"), value)


@lru_cache(maxsize=65536)
def structures(prefix: Prefix) -> tuple[Prefix, ...]:
    """The subtrees of an expression without its constants that are more than a leaf, itself first.

    >>> structures(("add", "C", "sin", "mul", "C", "x1"))
    (('sin', 'x1'),)
    """
    return tuple(tree for tree in subtrees(strip(prefix)) if len(tree) > 1)


# -------------------------------------------------------------------------------------------------------------------- tokens


@lru_cache(maxsize=32)
def hint_words(vocabulary: Vocabulary) -> tuple[str, ...]:
    """All words of hints about a vocabulary's expressions in the order of their ids; <pad> is 0."""
    couples = list(itertools.combinations(vocabulary.variables, 2))
    pairs = [Symmetry(a, b, holds).words()[0] for holds in (True, False) for a, b in couples]
    lengths = [f"length={n}" for n in range(1, LONGEST + 1)]
    marks = PAD, BEGIN, FINISH, INCLUDES, INCLUDED, EXCLUDES, EXCLUDED
    values = [f"≈{v:g}" for v in VALUES]
    return (*marks, *lengths, *pairs, *values, CONSTANT, *vocabulary.variables, *vocabulary.operators)


@lru_cache(maxsize=32)
def _ids(vocabulary: Vocabulary) -> dict[str, int]:
    return {word: i for i, word in enumerate(hint_words(vocabulary))}


def in_order(hints: Iterable[Hint]) -> tuple[Hint, ...]:
    """Hints in the order in which they are written: by kind, trees by length and then alphabetically, nothing
    twice."""

    def place(hint: Hint) -> tuple:
        return _ORDER.index(type(hint)), len(hint.words()), hint.words()

    return tuple(sorted(dict.fromkeys(hints), key=place))


def encode(hints: Iterable[Hint], vocabulary: Vocabulary) -> tuple[int, ...]:
    """Hints as token ids, markers included.

    >>> from nsr.formulas.expressions import SIMPLIFIED
    >>> decode(encode([Complexity(9), Symmetry("x2", "x1")], SIMPLIFIED), SIMPLIFIED)
    (Symmetry(first='x1', second='x2', holds=True), Complexity(length=9))
    """
    ids, out = _ids(vocabulary), [BEGIN]
    for hint in in_order(hints):
        words = hint.words()
        unknown = [word for word in words if word not in ids]
        if unknown:
            network = f"a network for {vocabulary.name} with {vocabulary.n_variables} variables"
            raise HintError(f"{unknown[0]!r} in the hint {' '.join(words)} is no word of {network}")
        out += words
    return tuple(ids[word] for word in (*out, FINISH))


def told_pieces(pieces: Iterable[Sequence[Token]], vocabulary: Vocabulary) -> tuple[int, ...]:
    """Any tokens, expressions or not, written where positives stand: to learn to copy what is told."""
    words = [word for piece in pieces for word in (INCLUDES, *piece, INCLUDED)]
    return tuple(_ids(vocabulary)[word] for word in (BEGIN, *words, FINISH))


def decode(ids: Iterable[int], vocabulary: Vocabulary) -> tuple[Hint, ...]:
    """The inverse of `encode`; padding is skipped."""
    known = hint_words(vocabulary)
    words = [known[i] if 0 <= i < len(known) else f"id {i}" for i in ids if i != 0]
    if len(words) < 2 or words[0] != BEGIN or words[-1] != FINISH:
        raise HintError(f"hints stand between {BEGIN} and {FINISH}, got: {' '.join(words)[:80]}")
    return tuple(_read(iter(words[1:-1])))


def _read(words: Iterator[str]) -> Iterator[Hint]:
    for word in words:
        if word in (INCLUDES, EXCLUDES):
            inside = list(itertools.takewhile(lambda w: w not in (INCLUDED, EXCLUDED), words))
            tree = tuple(w for w in inside if w[0] != "≈")
            if word == EXCLUDES:
                yield Negative(tree)
            else:
                pairs = [(a, b) for a, b in zip(inside, [*inside[1:], ""]) if a == CONSTANT]
                yield Positive(tree, tuple(float(b[1:]) if b[:1] == "≈" else None for _, b in pairs))
        elif word.startswith("length="):
            yield Complexity(int(word.removeprefix("length=")))
        elif "~" in word or "≁" in word:
            yield Symmetry(*word.replace("≁", "~").split("~"), "~" in word)
        else:
            raise HintError(f"{word!r} begins no hint")
