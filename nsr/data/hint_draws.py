"""Drawing hints from a true expression: for training, and for experiments in which somebody knows part of the
truth.

Each kind of knowledge has a probability of its own, so that in training none, one or all of them are there.
How much is told follows NSRwH's code: positives and negatives have a budget of tokens, a share of the
expression's length.
"""

import bisect
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nsr.data.hints import ROOM, Complexity, Hint, Negative, Positive, Symmetry, in_order, structures
from nsr.data.templates import TreeRecipe, draw_templates
from nsr.formulas.expressions import CONSTANT, Prefix, complexity, subtrees
from nsr.numbers import random_streams
from nsr.numbers.symmetry import symmetries

POOL = 2048  # random templates whose subtrees may become negatives


@dataclass(frozen=True)
class HintRecipe:
    """How hints are drawn from a true expression: with which probability a hint of each kind is given, and
    how much it says. The defaults are the published ones."""

    complexity: float = 0.3
    symmetry: float = 0.2
    positives: float = 0.3
    negatives: float = 0.3
    values: float = 0.15  # a positive shows the value of each of its constants with this probability
    # Positives have this many tokens per token of the expression, and so have negatives; None draws it from
    # U(0, 1).
    share: float | None = None
    sources: int = 4  # the negatives of an item are subtrees of so many random expressions
    room: int = ROOM  # hint tokens that the network can read


@lru_cache(maxsize=8)
def random_templates(recipe: TreeRecipe) -> tuple[Prefix, ...]:
    """Templates of p_E, drawn once."""
    return tuple(draw_templates(POOL, recipe, seed=random_streams.HINT_TEMPLATES))


def draw_hints(
    rng: np.random.Generator,
    prefix: Prefix,
    recipe: HintRecipe,
    others: Sequence[Prefix],
    constants: tuple[float, ...] = (),
) -> tuple[Hint, ...]:
    """Some truth about an expression; `others` are random expressions whose subtrees may become negatives."""
    given = rng.random(4) < (recipe.symmetry, recipe.positives, recipe.negatives, recipe.complexity)
    hints: list[Hint] = []
    if given[0]:
        hints += [Symmetry(*pair, holds) for pair, holds in symmetries(prefix, constants).items()]
    if given[1]:
        hints += _draw_positives(rng, prefix, recipe, constants)
    if given[2]:
        hints += _draw_negatives(rng, prefix, recipe, others)
    if given[3]:
        hints.append(Complexity(complexity(prefix)))
    return fitted(hints, recipe.room)


def fitted(hints: Iterable[Hint], room: int = ROOM) -> tuple[Hint, ...]:
    """Hints in order; if they need more tokens than the network can read, the longest ones make way."""
    ordered = list(in_order(hints))
    while sum(len(hint.words()) for hint in ordered) + 2 > room:
        ordered.remove(max(ordered, key=lambda hint: len(hint.words())))
    return tuple(ordered)


def _draw_positives(
    rng: np.random.Generator, prefix: Prefix, recipe: HintRecipe, constants: tuple[float, ...]
) -> list[Positive]:
    """Proper subtrees that are more than a leaf, the first occurrence of each."""
    places: dict[Prefix, int] = {}
    for i, tree in enumerate(subtrees(prefix)):
        if i and len(tree) > 1:
            places.setdefault(tree, i)
    budget, implies = _budget(rng, prefix, recipe), lambda pick, tree: tree in subtrees(pick)
    chosen = _draw_trees(rng, list(places), lambda tree: 1.0, budget, implies)
    hints = []
    for tree in chosen:
        values: tuple[float | None, ...] = ()
        if constants and CONSTANT in tree:
            first = prefix[: places[tree]].count(CONSTANT)
            own = constants[first : first + tree.count(CONSTANT)]
            values = tuple(v if told else None for v, told in zip(own, rng.random(len(own)) < recipe.values))
        hints.append(Positive(tree, values))
    return hints


def _draw_negatives(
    rng: np.random.Generator, prefix: Prefix, recipe: HintRecipe, others: Sequence[Prefix]
) -> list[Negative]:
    """Subtrees of a few random expressions that the true one does not contain, in its variables; short ones
    are likelier."""
    inside, known = set(structures(prefix)), set(prefix)
    pool = [tree for i in rng.integers(len(others), size=recipe.sources) for tree in structures(others[i])]
    known_only = [tree for tree in dict.fromkeys(pool) if all(t in known for t in tree if t[0] == "x")]
    absent = [tree for tree in known_only if tree not in inside]
    budget, implies = _budget(rng, prefix, recipe), lambda pick, tree: pick in subtrees(tree)
    chosen = _draw_trees(rng, absent, lambda tree: len(tree) ** -2.0, budget, implies)
    return [Negative(tree) for tree in chosen]


def _budget(rng: np.random.Generator, prefix: Prefix, recipe: HintRecipe) -> int:
    return int((rng.random() if recipe.share is None else recipe.share) * len(prefix))


def _draw_trees(
    rng: np.random.Generator, trees: list[Prefix], weight: Callable, budget: int, implies: Callable
) -> list[Prefix]:
    """Draw among the trees that still fit into the budget of tokens; what another one implies says nothing
    new and is given back."""
    chosen: list[Prefix] = []
    while fits := [tree for tree in trees if len(tree) <= budget - sum(map(len, chosen))]:
        sums = list(itertools.accumulate(map(weight, fits)))
        pick = fits[bisect.bisect(sums, rng.random() * sums[-1], hi=len(fits) - 1)]
        chosen = [tree for tree in chosen if not implies(pick, tree)] + [pick]
        trees = [tree for tree in trees if not implies(pick, tree)]
    return chosen
