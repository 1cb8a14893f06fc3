"""What happens to people: the power goes, the disk is full, a package is missing. Nothing finished is lost; the message says what to do."""
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pandas as pd
import pytest

from nsr.records import certificate_path, read_table

ROOT = Path(__file__).resolve().parents[1]


def python(code: str, folder: Path, **options) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NSR_OUTPUTS": str(folder)}
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def test_kill_9_while_a_table_is_written_leaves_a_whole_one(tmp_path: Path):
    """Version n has n lines that all say n, so a mixture would be seen."""
    table, previous = tmp_path / "table.csv.gz", 0
    for pause in (0.0, 0.01, 0.03, 0.05):
        writer = python(f"""
            import pandas as pd
            from nsr.records import write_table
            n = {previous}
            while True:
                n += 1
                write_table(pd.DataFrame({{"n": [n] * n}}), r"{table}", {{"n": n}})
                print(n, flush=True)
        """, tmp_path)
        assert int(writer.stdout.readline()) == previous + 1  # it is at work
        time.sleep(pause)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        found = read_table(table)
        assert (found.n == len(found)).all() and len(found) >= previous + 1
        assert pd.read_json(certificate_path(table), typ="series")["n"] in (len(found), len(found) + 1)  # the certificate is written first
        previous = len(found)


def small_disk(limit: int):
    """No file of this process may become larger than so many bytes: what a quota or a full disk does to a write."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def test_a_full_disk_keeps_the_old_checkpoint_and_says_so(tmp_path: Path):
    train = "import sys; from nsr import training; training.main('nesymres', 'tiny', {'steps': 60, 'save_every': 20})"
    done = python(train.replace("'steps': 60", "'steps': 20"), tmp_path)
    assert done.wait(120) == 0, done.stderr.read()
    latest = tmp_path / "training" / "tiny" / "nesymres" / "latest.safetensors"
    before = latest.read_bytes()
    full = python(train, tmp_path, preexec_fn=lambda: small_disk(len(before) // 2))
    _, said = full.communicate(timeout=120)
    assert full.returncode == 1 and "goes on from the last checkpoint" in said and "Traceback" not in said
    assert latest.read_bytes() == before and not list(latest.parent.glob(".*partial*"))
    again = python(train, tmp_path)
    assert again.wait(120) == 0, again.stderr.read()


def test_a_full_disk_stops_a_notebook_with_a_sentence(tmp_path: Path):
    run = python("import sys; from nsr.__main__ import main; sys.exit(main(['run', '00', '--scale', 'tiny']))", tmp_path,
                 preexec_fn=lambda: small_disk(20_000))
    _, said = run.communicate(timeout=240)
    assert run.returncode in (1, 2) and "File too large" in said
    metrics = tmp_path / "tiny" / "00_start_here" / "metrics.json"
    assert not metrics.exists() or json.loads(metrics.read_text())["status"] == "failed"


@pytest.mark.parametrize("package", ["psutil", "yaml", "jupytext"])
def test_a_missing_package_is_named_with_the_way_to_get_it(package: str, tmp_path: Path):
    done = python(f"""
        import runpy, sys
        sys.modules["{package}"] = None  # as if it were not installed
        sys.argv = ["nsr", "run", "00", "--scale", "tiny"]
        try:
            runpy.run_module("nsr", run_name="__main__")
        except ModuleNotFoundError as error:
            print("unhandled", error)
    """, tmp_path)
    out, said = done.communicate(timeout=120)
    assert package in said and "pip install" in said and "unhandled" not in out, said
