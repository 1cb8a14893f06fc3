"""The laboratory: find a notebook, settle its parameters, run it, and keep what it made together with how it
was made.

    outputs/<scale>/<notebook>/            <notebook>.ipynb, <notebook>.html, figures/, metrics.json
    outputs/<scale>/<notebook>@name=value/ the same for a run with parameters of the reader's own
    outputs/<scale>/failed_<notebook>/     a later run that failed, until one works
    outputs/<scale>/index.html             the book

What a notebook itself needs while it runs is in `nsr.book.run_records`; it imports that from the door, `nsr.book`.
"""

import ast
import contextlib
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import psutil

from nsr.book import binding, kernel, pages, tested_versions
from nsr.book.foreign_files import Kind, read_json, read_yaml
from nsr.book.leftovers import unfinished
from nsr.book.publishing import FAILED, publish
from nsr.book.run_records import (
    EVERY,
    OUTPUTS,
    PACKAGE,
    REFERENCE,
    ROOT,
    atomic_write,
    clock,
    cores,
    digest,
    metrics_of,
    new_record,
    reference_only,
    short,
    timed,
    to_json,
)
from nsr.book.spelling import refuse_unknown, shown
from nsr.book.warm_starts import THREADS

SCALES = ("tiny", "laptop", "paper")
LIMITS: dict[str, float | None] = {"tiny": 180, "laptop": 3600, "paper": None}  # seconds per notebook
NOTEBOOKS = ROOT / "notebooks"
MEASURE = "A00_measure"  # the notebook that measures a table
PARAMS = ROOT / "params"
# A run depends on these in outputs/reference without reading them by `read_table`.
WEIGHTS = (".safetensors", ".npz")
KINDS = {"int": int, "float": float, "str": str, "bool": bool}


class LabError(Exception):
    """Something the reader asked for that cannot be done; the message says what can."""


PARAMETERS = Kind("parameters in plain YAML", LabError)
RESULTS = Kind("the results of a notebook", LabError)


@dataclass(frozen=True)
class Parameter:
    """A line of a notebook's parameters cell: `name: kind = default  # comment`."""

    name: str
    kind: str
    default: Any


# ---- notebooks and their parameters -------------------------------------------------------------------------------------------


def notebooks() -> dict[str, Path]:
    """Every notebook of the book by name, in order."""
    return {path.stem: path for path in sorted(NOTEBOOKS.glob("[0-9][0-9]_*.py"))}


def appendix() -> dict[str, Path]:
    """The reports behind the lessons, by name, and the notebook that measures."""
    return {path.stem: path for path in sorted((NOTEBOOKS / "appendix").glob("A[0-9][0-9]_*.py"))}


def the_book() -> dict[str, Path]:
    """What `run all` runs, in order: the lessons and then the reports. Sweeps and replications run the notebook that
    measures."""
    return notebooks() | {name: path for name, path in appendix().items() if name != MEASURE}


def find(wanted: str) -> Path:
    """The notebook with this number, name, or beginning of a name."""
    known, number = notebooks() | appendix(), wanted.isdecimal() and len(wanted) < 4
    beginning = f"{int(wanted):02d}_" if number else wanted.removesuffix(".py")
    hits = [beginning] if beginning in known else [name for name in known if name.startswith(beginning)]
    if len(hits) == 1:
        return known[hits[0]]
    some = hits or [*notebooks(), *(name[:3] for name in appendix())]
    how_many = "More than one" if hits else "No"
    raise LabError(f"{how_many} notebook is called {shown(wanted)}. There are: {', '.join(some)}.")


def check_scale(scale: str) -> None:
    refuse_unknown([scale], SCALES, "scale", LabError)


def parameters_of(notebook: Path) -> dict[str, Parameter]:
    """The parameters a notebook declares, read from its parameters cell without running it."""
    return dict(_declared(notebook, notebook.stat().st_mtime_ns))


@lru_cache(maxsize=256)
def _declared(notebook: Path, _changed: int) -> dict[str, Parameter]:
    """What the parameters cell says, read once as long as the notebook does not change."""
    import jupytext

    cells = [cell for cell in jupytext.read(notebook).cells if "parameters" in cell.metadata.get("tags", [])]
    if len(cells) != 1:
        raise LabError(f"{notebook.name} has {len(cells)} cells tagged 'parameters', and needs exactly one.")
    found = {}
    for line in ast.parse(cells[0].source).body:
        match line:
            case ast.AnnAssign(ast.Name(name), ast.Name(kind), ast.expr() as value) if kind in KINDS:
                with contextlib.suppress(ValueError):
                    found[name] = Parameter(name, kind, ast.literal_eval(value))
                    continue
        wanted = "the parameters cell may only hold lines like 'beam_size: int = 5  # comment'"
        raise LabError(f"{notebook.name}: {wanted}, not: {ast.unparse(line)}")
    return found


def check_names(names: Iterable[str], declared: Iterable[str], notebook: Path, source: str) -> None:
    """Refuse a name that is no parameter of the notebook, and the scale, which is chosen for a whole run."""
    if "scale" in names:
        raise LabError(f"The scale is not a parameter to set in {source}: it is chosen with --scale.")
    known = [name for name in declared if name != "scale"]
    refuse_unknown(names, known, "parameter", LabError, f"given in {source} for {notebook.stem}")


def settle(notebook: Path, scale: str, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The parameters of a run: the notebook's defaults, then params/<scale>.yaml, then what the reader asked
    for."""
    check_scale(scale)
    declared = parameters_of(notebook)
    settled = {name: parameter.default for name, parameter in declared.items()}
    at_scale = params(scale).get(notebook.stem) or {}
    for source, values in ((f"params/{scale}.yaml", at_scale), ("the command", overrides or {})):
        check_names(values, declared, notebook, source)
        settled |= {name: _cast(declared[name], value, notebook.stem) for name, value in values.items()}
    return settled | {"scale": scale}


def params(scale: str) -> dict[str, dict[str, Any]]:
    """What params/<scale>.yaml says: notebook → parameter → value."""
    path = PARAMS / f"{scale}.yaml"
    found = (read_yaml(path, PARAMETERS) or {}) if path.exists() else {}
    if not isinstance(found, dict) or any(not isinstance(part, dict | None) for part in found.values()):
        raise LabError(f"{short(path)} must be like '05_beam_search: {{n_live: 5}}', a line per notebook.")
    return found


def _cast(parameter: Parameter, value: Any, notebook: str) -> Any:
    """A value as its parameter's kind; text from a command line is understood, anything else must fit."""
    try:
        match parameter.kind, value:
            case "bool", bool() | "true" | "True" | "false" | "False":
                return str(value).lower() == "true"
            case "int", str() | float() if float(value) == int(float(value)):  # 1e5 is an integer too
                whole = isinstance(value, str) and value.lstrip("+-").isdecimal()
                return int(value if whole else float(value))
            case ("int", int()) | ("float", int() | float() | str()) if not isinstance(value, bool):
                return KINDS[parameter.kind](value)
            case "str", str():
                return value
    except (ValueError, OverflowError):
        pass
    raise LabError(f"{notebook}: {parameter.name} is {parameter.kind}, and {shown(value)} is not.")


# ---- what a run depends on ----------------------------------------------------------------------------------------------------


def fingerprint(notebook: Path, parameters: Mapping[str, Any]) -> str:
    """A hash of all that decides a run's results: the notebook, its parameters, the source of nsr, the
    committed weights and those that were trained here."""
    source = sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("templates/*"), *PACKAGE.rglob("*.txt")])
    weights = sorted(path for path in REFERENCE.rglob("*") if path.suffix in WEIGHTS)
    if not reference_only():
        weights += sorted((OUTPUTS / "training").glob("*/*/final/weights.safetensors"))
    files = source + weights
    names = [os.path.relpath(path, PACKAGE) for path in files]
    contents = [_content(path, path.stat().st_mtime_ns) for path in files]
    return digest(notebook, to_json(dict(sorted(parameters.items()))), *names, *contents)


@lru_cache(maxsize=4096)
def _content(path: Path, _changed: int) -> str:
    """What a file holds, read once as long as it does not change: a sweep of 150 points asks for the same
    megabytes 150 times."""
    return digest(path)


def up_to_date(folder: Path, expected: str) -> bool:
    """Whether this folder holds a finished run of exactly these things, and the tables it read are still the
    same."""
    metrics = metrics_of(folder)
    if metrics.get("status") != "ok" or metrics.get("fingerprint") != expected:
        return False
    whole = any(folder.glob("*.ipynb")) and any(folder.glob("*.html"))
    return whole and all(digest(ROOT / name) == known for name, known in metrics.get("inputs", {}).items())


def folder_of(notebook: Path, scale: str, parameters: Mapping[str, Any]) -> Path:
    """Where a run belongs; one with parameters of the reader's own gets a folder that says so, and never
    replaces the book's page."""
    usual = settle(notebook, scale)
    own = ",".join(f"{name}={value}" for name, value in sorted(parameters.items()) if value != usual[name])
    if not own:
        return OUTPUTS / scale / notebook.stem
    safe = re.sub(r"[^\w.=,+-]", "_", own)
    if safe != own or len(own) >= 100:
        safe = f"{safe[:80]}-{digest(own)}"
    return OUTPUTS / scale / f"{notebook.stem}@{safe}"


# ---- running ------------------------------------------------------------------------------------------------------------------


def run(
    wanted: str,
    scale: str = "laptop",
    overrides: Mapping[str, Any] | None = None,
    *,
    limit: float | None = None,
    force: bool = False,
    tell: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Run one notebook, unless what it would make is already there, and return its metrics (with "folder" and
    "fresh").

    A notebook that fails or takes too long still leaves its executed copy, beside a finished run if there is
    one; look at metrics["status"].
    """
    notebook = find(wanted)
    parameters = settle(notebook, scale, overrides)
    folder = folder_of(notebook, scale, parameters)
    state = fingerprint(notebook, parameters)
    if not force and up_to_date(folder, state):
        return metrics_of(folder) | {"folder": folder, "fresh": False}

    working = unfinished(folder)
    try:
        working.mkdir(parents=True)
        defaults = [(name, declared.default) for name, declared in parameters_of(notebook).items()]
        injected = dict(item for item in parameters.items() if item not in defaults)
        record = new_record(parameters, parameters.get("seed"))
        with timed(record):
            watch = tell or (lambda line: None)
            status, error = kernel.execute(notebook, working, injected, limit or LIMITS[scale], watch)
        metrics = {"notebook": notebook.stem, "scale": scale, "status": status, "error": error}
        metrics |= record | _gathered(working) | {"fingerprint": state}
        shutil.rmtree(working / "state")
        atomic_write(working / "metrics.json", to_json(metrics) + "\n")
        pages.write_page(working, notebook, metrics)
        place = publish(working, folder, good=status == "ok")
        binding.bind(folder.parent, list(the_book().values()))
    except OSError as error:
        other = (
            "Make the folder writable, or choose another one: NSR_OUTPUTS=/some/folder python -m nsr run ..."
        )
        where = f"{short(folder.parent)} ({error.strerror or error})"
        raise LabError(f"Cannot write the results to {where}. {other}") from error
    finally:
        shutil.rmtree(working, ignore_errors=True)
    return metrics | {"folder": place, "fresh": True}


def _gathered(working: Path) -> dict[str, Any]:
    """What the notebook recorded, drew and read."""
    state, figures = working / "state", working / "figures"
    results, inputs = state / "results.json", state / "inputs.txt"
    names = sorted(set(inputs.read_text().splitlines())) if inputs.exists() else []
    return {
        "results": read_json(results, RESULTS) if results.exists() else {},
        "figures": sorted(path.name for path in figures.iterdir()) if figures.exists() else [],
        "inputs": {name: digest(ROOT / name) for name in names},
    }


def run_all(scale: str, only: str = "all", overrides: Mapping[str, Any] | None = None, **options: Any) -> int:
    """Run one notebook or the whole book, saying how it goes; the exit code is 1 if any notebook failed. The
    options are those of `run`."""
    check_scale(scale)
    names = list(the_book()) if only == "all" else [find(only).stem]
    if only == "all" and overrides:
        one = "python -m nsr run NN -p name value"
        raise LabError(f"Parameters are given to one notebook, not to all of them: {one}.")
    failed = []
    for label, name, metrics in _runs(names, scale, overrides=overrides, **options):
        page = short(metrics["folder"] / f"{name}.html")
        finished = metrics["folder"].with_name(metrics["folder"].name.removeprefix(FAILED))
        kept = f"; the finished run stays in {short(finished)}" if finished != metrics["folder"] else ""
        print(f"{CLEAR}{label}: {ending(metrics)} → {page}{kept}", flush=True)
        if metrics["status"] != "ok":
            failed.append(name)
            print(metrics["error"], file=sys.stderr, flush=True)
    if only == "all":
        folder = OUTPUTS / scale
        try:
            book = binding.pack(folder)
        except OSError as error:
            why = error.strerror or error
            raise LabError(f"Cannot write the book to {short(folder)} ({why}).") from error
        packed = f"{short(book)} ({book.stat().st_size / 1e6:.0f} MB)"
        print(f"The book: {short(folder / 'index.html')}; to send it to somebody: {packed}")
    if failed:
        said = f"Not everything went through: {', '.join(failed)}. {tested_versions.advice()}"
        print(said.strip(), file=sys.stderr)
    return 1 if failed else 0


def ending(metrics: Mapping[str, Any]) -> str:
    """How a run ended, in a few words."""
    return f"{metrics['status']} in {clock(metrics['seconds'])}" if metrics["fresh"] else "up to date"


def _runs(names: Sequence[str], scale: str, **options: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Run notebooks, several at a time where there is room, and yield each as it ends: its label, its name
    and its metrics.

    We only wait for the kernels' processes, so threads are enough; whoever stops us stops the kernels too.
    """
    labels = {name: f"[{number}/{len(names)}] {name}" for number, name in enumerate(names, start=1)}
    at_once = _room(scale, len(names))
    if at_once == 1:
        for name, label in labels.items():
            yield label, name, run(name, scale, tell=teller(label), **options)
        return
    stop, lines = threading.Event(), {}

    def follow(name: str) -> dict[str, Any]:
        tell = teller(labels[name], lines)

        def tell_or_stop(line: str) -> None:
            if stop.is_set():
                raise LabError(f"{name} was stopped.")
            tell(line)

        try:
            return run(name, scale, tell=tell_or_stop, **options)
        finally:
            lines.pop(labels[name], None)

    with _threads_for_each(max(1, cores() // at_once)), ThreadPoolExecutor(at_once) as pool:
        try:
            waiting = {pool.submit(follow, name): name for name in names}
            for done in as_completed(waiting):
                yield labels[waiting[done]], waiting[done], done.result()
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


def _room(scale: str, n_notebooks: int) -> int:
    """How many notebooks may run at a time: one per core and 2 GB of free memory. At the paper's scale each
    wants the whole machine."""
    free = psutil.virtual_memory().available // 2**31
    return 1 if scale == "paper" else max(1, min(cores(), n_notebooks, free))


@contextlib.contextmanager
def _threads_for_each(n: int) -> Iterator[None]:
    """Kernels that start meanwhile use so many threads, unless the reader has said how many."""
    ours = [name for name in THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(ours, str(n)))
    try:
        yield
    finally:
        for name in ours:
            del os.environ[name]


CLEAR = "\r\033[K" if sys.stdout.isatty() else ""


def teller(label: str, others: dict[str, str] | None = None) -> Callable[[str], None]:
    """For a person a line that keeps changing; for a log a plain line at most every ten seconds.

    `others` are the lines of what runs at the same time, by label: one line shows all of them.
    """
    person, last = sys.stdout.isatty(), 0.0

    def tell(line: str) -> None:
        nonlocal last
        if person:
            width = shutil.get_terminal_size().columns - 1
            words = f"{label}: {line}"
            if others is not None:
                others[label] = line
                named = [(name.partition("_")[0], said) for name, said in sorted(others.items())]
                words = " | ".join(f"{name}: {said}" for name, said in named)
            print(f"{CLEAR}{words}"[: width + len(CLEAR)], end="", flush=True)
        elif time.monotonic() - last >= EVERY:
            if last:  # nothing is said about a notebook that takes less than ten seconds
                print(f"{label}: {line}", flush=True)
            last = time.monotonic()

    return tell
