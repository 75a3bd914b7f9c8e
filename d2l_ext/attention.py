"""Attention pooling: the masked softmax, two scoring functions, and many heads.

Shapes are written (batch, queries, keys) and so on; ``valid_lens`` says for each
example, or for each query, how many of the keys are real and not padding.
"""

from __future__ import annotations

import math
import weakref
from typing import Any, Callable

from . import _check
from ._compat import Dropout, Layer, computable, keep_first, linear, without_overflow
from ._paddle import paddle
from ._types import ValidLens

nn = paddle.nn


def masked_softmax(X: paddle.Tensor, valid_lens: ValidLens) -> paddle.Tensor:
    """Softmax over the last axis in which padding gets weight exactly 0.

    Book: section 10.3, the masked softmax operation.

    Args:
        X: scores, float tensor (batch, queries, keys). It is not changed.
        valid_lens: None, or the number of valid keys, (batch,) or (batch, queries):
            a tensor, NumPy array or list of any integer or float type; one number will
            do for a batch of one. Key j is valid where j < valid_lens; a length above
            the number of keys masks nothing, one of 0 or less masks the whole row.

    Returns:
        Weights of X's shape and dtype. Each row sums to 1; a row without a valid key
        is all 0.

    Raises:
        TypeError: X is not a floating point tensor, or valid_lens holds no numbers.
        ValueError: X has no axes, or not three and valid_lens is given; the shape of
            valid_lens fits neither form.

    Examples:
        Two keys are valid in the first row, none in the second:

        >>> d2l_ext.masked_softmax(paddle.zeros([2, 1, 4]), [2, 0]).tolist()
        [[[0.5, 0.5, 0.0, 0.0]], [[0.0, 0.0, 0.0, 0.0]]]
    """
    _check.float_tensor("X", X)
    if len(X.shape) == 0:
        raise ValueError("X must have at least 1 axis, got shape ()")
    if valid_lens is not None:
        _check.float_tensor("X", X, ("batch", "queries", "keys"))
        valid_lens = _check.lengths(valid_lens, X)
    return _softmax_of_checked(X, valid_lens)


def _softmax_of_checked(X: paddle.Tensor, lens: paddle.Tensor | None) -> paddle.Tensor:
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


def _without_padding(X: paddle.Tensor, lens: paddle.Tensor) -> paddle.Tensor:
    """X (batch, keys, size) with 0 at the keys that are padding for every query.

    A weight of 0 does not help against NaN or infinity there: 0 * NaN is NaN.
    """
    # amax: at max, Paddle 3.2 warns that PyTorch's is different.
    longest = lens if len(lens.shape) == 1 else lens.amax(axis=1)
    return keep_first(computable(X), longest)


def _check_queries_keys_values(
    queries: paddle.Tensor, keys: paddle.Tensor, values: paddle.Tensor
) -> None:
    _check.float_tensor("queries", queries, ("batch", "queries", "query size"))
    _check.float_tensor("keys", keys, ("batch", "keys", "key size"))
    _check.float_tensor("values", values, ("batch", "keys", "value size"))
    _check.axis("keys", keys, 0, "the batch size of queries", queries, 0)
    _check.axis("values", values, 0, "the batch size of queries", queries, 0)
    _check.axis("values", values, 1, "the number of keys", keys, 1)
    _check.precision("keys", keys, "queries", queries)
    _check.precision("values", values, "queries", queries)


class _LastWeights:
    """The weights of one call: for good as numbers, with their graph while it is used.

    The graph of a whole network would otherwise live on for the sake of a figure, long
    after the output is gone.
    """

    def __init__(
        self, weights: paddle.Tensor | None = None, output: Any = None
    ) -> None:
        self._with_graph: Callable[[], paddle.Tensor | None] = lambda: None
        if weights is None or weights.stop_gradient:
            self._numbers = weights
            return
        self._numbers = weights.detach()
        self._with_graph = weakref.ref(weights)
        # The hook holds the weights, and the graph behind the output holds the hook.
        output.register_hook(lambda gradient, weights=weights: None)

    def get(self) -> paddle.Tensor | None:
        weights = self._with_graph()
        return self._numbers if weights is None else weights

    def __deepcopy__(self, memo: dict[int, Any]) -> _LastWeights:
        return _LastWeights(None if self._numbers is None else self._numbers.clone())

    def __reduce__(self) -> tuple[Any, ...]:
        # To be pickled: what a layer has seen is not its state.
        return _LastWeights, ()


class _Attention(Layer):
    """What the two scoring functions share: weights from scores, and pooling."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._keep(None, None)

    @property
    def attention_weights(self) -> paddle.Tensor | None:
        return self._last_weights.get()

    def _attend(
        self,
        queries: paddle.Tensor,
        keys: paddle.Tensor,
        values: paddle.Tensor,
        valid_lens: ValidLens,
    ) -> paddle.Tensor:
        dtype = values.dtype
        if valid_lens is not None:
            valid_lens = _check.lengths(valid_lens, queries)
        if _check.is_empty(queries, values):  # keys are, where values are
            return self._attend_to_nothing(queries, keys, values)
        if valid_lens is not None:
            keys, values = (_without_padding(t, valid_lens) for t in (keys, values))
        weights = _softmax_of_checked(self._scores(queries, keys), valid_lens)
        values = computable(values)
        output = paddle.bmm(self.dropout(weights.astype(values.dtype)), values)
        self._keep(weights, output)
        return output.astype(dtype)

    def _attend_to_nothing(
        self, queries: paddle.Tensor, keys: paddle.Tensor, values: paddle.Tensor
    ) -> paddle.Tensor:
        """Without keys the output is 0; without examples or queries it is empty."""
        batch, num_queries, _ = queries.shape
        weights = paddle.zeros([batch, num_queries, keys.shape[1]], values.dtype)
        self._keep(weights, None)
        return paddle.zeros([batch, num_queries, values.shape[2]], values.dtype)

    @paddle.jit.not_to_static
    def _keep(
        self, weights: paddle.Tensor | None, output: paddle.Tensor | None
    ) -> None:
        if paddle.in_dynamic_mode():  # else they are no numbers
            self._last_weights = _LastWeights(weights, output)


class AdditiveAttention(_Attention):
    r"""Additive attention: queries and keys may differ in size.

    Book: section 10.3, (10.3.3): a(q, k) = w_v^T tanh(W_q q + W_k k).

    Args:
        key_size, query_size: sizes of one key and one query.
        num_hiddens: size of the hidden layer.
        dropout: probability of dropping a weight in training.
        kwargs: passed on to paddle.nn.Layer.

    Attributes:
        W_k, W_q, w_v: the linear layers, without bias.
        attention_weights: weights of the last call before dropout, (batch, queries,
            keys); None before the first. Gradients flow through them while the output,
            or something computed from it, is kept; without it they are only numbers.

    Raises:
        TypeError, ValueError: a size is not a positive integer, or dropout is not a
            number from 0 to 1.

    Examples:
        >>> attention = d2l_ext.AdditiveAttention(
        ...     key_size=2, query_size=5, num_hiddens=8, dropout=0
        ... )
        >>> queries, keys = paddle.ones([3, 1, 5]), paddle.ones([3, 4, 2])
        >>> values = paddle.ones([3, 4, 7])
        >>> tuple(attention(queries, keys, values, valid_lens=[4, 2, 1]).shape)
        (3, 1, 7)
        >>> tuple(attention.attention_weights.shape)
        (3, 1, 4)
    """

    def __init__(
        self,
        key_size: int,
        query_size: int,
        num_hiddens: int,
        dropout: float,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        key_size = _check.positive_int("key_size", key_size)
        query_size = _check.positive_int("query_size", query_size)
        num_hiddens = _check.positive_int("num_hiddens", num_hiddens)
        self.W_k = nn.Linear(key_size, num_hiddens, bias_attr=False)
        self.W_q = nn.Linear(query_size, num_hiddens, bias_attr=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias_attr=False)
        self.dropout = Dropout(dropout)

    def forward(
        self,
        queries: paddle.Tensor,
        keys: paddle.Tensor,
        values: paddle.Tensor,
        valid_lens: ValidLens,
    ) -> paddle.Tensor:
        """Pool values by the additive scores of queries and keys.

        Args:
            queries: float tensor (batch, queries, query_size).
            keys: (batch, keys, key_size).
            values: (batch, keys, value size).
            valid_lens: as in :func:`masked_softmax`.

        Returns:
            (batch, queries, value size), in the dtype of values.

        Raises:
            TypeError, ValueError: an argument of another type or shape.

        Examples:
            Where all keys are alike, the output is the mean of the valid values:

            >>> attention = d2l_ext.AdditiveAttention(2, 5, 8, dropout=0)
            >>> queries, keys = paddle.ones([1, 1, 5]), paddle.ones([1, 3, 2])
            >>> values = paddle.to_tensor([[[1.0], [2.0], [6.0]]])
            >>> output = attention(queries, keys, values, valid_lens=[2])
            >>> round(output.item(), 4)
            1.5
        """
        _check_queries_keys_values(queries, keys, values)
        _check.axis("queries", queries, 2, "query_size", self.W_q.weight, 0)
        _check.axis("keys", keys, 2, "key_size", self.W_k.weight, 0)
        _check.precision("queries", queries, "the layer's weights", self.W_q.weight)
        return self._attend(queries, keys, values, valid_lens)

    def _scores(self, queries: paddle.Tensor, keys: paddle.Tensor) -> paddle.Tensor:
        queries, keys = linear(self.W_q, queries), linear(self.W_k, keys)
        # (batch, queries, 1, num_hiddens) + (batch, 1, keys, num_hiddens)
        features = paddle.tanh(queries.unsqueeze(2) + keys.unsqueeze(1))
        return linear(self.w_v, features).squeeze(-1)  # (batch, queries, keys)


class DotProductAttention(_Attention):
    r"""Scaled dot-product attention: queries and keys have the same size d.

    Book: section 10.3, (10.3.5): softmax(Q K^T / sqrt(d)) V
    (Vaswani et al. 2017, arXiv:1706.03762).

    Args:
        dropout: probability of dropping a weight in training.
        kwargs: passed on to paddle.nn.Layer.

    Attributes:
        attention_weights: weights of the last call before dropout, (batch, queries,
            keys); None before the first. Gradients flow through them while the output,
            or something computed from it, is kept; without it they are only numbers.

    Raises:
        TypeError, ValueError: dropout is not a number from 0 to 1.

    Examples:
        Each query gets the value of the key that points where it points:

        >>> attention = d2l_ext.DotProductAttention(dropout=0)
        >>> X = 100 * paddle.eye(3).unsqueeze(0)
        >>> values = paddle.to_tensor([[[1.0], [2.0], [6.0]]])
        >>> attention(X, X, values).flatten().tolist()
        [1.0, 2.0, 6.0]
    """

    def __init__(self, dropout: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dropout = Dropout(dropout)

    def forward(
        self,
        queries: paddle.Tensor,
        keys: paddle.Tensor,
        values: paddle.Tensor,
        valid_lens: ValidLens = None,
    ) -> paddle.Tensor:
        """Pool values by the scaled dot products of queries and keys.

        Args:
            queries: float tensor (batch, queries, d).
            keys: (batch, keys, d).
            values: (batch, keys, value size).
            valid_lens: as in :func:`masked_softmax`.

        Returns:
            (batch, queries, value size), in the dtype of values.

        Raises:
            TypeError, ValueError: an argument of another type or shape.

        Examples:
            The third query points to padding, and gets the mean of the valid values:

            >>> attention = d2l_ext.DotProductAttention(dropout=0)
            >>> X = 100 * paddle.eye(3).unsqueeze(0)
            >>> values = paddle.to_tensor([[[1.0], [2.0], [6.0]]])
            >>> attention(X, X, values, valid_lens=[2]).flatten().tolist()
            [1.0, 2.0, 1.5]
        """
        _check_queries_keys_values(queries, keys, values)
        _check.axis("keys", keys, 2, "the size of a query", queries, 2)
        if queries.shape[2] == 0:
            raise ValueError(
                "queries and keys must be of size 1 or more on axis 2, "
                f"got 0 in shape {tuple(queries.shape)}"
            )
        return self._attend(queries, keys, values, valid_lens)

    def _scores(self, queries: paddle.Tensor, keys: paddle.Tensor) -> paddle.Tensor:
        queries, keys = (without_overflow(computable(t)) for t in (queries, keys))
        scores = paddle.matmul(queries, keys, transpose_y=True)
        return scores / math.sqrt(queries.shape[-1])


class MultiHeadAttention(Layer):
    """Multi-head attention: num_heads scaled dot-product attentions side by side.

    Book: section 10.5, (10.5.1) and (10.5.2) (Vaswani et al. 2017, arXiv:1706.03762).

    Args:
        key_size, query_size, value_size: sizes of one key, query and value.
        num_hiddens: size of the output; each head works on num_hiddens / num_heads.
        num_heads: number of heads; divides num_hiddens.
        dropout: probability of dropping a weight in training.
        bias: whether the four linear layers have a bias, or Paddle's ParamAttr for it.
        kwargs: passed on to paddle.nn.Layer.

    Attributes:
        W_q, W_k, W_v, W_o: the linear layers.
        attention: the :class:`DotProductAttention` of all heads; its
            ``attention_weights`` is (batch * num_heads, queries, keys), the heads of
            one example next to each other.

    Raises:
        TypeError, ValueError: a size is not a positive integer, num_heads does not
            divide num_hiddens, dropout is not a number from 0 to 1, or bias is
            something else.

    Examples:
        Self-attention: three sequences of four tokens, two heads.

        >>> attention = d2l_ext.MultiHeadAttention(6, 6, 6, 6, num_heads=2, dropout=0)
        >>> X = paddle.ones([3, 4, 6])
        >>> tuple(attention(X, X, X, valid_lens=[4, 2, 1]).shape)
        (3, 4, 6)
        >>> tuple(attention.attention.attention_weights.shape)
        (6, 4, 4)
    """

    def __init__(
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        num_heads: int,
        dropout: float,
        bias: bool | paddle.ParamAttr | None = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        num_hiddens = _check.positive_int("num_hiddens", num_hiddens)
        self.num_heads = _check.positive_int("num_heads", num_heads)
        _check.divisible("num_hiddens", num_hiddens, "num_heads", self.num_heads)
        bias = _check.bias("bias", bias)
        self.attention = DotProductAttention(dropout)

        def layer(size: int) -> nn.Linear:
            return nn.Linear(size, num_hiddens, bias_attr=bias)

        self.W_q = layer(_check.positive_int("query_size", query_size))
        self.W_k = layer(_check.positive_int("key_size", key_size))
        self.W_v = layer(_check.positive_int("value_size", value_size))
        self.W_o = layer(num_hiddens)

    def forward(
        self,
        queries: paddle.Tensor,
        keys: paddle.Tensor,
        values: paddle.Tensor,
        valid_lens: ValidLens,
    ) -> paddle.Tensor:
        """Let every query attend to all valid keys, in every head.

        Args:
            queries: float tensor (batch, queries, query_size).
            keys: (batch, keys, key_size).
            values: (batch, keys, value_size).
            valid_lens: as in :func:`masked_softmax`; the same for every head.

        Returns:
            (batch, queries, num_hiddens), in the dtype of queries.

        Raises:
            TypeError, ValueError: an argument of another type or shape.

        Examples:
            What stands in the padding does not matter, not even NaN:

            >>> attention = d2l_ext.MultiHeadAttention(4, 4, 4, 4, 2, dropout=0)
            >>> X = paddle.randn([1, 3, 4])
            >>> padding = paddle.full([1, 1, 4], float("nan"))
            >>> Z = paddle.concat([X[:, :2], padding], axis=1)
            >>> output = [attention(X, K, K, valid_lens=[2]) for K in (X, Z)]
            >>> paddle.allclose(*output).item()
            True
        """
        _check_queries_keys_values(queries, keys, values)
        _check.axis("queries", queries, 2, "query_size", self.W_q.weight, 0)
        _check.axis("keys", keys, 2, "key_size", self.W_k.weight, 0)
        _check.precision("queries", queries, "the layer's weights", self.W_q.weight)
        _check.axis("values", values, 2, "value_size", self.W_v.weight, 0)
        if valid_lens is not None:
            valid_lens = self._for_each_head(_check.lengths(valid_lens, queries))
        # each (batch * num_heads, queries or keys, num_hiddens / num_heads)
        q = self._project(self.W_q, queries)
        k = self._project(self.W_k, keys)
        v = self._project(self.W_v, values)
        pooled = self.attention(q, k, v, valid_lens)
        output = linear(self.W_o, transpose_output(pooled, self.num_heads))
        # Half precision that was computed in float32 returns as what it came.
        half = computable(queries) is not queries
        return output.astype(queries.dtype) if half else output

    def _project(self, W: nn.Linear, X: paddle.Tensor) -> paddle.Tensor:
        return transpose_qkv(linear(W, X), self.num_heads)

    def _for_each_head(self, lens: paddle.Tensor) -> paddle.Tensor:
        """Repeat the lengths of each example: (batch * num_heads,) or (…, queries)."""
        if _check.is_empty(lens):
            batch, *rest = lens.shape  # only the shape counts
            return paddle.zeros([batch * self.num_heads, *rest])
        copies = [1, self.num_heads] + [1] * (len(lens.shape) - 1)
        return lens.unsqueeze(1).tile(copies).flatten(0, 1)


def transpose_qkv(X: paddle.Tensor, num_heads: int) -> paddle.Tensor:
    """Split the last axis among the heads, and move the heads into the batch.

    Book: section 10.5.

    Args:
        X: tensor (batch, n, num_hiddens) of any dtype.
        num_heads: number of heads; divides num_hiddens.

    Returns:
        (batch * num_heads, n, num_hiddens / num_heads), the heads of one example next
        to each other.

    Raises:
        TypeError, ValueError: X has not three axes, or num_heads does not divide
            num_hiddens.

    Examples:
        >>> X = paddle.to_tensor([[[0, 1, 2, 3], [4, 5, 6, 7]]])
        >>> d2l_ext.transpose_qkv(X, num_heads=2).tolist()
        [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]
    """
    _check.tensor("X", X, ("batch", "n", "num_hiddens"))
    num_heads = _check.positive_int("num_heads", num_heads)
    _check.divisible_axis("X", X, 2, "num_heads", num_heads)
    if _check.is_empty(X):
        batch, n, num_hiddens = X.shape
        return paddle.zeros([batch * num_heads, n, num_hiddens // num_heads], X.dtype)
    X = X.reshape([0, 0, num_heads, X.shape[2] // num_heads])
    return X.transpose([0, 2, 1, 3]).flatten(0, 1)


def transpose_output(X: paddle.Tensor, num_heads: int) -> paddle.Tensor:
    """Undo :func:`transpose_qkv`: heads back out of the batch, side by side.

    Book: section 10.5.

    Args:
        X: tensor (batch * num_heads, n, d) of any dtype.
        num_heads: number of heads.

    Returns:
        (batch, n, num_heads * d).

    Raises:
        TypeError, ValueError: X has not three axes, or num_heads does not divide the
            first.

    Examples:
        >>> heads = paddle.to_tensor([[[0, 1], [4, 5]], [[2, 3], [6, 7]]])
        >>> d2l_ext.transpose_output(heads, num_heads=2).tolist()
        [[[0, 1, 2, 3], [4, 5, 6, 7]]]
    """
    _check.tensor("X", X, ("batch * num_heads", "n", "d"))
    num_heads = _check.positive_int("num_heads", num_heads)
    _check.divisible_axis("X", X, 0, "num_heads", num_heads)
    if _check.is_empty(X):
        batch, n, d = X.shape
        return paddle.zeros([batch // num_heads, n, num_heads * d], X.dtype)
    X = X.reshape([-1, num_heads, X.shape[1], X.shape[2]])
    return X.transpose([0, 2, 1, 3]).flatten(2, 3)
