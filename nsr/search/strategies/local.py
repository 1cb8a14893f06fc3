"""Verified local search: from the best verified families, single edits, where the network points.

    start     the families of the network's beam (or of random templates of p_E)
    choose    the family with the smallest  ln(1 − R²) + patience · (times it was edited before),  where R²
              is of compressed values
    edit      every single edit of it (nsr.formulas.editing), drawn without replacement with weights p / n, and
              what the network writes after such an edit; p is the probability of the first token that
              differs, given the tokens before it and the data, and n the number of edits that share this
              token and place
    verify    the new ones as families; the best is pruned and is the answer so far

Each edit is checked against the data, and that is what the theorem says a network cannot do for its last
token.  Without the network (`start="random", guided=False`) it is genetic programming with families.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from nsr.book.spelling import refuse_unknown
from nsr.data.templates import TreeRecipe, draw_templates
from nsr.formulas.editing import KINDS, Edit, edits, last_leaf, operators_of, template_if_allowed
from nsr.formulas.equivalence import template_of
from nsr.formulas.expressions import CONSTANT, Prefix, Template, Token, Vocabulary, subtrees, variables
from nsr.formulas.normal_form import strip
from nsr.numbers import random_streams
from nsr.numbers.compression import compressed_r2
from nsr.numbers.evaluation import evaluate
from nsr.search.decoding import Complete, NextTokens
from nsr.search.engine import Search, View
from nsr.search.oracle import NOISE
from nsr.search.outer import Outer
from nsr.search.pruning import PRICE, shortened
from nsr.search.strategies.families import Book
from nsr.search.strategies.gvs import random_expressions

BANK = 4096  # random templates that all problems share; each draws from them with its own random numbers
UNLIKELY = -12.0  # log-probability of a token that the network was not asked for or cannot write


@dataclass(frozen=True)
class Round:
    """What one round of edits did, for those who watch."""

    problem: str
    parent: Prefix  # as it was shown to the network
    r2: float
    children: tuple[Edit, ...]
    best: float  # R² of the best family afterwards


@dataclass
class Agenda:
    """What is still to be tried with one verified family."""

    shown: Prefix  # as the network would write it
    edits: list[Edit]  # the next one last
    # other tokens after which the network goes on by itself, the next one first
    places: list[tuple[int, Token]]
    rounds: int = 0

    @property
    def done(self) -> bool:
        return not self.edits and not self.places


@dataclass(frozen=True)
class LastLeaf:
    """The smallest local search: families of the beam's templates, then each with another variable for its
    last token."""

    beam_size: int = 5
    starts: int = 2
    price: float = PRICE

    @property
    def name(self) -> str:
        return "last-leaf"

    def search(self, view: View, rng: np.random.Generator) -> Search:
        book, leaves = Book(view, self.starts, self.price), leaves_of(view)
        hypotheses = yield Complete((), self.beam_size)
        beam = yield from book.verify(
            [h.prefix for h in hypotheses], [h.log_prob for h in hypotheses], "beam"
        )
        for candidate in sorted(beam, key=lambda c: c.key):
            if not book.solved:
                changed = (
                    template_if_allowed(new, len(new))
                    for new in last_leaf(template_of(candidate.prefix), leaves)
                )
                yield from book.verify([template for template in changed if template], note="last leaf")
        yield from book.settle(0.0)


@dataclass(frozen=True)
class LocalSearch:
    """Verified local search; see the top of this file.

    `candidates` is where it ends by itself (or when nothing is left to explain); `edits` new families are
    verified per round, at most `completions` of them written by the network; `max_operators` bounds a
    template.  Ablations: `start="random"`, `guided=False` (no network at all with both), `families=False`
    (constants stay where the network put them, edits add none), `robust=False` (families are chosen by R²
    itself), fewer `kinds`, `completions=0`.  `first` are expressions that are verified before the network is
    asked; nothing with an operator in `forbid` is verified, and nothing that has not the form `outer`.  `watch` is called with a `Round` after each one.
    """

    beam_size: int = 5
    start: Literal["beam", "random"] = "beam"
    guided: bool = True
    families: bool = True
    kinds: tuple[str, ...] = KINDS
    edits: int = 8
    completions: int = 2
    patience: float = 0.2
    max_operators: int = 6
    candidates: int = 450
    starts: int = 2
    price: float = PRICE
    robust: bool = True
    first: tuple[Prefix, ...] = field(default=(), metadata={"later": True})
    forbid: tuple[Token, ...] = field(default=(), metadata={"later": True})
    outer: Outer | None = field(default=None, metadata={"later": True})
    watch: Callable[[Round], None] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.start not in ("beam", "random"):
            raise ValueError(f"start is {self.start!r}; choose 'beam' or 'random'")
        refuse_unknown(self.kinds, KINDS, "kind of edits", ValueError)

    @property
    def name(self) -> str:
        return "local" if self.start == "beam" else "local-random"

    def search(self, view: View, rng: np.random.Generator) -> Search:
        book = Book(view, self.starts, self.price, self.families)
        agendas: dict[tuple, Agenda] = {}
        yield from self.begin(book, view, rng)
        while view.n_candidates < self.candidates and not book.solved:
            parent = self.choose(book, agendas)
            if parent is None:
                break
            if parent not in agendas:
                agendas[parent] = yield from self.agenda(book, parent, view, rng)
            children = yield from self.children(book, agendas[parent])
            if children:
                yield from book.verify([edit.prefix for edit in children], note="local")
            if self.watch:
                shown = agendas[parent].shown
                self.watch(
                    Round(
                        view.problem.name, shown, book.verifications[parent].r2, tuple(children), book.best.r2
                    )
                )
        yield from book.settle(0.0)

    # -------------------------------------------------------------------------------------------------------------- start

    def begin(self, book: Book, view: View, rng: np.random.Generator) -> Generator[Any, Any, None]:
        if self.first:
            yield from book.verify([prefix for prefix in self.first if self.allows(prefix)], note="first")
        if self.start == "beam":
            hypotheses = [h for h in (yield Complete((), self.beam_size)) if self.allows(h.prefix)]
            yield from book.verify([h.prefix for h in hypotheses], [h.log_prob for h in hypotheses], "beam")
        else:
            bank = (
                random_templates(view.vocabulary)
                if self.families
                else random_expressions(TreeRecipe(view.vocabulary))
            )
            leaves, chosen = leaves_of(view), []
            for i in rng.permutation(len(bank)):
                if set(variables(bank[i])) <= set(leaves) and self.allows(bank[i]):
                    chosen.append(bank[i])
                if len(chosen) == self.beam_size:
                    break
            yield from book.verify(chosen, note="random")
        # the smallest templates there are
        if not any(self.writable(book, key) for key in book.verifications):
            yield from book.verify([(leaf,) for leaf in leaves_of(view)], note="leaf")

    def allows(self, prefix: Prefix) -> bool:
        return not set(prefix) & set(self.forbid) and (self.outer is None or self.outer.admits(prefix))

    def writable(self, book: Book, key: tuple) -> bool:
        """Whether a family is valid and in the generator's language: a network may write what it was never
        shown, say x1·x1."""
        return book.verifications[key].valid and in_language(book.template[key], book.view.vocabulary)

    def choose(self, book: Book, agendas: dict[tuple, Agenda]) -> tuple | None:
        """The most promising verified family that still has edits."""

        def promise(key: tuple) -> float:
            return self.loss(book, key) + (self.patience * agendas[key].rounds if key in agendas else 0.0)

        open_ = (
            key
            for key in book.verifications
            if not (key in agendas and agendas[key].done) and self.writable(book, key)
        )
        return min(open_, key=promise, default=None)

    def loss(self, book: Book, key: tuple) -> float:
        """ln(1 − R²), of values that are compressed so that no single point next to a pole outweighs all
        others."""
        if key not in book.loss:
            candidate, problem = book.verifications[key], book.view.problem
            if self.robust:
                values = evaluate(candidate.prefix, problem.X, candidate.constants)
                r2 = compressed_r2(problem.y, values, problem.weights)
            else:
                r2 = candidate.r2
            book.loss[key] = math.log(max(1.0 - r2, NOISE))
        return book.loss[key]

    def shown(self, book: Book, parent: Prefix, view: View) -> Prefix:
        """A family as the network would write it: with the constants that the data seem to ask for."""
        if not self.families:
            return book.template[parent]
        prefix = (
            shortened(book.verifications[parent], view.problem, self.price)[0]
            if self.guided
            else book.template[parent]
        )
        if book.shifted and prefix[:2] == ("add", CONSTANT):
            prefix = prefix[2:]  # no network was shown a formula that is shifted as a whole
        return prefix if prefix in view.vocabulary and strip(prefix) != (CONSTANT,) else book.template[parent]

    # -------------------------------------------------------------------------------------------------------------- edits

    def agenda(
        self, book: Book, parent: tuple, view: View, rng: np.random.Generator
    ) -> Generator[Any, Any, Agenda]:
        """All edits of a family in the order in which they are tried: drawn without replacement by their
        weights."""
        unary, binary = operators_of(view.vocabulary)
        if self.families:  # signs are factors
            binary = [token for token in binary if token != "sub"]
        leaves, shown = leaves_of(view), self.shown(book, parent, view)
        options = list(edits(shown, leaves, unary, binary, self.grafts(book, leaves, unary), self.kinds))
        if self.guided and options:
            weights, places = yield from self.guide(shown, options)
        else:
            kinds = Counter(edit.kind for edit in options)
            weights, places = np.array([-math.log(kinds[edit.kind]) for edit in options]), {}
        tokens = list(places) if self.completions else []
        return Agenda(
            shown,
            [options[i] for i in by_chance(weights, rng)],
            [tokens[i] for i in by_chance(np.array([places[key] for key in tokens]), rng)[::-1]],
        )

    def children(self, book: Book, agenda: Agenda) -> Generator[Any, Any, list[Edit]]:
        """The next new edits on an agenda, what the network writes after other tokens among them."""
        agenda.rounds += 1
        places = [agenda.places.pop(0) for _ in range(min(self.completions, len(agenda.places)))]
        beams = (yield [Complete((*agenda.shown[:i], token), 1) for i, token in places]) if places else []
        waiting = [Edit("complete", i, h.prefix) for (i, _), beam in zip(places, beams) for h in beam]
        chosen: dict[tuple, Edit] = {}
        while len(chosen) < self.edits and (waiting or agenda.edits):
            edit = waiting.pop(0) if waiting else agenda.edits.pop()
            template = template_if_allowed(edit.prefix, self.max_operators)
            prefix = template if self.families else edit.prefix
            if (
                template
                and self.allows(template)
                and in_language(template, book.view.vocabulary)
                and (key := book.key(prefix)) not in book.verifications
            ):
                chosen.setdefault(key, edit._replace(prefix=prefix))
        return list(chosen.values())

    def guide(
        self, shown: Prefix, options: list[Edit]
    ) -> Generator[Any, Any, tuple[np.ndarray, dict[tuple[int, Token], float]]]:
        """Log-weights of the edits, and the log-probability of each token at each place where it differs from
        what is there."""
        where = sorted({edit.place for edit in options if edit.place < len(shown)})
        answers = yield [NextTokens(shown[:i]) for i in where]
        likely = {(i, token): p for i, answer in zip(where, answers) for token, p in answer}
        tokens = [(edit.place, edit.prefix[edit.place]) for edit in options]
        shared = Counter(tokens)
        weights = np.array(
            [max(likely.get(key, UNLIKELY), UNLIKELY) - math.log(shared[key]) for key in tokens]
        )
        return weights, {(i, token): p for (i, token), p in likely.items() if token != shown[i]}

    def grafts(self, book: Book, leaves: list[Token], unary: list[Token]) -> list[Prefix]:
        """What may be joined to a template: variables, functions of them, a constant where 1/u can be
        written, and the subtrees of the best verified templates."""
        simple = [(leaf,) for leaf in leaves] + [(op, leaf) for op in unary for leaf in leaves]
        if "div" in operators_of(book.view.vocabulary)[1]:
            simple.append((CONSTANT,))
        best = sorted(
            (key for key in book.verifications if self.writable(book, key)),
            key=lambda key: book.verifications[key].key,
        )[: self.beam_size]
        verified = [
            tree
            for key in best
            for tree in subtrees(book.template[key])
            if 2 < len(tree) <= self.max_operators
        ]
        return list(dict.fromkeys([*simple, *verified]))


# ----------------------------------------------------------------------------------------------------------------- material


def by_chance(log_weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """All indices, drawn without replacement by their weights, the first drawn last."""
    return np.argsort(log_weights + rng.gumbel(size=len(log_weights)))


def leaves_of(view: View) -> list[Token]:
    """The variables of the problem whose values vary: the others can't matter."""
    vary = np.ptp(view.problem.X, axis=0) > 0
    return [v for v, varies in zip(view.vocabulary.variables, vary) if varies] or [
        view.vocabulary.variables[0]
    ]


@lru_cache(maxsize=65536)
def in_language(prefix: Prefix, vocabulary: Vocabulary) -> bool:
    """Whether the generator could draw the template: its operators, apart from constants."""
    unary, binary = operators_of(vocabulary)
    return set(strip(prefix)) <= {
        *unary,
        *binary,
        *vocabulary.variables,
        *([CONSTANT] if "div" in binary else []),
    }


@lru_cache(maxsize=8)
def random_templates(vocabulary: Vocabulary) -> tuple[Template, ...]:
    """Templates of p_E, drawn once."""
    return tuple(draw_templates(BANK, TreeRecipe(vocabulary), seed=random_streams.LOCAL_TEMPLATES))
