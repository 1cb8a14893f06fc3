"""Practical test sets: AI-Feynman, only_five_variables_nc and black-box data; and the table that compares strategies on them.

None of them is committed. AI-Feynman is our own table of laws, only_five_variables_nc is drawn by our generator (or read from NSRwH's
CSV by path), black-box data are read from a folder in the layout of pmlb's cache, which the pmlb package fills for who has a network.
"""
from __future__ import annotations

import csv
import importlib
import itertools
import json
import os
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nsr.bagging import solve_bagged
from nsr.bias import SENSES, TrainingSet, tidy
from nsr.canonical import template_of
from nsr.checkpoint import Trained
from nsr.choice import shortest
from nsr.engine import Budget, Strategy
from nsr.expressions import FULL, Prefix, is_valid, variables
from nsr.feynman import equations
from nsr.generator import TreeRecipe, template_stream
from nsr.grids import Job, fill, read_rows, weights_digest
from nsr.numerics import evaluate
from nsr.oracle import FAILED, r2_fresh
from nsr.parsing import parse
from nsr.problem import HALF_MAX, Problem, ProblemError, noisy
from nsr.records import OUTPUTS, ROOT, clock, short
from nsr.results import Result

if TYPE_CHECKING:
    import pandas as pd

SETS = ("feynman", "only_five_variables_nc", "black_box")
TESTSETS, PMLB = "testsets", "pmlb"
BLACK_BOX = (
    "1027_ESL", "1029_LEV", "1030_ERA", "1096_FacultySalaries", "192_vineyard", "210_cloud", "228_elusage", "485_analcatdata_vehicle",
    "519_vinnie", "523_analcatdata_neavote", "529_pollen", "556_analcatdata_apnea2", "557_analcatdata_apnea1", "579_fri_c0_250_5",
    "594_fri_c2_100_5", "596_fri_c2_250_5", "597_fri_c2_500_5", "599_fri_c2_1000_5", "601_fri_c1_250_5", "609_fri_c0_1000_5",
    "611_fri_c3_100_5", "612_fri_c1_1000_5", "613_fri_c3_250_5", "617_fri_c3_500_5", "624_fri_c0_100_5", "628_fri_c3_1000_5",
    "631_fri_c1_500_5", "649_fri_c0_500_5", "656_fri_c1_100_5", "663_rabe_266", "678_visualizing_environmental", "687_sleuth_ex1605",
    "690_visualizing_galaxy", "712_chscase_geyser1",
    "banana",  # the paper's 35th: two classes, ±1, treated as numbers
)
TEST_SHARE = 0.25  # of the rows of black-box data, as in SRBench
_FRESH = 3_000_017  # streams that no training set and no other test set uses


def folder_of(kind: str) -> Path:
    """The folder with `testsets` or `pmlb`: $NSR_TESTSETS or $NSR_PMLB, else ../shared/<kind> beside the project, else outputs/<kind>."""
    chosen = os.environ.get(f"NSR_{kind.upper()}")
    places = [Path(chosen)] if chosen else [ROOT.parent / "shared" / kind, OUTPUTS / kind]
    found = next((place for place in places if place.is_dir()), None)
    if found is None:
        fetched = "; or pip install pmlb, which fetches them as they are asked for" if kind == PMLB else ""
        raise FileNotFoundError(f"There is no folder {' or '.join(map(short, places))} with the data. "
                                f"Set the environment variable NSR_{kind.upper()} to where they are{fetched}.")
    return found


# --------------------------------------------------------------------------------------------------------------- three sets

def practical_set(name: str, *, seed: int = 0, n_points: int = 100, n_fresh: int = 100, noise: float = 0.0, limit: int | None = None,
                  path: Path | str | None = None) -> list[Problem]:
    """The problems of a set; `limit` takes at most so many, evenly spread; `noise` is a share of y's deviation, on given points.

    >>> [problem.name for problem in practical_set("feynman", limit=2)]
    ['feynman-I.6.20a', 'feynman-I.50.26']
    """
    if name not in SETS:
        raise ValueError(f"no practical set {name!r}; there are {', '.join(SETS)}")
    if name == "feynman":
        makers = [(e.lecture, lambda rng, e=e: e.problem(rng, n_points, n_fresh, noise)) for e in equations()]
    elif name == "black_box":
        makers = [(n, lambda rng, n=n: black_box_problem(n, rng, noise, path)) for n in BLACK_BOX]
    else:
        rows = _listed(Path(path)) if path else _five_variable_templates(100, seed)
        makers = [(str(i), lambda rng, i=i, row=row: _sampled(f"five-{i}", *row, rng, n_points, n_fresh, noise)) for i, row in enumerate(rows)]
    n = len(makers) if limit is None else min(limit, len(makers))
    chosen = [round(i * len(makers) / n) for i in range(n)]
    return [makers[i][1](_stream(name, makers[i][0], seed)) for i in chosen]


def _stream(test_set: str, problem: str, seed: int) -> np.random.Generator:
    """Random numbers of one problem alone, so that a part of a set is the same as in the whole."""
    return np.random.default_rng([_FRESH, SETS.index(test_set), zlib.crc32(problem.encode()), seed])


@lru_cache(maxsize=4)  # one draw in two hundred has five variables
def _five_variable_templates(n: int, seed: int, recipe: TreeRecipe = TreeRecipe(FULL, 3, 6)) -> list[tuple[Prefix, tuple, tuple]]:
    """n different templates of p_E with exactly five variables, no constants, on (−10, 10), that have values there."""
    found: dict[Prefix, None] = {}
    check = np.random.default_rng([_FRESH, seed]).uniform(-10, 10, (2000, 5))
    for template in template_stream(recipe, _FRESH + seed):
        if template not in found and len(variables(template)) == 5 and np.mean(np.abs(evaluate(template, check)) < HALF_MAX) > 0.02:
            found[template] = None
            if len(found) == n:
                break
    return [(template, (), ((-10.0, 10.0),) * 5) for template in found]


def _listed(path: Path, n: int = 100) -> list[tuple[Prefix, tuple, tuple]]:
    """The first n rows of a CSV in NSRwH's layout: prefix, constants and support of each."""
    rows = []
    with path.open(newline="") as file:
        for row in itertools.islice(csv.DictReader(file), n):
            prefix, constants = parse(re.sub(r"Abs\(([^()]*)\)", r"sqrt(pow2(\1))", row["eq"]))
            ranges = json.loads(row["support"].replace("'", '"'))
            rows.append((prefix, constants, tuple((float(ranges[v]["min"]), float(ranges[v]["max"])) for v in sorted(ranges))))
    return rows


def _sampled(name: str, prefix: Prefix, constants: Sequence[float], support: Sequence[tuple[float, float]], rng: np.random.Generator,
             n_points: int, n_fresh: int, noise: float) -> Problem:
    """Points of an expression that may be defined in a small part of its support only: drawn until there are enough."""
    wanted, D = n_points + n_fresh, len(support)
    X, y = np.empty((0, D)), np.empty(0)
    for _ in range(200):
        block = rng.uniform(*np.array(support).T, (5 * wanted, D))  # (P, D)
        values = evaluate(prefix, block, constants)
        good = np.abs(values) < HALF_MAX  # false for nan
        X, y = np.concatenate([X, block[good]])[:wanted], np.concatenate([y, values[good]])[:wanted]
        if len(y) == wanted:
            return Problem(X[:n_points], noisy(y[:n_points], noise, rng), name, prefix, tuple(constants), X[n_points:], y[n_points:])
    raise ProblemError(f"{name}: only {len(y)} of {wanted} points have a value on its support")


# ---------------------------------------------------------------------------------------------------------------- black box

def black_box_data(name: str, folder: Path | str | None = None) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """X (P, D), y (P,) and the column names of <folder>/<name>/<name>.tsv.gz; pmlb fetches it if the package is there."""
    import pandas as pd

    try:
        home = Path(folder) if folder else folder_of(PMLB)
    except FileNotFoundError:
        home = OUTPUTS / PMLB
    path = home / name / f"{name}.tsv.gz"
    if path.exists():
        table = pd.read_csv(path, sep="\t")
    else:
        try:
            pmlb = importlib.import_module("pmlb")
        except ImportError:
            raise FileNotFoundError(f"{name} is not in {short(home)}. Set NSR_PMLB to a folder with pmlb's data, or pip install pmlb to "
                                    "fetch them.") from None
        table = pmlb.fetch_data(name, local_cache_dir=str(home))
    inputs = table.drop(columns="target")
    return inputs.to_numpy(float), table["target"].to_numpy(float), list(inputs.columns)


def black_box_problem(name: str, rng: np.random.Generator, noise: float = 0.0, folder: Path | str | None = None) -> Problem:
    """A data set split at random: three quarters of the rows are given, the rest judge."""
    X, y, _ = black_box_data(name, folder)
    rows = rng.permutation(len(y))
    cut = len(y) - max(2, round(TEST_SHARE * len(y)))
    given, held = rows[:cut], rows[cut:]
    return Problem(X[given], noisy(y[given], noise, rng), name, X_fresh=X[held], y_fresh=y[held])


# ------------------------------------------------------------------------------------------------------------------- tables

class KnownTemplates(TrainingSet):
    """A training set of any size that knows the paper's sense of novelty only; the others would take minutes for a million templates."""

    def __init__(self, templates: frozenset[Prefix]) -> None:
        self.templates, self.seen, self._known = templates, None, {}  # exported templates are canonical already

    def novelty(self, prefix: Prefix | None) -> dict[str, bool | None]:
        novel = prefix is not None and is_valid(prefix) and template_of(prefix) not in self.templates
        return dict.fromkeys(SENSES) | {"novel": novel}


@dataclass(frozen=True)
class PracticalRow:
    """One strategy on one practical set: which network, how much noise, how many bags, and a limit per problem."""

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
        return own | {"strategy": self.strategy.name, "options": asdict(self.strategy) if is_dataclass(self.strategy) else {},
                      "budget": asdict(self.budget) if self.budget else None, "weights_digest": weights_digest(trained)}


def measure_practical(trained: Trained, row: PracticalRow, label: str | None = None, **columns: Any) -> pd.DataFrame:
    """One line per problem: see `nsr.bias.tidy`; `r2_short` is the held-out R² of the candidate with the shortest description."""
    reference = KnownTemplates(trained.templates)
    problems = practical_set(row.test_set, seed=row.seed, n_points=row.n_points, n_fresh=row.n_points, noise=row.noise, limit=row.limit)
    results = solve_bagged(problems, row.strategy, trained, n_bags=row.n_bags, budget=row.budget, seed=row.seed, progress=label,
                           reference=reference)
    table = tidy(results, reference, test_set=row.test_set, weights=row.weights, noise=row.noise, n_bags=row.n_bags, **columns)
    return table.assign(r2_short=[_r2_short(result) for result in results])


def _r2_short(result: Result) -> float:
    choice = shortest(result.candidates, len(result.problem.y), result.problem.floor)
    return FAILED if choice is None else r2_fresh(result.problem, choice)


def job_of(row: PracticalRow, trained: Trained) -> Job:
    """A row as `nsr.grids.fill` wants it."""
    label = f"{row.strategy.name} {row.test_set}" + (f" {row.noise:.0%} noise" if row.noise else "")
    return Job(label, row.parameters(trained), partial(measure_practical, trained, row, label))


def measure_grid(grid: Iterable[PracticalRow], path: Path, networks: Mapping[str, Trained]) -> pd.DataFrame:
    """Measure the rows that the table at `path` does not have yet (see `nsr.grids.fill`); returns the whole table."""
    return fill([job_of(row, networks[row.weights]) for row in grid], path)


def read_grid(grid: Iterable[PracticalRow], path: Path, networks: Mapping[str, Trained], others: Sequence[str] = ()) -> pd.DataFrame | None:
    """The lines of these very rows that the table at `path` has, with those of `others` (baselines) on the same problems; says what it
    is and what is missing.

    None if it has none: it is not there, or was made with other weights or parameters.
    """
    grid = list(grid)
    jobs = {job.run: job.label for job in (job_of(row, networks[row.weights]) for row in grid)}
    table, births = read_rows(path)
    alike = [{"test_set": row.test_set, "seed": row.seed, "noise": row.noise, "n_points": row.n_points, "limit": row.limit} for row in grid]
    beside = {run for run, birth in births.items() if birth["parameters"]["strategy"] in others
              and any(same.items() <= birth["parameters"].items() for same in alike)}
    table = table[table["run"].isin({*jobs, *beside})]
    there, name = [run for run in jobs if run in births], path.name.split(".")[0]
    if not there:
        print(f"{name}: there is no table of these weights and parameters yet")
        return None
    missing = f"; missing: {', '.join(label for run, label in jobs.items() if run not in births)}" if len(there) < len(jobs) else ""
    spent = sum(births[run]["seconds"] for run in births if run in set(table["run"]))
    print(f"{name}: {len(table):,} lines, {max(births[run]['date'] for run in there)[:10]}, {clock(spent)}{missing}")
    return table.reset_index(drop=True)
