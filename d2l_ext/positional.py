"""The fixed positional encoding from sines and cosines."""

from __future__ import annotations

import math

import numpy as np

from . import _check
from ._compat import Dropout, Layer, computable
from ._paddle import paddle
from ._types import Array

# In the significand: how exactly a dtype holds a number of about 1.
BINARY_DIGITS = {
    paddle.float64: 53,
    paddle.float32: 24,
    paddle.float16: 11,
    paddle.bfloat16: 8,
}


def position_table(max_len: int, num_hiddens: int) -> Array:
    """Return the encodings of positions 0 .. max_len-1, float64 (max_len, num_hiddens).

    (10.6.2): column 2j is sin(i / 10000^(2j/d)), column 2j+1 the cosine of the same
    angle, with i the row and d = num_hiddens. An odd d ends with a sine.
    """
    denominators = 10000.0 ** (np.arange(0, num_hiddens, 2) / num_hiddens)
    # Sines and cosines take long. So position = a multiple of ``step`` + a rest below
    # it, and what belongs to the sum of two angles is a product of complex numbers,
    # sin + i cos = i exp(-i angle). This is as exact as sines of all angles.
    step = math.isqrt(max_len - 1) + 1
    rest = np.exp(-1j * (np.arange(step)[:, None] / denominators))
    multiple = 1j * np.exp(-1j * (np.arange(0, max_len, step)[:, None] / denominators))
    pairs = (multiple[:, None] * rest).reshape(-1, len(denominators))
    return pairs.view(np.float64)[:max_len, :num_hiddens]


class PositionTable(Layer):
    """The sines and cosines of :func:`position_table`, kept for a layer.

    Attributes:
        P: the table (1, max_len, num_hiddens), computed in float64 and rounded once to
            Paddle's default dtype. It is a buffer that is not saved.
    """

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__()
        num_hiddens = _check.positive_int("num_hiddens", num_hiddens)
        max_len = _check.positive_int("max_len", max_len)
        table = position_table(max_len, num_hiddens)[None]
        P = paddle.to_tensor(table, paddle.get_default_dtype())
        self.register_buffer("P", P, persistable=False)
        self._digits = BINARY_DIGITS[P.dtype]  # more do not come from to(dtype=…)

    def _check_tokens(self, X: paddle.Tensor, start: int) -> int:
        """Return ``start`` as an int, if the table has a row for each token of X."""
        _check.float_tensor("X", X, ("batch", "n", "num_hiddens"))
        _check.axis("X", X, 2, "num_hiddens", self.P, 2)
        start = _check.position("start", start)
        room = self.P.shape[1] - start
        limit = "max_len - start" if start else "max_len"
        _check.at_most("X", X, 1, limit, room)
        return start

    def _rows(self, start: int, n: int, dtype: paddle.dtype) -> paddle.Tensor:
        """The n rows from ``start`` on; of a new table where P is too coarse.

        Without the axis for the batch: Paddle adds (n, num_hiddens) in a sixth of the
        time that (1, n, num_hiddens) takes.
        """
        P = self.P
        if BINARY_DIGITS[dtype] > min(BINARY_DIGITS[P.dtype], self._digits):
            P = paddle.to_tensor(position_table(*P.shape[1:])[None])
        return P[0, start : start + n]


class PositionalEncoding(PositionTable):
    """Add to each token an encoding of its position, then apply dropout.

    Book: section 10.6, (10.6.2) (Vaswani et al. 2017, arXiv:1706.03762).

    Args:
        num_hiddens: size of one token, even or odd.
        dropout: probability of dropping an element in training.
        max_len: the longest sequence that can be encoded.

    Attributes:
        P: the table (1, max_len, num_hiddens), computed in float64 and rounded once to
            Paddle's default dtype. It is a buffer that is not saved, so a checkpoint
            does not depend on max_len.

    Raises:
        TypeError, ValueError: num_hiddens or max_len is not a positive integer, or
            dropout is not a number from 0 to 1.

    Examples:
        How alike two encodings are depends on their distance, not on where they are:

        >>> P = d2l_ext.PositionalEncoding(num_hiddens=4, dropout=0).P[0]
        >>> [round((P[i] * P[i + 1]).sum().item(), 3) for i in (0, 10, 100)]
        [1.54, 1.54, 1.54]
    """

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000) -> None:
        super().__init__(num_hiddens, max_len)
        self.dropout = Dropout(dropout)

    def forward(self, X: paddle.Tensor, start: int = 0) -> paddle.Tensor:
        """Return dropout(X + P[:, start : start + n, :]).

        Args:
            X: float tensor (batch, n, num_hiddens).
            start: position of the first token, where X continues a sequence; start + n
                is at most max_len.

        Returns:
            A tensor of X's shape and dtype.

        Raises:
            TypeError: X is not a floating point tensor.
            ValueError: X has not three axes, its tokens are of another size, or there
                are more of them than max_len.

        Examples:
            At position 0 all sines are 0, and all cosines 1:

            >>> encoding = d2l_ext.PositionalEncoding(num_hiddens=4, dropout=0)
            >>> encoding(paddle.zeros([1, 1, 4])).tolist()
            [[[0.0, 1.0, 0.0, 1.0]]]
        """
        start = self._check_tokens(X, start)
        if _check.is_empty(X):
            return paddle.zeros_like(X)
        tokens = computable(X)
        rows = self._rows(start, X.shape[1], X.dtype).astype(tokens.dtype)
        return self.dropout(tokens + rows).astype(X.dtype)
