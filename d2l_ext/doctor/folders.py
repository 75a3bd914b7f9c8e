"""Folders that Jupyter, IPython and notebooks write into."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .finding import Finding, found, shown


def temporary() -> list[Finding]:
    """No folder for temporary files: hardly anything starts."""
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        return found("temporary")
    return []


def home() -> list[Finding]:
    """No home folder, of a user whom the system does not know: Jupyter fails."""
    return [] if os.path.isabs(os.path.expanduser("~")) else found("no-home")


def runtime(folder: str) -> list[Finding]:
    """Where Jupyter writes how to reach a kernel: without it none starts."""
    return (
        [] if not folder or writable(folder) else found("runtime", folder=shown(folder))
    )


def ipython() -> list[Finding]:
    """IPython's own folder: without it, each notebook begins with a warning."""
    folder = os.path.expanduser(os.environ.get("IPYTHONDIR") or "~/.ipython")
    if folder.startswith("~"):
        return []  # of a home that is not there
    return [] if writable(folder) else found("ipython", folder=shown(folder))


def notebooks(folders: list[Path]) -> list[Finding]:
    """Where the notebooks are: without it they run, and cannot be saved."""
    return [
        finding
        for folder in folders
        if not writable(folder)
        for finding in found("read-only", folder=shown(folder))
    ]


def writable(folder: str | os.PathLike[str]) -> bool:
    """Whether a file can be made there, or the folder itself where it is missing."""
    path = Path(folder).expanduser()
    while not path.exists() and path != path.parent:
        path = path.parent
    try:
        with tempfile.TemporaryFile(dir=path):
            return True
    except OSError:  # also where a part of the path is a file
        return False
