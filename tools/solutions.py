"""The solutions in a notebook, marked as nbgrader has it, and what replaces them.

A solution is what stands between two comments in a code cell, `### BEGIN SOLUTION` and
`### END SOLUTION`, or a whole cell with the tag `solution`: a worked answer.
"""

import ast
import difflib
import io
import re
import tokenize

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
TAG = "solution"
# Whatever somebody may have meant as a marker: none may be overlooked. In small letters
# it has to be all that a line says, as "in the end solutions agree" is no marker.
EDGE, WHOLE = "(?:BEGIN|START|END|STOP)", "(?:SOLUTIONS?|ANSWERS?)"
GAP = r"[^\w\n]*(?:_|THE\b)?[^\w\n]*"
MEANT = rf"\b{EDGE}{GAP}{WHOLE}\b|\b{WHOLE}{GAP}{EDGE}\b"
MEANT_ALONE = re.compile(rf"^[\W_]*?(?:{MEANT})[\W_]*$", re.IGNORECASE | re.MULTILINE)
MEANT = re.compile(MEANT)
ALIKE = 0.9  # of a marker with one letter wrong; "find solution" is below
# Whatever somebody may have meant as the tag.
TAG_MEANT = re.compile("solution|answer|解答|答案", re.IGNORECASE)
ANSWER = re.compile(r"exercise-\d+-answer")
CHECK = re.compile(r"exercise-\d+-check")
# Lines that are IPython's, and what of them goes before Python code.
NOT_PYTHON = re.compile(
    r"^([ \t]*)(?:(?:[\w ,]+= *)?[%!].*|[^#\n]*\?[ \t]*)$", re.MULTILINE
)
BEFORE_PYTHON = re.compile(r"^%%(?:time|timeit|capture|prun)\b")
# The paragraph on what to do with the solution; without one, it needs another.
ADVICE = re.compile(f"^.*`{BEGIN}`.*`{END}`.*$", re.MULTILINE)


def is_worked(cell):
    """Whether the cell is a worked answer, which students do not get."""
    return TAG in tags(cell)


def tags(cell):
    return cell.metadata.get("tags") or []


def unmarked(cells):
    """Yield (index, sentence) for each cell that students would get by mistake."""
    checked = None  # the exercise whose check has been passed
    for index, cell in enumerate(cells):
        name = cell.get("id", "")
        if is_worked(cell):
            continue
        strange = [tag for tag in tags(cell) if TAG_MEANT.search(tag)]
        if strange:
            yield index, f"the tag {strange[0]!r} looks like {TAG!r}: expected that"
        elif ANSWER.fullmatch(name) and not MEANT.search(cell.source):
            yield index, f"an answer without a solution: expected {BEGIN!r} in it"
        if cell.source.startswith("#") and cell.cell_type == "markdown":
            checked = None  # a heading
        elif checked:
            yield (
                index,
                f"it comes after {checked}, where worked answers are: expected the tag "
                f"{TAG!r}, or a heading above it",
            )
        checked = name if CHECK.fullmatch(name) else checked


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
            ast.parse(as_python(stubbed))
        except SyntaxError as error:
            raise ValueError(
                f"without the solution it is not Python: {error}"
            ) from error
    return stubbed, len(blocks)


def as_python(source):
    """The same lines, without what only IPython knows, as far as it stands alone."""
    try:
        ast.parse(source)
        return source
    except SyntaxError:
        source = BEFORE_PYTHON.sub("# ", source)
        return source if source.startswith("%%") else NOT_PYTHON.sub(r"\1pass", source)


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
            check_block(source, start, index)
            blocks.append((start, index))
            start = None
    if start is not None:
        raise ValueError(f"line {start + 1}: a solution begins that never ends")
    return blocks


def markers(source):
    """The indices of the lines that are markers."""
    lines = source.split("\n")
    if not any(map(is_meant, lines)):
        return []
    found = []
    for token in tokens_of(source):
        index = token.start[0] - 1
        if token.type == tokenize.COMMENT and is_meant(token.string):
            if lines[index].strip() not in (BEGIN, END):
                raise ValueError(
                    f"line {index + 1}: {lines[index].strip()!r} looks like a marker: "
                    f"expected {BEGIN!r} or {END!r}, alone on its line"
                )
            found.append(index)
        elif is_text(token) and MEANT.search(token.string):
            raise ValueError(f"line {index + 1}: a marker is inside a string")
    return found


def is_meant(text):
    """Whether a comment, or a line, is a marker, or was to be one."""
    if MEANT.search(text) or MEANT_ALONE.search(text):
        return True
    words = " ".join(re.findall(r"\w+", text.partition("#")[2])).upper()
    ends = [BEGIN.strip("# "), END.strip("# ")]
    return bool(difflib.get_close_matches(words, ends, 1, ALIKE))


def tokens_of(source):
    try:
        return list(tokenize.generate_tokens(io.StringIO(as_python(source)).readline))
    except (tokenize.TokenError, SyntaxError) as error:
        raise ValueError(f"it has a marker, and is not Python: {error}") from error


def statements(source):
    """The indices of the lines on which one begins, not those that it goes on on."""
    found, begins = set(), True
    for token in tokens_of(source):
        if token.type == tokenize.NEWLINE:
            begins = True
        elif begins and token.string.strip() and token.type != tokenize.COMMENT:
            found.add(token.start[0] - 1)
            begins = False
    return found


def is_text(token):
    """Whether it is a string; Python 3.12 takes those with fields apart."""
    return tokenize.tok_name[token.type] in ("STRING", "FSTRING_MIDDLE")


def check_block(source, start, end):
    """A stub takes the place of a block, so both must stand at the same depth."""
    lines = source.split("\n")
    depth, body = indent(lines[start]), [x for x in lines[start + 1 : end] if x.strip()]
    code = [line for line in body if not line.lstrip().startswith("#")]
    if not code:
        raise ValueError(f"line {start + 1}: the solution is empty")
    begun = [lines[index] for index in statements(source) if start < index < end]
    shallow = [line for line in begun if not line.startswith(depth)]
    if indent(lines[end]) != depth or indent(code[0]) != depth or shallow:
        raise ValueError(
            f"line {start + 1}: the solution and its markers are indented differently"
        )


def indent(line):
    return line[: len(line) - len(line.lstrip())]


def with_advice(text, advice):
    """The text of a cell with other advice; a ValueError if a marker stands in it."""
    text = ADVICE.sub(lambda _: advice, text)
    if MEANT.search(text) or MEANT_ALONE.search(text):
        raise ValueError("a marker is in a text: it belongs into a code cell")
    return text
