"""Execute notebooks: a copy for reading (`run`), or what is in git (`in-place`)."""

import argparse
import asyncio
import base64
import os
import re
import signal
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError

import needs
import run_records
from html_page import html_page
from problems import explain_os_error
from steps import Progress

ROOT = Path(__file__).resolve().parent.parent
PICTURE_TAG = "readme-picture"
# A widget is alive only as long as its kernel; what is stored is its picture.
WIDGET = "application/vnd.jupyter.widget-view+json"
KERNEL = {
    "display_name": "Python 3 (ipykernel)",
    "language": "python",
    "name": "python3",
}


class Failure(Exception):
    """A notebook that cannot be executed to its end; the text says where and why."""


class Unmet(Failure):
    """A notebook that needs a package which few have; the text names both."""


class Client(NotebookClient):
    """Executes one notebook, showing each cell as it starts."""

    def __init__(self, notebook, path, progress):
        super().__init__(
            notebook,
            kernel_name="python3",  # whatever kernel its author had
            timeout=None,
            shutdown_kernel="immediate",
            extra_arguments=["--log-level=ERROR"],  # no remarks on encryption
            resources={"metadata": {"path": str(path.parent)}},
            on_cell_start=self.show,
        )
        self.cells = sum(cell.cell_type == "code" for cell in notebook.cells)
        self.path, self.progress = path, progress
        self.index, self.count, self.interrupted = 0, 0, False

    def show(self, cell, cell_index):
        if cell.cell_type == "code":
            self.index, self.count = cell_index, self.count + 1
            name = self.path.name
            self.progress.show(f"{name}: code cell {self.count} of {self.cells}")

    def where(self):
        cell = f"cell {self.index + 1} (In [{self.count}])"
        return f"{shown(self.path)}, {cell}" if self.count else shown(self.path)

    async def async_start_new_kernel(self, **kwargs):
        # The handlers that nbclient has just set end the kernel and leave us waiting.
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop():
            self.interrupted = True
            task.cancel()

        for number in signal.SIGINT, signal.SIGTERM:
            loop.add_signal_handler(number, stop)
        await super().async_start_new_kernel(**kwargs)


def shown(path):
    """A path as a user would type it."""
    return os.path.relpath(path)


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def context(error, lines=6):
    """The last lines of a traceback, for a reader who has the notebook at hand."""
    text = plain(error.traceback).rstrip().splitlines()
    marked = [number for number, line in enumerate(text) if re.match(r"-+>", line)]
    start = max(marked[0] - 2, 0) if marked else max(len(text) - lines, 0)
    return "\n".join("    " + line for line in text[start : start + lines])


def read(path):
    try:
        notebook = nbformat.read(path, as_version=4)
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{shown(path)} cannot be read: {error}") from error
    except Exception as error:  # nbformat has no common class for what it finds
        text = str(error).splitlines()[0][:200]
        raise Failure(f"{shown(path)} is not a notebook: {text}") from error
    absent = needs.missing(notebook)
    if absent:
        raise Unmet(f"{shown(path)} {needs.reason(absent)}")
    return notebook


def execute(path, progress):
    """(notebook with new outputs, None or a sentence on where it failed)."""
    notebook = read(path)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = Client(notebook, path, progress)
    failure, start = None, time.monotonic()
    try:
        asyncio.run(client.async_execute())
    except CellExecutionError as error:
        name, value = error.ename, plain(error.evalue)
        failure = f"{client.where()}: {name}: {value}\n{context(error)}"
    except DeadKernelError:
        failure = f"{client.where()}: the kernel died. Is there enough memory?"
    except (asyncio.CancelledError, RuntimeError) as error:
        failure = f"{client.where()}: the kernel did not start: {error}"
    if client.interrupted:
        raise KeyboardInterrupt
    seconds, file = time.monotonic() - start, ROOT / "build" / "runs.json"
    write(file, run_records.updated(file, path, notebook, seconds, not failure))
    return notebook, failure


def tidy(notebook):
    """Leave nothing in a notebook that another run or another machine would change."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata.kernelspec = KERNEL
    notebook.metadata.language_info = {"name": "python"}
    for cell in notebook.cells:
        for key in "execution", "ExecuteTime":
            cell.metadata.pop(key, None)
        merged = []
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET, None)
            last = merged[-1] if merged else {}
            if output.output_type == last.get("output_type") == "stream" and (
                output.name == last.name
            ):
                last.text += output.text  # where a stream is cut is a matter of timing
            else:
                merged.append(output)
        if cell.cell_type == "code":
            cell.outputs = merged
    return notebook


def write(path, data):
    """Write a file whole or not at all, and leave it alone if nothing changes."""
    data = data if isinstance(data, bytes) else data.encode("utf-8")
    if path.exists() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    try:
        new.write_bytes(data)
        os.replace(new, path)
    finally:
        if new.exists():
            new.unlink()


def to_text(notebook):
    return nbformat.writes(notebook).rstrip("\n") + "\n"


def warn_of_stderr(notebook, path):
    """`make test` refuses such a cell, so its author hears of it now."""
    for index, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                first = plain(output.text).strip().partition("\n")[0]
                print(
                    f"{shown(path)}, cell {index + 1}: wrote to stderr, which `make "
                    f"test` refuses: {first}",
                    file=sys.stderr,
                )


def save_picture(notebook, path):
    """The figure of the cell tagged for it becomes the picture in the README."""
    for cell in notebook.cells:
        if PICTURE_TAG in cell.metadata.get("tags", []):
            for output in cell.get("outputs", []):
                if "image/png" in output.get("data", {}):
                    png = base64.b64decode(output.data["image/png"])
                    return write(ROOT / "docs" / "figure.png", png)
            raise Failure(
                f"{shown(path)}: the cell tagged {PICTURE_TAG} has no picture"
            )
    return None


def place(path):
    """Where its results go in build/: those of notebooks/en/ into en/."""
    home = ROOT / "notebooks"
    return path.relative_to(home) if home in path.parents else Path(path.name)


def run(path, progress):
    """Into build/, also when a cell failed: its error is there to be read."""
    notebook, failure = execute(path, progress)
    tidy(notebook)
    target = ROOT / "build" / place(path)
    write(target, to_text(notebook))
    write(target.with_suffix(".html"), html_page(notebook, path))
    progress.end()
    where = f"{shown(target)}, {shown(target.with_suffix('.html'))}"
    if failure:
        raise Failure(f"{failure}\nAs far as it came: {where}")
    print(f"{shown(path)} -> {where}")


def in_place(path, progress):
    """Into the notebook itself, unless a cell failed."""
    os.environ.pop("OMP_NUM_THREADS", None)  # as in the gate
    notebook, failure = execute(path, progress)
    progress.end()
    if failure:
        raise Failure(failure)
    write(path, to_text(tidy(notebook)))
    warn_of_stderr(notebook, path)
    save_picture(notebook, path)
    print(f"{shown(path)}: outputs stored")


def find(names, folders):
    """The notebooks named, and those in a folder that is named, or in all folders."""
    found = {}
    for name in names or folders:
        path = Path(name).resolve()
        found[name] = [path] if path.is_file() else sorted(path.glob("*.ipynb"))
    missing = [name for name in names if not found[name]]
    if missing:
        raise Failure(f"There is no notebook {', '.join(missing)}.")
    return [path for paths in found.values() for path in paths]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "in-place"])
    parser.add_argument("notebooks", nargs="*", help="files or folders")
    options = parser.parse_args(arguments)
    # To read, one language is enough; what is stored has to agree in both.
    action, folders = run, [ROOT / "notebooks"]
    if options.what == "in-place":
        action = in_place
        folders.append(ROOT / "notebooks" / "en")
    named = {Path(name).resolve() for name in options.notebooks}
    failures = []
    try:
        paths = find(options.notebooks, folders)
        for path in paths:
            progress = Progress()
            try:
                action(path, progress)
            except Failure as failure:
                progress.end()
                if isinstance(failure, Unmet) and path not in named:
                    print(f"{failure}: left out")
                    continue
                failures.append(path)
                print(failure, file=sys.stderr)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nInterrupted. Nothing in notebooks/ was half written.", file=sys.stderr)
        return 130
    except OSError as error:
        print(explain_os_error(error, ROOT), file=sys.stderr)
        return 1
    if failures:
        print(f"{len(failures)} of {len(paths)} notebooks failed.", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
