"""Any-time curves: what the answer would have been, had the search been stopped earlier, as a column of the
tidy table.

A search remembers when its best candidate changed (`Result.trace`). Of that the table keeps a short text per
problem, a word for each change of what we report, so that novelty and accuracy at any smaller cost can be
read off one finished search:

    5/89/0.0055/3/0 12/230/0.0141/4/1        candidates/tokens/seconds of the processor/thresholds passed/novel
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from nsr.evidence.novelty import THRESHOLDS, TrainingSet
from nsr.search.oracle import r2_fresh
from nsr.search.result import Result

if TYPE_CHECKING:
    import pandas as pd

COSTS = ("candidates", "tokens", "seconds")
COLUMN = "trace"


def trace_of(result: Result, reference: TrainingSet) -> str:
    """The trace of a search as a word for every change of its best candidate that changes novelty or
    accuracy."""
    words, state = [], None
    for point in result.trace:
        level = sum(r2_fresh(result.problem, point.best) > threshold for threshold in THRESHOLDS)
        now = f"{level}/{int(bool(reference.novelty(point.best.prefix)['novel']))}"
        if now != state:
            words.append(f"{point.candidates}/{point.tokens}/{point.seconds:.4f}/{now}")
            state = now
    return " ".join(words)


@lru_cache(maxsize=65536)  # curves and paired tests ask for the same ones again and again
def read_trace(text: object) -> np.ndarray:
    """(changes, 5): candidates, tokens, seconds, thresholds passed, novel; no rows for a search that never
    found anything.

    >>> read_trace("5/89/0.0055/3/0 12/230/0.0141/4/1").tolist()
    [[5.0, 89.0, 0.0055, 3.0, 0.0], [12.0, 230.0, 0.0141, 4.0, 1.0]]
    """
    words = text.split() if isinstance(text, str) else []  # an empty text comes back from CSV as nan
    trace = np.array([word.split("/") for word in words], dtype=float).reshape(-1, 5)
    trace.flags.writeable = False
    return trace


def has_traces(rows: pd.DataFrame) -> bool:
    """Whether every search of these rows that found something left a trace: tables measured before there were
    any have none."""
    return COLUMN in rows and bool((rows[COLUMN].notna() | (rows["answer_length"] == 0)).all())


def stopped_at(rows: pd.DataFrame, limits: Iterable[float], cost: str = "candidates") -> pd.DataFrame:
    """The same lines with novel and accurate as they would be if each search had been stopped at its
    limit."""
    limits = list(limits)
    return rows.assign(
        **{
            what: [
                share_at([trace], [limit], cost, what)[0] == 1 for trace, limit in zip(rows[COLUMN], limits)
            ]
            for what in ("novel", "accurate")
        }
    )


def share_at(
    traces: Iterable[object],
    spent: Sequence[float],
    cost: str = "candidates",
    what: str = "accurate",
    threshold: float = 0.99,
) -> np.ndarray:
    """The share of problems whose best answer so far was accurate (or novel) when a search had spent s, for
    each s in `spent`.

    >>> share_at(["5/89/0.1/3/0 12/230/0.2/4/1", "1/20/0.1/7/0"], [1, 5, 12]).tolist()
    [0.5, 0.5, 1.0]
    """
    at, spent = COSTS.index(cost), np.asarray(spent, dtype=float)
    level = THRESHOLDS.index(threshold)
    hits, n = np.zeros(len(spent)), 0
    for trace in map(read_trace, traces):
        n += 1
        # the last change before the budget was spent; −1: there was none
        place = np.searchsorted(trace[:, at], spent, side="right") - 1
        flags = trace[:, 4] == 1 if what == "novel" else trace[:, 3] > level
        hits += np.append(flags, False)[place]  # −1 reads the False at the end
    return hits / max(1, n)
