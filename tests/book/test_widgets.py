"""The control of each chapter has a name and a text, and outlives its page. That moving it draws something else is
seen where the page is run (`watched_control`)."""

import ast
import symtable
from pathlib import Path

import pytest
from test_lessons import calls, read

from nsr.book import runner

NOTEBOOKS = runner.notebooks()


def code(path: Path) -> list[str]:
    """The sources of the code cells of a page, without the parameters."""
    return [
        cell.source
        for cell in read(path).cells
        if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", [])
    ]


def has_control(source: str) -> bool:
    return bool(calls(source, {"control"}))


# ---- names of cells ---------------------------------------------------------------------------------------------------


def names(source: str) -> tuple[set[str], set[str]]:
    """The global names that a cell binds, and those of others that it uses, in its functions too."""
    top = symtable.symtable(source, "cell", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    used = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    return bound, used.union(*map(of_function, top.get_children())) - bound


def of_function(table: symtable.SymbolTable) -> set[str]:
    """The global names that a function uses, with those of the functions inside it."""
    own = {s.get_name() for s in table.get_symbols() if s.is_global()}
    return own.union(*map(of_function, table.get_children()))


def used_later(cells: list[str], wanted: set[str]) -> set[str]:
    """The names that a function needs whenever it is called, also through the functions of the page that it
    calls."""
    tables = [child for cell in cells for child in symtable.symtable(cell, "cell", "exec").get_children()]
    known: set[str] = set()
    while wanted - known:
        known |= wanted
        wanted = wanted.union(*(of_function(table) for table in tables if table.get_name() in known))
    return known


def imports_only(cell: str) -> set[str]:
    return {s.get_name() for s in symtable.symtable(cell, "cell", "exec").get_symbols() if s.is_imported()}


# ---- read ---------------------------------------------------------------------------------------------------------------------

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS.values(), ids=NOTEBOOKS.keys())


@pytest.mark.static
@each_notebook
def test_every_chapter_has_one_control_with_a_name_and_a_text(path: Path):
    cells = code(path)
    (call,) = [call for cell in cells for call in calls(cell, {"control"})]
    assert isinstance(call.args[1], ast.Constant) and call.args[1].value
    (alt,) = [keyword.value for keyword in call.keywords if keyword.arg == "alt"]
    assert "{}" in ast.unparse(alt), "the text says which value is shown"
    assert not [cell for cell in cells if "ipywidgets" in cell or "interact" in cell]


@pytest.mark.static
@each_notebook
def test_a_control_outlives_its_page(path: Path):
    """Moved after the whole page has run, a control still finds what it used when it was made: no later cell
    took its names."""
    cells = code(path)
    for at in (i for i, cell in enumerate(cells) if has_control(cell)):
        now = names(cells[at])[1]
        later = set().union(*(names(cell)[0] - imports_only(cell) for cell in cells[at + 1 :]))
        assert not used_later(cells[: at + 1], now) & later
