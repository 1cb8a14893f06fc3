"""Pictures of a search, drawn from the log that `TPSR(watch=log.append)` or `GVS(watch=log.append)` keeps;
and of what it found."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

from nsr.data.problems import Problem
from nsr.evidence.figures import BLUE, GREEN, GREY, INK, LIGHT, NOVEL, ORANGE, RED
from nsr.formulas.expressions import END, Prefix, is_valid
from nsr.formulas.notation import to_infix
from nsr.formulas.prefix_trees import PrefixTree
from nsr.numbers.evaluation import evaluate
from nsr.search.oracle import Candidate, r2_fresh
from nsr.search.result import r2_text
from nsr.search.strategies.gvs import Iteration
from nsr.search.strategies.tpsr import Node, Rollout

Phase = Literal["selection", "expansion", "simulation", "back-up"]
PHASES: tuple[Phase, ...] = get_args(Phase)
DOWN = 1.25  # distance between two levels, in units of the distance between two leaves


def replay(log: Sequence[Rollout]) -> dict[Prefix, Node]:
    """Grow the tree again from what its rollouts did: N counts the paths through a node, Q is the largest
    reward among them.

    >>> log = [Rollout("", (), ((), ("x1",)), 0.7, ("x1",), 0.4), Rollout("", (), ((), ("sin",)), 0.2, ("sin", "x1"), 0.9)]
    >>> [(" ".join(prefix), node.visits, node.value) for prefix, node in replay(log).items()]
    [('', 2, 0.9), ('x1', 1, 0.4), ('sin', 1, 0.9)]
    """
    nodes: dict[Prefix, Node] = {}
    for rollout in log:
        above = None
        for prefix in rollout.path:
            if prefix not in nodes:
                nodes[prefix] = Node(prefix, ended=prefix[-1:] == (END,))
                if above is not None:
                    above.children.append(nodes[prefix])
            above = nodes[prefix]
            above.visits, above.value = above.visits + 1, max(above.value, rollout.reward)
        above.prior = rollout.prior
    return nodes


def layout(root: Node) -> dict[Prefix, tuple[float, float]]:
    """Where the nodes below a root stand: leaves side by side in the order of their expansion, a parent above
    the middle of its children."""
    places: dict[Prefix, tuple[float, float]] = {}
    leaves = 0

    def visit(node: Node, depth: int) -> float:
        nonlocal leaves
        if node.children:
            across = [visit(child, depth + 1) for child in node.children]
            x = (across[0] + across[-1]) / 2
        else:
            x = float(leaves)
            leaves += 1
        places[node.prefix] = x, -DOWN * depth
        return x

    visit(root, 0)
    return places


def draw_rollout(ax: Axes, log: Sequence[Rollout], n: int, phase: Phase = "back-up") -> None:
    """Draw rollout number n (from 1) of a search of one problem up to a phase; all pictures of one root have
    the same layout.

    A node shows its token, and Q and N once it has them. Blue is the way that selection went, orange the
    token that expansion added with its p(a|s), green the completion that simulation wrote with its reward,
    and every value that back-up raised.
    """
    if not 1 <= n <= len(log):
        raise ValueError(f"there is no rollout {n}; the log has {len(log)}, counted from 1")
    now, stage = log[n - 1], PHASES.index(phase)
    root = now.written
    before, after = replay(log[: n - 1]), replay(log[:n])
    same_root = [rollout for rollout in log if rollout.written == root]
    whole = replay([*log[: n - 1], *same_root])  # only its shape is used
    places = layout(whole[root])
    new = now.path[-1] if now.path[-1] not in before else None
    shown = after if phase == "back-up" else before
    for prefix in (
        p for p in places if p in after and (p in before or p == root or (p == new and stage >= 1))
    ):
        x, y = places[prefix]
        on_path = prefix in now.path
        if prefix != root:
            ax.plot(
                *zip(places[prefix[:-1]], (x, y)),
                color=BLUE if on_path else GREY,
                lw=2.2 if on_path else 1,
                zorder=1,
            )
        face, ink = (ORANGE, "white") if prefix == new else (BLUE, "white") if on_path else (LIGHT, INK)
        text = (" ".join(prefix) or "start") if prefix == root else "end" if prefix[-1] == END else prefix[-1]
        ax.text(
            x,
            y,
            textwrap.fill(text, 24),
            ha="center",
            va="center",
            color=ink,
            fontsize=8.5,
            zorder=3,
            bbox={"boxstyle": "round,pad=0.3", "fc": face, "ec": "none"},
        )
        raised = phase == "back-up" and (prefix not in before or after[prefix].value > before[prefix].value)
        below = (
            f"p {now.prior:.2f}"
            if prefix == new and stage < 3
            else f"{shown[prefix].value:.3f} ({shown[prefix].visits})"
            if prefix in shown
            else ""
        )
        ax.text(
            x,
            y - 0.3,
            below,
            ha="center",
            va="top",
            fontsize=7,
            zorder=4,
            color=GREEN if raised else INK,
            weight="bold" if raised else "normal",
            bbox={"fc": "white", "ec": "none", "pad": 0.4},
        )
    if stage >= 2:
        _draw_completion(ax, now, places[now.path[-1]])
    across, down = [x for x, _ in places.values()], [y for _, y in places.values()]
    ax.set(xlim=(min(across) - 0.8, max(across) + 0.8), ylim=(min(down) - 1.7, 0.5))
    ax.set_axis_off()


def _draw_completion(ax: Axes, rollout: Rollout, place: tuple[float, float]) -> None:
    x, y = place
    text = to_infix(rollout.completion) if is_valid(rollout.completion) else "no expression"
    ax.plot([x, x], [y, y - 1.0], color=GREEN, lw=1.4, linestyle=":", zorder=2)
    ax.text(
        x,
        y - 0.85,
        f"{textwrap.fill(text, 17)}\nreward {rollout.reward:.3f}",
        ha="center",
        va="top",
        fontsize=7,
        color=GREEN,
        zorder=5,
        bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": GREEN, "lw": 0.6},
    )


def pool_over_time(log: Sequence[Iteration], shown: int = 24) -> tuple[list[Prefix], np.ndarray]:
    """Subtrees of the last pool in the order in which they entered, and their scores (n, T); nan before that.

    Of the `shown` ones half have the best scores, the others were met most often: the best alone would all
    have the same colour.

    >>> from nsr.search.strategies.gvs import Entry
    >>> x, sin = Entry(("x1",), 0.5, 1), Entry(("sin", "x1"), 0.9, 1)
    >>> log = [Iteration("", 1, 0, (), (), 0.5, (x,)), Iteration("", 2, 0, (), (), 0.9, (sin, x))]
    >>> pool_over_time(log)
    ([('x1',), ('sin', 'x1')], array([[0.5, 0.5],
           [nan, 0.9]]))
    """
    entered: dict[Prefix, int] = {}
    for iteration in log:
        for entry in iteration.pool:
            entered.setdefault(entry.subtree, iteration.t)
    best, rest = log[-1].pool[: shown // 2], log[-1].pool[shown // 2 :]
    chosen = [*best, *sorted(rest, key=lambda entry: -entry.count)[: shown - shown // 2]]
    trees = sorted((entry.subtree for entry in chosen), key=lambda tree: (entered[tree], len(tree)))
    row, scores = {tree: i for i, tree in enumerate(trees)}, np.full((len(trees), len(log)), np.nan)
    for column, iteration in enumerate(log):
        for entry in iteration.pool:
            if entry.subtree in row:
                scores[row[entry.subtree], column] = entry.score
    return trees, scores


def draw_pool(ax: Axes, log: Sequence[Iteration], truth: Prefix = (), shown: int = 24) -> AxesImage:
    """Draw the pool of one problem: a row per subtree, a column per iteration, the score as a colour.

    A dot means that the subtree stood in the prompt of that iteration: white if it came from the pool, black
    if the random expressions had it too. Subtrees of the `truth` have red names.
    """
    trees, scores = pool_over_time(log, shown)
    image = ax.imshow(
        scores,
        aspect="auto",
        cmap="viridis",
        vmin=0,
        vmax=1,
        extent=(0.5, len(log) + 0.5, len(trees) - 0.5, -0.5),
    )
    row = {tree: i for i, tree in enumerate(trees)}
    for iteration in log:
        for suggestion in iteration.prompt:
            if suggestion.subtree in row:
                colour = "white" if suggestion.source == "pool" else "black"
                ax.plot(
                    iteration.t,
                    row[suggestion.subtree],
                    "o",
                    color=colour,
                    markersize=3.5,
                    mec="black",
                    mew=0.4,
                )
    ax.set_yticks(range(len(trees)), [to_infix(tree) for tree in trees], fontsize=7)
    # a subtree is a slice
    own = {truth[i:j] for i in range(len(truth)) for j in range(i + 1, len(truth) + 1)}
    for label, tree in zip(ax.get_yticklabels(), trees):
        label.set_color(RED if tree in own else INK)
    ax.set(xlabel="iteration t")
    ax.grid(False)
    return image


def draw_fit(ax: Axes, problem: Problem, candidate: Candidate, colour: str = BLUE) -> None:
    """Draw every fresh point as a dot, the value of the truth against that of a candidate: a perfect one lies
    on the diagonal.

    Dots that are further off than half the range of the truth, infinities among them, stand at the border.
    """
    y = problem.y_fresh
    y_hat = evaluate(candidate.prefix, problem.X_fresh, candidate.constants)
    low, high, room = y.min(), y.max(), np.ptp(y) / 2
    ax.plot([low, high], [low, high], color=GREY, lw=0.8)
    ax.plot(y, np.clip(y_hat, low - room, high + room), ".", color=colour, markersize=4)
    ax.text(0.04, 0.9, f"$R^2$ {r2_text(r2_fresh(problem, candidate))}", transform=ax.transAxes, fontsize=8)
    ax.set(xlabel="truth", ylabel="answer", xticks=[], yticks=[])


def draw_beginnings(ax: Axes, formula: Prefix, tree: PrefixTree, most: int = 5) -> None:
    """The tokens with which the expressions of a tree go on from each beginning of a formula, and how many do,
    up to the formula's novel step."""
    novel = tree.novel_step(formula)
    for place in range(novel + 1):
        alike = tree.next(formula[:place])
        shown = sorted(alike, key=alike.__getitem__, reverse=True)[:most]
        if place < novel and formula[place] not in shown:
            shown[-1] = formula[place]
        for row, token in enumerate(shown):
            true = token == formula[place]
            look = {"color": INK, "weight": "bold"} if true else {"color": GREY}
            ax.text(place, -row, f"{token} {alike[token]}", ha="center", va="center", fontsize=8, **look)
    token = formula[novel] if novel < len(formula) else "END"
    ax.text(novel, 1, f"{token} 0", ha="center", va="center", color=NOVEL, weight="bold", fontsize=9)
    ax.axvline(novel - 0.5, color=NOVEL, lw=1.2, ls="--")
    ax.set(xlim=(-0.6, novel + 0.6), ylim=(-most, 1.6), yticks=[], xlabel="place in the formula")
    ax.set_title(f"{to_infix(formula)}: no training formula goes on with {token}", fontsize=10)


def draw_tokens(ax: Axes, tokens: Sequence[str], values: Sequence[float], novel: int) -> None:
    """A bar per token of a formula; the one at the novel step has its own colour."""
    ax.bar(
        range(len(tokens)), values, color=[NOVEL if place == novel else GREY for place in range(len(tokens))]
    )
    ax.set_xticks(range(len(tokens)), tokens, fontsize=8)
