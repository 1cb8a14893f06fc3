"""Boolean formulae exactly as the paper defines them: parse, evaluate, count, list, draw uniformly.

The alphabet is Λ = {0, 1, ∧, ∨, ¬, (, )} and the grammar (appendix, "Boolean formula value problem") is

    t ::= 0 | 1 | (¬t) | (t∧t) | (t∨t)

A Formula is its text. A parsed formula is a tuple of symbols in prefix order, the brackets gone: "(1∧(¬0))"
is ("∧", "1", "¬", "0"). The *size* of a formula is its number of symbols, brackets included: the n of the
theorems.
"""

from collections.abc import Callable, Iterator

import numpy as np

AND, OR, NOT = "∧", "∨", "¬"
ALPHABET = ("0", "1", AND, OR, NOT, "(", ")")
BINARY = (AND, OR)

Formula = str
Symbols = tuple[str, ...]


class FormulaError(ValueError):
    """A text that is not a Boolean formula; `position` is the 1-based place of the fault."""

    def __init__(self, text: str, position: int, message: str) -> None:
        self.position = position
        start = max(0, position - 31)  # a window, so that a thousand symbols still fit on a line
        lead, tail = "…" * (start > 0), "…" * (position + 29 < len(text))
        window = f"{lead}{text[start : position + 29]}{tail}"
        caret = " " * (len(lead) + position - 1 - start) + "^"
        super().__init__(f"Not a Boolean formula: position {position}: {message}\n  {window}\n  {caret}")


def parse(text: Formula, bare_not: bool = False) -> Symbols:
    """Symbols of a formula in prefix order; FormulaError (a ValueError) with the position if it is not one.

    With `bare_not` the grammar gains one rule, t ::= ¬t, where ¬ binds tighter than ∧ and ∨. This is the
    reading under which the output of the paper's ∨-elimination, for example ¬(¬0∧¬1), is a formula. One pass,
    no recursion.

    >>> parse("(1∧(¬0))")
    ('∧', '1', '¬', '0')
    >>> parse("¬(¬0∧¬1)", bare_not=True)
    ('¬', '∧', '¬', '0', '¬', '1')
    """
    out: list[str | None] = []  # None holds the place of a connective whose bracket is open
    brackets: list[list] = []  # per open bracket: [its place in out, "fresh" | "not" | "left" | "right"]
    want_operand = True
    for position, symbol in enumerate(text, start=1):
        expected = _expected(brackets, want_operand, bare_not)
        if symbol not in expected:
            raise FormulaError(text, position, _complaint(symbol, expected))
        if symbol == NOT:
            out.append(NOT)
            if brackets and brackets[-1][1] == "fresh":
                brackets[-1][1] = "not"
        elif symbol == "(":
            brackets.append([len(out), "fresh"])
            out.append(None)
        elif symbol in BINARY:
            place, _ = brackets[-1]
            out[place] = symbol
            brackets[-1][1] = "right"
            want_operand = True
        else:  # 0, 1 or ")" completes an operand
            if symbol == ")":
                brackets.pop()
            else:
                out.append(symbol)
            want_operand = False
            if brackets and brackets[-1][1] == "fresh":
                brackets[-1][1] = "left"
    if want_operand or brackets:
        expected = _expected(brackets, want_operand, bare_not)
        raise FormulaError(text, len(text) + 1, _complaint(None, expected))
    return tuple(symbol for symbol in out if symbol is not None)


def _expected(brackets: list[list], want_operand: bool, bare_not: bool) -> tuple[str, ...]:
    stage = brackets[-1][1] if brackets else None
    if want_operand:
        return ("0", "1", "(", NOT) if bare_not or stage == "fresh" else ("0", "1", "(")
    if stage is None:
        return ()
    if stage == "right":
        return (")",)
    if stage == "not":  # (¬t) must close, unless a bare ¬ may begin the left side of (¬t∧t)
        return (")", AND, OR) if bare_not else (")",)
    return BINARY


def _complaint(symbol: str | None, expected: tuple[str, ...]) -> str:
    found = "the text ends" if symbol is None else f"found {symbol!r}"
    if symbol is not None and symbol not in ALPHABET:
        found += ", which is not in the alphabet 0 1 ∧ ∨ ¬ ( )"
    if not expected:
        return f"{found}, but the formula was already complete"
    return f"{found} where {' or '.join(expected)} should be"


def fold(symbols: Symbols, leaf: Callable, negated: Callable, joined: Callable):
    """A formula computed from its leaves to its root: leaf(symbol), negated(a) and joined(connective, a, b).

    It is a right-to-left stack over the prefix symbols, so that depth costs no recursion.
    """
    stack: list = []
    for symbol in reversed(symbols):
        if symbol in BINARY:
            stack.append(joined(symbol, stack.pop(), stack.pop()))
        else:
            stack.append(negated(stack.pop()) if symbol == NOT else leaf(symbol))
    return stack[0]


def to_text(symbols: Symbols) -> Formula:
    """The formula of a prefix sequence, every connective with its own pair of brackets: inverse of `parse`.

    >>> to_text(('∧', '1', '¬', '0'))
    '(1∧(¬0))'
    """
    return fold(symbols, str, lambda a: f"({NOT}{a})", lambda connective, a, b: f"({a}{connective}{b})")


def value(formula: Formula | Symbols) -> int:
    """eval(t): 0 or 1.

    >>> value("((1∨0)∧(¬0))")
    1
    """
    symbols = parse(formula) if isinstance(formula, str) else formula
    return fold(symbols, int, lambda a: 1 - a, lambda connective, a, b: a & b if connective == AND else a | b)


def depth(formula: Formula | Symbols) -> int:
    """Connectives on the longest path from the root to a leaf; a lone 0 or 1 has depth 0.

    >>> depth("((1∨0)∧(¬0))")
    2
    """
    symbols = parse(formula) if isinstance(formula, str) else formula
    return fold(symbols, lambda leaf: 0, lambda a: 1 + a, lambda connective, a, b: 1 + max(a, b))


_COUNTS = [0, 2]  # index = size; grown on demand, exact integers


def count(size: int) -> int:
    """Number of formulae with exactly `size` symbols.

    N(1) = 2 and N(n) = N(n−3) + 2 Σₐ N(a) N(n−3−a): a bracket pair and its connective cost three symbols.

    >>> [count(size) for size in range(1, 11)]
    [2, 0, 0, 2, 8, 0, 2, 24, 64, 2]
    """
    while len(_COUNTS) <= size:
        inner = len(_COUNTS) - 3
        splits = sum(_COUNTS[a] * _COUNTS[inner - a] for a in range(1, inner))
        _COUNTS.append((_COUNTS[inner] if inner > 0 else 0) + 2 * splits)
    return _COUNTS[size] if size > 0 else 0


def formula_at(size: int, index: int) -> Formula:
    """The formula with number `index` among the count(size) formulae of that size: a bijection, so listing is
    exact.

    >>> [formula_at(5, index) for index in range(3)]
    ['(0∧0)', '(0∧1)', '(1∧0)']
    """
    if not 0 <= index < count(size):
        raise ValueError(f"There are {count(size)} formulae of {size} symbols, so no number {index}.")
    out: list[str] = []
    todo: list = [(size, index)]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        size, index = item
        if size == 1:
            out.append(str(index))
            continue
        inner = size - 3
        if index < count(inner):
            todo += [")", (inner, index), "(" + NOT]
            continue
        index -= count(inner)
        for left in _splits(inner):
            block = _COUNTS[left] * _COUNTS[inner - left]
            if index < 2 * block:
                break
            index -= 2 * block
        connective, index = BINARY[index // block], index % block
        i, j = divmod(index, _COUNTS[inner - left])
        todo += [")", (inner - left, j), connective, (left, i), "("]
    return "".join(out)


def _splits(inner: int) -> Iterator[int]:
    """Left sizes from both ends inwards: almost all formulae are lopsided, so the right split is found early."""
    for a in range(1, inner // 2 + 1):
        yield a
        if a != inner - a:
            yield inner - a


def formulae(size: int) -> Iterator[Formula]:
    """All formulae with exactly `size` symbols."""
    return (formula_at(size, index) for index in range(count(size)))


def sample(size: int, rng: np.random.Generator) -> Formula:
    """One formula with exactly `size` symbols, every one equally likely: draw its number, then write it out.

    >>> sample(9, np.random.default_rng(0))
    '((1∨1)∧1)'
    """
    n = count(size)
    if n == 0:
        raise ValueError(f"No Boolean formula has {size} symbols; sizes 1, 4, 5 and all from 7 on exist.")
    n_bytes = (n.bit_length() + 7) // 8
    excess = 8 * n_bytes - n.bit_length()
    while True:  # draw bits until they fall below n: exactly uniform, under two tries on average
        index = int.from_bytes(rng.bytes(n_bytes), "big") >> excess
        if index < n:
            return formula_at(size, index)
