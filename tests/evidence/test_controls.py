"""A control without a kernel is a slider and one picture for each value; with one, the slider draws."""

import base64
import struct
from html.parser import HTMLParser

import ipywidgets
import matplotlib.pyplot as plt
import pytest

from nsr.evidence import controls


def draw(height: float) -> plt.Figure:
    figure, ax = plt.subplots(figsize=(4, 2))
    ax.bar([0, 1], [1, height])
    ax.set_title("low" if height < 2 else "high,\nand so in two lines")
    return figure


class Elements(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.found: list[tuple[str, dict]] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def size(source: str) -> tuple[int, int]:
    """Width and height of a PNG in a data address."""
    return struct.unpack(">II", base64.b64decode(source.partition(",")[2])[16:24])


def test_frames_are_equally_large_and_all_but_the_first_are_hidden():
    made = controls.frames(
        draw, "height <b>", {"a < b": 1, "two": 2, "three": 3}, "Bars at {}, \\frac{1}{2}."
    )
    elements = Elements(made).found
    pictures = [attributes for tag, attributes in elements if tag == "img"]
    (slider,) = [attributes for tag, attributes in elements if tag == "input"]
    assert [picture["data-text"] for picture in pictures] == ["a < b", "two", "three"]
    assert pictures[0]["alt"] == "Bars at a < b, \\frac{1}{2}."
    assert ["hidden" in picture for picture in pictures] == [False, True, True]
    assert len({size(picture["src"]) for picture in pictures}) == 1
    assert pictures[0]["src"] != pictures[1]["src"] and {picture["width"] for picture in pictures} == {"400"}
    assert (slider["type"], slider["max"], slider["aria-valuetext"]) == ("range", "2", "a < b")
    assert "b" not in [tag for tag, _ in elements] and not plt.get_fignums()


@pytest.mark.parametrize("values", [[1], range(25)])
def test_one_value_is_no_choice_and_many_are_too_many(values):
    with pytest.raises(ValueError, match="2 to 24 values"):
        controls.control(draw, "height", values, alt="a line")


def test_without_a_reader_the_frames_are_shown_and_with_one_a_slider_draws(monkeypatch: pytest.MonkeyPatch):
    shown, sliders = [], []
    monkeypatch.setattr(controls, "display", shown.append)
    controls.control(draw, "height", [1, 2], alt="Bars at {}.")
    assert len(shown) == 1 and 'class="frames"' in shown.pop().data

    class Recorded(ipywidgets.SelectionSlider):
        def __init__(self, **options):
            super().__init__(**options)
            sliders.append(self)

    monkeypatch.setattr(ipywidgets, "SelectionSlider", Recorded)
    monkeypatch.setattr(controls, "headless", lambda: False)
    controls.control(draw, "height", {"low": 1, "high": 2}, alt="Bars at {}.")
    (slider,) = sliders
    assert slider.description == "height" and slider.label == "low"
    slider.label = "high"
    assert [figure.axes[0].get_title()[:4] for figure in shown] == ["low", "high"]
