"""The published fit: BFGS from normal starts, with gradients by finite differences.

The published systems minimise the mean squared error over the given points with scipy's BFGS, from 10 starts
c ~ N(0, 1)^K. Here is the same method, compiled. The mathematics is that of Nocedal and Wright, Numerical
Optimization (2006); the settings, the order of the trials and the count of evaluations are those of scipy.

    direction     p = -H g,  H ≈ the inverse of the Hessian, at first 1
    step          a length α that satisfies the strong Wolfe conditions (3.7):
                  f(x + αp) ≤ f(x) + c₁ α gᵀp    and    |∇f(x + αp)ᵀp| ≤ c₂ |gᵀp|
    update        H ← V H Vᵀ + ρ s sᵀ,   V = 1 - ρ s yᵀ,   s = αp,  y = the change of g,  ρ = 1 / yᵀs   (6.17)

A value that is undefined is nan, nothing is done about it, and a comparison with it is false, as in the
published code: a start from which the search meets one is mostly lost. As there, the constants of a start are
those of the last evaluation, whatever it was for; the start with the smallest error wins.

Letters: P points, D variables, K constants.
"""

import math
from collections import namedtuple

import numpy as np
from numba import njit

from nsr.numbers.compiling import COMPILE
from nsr.numbers.initial_guesses import new_stream, uniform
from nsr.numbers.interpreter import run, stack_size
from nsr.numbers.least_squares import copy

STARTS = 10
SMALL_GRADIENT = 1e-5  # the search ends where no partial derivative is larger
ITERATIONS = 200  # at most, times K
DIFFERENCE = 2.0**-26  # between the two points of a finite difference: the root of the machine precision
C1, C2 = 1e-4, 0.9  # of the Wolfe conditions
SHORTEST, LONGEST = 1e-100, 1e100  # step lengths
NARROWEST = 1e-14  # relative width of an interval that is divided further
TRIALS = 100  # step lengths that `interpolate` tries
DOUBLINGS, ZOOMS = 10, 11  # step lengths that `bracket` and `zoom` try

# What is minimised, and what is known of it: program (L,), X (D, P), y (P,), values (S, P); the point `at`
# (K,) of the last value and its gradient (K,); the constants `last` (K,) of the last evaluation; memo (3,):
# the value, whether the gradient is known, and the number of evaluations.
Objective = namedtuple("Objective", "program X y stack at gradient last memo")
VALUE, KNOWN, COUNT = 0, 1, 2


def normal_starts(program: np.ndarray, K: int, seed: int, n: int = STARTS) -> np.ndarray:
    """Starts (n, K) with entries from N(0, 1); a job has the same ones wherever it stands."""
    starts = np.empty((n, K))
    draw_normal(new_stream(seed, program), starts)
    return starts


@njit(**COMPILE)
def draw_normal(state: np.ndarray, out: np.ndarray) -> None:
    """Fill out (n, K) with normal numbers (Box and Muller)."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            radius = math.sqrt(-2.0 * math.log(1.0 - uniform(state)))
            out[i, k] = radius * math.cos(2.0 * math.pi * uniform(state))


@njit(**COMPILE)
def fit_bfgs(program, X, y, starts):
    """The best constants (K,) that BFGS finds from the starts (n, K), and the evaluations that it made.

    All starts are used, also after one that fits exactly. Without constants there is nothing to find, and the
    one evaluation is that of the score.
    """
    K = starts.shape[1]
    best, c, lowest = np.full(K, np.nan), np.empty(K), np.inf
    if K == 0:
        return best, 1
    o = new_objective(program, X, y, K)
    for i in range(len(starts)):
        copy(starts[i], c)
        minimise(o, c)
        error = mean_squared_error(o, o.last)
        if i == 0 or error < lowest:
            copy(o.last, best)
            lowest = error if error < np.inf else np.inf
    return best, int(o.memo[COUNT])


# ---------------------------------------------------------------------------------------------------------- the function


@njit(**COMPILE)
def new_objective(program, X, y, K):
    """The mean squared error of a program, nothing of it known yet."""
    stack = np.empty((stack_size(program), y.size))
    return Objective(program, X, y, stack, np.full(K, np.nan), np.empty(K), np.empty(K), np.zeros(3))


@njit(**COMPILE)
def mean_squared_error(o, c) -> float:
    """Σ_p (f(x_p; c) - y_p)² / P."""
    run(o.program, c, o.X, o.stack)
    total = 0.0
    for p in range(o.y.size):
        total += (o.stack[0, p] - o.y[p]) ** 2
    return total / o.y.size


@njit(**COMPILE)
def value(o, x, p, step) -> float:
    """The value at x + step·p, which is evaluated unless it is the last one."""
    moved = False
    for k in range(x.size):
        place = x[k] + step * p[k]
        moved |= place != o.at[k]  # true for nan
        o.at[k] = place
    if moved:
        copy(o.at, o.last)
        o.memo[VALUE] = mean_squared_error(o, o.at)
        o.memo[KNOWN] = 0
        o.memo[COUNT] += 1
    return o.memo[VALUE]


@njit(**COMPILE)
def slope(o, p) -> float:
    """The derivative in the direction p at the point of the last value; its gradient is in the objective."""
    if not o.memo[KNOWN]:
        copy(o.at, o.last)
        for k in range(p.size):
            o.last[k - 1] = o.at[k - 1]  # the one before k is put back, the last one stays as it is evaluated
            o.last[k] = o.at[k] + DIFFERENCE
            if o.last[k] == o.at[k]:  # too large for this difference
                o.last[k] += math.copysign(DIFFERENCE * max(1.0, abs(o.at[k])), o.at[k])
            o.gradient[k] = (mean_squared_error(o, o.last) - o.memo[VALUE]) / (o.last[k] - o.at[k])
        o.memo[KNOWN] = 1
        o.memo[COUNT] += p.size
    return inner(o.gradient, p)


@njit(**COMPILE)
def inner(a, b) -> float:
    total = 0.0
    for k in range(a.size):
        total += a[k] * b[k]
    return total


@njit(**COMPILE)
def largest(g) -> float:
    """The largest entry in size; nan if there is one."""
    found = 0.0
    for k in range(g.size):
        if not abs(g[k]) <= found:
            found = abs(g[k])
        if math.isnan(found):
            break
    return found


# -------------------------------------------------------------------------------------------------------------- the descent


@njit(**COMPILE)
def minimise(o, x) -> float:
    """BFGS from x (K,), in place; returns the value where it ends."""
    K = x.size
    H, V, VH = np.eye(K), np.empty((K, K)), np.empty((K, K))
    g, p, s, change = np.empty(K), np.zeros(K), np.empty(K), np.empty(K)
    o.at[0] = np.nan  # so that the start is evaluated, whatever was before
    f = value(o, x, p, 0.0)
    slope(o, p)
    copy(o.gradient, g)
    f_before = f + math.sqrt(inner(g, g)) / 2  # as if a step of length 1 had led here
    for _ in range(ITERATIONS * K):
        if not largest(g) > SMALL_GRADIENT:
            break
        for k in range(K):
            p[k] = -inner(H[k], g)
        descent = inner(g, p)
        first = 1.0
        if descent != 0.0:  # the same decrease as in the step before
            first = 2.02 * (f - f_before) / descent
            if first < 0.0 or not first < 1.0:
                first = 1.0
        step, f_new = interpolate(o, x, p, f, descent, first)
        if math.isnan(step):
            step, f_new = bracket(o, x, p, f, descent, first)
        if math.isnan(step):
            break
        slope(o, p)
        moved = 0.0
        for k in range(K):
            s[k], change[k] = step * p[k], o.gradient[k] - g[k]
            moved = max(moved, abs(s[k]))
        copy(o.at, x)
        copy(o.gradient, g)
        f, f_before = f_new, f
        if moved == 0.0 or not abs(f) < np.inf:
            break
        curvature = inner(change, s)
        rho = 1.0 / curvature if curvature != 0.0 else 1000.0
        for i in range(K):
            for j in range(K):
                V[i, j] = (1.0 if i == j else 0.0) - s[i] * change[j] * rho
        for i in range(K):
            for j in range(K):
                VH[i, j] = inner(V[i], H[j])
        for i in range(K):
            for j in range(K):
                H[i, j] = inner(VH[i], V[j]) + rho * s[i] * s[j]
    return f


# ---------------------------------------------------------------------------------------- step lengths: Moré and Thuente


@njit(**COMPILE)
def interpolate(o, x, p, f0, d0, step):
    """A step length with the strong Wolfe conditions and the value there, after Moré and Thuente (1994); nan
    if none is found.

    `best` is the best length so far. Once the minimum is bracketed it lies between `best` and `other`. As
    long as no length has decreased the value enough, lengths are judged by ψ(α) = φ(α) - c₁ α φ'(0).
    """
    if step < SHORTEST or step > LONGEST or d0 >= 0.0:
        return np.nan, f0
    best, f_best, d_best, other, f_other, d_other = 0.0, f0, d0, 0.0, f0, d0
    bracketed, early = np.bool_(False), np.bool_(True)  # a plain False is a type of its own to numba
    low, high = 0.0, 5.0 * step
    width, width_before = LONGEST, 2.0 * LONGEST
    for trial in range(TRIALS):
        f = value(o, x, p, step)
        d = slope(o, p)
        if trial == TRIALS - 1:
            break
        enough = f0 + step * (C1 * d0)
        if f <= enough and abs(d) <= C2 * -d0:
            return step, f
        if bracketed and (step <= low or step >= high or high - low <= NARROWEST * high):
            return np.nan, f
        if step == LONGEST and f <= enough and d <= C1 * d0:
            return np.nan, f
        if step == SHORTEST and (f > enough or d >= C1 * d0):
            return np.nan, f
        if f <= enough and d >= 0.0:
            early = False
        tilt = C1 * d0 if early and f <= f_best and f > enough else 0.0
        length, closed = next_length(
            best, f_best - best * tilt, d_best - tilt,
            other, f_other - other * tilt, d_other - tilt,
            step, f - step * tilt, d - tilt, bracketed, low, high,
        )  # fmt: skip
        if f - step * tilt > f_best - best * tilt:
            other, f_other, d_other = step, f, d
        else:
            if (d - tilt) * np.sign(d_best - tilt) < 0.0:
                other, f_other, d_other = best, f_best, d_best
            best, f_best, d_best = step, f, d
        step, bracketed = length, closed
        if bracketed:
            if abs(other - best) >= 0.66 * width_before:
                step = best + 0.5 * (other - best)
            width, width_before = abs(other - best), width
            low, high = min(best, other), max(best, other)
        else:
            low, high = step + 1.1 * (step - best), step + 4.0 * (step - best)
        step = clipped(step, SHORTEST, LONGEST)
        if bracketed and (step <= low or step >= high or high - low <= NARROWEST * high):
            step = best
        if not abs(step) < np.inf:
            return np.nan, f
    return np.nan, f0


@njit(**COMPILE)
def clipped(v: float, low: float, high: float) -> float:
    """v between low and high; nan stays nan."""
    return low if v < low else high if v > high else v


@njit(**COMPILE)
def cubic_share(a, f_a, d_a, b, f_b, d_b, real):
    """Where the cubic with these values and derivatives at a and b has its minimum, as a share of the way
    from a to b, and the root in its formula (3.59). Without a minimum the root is nan, or 0 if it has to be
    `real`."""
    theta = 3.0 * (f_a - f_b) / (b - a) + d_a + d_b
    size = max(abs(theta), abs(d_a), abs(d_b))
    square = (theta / size) ** 2 - (d_a / size) * (d_b / size)
    if real and not square > 0.0:
        square = 0.0
    root = size * math.sqrt(square) if square >= 0.0 else np.nan
    if b < a:
        root = -root
    return ((root - d_a) + theta) / (((root - d_a) + root) + d_b), root


@njit(**COMPILE)
def next_length(best, f_best, d_best, other, f_other, d_other, step, f, d, bracketed, low, high):
    """The next length to try, from a cubic and a line or parabola, and whether the minimum is bracketed."""
    if f > f_best:  # too far: between the minima of cubic and parabola, nearer to the best
        cubic = best + cubic_share(best, f_best, d_best, step, f, d, False)[0] * (step - best)
        parabola = best + d_best / ((f_best - f) / (step - best) + d_best) / 2.0 * (step - best)
        near = abs(cubic - best) <= abs(parabola - best)
        return cubic if near else cubic + (parabola - cubic) / 2.0, True
    secant = step + d / (d - d_best) * (best - step)
    if np.sign(d) * np.sign(d_best) < 0.0:  # past the minimum: the longer of the two ways back
        cubic = step + cubic_share(step, f, d, best, f_best, d_best, False)[0] * (best - step)
        return cubic if abs(cubic - step) > abs(secant - step) else secant, True
    if abs(d) < abs(d_best):  # towards it, and it gets flatter
        share, root = cubic_share(step, f, d, best, f_best, d_best, True)
        cubic = high if step > best else low
        if share < 0.0 and root != 0.0:
            cubic = step + share * (best - step)
        if not bracketed:
            return clipped(cubic if abs(cubic - step) > abs(secant - step) else secant, low, high), False
        length = cubic if abs(cubic - step) < abs(secant - step) else secant
        most = step + 0.66 * (other - step)
        within = length < most if step > best else length > most
        return length if within else most, True
    if bracketed:
        return step + cubic_share(step, f, d, other, f_other, d_other, False)[0] * (other - step), True
    return high if step > best else low, False


# ------------------------------------------------------------------------------------- step lengths: Nocedal and Wright


@njit(**COMPILE)
def bracket(o, x, p, f0, d0, step):
    """The same by Algorithm 3.5, for where the other search gave up: double the length until the minimum is
    bracketed, then zoom. The longest is taken if it never is."""
    before, f_before, d_before = 0.0, f0, d0
    f = value(o, x, p, step)
    for i in range(DOUBLINGS):
        if step == 0.0:
            return np.nan, f
        if f > f0 + C1 * step * d0 or (f >= f_before and i > 0):
            return zoom(o, x, p, f0, d0, before, f_before, d_before, step, f)
        d = slope(o, p)
        if abs(d) <= -C2 * d0:
            return step, f
        if d >= 0.0:
            return zoom(o, x, p, f0, d0, step, f, d, before, f_before)
        before, f_before, d_before, step = step, f, d, 2.0 * step
        f = value(o, x, p, step)
    return step, f


@njit(**COMPILE)
def zoom(o, x, p, f0, d0, best, f_best, d_best, other, f_other):
    """Algorithm 3.6: the minimum lies between `best` and `other`. Try that of a cubic through them and the
    length given up last; if it is too near to an end that of a parabola; if it still is, the middle."""
    given_up, f_given_up = 0.0, f0
    for i in range(ZOOMS):
        width = other - best
        left, right = min(best, other), max(best, other)
        step = cubic_minimum(best, f_best, d_best, other, f_other, given_up, f_given_up) if i else np.nan
        if not left + 0.2 * width <= step <= right - 0.2 * width:
            step = best - d_best / (2.0 * ((f_other - f_best - d_best * width) / (width * width)))
            if not (left + 0.1 * width <= step <= right - 0.1 * width and abs(step) < np.inf):
                step = best + 0.5 * width
        f = value(o, x, p, step)
        if f > f0 + C1 * step * d0 or f >= f_best:
            given_up, f_given_up = other, f_other
            other, f_other = step, f
            continue
        d = slope(o, p)
        if abs(d) <= -C2 * d0:
            return step, f
        if d * width >= 0.0:
            given_up, f_given_up = other, f_other
            other, f_other = best, f_best
        else:
            given_up, f_given_up = best, f_best
        best, f_best, d_best = step, f, d
    return np.nan, f0


@njit(**COMPILE)
def cubic_minimum(a, f_a, d_a, b, f_b, c, f_c) -> float:
    """Where the cubic through three points, with this derivative at a, has its minimum; nan if nowhere."""
    u, v = b - a, c - a
    rise_u, rise_v = f_b - f_a - d_a * u, f_c - f_a - d_a * v
    scale = (u * v) ** 2 * (u - v)
    A, B = (v * v * rise_u - u * u * rise_v) / scale, (u**3 * rise_v - v**3 * rise_u) / scale
    square = B * B - 3.0 * A * d_a
    if not 0.0 <= square < np.inf:
        return np.nan
    return a + (math.sqrt(square) - B) / (3.0 * A)
