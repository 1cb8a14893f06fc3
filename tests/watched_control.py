"""The control of a page that is run without a reader: `watch` before it is made, `move` when the whole page has run."""

import io

import matplotlib.pyplot as plt

from nsr.evidence import controls

made = []


def watch() -> None:
    frames = controls.frames

    def kept(draw, name, choices, alt):
        made.append((draw, list(choices.values())))
        return frames(draw, name, choices, alt)

    controls.frames = kept


def move() -> None:
    """Moved to its last value and back, the control draws another figure and then the first one again."""
    ((draw, values),) = made

    def picture(value: object) -> bytes:
        draw(value).savefig(found := io.BytesIO(), format="raw", dpi=40)
        plt.close("all")
        return found.getvalue()

    first, last, again = map(picture, (values[0], values[-1], values[0]))
    assert first != last, "another value draws the same figure"
    assert first == again, "the figure depends on more than the control"
