"""When are two expressions the same?  strip, canonical form, template, family.

From the finest to the coarsest reading (each function's docstring says exactly what it identifies):

    tuple  <  canonical  <  template_of (constants removed)  <  family (same free constants)
"""

from __future__ import annotations

from functools import lru_cache

from nsr.formulas.expressions import CONSTANT, INVERSES, Prefix, Template, check, fold, nest
from nsr.formulas.normal_form import normal_form, sort_key, strip


def canonical(prefix: Prefix) -> Prefix:
    """One tuple for all expressions that differ by order, nesting, signs or repeated terms.

    Identifies: commuted and regrouped sums and products; subtractions moved through brackets; cos(−u) =
    cos(u) and sin, tan, asin of −u with −sin(u) …; equal factors, joined to a power; equal terms, joined
    (integers are not tokens, so u + u becomes C·u, and u − u disappears); additive constants of one sum,
    factors C of one product. Does not: expand products, or use any identity of functions (log exp u, sin² +
    cos²) or of phases. The result describes the same function, up to a coefficient where C was written for an
    integer.

    >>> canonical(("sub", "sin", "x2", "sub", "x3", "x1"))
    ('sub', 'add', 'x1', 'sin', 'x2', 'x3')
    """
    return normal_form(check(prefix))[0]


def is_reduced(prefix: Prefix) -> bool:
    """Whether no two terms of a sum are equal or cancel, so that its canonical form needs no integer."""
    form, joined = normal_form(check(prefix))
    return not joined and (CONSTANT not in form or CONSTANT in prefix)


@lru_cache(maxsize=65536)
def template_of(prefix: Prefix) -> Template:
    """The canonical constant-free template: the key of the paper's structural novelty, `strip(e) ∈ E_templ`.

    Identifies what `canonical` identifies, and everything that differs by constants only.

    >>> template_of(("add", "mul", "C", "x2", "mul", "C", "x1"))
    ('add', 'x1', 'x2')
    """
    seen = canonical(strip(prefix))
    while CONSTANT in seen:  # u + u became C·u
        again = canonical(strip(seen))
        if again == seen:
            break
        seen = again
    return seen


@lru_cache(maxsize=65536)
def family(prefix: Prefix) -> Prefix:
    """One tuple for templates whose families of functions coincide when constants may stand wherever the
    generator puts them.

    Identifies, beyond `template_of`: sub with add (a negative factor), cos with sin (a phase), neg with
    nothing, and repeated variables in a sum (a·x + b·x).  Repeated functions stay: a·sin(bx + c) + d·sin(ex +
    f) is more than one sine. Does not know the rarer coincidences (exp(x1)·exp(x2), c·x1² + … from (x1 +
    c)²).

    >>> family(("sub", "x1", "cos", "x2")) == family(("add", "sin", "x2", "x1"))
    True
    """

    def visit(token: str, i: int, *args: tuple[Prefix, ...]) -> tuple[Prefix, ...]:
        """Sums as sorted tuples of terms."""
        if not args:
            return ((token,),)
        if token in ("add", "sub"):
            terms = sorted((*args[0], *args[1]), key=sort_key)
            return tuple(t for k, t in enumerate(terms) if len(t) > 1 or k == 0 or t != terms[k - 1])
        if token == "neg":
            return args[0]
        inner = [nest("add", list(terms)) for terms in args]
        if token == "mul":
            inner.sort(key=sort_key)
        return (("sin" if token == "cos" else token, *(t for part in inner for t in part)),)

    return nest("add", list(fold(template_of(prefix), visit)))


def undoes_itself(template: Template) -> bool:
    """Whether a function stands right before its own inverse, as in log exp u."""
    return any(pair in INVERSES for pair in zip(template, template[1:]))
