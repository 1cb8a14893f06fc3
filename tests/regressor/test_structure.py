"""What a user may say about the structure of a formula: the units of its quantities, and its outer form."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from test_estimator import Knows, small

from nsr import NSRegressor
from nsr.formulas.parsing import parse
from nsr.search.dimensions import Dimensions, with_units
from nsr.search.outer import Outer
from nsr.search.physical_units import read_unit
from nsr.search.strategies import LocalSearch

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {"way": RNG.uniform(1, 5, 80), "time": RNG.uniform(0.5, 3, 80), "angle": RNG.uniform(0, 1.5, 80)}
)
UNITS = {"way": "m", "time": "s", "angle": "rad"}
FALL = X.way - 4.905 * X.time**2


# ---- units -----------------------------------------------------------------------------------------------------------


def test_every_answer_can_have_its_unit():
    noisy, strategy = FALL + 0.01 * RNG.standard_normal(80), LocalSearch(candidates=20)
    model = small(strategy=strategy, X_units=UNITS, y_units="m").fit(X, noisy)
    units = Dimensions(tuple(map(read_unit, UNITS.values())), read_unit("m"))
    assert all(units.admits(prefix) for prefix, _ in model._formulas)
    assert model.formula_.startswith("way - 4.9") and model.constant_units_ == ["m/s**2"]
    without = small(strategy=strategy).fit(X, noisy)
    assert not all(units.admits(prefix) for prefix, _ in without._formulas)
    assert without.constant_units_ == []


def test_a_factor_of_1_that_carries_a_unit_is_written_down():
    y = X.way + X.time
    assert small().fit(X, y).formula_ == "way + time"
    model = small(X_units=UNITS, y_units="m").fit(X, y)
    assert model.formula_ == "way + 1*time" and model.constant_units_ == ["m/s"]
    wave = Knows("sin x1")
    assert small(strategy=wave, X_units=UNITS).fit(X, np.sin(X.way)).formula_ == "sin(1*way)"
    assert small(strategy=wave, X_units=UNITS | {"way": "1"}).fit(X, np.sin(X.way)).formula_ == "sin(way)"
    assert with_units((("sin", "x1"), ()), Dimensions((read_unit("deg"),), ()).admits) == (
        ("sin", "mul", "C", "x1"),
        (1.0,),
    )


def test_units_of_columns_that_are_rescaled_for_the_search_are_the_users():
    far = X[["way", "time"]].assign(way=1e6 * X.way)
    speed = far.way / far.time
    for way, y, units in (("km", "km/h", []), ("m", "km/h", ["0.001"])):
        model = small(X_units=[way, "h"], y_units=y).fit(far, speed)
        assert model.score(far, speed) > 1 - 1e-9 and model.constant_units_ == units


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X_units": "m"}, "X_units is 'm'; give a list"),
        ({"X_units": ["m", "s"]}, "X_units has 2 units, X has 3 columns"),
        ({"X_units": {"wya": "m"}}, "no column 'wya' .in X_units.. Did you mean 'way'"),
        ({"X_units": {"way": "metr"}}, "X_units of 'way': There is no unit 'metr'.*Did you mean 'metre'"),
        ({"X_units": {"way": 3}}, "X_units of 'way': 3 is no unit; write text"),
        ({"X_units": 3}, "X_units is 3; give a list"),
        ({"y_units": "m**"}, "y_units: an exponent must be a number"),
        ({"y_units": "m" * 300}, "at most 200 characters"),
    ],
)
def test_units_that_cannot_be_read_get_a_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        small(**options).fit(X, FALL)


# ---- outer form ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outer", "y", "wrong"),
    [
        ("f(way) + g(time)", X.way**2 + np.sin(X.time), "way*time"),
        ("f(way, angle)*g(time)", (X.way + np.cos(X.angle)) * np.sqrt(X.time), "way + time"),
    ],
)
def test_every_answer_has_the_outer_form(outer, y, wrong):
    noisy = y + 0.01 * RNG.standard_normal(80)
    model = small(strategy=LocalSearch(candidates=20), outer=outer).fit(X, noisy)
    form = Outer.read(outer, model.columns_)
    assert all(form.admits(prefix) for prefix, _ in model._formulas)
    assert model.score(X, y) > 0.9998
    assert not form.admits(
        parse(wrong.replace("way", "x1").replace("time", f"x{model.columns_.index('time') + 1}"))[0]
    )


def test_what_is_known_stands_around_every_answer():
    y = np.exp(X.angle * np.sin(X.way)) / X.time
    model = small(outer="exp(f(way, angle))/time").fit(X, y)
    assert model.columns_ == ["way", "angle", "time"] and model.score(X, y) > 1 - 1e-9
    assert all(p[0] == "div" and p[-1] == "x3" and p.count("x3") == 1 for p, _ in model._formulas)
    assert model.predict(X.head(3)) == pytest.approx(y.head(3))
    assert (
        small(outer="exp(f(way))/time").fit(X, X.way / X.time).formula_ == "way/time"
    )  # not exp(log(way))/time
    again = NSRegressor.from_json(model.to_json())
    assert again.outer == model.outer and again.predict(X) == pytest.approx(model.predict(X))
    assert json.loads(model.to_json()) and clone(model).outer == model.outer


def test_errors_of_y_are_those_of_y_also_behind_a_known_function():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 4, (300, 1))
    y = np.exp(2 - 0.9 * x[:, 0]) + 0.02 * rng.standard_normal(300)
    model = small(outer="exp(f(x1))").fit(x, y)
    assert "*exp(" in model.formula_ and model.score(x, np.exp(2 - 0.9 * x[:, 0])) > 0.9999
    weighted = small(outer="exp(f(x1))").fit(x, y, y_error=0.01 + 0.1 * x[:, 0])
    assert weighted.score(x, np.exp(2 - 0.9 * x[:, 0])) > 0.9999


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outer": "f(wya)"}, "no column 'wya' .in outer.. Did you mean 'way'"),
        ({"outer": "way"}, "has no unknown function"),
        ({"outer": ["f(way)"]}, "is no text"),
        ({"outer": "exp(f(way))", "must_use": ["angle"]}, "must_use: the column 'angle' is not in outer"),
        (
            {"outer": "f(way)", "columns": ["angle"]},
            "columns: the column 'way' is in outer, but not one of columns",
        ),
        ({"outer": "exp(f(way))", "start": ["a*way"]}, "start: with a known function in outer"),
        ({"outer": "exp(f(way))"}, "no y of the form 'exp"),
    ],
)
def test_outer_forms_that_cannot_be_get_a_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        small(**options).fit(X, -X.way)


def test_a_report_names_the_units_of_constants_and_the_options():
    model = small(
        strategy=Knows("add x1 mul C pow2 x2"), X_units=UNITS, y_units="m", outer="f(way) + g(time)"
    )
    model.fit(X, FALL + 0.01 * RNG.standard_normal(80))
    page = model.report(X, FALL, n=0)._repr_html_()
    for text in ("<th>unit</th>", "<td>m/s**2</td>", "way: m, time: s, angle: rad", "f(way) + g(time)"):
        assert text in page


def test_units_and_outer_form_go_together():
    y = 2.0 * X.way / X.time * np.cos(X.angle)
    options = {"X_units": UNITS, "y_units": "m/s", "outer": "f(way, time)*g(angle)"}
    model = small(**options).fit(X, y)
    assert model.score(X, y) > 1 - 1e-9 and model.constant_units_ == ["1"]
    known = small(**(options | {"outer": "cos(angle)*f(way, time)"})).fit(X, y)
    assert known.score(X, y) > 1 - 1e-9
