"""Put reveal.js into .venv, unless it is there: `make slides` needs it.

To us, the package that has it is one of files, like that of MathJax. So it is installed
without what its Python code would need (Sphinx), and stands in a lock of its own.
"""

import argparse
import glob
import os
import re
import sys

import extra
import setup_env
from install_torch import IMPATIENT

LOCK = os.path.join("requirements", "slides.txt")


def is_there(path):
    """Whether .venv has what is pinned; pip writes RECORD when it is done."""
    lock = setup_env.read(os.path.join(setup_env.ROOT, LOCK))
    ((name, version),) = re.findall(r"^([\w-]+)==([\w.]+)$", lock, re.MULTILINE)
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    pattern = os.path.join(path, "lib", "python*", "site-packages", info, "RECORD")
    return bool(glob.glob(pattern))


def install(env):
    wanted = [["--no-deps", "-r", LOCK]]
    extra.install(env, "slides", wanted, lambda _: "fetching reveal.js", IMPATIENT)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--optional", action="store_true", help="do without it, too")
    options = parser.parse_args(arguments)
    without = "The tests of slides are skipped." if options.optional else None
    return extra.add("slides", "reveal.js", is_there, install, without)


if __name__ == "__main__":
    sys.exit(main())
