"""A sweep: one notebook over a grid of parameters, in this process, on local processes, or on a Dask cluster.

    params/sweeps/<name>.yaml                  notebook: A00_measure
                                               grid: {beam_size: [1, 5, 50], seed: [0, 1, 2]}
                                               fixed: {n_problems: 150} # may be left out, as may the next two
                                               points: [{strategy: beam, beam_size: [1, 5]}, {strategy: tpsr}]
                                               then: {strategy: ""}     # with these it runs once more
    outputs/<scale>/sweeps/<name>.csv          a row per point: its parameters, its status, what it recorded
    outputs/<scale>/sweeps/<name>_rows.csv.gz  the points' tables run_dir() / "table.csv.gz", one below the other

`points` are small grids, for sweeps that are not one product: each of them is combined with the grid. A point
is a run like any other and lies where `nsr.book.runner` puts it. It is done when its folder is published:
whoever takes over from a process that died finds there what is finished, and computes only the rest.
"""

import contextlib
import itertools
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsr.book import leftovers, result_tables, run_records, runner
from nsr.book.chain import call
from nsr.book.foreign_files import Kind, read_yaml
from nsr.book.locks import locked
from nsr.book.run_records import clock, short
from nsr.book.runner import LabError
from nsr.book.spelling import refuse_unknown

if TYPE_CHECKING:  # both take their time to import, and the command line should answer at once
    import pandas as pd
    from distributed import Client

KEYS = ("notebook", "grid", "fixed", "points", "then")  # of a sweep's file
MAX_POINTS = 10_000  # a larger grid is a slip of the pen
DEATHS = 3  # so many workers may die over a point before it counts as failed
TABLE = "table.csv.gz"  # what a notebook may write into its run's folder, for the sweep to collect
HOST = "127.0.0.1"
SWEEP = Kind("a sweep in plain YAML", LabError)


@dataclass(frozen=True)
class Point:
    """One run of a sweep; it knows where its results belong, so that a worker which would put them elsewhere
    can refuse."""

    notebook: str
    scale: str
    label: str  # the grid's values, for people
    chosen: dict[str, Any]  # the parameters of the grid and the fixed ones
    parameters: dict[str, Any]  # all parameters
    folder: Path


# ---- reading ------------------------------------------------------------------------------------------------------------------


def read_sweep(path: Path | str, scale: str) -> tuple[dict[str, Any], list[Point]]:
    """What a sweep's file says, and its points, the last parameter of the grid changing fastest; all of it
    checked."""
    path = _find(Path(path))
    content = read_yaml(path, SWEEP)
    found = content if isinstance(content, dict) else {}
    gridded = isinstance(found.get("grid"), dict) or found.get("points")
    if not isinstance(found.get("notebook"), str) or not gridded:
        needed = "'notebook: NAME' and 'grid: {parameter: [values], ...}'"
        raise LabError(f"{path.name} is not a sweep. It needs {needed}.")
    refuse_unknown(content, KEYS, "key", LabError, f"in the sweep {path.name}")
    given = {key: content.get(key) or {} for key in ("grid", "fixed", "then")}
    mappings = all(isinstance(part, dict) for part in given.values())
    if not mappings or not all(isinstance(v, list) and v for v in given["grid"].values()):
        values = "a list like [1, 5, 50], and 'fixed' and 'then' give it one value"
        raise LabError(f"{path.name}: the grid gives each parameter {values}.")
    notebook, small = runner.find(content["notebook"]), _small_grids(content.get("points"), path)
    _check_names(path, notebook, small, **given)
    grids = [part | given["grid"] for part in small]
    if (n_points := sum(math.prod(map(len, grid.values())) for grid in grids)) > MAX_POINTS:
        most = f"{MAX_POINTS:,} is the most a sweep may have"
        raise LabError(f"{path.name} asks for {n_points:,} points, and {most}.")
    varied = [dict(zip(grid, values)) for grid in grids for values in itertools.product(*grid.values())]
    points = [_point(notebook, scale, values, given["fixed"]) for values in varied]
    if len({point.folder for point in points}) < len(points):
        names = ", ".join(dict.fromkeys(itertools.chain(*grids)))
        raise LabError(f"{path.name} lists the same value twice in {names}.")
    whole: dict[str, list[Any]] = {}  # every value of every parameter, once
    for name, values in itertools.chain(*(grid.items() for grid in grids)):
        whole[name] = list(dict.fromkeys([*whole.get(name, []), *values]))
    then = runner.settle(notebook, scale, given["then"]) and given["then"] if "then" in content else None
    return {"name": path.stem, "notebook": notebook.stem, "grid": whole, "then": then}, points


def _chosen(plan: Mapping[str, Any], points: Sequence[Point], only: Mapping[str, str]) -> list[Point]:
    """Those points that have the given values, as somebody would type them."""
    kept = [p for p in points if all(str(p.chosen.get(name)) == value for name, value in only.items())]
    if not kept:
        known = "; ".join(f"{name}: {', '.join(map(str, values))}" for name, values in plan["grid"].items())
        wanted = " and ".join(f"{name} = {value}" for name, value in only.items())
        raise LabError(f"{plan['name']} has no point with {wanted}. It has {known}.")
    return kept


def _small_grids(points: Any, path: Path) -> list[dict[str, list[Any]]]:
    """The list of points as small grids: a single value is a list of one. Without a list there is one small
    grid, of nothing."""
    if points is None:
        return [{}]
    grids = isinstance(points, list) and all(isinstance(part, dict) and part for part in points)
    if not points or not grids or any(value == [] for part in points for value in part.values()):
        example = "[{strategy: beam, beam_size: [1, 5]}, {strategy: tpsr, beam_size: 1}]"
        raise LabError(f"{path.name}: 'points' is a list like {example}.")
    listed = lambda value: value if isinstance(value, list) else [value]
    return [{name: listed(value) for name, value in part.items()} for part in points]


def _check_names(
    path: Path, notebook: Path, small: Sequence[Mapping], grid: Mapping, fixed: Mapping, then: Mapping
) -> None:
    """Refuse values that are no values, a parameter that is set twice, and one that the notebook does not
    have."""
    listed = itertools.chain(*grid.values(), *(values for part in small for values in part.values()))
    if any(not isinstance(value, str | int | float) for value in [*fixed.values(), *then.values(), *listed]):
        raise LabError(f"{path.name}: a parameter's value is a number, a word, true or false.")
    names = {"in the grid": set(grid), "as fixed": set(fixed), "in a point": set().union(*small)}
    for (one, first), (two, second) in itertools.combinations(names.items(), 2):
        if twice := first & second:
            raise LabError(f"{path.name} gives {twice.pop()!r} both {one} and {two}.")
    given = [*itertools.chain(grid, fixed, then, *small)]
    runner.check_names(given, runner.parameters_of(notebook), notebook, path.name)


def _find(path: Path) -> Path:
    """A sweep's file, from the reader's folder or from the project's."""
    if found := [place for place in (path, runner.ROOT / path) if place.is_file()]:
        return found[0]
    known = [short(found) for found in sorted((runner.PARAMS / "sweeps").glob("*.yaml"))]
    raise LabError(f"There is no sweep {path}. There are: {', '.join(known) or 'none'}.")


def _point(notebook: Path, scale: str, varied: Mapping[str, Any], fixed: Mapping[str, Any]) -> Point:
    parameters = runner.settle(notebook, scale, {**varied, **fixed})
    label = ", ".join(f"{name}={parameters[name]}" for name in varied) or notebook.stem
    chosen = {name: parameters[name] for name in (*varied, *fixed)}
    folder = runner.folder_of(notebook, scale, parameters)
    return Point(notebook.stem, scale, label, chosen, parameters, folder)


# ---- running ------------------------------------------------------------------------------------------------------------------


def sweep(
    path: Path | str,
    scale: str = "laptop",
    workers: int | None = None,
    scheduler: str | None = None,
    only: Mapping[str, str] | None = None,
) -> int:
    """Run what is not done of a sweep, gather its table, and return 1 if a point failed, 0 otherwise.

    With `only` those points are run that have these values; the table has them and whatever else is done.
    """
    if workers is not None and workers < 1:
        raise LabError(f"A sweep needs at least one worker, not {workers}.")
    plan, points = read_sweep(path, scale)
    wanted = _chosen(plan, points, only or {})
    outcomes = _finished(points)
    left = [point for point in wanted if point.folder not in outcomes]
    there = f"{len(points)} points of {plan['notebook']}, {len(outcomes)} up to date"
    print(f"{plan['name']}: {there}", flush=True)

    start = time.monotonic()
    for number, (point, outcome) in enumerate(_run(left, workers, scheduler), start=1):
        outcomes[point.folder] = outcome
        leftovers.clear(point.folder.parent)  # of workers that were killed
        to_go = (time.monotonic() - start) / number * (len(left) - number)
        ending = f"{outcome['status']} in {clock(outcome['seconds'])}"
        ending += f", about {clock(to_go)} to go" if number < len(left) else ""
        print(f"{runner.CLEAR}[{number}/{len(left)}] {point.label}: {ending}", flush=True)
    points = _gathered(plan, points, outcomes)
    ended = [(point.label, outcomes[point.folder]) for point in points]
    failed = [f"\n  {label}: {end['error']}" for label, end in ended if end["status"] != "ok"]
    if failed:
        print(f"{len(failed)} of {len(points)} points failed:{''.join(failed)}", file=sys.stderr)
    return 1 if failed or not _last_run(plan, scale) else 0


def _gathered(
    plan: Mapping[str, Any], points: Sequence[Point], outcomes: dict[Path, dict[str, Any]]
) -> list[Point]:
    """Write the tables and return the points in them: ours, and what other sweeps with the same name have
    finished by now."""
    stem = runner.OUTPUTS / points[0].scale / "sweeps" / plan["name"]
    try:
        with locked(stem):
            outcomes |= _finished([point for point in points if point.folder not in outcomes])
            done = [point for point in points if point.folder in outcomes]
            for table in gather(plan, done, [outcomes[point.folder] for point in done]):
                print(f"→ {short(table)}")
            return done
    except OSError as error:
        raise LabError(f"Cannot write to {short(stem.parent)} ({error.strerror or error}).") from error


def _last_run(plan: Mapping[str, Any], scale: str) -> bool:
    """Run the notebook once more, now that the tables are there, if the sweep asks for it; False if it
    failed."""
    if plan["then"] is None:
        return True
    label = f"then {plan['notebook']}"
    metrics = runner.run(plan["notebook"], scale, plan["then"], tell=runner.teller(label))
    where = f"{runner.ending(metrics)} → {short(metrics['folder'])}"
    print(f"{runner.CLEAR}{label}: {where}", flush=True)
    if metrics["status"] != "ok":
        print(metrics["error"], file=sys.stderr, flush=True)
    return metrics["status"] == "ok"


def run_point(point: Point, tell: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Run a point, wherever this process is, and return its status, error, seconds and results; a failure is
    an outcome, too."""
    start = time.monotonic()
    try:
        if not point.folder.is_relative_to(runner.OUTPUTS):
            where = f"{runner.OUTPUTS}, not to {point.folder}: set NSR_ROOT and NSR_OUTPUTS for it"
            raise LabError(f"This worker writes to {where}.")
        metrics = runner.run(point.notebook, point.scale, point.chosen, tell=tell)
    except Exception as error:  # whatever it is, the other points go on
        return _failure(error, time.monotonic() - start)
    kept = {key: metrics[key] for key in ("status", "seconds", "results")}
    return kept | {"error": metrics["error"].split("\n")[0]}


def _failure(error: BaseException, seconds: float) -> dict[str, Any]:
    text = f"{type(error).__name__}: {error}".split("\n")[0]
    return {"status": "failed", "seconds": seconds, "results": {}, "error": text}


def _finished(points: Sequence[Point]) -> dict[Path, dict[str, Any]]:
    """The outcomes of those points that need no run."""
    state = lambda point: runner.fingerprint(runner.find(point.notebook), point.parameters)
    done = [point.folder for point in points if runner.up_to_date(point.folder, state(point))]
    return {folder: run_records.metrics_of(folder) for folder in done}


def _run(
    points: Sequence[Point], workers: int | None, scheduler: str | None
) -> Iterator[tuple[Point, dict[str, Any]]]:
    """The points with their outcomes, in the order in which they finish."""
    if not points or workers is scheduler is None:
        for number, point in enumerate(points, start=1):
            yield point, run_point(point, runner.teller(f"[{number}/{len(points)}] {point.label}"))
        return
    from distributed import wait
    from distributed.client import CancelledError

    with _client(workers, scheduler) as client:
        tell = runner.teller("waiting")
        # A run is not pure: its outcome holds only for now.
        waiting = dict(zip(client.map(run_point, points, pure=False), points))
        try:
            while waiting:
                done = ()
                with contextlib.suppress(TimeoutError):
                    done = wait(list(waiting), timeout=1, return_when="FIRST_COMPLETED").done
                for future in done:
                    error = future.exception()  # Dask's own: this point killed every worker that tried it
                    outcome = _failure(error, 0.0) if error else future.result()
                    future.release()  # or Dask would want it again if the worker that keeps it died
                    yield waiting.pop(future), outcome
                ready = f"{len(points) - len(waiting)} of {len(points)} points done"
                tell(f"{ready}, {len(client.nthreads())} workers")
        except (CancelledError, OSError) as error:
            kept = "Finished points are kept: run the same command again."
            raise LabError(f"The Dask scheduler went away. {kept}") from error


@contextlib.contextmanager
def _client(workers: int | None, scheduler: str | None) -> Iterator["Client"]:
    """A way to the workers: those of a scheduler that runs already, or `workers` processes of our own.

    Dask runs whatever it is sent, so our own listen to this machine alone, and to nobody on it without the
    certificate, which is made for this sweep and is kept by these processes only.
    """
    import dask
    from distributed import Client, LocalCluster
    from distributed.security import Security

    if scheduler:
        try:
            client = Client(scheduler, timeout=20)
        except (OSError, ValueError) as error:
            other = "Start one, or use --workers N."
            raise LabError(f"No Dask scheduler answers at {scheduler}. {other}") from error
        except TypeError as error:  # tls:// without certificates
            none = "and Dask's configuration (distributed.comm.tls) names none"
            raise LabError(f"{scheduler} asks for certificates, {none}.") from error
        with client:
            yield client
        return
    # The kernel that each worker starts gets its share of the cores.
    share = str(max(1, run_records.cores() // workers))
    threads = {name: os.environ.get(name, share) for name in runner.THREADS}
    settings = {
        "scheduler.allowed-failures": DEATHS,
        "scheduler.worker-saturation": 1.0,
        # There is no dashboard, but Dask opens ports for it: whoever asks there gets no answer.
        "scheduler.http.routes": [],
        "worker.http.routes": [],
    }
    with (
        dask.config.set({f"distributed.{name}": value for name, value in settings.items()}),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=HOST,
            env=threads,
            security=Security.temporary(),
            memory_limit=None,  # a worker needs little memory: the notebook runs in a process of its own
            # Any free port will do, so that Dask does not complain where its usual one is taken.
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": f"{HOST}:0"},
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextlib.contextmanager
def commands_on(scheduler: str, command: Sequence[str]) -> Iterator[tuple[Callable[[Any], None], int]]:
    """A way to make a step of a chain on the workers of a Dask scheduler, by a command with the step's name
    at its end, and how many of them there are."""

    def make(step: Any) -> None:
        client.submit(call, [*command, step.name], pure=False).result()

    with _client(None, scheduler) as client:
        yield make, max(1, len(client.nthreads()))


# ---- gathering ----------------------------------------------------------------------------------------------------------------


def gather(
    plan: Mapping[str, Any], points: Sequence[Point], outcomes: Sequence[Mapping[str, Any]]
) -> list[Path]:
    """Write the sweep's table, and the points' own tables as one, each with a record; return the
    files."""
    import pandas as pd

    parameters = points[0].parameters | plan["grid"]
    seconds = sum(outcome["seconds"] for outcome in outcomes)  # of computing, whenever it was
    seed = None if "seed" in plan["grid"] else points[0].chosen.get("seed")
    record = run_records.new_record(parameters, seed, seconds)
    record |= {"sweep": plan["name"], "notebook": plan["notebook"], "points": len(points)}
    stem = runner.OUTPUTS / points[0].scale / "sweeps" / plan["name"]

    told = [{name: outcome[name] for name in ("status", "seconds", "error")} for outcome in outcomes]
    rows = [point.chosen | ends for point, ends in zip(points, told)]
    # {"r2": {"low": 0.1}} becomes a column r2.low.
    results = pd.json_normalize([outcome["results"] for outcome in outcomes])
    results = results.map(lambda value: json.dumps(value) if isinstance(value, list) else value)
    tables = {f"{stem}.csv": _beside(pd.DataFrame(rows), results)}
    try:
        good = [point for point, outcome in zip(points, outcomes) if outcome["status"] == "ok"]
        good = [point for point in good if (point.folder / TABLE).exists()]
        found = [result_tables.read_table(point.folder / TABLE) for point in good]
        if found:
            left = pd.DataFrame([p.chosen for p, table in zip(good, found) for _ in range(len(table))])
            tables[f"{stem}_rows.csv.gz"] = _beside(left, pd.concat(found, ignore_index=True))
        else:  # of an earlier sweep with this name
            for old in (f"{stem}_rows.csv.gz", f"{stem}_rows.json"):
                Path(old).unlink(missing_ok=True)
        return [result_tables.write_table(table, path, record) for path, table in tables.items()]
    except (OSError, ValueError) as error:
        where = f"{plan['name']} in {short(stem.parent)}"
        raise LabError(f"Cannot gather the tables of {where} ({error}).") from error


def _beside(left: "pd.DataFrame", right: "pd.DataFrame") -> "pd.DataFrame":
    """Two tables side by side; where both use a name for different things, the right one's column becomes
    result_<name>."""
    import pandas as pd

    same = [name for name in right if name in left and (right[name] == left[name]).all()]
    right = right.drop(columns=same).rename(columns=lambda name: f"result_{name}" if name in left else name)
    return pd.concat([left, right], axis=1)
