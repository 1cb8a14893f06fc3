"""A lesson can be taught in one sitting: its cells, its code and its words are counted, and its figures have
texts for those who do not see them. `python tests/book/test_lessons.py` prints the table."""

import ast
import re
import statistics
from functools import cache
from pathlib import Path

import jupytext
import pytest

from nsr.book import runner

read = cache(jupytext.read)  # for those who change nothing

LESSONS, REPORTS = runner.notebooks(), runner.appendix()
FOLDED = {"parameters", "hide-input", "hide-cell", "remove-input", "remove-cell", "solution", "check"}
MOST_CELLS = 56  # "about 50", with the nine of three exercises
WORDS_PER_LINE = 6, 12  # prose for each visible line of code
MEDIAN_LINES = 3.5, 8.5  # of a visible code cell
MOST_MINUTES = 50
MOST_IMPORTS = 12  # lines; they are folded
PICTURES = {"save", "control"}  # calls that show a picture, and want its alternative text


def visible(cell) -> bool:
    return cell.cell_type == "code" and not FOLDED & set(cell.metadata.get("tags", []))


def lines_of(source: str) -> int:
    return sum(bool(line.strip()) for line in source.splitlines())


def words_of(source: str) -> int:
    """Words that a reader reads: without addresses of links, comments and blocks of code."""
    text = re.sub(r"```.*?```", "", source, flags=re.DOTALL)
    return len(re.sub(r"\]\([^)]*\)", "]", text).split())


def counted(path: Path) -> dict[str, float]:
    cells = read(path).cells
    shown = [lines_of(cell.source) for cell in cells if visible(cell)]
    words = sum(words_of(cell.source) for cell in cells if cell.cell_type == "markdown")
    pictures = sum(len(calls(cell.source, PICTURES)) for cell in cells if cell.cell_type == "code")
    after = [visible(a) and visible(b) for a, b in zip(cells, cells[1:], strict=False)]
    return {
        "cells": len(cells),
        "visible lines": sum(shown),
        "words per line": round(words / max(sum(shown), 1), 1),
        "median lines": statistics.median(shown) if shown else 0,
        "longest": max(shown, default=0),
        "code after code": round(sum(after) / max(len(shown), 1), 2),
        "pictures": pictures,
        # speaking 130 words a minute, ten lines of code a minute, and one minute for each picture and exercise
        "minutes": round(words / 130 + sum(shown) / 10 + pictures + 3),
    }


def calls(source: str, names: set[str]) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
    ]


each_lesson = pytest.mark.parametrize("path", LESSONS.values(), ids=LESSONS.keys())


@pytest.mark.static
@each_lesson
def test_a_lesson_has_the_size_of_a_lesson(path: Path):
    found = counted(path)
    assert found["cells"] <= MOST_CELLS
    assert WORDS_PER_LINE[0] <= found["words per line"] <= WORDS_PER_LINE[1], found
    assert MEDIAN_LINES[0] <= found["median lines"] <= MEDIAN_LINES[1], found
    assert found["longest"] <= 30 and found["code after code"] <= 0.15, found
    assert found["minutes"] <= MOST_MINUTES, found


@pytest.mark.static
@pytest.mark.parametrize("path", (LESSONS | REPORTS).values(), ids=(LESSONS | REPORTS).keys())
def test_every_picture_has_a_text(path: Path):
    for cell in read(path).cells:
        for call in calls(cell.source, PICTURES) if cell.cell_type == "code" else ():
            assert "alt" in {keyword.arg for keyword in call.keywords}, ast.unparse(call)


if __name__ == "__main__":
    import pandas as pd

    print(pd.DataFrame({name: counted(path) for name, path in LESSONS.items()}).T.to_string())
