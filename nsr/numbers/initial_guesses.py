"""Where to start a fit: the place of a constant in the tree tells its range, a short search the rest.

The loss of sin(C·x1) in C is a comb of narrow valleys, and a descent finds the bottom of the one it starts
in. So starts are not just drawn: many vectors are looked at, evenly spread and at a fraction of the price of
a descent, and the best one is the start.
"""

import math

import numpy as np
from numba import njit

from nsr.numbers.compiling import COMPILE
from nsr.numbers.interpreter import (
    ADD,
    COS,
    DIV,
    MUL,
    N_BINARY,
    N_LEAVES,
    NEG,
    SIN,
    SUB,
    TAN,
    run,
    run_tangents,
)
from nsr.numbers.least_squares import UNDEFINED, chordal_loss, copy, count, load_residuals, solve_linear

FACTOR, SUMMAND = 0, 1  # what a constant does to its sibling in the tree; its neutral value is 1 or 0
# random starts: summands uniform in ±10, factors log-uniform in 0.05 … 10, the ranges of the generator
WIDEST = 10.0
# share of negative factors: the generator draws none, but a candidate with add where the truth has sub needs
# them
NEGATIVE = 0.15


@njit(**COMPILE)
def analyse(program: np.ndarray, K: int):
    """For each constant: is the value affine in it (jointly with the other linear ones), its kind, and the
    range of its starts.

    linear (K,) bool, kind (K,) FACTOR or SUMMAND, width (K,): half the period if it is a phase of sin, cos or
    tan, else WIDEST.
    """
    L = program.size
    end = np.empty(L, np.int64)  # index after the subtree that starts at i
    gain = np.zeros(L, np.int64)  # how many constants the subtree at i could offer as linear ones
    for i in range(L - 1, -1, -1):
        op = program[i]
        if op < N_LEAVES:
            end[i], gain[i] = i + 1, 1 if op == 0 else 0
        elif op < N_BINARY:
            right = end[i + 1]
            end[i] = end[right]
            if op == ADD or op == SUB:
                gain[i] = gain[i + 1] + gain[right]
            elif op == MUL:
                gain[i] = max(gain[i + 1], gain[right])
            else:
                gain[i] = gain[i + 1]
        else:
            end[i] = end[i + 1]
            gain[i] = gain[i + 1] if op == NEG else 0

    linear, kind, width = np.zeros(K, np.bool_), np.zeros(K, np.int64), np.full(K, WIDEST)
    affine = np.zeros(L, np.bool_)  # whether the whole value is affine in the subtree at i
    half_period = np.full(L, WIDEST)  # of the whole value in an addend of the subtree at i
    parent = np.zeros(L, np.int64)
    affine[0] = True
    k = 0
    for i in range(L):
        op = program[i]
        if op == 0:
            linear[k] = affine[i]
            kind[k] = FACTOR if parent[i] == MUL or parent[i] == DIV else SUMMAND
            if kind[k] == SUMMAND:
                width[k] = half_period[i]
            k += 1
        if op < N_LEAVES:
            continue
        left = i + 1
        parent[left] = op
        if op >= N_BINARY:
            affine[left] = affine[i] and op == NEG
            half_period[left] = half_period[i] if op == NEG else WIDEST
            if op == SIN or op == COS:
                half_period[left] = math.pi
            elif op == TAN:
                half_period[left] = math.pi / 2
            continue
        right = end[left]
        parent[right] = op
        if op == ADD or op == SUB:
            affine[left] = affine[right] = affine[i]
            half_period[left] = half_period[right] = half_period[i]
        elif op == MUL:
            # Of two factors with constants only one can be linear; the inner C of C·(C + …) is the safer one.
            affine[left] = affine[i] and gain[left] > gain[right]
            affine[right] = affine[i] and gain[left] <= gain[right]
        else:
            affine[left] = affine[i]
    return linear, kind, width


GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11))


@njit(**COMPILE)
def uniform(state: np.ndarray) -> float:
    """Next number in [0, 1) of a SplitMix64 stream, whose state (1,) uint64 belongs to one job: no job sees
    another one's draws."""
    state[0] += GOLDEN
    z = state[0]
    z = (z ^ (z >> SHIFTS[0])) * MIX_1
    z = (z ^ (z >> SHIFTS[1])) * MIX_2
    z = z ^ (z >> SHIFTS[2])
    return np.float64(z >> SHIFTS[3]) / 9007199254740992.0


@njit(**COMPILE)
def new_stream(seed: int, program: np.ndarray) -> np.ndarray:
    """The random stream of a job: its own for every seed and program."""
    state = np.empty(1, np.uint64)
    state[0] = seed
    for op in program:
        state[0] ^= np.uint64(op)
        uniform(state)
    return state


@njit(**COMPILE)
def even_steps(nonlinear, state):
    """A random point u (K,) of the unit cube and steps (K,) that fill it more evenly than random numbers
    would.

    The steps are powers of 1/φ, φ the root of x^(N+1) = x + 1: for N = 1 the golden ratio, whose multiples
    leave no wide gap.
    """
    K, n = nonlinear.size, count(nonlinear)
    phi = 1.5
    for _ in range(30):
        phi = (1.0 + phi) ** (1.0 / (n + 1))
    u, steps, power = np.empty(K), np.zeros(K), 1.0
    for k in range(K):
        u[k] = uniform(state)
        if nonlinear[k]:
            power /= phi
            steps[k] = power
    return u, steps


@njit(**COMPILE)
def next_start(u, steps, kind, width, linear, c) -> None:
    """Move u one step on, and set c to the constants that it stands for, linear ones to 0."""
    for k in range(c.size):
        if linear[k]:
            c[k] = 0.0
            continue
        u[k] += steps[k]
        if u[k] >= 1.0:
            u[k] -= 1.0
        if kind[k] == SUMMAND:
            c[k] = width[k] * (2.0 * u[k] - 1.0)
        elif u[k] < NEGATIVE:
            c[k] = -0.05 * math.exp(math.log(200.0) * u[k] / NEGATIVE)
        else:
            c[k] = 0.05 * math.exp(math.log(200.0) * (u[k] - NEGATIVE) / (1.0 - NEGATIVE))


@njit(**COMPILE)
def search(task, work, kind, width, searched, typical, u, steps, best) -> None:
    """The best of many start vectors, each with its linear constants solved for, into best (K,).

    Ranked by the loss, or, if the `typical` deviation of y is given, by the sum of squared chords in this
    unit. The loop is that of `project` with its arrays in local names: handing them over in a tuple would
    take as long as the arithmetic.
    """
    program, X, y, linear, unit, middle = task.program, task.X, task.y, task.linear, task.unit, task.middle
    stack, tangents, r, c = work.stack, work.tangents, work.residuals, work.step
    Q, triangle, shares = work.basis, work.triangle, work.shares
    lowest, some = np.inf, count(linear) > 0
    work.spent[0] += searched * (1 + count(linear))
    for _ in range(searched):
        next_start(u, steps, kind, width, linear, c)
        if some:
            run_tangents(program, c, linear, X, stack, tangents)
        else:
            run(program, c, X, stack)
        loss = load_residuals(y, stack, unit, middle, 0.0, r)
        if some and loss < UNDEFINED:
            loss = solve_linear(linear, tangents, unit, Q, triangle, shares, r, c)
        if typical > 0.0 and loss < UNDEFINED:
            loss = chordal_loss(y, r, unit, middle, typical)
        if loss < lowest:
            lowest = loss
            copy(c, best)
