"""Read a notebook of the book: its text, what it printed, its exercises."""

import re
import unicodedata
from pathlib import Path

import nbformat

FOLDER = Path(__file__).parents[1] / "notebooks"
SOLUTION = re.compile(r"( *)### BEGIN SOLUTION\n.*?### END SOLUTION", re.DOTALL)


class Notebook:
    def __init__(self, name):
        self.cells = {
            cell.id: cell for cell in nbformat.read(FOLDER / name, as_version=4).cells
        }
        self.prose = "\n".join(
            c.source for c in self.cells.values() if c.cell_type == "markdown"
        )
        self.code = [c for c in self.cells.values() if c.cell_type == "code"]

    def source(self, cell_id):
        return self.cells[cell_id].source

    def printed(self, cell_id):
        outputs = self.cells[cell_id].outputs
        return "".join(o.text for o in outputs if o.output_type == "stream")

    def headings(self):
        return re.findall(r"^(#+ .*)$", self.prose, re.MULTILINE)

    def places(self, *texts):
        """Where the texts stand in the prose; each must be there once."""
        for text in texts:
            assert self.prose.count(text) == 1, text
        return [self.prose.index(text) for text in texts]

    def references(self):
        """The numbers that are cited, and those in the list at the end."""
        text, end = re.split(r"^## (?:参考文献|References)$", self.prose, flags=re.M)
        text = re.sub(r"`[^`]*`", "", text)  # a list in code, such as [100, 24]
        cited = set()
        for group in re.findall(r"(?<![\]\w])\[([\d, –]+)\](?!\()", text):
            for part in group.split(", "):
                first, _, last = part.partition("–")
                cited |= set(range(int(first), int(last or first) + 1))
        return cited, {int(n) for n in re.findall(r"^(\d+)\. ", end, re.MULTILINE)}

    def check_style(self):
        """Code is short, narrow, and comments have no full stop."""
        for cell in self.code:
            lines = cell.source.split("\n")
            assert len(lines) <= 20, cell.id
            for line in lines:
                wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
                assert len(line) + wide <= 78, line
                assert not re.search(r"#.*(?:。|(?<!\.)\.)\s*$", line), line

    def exercise(self, number, names, body=None):
        """Run an exercise and its check; with ``body`` as somebody's own answer."""
        names = dict(names)
        answer = self.source(f"exercise-{number}-answer")
        if body is not None:
            assert len(SOLUTION.findall(answer)) == 1
            indent = SOLUTION.search(answer)[1]
            own = "\n".join(indent + line for line in body.splitlines())
            answer = SOLUTION.sub(lambda _: own, answer)
        exec(answer, names)
        exec(self.source(f"exercise-{number}-check"), names)
        return names
