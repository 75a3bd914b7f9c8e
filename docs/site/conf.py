"""The web book. `make site` says which language it is building."""

import sys
from importlib.resources import files
from pathlib import Path

HERE = Path(__file__).parent
TOOLS = HERE.parent.parent / "tools"
sys.path[:0] = [str(HERE), str(TOOLS)]
ENGLISH = tags.has("en")  # noqa: F821, Sphinx defines it

extensions = ["myst_nb", "notebook_pages"]
source_suffix = {".ipynb": "myst-nb", ".md": "myst-nb"}
language = "en" if ENGLISH else "zh_CN"
project = "Attention" if ENGLISH else "注意力机制"
html_title = "Attention, on PaddlePaddle" if ENGLISH else "注意力机制（飞桨版）"

# The outputs are those in the notebooks, which the gate has compared.
nb_execution_mode = "off"
nb_output_stderr = "warn"
myst_enable_extensions = ["dollarmath", "html_image"]
myst_heading_anchors = 3

html_theme = "sphinx_book_theme"
html_theme_options = {
    "home_page_in_toc": True,
    "show_navbar_depth": 1,
    "show_toc_level": 2,
    "search_bar_text": "Search" if ENGLISH else "搜索",
    "navbar_persistent": [],  # the search field is in the sidebar
    "toc_title": "On this page" if ENGLISH else "本页内容",
    "footer_content_items": [],
}
# MathJax as one file, which fetches nothing more, beside our own.
MATHJAX = Path(str(files("mathjax"))) / "static/mathjax/es5/tex-svg-full.js"
html_static_path = ["static", str(MATHJAX), str(TOOLS / "line_breaks.js")]
html_css_files = ["book.css"]
html_js_files = ["line_breaks.js", "book.js", "search.js"]
html_context = {"default_mode": "auto"}
mathjax_path = MATHJAX.name
mathjax3_config = {
    "options": {"enableMenu": False},
    "tex": {"tagIndent": "0em"},  # our widest formula then fits beside its number
}
html_sourcelink_suffix = ""
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_use_index = False
