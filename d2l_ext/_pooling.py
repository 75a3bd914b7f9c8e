"""Scaled dot-product attention in several ways, and which of them a call takes.

All give softmax(Q K^T / sqrt(d)) V of queries (batch, queries, d), keys (batch, keys,
d) and values (batch, keys, size), in which padding has weight 0. They differ in what
they need: see :func:`choose`.
"""

from __future__ import annotations

import math
from typing import Any, Callable

from . import _blocks, _check, _flash
from ._compat import (
    SINGLE_AND_DOUBLE,
    computable,
    keep_first,
    without_overflow,
)
from ._lengths import KeyLengths
from ._paddle import paddle

nn = paddle.nn


@paddle.jit.not_to_static
def choose(
    queries: paddle.Tensor,
    keys: paddle.Tensor,
    values: paddle.Tensor,
    lens: KeyLengths,
) -> Callable[..., tuple[paddle.Tensor, Any]]:
    """Say which way a call takes, from shapes, dtypes and device alone.

    - ``plain`` asks for nothing: static programs, half precision, GPUs.
    - ``whole`` has as few operations as there can be, for what is small.
    - ``by_blocks`` never holds all scores, for what is large.
    - ``flash`` neither, on a GPU that has it.
    """
    if not paddle.in_dynamic_mode():
        return plain
    heads, num_queries, _ = queries.shape
    scores = heads * num_queries * keys.shape[1]
    # Each example with a length of its own is computed by itself. Small ones together
    # are faster whole, and need not so much more memory than their queries do.
    examples = 1 if lens.lens is None else lens.lens.shape[0]
    large = scores > _blocks.BLOCK and 4 * scores > _blocks.BLOCK * examples
    # Not queries.place: to_static, which may run into it here, would lose its way.
    if paddle.get_device() != "cpu":
        fits = large and _flash.takes(queries, keys, values, lens)
        return flash if fits else plain
    if queries.dtype not in SINGLE_AND_DOUBLE or keys.dtype != queries.dtype:
        return plain
    return by_blocks if large else whole


def pool(
    queries: paddle.Tensor,
    keys: paddle.Tensor,
    values: paddle.Tensor,
    lens: KeyLengths,
    dropout: nn.Dropout,
) -> tuple[paddle.Tensor, Any]:
    """Return the output, and the weights before dropout or how to get them."""
    way = choose(queries, keys, values, lens)
    output, weights = way(queries, keys, values, lens, dropout)
    if way is whole and lens.lens is not None and spoiled(output, keys):
        return without_trouble(queries, keys, values, lens, dropout)
    return output, weights


@paddle.jit.not_to_static
def spoiled(output: paddle.Tensor, keys: paddle.Tensor) -> bool:
    """Whether padding may have to be cleaned: 0 * NaN is NaN, and so is 0 * infinity.

    That is seldom, so it is looked for afterwards, in the output; but keys may spoil
    the gradients alone.
    """
    return not finite(output) or not (output.stop_gradient or finite(keys))


@paddle.jit.not_to_static
def without_trouble(
    queries: paddle.Tensor,
    keys: paddle.Tensor,
    values: paddle.Tensor,
    lens: KeyLengths,
    dropout: nn.Dropout,
) -> tuple[paddle.Tensor, paddle.Tensor]:
    """Whole again, from clean padding: bit by bit what it would have been with that."""
    of_scores = lens.of_scores()
    keys, values = (without_padding(t, of_scores) for t in (keys, values))
    output, weights = whole(queries, keys, values, lens, dropout)
    if finite(output):
        return output, weights
    # Or a product, not yet divided by the root of d, was too large.
    return plain(queries, keys, values, lens, dropout)


def finite(X: paddle.Tensor) -> bool:
    """False if a number in X is infinite or NaN, or so large that the sum is."""
    total: Any = X.sum().item()  # float() takes three times as long
    return math.isfinite(total)


def plain(
    queries: paddle.Tensor,
    keys: paddle.Tensor,
    values: paddle.Tensor,
    lens: KeyLengths,
    dropout: nn.Dropout,
) -> tuple[paddle.Tensor, paddle.Tensor]:
    of_scores = lens.of_scores()
    if of_scores is not None:
        keys, values = (without_padding(t, of_scores) for t in (keys, values))
    queries, keys = (without_overflow(computable(t)) for t in (queries, keys))
    scores = paddle.matmul(_blocks.scaled(queries), keys, transpose_y=True)
    weights = softmax(scores, of_scores)
    values = computable(values)
    return paddle.bmm(dropout(weights.astype(values.dtype)), values), weights


def without_padding(X: paddle.Tensor, lens: Any) -> paddle.Tensor:
    """X (batch, keys, size) with 0 at the keys that are padding for every query.

    A weight of 0 does not help against NaN or infinity there: 0 * NaN is NaN.
    """
    # amax: at max, Paddle 3.2 warns that PyTorch's is different.
    longest = lens if len(lens.shape) == 1 else lens.amax(axis=1)
    return keep_first(computable(X), longest)


def softmax(X: paddle.Tensor, lens: paddle.Tensor | None) -> paddle.Tensor:
    """Masked softmax; lens is None, or int64 or float64 with 1 or 2 axes."""
    if _check.is_empty(X):
        return paddle.zeros_like(X)
    scores = computable(X)
    if lens is None:
        return nn.functional.softmax(scores, axis=-1).astype(X.dtype)
    position = paddle.arange(X.shape[-1], dtype=lens.dtype)
    # In a reshape a 0 keeps that axis: (batch, 1 or queries, 1).
    keep = position < lens.reshape([0, -1, 1])
    # Masked scores become -inf, so no finite score can lose to them. A row without
    # any valid key would be all -inf and turn to NaN: its first score becomes 0.
    zero, low = (paddle.full([], v, scores.dtype) for v in (0.0, -math.inf))
    fill = paddle.where(position == 0, zero, low)
    weights = nn.functional.softmax(paddle.where(keep, scores, fill), axis=-1)
    # Paddle's softmax on the CPU leaves exp(-64) even at -inf; here it becomes 0.
    return paddle.where(keep, weights, zero).astype(X.dtype)


def whole(
    queries: paddle.Tensor,
    keys: paddle.Tensor,
    values: paddle.Tensor,
    lens: KeyLengths,
    dropout: nn.Dropout,
) -> tuple[paddle.Tensor, paddle.Tensor]:
    if lens.lens is None:
        scores = paddle.matmul(_blocks.scaled(queries), keys, transpose_y=True)
        weights = nn.functional.softmax(scores)
    else:
        scores = paddle.matmul(queries, keys, transpose_y=True)
        mask = lens.mask(scores.shape[1], scores.shape[2], scores.dtype)
        # One product divides by the root of d, and lets no gradient into padding.
        scores = scores * _blocks.scaled(mask, queries.shape[2])
        # 0 where a key is valid, else as low as can be.
        scores = scores + paddle.scale(
            mask, _blocks.highest(mask.dtype), -1.0, bias_after_scale=False
        )
        # Paddle's softmax leaves exp(-64) of masked scores, and a row without a valid
        # key is no 0 yet.
        weights = nn.functional.softmax(scores) * mask
    dropped = dropout(weights) if dropout.training and dropout.p else weights
    return paddle.matmul(dropped, values), weights


class Recipe:
    """The weights of a call that has not kept them, computed when they are wanted.

    Args:
        queries: as they were scaled.
        keys, lens: as for every way.
    """

    def __init__(
        self, queries: paddle.Tensor, keys: paddle.Tensor, lens: KeyLengths
    ) -> None:
        self.queries, self.keys, self.lens = queries, keys, lens

    def detach(self) -> Recipe:
        """Of numbers alone, and of copies where the caller might write to them."""
        keys = self.keys.detach()
        if not self.lens.of_layer:
            keys = keys.clone()
        return Recipe(self.queries.detach(), keys, self.lens)

    def clone(self) -> Recipe:
        return self  # nobody writes to its copies

    def weights(self) -> paddle.Tensor:
        keys, of_scores = self.keys, self.lens.of_scores()
        if of_scores is not None:
            keys = without_padding(keys, of_scores)
        queries, keys = without_overflow(self.queries), without_overflow(keys)
        scores = paddle.matmul(queries, keys, transpose_y=True)
        return softmax(scores, of_scores)


def by_blocks(
    queries: paddle.Tensor,
    keys: paddle.Tensor,
    values: paddle.Tensor,
    lens: KeyLengths,
    dropout: nn.Dropout,
) -> tuple[paddle.Tensor, Recipe]:
    p = dropout.p if dropout.training else 0.0
    queries = _blocks.scaled(queries)
    output = _blocks.pooled(queries, keys, values, lens, p)
    return output, Recipe(queries, keys, lens)


def flash(
    queries: paddle.Tensor,
    keys: paddle.Tensor,
    values: paddle.Tensor,
    lens: KeyLengths,
    dropout: nn.Dropout,
) -> tuple[paddle.Tensor, Recipe]:
    p = dropout.p if dropout.training else 0.0
    output = _flash.pooled(queries, keys, values, p)
    return output, Recipe(_blocks.scaled(queries), keys, lens)
