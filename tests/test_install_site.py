"""`make site` first adds what it needs to .venv, once; pip is a stand-in here."""

import pytest

import extra
import install_site
import problems
import setup_env

LOCK = """\
# pins
pytest==0.1
no-such-package==2 ; python_full_version >= '3.9'
another==3 ; python_full_version < '3.9'
"""


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """What pip was asked for; nothing is there until it has been asked."""
    (tmp_path / ".venv").mkdir()
    (tmp_path / "pyproject.toml").touch()
    asked = []
    monkeypatch.setattr(setup_env, "ROOT", str(tmp_path))
    monkeypatch.setattr(install_site, "absent", lambda: [] if asked else ["sphinx==8"])
    monkeypatch.setattr(extra, "pip_environment", lambda python: {})
    monkeypatch.setattr(extra, "check_room", lambda folder, what: None)
    monkeypatch.setattr(extra, "run_step", lambda command, *_: asked.append(command))
    return asked


def test_it_is_installed_once_and_nothing_else_changes(calls, tmp_path, capsys):
    assert install_site.main() == 0
    assert capsys.readouterr().out == "Sphinx is in .venv.\n"
    assert install_site.main() == 0 and capsys.readouterr().out == ""
    (command,) = calls
    assert command[:4] == [f"{tmp_path}/.venv/bin/python", "-m", "pip", "install"]
    text = " ".join(command)
    assert "--constraint requirements/cpu.txt" in text and "--only-binary :all:" in text
    assert text.endswith("--no-deps -r requirements/site.txt") and "http" not in text


def test_where_it_cannot_be_had_a_sentence_says_why(calls, monkeypatch, capsys):
    def fail(*_):
        raise problems.Problem(problems.explain_output("Connection refused", 1, "."))

    monkeypatch.setattr(extra, "run_step", fail)
    assert install_site.main() == 1
    error = capsys.readouterr().err
    assert error.startswith("site: Sphinx could not be installed: ")
    assert "Check the network" in error and error.count("\n") == 1


def test_a_package_of_another_version_is_absent_too(tmp_path):
    lock = tmp_path / "site.txt"
    lock.write_text(LOCK)
    assert install_site.absent(lock) == ["pytest==0.1", "no-such-package==2"]
    lock.write_text(f"pytest=={pytest.__version__}\n")
    assert install_site.absent(lock) == []
