"""All notebooks, in their order, as one PDF, printed by Chromium: `make pdf`."""

import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

import nbformat
from nbformat.v4 import new_markdown_cell

import chromium
from html_page import MATHJAX, export
from problems import Problem, explain_os_error
from run_notebooks import ROOT, Failure, find, shown, write

TITLE = "《动手学深度学习》第10章：注意力机制（Paddle版）"
NO_FONT = (
    "There is no Chinese font here; on Debian and Ubuntu: sudo apt install "
    "fonts-noto-cjk."
)
IN_ALL = {"小结", "练习", "参考文献"}  # so that the list of contents is short
CONTENTS = '<nav id="contents"></nav>'
TEMPLATE = f"""
{{%- extends "lab/index.html.j2" -%}}
{{%- block html_head_js -%}}{{%- endblock -%}}
{{%- block html_head_js_mermaidjs -%}}{{%- endblock -%}}
{{%- block html_head_js_mathjax -%}}
{MATHJAX}
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


def whole(paths):
    """One notebook of all cells, after a title and the place of the contents."""
    notebooks = [nbformat.read(path, as_version=4) for path in paths]
    book = nbformat.from_dict(dict(notebooks[0], cells=[]))
    book.cells.append(new_markdown_cell(f'<p class="title">{TITLE}</p>\n\n{CONTENTS}'))
    for path, notebook in zip(paths, notebooks):
        for number, cell in enumerate(notebook.cells):
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

    page = re.sub(r"<h([12])\b[^>]*>(.*?)</h\1>", renamed, page, flags=re.DOTALL)
    return page, found


def book_page(paths):
    """The page that is printed, with links within it instead of between files."""
    css = Path(__file__).with_name("book_pdf.css").read_text(encoding="utf-8")
    page = export(whole(paths), paths[0], TEMPLATE, print_css=css)
    page, headings = number_headings(page)
    lines = [
        f'<p class="level-{level}"><a href="#{name}">{text}</a></p>'
        for level, name, text in headings
        if text not in IN_ALL
    ]
    page = page.replace(CONTENTS, CONTENTS.replace("></", f">{''.join(lines)}</"))
    # A second copy of each formula, for screen readers, would double the work.
    page = page.replace(
        "enableMenu: false", "enableMenu: false, enableAssistiveMml: false"
    )
    page = re.sub("<title>.*?</title>", f"<title>{escape(TITLE)}</title>", page)
    starts = [name for level, name, _ in headings if level == 1]
    for path, start in zip(paths, starts):
        page = page.replace(f'href="{path.name}', f'href="#{start}')
    return page


def print_to(target, page):
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "book.html"), Path(folder, "book.pdf")
        source.write_text(page, encoding="utf-8")
        chromium.run(
            source,
            f"--print-to-pdf={result}",
            "--no-pdf-header-footer",
            "--generate-pdf-document-outline",
        )
        if not result.exists():
            raise Problem("Chromium printed nothing. Is the machine busy? Try again.")
        write(target, result.read_bytes())


def main():
    target = ROOT / "build" / "attention.pdf"
    try:
        if chromium.find() is None:
            raise Problem(chromium.MISSING + ".")
        if not chinese_font():
            raise Problem(NO_FONT)
        print_to(target, book_page(find([], [ROOT / "notebooks"])))
        print(f"All notebooks -> {shown(target)}")
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
