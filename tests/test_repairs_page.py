"""docs/d2l-repairs.md is what the table says, and its advice for cells holds."""

import subprocess
import sys

import matplotlib
import paddle
import pytest

import repairs_page
from d2l_ext.repairs import REPAIRS
from d2l_ext.repairs.cells import CELLS, NO_GPU

matplotlib.use("Agg")


def test_page_is_current():
    assert repairs_page.PAGE.read_text("utf-8") == repairs_page.page(), (
        "run: python tools/repairs_page.py"
    )


def test_page_names_every_repair_and_cell():
    lines = repairs_page.page().splitlines()
    for repair in REPAIRS:
        assert sum(line.startswith(f"| `{repair.name}` |") for line in lines) == 1
    for cell in CELLS:
        assert sum(line.startswith(f"| `{cell.line}` |") for line in lines) == 1


def run(code, names):
    exec(code, names)


def names(cell):
    found = {"paddle": paddle}
    run(cell.given, found)
    return found


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.line)
def test_change_makes_the_cell_run(cell):
    run(cell.change, names(cell))


@pytest.mark.parametrize(
    "cell",
    [c for c in CELLS if c.where.here and "initializer" not in c.line],
    ids=lambda cell: cell.line,
)
def test_line_fails_as_it_is(cell):
    if cell.where is NO_GPU:  # Paddle 2.6 ends the process
        command = [sys.executable, "-c", f"import paddle\n{cell.line}"]
        done = subprocess.run(command, stderr=subprocess.DEVNULL, check=False)
        assert done.returncode != 0
        return
    with pytest.raises((TypeError, ValueError, AssertionError, ImportError)):
        run(cell.line, names(cell))


def test_initializer_as_it_is_has_no_effect():
    (cell,) = [c for c in CELLS if "initializer" in c.line]
    for line, changes in ((cell.line, False), (cell.change, True)):
        found = names(cell)
        before = found["net"].weight.numpy().copy()
        run(line, found)
        assert (found["net"].weight.numpy() != before).any() == changes
