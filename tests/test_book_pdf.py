"""`make pdf`: what is printed, and in the PDF that Chromium makes: text, fonts, pages."""

import io
import re
from collections import Counter
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from pypdf import PdfReader

import book_pdf
import chromium
import html_page
import pdf_text
import run_notebooks
from problems import Problem

ROOT = Path(__file__).resolve().parent.parent
# Those that are read here: all are 160 pages.
NOTEBOOKS = sorted((ROOT / "notebooks").glob("10-[16]-*.ipynb"))
CHINESE = re.compile(r"[\u4e00-\u9fff]")
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)

needs_printer = pytest.mark.skipif(
    chromium.find() is None or not book_pdf.chinese_font(),
    reason="there is no Chromium, or no Chinese font, to print with",
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    for module in book_pdf, run_notebooks:
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    for name, title in [("10-1-a", "10.1 甲"), ("10-2-b", "10.2 乙")]:
        cells = [
            new_markdown_cell(
                f"# {title}\n\n[乙](10-2-b.ipynb)\n\n## `x`之后$y_2$\n\n$x_1$"
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
    page, headings = book_pdf.book_page(paths(folder))
    assert [book_pdf.as_text(text) for _, _, text in headings[:4]] == [
        "10.1 甲",
        "x之后y_2",
        "小结",
        "再小一些",
    ]
    page = book_pdf.with_contents(page, headings, {headings[1][1]: 17})
    contents = re.search('<nav id="contents">(.*?)</nav>', page, re.DOTALL)[1]
    listed = re.findall(
        r'class="level-(\d)"><a href="#(.*?)">(.*?)</a><span>(\d+)', contents
    )
    assert [(level, re.sub("<.*?>", "", text), n) for level, _, text, n in listed] == [
        ("1", "10.1 甲", "999"),
        ("2", "x之后$y_2$", "17"),
        ("1", "10.2 乙", "999"),
        ("2", "x之后$y_2$", "999"),
    ]
    ids = re.findall(r'<h[1-6] id="(.*?)"', page)
    assert len(ids) == len(set(ids)) == len(headings) == 8
    assert {name for _, name, _, _ in listed} <= set(ids)
    second = listed[2][1]
    assert page.count(f'<a href="#{second}">乙</a>') == 2 and ".ipynb" not in contents
    assert 'href="10-2-b.ipynb' not in page


def test_the_page_holds_all_it_needs(folder):
    page, _ = book_pdf.book_page(paths(folder))
    page = re.sub("<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"'](?!data:)", page)
    assert f"<title>{book_pdf.TITLES['zh']}</title>" in page


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
    assert book_pdf.main([]) == 1
    error = capsys.readouterr().err
    assert re.match(f"pdf: There is {words}", error) and error.count("\n") == 1
    assert not (folder / "build").exists()


def test_a_browser_that_prints_nothing_is_a_sentence(folder, monkeypatch, capsys):
    monkeypatch.setattr(chromium, "find", lambda: "/bin/true")
    monkeypatch.setattr(book_pdf, "chinese_font", lambda: True)
    assert book_pdf.main([]) == 1
    assert capsys.readouterr().err.startswith(
        "pdf: Chromium printed nothing, and said: "
    )


def test_fonts_are_asked_for_where_that_can_be_done(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert book_pdf.chinese_font()  # nothing to ask
    program = tmp_path / "fc-list"
    for says, there in [("", False), ("Noto Sans CJK SC", True)]:
        program.write_text(f"#!/bin/sh\necho {says}\n")
        program.chmod(0o755)
        assert book_pdf.chinese_font() is there


def test_english_and_single_notebooks_have_files_of_their_own(folder, monkeypatch):
    made, english = {}, folder / "notebooks" / "en"
    english.mkdir()
    for path in paths(folder):
        (english / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(chromium, "find", lambda: "chromium")
    monkeypatch.setattr(book_pdf, "chinese_font", lambda: True)
    monkeypatch.setattr(book_pdf, "book", lambda paths: str(len(paths)).encode())
    for names, target in [
        ([], "attention.pdf"),
        (["notebooks/en"], "en/attention.pdf"),
        (["notebooks/10-2-b.ipynb"], "10-2-b.pdf"),
        (["notebooks/en/10-2-b.ipynb"], "en/10-2-b.pdf"),
    ]:
        assert book_pdf.main(names) == 0
        made[target] = (folder / "build" / target).read_text()
    assert list(made.values()) == ["2", "2", "1", "1"]
    # A font is looked for only where it is needed.
    monkeypatch.setattr(book_pdf, "chinese_font", lambda: False)
    assert book_pdf.main(["notebooks/en"]) == 0 and book_pdf.main([]) == 1
    assert book_pdf.main(["notebooks/no.ipynb"]) == 1


def test_an_english_book_has_an_english_title(folder):
    english = folder / "notebooks" / "en"
    english.mkdir()
    cells = [new_markdown_cell("# 10.1 A\n\n## B\n\n## Summary")]
    nbformat.write(new_notebook(cells=cells), english / "10-1-a.ipynb")
    page = book_pdf.with_contents(*book_pdf.book_page([english / "10-1-a.ipynb"]), {})
    assert f"<title>{book_pdf.TITLES['en']}</title>" in page
    assert '<html lang="en">' in page and page.count('<p class="level-') == 2


# What the characters are said to be


def test_a_map_of_characters_is_read_and_written_as_it_is():
    cmap = """
        2 beginbfchar
        <03> <4E00>
        <0A> <D835DC00>
        endbfchar
        1 beginbfrange
        <0E> <11> <2F00>
        endbfrange
    """
    found = pdf_text.characters(cmap)
    assert found == {
        "03": "一",
        "0A": "\U0001d400",
        **dict(zip(["0E", "0F", "10", "11"], "\u2f00\u2f01\u2f02\u2f03")),
    }
    many = {f"{code:04X}": chr(0x4E00 + code) for code in range(250)}
    for each in found, many:
        text = pdf_text.as_cmap(each)
        assert pdf_text.characters(text) == each
        assert all(int(n) <= 100 for n in re.findall(r"(\d+) beginbfchar", text))


def test_radicals_become_the_characters_that_look_like_them():
    radicals = "\u2f00\u2f08\u2f8f\u2f43\u2ed3\u2edc\u2ec5\u2f3e自x"
    assert pdf_text.character(radicals) == "一人行斗长飞见户自x"
    # All of them, but for parts of characters, which no text has alone.
    for code in range(0x2F00, 0x2FD6):
        assert not pdf_text.RADICAL.search(pdf_text.character(chr(code)))


# The PDF itself


def printed(sections, folder):
    paths = [folder / f"10-{number}.ipynb" for number in range(len(sections))]
    for path, cells in zip(paths, sections):
        nbformat.write(new_notebook(cells=cells), path)
    page, headings = book_pdf.book_page(paths)
    pdf = book_pdf.printed(book_pdf.with_contents(page, headings, {}))
    return [page.extract_text() for page in PdfReader(io.BytesIO(pdf)).pages], pdf


def figure():
    size = {"image/png": {"width": 400, "height": 300}}
    data = {"image/png": PIXEL, "text/plain": "<Figure>"}
    return new_output("display_data", data=data, metadata=size)


@needs_printer
def test_what_would_not_be_whole_is_named(tmp_path):
    cells = [
        new_markdown_cell("# title\n\n" + "text $x$ " * 400),
        new_markdown_cell("| a |\n|---|\n| " + "wide" * 100 + " |"),
        new_markdown_cell("$$" + "+".join(["x"] * 200) + "$$"),
        new_code_cell("a", outputs=[new_output("stream", text="b\n" * 200)]),
        new_code_cell("x" * 300, outputs=[figure()]),
    ]
    with pytest.raises(Problem, match="^Not whole on its page:\n") as found:
        printed([cells], tmp_path)
    lines = str(found.value).splitlines()[1:]
    assert {re.sub("10-0-", "", line) for line in lines} >= {
        "1: table is too wide",
        "2: svg is too wide",
        "3: pre is too tall",
    }
    assert all(re.match("10-0-[123]: ", line) for line in lines), lines


@needs_printer
def test_no_line_of_three_is_alone_and_figures_keep_their_sentences(tmp_path):
    cells = [new_markdown_cell("# title")]
    for number in range(40):
        text = f"begin{number} " + "word " * 50 + f"end{number}"  # three lines
        cells.append(new_markdown_cell(text))
        if number % 3 == 0:
            cells.append(new_code_cell("draw()", outputs=[figure()]))
            cells.append(new_markdown_cell("sentence: what to see"))
    pages, pdf = printed([cells], tmp_path)
    for page in pages:
        assert re.findall(r"begin(\d+)", page) == re.findall(r"end(\d+)", page)
    figures = [len(page.images) for page in PdfReader(io.BytesIO(pdf)).pages]
    assert figures == [page.count("sentence:") for page in pages]
    assert sum(figures) == 14 and len(pages) > 5


@needs_printer
def test_references_are_on_one_page(tmp_path):
    """However much is above them: one line more in each section."""
    references = "".join(f"{i}. reference {i}\n" for i in range(1, 4))
    above = ["# title\n\n" + "line  \n" * (28 + number) for number in range(12)]
    sections = [
        [new_markdown_cell(text), new_markdown_cell("## References\n\n" + references)]
        for text in above
    ]
    pages, _ = printed(sections, tmp_path)
    counts = [page.count("reference") for page in pages if "reference" in page]
    assert counts == [3] * 12 and 13 < len(pages) < 25


@needs_printer
def test_punctuation_stays_with_its_formula(tmp_path):
    page = tmp_path / "page.html"
    text = "（$x$）、$y$z，设$w$，`a`$v$ and $d$-dimensional $k$'s $n$ - 1"
    cells = [new_markdown_cell(text)]
    page.write_text(html_page.html_page(new_notebook(cells=cells), page), "utf-8")
    dom, _ = chromium.run(page, "--dump-dom")
    kept = re.findall(r'<span style="white-space: nowrap;">(.*?)</span>', dom)
    kept = [re.sub("<mjx-container.*</mjx-container>", "*", part) for part in kept]
    assert kept == ["（*）、", "*，", "*-dimensional", "*'s"]
    body = dom.partition("<body")[2].partition("</body>")[0]
    body = re.sub("<mjx-container.*?</mjx-container>", "*", body)
    assert (
        re.sub("<[^>]*>", "", body).count(
            "（*）、*z，设*，a* and *-dimensional *'s * - 1"
        )
        == 1
    )


@needs_printer
def test_short_code_stays_on_a_line(tmp_path):
    path = tmp_path / "10-1-a.ipynb"
    long = "a-" * 40
    cells = [new_markdown_cell(f"# 甲\n\n`pip --no-deps`，`{long} --word`")]
    nbformat.write(new_notebook(cells=cells), path)
    page = tmp_path / "page.html"
    page.write_text(book_pdf.book_page([path])[0], encoding="utf-8")
    dom, _ = chromium.run(page, "--dump-dom")
    nowrap = ' style="white-space: nowrap;"'
    assert re.findall("<code.*?</code>", dom) == [
        f"<code{nowrap}>pip --no-deps</code>",
        f"<code><span>{long}</span> <span{nowrap}>--word</span></code>",
    ]


@needs_printer
@pytest.mark.parametrize("folder", ["notebooks", "notebooks/en"])
def test_all_that_is_printed_is_whole_on_its_page(folder):
    found = sorted((ROOT / folder).glob("*.ipynb"))
    page = book_pdf.with_contents(*book_pdf.book_page(found), {})
    reader, sizes = PdfReader(io.BytesIO(book_pdf.printed(page))), Counter()

    def count(text, matrix, text_matrix, font, size):
        sizes[round(size * abs(text_matrix[3] * matrix[3]), 1)] += len(text.strip())

    # If anything is wider than its page, Chromium makes all of the book smaller.
    reader.pages[1].extract_text(visitor_text=count)
    assert sizes.most_common(1)[0][0] == 10.5


@pytest.fixture(scope="module")
def pdf():
    if chromium.find() is None or not book_pdf.chinese_font():
        pytest.skip("there is no Chromium, or no Chinese font, to print with")
    return PdfReader(io.BytesIO(book_pdf.book(NOTEBOOKS)))


@pytest.fixture(scope="module")
def pages(pdf):
    return [page.extract_text().strip() for page in pdf.pages]


def titles():
    for path in NOTEBOOKS:
        yield html_page.title_of(nbformat.read(path, as_version=4), "")


def squeezed(text):
    return re.sub(r"\s", "", text)


def flat(outline):
    for item in outline:
        if isinstance(item, list):
            yield from flat(item)
        else:
            yield item.title


def test_each_section_begins_a_page_and_is_in_the_outline(pdf, pages):
    outline = [x.title for x in pdf.outline if not isinstance(x, list)]
    assert outline == list(titles())
    contents = squeezed(pages[0])
    for title in titles():
        starts = [
            number
            for number, page in enumerate(pages, 1)
            if squeezed(page).startswith(f"{number}{squeezed(title)}")
        ]
        assert len(starts) == 1, title
        assert f"{squeezed(title)}{starts[0]}" in contents
    _, headings = book_pdf.book_page(NOTEBOOKS)
    assert list(flat(pdf.outline)) == [book_pdf.as_text(text) for *_, text in headings]
    assert any("练习1：" in title for title in flat(pdf.outline))


def test_words_are_found(pages):
    """As they are typed: no radical and no ligature, which look the same."""
    text = "\n".join(pages)
    assert not re.search("[\u2e80-\u2fdf\ufb00-\ufb06]", text)
    for word in "自注意力 位置编码 长度 方法 一个 行 查询、键和值 见 大小 用".split():
        assert word in text, word


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
