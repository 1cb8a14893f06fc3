"""Which short formulas NSRegressor recovers from 100 rows without noise: `python tests/regressor/reach.py [dev|held] [seconds]`.

The formulas are in the manner of the Nguyen, Keijzer, Korns, Jin, Livermore and Strogatz sets and of
textbooks; seconds are those of the processor. One counts as recovered if its error is below a millionth of y's spread at fresh points of the
range and at points up to a fifth beyond its upper end. Half of them, by a hash of the formula, are for
development; the others are held out. An answer in disguise is counted apart (disguise_count.py).
"""

from __future__ import annotations

import hashlib
import sys
import warnings

import numpy as np
from disguise_count import in_disguise

from nsr import NSRegressor, evaluate, parse
from nsr.numbers.fitting import on_cores
from nsr.regressor.recovery import Timed

# formula, lower and upper end of all its columns
FORMULAS = [
    ("x1**3 + x1**2 + x1", -1, 1),
    ("x1**4 + x1**3 + x1**2 + x1", -1, 1),
    ("sin(x1**2)*cos(x1) - 1", -1, 1),
    ("log(x1 + 1) + log(x1**2 + 1)", 0, 2),
    ("sqrt(x1)", 0.1, 4),
    ("2*sin(x1)*cos(x2)", 0.1, 1),
    ("x1**4 - x1**3 + 0.5*x2**2 - x2", 0.1, 1),
    ("0.3*x1*sin(6.283185307179586*x1)", -1, 1),
    ("x1*x2 + sin((x1 - 1)*(x2 - 1))", -3, 3),
    ("8/(2 + x1**2 + x2**2)", -3, 3),
    ("x1*x2/(x1 + x2)", 1, 20),
    ("x1*x2/(x1 + x2)", 10, 200),
    ("1/x1 - 1/x2", 1, 5),
    ("x1*x2 + x3*x4", 1, 5),
    ("x1*(x2**2 + x3**2 + x4**2)", 1, 5),
    ("sqrt((x1 - x2)**2 + (x3 - x4)**2)", 1, 5),
    ("1/(1 + exp(0 - 1.3*(x1 - 2)))", -3, 6),
    ("x1**3/(exp(x1) - 1)", 0.3, 8),
    ("exp(0 - (x1 - x2)**2/(2*x3**2))/(2.5066282746310002*x3)", 1, 3),
    ("3.2*x1**2/(4.1 + x1**2)", 0.1, 10),
    ("1.7*exp(1.37*log(x1))", 0.5, 10),
    ("2.3*exp(0.61*log(x1) - 1.4*log(x2))", 0.5, 10),
    ("(exp(x1) - exp(0 - x1))/2", -3, 3),
    ("(exp(x1) - exp(0 - x1))/(exp(x1) + exp(0 - x1))", -3, 3),
    ("sqrt(x1**2 + x2**2 - 2*x1*x2*cos(x3))", 1, 3),
    ("4.6*x1/(1.9 + x1)", 0.1, 20),
    ("5.3 + 2.1*exp(0 - 0.8*x1)", 0, 5),
    ("x1*x2*x3/(x4**2)", 1, 5),
    ("0.5*x1*(x2**2 + x3**2)", 1, 5),
    ("x1/sqrt(1 - x2**2/x3**2)", 1, 2),
    ("x1*exp(0 - 0.5*x2)*cos(3*x2)", 0, 4),
    ("x1 - 0.2*x1*x2", 0.5, 10),
    ("0.6*x1*(1 - x1/12.5)", 0.5, 12),
    ("x1*(x2 - x3)/(x2 + x3)", 1, 5),
    ("6.87 + 11*cos(7.23*x1**3)", -1, 1),
    ("1.57 + 24.3*x2", -5, 5),
    ("2.5*x1**4 - 1.3*x1**3 + 0.5*x2**2 - 1.7*x2", -3, 3),
    ("1.35*x1*x2 + 5.5*sin((x1 - 1)*(x2 - 1))", -3, 3),
    ("sin(x1) + sin(x1 + x1**2)", 0.1, 1),
    ("x1**(1/2)*x2*x3", 1, 4),
    ("(x1 + x2)/(1 + x1*x2/9)", 0.2, 2),
    ("20*sin(x1)*x2**2/9.81", 0.2, 1.4),
    ("x1*log(x2/x3)", 1, 5),
    ("6.283185307179586*sqrt(x1/x2)", 1, 10),
    ("30*x1*x3/((x1 - 10)*x2**2)", 1, 2),
    ("x1**2/x2 + x3", 1, 5),
    ("0 - 2.1 + 0.13*sin(x2)", -5, 5),
    ("(x1**3)/(1 + x1**3)", 0.1, 4),
    ("sqrt(x1**2 + x2**2 + x3**2)", 1, 5),
    ("x1*(x2 - x3)*(x4 - x3)", 1, 5),
    ("1/(1 + x1**-4) + 1/(1 + x2**-4)", -5, 5),
    ("x1*exp(0 - x2/x3)", 1, 5),
    ("log(x1 + sqrt(x1**2 + 1))", 0.1, 5),
    ("1.3 + 0.13*sqrt(x1)", 0.1, 50),
    ("8*x1**2 + 8*x2**3 - 15", -3, 3),
    ("0.2*x1**3 + 0.5*x2**3 - 1.2*x2 - 0.5*x1", -3, 3),
    ("x1**5/x2**3", 1, 5),
    ("sin(x1**2) + x1 + 0.3333333333333333", -2, 2),
    ("10 - x1 - 4*x1*x2/(1 + x1**2)", 0.5, 5),
    ("3*x1 - 2*x1*x2 - x1**2", 0.5, 5),
]  # fmt: skip


def part_of(formula: str) -> str:
    return "dev" if hashlib.sha256(formula.encode()).digest()[0] % 2 else "held"


def recovered(model: NSRegressor, prefix, constants, low: float, high: float, columns: int) -> bool:
    """Whether the answer has the law's values in the range and up to a fifth beyond its upper end."""
    rng = np.random.default_rng(99)
    for upper in (high, high + (high - low) / 5):
        X = rng.uniform(low if upper == high else high, upper, (200, columns))
        y = evaluate(prefix, X, constants)
        X, y = X[np.isfinite(y)], y[np.isfinite(y)]
        if len(y) and not np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 1e-6 * y.std():
            return False
    return True


def main(part: str = "dev", seconds: float = 5.0) -> None:
    warnings.simplefilter("ignore")
    NSRegressor(max_time=0.1).fit(np.arange(6.0).reshape(3, 2), [1.0, 2.0, 4.0])  # compiles
    found = hidden = 0
    formulas = [f for f in FORMULAS if part in ("all", part_of(str(f)))]
    for text, low, high in formulas:
        prefix, constants = parse(text)
        columns = max(int(token[1:]) for token in prefix if token[0] == "x")
        X = np.random.default_rng(1).uniform(low, high, (100, columns))
        y = evaluate(prefix, X, constants)
        X, y = X[np.isfinite(y)], y[np.isfinite(y)]
        with on_cores(1):
            model = Timed(max_time=seconds, random_state=0).fit(X, y)
        ok, disguised = recovered(model, prefix, constants, low, high, columns), in_disguise(model, X, y)
        found, hidden = found + ok, hidden + disguised
        shown = "" if part_of(str((text, low, high))) == "held" else f"   {model.formula_[:90]}"
        mark = ("yes" if ok else " - ") + (" in disguise" if disguised else "")
        print(f"{mark}  {text} in [{low}, {high}]{shown}", flush=True)
    print(f"{found} of {len(formulas)} recovered, {hidden} in disguise ({part}, {seconds:g} s)")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(float, sys.argv[2:3]))
