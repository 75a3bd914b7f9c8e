"""The solutions in a notebook, marked as nbgrader has it, and what replaces them.

A solution is what stands between two comments in a code cell, `### BEGIN SOLUTION` and
`### END SOLUTION`, or a whole cell with the tag `solution`: a worked answer.
"""

import ast
import io
import re
import tokenize

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
TAG = "solution"
# Whatever somebody may have meant as a marker: none may be overlooked.
MEANT = re.compile(r"\b(?:BEGIN|END)[ \t_-]*SOLUTIONS?\b", re.IGNORECASE)
# The paragraph on what to do with the solution; without one, it needs another.
ADVICE = re.compile(f"^.*`{BEGIN}`.*`{END}`.*$", re.MULTILINE)


def is_worked(cell):
    """Whether the cell is a worked answer, which students do not get."""
    return TAG in cell.metadata.get("tags", [])


def with_stubs(source, stub):
    """The code of a cell with a stub in place of each solution, and how many there are.

    A ValueError says what is wrong with the markers.
    """
    lines, blocks = source.split("\n"), find(source)
    for start, end in reversed(blocks):
        lines[start : end + 1] = [indent(lines[start]) + stub]
    stubbed = "\n".join(lines)
    if blocks:
        try:
            ast.parse(stubbed)
        except SyntaxError as error:
            raise ValueError(
                f"without the solution it is not Python: {error}"
            ) from error
    return stubbed, len(blocks)


def find(source):
    """The solutions in a code cell: the indices of the lines with the two markers."""
    lines, blocks, start = source.split("\n"), [], None
    for index in markers(source):
        number = index + 1
        if lines[index].strip() == BEGIN:
            if start is not None:
                raise ValueError(f"line {number}: a solution begins inside another")
            start = index
        elif start is None:
            raise ValueError(f"line {number}: a solution ends that never began")
        else:
            check_block(lines, start, index)
            blocks.append((start, index))
            start = None
    if start is not None:
        raise ValueError(f"line {start + 1}: a solution begins that never ends")
    return blocks


def markers(source):
    """The indices of the lines that are markers."""
    if not MEANT.search(source):
        return []
    found, lines = [], source.split("\n")
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError) as error:
        raise ValueError(f"it has a marker, and is not Python: {error}") from error
    for token in tokens:
        index = token.start[0] - 1
        if token.type == tokenize.COMMENT and MEANT.search(token.string):
            if lines[index].strip() not in (BEGIN, END):
                raise ValueError(
                    f"line {index + 1}: {lines[index].strip()!r} looks like a marker: "
                    f"expected {BEGIN!r} or {END!r}, alone on its line"
                )
            found.append(index)
        elif is_text(token) and MEANT.search(token.string):
            raise ValueError(f"line {index + 1}: a marker is inside a string")
    return found


def is_text(token):
    """Whether it is a string; Python 3.12 takes those with fields apart."""
    return tokenize.tok_name[token.type] in ("STRING", "FSTRING_MIDDLE")


def check_block(lines, start, end):
    """A stub takes the place of a block, so both must stand at the same depth."""
    depth, body = indent(lines[start]), [x for x in lines[start + 1 : end] if x.strip()]
    code = [line for line in body if not line.lstrip().startswith("#")]
    if not code:
        raise ValueError(f"line {start + 1}: the solution is empty")
    shallow = [line for line in body if not line.startswith(depth)]
    if indent(lines[end]) != depth or indent(code[0]) != depth or shallow:
        raise ValueError(
            f"line {start + 1}: the solution and its markers are indented differently"
        )


def indent(line):
    return line[: len(line) - len(line.lstrip())]


def with_advice(text, advice):
    """The text of a cell with other advice; a ValueError if a marker stands in it."""
    text = ADVICE.sub(lambda _: advice, text)
    if MEANT.search(text):
        raise ValueError("a marker is in a text: it belongs into a code cell")
    return text
