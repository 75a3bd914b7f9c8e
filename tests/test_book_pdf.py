"""`make pdf`: what is printed, and in the PDF that Chromium makes: text, fonts, pages."""

import re
import unicodedata
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import book_pdf
import chromium
import html_page
import run_notebooks

ROOT = Path(__file__).resolve().parent.parent
# All of them are printed by `make pdf`; to print and read 160 pages here takes minutes.
NOTEBOOKS = sorted((ROOT / "notebooks").glob("10-[16]-*.ipynb"))
CHINESE = re.compile(r"[\u4e00-\u9fff]")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    for module in book_pdf, run_notebooks:
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    for name, title in [("10-1-a", "10.1 甲"), ("10-2-b", "10.2 乙")]:
        cells = [
            new_markdown_cell(
                f"# {title}\n\n[乙](10-2-b.ipynb)\n\n## `x`之后\n\n$x_1$"
            ),
            new_code_cell("print(1)"),
            new_markdown_cell("## 小结\n\n### 再小一些"),
        ]
        for number, cell in enumerate(cells):
            cell.id = f"cell-{number}"  # the same in each, as `title` is
        path = tmp_path / "notebooks" / f"{name}.ipynb"
        nbformat.write(new_notebook(cells=cells), path)
    return tmp_path


def paths(folder):
    return sorted((folder / "notebooks").glob("*.ipynb"))


def test_the_page_lists_its_sections_and_links_within_itself(folder):
    page = book_pdf.book_page(paths(folder))
    contents = re.search('<nav id="contents">(.*?)</nav>', page, re.DOTALL)[1]
    listed = re.findall(r'class="level-(\d)"><a href="#(.*?)">(.*?)</a>', contents)
    assert [(level, re.sub("<.*?>", "", text)) for level, _, text in listed] == [
        ("1", "10.1 甲"),
        ("2", "x之后"),
        ("1", "10.2 乙"),
        ("2", "x之后"),
    ]
    ids = re.findall(r'<h[12] id="(.*?)"', page)
    assert len(ids) == len(set(ids)) == 6
    assert {name for _, name, _ in listed} <= set(ids)
    second = listed[2][1]
    assert page.count(f'<a href="#{second}">乙</a>') == 2 and ".ipynb" not in contents
    assert 'href="10-2-b.ipynb' not in page


def test_the_page_holds_all_it_needs(folder):
    page = book_pdf.book_page(paths(folder))
    page = re.sub("<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"'](?!data:)", page)
    assert f"<title>{book_pdf.TITLE}</title>" in page


@pytest.mark.parametrize(
    "name, value, words",
    [
        ("chinese_font", lambda: False, "no Chinese font here.*fonts-noto-cjk"),
        ("find", lambda: None, "no Chromium or Chrome here.*apt install chromium"),
    ],
)
def test_what_is_missing_is_a_sentence(folder, monkeypatch, capsys, name, value, words):
    monkeypatch.setattr(chromium, "find", lambda: "/nowhere/chromium")
    monkeypatch.setattr(book_pdf, "chinese_font", lambda: True)
    monkeypatch.setattr(chromium if name == "find" else book_pdf, name, value)
    assert book_pdf.main() == 1
    error = capsys.readouterr().err
    assert re.match(f"pdf: There is {words}", error) and error.count("\n") == 1
    assert not (folder / "build").exists()


def test_a_browser_that_prints_nothing_is_a_sentence(folder, monkeypatch, capsys):
    monkeypatch.setattr(chromium, "find", lambda: "/bin/true")
    monkeypatch.setattr(book_pdf, "chinese_font", lambda: True)
    assert book_pdf.main() == 1
    assert capsys.readouterr().err.startswith("pdf: Chromium printed nothing.")


def test_fonts_are_asked_for_where_that_can_be_done(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert book_pdf.chinese_font()  # nothing to ask
    program = tmp_path / "fc-list"
    for says, there in [("", False), ("Noto Sans CJK SC", True)]:
        program.write_text(f"#!/bin/sh\necho {says}\n")
        program.chmod(0o755)
        assert book_pdf.chinese_font() is there


# The PDF itself


@pytest.fixture(scope="module")
def pdf(tmp_path_factory):
    pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed")
    if chromium.find() is None or not book_pdf.chinese_font():
        pytest.skip("there is no Chromium, or no Chinese font, to print with")
    target = tmp_path_factory.mktemp("pdf") / "book.pdf"
    book_pdf.print_to(target, book_pdf.book_page(NOTEBOOKS))
    return pypdf.PdfReader(target)


@pytest.fixture(scope="module")
def pages(pdf):
    # A font may give the same drawing to a character and to the radical that it is.
    return [
        unicodedata.normalize("NFKC", page.extract_text()).strip() for page in pdf.pages
    ]


def titles():
    for path in NOTEBOOKS:
        yield html_page.title_of(nbformat.read(path, as_version=4), "")


def squeezed(text):
    text = unicodedata.normalize("NFKC", text).replace(
        "\u2edc", "\u98de"
    )  # not in NFKC
    return re.sub(r"\s", "", text)


def test_each_section_begins_a_page_and_is_in_the_outline(pdf, pages):
    outline = [x.title for x in pdf.outline if not isinstance(x, list)]
    assert outline == list(titles())
    contents = squeezed(pages[0])
    for title in titles():
        assert squeezed(title) in contents
        starts = [
            number
            for number, page in enumerate(pages, 1)
            if squeezed(page).startswith(f"{number}{squeezed(title)}")
        ]
        assert len(starts) == 1, title


def test_pages_are_numbered_and_as_many_as_the_cells_ask_for(pages):
    cells = sum(len(nbformat.read(p, as_version=4).cells) for p in NOTEBOOKS)
    assert cells / 8 < len(pages) < cells / 3
    for number, page in enumerate(pages, 1):
        assert page.startswith(str(number)), number
        assert len(squeezed(page)) > 20, f"page {number} is almost empty"


def test_text_is_chinese_and_no_formula_is_left_as_it_was_typed(pages):
    text = "\n".join(pages)
    cells = [c for p in NOTEBOOKS for c in nbformat.read(p, as_version=4).cells]
    assert len(CHINESE.findall(text)) >= len(
        CHINESE.findall("".join(c.source for c in cells))
    )
    assert "\ufffd" not in text and "Math Processing Error" not in text
    assert not re.search(r"\\(mathbf|frac|mathrm|begin|sum|tag)\b|\$\$", text)


def test_all_fonts_are_in_the_file(pdf):
    fonts = {}
    for page in pdf.pages:
        for font in page["/Resources"].get("/Font", {}).values():
            font = font.get_object()
            inner = font.get("/DescendantFonts", [font])[0].get_object()
            descriptor = inner.get("/FontDescriptor", {})
            glyphs = "/CharProcs" in font  # a font of drawings is always in the file
            there = glyphs or any(key.startswith("/FontFile") for key in descriptor)
            fonts[font.get("/BaseFont", font["/Subtype"])] = there
    assert fonts and all(fonts.values()), fonts
