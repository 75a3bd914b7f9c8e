"""Chapters 2, 3 and 6: counts, losses, figures and the first convolution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Callable

from .._paddle import paddle
from .._types import Array
from ..figures import FMTS, to_numpy
from ._table import EVERYWHERE, NUMPY_2_4, PADDLE_3, Repair, book, number

CLOTHES = (
    "t-shirt",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)


def size(x: paddle.Tensor) -> int:
    """Return how many elements a tensor has, as an int.

    Book: section 2.1.
    """
    return int(x.numel())


def squared_loss(y_hat: paddle.Tensor, y: paddle.Tensor) -> paddle.Tensor:
    """Return half the squared error of each prediction, in y_hat's shape and dtype.

    Book: section 3.2.

    Args:
        y_hat: predictions, a float tensor.
        y: as many labels, of any shape and dtype.
    """
    return (y_hat - y.reshape(y_hat.shape).astype(y_hat.dtype)) ** 2 / 2


def get_fashion_mnist_labels(labels: Iterable[Any]) -> list[str]:
    """Return the names of the classes of numbers (n,) or (n, 1), as a list.

    Book: section 3.5.
    """
    return [CLOTHES[int(number(label))] for label in labels]


def show_images(
    imgs: Iterable[Any],
    num_rows: int,
    num_cols: int,
    titles: Iterable[str] | None = None,
    scale: float = 1.5,
) -> Array:
    """Draw images in a grid and return the axes, an array (num_rows * num_cols,).

    Book: section 3.5.

    Args:
        imgs: tensors or arrays (height, width) or (height, width, 3), or PIL images.
        num_rows, num_cols: the grid.
        titles: None, or a list with a text for each image; it may be shorter.
        scale: inches for each image.
    """
    figsize = (num_cols * scale, num_rows * scale)
    grid = book().plt.subplots(num_rows, num_cols, figsize=figsize, squeeze=False)[1]
    axes = grid.reshape(-1)
    for panel, image in zip(axes, imgs):
        panel.imshow(to_numpy("imgs", image) if paddle.is_tensor(image) else image)
        panel.xaxis.set_visible(False)
        panel.yaxis.set_visible(False)
    for panel, title in zip(axes, () if titles is None else titles):
        panel.set_title(title)
    return axes


def accuracy(y_hat: paddle.Tensor, y: paddle.Tensor) -> float:
    """Return how many predictions are right, as a float.

    Book: section 3.6.

    Args:
        y_hat: scores (n, classes, …), or the predicted classes, (n,) or (n, 1).
        y: the true classes (n, …) or (n, 1, …).
    """
    if len(y_hat.shape) > 1 and y_hat.shape[1] > 1:
        y_hat = y_hat.argmax(axis=1)
    right = y_hat.astype(y.dtype).reshape([-1]) == y.reshape([-1])
    return float(right.astype("int64").sum())


class Accumulator:
    """Running sums of n quantities, each a number or a tensor with one element.

    Book: section 3.6.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.reset()

    def add(self, *args: Any) -> None:
        """Add one number to each of the sums."""
        for i, value in enumerate(args[: self.n]):
            self.data[i] += number(value)

    def reset(self) -> None:
        """Set all sums to 0."""
        self.data = [0.0 for _ in range(self.n)]

    def __getitem__(self, idx: int) -> float:
        return self.data[idx]


class Animator:
    """A figure with curves that grow while a model is trained.

    Book: section 3.6.

    Args:
        xlabel, ylabel, legend, xlim, ylim, xscale, yscale, fmts, figsize: as for
            ``plot``; curves beyond the formats get matplotlib's next colours.
        nrows, ncols: a grid of axes; the curves are drawn into the first.
    """

    def __init__(
        self,
        xlabel: str | None = None,
        ylabel: str | None = None,
        legend: Sequence[str] | None = None,
        xlim: Sequence[float] | None = None,
        ylim: Sequence[float] | None = None,
        xscale: str = "linear",
        yscale: str = "linear",
        fmts: Sequence[str] = FMTS,
        nrows: int = 1,
        ncols: int = 1,
        figsize: Sequence[float] = (3.5, 2.5),
    ) -> None:
        d2l = book()
        d2l.use_svg_display()
        self.fig, grid = d2l.plt.subplots(nrows, ncols, figsize=figsize, squeeze=False)
        self.axes = list(grid.flat)
        texts = (xlabel, ylabel, xlim, ylim, xscale, yscale, legend or [])
        self.config_axes: Callable[[], Any] = lambda: d2l.set_axes(self.axes[0], *texts)
        self.X: Any = None
        self.Y: Any = None
        self.fmts = fmts

    def add(self, x: Any, y: Any) -> None:
        """Add a point to each curve and draw the figure anew.

        Args:
            x: one number for all curves, or one for each.
            y: a number for each curve; a curve with None gets no point. Each may be a
                tensor with one element.
        """
        ys = _each(y)
        xs = _each(x)
        if len(xs) == 1:
            xs = xs * len(ys)
        if not self.X:
            self.X, self.Y = [[] for _ in ys], [[] for _ in ys]
        for i, point in enumerate(zip(xs, ys)):
            if None not in point:
                self.X[i].append(point[0])
                self.Y[i].append(point[1])
        axes = self.axes[0]
        axes.cla()
        for i, points in enumerate(zip(self.X, self.Y)):
            axes.plot(*points, *self.fmts[i : i + 1])
        self.config_axes()
        display = book().display
        display.display(self.fig)
        display.clear_output(wait=True)


def _each(values: Any) -> list[Any]:
    """Numbers, or None, as a list, from a tensor, an array, a sequence or a number."""
    if values is None:
        return [None]
    if hasattr(values, "reshape"):
        return to_numpy("values", values).reshape(-1).tolist()
    if hasattr(values, "__len__"):
        return [None if value is None else number(value) for value in values]
    return [values]


def corr2d(X: paddle.Tensor, K: paddle.Tensor) -> paddle.Tensor:
    """Return the cross-correlation of X with the kernel K.

    Book: (6.2.1).

    Args:
        X: tensor (height, width).
        K: tensor (h, w); of another dtype than X, it is converted.

    Returns:
        A float tensor (height - h + 1, width - w + 1).
    """
    dtype = X.dtype if X.is_floating_point() else K.dtype
    if dtype not in (paddle.float32, paddle.float64):
        dtype = paddle.float32
    X, K = X.astype(dtype), K.astype(dtype)
    h, w = K.shape
    rows, columns = X.shape[0] - h + 1, X.shape[1] - w + 1
    return sum(  # type: ignore[return-value]  # no kernel is empty
        X[i : i + rows, j : j + columns] * K[i, j] for i in range(h) for j in range(w)
    )


REPAIRS = (
    Repair(
        "Animator",
        "3.6",
        "Fails on a tensor without axes and on a grid of axes; drops the fifth curve.",
        EVERYWHERE,
        Animator,
    ),
    Repair(
        "accuracy",
        "3.6",
        "Counts in the dtype of the labels (256 right uint8 labels are 0), and "
        "compares a column of predictions with each label of a row.",
        EVERYWHERE,
        accuracy,
    ),
    Repair(
        "show_images",
        "3.5",
        "Fails on a single image and on fewer titles than images.",
        EVERYWHERE,
        show_images,
    ),
    Repair(
        "Accumulator",
        "3.6",
        "Fails on a tensor of shape (1,).",
        NUMPY_2_4,
        Accumulator,
    ),
    Repair(
        "get_fashion_mnist_labels",
        "3.5",
        "Fails on a column of labels, as the data set has them; predict_ch3 with it.",
        NUMPY_2_4,
        get_fashion_mnist_labels,
    ),
    Repair(
        "size",
        "2.1",
        "Gives a tensor of integers, by which floats cannot be divided once it went "
        "through // (Paddle makes an axis there).",
        PADDLE_3,
        size,
    ),
    Repair(
        "squared_loss",
        "3.2",
        "Fails on integer labels.",
        PADDLE_3,
        squared_loss,
    ),
    Repair(
        "corr2d",
        "6.2",
        "Fails on an integer kernel for a float image.",
        PADDLE_3,
        corr2d,
    ),
)
