"""The commands and Python blocks of the READMEs and of CONTRIBUTING do what they say."""

import functools
import re
import shlex
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest
import yaml

import steps

ROOT = Path(__file__).parents[1]
NAMES = ["README.md", "README_cn.md"]
ALL = [*NAMES, "CONTRIBUTING.md"]
FLAVOUR = "gpu" if list(distributions(name="paddlepaddle-gpu")) else "cpu"
IN_VENV = Path(sys.prefix).resolve() == (ROOT / ".venv").resolve()

# Inside `make test` these cannot be run for real: they would start the tests once more,
# not return, take minutes, download, or write into notebooks/ or benchmarks/. Their
# recipes are expanded instead.
EXPAND_ONLY = {"bench", "test", "test-notebooks", "torch", "lab", "notebooks"}
EXPAND_ONLY |= {"site", "slides", "pdf"}  # which have tests of their own


def commands(name):
    for block in re.findall(
        r"```bash\n(.*?)```", (ROOT / name).read_text("utf-8"), re.DOTALL
    ):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words:
                yield tuple(words)


COMMANDS = sorted({c for name in ALL for c in commands(name)})


@functools.lru_cache(maxsize=1)
def own_environment():
    """Without what a user may have told pip, such as PIP_USER or PIP_TARGET."""
    env = steps.pip_environment(sys.executable)
    return {k: v for k, v in env.items() if not k.startswith("MAKE")}


def run(*command):
    env = own_environment()
    done = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_both_readmes_have_the_same_commands_and_outputs():
    one, other = (list(commands(name)) for name in NAMES)
    assert one == other and len(one) > 5
    texts = [
        re.findall(r"```text\n(.*?)```", (ROOT / n).read_text("utf-8"), re.DOTALL)
        for n in NAMES
    ]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_command(command):
    program, *rest = command
    check = {
        "make": check_make,
        "pip": check_pip,
        "conda": check_conda,
        "python": check_python,
        "nbdiff": check_nbdiff,
        "nbdiff-web": check_nbdiff_web,
    }[program.replace(".venv/bin/", "")]
    check(*rest)


def check_make(target="", *rest):
    if target in EXPAND_ONLY:
        assert ".venv/bin/python" in run("make", "-n", target, *rest)
        for word in rest:
            for notebook in word.partition("=")[2].split():
                assert (ROOT / notebook).is_file()
    elif target == "":
        assert "make test" in run("make")
    elif IN_VENV and target == "run":
        # Two of them train; the gate executes them all, so one will do here.
        notebook = ROOT / "notebooks" / "10-1-attention-cues.ipynb"
        assert notebook.name in run("make", "run", f"NB={notebook}")
        for name in notebook.name, f"{notebook.stem}.html":
            assert (ROOT / "build" / name).is_file()
    elif IN_VENV:
        run("make", target, *rest)
    else:
        pytest.skip("runs inside .venv only, as `make test` does")


def check_pip(install, *rest):
    """Nothing is to be downloaded: all but this package is there already."""
    assert install == "install"
    for word in rest:
        if "==" in word:  # Paddle itself, which an environment has by CPU or GPU
            pins = (ROOT / "requirements" / "cpu.txt").read_text("utf-8").splitlines()
            assert any(pin.split(" ;")[0] == word for pin in pins)
            return
    rest = [word.replace("cpu.txt", f"{FLAVOUR}.txt") for word in rest]
    offline = ["--dry-run", "--no-index", "--no-build-isolation"]
    output = run(sys.executable, "-m", "pip", install, *offline, *rest)
    assert "d2l==0.17.6" in output and "Would install d2l-ext" in output


def check_python(script, *rest):
    """What contributors run takes minutes, or writes: all that it names is there."""
    if (script, *rest[:2]) == ("-m", "pip", "install"):
        needs_installed(word for word in rest[2:] if not word.startswith("-"))
        output = run(sys.executable, script, *rest, "--dry-run", "--no-index")
        assert "Would install" not in output
    elif script == "-m":
        needs_installed(rest[:1])
        run(sys.executable, "-m", rest[0], "--version")
    else:
        assert all((ROOT / path).is_file() for path in (script, *rest))


def needs_installed(names):
    missing = [name for name in names if not list(distributions(name=name))]
    if missing:
        pytest.skip(f"not installed: pip install {' '.join(missing)}")


def check_nbdiff(*rest):
    needs_installed(["nbdime"])
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone, so there is nothing to compare with")
    assert (ROOT / rest[-1]).exists()
    run(str(Path(sys.executable).with_name("nbdiff")), *rest)


def check_nbdiff_web(*rest):
    """It takes the arguments of the other, but does not end."""
    check_nbdiff(*rest)
    run(str(Path(sys.executable).with_name("nbdiff-web")), "--version")


def check_conda(action, *rest):
    environment = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    if action == "activate":
        assert rest == (environment["name"],)
    else:
        assert (action, *rest) == ("env", "create", "-f", "environment.yml")


@pytest.mark.parametrize("name", NAMES)
def test_python_blocks_print_what_stands_below_them(name):
    text = (ROOT / name).read_text("utf-8")
    pairs = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(pairs) == text.count("```python") == 2
    for code, expected in pairs:
        assert run(sys.executable, "-c", code) == expected


@pytest.mark.parametrize("name", ALL)
def test_links_lead_somewhere(name):
    text = (ROOT / name).read_text("utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target


@pytest.mark.parametrize("name", ALL)
def test_targets_that_the_text_names_are_there(name):
    targets = re.findall(r"`make ([a-z-]+)", (ROOT / name).read_text("utf-8"))
    assert targets
    for target in sorted(set(targets)):
        assert run("make", "-n", target)
