"""Attention pooling: the masked softmax, two scoring functions, and many heads.

Shapes are written (batch, queries, keys) and so on; ``valid_lens`` says for each
example, or for each query, how many of the keys are real and not padding.
"""

from __future__ import annotations

import weakref
from typing import Any, Callable

from . import _check, _pooling
from ._compat import (
    SINGLE_AND_DOUBLE,
    Dropout,
    Layer,
    computable,
    has_hooks,
    linear,
    weight_alone,
)
from ._lengths import KeyLengths
from ._paddle import paddle
from ._pooling import Recipe
from ._types import ValidLens

nn = paddle.nn
# Without what Tensor.reshape looks at first, which takes as long as the work.
reshape, shuffle = paddle._C_ops.reshape, paddle._C_ops.channel_shuffle


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
    return _pooling.softmax(X, valid_lens)


def _check_queries_keys_values(
    queries: paddle.Tensor, keys: paddle.Tensor, values: paddle.Tensor
) -> None:
    if _fit_together(queries, keys, values):
        return
    _check.float_tensor("queries", queries, ("batch", "queries", "query size"))
    _check.float_tensor("keys", keys, ("batch", "keys", "key size"))
    _check.float_tensor("values", values, ("batch", "keys", "value size"))
    _check.axis("keys", keys, 0, "the batch size of queries", queries, 0)
    _check.axis("values", values, 0, "the batch size of queries", queries, 0)
    _check.axis("values", values, 1, "the number of keys", keys, 1)
    _check.precision("keys", keys, "queries", queries)
    _check.precision("values", values, "queries", queries)


def _checked(valid_lens: ValidLens, queries: paddle.Tensor) -> paddle.Tensor | None:
    return None if valid_lens is None else _check.lengths(valid_lens, queries)


@paddle.jit.not_to_static
def _fit_together(queries: Any, keys: Any, values: Any) -> bool:
    """True of most good arguments; the others have to be looked at one by one."""
    if not type(queries) is type(keys) is type(values) is paddle.Tensor:
        return False
    q, k, v = queries.shape, keys.shape, values.shape
    return (
        len(q) == len(k) == len(v) == 3
        and q[0] == k[0] == v[0]
        and k[1] == v[1]
        and queries.dtype == keys.dtype == values.dtype
        and queries.dtype in _check.FLOATS
    )


class _LastWeights:
    """The weights of one call: for good as numbers, with their graph while it is used.

    The graph of a whole network would otherwise live on for the sake of a figure, long
    after the output is gone. Large weights are not kept, only how to compute them.
    """

    def __init__(
        self, weights: paddle.Tensor | Recipe | None = None, output: Any = None
    ) -> None:
        self._with_graph: Callable[[], Any] = lambda: None
        self._numbers = None if weights is None else weights.detach()
        if weights is None or output is None or output.stop_gradient:
            return
        self._with_graph = weakref.ref(weights)
        # The hook holds the weights, and the graph behind the output holds the hook.
        output.register_hook(lambda gradient, weights=weights: None)

    def get(self) -> paddle.Tensor | None:
        weights = self._with_graph()
        if weights is None:
            weights = self._numbers
        return weights.weights() if isinstance(weights, Recipe) else weights

    def __deepcopy__(self, memo: dict[int, Any]) -> _LastWeights:
        weights = self._numbers
        copied = None if weights is None else weights.detach().clone()
        return _LastWeights(copied)

    def __reduce__(self) -> tuple[Any, ...]:
        # To be pickled: what a layer has seen is not its state.
        return _LastWeights, ()


class _Attention(Layer):
    """What the two scoring functions share: they pool values, and keep the weights."""

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
        lens: KeyLengths,
    ) -> paddle.Tensor:
        if _check.is_empty(queries, values):  # keys are, where values are
            return self._attend_to_nothing(queries, keys, values)
        output, weights = self._pool(queries, keys, values, lens)
        self._keep(weights, output)
        return output if output.dtype == values.dtype else output.astype(values.dtype)

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
        self, weights: paddle.Tensor | Recipe | None, output: paddle.Tensor | None
    ) -> None:
        if paddle.in_dynamic_mode():  # else they are no numbers
            # Past Layer's __setattr__, which asks what kind of attribute it is.
            self.__dict__["_last_weights"] = _LastWeights(weights, output)


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
        lens = KeyLengths(_checked(valid_lens, queries))
        return self._attend(queries, keys, values, lens)

    def _pool(
        self,
        queries: paddle.Tensor,
        keys: paddle.Tensor,
        values: paddle.Tensor,
        lens: KeyLengths,
    ) -> tuple[paddle.Tensor, paddle.Tensor]:
        return _pooling.by_scores(
            self._scores, queries, keys, values, lens, self.dropout
        )

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
            Large calls do not keep them: each reading computes them from the queries
            and keys of the call.

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
        if isinstance(valid_lens, KeyLengths):  # MultiHeadAttention has looked
            return self._attend(queries, keys, values, valid_lens)
        _check_queries_keys_values(queries, keys, values)
        _check.axis("keys", keys, 2, "the size of a query", queries, 2)
        if queries.shape[2] == 0:
            raise ValueError(
                "queries and keys must be of size 1 or more on axis 2, "
                f"got 0 in shape {tuple(queries.shape)}"
            )
        lens = KeyLengths(_checked(valid_lens, queries))
        return self._attend(queries, keys, values, lens)

    def _pool(
        self,
        queries: paddle.Tensor,
        keys: paddle.Tensor,
        values: paddle.Tensor,
        lens: KeyLengths,
    ) -> tuple[paddle.Tensor, paddle.Tensor | Recipe]:
        return _pooling.pool(queries, keys, values, lens, self.dropout)


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
        weights = self._weights(queries, keys, values)
        if weights is None:
            self._check_inputs(queries, keys, values)
        lens = KeyLengths(_checked(valid_lens, queries), self.num_heads, of_layer=True)
        attention = self.attention
        ours = type(attention) is DotProductAttention and not has_hooks(attention)
        pooled = attention(
            *self._projected(weights, queries, keys, values),
            lens if ours else lens.of_scores(),
        )
        if weights is not None:
            return paddle.matmul(_merged(pooled, self.num_heads), weights[3])
        output = linear(self.W_o, _merge_heads(pooled, self.num_heads))
        # Half precision that was computed in float32 returns as what it came.
        if output.dtype != queries.dtype and computable(queries) is not queries:
            return output.astype(queries.dtype)
        return output

    @paddle.jit.not_to_static
    def _weights(
        self, queries: Any, keys: Any, values: Any
    ) -> list[paddle.Tensor] | None:
        """Those of W_q, W_k, W_v and W_o, if the inputs fit and are only multiplied.

        So it is mostly. Looking at each argument by itself, and calling four layers,
        takes longer than a small call should.
        """
        if not paddle.in_dynamic_mode() or not _fit_together(queries, keys, values):
            return None
        if queries.dtype not in SINGLE_AND_DOUBLE or _check.is_empty(queries, keys):
            return None
        sizes = queries.shape[2], keys.shape[2], values.shape[2]
        layers = [self._sub_layers[name] for name in ("W_q", "W_k", "W_v", "W_o")]
        weights = [weight_alone(layer) for layer in layers]
        for weight, size in zip(weights, sizes):
            if weight is None or weight.shape[0] != size:
                return None
        same = weights[3] is not None and weights[3].dtype == queries.dtype
        return weights if same and weights[0].dtype == queries.dtype else None

    def _projected(
        self,
        weights: list[paddle.Tensor] | None,
        queries: paddle.Tensor,
        keys: paddle.Tensor,
        values: paddle.Tensor,
    ) -> tuple[paddle.Tensor, paddle.Tensor, paddle.Tensor]:
        """Each (batch * num_heads, queries or keys, num_hiddens / num_heads)."""
        # No comprehension: to_static would not find num_heads in it.
        heads = self.num_heads
        if weights is None:
            q = _split_heads(linear(self.W_q, queries), heads)
            k = _split_heads(linear(self.W_k, keys), heads)
            return q, k, _split_heads(linear(self.W_v, values), heads)
        q = _split(paddle.matmul(queries, weights[0]), heads)
        k = _split(paddle.matmul(keys, weights[1]), heads)
        return q, k, _split(paddle.matmul(values, weights[2]), heads)

    def _check_inputs(
        self, queries: paddle.Tensor, keys: paddle.Tensor, values: paddle.Tensor
    ) -> None:
        _check_queries_keys_values(queries, keys, values)
        _check.axis("queries", queries, 2, "query_size", self.W_q.weight, 0)
        _check.axis("keys", keys, 2, "key_size", self.W_k.weight, 0)
        _check.precision("queries", queries, "the layer's weights", self.W_q.weight)
        _check.axis("values", values, 2, "value_size", self.W_v.weight, 0)


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
    return _split_heads(X, num_heads)


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
    return _merge_heads(X, num_heads)


def _split_heads(X: paddle.Tensor, heads: int) -> paddle.Tensor:
    if _can_shuffle(X):
        return _split(X, heads)
    if _check.is_empty(X):
        batch, n, num_hiddens = X.shape
        return paddle.zeros([batch * heads, n, num_hiddens // heads], X.dtype)
    X = X.reshape([0, 0, heads, X.shape[2] // heads])
    return X.transpose([0, 2, 1, 3]).flatten(0, 1)


def _split(X: paddle.Tensor, heads: int) -> paddle.Tensor:
    batch, n, num_hiddens = X.shape
    size = num_hiddens // heads
    X = shuffle(reshape(X, [batch, n * heads, size, 1]), n, "NCHW")
    return reshape(X, [batch * heads, n, size])


def _merge_heads(X: paddle.Tensor, heads: int) -> paddle.Tensor:
    if _can_shuffle(X):
        return _merged(X, heads)
    if _check.is_empty(X):
        batch, n, d = X.shape
        return paddle.zeros([batch // heads, n, heads * d], X.dtype)
    X = X.reshape([-1, heads, X.shape[1], X.shape[2]])
    return X.transpose([0, 2, 1, 3]).flatten(2, 3)


def _merged(X: paddle.Tensor, heads: int) -> paddle.Tensor:
    all_heads, n, size = X.shape
    batch = all_heads // heads
    X = shuffle(reshape(X, [batch, heads * n, size, 1]), heads, "NCHW")
    return reshape(X, [batch, n, heads * size])


@paddle.jit.not_to_static
def _can_shuffle(X: paddle.Tensor) -> bool:
    """Whether channel_shuffle, many times as fast as a transposition, takes X."""
    known = paddle.in_dynamic_mode() and 0 not in X.shape
    return known and X.dtype in SINGLE_AND_DOUBLE
