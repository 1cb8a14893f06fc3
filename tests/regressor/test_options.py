"""What a user may say about rows, operators and columns, and what Ctrl-C leaves."""

import io

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import curve_fit
from sklearn.metrics import r2_score as their_r2
from test_estimator import GOOD, LINE, Interrupted, Knows, small

from nsr.data.problems import Problem
from nsr.formulas.equivalence import canonical
from nsr.formulas.parsing import parse
from nsr.numbers.evaluation import evaluate
from nsr.regressor import estimator
from nsr.regressor.nice_numbers import NUMBERS, nearest, snapped
from nsr.regressor.tables import TableError
from nsr.regressor.ticker import Ticker
from nsr.search import subsampling
from nsr.search.allowance import NAMES, Allowance
from nsr.search.deadline import Deadline
from nsr.search.oracle import Oracle
from nsr.search.strategies import LocalSearch

RNG = np.random.default_rng(0)
X = pd.DataFrame({"dose": RNG.uniform(0.1, 8, 70), "flow": RNG.uniform(1, 2, 70)})
ERROR = np.where(np.arange(70) < 10, 3.0, RNG.uniform(0.005, 0.05, 70))
Y = 3.0 * X.dose / (0.7 + X.dose) + ERROR * RNG.standard_normal(70)


# ---- weights ------------------------------------------------------------------------------------------------------------------


def test_errors_of_y_are_used_and_scipy_agrees():
    model = small(start=["a*dose/(b + dose)"]).fit(X, Y, y_error=ERROR)
    prefix, constants = model._formulas[0]
    hill = lambda x, a, b: a * x / (b + x)
    theirs, covariance = curve_fit(hill, X.dose, Y, p0=(3, 0.7), sigma=ERROR)
    assert canonical(prefix) == canonical(("div", "mul", "C", "x1", "add", "C", "x1"))
    assert (np.abs(constants - theirs) < 0.02 * np.sqrt(np.diag(covariance))).all()
    # 95 % of a t-distribution with 68 degrees of freedom
    np.testing.assert_allclose(model.half_widths_, 1.9955 * np.sqrt(np.diag(covariance)), rtol=0.02)
    r2 = their_r2(Y, model.predict(X), sample_weight=1 / ERROR**2)
    assert model.equations_.r2[0] == pytest.approx(r2, abs=1e-9)
    assert model.score(X, Y, sample_weight=1 / ERROR**2) == pytest.approx(r2)
    # ten wild rows spoil the fit that does not know of them
    plain = small(start=["a*dose/(b + dose)"]).fit(X, Y)
    truth = 3.0 * X.dose / (0.7 + X.dose)
    assert np.abs(plain.predict(X) - truth).max() > 5 * np.abs(model.predict(X) - truth).max()


def test_weights_of_one_size_change_nothing_and_weights_of_zero_leave_rows_out():
    without = small().fit(X, Y)
    for given in (
        {"sample_weight": np.ones(70)},
        {"sample_weight": [7] * 70},
        {"y_error": 0.1 * np.ones(70)},
    ):
        pd.testing.assert_frame_equal(small().fit(X, Y, **given).equations_, without.equations_)
    kept = ERROR < 1
    fewer = small().fit(X[kept], Y[kept])
    pd.testing.assert_frame_equal(small().fit(X, Y, kept.astype(float)).equations_, fewer.equations_)


def test_whole_weights_are_repeated_rows_for_a_formula():
    times = RNG.integers(0, 4, 70)
    options = {"strategy": Knows("div mul C x1 add C x1")}
    ours = small(**options).fit(X, Y, sample_weight=times)
    theirs = small(**options).fit(X.loc[X.index.repeat(times)], Y.repeat(times))
    text = {
        model: model.equations_.equation.str.contains(r"^[\d.]+\*dose/\(", regex=True)
        for model in (ours, theirs)
    }
    rows = [model.equations_[which].iloc[0] for model, which in text.items()]
    assert rows[0].r2 == pytest.approx(rows[1].r2, abs=1e-6)


def test_a_long_table_is_fitted_with_its_weights():
    rng = np.random.default_rng(5)
    long = rng.uniform(1, 5, (9000, 1))
    error = np.where(rng.random(9000) < 0.2, 20.0, 0.1)
    y = 2.5 * np.sqrt(long[:, 0]) + error * rng.standard_normal(9000)
    model = small(strategy=Knows("mul C sqrt x1")).fit(long, y, y_error=error)
    best = np.sum(y * np.sqrt(long[:, 0]) / error**2) / np.sum(long[:, 0] / error**2)
    assert model.formula_.endswith("*sqrt(x1)") and model._formulas[0][1][0] == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sample_weight": [1, 2, 3]}, "sample_weight has 3 values, X has 4 rows"),
        ({"sample_weight": np.ones((4, 2))}, "has the shape"),
        ({"sample_weight": [1, -1, 1, 1]}, "first -1 in row 2 of 4: a weight is a number from 0 on"),
        ({"sample_weight": [1, 1, np.nan, np.inf]}, "2 values that cannot be, first nan in row 3"),
        ({"sample_weight": [0, 0, 0, 0]}, "every weight is zero"),
        ({"sample_weight": [1, 0, 0, 0]}, "1 sample"),
        ({"sample_weight": ["much", 1, 1, 1]}, "no number"),
        ({"y_error": [0.1, 0.0, 0.1, 0.1]}, "first 0 in row 2 of 4: an error is above 0"),
        ({"y_error": [0.1, 0.1, -0.1, np.nan]}, "y_error has 2 values"),
        ({"y_error": [1, 2, 3, 4], "sample_weight": [1, 2, 3, 4]}, "not both"),
    ],
)
def test_bad_weights_get_a_sentence(given, message):
    with pytest.raises(TableError, match=message):
        small().fit(GOOD, LINE, **given)


def test_ten_columns_with_weights_are_nine():
    wide = np.random.default_rng(6).uniform(1, 3, (80, 12))
    y = wide[:, 3] * np.sqrt(wide[:, 10]) / wide[:, 11]
    model = small().fit(wide, y, sample_weight=wide[:, 0])
    assert len(model.columns_) == 9 and model.formula_ == "x4*sqrt(x11)/x12"


# ---- operators and columns ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["beam", LocalSearch(candidates=40)])
def test_only_the_operators_given_are_in_an_answer(strategy):
    operators, y = ["add", "mul", "div"], np.sin(X.dose) / X.flow
    model = small(strategy=strategy, operators=operators).fit(X, y)
    used = {token for prefix, _ in model._formulas for token in prefix if token in NAMES}
    assert used <= {*operators, "sub"}
    # the complement, forbidden, is the same
    rest = [token for token in NAMES if token not in (*operators, "sub")]
    pd.testing.assert_frame_equal(
        small(strategy=strategy, forbid=rest).fit(X, y).equations_, model.equations_
    )


def test_what_is_allowed_is_what_is_not_forbidden():
    for operators in ([], ["add"], ["mul", "sin"], NAMES):
        rest = [name for name in NAMES if name not in operators]
        only, without = Allowance.of(operators), Allowance.of(forbid=rest)
        for name in NAMES:
            prefix = (name, "x1", "x2") if name in ("add", "sub", "mul", "div") else (name, "x1")
            if not ({"add", "sub"} & set(operators) and {"add", "sub"} & set(rest)):
                assert only.admits(prefix) == without.admits(prefix)
            assert only.admits(prefix) == (name in operators or name == "sub" and "add" in operators)


def test_the_answer_has_the_columns_that_it_must_use():
    assert "flow" not in small().fit(X, Y).formula_
    model = small(must_use=["flow"]).fit(X, Y)
    assert model.equations_.equation.str.contains("flow").all()
    wide = np.random.default_rng(7).uniform(1, 3, (80, 12))
    model = small(must_use=[11, "x3"]).fit(
        pd.DataFrame(wide, columns=[f"x{i + 1}" for i in range(12)]), wide[:, 1]
    )
    assert {"x3", "x12"} <= set(model.columns_[:5]) and "x3" in model.formula_ and "x12" in model.formula_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"must_use": ["c"]}, "no column 'c' .in must_use."),
        ({"must_use": [2]}, "must_use: X has no column 2"),
        ({"start": ["a + " * 300 + "b"]}, "has 601 tokens; at most 500"),
        ({"operators": np.array(["plus"])}, "no operator 'plus'"),
        ({"must_use": ["a"], "columns": ["b"]}, "has to be one of columns"),
        ({"must_use": "a"}, r"must_use is 'a'; give a list: \['a'\]"),
        ({"operators": "add"}, "operators is 'add'; give a list"),
        ({"operators": ["plus"]}, "no operator 'plus'"),
        ({"operators": ["asin"], "must_use": ["a", "b"]}, "No formula was found that keeps to operators"),
    ],
)
def test_wishes_that_cannot_be_get_a_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        small(**options).fit(GOOD, LINE)


# ---- a search that is watched and interrupted -------------------------------------------------------------------------------------


def test_a_ticker_shows_the_best_formula_so_far():
    now, stream = [0.0], io.StringIO()
    ticker = Ticker(lambda c: " ".join(c.prefix), stream, clock=lambda: now[0])
    oracle = Oracle(Problem([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]))
    oracle.verify([("x1",), ("add", "C", "mul", "C", "x1")])
    for now[0] in (5.0, 12.0, 13.0, 30.0):
        ticker([oracle])
    ticker.end()
    assert stream.getvalue().splitlines() == [
        f"{second} s, 2 candidates, R² 1: add C mul C x1" for second in (12, 30)
    ]


def test_a_line_on_a_screen_is_replaced_and_never_wraps(monkeypatch):
    now, stream = [0.0], io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setenv("COLUMNS", "40")
    ticker = Ticker(lambda c: "x" * 100 * (now[0] < 2), stream, clock=lambda: now[0])
    oracle = Oracle(Problem([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]))
    oracle.verify([("x1",)])
    for now[0] in (1.0, 1.1, 3.0):
        ticker([oracle])
    ticker.end()
    first, second, blank, end = stream.getvalue().split("\r")[1:]
    assert len(first) == 39 == len(second) and second.rstrip() == "3 s, 1 candidates, R² −0.7500:"
    assert not blank.strip() and len(blank) >= len(second.rstrip()) and end == ""


def test_a_verbose_fit_names_its_best_formula(monkeypatch, capsys):
    monkeypatch.setattr("nsr.regressor.ticker.SELDOM", -1.0)
    small(verbose=True, strategy=LocalSearch(candidates=20)).fit(X, Y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 2 and "dose" in lines[-1] and "candidates, R²" in lines[-1]


@pytest.mark.parametrize("stage", ["plain forms", "search", "bags", "shorter", "own units", "table"])
def test_ctrl_c_keeps_the_best_formula_wherever_it_is_pressed(stage, monkeypatch):
    pressed = []

    def once(real):
        def work(*args, **options):
            if not pressed:
                pressed.append(1)
                raise KeyboardInterrupt
            return real(*args, **options)

        return work

    strategy = Knows("mul C mul x1 x2")
    place = {
        "plain forms": "_plain_forms",
        "shorter": "plainer",
        "own units": "_in_own_units",
        "table": "judged",
    }
    if stage == "search":
        strategy, pressed = Interrupted(), [1]
    elif stage == "bags":
        monkeypatch.setattr(subsampling, "verify_all", once(subsampling.verify_all))
    else:
        monkeypatch.setattr(estimator, place[stage], once(getattr(estimator, place[stage])))
    with pytest.warns(RuntimeWarning, match="was interrupted after"):
        model = small(strategy=strategy, n_bags=2).fit(1000 * X, Y)
    assert pressed and model.stopped_ == "interrupted" and model.score(1000 * X, Y) > -1e-9


def test_after_an_interruption_time_is_short():
    now = [0.0]
    deadline = Deadline(1000.0, clock=lambda: now[0])

    def press():
        raise KeyboardInterrupt

    assert deadline.unless_interrupted(press, 7) == 7 and deadline.interrupted and deadline.left == 2.0


# ---- nice numbers -----------------------------------------------------------------------------------------------------------------


def test_few_arbitrary_constants_are_taken_for_nice_ones():
    rng = np.random.default_rng(9)
    for share in (1e-4, 1e-3, 1e-2, 0.1):
        size = np.exp(rng.uniform(np.log(0.3), np.log(9), 3000))
        assert np.mean([bool(nearest(c, share * c)) for c in size]) < 0.06
    for name, value in NUMBERS.items():
        assert nearest(value * (1 + 3e-5), 1e-4 * value) == name and nearest(-value, 0.0) == f"-{name}"


def test_a_constant_becomes_nice_the_others_adapt_and_the_printed_formula_has_the_r2():
    rng = np.random.default_rng(10)
    x, named = np.linspace(0.1, 4, 80), 0
    for _ in range(20):
        y = 0.83 + 2 * np.pi * np.sqrt(x) + 0.002 * rng.standard_normal(80)
        options = {"strategy": Knows("add C mul C sqrt x1"), "nice": True}
        model = small(**options).fit(x[:, None], y)
        prefix, constants = model._formulas[0]
        text_prefix, printed = parse(model.formula_)
        assert model.equations_.r2[0] == pytest.approx(
            their_r2(y, evaluate(text_prefix, x[:, None], printed)), abs=1e-9
        )
        if "2π" in model.nice_:
            named += 1
            k = model.nice_.index("2π")
            assert constants[k] == 2 * np.pi and model.half_widths_[k] == 0.0
            best = np.mean(y - 2 * np.pi * np.sqrt(x))  # least squares of the other one, by hand
            assert constants[1 - k] == pytest.approx(best, abs=1e-5)
    assert named >= 16  # 95 % of the intervals hold 2π


def test_no_constant_becomes_nice_where_that_is_worse_or_nobody_asked():
    rng = np.random.default_rng(11)
    x = np.linspace(0.1, 4, 80)
    options = {"strategy": Knows("mul C sqrt x1")}
    y = 3.1 * np.sqrt(x) + 0.001 * rng.standard_normal(80)
    assert small(nice=True, **options).fit(x[:, None], y).nice_ == [""]
    y = np.pi * np.sqrt(x) + 0.001 * rng.standard_normal(80)
    assert small(**options).fit(x[:, None], y).nice_ == [""]
    problem = Problem(x[:, None], y)
    # an interval that is ten times too wide does not help a number that fits much worse
    constants, names = snapped(("mul", "C", "sqrt", "x1"), (3.1416,), (0.002,), problem)
    assert names == ["π"] and constants == (np.pi,)
    off = Problem(x[:, None], y * 1.003)
    assert snapped(("mul", "C", "sqrt", "x1"), (3.1416 * 1.003,), (0.002,), off)[1] == [""]
