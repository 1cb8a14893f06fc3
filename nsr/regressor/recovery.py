"""Recovery: which laws of FastSRB `NSRegressor` finds from 512 rows, in so many seconds of one processor.

A law is *recovered*, as others count it in public, if on fresh rows at most 1.19e-7 of the variance of y is left
unexplained. The answer *is the law* if it equals one of the forms that FastSRB accepts, however it is written, also
where the columns go far beyond the rows; a series that fits in the rows alone is not.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nsr.book.run_records import progress
from nsr.data.fastsrb import N_GIVEN, PARTS, PublicLaw, public_laws
from nsr.evidence.reference_tables import Job
from nsr.formulas.expressions import VARIABLES, ExpressionError, Valued
from nsr.formulas.parsing import parse
from nsr.network.checkpoints import Trained, weights_digest
from nsr.numbers.evaluation import evaluate, r2_score
from nsr.regressor.baselines import OURS, on_one_core
from nsr.regressor.estimator import NSRegressor
from nsr.search.engine import ProcessorBudget
from nsr.search.oracle import FAILED

if TYPE_CHECKING:
    import pandas as pd

RECOVERED = 1.19e-7  # share of the variance that may be left, as published
SAME, NEARLY_ALL = (
    1e-5,
    0.95,
)  # relative difference of equal values, and the share of rows where they are equal
BUDGETS = (1.0, 9.0, 30.0)  # seconds of the processor
BLOCKS = {
    "development": 3,
    "test": 12,
}  # rows of the table for each budget: what an interrupted measurement loses


class Timed(NSRegressor):
    """NSRegressor whose max_time is in seconds of the processor, so that other work on the machine takes
    nothing from it."""

    _clock, _budget = staticmethod(time.process_time), ProcessorBudget


def is_law(law: PublicLaw, formula: Valued) -> bool:
    """Whether a formula equals one of the accepted forms in much wider ranges, at nearly all rows.

    Forms with an operator that is in no vocabulary (a number to the power of an expression, cosh) are left out.
    """
    X = law.wide_rows()
    with np.errstate(all="ignore"):
        values = evaluate(formula[0], X, formula[1])
        for text in (law.formula, *law.forms):
            try:
                prefix, constants = parse(text)
            except ExpressionError:
                continue
            wanted = evaluate(prefix, X, constants)
            known = np.isfinite(wanted)
            close = np.abs(values - wanted) <= SAME * np.abs(wanted)  # false for nan
            if known.mean() > 0.1 and close[known].mean() > NEARLY_ALL:
                return True
    return False


def as_numbered(model: NSRegressor) -> Valued:
    """The answer in x1, x2, … as the columns of X are numbered, also where not all of them were searched in."""
    prefix, constants = model._formula(0)
    names = {VARIABLES[k]: VARIABLES[j] for k, j in enumerate(model._indices)}
    return tuple(names.get(token, token) for token in prefix), constants


def recovery(
    law: PublicLaw, seconds: float, seed: int = 0, noise: float = 0.0, weights: str = "auto"
) -> dict:
    """One fit of one law: the line of the table."""
    problem = law.problem(seed, noise=noise)
    answer, left, is_the_law, stopped, why = "", float("inf"), False, "", ""
    wall, begun = time.perf_counter(), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = Timed(weights, max_time=seconds, random_state=seed).fit(problem.X, problem.y)
            took = time.process_time() - begun, time.perf_counter() - wall
            fresh = r2_score(problem.y_fresh, model.predict(problem.X_fresh))
        answer, stopped = model.formula_, model.stopped_
        left = 1.0 - (fresh if fresh > FAILED else float("-inf"))
        is_the_law = is_law(law, as_numbered(model))
    except (ValueError, ArithmeticError, RuntimeError) as error:  # a failure counts; the other laws go on
        why, took = str(error), (time.process_time() - begun, time.perf_counter() - wall)
    return {
        "law": law.name,
        "part": law.part,
        "outside": law.outside,
        "budget": seconds,
        "left": left,
        "recovered": left <= RECOVERED,
        "is_the_law": is_the_law,
        "answer_infix": answer,
        "processor": round(took[0], 3),
        "seconds": round(took[1], 3),
        "stopped": stopped,
        "why": why,
    }


@dataclass(frozen=True)
class Block:
    """Some laws of a part, measured in one go and written together; `ended` are lines of fits that came to an end
    by themselves, which a larger budget would not change."""

    part: str
    number: int
    seconds: float
    seed: int
    noise: float
    weights: str
    ended: dict[str, dict] = field(default_factory=dict)

    def laws(self) -> list[PublicLaw]:
        n = BLOCKS[self.part]
        return [law for law in public_laws(self.part) if law.number % n == self.number]

    def lines(self) -> pd.DataFrame:
        import pandas as pd

        rows = []
        for law in progress(self.laws(), label=f"{self.part} {self.number}, {self.seconds:g} s"):
            line = self.ended.get(law.name) or recovery(
                law, self.seconds, self.seed, self.noise, self.weights
            )
            if "seconds" not in line["stopped"] and not line["why"] and line["processor"] <= line["budget"]:
                self.ended[law.name] = line
            rows.append(line | {"budget": self.seconds})
        return pd.DataFrame(rows)


def recovery_jobs(
    trained: Trained,
    budgets: Sequence[float] = BUDGETS,
    parts: Sequence[str] = PARTS,
    *,
    seed: int = 0,
    noise: float = 0.0,
    comparable: bool = True,
) -> list[Job]:
    """A job for each block of laws and each budget, the small budgets first. Where the file of laws is not here,
    lines of a table can be read; with `comparable=False` also those of other weights."""
    try:
        public_laws()
        here = True
    except FileNotFoundError:
        here = False
    jobs = []
    ended: dict[str, dict] = {}
    for seconds in budgets:
        for part in parts:
            for number in range(BLOCKS[part]):
                block = Block(part, number, seconds, seed, noise, str(trained.folder), ended)
                known = {
                    "strategy": OURS,
                    "test_set": "fastsrb",
                    "part": part,
                    "block": f"{number} of {BLOCKS[part]}",
                    "seconds": seconds,
                    "seed": seed,
                    "noise": noise,
                    "n_points": N_GIVEN,
                    "weights": "full",
                    "weights_digest": weights_digest(trained),
                }
                make = partial(on_one_core, block.lines) if here else None
                jobs.append(Job(f"{part} {number}, {seconds:g} s", known, make, comparable))
    return jobs
