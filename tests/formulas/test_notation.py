"""parse, to_infix, to_latex, to_sympy, from_sympy: inverse to each other, and judged by sympy."""

import math

import numpy as np
import pytest
import sympy
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import VOCABULARIES, prefixes, valued_prefixes

from nsr.formulas.expressions import FULL, ExpressionError, is_valid
from nsr.formulas.notation import from_sympy, to_infix, to_latex, to_sympy
from nsr.formulas.parsing import parse
from nsr.numbers.evaluation import evaluate

X = np.random.default_rng(0).uniform(-2, 2, (40, 10))
SYMBOLS = sympy.symbols("x1:11", real=True)


def same(a, b):
    """Equal at the points where both are finite and not astronomically large."""
    with np.errstate(all="ignore"):
        ok = np.isfinite(a) & np.isfinite(b) & (np.abs(a) < 1e9)
    return np.allclose(a[ok], b[ok], rtol=1e-6, atol=1e-6)


def by_sympy(text):
    """The judge for parse: sympy's own parser, on text that we wrote ourselves."""
    names = {f"x{i + 1}": s for i, s in enumerate(SYMBOLS)} | {
        "neg": lambda a: -a,
        "inv": lambda a: 1 / a,
        "sq": lambda a: a**2,
        "cb": lambda a: a**3,
    }
    expression = sympy.parse_expr(text, local_dict=names, evaluate=False)
    with np.errstate(all="ignore"):
        return sympy.lambdify(SYMBOLS, expression, "numpy")(*X.T.astype(complex)) + np.zeros(len(X))


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(st.one_of(*map(valued_prefixes, VOCABULARIES)))
def test_parse_is_the_inverse_of_to_infix(pair):
    prefix, constants = pair
    assert parse(to_infix(prefix, constants)) == (prefix, constants)
    assert parse(to_infix(prefix)) == (prefix, ())


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.one_of(*(valued_prefixes(v, max_leaves=5) for v in VOCABULARIES)))
def test_our_infix_means_to_sympy_what_the_tuple_means_to_us(pair):
    prefix, constants = pair
    judged, ours = by_sympy(to_infix(prefix, constants)), evaluate(prefix, X, constants)
    real = np.abs(judged.imag) < 1e-9
    assert same(judged.real[real], ours[real])


@settings(max_examples=300, deadline=None)
@given(valued_prefixes(FULL, max_leaves=5))
def test_from_sympy_gives_back_the_same_function(pair):
    prefix, constants = pair
    expression = to_sympy(prefix, constants)
    if expression.has(sympy.zoo, sympy.nan, sympy.oo, sympy.I) or not expression.is_real:
        return  # sympy found that it is undefined or complex
    try:
        back, values = from_sympy(expression)
    except ExpressionError as error:
        # sympy rewrote it with what we do not have
        assert "exponent" in str(error) or "not an operator" in str(error)
        return
    assert is_valid(back)
    a, b = evaluate(prefix, X, constants), evaluate(back, X, values)
    assert same(a, b)


@given(prefixes(FULL))
def test_latex_has_balanced_brackets(prefix):
    text = to_latex(prefix)
    assert text.count("{") == text.count("}") and text.count(r"\left(") == text.count(r"\right)")


@pytest.mark.parametrize(
    "text, infix",
    [
        ("2.5*sin(x1)**2 - x2/(x3+1)", "2.5*sin(x1)**2 - x2/(x3 + 1)"),
        ("x_1 + X2", "x1 + x2"),
        ("x1 - (x2 - x3)", "x1 - (x2 - x3)"),
        ("ln(x1)^2", "log(x1)**2"),
        ("x1**(1/2)", "sqrt(x1)"),
        ("-x1", "-1*x1"),
        ("- 2*x1", "-2*x1"),
        ("--2*x1", "2*x1"),
        ("pi*x1", f"{math.pi!r}*x1"),
        ("1e-3 + .5*x1", "0.001 + 0.5*x1"),
    ],
)
def test_examples_of_reading(text, infix):
    assert to_infix(*parse(text)) == infix


@pytest.mark.parametrize(
    "prefix, infix",
    [
        (("add", "x1", "add", "sub", "x1", "x2", "x3"), "x1 + (x1 - x2 + x3)"),
        (("add", "add", "sub", "x1", "x2", "x3", "x4"), "(x1 - x2 + x3) + x4"),
        (("sub", "add", "sub", "x1", "x2", "x3", "x4"), "x1 - x2 + x3 - x4"),
        (("mul", "x1", "mul", "div", "x1", "x2", "x3"), "x1*(x1/x2*x3)"),
        (("pow2", "mul", "div", "x1", "x2", "x3"), "(x1/x2*x3)**2"),
        (("mul", "x1", "add", "sub", "x1", "x2", "x3"), "x1*(x1 - x2 + x3)"),
    ],
)
def test_brackets_keep_the_nesting(prefix, infix):
    assert to_infix(prefix) == infix and parse(infix) == (prefix, ())


@pytest.mark.parametrize("exponent", [0.3, -1.51, 1e-5, 1 / 3, 2.5000001, 1e3 + 0.1])
@pytest.mark.parametrize("base", ["x1", "(0.1*x1 + x2)", "sin(x1)", "(x1**0.7)", "sqrt(x2)"])
def test_a_power_with_any_exponent_is_read_and_written_as_one(base: str, exponent: float):
    text = f"{base}**{exponent!r}"
    prefix, constants = parse(text)
    assert to_infix(prefix, constants) == text and "log" not in to_latex(prefix, constants)
    x1, x2 = 0.7, 1.9
    expected = eval(text, {"x1": x1, "x2": x2, "sin": np.sin, "sqrt": np.sqrt})
    assert np.isclose(evaluate(prefix, np.array([[x1, x2]]), constants)[0], expected, rtol=1e-12)


def test_a_half_is_written_as_a_power_only_where_digits_are_rounded():
    prefix = ("exp", "mul", "C", "log", "x1")
    assert to_infix(prefix, (1.5,)) == "exp(1.5*log(x1))" and to_infix(prefix, (1.5,), digits=3) == "x1**1.5"
    assert to_infix(prefix) == "x1**C" and parse("x1**C") == (prefix, ())
    assert to_infix(prefix, (0.0,), digits=3) == "exp(0*log(x1))"


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "empty"),
        ("   ", "empty"),
        ("x11", "out of range"),
        ("x0", "out of range"),
        ("x99999999999999999999", "out of range"),
        ("nan*x1", "finite number"),
        ("1e999", "too large"),
        ("sin x1", "brackets"),
        ("x1 x2", "operator is missing"),
        ("(x1", "never closed"),
        ("x1)", "never opened"),
        ("x1 +", "operand is missing"),
        ("()", "operand is missing"),
        ("x1**x2", "exponent must be a number"),
        ("x1**2**3", "needs brackets"),
        ("x1**1e308", "cannot be written"),
        ("2*C + x1", "cannot be mixed"),
        ("__import__('os')", "unexpected character"),
        ("x1.real", "unexpected character"),
        ("foo(x1)", "unknown name"),
        ("x1;x2", "unexpected character"),
        ("x1\x00", "unexpected"),
        ("(" * 10_000 + "x1" + ")" * 10_000, "nested"),
        ("sin(" * 10_000 + "x1" + ")" * 10_000, "nested"),
        ("x1+" * 50_000 + "x1", "characters"),
        ("x١", "unknown name"),
        ("x1**(1/0)", "cannot be written"),
    ],
)
def test_bad_text_is_refused_with_its_place(text, words):
    with pytest.raises(ExpressionError, match=words):
        parse(text)


@settings(max_examples=3000, deadline=None)
@given(st.text(alphabet="x123456789.CsincoeplgtaqrA+-*/^() \t_,e", max_size=60))
@example("x1" + "-" * 5000 + "1")
def test_any_text_is_read_or_refused(text):
    try:
        prefix, constants = parse(text)
    except ExpressionError:
        return
    assert is_valid(prefix) and len(constants) in (0, prefix.count("C"))


def test_long_sums_are_fine():
    prefix, _ = parse(" + ".join(["x1"] * 5000))
    assert len(prefix) == 9999 and to_infix(prefix).count("+") == 4999


def test_constants_must_match_and_be_finite():
    with pytest.raises(ExpressionError, match="has 1 constants, 2 were given"):
        to_infix(("mul", "C", "x1"), (1.0, 2.0))
    with pytest.raises(ExpressionError, match="must be finite"):
        to_infix(("mul", "C", "x1"), (math.nan,))


def test_from_sympy_refuses_what_has_no_token():
    x = sympy.Symbol("x1")
    for expression in (
        sympy.sinh(x),
        sympy.Symbol("y"),
        x**x,
        sympy.I * x,
        sympy.zoo,
    ):
        with pytest.raises(ExpressionError):
            from_sympy(expression)


def test_what_parse_gives_is_taken_as_it_is():
    both = parse("2*x1 + sin(x2)")
    assert to_infix(both) == to_infix(*both) == "2*x1 + sin(x2)"
    assert to_sympy(both) == to_sympy(*both) and to_latex(both) == to_latex(*both)
    assert same(evaluate(both, X), evaluate(both[0], X, both[1]))
    with pytest.raises(ExpressionError, match="takes them apart"):
        to_infix(both, (1.0,))
