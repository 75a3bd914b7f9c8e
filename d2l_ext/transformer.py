"""The Transformer: feed-forward, residual and norm, encoder and decoder.

Tokens are integer tensors (batch, n). The decoder takes one token, several, or the
whole sequence, and gives the same numbers each way: what came before is in its state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import _check
from ._compat import Dropout, Layer, computable, layer_norm, linear
from ._paddle import paddle
from ._types import ValidLens
from .attention import MultiHeadAttention
from .positional import PositionalEncoding
from .seq2seq import AttentionDecoder

nn = paddle.nn


class PositionWiseFFN(Layer):
    """Two linear layers with ReLU between, the same for every position.

    Book: section 10.7.

    Args:
        ffn_num_input, ffn_num_hiddens, ffn_num_outputs: sizes of a token before,
            between and after the two layers.
        kwargs: passed on to paddle.nn.Layer.

    Attributes:
        dense1, dense2: the linear layers.

    Raises:
        TypeError, ValueError: a size is not a positive integer.

    Examples:
        The same token gives the same output at every position:

        >>> ffn = d2l_ext.PositionWiseFFN(4, 4, 8)
        >>> output = ffn(paddle.ones([2, 3, 4]))
        >>> paddle.allclose(output[:, 0], output[:, 2], atol=1e-6).item()
        True
        >>> tuple(output.shape)
        (2, 3, 8)
    """

    def __init__(
        self,
        ffn_num_input: int,
        ffn_num_hiddens: int,
        ffn_num_outputs: int,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        sizes = {
            "ffn_num_input": ffn_num_input,
            "ffn_num_hiddens": ffn_num_hiddens,
            "ffn_num_outputs": ffn_num_outputs,
        }
        given, hidden, out = (_check.positive_int(k, v) for k, v in sizes.items())
        self.dense1 = nn.Linear(given, hidden)
        self.relu = nn.ReLU()
        self.dense2 = nn.Linear(hidden, out)

    def forward(self, X: paddle.Tensor) -> paddle.Tensor:
        """Return dense2(relu(dense1(X))).

        Args:
            X: float tensor (batch, n, ffn_num_input).

        Returns:
            (batch, n, ffn_num_outputs).

        Raises:
            TypeError, ValueError: X is of another type or shape.

        Examples:
            >>> ffn = d2l_ext.PositionWiseFFN(4, 7, 5)
            >>> tuple(ffn(paddle.ones([2, 3, 4])).shape)
            (2, 3, 5)
        """
        _check.float_tensor("X", X, ("batch", "n", "ffn_num_input"))
        _check.axis("X", X, 2, "ffn_num_input", self.dense1.weight, 0)
        _check.precision("X", X, "the layer's weights", self.dense1.weight)
        hidden = self.relu(linear(self.dense1, X))
        return linear(self.dense2, hidden).astype(X.dtype)


class AddNorm(Layer):
    """A residual connection around a sublayer, then layer normalization.

    Book: section 10.7.

    Args:
        normalized_shape: size of the last axis, or a list with the sizes of the last
            axes, over which one mean and variance are taken.
        dropout: probability of dropping an element of Y in training.
        kwargs: passed on to paddle.nn.Layer.

    Attributes:
        ln: the layer normalization.

    Raises:
        TypeError, ValueError: a size is not a positive integer, or dropout is not a
            number from 0 to 1.

    Examples:
        Mean 0 and variance 1 over the last axis:

        >>> add_norm = d2l_ext.AddNorm(2, dropout=0)
        >>> output = add_norm(paddle.ones([1, 1, 2]), paddle.to_tensor([[[2.0, 6.0]]]))
        >>> [round(x, 4) for x in output.flatten().tolist()]
        [-1.0, 1.0]
    """

    def __init__(
        self, normalized_shape: int | Sequence[int], dropout: float, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.dropout = Dropout(dropout)
        self.normalized_shape = _check.sizes("normalized_shape", normalized_shape)
        self.ln = nn.LayerNorm(self.normalized_shape)

    def forward(self, X: paddle.Tensor, Y: paddle.Tensor) -> paddle.Tensor:
        """Return ln(dropout(Y) + X).

        Args:
            X, Y: float tensors of one shape, which ends in normalized_shape: what goes
                into a sublayer, and what comes out.

        Returns:
            A tensor of that shape.

        Raises:
            TypeError, ValueError: X or Y is no float tensor, or their shapes differ.

        Examples:
            >>> add_norm = d2l_ext.AddNorm([3, 4], dropout=0.5)
            >>> X = paddle.ones([2, 3, 4])
            >>> tuple(add_norm(X, X).shape)
            (2, 3, 4)
        """
        _check.float_tensor("X", X)
        _check.float_tensor("Y", Y)
        _check.same_shape("Y", Y, "X", X)
        _check.precision("Y", Y, "X", X)
        weight: Any = self.ln.weight
        _check.precision("X", X, "the layer's weights", weight)
        _check.ends_in("X", X, "normalized_shape", self.normalized_shape)
        Z = self.dropout(computable(Y)) + computable(X)
        return layer_norm(self.ln, self.normalized_shape, Z).astype(X.dtype)


def _check_one_size(num_hiddens: int, *others: int) -> None:
    """A block adds what goes into a sublayer to what comes out: all have one size."""
    names = "key_size", "query_size", "value_size", "ffn_num_input"
    for name, value in zip(names, others):
        value = _check.positive_int(name, value)
        _check.equal(name, value, "num_hiddens", int(num_hiddens))


class EncoderBlock(Layer):
    """One block of the encoder: self-attention, then the feed-forward network.

    Book: section 10.7.

    Args:
        key_size, query_size, value_size, num_hiddens, num_heads, dropout: as in
            :class:`MultiHeadAttention`.
        norm_shape: as in :class:`AddNorm`.
        ffn_num_input, ffn_num_hiddens: as in :class:`PositionWiseFFN`.
        use_bias: whether the linear layers of the attention have a bias, or Paddle's
            ParamAttr for it.
        kwargs: passed on to paddle.nn.Layer.

    Raises:
        TypeError, ValueError: as the layers in it.

    Examples:
        >>> block = d2l_ext.EncoderBlock(24, 24, 24, 24, [24], 24, 48, 8, dropout=0.5)
        >>> tuple(block(paddle.ones([2, 5, 24]), valid_lens=[3, 2]).shape)
        (2, 5, 24)
    """

    def __init__(
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        norm_shape: int | Sequence[int],
        ffn_num_input: int,
        ffn_num_hiddens: int,
        num_heads: int,
        dropout: float,
        use_bias: bool | paddle.ParamAttr | None = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        use_bias = _check.bias("use_bias", use_bias)
        self.attention = MultiHeadAttention(
            key_size, query_size, value_size, num_hiddens, num_heads, dropout, use_bias
        )
        _check_one_size(num_hiddens, key_size, query_size, value_size, ffn_num_input)
        norm_shape = _check.sizes("norm_shape", norm_shape)
        self.addnorm1 = AddNorm(norm_shape, dropout)
        self.ffn = PositionWiseFFN(ffn_num_input, ffn_num_hiddens, num_hiddens)
        self.addnorm2 = AddNorm(norm_shape, dropout)

    def forward(self, X: paddle.Tensor, valid_lens: ValidLens) -> paddle.Tensor:
        """Let each token attend to the valid ones, then transform it.

        Args:
            X: float tensor (batch, n, num_hiddens).
            valid_lens: as in :func:`masked_softmax`.

        Returns:
            (batch, n, num_hiddens).

        Raises:
            TypeError, ValueError: an argument of another type or shape.

        Examples:
            What stands in the padding does not matter to the tokens before it:

            >>> block = d2l_ext.EncoderBlock(6, 6, 6, 6, 6, 6, 8, 2, dropout=0)
            >>> X = paddle.randn([1, 4, 6])
            >>> Z = paddle.concat([X[:, :3], paddle.ones([1, 1, 6])], axis=1)
            >>> one, other = (block(T, valid_lens=[3])[:, :3] for T in (X, Z))
            >>> paddle.allclose(one, other, atol=1e-6).item()
            True
        """
        _check_tokens_of_block(X, self.ffn)
        Y = self.addnorm1(X, self.attention(X, X, X, valid_lens))
        return self.addnorm2(Y, self.ffn(Y))


def _check_tokens_of_block(X: paddle.Tensor, ffn: PositionWiseFFN) -> None:
    _check.float_tensor("X", X, ("batch", "n", "num_hiddens"))
    _check.axis("X", X, 2, "num_hiddens", ffn.dense1.weight, 0)
    _check.precision("X", X, "the layer's weights", ffn.dense1.weight)


class TransformerEncoder(Layer):
    """The encoder: embedding, positions, and a stack of blocks.

    Book: section 10.7 (Vaswani et al. 2017, arXiv:1706.03762).

    Args:
        vocab_size: number of different tokens.
        key_size, query_size, value_size, num_hiddens: as in :class:`EncoderBlock`.
        norm_shape, ffn_num_input, ffn_num_hiddens, num_heads, dropout, use_bias: too.
        num_layers: number of blocks.
        kwargs: passed on to paddle.nn.Layer.

    Attributes:
        attention_weights: for each block, the weights of its last call,
            (batch * num_heads, n, n).

    Raises:
        TypeError, ValueError: as the layers in it.

    Examples:
        >>> encoder = d2l_ext.TransformerEncoder(
        ...     200, 24, 24, 24, 24, 24, 24, 48, num_heads=8, num_layers=2, dropout=0
        ... )
        >>> tuple(encoder(paddle.ones([2, 5], "int64"), valid_lens=[3, 2]).shape)
        (2, 5, 24)
        >>> [tuple(weights.shape) for weights in encoder.attention_weights]
        [(16, 5, 5), (16, 5, 5)]
    """

    def __init__(
        self,
        vocab_size: int,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        norm_shape: int | Sequence[int],
        ffn_num_input: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_layers: int,
        dropout: float,
        use_bias: bool | paddle.ParamAttr | None = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.num_hiddens = _check.positive_int("num_hiddens", num_hiddens)
        vocab_size = _check.positive_int("vocab_size", vocab_size)
        self.embedding = nn.Embedding(vocab_size, self.num_hiddens)
        self.pos_encoding = PositionalEncoding(self.num_hiddens, dropout)
        self.blks = nn.Sequential()
        for i in range(_check.positive_int("num_layers", num_layers)):
            block = EncoderBlock(
                key_size,
                query_size,
                value_size,
                num_hiddens,
                norm_shape,
                ffn_num_input,
                ffn_num_hiddens,
                num_heads,
                dropout,
                use_bias,
            )
            self.blks.add_sublayer(str(i), block)

    @property
    def attention_weights(self) -> list[paddle.Tensor | None]:
        """For each block, the weights of its last call."""
        return [block.attention.attention.attention_weights for block in self.blks]

    def forward(
        self, X: paddle.Tensor, valid_lens: ValidLens, *args: Any
    ) -> paddle.Tensor:
        """Encode tokens, each in the light of the others.

        Args:
            X: tokens, integer tensor (batch, n).
            valid_lens: number of tokens that are no padding, (batch,), or None.
            args: ignored; d2l.EncoderDecoder passes on what it gets.

        Returns:
            (batch, n, num_hiddens).

        Raises:
            TypeError, ValueError: an argument of another type or shape.

        Examples:
            >>> encoder = d2l_ext.TransformerEncoder(9, 6, 6, 6, 6, 6, 6, 8, 2, 1, 0)
            >>> tuple(encoder(paddle.to_tensor([[3, 1, 2]]), valid_lens=None).shape)
            (1, 3, 6)
        """
        _check.tokens("X", X, self.embedding.weight.shape[0])
        # An encoding lies between -1 and 1, an embedding starts far closer to 0.
        X = self.pos_encoding(self.embedding(X) * math.sqrt(self.num_hiddens))
        for block in self.blks:
            X = block(X, valid_lens)
        return X


class DecoderBlock(Layer):
    """One block of the decoder: masked self-attention, attention to the encoder, FFN.

    Book: section 10.7.

    Args:
        key_size, query_size, value_size, num_hiddens: as in :class:`EncoderBlock`.
        norm_shape, ffn_num_input, ffn_num_hiddens, num_heads, dropout: too.
        i: number of the block, from 0: its place in the state.
        kwargs: passed on to paddle.nn.Layer.

    Raises:
        TypeError, ValueError: as the layers in it.

    Examples:
        >>> block = d2l_ext.DecoderBlock(24, 24, 24, 24, [24], 24, 48, 8, 0.5, i=0)
        >>> state = [paddle.ones([2, 7, 24]), [3, 2], [None]]
        >>> output, state = block(paddle.ones([2, 5, 24]), state)
        >>> tuple(output.shape), tuple(state[2][0].shape)
        ((2, 5, 24), (2, 5, 24))
    """

    def __init__(
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        norm_shape: int | Sequence[int],
        ffn_num_input: int,
        ffn_num_hiddens: int,
        num_heads: int,
        dropout: float,
        i: int,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.i = _check.position("i", i)
        sizes = key_size, query_size, value_size, num_hiddens, num_heads, dropout
        self.attention1 = MultiHeadAttention(*sizes)
        _check_one_size(num_hiddens, key_size, query_size, value_size, ffn_num_input)
        norm_shape = _check.sizes("norm_shape", norm_shape)
        self.addnorm1 = AddNorm(norm_shape, dropout)
        self.attention2 = MultiHeadAttention(*sizes)
        self.addnorm2 = AddNorm(norm_shape, dropout)
        self.ffn = PositionWiseFFN(ffn_num_input, ffn_num_hiddens, num_hiddens)
        self.addnorm3 = AddNorm(norm_shape, dropout)

    def forward(
        self, X: paddle.Tensor, state: Sequence[Any]
    ) -> tuple[paddle.Tensor, list[Any]]:
        """Decode tokens that follow those in the state.

        No token sees a later one, whether the layer trains or predicts.

        Args:
            X: float tensor (batch, n, num_hiddens).
            state: [outputs of the encoder (batch, m, num_hiddens), their valid lengths
                (batch,) or None, a list with what block i has seen before, (batch,
                steps, num_hiddens) or None]. It is not changed.

        Returns:
            (batch, n, num_hiddens), and the state with X added.

        Raises:
            TypeError, ValueError: an argument of another type or shape.

        Examples:
            What comes later changes nothing:

            >>> block = d2l_ext.DecoderBlock(6, 6, 6, 6, 6, 6, 8, 2, 0, i=0)
            >>> state = [paddle.ones([1, 3, 6]), None, [None]]
            >>> X = paddle.randn([1, 4, 6])
            >>> all_four, first_two = block(X, state)[0], block(X[:, :2], state)[0]
            >>> paddle.allclose(all_four[:, :2], first_two, atol=1e-6).item()
            True
        """
        _check_tokens_of_block(X, self.ffn)
        weight = self.ffn.dense1.weight
        enc_outputs, enc_valid_lens, seen = _unpacked(state, X, weight, self.i)
        key_values = _joined(seen[self.i], X)
        seen = [*seen[: self.i], key_values, *seen[self.i + 1 :]]
        X2 = self.attention1(X, key_values, key_values, _up_to_itself(X, key_values))
        Y = self.addnorm1(X, X2)
        Y2 = self.attention2(Y, enc_outputs, enc_outputs, enc_valid_lens)
        Z = self.addnorm2(Y, Y2)
        return self.addnorm3(Z, self.ffn(Z)), [enc_outputs, enc_valid_lens, seen]


@paddle.jit.not_to_static
def _unpacked(
    state: Sequence[Any], X: paddle.Tensor, weight: paddle.Tensor, i: int
) -> Sequence[Any]:
    """The state's three parts, checked.

    Those of block ``i`` are for tokens X, and for weights (num_hiddens, …).
    """
    wanted = "[encoder's outputs, their valid lengths, what each block has seen]"
    with _check.blamed_on("state", wanted, state):
        enc_outputs, enc_valid_lens, seen = state
    if not isinstance(seen, (list, tuple)) or len(seen) <= i:
        raise _wrong_seen(f"an item for block {i}", seen)
    parts = {"state[0]": enc_outputs, f"state[2][{i}]": seen[i]}
    for name, part in parts.items():
        if part is not None or name == "state[0]":
            _check.float_tensor(name, part, ("batch", "steps", "num_hiddens"))
            _check.axis(name, part, 0, "the batch size of X", X, 0)
            _check.axis(name, part, 2, "num_hiddens", weight, 0)
            _check.precision(name, part, "the layer's weights", weight)
    return enc_outputs, enc_valid_lens, seen


def _wrong_seen(wanted: str, seen: Any) -> Exception:
    kind = ValueError if isinstance(seen, (list, tuple)) else TypeError
    return kind(f"state[2] must be a list with {wanted}, got {_check.received(seen)}")


@paddle.jit.not_to_static
def _check_seen_alike(seen: Sequence[Any], num_layers: int) -> None:
    """Check that there is an item for each block, and that all have seen as much."""
    if len(seen) != num_layers:
        raise _wrong_seen(f"an item for each of the {num_layers} blocks", seen)
    first, *others = seen
    for i, other in enumerate(others, start=1):
        if (other is None) != (first is None):
            raise _wrong_seen("None for all blocks or for none", seen)
        if other is not None:
            name, meaning = f"state[2][{i}]", "the steps of state[2][0]"
            _check.float_tensor(name, other, ("batch", "steps", "num_hiddens"))
            _check.axis(name, other, 1, meaning, first, 1)


def _joined(past: paddle.Tensor | None, X: paddle.Tensor) -> paddle.Tensor:
    """What a block has seen, and X after it."""
    if past is None:
        return X
    if _check.is_empty(past) and _check.is_empty(X):  # Paddle 2.6 cannot join these
        batch, n, size = X.shape
        return paddle.zeros([batch, past.shape[1] + n, size], X.dtype)
    return paddle.concat([past.astype(X.dtype), X], axis=1)


def _up_to_itself(X: paddle.Tensor, key_values: paddle.Tensor) -> paddle.Tensor | None:
    """For each token of X, the last of key_values, how many of those it may see."""
    if _is_one_token(X) or _check.is_empty(X):
        return None  # one alone is the last, and sees all
    n, steps = X.shape[1], key_values.shape[1]
    return paddle.arange(steps - n + 1, steps + 1).expand([X.shape[0], n])


@paddle.jit.not_to_static
def _is_one_token(X: paddle.Tensor) -> bool:
    """False as well where that is not known yet (-1)."""
    return X.shape[1] == 1


class TransformerDecoder(AttentionDecoder):
    """The decoder: embedding, positions, a stack of blocks, and a linear layer.

    Book: section 10.7 (Vaswani et al. 2017, arXiv:1706.03762). The book's decoder gives
    each token that it is fed alone the position 0; this one counts those before it.

    Args:
        vocab_size, num_layers: as in :class:`TransformerEncoder`.
        key_size, query_size, value_size, num_hiddens: as in :class:`EncoderBlock`.
        norm_shape, ffn_num_input, ffn_num_hiddens, num_heads, dropout: too.
        kwargs: passed on to paddle.nn.Layer.

    Attributes:
        attention_weights: [self-attention, attention to the encoder] of the last call;
            each a list with a tensor (batch * num_heads, n, keys) for each block.

    Raises:
        TypeError, ValueError: as the layers in it.

    Examples:
        >>> decoder = d2l_ext.TransformerDecoder(
        ...     13, 24, 24, 24, 24, 24, 24, 48, num_heads=8, num_layers=2, dropout=0
        ... )
        >>> state = decoder.init_state(paddle.ones([2, 7, 24]), [3, 2])
        >>> logits, state = decoder(paddle.ones([2, 5], "int64"), state)
        >>> tuple(logits.shape)
        (2, 5, 13)
    """

    def __init__(
        self,
        vocab_size: int,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        norm_shape: int | Sequence[int],
        ffn_num_input: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_layers: int,
        dropout: float,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.num_hiddens = _check.positive_int("num_hiddens", num_hiddens)
        self.num_layers = _check.positive_int("num_layers", num_layers)
        vocab_size = _check.positive_int("vocab_size", vocab_size)
        self.embedding = nn.Embedding(vocab_size, self.num_hiddens)
        self.pos_encoding = PositionalEncoding(self.num_hiddens, dropout)
        self.blks = nn.Sequential()
        for i in range(self.num_layers):
            block = DecoderBlock(
                key_size,
                query_size,
                value_size,
                num_hiddens,
                norm_shape,
                ffn_num_input,
                ffn_num_hiddens,
                num_heads,
                dropout,
                i,
            )
            self.blks.add_sublayer(str(i), block)
        self.dense = nn.Linear(self.num_hiddens, vocab_size)

    @property
    def attention_weights(self) -> list[list[paddle.Tensor | None]]:
        """[Self-attention, attention to the encoder], each with one for each block."""
        return [
            [block.attention1.attention.attention_weights for block in self.blks],
            [block.attention2.attention.attention_weights for block in self.blks],
        ]

    def init_state(
        self, enc_outputs: paddle.Tensor, enc_valid_lens: ValidLens, *args: Any
    ) -> list[Any]:
        """Return the state before the first token.

        Args:
            enc_outputs: outputs of the encoder (batch, m, num_hiddens).
            enc_valid_lens: number of source tokens that are no padding, (batch,), or
                None.
            args: ignored.

        Returns:
            [enc_outputs, enc_valid_lens, what each block has seen: None].

        Examples:
            >>> decoder = d2l_ext.TransformerDecoder(13, 6, 6, 6, 6, 6, 6, 8, 2, 3, 0)
            >>> decoder.init_state(paddle.ones([1, 2, 6]), None)[2]
            [None, None, None]
        """
        return [enc_outputs, enc_valid_lens, [None] * self.num_layers]

    def forward(
        self, X: paddle.Tensor, state: Sequence[Any]
    ) -> tuple[paddle.Tensor, list[Any]]:
        """Predict what follows each token.

        Args:
            X: tokens, integer tensor (batch, n): those that follow the ones in the
                state.
            state: from :meth:`init_state` or from the call before. It is not changed.

        Returns:
            Logits (batch, n, vocab_size), and the new state.

        Raises:
            TypeError, ValueError: an argument of another type or shape.

        Examples:
            Two tokens at once, or one after the other:

            >>> decoder = d2l_ext.TransformerDecoder(13, 6, 6, 6, 6, 6, 6, 8, 2, 1, 0)
            >>> start = decoder.init_state(paddle.ones([1, 3, 6]), None)
            >>> both, _ = decoder(paddle.to_tensor([[3, 7]]), start)
            >>> first, state = decoder(paddle.to_tensor([[3]]), start)
            >>> second, _ = decoder(paddle.to_tensor([[7]]), state)
            >>> single = paddle.concat([first, second], 1)
            >>> paddle.allclose(both, single, atol=1e-6).item()
            True
        """
        _check.tokens("X", X, self.embedding.weight.shape[0])
        seen = _unpacked(state, X, self.dense.weight, 0)[2]
        _check_seen_alike(seen, self.num_layers)
        start = 0 if seen[0] is None else seen[0].shape[1]
        X = self.pos_encoding(self.embedding(X) * math.sqrt(self.num_hiddens), start)
        for block in self.blks:
            X, state = block(X, state)
        return linear(self.dense, X).astype(X.dtype), list(state)
