"""What a user would pick instead: gplearn and pyoperon, genetic programming from pip, with the same wall time
and no tuning.

Both are an optional extra (`pip install 'nsr-lab[baselines]'`). They get the operators of FULL that they
have, on one core, and their own defaults for the rest; what ends them is the clock.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import math
import re
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nsr.book.run_records import progress
from nsr.data.problems import Problem
from nsr.evidence.measuring import jobs_of
from nsr.evidence.practical import practical_problems
from nsr.evidence.reference_tables import Job
from nsr.evidence.rows import Row
from nsr.formulas.expressions import CONSTANT, Valued, is_valid
from nsr.formulas.parsing import parse
from nsr.network.checkpoints import Trained
from nsr.numbers.evaluation import r2_score
from nsr.numbers.fitting import on_cores
from nsr.search.oracle import FAILED

if TYPE_CHECKING:
    import pandas as pd

OURS, BASELINES = "NSRegressor", ("gplearn", "pyoperon")
# The operators of our vocabulary FULL by their names in each package. gplearn has no exp and no asin.
_OPERATORS = {
    "gplearn": ("add", "sub", "mul", "div", "sqrt", "log", "sin", "cos", "tan"),
    "pyoperon": "add,sub,mul,div,square,sqrt,log,exp,sin,cos,tan,asin,constant,variable",
}


def available() -> list[str]:
    """The baselines that are installed."""
    return [name for name in BASELINES if importlib.util.find_spec(name) is not None]


def fit_baseline(
    name: str, X: np.ndarray, y: np.ndarray, seconds: float, seed: int = 0, tuned: bool = False
) -> tuple[Any, str]:
    """A fitted regressor with `predict`, and its formula as text, after about so many seconds; `tuned`: pyoperon
    with settings that were chosen here, not with its defaults."""
    if name not in BASELINES:
        raise ValueError(f"no baseline {name!r}; there are {', '.join(BASELINES)}")
    if name not in available():
        raise ImportError(f"{name} is not installed. Run: pip install 'nsr-lab[baselines]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overflow in a candidate is part of their search
        return _gplearn(X, y, seconds, seed) if name == "gplearn" else _pyoperon(X, y, seconds, seed, tuned)


def _gplearn(X: np.ndarray, y: np.ndarray, seconds: float, seed: int) -> tuple[Any, str]:
    genetic = importlib.import_module("gplearn.genetic")
    model = genetic.SymbolicRegressor(generations=1, function_set=_OPERATORS["gplearn"], random_state=seed)
    started = time.perf_counter()
    while True:  # it knows generations only: one more as long as there is time for one like the last
        begun = time.perf_counter()
        model.fit(X, y)
        now = time.perf_counter()
        if now - started + (now - begun) > seconds:
            return model, str(model)
        model.set_params(generations=model.generations + 1, warm_start=True)


# Chosen for pyoperon on the development laws of FastSRB; its defaults fit no constants.
OPERON_SETTINGS = {
    "optimizer_iterations": 1,
    "objectives": ["r2", "length"],
    "model_selection_criterion": "mean_squared_error",
}


def _pyoperon(X: np.ndarray, y: np.ndarray, seconds: float, seed: int, tuned: bool) -> tuple[Any, str]:
    """Its clock knows whole seconds of the wall; on a busy machine it goes on until it has had them of the processor."""
    operon = importlib.import_module("pyoperon.sklearn")
    endless, begun = 2**31 - 1, time.process_time()
    model = operon.SymbolicRegressor(
        allowed_symbols=_OPERATORS["pyoperon"],
        generations=endless,
        max_evaluations=endless,
        n_threads=1,
        random_state=seed,
        **OPERON_SETTINGS if tuned else {},
    )
    while (left := seconds - (time.process_time() - begun)) > 0.05 * seconds:
        model.set_params(max_time=max(1, math.ceil(left)))
        model.fit(X, y)
        model.set_params(warm_start=True)
    return model, model.get_model_string(model.model_, precision=12)


def as_prefix(name: str, text: str) -> Valued | None:
    """A formula in the notation of a package as a prefix tuple and its constants; None if it has an operator
    that is not in FULL.

    >>> as_prefix("gplearn", "mul(X1, sub(X0, -0.5))"), as_prefix("pyoperon", "(2.0 * (X2 ^ 2))")
    ((('mul', 'x2', 'sub', 'x1', 'C'), (-0.5,)), (('mul', 'C', 'pow2', 'x2'), (2.0,)))
    """
    try:
        if name != "gplearn":
            return parse(text.replace("X", "x").replace("^", "**"))
        words = re.findall(r"[^\s(),]+", text)
        numbers = tuple(float(word) for word in words if word[-1].isdigit() and word[0] != "X")
        prefix = tuple(
            f"x{int(word[1:]) + 1}" if word[0] == "X" else CONSTANT if word[-1].isdigit() else word
            for word in words
        )
        return (prefix, numbers) if is_valid(prefix) else None
    except ValueError:
        return None


def measure_baselines(
    problems: list[Problem],
    seconds: float,
    seed: int = 0,
    names: list[str] | None = None,
    **columns: Any,
) -> pd.DataFrame:
    """One line per problem and baseline, with the columns that the strategies' tables share: r2 on fresh
    points, r2_given, seconds."""
    import pandas as pd

    rows = []
    for name, problem in progress(
        [(n, p) for n in names or available() for p in problems], label=" and ".join(names or available())
    ):
        started, answer, given, fresh, why = time.perf_counter(), "", FAILED, FAILED, ""
        try:
            model, answer = fit_baseline(name, problem.X, problem.y, seconds, seed)
            given = r2_score(problem.y, model.predict(problem.X))
            fresh = given
            if problem.X_fresh is not None:
                fresh = r2_score(problem.y_fresh, model.predict(problem.X_fresh))
        except (ValueError, ArithmeticError, RuntimeError) as error:  # the others go on
            why = str(error)
        rows.append(
            {
                "strategy": name,
                "problem": problem.name,
                "seed": seed,
                "answer_infix": answer,
                "r2": fresh,
                "r2_given": given,
                "seconds": round(time.perf_counter() - started, 3),
                "why": why,
                "stopped": "",
                **columns,
            }
        )
    return pd.DataFrame(rows)


def same_time(
    rows: Iterable[Row], networks: Mapping[str, Trained], names: Collection[str] | None = None
) -> list[Job]:
    """Each row, whose budget is some seconds per problem, then the baselines with these problems and seconds, all on
    one core.

    A baseline that is not installed (not among `names`) cannot be run, but its lines can be read.
    """
    jobs, names = [], available() if names is None else names
    for row in rows:
        (ours,) = jobs_of([row], networks)
        jobs.append(replace(ours, make=partial(on_one_core, ours.make)))
        # The order of the keys is part of a run's name in the tables.
        about = {name: getattr(row, name) for name in ("seed", "test_set", "noise", "n_points", "limit")}
        about["seconds"] = row.budget.seconds
        for name in BASELINES:
            # The digest of a baseline is its version: another version's numbers are dropped.
            runs = name in names
            version = importlib.metadata.version(name) if runs else ""
            known = {"strategy": name, **about, "weights": name, "weights_digest": version}
            make = partial(on_one_core, partial(_lines, name, row)) if runs else None
            jobs.append(Job(f"{name} {row.test_set}", known, make, comparable=runs))
    return jobs


def on_one_core(make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with on_cores(1):
            return make()
    finally:
        torch.set_num_threads(threads)


def _lines(name: str, row: Row) -> pd.DataFrame:
    return measure_baselines(
        practical_problems(row),
        row.budget.seconds,
        row.seed,
        [name],
        test_set=row.test_set,
        noise=row.noise,
    )
