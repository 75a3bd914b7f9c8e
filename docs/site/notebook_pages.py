"""What a page of the web book has beyond what MyST-NB and the theme give it."""

import html
import json
import re
from pathlib import Path

from chinese_search import ChineseSearch
from docutils import nodes
from sphinx.search import languages

TAG = re.compile(r"\\tag\{([^}]+)\}")
NUMBER = r"\d+\.\d+[a-z]?\.\d+"
FIGURE = re.compile(rf"(?:图|Figure )({NUMBER})")
MENTION = re.compile(rf"[（(]({NUMBER})[）)]|(?:图|Figure ){NUMBER}")
COLAB = "https://colab.research.google.com/github"


# Before a notebook is parsed; the file that is offered for download stays as it is


def prepare(app, docname, source):
    """Fold solutions, and give each picture the sentence below it as its alt text."""
    if Path(app.env.doc2path(docname)).suffix == ".ipynb":
        notebook = json.loads(source[0])
        for cell, below in zip(notebook["cells"], [*notebook["cells"][1:], {}]):
            if cell["cell_type"] == "code":
                fold(cell)
                describe(cell, below)
        source[0] = json.dumps(notebook)


def fold(cell):
    tags = cell["metadata"].setdefault("tags", [])
    if "solution" in tags or "### BEGIN SOLUTION" in "".join(cell["source"]):
        tags.append("hide-cell")


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


# Formulas and figures with numbers, and the places that mention them


def number(app, doctree):
    """Give everything that has a number an anchor, and leave its number to MathJax."""
    found = numbered(app.env)
    for node in doctree.findall(nodes.math_block):
        for tag in TAG.findall(node.astext()):
            anchor(app.env, node, found, f"({tag})", f"equation-{tag}")
        # Sphinx would wrap it in an environment in which \tag is an error.
        node["nowrap"] = node["no-wrap"] = True
        node.children[:] = [nodes.Text(rf"\[{node.astext()}\]")]
    for node in doctree.findall(nodes.strong):
        match = FIGURE.fullmatch(node.astext())
        if match and node.parent.astext().startswith(match[0]):
            anchor(app.env, node.parent, found, match[0], f"figure-{match[1]}")


def numbered(env):
    """(page, anchor) by what a text calls it: `(10.6.1)` or `图10.6.1`."""
    if not hasattr(env, "site_numbered"):
        env.site_numbered = {}
    return env.site_numbered


def anchor(env, node, found, name, anchor_id):
    node["ids"].append(anchor_id)
    found[name] = (env.docname, anchor_id)


def link_mentions(app, doctree, docname):
    """Where a text names a formula or a figure of the book, it leads there."""
    found = numbered(app.env)
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, (nodes.paragraph, nodes.entry)):
            pieces = linked(app, docname, text, found)
            if len(pieces) > 1:
                text.parent.replace(text, pieces)


def linked(app, docname, text, found):
    pieces, end = [], 0
    for match in MENTION.finditer(text):
        name = f"({match[1]})" if match[1] else match[0]
        if name in found:
            page, target = found[name]
            uri = "" if page == docname else f"{page}.html"
            link = nodes.reference("", match[0], refuri=f"{uri}#{target}")
            pieces += [nodes.Text(text[end : match.start()]), link]
            end = match.end()
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
    if not any(other.glob(pagename + ".*")):
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


def setup(app):
    languages["zh"] = ChineseSearch
    app.add_config_value("site_repository", "", "html", [str])
    app.add_config_value("site_aistudio", "", "html", [str])
    app.connect("source-read", prepare)
    app.connect("doctree-read", number)
    app.connect("doctree-resolved", link_mentions)
    app.connect("html-page-context", add_buttons, priority=900)  # after the theme
    return {"parallel_read_safe": False, "parallel_write_safe": True}
