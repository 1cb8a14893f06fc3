"""The orders in which the terms of sums may be written. A sum keeps its layout: positive terms first, then the
negative ones."""

from itertools import permutations, product

import numpy as np

from nsr.formulas.expressions import Prefix, fold, written_sum

Terms = tuple[Prefix, ...]


def reordered(prefix: Prefix, rng: np.random.Generator) -> Prefix:
    """The same expression with the terms of each of its sums in a random order.

    >>> sorted({" ".join(reordered(("add", "x1", "sin", "x2"), np.random.default_rng(i))) for i in range(9)})
    ['add sin x2 x1', 'add x1 sin x2']
    """

    def written(terms: tuple[Terms, Terms]) -> Prefix:
        return written_sum(*([part[i] for i in rng.permutation(len(part))] for part in terms))

    def visit(token: str, i: int, *args: tuple[Terms, Terms]) -> tuple[Terms, Terms]:
        return _joined(token, *args) or (((token, *(t for arg in args for t in written(arg))),), ())

    return written(fold(prefix, visit))


def orders(prefix: Prefix) -> set[Prefix]:
    """All that `reordered` may write.

    >>> sorted(" ".join(one) for one in orders(("sin", "add", "x1", "x2")))
    ['sin add x1 x2', 'sin add x2 x1']
    """

    def written(sums: list[tuple[Terms, Terms]]) -> set[Prefix]:
        pairs = (pair for plus, minus in sums for pair in product(permutations(plus), permutations(minus)))
        return {written_sum(*map(list, pair)) for pair in pairs}

    def visit(token: str, i: int, *args: list[tuple[Terms, Terms]]) -> list[tuple[Terms, Terms]]:
        if token in ("add", "sub"):
            return [_joined(token, *pair) for pair in product(*args)]
        return [
            (((token, *(t for part in parts for t in part)),), ()) for parts in product(*map(written, args))
        ]

    return written(fold(prefix, visit))


def _joined(token: str, *args: tuple[Terms, Terms]) -> tuple[Terms, Terms] | None:
    """The positive and the negative terms of a sum or a difference of two sums; None of another operator."""
    if token not in ("add", "sub"):
        return None
    (plus, minus), (more, less) = args
    return (plus + more, minus + less) if token == "add" else (plus + less, minus + more)
