"""What nbgrader needs to take the notebooks as they are.

In the nbgrader_config.py of a course, one line is enough:

    load_subconfig("/path/to/this/clone/tools/nbgrader_config.py")

nbgrader is told by metadata which cells are answers and which are tests. The notebooks
have none of it: `nbgrader generate_assignment` sees to it, with the class below, from
the markers, tags and names of the cells.
"""

import re
import sys
from pathlib import Path

from nbgrader.converters import GenerateAssignment
from nbgrader.preprocessors import NbGraderPreprocessor

sys.path.insert(0, str(Path(__file__).resolve().parent))

import solutions
import student

# Points for the check of an exercise, which is graded at once, and for what is written
# about it, which is graded by hand.
CHECK_POINTS, WRITTEN_POINTS = 1, 1
CHECK = re.compile(r"exercise-\d+-check")


class MarkExercises(NbGraderPreprocessor):
    """Gives a notebook the metadata that nbgrader looks for."""

    def preprocess(self, notebook, resources):
        """Stubs for the solutions, and no outputs, come from nbgrader itself."""
        wrong = [
            f"cell {number} ({cell.get('id')}): {sentence}"
            for number, cell, sentence in student.problems(notebook)
        ]
        if not all("id" in cell for cell in notebook.cells):
            wrong.append("its cells have no ids: save it once in JupyterLab")
        if wrong:
            raise ValueError("\n".join([resources["metadata"]["name"], *wrong]))
        words = student.words_for(notebook)
        written = {c.id for c in notebook.cells if solutions.is_worked(c)}
        notebook.cells = student.without_worked(notebook, words.answer)
        for cell in notebook.cells:
            if cell.id in written:
                mark(cell, solution=True, points=WRITTEN_POINTS)
            elif cell.cell_type != "code":
                cell.source = solutions.with_advice(cell.source, words.advice)
            elif solutions.find(cell.source):
                mark(cell, solution=True)
            elif CHECK.fullmatch(cell.id):
                mark(cell, points=CHECK_POINTS)
        return notebook, resources


def mark(cell, solution=False, points=None):
    """An answer, a test, or, with both, a text that is graded by hand."""
    cell.metadata.nbgrader = {
        "schema_version": 3,
        "grade_id": cell.id,
        "solution": solution,
        "grade": points is not None,
        "locked": not solution,
        "task": False,
        **({} if points is None else {"points": points}),
    }


c = get_config()  # noqa: F821
c.GenerateAssignment.preprocessors = [
    MarkExercises,
    *GenerateAssignment.preprocessors.default(),
]
