"""What static/search.js searches: the text of each section, and all that has a number.

Sphinx looks words up in an index. Chinese is written without spaces, so that words
would have to be guessed; and such an index neither knows where on a page a word is nor
how often. Our pages are few: the whole text is at hand, and all of it can be found.
"""

import json
import re
from pathlib import Path

from docutils import nodes

STYLES = re.compile(r"\\(?:math(?:bf|bb|cal|rm)|text|operatorname)\{([^{}]*)\}")
LAYOUT = re.compile(
    r"\\(?:[\[\],;!\\]|q?quad|left|right|(?:begin|end)\{[^{}]*\}(?:\{[^{}]*\})?)|&"
)
TAG = re.compile(r"\\tag\{([^{}]*)\}")


def collect(app, doctree, docname):
    """Keep [anchor, heading, text] of each section; the first is that of the page."""
    if Path(app.env.doc2path(docname)).suffix == ".ipynb":
        sections = list(doctree.findall(nodes.section))
        app.env.site_sections[docname] = [
            [section["ids"][0] if number else "", *heading_and_text(section)]
            for number, section in enumerate(sections)
        ]


def heading_and_text(section):
    heading, *rest = section.children
    parts = [node.astext() for node in rest if not isinstance(node, nodes.section)]
    texts = heading.astext(), " ".join(parts)
    return [" ".join(plain(text).split()) for text in texts]


def plain(text):
    """Formulas nearly as a reader would type them: `O(n^2)`, `(10.6.2)`."""
    return TAG.sub(r"(\1)", LAYOUT.sub(" ", STYLES.sub(r"\1", text)))


def write(app, exception):
    """In place of Sphinx's index, which its search page loads anyway."""
    if exception:
        return
    named = [[name, *place] for name, place in app.env.site_numbered.items()]
    index = json.dumps(
        {"pages": app.env.site_sections, "named": named}, ensure_ascii=False
    )
    path = Path(app.outdir) / "searchindex.js"
    path.write_text(f"Search.setIndex({index})\n", encoding="utf-8")
