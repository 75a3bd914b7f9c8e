"""``python -m d2l_ext.doctor [FOLDER]``: the page, and whether anything stops."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import traceback
from pathlib import Path
from typing import Callable

from . import folders, imports, kernels, machine, packages, shadows, variables
from .finding import Finding, found, shown
from .probe import Probe, probe
from .sentences import CHINESE, ENGLISH, SENTENCES, is_chinese

Check = Callable[[], "list[Finding]"]


def examine(where: list[Path]) -> list[Finding]:
    """Run all checks on the folders of notebooks; what stops a notebook comes first."""
    seen = probe()
    # Causes before what follows from them.
    checks: list[Check] = [
        lambda: machine.python(bool(seen.place("paddle"))),
        *_of_machine(where[0], machine.DISK_MB),
        folders.home,
        variables.variables,
        lambda: shadows.shadows(seen, where),
        *_of_packages(seen, where),
        lambda: kernels.native(seen),
        lambda: kernels.notebooks(seen, where),
        lambda: folders.runtime(seen.value("kernels").get("runtime", "")),
        folders.ipython,
        lambda: folders.notebooks(where),
        packages.no_pip,
        lambda: packages.optional(seen),
    ]
    return _sorted(checks)


def before_setup(where: Path) -> list[Finding]:
    """Run the checks that need no packages, where there is no environment yet."""
    checks: list[Check] = [
        lambda: found("no-venv"),
        lambda: machine.python(has_paddle=False),
        *_of_machine(where, machine.SETUP_MB),
        lambda: folders.notebooks([where]),
    ]
    return _sorted(checks)


def _of_machine(where: Path, megabytes: int) -> list[Check]:
    return [
        machine.avx,
        machine.memory,
        lambda: machine.disk(where, megabytes),
        folders.temporary,
    ]


def _of_packages(seen: Probe, where: list[Path]) -> list[Check]:
    return [
        packages.paddles,
        lambda: packages.missing(seen, where),
        lambda: packages.d2l_without_paddle(seen),
        lambda: packages.copies(seen, where),
        lambda: imports.imports(seen),
        lambda: imports.gpu(seen),
        lambda: imports.fonts(seen),
        lambda: packages.versions(seen),
    ]


def _sorted(checks: list[Check]) -> list[Finding]:
    findings = [finding for check in checks for finding in _isolated(check)]
    unique = {(f.name, str(f.values)): f for f in findings}
    return sorted(unique.values(), key=lambda f: not SENTENCES[f.name].stops)


def _isolated(check: Check) -> list[Finding]:
    """A check that fails is a finding, and not the end of the others."""
    try:
        return check()
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)[1:]
        # Most are called by way of a lambda, whose name tells nothing.
        name = next((f.name for f in frames if f.name != "<lambda>"), "?")
        return found(
            "check-failed", check=name, error=f"{type(error).__name__}: {error}"
        )


def page(findings: list[Finding], where: list[Path], chinese: bool) -> str:
    """All findings as text, with one line at the end that says how it stands."""
    words = CHINESE if chinese else ENGLISH
    system = f"{platform.system()} {platform.machine()}"
    names = ", ".join(shown(path) for path in where)
    version = platform.python_version()
    lines = [f"d2l_ext.doctor: Python {version}, {shown(sys.executable)}, {system}"]
    lines += [words.looked.format(folders=names), ""]
    for finding in findings:
        sentence = SENTENCES[finding.name]
        pair = sentence.chinese if chinese else sentence.english
        values = dict({"pip": packages.pip()}, **finding.values)
        what, action = (text.format(**values) for text in pair)
        lines += [f"[{words.stops if sentence.stops else words.note}] {what}"]
        lines += [f"    -> {action}", ""]
    return "\n".join([*lines, _last_line(findings, chinese)])


def _last_line(findings: list[Finding], chinese: bool) -> str:
    words = CHINESE if chinese else ENGLISH
    stops = stopping(findings)
    if not stops:
        return words.healthy.format(notes=len(findings))
    made_by_make = os.path.exists(os.path.join(sys.prefix, "made-by-make.json"))
    again = words.again if made_by_make else ""
    return words.ill.format(stops=stops, all=len(findings)) + again


def stopping(findings: list[Finding]) -> int:
    """How many of them stop a notebook."""
    return sum(SENTENCES[finding.name].stops for finding in findings)


def folders_of(given: Path) -> list[Path]:
    """A folder, and the ``notebooks`` in it, as far as notebooks are there."""
    both = [path for path in (given, given / "notebooks") if path.is_dir()]
    return [path for path in both if any(path.glob("*.ipynb"))] or [given]


def main(arguments: list[str] | None = None) -> int:
    """Print the page; return 1 if anything on it stops a notebook, else 0."""
    parser = argparse.ArgumentParser(
        prog="python -m d2l_ext.doctor", description="Find why a notebook fails here."
    )
    parser.add_argument("folder", nargs="?", default=".", help="where notebooks are")
    parser.add_argument("--before-setup", action="store_true", help="used by make")
    options = parser.parse_args(arguments)
    given = Path(options.folder).resolve()
    if not given.is_dir():
        parser.error(f"there is no folder {options.folder}")
    where = folders_of(given)
    findings = before_setup(given) if options.before_setup else examine(where)
    text = page(findings, where, is_chinese())
    try:
        print(text)
    except UnicodeEncodeError:  # a locale that says Chinese, and a terminal that cannot
        print(page(findings, where, chinese=False).encode("ascii", "replace").decode())
    return 1 if stopping(findings) else 0


if __name__ == "__main__":
    sys.exit(main())
