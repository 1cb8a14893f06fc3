"""Reference tables that grow run by run.

A run is written to its table as soon as it is measured. It is known by everything that decides its numbers,
so that none is measured twice.

    outputs/reference/<scale>/results/<name>.csv.gz   a line per problem; the column `run` says of which run
    outputs/reference/<scale>/results/<name>.json     parameters, commit, date and seconds of table and runs
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsr.book.locks import locked
from nsr.book.run_records import (
    OUTPUTS,
    REFERENCE,
    birth_certificate,
    certificate_path,
    clock,
    digest,
    progress,
    read_table,
    timed,
    to_json,
    write_table,
)
from nsr.network.checkpoints import Trained

if TYPE_CHECKING:
    import pandas as pd


def results_path(name: str, scale: str = "laptop", *, write: bool = False) -> Path:
    """Where a reference table lies, e.g. outputs/reference/laptop/results/beam.csv.gz; the reader's own comes
    before the committed one."""
    places = [folder / scale / "results" / f"{name}.csv.gz" for folder in (OUTPUTS / "reference", REFERENCE)]
    return places[0] if write else next((path for path in places if path.exists()), places[-1])


def weights_digest(trained: Trained, step: int | None = None) -> str:
    """A short name of the very weights and training templates, whatever folder they lie in."""
    file = (
        trained.folder / "weights.safetensors"
        if step is None
        else trained.snapshots().get(step, trained.folder)
    )
    return digest(file, trained.folder / "templates.txt.gz")


# ----------------------------------------------------------------------------------------------------------------- measuring


@dataclass(frozen=True)
class Job:
    """A row that may have to be measured: `make` returns its lines, `parameters` are all that decides them,
    apart from the code."""

    label: str
    parameters: Mapping[str, Any]
    make: Callable[[], pd.DataFrame]

    @property
    def run(self) -> str:
        return digest(to_json(self.parameters))


def fill(jobs: Iterable[Job], path: Path, *, exactly: bool = False, **about: Any) -> pd.DataFrame:
    """Do the jobs whose lines the table at `path` does not have yet, writing it after each; returns the whole
    table.

    The commit is in a row's certificate but does not count: a row is not measured again because of it. Rows
    made with other weights of the same name are dropped, and with `exactly` all that is no job; else they
    stay. Several processes may fill one table together.
    """
    import pandas as pd

    wanted = {job.run: job for job in jobs}
    table, births = read_rows(path)
    old = stale(births, [job.parameters for job in wanted.values()]) | (
        set(births) - set(wanted) if exactly else set()
    )
    left, now = [run for run in wanted if run not in set(table["run"])], [""]
    for run in progress(left, label=path.name.split(".")[0], note=lambda: now[0]):
        if run in set(read_rows(path)[0]["run"]):
            continue  # another process has measured it by now
        job, start = wanted[run], time.perf_counter()
        now[0] = job.label
        lines = job.make().assign(run=run)
        if (lines["stopped"] == "interrupted").any():
            raise KeyboardInterrupt  # Ctrl-C ends a search with the best so far, and that is no result
        certificate = birth_certificate(job.parameters, None, round(time.perf_counter() - start, 2))
        with locked(path):
            table, births = read_rows(path)  # again: others may have written
            births = {known: birth for known, birth in births.items() if known not in old}
            births[run] = {
                key: certificate[key] for key in ("parameters", "commit", "dirty", "date", "seconds")
            }
            kept = table[table["run"].isin(births) & (table["run"] != run)]
            whole = pd.concat([part for part in (kept, lines) if len(part)], ignore_index=True)
            seconds = round(sum(birth["seconds"] for birth in births.values()), 2)
            about_all = birth_certificate(
                {**about, "lines": len(whole), "rows": len(births)}, None, seconds
            ) | {"rows": births}
            write_table(whole, path, about_all, held=True)
    return read_table(path)


def read_rows(path: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table so far and the births of its rows; the certificate is written first, so every line has one."""
    import pandas as pd

    has_certificate = path.exists() and certificate_path(path).exists()
    births = json.loads(certificate_path(path).read_text()).get("rows", {}) if has_certificate else {}
    if not births:  # nothing yet, or a table that was made in another way
        return pd.DataFrame(columns=["run"]), {}
    table = read_table(path)
    return table[table["run"].isin(births)], births


def stale(births: Mapping[str, Any], present: Iterable[Mapping[str, Any]]) -> set[str]:
    """Runs made with weights that have the name, but no longer the content, of the present ones."""
    now = {(p["weights"], p.get("step")): p["weights_digest"] for p in present}
    known = {run: birth["parameters"] for run, birth in births.items()}
    return {
        run
        for run, p in known.items()
        if now.get((p["weights"], p.get("step")), p["weights_digest"]) != p["weights_digest"]
    }


# ------------------------------------------------------------------------------------------------------------------- reading


def table_of(path: Path, trained: Trained) -> pd.DataFrame | None:
    """The table at `path` if it was made with these very weights, else None; says in a line what it is."""
    name = path.name.split(".")[0]
    if not path.exists():
        print(f"{name}: there is no table yet")
        return None
    birth = json.loads(certificate_path(path).read_text())
    made_with = (
        [row["parameters"] for row in birth["rows"].values()] if "rows" in birth else [birth["parameters"]]
    )
    if {known["weights_digest"] for known in made_with if known.get("step") is None} != {
        weights_digest(trained)
    }:
        print(f"{name}: made with other weights; not used")
        return None
    table = read_table(path)
    print(
        f"{name}: {len(table):,} lines, {birth['date'][:10]}, commit {str(birth['commit'])[:10]}, {clock(birth['seconds'])}"
    )
    return table


def small_table(
    name: str,
    trained: Trained,
    make: Callable[[], pd.DataFrame],
    *,
    scale: str = "laptop",
    recompute: bool = False,
    **parameters: Any,
) -> pd.DataFrame | None:
    """A table that is made at once, <name>.csv beside the others: with `recompute` made and written; None if
    it is not there."""
    path = results_path(name, scale, write=recompute).with_name(f"{name}.csv")
    if recompute:
        about = {"weights": trained.name, "weights_digest": weights_digest(trained), **parameters}
        with timed(birth_certificate(about, parameters.get("seed"))) as certificate:
            table = make()
        write_table(table, path, certificate)
    return table_of(path, trained)
