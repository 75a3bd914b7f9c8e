"""The figures that the book draws by hand, drawn by code.

Texts in figures are ASCII or mathematics: they show on a machine without Chinese
fonts, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._types import Array
from .figures import use_crisp_png, without_echo

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, PALE, PATH = "#333333", "#c4c4c4", "#d62728"


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
    from matplotlib import pyplot as plt

    use_crisp_png()
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.8))
    _draw_cnn(axes[0], num_tokens, kernel_size)
    _draw_rnn(axes[1], num_tokens)
    _draw_self_attention(axes[2], num_tokens)
    for panel in axes:
        panel.set(xlim=(0.5, num_tokens + 0.5), ylim=(-0.4, 2.4))
        panel.axis("off")
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
                _arrow(panel, (start, layer), (end, layer + 1), on_path)
    for layer, letter in enumerate("xhy"):
        _row_of_nodes(panel, letter, n, layer)


def _draw_rnn(panel: Axes, n: int) -> None:
    panel.set_title("RNN: $O(n)$")
    for t in range(1, n + 1):
        _arrow(panel, (t, 0), (t, 1), t == 1)
        _arrow(panel, (t, 1), (t, 2), t == n)
        if t < n:
            _arrow(panel, (t, 1), (t + 1, 1), True)
    for layer, letter in enumerate("xhy"):
        _row_of_nodes(panel, letter, n, layer)


def _draw_self_attention(panel: Axes, n: int) -> None:
    panel.set_title("Self-attention: $O(1)$")
    for start in range(1, n + 1):
        for end in range(1, n + 1):
            _arrow(panel, (start, 0), (end, 2), (start, end) == (1, n))
    _row_of_nodes(panel, "x", n, 0)
    _row_of_nodes(panel, "y", n, 2)


def _arrow(
    panel: Axes, start: tuple[int, int], end: tuple[int, int], on_path: bool
) -> None:
    """Draw one connection; those on the red path lie over the others."""
    style = {"arrowstyle": "-|>", "shrinkA": 10, "shrinkB": 10, "lw": 1}
    if on_path:
        style["lw"] = 2
    style["color"] = PATH if on_path else PALE
    panel.annotate("", xy=end, xytext=start, arrowprops=style, zorder=2 + on_path)


def _row_of_nodes(panel: Axes, letter: str, n: int, layer: int) -> None:
    for i in range(1, n + 1):
        label = f"${letter}_{i}$" if i < 10 else f"${letter}_{{{i}}}$"
        circle = {"boxstyle": "circle", "facecolor": "white", "edgecolor": INK}
        panel.text(i, layer, label, ha="center", va="center", bbox=circle, zorder=4)
