"""Chapter 11: paths of optimisers, and training with them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Callable

from .._paddle import paddle
from ..figures import to_numpy
from ._table import EVERYWHERE, NUMPY_2_4, Repair, book, number

nn = paddle.nn


def train_2d(
    trainer: Callable[..., Any],
    steps: int = 20,
    f_grad: Callable[..., Any] | None = None,
) -> list[tuple[float, float]]:
    """Return the path of an optimiser in two dimensions, from (-5, -2) on.

    Book: section 11.3.

    Args:
        trainer: called with x1, x2 and two numbers of its own, and with f_grad if
            there is one; returns the next four. They may be tensors with one element.
        steps: how many steps to take.
        f_grad: the gradient, handed to the trainer.

    Returns:
        A list of steps + 1 pairs of numbers.
    """
    more = (f_grad,) if f_grad else ()
    state: Any = (-5, -2, 0, 0)
    path: list[tuple[float, float]] = [(-5, -2)]
    for _ in range(steps):
        state = trainer(*state, *more)
        path.append((number(state[0]), number(state[1])))
    print(f"epoch {steps}, x1: {path[-1][0]:f}, x2: {path[-1][1]:f}")
    return path


def show_trace_2d(f: Callable[..., Any], results: Iterable[Any]) -> None:
    """Draw the path of an optimiser over the contours of f.

    Book: section 11.3.

    Args:
        f: called with two tensors (n, m), the coordinates of a grid.
        results: the pairs (x1, x2) of the path, numbers or tensors with one element.
    """
    d2l = book()
    d2l.set_figsize()
    path = [(number(x1), number(x2)) for x1, x2 in results]
    d2l.plt.plot(*zip(*path), "-o", color="#ff7f0e")
    grid = paddle.meshgrid(
        paddle.arange(-5.5, 1.0, 0.1, dtype="float32"),
        paddle.arange(-3.0, 1.0, 0.1, dtype="float32"),
    )
    surface = [to_numpy("f", values) for values in (*grid, f(*grid))]
    d2l.plt.contour(*surface, colors="#1f77b4")
    d2l.plt.xlabel("x1")
    d2l.plt.ylabel("x2")


def train_ch11(
    trainer_fn: Callable[..., Any],
    states: Any,
    hyperparams: dict[str, Any],
    data_iter: Collection[Any],
    feature_dim: int,
    num_epochs: int = 2,
) -> tuple[list[float], list[float]]:
    """Train a linear regression with an optimiser from scratch, and draw the loss.

    Book: section 11.5.

    Args:
        trainer_fn: called with a list of parameters, states and hyperparams after each
            batch; returns the parameters. It need not ask for ``no_grad``.
        states, hyperparams: handed to the optimiser.
        data_iter: batches (X, y), X (batch, feature_dim).
        feature_dim: the number of features.
        num_epochs: how often to go through data_iter.

    Returns:
        Two lists, with a number for each point drawn: seconds since the start, and
        losses.
    """
    d2l = book()
    params = [paddle.normal(0.0, 0.01, [feature_dim, 1]), paddle.zeros([1])]
    for param in params:
        param.stop_gradient = False

    def net(X: paddle.Tensor) -> paddle.Tensor:
        return d2l.linreg(X, *params)

    def step(X: paddle.Tensor, y: paddle.Tensor) -> None:
        d2l.squared_loss(net(X), y).mean().backward()
        # The book's optimisers set gradients to zero in place.
        with paddle.no_grad():
            params[:] = trainer_fn(list(params), states, hyperparams)

    def evaluate() -> float:
        return d2l.evaluate_loss(net, data_iter, d2l.squared_loss)

    timer, losses = _train(data_iter, num_epochs, step, evaluate)
    return timer.cumsum()[: len(losses)], losses


def train_concise_ch11(
    trainer_fn: Callable[..., Any],
    hyperparams: dict[str, Any],
    data_iter: Collection[Any],
    num_epochs: int = 4,
) -> None:
    """Train a linear regression with one of Paddle's optimisers, and draw the loss.

    Book: section 11.5.

    Args:
        trainer_fn: the optimiser's class.
        hyperparams: a dict of its arguments.
        data_iter: batches (X, y), X (batch, 5).
        num_epochs: how often to go through data_iter.
    """
    d2l = book()
    net = nn.Sequential(nn.Linear(5, 1))
    nn.initializer.Normal(mean=0.0, std=0.01)(net[0].weight)
    optimizer = trainer_fn(parameters=net.parameters(), **hyperparams)
    squared_error = nn.MSELoss(reduction="none")

    def step(X: paddle.Tensor, y: paddle.Tensor) -> None:
        optimizer.clear_grad()
        y_hat = net(X)
        squared_error(y_hat, y.reshape(y_hat.shape)).mean().backward()
        optimizer.step()

    def evaluate() -> float:
        # Half of it: the book's own squared loss has the factor 1/2.
        return d2l.evaluate_loss(net, data_iter, squared_error) / 2

    _train(data_iter, num_epochs, step, evaluate)


def _train(
    data_iter: Collection[Any],
    num_epochs: int,
    step: Callable[..., None],
    evaluate: Callable[[], float],
) -> tuple[Any, list[float]]:
    """The loop of both; returns the timer, and the losses, one for 200 examples."""
    d2l = book()
    animator = d2l.Animator(
        xlabel="epoch", ylabel="loss", xlim=[0, num_epochs], ylim=[0.22, 0.35]
    )
    examples, timer = 0, d2l.Timer()
    for _ in range(num_epochs):
        for X, y in data_iter:
            step(X, y)
            examples += X.shape[0]
            if examples % 200 == 0:
                timer.stop()
                epoch = examples / X.shape[0] / len(data_iter)
                animator.add(epoch, (evaluate(),))
                timer.start()
    losses = animator.Y[0] if animator.Y else []
    loss = losses[-1] if losses else evaluate()
    seconds = timer.avg() if timer.times else timer.stop()
    print(f"loss: {loss:.3f}, {seconds:.3f} sec/epoch")
    return timer, losses


REPAIRS = (
    Repair(
        "show_trace_2d",
        "11.3",
        "Hands tensors of two axes to matplotlib, and fails on a path of tensors.",
        EVERYWHERE,
        show_trace_2d,
    ),
    Repair(
        "train_2d",
        "11.3",
        "Makes a float of a tensor of shape (1,).",
        NUMPY_2_4,
        train_2d,
    ),
    Repair(
        "train_ch11",
        "11.5",
        "Lets Paddle refuse p.grad.zero_() in the book's own optimisers; fails where "
        "no 200 examples come together.",
        EVERYWHERE,
        train_ch11,
    ),
    Repair(
        "train_concise_ch11",
        "11.5",
        "Does not draw the weights from N(0, 0.01) as it says; fails where no 200 "
        "examples come together.",
        EVERYWHERE,
        train_concise_ch11,
    ),
)
