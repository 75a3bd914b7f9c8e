"""Figure 10.6.1: a CNN, an RNN and self-attention over the same tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._types import Array
from ..figures import without_echo
from ._style import connect, new_panels, node

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def sequence_models(num_tokens: int = 5, kernel_size: int = 3) -> Array:
    """Draw figure 10.6.1: a CNN, an RNN and self-attention over the same tokens.

    Every connection is drawn, none from padding. Red shows how a signal travels: in the
    CNN from the two outer tokens to the middle output of the second layer, in the
    other two from the first token to the last output.

    Args:
        num_tokens: number of tokens n, odd.
        kernel_size: width k of the convolution, odd.

    Returns:
        The three matplotlib axes, a NumPy array.
    """
    figure, axes = new_panels(1, 3, figsize=(9, 2.8))
    _draw_cnn(axes[0], num_tokens, kernel_size)
    _draw_rnn(axes[1], num_tokens)
    _draw_self_attention(axes[2], num_tokens)
    for panel in axes:
        panel.set(xlim=(0.5, num_tokens + 0.5), ylim=(-0.4, 2.4))
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=0.88, wspace=0.08)
    return without_echo(axes)


def _draw_cnn(panel: Axes, n: int, k: int) -> None:
    panel.set_title(f"CNN, kernel size {k}: $O(n/k)$")
    half, middle = k // 2, (n + 1) // 2
    reached = {0: {1, n}, 1: {1 + half, n - half}, 2: {middle}}
    for layer in (0, 1):
        for start in range(1, n + 1):
            for end in range(max(1, start - half), min(n, start + half) + 1):
                on_path = start in reached[layer] and end in reached[layer + 1]
                connect(panel, (start, layer), (end, layer + 1), on_path)
    for layer, letter in enumerate("xhy"):
        _row_of_nodes(panel, letter, n, layer)


def _draw_rnn(panel: Axes, n: int) -> None:
    panel.set_title("RNN: $O(n)$")
    for t in range(1, n + 1):
        connect(panel, (t, 0), (t, 1), t == 1)
        connect(panel, (t, 1), (t, 2), t == n)
        if t < n:
            connect(panel, (t, 1), (t + 1, 1), True)
    for layer, letter in enumerate("xhy"):
        _row_of_nodes(panel, letter, n, layer)


def _draw_self_attention(panel: Axes, n: int) -> None:
    panel.set_title("Self-attention: $O(1)$")
    for start in range(1, n + 1):
        for end in range(1, n + 1):
            connect(panel, (start, 0), (end, 2), (start, end) == (1, n))
    _row_of_nodes(panel, "x", n, 0)
    _row_of_nodes(panel, "y", n, 2)


def _row_of_nodes(panel: Axes, letter: str, n: int, layer: int) -> None:
    for i in range(1, n + 1):
        label = f"${letter}_{i}$" if i < 10 else f"${letter}_{{{i}}}$"
        node(panel, (i, layer), label)
