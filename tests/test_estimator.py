"""NSRegressor as scikit-learn's judge sees it, as a user with a bad table sees it, and whether its formulas are what it predicts with."""
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sympy
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from tiny_full import tiny_full

from nsr import NSRegressor, srbench
from nsr.canonical import canonical
from nsr.choice import pareto
from nsr.estimator import column_importance, default_weights
from nsr.oracle import Verify
from nsr.strategies import GVS, BeamSearch, LocalSearch
from nsr.tables import TableError

CANNOT_APPLY: dict[str, str] = {}  # checks of scikit-learn that NSRegressor does not pass, and why


def small(**options) -> NSRegressor:
    return NSRegressor(**({"weights": str(tiny_full().folder), "strategy": "beam", "beam_size": 3, "n_bags": 1, "max_time": None,
                           "random_state": 0} | options))


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"mass (kg)": rng.uniform(10, 90, 80), "v": rng.uniform(1, 5, 80), "year": rng.uniform(1990, 2010, 80)})
    return X, 0.3 * X["mass (kg)"] + 2.0 * X["v"] + 0.5 * X["year"]


def test_scikit_learn_checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = check_estimator(small(beam_size=2), on_fail=None, on_skip=None)
    failed = {check["check_name"]: check["exception"] for check in outcome if check["status"] == "failed"}
    assert len(outcome) > 40
    assert set(failed) == set(CANNOT_APPLY), failed


def test_formula_in_the_units_and_names_of_the_table(table):
    X, y = table
    model = small(n_bags=2, bag_size=40).fit(X, y)
    assert model.columns_ == ["mass (kg)", "v", "year"] and model.symbols_ == ["mass_kg", "v", "year"]
    assert model.score(X, y) > 1 - 1e-9  # the yardstick is a line, and so is this
    assert {str(s) for s in model.sympy().free_symbols} <= set(model.symbols_)
    for row in range(min(5, len(model.equations_))):
        f = sympy.lambdify(sympy.symbols(model.symbols_, real=True), model.sympy(row), "numpy")
        expected = np.broadcast_to(f(*X.to_numpy().T), len(X))
        assert np.allclose(model.predict(X, row), expected, rtol=1e-6)
    assert r"\mathrm{mass\_kg}" in model.latex() and model.formula_ in str(model.equations_["equation"].iloc[0])


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_no_term_is_added_to_explain_rounding(digits):
    X = np.random.default_rng(5).uniform(0.5, 4.0, (30, 2))
    model = NSRegressor("laptop/nesymres", n_bags=1, random_state=0).fit(X, np.round(2.5 * np.sin(X[:, 0]) + X[:, 1], digits))
    prefix, constants = model._formulas[0]
    assert canonical(prefix) == canonical(("add", "mul", "C", "sin", "x1", "x2")) and abs(constants[0] - 2.5) < 0.1**digits
    assert model.pareto_front_["r2"].max() > model.equations_["r2"][0]  # longer ones do fit the rounding better


def test_with_noise_the_plain_formula_is_found_and_chosen():
    rng = np.random.default_rng(6)
    X = rng.uniform(0.5, 4.0, (60, 2))
    model = NSRegressor("laptop/nesymres", strategy=LocalSearch(candidates=150), n_bags=2, random_state=0, max_time=None)
    model.fit(X, 2.5 * np.sin(X[:, 0]) + X[:, 1] + 0.05 * rng.standard_normal(60))
    assert canonical(model._formulas[0][0]) == canonical(("add", "mul", "C", "sin", "x1", "x2"))


class Knows:
    """A search that knows what to verify."""

    name = "knows"

    def __init__(self, text):
        self.prefix = tuple(text.split())

    def search(self, view, rng):
        yield Verify((self.prefix,))


def test_what_is_100_in_the_units_of_the_search_may_be_1_in_the_users():
    rng = np.random.default_rng(7)
    X = pd.DataFrame({"kg": rng.uniform(50, 110, 80).round(1), "m": rng.uniform(1.2, 2.2, 80).round(2)})
    model = NSRegressor("laptop/full", strategy=Knows("mul C div x1 pow2 x2"), n_bags=1, random_state=0).fit(X, (X.kg / X.m**2).round(1))
    assert model.formula_ == "kg/m**2" and model.equations_.constants[0] == 0


def test_table_of_candidates_and_its_front(table):
    X, y = table
    noise = np.random.default_rng(1).standard_normal(len(y))
    model = small(strategy=BeamSearch(5)).fit(X, y + noise)
    e = model.equations_
    assert {"complexity", "r2", "novel", "equation"} <= set(e.columns) and e["novel"].dtype == bool
    assert e["description_length"].is_monotonic_increasing and e["source"].isin(["search", "yardstick"]).all()
    assert e.index[0] == 0 and model.formula_ == e["equation"][0]
    front = model.pareto_front_
    for _, row in e.iterrows():  # brute force: nothing dominates the front, the front dominates the rest
        dominated = ((e.complexity <= row.complexity) & (e.r2 > row.r2) | (e.complexity < row.complexity) & (e.r2 >= row.r2)).any()
        assert dominated == (row.name not in front.index) or (e[["complexity", "r2"]].duplicated(keep=False))[row.name]
    best = small(strategy=BeamSearch(5), selection="r2").fit(X, y + noise)
    assert best.equations_["r2"].is_monotonic_decreasing


def test_repeatable_and_picklable(table):
    X, y = table
    one, two = small(n_bags=2).fit(X, y), small(n_bags=2).fit(X, y)
    pd.testing.assert_frame_equal(one.equations_, two.equations_)
    again = pickle.loads(pickle.dumps(one))
    assert np.array_equal(again.predict(X), one.predict(X))
    assert clone(one).get_params() == small(n_bags=2).get_params()


def test_works_in_pipelines_and_cross_validation(table):
    X, y = table
    assert cross_val_score(small(), X, y, cv=2).min() > 0.99
    assert make_pipeline(StandardScaler(), small()).fit(X, y).score(X, y) > 0.99


@pytest.mark.parametrize("criterion", ["forest", "mutual_info"])
def test_more_columns_than_variables(criterion):
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, (200, 9))
    y = X[:, 7] + 2 * X[:, 2]
    assert set(np.argsort(column_importance(X, y, criterion, 0))[-2:]) == {2, 7}
    model = small(columns=criterion).fit(X, y)
    assert len(model.columns_) == 5 and {"x3", "x8"} <= set(model.columns_)
    assert model.score(X, y) > 0.99
    by_hand = small(columns=["x8", "x3"]).fit(pd.DataFrame(X, columns=[f"x{i + 1}" for i in range(9)]), y)
    assert by_hand.columns_ == ["x3", "x8"] and by_hand.predict(pd.DataFrame(X, columns=by_hand.feature_names_in_)).shape == (200,)


GOOD = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [0.0, 1.0, 0.0, 2.0]})
LINE = [1.0, 2.0, 4.0, 3.0]


@pytest.mark.parametrize(("X", "y", "message"), [
    (GOOD.assign(city=["Rome", "Oslo", "Rome", "Bonn"]), LINE, "Column city of X holds text, such as 'Rome'.*get_dummies"),
    (GOOD.assign(b=[0.0, np.nan, 0.0, np.nan]), LINE, r"Column b of X has 2 missing values \(NaN\), first in row 2 of 4. Drop"),
    (GOOD.assign(b=[0.0, 1.0, np.inf, 1.0]), LINE, "Column b of X has 1 infinite value .*row 3 of 4"),
    (GOOD.assign(day=pd.date_range("2026-01-01", periods=4)), LINE, "Column day of X holds dates"),
    (GOOD.iloc[:1], [1.0], "X has 1 sample. At least 2 rows"),
    (GOOD.iloc[:, :0], LINE, "X has no columns"),
    (pd.concat([GOOD, GOOD["a"]], axis=1), LINE, "two columns named 'a'. Rename"),
    (GOOD, [2.0] * 4, "y is the constant 2 in all 4 rows"),
    (GOOD, [1.0, None, 2.0, 3.0], "y has 1 missing value"),
    (GOOD, ["low", "high", "low", "low"], "y holds text, such as 'low'. A formula's values are numbers"),
    (GOOD.assign(b=["1,5", "2,5", "3,0", "4,0"]), LINE, "Column b of X holds text, such as '1,5'.*decimal=','"),
    (GOOD.iloc[:0], [], "X has no rows"),
    (GOOD["a"], LINE, "X has 1 dimension: .* table..'name'..."),
    ([1.0, 2.0, 3.0, 4.0], LINE, r"Reshape your data: X.reshape\(-1, 1\)"),
    (np.zeros((4, 2, 2)), LINE, "X has 3 dimensions"),
    ({"a": LINE}, LINE, "X is a dict, not a table.*pandas.DataFrame"),
    (None, LINE, "X is None, not a table"),
    (GOOD.rename(columns={"a": 0}), LINE, r"some by numbers.*astype\(str\)"),
    (GOOD * 0 + 7, LINE, "No column of X varies"),
    (GOOD, "a", "y is 'a', one thing; .* table..name.."),
    (GOOD, np.ones((4, 2)), "Fit one column of it at a time"),
    (GOOD, LINE[:3], "X has 4 rows, y has 3"),
    (GOOD, np.array(LINE) * 1e200, "y goes from 1e.200 to 4e.200: too large to be squared"),
    (GOOD, np.array(LINE) * 1e-200, "too close to be squared"),
    (GOOD, np.array(LINE) * 1j, "y must be real"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_bad_tables_get_a_sentence(X, y, message):
    with pytest.raises(TableError, match=message):
        small().fit(X, y)


@pytest.mark.parametrize(("options", "message"), [
    ({"strategy": "magic"}, "no strategy 'magic'"), ({"selection": "best"}, "choose 'short' or 'r2'"), ({"max_time": -1}, "number of seconds"),
    ({"columns": "all"}, "choose 'forest', 'mutual_info'"), ({"columns": ["c"]}, "X has no column 'c'"), ({"n_bags": 0}, "at least 1")])
def test_bad_parameters_get_a_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        small(**options).fit(GOOD, LINE)


def test_missing_network_says_what_to_do():
    with pytest.raises(FileNotFoundError, match="python -m nsr train nothing"):
        small(weights="laptop/nothing").fit(GOOD, LINE)
    assert default_weights(BeamSearch()).startswith("laptop/") and default_weights(GVS()).endswith("gvs")


def test_no_finite_value_warns_and_falls_back_to_the_mean(table):
    X, y = table
    model = small().fit(X, y)
    model._formulas[0] = (("log", "x2"), ())
    odd = X.head(4).assign(v=[-1.0, 1.0, 2.0, -3.0])
    with pytest.warns(RuntimeWarning, match="2 of 4 rows"):
        values = model.predict(odd)
    assert np.allclose(values, [model.y_mean_, 0.0, np.log(2.0), model.y_mean_])


def test_time_limit_ends_the_search(table):
    X, y = table
    model = small(strategy="tpsr", beam_size=1, max_time=1e-6).fit(X, y)
    assert np.isfinite(model.predict(X)).all() and len(model.equations_) >= 2  # the yardsticks at least


def test_srbench_entry(table):
    X, y = table
    X = X.rename(columns={"mass (kg)": "mass"})
    fitted = clone(srbench.est).set_params(**(small().get_params() | srbench.eval_kwargs["test_params"])).fit(X, y)
    text = srbench.model(fitted, X)
    names = {name: sympy.Symbol(name) for name in X.columns}
    f = sympy.lambdify(list(names.values()), sympy.parse_expr(text, local_dict=names), "numpy")
    assert np.allclose(f(*X.to_numpy().T), fitted.predict(X))
    assert srbench.complexity(fitted) == fitted.equations_["complexity"][0]


def test_pareto_of_nothing_is_nothing():
    assert pareto([], []) == [] and pareto([1], [-np.inf]) == []
