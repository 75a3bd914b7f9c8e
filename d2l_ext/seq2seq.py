"""Attention in an encoder-decoder with recurrent networks (Bahdanau attention)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _check
from ._compat import Layer
from ._paddle import paddle
from ._types import ValidLens
from .attention import AdditiveAttention, _Attention, _LastWeights

nn = paddle.nn


class AttentionDecoder(Layer):
    """What a decoder with attention has: a first state, and weights to look at.

    Book: section 10.4. Subclasses define both, and ``forward(X, state)``, which returns
    the output and the new state.

    Args:
        kwargs: passed on to paddle.nn.Layer.

    Examples:
        >>> class Copy(d2l_ext.AttentionDecoder):
        ...     def init_state(self, enc_outputs):
        ...         return [enc_outputs]
        ...     def forward(self, X, state):
        ...         return state[0], state
        >>> decoder = Copy()
        >>> output, state = decoder(None, decoder.init_state(paddle.ones([2, 3])))
        >>> output.tolist()
        [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def init_state(self, enc_outputs: Any, *args: Any) -> Any:
        """Return the state before the first token.

        Args:
            enc_outputs: what the encoder returned.
            args: further things that a decoder needs, as valid lengths.

        Raises:
            NotImplementedError: the subclass does not define it.

        Examples:
            >>> d2l_ext.AttentionDecoder().init_state(None)
            Traceback (most recent call last):
            NotImplementedError
        """
        raise NotImplementedError

    @property
    def attention_weights(self) -> Any:
        """The weights of the last call."""
        raise NotImplementedError


class Seq2SeqAttentionDecoder(AttentionDecoder):
    """A GRU that at each step looks back at the encoder, with additive attention.

    Book: section 10.4, (10.4.1) (Bahdanau et al. 2014, arXiv:1409.0473).

    Args:
        vocab_size: number of different tokens.
        embed_size: size of an embedding.
        num_hiddens: size of the hidden state, and of the encoder's outputs.
        num_layers: number of layers of the GRU.
        dropout: probability of dropping a weight, or an output between layers.
        kwargs: passed on to paddle.nn.Layer.

    Attributes:
        attention_weights: of the last call: for each step a tensor (batch, 1, keys).

    Raises:
        TypeError, ValueError: a size is not a positive integer, or dropout is not a
            number from 0 to 1.

    Examples:
        >>> decoder = d2l_ext.Seq2SeqAttentionDecoder(
        ...     vocab_size=11, embed_size=8, num_hiddens=16, num_layers=2
        ... )
        >>> outputs, hidden_state = paddle.ones([5, 3, 16]), paddle.ones([2, 3, 16])
        >>> state = decoder.init_state((outputs, hidden_state), [5, 2, 4])
        >>> logits, state = decoder(paddle.zeros([3, 7], "int64"), state)
        >>> tuple(logits.shape), len(decoder.attention_weights)
        ((3, 7, 11), 7)
    """

    def __init__(
        self,
        vocab_size: int,
        embed_size: int,
        num_hiddens: int,
        num_layers: int,
        dropout: float = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        vocab_size = _check.positive_int("vocab_size", vocab_size)
        embed_size = _check.positive_int("embed_size", embed_size)
        num_hiddens = _check.positive_int("num_hiddens", num_hiddens)
        num_layers = _check.positive_int("num_layers", num_layers)
        self.attention = AdditiveAttention(
            num_hiddens, num_hiddens, num_hiddens, dropout
        )
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.rnn = nn.GRU(
            embed_size + num_hiddens,
            num_hiddens,
            num_layers,
            time_major=True,
            dropout=dropout,
        )
        self.dense = nn.Linear(num_hiddens, vocab_size)
        # The book's name: a subclass may have a forward() like the book's.
        self._attention_weights: list[Any] = []

    @property
    def attention_weights(self) -> list[paddle.Tensor | None]:
        """For each step of the last call, the weights (batch, 1, keys)."""
        return [
            step.get() if isinstance(step, _LastWeights) else step
            for step in self._attention_weights
        ]

    def init_state(
        self,
        enc_outputs: tuple[paddle.Tensor, paddle.Tensor],
        enc_valid_lens: ValidLens,
        *args: Any,
    ) -> tuple[paddle.Tensor, paddle.Tensor, ValidLens]:
        """Return the state before the first token.

        Args:
            enc_outputs: what the encoder returned: outputs (m, batch, num_hiddens),
                and the hidden state (num_layers, batch, num_hiddens).
            enc_valid_lens: number of source tokens that are no padding, (batch,), or
                None.
            args: ignored.

        Returns:
            (outputs (batch, m, num_hiddens), hidden state, enc_valid_lens).

        Examples:
            >>> decoder = d2l_ext.Seq2SeqAttentionDecoder(11, 8, 16, 2)
            >>> outputs, hidden_state = paddle.ones([5, 3, 16]), paddle.ones([2, 3, 16])
            >>> state = decoder.init_state((outputs, hidden_state), None)
            >>> tuple(state[0].shape)
            (3, 5, 16)
        """
        wanted = "a pair: outputs (m, batch, num_hiddens), and the hidden state"
        with _check.blamed_on("enc_outputs", wanted, enc_outputs):
            outputs, hidden_state = enc_outputs
        _check.float_tensor("enc_outputs[0]", outputs, ("m", "batch", "num_hiddens"))
        return outputs.transpose([1, 0, 2]), hidden_state, enc_valid_lens

    def forward(
        self, X: paddle.Tensor, state: Sequence[Any]
    ) -> tuple[paddle.Tensor, list[Any]]:
        """Predict what follows each token.

        Args:
            X: tokens, integer tensor (batch, n).
            state: from :meth:`init_state` or from the call before. It is not changed.

        Returns:
            Logits (batch, n, vocab_size), and the new state.

        Raises:
            TypeError, ValueError: X is of another type or shape.

        Examples:
            Two tokens at once, or one after the other:

            >>> decoder = d2l_ext.Seq2SeqAttentionDecoder(11, 8, 16, 1)
            >>> outputs, hidden_state = paddle.ones([5, 1, 16]), paddle.ones([1, 1, 16])
            >>> start = decoder.init_state((outputs, hidden_state), None)
            >>> both, _ = decoder(paddle.to_tensor([[3, 7]]), start)
            >>> first, state = decoder(paddle.to_tensor([[3]]), start)
            >>> second, _ = decoder(paddle.to_tensor([[7]]), state)
            >>> single = paddle.concat([first, second], 1)
            >>> paddle.allclose(both, single, atol=1e-6).item()
            True
        """
        _check.tokens("X", X, self.embedding.weight.shape[0])
        enc_outputs, hidden_state, enc_valid_lens = self._checked(X, state)
        self._forget_weights()
        if _check.is_empty(X):
            weight = self.dense.weight
            return paddle.zeros([*X.shape, weight.shape[1]], weight.dtype), [*state]
        outputs = []
        for x in self.embedding(X).transpose([1, 0, 2]):
            # The query s_{t'-1} is the last layer's hidden state: (batch, 1, …).
            query = hidden_state[-1].unsqueeze(1)
            context = self.attention(query, enc_outputs, enc_outputs, enc_valid_lens)
            self._keep_weights()
            x = paddle.concat([context.squeeze(1), x], axis=-1)
            output, hidden_state = self.rnn(x.unsqueeze(0), hidden_state)
            outputs.append(output)
        logits = self.dense(paddle.concat(outputs, axis=0)).transpose([1, 0, 2])
        return logits, [enc_outputs, hidden_state, enc_valid_lens]

    @paddle.jit.not_to_static
    def _forget_weights(self) -> None:
        if paddle.in_dynamic_mode():
            self._attention_weights = []

    @paddle.jit.not_to_static
    def _keep_weights(self) -> None:
        if paddle.in_dynamic_mode():  # else they are no numbers
            attention: Any = self.attention  # or what a user has put in its place
            ours = isinstance(attention, _Attention)
            weights = attention._last_weights if ours else attention.attention_weights
            self._attention_weights.append(weights)

    def _checked(self, X: paddle.Tensor, state: Sequence[Any]) -> Sequence[Any]:
        """The state's three parts, in the dtype of the weights."""
        wanted = "[encoder's outputs, hidden state, valid lengths]"
        with _check.blamed_on("state", wanted, state):
            enc_outputs, hidden_state, enc_valid_lens = state
        weight = self.dense.weight
        axes = ("batch", "m", "num_hiddens")
        _check.float_tensor("state[0]", enc_outputs, axes)
        _check.axis("state[0]", enc_outputs, 0, "the batch size of X", X, 0)
        _check.axis("state[0]", enc_outputs, 2, "num_hiddens", weight, 0)
        _check.precision("state[0]", enc_outputs, "the layer's weights", weight)
        axes = ("num_layers", "batch", "num_hiddens")
        _check.float_tensor("state[1]", hidden_state, axes)
        _check.axis("state[1]", hidden_state, 1, "the batch size of X", X, 0)
        _check.axis("state[1]", hidden_state, 2, "num_hiddens", weight, 0)
        _check.precision("state[1]", hidden_state, "the layer's weights", weight)
        if hidden_state.shape[0] != self.rnn.num_layers:
            raise ValueError(
                f"state[1] must have num_layers ({self.rnn.num_layers}) on axis 0, "
                f"got {hidden_state.shape[0]} in shape {tuple(hidden_state.shape)}"
            )
        # An encoder may have computed in half precision; a GRU does not mix it.
        enc_outputs = enc_outputs.astype(weight.dtype)
        return enc_outputs, hidden_state.astype(weight.dtype), enc_valid_lens
