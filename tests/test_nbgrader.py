"""An instructor loads the notebooks into nbgrader as they are, hands out and grades.

nbgrader is in no lock file, since neither students nor readers need it. Where it is not
installed, all of this is skipped.
"""

import copy
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import solutions
import student
from tests.test_student import PATHS, check_nothing_leaks, is_worked, name

pytest.importorskip("nbgrader", reason="nbgrader is missing: pip install nbgrader")

from nbgrader.api import Gradebook
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.preprocessors import ClearSolutions

CONFIG = Path(student.__file__).with_name("nbgrader_config.py")
CODE_STUB = "# YOUR CODE HERE\nraise NotImplementedError()"
ONE = PATHS[0]  # the one that is graded: it runs in seconds


def read(path):
    return nbformat.read(path, as_version=4)


def nbgrader(course, *arguments):
    folder = Path(sys.executable).parent  # nbgrader calls alembic, which is there
    env = {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "JUPYTER_CONFIG_DIR": str(course / "none"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=course,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course with copies of the notebooks, and nothing else but one line."""
    course = tmp_path_factory.mktemp("course")
    line = f"load_subconfig({str(CONFIG)!r})\n"
    (course / "nbgrader_config.py").write_text(line, encoding="utf-8")
    for path in PATHS:
        target = course / "source" / "all" / name(path).replace("/", "-")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    (course / "source" / "one").mkdir()
    shutil.copy(ONE, course / "source" / "one")
    return course


@pytest.fixture(scope="module")
def release(course):
    """What nbgrader makes of them for students."""
    nbgrader(course, "generate_assignment", "all")
    return course / "release" / "all"


@pytest.mark.parametrize("path", PATHS, ids=name)
def test_nbgrader_takes_out_the_same_lines(path):
    for cell in read(path).cells:
        if cell.cell_type == "code" and not is_worked(cell):
            ours, _ = solutions.with_stubs(cell.source, "raise E")
            clear = ClearSolutions(
                code_stub={"python": "raise E"}, enforce_metadata=False
            )
            theirs, _ = clear.preprocess_cell(cell, {"language": "python"}, 0)
            assert theirs.source == ours


@pytest.mark.parametrize("path", PATHS, ids=name)
def test_the_release_is_the_student_edition(release, path):
    original = read(path)
    edition = student.student_edition(copy.deepcopy(original))
    released = read(release / name(path).replace("/", "-"))
    check_nothing_leaks(original, released)
    words = student.words_for(original)
    assert len(released.cells) == len(edition.cells)
    for theirs, ours in zip(released.cells, edition.cells):
        text = ours.source.replace(words.answer, "YOUR ANSWER HERE")
        lines = []
        for line in text.split("\n"):
            if line.strip() == words.stub:
                depth = solutions.indent(line)
                lines += [depth + part for part in CODE_STUB.split("\n")]
            else:
                lines.append(line)
        assert (theirs.id, theirs.source) == (ours.id, "\n".join(lines))
        assert not theirs.get("outputs")


@pytest.mark.parametrize("path", PATHS, ids=name)
def test_nbgrader_accepts_the_metadata_and_knows_each_exercise(course, release, path):
    file = release / name(path).replace("/", "-")
    released = read(file)
    MetadataValidator().validate_nb(released)
    exercises = sum(c.id.endswith("-answer") for c in released.cells)
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        notebook = book.find_notebook(file.stem, "all")
        cells = [(c.cell_type, c.max_score) for c in notebook.grade_cells]
        assert cells.count(("code", 1)) == exercises >= 2
        assert cells.count(("markdown", 1)) == len(cells) - exercises
        answers = {c.name for c in notebook.solution_cells}
        assert {c.id for c in released.cells if c.id.endswith("-answer")} <= answers


def test_right_answers_get_their_points_and_stubs_none(course):
    nbgrader(course, "generate_assignment", "one")
    released = read(course / "release" / "one" / ONE.name)
    solved, original = copy.deepcopy(released), read(ONE)
    answers = {c.id: c.source for c in original.cells}
    for cell in solved.cells:
        if cell.id.endswith("-answer"):
            cell.source = answers[cell.id]
    for who, notebook in (("right", solved), ("stubs", released)):
        path = course / "submitted" / who / "one" / ONE.name
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    nbgrader(course, "autograde", "one", "--create")
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        scores = {
            who: book.find_submission("one", who).code_score
            for who in ("right", "stubs")
        }
    assert scores == {"right": 2, "stubs": 0}


def test_a_wrong_marker_stops_nbgrader(course):
    bad = read(ONE)
    for cell in bad.cells:
        cell.source = cell.source.replace("    ### END SOLUTION", "")
    folder = course / "source" / "bad"
    folder.mkdir()
    nbformat.write(bad, folder / ONE.name)
    with pytest.raises(AssertionError, match=r"cell 25 \(exercise-1-answer\): line 8"):
        nbgrader(course, "generate_assignment", "bad")
    assert not (course / "release" / "bad").exists()
