"""The oracle through which searches see a problem: `verify` fits a candidate's constants, scores it,
remembers it and counts.

Its counters are the cost axes of the whole book: candidates generated, fits made, evaluations of the fits,
decoder tokens, processor seconds. Choosing among candidates uses the given points only; `r2_fresh` is for reporting.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from nsr.data.problems import Problem
from nsr.formulas.expressions import VARIABLES, ExpressionError, Prefix, variables
from nsr.numbers.evaluation import evaluate, r2_score
from nsr.numbers.fitting import Fit, Method, fit_many

FAILED = -math.inf
NOISE = 1e-12  # two fits whose 1 − R² are both below this differ by rounding only
JOBS = 1024  # fits per compiled call: long enough to fill the cores, short enough to stop between two


@dataclass(frozen=True)
class Verify:
    """Request: fit and score candidates. `log_probs` and `note` are remembered with them; `initial` gives
    starting constants (one tuple or None per prefix), tried besides `starts` random ones."""

    prefixes: tuple[Prefix, ...]
    log_probs: tuple[float, ...] | None = None
    initial: tuple[tuple[float, ...] | None, ...] | None = None
    starts: int = 4
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "prefixes", tuple(tuple(prefix) for prefix in self.prefixes))
        for name in ("log_probs", "initial"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.prefixes):
                raise ValueError(f"Verify got {len(self.prefixes)} prefixes, but {len(values)} {name}")

    @classmethod
    def beam(cls, hypotheses: Iterable[Any], **options) -> Verify:
        """Verify what a beam search returned: things with a `prefix` and a `log_prob`."""
        hypotheses = list(hypotheses)
        return cls(tuple(h.prefix for h in hypotheses), tuple(h.log_prob for h in hypotheses), **options)

    def between(self, begin: int, end: int) -> Verify:
        """The same request for the candidates from begin to end only."""
        log_probs, initial = (values and values[begin:end] for values in (self.log_probs, self.initial))
        return Verify(self.prefixes[begin:end], log_probs, initial, self.starts, self.note)


@dataclass(frozen=True)
class Candidate:
    """A verified expression: `r2` and `mse` are on the given points, `why` says in words why it failed (empty
    if it did not)."""

    prefix: Prefix
    constants: tuple[float, ...] = ()
    r2: float = FAILED
    mse: float = math.inf
    why: str = ""
    log_prob: float = math.nan
    note: str = ""

    @property
    def valid(self) -> bool:
        return self.r2 > FAILED

    @property
    def key(self) -> tuple:
        """Sort key, best first: R² up to rounding noise, then fewer tokens, then the more probable, then the
        alphabet."""
        log_prob = self.log_prob if math.isfinite(self.log_prob) else -1e9
        return -min(self.r2, 1.0 - NOISE), len(self.prefix), -log_prob, self.prefix


@dataclass(frozen=True)
class TracePoint:
    """A moment at which the best candidate changed: what had been spent, and the new best."""

    candidates: int
    tokens: int
    seconds: float  # that the processor worked
    best: Candidate


def clocks() -> np.ndarray:
    """Seconds on the wall, and seconds that the processor worked for this process.

    A budget is in seconds on the wall. Costs are compared in seconds of the processor, because these do not
    depend on what else the machine was doing. While a GPU computes, the processor waits in a loop, and this
    waiting is counted, too.
    """
    return np.array([time.perf_counter(), time.process_time()])


@dataclass
class Oracle:
    """One problem's memory of a search. Every candidate generated counts; one that was verified before is not
    fitted again.

    `seconds` (on the wall) and `processor` (seconds of all cores) are this problem's share: the time of a
    batch is divided among its problems by tokens decoded and fits made. `fit` says how constants are fitted:
    empty is our fit, "bfgs" the published one.
    """

    problem: Problem
    fit: Method = ""
    n_candidates: int = 0
    n_fits: int = 0
    n_evaluations: float = 0.0  # see `nsr.numbers.fitting.Fit`
    n_tokens: int = 0
    seconds: float = 0.0
    processor: float = 0.0
    best: Candidate | None = None
    generated: Counter = field(default_factory=Counter)  # prefix → how often
    verified: dict[tuple, Candidate] = field(default_factory=dict)  # (prefix, starts, initial) → candidate
    trace: list[TracePoint] = field(default_factory=list)

    def verify(self, prefixes: Iterable[Prefix], **options) -> list[Candidate]:
        """Fit, score and count some candidates now.

        >>> oracle = Oracle(Problem([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]))
        >>> candidates = oracle.verify([("add", "C", "mul", "C", "x1"), ("x1",), ("add", "x1")])
        >>> [round(c.r2, 6) for c in candidates], candidates[2].why, oracle.n_candidates, oracle.n_fits
        ([1.0, -0.75, -inf], '1 argument missing, at token 3 of 3: add x1 ▸⟨end⟩◂', 3, 2)
        """
        return verify_all([(self, Verify(tuple(prefixes), **options))])[0]

    def record(self, candidate: Candidate) -> None:
        """Count a candidate; remember it if it is the best so far."""
        self.n_candidates += 1
        self.generated[candidate.prefix] += 1
        if candidate.valid and (self.best is None or candidate.key < self.best.key):
            self.prefer(candidate)

    def prefer(self, candidate: Candidate) -> None:
        """From now on this is the best."""
        self.best = candidate
        self.trace.append(TracePoint(self.n_candidates, self.n_tokens, self.processor, candidate))

    def charge(self, spent: np.ndarray) -> None:
        """Add what two `clocks()` differ by, or a share of it."""
        self.seconds += float(spent[0])
        self.processor += float(spent[1])


def verify_all(requests: Sequence[tuple[Oracle, Verify]]) -> list[list[Candidate]]:
    """Answer the verifications of many problems with a few compiled calls over all their candidates."""
    answers: list[list[Candidate]] = [[] for _ in requests]
    numbered = [(number, oracle, request) for number, (oracle, request) in enumerate(requests)]
    tasks = [_Task(*task, j) for task in numbered for j in range(len(task[2].prefixes))]
    for start in range(0, len(tasks), JOBS):
        batch, begin = tasks[start : start + JOBS], clocks()
        _fit_new(batch)
        share = (clocks() - begin) / len(batch)
        for task in batch:
            task.oracle.charge(share)
        for task in batch:  # in the order in which they were generated: the trace depends on it
            candidate = task.oracle.verified[task.key]
            task.oracle.record(candidate)
            answers[task.number].append(candidate)
    return answers


class _Task(NamedTuple):
    """Candidate j of a request that an oracle has to answer."""

    number: int  # of the request
    oracle: Oracle
    request: Verify
    j: int

    @property
    def prefix(self) -> Prefix:
        return self.request.prefixes[self.j]

    @property
    def initial(self) -> tuple[float, ...] | None:
        return self.request.initial[self.j] if self.request.initial else None

    @property
    def key(self) -> tuple:
        """What decides the fit, and so the candidate that it makes."""
        return self.prefix, self.request.starts, self.initial

    def remember(self, fit: Fit) -> None:
        log_prob = self.request.log_probs[self.j] if self.request.log_probs else math.nan
        found = self.prefix, fit.constants, fit.r2, fit.mse, fit.why
        self.oracle.verified[self.key] = Candidate(*found, log_prob, self.request.note)


def _fit_new(tasks: Iterable[_Task]) -> None:
    """Fit the candidates that their oracles have not verified before; those with the same fit and
    equally many starts share a call."""
    new: dict[tuple, _Task] = {}
    for task in tasks:
        if task.key not in task.oracle.verified and (task.number, task.key) not in new:
            why = _refusal(task.oracle.problem, task.prefix)
            if why:
                task.remember(Fit((), FAILED, math.inf, why))
            else:
                new[task.number, task.key] = task
    alike: dict[tuple[Method, int], list[_Task]] = {}
    for task in new.values():
        alike.setdefault((task.oracle.fit, task.request.starts), []).append(task)
    for (method, starts), group in alike.items():
        problems, initial = [task.oracle.problem for task in group], [task.initial for task in group]
        triples = [(task.prefix, problem.X, problem.y) for task, problem in zip(group, problems)]
        weights = [problem.weights for problem in problems]
        fits = fit_many(triples, starts, initial=initial, method=method, weights=weights)
        for task, fit in zip(group, fits):
            task.remember(fit)
            task.oracle.n_fits += 1
            task.oracle.n_evaluations += fit.evaluations


def _refusal(problem: Problem, prefix: Prefix) -> str:
    """Why a token sequence cannot be fitted at all; empty if it can."""
    try:
        used = variables(prefix)
    except ExpressionError as error:
        return str(error)
    last, n = VARIABLES.index(used[-1]) + 1 if used else 0, problem.n_variables
    return f"it uses x{last}, the problem has {n} variables" if last > n else ""


def r2_fresh(problem: Problem, candidate: Candidate) -> float:
    """R² on the fresh points, −inf for a failure, nan if the problem has no fresh points."""
    if problem.X_fresh is None:
        return math.nan
    if not candidate.valid:
        return FAILED
    return r2_score(problem.y_fresh, evaluate(candidate.prefix, problem.X_fresh, candidate.constants))
