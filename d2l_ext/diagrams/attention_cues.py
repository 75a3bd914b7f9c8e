"""Figures 10.1.1 and 10.1.2: what leads the eye to one of five things on a desk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..figures import without_echo
from ._style import FILLS, INK, PATH, Point, box, connect, new_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# One unit is one inch. The height of each thing, in the order in which they stand.
THINGS = {"newspaper": 0.85, "paper": 0.75, "coffee": 0.5, "notebook": 0.7, "book": 0.8}
DESK, EYE = 0.45, (3.5, 2.35)


def involuntary_cue() -> Axes:
    """Draw figure 10.1.1: the one thing in colour draws the eye.

    Returns:
        The matplotlib axes.
    """
    panel = _desk("coffee")
    _thought(panel, (4.0, 1.02), (5.3, 1.6), "red stands out", FILLS[1])
    return without_echo(panel)


def volitional_cue() -> Axes:
    """Draw figure 10.1.2: whoever wants to read looks at the book.

    Returns:
        The matplotlib axes.
    """
    panel = _desk("book")
    _thought(panel, (3.1, EYE[1]), (1.5, EYE[1]), "I want to read", FILLS[0])
    return without_echo(panel)


def _desk(looked_at: str) -> Axes:
    figure, axes = new_panels(1, 1, figsize=(7, 2.8))
    panel: Axes = axes[0]
    panel.set(xlim=(0, 7), ylim=(0, 2.8))
    figure.subplots_adjust(left=0, right=1, bottom=0, top=1)
    panel.plot((0.1, 6.9), (DESK, DESK), color=INK, lw=2, zorder=4)
    drawings = _newspaper, _paper, _cup, _notebook, _book
    for i, (name, draw) in enumerate(zip(THINGS, drawings)):
        x, height = 0.7 + 1.4 * i, THINGS[name]
        draw(panel, x, height)
        panel.text(x, DESK - 0.22, name, ha="center", va="center")
        if name == looked_at:
            connect(panel, EYE, (x, DESK + height), True)
            _eye(panel, 0.04 * (i - 2))
    return panel


def _thought(panel: Axes, start: Point, end: Point, text: str, fill: str) -> None:
    """Three growing circles that lead to a box with a text."""
    width = 1.5
    box(panel, end, text, (width, 0.42), fill)
    outside = 1 - width / 2 / abs(end[0] - start[0])  # the share of the way
    for i in range(3):
        part = outside * (0.1 + 0.32 * i)
        x, y = (a + part * (b - a) for a, b in zip(start, end))
        _ellipse(panel, (x, y), 0.07 + 0.03 * i, 0.07 + 0.03 * i, fill)


def _eye(panel: Axes, look: float) -> None:
    """An eye whose pupil stands to the left of its middle, in it, or to the right."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    x, y = EYE
    points = [(-0.34, 0), (0, 0.4), (0.34, 0), (0, -0.4), (-0.34, 0)]
    lids = Path([(x + dx, y + dy) for dx, dy in points], [1, 3, 3, 3, 3])
    panel.add_patch(PathPatch(lids, facecolor="white", edgecolor=INK, lw=1.5, zorder=4))
    _ellipse(panel, (x + look, y), 0.3, 0.3, FILLS[0])
    _ellipse(panel, (x + 1.5 * look, y), 0.14, 0.14, INK)


def _newspaper(panel: Axes, x: float, height: float) -> None:
    _rectangle(panel, x, DESK, 0.86, height)
    _rectangle(panel, x, DESK + height - 0.22, 0.66, 0.1, INK)  # headline
    for column in (-0.18, 0.18):
        _lines(panel, x + column, DESK + 0.12, 0.3, 5)


def _paper(panel: Axes, x: float, height: float) -> None:
    _rectangle(panel, x, DESK, 0.56, height)
    _lines(panel, x, DESK + height - 0.13, 0.24, 1)  # title
    _lines(panel, x, DESK + 0.12, 0.38, 5)


def _cup(panel: Axes, x: float, height: float) -> None:
    from matplotlib.patches import Polygon

    _ellipse(panel, (x + 0.28, DESK + 0.29), 0.24, 0.24, "none", PATH, 4)  # handle
    corners = [(-0.29, height - 0.06), (0.29, height - 0.06), (0.2, 0), (-0.2, 0)]
    sides = [(x + dx, DESK + dy) for dx, dy in corners]
    panel.add_patch(Polygon(sides, facecolor=PATH, edgecolor=PATH, zorder=4))
    _ellipse(panel, (x, DESK + height - 0.06), 0.58, 0.12, "#6b4423", PATH)


def _notebook(panel: Axes, x: float, height: float) -> None:
    _rectangle(panel, x, DESK, 0.6, height, FILLS[3])
    _rectangle(panel, x + 0.06, DESK + height - 0.28, 0.32, 0.16)  # label
    for i in range(5):  # rings
        _ellipse(panel, (x - 0.3, DESK + 0.11 + 0.12 * i), 0.13, 0.05, "white")


def _book(panel: Axes, x: float, height: float) -> None:
    _rectangle(panel, x + 0.04, DESK, 0.6, height - 0.06)  # pages
    _rectangle(panel, x - 0.02, DESK + 0.06, 0.6, height - 0.06, FILLS[3])  # cover
    _rectangle(panel, x - 0.27, DESK + 0.06, 0.1, height - 0.06, INK)  # spine
    _lines(panel, x + 0.05, DESK + height - 0.26, 0.32, 2)  # title


def _rectangle(
    panel: Axes, x: float, bottom: float, width: float, height: float, fill: str = "w"
) -> None:
    from matplotlib.patches import Rectangle

    corner = x - width / 2, bottom
    panel.add_patch(
        Rectangle(corner, width, height, facecolor=fill, edgecolor=INK, zorder=4)
    )


def _lines(panel: Axes, x: float, bottom: float, width: float, count: int) -> None:
    for i in range(count):
        y = bottom + 0.085 * i
        panel.plot((x - width / 2, x + width / 2), (y, y), color=INK, lw=1, zorder=5)


def _ellipse(
    panel: Axes,
    middle: Point,
    width: float,
    height: float,
    fill: str,
    edge: str = INK,
    lw: float = 1,
) -> None:
    from matplotlib.patches import Ellipse

    panel.add_patch(
        Ellipse(middle, width, height, facecolor=fill, edgecolor=edge, lw=lw, zorder=4)
    )
