"""What happens to people: the power goes, the disk is full, a package is missing. Nothing finished is lost;
the message says what to do."""

import functools
import gzip
import json
import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pandas as pd
import pytest
import torch
from conftest import ROOT
from test_runner import HEAD, wait_for

from nsr.book.result_tables import read_table, read_table_and_record, record_path
from nsr.network import checkpoints
from nsr.network.recipes import read_settings
from nsr.network.training import train


def command(*words: str) -> str:
    return f"import sys; from nsr.__main__ import main; sys.exit(main({list(words)!r}))"


def python(code: str, folder: Path, **options) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NSR_OUTPUTS": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def test_kill_9_while_a_table_is_written_leaves_a_whole_one(tmp_path: Path):
    """Version n has n lines that all say n, so a mixture would be seen."""
    table, previous = tmp_path / "table.csv.gz", 0
    for pause in (0.0, 0.01, 0.03, 0.05):
        writer = python(
            f"""
            import pandas as pd
            from nsr.book.result_tables import write_table
            n = {previous}
            while True:
                n += 1
                write_table(pd.DataFrame({{"n": [n] * n}}), r"{table}", {{"n": n}})
                print(n, flush=True)
        """,
            tmp_path,
        )
        assert int(writer.stdout.readline()) == previous + 1  # it is at work
        time.sleep(pause)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        found, record = read_table_and_record(table)
        assert (found.n == len(found)).all() and len(found) >= previous + 1
        assert record["n"] == len(found)
        previous = len(found)


def small_disk(limit: int):
    """No file of this process may become larger than so many bytes: what a quota or a full disk does to a
    write."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def test_a_full_disk_keeps_the_old_checkpoint_and_says_so(tmp_path: Path):
    train = "import sys; from nsr.network import training; training.main('nesymres', 'tiny', {'steps': 60, 'save_every': 20})"
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
    run = python(command("run", "01", "--scale", "tiny"), tmp_path, preexec_fn=lambda: small_disk(20_000))
    _, said = run.communicate(timeout=240)
    assert run.returncode in (1, 2) and "File too large" in said
    metrics = tmp_path / "tiny" / "01_boolean_formula_reduction" / "metrics.json"
    assert not metrics.exists() or json.loads(metrics.read_text())["status"] == "failed"


@pytest.mark.parametrize("package", ["psutil", "yaml", "jupytext"])
def test_a_missing_package_is_named_with_the_way_to_get_it(package: str, tmp_path: Path):
    done = python(
        f"""
        import runpy, sys
        sys.modules["{package}"] = None  # as if it were not installed
        sys.argv = ["nsr", "run", "00", "--scale", "tiny"]
        try:
            runpy.run_module("nsr", run_name="__main__")
        except ModuleNotFoundError as error:
            print("unhandled", error)
    """,
        tmp_path,
    )
    out, said = done.communicate(timeout=120)
    assert package in said and "pip install" in said and "unhandled" not in out, said


def test_a_locale_without_unicode_is_no_obstacle(nsr_command, tmp_path: Path):
    done = nsr_command(
        "student", "01", "--to", str(tmp_path / "büch"), LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"
    )
    assert done.returncode == 0 and "→" in done.stdout, done.stderr
    assert "∨" in next((tmp_path / "büch").glob("*.ipynb")).read_text(encoding="utf-8")


def test_a_newer_package_that_lacks_something_is_named_with_the_way_back(tmp_path: Path):
    """Papermill 99 has forgotten how to execute a notebook."""
    (tmp_path / "papermill").mkdir()
    (tmp_path / "papermill" / "__init__.py").write_text("class PapermillExecutionError(Exception): pass\n")
    (tmp_path / "papermill-99.0.dist-info").mkdir()
    (tmp_path / "papermill-99.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: papermill\nVersion: 99.0\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "nsr", "run", "00", "--scale", "tiny"],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=tmp_path,
        env=os.environ
        | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "NSR_OUTPUTS": str(tmp_path / "outputs")},
    )
    assert run.returncode == 1 and "execute_notebook" in run.stderr
    assert "papermill 99.0 (tested: " in run.stderr and "pip install -c constraints.txt" in run.stderr


# ---- a sweep that is killed ---------------------------------------------------------------------------------------------------

WORK = """
import time
from nsr import book
with open(book.ROOT / "began.txt", "a") as began:
    began.write(f"{size}\\n")
while size == 2 and not (book.ROOT / "go").exists():
    time.sleep(0.05)
book.record(doubled=2 * size)
"""


def test_kill_9_during_a_sweep_costs_the_point_at_work_and_no_other(tmp_path: Path):
    """Size 2 waits until it is killed together with the sweep; the same command then does sizes 2 and 3, and
    not 1 again."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "00_work.py").write_text(HEAD.format(title="Work") + WORK)
    (tmp_path / "sweep.yaml").write_text("notebook: 00_work\ngrid: {size: [1, 2, 3]}\n")
    words = [sys.executable, "-m", "nsr", "sweep", str(tmp_path / "sweep.yaml"), "--scale", "tiny"]
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "NSR_ROOT": str(tmp_path),
        "NSR_OUTPUTS": str(tmp_path / "outputs"),
    }
    began = tmp_path / "began.txt"
    sweep = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert wait_for(lambda: began.exists() and began.read_text().split() == ["1", "2"], 240)
    finally:
        sweep.send_signal(signal.SIGKILL)
        sweep.wait()
    (tmp_path / "go").touch()
    again = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    assert again.returncode == 0, again.stderr
    assert began.read_text().split() == ["1", "2", "2", "3"]
    table = pd.read_csv(tmp_path / "outputs" / "tiny" / "sweeps" / "sweep.csv")
    assert table["doubled"].tolist() == [2, 4, 6] and set(table["status"]) == {"ok"}


def test_two_trainings_at_once_in_one_folder_both_end_with_a_whole_network(tmp_path: Path):
    pair = [
        python(
            command("train", "nesymres", "--scale", "tiny", "-p", "steps", "30", "-p", "save_every", "3"),
            tmp_path,
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=300)[1] for process in pair]
    assert [process.returncode for process in pair] == [0, 0], said
    final = checkpoints.load_folder(tmp_path / "training" / "tiny" / "nesymres" / "final")
    assert final.history[-1]["step"] == 30 and len(final.templates) > 0 and len(final.seen) > 0


FILL = """
    import sys, pandas as pd
    from pathlib import Path
    from nsr.evidence.reference_tables import Job, fill
    def job(n):
        parameters = {"weights": "w", "weights_digest": "d", "n": n}
        return Job(f"row {n}", parameters, lambda: pd.DataFrame({"n": [n] * 3, "square": [n * n] * 3, "stopped": "end"}))
    print("ready", flush=True)
    sys.stdin.readline()
    fill([job(n) for n in range(%d, %d)], Path(r"%s"), network="w")
"""


def filled(path: Path, *ranges: tuple[int, int]) -> pd.DataFrame:
    """What processes that begin together make of one table, each with the rows of its range; without the
    order of the rows."""
    writers = [
        python(FILL % (first, last, path), path.parent, stdin=subprocess.PIPE) for first, last in ranges
    ]
    assert [writer.stdout.readline() for writer in writers] == ["ready\n"] * len(writers)
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    said = [writer.communicate(timeout=300)[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * len(writers), said
    record = json.loads(record_path(path).read_text())
    table = read_table(path).sort_values("n", ignore_index=True)
    assert set(record["rows"]) == set(table["run"]) and record["parameters"]["rows"] == table["run"].nunique()
    assert sorted(file.name for file in path.parent.iterdir()) == [path.name, record_path(path).name]
    return table


def test_two_that_fill_one_table_give_what_one_gives(tmp_path: Path):
    alone = filled(tmp_path / "alone" / "t.csv.gz", (0, 40))
    assert len(alone) == 120
    pd.testing.assert_frame_equal(filled(tmp_path / "apart" / "t.csv.gz", (0, 20), (20, 40)), alone)
    pd.testing.assert_frame_equal(filled(tmp_path / "overlapping" / "t.csv.gz", (0, 30), (10, 40)), alone)


# ---- disks of our own ---------------------------------------------------------------------------------------------------------


@functools.cache
def can_mount() -> bool:
    """Whether this machine lets us have a file system of our own, as any user of Linux may in a namespace of
    their own."""
    words = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /mnt"]
    return shutil.which("unshare") is not None and subprocess.run(words, capture_output=True).returncode == 0


def on_a_disk(options: str, code: str, folder: Path, after: str = "true") -> subprocess.CompletedProcess:
    """Run Python with `folder` as a disk of its own, mounted with these options; `after` looks at what it
    left."""
    script = f'mount -t tmpfs -o {options} none "$1" && "$2" -c "$3"; status=$?; {after}; exit $status'
    words = ["unshare", "-rm", "sh", "-c", script, "sh", str(folder), sys.executable, code]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NSR_OUTPUTS": str(folder)}
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.skipif(not can_mount(), reason="no file system of our own can be mounted here")
@pytest.mark.parametrize(
    "size, words",
    [
        ("300k", ("run", "01", "--scale", "tiny")),
        ("300k", ("train", "nesymres", "--scale", "tiny")),
        ("4k", ("student", "00")),
    ],
)
def test_a_disk_that_is_full_for_real(size: str, words: tuple[str, ...], tmp_path: Path):
    done = on_a_disk(f"size={size}", command(*words), tmp_path, after='find "$1" -name "*partial*"')
    assert (
        done.returncode in (1, 2)
        and "No space left on device" in done.stderr
        and "Traceback" not in done.stderr.split("Cell ")[0]
    )
    assert "partial" not in done.stdout


@pytest.mark.skipif(not can_mount(), reason="no file system of our own can be mounted here")
@pytest.mark.parametrize(
    "words",
    [
        ("run", "00", "--scale", "tiny"),
        ("train", "nesymres", "--scale", "tiny"),
        ("student", "00"),
        (
            "sweep",
            str(ROOT / "params" / "sweeps" / "beam_size.yaml"),
            "--scale",
            "tiny",
            "--only",
            "seed",
            "0",
        ),
    ],
)
def test_read_only_outputs_are_a_sentence(words: tuple[str, ...], tmp_path: Path):
    done = on_a_disk("ro", command(*words), tmp_path)
    assert (
        done.returncode in (1, 2)
        and "Read-only file system" in done.stderr
        and "Traceback" not in done.stderr
    ), done.stderr


# ---- files that want to be executed -------------------------------------------------------------------------------------------


class Trap:
    """What a pickle can do to those who open it: run a command."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch '{self.path}'",)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(
        read_settings("nesymres", "tiny", {"steps": 2, "snapshots": 0}), tmp_path_factory.mktemp("network")
    )


@pytest.mark.parametrize(
    "name", ["weights.safetensors", "about.json", "seen.safetensors", "templates.txt.gz"]
)
def test_no_weights_are_ever_executed(name: str, network: Path, tmp_path: Path):
    sprung, folder = tmp_path / "sprung", tmp_path / "network"
    # the trap works: PyTorch's own loader springs it, when it is told to trust the file
    with pytest.raises(Exception):
        torch.save(Trap(sprung), tmp_path / "a.pt")
        torch.load(tmp_path / "a.pt", weights_only=False).no_such_thing
    assert sprung.exists()
    sprung.unlink()
    for content in (
        pickle.dumps(Trap(sprung)),
        gzip.compress(pickle.dumps(Trap(sprung))),
        (tmp_path / "a.pt").read_bytes(),
    ):
        shutil.copytree(network, folder, dirs_exist_ok=True)
        (folder / name).write_bytes(content)
        with pytest.raises((checkpoints.CheckpointError, ValueError, OSError)):
            trained = checkpoints.load_folder(folder)
            trained.seen, trained.templates
        assert not sprung.exists()


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_no_table_is_ever_executed(name: str, tmp_path: Path):
    sprung, table = tmp_path / "sprung", tmp_path / name
    for content in (pickle.dumps(Trap(sprung)), gzip.compress(pickle.dumps(Trap(sprung)))):
        table.write_bytes(content)
        try:
            read_table(table)
        except ValueError as error:
            assert "cannot be read as a table" in str(error)
        assert not sprung.exists()
