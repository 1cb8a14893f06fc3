"""The cells of an executed notebook as HTML: folded as their tags say, with links to pages instead of sources, and
with numbers at figures and formulas."""

import html
import re
from itertools import count, groupby
from pathlib import Path
from typing import Any

from nsr.book.mathml import with_mathml

TEMPLATES = Path(__file__).with_name("templates")
# what a fold of several cells is called, and the tags of its cells
FOLDS = {
    "Parameters": {"parameters", "injected-parameters"},
    "Solution": {"solution", "check"},
    "Details": {"hide-cell"},
}


def body_of(executed: Path, sources: Path) -> str:
    """The body of a page from an executed notebook; the chapters whose pages may be linked stand in `sources`."""
    body = cells_as_html(executed)
    # These styles are of pandas; the page has rules of its own for tables.
    body = re.sub(r"<style (?:scoped|type)[^>]*>.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r"<table.*?</table>", r'<div class="scroll">\g<0></div>', body, flags=re.DOTALL)
    return with_numbers(with_mathml(with_links_to_pages(body, sources)))


def cells_as_html(executed: Path) -> str:
    """The cells of an executed notebook and what they showed, folded as their tags say."""
    import nbformat
    from nbconvert import HTMLExporter

    template = str(TEMPLATES / "notebook.html.j2")
    exporter = HTMLExporter(template_name="basic", template_file=template, embed_images=True)
    exporter.exclude_input_prompt = exporter.exclude_output_prompt = True
    try:
        return exporter.from_notebook_node(folded(nbformat.read(executed, as_version=4)))[0]
    except (FileNotFoundError, ValueError):  # it never began, or the disk was full in the middle of it
        return "<h1>The notebook was not executed.</h1>"


def folded(notebook: Any) -> Any:
    """The notebook with a note in each cell's metadata: where a fold opens and closes, whether the code alone is
    folded or removed. Cells that are tagged `remove-cell` are gone."""

    def tags(cell: Any) -> set[str]:
        return set(cell.metadata.get("tags", []))

    def fold(cell: Any) -> str:
        return next((name for name, its_tags in FOLDS.items() if tags(cell) & its_tags), "")

    notebook.cells = [cell for cell in notebook.cells if "remove-cell" not in tags(cell)]
    for name, together in groupby(notebook.cells, fold):
        cells = list(together)
        for cell in cells:
            cell.metadata["fold"] = {"code": "hide-input" in tags(cell)}
            cell.metadata["transient"] = {"remove_source": "remove-input" in tags(cell)}
        if name:
            cells[0].metadata["fold"]["opens"], cells[-1].metadata["fold"]["closes"] = name, True
    return notebook


def with_links_to_pages(body: str, sources: Path) -> str:
    """In the source a chapter links to another's source; on a page, to its page, or nowhere while it is not
    written."""

    def linked(link: re.Match[str]) -> str:
        name, place, text = link.groups("")
        known = any((sources / part / f"{name}.py").exists() for part in (".", "appendix"))
        return f'<a href="../{name}/{name}.html{place}">{text}</a>' if known else text

    pattern = r'<a href="[./\w]*?(A?\d\d_\w+)\.py(#[^"]*)?">(.*?)</a>'
    return re.sub(pattern, linked, body, flags=re.DOTALL)


def with_numbers(body: str) -> str:
    """Every figure and every displayed formula with its number, which is a link to it."""
    figures, formulas = count(1), count(1)

    def figure(match: re.Match[str]) -> str:
        kind, inside, n = *match.groups(), next(figures)
        caption = f'<figcaption><a href="#figure-{n}">Figure {n}</a></figcaption>'
        return f'<figure class="{kind}" id="figure-{n}">{inside}{caption}</figure>'

    def formula(match: re.Match[str]) -> str:
        n = next(formulas)
        return f'<span class="equation" id="equation-{n}">{match[0]}<a href="#equation-{n}" aria-label="Equation {n}">({n})</a></span>'

    body = re.sub(r'<figure class="(plot|frames)">(.*?)</figure>', figure, body, flags=re.DOTALL)
    return re.sub(r'<math[^>]* display="block".*?</math>', formula, body, flags=re.DOTALL)


def contents_of(body: str) -> list[tuple[str, str]]:
    """Place and text of every section of a page."""
    found = re.findall(r'<h2 id="([^"]+)">(.*?)(?:<a class="anchor-link".*?)?</h2>', body, re.DOTALL)
    return [(html.unescape(place), html.unescape(re.sub(r"<[^>]+>", "", text))) for place, text in found]
