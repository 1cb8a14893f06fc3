"""Units: data of any size brought into the range that the networks were trained on, and formulas brought back
into the user's units.

    z_j = (x_j − shift_j) / scale_j,   t = (y − shift_y) / scale_y          t = f(z)   ⇔   y = shift_y + scale_y · f((x − shift) / scale)

A column that lies in the training range is left alone. One that is too large or too small is divided by a
power of ten: products stay products. Only one whose spread is small beside its size (years, say) is also
shifted. R² is the same in both units.

Bringing a formula back is an algebra of its own because it leaves the formula as it was found: the numbers a
and b of each piece a·tree + b change, while a simplification (nsr.numbers.simplification) sorts all terms anew.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nsr.data.problems import HALF_MAX, Problem
from nsr.formulas.expressions import (
    CONSTANT,
    EXPONENT,
    VARIABLES,
    Constants,
    Prefix,
    Valued,
    children,
    constants_at,
    fold,
    join,
    number,
)
from nsr.formulas.notation import check_constants
from nsr.numbers.evaluation import function_at

X_RANGE, X_WIDTH = 10.0, 0.5  # training supports lie in ±10 and are at least 1 wide
Y_RANGE, Y_WIDTH = HALF_MAX, 0.1  # y of any size was seen in training, up to what 16 bits hold
NARROW = 0.25  # a spread below this share of the largest value calls for a shift


def unit(values: np.ndarray, limit: float = X_RANGE, width: float = X_WIDTH) -> tuple[float, float]:
    """Shift and scale for one column.

    >>> unit(np.array([1.0, 5.0])), unit(np.array([10.0, 340.0])), unit(np.array([1990.0, 2000.0, 2010.0]))
    ((0.0, 1.0), (0.0, 100.0), (2000.0, 8.2))
    """
    largest, spread = float(np.abs(values).max()), float(np.ptp(values))
    # An offset that no constant of the training recipe reaches calls for a shift.
    narrow = largest > X_RANGE and spread < NARROW * largest
    if largest <= limit and (spread >= width or spread == 0.0) and not narrow:
        return 0.0, 1.0
    if spread >= NARROW * largest:
        return 0.0, float(f"1e{math.ceil(math.log10(largest / 10))}")
    size = largest if largest > 1e150 else 1.0  # sums of squares have to be finite
    deviation, mean = float((values / size).std()) * size, float((values / size).mean()) * size
    scale = float(f"{deviation:.1e}") if deviation > 0 else 1.0
    digits = max(1, math.ceil(math.log10(largest / scale)) + 1)
    return float(f"{mean:.{digits}g}"), scale  # short numbers make short formulas


@dataclass(frozen=True)
class Units:
    """Shift and scale of every column of X and of y."""

    shift: tuple[float, ...]
    scale: tuple[float, ...]
    y_shift: float = 0.0
    y_scale: float = 1.0

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray) -> Units:
        """Units in which X (P, D) and y (P,) look like training data."""
        columns = zip(*(unit(column) for column in np.asarray(X, float).T))
        return cls(*columns, *unit(np.asarray(y, float), Y_RANGE, Y_WIDTH))

    @classmethod
    def same(cls, n_columns: int) -> Units:
        """The units that the data have; `back` then only tidies the signs of constants up.

        >>> Units.same(1).back(("sub", "x1", "C"), (-2.0,))
        (('add', 'x1', 'C'), (2.0,))
        """
        return cls((0.0,) * n_columns, (1.0,) * n_columns)

    @property
    def trivial(self) -> bool:
        """Whether nothing changes."""
        return not any((*self.shift, self.y_shift)) and {*self.scale, self.y_scale} == {1.0}

    def x(self, X: np.ndarray) -> np.ndarray:
        """(P, D) → (P, D) in these units."""
        return (np.asarray(X, float) - np.array(self.shift)) / np.array(self.scale)

    def y(self, y: np.ndarray) -> np.ndarray:
        return (np.asarray(y, float) - self.y_shift) / self.y_scale

    def problem(self, problem: Problem) -> Problem:
        """The same problem in these units; a truth is not carried over, it would have other constants."""
        if self.trivial:
            return problem
        there, same = problem.X_fresh is not None, {"floor": problem.floor, "weights": problem.weights}
        fresh = {"X_fresh": self.x(problem.X_fresh), "y_fresh": self.y(problem.y_fresh)} if there else {}
        return Problem(self.x(problem.X), self.y(problem.y), problem.name, **fresh, **same)

    def back(self, prefix: Prefix, constants: Constants) -> Valued:
        """A formula t = f(z) as y = g(x) in the user's units, with constants joined wherever they meet.

        >>> Units((0.0,), (2.0,), 0.0, 4.0).back(("mul", "C", "pow2", "x1"), (3.0,))
        (('mul', 'C', 'pow2', 'x1'), (3.0,))
        """
        at = dict(zip(constants_at(prefix), check_constants(prefix, constants)))

        def visit(token: str, i: int, *args: _Piece) -> _Piece:
            if token == CONSTANT:
                return _Piece(0.0, at[i], None)
            if not args:
                d = VARIABLES.index(token)
                return _Piece(1 / self.scale[d], -self.shift[d] / self.scale[d], ((token,), ()))
            piece = _apply(token, *args)
            # A fitted factor may be 0, or vanish in these units.
            return piece if piece.a else _Piece(0.0, piece.b, None)

        inner = fold(prefix, visit)
        return _written(_Piece(self.y_scale * inner.a, self.y_shift + self.y_scale * inner.b, inner.tree))


class _Piece(NamedTuple):
    """a·tree + b; without a tree the number b."""

    a: float
    b: float
    tree: Valued | None


def _times(a: float, tree: Valued) -> Valued:
    """a·tree, the number joined with one that is there already, or taken into a sum where that makes it no
    longer."""
    if a == 1:
        return tree
    prefix, constants = tree
    if prefix[:2] in (("mul", CONSTANT), ("div", CONSTANT)):
        return prefix, (a * constants[0], *constants[1:])
    if prefix[0] in ("add", "sub", "div"):
        left, right = children(prefix)
        K = left.count(CONSTANT)
        first = _times(a, (left, constants[:K]))
        if prefix[0] == "div":
            return join("div", first, (right, constants[K:]))
        whole = join(prefix[0], first, _times(a, (right, constants[K:])))
        if a > 0 and len(whole[0]) <= len(prefix) + 2:
            return whole
    return join("mul", number(a), tree)


def _written(piece: _Piece) -> Valued:
    """a·tree + b as an expression, with minus signs where a person would put them."""
    a, b, tree = piece
    if tree is None:
        return number(b)
    if b == 0:
        return _times(a, tree)
    if a < 0 < b:
        return join("sub", number(b), _times(-a, tree))
    body = _times(a, tree)
    if b > 0 and body[0][0] == "add":
        return join("add", number(b), body)  # sums nest to the right
    return join("sub" if b < 0 else "add", body, number(abs(b)))


def _factor(piece: _Piece) -> tuple[float, Valued]:
    """a·tree + b as a·(tree + b/a): the number before it and what is left."""
    if piece.tree is None:
        return 1.0, number(piece.b)
    return piece.a, _written(_Piece(1.0, piece.b / piece.a, piece.tree))


def _apply(token: str, p: _Piece, q: _Piece | None = None) -> _Piece:
    """An operator on pieces."""
    if token in ("add", "sub"):
        return _sum(p, q if token == "add" else _Piece(-q.a, -q.b, q.tree))
    if token == "mul":
        if p.tree is None or q.tree is None:
            factor, other = (p.b, q) if p.tree is None else (q.b, p)
            return _Piece(factor * other.a, factor * other.b, other.tree)
        (a, left), (b, right) = _factor(p), _factor(q)
        return _Piece(a * b, 0.0, join("mul", left, right))
    if token == "inv":
        token, p, q = "div", _Piece(0.0, 1.0, None), p
    if token == "div":
        if q.tree is None:
            return _Piece(p.a / q.b, p.b / q.b, p.tree) if q.b else _Piece(math.nan, math.nan, p.tree)
        b, below = _factor(q)
        if p.tree is None:
            return _Piece(1.0, 0.0, join("div", number(p.b / b), below))
        a, above = _factor(p)
        return _Piece(a / b, 0.0, join("div", above, below))
    if token == "neg":
        return _Piece(-p.a, -p.b, p.tree)
    if p.tree is None:
        return _Piece(0.0, function_at(token, p.b), None)
    if token in EXPONENT and p.b == 0:
        raised = math.prod([p.a] * EXPONENT[token])  # beyond the largest number: inf, where ** raises
        return _Piece(raised, 0.0, join(token, p.tree))
    if token == "sqrt" and p.b == 0 and p.a > 0:
        return _Piece(math.sqrt(p.a), 0.0, join(token, p.tree))
    if token == "exp" and abs(p.b) < 300:  # exp(a·u + b) = exp(b)·exp(a·u)
        return _Piece(math.exp(p.b), 0.0, join(token, _times(p.a, p.tree)))
    if token in ("sin", "cos") and abs(p.b) > 2 * math.pi:
        p = p._replace(b=math.remainder(p.b, 2 * math.pi))
    return _Piece(1.0, 0.0, join(token, _written(p)))


def _sum(p: _Piece, q: _Piece) -> _Piece:
    b = p.b + q.b
    if p.tree is None or q.tree is None:
        return _Piece(p.a + q.a, b, p.tree or q.tree)  # the a of a number is 0
    if p.tree == q.tree:
        return _Piece(p.a + q.a, b, p.tree) if p.a + q.a else _Piece(0.0, b, None)
    if abs(p.a) == abs(q.a):
        first, second = (p, q) if p.a > 0 or q.a < 0 else (q, p)
        return _Piece(first.a, b, join("add" if p.a == q.a else "sub", first.tree, second.tree))
    if p.a < 0 and q.a < 0:
        return _Piece(-1.0, b, join("add", _times(-p.a, p.tree), _times(-q.a, q.tree)))
    first, second = (p, q) if p.a > 0 else (q, p)
    terms = _times(first.a, first.tree), _times(abs(second.a), second.tree)
    return _Piece(1.0, b, join("sub" if second.a < 0 else "add", *terms))
