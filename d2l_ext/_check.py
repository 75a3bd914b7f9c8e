"""Checks of arguments: each names the argument, what was expected and what came.

Those of tensors are kept out of ``paddle.jit.to_static``. It would turn their ifs into
operators; left alone, they check what is known when a program is built, and a size that
is not known then (-1) passes.
"""

import operator

import numpy as np

from ._paddle import paddle

FLOATS = (paddle.float16, paddle.bfloat16, paddle.float32, paddle.float64)
INTEGERS = (paddle.uint8, paddle.int8, paddle.int16, paddle.int32, paddle.int64)


def positive_int(name, value):
    """Return ``value`` as an int of at least 1."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{name} must be an integer, got {type(value).__name__} {value!r}"
        ) from None
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got bool {value!r}")
    if number < 1:
        raise ValueError(f"{name} must be at least 1, got {number}")
    return number


def probability(name, value):
    """Return ``value`` if it is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise TypeError(
            f"{name} must be a number from 0 to 1, got {type(value).__name__} {value!r}"
        )
    if not 0 <= value <= 1:  # NaN fails here as well
        raise ValueError(f"{name} must lie between 0 and 1, got {value}")
    return value


def divisible(name, value, by_name, by):
    """Check that ``value``, a size, splits into ``by`` equal parts."""
    if value != -1 and value % by:
        raise ValueError(
            f"{name} must be divisible by {by_name}, "
            f"got {name}={value} and {by_name}={by}"
        )


@paddle.jit.not_to_static
def float_tensor(name, value, axes=None):
    """Check that ``value`` is a floating point tensor with the named axes."""
    tensor(name, value, axes)
    if value.dtype not in FLOATS:
        raise TypeError(f"{name} must be of a floating point type, got {value.dtype}")


@paddle.jit.not_to_static
def tensor(name, value, axes=None):
    """Check that ``value`` is a tensor with the named axes."""
    if not paddle.is_tensor(value):
        raise TypeError(f"{name} must be a paddle.Tensor, got {type(value).__name__}")
    if axes is not None and len(value.shape) != len(axes):
        raise ValueError(
            f"{name} must have {len(axes)} axes ({', '.join(axes)}), "
            f"got shape {tuple(value.shape)}"
        )


def same(size, expected):
    """True where two sizes agree; one that is not known yet (-1) agrees with all."""
    return size == expected or -1 in (size, expected)


@paddle.jit.not_to_static
def axis(name, value, index, meaning, like, like_index):
    """Check that one size of ``value`` is that of ``like``, which ``meaning`` names."""
    expected = like.shape[like_index]
    if not same(value.shape[index], expected):
        raise ValueError(
            f"{name} must have {meaning} ({expected}) on axis {index}, "
            f"got {value.shape[index]} in shape {tuple(value.shape)}"
        )


@paddle.jit.not_to_static
def precision(name, value, meaning, like):
    """Check that both are float64, or neither: Paddle multiplies no float32 with that.

    Half and single precision may meet: ``paddle.amp`` brings them together.
    """
    if (value.dtype == paddle.float64) != (like.dtype == paddle.float64):
        raise TypeError(
            f"{name} must have the dtype of {meaning}, {like.dtype}, got {value.dtype}"
        )


@paddle.jit.not_to_static
def divisible_axis(name, value, index, by_name, by):
    """Check that one size of ``value`` splits into ``by`` equal parts."""
    divisible(name, value.shape[index], by_name, by)


@paddle.jit.not_to_static
def at_most(name, value, index, limit_name, limit):
    """Check that one size of ``value`` does not exceed a limit."""
    if value.shape[index] > limit:
        raise ValueError(
            f"{name} must have at most {limit_name} ({limit}) on axis {index}, "
            f"got {value.shape[index]} in shape {tuple(value.shape)}"
        )


@paddle.jit.not_to_static
def is_empty(*values):
    """True where a size is 0: there is nothing to compute, and kernels may refuse."""
    return any(0 in value.shape for value in values)


@paddle.jit.not_to_static
def lengths(valid_lens, queries):
    """Return ``valid_lens`` as a tensor (batch,) or (batch, queries), int64 or float64.

    Those are the first two sizes of the tensor ``queries``. One number for a batch of
    one will do: the book encodes single sentences so.
    """
    lens = _wide("valid_lens", valid_lens)
    shape, (batch, num_queries) = tuple(lens.shape), queries.shape[:2]
    if shape == () and same(batch, 1):
        return lens.reshape([1])
    fits = len(shape) in (1, 2) and all(map(same, shape, (batch, num_queries)))
    if not fits:
        raise ValueError(
            f"valid_lens must be of shape (batch,) = ({batch},) or "
            f"(batch, queries) = ({batch}, {num_queries}), got {shape}"
        )
    return lens


@paddle.jit.not_to_static
def lengths_of_rows(name, valid_len, X):
    """Return ``valid_len`` as a tensor (batch,), int64 or float64.

    One number for a batch of one will do: d2l squeezes its lengths.
    """
    lens = _wide(name, valid_len)
    batch, shape = X.shape[0], tuple(lens.shape)
    if shape == () and same(batch, 1):
        return lens.reshape([1])
    if len(shape) != 1 or not same(shape[0], batch):
        raise ValueError(f"{name} must be of shape (batch,) = ({batch},), got {shape}")
    return lens


def _wide(name, lens):
    """Lengths of any integer or float type, from a tensor, array or list, as a tensor.

    The two wide types hold every length exactly, so comparing them loses nothing.
    """
    if not paddle.is_tensor(lens):
        return paddle.to_tensor(_array_of_lengths(name, lens))
    if lens.dtype in INTEGERS:
        return lens.astype("int64")
    if lens.dtype in FLOATS:
        return lens.astype("float64")
    raise TypeError(f"{name} must hold numbers, got {lens.dtype}")


def _array_of_lengths(name, lens):
    try:
        array = np.asarray(lens)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.dtype.kind == "f":
        return array.astype("float64")
    if array.dtype.kind in "iu":
        if array.dtype == "uint64":
            array = np.minimum(array, np.uint64(2**63 - 1))
        return array.astype("int64")
    raise TypeError(
        f"{name} must be a tensor, an array or a list of numbers in rows of equal "
        f"length, got {type(lens).__name__} {lens!r}"
    )
