"""Put what `make site` needs into .venv, unless it is there: Sphinx and two more.

requirements/site.txt has what requirements/cpu.txt lacks, so that `make run` and
`make test` do without it.
"""

import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

import extra
from steps import pip_progress

ROOT = Path(__file__).resolve().parent.parent
LOCK = "requirements/site.txt"


def absent(lock=ROOT / LOCK):
    """The pins for this machine that are not installed, as pip would write them."""
    missing = []
    for line in lock.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        pin = Requirement(line)
        if pin.marker and not pin.marker.evaluate():
            continue
        found = [d.version for d in metadata.distributions(name=pin.name)]
        if not found or not pin.specifier.contains(found[0]):
            missing.append(f"{pin.name}{pin.specifier}")
    return missing


def install(env):
    """With --no-deps: both locks together are complete."""
    progress = pip_progress(env.path, [str(ROOT / LOCK)])
    extra.install(env, "site", [["--no-deps", "-r", LOCK]], progress)


def main():
    return extra.add("site", "Sphinx", lambda path: not absent(), install)


if __name__ == "__main__":
    sys.exit(main())
