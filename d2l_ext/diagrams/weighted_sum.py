"""Figure 10.3.1: the output of attention pooling, a weighted sum of the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Array
from ..figures import without_echo
from ._style import FILLS, PATH, arrow, box, new_panels, node

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW = 1.5  # from one key to the next
WIDEST = 6  # points, the arrow of weight 1


def weighted_sum(scores: Sequence[float] = (0, 2, 1)) -> Array:
    """Draw figure 10.3.1: scores, their softmax, and the sum of the weighted values.

    The red arrows are as wide as the attention weights are large.

    Args:
        scores: what the scoring function gives for each key.

    Returns:
        The matplotlib axes, a NumPy array with one element.
    """
    weights = np.exp(scores) / np.exp(scores).sum()
    rows = [ROW * i for i in reversed(range(len(weights)))]
    middle, height = rows[0] / 2, rows[0] + 1
    figure, axes = new_panels(1, 1, figsize=(9, 0.5 + 1.05 * len(rows)))
    panel = axes[0]
    box(panel, (2.4, middle), "scoring\nfunction\n$a$", (1.3, height), FILLS[3])
    box(panel, (5.5, middle), "softmax", (1.3, height), FILLS[3])
    box(panel, (2.4, -1.4), "$q$", (0.7, 0.6), FILLS[0])
    arrow(panel, (2.4, -1.1), (2.4, -0.52))
    node(panel, (9.7, middle), "$+$")
    for i, (y, weight) in enumerate(zip(rows, weights), 1):
        _draw_row(panel, i, y, WIDEST * weight, middle)
    arrow(panel, (9.92, middle), (10.6, middle))
    box(panel, (11.3, middle), "output\n$f$", (1.4, 1.1), "white")
    panel.text(0.5, rows[0] + 0.55, "keys", ha="center", va="center")
    panel.text(8.2, rows[0] + 1.3, "values", ha="center", va="center")
    panel.text(1.95, -1.4, "query", ha="right", va="center")
    panel.set(xlim=(0, 12.1), ylim=(-1.8, rows[0] + 1.55))
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=0.99)
    return without_echo(axes)


def _draw_row(panel: Axes, i: int, y: float, width: float, middle: float) -> None:
    box(panel, (0.5, y), f"$k_{i}$", (0.7, 0.6), FILLS[1])
    arrow(panel, (0.86, y), (1.74, y))
    _labelled_arrow(panel, (3.06, y), (4.84, y), f"$a(q, k_{i})$")
    style: dict[str, Any] = {"color": PATH, "width": width}
    _labelled_arrow(panel, (6.16, y), (7.98, y), f"$\\alpha(q, k_{i})$", **style)
    node(panel, (8.2, y), "$\\times$")
    box(panel, (8.2, y + 0.8), f"$v_{i}$", (0.7, 0.5), FILLS[2])
    arrow(panel, (8.2, y + 0.54), (8.2, y + 0.24))
    direction = np.array([9.7 - 8.2, middle - y])
    step = 0.22 * direction / np.hypot(*direction)
    arrow(
        panel, (8.2 + step[0], y + step[1]), (9.7 - step[0], middle - step[1]), **style
    )


def _labelled_arrow(
    panel: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    text: str,
    **style: Any,
) -> None:
    arrow(panel, start, end, **style)
    panel.text((start[0] + end[0]) / 2, start[1] + 0.28, text, ha="center", va="center")
