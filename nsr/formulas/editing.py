"""Single edits of an expression: what differs from it in one place.

    leaf      a variable for another                    sin(x1) + x2  →  sin(x3) + x2
    operator  an operator for another of its arity      sin(x1) + x2  →  exp(x1) + x2
    wrap      a function around a subtree               sin(x1) + x2  →  sin(x1) + tan(x2)
    unwrap    a function taken away                     sin(x1) + x2  →  x1 + x2
    graft     a subtree joined to a subtree             sin(x1) + x2  →  sin(x1 + exp(x3)) + x2
    drop      one side of a binary operator taken away  sin(x1) + x2  →  sin(x1)

All of them work on any prefix, with or without constants, over any operators.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from nsr.formulas.equivalence import is_reduced, template_of, undoes_itself
from nsr.formulas.expressions import ARITY, CONSTANT, VARIABLES, Prefix, Template, Token, Vocabulary, spans
from nsr.formulas.normal_form import strip

KINDS = ("leaf", "operator", "wrap", "unwrap", "graft", "drop")


class Edit(NamedTuple):
    """An edited expression, the kind of the edit, and the first place where it differs from the original."""

    kind: str
    place: int
    prefix: Prefix


def edits(
    prefix: Prefix,
    leaves: Sequence[Token],
    unary: Sequence[Token],
    binary: Sequence[Token],
    grafts: Iterable[Prefix] = (),
    kinds: Iterable[str] = KINDS,
) -> Iterator[Edit]:
    """All single edits of the given kinds; grafts are the subtrees that may be joined, new leaves among them
    or not.

    >>> [" ".join(e.prefix) for e in edits(("sin", "x1"), ["x1", "x2"], ["sin", "exp"], ["add"], kinds=("leaf", "operator", "unwrap"))]
    ['exp x1', 'x1', 'sin x2']
    """
    ends, kinds, grafts = spans(prefix), set(kinds), list(grafts)
    for i, token in enumerate(prefix):
        before, tree, after = prefix[:i], prefix[i : ends[i]], prefix[ends[i] :]
        arity = ARITY.get(token, 0)
        if "operator" in kinds and arity:
            for other in unary if arity == 1 else binary:
                yield from _if_new("operator", prefix, (*before, other, *prefix[i + 1 :]))
        if "leaf" in kinds and token in VARIABLES:
            for other in leaves:
                yield from _if_new("leaf", prefix, (*before, other, *after))
        if "wrap" in kinds:
            for other in unary:
                yield from _if_new("wrap", prefix, (*before, other, *tree, *after))
        if "unwrap" in kinds and arity == 1:
            yield from _if_new("unwrap", prefix, (*before, *tree[1:], *after))
        if "drop" in kinds and arity == 2:
            middle = ends[i + 1]
            for kept in (prefix[i + 1 : middle], prefix[middle : ends[i]]):
                yield from _if_new("drop", prefix, (*before, *kept, *after))
        if "graft" in kinds:
            for other in binary:
                for graft in grafts:
                    yield from _if_new("graft", prefix, (*before, other, *tree, *graft, *after))
                    if other not in ("add", "mul"):  # the other side is another expression
                        yield from _if_new("graft", prefix, (*before, other, *graft, *tree, *after))


def last_leaf(prefix: Prefix, leaves: Iterable[Token]) -> list[Prefix]:
    """The expression with other variables for its last token: what the theorem says a network cannot choose.

    >>> last_leaf(("add", "x1", "sin", "x2"), ["x1", "x2", "x3"])
    [('add', 'x1', 'sin', 'x1'), ('add', 'x1', 'sin', 'x3')]
    """
    return [(*prefix[:-1], leaf) for leaf in leaves if leaf != prefix[-1]]


def first_difference(a: Prefix, b: Prefix) -> int:
    """The first place where two token sequences differ."""
    return next((i for i, (left, right) in enumerate(zip(a, b)) if left != right), min(len(a), len(b)))


def _if_new(kind: str, old: Prefix, new: Prefix) -> Iterator[Edit]:
    if new != old:
        yield Edit(kind, first_difference(old, new), new)


# --------------------------------------------------------------------------------------------------------- what is allowed


def operators_of(vocabulary: Vocabulary) -> tuple[list[Token], list[Token]]:
    """The unary and the binary operators that the generator draws.

    >>> from nsr.formulas.expressions import SIMPLIFIED
    >>> operators_of(SIMPLIFIED)
    (['sin', 'cos', 'tan', 'exp'], ['add', 'sub'])
    """
    drawn = [token for token, weight in vocabulary.weights if weight > 0]
    return [token for token in drawn if ARITY[token] == 1], [token for token in drawn if ARITY[token] == 2]


def n_operators(prefix: Prefix) -> int:
    return sum(token in ARITY for token in prefix)


@lru_cache(maxsize=65536)
def template_if_allowed(prefix: Prefix, max_operators: int) -> Template | None:
    """The canonical template of an edited expression; None if the generator would reject it or it has too
    many operators.

    >>> template_if_allowed(("add", "mul", "C", "sin", "x1", "x2"), 5), template_if_allowed(("add", "x1", "x1"), 5)
    (('add', 'x2', 'sin', 'x1'), None)
    """
    bare = strip(prefix)
    if bare == (CONSTANT,) or n_operators(bare) > max_operators or not is_reduced(bare):
        return None
    template = template_of(prefix)
    return None if undoes_itself(template) else template
