"""The valid-prefix mask: which tokens may follow, by counting the arguments that are still open."""

from functools import lru_cache

import torch
from torch import Tensor

from nsr.formulas.expressions import ARITY, END, SPECIAL, VARIABLES, Prefix, Vocabulary, arity


@lru_cache(maxsize=64)
def token_tables(vocabulary: Vocabulary) -> tuple[Tensor, Tensor, Tensor]:
    """For each token id (V,): its arity, whether it may stand in an expression, the variable it is (0 for
    none)."""
    arities = torch.tensor([ARITY.get(token, 0) for token in vocabulary.tokens])
    body = torch.tensor([token not in SPECIAL for token in vocabulary.tokens])
    number = {token: n for n, token in enumerate(VARIABLES, start=1)}
    return arities, body, torch.tensor([number.get(token, 0) for token in vocabulary.tokens])


def allowed(vocabulary: Vocabulary, needed: Tensor, room: Tensor, n_variables: Tensor) -> Tensor:
    """Which tokens may follow: (…,) open arguments, tokens left to write, variables of the problem → (…, V)
    bool.

    A token fits if the tree can still be closed:  needed − 1 + arity ≤ room − 1.  Only END follows a complete
    tree.
    """
    arities, body, variable = (table.to(needed.device) for table in token_tables(vocabulary))
    needed = needed[..., None]
    fits = body & (needed > 0) & (needed + arities <= room[..., None]) & (variable <= n_variables[..., None])
    fits[..., vocabulary.ids[END]] = needed[..., 0] == 0
    return fits


def open_arguments(prefix: Prefix) -> int:
    """How many subtrees are missing until a prefix is complete; negative if something follows a complete
    expression.

    >>> open_arguments(()), open_arguments(("add", "x1")), open_arguments(("x1",)), open_arguments(("x1", "x1", "x1"))
    (1, 1, 0, -1)
    """
    needed = 1
    for token in prefix:
        if needed <= 0:
            return -1
        needed += arity(token) - 1
    return needed
