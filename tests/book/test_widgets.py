"""The controls of the pages: every chapter has one, it outlives its page, and moving it shows something else.

A kernel is not needed: `interact` calls its function whenever the value of a control changes, and what it
prints and draws can be looked at. Of a page only the cells are run that its controls need.
"""

import io
import symtable
from pathlib import Path

import jupytext
import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from ipywidgets import SelectMultiple, Text, interactive

from nsr import book
from nsr.book import runner

NOTEBOOKS = runner.notebooks()
# what people type into a box: nothing, nonsense, formulas
TYPED = ("", "((", "x9 + 2", "sin(x1), x2", "~0 | 1", "mul C exp x2")
LAPTOP = {"weights": "laptop/nesymres", "n_problems": 2, "n_live": 2}
# chapter → parameters, on top of the tiny scale's, with which the cells before its controls take seconds
FAST = {
    "00_start_here": {},
    "01_boolean_formula_reduction": {},
    "02_expressions_and_data": {},
    "03_training": {"overfit_steps": 9},
    "04_reproduction_bias": LAPTOP,
    "05_beam_search": LAPTOP,
    "06_tpsr": LAPTOP,
    "07_nsr_gvs": LAPTOP | {"weights": "laptop/gvs", "plain_weights": "laptop/nesymres"},
    "08_pac_guarantee": {"runs": 200},
    "09_nsrwh": LAPTOP | {"weights": "laptop/nsrwh", "plain_weights": "laptop/nesymres"},
    "10_families_and_local_search": LAPTOP,
    "11_strategies_compared": {"live_rows": ""},
    "12_transformer4sr": {"n_draws": 500},
    "13_practice": {"weights": "laptop/full"},
    "14_one_token": {"weights": "laptop/nesymres", "n_networks": 1, "n_problems": 2},
}


def code(path: Path) -> list[str]:
    """The sources of the code cells of a page, without the parameters."""
    return [
        cell.source
        for cell in jupytext.read(path).cells
        if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", [])
    ]


def has_control(source: str) -> bool:
    return source.startswith("if not book.headless():")


# ---- which cell needs which ---------------------------------------------------------------------------------------------------


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


def needed(cells: list[str], wanted: set[str]) -> list[str]:
    """The cells that are needed for some names to exist, in their order."""
    chosen: set[int] = set()
    while more := {i for i, cell in enumerate(cells) if i not in chosen and names(cell)[0] & wanted}:
        chosen |= more
        wanted = wanted.union(*(names(cells[i])[1] for i in more))
    return [cells[i] for i in sorted(chosen)]


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


@each_notebook
def test_every_chapter_has_a_control_with_a_name(path: Path):
    found = [cell for cell in code(path) if has_control(cell)]
    assert found
    for cell in found:
        assert "@interact(" in cell and cell.count("description=") + cell.count(
            '"description":'
        ) >= cell.count("@interact(")


@each_notebook
def test_a_control_outlives_its_page(path: Path):
    """Moved after the whole page has run, a control still finds what it used when it was made: no later cell
    took its names."""
    cells = code(path)
    for at in (i for i, cell in enumerate(cells) if has_control(cell)):
        table = symtable.symtable(cells[at], "cell", "exec")
        now = set().union(*map(of_function, table.get_children()))
        later = set().union(*(names(cell)[0] - imports_only(cell) for cell in cells[at + 1 :]))
        assert not used_later(cells[: at + 1], now) & later


# ---- moved --------------------------------------------------------------------------------------------------------------------


def values_of(control) -> list:
    """Values that a person may choose: what people type, or both ends, and the first again, since only a
    change shows anything."""
    if isinstance(control, Text):
        return list(TYPED)
    options = getattr(control, "_options_values", None)
    if isinstance(control, SelectMultiple):
        return [options[:1], (), options]
    low, high = (options[0], options[-1]) if options else (control.min, control.max)
    return [low, high, low]


def shown(capsys) -> tuple[object, ...]:
    """What was printed and drawn since the last time."""
    pictures = []
    for number in plt.get_fignums():
        plt.figure(number).savefig(picture := io.BytesIO(), format="raw", dpi=40)
        pictures.append(picture.getvalue())
    plt.close("all")
    return capsys.readouterr().out, *pictures


@pytest.mark.slow
@pytest.mark.parametrize("chapter", FAST)
def test_every_value_of_every_control_shows_something_else(chapter: str, monkeypatch, capsys, caplog):
    monkeypatch.setattr(book, "headless", lambda: False)
    monkeypatch.setattr(plt, "show", lambda *figures: None)
    cells = code(NOTEBOOKS[chapter])
    controlling = [cell for cell in cells if has_control(cell)]
    before = [cell for cell in cells[: cells.index(controlling[-1])] if cell not in controlling]
    page = runner.settle(NOTEBOOKS[chapter], "tiny", FAST[chapter]) | {"__name__": "page", "scale": "laptop"}
    with mpl.rc_context():
        for cell in [*needed(before, set().union(*(names(cell)[1] for cell in controlling))), *controlling]:
            exec(compile(cell, chapter, "exec"), page)
        made = [
            value.widget for value in page.values() if isinstance(getattr(value, "widget", None), interactive)
        ]
        assert len(made) == sum(cell.count("@interact(") for cell in controlling)
        for control in (control for widget in made for control in widget.kwargs_widgets):
            plt.close("all")
            capsys.readouterr()
            seen, now = set(), control.value
            for value in values_of(control):
                control.value = value
                seen.add(shown(capsys))
            control.value = now
            assert len(seen - {("",)}) > 1, f"{control.description}: nothing changes"
    plt.close("all")
    assert not [record.exc_text for record in caplog.records if "interact callback" in record.getMessage()]
