"""What importing d2l does to the whole process, and what Paddle's tensors lack."""

from __future__ import annotations

import copy
import sys
import warnings
from typing import Any

from .._paddle import paddle
from ._table import EVERYWHERE, PADDLE, Repair, Where

EVERYTHING = ("ignore", None, Warning, None, 0)  # the filter that d2l sets
NOISE = (
    # d2l's own training loop causes it on every batch.
    "To copy construct from a tensor",
    # Paddle 3.2 says so of its own paddle.sort, paddle.max and others.
    r"\s*Non compatible API",
)


def switch_warnings_on() -> None:
    """Take back d2l's ``warnings.filterwarnings("ignore")``.

    It stays where the user asked for it (``python -W ignore``), and so do the NOISE.
    """
    if EVERYTHING in warnings.filters and "ignore" not in sys.warnoptions:
        warnings.filters.remove(EVERYTHING)  # type: ignore[attr-defined]
    for message in NOISE:
        warnings.filterwarnings("ignore", message=message)


def _let_tensors_be_copied(module: Any) -> None:
    """Give tensors the ``__copy__`` that matplotlib 3.11 needs and old Paddles lack.

    The book's cells hand tensors to ``plt.plot``; before Paddle 3.3 a tensor cannot be
    copied ("cannot pickle 'Tensor' object").
    """
    try:
        copy.copy(paddle.ones([1]))
    except TypeError:
        paddle.Tensor.__copy__ = lambda tensor: tensor.clone()  # type: ignore[attr-defined]


REPAIRS = (
    Repair(
        "warnings",
        "(import)",
        "Importing d2l switches off all warnings of the process.",
        EVERYWHERE,  # by patch_d2l() itself: it knows what was set before the import
    ),
    Repair(
        "random",
        "(import)",
        "Importing d2l draws from the random numbers of the process, so that a seed "
        "set before does not give the same numbers; repaired where patch_d2l() does "
        "the import.",
        EVERYWHERE,  # likewise
    ),
    Repair(
        "copy.copy(tensor)",
        "(plots)",
        "matplotlib 3.11 copies what it draws, and a tensor cannot be copied.",
        Where("Paddle before 3.3", PADDLE < (3, 3)),
        apply=_let_tensors_be_copied,
    ),
)
