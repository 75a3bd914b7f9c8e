"""Repair an installed ``d2l.paddle``, so that the book's cells of chapter 10 run.

Inside d2l every function reaches the others through the module, so replacing a name
there repairs its callers as well. Each replacement below is this package's own.
"""

import copy
import importlib
import inspect
import sys
import warnings

from . import _check, attention, figures, positional
from ._paddle import paddle
from .figures import without_echo

KNOWN_VERSION = "0.17.6"  # the only release with d2l.paddle
EVERYTHING = ("ignore", None, Warning, None, 0)  # the filter that d2l sets
NOISE = (
    # d2l's own training loop causes it on every batch.
    "To copy construct from a tensor",
    # Paddle 3.2 says so of its own paddle.sort, paddle.max and others.
    "Non compatible API",
)
WIDER = {
    paddle.float16: paddle.float32,
    paddle.bfloat16: paddle.float32,
    paddle.int8: paddle.int32,
    paddle.uint8: paddle.int32,
    paddle.int16: paddle.int32,
    paddle.bool: paddle.int32,
}


def patch_d2l():
    """Repair the installed ``d2l.paddle`` in place and return it.

    What is replaced is listed in ``REPLACEMENTS``, each with the reason. Also, d2l
    switches off all warnings of the process when it is imported: they are switched on
    again. Calling this twice is harmless. Call it right after importing d2l: a class
    that was taken from d2l, or subclassed, before is not repaired.

    Returns:
        The module ``d2l.paddle``.

    Raises:
        ImportError: d2l is not installed, has no ``d2l.paddle``, or something of the
            same name hides it.
        RuntimeError: this d2l lacks what is to be replaced, or its functions take
            other arguments; nothing is changed then.
    """
    silent_before = "d2l.paddle" not in sys.modules and EVERYTHING in warnings.filters
    module = _import_d2l_paddle()
    if all(vars(module).get(ours.__name__) is ours for ours in REPLACEMENTS):
        return module
    _check_same_functions(module)
    for replacement in REPLACEMENTS:
        setattr(module, replacement.__name__, replacement)
    _let_tensors_be_copied()
    if not silent_before:
        _switch_warnings_on()
    _say_if_version_is_new()
    without_echo(module)  # its text is a path on this machine
    return module


def sequence_mask(X, valid_len, value=0):
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
    rest = [1] * (len(X.shape) - 2)
    position = paddle.arange(X.shape[1], dtype=lens.dtype).reshape([1, -1, *rest])
    keep = position < lens.reshape([-1, 1, *rest])
    # Not every dtype has the kernel.
    work = X.astype(WIDER.get(X.dtype, X.dtype))
    masked = paddle.where(keep, work, paddle.full([], value, work.dtype))
    return masked.astype(X.dtype)


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
        if error.name != "d2l.paddle":  # its pins cannot be met, so pip left all out
            raise ImportError(
                f"d2l needs {error.name}, which is not installed: install it with pip"
            ) from None
    version = getattr(d2l, "__version__", None)
    if version is None:  # a folder or file of that name, found before the package
        where = d2l.__file__ or next(iter(d2l.__path__))
        raise ImportError(f"{where} hides the installed package d2l: rename it")
    raise ImportError(
        f"d2l {version} has no d2l.paddle: pip install --no-deps d2l=={KNOWN_VERSION}"
    )


def _check_same_functions(module):
    """Refuse a d2l that is built otherwise."""
    problems = []
    for ours in REPLACEMENTS:
        theirs = getattr(module, ours.__name__, None)
        if theirs is None:
            problems.append(f"{ours.__name__} is missing")
        elif not set(_arguments(ours)) <= set(_arguments(theirs)):
            problems.append(f"{ours.__name__} takes other arguments")
    if problems:
        raise RuntimeError(
            f"{module.__file__} is d2l {_version()} and not the {KNOWN_VERSION} that "
            f"patch_d2l() knows ({'; '.join(problems)}); nothing was changed"
        )


def _say_if_version_is_new():
    if _version() != KNOWN_VERSION:
        warnings.warn(
            f"patch_d2l() was made for d2l {KNOWN_VERSION} and found {_version()}: "
            "patched, but not tried",
            stacklevel=3,
        )


def _version():
    return getattr(sys.modules["d2l"], "__version__", "of no version")


def _arguments(function):
    return inspect.signature(function).parameters


def _switch_warnings_on():
    """Take back d2l's ``warnings.filterwarnings("ignore")``.

    It stays where the user asked for it (``python -W ignore``), and so do the NOISE.
    """
    if EVERYTHING in warnings.filters and "ignore" not in sys.warnoptions:
        warnings.filters.remove(EVERYTHING)
    for message in NOISE:
        warnings.filterwarnings("ignore", message=message)


def _let_tensors_be_copied():
    """Give tensors the ``__copy__`` that matplotlib 3.11 needs and old Paddles lack.

    The book's cells hand tensors to ``plt.plot``; before Paddle 3.3 a tensor cannot be
    copied ("cannot pickle 'Tensor' object").
    """
    try:
        copy.copy(paddle.ones([1]))
    except TypeError:
        paddle.Tensor.__copy__ = lambda tensor: tensor.clone()
