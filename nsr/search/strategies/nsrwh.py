"""NSRwH: beam search by a network that is told something about the answer (Bendinelli et al., 2023).

    memory = encoder of the points + encoder of the hints,      then as in beam search: write, fit, answer with the best

The hints are a user's, or for experiments drawn from the true expression: `NSRwH(given="positives")`.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from nsr.data.hint_draws import HintRecipe, draw_hints, fitted, random_templates
from nsr.data.hints import ROOM, Complexity, Hint, HintError, Negative, Positive, Symmetry, encode
from nsr.data.problems import Problem
from nsr.formulas.equivalence import canonical
from nsr.formulas.expressions import CONSTANT, ExpressionError, Prefix, Token, Vocabulary
from nsr.formulas.parsing import parse
from nsr.numbers.fingerprints import fingerprint
from nsr.search.decoding import MAX_LEN, Complete, Stop
from nsr.search.engine import Search, View, tree_recipe
from nsr.search.oracle import Verify

KINDS = ("complexity", "symmetry", "positives", "negatives")
GIVEN = (*KINDS, "all", "none")


@dataclass(frozen=True)
class NSRwH:
    """Beam search with hints, from somebody who knows something:

    `complexity`   how many tokens the expression has
    `positives`    subtrees that it contains, as text: "sin(x1)", "exp(C*x2)" with a constant, "exp(2*x2)"
                   with one whose value is known
    `negatives`    structures that it does not contain, whatever the constants: "exp(x2)"
    `symmetric`    groups of variables that can change places, `asymmetric` pairs that cannot: [("x1", "x2")]

    or with `given`, drawn from the truth of each problem as in the published evaluation: "complexity",
    "symmetry", "positives", "negatives", several of them ("symmetry+positives"), "all" or "none". Then
    positives and negatives have `share` tokens per token of the truth, and each constant in a positive comes
    with its value with probability `values` (None: as published, 0.3 with "all" and 0 else). The same problem
    and seed give the same positives alone and in "all".

    >>> print(*NSRwH(complexity=9, positives=["sin(x1)"], negatives=["exp(x2)"], symmetric=[("x1", "x2")]).known(), sep=", ")
    x1 and x2 can change places, contains sin(x1), without exp(x2), 9 tokens
    >>> NSRwH(positives=["x1"])
    Traceback (most recent call last):
    nsr.data.hints.HintError: the positive 'x1' is a single variable; the network was taught with larger trees
    """

    beam_size: int = 5
    complexity: int | None = None
    positives: tuple[str | Prefix, ...] = ()
    negatives: tuple[str | Prefix, ...] = ()
    symmetric: tuple[tuple[Token, ...], ...] = ()
    asymmetric: tuple[tuple[Token, Token], ...] = ()
    given: str | tuple[str, ...] | None = None
    share: float = 0.5
    values: float | None = None
    # of the random expressions behind the negatives; None: as in the network's training
    min_operators: int | None = None
    max_operators: int | None = None
    length_penalty: float = 1.0
    masked: bool = True
    max_len: int = MAX_LEN
    starts: int = 4
    stop: Stop = field(default="bound", metadata={"later": True})

    def __post_init__(self) -> None:
        for name in ("positives", "negatives", "symmetric", "asymmetric"):
            object.__setattr__(self, name, _listed(getattr(self, name), name))
        if self.given is not None:
            object.__setattr__(self, "given", _given(self.given))
        own = self.known()  # refuses what cannot be read
        if self.given is not None and own:
            raise HintError("hints are either yours or drawn from the truth: leave out `given` or the others")

    @property
    def name(self) -> str:
        return "nsrwh" if self.given is None else f"nsrwh-{self.given}"

    def search(self, view: View, rng: np.random.Generator) -> Search:
        hints = encode(self.hints(view.problem, view.vocabulary, rng), view.vocabulary)
        rules = {name: getattr(self, name) for name in ("length_penalty", "masked", "stop", "max_len")}
        hypotheses = yield Complete((), self.beam_size, hints=hints, **rules)
        yield Verify.beam(hypotheses, starts=self.starts)

    def hints(self, problem: Problem, vocabulary: Vocabulary, rng: np.random.Generator) -> tuple[Hint, ...]:
        """What the network is told about a problem; `rng` is `problem.stream(seed)` in a search with that
        seed."""
        if self.given is None:
            return self.known()
        if problem.truth is None:
            why = "tells something about the true expression, but this problem has none"
            raise HintError(f"{problem!r}: given={self.given!r} {why}")
        recipe = tree_recipe(self, vocabulary)
        told = (0.3 if self.given == "all" else 0.0) if self.values is None else self.values
        hints: list[Hint] = []
        for kind, stream in zip(KINDS, rng.spawn(len(KINDS))):
            if self.given == "all" or kind in self.given.split("+"):
                only = HintRecipe(**{k: float(k == kind) for k in KINDS}, values=told, share=self.share)
                about = problem.truth, only, random_templates(recipe), problem.truth_constants
                hints += draw_hints(stream, *about)
        return fitted(hints)

    def known(self) -> tuple[Hint, ...]:
        """The user's own hints."""
        hints: list[Hint] = [_complexity(self.complexity)] if self.complexity is not None else []
        hints += [*map(_positive, self.positives), *map(_negative, self.negatives)]
        for name, groups in (("symmetric", self.symmetric), ("asymmetric", self.asymmetric)):
            pairs = [pair for group in groups for pair in itertools.combinations(_group(group, name), 2)]
            hints += [Symmetry(*pair, holds=name == "symmetric") for pair in pairs]
        for hint in hints:
            if isinstance(hint, Symmetry) and replace(hint, holds=not hint.holds) in hints:
                both = f"{hint.first} and {hint.second}"
                raise HintError(f"the symmetry of {both} is said to hold and not to hold")
        if (tokens := sum(len(hint.words()) for hint in hints) + 2) > ROOM:
            most = f"the network reads at most {ROOM}: leave out the longest trees"
            raise HintError(f"these hints need {tokens} tokens; {most}")
        return fitted(hints)


# --------------------------------------------------------------------------------------------------------- what a user writes


def _listed(values: Iterable, name: str) -> tuple:
    """Lists as tuples, so that the strategy can be hashed; a text alone is not a list of texts."""
    if isinstance(values, str):
        raise HintError(f"{name} is the text {values!r}; it wants a list: {name}=[{values!r}]")
    if not isinstance(values, list | tuple | set | frozenset):
        raise HintError(f"{name} is {values!r}; it wants a list")
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def _given(given: object) -> str:
    """Kinds of knowledge as one name, in their order: ("positives", "symmetry") is "symmetry+positives"."""
    words = given.split("+") if isinstance(given, str) else given
    words = list(words) if isinstance(words, list | tuple) else [words]
    if words not in (["all"], ["none"]) and any(word not in KINDS for word in words):
        raise HintError(f"given is {given!r}; choose one of {', '.join(GIVEN)}, or several kinds joined by +")
    kinds = [kind for kind in KINDS if kind in words or words == ["all"]]
    return "all" if len(kinds) == len(KINDS) else "+".join(kinds) or "none"


def _complexity(length: object) -> Complexity:
    if isinstance(length, bool) or not isinstance(length, int | np.integer):
        raise HintError(f"complexity is {length!r}; it is a number of tokens, like 9")
    return Complexity(int(length))


def _group(group: object, name: str) -> tuple[Token, ...]:
    if not isinstance(group, tuple) or len(group) < 2:
        raise HintError(f"{name} has {group!r}; it wants pairs of variables, like [('x1', 'x2')]")
    return group


def _tree(given: str | Prefix, kind: str) -> tuple[Prefix, tuple[float, ...]]:
    """The tree in the layout of the training targets, with the values of its constants where they are known."""
    if not isinstance(given, str | tuple):
        raise HintError(f"the {kind} {given!r} cannot be read: write an expression as text, like 'sin(x1)'")
    try:
        tree, values = parse(given) if isinstance(given, str) else (given, ())
        form = canonical(tree)
    except ExpressionError as error:
        raise HintError(f"the {kind} {given!r} cannot be read: {error}") from None
    if len(form) < 2:
        what = "number" if form == (CONSTANT,) else "variable"
        raise HintError(f"the {kind} {given!r} is a single {what}; the network was taught with larger trees")
    if form != tree and values:  # the layout may change the order of the constants, or join some
        orders = itertools.permutations(values) if form.count(CONSTANT) == len(values) <= 6 else ()
        same = (order for order in orders if fingerprint(form, order) == fingerprint(tree, values))
        values = next(same, ())
    return form, values


def _positive(given: str | Prefix) -> Positive:
    return Positive(*_tree(given, "positive"))


def _negative(given: str | Prefix) -> Negative:
    tree, _ = _tree(given, "negative")
    if CONSTANT in tree:
        only = "negatives speak of structure only, as in 'exp(x2)'"
        raise HintError(f"the negative {given!r} has a constant; {only}")
    return Negative(tree)
