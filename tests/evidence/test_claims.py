"""The claims: malformed ones get a sentence, numbers are what one counts by hand, and every verdict can come
out either way."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nsr.data.problems import Problem
from nsr.evidence import anytime, claims, comparison, paper, reference_tables
from nsr.evidence.claims import ClaimError, judge, measure_check, paper_number, parse_terms, read_claims
from nsr.evidence.comparison import at_equal_cost, flagged, layout, read_rows, row_of
from nsr.evidence.novelty import TrainingSet
from nsr.evidence.reference_tables import Job, results_path
from nsr.search.oracle import Oracle
from nsr.search.result import Result
from nsr.search.strategies import names

GOOD = "- {id: a, says: b, where: c, checks: [{number: novel(beam 5), above: 1}]}"


def formula(i: int) -> str:
    """The i-th of many formulas, all with templates of their own."""
    return " ".join("sin" if bit == "1" else "exp" for bit in f"{i + 2:b}") + " x1"


def lines(
    strategy: str,
    beam_size: int,
    novel,
    accurate,
    test_set: str = "not_included",
    first: int = 0,
    candidates: int = 5,
) -> pd.DataFrame:
    """A row of the table, flag by flag."""
    n = len(novel)
    return flagged(
        pd.DataFrame(
            {
                "strategy": strategy,
                "beam_size": beam_size,
                "test_set": test_set,
                "seed": 0,
                "problem": [f"p{i + first}" for i in range(n)],
                "truth": [formula(i + first) for i in range(n)],
                "answer": "x1",
                "answer_length": 1,
                "novel": list(map(bool, novel)),
                "r2": np.where(accurate, 0.999, 0.5),
                "candidates": candidates,
                "run": f"{strategy}{beam_size}{test_set}",
            }
        )
    )


def check(number: str, **bound) -> claims.Check:
    return claims._check({"number": number} | bound, "A claim")


def claim(*checks: claims.Check) -> list[claims.Claim]:
    return [claims.Claim("one", "says", "where", checks)]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# ---- reading ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[", ["plain YAML"]),
        ("!!python/object/apply:os.system ['true']", ["plain YAML"]),
        ("a: 1", ["list of claims"]),
        ("", ["list of claims"]),
        ("- 3", ["Claim number 1", "id, says and where"]),
        ("- {id: a, says: b, where: 3, checks: []}", ["'a'", "a text for each"]),
        ("- {id: a, says: b, where: c, checks: []}", ["'a'", "needs a list of checks"]),
        (GOOD.replace("says", "sayz: x, says"), ["'a'", "sayz", "checks, id, says, where"]),
        (GOOD.replace("above", "abov"), ["'a'", "abov", "above, below, between"]),
        (GOOD.replace("above: 1", "above: 1, below: 2"), ["one of above, below, between"]),
        (GOOD.replace(", above: 1", ""), ["one of above, below, between"]),
        (GOOD.replace("above: 1", "above: much"), ["'much'", "wants a number"]),
        (GOOD.replace("above: 1", "above: true"), ["wants a number"]),
        (GOOD.replace("above: 1", "between: [2, 1]"), ["two numbers in order"]),
        (GOOD.replace("number: novel(beam 5)", "correlation: novel"), ["novel with accurate"]),
        (
            GOOD.replace("number:", "correlation: novel with accurate, number:"),
            ["either a number or a correlation"],
        ),
        (GOOD.replace("novel(", "new("), ["nothing is called 'new'", "novel, accurate"]),
        (GOOD.replace("beam 5", "ray 5"), ["'ray' is no strategy", "gvs+tpsr"]),
        (GOOD.replace("beam 5", "beam"), ["'beam' needs a beam size"]),
        (GOOD.replace("beam 5", "beam five"), ["cannot read"]),
        (
            GOOD.replace("novel(beam 5)", "'novel(beam 5, somewhere)'"),
            ["'somewhere'", "not_included, baseline"],
        ),
        (GOOD.replace("novel(beam 5)", "novel(beam 5) novel(beam 1)"), ["cannot read 'novel(beam 1)'"]),
        (GOOD.replace("novel(beam 5)", "__import__('os')"), ["cannot read"]),
        (GOOD.replace("novel(beam 5)", "''"), ["without a number"]),
        (f"{GOOD}\n{GOOD}", ["Two claims", "'a'"]),
    ],
)
def test_a_malformed_claim_gets_a_sentence(tmp_path: Path, text: str, expected):
    path = tmp_path / "claims.yaml"
    path.write_text(text)
    with pytest.raises(ClaimError) as error:
        read_claims(path)
    assert all(word in str(error.value) for word in expected), error.value
    assert len(str(error.value)) < 400 and "\n" not in str(error.value)


def test_the_book_has_the_claims_it_promised_and_the_papers_table_agrees_where_it_has_numbers():
    found = {claim.id: claim for claim in read_claims()}
    assert {
        "reproduction_dominates",
        "gap_to_baseline",
        "beams_raise_accuracy_more_than_novelty",
        "feedback_raises_novelty",
        "novel_tpsr_answers_are_rarely_accurate",
        "gvs_raises_both",
        "both_together_is_highest",
        "only_positives_and_all_raise_novelty",
        "only_large_beams_help_on_baseline",
        "weakly_correlated",
        "beam_is_most_accurate_at_equal_candidates",
    } <= set(found)
    for claim in found.values():
        for one in claim.checks:
            value = paper_number(one)
            holds = math.isnan(value) or one.low < value < one.high
            # the paper's own slip
            assert holds != (claim.id == "tpsr_lowers_accuracy_at_equal_beam"), (claim.id, one.text, value)


def test_terms_are_read_as_they_are_written():
    terms = parse_terms(
        "accurate(gvs+tpsr 1, baseline) - 2.5 novel(nsrwh-all 5) + accurate_if_novel(beam @ tpsr 3)"
    )
    assert [(t.factor, t.measure, t.strategy, t.beam_size, t.test_set, t.equal_cost) for t in terms] == [
        (1.0, "accurate", "gvs+tpsr", 1, "baseline", False),
        (-2.5, "novel", "nsrwh-all", 5, "not_included", False),
        (1.0, "accurate_if_novel", "tpsr", 3, "not_included", True),
    ]


# ---- numbers ------------------------------------------------------------------------------------------------------------------


def test_numbers_are_those_counted_by_hand(rng):
    flags = rng.random((4, 60)) < 0.4
    rows = pd.concat([lines("beam", 5, flags[0], flags[1]), lines("tpsr", 1, flags[2], flags[3])])
    both = sum(n and a for n, a in zip(flags[2], flags[3]))
    by_hand = {
        "novel(beam 5)": sum(flags[0]) / 60,
        "copied(tpsr 1)": 1 - sum(flags[2]) / 60,
        "novel_accurate(tpsr 1)": both / 60,
        "accurate_if_novel(tpsr 1)": both / sum(flags[2]),
        "accurate(tpsr 1) - 2 novel(beam 5)": (sum(flags[3]) - 2 * sum(flags[0])) / 60,
    }
    for text, value in by_hand.items():
        estimate, n, _ = measure_check(check(text, above=0), rows)
        assert estimate.value == pytest.approx(100 * value) and n == 60
        assert estimate.low < estimate.value < estimate.high


def test_a_paired_interval_is_scipys(rng):
    """The mean difference by scipy's bootstrap, and McNemar's p; the same shares of other problems are wider."""
    a = rng.random(300) < 0.5
    b = np.where(rng.random(300) < 0.7, a, rng.random(300) < 0.35)
    number = check("novel(beam 5) - novel(tpsr 1)", above=0)
    estimate, _, p_value = measure_check(number, pd.concat([lines("beam", 5, a, a), lines("tpsr", 1, b, b)]))
    found = stats.bootstrap(
        (a * 1.0 - b,), np.mean, n_resamples=9999, method="percentile", rng=np.random.default_rng(1)
    )
    assert estimate[1:] == pytest.approx([100 * end for end in found.confidence_interval], abs=0.8)
    assert p_value == pytest.approx(stats.binomtest(int(sum(a & ~b)), int(sum(a ^ b))).pvalue)
    apart = pd.concat([lines("beam", 5, a, a), lines("tpsr", 1, rng.permutation(b), b)])
    wide, _, _ = measure_check(number, apart)
    assert wide.value == pytest.approx(estimate.value)
    assert wide.high - wide.low > 1.2 * (estimate.high - estimate.low)


def test_intervals_cover_the_truth_as_often_as_they_say(rng):
    """A difference of 10 points between two strategies, measured 80 times."""
    inside = 0
    for _ in range(80):
        difficulty = rng.random(80)
        a, b = difficulty < 0.5, difficulty + rng.normal(0, 0.05, 80) < 0.4
        rows = pd.concat([lines("beam", 5, a, a), lines("tpsr", 1, b, b)])
        estimate, _, _ = measure_check(check("novel(beam 5) - novel(tpsr 1)", above=0), rows)
        inside += estimate.low <= 10 <= estimate.high
    assert inside >= 70  # 95 % of 80 are 76


def test_problems_of_one_template_are_one_problem(rng):
    """Each template five times, always with the same outcome: as wide as one problem of each."""
    a, b = rng.random((2, 40)) < 0.5
    once = pd.concat([lines("beam", 5, a, a), lines("tpsr", 1, b, b)])
    often = pd.concat([once.assign(problem=once.problem + f" {k}") for k in range(5)])
    number = check("novel(beam 5) - novel(tpsr 1)", above=0)
    assert measure_check(number, often)[0] == pytest.approx(measure_check(number, once)[0])
    assert measure_check(number, often)[1] == 200
    disguised = often.assign(truth=[f"{t} x".replace(" x1 x", " mul C x1") for t in often.truth])
    assert measure_check(number, disguised)[0] == pytest.approx(measure_check(number, once)[0])
    assert comparison.paired(*(part for _, part in often.groupby("strategy")), "novel")[0] == pytest.approx(
        [x / 100 for x in measure_check(number, once)[0]]
    )


def test_a_contrast_is_the_difference_of_two_shares_of_one_table():
    rows = pd.DataFrame(
        {
            "truth": [f"{f} x{n}" for f in ("sin", "cos", "exp", "tan") for n in range(1, 6)] * 4,
            "known": [True, True, False, False] * 20,
            "accurate": [True, True, False, True] * 20,
        }
    )
    whole = comparison.contrast(rows, "known", "accurate")
    assert whole.value == pytest.approx(0.5) and 0 <= whole.low < 0.5 < whole.high <= 1
    assert comparison.contrast(rows.assign(network=0), "known", "accurate") == whole


def test_different_sets_are_drawn_independently(rng):
    a, b = rng.random(200) < 0.7, rng.random(150) < 0.4
    rows = pd.concat([lines("beam", 5, a, a, "baseline"), lines("beam", 5, b, b)])
    estimate, n, p_value = measure_check(
        check("accurate(beam 5, baseline) - accurate(beam 5)", above=0), rows
    )
    error = math.sqrt(a.var() / 200 + b.var() / 150)
    assert (estimate.high - estimate.low) / 100 == pytest.approx(2 * 1.96 * error, rel=0.15)
    assert n == 150 and math.isnan(p_value)


def test_only_common_problems_count(rng):
    a, b = rng.random(50) < 0.5, rng.random(50) < 0.5
    rows = pd.concat([lines("beam", 5, a, a), lines("tpsr", 1, b, b, first=30)])
    estimate, n, _ = measure_check(check("novel(tpsr 1) - novel(beam 5)", above=0), rows)
    assert n == 20 and estimate.value == pytest.approx(100 * (b[:20].mean() - a[30:].mean()))
    # the same names, other problems
    elsewhere = rows.assign(truth=np.where(rows.strategy == "beam", "other", rows.truth))
    assert measure_check(check("novel(tpsr 1) - novel(beam 5)", above=0), elsewhere)[1] == 0


def test_beam_search_at_equal_cost_lies_between_its_sizes(rng):
    flags = rng.random((3, 40)) < 0.5
    rows = pd.concat(
        [
            lines("beam", 1, flags[0], flags[0], candidates=1),
            lines("beam", 100, flags[1], flags[1], candidates=100),
            lines("gvs", 5, flags[2], flags[2], candidates=10),
        ]
    )
    equal = at_equal_cost(row_of(rows, "beam"), 10)  # half-way in the logarithm
    assert np.allclose(equal.novel, (flags[0].astype(float) + flags[1]) / 2)
    estimate, _, _ = measure_check(check("novel(gvs 5) - novel(beam @ gvs 5)", above=0), rows)
    assert estimate.value == pytest.approx(100 * (flags[2].mean() - (flags[0].mean() + flags[1].mean()) / 2))
    for spent, which in ((0.1, 0), (1e6, 1)):
        assert np.allclose(at_equal_cost(row_of(rows, "beam"), spent).novel, flags[which])


def test_the_correlation_over_rows_is_pearsons(rng):
    their = list(paper.table()[["strategy", "beam_size"]].itertuples(index=False, name=None))
    shares = rng.random((len(their), 2))
    parts = [lines(*name, rng.random(200) < p, rng.random(200) < q) for name, (p, q) in zip(their, shares)]
    rows = pd.concat(parts)
    one = claims._check({"correlation": "novel with accurate", "between": [-0.5, 0.5]}, "A claim")
    estimate, n, p_value = measure_check(one, rows)
    means = np.array([[part.novel.mean(), part.accurate.mean()] for part in parts])
    expected = stats.pearsonr(*means.T)
    assert (
        n == 200
        and estimate.value == pytest.approx(expected.statistic)
        and p_value == pytest.approx(expected.pvalue)
    )
    assert estimate.low < estimate.value < estimate.high
    assert measure_check(one, pd.concat(parts[1:]))[1] == 0  # a row is missing


def test_a_correlation_is_judged_over_strategies(rng):
    """However well the problems tell the shares, seventeen strategies are seventeen points: Fisher's z has
    standard error 1/√14."""
    their = list(paper.table()[["strategy", "beam_size"]].itertuples(index=False, name=None))
    shares = rng.random((len(their), 2))
    one = claims._check({"correlation": "novel with accurate", "between": [-0.5, 0.5]}, "A claim")
    found = {}
    for n in (100, 1000):
        rows = pd.concat(
            lines(*name, np.arange(n) < p * n, np.arange(n) < q * n) for name, (p, q) in zip(their, shares)
        )
        found[n] = measure_check(one, rows)[0]
        z, half = math.atanh(found[n].value), stats.norm.ppf(0.975) / math.sqrt(len(their) - 3)
        assert found[n][1:] == pytest.approx((math.tanh(z - half), math.tanh(z + half)))
    assert found[1000].high - found[1000].low > 0.95 * (found[100].high - found[100].low)


# ---- verdicts -----------------------------------------------------------------------------------------------------------------


def test_every_verdict_can_happen(rng):
    yes, no = np.ones(100, bool), np.zeros(100, bool)
    coin = np.arange(100) % 2 == 0
    rows = pd.concat([lines("beam", 5, no, coin), lines("tpsr", 1, yes, ~coin)])
    for one, expected in (
        (check("novel(tpsr 1) - novel(beam 5)", above=10), "holds"),
        (check("novel(tpsr 1) - novel(beam 5)", below=10), "fails"),
        (check("accurate(tpsr 1) - accurate(beam 5)", above=0), "undecided"),
        (check("accurate(beam 5)", between=[30, 70]), "holds"),
        (check("accurate(beam 5)", between=[80, 90]), "fails"),
        (check("accurate(gvs 5)", above=0), "not measured yet"),
        (check("accurate_if_novel(beam 5)", below=10), "undecided"),
    ):  # nothing was novel: nothing is known
        (line,) = judge(claim(one), rows).to_dict("records")
        assert line["verdict"] == line["claim_verdict"] == expected, one


def test_three_problems_settle_nothing(rng):
    rows = pd.concat([lines("beam", 5, [False] * 3, [False] * 3), lines("tpsr", 1, [True] * 3, [True] * 3)])
    table = judge(claim(check("novel(tpsr 1) - novel(beam 5)", above=0)), rows)
    assert table.ours[0] == 100 and table.verdict[0] == "undecided"


def test_a_chapters_small_table_says_what_was_judged(rng):
    rows = lines("tpsr", 1, rng.random(300) < 0.4, rng.random(300) < 0.5)
    key = "novel_tpsr_answers_are_rarely_accurate", "accurate_if_novel(tpsr 1)"
    table = claims.verdicts_on({key: "in words"}, rows, rows[:0])
    judged = judge([one for one in read_claims() if one.id == key[0]], rows).set_index("check").loc[key[1]]
    assert table.index.tolist() == ["in words"]
    assert (
        table["ours"].item().startswith(f"{judged.ours:.1f} (") and table["verdict"].item() == judged.verdict
    )
    assert table["as published"].item() == "–" and table["its table"].item() == f"{judged.paper:.1f}"


def test_a_claim_is_as_good_as_its_weakest_check(rng):
    yes, no = np.ones(100, bool), np.zeros(100, bool)
    rows = pd.concat([lines("beam", 5, no, no), lines("tpsr", 1, yes, no)])
    good, bad, absent = (
        check(text, above=10)
        for text in ("novel(tpsr 1) - novel(beam 5)", "accurate(tpsr 1)", "novel(gvs 1)")
    )
    for checks, expected in (
        ((good,), "holds"),
        ((good, absent), "not measured yet"),
        ((good, bad, absent), "fails"),
    ):
        table = judge(claim(*checks), rows)
        assert set(table.claim_verdict) == {expected} and len(table) == len(checks)


# ---- the rows, their names, and traces ----------------------------------------------------------------------------------------


def test_rows_come_from_the_present_networks_and_each_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reference_tables, "OWN", tmp_path / "own")
    monkeypatch.setattr(reference_tables, "REFERENCE", tmp_path / "reference")
    with pytest.raises(FileNotFoundError, match="replicate"):
        read_rows("laptop", ("beam", "tpsr"))

    def written(*parts: tuple[str, str, pd.DataFrame]) -> None:
        """A table whose runs were made with networks of these names and digests."""
        jobs = [
            Job(name, {"weights": name, "weights_digest": digest, "k": k}, lambda made=made: made)
            for k, (name, digest, made) in enumerate(parts)
        ]
        reference_tables.fill(jobs, results_path("beam", write=True))

    first = lines("beam", 5, [True, False], [True, True]).assign(stopped="", answer="x1", answer_infix="x1")
    written(("laptop/a", "1", first), ("laptop/a", "1", first), ("laptop/a@1", "2", first))
    rows, sources = read_rows("laptop", ("beam", "tpsr"))
    assert sorted(rows.network) == [0, 0, 1, 1] and sources.loc["tpsr", "made"] == "not measured yet"
    monkeypatch.setattr(comparison, "places_of", lambda name: [name])
    monkeypatch.setattr(comparison, "load", lambda name: name)
    monkeypatch.setattr(comparison, "weights_digest", lambda name: {"laptop/a": "1"}.get(name, "another"))
    rows, sources = read_rows("laptop", ("beam", "tpsr"))
    assert len(rows) == 2 and "network" not in rows and sources.loc["beam", "lines"] == 4


def test_the_layout_is_the_papers_and_then_ours():
    rows = pd.concat(
        [
            lines("local", 0, [True], [True]),
            lines("beam", 5, [True], [True]),
            lines("beam", 3, [True], [True]),
        ]
    )
    names_ = layout(rows)
    assert names_[:17] == list(
        paper.table()[["strategy", "beam_size"]].itertuples(index=False, name=None)
    ) and names_[17:] == [("local", 0)]


def test_names_make_the_strategies_that_carry_them():
    for name in names.MAKERS:
        try:
            strategy = names.by_name(name, 3)
        except ValueError as error:
            assert "has no" in str(error)  # still to be written
            continue
        assert strategy.name == name and strategy.beam_size == 3
        assert names.kind_of(name) in ("nesymres", "gvs", "nsrwh")
    with pytest.raises(ValueError, match="no strategy 'ray'. There are: beam"):
        names.by_name("ray")


def test_a_trace_tells_what_stopping_earlier_would_have_answered():
    rng = np.random.default_rng(0)
    x, fresh = rng.uniform(0.5, 3, (40, 1)), rng.uniform(0.5, 3, (40, 1))
    problem = Problem(x, np.exp(x[:, 0]), truth=("exp", "x1"), X_fresh=fresh, y_fresh=np.exp(fresh[:, 0]))
    oracle, training = Oracle(problem), TrainingSet([("x1",), ("exp", "x1")])
    prefixes = [("x1",), ("sin", "x1"), ("add", "C", "mul", "C", "x1"), ("tan", "x1"), ("exp", "x1")]
    for prefix in prefixes:
        oracle.n_tokens += 7
        oracle.verify([prefix])
    result = Result.of(oracle, "by hand", None, 0, None)
    text = anytime.trace_of(result, training)
    for what in ("novel", "accurate"):
        found = anytime.share_at([text, "", math.nan], range(7), "candidates", what)
        for n, share in enumerate(found):
            best = result.best_at(candidates=n)
            flag = best is not None and (
                training.novelty(best.prefix)["novel"] if what == "novel" else best.r2 > 0.99
            )
            assert share == pytest.approx(flag / 3)
    assert anytime.share_at([text], [34, 35], "tokens").tolist() == [0, 1]
    searches = pd.DataFrame({"trace": [text] * 6})
    stopped = anytime.stopped_at(searches, range(6))  # a limit of its own for every search
    for what in ("novel", "accurate"):
        assert stopped[what].tolist() == (anytime.share_at([text], range(6), what=what) == 1).tolist()
    assert anytime.read_trace(math.nan).shape == (0, 5)


def test_the_papers_rows_are_complete():
    table = paper.table()
    assert len(table) == 17 and table.bold.sum() == 9
    assert ((table[list(paper.CELLS)].sum(axis=1) - 100).abs() < 0.04).all()
    assert paper.rows("beam")[5].novel == pytest.approx(2.90) and paper.rows("beam")[
        5
    ].accurate == pytest.approx(18.26)
    assert paper.denominators(paper.Cells(25.0, 25.0, 25.0, 25.0))[0] == 140 and not paper.denominators(
        paper.Cells(25.0, 25.0, 25.0, 25.1)
    )
