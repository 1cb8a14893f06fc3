"""Measuring: a network, a strategy and a test set become rows of a tidy table, and a grid of them a file that
survives a kill.

A `Row` of the grid is one strategy on one test set with one seed: `n_problems` lines of the table. How the
table grows: `nsr.evidence.reference_tables`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nsr.book.run_records import short
from nsr.data.items import ItemRecipe
from nsr.data.problems import Problem, noisy
from nsr.data.templates import TreeRecipe
from nsr.data.test_sets import test_set as make_test_set
from nsr.evidence.anytime import COLUMN, trace_of
from nsr.evidence.novelty import ACCURATE, TrainingSet, tidy
from nsr.evidence.reference_tables import Job, fill, read_rows, results_path, stale, table_of, weights_digest  # noqa: F401
from nsr.evidence.statistics import wilson
from nsr.formulas.equivalence import template_of
from nsr.formulas.expressions import Template, is_valid
from nsr.network.checkpoints import Trained, load
from nsr.network.devices import best_device
from nsr.network.tiny_networks import tiny_network
from nsr.search.engine import Budget, Strategy, solve_all
from nsr.search.result import Result

if TYPE_CHECKING:
    import pandas as pd

SEEDS = (0, 1, 2)  # of the test sets: each draws other formulas and other points
N_PROBLEMS = 150
N_POINTS = 100  # given to the strategy; as many fresh ones to report on


# ----------------------------------------------------------------------------------------------------------------- one row


@dataclass(frozen=True)
class Row:
    """One row of a grid. `step` asks for a snapshot of the training instead of the finished network; `first`
    takes only so many problems of the set; `noise` is a share of y's standard deviation, on the given points;
    `show` names options of the strategy that become columns, so that rows that differ in them can be told
    apart."""

    strategy: Strategy
    test_set: str
    seed: int = 0
    n_problems: int = N_PROBLEMS
    n_points: int = N_POINTS
    step: int | None = None
    budget: Budget | None = None
    first: int | None = None
    noise: float = 0.0
    show: tuple[str, ...] = ()

    def parameters(self, trained: Trained) -> dict[str, Any]:
        """All that decides the numbers of this row, apart from the code."""
        options = dataclasses.asdict(self.strategy) if dataclasses.is_dataclass(self.strategy) else {}
        own = {
            f.name: getattr(self, f.name)
            for f in dataclasses.fields(self)
            if f.name not in ("strategy", "show", "budget")
        }
        own = {
            name: value for name, value in own.items() if value or name not in ("first", "noise")
        }  # rows measured before had neither
        budget = dataclasses.asdict(self.budget) if self.budget else None
        return {
            "weights": trained.name,
            "weights_digest": weights_digest(trained, self.step),
            "strategy": self.strategy.name,
            "options": options,
            **own,
            "budget": budget,
        }

    @property
    def label(self) -> str:
        """The row in a few words, for the line of progress."""
        size = getattr(self.strategy, "beam_size", None)
        return " ".join(
            [
                self.strategy.name,
                *([f"b={size}"] if size else []),
                self.test_set,
                f"seed {self.seed}",
                *([f"step {self.step:,}"] if self.step is not None else []),
                *([f"{self.noise:.0%} noise"] if self.noise else []),
            ]
        )


def network_for(weights: str, kind: str = "nesymres") -> Trained:
    """The network that a chapter studies: loaded by name, or with an empty name a tiny one of its kind,
    trained when it is first wanted.

    It is on the GPU if there is one.
    """
    return load(weights, best_device()) if weights else tiny_network(kind, best_device())


def problems_of(
    trained: Trained, test_set: str, seed: int = 0, n_problems: int = N_PROBLEMS, n_points: int = N_POINTS
) -> list[Problem]:
    """A test set for a network: drawn by the recipe it was trained with, filtered by its training templates."""
    s = trained.settings
    recipe = TreeRecipe(trained.vocabulary, s["min_operators"], s["max_operators"])
    return list(
        _problems(
            test_set,
            trained.templates,
            n_problems,
            seed,
            n_points,
            recipe,
            ItemRecipe(max_constants=s["max_constants"]),
        )
    )


@lru_cache(maxsize=16)  # a test set is asked for again by every strategy and every snapshot
def _problems(
    name: str,
    templates: frozenset[Template],
    n: int,
    seed: int,
    n_points: int,
    recipe: TreeRecipe,
    items: ItemRecipe,
) -> tuple[Problem, ...]:
    return tuple(make_test_set(name, templates, n, seed, n_points, n_points, recipe, items))


def measure(
    trained: Trained,
    strategy: Strategy,
    test_set: str,
    seed: int = 0,
    n_problems: int = N_PROBLEMS,
    *,
    n_points: int = N_POINTS,
    first: int | None = None,
    noise: float = 0.0,
    budget: Budget | None = None,
    reference: TrainingSet | None = None,
    label: str | None = None,
    **columns: Any,
) -> pd.DataFrame:
    """One line per problem: the answer, its R² on fresh points, novelty in each sense, cost (see
    `nsr.evidence.novelty.tidy`), and ranks.

    `first` searches only the first so many problems of the set; each has the line that it has among all of
    them. `noise` is added to the given points, the same for every strategy. `label` is shown as progress.
    More `columns` are added as constants.
    """
    reference = reference or TrainingSet.of(trained)
    rng = np.random.default_rng([seed, round(1000 * noise)])
    problems = [
        dataclasses.replace(problem, y=noisy(problem.y, noise, rng), floor=None) if noise else problem
        for problem in problems_of(trained, test_set, seed, n_problems, n_points)[:first]
    ]
    results = solve_all(
        problems, strategy, trained, budget=budget, seed=seed, progress=label, reference=reference
    )
    return tabulate(results, test_set, reference, **columns)


def tabulate(
    results: Sequence[Result], test_set: str, reference: TrainingSet, **columns: Any
) -> pd.DataFrame:
    """The tidy table of results already at hand, with the columns of `ranks` and the trace
    (`nsr.evidence.anytime`) beside the ones of `tidy`."""
    import pandas as pd

    table = tidy(results, reference, test_set=test_set)
    more = [ranks(result) | {COLUMN: trace_of(result, reference)} for result in results]
    return pd.concat([table, pd.DataFrame(more)], axis=1).assign(**columns)


def ranks(result: Result) -> dict[str, float]:
    """At which place of the candidates, in the order in which they were generated, some things stand; nan if
    nowhere.

    pick_rank       the answer
    accurate_rank   the first with R² > 0.99 on the given points
    truth_rank      the first with the template of the truth
    """
    r2 = {candidate.prefix: candidate.r2 for candidate in result.candidates}
    truth = result.problem.truth and template_of(result.problem.truth)
    found = dict.fromkeys(("pick_rank", "accurate_rank", "truth_rank"), math.nan)
    for rank, prefix in enumerate(result.generated, start=1):
        hits = {
            "pick_rank": result.answer is not None and prefix == result.answer.prefix,
            "accurate_rank": r2.get(prefix, -math.inf) > ACCURATE,
            "truth_rank": truth is not None and is_valid(prefix) and template_of(prefix) == truth,
        }
        for name, hit in hits.items():
            if hit and math.isnan(found[name]):
                found[name] = rank
    return found


# ------------------------------------------------------------------------------------------------------------ a whole grid


def measure_all(grid: Iterable[Row], path: Path, trained: Trained) -> pd.DataFrame:
    """Measure the rows that the table at `path` does not have yet (see `nsr.evidence.reference_tables.fill`);
    returns the whole table.

    Test sets of other sizes are refused: shares of different problems must not be mixed in one table.
    """
    grid = list(grid)
    births = read_rows(path)[1]
    old = stale(births, [row.parameters(trained) for row in grid])
    sizes = {
        (birth["parameters"]["n_problems"], birth["parameters"]["n_points"])
        for run, birth in births.items()
        if run not in old
    }
    if sizes - {(row.n_problems, row.n_points) for row in grid}:
        n, points = sizes.pop()
        raise ValueError(
            f"{short(path)} holds test sets of {n} problems with {points} points. Measure with these, or move the table away."
        )

    @lru_cache(maxsize=1)  # asked for only if something is measured
    def reference() -> TrainingSet:
        return TrainingSet.of(trained)

    warm: list[Any] = []

    def lines(row: Row) -> pd.DataFrame:
        model = trained if row.step is None else _at(trained, row.step)
        shown = {name: getattr(row.strategy, name) for name in row.show} | (
            {} if row.step is None else {"step": row.step}
        )
        if not warm:  # what is compiled at its first use is compiled before a clock runs
            warm.append(
                solve_all(
                    problems_of(model, row.test_set, n_problems=1, n_points=20),
                    row.strategy,
                    model,
                    budget=Budget(candidates=20),
                )
            )
        table = measure(
            model,
            row.strategy,
            row.test_set,
            row.seed,
            row.n_problems,
            n_points=row.n_points,
            first=row.first,
            noise=row.noise,
            budget=row.budget,
            reference=reference(),
            **shown,
        )
        return table.assign(noise=row.noise) if row.noise else table

    return fill(
        [Job(row.label, row.parameters(trained), partial(lines, row)) for row in grid],
        path,
        network=trained.name,
    )


def _at(trained: Trained, step: int) -> Trained:
    """The trained network as it was at a snapshot."""
    return dataclasses.replace(trained, network=trained.at(step))


# ------------------------------------------------------------------------------------------------------------------- grids


def beam_grid(
    sizes: Sequence[int], test_sets: Sequence[str], seeds: Sequence[int] = SEEDS, **options: Any
) -> list[Row]:
    """Beam search of several sizes on several test sets; small beams first, so that there is soon something
    to look at."""
    from nsr.search.strategies import BeamSearch

    return [
        Row(BeamSearch(size), test_set, seed, **options)
        for size in sizes
        for test_set in test_sets
        for seed in seeds
    ]


def share_with_rank(ranks: Iterable[float], up_to: Sequence[int]) -> np.ndarray:
    """Share of problems whose rank is at most each of `up_to`; a missing rank is never reached.

    >>> share_with_rank([1, 3, float("nan"), 2], [1, 2, 3]).tolist()
    [0.25, 0.5, 0.75]
    """
    values = np.nan_to_num(np.asarray(list(ranks), dtype=float), nan=np.inf)
    return (values[None, :] <= np.asarray(up_to)[:, None]).mean(1)


# --------------------------------------------------------------------------------------------------------- reading a table


def percent(flags: Iterable[Any], confidence: float = 0.95) -> str:
    """A share as people write it, with its Wilson interval.

    >>> percent([True] * 3 + [False] * 97)
    '3 % (1–8)'
    """
    values = [flag in (True, "True", 1) for flag in flags]
    share, low, high = (100 * x for x in wilson(sum(values), len(values), confidence))
    return f"{share:.0f} % ({low:.0f}–{high:.0f})" if values else "none"


def whiskers(shares: pd.DataFrame) -> np.ndarray:
    """(2, n) lengths of error bars, in percent, from columns share, low, high."""
    return 100 * np.array([shares["share"] - shares["low"], shares["high"] - shares["share"]]).clip(0)
