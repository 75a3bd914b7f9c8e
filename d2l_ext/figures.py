"""The book's two drawing functions: curves and heat maps.

matplotlib is imported when something is drawn. In a notebook the figures are crisp
PNG; nothing is echoed when a call is the last line of a cell.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _check
from ._paddle import paddle
from ._types import Array, Drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

FMTS = ("-", "m--", "g-.", "r:")
# Beyond the book's four formats: colours that none of those has.
MORE_COLORS = ("C1", "C9", "C5", "C7", "C8", "C6")


def plot(
    X: Drawable,
    Y: Drawable | None = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
    legend: Sequence[str] | None = None,
    xlim: Sequence[float] | None = None,
    ylim: Sequence[float] | None = None,
    xscale: str = "linear",
    yscale: str = "linear",
    fmts: Sequence[str] | None = FMTS,
    figsize: Sequence[float] = (3.5, 2.5),
    axes: Axes | None = None,
) -> Axes:
    """Draw one or more curves into a new figure.

    Book: section 2.4.

    Args:
        X, Y: the points, real numbers of any dtype. A curve is a tensor, NumPy array
            or list with one axis, or a column (n, 1); several curves are a list of
            those, or the rows of an array with two axes. One X serves all of Y. With X
            alone, its values are drawn over 0, 1, ….
        xlabel, ylabel, xlim, ylim, xscale, yscale: as matplotlib has them.
        legend: a list with a text for each curve.
        fmts: matplotlib format strings, one for each curve; further curves get
            further colours.
        figsize: width and height in inches.
        axes: matplotlib axes to clear and draw into; without it a new figure.

    Returns:
        The matplotlib axes; the figure is ``axes.figure``.

    Raises:
        TypeError: X or Y does not hold real numbers.
        ValueError: X and Y differ in the number of curves or of points, or have no
            axes or more than two.
        TypeError, ValueError: another argument is nothing that matplotlib can use.

    Examples:
        >>> x = paddle.arange(0, 3, 0.1)
        >>> axes = d2l_ext.plot(x, [x**2, 2 * x - 1], "x", legend=["f(x)", "tangent"])
        >>> len(axes.lines), axes.get_xlabel()
        (2, 'x')
    """
    curves = _pair(X, Y)
    fmts = FMTS if fmts is None else fmts
    if axes is not None and not hasattr(axes, "cla"):
        raise TypeError(f"axes must be matplotlib axes, got {type(axes).__name__}")
    with _figure(figsize) if axes is None else contextlib.nullcontext() as figure:
        if axes is None:
            axes = figure.add_subplot()  # type: ignore[union-attr]  # a figure then
        axes.cla()
        with _check.blamed_on("fmts", "a list of matplotlib's format strings", fmts):
            _draw(axes, curves, fmts)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        _scale(axes, xlim=xlim, ylim=ylim, xscale=xscale, yscale=yscale)
        if legend is not None:
            with _check.blamed_on("legend", "a list of texts", legend):
                legend = [legend] if isinstance(legend, str) else list(legend)
                if legend:
                    axes.legend(legend)
        axes.grid()
    return without_echo(axes)


def _draw(axes: Axes, curves: list[tuple[Array, ...]], fmts: Sequence[str]) -> None:
    for i, points in enumerate(curves):
        if i < len(fmts):
            axes.plot(*points, fmts[i])
        else:
            axes.plot(*points, color=MORE_COLORS[(i - len(fmts)) % len(MORE_COLORS)])


def _scale(axes: Axes, **choices: Any) -> None:
    """Set limits after scales: a logarithm takes no limit of 0."""
    for name in sorted(choices, reverse=True):
        wanted = "a pair of numbers" if "lim" in name else "a scale of matplotlib"
        with _check.blamed_on(name, wanted, choices[name]):
            axes.set(**{name: choices[name]})


def show_heatmaps(
    matrices: Drawable,
    xlabel: str,
    ylabel: str,
    titles: Sequence[str] | None = None,
    figsize: Sequence[float] = (2.5, 2.5),
    cmap: str | Colormap = "Reds",
) -> Array:
    """Draw matrices as heat maps, all on the one scale that the colour bar shows.

    Book: section 10.1.

    Args:
        matrices: tensor, array or list of real numbers of any dtype, of shape (rows,
            columns, queries, keys), a panel for each row and column; (columns,
            queries, keys) for one row of panels, or (queries, keys) for one panel.
        xlabel, ylabel: texts below the lowest and beside the leftmost panels.
        titles: a list with a text for each column, or for each panel; it may be
            shorter.
        figsize: width and height of the figure in inches.
        cmap: matplotlib colour map.

    Returns:
        The matplotlib axes, a NumPy array (rows, columns).

    Raises:
        TypeError: matrices does not hold real numbers.
        ValueError: matrices is empty or has another number of axes, or there are more
            titles than panels.
        TypeError, ValueError: titles, figsize or cmap is something else.

    Examples:
        >>> weights = paddle.eye(10).reshape([1, 1, 10, 10])
        >>> axes = d2l_ext.show_heatmaps(weights, xlabel="Keys", ylabel="Queries")
        >>> axes.shape, axes[0, 0].get_xlabel()
        ((1, 1), 'Keys')
    """
    panels = panels_of("matrices", matrices)
    rows, columns = panels.shape[:2]
    texts = titles_of(titles, rows, columns)
    with _check.blamed_on("cmap", "a colour map of matplotlib, or its name", cmap):
        cmap = _pyplot().get_cmap(cmap)
    finite = panels[np.isfinite(panels)]
    scale = (finite.min(), finite.max()) if finite.size else (0, 1)
    with _figure(figsize) as figure:
        axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for (i, j), panel in np.ndenumerate(axes):
            image = panel.imshow(panels[i, j], cmap=cmap, vmin=scale[0], vmax=scale[1])
            panel.set_title(texts[i][j])
            panel.label_outer()
            panel.set(xlabel=xlabel if i == rows - 1 else None)
            panel.set(ylabel=ylabel if j == 0 else None)
        figure.colorbar(image, ax=axes, shrink=0.6)
    return without_echo(axes)


@contextlib.contextmanager
def _figure(figsize: Sequence[float]) -> Iterator[Figure]:
    """A new figure; nothing half-drawn is left behind by an error."""
    use_crisp_png()
    with _check.blamed_on("figsize", "a width and a height in inches", figsize):
        width, height = map(float, figsize)
        if not (0 < width < math.inf and 0 < height < math.inf):
            raise ValueError
        figure = _pyplot().figure(figsize=(width, height))
    try:
        yield figure
    except BaseException:
        _pyplot().close(figure)
        raise


def _pyplot() -> ModuleType:
    from matplotlib import pyplot

    return pyplot


def use_crisp_png() -> None:
    """In a notebook, PNG with twice the pixels: sharp, and the same on every run."""
    try:
        from IPython import get_ipython
    except ModuleNotFoundError:
        return
    shell = get_ipython()
    if not hasattr(shell, "kernel"):
        return
    from matplotlib_inline import backend_inline

    shown = backend_inline.flush_figures in shell.events.callbacks["post_execute"]
    if not shown and "inline" in _pyplot().get_backend():
        # With matplotlib 3.8 it is else set up only after the first cell that draws,
        # and that cell's figure comes below the next one.
        shell.enable_matplotlib("inline")
    backend_inline.set_matplotlib_formats("retina")


def without_echo(shown: Any) -> Any:
    """Return the object so that no notebook prints it: axes, an array, a module."""
    if isinstance(shown, np.ndarray):
        return shown.view(_SilentArray)
    shown._ipython_display_ = _no_echo
    return shown


def _no_echo() -> None:
    """IPython calls this instead of printing the object that a cell ends with."""


class _SilentArray(Array):
    def _ipython_display_(self) -> None:
        _no_echo()


def to_numpy(name: str, data: Any) -> Array:
    """Return a tensor, also one with a gradient, or anything array-like as NumPy."""
    if paddle.is_tensor(data):
        data = data.detach()
        if data.dtype in (paddle.float16, paddle.bfloat16):  # NumPy has no bfloat16
            data = data.astype("float32")
        array = data.numpy()
    else:
        if isinstance(data, np.ma.MaskedArray):
            data = np.ma.filled(data.astype(float), np.nan)  # not drawn
        try:
            array = np.asarray(data)
        except ValueError:
            raise ValueError(
                f"{name} must have rows of equal length, got {_check.received(data)}"
            ) from None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got {type(data).__name__}")
    return array


def _curves(name: str, data: Any) -> list[Array]:
    """Return ``data`` as a list of arrays with one axis, one for each curve."""
    if isinstance(data, (list, tuple, range)) and any(np.ndim(d) for d in data):
        parts = [_numbers(name, part) for part in data]
    else:
        array = _numbers(name, data)
        if array.ndim not in (1, 2):
            raise ValueError(f"{name} must have 1 or 2 axes, got shape {array.shape}")
        one = array.ndim == 1 or array.shape[1] == 1  # a column is one curve, too
        parts = [array] if one else list(array)
    for part in parts:
        if part.size != max(part.shape, default=0):
            raise ValueError(
                f"a curve in {name} must have 1 axis, got shape {part.shape}"
            )
    return [part.reshape(-1) for part in parts]


def _numbers(name: str, data: Any) -> Array:
    if isinstance(data, (list, tuple)):
        data = [to_numpy(name, d) if paddle.is_tensor(d) else d for d in data]
    return to_numpy(name, data)


def _pair(X: Any, Y: Any) -> list[tuple[Array, ...]]:
    """Return a list with (x, y), or (y,) alone, for each curve."""
    if Y is None:
        return [(y,) for y in _curves("X", X)]
    X, Y = _curves("X", X), _curves("Y", Y)
    if len(X) == 1:
        X = X * len(Y)
    if len(X) != len(Y):
        raise ValueError(
            f"X must hold 1 curve or as many as Y, got {len(X)} and {len(Y)}"
        )
    for i, (x, y) in enumerate(zip(X, Y)):
        if len(x) not in (0, len(y)):
            raise ValueError(
                f"X and Y must have as many points, got {len(x)} and {len(y)} "
                f"in curve {i}"
            )
    return [(x, y) if len(x) else (y,) for x, y in zip(X, Y)]


def panels_of(name: str, matrices: Any) -> Array:
    """Return one to three axes of matrices as an array (rows, columns, …, …)."""
    array = to_numpy(name, matrices).astype(float)
    if not 2 <= array.ndim <= 4 or array.size == 0:
        raise ValueError(
            f"{name} must be of shape (rows, columns, queries, keys), "
            f"(columns, queries, keys) or (queries, keys), got {array.shape}"
        )
    return array.reshape((1,) * (4 - array.ndim) + array.shape)


def titles_of(titles: Sequence[str] | None, rows: int, columns: int) -> list[list[str]]:
    """Return a title, or "", for each panel: [row][column]."""
    if titles is None or isinstance(titles, str):
        titles = [titles or ""]
    with _check.blamed_on("titles", "a list of texts", titles):
        titles = list(titles)
    if len(titles) > rows * columns:
        raise ValueError(
            f"titles must be at most one for each of the {rows * columns} panels, "
            f"got {len(titles)}"
        )
    if len(titles) <= columns:  # one for each column, as in the book
        titles = (titles + [""] * columns)[:columns] * rows
    padded = itertools.chain(titles, itertools.repeat(""))
    return [list(itertools.islice(padded, columns)) for _ in range(rows)]
