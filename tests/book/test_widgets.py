"""The control of each chapter: it has a name and a text, it outlives its page, and moving it draws something else.

A kernel is not needed: `interact` calls its function whenever the value of a slider changes, and what it draws can
be looked at. Of a page only the cells are run that its control needs.
"""

import ast
import io
import symtable
from pathlib import Path

import ipywidgets
import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from test_lessons import calls, read

from nsr.book import runner
from nsr.evidence import controls

NOTEBOOKS = runner.notebooks()
LAPTOP = {"weights": "laptop/nesymres", "n_problems": 2, "n_live": 2}
# chapter → parameters, on top of the tiny scale's, with which the cells before its control take seconds; those that
# it does not have are left out
FAST = {
    "00_start_here": {},
    "01_boolean_formula_reduction": {},
    "02_expressions_and_data": {},
    "03_training": {"overfit_steps": 60},
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
        for cell in read(path).cells
        if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", [])
    ]


def has_control(source: str) -> bool:
    return bool(calls(source, {"control"}))


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


# ---- moved --------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("chapter", FAST)
def test_moving_a_control_draws_another_figure(chapter: str, monkeypatch, caplog):
    path, drawn, sliders = NOTEBOOKS[chapter], [], []

    class Recorded(ipywidgets.SelectionSlider):
        def __init__(self, **options):
            super().__init__(**options)
            sliders.append(self)

    def keep(figure: plt.Figure) -> None:
        figure.savefig(picture := io.BytesIO(), format="raw", dpi=40)
        drawn.append(picture.getvalue())

    monkeypatch.setattr(ipywidgets, "SelectionSlider", Recorded)
    monkeypatch.setattr(controls, "headless", lambda: False)
    monkeypatch.setattr(controls, "display", keep)
    cells = code(path)
    (place,) = [place for place, cell in enumerate(cells) if has_control(cell)]
    declared = runner.parameters_of(path)
    fast = {name: value for name, value in FAST[chapter].items() if name in declared}
    page = runner.settle(path, "tiny", fast) | {"__name__": "page", "scale": "laptop"}
    with mpl.rc_context():
        for cell in [*needed(cells[:place], names(cells[place])[1]), cells[place]]:
            exec(compile(cell, chapter, "exec"), page)
        (slider,) = sliders
        first, last = slider.index, len(slider.options) - 1
        slider.index = last
        slider.index = first
    plt.close("all")
    assert len(drawn) == 3 and drawn[0] != drawn[1] and drawn[2] == drawn[0]
    assert not [record.exc_text for record in caplog.records if "interact callback" in record.getMessage()]
