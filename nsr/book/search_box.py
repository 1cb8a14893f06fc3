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


def parts(notebook: Any, levels: int) -> Iterator[tuple[str, list[Any]]]:
    """Title and cells of every part that begins with a heading of at most this level."""
    starts = [
        (i, heading.group(1))
        for i, cell in enumerate(notebook.cells)
        if cell.cell_type == "markdown" and (heading := re.match(rf"#{{1,{levels}}}\s+(.+)", cell.source))
    ]
    for (first, title), (last, _) in zip(starts, [*starts[1:], (None, "")]):
        yield title, notebook.cells[first:last]


def sections(notebook: Any, name: str) -> Iterator[dict[str, str]]:
    """The parts of a chapter: where they are, what they are called, what their prose says."""
    for heading, cells in parts(notebook, levels=3):
        title = re.sub(r"[*`]", "", heading).strip()
        prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        words = re.sub(r"\]\([^)]*\)|^#+\s.*$|[*_`>|#\[\]$\\{}]", " ", prose, flags=re.MULTILINE).split()
        page = f"{name}/{name}.html#{quote(title.replace(' ', '-'))}"  # as nbconvert names its headings
        yield {"chapter": name[:2], "title": title, "page": page, "text": " ".join(words[:WORDS])}


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
    # No text of a chapter can end the script.
    data = json.dumps(found, ensure_ascii=False).replace("<", "\\u003c")
    return (
        f'<input id="query" type="search" placeholder="Search the book" aria-label="Search the book"><ul id="found"></ul>'
        f'<script id="sections" type="application/json">{data}</script><script>{SCRIPT}</script>'
    )
