"""explore(): a picture everywhere, sliders where ipywidgets is, and each drawn once."""

import base64
import doctest
import io
import sys
import warnings

import matplotlib
import numpy as np
import paddle
import pytest
from PIL import Image

import d2l_ext
from d2l_ext import interactive
from tests.kernel import run_cells

matplotlib.use("Agg")
from matplotlib import pyplot as plt

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(autouse=True)
def close_figures():
    plt.close("all")
    yield
    plt.close("all")


class Draw:
    """Draws a bar of as many pixels as its argument says, and counts its calls."""

    def __init__(self):
        self.calls = []

    def __call__(self, height, color="red"):
        self.calls.append((height, color))
        figure = plt.figure(figsize=(2, 1))
        axes = figure.add_axes([0, 0, 1, 1])
        axes.axis("off")
        axes.set(xlim=(0, 1), ylim=(0, 10))
        axes.bar(0.5, height, 1, color=color)


def covered(png):
    """The share of pixels that are not white, without the margin of 0.1 inches."""
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    return (pixels < 250).any(axis=-1)[20:-20, 20:-20].mean()


def test_picture_is_what_draw_draws_of_the_first_values():
    draw = Draw()
    data, metadata = d2l_ext.explore(draw, height=range(3, 8))._repr_mimebundle_()
    assert draw.calls == [(3, "red")]
    image = Image.open(io.BytesIO(data["image/png"]))
    assert abs(covered(data["image/png"]) - 0.3) < 0.02
    size = metadata["image/png"]  # half of the pixels: sharp
    assert (2 * size["width"], 2 * size["height"]) == image.size
    assert data["text/plain"] == "explore(height=3)"


def test_default_of_draw_comes_first():
    draw = Draw()
    shown = d2l_ext.explore(draw, height=[5], color=["blue", "red"])
    assert draw.calls == [(5, "red")]
    assert repr(shown) == "explore(height=5, color='red')"


def test_default_may_be_an_array():
    arrays, seen = [np.zeros(3), np.arange(3), np.arange(2)], []

    def draw(values=arrays[1]):
        seen.append(values)
        plt.figure().text(0, 0, "x")

    assert repr(d2l_ext.explore(draw, values=arrays)) == (
        "explore(values=array([0, 1, 2]))"
    )
    assert len(seen) == 1 and seen[0] is arrays[1]
    with pytest.raises(ValueError, match="values must have draw's default among its"):
        d2l_ext.explore(draw, values=[np.zeros(3)])


def test_without_ipywidgets_there_is_the_picture(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    data, _ = d2l_ext.explore(Draw(), height=range(3))._repr_mimebundle_()
    assert set(data) == {"text/plain", "image/png"}


def test_figures_of_others_stay_open_and_its_own_are_closed():
    mine = plt.figure()
    d2l_ext.explore(Draw(), height=range(1, 9))
    assert plt.get_fignums() == [mine.number]


class TestWidget:
    @pytest.fixture
    def widgets(self):
        return pytest.importorskip("ipywidgets")

    def test_is_there_beside_the_picture(self, widgets):
        data, _ = d2l_ext.explore(Draw(), height=range(3))._repr_mimebundle_()
        assert set(data) == {"text/plain", "image/png", VIEW}
        assert data["text/plain"] == "explore(height=0)"

    def test_is_there_with_ipywidgets_7_too(self, widgets, monkeypatch):
        monkeypatch.delattr(widgets.Widget, "_repr_mimebundle_")  # came with 8
        shown = d2l_ext.explore(Draw(), height=range(3))
        widget = shown._widget(widgets)
        monkeypatch.setattr(shown, "_widget", lambda _: widget)
        data, _ = shown._repr_mimebundle_()
        view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
        assert set(data) == {"text/plain", "image/png", VIEW} and data[VIEW] == view

    def test_follows_its_controls_and_draws_once_each_time(self, widgets):
        draw = Draw()
        shown = d2l_ext.explore(draw, height=range(1, 9), color=["red", "blue"])
        *controls, image = shown._widget(widgets).children
        slider, menu = controls
        assert (slider.description, menu.description) == ("height", "color")
        assert len(draw.calls) == 1  # the picture serves the widget, too
        first = image.value
        slider.label = "8"
        assert draw.calls[1:] == [(8, "red")] and image.value != first
        assert abs(covered(image.value) - 0.8) < 0.02
        menu.label = "blue"
        assert draw.calls[2:] == [(8, "blue")]
        pixels = np.asarray(Image.open(io.BytesIO(image.value)).convert("RGB"))
        assert (pixels[-30, 100] == (0, 0, 255)).all()
        assert plt.get_fignums() == []

    def test_takes_all_values_and_shows_the_first_on_a_reset(self, widgets):
        pairs = [("a", 1), ("b", 2)]  # ipywidgets would call these a name and a value
        seen = []

        def draw(pair, step):
            seen.append((pair, step))
            plt.figure().text(0, 0, "x")

        shown = d2l_ext.explore(draw, pair=pairs, step=range(9, 0, -4))
        menu, slider, _ = shown._widget(widgets).children
        menu.label, slider.label = "('b', 2)", "1"
        assert seen == [(pairs[0], 9), (pairs[1], 9), (pairs[1], 1)]
        assert [label for label, _ in slider.options] == ["9", "5", "1"]

    @pytest.mark.parametrize("kind", ["array", "tensor", "mixed"])
    def test_takes_values_that_cannot_be_told_apart_by_equality(self, widgets, kind):
        array = np.arange(3)
        values = {
            "array": [array, array + 1, array.copy()],
            "tensor": [paddle.to_tensor(array), paddle.ones([2]), paddle.ones([2, 2])],
            "mixed": [float("nan"), 1, True],
        }[kind]
        seen = []

        def draw(value):
            seen.append(value)
            plt.figure().text(0, 0, "x")

        menu, _ = d2l_ext.explore(draw, value=values)._widget(widgets).children
        for index in 1, 2, 0:
            menu.index = index  # as a front end does
        assert len(seen) == 4
        assert all(a is values[i] for a, i in zip(seen, [0, 1, 2, 0]))

    def test_picture_and_its_width_come_in_one_message(self, widgets):
        class Comm:
            comm_id, kernel, messages = "0", None, []

            def on_msg(self, callback):
                pass

            def send(self, data, **more):
                self.messages.append(data)

            def close(self, *arguments, **more):
                pass

        def draw(width):
            plt.figure(figsize=(width, 1)).text(0, 0, "x" * 50 * width)

        slider, image = d2l_ext.explore(draw, width=[1, 2])._widget(widgets).children
        Comm.kernel = image.comm.kernel if hasattr(image.comm, "kernel") else True
        image.comm = Comm()
        Comm.messages.clear()
        slider.label = "2"
        ((message,), width) = Comm.messages, image.width
        assert message["state"] == {"width": width}
        assert message["buffer_paths"] == [["value"]]

    def test_makes_no_noise(self, widgets):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            d2l_ext.explore(Draw(), height=range(3))._repr_mimebundle_()


def test_notebook_shows_it_once_and_nothing_else():
    begin = "import d2l_ext\nfrom matplotlib import pyplot as plt\n"
    begin += "def draw(level):\n    d2l_ext.plot([0, level])\n"
    shown = "shown = d2l_ext.explore(draw, level=range(1, 4))\n"
    silent, last, twice = run_cells(
        begin, shown + "shown", shown + "display(shown)\nprint(plt.get_fignums())"
    )
    assert silent == []
    (output,) = last
    assert output.data["text/plain"] == "explore(level=1)"
    png = base64.b64decode(output.data["image/png"])
    width = output.metadata["image/png"]["width"]
    assert abs(Image.open(io.BytesIO(png)).width - 2 * width) <= 1
    first, second = twice
    assert first.data["image/png"] == output.data["image/png"]
    assert second.text == "[]\n"


def test_an_error_in_draw_is_the_cell_s_and_leaves_no_figure():
    def draw(level):
        plt.figure()
        return 1 / level

    with pytest.raises(ValueError, match="draw must be a function that") as caught:
        d2l_ext.explore(draw, level=[0, 1])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert plt.get_fignums() == []


def two_figures():
    plt.figure(), plt.figure()


def closed_figure():
    """As plt.show() leaves it in a notebook."""
    plt.close(plt.figure())


WANTED = r"draw must be a function that draws 1 figure, without plt.show\(\), got .*"


WRONG_CALLS = [
    (lambda: d2l_ext.explore(3, x=[1]), TypeError, "draw must be a function, got int 3"),
    (lambda: d2l_ext.explore(list), ValueError, WANTED),
    (lambda: d2l_ext.explore(two_figures), ValueError, WANTED),
    (lambda: d2l_ext.explore(closed_figure), ValueError, WANTED),
    (lambda: d2l_ext.explore(Draw(), size=[1]), TypeError, WANTED),
    (lambda: d2l_ext.explore(Draw(), height=3), TypeError, "height must be a range or a list of values, got int 3"),
    (lambda: d2l_ext.explore(Draw(), height="abc"), TypeError, "height must be a range or a list of values, got str 'abc'"),
    (lambda: d2l_ext.explore(Draw(), height=range(0)), ValueError, r"height must hold at least 1 value, got range range\(0, 0\)"),
    (lambda: d2l_ext.explore(Draw(), height=[]), ValueError, r"height must hold at least 1 value, got list \[\]"),
    (lambda: d2l_ext.explore(Draw(), height=[1], color=["blue"]), ValueError, r"color must have draw's default among its values, 'red', got list \['blue'\]"),
]  # fmt: skip


@pytest.mark.parametrize("call, error, message", WRONG_CALLS)
def test_wrong_calls_say_what_was_expected_and_what_came(call, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        call()
    assert plt.get_fignums() == []


def test_example_prints_what_it_says():
    names = {"d2l_ext": d2l_ext}
    (example,) = doctest.DocTestFinder().find(interactive.explore, "e", globs=names)
    assert not doctest.DocTestRunner(verbose=False).run(example).failed
