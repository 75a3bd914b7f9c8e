"""What a page of the web book has beyond what MyST-NB and the theme give it."""

import html
import json
import re
from pathlib import Path

import search_index
from docutils import nodes
from sphinx.util import logging

import solutions

LOGGER = logging.getLogger(__name__)
CELL = 10_000  # MyST-NB's line 30007 is line 6 of the third cell
TAG = re.compile(r"\\tag\{([^}]+)\}")
NUMBER = r"\d+\.\d+[a-z]?\.\d+"
FIGURE = re.compile(rf"(?:图|Figure )({NUMBER})")
MENTION = re.compile(rf"[（(]({NUMBER})[）)]|(?:图|Figure )({NUMBER})")
CITATION = re.compile(r"\[\d+(?:(?:, |–)\d+)*\]")
REFERENCES = ("参考文献", "References")
COLAB = "https://colab.research.google.com/github"


# Before a notebook is parsed; the file that is offered for download stays as it is


def prepare(app, docname, source):
    """Give each picture the sentence below it as its alt text; note what is folded."""
    if Path(app.env.doc2path(docname)).suffix == ".ipynb":
        notebook = json.loads(source[0])
        cells = notebook["cells"]
        for number, (cell, below) in enumerate(zip(cells, [*cells[1:], {}]), start=1):
            if cell["cell_type"] == "code":
                describe(cell, below)
                complain_of_errors(cell, (docname, number * CELL))
        app.env.site_folded[docname] = {
            number for number, cell in enumerate(cells, start=1) if is_solution(cell)
        }
        source[0] = json.dumps(notebook)


def is_solution(cell):
    if solutions.TAG in cell["metadata"].get("tags", []):
        return True
    marked = solutions.BEGIN in "".join(cell["source"])
    return cell["cell_type"] == "code" and marked


def complain_of_errors(cell, location):
    expected = "raises-exception" in cell["metadata"].get("tags", [])
    for output in cell["outputs"]:
        if output["output_type"] == "error" and not expected:
            LOGGER.warning("the cell ended in %s", output["ename"], location=location)


def describe(cell, below):
    text = "".join(below.get("source", "")) if is_text(below) else ""
    if text.startswith(("#", "**检验", "**Check")):  # something new
        text = ""
    cell["metadata"]["mystnb"] = {"image": {"alt": first_sentence(text) or "图"}}


def is_text(cell):
    return cell.get("cell_type") == "markdown"


def first_sentence(text):
    """Without the marks of Markdown; formulas as they are written."""
    first = re.sub(r"^\*\*(解答。|Solution\.)\*\*", "", text.strip().partition("\n")[0])
    plain = html.unescape(re.sub(r"[*`$]", "", first).strip())
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", plain)
    return re.match(r".*?(?:。|\. |$)", plain)[0].strip()


# Solutions are folded, text and code together


class Solution(nodes.Element):
    """What a reader has to open."""


def visit_solution(translator, node):
    word = "Solution" if translator.config.language == "en" else "解答"
    translator.body.append(f'<details class="solution"><summary>{word}</summary>\n')


def depart_solution(translator, node):
    translator.body.append("</details>\n")


def fold(app, doctree):
    """Put what neighbouring cells of a solution became into one Solution."""
    folded = app.env.site_folded.get(app.env.docname, ())
    for section in doctree.findall(nodes.section):
        cell, solution = 0, None
        for node in list(section.children):
            cell = cell_of(node, cell)
            if cell not in folded or isinstance(node, (nodes.title, nodes.section)):
                solution = None
            elif solution is None:
                solution = Solution()
                section.replace(node, solution)
                solution += node
            else:
                section.remove(node)
                solution += node


def cell_of(node, before):
    """The number of the cell that a node comes from; some nodes do not tell."""
    lines = (part.line for part in node.findall() if part.line)
    return next(lines, before * CELL) // CELL


# Formulas and figures with numbers, references, and the places that mention them


def number(app, doctree):
    """Give everything that has a number an anchor, and leave its number to MathJax."""
    titles = [node for node in doctree.children if isinstance(node, nodes.section)]
    for section in titles[1:]:
        LOGGER.warning("a second title", location=section)
    for node in doctree.findall(nodes.math_block):
        tags = TAG.findall(node.astext())
        if len(tags) > 1:
            LOGGER.warning("a formula with several numbers: %s", tags, location=node)
        for tag in tags:
            anchor(app.env, node, f"({tag})", "equation", tag)
        # Sphinx would wrap it in an environment in which \tag is an error.
        node["nowrap"] = node["no-wrap"] = True
        node.children[:] = [nodes.Text(rf"\[{node.astext()}\]")]
    for node in doctree.findall(nodes.strong):
        match = FIGURE.fullmatch(node.astext())
        if match and node.parent.astext().startswith(match[0]):
            anchor(app.env, node.parent, match[0], "figure", match[1])
    for section in doctree.findall(nodes.section):
        if section.next_node(nodes.title).astext() in REFERENCES:
            for position, item in enumerate(section.findall(nodes.list_item), start=1):
                item["ids"].append(f"reference-{position}")


def anchor(env, node, name, kind, tag):
    """Remember the page and anchor of `(10.6.1)` or `图10.6.1`.

    Without dots: an older theme takes what is after # for a CSS selector.
    """
    anchor_id = f"{kind}-{tag.replace('.', '-')}"
    if name in env.site_numbered:
        page = env.site_numbered[name][0]
        LOGGER.warning("%s is already in %s", name, page, location=node)
    node["ids"].append(anchor_id)
    env.site_numbered[name] = (env.docname, anchor_id)


def link_mentions(app, doctree, docname):
    """Where a text names a formula, a figure or a reference, it leads there."""
    references = {
        node_id for item in doctree.findall(nodes.list_item) for node_id in item["ids"]
    }
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, (nodes.paragraph, nodes.entry, nodes.strong)):
            pieces = with_links(text, targets(app, docname, text, references))
            if len(pieces) > 1:
                text.parent.replace(text, pieces)


def targets(app, docname, text, references):
    """(start, end, address) of each mention."""
    for match in MENTION.finditer(text):
        name = f"({match[1]})" if match[1] else match[0]
        page, target = app.env.site_numbered.get(name, (None, None))
        if page and text.parent.parent["ids"] != [target] != text.parent["ids"]:
            yield *match.span(), f"{'' if page == docname else page + '.html'}#{target}"
        elif not page and of_this_book(app, match[1] or match[2]):
            LOGGER.warning("there is no %s", name, location=text.parent)
    for match in CITATION.finditer(text):
        for digits in re.finditer(r"\d+", match[0]):
            if f"reference-{digits[0]}" in references:
                start, end = (match.start() + place for place in digits.span())
                yield start, end, f"#reference-{digits[0]}"


def of_this_book(app, tag):
    """Whether there is a notebook for the section of the formula or figure."""
    section = tag.rpartition(".")[0].replace(".", "-")
    return any(name.startswith(section + "-") for name in app.env.found_docs)


def with_links(text, places):
    pieces, end = [], 0
    for start, stop, address in sorted(places):
        link = nodes.reference("", text[start:stop], refuri=address, internal=True)
        pieces += [nodes.Text(text[end:start]), link]
        end = stop
    return [*pieces, nodes.Text(text[end:])]


# The row of buttons


def add_buttons(app, pagename, templatename, context, doctree):
    buttons = context["header_buttons"]
    if not context.get("page_source_suffix") == ".ipynb":
        buttons[:] = [b for b in buttons if b["label"] != "download-buttons"]
    else:
        buttons[:0] = launch_buttons(app, pagename)
    buttons[:0] = language_button(app, pagename)


def launch_buttons(app, pagename):
    """Only where it was said where the notebooks are; nothing is assumed."""
    folder = "notebooks/en" if app.config.language == "en" else "notebooks"
    places = []
    if app.config.site_repository:
        name, _, branch = app.config.site_repository.partition("@")
        place = f"{name}/blob/{branch or 'main'}/{folder}/{pagename}.ipynb"
        places.append(("Colab", f"{COLAB}/{place}"))
    if app.config.site_aistudio:
        places.append(("AI Studio", app.config.site_aistudio))
    if not places:
        return []
    links = [
        {"type": "link", "url": url, "text": name, "icon": "fas fa-rocket"}
        for name, url in places
    ]
    tooltip = "Open in" if app.config.language == "en" else "在别处打开"
    return [
        {
            "type": "group",
            "buttons": links,
            "tooltip": tooltip,
            "icon": "fas fa-rocket",
            "label": "launch-buttons",
        }
    ]


def language_button(app, pagename):
    """To the page of the same name in the other language, where there is one."""
    english = app.config.language == "en"
    other = Path(app.srcdir).parent / ("zh" if english else "en")
    # The search page is in each language, and made from no file.
    if not any(other.glob("index.*" if pagename == "search" else pagename + ".*")):
        return []
    return [
        {
            "type": "link",
            "url": f"../{pagename}.html" if english else f"en/{pagename}.html",
            "text": "中文" if english else "English",
            "tooltip": "中文" if english else "English",
            "icon": "fas fa-language",
            "label": "language-button",
        }
    ]


def start(app):
    """What the handlers remember of all pages; nothing is left of a build before."""
    app.env.site_folded = {}  # numbers of cells, by page
    app.env.site_numbered = {}  # (page, anchor), by `(10.6.1)` or `图10.6.1`
    app.env.site_sections = {}  # see search_index.py


def setup(app):
    app.add_config_value("site_repository", "", "html", [str])
    app.add_config_value("site_aistudio", "", "html", [str])
    app.add_node(Solution, html=(visit_solution, depart_solution))
    app.connect("builder-inited", start)
    app.connect("source-read", prepare)
    app.connect("doctree-read", fold)
    app.connect("doctree-read", number)
    app.connect("doctree-resolved", link_mentions)
    app.connect("doctree-resolved", search_index.collect)
    app.connect("html-page-context", add_buttons, priority=900)  # after the theme
    app.connect("build-finished", search_index.write)
    return {"parallel_read_safe": False, "parallel_write_safe": False}
