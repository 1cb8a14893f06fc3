"""Distance between two formulas: the fewest tokens to insert, delete or replace on the way from one to the other."""

from collections.abc import Iterable

from nsr.formulas.expressions import Prefix


def changes(a: Prefix, b: Prefix) -> int:
    """How many tokens have to be inserted, deleted or replaced to turn one prefix into the other (Levenshtein).

    >>> changes(("add", "x1", "x2"), ("sub", "x1", "sin", "x2"))
    2
    """
    row = list(range(len(b) + 1))
    for i, token in enumerate(a, start=1):
        above, row = row, [i]
        for j, other in enumerate(b, start=1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (token != other)))
    return row[-1]


def nearest(wanted: Prefix, known: Iterable[Prefix]) -> tuple[int, Prefix]:
    """How many changes away the nearest of some formulas is, and which it is; of equally near ones the first of
    the alphabet.

    >>> nearest(("sin", "x1"), [("cos", "x2"), ("sin", "x2"), ("cos", "x1")])
    (1, ('cos', 'x1'))
    """
    return min((changes(wanted, formula), formula) for formula in known)
