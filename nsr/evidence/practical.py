"""Measuring on the practical test sets: laws, data and formulas of five variables, in the units of a user."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from nsr.data.practical_sets import practical_set
from nsr.data.problems import Problem
from nsr.evidence.novelty import TrainingSet, tidy
from nsr.evidence.rows import Row
from nsr.network.checkpoints import Trained
from nsr.search.engine import Strategy
from nsr.search.model_selection import shortest
from nsr.search.oracle import FAILED, r2_fresh
from nsr.search.result import Result
from nsr.search.strategies.names import by_name
from nsr.search.subsampling import solve_bagged

if TYPE_CHECKING:
    import pandas as pd


def practical_strategies(
    largest_beam: int = 150, iterations: int = 30, candidates: int = 450, **of_gvs: int
) -> dict[str, tuple[Strategy, str]]:
    """The strategies of the practical tables by their labels, each with the kind of its network. `of_gvs` are
    other options of NSR-gvs.

    >>> [(label, kind) for label, (_, kind) in practical_strategies().items()][1:4]
    [('beam 150', 'full'), ('TPSR', 'full'), ('NSR-gvs', 'full-gvs')]
    """
    turned, found = {"iterations": iterations, "candidates": candidates}, {}
    sizes = (("beam", 5), ("beam", largest_beam), ("tpsr", 1), ("gvs", 5), ("gvs+tpsr", 1), ("local", 5))
    for name, size in sizes:
        made = by_name(name, size)
        own = {field.name for field in dataclasses.fields(made)}
        given = turned | of_gvs if "gvs" in name else turned
        made = dataclasses.replace(made, **{key: value for key, value in given.items() if key in own})
        found[label_of(name, size)] = made, "full-gvs" if "gvs" in name else "full"
    return found


def labelled(lines: pd.DataFrame) -> pd.DataFrame:
    """Lines of the practical tables with the label of each strategy, and R² as numbers."""
    labels = list(map(label_of, lines.strategy, lines.beam_size))
    return lines.assign(label=labels, r2=lines.r2.astype(float))


def label_of(strategy: str, beam_size: float) -> str:
    """A strategy for people: a beam by its size, as there are two; the others by their names."""
    from nsr.evidence.figures import title_of  # late: whoever measures draws nothing

    return f"beam {beam_size:.0f}" if strategy == "beam" else title_of(strategy)


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
