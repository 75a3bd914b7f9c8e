"""Reveal.js slides from the notebooks, one HTML file each, complete in itself.

The cells' `slideshow` metadata says what is on which slide. Text, code and figures of a
slide shrink together until it fits, but not below what can be read from the back row;
where there is a Chromium, each slide is then measured in it.
"""

import argparse
import functools
import importlib.util
import json
import re
import sys
import tempfile
from html import unescape
from pathlib import Path

import nbformat
from nbconvert.exporters import SlidesExporter

import chromium
from html_page import beside, export, has_figure
from problems import Problem, explain_os_error
from run_notebooks import ROOT, Failure, find, place, shown, write

PACKAGE = "sphinx_revealjs"  # its Python code is not used, only reveal.js in it
HIDDEN = "skip", "notes"  # kinds of cells
# A check is announced at the end of a text: not where its cell is not shown.
CHECK = re.compile(r"(?:^|\n\n)\*\*(?:检验|Check)[：:].*", re.DOTALL)
TEMPLATE = """
{%- extends "reveal/base.html.j2" -%}
{%- block header -%}
<!DOCTYPE html>
<html lang="{{ resources.language_code }}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ resources.metadata.name | escape }}</title>
<style>{{ resources.reveal_files["dist/reveal.css"] }}</style>
{% for css in resources.inlining.css %}<style>{{ css }}</style>{% endfor %}
{{ resources.include_css("static/index.css") }}
{{ resources.include_css("static/theme-light.css") }}
<style>{{ resources.slides_css }}</style>
</head>
{%- endblock -%}
{%- block body_header -%}
<body>
<div class="reveal">
<div class="slides">
{%- endblock -%}
{%- block body_footer -%}
</div>
</div>
<script>{{ resources.reveal_files["dist/reveal.js"] }}</script>
<script>{{ resources.reveal_files["plugin/notes/notes.js"] }}</script>
<script>{{ resources.line_breaks_js }}</script>
<script>{{ resources.slides_js }}</script>
<script>{{ resources.mathjax }}</script>
</body>
{%- endblock -%}
{%- block footer -%}
</html>
{%- endblock -%}
"""


def reveal_is_there():
    return importlib.util.find_spec(PACKAGE) is not None


@functools.lru_cache(maxsize=1)
def reveal_files():
    """The files of reveal.js that a deck needs, by name."""
    if not reveal_is_there():
        raise Problem("reveal.js is not installed: make reveal")
    spec = importlib.util.find_spec(PACKAGE)  # does not import it: that needs Sphinx
    folder = Path(spec.submodule_search_locations[0], "_static", "revealjs")
    names = "dist/reveal.css", "dist/reveal.js", "plugin/notes/notes.js"
    # A tag in a string of the scripts must not end the script that it is in.
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in names}
    return {name: re.sub("</(?=[a-z])", r"<\\/", text) for name, text in texts.items()}


def has_room(cell):
    """Whether the code and the figures of a cell go on one slide, at a good size."""
    lines = cell.source.count("\n") + 1
    heights = [
        output.get("metadata", {}).get("image/png", {}).get("height", 0)
        for output in cell.get("outputs", [])
    ]
    return lines <= 3 or not any(heights) or 25 * lines + sum(heights) < 450


def sentence_apart(cell):
    """The paragraph that says what the figure above shows, and the rest, if any.

    It is on the figure's slide even where the text is not shown, or begins another
    slide: then the rest does.
    """
    first, blank, rest = cell.source.partition("\n\n")
    kind = kind_of(cell)
    if first.startswith("#") or CHECK.match(first) or not (blank or kind in HIDDEN):
        return [cell]
    sentence = nbformat.from_dict(cell)
    sentence.source, cell.source = first, rest
    cell.id += "-rest"
    if kind in HIDDEN:
        sentence.metadata.slideshow.slide_type = "fragment"
    elif kind in ("slide", "subslide"):
        sentence.metadata.slideshow.slide_type = "-"
    return [sentence, cell] if rest else [sentence]


def kind_of(cell):
    return cell.metadata.get("slideshow", {}).get("slide_type", "-")


def figure_apart(cell):
    """The code, and what it shows as a cell that begins a slide."""
    figure = nbformat.from_dict(cell)
    figure.id += "-figure"
    figure.metadata.slideshow = {"slide_type": "subslide"}
    figure.metadata.transient = {"remove_source": True}
    cell.outputs = []
    return [cell, figure]


def split(notebook):
    """A copy whose cells are the parts that slides are made of."""
    copy = nbformat.from_dict(dict(notebook, cells=[]))
    cells = notebook.cells
    for above, cell, below in zip([{}, *cells], cells, [*cells[1:], None]):
        cell = nbformat.from_dict(cell)
        if below and kind_of(below) in HIDDEN and CHECK.search(cell.source):
            cell.source = CHECK.sub("", cell.source)
            if not cell.source:
                continue
        is_below_figure = has_figure(above) and kind_of(above) not in HIDDEN
        if cell.cell_type == "markdown" and is_below_figure:
            copy.cells += sentence_apart(cell)
        elif kind_of(cell) not in HIDDEN and not has_room(cell):
            copy.cells += figure_apart(cell)
        else:
            copy.cells.append(cell)
    return copy


def deck(notebook, path):
    """The page's text; `path` is where the notebook is."""
    if "slide" not in map(kind_of, notebook.cells):
        raise Failure(f"{shown(path)} has no cell that begins a slide")
    page = export(
        split(notebook),
        path,
        TEMPLATE,
        SlidesExporter,
        reveal_files=reveal_files(),
        slides_css=beside("slides.css"),
        slides_js=beside("slides.js"),
    )
    # Figures grow and shrink with the text around them.
    page = re.sub(
        r'<img([^>]*?)\swidth="(\d+)"([^>]*?)>',
        r'<img\1 style="width: calc(\2 * var(--pixel))"\3>',
        re.sub(r'(<img[^>]*?)\sheight="\d+"', r"\1", page),
    )
    # What a notebook calls its neighbour is a deck here.
    return re.sub(r'(<a href="[^":/]+)\.ipynb\b', r"\1.html", page)


def look(page, *options):
    """Show a deck on a page of 1280 x 720, slide after slide.

    Returns sentences on what is wrong, and what Chromium said meanwhile.
    """
    script = beside("slides_check.js")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "deck.html")
        text = page.replace("</body>", f"<script>{script}</script></body>")
        copy.write_text(text, encoding="utf-8")
        dom, errors = chromium.run(copy, *options, "--dump-dom")
    found = re.search(r'<pre id="misfits">(.*?)</pre>', dom, re.DOTALL)
    if not found:
        raise Problem("Chromium did not show the slides to their end.")
    return json.loads(unescape(found.group(1))), errors


def make(path, check):
    notebook = nbformat.read(path, as_version=4)
    page = deck(notebook, path)
    target = ROOT / "build" / "slides" / place(path).with_suffix(".html")
    write(target, page)
    if check:
        wrong, _ = look(page)
        if wrong:
            raise Failure("\n".join([f"{shown(path)}, as slides:", *wrong]))
    print(f"{shown(path)} -> {shown(target)}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebooks", nargs="*", help="default: all in notebooks/")
    options = parser.parse_args(arguments)
    status = 0
    check = chromium.find() is not None
    try:
        for path in find(options.notebooks, [ROOT / "notebooks"]):
            try:
                make(path, check)
            except (Failure, Problem) as failure:
                print(f"slides: {failure}", file=sys.stderr)
                status = 1
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nInterrupted. No file was half written.", file=sys.stderr)
        return 130
    except OSError as error:
        print(f"slides: {explain_os_error(error, ROOT)}", file=sys.stderr)
        return 1
    if not check:
        print(f"Whether each slide fits was not checked. {chromium.MISSING}.")
    return status


if __name__ == "__main__":
    sys.exit(main())
