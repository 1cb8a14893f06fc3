"""strip, canonical, template_of, fingerprint, family; sympy and numbers are the judges."""

import random

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import VOCABULARIES, prefixes

from nsr.data.templates import TreeRecipe, draw_templates, raw_draws
from nsr.formulas.constant_places import saturate
from nsr.formulas.equivalence import canonical, family, is_reduced, strip, template_of
from nsr.formulas.expressions import FULL, SIMPLIFIED, TRANSFORMER4SR, children, is_valid
from nsr.formulas.notation import to_sympy
from nsr.formulas.parsing import parse
from nsr.numbers.evaluation import evaluate
from nsr.numbers.fingerprints import fingerprint
from nsr.numbers.fitting import fit_constants

X = np.random.default_rng(1).uniform(-1.5, 1.5, (60, 10))


def read(text):
    return parse(text)[0]


def shuffled(prefix, rng):
    """The same function, written differently: commuted, regrouped, a − b as a + (−1)·b never (that needs a
    constant)."""
    args = [shuffled(child, rng) for child in children(prefix)]
    token = prefix[0]
    if token in ("add", "mul"):
        a, b = args
        if b[0] == token and rng.random() < 0.5:  # a + (b + c) → (a + b) + c
            left, right = children(b)
            return (token, token, *a, *left, *right)
        return (token, *b, *a) if rng.random() < 0.5 else (token, *a, *b)
    if token == "sub" and args[1][0] == "add" and rng.random() < 0.7:  # a − (b + c) → (a − b) − c
        left, right = children(args[1])
        return ("sub", "sub", *args[0], *left, *right)
    if token == "sub" and args[1][0] == "sub" and rng.random() < 0.7:  # a − (b − c) → (a + c) − b
        left, right = children(args[1])
        return ("sub", "add", *args[0], *right, *left)
    if token == "cos" and args[0][0] == "sub" and rng.random() < 0.7:
        left, right = children(args[0])
        return ("cos", "sub", *right, *left)
    return (token, *(t for arg in args for t in arg))


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(st.one_of(*map(prefixes, VOCABULARIES)), st.integers(0, 2**32))
def test_canonical_is_idempotent_and_does_not_see_the_order(prefix, seed):
    form = canonical(prefix)
    assert is_valid(form) and canonical(form) == form
    assert canonical(shuffled(prefix, random.Random(seed))) == form


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(st.one_of(*(prefixes(v, constants=False, max_leaves=6) for v in VOCABULARIES)))
def test_canonical_keeps_the_function_where_no_constant_is_needed(prefix):
    form = canonical(prefix)
    if "C" in form:  # an integer would have been needed
        return
    with np.errstate(all="ignore"):
        a, b = evaluate(prefix, X), evaluate(form, X)
        ok = np.isfinite(a) & np.isfinite(b) & (np.abs(a) < 1e6)
    assert np.allclose(a[ok], b[ok], rtol=1e-6, atol=1e-6)


def test_canonical_agrees_with_sympy_on_what_the_generator_draws():
    """In SIMPLIFIED, two raw draws without repeated terms have one canonical form iff sympy says that they
    are equal."""
    raw = [
        p for p in raw_draws(2500, TreeRecipe(SIMPLIFIED, 2, 5), np.random.default_rng(3)) if is_reduced(p)
    ]
    by_form, by_sympy = {}, {}
    for i, prefix in enumerate(raw):
        by_form.setdefault(canonical(prefix), []).append(i)
        by_sympy.setdefault(to_sympy(prefix), []).append(i)
    assert sorted(by_form.values()) == sorted(by_sympy.values())
    assert len(by_form) > 300


def test_is_reduced_agrees_with_sympy():
    """Repeated or cancelling terms are what makes sympy lose leaves."""

    def leaves(expression):
        if expression.is_Symbol or expression.is_number:
            return int(expression.is_Symbol)
        return sum(map(leaves, expression.args))

    for prefix in raw_draws(800, TreeRecipe(SIMPLIFIED, 2, 5), np.random.default_rng(4)):
        kept = leaves(to_sympy(prefix)) == sum(token[0] == "x" for token in prefix)
        assert is_reduced(prefix) == kept, prefix


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(st.one_of(*map(prefixes, VOCABULARIES)))
def test_template_is_a_fixpoint_without_constants(prefix):
    template = template_of(prefix)
    assert canonical(template) == template and template_of(template) == template
    if "C" in template:  # nothing but constants, or 1/u
        assert template == ("C",) or "div" in template or "inv" in template
    assert template_of(canonical(prefix)) == template or "div" in prefix or "inv" in prefix


@pytest.mark.parametrize(
    "text, stripped",
    [
        ("2*x1 + 3", "x1"),
        ("3 - x1", "x1"),
        ("3 - x1 - x2", "x1 + x2"),
        ("x3 - (2 - x1)", "x3 + x1"),
        ("x3 + sin(2 - x1)", "x3 - sin(x1)"),
        ("exp(2 - x1)", "exp(x1)"),
        ("x1/2", "x1"),
        ("2/x1", "C/x1"),
        ("sin(2)*x1", "x1"),
        ("sin(2*x1+1)", "sin(x1)"),
        ("2 + 3*4", "C"),
        ("x1 - 2*sin(3 + x2)", "x1 - sin(x2)"),
        ("(2 + x1)*(x2 - 3)", "x1*x2"),
    ],
)
def test_strip_examples(text, stripped):
    assert strip(read(text)) == read(stripped)


@pytest.mark.parametrize(
    "a, b",
    [
        ("x1 + x2", "x2 + x1"),
        ("x1 - (x2 - x3)", "x3 + x1 - x2"),
        ("cos(x1 - x2)", "cos(x2 - x1)"),
        ("x3 - sin(x1 - x2)", "x3 + sin(x2 - x1)"),
        ("x1*x1", "x1**2"),
        ("x1*x2/x1", "x2"),
        ("(x1 + x2)*(x2 + x1)", "(x1 + x2)**2"),
        ("x1/(x2*x3)", "x1/x3/x2"),
        ("x1 - ((x2 + x1)*x3)/x3", "C*x2"),
    ],
)
def test_canonical_identifies(a, b):
    assert canonical(read(a)) == canonical(read(b))


@pytest.mark.parametrize(
    "a, b",
    [
        ("x1 + x2", "x1 - x2"),
        ("sin(x1)", "cos(x1)"),
        ("sin(x1 + x2)", "sin(x1) + sin(x2)"),
        ("x1*(x1 + x2)", "x1**2 + x1*x2"),
        ("x1 - x2", "x2 - x1"),
    ],
)
def test_canonical_does_not_identify(a, b):
    assert canonical(read(a)) != canonical(read(b))


def test_deep_and_odd_input():
    deep = ("sin",) * 3000 + ("x1",)
    assert canonical(deep) == deep and strip(deep) == deep
    assert canonical(read("x1 - x1")) == ("C",)
    assert canonical(("sq", "sq", "x1")) == ("sq", "sq", "x1")
    assert canonical(("neg", "neg", "inv", "inv", "x1")) == ("x1",)


# ------------------------------------------------------------------------------------------------- function and family


@pytest.mark.parametrize(
    "a, b",
    [
        ("x1*(x1 + x2)", "x1**2 + x1*x2"),
        ("sin(x1 + x2) + sin(x1 - x2)", "2*sin(x1)*cos(x2)"),
        ("exp(x1 + x2)", "exp(x1)*exp(x2)"),
        ("sin(x1)**2 + cos(x1)**2 + x2", "1 + x2"),
        ("log(exp(x1))", "x1"),
    ],
)
def test_fingerprints_collide_for_equal_functions(a, b):
    assert fingerprint(*parse(a)) == fingerprint(*parse(b))


def test_fingerprints_separate_what_sympy_separates():
    templates = list(dict.fromkeys(draw_templates(3000, TreeRecipe(SIMPLIFIED, 2, 5), seed=5)))
    collisions = {}
    for template in templates:
        collisions.setdefault(fingerprint(template), []).append(template)
    for group in (g for g in collisions.values() if len(g) > 1):
        first = to_sympy(group[0])
        for other in group[1:]:
            assert sympy.simplify(first - to_sympy(other)) == 0, group


@pytest.mark.parametrize(
    "a, b",
    [
        ("x1 - x2", "x1 + x2"),
        ("sin(x1)", "cos(x1)"),
        ("x1 + cos(x1 - x2)", "sin(x1 + x2) - x1"),
        ("exp(x1 + x1)", "exp(x1)"),
    ],
)
def test_families_coincide(a, b):
    """The judge is a fit: the saturated template of each reproduces a member of the other."""
    a, b = read(a), read(b)
    assert family(a) == family(b)
    rng = np.random.default_rng(7)
    points = rng.uniform(-2, 2, (80, 2))
    for source, target in ((a, b), (b, a)):
        prefix = saturate(source).prefix()
        y = evaluate(prefix, points, rng.uniform(0.5, 1.5, prefix.count("C")))
        assert fit_constants(saturate(target).prefix(), points, y, starts=32).r2 > 1 - 1e-8


@pytest.mark.parametrize(
    "a, b",
    [
        ("sin(x1)", "tan(x1)"),
        ("x1 + sin(x2)", "sin(x2)"),
        ("sin(x1) + cos(x1)", "sin(x1)"),
        ("exp(x1)", "sin(x1)"),
        ("sin(sin(x1))", "sin(x1)"),
    ],
)
def test_families_differ(a, b):
    assert family(read(a)) != family(read(b))


def test_a_family_is_at_least_as_coarse_as_a_template():
    templates = set(draw_templates(3000, TreeRecipe(FULL, 2, 5), seed=6)) | set(
        draw_templates(1000, TreeRecipe(SIMPLIFIED), seed=6)
    )
    assert len({family(t) for t in templates}) < len(templates)
    assert all(is_valid(family(t)) for t in templates)


def test_vocabulary_of_transformer4sr_is_kept():
    assert set(canonical(("add", "x1", "neg", "inv", "sq", "x2"))) <= set(TRANSFORMER4SR.tokens)


@pytest.mark.parametrize(
    "prefix",
    [
        ("pow5",) * 20 + ("x1",),
        ("pow5", "pow4") * 12 + ("add", "x1", "x2"),
        ("pow5",) * 30 + ("add", "x1", "x1"),
        ("div", "x1") + ("pow5",) * 40 + ("sub", "x2", "add", "x2", "x2"),
        ("mul", "x1") + ("pow3",) * 25 + ("x1",),
    ],
    ids=lambda p: f"{len(p)} tokens",
)
def test_a_tower_of_powers_has_a_canonical_form(prefix):
    """A network writes such things; the exponent does not fit into a float, and the coefficient not into the
    memory."""
    form = canonical(prefix)
    assert canonical(form) == form and is_valid(form) and template_of(form) == template_of(prefix)
