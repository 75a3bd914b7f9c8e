"""Attention by blocks: some rows of the scores at a time, in the backward pass again.

FlashAttention (Dao et al. 2022, arXiv:2205.14135) keeps what it needs of the scores in
the cache, and so does this; but a block has all keys of its queries, so that Paddle's
softmax will do. Keys that are padding for all queries of a block are skipped. Memory is
linear in the number of queries and keys.
"""

from __future__ import annotations

import math
import os
from threading import Thread
from typing import Any, Callable, NamedTuple

import numpy as np

from ._gradient import with_gradients
from ._lengths import KeyLengths
from ._paddle import paddle

nn = paddle.nn

# Scores of a block. More, a megabyte in single precision, fall out of the processor's
# cache.
BLOCK = 2**18
# Fewer queries than this at a time, and the matrix products get slow.
ROWS = 16
HIGHEST_SINGLE = float(np.finfo("float32").max)
HIGHEST_DOUBLE = float(np.finfo("float64").max)


def highest(dtype: paddle.dtype) -> float:
    """The largest finite number."""
    return HIGHEST_DOUBLE if dtype == paddle.float64 else HIGHEST_SINGLE


def pooled(
    queries: paddle.Tensor,
    keys: paddle.Tensor,
    values: paddle.Tensor,
    lens: KeyLengths,
    p: float,
) -> paddle.Tensor:
    """Return softmax(Q K^T) V; p is the probability of dropping a weight."""
    drop = Drop(p) if p else None
    work = plan(queries.shape, keys.shape[1], lens)
    output = paddle.concat(
        in_threads(lambda group: output_of(queries, keys, values, group, drop), work)
    )

    def gradients(gradient: paddle.Tensor) -> list[paddle.Tensor]:
        tensors = [queries, keys, values, output, gradient]
        parts = in_threads(lambda group: gradients_of(tensors, group, drop), work)
        columns = list(zip(*parts))
        del parts  # so that each column goes once it is joined
        return [paddle.concat(columns.pop(0)) for _ in range(3)]

    return with_gradients(output, (queries, keys, values), gradients)


def scaled(queries: paddle.Tensor) -> paddle.Tensor:
    """Divided by the root of d before the product, so that less of it overflows."""
    return queries * (1 / math.sqrt(queries.shape[-1]))


class Block(NamedTuple):
    """Some queries, the number of keys that they look at, and how many each of them.

    Attributes:
        rows: the queries.
        keys: those from here on are padding for all of them.
        counts: valid keys of each query; None where all have ``keys``.
    """

    rows: slice
    keys: int
    counts: Any


class Group(NamedTuple):
    """Neighbours on the first axis that are computed together, block after block."""

    heads: slice
    keys: int
    blocks: list[Block]


def plan(shape: Any, num_keys: int, lens: KeyLengths) -> list[Group]:
    """Divide queries of this shape: some heads of an example, then some rows."""
    total, num_queries, _ = shape
    counts = np.full([1, 1], num_keys)
    if lens.lens is not None:
        counts = lens.whole_numbers(num_keys).numpy().clip(0, num_keys)
        counts = counts.reshape([len(counts), -1])
    heads, groups = total // len(counts), []
    for example, row in enumerate(counts):
        longest = max(1, int(row.max()))
        together = min(heads, max(1, BLOCK // (num_queries * longest)))
        step = max(ROWS, BLOCK // (together * longest))
        blocks = [
            block(slice(start, min(start + step, num_queries)), row)
            for start in range(0, num_queries, step)
        ]
        first, end = example * heads, (example + 1) * heads
        for start in range(first, end, together):
            part = slice(start, min(start + together, end))
            groups.append(Group(part, int(row.max()), blocks))
    return groups


def block(rows: slice, row: Any) -> Block:
    counts = row if len(row) == 1 else row[rows]
    keys = max(1, int(counts.max()))  # Paddle 2.6 multiplies by no empty matrix
    return Block(rows, keys, None if (counts == keys).all() else counts)


class Drop:
    """Dropout of weights, the same again in the backward pass.

    Blocks are computed in threads, so each has random numbers of its own, from a seed
    that comes from Paddle's.
    """

    def __init__(self, p: float) -> None:
        self.p = p
        self.seed: list[Any] = list(paddle.randint(0, 2**31 - 1, [2]).numpy())

    def factors(self, X: paddle.Tensor, heads: slice, rows: slice) -> paddle.Tensor:
        """0 where X is dropped, else 1 / (1 - p)."""
        rng = np.random.default_rng([*self.seed, heads.start, rows.start])
        keep = rng.random(X.shape, "float32") >= self.p
        scale = 1 / (1 - self.p) if self.p < 1 else 0.0
        return paddle.to_tensor(keep.astype(X.numpy().dtype)) * scale


def in_threads(function: Callable[[Group], Any], groups: list[Group]) -> list[Any]:
    """Paddle's operations let other threads go on, and use but one core themselves."""
    results: list[Any] = [None] * len(groups)
    errors: list[BaseException] = []
    todo = iter(range(len(groups)))  # each thread takes the next

    def work() -> None:
        try:
            with paddle.no_grad():  # each thread has a switch of its own
                for i in todo:
                    results[i] = function(groups[i])
        except BaseException as error:  # also Ctrl-C: nothing may be left to do
            errors.append(error)
            list(todo)

    # Not from a pool: that of multiprocessing settles how processes are started, and
    # to_static on Paddle 2.6 reads into that of concurrent.futures.
    others = [Thread(target=work) for _ in range(min(len(groups), cores()) - 1)]
    for thread in others:
        thread.start()
    work()
    for thread in others:
        thread.join()
    if errors:
        raise errors[0]
    return results


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Product:
    """left @ right^T for one block after the other.

    Of a single head all results are written to the same memory, as long as they are of
    one size: allocated anew, a megabyte costs more than the product, and in threads
    the C library scatters what comes and goes.
    """

    def __init__(self, right: paddle.Tensor) -> None:
        self.right = right
        self.right_t: Any = transposed(right) if len(right.shape) == 2 else None
        self.result: Any = None

    def __call__(self, left: paddle.Tensor, rows: int) -> paddle.Tensor:
        """Of the first rows of ``right``; what was returned before is gone."""
        if self.right_t is None or rows < self.right.shape[-2]:
            return paddle.matmul(left, self.right[..., :rows, :], transpose_y=True)
        shape = [left.shape[0], rows]
        if self.result is None or list(self.result.shape) != shape:
            self.result = paddle.empty(shape, left.dtype)
        return self.result.addmm_(left, self.right_t, beta=0.0, alpha=1.0)


class Total:
    """A sum over blocks of right^T @ left, which has a row for each key.

    Of a single head it is kept transposed: a product is added as it is computed.
    """

    def __init__(self, like: paddle.Tensor) -> None:
        self.single = len(like.shape) == 2
        self.sum = paddle.zeros_like(transposed(like) if self.single else like)

    def add(self, left: paddle.Tensor, right: paddle.Tensor) -> None:
        if not self.single:
            part = paddle.matmul(right, left, transpose_x=True)
            self.sum[:, : part.shape[1]] += part
        elif right.shape[1] == self.sum.shape[1]:
            self.sum.addmm_(transposed(left), right, beta=1.0, alpha=1.0)
        else:
            part = paddle.matmul(left, right, transpose_x=True)
            self.sum[:, : part.shape[1]] += part

    def rows(self, count: int) -> paddle.Tensor:
        """The sum, followed by as many rows of 0 as make it ``count``."""
        rows = transposed(self.sum) if self.single else self.sum
        missing = count - rows.shape[-2]
        if missing == 0:
            return rows
        shape = [*rows.shape[:-2], missing, rows.shape[-1]]
        return paddle.concat([rows, paddle.zeros(shape, rows.dtype)], axis=-2)


def heads_of(group: Group, *tensors: paddle.Tensor) -> list[paddle.Tensor]:
    """The group's part of each: (heads, n, size), or (n, size) of a single head."""
    if group.heads.stop - group.heads.start == 1:
        return [t[group.heads.start] for t in tensors]
    return [t[group.heads] for t in tensors]


def transposed(X: paddle.Tensor) -> paddle.Tensor:
    *others, n, size = range(len(X.shape))
    return X.transpose([*others, size, n]).contiguous()


def probabilities(scores: paddle.Tensor, block: Block) -> paddle.Tensor:
    """The weights of a block, written over its scores."""
    if block.counts is None:
        return nn.functional.softmax_(scores)
    counts = paddle.to_tensor(block.counts)
    mask = nn.functional.sequence_mask(counts, block.keys, scores.dtype)
    mask = mask.expand(scores.shape)
    low = paddle.full([], -highest(scores.dtype), scores.dtype)
    scores = paddle.where(mask > 0, scores, low.expand(scores.shape))
    return nn.functional.softmax_(scores).multiply_(mask)


def output_of(queries, keys, values, group: Group, drop: Drop | None):  # type: ignore
    """The output of one group."""
    q, k, v = heads_of(group, queries, keys, values)
    output = paddle.zeros([*q.shape[:-1], v.shape[-1]], v.dtype)
    if group.keys > 0:
        scores = Product(k[..., : group.keys, :])
        for block in group.blocks:
            rows = block.rows
            weights = probabilities(scores(q[..., rows, :], block.keys), block)
            if drop is not None:
                weights.multiply_(drop.factors(weights, group.heads, rows))
            seen = v[..., : block.keys, :]
            output[..., rows, :] = paddle.matmul(weights, seen)
    return output.reshape([-1, *output.shape[-2:]])


def gradients_of(
    tensors: list[paddle.Tensor], group: Group, drop: Drop | None
) -> list[paddle.Tensor]:
    """Those for queries, keys and values of one group.

    Args:
        tensors: queries, keys, values, output, and the gradient for the output.
        group, drop: as before.
    """
    q, k, v, o, g = heads_of(group, *tensors)
    d_q, d_k, d_v = (paddle.zeros_like(t) for t in (q, k, v))
    if group.keys > 0:
        d_k, d_v = (
            total.rows(tensors[1].shape[1])
            for total in _gradients_of_valid(q, k, v, o, g, d_q, group, drop)
        )
    return [t.reshape([-1, *t.shape[-2:]]) for t in (d_q, d_k, d_v)]


def _gradients_of_valid(q, k, v, o, g, d_q, group, drop):  # type: ignore
    """Fill d_q; return the gradients for the valid keys and values."""
    k, v = k[..., : group.keys, :], v[..., : group.keys, :]
    d_k, d_v = Total(k), Total(v)
    # The softmax's gradient is weights * (d_weights - sums). As one more column in the
    # product that gives d_weights the subtraction costs nothing.
    sums = (g * o).sum(axis=-1, keepdim=True)
    g_ext = paddle.concat([g, -sums], axis=-1)
    v_ext = paddle.concat([v, paddle.ones_like(v[..., :1])], axis=-1)
    scores, differences = Product(k), Product(v_ext)
    for block in group.blocks:
        rows, q_, g_ = block.rows, q[..., block.rows, :], g[..., block.rows, :]
        weights = probabilities(scores(q_, block.keys), block)
        d_scores = differences(g_ext[..., rows, :], block.keys)
        dropped = weights
        if drop is not None:
            factors = drop.factors(weights, group.heads, rows)
            # The sums are of what was not dropped: that column stays as it is.
            lacking = (factors - 1) * sums[..., rows, :]
            d_scores = d_scores * factors + lacking
            dropped = weights * factors
        d_scores.multiply_(weights)
        d_q[..., rows, :] = paddle.matmul(d_scores, k[..., : block.keys, :])
        d_k.add(q_, d_scores)
        d_v.add(g_, dropped)
    return d_k, d_v
