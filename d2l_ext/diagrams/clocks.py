"""Positions as the hands of clocks, each of its own speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .. import _check
from .._types import Array, Drawable
from ..figures import to_numpy, without_echo
from ._style import INK, PALE, PATH, arrow, new_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLOCK = 0.55  # inches, the least that keeps the titles of neighbours apart


def clocks(hands: Drawable, rows: Sequence[str], columns: Sequence[str]) -> Array:
    """Draw each pair of a sine and a cosine as the hand of a clock.

    The sine points to the right and the cosine upwards, so an angle of 0 is twelve
    o'clock, and the hand turns as a clock's does.

    Book: section 10.6, (10.6.2), where columns 2j and 2j+1 are such a pair.

    Args:
        hands: tensor, array or list of real numbers (rows, columns, 2): the sine and
            the cosine of each angle.
        rows, columns: lists with a text for each.

    Returns:
        The matplotlib axes, a NumPy array (rows, columns).

    Raises:
        TypeError: hands does not hold real numbers, or rows or columns is no list of
            texts.
        ValueError: hands is empty or of another shape, holds what is no number, or the
            texts are not as many as the rows or columns.

    Examples:
        A quarter past, and half past:

        >>> panels = d2l_ext.diagrams.clocks([[[1, 0]], [[0, -1]]], ["15", "30"], [""])
        >>> panels.shape
        (2, 1)
    """
    array = to_numpy("hands", hands).astype(float)
    if array.ndim != 3 or array.shape[-1] != 2 or array.size == 0:
        raise ValueError(
            f"hands must be of shape (rows, columns, 2), got {array.shape}"
        )
    if not np.isfinite(array).all():
        odd = array[~np.isfinite(array)][0]
        raise ValueError(f"hands must hold finite numbers, got {odd}")
    num_rows, num_columns = array.shape[:2]
    rows = _check.texts("rows", rows, num_rows)
    columns = _check.texts("columns", columns, num_columns)
    size = (CLOCK * num_columns + 0.7, CLOCK * num_rows + 0.4)
    figure, axes = new_panels(num_rows, num_columns, figsize=size)
    axes = axes.reshape(num_rows, num_columns)
    for (i, j), panel in np.ndenumerate(axes):
        _draw_clock(panel, array[i, j])
        if i == 0:
            panel.set_title(columns[j], fontsize="medium")
        if j == 0:
            panel.text(-1.3, 0, rows[i], ha="right", va="center")
    figure.subplots_adjust(left=0.7 / size[0], right=1, bottom=0, wspace=0, hspace=0)
    figure.subplots_adjust(top=1 - 0.4 / size[1])
    return without_echo(axes)


def _draw_clock(panel: Axes, hand: Array) -> None:
    from matplotlib.patches import Circle

    panel.add_patch(Circle((0, 0), 1, facecolor="white", edgecolor=INK))
    for angle in np.arange(0, 2 * np.pi, np.pi / 2):
        tick = np.array([np.sin(angle), np.cos(angle)])
        panel.plot(*zip(0.85 * tick, tick), color=PALE, lw=1)
    arrow(panel, (0, 0), (hand[0], hand[1]), PATH, 1.5)
    panel.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal")
