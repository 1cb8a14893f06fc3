"""Prefix tuples: structure, errors, vocabularies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from second_reading import flat, split, tree
from strategies import VOCABULARIES, prefixes

from nsr.formulas.expressions import (
    ARITY,
    CLOSE,
    END,
    FULL,
    OPEN,
    PAD,
    SIMPLIFIED,
    START,
    UNARY,
    VARIABLES,
    ExpressionError,
    Vocabulary,
    check,
    children,
    complexity,
    depth,
    is_valid,
    n_constants,
    spans,
    subtree_end,
    subtrees,
    variables,
)

TOKENS = ("C", *VARIABLES, *ARITY)


@given(prefixes())
def test_structure_agrees_with_a_tree_read_by_recursion(prefix):
    t = tree(prefix)
    assert subtrees(prefix) == split(prefix)
    assert children(prefix) == tuple(flat(child) for child in t[1:])
    assert depth(prefix) == max_depth(t)
    assert complexity(prefix) == len(prefix)
    assert n_constants(prefix) == prefix.count("C")
    assert variables(prefix) == tuple(sorted({token for token in prefix if token[0] == "x"}))
    assert spans(prefix) == [subtree_end(prefix, i) for i in range(len(prefix))]


def max_depth(t):
    return 1 + max(map(max_depth, t[1:]), default=0)


@given(st.lists(st.sampled_from(TOKENS), max_size=8))
def test_valid_means_exactly_one_tree(tokens):
    """Judge: try to read one tree by recursion and see whether all tokens are used up."""
    try:
        judged = tokens != [] and flat(tree(tokens)) == tuple(tokens)
    except IndexError:
        judged = False
    assert is_valid(tokens) == judged


@given(st.one_of(*(st.tuples(st.just(v), prefixes(v)) for v in VOCABULARIES)))
def test_seq_is_exact_in_both_directions(pair):
    vocabulary, prefix = pair
    ids = vocabulary.encode(prefix)
    assert vocabulary.decode(ids) == prefix
    assert vocabulary.decode([vocabulary.ids[START], *ids, vocabulary.ids[END], 7, 7]) == prefix
    assert prefix in vocabulary


def test_every_vocabulary_has_the_special_tokens_first_and_no_duplicates():
    for vocabulary in VOCABULARIES:
        assert vocabulary.tokens[:5] == (PAD, START, END, OPEN, CLOSE)
        assert len(set(vocabulary.tokens)) == len(vocabulary)
    assert set(FULL.operators) == {"add", "sub", "mul", "div", *UNARY[:11]}
    assert len(SIMPLIFIED.with_variables(10).variables) == 10


@pytest.mark.parametrize(
    "bad, words",
    [
        ((), "empty"),
        (("add", "x1"), "1 argument missing"),
        (("x1", "x2"), "complete before this token"),
        (("add", "x1", "y"), "unknown token 'y'"),
        (("add", "x1", "x11"), "unknown token 'x11'"),
        (("add", 3, "x1"), "unknown token"),
        ("sin(x1)", "parse(text)"),
        ((("add", "x1", "C"), (2.0,)), "prefix, constants = parse(text) takes them apart"),
    ],
)
def test_a_bad_tuple_is_refused_with_its_place(bad, words):
    with pytest.raises(ExpressionError, match=words.replace("(", r"\(").replace(")", r"\)")):
        check(bad)
    assert not is_valid(bad)


def test_the_message_points_at_the_token():
    with pytest.raises(ExpressionError, match="at token 3 of 3: add x1 ▸oops◂"):
        check(("add", "x1", "oops"))


def test_ten_thousand_levels_are_no_problem():
    deep = ("sin",) * 10_000 + ("x1",)
    assert depth(deep) == 10_001 and len(spans(deep)) == 10_001 and is_valid(deep)


def test_a_vocabulary_refuses_foreign_tokens_and_too_many_variables():
    with pytest.raises(ExpressionError, match="'mul' is not in|'log' is not in"):
        SIMPLIFIED.encode(("log", "x1"))
    with pytest.raises(ExpressionError, match="x6"):
        SIMPLIFIED.encode(("x6",))
    with pytest.raises(ExpressionError, match="token id 99"):
        SIMPLIFIED.decode([99])
    with pytest.raises(ValueError, match="1 to 10"):
        Vocabulary("V", (), 11)
