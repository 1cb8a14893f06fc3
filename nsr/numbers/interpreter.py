"""The compiled stack machine: values and exact derivatives of prefix expressions, at many points at once.

A prefix expression becomes a *program*, an array of integers in the same order. Read from right to left it is
postfix code for a stack machine: a leaf pushes a row of values, an operator replaces its operands by its
result. Each row holds all points, so the inner loops run over points and the compiler can use the vector
units.

Letters: P points, D variables, L tokens, K constants, S stack rows.
"""

import math

import numpy as np
from numba import njit

from nsr.formulas.expressions import BINARY, CONSTANT, UNARY, VARIABLES, ExpressionError, Prefix, check
from nsr.numbers.compiling import COMPILE
from nsr.numbers.vector_math import exp_row, sin_row, sin_row_slope, tan_row

# C is 0 and x_d is d, so a program shows its variables at a glance; operators follow, binary ones first.
OPCODES: dict[str, int] = {token: code for code, token in enumerate((CONSTANT, *VARIABLES, *BINARY, *UNARY))}
N_LEAVES = OPCODES[BINARY[0]]  # opcodes below are leaves
N_BINARY = OPCODES[UNARY[0]]  # opcodes from N_LEAVES up to here take two operands
ADD, SUB, MUL, DIV = (OPCODES[name] for name in ("add", "sub", "mul", "div"))
SQRT, LOG, EXP, SIN, COS, TAN, ASIN = (OPCODES[f] for f in "sqrt log exp sin cos tan asin".split())
POW2, POW3, POW4, POW5, NEG, INV, SQ, CB = (OPCODES[f] for f in "pow2 pow3 pow4 pow5 neg inv sq cb".split())


def compile_program(prefix: Prefix) -> np.ndarray:
    """Translate a prefix expression into opcodes, in the same order: (L,) int64.

    >>> compile_program(("add", "x1", "mul", "C", "x2")).tolist()
    [11, 1, 13, 0, 2]
    """
    check(prefix)
    return np.array([OPCODES[token] for token in prefix], dtype=np.int64)


@njit(**COMPILE)
def stack_size(program: np.ndarray) -> int:
    """Number of stack rows that `run` needs for a program."""
    top, most = 0, 0
    for i in range(program.size - 1, -1, -1):
        if program[i] < N_LEAVES:
            top += 1
        elif program[i] < N_BINARY:
            top -= 1
        most = max(most, top)
    return most


@njit(**COMPILE)
def run(program: np.ndarray, constants: np.ndarray, X: np.ndarray, stack: np.ndarray) -> None:
    """Evaluate a program at all points; the values are left in stack[0].

    program (L,) int64, constants (K,) float64 in prefix order, X (D, P) float64, stack (S, P) float64
    scratch; all C-contiguous. Never raises: undefined values are nan or inf. May be called from other
    compiled functions.
    """
    P = X.shape[1]
    k = 0
    for i in range(program.size):
        k += program[i] == 0
    top = np.int64(-1)  # a plain -1 is a type of its own to numba, for which all below would be compiled too
    for i in range(program.size - 1, -1, -1):
        op = program[i]
        if op < N_LEAVES:
            top += 1
            if op == 0:  # right to left, the last constant comes first
                k -= 1
                c = constants[k]
                for p in range(P):
                    stack[top, p] = c
            else:
                for p in range(P):
                    stack[top, p] = X[op - 1, p]
        elif op < N_BINARY:
            top -= 1
            apply_binary(op, stack, top)
        else:
            apply_unary(op, stack, top)


@njit(**COMPILE)
def apply_binary(op: int, stack: np.ndarray, t: int) -> None:
    """Replace row t by row t+1 (the left operand) combined with row t (the right one)."""
    P = stack.shape[1]
    if op == ADD:
        for p in range(P):
            stack[t, p] = stack[t + 1, p] + stack[t, p]
    elif op == SUB:
        for p in range(P):
            stack[t, p] = stack[t + 1, p] - stack[t, p]
    elif op == MUL:
        for p in range(P):
            stack[t, p] = stack[t + 1, p] * stack[t, p]
    else:
        for p in range(P):
            stack[t, p] = stack[t + 1, p] / stack[t, p]


@njit(**COMPILE)
def apply_unary(op: int, stack: np.ndarray, t: int) -> None:
    """Replace the values u in row t by f(u)."""
    P = stack.shape[1]
    if op == SIN or op == COS:
        sin_row(stack, t, int(op == COS))
    elif op == TAN:
        tan_row(stack, t)
    elif op == EXP:
        exp_row(stack, t)
    elif op == LOG:
        for p in range(P):
            stack[t, p] = math.log(stack[t, p])
    elif op == SQRT:
        for p in range(P):
            stack[t, p] = math.sqrt(stack[t, p])
    elif op == ASIN:
        for p in range(P):
            stack[t, p] = math.asin(stack[t, p])
    elif op == NEG:
        for p in range(P):
            stack[t, p] = -stack[t, p]
    elif op == INV:
        for p in range(P):
            stack[t, p] = 1.0 / stack[t, p]
    elif op == POW2 or op == SQ:
        for p in range(P):
            stack[t, p] = stack[t, p] * stack[t, p]
    elif op == POW3 or op == CB:
        for p in range(P):
            stack[t, p] = stack[t, p] * stack[t, p] * stack[t, p]
    elif op == POW4:
        for p in range(P):
            square = stack[t, p] * stack[t, p]
            stack[t, p] = square * square
    elif op == POW5:
        for p in range(P):
            square = stack[t, p] * stack[t, p]
            stack[t, p] = square * square * stack[t, p]


@njit(**COMPILE)
def apply_unary_slope(op: int, stack: np.ndarray, t: int, s: int) -> None:
    """Replace the values u in row t by f(u), and leave f'(u) in row s."""
    if op == SIN or op == COS:
        sin_row_slope(stack, t, s, int(op == COS))
        return
    P = stack.shape[1]
    for p in range(P):
        stack[s, p] = stack[t, p]
    apply_unary(op, stack, t)
    if op == EXP:
        for p in range(P):
            stack[s, p] = stack[t, p]
    elif op == TAN:
        for p in range(P):
            stack[s, p] = 1.0 + stack[t, p] * stack[t, p]
    elif op == LOG:
        for p in range(P):
            stack[s, p] = 1.0 / stack[s, p]
    elif op == SQRT:
        for p in range(P):
            stack[s, p] = 0.5 / stack[t, p]
    elif op == ASIN:
        for p in range(P):
            stack[s, p] = 1.0 / math.sqrt(1.0 - stack[s, p] * stack[s, p])
    elif op == NEG:
        for p in range(P):
            stack[s, p] = -1.0
    elif op == INV:
        for p in range(P):
            stack[s, p] = -stack[t, p] * stack[t, p]
    elif op == POW2 or op == SQ:
        for p in range(P):
            stack[s, p] = 2.0 * stack[s, p]
    elif op == POW3 or op == CB:
        for p in range(P):
            stack[s, p] = 3.0 * stack[s, p] * stack[s, p]
    elif op == POW4:
        for p in range(P):
            stack[s, p] = 4.0 * stack[s, p] * stack[s, p] * stack[s, p]
    elif op == POW5:
        for p in range(P):
            stack[s, p] = 5.0 * stack[s, p] * stack[s, p] * stack[s, p] * stack[s, p]


@njit(**COMPILE)
def run_tangents(program, constants, wanted, X, stack, tangents) -> None:
    """Evaluate a program as `run` does, and its derivatives with respect to the wanted constants (K,) bool,
    into tangents (K, P).

    A constant stands in exactly one entry of the stack at any time, so one row per constant is enough: ∂/∂c
    starts as 1 where c is pushed, and each operator above it multiplies the row by its own partial
    derivative. Neighbouring constants stand together: entry t holds the constants first[t] … first[t-1] - 1.
    The last row of `stack` is scratch: it needs stack_size + 1 rows.
    """
    P, slope = X.shape[1], stack.shape[0] - 1
    first = np.empty(stack.shape[0], np.int64)
    k = constants.size
    first[slope] = k  # that is first[-1], the end of the range of entry 0
    top = np.int64(-1)  # a plain -1 is a type of its own to numba, for which all below would be compiled too
    for i in range(program.size - 1, -1, -1):
        op = program[i]
        if op < N_LEAVES:
            top += 1
            if op == 0:
                k -= 1
                c = constants[k]
                for p in range(P):
                    stack[top, p] = c
                if wanted[k]:
                    for p in range(P):
                        tangents[k, p] = 1.0
            else:
                for p in range(P):
                    stack[top, p] = X[op - 1, p]
            first[top] = k
        elif op < N_BINARY:
            begin, middle, end = first[top], first[top - 1], first[top - 2]
            top -= 1
            first[top] = begin
            if op == SUB and any_of(wanted, middle, end):
                for p in range(P):
                    stack[slope, p] = -1.0
                multiply_rows(tangents, wanted, middle, end, stack, slope)
            elif op == MUL:
                multiply_rows(tangents, wanted, begin, middle, stack, top)
                multiply_rows(tangents, wanted, middle, end, stack, top + 1)
            elif op == DIV and any_of(wanted, begin, end):  # d(l/r) = dl/r - l/r · dr/r
                for p in range(P):
                    stack[slope, p] = 1.0 / stack[top, p]
                multiply_rows(tangents, wanted, begin, end, stack, slope)
                for p in range(P):
                    stack[slope, p] = -stack[top + 1, p] / stack[top, p]
                multiply_rows(tangents, wanted, middle, end, stack, slope)
            apply_binary(op, stack, top)
        else:
            begin, end = first[top], first[top - 1]
            if any_of(wanted, begin, end):
                apply_unary_slope(op, stack, top, slope)
                multiply_rows(tangents, wanted, begin, end, stack, slope)
            else:
                apply_unary(op, stack, top)


@njit(**COMPILE)
def any_of(wanted: np.ndarray, begin: int, end: int) -> bool:
    """Whether a constant from begin to end is wanted."""
    found = False
    for k in range(begin, end):
        found |= wanted[k]
    return found


@njit(**COMPILE)
def multiply_rows(
    tangents: np.ndarray, wanted: np.ndarray, begin: int, end: int, stack: np.ndarray, t: int
) -> None:
    """Multiply the wanted tangents from begin to end by row t of the stack."""
    for k in range(begin, end):
        if wanted[k]:
            for p in range(stack.shape[1]):
                tangents[k, p] *= stack[t, p]


def as_columns(X: np.ndarray) -> np.ndarray:
    """Points as the machine wants them: (P, D) of any numeric type to (D, P) contiguous float64, always a
    copy of its own.

    A read-only view would be another type to numba, and another compilation.
    """
    X = np.asarray(X, dtype=np.float64)
    return np.array(X[:, None].T if X.ndim == 1 else X.T, order="C")


def prepare_program(prefix: Prefix, n_variables: int) -> tuple[np.ndarray, int]:
    """The program of an expression and its number of constants K; the machine itself does not look whether a
    column exists."""
    program = compile_program(prefix)
    used = program[program < N_LEAVES].max()
    if used > n_variables:
        raise ExpressionError(f"the expression uses x{used}, but the points have {n_variables} columns")
    return program, len(program) - np.count_nonzero(program)
