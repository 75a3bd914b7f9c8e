"""Types of arguments that may be given in several ways, for the annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

import numpy as np

from ._paddle import paddle

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]
else:  # NumPy before 1.22 and Python 3.8 know no other
    Array = np.ndarray

# A length for each example, or for each query of each example.
Lengths = Union[paddle.Tensor, Array, Sequence[float], Sequence[Sequence[float]]]
ValidLens = Optional[Lengths]  # without lengths, everything is valid

# What can be drawn: an array, or a list of numbers, arrays, tensors or such lists.
Drawable = Union[paddle.Tensor, Array, Sequence[Any]]
