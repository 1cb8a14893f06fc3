"""Verdicts: the words that an interval allows, for the claims and for every chapter.

A *claim* puts a number above or below a bound: it `holds` if the whole interval is on the claimed side,
`fails` if all of it is on the other, and is `undecided` in between. *Two numbers* are the `same` if the whole
interval of their difference lies within a margin, `different` if it leaves zero out, and `undecided`
otherwise. That two intervals overlap says neither.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from nsr.evidence.statistics import Interval

HOLDS, FAILS, UNDECIDED, MISSING = "holds", "fails", "undecided", "not measured yet"
SAME, DIFFERENT = "same", "different"
# Two shares are the same within five points. That is about as fine as two times 450 problems can tell: the
# interval of the difference of two shares near 20 % reaches five points to either side.
MARGIN = 0.05


def verdict_on_claim(estimate: Interval, above: float = -math.inf, below: float = math.inf) -> str:
    """Whether a number is above a bound, below one, or between two.

    >>> verdict_on_claim(Interval(3, 1, 5), above=0), verdict_on_claim(Interval(3, 1, 5), below=0)
    ('holds', 'fails')
    """
    if estimate.low > above and estimate.high < below:
        return HOLDS
    return FAILS if estimate.high < above or estimate.low > below else UNDECIDED


def verdict_on_difference(estimate: Interval, margin: float = MARGIN) -> str:
    """Whether two numbers are the same, from the interval of their difference.

    A difference that is certain, and certainly smaller than the margin, is `same`.

    >>> [verdict_on_difference(Interval(0.02, low, high)) for low, high in ((-0.01, 0.04), (0.01, 0.06), (-0.01, 0.06))]
    ['same', 'different', 'undecided']
    """
    if -margin < estimate.low and estimate.high < margin:
        return SAME
    return DIFFERENT if estimate.low > 0 or estimate.high < 0 else UNDECIDED


def together(verdicts: Iterable[str]) -> str:
    """The verdict on a claim of several parts: it holds if all of them hold, and fails if one of them does.

    >>> together(["holds", "undecided"]), together(["holds", "fails", "not measured yet"]), together(["holds", "not measured yet"])
    ('undecided', 'fails', 'not measured yet')
    """
    found = set(verdicts)
    return next((verdict for verdict in (FAILS, MISSING, UNDECIDED) if verdict in found), HOLDS)
