"""A progress bar for people who watch, of which nothing stays in the notebook."""

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
    for done, item in enumerate(items):
        if bar is not None:
            bar.update(_drawn(done, total))
        yield item
    if bar is not None:
        # Not clear_output(): it would wipe away what the cell has printed so far.
        bar.update({}, raw=True)


def _is_watched() -> bool:
    """Jupyter's server names the notebook to a kernel that it starts for a browser."""
    return "ipykernel" in sys.modules and "JPY_SESSION_NAME" in os.environ


def _drawn(done: int, total: int) -> Any:
    from IPython.display import HTML

    return HTML(f"<progress value='{done}' max='{total}'></progress> {done} / {total}")


def _bar() -> Any:
    from IPython.display import HTML, display

    return display(HTML(""), display_id=True)
