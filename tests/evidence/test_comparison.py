"""The rows of the comparison: where they come from, and where a strategy stands when a budget is spent."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nsr.evidence import charts, comparison
from nsr.evidence.comparison import gathered
from nsr.evidence.statistics import Interval, p_value_of

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


def lines(
    strategy: str, beam_size: int, accurate: np.ndarray, network: int | None = None, **columns
) -> pd.DataFrame:
    """A row of a table: problem i has the truth sin x1, nested i times."""
    n = len(accurate)
    made = pd.DataFrame(
        {
            "strategy": strategy,
            "beam_size": beam_size,
            "test_set": "not_included",
            "seed": 0,
            "problem": [str(i) for i in range(n)],
            "truth": ["sin " * i + "x1" for i in range(n)],
            "answer_length": 3,
            "accurate": accurate,
            "novel": False,
            **columns,
        }
    )
    return made if network is None else made.assign(network=network)


def test_a_share_draws_networks_where_there_are_several():
    flags = np.random.default_rng(0).random((2, 40)) < [[0.2], [0.8]]
    one, two = (lines("beam", 5, part, i) for i, part in enumerate(flags))
    both = comparison.share_of(pd.concat([one, two]), "accurate")
    alone = comparison.share_of(one, "accurate")
    assert both.value == flags.mean() and both.high - both.low > 0.4 > alone.high - alone.low
    assert comparison.percent_of(one[:0], "accurate") == "none"
    assert charts.share(one.accurate, one) == charts.share(one.accurate)  # one network: Wilson's
    assert charts.share(flags.ravel(), pd.concat([one, two])).high == pytest.approx(100 * both.high)
    assert charts.by_network(pd.concat([one, two]))[1].tolist() == (100 * flags.mean(1)).tolist()
    assert charts.by_network(one).shape == (2, 0)
    found = comparison.spread_of(pd.concat([one, two]), "accurate")
    assert found.networks == 2 and found.share > 0.8


def test_which_novel_answers_are_no_discoveries():
    answers = ["x1", "mul C C", "mul x1 x2", "sin x1", "add x1 x2", None]
    rows = lines("tpsr", 1, np.zeros(6, dtype=bool)).assign(
        answer=answers,
        novel=[True, True, True, True, False, False],
        novel_family=[False, False, True, False, False, False],
    )
    found = comparison.novelty_line(rows)
    assert found.pop("novel").startswith("67 %")
    assert found == {"new family": "16.7 %", "degenerate": "33.3 %", "outside the language": "16.7 %"}


def test_a_lead_at_equal_cost():
    """Accurate on every second problem: a beam of 4 of 40 problems, one of 16 on all; by hand, at 8 candidates a
    beam has three quarters. A dearer search is stopped, if its trace tells."""
    half, full = np.arange(40) % 2 == 0, np.ones(40, dtype=bool)
    beams = pd.concat(
        [lines("beam", b, good, candidates=b, evaluations=10 * b) for b, good in ((4, half), (16, full))]
    )
    none = lines("gvs", 5, ~full, candidates=8, evaluations=80, trace="1/1/0.1/0/0")
    assert comparison.lead_over_beams(none, beams).value == pytest.approx(-0.75)
    assert comparison.lead_over_beams(none, beams, "evaluations").value == pytest.approx(-0.75)
    dear = lines("gvs", 5, full, candidates=99, evaluations=990, trace="1/1/0.1/0/0 20/1/0.2/7/1")
    assert comparison.lead_over_beams(dear, beams).value == pytest.approx(-1)  # at 16 it had found nothing
    for unknown in ("evaluations", "seconds"):  # no trace of the first, no column of the second
        assert np.isnan(comparison.lead_over_beams(dear, beams, unknown).value)
    several = pd.concat([none.assign(network=0, evaluations=np.nan), none.assign(network=1)])
    both = pd.concat([beams.assign(network=i) for i in (0, 1)])
    assert comparison.lead_over_beams(several, both, "evaluations").value == pytest.approx(-0.75)


def test_a_family_of_comparisons_is_judged_together():
    """By hand: 0.02 is certain if one more is to be judged after it, and not if there are two."""
    z = stats.norm.ppf([1 - 0.02 / 2, 1 - 1e-6, 0.5])
    leads = {i: Interval(x, x - 1.96, x + 1.96) for i, x in enumerate(z)} | {
        "?": Interval(np.nan, np.nan, np.nan)
    }
    assert p_value_of(leads[0]) == pytest.approx(0.02, rel=1e-3)
    found = comparison.judged_together(leads)
    assert found.verdict.tolist() == ["holds", "holds", "undecided", "not measured yet"]
    assert found.loc[0, "p, Holm"] == "0.040" and found.loc["?", "points"] == "–"
    assert comparison.judged_together({**leads, 9: leads[0]}).verdict.tolist()[0] == "undecided"
    assert comparison.judged_together({0: Interval(-z[1], -z[1] - 1.96, -z[1] + 1.96)}).verdict.tolist() == [
        "fails"
    ]
