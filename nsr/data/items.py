"""From a template to one training item or problem: constants, supports, points.

    template e_templ ──► e* = e_templ with constants ──► supports [lo_j, hi_j] ──► points x_ij ~ U(lo_j, hi_j), y_i = e*(x_i)

Where constants may stand follows the paper's text (nsr.formulas.constant_places).  How many are drawn, and
from which distributions, follows NSRwH's code (number u with probability ∝ 1/(u+1), u < min(places, 6)).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from nsr.formulas.constant_places import ALWAYS, saturate
from nsr.formulas.equivalence import canonical
from nsr.formulas.expressions import SIMPLIFIED, Prefix, Template, Vocabulary
from nsr.numbers.compiling import COMPILE
from nsr.numbers.interpreter import OPCODES, run


class ItemRecipe(NamedTuple):
    """How constants, supports and points are drawn (Table "Hyperparameters in NeSymReS's dataset
    generation")."""

    max_constants: int = 6  # as in the paper; the published rule then draws at most one fewer
    mul_low: float = 0.05  # c_mul ~ LU(0.05, 10)
    mul_high: float = 10.0
    add_low: float = -10.0  # c_add ~ U(-10, 10)
    add_high: float = 10.0
    support_low: float = -10.0  # lo ~ U(-10, 10 - width), hi ~ U(lo + width, 10)
    support_high: float = 10.0
    support_width: float = 1.0
    y_limit: float = 65504.0  # points with a larger |y| are invalid: half precision ends there
    valid_share: float = 0.2  # of the points drawn; if fewer are valid, other supports are tried
    attempts: int = 5  # supports tried before the constants are drawn anew


class _Programs(NamedTuple):
    """Saturated templates (nsr.formulas.constant_places) as flat arrays, for compiled code: 240 bytes for a
    template of six operators.

    Template t has the tokens token_at[t] … token_at[t + 1] and the places place_at[t] … place_at[t + 1];
    group g has the members group_at[g] … group_at[g + 1], each a place with a sign.
    """

    token_at: np.ndarray  # (templates + 1,) int64
    token_id: np.ndarray  # uint8, of the vocabulary
    token_opcode: np.ndarray  # uint8, of the interpreter; 0 is a constant
    token_guard: np.ndarray  # int32, the group that must be in use for this token to be written, or ALWAYS
    group_at: np.ndarray  # (groups + 1,) int32
    group_place: np.ndarray  # uint8, a number within the template
    group_sign: np.ndarray  # int8
    place_at: np.ndarray  # (templates + 1,) int64
    place_additive: np.ndarray  # bool, added or multiplied
    has_variable: np.ndarray  # (templates, D) bool


BLOCK = 4096  # templates that are compiled, or written as tokens again, at a time


def _compiled(templates: Sequence[Template], vocabulary: Vocabulary) -> _Programs:
    saturated = [saturate(t) for t in templates]
    ids = [vocabulary.encode(s.tokens) for s in saturated]
    groups = [g for s in saturated for g in s.groups]
    first_group = np.cumsum([0, *(len(s.groups) for s in saturated)])

    def flat(lists: Iterable[Sequence[int]], kind: type) -> np.ndarray:
        return np.array([value for values in lists for value in values], kind)

    def offsets(lists: Iterable[Sequence], kind: type) -> np.ndarray:
        return np.cumsum([0, *(len(values) for values in lists)]).astype(kind)

    numbered = zip(saturated, first_group)
    guards = ([g + first if g >= 0 else ALWAYS for g in s.guards] for s, first in numbered)
    return _Programs(
        token_at=offsets(ids, np.int64),
        token_id=flat(ids, np.uint8),
        token_opcode=flat(([OPCODES[t] for t in s.tokens] for s in saturated), np.uint8),
        token_guard=flat(guards, np.int32),
        group_at=offsets(groups, np.int32),
        group_place=flat(([place for place, _ in g] for g in groups), np.uint8),
        group_sign=flat(([sign for _, sign in g] for g in groups), np.int8),
        place_at=offsets([s.additive for s in saturated], np.int64),
        place_additive=flat((s.additive for s in saturated), bool),
        has_variable=np.array([[v in t for v in vocabulary.variables] for t in templates]),
    )


def _joined(parts: list[_Programs]) -> _Programs:
    """The programs of all parts, one after another: what points into another array is moved. The list is
    emptied, so that a field of the parts is gone when it has been joined."""
    arrays = {name: [getattr(part, name) for part in parts] for name in _Programs._fields}
    parts.clear()

    def before(sizes: Iterable[int]) -> np.ndarray:
        return np.cumsum([0, *sizes])[:-1]

    groups = before(len(at) - 1 for at in arrays["group_at"]).astype(np.int32)
    guards = zip(arrays["token_guard"], groups)
    arrays["token_guard"] = [np.where(guard == ALWAYS, guard, guard + shift) for guard, shift in guards]
    pointers = {"token_at": "token_id", "place_at": "place_additive", "group_at": "group_place"}
    for name, counted in pointers.items():
        shifts = before(map(len, arrays[counted]))
        moved = [at[1:] + at.dtype.type(shift) for at, shift in zip(arrays[name], shifts)]
        arrays[name] = [arrays[name][0][:1], *moved]
    return _Programs(**{name: np.concatenate(arrays.pop(name)) for name in _Programs._fields})


class TemplateBank(Sequence):
    """Templates compiled to flat arrays, from which items are drawn at thousands per second; as a sequence,
    the templates themselves.

    A bank can be saved and mapped into the memory of several processes, which then hold it together.

    >>> TemplateBank([("add", "x1", "sin", "x2"), ("exp", "x1")])[1]
    ('exp', 'x1')
    """

    def __init__(self, templates: Iterable[Template], vocabulary: Vocabulary = SIMPLIFIED) -> None:
        stream = iter(templates)
        blocks = iter(lambda: list(itertools.islice(stream, BLOCK)), [])
        parts = [_compiled(block, vocabulary) for block in blocks]
        if not parts:
            raise ValueError("a bank needs at least one template")
        self._hold(_joined(parts), vocabulary)

    def _hold(self, programs: _Programs, vocabulary: Vocabulary) -> None:
        self.programs, self.vocabulary = programs, vocabulary
        self.max_tokens = int(np.diff(programs.token_at).max())
        self.max_places = int(np.diff(programs.place_at).max())

    def save(self, folder: Path) -> None:
        """Write the bank as files that `mapped` can read."""
        for name, array in self.programs._asdict().items():
            np.save(folder / f"{name}.npy", array)

    @classmethod
    def mapped(cls, folder: Path, vocabulary: Vocabulary = SIMPLIFIED) -> TemplateBank:
        """A saved bank. Its arrays are the files themselves: the system keeps them in memory once for all
        processes of a machine."""
        bank = cls.__new__(cls)
        # "c", not "r": numba would compile everything again for arrays that must not be written
        arrays = (np.load(folder / f"{name}.npy", mmap_mode="c") for name in _Programs._fields)
        bank._hold(_Programs(*map(np.asarray, arrays)), vocabulary)
        return bank

    def __len__(self) -> int:
        return len(self.programs.has_variable)

    def __getitem__(self, i: int) -> Template:
        return next(self._written(range(len(self))[i], 1))

    def __iter__(self) -> Iterator[Template]:
        for start in range(0, len(self), BLOCK):
            yield from self._written(start, BLOCK)

    def _written(self, start: int, n: int) -> Iterator[Template]:
        """The templates from `start` on: of their saturations the tokens that are written in any case."""
        at = self.programs.token_at[start : start + n + 1]
        kept = self.programs.token_guard[at[0] : at[-1]] == ALWAYS
        ids = self.programs.token_id[at[0] : at[-1]][kept].tolist()
        ends = np.concatenate([[0], np.cumsum(kept)])[at - at[0]].tolist()
        tokens = self.vocabulary.tokens
        return (tuple(tokens[k] for k in ids[low:high]) for low, high in zip(ends, ends[1:]))


@dataclass(frozen=True)
class Items:
    """A batch of drawn items; every array has one row per item."""

    vocabulary: Vocabulary
    template: np.ndarray  # (B,) index into the bank
    ids: np.ndarray  # (B, L) token ids of the expression, padded with 0
    lengths: np.ndarray  # (B,)
    constants: np.ndarray  # (B, K) padded with nan
    supports: np.ndarray  # (B, D, 2)
    X: np.ndarray  # (B, P, D), zeros in the columns of absent variables
    y: np.ndarray  # (B, P)

    def __len__(self) -> int:
        return len(self.lengths)

    def prefix(self, i: int) -> Prefix:
        """The expression that made item i."""
        tokens = self.vocabulary.tokens
        return tuple(tokens[t] for t in self.ids[i, : self.lengths[i]].tolist())

    def values(self, i: int) -> tuple[float, ...]:
        """The constants of item i, in prefix order."""
        row = self.constants[i]
        return tuple(row[~np.isnan(row)].tolist())

    def targets(self) -> list[Prefix]:
        """What a network learns to write: the expressions, with products of constants joined where there are
        any."""
        prefixes = [self.prefix(i) for i in range(len(self))]
        return prefixes if self.vocabulary.name == SIMPLIFIED.name else [canonical(p) for p in prefixes]


def sample_items(
    bank: TemplateBank,
    rng: np.random.Generator,
    n_items: int | None = None,
    n_points: int = 100,
    recipe: ItemRecipe = ItemRecipe(),
    templates: Sequence[int] | None = None,
    tries: int = 4,
    replace: bool = False,
) -> Items:
    """Draw items: from random templates of the bank (n_items), or one from each given template.

    A random template whose items are invalid `tries` times is replaced by another of the bank; a given one
    raises, unless it may be replaced, too.

    >>> bank = TemplateBank([("add", "x1", "sin", "x2")])
    >>> items = sample_items(bank, np.random.default_rng(0), 3, n_points=10)
    >>> items.X.shape, items.y.shape
    ((3, 10, 5), (3, 10))
    """
    B, D = n_items if templates is None else len(templates), bank.vocabulary.n_variables
    chosen = np.asarray(rng.integers(len(bank), size=B) if templates is None else templates, np.int64)
    constants = np.full((B, max(1, min(recipe.max_constants, bank.max_places))), np.nan)
    ids, lengths = np.zeros((B, bank.max_tokens), np.int16), np.zeros(B, np.int64)
    points = np.zeros((B, D, 2)), np.zeros((B, D, n_points)), np.zeros((B, n_points))
    drawn = _Drawn(ids, lengths, constants, *points)
    numbers = ItemRecipe(*map(float, recipe))  # all of one type, whoever wrote 1 for 1.0: compiled once
    rounds = 0
    pending = np.arange(B)
    while len(pending):
        valid = _draw(rng, pending, chosen, bank.programs, numbers, tries, drawn)
        pending = pending[~valid]
        if len(pending) and (templates is not None and not replace or rounds > 100):
            why = f"its values are undefined or beyond ±{recipe.y_limit:g} almost everywhere"
            template = bank[chosen[pending[0]]]
            raise ValueError(f"no valid points for template {template} in {tries} tries: {why}")
        chosen[pending] = rng.integers(len(bank), size=len(pending))
        rounds += 1
    written = drawn._replace(ids=ids[:, : lengths.max()], X=drawn.X.transpose(0, 2, 1))
    return Items(bank.vocabulary, chosen, *written)


# ------------------------------------------------------------------------------------------------------- compiled


class _Drawn(NamedTuple):
    """Where compiled code writes items, one row each; see `Items`."""

    ids: np.ndarray  # (B, L)
    lengths: np.ndarray  # (B,)
    constants: np.ndarray  # (B, K)
    supports: np.ndarray  # (B, D, 2)
    X: np.ndarray  # (B, D, P)
    y: np.ndarray  # (B, P)


@njit(**COMPILE)
def _draw(rng, rows, chosen, programs, recipe, tries, drawn):
    """Fill the given rows; returns which of them became valid items."""
    D, P = drawn.X.shape[1], drawn.X.shape[2]
    longest = drawn.ids.shape[1]
    stack, block = np.empty((longest, P)), np.zeros((D, P))
    opcodes, values = np.empty(longest, np.int64), np.empty(longest)
    valid = np.zeros(rows.size, np.bool_)
    for r in range(rows.size):
        row, t = rows[r], chosen[rows[r]]
        additive = programs.place_additive[programs.place_at[t] : programs.place_at[t + 1]]
        in_use, place_value = np.zeros(additive.size, np.bool_), np.zeros(additive.size)
        for _ in range(tries):
            _draw_constants(rng, additive, recipe, in_use, place_value)
            length, k = _write(programs, t, in_use, place_value, drawn.ids[row], opcodes, values)
            drawn.lengths[row] = length
            drawn.constants[row, :] = np.nan
            drawn.constants[row, :k] = values[:k]
            program, out = opcodes[:length], (drawn.supports[row], drawn.X[row], drawn.y[row])
            for _ in range(int(recipe.attempts)):
                used = programs.has_variable[t]
                valid[r] = _draw_points(rng, program, values[:k], used, recipe, *out, stack, block)
                if valid[r]:
                    break
            if valid[r]:
                break
    return valid


@njit(**COMPILE)
def _draw_constants(rng, additive, recipe, in_use, value):
    """Choose how many constants, at which places, and their values (three decimals)."""
    in_use[:] = False
    most = min(additive.size, int(recipe.max_constants))
    if most == 0:
        return
    total = 0.0
    for u in range(most):
        total += 1.0 / (u + 1)
    ticket, count = rng.random() * total, 0
    while count < most - 1 and ticket >= 1.0 / (count + 1):
        ticket -= 1.0 / (count + 1)
        count += 1
    for _ in range(count):
        p = int(rng.random() * additive.size)
        while in_use[p]:
            p = int(rng.random() * additive.size)
        in_use[p] = True
        u = rng.random()
        if additive[p]:
            v = recipe.add_low + (recipe.add_high - recipe.add_low) * u
        else:
            v = recipe.mul_low * (recipe.mul_high / recipe.mul_low) ** u
        value[p] = np.round(v * 1000.0) / 1000.0


@njit(**COMPILE)
def _write(programs, t, in_use, place_value, ids, opcodes, values):
    """Write the tokens of template t whose groups are in use, and the value of each constant among them;
    returns how many there are of both."""
    length, k = 0, 0
    for i in range(programs.token_at[t], programs.token_at[t + 1]):
        group, opcode = programs.token_guard[i], programs.token_opcode[i]
        written, total = group == ALWAYS, 0.0
        if not written:
            for member in range(programs.group_at[group], programs.group_at[group + 1]):
                place = programs.group_place[member]
                if in_use[place]:
                    written = True
                    total += programs.group_sign[member] * place_value[place]
        if written:
            ids[length], opcodes[length] = programs.token_id[i], opcode
            length += 1
            if opcode == 0:
                values[k] = total
                k += 1
    ids[length:] = 0
    return length, k


@njit(**COMPILE)
def _draw_points(rng, program, values, has_variable, recipe, support, X, y, stack, block):
    """One attempt: draw supports, then blocks of points until enough are valid; False if too few are, or y is
    constant."""
    D, P = X.shape
    low, high, width = recipe.support_low, recipe.support_high, recipe.support_width
    X[:, :] = 0.0
    for d in range(D):
        support[d, 0] = low + (high - width - low) * rng.random()
        support[d, 1] = support[d, 0] + width + (high - support[d, 0] - width) * rng.random()
    n_valid = 0
    for _ in range(int(np.ceil(1.0 / recipe.valid_share))):
        for d in range(D):
            if has_variable[d]:
                for p in range(P):
                    block[d, p] = support[d, 0] + (support[d, 1] - support[d, 0]) * rng.random()
            else:
                block[d, :] = 0.0
        run(program, values, block, stack)
        for p in range(P):
            if n_valid < P and abs(stack[0, p]) < recipe.y_limit:  # false for nan
                X[:, n_valid] = block[:, p]
                y[n_valid] = stack[0, p]
                n_valid += 1
        if n_valid == P:
            break
    if n_valid < P:
        return False
    largest = np.max(np.abs(y))
    return largest > 1e-6 and (P == 1 or np.max(y) - np.min(y) > 1e-6 * largest)
