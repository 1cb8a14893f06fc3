"""The engine: advances the searches of many problems together and answers their requests in batches.

A strategy is written as if there were one problem. Its `search(view, rng)` is a generator that yields what it
needs and is sent the answer; it may also yield a list of requests and gets the list of answers:

    tokens     = yield NextTokens(prefix)               # [(token, log-probability), …], most likely first
    hypotheses = yield Complete(prefix, beam_size=5)     # [Hypothesis(prefix, log_prob, score), …], best first
    candidates = yield Verify(prefixes)                  # [Candidate, …] in the order of the prefixes
    return candidate                                     # its answer; None (or no return): the best it ever verified

Whatever all the searches ask for at a moment is computed together, so 150 problems share every pass of the
network and every core.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Protocol

import numpy as np

from nsr.book.run_records import progress as show_progress
from nsr.data.problems import Problem, ProblemError
from nsr.data.templates import TreeRecipe
from nsr.formulas.expressions import Vocabulary
from nsr.numbers.fitting import Method
from nsr.search import decoding
from nsr.search.decoding import Complete, Job, NextTokens
from nsr.search.dialogue import Dialogue
from nsr.search.encoder_cache import Memories
from nsr.search.oracle import Candidate, Oracle, Verify, clocks, verify_all
from nsr.search.result import Result

Request = NextTokens | Complete | Verify
Search = Generator[Request | list[Request], Any, Candidate | None]
Watch = Callable[[list[Oracle]], None]  # is shown the oracles of all searches now and then
INTERRUPTED = "interrupted"


class Model(Protocol):
    """What the engine needs of trained weights: the network and the vocabulary that numbers its tokens."""

    network: Any
    vocabulary: Vocabulary


class Strategy(Protocol):
    """A frozen dataclass with a name for the tables and the search for one problem."""

    @property
    def name(self) -> str: ...

    def search(self, view: View, rng: np.random.Generator) -> Search: ...


OPERATORS = ("min_operators", "max_operators")  # of random expressions; None in a strategy: the network's own


def suited(strategy: Strategy, model: Model | None) -> Strategy:
    """The strategy, and those it is made of, with random expressions as large as the ones that the model was
    trained with, where it does not say how large they are.

    >>> from types import SimpleNamespace
    >>> from nsr.search.strategies import GVS
    >>> suited(GVS(), SimpleNamespace(settings={"min_operators": 3, "max_operators": 6})).max_operators
    6
    """
    trained = getattr(model, "settings", {})
    known = {}
    for item in fields(strategy) if is_dataclass(strategy) else ():
        value = getattr(strategy, item.name)
        if item.name in OPERATORS and value is None and item.name in trained:
            known[item.name] = trained[item.name]
        elif hasattr(value, "search") and (inner := suited(value, model)) is not value:
            known[item.name] = inner
    return replace(strategy, **known) if known else strategy


def tree_recipe(strategy: Strategy, vocabulary: Vocabulary) -> TreeRecipe:
    """The recipe of a strategy's random expressions; where nobody says how large they are, the usual one."""
    given = {name: value for name in OPERATORS if (value := getattr(strategy, name)) is not None}
    return TreeRecipe(vocabulary, **given)


@dataclass(frozen=True)
class Budget:
    """What one problem may cost at most; None is no limit. `seconds` is the problem's share of the batches it
    takes part in."""

    candidates: int | None = None
    seconds: float | None = None

    def spent(self, oracle: Oracle) -> str:
        """Which limit is reached, in words; empty if none."""
        if self.candidates is not None and oracle.n_candidates >= self.candidates:
            return f"budget of {self.candidates} candidates spent"
        if self.seconds is not None and self.used(oracle) >= self.seconds:
            return f"budget of {self.seconds:g} seconds spent"
        return ""

    def used(self, oracle: Oracle) -> float:
        return oracle.seconds


@dataclass(frozen=True)
class ProcessorBudget(Budget):
    """A budget whose seconds are those that the processor worked, for measurements on a busy machine."""

    def used(self, oracle: Oracle) -> float:
        return oracle.processor


@dataclass(frozen=True)
class View:
    """What a strategy may see of its problem besides the answers to its requests."""

    problem: Problem
    vocabulary: Vocabulary
    positions: int  # tokens the decoder can hold: prompt, <start> and expression
    oracle: Oracle

    @property
    def best(self) -> Candidate | None:
        """The best candidate verified so far."""
        return self.oracle.best

    @property
    def n_candidates(self) -> int:
        return self.oracle.n_candidates


@dataclass
class _Running:
    """A search under way: its coroutine, the requests it waits for and the answers that have arrived."""

    index: int
    oracle: Oracle
    dialogue: Dialogue
    asked: list[Request] = field(default_factory=list)
    answers: dict[int, Any] = field(default_factory=dict)  # by the request's place in `asked`
    # what the network answered: the same request always gets the same answer
    cache: dict[Request, Any] = field(default_factory=dict)
    answer: Candidate | None = None
    stopped: str = ""
    over: bool = False

    def advance(self, budget: Budget) -> None:
        """Hand over the answers and run to the next request; charge the strategy's own thinking to its
        problem."""
        while not self.over and len(self.answers) == len(self.asked):
            if self.stopped:
                self.finish()
                return
            if self.asked:
                self.dialogue.answers = [self.answers[k] for k in range(len(self.asked))]
            begin = clocks()
            try:
                self.asked = next(self.dialogue)
            except StopIteration:
                self.answer, self.over = self.dialogue.result, True
                return
            finally:
                self.oracle.charge(clocks() - begin)
            asked = enumerate(self.asked)
            self.answers = {k: self.cache[request] for k, request in asked if request in self.cache}
            if not self.asked:
                raise ValueError("a strategy yielded an empty list; yield at least one request")
            self.limit(budget)

    def limit(self, budget: Budget) -> None:
        """Stop when the budget is spent; shorten a verification that would go beyond it, and stop after it."""
        self.stopped = budget.spent(self.oracle)
        if self.stopped:
            self.finish()
            return
        room = None if budget.candidates is None else budget.candidates - self.oracle.n_candidates
        for k, request in enumerate(self.asked):
            if room is not None and isinstance(request, Verify):
                if len(request.prefixes) > room:
                    self.asked[k] = request.between(0, room)
                    self.stopped = f"budget of {budget.candidates} candidates spent"
                room -= len(self.asked[k].prefixes)

    def finish(self) -> None:
        self.dialogue.close()
        self.over = True

    def waiting(self) -> list[tuple[_Running, int, Request]]:
        return [(self, k, request) for k, request in enumerate(self.asked) if k not in self.answers]


def solve(problem: Problem, strategy: Strategy | str, model: Model, **options) -> Result:
    """Search one problem: `solve_all([problem], strategy, model, **options)[0]`."""
    return solve_all([problem], strategy, model, **options)[0]


def solve_all(
    problems: Sequence[Problem],
    strategy: Strategy | str,
    model: Model,
    *,
    budget: Budget | None = None,
    fit: Method = "",
    seed: int = 0,
    progress: str | None = None,
    watch: Watch | None = None,
    reference: Any = None,
) -> list[Result]:
    """Search all problems together; each gets the answer that it would get alone.

    `strategy` is an object, or a name of nsr.search.strategies.names. `budget` limits each problem.
    `fit="bfgs"` fits constants as the published systems do. `progress` is the label of a progress line (None:
    silent); `watch` is called after every pass of the network and every batch of fits. `reference` is
    the training set that the result tables measure novelty against (`nsr.evidence.novelty.TrainingSet`).
    Ctrl-C ends all searches and returns the best so far.
    """
    if isinstance(strategy, str):
        from nsr.search.strategies.names import by_name  # late: strategies are written on top of the engine

        strategy = by_name(strategy)
    strategy, most = suited(strategy, model), model.vocabulary.n_variables
    for problem in problems:
        if not isinstance(problem, Problem):
            raise TypeError(f"expected a Problem, got {type(problem).__name__}; Problem(X, y) makes one")
        if problem.n_variables > most:
            raise ProblemError(f"{problem!r}: the network knows {most} variables only")
    runs = []
    for i, problem in enumerate(problems):
        oracle = Oracle(problem, fit)
        view = View(problem, model.vocabulary, model.network.config.positions, oracle)
        runs.append(_Running(i, oracle, Dialogue(strategy.search(view, problem.stream(seed)))))
    finished = _run(runs, model, budget or Budget(), watch)
    if progress is not None:
        count = lambda: f"{sum(run.oracle.n_candidates for run in runs):,} candidates"
        finished = show_progress(finished, total=len(runs), label=progress, note=count)
    try:
        for _ in finished:
            pass
    except KeyboardInterrupt:
        for run in runs:
            if not run.over:
                run.stopped = INTERRUPTED
                run.finish()
    how = strategy.name, getattr(strategy, "beam_size", None), seed
    return [Result.of(run.oracle, *how, run.answer, run.stopped, reference) for run in runs]


def _run(runs: list[_Running], model: Model, budget: Budget, watch: Watch | None) -> Iterator[int]:
    """Advance all searches to their ends; yields the index of each problem that is done."""
    memories = Memories(model.network, model.vocabulary)
    fresh, going = runs, runs
    while going:
        for run in fresh:
            run.advance(budget)
        if watch is not None:
            watch([run.oracle for run in runs])
        for run in going:
            if run.over:
                yield run.index
        going = [run for run in going if not run.over]
        waiting = [item for run in going for item in run.waiting()]
        # Verifications first: whoever is answered goes on to ask the network, and the next pass is fuller.
        checks = [item for item in waiting if isinstance(item[2], Verify)]
        if checks:
            answers = verify_all([(run.oracle, request) for run, _, request in checks])
            for (run, k, _), candidates in zip(checks, answers):
                run.answers[k] = candidates
            fresh = [run for run, _, _ in checks]
        elif waiting:
            batch = _batch(waiting, decoding.row_limit(model.network))
            _decode(batch, memories, model)
            fresh = [run for run, _, _ in batch]


def _batch(waiting: list[tuple[_Running, int, Request]], rows: int) -> list[tuple[_Running, int, Request]]:
    """The next requests: the most frequent kind among those that wait, as many as fit into the rows of a
    pass.

    With prompts as many as fit into four, which are then sorted by length.
    """
    groups: dict[Any, list] = {}
    for item in waiting:
        kind = decoding.alike(item[2]) if isinstance(item[2], Complete) else NextTokens
        groups.setdefault(kind, []).append(item)
    most = max(groups.values(), key=len)
    rows *= 4 if any(request.prompt for _, _, request in most) else 1
    return most[: max(1, rows // getattr(most[0][2], "beam_size", 1))]


def _decode(batch: list[tuple[_Running, int, Request]], memories: Memories, model: Model) -> None:
    """Let the network answer requests of one kind; the time is shared out by the tokens each needed."""
    begin = clocks()
    memory, rows = memories.rows([(run.oracle.problem, request.hints) for run, _, request in batch])
    pasts, read = memories.pasts([(run.oracle.problem, request) for run, _, request in batch], memory, rows)
    answering = [(request, run.oracle.problem.n_variables) for run, _, request in batch]
    jobs = [Job(request, row, n, past) for (request, n), row, past in zip(answering, rows, pasts)]
    work = decoding.complete if isinstance(batch[0][2], Complete) else decoding.next_tokens
    answers, costs = work(model.network, model.vocabulary, memory, jobs)
    costs = [cost + more for cost, more in zip(costs, read)]
    per_token = (clocks() - begin) / max(1, sum(costs))
    for (run, k, request), answer, cost in zip(batch, answers, costs):
        run.answers[k] = run.cache[request] = answer
        run.oracle.n_tokens += cost
        run.oracle.charge(cost * per_token)
