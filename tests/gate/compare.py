"""Compare the outputs stored in a notebook with those of a fresh run.

nbval collects the values of all outputs by their type, so it loses their order, and it
leaves out pictures. Here the outputs are compared one by one, exactly, pictures as
pictures.
"""

import base64
import binascii
import copy
import functools

from nbformat.v4 import output_from_msg

from . import pictures, rules

PICTURES = ("image/png", "image/jpeg")
SHOWN = 120  # characters of a text that a message quotes


class Unsupported(ValueError):
    """The kernel sent something that the gate cannot follow."""


def fresh_outputs(messages):
    """Return the outputs that a notebook would store after these iopub messages.

    Without views of widgets: what is stored, and compared, is the picture beside them.
    """
    outputs, displays, clear = [], {}, False
    for message in messages:
        kind, content = message["msg_type"], message["content"]
        if kind == "clear_output":
            clear = True
            if not content.get("wait"):
                outputs, displays, clear = [], {}, False
        elif kind == "update_display_data":
            display = content.get("transient", {}).get("display_id")
            if display not in displays:
                raise Unsupported("it updates a display of another cell")
            displays[display].data = copy.deepcopy(content["data"])
        elif kind in ("stream", "display_data", "execute_result", "error"):
            if clear:
                outputs, displays, clear = [], {}, False
            output = output_from_msg(copy.deepcopy(message))
            outputs.append(output)
            display = content.get("transient", {}).get("display_id")
            if display is not None:
                displays[display] = output
    for output in outputs:
        output.get("data", {}).pop(rules.WIDGET, None)
    return as_shown(outputs)


def as_shown(outputs):
    """Join neighbouring pieces of one stream: the kernel cuts them anywhere.

    A display that was emptied, as a progress bar is at its end, does not count.
    """
    merged = []
    for output in copy.deepcopy(outputs):
        if output.output_type == "display_data" and not output.data:
            continue
        if (
            merged
            and output.output_type == "stream"
            and merged[-1].output_type == "stream"
            and merged[-1].name == output.name
        ):
            merged[-1].text += output.text
        else:
            merged.append(output)
    return merged


def stderr_of(outputs):
    return "".join(
        o.text for o in outputs if o.output_type == "stream" and o.name == "stderr"
    )


def difference(stored, fresh, keep_pictures=lambda number, stored, fresh: ""):
    """Return the first difference of two lists of merged outputs as a clause, or None.

    keep_pictures is called with two pictures that differ and says where they are now.
    """
    for number, (expected, found) in enumerate(zip(stored, fresh), 1):
        if _kind(expected) != _kind(found):
            return (
                f"output {number} is of another kind: expected {_describe(expected)}, "
                f"found {_describe(found)}"
            )
        if expected.output_type == "stream":
            problem = _text_difference(_kind(expected), expected.text, found.text)
        elif expected.output_type == "error":
            problem = "is an error"  # two alike are still two errors
        else:
            problem = _data_difference(
                expected.data, found.data, functools.partial(keep_pictures, number)
            )
        if problem:
            return f"output {number}: {problem}"
    if len(stored) == len(fresh):
        return None
    what = "a missing" if len(stored) > len(fresh) else "an extra"
    first = max(stored, fresh, key=len)[min(len(stored), len(fresh))]
    return (
        f"{what} output: expected {len(stored)}, found {len(fresh)}; "
        f"the first is {_describe(first)}"
    )


def _kind(output):
    return output.name if output.output_type == "stream" else output.output_type


def _describe(output):
    if output.output_type == "stream":
        return f"{output.name} {_quote(output.text)}"
    if output.output_type == "error":
        return f"an error {output.ename}"
    text = output.data.get("text/plain", "")
    formats = ", ".join(sorted(output.data))
    return f"{output.output_type} ({formats}) {_quote(text)}"


def _data_difference(expected, found, keep_pictures):
    if set(expected) != set(found):
        old, new = (", ".join(sorted(data)) for data in (expected, found))
        return f"it comes in other formats: expected {old}, found {new}"
    for mime in sorted(expected):
        if mime in PICTURES:
            problem = _picture_difference(expected[mime], found[mime], keep_pictures)
        elif isinstance(expected[mime], str) and isinstance(found[mime], str):
            problem = _text_difference(mime, expected[mime], found[mime])
        elif expected[mime] != found[mime]:
            problem = f"{mime} differs"
        else:
            problem = None
        if problem:
            return problem
    return None


def _picture_difference(expected, found, keep_pictures):
    try:
        stored, fresh = _decode(expected), _decode(found)
    except (binascii.Error, ValueError) as error:
        return f"a picture is broken (not base64: {error})"
    problem = pictures.difference(stored, fresh)
    return problem and problem + keep_pictures(stored, fresh)


def _decode(text):
    return base64.b64decode("".join(text.split()), validate=True)


def _text_difference(name, expected, found):
    """Return the first line that differs, or None."""
    if expected == found:
        return None
    a, b = expected.splitlines(True), found.splitlines(True)
    line = next(
        (i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b))
    )
    old, new = (_quote("".join(lines[line : line + 1])) for lines in (a, b))
    return f"{name} differs in line {line + 1}: expected {old}, found {new}"


def _quote(text):
    if not text:
        return "nothing"
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")
