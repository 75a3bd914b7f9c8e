"""Types of arguments that may be given in several ways, for the annotations."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import numpy.typing as npt

from ._paddle import paddle

Array = npt.NDArray[Any]

# A length for each example, or for each query of each example.
Lengths = Union[paddle.Tensor, Array, Sequence[float], Sequence[Sequence[float]]]
ValidLens = Optional[Lengths]  # without lengths, everything is valid

# What can be drawn: an array, or a list of numbers, arrays, tensors or such lists.
Drawable = Union[paddle.Tensor, Array, Sequence[Any]]
