"""Evaluation: the values of an expression at points, its derivatives, and the score of a prediction.

The machine that computes is in interpreter.py. Letters: P points, D variables, K constants, S stack rows.
"""

import math
from collections.abc import Sequence

import numpy as np

from nsr.formulas.expressions import CONSTANT, ExpressionError, Prefix, Token, Valued, apart
from nsr.numbers.fitting import score
from nsr.numbers.interpreter import as_columns, prepare_program, run, run_tangents, stack_size
from nsr.numbers.weighting import weighted_score

BLOCK = 2**16  # rows are computed so many at a time: the stack stays small, however long a table is


def evaluate(prefix: Prefix | Valued, X: np.ndarray, constants: Sequence[float] = ()) -> np.ndarray:
    """Values of an expression at the points X (P, D): (P,) float64, nan or inf where it is undefined.

    >>> evaluate(("add", "C", "pow2", "x1"), np.array([[1.0], [2.0]]), (0.5,))
    array([1.5, 4.5])
    """
    prefix, constants = apart(prefix, constants)
    if len(X) > BLOCK:
        values = np.empty(len(X))
        for rows in blocks(len(X)):
            values[rows] = evaluate(prefix, X[rows], constants)
        return values
    program, columns, constants = _prepare(prefix, X, constants)
    stack = np.empty((stack_size(program), columns.shape[1]))  # (S, P)
    run(program, constants, columns, stack)
    return stack[0].copy()


def blocks(P: int) -> list[slice]:
    """P rows in pieces of at most BLOCK.

    >>> blocks(BLOCK + 1)
    [slice(0, 65536, None), slice(65536, 65537, None)]
    """
    return [slice(begin, min(begin + BLOCK, P)) for begin in range(0, P, BLOCK)]


def function_at(token: Token, value: float) -> float:
    """A function at one number.

    >>> function_at("pow2", 3.0)
    9.0
    """
    return float(evaluate((token, CONSTANT), np.zeros((1, 1)), (value,))[0])


def gradient(prefix: Prefix, X: np.ndarray, constants: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Values (P,) of an expression and its exact derivatives with respect to its constants, the Jacobian (P,
    K).

    >>> value, jacobian = gradient(("mul", "C", "exp", "mul", "C", "x1"), np.array([[0.0], [1.0]]), (3.0, 0.0))
    >>> jacobian.tolist()
    [[1.0, 0.0], [1.0, 3.0]]
    """
    program, columns, constants = _prepare(prefix, X, constants)
    stack = np.empty((stack_size(program) + 1, columns.shape[1]))  # (S + 1, P)
    tangents = np.empty((len(constants), columns.shape[1]))  # (K, P)
    run_tangents(program, constants, np.ones(len(constants), np.bool_), columns, stack, tangents)
    return stack[0].copy(), tangents.T.copy()


def r2_score(y: np.ndarray, y_hat: np.ndarray, weights: np.ndarray | None = None) -> float:
    """R² = 1 - Σ(y - ŷ)² / Σ(y - ȳ)², safe for values of any size; -inf if a prediction is not finite. With
    weights (P,), both sums and the mean have them.

    A constant y has no variance to explain: 1 for a prediction that is equal up to rounding, else -inf.

    >>> r2_score(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))
    0.5
    """
    # copies: a view that is read-only or has gaps would be another type to numba, and another compilation
    y, y_hat = np.array(y, np.float64).reshape(-1), np.array(y_hat, np.float64).reshape(-1)
    if y.size == 0 or not (np.isfinite(y).all() and np.isfinite(y_hat).all()):
        return -math.inf
    return score(y, y_hat) if weights is None else weighted_score(y, y_hat, weights)


def _prepare(
    prefix: Prefix, X: np.ndarray, constants: Sequence[float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Program, columns and constants as the machine wants them."""
    columns, constants = as_columns(X), np.array(constants, dtype=np.float64).reshape(-1)
    program, K = prepare_program(prefix, len(columns))
    if len(constants) != K:
        raise ExpressionError(f"the expression has {K} constants, but {len(constants)} were given")
    return program, columns, constants
