"""Measuring: a network, a strategy and a test set become a row of a table, and a chapter asks for a table by
its name (`measured`).

A `Row` is one strategy on one test set with one seed, and has a line per problem. How a table grows on disk:
`nsr.evidence.reference_tables`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nsr.book.result_tables import table_from
from nsr.book.run_records import progress, short
from nsr.data.items import ItemRecipe
from nsr.data.problems import Problem, noisy
from nsr.data.templates import TreeRecipe
from nsr.data.test_sets import test_set as make_test_set
from nsr.evidence.anytime import COLUMN, trace_of
from nsr.evidence.novelty import ACCURATE, TrainingSet, flagged, tidy
from nsr.evidence.practical import measure_practical
from nsr.evidence.reference_tables import (
    Job,
    fill,
    lines_of,
    made_at_once,
    read_records,
    results_path,
    stale,
    tables_of,
)
from nsr.evidence.rows import N_POINTS, N_PROBLEMS, PRACTICAL_SETS, SEEDS, SKELETON_SETS, Row
from nsr.evidence.scaling import measure_skeletons
from nsr.evidence.statistics import Interval, wilson
from nsr.formulas.equivalence import template_of
from nsr.formulas.expressions import Template, is_valid
from nsr.network.checkpoints import Trained, load, places_of
from nsr.network.devices import best_device
from nsr.network.tiny_networks import tiny_network
from nsr.numbers.fitting import Method
from nsr.search.engine import Budget, Strategy, solve_all
from nsr.search.result import Result
from nsr.search.warming import rehearse

if TYPE_CHECKING:
    import pandas as pd


def network_for(weights: str, kind: str = "nesymres") -> Trained:
    """The network that a chapter studies: loaded by name. With an empty name, or where a tiny one is not there
    yet, it is a tiny one of its kind, trained when it is first wanted.

    It is on the GPU if there is one.
    """
    scale, _, name = weights.partition("/")
    if not weights or scale == "tiny" and not places_of(weights):
        return tiny_network(name or kind, best_device())
    return load(weights, best_device())


def networks_for(weights: str, most: int, kind: str = "nesymres") -> dict[str, Trained]:
    """The networks of one recipe that are here, at most so many: `weights`, `weights`@1, … With an empty name
    they are tiny ones."""
    names = [weights or kind, *(f"{weights or kind}@{number}" for number in range(1, most))]
    if not weights:
        return {name: tiny_network(name, best_device()) for name in names}
    return {name: network_for(name) for name in names if name == weights or places_of(name)}


def networks_here(*names: str) -> dict[str, Trained | None]:
    """Networks by their names; None where one is not here. Tiny ones are trained when they are wanted."""
    return {
        name: network_for(name) if name.startswith("tiny/") or places_of(name) else None for name in names
    }


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
    limit: int | None = None,
    noise: float = 0.0,
    budget: Budget | None = None,
    fit: Method = "",
    reference: TrainingSet | None = None,
    label: str | None = None,
    **columns: Any,
) -> pd.DataFrame:
    """One line per problem: the answer, its R² on fresh points, novelty in each sense, cost (see
    `nsr.evidence.novelty.tidy`), and ranks.

    `limit` searches only the first so many problems of the set; each has the line that it has among all of
    them. `noise` is added to the given points, the same for every strategy. `fit="bfgs"` is the published fit.
    `label` is shown as progress.
    More `columns` are added as constants.
    """
    reference = reference or TrainingSet.of(trained)
    rng = np.random.default_rng([seed, round(1000 * noise)])
    problems = [
        replace(problem, y=noisy(problem.y, noise, rng), floor=None) if noise else problem
        for problem in problems_of(trained, test_set, seed, n_problems, n_points)[:limit]
    ]
    results = solve_all(
        problems, strategy, trained, budget=budget, fit=fit, seed=seed, progress=label, reference=reference
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


# ------------------------------------------------------------------------------------------------------------ a whole table


def measured(
    name: str,
    rows: Sequence[Row | Job] | Callable[[], pd.DataFrame],
    networks: Trained | Mapping[str, Trained],
    *,
    scale: str = "laptop",
    recompute: bool = False,
    live: int | Sequence[Row | Job] | Callable[[], pd.DataFrame] = 6,
    by_network: bool = False,
    **parameters: Any,
) -> pd.DataFrame:
    """The table of this name with a line per problem of these very rows, got in one of three ways; a printed
    line says in which, and when and by which commit it was measured.

    read      the reference table has lines of these rows: the same parameters, and the same weights
    measured  with `recompute`, what the reference table lacks is measured and written there
    live      it has none of them: `live` problems of each row of the first seed are searched now (of a tiny
              network all), or other rows that are given as `live`; nothing is kept

    `networks` is one, or several by the names that rows give as `weights`; `by_network` adds a column `network`
    with these names. A table that has no rows of this
    kind is made at once by a function, with its `parameters`; `live` is then a function, too.
    """
    networks = networks if isinstance(networks, Mapping) else {"": networks}
    # a network that was trained on the spot is kept nowhere, and nothing of it is
    tiny = any(
        network.name.startswith("tiny/") and network.folder not in places_of(network.name)
        for network in networks.values()
    )
    recompute = recompute and not tiny
    if callable(rows):
        (trained,) = networks.values()
        table, about = made_at_once(name, trained, rows, scale=scale, recompute=recompute, **parameters)
        way = "live" if table is None else "measured" if recompute else "read"
        print(f"{name}, {way}: {about}")
        return live() if table is None else table
    path = results_path(name, scale, write=recompute)
    way, before = "read", read_records(*tables_of(path))[1] if recompute else {}
    if recompute:
        measure_all(rows, path, networks)
    table, about = lines_of(jobs_of(rows, networks), path)
    if recompute and not before.keys() >= set(table["run"]):
        way = "measured"
    if table.empty:
        way = "live"
        if isinstance(live, int):
            first = [row for row in rows if row.seed == rows[0].seed]
            live = rows if tiny else [replace(row, limit=min(live, row.limit or live)) for row in first]
        table = _live(jobs_of(live, networks), name)
        about = f"{about}, so {len(table):,} searches were made now"
    print(f"{name}, {way}: {about}")
    if by_network:
        known = {run: record["parameters"] for run, record in read_records(*tables_of(path))[1].items()}
        known |= {job.run: job.parameters for job in jobs_of(live if way == "live" else rows, networks)}
        table = table.assign(network=[known[run]["weights"] for run in table["run"]])
    return flagged(table) if "answer" in table else table


def _live(jobs: Sequence[Job], name: str) -> pd.DataFrame:
    """The lines of jobs that are kept nowhere, as a table that was written and read would have them."""
    import pandas as pd

    lines = [job.lines() for job in progress(jobs, label=name) if job.comparable and job.make]
    if not lines:
        raise FileNotFoundError(
            f"There is no table {name!r}, and nothing here to measure it with. Run its chapter where the network was trained."
        )
    return table_from(pd.concat(lines, ignore_index=True).to_csv(index=False).encode())


def measure_all(
    rows: Iterable[Row | Job], path: Path, networks: Trained | Mapping[str, Trained]
) -> pd.DataFrame:
    """Measure the rows that the table at `path` does not have yet (see `nsr.evidence.reference_tables.fill`);
    returns the whole table.

    Test sets of other sizes are refused: shares of different problems must not be mixed in one table.
    """
    networks = networks if isinstance(networks, Mapping) else {"": networks}
    jobs = jobs_of(rows, networks)
    records = read_records(*tables_of(path))[1]
    old = stale(records, [job.parameters for job in jobs if job.comparable])
    there = [record["parameters"] for run, record in records.items() if run not in old]
    sizes, wanted = (
        {(p.get("n_problems"), p["n_points"]) for p in some if "n_problems" in p}
        for some in (there, [job.parameters for job in jobs])
    )
    if sizes - wanted:
        n, points = sizes.pop()
        raise ValueError(
            f"{short(path)} holds test sets of {n} problems with {points} points. Measure with these, or move the table away."
        )
    about = {"network": networks[""].name} if "" in networks else {}
    return fill(jobs, path, **about)


def jobs_of(rows: Iterable[Row | Job], networks: Mapping[str, Trained]) -> list[Job]:
    """Rows as `nsr.evidence.reference_tables.fill` wants them; a job is one already.

    A network that is not among these is loaded by its name when it is wanted; its lines in a table, as those
    of a snapshot that is not here, are known by the other parameters.
    """
    network = cache(lambda weights: networks.get(weights) or network_for(weights))
    training = cache(lambda weights: TrainingSet.of(network(weights)))  # made if something is measured
    jobs = []
    for row in rows:
        if isinstance(row, Row):
            trained = networks.get(row.weights)
            here = trained is not None and (row.step is None or row.step in trained.snapshots())
            row = Job(row.label, row.parameters(trained), partial(_lines, row, network, training), here)
        jobs.append(row)
    return jobs


def _lines(
    row: Row, network: Callable[[str], Trained], training: Callable[[str], TrainingSet]
) -> pd.DataFrame:
    """Measure one row."""
    trained = network(row.weights)
    if row.step is not None:
        trained = replace(trained, network=trained.at(row.step))
    if row.test_set in SKELETON_SETS:
        return measure_skeletons(trained, row)
    if row.test_set in PRACTICAL_SETS:
        return measure_practical(trained, row, row.label)
    one = lambda: problems_of(trained, row.test_set, n_problems=1, n_points=20)
    rehearse(one, row.strategy, trained, row.fit)
    columns = {name: getattr(row if name == "protocol" else row.strategy, name) for name in row.show}
    columns |= {} if row.step is None else {"step": row.step}
    table = measure(
        trained,
        row.strategy,
        row.test_set,
        row.seed,
        row.n_problems,
        n_points=row.n_points,
        limit=row.limit,
        noise=row.noise,
        budget=row.budget,
        fit=row.fit,
        reference=training(row.weights),
        **columns,
    )
    return table.assign(noise=row.noise) if row.noise else table


def snapshot_steps(
    name: str, trained: Trained | str, n: int | None = None, scale: str = "laptop"
) -> list[int]:
    """The steps of the training that a table follows: `n` of the snapshots that are here, evenly spread, or,
    where they are not shipped, or the network is not here and only its name is given, of those in the table's
    record."""
    here, of = ({}, trained) if isinstance(trained, str) else (trained.snapshots(), trained.name)
    records = read_records(*tables_of(results_path(name, scale)))[1].values() if not here else ()
    steps = here or {p.get("step") for p in (r["parameters"] for r in records) if p["weights"] == of} - {None}
    places = np.linspace(0, len(steps) - 1, min(n or len(steps), len(steps))).round().astype(int)
    return [sorted(steps)[i] for i in np.unique(places)]


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
    values = [flag == 1 for flag in flags]
    return as_percent(wilson(sum(values), len(values), confidence)) if values else "none"


def as_percent(share: Interval) -> str:
    """
    >>> as_percent(Interval(0.03, 0.01, 0.08))
    '3 % (1–8)'
    """
    return "{:.0f} % ({:.0f}–{:.0f})".format(*(100 * x for x in share))


def whiskers(shares: pd.DataFrame) -> np.ndarray:
    """(2, n) lengths of error bars, in percent, from columns share, low, high."""
    return 100 * np.array([shares["share"] - shares["low"], shares["high"] - shares["share"]]).clip(0)
