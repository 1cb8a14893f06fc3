"""A user's table: what is wrong with it, said in a sentence that names the column and what to do, before
anything is fitted."""

import keyword
import numbers
import re
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np


class TableError(ValueError):
    """A table that no formula can be found for; the message says why and what to do."""


LARGEST = 1e150  # the square of a larger number is infinite, and R² is made of squares
FLOATS = int(sys.float_info.max)
DATES = "holds dates. Turn them into numbers, for instance days since the first."


def check_table(X: Any, y: Any) -> None:
    """Refuse what no formula can be found for: text, missing and infinite values, double names, wrong shapes,
    nothing that varies.

    >>> check_table(np.array([[1.0, float("nan")], [2.0, 3.0]]), [1.0, 2.0])
    Traceback (most recent call last):
    nsr.regressor.tables.TableError: Column x2 of X has 1 missing value (NaN), first in row 1 of 2. Drop such rows or fill them in.
    """
    if hasattr(X, "sparse") and not hasattr(X, "columns") or hasattr(X, "toarray"):
        return  # sparse matrices: scikit-learn's own sentence is good
    _check_mask("X", X)
    names, parts, rows = _columns(X)
    if not parts:
        least = f"0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is required"
        raise TableError(f"X has no columns: {least}. Give it at least one.")
    if rows == 0:
        why = "Was the file empty, or did a filter drop everything?"
        raise TableError(f"X has no rows: 0 sample(s) (shape=(0, {len(parts)})). {why}")
    text_advice = "Leave it out, or turn it into numbers (pandas.get_dummies)."
    for name, values in zip(names, parts):
        _check_column(f"Column {name} of X", values, "Drop such rows or fill them in.", text_advice)
    if y is not None:
        _check_target(y, rows)
        if rows > 1 and all(_constant(values) for values in parts):
            none = f"No column of X varies over its {rows} rows, so none can explain y"
            raise TableError(f"{none}. Are these the right columns?")


def _columns(X: Any) -> tuple[list[str], list[np.ndarray], int]:
    """Names and values of the columns, and the number of rows."""
    columns = getattr(X, "columns", None)
    if columns is not None:
        double = [str(name) for name, n in Counter(map(str, columns)).items() if n > 1]
        if double:
            why = "every variable of a formula needs its own name"
            raise TableError(f"X has two columns named {double[0]!r}. Rename one: {why}.")
        if len({isinstance(name, str) for name in columns}) > 1:
            words = "Name all by words: X.columns = X.columns.astype(str)."
            raise TableError(f"Some columns of X are named by words and some by numbers. {words}")
        return list(map(str, columns)), [np.asarray(X.iloc[:, j]) for j in range(len(columns))], len(X)
    if X is None or isinstance(X, dict | str):
        made = "pandas.DataFrame makes one of a dict of columns, pandas.read_csv of a file"
        what = "None" if X is None else f"a {type(X).__name__}"
        raise TableError(
            f"X is {what}, not a table. Give a DataFrame ({made}) or an array of rows and columns."
        )
    array = np.asarray(X)
    if np.iscomplexobj(array):
        raise TableError("Complex data not supported: give the real and the imaginary part as two columns.")
    if array.ndim != 2:
        found = f"X has {array.ndim} dimension{'s' * (array.ndim != 1)}: a table has rows and columns"
        one = "X.reshape(-1, 1) makes one column of a list of numbers, table[['name']] takes one column of a table"
        raise TableError(f"Expected 2D array, {found}. Reshape your data: {one}.")
    return default_names(array.shape[1]), list(array.T), array.shape[0]


def _check_mask(what: str, values: Any) -> None:
    """Refuse values that a mask hides: whoever reads the numbers alone would see what lies below it."""
    parts = values if isinstance(values, list | tuple) else [values]
    n = sum(int(np.ma.getmaskarray(part).sum()) for part in parts if isinstance(part, np.ma.MaskedArray))
    if n:
        masked = f"{n} masked values: they are missing" if n > 1 else "1 masked value: it is missing"
        raise TableError(f"{what} has {masked}. Drop such rows, or fill them in.")


def _check_target(y: Any, rows: int) -> None:
    _check_mask("y", y)
    target = np.asarray(y)
    if target.ndim == 0:
        raise TableError(f"y is {y!r}, one thing; give the value of every row, for instance table['name'].")
    if np.iscomplexobj(target):
        parts = "Fit the real and the imaginary part one after the other."
        raise TableError(f"Complex data not supported: y must be real. {parts}")
    if target.ndim > 2 or target.ndim == 2 and target.shape[1] != 1:
        one = "Fit one column of it at a time."
        raise TableError(f"y should be a 1d array, it has the shape {target.shape}. {one}")
    if len(target) != rows:
        both = f"X has {rows} rows, y has {len(target)}. They must be of the same rows."
        raise TableError(f"X and y have inconsistent numbers of samples: {both}")
    flat, advice = target.reshape(-1), "Drop such rows: a value to explain cannot be guessed."
    text_advice = "A formula's values are numbers: turn it into some, 0 and 1 for instance."
    _check_column("y", flat, advice, text_advice)
    if rows == 1:
        more = "At least 2 rows are needed, and a formula worth having wants ten times as many."
        raise TableError(f"X has 1 sample. {more}")
    if flat.dtype.kind in "fiub":
        flat = flat.astype(float)
        if np.ptp(flat) == 0:
            nothing = "there is nothing to explain. Is it the right column?"
            raise TableError(f"y is the constant {flat[0]:g} in all {rows} rows: {nothing}")
        if np.abs(flat).max() > LARGEST or np.abs(flat - flat.mean()).max() < 1 / LARGEST:
            why = f"too {'large' if np.abs(flat).max() > 1 else 'close'} to be squared in 64 bits"
            other = "Measure it in another unit, for instance y / 1e100."
            raise TableError(f"y goes from {flat.min():g} to {flat.max():g}: {why}. {other}")


def weighted(
    X: np.ndarray, y: np.ndarray, sample_weight: Any, y_error: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The rows that count, and their weights (P,); None for these if all count the same."""
    weights = weights_of(sample_weight, y_error, len(y))
    if weights is None:
        return X, y, None
    counts = weights > 0
    if not counts.all():
        X, y, weights = X[counts], y[counts], weights[counts]
        check_table(X, y)
    return X, y, None if (weights == weights[0]).all() else weights


def weights_of(sample_weight: Any, y_error: Any, rows: int) -> np.ndarray | None:
    """The weight of each row (P,), perhaps 0: as given, or 1/error², up to a factor. None if nothing is given.

    >>> weights_of(None, [1.0, 2.0], 2).tolist(), weights_of(None, None, 2)
    ([1.0, 0.25], None)
    """
    if sample_weight is not None and y_error is not None:
        raise TableError("Give sample_weight or y_error, not both: an error e is the weight 1/e².")
    what, given = ("y_error", y_error) if sample_weight is None else ("sample_weight", sample_weight)
    if given is None or isinstance(given, numbers.Real):
        return None  # nothing, or one number for all rows
    _check_mask(what, given)
    try:
        values = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise TableError(f"{what} holds something that is no number.") from None
    if values.shape != (rows,):
        shape = f"{len(values)} values" if values.ndim == 1 else f"the shape {values.shape}"
        raise TableError(f"{what} has {shape}, X has {rows} rows: give one number for each row.")
    fine = values > 0 if what == "y_error" else (values >= 0) & np.isfinite(values)
    if not fine.all():
        n, first = int((~fine).sum()), int(np.flatnonzero(~fine)[0]) + 1
        allowed = "an error is above 0" if what == "y_error" else "a weight is a number from 0 on"
        place = f"first {values[first - 1]:g} in row {first} of {rows}"
        raise TableError(f"{what} has {n} value{'s' * (n > 1)} that cannot be, {place}: {allowed}.")
    least = values.min()
    if least == np.inf or values.max() == 0:
        raise TableError(f"By {what} no row counts at all: every weight is zero.")
    return (least / values) ** 2 if what == "y_error" else values / values.max()


def _constant(values: np.ndarray) -> bool:
    return values.dtype.kind in "fiub" and bool((values == values[0]).all())


def _check_column(what: str, values: np.ndarray, advice: str, text_advice: str) -> None:
    if values.dtype.kind in "OUST":
        text = next((v for v in values if isinstance(v, str) and not _is_number(v)), None)
        if text is not None:
            if _is_number(text.replace(",", ".", 1)):
                text_advice = "With pandas.read_csv(..., decimal=',') it becomes a number."
            raise TableError(f"{what} holds text, such as {text[:30]!r}. {text_advice}")
        if any(hasattr(v, "strftime") for v in values):  # datetime, Timestamp, Period
            raise TableError(f"{what} {DATES}")
        if any(isinstance(v, int) and abs(v) > FLOATS for v in values):
            large = "an integer that is too large for a number of 64 bits"
            raise TableError(f"{what} holds {large}. Measure it in another unit.")
        missing = [v is None or v is not v or type(v).__name__ == "NAType" for v in values]
        values = np.where(np.array(missing, dtype=bool), np.nan, 0.0)
    elif values.dtype.kind in "Mm":
        raise TableError(f"{what} {DATES}")
    if values.dtype.kind != "f":
        return
    too_large = "infinite", "(inf: infinity or a value too large for dtype('float64'))"
    for (name, kind), wrong in ((("missing", "(NaN)"), np.isnan(values)), (too_large, np.isinf(values))):
        if wrong.any():
            n, first = int(wrong.sum()), int(np.flatnonzero(wrong)[0]) + 1
            many = f"{n} {name} value{'s' * (n > 1)} {kind}"
            raise TableError(f"{what} has {many}, first in row {first} of {len(values)}. {advice}")


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

    >>> symbols_for(["mass", "wind speed", "wind-speed", "wind_speed_2", "2nd", "lambda"])
    ['mass', 'wind_speed', 'wind_speed_2', 'wind_speed_2_2', '_2nd', 'lambda_']
    """
    taken: Counter = Counter()
    out: dict[str, None] = {}
    for name in names:
        symbol = re.sub(r"\W+", "_", str(name)).strip("_") or "x"
        symbol = free = f"{'_' * symbol[0].isdigit()}{symbol}{'_' * keyword.iskeyword(symbol)}"
        while free in out:
            taken[symbol] += 1
            free = f"{symbol}_{taken[symbol] + 1}"
        out[free] = None
    return list(out)
