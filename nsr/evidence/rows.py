"""A row of a table: one strategy on one test set with one seed, and all that decides its numbers."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from nsr.book.run_records import digest
from nsr.data.practical_sets import SETS as PRACTICAL_SETS
from nsr.formulas.expressions import Prefix
from nsr.network.checkpoints import Trained, weights_digest
from nsr.numbers.fitting import Method
from nsr.search.engine import Budget, Strategy, suited
from nsr.search.protocol import Protocol

SEEDS = (0, 1, 2)  # of the test sets: each draws other formulas and other points
N_PROBLEMS = 150
N_POINTS = 100  # given to the strategy; as many fresh ones to report on
# What the record of a row holds, for the three kinds of test sets. A row is known by the digest of its record,
# order included, so these stay as they were when the tables were measured. "?": only if it is not zero
# or empty.
RECORDS = (
    "weights weights_digest test_set step seed n known first? fit?",
    "test_set weights seed noise n_bags n_points limit strategy options budget weights_digest fit?",
    "weights weights_digest strategy options test_set seed n_problems n_points step first? noise? budget fit?",
)
SKELETON_SETS = ("new_skeletons", "new_tables")  # see `nsr.evidence.scaling`


@dataclass(frozen=True)
class Row:
    """One row of a table: a strategy on one test set with one seed.

    The name of the test set says where its problems come from: `nsr.data.TEST_SETS` are drawn by the network's
    generator, `PRACTICAL_SETS` are laws and data, `SKELETON_SETS` are transformer4sr's. `step` asks for a
    snapshot of the training instead of the finished network; `limit` searches only so many problems of the
    set; `noise` is a share of y's standard deviation, on the given points; `show` names options of the
    strategy, or the `protocol`, that become columns, so that rows that differ in them can be told apart.

    `fit="bfgs"` fits constants as the published systems do. How they decode is said by the strategy; `under` a
    protocol both are what they have to be.

    `weights` names the network where a table has several. `n_bags` is for practical sets only; `known` is for
    skeletons only, the ones that no problem of `new_skeletons` may have.
    """

    strategy: Strategy
    test_set: str
    seed: int = 0
    n_problems: int = N_PROBLEMS
    n_points: int = N_POINTS
    step: int | None = None
    budget: Budget | None = None
    limit: int | None = None
    noise: float = 0.0
    show: tuple[str, ...] = ()
    weights: str = ""
    n_bags: int = 1
    known: frozenset[Prefix] = frozenset()
    fit: Method = ""

    def parameters(self, trained: Trained | None) -> dict[str, Any]:
        """All that decides the numbers of this row, apart from the code; None is a network that is not here."""
        strategy = suited(self.strategy, trained)
        values = vars(self) | {
            "weights": self.weights or trained.name,
            "weights_digest": weights_digest(trained, self.step) if trained else "",
            "strategy": self.strategy.name,
            "options": options_of(strategy) if dataclasses.is_dataclass(strategy) else {},
            "budget": dataclasses.asdict(self.budget) if self.budget else None,
            "first": self.limit,
            "n": self.n_problems,
            "known": _digest_of_known(self.known),
        }
        sets = (self.test_set in SKELETON_SETS, self.test_set in PRACTICAL_SETS, True)
        names = RECORDS[sets.index(True)].split()
        return {
            name.strip("?"): values[name.strip("?")] for name in names if name[-1] != "?" or values[name[:-1]]
        }

    @classmethod
    def under(cls, protocol: str, strategy: str, beam_size: int, test_set: str, **options: Any) -> Row:
        """The row of a strategy and a protocol, both by name, in a table that has a column `protocol`.

        >>> row = Row.under("published", "gvs", 5, "not_included", seed=1)
        >>> row.strategy.predictor.masked, row.fit, row.protocol
        (False, 'bfgs', 'published')
        """
        chosen = Protocol.named(protocol)
        made = chosen.strategy(strategy, beam_size)
        return cls(made, test_set, fit=chosen.fit, **{"show": ("protocol",)} | options)

    @property
    def protocol(self) -> str:
        return Protocol.of(self.strategy, self.fit).name

    @property
    def label(self) -> str:
        """The row in a few words, for the line of progress."""
        size = getattr(self.strategy, "beam_size", None)
        words = (
            self.weights,
            self.strategy.name,
            size and f"b={size}",
            self.test_set,
            f"seed {self.seed}",
            "" if self.step is None else f"step {self.step:,}",
            self.noise and f"{self.noise:.0%} noise",
            self.protocol if "protocol" in self.show else self.fit,
        )
        return " ".join(word for word in words if word)


def options_of(strategy: Any) -> dict[str, Any]:
    """The options of a strategy, and of those inside it, as a record has them.

    One that is marked as `later` came after the first tables, and is left out where it has its default: a row
    that was measured before it existed keeps its record.
    """
    return {
        option.name: options_of(value) if dataclasses.is_dataclass(value) else value
        for option in dataclasses.fields(strategy)
        if (value := getattr(strategy, option.name)) != option.default or not option.metadata.get("later")
    }


@lru_cache(maxsize=4)
def _digest_of_known(known: frozenset[Prefix]) -> str:
    return digest(*sorted(map(" ".join, known)))
