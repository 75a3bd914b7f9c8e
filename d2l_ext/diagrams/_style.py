"""What all diagrams share: colours, panels, arrows and boxes.

Texts in figures are ASCII or mathematics: they show on a machine without Chinese
fonts, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Tuple

from .._types import Array
from ..figures import use_crisp_png

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, PALE, PATH = "#333333", "#c4c4c4", "#d62728"  # lines, background, what to look at
FILLS = ("#dbe9f6", "#fde3c8", "#dcefdc", "#eeeeee")  # of boxes, by kind

Point = Tuple[float, float]


def new_panels(
    rows: int, columns: int, figsize: tuple[float, float]
) -> tuple[Figure, Array]:
    """A figure with panels that show no axes."""
    from matplotlib import pyplot as plt

    use_crisp_png()
    figure, axes = plt.subplots(rows, columns, figsize=figsize, squeeze=False)
    for panel in axes.flat:
        panel.axis("off")
    return figure, axes[0] if rows == 1 else axes


def connect(panel: Axes, start: Point, end: Point, on_path: bool = False) -> None:
    """Draw an arrow between the middles of two nodes; red ones lie over the others."""
    style = {"arrowstyle": "-|>", "shrinkA": 10, "shrinkB": 10, "lw": 1}
    if on_path:
        style["lw"] = 2
    style["color"] = PATH if on_path else PALE
    panel.annotate("", xy=end, xytext=start, arrowprops=style, zorder=2 + on_path)


def box(
    panel: Axes, middle: Point, text: str, size: Point = (1, 0.5), fill: str = FILLS[0]
) -> None:
    """Draw a box with rounded corners and a text in it."""
    from matplotlib.patches import FancyBboxPatch

    (x, y), (width, height) = middle, size
    corner = x - width / 2, y - height / 2
    style = "round,pad=0,rounding_size=0.08"
    patch = FancyBboxPatch(
        corner, width, height, style, facecolor=fill, edgecolor=INK, zorder=4
    )
    panel.add_patch(patch)
    panel.text(x, y, text, ha="center", va="center", zorder=5)


def node(panel: Axes, middle: Point, text: str) -> None:
    """Draw a circle and a text in it."""
    circle = {"boxstyle": "circle", "facecolor": "white", "edgecolor": INK}
    panel.text(*middle, text, ha="center", va="center", bbox=circle, zorder=4)


def arrow(
    panel: Axes, start: Point, end: Point, color: str = INK, width: float = 1.2
) -> None:
    """Draw an arrow from edge to edge, as it is given; the width is in points."""
    style = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "lw": width}
    style["color"] = color
    panel.annotate("", xy=end, xytext=start, arrowprops=style, zorder=3)


def line(
    panel: Axes, points: list[Point], color: str = INK, width: float = 1.2
) -> None:
    """Draw a line through the points; an arrow goes on from its end."""
    panel.plot(*zip(*points), color=color, lw=width, zorder=2.5)
