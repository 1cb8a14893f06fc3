"""FastSRB: laws of physics with the ranges of physical quantities, and the forms of an answer that its authors
accept.

The file expressions.yaml (Martinek 2025, MIT licence) is not committed; it is looked for in the folder of test
sets. Its laws are those of AI-Feynman, in units such as metres and kilograms, with the constants of nature as
numbers. A column is drawn as the file says: uniform or log-uniform in its range, rounded where it is a whole
number, with a random sign where it may have both. A row in which the law has no finite value is drawn again.

A fixed quarter of the laws, chosen by a hash of their names, is for development, and the others are the test.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nsr.book.foreign_files import Kind, need, read_yaml
from nsr.data.laws import equations, without_tanh
from nsr.data.practical_sets import TESTSETS, folder_of
from nsr.data.problems import Problem, ProblemError, noisy
from nsr.formulas.expressions import Valued
from nsr.formulas.parsing import parse
from nsr.numbers import random_streams
from nsr.numbers.evaluation import evaluate

N_GIVEN = 512  # rows, as in published comparisons; as many fresh ones judge
PARTS = ("development", "test")
LARGEST_FILE = 2**20  # bytes
TRIES = 200  # blocks of rows that are drawn until enough have a value
FASTSRB = Kind("FastSRB's laws", ProblemError)
# AI-Feynman's names of laws that the file shortens by a digit at their ends
_RENAMED = {
    "I.6.2": "I.6.20",
    "I.6.2a": "I.6.20a",
    "I.6.2b": "I.6.20b",
    "I.15.1": "I.15.10",
    "I.34.1": "I.34.10",
}
_RENAMED |= {"I.39.1": "I.39.10", "I.48.2": "I.48.20"}


@dataclass(frozen=True)
class Column:
    """How a column of a law is drawn."""

    name: str
    low: float
    high: float
    spread: str  # log, uni or int
    sign: str  # pos, neg or pos_neg

    def drawn(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n values (n,)."""
        if self.spread == "log":
            values = 10.0 ** rng.uniform(np.log10(self.low), np.log10(self.high), n)
        else:
            values = rng.uniform(self.low, self.high, n)
        if self.spread == "int":
            values = values.round()
        signs = {"pos": 1.0, "neg": -1.0}.get(self.sign)
        return values * (rng.choice((-1.0, 1.0), n) if signs is None else signs)

    def widened(self) -> Column:
        """The same column in a wider range: ten times as wide, or a million times where it is logarithmic."""
        if self.spread == "log":
            return replace(self, low=self.low / 1e3, high=self.high * 1e3)
        more = 4.5 * (self.high - self.low)
        return replace(self, low=self.low - more, high=self.high + more)


@dataclass(frozen=True)
class PublicLaw:
    """One law of the file: its formula, its columns, and the forms that count as it."""

    name: str
    formula: str  # in x1, x2, …
    columns: tuple[Column, ...]
    forms: tuple[str, ...]

    @property
    def number(self) -> int:
        """A number made from its name, by which the laws are shared out."""
        return hashlib.sha256(self.name.encode()).digest()[1]

    @property
    def part(self) -> str:
        """Development for a quarter of the names, test for the others.

        >>> [PublicLaw(name, "x1", (), ()).part for name in ("I.8.14", "I.12.1")]
        ['development', 'test']
        """
        return PARTS[hashlib.sha256(self.name.encode()).digest()[0] % 4 != 0]

    @property
    def outside(self) -> bool:
        """Whether it is none of AI-Feynman's 92 laws with at most five variables."""
        return _RENAMED.get(self.name, self.name) not in {law.lecture for law in equations()}

    @cached_property
    def parsed(self) -> Valued:
        return parse(self.formula)

    def problem(
        self, seed: int = 0, n_points: int = N_GIVEN, n_fresh: int = N_GIVEN, noise: float = 0.0
    ) -> Problem:
        """Rows of the law, each with a finite value; `noise` is a share of y's standard deviation, on given rows
        only."""
        rng = np.random.default_rng([random_streams.FASTSRB, zlib.crc32(self.name.encode()), seed])
        wanted, (prefix, constants) = n_points + n_fresh, self.parsed
        X, y = np.empty((0, len(self.columns))), np.empty(0)
        for _ in range(TRIES):
            block = np.column_stack([column.drawn(rng, wanted) for column in self.columns])  # (P, D)
            values = evaluate(prefix, block, constants)
            good = np.isfinite(values)
            X, y = np.concatenate([X, block[good]])[:wanted], np.concatenate([y, values[good]])[:wanted]
            if len(y) == wanted:
                given = noisy(y[:n_points], noise, rng)
                return Problem(X[:n_points], given, self.name, *self.parsed, X[n_points:], y[n_points:])
        raise ProblemError(f"{self.name}: only {len(y)} of {wanted} rows have a value")

    def wide_rows(self, n: int = 500) -> np.ndarray:
        """Rows (n, D) of wider ranges, where an answer that only fits differs from the law."""
        rng = np.random.default_rng([random_streams.FASTSRB, zlib.crc32(self.name.encode())])
        return np.column_stack([column.widened().drawn(rng, n) for column in self.columns])


def public_laws(part: str = "", path: Path | str | None = None) -> list[PublicLaw]:
    """The laws of a part, or all of them, in the order of the file."""
    place = Path(path) if path else folder_of(TESTSETS) / "fastsrb" / "expressions.yaml"
    found = read_yaml(place, FASTSRB, LARGEST_FILE)
    with FASTSRB.of(place):
        need({"file": found}, file=dict)
        laws = [_law(str(name), about) for name, about in found.items()]
    return [law for law in laws if part in ("", law.part)]


def _law(name: str, about: Any) -> PublicLaw:
    need({name: about}, **{name: dict})
    need(about, prepared=str, accept=list, vars=dict)
    inputs = {key: one for key, one in about["vars"].items() if key != "v0"}
    if set(inputs) != {f"v{i}" for i in range(1, len(inputs) + 1)}:
        raise ValueError(f"{name}: its variables are not v1, v2, …")
    columns = tuple(_column(inputs[f"v{i}"]) for i in range(1, len(inputs) + 1))
    return PublicLaw(
        name, _text(about["prepared"]), columns, tuple(_text(str(one)) for one in about["accept"])
    )


def _column(about: Any) -> Column:
    need({"column": about}, column=dict)
    need(
        about, name=(str, bool), sample_range=list, sample_type=list
    )  # a plain n or y may be read as a truth value
    # two ranges of the file have a third entry, a remark that says what the sign says
    (low, high), (spread, sign) = map(float, about["sample_range"][:2]), about["sample_type"]
    if spread not in ("log", "uni", "int") or sign not in ("pos", "neg", "pos_neg") or not low <= high:
        raise ValueError(f"a column is drawn as {spread}, {sign} from {low:g} to {high:g}")
    if spread == "log" and low <= 0:
        raise ValueError(f"log-uniform from {low:g}")
    return Column(str(about["name"]), low, high, spread, sign)


def _text(formula: str) -> str:
    """A formula of the file in the notation of `parse`.

    >>> _text("v1 * tanh(v2 / 3.0)")
    'x1 * (1 - 2/(exp(2*(x2 / 3.0)) + 1))'
    """
    return without_tanh(re.sub(r"\bv(\d+)\b", r"x\1", formula))
