"""The outer form of a formula: what is known about it around unknown functions of some columns each.

    exp(f(a, b))/c        known around one unknown function f
    f(a) + g(b)           unknown functions joined by + and −, or by * and /
    exp(f(a) + g(b))      both

What is known is undone in y, which leaves a problem for the unknown part, the core: log(c·y) = f(a, b). Of that,
only formulas are admitted that are sums, or products, of functions of the columns of one unknown function each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nsr.book.spelling import refuse_unknown, shown
from nsr.formulas.expressions import (
    CONSTANT,
    EXPONENT,
    POWERS,
    UNARY,
    VARIABLES,
    ExpressionError,
    Prefix,
    Token,
    Valued,
    arity,
    join,
    spans,
)
from nsr.formulas.parsing import parse
from nsr.numbers.evaluation import evaluate

SUM, PRODUCT = ("add", "sub"), ("mul", "div")
MOST = 0.1  # of the rows may have a y that the outer form cannot have, because of errors; they are left out
LONGEST = 1000  # characters
_KNOWN = {*UNARY, "ln", "arcsin"}
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
_OPEN = re.compile(r"(?<![\w.])([^\W\d]\w*)\s*\(")
_CALL = re.compile(r"(?<![\w.])([^\W\d]\w*)\s*\(([^()]*)\)")
_CAN_BE = (
    "unknown functions are joined by + and -, or by * and /, and what is known stands around all of them: "
    "'exp(f(a) + g(b))/c'"
)


class OuterError(ValueError):
    """An outer form that cannot be read, is not supported, or does not go with y."""


@dataclass(frozen=True)
class Outer:
    """y = before core after, in tokens; the core's unknown functions are of the `groups` of columns."""

    text: str
    core: tuple[int, ...]  # numbers of the columns in unknown functions: x1, x2, … are these, in their order
    known: tuple[int, ...]  # and of the others in the text: the variables after those
    groups: tuple[frozenset[Token], ...]
    joins: tuple[Token, ...]
    before: Valued
    after: Valued

    @classmethod
    def read(cls, text: str, symbols: Sequence[str]) -> Outer:
        """From text in the names of the columns; every other name before a bracket is an unknown function.

        >>> form = Outer.read("exp(f(a) + g(b))/c", ["c", "b", "a"])
        >>> form.core, form.known, form.joins, form.before, form.after
        ((1, 2), (0,), ('add', 'sub'), (('div', 'exp'), ()), (('x3',), ()))
        """
        if not isinstance(text, str) or len(text) > LONGEST:
            what = f"has more than {LONGEST} characters" if isinstance(text, str) else "is no text"
            raise OuterError(f"outer: {shown(text)} {what}; write, for instance, 'f(a) + g(b)'.")
        calls = [call for call in _CALL.finditer(text) if call[1] not in _KNOWN]
        columns = [[name.strip() for name in call[2].split(",")] for call in calls]
        rest = text
        for call in reversed(calls):
            rest = f"{rest[: call.start()]}0{rest[call.end() :]}"
        if wrong := next((call for call in _OPEN.finditer(rest) if call[1] not in _KNOWN), None):
            raise OuterError(
                f"outer: between the brackets of {wrong[1][:30]} stand columns only, as in 'f(a, b)'."
            )
        others = [name for name in _NAME.findall(rest) if name not in _KNOWN and name not in ("pi", "e")]
        others += [name for name in ("pi", "e") if name in symbols and name in _NAME.findall(rest)]
        refuse_unknown([*sum(columns, []), *others], symbols, "column", OuterError, "in outer")
        functions = [call[1] for call in calls]
        if not functions:
            raise OuterError(
                f"outer: {shown(text)} has no unknown function; write, for instance, 'f(a) + g(b)'."
            )
        if len(set(functions)) < len(functions):
            raise OuterError(f"outer: an unknown function stands in two places of {shown(text)}.")
        core = sorted({symbols.index(name) for names in columns for name in names})
        known = sorted({symbols.index(name) for name in others} - set(core))
        if len(core) + len(known) + len(functions) > len(VARIABLES):
            raise OuterError(f"outer: it has more than {len(VARIABLES)} columns and unknown functions.")
        token = {symbols[j]: VARIABLES[k] for k, j in enumerate((*core, *known))}
        unknown = VARIABLES[len(token) : len(token) + len(functions)]
        ends = [0, *(place for call in calls for place in call.span()), len(text)]
        between = [text[start:end] for start, end in zip(ends[::2], ends[1::2])]
        between = [_NAME.sub(lambda name: token.get(name[0], name[0]), part) for part in between]
        written = "".join(f"{part} {name} " for part, name in zip(between, (*unknown, "")))
        try:
            prefix, constants = parse(written)
        except ExpressionError as error:
            raise OuterError(f"outer: {shown(text)} is no formula ({str(error).split(', at')[0]}).") from None
        i, joins = _core(prefix, unknown, text)
        end = spans(prefix)[i]
        K, L = prefix[:i].count(CONSTANT), len(constants) - prefix[end:].count(CONSTANT)
        groups = tuple(frozenset(token[name] for name in names) for names in columns)
        around = (prefix[:i], constants[:K]), (prefix[end:], constants[L:])
        return cls(text, tuple(core), tuple(known), groups, joins, *around)

    @property
    def bare(self) -> bool:
        """Whether nothing known stands around the core."""
        return not self.before[0]

    def around(self, core: Valued) -> Valued:
        """The whole formula, with this core."""
        return join("", self.before, core, self.after)[0][1:], (*self.before[1], *core[1], *self.after[1])

    def admits(self, prefix: Prefix) -> bool:
        """Whether a core has the form, as it is written: exp(x1 + x2) is a product, (x1 + x2)² is no sum.

        >>> form = Outer.read("f(a) + g(b)", ["a", "b"])
        >>> form.admits(("mul", "C", "sub", "x1", "sin", "x2")), form.admits(("add", "C", "mul", "x1", "x2"))
        (True, False)
        """
        # of each subtree: its columns, and whether it is a sum or a product of functions of one group each
        done: list[tuple[set[Token], bool, bool]] = []
        for token in reversed(prefix):
            args = [done.pop() for _ in range(arity(token))]
            used = set().union(*(arg[0] for arg in args)) if args else {token} - {CONSTANT}
            one, sums, products = self._in_one(used), [arg[1] for arg in args], [arg[2] for arg in args]
            is_sum = is_product = False
            if token in SUM:
                is_sum = all(sums)
            elif token in PRODUCT:
                times_number = not args[1][0] or token == "mul" and not args[0][0]
                is_sum, is_product = times_number and all(sums), all(products)
            elif token == "neg":
                is_sum, is_product = sums[0], products[0]
            elif token in EXPONENT or token == "sqrt":
                is_product = products[0]
            elif token == "exp":
                is_product = sums[0]
            elif token == "log":
                is_sum = products[0]
            done.append((used, one or is_sum, one or is_product))
        return {SUM: done[0][1], PRODUCT: done[0][2]}.get(self.joins, self._in_one(done[0][0]))

    def _in_one(self, used: set[Token]) -> bool:
        return any(used <= group for group in self.groups)

    def undone(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The values of the core that y (P,) says, in the columns X (P, D) of core and known, and ∂y/∂core; not
        finite where no core has this y."""
        prefix, constants = self.around((VARIABLES[:1], ()))
        ends, place, slope = spans(prefix), len(self.before[0]), np.ones(len(y))
        i, first = 0, 0  # the number of the first constant at token i or after it
        with np.errstate(all="ignore"):
            while i < place:
                token, second = prefix[i], ends[i + 1]
                if arity(token) == 1:
                    y, step = _inverse(token, y)
                    slope, i = slope * step, i + 1
                    continue
                on_the_left = place < second
                start, end = (second, ends[i]) if on_the_left else (i + 1, second)
                here = first + prefix[i + 1 : start].count(CONSTANT)
                side = prefix[start:end]
                k = evaluate(side, X, constants[here : here + side.count(CONSTANT)])
                if not on_the_left:
                    first = here + side.count(CONSTANT)
                y, step = _other_side(token, y, k, on_the_left)
                slope, i = slope * step, (i + 1 if on_the_left else second)
        return y, np.abs(slope)

    def goal(
        self, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The core's problem: columns, values and weights of the rows in which there is one. An error of y is one of
        the core divided by ∂y/∂core."""
        if self.bare:
            return X[:, : len(self.core)], y, weights
        goal, slope = self.undone(X, y)
        there = np.isfinite(goal) & np.isfinite(slope) & (slope > 0)
        if there.mean() < 1.0 - MOST or there.sum() < 2:
            raise OuterError(
                f"outer: in {int((~there).sum())} of {len(y)} rows no y of the form {shown(self.text)} is possible."
            )
        share = slope[there] ** 2 * (1.0 if weights is None else weights[there])
        share = np.maximum(share / share.max(), 1e-12)
        same = bool(np.ptp(share) < 1e-9)
        return X[there][:, : len(self.core)], goal[there], None if same else share


def cancelled(formula: Valued) -> Valued:
    """Without exp of a logarithm, and without the logarithm of exp.

    >>> cancelled((("mul", "C", "exp", "log", "x1"), (2.0,)))
    (('mul', 'C', 'x1'), (2.0,))
    """
    prefix, constants = formula
    for i in range(len(prefix) - 1):
        if {prefix[i], prefix[i + 1]} == {"exp", "log"}:
            return cancelled((prefix[:i] + prefix[i + 2 :], constants))
    return formula


def _core(prefix: Prefix, unknown: Sequence[Token], text: str) -> tuple[int, tuple[Token, ...]]:
    """Where the core of the form begins, and the operators that join unknown functions."""
    ends, i = spans(prefix), 0
    while prefix[i] not in unknown:
        if arity(prefix[i]) == 1:
            if _inverse(prefix[i], np.ones(1)) is None:
                raise OuterError(
                    f"outer: {prefix[i]} cannot be undone in {shown(text)}; exp, log, sqrt, asin and powers can."
                )
            i += 1
            continue
        left, right = (
            bool(set(prefix[a:b]) & set(unknown)) for a, b in ((i + 1, ends[i + 1]), (ends[i + 1], ends[i]))
        )
        if left and right:
            break
        i = i + 1 if left else ends[i + 1]
    if prefix[i] in unknown:
        return i, ()
    joins = SUM if prefix[i] in SUM else PRODUCT
    if not set(prefix[i : ends[i]]) <= {*joins, *unknown}:
        raise OuterError(f"outer: {shown(text)} is not supported; {_CAN_BE}.")
    return i, joins


def _inverse(token: Token, y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """u with token(u) = y, and ∂y/∂u; None where a function has no single inverse."""
    if token in POWERS:
        n = POWERS[token]
        u = np.sign(y) * np.abs(y) ** (1.0 / n) if n % 2 else np.where(y >= 0, np.abs(y) ** (1.0 / n), np.nan)
        return u, n * u ** (n - 1)
    if token == "sqrt":
        return np.where(y >= 0, y * y, np.nan), 0.5 / y
    if token == "exp":
        return np.log(y), y
    if token == "log":
        return np.exp(y), np.exp(-y)
    if token == "asin":
        return np.where(np.abs(y) <= np.pi / 2, np.sin(y), np.nan), 1.0 / np.cos(y)
    if token == "neg":
        return -y, np.ones(len(y))
    return (1.0 / y, y * y) if token == "inv" else None


def _other_side(
    token: Token, y: np.ndarray, k: np.ndarray, on_the_left: bool
) -> tuple[np.ndarray, np.ndarray]:
    """u with token(u, k) = y, or token(k, u) = y if u is not on the left, and ∂y/∂u."""
    one = np.ones(len(y))
    if token == "add":
        return y - k, one
    if token == "sub":
        return (y + k, one) if on_the_left else (k - y, one)
    if token == "mul":
        return y / k, k * one
    return (y * k, one / k) if on_the_left else (k / y, y * y / k)
