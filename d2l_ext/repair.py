"""Repair an installed ``d2l.paddle``, so that the book's cells of chapter 10 run.

Inside d2l every function reaches the others through the module, so replacing a name
there repairs its callers as well. Each replacement below is this package's own.
"""

import copy
import importlib
import inspect
import sys
import warnings

from . import attention, figures, positional
from ._paddle import paddle

KNOWN_VERSION = "0.17.6"  # the only release with d2l.paddle


def patch_d2l():
    """Repair the installed ``d2l.paddle`` in place and return it.

    What is replaced is listed in ``REPLACEMENTS``, each with the reason. Also, d2l
    switches off all warnings of the process when it is imported: they are switched on
    again. Calling this twice is harmless.

    Returns:
        The module ``d2l.paddle``.

    Raises:
        ImportError: d2l is not installed, has no ``d2l.paddle``, or something of the
            same name hides it.
        RuntimeError: this d2l lacks what is to be replaced, or its functions take
            other arguments; nothing is changed then.
    """
    module = _import_d2l_paddle()
    _check_known(module)
    for replacement in REPLACEMENTS:
        setattr(module, replacement.__name__, replacement)
    _switch_warnings_on()
    _let_tensors_be_copied()
    return module


def sequence_mask(X, valid_len, value=0):
    """Return X with the elements from ``valid_len`` on set to ``value``.

    Book: section 9.7. Args: X, tensor (batch, n, …); valid_len, number of elements to
    keep in each row, (batch,) of any integer or float type. X is not changed, and the
    result has its dtype.
    """
    if not isinstance(valid_len, paddle.Tensor):
        valid_len = paddle.to_tensor(valid_len)
    rest = [1] * (len(X.shape) - 2)
    position = paddle.arange(X.shape[1], dtype="float64").reshape([1, -1, *rest])
    keep = position < valid_len.astype("float64").reshape([-1, 1, *rest])
    fill = paddle.full(X.shape, value, dtype=X.dtype)
    return paddle.where(keep.expand(X.shape), X, fill)


class MaskedSoftmaxCELoss(paddle.nn.CrossEntropyLoss):
    """Cross-entropy of each sequence, in which padding counts nothing.

    Book: section 9.7.
    """

    def __init__(self):
        super().__init__(reduction="none")

    def forward(self, pred, label, valid_len):
        """Return the mean loss (batch,).

        Args:
            pred: scores (batch, n, vocabulary).
            label: integers (batch, n).
            valid_len: number of real tokens in each label, (batch,).
        """
        loss = super().forward(pred, label).reshape(label.shape)
        return sequence_mask(loss, valid_len).mean(axis=1)


REPLACEMENTS = (
    # Paddle 3 compares no float32 with int64 (TypeError), and with float lengths d2l
    # writes into the caller's tensor.
    sequence_mask,
    # Paddle 3 multiplies no float32 with the int64 weights.
    MaskedSoftmaxCELoss,
    # A row of valid length 0 averages padding; -1e6 loses to scores below it.
    attention.masked_softmax,
    # Shapes that do not fit broadcast silently; weights are kept as a buffer.
    attention.AdditiveAttention,
    attention.DotProductAttention,
    attention.MultiHeadAttention,
    # Odd num_hiddens fails; max_len=1 broadcasts; the float32 table is inexact.
    positional.PositionalEncoding,
    # Draws at most four curves, into the last figure; fails on tensors with gradients.
    figures.plot,
    # One colour bar for panels that are scaled one by one; four axes only.
    figures.show_heatmaps,
)


def _import_d2l_paddle():
    try:
        d2l = importlib.import_module("d2l")
    except ModuleNotFoundError as error:
        if error.name != "d2l":
            raise
        raise ImportError(
            "d2l is not installed: pip install --no-deps d2l==" + KNOWN_VERSION
        ) from None
    try:
        return importlib.import_module("d2l.paddle")
    except ModuleNotFoundError as error:
        if error.name != "d2l.paddle":
            raise
    version = getattr(d2l, "__version__", None)
    if version is None:  # a folder or file of that name, found before the package
        where = d2l.__file__ or next(iter(d2l.__path__))
        raise ImportError(f"{where} hides the installed package d2l: rename it")
    raise ImportError(
        f"d2l {version} has no d2l.paddle: pip install --no-deps d2l=={KNOWN_VERSION}"
    )


def _check_known(module):
    """Refuse a d2l that is built otherwise; say so where only its version is new."""
    version = getattr(sys.modules["d2l"], "__version__", "of no version")
    problems = []
    for ours in REPLACEMENTS:
        theirs = getattr(module, ours.__name__, None)
        if theirs is None:
            problems.append(f"{ours.__name__} is missing")
        elif not set(_arguments(ours)) <= set(_arguments(theirs)):
            problems.append(f"{ours.__name__} takes other arguments")
    if problems:
        raise RuntimeError(
            f"d2l {version} is not the d2l {KNOWN_VERSION} that patch_d2l() knows "
            f"({'; '.join(problems)}); nothing was changed"
        )
    if version != KNOWN_VERSION:
        warnings.warn(
            f"patch_d2l() was made for d2l {KNOWN_VERSION} and found {version}: "
            "patched, but not tried",
            stacklevel=3,
        )


def _arguments(function):
    return inspect.signature(function).parameters


def _switch_warnings_on():
    """Take back d2l's ``warnings.filterwarnings("ignore")``.

    It stays where the user asked for it (``python -W ignore``). One warning stays off:
    d2l's own training loop causes it, and a reader can do nothing about it.
    """
    everything = ("ignore", None, Warning, None, 0)
    if everything in warnings.filters and "ignore" not in sys.warnoptions:
        warnings.filters.remove(everything)
    warnings.filterwarnings("ignore", message="To copy construct from a tensor")


def _let_tensors_be_copied():
    """Give tensors the ``__copy__`` that matplotlib 3.11 needs and old Paddles lack.

    The book's cells hand tensors to ``plt.plot``; before Paddle 3.3 a tensor cannot be
    copied ("cannot pickle 'Tensor' object").
    """
    try:
        copy.copy(paddle.ones([1]))
    except TypeError:
        paddle.Tensor.__copy__ = lambda tensor: tensor.clone()
