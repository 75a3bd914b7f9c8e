"""`make site`: every link leads somewhere, offline, and a browser shows what was meant."""

import errno
import functools
import importlib.util
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urljoin, urlsplit

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import install_site
import make_site
import run_records
from problems import Problem

from . import browser

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LOADED = {("link", "href"), ("script", "src"), ("img", "src"), ("source", "src")}
NO_SETTINGS = {"site_repository": "", "site_aistudio": ""}

pytestmark = pytest.mark.skipif(
    bool(install_site.absent()), reason="needs requirements/site.txt: make site"
)
in_browser = pytest.mark.skipif(
    not browser.CHROMIUM or not importlib.util.find_spec("websocket"),
    reason="needs chromium and websocket-client",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The whole book."""
    target = tmp_path_factory.mktemp("book") / "site"
    assert make_site.make(target, NO_SETTINGS, runs=target / "no-runs.json")
    return target


class Page(HTMLParser):
    """What a page loads, what it links to, and where one can link to in it."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.ids, self.pictures = [], [], set(), []
        self.lang, self.title, self.tag = None, "", None
        self.folded, self.shown, self.inside = "", "", 0
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        attrs, self.tag = dict(attrs), tag
        self.inside += tag == "details" and attrs.get("class") == "solution"
        self.ids.add(attrs.get("id"))
        if tag == "html":
            self.lang = attrs.get("lang")
        if tag == "img":
            self.pictures.append(attrs.get("alt", ""))
        for key in "href", "src":
            if (tag, key) in LOADED and attrs.get("rel") not in (
                "next",
                "prev",
                "search",
            ):
                self.loads += [attrs[key]] if key in attrs else []
            elif key in attrs:
                self.links.append(attrs[key])

    def handle_data(self, data):
        if self.tag == "title":
            self.title += data
        elif self.inside:
            self.folded += data
        else:
            self.shown += data

    def handle_endtag(self, tag):
        self.tag = None
        self.inside -= tag == "details"


@functools.cache
def page(path):
    return Page(path)


def pages(site):
    found = sorted(site.rglob("*.html"))
    return [path for path in found if "_static" not in path.parts]


def target_of(path, link):
    """(file, anchor) of a link within the site."""
    there = urlsplit(urljoin(path.as_uri(), link))
    return Path(unquote(there.path)), unquote(there.fragment)


def check_links(site):
    for path in pages(site):
        for link in page(path).loads:
            file = target_of(path, link)[0]
            assert not re.match(r"(?:[a-z]+:)?//", link), f"{path.name} loads {link}"
            assert link.startswith("data:") or file.is_file(), f"{path.name}: {link}"
        for link in page(path).links:
            if re.match(r"https?://", link):
                continue  # to be followed by a reader who is online
            file, anchor = target_of(path, link)
            assert file.is_file(), f"{path.name}: {link}"
            if anchor and file.suffix == ".html":
                assert anchor in page(file).ids, f"{path.name}: {link}"


def test_all_links_lead_somewhere_and_nothing_is_loaded_from_elsewhere(site):
    # In each language, and home, status, search.
    assert len(pages(site)) == 2 * (len(NOTEBOOKS) + 3)
    check_links(site)


def test_styles_load_only_what_is_there(site):
    styles = {
        target_of(path, link)[0]
        for path in pages(site)
        for link in page(path).loads
        if ".css" in link
    }
    assert len(styles) >= 3
    for style in styles:
        text = style.read_text(encoding="utf-8")
        for link in re.findall(r"(?:url\(|@import )\s*[\"']?([^\"')]+)", text):
            if not link.startswith(("data:", "#")):
                assert target_of(style, link)[0].is_file(), f"{style.name}: {link}"


def test_each_page_has_its_language_title_and_described_pictures(site):
    titles = set()
    for path in pages(site):
        assert page(path).lang == ("en" if path.parent.name == "en" else "zh-CN")
        titles.add(page(path).title.strip())
        for alt in page(path).pictures:
            assert alt and not alt.startswith("_images"), path.name
    assert len(titles) == len(pages(site)) and all(titles)
    pictures = page(site / "10-6-self-attention-and-positional-encoding.html").pictures
    assert pictures[0] == "图10.6.1 比较CNN（略去填充词元）、RNN和自注意力。"


def test_buttons_of_chinese_pages_are_labelled_in_chinese(site):
    for path in site.glob("*.html"):
        text = page(path).text
        labels = set(re.findall(r'(?:title|aria-label)="([^"\u4e00-\u9fff]*)"', text))
        assert labels <= {"English", "10.7 Transformer"}, path.name
        for words in "System Settings", "Back to top", "Skip to main content", "列印":
            assert words not in text


def test_nothing_of_the_generator_is_left(site):
    for path in pages(site):
        for words in (
            "View page source",
            "Show code cell",
            "Created using",
            "Powered by",
        ):
            assert words not in page(path).text, path.name
    for path in NOTEBOOKS:
        download = site / "_sources" / path.name
        assert download.read_bytes() == path.read_bytes()
        assert f"_sources/{path.name}" in page(site / f"{path.stem}.html").links


def test_all_of_a_solution_is_folded_and_nothing_else(site):
    for path in pages(site):
        found, mark = page(path), "Solution." if path.parent.name == "en" else "解答。"
        exercises = len(re.findall(r"<h3>(?:练习|Exercise )\d", found.text))
        assert (
            found.folded.count(mark)
            == found.folded.count("BEGIN SOLUTION")
            == exercises
        )
        # The text before the exercises says what the marks are.
        assert not re.search(f"(?<!份){re.escape(mark)}", found.shown)
        assert found.shown.count("BEGIN SOLUTION") <= 1
        assert not re.search(
            "检查练习|Check of exercise|参考文献|References", found.folded
        )


def test_a_number_in_brackets_leads_to_the_reference(site):
    found = page(site / "10-6-self-attention-and-positional-encoding.html")
    assert found.text.count('id="reference-') == 9
    assert {f"#reference-{n}" for n in (1, 2, 3, 5, 6, 7, 8, 9)} <= set(found.links)
    assert page(site / "status.html").text.count("#reference-") == 0


def test_what_only_the_generator_needs_is_left_out(site):
    files = {path.relative_to(site).as_posix() for path in site.rglob("*")}
    assert not [name for name in files if re.search(r"\.map$|jupyter_execute", name)]
    assert sum((site / name).stat().st_size for name in files) < 40e6


def test_the_switch_of_language_is_on_every_page_and_stays_in_the_window(site):
    for path in pages(site):
        switch = re.search(r"<a[^>]*language-button[^>]*>", page(path).text)[0]
        assert "_blank" not in switch, path.name
        other = "zh-CN" if path.parent.name == "en" else "en"
        assert f'hreflang="{other}"' in switch


def test_without_an_address_there_is_no_button_that_leads_to_one(site):
    for path in pages(site):
        assert not re.search(r"colab\.|aistudio\.", page(path).text), path.name


def test_a_mention_of_a_formula_or_a_figure_leads_to_it(site):
    links = page(site / "10-6-self-attention-and-positional-encoding.html").links
    assert "10-3-attention-scoring-functions.html#equation-10-3-5" in links
    assert "#figure-10-6-1" in links
    for path in NOTEBOOKS:
        for tag in re.findall(r"\\\\tag\{([^}]+)\}", path.read_text(encoding="utf-8")):
            assert (
                f"equation-{tag.replace('.', '-')}"
                in page(site / f"{path.stem}.html").ids
            )


# In a browser


STRETCHED = """[...document.querySelectorAll('article img')].filter(
    i => Math.abs(i.naturalWidth / i.naturalHeight - i.width / i.height) > 0.1)"""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    opened = browser.Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


def check_quiet(chromium, start):
    """Nothing was asked for outside the site, and nothing went wrong."""
    outside = [r for r in chromium.requests if not r.startswith((start, "data:"))]
    assert (outside, chromium.complaints) == ([], [])


@in_browser
def test_pages_are_quiet_formulas_set_and_nothing_is_wider_than_a_phone(site, chromium):
    formulas = 0
    for path in pages(site):
        chromium.size(390, 844)
        chromium.open(path.as_uri())
        count = "document.querySelectorAll('{}').length"
        wanted = chromium.run(count.format("article .math"))
        assert chromium.run(count.format("article mjx-container")) == wanted
        assert chromium.run(count.format("mjx-merror")) == 0
        assert chromium.run("document.documentElement.scrollWidth") == 390, path.name
        # A wide formula can be scrolled to both its ends.
        cut_off = "[...document.querySelectorAll('mjx-container')].filter({}).length"
        assert (
            chromium.run(cut_off.format("m => m.getBoundingClientRect().left < 0")) == 0
        )
        assert chromium.run(f"{STRETCHED}.length") == 0, path.name
        formulas += wanted
    check_quiet(chromium, site.as_uri())
    assert formulas > 500


FITTED = """!globalThis.MathJax ||
    !document.querySelector('mjx-container[display]:not([data-size])')"""
# The formulas beside which a line can end or begin as it must not, and those where not.
TOGETHER = "m => getComputedStyle(m.parentNode).whiteSpace == 'nowrap'"
PARTED = """m => /[（(“《[]$/.test(m.previousSibling?.data)
    || /^[，。；：、）)”,.;]/.test(m.nextSibling?.data)"""


@in_browser
def test_no_line_begins_with_the_punctuation_after_a_formula(site, chromium):
    formulas = "[...document.querySelectorAll('article span.math:has(mjx-container)')]"
    together = 0
    for path in pages(site):
        chromium.open(path.as_uri())
        chromium.wait(FITTED)
        together += chromium.run(f"{formulas}.filter({TOGETHER}).length")
        parted = f"m => !({TOGETHER})(m) && ({PARTED})(m)"
        assert chromium.run(f"{formulas}.filter({parted}).length") == 0, path.name
    assert together > 500


@in_browser
def test_code_and_numbered_formulas_fit_beside_the_sidebars(site, chromium):
    chromium.size(1280, 900)
    too_wide = (
        "(document.querySelectorAll('details').forEach(d => d.open = true),"
        "[...document.querySelectorAll('.cell_input pre, mjx-container[display]')]"
        ".filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerText))"
    )
    for path in pages(site):
        chromium.open(path.as_uri())
        chromium.wait(FITTED)
        assert chromium.run(too_wide) == [], path.name
    check_quiet(chromium, site.as_uri())


@in_browser
def test_wide_tables_are_scrolled_on_a_phone(site, chromium):
    chromium.size(390, 844)
    chromium.open((site / "10-6d-positions.html").as_uri())
    narrowest = "Math.min(...[...document.querySelectorAll('article td')].map(c => c.offsetWidth))"
    assert chromium.run(narrowest) >= 80


@in_browser
def test_numbers_of_formulas_are_those_of_the_tags(site, chromium):
    chromium.open((site / "10-6b-attention-cost.html").as_uri())
    # Drawn as outlines, of which each names its character.
    numbers = chromium.run(
        "[...document.querySelectorAll('[id^=\"mjx-eqn\"]')].map(label => "
        "[...label.querySelectorAll('use')].map(use => "
        "String.fromCodePoint(parseInt(use.dataset.c, 16))).join(''))"
    )
    text = (ROOT / "notebooks" / "10-6b-attention-cost.ipynb").read_text("utf-8")
    assert numbers == [f"({tag})" for tag in re.findall(r"\\\\tag\{([^}]+)\}", text)]
    assert len(numbers) == 3


def found(chromium, start, query):
    """The pages that a search lists."""
    chromium.open(f"{start}/search.html?q={quote(query)}")
    chromium.wait("/完成|没有|未匹配|finished|not match/.test(document.body.innerText)")
    script = "[...document.querySelectorAll('#search-results li > a')].map(a => a.href)"
    addresses = {}
    for address in chromium.run(script):
        addresses.setdefault(Path(urlsplit(address).path).stem, address)
    return addresses


def pages_with(*words):
    """The notebooks whose text has all these words."""
    names = set()
    for path in NOTEBOOKS:
        cells = nbformat.read(path, as_version=4).cells
        text = "\n".join(c.source for c in cells if c.cell_type == "markdown").lower()
        if all(word.lower() in text for word in words):
            names.add(path.stem)
    return names


QUERIES = [
    "位置编码",
    "掩蔽",
    "缩放点积注意力",
    "键",
    "掩蔽 softmax",
    "RoPE",
    "计算复杂度分别是",
    "Transformer解码器",
    "10.6.2",
]


@in_browser
@pytest.mark.parametrize("query", QUERIES)
def test_search_finds_a_word_inside_a_sentence(site, chromium, query):
    expected = pages_with(*query.split())
    assert expected <= set(found(chromium, site.as_uri(), query))
    check_quiet(chromium, site.as_uri())


@in_browser
def test_search_does_not_find_what_is_nowhere(site, chromium):
    assert pages_with("量子力学") == set()
    assert found(chromium, site.as_uri(), "量子力学") == {}
    # 注意 and 意力 are everywhere, the word with both and a third is on few pages.
    few = set(found(chromium, site.as_uri(), "内部注意力"))
    assert pages_with("内部注意力") <= few < {path.stem for path in NOTEBOOKS}


FIRST = {
    "多头注意力": "10-5-multi-head-attention.html",
    "位置编码": "10-6-self-attention-and-positional-encoding.html#id4",
    "MultiHeadAttention": "10-5-multi-head-attention.html#id3",
    "（10.6.2）": "10-6-self-attention-and-positional-encoding.html#equation-10-6-2",
    "图10.6.1": "10-6-self-attention-and-positional-encoding.html#figure-10-6-1",
    "旋转位置编码是什么？": "10-6d-positions.html#id5",
    "bahdanau注意力": "10-4-bahdanau-attention.html",
}
FIRST_ENGLISH = {
    "multi-head attention": "10-5-multi-head-attention.html",
    "Masked Softmax": "10-3-attention-scoring-functions.html#masked-softmax-operation",
    "figure 10.6.1": "10-6-self-attention-and-positional-encoding.html#figure-10-6-1",
    "positional encodings": "10-6-self-attention-and-positional-encoding.html"
    "#positional-encoding",
    "Nadarya": "10-2-nadaraya-watson.html",
}


@in_browser
@pytest.mark.parametrize("query", [*FIRST, *FIRST_ENGLISH])
def test_the_best_place_comes_first(site, chromium, query):
    home = site / "en" if query in FIRST_ENGLISH else site
    expected = {**FIRST, **FIRST_ENGLISH}[query]
    first = next(iter(found(chromium, home.as_uri(), query).values()))
    assert first == f"{home.as_uri()}/{expected}"


@in_browser
def test_a_result_shows_the_words_in_their_sentence(site, chromium):
    found(chromium, site.as_uri(), "外推")
    marks = "[...document.querySelectorAll('#search-results p.context mark')]"
    assert set(chromium.run(f"{marks}.map(m => m.textContent)")) == {"外推"}
    status = "document.querySelector('#search-results .search-summary').innerText"
    assert "相近" not in chromium.run(status)
    found(chromium, site.as_uri(), "位置编吗")
    assert "没有找到“位置编吗”" in chromium.run(status)
    found(chromium, (site / "en").as_uri(), "<b>softmaks")
    assert "Nothing has “<b>softmaks”" in chromium.run(status)
    for query in "", "，。", "[", "\\", "a" * 500:
        found(chromium, site.as_uri(), query) if query else None
    check_quiet(chromium, site.as_uri())


@in_browser
def test_the_word_is_marked_on_the_page_that_was_found(site, chromium):
    address = found(chromium, site.as_uri(), "自注意力")
    chromium.open(address["10-6b-attention-cost"])
    marked = (
        "[...document.querySelectorAll('span.highlighted')].map(s => s.textContent)"
    )
    chromium.wait(f"{marked}.length > 0")
    assert set(chromium.run(marked)) == {"自注意力"}
    check_quiet(chromium, site.as_uri())


@in_browser
def test_light_and_dark_follow_the_system(site, chromium):
    shades = {}
    for scheme in "light", "dark":
        feature = {"name": "prefers-color-scheme", "value": scheme}
        chromium.call("Emulation.setEmulatedMedia", features=[feature])
        chromium.open((site / "10-1-attention-cues.html").as_uri())
        assert chromium.run("document.documentElement.dataset.theme") == scheme
        color = chromium.run("getComputedStyle(document.body).backgroundColor")
        shades[scheme] = [int(n) for n in re.findall(r"\d+", color)[:3]]
    assert min(shades["light"]) > 200 and max(shades["dark"]) < 60
    # A dark page is printed light, and is dark again afterwards.
    theme = "document.documentElement.dataset.theme"
    chromium.run(
        f"globalThis.printed = []; onbeforeprint = () => printed.push({theme})"
    )
    chromium.call("Page.printToPDF")
    chromium.wait(f"printed.length && {theme} === 'dark'")
    assert chromium.run("printed") == ["light"]
    chromium.call("Emulation.setEmulatedMedia", features=[])


@in_browser
def test_keys_reach_what_the_mouse_reaches(site, chromium):
    chromium.size(390, 844)
    chromium.open((site / "10-6b-attention-cost.html").as_uri())
    wide = "[...document.querySelectorAll('mjx-container[display]')]"
    chromium.wait("document.querySelectorAll('mjx-container[data-size]').length > 0")
    scrolled = f"{wide}.filter(m => m.scrollWidth > m.clientWidth).map(m => m.tabIndex)"
    assert set(chromium.run(scrolled)) == {0}
    shown = (
        "const seen = getComputedStyle(document.activeElement); "
        "[seen.outlineStyle, parseFloat(seen.outlineWidth) > 0]"
    )
    for _ in range(8):
        for kind in "keyDown", "keyUp":
            chromium.call(
                "Input.dispatchKeyEvent", type=kind, key="Tab", windowsVirtualKeyCode=9
            )
        assert chromium.run(f"(() => {{ {shown.replace('[', 'return [')} }})()") == [
            "solid",
            True,
        ]


# A small book, in two languages


PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJ"
    "RU5ErkJggg=="
)


def save(folder, name, *cells):
    folder.mkdir(parents=True, exist_ok=True)
    metadata = {"language_info": {"name": "python"}}
    nbformat.write(new_notebook(cells=list(cells), metadata=metadata), folder / name)
    return folder / name


@pytest.fixture
def project(tmp_path, monkeypatch):
    """10.1 in two languages, 10.2 in one; neither was executed."""
    picture = new_output("display_data", {"image/png": PNG, "text/plain": "<Figure>"})
    folder = tmp_path / "notebooks"
    formula = "$$a \\\\ b \\tag{10.1.1}$$"
    save(
        folder,
        "10-1-a.ipynb",
        new_markdown_cell(f"# 10.1 甲\n\n{formula}\n\n见[乙](10-2-b.ipynb)。"),
        new_code_cell("plot()", outputs=[picture]),
        new_markdown_cell("**一条**线$x$在升。后面的不算。"),
        new_code_cell("### BEGIN SOLUTION\na = 1\n### END SOLUTION"),
    )
    save(folder, "10-2-b.ipynb", new_markdown_cell("# 10.2 乙\n\n由（10.1.1）可知。"))
    save(folder / "en", "10-1-a.ipynb", new_markdown_cell("# 10.1 One\n\nText."))
    monkeypatch.setattr(make_site, "ROOT", tmp_path)
    return tmp_path


def test_two_languages_with_a_switch_where_both_have_the_page(project):
    settings = {
        "site_repository": "o/n@v1",
        "site_aistudio": "https://aistudio.baidu.com/p",
    }
    target = project / "build" / "site"
    assert make_site.make(target, settings, project / "no-runs.json")
    check_links(target)
    one, two, english = (
        page(target / name) for name in ("10-1-a.html", "10-2-b.html", "en/10-1-a.html")
    )
    assert (one.lang, english.lang) == ("zh-CN", "en")
    assert "en/10-1-a.html" in one.links and "../10-1-a.html" in english.links
    assert not any("en/" in link for link in two.links)
    assert "en/index.html" in page(target / "index.html").links
    colab = "https://colab.research.google.com/github/o/n/blob/v1/notebooks/"
    assert colab + "10-1-a.ipynb" in one.links
    assert colab + "en/10-1-a.ipynb" in english.links
    assert "https://aistudio.baidu.com/p" in one.links
    assert one.pictures == ["一条线x在升。"]
    assert "<summary>解答</summary>" in one.text and "\\begin{split}" not in one.text
    assert "10-1-a.html#equation-10-1-1" in two.links
    assert sorted(p.name for p in target.parent.iterdir()) == ["site"]


FAULTS = {
    "见[丙](10-3-c.ipynb)。": "'10-3-c.ipynb'",
    "见[甲](10-1-a.ipynb#nowhere)。": "'nowhere'",
    "由（10.1.9）可知。": "there is no (10.1.9)",
    "如图10.1.9所示。": "there is no 图10.1.9",
    "$$a \\tag{10.1.1}$$": "(10.1.1) is already in 10-1-a",
    "$$a \\tag{10.2.1} \\tag{10.2.2}$$": "several numbers",
    "![图](no.png)": "no.png",
    '<img src="no.png">': "no.png",
    "# 10.2 又一个标题": "a second title",
    "#### 跳过一级": "header level",
    "```{nothing}\n```": "'nothing'",
}
OUTPUTS = {
    "stderr": new_output("stream", name="stderr", text="UserWarning: old\n"),
    "the cell ended in NameError": new_output("error", ename="NameError", evalue="x"),
    "unknown output mime type": new_output("display_data", {"application/x-none": "x"}),
}


def failed_build(project, capfd, cell):
    """What is said of a notebook with this as its second cell."""
    target = project / "build" / "site"
    target.mkdir(parents=True)
    (target / "old.html").write_text("old")
    cell["id"] = "the-cell"
    save(project / "notebooks", "10-2-b.ipynb", new_markdown_cell("# 10.2 乙"), cell)
    assert not make_site.make(target, NO_SETTINGS, project / "no-runs.json")
    assert [path.name for path in target.iterdir()] == ["old.html"]
    assert [path.name for path in target.parent.iterdir()] == ["site"]
    return capfd.readouterr().err


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_fails_the_build_and_leaves_the_old_book(project, capfd, text):
    said = failed_build(project, capfd, new_markdown_cell(f"前一行。\n\n{text}"))
    assert FAULTS[text] in said
    # An older Sphinx does not know in which line a picture is that HTML asks for.
    cell = "" if text.startswith("<img") else ", cell 2 (the-cell), line "
    assert f"notebooks/10-2-b.ipynb{cell}" in said, said


@pytest.mark.parametrize("reason", OUTPUTS)
def test_an_output_that_should_not_be_fails_the_build(project, capfd, reason):
    said = failed_build(project, capfd, new_code_cell("f()", outputs=[OUTPUTS[reason]]))
    assert "notebooks/10-2-b.ipynb, cell 2 (the-cell)" in said and reason in said


@pytest.mark.parametrize(
    "name, value",
    [
        ("NO_COLOR", "true"),
        ("FORCE_COLOR", "true"),  # asks Sphinx for colours, as CI does
        ("CI", "true"),
        ("LC_ALL", "xx_XX.UTF-8"),  # of another machine, as ssh brings it along
        ("PYTHONIOENCODING", "gb18030"),
    ],
)
def test_the_line_is_that_of_the_cell(project, capfd, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    said = failed_build(project, capfd, new_markdown_cell("一\n\n二\n\n[三](四.ipynb)"))
    assert "cell 2 (the-cell), line 5: WARNING" in said and "四.ipynb" in said


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"cells": '])
def test_a_file_that_is_no_notebook_is_named(project, text):
    (project / "notebooks" / "10-2-b.ipynb").write_text(text)
    with pytest.raises(Problem, match=r"notebooks/10-2-b\.ipynb is not a notebook"):
        make_site.make(project / "site", NO_SETTINGS, project / "no-runs.json")
    assert not (project / "site-work").exists()


@pytest.mark.parametrize(
    "error, status, said",
    [
        (KeyboardInterrupt(), 130, "Interrupted"),
        (OSError(errno.EROFS, "read-only"), 1, "No right to write in"),
        (Problem("x is not a notebook"), 1, "site: x is not a notebook"),
    ],
)
def test_what_stops_it_is_said_in_a_sentence(monkeypatch, capsys, error, status, said):
    def stopped(*_):
        raise error

    monkeypatch.setattr(make_site, "make", stopped)
    monkeypatch.setattr(install_site, "main", lambda: 0)
    assert make_site.main([]) == status
    assert said in capsys.readouterr().err


def rows(project, records):
    runs = project / "runs.json"
    runs.write_text(records if isinstance(records, str) else json.dumps(records))
    paths = sorted((project / "notebooks").glob("*.ipynb"))
    text = make_site.status_page("zh", paths, run_records.read(runs))
    lines = re.findall(r"^\| \[\]\(.*", text, re.MULTILINE)
    return [line.strip("| ").split(" | ")[1:] for line in lines]


NEVER = ["–", "–", "–", "还没有在这里执行过"]


OLDER = {"10-1-a": {"seconds": 3.0}, "10-2-b": "passed"}


@pytest.mark.parametrize("records", ["", "{", "[]", {}, OLDER])
def test_status_of_what_was_never_executed(project, records):
    assert rows(project, records) == [NEVER, NEVER]


def test_status_of_what_was_executed(project):
    path = project / "notebooks" / "10-1-a.ipynb"
    notebook = nbformat.read(path, as_version=4)
    record = run_records.record(notebook, 7.26, passed=True)
    row = rows(project, {"10-1-a": {**record, "date": "2026-01-02"}})[0]
    assert row[:2] == ["7", "2026-01-02"] and row[3] == "通过"
    assert row[2].startswith("Python 3.") and "NumPy " in row[2] and "Paddle " in row[2]
    failed = {**record, "passed": False}
    assert rows(project, {"10-1-a": failed})[0][3] == "出错"
    notebook.cells[1].source = "plot(2)"
    nbformat.write(notebook, path)
    assert rows(project, {"10-1-a": record})[0][3] == "通过，此后代码有改动"


@pytest.mark.parametrize(
    "option", ["--repository=name", "--repository=a/b/c d", "--aistudio=http://x.com/"]
)
def test_an_address_that_is_none_is_refused(option, capsys):
    with pytest.raises(SystemExit):
        make_site.parse([option])
    assert "SITE_" in capsys.readouterr().err
