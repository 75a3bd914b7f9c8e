"""Run the doctor of d2l_ext in .venv; where that does not work, say so and why.

Any Python can read this file, to be told that it is too old.
"""

from __future__ import print_function

import subprocess
import sys

import setup_env
from problems import Problem, check_python, version_of

DOCTOR = ["-m", "d2l_ext.doctor"]
READS = (3, 8)  # what the doctor's own code needs


def command(env):
    """What to run: in .venv where that is whole, else in the Python at hand."""
    finished = "locks" in env.made or not env.made  # made by hand, it has no stamp
    if finished and version_of(env.python):
        return [env.python] + DOCTOR
    if sys.version_info[:2] < READS:
        check_python(tuple(sys.version_info[:2]), "cpu")
    return [sys.executable] + DOCTOR + ["--before-setup"]


def main():
    try:
        found = command(setup_env.Environment(setup_env.ROOT))
    except Problem as problem:
        print("doctor: %s" % problem, file=sys.stderr)
        return 1
    return subprocess.call(found, cwd=setup_env.ROOT)


if __name__ == "__main__":
    sys.exit(main())
