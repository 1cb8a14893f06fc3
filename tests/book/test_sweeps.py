"""Sweeps: what makes no sense is refused at once, what is done is kept, and a worker that is killed costs one
point one more try."""

import contextlib
import json
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pandas as pd
import psutil
import pytest
from conftest import ROOT
from distributed import Client
from distributed.security import Security
from test_runner import HEAD, gone, leftovers, wait_for

from nsr.__main__ import main
from nsr.book import runner, sweeps

# Every run leaves a mark when it begins and one when it ends. Size 4 waits for a file "go", size 2 fails
# without a file "mended", and size 7 leaves before the end.
WORK = """
import os
import time
import pandas as pd
from nsr import book
from nsr.book.run_records import run_dir

def mark(word):
    with open(book.ROOT / "marks.txt", "a") as marks:
        marks.write(f"{word} {size} {os.getpid()}\\n")

mark("begin")
while size == 4 and not (book.ROOT / "go").exists():
    time.sleep(0.05)
if size == 2 and not (book.ROOT / "mended").exists():
    raise ValueError("two is not enough")
book.record(doubled=2 * size, span={"low": 0, "all": [size, seed]}, name=f"recorded {name}")
book.write_table(pd.DataFrame({"item": range(size), "size": size}), run_dir() / "table.csv.gz", {})
assert len(book.read_table(run_dir() / "table.csv.gz")) == size  # to look at one's own table makes nobody out of date
if size == 7:
    raise SystemExit(0)
mark("end")
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one notebook, seen by this process and by those it starts."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "00_work.py").write_text(HEAD.format(title="Work") + WORK)
    for name, place in {
        "ROOT": ".",
        "NOTEBOOKS": "notebooks",
        "PARAMS": "params",
        "OUTPUTS": "outputs",
        "REFERENCE": "outputs/reference",
    }.items():
        monkeypatch.setattr(runner, name, tmp_path / place)
    monkeypatch.setenv("NSR_ROOT", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("NSR_OUTPUTS", raising=False)
    return tmp_path


def write_sweep(project: Path, text: str) -> str:
    path = project / "params" / "sweeps" / "trial.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def marks(project: Path, word: str) -> list[int]:
    """The sizes of the runs that began (or ended), in order of size."""
    path = project / "marks.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return sorted(int(line.split()[1]) for line in lines if line.startswith(word))


# ---- what it refuses ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "notebook: 00_work\ngrid: {beam: [1, 5]}",
            ["'beam'", "trial.yaml", "seed, size, share, name, loud"],
        ),
        (
            "notebook: 00_work\ngrid: {size: [1]}\nfixed: {beam: 1}",
            ["'beam'", "seed, size, share, name, loud"],
        ),
        (
            "notebook: 00_work\ngrid: {size: [1]}\nworkers: 3\nhost: a",
            ["'workers' or 'host'", "notebook, grid, fixed, points, then"],
        ),
        ("notebook: 00_work\ngrid: {size: [1, many]}", ["size is int", "'many'"]),
        ("notebook: 00_work\ngrid: {size: [1, 2, 1]}", ["same value twice"]),
        ("notebook: 00_work\ngrid: {size: [1, 1e0]}", ["same value twice"]),
        ("notebook: 00_work\ngrid: {size: 1}", ["a list like [1, 5, 50]"]),
        ("notebook: 00_work\ngrid: {size: []}", ["a list like [1, 5, 50]"]),
        ("notebook: 00_work\ngrid: {size: [[1, 2]]}", ["a number, a word"]),
        ("notebook: 00_work\ngrid: {size: [1]}\nfixed: {size: 2}", ["'size'", "both"]),
        ("notebook: 00_work\ngrid: {scale: [tiny, laptop]}", ["--scale"]),
        ("notebook: 00_work\npoints: {size: 1}", ["'points' is a list like"]),
        ("notebook: 00_work\npoints: [{size: []}]", ["'points' is a list like"]),
        ("notebook: 00_work\npoints: [3]", ["'points' is a list like"]),
        ("notebook: 00_work\npoints: [{beam: 1}]", ["'beam'", "seed, size, share, name, loud"]),
        ("notebook: 00_work\npoints: [{size: 1}, {size: [2, 1]}]", ["same value twice"]),
        (
            "notebook: 00_work\npoints: [{size: 1}]\ngrid: {size: [2]}",
            ["'size'", "both in the grid and in a point"],
        ),
        ("notebook: 00_work\npoints: [{size: [[1]]}]", ["a number, a word"]),
        ("notebook: 00_work\ngrid: {size: [1]}\nthen: {beam: 1}", ["'beam'", "trial.yaml"]),
        ("notebook: 00_work\ngrid: {size: [1]}\nthen: {size: many}", ["size is int", "'many'"]),
        ("notebook: 00_work\ngrid: {size: [1]}\nthen: 3", ["'then' give it one value"]),
        ("notebook: 07_none\ngrid: {size: [1]}", ["'07_none'", "00_work"]),
        ("notebook: 7\ngrid: {size: [1]}", ["is not a sweep"]),
        ("grid: {size: [1]}", ["is not a sweep", "notebook: NAME"]),
        ("", ["is not a sweep"]),
        ("notebook: [", ["plain YAML"]),
        (
            "notebook: 00_work\ngrid: !!python/object/apply:os.system ['touch owned']",
            ["plain YAML", "python/object/apply:os.system"],
        ),
        ("[" * 5000, ["plain YAML"]),
        (
            "a: &a [1,1,1,1,1,1,1,1,1]\n"
            + "".join(
                f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi")
            )
            + "notebook: 00_work\ngrid: {size: [*i]}",
            ["plain YAML", "*a"],
        ),
        (
            f"notebook: 00_work\ngrid: {{size: {list(range(200))}, seed: {list(range(200))}}}",
            ["40,000 points", "10,000"],
        ),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused_before_anything_starts(
    project: Path, capsys: pytest.CaptureFixture, text: str, expected
):
    assert main(["sweep", write_sweep(project, text), "--scale", "tiny"]) == 2
    said = capsys.readouterr().err
    assert all(word in said for word in expected), said
    assert "Traceback" not in said and len(said) < 500
    assert not (project / "outputs").exists() and not (project / "owned").exists()


def test_other_requests_that_make_no_sense(project: Path, capsys: pytest.CaptureFixture):
    path = write_sweep(project, "notebook: 00_work\ngrid: {size: [1]}")
    for words, expected in {
        ("nowhere.yaml",): "params/sweeps/trial.yaml",
        (path, "--scale", "huge"): "tiny, laptop, paper",
        (path, "--workers", "0"): "at least one worker",
        (path, "--scheduler", "here"): "No Dask scheduler answers at here",
        (path, "--scheduler", "tls://127.0.0.1:1"): "tls://127.0.0.1:1 asks for certificates",
        (path, "--only", "size", "9"): "no point with size = 9. It has size: 1",
        (path, "--only", "colour", "red"): "no point with colour = red",
    }.items():
        assert main(["sweep", *words]) == 2
        assert expected in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["sweep", path, "--workers", "1", "--scheduler", "tcp://127.0.0.1:1"])


# ---- running ------------------------------------------------------------------------------------------------------------------


def test_a_failed_point_stops_no_other_and_the_next_sweep_runs_it_alone(
    project: Path, nsr_command, capsys: pytest.CaptureFixture
):
    path = write_sweep(project, "notebook: 00_work\ngrid: {size: [2, 3]}\nfixed: {seed: 5, name: x}")
    first = nsr_command("sweep", path, "--scale", "tiny", "--workers", "2")
    assert first.returncode == 1, first.stdout + first.stderr
    assert (
        "1 of 2 points failed" in first.stderr
        and "size=2: Cell" in first.stderr
        and "two is not enough" in first.stderr
    )
    assert marks(project, "begin") == [2, 3] and marks(project, "end") == [3]
    table = pd.read_csv(project / "outputs" / "tiny" / "sweeps" / "trial.csv")
    assert table["size"].tolist() == [2, 3] and table["status"].tolist() == ["failed", "ok"]
    assert "two is not enough" in table["error"][0] and table["doubled"].isna().tolist() == [True, False]

    (project / "mended").touch()
    # found from anywhere
    second = nsr_command("sweep", "params/sweeps/trial.yaml", "--scale", "tiny", cwd=project / "notebooks")
    assert second.returncode == 0, second.stdout + second.stderr
    assert "1 up to date" in second.stdout and "[1/1] size=2: ok" in second.stdout
    assert marks(project, "begin") == [2, 2, 3] and marks(project, "end") == [2, 3]
    # nobody is needed for nothing
    assert main(["sweep", path, "--scale", "tiny", "--scheduler", "tcp://127.0.0.1:1"]) == 0
    assert "2 up to date" in capsys.readouterr().out

    folder = project / "outputs" / "tiny" / "sweeps"
    table = pd.read_csv(folder / "trial.csv", keep_default_na=False)
    assert list(table) == [
        "size",
        "seed",
        "name",
        "status",
        "seconds",
        "error",
        "doubled",
        "result_name",
        "span.low",
        "span.all",
    ]
    assert table["doubled"].tolist() == [4, 6] and table["span.all"].tolist() == ["[2, 5]", "[3, 5]"]
    assert (
        set(table["name"]) == {"x"}
        and set(table["result_name"]) == {"recorded x"}
        and (table["seconds"] > 0).all()
    )
    rows = pd.read_csv(folder / "trial_rows.csv.gz")
    assert rows[["size", "seed", "item"]].values.tolist() == [
        [n, 5, item] for n in (2, 3) for item in range(n)
    ]
    assert list(rows) == ["size", "seed", "name", "item"]
    for name in ("trial.json", "trial_rows.json"):
        record = json.loads((folder / name).read_text())
        assert (
            record["parameters"]["size"] == [2, 3] and record["seed"] == 5 and record["notebook"] == "00_work"
        )
        assert record["versions"] and record["seconds"] > 0


def test_points_are_what_was_listed_times_the_grid(project: Path):
    path = write_sweep(
        project,
        "notebook: 00_work\npoints: [{name: a, size: [1, 3]}, {name: b, size: 2}]\ngrid: {seed: [0, 1]}\nfixed: {share: 0.5}",
    )
    plan, points = sweeps.read_sweep(path, "tiny")
    by_hand = [("a", 1, 0), ("a", 1, 1), ("a", 3, 0), ("a", 3, 1), ("b", 2, 0), ("b", 2, 1)]
    assert [tuple(point.parameters[name] for name in ("name", "size", "seed")) for point in points] == by_hand
    assert all(point.parameters["share"] == 0.5 for point in points) and plan["then"] is None
    assert plan["grid"] == {"name": ["a", "b"], "size": [1, 3, 2], "seed": [0, 1]}
    assert points[0].label == "name=a, size=1, seed=0"


def test_a_part_of_a_sweep_is_run_alone_and_forgets_nothing(project: Path, nsr_command):
    path = write_sweep(
        project,
        "notebook: 00_work\npoints: [{name: a, size: [1, 3]}, {name: b, size: 5}]\ngrid: {seed: [0, 1]}",
    )
    table = project / "outputs" / "tiny" / "sweeps" / "trial.csv"
    for only, begun, rows in (
        (("seed", "1"), [1, 3, 5], 3),
        (("name", "b"), [1, 3, 5, 5], 4),
        (("seed", "0"), [1, 1, 3, 3, 5, 5], 6),
    ):
        done = nsr_command("sweep", path, "--scale", "tiny", "--only", *only)
        assert done.returncode == 0, done.stdout + done.stderr
        assert marks(project, "begin") == begun
        assert len(pd.read_csv(table)) == rows
    assert pd.read_csv(table)[["name", "size", "seed"]].values.tolist() == [
        [n, z, s] for n, z in (("a", 1), ("a", 3), ("b", 5)) for s in (0, 1)
    ]


def test_two_sweeps_at_once_give_the_table_of_one(project: Path, nsr_command):
    """The first waits in its only point while the second does the other one."""
    path = write_sweep(project, "notebook: 00_work\ngrid: {size: [1, 4]}")
    words = ("sweep", path, "--scale", "tiny", "--only", "size")
    first = subprocess.Popen(
        [sys.executable, "-m", "nsr", *words, "4"],
        env=dict(os.environ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert wait_for(lambda: marks(project, "begin") == [4], 240)
        assert nsr_command(*words, "1").returncode == 0
    finally:
        (project / "go").touch()
        assert first.wait(240) == 0
    sweeps_folder = project / "outputs" / "tiny" / "sweeps"
    assert (
        pd.read_csv(sweeps_folder / "trial.csv")["doubled"].tolist() == [2, 8]
        and len(pd.read_csv(sweeps_folder / "trial_rows.csv.gz")) == 5
    )
    assert not list(sweeps_folder.glob(".*"))


def test_a_point_may_leave_early_and_afterwards_the_notebook_runs_once_more(project: Path, nsr_command):
    path = write_sweep(project, "notebook: 00_work\npoints: [{size: 7}]\nthen: {size: 2}")
    first = nsr_command("sweep", path, "--scale", "tiny")
    # size 2 fails: the table is there, and the exit code says that not all is well
    assert first.returncode == 1
    assert "then 00_work: failed" in first.stdout and "two is not enough" in first.stderr
    table = pd.read_csv(project / "outputs" / "tiny" / "sweeps" / "trial.csv")
    assert (
        table["size"].tolist() == [7]
        and table["status"].tolist() == ["ok"]
        and table["doubled"].tolist() == [14]
    )
    assert len(pd.read_csv(project / "outputs" / "tiny" / "sweeps" / "trial_rows.csv.gz")) == 7
    (project / "mended").touch()
    second = nsr_command("sweep", path, "--scale", "tiny")
    assert second.returncode == 0, second.stdout + second.stderr
    assert (
        "1 up to date" in second.stdout
        and "then 00_work: ok" in second.stdout
        and marks(project, "end") == [2]
    )


@contextlib.contextmanager
def process(*words: str) -> Iterator[subprocess.Popen]:
    """A process that is there for the length of a `with`."""
    started = subprocess.Popen(
        [sys.executable, "-m", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def test_a_worker_killed_in_the_middle_of_a_point_costs_nothing_but_that_try(project: Path):
    path, here = (
        write_sweep(project, "notebook: 00_work\ngrid: {size: [1, 3, 4]}"),
        ["--host", "127.0.0.1", "--no-dashboard"],
    )
    address = project / "scheduler.json"
    worker = ["dask", "worker", "--scheduler-file", str(address), "--nthreads", "1", "--no-nanny", *here]
    with contextlib.ExitStack() as stack:
        stack.enter_context(
            process("dask", "scheduler", "--port", "0", "--scheduler-file", str(address), *here)
        )
        assert wait_for(address.exists)
        workers = [stack.enter_context(process(*worker)) for _ in range(2)]
        at = json.loads(address.read_text())["address"]
        assert at.startswith("tcp://127.0.0.1:")
        running = stack.enter_context(process("nsr", "sweep", path, "--scale", "tiny", "--scheduler", at))

        # size 4 waits for us, and the others are finished, some of them by the worker that will be killed
        assert wait_for(lambda: marks(project, "begin") == [1, 3, 4] and marks(project, "end") == [1, 3], 240)
        kernel = next(
            int(line.split()[2])
            for line in (project / "marks.txt").read_text().splitlines()
            if line.startswith("begin 4")
        )
        family = {one.pid for one in psutil.Process(kernel).parents()}
        (victim,) = [one for one in workers if one.pid in family]
        victim.kill()
        assert wait_for(lambda: gone(kernel))  # its kernel ends with it, and cannot finish behind our back
        (project / "go").touch()
        said, _ = running.communicate(timeout=240)

    assert running.returncode == 0, said
    assert marks(project, "begin") == [1, 3, 4, 4] and marks(project, "end") == [1, 3, 4]
    table = pd.read_csv(project / "outputs" / "tiny" / "sweeps" / "trial.csv")
    assert (
        table["size"].tolist() == [1, 3, 4]
        and set(table["status"]) == {"ok"}
        and table["doubled"].tolist() == [2, 6, 8]
    )
    assert not leftovers(project)


def test_workers_of_our_own_have_one_thread_and_run_nothing_for_anybody_else():
    """They are seen by this machine alone, and whoever on it lacks the certificate is refused at every port:
    one without TLS, one without a certificate, and one with a certificate of another sweep."""
    others = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    others.check_hostname, others.verify_mode = False, ssl.CERT_NONE
    strange = Security.temporary().get_connection_args("client")["ssl_context"]
    strange.check_hostname, strange.verify_mode = False, ssl.CERT_NONE

    def answer(address: tuple[str, int], context: ssl.SSLContext) -> bytes:
        with socket.create_connection(address, timeout=60) as plain, context.wrap_socket(plain) as line:
            return line.recv(1)

    with sweeps._client(1, None) as client:
        assert list(client.nthreads().values()) == [1]
        assert client.run(os.getenv, "NUMBA_NUM_THREADS").popitem()[1].isdecimal()
        family = [psutil.Process(), *psutil.Process().children(recursive=True)]
        links = [link for one in family for link in one.net_connections()]
        listening = {link.laddr for link in links if link.status == psutil.CONN_LISTEN}
        assert {address.ip for address in listening} == {"127.0.0.1"}
        ((worker, about),) = client.scheduler_info()["workers"].items()
        guarded = {
            int(place.rpartition(":")[2]) for place in (client.scheduler.address, worker, about["nanny"])
        }
        with pytest.raises(OSError):
            Client(client.scheduler.address.replace("tls:", "tcp:"), timeout=5)
        for address in listening:
            if address.port in guarded:
                for context in (others, strange):
                    with pytest.raises(OSError):  # a reset, or TLS saying that a certificate is required
                        answer(address, context)
            else:  # where the dashboard would be
                with pytest.raises(HTTPError, match="404"):
                    urlopen(f"http://127.0.0.1:{address.port}/health", timeout=60)


def test_a_worker_that_would_write_elsewhere_refuses(project: Path, monkeypatch: pytest.MonkeyPatch):
    _, (point,) = sweeps.read_sweep(write_sweep(project, "notebook: 00_work\ngrid: {size: [1]}"), "tiny")
    monkeypatch.setattr(runner, "OUTPUTS", project / "other")
    outcome = sweeps.run_point(point)
    assert outcome["status"] == "failed" and "NSR_OUTPUTS" in outcome["error"] and not marks(project, "begin")


def test_the_sweeps_of_the_book_name_parameters_that_exist():
    for path in sorted((ROOT / "params" / "sweeps").glob("*.yaml")):
        plan, points = sweeps.read_sweep(path, "laptop")
        assert plan["name"] == path.stem and points
