"""Reproduction bias: is an answer new, is it accurate, and how sure can we be?

> If strip(e) ∈ E_templ, we say s is a *reproduction* of expressions seen during training.

Novelty has four senses here. `novel` is the paper's: the template is not among the training templates.
`novel_seen`: the very token sequence was never shown in training. `novel_functional`: no training template
has the same values. `novel_family`: no training template describes the same family of functions once
constants are free. A failure is not novel in any sense and has R² = −inf.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nsr.evidence.statistics import wilson
from nsr.formulas.equivalence import family, template_of
from nsr.formulas.expressions import Prefix, Template, is_valid
from nsr.formulas.notation import to_infix
from nsr.numbers.fingerprints import function_of
from nsr.search.oracle import FAILED
from nsr.search.result import Result

if TYPE_CHECKING:
    import pandas as pd

# the paper prints 0.9999 twice; the last is meant to be 0.99999
THRESHOLDS = (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999)
ACCURATE = 0.99
SENSES = ("novel", "novel_seen", "novel_functional", "novel_family")


# -------------------------------------------------------------------------------------------------------------- novelty


@dataclass(frozen=True)
class Sense:
    """One sense of novelty: an expression is new if its form is not among the `known` ones.

    The known forms are made when first asked for. What is not new in the sense `within` is not new in this
    one either; that saves the work for what was copied.
    """

    form: Callable[[Prefix], Hashable]
    known: Callable[[], Collection[Hashable]]
    within: str = ""


class TrainingSet:
    """What a network was trained on, as the sets that novelty is measured against.

    `canonical` says that the templates have their canonical form already. `only` names the senses that are
    asked for, the others are None: families and functions of a million templates would take minutes.
    `senses` replaces the four senses by others (`nsr.evidence.scaling` has those of skeletons).

    >>> training = TrainingSet([("sin", "x1"), ("add", "x1", "x2")], seen=[("mul", "C", "sin", "x1")])
    >>> training.novelty(("sin", "add", "C", "x1"))
    {'novel': False, 'novel_seen': True, 'novel_functional': False, 'novel_family': False}
    >>> training.novelty(("cos", "x1"))
    {'novel': True, 'novel_seen': True, 'novel_functional': True, 'novel_family': False}
    """

    def __init__(
        self,
        templates: Iterable[Template],
        seen: Collection[Prefix] | None = None,
        *,
        canonical: bool = False,
        only: Collection[str] = SENSES,
        senses: Mapping[str, Sense] | None = None,
    ) -> None:
        self.templates = frozenset(templates if canonical else (template_of(tuple(t)) for t in templates))
        self.seen = frozenset(map(tuple, seen)) if isinstance(seen, list | tuple | set) else seen
        self.senses: Mapping[str, Sense | None] = senses or {
            "novel": Sense(template_of, lambda: self.templates),
            "novel_seen": None if seen is None else Sense(tuple, lambda: self.seen),
            "novel_functional": Sense(lambda e: function_of(template_of(e)), lambda: self.functions, "novel"),
            "novel_family": Sense(lambda e: family(template_of(e)), lambda: self.families, "novel"),
        } | dict.fromkeys(set(SENSES) - set(only))
        self._known: dict[Prefix, dict[str, bool | None]] = {}

    @classmethod
    def of(cls, trained: Any, only: Collection[str] = SENSES) -> TrainingSet:
        """The training set of loaded weights: `TrainingSet.of(load("laptop/nesymres"))`."""
        seen = trained.seen if "novel_seen" in only else None
        return cls(trained.templates, seen, canonical=True, only=only)

    @cached_property
    def functions(self) -> frozenset[str]:
        return frozenset(function_of(template) for template in self.templates)

    @cached_property
    def families(self) -> frozenset[Prefix]:
        return frozenset(family(template) for template in self.templates)

    def novelty(self, prefix: Prefix | None) -> dict[str, bool | None]:
        """Whether a prefix is new, in each sense; None where that cannot be known.

        What is not a valid expression is not novel in any sense."""
        if prefix is None or not is_valid(prefix):
            return dict.fromkeys(self.senses, False)
        if prefix not in self._known:
            new: dict[str, bool | None] = {}
            for name, sense in self.senses.items():
                new[name] = sense and (
                    new.get(sense.within, True) and sense.form(prefix) not in sense.known()
                )
            self._known[prefix] = new
        return self._known[prefix]

    def share_novel(self, generated: dict[Prefix, int], sense: str = "novel") -> float:
        """Share of all generated candidates, repetitions and failures included, that are novel; nan if there
        are none."""
        total = sum(generated.values())
        return (
            sum(n for prefix, n in generated.items() if self.novelty(prefix)[sense]) / total
            if total
            else math.nan
        )


# ------------------------------------------------------------------------------------------------- novel, but no discovery


def degenerate(answers: Iterable[Any]) -> np.ndarray:
    """Which answers are one token, or have no variable: such a formula is in no training set, and says nothing.

    >>> degenerate(["x1", "add C C", "sin x1", float("nan")]).tolist()
    [True, True, False, False]
    """
    words = [answer.split() if isinstance(answer, str) else [] for answer in answers]
    return np.array(
        [
            bool(tokens) and (len(tokens) == 1 or not any(t.startswith("x") for t in tokens))
            for tokens in words
        ],
        dtype=bool,
    )


def outside_language(answers: Iterable[Any]) -> np.ndarray:
    """Which answers multiply variables: templates of the SIMPLIFIED generator never do, so nothing of it
    could match them.

    >>> outside_language(["mul x1 x2", "mul C sin x1", float("nan")]).tolist()
    [True, False, False]
    """
    texts = [answer if isinstance(answer, str) else "" for answer in answers]
    multiplies = {
        text: "mul" in text.split() and "mul" in template_of(tuple(text.split())) for text in set(texts)
    }
    return np.array([multiplies[text] for text in texts], dtype=bool)


# --------------------------------------------------------------------------------------------------------------- tables


def tidy(
    results: Iterable[Result],
    reference: TrainingSet | None = None,
    *,
    test_set: str = "",
    strategy: str | None = None,
    **columns: Any,
) -> pd.DataFrame:
    """One row per problem, ready for CSV. `reference` defaults to each result's own; more `columns` are added
    as constants.

    `seconds` are of the processor, all cores together, so that rows measured on a busy machine can be
    compared.
    """
    import pandas as pd

    rows = []
    for i, result in enumerate(results):
        training, answer, truth = reference or result.reference, result.answer, result.problem.truth
        novelty = training.novelty(answer and answer.prefix) if training else dict.fromkeys(SENSES)
        rows.append(
            {
                "strategy": strategy or result.strategy,
                "beam_size": result.beam_size,
                "test_set": test_set,
                "seed": result.seed,
                "problem": result.problem.name or str(i),
                "truth": "" if truth is None else " ".join(truth),
                "answer": "" if answer is None else " ".join(answer.prefix),
                "r2": result.r2,
                **novelty,
                "candidates": result.n_candidates,
                "tokens": result.n_tokens,
                "seconds": round(result.processor, 4),
                "fits": result.n_fits,
                "evaluations": round(result.n_evaluations),
                "r2_given": result.r2_given,
                "log_prob": math.nan if answer is None else answer.log_prob,
                "answer_length": 0 if answer is None else len(answer.prefix),
                "truth_length": 0 if truth is None else len(truth),
                "answer_infix": ""
                if answer is None
                else to_infix(answer.prefix, answer.constants or None, digits=6),
                "same_template": answer is not None
                and truth is not None
                and template_of(answer.prefix) == template_of(truth),
                "same_family": answer is not None
                and truth is not None
                and family(answer.prefix) == family(truth),
                "share_novel_candidates": training.share_novel(result.generated) if training else math.nan,
                "stopped": result.stopped,
                "why": result.why,
                **columns,
            }
        )
    return pd.DataFrame(rows)


def flagged(rows: pd.DataFrame) -> pd.DataFrame:
    """Lines with two more flags, accurate and copied; a failure is neither. No beam size is 0."""
    answered = rows["answer"].notna() & (rows["answer"] != "")
    return rows.assign(
        beam_size=rows["beam_size"].fillna(0).astype(int),
        accurate=rows["r2"].astype(float) > ACCURATE,
        copied=answered & ~_flags(rows["novel"]),
    )


def breakdown(
    rows: pd.DataFrame,
    by: str | Sequence[str] = ("strategy", "beam_size"),
    threshold: float = ACCURATE,
    sense: str = "novel",
    confidence: float = 0.95,
) -> pd.DataFrame:
    """The paper's table: shares of {novel, not novel} × {R² > threshold, not}, each with its Wilson interval.

    Every problem is in the denominator; a failure is not novel and not accurate. Tidy: one row per group and
    cell.
    """
    import pandas as pd

    names = [by] if isinstance(by, str) else list(by)
    out = []
    for key, group in rows.groupby(names, dropna=False, sort=False):
        novel, accurate = _flags(group[sense]), _accurate(group["r2"], threshold)
        for is_novel in (True, False):
            for is_accurate in (True, False):
                k, n = int(np.sum((novel == is_novel) & (accurate == is_accurate))), len(group)
                out.append(
                    {
                        **dict(zip(names, key)),
                        "novel": is_novel,
                        "accurate": is_accurate,
                        "count": k,
                        "n": n,
                        "share": k / n,
                        **_interval_columns(k, n, confidence),
                    }
                )
    return pd.DataFrame(out)


def accuracy_curve(
    rows: pd.DataFrame,
    by: str | Sequence[str] = ("strategy", "beam_size"),
    thresholds: Sequence[float] = THRESHOLDS,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Share of problems with R² above each threshold, with its Wilson interval, per group."""
    import pandas as pd

    names = [by] if isinstance(by, str) else list(by)
    out = []
    for key, group in rows.groupby(names, dropna=False, sort=False):
        for threshold in thresholds:
            k, n = int(_accurate(group["r2"], threshold).sum()), len(group)
            out.append(
                {
                    **dict(zip(names, key)),
                    "threshold": threshold,
                    "count": k,
                    "n": n,
                    "share": k / n,
                    **_interval_columns(k, n, confidence),
                }
            )
    return pd.DataFrame(out)


def novelty_table(
    rows: pd.DataFrame, by: str | Sequence[str] = ("strategy", "beam_size"), confidence: float = 0.95
) -> pd.DataFrame:
    """Share of answers that are novel in each sense, with its Wilson interval, and the mean share of novel
    candidates, per group."""
    import pandas as pd

    names = [by] if isinstance(by, str) else list(by)
    out = []
    for key, group in rows.groupby(names, dropna=False, sort=False):
        for sense in SENSES:
            k, n = int(_flags(group[sense]).sum()), len(group)
            out.append(
                {
                    **dict(zip(names, key)),
                    "sense": sense,
                    "count": k,
                    "n": n,
                    "share": k / n,
                    **_interval_columns(k, n, confidence),
                    "share_novel_candidates": group["share_novel_candidates"].mean(),
                }
            )
    return pd.DataFrame(out)


def _flags(values: Iterable[Any]) -> np.ndarray:
    """True where true; missing counts as false (a failure is not novel)."""
    return np.array([value == 1 for value in values], dtype=bool)


def _accurate(r2: Iterable[float], threshold: float) -> np.ndarray:
    """R² > threshold; nan and −inf are not."""
    return np.asarray([float(value) if value is not None else FAILED for value in r2]) > threshold


def _interval_columns(k: int, n: int, confidence: float) -> dict[str, float]:
    interval = wilson(k, n, confidence)
    return {"low": interval.low, "high": interval.high}
