"""Nice numbers: a fitted constant that may be 1/2, √2 or 2π becomes it, where the data allow.

They allow it if the number lies within the constant's 95 % interval, and if the interval is so narrow that few
constants would have one in theirs by chance. The other constants adapt, and the fit may not become worse than
chance explains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nsr.data.problems import Problem
from nsr.formulas.expressions import Prefix
from nsr.numbers.evaluation import evaluate, r2_score
from nsr.search.oracle import NOISE, Candidate
from nsr.search.pruning import _Linearised

CHANCE = 0.05  # share of arbitrary constants that may be taken for nice ones
WORSE = 3.84  # of P·ln(1 − R²), per number: the 95 % quantile of χ² with one degree of freedom
EXACT = 1e-9  # relative: where a constant is known to all digits


def _table() -> dict[str, float]:
    numbers = {str(n): float(n) for n in range(2, 11)}
    numbers |= {f"{p}/{q}": p / q for q in (2, 3, 4, 5) for p in range(1, 2 * q) if math.gcd(p, q) == 1}
    numbers |= {"π": math.pi, "2π": 2 * math.pi, "3π": 3 * math.pi, "4π": 4 * math.pi}
    numbers |= {"π/4": math.pi / 4, "π/3": math.pi / 3, "π/2": math.pi / 2, "4π/3": 4 * math.pi / 3}
    numbers |= {"1/π": 1 / math.pi, "1/(2π)": 0.5 / math.pi, "1/(4π)": 0.25 / math.pi}
    numbers |= {"√2": math.sqrt(2), "√3": math.sqrt(3), "1/√2": math.sqrt(0.5), "1/√3": math.sqrt(1 / 3)}
    return numbers | {
        "√π": math.sqrt(math.pi),
        "√(2π)": math.sqrt(2 * math.pi),
        "e": math.e,
        "ln 2": math.log(2),
    }


NUMBERS = _table()


def nearest(constant: float, half_width: float) -> str:
    """The nice number that a constant may be, by its name; none if the interval is too wide to tell.

    >>> nearest(3.1417, 0.0005), nearest(-0.5002, 0.0003), nearest(3.1417, 0.2), nearest(3.3, 0.001)
    ('π', '-1/2', '', '')
    """
    size = abs(constant)
    half = max(half_width, EXACT * size)
    if not 0 < half < size:
        return ""
    around = sum(abs(math.log(value / size)) < 0.5 for value in NUMBERS.values())  # in a factor of e
    name = min(NUMBERS, key=lambda name: abs(NUMBERS[name] - size))
    told = abs(NUMBERS[name] - size) <= half and 2 * half / size * around <= CHANCE
    return ("-" if constant < 0 else "") + name if told else ""


def snapped(
    prefix: Prefix, constants: Sequence[float], half_widths: Sequence[float], problem: Problem
) -> tuple[tuple[float, ...], list[str]]:
    """The constants (K,), nice where they may be, and the names of the nice ones ("" for the others)."""
    names = [nearest(c, half) for c, half in zip(constants, half_widths)]
    before = r2_score(problem.y, evaluate(prefix, problem.X, constants), problem.weights)
    while any(names):
        model = _Linearised(Candidate(prefix, tuple(constants), before), problem)
        for k, name in enumerate(names):
            if name:
                value = NUMBERS[name.removeprefix("-")]
                model.settle(k, math.copysign(value, constants[k]))
        after = r2_score(problem.y, evaluate(prefix, problem.X, model.constants), problem.weights)
        left = [max(1.0 - r2, NOISE, problem.floor) for r2 in (before, after)]
        if len(problem.y) * math.log(left[1] / left[0]) <= WORSE * sum(map(bool, names)):
            return tuple(model.constants.tolist()), names
        far = [
            abs(abs(c) - NUMBERS.get(n.removeprefix("-"), abs(c))) / (h or 1.0)
            for c, n, h in zip(constants, names, half_widths)
        ]
        names[int(np.argmax(far))] = ""  # without the one that is farthest away
        if not any(far):
            break
    return tuple(constants), [""] * len(names)
