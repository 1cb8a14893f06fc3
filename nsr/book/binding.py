"""Pages become a book: each is linked to its neighbours, an index lists them, and all of it is packed into one
file."""

import contextlib
import io
import re
import zipfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from nsr.book import search_box
from nsr.book.foreign_files import Kind, read_yaml
from nsr.book.mathml import with_mathml
from nsr.book.pages import document, header, neighbours
from nsr.book.publishing import FAILED
from nsr.book.run_records import ROOT, atomic_write, metrics_of

BOOK = "Reproduction bias in neural symbolic regression"
# the tag of the cell whose picture stands on the index; else it is the first picture of the book
COVER = "cover"
NEIGHBOURS = re.compile(r'<nav class="book" data-place="(top|bottom)".*?</nav>', re.DOTALL)
CITATION = Kind("a citation", ValueError)


def bind(folder: Path, notebooks: Sequence[Path]) -> Path:
    """Make a book of the pages in outputs/<scale>/: link each to its neighbours, and write the index."""
    there = [path for path in notebooks if (folder / path.stem / f"{path.stem}.html").exists()]
    names = [path.stem for path in there]
    for before, name, after in zip(["", *names], names, [*names[1:], ""]):
        again = [*folder.glob(f"{name}@*/{name}.html"), *folder.glob(f"{FAILED}{name}*/{name}.html")]
        for page in [folder / name / f"{name}.html", *again]:
            # Another run is just replacing it, and will link it itself.
            with contextlib.suppress(FileNotFoundError):
                old = page.read_text()
                new = NEIGHBOURS.sub(partial(_linked, before=before, after=after), old)
                if new != old:
                    atomic_write(page, new)
    return atomic_write(folder / "index.html", _index(folder, there))


def _linked(old: re.Match[str], before: str, after: str) -> str:
    return neighbours(old[1], before, after)


def pack(folder: Path) -> Path:
    """The index, its pages and the executed notebooks as one file to mail, <folder>/book.zip: figures, search and
    mathematics are inside the pages."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as book:
        chapters = [path for path in folder.glob("[0-9A][0-9]*_*/*") if path.suffix in (".html", ".ipynb")]
        for path in sorted([folder / "index.html", *chapters]):
            if "@" not in path.parent.name:  # a reader's own runs are no part of the book
                book.write(path, f"book/{path.relative_to(folder).as_posix()}")
    return atomic_write(folder / "book.zip", made.getvalue())


def _index(folder: Path, notebooks: Sequence[Path]) -> str:
    entries = [entry for path in notebooks if (entry := _entry(folder, path))]
    names, parts = [path.stem for path in notebooks], {"lessons": [], "reports": []}
    for entry in entries:
        parts["lessons" if entry["number"].isdecimal() else "reports"].append(entry)
    sections, cover = search_box.as_json(folder, names), _cover(folder, names)
    given = {"title": BOOK, "citation": _citation(), "scale": folder.name}
    return document("index.html", **given, sections=sections, cover=cover, **parts)


def _entry(folder: Path, notebook: Path) -> dict[str, Any] | None:
    """What the index says about a chapter or a report that was run."""
    from nbconvert.filters import markdown2html

    def inline(text: str) -> str:
        return with_mathml(re.sub(r"</?p>", "", markdown2html(text)).strip())

    name, metrics = notebook.stem, metrics_of(folder / notebook.stem)
    if not metrics:
        return None
    about, failed = header(notebook), f"{FAILED}{name}"
    number = name.partition("_")[0]
    title = inline(re.sub(rf"^{number}\s*·\s*", "", about["title"]))
    says = inline(about.get("Claim") or about.get("Question", ""))
    entry = {"name": name, "number": number, "title": title, "says": says}
    ended = {key: metrics[key] for key in ("status", "seconds")}
    return entry | ended | {"failed": failed if (folder / failed).exists() else ""}


def _cover(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """The picture of the cell that is tagged for it, or the first picture of the book, and its text."""
    import nbformat

    first: dict[str, str] = {}
    for name in names:
        with contextlib.suppress(OSError, ValueError):
            for cell in nbformat.read(folder / name / f"{name}.ipynb", as_version=4).cells:
                for output in cell.get("outputs", []):
                    if picture := output.get("data", {}).get("image/png"):
                        alt = output.metadata.get("image/png", {}).get("alt", "")
                        found = {"name": name, "picture": picture.replace("\n", ""), "alt": alt}
                        if COVER in cell.metadata.get("tags", []):
                            return found
                        first = first or found
    return first


def _citation() -> dict[str, Any]:
    """What CITATION.cff says; nothing where nsr is installed without the project around it."""
    path = ROOT / "CITATION.cff"
    return read_yaml(path, CITATION) if path.exists() else {}
