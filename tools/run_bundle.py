"""Run notebooks as a student of AI Studio does; with any Python that has nbclient.

    python tools/run_bundle.py FOLDER NOTEBOOK…

The kernel starts in FOLDER, and knows where a notebook lies by what Jupyter tells it.
Prints a line for each notebook: its name, the last line of its first cell, and seconds.
Its status is 1 where a cell failed, printed something else than what is stored, or drew
a text with Chinese characters, for which many machines have no font.
"""

import os
import re
import sys
import time

import nbclient
import nbformat

# Becomes a cell of its own: every text that matplotlib draws goes through this method.
LISTEN = """\
import matplotlib.text, re

def _heard(self, *args, _draw=matplotlib.text.Text.draw, **kwargs):
    if re.search('[\\u2e80-\\u9fff\\uff00-\\uffef]', self.get_text()):
        raise AssertionError('a figure has the text ' + self.get_text())
    return _draw(self, *args, **kwargs)

matplotlib.text.Text.draw = _heard
"""


def printed(cell):
    """What a cell printed or echoed; None where that differs from run to run."""
    if re.search("^ *# NBVAL_IGNORE_OUTPUT$", cell.source, re.MULTILINE):
        return None
    texts = [o.get("text") or o.get("data", {}).get("text/plain") for o in cell.outputs]
    return "".join(text for text in texts if text)


def run(path, folder):
    """Execute one notebook, and return what its first cell says in the end."""
    notebook = nbformat.read(path, as_version=4)
    stored = [printed(c) for c in notebook.cells[1:] if c.cell_type == "code"]
    notebook.cells.insert(1, nbformat.v4.new_code_cell(LISTEN))
    os.environ["JPY_SESSION_NAME"] = path
    nbclient.NotebookClient(
        notebook,
        kernel_name="python3",  # whatever its metadata say, as platforms do
        timeout=1800,
        extra_arguments=["--log-level=ERROR"],  # no remarks on encryption
        resources={"metadata": {"path": folder}},
    ).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell, before in zip(code[2:], stored):
        assert printed(cell) == before, f"{cell.id}: {printed(cell)}, not {before}"
    return printed(code[0]).rstrip("\n")


def main(folder, *paths):
    failed = False
    for path in paths:
        start = time.time()
        try:
            text = run(path, folder)
        except (nbclient.exceptions.CellExecutionError, AssertionError) as error:
            failed, text = True, re.sub(r"\x1b\[[0-9;]*m", "", str(error))[-2000:]
        seconds = round(time.time() - start)
        print(f"{os.path.basename(path)}: {text} ({seconds} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
