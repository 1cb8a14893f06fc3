"""A user's table: what is wrong with it, said in a sentence that names the column and what to do, before anything is fitted."""
from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np


class TableError(ValueError):
    """A table that no formula can be found for; the message says why and what to do."""


def check_table(X: Any, y: Any) -> None:
    """Refuse text, missing and infinite values, double names, no columns, too few rows and a constant y.

    >>> check_table(np.array([[1.0, float("nan")], [2.0, 3.0]]), [1.0, 2.0])
    Traceback (most recent call last):
    nsr.tables.TableError: Column x2 of X has 1 missing value (NaN), first in row 1 of 2. Drop such rows or fill them in.
    """
    if hasattr(X, "sparse") and not hasattr(X, "columns") or hasattr(X, "toarray"):
        return  # sparse matrices: scikit-learn's own sentence is good
    columns = getattr(X, "columns", None)
    if columns is not None:
        double = [str(name) for name, n in Counter(map(str, columns)).items() if n > 1]
        if double:
            raise TableError(f"X has two columns named {double[0]!r}. Rename one: every variable of a formula needs its own name.")
        names, parts = [str(name) for name in columns], [np.asarray(X.iloc[:, j]) for j in range(len(columns))]
    else:
        array = np.asarray(X)
        if array.ndim != 2 or np.iscomplexobj(array):
            return
        names, parts = default_names(array.shape[1]), list(array.T)
    rows = len(X) if columns is not None else array.shape[0]
    if not parts:
        raise TableError(f"X has no columns: 0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is required. Give it at least one.")
    for name, values in zip(names, parts):
        _check_column(f"Column {name} of X", values, "Drop such rows or fill them in.")
    if y is None:
        return
    target = np.asarray(y)
    if target.ndim in (1, 2) and not np.iscomplexobj(target):
        _check_column("y", target.reshape(-1), "Drop such rows: a value to explain cannot be guessed.")
    if rows == 1:
        raise TableError("X has 1 sample. At least 2 rows are needed, and a formula worth having wants ten times as many.")
    if target.ndim == 1 and len(target) == rows > 1 and target.dtype.kind in "fiub" and np.ptp(target.astype(float)) == 0:
        raise TableError(f"y is the constant {float(target[0]):g} in all {rows} rows: there is nothing to explain. Is it the right column?")


def _check_column(what: str, values: np.ndarray, advice: str) -> None:
    if values.dtype.kind in "OUST":
        text = next((v for v in values if isinstance(v, str) and not _is_number(v)), None)
        if text is not None:
            raise TableError(f"{what} holds text, such as {text[:30]!r}. Leave it out, or turn it into numbers (pandas.get_dummies).")
        missing = np.array([v is None or v is not v or type(v).__name__ == "NAType" for v in values], dtype=bool)
        values = np.where(missing, np.nan, 0.0)
    elif values.dtype.kind in "Mm":
        raise TableError(f"{what} holds dates. Turn them into numbers, for instance days since the first.")
    if values.dtype.kind != "f":
        return
    for name, wrong in (("missing", np.isnan(values)), ("infinite", np.isinf(values))):
        if wrong.any():
            n, first = int(wrong.sum()), int(np.flatnonzero(wrong)[0]) + 1
            kind = "(NaN)" if name == "missing" else "(inf: infinity or a value too large for dtype('float64'))"
            raise TableError(f"{what} has {n} {name} value{'s' * (n > 1)} {kind}, first in row {first} of {len(values)}. {advice}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def default_names(n: int) -> list[str]:
    return [f"x{i + 1}" for i in range(n)]


def symbols_for(names: Sequence[str]) -> list[str]:
    """Column names as symbols that can stand in a formula.

    >>> symbols_for(["mass", "wind speed", "wind-speed", "2nd", "lambda"])
    ['mass', 'wind_speed', 'wind_speed_2', '_2nd', 'lambda_']
    """
    taken: Counter = Counter()
    out = []
    for name in names:
        symbol = re.sub(r"\W+", "_", str(name)).strip("_") or "x"
        symbol = f"_{symbol}" if symbol[0].isdigit() else f"{symbol}_" if keyword.iskeyword(symbol) else symbol
        taken[symbol] += 1
        out.append(symbol if taken[symbol] == 1 else f"{symbol}_{taken[symbol]}")
    return out
