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
    Dropout,
    computable,
    has_hooks,
    keep_first,
    without_overflow,
)
from ._lengths import KeyLengths
from ._paddle import paddle

nn = paddle.nn
Score = Callable[[paddle.Tensor, paddle.Tensor], paddle.Tensor]


@paddle.jit.not_to_static
def choose(
    queries: paddle.Tensor,
    keys: paddle.Tensor,
    values: paddle.Tensor,
    lens: KeyLengths,
    dropout: nn.Layer,
) -> Callable[..., tuple[paddle.Tensor, Any]]:
    """Say which way a call takes, from shapes, dtypes, device and kind of dropout.

    - ``plain`` asks for nothing: static programs, half precision, GPUs.
    - ``whole`` has as few operations as there can be, for what is small.
    - ``by_blocks`` never holds all scores, for what is large.
    - ``flash`` neither, on a GPU that has it.
    """
    if not paddle.in_dynamic_mode() or not drops_by_p_alone(dropout):
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
    alike = queries.dtype == keys.dtype == values.dtype
    if queries.dtype not in SINGLE_AND_DOUBLE or not alike:
        return plain
    return by_blocks if large else whole


def drops_by_p_alone(dropout: Any) -> bool:
    """Whether it is the usual dropout: a user may have put another in its place."""
    return (
        type(dropout) in (Dropout, nn.Dropout)
        and dropout.mode == "upscale_in_train"
        and dropout.axis is None
        and not has_hooks(dropout)
    )


def pool(
    queries: paddle.Tensor,
    keys: paddle.Tensor,
    values: paddle.Tensor,
    lens: KeyLengths,
    dropout: Any,
) -> tuple[paddle.Tensor, Any]:
    """Return the output, and the weights before dropout or how to get them."""
    way = choose(queries, keys, values, lens, dropout)
    return way(queries, keys, values, lens, dropout)


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
    return by_scores(scaled_products, queries, keys, values, lens, dropout)


def by_scores(
    score: Score,
    queries: paddle.Tensor,
    keys: paddle.Tensor,
    values: paddle.Tensor,
    lens: KeyLengths,
    dropout: Any,
) -> tuple[paddle.Tensor, paddle.Tensor]:
    """Pool by any function (queries, keys) that gives the scores."""
    of_scores = lens.of_scores()
    weights = weights_of(score, queries, keys, of_scores)
    if of_scores is not None:
        values = without_padding(values, of_scores)
    values = computable(values)
    return paddle.bmm(dropout(weights.astype(values.dtype)), values), weights


def weights_of(
    score: Score, queries: paddle.Tensor, keys: paddle.Tensor, of_scores: Any
) -> paddle.Tensor:
    if of_scores is not None:
        keys = without_padding(keys, of_scores)
    return softmax(score(queries, keys), of_scores)


def scaled_products(queries: paddle.Tensor, keys: paddle.Tensor) -> paddle.Tensor:
    return products(_blocks.scaled(without_overflow(computable(queries))), keys)


def products(queries: paddle.Tensor, keys: paddle.Tensor) -> paddle.Tensor:
    queries, keys = (without_overflow(computable(t)) for t in (queries, keys))
    return paddle.matmul(queries, keys, transpose_y=True)


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
    scaled = _blocks.scaled(queries)
    scores = paddle.matmul(scaled, keys, transpose_y=True)
    if lens.lens is None:
        weights = nn.functional.softmax(scores)
    else:
        # 0 * NaN is NaN, so padding may have to be cleaned. That is seldom needed, and
        # it shows in the results; from clean padding they are bit by bit the same.
        if not finite(scores):
            clean = without_padding(keys, lens.of_scores())
            scores = paddle.matmul(scaled, clean, transpose_y=True)
            if not finite(scores):
                return plain(queries, keys, values, lens, dropout)
        weights = masked(scores, lens)
    dropped = dropout(weights) if probability(dropout) else weights
    output = paddle.matmul(dropped, values)
    if lens.lens is not None and not finite(output):
        clean = without_padding(values, lens.of_scores())
        output = paddle.matmul(dropped, clean)
    return output, weights


def probability(dropout: nn.Dropout) -> float:
    """Of dropping a weight now; in evaluation 0."""
    return dropout.p if dropout.training else 0.0


def masked(scores: paddle.Tensor, lens: KeyLengths) -> paddle.Tensor:
    """The masked softmax of finite scores."""
    mask = lens.mask(scores.shape[1], scores.shape[2], scores.dtype)
    if not scores.stop_gradient:
        scores = scores * mask  # no gradient goes to padding, not even 1e-28
    # 0 where a key is valid, else as low as can be.
    low = paddle.scale(mask, _blocks.highest(mask.dtype), -1.0, bias_after_scale=False)
    # Paddle's softmax leaves exp(-64) of masked scores, and a row without a valid key
    # is no 0 yet.
    return nn.functional.softmax(scores + low) * mask


class Recipe:
    """The weights of a call that has not kept them, computed when they are wanted.

    Args:
        queries: as they were scaled.
        keys, lens: as for every way. Nobody else writes to them.
    """

    def __init__(
        self, queries: paddle.Tensor, keys: paddle.Tensor, lens: KeyLengths
    ) -> None:
        self.queries, self.keys, self.lens = queries, keys, lens

    @classmethod
    def of(cls, queries: paddle.Tensor, keys: paddle.Tensor, lens: KeyLengths) -> Any:
        """From what the caller of attention has, and may write to later."""
        return cls(queries, keys if lens.of_layer else keys.clone(), lens.clone())

    def detach(self) -> Recipe:
        return Recipe(self.queries.detach(), self.keys.detach(), self.lens)

    def clone(self) -> Recipe:
        return self  # nobody writes to its copies

    def weights(self) -> paddle.Tensor:
        return weights_of(products, self.queries, self.keys, self.lens.of_scores())


def by_blocks(
    queries: paddle.Tensor,
    keys: paddle.Tensor,
    values: paddle.Tensor,
    lens: KeyLengths,
    dropout: nn.Dropout,
) -> tuple[paddle.Tensor, Recipe]:
    queries = _blocks.scaled(queries)
    output = _blocks.pooled(queries, keys, values, lens, probability(dropout))
    return output, Recipe.of(queries, keys, lens)


def flash(
    queries: paddle.Tensor,
    keys: paddle.Tensor,
    values: paddle.Tensor,
    lens: KeyLengths,
    dropout: nn.Dropout,
) -> tuple[paddle.Tensor, Recipe]:
    output = _flash.pooled(queries, keys, values, probability(dropout))
    return output, Recipe.of(_blocks.scaled(queries), keys, lens)
