"""What can be said of a notebook without running it.

Cells are numbered from 1 over all cells, text included, as a reader sees them; code
cells also carry the number that Jupyter shows: "cell 7 (In [5])".
"""

import difflib
import json
import re

import nbformat
from nbval.plugin import comment_markers, metadata_tags

IGNORE = "NBVAL_IGNORE_OUTPUT"
IGNORE_TAG = "nbval-ignore-output"

# The only tags a cell may carry. Of nbval's own there is one; the others either leave
# the cell out or say what the strict mode does anyway.
TAGS = {IGNORE_TAG, "readme-picture", "solution"}

# What a cell's metadata may hold. All else is the mark of a machine or of a moment
# (`execution`, `ExecuteTime`, `executionInfo`, …).
METADATA = {
    "tags",
    "jupyter",
    "collapsed",
    "scrolled",
    "editable",
    "deletable",
    "slideshow",
}

# What `make slides` knows; without it, a cell goes on the slide of the one before it.
SLIDE_TYPES = {"slide", "subslide", "fragment", "skip", "notes"}

# A view of a widget names a model in a kernel that is gone: nothing can show it.
WIDGET = "application/vnd.jupyter.widget-view+json"

# Another machine has another path, another process number, another device.
MACHINE = re.compile(
    r"(?<![\w.])/(?:home|root|tmp|Users)/|[A-Za-z]:\\+Users|ipykernel_\d+|\bPlace\("
)

MARKERS = sorted(
    set(comment_markers)
    | {t.upper().replace("-", "_") for t in metadata_tags}
    | {"SKIP_EXECUTION"}
)


def where(number, cell):
    """Name a cell as a reader sees it."""
    if cell.cell_type != "code":
        return f"cell {number} ({cell.cell_type})"
    count = cell.get("execution_count")
    return "cell {} (In [{}])".format(number, " " if count is None else count)


def read(path):
    """Return the notebook, or raise a ValueError that says why it is not one."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        version = raw["nbformat"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"is not a notebook ({type(error).__name__}: {error})"
        ) from error
    if version != 4:
        raise ValueError(f"is of notebook format {version}: expected 4")
    try:
        nbformat.validate(raw)
    except nbformat.ValidationError as error:
        raise ValueError(f"is not valid: {str(error).splitlines()[0]}") from error
    return nbformat.reads(json.dumps(raw), as_version=4)


def problems(notebook):
    """Yield (place, sentence); the place is "" for the notebook as a whole."""
    kernel = notebook.metadata.get("kernelspec", {}).get("name")
    if kernel != "python3":
        yield "", f"the kernel has another name: expected 'python3', found {kernel!r}"
    if "widgets" in notebook.metadata:
        yield "", "the state of widgets is stored: make notebooks leaves it out"
    code = [c for c in notebook.cells if c.cell_type == "code" and c.source.strip()]
    if not code:
        yield "", "the notebook has no code cell"
    expected = 1
    for number, cell in enumerate(notebook.cells, 1):
        place = where(number, cell)
        if cell.cell_type == "code":
            for sentence in [*_count(cell, expected), *_outputs(cell)]:
                yield place, sentence
            # One break in the counting is one message: go on from where it is now.
            expected = max(expected, (cell.get("execution_count") or 0) + 1)
        for sentence in [*_metadata(cell), *_tags(cell), *_markers(cell)]:
            yield place, sentence


def _count(cell, expected):
    """The execution counts have to be 1, 2, 3, …: run once, from the top, in order."""
    count = cell.get("execution_count")
    if not cell.source.strip():
        return ["is empty, yet has outputs"] if cell.outputs else []
    if count is None:
        return [f"was never run: expected In [{expected}], found In [ ]"]
    if count != expected:
        return [f"was run out of order: expected In [{expected}], found In [{count}]"]
    return []


def _outputs(cell):
    found = []
    for output in cell.outputs:
        if output.output_type == "error":
            found.append(f"an error is stored as output: {output.ename}")
            continue
        if output.output_type == "stream":
            texts = {output.name: output.text}
            if output.name == "stderr":
                found.append(f"a text on stderr is stored: {output.text[:80]!r}")
        else:
            texts = output.data
            if WIDGET in texts:
                found.append("a widget is stored: make notebooks leaves its picture")
        if output.get("execution_count", cell.execution_count) != cell.execution_count:
            found.append(
                "its output is of another run: "
                f"expected Out [{cell.execution_count}], "
                f"found Out [{output.execution_count}]"
            )
        for name, text in texts.items():
            if not isinstance(text, str) or _is_base64(name):
                continue
            hit = MACHINE.search(text)
            if hit:
                part = text[hit.start() : hit.end() + 20]
                found.append(f"{name} names this machine: found {part!r}")
    return found


def _is_base64(mime):
    return mime.startswith(("image/", "application/pdf")) and mime != "image/svg+xml"


def _metadata(cell):
    for key in sorted(set(cell.metadata) - METADATA):
        yield "its metadata must not hold {!r} (allowed: {})".format(
            key,
            ", ".join(sorted(METADATA)),
        )
    slideshow = cell.metadata.get("slideshow", {"slide_type": "skip"})
    if set(slideshow) != {"slide_type"} or slideshow["slide_type"] not in SLIDE_TYPES:
        yield "its slideshow must be a slide_type (allowed: {}), found {!r}".format(
            ", ".join(sorted(SLIDE_TYPES)),
            slideshow,
        )


def _tags(cell):
    tags = cell.metadata.get("tags", [])
    for tag in tags:
        if tag not in TAGS:
            yield f"the tag {tag!r} is unknown or not permitted{_meant(tag, TAGS)}"
    if IGNORE_TAG in tags:
        if cell.cell_type != "code":
            yield f"the tag {IGNORE_TAG!r} is misplaced: only a code cell has outputs"
        elif not _is_reason(cell.source.splitlines()[:1]):
            yield "it ignores its output but does not say why: expected a first comment"


def _markers(cell):
    lines = [line.strip() for line in cell.source.splitlines()]
    for number, line in enumerate(lines):
        if "#" not in line:
            continue
        comment = line[line.index("#") :].lstrip("#").strip()
        if comment == IGNORE and cell.cell_type == "code" and line.startswith("#"):
            if not _is_reason(lines[max(number - 1, 0) : number + 2]):
                yield (
                    "it ignores its output but does not say why: expected a comment "
                    f"next to # {IGNORE}"
                )
        elif _looks_like_marker(comment):
            yield (
                f"the marker {line!r} is mistyped, misplaced or not permitted: "
                f"expected # {IGNORE} alone on a line of a code cell"
            )


def _looks_like_marker(comment):
    """Whether a marker of nbval was meant; ordinary comments must not be caught."""
    words = re.findall(r"[A-Za-z][\w-]*", comment, re.ASCII)
    if any(re.match(r"nbval[_-]", word, re.IGNORECASE) for word in words):
        return True
    single = [word for word in words if "_" in word or "-" in word]
    return (
        any(_closeness(word) >= 0.8 for word in single)
        or _closeness("".join(words)) >= 0.85
    )


def _closeness(text):
    letters = re.sub(r"[^A-Z]", "", text.upper())
    return max(
        difflib.SequenceMatcher(None, letters, marker.replace("_", "")).ratio()
        for marker in MARKERS
    )


def _is_reason(lines):
    return any(
        line.startswith("#")
        and len(line.lstrip("# ")) >= 4
        and line.lstrip("# ") != IGNORE
        for line in lines
    )


def _meant(word, known):
    close = difflib.get_close_matches(word.lower().replace("_", "-"), sorted(known), 1)
    return f": did you mean {close[0]!r}?" if close else f" (allowed: {sorted(known)})"
