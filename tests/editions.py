"""Where an edition of a notebook in another language differs from the original.

Each function takes the two cells, or the two notebooks, and yields sentences. What may
differ is what a reader reads: prose, comments, and strings with Chinese in them.
"""

import ast
import base64
import re
from collections import Counter

from tests.gate import pictures

CHINESE = re.compile("[\u3000-\u303f\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
NUMBER = re.compile(r"(?<![A-Za-z0-9_.])[-+]?\d+(?:\.\d+)*(?:e[-+]?\d+)?")
# A line with one of these means something to a program.
MARKER = re.compile(r"#@\w+|### (?:BEGIN|END) SOLUTION|# NBVAL_\w+")
EQUATION = r"[(（](10\.\d\.\d+)[)）]"
FIGURE = r"(?:图|[Ff]igure )(10\.\d\w?\.\d+)"
CITED = r"(?<![\]\w])\[([\d, –]+)\](?!\()"
LISTED = r"^(\d+)\. "
LINK = r"\]\(([^)]*)\)"
# Of two ways to spell a word, the one that the English edition does not use.
OTHER_SPELLING = re.compile(
    r"\b(?:color|neighbor|center|gray|behavior|labeled|normalis|optimis|initialis"
    r"|warm-up|position-wise|feedforward|mini-batch|heatmap)\w*",
    re.IGNORECASE,
)


def frame(original, edition):
    """Everything of a notebook but what its cells say."""
    for key in "metadata", "nbformat", "nbformat_minor":
        if original[key] != edition[key]:
            yield f"{key}: {original[key]} became {edition[key]}"
    ids = [[cell.id for cell in notebook.cells] for notebook in (original, edition)]
    if ids[0] != ids[1]:
        yield f"the cells are {ids[1]}: expected {ids[0]}"
    for old, new in zip(original.cells, edition.cells):
        for key in "cell_type", "metadata", "execution_count":
            if old.get(key) != new.get(key):
                yield f"{old.id}, {key}: {old.get(key)} became {new.get(key)}"


def code(old, new):
    (tree, texts), (new_tree, new_texts) = blanked(old.source), blanked(new.source)
    if tree != new_tree:
        yield f"{old.id}: the code is another"
        return
    for text, new_text in zip(texts, new_texts):
        if text != new_text and not CHINESE.search(text):
            yield f"{old.id}: {text!r} has no Chinese, but became {new_text!r}"
    markers = [MARKER.findall(cell.source) for cell in (old, new)]
    if markers[0] != markers[1]:
        yield f"{old.id}: the markers {markers[0]} became {markers[1]}"


def blanked(source):
    """(a program's tree as text, without its strings; the strings in their order)."""
    lines = [re.sub(r"^( *)[%!].*", r"\1pass", line) for line in source.split("\n")]
    blank = Blank()
    return ast.dump(blank.visit(ast.parse("\n".join(lines)))), blank.texts


class Blank(ast.NodeTransformer):
    """Takes the text out of strings, and leaves what an f-string shows, and how."""

    def __init__(self):
        self.texts = []

    def visit_Constant(self, node):
        if not isinstance(node.value, str):
            return node
        self.texts.append(node.value)
        return ast.Constant("")

    def visit_JoinedStr(self, node):
        fields = [v for v in node.values if isinstance(v, ast.FormattedValue)]
        words = [v.value for v in node.values if isinstance(v, ast.Constant)]
        self.texts.append("{}".join(words))
        for field in fields:  # but not its format, which has to be the same
            field.value = self.visit(field.value)
        return ast.JoinedStr(fields) if fields else ast.Constant("")


def prose(old, new):
    for name, found in marks(old.source).items():
        there = marks(new.source)[name]
        if found != there:
            yield f"{old.id}, {name}: {found} became {there}"


def marks(text):
    """What of a text is the same in every language."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    words = re.sub(r"`[^`\n]+`", "", plain)
    formulas = re.sub(r"\\text\{[^}]*\}", "", words)
    in_line = re.sub(r"\$\$.*?\$\$", "", formulas, flags=re.DOTALL)
    return {
        "levels of headings": re.findall(r"^(#+) ", plain, re.MULTILINE),
        "numbers of equations": re.findall(r"\\tag\{([^}]*)\}", text),
        "equations it refers to": Counter(re.findall(EQUATION, text)),
        "figures": Counter(re.findall(FIGURE, text)),
        "references": Counter(re.findall(CITED, text)),
        "numbered points": re.findall(LISTED, text, re.MULTILINE),
        "points": len(re.findall("^ *- ", plain, re.MULTILINE)),
        "rows of tables": len(re.findall(r"^\|", plain, re.MULTILINE)),
        "links": Counter(re.findall(LINK, text)),
        "formulas": re.findall(r"\$\$(.*?)\$\$", formulas, re.DOTALL),
        "formulas in a line": Counter(re.findall(r"\$([^$]+)\$", in_line)),
        "names": Counter(re.findall("`([^`\n]+)`", plain)),
    }


def language(cell):
    """Chinese that was left, in a cell or in what it shows."""
    texts = [cell.source]
    for output in cell.get("outputs", []):
        texts += [output.get("text", ""), *map(str, output.get("data", {}).values())]
    for text in texts:
        found = CHINESE.search(text)
        if found:
            part = text[max(found.start() - 20, 0) : found.end() + 20]
            yield f"{cell.id}: there is Chinese in {part!r}"


def spelling(cell):
    """Words that the edition spells in another way; references keep their own."""
    words = re.sub(r"```.*?```|`[^`\n]+`|\]\([^)]*\)", "", cell.source, flags=re.DOTALL)
    for found in OTHER_SPELLING.findall(words.partition("## References")[0]):
        yield f"{cell.id}: {found!r} is spelled in another way elsewhere"


def outputs(old, new):
    kinds = [[kind(output) for output in cell.outputs] for cell in (old, new)]
    if kinds[0] != kinds[1]:
        yield f"{old.id}: the outputs are {kinds[1]}: expected {kinds[0]}"
    elif "# NBVAL_IGNORE_OUTPUT" not in old.source:
        for output, new_output in zip(old.outputs, new.outputs):
            yield from output_differences(old.id, output, new_output)


def kind(output):
    return output.output_type, output.get("name"), sorted(output.get("data", {}))


def output_differences(cell_id, old, new):
    data, new_data = (
        {"text": o.get("text", ""), **o.get("data", {})} for o in (old, new)
    )
    for name, text in data.items():
        if name == "image/png":
            png, new_png = map(base64.b64decode, (text, new_data[name]))
            # The same pixels may have been written by another matplotlib.
            problem = png != new_png and pictures.difference(png, new_png)
            if problem:
                yield f"{cell_id}: {problem}"
        else:
            numbers = [NUMBER.findall(t) for t in (str(text), str(new_data[name]))]
            if numbers[0] != numbers[1]:
                yield f"{cell_id}: it shows {numbers[1]}: expected {numbers[0]}"
