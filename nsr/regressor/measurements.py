"""A file of measurements and the formula in it: what `python -m nsr fit measurements.csv period` does."""

from __future__ import annotations

import codecs
import csv
import io
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nsr.book.spelling import refuse_unknown
from nsr.regressor.tables import TableError, _is_number, default_names

if TYPE_CHECKING:
    import pandas as pd

    from nsr.regressor.estimator import NSRegressor

SEPARATORS = ",;\t|"
LARGEST = 200_000_000  # bytes of a file: a million rows of ten columns, or ten thousand columns
MISSING = ("", "na", "nan")
SHOWN = 20  # columns named in a message
LONGER = 3  # so many formulas that are longer than the answer are listed


def read_measurements(path: Path | str) -> pd.DataFrame:
    """The table in a CSV file, whatever of , ; tab and | separates its columns; a sentence if there is none.

    Where no comma separates columns, it may separate decimals.
    """
    import pandas as pd

    file = Path(path)
    text = _text_of(file)
    first = text.partition("\n")[0]
    separator = max(SEPARATORS, key=first.count)
    try:  # a row ends at a line feed, at a carriage return or at both, and at nothing else
        lines = io.StringIO(text, newline="")
        rows = [row for row in csv.reader(lines, delimiter=separator) if row]
    except csv.Error as error:
        raise TableError(f"{file.name} is no table ({error}).") from None
    if len(rows) < 2:
        raise TableError(
            f"{file.name} has {len(rows)} row{'s' * (len(rows) != 1)}. The first line names the columns, and each further one is a measurement."
        )
    wrong = next((i for i, row in enumerate(rows) if len(row) != len(rows[0])), None)
    if wrong is not None:
        raise TableError(
            f"Line {wrong + 1} of {file.name} has {len(rows[wrong])} {'entry' if len(rows[wrong]) == 1 else 'entries'}, the first has {len(rows[0])}."
        )
    names = [name.strip() for name in rows[0]]
    if all(_is_number(name if separator == "," else name.replace(",", ".")) for name in names):
        raise TableError(
            f"{file.name} has no names of columns: its first line is {separator.join(names)[:60]}. Write a line of names above it, for instance "
            f"{separator.join(default_names(len(names)))[:60]}."
        )
    double = next((name for name, n in Counter(names).items() if n > 1), None)
    if double is not None:
        raise TableError(f"{file.name} has two columns named {double[:40]!r}. Rename one.")
    decimal = "." if separator == "," else ","
    return pd.DataFrame({name: _numbers(list(entries), decimal) for name, *entries in zip(names, *rows[1:])})


def _text_of(file: Path) -> str:
    """What is in a file of text; a device without an end, or a pipe that nobody writes to, is not even
    opened."""
    try:
        if file.exists() and not file.is_file():
            raise TableError(f"{file} is a folder, a pipe or a device, not a file. Save the table as CSV.")
        with open(file, "rb") as opened:
            raw = opened.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise TableError(
                f"{file.name} has more than {LARGEST // 10**6} MB. Keep the columns that may matter, or some of the rows."
            )
        marked = raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        return raw.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError:
        raise TableError(f"{file.name} is no text. Save the table as CSV, in UTF-8.") from None
    except OSError as error:
        raise TableError(f"{file} cannot be read ({error.strerror or error}).") from None


def _numbers(entries: list[str], decimal: str = ".") -> list[float] | list[str]:
    """A column as numbers if all its entries are numbers or empty, and some are numbers; else as it is."""
    values = []
    for entry in entries:
        value = _number(entry.replace(decimal, "."))
        if value is None:
            return entries
        values.append(value)
    return entries if all(map(math.isnan, values)) else values


def _number(entry: str) -> float | None:
    """NaN where there is no entry, None where there is no number."""
    text = entry.strip()
    if text.lower() in MISSING:
        return math.nan
    try:  # Python would read 1_000 and digits of other alphabets, too
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def split(
    table: pd.DataFrame, target: str, columns: Sequence[str] = ()
) -> tuple[pd.DataFrame, pd.Series, list[str]]:
    """X, y, and in words what was left out: columns of text, rows with gaps.

    >>> import pandas as pd
    >>> X, y, notes = split(pd.DataFrame({"length": [1.0, 2.0, None], "who": ["a", "b", "c"], "period": [2.0, 2.8, 3.5]}), "period")
    >>> list(X), len(y), notes
    (['length'], 2, ['left out: who (no numbers)', 'left out: 1 of 3 rows, with missing values'])
    """
    refuse_unknown([target, *columns], table, "column", TableError)
    notes, numeric = [], [name for name in table if table[name].dtype.kind == "f"]
    if target not in numeric or set(columns) - set(numeric):
        name = next(n for n in (target, *columns) if n not in numeric)
        entry = next((str(e) for e in table[name] if _number(str(e)) is None), "")
        raise TableError(f"Column {name!r} has entries that are no numbers, such as {entry[:40]!r}.")
    text = [name for name in table if name not in numeric and not columns]
    chosen = list(dict.fromkeys(columns or [name for name in numeric if name != target]))
    if target in chosen or not chosen:
        raise TableError(
            f"{target!r} has to be explained by other columns, and there are none with numbers."
            if not chosen
            else f"{target!r} cannot explain itself: leave it out of the columns."
        )
    if text:
        more = f" and {len(text) - SHOWN:,} more" if len(text) > SHOWN else ""
        notes.append(f"left out: {', '.join(text[:SHOWN])}{more} (no numbers)")
    whole = table[[*chosen, target]].dropna()
    if len(whole) < len(table):
        notes.append(f"left out: {len(table) - len(whole)} of {len(table)} rows, with missing values")
    return whole[chosen], whole[target], notes


def report(model: NSRegressor, target: str, X: pd.DataFrame, y: pd.Series) -> str:
    """The formula, how well it fits, and what shorter and longer ones would gain, `▶` at the answer."""
    answer = model.equations_.iloc[0]
    known = (
        ""
        if answer.source == "yardstick"
        else ", not in the training set"
        if answer.novel
        else ", in the training set"
    )
    lines = [
        f"{target} = {model.formula_}",
        "",
        f"R² {model.score(X, y):.6f} on {len(y)} rows{known}",
        "",
        "   tokens  R²        formula",
    ]
    front = model.pareto_front_
    shown = front.head((front.complexity <= answer.complexity).sum() + LONGER)
    for index, row in shown.iterrows():
        lines.append(
            f"{'▶' if index == answer.name else ' '}  {row.complexity:>6}  {abs(row.r2) if row.r2 > -5e-7 else row.r2:.6f}  {row.equation}"
        )
    if more := len(front) - len(shown):
        lines.append(f"{'…':>9}  {front.r2.max():.6f}  the best of {more} longer ones")
    from nsr.search.oracle import NOISE  # late: it brings the compiler along

    constants = model._formula(0)[1]
    if constants and answer.r2 < 1 - NOISE:
        told = ", ".join(f"{c:.6g} ± {half:.2g}" for c, half in zip(constants, model.half_widths_))
        lines += [
            "",
            f"Constants, with 95 % intervals: {told}",
            "(if the form is right, and the errors are independent and of one size)",
        ]
    if model.beyond_:
        sides = ", ".join(
            f"{side} the {'smallest' if side == 'below' else 'largest'} {column}"
            for column, side in model.beyond_
        )
        lines += ["", f"Not to be used {sides}: it has no value there, or an absurd one."]
    return "\n".join(lines)


def find_formula(
    path: Path | str,
    target: str,
    columns: Sequence[str] = (),
    seconds: float = 30.0,
    seed: int = 0,
    page: Path | str | None = None,
) -> str:
    """Read, search, report, and write the report as a page, too, if one is wanted."""
    from nsr.regressor.estimator import NSRegressor  # late: it brings torch along

    X, y, notes = split(read_measurements(path), target, columns)
    if not seconds > 0:
        raise TableError(f"{seconds:g} seconds are no time to search.")
    model = NSRegressor(max_time=seconds, random_state=seed, verbose=True).fit(X, y)
    used = [f"searched in: {', '.join(model.columns_)}"] if len(model.columns_) < X.shape[1] else []
    written = [] if page is None else ["", f"Written: {model.report(X, y, target=target).save(page)}"]
    return "\n".join([*notes, *used, report(model, target, X, y), *written])
