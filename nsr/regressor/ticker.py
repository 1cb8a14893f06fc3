"""A ticker: one line that says how far a search is and what its best formula is by now."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

from nsr.search.oracle import Candidate, Oracle
from nsr.search.result import r2_text

OFTEN, SELDOM = 0.5, 10.0  # seconds between two lines: one that replaces the last, and one in a file


class Ticker:
    """Shows the best candidate of all searches; `write` puts it into the user's words."""

    def __init__(
        self,
        write: Callable[[Candidate], str],
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write, self._stream, self._clock = write, stream or sys.stderr, clock
        self._begun = self._last = clock()
        self._replaces = getattr(self._stream, "isatty", lambda: False)() or "ipykernel" in sys.modules
        self._longest = 0

    def __call__(self, oracles: list[Oracle]) -> None:
        now = self._clock()
        if now - self._last < (OFTEN if self._replaces else SELDOM):
            return
        self._last = now
        self._show(self.line(oracles, now - self._begun))

    def line(self, oracles: list[Oracle], seconds: float) -> str:
        tried = sum(oracle.n_candidates for oracle in oracles)
        best = min((o.best for o in oracles if o.best is not None), key=lambda c: c.key, default=None)
        found = "" if best is None else f", R² {r2_text(best.r2)}: {self._write(best)}"
        return f"{seconds:.0f} s, {tried:,} candidates{found}"

    def end(self) -> None:
        """Leave a clean line."""
        if self._longest:
            self._show("")
            self._stream.write("\r")
            self._stream.flush()

    def _show(self, line: str) -> None:
        if self._replaces:  # a line that is wrapped could not be replaced
            line = line[: shutil.get_terminal_size((120, 24)).columns - 1]
            self._stream.write(f"\r{line.ljust(self._longest)}")
            self._longest = len(line)
        else:
            self._stream.write(f"{line}\n")
        self._stream.flush()
