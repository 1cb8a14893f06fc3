"""The laboratory: it refuses what it does not know, keeps what was made and how, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import psutil
import pytest
from conftest import ROOT

from nsr.__main__ import main
from nsr.book import binding, result_tables, run_records, runner

HEAD = """# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # {title}
#
# **Claim.** {title}.

# %% tags=["parameters"]
scale: str = "laptop"  # how large
seed: int = 0  # where random numbers begin
size: int = 3  # a number
share: float = 0.5  # another
name: str = "a"  # a word
loud: bool = False  # a switch

# %%
"""
GOOD = """
import os
from ipykernel.connect import get_connection_info
from nsr import book
from nsr.book.run_records import figure_dir
(figure_dir() / "dot.png").write_bytes(b"dot")
table = book.read_table(book.ROOT / "data.csv")
connection = get_connection_info(unpack=True)
book.record(doubled=2 * size, transport=connection["transport"], socket=connection["ip"], headless=book.headless(), total=int(table["a"].sum()), cwd=os.getcwd())

# %% [markdown]
# See [the other](01_bad.py).
"""
SLEEP = """
import os, pathlib, time
from nsr import book
(book.ROOT / "pid.txt").write_text(str(os.getpid()))
time.sleep(600)
"""
MOODY = """
import pandas
from nsr import book
book.write_table(pandas.DataFrame({"a": [1]}), book.run_dir() / "table.csv.gz", {})
assert not (book.ROOT / "broken").exists(), "out of order"
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small project with a notebook that works, one that fails, one that never ends, and one that fails
    while a file is there."""
    root = tmp_path_factory.mktemp("project")
    for name, body in {
        "00_good": GOOD,
        "01_bad": "before = 1\n\n# %%\n1 / 0\n",
        "02_sleepy": SLEEP,
        "03_moody": MOODY,
    }.items():
        path = root / "notebooks" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEAD.format(title=f"The {name[3:]} one") + body)
    (root / "params").mkdir()
    (root / "params" / "tiny.yaml").write_text("00_good: {size: 7}\n")
    result_tables.write_table(pd.DataFrame({"a": [1, 2]}), root / "data.csv", {})
    return root


@pytest.fixture
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same project seen from this process, for what needs no kernel."""
    monkeypatch.setattr(runner, "NOTEBOOKS", project / "notebooks")
    monkeypatch.setattr(runner, "PARAMS", project / "params")
    monkeypatch.setattr(runner, "OUTPUTS", project / "outputs")
    return project


def metrics_of(project: Path, name: str) -> dict:
    return json.loads((project / "outputs" / "tiny" / name / "metrics.json").read_text())


def leftovers(project: Path) -> list[Path]:
    return list((project / "outputs").rglob("*.partial-*"))


# ---- what it refuses ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "00", "--scale", "huge"], ["'huge'", "tiny, laptop, paper"]),
        (["run", "07"], ["'07'", "00_good, 01_bad, 02_sleepy"]),
        (["run", "0"], None),  # a number, not the beginning of a name
        (["run", "00", "-p", "beam", "5"], ["'beam'", "seed, size, share, name, loud"]),
        (["run", "00", "-p", "size", "many"], ["size is int", "'many'"]),
        (["run", "00", "-p", "size", "2.5"], ["size is int"]),
        (["run", "00", "-p", "loud", "perhaps"], ["loud is bool"]),
        (["run", "00", "-p", "scale", "tiny"], ["--scale"]),
        (["run", "all", "-p", "size", "5"], ["one notebook"]),
        (["train", "nesymres", "--scale", "huge"], ["'huge'", "tiny, laptop, paper"]),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_in_a_sentence(
    inside: Path, capsys: pytest.CaptureFixture, words: list[str], expected
):
    if expected is None:
        assert runner.find(words[1]).stem == "00_good"
        return
    assert main(words) == 2
    said = capsys.readouterr().err
    assert all(word in said for word in expected), said
    assert "Traceback" not in said


def test_an_undeclared_key_in_params_is_refused(inside: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runner, "params", lambda scale: {"00_good": {"sizes": 3}})
    with pytest.raises(runner.LabError, match="no parameter 'sizes' .given in params/tiny.yaml"):
        runner.settle(runner.find("00"), "tiny")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("size", "1e3", 1000),
        ("size", "-4", -4),
        ("share", "1", 1.0),
        ("name", "5", "5"),
        ("loud", "true", True),
    ],
)
def test_text_from_the_command_line_gets_the_declared_kind(inside: Path, name: str, text: str, value):
    settled = runner.settle(runner.find("00"), "tiny", {name: text})[name]
    assert settled == value and type(settled) is type(value)


def test_defaults_then_params_file_then_command(inside: Path):
    notebook = runner.find("00")
    assert runner.settle(notebook, "laptop")["size"] == 3
    assert runner.settle(notebook, "tiny")["size"] == 7
    assert runner.settle(notebook, "tiny", {"size": "9"})["size"] == 9


@pytest.mark.parametrize(
    "line", ["size = 3", "size: int | None = 3", "size: int = 2 + 1", "size: int", "import os"]
)
def test_parameters_cell_holds_only_flat_literals(tmp_path: Path, line: str):
    path = tmp_path / "00_x.py"
    path.write_text(f'# %% tags=["parameters"]\n{line}\n')
    with pytest.raises(runner.LabError, match="parameters cell"):
        runner.parameters_of(path)


# ---- a run that works ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good(project: Path, nsr_command, tmp_path_factory) -> subprocess.CompletedProcess:
    return nsr_command(
        "run", "00", "--scale", "tiny", cwd=tmp_path_factory.mktemp("elsewhere"), NSR_ROOT=str(project)
    )


def test_a_run_leaves_notebook_page_figures_and_metrics(project: Path, good: subprocess.CompletedProcess):
    assert good.returncode == 0, good.stdout + good.stderr
    metrics = metrics_of(project, "00_good")
    assert metrics["status"] == "ok" and metrics["seconds"] > 0
    assert metrics["parameters"] == {
        "scale": "tiny",
        "seed": 0,
        "size": 7,
        "share": 0.5,
        "name": "a",
        "loud": False,
    }
    assert metrics["seed"] == 0 and "commit" in metrics and "dirty" in metrics and metrics["cores"] >= 1
    assert metrics["versions"]["torch"].startswith("2.13.0") and metrics["versions"]["python"] == ".".join(
        map(str, sys.version_info[:3])
    )
    socket = Path(metrics["results"].pop("socket"))  # in a folder of this kernel alone, which is gone with it
    assert socket.is_absolute() and not socket.parent.exists()
    assert metrics["results"] == {
        "doubled": 14,
        "transport": "ipc",
        "headless": True,
        "total": 3,
        "cwd": str(project),
    }
    assert metrics["figures"] == ["dot.png"] and list(metrics["inputs"]) == ["data.csv"]
    folder = project / "outputs" / "tiny" / "00_good"
    assert sorted(path.name for path in folder.iterdir()) == [
        "00_good.html",
        "00_good.ipynb",
        "figures",
        "metrics.json",
    ]
    assert str(project) not in json.dumps(nbformat.read(folder / "00_good.ipynb", 4).metadata)
    assert not leftovers(project)


def test_the_page_reads_as_part_of_a_book(project: Path, good: subprocess.CompletedProcess):
    page = (project / "outputs" / "tiny" / "00_good" / "00_good.html").read_text()
    assert "<title>The good one</title>" in page
    assert 'href="../01_bad/01_bad.html"' in page  # the link to the source became a link to the page
    index = (project / "outputs" / "tiny" / "index.html").read_text()
    assert 'href="00_good/00_good.html"' in index and "The good one." in index


def test_what_is_up_to_date_is_skipped_until_something_it_depends_on_changes(
    inside: Path, good: subprocess.CompletedProcess
):
    notebook, folder = runner.find("00"), inside / "outputs" / "tiny" / "00_good"

    def fresh(**overrides) -> bool:
        # the run was made with NSR_ROOT, so its inputs are relative to the small project
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(runner, "ROOT", inside)
            patch.setattr(runner, "REFERENCE", inside / "outputs" / "reference")
            return runner.up_to_date(
                folder, runner.fingerprint(notebook, runner.settle(notebook, "tiny", overrides))
            )

    assert fresh()
    assert not fresh(size=8)
    for path, change in ((notebook, "\n# more\n"), (inside / "data.csv", "5\n")):
        before = path.read_text()
        path.write_text(before + change)
        assert not fresh(), path
        path.write_text(before)
    weights = run_records.atomic_write(inside / "outputs" / "reference" / "laptop" / "net.safetensors", b"1")
    assert not fresh()
    weights.unlink()
    assert fresh()


def test_the_second_run_does_nothing_and_own_parameters_get_their_own_folder(
    project: Path, good, nsr_command
):
    before = metrics_of(project, "00_good")
    again = nsr_command("run", "00", "--scale", "tiny", NSR_ROOT=str(project))
    assert again.returncode == 0 and "up to date" in again.stdout
    assert metrics_of(project, "00_good") == before
    own = nsr_command("run", "00", "--scale", "tiny", "-p", "size", "8", NSR_ROOT=str(project))
    assert own.returncode == 0, own.stderr
    assert metrics_of(project, "00_good@size=8")["results"]["doubled"] == 16
    assert metrics_of(project, "00_good") == before


def test_two_runs_at_once_both_succeed(project: Path, good):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NSR_ROOT": str(project)}
    command = [sys.executable, "-m", "nsr", "run", "00", "--scale", "tiny", "--force"]
    pair = [
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=300)[0] for process in pair]
    assert [process.returncode for process in pair] == [0, 0], said
    assert metrics_of(project, "00_good")["status"] == "ok"
    assert nbformat.read(project / "outputs" / "tiny" / "00_good" / "00_good.ipynb", 4).cells
    assert not leftovers(project)


# ---- runs that do not ---------------------------------------------------------------------------------------------------------


def test_a_failing_notebook_leaves_its_executed_copy(project: Path, nsr_command):
    done = nsr_command("run", "01_bad", "--scale", "tiny", NSR_ROOT=str(project))
    assert done.returncode == 1
    assert (
        "ZeroDivisionError" in done.stderr
        and "Traceback (most recent call last):\n  File" not in done.stderr.split("ZeroDivisionError")[0]
    )
    metrics = metrics_of(project, "01_bad")
    assert metrics["status"] == "failed" and "ZeroDivisionError" in metrics["error"]
    folder = project / "outputs" / "tiny" / "01_bad"
    outputs = [
        output
        for cell in nbformat.read(folder / "01_bad.ipynb", 4).cells
        for output in cell.get("outputs", [])
    ]
    assert any(output.output_type == "error" for output in outputs)
    assert "not complete" in (folder / "01_bad.html").read_text()


def test_a_failing_run_stands_beside_the_finished_one_until_a_run_works(project: Path, nsr_command):
    outputs, broken = project / "outputs" / "tiny", project / "broken"

    def run() -> subprocess.CompletedProcess:
        return nsr_command("run", "03", "--scale", "tiny", "--force", NSR_ROOT=str(project))

    def files(name: str) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (outputs / name).iterdir()}

    assert run().returncode == 0
    finished = files("03_moody")
    broken.touch()
    done = run()
    assert done.returncode == 1 and "out of order" in done.stderr
    assert "failed_03_moody/03_moody.html" in done.stdout and "stays in" in done.stdout
    # whose links may have changed
    assert files("03_moody") == finished | {"03_moody.html": files("03_moody")["03_moody.html"]}
    assert (
        metrics_of(project, "03_moody")["status"] == "ok"
        and metrics_of(project, "failed_03_moody")["status"] == "failed"
    )
    assert "not complete" in (outputs / "failed_03_moody" / "03_moody.html").read_text()
    index = (outputs / "index.html").read_text()
    assert 'href="03_moody/03_moody.html"' in index and "a later run failed: failed_03_moody" in index
    with zipfile.ZipFile(binding.pack(outputs)) as book:
        assert "book/03_moody/03_moody.html" in book.namelist() and not [
            name for name in book.namelist() if "failed" in name
        ]
    broken.unlink()
    assert run().returncode == 0
    assert metrics_of(project, "03_moody")["status"] == "ok" and not (outputs / "failed_03_moody").exists()
    assert "failed_" not in (outputs / "index.html").read_text()
    assert not leftovers(project)


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def wait_for(condition, seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


def test_the_time_limit_is_kept_from_outside_and_the_kernel_is_ended(project: Path, nsr_command):
    pid = project / "pid.txt"
    pid.unlink(missing_ok=True)
    done = nsr_command("run", "02", "--scale", "tiny", "--limit", "12", NSR_ROOT=str(project))
    assert done.returncode == 1
    assert "the time limit is 12 s" in done.stderr
    assert metrics_of(project, "02_sleepy")["status"] == "timeout"
    assert (project / "outputs" / "tiny" / "02_sleepy" / "02_sleepy.html").exists()
    if pid.exists():  # unless the machine was too busy even to start the kernel
        assert wait_for(lambda: gone(int(pid.read_text())))


def test_no_kernel_outlives_a_runner_that_is_killed(project: Path):
    pid = project / "pid.txt"
    pid.unlink(missing_ok=True)
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "NSR_ROOT": str(project),
        "NSR_OUTPUTS": str(project / "killed"),
    }
    runner = subprocess.Popen(
        [sys.executable, "-m", "nsr", "run", "02", "--scale", "tiny"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert wait_for(lambda: pid.exists() and pid.read_text())
    finally:
        runner.send_signal(signal.SIGKILL)
        runner.wait()
    assert wait_for(lambda: gone(int(pid.read_text())))


MEETING = """
import os, time
from nsr import book
with open(book.ROOT / "here.txt", "a") as here:
    here.write(f"{os.getpid()}\\n")
while len((book.ROOT / "here.txt").read_text().split()) < 2:
    time.sleep(0.05)
while (book.ROOT / "forever").exists():
    time.sleep(0.05)
book.record(threads=os.environ["OMP_NUM_THREADS"])
"""


@pytest.fixture
def meeting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], subprocess.Popen]:
    """Two notebooks that end only when both have begun; and how to run them, with two cores whatever this
    machine has."""
    for name in ("00_one", "01_other"):
        run_records.atomic_write(tmp_path / "notebooks" / f"{name}.py", HEAD.format(title=name) + MEETING)
    code = (
        "import signal, sys; from nsr.book import runner; from nsr.__main__ import main\n"
        "runner.cores = lambda: 2\n"
        # Whoever tests in the background may have this signal ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    for name in ("OMP", "MKL", "OPENBLAS", "NUMBA"):
        monkeypatch.delenv(f"{name}_NUM_THREADS", raising=False)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NSR_ROOT": str(tmp_path)}
    return lambda: subprocess.Popen(
        [sys.executable, "-c", code, "run", "all", "--scale", "tiny"],
        env=environment,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_notebooks_run_at_the_same_time_with_one_thread_each(meeting, tmp_path: Path):
    running = meeting()
    said = running.communicate(timeout=170)[0]
    assert running.returncode == 0, said
    assert (
        "[1/2] 00_one: ok in" in said
        and "[2/2] 01_other: ok in" in said
        and said.splitlines()[-1].startswith("The book: ")
    )
    assert [metrics_of(tmp_path, name)["results"]["threads"] for name in ("00_one", "01_other")] == ["1", "1"]
    index = (tmp_path / "outputs" / "tiny" / "index.html").read_text()
    assert "00_one/00_one.html" in index and "01_other/01_other.html" in index
    assert not leftovers(tmp_path)


def test_whoever_stops_the_book_stops_every_kernel(meeting, tmp_path: Path):
    (tmp_path / "forever").touch()
    running, here = meeting(), tmp_path / "here.txt"
    try:
        assert wait_for(lambda: here.exists() and len(here.read_text().split()) == 2, 120)
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=60)[0]
    finally:
        running.kill()
    assert running.returncode == 130 and "Stopped." in said and "Traceback" not in said, said
    assert all(gone(int(pid)) for pid in here.read_text().split())
    assert not leftovers(tmp_path)


def test_outputs_that_cannot_be_written_are_a_sentence(project: Path, nsr_command, tmp_path: Path):
    blocked = tmp_path / "outputs"
    blocked.write_text("a file where a folder should be")
    done = nsr_command("run", "00", "--scale", "tiny", NSR_ROOT=str(project), NSR_OUTPUTS=str(blocked))
    assert done.returncode == 2
    assert "Cannot write" in done.stderr and "Traceback" not in done.stderr


# ---- records ------------------------------------------------------------------------------------------------------------------


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = run_records.atomic_write(tmp_path / "a.txt", "old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run_records.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        run_records.atomic_write(path, "new")
    assert path.read_text() == "old" and [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_writers_at_once_never_leave_a_mixture(tmp_path: Path):
    path, texts = tmp_path / "a.txt", [letter * 200_000 for letter in "abcd"]
    threads = [
        threading.Thread(target=lambda text=text: [run_records.atomic_write(path, text) for _ in range(10)])
        for text in texts
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert not path.exists() or path.read_text() in texts
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_tables_come_back_as_they_were(tmp_path: Path, name: str):
    table = pd.DataFrame(
        {"r2": [0.1 + 0.2, -np.inf, np.pi], "strategy": ["beam", "gvs", "a,b"], "n": [1, 2, 3]}
    )
    record = runner.new_record({"beam_size": np.int64(5), "r2": -np.inf}, seed=3, seconds=1.5)
    path = result_tables.write_table(table, tmp_path / name, record)
    pd.testing.assert_frame_equal(result_tables.read_table(path), table, check_exact=True)
    kept = json.loads((tmp_path / "t.json").read_text())
    assert (
        kept["parameters"] == {"beam_size": 5, "r2": "-inf"} and kept["seed"] == 3 and kept["seconds"] == 1.5
    )
    first = path.read_bytes()
    assert result_tables.write_table(table, tmp_path / name, record).read_bytes() == first


def test_a_missing_table_is_a_sentence(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="There is no table"):
        result_tables.read_table(tmp_path / "t.csv")


def test_progress_is_plain_lines_when_nobody_watches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tmp_path: Path
):
    now = [0.0]
    monkeypatch.setattr(run_records.time, "monotonic", lambda: now[0])
    monkeypatch.setenv("NSR_RUN", str(tmp_path))
    (tmp_path / "state").mkdir()
    for _ in run_records.progress(range(100), label="steps", note=lambda: "loss 1.5"):
        now[0] += 1.0  # a second per step
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[0] == "steps: 10 of 100 (10%), 10 s so far, about 1 min 30 s to go, loss 1.5"
    assert not (tmp_path / "state" / "progress.txt").exists()


def test_commit_and_changes_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_records, "ROOT", tmp_path)
    assert run_records.git_state() == (None, None)

    def git(*words: str) -> str:
        names = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(
            ["git", "-C", str(tmp_path), *names, *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    git("init", "-q")
    (tmp_path / "a.txt").write_text("1")
    git("add", "a.txt")
    git("commit", "-q", "-m", "one", "--no-verify")
    assert run_records.git_state() == (git("rev-parse", "HEAD"), False)
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "table.csv").write_text("what a run writes")
    assert run_records.git_state()[1] is False
    (tmp_path / "a.txt").write_text("2")
    assert run_records.git_state()[1] is True
