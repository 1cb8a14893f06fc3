"""What a result needs around it: a place, an atomic write, a record, and a line of progress while
it is made.

Any module may import this one; of them it imports only leftovers. Notebooks reach it through the door,
`nsr.book`.
"""

import ast
import contextlib
import hashlib
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from nsr.book.leftovers import temporary_folder, unfinished

Item = TypeVar("Item")

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = Path(os.environ.get("NSR_ROOT") or PACKAGE.parent)  # the project, wherever the reader started from
OUTPUTS = Path(os.environ.get("NSR_OUTPUTS") or ROOT / "outputs")
REFERENCE = ROOT / "outputs" / "reference"  # the committed results; only `publish` writes there
OWN = OUTPUTS / "own"  # the tables that were measured here

EVERY = 10.0  # seconds between two plain progress lines
_REPORTED = "nsr-lab numpy scipy numba sympy pandas scikit-learn torch matplotlib jupytext papermill".split()


# ---- the run we are part of ---------------------------------------------------------------------------------------------------


def run_dir() -> Path | None:
    """The folder of the run this process belongs to, or None when nobody but the reader started it."""
    return Path(os.environ["NSR_RUN"]) if os.environ.get("NSR_RUN") else None


def headless() -> bool:
    """Whether nobody is watching: under the runner, or in a script whose output is not a terminal."""
    in_jupyter = "ipykernel" in sys.modules
    return run_dir() is not None or not (in_jupyter or sys.stderr.isatty())


_scratch = cache(temporary_folder)


def figure_dir() -> Path:
    """Where the current run keeps its figures; a temporary folder when the notebook is run by hand."""
    folder = run_dir() / "figures" if run_dir() else _scratch()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def reference_only() -> bool:
    """Whether the reader asked for the committed networks and tables, whatever was trained and measured here
    (`--reference`)."""
    return bool(os.environ.get("NSR_REFERENCE"))


def state_file(name: str) -> Path | None:
    """A file by which the notebook and the runner talk to each other; None without a run."""
    return run_dir() / "state" / name if run_dir() else None


def record(**results: Any) -> None:
    """Add named results to the metrics.json of the current run; without a run, do nothing.

    >>> record(novel_share=0.12, n_problems=150)
    """
    path = state_file("results.json")
    if path is None:
        return
    known = json.loads(path.read_text()) if path.exists() else {}
    atomic_write(path, to_json(known | results))


def metrics_of(folder: Path) -> dict[str, Any]:
    """What the run in this folder says of itself; nothing if there is none, or if it is just being replaced."""
    try:
        metrics = json.loads((folder / "metrics.json").read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return metrics if isinstance(metrics, dict) else {}


def uses(path: Path | str) -> None:
    """Note that the current run depends on this file, so that the run is out of date when the file changes."""
    listing = state_file("inputs.txt")
    # What lies in its own folder, the run has made.
    if listing is not None and run_dir() not in Path(path).parents:
        with open(listing, "a") as notes:
            notes.write(os.path.relpath(path, ROOT) + "\n")


# ---- writing ------------------------------------------------------------------------------------------------------------------


def atomic_write(path: Path | str, content: bytes | str) -> Path:
    """Write a file so that a reader sees the old one or the new one, never a part, even after the power went:
    temporary file, then rename, both on the disk before we go on.

    >>> path = atomic_write(figure_dir() / "note.txt", "whole or not at all")
    >>> path.read_text()
    'whole or not at all'
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = unfinished(path)
    try:
        with open(partial, "xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    sync_folder(path.parent)
    return path


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can do that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def to_json(value: Any) -> str:
    """JSON for people and programs: numpy numbers become plain ones, and what JSON lacks (nan, inf, paths)
    becomes text.

    >>> print(to_json({"r2": float("-inf"), "sizes": (1, 5)}))
    {
      "r2": "-inf",
      "sizes": [
        1,
        5
      ]
    }
    """

    def plain(item: Any) -> Any:
        if isinstance(item, Mapping):
            return {str(key): plain(entry) for key, entry in item.items()}
        if isinstance(item, list | tuple | set | frozenset):
            return [plain(entry) for entry in item]
        if hasattr(item, "tolist"):  # numpy and torch
            return plain(item.tolist())
        if isinstance(item, float) and not math.isfinite(item):
            return str(item)
        return item if isinstance(item, str | int | float | bool | None) else str(item)

    return json.dumps(plain(value), indent=2, ensure_ascii=False)


# ---- records ------------------------------------------------------------------------------------------------------------------


def new_record(
    parameters: Mapping[str, Any], seed: int | None, seconds: float | None = None
) -> dict[str, Any]:
    """Everything one needs to make a result again: parameters, seed, commit, versions, machine, and how long
    it took."""
    code = dict(zip(("commit", "dirty"), git_state()))
    machine = {"versions": versions(), "cores": cores()}
    when = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "seconds": seconds}
    return {"parameters": dict(parameters), "seed": seed} | code | machine | when


@contextlib.contextmanager
def timed(made: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Fill in the wall time of a record: `with timed(new_record(parameters, seed)) as record:
    ...`"""
    start = time.perf_counter()
    try:
        yield made
    finally:
        made["seconds"] = round(time.perf_counter() - start, 3)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def versions() -> dict[str, str]:
    """The versions of Python and of the packages a result can depend on."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in _REPORTED:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def git_state() -> tuple[str | None, bool | None]:
    """The commit of the project and whether files other than outputs differ from it; (None, None) outside a
    repository."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(ROOT), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")).resolve() != ROOT.resolve():
            return None, None  # a copy of the project inside somebody else's repository
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--", ".", ":!outputs"))
    except (OSError, subprocess.CalledProcessError):
        return None, None


def digest(*parts: bytes | str | Path) -> str:
    """A short hash of texts and files; a file that is missing counts as missing, not as an error."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            part = part.read_bytes() if part.is_file() else b"(missing)"
        part = part.encode() if isinstance(part, str) else part
        total.update(len(part).to_bytes(8, "big") + part)  # lengths first, so that parts cannot run together
    return total.hexdigest()[:16]


@cache
def code_digest(rooms: tuple[str, ...]) -> str:
    """A short hash of what the code of some rooms does: comments, docstrings and layout do not count.

    >>> code_digest(("formulas",)) == code_digest(("formulas",)) != code_digest(("numbers",))
    True
    """
    files = [path for room in rooms for path in sorted((PACKAGE / room).rglob("*.py"))]
    data = [path for room in rooms for path in sorted((PACKAGE / room).rglob("*.txt"))]
    return digest(*(part for path in files for part in (path.name, _bare(path.read_text()))), *data)


def _bare(source: str) -> str:
    """The syntax of a program without its docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documented and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


# ---- progress -----------------------------------------------------------------------------------------------------------------


def progress(
    iterable: Iterable[Item], total: int | None = None, label: str = "", note: Callable[[], str] | None = None
) -> Iterator[Item]:
    """Go through an iterable with a bar for a person, or a plain line at most every ten seconds when
    headless.

    `note` is asked for a few words ("loss 1.47") whenever a line is written.

    >>> sum(progress(range(4), label="adding"))
    6
    """
    if total is None and hasattr(iterable, "__len__"):
        total = len(iterable)
    if not headless():
        from tqdm.auto import tqdm

        bar = tqdm(iterable, total=total, desc=label)
        for item in bar:
            yield item
            if note:
                bar.set_postfix_str(note(), refresh=False)
        return

    start = shown = told = time.monotonic()
    board = state_file("progress.txt")  # the runner shows this line to whoever waits for us
    try:
        for done, item in enumerate(iterable, start=1):
            yield item
            now = time.monotonic()
            if now - told >= 1 and board or now - shown >= EVERY:
                line, told = _progress_line(label, done, total, now - start, note), now
                if board:
                    board.write_text(line)
                if now - shown >= EVERY:
                    shown = now
                    print(line, flush=True)
    finally:
        if board:
            board.unlink(missing_ok=True)


def _progress_line(label: str, done: int, total: int | None, seconds: float, note: Callable | None) -> str:
    words = [f"{label}: {done:,}" if label else f"{done:,}"]
    if total:
        words[0] += f" of {total:,} ({done / total:.0%})"
    words.append(f"{clock(seconds)} so far")
    if total and done < total:
        words.append(f"about {clock(seconds / done * (total - done))} to go")
    if note:
        words.append(note())
    return ", ".join(words)


def clock(seconds: float) -> str:
    """A duration as people write it.

    >>> clock(7.4), clock(75), clock(3 * 3600 + 125)
    ('7 s', '1 min 15 s', '3 h 2 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = whole // 60
    return f"{minutes} min {whole % 60} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def short(path: Path) -> str:
    """A path as the reader knows it: from the project's folder on, where it lies inside."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
