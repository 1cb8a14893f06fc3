"""The versions this project was tested with, constraints.txt, beside those that are installed here."""

from __future__ import annotations

import re
from importlib import metadata

from nsr.book.run_records import ROOT

MOST = 6  # packages named in a message


def tested() -> dict[str, str]:
    """Package → version, as constraints.txt pins it; empty where there is no such file."""
    path = ROOT / "constraints.txt"
    return (
        dict(re.findall(r"^([\w.-]+)==(\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE))
        if path.exists()
        else {}
    )


def different() -> list[str]:
    """The installed packages whose version is another one than the tested, in words."""
    installed = {
        found.name.lower().replace("_", "-"): found.version.split("+")[0]
        for found in reversed(list(metadata.distributions()))
        if found.name
    }
    pairs = (
        (name, installed.get(name.lower().replace("_", "-")), version) for name, version in tested().items()
    )
    return [
        f"{name} {here} (tested: {version})" for name, here, version in pairs if here not in (None, version)
    ]


def advice() -> str:
    """What to do when something fails that may be a matter of versions; nothing where all are the tested
    ones."""
    found = different()
    if not found:
        return ""
    named = ", ".join(found[:MOST]) + (f" and {len(found) - MOST} more" if len(found) > MOST else "")
    return f"Not tested with these versions: {named}. If they are the cause: python -m pip install -c constraints.txt -e ."
