"""Pictures for the theory: a formula on its way to a last-token problem, circuits, and the classes they
belong to."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from nsr.evidence.figures import BLUE, GREEN, GREY, INK, LIGHT, ORANGE, PINK, RED, SKY, YELLOW
from nsr.theory.boolean import AND, NOT, OR
from nsr.theory.circuits import Circuit, levels
from nsr.theory.reduction import or_free, reduce_formula, to_prefix, to_tokens

SIGNS = {"add": "+", "sub": "−", "mul": "×", "x1": "x₁", "x2": "x₂"}
CHIP = {AND: BLUE, OR: ORANGE, NOT: RED, "0": GREEN, "1": GREEN, "(": LIGHT, ")": LIGHT, "u": PINK}
GATE = {"INPUT": LIGHT, "NOT": RED, "AND": BLUE, "OR": ORANGE, "MAJ": GREEN, "THR": GREEN}
PER_ROW = 40
CENTRED = {"ha": "center", "va": "center"}


def _box(ax: Axes, x: float, y: float, width: float, height: float, rounding: float, **look) -> None:
    """A box with round corners; x and y are its lower left corner."""
    style = f"round,pad=0,rounding_size={rounding}"
    ax.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=style, **look))


def _chips(ax: Axes, y: float, words: Sequence[str], colours: Sequence[str]) -> float:
    """Words as coloured chips from left to right, wrapped; returns the y of the next free row."""
    for i, (word, colour) in enumerate(zip(words, colours, strict=True)):
        row, column = divmod(i, PER_ROW)
        dark = colour not in (LIGHT, YELLOW, SKY)
        _box(ax, column + 0.08, y - row - 0.4, 0.84, 0.8, 0.15, fc=colour, ec="none")
        ax.text(column + 0.5, y - row, word, **CENTRED, fontsize=8, color="white" if dark else INK)
    return y - (len(words) - 1) // PER_ROW - 1


def reduction_picture(formula: str, max_chips: int = 3 * PER_ROW) -> Figure:
    """The four texts of the reduction, one below the other in the same colours, and the loss of every leaf."""
    problem = reduce_formula(formula)
    symbols = to_prefix(or_free(formula))
    tokens, colours = ["+"], [GREY]
    for symbol in symbols:
        for token in to_tokens((symbol,)):
            tokens.append(SIGNS[token])
            colours.append(CHIP[symbol])
    rows = [
        ("formula t", list(formula), [CHIP[s] for s in formula]),
        ("∨-free t′", list(or_free(formula)), [CHIP[s] for s in or_free(formula)]),
        ("prefix", list(symbols), [CHIP[s] for s in symbols]),
        ("tokens s̃, then u", tokens + ["u"], colours + [CHIP["u"]]),
    ]
    cut = lambda parts, end: parts[:max_chips] + [end] * (len(parts) > max_chips)
    rows = [(name, cut(words, "…"), cut(chips, LIGHT)) for name, words, chips in rows]
    lines = sum((len(words) - 1) // PER_ROW + 1 for _, words, _ in rows)
    size = (10, 0.9 + 0.33 * (lines + 0.4 * len(rows)))
    figure, (ax, bars) = plt.subplots(1, 2, figsize=size, width_ratios=[5, 1])
    y = 0.0
    for name, words, chip_colours in rows:
        ax.text(-0.5, y, name, ha="right", va="center", fontsize=9)
        y = _chips(ax, y, words, chip_colours) - 0.4
    ax.set_xlim(-8, PER_ROW + 0.5)
    ax.set_ylim(y + 0.4, 0.8)
    ax.set_axis_off()
    answer = problem.solve()
    ax.set_title(f"The best last token is {SIGNS[answer]}, so the formula is {int(answer == 'x2')}")
    losses = problem.losses()
    best = [GREEN if leaf == answer else LIGHT for leaf in losses]
    bars.barh(range(len(losses)), list(losses.values()), color=best)
    for i, loss in enumerate(losses.values()):
        bars.text(loss + 0.04, i, f"{loss:.3g}", va="center", fontsize=8)
    bars.set_yticks(range(len(losses)), [SIGNS.get(leaf, leaf) for leaf in losses])
    bars.invert_yaxis()
    bars.set_xlim(0, 1.3)
    bars.set_xlabel("loss")
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


def draw_classes(ax: Axes) -> None:
    """AC⁰ ⊊ TC⁰ ⊆ NC¹, and where each step of the proof sits."""
    boxes = [
        ((0.0, 0.0, 11.6, 7.6), "NC¹", "logarithmic depth, fan-in 2", "#EAF1F7"),
        ((0.4, 0.4, 8.2, 6.2), "TC⁰", "constant depth, with majority", "#D3E3F0"),
        ((0.8, 0.8, 3.7, 4.8), "AC⁰", "constant depth", "#B5D0E6"),
    ]
    for (x, y, width, height), name, about, colour in boxes:
        line = "--" if name == "TC⁰" else "-"
        _box(ax, x, y, width, height, 0.3, fc=colour, ec=BLUE, lw=1.2, ls=line)
        ax.text(x + 0.25, y + height - 0.42, name, fontsize=12, fontweight="bold", va="center")
        ax.text(x + 1.35, y + height - 0.44, about, fontsize=8, va="center", color=INK)
    notes = [
        (2.65, 4.1, "step 2: prefix order,\nup to blanks", INK),
        (2.65, 2.9, "step 3: symbols → tokens", INK),
        (2.65, 1.8, "step 4: prepend +,\nattach two points", INK),
        (6.55, 4.9, "step 1: ∨-elimination\n(bracket matching)", INK),
        (6.55, 3.7, "closing the gaps\n(counting)", INK),
        (6.55, 2.6, "majority, parity", INK),
        (6.55, 1.4, "log-precision Transformers", RED),
        (10.1, 3.8, "Boolean\nformula value\n(complete)", RED),
        (14.2, 3.8, "LastToken-\nPrediction:\nat least as hard", RED),
        (10.1, 6.0, "equal to TC⁰? open;\nassumed not", GREY),
    ]
    for x, y, words, colour in notes:
        ax.text(x, y, words, **CENTRED, fontsize=8.5, color=colour)
    ax.annotate("", (13.0, 3.8), (11.1, 3.8), arrowprops={"arrowstyle": "->", "color": RED, "lw": 1.5})
    ax.text(12.2, 4.15, "steps 1–4", fontsize=8, color=RED, ha="center")
    ax.set_xlim(-0.1, 15.5)
    ax.set_ylim(-0.1, 7.7)
    ax.set_axis_off()


def bracket_picture(text: str, to_right) -> Figure:
    """A text, the height of its brackets, and the pairs that a circuit found: to_right (n, n) bool."""
    heights, height = [], 0
    for symbol in text:
        height += {"(": 1, ")": -1}.get(symbol, 0)
        heights.append(height)
    figure, ax = plt.subplots(figsize=(8, 2.9))
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
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
    looks = [(BLUE, "o"), (GREEN, "s"), (SKY, "^"), (ORANGE, "D"), (GREY, "x")]
    for (name, rows), (colour, marker) in zip(growth.groupby("family", sort=False), looks, strict=True):
        left.plot(rows.n, rows.depth, marker=marker, color=colour, label=name)
        right.plot(rows.n, rows.gates, marker=marker, color=colour)
    left.set(xscale="log", xlabel="symbols n", ylabel="depth", ylim=(0, 42))
    left.set_title("The reduction stays flat, evaluation grows")
    right.set(xscale="log", yscale="log", xlabel="symbols n", ylabel="gates")
    right.set_title("Both need polynomially many gates")
    left.legend(fontsize=8)
    return figure


def experiment_picture(table, titles: Sequence[str] = ("Familiar formulae", "Longer formulae")) -> Figure:
    """Accuracy against formula depth, a line per network depth: a table with n_layers, seed, kind, depth, n,
    right."""
    # 0 layers is the counting baseline.
    blues = [GREY, "#c6dbef", "#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#08306b"]
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True)
    for ax, kind, title in zip(axes, ("familiar", "longer"), titles, strict=True):
        here = table[table.kind == kind].assign(accuracy=lambda rows: rows.right / rows.n)
        for n_layers, rows in here.groupby("n_layers"):
            mean = rows.groupby("depth").accuracy.mean()
            name = "token counts only" if n_layers == 0 else f"{n_layers} layer{'s' * (n_layers > 1)}"
            ax.plot(mean.index, mean, color=blues[n_layers], ls="-" if n_layers else "--", label=name)
            ax.scatter(rows.depth, rows.accuracy, color=blues[n_layers], s=9)
        ax.axhline(0.5, color=RED, lw=1, ls=":")
        ax.text(ax.get_xlim()[1], 0.508, "chance", color=RED, ha="right", va="bottom", fontsize=8)
        ax.set(xlabel="depth of the formula", xticks=sorted(here.depth.unique()), title=title)
        ax.set_ylim(0.4, 1.03)
    axes[0].set_ylabel("right answers")
    axes[1].legend(fontsize=8, ncols=2)
    return figure
