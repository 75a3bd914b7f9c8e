"""A progress bar for people who watch, of which nothing stays to be seen."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sized
from typing import Any


def progress(items: Any) -> Iterator[Any]:
    """Yield the items; in JupyterLab, with a bar that vanishes at the end.

    A notebook that is executed without a browser, as the tests do, shows nothing.

    Args:
        items: what to go through; its length is known.
    """
    bar = _bar() if _is_watched() else None
    total = len(items) if isinstance(items, Sized) else 0
    try:
        for done, item in enumerate(items):
            if bar is not None:
                bar.update(_drawn(done, total))
            yield item
    finally:
        if bar is not None:
            # The bar alone: clear_output() would wipe away what the cell has printed.
            bar.update({}, raw=True)


def _is_watched() -> bool:
    """Jupyter's server names the notebook to a kernel that it starts for a browser."""
    return "ipykernel" in sys.modules and "JPY_SESSION_NAME" in os.environ


def _drawn(done: int, total: int) -> Any:
    return _html(f"<progress value='{done}' max='{total}'></progress> {done} / {total}")


def _html(text: str) -> Any:
    from IPython.display import HTML

    return HTML(text)


def _bar() -> Any:
    from IPython.display import display

    return display(_html(""), display_id=True)
