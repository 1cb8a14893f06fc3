"""Following: whether a network that was told something about a formula writes formulas of which it is true.

For every problem and every selection of hints there is a line: the share of outputs that follow the hints,
how probable the truth is to the network, and how probable it is if the points are those of another problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nsr.data.hints import Complexity, Hint, Negative, Positive, Symmetry, encode
from nsr.data.problems import Problem
from nsr.evidence.novelty import ACCURATE
from nsr.formulas.equivalence import template_of
from nsr.formulas.expressions import END, is_valid, variables
from nsr.network.checkpoints import Trained
from nsr.search.decoding import Complete, NextTokens
from nsr.search.engine import Search, View, solve_all
from nsr.search.oracle import Candidate, Verify
from nsr.search.strategies.nsrwh import KINDS, NSRwH

if TYPE_CHECKING:
    import pandas as pd

CLASSES = dict(zip(KINDS, (Complexity, Symmetry, Positive, Negative), strict=True))
SELECTIONS = ("none", *KINDS, "all")


def followed(outputs: Iterable[Candidate], hints: Sequence[Hint]) -> dict[str, float]:
    """Of each kind of hints, the share of outputs of which all of them are true; nan if there are none of it."""
    outputs, found = list(outputs), {}
    for kind, cls in CLASSES.items():
        own = [hint for hint in hints if isinstance(hint, cls)]
        true = [
            is_valid(c.prefix) and all(hint.true_of(c.prefix, c.constants) for hint in own) for c in outputs
        ]
        found[kind] = float(np.mean(true)) if own and outputs else np.nan
    return found


def with_points_of_another(problems: Sequence[Problem]) -> list[Problem]:
    """Every problem with the points of the next one that uses the same variables, if there is one."""
    out = []
    for i, problem in enumerate(problems):
        rest = (*problems[i + 1 :], *problems[:i])
        alike = [other for other in rest if variables(other.truth) == variables(problem.truth)]
        if alike:
            out.append(replace(problem, X=alike[0].X, y=alike[0].y, X_fresh=None, y_fresh=None))
    return out


class Hinted:
    """Beam search with given hints per problem, which also notes the log-probability of the truth."""

    name = "told"

    def __init__(self, hints: Mapping[str, Sequence[Hint]], beam_size: int = 5, search: bool = True):
        self.hints, self.beam_size, self.search_too = hints, beam_size, search
        self.log_p: dict[str, float] = {}

    def search(self, view: View, rng: np.random.Generator) -> Search:
        ids = encode(self.hints[view.problem.name], view.vocabulary)
        tokens = (*view.problem.truth, END)
        steps = yield [NextTokens(tokens[:j], hints=ids) for j in range(len(tokens))]
        chances = (dict(step).get(token, -np.inf) for step, token in zip(steps, tokens, strict=True))
        self.log_p[view.problem.name] = sum(chances)
        if self.search_too:
            yield Verify.beam((yield Complete((), self.beam_size, hints=ids)))


def asked(
    problems: Sequence[Problem], test_set: str, trained: Trained, seed: int = 0, beam_size: int = 5
) -> pd.DataFrame:
    """A line per problem and selection of hints, drawn from the truth without values of constants. Columns
    `obeys_<kind>` look at all outputs, `answer_obeys_<kind>` at the answer; they ask about the hints of "all",
    told or not, because an output may agree with a hint by itself."""
    import pandas as pd

    s = trained.settings
    operators = {name: s[name] for name in ("min_operators", "max_operators")}
    strategies = {given: NSRwH(beam_size, given=given, values=0.0, **operators) for given in SELECTIONS}
    hints = {
        given: {p.name: strategy.hints(p, trained.vocabulary, p.stream(seed)) for p in problems}
        for given, strategy in strategies.items()
    }
    lines, exchanged = [], with_points_of_another(problems)
    for given in SELECTIONS:
        told, elsewhere = Hinted(hints[given], beam_size), Hinted(hints[given], beam_size, search=False)
        if exchanged:
            solve_all(exchanged, elsewhere, trained, seed=seed)
        for result in solve_all(problems, told, trained, seed=seed):
            name, everything = result.problem.name, hints["all"][result.problem.name]
            truth = template_of(result.problem.truth)
            answer = [result.answer] if result.answer else []
            lines.append(
                {
                    "test_set": test_set,
                    "problem": name,
                    "given": given,
                    "log_p": told.log_p[name],
                    "log_p_other_points": elsewhere.log_p.get(name, np.nan),
                    "accurate": result.r2 > ACCURATE,
                    "n_hints": len(hints[given][name]),
                    "found": any(
                        is_valid(c.prefix) and template_of(c.prefix) == truth for c in result.candidates
                    ),
                    **{f"obeys_{k}": v for k, v in followed(result.candidates, everything).items()},
                    **{f"answer_obeys_{k}": v for k, v in followed(answer, everything).items()},
                }
            )
    return pd.DataFrame(lines)
