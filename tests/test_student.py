"""`make student`: no solution survives, and what is left runs up to the first stub.

Nothing here takes the tool's word for where a solution stands: that is read off the
originals once more, and off the order in which an exercise has its cells.
"""

import ast
import copy
import json
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Lock

import nbclient
import nbformat
import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import (
    new_code_cell,
    new_markdown_cell,
    new_notebook,
    new_raw_cell,
)

import needs
import run_notebooks
import solutions
import student
from tests.notebooks import FOLDER, SOLUTION

CHINESE = sorted(FOLDER.glob("*.ipynb"))
ENGLISH = sorted((FOLDER / "en").glob("*.ipynb"))
PATHS = CHINESE + ENGLISH
STUB = re.compile(r"^ *raise NotImplementedError\('.*'\)$", re.MULTILINE)
EXERCISE = re.compile(r"### (练习|Exercise )\d+")

# Training takes minutes, and the gate does it with the same cells. So here it is cut
# short, by a change that has to fit exactly once.
SHORTER = {
    "10-4-bahdanau-attention.ipynb": [
        ("num_epochs, grid = 0.005, 250,", "num_epochs, grid = 0.005, 1,"),
        ("for epoch in (1, 10, 50, num_epochs):", "for epoch in (1, num_epochs):"),
    ],
    "10-6d-positions.ipynb": [
        (
            "def train(model, task, num_steps=200):",
            "def train(model, task, num_steps=2):",
        )
    ],
    "10-7-transformer.ipynb": [
        ("lr, num_epochs = 0.005, 200", "lr, num_epochs = 0.005, 1")
    ],
}


def name(path):
    return str(path.relative_to(FOLDER))


def read(path):
    return nbformat.read(path, as_version=4)


@pytest.fixture(scope="module")
def editions():
    """(original, for students) of each notebook."""
    originals = {path: read(path) for path in PATHS}
    return {
        path: (original, student.student_edition(copy.deepcopy(original)))
        for path, original in originals.items()
    }


def is_worked(cell):
    return "solution" in cell.metadata.get("tags", [])


# Nothing leaks


def solution_lines(notebook):
    """Every line of every solution, and how often it stands in one."""
    texts = []
    for cell in notebook.cells:
        if is_worked(cell):
            texts.append(cell.source)
        else:
            texts += [match[0] for match in SOLUTION.finditer(cell.source)]
    return lines(texts)


def lines(texts):
    return Counter(
        line.strip() for text in texts for line in text.splitlines() if line.strip()
    )


def own_outputs(cell):
    """What was shown, as texts in JSON."""
    for output in cell.get("outputs", []):
        for shown in [output.get("text"), *output.get("data", {}).values()]:
            if isinstance(shown, str) and not shown.startswith("<Figure size"):
                yield json.dumps(shown, ensure_ascii=False)


def check_nothing_leaks(original, edition):
    """Line by line, then output by output; a line may stand elsewhere as well."""
    everywhere = lines(cell.source for cell in original.cells)
    left = lines(cell.source for cell in edition.cells)
    for line, count in solution_lines(original).items():
        assert left[line] <= everywhere[line] - count, f"left over: {line}"
    text = json.dumps(edition, ensure_ascii=False)
    shown = ["BEGIN SOLUTION", "END SOLUTION"]
    for cell in original.cells:
        if is_worked(cell) or "### BEGIN SOLUTION" in cell.source:
            shown += own_outputs(cell)
    found = [part[:80] for part in shown if part in text]
    assert not found, f"left over: {found}"


def check_exercises(edition):
    """Each exercise has an answer with a stub and a check, and ends in an empty page.

    So a solution whose markers or tag are gone is noticed without the original.
    """
    exercises, inside = [], False
    for cell in edition.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("#"):
            inside = bool(EXERCISE.match(cell.source))
            exercises += [[]] if inside else []
        if inside:
            exercises[-1].append(cell)
    pages = student.CHINESE_WORDS.answer, student.ENGLISH_WORDS.answer
    for number, cells in enumerate(exercises, 1):
        ids = [cell.id for cell in cells]
        assert ids[0] == f"exercise-{number}", ids
        (answer,) = (c for c in cells if c.id == f"exercise-{number}-answer")
        assert len(STUB.findall(answer.source)) == 1, answer.source
        assert [len(STUB.findall(c.source)) for c in cells].count(1) == 1, ids
        # All but one worked answer come behind the check; so nothing else may.
        after = cells[ids.index(f"exercise-{number}-check") + 1 :]
        assert all(c.source in pages for c in after) and len(after) <= 1, ids
    return len(exercises)


@pytest.mark.parametrize("path", PATHS, ids=name)
def test_no_solution_survives(editions, path):
    original, edition = editions[path]
    check_nothing_leaks(original, edition)
    assert check_exercises(edition) >= 2


def test_no_exercise_is_missed(editions):
    """The 21 of the book and ten of ours."""
    counts = [check_exercises(editions[path][1]) for path in CHINESE]
    assert sum(counts) == 31


def without_markers(notebook, index, *which):
    cell = copy.deepcopy(notebook.cells[index])
    for marker in which:
        cell.source = re.sub(rf" *### {marker} SOLUTION\n?", "", cell.source)
    changed = copy.deepcopy(notebook)
    changed.cells[index] = cell
    return changed


@pytest.mark.parametrize("path", PATHS, ids=name)
def test_the_leak_test_notices_a_missing_marker(editions, path):
    """One missing marker stops the tool; without both, both checks see the solution."""
    original, _ = editions[path]
    blocks = [i for i, c in enumerate(original.cells) if SOLUTION.search(c.source)]
    blocks = [i for i in blocks if original.cells[i].cell_type == "code"]
    assert len(blocks) >= 2
    for index in blocks:
        for marker, text in (("BEGIN", "never began"), ("END", "never ends")):
            ((number, cell, sentence),) = student.problems(
                without_markers(original, index, marker)
            )
            assert (number, cell.id) == (index + 1, original.cells[index].id)
            assert text in sentence
        tampered = without_markers(original, index, "BEGIN", "END")
        edition = student.student_edition(tampered)
        with pytest.raises(AssertionError, match="left over"):
            check_nothing_leaks(original, edition)
        with pytest.raises(AssertionError):
            check_exercises(edition)


@pytest.mark.parametrize("path", PATHS, ids=name)
def test_the_leak_test_notices_a_missing_tag(editions, path):
    original, _ = editions[path]
    for index, cell in enumerate(original.cells):
        if is_worked(cell):
            tampered = copy.deepcopy(original)
            tampered.cells[index].metadata.tags = []
            edition = student.student_edition(tampered)
            with pytest.raises(AssertionError, match="left over"):
                check_nothing_leaks(original, edition)
            with pytest.raises(AssertionError):
                check_exercises(edition)


@pytest.mark.parametrize("path", PATHS, ids=name)
def test_the_leak_test_notices_an_output(editions, path):
    original, edition = editions[path]
    shown = [c for c in original.cells if is_worked(c) and list(own_outputs(c))]
    if not shown:
        pytest.skip("no worked answer of it shows anything")
    for cell in shown:
        tampered = copy.deepcopy(edition)
        tampered.cells[1] = new_code_cell("1", outputs=cell.outputs)
        with pytest.raises(AssertionError, match="left over"):
            check_nothing_leaks(original, tampered)


# All else stays


def put_back(original, edition):
    """The edition with the solutions of the original in it again."""
    of_original = {cell.id: cell for cell in original.cells}
    runs, cells = worked_runs(original), []
    for cell in edition.cells:
        if cell.id in runs:
            cells += runs[cell.id]
            continue
        cell, full = copy.deepcopy(cell), of_original[cell.id].source
        for match in SOLUTION.finditer(full):
            if cell.cell_type == "code":
                assert STUB.search(cell.source)[0].startswith(match[1] + "raise")
                cell.source = STUB.sub(lambda _, m=match: m[0], cell.source, 1)
        for words in student.CHINESE_WORDS, student.ENGLISH_WORDS:
            if words.advice in cell.source:
                (advice,) = re.findall(".*### BEGIN SOLUTION.*", full)
                cell.source = cell.source.replace(words.advice, advice)
        cells.append(cell)
    return cells


def worked_runs(notebook):
    """Rows of worked answers, by the id of the first."""
    runs, last = {}, None
    for cell in notebook.cells:
        if is_worked(cell):
            last = last or cell.id
            runs.setdefault(last, []).append(cell)
        else:
            last = None
    return runs


@pytest.mark.parametrize("path", PATHS, ids=name)
def test_with_the_solutions_put_back_it_is_the_original(editions, path):
    original, edition = editions[path]
    nbformat.validate(edition)
    assert {k: v for k, v in edition.items() if k != "cells"} == {
        k: v for k, v in original.items() if k != "cells"
    }
    again = put_back(original, edition)
    assert [c.source.encode() for c in again] == [
        c.source.encode() for c in original.cells
    ]
    for cell, before in zip(again, original.cells):
        assert (cell.id, cell.cell_type) == (before.id, before.cell_type)
        assert cell.metadata == before.metadata


@pytest.mark.parametrize("path", PATHS, ids=name)
def test_outputs_go_with_solutions_and_checks_only(editions, path):
    original, edition = editions[path]
    before = {cell.id: cell for cell in original.cells}
    first = next(i for i, c in enumerate(edition.cells) if STUB.search(c.source))
    shown = 0
    for index, cell in enumerate(edition.cells):
        if cell.cell_type != "code":
            continue
        if index < first:
            assert cell.outputs == before[cell.id].outputs
            assert cell.execution_count == before[cell.id].execution_count
            shown += len(cell.outputs)
        else:
            assert cell.outputs == [] and cell.execution_count is None
            # Were anything else shown there, it should be asked whether it may stay.
            assert cell.id.endswith("-check") or not before[cell.id].outputs, cell.id
    assert shown > 0


@pytest.mark.parametrize("path", PATHS, ids=name)
def test_stubs_and_advice_are_in_the_language_of_the_notebook(editions, path):
    _, edition = editions[path]
    english = path in ENGLISH
    words = student.ENGLISH_WORDS if english else student.CHINESE_WORDS
    text = "\n".join(cell.source for cell in edition.cells)
    assert set(STUB.findall(text)) and text.count(words.advice) == 1
    assert {stub.strip() for stub in STUB.findall(text)} == {words.stub}
    for cell in edition.cells:
        if cell.cell_type == "code":
            assert code_alone(cell.source)


# It runs


def shorten(path, notebook):
    for old, new in SHORTER.get(path.name, []):
        cells = [c for c in notebook.cells if old in c.source]
        assert [c.source.count(old) for c in cells] == [1], old
        cells[0].source = cells[0].source.replace(old, new)


# Two kernels that start at the same moment may take the same port.
STARTING = Lock()


def run(path, original, edition):
    """Run a notebook as a student would: (where it stopped, what the checks printed).

    It stops at the first stub. Then the answers are put in, and nothing else: no check
    may need what only a worked answer defines.
    """
    edition = copy.deepcopy(edition)
    shorten(path, edition)
    client = nbclient.NotebookClient(
        edition,
        kernel_name="python3",
        timeout=300,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(FOLDER)}},
    )
    answers, printed, stopped = {c.id: c for c in original.cells}, {}, None
    with ExitStack() as stack:
        with STARTING:
            stack.enter_context(client.setup_kernel())
        for index, cell in enumerate(edition.cells):
            if cell.cell_type != "code":
                continue
            try:
                client.execute_cell(cell, index)
            except CellExecutionError as error:
                assert error.ename == "NotImplementedError", error
                stopped, message = cell.id, error.evalue
                break
        for index, cell in enumerate(edition.cells):
            if cell.cell_type == "code" and STUB.search(cell.source):
                cell.source = answers[cell.id].source
            if cell.cell_type == "code" and cell.id.startswith("exercise-"):
                client.execute_cell(cell, index)
                # Joined: where a kernel cuts what is printed is a matter of timing.
                printed[cell.id] = "".join(o.get("text", "") for o in cell.outputs)
    return stopped, message, printed


@pytest.fixture(scope="module")
def runs(editions):
    """Two at a time: each waits for its kernel half of the time."""
    paths = [path for path in CHINESE if not needs.missing(editions[path][0])]
    pool = ThreadPoolExecutor(2)
    yield {path: pool.submit(run, path, *editions[path]) for path in paths}
    pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("path", CHINESE, ids=name)
def test_it_stops_at_the_first_stub_and_right_answers_pass(editions, runs, path):
    original, edition = editions[path]
    if path not in runs:
        pytest.skip(needs.reason(needs.missing(original)))
    stopped, message, printed = runs[path].result()
    # A class fails where it is defined, a function where the check calls it.
    assert stopped in ("exercise-1-answer", "exercise-1-check")
    assert message in student.CHINESE_WORDS.stub
    checks = [c for c in original.cells if re.fullmatch(r"exercise-\d+-check", c.id)]
    assert len(checks) >= 2
    for cell in checks:
        assert printed[cell.id] == "".join(o.text for o in cell.outputs), cell.id


@pytest.mark.parametrize("path", ENGLISH, ids=name)
def test_english_ones_run_as_the_chinese(editions, path):
    """The code is the same but for texts and comments, so it need not run once more."""
    english, chinese = editions[path][1], editions[FOLDER / path.name][1]
    for one, other in zip(english.cells, chinese.cells):
        if one.cell_type == "code":
            assert code_alone(one.source) == code_alone(other.source), one.id


def code_alone(source):
    """What Python makes of a cell, its texts left out; `%matplotlib inline` likewise."""
    tree = ast.parse(re.sub(r"^%.*", "pass", source, flags=re.MULTILINE))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
        if isinstance(node, ast.JoinedStr):  # its fields, whatever stands between them
            fields = [v for v in node.values if isinstance(v, ast.FormattedValue)]
            node.values = sorted(fields, key=ast.dump)
    return ast.dump(tree)


# Wrong markers

FUNCTION = """\
def double(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION"""
CLASS = """\
class Net:
    ### BEGIN SOLUTION
    def forward(self, x):
        return x

    depth = 2
    ### END SOLUTION"""


def test_a_stub_stands_where_the_solution_stood():
    stubbed = "def double(x):\n    raise E"
    assert solutions.with_stubs(FUNCTION, "raise E") == (stubbed, 1)
    stubbed = "class Net:\n    raise E"
    assert solutions.with_stubs(CLASS, "raise E") == (stubbed, 1)
    both = f"{FUNCTION}\n\n\n{CLASS}\nprint(1)"
    stubbed = "def double(x):\n    raise E\n\n\nclass Net:\n    raise E\nprint(1)"
    assert solutions.with_stubs(both, "raise E") == (stubbed, 2)
    assert solutions.with_stubs("%matplotlib inline\n1", "") == (
        "%matplotlib inline\n1",
        0,
    )


WRONG = [
    (FUNCTION.replace("### BEGIN", "# no"), "line 4: a solution ends that never began"),
    (FUNCTION.replace("### END SOLUTION", ""), "line 2: a solution begins that never"),
    (
        FUNCTION.replace("    return", "    ### BEGIN SOLUTION\n    return"),
        "line 3: a solution begins inside another",
    ),
    (
        FUNCTION.replace("    ### END", "### END"),
        "line 2: the solution and its markers",
    ),
    (FUNCTION.replace("    ### BEGIN", "  ### BEGIN"), "are indented differently"),
    (FUNCTION.replace("    ###", "###"), "line 2: the solution and its markers are"),
    (FUNCTION.replace("* x\n", "* x\ndef f(x):\n"), "are indented differently"),
    (FUNCTION.replace("    return 2 * x\n", ""), "line 2: the solution is empty"),
    (FUNCTION.replace("return", "# return"), "line 2: the solution is empty"),
    (f'a = """\n{FUNCTION}"""', "line 1: a marker is inside a string"),
    ("print('### BEGIN SOLUTION')", "line 1: a marker is inside a string"),
    ("x = 1\nprint(f'{x}### END SOLUTION')", "line 2: a marker is inside a string"),
    (FUNCTION.replace("###", "##"), "'## BEGIN SOLUTION' looks like a marker"),
    (
        FUNCTION.replace("END SOLUTION", "end_solution"),
        "'### end_solution' looks like a marker",
    ),
    (FUNCTION.replace("### END", "pass ### END"), "alone on its line"),
    (FUNCTION + "\n(", "it has a marker, and is not Python"),
    (
        "a = [\n    ### BEGIN SOLUTION\n    1,\n    ### END SOLUTION\n]",
        "without the solution it is not Python",
    ),
    *[
        (FUNCTION.replace("### BEGIN SOLUTION", text), f"{text!r} looks like a marker")
        for text in (
            "### BEGIN\u00a0SOLUTION",
            "### BEGIN THE SOLUTION",
            "# begin solution",
            "### Begin Answer:",
            "### START SOLUTION",
            "### SOLUTION BEGIN",
            "### BEGIN SOLUTON",
            "### BEGN SOLUTION",
            "# ---- BEGIN SOULTION ----",
        )
    ],
    ("%%bash\n" + FUNCTION, "without the solution it is not Python"),
    *[
        (
            new_markdown_cell("x", metadata={"tags": [tag]}),
            f"the tag {tag!r} looks like",
        )
        for tag in ("Solution", "solutions", "solution ", "worked-answer", "解答")
    ],
    (new_code_cell("return 2", id="exercise-1-answer"), "an answer without a solution"),
    (new_code_cell("1  ### BEGIN HIDDEN TESTS"), "is for nbgrader alone"),
    (new_markdown_cell("=== BEGIN MARK SCHEME ==="), "is for nbgrader alone"),
    (new_markdown_cell("<!-- end solution -->"), "is in a text"),
    (new_markdown_cell("### BEGIN SOLUTION\n1\n### END SOLUTION"), "is in a text"),
    (new_markdown_cell("`### BEGIN SOLUTION`"), "a marker is in a text"),
    (new_raw_cell("### END SOLUTION"), "a marker is in a text"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty project."""
    (tmp_path / "notebooks" / "en").mkdir(parents=True)
    monkeypatch.setattr(run_notebooks, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save(folder, name, *cells, title="# 标题"):
    cells = [cell if isinstance(cell, dict) else new_code_cell(cell) for cell in cells]
    notebook = new_notebook(cells=[new_markdown_cell(title), *cells])
    nbformat.write(notebook, folder / "notebooks" / name)
    return notebook


@pytest.mark.parametrize(("cell", "sentence"), WRONG)
def test_a_wrong_marker_is_an_error_that_names_the_cell(folder, capsys, cell, sentence):
    save(folder, "good.ipynb", FUNCTION)
    bad = save(folder, "bad.ipynb", "a = 1", cell)
    assert student.main() == 1
    error = capsys.readouterr().err
    assert f"notebooks/bad.ipynb, cell 3 ({bad.cells[2].id}): " in error
    assert sentence in error and "Nothing was written." in error
    assert not (folder / "build").exists()


def test_all_errors_are_told_at_once(folder, capsys):
    bad = save(folder, "bad.ipynb", WRONG[0][0], FUNCTION, WRONG[1][0])
    worse = save(folder, "en/worse.ipynb", WRONG[2][0])
    (folder / "notebooks" / "none.ipynb").write_text("{")
    assert student.main() == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"notebooks/bad.ipynb, cell 2 ({bad.cells[1].id})")
    assert lines[1].startswith(f"notebooks/bad.ipynb, cell 4 ({bad.cells[3].id})")
    assert lines[2].startswith("notebooks/none.ipynb cannot be read: ")
    assert lines[3].startswith(
        f"notebooks/en/worse.ipynb, cell 2 ({worse.cells[1].id})"
    )


@pytest.mark.parametrize(
    "code",
    [
        "end_solution = 1\nprint(end_solution - 1)  # where solutions end",
        "x = 1  # in the end solutions agree\n# find solution",
        "print('begin solution 2')",
    ],
)
def test_words_that_only_resemble_a_marker_are_left_alone(code):
    assert solutions.with_stubs(code, "raise E") == (code, 0)
    text = "In the end solutions agree.\n\nStart the answer with x; end, answers 1."
    assert solutions.with_advice(text, "") == text


@pytest.mark.parametrize(
    "solution",
    [
        '    s = """a\nb\n"""',  # a text that goes on further left
        "    s = f(\n  1)",
        "# as an editor comments out\n    s = 1",
    ],
)
def test_only_where_a_statement_begins_its_depth_counts(solution):
    code = FUNCTION.replace("    return 2 * x", f"{solution}\n    return s")
    stubbed = "def double(x):\n    raise E"
    assert solutions.with_stubs(code, "raise E") == (stubbed, 1)


@pytest.mark.parametrize(
    "before",
    [
        "%matplotlib inline",
        "!ls '",
        "files = !ls",
        "double?",
        "%%time",
        "x = (7\n  % 2)",
        "await f()",
    ],
)
def test_lines_of_ipython_may_stand_beside_a_solution(before):
    stubbed = f"{before}\ndef double(x):\n    raise E"
    assert solutions.with_stubs(f"{before}\n{FUNCTION}", "raise E") == (stubbed, 1)


def test_what_comes_after_a_check_is_a_worked_answer_or_under_a_heading(folder, capsys):
    check = new_code_cell("assert double(1) == 2", id="exercise-1-check")
    worked = new_markdown_cell("2", metadata={"tags": ["solution"]})
    heading, more = new_markdown_cell("## 小结"), new_markdown_cell("x")
    save(folder, "a.ipynb", FUNCTION, check, worked, heading, more)
    assert student.main() == 0
    bad = save(folder, "a.ipynb", FUNCTION, check, worked, more, heading)
    assert student.main() == 1
    place = f"notebooks/a.ipynb, cell 5 ({bad.cells[4].id}): it comes after exercise-1-"
    assert place in capsys.readouterr().err


def test_a_notebook_saved_in_an_older_format_keeps_it(folder):
    """Colab's has no ids, and tags may be null."""
    notebook = save(folder, "a.ipynb", FUNCTION, new_markdown_cell("2"), "3")
    notebook.cells[2].metadata.tags = ["solution"]
    notebook.cells[3].metadata.tags = None
    notebook.nbformat_minor = 0
    for cell in notebook.cells:
        del cell["id"]
    (folder / "notebooks" / "a.ipynb").write_text(json.dumps(notebook))
    assert student.main() == 0
    text = (folder / "build" / "student" / "a.ipynb").read_text(encoding="utf-8")
    edition = json.loads(text)
    assert edition["nbformat_minor"] == 0
    assert not any("id" in cell for cell in edition["cells"])
    assert "".join(edition["cells"][2]["source"]) == student.CHINESE_WORDS.answer


def test_both_editions_are_written_and_old_ones_go(folder, capsys):
    save(folder, "a.ipynb", FUNCTION)
    save(folder, "en/a.ipynb", FUNCTION, title="# Title")
    target = folder / "build" / "student"
    target.mkdir(parents=True)
    for old in ("renamed.ipynb", "notes.txt"):
        (target / old).write_text("old")
    before = {p: p.read_bytes() for p in (folder / "notebooks").rglob("*.ipynb")}
    assert student.main() == 0
    assert "2 notebooks without solutions: build/student" in capsys.readouterr().out
    files = sorted(str(p.relative_to(target)) for p in target.rglob("*.*"))
    assert files == ["a.ipynb", "en/a.ipynb", "notes.txt"]
    for name, words in (
        ("a.ipynb", student.CHINESE_WORDS),
        ("en/a.ipynb", student.ENGLISH_WORDS),
    ):
        code = read(target / name).cells[1].source
        assert code == f"def double(x):\n    {words.stub}"
    assert {p: p.read_bytes() for p in before} == before


def test_a_folder_that_is_locked_is_a_sentence(folder, capsys, monkeypatch):
    save(folder, "a.ipynb", FUNCTION)

    def refuse(path, data):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(run_notebooks, "write", refuse)
    assert student.main() == 1
    assert "No right to write in" in capsys.readouterr().err
