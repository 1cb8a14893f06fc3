"""The stream of training batches: a function of (seed, step) alone, made in a background thread.

A pool of several batches' worth of items is drawn with its own generator PCG64([seed, pool number]), sorted
by length and cut into batches, so that hardly any padding is computed; the batches of a pool come in random
order. Resuming a run needs no generator state.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from nsr.book.publishing import made_once
from nsr.book.run_records import PACKAGE, digest
from nsr.data.hint_draws import HintRecipe, draw_hints, random_templates
from nsr.data.hints import encode, told_pieces
from nsr.data.items import ItemRecipe, TemplateBank, sample_items
from nsr.data.templates import TreeRecipe, exchanged, training_stream
from nsr.formulas.expressions import (
    CLOSE,
    END,
    OPEN,
    SIMPLIFIED,
    START,
    Prefix,
    Vocabulary,
    is_valid,
    subtrees,
)
from nsr.formulas.orders import reordered
from nsr.network.recipes import Settings

SHARED = 100_000  # draws from which on a bank of templates is a file that processes share

Draw = Callable[
    [np.random.Generator, int, int], tuple[list[Prefix], np.ndarray] | tuple[list[Prefix], np.ndarray, list]
]
"""(rng, n_items, n_points) → target prefixes and points (B, P, D+1) in float32, y last; all of them valid. Perhaps also a list with
something more about each item that the hints want to know (its constants)."""
Hints = Callable[..., Sequence[int]]
"""(rng, target prefix, and what more the draw says about the item) → hint token ids"""


@dataclass(frozen=True)
class Prompts:
    """How subtrees of the target are turned into a prompt (NSR-gvs). The paper leaves these numbers open.

    With probability `empty` there is none; else distinct proper subtrees of at most `longest` tokens are
    drawn uniformly without replacement until their length exceeds a limit, itself uniform in 0..`total`.
    """

    empty: float = 0.2
    longest: int = 9
    total: int = 20


def draw_prompt(rng: np.random.Generator, prefix: Prefix, prompts: Prompts) -> list[Prefix]:
    """Some subtrees of an expression, never the expression itself."""
    if rng.random() < prompts.empty:
        return []
    choices = sorted({tree for tree in subtrees(prefix)[1:] if len(tree) <= prompts.longest})
    limit, chosen, total = rng.integers(prompts.total + 1), [], 0
    for i in rng.permutation(len(choices)):
        if total > limit:
            break
        chosen.append(choices[i])
        total += len(choices[i])
    return chosen


def disordered(prefix: Prefix, rng: np.random.Generator) -> Prefix:
    """The tokens of an expression in a random order that is none: if it is one by chance, backwards, so that it
    begins with a leaf."""
    tokens = tuple(prefix[i] for i in rng.permutation(len(prefix)))
    return tokens[::-1] if is_valid(tokens) else tokens


def pieces(tokens: Prefix, rng: np.random.Generator) -> list[Prefix]:
    """The tokens cut into one, two or three pieces, which come in a random order."""
    places = rng.permutation(np.arange(1, len(tokens)))[: rng.integers(3)]
    cuts = [0, *sorted(places.tolist()), len(tokens)]
    parts = [tokens[a:b] for a, b in itertools.pairwise(cuts)]
    return [parts[i] for i in rng.permutation(len(parts))]


def sequence(prefix: Prefix, prompt: Sequence[Prefix] = ()) -> tuple[str, ...]:
    """What the decoder reads and writes: OPEN t₁ CLOSE … OPEN t_N CLOSE START e END.

    >>> sequence(("sin", "x1"), [("x1",)])
    ('<tree>', 'x1', '</tree>', '<start>', 'sin', 'x1', '<end>')
    """
    return (*(token for tree in prompt for token in (OPEN, *tree, CLOSE)), START, *prefix, END)


@dataclass(frozen=True)
class Batch:
    """One training batch on this process."""

    points: Tensor  # (B, P, D+1) float32
    tokens: Tensor  # (B, L) int64, the decoder's input
    targets: Tensor  # (B, L) int64, 0 where nothing is to be learned (padding, prompt)
    hints: Tensor | None  # (B, Lh) int64
    hint_only: Tensor | None  # (B,) bool, true where the points are not to be shown
    weight: float  # number of targets in the whole batch, over all processes
    shown: tuple[Prefix, ...]  # targets of the whole batch

    def to(self, device: torch.device) -> Batch:
        if device.type == "cpu":
            return self
        tensors = {key: value for key, value in vars(self).items() if isinstance(value, Tensor)}
        moved = {key: value.pin_memory().to(device, non_blocking=True) for key, value in tensors.items()}
        return replace(self, **moved)


def _padded(rows: Sequence[Sequence[int]], multiple: int = 1) -> np.ndarray:
    longest = -(-max(map(len, rows)) // multiple) * multiple
    out = np.zeros((len(rows), longest), np.int64)
    for row, values in zip(out, rows):
        row[: len(values)] = values
    return out


@dataclass(frozen=True)
class Stream:
    """Batches by step number. `rank` of `world` processes takes every world-th row of the same global batch."""

    draw: Draw
    vocabulary: Vocabulary
    seed: int
    batch: int
    points: tuple[int, int]  # number of points of a batch: uniform between these, both included
    pool: int = 6  # batches per pool
    positions: int = 64  # longest sequence the network can read; longer items are left out
    prompts: Prompts | None = None
    hints: Hints | None = None
    hint_only: float = 0.0  # share of the items of which only the hints are shown
    hint_copy: float = 0.0  # share of the items that are tokens in a random order, which the hints tell
    pad_to: int = 1  # lengths are rounded up to a multiple of this (compiled networks like few shapes)
    rank: int = 0
    world: int = 1

    def pool_of(self, number: int) -> list[Batch]:
        """The batches of one pool, in the order in which they are shown."""
        rng = np.random.Generator(np.random.PCG64([self.seed, number]))
        epochs = getattr(self.draw, "pool", None)  # a fixed set goes through its items in order
        n_items, (fewest, most) = self.batch * self.pool, self.points
        prefixes, points, *more = epochs(number, n_items) if epochs else self.draw(rng, n_items, most)
        copied = set(np.flatnonzero(rng.random(n_items) < self.hint_copy)) if self.hint_copy else set()
        prefixes = [disordered(p, rng) if j in copied else p for j, p in enumerate(prefixes)]
        ids = self.vocabulary.ids
        trees = [draw_prompt(rng, prefix, self.prompts) if self.prompts else [] for prefix in prefixes]
        for prefix, prompt in zip(prefixes, trees):  # a prompt that does not fit loses its last subtrees
            while prompt and len(sequence(prefix, prompt)) > self.positions + 1:
                prompt.pop()
        spelled = [sequence(prefix, prompt) for prefix, prompt in zip(prefixes, trees)]
        lengths = np.array([len(tokens) for tokens in spelled])
        order = np.argsort(lengths, kind="stable")
        order = order[lengths[order] <= self.positions + 1]
        cuts = np.array_split(order, self.pool)
        batches = []
        for i in rng.permutation(self.pool):
            n_points, every, hints, alone = int(rng.integers(fewest, most + 1)), cuts[i], None, None
            if self.hints:
                told = [
                    told_pieces(pieces(prefixes[j], rng), self.vocabulary)
                    if j in copied
                    else self.hints(rng, prefixes[j], *(about[j] for about in more))
                    for j in every
                ]
                hints = torch.from_numpy(_padded(told)[self.rank :: self.world])
                if self.hint_only:
                    alone = torch.from_numpy(
                        (rng.random(len(every)) < self.hint_only)[self.rank :: self.world]
                    )
            weight = float(sum(len(prefixes[j]) + 1 for j in every))
            mine = every[self.rank :: self.world]
            rows = _padded([[ids[token] for token in spelled[j]] for j in mine], self.pad_to)
            tokens, targets = rows[:, :-1].copy(), rows[:, 1:].copy()
            started = (tokens == ids[START]).cumsum(1) > 0
            tokens[tokens == ids[END]] = 0  # nothing follows END
            targets[~started] = 0
            shown = tuple(prefixes[j] for j in every if j not in copied)
            arrays = map(torch.from_numpy, (points[mine, :n_points], tokens, targets))
            batches.append(Batch(*arrays, hints, alone, weight, shown))
        return batches

    def from_step(self, first: int, last: int) -> Iterator[Batch]:
        """The batches of steps first, …, last − 1, made in this thread."""
        for number in range(first // self.pool, -(-last // self.pool)):
            for i, batch in enumerate(self.pool_of(number)):
                if first <= number * self.pool + i < last:
                    yield batch


def make_draw(
    settings: Settings, folder: Path | None = None, more: Sequence[Prefix] = ()
) -> tuple[Sequence[Prefix], Draw]:
    """The training templates of some settings and perhaps `more`, and the function that draws items from them;
    `folder` is where a large bank of templates may be kept."""
    d = settings.data
    if d.items:
        from nsr.data.skeleton_tables import training_set  # late: it decodes, and decoding reads this module

        fixed = training_set(d.items, d.tables, d.template_seed)
        return list(fixed.tables.skeletons), fixed
    bank, recipe = template_bank(settings, folder, more), ItemRecipe(max_constants=d.max_constants)

    def draw(rng: np.random.Generator, n_items: int, n_points: int) -> tuple:
        items = sample_items(bank, rng, n_items, n_points, recipe)
        targets = [reordered(target, rng) if d.reordered else target for target in items.targets()]
        points = np.concatenate([items.X, items.y[..., None]], -1, dtype=np.float32)  # (B, P, D+1)
        # Only in this vocabulary are the constants of a target those of the item, in the same order.
        known = d.hinted and d.vocabulary == SIMPLIFIED.name
        constants = [[items.values(i) for i in range(n_items)]] if known else []
        return targets, points, *constants

    return bank, draw


def template_bank(
    settings: Settings, folder: Path | None = None, more: Sequence[Prefix] = ()
) -> TemplateBank:
    """The training templates, ready to draw items from them.

    A large bank is drawn by the first process that wants it and kept as files in `folder`, which all
    processes of a machine share in memory: trainings under torchrun, and those of other networks with the
    same templates. What a new version of the code would draw differently is drawn again.
    """
    d, vocabulary = settings.data, settings.vocabulary
    trees = TreeRecipe(vocabulary, d.min_operators, d.max_operators)

    def bank() -> TemplateBank:
        drawn = training_stream(d.draws, trees, d.template_seed)
        if d.exchanges:
            known = list(drawn)
            drawn = itertools.chain(known, exchanged(known, d.exchanges, trees, d.template_seed))
        return TemplateBank(itertools.chain(drawn, more), vocabulary)

    if folder is None or d.draws + d.exchanges < SHARED or more:
        return bank()
    rooms = [PACKAGE / room for room in ("formulas", "numbers", "data")]
    sources = [path for room in rooms for path in sorted(room.glob("*.py"))]
    name = digest(repr((trees, d.draws, d.exchanges, d.template_seed)), *sources)
    place = made_once(folder / f"templates-{name}", lambda working: bank().save(working))
    return TemplateBank.mapped(place, vocabulary)


def make_hints(settings: Settings) -> Hints | None:
    """The function that draws the hints of an item, if the settings want any."""
    d, vocabulary = settings.data, settings.vocabulary
    if not d.hinted:
        return None
    kinds = d.hint_complexity, d.hint_symmetry, d.hint_positives, d.hint_negatives
    recipe = HintRecipe(*kinds, d.hint_values, room=settings.config().hint_positions)
    others = random_templates(TreeRecipe(vocabulary, d.min_operators, d.max_operators))

    def hints(rng: np.random.Generator, prefix: Prefix, constants: tuple[float, ...] = ()) -> tuple[int, ...]:
        return encode(draw_hints(rng, prefix, recipe, others, constants), vocabulary)

    return hints


class Background:
    """Makes the batches of an iterator in a thread, up to `ahead` in advance; `waited` counts the seconds
    spent waiting for it."""

    def __init__(self, batches: Iterator[Batch], ahead: int = 12):
        self.waited = 0.0
        self._thread = ThreadPoolExecutor(1, "batches")
        self._next = lambda: self._thread.submit(next, batches, None)
        self._ready = deque(self._next() for _ in range(ahead))

    def __iter__(self) -> Iterator[Batch]:
        while True:
            start = time.perf_counter()
            batch = self._ready.popleft().result()  # an error in the thread is raised here
            self.waited += time.perf_counter() - start
            if batch is None:
                return
            self._ready.append(self._next())
            yield batch

    def close(self) -> None:
        self._thread.shutdown(cancel_futures=True)
