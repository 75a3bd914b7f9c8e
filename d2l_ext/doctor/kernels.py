"""Kernels that are not this Python, and notebooks that ask for one that is missing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from .finding import Finding, found, shown
from .probe import Probe

NATIVE = "python3"  # the kernel's name in all of our notebooks
PREFIX = "import sys; print(sys.prefix)"


def native(probe: Probe) -> list[Finding]:
    """The kernel ``python3`` is to be the Python that the doctor runs in."""
    argv, folder = probe.value("kernels").get("specs", {}).get(NATIVE, [[], ""])
    # Jupyter puts its own Python in the place of a bare name.
    if not argv or re.fullmatch(r"python(3(\.\d+)?)?(\.exe)?", argv[0]):
        return []
    if _prefix(argv[0]) == os.path.realpath(sys.prefix):
        return []
    where = "sys-prefix" if _is_in(folder, sys.prefix) else "user"
    command = f"{shown(sys.executable)} -m ipykernel install --{where}"
    python = shown(argv[0]) if os.path.dirname(argv[0]) else argv[0]
    values = {"python": python, "folder": shown(folder), "command": command}
    return found("kernel-other", **values)


def _prefix(python: str) -> str:
    """The environment that an interpreter belongs to, or nothing."""
    try:
        output = subprocess.run(
            [python, "-I", "-c", PREFIX], stdout=subprocess.PIPE, timeout=30, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return os.path.realpath(output.decode("utf-8", "replace").strip())


def _is_in(path: str, folder: str) -> bool:
    return os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep)


def notebooks(probe: Probe, folders: list[Path]) -> list[Finding]:
    """What a notebook's file says of its kernel, as far as it can be read."""
    specs = probe.value("kernels").get("specs")
    findings = []
    for path in (p for folder in folders for p in sorted(folder.glob("*.ipynb"))):
        try:
            metadata = json.loads(path.read_text("utf-8"))["metadata"]
            name = (metadata.get("kernelspec") or {}).get("name", NATIVE)
            if not isinstance(name, str):
                raise TypeError(name)
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            findings += found("unreadable", path=shown(path))
            continue
        if specs and name not in specs:
            findings += found("kernel-missing", path=shown(path), kernel=name)
    return findings
