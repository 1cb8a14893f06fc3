"""The book as HTML: one page per executed notebook, links between them, and an index of the claims."""

import base64
import contextlib
import hashlib
import html
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nsr.book import search_box
from nsr.book.mathml import with_mathml
from nsr.book.publishing import FAILED
from nsr.book.run_records import atomic_write, clock, metrics_of

# Every notebook's first cell says these, in this order.
LABELS = ("Claim", "You will see", "Needs", "From the paper", "Runtime")
CHAPTERS = {  # the plan of the book; which of them exist is for the folder of notebooks to say
    "00_start_here": "the map",
    "01_boolean_formula_reduction": "why writing token by token is hard: the theorem",
    "02_expressions_and_data": "where the formulas and the points come from",
    "03_training": "a network learns to guess formulas",
    "04_reproduction_bias": "it copies: the main finding",
    "05_beam_search": "more candidates",
    "06_tpsr": "planning with a tree search",
    "07_nsr_gvs": "showing the network parts of formulas",
    "08_pac_guarantee": "what guessing and checking guarantees",
    "09_nsrwh": "giving hints",
    "10_families_and_local_search": "what we would try next",
    "11_strategies_compared": "all of them on one table",
    "12_transformer4sr": "a second system",
    "13_practice": "formulas from physics, and no formula at all",
    "14_one_token": "the copying happens at one token",
}
BOOK = "Reproduction bias in neural symbolic regression"
ABOUT = (
    "Can test-time computation mitigate it? The paper of that name as notebooks that run: every claim is computed on the page that makes it. "
    "Read from top to bottom, or begin with the claim you doubt."
)


def header(notebook: Path) -> dict[str, str]:
    """The title of a notebook and what its first cell says under each of LABELS, as Markdown."""
    import jupytext

    first = jupytext.read(notebook).cells[0].source
    title = re.search(r"^#\s+(.+)$", first, re.MULTILINE)
    # The pieces are text, label, text, label, text ...
    pieces = re.split(rf"[-*]?\s*\*\*({'|'.join(LABELS)})[.:]?\*\*[.:]?\s*", first)
    said = {label: " ".join(text.split()) for label, text in zip(pieces[1::2], pieces[2::2], strict=False)}
    return {"title": title.group(1).strip() if title else notebook.stem} | said


def write_page(folder: Path, notebook: Path, metrics: Mapping[str, Any]) -> Path:
    """Write folder/<name>.html from the executed folder/<name>.ipynb, as far as it got."""
    from nbconvert import HTMLExporter

    executed, title = folder / f"{notebook.stem}.ipynb", header(notebook)["title"]
    exporter = HTMLExporter(
        template_name="basic", exclude_input_prompt=True, exclude_output_prompt=True, embed_images=True
    )
    try:
        body = exporter.from_filename(str(executed))[0]
    except (FileNotFoundError, ValueError):  # it never began, or the disk was full in the middle of it
        body = "<p>The notebook was not executed.</p>"
    # These styles are of pandas; the page has rules of its own for tables.
    body = re.sub(r"<style scoped[^>]*>.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(
        r'<a href="(?:\./)?(\d\d_\w+)\.py(#[^"]*)?">(.*?)</a>',
        lambda link: _chapter_link(notebook.parent, *link.groups("")),
        body,
    )
    parts = [_NAV, _failure(metrics), f"<main>{with_mathml(body)}</main>", _record_in_words(metrics), _NAV]
    return atomic_write(folder / f"{notebook.stem}.html", document(title, "".join(parts)))


def bind(folder: Path, notebooks: Sequence[Path]) -> Path:
    """Make a book of the pages in outputs/<scale>/: link each to its neighbours, and write the index."""
    there = [path for path in notebooks if (folder / path.stem / f"{path.stem}.html").exists()]
    names = [path.stem for path in there]
    for position, name in enumerate(names):
        before, after = ["", *names][position], [*names, ""][position + 1]
        links = _neighbour(before, "prev", "← {}"), _ALL, _neighbour(after, "next", "{} →")
        again = [*folder.glob(f"{name}@*/{name}.html"), *folder.glob(f"{FAILED}{name}*/{name}.html")]
        for page in [folder / name / f"{name}.html", *again]:
            # Another run is just replacing it, and will link it itself.
            with contextlib.suppress(FileNotFoundError):
                old = page.read_text()
                nav = f"<nav>{''.join(links)}</nav>"
                new = re.sub(r"<nav>.*?</nav>", lambda _: nav, old, flags=re.DOTALL)
                if new != old:
                    atomic_write(page, new)
    return atomic_write(folder / "index.html", _index(folder, there))


def pack(folder: Path) -> Path:
    """The index and its pages as one file to mail, <folder>/book.zip: figures, search and mathematics are
    inside the pages."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as book:
        for page in sorted([folder / "index.html", *folder.glob("[0-9][0-9]_*/*.html")]):
            if "@" not in page.parent.name:  # a reader's own runs are no part of the book
                book.write(page, f"book/{page.relative_to(folder).as_posix()}")
    return atomic_write(folder / "book.zip", made.getvalue())


def _index(folder: Path, notebooks: Sequence[Path]) -> str:
    from nbconvert.filters import markdown2html

    rows = []
    for path in notebooks:
        if metrics := metrics_of(folder / path.stem):
            about, state = header(path), ""
            if metrics["status"] != "ok":
                state = f' <b class="bad">{metrics["status"]}</b>'
            if (folder / f"{FAILED}{path.stem}").exists():
                state += f' <b class="bad">a later run failed: {FAILED}{path.stem}</b>'
            rows.append(
                f'<li value="{int(path.stem[:2])}"><a href="{path.stem}/{path.stem}.html">{_inline(markdown2html(about["title"]))}</a>{state}'
                f"<div>{_inline(markdown2html(about.get('Claim', '')))}</div><small>ran in {clock(metrics['seconds'])}</small></li>"
            )
    search = search_box.box(folder, [path.stem for path in notebooks])
    chapters = with_mathml(f"<ol>{''.join(rows)}</ol>")
    body = f'<main class="index"><h1>{BOOK}</h1><p>{ABOUT}</p>{search}{chapters}<p><small>Scale: {folder.name}.</small></p></main>'
    return document(BOOK, body, [search_box.SCRIPT] if search else [])


def _chapter_link(notebooks: Path, name: str, place: str, text: str) -> str:
    """In the source a chapter links to another's source; on a page, to its page, or nowhere while it is not
    written."""
    return (
        f'<a href="../{name}/{name}.html{place}">{text}</a>' if (notebooks / f"{name}.py").exists() else text
    )


def _neighbour(name: str, rel: str, words: str) -> str:
    """A link to the page before or after, or the room for one."""
    if not name:
        return "<span></span>"
    spoken = words.format(f"{name[:2]} {name[3:].replace('_', ' ')}")
    return f'<a rel="{rel}" href="../{name}/{name}.html">{spoken}</a>'


def _inline(paragraph: str) -> str:
    return re.sub(r"</?p>", "", paragraph).strip()


def _failure(metrics: Mapping[str, Any]) -> str:
    if metrics["status"] == "ok":
        return ""
    first = html.escape(metrics["error"].strip().splitlines()[0] if metrics["error"] else "")
    return f'<p class="failure">This page is not complete. {first}</p>'


def _record_in_words(metrics: Mapping[str, Any]) -> str:
    """The record, in a sentence that opens into a table."""
    changes = " with local changes" if metrics["dirty"] else ""
    commit = f"commit {metrics['commit'][:10]}{changes}" if metrics["commit"] else "no commit"
    line = f"Scale {metrics['scale']}, seed {metrics['seed']}, {commit}, {clock(metrics['seconds'])} on {metrics['cores']} cores, {metrics['date'][:10]}"
    facts = metrics["parameters"] | metrics["versions"]
    cells = "".join(
        f"<tr><td>{html.escape(str(name))}</td><td>{html.escape(str(value))}</td></tr>"
        for name, value in facts.items()
    )
    return f"<footer><details><summary>{line}</summary><table>{cells}</table></details></footer>"


def document(title: str, body: str, scripts: Sequence[str] = ()) -> str:
    """A page of this title and body; of all scripts in the body, the browser runs those that are listed."""
    from pygments.formatters import HtmlFormatter

    style = HtmlFormatter(style="friendly").get_style_defs(".highlight") + _CSS
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(scripts, [style])}">'
        f"<title>{html.escape(title)}</title><style>{style}</style></head><body>{body}</body></html>\n"
    )


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """What the browser may do on a page: run and apply these very texts, show pictures, and nothing else,
    least of all ask another machine.

    A style attribute is allowed: tables align their cells by it, and it cannot load anything.
    """

    def these(texts: Sequence[str]) -> str:
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"

    return (
        f"default-src 'none'; script-src {these(scripts)}; style-src {these(styles)}; style-src-attr 'unsafe-inline'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'none'"
    )


_NAV, _ALL = "<nav></nav>", '<a href="../index.html">All chapters</a>'
_CSS = """
:root { --ink: #1d2430; --soft: #5d6878; --line: #dfe4ea; --paper: #ffffff; --code: #f5f7f9; --link: #0b62a8; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 0 1.25rem 3rem; max-width: 52rem; color: var(--ink); background: var(--paper);
  font: 17px/1.6 Charter, "Bitstream Charter", "Source Serif 4", Georgia, "DejaVu Serif", serif; }
h1, h2, h3, h4, nav, table, footer, small, .failure { font-family: system-ui, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 1.6rem 0 1rem; } h2 { font-size: 1.35rem; margin: 2.4rem 0 .6rem; } h3 { font-size: 1.1rem; margin: 1.8rem 0 .4rem; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
a.anchor-link { visibility: hidden; margin-left: .3em; } :is(h1, h2, h3, h4):hover a.anchor-link { visibility: visible; }
nav { display: flex; gap: 1rem; padding: .8rem 0; font-size: .85rem; } nav > * { flex: 1; text-align: center; }
nav > :first-child { text-align: left; } nav > :last-child { text-align: right; } nav + nav, footer { border-top: 1px solid var(--line); }
blockquote { margin: 1rem 0; padding: .1rem 1rem; border-left: 3px solid var(--line); color: var(--soft); }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .79em; }
p code, li code, td code { background: var(--code); border-radius: 3px; padding: .1em .3em; }
.input_area, .text_cell_render pre { background: var(--code); border-radius: 6px; padding: .6rem .9rem; margin: .8rem 0 .4rem; overflow-x: auto; }
pre { margin: 0; line-height: 1.5; white-space: pre-wrap; overflow-wrap: anywhere; } .highlight { background: none; } .highlight pre { line-height: 1.5; }
.output_wrapper { margin: .2rem 0 1rem; } .output_area { overflow-x: auto; } .output_subarea pre { padding: .2rem .9rem; color: var(--soft); }
.output_stderr pre { color: #8a5a00; } .output_error pre, .bad { color: #a4262c; }
img, svg { max-width: 100%; height: auto; } math[display=block] { margin: .8rem 0; overflow-x: auto; overflow-y: hidden; }
math { font-family: "STIX Two Math", "Cambria Math", "Latin Modern Math", "DejaVu Math TeX Gyre", math; }
table { border-collapse: collapse; margin: .8rem 0; font-size: .82rem; line-height: 1.4; border: 0; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .8rem .28rem 0; border: 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
.dataframe th, .dataframe td { text-align: right; } .dataframe thead th { border-bottom: 2px solid var(--soft); }
.failure { background: #fdecea; color: #7d1a16; padding: .7rem 1rem; border-radius: 6px; font-size: .9rem; }
.celltag_injected-parameters .input_area { border-left: 3px solid var(--link); }
footer { margin-top: 3rem; padding-top: .6rem; font-size: .8rem; color: var(--soft); } summary { cursor: pointer; }
.index ol { padding-left: 2rem; } .index li { margin: 1.1rem 0; padding-left: .4rem; } .index li > a { font-weight: 600; } .index div { color: var(--ink); } small { color: var(--soft); }
#query { width: 100%; font: inherit; font-size: .95rem; padding: .4rem .7rem; border: 1px solid var(--line); border-radius: 6px; } #found { padding-left: 1.2rem; }
@media print { nav { display: none; } body { max-width: none; font-size: 11pt; } .cell { break-inside: avoid; } }
"""
