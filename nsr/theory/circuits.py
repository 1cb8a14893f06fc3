"""Threshold circuits as data: gates in a list, evaluated on many inputs at once, with their depth and size.

A gate is a kind and the numbers of the gates it reads. AND, OR, MAJ and THR have unbounded fan-in; MAJ is the
paper's majority gate ("outputs false when half or more of the inputs are false"), and THR(k), true when at
least k inputs are, is a majority gate with constants (see `as_majority`). With AND, OR and NOT in constant
depth and polynomial size a family of circuits is in AC⁰; with MAJ too, in TC⁰; with fan-in two and
logarithmic depth, in NC¹.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

KINDS = ("INPUT", "NOT", "AND", "OR", "MAJ", "THR")


@dataclass(frozen=True)
class Gate:
    """kind, the gates it reads, and for THR how many of them must be true."""

    kind: str
    inputs: tuple[int, ...] = ()
    threshold: int = 0


@dataclass(frozen=True)
class Circuit:
    """Gates in an order in which every gate reads earlier ones; `outputs` are gate numbers, `names` label the
    inputs."""

    gates: tuple[Gate, ...]
    outputs: tuple[int, ...]
    names: tuple[str, ...] = ()


def start(n_inputs: int) -> list[Gate]:
    """A circuit under construction: the list of its input gates, to be grown with `add`."""
    return [Gate("INPUT") for _ in range(n_inputs)]


def add(gates: list[Gate], kind: str, inputs: Sequence[int], threshold: int = 0) -> int:
    """Append a gate and return its number."""
    gates.append(Gate(kind, tuple(inputs), threshold))
    return len(gates) - 1


def finish(gates: list[Gate], outputs: Sequence[int], names: Sequence[str] = ()) -> Circuit:
    """The finished circuit."""
    return Circuit(tuple(gates), tuple(outputs), tuple(names))


def levels(circuit: Circuit) -> np.ndarray:
    """The level of every gate: inputs 0, any other gate one more than the deepest it reads. (G,) int."""
    level = np.zeros(len(circuit.gates), dtype=int)
    for i, gate in enumerate(circuit.gates):
        if gate.kind != "INPUT":
            level[i] = 1 + max((level[j] for j in gate.inputs), default=0)
    return level


def depth(circuit: Circuit) -> int:
    """Gates on the longest path from an input to an output."""
    level = levels(circuit)
    return max((int(level[i]) for i in circuit.outputs), default=0)


def size(circuit: Circuit) -> int:
    """Number of gates, inputs not counted."""
    return sum(gate.kind != "INPUT" for gate in circuit.gates)


def census(circuit: Circuit) -> Counter:
    """How many gates of each kind."""
    return Counter(gate.kind for gate in circuit.gates)


def needed(gate: Gate) -> int:
    """How many inputs must be true for an AND, OR, MAJ or THR gate to be true."""
    fan_in = len(gate.inputs)
    return {"AND": fan_in, "OR": 1, "MAJ": fan_in // 2 + 1, "THR": gate.threshold}[gate.kind]


def run(circuit: Circuit, inputs: np.ndarray) -> np.ndarray:
    """Outputs for many inputs at once: (B, n_inputs) of 0/1 -> (B, n_outputs) bool.

    Level by level: one sparse matrix counts the true inputs of all gates of a level, one comparison decides
    them.

    >>> run(majority(3), np.array([[1, 0, 1], [0, 0, 1]])).ravel().tolist()
    [True, False]
    """
    inputs = np.atleast_2d(np.asarray(inputs))
    places = [i for i, gate in enumerate(circuit.gates) if gate.kind == "INPUT"]
    if inputs.shape[1] != len(places):
        raise ValueError(f"The circuit has {len(places)} inputs, but {inputs.shape[1]} were given.")
    state = np.zeros((len(circuit.gates), len(inputs)), dtype=np.int32)  # (G, B)
    state[places] = inputs.T != 0
    level = levels(circuit)
    for stage in range(1, level.max(initial=0) + 1):
        members = np.flatnonzero(level == stage)
        rows, columns, cut, sign = [], [], [], []
        for row, i in enumerate(members):
            gate = circuit.gates[i]
            rows += [row] * len(gate.inputs)
            columns += gate.inputs
            flip = gate.kind == "NOT"  # NOT x is true when −x ≥ 0
            sign.append(-1 if flip else 1)
            cut.append(0 if flip else needed(gate))
        ones = np.ones(len(rows), dtype=np.int32)
        # Repeated wires add up.
        reads = sparse.csr_matrix((ones, (rows, columns)), shape=(len(members), len(state)))
        counts = np.asarray(sign)[:, None] * (reads @ state)
        state[members] = counts >= np.asarray(cut)[:, None]
    return state[list(circuit.outputs)].T.astype(bool)


def as_majority(circuit: Circuit) -> Circuit:
    """The same circuit with every THR(k) turned into one MAJ gate by constants: depth and wires grow by
    constants at most.

    THR(k) of n inputs is MAJ of the inputs with a ones and b zeros, k + a = ⌊(n + a + b)/2⌋ + 1. A one is an
    AND of nothing, a zero an OR of nothing.
    """
    gates: list[Gate] = []
    place: list[int] = []
    constants: dict[str, int] = {}
    for gate in circuit.gates:
        inputs = [place[i] for i in gate.inputs]
        if gate.kind != "THR":
            place.append(add(gates, gate.kind, inputs, gate.threshold))
            continue
        # So many ones (or zeros, if negative) have to be added for a count of k to win.
        spare = len(inputs) - 2 * gate.threshold + 1
        kind = "AND" if spare > 0 else "OR"
        if spare and kind not in constants:
            constants[kind] = add(gates, kind, ())
        place.append(add(gates, "MAJ", inputs + [constants[kind]] * abs(spare) if spare else inputs))
    return Circuit(tuple(gates), tuple(place[i] for i in circuit.outputs), circuit.names)


def majority(n: int) -> Circuit:
    """One gate: are more than half of the n inputs true?"""
    gates = start(n)
    output = add(gates, "MAJ", range(n))
    return finish(gates, [output])


def exact_counts(gates: list[Gate], inputs: Sequence[int], most: int) -> list[tuple[int, int]]:
    """For k = 0 … most the two gates that are both on if exactly k inputs are: at least k, and not k + 1."""
    at_least = [add(gates, "THR", inputs, k) for k in range(most + 2)]
    below = [add(gates, "NOT", [gate]) for gate in at_least]
    return list(zip(at_least, below[1:]))


def counter(n: int) -> Circuit:
    """How many of n inputs are true, as n + 1 outputs of which exactly one is on: [count = k] = THR(k) ∧
    ¬THR(k+1)."""
    gates = start(n)
    return finish(gates, [add(gates, "AND", pair) for pair in exact_counts(gates, range(n), n)])


def parity(n: int) -> Circuit:
    """Is the number of true inputs odd? Constant depth with threshold gates; impossible in AC⁰ (Furst, Saxe
    and Sipser; Ajtai)."""
    count = counter(n)
    gates = list(count.gates)
    odd = add(gates, "OR", count.outputs[1::2])
    return finish(gates, [odd])


def compare(n: int) -> Circuit:
    """Are there at least as many true inputs among the first n as among the last n? Σa ≥ Σb is Σa + Σ¬b ≥ n:
    one THR gate."""
    gates = start(2 * n)
    absent = [add(gates, "NOT", [i]) for i in range(n, 2 * n)]
    output = add(gates, "THR", [*range(n), *absent], n)
    return finish(gates, [output])
