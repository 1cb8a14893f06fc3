"""A table of results and its record: two files that belong together, and are read together or not at all.

beam.csv.gz   the table
beam.json     its record: all that is needed to make it again, and the digest of the table
"""

import contextlib
import gzip
import io
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsr.book.foreign_files import Kind, read_bytes, read_json
from nsr.book.locks import locked
from nsr.book.run_records import atomic_write, digest, short, sync_folder, to_json, uses

if TYPE_CHECKING:  # pandas takes half a second to import, and the command line should answer at once
    import pandas as pd

FLAGS = ("novel", "same_")  # columns of a table of answers whose names begin so are true or false
MOST_COLUMNS = 10_000
TRIES = 10  # to find a table and its record together while somebody writes them


class ResultError(ValueError):
    """A table or its record that cannot be read, or two that do not belong together."""


TABLE = Kind("a table", ResultError, "It may be truncated: delete it, and make it again.")
RECORD = Kind("the record of a table", ResultError, "Delete it and its table, and make them again.")


def write_table(
    table: "pd.DataFrame", path: Path | str, made: Mapping[str, Any], *, held: bool = False
) -> Path:
    """Write a table as CSV (compressed if the name ends in .gz) and its record as JSON beside it.

    Of two writers one waits for the other; `held` says that the caller already holds the table's lock.
    """
    path = Path(path)
    text = table.to_csv(index=False, lineterminator="\n").encode()
    # no time stamp inside: equal tables are equal files
    packed = gzip.compress(text, mtime=0) if path.suffix == ".gz" else text
    with contextlib.nullcontext() if held else locked(path):
        # The new record waits beside the old one until its table is there: whenever we are killed, one of the
        # two belongs to the table.
        waiting = atomic_write(_waiting(path), to_json({**made, "digest": digest(text)}) + "\n")
        atomic_write(path, packed)
        os.replace(waiting, record_path(path))
        sync_folder(path.parent)
    return path


def read_table(path: Path | str) -> "pd.DataFrame":
    """Read a table that `write_table` wrote, with booleans as booleans, and remember that the current run
    depends on it."""
    return read_table_and_record(path)[0]


def read_table_and_record(path: Path | str) -> tuple["pd.DataFrame", dict[str, Any]]:
    """A table and the record that belongs to it; a table without any has an empty one."""
    path = Path(path)
    if not path.exists():
        first = "Run the notebook or the sweep that makes it first."
        raise FileNotFoundError(f"There is no table {short(path)}. {first}")
    uses(path)
    for attempt in range(TRIES):
        text = read_bytes(path, TABLE)
        records = list(_records(path))
        name = digest(text)  # the first records had none
        fitting = [record for record in records if record.get("digest", name) == name]
        if fitting or not records:
            with TABLE.of(path):
                return table_from(text), fitting[0] if fitting else {}
        time.sleep(0.02 * (attempt < TRIES - 1))
    why = "do not belong together: the record is that of another table"
    again = "Restore both from one source, or delete both and make them again."
    raise ResultError(f"{short(path)} and {record_path(path).name} {why}. {again}")


def _records(path: Path) -> Iterator[dict[str, Any]]:
    for file in (record_path(path), _waiting(path)):
        try:
            if file.exists():
                yield read_json(file, RECORD)
        except ResultError:
            if file.exists():  # else its writer has just moved it to its place
                raise


def table_from(text: bytes) -> "pd.DataFrame":
    r"""A table from CSV, which knows no types: columns of true and false become booleans.

    A failure has no answer and is neither novel nor right, so a flag that is missing there is False. Where
    something was answered and nobody looked, a missing flag stays missing, and the others are Python's True
    and False.

    >>> table = table_from(b"answer,answer_infix,novel\nx1,x1,1.0\n,,\n")
    >>> table.novel.dtype, table.novel.tolist()
    (dtype('bool'), [True, False])
    """
    import pandas as pd

    if text[: text.find(b"\n")].count(b",") >= MOST_COLUMNS:
        raise ValueError(f"it has more than {MOST_COLUMNS:,} columns")
    table = pd.read_csv(io.BytesIO(text), low_memory=False)  # a column has one type
    if not {"answer", "answer_infix"} <= set(table):
        return table
    failed = table["answer"].isna() & table["answer_infix"].isna()
    for name in table:
        if name.startswith(FLAGS) and table[name].dtype != bool and table[name].notna().any():
            try:
                flags = table[name].astype("boolean").mask(failed & table[name].isna(), False)
            except TypeError as error:
                raise ValueError(f"{name} is neither true nor false: {error}") from None
            table[name] = flags.astype(object).where(flags.notna()) if flags.hasnans else flags.astype(bool)
    return table


def record_path(path: Path | str) -> Path:
    """Where the record of a table lies.

    >>> record_path("table.csv.gz").name
    'table.json'
    """
    path = Path(path)
    return path.with_name(path.name.removesuffix(".gz").removesuffix(".csv") + ".json")


def _waiting(path: Path) -> Path:
    """Where a record lies until its table is there."""
    return record_path(path).with_name(f".{record_path(path).name}.waiting")
