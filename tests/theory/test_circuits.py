"""Circuits against direct computation: all inputs of small size, random larger ones, and the growth the proof
needs."""

from itertools import product

import numpy as np
import pytest

from nsr.theory import boolean, circuits, proof_circuits, reduction
from nsr.theory.circuits import census, depth, run, size


def every_input(n: int) -> np.ndarray:
    return np.array(list(product((0, 1), repeat=n)))


@pytest.mark.parametrize("n", range(1, 9))
def test_counting_gates_on_all_inputs(n):
    inputs = every_input(n)
    ones = inputs.sum(axis=1)
    # false when half or more are false
    assert (run(circuits.majority(n), inputs)[:, 0] == (2 * ones > n)).all()
    assert (run(circuits.counter(n), inputs).argmax(axis=1) == ones).all()
    assert (run(circuits.counter(n), inputs).sum(axis=1) == 1).all()
    assert (run(circuits.parity(n), inputs)[:, 0] == ones % 2).all()


@pytest.mark.parametrize("n", range(1, 6))
def test_comparison_on_all_inputs(n):
    inputs = every_input(2 * n)
    assert (
        run(circuits.compare(n), inputs)[:, 0] == (inputs[:, :n].sum(axis=1) >= inputs[:, n:].sum(axis=1))
    ).all()


def test_thresholds_are_majorities():
    for original in (circuits.counter(6), circuits.parity(5), circuits.compare(3)):
        rebuilt = circuits.as_majority(original)
        n = census(original)["INPUT"]
        assert census(rebuilt)["THR"] == 0 and census(rebuilt)["MAJ"] == census(original)["THR"]
        assert (run(rebuilt, every_input(n)) == run(original, every_input(n))).all()
        assert depth(rebuilt) <= depth(original) + 1 and size(rebuilt) <= size(original) + 2


def match_by_stack(text: str) -> np.ndarray:
    """Lemma "Bracket parsing" with a stack: (2, n, n), left partner and right partner."""
    n = len(text)
    table, stack, partner = np.zeros((2, n, n), dtype=bool), [], {}
    for i, symbol in enumerate(text):
        if symbol == "(":
            stack.append(i)
        elif symbol == ")":
            partner[stack.pop()] = i
    for i, symbol in enumerate(text):
        around = [(a, b) for a, b in partner.items() if a < i < b]
        if symbol == "(":
            table[1, i, partner[i]] = True
        elif symbol == ")":
            table[0, i, next(a for a, b in partner.items() if b == i)] = True
        elif around:
            a, b = max(around)
            table[0, i, a] = table[1, i, b] = True
    return table


def bracket_bits(texts: list[str], n: int) -> np.ndarray:
    return np.array([[s == "(" for s in t.ljust(n)] + [s == ")" for s in t.ljust(n)] for t in texts])


@pytest.mark.parametrize("n", range(1, 9))
def test_bracket_matching_on_all_strings(n):
    def paired(text: str) -> bool:
        heights = np.cumsum([{"(": 1, ")": -1}.get(s, 0) for s in text])
        return heights[-1] == 0 and heights.min() >= 0

    texts = [text for text in map("".join, product("()a", repeat=n)) if paired(text)]
    found = run(proof_circuits.bracket_matching(n), bracket_bits(texts, n)).reshape(len(texts), 2, n, n)
    assert (found == np.array([match_by_stack(text) for text in texts])).all()


def test_bracket_matching_on_long_formulae():
    rng = np.random.default_rng(0)
    texts = [boolean.sample(40, rng) for _ in range(40)]
    found = run(proof_circuits.bracket_matching(40), bracket_bits(texts, 40)).reshape(-1, 2, 40, 40)
    assert (found == np.array([match_by_stack(text) for text in texts])).all()


@pytest.mark.parametrize("n", [1, 4, 5, 8, 9, 12, 13])
def test_or_elimination_on_all_formulae(n):
    texts = list(boolean.formulae(n))
    circuit = proof_circuits.or_elimination(n)
    out = proof_circuits.decode(run(circuit, proof_circuits.encode(texts, n)))
    assert out == [reduction.or_free(text) for text in texts]
    shorter = [text for size in range(1, n) for text in boolean.formulae(size)]
    if shorter:  # blanks at the end are read too
        assert proof_circuits.decode(run(circuit, proof_circuits.encode(shorter, n))) == [
            reduction.or_free(t) for t in shorter
        ]


def test_or_elimination_on_long_formulae():
    rng = np.random.default_rng(1)
    texts = [boolean.sample(45, rng) for _ in range(60)]
    out = proof_circuits.decode(run(proof_circuits.or_elimination(45), proof_circuits.encode(texts, 45)))
    assert out == [reduction.or_free(text) for text in texts]


def test_prefix_order():
    rng = np.random.default_rng(4)
    texts = [reduction.or_free_in_grammar(text) for n in range(1, 13) for text in boolean.formulae(n)]
    texts += [reduction.or_free_in_grammar(boolean.sample(20, rng)) for _ in range(20)]
    n = max(map(len, texts))
    out = proof_circuits.decode(run(proof_circuits.prefix_order(n), proof_circuits.encode(texts, n)))
    assert out == ["".join(boolean.parse(text)) for text in texts]


def test_constant_depth_and_polynomial_size():
    sizes = np.array([8, 16, 32])
    for build in (
        proof_circuits.bracket_matching,
        proof_circuits.or_elimination,
        proof_circuits.prefix_order,
    ):
        family = [build(int(n)) for n in sizes]
        assert len({depth(circuit) for circuit in family}) == 1
        exponents = np.diff(np.log2([size(circuit) for circuit in family]))
        assert (exponents < 2.2).all()  # doubling n multiplies the gates by about four
        wires = [sum(len(gate.inputs) for gate in circuit.gates) for circuit in family]
        assert (np.diff(np.log2(wires)) < 3.2).all()


def leaves_of(symbols) -> np.ndarray:
    return np.array([[int(symbol) for symbol in symbols if symbol in "01"]])


def test_formula_circuits_on_all_leaf_values():
    rng = np.random.default_rng(2)
    for n in (9, 13, 21, 30):
        symbols = boolean.parse(boolean.sample(n, rng))
        inputs = every_input(leaves_of(symbols).shape[1])
        tree, balanced = proof_circuits.tree_circuit(symbols), proof_circuits.balanced_circuit(symbols)
        assert (run(tree, inputs) == run(balanced, inputs)).all()
        assert run(tree, leaves_of(symbols))[0, 0] == boolean.value(symbols)
        assert depth(tree) == boolean.depth(symbols)


def test_balanced_circuits_are_log_deep():
    rng = np.random.default_rng(3)
    for k in (16, 64, 256):
        chain = tuple(word for i in range(k) for word in ("∧∨"[i % 2], "1")) + ("0",)  # as lopsided as can be
        for symbols in (chain, boolean.parse(boolean.sample(4 * k + 1, rng)), ("¬",) * k + ("1",)):
            circuit = proof_circuits.balanced_circuit(symbols)
            assert depth(circuit) <= 3 * np.log(len(symbols)) / np.log(1.5) + 3
            assert max(len(gate.inputs) for gate in circuit.gates) <= 2
            assert run(circuit, leaves_of(symbols))[0, 0] == boolean.value(symbols)


def test_lookup_knows_one_size_by_heart():
    for n in (5, 9, 12):
        texts = list(boolean.formulae(n))
        circuit = proof_circuits.lookup(n)
        assert (
            run(circuit, proof_circuits.encode(texts, n))[:, 0] == [boolean.value(text) for text in texts]
        ).all()
        assert depth(circuit) == 2


def test_wrong_number_of_inputs():
    with pytest.raises(ValueError, match="3 inputs, but 2"):
        run(circuits.majority(3), np.zeros((1, 2)))
