"""pytest hooks: refuse the ways to run that would not test, and hand notebooks over."""

import os
from pathlib import Path

import pytest
from nbval.plugin import IPyNbFile

from . import items

FOLDER = "notebooks"  # must not be empty where it is to be tested
KERNEL_STARTUP = 180  # seconds; nbval's 60 are too few for a loaded machine
SPLITTING = ("load", "worksteal", "loadgroup", "each")


def pytest_configure(config):
    option = config.option
    if option.nbval_lax:
        raise pytest.UsageError(
            "--nbval-lax compares nothing: run the gate with --nbval"
        )
    if option.nbval_sanitize_with or option.sanitize_with:
        raise pytest.UsageError(
            "--nbval-sanitize-with: outputs are compared exactly, none may be replaced"
        )
    if option.nbval:
        if getattr(option, "dist", "no") in SPLITTING:
            raise pytest.UsageError(
                f"--dist {option.dist} splits the cells of a notebook between "
                "processes: expected --dist loadfile"
            )
        option.nbval_kernel_startup_timeout = max(
            option.nbval_kernel_startup_timeout, KERNEL_STARTUP
        )
    # Where it is more than 1, Paddle writes a warning, and the last digits may differ.
    os.environ.pop("OMP_NUM_THREADS", None)
    _check_not_empty(config)


def _check_not_empty(config):
    """Only the empty folder itself can be found out: pytest passes without a word."""
    args = config.args
    if config.args_source is config.ArgsSource.TESTPATHS:
        args = [str(config.rootpath / path) for path in config.getini("testpaths")]
    for arg in args:
        path = Path(arg.split("::")[0])
        if path.name == FOLDER and not any(path.glob("**/*.ipynb")):
            raise pytest.UsageError(f"{path} holds no notebook to test")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    """Replace nbval's collector by the one of the gate."""
    collectors = yield
    if file_path.suffix != ".ipynb":
        return collectors
    if not parent.config.option.nbval:
        raise pytest.UsageError(
            f"{items.relative(file_path)} was not tested: expected --nbval"
        )
    return [
        items.Notebook.from_parent(parent, path=file_path)
        if isinstance(found, IPyNbFile)
        else found
        for found in collectors
    ]


def pytest_keyboard_interrupt():
    print("\nInterrupted: the processes are being stopped. Nothing was changed.")


def pytest_terminal_summary(terminalreporter):
    failed = {
        report.fspath
        for report in terminalreporter.getreports("failed")
        if report.fspath.endswith(".ipynb")
    }
    for path in sorted(failed):
        terminalreporter.write_line(f"If the change is meant: make notebooks NB={path}")
