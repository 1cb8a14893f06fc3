"""Short answers: constants that the data cannot tell from 0, ±1 or a quarter turn are taken out of a fitted
expression.

    cost(e) = P·ln(1 − R²) + price·ln(P)·K                          (1 − R² no smaller than y's rounding; among equals fewer tokens)

is Schwarz's criterion for price = 1; with the default of 2 one constant in four hundred survives pure noise
at P = 100, not one in thirty.  Where to set constants is planned with the linearised model; whether that was
right, the oracle says. Letters: P points, K constants.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Generator
from typing import NamedTuple

import numpy as np

from nsr.data.problems import Problem
from nsr.formulas.editing import edits
from nsr.formulas.expressions import CONSTANT, Prefix, constants_at, spans
from nsr.numbers.evaluation import gradient
from nsr.numbers.simplification import ODD, QUARTER, Valued, simplify
from nsr.numbers.weighting import roots, total
from nsr.search.deadline import Deadline
from nsr.search.dialogue import Dialogue
from nsr.search.disguises import limits
from nsr.search.model_selection import by_length, price_of_a_constant
from nsr.search.oracle import NOISE, Candidate, Oracle, Verify, verify_all

PRICE = 2.0  # of a constant, in units of ln P
TRIES = 8  # verifications that one pruning may ask for
ROUNDS = 4  # of taking something away and pruning again
Steps = Generator[Verify, list[Candidate], Candidate]  # asks for verifications, and returns what stood


def cost(candidate: Candidate, n_points: int, price: float = PRICE, floor: float = 0.0) -> float:
    """P·ln(1 − R²) + price·ln(P)·K, infinite for a failure.

    >>> round(cost(Candidate(("sin", "mul", "C", "x1"), r2=0.9), 100), 2)
    -221.05
    """
    if not candidate.valid:
        return math.inf
    fit = n_points * math.log(max(1.0 - candidate.r2, NOISE, floor))
    constants = price * math.log(n_points) * candidate.prefix.count(CONSTANT)
    return fit + constants + 1e-6 * len(candidate.prefix)


# ----------------------------------------------------------------------------------------------------------------- plan


class Step(NamedTuple):
    """Set constant k to a value; what the linearised model expects of all constants (K,) after this step and
    those before."""

    k: int
    value: float
    constants: np.ndarray


class Target(NamedTuple):
    """A value at which constant k could leave, and the constants that would leave with it."""

    k: int
    value: float
    inside: tuple[int, ...] = ()


def targets(prefix: Prefix, constants: tuple[float, ...]) -> list[Target]:
    """Where each constant could go: a factor to 1, −1 or 0, a summand to 0, a phase to the nearest quarter
    turn."""
    number = {i: k for k, i in enumerate(constants_at(prefix))}
    ends, parent = spans(prefix), {}
    for i, end in enumerate(ends):
        j = i + 1
        while j < end:
            parent[j] = i
            j = ends[j]
    reachable = []
    for i, k in number.items():
        above = parent.get(i)
        token = prefix[above] if above is not None else ""
        if token == "mul":
            reachable.append(Target(k, 1.0))
            around = prefix[parent[above]] if above in parent else ""
            # where a minus sign can be written
            if around in ("add", "sub", "cos", *ODD) or i == above + 1 and prefix[i + 1] in ODD:
                reachable.append(Target(k, -1.0))
            if around in ("add", "sub"):
                inside = tuple(other for j, other in number.items() if above < j < ends[above] and other != k)
                reachable.append(Target(k, 0.0, inside))
        elif token in ("add", "sub"):
            while above is not None and prefix[above] in ("add", "sub"):
                above = parent.get(above)
            turning = above is not None and prefix[above] in ("sin", "cos")
            reachable.append(Target(k, QUARTER * round(constants[k] / QUARTER) if turning else 0.0))
    return reachable


class _Linearised:
    """The model that is linear in its constants around the fitted ones, f(c + δ) ≈ f + Jδ; some of them are
    set, and the free ones adapt.

    With A = JᵀJ, setting c_k to v and adapting the rest raises the residual sum by (c_k − v)² / (A⁻¹)_kk.
    Sums are in units of y's own, so that they compare with 1 − R².
    """

    def __init__(self, candidate: Candidate, problem: Problem) -> None:
        self.constants = np.array(candidate.constants, dtype=float)  # (K,)
        K, weights = len(self.constants), problem.weights
        J = gradient(candidate.prefix, problem.X, candidate.constants)[1]  # (P, K)
        J = np.where(np.abs(J) < 1e150, J, 0.0) / math.sqrt(total(problem.y, weights))
        J *= roots(weights, len(J))[:, None]
        self.scale = np.sqrt((J * J).sum(0))  # (K,)
        self.scale[self.scale == 0] = 1.0
        A = (J / self.scale).T @ (J / self.scale)  # (K, K)
        self.inverse = np.linalg.pinv(A + 1e-14 * np.eye(K), rcond=1e-15, hermitian=True)
        self.free = set(range(K))

    def growth(self, k: int, value: float) -> float:
        """By how much the residual sum grows if constant k is set to a value."""
        step, pivot = (value - self.constants[k]) * self.scale[k], self.inverse[k, k]
        # plain floats: an overflow is inf, and no warning
        return float(step) / float(pivot) * float(step) if pivot > 1e-300 else 0.0

    def settle(self, k: int, value: float) -> None:
        """Constant k leaves the free ones at this value, and they adapt."""
        step, pivot = (value - self.constants[k]) * self.scale[k], self.inverse[k, k]
        if pivot > 1e-300:
            self.constants += self.inverse[:, k] * (step / pivot) / self.scale
            self.inverse = self.inverse - np.outer(self.inverse[:, k], self.inverse[k]) / pivot
        self.constants[k] = value
        self.free.discard(k)


def plan(
    candidate: Candidate, problem: Problem, price: float = PRICE, banned: Container[tuple[int, float]] = ()
) -> list[Step]:
    """Which constants to set, one after the other, as long as the linearised model says that the cost goes
    down; none of the banned."""
    if not candidate.valid or not candidate.constants:
        return []
    model, P, steps = _Linearised(candidate, problem), len(problem.y), []
    rss, worth = max(1.0 - candidate.r2, NOISE, problem.floor), price * math.log(P)
    places = [t for t in targets(candidate.prefix, candidate.constants) if (t.k, t.value) not in banned]

    def gain(target: Target) -> float:
        """By how much the cost goes down: what the constants that leave are worth, less what the fit
        loses."""
        leaving = 1 + sum(k in model.free for k in target.inside)
        return worth * leaving - P * math.log1p(min(model.growth(target.k, target.value) / rss, 1e300))

    while True:
        gains = {target: gain(target) for target in places if target.k in model.free}
        best = max((target for target in gains if gains[target] > 0.0), key=gains.get, default=None)
        if best is None:
            return steps
        if best.value == 0.0:
            for k in best.inside:
                if k in model.free:
                    model.settle(k, model.constants[k])
        rss += model.growth(best.k, best.value)
        model.settle(best.k, best.value)
        steps.append(Step(best.k, best.value, model.constants.copy()))


def shortened(candidate: Candidate, problem: Problem, price: float = PRICE) -> Valued:
    """What the plan would leave of a candidate, with the constants that it expects; nothing is verified."""
    return _after(candidate, plan(candidate, problem, price))


def _after(candidate: Candidate, steps: list[Step]) -> Valued:
    constants = tuple(steps[-1].constants.tolist()) if steps else candidate.constants
    return simplify(candidate.prefix, constants, {step.k: step.value for step in steps})


def prune(candidate: Candidate, problem: Problem, price: float = PRICE) -> Steps:
    """Shorten a fitted candidate as far as its cost goes down: follow the plan, half of it if that was too
    much, and plan again.

    Yields verifications (they are counted like all others) and returns the shortest that stood.
    """
    best, P, banned = candidate, len(problem.y), set()
    steps = plan(best, problem, price)
    for _ in range(TRIES):
        prefix, start = _after(best, steps)
        if prefix == best.prefix:
            break
        request = Verify((prefix,), (best.log_prob,), (start or None,), starts=1, note="pruned")
        shorter = (yield request)[0]
        # a change of signs may cost a token
        if cost(shorter, P, price, problem.floor) < cost(best, P, price, problem.floor) + 1e-5:
            best, banned = shorter, set()
            steps = plan(best, problem, price)
        elif len(steps) > 1:
            steps = steps[: len(steps) // 2]
        elif steps:
            banned.add((steps[0].k, steps[0].value))
            steps = plan(best, problem, price, banned)
        if not steps:
            break
    return best


def pruned(
    candidate: Candidate, oracle: Oracle, price: float = PRICE, deadline: Deadline | None = None
) -> Candidate:
    """`prune`, with the verifications done now, until the deadline.

    >>> line = Oracle(Problem([[0.0], [1.0], [2.0], [3.0]], [0.1, 2.0, 3.9, 6.1]))
    >>> pruned(line.verify([("add", "C", "mul", "C", "x1")])[0], line).prefix
    ('mul', 'C', 'x1')
    """
    return _now(prune(candidate, oracle.problem, price), candidate, oracle, deadline)


def simplest(candidate: Candidate, problem: Problem) -> Steps:
    """Prune, then take a function or one side of an operator away, or write its limit (nsr.search.disguises),
    and prune again, as long as the description gets shorter (nsr.search.model_selection). Yields
    verifications, as `prune` does.

    What a search adds to a formula is sometimes there for its constants only, like the tangent of a hundredth
    of x.
    """
    P, floor = len(problem.y), problem.floor
    price = price_of_a_constant(P)
    best = yield from prune(candidate, problem, price)
    for _ in range(ROUNDS):
        fewer = {edit.prefix: None for edit in edits(best.prefix, (), (), (), kinds=("unwrap", "drop"))}
        fewer |= dict(limits(best.prefix, best.constants, problem.X))
        if not fewer:
            break
        request = Verify(tuple(fewer), initial=tuple(fewer.values()), starts=2, note="plainer")
        shorter = by_length((yield request), P, floor)
        pruned_first = (yield from prune(shorter[0], problem, price)) if shorter else best
        if by_length([best, pruned_first], P, floor)[0] is best:
            break
        best = pruned_first
    return best


def plainer(candidate: Candidate, oracle: Oracle, deadline: Deadline | None = None) -> Candidate:
    """`simplest`, with the verifications done now, until the deadline.

    >>> x = np.linspace(1, 2, 50)
    >>> line = Oracle(Problem(x[:, None], np.round(3 * x, 3)))
    >>> plainer(line.verify([("mul", "C", "tan", "mul", "C", "x1")])[0], line).prefix
    ('mul', 'C', 'x1')
    """
    return _now(simplest(candidate, oracle.problem), candidate, oracle, deadline)


def _now(steps: Steps, candidate: Candidate, oracle: Oracle, deadline: Deadline | None) -> Candidate:
    """What the steps come to, or the shortest description among what was verified when the deadline passed."""
    deadline, dialogue, verified = deadline or Deadline(), Dialogue(steps), [candidate]
    while not deadline.passed:
        requests = next(dialogue, None)
        if requests is None:
            return dialogue.result
        dialogue.answers = verify_all([(oracle, request) for request in requests])
        verified += itertools.chain(*dialogue.answers)
    dialogue.close()
    shortest = by_length(verified, len(oracle.problem.y), oracle.problem.floor)
    return shortest[0] if candidate.valid else candidate
