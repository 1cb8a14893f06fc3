"""Where constants may stand in a template, and the template with all of them: its saturation.

By the paper's text a unary operator u becomes c_mul·u and a variable x becomes c_mul·x + c_add; additive constants that meet
in one sum are one constant.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from nsr.expressions import ARITY, CONSTANT, Prefix, Template, check, subtree_end

ALWAYS = -1  # the guard of a token that is written in any case


@dataclass(frozen=True)
class Saturated:
    """A template with every constant it may carry: tokens, the group that guards each, and the places of each group.

    A token guarded by group g is written when any place of g is in use; a C of group g then has the value Σ sign·place for
    an additive group, and the place itself for a factor.
    """

    tokens: tuple[str, ...]
    guards: tuple[int, ...]
    groups: tuple[tuple[tuple[int, int], ...], ...]  # group → ((place, sign), …)
    additive: tuple[bool, ...]  # place → added or multiplied

    def prefix(self) -> Prefix:
        """The saturated expression: all constants present."""
        return self.tokens


@lru_cache(maxsize=65536)
def saturate(template: Template) -> Saturated:
    """A free constant wherever the generator may place one.

    >>> saturate(("add", "x1", "sin", "x2")).prefix()
    ('add', 'C', 'add', 'mul', 'C', 'x1', 'mul', 'C', 'sin', 'add', 'C', 'mul', 'C', 'x2')
    """
    check(template)
    tokens: list[str] = []
    guards: list[int] = []
    groups: list[list[tuple[int, int]]] = []
    additive: list[bool] = []

    def write(guard: int, *written: str) -> None:
        tokens.extend(written)
        guards.extend([guard] * len(written))

    def place(is_additive: bool, group: int, sign: int = 1) -> None:
        groups[group].append((len(additive), sign))
        additive.append(is_additive)

    def new_group() -> int:
        groups.append([])
        return len(groups) - 1

    def emit_sum(start: int) -> None:
        """A whole sum: its additive constant stands before the first positive term."""
        group, i = new_group(), start
        while template[i] == "sub":
            write(ALWAYS, "sub")
            i += 1
        write(group, "add", CONSTANT)
        subs, i = i - start, emit(i, group, 1)
        for _ in range(subs):
            i = emit(i, group, -1)

    def emit(i: int, group: int | None, sign: int) -> int:
        """The term that starts at i; `group` collects the additive constants of the sum it stands in."""
        token = template[i]
        if token in ("add", "sub") and group is not None:
            write(ALWAYS, token)
            i = emit(i + 1, group, sign)
            return emit(i, group, -sign if token == "sub" else sign)
        if token in ("add", "sub"):
            emit_sum(i)
        elif ARITY.get(token) == 2:
            write(ALWAYS, token)
            emit(emit(i + 1, None, 1), None, 1)
        elif token in ARITY:
            factor = new_group()
            place(False, factor)
            write(factor, "mul", CONSTANT)
            write(ALWAYS, token)
            emit_sum(i + 1)
        elif token == CONSTANT:
            write(ALWAYS, token)
        else:
            if group is None:  # a factor of a product: its own brackets
                group, sign = new_group(), 1
                write(group, "add", CONSTANT)
            factor = new_group()
            place(False, factor)
            place(True, group, sign)
            write(factor, "mul", CONSTANT)
            write(ALWAYS, token)
        return subtree_end(template, i)

    emit_sum(0)
    kept = [k for k, guard in enumerate(guards) if guard == ALWAYS or groups[guard]]
    return Saturated(tuple(tokens[k] for k in kept), tuple(guards[k] for k in kept),
                     tuple(tuple(g) for g in groups), tuple(additive))
