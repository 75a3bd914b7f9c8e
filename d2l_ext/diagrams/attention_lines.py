"""Attention as lines between tokens, after every head by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _check
from .._types import Array, Drawable
from ..figures import panels_of, titles_of, without_echo
from ._style import INK, new_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDEST = 5  # points, the line of weight 1
# In inches: a row of tokens, a title; a line from side to side, and the gaps between a
# line and a token, and between a token and the edge of its panel.
TOKEN, TITLE = 0.28, 0.4
LINE, GAP, EDGE = 0.5, 0.05, 0.1
COLORS = ("C0", "C1", "C2", "C3", "C4", "C5", "C6", "C9")  # of a head; no grey


def attention_lines(
    weights: Drawable,
    queries: Sequence[str],
    keys: Sequence[str],
    titles: Sequence[str] | None = None,
) -> Array:
    """Draw attention weights as lines from each query, at the left, to the keys.

    The larger a weight, the wider its line and the stronger its colour. There is a
    panel for each head, and each column of panels has a colour of its own.

    Args:
        weights: tensor, array or list of numbers from 0 to 1, of shape (layers, heads,
            queries, keys); (heads, queries, keys) for one row of panels, or (queries,
            keys) for one panel.
        queries, keys: lists with a text for each.
        titles: a list with a text for each column, or for each panel.

    Returns:
        The matplotlib axes, a NumPy array (layers, heads).

    Raises:
        TypeError: weights does not hold real numbers, or queries or keys is no list of
            texts.
        ValueError: a weight is not from 0 to 1, weights has another number of axes, or
            the texts are not as many as the queries or keys.

    Examples:
        >>> panels = d2l_ext.diagrams.attention_lines(
        ...     [[0.75, 0.25]], queries=["deux"], keys=["two", "hundred"]
        ... )
        >>> panels.shape, [text.get_text() for text in panels[0, 0].texts]
        ((1, 1), ['deux', 'two', 'hundred'])
    """
    heads = panels_of("weights", weights)
    if not ((heads >= 0) & (heads <= 1 + 1e-6)).all():  # NaN fails here as well
        raise ValueError(f"weights must lie between 0 and 1, got {_outside(heads)}")
    rows, columns, num_queries, num_keys = heads.shape
    queries = _check.texts("queries", queries, num_queries)
    keys = _check.texts("keys", keys, num_keys)
    shown_titles = titles_of(titles, rows, columns)
    left, right = (GAP + _width(texts) + EDGE for texts in (queries, keys))
    width, height = left + LINE + right, TOKEN * max(num_queries, num_keys)
    total = rows * (height + TITLE)
    figure, axes = new_panels(rows, columns, figsize=(columns * width, total))
    figure.subplots_adjust(0, 0, 1, 1 - TITLE / total, 0, TITLE / height)
    axes = axes.reshape(rows, columns)
    for (i, j), panel in np.ndenumerate(axes):
        _draw_lines(panel, heads[i, j], COLORS[j % len(COLORS)])
        _write(panel, queries, x=-GAP / LINE, ha="right")
        _write(panel, keys, x=1 + GAP / LINE, ha="left")
        panel.set_title(shown_titles[i][j])
        panel.set(
            xlim=(-left / LINE, 1 + right / LINE), ylim=(height / TOKEN - 0.5, -0.5)
        )
    return without_echo(axes)


def _width(tokens: list[str]) -> float:
    """Inches of the widest; whole hundredths, which no version's rounding changes."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties()  # of the size that texts have
    points = (
        text_to_path.get_text_width_height_descent(line, font, ismath=False)[0]
        for token in tokens
        for line in token.split("\n")
    )
    return math.ceil(max(points) / 72 * 100) / 100


def _outside(weights: Array) -> float:
    return float(weights[~((weights >= 0) & (weights <= 1 + 1e-6))][0])


def _draw_lines(panel: Axes, weights: Array, color: str) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    ends = [[(0, query), (1, key)] for query, key in np.ndindex(weights.shape)]
    flat = weights.reshape(-1)
    colors = [(*to_rgb(color), min(weight, 1)) for weight in flat]
    panel.add_collection(LineCollection(ends, linewidths=WIDEST * flat, colors=colors))


def _write(panel: Axes, tokens: list[str], **place: Any) -> None:
    for y, token in enumerate(tokens):
        # A token is no formula: a dollar sign in it is a dollar sign.
        panel.text(y=y, s=token, va="center", color=INK, parse_math=False, **place)
