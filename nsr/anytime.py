"""Any-time reading: what a search would have answered at smaller budgets, from the trace of one run."""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nsr.bias import TrainingSet, tidy
from nsr.engine import Budget, Strategy, solve_all
from nsr.evaluation import N_POINTS, N_PROBLEMS, problems_of
from nsr.results import Result

if TYPE_CHECKING:
    import pandas as pd

    from nsr.checkpoint import Trained


def at_budget(result: Result, candidates: float = math.inf, seconds: float = math.inf) -> Result:
    """The result as it would have been with this budget: the best so far; the costs are what had been spent, at most the budget.

    For strategies that answer with the best they verified.  Tokens are those at the last change of the answer.
    """
    if result.n_candidates <= candidates and result.seconds <= seconds:
        return result
    reached = [p for p in result.trace if p.candidates <= candidates and p.seconds <= seconds]
    limits = [f"{value:g} {name}" for name, value in (("candidates", candidates), ("seconds", seconds)) if math.isfinite(value)]
    return replace(result, answer=reached[-1].best if reached else None, generated=Counter(), candidates=(),
                   n_candidates=int(min(result.n_candidates, candidates)), n_tokens=reached[-1].tokens if reached else 0,
                   seconds=min(result.seconds, seconds), n_fits=0, stopped=f"budget of {' and '.join(limits)} spent")


def at_budgets(results: Iterable[Result], candidates: Sequence[float] = (), seconds: Sequence[float] = (),
               reference: TrainingSet | None = None, **columns: Any) -> pd.DataFrame:
    """The tidy table (nsr.bias.tidy) at several budgets: one row per problem and budget, named in the columns `budget` and `unit`."""
    import pandas as pd

    results, parts = list(results), []
    for unit, budgets in (("candidates", candidates), ("seconds", seconds)):
        for budget in budgets:
            then = [at_budget(result, **{unit: budget}) for result in results]
            parts.append(tidy(then, reference, unit=unit, budget=budget, **columns))
    return pd.concat(parts, ignore_index=True)


def measure_at(trained: Trained, strategy: Strategy, test_set: str, seed: int = 0, n_problems: int = N_PROBLEMS, *,
               candidates: Sequence[int] = (50, 150, 450), seconds: Sequence[float] = (), n_points: int = N_POINTS,
               reference: TrainingSet | None = None, label: str | None = None, **columns: Any) -> pd.DataFrame:
    """Search a test set once, with the largest of the candidate budgets, and read the answers at all budgets off this run."""
    problems = problems_of(trained, test_set, seed, n_problems, n_points)
    results = solve_all(problems, strategy, trained, budget=Budget(candidates=max(candidates)), seed=seed, progress=label)
    return at_budgets(results, candidates, seconds, reference or TrainingSet.of(trained), test_set=test_set, **columns)
