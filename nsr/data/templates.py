"""p_Tree and p_E: random templates, from one seed and the same on any number of processes.

A draw is a unary-binary tree (Lample and Charton's uniform distribution over trees of n operators), operators
by weight within their arity, leaves by the ordered rule (the first is x1, a later one at most one higher than
the highest so far), brought to canonical form.  Draws with repeated or cancelling terms, or with a gap in the
variables, are rejected.
"""

import contextlib
import hashlib
import itertools
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import njit

from nsr.formulas.equivalence import canonical, is_reduced, undoes_itself
from nsr.formulas.expressions import ARITY, SIMPLIFIED, Prefix, Template, Vocabulary, subtree_end
from nsr.numbers import random_streams
from nsr.numbers.compiling import COMPILE

CHUNK = 500  # raw draws that share a random stream: the unit of work, whatever the number of processes


@dataclass(frozen=True)
class TreeRecipe:
    """Which trees p_E draws: the operators with their weights, and how many of them."""

    vocabulary: Vocabulary = SIMPLIFIED
    min_operators: int = 2  # 3 in the published code
    max_operators: int = 5  # 6 in the published code ("depth 6" in the paper's text)

    def __post_init__(self) -> None:
        low, high = self.min_operators, self.max_operators
        if not 0 <= low <= high <= 12:
            raise ValueError(f"operators from {low} to {high}: need 0 ≤ min ≤ max ≤ 12")


# -------------------------------------------------------------------------------------------------------------- p_Tree


def tree_counts(n: int) -> np.ndarray:
    """D(e, k): the number of ways to fill e empty slots with k operators, for k ≤ n; (2n + 2, n + 1)
    integers.

    D(0, k) = 0,  D(e, 0) = 1,  D(e, k) = D(e−1, k) + D(e, k−1) + D(e+1, k−1)

    >>> tree_counts(6)[1].tolist()
    [1, 2, 6, 22, 90, 394, 1806]
    """
    D = np.zeros((2 * n + 2, n + 1), np.int64)
    D[1:, 0] = 1
    for k in range(1, n + 1):
        for e in range(1, 2 * n + 1 - k):
            D[e, k] = D[e - 1, k] + D[e, k - 1] + D[e + 1, k - 1]
    return D


@njit(**COMPILE)
def _grow(rng, n_draws, low, high, D, unary, unary_cdf, binary, binary_cdf, first_variable, n_variables, out):
    """Raw draws as token ids, one row each, −1 after the end: trees, then operators and ordered leaves, left
    to right."""
    for row in range(n_draws):
        n = low + int(rng.random() * (high - low + 1))
        empty, highest, i = 1, 0, 0
        for left in range(n, 0, -1):
            # choose how many slots to leave as leaves and the arity of the next operator: weights sum to
            # D(empty, left)
            u = rng.random() * D[empty, left]
            skipped, arity = 0, 1
            while True:
                weight = D[empty - skipped, left - 1]
                if u < weight:
                    arity = 1
                    break
                u -= weight
                weight = D[empty - skipped + 1, left - 1]
                if u < weight or skipped == empty - 1:
                    arity = 2
                    break
                u -= weight
                skipped += 1
            for _ in range(skipped):
                leaf = int(rng.random() * min(highest + 1, n_variables))
                highest = max(highest, leaf + 1)
                out[row, i] = first_variable + leaf
                i += 1
            if arity == 1:
                out[row, i] = unary[np.searchsorted(unary_cdf, rng.random(), side="right")]
            else:
                out[row, i] = binary[np.searchsorted(binary_cdf, rng.random(), side="right")]
            i += 1
            empty += arity - 1 - skipped
        for _ in range(empty):
            leaf = int(rng.random() * min(highest + 1, n_variables))
            highest = max(highest, leaf + 1)
            out[row, i] = first_variable + leaf
            i += 1
        out[row, i:] = -1


@lru_cache(maxsize=32)
def _tables(recipe: TreeRecipe) -> tuple:
    vocabulary = recipe.vocabulary
    tables = [tree_counts(recipe.max_operators).astype(np.float64)]
    for arity in (1, 2):
        drawn = {op: weight for op, weight in vocabulary.weights if ARITY[op] == arity and weight > 0}
        if not drawn:
            none = f"no operator of {arity} argument(s) with a weight above 0"
            raise ValueError(f"vocabulary {vocabulary.name} has {none}")
        weights = np.array([*drawn.values()], np.float64)
        tables += [np.array(vocabulary.encode(drawn)), np.cumsum(weights / weights.sum())[:-1]]
    return tuple(tables)


def raw_draws(n: int, recipe: TreeRecipe, rng: np.random.Generator) -> list[Prefix]:
    """n trees with operators and leaves, before anything is simplified or rejected.

    >>> len(raw_draws(3, TreeRecipe(), np.random.default_rng(0)))
    3
    """
    vocabulary = recipe.vocabulary
    # A binary tree of k operators has 2k + 1 nodes.
    out = np.empty((n, 2 * recipe.max_operators + 2), np.int64)
    sizes = recipe.min_operators, recipe.max_operators
    variables = vocabulary.ids["x1"], vocabulary.n_variables
    _grow(rng, n, *sizes, *_tables(recipe), *variables, out)
    tokens = vocabulary.tokens
    return [tuple(tokens[i] for i in row if i >= 0) for row in out.tolist()]


def template_from(raw: Prefix) -> Template | None:
    """The canonical template of a raw draw, or None if it is rejected.

    >>> template_from(("add", "sin", "x1", "x2")), template_from(("add", "x1", "x1"))
    (('add', 'x2', 'sin', 'x1'), None)
    """
    if not is_reduced(raw):
        return None
    template = canonical(raw)
    present = {token for token in template if token[0] == "x"}
    if len(present) != max((int(token[1:]) for token in present), default=0):
        return None  # a gap: x3 without x2
    return None if undoes_itself(template) else template


# ------------------------------------------------------------------------------------------------------------- streams


def _chunk(job: tuple[TreeRecipe, int, int]) -> list[Template]:
    recipe, seed, index = job
    rng = np.random.default_rng([seed, index])
    return [t for t in map(template_from, raw_draws(CHUNK, recipe, rng)) if t is not None]


def template_stream(recipe: TreeRecipe, seed: int, processes: int = 1) -> Iterator[Template]:
    """Accepted draws for ever, with repetitions: the distribution of p_E's templates."""
    indices = iter(range(2**62))
    if processes == 1:
        for index in indices:
            yield from _chunk((recipe, seed, index))
    with ProcessPoolExecutor(processes) as pool:
        while True:
            jobs = [(recipe, seed, next(indices)) for _ in range(8 * processes)]
            for templates in pool.map(_chunk, jobs):
                yield from templates


def draw_templates(
    n: int, recipe: TreeRecipe = TreeRecipe(), seed: int = 0, processes: int = 1
) -> list[Template]:
    """n independent draws from p_E's templates, repetitions included."""
    with contextlib.closing(template_stream(recipe, seed, processes)) as stream:
        return list(itertools.islice(stream, n))


def distinct(stream: Iterator[Prefix], known: Collection[Prefix] = frozenset()) -> Iterator[Prefix]:
    """Every expression of a stream once, in the order of first appearance; those `known` never."""
    seen = set(known)
    for expression in stream:
        if expression not in seen:
            seen.add(expression)
            yield expression


def is_held_out(template: Template) -> bool:
    """One template in sixteen, chosen by a hash of its tokens, is never trained on, however often it is
    drawn.

    Without it the short templates are all in the training set, and a test set of unseen templates that is no
    longer than the training distribution cannot exist: novelty would be confounded with length.  The salt is
    the first number with which every common pair (length, number of variables) keeps a template that is held
    out.
    """
    text = " ".join(template).encode()
    return hashlib.blake2b(text, digest_size=2, salt=b"held-out10").digest()[0] % 16 == 0


def training_stream(
    n: int, recipe: TreeRecipe = TreeRecipe(), seed: int = 0, processes: int = 1
) -> Iterator[Template]:
    """The first n draws that are not held out, one after another.  Repetitions stay, as in the published
    data: a common template is shown often."""
    with contextlib.closing(template_stream(recipe, seed, processes)) as stream:
        yield from itertools.islice((t for t in stream if not is_held_out(t)), n)


def exchanged(
    templates: Sequence[Template], n: int, recipe: TreeRecipe = TreeRecipe(), seed: int = 0
) -> Iterator[Template]:
    """n templates more: each is one of the given ones with a subtree of another in place of one of its own. What
    the generator could not draw, and what is held out, is left out."""
    rng, made = np.random.default_rng([random_streams.EXCHANGES, seed]), 0
    for _ in range(1000 + 100 * n):
        if made == n:
            return
        one, other = (templates[i] for i in rng.integers(len(templates), size=2))
        place, start = rng.integers(1, len(one)), rng.integers(len(other))  # never the whole of the first
        graft = other[start : subtree_end(other, start)]
        raw = (*one[:place], *graft, *one[subtree_end(one, place) :])
        allowed = recipe.min_operators <= sum(token in ARITY for token in raw) <= recipe.max_operators
        if allowed and (template := template_from(raw)) and not is_held_out(template):
            made += 1
            yield template
    raise ValueError(f"only {made} of {n} templates could be made by exchanging subtrees of {len(templates)}")


def training_draws(
    n: int, recipe: TreeRecipe = TreeRecipe(), seed: int = 0, processes: int = 1
) -> list[Template]:
    """The `training_stream` as a list."""
    return list(training_stream(n, recipe, seed, processes))


def sample_templates(
    n: int,
    vocabulary: Vocabulary = SIMPLIFIED,
    seed: int = 0,
    *,
    min_operators: int = 2,
    max_operators: int = 5,
    processes: int = 1,
) -> list[Template]:
    """n different templates, in the order in which they were first drawn.

    >>> templates = sample_templates(100, SIMPLIFIED, seed=1)
    >>> len(set(templates)), templates == sample_templates(100, SIMPLIFIED, seed=1)
    (100, True)
    """
    recipe = TreeRecipe(vocabulary, min_operators, max_operators)
    found: dict[Template, None] = {}
    since_new = 0
    with contextlib.closing(template_stream(recipe, seed, processes)) as stream:
        while len(found) < n:
            template = next(stream)
            since_new = 0 if template not in found else since_new + 1
            found[template] = None
            if since_new > 1000 + 50 * len(found):
                kind = f"with {min_operators} to {max_operators} operators of {vocabulary.name}"
                raise ValueError(
                    f"only {len(found)} different templates were found {kind}; {n} were asked for"
                )
    return list(found)
