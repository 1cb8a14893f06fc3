"""The rows of the comparison: where they come from, and where a strategy stands when a budget is spent."""

import numpy as np
import pandas as pd
import pytest

from nsr.evidence import charts
from nsr.evidence.comparison import gathered

pytestmark = pytest.mark.static


def test_the_rows_of_the_first_seeds_are_read():
    rows = gathered("laptop", n_seeds=1)
    assert set(rows.seed) == {0} and {"beam", "local", "local-random"} <= set(rows.strategy)


def test_a_row_that_is_no_strategy_is_refused():
    with pytest.raises(ValueError, match="beem"):
        gathered("laptop", "beem 5")


def test_a_search_is_stopped_and_a_beam_is_chosen():
    """A trace of a search becomes accurate at its third candidate, and novel at its fifth; of beams only whole
    ones count."""
    common = {"test_set": "not_included", "seed": 0, "problem": "p", "truth": "x1"}
    search = common | {
        "strategy": "gvs",
        "beam_size": 5,
        "candidates": 8,
        "trace": "1/9/0.1/0/0 3/20/0.2/7/0 5/30/0.3/7/1",
    }
    beams = [
        common | {"strategy": "beam", "beam_size": b, "candidates": b, "novel": False, "accurate": b > 2}
        for b in (2, 4)
    ]
    rows = pd.DataFrame([search, *beams])
    assert charts.standing(rows, "gvs", [2, 4, 6]).tolist() == [[0, 0], [0, 100], [100, 100]]
    expected = [[np.nan, np.nan], [0, 0], [0, 100]]
    assert np.array_equal(charts.standing(rows, "beam", [1, 3, 9]), expected, equal_nan=True)
