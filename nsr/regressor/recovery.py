"""Recovery: which laws of FastSRB `NSRegressor` and pyoperon find from 512 rows, in so many seconds of one processor.

A law is *recovered*, as others count it in public, if on fresh rows at most 1.19e-7 of the variance of y is left
unexplained. The answer *is the law* if it equals one of the forms that FastSRB accepts, however it is written, also
where the columns go far beyond the rows; a series that fits in the rows alone is not. With noise no constant is
exact: the answer *has the form* of the law if it equals one once its constants are fitted to clean values.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nsr.book.foreign_files import Kind, read_yaml
from nsr.book.run_records import ROOT, progress
from nsr.data.fastsrb import N_GIVEN, PARTS, PublicLaw, public_laws
from nsr.data.practical_sets import practical_set
from nsr.data.problems import Problem
from nsr.data.rescaling import Units
from nsr.evidence.reference_tables import Job
from nsr.formulas.expressions import VARIABLES, ExpressionError, Valued
from nsr.formulas.parsing import parse
from nsr.network.checkpoints import Trained, weights_digest
from nsr.numbers.evaluation import evaluate, r2_score
from nsr.numbers.fitting import fit_constants
from nsr.numbers.simplification import simplify
from nsr.regressor.baselines import OURS, as_prefix, available, fit_baseline, on_one_core
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
BUDGETS = (1.0, 3.0, 9.0, 30.0)  # seconds of the processor
WITHOUT = "no network"  # NSRegressor whose local search begins with random formulas and asks no network
SEEDS, NOISES = (0, 1, 2), (0.001, 0.01, 0.1)
LATE = 9.0  # seconds: larger budgets are measured after everything else but other seeds
RELEASE = 3  # of the method: the test part is measured once for each
SETTINGS = 2  # of the other programs
COMBINING = 3  # of the rule of nsr.search.combinations, by which tables without a law are answered
# of the other programs on these tables: the speed of the machine decides what they reach
SITTING = 2
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


def has_form(law: PublicLaw, formula: Valued, seed: int = 0) -> bool:
    """Whether a formula is the law but for the values of its constants, which noise moves: fitted to clean values
    at the given rows, it equals an accepted form far outside of them, too."""
    problem = law.problem(seed)
    prefix, constants = simplify(*formula)
    fit = fit_constants(prefix, problem.X, problem.y, initial=constants or None, starts=0)
    return fit.r2 > FAILED and is_law(law, (prefix, fit.constants))


def as_numbered(model: NSRegressor) -> Valued:
    """The answer in x1, x2, … as the columns of X are numbered, also where not all of them were searched in."""
    prefix, constants = model._formula(0)
    names = {VARIABLES[k]: VARIABLES[j] for k, j in enumerate(model._indices)}
    return tuple(names.get(token, token) for token in prefix), constants


def answered(
    program: str, problem: Problem, seconds: float, seed: int, weights: str
) -> tuple[Callable[[np.ndarray], np.ndarray], str, Valued | None, str]:
    """What a program makes of a table: how it predicts, its answer as text and in x1, x2, …, and what ended it.

    pyoperon, which computes in single precision, gets columns and y divided by powers of ten.
    """
    if program in (OURS, WITHOUT):
        strategy = "local" if program == OURS else "local-random"
        model = Timed(weights, strategy, max_time=seconds, random_state=seed).fit(problem.X, problem.y)
        return model.predict, model.formula_, as_numbered(model), model.stopped_
    units = Units.of(problem.X, problem.y)
    scaled = units.problem(problem)
    model, text = fit_baseline(program, scaled.X, scaled.y, seconds, seed, tuned=True)
    parsed = as_prefix(program, text)

    def predict(X: np.ndarray) -> np.ndarray:
        return units.y_shift + units.y_scale * np.asarray(model.predict(units.x(X)), float)

    return predict, text, parsed and units.back(*parsed), "seconds"


def recovery(
    law: PublicLaw,
    seconds: float,
    seed: int = 0,
    noise: float = 0.0,
    weights: str = "auto",
    program: str = OURS,
) -> dict:
    """One fit of one law: the line of the table."""
    problem = law.problem(seed, noise=noise)
    answer, left, is_the_law, form, stopped, why = "", float("inf"), False, False, "", ""
    wall, begun = time.perf_counter(), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predict, answer, formula, stopped = answered(program, problem, seconds, seed, weights)
            took = time.process_time() - begun, time.perf_counter() - wall
            fresh = r2_score(problem.y_fresh, predict(problem.X_fresh))
        left = 1.0 - (fresh if fresh > FAILED else float("-inf"))
        if formula:
            is_the_law = is_law(law, formula)
            form = is_the_law or has_form(law, formula, seed)
    except (ValueError, ArithmeticError, RuntimeError) as error:  # a failure counts; the other laws go on
        why, took = str(error), (time.process_time() - begun, time.perf_counter() - wall)
    return {
        "law": law.name,
        "part": law.part,
        "outside": law.outside,
        "program": program,
        "budget": seconds,
        "seed": seed,
        "noise": noise,
        "left": left,
        "recovered": left <= RECOVERED,
        "is_the_law": is_the_law,
        "form": form,
        "answer_infix": answer,
        "processor": round(took[0], 3),
        "seconds": round(took[1], 3),
        "stopped": stopped,
        "why": why,
    }


def is_final(line: Mapping) -> bool:
    """Whether a larger budget would not change a line: a fit of ours that came to an end by itself, and whatever
    another program has recovered."""
    if line["program"] in (OURS, WITHOUT):
        by_itself = "seconds" not in line["stopped"] and not line["why"]
        return by_itself and line["processor"] <= line["budget"]
    return line["recovered"]


@dataclass(frozen=True)
class Block:
    """Some laws of a part, measured in one go and written together; `ended` are final lines of smaller budgets."""

    program: str
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
        for law in progress(
            self.laws(), label=f"{self.program} {self.part} {self.number}, {self.seconds:g} s"
        ):
            line = self.ended.get(law.name) or recovery(
                law, self.seconds, self.seed, self.noise, self.weights, self.program
            )
            if is_final(line):
                self.ended[law.name] = line
            rows.append(line | {"budget": self.seconds})
        return pd.DataFrame(rows)


def recovery_jobs(
    trained: Trained,
    budgets: Sequence[float] = BUDGETS,
    parts: Sequence[str] = PARTS,
    *,
    program: str = OURS,
    seed: int = 0,
    noise: float = 0.0,
    comparable: bool = True,
    done: pd.DataFrame | None = None,
) -> list[Job]:
    """A job for each block of laws and each budget, the small budgets first. Where the file of laws or the program
    is not here, lines of a table can be read; with `comparable=False` also those of other weights. `done` are lines
    of an interrupted measurement."""
    ours = program in (OURS, WITHOUT)
    try:
        public_laws()
        here = ours or program in available()
    except FileNotFoundError:
        here = False
    version = importlib.metadata.version(program) if here and not ours else ""
    weights, digest = ("full", weights_digest(trained)) if ours else (program, version)
    jobs = []
    ended: dict[str, dict] = {}
    if done is not None and len(done):
        mine = done[(done.program == program) & (done.seed == seed) & (done.noise == noise)].fillna("")
        ended = {line["law"]: line for line in mine.to_dict("records") if is_final(line)}
    for seconds in budgets:
        for part in parts:
            for number in range(BLOCKS[part]):
                block = Block(program, part, number, seconds, seed, noise, str(trained.folder), ended)
                known = {
                    "strategy": program,
                    "test_set": "fastsrb",
                    "part": part,
                    "block": f"{number} of {BLOCKS[part]}",
                    "seconds": seconds,
                    "seed": seed,
                    "noise": noise,
                    "n_points": N_GIVEN,
                    "release": RELEASE if ours else SETTINGS,
                    "weights": weights,
                    "weights_digest": digest,
                }
                make = partial(on_one_core, block.lines) if here else None
                label = f"{program} {part} {number}, {seconds:g} s"
                jobs.append(Job(label, known, make, comparable and (ours or here)))
    return jobs


def published() -> dict[str, dict[str, dict[float, float]]]:
    """What others report (params/fastsrb_published.yaml), in %: without noise by seconds, with noise by its level.

    >>> published()["without_noise"]["PySR"][1]
    8
    """
    return read_yaml(ROOT / "params" / "fastsrb_published.yaml", Kind("published numbers", ValueError))


def black_box_lines(program: str, seconds: float, seed: int, weights: str) -> pd.DataFrame:
    """One fit of every black-box table: R² on the quarter of its rows that was held out."""
    import pandas as pd

    rows = []
    for problem in progress(practical_set("black_box", seed=seed), label=f"{program} black box"):
        begun, answer, r2, why = time.process_time(), "", FAILED, ""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if program in YARDSTICKS:
                    predict = YARDSTICKS[program](seed).fit(problem.X, problem.y).predict
                else:
                    predict, answer, *_ = answered(program, problem, seconds, seed, weights)
                took = time.process_time() - begun
                r2 = r2_score(problem.y_fresh, predict(problem.X_fresh))
        except (ValueError, ArithmeticError, RuntimeError) as error:
            why, took = str(error), time.process_time() - begun
        line = {"problem": problem.name, "program": program, "budget": seconds, "seed": seed, "r2": r2}
        rows.append(line | {"answer_infix": answer, "processor": round(took, 3), "stopped": "", "why": why})
    return pd.DataFrame(rows)


def _line(seed: int) -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression()


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(random_state=seed, n_jobs=1)


YARDSTICKS: dict[str, Callable[[int], Any]] = {"linear model": _line, "random forest": _forest}


def black_box_jobs(
    trained: Trained, seconds: float, seeds: Sequence[int] = SEEDS, comparable: bool = True
) -> list[Job]:
    """Ours, pyoperon, a linear model and a random forest on the black-box tables; each seed is another split."""
    jobs = []
    for seed, program in itertools.product(seeds, (OURS, "pyoperon", *YARDSTICKS)):
        ours, here = program == OURS, program != "pyoperon" or "pyoperon" in available()
        version = importlib.metadata.version("pyoperon") if program == "pyoperon" and here else ""
        known = {
            "strategy": program,
            "test_set": "black_box",
            "seconds": seconds,
            "seed": seed,
            "release": f"{RELEASE}, combining {COMBINING}" if ours else f"{SETTINGS}, sitting {SITTING}",
            "weights": "full" if ours else program,
            "weights_digest": weights_digest(trained) if ours else version,
        }
        make = partial(black_box_lines, program, seconds, seed, str(trained.folder))
        make = partial(on_one_core, make) if here else None
        jobs.append(Job(f"{program}, split {seed}", known, make, comparable and here))
    return jobs


def release_jobs(trained: Trained, comparable: bool = True, done: pd.DataFrame | None = None) -> list[Job]:
    """All that is measured of a release of the method, what says most first: ours and pyoperon against time, without
    the network, with noise, other seeds."""
    of = partial(recovery_jobs, trained, comparable=comparable, done=done)
    test = ("test",)
    ours, theirs = of(), of(parts=test, program="pyoperon")
    late = [job for job in (*ours, *theirs) if job.parameters["seconds"] > LATE]
    jobs = [job for job in (*ours, *theirs) if job not in late]
    jobs += of((1.0, 9.0), test, program=WITHOUT)
    for noise in NOISES:
        jobs += of((1.0,), test, noise=noise)
    jobs += late
    for seed in SEEDS[1:]:
        jobs += of((1.0,), test, seed=seed)
        jobs += of((1.0,), test, seed=seed, program="pyoperon")
    return jobs
