"""Attention with linear biases: scores fall with the distance, and nothing else."""

from __future__ import annotations

import numpy as np

from . import _check
from ._compat import Layer, computable
from ._paddle import paddle
from ._types import Array


def geometric_slopes(num_heads: int) -> Array:
    """Return one slope a head, float64 (num_heads,), as the authors choose them.

    For H heads, a power of two, 2^(-8/H), 2^(-16/H), …, 2^(-8). For another number
    those of the next lower power of two, then the first, third, … of twice that.
    """
    power = 2 ** (num_heads.bit_length() - 1)
    slopes, finer = (2.0 ** (-8 * np.arange(1, n + 1) / n) for n in (power, 2 * power))
    return np.concatenate([slopes, finer[::2]])[:num_heads]


class ALiBi(Layer):
    """Biases of the scores that fall linearly with the distance, steeper or flatter.

    Press et al. 2021, arXiv:2108.12409. They are added to the scores before the
    softmax; queries, keys and values know no positions. The distance is counted to both
    sides; with a mask that lets a query see no later key, it is that of the paper.

    Args:
        num_heads: number of heads, each of which has a slope of its own.

    Attributes:
        slopes: (num_heads,) in Paddle's default dtype: 2^(-8/H), 2^(-16/H), … for H
            heads, a power of two; else those of the next lower power of two, and then
            every other one of twice that. A buffer that is not saved, no parameter.

    Raises:
        TypeError, ValueError: num_heads is not a positive integer.

    Examples:
        >>> d2l_ext.ALiBi(num_heads=4).slopes.tolist()
        [0.25, 0.0625, 0.015625, 0.00390625]
    """

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        table = geometric_slopes(_check.positive_int("num_heads", num_heads))
        slopes = paddle.to_tensor(table, paddle.get_default_dtype())
        self.register_buffer("slopes", slopes, persistable=False)

    def forward(self, num_queries: int, num_keys: int) -> paddle.Tensor:
        """Return -slope * |position of the query - position of the key|.

        Args:
            num_queries: number of queries. They are the last ones of the sequence, so
                query i has position num_keys - num_queries + i.
            num_keys: number of keys, and so of tokens in the sequence; at least
                num_queries.

        Returns:
            (num_heads, num_queries, num_keys), in the dtype of the slopes. To scores
            (batch * num_heads, queries, keys) add it repeated for each example:
            ``.tile([batch, 1, 1])``.

        Raises:
            TypeError, ValueError: a number is not a positive integer, or there are
                more queries than keys.

        Examples:
            A whole sequence of three tokens, and then its last token alone:

            >>> alibi = d2l_ext.ALiBi(num_heads=8)
            >>> alibi(3, 3)[0].tolist()
            [[0.0, -0.5, -1.0], [-0.5, 0.0, -0.5], [-1.0, -0.5, 0.0]]
            >>> alibi(1, 3)[0].tolist()
            [[-1.0, -0.5, 0.0]]
        """
        num_queries = _check.positive_int("num_queries", num_queries)
        num_keys = _check.positive_int("num_keys", num_keys)
        if num_queries > num_keys:
            raise ValueError(
                f"num_queries must be at most num_keys ({num_keys}), got {num_queries}"
            )
        slopes = computable(self.slopes)
        keys = paddle.arange(num_keys)
        queries = keys[num_keys - num_queries :].unsqueeze(1)
        distance = (queries - keys).abs().astype(slopes.dtype)
        return (slopes.reshape([-1, 1, 1]) * -distance).astype(self.slopes.dtype)
