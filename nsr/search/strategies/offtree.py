"""Off-tree search: force one token that the network finds unlikely, and let it write the rest.

A network copies at one token, the first at which no training formula begins like the true one (chapter 14).
Nobody who searches knows where that is. So every place of every hypothesis of a beam is tried: another token
is forced there, and the network goes on greedily. The results are ranked by their probability without the
forced token, because this is the one that the network misjudges, and the first are verified.
"""

from dataclasses import dataclass

import numpy as np

from nsr.formulas.expressions import Prefix
from nsr.search.decoding import Complete, Hypothesis, NextTokens
from nsr.search.engine import Search, View
from nsr.search.oracle import Verify


@dataclass(frozen=True)
class OffTree:
    """Verify a beam, then what begins like one of its hypotheses and turns off by one forced token.

    `candidates` are verified in all. `counted` is how much of the forced token's log-probability counts in
    the ranking: 0 none of it, 1 all, and then this is a beam that looks further. Of all places, the `places`
    most likely beginnings are turned off from.
    """

    beam_size: int = 20
    candidates: int = 150
    counted: float = 0.0
    places: int = 60

    @property
    def name(self) -> str:
        return "off-tree"

    def search(self, view: View, rng: np.random.Generator) -> Search:
        hypotheses = yield Complete((), self.beam_size)
        yield Verify.beam(hypotheses)
        turned = yield from self.turned(hypotheses)
        more = turned[: max(self.candidates - len(hypotheses), 0)]
        yield Verify.beam(more, note="forced")

    def turned(self, hypotheses: list[Hypothesis]) -> Search:
        """Every beginning of a hypothesis, one other token, and what the network writes after it; the best by
        the probability of the rest first."""
        beginnings = list(dict.fromkeys(h.prefix[:n] for h in hypotheses for n in range(len(h.prefix))))
        written = {*beginnings, *(h.prefix for h in hypotheses)}
        answers = yield [NextTokens(prefix) for prefix in beginnings]
        tables = {prefix: dict(answer) for prefix, answer in zip(beginnings, answers, strict=True)}
        summed = lambda prefix: sum(tables[prefix[:n]][token] for n, token in enumerate(prefix))
        likely = {prefix: summed(prefix) for prefix in beginnings}
        places = sorted(beginnings, key=likely.__getitem__, reverse=True)[: self.places]
        pairs = [(place, token) for place in places for token in tables[place]]
        turns = [(place, token) for place, token in pairs if (*place, token) not in written]
        completed = yield [Complete((*place, token), 1) for place, token in turns]
        best: dict[Prefix, Hypothesis] = {}
        for (place, token), rests in zip(turns, completed, strict=True):
            for rest in rests:
                log_prob = likely[place] + self.counted * tables[place][token] + rest.log_prob
                score = log_prob / (1 + len(rest.prefix))
                if rest.prefix not in best or score > best[rest.prefix].score:
                    best[rest.prefix] = Hypothesis(rest.prefix, log_prob, score)
        return sorted(best.values(), key=lambda h: h.score, reverse=True)
