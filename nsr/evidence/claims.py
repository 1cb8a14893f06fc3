"""The paper's statements as data, and what becomes of each here: holds, fails, or undecided at this scale.

A claim (params/claims.yaml) is a sentence of the paper and one or more checks; it holds if all of them hold.
A check compares a number with a bound, in %:

    number: accurate(beam 150) - accurate(beam 5)      measure(strategy beam_size), or measure(strategy beam_size, test_set)
    above: 0                                            or  below: 10,  or  between: [-5, 5]

`beam @ gvs 5` is beam search at as many candidates as `gvs 5` generates. The number of a check is a
combination Σ c·share over problems; its interval (nsr.evidence.statistics) draws templates with their
problems, the same ones for every row, so that their difficulty cancels. A correlation is a statement about
strategies, so its interval is over strategies.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nsr.book.foreign_files import Kind, read_yaml
from nsr.book.result_tables import read_table_and_record, write_table
from nsr.book.run_records import (
    OWN,
    REFERENCE,
    ROOT,
    code_digest,
    digest,
    new_record,
    reference_only,
    short,
    timed,
)
from nsr.book.spelling import shown
from nsr.data.test_sets import TEST_SETS
from nsr.evidence import paper
from nsr.evidence.comparison import at_equal_cost, levels_of, line_of, read_rows, row_of
from nsr.evidence.statistics import (
    UNKNOWN,
    Interval,
    Sample,
    combined,
    mcnemar,
    pearson,
    pearson_over_problems,
)
from nsr.evidence.verdicts import MISSING, together, verdict_on_claim
from nsr.search.strategies.names import MAKERS

if TYPE_CHECKING:
    import pandas as pd

BOUNDS = ("above", "below", "between")
KEYS = {"claim": {"id", "says", "where", "checks"}, "check": {"number", "correlation", *BOUNDS}}
THEIRS: dict[str, Callable[[paper.Cells], float]] = {  # measure → its value in a row of the paper's table
    "novel": lambda row: row.novel,
    "accurate": lambda row: row.accurate,
    "copied": lambda row: 100 - row.novel,
    "novel_accurate": lambda row: row.novel_accurate,
    "accurate_if_novel": lambda row: row.novel_that_are_accurate,
}
THEIR_ROWS = frozenset(paper.table()["strategy"])
MEASURES = (*THEIRS, "novel_seen", "novel_functional", "novel_family")
GVS_ITERATIONS = 30  # the paper's candidates of NSR-gvs: loops × beam size
TERM = re.compile(
    r"\s*(?P<sign>[+-]?)\s*(?P<factor>\d{1,9}(?:\.\d{1,9})?)?\s*(?P<measure>\w+)\(\s*(?P<equal>beam\s*@\s*)?"
    r"(?P<strategy>[a-z0-9][\w+-]*)(?:\s+(?P<size>\d{1,9}))?\s*(?:,\s*(?P<set>\w+)\s*)?\)"
)


class ClaimError(ValueError):
    """A claim that cannot be understood; the message says which, and what can be."""


CLAIMS = Kind("claims in plain YAML", ClaimError)


@dataclass(frozen=True)
class Term:
    """A factor times a share: of the answers of one row to one test set."""

    factor: float
    measure: str
    strategy: str
    beam_size: int = 0
    test_set: str = "not_included"
    equal_cost: bool = False  # beam search at the candidates of this row, instead of the row


@dataclass(frozen=True)
class Check:
    """A number, or the correlation of two measures over the paper's strategies, and the bounds it is claimed
    to lie between."""

    text: str
    terms: tuple[Term, ...]
    low: float
    high: float
    correlation: tuple[str, str] | None = None

    def verdict(self, estimate: Interval) -> str:
        return verdict_on_claim(estimate, self.low, self.high)

    @property
    def bound(self) -> str:
        """The bounds as people write them."""
        if math.isinf(self.high):
            return f"> {self.low:g}"
        return f"< {self.high:g}" if math.isinf(self.low) else f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Claim:
    id: str
    says: str
    where: str
    checks: tuple[Check, ...]


# ---------------------------------------------------------------------------------------------------------------- reading


def read_claims(path: Path | str = ROOT / "params" / "claims.yaml") -> list[Claim]:
    """The claims of a file, every key and every row of them checked."""
    path = Path(path)
    content = read_yaml(path, CLAIMS)
    if not isinstance(content, list) or not content:
        raise ClaimError(
            f"{short(path)} must be a list of claims, each with {', '.join(sorted(KEYS['claim']))}."
        )
    claims = [_claim(item, i) for i, item in enumerate(content, start=1)]
    if twice := {claim.id for claim in claims if [other.id for other in claims].count(claim.id) > 1}:
        raise ClaimError(f"Two claims are called {twice.pop()!r}.")
    return claims


def _claim(item: Any, number: int) -> Claim:
    name = (
        f"Claim {shown(item['id'])}"
        if isinstance(item, Mapping) and isinstance(item.get("id"), str)
        else f"Claim number {number}"
    )
    if not isinstance(item, Mapping) or not all(
        isinstance(item.get(key), str) and item[key].strip() for key in ("id", "says", "where")
    ):
        raise ClaimError(f"{name} needs a text for each of id, says and where.")
    if unknown := set(map(str, item)) - KEYS["claim"]:
        raise ClaimError(
            f"{name} has keys that mean nothing: {', '.join(sorted(unknown))}. A claim has: {', '.join(sorted(KEYS['claim']))}."
        )
    if not isinstance(item.get("checks"), list) or not item["checks"]:
        raise ClaimError(
            f"{name} needs a list of checks, like  - {{number: novel(tpsr 1) - novel(beam 5), above: 0}}."
        )
    return Claim(
        item["id"],
        " ".join(item["says"].split()),
        " ".join(item["where"].split()),
        tuple(_check(c, name) for c in item["checks"]),
    )


def _check(item: Any, name: str) -> Check:
    if not isinstance(item, Mapping) or (unknown := set(map(str, item)) - KEYS["check"]):
        known = ", ".join(sorted(KEYS["check"]))
        raise ClaimError(
            f"{name} has a check with keys that mean nothing: {', '.join(sorted(unknown)) if isinstance(item, Mapping) else shown(item)}. "
            f"A check has: {known}."
        )
    given = [key for key in BOUNDS if key in item]
    if len(given) != 1 or ("number" in item) == ("correlation" in item):
        raise ClaimError(
            f"{name}: a check has either a number or a correlation, and one of {', '.join(BOUNDS)}."
        )
    bound = item[given[0]]
    pair = (
        bound if given[0] == "between" else [bound, math.inf] if given[0] == "above" else [-math.inf, bound]
    )
    if (
        not isinstance(pair, list)
        or len(pair) != 2
        or not all(type(end) is float or type(end) is int and abs(end) < 10**9 for end in pair)
        or not pair[0] < pair[1]
    ):
        raise ClaimError(
            f"{name}: {given[0]} is {shown(bound)}; it wants {'two numbers in order' if given[0] == 'between' else 'a number'}."
        )
    if "correlation" in item:
        measures = tuple(str(item["correlation"]).replace("with", " ").split())
        if len(measures) != 2 or not set(measures) <= set(MEASURES):
            raise ClaimError(
                f"{name}: a correlation is like 'novel with accurate', not {shown(item['correlation'])}."
            )
        return Check(
            f"correlation of {measures[0]} with {measures[1]} over strategies",
            (),
            *map(float, pair),
            correlation=measures,
        )
    return Check(str(item["number"]), parse_terms(str(item["number"]), name), *map(float, pair))


def parse_terms(text: str, name: str = "A claim") -> tuple[Term, ...]:
    """The terms of a number.

    >>> parse_terms("accurate(beam 150) - 2 novel(beam @ gvs 5)")[1]
    Term(factor=-2.0, measure='novel', strategy='gvs', beam_size=5, test_set='not_included', equal_cost=True)
    """
    terms, place = [], 0
    while place < len(text.rstrip()):
        found = TERM.match(text, place)
        if not found or (terms and not found["sign"]):
            raise ClaimError(
                f"{name}: cannot read {text[place:].strip()[:40]!r}. A number is like 'novel(tpsr 1) - novel(beam 5, baseline)'."
            )
        if found["measure"] not in MEASURES:
            raise ClaimError(
                f"{name}: nothing is called {found['measure']!r}. There are: {', '.join(MEASURES)}."
            )
        if found["set"] and found["set"] not in TEST_SETS:
            raise ClaimError(
                f"{name}: there is no test set {found['set']!r}. There are: {', '.join(TEST_SETS)}."
            )
        if found["strategy"] not in MAKERS or found["strategy"] in THEIR_ROWS and not found["size"]:
            what = (
                "needs a beam size"
                if found["strategy"] in MAKERS
                else f"is no strategy. There are: {', '.join(MAKERS)}"
            )
            raise ClaimError(f"{name}: {found['strategy']!r} {what}.")
        factor = float(found["factor"] or 1) * (-1 if found["sign"] == "-" else 1)
        terms.append(
            Term(
                factor,
                found["measure"],
                found["strategy"],
                int(found["size"] or 0),
                found["set"] or "not_included",
                bool(found["equal"]),
            )
        )
        place = found.end()
    if not terms:
        raise ClaimError(f"{name} has a check without a number.")
    return tuple(terms)


# ---------------------------------------------------------------------------------------------------------------- judging


def judge(claims: Sequence[Claim], rows: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """A line per check: the paper's number and ours (with its 95 % interval) in %, the check's verdict, and
    the whole claim's."""
    import pandas as pd

    lines = []
    for claim in claims:
        own = []
        for check in claim.checks:
            theirs, (estimate, n, p_value) = paper_number(check), measure_check(check, rows, seed)
            exact = Interval(theirs, theirs, theirs)
            own.append(
                {
                    "claim": claim.id,
                    "says": claim.says,
                    "where": claim.where,
                    "check": check.text,
                    "bound": check.bound,
                    "paper": theirs,
                    "paper_verdict": "" if math.isnan(theirs) else check.verdict(exact),
                    "ours": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                    "problems": n,
                    "p_value": p_value,
                    "verdict": check.verdict(estimate) if n else MISSING,
                }
            )
        lines += [line | {"claim_verdict": together(line["verdict"] for line in own)} for line in own]
    return pd.DataFrame(lines)


def verdicts_on(
    sentences: Mapping[tuple[str, str], str], rows: pd.DataFrame, published: pd.DataFrame, seed: int = 0
) -> pd.DataFrame:
    """A small table for a chapter: what the paper says, its number, ours and the verdict, and the same under
    the published protocol. `sentences` says in words what a check of a claim states, by the claim's id and the
    check as it is written in the file."""
    import pandas as pd

    wanted = {name for name, _ in sentences}
    claims = [claim for claim in read_claims() if claim.id in wanted]
    ours, theirs = (judge(claims, lines, seed).set_index(["claim", "check"]) for lines in (rows, published))

    def text(line: pd.Series, unit: str) -> str:
        return f"{line.ours:{unit}} ({line.low:{unit}} to {line.high:{unit}})" if line.problems else "–"

    lines = []
    for key, sentence in sentences.items():
        mine, other, unit = ours.loc[key], theirs.loc[key], "+.1f" if " - " in key[1] else ".1f"
        lines.append(
            {
                "the paper says": sentence,
                "its table": "–" if math.isnan(mine.paper) else f"{mine.paper:{unit}}",
                "ours": text(mine, unit),
                "verdict": mine.verdict,
                "as published": text(other, unit),
                "verdict as published": other.verdict,
            }
        )
    return pd.DataFrame(lines).set_index("the paper says")


def measure_check(check: Check, rows: pd.DataFrame, seed: int = 0) -> tuple[Interval, int, float]:
    """The number of a check in % with its interval, the problems behind it (0: not measured), and McNemar's p
    where it applies."""
    if check.correlation:
        found = correlation(rows, *check.correlation, seed=seed)
        return (found[0], *found[2:]) if found else (UNKNOWN, 0, math.nan)
    by_set = [
        [term for term in check.terms if term.test_set == name]
        for name in dict.fromkeys(term.test_set for term in check.terms)
    ]
    samples = [_sample(terms, rows) for terms in by_set]
    if not all(samples):
        return UNKNOWN, 0, math.nan
    estimate, tops = combined(*samples, seed=seed), samples[0].tops
    two_shares = [sorted(sample.factors) for sample in samples] == [[-1.0, 1.0]]
    pairs = two_shares and samples[0].bottoms.all() and set(np.unique(tops)) <= {0.0, 1.0}
    p_value = mcnemar(*tops).p_value if pairs else math.nan
    return Interval(*(100 * x for x in estimate)), min(s.tops.shape[1] for s in samples), p_value


def _sample(terms: Sequence[Term], rows: pd.DataFrame) -> Sample | None:
    """Terms of one test set on the problems that all their rows have; None if a row or all problems are
    missing."""
    import pandas as pd

    columns, line = [], line_of(rows)
    for k, term in enumerate(terms):
        part = row_of(rows, term.strategy, term.beam_size, term.test_set)
        beams = row_of(rows, "beam", 0, term.test_set)
        if not len(part) or term.equal_cost and not len(beams):
            return None
        if term.equal_cost:
            part = at_equal_cost(beams, part["candidates"].mean())
        novel, accurate = part["novel"].astype(float), part["accurate"].astype(float)
        special = {"accurate_if_novel": (novel * accurate, novel), "novel_accurate": (novel * accurate, 1.0)}
        top, bottom = special.get(term.measure) or (part[term.measure].astype(float), 1.0)
        columns.append(
            part[line].assign(**{f"top{k}": top, f"bottom{k}": bottom}).drop_duplicates(line).set_index(line)
        )
    both = pd.concat(columns, axis=1, join="inner")
    if both.empty:
        return None
    tops, bottoms = (
        both[[f"{part}{k}" for k in range(len(terms))]].to_numpy(dtype=float).T for part in ("top", "bottom")
    )
    return Sample([term.factor for term in terms], tops, bottoms, **levels_of(both.reset_index()))


def correlation(
    rows: pd.DataFrame,
    x: str,
    y: str,
    over: Sequence[tuple[str, int]] | None = None,
    seed: int = 0,
) -> tuple[Interval, Interval, int, float] | None:
    """Pearson's correlation of two shares over rows of the table (by default all of the paper's): its
    interval over strategies, its interval over problems, their number, and the p-value of no correlation;
    None if a row is missing.

    Another set of problems would change the shares a little, other strategies change the whole picture:
    claims are judged by the first interval. It is Fisher's, because seventeen points are too few for a
    bootstrap to be trusted.
    """
    names = over or list(paper.table()[["strategy", "beam_size"]].itertuples(index=False, name=None))
    one, two = (_sample([Term(1.0, measure, *name) for name in names], rows) for measure in (x, y))
    if one is None or len(names) < 3:
        return None
    by_strategy, p_value = pearson(one.values(), two.values())
    return by_strategy, pearson_over_problems(one, two, seed), one.tops.shape[1], p_value


def judged_path(scale: str) -> Path:
    """Where the judged claims lie: those of the tables measured here, or the committed ones."""
    own = OWN / scale / "claims.csv"
    return own if own.exists() and not reference_only() else REFERENCE / scale / "claims.csv"


def published_rows(scale: str = "laptop") -> pd.DataFrame | None:
    """The lines that were measured under the published protocol; None if there are none."""
    try:
        rows, _ = read_rows(scale, ("protocols",))
    except FileNotFoundError:
        return None
    return rows[rows["protocol"] == "published"]


def inputs_digest(scale: str) -> str:
    """A short hash of what the claims are judged by: their file, and the runs of the tables."""
    tables = [table for table in (read_rows(scale)[0], published_rows(scale)) if table is not None]
    runs = {str(run) for table in tables for run in table["run"].unique()}
    return digest(ROOT / "params" / "claims.yaml", *sorted(runs))


def judge_twice(scale: str = "laptop", seed: int = 0) -> pd.DataFrame:
    """The claims judged on all that was measured at a scale under our protocol, and beside it under the
    published one, as far as its rows were measured."""
    judged, published = judge(read_claims(), read_rows(scale)[0], seed), published_rows(scale)
    if published is None or published.empty:
        return judged
    other = judge(read_claims(), published, seed)
    beside = {name: other[name] for name in ("low", "high", "problems", "verdict", "claim_verdict")}
    return judged.assign(published=other["ours"], **{f"published_{name}": x for name, x in beside.items()})


def write_judgement(scale: str = "laptop", seed: int = 0) -> pd.DataFrame:
    """Judge the claims, and write the table with its record."""
    with timed(new_record({"scale": scale}, seed)) as record:
        judged = judge_twice(scale, seed)
    record |= {"inputs": inputs_digest(scale), "code": code_digest(("evidence",))}
    write_table(judged.round(4), OWN / scale / "claims.csv", record)
    return judged


def record_of(path: Path) -> dict[str, Any]:
    """The record beside a table; nothing where there is none."""
    return read_table_and_record(path)[1] if path.exists() else {}


# -------------------------------------------------------------------------------------------------------- the paper's side


def paper_number(check: Check) -> float:
    """The same number from the paper's table, in %; nan where the table has none (another test set, a cost it
    does not give)."""
    if check.correlation:
        table = paper.table()
        cells = [
            paper.row(*name) for name in table[["strategy", "beam_size"]].itertuples(index=False, name=None)
        ]
        return float(
            np.corrcoef(*([THEIRS[measure](row) for row in cells] for measure in check.correlation))[0, 1]
        )
    return sum(term.factor * _theirs(term) for term in check.terms)


def _theirs(term: Term) -> float:
    row = paper.row(term.strategy, term.beam_size)
    if row is None or term.test_set != "not_included" or term.measure not in THEIRS:
        return math.nan
    if not term.equal_cost:
        return THEIRS[term.measure](row)
    if term.strategy != "gvs":  # how many candidates TPSR generated is not said
        return math.nan
    beams = paper.rows("beam")
    return float(
        np.interp(
            np.log(GVS_ITERATIONS * term.beam_size),
            np.log(list(beams)),
            [THEIRS[term.measure](b) for b in beams.values()],
        )
    )
