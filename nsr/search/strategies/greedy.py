"""Greedy decoding: the one formula that the network finds most likely, token by token, as transformer4sr
answers."""

from dataclasses import dataclass

import numpy as np

from nsr.data.skeleton_tables import MAX_TOKENS
from nsr.search.decoding import Complete
from nsr.search.engine import Search, View
from nsr.search.oracle import Verify


@dataclass(frozen=True)
class Greedy:
    """Write the most likely token until the tree closes; there is one candidate, and its constants are
    fitted.

    The grammar mask ends a closed tree whatever the network thinks, as the published decoder (which has no
    END) does; a tree that would outgrow `max_len` is forced to close.
    """

    max_len: int = MAX_TOKENS
    starts: int = 8

    @property
    def name(self) -> str:
        return "greedy"

    def search(self, view: View, rng: np.random.Generator) -> Search:
        hypotheses = yield Complete((), 1, max_len=self.max_len)
        yield Verify.beam(hypotheses, starts=self.starts)
