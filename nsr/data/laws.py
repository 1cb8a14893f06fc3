"""The AI-Feynman equations with at most five variables: 92 laws from Feynman's Lectures, in physical names
and with their ranges.

The list is that of Udrescu and Tegmark (2020); names, words and layout are ours. A line of laws.txt reads

    lecture | what it says | formula | variable low high, variable low high, …

and its variables become x1, x2, … in the order of the last column. The list in common use breaks II.13.17,
where the current I was read as the imaginary unit; here it is a current.
"""

import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from nsr.book.foreign_files import Kind, read_lines
from nsr.data.problems import Problem
from nsr.data.rescaling import Units
from nsr.formulas.expressions import CONSTANT, Prefix, Valued
from nsr.formulas.parsing import parse
from nsr.numbers.fitting import fit_constants
from nsr.numbers.simplification import is_strained, simplify

# A formula of the right form leaves at most so much of the variance, by rounding; its constants are not larger.
EXACT, LARGEST = 1e-10, 1e3

FILE = Path(__file__).with_name("laws.txt")


@dataclass(frozen=True)
class Equation:
    """One law: where it stands in the lectures, in words and as a formula, its variables in order and their
    ranges."""

    lecture: str
    law: str
    formula: str  # in physical names
    names: tuple[str, ...]
    ranges: tuple[tuple[float, float], ...]

    @cached_property
    def parsed(self) -> Valued:
        """Prefix tuple over x1, x2, … and its constants.

        >>> next(e for e in equations() if e.lecture == "I.39.10").parsed
        (('div', 'mul', 'C', 'mul', 'x1', 'x2', 'C'), (3.0, 2.0))
        """
        number = {name: f"x{i}" for i, name in enumerate(self.names, start=1)}
        formula = without_tanh(self.formula)
        return parse(re.sub(r"[A-Za-z]\w*", lambda word: number.get(word[0], word[0]), formula))

    def problem(
        self, rng: np.random.Generator, n_points: int = 100, n_fresh: int = 100, noise: float = 0.0
    ) -> Problem:
        """Points of the law, uniform in its ranges; `noise` is a share of y's standard deviation, on the
        given points only."""
        where = {"support": self.ranges, "n_variables": len(self.names), "name": f"feynman-{self.lecture}"}
        return Problem.from_expression(
            *self.parsed, rng=rng, n_points=n_points, n_fresh=n_fresh, noise=noise, **where
        )

    def has_form(
        self,
        prefix: Prefix,
        constants: tuple[float, ...] = (),
        units: Units | None = None,
        n_points: int = 500,
    ) -> bool:
        """Whether the law is this expression with some constants: fitted to its clean values, nothing is
        left, and none is enormous or tiny but a summand before the whole, which some programs always write.

        `constants` are where to start from, and those that meet are one; `units` are those of the expression,
        if not the law's own.

        >>> lens = next(e for e in equations() if e.lecture == "I.27.6")  # 1 / (1/d1 + n/d2)
        >>> lens.has_form(parse("x1*x2/(x2 + x1*x3)")[0]), lens.has_form(parse("x1*x2/(x2 + x3)")[0])
        (True, False)
        """
        problem = self.problem(np.random.default_rng(len(self.lecture)), n_points, 2)
        problem = units.problem(problem) if units else problem
        prefix, constants = simplify(prefix, constants) if constants else (prefix, ())
        fit = fit_constants(prefix, problem.X, problem.y, initial=constants or None)
        apart = fit.constants[prefix[:2] == ("add", CONSTANT) :]
        return 1.0 - fit.r2 <= EXACT and not is_strained(apart, LARGEST)


@cache
def equations() -> tuple[Equation, ...]:
    """The 92 equations, in the order of the lectures.

    >>> len(equations()), equations()[4].formula
    (92, 'm0/sqrt(1 - v**2/c**2)')
    """
    rows = [map(str.strip, line.split("|")) for line in read_lines(FILE, Kind("a list of laws", ValueError))]
    return tuple(
        Equation(lecture, law, formula, *_variables(ranges)) for lecture, law, formula, ranges in rows
    )


def _variables(text: str) -> tuple[tuple[str, ...], tuple[tuple[float, float], ...]]:
    """Names and ranges of 'm0 1 5, v 1 2'."""
    words = [part.split() for part in text.split(",")]
    return tuple(w[0] for w in words), tuple((float(w[1]), float(w[2])) for w in words)


def without_tanh(formula: str) -> str:
    """tanh u = 1 − 2/(exp 2u + 1): no vocabulary has a token for it.

    >>> without_tanh("a*tanh(b/(c*d))")
    'a*(1 - 2/(exp(2*(b/(c*d))) + 1))'
    """
    before, found, rest = formula.partition("tanh(")
    if not found:
        return formula
    depth, end = 1, 0
    while depth := depth + {"(": 1, ")": -1}.get(rest[end], 0):
        end += 1
    return f"{before}(1 - 2/(exp(2*({rest[:end]})) + 1)){rest[end + 1 :]}"
