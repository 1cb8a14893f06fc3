"""What is promised, tried as life breaks it: kill -9 at random moments, SIGTERM, Ctrl-C and a full disk, while a
network is trained, a run published, a notebook swept and a formula found. What was finished before is there
afterwards, whole.

NSR_FUZZ=5 pytest tests/test_promises.py kills a hundred times instead of twenty. One process has everything in
memory that is slow to load; it forks the victims, and says in the end what they had finished and what is left.
"""

import contextlib
import json
import os
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT

KINDS = ("training", "publishing", "sweep", "fit")
KILLS = 5 * int(os.environ.get("NSR_FUZZ", "1"))  # of each kind
LONGEST = 0.3  # seconds that a victim lives after it has finished something
SIZES = range(1, 9)  # the points of the sweep
TINY = dict(
    max_operators=3, draws=60, points_min=8, points_max=12, pool=2, width=16, heads=2, encoder_blocks=1, inducing=4, seeds=4,
    decoder_layers=1, feedforward=16, batch=8, steps=1_000_000, save_every=1, record_every=3, snapshots=0, threads=1,
)  # fmt: skip
MADE = Path("made")  # what the commands write, from the folder in which they are given
FULL = 20_000  # bytes of a file on the full disk
# no formula explains it, so that the search takes all of its time
TABLE = "length,mass,area\n" + "".join(f"{i},{2 + i % 7},{i * 7919 % 101}\n" for i in range(1, 40))
NOTEBOOK = """# %% [markdown]
# # Work
# %% tags=["parameters"]
scale: str = "tiny"  # how large
size: int = 3  # a number
"""
COMMANDS = {
    "training": [
        "train",
        "nesymres",
        "--scale",
        "tiny",
        *(w for k, v in TINY.items() for w in ("-p", k, str(v))),
    ],
    "publishing": ["run", "00_work", "--scale", "tiny", "--force"],
    "sweep": ["sweep", "sweep.yaml", "--scale", "tiny"],
    "fit": ["fit", "table.csv", "area", "--seconds", "1"],
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict:
    home = tmp_path_factory.mktemp("home")
    (home / "notebooks").mkdir()
    (home / "notebooks" / "00_work.py").write_text(NOTEBOOK)
    (home / "sweep.yaml").write_text(f"notebook: 00_work\ngrid: {{size: {list(SIZES)}}}\n")
    (home / "table.csv").write_text(TABLE)
    (home / "outputs").mkdir()
    for name in ("outputs/reference", "params"):  # networks and recipes
        (home / name).symlink_to(ROOT / name)
    places = {"NSR_ROOT": home, "NSR_OUTPUTS": home / MADE, "PYTHONPATH": ROOT}
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMBA")}
    done = subprocess.run(
        [sys.executable, __file__],
        env=os.environ | {name: str(place) for name, place in places.items()} | threads,
        cwd=home,
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("kind", KINDS)
def test_kill_9_loses_nothing_that_was_finished(told: dict, kind: str):
    seen = told["kill"][kind]
    assert seen["killed"] == KILLS and seen["lost"] == [], seen
    assert seen["finished"] > 0 or kind == "fit"  # the victims had come that far
    assert seen["afterwards"] == "whole", seen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name, code", [("SIGTERM", 143), ("SIGINT", 130)])
def test_whoever_is_asked_to_stop_stops_and_tidies_up(told: dict, kind: str, name: str, code: int):
    seen = told[name][kind]
    assert seen["lost"] == [] and seen["leftovers"] == [] and "Traceback" not in seen["said"], seen
    if kind == "fit" and name == "SIGINT" and seen["code"] == 0:  # Ctrl-C ends the search, not the command
        assert "The search was interrupted" in seen["said"], seen
    else:
        assert seen["code"] == code and ("Stopped" in seen["said"] or name == "SIGTERM"), seen


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_is_a_sentence_and_loses_nothing(told: dict, kind: str):
    seen = told["full"][kind]
    assert seen["lost"] == [] and seen["leftovers"] == [] and "Traceback" not in seen["said"], seen
    if kind == "fit":  # it writes nothing
        assert seen["code"] == 0 and "area = " in seen["said"], seen
    else:
        assert seen["code"] in (1, 2) and "File too large" in seen["said"], seen


# ---- the process that forks the victims ---------------------------------------------------------------------------------------


def execute(notebook: Path, folder: Path, parameters: dict, *_) -> tuple[str, str]:
    """What a kernel would leave of the notebook, at once."""
    import nbformat
    import pandas as pd

    from nsr.book.result_tables import write_table
    from nsr.book.run_records import atomic_write, to_json

    size = parameters.get("size", 3)
    (folder / "state").mkdir()
    nbformat.write(nbformat.v4.new_notebook(), folder / f"{notebook.stem}.ipynb")
    write_table(pd.DataFrame({"item": range(size)}), folder / "table.csv.gz", {})
    atomic_write(folder / "state" / "results.json", to_json({"size": size, "filling": "-" * FULL}))
    return "ok", ""


def publish_again_and_again(say: Callable[[int], None]) -> None:
    """Run number n says n in each of its files; every third run failed."""
    from nsr.book.publishing import publish

    folder = MADE / "run"
    n = number_of(folder) or 0
    while True:
        n += 1
        working = folder.with_name(f".run.partial-{os.getpid()}-{n}")
        working.mkdir(parents=True)
        for name in ("metrics.json", "page.html", "notebook.ipynb"):
            (working / name).write_text(json.dumps({"status": "ok" if n % 3 else "failed", "number": n}))
        publish(working, folder, good=n % 3 > 0)
        if n % 3:
            say(n)


def run_again_and_again(say: Callable[[int], None]) -> int:
    """Until one does not go through."""
    from nsr.__main__ import main

    code, n = 0, number_of(MADE / "run")
    try:
        while not code:
            code = main(COMMANDS["publishing"])
            say(n)
    except KeyboardInterrupt:  # it came between two runs
        print("Stopped.")
        code = 130
    return code


def number_of(folder: Path) -> int | None:
    """The number in a finished run; None if there is none. A mixture of two runs is an error."""
    if not folder.exists():
        return None
    (found,) = {(folder / name).read_text() for name in ("metrics.json", "page.html", "notebook.ipynb")}
    assert json.loads(found)["status"] == "ok"
    return json.loads(found)["number"]


def work(kind: str, say: Callable[[int], None]) -> int:
    """Do what a user does with this command, and say the number of each thing when it is finished."""
    from nsr.__main__ import main
    from nsr.book import sweeps
    from nsr.network.training import Run

    save, run_point = Run.save, sweeps.run_point

    def saved(run: Run) -> None:
        save(run)
        say(run.progress.step)

    def ran(point: sweeps.Point, tell: Callable | None = None) -> dict:
        outcome = run_point(point, tell)
        if outcome["status"] == "ok":
            say(point.parameters["size"])
        return outcome

    Run.save, sweeps.run_point = saved, ran
    return main(COMMANDS[kind])


def still_there(kind: str, finished: list[int]) -> list[str]:
    """What is missing or damaged of that which was finished."""
    from nsr.network import checkpoints

    try:
        if kind == "training":
            latest = checkpoints.training_folder("tiny/nesymres") / checkpoints.LATEST
            step = checkpoints.read(latest)[1]["step"] if latest.exists() else 0
            return [f"step {n}, not {step}" for n in finished if n > step]
        if kind == "publishing":
            number = number_of(MADE / "run") or 0
            return [f"run {n}, not {number}" for n in finished if n > number]
        if kind == "sweep":
            whole = whole_points()
            return [f"point {n}" for n in finished if n not in whole]
        return [] if Path("table.csv").read_text() == TABLE else ["the table"]
    except Exception:
        return [traceback.format_exc()]


class Victim:
    """A fork of this process at its work; `finished` is what it has told us, `said` what it printed."""

    def __init__(self, task: Callable[[Callable[[int], None]], int | None], largest: int | None = None):
        self.heard, telling = os.pipe()
        self.printed = Path("printed.txt")
        self.pid = os.fork()
        if self.pid:
            os.close(telling)
            return
        code = 99
        try:
            out = os.open(self.printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(out, 1), os.dup2(out, 2)
            sys.stdout, sys.stderr = (open(n, "w", buffering=1, closefd=False) for n in (1, 2))
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as python -m nsr does
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if largest is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
            code = task(lambda n: os.write(telling, f"{n}\n".encode())) or 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
            if not isinstance(end.code, int):
                print(end.code, file=sys.stderr)
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush(), sys.stderr.flush()
            os._exit(code)

    def wait(self) -> None:
        """Until it has finished the first thing, or has gone."""
        select.select([self.heard], [], [])

    def end(self, send: int | None = None) -> int:
        """Its exit code, or minus the signal that killed it."""
        if send is not None:
            os.kill(self.pid, send)
        with open(self.heard) as heard:  # its end of the pipe closes when it goes
            self.finished = [int(line) for line in heard.read().splitlines()]
        self.said = self.printed.read_text(errors="replace")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def leftovers(place: Path = MADE) -> list[str]:
    return [str(path) for path in place.rglob(".*partial*")]


def task_of(kind: str, kill: bool = False) -> Callable[[Callable[[int], None]], int | None]:
    """What a victim does until it is stopped."""
    if kind == "publishing":
        return publish_again_and_again if kill else run_again_and_again
    return lambda say: work(kind, say)


def killed(kind: str, chance: random.Random) -> dict:
    """Kill it at random moments, look after each, and let the same command end at last."""
    seen: dict = {"killed": 0, "finished": 0, "lost": []}
    while seen["killed"] < KILLS:
        victim = Victim(task_of(kind, kill=True))
        if kind != "fit" and seen["killed"] % 4:  # every fourth dies before it has done anything, perhaps
            victim.wait()
        time.sleep(chance.uniform(0, LONGEST))
        code = victim.end(signal.SIGKILL)
        assert code in (0, -signal.SIGKILL), victim.said  # 0: it was faster than we
        seen["killed"] += code != 0
        seen["finished"] += len(victim.finished)
        seen["lost"] += still_there(kind, victim.finished)
        if kind == "sweep" and len(whole_points()) == len(SIZES):
            shutil.rmtree(MADE / "tiny")  # it has come to the end: from the beginning
    seen["afterwards"] = afterwards(kind)
    return seen


def afterwards(kind: str) -> str:
    """The same command once more, to its end."""
    from nsr.__main__ import main
    from nsr.network import checkpoints

    words, folder = COMMANDS[kind], checkpoints.training_folder("tiny/nesymres")
    if kind == "training":
        steps = checkpoints.read(folder / checkpoints.LATEST)[1]["step"] + 2
        words = [*words, "-p", "steps", str(steps)]
    victim = Victim(lambda say: main(words))
    code, whole = victim.end(), True
    if kind == "training":
        whole = checkpoints.load_folder(folder / "final").history[-1]["step"] == steps
    if kind == "sweep":
        import pandas as pd

        table = pd.read_csv(MADE / "tiny" / "sweeps" / "sweep.csv")
        whole = (
            table["size"].tolist() == list(SIZES)
            and set(table["status"]) == {"ok"}
            and not leftovers(MADE / "tiny")
        )
    if kind == "fit":
        whole = "area = " in victim.said
    return "whole" if code == 0 and whole else f"{code}: {victim.said}"


def whole_points() -> list[int]:
    """The points that are up to date; their tables have as many rows as their names say."""
    from nsr.book import result_tables, sweeps

    there = sweeps._finished(sweeps.read_sweep("sweep.yaml", "tiny")[1])
    return [len(result_tables.read_table(folder / "table.csv.gz")) for folder in there]


def half_done(kind: str) -> list[int]:
    """Something that is finished, and something to do."""
    if kind != "sweep":
        return []
    for place in (MADE / "tiny").glob("00_work@size=[5-9]"):
        shutil.rmtree(place)
    return whole_points()


def stopped(kind: str, send: int) -> dict:
    """Ask it to stop when it has finished something, or is in the middle of its search."""
    before = half_done(kind)
    victim = Victim(task_of(kind))
    time.sleep(LONGEST) if kind == "fit" else victim.wait()
    code = victim.end(send)
    lost = still_there(kind, before + victim.finished)
    return {"code": code, "lost": lost, "said": victim.said, "leftovers": leftovers()}


def filled(kind: str) -> dict:
    """No file may become larger than so many bytes: what a quota or a full disk does to a write."""
    before = half_done(kind)
    victim = Victim(task_of(kind), largest=FULL)
    code = victim.end()
    lost = still_there(kind, before + victim.finished)
    return {"code": code, "lost": lost, "said": victim.said, "leftovers": leftovers()}


def main() -> None:
    """Load, compile and import what every victim needs; then the experiments, and a line of JSON about them."""
    from nsr.__main__ import main as command
    from nsr.book import runner
    from nsr.network.recipes import make_settings
    from nsr.network.training import train

    runner.kernel.execute = execute
    with contextlib.redirect_stdout(sys.stderr):
        train(make_settings(TINY | {"steps": 2}), Path("warm"))
        command(COMMANDS["publishing"])
        command(COMMANDS["fit"])
    shutil.rmtree(MADE)
    chance, told = random.Random(0), {}
    told["kill"] = {kind: killed(kind, chance) for kind in KINDS}
    for path in MADE.rglob(".*partial*"):  # a killed process cannot tidy up
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in ("SIGTERM", "SIGINT"):
        told[name] = {kind: stopped(kind, getattr(signal, name)) for kind in KINDS}
    told["full"] = {kind: filled(kind) for kind in KINDS}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
