"""FastSRB's measure: what counts as the law, as its form, and as final; and a few answers without disguise."""

import pandas as pd
import pytest
from disguise_count import drawn, in_disguise

from nsr.data.fastsrb import Column, PublicLaw
from nsr.formulas.parsing import parse
from nsr.regressor.baselines import OURS
from nsr.regressor.recovery import Timed, has_form, is_final, is_law, published

COLUMNS = tuple(Column(name, 1.0, 5.0, "uni", "pos") for name in "ab")
LAW = PublicLaw("ohm", "2.5*x1/(1 + x2)", COLUMNS, ("2.5*x1/(x2 + 1)",))


@pytest.mark.parametrize(
    "answer, law, form",
    [
        ("x1/(0.4 + 0.4*x2)", True, True),
        ("2.52*x1/(1.003 + x2)", False, True),
        ("2.52*x1/(1.003 + x2) + 0.001", False, True),  # an offset that is 0 with clean values
        ("2.5*x1/(1.4 + x2**2)", False, False),
    ],
)
def test_the_law_and_its_form(answer, law, form):
    assert is_law(LAW, parse(answer)) == law and has_form(LAW, parse(answer)) == form


def test_a_line_is_final_if_more_seconds_would_not_change_it():
    line = {"program": OURS, "stopped": "", "why": "", "processor": 0.5, "budget": 1.0, "recovered": False}
    assert is_final(line) and not is_final(line | {"processor": 1.2})
    assert not is_final(line | {"stopped": "budget of 1 seconds spent"})
    assert is_final(line | {"program": "pyoperon", "recovered": True}) and not is_final(
        line | {"program": "pyoperon"}
    )


def test_published_numbers_are_shares():
    for part in published().values():
        assert pd.DataFrame(part).stack().dropna().between(0, 100).all()


@pytest.mark.parametrize("number", range(4))
def test_plain_tables_get_plain_constants(number):
    _, X, y = drawn(number)
    assert not in_disguise(Timed(max_time=2, random_state=0).fit(X, y), X, y)
