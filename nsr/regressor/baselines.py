"""What a user would pick instead: gplearn and pyoperon, genetic programming from pip, with the same wall time
and no tuning.

Both are an optional extra (`pip install 'nsr-lab[baselines]'`). They get the operators of FULL that they
have, on one core, and their own defaults for the rest; what ends them is the clock. `NSRegressor`, as a user
would call it, stands beside them.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import math
import re
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nsr.book.run_records import progress
from nsr.data.practical_sets import practical_set
from nsr.data.problems import Problem
from nsr.evidence.practical import PracticalRow, job_of
from nsr.evidence.reference_tables import Job, fill, weights_digest
from nsr.formulas.expressions import CONSTANT, Valued, is_valid
from nsr.formulas.parsing import parse
from nsr.network.checkpoints import Trained
from nsr.numbers.evaluation import r2_score
from nsr.numbers.fitting import on_cores
from nsr.regressor.estimator import NSRegressor
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
    name: str, X: np.ndarray, y: np.ndarray, seconds: float, seed: int = 0, weights: str = "auto"
) -> tuple[Any, str]:
    """A fitted regressor with `predict`, and its formula as text, after about so many seconds. `weights` are
    those of NSRegressor."""
    if name == OURS:
        model = NSRegressor(weights, max_time=seconds, random_state=seed).fit(X, y)
        return model, model.formula_
    if name not in BASELINES:
        raise ValueError(f"no baseline {name!r}; there are {', '.join(BASELINES)}")
    if name not in available():
        raise ImportError(f"{name} is not installed. Run: pip install 'nsr-lab[baselines]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overflow in a candidate is part of their search
        return _gplearn(X, y, seconds, seed) if name == "gplearn" else _pyoperon(X, y, seconds, seed)


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


def _pyoperon(X: np.ndarray, y: np.ndarray, seconds: float, seed: int) -> tuple[Any, str]:
    operon = importlib.import_module("pyoperon.sklearn")
    endless = 2**31 - 1
    model = operon.SymbolicRegressor(
        allowed_symbols=_OPERATORS["pyoperon"],
        generations=endless,
        max_evaluations=endless,
        max_time=max(1, math.ceil(seconds)),
        n_threads=1,
        random_state=seed,
    )
    model.fit(X, y)
    return model, model.get_model_string(model.model_, precision=6)


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
    weights: str = "auto",
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
            model, answer = fit_baseline(name, problem.X, problem.y, seconds, seed, weights)
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


def measure_same_time(
    rows: Iterable[PracticalRow], path: Path, networks: Mapping[str, Trained], names: list[str] | None = None
) -> pd.DataFrame:
    """Each row, whose budget is some seconds per problem, and then NSRegressor with its network and the
    baselines, with these problems and seconds, all on one core."""
    jobs = []
    for row in rows:
        ours = job_of(row, networks[row.weights])
        jobs.append(replace(ours, make=partial(_on_one_core, ours.make)))
        about = {name: getattr(row, name) for name in ("test_set", "noise", "n_points", "limit")}
        about["seconds"] = row.budget.seconds
        made_with = {OURS: (row.weights, weights_digest(networks[row.weights]))}
        # Another version's numbers are dropped.
        made_with |= {name: (name, importlib.metadata.version(name)) for name in names or available()}
        for name, (weights, digest) in made_with.items():
            known = {"strategy": name, "seed": row.seed, **about}
            known |= {"weights": weights, "weights_digest": digest}
            make = partial(_lines, name, row, str(networks[row.weights].folder))
            jobs.append(Job(f"{name} {row.test_set}", known, partial(_on_one_core, make)))
    return fill(jobs, path)


def _on_one_core(make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with on_cores(1):
            return make()
    finally:
        torch.set_num_threads(threads)


def _lines(name: str, row: PracticalRow, weights: str) -> pd.DataFrame:
    problems = practical_set(
        row.test_set,
        seed=row.seed,
        n_points=row.n_points,
        n_fresh=row.n_points,
        noise=row.noise,
        limit=row.limit,
    )
    return measure_baselines(
        problems, row.budget.seconds, row.seed, [name], weights, test_set=row.test_set, noise=row.noise
    )
