"""`make test-matrix`: what it says of its rows, and what it makes anew.

Nothing is installed: where pip and pytest would run, a stand-in writes down how it was
called, and prints and ends as the test says.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import problems
import setup_env
import test_matrix as matrix

ROOT = Path(__file__).resolve().parent.parent
PASSED = (
    "...\n======== 602 passed, 3 skipped, 2 warnings in 60.12s (0:01:00) ========\n"
)
FAILED = (
    "FAILED tests/test_a.py::test_b[1|2] - assert 1 == 2\nERROR tests/test_c.py\n"
    "======== 1 failed, 601 passed, 1 error in 60.12s ========\n"
)
NO_WHEEL = "ERROR: No matching distribution found for paddlepaddle==2.6.2\n"


class Steps:
    """Stands for run_step: commands are noted; `outputs` is what one of them says."""

    def __init__(self):
        self.commands, self.fails, self.tests = [], {}, {}

    def __call__(self, command, env, log, folder, describe):
        text = " ".join(command)
        self.commands.append(text)
        for word, error in self.fails.items():
            if word in text:
                if isinstance(error, str):
                    error = problems.Problem(problems.explain_output(error, 1, folder))
                raise error
        if "-m venv" in text:
            bin_folder = Path(command[-1], "bin")
            bin_folder.mkdir()
            (bin_folder / "python").symlink_to(sys.executable)
        if " --only-binary :all: -e" in text:
            site = Path(command[0]).parents[1] / "lib" / "python3" / "site-packages"
            for name in "paddlepaddle-3.3.1", "numpy-2.5.5", "matplotlib-3.11.2":
                (site / f"{name}.dist-info").mkdir(parents=True)
            (site / "matplotlib-inline-0.2.2.dist-info").mkdir()
        if "-m pytest" in text:
            output = next((v for k, v in self.tests.items() if k in text), PASSED)
            Path(log).write_text(output, encoding="utf-8")
            if output != PASSED:
                raise problems.Problem("It failed.")


@pytest.fixture
def steps(tmp_path, monkeypatch):
    """A copy of what the matrix reads, where every Python is this one."""
    stand_in = Steps()
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    monkeypatch.setattr(matrix, "ROOT", str(tmp_path))
    monkeypatch.setattr(matrix, "find_python", lambda version: sys.executable)
    monkeypatch.setattr(matrix, "pip_environment", lambda python: {})
    monkeypatch.setattr(matrix, "check_room", lambda folder, flavour: None)
    for module in matrix, setup_env:
        monkeypatch.setattr(module, "run_step", stand_in)
    stand_in.folder = tmp_path
    return stand_in


def run(capsys, *arguments):
    """(exit status, lines of the table without its head, last line)."""
    status = matrix.main(arguments)
    lines = capsys.readouterr().out.splitlines()
    return status, [line for line in lines if line.startswith("|")][2:], lines[-1]


def cells(line):
    return [cell.strip() for cell in line.strip("|").split(" | ")]


# The grid


def test_grid_has_every_python_and_paddle_and_the_corners():
    pythons = [f"3.{minor}" for minor in range(9, 14)]
    assert sorted({r.python for r in matrix.GRID}, key=pythons.index) == pythons
    paddles = {"2.6.2", "3.0", "3.1", "3.2", "3.3", matrix.GPU}
    assert {row.paddle for row in matrix.GRID} == paddles
    assert len(set(matrix.GRID)) == len(matrix.GRID) <= 14
    assert matrix.GRID[0] == ("3.9", "2.6.2", "1.26", "3.8")
    assert matrix.GRID[-1] == ("3.13", "3.3", matrix.NEWEST, matrix.NEWEST)
    oldest = {"numpy>=" + matrix.GRID[0].numpy, "matplotlib>=" + matrix.GRID[0][-1]}
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert all(f'"{need}"' in text for need in oldest)


def test_what_is_left_out_is_there_and_says_nothing_of_the_package():
    for name in matrix.LEFT_OUT:
        text = (ROOT / "tests" / f"test_{name}.py").read_text(encoding="utf-8")
        assert "\nimport d2l_ext" not in text and "\nimport paddle" not in text
    assert any((ROOT / matrix.TRANSLATED).glob("*.ipynb"))


# What it says


def test_all_rows_pass(steps, capsys):
    status, rows, last = run(capsys, "-n", "2")
    assert status == 0 and last == f"{len(matrix.GRID)} passed, 0 failed"
    assert len(rows) == len(matrix.GRID)
    installed = ["3.9", "3.3.1", "2.5.5", "3.11.2"]
    assert cells(rows[0]) == [*installed, "602 passed, 3 skipped in 60 s"]
    tests = [text for text in steps.commands if "-m pytest" in text]
    assert len(tests) == len(rows) and all(" -n 2 " in text for text in tests)
    assert all(text.endswith(" --ignore=notebooks/en") for text in tests)
    markdown = (steps.folder / "build" / "test-matrix.md").read_text(encoding="utf-8")
    assert markdown.splitlines()[2:] == rows


def test_corners(steps, capsys):
    status, rows, last = run(capsys, "--corners", "1")
    assert (status, last) == (0, "2 passed, 0 failed")
    assert [cells(row)[0] for row in rows] == ["3.9", "3.13"]
    installs = [text for text in steps.commands if " -e " in text]
    oldest = "paddlepaddle==2.6.2 numpy==1.26.* matplotlib==3.8.*"
    assert installs[0].endswith(f".[cpu,notebooks,test] {oldest}")
    assert installs[1].endswith(".[cpu,notebooks,test] paddlepaddle==3.3.*")


def test_corners_may_be_1_or_nothing(steps, capsys):
    assert matrix.main(["--corners", "yes"]) == 2
    assert "write CORNERS=1" in capsys.readouterr().err and not steps.commands


def test_a_missing_python_is_not_run(steps, capsys, monkeypatch):
    has = {"3.13": sys.executable}
    monkeypatch.setattr(matrix, "find_python", has.get)
    status, rows, last = run(capsys, "--corners", "1")
    assert (status, last) == (0, "1 passed, 0 failed, 1 not run")
    missing = ["3.9", "2.6.2", "1.26", "3.8", "not run: no python3.9 on this machine"]
    assert cells(rows[0]) == missing
    has.clear()
    status, rows, last = run(capsys, "--corners", "1")
    assert (status, last) == (1, "0 passed, 0 failed, 2 not run")


def test_a_missing_wheel_is_not_run(steps, capsys):
    steps.fails["paddlepaddle==3.3.*"] = NO_WHEEL
    status, rows, last = run(capsys, "--corners", "1")
    assert (status, last) == (0, "1 passed, 0 failed, 1 not run")
    assert cells(rows[1]) == ["3.13", "3.3", "newest", "newest", "not run: no wheel"]


@pytest.mark.parametrize(
    "output, words",
    [
        ("ERROR: No matching distribution found for anyio==4", "has no anyio==4"),
        ("Connection refused\n" + NO_WHEEL, "failed: The package index cannot"),
        ("ERROR: ResolutionImpossible: for help", "failed: It failed with: ERROR"),
        ("OSError: [Errno 28] No space left on device", "failed: The disk is full"),
    ],
)
def test_any_other_failure_of_pip_is_one(steps, capsys, output, words):
    steps.fails["paddlepaddle==3.3.*"] = output
    status, rows, last = run(capsys, "--corners", "1")
    assert (status, last) == (1, "1 passed, 1 failed")
    assert words in rows[1]


def test_the_first_failure_is_named_and_the_others_go_on(steps, capsys):
    steps.tests["python3.9-"] = FAILED
    status, rows, last = run(capsys, "--corners", "1")
    assert (status, last) == (1, "1 passed, 1 failed")
    name = r"FAILED tests/test_a.py::test_b[1\|2] - assert 1 == 2"
    assert cells(rows[0])[-1] == name and "602 passed" in rows[1]


@pytest.mark.parametrize("output", ["", "Killed\n", "no tests ran in 0.01s\n"])
def test_pytest_that_ends_early_is_a_failure(output):
    assert matrix.verdict(False, output)[0] == "failed"
    assert matrix.verdict(True, output)[0] == "failed"
    assert matrix.verdict(False, PASSED)[0] == "failed"


def test_interrupt_leaves_a_table(steps, capsys):
    steps.fails["python3.13-"] = KeyboardInterrupt()
    status, rows, last = run(capsys, "--corners", "1")
    assert (status, last) == (130, "1 passed, 0 failed, 1 not run")
    assert cells(rows[1])[-1] == "not run: interrupted"


# What it makes anew


def made(steps):
    count = sum("-m venv" in text for text in steps.commands)
    steps.commands.clear()
    return count


def test_environments_are_used_again_until_something_changes(steps, capsys):
    run(capsys, "--corners", "1")
    assert made(steps) == 2
    run(capsys, "--corners", "1")
    assert made(steps) == 0
    with open(steps.folder / "pyproject.toml", "a", encoding="utf-8") as file:
        file.write("\n# changed\n")
    run(capsys, "--corners", "1")
    assert made(steps) == 2
    python = next(steps.folder.glob("build/matrix/python3.9-*")) / "bin" / "python"
    python.unlink()
    run(capsys, "--corners", "1")
    assert made(steps) == 1


def test_an_unfinished_environment_is_made_anew(steps, capsys):
    steps.fails["requirements/d2l.txt"] = "error: interrupted"
    assert run(capsys, "--corners", "1")[0] == 1
    assert made(steps) == 2
    steps.fails.clear()
    assert run(capsys, "--corners", "1")[0] == 0
    assert made(steps) == 2
    stamps = list(steps.folder.glob("build/matrix/*/made-by-make.json"))
    assert len(stamps) == 2
    assert all(json.loads(s.read_text())["requirements"] for s in stamps)


# Interpreters


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_a_shim_that_does_not_run_is_no_python(tmp_path, monkeypatch):
    version = f"3.{sys.version_info[1]}"
    name = "python" + version
    program(tmp_path / "shims" / name, "echo pyenv: command not found >&2; exit 127")
    good = f'exec "{sys.executable}" "$@"'
    monkeypatch.setenv("PATH", str(tmp_path / "shims"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    assert matrix.find_python(version) is None
    versions = tmp_path / "pyenv" / "versions"
    program(versions / f"{version}.9" / "bin" / name, good)
    newer = program(versions / f"{version}.10" / "bin" / name, good)
    assert matrix.find_python(version) == newer
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "another's"))
    assert matrix.find_python(version) is None
    monkeypatch.setenv("PATH", str(tmp_path / "pyenv" / "shims"))
    assert matrix.find_python(version) == newer
    on_path = program(tmp_path / "bin" / name, good)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "shims"), "no", ""]))
    assert matrix.find_python(version) == newer
    monkeypatch.setenv("PATH", f"{tmp_path / 'shims'}{os.pathsep}{tmp_path / 'bin'}")
    assert matrix.find_python(version) == on_path
    assert matrix.find_python("3.8") is None


# make


def test_make_hands_corners_on():
    command = ["make", "-n", "test-matrix", "CORNERS=1"]
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    done = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    assert 'tools/test_matrix.py --corners "1" -n auto' in done.stdout
