"""Measuring on the practical test sets: laws, data and formulas of five variables, in the units of a user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsr.data.practical_sets import practical_set
from nsr.data.problems import Problem
from nsr.evidence.novelty import TrainingSet, tidy
from nsr.evidence.rows import Row
from nsr.network.checkpoints import Trained
from nsr.search.model_selection import shortest
from nsr.search.oracle import FAILED, r2_fresh
from nsr.search.result import Result
from nsr.search.subsampling import solve_bagged

if TYPE_CHECKING:
    import pandas as pd


def practical_problems(row: Row) -> list[Problem]:
    """The problems of a row."""
    n = row.n_points
    return practical_set(row.test_set, seed=row.seed, n_points=n, n_fresh=n, noise=row.noise, limit=row.limit)


def measure_practical(trained: Trained, row: Row, label: str | None = None) -> pd.DataFrame:
    """One line per problem: see `nsr.evidence.novelty.tidy`; `r2_short` is the held-out R² of the candidate
    with the shortest description."""
    reference = TrainingSet.of(trained, only=("novel",))
    options = {
        "n_bags": row.n_bags,
        "budget": row.budget,
        "fit": row.fit,
        "seed": row.seed,
        "progress": label,
    }
    results = solve_bagged(practical_problems(row), row.strategy, trained, **options, reference=reference)
    return tidy(
        results,
        reference,
        test_set=row.test_set,
        weights=row.weights or trained.name,
        noise=row.noise,
        n_bags=row.n_bags,
    ).assign(r2_short=[_r2_short(result) for result in results])


def _r2_short(result: Result) -> float:
    choice = shortest(result.candidates, len(result.problem.y), result.problem.floor)
    return FAILED if choice is None else r2_fresh(result.problem, choice)
