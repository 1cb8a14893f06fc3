"""Reference tables that grow run by run.

A run is written to its table as soon as it is measured. It is known by everything that decides its numbers,
so that none is measured twice.

    outputs/own/<scale>/results/<name>.csv.gz   a line per problem; the column `run` says of which run
    outputs/own/<scale>/results/<name>.json     parameters, commit, date and seconds of table and runs
    outputs/reference/<scale>/results/…         the same, committed: what `publish` has put there

Who reads a table reads both: what was measured here, and of the committed runs those that were not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsr.book.foreign_files import need
from nsr.book.locks import locked
from nsr.book.result_tables import (
    RECORD,
    read_table_and_record,
    record_path,
    write_table,
)
from nsr.book.run_records import (
    OWN,
    REFERENCE,
    atomic_write,
    clock,
    code_digest,
    digest,
    new_record,
    progress,
    reference_only,
    timed,
    to_json,
)
from nsr.network.checkpoints import Trained, weights_digest

if TYPE_CHECKING:
    import pandas as pd


def results_path(name: str, scale: str = "laptop", *, write: bool = False, ending: str = "csv.gz") -> Path:
    """Where a table lies, e.g. outputs/reference/laptop/results/beam.csv.gz; one that was measured here comes
    before the committed one, and `write` names the place for it."""
    shipped, own = (folder / scale / "results" / f"{name}.{ending}" for folder in (REFERENCE, OWN))
    return own if write or own.exists() and not reference_only() else shipped


def tables_of(path: Path) -> list[Path]:
    """The table at `path` and, if it was measured here, the committed one of the same name behind it."""
    if not path.is_relative_to(OWN):
        return [path]
    return [path, REFERENCE / path.relative_to(OWN)]


# the rooms whose code decides the numbers of a table
MEASURED_BY = ("formulas", "numbers", "data", "network", "search", "evidence")


# ----------------------------------------------------------------------------------------------------------------- measuring


@dataclass(frozen=True)
class Job:
    """A row that may have to be measured.

    `parameters` are all that decides its lines, apart from the code, and `make` returns them; None says that
    nobody here can. Where the weights are not here, a table's lines are known by the other parameters alone
    (`comparable=False`).
    """

    label: str
    parameters: Mapping[str, Any]
    make: Callable[[], pd.DataFrame] | None
    comparable: bool = True

    @property
    def run(self) -> str:
        return digest(to_json(self.parameters))

    def lines(self) -> pd.DataFrame:
        """The measured lines. Ctrl-C ends a search with the best so far, and that is no result."""
        made = self.make()
        if (made["stopped"] == "interrupted").any():
            raise KeyboardInterrupt
        return made.assign(run=self.run)


def fill(jobs: Iterable[Job], path: Path, **about: Any) -> pd.DataFrame:
    """Do the jobs whose lines the table at `path` does not have yet, writing it after each; returns the whole
    table.

    The commit is in a row's record but does not count: a row is not measured again because of it. Rows made
    with other weights of the same name are dropped; all others stay. Several processes may fill one table
    together.
    """
    import pandas as pd

    jobs = list(jobs)
    table, records = read_records(*tables_of(path))
    old = stale(records, [job.parameters for job in jobs if job.comparable])
    there = recorded(jobs, records)
    left, now = [job for job in jobs if job.make and there[job.run] not in set(table["run"])], [""]
    for job in progress(left, label=path.name.split(".")[0], note=lambda: now[0]):
        if job.run in set(read_records(path)[0]["run"]):
            continue  # another process has measured it by now
        start, now[0] = time.perf_counter(), job.label
        lines = job.lines()
        record = new_record(job.parameters, None, round(time.perf_counter() - start, 2))
        with locked(path):
            table, records = read_records(path)  # again: others may have written
            records = {run: one for run, one in records.items() if run not in old}
            kept_keys = ("parameters", "commit", "dirty", "date", "seconds")
            records[job.run] = {key: record[key] for key in kept_keys} | {"code": code_digest(MEASURED_BY)}
            kept = table[table["run"].isin(records) & (table["run"] != job.run)]
            whole = pd.concat([part for part in (kept, lines) if len(part)], ignore_index=True)
            seconds = round(sum(record["seconds"] for record in records.values()), 2)
            about_all = new_record({**about, "lines": len(whole), "rows": len(records)}, None, seconds) | {
                "rows": records
            }
            write_table(whole, path, about_all, held=True)
    return read_records(*tables_of(path))[0]


def stale(records: Mapping[str, Any], present: Iterable[Mapping[str, Any]]) -> set[str]:
    """Runs made with weights that have the name, but no longer the content, of the present ones."""
    now = {(p["weights"], p.get("step")): p["weights_digest"] for p in present}
    known = {run: record["parameters"] for run, record in records.items()}
    return {
        run
        for run, p in known.items()
        if now.get((p["weights"], p.get("step")), p["weights_digest"]) != p["weights_digest"]
    }


def publish_tables(scale: str = "laptop") -> list[Path]:
    """Copy what was measured here to outputs/reference, the folder that is committed: rows of other weights of
    the same names go, all other committed rows stay. Returns the tables."""
    made = []
    for own in sorted((OWN / scale).rglob("*.csv*")):
        shipped = tables_of(own)[1]
        mine = read_records(own)[1]
        if mine:
            table, records = read_records(own, shipped)
            old = stale(records, [record["parameters"] for record in mine.values()])
            records = {run: record for run, record in records.items() if run not in old}
            table = table[table["run"].isin(records)]
            seconds = round(sum(record["seconds"] for record in records.values()), 2)
            about = new_record({"lines": len(table), "rows": len(records)}, None, seconds)
            write_table(table, shipped, about | {"rows": records})
        else:  # a table that was made at once
            for path in (record_path(own), own):
                atomic_write(shipped.with_name(path.name), path.read_bytes())
        made.append(shipped)
    return made


# ------------------------------------------------------------------------------------------------------------------- reading


def read_records(*paths: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The lines of tables and the records of their rows; a run that several have is taken from the first."""
    import pandas as pd

    parts, records = [], {}
    for path in paths:
        table, record = read_table_and_record(path) if path.exists() else (None, {})
        if not record.get("rows"):  # nothing yet, or a table that was made in another way
            continue
        with RECORD.of(record_path(path)):
            need(record, rows=dict)
            need(table, run=pd.Series)
        for one in record["rows"].values():
            checked(one, path, weights=str, weights_digest=str)
        new = {run: one for run, one in record["rows"].items() if run not in records}
        parts.append(table[table["run"].isin(new)])
        records |= new
    if len(parts) == 1:
        return parts[0], records
    return (pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["run"])), records


def checked(record: Any, path: Path, **parameters: type) -> dict[str, Any]:
    """The record of the table at `path` or of a row in it, if it is one, with these parameters."""
    with RECORD.of(record_path(path)):
        need({"row": record}, row=dict)
        need(record, parameters=dict, date=str, seconds=(int, float))
        need(record["parameters"], **parameters)
    return record


def recorded(jobs: Iterable[Job], records: Mapping[str, Any]) -> dict[str, str | None]:
    """The run of a table that holds the lines of each job, by the job's run; None where it has none. The order
    in which parameters are named does not count."""
    same, alike = (
        {known(r["parameters"]): run for run, r in records.items()} for known in (_known, _but_weights)
    )
    return {
        job.run: job.run
        if job.run in records
        else same.get(_known(job.parameters))
        if job.comparable
        else alike.get(_but_weights(job.parameters))
        for job in jobs
    }


def _known(parameters: Mapping[str, Any]) -> str:
    return to_json(dict(sorted(parameters.items())))


def _but_weights(parameters: Mapping[str, Any]) -> str:
    return _known({key: value for key, value in parameters.items() if key != "weights_digest"})


def lines_of(jobs: Sequence[Job], path: Path) -> tuple[pd.DataFrame, str]:
    """The lines of these very jobs that the table at `path` has, and a sentence on them: when and by which
    commit they were measured, and which are missing, or why there are none."""
    table, records = read_records(*tables_of(path))
    there = recorded(jobs, records)
    table = table[table["run"].isin(there.values())].reset_index(drop=True)
    used = [records[run] for run in records if run in set(table["run"])]
    if not used:
        alike = {_but_weights(record["parameters"]) for record in records.values()}
        foreign = any(_but_weights(job.parameters) in alike for job in jobs)
        why = "was made with other weights" if foreign else "has none of these rows"
        return table, f"the table {why}" if records else "there is no table yet"
    missing = [job.label for job in jobs if there[job.run] not in set(table["run"])]
    few = ", ".join(missing[:3]) + f" and {len(missing) - 3} more" * (len(missing) > 3)
    return table, f"{len(table):,} lines, {made(*used)}" + f"; missing: {few}" * bool(missing)


def made(*records: Mapping[str, Any]) -> str:
    """When, by which commit (the last) and in how much time something was made, from its records."""
    last = max(records, key=lambda record: record["date"])
    spent = sum(record["seconds"] for record in records)
    return f"{last['date'][:10]}, commit {str(last['commit'])[:10]}, {clock(spent)}"


def _made_with(about: Mapping[str, Any], path: Path) -> bool:
    return about.items() <= checked(read_table_and_record(path)[1], path)["parameters"].items()


def made_at_once(
    name: str,
    trained: Trained,
    make: Callable[[], pd.DataFrame],
    *,
    scale: str = "laptop",
    recompute: bool = False,
    **parameters: Any,
) -> tuple[pd.DataFrame | None, str]:
    """A table without rows of its own, <name>.csv beside the others, made and written with `recompute`; with
    the sentence of `lines_of`. None if it is not there, or was made with other weights or parameters."""
    path = results_path(name, scale, write=recompute, ending="csv")
    about = {"weights": trained.name, "weights_digest": weights_digest(trained), **parameters}
    if recompute:
        with timed(new_record(about, parameters.get("seed"))) as record:
            table = make()
        write_table(table, path, record)
    fits = [place for place in tables_of(path) if place.exists() and _made_with(about, place)]
    path = fits[0] if fits else path
    if not path.exists():
        return None, "there is no table yet"
    table, record = read_table_and_record(path)
    known = checked(record, path)["parameters"]
    if known.get("weights_digest") != about["weights_digest"]:
        return None, "the table was made with other weights"
    if not about.items() <= known.items():
        return None, "the table was made with other parameters"
    return table, f"{len(table):,} lines, {made(record)}"
