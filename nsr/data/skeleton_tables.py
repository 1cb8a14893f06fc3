"""transformer4sr, the second system: its generator of skeletons and its fixed set of tables.

    raw tree ──rules──► simplified twice, renumbered ──filters──► skeleton ──C, points──► table (50 × 7) ──► network ──greedy──► skeleton

A raw tree grows from the root, each node drawn by weight.  A training set is a list of tables, made once and
shown again every epoch, unlike NeSymReS's fresh items; it is a function of (seed, number of tables, tables
per skeleton), and a smaller set begins a larger one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from nsr.data.templates import distinct
from nsr.formulas.expressions import ARITY, CONSTANT, TRANSFORMER4SR, VARIABLES, Prefix, fold, variables
from nsr.formulas.skeletons import EXPONENTS, ONE, POWERS, Refused, to_skeleton
from nsr.numbers.evaluation import evaluate

# The published weights of every node.
WEIGHTS = dict(add=4, sub=3, mul=6, sin=1, cos=1, log=2, exp=2, inv=3, sq=2, sqrt=2)
WEIGHTS |= dict(C=8, x1=8, x2=8, x3=4, x4=4, x5=2, x6=2)
NO_NESTING = (("sin", "cos"), ("log", "exp"))  # inside one of a pair neither stands again, however deep
MIN_NODES, MAX_NODES, MAX_LEVELS, MAX_TOKENS, N_CONSTANTS = 2, 15, 6, 30, 1
# The rows of a table are chosen from TRIED_POINTS points; no |y| is larger than LARGEST.
N_POINTS, TRIED_POINTS, LARGEST = 50, 1000, 1e9
CHUNK = 4096  # raw draws that share a random stream


# ------------------------------------------------------------------------------------------------------------------- raw trees

_TOKENS = tuple(WEIGHTS)
_ARITIES = np.array([ARITY.get(token, 0) for token in _TOKENS])
# The kind of a token is the number of its pair, or 0.
_KINDS = np.array([sum(bit + 1 for bit, pair in enumerate(NO_NESTING) if token in pair) for token in _TOKENS])


def _tables() -> np.ndarray:
    """Cumulative probabilities (4, tokens): row 1 inside a sine or cosine, row 2 inside a logarithm or
    exponential, row 3 inside both."""
    weights = np.array(list(WEIGHTS.values()), float)
    rows = [np.where((_KINDS > 0) & (flags & _KINDS > 0), 0.0, weights) for flags in range(4)]
    return np.array([np.cumsum(row / row.sum()) for row in rows])


_CDF = _tables()


def skeleton_draws(n: int, rng: np.random.Generator) -> list[Prefix]:
    """The trees among n draws that obey the rules; all grow at once, node by node, and one that outgrows
    MAX_NODES is dropped.

    >>> all(MIN_NODES <= len(raw) <= MAX_NODES for raw in skeleton_draws(100, np.random.default_rng(0)))
    True
    """
    out = np.full((n, MAX_NODES + 1), -1)
    flags = np.zeros((n, MAX_NODES + 3), np.int64)  # stack of open slots: what each stands inside of
    height = np.ones(n, np.int64)
    for i in range(MAX_NODES + 1):
        rows = np.flatnonzero(height > 0)
        height[rows] -= 1
        inside = flags[rows, height[rows]]
        token = (rng.random((len(rows), 1)) >= _CDF[inside]).sum(1)
        out[rows, i] = token
        inside = inside | _KINDS[token]
        for k in range(2):
            more = rows[_ARITIES[token] > k]
            flags[more, height[more]] = inside[_ARITIES[token] > k]
            height[more] += 1
    size = (out >= 0).sum(1)
    good = out[(size >= MIN_NODES) & (size <= MAX_NODES)]
    return [tuple(_TOKENS[t] for t in row if t >= 0) for row in good.tolist()]


# --------------------------------------------------------------------------------------------------------------------- filters


def levels(prefix: Prefix) -> int:
    """Depth of the tree as sympy sees it: a chain of additions is one level, so is one of products (with
    signs) or of powers.

    >>> levels(("add", "x1", "add", "x2", "sq", "x3")), levels(("inv", "sq", "x1"))
    (3, 2)
    """
    kinds = {"add": "+", "mul": "*", "neg": "*", **dict.fromkeys(POWERS, "^")}

    def visit(token: str, i: int, *args: tuple[int, str]) -> tuple[int, str]:
        kind = kinds.get(token, token)
        return 1 + max((depth - (kind == below and kind in "+*^") for depth, below in args), default=0), kind

    return fold(prefix, visit)[0]


def exponents(prefix: Prefix) -> list[float]:
    """The exponent of every power in a skeleton: chains of inv, sq, cb and sqrt multiplied out.

    >>> exponents(("add", "inv", "sq", "x1", "sqrt", "cb", "x2"))
    [-2.0, 1.5]
    """
    found, e = [], ONE
    for token, after in zip(prefix, (*prefix[1:], "")):
        if token in POWERS:
            e = e * POWERS[token] // ONE
            if after not in POWERS:
                found.append(e / ONE)
                e = ONE
    return found


FILTERS: dict[str, Callable[[Prefix], bool]] = {  # of a finished skeleton, by name
    "levels": lambda s: levels(s) <= MAX_LEVELS,
    "variables from x1": lambda s: 0 < len(variables(s)) and variables(s) == VARIABLES[: len(variables(s))],
    "at most six variables": lambda s: len(variables(s)) <= TRANSFORMER4SR.n_variables,
    "exponents": lambda s: all(abs(e) * ONE in EXPONENTS for e in exponents(s)),
    "one constant": lambda s: s.count(CONSTANT) == N_CONSTANTS,
    "tokens": lambda s: len(s) <= MAX_TOKENS,
}


def renumbered(prefix: Prefix) -> Prefix:
    """Variables named x1, x2, … in the order in which they appear.

    >>> renumbered(("mul", "x5", "add", "x2", "x5"))
    ('mul', 'x1', 'add', 'x2', 'x1')
    """
    names: dict[str, str] = {}
    for token in prefix:
        if token in VARIABLES:
            names.setdefault(token, VARIABLES[len(names)])
    return tuple(names.get(token, token) for token in prefix)


@lru_cache(maxsize=1 << 18)  # a short tree is drawn again and again
def skeleton_of(raw: Prefix) -> tuple[Prefix | None, str]:
    """The skeleton of a raw tree, or None and the reason why it is refused."""
    leaves = [token for token in raw if token not in ARITY]
    # Numbers come from a C, a variable that meets itself, or (exp u)² = exp(2u): most trees end here.
    meets = CONSTANT in leaves or len(set(leaves)) < len(leaves)
    if not (meets or "exp" in raw and ("sq" in raw or "sqrt" in raw)):
        return None, "one constant"
    try:
        first = to_skeleton(raw)
        if levels(first) > MAX_LEVELS:
            return None, "levels"
        if first.count(CONSTANT) != N_CONSTANTS:  # other names for the variables would not change it
            return None, "one constant"
        skeleton = to_skeleton(renumbered(first))
    except Refused as error:
        return None, "exponents" if "exponent" in str(error) or "roots" in str(error) else str(error)
    return next(((None, name) for name, passes in FILTERS.items() if not passes(skeleton)), (skeleton, ""))


def skeleton_stream(seed: int) -> Iterator[Prefix]:
    """Accepted draws for ever, repetitions included."""
    for index in itertools.count():
        for raw in skeleton_draws(CHUNK, np.random.default_rng([seed, index])):
            skeleton, _ = skeleton_of(raw)
            if skeleton is not None:
                yield skeleton


# ---------------------------------------------------------------------------------------------------------------------- tables


@dataclass(frozen=True)
class Tables:
    """Tables of some skeletons: which skeleton, its constant, its points (x1 … x6, y) in float64."""

    skeletons: tuple[Prefix, ...]
    skeleton: np.ndarray  # (N,) index
    constants: np.ndarray  # (N,)
    points: np.ndarray  # (N, P, 7)


def tables_of(
    skeleton: Prefix, rng: np.random.Generator, n: int, n_points: int = N_POINTS
) -> tuple[np.ndarray, np.ndarray]:
    """Up to n tables of a skeleton, from at most 4n draws: constants (T,) and points (T, P, 7), y last,
    absent variables zero.

    C ~ U(−100, 100) with two decimals, x ~ log-uniform(0.1, 10).  A draw with |y| > 10⁹ anywhere, fewer than
    P defined values among the points tried, or a constant y is dropped.
    """
    used = [VARIABLES.index(v) for v in variables(skeleton)]
    # C is a column, so that all draws are one evaluation.
    program = tuple("x7" if token == CONSTANT else token for token in skeleton)
    constants, points = [], []
    for _ in range(4):
        c = np.round(rng.uniform(-100, 100, n), 2)
        X = np.zeros((n, TRIED_POINTS, 7))
        X[:, :, used] = 10 ** rng.uniform(-1, 1, (n, TRIED_POINTS, len(used)))
        X[:, :, 6] = c[:, None]
        y = evaluate(program, X.reshape(-1, 7)).reshape(n, TRIED_POINTS)
        for i in range(n):
            good = np.flatnonzero(np.isfinite(y[i]))[:n_points]
            usable = len(good) == n_points and np.nanmax(np.abs(y[i])) <= LARGEST and np.ptp(y[i, good]) > 0
            if usable and len(points) < n:
                constants.append(c[i])
                points.append(np.column_stack([X[i, good, :6], y[i, good]]))
        if len(points) == n:
            break
    return np.array(constants), np.array(points).reshape(-1, n_points, 7)


def make_tables(
    stream: Iterator[Prefix], n: int, per_skeleton: int, seed: int, n_points: int = N_POINTS
) -> Tables:
    """The first n tables of the skeletons of a stream, `per_skeleton` of each; a skeleton without enough of
    them is left out."""
    skeletons, parts = [], []
    for number, skeleton in enumerate(stream):
        if len(skeletons) * per_skeleton >= n:
            break
        found = tables_of(skeleton, np.random.default_rng([seed, number, 1]), per_skeleton, n_points)
        if len(found[0]) == per_skeleton:
            skeletons.append(skeleton)
            parts.append(found)
    index = np.repeat(np.arange(len(skeletons)), per_skeleton)[:n]
    constants, points = (np.concatenate(part)[:n] for part in zip(*parts))
    return Tables(tuple(skeletons), index, constants, points)


@dataclass(frozen=True)
class FixedSet:
    """A training set shown in epochs, each in an order of its own: `pool(number, size)` is a slice of the
    endless row of epochs."""

    tables: Tables
    seed: int

    def pool(self, number: int, size: int) -> tuple[list[Prefix], np.ndarray]:
        n, chosen = len(self.tables.skeleton), []
        at, end = number * size, (number + 1) * size
        while at < end:
            order = np.random.default_rng([self.seed, at // n, 2]).permutation(n)
            part = order[at % n : at % n + end - at]
            chosen.append(part)
            at += len(part)
        rows = np.concatenate(chosen)
        prefixes = [self.tables.skeletons[i] for i in self.tables.skeleton[rows]]
        return prefixes, self.tables.points[rows]


def training_set(items: int, per_skeleton: int, seed: int = 0) -> FixedSet:
    """The training set of a recipe: `items` tables of the first items / per_skeleton distinct skeletons.

    >>> len(training_set(12, 4).tables.skeletons)
    3
    """
    tables = make_tables(distinct(skeleton_stream(seed)), items, per_skeleton, seed)
    return FixedSet(replace(tables, points=tables.points.astype(np.float32)), seed)
