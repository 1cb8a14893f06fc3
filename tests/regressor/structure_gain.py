"""What units and outer forms bring: `python tests/regressor/structure_gain.py [units|outer] [noise] [seconds]`.

Made-up laws in named columns, 100 rows, two seeds; seconds are those of the processor. Recovered is an answer whose error
at fresh points is below a millionth of y's spread, with noise below a fifth of that. Also counted: candidates in
`equations_` that cannot have the unit of y, or have not the outer form.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd

from nsr.numbers.evaluation import evaluate
from nsr.numbers.fitting import on_cores
from nsr.regressor.own_formulas import read_formula
from nsr.regressor.recovery import Timed
from nsr.search.dimensions import Dimensions
from nsr.search.outer import Outer

# formula, units of its columns in their order, unit of y, lower and upper end
WITH_UNITS = [
    ("h + v*t - 4.905*t**2", {"h": "m", "v": "m/s", "t": "s"}, "m", 0.5, 4),
    ("0.5*m*v**2 + 9.81*m*h", {"m": "kg", "v": "m/s", "h": "m"}, "J", 0.5, 4),
    ("A*sin(w*t)*exp(0 - k*t)", {"A": "m", "w": "1/s", "k": "1/s", "t": "s"}, "m", 0.3, 2),
    ("U/R*(1 - exp(0 - R*t/L))", {"U": "V", "R": "ohm", "L": "H", "t": "s"}, "A", 0.5, 3),
    ("sqrt(x**2 + y**2 - 2*x*y*cos(p))", {"x": "m", "y": "m", "p": "rad"}, "m", 0.5, 3),
    ("p + 0.5*r*v**2 + 9.81*r*h", {"p": "Pa", "r": "kg/m**3", "v": "m/s", "h": "m"}, "Pa", 0.5, 4),
    ("F*l**3/(48*E*I)", {"F": "N", "l": "m", "E": "Pa", "I": "m**4"}, "m", 0.5, 4),
    ("q*(E + v*B*sin(p))", {"q": "C", "E": "V/m", "v": "m/s", "B": "T", "p": "rad"}, "N", 0.3, 2.5),
    ("m*c*(T - S) + m*L", {"m": "kg", "c": "J/(kg*K)", "T": "K", "S": "K", "L": "J/kg"}, "J", 0.5, 4),
    ("6.28*sqrt(m/(k + j))", {"m": "kg", "k": "N/m", "j": "N/m"}, "s", 0.5, 5),
    ("R*S/(R + S) + T", {"R": "ohm", "S": "ohm", "T": "ohm"}, "ohm", 0.5, 5),
    (
        "s*T**4 - s*S**4 + h*(T - S)",
        {"s": "W/(m**2*K**4)", "h": "W/(m**2*K)", "T": "K", "S": "K"},
        "W/m**2",
        0.5,
        3,
    ),
]
# formula, outer form, lower and upper end
WITH_FORM = [
    ("3*a/(2 + a) + b*sin(1.5*b)", "f(a) + g(b)", 0.5, 4),
    ("log(1 + a**2) + 2*sqrt(b) + 5*exp(0 - c)", "f(a) + g(b) + h(c)", 0.5, 4),
    ("(1 + 0.5*a**2)*(2 + sin(2*b))", "f(a)*g(b)", 0.5, 4),
    ("a*exp(0 - 0.7*a)*b/(1.5 + b**2)", "f(a)*g(b)", 0.5, 4),
    ("a*b/(a + b) + c*exp(0 - 0.8*c) - log(d + 2)", "f(a, b) + g(c) + h(d)", 0.5, 4),
    ("(a + cos(b))*sqrt(c)/(1 + exp(0 - 1.3*d))", "f(a, b)*g(c)*h(d)", 0.3, 3),
    ("exp(sin(a)*b + cos(b))/c", "exp(f(a, b))/c", 0.5, 3),
    ("1/(1 + a**2*exp(0 - b))", "1/(1 + f(a, b))", 0.5, 3),
    ("d*log(1 + a*b + sin(2*a))", "d*log(f(a, b))", 0.5, 3),
    ("sqrt(a**2 + b**3 + a*b*c)", "sqrt(f(a, b, c))", 0.5, 3),
    ("1 - exp(0 - a*b/(1 + b))", "1 - exp(f(a, b))", 0.3, 3),
    ("c*(2 + sin(a + b**2))", "c*f(a, b)", 0.3, 2.5),
]
SEEDS = (0, 1)


def one(
    text: str, names: list[str], low: float, high: float, noise: float, seed: int, seconds: float, **options
):
    """Whether the law is recovered, and the fitted estimator."""
    rng = np.random.default_rng([7, seed, len(text)])
    X, fresh = (pd.DataFrame(rng.uniform(low, high, (n, len(names))), columns=names) for n in (100, 500))
    law = read_formula(text, names)
    y, truth = (evaluate(law[0], table.to_numpy(), law[1]) for table in (X, fresh))
    given = y + noise * y.std() * rng.standard_normal(len(y))
    model = Timed(max_time=seconds, random_state=seed, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.fit(X, given).predict(fresh)
    error = np.sqrt(np.mean((found - truth) ** 2)) / truth.std()
    return error < (noise / 5 if noise else 1e-6), model


def main(what: str, noise: float, seconds: float) -> None:
    lines = []
    for text, units, goal, low, high in WITH_UNITS if what == "units" else ():
        dimensions = Dimensions.read(units, goal, list(units), range(len(units)))
        lines.append((text, units, (low, high), {"X_units": units, "y_units": goal}, dimensions.admits))
    for text, outer, low, high in WITH_FORM if what == "outer" else ():
        names = sorted({c for c in "abcd" if c in outer.replace("cos", "").replace("exp", "")})
        lines.append((text, names, (low, high), {"outer": outer}, None))
    _compare(what, lines, noise, seconds)


def _compare(what: str, lines: list, noise: float, seconds: float) -> None:
    with_option, without, refused, total, wrong = 0, 0, 0, 0, 0
    for text, names, ends, options, admits in lines:
        counts = np.zeros(2, int)
        for seed in SEEDS:
            there, _ = one(text, list(names), *ends, noise, seed, seconds, **options)
            bare, model = one(text, list(names), *ends, noise, seed, seconds)
            counts += there, bare
            rows = [prefix for prefix, _ in model._formulas]
            if admits is None:
                form = Outer.read(options["outer"], model.columns_)
                admits = form.admits if form.bare else None
            if admits is not None:
                refused, total = refused + sum(not admits(p) for p in rows), total + len(rows)
                wrong += not admits(rows[0])
        with_option, without = with_option + counts[0], without + counts[1]
        print(f"  {counts[0]} with, {counts[1]} without: {text}", flush=True)
    n = len(lines) * len(SEEDS)
    print(
        f"{what}, noise {noise:g}, {seconds:g} s: recovered {with_option}/{n} with, {without}/{n} without;",
        end=" ",
    )
    print(f"without, {refused} of {total} listed candidates and {wrong} answers cannot be", flush=True)


if __name__ == "__main__":
    with on_cores(1):
        what, noise, seconds = [*sys.argv[1:], *("units", "0.01", "2")[len(sys.argv) - 1 :]]
        main(what, float(noise), float(seconds))
