"""`make reveal`: reveal.js into .venv, or one line that says why not.

pip is a stand-in, as in test_install_torch.py.
"""

from pathlib import Path

import pytest

import extra
import install_reveal
import problems
import setup_env

NO_WHEEL = "ERROR: No matching distribution found for sphinx-revealjs==3.2.1"
LOCK = "# derived\nsphinx-revealjs==3.2.1\n"


def record(folder, version="3.2.1", finished=True):
    site = Path(folder, ".venv", "lib", "python3.11", "site-packages")
    info = site / f"sphinx_revealjs-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / ("RECORD" if finished else "METADATA")).touch()


@pytest.fixture
def pip(tmp_path, monkeypatch):
    """The commands given to pip; what `fails` holds is what it says, if anything."""
    (tmp_path / ".venv").mkdir()
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "slides.txt").write_text(LOCK)
    (tmp_path / "pyproject.toml").touch()

    def run_step(command, env, log, folder, describe):
        run_step.commands.append(command)
        if run_step.fails:
            raise problems.Problem(problems.explain_output(run_step.fails, 1, folder))
        record(folder)

    run_step.commands, run_step.fails, run_step.folder = [], "", tmp_path
    monkeypatch.setattr(setup_env, "ROOT", str(tmp_path))
    monkeypatch.setattr(extra, "run_step", run_step)
    monkeypatch.setattr(extra, "pip_environment", lambda python: {})
    return run_step


def test_it_is_installed_once_and_alone(pip, capsys):
    assert install_reveal.main([]) == 0
    assert capsys.readouterr().out == "reveal.js is in .venv.\n"
    (command,) = pip.commands
    assert command[:4] == [f"{pip.folder}/.venv/bin/python", "-m", "pip", "install"]
    assert " ".join(command).endswith("--no-deps -r requirements/slides.txt")
    assert install_reveal.main([]) == 0 and len(pip.commands) == 1


@pytest.mark.parametrize("state", [{"finished": False}, {"version": "3.2.0"}])
def test_a_half_or_another_one_is_no_substitute(pip, state):
    record(pip.folder, **state)
    assert install_reveal.main([]) == 0 and len(pip.commands) == 1


def test_where_it_cannot_be_had_one_line_says_so(pip, capsys):
    pip.fails = NO_WHEEL
    assert install_reveal.main([]) == 1
    error = capsys.readouterr().err
    assert error.startswith(
        "slides: reveal.js could not be installed: The package index"
    )
    assert error.count("\n") == 1
    assert install_reveal.main(["--optional"]) == 0
    assert "The tests of slides are skipped." in capsys.readouterr().out


def test_interrupt_stops_make(pip, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(extra, "run_step", interrupted)
    assert install_reveal.main(["--optional"]) == 130
    assert "Interrupted" in capsys.readouterr().err
