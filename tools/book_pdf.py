"""The notebooks, in their order, as one PDF, printed by Chromium: `make pdf`.

It is printed twice: the first time tells on which page each section begins, for the
list of contents.
"""

import argparse
import io
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from html import escape, unescape
from pathlib import Path

import nbformat
from nbformat.v4 import new_markdown_cell
from pypdf import PdfReader

import chromium
import pdf_text
from html_page import MATHJAX, beside, export, has_figure, language_of
from problems import Problem, explain_os_error
from run_notebooks import ROOT, Failure, find, place, shown, write

TITLES = {
    "zh": "《动手学深度学习》第10章：注意力机制（Paddle版）",
    "en": "Dive into Deep Learning, Chapter 10: Attention Mechanisms (Paddle Edition)",
}
OTHER_NUMBER = "In the English book, this chapter is chapter 11."
NO_FONT = (
    "There is no Chinese font here; on Debian and Ubuntu: sudo apt install "
    "fonts-noto-cjk."
)
# In each section, so that the list of contents is shorter without them.
IN_ALL = {"小结", "练习", "参考文献", "Summary", "Exercises", "References"}
CONTENTS = '<nav id="contents"></nav>'
TEMPLATE = f"""
{{%- extends "lab/index.html.j2" -%}}
{{%- block html_head_js -%}}{{%- endblock -%}}
{{%- block html_head_js_mermaidjs -%}}{{%- endblock -%}}
{{%- block html_head_js_mathjax -%}}
{MATHJAX.replace("</script>", "{{ resources.print_js }}</script>", 1)}
{{%- endblock -%}}
{{%- block html_head_css -%}}
{{{{ super() }}}}
<style>{{{{ resources.print_css }}}}</style>
{{%- endblock -%}}
"""


def chinese_font():
    """Whether there is one; where nothing can list fonts, the system brings its own."""
    program = shutil.which("fc-list")
    if program is None:
        return True
    command = [program, ":lang=zh", "family"]
    return bool(subprocess.run(command, stdout=subprocess.PIPE).stdout.strip())


def is_long(cell):
    """Whether its code and what it shows are better not kept on one page."""
    outputs = cell.get("outputs", [])
    lines = sum(output.get("text", "").count("\n") for output in outputs)
    return cell.source.count("\n") >= 8 and (has_figure(cell) or lines >= 8)


def whole(paths):
    """One notebook of all cells, after a title and the place of the contents."""
    notebooks = [nbformat.read(path, as_version=4) for path in paths]
    book = nbformat.from_dict(dict(notebooks[0], cells=[]))
    language = language_of(paths[0])
    title = f'<p class="title">{TITLES[language]}</p>'
    if language == "en":
        title += f'\n\n<p class="edition">{OTHER_NUMBER}</p>'
    book.cells.append(new_markdown_cell(f"{title}\n\n{CONTENTS}"))
    for path, notebook in zip(paths, notebooks):
        for number, cell in enumerate(notebook.cells):
            tags = ["long"] * is_long(cell) + ["last"] * (cell is notebook.cells[-1])
            cell.metadata.tags = [*cell.metadata.get("tags", []), *tags]
            cell.id = f"{path.stem}-{number}"[:64]
            book.cells.append(cell)
    return book


def number_headings(page):
    """Give each heading an id of its own; returns (page, [(level, id, text)])."""
    found, numbers = [], itertools.count(1)

    def renamed(match):
        level, text = int(match[1]), re.sub(r"<a class=\"anchor.*", "", match[2])
        found.append((level, f"section-{next(numbers)}", text))
        return f'<h{level} id="{found[-1][1]}">{text}</h{level}>'

    page = re.sub(r"<h([1-6])\b[^>]*>(.*?)</h\1>", renamed, page, flags=re.DOTALL)
    return page, found


def book_page(paths):
    """The page that is printed, without a list of contents, and its headings.

    Its links lead to places within it instead of other files.
    """
    css, script = beside("book_pdf.css"), beside("book_pdf.js")
    page = export(whole(paths), paths[0], TEMPLATE, print_css=css, print_js=script)
    page, headings = number_headings(page)
    # A second copy of each formula, for screen readers, would double the work.
    page = page.replace(
        "enableMenu: false", "enableMenu: false, enableAssistiveMml: false"
    )
    title = escape(TITLES[language_of(paths[0])])
    page = re.sub("<title>.*?</title>", f"<title>{title}</title>", page)
    starts = [name for level, name, _ in headings if level == 1]
    for path, start in zip(paths, starts):
        page = page.replace(f'href="{path.name}', f'href="#{start}')
    return page, headings


def with_contents(page, headings, numbers):
    """`numbers` has the page of each heading, as far as it is known."""
    lines = [
        f'<p class="level-{level}"><a href="#{name}">{text}</a>'
        f"<span>{numbers.get(name, 999)}</span></p>"
        for level, name, text in headings
        if level <= 2 and text not in IN_ALL
    ]
    return page.replace(CONTENTS, CONTENTS.replace("></", f">{''.join(lines)}</"))


def printed(page):
    """The PDF's bytes, or a Problem that names all that is not whole on its page."""
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "book.html"), Path(folder, "book.pdf")
        source.write_text(page, encoding="utf-8")
        _, said = chromium.run(
            source,
            f"--print-to-pdf={result}",
            "--no-pdf-header-footer",
            "--generate-pdf-document-outline",
            "--enable-logging=stderr",
        )
        if not result.exists():
            last = (said.strip().splitlines() or ["nothing"])[-1]
            raise Problem(f"Chromium printed nothing, and said: {last}")
        misfits = re.findall(r'"misfit: (.*?);"', said)
        if misfits:
            raise Problem("Not whole on its page:\n" + "\n".join(misfits))
        return result.read_bytes()


def pages_of(reader):
    """{id: number} of all places that a link leads to."""
    return {
        name.strip("/"): reader.get_destination_page_number(place) + 1
        for name, place in reader.named_destinations.items()
    }


def as_text(heading):
    return unescape(re.sub(r"<.*?>|\$", "", heading))


def book(paths):
    """The PDF of notebooks, as bytes."""
    page, headings = book_page(paths)
    numbers = {}
    for _ in range(3):
        pdf = printed(with_contents(page, headings, numbers))
        reader = PdfReader(io.BytesIO(pdf))
        before, numbers = numbers, pages_of(reader)
        if numbers == before:
            break
    file = io.BytesIO()
    pdf_text.correct(reader, [as_text(text) for _, _, text in headings]).write(file)
    return file.getvalue()


def target_of(paths):
    """Those in English go to a folder of their own, as with `make run`."""
    name = paths[0].stem if len(paths) == 1 else "attention"
    return ROOT / "build" / place(paths[0]).with_name(name + ".pdf")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebooks", nargs="*", help="default: all in notebooks/")
    options = parser.parse_args(arguments)
    try:
        paths = find(options.notebooks, [ROOT / "notebooks"])
        if chromium.find() is None:
            raise Problem(chromium.MISSING + ".")
        if language_of(paths[0]) == "zh" and not chinese_font():
            raise Problem(NO_FONT)
        target = target_of(paths)
        write(target, book(paths))
        print(f"{len(paths)} notebooks -> {shown(target)}")
        return 0
    except KeyboardInterrupt:
        print("\nInterrupted. No file was half written.", file=sys.stderr)
        return 130
    except (Failure, Problem) as problem:
        text = str(problem)
    except OSError as error:
        text = explain_os_error(error, ROOT)
    print(f"pdf: {text}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
