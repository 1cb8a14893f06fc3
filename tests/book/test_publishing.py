"""Runs and tables that several processes write: one after the other, whole, and nothing finished is lost."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from nsr.book import locks, publishing
from nsr.book.locks import locked


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
