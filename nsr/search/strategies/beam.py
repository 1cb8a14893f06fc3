"""Beam search: the default decoding of NeSymReS, and the yardstick of every other strategy."""

from dataclasses import dataclass

import numpy as np

from nsr.formulas.equivalence import canonical
from nsr.formulas.expressions import is_valid
from nsr.search.decoding import MAX_LEN, Complete, Stop
from nsr.search.engine import Search, View
from nsr.search.oracle import Verify


@dataclass(frozen=True)
class BeamSearch:
    """Write the `beam_size` most likely expressions, fit their constants, answer with the one that fits best.

    `masked=False` decodes without the grammar, as the published code does; `unique` drops outputs that are
    the same expression in another order before they are fitted. The rest are the options of `Complete`.
    """

    beam_size: int = 5
    length_penalty: float = 1.0
    masked: bool = True
    stop: Stop = "bound"
    max_len: int = MAX_LEN
    unique: bool = False
    starts: int = 4

    @property
    def name(self) -> str:
        return "beam"

    def search(self, view: View, rng: np.random.Generator) -> Search:
        rules = {name: getattr(self, name) for name in ("length_penalty", "masked", "stop", "max_len")}
        hypotheses = yield Complete((), self.beam_size, **rules)
        if self.unique:
            first = {canonical(h.prefix) if is_valid(h.prefix) else h.prefix: h for h in reversed(hypotheses)}
            hypotheses = [h for h in hypotheses if h in first.values()]
        yield Verify.beam(hypotheses, starts=self.starts)
