"""A figure with sliders and menus where a notebook has them, elsewhere a picture.

matplotlib is imported when something is drawn, ipywidgets when a notebook shows it.
"""

from __future__ import annotations

import importlib
import inspect
import io
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from . import _check

VIEW = "application/vnd.jupyter.widget-view+json"
WANTED = "a function that draws 1 figure, without plt.show()"
SCALE = 2  # pixels of a picture for each that it takes on the screen: sharp


class Explorer:
    """What :func:`explore` returns; a notebook shows it as the value of a cell."""

    def __init__(
        self, draw: Callable[..., Any], choices: dict[str, Sequence[Any]]
    ) -> None:
        self._draw, self._choices = draw, choices
        # Always by number: arrays cannot be compared, and 1 equals True.
        self._shown = {name: _first(draw, name, choices[name]) for name in choices}
        self._png = self._picture(self._shown)

    def __repr__(self) -> str:
        values = self._values(self._shown).items()
        return f"explore({', '.join(f'{name}={value!r}' for name, value in values)})"

    def _values(self, numbers: dict[str, int]) -> dict[str, Any]:
        return {name: self._choices[name][number] for name, number in numbers.items()}

    def _picture(self, numbers: dict[str, int]) -> bytes:
        """What draw draws of these values; its figure is closed."""
        from matplotlib import pyplot as plt

        before, buffer = set(plt.get_fignums()), io.BytesIO()
        try:
            with _check.blamed_on("draw", WANTED, self._draw):
                self._draw(**self._values(numbers))
                (number,) = set(plt.get_fignums()) - before
                figure = plt.figure(number)
                dpi = SCALE * figure.get_dpi()
                figure.savefig(buffer, format="png", dpi=dpi, bbox_inches="tight")
        finally:
            for number in set(plt.get_fignums()) - before:
                plt.close(number)
        return buffer.getvalue()

    def _repr_mimebundle_(
        self, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The picture, and the widget: a front end shows the last that it knows."""
        data: dict[str, Any] = {"text/plain": repr(self), "image/png": self._png}
        try:
            widgets = importlib.import_module("ipywidgets")
        except ModuleNotFoundError:
            pass
        else:
            # Written out: ipywidgets 7, which Colab has, cannot be asked for it.
            model = self._widget(widgets).model_id
            data[VIEW] = {"version_major": 2, "version_minor": 0, "model_id": model}
        width, height = _size(self._png)
        return data, {"image/png": {"width": width, "height": height}}

    def _widget(self, widgets: Any) -> Any:
        """A control for each choice above the picture, which follows them."""
        controls = {
            name: _control(widgets, name, options, self._shown[name])
            for name, options in self._choices.items()
        }
        image = widgets.Image(value=self._png, width=str(_size(self._png)[0]))

        def follow(_: Any) -> None:
            png = self._picture({name: c.value for name, c in controls.items()})
            with image.hold_sync():  # one message: no moment with half of it
                image.value, image.width = png, str(_size(png)[0])

        for control in controls.values():
            control.observe(follow, names="value")
        return widgets.VBox([*controls.values(), image])


def explore(draw: Callable[..., Any], **choices: Sequence[Any]) -> Explorer:
    """Show what a function draws, with a slider or a menu for each of its arguments.

    In JupyterLab, or wherever ipywidgets works, the figure is drawn anew when one of
    them is moved. Elsewhere, and in a stored notebook, it is the picture of the first
    values.

    Args:
        draw: is called with one value for each choice, by name, and draws one new
            figure with matplotlib, which it leaves open: in a notebook, plt.show()
            would close it. What it returns is not used.
        choices: for each argument a range, which becomes a slider, or a list, which
            becomes a menu. Shown first is the default that draw has for the argument,
            or else the first value.

    Returns:
        An object that a notebook shows when a cell ends with it.

    Raises:
        TypeError: draw is no function, or a choice is neither a range nor a list.
        TypeError, ValueError: draw fails, or does not draw one new figure.
        ValueError: a choice is empty, or does not have draw's default.

    Examples:
        >>> d2l_ext.explore(
        ...     lambda power, top=2: d2l_ext.plot([x**power for x in range(top)]),
        ...     power=range(4), top=[2, 3, 5],
        ... )
        explore(power=0, top=2)
    """
    if not callable(draw):
        raise TypeError(f"draw must be a function, got {_check.received(draw)}")
    for name, options in choices.items():
        if not isinstance(options, (range, list, tuple)):
            got = _check.received(options)
            raise TypeError(f"{name} must be a range or a list of values, got {got}")
        if not options:
            got = _check.received(options)
            raise ValueError(f"{name} must hold at least 1 value, got {got}")
    return Explorer(draw, choices)


def _first(draw: Callable[..., Any], name: str, options: Sequence[Any]) -> int:
    """The number of the value that draw has as a default, or else of the first one."""
    try:
        parameter = inspect.signature(draw).parameters.get(name)
    except (TypeError, ValueError):  # a function without a signature, written in C
        parameter = None
    if parameter is None or parameter.default is parameter.empty:
        return 0
    for number, option in enumerate(options):
        if _same(option, parameter.default):
            return number
    raise ValueError(
        f"{name} must have draw's default among its values, {parameter.default!r}, "
        f"got {_check.received(options)}"
    )


def _same(a: Any, b: Any) -> bool:
    """Whether they are one, or equal; what says of each element if it is, is not."""
    try:
        return a is b or bool(a == b)
    except Exception:  # NumPy, Paddle, PyTorch and pandas have one each
        return False


def _control(widgets: Any, name: str, options: Sequence[Any], number: int) -> Any:
    pairs = [(str(option), i) for i, option in enumerate(options)]
    shown = {"options": pairs, "value": number, "description": name}
    if isinstance(options, range):
        return widgets.SelectionSlider(layout={"width": "500px"}, **shown)
    return widgets.Dropdown(**shown)


def _size(png: bytes) -> tuple[int, int]:
    """Width and height on the screen, from the picture's first chunk."""
    width, height = struct.unpack(">II", png[16:24])
    return width // SCALE, height // SCALE
