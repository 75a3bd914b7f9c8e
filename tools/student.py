"""Write the notebooks for students, without solutions, into build/student/."""

import copy
import re
import sys
from typing import NamedTuple

import nbformat

import run_notebooks
import solutions
from problems import explain_os_error

ENGLISH = "en"  # the folder of the English edition
OF_NBGRADER = re.compile("BEGIN (?:HIDDEN TESTS|MARK SCHEME)")


class Words(NamedTuple):
    """What students find where something was taken out."""

    stub: str
    advice: str
    answer: str


CHINESE_WORDS = Words(
    stub="raise NotImplementedError('把这一行换成你的代码，再运行检查')",
    advice="下面每道练习有一个检查。把抛出`NotImplementedError`的那一行换成你自己的代码，再运行检查；"
    "没有换的时候，运行到那里就会停下。解答写在检查之后的单元格里。",
    answer="**你的解答：** 双击这里，写下你的解答和理由。",
)
ENGLISH_WORDS = Words(
    stub="raise NotImplementedError('replace this by your code, run the check')",
    advice="Each exercise below has a check. Replace the line that raises "
    "`NotImplementedError` by your own code, then run the check; until you do, the "
    "notebook stops there. Write your solution into the cell after the check.",
    answer="**Your solution:** double-click here, write it down with your reasons.",
)


def words_for(notebook):
    """By the language of the headings: no metadata tells it."""
    prose = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    chinese = re.search(r"^#+ .*[\u4e00-\u9fff]", prose, re.MULTILINE)
    return CHINESE_WORDS if chinese else ENGLISH_WORDS


def problems(notebook):
    """Yield (cell number, cell, sentence) for each cell with which students would get
    a solution, or which could not be written for them."""
    for index, sentence in solutions.unmarked(notebook.cells):
        yield index + 1, notebook.cells[index], sentence
    for number, cell in enumerate(notebook.cells, 1):
        try:
            if cell.cell_type == "code":
                solutions.with_stubs(cell.source, "pass")
            else:
                solutions.with_advice(cell.source, "")
        except ValueError as error:
            yield number, cell, str(error)


def not_for_students(notebook):
    """The same, and what nbgrader would take away, and make student would leave."""
    yield from problems(notebook)
    for number, cell in enumerate(notebook.cells, 1):
        for found in OF_NBGRADER.findall(cell.source):
            yield number, cell, f"{found!r} is for nbgrader alone: load it there"


def without_worked(notebook, answer):
    """The cells of the notebook, copied, with the worked answers left out.

    Each row of them becomes one cell to write in, which has the id of the first.
    """
    cells, inside = [], False
    for cell in notebook.cells:
        if not solutions.is_worked(cell):
            cells.append(copy.deepcopy(cell))
        elif not inside:
            cells.append(nbformat.v4.new_markdown_cell(answer))
            del cells[-1]["id"]
            if "id" in cell:  # Colab writes a format without
                cells[-1].id = cell.id
        inside = solutions.is_worked(cell)
    return cells


def student_edition(notebook):
    """The notebook without solutions.

    A notebook that is run from the top stops at the first stub. So from there on no
    outputs are left, above all not those of the checks, which nobody has passed yet.
    """
    words, stubs = words_for(notebook), 0
    edition = copy.copy(notebook)
    edition.cells = without_worked(notebook, words.answer)
    for cell in edition.cells:
        if cell.cell_type != "code":
            cell.source = solutions.with_advice(cell.source, words.advice)
            continue
        cell.source, count = solutions.with_stubs(cell.source, words.stub)
        stubs += count
        if stubs:
            cell.outputs, cell.execution_count = [], None
    return edition


def find(folder):
    """The originals, of both editions."""
    return sorted(folder.glob("*.ipynb")) + sorted((folder / ENGLISH).glob("*.ipynb"))


def read_all(paths):
    """The notebooks by path; a Failure has all that is wrong with them."""
    notebooks, wrong = {}, []
    for path in paths:
        try:
            notebooks[path] = nbformat.read(path, as_version=4)
        except Exception as error:  # nbformat has no common class for what it finds
            first = str(error).partition("\n")[0][:200]
            wrong.append(f"{run_notebooks.shown(path)} cannot be read: {first}")
            continue
        for number, cell, sentence in not_for_students(notebooks[path]):
            place = f"{run_notebooks.shown(path)}, cell {number} ({cell.get('id')})"
            wrong.append(f"{place}: {sentence}")
    if wrong:
        raise run_notebooks.Failure("\n".join(wrong))
    return notebooks


def main():
    source = run_notebooks.ROOT / "notebooks"
    target = run_notebooks.ROOT / "build" / "student"
    try:
        notebooks = read_all(find(source))
        written = {
            target / path.relative_to(source): student_edition(notebook)
            for path, notebook in notebooks.items()
        }
        for path in sorted(target.rglob("*.ipynb")):
            if path not in written:
                path.unlink()  # of a notebook that is gone or has another name
        for path, edition in written.items():
            run_notebooks.write(path, run_notebooks.to_text(edition))
    except run_notebooks.Failure as failure:
        print(f"{failure}\nNothing was written.", file=sys.stderr)
        return 1
    except OSError as error:
        print(explain_os_error(error, run_notebooks.ROOT), file=sys.stderr)
        return 1
    print(f"{len(written)} notebooks without solutions: {run_notebooks.shown(target)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
