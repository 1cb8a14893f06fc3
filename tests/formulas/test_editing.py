"""Edits: judged by a second reading of expressions, as nested tuples, in which every single edit is spelled
out by recursion."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from second_reading import flat, tree
from strategies import prefixes

from nsr.data.templates import draw_templates, template_from
from nsr.formulas.editing import (
    KINDS,
    edits,
    first_difference,
    last_leaf,
    n_operators,
    operators_of,
    template_if_allowed,
)
from nsr.formulas.equivalence import canonical, is_reduced, template_of
from nsr.formulas.expressions import ARITY, FULL, SIMPLIFIED, TRANSFORMER4SR, VARIABLES, is_valid, subtrees

LEAVES, UNARY, BINARY = ["x1", "x2", "x3"], ["sin", "exp"], ["add", "sub"]
GRAFTS = [("x1",), ("x3",), ("sin", "x2"), ("sub", "x1", "x2")]


def everywhere(node, change):
    """All trees in which `change` was applied to one node: change(node) lists what may stand in its place."""
    yield from change(node)
    for k in range(1, len(node)):
        for child in everywhere(node[k], change):
            yield (*node[:k], child, *node[k + 1 :])


def graft(node, op, new):
    return [(op, node, new)] if op == "add" else [(op, node, new), (op, new, node)]


CHANGES = {
    "leaf": lambda node: [(leaf,) for leaf in LEAVES if node[0] in VARIABLES],
    "operator": lambda node: [(op, *node[1:]) for op in {2: UNARY, 3: BINARY}.get(len(node), [])],
    "wrap": lambda node: [(op, node) for op in UNARY],
    "unwrap": lambda node: [node[1]] if len(node) == 2 else [],
    "graft": lambda node: [new for op in BINARY for g in GRAFTS for new in graft(node, op, tree(g))],
    "drop": lambda node: list(node[1:]) if len(node) == 3 else [],
}


@given(prefixes(SIMPLIFIED, max_leaves=5))
@settings(max_examples=60, deadline=None)
def test_all_single_edits_and_no_others(prefix):
    for kind in KINDS:
        found = list(edits(prefix, LEAVES, UNARY, BINARY, GRAFTS, (kind,)))
        expected = {flat(node) for node in everywhere(tree(prefix), CHANGES[kind])} - {prefix}
        assert {edit.prefix for edit in found} == expected
        assert all(edit.kind == kind and is_valid(edit.prefix) for edit in found)
        for edit in found:
            assert (
                edit.prefix[: edit.place] == prefix[: edit.place]
                and edit.prefix[edit.place :] != prefix[edit.place :]
            )
            assert (
                edit.place >= min(len(prefix), len(edit.prefix))
                or edit.prefix[edit.place] != prefix[edit.place]
            )
    every = [edit.kind for edit in edits(prefix, LEAVES, UNARY, BINARY, GRAFTS)]
    assert set(every) <= set(KINDS)


@given(prefixes(FULL, constants=False))
@settings(max_examples=60, deadline=None)
def test_last_leaf_changes_the_last_leaf_only(prefix):
    changed = last_leaf(prefix, LEAVES)
    assert all(
        len(new) == len(prefix) and first_difference(prefix, new) == len(prefix) - 1 for new in changed
    )
    assert {new[-1] for new in changed} == set(LEAVES) - {prefix[-1]} and len(changed) == len(set(changed))


def test_an_edit_can_be_undone():
    for template in draw_templates(12, seed=7):
        for edit in edits(template, LEAVES, UNARY, BINARY, subtrees(template)):
            back = {
                e.prefix
                for e in edits(edit.prefix, VARIABLES[:5], *operators_of(SIMPLIFIED), subtrees(template))
            }
            # what stood left of a sum comes back on its right
            assert template in back or template in set(map(canonical, back))


@given(prefixes(SIMPLIFIED), st.integers(1, 6))
@settings(max_examples=100, deadline=None)
def test_only_templates_that_the_generator_could_draw(prefix, most):
    template = template_if_allowed(prefix, most)
    if template is not None:
        assert (
            template == template_of(prefix)
            and is_reduced(template)
            and "C" not in template
            and n_operators(template) <= most
        )
        renamed = dict(zip(sorted(set(template) & set(VARIABLES)), VARIABLES))
        assert template_from(tuple(renamed.get(token, token) for token in template)) is not None


@pytest.mark.parametrize("vocabulary", [SIMPLIFIED, FULL, TRANSFORMER4SR], ids=lambda v: v.name)
def test_operators_are_those_of_the_generator(vocabulary):
    unary, binary = operators_of(vocabulary)
    drawn = (
        {token for t in draw_templates(300, seed=1) for token in t}
        if vocabulary is SIMPLIFIED
        else set(unary + binary)
    )
    assert {token for token in drawn if token in ARITY} <= set(unary) | set(binary)
    assert "mul" not in binary or vocabulary is not SIMPLIFIED


def test_what_is_rejected():
    assert template_if_allowed(("sub", "x1", "x1"), 5) is None and template_if_allowed(("C",), 5) is None
    assert (
        template_if_allowed(("exp", "log", "x1"), 5) is None
        and template_if_allowed(("sin", "sin", "x1"), 1) is None
    )
    assert template_if_allowed(("add", "C", "mul", "C", "sin", "x3"), 1) == ("sin", "x3")
