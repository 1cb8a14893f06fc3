"""What a page holds: mathematics as MathML and nothing else, a policy that lets only the page's own script run,
folds, numbers and links; and what the index says about the book."""

import base64
import hashlib
import html
import re
import tomllib
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from nsr.book import binding, pages, run_records
from nsr.book.cells import TEMPLATES, body_of, contents_of
from nsr.book.mathml import with_mathml

MATHML = set(
    "math mrow mi mn mo mtext mspace mstyle msub msup msubsup mfrac msqrt mroot mover munder munderover mtable mtr mtd mpadded mphantom "
    "menclose merror mmultiscripts mprescripts none semantics ms mlabeledtr".split()
)


class Reader(HTMLParser):
    """Every element with its attributes, and all text, as a browser would see them."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.elements, self.text = [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</math><script>",
    '" onload="x',
    "&lt;script&gt;",
    "&#x3c;script&#x3e;",
    "]]>",
    "-->",
]
words = st.sampled_from(
    [
        *HOSTILE,
        r"\text{",
        r"\mbox{",
        r"\textbf{",
        r"\href{javascript:alert(1)}{",
        r"\href{",
        r"\style{color:red}{",
        r"\class{bad}{",
        r"\color{red}",
        r"\colorbox{<b>}{",
        r"\unicode{x3c}",
        r"\verb|",
        r"\operatorname{",
        "|",
        "}",
        "{",
        "x",
        "_",
        "^",
        " ",
        r"\frac",
        r"\left<",
        r"\right>",
        "<",
        ">",
        "&",
        r"\\",
    ]
)


@given(st.lists(words, max_size=9).map("".join))
def test_no_formula_becomes_anything_but_mathematics(latex: str):
    for dollars in ("$", "$$"):
        for page in (
            f"<td>{dollars}{html.escape(latex)}{dollars}</td>",
            f'<td title="{dollars}{html.escape(latex)}{dollars}">1</td>',
        ):
            for tag, attributes in Reader(with_mathml(page)).elements:
                assert tag in MATHML | {"td"}, (tag, latex)
                assert not [
                    name
                    for name in attributes
                    if name in ("href", "style", "class", "src") or name.startswith("on")
                ], (attributes, latex)


@pytest.mark.parametrize("text", HOSTILE[:5])
def test_text_in_a_formula_is_shown_as_it_is(text: str):
    seen = Reader(with_mathml(f"<td>$\\text{{{html.escape(text)}}}$</td>"))
    assert [tag for tag, _ in seen.elements][:2] == ["td", "math"]
    assert seen.text.replace("\u00a0", " ") == html.unescape(text)


def test_symbols_are_drawn_and_attributes_are_left_alone():
    assert (
        Reader(with_mathml(r"$\alpha + x_1 \le \frac{1}{2} < 3 \cdot \infty$".replace("<", "&lt;"))).text
        == "α+x1≤12<3·∞"
    )
    assert with_mathml('<img alt="$x$"><a title="a > $x$">b</a>') == '<img alt="$x$"><a title="a > $x$">b</a>'


def test_a_link_in_a_formula_leads_nowhere_but_its_text_stays():
    seen = Reader(with_mathml(r"$\href{javascript:alert(1)}{x}$"))
    assert seen.text == "x" and not [attributes for _, attributes in seen.elements if "href" in attributes]


def test_names_of_functions_keep_their_distance():
    assert "ln</mi><mspace" in with_mathml(r"$\ln N$") and "mspace" not in with_mathml(r"$\ln(N)$")


def blank(template: str) -> str:
    """A page or an index of nothing."""
    metrics = {"status": "ok", "error": "", "scale": "tiny"} | run_records.new_record({}, seed=0, seconds=0.0)
    page = {"body": "", "contents": [], "notebook": "", "metrics": metrics}
    index = dict.fromkeys(("sections", "cover", "lessons", "reports", "citation", "scale"), "")
    return pages.document(template, title="A & B", **(page if template == "page.html" else index))


@pytest.mark.parametrize("template", ["page.html", "index.html"])
def test_the_policy_allows_exactly_what_the_page_holds(template: str):
    page = blank(template)
    assert "<title>A &amp; B</title>" in page
    policy = html.unescape(
        re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page).group(1)
    )
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert rules["default-src"] == ["'none'"]
    for element, rule in (("script", "script-src"), ("style", "style-src")):
        (held,) = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(held.encode()).digest()).decode()
        assert rules[rule] == [f"'sha256-{digest}'"]
    assert "http" not in policy and "*" not in policy and "unsafe-eval" not in policy


# ---- the body of a page -------------------------------------------------------------------------------------------------------


def code(source: str, *tags: str, outputs=()) -> nbformat.NotebookNode:
    return nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)}, outputs=list(outputs))


def printed(text: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_output("stream", text=text)


def body(tmp_path: Path, *cells: nbformat.NotebookNode) -> str:
    nbformat.write(nbformat.v4.new_notebook(cells=list(cells)), tmp_path / "x.ipynb")
    return body_of(tmp_path / "x.ipynb", tmp_path)


def test_tags_fold_and_remove(tmp_path: Path):
    made = body(
        tmp_path,
        code("knob = 1", "parameters"),
        code("knob = 2", "injected-parameters"),
        code("seen_source", outputs=[printed("seen_output")]),
        code("folded_source", "hide-input", outputs=[printed("its_output")]),
        code("hidden_source", "hide-cell", outputs=[printed("hidden_output")]),
        code("gone_source", "remove-input", outputs=[printed("left_output")]),
        code("nowhere_source", "remove-cell", outputs=[printed("nowhere_output")]),
        nbformat.v4.new_markdown_cell("An exercise."),
        code("solution_source", "solution"),
        code("check_source", "check", outputs=[printed("check_output")]),
        nbformat.v4.new_markdown_cell("The end."),
    )
    folds = re.findall(r"<details[^>]*><summary>(\w+)</summary>(.*?)</details>", made, re.DOTALL)
    assert [name for name, _ in folds] == ["Parameters", "Code", "Details", "Solution"]
    within = [re.sub(r"<[^>]+>", "", text).split() for _, text in folds]
    assert within == [
        ["knob", "=", "1", "knob", "=", "2"],
        ["folded_source"],
        ["hidden_source", "hidden_output"],
        ["solution_source", "check_source", "check_output"],
    ]
    shown = re.sub(r"<details.*?</details>", "", made, flags=re.DOTALL)
    assert all(
        word in shown for word in ("seen_source", "seen_output", "its_output", "left_output", "The end.")
    )
    assert "gone_source" not in made and "nowhere" not in made


def test_figures_and_formulas_have_numbers_and_tables_a_box(tmp_path: Path):
    png = {"image/png": base64.b64encode(b"picture").decode()}
    picture = nbformat.v4.new_output(
        "display_data", data=png, metadata={"image/png": {"alt": 'a "curve"', "width": 300}}
    )
    moving = nbformat.v4.new_output(
        "display_data", data={"text/html": '<figure class="frames"><img alt="b"></figure>'}
    )
    table = nbformat.v4.new_output("execute_result", data={"text/html": "<table><tr><td>1</td></tr></table>"})
    prose = "## One *part*\n\n$$a = b$$\n\nSee $x$ and\n\n$$c = d$$"
    made = body(tmp_path, nbformat.v4.new_markdown_cell(prose), code("1", outputs=[picture, moving, table]))
    seen = Reader(made)
    places = [attributes["id"] for _, attributes in seen.elements if "id" in attributes]
    assert places == ["One-part", "equation-1", "equation-2", "figure-1", "figure-2"]
    assert [a["alt"] for tag, a in seen.elements if tag == "img"] == ['a "curve"', "b"]
    assert "Figure 1" in seen.text and "(2)" in seen.text
    assert re.search(r'<div class="scroll">\s*<table>', made)
    assert contents_of(made) == [("One-part", "One part")]


def test_links_to_sources_become_links_to_pages(tmp_path: Path):
    (tmp_path / "appendix").mkdir()
    for name in ("03_there.py", "appendix/A05_more.py"):
        (tmp_path / name).touch()
    prose = "[a](03_there.py#x) [b](appendix/A05_more.py) [c](../03_there.py) [d](A05_more.py) [e](09_not_yet.py) [f](y.md)"
    links = re.findall('href="([^"]*)"', body(tmp_path, nbformat.v4.new_markdown_cell(prose)))
    there, more = "../03_there/03_there.html", "../A05_more/A05_more.html"
    assert links == [f"{there}#x", more, there, more, "y.md"]


# ---- the book -----------------------------------------------------------------------------------------------------------------


def test_the_index_has_lessons_reports_a_picture_and_the_paper(tmp_path: Path):
    outputs, sources = tmp_path / "tiny", tmp_path / "notebooks"
    (sources / "appendix").mkdir(parents=True)
    cards = {
        "00_first": "# First\n\n**Claim.** It is *so*.",
        "appendix/A05_more": "# A05 · More\n\n**Question.** Is it?",
    }
    for place, card in cards.items():
        path = sources / f"{place}.py"
        path.write_text("# %% [markdown]\n# " + card.replace("\n", "\n# "))
        picture = nbformat.v4.new_output(
            "display_data", data={"image/png": "AAAA"}, metadata={"image/png": {"alt": f"of {path.stem}"}}
        )
        tags = [binding.COVER] if path.stem.startswith("A") else []
        cells = [nbformat.v4.new_markdown_cell(card), code("1", *tags, outputs=[picture])]
        folder = outputs / path.stem
        folder.mkdir(parents=True)
        nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / f"{path.stem}.ipynb")
        metrics = {"status": "ok", "error": "", "scale": "tiny"} | run_records.new_record({}, 0, 1.0)
        (folder / "metrics.json").write_text(run_records.to_json(metrics))
        pages.write_page(folder, path, metrics)
    index = binding.bind(outputs, [sources / f"{place}.py" for place in cards]).read_text()
    lessons, reports = index.split("<h2>Reports</h2>")
    assert 'href="00_first/00_first.html">First</a>' in lessons and "It is <em>so</em>." in lessons
    assert 'href="A05_more/A05_more.html">More</a>' in reports and "Is it?" in reports
    assert 'alt="of A05_more"' in index and 'alt="of 00_first"' not in index  # the tagged cell, not the first
    assert "Can Test-time Computation Mitigate Reproduction Bias" in reports and "Issei Sato" in reports
    page = (outputs / "00_first" / "00_first.html").read_text()
    assert page.count('rel="next" href="../A05_more/A05_more.html"') == 2 and 'rel="prev"' not in page
    assert 'href="00_first.ipynb" download' in page
    with zipfile.ZipFile(binding.pack(outputs)) as packed:
        assert set(packed.namelist()) == {
            "book/index.html",
            *(
                f"book/{name}/{name}.{kind}"
                for name in ("00_first", "A05_more")
                for kind in ("html", "ipynb")
            ),
        }


def test_an_installed_copy_has_the_templates_and_all_other_files_that_are_read():
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["nsr"]
    packed = {path for pattern in data for path in (ROOT / "nsr").glob(pattern)}
    others = [
        path
        for path in (ROOT / "nsr").rglob("*.*")
        if path.suffix != ".py" and "__pycache__" not in path.parts
    ]
    assert packed == set(others) >= set(TEMPLATES.iterdir())
    assert {path.suffix for path in packed} == {".html", ".css", ".js", ".j2", ".txt"}
