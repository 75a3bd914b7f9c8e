"""Files beside the notebooks that take the name of a module."""

from __future__ import annotations

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, PathFinder
from pathlib import Path

from .finding import Finding, found, shown
from .packages import INSIDE, NEEDED, whole
from .probe import LOADED, Probe

SUFFIXES = sorted([*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES], key=len, reverse=True)
NAMES = {*INSIDE, *NEEDED, "torch", "ipywidgets"}


def shadows(probe: Probe, folders: list[Path]) -> list[Finding]:
    """In the notebooks' folders, and in those of PYTHONPATH: both come first."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    entries = [Path(entry).resolve() for entry in given if os.path.isdir(entry)]
    first = dict.fromkeys([*(folder.resolve() for folder in folders), *entries])
    needed = {*NAMES, *(probe[LOADED].value or [])}
    findings = []
    for folder in first:
        for name, path in sorted(_modules(folder).items()):
            kind = (
                _kind(name, path, folder, folder in entries) if name in needed else ""
            )
            findings += found(kind, path=shown(path), module=name) if kind else []
    return findings


def _modules(folder: Path) -> dict[str, Path]:
    """Names that ``import`` would find in a folder."""
    modules = {}
    for path in folder.iterdir():
        if (path / "__init__.py").is_file():
            modules[path.name] = path
        suffix = next((s for s in SUFFIXES if path.name.endswith(s)), "")
        if suffix and path.is_file():
            modules[path.name[: -len(suffix)]] = path
    return modules


def _kind(name: str, path: Path, folder: Path, from_variable: bool) -> str:
    """The finding's name, or nothing for a module that does no harm."""
    is_whole = whole(path, name)
    if name in INSIDE and is_whole and (name == "d2l_ext" or not from_variable):
        return ""  # a copy that does as well; that of d2l_ext has a check of its own
    rest = [p for p in sys.path if p and Path(p).resolve() != folder]
    elsewhere = PathFinder.find_spec(name, rest)
    if elsewhere is None or not elsewhere.has_location:
        return "shadow" if name in NAMES and not is_whole else ""
    # Who installs a package into such a folder may mean it; a file is an accident.
    return "path-entry" if from_variable and is_whole else "shadow"
