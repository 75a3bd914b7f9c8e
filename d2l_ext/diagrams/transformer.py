"""Figure 10.7.1: the Transformer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._types import Array
from ..figures import without_echo
from ._style import FILLS, INK, PATH, Point, arrow, box, line, new_panels, node

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE, HALF = (2.9, 0.56), 0.28  # of a box, and half its height
GAP = 1.0  # from an "add & norm" to the sublayer above it
BLUE, ORANGE, GREEN, GREY = FILLS
FILL_OF = {"Add & norm": GREY, "Position-wise FFN": GREEN}  # attention is orange


def transformer() -> Array:
    """Draw figure 10.7.1: the encoder on the left, the decoder on the right.

    Every connection is drawn, also those around each sublayer. Those from the encoder
    to the decoder are red.

    Returns:
        The matplotlib axes, a NumPy array with one element.
    """
    figure, axes = new_panels(1, 1, figsize=(7, 7))
    panel = axes[0]
    left, right = 2.9, 8.1
    attention, ffn = "Multi-head\nattention", "Position-wise FFN"
    outputs, _ = _draw_stack(panel, left, "Sources", [attention, ffn], "Encoder", -1)
    masked = "Masked multi-head\nattention"
    sublayers = [masked, attention, ffn]
    top, seconds = _draw_stack(panel, right, "Targets", sublayers, "Decoder", 1)
    _draw_link(panel, (left, outputs), (right - SIZE[0] / 2, seconds[1]))
    box(panel, (right, top + 1.05), "FC", (SIZE[0], 2 * HALF), BLUE)
    arrow(panel, (right, top), (right, top + 1.05 - HALF))
    arrow(panel, (right, top + 1.05 + HALF), (right, top + 1.75))
    panel.text(right + 0.15, top + 1.55, "output", va="center")
    panel.set(xlim=(0, 11), ylim=(-0.4, top + 1.8))
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=0.99)
    return without_echo(axes)


def _draw_stack(
    panel: Axes, x: float, inputs: str, sublayers: list[str], name: str, side: int
) -> tuple[float, list[float]]:
    """Draw one column; return the top of its last box and the sublayers' heights.

    What goes around a sublayer stands on one side: -1 is left, 1 is right.
    """
    panel.text(x, 0, inputs, ha="center", va="center")
    arrow(panel, (x, 0.2), (x, 0.8 - HALF))
    box(panel, (x, 0.8), "Embedding", SIZE, BLUE)
    plus = 1.75
    arrow(panel, (x, 0.8 + HALF), (x, plus - 0.17))
    node(panel, (x, plus), "$+$")
    encoding = x + side * 1.95, plus
    panel.text(*encoding, "Positional\nencoding", ha="center", va="center")
    arrow(panel, (x + side * 1.2, plus), (x + side * 0.18, plus))
    below, heights = plus + 0.14, []
    bottom = below + 0.3
    for i, sublayer in enumerate(sublayers):
        y = below + (GAP if i else GAP + 0.15)
        fill = FILL_OF.get(sublayer, ORANGE)
        box(panel, (x, y), sublayer, SIZE if fill == GREEN else (SIZE[0], 0.72), fill)
        half = HALF if fill == GREEN else 0.36
        norm = y + half + 0.24 + HALF
        arrow(panel, (x, below), (x, y - half))
        box(panel, (x, norm), "Add & norm", SIZE, GREY)
        arrow(panel, (x, y + half), (x, norm - HALF))
        _draw_around(panel, (x, y - half - 0.24), norm, side)
        below = norm + HALF
        heights.append(y)
    _draw_frame(panel, x, (bottom, below + 0.22), side)
    panel.text(x + side * 2.25, (bottom + below) / 2, r"$\times n$", ha="center")
    aligned = "left" if side < 0 else "right"
    panel.text(x + side * 1.85, below + 0.32, name, ha=aligned, weight="bold")
    return below, heights


def _draw_around(panel: Axes, start: Point, norm: float, side: int) -> None:
    """Draw the residual connection, from below a sublayer to the norm after it."""
    x, y = start
    outside = x + side * (SIZE[0] / 2 + 0.25)
    line(panel, [start, (outside, y), (outside, norm)])
    arrow(panel, (outside, norm), (x + side * SIZE[0] / 2, norm))


def _draw_link(panel: Axes, start: Point, end: Point) -> None:
    """Draw the arrow from the encoder's outputs to the decoder's second attention."""
    (x, y), between = start, 5.45
    turn = y + 0.6
    line(panel, [start, (x, turn), (between, turn), (between, end[1])], PATH, 2)
    arrow(panel, (between, end[1]), end, PATH, 2)


def _draw_frame(panel: Axes, x: float, heights: Point, side: int) -> None:
    """Draw the dashed line around what is repeated."""
    from matplotlib.patches import Rectangle

    bottom, top = heights
    inner, outer = x - side * 1.6, x + side * 1.85
    size = abs(outer - inner), top - bottom
    corner = min(inner, outer), bottom
    frame = Rectangle(corner, *size, fill=False, linestyle="--", edgecolor=INK)
    panel.add_patch(frame)
