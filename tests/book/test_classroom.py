"""The classroom: stubs keep what they should. That every check accepts the solution and nothing else is seen
in tests/book/test_notebooks.py."""

import os
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
import pytest
from conftest import ROOT
from wrong_answers import WRONG

from nsr.book import classroom, kernel, runner

NOTEBOOKS = runner.notebooks()
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS.values(), ids=NOTEBOOKS.keys())


@pytest.mark.static
@each_notebook
def test_every_notebook_has_the_three_rungs_in_order(path: Path):
    found = classroom.exercises(jupytext.read(path))
    assert [exercise.rung for exercise in found] == list(classroom.RUNGS)
    assert all(exercise.names for exercise in found), "a solution that no check looks at"
    assert len(WRONG[path.stem]) == len(found)


@pytest.mark.static
@each_notebook
def test_the_student_copy_differs_in_the_exercises_only(path: Path):
    full = jupytext.read(path)
    made = classroom.student(full)
    spoilers = [
        cell for cell in full.cells if cell.cell_type == "markdown" and classroom.tagged(cell, "solution")
    ]
    kept = [cell for cell in full.cells if cell not in spoilers]
    assert len(made.cells) == len(kept)
    for ours, theirs in zip(kept, made.cells):
        if classroom.tagged(ours, "solution"):
            assert theirs.source.startswith("# Your turn") and ours.source not in theirs.source
        elif classroom.tagged(ours, "check"):
            assert theirs.source.endswith(ours.source)
        else:
            assert theirs.source == ours.source


@pytest.mark.slow
def test_a_student_copy_stops_at_its_first_exercise(nsr_command, tmp_path: Path):
    done = nsr_command("student", "08", "--to", str(tmp_path / "class"))
    assert done.returncode == 0, done.stderr
    copy = tmp_path / "class" / "08_pac_guarantee.ipynb"
    first = next(
        i for i, cell in enumerate(nbformat.read(copy, as_version=4).cells) if classroom.tagged(cell, "check")
    )
    status, error = kernel.execute(
        copy, tmp_path / "run", runner.params("tiny")["08_pac_guarantee"], limit=120
    )
    assert status == "failed" and "Your turn: more_than_doubles" in error
    assert error.startswith(f"Cell {first + 2} failed")  # one more: Papermill's cell with the parameters


@pytest.mark.slow
def test_nbgrader_releases_and_grades_a_chapter(nsr_command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Ada answers two exercises rightly and one wrongly, and empties the check of the wrong one: two points."""
    from nbgrader.api import Gradebook

    name, course = "08_pac_guarantee", tmp_path / "course"
    # nbgrader calls a program that was installed with it
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))

    def nbgrader(*words: str) -> None:
        variables = os.environ | {"PYTHONPATH": str(ROOT), "JUPYTER_CONFIG_DIR": str(tmp_path / "config")}
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *words, name],
            cwd=course,
            env=variables,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    done = nsr_command("student", "08", "--course", str(course))
    assert done.returncode == 0, done.stderr
    source = course / "source" / name / f"{name}.ipynb"
    copy = nbformat.read(source, as_version=4)
    knobs = next(cell for cell in copy.cells if classroom.tagged(cell, "parameters"))
    knobs.source += "".join(f"\n{key} = {value!r}" for key, value in runner.params("tiny")[name].items())
    nbformat.write(copy, source)
    nbgrader("generate_assignment")
    released = nbformat.read(course / "release" / name / f"{name}.ipynb", as_version=4)
    stubs = [cell for cell in released.cells if classroom.tagged(cell, "exercise")]
    assert [cell.source for cell in released.cells] == [cell.source for cell in copy.cells]
    assert released.cells[0].metadata["editable"] is False and "editable" not in stubs[0].metadata

    full = jupytext.read(NOTEBOOKS[name])
    answers = [full.cells[exercise.solution].source for exercise in classroom.exercises(full)]
    for stub, answer in zip(stubs, [*answers[:-1], WRONG[name][-1]], strict=True):
        stub.source = answer
    [cell for cell in released.cells if classroom.tagged(cell, "check")][-1].source = "pass"
    handed_in = course / "submitted" / "ada" / name / f"{name}.ipynb"
    handed_in.parent.mkdir(parents=True)
    nbformat.write(released, handed_in)
    nbgrader("autograde")
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        graded = book.find_submission(name, "ada")
        assert (graded.score, graded.max_score) == (2, 3)


def test_what_a_student_wrote_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture):
    (place,) = classroom.write("student", "08", folder=tmp_path)
    copy = nbformat.read(place, as_version=4)
    copy.cells[3].outputs = [nbformat.v4.new_output("stream", text="executed")]  # nobody typed this
    nbformat.write(copy, place)
    fresh = place.read_bytes()
    assert classroom.write("student", "08", folder=tmp_path) == [place] and place.read_bytes() != fresh
    copy.cells[-1].source += "\nmy_answer = 42"
    nbformat.write(copy, place)
    mine = place.read_bytes()
    assert classroom.write("student", "08", folder=tmp_path) == [] and place.read_bytes() == mine
    assert "left alone" in capsys.readouterr().out.splitlines()[-1]
    place.write_text("half a file")
    assert classroom.write("student", "08", folder=tmp_path) == [] and place.read_text() == "half a file"


def test_the_teacher_copy_has_a_plan_and_all_solutions(nsr_command, tmp_path: Path):
    done = nsr_command("teacher", "08", "--to", str(tmp_path), NSR_OUTPUTS=str(tmp_path))
    assert done.returncode == 0, done.stderr
    cells = nbformat.read(tmp_path / "08_pac_guarantee.ipynb", as_version=4).cells
    assert "| section | minutes | seconds |" in cells[1].source and "3 exercises" in cells[1].source
    assert sum(classroom.tagged(cell, "solution") and cell.cell_type == "code" for cell in cells) == 3


@pytest.mark.parametrize(
    "solution, names, expected",
    [
        ("x = 1\ny: int = x + 1", ["y"], "# Your turn: y.\n\ny = ..."),
        (
            "import math\nfor i in range(3):\n    last = i",
            ["last"],
            "# Your turn: last.\nimport math\n\nlast = ...",
        ),
        (
            "def f(a, *, b: int = 2):\n    '''Says what.'''\n    return a",
            ["f"],
            '# Your turn: f.\n\ndef f(a, *, b: int=2):\n    """Says what."""\n    raise NotImplementedError(\'Your turn: f.\')',
        ),
    ],
)
def test_stub(solution: str, names: list[str], expected: str):
    assert classroom.stub(solution, names) == expected


def test_a_solution_without_a_check_is_an_error():
    cells = [
        nbformat.v4.new_code_cell("a = 1", metadata={"tags": ["solution"]}),
        nbformat.v4.new_code_cell("a"),
    ]
    with pytest.raises(runner.LabError, match="no check follows"):
        classroom.exercises(nbformat.v4.new_notebook(cells=cells))
