"""Run pip: its output in a log, its progress in one line, its settings in order."""

from __future__ import print_function

import ast
import glob
import io
import os
import re
import subprocess
import sys
import time

from problems import Problem, explain_output

# Where packages come from is the user's choice. Any other setting of pip (target,
# user, constraint, ...) would install something else than the lock, or elsewhere.
PIP_SETTINGS = [
    "PIP_CACHE_DIR",
    "PIP_CERT",
    "PIP_CLIENT_CERT",
    "PIP_DEFAULT_TIMEOUT",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_INDEX_URL",
    "PIP_KEYRING_PROVIDER",
    "PIP_NO_CACHE_DIR",
    "PIP_NO_INDEX",
    "PIP_PROXY",
    "PIP_RETRIES",
    "PIP_TIMEOUT",
    "PIP_TRUSTED_HOST",
    "PIP_USE_FEATURE",
]

# What asks for colours even in a file: CI services set it, and so does every kernel.
COLOURS = [
    "CLICOLOR_FORCE",
    "FORCE_COLOR",
    "PYTHON_COLORS",
    "PY_COLORS",
    "TTY_COMPATIBLE",
    "TTY_INTERACTIVE",
]


class Progress(object):
    """One line that updates itself; in a log, a plain line now and then."""

    def __init__(self):
        self.live = sys.stdout.isatty()
        self.shown, self.when = "", 0.0

    def show(self, text):
        if self.live:
            sys.stdout.write("\r\033[K" + text[:78])
        elif text != self.shown and time.time() - self.when >= 10:
            print(text)
            self.when = time.time()
        self.shown = text
        sys.stdout.flush()

    def end(self):
        sys.stdout.write("\r\033[K" if self.live else "")
        sys.stdout.flush()


def run_step(command, env, log, folder, describe):
    """Run a command in a folder; show what `describe` makes of its output so far."""
    progress = Progress()
    with io.open(log, "ab") as output:
        start = output.tell()
        process = subprocess.Popen(
            command,
            env=without_colours(os.environ if env is None else env),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        process.stdin.close()  # nobody is there to answer a question
        while process.poll() is None:
            progress.show(describe(_from(log, start)))
            time.sleep(0.1)
    finally:  # after Ctrl-C it must not go on writing behind our back
        if process.poll() is None:
            process.terminate()
            process.wait()
        progress.end()
    if process.returncode:
        text = explain_output(_from(log, start), process.returncode, folder)
        raise Problem("%s (Log: %s)" % (text, log))


def without_colours(env):
    """An environment for a program whose output is read."""
    return {name: env[name] for name in env if name not in COLOURS}


def _from(path, start):
    with io.open(path, "rb") as file:
        file.seek(start)
        return file.read().decode("utf-8", "replace")


def pip_progress(venv, lists):
    """A describer for run_step: how far pip has come with these lists."""
    pins = 0
    for path in lists:
        with io.open(path, encoding="utf-8") as file:
            pins += len(re.findall(r"^[\w.-]+==", file.read(), re.MULTILINE))
    pattern = os.path.join(venv, "lib", "python*", "site-packages", "*.dist-info")
    before = len(glob.glob(pattern))

    def describe(output):
        total = pins - len(re.findall(r"^Ignoring ", output, re.MULTILINE))
        last = output.rstrip().rpartition("\n")[2]
        if "Installing collected packages" in output:
            done = min(total, len(glob.glob(pattern)) - before)
            return "installing packages: %d of %d" % (done, total)
        if last.startswith("WARNING: Retrying"):
            return "the package index does not answer; trying again"
        names = re.findall(r"^Collecting (\S+)", output, re.MULTILINE)
        size = re.search(r"^ +Downloading .*(\([\d.]+ [MG]B\))$", last)
        if not names:
            return "asking the package index"
        big = " " + size.group(1) if size else ""
        return "fetching packages: %d of %d, %s%s" % (len(names), total, names[-1], big)

    return describe


def pip_environment(python):
    """The user's environment, less all settings of pip that PIP_SETTINGS does not name.

    They come from files and from variables. A file's setting cannot be unset from
    outside, so pip is asked for the good ones, and then told to read no file.
    """
    env = without_colours(os.environ)
    for name in list(env):
        if name.startswith(("PIP_", "PYTHON")):
            del env[name]
    # PIP_USER: a file's `user = true` would also mean `pip config --user`.
    asking = dict(env, PYTHONIOENCODING="utf-8", PIP_USER="0")
    if "PIP_CONFIG_FILE" in os.environ:
        asking["PIP_CONFIG_FILE"] = os.environ["PIP_CONFIG_FILE"]
    process = subprocess.Popen(
        [python, "-m", "pip", "config", "list"],
        env=asking,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    output = process.communicate()[0].decode("utf-8", "replace")
    if process.returncode:
        raise Problem(explain_output(output, process.returncode, os.getcwd()))
    settings = {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    # The list is sorted, so `install.` overrides `global.`, as in pip itself.
    pattern = r"^(?:global|install)\.(\S+?)=(.*)$"
    for key, value in re.findall(pattern, output, re.MULTILINE):
        name = "PIP_" + key.upper().replace("-", "_")
        if name in PIP_SETTINGS:
            settings[name] = ast.literal_eval(value)
    for name in PIP_SETTINGS:
        if name in os.environ:
            settings[name] = os.environ[name]
    return dict(env, **settings)
