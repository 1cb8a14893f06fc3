"""The book in a real browser: JupyterLab as `make lab` starts it, with tiny chapters, and the pages as they
lie in a folder. Pictures go to outputs/browser."""

import base64
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
import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest
from browser import NAMES, Browser, end, find, until
from conftest import ROOT
from test_lessons import calls

from nsr.book import binding, pages, runner, search_box
from nsr.evidence.controls import frames
from nsr.evidence.figures import png_of

pytestmark = pytest.mark.skipif(find() is None, reason=f"no browser: none of {', '.join(NAMES)} is installed")

PICTURES = runner.OUTPUTS / "browser"
PATIENCE = 1800  # seconds for a notebook on a machine that is busy with something else
# Chapters whose control is moved in JupyterLab: the fastest. All are moved in tests/book/test_notebooks.py.
LIVE_CHAPTERS = ("01_boolean_formula_reduction", "08_pac_guarantee")
PHONE, LARGE = 400, 1600  # pixels across
SERIOUS = ("serious", "critical")


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
    for name in LIVE_CHAPTERS:
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


@pytest.mark.parametrize("name", LIVE_CHAPTERS)
def test_a_control_moves_its_picture_in_jupyterlab(name: str, server: dict, browser: Browser):
    cells = [
        cell for cell in jupytext.read(runner.NOTEBOOKS / f"{name}.py").cells if cell.cell_type == "code"
    ]
    (call,) = [call for cell in cells for call in calls(cell.source, {"control"})]
    browser.open(f"{server['url']}lab/tree/notebooks/{name}.py?reset&token={server['token']}")
    run_all(browser, len(cells))
    assert texts(browser, '[data-mime-type$="jupyter.error"]') == []
    control = f"{named('.widget-label', call.args[1].value)}.parentElement"
    whole = f"{control}.closest('.widget-interact')"
    picture = f"{whole}.querySelector('img')?.src"
    browser.wait_for(picture, PATIENCE)
    first = browser.evaluate(picture)
    picture_of(browser, whole, f"{name}_before")
    browser.click(f"{control}.querySelector('.noUi-handle')")
    browser.press("ArrowRight")
    browser.wait_for(f"({picture} ?? {json.dumps(first)}) != {json.dumps(first)}", PATIENCE)
    picture_of(browser, whole, f"{name}_after")
    browser.press("ArrowLeft")
    # it depends on the control and on nothing else
    browser.wait_for(f"{picture} == {json.dumps(first)}", PATIENCE)
    assert texts(browser, '[data-mime-type$="jupyter.error"], [data-mime-type$="jupyter.stderr"]') == []
    assert "Error displaying widget" not in "".join(texts(browser, ".jp-Notebook"))
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith((server["url"], "data:", "blob:"))] == []


# ---- the pages ----------------------------------------------------------------------------------------------------------------


def bars(height: int) -> plt.Figure:
    figure, ax = plt.subplots(figsize=(7, 3))
    ax.bar([0, 1], [1, height])
    return figure


def shown() -> list[list]:
    """What cells show: a figure, a wide table, frames, text, a warning, and so on."""
    picture = {"image/png": base64.b64encode(png_of(bars(1))).decode()}
    moving = frames(bars, "height of the second", {"one": 1, "two": 2, "three": 3}, "Two bars, with {}.")
    wide = pd.DataFrame(0.123456789, index=["one", "two"], columns=[f"a column {i}" for i in range(20)])
    plt.close("all")
    new = nbformat.v4.new_output
    return [
        [new("display_data", data=picture, metadata={"image/png": {"alt": "Two bars.", "width": 700}})],
        [new("stream", text="a long line " * 30), new("stream", name="stderr", text="a warning")],
        [new("execute_result", data={"text/html": wide._repr_html_()})],
        [new("display_data", data={"text/html": moving})],
        [new("execute_result", data={"text/html": wide.style.hide(axis="index").to_html()})],
    ]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The book as a folder of pages: every chapter's and report's text and code, not executed, and one output of
    every kind on each page. NSR_BOOK=outputs/laptop looks at pages that were really executed."""
    if executed := os.environ.get("NSR_BOOK"):
        return Path(executed).resolve()
    folder, outputs = tmp_path_factory.mktemp("site") / "tiny", shown()
    for name, path in runner.the_book().items():
        metrics = {"status": "ok", "error": "", "scale": "tiny"} | runner.new_record({}, seed=0, seconds=0.0)
        runner.atomic_write(folder / name / "metrics.json", runner.to_json(metrics))
        notebook = jupytext.read(path)
        silent = {"parameters", "solution"}
        speaking = [
            cell
            for cell in notebook.cells
            if cell.cell_type == "code" and not silent & set(cell.metadata.get("tags", []))
        ]
        assert len(speaking) >= len(outputs), name
        for cell, output in zip(speaking, outputs):
            cell.outputs = output
        jupytext.write(notebook, folder / name / f"{name}.ipynb")
        pages.write_page(folder / name, path, metrics)
    binding.bind(folder, list(runner.the_book().values()))
    with zipfile.ZipFile(binding.pack(folder)) as sent:  # as somebody gets it by mail
        sent.extractall(folder.parent)
    return folder.parent / "book"


def stays_here(browser: Browser) -> bool:
    return all(url.startswith(("file:", "data:")) for url in browser.requests)


def test_a_word_is_found_and_its_section_opens(site: Path, browser: Browser):
    """The words are typed on one page, the index finds them, and a click opens the section on another."""
    *_, (title, _) = search_box.parts(jupytext.read(runner.find("08")), levels=2)
    first = next(iter(runner.notebooks()))
    browser.open((site / first / f"{first}.html").as_uri())
    browser.click("document.querySelector('#query')")
    browser.type(title.upper())
    browser.press("Enter")
    browser.wait_for("document.readyState == 'complete' && document.querySelector('#found a')")
    browser.screenshot(PICTURES / "search.png")
    found = browser.evaluate("document.querySelector('#found a').textContent").partition(" · ")[2]
    assert set(title.lower().split()) <= set(found.lower().split())
    browser.click("document.querySelector('#found a')")
    browser.wait_for(
        "location.hash && document.readyState == 'complete' && document.querySelector('main h2')"
    )
    section = "document.getElementById(decodeURIComponent(location.hash.slice(1)))"
    assert browser.evaluate(f"{section}.textContent").startswith(found)
    assert browser.evaluate(f"{section}.getBoundingClientRect().top < innerHeight")
    browser.open((site / "index.html").as_uri())
    browser.click("document.querySelector('#query')")
    browser.type("beam xyzzy")
    browser.wait_for("document.querySelector('#found').textContent.startsWith('No section')")
    assert browser.errors == [] and browser.blocked == [] and stays_here(browser)


def test_frames_move_with_the_keyboard_and_without_a_kernel(site: Path, browser: Browser):
    name = next(iter(runner.notebooks()))
    browser.open((site / name / f"{name}.html").as_uri())
    figure = "document.querySelector('figure.frames')"
    slider, seen = f"{figure}.querySelector('input')", f"{figure}.querySelector('.frame:not([hidden])')"
    browser.evaluate(f"{slider}.focus()")
    heard = []
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
        browser.press(key)
        assert browser.evaluate(f"{figure}.querySelectorAll('.frame:not([hidden])').length") == 1
        heard.append(
            browser.evaluate(
                f"[{slider}.getAttribute('aria-valuetext'), {figure}.querySelector('output').textContent, {seen}.alt]"
            )
        )
    expected = ["two", "three", "three", "two"]
    assert heard == [[word, word, f"Two bars, with {word}."] for word in expected]
    assert browser.evaluate(f"{seen}.getBoundingClientRect().height > 50")
    picture_of(browser, figure, "frames")
    assert browser.errors == [] and browser.blocked == []


def violations(browser: Browser) -> list:
    """What axe-core finds serious on the page that is open: impact, rule, how often, and the first place."""
    import axe_core_python

    browser.evaluate(Path(axe_core_python.__file__).with_name("axe.min.js").read_text() + "; 0")
    found = browser.evaluate(
        "axe.run({resultTypes: ['violations']}).then(said => said.violations.map("
        "one => [one.impact, one.id, one.nodes.length, one.nodes[0].html.slice(0, 200), one.nodes[0].failureSummary]))"
    )
    return [one for one in found if one[0] in SERIOUS]


def test_every_page_is_fit_for_a_phone_a_large_screen_and_a_screen_reader(site: Path, browser: Browser):
    """By day on a phone and by night on a large screen: no page is wider than its window, its contents are folded
    or not, and axe-core finds nothing serious. Thousands of coloured words are left to the next test."""
    problems = []
    for page in sorted(site.rglob("*.html")):
        for width, dark in ((PHONE, False), (LARGE, True)):
            browser.resize(width, dark=dark)
            browser.open(page.as_uri())
            assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), (page.name, width)
            if page.name != "index.html":
                assert browser.evaluate("document.querySelector('.contents details').open") == (
                    width == LARGE
                )
            browser.screenshot(PICTURES / f"{page.stem}_{width}.png")
            browser.evaluate(
                "document.querySelectorAll('.highlight pre, math').forEach(one => { one.textContent = one.textContent })"
            )
            problems += [(page.stem, width, *one) for one in violations(browser)]
    assert problems == []
    assert browser.errors == [] and browser.blocked == [] and stays_here(browser)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_coloured_code_can_be_read(tmp_path: Path, browser: Browser, dark: bool):
    """Words of every kind that Python has, on the ground of code, by day and by night."""
    source = (
        '"""A docstring."""\nimport math as m  # a comment\n\n\n@property\nclass A(ValueError):\n'
        "    def f(self, x: int = 0x1F) -> bool:\n        return not x in (1, 2.5, True, None) and f'{x:.2f}\\n' is r'a'\n"
        "\n\nprint(lambda *a: a[0] @ 3 + len(a))\nassert 1 == 1, 'so'\n"
    )
    cells = [nbformat.v4.new_markdown_cell("# Code"), nbformat.v4.new_code_cell(source)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "00_code.ipynb")
    (tmp_path / "00_code.py").write_text("# %% [markdown]\n# # Code\n")
    metrics = {"status": "ok", "error": "", "scale": "tiny"} | runner.new_record({}, seed=0, seconds=0.0)
    browser.resize(LARGE, dark=dark)
    browser.open(pages.write_page(tmp_path, tmp_path / "00_code.py", metrics).as_uri())
    assert browser.evaluate("document.querySelectorAll('.highlight pre span[class]').length") > 40
    assert violations(browser) == []


def test_a_printed_page_has_no_code(site: Path, browser: Browser):
    name = next(iter(runner.notebooks()))
    browser.open((site / name / f"{name}.html").as_uri())
    browser.call("Emulation.setEmulatedMedia", media="print")
    heights = (
        "selector => [...document.querySelectorAll(selector)].map(one => one.getBoundingClientRect().height)"
    )
    for selector in (".source", ".contents", ".search"):
        assert max(browser.evaluate(f"({heights})({json.dumps(selector)})")) == 0, selector
    assert min(browser.evaluate(f"({heights})('figure:not(details figure), main h1')")) > 0


def test_the_book_can_be_leafed_through_and_its_mathematics_is_drawn(site: Path, browser: Browser):
    names, n_formulas = list(runner.the_book()), 0
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
    browser.open(binding.bind(book, [source]).as_uri())
    browser.click("document.querySelector('#query')")
    browser.type("trap script")
    assert browser.evaluate("typeof window.sprung") == "undefined" and stays_here(browser)
