"""A control: one picture for each of a few values. In JupyterLab a slider draws it; on a page without a kernel
all pictures are there, and a slider of the page shows one of them."""

import html
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from IPython.display import HTML, display
from matplotlib.figure import Figure

from nsr.book.run_records import headless
from nsr.evidence.figures import png_of, width_of

MOST = 24  # pictures of one control


def control(
    draw: Callable[[Any], Figure], name: str, values: Sequence[Any] | Mapping[str, Any], alt: str
) -> None:
    """Let the reader choose one of `values`, by its text, and see the figure that `draw` makes of it. `name`
    stands beside the slider; `alt` says what one sees and may contain {} for the chosen text."""
    choices = dict(values) if isinstance(values, Mapping) else {str(value): value for value in values}
    if not 1 < len(choices) <= MOST:
        raise ValueError(f"a control has 2 to {MOST} values; {name!r} has {len(choices)}")
    if headless():
        display(HTML(frames(draw, name, choices, alt)))
        return

    from ipywidgets import SelectionSlider, interact

    slider = SelectionSlider(options=list(choices.items()), description=name)

    @interact(value=slider)
    def show(value: Any) -> None:
        figure = draw(value)
        display(figure)
        plt.close(figure)


def frames(draw: Callable[[Any], Figure], name: str, choices: Mapping[str, Any], alt: str) -> str:
    """All pictures of a control as HTML, equally large; the script of the pages moves between them, and without it
    all but the first are hidden."""
    pictures = []
    for place, (text, value) in enumerate(choices.items()):
        figure = draw(value)
        with mpl.rc_context(
            {"savefig.bbox": "standard"}
        ):  # uncut, so that nothing jumps from one to the next
            data = b64encode(png_of(figure)).decode()
        pictures.append(
            f'<img class="frame" alt="{html.escape(alt.replace("{}", text))}" width="{width_of(figure)}" '
            f'data-text="{html.escape(text)}" src="data:image/png;base64,{data}"{" hidden" if place else ""}>'
        )
        plt.close(figure)
    first = html.escape(next(iter(choices)))
    slider = (
        f'<input type="range" min="0" max="{len(choices) - 1}" value="0" step="1" aria-valuetext="{first}">'
    )
    return (
        f'<figure class="frames"><div class="control"><label>{html.escape(name)} {slider}</label>'
        f"<output>{first}</output></div>{''.join(pictures)}</figure>"
    )
