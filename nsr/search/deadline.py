"""A deadline: the moment after which no more work is begun that an answer can do without."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class Deadline:
    """So many seconds from now; None is never.

    >>> Deadline(None).left, Deadline(None).passed, Deadline(0.0).passed
    (inf, False, True)
    """

    def __init__(self, seconds: float | None = None, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock or time.perf_counter
        self._end = math.inf if seconds is None else self._clock() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self._end - self._clock())

    @property
    def passed(self) -> bool:
        return self.left <= 0.0
