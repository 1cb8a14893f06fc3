"""The names that other people rely on are what they say, whatever was imported before them."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT

PROGRAM = """
import importlib, inspect, pkgutil

public = {
    "nsr": "parse to_infix to_latex to_sympy strip canonical subtrees evaluate fit_constants r2_score sample_templates "
           "Problem load solve solve_all NSRegressor",
    "nsr.search.strategies": "BeamSearch TPSR GVS NSRwH Families LocalSearch",
    "nsr.theory": "reduce_formula",
}


def import_all():
    import nsr
    for module in pkgutil.walk_packages(nsr.__path__, "nsr."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def wrong_names():
    wrong = []
    for package, names in public.items():
        for name in names.split():
            scope = {}
            exec(f"from {package} import {name}", scope)
            right = inspect.isfunction if name.islower() else inspect.isclass
            if not right(scope[name]) or scope[name].__name__ != name:
                wrong.append(f"{package}.{name}")
    return wrong


"""


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "order",
    ["import_all(); print(wrong_names())", "print(wrong_names()); import_all(); print(wrong_names())"],
    ids=["modules first", "names first"],
)
def test_public_names_are_what_they_say_in_any_order(order):
    assert set(run(PROGRAM + order).splitlines()) == {"[]"}


def test_one_line_gives_both_functions():
    assert run("from nsr import strip, canonical; print(canonical(strip(('add', 'x1', 'C'))))")[0] == "("


def test_a_formula_is_read_without_torch():
    program = "import sys, nsr; nsr.parse('x1 + 1'); nsr.canonical(('sin', 'x1')); print([name for name in ('torch', 'sklearn') if name in sys.modules])"
    assert run(program) == "[]"
