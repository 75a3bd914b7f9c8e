"""Repair an installed ``d2l.paddle``, so that the book's cells run.

What is repaired, and why, is in ``repairs``; here it is put into the module.
"""

from __future__ import annotations

import importlib
import inspect
import random
import sys
import textwrap
import warnings
from collections.abc import Iterable
from types import ModuleType
from typing import Any, Callable, List, NamedTuple

from .figures import without_echo
from .repairs import REPAIRS
from .repairs.process import EVERYTHING, switch_warnings_on

KNOWN_VERSION = "0.17.6"  # the only release with d2l.paddle
UNNEEDED, NOT_YET = "not needed", "not repaired yet"
NEEDED = tuple(r for r in REPAIRS if r.where.here)
REPLACEMENTS = tuple(r.replacement for r in NEEDED if r.replacement is not None)


def patch_d2l() -> ModuleType:
    """Repair the installed ``d2l.paddle`` in place and return it.

    What was wrong, and where, is listed by ``d2l_repairs()``; what works on the
    versions at hand is left alone. Also, d2l switches off all warnings of the process
    when it is imported: they are switched on again. Calling this twice is harmless.
    Call it right after importing d2l, or in place of that: a class that was taken from
    d2l, or subclassed, before is not repaired.

    Returns:
        The module ``d2l.paddle``.

    Raises:
        ImportError: d2l is not installed, has no ``d2l.paddle``, or something of the
            same name hides it.
        RuntimeError: this d2l lacks what is to be replaced, or its functions take
            other arguments; nothing is changed then.

    Examples:
        >>> d2l = d2l_ext.patch_d2l()
        >>> X, lens = paddle.to_tensor([[1, 2, 3]]), paddle.to_tensor([2])
        >>> d2l.sequence_mask(X, lens).tolist()
        [[1, 2, 0]]
    """
    silent_before = "d2l.paddle" not in sys.modules and EVERYTHING in warnings.filters
    module = _import_d2l_paddle()
    if _is_patched(module):
        return module
    _check_same_functions(module)
    for repair in NEEDED:
        if repair.replacement is not None:
            setattr(module, repair.name, repair.replacement)
        if repair.apply is not None:
            repair.apply(module)
    if not silent_before:
        switch_warnings_on()
    _say_if_version_is_new()
    without_echo(module)  # its text is a path on this machine
    return module


def d2l_repairs() -> Report:
    """Return what patch_d2l() repairs, as a table that prints itself.

    Returns:
        A list of rows: name, section of the book, what was wrong, on which versions,
        and how that is here: "repaired", "not needed", or "not repaired yet" where
        patch_d2l() has not been called.

    Examples:
        >>> d2l = d2l_ext.patch_d2l()
        >>> rows = d2l_ext.d2l_repairs()
        >>> [(row.name, row.here) for row in rows if row.section == "10.6"]
        [('PositionalEncoding', 'repaired')]
    """
    done = "repaired" if _is_patched(sys.modules.get("d2l.paddle")) else NOT_YET
    return Report(
        Row(
            r.name, r.section, r.wrong, r.where.text, done if r.where.here else UNNEEDED
        )
        for r in REPAIRS
    )


class Row(NamedTuple):
    """One repair, in words."""

    name: str
    section: str
    wrong: str
    versions: str
    here: str


class Report(List[Row]):
    """A list of rows whose text is a table."""

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(Row._fields, *self)]
        # The long sentences come last, and are broken.
        order = [Row._fields.index(n) for n in ("name", "section", "here", "versions")]
        start = sum(widths[i] + 2 for i in order)
        lines = []
        for row in [Row._fields, *self]:
            cells = "".join(f"{row[i]:<{widths[i]}}  " for i in order)
            lines.append(
                textwrap.fill(
                    row[Row._fields.index("wrong")],
                    start + 50,
                    initial_indent=cells,
                    subsequent_indent=" " * start,
                )
            )
        return "\n".join(lines)


def _is_patched(module: ModuleType | None) -> bool:
    names = vars(module) if module else {}
    return all(names.get(ours.__name__) is ours for ours in REPLACEMENTS)


def _import_d2l_paddle() -> ModuleType:
    """Import it without the random numbers that it draws from the process's own."""
    before = random.getstate()
    try:
        return _import_or_explain()
    finally:
        random.setstate(before)


def _import_or_explain() -> ModuleType:
    try:
        d2l = importlib.import_module("d2l")
    except ModuleNotFoundError as error:
        if error.name != "d2l":
            raise
        raise ImportError(
            "d2l is not installed: pip install --no-deps d2l==" + KNOWN_VERSION
        ) from None
    try:
        return importlib.import_module("d2l.paddle")
    except ModuleNotFoundError as error:
        if error.name != "d2l.paddle":  # its pins cannot be met, so pip left all out
            raise ImportError(
                f"d2l needs {error.name}, which is not installed: install it with pip"
            ) from None
    version = getattr(d2l, "__version__", None)
    if version is None:  # a folder or file of that name, found before the package
        where = d2l.__file__ or next(iter(d2l.__path__))
        raise ImportError(f"{where} hides the installed package d2l: rename it")
    raise ImportError(
        f"d2l {version} has no d2l.paddle: pip install --no-deps d2l=={KNOWN_VERSION}"
    )


def _check_same_functions(module: ModuleType) -> None:
    """Refuse a d2l that is built otherwise."""
    problems = []
    for ours in REPLACEMENTS:
        theirs = getattr(module, ours.__name__, None)
        if theirs is None:
            problems.append(f"{ours.__name__} is missing")
        elif not set(_arguments(ours)) <= set(_arguments(theirs)):
            problems.append(f"{ours.__name__} takes other arguments")
    if problems:
        raise RuntimeError(
            f"{module.__file__} is d2l {_version()} and not the {KNOWN_VERSION} that "
            f"patch_d2l() knows ({'; '.join(problems)}); nothing was changed"
        )


def _say_if_version_is_new() -> None:
    if _version() != KNOWN_VERSION:
        warnings.warn(
            f"patch_d2l() was made for d2l {KNOWN_VERSION} and found {_version()}: "
            "patched, but not tried",
            stacklevel=3,
        )


def _version() -> str:
    return getattr(sys.modules["d2l"], "__version__", "of no version")


def _arguments(function: Callable[..., Any]) -> Iterable[str]:
    return inspect.signature(function).parameters
