"""A second reading of prefix tuples, as nested tuples and by recursion: what the tests judge nsr's reading by."""

from nsr.formulas.expressions import ARITY


def tree(prefix):
    """(token, child, …)"""

    def read(i):
        node, i = [prefix[i]], i + 1
        for _ in range(ARITY.get(node[0], 0)):
            child, i = read(i)
            node.append(child)
        return tuple(node), i

    return read(0)[0]


def nodes(node):
    yield node
    for child in node[1:]:
        yield from nodes(child)


def flat(node):
    return (node[0], *(token for child in node[1:] for token in flat(child)))


def split(prefix):
    """All subtrees, in prefix order."""
    return [flat(node) for node in nodes(tree(prefix))]
