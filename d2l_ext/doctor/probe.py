"""Import what a notebook imports, in a process that may crash or hang."""

from __future__ import annotations

import json
import os
import pkgutil
import signal
import subprocess
import sys
from typing import Any, NamedTuple

LIMIT = 180  # seconds; the slowest import seen took 40, from a network folder
MARK = "d2l_ext.doctor "  # begins the lines that are for us
# Read in whatever way this was imported: in the zip for students it lies in a wheel.
# (Of what lies in one, Python 3.8 and 3.9 do not know yet which package it is of.)
PACKAGE = __name__.rpartition(".")[0]
PROBED = (pkgutil.get_data(PACKAGE, "probed.py") or b"").decode("utf-8")
# In the order of notebooks: Paddle first, but what it needs before it.
STAGES = ["places", "numpy", "paddle", "d2l_ext", "matplotlib", "d2l", "kernels"]
LOADED = "loaded"
# Modules are sought as in a kernel, but not in the current folder; what this itself
# needs, not in PYTHONPATH either.
START = """
import os, sys
before, path = [*sys.modules], [p for p in sys.path if p]
mine = os.environ.get('PYTHONPATH', '').split(os.pathsep)
mine = [os.path.abspath(p) for p in mine if p]
sys.path[:] = [p for p in path if os.path.abspath(p) not in mine]
import importlib.util, json
sys.path[:] = path
code = compile(sys.argv[1], 'probed.py', 'exec')
exec(code, {'BEFORE': before, '__name__': '__main__'})
"""


class Stage(NamedTuple):
    """How one import went.

    ``error`` is empty where it went well. ``noise`` is what was printed meanwhile.
    """

    value: Any
    error: str
    noise: str


class Probe:
    """The stages by name; one that was not reached has no value and no error."""

    def __init__(self) -> None:
        self.stages: dict[str, Stage] = {}

    def __getitem__(self, name: str) -> Stage:
        return self.stages.get(name, Stage(None, "", ""))

    def value(self, name: str) -> dict[str, Any]:
        """What a stage found, or nothing where it failed."""
        return self[name].value or {}

    def place(self, package: str) -> str:
        """Where a kernel finds a package, or nothing."""
        return self.value("places").get(package, "")


def probe() -> Probe:
    """Run all stages. One that ends its process is skipped in the next process."""
    result, left = Probe(), [*STAGES, LOADED]
    while left:
        output, ending = _run(left)
        done = _parse(output)
        result.stages.update(done)
        left = left[len(done) :]
        if left:
            noise = output.rpartition(f"{MARK}begin ")[2].partition("\n")[2]
            result.stages[left.pop(0)] = Stage(None, ending, noise.strip())
    return result


def _run(stages: list[str]) -> tuple[str, str]:
    """(what was printed, how the process ended)."""
    command = [sys.executable, "-c", START, PROBED, *stages]
    environ = dict(os.environ, PYTHONIOENCODING="utf-8")
    process = subprocess.Popen(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        data = process.communicate(timeout=LIMIT)[0]
        ending = _ending(process.returncode)
    except subprocess.TimeoutExpired:
        process.kill()
        data, ending = process.communicate()[0], "timeout"
    return data.decode("utf-8", "replace"), ending


def _ending(status: int) -> str:
    try:
        return signal.Signals(-status).name
    except ValueError:
        return "SIGILL" if status & 0xFFFFFFFF == 0xC000001D else f"status {status}"


def _parse(output: str) -> dict[str, Stage]:
    stages, noise = {}, ""
    for line in output.splitlines(keepends=True):
        if line.startswith(MARK + "begin "):
            noise = ""
        elif line.startswith(MARK + "end "):
            name, value, error = json.loads(line[len(MARK) + 4 :])
            stages[name] = Stage(value, error, noise.strip())
        else:
            noise += line
    return stages
