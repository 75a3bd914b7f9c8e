"""Make .venv, the environment that all make targets work in, and keep it up to date.

Only the standard library is used, here and in what is imported, and no syntax newer
than Python 2.7: whatever `python` is, it has to get far enough to say in a sentence
what is wrong with it.
"""

from __future__ import print_function

import argparse
import contextlib
import fcntl
import glob
import hashlib
import io
import json
import os
import re
import shutil
import signal
import sys

from problems import (
    Problem,
    check_python,
    check_room,
    dotted,
    explain_os_error,
    version_of,
)
from steps import pip_environment, pip_progress, run_step

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
D2L = "requirements/d2l.txt"
PADDLE = {"cpu": "paddlepaddle (CPU)", "gpu": "paddlepaddle-gpu"}
OLD_PIP, NEW_PIP = (22, 0), "pip==23.3.2"  # older: no `-e` without a setup.py


def read(path):
    with io.open(path, encoding="utf-8") as file:
        return file.read()


class Environment(object):
    """A folder like .venv, with a stamp in it that says what it was made from."""

    def __init__(self, root, folder=".venv"):
        self.root = root
        self.path = os.path.join(root, folder)
        self.python = os.path.join(self.path, "bin", "python")
        self.log = os.path.join(self.path, "setup.log")
        self.stamp = os.path.join(self.path, "made-by-make.json")
        try:
            self.made = json.loads(read(self.stamp))
        except (OSError, IOError, ValueError):
            self.made = {}

    def digest(self, *names):
        text = "".join(read(os.path.join(self.root, name)) for name in names)
        return hashlib.sha256(text.encode("utf-8")).hexdigest()

    def lock(self, flavour):
        return os.path.join("requirements", flavour + ".txt")

    def wanted(self, flavour, version):
        """Everything that decides whether .venv is up to date."""
        return {
            "flavour": flavour,
            "locks": self.digest(self.lock(flavour), D2L),
            "path": os.path.realpath(self.path),  # its scripts hold absolute paths
            "project": self.digest("pyproject.toml"),
            "python": dotted(version),
        }

    def write_stamp(self, made):
        with io.open(self.stamp, "w", encoding="utf-8") as file:
            file.write("%s\n" % json.dumps(made, indent=1, sort_keys=True))

    def clear(self):
        """Make .venv an empty folder; refused if it is not ours.

        The interpreter goes first: without it .venv is not up to date, so the next call
        goes on from wherever this one ends. The stamp stays: it says whose .venv is.
        """
        if not os.path.lexists(self.path):
            os.mkdir(self.path)
        ours = os.path.isdir(self.path) and not os.path.islink(self.path)
        names = os.listdir(self.path) if ours else []
        if not ours or (names and not os.path.exists(self.stamp)):
            raise Problem(
                "%s was not made by make. Move it elsewhere or delete it, then run "
                "make again." % self.path
            )
        if os.path.lexists(self.python):
            os.remove(self.python)
        for name in names:
            path = os.path.join(self.path, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            elif path != self.stamp:
                os.remove(path)

    def run(self, command, env, describe):
        run_step(command, env, self.log, self.root, describe)

    def build(self, base, version, flavour):
        """Make .venv from nothing with the interpreter `base`."""
        self.clear()
        # Until the last line is done it is unfinished, and the next call starts again.
        self.write_stamp({"base": base, "flavour": flavour})
        check_room(self.root, flavour)
        command = [base, "-I", "-m", "venv", self.path]
        self.run(command, os.environ, lambda _: "making .venv")
        env = pip_environment(self.python)
        pip = [self.python, "-m", "pip", "install", "--no-deps"]
        if self.pip_version() < OLD_PIP:
            self.run(pip + [NEW_PIP], env, lambda _: "getting a newer pip")
        # Without building anything: that would ask for compilers, and take an hour.
        wheels = ["--only-binary", ":all:", "-r", self.lock(flavour), "-r", D2L]
        lists = [os.path.join(self.root, name) for name in (self.lock(flavour), D2L)]
        progress = pip_progress(self.path, lists)
        self.run(pip + wheels, env, progress)
        self.install_project()
        # Matplotlib lists the fonts now, and not with a warning in a first notebook.
        command = [self.python, "-I", "-c", "import matplotlib.font_manager, paddle"]
        self.run(command, os.environ, lambda _: "trying the packages")
        self.write_stamp(dict(self.wanted(flavour, version), base=base))

    def pip_version(self):
        pattern = os.path.join(self.path, "lib", "python*", "site-packages", "pip-*")
        numbers = re.findall(r"pip-(\d+)\.(\d+)", " ".join(glob.glob(pattern)))
        return max([tuple(map(int, pair)) for pair in numbers] or [(0, 0)])

    def install_project(self):
        command = [self.python, "-m", "pip", "install", "--no-deps"]
        command += ["--no-build-isolation", "-e", "."]
        self.run(command, pip_environment(self.python), lambda _: "installing d2l_ext")


def bring_up_to_date(env, gpu, python_given):
    """Do what is missing, and return a sentence on how it stands."""
    if gpu not in ("", "0", "1"):
        raise Problem("GPU=%s: write GPU=1 for paddlepaddle-gpu, GPU=0 for CPU." % gpu)
    flavour = {"0": "cpu", "1": "gpu"}.get(gpu) or env.made.get("flavour", "cpu")
    running = tuple(sys.version_info[:2])
    # What is there stays as it is, also where `python3` means another version.
    present = version_of(env.python)
    version = running if python_given or not present else present
    made = dict(env.made)
    base = made.pop("base", None)
    wanted = env.wanted(flavour, version)
    if present == version and made == wanted:
        return ".venv is up to date: Python %s, %s." % (
            dotted(version),
            PADDLE[flavour],
        )
    if present == version and dict(made, project="") == dict(wanted, project=""):
        env.write_stamp(dict(made, project="", base=base))
        env.install_project()
        env.write_stamp(dict(wanted, base=base))
        return ".venv is up to date with pyproject.toml again."
    if python_given or not base or not version_of(base):
        base, version = sys.executable, running
    else:
        version = version_of(base)
    check_python(version, flavour)
    print(
        "Setting up .venv with Python %s and %s. This takes a few minutes, once."
        % (dotted(version), PADDLE[flavour])
    )
    sys.stdout.flush()
    env.build(base, version, flavour)
    return ".venv is ready."


@contextlib.contextmanager
def one_at_a_time(path):
    """Two calls at once, from two terminals, would spoil each other's work."""
    with io.open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", default="", help="1, 0, or nothing: as before")
    parser.add_argument("--python-given", action="store_true", help="not the default")
    parser.add_argument("--quiet", action="store_true", help="say only what is done")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with one_at_a_time(os.path.join(ROOT, "pyproject.toml")):
            env = Environment(ROOT)
            was = dict(env.made)
            text = bring_up_to_date(env, options.gpu, options.python_given)
        if not options.quiet or env.made != was:
            print(text)
        return 0
    except KeyboardInterrupt:
        print("\nInterrupted. Run make again, and it starts over.", file=sys.stderr)
        return 130
    except Problem as problem:
        text = str(problem)
    except (IOError, OSError) as error:
        text = explain_os_error(error, ROOT)
    print("setup: " + text, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
