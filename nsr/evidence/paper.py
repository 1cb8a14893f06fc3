"""The paper's own numbers, all from params/paper_table.yaml, and how ours are set beside them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from nsr.book.foreign_files import Kind, read_yaml
from nsr.book.run_records import ROOT
from nsr.evidence.statistics import difference, wilson
from nsr.evidence.verdicts import DIFFERENT, verdict_on_difference

if TYPE_CHECKING:
    import pandas as pd

CELLS = ("novel_accurate", "novel_only", "accurate_only", "neither")  # the columns of the table, in %


class Cells(NamedTuple):
    """A row of the breakdown, in %: novel and R² > 0.99, novel only, R² > 0.99 only, neither."""

    novel_accurate: float
    novel_only: float
    accurate_only: float
    neither: float

    @property
    def novel(self) -> float:
        return self.novel_accurate + self.novel_only

    @property
    def accurate(self) -> float:
        return self.novel_accurate + self.accurate_only

    @property
    def novel_that_are_accurate(self) -> float:
        return 100 * self.novel_accurate / self.novel if self.novel else float("nan")


@cache
def _content() -> dict[str, Any]:
    return read_yaml(ROOT / "params" / "paper_table.yaml", Kind("the paper's table", ValueError))


def rows(strategy: str) -> dict[int, Cells]:
    """The rows of one strategy by beam size; empty if the paper has none.

    >>> rows("tpsr")[1]
    Cells(novel_accurate=0.45, novel_only=27.17, accurate_only=14.7, neither=57.69)
    """
    return {
        row["beam_size"]: Cells(*row["cells"]) for row in _content()["rows"] if row["strategy"] == strategy
    }


def row(strategy: str, beam_size: int) -> Cells | None:
    """One row of the table, or None where the paper has no such row."""
    return rows(strategy).get(int(beam_size))


def table() -> pd.DataFrame:
    """All rows in the paper's order: strategy, beam_size, its own name, the four cells, and whether it is set
    in bold."""
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "strategy": row["strategy"],
                "beam_size": row["beam_size"],
                "name": row["name"],
                **dict(zip(CELLS, row["cells"])),
                "bold": row.get("bold", False),
            }
            for row in _content()["rows"]
        ]
    )


# behind each row: three times 150, less a few that seem to have been dropped
PAPER_N: int = _content()["problems"]
PAPER_BEAM = rows("beam")


def compare(theirs: float, count: int, n: int) -> tuple[str, str, str]:
    """A share of the paper (in %), ours, both with Wilson intervals, and the verdict on their difference.

    The paper's problems are not ours, so the two are drawn independently, the paper's as many as it says.

    >>> compare(2.23, 30, 450), compare(2.23, 12, 450)[2], compare(20, 90, 450)[2]
    (('2.2 % (1–4)', '6.7 % (5–9)', 'different: ours is higher'), 'same', 'undecided')
    """
    counts = (round(theirs / 100 * PAPER_N), PAPER_N), (count, n)
    a, b = (wilson(*pair) for pair in counts)
    change = difference(*([1.0] * k + [0.0] * (total - k) for k, total in reversed(counts)))
    verdict = verdict_on_difference(change)
    if verdict == DIFFERENT:
        verdict += f": ours is {'higher' if change.value > 0 else 'lower'}"
    texts = (
        f"{value:.1f} % ({100 * x.low:.0f}–{100 * x.high:.0f})"
        for value, x in ((theirs, a), (100 * b.value, b))
    )
    return *texts, verdict


def denominators(cells: Cells, at_least: int = 140) -> list[int]:
    """Numbers of problems for which four whole counts give exactly these percentages, as printed with two
    digits.

    >>> denominators(rows("gvs")[3]), denominators(rows("gvs+tpsr")[1])
    ([225, 450], [])
    """

    def counts(n: int) -> list[int]:
        return [round(cell * n / 100) for cell in cells]

    def fits(n: int) -> bool:
        return sum(counts(n)) == n and all(
            abs(100 * k / n - cell) <= 0.00501 for k, cell in zip(counts(n), cells)
        )

    return [n for n in range(at_least, PAPER_N + 1) if fits(n)]
