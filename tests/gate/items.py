"""The pytest items of a notebook: its rules, then its code cells.

nbval executes the cells; what they left is judged here.
"""

import copy
import re
import shutil
import tempfile
import time
from pathlib import Path
from queue import Empty

import pytest
from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell, IPyNbFile

import needs

from . import compare, pictures, rules

PICTURES = Path("build", "gate")
LAST_OUTPUT = 60  # seconds between a cell's end and its last output


class GateError(Exception):
    """A complete message for the reader."""


def relative(path):
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path


def kept_pictures(path):
    """A folder for each notebook, also for two of the same name."""
    place = relative(path).with_suffix("")
    return PICTURES.joinpath(*place.parts[bool(place.anchor) :])


class Notebook(IPyNbFile):
    """A notebook: one item for the rules, then one for each code cell.

    Where a package that only some need is missing, the cells are skipped.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.broken = ""  # why the cells that follow cannot be run
        self.absent = []  # packages that only some notebooks need
        self.ipython = None
        self.messages = []  # what the kernel sent since the last cell
        self.pictures = kept_pictures(self.path)

    def collect(self):
        yield Rules.from_parent(self, name="rules")
        try:
            notebook = rules.read(self.path)
        except ValueError:
            return  # the rules say so
        numbers = [
            i for i, cell in enumerate(notebook.cells, 1) if cell.cell_type == "code"
        ]
        self.absent = needs.missing(notebook)
        for item, number in zip(super().collect(), numbers):
            # Only whether the output is ignored: every cell is run, and must not raise.
            yield Cell.from_parent(
                self,
                name=f"cell {number}",
                number=number,
                cell_num=item.cell_num,
                cell=item.cell,
                options={
                    "check": False,
                    "skip": False,
                    "check_exception": False,
                    "ignore": not item.options["check"],
                },
            )

    def setup(self):
        """The kernel is started by the first cell: the rules do not need it."""
        shutil.rmtree(self.pictures, ignore_errors=True)

    def start_kernel(self):
        self.ipython = tempfile.mkdtemp()
        with pytest.MonkeyPatch.context() as environ:
            # With this set, ipykernel does not catch what C code writes to stderr.
            environ.delenv("PYTEST_CURRENT_TEST", raising=False)
            # No settings of the user's, and no database shared by several kernels.
            environ.setenv("IPYTHONDIR", self.ipython)
            super().setup()
        self.kernel.execute_cell_input = self.execute
        self.kernel.await_reply = self.await_reply

    def execute(self, code, allow_stdin):
        """With the history, unlike nbval: else a last `;` and `_` do not work."""
        return self.kernel.kc.execute(
            code, store_history=True, stop_on_error=False, allow_stdin=allow_stdin
        )

    def teardown(self):
        super().teardown()
        if self.ipython:
            shutil.rmtree(self.ipython, ignore_errors=True)

    def await_reply(self, msg_id, timeout):
        """Wait for the end of a cell, but not for a kernel that has died."""
        end = time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            try:
                return RunningKernel.await_reply(
                    self.kernel, msg_id, max(min(1, left), 0)
                )
            except Empty:
                if left <= 0:
                    raise
                if not self.kernel.is_alive():
                    raise RuntimeError("the kernel died") from None

    def get_kernel_message(self, timeout=None, stream="iopub"):
        message = super().get_kernel_message(timeout, stream)
        self.messages.append(message)
        return message


class Rules(pytest.Item):
    """The stored notebook, before anything is run."""

    def runtest(self):
        try:
            notebook = rules.read(self.parent.path)
        except ValueError as error:
            found = [("", str(error))]
        else:
            found = list(rules.problems(notebook))
        if found:
            raise GateError("\n".join(self.line(*problem) for problem in found))

    def line(self, place, sentence):
        return f"{relative(self.parent.path)}{place and ', ' + place}: {sentence}"

    def repr_failure(self, excinfo):
        if isinstance(excinfo.value, GateError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, None, f"{relative(self.path)}: rules"


class Cell(IPyNbCell):
    """A code cell: run by nbval, judged here."""

    def __init__(self, number, **kwargs):
        super().__init__(**kwargs)
        self.number = number
        self.output_timeout = LAST_OUTPUT

    @property
    def place(self):
        return rules.where(self.number, self.cell)

    def setup(self):
        """Not nbval's, which expects the cells after a timeout to fail."""
        absent = self.parent.absent
        if absent:
            pytest.skip(f"{relative(self.parent.path)} {needs.reason(absent)}")

    def runtest(self):
        notebook = self.parent
        if notebook.broken:
            self.fail(f"was not run, because {notebook.broken}")
        stored = copy.deepcopy(self.cell.outputs)  # nbval joins streams in place
        self.cell.outputs = []
        notebook.messages.clear()
        try:
            if notebook.kernel is None:
                notebook.start_kernel()
            super().runtest()
        except Exception as error:
            self.explain(error)
        finally:
            self.cell.outputs = stored
        if notebook.timed_out:
            self.explain(None)
        problem = self.judge(compare.as_shown(stored))
        if problem:
            self.fail(problem)

    def fail(self, sentence, details=""):
        where = f"{relative(self.parent.path)}, {self.place}"
        raise GateError(f"{where}: {sentence}{details}\n\n{self.cell.source}")

    def explain(self, error):
        """Say why the cell could not be run to its end."""
        notebook = self.parent
        if notebook.timed_out:
            seconds = self.config.option.nbval_cell_timeout
            sentence = f"timed out after {seconds:g} seconds"
        elif notebook.kernel is None:
            sentence = f"the kernel did not start ({error})"
        elif not notebook.kernel.is_alive():
            sentence = "the kernel died"
        else:
            errors = [m for m in notebook.messages if m["msg_type"] == "error"]
            if not errors:
                self.fail(f"could not be run: {error}")
            raised = errors[-1]["content"]
            found = f"{raised['ename']}: {raised['evalue']}"
            trace = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(raised["traceback"]))
            self.fail(f"raised an error: expected none, found {found}", "\n" + trace)
        notebook.broken = f"{self.place} before it: {sentence}"
        self.fail(sentence)

    def judge(self, stored):
        """Return what is wrong with the fresh outputs as a clause, or None."""
        messages = self.parent.messages
        parents = [m["parent_header"].get("msg_id") for m in messages]
        own = parents[-1]  # nbval stops at the end of this cell
        of_cell = [m for m, parent in zip(messages, parents) if parent == own]
        of_others = [m for m, parent in zip(messages, parents) if parent != own]
        try:
            fresh = compare.fresh_outputs(of_cell)
            late = compare.fresh_outputs(of_others)
        except compare.Unsupported as error:
            return str(error)
        for text, writer in (
            (compare.stderr_of(fresh), "it"),
            (compare.stderr_of(late), "an earlier cell"),
        ):
            if text:
                text = text[:200]
                return f"{writer} wrote to stderr: expected nothing, found {text!r}"
        if not self.options["ignore"]:
            return compare.difference(stored, fresh, self.keep_pictures)
        if bool(stored) != bool(fresh):
            return (
                "has an output in one of the two only: "
                f"expected {len(stored)}, found {len(fresh)}"
            )
        return None

    def keep_pictures(self, output, stored, fresh):
        """Write both pictures and their difference; return where they are."""
        folder = self.parent.pictures
        folder.mkdir(parents=True, exist_ok=True)
        name = f"cell-{self.number}-output-{output}-"
        (folder / (name + "stored.png")).write_bytes(stored)
        (folder / (name + "fresh.png")).write_bytes(fresh)
        image = pictures.image_of_difference(stored, fresh)
        if image is not None:
            image.save(str(folder / (name + "difference.png")))
        return f" (see {(folder / name).as_posix()}*.png)"

    def repr_failure(self, excinfo):
        if isinstance(excinfo.value, GateError):
            return str(excinfo.value)
        text = super().repr_failure(excinfo)
        return f"{relative(self.parent.path)}, {self.place}: {text}"

    def reportinfo(self):
        return self.path, None, f"{relative(self.path)}: {self.place}"
