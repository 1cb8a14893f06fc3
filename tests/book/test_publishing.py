"""Runs and tables that several processes write: one after the other, whole, and nothing finished is lost."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from nsr.book import leftovers, locks, publishing
from nsr.book.locks import locked
from nsr.book.run_records import atomic_write


def made(home: Path, number: int, good: bool) -> Path:
    """A run that is not yet in its place; its number is its content."""
    working = home / f".run.partial-{number}"
    working.mkdir(parents=True)
    (working / "metrics.json").write_text(
        json.dumps({"status": "ok" if good else "failed", "number": number})
    )
    return working


def number_in(folder: Path) -> int | None:
    return json.loads((folder / "metrics.json").read_text())["number"] if folder.exists() else None


@pytest.mark.parametrize("in_one_step", [True, False])
@given(goods=st.lists(st.booleans(), max_size=8))
def test_the_last_good_run_stays_and_the_last_failed_one_after_it_stands_beside(
    tmp_path_factory, in_one_step: bool, goods: list[bool]
):
    home = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            publishing, "sync_folder", lambda _: None
        )  # the disk is slow, and nobody pulls the plug
        if not in_one_step:
            patch.setattr(publishing, "exchange", lambda *_: False)
        for number, good in enumerate(goods):
            place = publishing.publish(made(home, number, good), home / "run", good)
            assert number_in(place) == number
    finished = [number for number, good in enumerate(goods) if good]
    last = len(goods) - 1 if goods else None
    assert number_in(home / "run") == (finished[-1] if finished else last)
    assert number_in(home / "failed_run") == (last if finished and last != finished[-1] else None)
    assert {path.name for path in home.iterdir()} <= {"run", "failed_run"}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux swaps two folders in one step")
def test_a_reader_always_finds_a_finished_run_while_others_publish(tmp_path: Path):
    folder, seen = tmp_path / "run", []
    publishing.publish(made(tmp_path, 0, True), folder, True)

    def writer(first: int) -> None:
        for number in range(first, first + 50):
            publishing.publish(made(tmp_path, number, number % 2 == 0), folder, number % 2 == 0)

    writers = [threading.Thread(target=writer, args=[first]) for first in (100, 200, 300)]
    for thread in writers:
        thread.start()
    while any(thread.is_alive() for thread in writers):
        seen.append(json.loads((folder / "metrics.json").read_text())["status"])
    assert set(seen) == {"ok"}
    assert {path.name for path in tmp_path.iterdir()} <= {"run", "failed_run"}


def test_a_run_that_cannot_be_put_in_its_place_leaves_the_finished_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    publishing.publish(made(tmp_path, 0, True), tmp_path / "run", True)
    new, rename = made(tmp_path, 1, True), os.rename

    def faulty(source, target):
        if Path(source) == new:
            raise OSError(5, "Input/output error")
        rename(source, target)

    monkeypatch.setattr(publishing, "exchange", lambda *_: False)
    monkeypatch.setattr(publishing.os, "rename", faulty)
    monkeypatch.setattr(publishing.time, "sleep", lambda _: None)
    with pytest.raises(OSError, match="could not replace run"):
        publishing.publish(new, tmp_path / "run", True)
    assert number_in(tmp_path / "run") == 0


# ---- what a killed process leaves ---------------------------------------------------------------------------------------------

STUCK = """
    import os, sys, time
    from pathlib import Path
    from nsr.book.leftovers import temporary_folder, unfinished
    from nsr.book.run_records import atomic_write
    home = Path(sys.argv[1])
    unfinished(home / "run").mkdir()
    unfinished(home / "failed_run").mkdir()
    temporary_folder(home)
    os.fsync = lambda _: (print("writing", flush=True), time.sleep(600))
    atomic_write(home / "a.txt", "new")
"""


def test_the_leftovers_of_a_killed_process_go_with_the_next_write_and_not_before(tmp_path: Path):
    """A file, two runs and a temporary folder."""
    atomic_write(tmp_path / "a.txt", "old")
    writer = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(STUCK), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert writer.stdout.readline() == "writing\n"
        atomic_write(tmp_path / "b.txt", "new")  # its writer is at work
        assert len(list(tmp_path.glob(".*.partial-*"))) == 4
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
    foreign = tmp_path / ".run.partial-000000-1-01234567"  # of another machine on the same disk
    foreign.mkdir()
    atomic_write(tmp_path / "b.txt", "newer")
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "b.txt", foreign.name}
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_temporary_folder_goes_with_its_process(tmp_path: Path):
    code = f"from nsr.book.leftovers import temporary_folder; temporary_folder({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["run", "else"])
def test_a_run_that_was_being_replaced_goes_back_to_its_place(name: str, tmp_path: Path):
    """Where folders cannot be exchanged, a process that is killed between the two renames."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    old = tmp_path / f".run.partial-{leftovers.MACHINE}-{gone.pid}-01234567-old"
    old.mkdir()
    (old / "metrics.json").write_text('{"status": "ok", "number": 7}')
    (tmp_path / name).mkdir()
    (tmp_path / name / "metrics.json").write_text('{"status": "ok", "number": 8}')
    leftovers.clear(tmp_path)
    assert number_in(tmp_path / "run") == (8 if name == "run" else 7) and not old.exists()


def test_a_name_is_on_the_disk_before_we_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    synced, fsync = [], os.fsync

    def watched(handle: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file"
        synced.append((kind, (tmp_path / "a.txt").exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    atomic_write(tmp_path / "a.txt", "new")
    assert synced == [("file", False), ("folder", True)]


# ---- locks --------------------------------------------------------------------------------------------------------------------


def together(tasks: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_only_one_holds_a_lock_and_nothing_is_left_of_it(tmp_path: Path):
    inside, most = [], []

    def work() -> None:
        for _ in range(50):
            with locked(tmp_path / "table.csv.gz"):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.0002)
                inside.pop()

    together([work] * 4)
    assert len(most) == 200 and max(most) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_holder_that_is_killed_leaves_no_dead_lock(tmp_path: Path):
    path = tmp_path / "table.csv"
    code = f"import time\nfrom nsr.book.locks import locked\nwith locked({str(path)!r}):\n    print('mine', flush=True)\n    time.sleep(600)"
    holder = subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout.readline() == "mine\n" and (tmp_path / ".table.csv.lock").exists()
        got = threading.Event()

        def wait() -> None:
            with locked(path):
                got.set()

        waiter = threading.Thread(target=wait, daemon=True)
        waiter.start()
        assert not got.wait(0.5)  # it is somebody else's
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    assert got.wait(60)
    waiter.join()
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_locks_is_written_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuses(*_):
        raise OSError(locks.errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks.fcntl, "flock", refuses)
    with locked(tmp_path / "table.csv"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_is_not_for_git(tmp_path: Path):
    if shutil.which("git") is None:
        pytest.skip("no git")
    shutil.copy(ROOT / ".gitignore", tmp_path)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    results = tmp_path / "outputs" / "reference" / "laptop" / "results"
    with locked(results / "beam.csv.gz"):
        seen = subprocess.run(
            ["git", "-C", str(tmp_path), "status", "--porcelain", "-uall"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    assert seen.split() == ["??", ".gitignore"]
