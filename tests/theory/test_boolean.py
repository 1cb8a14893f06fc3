"""Formulae, the reduction, and its soundness: the judge is string rewriting, an evaluator that shares no code
with ours."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from nsr.formulas.expressions import is_valid
from nsr.numbers import evaluation
from nsr.theory import LastTokenProblem, boolean, last_token, reduce_formula, reduction

RULES = {"(¬0)": "1", "(¬1)": "0"} | {
    f"({a}{op}{b})": str(int(a) & int(b) if op == "∧" else int(a) | int(b))
    for a in "01"
    for b in "01"
    for op in "∧∨"
}
PATTERN = re.compile("|".join(map(re.escape, RULES)))


def rewrite(text: str) -> int:
    """Replace the innermost brackets by their values until one symbol is left."""
    while len(text) > 1:
        shorter = PATTERN.sub(lambda found: RULES[found.group()], text)
        assert shorter != text, f"stuck at {text}"
        text = shorter
    return int(text)


def grown(max_connectives: int) -> list[set[str]]:
    """All formulae by number of connectives, straight from the grammar."""
    rows = [{"0", "1"}]
    for n in range(1, max_connectives + 1):
        row = {f"(¬{t})" for t in rows[n - 1]}
        row |= {f"({a}{op}{b})" for i in range(n) for a in rows[i] for b in rows[n - 1 - i] for op in "∧∨"}
        rows.append(row)
    return rows


# all formulae of up to 15 symbols: five connectives need 16
SMALL = {text for row in grown(4) for text in row}


@pytest.fixture(scope="module")
def all_small() -> list[str]:
    return [text for size in range(1, 22) for text in boolean.formulae(size)]


def test_listing_is_the_grammar():
    for size in range(1, 14):
        assert set(boolean.formulae(size)) == {text for text in SMALL if len(text) == size}
        assert boolean.count(size) == len(list(boolean.formulae(size)))


@pytest.mark.slow
def test_soundness_exhaustively(all_small):
    """All formulae of up to 21 symbols: the argmin is x1 iff the value is 0, x2 iff it is 1, and C's loss is
    1/4."""
    assert len(all_small) == len(set(all_small)) >= 100_000
    prefixes = [
        ("add", *reduction.to_tokens(reduction.to_prefix(reduction.or_free(text)))) for text in all_small
    ]
    losses = reduction.exact_losses(prefixes)  # four times the loss, integers
    truth = np.array([rewrite(text) for text in all_small])
    assert (losses[truth == 0] == [0, 4, 1]).all() and (losses[truth == 1] == [4, 0, 1]).all()
    assert {len(prefix) % 4 for prefix in prefixes} == {0}


def test_evaluator_agrees_with_rewriting(all_small):
    for text in all_small[::7]:
        assert boolean.value(text) == rewrite(text)
        assert boolean.to_text(boolean.parse(text)) == text


@pytest.mark.parametrize("size", [50, 200, 500, 1000])
def test_soundness_at_random(size):
    rng = np.random.default_rng(size)
    for _ in range(10):
        text = boolean.sample(size, rng)
        assert len(text) == size
        problem = reduce_formula(text)
        losses = problem.losses()
        truth = rewrite(text)
        assert problem.solve() == ("x1", "x2")[truth]
        assert losses == pytest.approx({"x1": truth, "x2": 1 - truth, "C": 0.25}, abs=1e-9)
        assert is_valid((*problem.prefix, "x1")) and not is_valid(problem.prefix)


def test_exact_losses_agree_with_the_general_solver():
    rng = np.random.default_rng(1)
    problems = [reduce_formula(boolean.sample(int(size), rng)) for size in rng.integers(7, 60, size=30)]
    general = np.array([list(problem.losses().values()) for problem in problems])
    assert np.allclose(
        4 * general, reduction.exact_losses([problem.prefix for problem in problems]), atol=1e-7
    )


def test_sampling_is_uniform():
    rng = np.random.default_rng(0)
    for size in (8, 12, 13):
        seen = Counter(boolean.sample(size, rng) for _ in range(30 * boolean.count(size)))
        counts = [seen[text] for text in boolean.formulae(size)]
        assert sum(counts) == 30 * boolean.count(size)
        assert chisquare(counts).pvalue > 1e-4


def test_deep_formulae_need_no_recursion():
    text = "(¬" * 20_000 + "0" + ")" * 20_000
    assert boolean.value(text) == 0 and boolean.depth(text) == 20_000
    right = "(1∧" * 5_000 + "1" + ")" * 5_000
    assert reduce_formula(right).solve() == "x2"


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 1),
        ("2", 1),
        ("01", 2),
        ("1∧0", 2),
        ("(1∧0", 5),
        ("(1∧0))", 6),
        ("(0)", 3),
        ("()", 2),
        ("(¬)", 3),
        ("¬0", 1),
        ("(¬0∧1)", 4),
        ("(1 ∧0)", 3),
        ("(1∧∨0)", 4),
        ("(1&0)", 3),
        ("((1∨0)∧)", 8),
        (")", 1),
        ("(1∧0)∨1", 6),
    ],
)
def test_malformed_formulae_say_where(text, position):
    for reader in (boolean.parse, reduce_formula, reduction.or_free, reduction.or_free_in_grammar):
        with pytest.raises(ValueError, match=f"position {position}:") as caught:
            reader(text)
        assert caught.value.position == position
        picture = str(caught.value).splitlines()
        assert picture[-1].index("^") == 2 + position - 1 and picture[-2] == "  " + text


def test_caret_in_a_long_text():
    text = "(¬" * 400 + "2" + ")" * 400
    with pytest.raises(ValueError) as caught:
        boolean.parse(text)
    line, caret = str(caught.value).splitlines()[-2:]
    assert line[caret.index("^")] == "2" and len(line) < 80


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="01∧∨¬()", max_size=14))
def test_parser_accepts_exactly_the_grammar(text):
    try:
        boolean.parse(text)
        accepted = True
    except ValueError:
        accepted = False
    assert accepted == (text in SMALL)


def test_or_free_keeps_the_value_and_the_mended_edit_the_grammar():
    rng = np.random.default_rng(2)
    for text in [boolean.sample(int(size), rng) for size in rng.integers(7, 80, size=200)]:
        loose, strict = reduction.or_free(text), reduction.or_free_in_grammar(text)
        assert "∨" not in loose + strict
        assert rewrite(strict) == rewrite(text) and len(strict) == len(text) + 9 * text.count("∨")
        assert boolean.parse(strict) == boolean.parse(loose, bare_not=True)
    with pytest.raises(ValueError):
        boolean.parse(reduction.or_free("(0∨1)"))  # outside the paper's grammar
    with pytest.raises(ValueError, match="or_free"):
        reduction.to_prefix("(0∨1)")


def test_padding_and_more_variables():
    short, text = reduce_formula("(0∨(¬0))"), "(0∨(¬0))"
    for length in range(len(short.prefix), len(short.prefix) + 40, 4):
        padded = reduce_formula(text, length=length, n_variables=5)
        assert len(padded.prefix) == length and padded.solve() == short.solve() == "x2"
        assert padded.leaves == ("x1", "x2", "x3", "x4", "x5", "C")
    with pytest.raises(ValueError, match="multiples of 4"):
        reduce_formula(text, length=len(short.prefix) + 3)


def test_general_last_token_problem():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 3))
    for leaf in ("x1", "x2", "x3"):
        prefix = ("add", "mul", "C", "sin", "x1", "mul", "C")
        y = evaluation.evaluate((*prefix, leaf), X, (1.5, -0.7))
        problem = LastTokenProblem(prefix, X, y)
        assert problem.solve() == leaf and problem.loss(leaf) < 1e-12
    assert LastTokenProblem(("mul", "x1"), X, 2.5 * X[:, 0]).solve() == "C"
    assert LastTokenProblem(("log",), -np.abs(X), X[:, 0], leaves=("x1",)).loss("x1") == float("inf")
    with pytest.raises(ValueError, match="adding one leaf"):
        LastTokenProblem(("add", "x1", "x2"), X, X[:, 0])
    with pytest.raises(ValueError, match="cannot end an expression"):
        LastTokenProblem(("add", "x1"), X, X[:, 0], leaves=("sin",))
    with pytest.raises(ValueError, match="points"):
        LastTokenProblem(("add", "x1"), X, X[:5, 0])


def test_twins_are_balanced_and_right():
    examples = last_token.make_examples(range(2, 5), 100, np.random.default_rng(4), max_tokens=40)
    for depth in range(2, 5):
        assert (examples.label[examples.depth == depth]).mean() == 0.5
    counts = last_token.token_counts(examples)
    words = np.array(last_token.WORDS)
    for i in range(0, len(examples), 2):
        assert (counts[i] == counts[i + 1]).all() and (examples.ids[i] != examples.ids[i + 1]).sum() == 2
        for row in (i, i + 1):
            prefix = tuple(words[examples.ids[row, : examples.length[row] - 1]])
            problem = LastTokenProblem(prefix, reduction.POINTS, reduction.VALUES)
            assert problem.solve() == last_token.LEAVES[examples.label[row]]


def test_formulae_have_the_depth_asked_for():
    rng = np.random.default_rng(5)
    for of_depth in range(6):
        text = boolean.to_text(last_token.random_formula(of_depth, rng))
        assert boolean.depth(text) == of_depth
        loose = last_token.without_or(boolean.parse(text))
        assert loose == reduction.to_prefix(reduction.or_free(text))


def test_a_transformer_can_learn_a_handful_by_heart():
    import torch

    torch.set_num_threads(1)
    examples = last_token.make_examples([2], 8, np.random.default_rng(6), max_tokens=24)
    model = last_token.train(examples, n_layers=2, steps=150, seed=0, width=32, batch=8, rate=3e-3)
    assert last_token.correct(model, examples).all()
