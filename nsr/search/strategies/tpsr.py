"""TPSR: Monte Carlo tree search over tokens, with the network as policy and as simulator (Shojaee et al.,
2023).

The answer is written token by token. Before each token the search makes r rollouts from what is written so
far:

    selection        go down to the child with the largest value of P-UCB,
                     Q(s,a) + β(s)·p(a|s)·√(ln N(s)) / (1 + N(s,a))
    expansion        add the most likely of the k_max best next tokens that was not tried yet
    simulation       let beam search complete the expression and verify it
    back-up          reward  1/(1 + NMSE) + λ·exp(−|s|/L),  and  Q ← max(Q, reward)  on the way back

with β(s) = ln((N(s) + c_base + 1)/c_base) + c. Then it takes the token with the largest Q and keeps the tree
below it. A node is expanded k_max times before anything is selected below it, so with r ≤ k_max (the
published setting) P-UCB never speaks: the search is a lookahead by one token.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from nsr.data.problems import Problem
from nsr.formulas.expressions import END, SPECIAL, Prefix, Token
from nsr.formulas.grammar import open_arguments
from nsr.search.decoding import MAX_LEN, Complete, NextTokens, Stop
from nsr.search.engine import Search, View
from nsr.search.oracle import Candidate, Verify

FAILURE = -2.0  # reward of what is no expression or has no finite values; as in the published code
PUBLISHED: dict[str, Any] = {"published": True, "masked": False, "lam": 0.1, "length_scale": 200}
"""`TPSR(**PUBLISHED)`: the published code down to its reward and its decoding without a grammar"""


@dataclass
class Node:
    """A prefix in the search tree; after END it is an answer."""

    prefix: Prefix = ()
    ended: bool = False
    prior: float = 1.0  # p(a|s) of its last token
    log_prob: float = 0.0  # of all its tokens
    # tokens to expand to, most likely first; None: the network was not asked yet
    untried: list[tuple[Token, float]] | None = None
    children: list[Node] = field(default_factory=list)
    visits: int = 0  # N
    value: float = -math.inf  # Q, the largest reward found below

    def expand(self) -> Node:
        """Add the child of the most likely token that was not tried yet."""
        token, log_prob = self.untried.pop(0)
        prefix = self.prefix if token == END else (*self.prefix, token)
        self.children.append(Node(prefix, token == END, math.exp(log_prob), self.log_prob + log_prob))
        return self.children[-1]

    def label(self) -> Prefix:
        return (*self.prefix, END) if self.ended else self.prefix


@dataclass(frozen=True)
class Rollout:
    """What one rollout did. N and Q of every node follow from these: count the paths through it, take the
    largest reward."""

    problem: str
    written: Prefix  # the root: tokens already taken
    # nodes from the root to the one that was expanded; END is written at the end of an answer
    path: tuple[Prefix, ...]
    prior: float  # p(a|s) of the last of them
    completion: Prefix  # the best completion that the reward is for; empty if there is none
    reward: float


@dataclass
class Memory:
    """What one search knows: nothing is decoded or verified twice."""

    # prefix → what beam search made of it
    completions: dict[Prefix, tuple[Prefix, ...]] = field(default_factory=dict)
    candidates: dict[Prefix, Candidate] = field(default_factory=dict)  # expression → its verification


@dataclass(frozen=True)
class TPSR:
    """Tree search over tokens; answers with the best candidate it ever verified, or as `published` with the
    path it walked.

    `nmse` says what the mean squared error is divided by: "power", mean(y²) as in the published code, or
    "variance" (then NMSE is 1 − R²). `length_scale` is L; None stands for `max_len`, the longest expression
    that can be written. λ is 0.01 in the paper and 0.1 in the published code. `watch` is called with a
    `Rollout` after each one.
    """

    rollouts: int = 3  # r, per token of the answer
    k_max: int = 3
    beam_size: int = 1  # b, of the completions
    lam: float = 0.01  # λ
    nmse: Literal["power", "variance"] = "power"
    length_scale: int | None = None  # L
    published: bool = False
    c: float = 1.0  # P-UCB, as in the published code
    c_base: float = 50.0
    masked: bool = True
    max_len: int = MAX_LEN
    starts: int = 4
    watch: Callable[[Rollout], None] | None = field(default=None, repr=False, compare=False)
    stop: Stop = field(default="bound", metadata={"later": True})  # of the completions

    def __post_init__(self) -> None:
        for name in ("rollouts", "k_max", "beam_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.nmse not in ("power", "variance"):
            raise ValueError(f"nmse is {self.nmse!r}; choose 'power' or 'variance'")

    @property
    def name(self) -> str:
        return "tpsr"

    def search(self, view: View, rng: np.random.Generator) -> Search:
        memory, root = Memory(), Node()
        while not root.ended and self.possible(root):
            yield from self.look_ahead(root, memory)
            for _ in range(self.rollouts):
                path = self.select(root)
                yield from self.read(path[-1])
                if path[-1].untried:
                    path.append(path[-1].expand())
                completion, reward = yield from self.simulate(path[-1], view.problem, memory)
                for node in path:
                    node.visits, node.value = node.visits + 1, max(node.value, reward)
                if self.watch:
                    done = tuple(n.label() for n in path), path[-1].prior, completion, reward
                    self.watch(Rollout(view.problem.name, root.prefix, *done))
            if not root.children:
                break  # no room for another token
            root = max(root.children, key=lambda child: child.value)  # among equals the most likely
        if self.published:
            root.ended = True  # the path is the answer, even if the network never wrote END
            yield from self.complete([root], memory)
            return memory.candidates[root.prefix]

    # ---------------------------------------------------------------------------------------------------------- selection

    def select(self, root: Node) -> list[Node]:
        """The path from the root to the first node that can be expanded, or to an answer."""
        path = [root]
        while path[-1].children and not path[-1].untried:
            parent = path[-1]
            path.append(max(parent.children, key=lambda child: self.p_ucb(parent, child)))
        return path

    def p_ucb(self, parent: Node, child: Node) -> float:
        """Q(s,a) + β(s)·p(a|s)·√(ln N(s)) / (1 + N(s,a))."""
        beta = math.log((parent.visits + self.c_base + 1) / self.c_base) + self.c
        return child.value + beta * child.prior * math.sqrt(math.log(parent.visits)) / (1 + child.visits)

    # ---------------------------------------------------------------------------------------------------------- expansion

    def read(self, node: Node) -> Generator[Any, Any, None]:
        """Ask the network for the tokens to expand to, once."""
        if node.untried is None:
            if node.ended or not self.possible(node):
                node.untried = []
            elif self.masked and open_arguments(node.prefix) == 0:
                node.untried = [(END, 0.0)]  # nothing else may follow: no need to ask
            else:
                tokens = yield NextTokens(node.prefix, masked=self.masked, max_len=self.max_len)
                node.untried = tokens[: self.k_max]

    def possible(self, node: Node) -> bool:
        """False, without the grammar, after a token that cannot stand in an expression or one that follows
        its end."""
        return self.masked or not set(node.prefix) & set(SPECIAL) and open_arguments(node.prefix) >= 0

    def look_ahead(self, root: Node, memory: Memory) -> Generator[Any, Any, None]:
        """Complete together what the next rollouts will complete one by one: the root's children come first
        in any case."""
        yield from self.read(root)
        future = Node(root.prefix, log_prob=root.log_prob, untried=list(root.untried))
        yield from self.complete([future.expand() for _ in root.untried[: self.rollouts]], memory)

    # --------------------------------------------------------------------------------------------------------- simulation

    def simulate(
        self, node: Node, problem: Problem, memory: Memory
    ) -> Generator[Any, Any, tuple[Prefix, float]]:
        """The best completion of a node and its reward."""
        yield from self.complete([node], memory)
        outputs = (node.prefix,) if node.ended else memory.completions.get(node.prefix, ())
        rewards = [(self.reward(memory.candidates[prefix], problem), prefix) for prefix in outputs]
        reward, prefix = max(rewards, key=lambda pair: pair[0], default=(FAILURE, ()))
        return prefix, reward

    def complete(self, nodes: list[Node], memory: Memory) -> Generator[Any, Any, None]:
        """Let beam search complete the nodes, and verify what it writes, unless that is known."""
        asked = [node for node in nodes if not node.ended and node.prefix not in memory.completions]
        asked = [node for node in asked if self.possible(node)]
        rules = {"masked": self.masked, "stop": self.stop, "max_len": self.max_len}
        requests = [Complete(node.prefix, self.beam_size, **rules) for node in asked]
        beams = (yield requests) if requests else []
        answers = [node for node in nodes if node.ended and node.prefix not in memory.candidates]
        written = [(node.prefix, node.log_prob) for node in answers]
        for node, beam in zip(asked, beams):
            memory.completions[node.prefix] = tuple(h.prefix for h in beam)
            written += [(h.prefix, node.log_prob + h.log_prob) for h in beam]
            # greedy: from any prefix on its way the completion is the same
            if self.beam_size == 1 and self.masked and beam:
                whole = beam[0].prefix
                lengths = range(len(node.prefix), len(whole) + 1)
                memory.completions.update((whole[:n], (whole,)) for n in lengths)
        if written:
            candidates = yield Verify(*zip(*written), starts=self.starts)
            memory.candidates.update((candidate.prefix, candidate) for candidate in candidates)

    def reward(self, candidate: Candidate, problem: Problem) -> float:
        """1/(1 + NMSE) + λ·exp(−|s|/L).

        >>> line = Problem([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0])
        >>> round(TPSR(lam=0.01, length_scale=1).reward(Candidate(("x1",), r2=1.0, mse=0.0), line), 4)
        1.0037
        """
        if not candidate.valid:
            return FAILURE
        scale = np.mean(problem.y**2) if self.nmse == "power" else np.var(problem.y)
        L = self.length_scale or self.max_len
        return float(1 / (1 + candidate.mse / scale) + self.lam * math.exp(-len(candidate.prefix) / L))
