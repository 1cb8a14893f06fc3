"""Practical test sets: AI-Feynman, only_five_variables_nc and black-box data.

None of them is committed. AI-Feynman is our own table of laws, only_five_variables_nc is drawn by our
generator (or read from NSRwH's CSV by path), black-box data are read from a folder in the layout of pmlb's
cache, which the pmlb package fills for who has a network.
"""

import csv
import importlib
import io
import itertools
import os
import re
import zlib
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from nsr.book.foreign_files import Kind, need, parse_json, read_bytes, read_lines
from nsr.book.run_records import OUTPUTS, ROOT, short
from nsr.book.spelling import refuse_unknown
from nsr.data.laws import equations
from nsr.data.problems import HALF_MAX, Problem, ProblemError, noisy
from nsr.data.templates import TreeRecipe, distinct, template_stream
from nsr.formulas.expressions import FULL, Prefix, variables
from nsr.formulas.parsing import parse
from nsr.numbers import random_streams
from nsr.numbers.evaluation import evaluate

Listed = tuple[Prefix, tuple[float, ...], tuple[tuple[float, float], ...]]  # with its constants and ranges

SETS = ("feynman", "only_five_variables_nc", "black_box")
TESTSETS, PMLB = "testsets", "pmlb"
DATA = Kind("a set of data", ProblemError)
# The last one, the paper's 35th, has two classes, ±1, treated as numbers.
BLACK_BOX = tuple(read_lines(Path(__file__).with_name("black_box.txt"), DATA))
TEST_SHARE = 0.25  # of the rows of black-box data, as in SRBench


def folder_of(kind: str) -> Path:
    """The folder with `testsets` or `pmlb`: $NSR_TESTSETS or $NSR_PMLB, else ../shared/<kind> beside the
    project, else outputs/<kind>."""
    chosen = os.environ.get(f"NSR_{kind.upper()}")
    places = [Path(chosen)] if chosen else [ROOT.parent / "shared" / kind, OUTPUTS / kind]
    folder = next((place for place in places if place.is_dir()), None)
    if folder is None:
        fetched = "; or pip install pmlb, which fetches them as they are asked for" if kind == PMLB else ""
        where = f"Set the environment variable NSR_{kind.upper()} to where they are{fetched}."
        raise FileNotFoundError(
            f"There is no folder {' or '.join(map(short, places))} with the data. {where}"
        )
    return folder


def practical_set(
    name: str,
    *,
    seed: int = 0,
    n_points: int = 100,
    n_fresh: int = 100,
    noise: float = 0.0,
    limit: int | None = None,
    path: Path | str | None = None,
) -> list[Problem]:
    """The problems of a set; `limit` takes at most so many, evenly spread; `noise` is a share of y's
    deviation, on given points.

    >>> [problem.name for problem in practical_set("feynman", limit=2)]
    ['feynman-I.6.20a', 'feynman-I.50.26']
    """
    refuse_unknown([name], SETS, "practical set", ValueError)
    if name == "feynman":
        makers = [(e.lecture, lambda rng, e=e: e.problem(rng, n_points, n_fresh, noise)) for e in equations()]
    elif name == "black_box":
        makers = [(n, partial(black_box_problem, n, noise=noise, folder=path)) for n in BLACK_BOX]
    else:
        rows = _listed(Path(path)) if path else _five_variable_templates(100, seed)
        sampled = lambda i, rng: _sampled(f"five-{i}", rows[i], rng, n_points, n_fresh, noise)
        makers = [(str(i), partial(sampled, i)) for i in range(len(rows))]
    n = len(makers) if limit is None else min(limit, len(makers))
    chosen = [round(i * len(makers) / n) for i in range(n)]
    return [makers[i][1](_stream(name, makers[i][0], seed)) for i in chosen]


def _stream(test_set: str, problem: str, seed: int) -> np.random.Generator:
    """Random numbers of one problem alone, so that a part of a set is the same as in the whole."""
    own = zlib.crc32(problem.encode())
    return np.random.default_rng([random_streams.PRACTICAL_SETS, SETS.index(test_set), own, seed])


@lru_cache(maxsize=4)  # one draw in two hundred has five variables
def _five_variable_templates(n: int, seed: int) -> list[Listed]:
    """n different templates of p_E with exactly five variables, no constants, on (−10, 10), that have values
    there."""
    X = np.random.default_rng([random_streams.PRACTICAL_SETS, seed]).uniform(-10, 10, (2000, 5))
    stream = template_stream(TreeRecipe(FULL, 3, 6), random_streams.PRACTICAL_SETS + seed)
    wide = (template for template in distinct(stream) if len(variables(template)) == 5)
    defined = (t for t in wide if np.mean(np.abs(evaluate(t, X)) < HALF_MAX) > 0.02)
    return [(template, (), ((-10.0, 10.0),) * 5) for template in itertools.islice(defined, n)]


def _listed(path: Path, n: int = 100) -> list[Listed]:
    """The first n rows of a CSV in NSRwH's layout: prefix, constants and support of each."""
    rows, raw = [], read_bytes(path, DATA)
    with DATA.of(path):
        for row in itertools.islice(csv.DictReader(io.StringIO(raw.decode(), newline="")), n):
            need(row, eq=str, support=str)
            prefix, constants = parse(re.sub(r"Abs\(([^()]*)\)", r"sqrt(pow2(\1))", row["eq"]))
            ranges = parse_json(row["support"].replace("'", '"'))
            need(ranges, **dict.fromkeys(ranges, dict))
            for one in ranges.values():
                need(one, min=(int, float, str), max=(int, float, str))
            support = tuple((float(ranges[v]["min"]), float(ranges[v]["max"])) for v in sorted(ranges))
            rows.append((prefix, constants, support))
    return rows


def _sampled(
    name: str, row: Listed, rng: np.random.Generator, n_points: int, n_fresh: int, noise: float
) -> Problem:
    """Points of an expression that may be defined in a small part of its support only: drawn until there are
    enough."""
    prefix, constants, support = row
    wanted, D = n_points + n_fresh, len(support)
    X, y = np.empty((0, D)), np.empty(0)
    for _ in range(200):
        block = rng.uniform(*np.array(support).T, (5 * wanted, D))  # (P, D)
        values = evaluate(prefix, block, constants)
        good = np.abs(values) < HALF_MAX  # false for nan
        X, y = np.concatenate([X, block[good]])[:wanted], np.concatenate([y, values[good]])[:wanted]
        if len(y) == wanted:
            given, truth = noisy(y[:n_points], noise, rng), (prefix, tuple(constants))
            return Problem(X[:n_points], given, name, *truth, X[n_points:], y[n_points:])
    raise ProblemError(f"{name}: only {len(y)} of {wanted} points have a value on its support")


def black_box_data(name: str, folder: Path | str | None = None) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """X (P, D), y (P,) and the column names of <folder>/<name>/<name>.tsv.gz; pmlb fetches it if the package
    is there."""
    import pandas as pd

    try:
        home = Path(folder) if folder else folder_of(PMLB)
    except FileNotFoundError:
        home = OUTPUTS / PMLB
    path = home / name / f"{name}.tsv.gz"
    if path.exists():
        text = read_bytes(path, DATA)
        with DATA.of(path):
            table = pd.read_csv(io.BytesIO(text), sep="\t")
    else:
        try:
            pmlb = importlib.import_module("pmlb")
        except ImportError:
            fetched = "Set NSR_PMLB to a folder with pmlb's data, or pip install pmlb to fetch them."
            raise FileNotFoundError(f"{name} is not in {short(home)}. {fetched}") from None
        table = pmlb.fetch_data(name, local_cache_dir=str(home))
    with DATA.of(path):
        need(table, target=pd.Series)
        inputs = table.drop(columns="target")
        return inputs.to_numpy(float), table["target"].to_numpy(float), list(inputs.columns)


def black_box_problem(
    name: str, rng: np.random.Generator, noise: float = 0.0, folder: Path | str | None = None
) -> Problem:
    """A data set split at random: three quarters of the rows are given, the rest judge."""
    X, y, _ = black_box_data(name, folder)
    rows = rng.permutation(len(y))
    cut = len(y) - max(2, round(TEST_SHARE * len(y)))
    given, held = rows[:cut], rows[cut:]
    return Problem(X[given], noisy(y[given], noise, rng), name, X_fresh=X[held], y_fresh=y[held])
