"""`make torch` and `make test`: PyTorch for the CPU, or one line that says why not.

pip is a stand-in that notes how it was called, and fails as the test says.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import extra
import install_torch
import problems
import setup_env

ROOT = Path(__file__).resolve().parent.parent
NO_WHEEL = "ERROR: No matching distribution found for torch==2.13.0+cpu"
NO_NETWORK = "WARNING: Retrying (...) connection broken: Network is unreachable\n"


class Pip:
    """Stands for run_step; `fails` has for each call what pip says, or nothing."""

    def __init__(self):
        self.commands, self.fails = [], []

    def __call__(self, command, env, log, folder, describe):
        self.commands.append(command)
        output = self.fails[len(self.commands) - 1]
        if output:
            text = problems.explain_output(output, 1, folder)
            raise problems.Problem(f"{text} (Log: {log})")
        record(folder)

    def wanted(self):
        """What stands behind the options that are the same for all."""
        return [
            command[command.index("--constraint") + 2 :] for command in self.commands
        ]


def record(folder, finished=True):
    """What pip leaves in .venv."""
    site = Path(folder, ".venv", "lib", "python3.11", "site-packages")
    info = site / "torch-2.13.0+cpu.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").touch()
    if finished:
        (info / "RECORD").touch()


@pytest.fixture
def pip(tmp_path, monkeypatch):
    (tmp_path / ".venv").mkdir()
    (tmp_path / "pyproject.toml").touch()
    stand_in = Pip()
    monkeypatch.setattr(setup_env, "ROOT", str(tmp_path))
    monkeypatch.setattr(extra, "run_step", stand_in)
    monkeypatch.setattr(extra, "pip_environment", lambda python: {})
    monkeypatch.setattr(extra, "check_room", lambda folder, what: None)
    monkeypatch.setattr(sys, "platform", "linux")
    stand_in.folder = tmp_path
    return stand_in


def call(capsys, *arguments):
    status = install_torch.main(arguments)
    output = capsys.readouterr()
    return status, output.out, output.err


CPU = f"torch=={install_torch.version(sys.version_info[:2])}+cpu"
FIRST = [CPU]
SECOND = [CPU, "--extra-index-url", "https://download.pytorch.org/whl/cpu"]


def test_where_pip_knows_a_build_for_the_cpu_it_is_taken(pip, capsys):
    pip.fails = [""]
    status, out, err = call(capsys)
    assert (status, err) == (0, "") and "(CPU) is in .venv.\n" in out
    assert pip.wanted() == [FIRST]
    (command,) = pip.commands
    assert command[:4] == [f"{pip.folder}/.venv/bin/python", "-m", "pip", "install"]
    assert "--constraint requirements/cpu.txt" in " ".join(command)
    assert "--only-binary :all:" in " ".join(command)
    assert call(capsys) == (0, "", "") and len(pip.commands) == 1


@pytest.mark.parametrize("said", [NO_WHEEL, NO_NETWORK + NO_WHEEL])
def test_else_the_index_of_pytorch_is_asked(pip, capsys, said):
    pip.fails = [said, ""]
    assert call(capsys)[0] == 0
    assert pip.wanted() == [FIRST, SECOND]


def test_with_the_gpu_build_of_paddle_it_is_still_the_one_for_the_cpu(pip, capsys):
    pip.fails = [""]
    (pip.folder / ".venv" / "made-by-make.json").write_text('{"flavour": "gpu"}')
    assert call(capsys)[0] == 0 and pip.wanted() == [FIRST]
    assert "requirements/gpu.txt" in pip.commands[0]


@pytest.mark.parametrize("python, number", [((3, 9), "2.8.0"), ((3, 10), "2.13.0")])
def test_on_linux_no_build_for_gpus_is_ever_asked_for(python, number):
    for wanted in install_torch.attempts("linux", python):
        assert wanted[0] == f"torch=={number}+cpu"
    for platform in "darwin", "win32":
        assert install_torch.attempts(platform, python) == [[f"torch=={number}"]]


def test_it_does_not_wait_long(pip, capsys):
    pip.fails = [NO_NETWORK + NO_WHEEL] * 2
    call(capsys)
    for command in pip.commands:
        assert "--retries 1 --timeout 15" in " ".join(command)


@pytest.mark.parametrize(
    "said, words",
    [
        (NO_WHEEL, "The package index has no torch==2.13.0+cpu for this machine."),
        (NO_NETWORK + NO_WHEEL, "Check the network"),
        ("[Errno 28] No space left on device", "The disk is full"),
        ("error: something new", "It failed with: error: something new"),
    ],
)
def test_where_it_cannot_be_had_one_line_says_so(pip, capsys, said, words):
    pip.fails = [NO_WHEEL, said, NO_WHEEL, said]
    status, out, err = call(capsys, "--optional")
    assert (status, err) == (0, "") and out.count("\n") == 1
    assert out.startswith("PyTorch could not be installed: ") and words in out
    assert f"(Log: {pip.folder}/.venv/torch.log) What compares with it is sk" in out
    status, out, err = call(capsys)
    assert (status, out) == (1, "") and err.count("\n") == 1
    assert err.startswith("torch: PyTorch could not be installed: ") and words in err


def test_too_little_room(pip, capsys, monkeypatch):
    monkeypatch.setattr(extra, "check_room", problems.check_room)
    monkeypatch.setitem(problems.NEED_MB, "torch", 10**9)
    status, out, _ = call(capsys, "--optional")
    assert status == 0 and "The disk is too full" in out and pip.commands == []


def test_a_log_that_cannot_be_written(pip, capsys, monkeypatch):
    def fail(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(extra, "run_step", fail)
    status, out, _ = call(capsys, "--optional")
    assert status == 0 and "No right to write" in out


def test_interrupt_is_a_sentence_and_stops_make(pip, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(extra, "run_step", interrupted)
    status, _, err = call(capsys, "--optional")
    assert status == 130 and "Interrupted" in err


def test_a_half_installed_one_is_installed_again(pip, capsys):
    record(pip.folder, finished=False)
    pip.fails = [""]
    assert call(capsys)[0] == 0 and len(pip.commands) == 1


def test_a_version_that_is_there_stays(pip, capsys):
    record(pip.folder)
    assert call(capsys) == (0, "", "") and pip.commands == []


def test_a_second_call_takes_no_time(pip):
    """It stands before every `make test`."""
    record(pip.folder)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import setup_env, install_torch\n"
        "setup_env.ROOT = sys.argv[2]; sys.exit(install_torch.main([]))"
    )
    command = [sys.executable, "-c", code, ROOT / "tools", pip.folder]
    times = []
    for _ in range(3):
        start = time.monotonic()
        subprocess.run(command, check=True)
        times.append(time.monotonic() - start)
    assert min(times) < 1  # 0.1 s on an idle core


def recipes(target):
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    return subprocess.run(
        ["make", "-n", target],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_only_make_test_and_make_torch_install_it():
    assert "tools/install_torch.py --optional\n" in recipes("test")
    assert "tools/install_torch.py \n" in recipes("torch")
    for target in "setup", "run", "lab", "notebooks":
        assert "install_torch" not in recipes(target)
