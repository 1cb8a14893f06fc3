"""Where constants may stand in a template, and the template with all of them: its saturation.

By the paper's text a unary operator u becomes c_mul·u and a variable x becomes c_mul·x + c_add; additive
constants that meet in one sum are one constant.

Some of them say the same twice: in a·x1 · b·x2 one factor is enough, in c·(a·x1 + b)² the factor of x1, in
c·exp(a·x1 + b) the summand. These are *spare*. Drawing data uses all of them, as the text says; a fit does
better without (`family`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from nsr.formulas.expressions import ARITY, CONSTANT, POWERS, Prefix, Template, check, subtree_end

ALWAYS = -1  # the guard of a token that is written in any case


@dataclass(frozen=True)
class Saturated:
    """A template with every constant it may carry: tokens, the group that guards each, and the places of each
    group.

    A token guarded by group g is written when any place of g is in use; a C of group g then has the value Σ
    sign·place for an additive group, and the place itself for a factor.
    """

    tokens: tuple[str, ...]
    guards: tuple[int, ...]
    groups: tuple[tuple[tuple[int, int], ...], ...]  # group → ((place, sign), …)
    additive: tuple[bool, ...]  # place → added or multiplied
    spare: frozenset[int]  # groups that the others can do without

    def prefix(self) -> Prefix:
        """The saturated expression: all constants present."""
        return self.tokens

    def family(self) -> Prefix:
        """The same functions with fewer constants: without the spare ones."""
        return tuple(token for token, guard in zip(self.tokens, self.guards) if guard not in self.spare)


@lru_cache(maxsize=65536)
def saturate(template: Template) -> Saturated:
    """A free constant wherever the generator may place one.

    >>> saturate(("add", "x1", "sin", "x2")).prefix()
    ('add', 'C', 'add', 'mul', 'C', 'x1', 'mul', 'C', 'sin', 'add', 'C', 'mul', 'C', 'x2')
    >>> " ".join(saturate(("mul", "x1", "pow2", "x2")).family())
    'mul add C mul C x1 pow2 add C x2'
    """
    check(template)
    tokens: list[str] = []
    guards: list[int] = []
    groups: list[list[tuple[int, int]]] = []
    additive: list[bool] = []
    spare: set[int] = set()

    def write(guard: int, *written: str) -> None:
        tokens.extend(written)
        guards.extend([guard] * len(written))

    def place(is_additive: bool, group: int, sign: int = 1) -> None:
        groups[group].append((len(additive), sign))
        additive.append(is_additive)

    def new_group() -> int:
        groups.append([])
        return len(groups) - 1

    def factor(scaled: bool) -> None:
        """A factor before what is written next; spare where all around it has one already."""
        group = new_group()
        place(False, group)
        write(group, "mul", CONSTANT)
        if scaled:
            spare.add(group)

    def emit_sum(start: int, scaled: bool = False, shifted: bool = False) -> None:
        """A whole sum: its additive constant stands before the first positive term, and is spare if the sum
        is `shifted`.

        If it is `scaled`, one of its terms needs no factor: the first.
        """
        group, i = new_group(), start
        if shifted:
            spare.add(group)
        while template[i] == "sub":
            write(ALWAYS, "sub")
            i += 1
        write(group, "add", CONSTANT)
        subs, i = i - start, emit(i, group, 1, scaled)
        for _ in range(subs):
            i = emit(i, group, -1, False)

    def emit(i: int, group: int | None, sign: int, scaled: bool) -> int:
        """The term that starts at i; `group` collects the additive constants of the sum it stands in;
        `scaled`: it needs no factor."""
        token = template[i]
        if token in ("add", "sub") and group is not None:
            write(ALWAYS, token)
            i = emit(i + 1, group, sign, scaled)
            return emit(i, group, -sign if token == "sub" else sign, False)
        if token in ("add", "sub"):
            emit_sum(i, scaled)
        elif ARITY.get(token) == 2:
            write(ALWAYS, token)
            right = subtree_end(template, i + 1)
            # One factor is enough for the whole product; a sum can use it for a term.
            in_sum = token == "mul" and template[right] in ("add", "sub")
            emit(i + 1, None, 1, scaled or in_sum)
            emit(right, None, 1, scaled or not in_sum)
        elif token in ARITY:
            factor(scaled)
            write(ALWAYS, token)
            emit_sum(i + 1, token in POWERS, token == "exp")
        elif token == CONSTANT:
            write(ALWAYS, token)
        else:
            if group is None:  # a factor of a product: its own brackets
                group, sign = new_group(), 1
                write(group, "add", CONSTANT)
            factor(scaled)
            place(True, group, sign)
            write(ALWAYS, token)
        return subtree_end(template, i)

    emit_sum(0)
    kept = [k for k, guard in enumerate(guards) if guard == ALWAYS or groups[guard]]
    return Saturated(
        tuple(tokens[k] for k in kept),
        tuple(guards[k] for k in kept),
        tuple(tuple(g) for g in groups),
        tuple(additive),
        frozenset(spare),
    )
