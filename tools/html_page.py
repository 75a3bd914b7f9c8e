"""One HTML page from an executed notebook, complete in itself: it opens offline.

nbconvert's own page fetches MathJax from the network. This one carries it, about 2 MB,
so that formulas look as they do in JupyterLab wherever the file is taken.
"""

import functools
import logging
import re
from importlib.resources import files
from pathlib import Path

from jinja2 import DictLoader
from nbconvert.exporters import HTMLExporter

MATHJAX = r"""
<script>
{{ resources.line_breaks_js }}
MathJax = {
  tex: {
    inlineMath: [["$", "$"], ["\\(", "\\)"]],
    processEscapes: true
  },
  options: { enableMenu: false },
  startup: { pageReady: () => MathJax.startup.defaultPageReady().then(keepPunctuation) }
};
</script>
<script>{{ resources.mathjax }}</script>
"""

PAGE = f"""
{{%- extends "lab/index.html.j2" -%}}
{{%- block html_head_js -%}}{{%- endblock -%}}
{{%- block html_head_js_mermaidjs -%}}{{%- endblock -%}}
{{%- block html_head_js_mathjax -%}}
{MATHJAX}
<style>
/* No scroll bar beside a text with formulas; one that is too wide gets its own. */
.jp-RenderedMarkdown {{ overflow: visible; }}
mjx-container[display="true"] {{ overflow-x: auto; overflow-y: hidden; }}
</style>
{{%- endblock -%}}
"""


# What nbconvert writes at each figure; the text below it says what to see.
NO_ALT = 'alt="No description has been provided for this image"'
FIGURE = {"en": "figure", "zh": "图"}


@functools.lru_cache(maxsize=1)
def mathjax():
    # -full: the smaller one would fetch TeX extensions when a formula needs them.
    path = files("mathjax") / "static" / "mathjax" / "es5" / "tex-svg-full.js"
    return path.read_text(encoding="utf-8")


def beside(name):
    """The text of a file that lies with this one."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def language_of(path):
    """That of a notebook: its folder says it."""
    return "en" if path.parent.name == "en" else "zh"


def has_figure(cell):
    outputs = cell.get("outputs", [])
    return any("image/png" in output.get("data", {}) for output in outputs)


def title_of(notebook, default):
    """The first heading, as plain text."""
    for cell in notebook.cells:
        match = re.search(r"^#+ +(.+)$", cell.source, re.MULTILINE)
        if cell.cell_type == "markdown" and match:
            return re.sub(r"[`*$]", "", match.group(1)).strip()
    return default


def export(notebook, path, template, kind=HTMLExporter, **options):
    """What the template makes of a notebook, whose pictures are put into the text.

    `path` is where the notebook is, for pictures in its text; its folder says which
    language it is in. `options` are for the template, as `resources`.
    """
    language = language_of(path)
    exporter = kind(
        template_file="page.html.j2",
        extra_loaders=[DictLoader({"page.html.j2": template})],
        embed_images=True,
        language_code=language,
    )
    exporter.log.setLevel(logging.ERROR)  # it warns of every figure without alt text
    metadata = {"name": title_of(notebook, path.stem), "path": str(path.parent)}
    scripts = {"mathjax": mathjax(), "line_breaks_js": beside("line_breaks.js")}
    resources = {"metadata": metadata, **scripts, **options}
    page = exporter.from_notebook_node(notebook, resources=resources)[0]
    return page.replace(NO_ALT, f'alt="{FIGURE[language]}"')


def html_page(notebook, path):
    return export(notebook, path, PAGE)
