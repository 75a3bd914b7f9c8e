"""The rotary position embedding: queries and keys are turned, nothing is added."""

from __future__ import annotations

from . import _check
from ._compat import computable
from ._paddle import paddle
from .positional import PositionTable


class RotaryEncoding(PositionTable):
    """Turn queries or keys by angles that grow with their position (RoPE).

    Su et al. 2021, arXiv:2104.09864. Columns 2j and 2j+1 of token i are the
    coordinates of a point in a plane, which is turned by the angle i / 10000^(2j/d),
    d = num_hiddens: the angles of (10.6.2). The product of a turned query and a turned
    key depends on how far apart they are, not on where. It has no parameters.

    Both queries and keys are turned, and values are not. In multi-head attention that
    is done in each head: d is then the size of a head.

    Args:
        num_hiddens: size of one query or key; an even number.
        max_len: the longest sequence that can be encoded.

    Attributes:
        P: the sines and cosines (1, max_len, num_hiddens), the table of
            :class:`PositionalEncoding`. It is a buffer that is not saved.

    Raises:
        TypeError, ValueError: num_hiddens or max_len is not a positive integer, or
            num_hiddens is odd.

    Examples:
        A query of all ones and a key of all ones, three places apart:

        >>> rotary = d2l_ext.RotaryEncoding(num_hiddens=4)
        >>> X = rotary(paddle.ones([1, 104, 4]))[0]
        >>> [round((X[i] * X[i + 3]).sum().item(), 3) for i in (0, 10, 100)]
        [0.019, 0.019, 0.019]
    """

    def __init__(self, num_hiddens: int, max_len: int = 1000) -> None:
        super().__init__(num_hiddens, max_len)
        if self.P.shape[2] % 2:
            raise ValueError(f"num_hiddens must be even, got {self.P.shape[2]}")

    def forward(self, X: paddle.Tensor, start: int = 0) -> paddle.Tensor:
        """Return X with each pair of columns turned.

        Args:
            X: queries or keys, float tensor (batch, n, num_hiddens); in multi-head
                attention (batch * num_heads, n, size of a head).
            start: position of the first token, where X continues a sequence; start + n
                is at most max_len.

        Returns:
            A tensor of X's shape and dtype.

        Raises:
            TypeError: X is not a floating point tensor.
            ValueError: X has not three axes, its tokens are of another size, or there
                are more of them than max_len.

        Examples:
            Position 1 is turned by one radian:

            >>> rotary = d2l_ext.RotaryEncoding(num_hiddens=2)
            >>> X = rotary(paddle.to_tensor([[[1.0, 0.0], [1.0, 0.0]]]))
            >>> [[round(x, 4) for x in point] for point in X[0].tolist()]
            [[1.0, 0.0], [0.5403, 0.8415]]
        """
        start = self._check_tokens(X, start)
        if _check.is_empty(X):
            return paddle.zeros_like(X)
        tokens = computable(X)
        rows = self._rows(start, X.shape[1], X.dtype).astype(tokens.dtype)
        sines, cosines = rows[:, 0::2], rows[:, 1::2]
        x, y = tokens[:, :, 0::2], tokens[:, :, 1::2]
        turned = [x * cosines - y * sines, x * sines + y * cosines]
        return paddle.stack(turned, axis=-1).flatten(2, 3).astype(X.dtype)
