"""The rows of the big table: one strategy at one beam size, brought together from the tables in which they
were measured.

Rows are compared on the same problems, so a problem is known by its test set, its seed, its name and its
truth: if two networks were given different test sets, they have no problem in common, and nothing is
compared.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from nsr.evidence.anytime import COSTS, has_traces, stopped_at
from nsr.evidence.measuring import as_percent, measure, network_for
from nsr.evidence.novelty import degenerate, flagged, outside_language
from nsr.evidence.paper import table as paper_table
from nsr.evidence.reference_tables import checked, made, read_records, results_path, tables_of
from nsr.evidence.statistics import (
    UNKNOWN,
    Interval,
    McNemar,
    Sample,
    Spread,
    combined,
    difference,
    holm,
    mcnemar,
    mean,
    p_value_of,
    paired_difference,
    spread,
)
from nsr.evidence.verdicts import FAILS, HOLDS, MISSING, UNDECIDED
from nsr.formulas.equivalence import template_of
from nsr.network.checkpoints import load, places_of, weights_digest
from nsr.search.strategies.names import by_name, kind_of

if TYPE_CHECKING:
    import pandas as pd

# the tables of chapters 05 to 10
TABLES = ("beam", "tpsr", "gvs", "nsrwh", "families", "families_gvs", "local")
KEY = ["test_set", "seed", "problem", "truth"]
ROW = ["strategy", "beam_size"]


# ---------------------------------------------------------------------------------------------------------------- reading


def read_rows(scale: str = "laptop", tables: Sequence[str] = TABLES) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All lines that the present networks have in these tables, and where they come from.

    Where there are several networks of a kind, the column `network` says which: 0 is the one without a
    number. Lines that were made with other weights of the same name are left out.
    """
    import pandas as pd

    present = cache(lambda name: weights_digest(load(name)) if places_of(name) else "")
    parts, sources = [], []
    for name in tables:
        table, records = read_records(*tables_of(results_path(name, scale)))
        known = {run: record["parameters"] for run, record in records.items()}
        current = {
            run: _number(p["weights"])
            for run, p in known.items()
            if present(p["weights"]) in ("", p["weights_digest"])
        }
        table = table[table["run"].isin(current)]
        used = [records[run] for run in current]
        sources.append({"table": name, "lines": len(table), "made": made(*used) if used else MISSING})
        if len(table):
            parts.append(flagged(table).assign(source=name, network=table["run"].map(current)))
    if not parts:
        raise FileNotFoundError(
            f"Nothing was measured yet at the scale {scale!r}. Run: python -m nsr replicate --only tables --scale {scale}"
        )
    whole = pd.concat(parts, ignore_index=True)
    # a row was measured in one place, and there in one way
    origin = whole["source"] + " " + whole["run"].astype(str)
    keys = (*ROW, "test_set", "seed", "network", *(["protocol"] if "protocol" in whole else []))
    row = [whole[name] for name in keys]
    whole = whole[origin == origin.groupby(row).transform("first")].reset_index(drop=True)
    several = whole["network"].nunique() > 1
    return whole if several else whole.drop(columns="network"), pd.DataFrame(sources).set_index("table")


def gathered(
    scale: str = "laptop",
    live: str = "",
    weights: str = "",
    *,
    n_seeds: int = 3,
    test_sets: Sequence[str] = ("not_included", "baseline"),
    **options: Any,
) -> pd.DataFrame:
    """The lines of all rows that were measured at a scale, of the first seeds; or, where `live` names rows like
    "beam 5, tpsr 1", the lines of these, measured now and kept nowhere.

    `weights` is the folder of the networks, empty for tiny ones; `options` are those of `measure`.
    """
    import pandas as pd

    if not live:
        rows, sources = read_rows(scale)
        rows = rows[rows["seed"] < n_seeds].reset_index(drop=True)
        print(f"read: {len(rows):,} lines of {len(sources)} tables")
        return rows
    names = [(name, int(size)) for name, _, size in (row.strip().partition(" ") for row in live.split(","))]
    kinds = {
        kind: network_for(weights and f"{weights}/{kind}", kind) for kind in {kind_of(n) for n, _ in names}
    }
    parts = [
        measure(kinds[kind_of(name)], by_name(name, size), test_set, seed, **options)
        for name, size in names
        for test_set in test_sets
        for seed in range(n_seeds)
    ]
    rows = flagged(pd.concat(parts, ignore_index=True))
    print(f"measured now: {len(rows):,} lines of {len(names)} rows")
    return rows


def _number(weights: str) -> int:
    """Which of the networks of its recipe it is.

    >>> _number("laptop/gvs@2"), _number("laptop/gvs")
    (2, 0)
    """
    return int(weights.partition("@")[2] or 0)


def seconds_taken(scale: str = "laptop", tables: Sequence[str] = TABLES) -> pd.DataFrame:
    """How long each row took to measure, from the records: strategy, beam_size, test_set, seed,
    seconds."""
    import pandas as pd

    columns = {"strategy": str, "options": dict, "test_set": str, "seed": int}
    paths = [tables_of(results_path(name, scale)) for name in tables]
    records = [
        checked(record, places[-1], **columns)
        for places in paths
        for record in read_records(*places)[1].values()
    ]
    lines = []
    for record in records:
        known, options = record["parameters"], record["parameters"]["options"]
        inner = options.get("predictor") or options.get("inner") or {}
        size = (
            options.get("beam_size")
            or inner.get("beam_size")
            or (inner.get("predictor") or {}).get("beam_size")
            or 0
        )
        lines.append(
            {
                "strategy": known["strategy"],
                "beam_size": size,
                "test_set": known["test_set"],
                "seed": known["seed"],
                "seconds": record["seconds"],
            }
        )
    return pd.DataFrame(lines, columns=["strategy", "beam_size", "test_set", "seed", "seconds"])


def row_of(
    rows: pd.DataFrame, strategy: str, beam_size: int = 0, test_set: str = "not_included"
) -> pd.DataFrame:
    """The lines of one row; none if it was not measured. Beam size 0 stands for whichever there is."""
    part = rows[(rows["strategy"] == strategy) & (rows["test_set"] == test_set)]
    return part[part["beam_size"] == beam_size] if beam_size else part


def layout(rows: pd.DataFrame) -> list[tuple[str, int]]:
    """The rows of the table in their order: the paper's, measured or not, and then whatever else was
    measured."""
    theirs = list(paper_table()[ROW].itertuples(index=False, name=None))
    found = [
        (strategy, int(size))
        for strategy, size in rows[ROW].drop_duplicates().itertuples(index=False, name=None)
    ]
    return theirs + sorted(
        row for row in found if row not in theirs and row[0] not in {name for name, _ in theirs}
    )


# -------------------------------------------------------------------------------------------------------------- comparing


@cache
def true_template(truth: str) -> tuple[str, ...]:
    """The template of a formula as tables write it: problems that share it are alike.

    >>> true_template("mul C sin x1") == true_template("mul C sin mul C x1")
    True
    """
    return template_of(tuple(truth.split()))


def line_of(rows: pd.DataFrame) -> list[str]:
    """The columns that tell lines of one strategy apart: the problem, and the network where there are
    several."""
    return [*KEY, "network"] if "network" in rows else KEY


def levels_of(rows: pd.DataFrame) -> dict[str, Any]:
    """What is drawn when lines are drawn: their true templates, and their networks where there are several."""
    return {
        "templates": list(map(true_template, rows["truth"])),
        "networks": rows["network"] if "network" in rows else None,
    }


def share_of(rows: pd.DataFrame, what: str, seed: int = 0) -> Interval:
    """A share of lines with its interval, over templates and over networks where there are several."""
    return mean(rows[what].astype(float), **levels_of(rows), seed=seed)


def percent_of(rows: pd.DataFrame, what: str) -> str:
    """The same as people write it: 3 % (1–8)."""
    return as_percent(share_of(rows, what)) if len(rows) else "none"


def novelty_line(rows: pd.DataFrame) -> dict[str, str]:
    """How new answers are, and which of the novel ones are no discoveries: a line of a table, in % of all
    answers. Novel is the paper's word, by structure; the others say which of these have a new family, are
    degenerate, and are outside the language of the generator."""
    novel = rows["novel"].astype(bool)
    kinds = {
        "new family": rows["novel_family"] == 1,
        "degenerate": novel & degenerate(rows["answer"]),
        "outside the language": novel & outside_language(rows["answer"].where(novel, "")),
    }
    shares = {name: f"{100 * flags.mean():.1f} %" if len(rows) else "none" for name, flags in kinds.items()}
    return {"novel": percent_of(rows, "novel")} | shares


def spread_of(rows: pd.DataFrame, what: str, seed: int = 0) -> Spread:
    """How much of the spread of a share, if one network is measured, is between networks and not between
    problems."""
    return spread(rows[what].astype(float), **levels_of(rows), seed=seed)


def paired(a: pd.DataFrame, b: pd.DataFrame, what: str, seed: int = 0) -> tuple[Interval, McNemar, int]:
    """Difference of a share on the problems that both have, with its interval, McNemar's test, and how many
    problems these are."""
    line = line_of(a)
    pair = a[[*line, what]].merge(b[[*line, what]], on=line)
    first, second = pair[f"{what}_x"].astype(float), pair[f"{what}_y"].astype(float)
    change = paired_difference(first, second, **levels_of(pair), seed=seed)
    return change, mcnemar(first == 1, second == 1), len(pair)


def unpaired(a: pd.DataFrame, b: pd.DataFrame, what: str, seed: int = 0) -> Interval:
    """Difference of a share between two tables of different problems."""
    levels = [levels_of(rows) for rows in (a, b)]
    labels = {name: tuple(level[name] for level in levels) for name in levels[0]}
    return difference(a[what].astype(float), b[what].astype(float), **labels, seed=seed)


def contrast(rows: pd.DataFrame, flag: str, what: str, seed: int = 0) -> Interval:
    """Difference of a share between the lines that have a flag and those that do not, in one table: templates,
    and networks where there are several, are drawn with all their lines of either kind."""
    has = rows[flag].to_numpy(dtype=float)
    parts = np.stack([has, 1 - has])  # (2, lines)
    tops = parts * rows[what].to_numpy(dtype=float)
    return combined(Sample([1.0, -1.0], tops, parts, **levels_of(rows)), seed=seed)


def at_equal_cost(beams: pd.DataFrame, spent: float, cost: str = "candidates") -> pd.DataFrame:
    """Beam search at a mean cost: between the two sizes that cost less and more, linear in the logarithm of
    the cost.

    Outside the sizes that were measured it is the nearest of them. Shares of problems become fractions.
    """
    means = beams.groupby("beam_size")[cost].mean().sort_values()
    place = float(np.interp(np.log(max(spent, 1e-9)), np.log(means.clip(lower=1e-9)), range(len(means))))
    low, part = int(place), place - int(place)
    flags = [name for name in beams if name.startswith("novel") or name in ("accurate", "copied")]
    one, two = (
        beams[beams["beam_size"] == means.index[min(i, len(means) - 1)]]
        .set_index(line_of(beams))[flags]
        .astype(float)
        for i in (low, low + 1)
    )
    return (
        ((1 - part) * one + part * two.reindex(one.index)).dropna().reset_index()
        if part
        else one.reset_index()
    )


def lead_over_beams(
    part: pd.DataFrame, beams: pd.DataFrame, cost: str = "candidates", what: str = "accurate", seed: int = 0
) -> Interval:
    """By how much a share of a strategy is above that of a beam that costs as much.

    A strategy that costs more than the largest beam is stopped where that one ends. Lines without the cost
    are left out; the result is unknown where none is left, or where the search would have to be stopped and
    its trace does not tell.
    """
    if cost not in part or cost not in beams:
        return UNKNOWN
    part, beams = (rows[rows[cost].notna()] for rows in (part, beams))
    if "network" in part and "network" in beams:
        part, beams = (
            one[one["network"].isin(set(other["network"]))] for one, other in ((part, beams), (beams, part))
        )
    if part.empty or beams.empty:
        return UNKNOWN
    spent, dearest = part[cost].mean(), beams.groupby("beam_size")[cost].mean().max()
    if spent > 1.01 * dearest:
        if cost not in COSTS or not has_traces(part):
            return UNKNOWN
        part = stopped_at(part, [dearest] * len(part), cost)
    return paired(part, at_equal_cost(beams, min(spent, dearest), cost), what, seed)[0]


def judged_together(leads: Mapping[Hashable, Interval]) -> pd.DataFrame:
    """A family of comparisons: each lead in points, its p-value after Holm's correction for all of them, and the
    verdict on "above zero" at 5 % for the whole family. A lead that is unknown is not counted."""
    import pandas as pd

    known = {name: lead for name, lead in leads.items() if not math.isnan(lead.low)}
    adjusted = dict(zip(known, holm([p_value_of(lead) for lead in known.values()])))
    lines = {}
    for name, lead in leads.items():
        p = adjusted.get(name, math.nan)
        side = HOLDS if lead.value > 0 else FAILS
        lines[name] = {
            "points": "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * x for x in lead))
            if name in known
            else "–",
            "p, Holm": f"{p:.3f}" if name in known else "–",
            "verdict": MISSING if name not in known else side if p < 0.05 else UNDECIDED,
        }
    return pd.DataFrame.from_dict(lines, orient="index")
