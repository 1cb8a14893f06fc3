"""Hypothesis strategies that several test files share: random prefixes and constants."""

from hypothesis import strategies as st

from nsr.formulas.expressions import ARITY, CONSTANT, FULL, SIMPLIFIED, TRANSFORMER4SR

VOCABULARIES = (SIMPLIFIED, FULL, TRANSFORMER4SR)


def prefixes(vocabulary=FULL, constants=True, max_leaves=8, n_variables=3):
    """Any valid prefix over a vocabulary, not only what the generator would draw."""
    leaves = [(v,) for v in vocabulary.variables[:n_variables]] + ([(CONSTANT,)] if constants else [])
    drawn = [op for op, weight in vocabulary.weights if constants or weight > 0]
    unary = [op for op in drawn if ARITY[op] == 1]
    binary = [op for op in drawn if ARITY[op] == 2]
    return st.recursive(
        st.sampled_from(leaves),
        lambda inner: st.one_of(
            st.builds(lambda op, a: (op, *a), st.sampled_from(unary), inner),
            st.builds(lambda op, a, b: (op, *a, *b), st.sampled_from(binary), inner, inner),
        ),
        max_leaves=max_leaves,
    )


def values(n):
    """n constants that a float prints and reads back."""
    return st.lists(st.floats(-1e6, 1e6, allow_nan=False, allow_subnormal=False), min_size=n, max_size=n).map(
        tuple
    )


def valued_prefixes(vocabulary=FULL, **options):
    """(prefix, constants) pairs."""
    return prefixes(vocabulary, **options).flatmap(lambda p: st.tuples(st.just(p), values(p.count(CONSTANT))))
