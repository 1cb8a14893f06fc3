"""Agreement: how often the same form is the answer when a third of the rows is left out.

Nothing is searched anew: the formulas that a search found are fitted to each resample and chosen among as they
were in the fit. So agreement says how well these rows tell the known forms apart; a form that no search has
found yet is not among them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nsr.formulas.expressions import Valued
from nsr.numbers.fitting import fit_many
from nsr.search.deadline import Deadline
from nsr.search.model_selection import description_length


class Rival(NamedTuple):
    """A formula, how many constants it has by the count of its description, and what its description costs
    besides residuals and constants."""

    formula: Valued
    n_constants: int
    fixed: float


@dataclass(frozen=True)
class Agreement:
    """How often each formula was chosen; `form` is the answer to all rows."""

    form: str
    chosen: Counter[str]

    @property
    def times(self) -> int:
        return self.chosen[self.form]

    @property
    def of(self) -> int:
        return self.chosen.total()

    def __str__(self) -> str:
        """
        >>> print(Agreement("2*x", Counter({"2*x": 9, "x + 1": 1})))
        this form in 9 of 10 resamples; else x + 1 (1)
        """
        others = [f"{text} ({n})" for text, n in self.chosen.most_common() if text != self.form]
        return f"this form in {self.times} of {self.of} resamples{f'; else {others[0]}' if others else ''}"


def resample(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Two thirds of the rows, without replacement, with two values of y at least. (Repeated rows would look
    like exact measurements, and long formulas would win.)"""
    rows = np.sort(rng.choice(len(y), max(2, 2 * len(y) // 3), replace=False))
    if np.ptp(y[rows]) == 0:
        rows[:2] = y.argmin(), y.argmax()
    return rows


def chosen_again(
    rivals: Sequence[Rival],
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    floor: float,
    selection: str,
    n: int,
    deadline: Deadline,
) -> list[int]:
    """The number of the rival that is chosen in each of n resamples, in as many as there is time for."""
    rng, answers = np.random.default_rng(0), []
    while len(answers) < n and not (answers and deadline.passed):
        rows = resample(y, rng)
        some = X[rows], y[rows]
        fits = fit_many(
            [(rival.formula[0], *some) for rival in rivals],
            starts=0,
            initial=[rival.formula[1] or None for rival in rivals],
            weights=None if weights is None else [weights[rows]] * len(rivals),
        )
        lengths = [
            rival.fixed + description_length(fit.r2, len(rows), 0, rival.n_constants, floor)
            for rival, fit in zip(rivals, fits)
        ]
        keys = lengths if selection == "short" else [-fit.r2 for fit in fits]
        sizes = [len(rival.formula[0]) for rival in rivals]
        answers.append(min(range(len(rivals)), key=lambda i: (keys[i], sizes[i])))
    return answers
