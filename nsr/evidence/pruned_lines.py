"""Pruned lines: what becomes of the answers of a table if they are pruned as those of families are.

Pruning takes constants out that the points do not need, and a dropped term changes the template. So a strategy
that prunes has novel answers that others could have, too. This is the control: stored answers are fitted again
to the points of their problems and pruned.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nsr.data.problems import Problem
from nsr.evidence.novelty import ACCURATE, TrainingSet
from nsr.formulas.equivalence import family
from nsr.search.oracle import Oracle, r2_fresh
from nsr.search.pruning import pruned

if TYPE_CHECKING:
    import pandas as pd


def pruned_answers(rows: pd.DataFrame, problems: Iterable[Problem], reference: TrainingSet) -> pd.DataFrame:
    """The lines of these problems with pruned answers: answer, r2, the senses of novelty, same_family, accurate and
    copied are those of the pruned one. A line without an answer stays as it is."""
    known = {problem.name: problem for problem in problems}
    rows = rows[rows["problem"].isin(known)]
    lines = []
    for line in rows.to_dict("records"):
        problem = known[line["problem"]]
        if line["truth"] != " ".join(problem.truth):
            raise ValueError(f"The problem {problem.name} is not the one that the table was measured with.")
        if isinstance(line["answer"], str) and line["answer"]:
            oracle = Oracle(problem)
            answer = pruned(oracle.verify([tuple(line["answer"].split())])[0], oracle)
            novelty = reference.novelty(answer.prefix)
            r2 = r2_fresh(problem, answer)
            line |= {
                "answer": " ".join(answer.prefix),
                "answer_length": len(answer.prefix),
                "r2": r2,
                **novelty,
            }
            line |= {"accurate": r2 > ACCURATE, "copied": not novelty["novel"]}
            line |= {"same_family": family(answer.prefix) == family(problem.truth)}
        lines.append(line)
    return type(rows)(lines, columns=rows.columns)
