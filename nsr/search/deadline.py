"""A deadline: the moment after which no more work is begun that an answer can do without."""

import math
import time
from collections.abc import Callable
from typing import TypeVar

Work = TypeVar("Work")
SHORTLY = 2.0  # seconds that an interrupted search has for its end


class Deadline:
    """So many seconds from now; None is never.

    >>> Deadline(None).left, Deadline(None).passed, Deadline(0.0).passed
    (inf, False, True)
    """

    def __init__(self, seconds: float | None = None, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock or time.perf_counter
        self._end = math.inf if seconds is None else self._clock() + seconds
        self.interrupted = False

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self._end - self._clock())

    @property
    def passed(self) -> bool:
        return self.left <= 0.0

    def interrupt(self, seconds: float = SHORTLY) -> None:
        """Somebody pressed Ctrl-C: what there is by now is to be judged shortly."""
        self.interrupted, self._end = True, min(self._end, self._clock() + seconds)

    def unless_interrupted(self, work: Callable[[], Work], otherwise: Work) -> Work:
        """What the work comes to, or something else after Ctrl-C.

        >>> deadline = Deadline(None)
        >>> deadline.unless_interrupted(lambda: 3, 0), deadline.interrupted
        (3, False)
        """
        try:
            return work()
        except KeyboardInterrupt:
            self.interrupt()
            return otherwise
