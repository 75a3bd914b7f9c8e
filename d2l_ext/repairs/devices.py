"""Chapters 5, 6, 12 and 13: devices, and the loops that train on them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Callable

from .._paddle import paddle
from ._table import EVERYWHERE, Repair, book, number

nn = paddle.nn


def try_all_gpus() -> list[Any]:
    """Return a list of all GPUs, or with the CPU alone where there is none.

    Book: section 5.6.
    """
    count = paddle.device.cuda.device_count()
    return [paddle.CUDAPlace(i) for i in range(count)] or [paddle.CPUPlace()]


def evaluate_accuracy_gpu(
    net: Callable[..., Any], data_iter: Iterable[Any], device: Any = None
) -> float:
    """Return the share of right predictions, computed on a GPU or on the CPU.

    Book: section 6.6.

    Args:
        net: a Layer, put into eval mode, or a function.
        data_iter: batches (X, y); X is a tensor or a list of tensors.
        device: a place; without it, the one of the net's parameters.
    """
    if isinstance(net, nn.Layer):
        net.eval()
        if device is None:
            device = next((p.place for p in net.parameters()), None)
    name = re.sub(r"^Place\((.*)\)$", r"\1", str(device or paddle.get_device()))
    right = total = 0
    with _default_device(name), paddle.no_grad():
        for X, y in data_iter:
            X, y = _on(name, X), _on(name, y)
            right += book().accuracy(net(X), y)
            total += int(y.numel())
    return right / total


@contextlib.contextmanager
def _default_device(name: str) -> Iterator[None]:
    before = paddle.get_device()
    paddle.set_device(name)
    try:
        yield
    finally:
        paddle.set_device(before)


def _on(device: Any, X: Any) -> Any:
    """A tensor or a list of tensors on a device."""
    if isinstance(X, (list, tuple)):
        return [_on(device, x) for x in X]
    return paddle.to_tensor(X, place=device)


def train_ch6(
    net: paddle.nn.Layer,
    train_iter: Collection[Any],
    test_iter: Collection[Any],
    num_epochs: int,
    lr: float,
    device: Any,
) -> None:
    """Train a classifier from Xavier's weights, and draw losses and accuracies.

    Book: section 6.6.

    Args:
        net: a Layer; its linear and convolutional weights are drawn anew.
        train_iter, test_iter: batches (X, y); both have a length.
        num_epochs: how often to go through train_iter.
        lr: learning rate of the stochastic gradient descent.
        device: the place where to train.
    """
    d2l = book()
    net.apply(_xavier)
    print("training on", device)
    net.to(device)
    optimizer = paddle.optimizer.SGD(float(lr), parameters=net.parameters())
    cross_entropy = nn.CrossEntropyLoss()

    def step(X: Any, y: Any) -> Sequence[float]:
        X, y = _on(device, X), _on(device, y)
        optimizer.clear_grad()
        y_hat = net(X)
        loss = cross_entropy(y_hat, y)
        loss.backward()
        optimizer.step()
        n = y.shape[0]
        return number(loss) * n, d2l.accuracy(y_hat, y), n, int(y.numel())

    _train(net, train_iter, test_iter, num_epochs, step, device, device)


def _xavier(layer: Any) -> None:
    if type(layer) in (nn.Linear, nn.Conv2D):
        nn.initializer.XavierUniform()(layer.weight)


def train_ch13(
    net: paddle.nn.Layer,
    train_iter: Collection[Any],
    test_iter: Collection[Any],
    loss: Callable[..., Any],
    trainer: Any,
    num_epochs: int,
    devices: Sequence[Any] | None = None,
) -> None:
    """Train a classifier with an optimiser, and draw losses and accuracies.

    Book: section 13.1. Paddle trains on the first device alone in a notebook.

    Args:
        net: a Layer.
        train_iter, test_iter: batches (X, y), X a tensor or a list; with a length.
        loss: a function that returns the loss of each example.
        trainer: the optimiser.
        num_epochs: how often to go through train_iter.
        devices: a list of places; without it, all GPUs.
    """
    d2l = book()
    devices = d2l.try_all_gpus() if devices is None else devices

    def step(X: Any, y: Any) -> Sequence[float]:
        total, right = d2l.train_batch_ch13(net, X, y, loss, trainer, devices)
        return number(total), right, y.shape[0], int(y.numel())

    _train(net, train_iter, test_iter, num_epochs, step, None, devices)


def _train(
    net: paddle.nn.Layer,
    train_iter: Collection[Any],
    test_iter: Collection[Any],
    num_epochs: int,
    step: Callable[[Any, Any], Sequence[float]],
    device: Any,
    shown: Any,
) -> None:
    """The loop of both: ``step`` returns loss, right, examples and labels of a batch.

    Points are drawn five times an epoch, or for each batch where there are fewer.
    """
    d2l = book()
    num_batches, timer = len(train_iter), d2l.Timer()
    timer.times = []
    legend = ["train loss", "train acc", "test acc"]
    animator = d2l.Animator(xlabel="epoch", xlim=[1, num_epochs], legend=legend)
    every = max(1, num_batches // 5)
    for epoch in range(num_epochs):
        sums = d2l.Accumulator(4)
        net.train()
        for i, (X, y) in enumerate(train_iter, start=1):
            timer.start()
            sums.add(*step(X, y))
            timer.stop()
            train_loss = sums[0] / sums[2]
            train_acc = sums[1] / sums[3]
            if i % every == 0 or i == num_batches:
                animator.add(epoch + i / num_batches, (train_loss, train_acc, None))
        test_acc = d2l.evaluate_accuracy_gpu(net, test_iter, device)
        animator.add(epoch + 1, (None, None, test_acc))
    speed = sums[2] * num_epochs / timer.sum()
    print(
        f"loss {train_loss:.3f}, train acc {train_acc:.3f}, test acc {test_acc:.3f}\n"
        f"{speed:.1f} examples/sec on {shown}"
    )


def split_batch(
    X: paddle.Tensor, y: paddle.Tensor, devices: Sequence[Any]
) -> tuple[list[paddle.Tensor], list[paddle.Tensor]]:
    """Return the parts of X and of y, a list each, with a part for every device.

    Book: section 12.5.
    """
    if X.shape[0] != y.shape[0]:
        raise ValueError(
            f"X and y must have as many rows, got {X.shape[0]} and {y.shape[0]}"
        )
    return _scatter(X, devices), _scatter(y, devices)


def _scatter(X: paddle.Tensor, devices: Sequence[Any]) -> list[paddle.Tensor]:
    ends = [X.shape[0] * i // len(devices) for i in range(len(devices) + 1)]
    parts = zip(ends, ends[1:], devices)
    return [_on(device, X[start:end]) for start, end, device in parts]


REPAIRS = (
    Repair(
        "evaluate_accuracy_gpu",
        "6.6",
        "Asks for the GPU named 'gpu:u' where the net is on the CPU, and leaves the "
        "default device changed.",
        EVERYWHERE,
        evaluate_accuracy_gpu,
    ),
    Repair(
        "try_all_gpus",
        "5.6",
        "Gives a bare place and no list where there is no GPU.",
        EVERYWHERE,
        try_all_gpus,
    ),
    Repair(
        "train_ch6",
        "6.6",
        "Does not draw the weights from Xavier's distribution as it says; fails on "
        "fewer than five batches and on an integer learning rate.",
        EVERYWHERE,
        train_ch6,
    ),
    Repair(
        "train_ch13",
        "13.1",
        "Keeps the devices found at the import, no list on a CPU; fails on fewer than "
        "five batches.",
        EVERYWHERE,
        train_ch13,
    ),
    Repair(
        "split_batch",
        "12.5",
        "Calls a function that does not exist.",
        EVERYWHERE,
        split_batch,
    ),
)
