"""Figure 10.4.1: an encoder-decoder of recurrent networks, with attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._types import Array
from ..figures import without_echo
from ._style import FILLS, PATH, Point, arrow, box, new_panels, node

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOKEN, EMBEDDING, STATE, ATTENTION, DENSE, OUTPUT = 0.0, 1.0, 2.1, 3.7, 4.6, 5.6
APART = 1.3  # one token from the next
GAP = 3.1  # the last source token from the first target token
NODE, HALF = 0.22, 0.25  # from the middle of a node, or of a box, to its edge
BOLD = 2.0


def encoder_decoder(source: int = 4, target: int = 3, step: int = 2) -> Array:
    """Draw figure 10.4.1: a decoder that looks back at the encoder's outputs.

    Red is what attention does at one step: the query is the decoder's hidden state
    before it, keys and values are the encoder's outputs, and the context goes into the
    recurrent layer. It is the same at the other steps, where it is not drawn.

    Args:
        source: number of source tokens.
        target: number of target tokens.
        step: the step at which attention is drawn, from 1 to target.

    Returns:
        The matplotlib axes, a NumPy array with one element.
    """
    left = [APART * t for t in range(source)]
    start = left[-1] + GAP
    right = [start + APART * t for t in range(target)]
    figure, axes = new_panels(1, 1, figsize=(9, 5.2))
    panel = axes[0]
    inputs = [f"$x_{t + 1}$" for t in range(source)]
    _draw_network(panel, left, inputs, "h", "encoder", STATE + 0.5)
    inputs = ["$y_0$", *(f"$y_{t + 1}$" for t in range(target - 1))]
    _draw_network(panel, right, inputs, "s", "decoder", DENSE + 0.45)
    initial = start - APART
    _along(panel, left[-1], initial)
    _along(panel, initial, start)
    node(panel, (initial, STATE), "$s_0$")
    _draw_outputs(panel, right)
    _draw_attention(panel, left, [initial, *right], step)
    panel.set(xlim=(-0.85, right[-1] + 0.85), ylim=(-0.85, OUTPUT + 0.45))
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=0.99)
    return without_echo(axes)


def _draw_network(
    panel: Axes, xs: list[float], inputs: list[str], state: str, name: str, top: float
) -> None:
    """Tokens, their embeddings and the hidden states, on a ground that has a name."""
    from matplotlib.patches import Rectangle

    width = xs[-1] - xs[0] + 1.4
    corner, height = (xs[0] - 0.7, EMBEDDING - 0.4), top - EMBEDDING + 0.4
    panel.add_patch(Rectangle(corner, width, height, color="#f4f4f4", zorder=0))
    middle = (xs[0] + xs[-1]) / 2, EMBEDDING
    panel.text(middle[0], TOKEN - 0.6, name, ha="center", va="center", weight="bold")
    box(panel, middle, "embedding", (width - 0.3, 2 * HALF), FILLS[3])
    for t, (x, text) in enumerate(zip(xs, inputs), 1):
        arrow(panel, (x, TOKEN + NODE), (x, EMBEDDING - HALF))
        arrow(panel, (x, EMBEDDING + HALF), (x, STATE - NODE))
        panel.text(x, TOKEN, text, ha="center", va="center")
        if t > 1:
            _along(panel, xs[t - 2], x)
        node(panel, (x, STATE), f"${state}_{t}$")


def _along(panel: Axes, start: float, end: float) -> None:
    arrow(panel, (start + NODE, STATE), (end - NODE, STATE))


def _draw_outputs(panel: Axes, xs: list[float]) -> None:
    middle, width = (xs[0] + xs[-1]) / 2, xs[-1] - xs[0] + 1.1
    box(panel, (middle, DENSE), "dense", (width, 2 * HALF), FILLS[3])
    for t, x in enumerate(xs, 1):
        arrow(panel, (x, STATE + NODE), (x, DENSE - HALF))
        arrow(panel, (x, DENSE + HALF), (x, OUTPUT - NODE))
        panel.text(x, OUTPUT, f"$y_{t}$", ha="center", va="center")


def _draw_attention(
    panel: Axes, keys: list[float], states: list[float], step: int
) -> None:
    """From all h_t and s_{step-1} to the context, and on to s_step."""
    edge = keys[-1] + 0.7
    middle = (keys[0] + keys[-1]) / 2, ATTENTION
    box(panel, middle, "attention", (edge - keys[0] + 0.7, 0.7), FILLS[1])
    for x in keys:
        _red(panel, (x, STATE + NODE), (x, ATTENTION - 0.35))
    panel.text(
        keys[0] + 0.12, (STATE + ATTENTION) / 2 + 0.05, "keys, values", color=PATH
    )
    before, now = states[step - 1], states[step]
    _red(panel, (before - 0.18, STATE + 0.13), (edge, ATTENTION - 0.2))
    panel.text(edge + 0.95, STATE + 1.05, "query", color=PATH)
    context = (before + now) / 2, ATTENTION + 0.15
    _red(panel, (edge, context[1]), (context[0] - NODE, context[1]))
    _red(panel, (context[0] + 0.1, context[1] - NODE), (now - 0.08, STATE + NODE))
    node(panel, context, f"$c_{step}$")


def _red(panel: Axes, start: Point, end: Point) -> None:
    arrow(panel, start, end, PATH, BOLD)
