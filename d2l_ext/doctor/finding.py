"""What a check returns, and how paths are written in it."""

from __future__ import annotations

import os
from typing import Any, NamedTuple


class Finding(NamedTuple):
    """One reason why a notebook fails: its name in SENTENCES, and what to put in."""

    name: str
    values: dict[str, Any]


def found(name: str, /, **values: Any) -> list[Finding]:
    """Return a list of one finding: checks add up such lists."""
    return [Finding(name, values)]


def shown(path: str | os.PathLike[str]) -> str:
    """A path as it can be typed: from the home folder on, if it lies there."""
    text, home = os.path.abspath(path), os.path.expanduser("~")
    if len(home) > 1 and text.startswith(home + os.sep):
        return "~" + text[len(home) :]
    return text
