"""Which variables of a function can change places? Decided by its values."""

import itertools
from functools import lru_cache

import numpy as np

from nsr.formulas.expressions import CONSTANT, VARIABLES, Prefix, Token, variables
from nsr.numbers import random_streams
from nsr.numbers.evaluation import evaluate

# Points at which f is defined are looked for here.
_RANGES = ((-1.0, 1.0), (0.0, 1.0), (1.0, 4.0), (-10.0, 10.0), (4.0, 40.0))
_UNIT = np.random.default_rng(random_streams.SYMMETRY_POINTS).random((48, len(VARIABLES)))
_GENERIC = np.random.default_rng(random_streams.SYMMETRY_CONSTANTS).uniform(0.5, 2.0, 100)
_ENOUGH = 8  # points at which both values are finite


def symmetries(prefix: Prefix, constants: tuple[float, ...] = ()) -> dict[tuple[Token, Token], bool]:
    """For each pair of variables that occur, whether f is unchanged when they change places.

    A truthful user knows the function, so its constants count: C·x1 + x2 is symmetric only if C = 1. Without
    `constants` every C has a generic value of its own; for constants drawn from a continuous distribution
    that is the same answer.

    >>> symmetries(("add", "x1", "sin", "add", "x2", "x3"))
    {('x1', 'x2'): False, ('x1', 'x3'): False, ('x2', 'x3'): True}
    """
    values = tuple(constants) or tuple(_GENERIC[: prefix.count(CONSTANT)].tolist())
    return dict(_decided(tuple(prefix), values))


@lru_cache(maxsize=65536)
def _decided(prefix: Prefix, constants: tuple[float, ...]) -> tuple[tuple[tuple[Token, Token], bool], ...]:
    """Pair by pair in the first range where f is defined often enough; a pair without one is left out."""
    found = []
    for pair in itertools.combinations(variables(prefix), 2):
        a, b = (VARIABLES.index(v) for v in pair)
        for low, high in _RANGES:
            # (2P, D): the second half with two columns exchanged.
            X = np.tile(low + (high - low) * _UNIT, (2, 1))
            X[len(_UNIT) :, [a, b]] = X[: len(_UNIT), [b, a]]
            y, swapped = np.split(evaluate(prefix, X, constants), 2)
            both = np.isfinite(y) & np.isfinite(swapped)
            if both.sum() >= _ENOUGH:
                found.append((pair, _mostly_equal(y[both], swapped[both])))
                break
    return tuple(found)


def _mostly_equal(y: np.ndarray, z: np.ndarray) -> bool:
    """Whether the majority agrees within 10⁻⁷: rounding spoils some points (sin of a huge number), and at
    others it hides a difference (x1 next to exp exp exp x3)."""
    return bool((np.abs(y - z) <= 1e-7 * np.maximum(np.abs(y), np.abs(z))).mean() > 0.5)
