"""Every notebook is tested twice: read, for the rules of the book; and run, at the tiny scale in a fresh kernel with a time limit."""

import ast
import re
from pathlib import Path

import jupytext
import pytest

from nsr import lab, pages

LIMIT = 180  # seconds for one notebook at the tiny scale
NOTEBOOKS = lab.notebooks()
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS.values(), ids=NOTEBOOKS.keys())


def code_cells(path: Path) -> list:
    return [cell for cell in jupytext.read(path).cells if cell.cell_type == "code"]


# ---- read ---------------------------------------------------------------------------------------------------------------------

def test_there_are_notebooks_and_all_are_numbered():
    assert NOTEBOOKS
    assert {path.stem for path in lab.NOTEBOOKS.glob("*.py")} == set(NOTEBOOKS)
    assert set(NOTEBOOKS) <= set(pages.CHAPTERS)


@each_notebook
def test_header_names_format_and_kernel(path: Path):
    head = path.read_text().split("# %%")[0]
    assert "format_name: percent" in head
    assert jupytext.read(path).metadata["kernelspec"]["name"] == "python3"


@each_notebook
def test_first_cell_is_the_card(path: Path):
    first = jupytext.read(path).cells[0]
    assert first.cell_type == "markdown" and first.source.startswith("# ")
    assert len(first.source.split()) < 120
    said = pages.header(path)
    assert [label for label in pages.LABELS if not said.get(label)] == []


@each_notebook
def test_parameters_cell(path: Path):
    declared = lab.parameters_of(path)  # exactly one cell, flat literals, plain annotations; or it raises
    for parameter in declared.values():
        assert type(parameter.default) is lab.KINDS[parameter.kind], parameter
    assert declared["scale"].kind == "str" and declared["scale"].default == "laptop"
    assert declared["seed"].kind == "int"
    source = next(cell.source for cell in code_cells(path) if "parameters" in cell.metadata.get("tags", []))
    assert all(re.search(r"\S  # \w", line) for line in source.splitlines()), "every parameter has a comment"


@each_notebook
def test_no_magics_and_no_working_directory(path: Path):
    for cell in code_cells(path):
        tree = ast.parse(cell.source)  # a magic is not Python
        assert "get_ipython" not in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert "chdir" not in cell.source and "getcwd" not in cell.source


@each_notebook
def test_every_parameter_is_used(path: Path):
    cells = [cell for cell in code_cells(path) if "parameters" not in cell.metadata.get("tags", [])]
    used = {node.id for cell in cells for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Name)}
    # scale and seed are in every notebook, also in one that has only one size or nothing random
    assert set(lab.parameters_of(path)) - {"scale", "seed"} <= used


@each_notebook
@pytest.mark.parametrize("scale", lab.SCALES)
def test_params_files_fit(path: Path, scale: str):
    lab.settle(path, scale)  # every key declared, every value of the right kind; or it raises


@pytest.mark.parametrize("scale", lab.SCALES)
def test_params_files_name_only_notebooks(scale: str):
    assert (lab.PARAMS / f"{scale}.yaml").exists()
    assert set(lab.params(scale)) <= set(NOTEBOOKS)


@each_notebook
def test_links_lead_somewhere(path: Path):
    for cell in jupytext.read(path).cells:
        if cell.cell_type == "markdown":
            for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", cell.source):
                planned = target.removesuffix(".py") in pages.CHAPTERS  # the page leaves out a link to a chapter that is to come
                assert planned or (path.parent / target).exists(), target


# ---- run ----------------------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("outputs")


@each_notebook
def test_runs_at_the_tiny_scale(path: Path, outputs: Path, nsr_command, tmp_path: Path):
    done = nsr_command("run", path.stem, "--scale", "tiny", "--limit", str(LIMIT), cwd=tmp_path, NSR_OUTPUTS=str(outputs))
    assert done.returncode == 0, done.stdout + done.stderr
    folder = outputs / "tiny" / path.stem
    assert {f"{path.stem}.ipynb", f"{path.stem}.html", "metrics.json"} <= {file.name for file in folder.iterdir()}
