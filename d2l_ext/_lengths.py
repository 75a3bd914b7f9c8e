"""Which keys are valid: lengths, shared by the heads of an example."""

from __future__ import annotations

from typing import Any

from . import _check
from ._paddle import paddle

# Without what Tensor.reshape looks at first, which takes as long as the work.
reshape, expand = paddle._C_ops.reshape, paddle._C_ops.expand


class KeyLengths:
    """How many keys are valid, for each example or each of its queries.

    Args:
        lens: int64 or float64 tensor (batch,) or (batch, queries); None if all are.
        heads: so many neighbours on the first axis of the scores share an example.
        of_layer: queries, keys and values are a layer's own; no caller has them.
    """

    def __init__(
        self, lens: paddle.Tensor | None, heads: int = 1, of_layer: bool = False
    ) -> None:
        self.lens, self.heads, self.of_layer = lens, heads, of_layer

    def clone(self) -> KeyLengths:
        lens = None if self.lens is None else self.lens.clone()
        return KeyLengths(lens, self.heads, self.of_layer)

    def of_scores(self) -> paddle.Tensor | None:
        """One for each example of the scores: (batch * heads,) or (…, queries)."""
        if self.lens is None or self.heads == 1:
            return self.lens
        if _check.is_empty(self.lens):
            batch, *rest = self.lens.shape  # only the shape counts
            return paddle.zeros([batch * self.heads, *rest], self.lens.dtype)
        copies = [1, self.heads] + [1] * (len(self.lens.shape) - 1)
        return self.lens.unsqueeze(1).tile(copies).flatten(0, 1)

    def mask(self, queries: int, keys: int, dtype: paddle.dtype) -> paddle.Tensor:
        """1 where a key is valid, else 0: (batch * heads, queries, keys)."""
        lens = self.whole_numbers(keys)
        shape = [lens.shape[0], self.heads, queries, keys]
        mask = paddle.nn.functional.sequence_mask(lens, keys, dtype)
        mask = expand(reshape(mask, [shape[0], 1, -1, keys]), shape)
        return reshape(mask, [-1, queries, keys])

    def whole_numbers(self, keys: int) -> Any:
        """The lengths as int64: key j is valid where j < length, so 1.5 has two."""
        lens: Any = self.lens
        if lens.dtype == paddle.int64:
            return lens
        lens = paddle.where(paddle.isnan(lens), paddle.zeros_like(lens), lens)
        return paddle.ceil(lens).clip(0, keys).astype("int64")
