"""Pictures for the theory: a formula on its way to a last-token problem, circuits, and the classes they
belong to."""

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from nsr.evidence.figures import BLUE, GREEN, GREY, INK, LIGHT, ORANGE, RED, SKY
from nsr.theory.boolean import AND, NOT, OR, Formula
from nsr.theory.circuits import Circuit, levels
from nsr.theory.reduction import TOKENS_OF, or_places, reduce_formula

SIGNS = {"add": "+", "sub": "−", "mul": "×", "x1": "x₁", "x2": "x₂"}
CHIP = {AND: BLUE, OR: ORANGE, NOT: RED, "0": "#00735A", "1": "#00735A", "(": LIGHT, ")": LIGHT}
GATE = {"INPUT": LIGHT, "NOT": RED, "AND": BLUE, "OR": ORANGE, "MAJ": GREEN, "THR": GREEN}
CENTRED = {"ha": "center", "va": "center"}

Traced = list[tuple[str, int]]  # symbols, each with the place of the symbol above it that it comes from


def _box(ax: Axes, x: float, y: float, width: float, height: float, rounding: float, **look) -> None:
    """A box with round corners; x and y are its lower left corner."""
    style = f"round,pad=0,rounding_size={rounding}"
    ax.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=style, **look))


def traced(formula: Formula) -> list[Traced]:
    """The four texts of the reduction below the formula's own; every symbol knows from which one it comes.

    >>> for row in traced("(0∨1)"):
    ...     print(" ".join(symbol for symbol, _ in row))
    ( 0 ∨ 1 )
    ¬ ( ¬ 0 ∧ ¬ 1 )
    ¬ ∧ ¬ 0 ¬ 1
    sub sub x1 x2 mul sub sub x1 x2 mul x1 x2 sub sub x1 x2 sub x1 x2
    """
    edited, brackets = [[symbol] for symbol in formula], []
    for left, at, _ in or_places(formula):
        edited[left], edited[at] = [NOT, "(", NOT], [AND, NOT]
    free = [(symbol, i) for i, part in enumerate(edited) for symbol in part]
    ordered: list = []
    for i, (symbol, _) in enumerate(free):
        if symbol == "(":
            brackets.append(len(ordered))
            ordered.append(None)
        elif symbol == ")":
            brackets.pop()
        elif symbol == AND:
            ordered[brackets[-1]] = AND, i
        else:
            ordered.append((symbol, i))
    prefix = [one for one in ordered if one]
    tokens = [(token, i) for i, (symbol, _) in enumerate(prefix) for token in TOKENS_OF[symbol]]
    return [[(symbol, -1) for symbol in formula], free, prefix, tokens]


def reduction_picture(formula: Formula) -> Figure:
    """The four texts of the reduction, one below the other, a line from every symbol to what it becomes; and
    below them the loss of every leaf."""
    problem, rows = reduce_formula(formula), traced(formula)
    rows[3] = [("add", -1), *rows[3], ("u", -1)]
    wide = max(len(row) for row in rows)
    figure, (ax, bars) = plt.subplots(2, 1, figsize=(6, 4.4), height_ratios=[3.4, 1])
    names = ["formula t", "1  without ∨", "2  prefix order", "3, 4  tokens s̃, u"]
    before: list[float] = []
    colours: list[str] = []
    for level, (row, name) in enumerate(zip(rows, names, strict=True)):
        y, places = -1.7 * level, [(i + 0.5) * wide / len(row) for i in range(len(row))]
        own = [CHIP.get(symbol) or (colours[up] if up >= 0 else GREY) for symbol, up in row]
        for x, (symbol, up), colour in zip(places, row, own, strict=True):
            if up >= 0:
                line = GREY if colour == LIGHT else colour
                ax.plot([before[up], x], [y + 1.3, y + 0.4], color=line, lw=1.1, alpha=0.8, zorder=1)
            _box(ax, x - 0.42, y - 0.4, 0.84, 0.8, 0.15, fc=colour, ec="none")
            ink = INK if colour in (LIGHT, ORANGE) else "white"
            ax.text(x, y, SIGNS.get(symbol, symbol), **CENTRED, fontsize=9, color=ink)
        ax.text(-0.4, y, name, ha="right", va="center", fontsize=9)
        before, colours = places, own
    ax.set(xlim=(-0.3 * wide, wide), ylim=(-5.7, 0.6))
    ax.set_axis_off()
    answer = problem.solve()
    truth = ("false", "true")[answer == "x2"]
    ax.set_title(f"The best last token is {SIGNS[answer]}: the formula is {truth}")
    losses = problem.losses()
    bars.barh(range(len(losses)), list(losses.values()), height=0.6, color=GREY)
    for i, (leaf, loss) in enumerate(losses.items()):
        words = f"{loss:.3g}" + ", the best" * (leaf == answer)
        bars.text(loss + 0.02, i, words, va="center", weight="bold" if leaf == answer else "normal")
    bars.set_yticks(range(len(losses)), [f"u = {SIGNS.get(leaf, leaf)}" for leaf in losses])
    bars.invert_yaxis()
    bars.set(xlim=(0, 1.3), xlabel="loss")
    bars.grid(False)
    return figure


def draw_circuit(ax: Axes, circuit: Circuit, title: str = "") -> None:
    """A small circuit from the inputs on the left to the outputs on the right; gates that reach no output are
    left out."""
    used, todo = set(), list(circuit.outputs)
    while todo:
        i = todo.pop()
        if i not in used:
            used.add(i)
            todo += circuit.gates[i].inputs
    used |= {i for i, gate in enumerate(circuit.gates) if gate.kind == "INPUT"}
    level = levels(circuit)
    place = {}
    for stage in range(level.max(initial=0) + 1):
        members = [i for i in sorted(used) if level[i] == stage]
        for row, i in enumerate(members):
            place[i] = (stage, (len(members) - 1) / 2 - row)
    tallest = max(abs(y) for _, y in place.values()) or 1.0
    counts = {s: sum(x == s for x, _ in place.values()) for s in range(level.max(initial=0) + 1)}
    place = {i: (x, y * (2 * tallest / max(counts[x] - 1, 2 * tallest))) for i, (x, y) in place.items()}
    n_inputs = sum(gate.kind == "INPUT" for gate in circuit.gates)
    names = circuit.names or [f"{i + 1}" for i in range(n_inputs)]
    for i, (x, y) in place.items():
        for j in set(circuit.gates[i].inputs):
            # A wire over several levels goes around the gates between.
            bend = 0.0 if x - place[j][0] == 1 else -0.25
            look = {"arrowstyle": "-", "connectionstyle": f"arc3,rad={bend}", "color": GREY, "lw": 0.6}
            ax.add_patch(FancyArrowPatch(place[j], (x, y), **look, alpha=0.7, zorder=1))
        gate = circuit.gates[i]
        name, ink = gate.kind, "white"
        if gate.kind == "INPUT":
            name, ink = names[i], INK
        elif gate.kind == "THR":
            name = f"≥{gate.threshold}"
        frame = {"fc": GATE[gate.kind], "ec": INK if i in circuit.outputs else "none", "lw": 1.2}
        box = {"boxstyle": "round,pad=0.25", **frame}
        ax.text(x, y, name, **CENTRED, fontsize=7, color=ink, zorder=2, bbox=box)
    ax.set_title(title)
    ax.set_xlim(-0.4, level.max() + 0.4)
    ax.set_ylim(-tallest - 0.6, tallest + 0.6)
    ax.set_axis_off()


def classes_picture() -> Figure:
    """TC⁰ inside NC¹, what lies in each, and the last token, which is at least as hard as formula values."""
    figure, ax = plt.subplots(figsize=(6.4, 3.4))
    _box(ax, 0.0, 0.0, 8.6, 5.6, 0.3, fc="#EAF1F7", ec=BLUE, lw=1.2)
    _box(ax, 0.4, 0.4, 4.6, 3.8, 0.3, fc="#CFE0EF", ec=BLUE, lw=1.2, ls="--")
    log = "depth grows like the logarithm of n"
    for x, y, name, about in ((0.3, 5.1, "NC¹", log), (0.7, 3.7, "TC⁰", "constant depth")):
        ax.text(x, y, name, fontsize=12, fontweight="bold", va="center")
        ax.text(x + 1.15, y, about, fontsize=9, va="center")
    ax.text(2.7, 2.5, "Transformers of depth D", **CENTRED, fontsize=9.5)
    ax.text(2.7, 1.4, "the reduction,\nsteps 1 to 4", **CENTRED, fontsize=9.5)
    ax.text(6.8, 2.3, "values of\nBoolean formulas,\nthe hardest in NC¹", **CENTRED, fontsize=9.5)
    ax.text(11.35, 2.3, "the last token:\nat least\nas hard", **CENTRED, fontsize=9.5, weight="bold")
    ax.annotate("", (9.9, 2.3), (8.4, 2.3), arrowprops={"arrowstyle": "->", "color": INK, "lw": 1.5})
    ax.text(9.3, 2.85, "steps 1–4", fontsize=8.5, ha="center")
    ax.set(xlim=(-0.1, 12.6), ylim=(-0.1, 5.7))
    ax.set_axis_off()
    ax.set_title("If TC⁰ and NC¹ differ, no constant depth is enough for the last token")
    return figure


def bracket_picture(text: str, to_right) -> Figure:
    """A text, the height of its brackets, and the pairs that a circuit found: to_right (n, n) bool."""
    heights, height = [], 0
    for symbol in text:
        height += {"(": 1, ")": -1}.get(symbol, 0)
        heights.append(height)
    figure, ax = plt.subplots(figsize=(7, 2.9))
    ax.step(range(len(text)), heights, where="mid", color=GREY, lw=1.2)
    for i, symbol in enumerate(text):
        ax.text(i, -0.25, symbol, ha="center", va="top", fontsize=12, color=RED if symbol == OR else INK)
        for j in range(len(text)):
            if symbol == "(" and to_right[i, j]:
                low = -1.5 - 0.12 * (j - i)
                ax.plot([i, i, j, j], [-1.2, low, low, -1.2], color=BLUE, lw=1.2)
    ax.set(xlabel="position k", ylabel="height E(1, k)", yticks=range(max(heights) + 1))
    ax.set_ylim(-1.8 - 0.12 * len(text), max(heights) + 0.6)
    ax.set_title("Pairs found by a circuit that only counts")
    ax.grid(False)
    return figure


def growth_picture(growth) -> Figure:
    """Depth and gates of families of circuits: a table with the columns family, n, depth, gates."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.4))
    looks = [(BLUE, "o"), (GREEN, "s"), (SKY, "^"), (ORANGE, "D"), (GREY, "x")]
    for (name, rows), (colour, marker) in zip(growth.groupby("family", sort=False), looks, strict=True):
        left.plot(rows.n, rows.depth, marker=marker, color=colour, label=name)
        right.plot(rows.n, rows.gates, marker=marker, color=colour)
    left.set(xscale="log", xlabel="symbols n", ylabel="depth", ylim=(0, 42))
    left.set_title("Depth: level, or growing")
    right.set(xscale="log", yscale="log", xlabel="symbols n", ylabel="gates")
    right.set_title("Gates: polynomially many")
    left.legend(fontsize=8)
    return figure


def experiment_picture(table) -> Figure:
    """Accuracy against formula depth, a line for some of the network depths: a table with n_layers, seed,
    kind, depth, n, right."""
    # 0 layers is the counting baseline.
    blues = {0: GREY, 1: "#9ecae1", 2: "#4292c6", 3: "#2171b5", 6: "#08306b"}
    figure, axes = plt.subplots(1, 2, figsize=(7.4, 3.4), sharey=True)
    table = table.assign(accuracy=table.right / table.n)
    for ax, kind in zip(axes, ("familiar", "longer"), strict=True):
        here = table[(table.kind == kind) & table.n_layers.isin(blues)]
        for n_layers, rows in here.groupby("n_layers"):
            mean = rows.groupby("depth").accuracy.mean()
            name = "token counts only" if n_layers == 0 else f"{n_layers} layer{'s' * (n_layers > 1)}"
            ax.plot(mean.index, mean, color=blues[n_layers], ls="-" if n_layers else "--", label=name)
            ax.scatter(rows.depth, rows.accuracy, color=blues[n_layers], s=9)
        ax.axhline(0.5, color=RED, lw=1, ls=":")
        ax.text(ax.get_xlim()[0], 0.49, " guessing", color=RED, va="top", fontsize=8)
        ax.set(xlabel="depth of the formula", xticks=sorted(here.depth.unique()))
        ax.set_title(f"{kind.capitalize()} formulas")
        ax.set_ylim(0.4, 1.03)
    axes[0].set_ylabel("right answers")
    axes[1].legend(fontsize=8, ncols=2)
    return figure
