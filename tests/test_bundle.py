"""`make test-bundle`: its rows, and that a notebook with another output is found.

The environments are made in `make test-bundle` itself. Here this Python stands for them,
and the zip has small notebooks.
"""

import sys
import zipfile

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

import bundle_start
import test_bundle
from aistudio import FOLDER

FIRST = new_code_cell("print('ready')")


def notebook(code, stored, first=FIRST):
    cell = new_code_cell(code)
    cell.outputs = [new_output("stream", text=stored)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=[first, cell], metadata={"kernelspec": kernel})


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """One row's, on a zip with a notebook, another that needs more, and `en/`."""
    names = "import os; print(sorted(n for n in os.environ if n.startswith('PIP_')))"
    also = new_code_cell("print('ready')  # also=['torch']")
    notebooks = {
        "a": notebook(names, "['PIP_NO_INDEX']\n"),
        "b": notebook("import torch_of_tomorrow", "", also),
        "en/a": notebook("print(1)", "1\n"),
    }
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        for name, content in notebooks.items():
            file.writestr(f"{FOLDER}/{name}.ipynb", nbformat.writes(content))
    monkeypatch.setattr(test_bundle, "ZIP", tmp_path / "a.zip")
    monkeypatch.setenv("PIP_INDEX_URL", "x")
    environment = test_bundle.Environment(str(tmp_path), test_bundle.ROWS[1])
    environment.python = sys.executable
    return environment


def test_rows_are_the_oldest_and_the_newest_that_are_promised():
    found = [
        (row.python, test_bundle.Environment("", row).requirements()[0])
        for row in test_bundle.ROWS
    ]
    assert found == [
        ("3.8", "paddlepaddle-gpu==2.5.2"),
        ("3.9", "paddlepaddle==2.6.2"),
        ("3.12", "paddlepaddle==3.3.1"),
    ]


def test_nothing_of_this_project_is_installed():
    for row in test_bundle.ROWS:
        environment = test_bundle.Environment("", row)
        wanted = [word for wants, _ in environment.installs() for word in wants]
        assert not [word for word in wanted if "d2l" in word or word.startswith(".")]
        assert ("numpy<2" in wanted) == row.paddle.startswith("2")
        assert environment.path.startswith("build/bundle/python")


def test_all_as_stored(environment):
    state, text = environment.test([])
    assert state == "passed"
    assert text.startswith("1 notebooks as stored in ") and text.endswith("not run: b")


def test_another_output_is_found(environment, monkeypatch, capsys):
    monkeypatch.setattr(test_bundle, "needs_more", lambda path: False)
    assert environment.test([]) == ("failed", "failed: 1 notebooks of 2")
    output = capsys.readouterr().out
    assert "No module named 'torch_of_tomorrow'" in output and "ready" not in output


def test_one_row_has_the_english_edition(environment, monkeypatch):
    assert [row for row in test_bundle.ROWS if row == test_bundle.ENGLISH]
    monkeypatch.setattr(test_bundle, "ENGLISH", environment.row)
    state, text = environment.test([])
    assert state == "passed" and text.endswith(" s")


def test_notebooks_ask_for_a_kernel_that_is_not_there(environment, tmp_path):
    with test_bundle.unpacked(tmp_path) as folder:
        path = folder / "a.ipynb"
        assert nbformat.read(path, 4).metadata.kernelspec.name == test_bundle.FOREIGN
        assert path.stat().st_mode & 0o222 == 0
        assert (folder / "en").stat().st_mode & 0o222 == 0


def test_the_first_row_has_the_oldest_of_all():
    wanted = test_bundle.Environment("", test_bundle.ROWS[0]).requirements()
    for name, oldest in [
        ("numpy", bundle_start.OLDEST_NUMPY),
        ("matplotlib", bundle_start.OLDEST_MATPLOTLIB),
    ]:
        assert f"{name}=={bundle_start.dotted(oldest)}.*" in wanted
    assert test_bundle.ROWS[0].python == bundle_start.dotted(bundle_start.OLDEST)
