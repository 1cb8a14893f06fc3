"""The classroom: copies of the notebooks without solutions for students, and with timing notes for teachers.

An exercise is a cell tagged `solution` with the cell tagged `check` right after it. In the student's copy the
solution is a stub that keeps its imports and signatures, so that the copy runs to the first check that has
nothing to look at, and says whose turn it is.

Its cells carry what nbgrader wants to know: stubs are to be written into, checks are graded with one point each,
and the rest is put back before grading, but for the parameters. A course with nbgrader:

    python -m nsr student 08 --course course
    cd course && nbgrader generate_assignment 08_pac_guarantee
    nbgrader autograde 08_pac_guarantee
"""

import ast
import contextlib
import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nsr.book import runner
from nsr.book.cells import TEMPLATES
from nsr.book.run_records import OUTPUTS, atomic_write, digest, metrics_of, short
from nsr.book.search_box import parts

RUNGS = {"Predict": 3, "Turn": 7, "Build": 15}  # minutes that a class needs for an exercise of each kind
WORDS_PER_MINUTE = 180  # of reading prose about mathematics
KINDS = ("student", "teacher")
SIGNED = "nsr_copy"  # in the metadata of a copy: a digest of its cells as they were written
# what nbgrader is told about each kind of cell
NBGRADER = {
    "exercise": {"grade": False, "solution": True, "locked": False},
    "check": {"grade": True, "solution": False, "locked": True, "points": 1},
    "given": {"grade": False, "solution": False, "locked": True},
}
SCHEMA = 3  # of nbgrader's metadata
Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Exercise:
    """A solution and its check: their places among the cells, the rung, and the names that the reader has to
    give a meaning."""

    solution: int
    check: int
    rung: str
    names: tuple[str, ...]


def tagged(cell: Any, tag: str) -> bool:
    return tag in cell.metadata.get("tags", [])


def exercises(notebook: Any) -> list[Exercise]:
    """The exercises of a notebook in order; a solution without a check right after it is an error."""
    found, rung = [], ""
    for i, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            rung = ([rung] + re.findall(rf"\*+({'|'.join(RUNGS)})\b[^*]*\*+", cell.source))[-1]
        if cell.cell_type == "code" and tagged(cell, "solution"):
            if i + 1 == len(notebook.cells) or not tagged(notebook.cells[i + 1], "check"):
                raise runner.LabError(f"Cell {i + 1} is a solution, and no check follows it.")
            code = [c for c in notebook.cells[i + 1 :] if c.cell_type == "code"]
            later = [c.source for c in code if not tagged(c, "solution")]
            found.append(Exercise(i, i + 1, rung, tuple(given_names(cell.source, later))))
    return found


def given_names(solution: str, later: Sequence[str]) -> list[str]:
    """What a solution defines and later cells use, in order.

    >>> given_names("a = 1; b = a + 1", ["assert b == 2"])
    ['b']
    """
    tree = ast.parse(solution)
    inner = {id(node) for top in tree.body if isinstance(top, Definition) for node in ast.walk(top)}
    stored = [
        (node.lineno, node.col_offset, node.name if isinstance(node, Definition) else node.id)
        for node in ast.walk(tree)
        if (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in inner)
        or (isinstance(node, Definition) and node in tree.body)
    ]
    used = {node.id for source in later for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    return list(dict.fromkeys(name for *_, name in sorted(stored) if name in used))


def stub(solution: str, names: Sequence[str]) -> str:
    """What the student finds in the place of a solution.

    >>> print(stub("from math import pi\\ndef area(r):\\n    return pi * r * r\\nanswer = area(2)", ["area", "answer"]))
    # Your turn: area, answer.
    from math import pi
    <BLANKLINE>
    def area(r):
        raise NotImplementedError('Your turn: area.')
    <BLANKLINE>
    answer = ...
    """
    tree = ast.parse(solution)
    imports = [ast.unparse(node) for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    defined = {node.name: node for node in tree.body if isinstance(node, Definition)}
    emptied = [ast.unparse(_emptied(node)) for name, node in defined.items() if name in names]
    values = "\n".join(f"{name} = ..." for name in names if name not in defined)
    first = "\n".join([f"# Your turn: {', '.join(names)}.", *imports])
    return "\n\n".join(filter(None, [first, *emptied, values]))


def _emptied(node: Any) -> Any:
    """A definition with its signature and docstring, but nothing behind them."""
    node = copy.deepcopy(node)
    if isinstance(node, ast.ClassDef):
        node.body = [_emptied(part) if isinstance(part, Definition) else part for part in node.body]
    else:
        ours = [node.body[0]] if ast.get_docstring(node) else []
        node.body = ours + ast.parse(f"raise NotImplementedError('Your turn: {node.name}.')").body
    return node


def guard(solution: str, names: Sequence[str]) -> str:
    """The lines before a student's check: a value that is still `...` stops the run with a sentence."""
    defined = {node.name for node in ast.parse(solution).body if isinstance(node, Definition)}
    values = [name for name in names if name not in defined]
    return "".join(f'assert {v} is not ..., "Your turn: {v}, in the cell above."\n' for v in values)


# ----------------------------------------------------------------------------------------------------------------- copies


def student(notebook: Any) -> Any:
    """The copy for a student: every solution a stub, every check as it is."""
    made = copy.deepcopy(notebook)
    for exercise in exercises(notebook):
        solution, check = made.cells[exercise.solution], made.cells[exercise.check]
        check.source = guard(solution.source, exercise.names) + check.source
        solution.source = stub(solution.source, exercise.names)
        solution.metadata["tags"] = ["exercise"]
    # What is left is prose that gives an answer away.
    made.cells = [cell for cell in made.cells if not tagged(cell, "solution")]
    for number, cell in enumerate(made.cells):
        if not tagged(cell, "parameters"):  # which a student may turn
            kind = next((kind for kind in ("exercise", "check") if tagged(cell, kind)), "given")
            identity = {"schema_version": SCHEMA, "grade_id": f"{kind}-{number}", "task": False}
            cell.metadata["nbgrader"] = NBGRADER[kind] | identity | {"cell_type": cell.cell_type}
    return made


def teacher(notebook: Any, executed: Any = None, metrics: dict[str, Any] | None = None) -> Any:
    """The copy for a teacher: everything, with a plan of the lesson on top; measured seconds where the
    notebook was run."""
    import nbformat

    made = copy.deepcopy(notebook)
    known = " (they are known after `make run`)."
    if metrics:
        known = f", measured at the {metrics['scale']} scale on {metrics.get('cores', '?')} cores."
    minutes, seconds = "for reading aloud and thinking", "what the machine needs"
    first = f"**For the teacher.** Minutes are {minutes}; seconds are {seconds}{known}"
    lines = [first, "", "| section | minutes | seconds |", "|---|---|---|"]
    took = _seconds(executed)
    for title, cells in parts(notebook, levels=2):
        prose = sum(len(cell.source.split()) for cell in cells if cell.cell_type == "markdown")
        code = [cell.source for cell in cells if cell.cell_type == "code"]
        ran = [took[source] for source in code if source in took]
        minutes = max(1, round(prose / WORDS_PER_MINUTE + len(code) / 2))
        name = title.strip().replace("|", r"\|")
        lines.append(f"| {name} | {minutes} | {f'{sum(ran):.0f}' if ran else '–'} |")
    found = exercises(notebook)
    total = sum(RUNGS.get(exercise.rung, 5) for exercise in found)
    lines.append(f"| {len(found)} exercises, on top | {total} | |")
    made.cells.insert(1, nbformat.v4.new_markdown_cell("\n".join(lines)))
    return made


def _seconds(executed: Any) -> dict[str, float]:
    """The source of a cell → the seconds that it took in the executed copy."""
    code = [cell for cell in (executed.cells if executed else []) if cell.cell_type == "code"]
    return {cell.source: cell.metadata.get("papermill", {}).get("duration") or 0.0 for cell in code}


def write(
    kind: str,
    only: str = "all",
    scale: str = "laptop",
    folder: Path | None = None,
    course: Path | None = None,
) -> list[Path]:
    """Write the copies for students or teachers as .ipynb files and return their paths; a copy that somebody
    has written into is left alone. In a course each is an assignment of nbgrader, in a folder of its own."""
    import jupytext

    folder = course / "source" if course else folder or OUTPUTS / kind
    if course and not (course / "nbgrader_config.py").exists():
        _written(course / "nbgrader_config.py", (TEMPLATES / "nbgrader_config.txt").read_text())
    paths = list(runner.notebooks().values()) if only == "all" else [runner.find(only)]
    written = []
    for path in paths:
        notebook = jupytext.read(path)
        made = student(notebook) if kind == "student" else teacher(notebook, *_run_of(path, scale))
        for cell in made.cells:
            if cell.cell_type == "markdown":
                cell.source = within_the_copies(cell.source)
        place = (folder / path.stem if course else folder) / f"{path.stem}.ipynb"
        made.metadata[SIGNED] = _signature(made)
        if _was_changed(place):
            print(f"{path.stem}: left alone, because {short(place)} was changed; move it away for a new copy")
            continue
        written.append(_written(place, jupytext.writes(made, fmt="ipynb")))
        print(f"{path.stem}: {len(exercises(notebook))} exercises → {short(written[-1])}")
    return written


def within_the_copies(source: str) -> str:
    """Links to chapters lead to their copies; links to reports, which a class does not get, become text.

    >>> within_the_copies("[03](03_training.py#a) and [a report](appendix/A05_beam.py)")
    '[03](03_training.ipynb#a) and a report'
    """
    source = re.sub(r"\[([^\]]*)\]\(appendix/\w+\.py[^)]*\)", r"\1", source)
    return re.sub(r"\((\d\d_\w+)\.py\b", r"(\1.ipynb", source)


def _written(place: Path, text: str) -> Path:
    try:
        return atomic_write(place, text)
    except OSError as error:
        where = f"{short(place.parent)} ({error.strerror or error})"
        raise runner.LabError(f"Cannot write to {where}. Choose another folder with --to.") from error


def _signature(notebook: Any) -> str:
    return digest(*(cell.source for cell in notebook.cells))


def _was_changed(place: Path) -> bool:
    """Whether there is a file that is not, cell for cell, what was once written there."""
    import nbformat

    try:
        found = nbformat.read(place, as_version=4)
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True
    return found.metadata.get(SIGNED) != _signature(found)


def _run_of(path: Path, scale: str) -> tuple[Any, dict[str, Any] | None]:
    """The executed copy of a chapter and its metrics, if it was run."""
    import nbformat

    folder = OUTPUTS / scale / path.stem
    if metrics := metrics_of(folder):
        with contextlib.suppress(OSError, ValueError):
            return nbformat.read(folder / f"{path.stem}.ipynb", as_version=4), metrics
    return None, None
