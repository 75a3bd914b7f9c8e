"""Packages that are missing, there twice, or of versions that do not go together."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from importlib import metadata
from pathlib import Path

from .finding import Finding, found, shown
from .probe import Probe

D2L = "0.17.6"  # the only release with d2l.paddle
PADDLE = "paddlepaddle>=2.6.2,<3.4"
# What the notebooks, d2l and Jupyter import, and what pip calls it.
NEEDED = {
    "numpy": "numpy",
    "matplotlib": "matplotlib",
    "matplotlib_inline": "matplotlib-inline",
    "pandas": "pandas",
    "requests": "requests",
    "PIL": "pillow",
    "IPython": "ipython",
    "ipykernel": "ipykernel",
}
# A file or folder in each by which the real package is known.
INSIDE = {"paddle": "nn", "d2l": "paddle.py", "d2l_ext": "attention.py"}


def version(distribution: str) -> str:
    """What is installed, or nothing."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def numbers(text: str) -> tuple[int, ...]:
    """A version to be compared."""
    return tuple(map(int, re.findall(r"\d+", text)[:2]))


def whole(folder: str | os.PathLike[str], name: str) -> bool:
    """Whether a folder is the package itself, and no other of its name."""
    return os.path.exists(os.path.join(folder, INSIDE.get(name, "__init__.py")))


def missing(probe: Probe, folders: list[Path]) -> list[Finding]:
    """What notebooks cannot do without; a copy beside them will do."""

    def lacks(name: str) -> bool:
        return not probe.place(name) and not any(whole(f / name, name) for f in folders)

    findings = found("no-paddle", package=PADDLE) if lacks("paddle") else []
    if not all(map(brings_packages, folders)):
        findings += found("no-d2l-ext") if lacks("d2l_ext") else []
        findings += found("no-d2l", version=D2L) if lacks("d2l") else []
    absent = [pip for name, pip in NEEDED.items() if not probe.place(name)]
    if absent:
        findings += found("missing", names=" ".join(absent))
    return findings


def brings_packages(folder: Path) -> bool:
    """Whether it is of the zip of ``make aistudio``, whose first cell finds them."""
    both = (folder, folder.parent)  # that of the English edition has none of its own
    return any((place / "packages" / "bundle_start.py").exists() for place in both)


def optional(probe: Probe) -> list[Finding]:
    """What some cells would use."""
    findings = [] if probe.place("ipywidgets") else found("no-widgets")
    return findings + ([] if probe.place("torch") else found("no-torch"))


def paddles() -> list[Finding]:
    """Two builds of Paddle write over each other's files."""
    builds = _builds()
    return found("two-paddles", names=" ".join(builds)) if len(builds) > 1 else []


def _builds() -> list[str]:
    names = {
        name.lower().replace("_", "-")
        for name in (d.metadata["Name"] for d in metadata.distributions())
        if name
    }
    return sorted(name for name in names if re.fullmatch("paddlepaddle(-.*)?", name))


def d2l_without_paddle(probe: Probe) -> list[Finding]:
    """Releases 1.0 of d2l have no Paddle edition."""
    place = probe.place("d2l")
    if place and not whole(place, "d2l"):
        found_version = version("d2l") or "?"
        return found("d2l-version", place=shown(place), old=found_version, new=D2L)
    return []


def versions(probe: Probe) -> list[Finding]:
    """Pairs that may work, and are not tried."""
    paddle = probe.value("paddle").get("version", "")
    numpy = probe.value("numpy").get("version", "")
    if not paddle:
        return []
    if numbers(paddle) < (3, 0) and numbers(numpy) >= (2, 0):
        return found("numpy-for-paddle", paddle=paddle, numpy=numpy)
    if not (2, 6) <= numbers(paddle) < (3, 4) and numbers(paddle) != (0, 0):
        # Another build beside it would write over its files.
        old = " ".join(_builds()) or "paddlepaddle"
        return found("paddle-untried", paddle=paddle, package=PADDLE, old=old)
    return []


def copies(probe: Probe, folders: list[Path]) -> list[Finding]:
    """An installed d2l_ext that is not the one that came with the notebooks."""
    installed = probe.place("d2l_ext")
    if not installed:
        return []
    for folder in (place / "d2l_ext" for f in folders for place in (f, f.parent)):
        if whole(folder, "d2l_ext") and _files(folder) != _files(Path(installed)):
            return found("other-copy", used=shown(installed), here=shown(folder))
    return []


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*.py")
    }


def no_pip() -> list[Finding]:
    """Environments that uv makes have none, and the sentences call it."""
    if importlib.util.find_spec("pip") is None:
        return found("no-pip", python=shown(sys.executable))
    return []


def pip() -> str:
    """The command that installs into this Python."""
    return f"{shown(sys.executable)} -m pip"
