"""Least squares for one expression: Levenberg–Marquardt in which the linear constants are never searched.

In C0 + C1·sin(C2·x1 + C3) the value is affine in C0 and C1: given C2 and C3 they follow from linear least
squares. `project` does that, and `descend` moves only the rest (variable projection: Golub and Pereyra 1973,
with Kaufman's shorter Jacobian).

Letters: P points, D variables, K constants, M linear and N non-linear ones (K = M + N). Everything here is
compiled.
"""

import math
from collections import namedtuple

import numpy as np
from numba import njit

from nsr.numbers.compiling import COMPILE
from nsr.numbers.interpreter import run, run_tangents, stack_size

# loss of one point without a finite value: worse than any fit, and fewer such points are better
UNDEFINED = 1e100
ITERATIONS = 50  # at most, in one descent

# What is fitted: program (L,), X (D, P), y (P,), which constants are solved for and which are searched (K,)
# bool, how residuals are measured (see `load_residuals`).
Task = namedtuple("Task", "program X y linear nonlinear unit middle typical")
# Scratch of one task: values (S + 1, P), ∂f/∂c (K, P), an orthonormal basis of the linear columns (K, P) with
# its triangle (K, K) and shares (K,), residuals (1, P), the projected Jacobian (K, P), normal matrix and its
# factor (K, K), gradient, step and trial (K,), and the evaluations spent (1,) (see `fitting.Fit`).
Work = namedtuple(
    "Work", "stack tangents basis triangle shares residuals jacobian normal factor gradient step trial spent"
)


@njit(**COMPILE)
def new_task(program, X, y, linear, unit, middle, typical):
    """A task and its scratch."""
    K, P = linear.size, y.size
    stack, tangents = np.empty((stack_size(program) + 1, P)), np.empty((K, P))
    basis, triangle, shares = np.empty((K, P)), np.empty((K, K)), np.empty(K)
    residuals, jacobian = np.empty((1, P)), np.empty((K, P))
    normal, factor = np.empty((K, K)), np.empty((K, K))
    searched = jacobian, normal, factor, np.empty(K), np.empty(K), np.empty(K), np.zeros(1)
    work = Work(stack, tangents, basis, triangle, shares, residuals, *searched)
    return Task(program, X, y, linear, ~linear, unit, middle, typical), work


@njit(**COMPILE)
def count(flags: np.ndarray) -> int:
    """How many of the flags (K,) are set."""
    n = 0
    for k in range(flags.size):
        n += flags[k]
    return n


@njit(**COMPILE)
def copy(source: np.ndarray, target: np.ndarray) -> None:
    """target ← source. (target[:] = source takes two seconds more to compile: it can say which shapes differ.)"""
    for k in range(target.size):
        target[k] = source[k]


# Sums may be taken in any order (only that is relaxed; nan and inf still arrive), which makes them four times
# faster.
@njit(**COMPILE | {"fastmath": {"reassoc"}})
def dot(A: np.ndarray, i: int, B: np.ndarray, j: int) -> float:
    """Σ_p A[i, p]·B[j, p]."""
    total = 0.0
    for p in range(A.shape[1]):
        total += A[i, p] * B[j, p]
    return total


@njit(**COMPILE)
def subtract(A: np.ndarray, i: int, factor: float, B: np.ndarray, j: int) -> None:
    """Row i of A ← row i of A - factor · row j of B."""
    for p in range(A.shape[1]):
        A[i, p] -= factor * B[j, p]


@njit(**COMPILE)
def chord(v: float, u: float) -> float:
    """Signed distance of v and u on the circle into which the number line closes at infinity: (v - u) / √((1
    + v²)(1 + u²)).

    For v = tan a, u = tan b it is sin(a - b): a pole on the wrong side of a point is no disaster, and there
    is a way across.
    """
    return (v - u) / math.sqrt((1.0 + v * v) * (1.0 + u * u))


@njit(**COMPILE | {"fastmath": {"reassoc"}})
def chordal_loss(y, r, unit, middle, typical) -> float:
    """Σ chord² in units of a typical deviation, from residuals r (1, P) in the usual unit."""
    per_typical, total = 1.0 / typical, 0.0
    for p in range(y.size):
        v, difference = (y[p] - middle) * per_typical, r[0, p] * (unit * per_typical)
        u = v - difference
        total += difference * difference / ((1.0 + v * v) * (1.0 + u * u))
    return total


@njit(**COMPILE)
def load_residuals(y, stack, unit, middle, typical, r) -> float:
    """r (1, P) ← (y - f) / unit, or chords from y to f if a typical deviation is given as their unit; returns
    the loss Σ r²."""
    if typical > 0.0:
        for p in range(y.size):
            u = (stack[0, p] - middle) / typical
            r[0, p] = chord((y[p] - middle) / typical, u) if abs(u) < UNDEFINED else UNDEFINED
    else:
        per_unit = 1.0 / unit
        for p in range(y.size):
            r[0, p] = (y[p] - stack[0, p]) * per_unit
    loss = dot(r, 0, r, 0)
    if loss < UNDEFINED:
        return loss
    undefined = 0
    for p in range(y.size):
        undefined += not r[0, p] * r[0, p] < UNDEFINED
    return UNDEFINED * max(undefined, 1)


@njit(**COMPILE)
def solve_linear(linear, tangents, unit, Q, triangle, shares, r, c) -> float:
    """Solve for the linear constants in c, given the residuals r without them and the tangents; returns the
    loss, r follows.

    The value is f₀ + Σ_j c_j·∂f/∂c_j with f₀ at c_j = 0. The columns are made orthonormal one after the other
    (Gram–Schmidt), the residuals lose their share of each, and back substitution turns the shares into
    constants. A column that depends on the earlier ones, or that vanishes, gets the constant 0.
    """
    P, j = r.shape[1], 0
    for k in range(c.size):
        if not linear[k]:
            continue
        for p in range(P):
            Q[j, p] = tangents[k, p]
        length, size = dot(Q, j, Q, j), 1.0
        if not 1e-200 < length < 1e200:  # its square is out of range: measure the column in its own size
            size = 0.0
            for p in range(P):
                size = max(size, abs(Q[j, p]))
            size = size if size > 0.0 else 1.0
            for p in range(P):
                Q[j, p] /= size
            length = dot(Q, j, Q, j)
            if not length < np.inf:
                return UNDEFINED * P
        for i in range(j):
            share = dot(Q, i, Q, j)
            subtract(Q, j, share, Q, i)
            triangle[i, j] = share * size
        rest = math.sqrt(dot(Q, j, Q, j))
        if rest > 1e-11 * math.sqrt(length):
            for p in range(P):
                Q[j, p] *= 1.0 / rest
            triangle[j, j], shares[j] = rest * size, dot(Q, j, r, 0)
            subtract(r, 0, shares[j], Q, j)
        else:
            triangle[j, j] = shares[j] = 0.0
            for p in range(P):
                Q[j, p] = 0.0
        j += 1
    for k in range(c.size - 1, -1, -1):
        if linear[k]:
            j -= 1
            # This is in units, as the residuals are.
            scaled = shares[j] / triangle[j, j] if triangle[j, j] > 0.0 else 0.0
            for i in range(j):
                shares[i] -= triangle[i, j] * scaled
            c[k] = scaled * unit if abs(scaled * unit) < np.inf else 0.0
    loss = dot(r, 0, r, 0)
    return loss if loss < UNDEFINED else UNDEFINED * P


@njit(**COMPILE)
def project(task, work, c) -> float:
    """Set the linear constants in c to their best values and return the loss Σ ((y - f) / unit)²; residuals
    stay in `work`."""
    linear, stack, r = task.linear, work.stack, work.residuals
    some = False
    work.spent[0] += 1 + count(linear)
    for k in range(c.size):
        if linear[k]:
            c[k] = 0.0
            some = True
    if some:
        run_tangents(task.program, c, linear, task.X, stack, work.tangents)
    else:
        run(task.program, c, task.X, stack)
    loss = load_residuals(task.y, stack, task.unit, task.middle, task.typical, r)
    if some and loss < UNDEFINED:
        return solve_linear(linear, work.tangents, task.unit, work.basis, work.triangle, work.shares, r, c)
    return loss


@njit(**COMPILE)
def linearise(task, work, c) -> int:
    """Jacobian of the residuals after projection, with its normal matrix and gradient, at c; returns N.

    Kaufman: the part of ∂f/∂c_k that the linear constants can undo is taken out of it. Entries that are not
    finite count as 0.
    """
    stack, tangents, r, Q, J = work.stack, work.tangents, work.residuals, work.basis, work.jacobian
    y, nonlinear, middle, typical = task.y, task.nonlinear, task.middle, task.typical
    run_tangents(task.program, c, nonlinear, task.X, stack, tangents)
    work.spent[0] += 1 + count(nonlinear)
    load_residuals(y, stack, task.unit, middle, typical, r)
    per_unit = 1.0 / (typical if typical > 0.0 else task.unit)
    M = c.size - count(nonlinear)
    n = 0
    for k in range(c.size):
        if not nonlinear[k]:
            continue
        for p in range(y.size):
            J[n, p] = tangents[k, p] * per_unit
        if typical > 0.0:  # d chord / du = (1 + u·v) / (√(1 + v²) √(1 + u²)³)
            for p in range(y.size):
                u, v = (stack[0, p] - middle) * per_unit, (y[p] - middle) * per_unit
                J[n, p] *= (1.0 + u * v) / ((1.0 + u * u) * math.sqrt((1.0 + u * u) * (1.0 + v * v)))
        for p in range(y.size):
            if not abs(J[n, p]) < 1e150:
                J[n, p] = 0.0
        for j in range(M):
            subtract(J, n, dot(Q, j, J, n), Q, j)
        work.gradient[n] = dot(J, n, r, 0)
        for i in range(n + 1):
            work.normal[n, i] = dot(J, n, J, i)
        n += 1
    return n


@njit(**COMPILE)
def solve_damped(work, n, damping) -> float:
    """Solve (G + damping·diag G) step = gradient by Cholesky; returns the promised decrease of the loss, 0 if
    G is too singular."""
    G, H, g, step = work.normal, work.factor, work.gradient, work.step
    for a in range(n):
        for b in range(a + 1):
            s = G[a, b]
            if a == b:
                s += damping * (G[a, a] if G[a, a] > 0.0 else 1.0)
                smallest = 1e-14 * s
            for i in range(b):
                s -= H[a, i] * H[b, i]
            if a == b:
                if not s > smallest:
                    return 0.0
                H[a, a] = math.sqrt(s)
            else:
                H[a, b] = s / H[b, b]
    for a in range(n):
        s = g[a]
        for i in range(a):
            s -= H[a, i] * step[i]
        step[a] = s / H[a, a]
    for a in range(n - 1, -1, -1):
        s = step[a]
        for i in range(a + 1, n):
            s -= H[i, a] * step[i]
        step[a] = s / H[a, a]
    promised = 0.0
    for a in range(n):
        promised += step[a] * (g[a] + damping * (G[a, a] if G[a, a] > 0.0 else 1.0) * step[a])
    return promised


@njit(**COMPILE)
def descend(task, work, c, tolerance, floor) -> float:
    """Levenberg–Marquardt from c, in place; returns the loss.

    Damping follows Nielsen: down as far as the quadratic model kept its promise, up ever faster when it did
    not. Ends at the floor, after two steps in a row that gain less than the tolerance (relative), or when no
    step gains at all.
    """
    loss = project(task, work, c)
    trial, damping, growth, slow = work.trial, 1e-3, 2.0, 0
    for _ in range(ITERATIONS):
        if loss <= floor or loss >= UNDEFINED or slow == 2:
            break
        n = linearise(task, work, c)
        if n == 0:
            break
        new = loss
        for _ in range(12):
            promised = solve_damped(work, n, damping)
            if promised > 0.0:
                a = 0
                for k in range(c.size):
                    trial[k] = c[k]
                    if task.nonlinear[k]:
                        trial[k] += work.step[a]
                        a += 1
                new = project(task, work, trial)
                if new < loss:
                    break
            damping *= growth
            growth *= 2.0
        if not new < loss:
            break
        kept = min((loss - new) / promised, 1.0)
        damping = max(damping * max(1.0 / 3.0, 1.0 - (2.0 * kept - 1.0) ** 3), 1e-14)
        growth = 2.0
        slow = slow + 1 if new > loss * (1.0 - tolerance) else 0
        loss = new
        copy(trial, c)
    return loss
