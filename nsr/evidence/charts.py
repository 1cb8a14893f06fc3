"""The charts of the comparison: the paper's breakdown table and its scatter, trade-off and baseline figures,
drawn from tidy rows.

`rows` are lines as `nsr.evidence.comparison` brings them together; `names` are (strategy, beam_size) pairs,
the rows of the table. A row that was not measured is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from nsr.evidence import paper
from nsr.evidence.anytime import has_traces, share_at
from nsr.evidence.comparison import levels_of, row_of
from nsr.evidence.figures import COPIED, GREY, INK, LIGHT, NOVEL, style_of, title_of
from nsr.evidence.measuring import share_with_rank
from nsr.evidence.novelty import ACCURATE, THRESHOLDS
from nsr.evidence.statistics import Interval, mean, wilson

if TYPE_CHECKING:
    import pandas as pd

Name = tuple[str, int]
# (novel, accurate) → colour
CELLS = {(True, True): NOVEL, (True, False): "#B9B1DD", (False, True): COPIED, (False, False): LIGHT}
CELL_NAMES = {
    (True, True): f"novel, $R^2 > {ACCURATE}$",
    (True, False): "novel only",
    (False, True): f"copied, $R^2 > {ACCURATE}$",
    (False, False): "neither",
}


def share(flags: Iterable[bool], lines: pd.DataFrame | None = None) -> Interval:
    """A share in %, with Wilson's interval; if it is of `lines` of several networks, with that over networks and
    templates."""
    values = np.asarray(list(flags), dtype=bool)
    several = lines is not None and "network" in lines and lines["network"].nunique() > 1
    found = mean(values, **levels_of(lines)) if several else wilson(int(values.sum()), len(values))
    return Interval(*(100 * x for x in found))


def bar(estimate: Interval) -> np.ndarray:
    """(2, 1) lengths of an error bar."""
    return np.clip([[estimate.value - estimate.low], [estimate.high - estimate.value]], 0, None)


def present(rows: pd.DataFrame, names: Sequence[Name], test_set: str = "not_included") -> list[Name]:
    """Those of the rows that were measured on a test set."""
    return [name for name in names if len(row_of(rows, *name, test_set))]


def draw_strategies(ax: Axes, rows: pd.DataFrame, strategies: Sequence[str]) -> None:
    """Novelty against accuracy: a mark for each size of a strategy, with its intervals, joined by a line; a small
    hollow one for each network where there are several. Small numbers are candidates per problem, of the first size
    and the last."""
    for name in strategies:
        sizes, style = sorted(row_of(rows, name).beam_size.unique()), style_of(name)
        parts = [row_of(rows, name, size) for size in sizes]
        points = [[share(part[what], part) for what in ("novel", "accurate")] for part in parts]
        ax.plot([x.value for x, _ in points], [y.value for _, y in points], **style, lw=1)
        for (x, y), part in zip(points, parts):
            ax.errorbar(x.value, y.value, bar(y), bar(x), color=style["color"], lw=0.8)
            small = {"markersize": 3.5, "markerfacecolor": "white", "markeredgewidth": 0.7, "zorder": 5}
            ax.plot(*by_network(part), style["marker"], color=style["color"], **small)
        for k in {0, len(parts) - 1}:
            x, y = points[k]
            ax.annotate(
                f"{parts[k].candidates.mean():.0f}",
                (x.value, y.value),
                (-24 if name == "gvs+tpsr" else 6, 5),
                textcoords="offset points",
                fontsize=9,
            )
    ax.set(xlim=(0, 100), ylim=(0, 100), xlabel="novel answers (%)")
    ax.set_ylabel(f"accurate answers, $R^2 > {ACCURATE}$ (%)")


def by_network(part: pd.DataFrame) -> np.ndarray:
    """(2, networks): % of the answers of each network that are novel, and that are accurate; none where there is
    only one network."""
    if "network" not in part or part["network"].nunique() < 2:
        return np.empty((2, 0))
    return 100 * part.groupby("network")[["novel", "accurate"]].mean().to_numpy(dtype=float).T


def draw_breakdown(ax: Axes, rows: pd.DataFrame, names: Sequence[Name]) -> None:
    """The table as bars: for every row ours, and below it, thin, the paper's."""
    for y, name in enumerate(names):
        part, theirs = row_of(rows, *name), paper.row(*name)
        ours = (
            [100 * np.mean((part.novel == novel) & (part.accurate == good)) for novel, good in CELLS]
            if len(part)
            else []
        )
        for widths, height, shift in ((ours, 0.46, -0.12), (theirs or [], 0.18, 0.25)):
            left = 0.0
            for width, colour in zip(widths, CELLS.values()):
                ax.barh(y + shift, width, height, left=left, color=colour, edgecolor="white", lw=0.4)
                left += width
        if not len(part):
            ax.text(1, y - 0.12, "not measured yet", va="center", fontsize=8, color=GREY, style="italic")
    ax.set_yticks(range(len(names)), [title_of(*name) for name in names], fontsize=8)
    ax.set(xlim=(0, 100), xlabel="share of the answers (%)", ylim=(len(names) - 0.4, -0.7))
    for key, colour in CELLS.items():
        ax.barh([-9], [0], color=colour, label=CELL_NAMES[key])
    ax.grid(axis="y", visible=False)


def draw_thresholds(ax: Axes, rows: pd.DataFrame, names: Sequence[Name]) -> None:
    """Novelty against accuracy: seven dots per row, one for each threshold, the one for 0.99 large; small
    ticks are single seeds."""
    for name in present(rows, names):
        part, style = row_of(rows, *name), style_of(name[0])
        x = share(part.novel, part)
        ys = [share(part.r2 > threshold, part) for threshold in THRESHOLDS]
        ax.plot(
            [x.value] * len(ys),
            [y.value for y in ys],
            color=style["color"],
            marker=style["marker"],
            lw=0.8,
            markersize=3.5,
            alpha=0.75,
        )
        y = ys[THRESHOLDS.index(ACCURATE)]
        ax.errorbar(
            x.value,
            y.value,
            bar(y),
            bar(x),
            fmt=style["marker"],
            color=style["color"],
            markersize=8,
            capsize=2,
            lw=1,
            label=title_of(*name),
            markeredgecolor="white",
        )
        if sum(other == name[0] for other, _ in names) > 1:  # one colour, several sizes
            ax.annotate(
                f"{name[1]}",
                (x.value, ys[0].value),
                (0, 4),
                textcoords="offset points",
                ha="center",
                fontsize=7,
            )
        for _, seed in part.groupby("seed"):
            ax.plot(
                100 * seed.novel.mean(),
                100 * seed.accurate.mean(),
                "_",
                color=style["color"],
                markersize=5,
                alpha=0.8,
            )
    ax.set(xlabel="novel answers (%)", xlim=(-2, None), ylim=(0, 103))


def draw_correlation(ax: Axes, rows: pd.DataFrame, names: Sequence[Name]) -> None:
    """Every row as a point, novelty against accuracy: ours filled, with the beam size beside the smallest and
    the largest, the paper's hollow. All kinds of hints have one colour."""
    labelled, there = set(), present(rows, names)
    sizes = {one: [b for name, b in there if name == one] for one, _ in there}
    for name in there:
        part, theirs = row_of(rows, *name), paper.row(*name)
        style = style_of("nsrwh" if name[0].startswith("nsrwh") else name[0]) | {"lw": 0}
        if style["label"] in labelled:
            style["label"] = None
        labelled.add(style["label"])
        x, y = 100 * part.novel.mean(), 100 * part.accurate.mean()
        ax.plot(x, y, **style)
        if len(sizes[name[0]]) > 1 and name[1] in (min(sizes[name[0]]), max(sizes[name[0]])):
            ax.annotate(f"{name[1]}", (x, y), (5, 3), textcoords="offset points", fontsize=8)
        if theirs:
            hollow = {"markerfacecolor": "none", "alpha": 0.7, "label": None}
            ax.plot(theirs.novel, theirs.accurate, **style | hollow)
    ax.set(xlabel="novel answers (%)", ylabel=f"$R^2 > {ACCURATE}$ (%)", xlim=(-2, 100), ylim=(0, 100))
    ax.legend(fontsize=8, loc="upper left")


def draw_tradeoff(
    ax: Axes, rows: pd.DataFrame, names: Sequence[Name], what: str, cost: str = "candidates"
) -> None:
    """A share against what a search costs: points at the settings, joined where a strategy has several; thin
    lines are any-time curves."""
    for strategy in dict.fromkeys(name[0] for name in names):
        parts = [row_of(rows, *name) for name in present(rows, names) if name[0] == strategy]
        if not parts:
            continue
        style = style_of(strategy)
        parts.sort(key=lambda part: part[cost].mean())
        xs, ys = [part[cost].mean() for part in parts], [share(part[what], part) for part in parts]
        ax.plot(xs, [y.value for y in ys], **style, lw=1.2, markersize=5)
        for x, y, part in zip(xs, ys, parts):
            ax.errorbar(x, y.value, bar(y), fmt="none", color=style["color"], lw=1)
            if len(parts) > 1 and (part is parts[0] or part is parts[-1]):
                aside = (5, -10) if strategy == "gvs" else (4, 4)  # it lies beside TPSR
                ax.annotate(
                    f"{part.beam_size.iloc[0]}", (x, y.value), aside, textcoords="offset points", fontsize=8
                )
            if has_traces(part) or (cost, what) == ("candidates", "accurate"):
                first = max(part[cost].min() / 4, 1e-4) if cost == "seconds" else 1
                # to the end of the longest search
                grid = np.geomspace(first, max(part[cost].max(), 2 * first), 60)
                known = (
                    share_at(part.trace, grid, cost, what)
                    if has_traces(part)
                    else share_with_rank(part.accurate_rank, grid)
                )
                ax.plot(
                    grid,
                    100 * known,
                    color=style["color"],
                    lw=0.8,
                    alpha=0.6,
                    linestyle="-" if has_traces(part) else ":",
                )
    ax.set(xscale="log", ylim=(0, None))


def standing(rows: pd.DataFrame, strategy: str, budgets: Sequence[float]) -> np.ndarray:
    """(budgets, 2): % of the answers that are novel, and that are accurate, when every search of a strategy has
    spent a budget of candidates.

    Its largest setting is stopped there. Of beam search it is the largest beam that costs no more: a beam
    that is stopped in the middle is not a smaller beam. Nan where nothing is cheap enough.
    """
    part = row_of(rows, strategy)
    means = part.groupby("beam_size")["candidates"].mean()
    if strategy != "beam":
        trace = part[part.beam_size == means.idxmax()].trace
        shares = [share_at(trace, budgets, what=what) for what in ("novel", "accurate")]
        return 100 * np.stack(shares, axis=1)
    flags = part.groupby("beam_size")[["novel", "accurate"]].mean().astype(float)
    cheap = [means[means <= budget] for budget in budgets]
    return np.array([100 * flags.loc[some.idxmax()] if len(some) else [np.nan] * 2 for some in cheap])


def draw_standing(ax: Axes, rows: pd.DataFrame, strategies: Sequence[str], budgets: Sequence[float]) -> None:
    """Novelty against accuracy at the last of the budgets, and the way there as a thin line."""
    for name in strategies:
        x, y = standing(rows, name, budgets).T
        style = style_of(name)
        ax.plot(x, y, color=style["color"], lw=1, alpha=0.6)
        ax.plot(x[-1:], y[-1:], **style, lw=0, markersize=9, markeredgecolor="white", markeredgewidth=0.5)
    ax.set(xlim=(-3, 103), ylim=(-3, 103), xlabel="novel answers (%)", ylabel=f"$R^2 > {ACCURATE}$ (%)")


def draw_both_sets(ax: Axes, rows: pd.DataFrame, names: Sequence[Name]) -> None:
    """Accuracy at the seven thresholds on baseline (lines) and on not_included (dashed)."""
    places = np.arange(len(THRESHOLDS))
    found = present(rows, names, "baseline")
    for k, name in enumerate(found):
        style, shift = style_of(name[0]), 0.24 * (k / max(1, len(found) - 1) - 0.5)
        for test_set, line in (("baseline", "-"), ("not_included", "--")):
            part = row_of(rows, *name, test_set)
            ys = [share(part.r2 > threshold, part) for threshold in THRESHOLDS]
            ax.errorbar(
                places + shift,
                [y.value for y in ys],
                np.hstack([bar(y) for y in ys]),
                fmt=line,
                marker=style["marker"],
                color=style["color"],
                markersize=4,
                lw=1.1,
                elinewidth=0.7,
                markerfacecolor=style["color"] if line == "-" else "white",
                label=title_of(*name) if line == "-" else None,
            )
            if sum(other == name[0] for other, _ in found) > 1:  # one colour, two sizes
                ax.annotate(
                    f"{name[1]}",
                    (places[0] + shift, ys[0].value),
                    (-10, 2),
                    textcoords="offset points",
                    ha="center",
                    fontsize=7,
                )
    ax.set_xticks(places, [f"{t:g}" for t in THRESHOLDS], fontsize=8)
    ax.set(xlabel="$R^2$ above", ylim=(0, 100))


def draw_differences(ax: Axes, differences: dict[str, Interval], colours: Sequence[str]) -> None:
    """Differences in points with their intervals, one below the other; filled where the interval leaves zero
    out."""
    for y, (d, colour) in enumerate(zip(differences.values(), colours)):
        clear = d.low > 0 or d.high < 0
        ax.errorbar(
            d.value,
            y,
            xerr=bar(d),
            fmt="o",
            color=colour,
            capsize=2,
            markersize=5,
            markerfacecolor=colour if clear else "white",
        )
    ax.axvline(0, color=INK, lw=0.8)
    ax.set_yticks(range(len(differences)), list(differences), fontsize=8)
    ax.set_ylim(len(differences) - 0.5, -0.5)


def draw_matrix(ax: Axes, names: Sequence[Name], difference: np.ndarray, clear: np.ndarray) -> None:
    """Difference of each row to each other in points; a dot where it could be chance."""
    n, most = len(names), np.nanmax(np.abs(difference)) or 1.0
    ax.imshow(difference, cmap="PuOr", vmin=-most, vmax=most)
    for i in range(n):
        for j in range(n):
            if i != j and np.isfinite(difference[i, j]):
                strong = abs(difference[i, j]) > 0.6 * most
                ax.text(
                    j,
                    i,
                    f"{difference[i, j]:+.0f}" if clear[i, j] else "·",
                    ha="center",
                    va="center",
                    fontsize=6.5,
                    color="white" if strong else INK,
                )
    labels = [title_of(*name) for name in names]
    ax.set_xticks(range(n), labels, rotation=60, ha="right", fontsize=7)
    ax.set_yticks(range(n), labels, fontsize=7)
    ax.grid(False)


def draw_senses(ax: Axes, rows: pd.DataFrame, names: Sequence[Name], senses: dict[str, str]) -> None:
    """For every row the share of answers that are novel in each sense, as dots on a line. The colour of novel
    is the paper's sense, and a stricter one is darker."""
    colours = dict(zip(senses, (NOVEL, "#b9aee0", "#7a6cc0", GREY, INK)))
    found = present(rows, names)
    for y, name in enumerate(found):
        part = row_of(rows, *name)
        values = [share(part[sense], part) for sense in senses]
        ax.plot(
            [v.value for v in values], [y] * len(values), color=LIGHT, lw=3, zorder=0, solid_capstyle="round"
        )
        for k, (sense, value) in enumerate(zip(senses, values)):
            ax.errorbar(
                value.value,
                y + 0.12 * (k - 2),
                xerr=bar(value),
                fmt="o",
                color=colours[sense],
                markersize=4,
                lw=0.8,
                label=senses[sense] if y == 0 else None,
            )
    ax.set_yticks(range(len(found)), [title_of(*name) for name in found], fontsize=8)
    ax.set(xlabel="novel answers (%)", xlim=(-1, None), ylim=(len(found) - 0.5, -0.5))
