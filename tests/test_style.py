"""The code is formatted, and ruff and mypy find no fault in it."""

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


def test_types_fit():
    paddle = importlib.util.find_spec("paddle")
    if not Path(paddle.origin).with_name("py.typed").exists():
        pytest.skip("this Paddle has no types, as all before 3.0")
    check("mypy")
