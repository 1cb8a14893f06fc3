"""One style for every picture: a title that states the finding, axes with units, one colour and marker per
strategy."""

import io
from collections.abc import Collection, Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
from IPython.display import Image, display
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nsr.book.run_records import figure_dir
from nsr.formulas.expressions import CONSTANT, Prefix, arity

# Okabe and Ito's palette: told apart with any kind of colour vision, and in grey by the marker.
INK, GREY, LIGHT = "#1d2430", "#7b8794", "#dfe4ea"
BLUE, SKY, GREEN, YELLOW, ORANGE, RED, PINK = (
    "#0072B2",
    "#56B4E9",
    "#009E73",
    "#E6C229",
    "#E69F00",
    "#D55E00",
    "#CC79A7",
)

# for close relatives
WINE, VIOLET, LILAC, TEAL, SAND, BROWN, OLIVE = (
    "#882255",
    "#6A51A3",
    "#B39DDB",
    "#44AA99",
    "#BBAA55",
    "#8C5A2B",
    "#5A6B1E",
)

# What an answer is, and where a problem comes from: no strategy has these colours.
COPIED, NOVEL = "#B2182B", "#332288"
SET_STYLES = {
    "not_included": (INK, "o"),
    "baseline": ("#5B6776", "s"),
    "not_included_matched": ("#A3ADB8", "^"),
}

STRATEGIES: dict[str, tuple[str, str]] = {  # strategy → colour, marker; the same in every notebook
    "beam": (BLUE, "o"),
    "tpsr": (ORANGE, "s"),
    "gvs": (GREEN, "^"),
    "gvs+tpsr": (RED, "D"),
    "nsrwh": (PINK, "v"),
    "nsrwh-none": ("#8497B0", "d"),
    "nsrwh-complexity": (VIOLET, "<"),
    "nsrwh-symmetry": (LILAC, ">"),
    "nsrwh-positives": (PINK, "v"),
    "nsrwh-negatives": (GREY, "h"),
    "nsrwh-all": (WINE, "*"),
    "families": (SKY, "P"),
    "families+tpsr": (SAND, "P"),
    "families+gvs": (TEAL, "P"),
    "off-tree": (OLIVE, "8"),
    "families+off-tree": (OLIVE, "P"),
    "last-leaf": (BROWN, "p"),
    "local": (YELLOW, "X"),
    "local-random": (INK, "X"),
}
NAMES = {
    "beam": "beam search",
    "tpsr": "TPSR",
    "gvs": "NSR-gvs",
    "gvs+tpsr": "NSR-gvs + TPSR",
    "nsrwh": "NSRwH",
    **{
        f"nsrwh-{given}": f"NSRwH: {given}"
        for given in ("none", "complexity", "symmetry", "positives", "negatives", "all")
    },
    "families": "families",
    "families+tpsr": "families + TPSR",
    "families+gvs": "families + NSR-gvs",
    "off-tree": "off-tree search",
    "families+off-tree": "families + off-tree search",
    "last-leaf": "last leaf",
    "local": "local search",
    "local-random": "local search, no network",
}


def use_style() -> None:
    """Set the house style for every figure drawn from here on."""
    mpl.rcParams.update(
        {
            "figure.figsize": (7.0, 3.8),
            "figure.dpi": 120,
            "figure.constrained_layout.use": True,
            "savefig.dpi": 160,
            "savefig.bbox": "tight",
            "font.family": "sans-serif",
            "font.size": 10,
            "axes.titlesize": 11,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.titlepad": 10,
            "axes.labelsize": 10,
            "axes.labelcolor": INK,
            "axes.edgecolor": GREY,
            "axes.linewidth": 0.8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": LIGHT,
            "grid.linewidth": 0.7,
            "text.color": INK,
            "xtick.color": GREY,
            "ytick.color": GREY,
            "xtick.labelcolor": INK,
            "ytick.labelcolor": INK,
            "lines.linewidth": 1.8,
            "lines.markersize": 6,
            "legend.frameon": False,
            "legend.fontsize": 9,
            "axes.prop_cycle": mpl.cycler(color=[BLUE, ORANGE, GREEN, RED, PINK, SKY, YELLOW]),
            "svg.hashsalt": "nsr",
        }
    )


def style_of(strategy: str) -> dict[str, str]:
    """The colour, marker and legend name of a strategy, ready for `ax.plot(..., **style_of("beam"))`.

    >>> style_of("beam")
    {'color': '#0072B2', 'marker': 'o', 'label': 'beam search'}
    """
    if strategy not in STRATEGIES:
        raise KeyError(f"No style for the strategy {strategy!r}. There is one for: {', '.join(STRATEGIES)}.")
    colour, marker = STRATEGIES[strategy]
    return {"color": colour, "marker": marker, "label": NAMES[strategy]}


def title_of(strategy: str, beam_size: int = 0) -> str:
    """A row of the big table for people.

    >>> title_of("gvs+tpsr", 1), title_of("nsrwh-all", 5), title_of("local")
    ('NSR-gvs + TPSR (1)', 'NSRwH: all (5)', 'local search')
    """
    return f"{NAMES.get(strategy, strategy)} ({beam_size})" if beam_size else NAMES.get(strategy, strategy)


def save(figure: Figure, name: str, alt: str) -> None:
    """Show a figure and keep it with the current run, as <name>.png. `alt` says what one sees, for those who
    do not see it."""
    path = figure_dir() / f"{name}.png"
    path.write_bytes(picture := png_of(figure))
    display(Image(picture, width=width_of(figure), alt=alt))
    plt.close(figure)


def png_of(figure: Figure) -> bytes:
    made = io.BytesIO()
    figure.savefig(made, format="png")
    return made.getvalue()


def width_of(figure: Figure) -> int:
    """The width in which a page shows a figure, in pixels."""
    return round(100 * figure.get_figwidth())


def draw_tree(
    ax: Axes,
    prefix: Prefix,
    constants: Sequence[float] | None = None,
    colour: str = BLUE,
    marked: Collection[int] = (),
) -> None:
    """Draw an expression as a tree: operators in colour, leaves in grey, constants by their values if they
    are given. The tokens at the `marked` places have a frame."""
    places, edges, leaves = _tree_layout(prefix)
    values = iter(constants or ())
    for parent, child in edges:
        ax.plot(*zip(places[parent], places[child], strict=True), color=GREY, linewidth=1.2, zorder=1)
    for position, token in enumerate(prefix):
        text = f"{next(values, CONSTANT):.4g}" if token == CONSTANT and constants else token
        face, ink = (LIGHT, INK) if position in leaves else (colour, "white")
        ax.text(
            *places[position],
            text,
            ha="center",
            va="center",
            color=ink,
            fontsize=9,
            zorder=2,
            bbox={
                "boxstyle": "round,pad=0.35",
                "fc": face,
                "ec": INK if position in marked else "none",
                "lw": 1.8,
            },
        )
    ax.margins(0.12, 0.18)
    ax.set_axis_off()


def _tree_layout(prefix: Prefix) -> tuple[dict[int, tuple[float, float]], list[tuple[int, int]], set[int]]:
    """Leaves side by side in reading order, every parent above the middle of its children."""
    across, edges, leaves, waiting = {}, [], set(), []
    for position in reversed(range(len(prefix))):  # from the right, children are met before their parent
        own = [waiting.pop() for _ in range(arity(prefix[position]))]
        if not own:
            leaves.add(position)
        across[position] = sum(across[child] for child in own) / len(own) if own else -float(len(leaves))
        edges += [(position, child) for child in own]
        waiting.append(position)
    down = {0: 0.0}
    for parent, child in sorted(edges):
        down[child] = down[parent] - 1
    return {position: (across[position], down[position]) for position in across}, edges, leaves
