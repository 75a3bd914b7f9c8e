"""Figure 10.5.1: multi-head attention, head by head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._types import Array
from ..figures import without_echo
from ._style import FILLS, INK, PALE, PATH, Point, arrow, box, new_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 4.0  # of one head
APART = 1.2  # the linear layers of one head
LEVELS = {"input": 0, "linear": 1.6, "attention": 2.55, "concat": 3.5, "output": 4.4}


def multi_head(num_heads: int = 3) -> Array:
    """Draw figure 10.5.1: linear layers, attention in each head, and the last layer.

    Every connection is drawn; those of the first head are red.

    Args:
        num_heads: number of heads, at least 1.

    Returns:
        The matplotlib axes, a NumPy array with one element.
    """
    figure, axes = new_panels(1, 1, figsize=(3 * num_heads, 4.6))
    panel, whole = axes[0], WIDTH * num_heads
    inputs = [(whole * (2 * i + 1) / 6, LEVELS["input"]) for i in range(3)]
    for head in reversed(range(num_heads)):
        _draw_head(panel, head, inputs)
    for name, letter, place, fill in zip(
        ("query", "key", "value"), "qkv", inputs, FILLS
    ):
        box(panel, place, f"{name} ${letter}$", (1.6, 0.5), fill)
    middle = whole / 2
    box(panel, (middle, LEVELS["concat"]), "concatenate", (whole - 0.4, 0.5), FILLS[3])
    arrow(panel, (middle, LEVELS["concat"] + 0.25), (middle, LEVELS["output"] - 0.25))
    box(panel, (middle, LEVELS["output"]), "$W_o$", (1.6, 0.5), "white")
    arrow(panel, (middle, LEVELS["output"] + 0.25), (middle, LEVELS["output"] + 0.6))
    panel.text(middle + 0.15, LEVELS["output"] + 0.5, "output", va="center")
    panel.set(xlim=(0, whole), ylim=(-0.4, LEVELS["output"] + 0.7))
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=0.99)
    return without_echo(axes)


def _draw_head(panel: Axes, head: int, inputs: list[Point]) -> None:
    first, i, x = head == 0, head + 1, WIDTH * (head + 0.5)
    width = 2.0 if first else 1.2
    for letter, source, fill, offset in zip("qkv", inputs, FILLS, (-APART, 0, APART)):
        place = (x + offset, LEVELS["linear"])
        start, end = (source[0], source[1] + 0.25), (place[0], place[1] - 0.25)
        arrow(panel, start, end, PATH if first else PALE, width)
        box(panel, place, f"$W_{i}^{{({letter})}}$", (1.0, 0.5), fill)
        start, end = (place[0], place[1] + 0.25), (place[0], LEVELS["attention"] - 0.25)
        arrow(panel, start, end, PATH if first else INK, width)
    box(panel, (x, LEVELS["attention"]), "attention $f$", (3.4, 0.5), FILLS[3])
    start, end = (x, LEVELS["attention"] + 0.25), (x, LEVELS["concat"] - 0.25)
    arrow(panel, start, end, PATH if first else INK, width)
    panel.text(x + 0.15, (start[1] + end[1]) / 2, f"$h_{i}$", va="center")
