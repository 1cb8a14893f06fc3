"""How often NSRegressor answers in disguise: `python tests/regressor/disguise_count.py [problems] [seconds] [first]`.

The problems are drawn here: sums of short terms with plain constants, some inside a root, a logarithm, an
exponential or a denominator. An answer is in disguise if one of its constants is enormous or tiny, or needs
more digits than y has because large terms cancel, although the formula that made the table has no such
constant. Seconds are those of the processor.
"""

from __future__ import annotations

import sys
import warnings
from typing import NamedTuple

import numpy as np

from nsr import NSRegressor, evaluate, parse
from nsr.numbers.fitting import on_cores
from nsr.numbers.simplification import is_strained
from nsr.regressor.judging import price_of_digits
from nsr.regressor.recovery import Timed

NUMBERS = ("", "", "", "2*", "3*", "0.5*", "1.5*", "0.2*", "4.5*", "0.8*", "7*")
FACTORS = "{a} {a} {a}**2 {a}**3 sqrt({a}) log({a}) exp(-1*{k}*{a}) sin({k}*{a}) cos({k}*{a}) {a}*{b} {a}/{b} ({a}-{b})**2 ({a}+{b}) 1/({k}+{a}) {a}/({k}+{a}) {a}*{b}/({a}+{b}) exp({a}/{k}) {a}**2/{b}"
OUTER = (
    "{}",
    "{}",
    "{}",
    "{}",
    "sqrt(1 + ({})**2)",
    "1/(2 + ({})**2)",
    "log(3 + ({})**2)",
    "exp(-0.3*({}))",
    "4 + {}",
)
RANGES = ((0.5, 5.0), (1.0, 20.0), (0.1, 1.0), (1.0, 3.0))
LARGEST, ROWS = 1e5, 100


class Drawn(NamedTuple):
    formula: str
    X: np.ndarray
    y: np.ndarray


def drawn(number: int) -> Drawn:
    """Problem `number`, always the same: a formula, X (P, D) and y (P,), which spans less than six orders."""
    rng = np.random.default_rng([77, number])
    while True:
        columns = int(rng.integers(1, 4))
        names, terms = [f"x{j + 1}" for j in range(columns)], []
        for _ in range(rng.integers(1, 4)):
            factors = []
            for _ in range(rng.integers(1, 3)):
                a, b = rng.choice(names, 2, replace=columns == 1)
                k = rng.choice(["0.5", "1.3", "2", "3"])
                factors.append(str(rng.choice(FACTORS.split())).format(a=a, b=b, k=k))
            terms.append(str(rng.choice(NUMBERS)) + "*".join(factors))
        formula = str(rng.choice(OUTER)).format(" + ".join(terms))
        X = rng.uniform(*RANGES[rng.integers(len(RANGES))], (ROWS, columns))
        prefix, constants = parse(formula)
        with np.errstate(all="ignore"):
            y = evaluate(prefix, X, constants)
        if np.isfinite(y).all() and 1e-3 < np.ptp(y) < 1e3 and not costs(prefix, constants, X, y):
            return Drawn(formula, X, y)


def costs(prefix, constants, X: np.ndarray, y: np.ndarray) -> bool:
    """Whether a formula has an enormous, tiny or cancelling constant."""
    return is_strained(constants, LARGEST) or price_of_digits(prefix, constants, X, float(np.ptp(y))) > 0


def in_disguise(model: NSRegressor, X: np.ndarray, y: np.ndarray) -> bool:
    return costs(*model._formula(0), X[:, model._indices], y)


def main(problems: int = 300, seconds: float = 1.0, first: int = 0) -> None:
    warnings.simplefilter("ignore")
    NSRegressor(max_time=0.1).fit(np.arange(6.0).reshape(3, 2), [1.0, 2.0, 4.0])  # compiles
    disguised = exact = 0
    for number in range(first, first + problems):
        formula, X, y = drawn(number)
        with on_cores(1):
            model = Timed(max_time=seconds, random_state=0).fit(X, y)
        left, hidden = 1.0 - model.equations_.r2[0], in_disguise(model, X, y)
        disguised, exact = disguised + hidden, exact + (left <= 1e-10)
        if hidden:
            print(f"{number}: {formula}\n    {model.formula_[:200]}   1 - R2 = {left:.1e}", flush=True)
    print(f"{disguised} of {problems} in disguise, {exact} exact ({seconds:g} s)")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *map(float, sys.argv[2:3]), *map(int, sys.argv[3:4]))
