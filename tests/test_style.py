"""The code is formatted, and ruff finds no fault in it."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def check(tool, *arguments):
    if importlib.util.find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed: pip install {tool}")
    done = subprocess.run(
        [sys.executable, "-m", tool, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_code_is_formatted():
    check("ruff", "format", "--check", "--diff", ".")


def test_linter_finds_nothing():
    check("ruff", "check", ".")
