"""Tokens, vocabularies and the prefix tuple: what an expression is in this project.

An expression is an immutable tuple of tokens in prefix (Polish) order,

    sin(x1) + C·x2   ⇔   ("add", "sin", "x1", "mul", "C", "x2")

so a set of templates is a `set`, a subtree is a slice and a prompt is a concatenation.  The placeholder `C`
stands for a number; the numbers themselves travel beside the tuple, one float per `C`, in the order in which
the C's appear.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

Token = str
Prefix = tuple[Token, ...]
Template = Prefix  # a prefix without C: the structure that the paper's novelty looks at
Constants = tuple[float, ...]
Valued = tuple[Prefix, Constants]  # tokens, and the values of the constants among them

CONSTANT: Token = "C"
VARIABLES: tuple[Token, ...] = tuple(f"x{i}" for i in range(1, 11))
BINARY: tuple[Token, ...] = ("add", "sub", "mul", "div")
UNARY: tuple[Token, ...] = tuple("pow2 pow3 pow4 pow5 sqrt log exp sin cos tan asin neg inv sq cb".split())
PAD, START, END, OPEN, CLOSE = "<pad>", "<start>", "<end>", "<tree>", "</tree>"
SPECIAL: tuple[Token, ...] = (PAD, START, END, OPEN, CLOSE)  # OPEN and CLOSE are NSR-gvs's partition tokens

ARITY: dict[Token, int] = {**dict.fromkeys(BINARY, 2), **dict.fromkeys(UNARY, 1)}
_ARITY_OF_ALL = {**ARITY, **dict.fromkeys((CONSTANT, *VARIABLES), 0)}

# What all algebras know about the operators.
POWERS = {"pow2": 2, "pow3": 3, "pow4": 4, "pow5": 5}  # the whole powers of FULL
EXPONENT = {**POWERS, "sq": 2, "cb": 3, "inv": -1}  # every operator that is a whole power
FUNCTIONS = ("log", "exp", "sin", "cos", "tan", "asin")
ODD = ("sin", "tan", "asin")  # the functions with f(−u) = −f(u); cos is the only even one
SIGN_PASSES = (*ODD, *(token for token, n in EXPONENT.items() if n % 2))  # the operators with f(−u) = −f(u)
_UNDONE = (("exp", "log"), ("sin", "asin"), ("pow2", "sqrt"), ("pow4", "sqrt"))
INVERSES = frozenset((*_UNDONE, *(pair[::-1] for pair in _UNDONE)))
RANK = {token: i for i, token in enumerate((CONSTANT, *VARIABLES, *UNARY, *BINARY))}  # the order of terms


class ExpressionError(ValueError):
    """Something that is not an expression; the message points at the place."""


def at_token(prefix: Iterable[Token], position: int, message: str) -> ExpressionError:
    """An ExpressionError that shows the neighbourhood of a token (counted from 1)."""
    tokens = [str(token)[:20] for token in prefix]
    low, high = max(0, position - 4), min(len(tokens), position + 5)
    around = [f"▸{t}◂" if i == position else t for i, t in enumerate(tokens[low:high], low)]
    shown = " ".join(["…"] * (low > 0) + around + ["…"] * (high < len(tokens)))
    return ExpressionError(f"{message}, at token {position + 1} of {len(tokens)}: {shown}")


# ---------------------------------------------------------------------------------------------------------- structure


def arity(token: Token) -> int:
    """Number of arguments of a token: 2, 1, or 0 for a leaf.

    >>> arity("add"), arity("sin"), arity("x3"), arity("C")
    (2, 1, 0, 0)
    """
    try:
        return _ARITY_OF_ALL[token]
    except (KeyError, TypeError):
        known = f"{', '.join(BINARY + UNARY)}, C and x1 … x{len(VARIABLES)}"
        raise ExpressionError(f"unknown token {str(token)[:40]!r}; tokens are {known}") from None


def apart(formula: Prefix | Valued, constants: Any = None) -> tuple[Prefix, Any]:
    """A prefix and its constants, given as two or together, as `parse` gives them.

    >>> apart((("add", "x1", "C"), (2.0,))), apart(("sin", "x1"))
    ((('add', 'x1', 'C'), (2.0,)), (('sin', 'x1'), None))
    """
    together = (
        len(formula) == 2 and isinstance(formula[0], tuple) and (constants is None or not len(constants))
    )
    return formula if together else (formula, constants)


def subtree_end(prefix: Prefix, start: int = 0) -> int:
    """Index just after the subtree that begins at `start`, found by counting open arguments.

    >>> subtree_end(("add", "sin", "x1", "x2"), 1)
    3
    """
    needed, i = 1, start
    while needed:
        if i >= len(prefix):
            raise at_token((*prefix, "⟨end⟩"), len(prefix), f"{needed} argument{'s' * (needed > 1)} missing")
        token = prefix[i]
        known = _ARITY_OF_ALL.get(token) if isinstance(token, str) else None
        if i == 0 and isinstance(token, tuple):
            raise ExpressionError(
                "expected a tuple of tokens, got tokens and constants together, as parse gives them; "
                "prefix, constants = parse(text) takes them apart"
            )
        if known is None:
            raise at_token(prefix, i, f"unknown token {str(token)[:40]!r}")
        needed += known - 1
        i += 1
    return i


def check(prefix: Iterable[Token]) -> Prefix:
    """The same prefix as a tuple if it is one complete expression, else an ExpressionError that says where it
    is not."""
    if isinstance(prefix, str):
        text = f"the text {prefix[:40]!r}; parse(text) makes one"
        raise ExpressionError(f"expected a tuple of tokens, got {text}")
    prefix = tuple(prefix)
    if not prefix:
        raise ExpressionError("empty expression")
    end = subtree_end(prefix)
    if end != len(prefix):
        raise at_token(prefix, end, "the expression is complete before this token")
    return prefix


def is_valid(prefix: Iterable[Token]) -> bool:
    """Whether the tokens form exactly one complete expression.

    >>> is_valid(("add", "x1", "C")), is_valid(("add", "x1")), is_valid(("x1", "x1"))
    (True, False, False)
    """
    try:
        check(prefix)
    except ExpressionError:
        return False
    return True


def spans(prefix: Prefix) -> list[int]:
    """For every position the end of the subtree that begins there, in one pass from the right.

    >>> spans(("add", "sin", "x1", "x2"))
    [4, 3, 3, 4]
    """
    check(prefix)
    ends = [0] * len(prefix)
    for i in range(len(prefix) - 1, -1, -1):
        end = i + 1
        for _ in range(_ARITY_OF_ALL[prefix[i]]):
            end = ends[end]
        ends[i] = end
    return ends


def subtrees(prefix: Prefix) -> list[Prefix]:
    """Every subtree, in prefix order, the expression itself first.

    >>> subtrees(("add", "sin", "x1", "x2"))
    [('add', 'sin', 'x1', 'x2'), ('sin', 'x1'), ('x1',), ('x2',)]
    """
    return [prefix[start:end] for start, end in enumerate(spans(prefix))]


def children(prefix: Prefix) -> tuple[Prefix, ...]:
    """The argument expressions of the root.

    >>> children(("add", "sin", "x1", "x2"))
    (('sin', 'x1'), ('x2',))
    """
    parts, start = [], 1
    for _ in range(arity(prefix[0])):
        end = subtree_end(prefix, start)
        parts.append(prefix[start:end])
        start = end
    return tuple(parts)


def fold(prefix: Prefix, visit):
    """Evaluate a tree bottom-up without recursion: `visit(token, position, *results of the arguments)`.

    >>> fold(("add", "sin", "x1", "x2"), lambda token, position, *args: 1 + sum(args))
    4
    """
    check(prefix)
    stack: list = []
    for i in range(len(prefix) - 1, -1, -1):
        n = _ARITY_OF_ALL[prefix[i]]
        args = [stack.pop() for _ in range(n)]  # the left argument lies on top
        stack.append(visit(prefix[i], i, *args))
    return stack[0]


def depth(prefix: Prefix) -> int:
    """Levels of the tree: a single leaf has depth 1.

    >>> depth(("add", "sin", "x1", "x2"))
    3
    """
    return fold(prefix, lambda token, position, *args: 1 + max(args, default=0))


def complexity(prefix: Prefix) -> int:
    """Number of tokens: the paper's |seq(e)|."""
    return len(check(prefix))


def variables(prefix: Prefix) -> tuple[Token, ...]:
    """The variables that occur, in the order x1, x2, …

    >>> variables(("add", "x3", "sin", "x1"))
    ('x1', 'x3')
    """
    present = set(check(prefix))
    return tuple(v for v in VARIABLES if v in present)


def n_constants(prefix: Prefix) -> int:
    """Number of placeholders C."""
    return check(prefix).count(CONSTANT)


def constants_at(prefix: Prefix) -> list[int]:
    """The position of every C, in their order."""
    return [i for i, token in enumerate(prefix) if token == CONSTANT]


# ------------------------------------------------------------------------------------------------------------ building


def number(value: float | None) -> Valued:
    """A constant; None: it has no value yet."""
    return (CONSTANT,), (value,)


def join(operator: Token, *arguments: Valued) -> Valued:
    """An operator applied to expressions with their constants.

    >>> join("sub", (("x1",), ()), number(2.0))
    (('sub', 'x1', 'C'), (2.0,))
    """
    tokens = (token for prefix, _ in arguments for token in prefix)
    return (operator, *tokens), tuple(value for _, values in arguments for value in values)


def nest(operator: Token, parts: list[Prefix]) -> Prefix:
    """a ∘ (b ∘ (c …))

    >>> nest("mul", [("x1",), ("sin", "x2"), ("x3",)])
    ('mul', 'x1', 'mul', 'sin', 'x2', 'x3')
    """
    tokens: list[Token] = []
    for part in parts[:-1]:
        tokens.append(operator)
        tokens += part
    return (*tokens, *parts[-1])


def nest_valued(operator: Token, parts: list[Valued]) -> Valued:
    return nest(operator, [prefix for prefix, _ in parts]), tuple(v for _, values in parts for v in values)


def written_sum(plus: list[Prefix], minus: list[Prefix]) -> Prefix:
    """The canonical layout of a sum: positive terms nested to the right, then the negative ones to the left.

    >>> written_sum([("x1",), ("x2",)], [("x3",), ("x4",)])
    ('sub', 'sub', 'add', 'x1', 'x2', 'x3', 'x4')
    """
    return ("sub",) * len(minus) + nest("add", plus) + tuple(token for term in minus for token in term)


def whole_power(base: Valued, n: int, small: bool = False) -> Valued:
    """base ** n for a whole n > 0, however large: a network may write a tower of powers.

    `small` writes it with the operators of TRANSFORMER4SR.

    >>> whole_power((("x1",), ()), 11)[0]
    ('mul', 'x1', 'pow5', 'pow2', 'x1')
    """
    if n == 1:
        return base
    for token in ("sq", "cb") if small else reversed(POWERS):
        if n % EXPONENT[token] == 0:
            return join(token, whole_power(base, n // EXPONENT[token], small))
    return join("mul", base, whole_power(base, n - 1, small))


# -------------------------------------------------------------------------------------------------------- vocabularies


@dataclass(frozen=True)
class Vocabulary:
    """A set of operators with their sampling weights, and how many variables there are; it numbers the
    tokens.

    `weights` are NSRwH's; a weight of 0 means that the generator never draws the operator as an operator
    (SIMPLIFIED has `mul` only to attach a constant).
    """

    name: str
    weights: tuple[tuple[Token, float], ...]
    n_variables: int

    def __post_init__(self) -> None:
        if not 1 <= self.n_variables <= len(VARIABLES):
            raise ValueError(f"n_variables is {self.n_variables}; it can be 1 to {len(VARIABLES)}")

    @cached_property
    def variables(self) -> tuple[Token, ...]:
        return VARIABLES[: self.n_variables]

    @cached_property
    def operators(self) -> tuple[Token, ...]:
        return tuple(token for token, _ in self.weights)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """All tokens of Γ in the order of their ids; the special ones come first and <pad> is 0."""
        return (*SPECIAL, CONSTANT, *self.variables, *self.operators)

    @cached_property
    def ids(self) -> dict[Token, int]:
        return {token: i for i, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, prefix: object) -> bool:
        """Whether every token of a prefix belongs to the vocabulary."""
        return isinstance(prefix, tuple) and all(token in self.ids for token in prefix)

    def with_variables(self, n: int) -> Vocabulary:
        return replace(self, n_variables=n)

    def encode(self, prefix: Iterable[Token]) -> list[int]:
        """seq as numbers: the ids of the tokens (without START and END).

        >>> SIMPLIFIED.decode(SIMPLIFIED.encode(("add", "x1", "C")))
        ('add', 'x1', 'C')
        """
        prefix = tuple(prefix)
        for i, token in enumerate(prefix):
            if token not in self.ids:
                where = f"the vocabulary {self.name} with {self.n_variables} variables"
                raise at_token(prefix, i, f"token {str(token)[:40]!r} is not in {where}")
        return [self.ids[token] for token in prefix]

    def decode(self, ids: Iterable[int]) -> Prefix:
        """The inverse of encode; it stops before the first END and skips START and padding."""
        out = []
        for i in ids:
            if not 0 <= int(i) < len(self):
                raise ExpressionError(
                    f"token id {int(i)} is not in the vocabulary {self.name} (0 to {len(self) - 1})"
                )
            token = self.tokens[int(i)]
            if token == END:
                break
            if token not in (PAD, START):
                out.append(token)
        return tuple(out)


def _weights(**weights: float) -> tuple[tuple[Token, float], ...]:
    return tuple(weights.items())


SIMPLIFIED = Vocabulary("SIMPLIFIED", _weights(add=10, sub=5, mul=0, sin=4, cos=4, tan=4, exp=4), 5)
_OF_FULL = _weights(add=10, sub=5, mul=10, div=5, pow2=4, pow3=2, pow4=1, pow5=1)
_OF_FULL += _weights(sqrt=4, log=1, exp=4, sin=4, cos=4, tan=4, asin=2)
FULL = Vocabulary("FULL", _OF_FULL, 5)
_OF_TRANSFORMER4SR = _weights(add=4, mul=6, cos=1, sin=1, log=2, exp=2, neg=0, inv=3, sqrt=2, sq=2, cb=0)
TRANSFORMER4SR = Vocabulary("TRANSFORMER4SR", _OF_TRANSFORMER4SR, 6)
VOCABULARIES = {v.name: v for v in (SIMPLIFIED, FULL, TRANSFORMER4SR)}
