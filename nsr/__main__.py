"""The command line: `python -m nsr run 04 -p beam_size 50`, `python -m nsr sweep
params/sweeps/beam_size.yaml`, `python -m nsr train nesymres`, `python -m nsr fit measurements.csv period`,
`python -m nsr student`."""

import argparse
import codecs
import locale
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def unusable(error: ImportError) -> str:
    """What the user can do if a package is missing, or if its version lacks something that is needed here."""
    if isinstance(error, ModuleNotFoundError):
        return f"The package {error.name} is missing from {sys.executable}. Install the project first: make run, or python -m pip install -e ."
    from nsr.book.tested_versions import advice

    return f"A package cannot be used: {error}. {advice()}"


try:
    from nsr.book import classroom, foreign_files, kernel, runner, sweeps
    from nsr.book.spelling import shown
except ImportError as error:
    sys.exit(unusable(error))


def _publish(name: str, scale: str) -> int:
    """Say what was copied and how large it is, or why nothing was."""
    from nsr.book.run_records import short
    from nsr.evidence.reference_tables import publish_tables
    from nsr.network import checkpoints  # late: it brings torch along

    try:
        tables = name == "tables"
        files = publish_tables(scale) if tables else sorted(checkpoints.publish(f"{scale}/{name}").iterdir())
    except checkpoints.CheckpointError as error:
        print(error, file=sys.stderr)
        return 2
    sizes = [path.stat().st_size / 1e6 for path in files]
    for path, size in zip(files, sizes):
        print(f"{short(path)}, {size:.1f} MB")
    print(f"{len(files)} files, {sum(sizes):.1f} MB in all")
    return 0


def _improve(name: str, scale: str, rounds: int, by: str) -> int:
    """Go on with a network, and say what came of it."""
    from nsr.evidence import improvement  # late: it brings torch along
    from nsr.evidence.planned_rows import read_plan

    if by not in improvement.BY or rounds < 1:
        raise runner.LabError(f"--by is one of {', '.join(improvement.BY)}, and --rounds at least 1.")
    sizes = read_plan()["sizes"][scale]
    try:
        improvement.improve(
            f"{scale}/{name}", rounds, by, problems=sizes["unlabelled"], steps=sizes["more_steps"]
        )
    except (ValueError, OSError, RuntimeError) as error:  # no such network, or a file that cannot be used
        print(error, file=sys.stderr)
        return 2
    table = improvement.rounds_table(f"{scale}/{name}", rounds)
    print(table[table["by"] == by].drop(columns=["weights", "stopped"]).to_string(index=False))
    return 0


def _fit(options: argparse.Namespace) -> int:
    """Print the formula of a column, or what is wrong with the file."""
    from nsr.regressor import measurements

    given = options.file, options.target, options.columns, options.seconds, options.seed, options.html
    try:
        print(measurements.find_formula(*given))
    # a table without a formula, a network that is missing, a page that cannot be written
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _typed(name: str, text: str) -> Any:
    """A setting as a recipe would have it."""
    with foreign_files.Kind("a value", runner.LabError).of(f"{shown(name)} = {shown(text)}"):
        return foreign_files.parse_yaml(text)


COMMANDS = {
    "run": "execute a notebook (or all of them) into outputs/<scale>/",
    "sweep": "run a notebook over a grid of parameters and gather one table",
    "replicate": "train, measure, judge and run the book: whatever of it is not up to date",
    "train": "train a network and keep its weights",
    "improve": "train a network further with what its own searches found",
    "fit": "find a formula for a column of a CSV file",
    "publish": "copy a finished network, or all tables, to outputs/reference, to be committed",
    "student": "write copies of the notebooks without the solutions",
    "teacher": "write copies with a plan of the lesson",
}


def _parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    made = argparse.ArgumentParser(
        prog="python -m nsr",
        description="Run the book of notebooks, sweep one of them, train a network, find a formula in a file, or copy the book for a class.",
    )
    add_command = made.add_subparsers(dest="command", required=True).add_parser
    commands = {name: add_command(name, help=about) for name, about in COMMANDS.items()}

    def add(names: str, *flags: str, **look: Any) -> None:
        """The same argument for each of these commands."""
        for name in names.split():
            commands[name].add_argument(*flags, **look)

    yes, pair = {"action": "store_true"}, {"nargs": 2, "action": "append", "default": []}
    some, number = {"nargs": "+", "default": []}, "a number (04), a name or its beginning, or 'all'"
    add("run", "notebook", help=number)
    add("run", "--force", **yes, help="run it again even if it is up to date")
    add("run", "--limit", type=float, metavar="SECONDS", help="stop a notebook after so many seconds")
    add("sweep", "file", help="for instance params/sweeps/beam_size.yaml")
    add("sweep", "--only", **pair, metavar=("NAME", "VALUE"), help="of its points, those with this value")
    add("replicate", "--file", type=Path, help="another plan than params/replicate.yaml")
    add("replicate", "--plan", **yes, help="say what would be done, and do nothing")
    parts = "networks, tables, claims, chapters, or steps like 'table beam', with what they need"
    add("replicate", "--only", **some, metavar="PART", help=parts)
    add("replicate", "--networks", type=int, metavar="N", help="of each kind that the plan has several of")
    add("replicate", "--strict", **yes, help="make again what older code or a dirty tree has made")
    dirty = "go on although files differ from the commit; the records say so"
    add("replicate", "--dirty", **yes, help=dirty)
    add("replicate", "--step", default="", help=argparse.SUPPRESS)  # one step alone: what workers run
    at_once = "points or steps at once, as processes of this machine (default: one after the other)"
    for name in ("sweep", "replicate"):
        where = commands[name].add_mutually_exclusive_group()
        where.add_argument("--workers", type=int, metavar="N", help=f"so many {at_once}")
        dask = "on the workers of a Dask scheduler that is running"
        where.add_argument("--scheduler", metavar="tcp://HOST:PORT", help=dask)
    add("train", "name", help="which network, for instance nesymres")
    add("improve", "name", help="which network, for instance brief-1000; it must be trained")
    add(
        "improve", "--rounds", type=int, default=3, metavar="N", help="of searching and training (default: 3)"
    )
    controls = "what is added: found (default), or a control: random, unverified, truths, nothing"
    add("improve", "--by", default="found", metavar="WAY", help=controls)
    add("fit", "file", help="for instance measurements.csv; the first line names the columns")
    add("fit", "target", help="the column to explain")
    others = "the columns to explain it by (default: all others with numbers)"
    add("fit", "--columns", **some, metavar="NAME", help=others)
    add("fit", "--seconds", type=float, default=30.0, help="time for the search (default: 30)")
    add("fit", "--seed", type=int, default=0, help="another seed, another search (default: 0)")
    add("fit", "--html", type=Path, metavar="FILE", help="write a report with pictures, too")
    add("publish", "name", help="which network, for instance nesymres, or 'tables'")
    copies = "where to (default: outputs/student or outputs/teacher)"
    add("student teacher", "notebook", nargs="?", default="all", help=f"{number} (default)")
    add("student teacher", "--to", type=Path, metavar="FOLDER", help=copies)
    course = "as assignments of nbgrader, in the folder of a course"
    add("student", "--course", type=Path, metavar="FOLDER", help=course)
    committed = "with the committed networks and tables, whatever was trained and measured here"
    add("run sweep replicate", "--reference", **yes, help=committed)
    scales, all_but_fit = "|".join(runner.SCALES), " ".join(name for name in COMMANDS if name != "fit")
    add(all_but_fit, "--scale", default="laptop", metavar=scales, help="how large (default: laptop)")
    names = ("NAME", "VALUE")
    add("run train", "-p", dest="overrides", **pair, metavar=names, help="set a parameter")
    return made


def _done(options: argparse.Namespace) -> int:
    """Do what was asked for."""
    command, scale = options.command, getattr(options, "scale", "laptop")
    if command == "fit":
        return _fit(options)
    if command == "sweep":
        where = {"workers": options.workers, "scheduler": options.scheduler}
        return sweeps.sweep(options.file, scale, **where, only=dict(options.only))
    if command in classroom.KINDS:
        classroom.write(command, options.notebook, scale, options.to, getattr(options, "course", None))
        return 0
    if command == "run":
        how = {"limit": options.limit, "force": options.force}
        return runner.run_all(scale, only=options.notebook, overrides=dict(options.overrides), **how)
    runner.check_scale(scale)
    if command == "publish":
        return _publish(options.name, scale)
    if command == "replicate":
        from nsr.replication import Order, replicate  # late: it brings torch along

        order = Order(scale, options.networks, options.strict, options.dirty, options.file)
        how = options.only, options.plan, options.step, options.workers, options.scheduler
        return replicate(order, *how)
    if command == "improve":
        return _improve(options.name, scale, options.rounds, options.by)
    from nsr.network import training  # late, too

    training.main(options.name, scale, {name: _typed(name, text) for name, text in options.overrides})
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what a command line asks for and return its exit code: 0 done, 1 a notebook failed, 2 the request
    made no sense."""
    options = _parser().parse_args(arguments)
    if getattr(options, "reference", False):
        os.environ["NSR_REFERENCE"] = "1"
    try:
        return _done(options)
    except (runner.LabError, ImportError) as error:
        print(unusable(error) if isinstance(error, ImportError) else error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130


def speak_unicode() -> None:
    """Start again in Python's UTF-8 mode where the locale knows no Unicode; the notebooks and what we print
    do."""
    if not sys.flags.utf8_mode and codecs.lookup(locale.getpreferredencoding(False)).name != "utf-8":
        again = [sys.executable, "-m", "nsr", *sys.argv[1:]]
        os.execve(sys.executable, again, os.environ | {"PYTHONUTF8": "1"})


if __name__ == "__main__":
    speak_unicode()
    kernel.spare_grammar()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a kernel we started is ended too
    sys.exit(main())
