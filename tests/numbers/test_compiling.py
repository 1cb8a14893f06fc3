"""Machine code is only ever loaded from a folder that nobody else can write; numba would execute whatever
lies there."""

import os
import pickle
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest
from conftest import ROOT

from nsr.numbers import compiling

unix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owner here")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the system, and a package whose own folder cannot be used."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    (tmp_path / "blocked").touch()
    monkeypatch.setattr(compiling, "beside_the_package", lambda: tmp_path / "blocked" / "numba-0")
    return folder


def ours(temporary: Path) -> Path:
    return temporary / f"nsr-{os.getuid()}"


@unix
def test_the_folder_is_made_for_this_user_alone(temporary: Path):
    before = os.umask(0)
    try:
        folder = compiling.cache_folder()
    finally:
        os.umask(before)
    assert folder.parent == ours(temporary)
    assert [stat.S_IMODE(place.stat().st_mode) for place in (folder, folder.parent)] == [0o700, 0o700]
    assert compiling.cache_folder() == folder  # and used again


def a_link(place: Path) -> None:
    real = place.with_name(place.name + "-elsewhere")
    shutil.move(place, real)
    place.symlink_to(real)


def a_file(place: Path) -> None:
    shutil.rmtree(place)
    place.touch()


def writable_by_others(place: Path) -> None:
    place.chmod(0o777)


def writable_by_the_group(place: Path) -> None:
    place.chmod(0o770)


def somebody_elses(place: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(place, 12345, 12345)


@unix
@pytest.mark.parametrize("level", ["parent", "folder"])
@pytest.mark.parametrize("spoil", [a_link, a_file, writable_by_others, writable_by_the_group, somebody_elses])
def test_a_folder_that_others_could_write_is_refused(temporary: Path, level: str, spoil):
    folder = compiling.cache_folder()
    spoil(folder.parent if level == "parent" else folder)
    assert compiling.cache_folder() is None


@unix
def test_a_temporary_folder_where_anybody_may_rename_is_refused(temporary: Path):
    temporary.chmod(0o777)
    assert compiling.cache_folder() is None
    temporary.chmod(0o1777)
    assert compiling.cache_folder() is not None


@unix
@pytest.mark.parametrize("spoil", [a_link, writable_by_others, somebody_elses])
def test_a_folder_beside_the_package_that_others_could_write_is_passed_over(
    temporary: Path, tmp_path: Path, monkeypatch, spoil
):
    beside = tmp_path / "package" / "numba-0"
    monkeypatch.setattr(compiling, "beside_the_package", lambda: beside)
    assert compiling.cache_folder() == beside and stat.S_IMODE(beside.stat().st_mode) == 0o700
    spoil(beside)
    assert compiling.cache_folder() == ours(temporary) / beside.name


@unix
def test_nothing_in_a_refused_folder_is_executed_and_the_answer_is_the_same(tmp_path: Path):
    """The package is copied to where nothing can be written, the cache is filled, and every file in it
    becomes a trap."""

    class Trap:
        def __reduce__(self):
            return os.system, (f"touch '{sprung}'",)

    sprung, temporary = tmp_path / "sprung", tmp_path / "tmp"
    temporary.mkdir()
    code = textwrap.dedent(f"""
        import sys, tempfile
        from pathlib import Path
        tempfile.tempdir = {str(temporary)!r}
        real = Path.mkdir
        def mkdir(self, *words, **more):  # as if the package were read-only; root may write anywhere
            if "numba-" in self.name and {str(temporary)!r} not in str(self):
                raise PermissionError(13, "Permission denied")
            return real(self, *words, **more)
        Path.mkdir = mkdir
        import numpy as np
        from nsr.numbers.least_squares import dot
        print(dot(np.arange(3.0)[None], 0, np.arange(3.0)[None], 0))
    """)
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | {
        "PYTHONPATH": str(ROOT)
    }

    def run() -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300
        )

    first = run()
    assert first.returncode == 0 and first.stdout == "5.0\n" and first.stderr == "", first.stderr

    def set_traps() -> None:
        kept = list(temporary.rglob("*.nb?"))
        assert {path.suffix for path in kept} == {".nbi", ".nbc"}  # there is something to spoil
        for path in kept:
            path.write_bytes(pickle.dumps(Trap()))

    set_traps()
    run()
    assert sprung.exists()  # the trap works where the folder is trusted
    sprung.unlink()
    set_traps()
    ours(temporary).chmod(0o777)
    last = run()
    assert last.stdout == "5.0\n" and not sprung.exists()
    assert "compiled again in every session" in last.stderr and last.stderr.count("RuntimeWarning") == 1


@unix
def test_folders_of_other_versions_go_when_nobody_has_used_them_for_a_week(tmp_path: Path):
    now = time.time()
    ages = {"numba-mine": 30, "numba-recent": 6, "numba-old": 8, "numba-strange": 30, "notes": 30}
    for name in ages:
        (tmp_path / name / "inside").mkdir(parents=True)
    (tmp_path / "numba-strange").chmod(0o777)  # not made by us: it is none of our business
    (tmp_path / "numba-link").symlink_to(tmp_path / "notes")
    for name, days in ages.items():
        os.utime(tmp_path / name, (now - days * 86400,) * 2)
    os.utime(tmp_path / "numba-link", (now - 30 * 86400,) * 2, follow_symlinks=False)
    compiling.remove_unused(tmp_path / "numba-mine")
    assert {path.name for path in tmp_path.iterdir()} == {*ages, "numba-link"} - {"numba-old"}
    assert (tmp_path / "notes" / "inside").exists() and (tmp_path / "numba-mine" / "inside").exists()
    assert (tmp_path / "numba-mine").stat().st_mtime > now - 60


def test_every_compiled_function_follows_the_one_rule():
    """A function that asks for numba's cache by itself would get one where ours was refused."""
    for path in (ROOT / "nsr").rglob("*.py"):
        if path.name != "compiling.py":
            assert "cache=True" not in path.read_text(), path.name
