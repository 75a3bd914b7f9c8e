"""Chapter 8: recurrent networks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from .._paddle import paddle
from ._table import EVERYWHERE, NUMPY_2_4, Repair, book, number

nn = paddle.nn


def predict_ch8(
    prefix: Sequence[str], num_preds: int, net: Any, vocab: Any, device: Any
) -> str:
    """Return a text: ``prefix``, and the characters that the net takes to follow.

    Book: section 8.5.

    Args:
        prefix: the characters to begin with.
        num_preds: how many to add.
        net: a model with ``begin_state``; called with (1, 1) indices and its state.
        vocab: the vocabulary of the characters.
        device: the place of the input.
    """
    indices = [vocab[token] for token in prefix]
    state = net.begin_state(batch_size=1)
    for position in range(len(prefix) + num_preds - 1):
        X = paddle.to_tensor([[indices[position]]], place=device)
        scores, state = net(X, state)
        if position >= len(prefix) - 1:
            indices.append(int(number(scores.argmax(axis=1))))
    return "".join(vocab.to_tokens(indices))


def grad_clipping(net: Any, theta: float) -> None:
    """Scale the gradients so that their common norm is at most theta.

    Book: (8.5.3).

    Args:
        net: a Layer, or an object with a list ``params``. A parameter without a
            gradient stays so.
        theta: the largest norm allowed.
    """
    params = net.parameters() if isinstance(net, nn.Layer) else net.params
    grads = [p.grad for p in params if not p.stop_gradient and p.grad is not None]
    norm = math.sqrt(sum(number((grad**2).sum()) for grad in grads))
    if norm > theta:
        with paddle.no_grad():
            for grad in grads:
                grad.set_value(grad * (theta / norm))


def train_ch8(
    net: Any,
    train_iter: Iterable[Any],
    vocab: Any,
    lr: float,
    num_epochs: int,
    device: Any,
    use_random_iter: bool = False,
) -> None:
    """Train a language model on characters, and draw its perplexity.

    Book: section 8.5.

    Args:
        net: a Layer, or a model from scratch with a list ``params``.
        train_iter: batches (X, Y), each (batch, steps).
        vocab: the vocabulary of the characters.
        lr: learning rate of the stochastic gradient descent, a float or an integer.
        num_epochs: how often to go through train_iter.
        device: the place where to train.
        use_random_iter: whether a batch does not go on where the last one ended.
    """
    d2l = book()
    animator = d2l.Animator(
        xlabel="epoch", ylabel="perplexity", legend=["train"], xlim=[10, num_epochs]
    )
    updater: Any
    if isinstance(net, nn.Layer):
        updater = paddle.optimizer.SGD(float(lr), parameters=net.parameters())
    else:

        def updater(batch_size: int) -> None:
            d2l.sgd(net.params, lr, batch_size)

    def show(prefix: str) -> None:
        print(d2l.predict_ch8(prefix, 50, net, vocab, device))

    for epoch in range(1, num_epochs + 1):
        perplexity, speed = d2l.train_epoch_ch8(
            net, train_iter, nn.CrossEntropyLoss(), updater, device, use_random_iter
        )
        if epoch % 10 == 0:
            show("time traveller")
            animator.add(epoch, [perplexity])
    print(f"perplexity {perplexity:.1f}, {speed:.1f} tokens/sec on {device}")
    show("time traveller")
    show("traveller")


REPAIRS = (
    Repair(
        "predict_ch8",
        "8.5",
        "Makes an int of a tensor of shape (1,).",
        NUMPY_2_4,
        predict_ch8,
    ),
    Repair(
        "train_ch8",
        "8.5",
        "Fails on an integer learning rate for a Layer.",
        EVERYWHERE,
        train_ch8,
    ),
    Repair(
        "grad_clipping",
        "8.5",
        "Fails where a parameter has no gradient.",
        EVERYWHERE,
        grad_clipping,
    ),
)
