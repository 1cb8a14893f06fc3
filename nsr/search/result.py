"""The result of a search: the same table for every strategy, with an arrow at the pick, and the any-time
trace behind it."""

from __future__ import annotations

import html
import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nsr.data.problems import Problem
from nsr.formulas.expressions import Prefix, is_valid
from nsr.formulas.notation import to_infix, to_latex
from nsr.search.oracle import FAILED, Candidate, Oracle, TracePoint, r2_fresh

if TYPE_CHECKING:  # pandas takes half a second to import
    import pandas as pd

SHOWN = 10  # rows that a printed table has
ARROW = "▶"
TEXTS = ("expression", "why")  # columns of text, which stand at the left; numbers at the right


@dataclass(frozen=True, eq=False)
class Result:
    """What a search found and what it cost. `answer` is None if nothing valid was found: a failure is a
    failure."""

    problem: Problem
    strategy: str
    beam_size: int | None
    seed: int
    answer: Candidate | None
    candidates: tuple[Candidate, ...]  # different expressions, best first
    generated: Counter = field(repr=False)  # every candidate generated, with repetitions: prefix → how often
    trace: tuple[TracePoint, ...] = field(repr=False)
    n_candidates: int
    n_fits: int
    n_evaluations: float  # see `nsr.numbers.fitting.Fit`
    n_tokens: int
    seconds: float  # on the wall
    processor: float  # seconds of all cores together
    stopped: str = ""  # why the search ended early; empty if it did not
    # training set with a method novelty(prefix); see nsr.evidence.novelty
    reference: Any = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        oracle: Oracle,
        strategy: str,
        beam_size: int | None,
        seed: int,
        answer: Candidate | None,
        stopped: str = "",
        reference: Any = None,
    ) -> Result:
        """Read a result off an oracle; `answer` is the strategy's own pick, None stands for the best it
        verified."""
        pick = oracle.best if answer is None else answer
        best: dict[Prefix, Candidate] = {}
        for candidate in oracle.verified.values():
            before = best.get(candidate.prefix)
            if before is None or candidate.key < before.key or candidate is pick:
                best[candidate.prefix] = candidate
        ranked = tuple(sorted(best.values(), key=lambda candidate: candidate.key))
        picked = pick if pick is not None and pick.valid else None
        counted = ("n_candidates", "n_fits", "n_evaluations", "n_tokens", "seconds", "processor")
        cost = {name: getattr(oracle, name) for name in counted}
        found = picked, ranked, oracle.generated, tuple(oracle.trace)
        about = {"stopped": stopped, "reference": reference}
        return cls(oracle.problem, strategy, beam_size, seed, *found, **cost, **about)

    @cached_property
    def r2(self) -> float:
        """R² of the answer on fresh points (on the given ones if there are no others); −inf for a failure."""
        if self.answer is None:
            return FAILED
        fresh = r2_fresh(self.problem, self.answer)
        return self.r2_given if math.isnan(fresh) else fresh

    @property
    def r2_given(self) -> float:
        """R² of the answer on the given points: what it was chosen by."""
        return FAILED if self.answer is None else self.answer.r2

    @property
    def why(self) -> str:
        """Why there is no answer, in words; empty if there is one."""
        if self.answer is not None:
            return ""
        early = f" ({self.stopped})" if self.stopped else ""
        if not self.n_candidates:
            return f"no candidate was generated{early}"
        return f"none of {self.n_candidates} candidates is a valid expression with finite values{early}"

    def best_at(
        self, candidates: float = math.inf, tokens: float = math.inf, seconds: float = math.inf
    ) -> Candidate | None:
        """The best candidate when no more than this had been spent: the any-time curve."""
        limits = ("candidates", candidates), ("tokens", tokens), ("seconds", seconds)
        within = lambda point: all(getattr(point, name) <= most for name, most in limits)
        return next((point.best for point in reversed(self.trace) if within(point)), None)

    # ------------------------------------------------------------------------------------------------------------ tables

    def to_frame(self, limit: int | None = None) -> pd.DataFrame:
        """One row per candidate, best first; the pick has an arrow."""
        import pandas as pd

        names = ["", "rank", "expression", "tokens", "log_prob", "r2", "r2_fresh"]
        pick, rows = None if self.answer is None else self.answer.prefix, []
        for rank, c in enumerate(self.candidates[:limit], start=1):
            fit = c.log_prob, c.r2, r2_fresh(self.problem, c)
            row = ARROW if c.prefix == pick else "", rank, _infix(c), len(c.prefix), *fit
            novelty = self.reference.novelty(c.prefix) if self.reference is not None else {}
            rows.append({**dict(zip(names, row)), **novelty, "why": c.why})
        return pd.DataFrame(rows) if rows else pd.DataFrame(columns=[*names, "why"])

    def _shown(self, write=None) -> list[list[str]]:
        """Header and rows as text: the first SHOWN candidates, and the pick if it comes later."""
        frame = self.to_frame()
        chosen = [i for i in range(len(frame)) if i < SHOWN or frame[""].iloc[i]]
        names = [name for name in frame.columns if name != "why" or any(frame["why"].iloc[i] for i in chosen)]
        heads = {"novel": "structure", "log_prob": "log p", "r2": "R²", "r2_fresh": "R² fresh"}
        table = [[heads.get(name, name.removeprefix("novel_")) for name in names]]
        for i in chosen:
            cells = [_cell(name, frame[name].iloc[i]) for name in names]
            if write is not None:
                cells[names.index("expression")] = write(self.candidates[i])
            table.append(cells)
        return table

    def summary(self) -> str:
        """The search in a line: what it was, what it cost, how it ended."""
        size = f" (b = {self.beam_size})" if self.beam_size else ""
        on = f" on {self.problem.name}" if self.problem.name else ""
        cost = f"{self.n_candidates:,} candidates, {self.n_fits:,} fits, {self.n_tokens:,} decoder tokens"
        end = self.why or self.stopped  # why there is no answer says why it was stopped, too
        return f"{self.strategy}{size}{on}: {cost}, {self.seconds:.2f} s{f'; {end}' if end else ''}"

    def __str__(self) -> str:
        table = self._shown()
        widths = [max(map(len, column)) for column in zip(*table)]
        sides = ["<" if name in TEXTS else ">" for name in table[0]]
        columns = list(zip(sides, widths))
        padded = [[f"{cell:{side}{w}}" for cell, (side, w) in zip(row, columns)] for row in table]
        lines = ["  ".join(row).rstrip() for row in padded]
        rest = len(self.candidates) - len(table) + 1
        return "\n".join([self.summary(), *lines, *([f"… and {rest:,} more"] if rest else [])])

    def _repr_html_(self) -> str:
        head, *rows = self._shown()
        rest = len(self.candidates) - len(rows)

        def line(cells: list[str], tag: str) -> str:
            sides = ["left" if name in TEXTS else "right" for name in head]
            drawn = [
                (f"{tag} style='text-align:{side}'", html.escape(cell)) for side, cell in zip(sides, cells)
            ]
            return f"<tr>{''.join(f'<{start}>{text}</{tag}>' for start, text in drawn)}</tr>"

        body = "".join(line(row, "td") for row in rows)
        more = f"<p>… and {rest:,} more</p>" if rest else ""
        return f"<p>{html.escape(self.summary())}</p><table><thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>{more}"

    def to_latex(self) -> str:
        """The printed table as a LaTeX tabular (package booktabs)."""
        head, *rows = self._shown(write=_latex)
        where = head.index("expression")
        escape = {"▶": r"$\blacktriangleright$", "−∞": r"$-\infty$"}
        escape |= {"R²": "$R^2$", "R² fresh": "$R^2$ fresh", "log p": r"$\log p$"}
        special = str.maketrans({"−": "$-$", "_": r"\_", "&": r"\&", "%": r"\%"})
        plain = lambda cell: escape.get(cell, cell.translate(special))
        cells = [[cell if k == where else plain(cell) for k, cell in enumerate(row)] for row in rows]
        align = "".join("l" if name in TEXTS else "r" for name in head)
        first, *others = (" & ".join(row) + r" \\" for row in [[*map(plain, head)], *cells])
        lines = [rf"\begin{{tabular}}{{{align}}}", r"\toprule", first, r"\midrule", *others, r"\bottomrule"]
        return "\n".join([*lines, r"\end{tabular}"])


def _infix(candidate: Candidate) -> str:
    """The expression with its fitted constants; the bare tokens if they do not form one."""
    if not is_valid(candidate.prefix):
        return " ".join(candidate.prefix)
    return to_infix(candidate.prefix, _finite(candidate), digits=4)


def _finite(candidate: Candidate) -> tuple[float, ...] | None:
    """Constants that can be printed; None (then C is) if the fit failed."""
    printable = candidate.constants and all(map(math.isfinite, candidate.constants))
    return candidate.constants if printable else None


def _latex(candidate: Candidate) -> str:
    if not is_valid(candidate.prefix):
        special = str.maketrans({"_": r"\_", "<": r"\textless{}", ">": r"\textgreater{}"})
        return rf"\texttt{{{' '.join(candidate.prefix).translate(special)}}}"
    return f"${to_latex(candidate.prefix, _finite(candidate))}$"


def _cell(name: str, value: Any) -> str:
    """A table cell as a person wants to read it."""
    if value is None:
        return ""
    if name.startswith("novel"):
        return "novel" if value else "copied"
    if name == "log_prob":
        return "" if math.isnan(value) else f"{value:.2f}"
    if name in ("r2", "r2_fresh"):
        return "" if math.isnan(value) else r2_text(value)
    return str(value)


def r2_text(r2: float) -> str:
    """R² as text that never rounds up to 1: 0.99 and 0.99999 are different findings.

    >>> [r2_text(r2) for r2 in (0.5, 0.99996, 1 - 1e-9, 1.0, -3e7, float("-inf"))]
    ['0.5000', '0.99996', '1 − 1e-09', '1', '−3e+07', '−∞']
    """
    if r2 == FAILED:
        return "−∞"
    if 1.0 - r2 < 1e-12:
        return "1"
    if 1.0 - r2 < 1e-5:
        return f"1 − {1.0 - r2:.0e}"
    text = f"{r2:.5f}" if r2 > 0.999 else f"{r2:.4f}" if r2 > -1000 else f"{r2:.0e}"
    return text.replace("-", "−", 1) if r2 < 0 else text
