"""Pictures of a search, drawn from the log that `TPSR(watch=log.append)` or `GVS(watch=log.append)` keeps;
and of what it found: how it fits, and where it stands in the training set."""

from __future__ import annotations

import textwrap
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, get_args

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from nsr.data.problems import Problem
from nsr.evidence.figures import BLUE, COPIED, GREY, INK, LIGHT, NOVEL, ORANGE, draw_tree
from nsr.formulas.distance import nearest
from nsr.formulas.equivalence import template_of
from nsr.formulas.expressions import END, Prefix, Template, is_valid, subtrees
from nsr.formulas.notation import to_infix
from nsr.formulas.prefix_trees import PrefixTree
from nsr.numbers.evaluation import evaluate
from nsr.search.oracle import Candidate, r2_fresh
from nsr.search.result import Result, r2_text
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

    A node shows its token, and Q and N once it has them. Dark is the way that selection went, and in TPSR's
    colour is the token that expansion added with its p(a|s). A frame holds the completion that simulation
    wrote with its reward, and bold is every value that back-up raised.
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
                color=INK if on_path else GREY,
                lw=2.2 if on_path else 1,
                zorder=1,
            )
        face, ink = (ORANGE, INK) if prefix == new else (INK, "white") if on_path else (LIGHT, INK)
        text = (" ".join(prefix) or "start") if prefix == root else "end" if prefix[-1] == END else prefix[-1]
        ax.text(
            x,
            y,
            textwrap.fill(text, 24),
            ha="center",
            va="center",
            color=ink,
            fontsize=10,
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
            y - 0.33,
            below,
            ha="center",
            va="top",
            fontsize=8.5,
            zorder=4,
            color=INK,
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
    ax.plot([x, x], [y, y - 1.0], color=INK, lw=1.4, linestyle=":", zorder=2)
    ax.text(
        x,
        y - 0.85,
        f"{textwrap.fill(text, 17)}\nreward {rollout.reward:.3f}",
        ha="center",
        va="top",
        fontsize=8.5,
        zorder=5,
        bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": INK, "lw": 0.6},
    )


def draw_walks(ax: Axes, every: Iterable[Prefix], own: Mapping[Prefix, bool], colour: str) -> None:
    """Draw the tree of the beginnings of `every` formula from left to right, and over it, in colour, the part
    that leads to a search's `own` formulas. A dot ends each of these: whether it is novel is its value.

    All searches that are drawn over the same tree have the same layout. The first two tokens are written
    where there is room.
    """
    formulas = sorted(set(every))
    rows: dict[Prefix, list[int]] = {}  # beginning → the rows of the formulas that begin with it
    for row, formula in enumerate(formulas):
        for n in range(len(formula) + 1):
            rows.setdefault(formula[:n], []).append(row)
    place = {  # the first two steps are wide, for their tokens
        prefix: (len(prefix) + 1.6 * min(len(prefix), 2), -(some[0] + some[-1]) / 2)
        for prefix, some in rows.items()
    }
    walked = {formula[:n] for formula in own for n in range(len(formula) + 1)}
    for prefix in sorted(rows, key=lambda prefix: prefix in walked):
        on = prefix in walked
        if prefix:
            line = {"color": colour, "lw": 1.5} if on else {"color": LIGHT, "lw": 1}
            ax.plot(*zip(place[prefix[:-1]], place[prefix]), **line, zorder=1 + on)
        if on and 1 <= len(prefix) <= 2 and len(rows[prefix]) > 3 * (len(prefix) - 1):
            box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"}
            ax.text(*place[prefix], prefix[-1], fontsize=8, ha="center", va="center", bbox=box, zorder=4)
    for formula, novel in own.items():
        ax.plot(*place[formula], "o", color=NOVEL if novel else COPIED, markersize=4, zorder=3)
    ax.set_axis_off()


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
    if the random expressions had it too. Subtrees of the `truth` have bold names.
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
        label.set_weight("bold" if tree in own else "normal")
    ax.set(xlabel="iteration t")
    ax.grid(False)
    return image


def draw_loop(ax: Axes, log: Sequence[Iteration], t: int, shown: int = 6) -> None:
    """Draw iteration t (from 1) of an NSR-gvs search as a loop of four boxes: the prompt that was drawn, the
    formula that the network wrote, its verification, and the best of the pool after it.

    A subtree of the pool has a dot before it, a random one a ring; one that the prediction contains a tick.
    """
    now = log[t - 1]
    best = max(iteration.reward for iteration in log[:t])
    taken = subtrees(now.prediction) if is_valid(now.prediction) else []
    prompt = [
        f"{'●' if one.source == 'pool' else '○'} {to_infix(one.subtree)}{'  ✓' * (one.subtree in taken)}"
        for one in now.prompt
    ]
    pool = [f"z {entry.score:.2f}, c {entry.count}:  {to_infix(entry.subtree)}" for entry in now.pool]
    wrote = to_infix(now.prediction) if is_valid(now.prediction) else "nothing"
    boxes = {
        "prompt": ((0, 1), [*prompt[:shown], "…"][: len(prompt)] or ["(empty)"]),
        "prediction": ((1, 1), textwrap.wrap(wrote, 30)),
        "verification": ((1, 0), [f"R² {now.reward:.3f}", f"best so far {best:.3f}"]),
        "pool": (
            (0, 0),
            [
                *(textwrap.shorten(line, 44, placeholder=" …") for line in pool[:shown]),
                f"{len(pool)} subtrees",
            ],
        ),
    }
    for name, ((x, y), lines) in boxes.items():
        ax.text(x, y + 0.42, name, weight="bold", fontsize=11, va="top")
        ax.text(x, y + 0.3, "\n".join(lines), fontsize=9, va="top", linespacing=1.35)
    for start, end in (
        ((0.66, 1.36), (0.94, 1.36)),
        ((1.15, 0.85), (1.15, 0.5)),
        ((0.94, 0.36), (0.66, 0.36)),
    ):
        ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": GREY, "lw": 1.6})
    ax.annotate("", (0.15, 0.62), (0.15, 0.47), arrowprops={"arrowstyle": "->", "color": GREY, "lw": 1.6})
    ax.set(xlim=(0, 1.75), ylim=(-0.5, 1.5))
    ax.set_axis_off()


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


def draw_answer(axes: np.ndarray, result: Result, known: Collection[Template]) -> None:
    """One problem and its answer on four axes: the fit on fresh points, the true template, the template of the
    answer (red if it is a copy), and the `known` template that is nearest to the truth.
    """
    fit, true, written, near = axes.ravel()
    truth, answer = template_of(result.problem.truth), template_of(result.answer.prefix)
    colour = COPIED if answer in known else NOVEL
    distance, neighbour = nearest(truth, known)
    draw_fit(fit, result.problem, result.answer, colour)
    draw_tree(true, truth, colour=GREY)
    draw_tree(written, answer, colour=colour)
    draw_tree(near, neighbour, colour=COPIED)
    fit.set_title("values at fresh points", fontsize=9)
    true.set_title("the true template", fontsize=9)
    written.set_title(f"the answer's template: {'copied' if answer in known else 'new'}", fontsize=9)
    away = f"{distance} token{'s' * (distance != 1)} away"
    near.set_title(f"nearest training template, {away}", fontsize=9)


Moment = tuple[Mapping[Prefix, float], Sequence[Prefix]]  # of a beam: alive with log-probability, and ended


def beam_layout(moments: Sequence[Moment]) -> dict[Prefix, int]:
    """The row of every prefix that a beam ever held: leaves below each other, a parent beside its most
    probable child.

    >>> beam_layout([({("a",): -1.0, ("b",): -0.5}, []), ({("a", "b"): -2.0}, [("b",)])])
    {('b',): 0, ('a', 'b'): 1, ('a',): 1, (): 0}
    """
    held = {prefix: log_prob for alive, _ in moments for prefix, log_prob in alive.items()}
    nodes = {prefix[:n] for prefix in held for n in range(1, len(prefix) + 1)}
    rows: dict[Prefix, int] = {}
    leaves = 0

    def visit(prefix: Prefix) -> None:
        nonlocal leaves
        children = sorted(
            (node for node in nodes if node[:-1] == prefix), key=lambda node: (-held.get(node, 0.0), node)
        )
        for child in children:
            visit(child)
        rows[prefix] = rows[children[0]] if children else leaves
        leaves += not children

    visit(())
    return rows


def draw_beam(ax: Axes, moments: Sequence[Moment], n: int, notes: Mapping[Prefix, str]) -> None:
    """A beam after n tokens as a tree that grows to the right: blue is alive, grey was given up, a square marks
    a formula that has ended and is kept, with its note. All pictures of one beam have the same layout.
    """
    rows, (alive, ended) = beam_layout(moments), moments[n - 1]
    ways = {prefix[:k] for prefix in [*alive, *ended] for k in range(len(prefix) + 1)}
    for prefix, row in rows.items():
        if not 0 < len(prefix) <= n:
            continue
        x, useful = len(prefix), prefix in ways
        colour = BLUE if useful else LIGHT
        ax.plot([x - 1, x - 0.6, x], [rows[prefix[:-1]], row, row], color=colour, lw=1.6, zorder=1)
        ink = INK if useful else GREY
        box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": BLUE if prefix in alive else "none"}
        ax.text(x, row, prefix[-1], ha="center", va="center", fontsize=8, zorder=2, color=ink, bbox=box)
        if prefix in ended:
            text = f"■ {notes.get(prefix, '')}"
            ax.text(x + 0.35, row, text, va="center", fontsize=8, color=BLUE, weight="bold", zorder=3)
    ax.set(xlim=(0, 2.2 + max(map(len, rows))), ylim=(max(rows.values()) + 0.6, -0.6))
    ax.plot(
        ax.get_xlim(), ax.get_ylim(), alpha=0
    )  # nothing to see, but all pictures are cut to the same size
    ax.set_axis_off()


def around(template: Template, templates: Iterable[Template], beside: int = 2) -> list[tuple[int, Template]]:
    """The lines of the sorted training templates around the one where a template stands, or would stand;
    lines are counted from 1.

    >>> around(("sin", "x1"), [("x1",), ("exp", "x1"), ("sin", "x1")], beside=1)
    [(1, ('exp', 'x1')), (2, ('sin', 'x1')), (3, ('x1',))]
    """
    known = sorted(templates)
    place = bisect_left(known, template)
    first = max(0, place - beside)
    return list(enumerate(known[first : place + beside + 1], start=first + 1))


def copy_picture(result: Result, templates: Iterable[Template]) -> Figure:
    """The points of a problem of one variable, the curves of its formula and of the answer; and below them
    the lines of the training set where the answer's template stands."""
    problem, answer = result.problem, result.answer
    templates = set(templates)
    written = template_of(answer.prefix)
    said, colour = ("copied", COPIED) if written in templates else ("novel", NOVEL)
    figure, (ax, page) = plt.subplots(2, 1, figsize=(6.2, 5.2), height_ratios=[1.5, 1])
    x = np.linspace(problem.X[:, 0].min(), problem.X[:, 0].max(), 600)
    grid = np.column_stack([x, np.zeros((len(x), problem.X.shape[1] - 1))])
    room = 0.15 * np.ptp(problem.y)
    ax.plot(x, evaluate(problem.truth, grid, problem.truth_constants), color=INK, lw=1.2, label="the formula")
    ax.plot(x, evaluate(answer.prefix, grid, answer.constants), "--", color=colour, label="the answer")
    ax.plot(problem.X[:, 0], problem.y, "o", color=GREY, markersize=4.5, label=f"{len(problem.y)} points")
    ax.set(xlabel="$x_1$", ylabel="y", ylim=(problem.y.min() - room, problem.y.max() + 2.2 * room))
    ax.legend(ncols=3, loc="upper center")
    ax.set_title(f"The answer is {said}, $R^2$ = {r2_text(result.r2)}")
    lines = [
        ("formula", to_infix(problem.truth, problem.truth_constants or None, digits=3), INK),
        ("answer", to_infix(answer.prefix, answer.constants or None, digits=3), colour),
        ("", f"training set, {len(templates):,} lines:", GREY),
    ]
    lines += [
        (f"{number:,}", to_infix(one), colour if one == written else GREY)
        for number, one in around(written, templates)
    ]
    for row, (name, text, ink) in enumerate(lines):
        look = {"va": "top", "color": ink, "weight": "bold" if ink == colour else "normal"}
        page.text(0.13, -row, name, ha="right", fontsize=9, **look)
        page.text(0.16, -row, textwrap.shorten(text, 62, placeholder=" …"), fontsize=9.5, **look)
    page.set(xlim=(0, 1), ylim=(-len(lines), 0.2))
    page.set_axis_off()
    return figure
