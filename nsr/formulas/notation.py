"""Prefix tuples in the notations that people and programs read: infix text, LaTeX, sympy.

`to_infix` is the exact inverse of `parse`; sympy reorders what it is given, so `from_sympy(to_sympy(e))`
gives back the same function, not always the same tuple.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nsr.formulas.expressions import (
    CONSTANT,
    EXPONENT,
    FUNCTIONS,
    VARIABLES,
    Constants,
    ExpressionError,
    Prefix,
    Valued,
    apart,
    check,
    constants_at,
    fold,
    join,
    n_constants,
    nest_valued,
    number,
)
from nsr.formulas.parsing import is_half, power

if TYPE_CHECKING:
    import sympy

_SYMBOL = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def check_constants(prefix: Prefix, constants: Sequence[float] | None) -> Constants:
    """The constants as a tuple of finite floats, one per C; None and () mean that they have no values."""
    if constants is None or len(constants) == 0:
        return ()
    values = tuple(float(c) for c in constants)
    if len(values) != n_constants(prefix):
        raise ExpressionError(f"the expression has {n_constants(prefix)} constants, {len(values)} were given")
    for i, value in enumerate(values):
        if not math.isfinite(value):
            raise ExpressionError(f"constant {i + 1} of {len(values)} is {value}; constants must be finite")
    return values


def _at_constants(prefix: Prefix, constants: Sequence[float] | None, write: Callable) -> dict:
    """What to write at the position of each C that has a value."""
    values = check_constants(prefix, constants)
    return {i: write(value) for i, value in zip(constants_at(prefix), values)}


def _written(value: float, digits: int | None) -> str:
    """A number with so many significant digits, or with all that it takes to read it back."""
    return repr(value).removesuffix(".0") if digits is None else f"{value:.{digits}g}"


def _powers(prefix: Prefix, values: Sequence[float], exact: bool) -> set[int]:
    """The positions of exp in exp(c * log(u)) that are written u**c. If the tuple must be read back as it is,
    those with a multiple of 1/2 are not, because `parse` reads such powers with sqrt and pow2 … pow5."""
    given = dict(zip(constants_at(prefix), values))
    starts = (i for i in range(len(prefix)) if prefix[i : i + 4] == ("exp", "mul", CONSTANT, "log"))
    return {
        i for i in starts if not (is_half(c := given.get(i + 2, 0.1)) and (exact or not 0 < abs(c) <= 1000))
    }


def to_infix(
    prefix: Prefix | Valued, constants: Sequence[float] | None = None, digits: int | None = None
) -> str:
    """Infix text; `parse` gives back the same tuple and (with digits=None) the same constants.

    >>> to_infix(("sub", "mul", "C", "pow2", "sin", "x1", "div", "x2", "add", "x3", "C"), (2.5, 1.0))
    '2.5*sin(x1)**2 - x2/(x3 + 1)'
    >>> to_infix(("exp", "mul", "C", "log", "x1"), (0.3,))
    'x1**0.3'
    """
    prefix, constants = apart(prefix, constants)
    prefix = check(prefix)
    names = _at_constants(prefix, constants, lambda c: _written(c, digits))
    powers = _powers(prefix, [float(names[i]) for i in sorted(names)], exact=digits is None)

    def raised(base: str, root: str, exponent: str) -> str:
        simple = root.split()[0] not in (*_SYMBOL, "negative") and not root.startswith("pow")
        return f"{base if simple else f'({base})'}**{exponent}"

    def visit(token: str, i: int, *args: tuple[str, str]) -> tuple[str, str]:
        """(text, the root's operator), so that the parent can decide upon brackets."""
        if not args:
            text = names.get(i, token)
            return text, "negative" if text.startswith("-") else token
        if i in powers or i - 3 in powers:  # exp and log of a power: what is inside them
            return args[0]
        if i - 1 in powers:
            return raised(*args[1], args[0][0]), "pow"
        if len(args) == 2:
            (a, a_root), (b, b_root) = args
            sums, products, nests_right = ("add", "sub"), ("mul", "div"), token in ("add", "mul")
            level, looser = (sums, ()) if token in sums else (products, sums)
            if a_root.split()[0] in looser or (nests_right and a_root in (token, f"{token} led")):
                a = f"({a})"
            if b_root.split()[0] in (*looser, *level) and not (nests_right and b_root == token):
                b = f"({b})"
            gap = "" if looser else " "
            # The sum a - b + c needs brackets as an operand to the right.
            led = nests_right and a_root == level[1]
            return f"{a}{gap}{_SYMBOL[token]}{gap}{b}", f"{token} led" if led else token
        ((a, a_root),) = args
        if token.startswith("pow"):
            return raised(a, a_root, token[3:]), token
        return f"{token}({a})", token

    return fold(prefix, visit)[0]


# --------------------------------------------------------------------------------------------------------------- LaTeX

_TEX_FUNCTION = {name: rf"\{'arcsin' if name == 'asin' else name}" for name in FUNCTIONS}
_NEGATIVE, _SUM, _PRODUCT, _CALL, _ATOM = range(5)  # how tightly a piece of LaTeX holds together


def to_latex(
    prefix: Prefix | Valued, constants: Sequence[float] | None = None, digits: int | None = 4
) -> str:
    r"""LaTeX for reading, constants rounded to `digits` significant digits (None: all of them).

    >>> print(to_latex(("add", "sin", "x1", "mul", "C", "x2"), (2.5,)))
    \sin\left(x_{1}\right) + 2.5\,x_{2}
    """
    prefix, constants = apart(prefix, constants)
    prefix = check(prefix)

    def figure(value: float) -> str:
        mantissa, _, exponent = _written(value, digits).partition("e")
        return f"{mantissa} \\cdot 10^{{{int(exponent)}}}" if exponent else mantissa

    names = _at_constants(prefix, constants, figure)
    powers = _powers(prefix, check_constants(prefix, constants), exact=False)

    def visit(token: str, i: int, *args: tuple[str, int]) -> tuple[str, int]:
        if not args:
            text = names.get(i, "C" if token == CONSTANT else f"x_{{{token[1:]}}}")
            return text, _NEGATIVE if text.startswith("-") else _PRODUCT if "cdot" in text else _ATOM
        if i in powers or i - 3 in powers:  # exp and log of a power: what is inside them
            return args[0]
        (a, a_holds), (b, b_holds) = args if len(args) == 2 else (*args, ("", _ATOM))

        def bracketed(text: str, wrap: bool) -> str:
            return rf"\left({text}\right)" if wrap else text

        if i - 1 in powers:
            return f"{bracketed(b, b_holds < _ATOM)}^{{{a}}}", _PRODUCT
        if token == "add":
            return f"{a} + {bracketed(b, b_holds == _NEGATIVE)}", _SUM
        if token == "sub":
            return f"{a} - {bracketed(b, b_holds <= _SUM)}", _SUM
        if token == "mul":
            product = rf"{bracketed(a, a_holds == _SUM)}\,{bracketed(b, b_holds <= _SUM)}"
            return product, min(a_holds, _PRODUCT)
        if token in ("div", "inv"):
            return (rf"\frac{{{a}}}{{{b}}}" if token == "div" else rf"\frac{{1}}{{{a}}}"), _PRODUCT
        if token == "neg":
            return f"-{bracketed(a, a_holds <= _SUM)}", _NEGATIVE
        if token == "sqrt":
            return rf"\sqrt{{{a}}}", _CALL
        if token in EXPONENT:
            return f"{bracketed(a, a_holds < _ATOM)}^{{{EXPONENT[token]}}}", _PRODUCT
        return rf"{_TEX_FUNCTION[token]}\left({a}\right)", _CALL

    return fold(prefix, visit)[0]


# --------------------------------------------------------------------------------------------------------------- sympy


def to_sympy(prefix: Prefix | Valued, constants: Sequence[float] | None = None) -> sympy.Expr:
    """The sympy expression over real symbols x1 …; constants without values become symbols c1, c2, …

    >>> to_sympy(("sub", "x1", "mul", "C", "sin", "x2"), (2.5,))
    x1 - 2.5*sin(x2)
    """
    import sympy  # slow to import, and only readers and tests need it

    prefix, constants = apart(prefix, constants)
    prefix = check(prefix)
    at = {i: sympy.Symbol(f"c{k}", real=True) for k, i in enumerate(constants_at(prefix), 1)}
    at.update(_at_constants(prefix, constants, sympy.Float))
    operate = {name: getattr(operator, name) for name in ("add", "sub", "mul", "neg")}
    operate |= {"div": operator.truediv, **{name: (lambda a, n=n: a**n) for name, n in EXPONENT.items()}}

    def visit(token: str, i: int, *args: sympy.Expr) -> sympy.Expr:
        if not args:
            return at[i] if token == CONSTANT else sympy.Symbol(token, real=True)
        return operate[token](*args) if token in operate else getattr(sympy, token)(*args)

    return fold(prefix, visit)


def from_sympy(expression: sympy.Expr) -> Valued:
    """Prefix tuple and constants of a sympy expression built from the operators of the vocabularies.

    Numbers become C.  Symbols must be named x1 … x10 (or x_1); any other symbol or function is an error.

    >>> import sympy
    >>> from_sympy(sympy.sin(sympy.Symbol("x1"))**2 - sympy.Symbol("x2"))
    (('sub', 'pow2', 'sin', 'x1', 'x2'), ())
    """
    import sympy

    done: dict = {}
    todo = [expression]
    while todo:  # post-order without recursion
        node = todo[-1]
        missing = [arg for arg in node.args if arg not in done]
        if missing and not node.is_number:
            todo.extend(missing)
            continue
        todo.pop()
        done[node] = _from_node(sympy, node, done)
    return done[expression]


def _from_node(sympy, node, done: dict) -> Valued:
    if node.is_number:
        if not (node.is_real and node.is_finite):
            raise ExpressionError(f"the constant {node} is not a finite real number")
        return number(float(node))
    if node.is_Symbol:
        name = node.name.replace("_", "")
        if name not in VARIABLES:
            raise ExpressionError(f"unknown symbol {node.name!r}; symbols are x1 … x{len(VARIABLES)}")
        return (name,), ()
    if node.is_Add:
        minus = [arg for arg in node.args if arg.is_Mul and arg.args[0] == -1]
        plus = [arg for arg in node.args if arg not in minus]
        if not plus:
            plus, minus = minus[:1], minus[1:]
        value = nest_valued("add", [done[arg] for arg in plus])
        for arg in minus:
            rest = arg.args[1:]
            value = join("sub", value, _product(sympy, rest, done) if len(rest) > 1 else done[rest[0]])
        return value
    if node.is_Mul:
        return _product(sympy, node.args, done)
    if node.is_Pow:
        if not node.exp.is_number:
            raise ExpressionError(f"the exponent {node.exp} is not a number")
        return power(done[node.base], float(node.exp))
    name = type(node).__name__
    if name in FUNCTIONS and len(node.args) == 1:
        return join(name, done[node.args[0]])
    known = ", ".join([*_SYMBOL, *FUNCTIONS, "powers", "sqrt"])
    raise ExpressionError(f"{name} is not an operator here; operators are {known}")


def _product(sympy, factors: Sequence, done: dict) -> Valued:
    below = [f for f in factors if f.is_Pow and f.exp.is_number and f.exp < 0]
    above = [done[f] for f in factors if f not in below] or [number(1.0)]
    value = nest_valued("mul", above)
    if below:
        value = join("div", value, nest_valued("mul", [power(done[f.base], -float(f.exp)) for f in below]))
    return value
