"""Where a network copies: what it thinks of every true token, before, at and after the step that leaves the
tree of its training prefixes; and what one token told to it changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from nsr.data.problems import Problem
from nsr.formulas.equivalence import template_of
from nsr.formulas.expressions import CONSTANT, END, START, Prefix
from nsr.formulas.prefix_trees import PrefixTree
from nsr.network.checkpoints import Trained
from nsr.search.decoding import Complete
from nsr.search.encoder_cache import Memories
from nsr.search.engine import Search, View, solve_all
from nsr.search.oracle import Verify

if TYPE_CHECKING:
    import pandas as pd

WALKED = 64  # problems whose tokens the decoder reads in one pass
PHASES = ("before", "at", "after")  # of a true token, beside the novel step of its formula
TOLD = ("nothing", "before", "at")  # which true tokens a search begins with


@torch.inference_mode()
def log_probabilities(
    trained: Trained, problems: Sequence[Problem], expressions: Sequence[Prefix]
) -> list[np.ndarray]:
    """For each problem (L+1, V): the log-probability of every token after every beginning of its expression."""
    network, ids = trained.network, trained.vocabulary.ids
    memories, tables = Memories(network, trained.vocabulary), []
    for start in range(0, len(problems), WALKED):
        some, theirs = problems[start : start + WALKED], expressions[start : start + WALKED]
        memory, rows = memories.rows([(problem, None) for problem in some])
        read = [torch.tensor([ids[START], *(ids[token] for token in e)]) for e in theirs]
        tokens = torch.nn.utils.rnn.pad_sequence(read, batch_first=True)  # (B, L)
        logits = network.decode(memory[rows], tokens)  # (B, L, V)
        each = torch.log_softmax(logits.double(), -1).cpu().numpy()
        tables += [each[i, : len(one)] for i, one in enumerate(read)]
    return tables


def walk(trained: Trained, problems: Sequence[Problem], tree: PrefixTree) -> pd.DataFrame:
    """One line per token of the true formulas, END included: how likely the network finds it, and where it
    stands beside the formula's novel step (`phase` is "" in a formula that the tree holds).

    `alike` counts the training expressions that begin like the truth up to and with this token, `others`
    those that begin like it up to this token and go on differently.
    """
    import pandas as pd

    truths = [problem.truth for problem in problems]
    rows = []
    for problem, truth, table in zip(problems, truths, log_probabilities(trained, problems, truths)):
        tokens, novel = (*truth, END), tree.novel_step(truth)
        for place, token in enumerate(tokens):
            log_prob = table[place, trained.vocabulary.ids[token]]
            alike = tree.count(tokens[: place + 1])
            phase = "" if novel is None else PHASES[1 + (place > novel) - (place < novel)]
            rows.append(
                {
                    "problem": problem.name, "place": place, "token": token, "length": len(truth),
                    "constants": truth.count(CONSTANT), "phase": phase, "log_prob": float(log_prob),
                    "rank": int((table[place] > log_prob).sum()), "alike": alike,
                    "others": tree.count(tokens[:place]) - alike,
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Told:
    """Beam search that begins with the first tokens of the truth: none, those before its novel step, or that
    step, too. It shows what one token decides; nobody who searches knows it.
    """

    tree: PrefixTree
    told: str = "nothing"
    beam_size: int = 5

    @property
    def name(self) -> str:
        return f"told {self.told}"

    def search(self, view: View, rng: np.random.Generator) -> Search:
        novel = self.tree.novel_step(view.problem.truth) or 0
        known = {"nothing": 0, "before": novel, "at": novel + 1}[self.told]
        hypotheses = yield Complete(view.problem.truth[:known], self.beam_size)
        yield Verify.beam(hypotheses)


def told(
    trained: Trained, problems: Iterable[Problem], tree: PrefixTree, beam_size: int = 5, seed: int = 0
) -> pd.DataFrame:
    """One line per problem that leaves the tree and per way of telling: R², and whether the template is true.

    A formula that only ends too early has no token to be told, and is left out.
    """
    import pandas as pd

    leaving = [
        p for p in problems if (place := tree.novel_step(p.truth)) is not None and place < len(p.truth)
    ]
    rows = []
    for way in TOLD:
        for result in solve_all(leaving, Told(tree, way, beam_size), trained, seed=seed):
            answer = result.answer
            same = answer is not None and template_of(answer.prefix) == template_of(result.problem.truth)
            rows.append(
                {
                    "problem": result.problem.name,
                    "told": way,
                    "beam_size": beam_size,
                    "r2": result.r2,
                    "same": same,
                }
            )
    return pd.DataFrame(rows)
