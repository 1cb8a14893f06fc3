"""The machine against numpy with an error bound of its own, and against sympy's derivatives; R² against
scikit-learn."""

import math

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import r2_score as sklearn_r2
from strategies import VOCABULARIES, prefixes

from nsr.formulas.expressions import ARITY, CONSTANT, ExpressionError
from nsr.numbers.evaluation import BLOCK, evaluate, gradient, r2_score
from nsr.numbers.interpreter import OPCODES, as_columns, compile_program, run, stack_size

pytestmark = pytest.mark.filterwarnings("error")

NUMPY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "sqrt": np.sqrt,
    "log": np.log,
    "exp": np.exp,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "neg": np.negative,
    "inv": np.reciprocal,
    "sq": np.square,
    "cb": lambda u: u**3,
    **{f"pow{n}": lambda u, n=n: u**n for n in (2, 3, 4, 5)},
}
SYMPY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "sqrt": sympy.sqrt,
    "log": sympy.log,
    "exp": sympy.exp,
    "sin": sympy.sin,
    "cos": sympy.cos,
    "tan": sympy.tan,
    "asin": sympy.asin,
    "neg": lambda a: -a,
    "inv": lambda a: 1 / a,
    "sq": lambda a: a**2,
    "cb": lambda a: a**3,
    **{f"pow{n}": lambda a, n=n: a**n for n in (2, 3, 4, 5)},
}


def fold(prefix, leaf, apply):
    """Evaluate a prefix with any meaning of leaves and operators."""
    stack = []
    for i, token in reversed(list(enumerate(prefix))):
        if token in ARITY:
            stack.append(apply(token, *(stack.pop() for _ in range(ARITY[token]))))
        else:
            stack.append(leaf(token, i))
    return stack.pop()


def numpy_with_error(prefix, X, constants):
    """Values by numpy and how far rounding could have moved them: each operator is also tried at the ends of
    its operands' errors."""
    order = {i: k for k, i in enumerate(i for i, token in enumerate(prefix) if token == CONSTANT)}

    def leaf(token, i):
        value = np.full(len(X), constants[order[i]]) if token == CONSTANT else X[:, int(token[1:]) - 1].copy()
        return value, np.zeros(len(X))

    def apply(token, *operands):
        f = NUMPY[token]
        value = f(*(v for v, _ in operands))
        corners = [
            f(*(v + sign * e for (v, e), sign in zip(operands, signs)))
            for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1))
        ]
        return value, np.max([np.abs(c - value) for c in corners], axis=0) * 2 + 1e-15 * np.abs(value)

    with np.errstate(all="ignore"):
        return fold(prefix, leaf, apply)


constants_of = st.lists(st.floats(-10, 10).map(lambda c: round(c, 3)), min_size=12, max_size=12)


@pytest.mark.parametrize("vocabulary", VOCABULARIES, ids=lambda v: v.name)
def test_values_agree_with_numpy(vocabulary):
    seen = {"compared": 0, "all": 0}

    @settings(max_examples=700)
    @given(prefixes(vocabulary, max_leaves=10), constants_of, st.integers(0, 10**6))
    def check(prefix, constants, seed):
        X = np.random.default_rng(seed).uniform(-10, 10, (17, 3))
        ours = evaluate(prefix, X, constants[: prefix.count(CONSTANT)])
        value, error = numpy_with_error(prefix, X, constants)
        trusted = np.isfinite(value) & (error < 1e-3 * (1 + np.abs(value)))
        np.testing.assert_array_less(np.abs(ours[trusted] - value[trusted]), 4 * error[trusted] + 1e-300)
        seen["compared"] += trusted.sum()
        seen["all"] += len(X)

    check()
    assert seen["compared"] > 0.5 * seen["all"]  # the rest is undefined, or chaotic: sin(exp(9.9)·…)


@pytest.mark.parametrize(
    "prefix, x, expected",
    [
        (("log", "x1"), -1.0, math.nan),
        (("log", "x1"), 0.0, -math.inf),
        (("sqrt", "x1"), -1.0, math.nan),
        (("asin", "x1"), 1.5, math.nan),
        (("exp", "x1"), 1e3, math.inf),
        (("exp", "x1"), -1e3, 0.0),
        (("inv", "x1"), 0.0, math.inf),
        (("div", "x1", "x1"), 0.0, math.nan),
        (("sin", "x1"), math.inf, math.nan),
        (("tan", "x1"), math.nan, math.nan),
        (("cos", "x1"), 1e300, math.cos(1e300)),
        (("sub", "exp", "x1", "exp", "x1"), 1e3, math.nan),
        (("pow5", "x1"), 1e100, math.inf),
        (("mul", "x1", "C"), math.inf, math.nan),
    ],
)
def test_undefined_values_are_nan_or_inf(prefix, x, expected):
    values = evaluate(prefix, np.full((9, 1), x), (0.0,) * prefix.count(CONSTANT))
    np.testing.assert_array_equal(values, np.full(9, expected))


@pytest.mark.parametrize(
    "name, low, high",
    [
        ("sin", -9e4, 9e4),
        ("cos", -50, 50),
        ("tan", -50, 50),
        ("exp", -745, 709),
        ("sin", 1e5, 1e12),
        ("cos", 1e5, 1e12),
        ("tan", 1e5, 1e12),
    ],
)
def test_own_elementary_functions_are_accurate(name, low, high):
    x = np.random.default_rng(0).uniform(low, high, 20_000)
    ours, theirs = evaluate((name, "x1"), x), NUMPY[name](x)
    assert np.max(np.abs(ours - theirs) / np.spacing(np.abs(theirs))) <= 4  # units in the last place


@settings(max_examples=150)
@given(prefixes(VOCABULARIES[1], max_leaves=7), constants_of, st.integers(0, 10**6))
def test_derivatives_agree_with_sympy(prefix, constants, seed):
    K = prefix.count(CONSTANT)
    x, c = sympy.symbols("x1:4"), sympy.symbols(f"c0:{K}")
    order = {i: k for k, i in enumerate(i for i, token in enumerate(prefix) if token == CONSTANT)}
    expression = fold(
        prefix,
        lambda token, i: c[order[i]] if token == CONSTANT else x[int(token[1:]) - 1],
        lambda token, *a: SYMPY[token](*a),
    )
    X = np.random.default_rng(seed).uniform(0.1, 2, (6, 3))
    constants = np.array(constants[:K]) / 10
    value, jacobian = gradient(prefix, X, constants)
    assert jacobian.shape == (6, K)
    np.testing.assert_array_equal(value, evaluate(prefix, X, constants))
    with np.errstate(all="ignore"):
        for k in range(K):
            function = sympy.lambdify((*x, *c), sympy.diff(expression, c[k]), "numpy")
            expected = np.broadcast_to(function(*X.T, *constants), 6)
            known = np.isfinite(value) & np.isfinite(expected) & (np.abs(expected) < 1e6)
            # where the value itself is steep in x, rounding of x alone moves the derivative: a wide but
            # telling tolerance
            np.testing.assert_allclose(jacobian[known, k], expected[known], rtol=1e-6, atol=1e-8)


def test_the_machine_in_its_own_terms():
    assert sorted(OPCODES.values()) == list(range(len(OPCODES)))
    program = compile_program(("sub", "C", "div", "C", "x2"))
    assert stack_size(program) == 2
    X, stack = as_columns([[1.0, 2.0], [3.0, 4.0]]), np.empty((2, 2))
    run(program, np.array([10.0, 8.0]), X, stack)  # constants in prefix order
    assert stack[0].tolist() == [10 - 8 / 2, 10 - 8 / 4]


def test_a_deep_expression_and_one_column():
    assert evaluate(("sin",) * 5000 + ("x1",), np.array([0.5]))[0] > 0
    assert evaluate(("add", "x1") * 300 + ("x1",), [1.0, 2.0]).tolist() == [301.0, 602.0]


@pytest.mark.parametrize(
    "prefix, constants, message",
    [
        (("add", "x1"), (), "missing"),
        (("x3",), (), "x3"),
        (("mul", "C", "x1"), (), "1 constants"),
        (("x1",), (1.0,), "0 constants"),
        (("sinh", "x1"), (), "sinh"),
    ],
)
def test_errors_speak_of_expressions(prefix, constants, message):
    with pytest.raises(ExpressionError, match=message):
        evaluate(prefix, np.ones((4, 2)), constants)


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=2, max_size=30))
def test_r2_agrees_with_scikit_learn(pairs):
    y, y_hat = np.array(pairs).T
    if np.ptp(y) > 1e-6:
        assert r2_score(y, y_hat) == pytest.approx(sklearn_r2(y, y_hat), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1.0, 1e150, 1e300, 4e307])
def test_r2_does_not_depend_on_the_unit(scale):
    assert r2_score(np.array([1.0, 2.0, 3.0]) * scale, np.array([1.0, 2.0, 4.0]) * scale) == pytest.approx(
        0.5
    )


def test_r2_of_special_cases():
    assert (
        r2_score([1, 2], [1, math.nan])
        == r2_score([1, 2], [1, math.inf])
        == r2_score([], [])
        == r2_score([1, math.nan], [1, 2])
        == -math.inf
    )
    assert r2_score([3.3] * 7, [3.3] * 7) == 1.0 and r2_score([3.3] * 7, [3.4] * 7) == -math.inf
    assert r2_score([1e9, 1e9 + 1e-6], [1e9, 1e9 + 1e-6]) == 1.0


def test_read_only_points_of_one_variable_need_no_second_compilation():
    X = np.linspace(0, 1, 5)[:, None]
    X.flags.writeable = False
    columns = as_columns(X)
    assert columns.flags.writeable and columns.flags.c_contiguous and not np.shares_memory(columns, X)


def test_a_long_table_has_the_values_of_its_blocks():
    X, prefix = np.random.default_rng(0).uniform(1, 2, (BLOCK + 3, 2)), ("mul", "C", "sin", "mul", "x1", "x2")
    values = evaluate(prefix, X, (2.0,))
    np.testing.assert_array_equal(values[-3:], evaluate(prefix, X[-3:], (2.0,)))
    np.testing.assert_allclose(values, 2 * np.sin(X[:, 0] * X[:, 1]), rtol=1e-12)
