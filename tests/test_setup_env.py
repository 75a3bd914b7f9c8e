"""Setting up .venv: what fails says what to do, and what is up to date is left alone.

Everything is real but pip: where it would install for a minute, a stand-in writes down
how it was called, and prints and ends as the test says.
"""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import problems
import setup_env
import steps

ROOT = Path(__file__).resolve().parent.parent
HERE = tuple(sys.version_info[:2])


class Pip:
    """Stands for run_step: each command is noted; `fails` is what one of them says."""

    def __init__(self):
        self.commands, self.fails = [], {}

    def __call__(self, command, env, log, folder, describe):
        text = " ".join(command)
        self.commands.append(text)
        if "-m venv" in text:
            bin_folder = Path(command[-1], "bin")
            bin_folder.mkdir()
            (bin_folder / "python").symlink_to(command[0])
        for word, error in self.fails.items():
            if word in text:
                if isinstance(error, str):
                    error = problems.Problem(problems.explain_output(error, 1, folder))
                raise error

    def installed(self, flavour):
        return any(f"requirements/{flavour}.txt" in text for text in self.commands)


@pytest.fixture
def pip(monkeypatch):
    stand_in = Pip()
    monkeypatch.setattr(setup_env, "run_step", stand_in)
    monkeypatch.setattr(setup_env, "pip_environment", lambda python: {})
    monkeypatch.setattr(setup_env, "check_room", lambda folder, flavour: None)
    return stand_in


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A copy of what setup reads, as the folder it works on."""
    folder = tmp_path / "check out"
    shutil.copytree(ROOT / "requirements", folder / "requirements")
    shutil.copytree(ROOT / "tools", folder / "tools")
    shutil.copy(ROOT / "pyproject.toml", folder)
    monkeypatch.setattr(setup_env, "ROOT", str(folder))
    return folder


def setup(capsys, *arguments):
    """(exit status, what was printed)."""
    status = setup_env.main(arguments)
    output = capsys.readouterr()
    assert "Traceback" not in output.err
    return status, output.out + output.err


# What is there, and what is missing


def test_first_call_installs_and_second_does_nothing(checkout, pip, capsys):
    assert setup(capsys)[0] == 0
    assert pip.installed("cpu") and not pip.installed("gpu")
    assert "-r requirements/d2l.txt" in " ".join(pip.commands)
    assert any("--no-deps --no-build-isolation -e ." in text for text in pip.commands)
    pip.commands.clear()
    status, text = setup(capsys)
    assert (status, pip.commands) == (0, []) and "up to date" in text
    assert setup(capsys, "--quiet") == (0, "")


def test_up_to_date_takes_well_under_a_second(checkout, pip, capsys):
    setup(capsys)
    command = [sys.executable, "tools/setup_env.py", "--quiet"]
    start = time.monotonic()
    subprocess.run(command, cwd=checkout, check=True)
    assert time.monotonic() - start < 1


@pytest.mark.parametrize("name", ["requirements/cpu.txt", "requirements/d2l.txt"])
def test_a_changed_lock_makes_everything_anew(checkout, pip, capsys, name):
    setup(capsys)
    (checkout / ".venv" / "old").touch()
    with open(checkout / name, "a", encoding="utf-8") as file:
        file.write("\n# changed\n")
    pip.commands.clear()
    assert setup(capsys)[0] == 0
    assert pip.installed("cpu") and not (checkout / ".venv" / "old").exists()


def test_a_changed_project_is_installed_again_and_nothing_else(checkout, pip, capsys):
    setup(capsys)
    with open(checkout / "pyproject.toml", "a", encoding="utf-8") as file:
        file.write("\n# changed\n")
    pip.commands.clear()
    pip.fails["-e ."] = "error: a mistake in pyproject.toml"
    status, text = setup(capsys)
    assert status == 1 and "a mistake in pyproject.toml" in text
    pip.fails.clear()
    assert setup(capsys)[0] == 0
    assert len(pip.commands) == 2 and all("-e ." in text for text in pip.commands)
    assert "up to date" in setup(capsys)[1] and len(pip.commands) == 2


def test_a_moved_checkout_is_made_anew(checkout, pip, capsys, monkeypatch):
    setup(capsys)
    moved = checkout.with_name("moved")
    checkout.rename(moved)
    monkeypatch.setattr(setup_env, "ROOT", str(moved))
    pip.commands.clear()
    assert setup(capsys)[0] == 0 and pip.installed("cpu")


def test_a_lost_interpreter_is_made_anew(checkout, pip, capsys):
    setup(capsys)
    python = checkout / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to(checkout / "no-such-python")
    pip.commands.clear()
    assert setup(capsys)[0] == 0 and pip.installed("cpu")


@pytest.mark.skipif(HERE > problems.NEWEST["gpu"], reason="no paddlepaddle-gpu here")
def test_gpu_replaces_cpu_and_is_remembered(checkout, pip, capsys):
    setup(capsys)
    (checkout / ".venv" / "paddlepaddle").touch()
    assert setup(capsys, "--gpu", "1")[0] == 0
    assert pip.installed("gpu") and not (checkout / ".venv" / "paddlepaddle").exists()
    pip.commands.clear()
    assert setup(capsys, "--gpu", "")[0] == 0 and pip.commands == []
    assert setup(capsys, "--gpu", "0")[0] == 0 and pip.installed("cpu")


@pytest.mark.skipif(HERE > problems.NEWEST["gpu"], reason="no paddlepaddle-gpu here")
def test_gpu_is_remembered_by_an_unfinished_setup(checkout, pip, capsys):
    pip.fails["-r requirements/gpu.txt"] = KeyboardInterrupt()
    assert setup(capsys, "--gpu", "1")[0] == 130
    pip.fails.clear()
    assert setup(capsys)[0] == 0 and not pip.installed("cpu")


def test_the_default_python_does_not_replace_the_one_in_use(
    checkout, pip, capsys, monkeypatch
):
    setup(capsys)
    pip.commands.clear()
    monkeypatch.setattr(sys, "version_info", (3, 8, 1, "final", 0))
    assert setup(capsys)[0] == 0 and pip.commands == []
    status, text = setup(capsys, "--python-given")
    assert status == 1 and "Python 3.8 is too old" in text


# What goes wrong


@pytest.mark.parametrize(
    "version, flavour, words",
    [
        ((2, 7), "cpu", "Python 2.7 is too old: Paddle needs Python 3.9 to 3.13."),
        ((3, 8), "cpu", "Python 3.8 is too old: Paddle needs Python 3.9 to 3.13."),
        ((3, 14), "cpu", "Python 3.14 is too new: Paddle needs Python 3.9 to 3.13."),
        ((3, 13), "gpu", "3.13 is too new: paddlepaddle-gpu needs Python 3.9 to 3.12."),
    ],
)
def test_unfit_python(version, flavour, words, monkeypatch):
    found = {"python3.10": (3, 10), "python3.9": (3, 9)}
    monkeypatch.setattr(problems, "version_of", found.get)
    gpu = " GPU=1" if flavour == "gpu" else ""
    with pytest.raises(problems.Problem) as error:
        problems.check_python(version, flavour)
    assert words in str(error.value)
    assert str(error.value).endswith("Use: make setup PYTHON=python3.10" + gpu)
    found.clear()
    with pytest.raises(problems.Problem, match="Install one of them"):
        problems.check_python(version, flavour)


@pytest.mark.parametrize("name", ["doctor", "problems", "setup_env", "steps"])
def test_old_python_can_read_what_setup_runs(name):
    """No f-strings, annotations, `:=` ...: they would be a SyntaxError before a word."""
    import ast

    tree = ast.parse((ROOT / "tools" / f"{name}.py").read_text(encoding="utf-8"))
    new = [
        ast.JoinedStr,
        ast.AnnAssign,
        ast.NamedExpr,
        ast.AsyncFunctionDef,
        ast.Nonlocal,
    ]
    assert not [node for node in ast.walk(tree) if isinstance(node, tuple(new))]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.arguments)]
    assert not any(node.kwonlyargs or node.posonlyargs for node in calls)


def test_too_little_room(checkout, monkeypatch, capsys):
    monkeypatch.setattr(problems, "NEED_MB", {"cpu": 10**9})
    monkeypatch.setattr(setup_env, "run_step", lambda *_: pytest.fail("it went on"))
    status, text = setup(capsys)
    assert status == 1
    assert "Setup needs about 1000000000 MB" in text and "Free some room" in text


RETRY = "WARNING: Retrying (Retry(total=4)) after connection broken by '%s'"
NOTHING = "\nERROR: No matching distribution found for anyio==4.0"


@pytest.mark.parametrize(
    "output, words",
    [
        (
            "ERROR: Could not install: [Errno 28] No space left on device",
            "disk is full",
        ),
        ("OSError: [Errno 122] Disk quota exceeded", "disk is full"),
        (
            RETRY % "NewConnectionError: Connection refused" + NOTHING,
            "Check the network",
        ),
        (RETRY % "Temporary failure in name resolution" + NOTHING, "Check the network"),
        (RETRY % "ReadTimeoutError: Read timed out." + NOTHING, "Check the network"),
        (
            RETRY % "ProxyError('Cannot connect to proxy.')" + NOTHING,
            "Check https_proxy",
        ),
        (RETRY % "SSLError(CERTIFICATE_VERIFY_FAILED)" + NOTHING, "machine's clock"),
        (
            "ERROR: No matching distribution found for paddlepaddle==3.3.1",
            "Linux and Wi",
        ),
        (NOTHING, "If pip uses a mirror"),
        ("PermissionError: [Errno 13] Permission denied: '.venv'", "No right to write"),
        ("Error: ensurepip is not available", "sudo apt install python3."),
        ("/usr/bin/python3: No module named pip", "sudo apt install python3."),
        ("hm\nerror: something new\nend", "It failed with: error: something new"),
        ("", "It failed with: exit status 1"),
    ],
)
def test_a_failed_step_says_what_to_do(checkout, pip, capsys, output, words):
    pip.fails["-r requirements/cpu.txt"] = output
    status, text = setup(capsys)
    assert status == 1 and words in text
    pip.fails.clear()
    pip.commands.clear()
    assert setup(capsys)[0] == 0 and pip.installed("cpu")


@pytest.mark.parametrize(
    "number, words",
    [
        (errno.ENOSPC, "The disk is full"),
        (errno.EROFS, "No right to write"),
        (errno.EACCES, "No right to write"),
    ],
)
def test_a_stamp_that_cannot_be_written(
    checkout, pip, capsys, monkeypatch, number, words
):
    def fail(self, made):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(setup_env.Environment, "write_stamp", fail)
        status, text = setup(capsys)
    assert status == 1 and words in text
    assert setup(capsys)[0] == 0 and pip.installed("cpu")


def test_what_make_did_not_make_is_not_deleted(checkout, pip, capsys):
    mine = checkout / ".venv" / "mine"
    mine.mkdir(parents=True)
    status, text = setup(capsys)
    assert status == 1 and "was not made by make" in text
    assert mine.is_dir() and pip.commands == []


def test_an_interrupted_deletion_is_noticed(checkout, pip, capsys, monkeypatch):
    setup(capsys)
    lock = checkout / "requirements" / "cpu.txt"
    text = lock.read_text()
    lock.write_text(text + "\n# changed\n")

    def interrupted(path):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", interrupted)
        assert setup(capsys)[0] == 130
    lock.write_text(text)
    pip.commands.clear()
    assert setup(capsys)[0] == 0 and pip.installed("cpu")


def test_an_unknown_gpu_value(checkout, pip, capsys):
    status, text = setup(capsys, "--gpu", "yes")
    assert status == 1 and "write GPU=1" in text and pip.commands == []


# Two processes and their signals


SLOW_SETUP = """
import os, sys, time
sys.path.insert(0, "tools")
import setup_env

def slow(*arguments):
    open("at-work-%d" % os.getpid(), "w").close()
    time.sleep(60)

setup_env.run_step = slow
setup_env.check_room = lambda *arguments: None
sys.exit(setup_env.main([]))
"""


# A shell starts what is in the background with Ctrl-C ignored; these heed it.
HEED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


def start(folder, code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", HEED + code, *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def wait_until_at_work(folder, process):
    deadline = time.monotonic() + 20
    while not (folder / f"at-work-{process.pid}").exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_is_a_sentence(checkout, number):
    process = start(checkout, SLOW_SETUP)
    wait_until_at_work(checkout, process)
    process.send_signal(number)
    errors = process.communicate(timeout=20)[1].decode("utf-8")
    assert process.returncode == 130
    assert "Interrupted. Run make again" in errors and "Traceback" not in errors


def test_two_at_once_work_one_after_the_other(checkout):
    first = start(checkout, SLOW_SETUP)
    wait_until_at_work(checkout, first)
    second = start(checkout, SLOW_SETUP)
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(1)
    assert not (checkout / f"at-work-{second.pid}").exists()
    first.terminate()
    assert first.wait(20) == 130
    wait_until_at_work(checkout, second)
    second.terminate()
    assert second.wait(20) == 130
    first.stderr.close()
    second.stderr.close()


# The steps themselves, with real processes


def step(log, code, describe=lambda output: ""):
    command = [sys.executable, "-c", code]
    steps.run_step(command, dict(os.environ), str(log), str(log.parent), describe)


def test_a_step_keeps_its_output_and_reads_only_its_own(tmp_path):
    log, seen = tmp_path / "log", []
    log.write_text("[Errno 28] of an earlier step\n")
    step(log, "import time; print('one', flush=True); time.sleep(.5)", seen.append)
    assert log.read_text().endswith("one\n") and set(seen) <= {"", "one\n"}
    with pytest.raises(problems.Problem, match="It failed with: an error.*Log: .*log"):
        step(log, "print('an error'); exit(3)")


@pytest.mark.parametrize("name", ["FORCE_COLOR", "PY_COLORS", "TTY_COMPATIBLE"])
def test_no_step_colours_what_is_read(tmp_path, monkeypatch, name):
    """Those are what asks pip, pytest and newer Pythons for it, wherever they write."""
    monkeypatch.setenv(name, "1")
    step(tmp_path / "log", f"import os; print(os.environ.get({name!r}))")
    assert (tmp_path / "log").read_text() == "None\n"


def test_an_error_of_pip_is_read_without_colours(tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    command = [sys.executable, "-m", "pip", "install", "--no-index", "d2l-no-such"]
    env = steps.pip_environment(sys.executable)
    with pytest.raises(problems.Problem, match="has no d2l-no-such for this machine"):
        steps.run_step(command, env, str(tmp_path / "log"), str(tmp_path), str)
    output = subprocess.run(command, env=env, stderr=subprocess.PIPE).stderr
    assert b"d2l-no-such" in output and b"\x1b" not in output


def test_interrupt_ends_the_step_too(tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import steps\n"
        "steps.run_step([sys.executable, '-c', 'import os, time;"
        "print(os.getpid(), flush=True); time.sleep(60)'], None, 'log', '.', str)\n"
    )
    process = start(tmp_path, code, str(ROOT / "tools"))
    log = tmp_path / "log"
    deadline = time.monotonic() + 20
    while not (log.exists() and log.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=20)[1].decode("utf-8")
    with pytest.raises(ProcessLookupError):
        os.kill(int(log.read_text()), 0)


def test_progress_counts_what_pip_says(tmp_path):
    lock = tmp_path / "cpu.txt"
    lock.write_text("# pins\na==1\nb==2 ; python_full_version < '3.10'\nc==3\n")
    describe = steps.pip_progress(str(tmp_path), [str(lock)])
    output = "Ignoring b: markers 'python_full_version < ..' don't match\n"
    assert describe(output) == "asking the package index"
    output += "Collecting a==1\n"
    assert describe(output) == "fetching packages: 1 of 2, a==1"
    output += "Collecting c==3\n  Downloading c-3-py3-none-any.whl (190.4 MB)\n"
    assert describe(output) == "fetching packages: 2 of 2, c==3 (190.4 MB)"
    again = output + "WARNING: Retrying (Retry(total=4)) ...\n"
    assert describe(again).startswith("the package index does not answer")
    (tmp_path / "lib/python3.9/site-packages/a-1.dist-info").mkdir(parents=True)
    output += "Installing collected packages: a, c\n"
    assert describe(output) == "installing packages: 1 of 2"


def test_of_pips_settings_only_those_on_where_to_fetch_are_kept(tmp_path, monkeypatch):
    config = tmp_path / "pip.conf"
    config.write_text(
        "[global]\nindex-url = http://127.0.0.1:9/global\nuser = true\n"
        "find-links =\n  /a\n  /b\n[install]\nindex-url = http://127.0.0.1:9/install\n"
        "target = /nowhere\n"
    )
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    monkeypatch.setenv("PIP_PREFIX", "/nowhere")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("PIP_REQUIRE_VIRTUALENV", "1")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    env = steps.pip_environment(sys.executable)
    assert env["PIP_INDEX_URL"] == "http://127.0.0.1:9/install"
    assert env["PIP_FIND_LINKS"].split() == ["/a", "/b"]
    assert env["PIP_RETRIES"] == "1" and env["HOME"] == str(tmp_path)
    assert env["PIP_CONFIG_FILE"] == os.devnull
    unwanted = {"PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PYTHONPATH"}
    assert not unwanted & set(env) and "PIP_REQUIRE_VIRTUALENV" not in env


def test_the_stamp_is_written_last(checkout, pip, capsys):
    stamp = checkout / ".venv" / "made-by-make.json"
    pip.fails["import matplotlib"] = "Illegal instruction error"
    assert setup(capsys)[0] == 1
    assert set(json.loads(stamp.read_text())) == {"base", "flavour"}
    pip.fails.clear()
    assert setup(capsys)[0] == 0
    assert "locks" in json.loads(stamp.read_text())
