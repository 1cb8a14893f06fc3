"""The tree of prefixes: every beginning of every expression of a set, and how many expressions begin like it.

A network that writes token by token walks from the root of this tree to a leaf. Where an expression leaves
the tree, the network has to write something that it never wrote in training: the *novel step*.
"""

from collections import Counter
from collections.abc import Iterable

from nsr.formulas.expressions import END, Prefix, Token


class PrefixTree:
    """How many expressions of a set begin with a prefix; END after the last token counts as a token.

    >>> tree = PrefixTree([("sin", "x1"), ("sin", "x2"), ("add", "x1", "x2")])
    >>> tree.count(("sin",)), tree.count(("sin", "x1")), tree.count(("cos",))
    (2, 1, 0)
    """

    def __init__(self, expressions: Iterable[Prefix]) -> None:
        self._counts: Counter[Prefix] = Counter()
        for expression in expressions:
            tokens = (*expression, END)
            self._counts.update(tokens[:length] for length in range(len(tokens) + 1))

    def __len__(self) -> int:
        """The number of expressions."""
        return self._counts[()]

    def count(self, prefix: Prefix) -> int:
        return self._counts.get(tuple(prefix), 0)

    def goes_on(self, prefix: Prefix, token: Token) -> bool:
        """Whether some expression of the set begins with the prefix and then the token."""
        return (*prefix, token) in self._counts

    def next(self, prefix: Prefix) -> dict[Token, int]:
        """The tokens with which expressions go on after a prefix, and how many do.

        >>> PrefixTree([("sin", "x1"), ("sin", "x2"), ("add", "x1", "x2")]).next(("sin",))
        {'x1': 1, 'x2': 1}
        """
        longer = {tokens: n for tokens, n in self._counts.items() if tokens and tokens[:-1] == prefix}
        return {tokens[-1]: n for tokens, n in longer.items()}

    def novel_step(self, expression: Prefix) -> int | None:
        """The place of the first token at which no expression of the set begins like this one; None if it is
        one of the set.

        >>> PrefixTree([("add", "x1", "sin", "x2")]).novel_step(("add", "x1", "cos", "x2"))
        2
        >>> PrefixTree([("add", "x1", "x2")]).novel_step(("add", "x1", "x2")) is None
        True
        """
        tokens = (*expression, END)
        return next((n for n, token in enumerate(tokens) if not self.goes_on(tokens[:n], token)), None)
