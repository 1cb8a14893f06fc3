"""Bagging: several searches on sub-samples of a problem's points, their candidates judged together on all of
them.

The encoder was trained on a few dozen points; what it makes of another sample of the same data is another
opinion. Each bag is a problem of its own, all bags of all problems are searched in one batch, and the best
candidates of each are fitted once more to all points.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nsr.data.problems import Problem
from nsr.data.rescaling import Units
from nsr.numbers.fitting import Method
from nsr.search.deadline import Deadline
from nsr.search.engine import INTERRUPTED, Budget, Model, Strategy, solve_all
from nsr.search.model_selection import description_length, promising
from nsr.search.oracle import Oracle, Verify, verify_all
from nsr.search.result import Result

TOGETHER = 10  # candidates of a problem that are judged between two looks at the clock
# candidates of each bag that are fitted to all points: so many of the best fits and of the shortest
# descriptions
KEPT = 20


def bags_of(problem: Problem, n_bags: int, bag_size: int, rng: np.random.Generator) -> list[Problem]:
    """Sub-samples without replacement of at most `bag_size` points; all points first where they fit, then two
    thirds of them.

    >>> points = Problem(np.arange(300.0)[:, None], np.arange(300.0), name="line")
    >>> [len(bag.y) for bag in bags_of(points, 2, 200, np.random.default_rng(0))]
    [200, 200]
    """
    P = len(problem.y)
    if P <= bag_size and n_bags == 1:
        return [problem]
    bags = [problem] if P <= bag_size else []
    size = min(bag_size, P) if P > bag_size else max(2, 2 * P // 3)
    while len(bags) < n_bags:
        rows = np.sort(rng.choice(P, size, replace=False))
        if np.ptp(problem.y[rows]) == 0:  # a bag needs two values of y: take one point of each end in
            rows[:2] = problem.y.argmin(), problem.y.argmax()
        bags.append(problem.part(rows, name=f"{problem.name}/{len(bags)}"))
    return bags


def solve_bagged(
    problems: Sequence[Problem],
    strategy: Strategy,
    model: Model,
    *,
    n_bags: int = 1,
    bag_size: int = 200,
    rescale: bool = True,
    budget: Budget | None = None,
    fit: Method = "",
    seed: int = 0,
    reference: Any = None,
    deadline: Deadline | None = None,
    **options: Any,
) -> list[Result]:
    """`solve_all`, whose options it has, for data of any size: in units near the training range, on `n_bags`
    sub-samples, judged on all given points.

    A result's problem is in the units that were searched in; R² is the same. Its counters are the sums over
    bags; `budget` is for all bags of a problem together. After the deadline no more candidates are judged,
    but a few that seem best always are.
    """
    ready = [Units.of(p.X, p.y).problem(p) if rescale else p for p in problems]
    bags = [bags_of(p, n_bags, bag_size, p.stream(seed)) for p in ready]
    if budget:
        candidates = budget.candidates and max(1, budget.candidates // n_bags)
        budget = replace(budget, candidates=candidates, seconds=budget.seconds and budget.seconds / n_bags)
    options |= {"budget": budget, "fit": fit, "seed": seed, "reference": reference}
    flat = solve_all([bag for group in bags for bag in group], strategy, model, **options)
    if deadline is not None and any(result.stopped == INTERRUPTED for result in flat):
        deadline.interrupt()
    per_problem = [[flat.pop(0) for _ in group] for group in bags]
    pending = [
        (Oracle(p, fit), _pooled(p, results))
        for p, results in zip(ready, per_problem)
        if not (len(results) == 1 and results[0].problem is p)
    ]
    _judge([(oracle, request) for oracle, request in pending if request.prefixes], deadline)
    judged = {id(oracle.problem): oracle for oracle, _ in pending}
    return [
        _result(judged[id(p)], results, reference) if id(p) in judged else results[0]
        for p, results in zip(ready, per_problem)
    ]


def _pooled(problem: Problem, results: Sequence[Result]) -> Verify:
    """The best candidates of all bags, the shortest description first, each with the constants it had in its
    bag to start from."""
    best: dict = {}
    for result in results:
        P = len(result.problem.y)
        for c in promising(result.candidates, KEPT, P, problem.floor):
            length = description_length(c.r2, P, len(c.prefix), len(c.constants), problem.floor)
            best.setdefault(c.prefix, (length / P, c))
    chosen = [c for _, c in sorted(best.values(), key=lambda pair: pair[0])]
    initial = tuple(c.constants or None for c in chosen)
    return Verify.beam(chosen, initial=initial, starts=1, note="bags")


def _judge(pending: Sequence[tuple[Oracle, Verify]], deadline: Deadline | None) -> None:
    """Verify what is pending, all at once, or as many at a time as can be done before the deadline is looked
    at again."""
    if deadline is None:
        verify_all(pending)
        return
    for first in range(0, max((len(request.prefixes) for _, request in pending), default=0), TOGETHER):
        if first == 0 or not deadline.passed:
            next_few = [(oracle, request.between(first, first + TOGETHER)) for oracle, request in pending]
            few = [(oracle, request) for oracle, request in next_few if request.prefixes]
            deadline.unless_interrupted(lambda few=few: verify_all(few), [])


def _result(oracle: Oracle, results: Sequence[Result], reference: Any) -> Result:
    """One result of several: the answer judged on all points, what all bags generated and cost."""
    oracle.generated = sum((result.generated for result in results), Counter())
    oracle.n_candidates = 0  # those that are judged on all points were counted in their bags
    for name in ("n_candidates", "n_fits", "n_evaluations", "n_tokens"):
        setattr(oracle, name, getattr(oracle, name) + sum(getattr(result, name) for result in results))
    oracle.charge(sum(np.array([result.seconds, result.processor]) for result in results))
    stopped = next((result.stopped for result in results if result.stopped), "")
    how = results[0].strategy, results[0].beam_size, results[0].seed
    return Result.of(oracle, *how, None, stopped, reference)
