"""The search box of the book: every section's words in the index page itself, so that it works from a folder,
without a server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

WORDS = 400  # the search looks at the first so many words of a section
SCRIPT = """
const sections = JSON.parse(document.getElementById("sections").textContent), found = document.getElementById("found");
const plain = text => text.toLowerCase().normalize("NFKD").replace(/[\\u0300-\\u036f]/g, "");
for (const s of sections) s.low = plain(s.title + " " + s.text);
document.getElementById("query").addEventListener("input", event => {
  const words = plain(event.target.value).split(/\\s+/).filter(w => w.length > 1);
  found.replaceChildren();
  if (!words.length) return;
  const hits = sections.filter(s => words.every(w => s.low.includes(w)));
  hits.sort((a, b) => words.filter(w => plain(b.title).includes(w)).length - words.filter(w => plain(a.title).includes(w)).length);
  for (const s of hits.slice(0, 12)) {
    const item = document.createElement("li"), link = document.createElement("a"), around = document.createElement("small");
    const at = Math.max(0, plain(s.text).indexOf(words[0]) - 40);
    link.href = s.page; link.textContent = s.chapter + " · " + s.title;
    around.textContent = " … " + s.text.slice(at, at + 120) + " …";
    item.append(link, around); found.append(item);
  }
  if (!hits.length) found.textContent = "Nothing has all of these words.";
});
"""


def sections(notebook: Any, name: str) -> Iterator[dict[str, str]]:
    """The parts of a chapter that begin with a heading: where they are, what they are called, what their
    prose says."""
    title, words = "", []
    for cell in [*notebook.cells, None]:
        heading = (
            cell is not None and cell.cell_type == "markdown" and re.match(r"#{1,3}\s+(.+)", cell.source)
        )
        if (heading or cell is None) and title:
            anchor = quote(title.replace(" ", "-"))  # as nbconvert names its headings
            yield {
                "chapter": name[:2],
                "title": title,
                "page": f"{name}/{name}.html#{anchor}",
                "text": " ".join(words[:WORDS]),
            }
        if heading:
            title, words = re.sub(r"[*`]", "", heading.group(1)).strip(), []
        if cell is not None and cell.cell_type == "markdown":
            prose = re.sub(r"\]\([^)]*\)|^#+\s.*$|[*_`>|#\[\]$\\{}]", " ", cell.source, flags=re.MULTILINE)
            words += prose.split()


def box(folder: Path, names: Sequence[str]) -> str:
    """The search box for the chapters in outputs/<scale>/ that were run, as HTML; nothing if there are none."""
    import nbformat

    found = []
    for name in names:
        try:
            found += sections(nbformat.read(folder / name / f"{name}.ipynb", as_version=4), name)
        except (OSError, ValueError):  # not run, or just being replaced
            continue
    if not found:
        return ""
    data = json.dumps(found, ensure_ascii=False).replace(
        "<", "\\u003c"
    )  # no text of a chapter can end the script
    return (
        f'<input id="query" type="search" placeholder="Search the book" aria-label="Search the book"><ul id="found"></ul>'
        f'<script id="sections" type="application/json">{data}</script><script>{SCRIPT}</script>'
    )
