"""Chapter 9: sequences to sequences."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterable
from typing import Any

from .. import _check
from .._compat import keep_first
from .._paddle import paddle
from .._types import Lengths
from ._table import EVERYWHERE, PADDLE_3, Repair, book, number

nn = paddle.nn

WIDER = {
    paddle.float16: paddle.float32,
    paddle.bfloat16: paddle.float32,
    paddle.int8: paddle.int32,
    paddle.uint8: paddle.int32,
    paddle.int16: paddle.int32,
    paddle.bool: paddle.int32,
}


def sequence_mask(
    X: paddle.Tensor, valid_len: Lengths, value: float = 0
) -> paddle.Tensor:
    """Return X with the elements from ``valid_len`` on set to ``value``.

    Book: section 9.7.

    Args:
        X: tensor (batch, n, …) of any dtype. It is not changed.
        valid_len: how many elements of each row to keep, (batch,) of any integer or
            float type.
        value: what takes the place of the others.

    Returns:
        A tensor of X's shape and dtype.

    Raises:
        TypeError: X is not a tensor, or valid_len holds no numbers.
        ValueError: valid_len is not of shape (batch,).
    """
    _check.tensor("X", X)
    lens = _check.lengths_of_rows("valid_len", valid_len, X)
    if _check.is_empty(X):
        return paddle.zeros_like(X)
    # Not every dtype has the kernel.
    work = X.astype(WIDER.get(X.dtype, X.dtype))
    return keep_first(work, lens, value).astype(X.dtype)


class MaskedSoftmaxCELoss(nn.CrossEntropyLoss):
    """Cross-entropy of each sequence, in which padding counts nothing.

    Book: section 9.7.
    """

    def __init__(self) -> None:
        super().__init__(reduction="none")

    def forward(  # type: ignore[override]  # the book's signature
        self, pred: paddle.Tensor, label: paddle.Tensor, valid_len: Lengths
    ) -> paddle.Tensor:
        """Return the mean loss (batch,).

        Args:
            pred: scores (batch, n, vocabulary).
            label: integers (batch, n).
            valid_len: number of real tokens in each label, (batch,).
        """
        loss = super().forward(pred, label).reshape(label.shape)
        return sequence_mask(loss, valid_len).mean(axis=1)


def train_seq2seq(
    net: paddle.nn.Layer,
    data_iter: Iterable[Any],
    lr: float,
    num_epochs: int,
    tgt_vocab: Any,
    device: Any,
) -> None:
    """Train an encoder and decoder with teacher forcing, and draw the loss.

    Book: section 9.7.

    Args:
        net: called with source (batch, n), decoder input (batch, m) and the sources'
            valid lengths (batch,); returns scores (batch, m, vocabulary) and a state.
        data_iter: batches of source, its lengths, target (batch, m), its lengths.
        lr: learning rate of Adam.
        num_epochs: how often to go through data_iter.
        tgt_vocab: the vocabulary of the targets, with ``<bos>``.
        device: the place where to train.
    """
    d2l = book()
    optimizer = paddle.optimizer.Adam(float(lr), parameters=net.parameters())
    masked_loss = d2l.MaskedSoftmaxCELoss()
    net.train()
    animator = d2l.Animator(xlabel="epoch", ylabel="loss", xlim=[10, num_epochs])
    for epoch in range(1, num_epochs + 1):
        timer, sums = d2l.Timer(), d2l.Accumulator(2)
        for batch in data_iter:
            X, X_lens, Y, Y_lens = [paddle.to_tensor(x, place=device) for x in batch]
            # Flat, not squeezed: a batch of one keeps its axis.
            X_lens, Y_lens = X_lens.reshape([-1]), Y_lens.reshape([-1])
            bos = paddle.full_like(Y[:, :1], tgt_vocab["<bos>"])
            optimizer.clear_grad()
            scores, _ = net(X, paddle.concat([bos, Y[:, :-1]], axis=1), X_lens)
            loss = masked_loss(scores, Y, Y_lens).sum()
            loss.backward()
            d2l.grad_clipping(net, 1)
            optimizer.step()
            sums.add(number(loss), number(Y_lens.sum()))
        if epoch % 10 == 0:
            animator.add(epoch, sums[0] / sums[1])
    print(
        f"loss {sums[0] / sums[1]:.3f}, {sums[1] / timer.stop():.1f} tokens/sec "
        f"on {device}"
    )


def bleu(pred_seq: str, label_seq: str, k: int) -> float:
    """Return how well a translation agrees with the right one, from 0 to 1.

    Book: (9.7.4). A prediction shorter than k has no n-grams of every length up to k:
    those that it has none of are left out, so that the right one-word answer gets 1.

    Args:
        pred_seq, label_seq: texts, the words separated by a space.
        k: the longest n-grams to compare.
    """
    pred, label = pred_seq.split(" "), label_seq.split(" ")
    score = math.exp(min(0, 1 - len(label) / len(pred)))
    for n in range(1, min(k, len(pred)) + 1):
        found, wanted = _n_grams(pred, n), _n_grams(label, n)
        matches = sum((found & wanted).values())
        score *= (matches / sum(found.values())) ** (0.5**n)
    return score


def _n_grams(words: list[str], n: int) -> collections.Counter[tuple[str, ...]]:
    return collections.Counter(zip(*(words[i:] for i in range(n))))


REPAIRS = (
    Repair(
        "sequence_mask",
        "9.7",
        "Compares float32 with int64 (TypeError on Paddle 3), and writes into the "
        "caller's tensor where the lengths are floats (Paddle 3); rounds float64 to "
        "float32; fails on a length without axes, as a batch of one has it.",
        EVERYWHERE,
        sequence_mask,
    ),
    Repair(
        "MaskedSoftmaxCELoss",
        "9.7",
        "Multiplies float32 with int64 (TypeError).",
        PADDLE_3,
        MaskedSoftmaxCELoss,
    ),
    Repair(
        "train_seq2seq",
        "9.7",
        "Fails on a batch of one (its lengths lose their axis) and on an integer "
        "learning rate.",
        EVERYWHERE,
        train_seq2seq,
    ),
    Repair(
        "bleu",
        "9.7",
        "Divides by zero for a prediction shorter than k.",
        EVERYWHERE,
        bleu,
    ),
)
