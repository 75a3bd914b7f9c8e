"""Figure 10.1.3: queries, keys and values meet in attention pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..figures import without_echo
from ._style import FILLS, Point, arrow, box, connect, new_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def attention_pooling(num_pairs: int = 5, chosen: int = 5) -> Axes:
    """Draw figure 10.1.3: a query meets keys, and a value is favoured.

    Args:
        num_pairs: number of keys, and of values.
        chosen: the pair whose value gets the most weight, counted from 1; red.

    Returns:
        The matplotlib axes.
    """
    figure, axes = new_panels(1, 1, figsize=(7, 2.8))
    panel: Axes = axes[0]
    panel.set(xlim=(0, 7), ylim=(0, 2.8))
    figure.subplots_adjust(left=0, right=1, bottom=0, top=1)
    height, first, last = 2.2, 2.0, 5.2
    middle, width = (first + last) / 2, last - first + 0.7
    box(panel, (middle, height), "attention pooling", (width, 0.6), FILLS[3])
    box(panel, (0.75, height), "$q$", (0.5, 0.42), FILLS[0])
    _name(panel, (0.75, height - 0.55), ("query:", "volitional cue"), "center")
    arrow(panel, (1.0, height), (middle - width / 2, height))
    arrow(panel, (middle + width / 2, height), (6.2, height))
    panel.text(6.55, height, "output", ha="center", va="center")
    for i in range(num_pairs):
        x = first + (last - first) * i / (num_pairs - 1)
        box(panel, (x, 1.0), f"$k_{i + 1}$", (0.5, 0.42), FILLS[1])
        box(panel, (x, 0.52), f"$v_{i + 1}$", (0.5, 0.42), FILLS[2])
        connect(panel, (x, 1.1), (x, height - 0.2), i + 1 == chosen)
    _name(panel, (5.65, 1.0), ("keys:", "involuntary cues"), "left")
    _name(panel, (5.65, 0.52), ("values:", "sensory inputs"), "left")
    return without_echo(panel)


def _name(panel: Axes, middle: Point, lines: tuple[str, str], side: str) -> None:
    """Two lines, each set by itself: how far apart depends on no version."""
    x, y = middle
    panel.text(x, y + 0.085, lines[0], ha=side, va="center")
    panel.text(x, y - 0.085, lines[1], ha=side, va="center")
