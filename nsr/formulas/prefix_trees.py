"""The tree of prefixes: every beginning of every expression of a set, and how many expressions begin like it.

A network that writes token by token walks from the root of this tree to a leaf. Where an expression leaves
the tree, the network has to write something that it never wrote in training: the *novel step*.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

from nsr.formulas.expressions import END, Prefix, Token

LAST = "\U0010ffff"  # after every token in the order of strings


class PrefixTree:
    """How many expressions of a set begin with a prefix; END after the last token counts as a token.

    >>> tree = PrefixTree([("sin", "x1"), ("sin", "x2"), ("add", "x1", "x2")])
    >>> tree.count(("sin",)), tree.count(("sin", "x1")), tree.count(("cos",))
    (2, 1, 0)
    """

    def __init__(self, expressions: Iterable[Prefix]) -> None:
        # in order, so that the expressions with one beginning are neighbours
        self._sorted = sorted((*expression, END) for expression in expressions)

    def __len__(self) -> int:
        """The number of expressions."""
        return len(self._sorted)

    def _alike(self, prefix: Prefix) -> range:
        """Where the expressions stand that begin with the prefix."""
        prefix = tuple(prefix)
        return range(bisect_left(self._sorted, prefix), bisect_left(self._sorted, (*prefix, LAST)))

    def count(self, prefix: Prefix) -> int:
        return len(self._alike(prefix))

    def next(self, prefix: Prefix) -> dict[Token, int]:
        """The tokens with which expressions go on after a prefix, and how many do.

        >>> PrefixTree([("sin", "x1"), ("sin", "x2"), ("add", "x1", "x2")]).next(("sin",))
        {'x1': 1, 'x2': 1}
        """
        longer = (self._sorted[place] for place in self._alike(prefix))
        return dict(Counter(tokens[len(prefix)] for tokens in longer if len(tokens) > len(prefix)))

    def novel_step(self, expression: Prefix) -> int | None:
        """The place of the first token at which no expression of the set begins like this one; None if it is
        one of the set.

        >>> PrefixTree([("add", "x1", "sin", "x2")]).novel_step(("add", "x1", "cos", "x2"))
        2
        >>> PrefixTree([("add", "x1", "x2")]).novel_step(("add", "x1", "x2")) is None
        True
        """
        tokens = (*expression, END)
        lengths = range(1, len(tokens) + 1)
        return next((length - 1 for length in lengths if not self.count(tokens[:length])), None)
