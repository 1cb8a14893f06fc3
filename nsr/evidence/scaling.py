"""What scaling the data does: transformer4sr trained on sets of several sizes, all asked for the same
skeletons that none of them holds.

Two ways to choose test problems.  `new_skeletons`: skeletons outside the largest training set (so outside all
of them).  `new_tables`: new tables of training skeletons, which is what a split by data set gives, as
published: there a perfect copy is the right answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from nsr.book.run_records import digest
from nsr.data.problems import Problem
from nsr.data.skeleton_tables import N_POINTS, distinct, make_tables, skeleton_stream
from nsr.evidence.novelty import Sense, TrainingSet, tidy
from nsr.evidence.rows import SKELETON_SETS as TEST_SETS
from nsr.evidence.rows import Row
from nsr.evidence.statistics import mcnemar, wilson
from nsr.formulas.expressions import CONSTANT, VARIABLES, Prefix
from nsr.formulas.skeletons import bare, simplified
from nsr.network.checkpoints import Trained
from nsr.numbers import random_streams
from nsr.numbers.evaluation import evaluate
from nsr.search.engine import solve_all
from nsr.search.strategies.greedy import Greedy

if TYPE_CHECKING:
    import pandas as pd

# with constants, without; as functions
SENSES = ("novel_constants", "novel", "novel_functional_constants", "novel_functional")
PARTS = (30, 12, 5, 2, 1)  # the largest set divided by each
PAPER = {"novel_constants": 12.0, "novel": 6.0}  # "less than" so many per cent at 1.5M, of 300 problems
N_PROBLEMS = 300


def sizes(largest: int) -> list[int]:
    """Training-set sizes over a factor of 30.

    >>> sizes(48_000)
    [1600, 4000, 9600, 24000, 48000]
    """
    return [largest // part for part in PARTS]


# --------------------------------------------------------------------------------------------------------------------- novelty

_POINTS = 10 ** np.random.default_rng(random_streams.SKELETON_POINTS).uniform(-1, 1, (16, len(VARIABLES)))
# All C of a skeleton have one of these values at a time. A root or a logarithm that is undefined with one of
# them is defined with another.
_VALUES = (1.7, -2.3, 37.1)


@lru_cache(maxsize=1 << 17)
def function_of(skeleton: Prefix) -> str:
    """A hash of a skeleton's values at positive points, five digits, for three values of C; equal skeletons
    have equal ones.

    >>> function_of(("log", "mul", "x1", "x2")) == function_of(("add", "log", "x1", "log", "x2"))
    True
    """
    n = skeleton.count(CONSTANT)
    values = np.concatenate([evaluate(skeleton, _POINTS, (c,) * n) for c in (_VALUES if n else (0.0,))])
    if not np.isfinite(values).any():
        return digest(" ".join(skeleton))
    return digest(" ".join("0" if abs(v) < 1e-12 else f"{v:.4e}" if np.isfinite(v) else "-" for v in values))


def skeleton_set(skeletons: Iterable[Prefix]) -> TrainingSet:
    """A training set of skeletons E*; an answer is simplified before it is looked up, so that another
    spelling is no discovery. It is new with its constants, without (the paper's two definitions), and as
    functions.

    >>> training = skeleton_set([("mul", "C", "exp", "x1")])
    >>> [name for name, new in training.novelty(("add", "C", "exp", "x1")).items() if new]
    ['novel_constants', 'novel_functional_constants']
    """
    seen = frozenset(simplified(tuple(skeleton)) for skeleton in skeletons)
    templates = frozenset(map(bare, seen))
    functions = [cache(lambda known=known: frozenset(map(function_of, known))) for known in (seen, templates)]
    senses = (
        Sense(simplified, lambda: seen),
        Sense(bare, lambda: templates),
        Sense(lambda e: function_of(simplified(e)), functions[0], within="novel_constants"),
        Sense(lambda e: function_of(bare(e)), functions[1], within="novel"),
    )
    return TrainingSet(templates, seen, canonical=True, senses=dict(zip(SENSES, senses)))


# -------------------------------------------------------------------------------------------------------------------- problems


def problems_of(
    test_set: str, known: Collection[Prefix], n: int = N_PROBLEMS, seed: int = 0, n_points: int = N_POINTS
) -> list[Problem]:
    """n problems with n_points given and as many fresh: skeletons that are not `known`, or new tables of
    known ones."""
    return list(_problems(test_set, frozenset(known), n, seed, n_points))


@lru_cache(maxsize=16)
def _problems(
    test_set: str, known: frozenset[Prefix], n: int, seed: int, n_points: int
) -> tuple[Problem, ...]:
    if test_set not in TEST_SETS:
        raise ValueError(f"no test set {test_set!r}; there are {', '.join(TEST_SETS)}")

    def drawn() -> Iterator[Prefix]:
        rng, ordered = np.random.default_rng([random_streams.SCALING_PROBLEMS, seed]), sorted(known)
        while True:
            yield ordered[rng.integers(len(ordered))]

    stream = (
        distinct(skeleton_stream(random_streams.SCALING_PROBLEMS + seed), known)
        if test_set == "new_skeletons"
        else drawn()
    )
    # some are constant on one half
    tables = make_tables(stream, 2 * n, 1, random_streams.SCALING_PROBLEMS + seed, 2 * n_points)
    found = []
    for index, c, points in zip(tables.skeleton, tables.constants, tables.points):
        (X, y), (X_fresh, y_fresh) = (
            (half[:, :-1], half[:, -1]) for half in (points[:n_points], points[n_points:])
        )
        if np.ptp(y) > 0 and np.ptp(y_fresh) > 0 and len(found) < n:
            found.append(
                Problem(
                    X,
                    y,
                    f"{test_set}-{seed}-{len(found)}",
                    tables.skeletons[index],
                    (float(c),),
                    X_fresh,
                    y_fresh,
                )
            )
    return tuple(found)


# ----------------------------------------------------------------------------------------------------------------- measurement


def measure_skeletons(trained: Trained, row: Row) -> pd.DataFrame:
    """One line per problem of a row, with novelty in every sense and whether the answer is the truth (with
    constants, without)."""
    training = skeleton_set(trained.templates)
    known = row.known if row.test_set == "new_skeletons" else trained.templates
    problems = problems_of(row.test_set, known, row.n_problems, row.seed, row.n_points)[: row.limit]
    results = solve_all(problems, row.strategy, trained, fit=row.fit, seed=row.seed, reference=training)
    answers = [result.answer and result.answer.prefix for result in results]
    written = [next(iter(result.generated), ()) for result in results]  # also what is undefined at the points
    truths = [problem.truth for problem in problems]
    s = trained.settings
    step = s["steps"] if row.step is None else row.step
    return (
        tidy(results, training, test_set=row.test_set)
        .drop(columns=["same_template", "same_family"])
        .assign(
            items=s["items"],
            skeletons=len(training.seen),
            step=step,
            epoch=round(step * s["batch"] / s["items"], 2),
            same_skeleton=[a is not None and simplified(a) == t for a, t in zip(answers, truths)],
            same_structure=[a is not None and bare(a) == bare(t) for a, t in zip(answers, truths)],
            truth_novel=[training.novelty(t)["novel"] for t in truths],
            written=[" ".join(w) for w in written],
            **{f"written_{sense}": [training.novelty(w)[sense] for w in written] for sense in SENSES[:2]},
        )
    )


def size_rows(names: Iterable[str], known: Collection[Prefix], **options) -> list[Row]:
    """The networks of several sizes, by name, on both test sets; `known` are the skeletons of the largest
    training set, so that all networks have the same new ones."""
    return [_row(test_set, name, known, **options) for name in names for test_set in TEST_SETS]


def epoch_rows(name: str, steps: Iterable[int], known: Collection[Prefix], **options) -> list[Row]:
    """Snapshots of one network on new skeletons."""
    return [_row("new_skeletons", name, known, step=step, **options) for step in steps]


def _row(test_set: str, weights: str, known: Collection[Prefix], **options) -> Row:
    return Row(Greedy(), test_set, weights=weights, known=frozenset(known), n_points=N_POINTS, **options)


# --------------------------------------------------------------------------------------------------------------------- reading


def shares(rows: pd.DataFrame, by: str | Sequence[str], flags: Sequence[str] = SENSES) -> pd.DataFrame:
    """The share of lines with each flag, with its Wilson interval, per group: a tidy table. A failure counts
    as false."""
    import pandas as pd

    names, out = [by] if isinstance(by, str) else list(by), []
    for key, group in rows.groupby(names, sort=True):
        for flag in flags:
            k, n = int(group[flag].astype(bool).sum()), len(group)
            out.append(
                {
                    **dict(zip(names, key)),
                    "flag": flag,
                    "count": k,
                    "n": n,
                    **dict(zip(("share", "low", "high"), wilson(k, n))),
                }
            )
    return pd.DataFrame(out)


def steps_between(rows: pd.DataFrame, by: str, flag: str) -> pd.DataFrame:
    """From each group to the next: by how much a share changed on the same problems, and McNemar's exact p."""
    import pandas as pd

    table = rows.pivot(index="problem", columns=by, values=flag).astype(bool)
    lines = []
    for before, after in zip(table.columns, table.columns[1:]):
        test = mcnemar(table[after], table[before])
        lines.append(
            {
                "from": before,
                "to": after,
                "change": (test.only_a - test.only_b) / len(table),
                "p": test.p_value,
            }
        )
    return pd.DataFrame(lines)


def saturates(steps: pd.DataFrame, level: float = 0.05) -> str:
    """What the changes between sizes say about "tends to saturate", in words."""
    last, earlier = steps.iloc[-1], steps.iloc[:-1]
    if last.p < level:
        return "still rising" if last.change > 0 else "falling at the end"
    clear = earlier[earlier.p < level]
    if (clear.change < 0).any():
        return "up and down" if (clear.change > 0).any() else "falls, then no change"
    return "rises, then saturates" if len(clear) else "no change to be seen"
