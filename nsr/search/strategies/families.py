"""Families: verify a template with all the constants it may carry, then take out those that the data do not
ask for.

A network writes constants where it happens to; whether they stand where the data want them is luck, and a
wrong place fails like a wrong structure.  So each candidate is stripped to its template, the template is
saturated (a free constant wherever the generator may place one) and fitted once: that one verification is at
least as good as every placement of constants.  The best family is then pruned (nsr.search.pruning), and what
is left is the answer.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from nsr.formulas.constant_places import saturate
from nsr.formulas.equivalence import canonical, template_of
from nsr.formulas.expressions import CONSTANT, VARIABLES, Prefix, Template, fold, is_valid
from nsr.numbers.initial_guesses import FACTOR, WIDEST, analyse
from nsr.numbers.interpreter import prepare_program
from nsr.numbers.simplification import is_strained
from nsr.search.dialogue import Dialogue
from nsr.search.engine import Search, Strategy, View
from nsr.search.oracle import NOISE, Candidate, Verify
from nsr.search.pruning import PRICE, cost, prune, simplest
from nsr.search.strategies.beam import BeamSearch

FACTORS = (0.3, 3.0)  # where a factor starts besides 1, one constant at a time ...
SHIFTS = (-0.5, 0.5)  # ... and a summand besides 0, in half periods where it is a phase


@lru_cache(maxsize=65536)
def family_of(template: Template, shifted: bool = False) -> Prefix:
    """The saturated template without constants that say the same twice: in exp(C + …) the factor before exp
    does what the summand does.

    By the paper's text a summand stands beside a variable only. `shifted` families have one before the whole
    formula in any case.

    >>> family_of(("exp", "x1"))
    ('mul', 'C', 'exp', 'mul', 'C', 'x1')
    >>> family_of(("exp", "x1"), shifted=True)
    ('add', 'C', 'mul', 'C', 'exp', 'mul', 'C', 'x1')
    """
    whole = saturate(template)
    return ("add", CONSTANT, *whole.family()) if shifted and not whole.groups[0] else whole.family()


@lru_cache(maxsize=65536)
def starts_of(family: Prefix) -> tuple[float, ...]:
    """Starts around the identity, flat: one non-linear constant away from 1 or 0, the others at it."""
    program, K = prepare_program(family, len(VARIABLES))
    linear, kind, width = analyse(program, K)
    identity = np.where(kind == FACTOR, 1.0, 0.0)
    rows = []
    for k in np.flatnonzero(~linear):
        for value in FACTORS if kind[k] == FACTOR else [shift * min(width[k], WIDEST) for shift in SHIFTS]:
            rows.append(identity.copy())
            rows[-1][k] = value
    return tuple(float(c) for row in rows for c in row)


@lru_cache(maxsize=65536)
def alike(template: Template) -> tuple:
    """One key for templates with the same family: signs are factors, and a cosine with a phase is a sine.

    >>> alike(("sub", "x1", "cos", "x2")) == alike(("add", "sin", "x2", "x1"))
    True
    >>> alike(("cos", "exp", "x1")) == alike(("sin", "exp", "x1"))  # no constant may stand beside exp(x1)
    False
    """

    def visit(token: str, i: int, *args: tuple) -> tuple:
        """A sum as the sorted tuple of its terms, a term as a string."""
        if token in ("add", "sub"):
            return tuple(sorted(args[0] + args[1]))
        if token == "cos" and any(term in VARIABLES for term in args[0]):
            token = "sin"
        inner = ["+".join(terms) for terms in args]
        return (f"{token}({','.join(sorted(inner) if token == 'mul' else inner)})" if args else token,)

    return fold(template, visit)


@lru_cache(maxsize=65536)
def key_of(prefix: Prefix, families: bool = True) -> tuple:
    """What makes two expressions one candidate."""
    if not is_valid(prefix):
        return prefix
    return alike(template_of(prefix)) if families else canonical(prefix)


# ----------------------------------------------------------------------------------------------------------------- a search's book


@dataclass
class Book:
    """What one search has verified: each family once, and its answer so far, which is always a pruned one if
    there is any.

    A family that was verified before asks nothing of the oracle; everything else, the refits of
    pruning included, is counted.  `families=False` verifies expressions as they are and prunes nothing: the
    ablation.
    """

    view: View
    starts: int = 2
    price: float = PRICE
    families: bool = True
    # family (see `alike`) → its verification, with all its constants
    verifications: dict[tuple, Candidate] = field(default_factory=dict)
    template: dict[tuple, Prefix] = field(default_factory=dict)  # family → the template that stood for it
    loss: dict[tuple, float] = field(default_factory=dict)  # family → what a local search makes of it
    pruned: float = -math.inf  # R² of the last family that was pruned

    @property
    def shifted(self) -> bool:
        """Whether a formula may be shifted as a whole: in practice, where all operators are; not in the
        paper's controlled setting."""
        return "div" in self.view.vocabulary.operators

    def key(self, prefix: Prefix) -> tuple:
        return key_of(prefix, self.families)

    def request(
        self, prefixes: Sequence[Prefix], log_probs: Sequence[float] | None, note: str
    ) -> tuple[Verify | None, list[tuple]]:
        """A verification of those that are new (None if there are none), and which these are."""
        new: dict[tuple, tuple] = {}
        for j, prefix in enumerate(prefixes):
            key = self.key(prefix)
            if key in self.verifications or key in new:
                continue
            self.template[key] = template_of(prefix) if is_valid(prefix) and self.families else prefix
            whole = (
                family_of(self.template[key], self.shifted) if is_valid(prefix) and self.families else prefix
            )
            start = starts_of(whole) if is_valid(prefix) and self.families else ()
            new[key] = whole, log_probs[j] if log_probs else math.nan, start or None
        return Verify(
            *zip(*new.values()), starts=self.starts if self.families else 4, note=note
        ) if new else None, list(new)

    def note_down(
        self, prefixes: Sequence[Prefix], keys: list[tuple], candidates: Sequence[Candidate]
    ) -> list[Candidate]:
        """Remember what was verified; one candidate per prefix, with its own tokens and the scores of its
        family."""
        self.verifications.update(zip(keys, candidates))
        return [
            replace(self.verifications[self.key(prefix)], prefix=prefix, constants=()) for prefix in prefixes
        ]

    def verify(
        self, prefixes: Sequence[Prefix], log_probs: Sequence[float] | None = None, note: str = ""
    ) -> Generator[Any, Any, list[Candidate]]:
        """Verify expressions as families, prune the best if it is new."""
        request, keys = self.request(prefixes, log_probs, note)
        candidates = (yield from self.drafts([request]))[0] if request else []
        answers = self.note_down(prefixes, keys, candidates)
        yield from self.settle()
        return answers

    def drafts(self, requests: list[Any]) -> Generator[Any, Any, list[Any]]:
        """Ask the engine; what is verified here is no answer yet, unless there is no other."""
        oracle = self.view.oracle
        best, length = oracle.best, len(oracle.trace)
        try:
            return (yield requests)
        finally:  # also when the budget ends the search here
            if best is not None and self.families:
                oracle.best = best
                del oracle.trace[length:]

    def verified(
        self, steps: Generator[Verify, list[Candidate], Candidate]
    ) -> Generator[Any, Any, Candidate]:
        """What a pruning comes to, its verifications answered by the engine."""
        dialogue = Dialogue(steps)
        for requests in dialogue:
            dialogue.answers = yield from self.drafts(requests)
        return dialogue.result

    @property
    def best(self) -> Candidate | None:
        """The best verified family."""
        return min((c for c in self.verifications.values() if c.valid), key=lambda c: c.key, default=None)

    @property
    def solved(self) -> bool:
        """Nothing is left to explain, and if that is due to the rounding of y, the answer is a formula
        without constants."""
        best, answer = self.best, self.view.oracle.best
        if best is None:
            return False
        return (
            1.0 - best.r2 <= NOISE
            or 1.0 - best.r2 <= self.view.problem.floor
            and answer is not None
            and not answer.constants
        )

    def settle(self, least: float | None = None) -> Generator[Any, Any, None]:
        """Prune the best family if it explains more than the last one that was pruned, by at least what a
        constant has to."""
        best, P = self.best, len(self.view.problem.y)
        if best is None or not self.families:
            return
        gain = P * (math.log(max(1.0 - self.pruned, NOISE)) - math.log(max(1.0 - best.r2, NOISE)))
        if gain <= (self.price * math.log(P) if least is None else least):
            return
        first, self.pruned = self.pruned == -math.inf, best.r2
        oracle, floor = self.view.oracle, self.view.problem.floor
        short = yield from self.verified(prune(best, self.view.problem, self.price))
        if self.shifted and 1.0 - short.r2 <= max(NOISE, floor) and is_strained(short.constants):
            short = yield from self.verified(simplest(short, self.view.problem))
        if first or cost(short, P, self.price, floor) < cost(oracle.best, P, self.price, floor):
            oracle.prefer(short)


# ----------------------------------------------------------------------------------------------------------------- the strategy


@dataclass(frozen=True)
class Families:
    """Any strategy with its candidates verified as families: `Families()`, `Families(TPSR())`,
    `Families(GVS())`.

    The inner strategy is told the fit of the whole family for each expression that it asks about, so rewards
    and pools see it too. `starts` are the fit's own besides the ones around the identity; `price` is what a
    constant has to be worth (see nsr.search.pruning).
    """

    inner: Strategy = BeamSearch(5)
    starts: int = 2
    price: float = PRICE

    @property
    def name(self) -> str:
        return "families" if isinstance(self.inner, BeamSearch) else f"families+{self.inner.name}"

    @property
    def beam_size(self) -> int | None:
        return getattr(self.inner, "beam_size", None)

    def search(self, view: View, rng: np.random.Generator) -> Search:
        book = Book(view, self.starts, self.price)
        dialogue = Dialogue(self.inner.search(view, rng))
        for requests in dialogue:
            dialogue.answers = yield from self.ask(book, requests)
            yield from book.settle()
        yield from book.settle(0.0)

    def ask(self, book: Book, asked: list[Any]) -> Generator[Any, Any, list[Any]]:
        """Pass requests on, verifications as families, and the answers back in the terms of the one who
        asked."""
        passed = [
            book.request(r.prefixes, r.log_probs, r.note) if isinstance(r, Verify) else (r, []) for r in asked
        ]
        sent = [request for request, _ in passed if request is not None]
        got = iter((yield from book.drafts(sent)) if sent else [])
        answers = [next(got) if request is not None else [] for request, _ in passed]
        return [
            book.note_down(r.prefixes, keys, a) if isinstance(r, Verify) else a
            for r, (_, keys), a in zip(asked, passed, answers)
        ]
