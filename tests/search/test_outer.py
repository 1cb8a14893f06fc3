"""Outer forms: what they admit is a sum or a product by finite differences, what is known is undone, and other forms get
a sentence."""

import numpy as np
import pytest
from test_dimensions import some_formulas

from nsr.data.problems import Problem
from nsr.formulas.parsing import parse
from nsr.numbers.evaluation import evaluate, r2_score
from nsr.search.outer import LONGEST, Outer, OuterError
from nsr.search.part_forms import part_forms, smooth_parts
from nsr.search.strategies.families import family_of

NAMES = ["a", "b", "c", "mass"]
RNG = np.random.default_rng(0)
X = RNG.uniform(0.5, 3.0, (200, 3))


def is_sum(F: np.ndarray) -> bool:
    """Whether values F (n, n) on a grid are f(a) + g(b)."""
    off = F - F[:1] - F[:, :1] + F[0, 0]
    return bool(np.abs(off).max() <= 1e-9 * max(1.0, np.abs(F).max()))


def on_a_grid(prefix) -> np.ndarray:
    one = np.linspace(0.6, 1.9, 7)
    a, b = np.meshgrid(one, one + 0.03, indexing="ij")
    values = evaluate(prefix, np.column_stack([a.ravel(), b.ravel()]), [0.7, 1.3][: prefix.count("C")])
    return values.reshape(7, 7)


def test_what_is_admitted_is_a_sum_or_a_product():
    added, multiplied = Outer.read("f(a) + g(b)", NAMES), Outer.read("f(a)*g(b)", NAMES)
    seen = np.zeros((2, 2, 2), int)
    with np.errstate(all="ignore"):
        for prefix in some_formulas(np.random.default_rng(5), 400):
            F = on_a_grid(prefix)
            if not np.isfinite(F).all() or {"x1", "x2"} - set(prefix):
                continue
            for k, (form, values) in enumerate(((added, F), (multiplied, np.log(np.abs(F))))):
                if np.isfinite(values).all():
                    admitted, is_one = form.admits(prefix), is_sum(values)
                    assert is_one or not admitted, prefix
                    seen[k, int(admitted), int(is_one)] += 1
    # and few of those are refused, for how they are written
    assert (
        (seen[:, 1, 1] > 20).all()
        and (seen[:, 0, 0] > 20).all()
        and (seen[:, 0, 1] < seen[:, 1, 1] / 4).all()
    )


def test_families_of_what_is_admitted_are_admitted():
    """Else a local search could not verify them."""
    for text, form in (
        ("sin(x1) + x2", "f(a) + g(b)"),
        ("sin(x1)*x2/exp(x2)", "f(a)*g(b)"),
        ("x1*x2 + x3", "f(a,b) + g(c)"),
    ):
        prefix, _ = parse(text)
        assert Outer.read(form, NAMES).admits(prefix) and Outer.read(form, NAMES).admits(family_of(prefix))


@pytest.mark.parametrize(
    "text",
    [
        "f(a)",
        "exp(f(a, b))/c",
        "c*exp(f(a)*g(b))",
        "2*sqrt(f(a) + g(b)) - c/3",
        "1/(1 + f(a, b))",
        "c - f(a)**2",
        "(c + 1)/(2.5*log(f(a)) + c)",
        "exp(-f(a)/(1.38*c))",
        "asin(f(a)/4)",
        "c/f(a)**3",
        "0.7 - (-f(a, b))",
    ],
)
def test_what_is_known_is_undone(text):
    form = Outer.read(text, NAMES)
    core = evaluate(parse("0.3*x1 + 0.5")[0], X, [0.3, 0.5])
    columns = np.column_stack([X[:, : len(form.core)], X[:, 2:]])  # those of the core, then c
    whole, constants = form.around((("add", "mul", "C", "x1", "C"), (0.3, 0.5)))
    y = evaluate(whole, columns, constants)
    names = [NAMES.index(n) for n in "abc" if NAMES.index(n) in (*form.core, *form.known)]
    assert sorted((*form.core, *form.known)) == names
    found, slope = form.undone(columns, y)
    np.testing.assert_allclose(found, core, rtol=1e-8)
    more = evaluate(whole, columns, tuple(np.array(constants) + 1e-6 * (np.array(constants) == 0.5)))
    np.testing.assert_allclose(slope, np.abs(more - y) / 1e-6, rtol=1e-3)


def test_the_numbers_in_a_form_keep_their_order():
    form = Outer.read("(c*2 + 3)/(4*log(f(a)) + 5*c)", NAMES)
    prefix, constants = form.around((("C",), (7.0,)))
    assert evaluate(prefix, np.array([[1.0, 6.0]]), constants)[0] == pytest.approx(15 / (4 * np.log(7) + 30))
    assert form.undone(np.array([[1.0, 6.0]]), np.array([15 / (4 * np.log(7) + 30)]))[0] == pytest.approx(7)


def test_columns_may_be_named_as_variables_are():
    form = Outer.read("x1*f(x4)/x3", ["x1", "x2", "x3", "x4"])
    assert (form.core, form.known) == ((3,), (0, 2))
    assert form.around((("x1",), ()))[0] == ("div", "mul", "x2", "x1", "x3")


def test_rows_that_have_no_core_are_left_out_if_they_are_few():
    form = Outer.read("exp(f(a))", NAMES)
    y = np.exp(X[:, 0])
    y[:5] = -0.01
    columns, goal, weights = form.goal(X, y, None)
    np.testing.assert_allclose(goal, X[5:, 0])
    np.testing.assert_allclose(weights, (y[5:] / y.max()) ** 2)
    assert columns.shape == (195, 1)
    y[:50] = -0.01
    with pytest.raises(OuterError, match=r"in 50 of 200 rows no y of the form 'exp\(f\(a\)\)'"):
        form.goal(X, y, None)
    same = Outer.read("f(a) - 3", NAMES).goal(X, X[:, 0], None)
    assert same[2] is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no unknown function"),
        ("a + b", "has no unknown function"),
        ("f(mas)", "no column 'mas' .in outer.. Did you mean 'mass'"),
        ("f(a) + q", "no column 'q'"),
        ("f()", "no column ''"),
        ("f(sin(a))", "between the brackets of f stand columns only"),
        ("f(a) + f(b)", "stands in two places"),
        ("f(a) + g(b) + c", "is not supported; unknown functions are joined"),
        ("f(a) + g(b)*h(c)", "is not supported"),
        ("sin(f(a))", "sin cannot be undone"),
        ("f(a)**g(b)", "is no formula"),
        ("f(a))", "is no formula"),
        ("f(a) @ g(b)", "is no formula"),
        ("(" * 300 + "f(a)" + ")" * 300, "is no formula"),
        ("f(a)" + "+ 1" * LONGEST, "more than 1000 characters"),
        ("+".join(f"f{i}(a)" for i in range(10)), "more than 10 columns and unknown functions"),
        (3, "3 is no text"),
    ],
)
def test_other_forms_get_a_sentence(text, message):
    with pytest.raises(OuterError, match=message):
        Outer.read(text, NAMES)


def test_smooth_parts_are_the_parts_up_to_a_number():
    f, g = 3 * X[:, 0] / (2 + X[:, 0]), np.sin(2 * X[:, 1]) * X[:, 2]
    parts = smooth_parts(X, f + g, [[0], [1, 2]], None)
    for part, true in zip(parts, (f, g)):
        assert np.ptp(part - true) < 0.02 * np.ptp(true)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_product_is_found_by_its_parts(sign):
    y = sign * (1 + 0.5 * X[:, 0] ** 2) * np.exp(-0.7 * X[:, 1])
    groups = [frozenset({"x1"}), frozenset({"x2"})]
    forms = part_forms(Problem(X[:90], y[:90]), groups, True)
    assert max(r2_score(y, evaluate(p, X, c)) for p, c in forms) > 1 - 1e-9
    assert part_forms(Problem(X, X[:, 0] - 2), groups, True) == []  # no logarithm
