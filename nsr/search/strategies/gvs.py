"""NSR-gvs, neural symbolic regression guided by verified subtrees: prompts made of what the better
predictions were made of.

The state s_t is a pool of tuples (subtree e′, verification score z, count c). In iteration t = 1 … T

    prompt      take the k best subtrees of the pool, without those with z < z_thres, and k_rand subtrees of
                random expressions of p_E; from both together, draw uniformly until their length exceeds
                l_t ~ U{0 … ⌊15.58 + 0.42 t⌋}; the first iteration has no prompt
    predict     let the network complete the prompt, by beam search (b = 5) or any other strategy, and verify
                the prediction: its score is R
    update      every subtree of the prediction that is new enters the pool as (e′, R, 1); each of the others
                becomes (e′, (c·z + R)/(c + 1), c + 1)

and the answer is the best candidate of all iterations. The rule for new subtrees is that of the text: the
printed algorithm has none, and its pool would stay empty for ever.
"""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from nsr.data.items import TemplateBank, sample_items
from nsr.data.templates import TreeRecipe, draw_templates
from nsr.formulas.equivalence import canonical
from nsr.formulas.expressions import Prefix, subtrees, variables
from nsr.numbers import random_streams
from nsr.search.dialogue import Dialogue
from nsr.search.engine import Search, Strategy, View, tree_recipe
from nsr.search.oracle import Candidate, Verify
from nsr.search.strategies.beam import BeamSearch

BANK = 2048  # random expressions that all problems share; each draws from them with its own random numbers
IDENTITY: dict[str, Callable[[Prefix], Prefix]] = {"skeleton": tuple, "canonical": canonical}


class Entry(NamedTuple):
    """A subtree of the pool: its score z, the mean reward of the c predictions that contained it."""

    subtree: Prefix
    score: float
    count: int


class Suggestion(NamedTuple):
    """A subtree that may enter a prompt, and where it comes from."""

    subtree: Prefix
    source: Literal["pool", "random"]


@dataclass(frozen=True)
class Iteration:
    """What one iteration did, for those who watch."""

    problem: str
    t: int
    limit: int  # l_t
    prompt: tuple[Suggestion, ...]
    prediction: Prefix  # ê; empty if nothing was written
    reward: float  # R after clipping
    pool: tuple[Entry, ...]  # after the update, best first
    outputs: tuple[Candidate, ...] = ()  # all that the predictor verified, ê first


@dataclass(frozen=True)
class GVS:
    """NSR-gvs around a predictor: `GVS()` is the paper's with beam search, `GVS(TPSR())` its combination with
    tree search.

    What the paper leaves open:

    `identity`  when two subtrees are one: "skeleton", the same tokens with C for any constant, or
                "canonical", up to the order of terms
    `floor`     R² is clipped to [floor, 1] before it is averaged: one failure (−∞) would otherwise ban x1
                for ever
    `updates`   which verified outputs of the predictor update the pool: its "best" one (the prediction ê),
                or "all"
    `whole`     whether a prediction counts as a subtree of itself; the text says "all subtree expressions"
    `markers`   whether the two partition tokens of a subtree count in its length l_max and l_t
    `room`      positions of the decoder that are kept for the expression; the last subtrees of a prompt that
                needs more are dropped

    Ablations: `k_rand=0` no random subtrees, `k=0` no verified ones, `threshold=-math.inf` no threshold,
    `shuffled=True` random scores. `watch` is called with an `Iteration` after each one.
    """

    predictor: Strategy = BeamSearch(5)
    iterations: int = 30  # T
    k: int = 39
    threshold: float = 0.213  # z_thres
    k_rand: int = 9
    l_max: int = 9
    l_start: float = 15.58  # l_t ~ U{0 … ⌊l_start + l_slope·t⌋}
    l_slope: float = 0.42
    identity: Literal["skeleton", "canonical"] = "skeleton"
    floor: float = 0.0
    updates: Literal["best", "all"] = "best"
    whole: bool = True
    markers: bool = False
    room: int = 30
    shuffled: bool = False
    min_operators: int | None = None  # of the random expressions; None: as in the network's training
    max_operators: int | None = None
    watch: Callable[[Iteration], None] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.identity not in IDENTITY:
            raise ValueError(f"identity is {self.identity!r}; choose 'skeleton' or 'canonical'")
        if self.updates not in ("best", "all"):
            raise ValueError(f"updates is {self.updates!r}; choose 'best' or 'all'")

    @property
    def name(self) -> str:
        return "gvs" if isinstance(self.predictor, BeamSearch) else f"gvs+{self.predictor.name}"

    @property
    def beam_size(self) -> int | None:
        return getattr(self.predictor, "beam_size", None)

    def search(self, view: View, rng: np.random.Generator) -> Search:
        pool: dict[Prefix, Entry] = {}
        for t in range(1, self.iterations + 1):
            limit, prompt = int(rng.integers(int(self.l_start + self.l_slope * t) + 1)), ()
            if t > 1:
                prompt = self.prompt(self.suggestions(pool, view, rng), limit, view.positions, rng)
            outputs = yield from predict(self.predictor, view, rng.spawn(1)[0], prompt, f"iteration {t}")
            for candidate in outputs[:1] if self.updates == "best" else outputs:
                self.update(pool, candidate)
            if self.watch:
                best = outputs[0] if outputs else Candidate(())
                ranked = tuple(sorted(pool.values(), key=lambda entry: -entry.score))
                done = best.prefix, self.clipped(best.r2), ranked, tuple(outputs)
                self.watch(Iteration(view.problem.name, t, limit, prompt, *done))

    # ------------------------------------------------------------------------------------------------------------- policy

    def suggestions(
        self, pool: dict[Prefix, Entry], view: View, rng: np.random.Generator
    ) -> list[Suggestion]:
        """E′_topk ∪ E′_rand: the best subtrees above the threshold, and random ones; without those that are
        too long."""
        scores = [entry.score for entry in pool.values()]
        if self.shuffled:
            scores = rng.permutation(scores).tolist()
        top = sorted(zip(scores, pool), key=lambda pair: -pair[0])[: self.k]  # among equals the older
        verified = [Suggestion(tree, "pool") for score, tree in top if score >= self.threshold]
        recipe = tree_recipe(self, view.vocabulary)
        trees = random_subtrees(self.k_rand, recipe, view.problem.n_variables, rng)
        random = [Suggestion(tree, "random") for tree in trees]
        # a subtree that is in both counts as verified
        merged = {suggestion.subtree: suggestion for suggestion in [*random, *verified]}
        return [suggestion for tree, suggestion in merged.items() if self.length(tree) <= self.l_max]

    def prompt(
        self, suggestions: list[Suggestion], limit: int, positions: int, rng: np.random.Generator
    ) -> tuple[Suggestion, ...]:
        """Draw without replacement until the total length exceeds the limit; drop what the decoder has no
        positions for."""
        chosen, total = [], 0
        for i in rng.permutation(len(suggestions)):
            if total > limit:
                break
            chosen.append(suggestions[i])
            total += self.length(suggestions[i].subtree)
        while chosen and sum(len(s.subtree) + 2 for s in chosen) + 1 + self.room > positions:
            chosen.pop()
        return tuple(chosen)

    def length(self, tree: Prefix) -> int:
        return len(tree) + 2 * self.markers

    # --------------------------------------------------------------------------------------------------------- transition

    def update(self, pool: dict[Prefix, Entry], candidate: Candidate) -> None:
        """Let the score of every subtree of a candidate be the mean reward of all candidates that contained
        it.

        >>> pool = {}
        >>> for r2 in (0.9, 0.3):
        ...     GVS().update(pool, Candidate(("sin", "x1"), r2=r2))
        >>> pool["x1",]
        Entry(subtree=('x1',), score=0.6, count=2)
        """
        reward = self.clipped(candidate.r2)
        trees = pieces(candidate.prefix)[0 if self.whole else 1 :]
        for tree in dict.fromkeys(map(IDENTITY[self.identity], trees)):
            _, z, c = pool.get(tree, Entry(tree, 0.0, 0))
            pool[tree] = Entry(tree, (c * z + reward) / (c + 1), c + 1)

    def clipped(self, r2: float) -> float:
        return min(1.0, max(self.floor, r2))


def predict(
    predictor: Strategy, view: View, rng: np.random.Generator, prompt: Iterable[Suggestion], note: str
) -> Generator[Any, Any, list[Candidate]]:
    """Run a strategy with a prompt before everything it asks the network: its candidates, the one it answers
    with first.

    The strategy knows nothing of prompts: they are added to its requests on their way to the engine.
    """
    prompt = tuple(prompt)
    trees = tuple(suggestion.subtree for suggestion in prompt)
    for source in ("pool", "random"):
        n = sum(suggestion.source == source for suggestion in prompt)
        note += f", {n} {source}" if n else ""
    dialogue, verified = Dialogue(predictor.search(view, rng)), {}

    def prompted(request):
        return replace(request, note=note) if isinstance(request, Verify) else replace(request, prompt=trees)

    for requests in dialogue:
        dialogue.answers = yield [prompted(request) for request in requests]
        for request, answer in zip(requests, dialogue.answers):
            if isinstance(request, Verify):
                verified.update((candidate.prefix, candidate) for candidate in answer)
    ranked, chosen = sorted(verified.values(), key=lambda candidate: candidate.key), dialogue.result
    return ranked if chosen is None else [chosen, *(c for c in ranked if c.prefix != chosen.prefix)]


# --------------------------------------------------------------------------------------------------------------- subtrees


@lru_cache(maxsize=65536)
def pieces(prefix: Prefix) -> tuple[Prefix, ...]:
    """The subtrees of an expression, itself first; none if it is not one.

    >>> pieces(("add", "x1", "sin", "x2")), pieces(("add", "x1"))
    ((('add', 'x1', 'sin', 'x2'), ('x1',), ('sin', 'x2'), ('x2',)), ())
    """
    try:
        return tuple(subtrees(prefix))
    except ValueError:
        return ()


@lru_cache(maxsize=8)
def random_expressions(recipe: TreeRecipe) -> tuple[Prefix, ...]:
    """Expressions of p_E with constants, drawn once the way training items are."""
    templates = draw_templates(BANK, recipe, seed=random_streams.GVS_EXPRESSIONS)
    bank = TemplateBank(templates, recipe.vocabulary)
    return tuple(sample_items(bank, np.random.default_rng(0), BANK, n_points=2).targets())


def random_subtrees(n: int, recipe: TreeRecipe, n_variables: int, rng: np.random.Generator) -> list[Prefix]:
    """One proper subtree, uniformly, of each of n random expressions, where it uses the problem's variables
    only."""
    if n == 0:
        return []
    expressions = random_expressions(recipe)
    chosen = []
    for i in rng.integers(len(expressions), size=n):
        trees = pieces(expressions[i])[1:] or pieces(expressions[i])
        tree = trees[rng.integers(len(trees))]
        if all(variable in recipe.vocabulary.variables[:n_variables] for variable in variables(tree)):
            chosen.append(tree)
    return chosen
