"""The PAC guarantee for iterated self-verification, as formulas, as a loop, and as a simulation.

Letters of the paper: U expressions in the class, D0 their maximum depth, r new subtrees per round, β hit rate
once every subtree of e* is in the prompt, δ allowed failure, B rounds of burn-in, R rounds after it. Here
also K, the distinct subtrees of e*.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

BINARY: dict[str, Callable] = {"add": np.add, "mul": np.multiply}


def burn_in(U: int, r: int, max_depth: int, delta: float) -> int:
    """B = ⌈(U/r) ln(2^D0 / (δ/2))⌉ rounds.

    >>> burn_in(U=110, r=1, max_depth=2, delta=0.1)
    483
    """
    return math.ceil(U / r * (max_depth * math.log(2) + math.log(2 / delta)))


def extra_rounds(beta: float, delta: float) -> int:
    """R = ⌈ln(2/δ) / β⌉ rounds after the burn-in.

    >>> extra_rounds(beta=0.25, delta=0.1)
    12
    """
    return math.ceil(math.log(2 / delta) / beta)


def call_bound(U: int, r: int, max_depth: int, beta: float, delta: float) -> float:
    """What B + R is a bounded multiple of: (U/r) (D0 + ln(2/δ)) + ln(2/δ)/β.

    The proof splits δ into two halves, so both lengths contain ln(2/δ). It is at least ln 2; ln(1/δ) vanishes
    as δ approaches 1.

    >>> round(call_bound(U=10, r=1, max_depth=1, beta=1e-5, delta=0.99))
    70337
    """
    return U / r * (max_depth + math.log(2 / delta)) + math.log(2 / delta) / beta


def most_subtrees(max_depth: int, convention: str) -> int:
    """Nodes of the full binary tree of that depth, where depth counts "levels" (a leaf has 1) or "edges" (a
    leaf has 0).

    >>> most_subtrees(3, "levels"), most_subtrees(3, "edges")
    (7, 15)
    """
    return 2 ** (max_depth if convention == "levels" else max_depth + 1) - 1


@dataclass(frozen=True)
class Hypotheses:
    """Every expression up to a depth, listed: for number u its operator, its two operands (−1: none), its
    depth in levels, its values.

    Constants come from the grid of spacing ε/2 on [−1, 1]. values (U, P).
    """

    operator: tuple[str, ...]
    operands: np.ndarray  # (U, 2)
    level: np.ndarray  # (U,)
    values: np.ndarray  # (U, P)

    def __len__(self) -> int:
        return len(self.operator)


def grid(epsilon: float) -> np.ndarray:
    """The constants of assumption 1: spacing ε/2 on [−1, 1].

    >>> grid(0.8).round(1).tolist()
    [-1.0, -0.6, -0.2, 0.2, 0.6, 1.0]
    """
    return np.arange(-1.0, 1.0 + 1e-9, epsilon / 2)


def hypotheses(max_depth: int, epsilon: float, X: np.ndarray) -> Hypotheses:
    """List all expressions of at most `max_depth` levels over add, mul, the variables of X (P, D) and the
    grid."""
    columns = np.asarray(X, dtype=float).T  # (D, P)
    constants = grid(epsilon)
    operator = [f"x{d + 1}" for d in range(len(columns))] + [f"{c:.3g}" for c in constants]
    operands = [np.full((len(operator), 2), -1)]
    values = [columns, np.repeat(constants[:, None], columns.shape[1], axis=1)]
    level = [np.ones(len(operator), dtype=int)]
    known, older = len(operator), 0
    for depth in range(2, max_depth + 1):
        table = np.concatenate(values)  # (U so far, P)
        left, right = (side.ravel() for side in np.indices((known, known)))
        # At least one operand of the level below, else it is listed already.
        new = (left >= older) | (right >= older)
        pairs = np.column_stack([left[new], right[new]])
        for name, function in BINARY.items():
            operator += [name] * len(pairs)
            operands.append(pairs)
            values.append(function(table[pairs[:, 0]], table[pairs[:, 1]]))
            level.append(np.full(len(pairs), depth))
        older, known = known, len(operator)
    return Hypotheses(tuple(operator), *map(np.concatenate, (operands, level, values)))


def class_size(max_depth: int, n_leaves: int, n_binary: int = len(BINARY)) -> int:
    """U without listing: U₁ = leaves, U_{d+1} = leaves + binary · U_d².

    >>> [class_size(depth, n_leaves=7) for depth in (1, 2, 3, 4)]
    [7, 105, 22057, 973022505]
    """
    U = n_leaves
    for _ in range(max_depth - 1):
        U = n_leaves + n_binary * U * U
    return U


def mean_squared_errors(space: Hypotheses, y: np.ndarray) -> np.ndarray:
    """The exact oracle, asked about everybody: (U,)."""
    return np.mean((space.values - np.asarray(y, dtype=float)) ** 2, axis=1)


def subtrees(space: Hypotheses, u: int) -> frozenset[int]:
    """The distinct subtrees of expression u, itself included, as numbers of the class."""
    found, todo = set(), [u]
    while todo:
        v = todo.pop()
        if v not in found:
            found.add(v)
            todo += [int(w) for w in space.operands[v] if w >= 0]
    return frozenset(found)


def text(space: Hypotheses, u: int) -> str:
    """Expression u in infix."""
    if space.operands[u, 0] < 0:
        return space.operator[u]
    left, right = (text(space, int(v)) for v in space.operands[u])
    return f"({left} + {right})" if space.operator[u] == "add" else f"{left}·{right}"


Rng = np.random.Generator
Transformer = Callable[[np.ndarray, Rng], int]


def stand_in(space: Hypotheses, target: int, beta: float) -> Transformer:
    """A T that satisfies assumption 5 and no more: e* with probability β once its subtrees are there, any
    other expression before."""
    wanted = np.array(sorted(subtrees(space, target)))

    def transformer(prompt: np.ndarray, rng: Rng) -> int:
        if prompt[wanted].all() and rng.random() < beta:
            return target
        other = int(rng.integers(len(space) - 1))
        return other + (other >= target)

    return transformer


def run_loop(
    transformer: Transformer, errors: np.ndarray, r: int, rounds: int, rng: Rng, replacement: bool = False
) -> np.ndarray:
    """The theorem's loop, literally: the best error after each round, (rounds,). Every round asks the oracle
    once.

    `transformer(prompt, rng)` gets the prompt as a mask over the class, (U,) bool, and answers with a number:
    a real system fits here too. The dictionary grows by r uniform unseen subtrees per round (assumption 6),
    or by r independent draws from the whole class with `replacement`, which is what the proof computes with.
    """
    U = len(errors)
    prompt = np.zeros(U, dtype=bool)
    order = rng.permutation(U)
    best = np.inf
    history = np.empty(rounds)
    for t in range(rounds):
        best = min(best, float(errors[transformer(prompt, rng)]))
        history[t] = best
        new = rng.choice(U, size=min(r, U), replace=False) if replacement else order[t * r : (t + 1) * r]
        prompt[new] = True
    return history


def hitting_times(
    U: int, K: int, r: int, beta: float, runs: int, rng: Rng, replacement: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Many runs at once, from the law of the loop: the round after which the prompt holds all K subtrees of
    e*, and the round of the first hit. (runs,), (runs,) int64.

    Without replacement the K subtrees sit at K random places of a shuffled list of U, read r per round. With
    replacement each of them is drawn with probability r/U per round, which makes its round geometric.
    """
    if replacement:
        ready = rng.geometric(min(1.0, r / U), size=(runs, K)).max(axis=1)
    else:
        # The largest of K distinct places among U: draw it from its distribution function P(max ≤ m) = C(m,
        # K) / C(U, K).
        m = np.arange(U + 1)
        logs = np.where(m >= K, _log_choose(np.maximum(m, K), K) - _log_choose(np.array(U), K), -np.inf)
        last = np.searchsorted(np.exp(logs), rng.random(runs), side="left")
        ready = -(-last // r)
    return ready, ready + rng.geometric(beta, size=runs)


def _log_choose(n: np.ndarray, k: int) -> np.ndarray:
    from scipy.special import gammaln

    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
