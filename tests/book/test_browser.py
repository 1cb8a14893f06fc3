"""The book in a real browser: JupyterLab as `make lab` starts it, with tiny chapters, and the pages as they
lie in a folder. Pictures go to outputs/browser."""

import html
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import jupytext
import nbformat
import pandas as pd
import pytest
from browser import NAMES, Browser, end, find, until
from conftest import ROOT

from nsr.book import pages, runner

pytestmark = pytest.mark.skipif(find() is None, reason=f"no browser: none of {', '.join(NAMES)} is installed")

PICTURES = runner.OUTPUTS / "browser"
PATIENCE = 1800  # seconds for a notebook on a machine that is busy with something else
# notebook → the name of a control, and what is typed there and back; a slider is moved by its keys. The
# fastest chapters.
CONTROLS = {
    "01_boolean_formula_reduction": ("formula", "((1|0)&(~1))", "((1∨0)∧(¬(0∨0)))"),
    "03_training": ("step", "ArrowRight", "ArrowLeft"),
    "05_beam_search": ("tokens", "ArrowRight", "ArrowLeft"),
    "08_pac_guarantee": ("subtrees per round", "ArrowRight", "ArrowLeft"),
}


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with Browser(tmp_path / "browser") as opened:
        yield opened


# ---- JupyterLab ---------------------------------------------------------------------------------------------------------------


def make_tiny(path: Path) -> None:
    """Write the parameters of the tiny scale into a copy of a notebook, as a reader would change them by
    hand."""
    text = path.read_text()
    for name, value in runner.settle(path, "tiny").items():
        text, changed = re.subn(
            rf"^({name}: \w+ = ).*?(  # .*)$",
            lambda line: f"{line[1]}{value!r}{line[2]}",
            text,
            count=1,
            flags=re.MULTILINE,
        )
        assert changed == 1, name
    path.write_text(text)
    assert {
        name: parameter.default for name, parameter in runner.parameters_of(path).items()
    } == runner.settle(path, "tiny")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict]:
    """`make lab` in a copy of the project, whose environment is the one we are in, with settings of its own;
    address and token."""
    home = tmp_path_factory.mktemp("lab")
    project, config, runtime = home / "project", home / "config", home / "runtime"
    shutil.copytree(ROOT / "notebooks", project / "notebooks")
    for name in CONTROLS:
        make_tiny(project / "notebooks" / f"{name}.py")
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "requirements.lock"):
        shutil.copy(ROOT / name, project)
    python = project / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (project / ".venv" / ".installed").touch()  # newer than what it was installed from
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    config.mkdir()
    # where `make lab` writes
    settings = {"app_settings_dir": str(project / ".venv" / "share" / "jupyter" / "lab" / "settings")}
    (config / "jupyter_lab_config.json").write_text(
        json.dumps(
            {
                "ServerApp": {"open_browser": False, "allow_root": True, "port": port},
                "LabApp": settings,
                "MappingKernelManager": {
                    "cull_idle_timeout": 60,
                    "cull_interval": 10,
                },  # a kernel goes when its browser has gone
            }
        )
    )
    folders = {
        "JUPYTER_CONFIG_DIR": config,
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": runtime,
        "IPYTHONDIR": home / "ipython",
        "NSR_OUTPUTS": home / "outputs",
        "PYTHONPATH": ROOT,
    }
    with open(home / "log.txt", "w") as log:
        process = subprocess.Popen(
            ["make", "lab"],
            cwd=project,
            env=os.environ | {k: str(v) for k, v in folders.items()},
            stdout=log,
            stderr=log,
        )
    try:
        until(
            lambda: process.poll() is not None or list(runtime.glob("jpserver-*.json")),
            300,
            "JupyterLab starts",
        )
        assert process.poll() is None, (home / "log.txt").read_text()
        yield json.loads(next(runtime.glob("jpserver-*.json")).read_text())
    finally:
        end(process)


def texts(browser: Browser, selector: str) -> list[str]:
    return browser.evaluate(
        f"[...document.querySelectorAll({json.dumps(selector)})].map(found => found.textContent)"
    )


def named(selector: str, text: str) -> str:
    """An expression for the first element of this kind that begins with this text."""
    return f"[...document.querySelectorAll({json.dumps(selector)})].find(found => found.textContent.startsWith({json.dumps(text)}))"


def picture_of(browser: Browser, element: str, name: str) -> None:
    """Bring an element to the middle of the window, and keep what is to be seen."""
    browser.evaluate(f"{element}.scrollIntoView({{block: 'center'}})")
    browser.screenshot(PICTURES / f"{name}.png")


def run_all(browser: Browser, n_cells: int) -> None:
    """Run → Run All Cells, and wait until every cell has its number or one has failed."""
    browser.wait_for("/Python 3.*Idle/.test(document.querySelector('#jp-main-statusbar')?.textContent)")
    browser.click(named(".lm-MenuBar-item", "Run"))
    browser.wait_for(named(".lm-Menu-item", "Run All Cells"))
    browser.click(named(".lm-Menu-item", "Run All Cells"))
    numbered = r"[...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].filter(prompt => /\[\d+\]/.test(prompt.textContent)).length"
    browser.wait_for(
        f"{numbered} == {n_cells} || document.querySelector('[data-mime-type$=\"jupyter.error\"]')", PATIENCE
    )


def move(browser: Browser, control: str, action: str) -> None:
    """Press an arrow key on a slider, or write into a text box and press Enter."""
    if action.startswith("Arrow"):
        browser.click(f"{control}.querySelector('.noUi-handle')")
        browser.press(action)
    else:
        browser.click(f"{control}.querySelector('input')")
        browser.evaluate("document.activeElement.select()")
        browser.type(action)
        browser.press("Enter")


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_moves_its_picture_in_jupyterlab(name: str, server: dict, browser: Browser):
    label, there, back = CONTROLS[name]
    browser.open(f"{server['url']}lab/tree/notebooks/{name}.py?reset&token={server['token']}")
    run_all(
        browser,
        sum(cell.cell_type == "code" for cell in jupytext.read(runner.NOTEBOOKS / f"{name}.py").cells),
    )
    assert texts(browser, '[data-mime-type$="jupyter.error"]') == []
    control = f"{named('.widget-label', label)}.parentElement"
    whole = f"{control}.closest('.widget-interact')"
    picture = f"{whole}.querySelector('img')?.src"
    browser.wait_for(picture, PATIENCE)
    first = browser.evaluate(picture)
    picture_of(browser, whole, f"{name}_before")
    move(browser, control, there)
    browser.wait_for(f"({picture} ?? {json.dumps(first)}) != {json.dumps(first)}", PATIENCE)
    picture_of(browser, whole, f"{name}_after")
    move(browser, control, back)
    # it depends on the control and on nothing else
    browser.wait_for(f"{picture} == {json.dumps(first)}", PATIENCE)
    assert texts(browser, '[data-mime-type$="jupyter.error"], [data-mime-type$="jupyter.stderr"]') == []
    assert "Error displaying widget" not in "".join(texts(browser, ".jp-Notebook"))
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith((server["url"], "data:", "blob:"))] == []


# ---- the pages ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The book as a folder of pages: every chapter's text and code, not executed."""
    folder = tmp_path_factory.mktemp("site") / "tiny"
    for name, path in runner.notebooks().items():
        metrics = {"status": "ok", "error": "", "scale": "tiny"} | runner.new_record({}, seed=0, seconds=0.0)
        runner.atomic_write(folder / name / "metrics.json", runner.to_json(metrics))
        jupytext.write(jupytext.read(path), folder / name / f"{name}.ipynb")
        pages.write_page(folder / name, path, metrics)
    pages.bind(folder, list(runner.notebooks().values()))
    with zipfile.ZipFile(pages.pack(folder)) as sent:  # as somebody gets it by mail
        sent.extractall(folder.parent)
    return folder.parent / "book"


def stays_here(browser: Browser) -> bool:
    return all(url.startswith(("file:", "data:")) for url in browser.requests)


def test_a_word_is_found_and_its_section_opens(site: Path, browser: Browser):
    browser.open((site / "index.html").as_uri())
    browser.click("document.querySelector('#query')")
    browser.type("SOUNDNESS exception")
    browser.wait_for("document.querySelector('#found a')")
    browser.screenshot(PICTURES / "search.png")
    browser.click("document.querySelector('#found a')")
    browser.wait_for("location.hash && document.readyState == 'complete'")
    section = "document.getElementById(decodeURIComponent(location.hash.slice(1)))"
    assert browser.evaluate(f"{section}.textContent").startswith("Soundness, without exception")
    assert browser.evaluate(f"{section}.getBoundingClientRect().top < innerHeight")
    browser.open((site / "index.html").as_uri())
    browser.click("document.querySelector('#query')")
    browser.type("soundness xyzzy")
    browser.wait_for("document.querySelector('#found').textContent.startsWith('Nothing')")
    assert browser.errors == [] and browser.blocked == [] and stays_here(browser)


def test_the_book_can_be_leafed_through_and_its_mathematics_is_drawn(site: Path, browser: Browser):
    names, n_formulas = list(runner.notebooks()), 0
    browser.open((site / names[0] / f"{names[0]}.html").as_uri())
    for position, name in enumerate(names):
        browser.wait_for(f"location.pathname.endsWith('/{name}.html') && document.readyState == 'complete'")
        boxes = browser.evaluate(
            "[...document.querySelectorAll('math')].map(m => m.getBoundingClientRect()).map(box => [box.width, box.height])"
        )
        assert all(width > 1 and height > 1 for width, height in boxes), name
        n_formulas += len(boxes)
        prose = browser.evaluate(
            "(main => { main.querySelectorAll('pre, code').forEach(c => c.remove()); return main.textContent })"
            "(document.querySelector('main').cloneNode(true))"
        )
        assert re.findall(r"\$[^$\n]*\\\w+[^$\n]*\$", prose) == [], f"{name}: LaTeX that was not drawn"
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
            f"{name} is wider than the window"
        )
        if position + 1 < len(names):
            browser.click("document.querySelector('a[rel=next]')")
    assert n_formulas > 100
    browser.screenshot(PICTURES / "last_chapter.png")
    browser.click("document.querySelector('a[rel=prev]')")
    browser.wait_for(f"location.pathname.endsWith('/{names[-2]}.html')")
    assert browser.errors == [] and browser.blocked == [] and stays_here(browser)


LIVE = "<script>window.sprung=1</script>"  # without spaces, which a formula would change
# what stands on the page → whether the policy has to stop it, because somebody's notebook really says so
TRAPS = {
    r"<table><tr><td>$\text{" + html.escape(LIVE) + r"}$</td></tr></table>": False,
    r"<table><tr><td>$\text{"
    + html.escape("<img/src=x/onerror=window.sprung=1>")
    + r"}$</td></tr></table>": False,
    pd.DataFrame({"a": [LIVE, 2]})._repr_html_(): False,
    pd.DataFrame({LIVE: [1, 2]}, index=[LIVE, "b"])._repr_html_(): False,
    r"<p id='link'>$\href{javascript:window.sprung=1}{click}$</p>": False,
    LIVE: True,
    "<img src='data:,no' onerror='window.sprung = 1'>": True,
    "<p id='link'><a href='javascript:window.sprung=1'>click</a></p>": True,
    "<style>body { display: none }</style>": True,
    "<script src='https://example.org/a.js'></script>": True,
    "<img src='https://example.org/a.png'>": True,
    "<iframe src='https://example.org/'></iframe>": True,
}


def test_nothing_on_a_page_runs_or_leaves_the_machine(tmp_path: Path, browser: Browser):
    """Each trap is an output of a notebook, and its formula stands in the prose, too; the page is opened, and
    a link on it pressed. Title, parameters, results and the error of the run are hostile as well."""
    metrics = {"status": "failed", "error": LIVE, "scale": "tiny", "results": {LIVE: LIVE}}
    metrics |= runner.new_record({LIVE: 1, "name": LIVE}, seed=0, seconds=0.0)
    source = tmp_path / "00_trap.py"
    source.write_text(f"# %% [markdown]\n# # A trap {LIVE}\n#\n# **Claim.** None {LIVE}.\n")
    for number, (trap, stopped) in enumerate(TRAPS.items()):
        output = nbformat.v4.new_output("display_data", data={"text/html": trap})
        formula = html.unescape("".join(re.findall(r"\$.*\$", trap)))
        cells = [
            nbformat.v4.new_markdown_cell(f"# Prose\n\nIt says {formula}."),
            nbformat.v4.new_code_cell("1", outputs=[output]),
        ]
        folder = tmp_path / str(number)
        folder.mkdir()
        nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "00_trap.ipynb")
        browser.blocked.clear()
        browser.open(pages.write_page(folder, source, metrics).as_uri())
        if "link" in trap:
            browser.click("document.querySelector('#link').firstElementChild")
        assert browser.evaluate(
            "document.body.offsetHeight > 0 && document.querySelector('h1').textContent.startsWith('Prose')"
        ), trap
        assert browser.evaluate("typeof window.sprung") == "undefined", trap
        assert bool(browser.blocked) == stopped, (trap, browser.blocked)
        assert stays_here(browser), (trap, browser.requests)
    book = tmp_path / "book"
    shutil.copytree(folder, book / "00_trap")
    runner.atomic_write(book / "00_trap" / "metrics.json", runner.to_json(metrics))
    browser.open(pages.bind(book, [source]).as_uri())
    browser.click("document.querySelector('#query')")
    browser.type("trap script")
    assert browser.evaluate("typeof window.sprung") == "undefined" and stays_here(browser)
