"""Measuring: a network, a strategy and a test set become rows of a tidy table, and a grid of them a file that survives a kill.

A `Row` of the grid is one strategy on one test set with one seed: `n_problems` lines of the table. `measure_all` writes the table and
its birth certificate after every row, and skips the rows that are there already, made with the same weights and the same parameters.
"""
from __future__ import annotations

import dataclasses
import json
import math
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from nsr.benchmarks import test_set as make_test_set
from nsr.bias import ACCURATE, Interval, TrainingSet, tidy, wilson
from nsr.canonical import template_of
from nsr.checkpoint import Trained, load, load_folder
from nsr.engine import Budget, Strategy, solve_all
from nsr.expressions import Template, is_valid
from nsr.generator import TreeRecipe
from nsr.items import ItemRecipe
from nsr.problem import Problem
from nsr.records import OUTPUTS, REFERENCE, birth_certificate, certificate_path, clock, digest, progress, read_table, short, to_json, write_table
from nsr.results import Result
from nsr.settings import read_settings
from nsr.traces import COLUMN, trace_of
from nsr.training import train

if TYPE_CHECKING:
    import pandas as pd

SEEDS = (0, 1, 2)  # of the test sets: each draws other formulas and other points
N_PROBLEMS = 150
N_POINTS = 100  # given to the strategy; as many fresh ones to report on


# ----------------------------------------------------------------------------------------------------------------- one row

@dataclass(frozen=True)
class Row:
    """One row of a grid. `step` asks for a snapshot of the training instead of the finished network; `show` names options of the
    strategy that become columns, so that rows that differ in them can be told apart."""

    strategy: Strategy
    test_set: str
    seed: int = 0
    n_problems: int = N_PROBLEMS
    n_points: int = N_POINTS
    step: int | None = None
    budget: Budget | None = None
    show: tuple[str, ...] = ()

    def parameters(self, trained: Trained) -> dict[str, Any]:
        """All that decides the numbers of this row, apart from the code."""
        options = dataclasses.asdict(self.strategy) if dataclasses.is_dataclass(self.strategy) else {}
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in ("strategy", "show", "budget")}
        budget = dataclasses.asdict(self.budget) if self.budget else None
        return {"weights": trained.name, "weights_digest": weights_digest(trained, self.step), "strategy": self.strategy.name,
                "options": options, **own, "budget": budget}

    @property
    def label(self) -> str:
        """The row in a few words, for the line of progress."""
        size = getattr(self.strategy, "beam_size", None)
        return " ".join([self.strategy.name, *([f"b={size}"] if size else []), self.test_set, f"seed {self.seed}",
                         *([f"step {self.step:,}"] if self.step is not None else [])])


def network_for(weights: str, kind: str = "nesymres") -> Trained:
    """The network that a chapter studies: loaded by name, or with an empty name a tiny one of its kind, trained on the spot."""
    if weights:
        return load(weights, "cuda" if torch.cuda.is_available() else "cpu")
    final = train(read_settings(kind, "tiny"), Path(tempfile.mkdtemp(prefix="nsr-tiny-")))
    return load_folder(final, f"tiny/{kind}")


def weights_digest(trained: Trained, step: int | None = None) -> str:
    """A short name of the very weights and training templates, whatever folder they lie in."""
    file = trained.folder / "weights.safetensors" if step is None else trained.snapshots().get(step, trained.folder)
    return digest(file, trained.folder / "templates.txt.gz")


def problems_of(trained: Trained, test_set: str, seed: int = 0, n_problems: int = N_PROBLEMS, n_points: int = N_POINTS) -> list[Problem]:
    """A test set for a network: drawn by the recipe it was trained with, filtered by its training templates."""
    s = trained.settings
    recipe = TreeRecipe(trained.vocabulary, s["min_operators"], s["max_operators"])
    return list(_problems(test_set, trained.templates, n_problems, seed, n_points, recipe, ItemRecipe(max_constants=s["max_constants"])))


@lru_cache(maxsize=16)  # a test set is asked for again by every strategy and every snapshot
def _problems(name: str, templates: frozenset[Template], n: int, seed: int, n_points: int, recipe: TreeRecipe,
              items: ItemRecipe) -> tuple[Problem, ...]:
    return tuple(make_test_set(name, templates, n, seed, n_points, n_points, recipe, items))


def measure(trained: Trained, strategy: Strategy, test_set: str, seed: int = 0, n_problems: int = N_PROBLEMS, *,
            n_points: int = N_POINTS, first: int | None = None, budget: Budget | None = None, reference: TrainingSet | None = None,
            label: str | None = None, **columns: Any) -> pd.DataFrame:
    """One line per problem: the answer, its R² on fresh points, novelty in each sense, cost (see `nsr.bias.tidy`), and ranks.

    `first` searches only the first so many problems of the set; each has the line that it has among all of them. `label` is shown as
    progress. More `columns` are added as constants.
    """
    reference = reference or TrainingSet.of(trained)
    problems = problems_of(trained, test_set, seed, n_problems, n_points)[:first]
    results = solve_all(problems, strategy, trained, budget=budget, seed=seed, progress=label, reference=reference)
    return tabulate(results, test_set, reference, **columns)


def tabulate(results: Sequence[Result], test_set: str, reference: TrainingSet, **columns: Any) -> pd.DataFrame:
    """The tidy table of results already at hand, with the columns of `ranks` and the trace (`nsr.traces`) beside the ones of `tidy`."""
    import pandas as pd

    table = tidy(results, reference, test_set=test_set)
    more = [ranks(result) | {COLUMN: trace_of(result, reference)} for result in results]
    return pd.concat([table, pd.DataFrame(more)], axis=1).assign(**columns)


def ranks(result: Result) -> dict[str, float]:
    """At which place of the candidates, in the order in which they were generated, some things stand; nan if nowhere.

    pick_rank       the answer
    accurate_rank   the first with R² > 0.99 on the given points
    truth_rank      the first with the template of the truth
    """
    r2 = {candidate.prefix: candidate.r2 for candidate in result.candidates}
    truth = result.problem.truth and template_of(result.problem.truth)
    found = dict.fromkeys(("pick_rank", "accurate_rank", "truth_rank"), math.nan)
    for rank, prefix in enumerate(result.generated, start=1):
        hits = {"pick_rank": result.answer is not None and prefix == result.answer.prefix,
                "accurate_rank": r2.get(prefix, -math.inf) > ACCURATE,
                "truth_rank": truth is not None and is_valid(prefix) and template_of(prefix) == truth}
        for name, hit in hits.items():
            if hit and math.isnan(found[name]):
                found[name] = rank
    return found


# ------------------------------------------------------------------------------------------------------------ a whole grid

def results_path(name: str, scale: str = "laptop", *, write: bool = False) -> Path:
    """Where a reference table lies, e.g. outputs/reference/laptop/results/beam.csv.gz; the reader's own comes before the committed one."""
    places = [folder / scale / "results" / f"{name}.csv.gz" for folder in (OUTPUTS / "reference", REFERENCE)]
    return places[0] if write else next((path for path in places if path.exists()), places[-1])


def measure_all(grid: Iterable[Row], path: Path, trained: Trained) -> pd.DataFrame:
    """Measure the rows that the table at `path` does not have yet, writing it after each; returns the whole table.

    A row is known by its `run`, a digest of its parameters and weights; the code's commit is in the certificate but does not count.
    Lines made with other weights of the same name are dropped; everything else in the table stays. Test sets of other sizes are
    refused: shares of different problems must not be mixed in one table.
    """
    import pandas as pd

    grid = list(grid)
    wanted = {digest(to_json(row.parameters(trained))): row for row in grid}
    table, births = _read(path)
    stale = _stale(births, [row.parameters(trained) for row in grid])
    births = {run: birth for run, birth in births.items() if run not in stale}
    sizes = {(p["n_problems"], p["n_points"]) for p in (birth["parameters"] for birth in births.values())}
    if sizes - {(row.n_problems, row.n_points) for row in grid}:
        n, points = sizes.pop()
        raise ValueError(f"{short(path)} holds test sets of {n} problems with {points} points. Measure with these, or move the table away.")
    parts = [table[~table["run"].isin(stale)]] if len(table) else []
    complete = table["run"].value_counts().to_dict() if len(table) else {}
    missing = [run for run in wanted if run not in births or complete.get(run, 0) != wanted[run].n_problems]
    reference, now = TrainingSet.of(trained) if missing else None, [""]
    for run in progress(missing, label=path.name.split(".")[0], note=lambda: now[0]):
        row, start = wanted[run], time.perf_counter()
        now[0] = row.label
        model = trained if row.step is None else _at(trained, row.step)
        shown = {name: getattr(row.strategy, name) for name in row.show} | ({} if row.step is None else {"step": row.step})
        measured = measure(model, row.strategy, row.test_set, row.seed, row.n_problems, n_points=row.n_points, budget=row.budget,
                           reference=reference, run=run, **shown)
        if (measured["stopped"] == "interrupted").any():
            raise KeyboardInterrupt  # Ctrl-C ends a search with the best so far, and that is no result
        certificate = birth_certificate(row.parameters(trained), row.seed, round(time.perf_counter() - start, 2))
        births[run] = {key: value for key, value in certificate.items() if key not in ("seed", "versions", "cores")}
        parts = [part[part["run"] != run] for part in parts] + [measured]
        whole = pd.concat(parts, ignore_index=True)
        general = {"network": trained.name, "lines": len(whole), "rows": len(births)}
        seconds = round(sum(birth["seconds"] for birth in births.values()), 2)
        write_table(whole, path, birth_certificate(general, None, seconds) | {"rows": births})
    return read_table(path)


def _read(path: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table so far and the births of its rows; the certificate is written first, so every line has one."""
    import pandas as pd

    if not path.exists() or not certificate_path(path).exists():
        return pd.DataFrame(columns=["run"]), {}
    births = json.loads(certificate_path(path).read_text()).get("rows", {})
    table = read_table(path)
    return table[table["run"].isin(births)], births


def _stale(births: dict[str, Any], present: list[dict[str, Any]]) -> set[str]:
    """Runs made with weights that have the name, but no longer the content, of the present ones."""
    now = {(p["weights"], p["step"]): p["weights_digest"] for p in present}
    known = {run: birth["parameters"] for run, birth in births.items()}
    return {run for run, p in known.items() if now.get((p["weights"], p["step"]), p["weights_digest"]) != p["weights_digest"]}


def _at(trained: Trained, step: int) -> Trained:
    """The trained network as it was at a snapshot, on the same device."""
    device = next(trained.network.parameters()).device
    return dataclasses.replace(trained, network=trained.at(step).to(device))


# ------------------------------------------------------------------------------------------------------------------- grids

def beam_grid(sizes: Sequence[int], test_sets: Sequence[str], seeds: Sequence[int] = SEEDS, **options: Any) -> list[Row]:
    """Beam search of several sizes on several test sets; small beams first, so that there is soon something to look at."""
    from nsr.strategies import BeamSearch

    return [Row(BeamSearch(size), test_set, seed, **options) for size in sizes for test_set in test_sets for seed in seeds]


def share_with_rank(ranks: Iterable[float], up_to: Sequence[int]) -> np.ndarray:
    """Share of problems whose rank is at most each of `up_to`; a missing rank is never reached.

    >>> share_with_rank([1, 3, float("nan"), 2], [1, 2, 3]).tolist()
    [0.25, 0.5, 0.75]
    """
    values = np.nan_to_num(np.asarray(list(ranks), dtype=float), nan=np.inf)
    return (values[None, :] <= np.asarray(up_to)[:, None]).mean(1)


# --------------------------------------------------------------------------------------------------------- reading a table

def table_of(path: Path, trained: Trained) -> pd.DataFrame | None:
    """The table at `path` if it was made with these very weights, else None; says in a line what it is."""
    name = path.name.split(".")[0]
    if not path.exists():
        print(f"{name}: there is no table yet")
        return None
    birth = json.loads(certificate_path(path).read_text())
    if {row["parameters"]["weights_digest"] for row in birth["rows"].values() if row["parameters"]["step"] is None} != {weights_digest(trained)}:
        print(f"{name}: made with other weights; not used")
        return None
    print(f"{name}: {birth['parameters']['lines']:,} lines, {birth['date'][:10]}, commit {str(birth['commit'])[:10]}, {clock(birth['seconds'])}")
    return read_table(path)


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


def difference(a: Iterable[float], b: Iterable[float], rng: np.random.Generator, draws: int = 2000) -> Interval:
    """mean(a) − mean(b) for two samples of different problems, with a 95 % bootstrap interval.

    >>> difference([1.0] * 50, [0.0] * 50, np.random.default_rng(0))
    Interval(value=1.0, low=1.0, high=1.0)
    """
    samples = [np.asarray(list(values), dtype=float) for values in (a, b)]
    means = [values[rng.integers(0, len(values), (draws, len(values)))].mean(1) for values in samples]  # (draws,) each
    low, high = np.quantile(means[0] - means[1], [0.025, 0.975])
    return Interval(float(samples[0].mean() - samples[1].mean()), float(low), float(high))
