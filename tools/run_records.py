"""What `make run` and `make notebooks` leave behind: how long, with what, and when.

Notebooks store none of it, so that they are the same wherever they were executed. It is
in build/runs.json, from which the web book's status page is made.
"""

import datetime
import hashlib
import json
import platform
from importlib import metadata
from pathlib import Path

PACKAGES = {
    "Paddle": ["paddlepaddle", "paddlepaddle-gpu"],
    "NumPy": ["numpy"],
    "matplotlib": ["matplotlib"],
}


def versions():
    """What this environment, in which the kernels run as well, consists of."""
    found = {"Python": platform.python_version()}
    for name, distributions in PACKAGES.items():
        for distribution in distributions:
            try:
                found[name] = metadata.version(distribution)
            except metadata.PackageNotFoundError:
                continue
    return found


def digest(notebook):
    """Equal for two notebooks whose code is the same, whatever their outputs."""
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return hashlib.sha256("\0".join(code).encode("utf-8")).hexdigest()


def name_of(path):
    """`10-1-attention-cues`, or `en/10-1-attention-cues` for the English edition."""
    folder = "en/" if path.parent.name == "en" else ""
    return folder + path.stem


def record(notebook, seconds, passed):
    return {
        "code": digest(notebook),
        "date": datetime.date.today().isoformat(),
        "passed": passed,
        "seconds": round(seconds, 1),
        "versions": versions(),
    }


def read(file):
    """All records by notebook; none where the file is missing or not one of ours."""
    try:
        records = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(records, dict):
        return {}
    return {name: record for name, record in records.items() if is_record(record)}


def is_record(found):
    """A file of another version of this tool may say other things of a run."""
    kinds = {"code": str, "date": str, "passed": bool, "seconds": (int, float)}
    kinds["versions"] = dict
    return isinstance(found, dict) and all(
        isinstance(found.get(key), kind) for key, kind in kinds.items()
    )


def updated(file, path, notebook, seconds, passed):
    """The text of the file with one more notebook, or one executed anew."""
    records = read(file)
    records[name_of(path)] = record(notebook, seconds, passed)
    return json.dumps(dict(sorted(records.items())), indent=1) + "\n"
