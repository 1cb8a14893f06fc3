"""A notebook's page: from a template, with all it needs inside, so that it works without a network; the browser
runs nothing on it but its own script.

The templates, the style and the script stand in nsr/book/templates.
"""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from nsr.book.cells import TEMPLATES, body_of, contents_of
from nsr.book.run_records import atomic_write, clock

# Every notebook's first cell says these, in this order; a report says only its question and its runtime.
LABELS = ("Claim", "You will see", "Needs", "From the paper", "Runtime")
REPORT_LABELS = ("Question", "Runtime")


def header(notebook: Path) -> dict[str, str]:
    """The title of a notebook and what its first cell says under each label, as Markdown."""
    import jupytext

    first = jupytext.read(notebook).cells[0].source
    title = re.search(r"^#\s+(.+)$", first, re.MULTILINE)
    labels = dict.fromkeys([*LABELS, *REPORT_LABELS, "Knobs"])
    # The pieces are text, label, text, label, text ...
    pieces = re.split(rf"[-*]?\s*\*\*({'|'.join(labels)})[.:]?\*\*[.:]?\s*", first)
    said = {label: " ".join(text.split()) for label, text in zip(pieces[1::2], pieces[2::2], strict=False)}
    return {"title": title.group(1).strip() if title else notebook.stem} | said


def write_page(folder: Path, notebook: Path, metrics: Mapping[str, Any]) -> Path:
    """Write folder/<name>.html from the executed folder/<name>.ipynb, as far as it got."""
    executed = folder / f"{notebook.stem}.ipynb"
    # reports stand in a folder of the chapters' folder
    body = body_of(executed, notebook.parents[notebook.parent.name == "appendix"])
    given = {"title": header(notebook)["title"], "body": body, "contents": contents_of(body)}
    name = executed.name if executed.exists() else ""
    return atomic_write(
        executed.with_suffix(".html"), document("page.html", **given, notebook=name, metrics=metrics)
    )


# ---- templates ----------------------------------------------------------------------------------------------------------------


@cache
def environment() -> Any:
    """The templates, with what they say about names, times and people; all text is escaped unless they say
    otherwise."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(TEMPLATES, encoding="utf-8")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    made.filters |= {"clock": clock, "people": _people}
    made.filters |= {
        "number": lambda name: name.partition("_")[0],
        "named": lambda name: name.partition("_")[2].replace("_", " "),
        "first_line": lambda text: (text.strip().splitlines() or [""])[0],
    }
    return made


def neighbours(place: str, before: str, after: str) -> str:
    """The links at the top or the bottom of a page, to the pages of these names."""
    return environment().get_template("neighbours.html").render(place=place, before=before, after=after)


def _people(authors: Sequence[Mapping[str, str]]) -> str:
    """The names of authors as CITATION.cff has them."""
    full = lambda one: f"{one.get('given-names', '')} {one.get('family-names', '')}".strip()
    return " and ".join(one.get("name") or full(one) for one in authors)


def document(template: str, scripted: bool = True, **content: Any) -> str:
    """A page from a template, with the style and the script that it may use, and no others."""
    style, script = ((TEMPLATES / name).read_text("utf-8") for name in ("style.css", "page.js"))
    rules = policy([script] * scripted, [style])
    given = {"style": style, "script": script if scripted else "", "policy": rules}
    return environment().get_template(template).render(before="", after="", **given, **content)


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
