"""What the search box of the book looks through: every section's words, which stand in the index page itself, so
that it works from a folder, without a server."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

WORDS = 400  # the search looks at the first so many words of a section


def parts(notebook: Any, levels: int) -> Iterator[tuple[str, list[Any]]]:
    """Title and cells of every part that begins with a heading of at most this level; a cell of text with a
    heading in its middle is cut there."""
    cells = [piece for cell in notebook.cells for piece in _cut(cell, levels)]
    starts = [
        (i, heading.group(1))
        for i, cell in enumerate(cells)
        if cell.cell_type == "markdown" and (heading := re.match(rf"#{{1,{levels}}}\s+(.+)", cell.source))
    ]
    for (first, title), (last, _) in zip(starts, [*starts[1:], (None, "")]):
        yield title, cells[first:last]


def _cut(cell: Any, levels: int) -> list[Any]:
    """A cell of text in pieces, each of which begins with a heading or has none; other cells as they are."""
    if cell.cell_type != "markdown":
        return [cell]
    pieces: list[list[str]] = [[]]
    fenced = False
    for line in cell.source.splitlines():
        fenced ^= line.startswith("```")  # between two fences # begins a comment
        if not fenced and pieces[-1] and re.match(rf"#{{1,{levels}}}\s", line):
            pieces.append([])
        pieces[-1].append(line)
    return [type(cell)({**cell, "source": "\n".join(piece)}) for piece in pieces]


def sections(notebook: Any, name: str) -> Iterator[dict[str, str]]:
    """The parts of a chapter: where they are, what they are called, what their prose says."""
    for heading, cells in parts(notebook, levels=3):
        title = re.sub(r"[*`]", "", heading).strip()
        prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        words = re.sub(r"\]\([^)]*\)|^#+\s.*$|[*_`>|#\[\]$\\{}]", " ", prose, flags=re.MULTILINE).split()
        page = f"{name}/{name}.html#{quote(title.replace(' ', '-'))}"  # as nbconvert names its headings
        chapter, text = name.partition("_")[0], " ".join(words[:WORDS])
        yield {"chapter": chapter, "title": title, "page": page, "text": text}


def as_json(folder: Path, names: Sequence[str]) -> str:
    """The sections of the chapters in outputs/<scale>/ that were run, for the script of the index; nothing if there
    are none."""
    import nbformat

    found: list[dict[str, str]] = []
    for name in names:
        try:
            found += sections(nbformat.read(folder / name / f"{name}.ipynb", as_version=4), name)
        except (OSError, ValueError):  # not run, or just being replaced
            continue
    # No text of a chapter can end the script that it stands in.
    return json.dumps(found, ensure_ascii=False).replace("<", "\\u003c") if found else ""
