"""Put the CPU build of PyTorch into .venv, unless one is there: `make torch`.

It is in no lock: only tests and a notebook that compare with it need it. On Linux the
package index has builds that bring gigabytes for GPUs, so there only a build whose
version says "+cpu" is asked for: first where pip looks anyway, then in PyTorch's index.
"""

import argparse
import glob
import os
import sys

import extra

VERSION, LAST_FOR_3_9 = "2.13.0", "2.8.0"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# Where it cannot be had, `make test` should not wait long to go on without it.
IMPATIENT = ["--retries", "1", "--timeout", "15"]


def version(python):
    return LAST_FOR_3_9 if python < (3, 10) else VERSION


def attempts(platform, python):
    """What pip is asked for, one after the other."""
    wanted = "torch==" + version(python)
    if not platform.startswith("linux"):
        return [[wanted]]  # these builds are for the CPU
    cpu = wanted + "+cpu"
    return [[cpu], [cpu, "--extra-index-url", CPU_INDEX]]


def is_there(path):
    """Whether an environment has PyTorch; pip writes RECORD when it is done."""
    site = os.path.join(path, "lib", "python*", "site-packages")
    return bool(glob.glob(os.path.join(site, "torch-*.dist-info", "RECORD")))


def install(env):
    """Try all, and raise the Problem of the last if none succeeds."""
    wanted = attempts(sys.platform, sys.version_info[:2])
    extra.install(env, "torch", wanted, progress, IMPATIENT)


def progress(output):
    if "Installing collected packages" in output:
        return "installing PyTorch"
    return "fetching PyTorch (CPU)"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--optional", action="store_true", help="do without it, too")
    options = parser.parse_args(arguments)
    title = f"PyTorch {version(sys.version_info[:2])} (CPU)"
    without = "What compares with it is skipped." if options.optional else None
    return extra.add("torch", title, is_there, install, without)


if __name__ == "__main__":
    sys.exit(main())
