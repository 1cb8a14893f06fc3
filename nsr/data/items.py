"""From a template to one training item or problem: constants, supports, points.

    template e_templ ──► e* = e_templ with constants ──► supports [lo_j, hi_j] ──► points x_ij ~ U(lo_j, hi_j), y_i = e*(x_i)

Where constants may stand follows the paper's text (saturation.py).  How many are drawn, and from which
distributions, follows NSRwH's code (number u with probability ∝ 1/(u+1), u < min(places, 6)).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from nsr.formulas.constant_places import ALWAYS, saturate
from nsr.formulas.equivalence import canonical
from nsr.formulas.expressions import SIMPLIFIED, Prefix, Template, Vocabulary
from nsr.numbers.compiling import COMPILE
from nsr.numbers.interpreter import OPCODES, run


@dataclass(frozen=True)
class ItemRecipe:
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
    valid_share: float = (
        0.2  # at least this share of the points drawn must be valid, else other supports are tried
    )
    attempts: int = 5  # supports tried before the constants are drawn anew

    def numbers(self) -> np.ndarray:
        return np.array(
            [
                self.max_constants,
                self.mul_low,
                self.mul_high,
                self.add_low,
                self.add_high,
                self.support_low,
                self.support_high,
                self.support_width,
                self.y_limit,
                self.valid_share,
                self.attempts,
            ],
            np.float64,
        )


class TemplateBank:
    """Templates compiled to flat arrays, from which items are drawn at thousands per second."""

    def __init__(self, templates: Iterable[Template], vocabulary: Vocabulary = SIMPLIFIED) -> None:
        self.templates: tuple[Template, ...] = tuple(templates)
        self.vocabulary = vocabulary
        if not self.templates:
            raise ValueError("a bank needs at least one template")
        saturated = [saturate(t) for t in self.templates]
        ids = [vocabulary.encode(s.tokens) for s in saturated]
        groups = [g for s in saturated for g in s.groups]
        first_group = np.cumsum([0, *(len(s.groups) for s in saturated)])

        def flat(parts: Iterable[Sequence[int]]) -> np.ndarray:
            return np.array([v for part in parts for v in part], np.int64)

        def offsets(parts: Iterable[Sequence]) -> np.ndarray:
            return np.cumsum([0, *(len(part) for part in parts)]).astype(np.int64)

        self.max_tokens = max(len(i) for i in ids)
        self.max_places = max(len(s.additive) for s in saturated)
        self.arrays = (
            offsets(ids),
            flat(ids),
            flat([OPCODES[t] for t in s.tokens] for s in saturated),
            flat(
                [g + first if g >= 0 else ALWAYS for g in s.guards]
                for s, first in zip(saturated, first_group)
            ),
            offsets(groups),
            flat([p for p, _ in g] for g in groups),
            flat([sign for _, sign in g] for g in groups),
            offsets([s.additive for s in saturated]),
            flat(s.additive for s in saturated),
            first_group.astype(np.int64),
            np.array([[f"x{d + 1}" in t for d in range(vocabulary.n_variables)] for t in self.templates]),
        )

    def __len__(self) -> int:
        return len(self.templates)


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
) -> Items:
    """Draw items: from random templates of the bank (n_items), or one from each given template.

    A random template whose items are invalid `tries` times is replaced by another; a given one raises.

    >>> bank = TemplateBank([("add", "x1", "sin", "x2")])
    >>> items = sample_items(bank, np.random.default_rng(0), 3, n_points=10)
    >>> items.X.shape, items.y.shape
    ((3, 10, 5), (3, 10))
    """
    B, D = n_items if templates is None else len(templates), bank.vocabulary.n_variables
    chosen = np.asarray(rng.integers(len(bank), size=B) if templates is None else templates, np.int64)
    ids, lengths = np.zeros((B, bank.max_tokens), np.int16), np.zeros(B, np.int64)
    constants = np.full((B, max(1, min(recipe.max_constants, bank.max_places))), np.nan)
    supports, X, y = np.zeros((B, D, 2)), np.zeros((B, D, n_points)), np.zeros((B, n_points))
    rounds = 0
    pending = np.arange(B)
    while len(pending):
        ok = _draw(
            rng,
            pending,
            chosen,
            *bank.arrays,
            recipe.numbers(),
            tries,
            ids,
            lengths,
            constants,
            supports,
            X,
            y,
        )
        pending = pending[~ok]
        if len(pending) and (templates is not None or rounds > 100):
            raise ValueError(
                f"no valid points for template {bank.templates[chosen[pending[0]]]} in {tries} tries: "
                f"its values are undefined or beyond ±{recipe.y_limit:g} almost everywhere"
            )
        chosen[pending] = rng.integers(len(bank), size=len(pending))
        rounds += 1
    width = int(lengths.max())
    return Items(
        bank.vocabulary, chosen, ids[:, :width], lengths, constants, supports, X.transpose(0, 2, 1), y
    )


@njit(**COMPILE)
def _draw(
    rng,
    rows,
    chosen,
    token_at,
    token_ids,
    token_ops,
    token_guards,
    group_at,
    group_places,
    group_signs,
    place_at,
    place_additive,
    first_group,
    used,
    numbers,
    tries,
    ids,
    lengths,
    constants,
    supports,
    X,
    y,
):
    """Fill the given rows; returns which of them became valid items."""
    max_constants, attempts = int(numbers[0]), int(numbers[10])
    D, P = X.shape[1], X.shape[2]
    ok = np.zeros(rows.size, np.bool_)
    stack, block = np.empty((ids.shape[1], P)), np.zeros((D, P))
    program, values = np.empty(ids.shape[1], np.int64), np.empty(ids.shape[1])
    for r in range(rows.size):
        row, t = rows[r], chosen[rows[r]]
        n_places = place_at[t + 1] - place_at[t]
        in_use, place_value = np.zeros(n_places, np.bool_), np.zeros(n_places)
        for _ in range(tries):
            _draw_constants(
                rng,
                n_places,
                place_additive[place_at[t] : place_at[t + 1]],
                max_constants,
                numbers,
                in_use,
                place_value,
            )
            # write the tokens whose guards are on, and the value of each C among them
            length, k = 0, 0
            for i in range(token_at[t], token_at[t + 1]):
                guard, total, on = token_guards[i], 0.0, token_guards[i] < 0
                if guard >= 0:
                    for e in range(group_at[guard], group_at[guard + 1]):
                        if in_use[group_places[e]]:
                            on = True
                            total += group_signs[e] * place_value[group_places[e]]
                if on:
                    ids[row, length], program[length] = token_ids[i], token_ops[i]
                    length += 1
                    if token_ops[i] == 0:
                        values[k] = total
                        k += 1
            lengths[row] = length
            ids[row, length:] = 0
            constants[row, :] = np.nan
            constants[row, :k] = values[:k]
            for _ in range(attempts):
                if _draw_points(
                    rng,
                    program[:length],
                    values[:k],
                    used[t],
                    numbers,
                    supports[row],
                    X[row],
                    y[row],
                    stack,
                    block,
                ):
                    ok[r] = True
                    break
            if ok[r]:
                break
    return ok


@njit(**COMPILE)
def _draw_constants(rng, n_places, additive, max_constants, numbers, in_use, value):
    """Choose how many constants, at which places, and their values (three decimals)."""
    in_use[:] = False
    most = min(n_places, max_constants)
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
        p = int(rng.random() * n_places)
        while in_use[p]:
            p = int(rng.random() * n_places)
        in_use[p] = True
        u = rng.random()
        v = (
            numbers[3] + (numbers[4] - numbers[3]) * u
            if additive[p]
            else numbers[1] * (numbers[2] / numbers[1]) ** u
        )
        value[p] = np.round(v * 1000.0) / 1000.0


@njit(**COMPILE)
def _draw_points(rng, program, values, used, numbers, support, X, y, stack, block):
    """One attempt: draw supports, then blocks of points until enough are valid; False if too few are, or y is
    constant."""
    D, P = X.shape
    low, high, width, limit = numbers[5], numbers[6], numbers[7], numbers[8]
    X[:, :] = 0.0
    for d in range(D):
        support[d, 0] = low + (high - width - low) * rng.random()
        support[d, 1] = support[d, 0] + width + (high - support[d, 0] - width) * rng.random()
    found = 0
    for _ in range(int(np.ceil(1.0 / numbers[9]))):
        for d in range(D):
            if used[d]:
                for p in range(P):
                    block[d, p] = support[d, 0] + (support[d, 1] - support[d, 0]) * rng.random()
            else:
                block[d, :] = 0.0
        run(program, values, block, stack)
        for p in range(P):
            if found < P and abs(stack[0, p]) < limit:  # false for nan
                X[:, found] = block[:, p]
                y[found] = stack[0, p]
                found += 1
        if found == P:
            break
    if found < P:
        return False
    largest = np.max(np.abs(y))
    return largest > 1e-6 and (P == 1 or np.max(y) - np.min(y) > 1e-6 * largest)
