"""Paddle's flash attention, on a GPU that has it (Dao et al. 2022, arXiv:2205.14135).

It takes half precision without padding. Which GPUs, drivers and builds of Paddle have
it cannot be asked, so it is tried once, against the formula, before it is used.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ._lengths import KeyLengths
from ._paddle import paddle

HALVES = (paddle.float16, paddle.bfloat16)
LARGEST_SIZE = 256  # of a query and of a value
TOLERANCE = 0.03  # bfloat16 has three digits


def takes(
    queries: paddle.Tensor,
    keys: paddle.Tensor,
    values: paddle.Tensor,
    lens: KeyLengths,
) -> bool:
    """Whether dtype, sizes and mask are what it can do, and it can do that here."""
    if lens.lens is not None or queries.dtype not in HALVES:
        return False
    size, alike = queries.shape[2], queries.dtype == keys.dtype == values.dtype
    if not alike or size > LARGEST_SIZE or values.shape[2] != size:
        return False
    return works(paddle.get_device(), queries.dtype)


def pooled(
    queries: paddle.Tensor, keys: paddle.Tensor, values: paddle.Tensor, p: float
) -> paddle.Tensor:
    """Return softmax(Q K^T / sqrt(d)) V; p is the probability of dropping a weight."""
    # Paddle's own shape is (batch, n, heads, size).
    q, k, v = (t.unsqueeze(2) for t in (queries, keys, values))
    flash = paddle.nn.functional.flash_attention.flash_attention
    output: Any = flash(q, k, v, dropout=p)[0]
    return output.squeeze(2)


@lru_cache(maxsize=None)
def works(device: str, dtype: paddle.dtype) -> bool:
    """Whether output and gradients are right, at sizes that are no round numbers."""
    rng = np.random.default_rng(0)
    shapes = [3, 67, 24], [3, 71, 24], [3, 71, 24], [3, 67, 24]
    arrays = [rng.standard_normal(shape, "float32") for shape in shapes]
    with paddle.amp.auto_cast(False):
        exact = _output_and_gradients(arrays, paddle.float32)
        try:
            found = _output_and_gradients(arrays, dtype)
        except Exception:  # whatever is missing here
            return False
    return all(
        np.isfinite(a).all() and np.abs(a - b).max() < TOLERANCE * np.abs(b).max()
        for a, b in zip(found, exact)
    )


def _output_and_gradients(arrays: list[Any], dtype: paddle.dtype) -> list[Any]:
    q, k, v, weight = (paddle.to_tensor(array).astype(dtype) for array in arrays)
    for t in (q, k, v):
        t.stop_gradient = False
    with paddle.enable_grad():
        if dtype in HALVES:
            output = pooled(q, k, v, p=0.0)
        else:
            scores = paddle.matmul(q, k, transpose_y=True) / q.shape[2] ** 0.5
            output = paddle.matmul(paddle.nn.functional.softmax(scores), v)
        gradients = paddle.grad(output, [q, k, v], weight)
    return [t.astype("float32").numpy() for t in (output, *gradients)]
