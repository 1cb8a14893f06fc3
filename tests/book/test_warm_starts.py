"""Forks of a process that has imported the libraries: what was asked for, nothing of nsr, and gone with whoever
asked."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from conftest import ROOT

from nsr.book import warm_starts

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
RUN = ["timeit", "-n1", "-r1"]  # a module of Python's own that runs what it is given


@pytest.fixture(scope="module")
def python() -> list[str]:
    """How a process is started by whoever starts a second one."""
    warm_starts.command()
    asking = warm_starts.command()
    assert "ask" in asking and asking == warm_starts.command()
    return asking


def wait_for(condition) -> bool:
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(condition())


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_the_first_of_a_process_starts_as_usual():
    code = "from nsr.book import warm_starts; print(warm_starts.command()[1:])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "['-m']\n"


def test_a_fork_is_what_was_asked_for_and_knows_nothing_of_nsr(python: list[str], tmp_path: Path):
    code = "import os, sys; print(os.getcwd(), os.environ['WHO'], sys.stdin.read(), 'torch' in sys.modules, [m for m in sys.modules if m.split('.')[0] == 'nsr'])"
    environment = {key: value for key, value in os.environ.items() if key != "HOME"} | {"WHO": "me"}
    for _ in range(2):
        done = subprocess.run(
            [*python, *RUN, code, "import numpy; print(numpy.random.random())", "import os; 'HOME' in os.environ and 1/0"],
            input="given", cwd=tmp_path, env=environment, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0 and done.stdout.startswith(f"{tmp_path} me given True []\n"), done
    again = [subprocess.run([*python, *RUN, "import numpy; print(numpy.random.random())"], capture_output=True).stdout for _ in "ab"]  # fmt: skip
    assert again[0] != again[1]


def test_its_exit_code_and_its_errors_come_back(python: list[str]):
    done = subprocess.run([*python, *RUN, "1/0"], capture_output=True, text=True)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr
    assert subprocess.run([*python, *RUN, "import os; os._exit(7)"]).returncode == 7
    assert subprocess.run([*python, *RUN, "import os; os.kill(os.getpid(), 9)"]).returncode == 9


def test_whoever_kills_the_asker_kills_the_fork_and_all_it_started(python: list[str], tmp_path: Path):
    code = "import os, subprocess, time; other = subprocess.Popen(['sleep', '600'], start_new_session=True)"
    code += (
        f"; open({str(tmp_path / 'pids')!r}, 'w').write(f'{{os.getpid()}} {{other.pid}} '); time.sleep(600)"
    )
    asker = subprocess.Popen([*python, *RUN, code])
    assert wait_for(lambda: (tmp_path / "pids").exists() and (tmp_path / "pids").read_text().endswith(" "))
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert not any(map(gone, pids))
    asker.send_signal(signal.SIGKILL)
    asker.wait()
    assert wait_for(lambda: all(map(gone, pids)))


def test_the_server_and_its_forks_end_with_whoever_started_it(tmp_path: Path):
    code = "import subprocess; from nsr.book import warm_starts as w; w.command(); python = w.command(); server = w._servers.popitem()[1][1]\n"
    code += 'sleep = \'import os, time; open("fork", "w").write(f"{os.getpid()} "); time.sleep(600)\'\n'
    code += "asker = subprocess.Popen([*python, 'timeit', '-n1', '-r1', sleep])\n"
    code += "open('pids', 'w').write(f'{server.pid} {asker.pid} '); asker.wait()"
    starter = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)})  # fmt: skip
    files = [tmp_path / "pids", tmp_path / "fork"]
    assert wait_for(lambda: all(file.exists() and file.read_text().endswith(" ") for file in files))
    pids = [int(pid) for file in files for pid in file.read_text().split()]
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    assert wait_for(lambda: all(map(gone, pids)))
