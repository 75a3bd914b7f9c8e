"""pyproject.toml is the one list of dependencies: all others agree with it."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import problems

try:
    import tomllib
except ImportError:  # Python 3.9 and 3.10
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
PYTHONS = [
    name.rpartition(" ")[2]
    for name in PROJECT["project"]["classifiers"]
    if re.search(r":: 3\.\d+$", name)
]
PIN = re.compile(
    r"[a-z0-9][a-z0-9._-]*==[0-9][0-9a-z.]*(?: ; [A-Za-z0-9_ .*'<>=!()]+)?"
)
D2L_COMMAND = "pip install --no-deps -r requirements/d2l.txt"


def lines(name):
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


def pins(name, **machine):
    """The versions in a lock that are for this machine, by package."""
    found = {}
    for line in lines(name):
        pin = Requirement(line)
        if pin.marker is None or pin.marker.evaluate(
            {**default_environment(), **machine}
        ):
            assert pin.name not in found, f"{name} pins {pin.name} twice"
            (specifier,) = pin.specifier
            found[pin.name] = specifier.version
    return found


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("paddle", ["cpu", "gpu"])
def test_lock_has_a_fitting_version_of_each_dependency(paddle, python):
    machine = {"python_version": python, "python_full_version": python + ".7"}
    locked = pins(paddle + ".txt", **machine)
    asked = [*PROJECT["project"]["dependencies"]]
    for extra in (paddle, "notebooks", "test"):
        asked += EXTRAS[extra]
    for text in asked:
        need = Requirement(text)
        if need.marker is None or need.marker.evaluate(
            {**default_environment(), **machine}
        ):
            version = locked.get(canonicalize_name(need.name), "nothing")
            assert version != "nothing" and need.specifier.contains(version), (
                f"requirements/{paddle}.txt has {version} for {text} on Python {python}; "
                "run: make lock"
            )


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("paddle", ["cpu", "gpu"])
def test_what_the_site_needs_is_in_its_lock_or_there_already(paddle, python):
    machine = {"python_version": python, "python_full_version": python + ".7"}
    there = pins(paddle + ".txt", **machine)
    added = pins("site.txt", **machine)
    assert not set(there) & set(added), "run: make lock"
    for text in EXTRAS["site"]:
        need = Requirement(text)
        assert need.specifier.contains({**there, **added}[need.name]), "run: make lock"


def test_a_lock_has_one_paddle():
    assert {"paddlepaddle", "paddlepaddle-gpu"} & set(pins("cpu.txt")) == {
        "paddlepaddle"
    }
    assert {"paddlepaddle", "paddlepaddle-gpu"} & set(pins("gpu.txt")) == {
        "paddlepaddle-gpu"
    }


LOCKS = ["cpu.txt", "gpu.txt", "site.txt", "slides.txt", "d2l.txt"]


@pytest.mark.parametrize("name", LOCKS)
def test_lock_holds_pins_and_nothing_of_a_machine(name):
    assert lines(name)
    for line in lines(name):
        assert PIN.fullmatch(line), line
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    assert text.startswith(
        "# Derived from pyproject.toml by `make lock`; do not edit.\n"
    )
    assert "://" not in text


def test_what_is_left_out_on_purpose():
    for name in "cpu.txt", "gpu.txt", "site.txt":
        left_out = {"d2l", "jupyter", "rfc3987-syntax"}
        assert not left_out & {Requirement(line).name for line in lines(name)}


def test_d2l_is_one_version_and_installed_in_one_way():
    assert PROJECT["dependency-groups"]["d2l"] == lines("d2l.txt") == ["d2l==0.17.6"]
    for name in "requirements/d2l.txt", "environment.yml":
        assert D2L_COMMAND in (ROOT / name).read_text(encoding="utf-8"), name


def test_slides_need_one_package_that_is_in_no_other_lock():
    (need,) = map(Requirement, PROJECT["dependency-groups"]["slides"])
    (pin,) = pins("slides.txt").items()
    assert pin[0] == need.name and need.specifier.contains(pin[1])
    assert not {"sphinx", need.name} & {*pins("cpu.txt"), *pins("gpu.txt")}


def test_environment_yml_is_the_gpu_lock():
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    environment = yaml.safe_load(text)
    *conda, last = environment["dependencies"]
    assert environment["name"] == "d2l-attention"
    assert conda == ["python=3.11", "pip"]
    paddle = f"paddlepaddle-gpu=={pins('gpu.txt')['paddlepaddle-gpu']}"
    assert last == {"pip": [paddle, "-r requirements/gpu.txt"]}
    version = tuple(int(part) for part in conda[0].partition("=")[2].split("."))
    assert problems.OLDEST <= version <= problems.NEWEST["gpu"]


def test_python_versions_are_those_that_setup_accepts():
    assert PROJECT["project"]["requires-python"] == ">=" + PYTHONS[0]
    accepted = range(problems.OLDEST[1], problems.NEWEST["cpu"][1] + 1)
    assert PYTHONS == [f"3.{minor}" for minor in accepted]
    for version, right in [((3, 9), True), ((3, 13), True), ((3, 14), False)]:
        if right:
            problems.check_python(version, "cpu")
        else:
            with pytest.raises(problems.Problem):
                problems.check_python(version, "cpu")


def test_wheel_holds_every_file_of_the_package(tmp_path):
    for name in "pyproject.toml", "README.md", "LICENSE":
        shutil.copy(ROOT / name, tmp_path)
    unwanted = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(ROOT / "d2l_ext", tmp_path / "d2l_ext", ignore=unwanted)
    options = "--no-index --no-deps --no-build-isolation --wheel-dir wheel"
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--isolated", "wheel", *options.split(), "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (tmp_path / "wheel").iterdir()
    packed = {n for n in zipfile.ZipFile(wheel).namelist() if n.startswith("d2l_ext/")}
    files = {p for p in (tmp_path / "d2l_ext").rglob("*") if p.is_file()}
    assert packed == {p.relative_to(tmp_path).as_posix() for p in files}
    assert "d2l_ext/py.typed" in packed
