"""Weights to and from the namesakes of the layers in the book's PyTorch edition.

Both keep the same numbers under almost the same names. What differs:

- the weight of a linear layer is (out, in) in PyTorch, and (in, out) in Paddle;
- a layer normalization over several axes keeps their shape in PyTorch, and is flat in
  Paddle;
- Paddle lists the weights of a recurrent layer twice, also as those of its cells;
- the blocks of the Transformer are "blks.block0", … there, and "blks.0", … here.

Gates of GRU and LSTM lie in the same order, with two biases each. PyTorch is imported
when it is asked for something, and not to read NumPy arrays.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from . import _check
from ._paddle import paddle

NO_TORCH = (
    "to_torch() needs PyTorch, which is not installed. The build for the CPU will do: "
    "pip install torch --index-url https://download.pytorch.org/whl/cpu "
    "(in the project's folder: make torch)"
)


class Entry(NamedTuple):
    """One tensor of a layer, and how it lies in PyTorch."""

    tensor: paddle.Tensor
    shape: tuple[int, ...]
    transposed: bool


def to_torch(layer: paddle.nn.Layer) -> dict[str, Any]:
    """Return copies of all weights as PyTorch's tensors on the CPU, by its names."""
    try:
        torch = import_module("torch")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(NO_TORCH, name="torch") from None
    return {key: _to_tensor(torch, entry) for key, entry in _entries(layer).items()}


def from_torch(layer: paddle.nn.Layer, state_dict: Mapping[str, Any]) -> None:
    """Set all weights to those of a state dict, or, if it does not fit, none."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(
            "state_dict must be a dict of PyTorch tensors or NumPy arrays by name, "
            f"got {_check.received(state_dict)}"
        )
    arrays = {key: _to_array(key, value) for key, value in state_dict.items()}
    entries = _entries(layer)
    _check_fits(layer, entries, arrays)
    new = [_to_paddle(entry, arrays[key]) for key, entry in entries.items()]
    for entry, value in zip(entries.values(), new):
        entry.tensor.set_value(value)


def _entries(layer: paddle.nn.Layer) -> dict[str, Entry]:
    """What PyTorch saves of such a layer, by its names."""
    found = _saved(layer)
    return {re.sub(r"\bblks\.(?=\d)", "blks.block", key): entry for key, entry in found}


def _saved(layer: Any, prefix: str = "") -> Iterator[tuple[str, Entry]]:
    """Parameters and saved buffers, by Paddle's names.

    Not by Layer.named_parameters(), where a tensor with two names has one only.
    """
    hidden = layer._non_persistable_buffer_names_set
    for name, tensor in [*layer._parameters.items(), *layer._buffers.items()]:
        if tensor is not None and name not in hidden:
            yield prefix + name, _entry(layer, name, tensor)
    if isinstance(layer, paddle.nn.layer.rnn.RNNBase):
        return  # its cells hold the same tensors once more
    for name, sublayer in layer._sub_layers.items():
        if sublayer is not None:
            yield from _saved(sublayer, f"{prefix}{name}.")


def _entry(owner: Any, name: str, tensor: paddle.Tensor) -> Entry:
    shape = tuple(tensor.shape)
    if isinstance(owner, paddle.nn.Linear) and name == "weight":
        return Entry(tensor, shape[::-1], True)
    if isinstance(owner, paddle.nn.LayerNorm):
        shape = tuple(owner._normalized_shape)
    return Entry(tensor, shape, False)


def _to_tensor(torch: Any, entry: Entry) -> Any:
    tensor = entry.tensor
    half = tensor.dtype == paddle.bfloat16  # NumPy has no such type
    array = (tensor.astype("float32") if half else tensor).numpy()
    array = (array.T if entry.transposed else array).reshape(entry.shape)
    found = torch.from_numpy(array.copy())  # on the CPU, whatever the default device
    return found.to(torch.bfloat16) if half else found


def _to_array(key: object, value: Any) -> Any:
    """The numbers as an array of a type that Paddle knows and that holds them."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        with _check.blamed_on(_named(key), "a tensor that holds numbers", value):
            short = value.is_floating_point() and value.element_size() < 4
            value = (value.float() if short else value).numpy(force=True)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu":
        raise TypeError(
            f"{_named(key)} must be a PyTorch tensor or a NumPy array of real numbers, "
            f"got {_received(value)}"
        )
    # Not by dtype.name, which arrays of the other byte order have, too.
    return value if value.dtype in (np.float32, np.float64) else value.astype(float)


def _named(key: object) -> str:
    return f"state_dict[{key!r}]"


def _received(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    hint = " of Paddle (set_state_dict() is for those)"
    return _check.received(value) + (hint if paddle.is_tensor(value) else "")


def _check_fits(
    layer: paddle.nn.Layer, entries: dict[str, Entry], arrays: dict[str, Any]
) -> None:
    """Name everything that is missing, that is too much, and of another shape."""
    shapes = [
        f"{key} {entry.shape}, got {arrays[key].shape}"
        for key, entry in entries.items()
        if key in arrays and arrays[key].shape != entry.shape
    ]
    found = {
        "missing": [key for key in entries if key not in arrays],
        "unexpected": [str(key) for key in arrays if key not in entries],
        "of another shape (as in PyTorch)": shapes,
    }
    texts = [f"{what}: {', '.join(keys)}" for what, keys in found.items() if keys]
    if texts:
        name = type(layer).__name__
        raise ValueError(f"state_dict must fit the {name}; {'; '.join(texts)}")


def _to_paddle(entry: Entry, array: Any) -> paddle.Tensor:
    """The numbers in the layer's dtype and order."""
    array = (array.T if entry.transposed else array).reshape(entry.tensor.shape)
    return paddle.to_tensor(np.ascontiguousarray(array)).astype(entry.tensor.dtype)
