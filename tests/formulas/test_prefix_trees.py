"""The tree of prefixes against brute force over the set itself."""

from hypothesis import given
from hypothesis import strategies as st
from strategies import prefixes

from nsr.formulas.expressions import END, SIMPLIFIED
from nsr.formulas.prefix_trees import PrefixTree

EXPRESSIONS = prefixes(SIMPLIFIED, constants=False, max_leaves=4)


@given(st.lists(EXPRESSIONS, max_size=30), EXPRESSIONS)
def test_counts_and_the_novel_step_are_those_of_brute_force(known, expression):
    tree, tokens = PrefixTree(known), (*expression, END)

    def alike(length: int) -> int:
        return sum((*other, END)[:length] == tokens[:length] for other in known)

    assert len(tree) == len(known)
    assert [tree.count(tokens[:n]) for n in range(len(tokens) + 1)] == [
        alike(n) for n in range(len(tokens) + 1)
    ]
    leaving = [place for place in range(len(tokens)) if not alike(place + 1)]
    assert tree.novel_step(expression) == (leaving[0] if leaving else None)
    assert (tree.novel_step(expression) is None) == (expression in known)
