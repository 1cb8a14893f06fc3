"""The versions this project was tested with, constraints.txt, beside those that are installed here."""

import re
from importlib import metadata

from nsr.book.run_records import ROOT

MOST = 6  # packages named in a message


def tested() -> dict[str, str]:
    """Package → version, as constraints.txt pins it; empty where there is no such file."""
    path = ROOT / "constraints.txt"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return dict(re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE))


def different() -> list[str]:
    """The installed packages whose version is another one than the tested, in words."""
    plain = lambda name: name.lower().replace("_", "-")
    there = [found for found in reversed(list(metadata.distributions())) if found.name]
    installed = {plain(found.name): found.version.split("+")[0] for found in there}
    pairs = [(name, installed.get(plain(name)), version) for name, version in tested().items()]
    return [f"{name} {here} (tested: {known})" for name, here, known in pairs if here not in (None, known)]


def advice() -> str:
    """What to do when something fails that may be a matter of versions; nothing where all are the tested
    ones."""
    found = different()
    if not found:
        return ""
    named = ", ".join(found[:MOST]) + (f" and {len(found) - MOST} more" if len(found) > MOST else "")
    return f"Not tested with these versions: {named}. If they are the cause: python -m pip install -c constraints.txt -e ."
