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
        files = (
            publish_tables(scale)
            if name == "tables"
            else sorted(checkpoints.publish(f"{scale}/{name}").iterdir())
        )
    except checkpoints.CheckpointError as error:
        print(error, file=sys.stderr)
        return 2
    sizes = [path.stat().st_size / 1e6 for path in files]
    for path, size in zip(files, sizes):
        print(f"{short(path)}, {size:.1f} MB")
    print(f"{len(files)} files, {sum(sizes):.1f} MB in all")
    return 0


def _fit(options: argparse.Namespace) -> int:
    """Print the formula of a column, or what is wrong with the file."""
    from nsr.regressor import measurements

    try:
        print(
            measurements.find_formula(
                options.file, options.target, options.columns, options.seconds, options.seed, options.html
            )
        )
    # a table without a formula, a network that is missing, a page that cannot be written
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _typed(name: str, text: str) -> Any:
    """A setting as a recipe would have it."""
    with foreign_files.Kind("a value", runner.LabError).of(f"{shown(name)} = {shown(text)}"):
        return foreign_files.parse_yaml(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what a command line asks for and return its exit code: 0 done, 1 a notebook failed, 2 the request
    made no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m nsr",
        description="Run the book of notebooks, sweep one of them, train a network, find a formula in a file, or copy the book for a class.",
    )
    commands = parser.add_subparsers(dest="command", required=True)

    run = commands.add_parser("run", help="execute a notebook (or all of them) into outputs/<scale>/")
    run.add_argument("notebook", help="a number (04), a name or its beginning, or 'all'")
    run.add_argument("--force", action="store_true", help="run it again even if it is up to date")
    run.add_argument("--limit", type=float, metavar="SECONDS", help="stop a notebook after so many seconds")

    sweep = commands.add_parser("sweep", help="run a notebook over a grid of parameters and gather one table")
    sweep.add_argument("file", help="for instance params/sweeps/beam_size.yaml")
    sweep.add_argument(
        "--only",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help="of its points, those with this value",
    )
    where = sweep.add_mutually_exclusive_group()
    where.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="on so many processes of this machine (default: one point after the other)",
    )
    where.add_argument(
        "--scheduler", metavar="tcp://HOST:PORT", help="on the workers of a Dask scheduler that is running"
    )

    replicate = commands.add_parser(
        "replicate", help="train, measure, judge and run the book: whatever of it is not up to date"
    )
    replicate.add_argument("--file", type=Path, help="another plan than params/replicate.yaml")
    replicate.add_argument("--plan", action="store_true", help="say what would be done, and do nothing")
    replicate.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="PART",
        help="networks, tables, claims, chapters, or steps like 'table beam', with what they need",
    )
    replicate.add_argument(
        "--networks", type=int, metavar="N", help="of each kind that the plan has several of"
    )
    replicate.add_argument(
        "--strict", action="store_true", help="make again what older code or a dirty tree has made"
    )
    replicate.add_argument(
        "--dirty", action="store_true", help="go on although files differ from the commit; the records say so"
    )
    replicate.add_argument("--step", default="", help=argparse.SUPPRESS)  # one step alone: what workers run
    here = replicate.add_mutually_exclusive_group()
    here.add_argument("--workers", type=int, metavar="N", help="so many steps at once, as processes")
    here.add_argument(
        "--scheduler", metavar="tcp://HOST:PORT", help="steps on the workers of a Dask scheduler"
    )

    train = commands.add_parser("train", help="train a network and keep its weights")
    train.add_argument("name", help="which network, for instance nesymres")

    fit = commands.add_parser("fit", help="find a formula for a column of a CSV file")
    fit.add_argument("file", help="for instance measurements.csv; the first line names the columns")
    fit.add_argument("target", help="the column to explain")
    fit.add_argument(
        "--columns",
        nargs="+",
        default=[],
        metavar="NAME",
        help="the columns to explain it by (default: all others with numbers)",
    )
    fit.add_argument("--seconds", type=float, default=30.0, help="time for the search (default: 30)")
    fit.add_argument("--seed", type=int, default=0, help="another seed, another search (default: 0)")
    fit.add_argument("--html", type=Path, metavar="FILE", help="write a report with pictures, too")

    publish = commands.add_parser(
        "publish", help="copy a finished network, or all tables, to outputs/reference, to be committed"
    )
    publish.add_argument("name", help="which network, for instance nesymres, or 'tables'")

    copies = {
        kind: commands.add_parser(kind, help=text)
        for kind, text in (
            ("student", "write copies of the notebooks without the solutions"),
            ("teacher", "write copies with a plan of the lesson"),
        )
    }
    for command in copies.values():
        command.add_argument(
            "notebook",
            nargs="?",
            default="all",
            help="a number (04), a name or its beginning, or 'all' (default)",
        )
        command.add_argument(
            "--to", type=Path, metavar="FOLDER", help="where to (default: outputs/student or outputs/teacher)"
        )

    copies["student"].add_argument(
        "--course", type=Path, metavar="FOLDER", help="as assignments of nbgrader, in the folder of a course"
    )

    for command in (run, sweep, replicate):
        command.add_argument(
            "--reference",
            action="store_true",
            help="with the committed networks and tables, whatever was trained and measured here",
        )
    for command in (run, sweep, replicate, train, publish, *copies.values()):
        command.add_argument(
            "--scale", default="laptop", metavar="|".join(runner.SCALES), help="how large (default: laptop)"
        )
    for command in (run, train):
        command.add_argument(
            "-p",
            dest="overrides",
            nargs=2,
            action="append",
            default=[],
            metavar=("NAME", "VALUE"),
            help="set a parameter",
        )

    options = parser.parse_args(arguments)
    if getattr(options, "reference", False):
        os.environ["NSR_REFERENCE"] = "1"
    try:
        if options.command == "replicate":
            from nsr.replication import Order, replicate  # late: it brings torch along

            order = Order(options.scale, options.networks, options.strict, options.dirty, options.file)
            return replicate(
                order,
                only=options.only,
                plan=options.plan,
                step=options.step,
                workers=options.workers,
                scheduler=options.scheduler,
            )
        if options.command == "sweep":
            return sweeps.sweep(
                options.file,
                options.scale,
                workers=options.workers,
                scheduler=options.scheduler,
                only=dict(options.only),
            )
        if options.command in copies:
            course = getattr(options, "course", None)
            classroom.write(options.command, options.notebook, options.scale, options.to, course)
            return 0
        if options.command == "fit":
            return _fit(options)
        if options.command == "publish":
            runner.check_scale(options.scale)
            return _publish(options.name, options.scale)
        overrides = dict(options.overrides)
        if options.command == "run":
            return runner.run_all(
                options.scale,
                only=options.notebook,
                overrides=overrides,
                limit=options.limit,
                force=options.force,
            )
        runner.check_scale(options.scale)
        from nsr.network import training  # late: it brings torch along

        training.main(
            options.name, options.scale, {name: _typed(name, text) for name, text in overrides.items()}
        )
        return 0
    except runner.LabError as error:
        print(error, file=sys.stderr)
        return 2
    except ImportError as error:
        print(unusable(error), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130


def speak_unicode() -> None:
    """Start again in Python's UTF-8 mode where the locale knows no Unicode; the notebooks and what we print
    do."""
    if not sys.flags.utf8_mode and codecs.lookup(locale.getpreferredencoding(False)).name != "utf-8":
        os.execve(
            sys.executable, [sys.executable, "-m", "nsr", *sys.argv[1:]], os.environ | {"PYTHONUTF8": "1"}
        )


if __name__ == "__main__":
    speak_unicode()
    kernel.spare_grammar()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a kernel we started is ended too
    sys.exit(main())
