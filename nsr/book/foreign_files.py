"""A file that somebody else may have written: it is read up to a size and a depth, or refused in a sentence.

Every noun of the project that lies in files has a `Kind`, with an error of its own. Nothing here executes
anything.
"""

import contextlib
import csv
import gzip
import json
import os
import stat
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from nsr.book.run_records import short

DEEPEST = 50  # lists within lists
LARGEST_YAML, LARGEST_JSON, LARGEST = 2**16, 2**26, 2**33  # bytes
PACKED, ALWAYS = 40, 2**24  # our texts shrink to a tenth; so many bytes may come out of however few
UNREADABLE = (OSError, EOFError, ValueError, RecursionError, csv.Error, zlib.error, yaml.YAMLError)


@dataclass(frozen=True)
class Kind:
    """What a file should be ("a recipe"), the error if it is not, and what the reader can do then."""

    name: str
    error: type[Exception]
    advice: str = ""

    @contextlib.contextmanager
    def of(self, what: Path | str) -> Iterator[None]:
        """Whatever goes wrong within is said in a sentence about `what`."""
        try:
            yield
        except UNREADABLE as problem:
            known = getattr(problem, "problem", None) or getattr(problem, "strerror", None) or problem
            deep = isinstance(problem, RecursionError)
            reason = "it is nested too deeply" if deep else " ".join(str(known).split())[:200]
            what = short(what) if isinstance(what, Path) else what
            words = f"{what} cannot be read as {self.name} ({reason or type(problem).__name__})."
            raise self.error(f"{words} {self.advice}".strip()) from None


def need(found: Mapping[str, Any], **parts: type | tuple[type, ...]) -> None:
    """Refuse an object without these parts, or with parts of other types; to be called within `Kind.of`."""
    for name, kinds in parts.items():
        if not isinstance(found.get(name), kinds):
            raise ValueError(f"it has no {name}, or a wrong one")


def read_bytes(path: Path, kind: Kind) -> bytes:
    """What is in a file, unpacked if its name ends in .gz."""
    with kind.of(path):
        return _bytes(path, LARGEST)


def read_lines(path: Path, kind: Kind) -> list[str]:
    """The lines of a text, unpacked if its name ends in .gz."""
    with kind.of(path):
        return _bytes(path, LARGEST).decode().removesuffix("\n").split("\n")


def _size(path: Path) -> int:
    about = os.stat(path)
    if not stat.S_ISREG(about.st_mode):  # a pipe would wait forever, a device never ends
        raise ValueError("it is no regular file")
    return about.st_size


def _bytes(path: Path, most: int) -> bytes:
    size, packed = _size(path), path.suffix == ".gz"
    if packed:
        most = min(most, max(ALWAYS, PACKED * size))
    parts, left = [], 0 if size > most else most + 1
    with gzip.open(path) if packed else open(path, "rb") as file:
        while left and (part := file.read(min(left, ALWAYS))):
            parts.append(part)
            left -= len(part)
    if not left:
        raise ValueError(f"it has more than {most:,} bytes")
    return b"".join(parts)


def read_yaml(path: Path, kind: Kind, most: int = LARGEST_YAML) -> Any:
    with kind.of(path):
        return parse_yaml(_bytes(path, most).decode(), most)


def parse_yaml(text: str, most: int = LARGEST_YAML) -> Any:
    """A value in plain YAML; to be called within `Kind.of`.

    >>> parse_yaml("[1, 2.5]")
    [1, 2.5]
    >>> with Kind("a value", ValueError).of("steps"):
    ...     parse_yaml("[")
    Traceback (most recent call last):
    ValueError: steps cannot be read as a value (expected the node content, but found '<stream end>').
    """
    if len(text) > most:
        raise ValueError(f"it has more than {most:,} characters")
    return _shallow(yaml.load(text, _Plain))


class _Plain(yaml.SafeLoader):
    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise ValueError(f"it repeats a part by its name, *{self.peek_event().anchor}")
        return super().compose_node(parent, index)


def read_json(path: Path, kind: Kind) -> dict[str, Any]:
    """An object: all our files in JSON are one."""
    with kind.of(path):
        return parse_json(_bytes(path, LARGEST_JSON))


def parse_json(text: bytes | str) -> dict[str, Any]:
    """An object in JSON; to be called within `Kind.of`."""
    found = _shallow(json.loads(text))
    if not isinstance(found, dict):
        raise ValueError(f"it is no object, but of the type {type(found).__name__}")
    return found


def _shallow(value: Any) -> Any:
    """The value itself, if it is not too deep for those who go through it."""
    layer = [value]
    for _ in range(DEEPEST):
        lists = [part for part in layer if isinstance(part, list)]
        objects = [part.values() for part in layer if isinstance(part, dict)]
        layer = [inner for part in (*lists, *objects) for inner in part]
        if not layer:
            return value
    raise RecursionError


@dataclass(frozen=True)
class TensorFile:
    """What the header of a safetensors file says: dtype, shape, and first and last byte of each tensor."""

    path: Path
    tensors: dict[str, tuple[str, tuple[int, ...], int, int]]
    about: dict[str, Any]

    def content(self) -> Iterator[bytes | str]:
        """Name, dtype, shape and bytes of each tensor, by name: all that they are, whatever order the file
        has."""
        with open(self.path, "rb") as file:
            for name, (dtype, shape, first, last) in sorted(self.tensors.items()):
                file.seek(first)
                yield from (name, dtype, str(shape), file.read(last - first))

    @property
    def numbers(self) -> int:
        """How many there are in all, at most: as if each of them were one byte."""
        return sum(last - first for _, _, first, last in self.tensors.values())


def read_tensor_file(path: Path, kind: Kind) -> TensorFile:
    """The header of a safetensors file; no tensor is read."""
    with kind.of(path):
        size = _size(path)
        with open(path, "rb") as file:
            start = 8 + int.from_bytes(file.read(8), "little")
            if not 8 <= start <= min(size, LARGEST_JSON):
                raise ValueError("it is truncated, or has no header of safetensors")
            header = parse_json(file.read(start - 8))
        about = header.pop("__metadata__", {})
        try:
            tensors = {
                name: (str(one["dtype"]), tuple(one["shape"]), *(start + at for at in one["data_offsets"]))
                for name, one in header.items()
            }
            places = [(first, last) for _, _, first, last in tensors.values()]
            whole = all(start <= a <= b <= size and type(a) is type(b) is int for a, b in places)
        except (KeyError, TypeError, ValueError):
            whole = False
        if not whole or not isinstance(about, dict):
            raise ValueError("it is truncated, or its header is damaged")
        return TensorFile(path, tensors, about)
