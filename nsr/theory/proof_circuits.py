"""The steps of the proof as circuits: bracket matching and ∨-elimination in constant depth, formula values in
logarithmic depth.

A text of n symbols enters as 7n bits, one per position and symbol (one-hot, `encode`). Trailing blanks are
all zero, so a circuit for n symbols also reads shorter texts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nsr.theory.boolean import ALPHABET, AND, NOT, OR, Symbols, fold, formulae, value
from nsr.theory.circuits import Circuit, Gate, add, exact_counts, finish, start

A = len(ALPHABET)
TRUE, FALSE = "⊤", "⊥"  # constants inside a half-built formula; the numbers 1 and 0 are inputs there
GATES = {AND: "AND", OR: "OR"}


def encode(texts: Sequence[str], n: int) -> np.ndarray:
    """Texts as bits: (B, 7n) uint8, position by position."""
    bits = np.zeros((len(texts), n, A), dtype=np.uint8)
    for b, text in enumerate(texts):
        bits[b, np.arange(len(text)), [ALPHABET.index(symbol) for symbol in text]] = 1
    return bits.reshape(len(texts), n * A)


def decode(bits: np.ndarray) -> list[str]:
    """Bits (B, 7n) back to texts; blanks vanish."""
    grid = np.asarray(bits).reshape(len(bits), -1, A)
    return ["".join(ALPHABET[row.argmax()] for row in text if row.any()) for text in grid]


class _Brackets:
    """Gates that compare bracket counts, made once each: E(a, b) is #( − #) in positions a … b."""

    def __init__(self, gates: list[Gate], left: Sequence[int], right: Sequence[int]) -> None:
        self.gates, self.left, self.right = gates, left, right
        self.not_left = [add(gates, "NOT", [i]) for i in left]
        self.not_right = [add(gates, "NOT", [i]) for i in right]
        self.made: dict[tuple, int] = {}

    def rise(self, a: int, b: int, by: int) -> int:
        """The gate E(a, b) ≥ by: Σ( + Σ¬) ≥ length + by."""
        return self._gate(("rise", a, b, by), self.left[a : b + 1], self.not_right[a : b + 1], b + 1 - a + by)

    def fall(self, a: int, b: int, by: int) -> int:
        """The gate −E(a, b) ≥ by."""
        return self._gate(("fall", a, b, by), self.right[a : b + 1], self.not_left[a : b + 1], b + 1 - a + by)

    def _gate(self, key: tuple, plus: Sequence[int], minus: Sequence[int], threshold: int) -> int:
        if key not in self.made:
            self.made[key] = add(self.gates, "THR", [*plus, *minus], threshold)
        return self.made[key]

    def paired(self, i: int, j: int) -> int:
        """The gate "t_i and t_j are a pair": E(i, k) ≥ 1 for i ≤ k < j, and E(i, j) ≤ 0."""
        inside = [self.rise(i, k, 1) for k in range(i, j)]
        return add(self.gates, "AND", [self.left[i], self.right[j], *inside, self.fall(i, j, 0)])

    def nearest_left(self, i: int, j: int) -> list[int]:
        """Conditions for "( at j is the nearest around the non-bracket i": E(j, k) ≥ 1 for j ≤ k ≤ i, and
        E(j, i) ≤ 1."""
        inside = [self.rise(j, k, 1) for k in range(j, i + 1)]
        return [self.left[j], self.not_left[i], self.not_right[i], *inside, self.fall(j, i, -1)]

    def nearest_right(self, i: int, k: int) -> list[int]:
        """The mirror image."""
        inside = [self.fall(m, k, 1) for m in range(i, k + 1)]
        return [self.right[k], self.not_left[i], self.not_right[i], *inside, self.rise(i, k, -1)]


def bracket_matching(n: int) -> Circuit:
    """Lemma "Bracket parsing" for n positions: 2n inputs (is it "(", is it ")"), 2n² outputs.

    Output [i, j] of the first n × n block says that the left partner (or nearest left bracket) of i is j; of
    the second block, that the right one is. A row without a one is the lemma's −1.
    """
    gates = start(2 * n)
    brackets = _Brackets(gates, range(n), range(n, 2 * n))
    never = add(gates, "OR", ())
    table = np.full((2, n, n), never)
    for i in range(n):
        for j in range(i + 1, n):
            pair = brackets.paired(i, j)
            to_left = add(gates, "AND", brackets.nearest_left(j, i))
            to_right = add(gates, "AND", brackets.nearest_right(i, j))
            table[0, j, i] = add(gates, "OR", [pair, to_left])
            table[1, i, j] = add(gates, "OR", [pair, to_right])
    names = [f"({i + 1}" for i in range(n)] + [f"){i + 1}" for i in range(n)]
    return finish(gates, table.ravel().tolist(), names)


def or_elimination(n: int) -> Circuit:
    """Step 1 of the reduction as a circuit: 7n inputs, 7(n + 3⌊(n−1)/4⌋) outputs, the text of `or_free` with
    blanks at its end.

    First every "(" learns whether its connective is ∨ (bracket matching). Then symbol i moves right by
    extra(i) = Σ_{k<i} (2·[k is such a bracket] + [k is ∨]), counted by thresholds, and each output place
    picks the symbol that lands.
    """
    gates = start(A * n)
    at = lambda i, symbol: A * i + ALPHABET.index(symbol)
    brackets = _Brackets(gates, [at(i, "(") for i in range(n)], [at(i, ")") for i in range(n)])
    is_or = [at(i, OR) for i in range(n)]
    edited, intact = [], []
    for j in range(n):
        found = [add(gates, "AND", [is_or[i], *brackets.nearest_left(i, j)]) for i in range(j + 1, n)]
        edited.append(add(gates, "OR", found))
        intact.append(add(gates, "NOT", [edited[j]]))
    n_extra = 3 * ((n - 1) // 4)
    page = _Page(gates, n + n_extra)
    for i in range(n):
        moved = [gate for k in range(i) for gate in (edited[k], edited[k], is_or[k])]
        page.land(i, moved, min(n_extra, 2 * i), _edits(i, at, edited, intact, is_or))
    return finish(gates, page.outputs(), [f"{symbol}{i + 1}" for i in range(n) for symbol in ALPHABET])


class _Page:
    """Output places, and for each of them the gates that write a symbol there."""

    def __init__(self, gates: list[Gate], n_places: int) -> None:
        self.gates = gates
        self.writers: list[list[list[int]]] = [[[] for _ in ALPHABET] for _ in range(n_places)]

    def land(
        self, start: int, moved: Sequence[int], most: int, written: list[tuple[int, str, list[int]]]
    ) -> None:
        """Write (slot, symbol, conditions) at the place start + slot + how many of the gates `moved` are on."""
        for v, exactly in enumerate(exact_counts(self.gates, moved, most)):
            for slot, symbol, conditions in written:
                if start + v + slot < len(self.writers):
                    lands = add(self.gates, "AND", [*exactly, *conditions])
                    self.writers[start + v + slot][ALPHABET.index(symbol)].append(lands)

    def outputs(self) -> list[int]:
        return [add(self.gates, "OR", gates) for place in self.writers for gates in place]


def _edits(
    i: int, at, edited: list[int], intact: list[int], is_or: list[int]
) -> list[tuple[int, str, list[int]]]:
    """What position i may write: (place, symbol, conditions). An edited ( writes ¬(¬, an ∨ writes ∧¬, all
    else itself."""
    plain = [(0, symbol, [at(i, symbol)]) for symbol in ("0", "1", AND, NOT, ")")]
    bracket = [(0, NOT, [edited[i]]), (1, "(", [edited[i]]), (2, NOT, [edited[i]])]
    return [*plain, (0, "(", [at(i, "("), intact[i]]), *bracket, (0, AND, [is_or[i]]), (1, NOT, [is_or[i]])]


def prefix_order(n: int) -> Circuit:
    """Step 2 for a ∨-free text inside the grammar: 7n inputs, 7n outputs, the prefix symbols with blanks at
    the end.

    Every "(" writes its connective, which it sees next door (¬, or else ∧), every leaf writes itself, all
    else writes nothing. That is local; only closing the gaps counts: symbol i goes to place #{k < i : k
    writes}.
    """
    gates = start(A * n)
    at = lambda i, symbol: A * i + ALPHABET.index(symbol)
    page = _Page(gates, n)
    writes: list[int] = []
    for i in range(n):
        symbols = [(0, "0", [at(i, "0")]), (0, "1", [at(i, "1")])]
        if i + 1 < n:
            other = add(gates, "NOT", [at(i + 1, NOT)])
            symbols += [(0, NOT, [at(i, "("), at(i + 1, NOT)]), (0, AND, [at(i, "("), other])]
        page.land(0, writes, i, symbols)
        writes += [at(i, "0"), at(i, "1"), at(i, "(")]
    return finish(gates, page.outputs())


def lookup(n: int) -> Circuit:
    """All formulae of exactly n symbols by heart: an OR over the true ones of an AND of their symbols. Depth
    2, size exponential."""
    gates = start(A * n)
    by_heart = [[A * i + ALPHABET.index(s) for i, s in enumerate(t)] for t in formulae(n) if value(t)]
    true = [add(gates, "AND", symbols) for symbols in by_heart]
    return finish(gates, [add(gates, "OR", true)])


def tree_circuit(symbols: Symbols) -> Circuit:
    """A formula as its own circuit: inputs are the leaves from left to right, depth is the depth of the
    formula."""
    n_leaves = sum(symbol in "01" for symbol in symbols)
    gates, leaves = start(n_leaves), iter(reversed(range(n_leaves)))
    joined = lambda connective, a, b: add(gates, GATES[connective], [a, b])
    output = fold(symbols, lambda leaf: next(leaves), lambda a: add(gates, "NOT", [a]), joined)
    return finish(gates, [output])


def balanced_circuit(symbols: Symbols) -> Circuit:
    """The same formula in logarithmic depth with fan-in two (Brent, Spira): cut a middle-sized subformula C
    out and ask both ways.

    F = (C ∧ F[C:=1]) ∨ (¬C ∧ F[C:=0]); each of the three parts is at most about two thirds of F, so depth
    grows with log n.
    """
    n_leaves = sum(symbol in "01" for symbol in symbols)
    gates = start(n_leaves)
    numbers = iter(range(n_leaves))
    items = tuple(next(numbers) if symbol in "01" else symbol for symbol in symbols)
    output = _balance(items, gates, {})
    return finish(gates, [output])


def _balance(items: tuple, gates: list[Gate], made: dict[tuple, int]) -> int:
    """The gate that computes a sequence of connectives and leaves (int: input; ⊤, ⊥: constant); log-deep
    recursion."""
    items = _fold_constants(items)
    if items in made:
        return made[items]
    if len(items) == 1:
        leaf = items[0]
        gate = add(gates, "AND" if leaf == TRUE else "OR", ()) if leaf in (TRUE, FALSE) else leaf
    elif len(items) <= 3 and items[0] != NOT:
        gate = add(gates, GATES[items[0]], items[1:])
    elif len(items) == 2:
        gate = add(gates, "NOT", items[1:])
    else:
        a, b = _middle(items)
        inner = _balance(items[a:b], gates, made)
        if_true = _fold_constants((*items[:a], TRUE, *items[b:]))
        if_false = _fold_constants((*items[:a], FALSE, *items[b:]))
        gate = _choose(inner, if_true, if_false, gates, made)
    made[items] = gate
    return gate


def _choose(c: int, if_true: tuple, if_false: tuple, gates: list[Gate], made: dict[tuple, int]) -> int:
    """The gate (c ∧ if_true) ∨ (¬c ∧ if_false), shorter where one of them is a constant."""
    if if_false == (FALSE,):
        return add(gates, "AND", [c, _balance(if_true, gates, made)])
    if if_true == (TRUE,):
        return add(gates, "OR", [c, _balance(if_false, gates, made)])
    not_c = add(gates, "NOT", [c])
    if if_false == (TRUE,):
        return add(gates, "OR", [not_c, _balance(if_true, gates, made)])
    if if_true == (FALSE,):
        return add(gates, "AND", [not_c, _balance(if_false, gates, made)])
    yes = add(gates, "AND", [c, _balance(if_true, gates, made)])
    no = add(gates, "AND", [not_c, _balance(if_false, gates, made)])
    return add(gates, "OR", [yes, no])


def _fold_constants(items: tuple) -> tuple:
    """Remove ⊤ and ⊥ from the inside: ⊤∧a = a, ⊥∧a = ⊥ and so on."""

    def negated(a: tuple) -> tuple:
        return {TRUE: (FALSE,), FALSE: (TRUE,)}.get(a[0], (NOT, *a))

    def joined(connective: str, a: tuple, b: tuple) -> tuple:
        neutral = TRUE if connective == AND else FALSE  # it leaves the other side; the other constant decides
        fixed, free = (a, b) if a[0] in (TRUE, FALSE) else (b, a)
        if fixed[0] in (TRUE, FALSE):
            return free if fixed[0] == neutral else fixed
        return (connective, *a, *b)

    return fold(items, lambda item: (item,), negated, joined)


def _middle(items: tuple) -> tuple[int, int]:
    """A proper subtree (a, b) of between about a third and two thirds of the symbols: walk to the larger side
    until it is small."""
    sizes = [1] * len(items)
    for i in range(len(items) - 1, -1, -1):
        if items[i] == NOT:
            sizes[i] = 1 + sizes[i + 1]
        elif items[i] in (AND, OR):
            sizes[i] = 1 + sizes[i + 1] + sizes[i + 1 + sizes[i + 1]]
    node = 0
    while node == 0 or sizes[node] > 2 * len(items) / 3:
        first = node + 1
        second = first + sizes[first] if items[node] != NOT else first
        node = first if sizes[first] >= sizes[second] else second
    return node, node + sizes[node]
