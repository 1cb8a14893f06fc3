"""The canonical form: an expression as a sum of products of atoms, and how such a sum is written.

It is an algebra of its own because it sees tokens only: a C is any number of a known sign, and equal terms and
equal factors are joined, so that one tuple stands for all spellings of one structure.

A value is (constant, terms): whether there is an additive constant, and the coefficient of each product.  A
product is a sorted tuple of atoms with exponents; an atom is a variable, a function of a written sum, or a
written sum in brackets.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from nsr.formulas.expressions import (
    CONSTANT,
    EXPONENT,
    FULL,
    ODD,
    RANK,
    SIGN_PASSES,
    TRANSFORMER4SR,
    ExpressionError,
    Prefix,
    fold,
    nest,
    whole_power,
    written_sum,
)

MAX_TOKENS = 5_000  # of an expression that is compared with others; one of the paper has at most thirty
_LONGEST = 10_000  # bits of an integer coefficient; a larger one is as good as a free constant
_SMALL = frozenset(TRANSFORMER4SR.operators) - set(FULL.operators)  # TRANSFORMER4SR has no sub and no div

Coefficient = int | str  # an integer, or "+C", "-C", "±C"
Factors = tuple[tuple[Prefix, int], ...]  # a product: atoms with their exponents, sorted
Sum = tuple[bool, dict[Factors, Coefficient]]  # is there an additive constant; each product's coefficient


def strip(prefix: Prefix) -> Prefix:
    """Remove all constants: C·u, u + C, u − C and u / C become u; a subtree of constants only disappears.

    C − u leaves −u; the minus sign moves outwards to where it can be written (a sum, an odd function) and is
    dropped, as the constant −1 that it is, where it cannot.  C / u keeps its C, because without it the
    division would be lost; an expression without variables becomes ("C",).  Nothing else is removed or
    reordered.

    >>> strip(("add", "C", "mul", "C", "sin", "x1"))
    ('sin', 'x1')
    >>> strip(("sub", "sub", "C", "x1", "x2"))
    ('add', 'x1', 'x2')
    """

    def visit(token: str, i: int, *args: tuple[bool, Prefix] | None) -> tuple[bool, Prefix] | None:
        """(negative, what is left), or None where nothing is left."""
        if not args:
            return None if token == CONSTANT else (False, (token,))
        a, b = args[0], args[-1]
        if len(args) == 1 and a:
            undone = a[0] and token == "neg"
            return (False, a[1]) if undone else (a[0] and token in SIGN_PASSES, (token, *a[1]))
        if b is None:
            return a
        if a is None:
            return b[0] != (token == "sub"), ("div", CONSTANT, *b[1]) if token == "div" else b[1]
        (minus_a, u), (minus_b, v) = a, b
        if token in ("mul", "div"):
            return minus_a != minus_b, (token, *u, *v)
        minus_b ^= token == "sub"
        if minus_a == minus_b:
            return minus_a, ("add", *u, *v)
        return False, ("sub", *v, *u) if minus_a else ("sub", *u, *v)

    left = fold(not_too_long(prefix), visit)
    return left[1] if left else (CONSTANT,)


def not_too_long(prefix: Prefix) -> Prefix:
    """The same prefix, unless it has so many tokens that its forms would fill the memory: a function inside a
    function inside a function … is written anew at each level."""
    if len(prefix) > MAX_TOKENS:
        most = f"at most {MAX_TOKENS:,} can be compared with others"
        raise ExpressionError(f"the expression has {len(prefix):,} tokens; {most}")
    return prefix


class Book(NamedTuple):
    """What one canonicalisation remembers: the argument of each atom f(u), the terms of each sum that became
    a factor."""

    parts: dict[Prefix, Sum]
    small: bool  # written with the operators of TRANSFORMER4SR


@lru_cache(maxsize=65536)
def normal_form(prefix: Prefix) -> tuple[Prefix, bool]:
    """The canonical form, and whether terms were joined on the way."""
    joined = False
    book = Book({}, not _SMALL.isdisjoint(prefix))

    def visit(token: str, i: int, *args: Sum) -> Sum:
        nonlocal joined
        if not args:
            return (True, {}) if token == CONSTANT else (False, {(((token,), 1),): 1})
        constant, terms = args[0]
        if token in ("add", "sub"):
            terms = dict(terms)
            for product, coefficient in args[1][1].items():
                coefficient = coefficient if token == "add" else _negative(coefficient)
                if product in terms:
                    joined = True
                    coefficient = _plus(terms.pop(product), coefficient)
                if coefficient:
                    terms[product] = coefficient
            return constant or args[1][0], terms
        if token in ("mul", "div"):
            zero = [not has and not some for has, some in args]
            if any(zero):
                return token == "div" and zero[1], {}
            (c, left), (d, right) = (_as_product(arg, book) for arg in args)
            return _from_product(_times(c, d), _multiply(left, right, 1 if token == "mul" else -1), book)
        if not terms:
            return True, {}
        if token == "neg":
            return _opposite(args[0])
        if token in EXPONENT:
            c, product = _as_product(args[0], book)
            n = EXPONENT[token]
            return _from_product(_raised(c, abs(n)), _multiply((), product, n), book)
        argument, flipped = _oriented(args[0], book) if token == "cos" or token in ODD else (args[0], False)
        atom = (token, *_write(argument, book))
        book.parts[atom] = argument
        return False, {((atom, 1),): -1 if flipped and token in ODD else 1}

    return _write(fold(not_too_long(prefix), visit), book), joined


def _opposite(value: Sum) -> Sum:
    return value[0], {product: _negative(coefficient) for product, coefficient in value[1].items()}


def _oriented(value: Sum, book: Book) -> tuple[Sum, bool]:
    """An argument u or −u, whichever has fewer negative terms (then the smaller form); whether it is −u."""
    negative = sum(map(_is_negative, value[1].values()))
    if negative == 0:
        return value, False
    other = _opposite(value)
    unlike = sum(map(_is_negative, other[1].values()))
    if negative != unlike:
        return (value, False) if negative < unlike else (other, True)
    here, there = _write(value, book), _write(other, book)
    return (value, False) if sort_key(here) <= sort_key(there) else (other, True)


def _as_product(value: Sum, book: Book) -> tuple[Coefficient, Factors]:
    """A value as coefficient times factors; a sum of several terms is one factor."""
    constant, terms = value
    if not terms:
        return "+C", ()
    if not constant and len(terms) == 1:
        ((product, coefficient),) = terms.items()
        return coefficient, product
    form = _write(value, book)
    book.parts[form] = value
    return 1, ((form, 1),)


def _from_product(coefficient: Coefficient, product: Factors, book: Book) -> Sum:
    if not product:
        return True, {}
    (atom, n), *more = product
    alone = not more and n == 1  # the other factors cancelled
    if alone and atom[0] in ("add", "sub") and coefficient in (1, -1):
        return book.parts[atom] if coefficient == 1 else _opposite(book.parts[atom])
    return False, {product: coefficient}


def _multiply(left: Factors, right: Factors, exponent: int) -> Factors:
    """left · right^exponent, equal factors joined."""
    exponents = dict(left)
    for factor, n in right:
        exponents[factor] = exponents.get(factor, 0) + n * exponent
    return tuple(sorted((item for item in exponents.items() if item[1]), key=lambda item: sort_key(item[0])))


def ranks(term: Prefix) -> tuple[int, ...]:
    return tuple(RANK[token] for token in term)


@lru_cache(maxsize=65536)
def sort_key(term: Prefix) -> tuple:
    """Order of terms: variables first, then functions; constants decide last, so that adding some reorders
    nothing."""
    return ranks(strip(term) if CONSTANT in term else term), ranks(term)


def _write(value: Sum, book: Book) -> Prefix:
    """The canonical layout of a sum: constant, positive terms nested to the right, then the negative ones to
    the left."""
    constant, terms = value
    plus, minus = [], []
    for product, coefficient in terms.items():
        if _is_negative(coefficient):
            turned = _turned(product, book)  # −sin(x1 − x2) is written sin(x2 − x1): no minus sign is needed
            if turned is None:
                minus.append(_write_product(_negative(coefficient), product, book))
                continue
            product, coefficient = turned, _negative(coefficient)
        plus.append(_write_product(coefficient, product, book))
    for several in (plus, minus):
        if len(several) > 1:
            several.sort(key=sort_key)
    if constant or not terms:
        plus.insert(0, (CONSTANT,))
    if book.small:
        plus, minus = plus + [("neg", *term) for term in minus], []
    if plus:
        return written_sum(plus, minus)
    if len(minus) == 1:  # −u alone: the sign is a constant
        ((product, _),) = terms.items()
        return _write_product("±C", product, book)
    return ("mul", CONSTANT, *nest("add", minus))


def _turned(product: Factors, book: Book) -> Factors | None:
    """−product without a minus sign, by turning the argument of one odd function, where −u has a positive
    term."""
    for i, (atom, n) in enumerate(product):
        if atom[0] in ODD and n % 2:
            other = _opposite(book.parts[atom])
            if any(not _is_negative(c) or _turned(p, book) for p, c in other[1].items()):
                return (*product[:i], ((atom[0], *_write(other, book)), n), *product[i + 1 :])
    return None


def _write_product(coefficient: Coefficient, product: Factors, book: Book) -> Prefix:
    above = [] if coefficient == 1 else [(CONSTANT,)]
    below = []
    for factor, n in product:
        (above if n > 0 else below).append(whole_power((factor, ()), abs(n), book.small)[0])
    if book.small:
        above, below = above + [("inv", *factor) for factor in below], []
    form = nest("mul", above or [(CONSTANT,)])
    return ("div", *form, *nest("mul", below)) if below else form


# Coefficients: an integer, or a free constant that keeps its sign, +C or −C; ±C once signs no longer matter.


def _is_negative(c: Coefficient) -> bool:
    return c == "-C" if isinstance(c, str) else c < 0


def _negative(c: Coefficient) -> Coefficient:
    return {"+C": "-C", "-C": "+C", "±C": "±C"}[c] if isinstance(c, str) else -c


def _plus(c: Coefficient, d: Coefficient) -> Coefficient:
    return "±C" if isinstance(c, str) or isinstance(d, str) else c + d


def _times(c: Coefficient, d: Coefficient) -> Coefficient:
    if not isinstance(c, str) and not isinstance(d, str):
        return c * d
    if "±C" in (c, d):
        return "±C"
    return "-C" if _is_negative(c) != _is_negative(d) else "+C"


def _raised(c: Coefficient, n: int) -> Coefficient:
    if isinstance(c, str):
        return c if n % 2 else "+C"
    if n * c.bit_length() < _LONGEST:
        return c**n
    return "-C" if n % 2 and c < 0 else "+C"
