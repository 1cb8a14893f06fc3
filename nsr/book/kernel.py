"""One notebook in one fresh kernel, inside a process of its own that can be ended from outside.

`execute` is called by the runner; `python -m nsr.book.kernel job.json` is the process it starts. A time limit
asked of the kernel itself fails exactly when it is needed (a compiled loop that never looks up), so the limit
is kept by the process that waits.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

from nsr.book import warm_starts
from nsr.book.leftovers import temporary_folder
from nsr.book.run_records import OUTPUTS, PACKAGE, ROOT, atomic_write, clock

# a Unix socket's path may have about 100 characters; the name of our folder and Jupyter's own part take 50
LONGEST_SOCKET_FOLDER = 50
LAST = 15  # lines of the log that are shown when a kernel dies


def execute(
    notebook: Path,
    folder: Path,
    parameters: Mapping[str, Any],
    limit: float | None,
    watch: Callable[[str], None] = lambda line: None,
) -> tuple[str, str]:
    """Execute a notebook into folder/<name>.ipynb and return its status ("ok", "failed" or "timeout") and
    what went wrong.

    `watch` is called several times a second with a line that says where the notebook is.
    """
    state = folder / "state"
    state.mkdir(parents=True)
    start, home = time.monotonic(), temporary_folder(short_folder())
    # What went wrong is written there, not to the outputs: their disk may be full.
    error, log_file = home / "error.txt", home / "log.txt"
    try:
        job = {"notebook": str(notebook), "folder": str(folder), "parameters": dict(parameters)}
        atomic_write(state / "job.json", json.dumps(job | {"error": str(error)}))
        with open(log_file, "wb") as log:
            python = warm_starts.command()
            command = [*python, "nsr.book.kernel", str(state / "job.json")]
            streams = {"stdin": subprocess.PIPE, "stdout": log, "stderr": log}
            place = {"env": _environment(home, folder, python), "cwd": ROOT, "start_new_session": True}
            process = subprocess.Popen(command, **streams, **place)
        try:
            while process.poll() is None:
                seconds = time.monotonic() - start
                if limit and seconds > limit:
                    words = f"Stopped after {clock(seconds)}: the time limit is {clock(limit)}."
                    return "timeout", f"{words} It was at {_where(state)}."
                watch(f"{_where(state)}, {clock(seconds)}")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.2)
        finally:  # also when the reader presses Ctrl-C: no kernel is left behind
            if process.poll() is None:
                end_tree(process.pid)
            process.stdin.close()
            process.wait()
        if process.returncode == 0:
            return "ok", ""
        if error.exists():
            return "failed", error.read_text()
        said = log_file.read_text(errors="replace").splitlines()[-LAST:]
        return "failed", "\n".join(["The kernel's process ended unexpectedly.", *said])
    finally:
        shutil.rmtree(home, ignore_errors=True)


def end_tree(pid: int) -> None:
    """End a process and all it started. Kernels open a session of their own, so one process group is not
    enough."""
    try:
        family = [psutil.Process(pid)]
        family += family[0].children(recursive=True)
    except psutil.NoSuchProcess:
        return
    groups = set()
    for member in family:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            groups.add(os.getpgid(member.pid))
    for group in groups - {os.getpgrp()}:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def _environment(home: Path, folder: Path, python: list[str]) -> dict[str, str]:
    """The environment of the kernel: this Python, started in this way, this package, this run, and nothing of
    the reader's own Jupyter settings."""
    launcher = [*python, "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": launcher, "display_name": "Python 3", "language": "python"}
    atomic_write(home / "kernels" / "python3" / "kernel.json", json.dumps(spec))
    search = [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, search)), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    ours = {"NSR_ROOT": str(ROOT), "NSR_OUTPUTS": str(OUTPUTS), "NSR_RUN": str(folder)}
    jupyter = {
        "JUPYTER_PATH": str(home),
        "JUPYTER_RUNTIME_DIR": str(home),
        "IPYTHONDIR": str(home / "ipython"),
    }
    return os.environ | paths | ours | jupyter


def short_folder() -> str:
    usual = tempfile.gettempdir()
    return usual if len(usual) <= LONGEST_SOCKET_FOLDER else "/tmp"


def _where(state: Path) -> str:
    """Where the notebook is, from the notes that the kernel's process and `nsr.book.run_records.progress`
    leave."""
    words = []
    for name in ("cell.txt", "progress.txt"):
        with contextlib.suppress(OSError):
            words.append((state / name).read_text())
    return "; ".join(filter(None, words)) or "the start of the kernel"


def spare_grammar() -> None:
    """Leave out a grammar of web addresses, which jsonschema would compile at each import: 1.4 s of processor
    for what no notebook needs.

    Only for processes of our own: a check of such addresses, which nobody asks for there, finds nothing to
    check with.
    """
    sys.modules.setdefault("rfc3987_syntax", None)


# ---- the process that `execute` starts ----------------------------------------------------------------------------------------


def main(job_path: str) -> int:
    """Convert the notebook with Jupytext and execute it with Papermill; the exit code says whether every cell
    went through."""
    import jupytext
    import papermill
    from traitlets.config import Config

    threading.Thread(target=_follow_parent, daemon=True).start()
    job = json.loads(Path(job_path).read_text())
    folder, name = Path(job["folder"]), Path(job["notebook"]).stem
    notebook = jupytext.read(job["notebook"])
    jupytext.write(notebook, folder / "state" / "source.ipynb")
    # Papermill adds a cell with the parameters that are not the default.
    total = len(notebook.cells) + bool(job["parameters"])

    def cell_started(cell: Any, cell_index: int) -> None:
        (folder / "state" / "cell.txt").write_text(f"cell {cell_index + 1} of {total}")

    # Sockets in the file system: no ports to run out of or to guard. Left alone, Jupyter puts them into the
    # working directory, where two kernels would answer each other's questions.
    sockets = os.path.join(os.environ["JUPYTER_RUNTIME_DIR"], "socket")
    # The names are relative, because Papermill fills in {braces} in paths and keeps the paths in the notebook.
    os.chdir(folder)
    try:
        files = "state/source.ipynb", f"{name}.ipynb", job["parameters"]
        how = {"kernel_name": "python3", "language": "python", "progress_bar": False, "start_timeout": 120}
        config = Config({"KernelManager": {"transport": "ipc", "ip": sockets}})
        papermill.execute_notebook(*files, **how, cwd=str(ROOT), on_cell_start=cell_started, config=config)
    except papermill.PapermillExecutionError as error:
        message = f"Cell {error.cell_index + 1} failed with {error.ename}: {error.evalue}\n{error}"
    # a kernel that died, a disk that is full: whatever it is, the reader gets a sentence
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
    else:
        return 0
    atomic_write(job["error"], message)
    return 1


def _follow_parent() -> None:
    """End with the process that started us: its end of our standard input closes when it goes, however it
    goes."""
    while os.read(0, 1):
        pass
    end_tree(os.getpid())
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    spare_grammar()
    sys.exit(main(sys.argv[1]))
