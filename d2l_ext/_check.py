"""Checks of arguments: each names the argument, what was expected and what came.

Those of tensors are kept out of ``paddle.jit.to_static``. It would turn their ifs into
operators; left alone, they check what is known when a program is built, and a size that
is not known then (-1) passes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ._paddle import paddle
from ._types import Array, Lengths

FLOATS = (paddle.float32, paddle.float64, paddle.float16, paddle.bfloat16)
INTEGERS = (paddle.uint8, paddle.int8, paddle.int16, paddle.int32, paddle.int64)


LARGEST_SIZE = 2**31 - 1  # Paddle's own limit on some of its sizes


def received(value: Any) -> str:
    """What came, in a few words: its type, and its text as far as that is short."""
    if paddle.is_tensor(value):
        return f"a tensor of shape {tuple(value.shape)}"
    text = " ".join(repr(value).split())
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


@contextlib.contextmanager
def blamed_on(name: str, expected: str, value: Any) -> Iterator[None]:
    """Say of an error inside that it comes from this argument, and what was wanted."""
    try:
        yield
    except Exception as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name} must be {expected}, got {received(value)}") from error


def positive_int(name: str, value: Any) -> int:
    """Return ``value`` as an int from 1; a tensor or array without axes will do."""
    number = value
    if hasattr(value, "numpy") and value.dtype in INTEGERS and not value.shape:
        number = value.item()
    if isinstance(number, np.ndarray) and not number.shape:
        number = number[()]
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, got {received(value)}")
    if number < 1:
        raise ValueError(f"{name} must be at least 1, got {number}")
    if number > LARGEST_SIZE:
        raise ValueError(f"{name} must be at most {LARGEST_SIZE}, got {number}")
    return int(number)


def position(name: str, value: Any) -> int:
    """Return ``value``, a position in a sequence, as an int from 0."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, got {received(value)}")
    if value < 0:
        raise ValueError(f"{name} must be at least 0, got {value}")
    return int(value)


def sizes(name: str, value: Any) -> list[int]:
    """Return ``value``, a size or a list of sizes, as a list."""
    if not isinstance(value, (list, tuple)):
        return [positive_int(name, value)]
    if not value:
        raise ValueError(f"{name} must hold at least 1 size, got {received(value)}")
    return [positive_int(name, size) for size in value]


def texts(name: str, value: Any, count: int) -> list[str]:
    """Return ``value``, a list of ``count`` texts, as a list."""
    is_list = isinstance(value, (list, tuple))
    if not is_list or not all(isinstance(text, str) for text in value):
        raise TypeError(f"{name} must be a list of texts, got {received(value)}")
    if len(value) != count:
        raise ValueError(f"{name} must hold {count} texts, got {len(value)}")
    return list(value)


def equal(name: str, value: int, to_name: str, to: int) -> None:
    """Check that two sizes, which are valid by themselves, are the same."""
    if value != to:
        raise ValueError(f"{name} must equal {to_name} ({to}), got {value}")


def probability(name: str, value: float) -> float:
    """Return ``value`` if it is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise TypeError(f"{name} must be a number from 0 to 1, got {received(value)}")
    if np.iscomplexobj(value) or not 0 <= value <= 1:  # NaN fails here as well
        raise ValueError(f"{name} must lie between 0 and 1, got {value}")
    return value


def bias(
    name: str, value: bool | paddle.ParamAttr | None
) -> bool | paddle.ParamAttr | None:
    """Return ``value`` if Paddle's linear layer takes it for its bias."""
    if value is None or isinstance(value, (bool, paddle.ParamAttr)):
        return value
    raise TypeError(
        f"{name} must be True, False, None or a paddle.ParamAttr, got {received(value)}"
    )


def divisible(name: str, value: int, by_name: str, by: int) -> None:
    """Check that ``value``, a size, splits into ``by`` equal parts."""
    if value % by:
        raise ValueError(
            f"{name} must be divisible by {by_name}, "
            f"got {name}={value} and {by_name}={by}"
        )


@paddle.jit.not_to_static
def float_tensor(
    name: str, value: paddle.Tensor, axes: Sequence[str] | None = None
) -> None:
    """Check that ``value`` is a floating point tensor with the named axes."""
    tensor(name, value, axes)
    if value.dtype not in FLOATS:
        raise TypeError(f"{name} must be of a floating point type, got {value.dtype}")


@paddle.jit.not_to_static
def tensor(name: str, value: paddle.Tensor, axes: Sequence[str] | None = None) -> None:
    """Check that ``value`` is a tensor with the named axes."""
    if not paddle.is_tensor(value):
        raise TypeError(f"{name} must be a paddle.Tensor, got {type(value).__name__}")
    if axes is not None and len(value.shape) != len(axes):
        raise ValueError(
            f"{name} must have {len(axes)} axes ({', '.join(axes)}), "
            f"got shape {tuple(value.shape)}"
        )


@paddle.jit.not_to_static
def tokens(name: str, value: paddle.Tensor, vocab_size: int) -> None:
    """Check that ``value`` holds tokens (batch, n): indices of a vocabulary.

    How large they are is looked at on the CPU alone; a GPU would have to wait.
    """
    tensor(name, value, ("batch", "n"))
    if value.dtype not in (paddle.int32, paddle.int64):
        raise TypeError(f"{name} must hold tokens, int32 or int64, got {value.dtype}")
    # Not value.place: to_static, which may run into it here, would lose its way.
    on_cpu = paddle.in_dynamic_mode() and paddle.get_device() == "cpu"
    if is_empty(value) or not on_cpu:
        return
    array = value.numpy()  # Paddle 3.2 has a remark on its own min and max
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= vocab_size:
        raise ValueError(
            f"{name} must hold tokens from 0 to vocab_size - 1 ({vocab_size - 1}), "
            f"got {low if low < 0 else high}"
        )


def same(size: int, expected: int) -> bool:
    """True where two sizes agree; one that is not known yet (-1) agrees with all."""
    return size == expected or -1 in (size, expected)


@paddle.jit.not_to_static
def axis(
    name: str,
    value: paddle.Tensor,
    index: int,
    meaning: str,
    like: paddle.Tensor,
    like_index: int,
) -> None:
    """Check that one size of ``value`` is that of ``like``, which ``meaning`` names."""
    expected = like.shape[like_index]
    if not same(value.shape[index], expected):
        raise ValueError(
            f"{name} must have {meaning} ({expected}) on axis {index}, "
            f"got {value.shape[index]} in shape {tuple(value.shape)}"
        )


@paddle.jit.not_to_static
def precision(
    name: str, value: paddle.Tensor, meaning: str, like: paddle.Tensor
) -> None:
    """Check that both are float64, or neither: Paddle multiplies no float32 with that.

    Half and single precision may meet: ``paddle.amp`` brings them together.
    """
    if (value.dtype == paddle.float64) != (like.dtype == paddle.float64):
        raise TypeError(
            f"{name} must have the dtype of {meaning}, {like.dtype}, got {value.dtype}"
        )


@paddle.jit.not_to_static
def divisible_axis(
    name: str, value: paddle.Tensor, index: int, by_name: str, by: int
) -> None:
    """Check that one size of ``value`` splits into ``by`` equal parts."""
    size = value.shape[index]
    if size != -1 and size % by:
        raise ValueError(
            f"{name} must have a multiple of {by_name} ({by}) on axis {index}, "
            f"got {size} in shape {tuple(value.shape)}"
        )


@paddle.jit.not_to_static
def ends_in(name: str, value: paddle.Tensor, meaning: str, sizes: list[int]) -> None:
    """Check the last sizes of ``value``, before which there is another axis."""
    last = tuple(value.shape)[-len(sizes) :]
    if len(value.shape) == len(sizes):
        raise ValueError(
            f"{name} must have an axis before {meaning} {sizes}, "
            f"got shape {tuple(value.shape)}"
        )
    if len(last) < len(sizes) or not all(map(same, last, sizes)):
        raise ValueError(
            f"{name} must end in {meaning} {sizes}, got shape {tuple(value.shape)}"
        )


@paddle.jit.not_to_static
def same_shape(name: str, value: paddle.Tensor, like_name: str, like: Any) -> None:
    """Check that ``value`` has the shape of ``like``."""
    shape, expected = tuple(value.shape), tuple(like.shape)
    if len(shape) != len(expected) or not all(map(same, shape, expected)):
        raise ValueError(
            f"{name} must have the shape of {like_name}, {expected}, got {shape}"
        )


@paddle.jit.not_to_static
def at_most(
    name: str, value: paddle.Tensor, index: int, limit_name: str, limit: int
) -> None:
    """Check that one size of ``value`` does not exceed a limit."""
    if value.shape[index] > limit:
        raise ValueError(
            f"{name} must have at most {limit_name} ({limit}) on axis {index}, "
            f"got {value.shape[index]} in shape {tuple(value.shape)}"
        )


@paddle.jit.not_to_static
def is_empty(*values: paddle.Tensor) -> bool:
    """True where a size is 0: there is nothing to compute, and kernels may refuse."""
    for value in values:  # any(…) takes three times as long
        if 0 in value.shape:
            return True
    return False


@paddle.jit.not_to_static
def lengths(valid_lens: Lengths, queries: paddle.Tensor) -> paddle.Tensor:
    """Return ``valid_lens`` as a tensor (batch,) or (batch, queries), int64 or float64.

    Those are the first two sizes of the tensor ``queries``. One number for a batch of
    one will do: the book encodes single sentences so.
    """
    lens = _wide("valid_lens", valid_lens)
    shape, (batch, num_queries) = tuple(lens.shape), tuple(queries.shape[:2])
    if shape in ((batch,), (batch, num_queries)):
        return lens
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
def lengths_of_rows(name: str, valid_len: Lengths, X: paddle.Tensor) -> paddle.Tensor:
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


def _wide(name: str, lens: Any) -> paddle.Tensor:
    """Lengths of any integer or float type, from a tensor, array or list, as a tensor.

    The two wide types hold every length exactly, so comparing them loses nothing.
    """
    if not paddle.is_tensor(lens):
        return paddle.to_tensor(_array_of_lengths(name, lens))
    if lens.dtype == paddle.int64:
        return lens
    if lens.dtype in INTEGERS:
        return lens.astype("int64")
    if lens.dtype in FLOATS:
        return lens.astype("float64")
    raise TypeError(f"{name} must hold numbers, got {lens.dtype}")


def _array_of_lengths(name: str, lens: Any) -> Array:
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
        f"length, got {received(lens)}"
    )
