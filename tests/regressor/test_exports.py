"""Exports: every one of them has the values of `predict`, and what is no formula is not read."""

import json
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
import torch
from tiny_full import tiny_full

from nsr import NSRegressor, evaluate
from nsr.data.templates import sample_templates
from nsr.formulas.constant_places import saturate
from nsr.formulas.expressions import FULL
from nsr.regressor import exports

RNG = np.random.default_rng(0)
X = RNG.uniform(0.2, 2.0, (40, 7))
COLUMNS = [5, 0, 3, 1, 6]  # what x1 … x5 stand for
FORMULAS = [saturate(t).family() for t in sample_templates(60, FULL, seed=3)] + [
    ("C",),
    ("neg", "inv", "sq", "cb", "x2"),
]
VALUED = [(prefix, tuple(RNG.uniform(0.3, 1.5, prefix.count("C")))) for prefix in FORMULAS]


def values(prefix, constants):
    return evaluate(prefix, np.ascontiguousarray(X[:, COLUMNS]), constants)


def close(found, expected):
    there = np.isfinite(expected) & (np.abs(expected) < 1e12)
    return (
        np.allclose(found[there], expected[there], rtol=1e-8, atol=1e-12)
        and not np.isfinite(found[np.isnan(expected)]).any()
    )


def test_arrays_and_tensors_have_the_values_of_the_formula():
    for prefix, constants in VALUED:
        expected = values(prefix, constants)
        assert close(exports.as_numpy(prefix, constants, COLUMNS)(X), expected), prefix
        module = exports.as_torch(prefix, constants, COLUMNS)
        assert close(module(torch.tensor(X)).detach().numpy(), expected), prefix
        assert len(list(module.parameters())) == len(constants)


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_c_has_the_values_of_the_formula(tmp_path):
    texts = [exports.as_c(*valued, COLUMNS, ["a", "b", "c", "d", "e"]) for valued in VALUED]
    functions = "\n".join(text.replace("formula(", f"formula{i}(") for i, text in enumerate(texts))
    calls = "\n".join(f'printf("%.17g\\n", formula{i}(x + 7 * p));' for i in range(len(texts)))
    data = ", ".join(map(repr, X.ravel().tolist()))
    program = f"#include <stdio.h>\n{functions}\nint main(void) {{ static double x[] = {{{data}}};\nfor (int p = 0; p < 40; p++) {{ {calls} }} return 0; }}\n"
    (tmp_path / "all.c").write_text(program)
    subprocess.run(
        ["cc", "-O0", "-Wall", "-Werror", "-o", tmp_path / "all", tmp_path / "all.c", "-lm"], check=True
    )
    lines = subprocess.run([tmp_path / "all"], check=True, capture_output=True, text=True).stdout.split()
    found = np.array(lines, dtype=float).reshape(40, len(texts))
    for column, (prefix, constants) in zip(found.T, VALUED):
        assert close(column, values(prefix, constants)), prefix


def test_a_column_name_cannot_leave_the_comment_of_the_c_code():
    text = exports.as_c(("sin", "x1"), (), [0], ["a*/ int evil(void); /*\n#include <x>"])
    assert text.count("*/") == 1 and text.count("\n") == 6


@pytest.fixture(scope="module")
def model() -> NSRegressor:
    table = pd.DataFrame(X[:, :3], columns=["a b", "c", "d"])
    y = table["a b"] / table["c"] + 0.01 * RNG.standard_normal(40)
    return NSRegressor(
        str(tiny_full().folder),
        "beam",
        beam_size=2,
        n_bags=1,
        random_state=0,
        start=[],
        forbid=["tan"],
        must_use=["c"],
    ).fit(table, y)


def test_an_estimator_comes_back_from_json_as_it_was(model):
    table = pd.DataFrame(X[:, :3], columns=model.feature_names_in_)
    back = NSRegressor.from_json(model.to_json())
    pd.testing.assert_frame_equal(back.equations_, model.equations_)
    pd.testing.assert_frame_equal(back.pareto_front_, model.pareto_front_)
    assert (
        back.get_params() == model.get_params()
        and back.formula_ == model.formula_
        and back.latex() == model.latex()
    )
    for row in range(len(model.equations_)):
        np.testing.assert_array_equal(back.predict(table, row), model.predict(table, row))
        assert close(model.to_numpy(row)(table), model.predict(table, row))
        assert close(
            model.to_torch(row)(torch.tensor(table.to_numpy())).detach().numpy(), model.predict(table, row)
        )
    assert (
        back.half_widths_ == model.half_widths_
        and back.beyond_ == model.beyond_
        and back.nice_ == model.nice_
    )
    model.half_widths_ = [np.inf]  # as many constants as rows
    assert NSRegressor.from_json(model.to_json()).half_widths_[0] == np.inf
    with pytest.raises(ValueError, match="feature names"):
        back.predict(table.rename(columns={"c": "e"}))


@pytest.mark.parametrize(
    "tokens, values", [(["add", "x1"], []), (["__import__"], []), (["mul", "C", "x1"], [])]
)
def test_what_is_no_formula_is_not_read(model, tokens, values):
    about = json.loads(model.to_json())
    about["equations"][0] |= {"tokens": tokens, "values": values}
    with pytest.raises(ValueError):
        NSRegressor.from_json(json.dumps(about))
