"""Every notebook is tested twice: read, for the rules of the book; and run once, at the tiny scale in a fresh
kernel with a time limit, where the check of every exercise accepts the solution and rejects the stub and a
wrong answer, and where its control is moved at the end. The reports of the appendix are read and run in the same way; they have no exercises.

A chapter with a network is run with that network on a pretended GPU (see pretend_device), so that every line
of it that touches the network works on one; and once more on a real one where there is one."""

import ast
import contextlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import jupytext
import nbformat
import pytest
from conftest import ROOT
from jupytext.config import load_jupytext_configuration_file
from test_lessons import read
from wrong_answers import WRONG

from nsr.book import classroom, pages, runner

MOST = 180  # seconds of processor for one notebook at the tiny scale, whatever else the machine does
LIMIT = 1200  # seconds after which a notebook hangs
NOTEBOOKS = runner.notebooks()
REPORTS = runner.appendix()
EVERY = NOTEBOOKS | REPORTS
static = pytest.mark.static
ON_A_GPU = "from pretend_device import PretendGPU\n\nPretendGPU().__enter__()"


def has_network(path: Path) -> bool:
    return bool(re.search("networks?_for", path.read_text()))


WITH_A_NETWORK = (("pretended", ()), ("cuda", pytest.mark.cuda))
each_run = pytest.mark.parametrize(
    "path, device",
    [
        pytest.param(path, device, id=f"{name}-{device}", marks=marks)
        for name, path in EVERY.items()
        for device, marks in (WITH_A_NETWORK if has_network(path) else (("cpu", ()),))
    ],
)
each_notebook = pytest.mark.parametrize("path", EVERY.values(), ids=EVERY.keys())


def code_cells(path: Path) -> list:
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


# ---- read ---------------------------------------------------------------------------------------------------------------------


@static
def test_there_are_notebooks_and_all_are_numbered():
    assert NOTEBOOKS
    assert {path.stem for path in runner.NOTEBOOKS.rglob("*.py")} == set(EVERY)


@static
@each_notebook
def test_header_names_format_and_kernel(path: Path):
    head = path.read_text().split("# %%")[0]
    assert "format_name: percent" in head
    assert read(path).metadata["kernelspec"]["name"] == "python3"


@static
@each_notebook
def test_saving_it_in_the_lab_leaves_the_header_alone(path: Path):
    """JupyterLab adds what it knows about language and kernel, and jupytext the version that it has."""
    notebook, options = jupytext.read(path), {"extension": ".py", "format_name": "percent"}
    notebook.metadata["language_info"] = {"name": "python", "version": "3.11.9"}
    load_jupytext_configuration_file(str(ROOT / "pyproject.toml")).set_default_format_options(options)
    saved = jupytext.writes(notebook, fmt=options)
    assert saved.split("# %%")[0] == path.read_text().split("# %%")[0]


@static
@each_notebook
def test_first_cell_is_the_card(path: Path):
    first = read(path).cells[0]
    assert first.cell_type == "markdown" and first.source.startswith("# ")
    assert len(first.source.split()) < 120
    said = pages.header(path)
    labels = pages.REPORT_LABELS if path.stem in REPORTS else pages.LABELS
    assert [label for label in labels if not said.get(label)] == []


@static
@each_notebook
def test_parameters_cell(path: Path):
    declared = runner.parameters_of(path)  # exactly one cell, flat literals, plain annotations; or it raises
    for parameter in declared.values():
        assert type(parameter.default) is runner.KINDS[parameter.kind], parameter
    assert declared["scale"].kind == "str" and declared["scale"].default == "laptop"
    assert path.stem in REPORTS or declared["seed"].kind == "int"
    source = next(cell.source for cell in code_cells(path) if "parameters" in cell.metadata.get("tags", []))
    assert all(re.search(r"\S  # \w", line) for line in source.splitlines()), "every parameter has a comment"


@static
@each_notebook
def test_no_magics_and_no_working_directory(path: Path):
    for cell in code_cells(path):
        tree = ast.parse(cell.source)  # a magic is not Python
        assert "get_ipython" not in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert "chdir" not in cell.source and "getcwd" not in cell.source


@static
@each_notebook
def test_every_parameter_is_used(path: Path):
    cells = [cell for cell in code_cells(path) if "parameters" not in cell.metadata.get("tags", [])]
    used = {
        node.id for cell in cells for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Name)
    }
    # scale and seed are in every notebook, also in one that has only one size or nothing random
    assert set(runner.parameters_of(path)) - {"scale", "seed"} <= used


@static
@each_notebook
@pytest.mark.parametrize("scale", runner.SCALES)
def test_params_files_fit(path: Path, scale: str):
    runner.settle(path, scale)  # every key declared, every value of the right kind; or it raises


@static
@pytest.mark.parametrize("scale", runner.SCALES)
def test_params_files_name_only_notebooks(scale: str):
    assert (runner.PARAMS / f"{scale}.yaml").exists()
    assert set(runner.params(scale)) <= set(EVERY)
    assert scale != "paper" or set(NOTEBOOKS) <= set(runner.params(scale))


@static
@each_notebook
def test_links_lead_somewhere(path: Path):
    for cell in read(path).cells:
        if cell.cell_type == "markdown":
            for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", cell.source):
                assert (path.parent / target).exists(), target


# ---- run ----------------------------------------------------------------------------------------------------------------------

# An attempt works on a copy of the names, so that the notebook's own cells meet what they would meet without
# it.
ATTEMPT = """\
try:
    exec({source!r}, globals().copy())
except ({errors}) as refusal:
    print("refused:", refusal)
else:
    raise RuntimeError("the check of exercise {number} accepted {what}")
"""


def with_attempts(path: Path) -> nbformat.NotebookNode:
    """The notebook with two more cells before each solution: one hands in the stub, one a wrong answer, and
    the check must refuse both."""
    full = jupytext.read(path)
    copy, cells = classroom.student(full), []
    stubs = [cell.source for cell in copy.cells if classroom.tagged(cell, "exercise")]
    checks = [cell.source for cell in copy.cells if classroom.tagged(cell, "check")]
    places = {exercise.solution: k for k, exercise in enumerate(classroom.exercises(full))}
    for i, cell in enumerate(full.cells):
        if i in places:
            k = places[i]
            for source, what, errors in (
                (f"{stubs[k]}\n{checks[k]}", "its stub", "AssertionError, NotImplementedError"),
                (f"{WRONG[path.stem][k]}\n{full.cells[i + 1].source}", "a wrong answer", "AssertionError"),
            ):
                cells.append(
                    nbformat.v4.new_code_cell(
                        ATTEMPT.format(source=source, errors=errors, number=k + 1, what=what)
                    )
                )
        cells.append(cell)
    full.cells = cells
    return full


def test_an_attempt_is_an_error_if_it_is_accepted_and_leaves_no_names(capsys: pytest.CaptureFixture):
    def attempt(source: str) -> dict:
        names = {"known": 1}
        exec(ATTEMPT.format(source=source, errors="AssertionError", number=1, what="its stub"), names)
        return names

    with pytest.raises(RuntimeError, match="the check of exercise 1 accepted its stub"):
        attempt("answer = known\nassert answer == 1")
    with pytest.raises(NameError):
        attempt("assert answer == 1")
    assert attempt("known = 2\nanswer = 5\nassert known == 1, 'not so'").keys() - {"__builtins__"} == {
        "known"
    }
    assert capsys.readouterr().out == "refused: not so\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project at another place, with notebooks and outputs of its own; the rest of it, and what lies
    beside it, are links."""
    root = tmp_path_factory.mktemp("book") / "project"
    shutil.copytree(
        ROOT / "notebooks",
        root / "notebooks",
        ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"),
    )
    (root / "outputs").mkdir()
    for name in ("params", "constraints.txt", "outputs/reference"):
        (root / name).symlink_to(ROOT / name)
    if (ROOT.parent / "shared").exists():  # data sets may lie there
        (root.parent / "shared").symlink_to(ROOT.parent / "shared")
    return root


def prepared(path: Path, device: str) -> nbformat.NotebookNode:
    """A notebook that sets its device, tries its exercises, moves its control, and says what it has used."""
    notebook = with_attempts(path)
    first = [f"import os\n\nos.environ['NSR_DEVICE'] = {'cpu' if device == 'cpu' else 'cuda'!r}"]
    last = ["import time\n\nprint('processor seconds:', time.process_time())"]
    if device == "pretended":
        first.append(ON_A_GPU)
    if path.stem in NOTEBOOKS:
        first.append("from watched_control import watch\n\nwatch()")
        last.insert(0, "from watched_control import move\n\nmove()")
    first, last = ([nbformat.v4.new_code_cell(source) for source in cells] for cells in (first, last))
    notebook.cells = [notebook.cells[0], *first, *notebook.cells[1:], *last]
    return notebook


@pytest.fixture(scope="module")
def executed(project: Path, nsr_command, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`executed(device)` runs the whole book, as `make run` does, and the notebook that measures; the folder of
    its outputs. Every notebook that touches a network runs on this device, and the others on the CPU."""

    @cache
    def run(kind: str) -> Path:
        for path in EVERY.values():
            device = kind if has_network(path) else "cpu"
            place = project / "notebooks" / path.relative_to(runner.NOTEBOOKS)
            jupytext.write(prepared(path, device), place, fmt="py:percent")
        for wanted in ("all", runner.MEASURE):
            with half_of_the_cores():
                nsr_command(
                    *("run", wanted, "--scale", "tiny", "--limit", str(LIMIT), "--force"),
                    cwd=project,
                    NSR_ROOT=str(project),
                    NSR_OUTPUTS=str(project / "outputs" / kind),
                    PYTHONPATH=os.pathsep.join(map(str, (ROOT, ROOT / "tests"))),
                    timeout=len(EVERY) * LIMIT,
                )
        return project / "outputs" / kind / "tiny"

    return run


@contextlib.contextmanager
def half_of_the_cores() -> Iterator[None]:
    """What is started meanwhile leaves the other half to the other tests."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    ours = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(ours)[: max(1, len(ours) // 2)])
    try:
        yield
    finally:
        os.sched_setaffinity(0, ours)


@pytest.mark.slow
@each_run
def test_runs_at_the_tiny_scale_and_its_checks_accept_the_solutions_and_nothing_else(
    path: Path, device: str, executed: Callable[[str], Path]
):
    """One run for all: the notebook goes through, before each solution its stub and a wrong answer are tried, and
    must be refused, and at the end the control is moved."""
    folder = executed("cuda" if device == "cuda" else "pretended") / path.stem
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["status"] == "ok", metrics["error"]
    assert (folder / f"{path.stem}.html").exists()
    ran = nbformat.read(folder / f"{path.stem}.ipynb", as_version=4)
    said = "".join(
        output.text
        for cell in ran.cells
        for output in cell.get("outputs", [])
        if output.output_type == "stream"
    )
    assert said.count("refused: ") >= 2 * len(WRONG.get(path.stem, ()))
    assert float(said.rpartition("processor seconds: ")[2]) < MOST
