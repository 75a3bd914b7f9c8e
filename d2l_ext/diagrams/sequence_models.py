"""Figure 10.6.1: a CNN, an RNN and self-attention over the same tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _check
from .._types import Array
from ..figures import to_numpy, without_echo
from ._style import connect, new_panels, node

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("cnn", "rnn_in", "rnn_step", "rnn_out", "attention")


def sequence_models(
    num_tokens: int = 5,
    kernel_size: int = 3,
    connections: Mapping[str, Any] | None = None,
) -> Array:
    """Draw figure 10.6.1: a CNN, an RNN and self-attention over the same tokens.

    Every connection is drawn, none from padding. Red shows how a signal travels: in the
    CNN from the two outer tokens to the middle output of the second layer, in the
    other two from the first token to the last output.

    Args:
        num_tokens: number of tokens n, odd.
        kernel_size: width k of the convolution, odd.
        connections: which arrows there are, such as gradients have shown; without it
            those that theory knows. A boolean matrix (n, n) for each key: True in row
            i, column j is an arrow from the j-th node to the i-th. ``"cnn"`` is one
            layer, ``"attention"`` as well; ``"rnn_in"`` leads from inputs to hidden
            states, ``"rnn_step"`` from these to each other, ``"rnn_out"`` to outputs.

    Returns:
        The three matplotlib axes, a NumPy array.

    Raises:
        TypeError, ValueError: num_tokens or kernel_size is not a positive, odd integer.
        TypeError: connections is no dict, or holds something else than booleans.
        ValueError: connections has other keys, or matrices of another shape.

    Examples:
        >>> import numpy as np
        >>> from d2l_ext import diagrams
        >>> same, before = np.eye(3, dtype=bool), np.eye(3, k=-1, dtype=bool)
        >>> arrows = {"cnn": same, "rnn_in": same, "rnn_step": before}
        >>> arrows.update(rnn_out=same, attention=same | same[::-1])
        >>> axes = diagrams.sequence_models(3, 1, arrows)
        >>> [sum(text.get_text() == "" for text in panel.texts) for panel in axes]
        [6, 8, 5]
    """
    num_tokens = _odd("num_tokens", num_tokens)
    kernel_size = _odd("kernel_size", kernel_size)
    theory = _theory(num_tokens, kernel_size)
    found = theory if connections is None else _checked(connections, num_tokens)
    figure, axes = new_panels(1, 3, figsize=(9, 2.8))
    _draw_cnn(axes[0], found["cnn"], kernel_size)
    _draw_rnn(axes[1], found["rnn_in"], found["rnn_step"], found["rnn_out"])
    _draw_self_attention(axes[2], found["attention"])
    for panel in axes:
        panel.set(xlim=(0.5, num_tokens + 0.5), ylim=(-0.4, 2.4))
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=0.88, wspace=0.08)
    return without_echo(axes)


def _odd(name: str, value: Any) -> int:
    number = _check.positive_int(name, value)
    if number % 2 == 0:
        raise ValueError(f"{name} must be odd, got {number}")
    return number


def _theory(n: int, k: int) -> dict[str, Array]:
    position = np.arange(n)
    apart = abs(position - position[:, None])
    same, before = np.eye(n, dtype=bool), np.eye(n, k=-1, dtype=bool)
    matrices = (apart <= k // 2, same, before, same, np.ones((n, n), dtype=bool))
    return dict(zip(KINDS, matrices))


def _checked(connections: Any, n: int) -> dict[str, Array]:
    """The matrices as NumPy arrays, if they are what they should be."""
    came = _check.received(connections)
    if not isinstance(connections, Mapping):
        raise TypeError(f"connections must be a dict of matrices, got {came}")
    if set(connections) != set(KINDS):
        raise ValueError(f"connections must have the keys {KINDS}, got {came}")
    found = {}
    for kind in KINDS:
        name = f"connections[{kind!r}]"
        found[kind] = matrix = to_numpy(name, connections[kind])
        if matrix.dtype != bool:
            raise TypeError(f"{name} must hold booleans, got {matrix.dtype}")
        if matrix.shape != (n, n):
            raise ValueError(
                f"{name} must be of shape (num_tokens, num_tokens) = ({n}, {n}), "
                f"got {matrix.shape}"
            )
    return found


def _arrows(matrix: Array) -> list[list[int]]:
    """From which node to which, counted from 1."""
    pairs: list[list[int]] = (np.argwhere(matrix.T) + 1).tolist()
    return pairs


def _draw_cnn(panel: Axes, layer: Array, k: int) -> None:
    panel.set_title(f"CNN, kernel size {k}: $O(n/k)$")
    n = len(layer)
    half, middle = k // 2, (n + 1) // 2
    reached = {0: {1, n}, 1: {1 + half, n - half}, 2: {middle}}
    for depth in (0, 1):
        for start, end in _arrows(layer):
            on_path = start in reached[depth] and end in reached[depth + 1]
            connect(panel, (start, depth), (end, depth + 1), on_path)
    for depth, letter in enumerate("xhy"):
        _row_of_nodes(panel, letter, n, depth)


def _draw_rnn(panel: Axes, inputs: Array, step: Array, outputs: Array) -> None:
    panel.set_title("RNN: $O(n)$")
    n = len(step)
    for start, end in _arrows(inputs):
        connect(panel, (start, 0), (end, 1), start == end == 1)
    for start, end in _arrows(outputs):
        connect(panel, (start, 1), (end, 2), start == end == n)
    for start, end in _arrows(step):
        connect(panel, (start, 1), (end, 1), end == start + 1)
    for depth, letter in enumerate("xhy"):
        _row_of_nodes(panel, letter, n, depth)


def _draw_self_attention(panel: Axes, layer: Array) -> None:
    panel.set_title("Self-attention: $O(1)$")
    n = len(layer)
    for start, end in _arrows(layer):
        connect(panel, (start, 0), (end, 2), (start, end) == (1, n))
    _row_of_nodes(panel, "x", n, 0)
    _row_of_nodes(panel, "y", n, 2)


def _row_of_nodes(panel: Axes, letter: str, n: int, layer: int) -> None:
    for i in range(1, n + 1):
        label = f"${letter}_{i}$" if i < 10 else f"${letter}_{{{i}}}$"
        node(panel, (i, layer), label)
