"""What a repair is, and where one is needed."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Callable, NamedTuple

import numpy as np

from .._paddle import paddle


class Where(NamedTuple):
    """Where something is broken: in words, and whether that is so here."""

    text: str
    here: bool


class Repair(NamedTuple):
    """One fault of d2l.

    Attributes:
        name: what is repaired: a name of ``d2l.paddle`` if there is a replacement.
        section: the book's section that defines it.
        wrong: what was wrong, in a sentence.
        where: on which versions.
        replacement: the function or class that takes the place of d2l's.
        apply: called with the module, where replacing a name is not enough.
    """

    name: str
    section: str
    wrong: str
    where: Where
    replacement: Any = None
    apply: Callable[[Any], None] | None = None


def _version(module: ModuleType) -> tuple[int, ...]:
    """Major and minor version; a build of the day ("0.0.0") counts as the newest."""
    numbers = module.__version__.split(".")
    version = tuple(int("".join(c for c in n if c.isdigit()) or 0) for n in numbers[:2])
    return version if version > (0, 0) else (99, 0)


PADDLE, NUMPY = _version(paddle), _version(np)
EVERYWHERE = Where("all", True)
PADDLE_2 = Where("Paddle 2.6", PADDLE < (3, 0))
PADDLE_3 = Where("Paddle 3", PADDLE >= (3, 0))
NOT_PADDLE_3_0 = Where("Paddle 2.6, and from 3.1", PADDLE[:2] != (3, 0))
NUMPY_2_4 = Where("NumPy from 2.4", NUMPY >= (2, 4))


def book() -> Any:
    """The module d2l.paddle: what it calls itself ``d2l``, with all repairs."""
    return sys.modules["d2l.paddle"]


def number(value: Any) -> float:
    """The one number in a tensor or array of any shape, or a number, as a float.

    NumPy 2.4 and later turn no array with axes into a number by itself.
    """
    return float(value.item() if hasattr(value, "item") else value)
