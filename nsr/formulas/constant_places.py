"""Where constants may stand in a template, and the template with all of them: its saturation.

By the paper's text a unary operator u becomes c_mul·u and a variable x becomes c_mul·x + c_add; additive
constants that meet in one sum are one constant.

Some of them say the same twice: in a·x1 · b·x2 one factor is enough, in c·(a·x1 + b)² the factor of x1, in
c·exp(a·x1 + b) the summand. These are *spare*. Drawing data uses all of them, as the text says; a fit does
better without (`family`).
"""

from dataclasses import dataclass
from functools import lru_cache

from nsr.formulas.expressions import ARITY, CONSTANT, POWERS, Prefix, Template, check, subtree_end

ALWAYS = -1  # the guard of a token that is written in any case
SUMS = ("add", "sub")


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
    writer = _Writer(template)
    writer.write_sum(0)
    return writer.saturated()


class _Writer:
    """Writes a template from left to right with all its constants.

    A part of the template is `scaled` where something around it has a factor already, which can do the work
    of its own; and a sum is `shifted` where a factor around it can do the work of its summand.
    """

    def __init__(self, template: Template) -> None:
        self.template = template
        self.tokens: list[str] = []
        self.guards: list[int] = []
        self.groups: list[list[tuple[int, int]]] = []
        self.additive: list[bool] = []
        self.spare: set[int] = set()

    def write(self, guard: int, *tokens: str) -> None:
        self.tokens.extend(tokens)
        self.guards.extend([guard] * len(tokens))

    def new_group(self, spare: bool = False) -> int:
        self.groups.append([])
        group = len(self.groups) - 1
        if spare:
            self.spare.add(group)
        return group

    def new_place(self, group: int, additive: bool, sign: int = 1) -> None:
        self.groups[group].append((len(self.additive), sign))
        self.additive.append(additive)

    def write_factor(self, scaled: bool) -> None:
        """A factor of what is written next."""
        group = self.new_group(spare=scaled)
        self.new_place(group, additive=False)
        self.write(group, "mul", CONSTANT)

    def write_sum(self, i: int, scaled: bool = False, shifted: bool = False) -> None:
        """The whole sum that starts at token i; its additive constant stands before the first positive term.

        If the sum is `scaled`, one of its terms needs no factor: the first.
        """
        group, minuses = self.new_group(spare=shifted), 0
        while self.template[i + minuses] == "sub":
            self.write(ALWAYS, "sub")
            minuses += 1
        self.write(group, "add", CONSTANT)
        i = self.write_term(i + minuses, group, 1, scaled)
        for _ in range(minuses):
            i = self.write_term(i, group, -1, False)

    def write_term(self, i: int, group: int | None, sign: int, scaled: bool) -> int:
        """The term that starts at token i; returns where it ends.

        `group` collects the additive constants of the sum in which it stands with this sign; it is None in a
        product or a quotient, which is no sum.
        """
        token, end = self.template[i], subtree_end(self.template, i)
        if token in SUMS and group is not None:
            self.write(ALWAYS, token)
            second = self.write_term(i + 1, group, sign, scaled)
            self.write_term(second, group, -sign if token == "sub" else sign, False)
        elif token in SUMS:
            self.write_sum(i, scaled)
        elif ARITY.get(token) == 2:
            self.write(ALWAYS, token)
            second = subtree_end(self.template, i + 1)
            # one factor is enough for a product; a sum on its right can use that for one of its terms
            on_the_right = token == "mul" and self.template[second] in SUMS
            self.write_term(i + 1, None, 1, scaled or on_the_right)
            self.write_term(second, None, 1, scaled or not on_the_right)
        elif token in ARITY:
            self.write_factor(scaled)
            self.write(ALWAYS, token)
            self.write_sum(i + 1, scaled=token in POWERS, shifted=token == "exp")
        elif token == CONSTANT:
            self.write(ALWAYS, token)
        else:
            if group is None:  # a variable in a product is a sum of its own: (c·x + c)
                group, sign = self.new_group(), 1
                self.write(group, "add", CONSTANT)
            self.write_factor(scaled)
            self.new_place(group, additive=True, sign=sign)
            self.write(ALWAYS, token)
        return end

    def saturated(self) -> Saturated:
        """What was written, without the summands of sums that have no place for one."""
        kept = [k for k, guard in enumerate(self.guards) if guard == ALWAYS or self.groups[guard]]
        return Saturated(
            tuple(self.tokens[k] for k in kept),
            tuple(self.guards[k] for k in kept),
            tuple(map(tuple, self.groups)),
            tuple(self.additive),
            frozenset(self.spare),
        )
