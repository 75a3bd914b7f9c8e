"""Run the tests and the notebook gate on many versions: `make test-matrix`.

Each row of the table gets an environment of its own in build/matrix/, with what pip
finds for it; the pins in requirements/ are what `make test` is for. What cannot be had
on this machine is named as not run, and does not count as passed.
"""

import argparse
import collections
import glob
import os
import re
import signal
import sys

import problems
import setup_env
from problems import Problem, check_room, explain_os_error, version_of
from setup_env import D2L, read
from steps import pip_environment, run_step

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
Row = collections.namedtuple("Row", "python paddle numpy matplotlib")
Result = collections.namedtuple("Result", "state text versions")
NEWEST = ""  # whatever pip takes if it may choose
GPU_BUILD = " (GPU build)"
GPU = "2.6.2" + GPU_BUILD

# All pairs of a Python and a Paddle are 29, times NumPy and matplotlib. What broke so
# far was Paddle with NumPy, Paddle with matplotlib, or a library on one Python. So:
# each Python with two or three Paddles, each Paddle on two Pythons or more; 3.1 to 3.3
# with the oldest libraries and with the newest; 2.6, which needs NumPy 1, with the
# oldest matplotlib and the newest; the GPU build on the Python of environment.yml.
# Python 3.13 has no Paddle 2.6, and the table says so. The first row and the last are
# the corners.
GRID = [
    Row("3.9", "2.6.2", "1.26", "3.8"),
    Row("3.9", "3.0", NEWEST, NEWEST),
    Row("3.9", "3.3", "1.26", "3.8"),
    Row("3.10", "2.6.2", "1.26", NEWEST),
    Row("3.10", "3.1", "1.26", "3.8"),
    Row("3.10", "3.2", NEWEST, NEWEST),
    Row("3.11", "2.6.2", "1.26", NEWEST),
    Row("3.11", GPU, "1.26", NEWEST),
    Row("3.11", "3.3", NEWEST, NEWEST),
    Row("3.12", "3.1", NEWEST, NEWEST),
    Row("3.12", "3.2", "1.26", "3.8"),
    Row("3.13", "2.6.2", NEWEST, NEWEST),
    Row("3.13", "3.0", NEWEST, NEWEST),
    Row("3.13", "3.3", NEWEST, NEWEST),
]

# They test the lists of versions, the texts, make's own .venv, and how the code is
# written, which are the same on every row. All other files run, also those to come.
LEFT_OUT = ["book_pdf", "dependencies", "english", "install_reveal", "install_site"]
LEFT_OUT += ["install_torch", "matrix", "nbgrader", "readme", "setup_env", "site"]
LEFT_OUT += ["slides", "student", "style", "workflow"]

# The code of notebooks/, with the same outputs: tests/test_english.py compares them. To
# run it twice on every row would only take twice as long.
TRANSLATED = "notebooks/en"

# Where Python's programs keep what they remember: here, as the Makefile has it.
STATE = {
    "IPYTHONDIR": "ipython",
    "JUPYTER_RUNTIME_DIR": "jupyter",
    "MPLCONFIGDIR": "matplotlib",
}


def find_python(version):
    """The path of an interpreter that runs, or None: a shim of pyenv may well not."""
    name, wanted = "python" + version, tuple(map(int, version.split(".")))
    folders = os.environ.get("PATH", "").split(os.pathsep)
    roots = [os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")]
    # Wherever its shims are, if the home is another's.
    roots += [os.path.dirname(f) for f in folders if os.path.basename(f) == "shims"]
    within = os.path.join("versions", version + ".*", "bin")
    found = {path for root in roots for path in glob.glob(os.path.join(root, within))}
    for folder in folders + sorted(found, key=numbers, reverse=True):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and version_of(path) == wanted:
            return path
    return None


def numbers(text):
    return [int(part) for part in re.findall(r"\d+", text)]


class Environment(setup_env.Environment):
    """One row's environment, made as .venv is, but with a choice of versions."""

    FOLDER = "matrix"

    def __init__(self, root, row):
        gpu = row.paddle.endswith(GPU_BUILD)
        paddle = "gpu" if gpu else row.paddle
        words = ["python" + row.python, "paddle" + paddle]
        words += ["numpy" + row.numpy] * bool(row.numpy)
        words += ["matplotlib" + row.matplotlib] * bool(row.matplotlib)
        folder = os.path.join("build", self.FOLDER, "-".join(words))
        super().__init__(root, folder)
        self.row = row
        self.flavour = "gpu" if gpu else "cpu"

    def requirements(self):
        """What pip is asked for. The extra names the Paddle, the row its version."""
        needs = ["-e", f".[{self.flavour},notebooks,test]"]
        if self.flavour == "cpu":
            needs.append("paddlepaddle==" + to_the_patch(self.row.paddle))
        return needs + list(self.older())

    def older(self):
        """The libraries of which the row wants another release than the newest."""
        for name in "numpy", "matplotlib":
            version = getattr(self.row, name)
            if version:
                yield f"{name}=={to_the_patch(version)}"

    def installs(self):
        """One pip after the other."""
        # The one that comes with Python can take an hour to find versions that agree.
        yield ["--upgrade", "pip"], "getting a newer pip"
        yield self.requirements(), "installing packages"
        yield ["--no-deps", "-r", D2L], "installing d2l"

    def inputs(self, base):
        return {
            "base": os.path.realpath(base),
            "path": os.path.realpath(self.path),
            "project": self.digest("pyproject.toml", D2L),
            "requirements": self.requirements(),
        }

    def bring_up_to_date(self, base):
        """Make it from nothing, unless it was made from the same."""
        wanted = self.inputs(base)
        if self.made == wanted and version_of(self.python):
            return
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self.clear()
        self.write_stamp({})  # until the end it is unfinished
        check_room(self.root, self.flavour)
        venv = [base, "-I", "-m", "venv", self.path]
        self.run(venv, os.environ, lambda _: "making the environment")
        env = pip_environment(self.python)
        # What is never imported need not be compiled: that takes longer than the rest.
        pip = [self.python, "-m", "pip", "install", "--no-compile"]
        pip += ["--only-binary", ":all:"]
        for wants, doing in self.installs():
            self.run(pip + wants, env, lambda output, d=doing: pip_progress(output, d))
        self.write_stamp(wanted)

    def versions(self):
        """The row with the versions that are installed, where there are any."""
        names = {"paddle": "paddlepaddle", "numpy": "numpy", "matplotlib": "matplotlib"}
        site = os.path.join(self.path, "lib", "python*", "site-packages")
        found = {}
        for field, name in names.items():
            for path in glob.glob(os.path.join(site, name + "-[0-9]*.dist-info")):
                found[field] = re.search(r"-([^-]+)\.dist-info$", path).group(1)
        return self.row._replace(**found)

    def test(self, options):
        """Run pytest, and return (state, text)."""
        log = os.path.join(self.path, "test.log")
        if os.path.exists(log):
            os.remove(log)
        env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        for variable, folder in STATE.items():
            env[variable] = os.path.join(self.path, "var", folder)
        command = [self.python, "-m", "pytest", "-p", "no:cacheprovider", *options]
        command += [f"--ignore=tests/test_{name}.py" for name in LEFT_OUT]
        command.append(f"--ignore={TRANSLATED}")
        try:
            run_step(command, env, log, self.root, pytest_progress)
        except Problem:
            return verdict(False, read(log))
        return verdict(True, read(log))


def to_the_patch(version):
    """2.6.2 is meant to the letter, 3.1 is its newest patch."""
    return version if version.count(".") > 1 else version + ".*"


def pip_progress(output, doing):
    count = len(re.findall("^Collecting ", output, re.MULTILINE))
    return f"{doing}: {count}"


def pytest_progress(output):
    return "testing " + (re.findall(r"\[ *\d+%\]", output) or [""])[-1]


def verdict(passed, output):
    """(state, text) from what pytest printed."""
    summary = re.findall(r"^=* ?(\d+ \w+.*) in ([\d.]+)s\b.*$", output, re.MULTILINE)
    if passed and summary:
        counts = re.sub(r", \d+ warnings?", "", summary[-1][0])
        return "passed", f"{counts} in {float(summary[-1][1]):.0f} s"
    first = re.search(r"^(?:FAILED|ERROR) .+$", output, re.MULTILINE)
    last = (output.strip().splitlines() or ["pytest said nothing"])[-1]
    return "failed", first.group() if first else "failed: " + last


def run_row(env, options):
    row = env.row
    base = find_python(row.python)
    if not base:
        text = f"not run: no python{row.python} on this machine"
        return Result("not run", text, row)
    try:
        env.bring_up_to_date(base)
    except OSError as error:
        return Result("failed", "failed: " + explain_os_error(error, ROOT), row)
    except Problem as problem:
        # Only this: an index that cannot be reached, or a conflict, is a failure.
        no_wheel = problems.NO_WHEEL_FOR % "paddlepaddle"
        if str(problem).startswith(no_wheel):
            return Result("not run", "not run: no wheel", row)
        return Result("failed", f"failed: {problem}", row)
    return Result(*env.test(options), env.versions())


def table(results):
    """The lines of a Markdown table, which is also what is printed."""
    head = ("Python", "Paddle", "NumPy", "matplotlib", "result")
    lines = [head, tuple(":--" for _ in head)]
    for result in results:
        text = result.text.replace("|", r"\|")
        if len(text) > 120:
            text = text[:117] + "..."
        lines.append((*(v or "newest" for v in result.versions), text))
    widths = [max(len(line[i]) for line in lines) for i in range(len(head) - 1)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths)]
        yield f"| {' | '.join([*cells, line[-1]])} |"


def run_grid(environments, options):
    """All results, also after an interrupt, and whether there was one."""
    results = []
    for number, env in enumerate(environments, 1):
        try:
            result = run_row(env, options)
        except KeyboardInterrupt:
            rest = [env.row for env in environments[number - 1 :]]
            text = "not run: interrupted"
            return results + [Result("not run", text, row) for row in rest], True
        print(f"{number:2} of {len(environments)}: {describe(result)}", flush=True)
        results.append(result)
    return results, False


def describe(result):
    python, paddle = result.versions[:2]
    return f"Python {python}, Paddle {paddle}: {result.text}"


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="Any other option is one of pytest."
    )
    parser.add_argument("--corners", default="", help="1: only the two extreme rows")
    chosen, options = parser.parse_known_args(arguments)
    if chosen.corners not in ("", "0", "1"):
        text = f"CORNERS={chosen.corners}: write CORNERS=1 for the two corners only."
        print("test-matrix: " + text, file=sys.stderr)
        return 2
    rows = [GRID[0], GRID[-1]] if chosen.corners == "1" else GRID
    return run_all("test-matrix", [Environment(ROOT, row) for row in rows], options)


def run_all(name, environments, options):
    """Run all, print the table, keep it in build/, and return an exit status."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        # Not by the file that `make setup` locks: it need not wait for an hour.
        with setup_env.one_at_a_time(os.path.join(ROOT, D2L)):
            results, interrupted = run_grid(environments, options)
            lines = list(table(results))
            path = os.path.join(ROOT, "build", name + ".md")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join([*lines, ""]))
    except OSError as error:
        print(f"{name}: {explain_os_error(error, ROOT)}", file=sys.stderr)
        return 1
    print("\n" + "\n".join(lines) + "\n")
    count = collections.Counter(result.state for result in results)
    # CI looks for this line, which pytest's summary looks like.
    last = f"{count['passed']} passed, {count['failed']} failed"
    print(last + (f", {count['not run']} not run" if count["not run"] else ""))
    if interrupted:
        return 130
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
