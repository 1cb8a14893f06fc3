"""Measuring on the practical test sets: strategies, and the table that compares them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsr.book.run_records import clock
from nsr.data.practical_sets import practical_set
from nsr.evidence.novelty import SENSES, TrainingSet, tidy
from nsr.evidence.reference_tables import Job, fill, read_rows, weights_digest
from nsr.formulas.equivalence import template_of
from nsr.formulas.expressions import Prefix, is_valid
from nsr.network.checkpoints import Trained
from nsr.search.engine import Budget, Strategy
from nsr.search.model_selection import shortest
from nsr.search.oracle import FAILED, r2_fresh
from nsr.search.result import Result
from nsr.search.subsampling import solve_bagged

if TYPE_CHECKING:
    import pandas as pd


class KnownTemplates(TrainingSet):
    """A training set of any size that knows the paper's sense of novelty only; the others would take minutes
    for a million templates."""

    def __init__(self, templates: frozenset[Prefix]) -> None:
        self.templates, self.seen, self._known = (
            templates,
            None,
            {},
        )  # exported templates are canonical already

    def novelty(self, prefix: Prefix | None) -> dict[str, bool | None]:
        novel = prefix is not None and is_valid(prefix) and template_of(prefix) not in self.templates
        return dict.fromkeys(SENSES) | {"novel": novel}


@dataclass(frozen=True)
class PracticalRow:
    """One strategy on one practical set: which network, how much noise, how many bags, and a limit per
    problem."""

    strategy: Strategy
    test_set: str
    weights: str
    seed: int = 0
    noise: float = 0.0
    n_bags: int = 1
    n_points: int = 100
    limit: int | None = None
    budget: Budget | None = None

    def parameters(self, trained: Trained) -> dict[str, Any]:
        """All that decides the numbers of this row, apart from the code."""
        own = {key: value for key, value in asdict(self).items() if key not in ("strategy", "budget")}
        return own | {
            "strategy": self.strategy.name,
            "options": asdict(self.strategy) if is_dataclass(self.strategy) else {},
            "budget": asdict(self.budget) if self.budget else None,
            "weights_digest": weights_digest(trained),
        }


def measure_practical(
    trained: Trained, row: PracticalRow, label: str | None = None, **columns: Any
) -> pd.DataFrame:
    """One line per problem: see `nsr.evidence.novelty.tidy`; `r2_short` is the held-out R² of the candidate
    with the shortest description."""
    reference = KnownTemplates(trained.templates)
    problems = practical_set(
        row.test_set,
        seed=row.seed,
        n_points=row.n_points,
        n_fresh=row.n_points,
        noise=row.noise,
        limit=row.limit,
    )
    results = solve_bagged(
        problems,
        row.strategy,
        trained,
        n_bags=row.n_bags,
        budget=row.budget,
        seed=row.seed,
        progress=label,
        reference=reference,
    )
    table = tidy(
        results,
        reference,
        test_set=row.test_set,
        weights=row.weights,
        noise=row.noise,
        n_bags=row.n_bags,
        **columns,
    )
    return table.assign(r2_short=[_r2_short(result) for result in results])


def _r2_short(result: Result) -> float:
    choice = shortest(result.candidates, len(result.problem.y), result.problem.floor)
    return FAILED if choice is None else r2_fresh(result.problem, choice)


def job_of(row: PracticalRow, trained: Trained) -> Job:
    """A row as `nsr.evidence.reference_tables.fill` wants it."""
    label = f"{row.strategy.name} {row.test_set}" + (f" {row.noise:.0%} noise" if row.noise else "")
    return Job(label, row.parameters(trained), partial(measure_practical, trained, row, label))


def measure_grid(grid: Iterable[PracticalRow], path: Path, networks: Mapping[str, Trained]) -> pd.DataFrame:
    """Measure the rows that the table at `path` does not have yet (see `nsr.evidence.reference_tables.fill`);
    returns the whole table."""
    return fill([job_of(row, networks[row.weights]) for row in grid], path)


def read_grid(
    grid: Iterable[PracticalRow], path: Path, networks: Mapping[str, Trained], others: Sequence[str] = ()
) -> pd.DataFrame | None:
    """The lines of these very rows that the table at `path` has, with those of `others` (baselines) on the
    same problems; says what it is and what is missing.

    None if it has none: it is not there, or was made with other weights or parameters.
    """
    grid = list(grid)
    jobs = {job.run: job.label for job in (job_of(row, networks[row.weights]) for row in grid)}
    table, births = read_rows(path)
    alike = [
        {
            "test_set": row.test_set,
            "seed": row.seed,
            "noise": row.noise,
            "n_points": row.n_points,
            "limit": row.limit,
        }
        for row in grid
    ]
    beside = {
        run
        for run, birth in births.items()
        if birth["parameters"]["strategy"] in others
        and any(same.items() <= birth["parameters"].items() for same in alike)
    }
    table = table[table["run"].isin({*jobs, *beside})]
    there, name = [run for run in jobs if run in births], path.name.split(".")[0]
    if not there:
        print(f"{name}: there is no table of these weights and parameters yet")
        return None
    missing = (
        f"; missing: {', '.join(label for run, label in jobs.items() if run not in births)}"
        if len(there) < len(jobs)
        else ""
    )
    spent = sum(births[run]["seconds"] for run in births if run in set(table["run"]))
    print(
        f"{name}: {len(table):,} lines, {max(births[run]['date'] for run in there)[:10]}, {clock(spent)}{missing}"
    )
    return table.reset_index(drop=True)
