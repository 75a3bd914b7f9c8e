"""`make slides`: what is on the slides, that each fits, and that they need no network."""

import re
import tempfile
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import chromium
import run_notebooks
import slides
from problems import Problem

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
DECKS = [*NOTEBOOKS, *sorted((ROOT / "notebooks" / "en").glob("*.ipynb"))]
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)

needs_reveal = pytest.mark.skipif(
    not slides.reveal_is_there(), reason="reveal.js is not installed (make reveal)"
)
needs_chromium = pytest.mark.skipif(
    chromium.find() is None, reason="there is no Chromium to look at slides with"
)


def text(source, kind=None):
    return placed(new_markdown_cell(source), kind)


def code(source, kind=None, outputs=()):
    return placed(new_code_cell(source, outputs=list(outputs)), kind)


def placed(cell, kind):
    if kind:
        cell.metadata["slideshow"] = {"slide_type": kind}
    return cell


def figure(width, height):
    return new_output(
        "display_data",
        data={"image/png": PIXEL, "text/plain": "<Figure>"},
        metadata={"image/png": {"width": width, "height": height}},
    )


def deck(*cells):
    return slides.deck(new_notebook(cells=list(cells)), Path("notebooks/10-0.ipynb"))


def on_slides(page):
    """The slides' contents, as text: everything between the tags of a deck."""
    body = page.partition('<div class="slides">')[2].partition("<script>")[0]
    body = re.sub(r"In.\[.*?\]:|¶|<(?!section)[^>]+>|\s", "", body)
    return [part for part in body.split("<section>") if part]


def kinds(path):
    return [
        (cell, cell.metadata.get("slideshow", {}).get("slide_type"))
        for cell in nbformat.read(path, as_version=4).cells
    ]


# What the notebooks choose


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_deck_goes_from_the_title_to_the_summary(path):
    shown, kind_of, skipped = [], {}, []
    for cell, kind in kinds(path):
        (skipped if kind == "skip" else shown).append(cell)
        kind_of[cell.id] = kind
    assert shown[0].id == "title" and kind_of["title"] == "slide"
    assert shown[-1].id == "summary" and kind_of["summary"] == "slide"
    for cell in shown:
        assert not cell.id.startswith(("exercise", "references", "imports")), cell.id
        assert "### BEGIN SOLUTION" not in cell.source, cell.id
        assert "solution" not in cell.metadata.get("tags", []), cell.id
    headings = {c.id for c in skipped if c.source.startswith("## ")}
    assert headings <= {"exercises", "references", "table", "explore-text"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_all_figures_of_the_text_are_shown(path):
    """But for those of exercises, the two that only JupyterLab makes alive, a repeated one."""
    left_out = [
        cell.id
        for cell, kind in kinds(path)
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {}) and kind in ("skip", "notes")
    ]
    known = {"explore-heads", "explore-clocks", "heatmap-torch", "heatmap-paddle"}
    assert [
        x for x in left_out if not x.startswith("exercise") and x not in known
    ] == []


# What becomes of cells


@needs_reveal
def test_each_kind_of_cell_goes_where_it_should():
    page = deck(
        text("imports", "skip"),
        text("# one", "slide"),
        code("print('two')"),
        text("three", "fragment"),
        text("four", "subslide"),
        text("five", "notes"),
        text("six", "skip"),
        text("seven", "slide"),
    )
    assert on_slides(page) == ["oneprint('two')three", "fourfive", "seven"]
    fragment = page.index('<div class="fragment"')
    assert page.index("two") < fragment < page.index("three") < page.index("four")
    assert page.index('<aside class="notes">') < page.index("five")
    assert "imports" not in on_slides(page)[0]


@needs_reveal
def test_a_figure_with_much_code_has_a_slide_of_its_own():
    long = "\n".join(f"a = {i}" for i in range(12))
    page = deck(
        text("# title", "slide"),
        code(long, "subslide", [figure(400, 300)]),
        text("sentence", "fragment"),
        code("draw()", "subslide", [figure(400, 300)]),
    )
    first, code_only, figure_only, both = on_slides(page)
    assert "a=11" in code_only and "sentence" not in code_only
    assert figure_only == "sentence" and both == "draw()"
    assert page.count("calc(400 * var(--pixel))") == 2


@needs_reveal
@pytest.mark.parametrize("kind", ["subslide", "slide", "fragment", None])
def test_what_a_figure_shows_is_said_on_its_slide(kind):
    cells = [
        text("# title", "slide"),
        code("draw()", "subslide", [figure(400, 300)]),
        text("shows\n\nthen\n\nagain", kind),
        code("end", "subslide"),
    ]
    after = "thenagain"
    parts = [after] if kind in ("slide", "subslide") else []
    joined = "" if parts else after
    found = on_slides(deck(*cells))
    assert found == ["title", "draw()shows" + joined, *parts, "end"]
    cells[1].source = "a\n" * 12 + "a"  # so much that the figure has its own slide
    found = on_slides(deck(*cells))
    assert found == ["title", "a" * 13, "shows" + joined, *parts, "end"]


@needs_reveal
@pytest.mark.parametrize("kind", ["skip", "notes"])
def test_what_a_figure_shows_is_said_though_the_text_is_left_out(kind):
    page = deck(
        code("draw()", "slide", [figure(400, 300)]),
        text("shows", kind),
        code("again()", "slide", [figure(400, 300)]),
        text("that\n\nthen", kind),
        code("hidden()", "skip", [figure(400, 300)]),
        text("silent\n\nthen", "skip"),
    )
    notes = "then" if kind == "notes" else ""
    assert on_slides(page) == ["draw()shows", "again()that" + notes]
    assert page.count('<aside class="notes">') == len(notes) / 4


@needs_reveal
@pytest.mark.parametrize("source", ["# Heading\n\ntext", "one paragraph"])
def test_what_is_said_of_something_else_begins_its_slide(source):
    drawn = code("draw()", "slide", [figure(400, 300)])
    first, last = on_slides(deck(drawn, text(source, "subslide")))
    assert first == "draw()" and last == re.sub(r"[# \n]", "", source)


@needs_reveal
@pytest.mark.parametrize("word", ["检验", "Check"])
@pytest.mark.parametrize(
    "kind, there", [("skip", False), ("notes", False), (None, True)]
)
def test_a_check_is_announced_where_it_is_shown(word, kind, there):
    announced = f"**{word}: the sum.** It is one."
    page = deck(
        text("# title\n\n**bold**\n\n" + announced, "slide"),
        code("check()", kind),
        text(announced, "fragment"),
        code("check()", kind),
        text("end", "slide"),
    )
    shown = f"{word}:thesum.Itisone.check()" * 2 if there else ""
    notes = "check()" * 2 if kind == "notes" else ""
    assert on_slides(page) == ["titlebold" + shown + notes, "end"]


@needs_reveal
def test_a_link_to_another_notebook_leads_to_its_slides():
    page = deck(text("# a\n\n[b](10-2-b.ipynb), [c](https://x.org/d.ipynb)", "slide"))
    assert 'href="10-2-b.html"' in page and 'href="https://x.org/d.ipynb"' in page


@needs_reveal
def test_code_has_colours_and_a_page_its_language():
    page = deck(code("if x: pass", "slide"))
    assert re.search(r"\.highlight \.k *{[^}]*color", page)
    assert '<span class="k">if</span>' in page and '<html lang="zh">' in page
    notebook = new_notebook(cells=[text("# a", "slide")])
    page = slides.deck(notebook, Path("notebooks/en/10-0.ipynb"))
    assert '<html lang="en">' in page


@needs_reveal
def test_a_notebook_without_slides_is_refused():
    with pytest.raises(run_notebooks.Failure, match="no cell that begins a slide"):
        deck(text("# a"), text("b", "subslide"))


@needs_reveal
def test_pages_hold_all_they_need():
    page = deck(text("# a $x$", "slide"), code("f()", "subslide", [figure(9, 9)]))
    page = re.sub("<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"'](?!data:)", page)
    assert "@import" not in page and not re.search(r"url\(['\"]?(?!data:|#)[^)]", page)


# In Chromium


def misfits(*cells):
    return slides.look(deck(*cells))[0]


@needs_reveal
@needs_chromium
def test_what_does_not_fit_is_named():
    found = misfits(
        text("# title\n\n$x^2$", "slide"),
        code("too = long\n" * 60, "slide"),
        code("x = '" + "a" * 200 + "'", "slide"),
        text(r"$$\frac{1}$$", "slide"),
        text("an open $x", "slide"),
        code("draw()", "slide", [figure(3000, 200)]),
        text("", "slide"),
        text(r"$\nosuchmacro{x}$", "slide"),
    )
    for number, what in [
        (2, "is too tall"),
        (3, "is too wide"),
        (4, "has a formula with an error"),
        (8, "has a formula with an error"),
        (5, "has a formula that is not set"),
        (6, "is too wide"),
        (7, "is empty"),
    ]:
        assert any(re.match(rf"slide {number} .*{what}$", x) for x in found), found
    assert not any(x.startswith("slide 1 ") for x in found), found


@needs_reveal
@needs_chromium
def test_what_would_be_too_small_goes_on_on_another_slide(tmp_path):
    long = "\n\n".join(f"paragraph {n}. " + "word " * 60 for n in range(12))
    page = deck(
        text("# title", "slide"),
        text("## heading\n\n" + long, "slide"),
        text("below", "fragment"),
        text("end", "slide"),
    )
    assert slides.look(page)[0] == []
    found = settled(tmp_path, page)
    texts = [re.sub("<[^>]*>", "", part) for part in found]
    shown = [re.findall(r"paragraph \d+|heading|below|end", part) for part in texts]
    assert len(shown) > 4 and sum(shown, []) == [
        "heading",
        *(f"paragraph {n}" for n in range(12)),
        "below",
        "end",
    ]
    assert all(len(parts) > 1 for parts in shown if "heading" in parts)
    scales = [
        float(scale) for scale in re.findall(r"--scale: ([\d.]+)", "".join(found))
    ]
    assert len(scales) == len(found) and min(scales) >= 0.7


def settled(tmp_path, page, script=""):
    """What Chromium has made of a deck: [the HTML of each slide, with its sizes]."""
    path = tmp_path / "deck.html"
    path.write_text(page.replace("</body>", script + "</body>"), encoding="utf-8")
    dom, _ = chromium.run(path, "--dump-dom")
    return re.findall(r"<section[^>]*>(?:(?!</?section).)*</section>", dom, re.DOTALL)


@needs_reveal
@needs_chromium
def test_a_figure_goes_with_its_sentence_to_the_next_slide(tmp_path):
    page = deck(
        text("# title\n\n" + "word " * 240, "slide"),
        text("above", "-"),
        code("draw()", None, [figure(400, 300)]),
        text("shows " + "word " * 100 + "\n\n" + "word " * 200, "fragment"),
    )
    found = [re.findall("above|<img|shows", part) for part in settled(tmp_path, page)]
    assert found[:2] == [["above"], ["<img", "shows"]], found


@needs_reveal
@needs_chromium
@pytest.mark.parametrize("width, clear", [(400, True), (640, False)])
def test_a_figure_is_not_made_smaller_for_more_text(tmp_path, width, clear):
    """But for the sentence on it, if that is so small otherwise that it is not clear."""
    page = deck(
        text("# title", "slide"),
        code("draw()", "subslide", [figure(width, width)]),
        text("shows " + "word " * 40 + "\n\nthen " + "word " * 100, "fragment"),
    )
    _, drawn, rest = settled(tmp_path, page)
    found = [re.findall("<img|shows|then", part) for part in (drawn, rest)]
    assert found == [["<img", "shows"], ["then"]]
    assert (float(re.search(r"--pixel: ([\d.]+)px", drawn)[1]) >= 1) is clear
    assert float(re.search(r"--scale: ([\d.]+)", drawn)[1]) >= 0.7


@needs_reveal
@needs_chromium
def test_a_printed_deck_has_the_margins_of_the_screen(tmp_path):
    """The style of reveal.js has none there; it is used with this class, for ?print-pdf."""
    script = """<script>Reveal.on("ready", () => {
      document.documentElement.classList.add("reveal-print");
      for (const slide of document.querySelectorAll("section:not(.stack)"))
        slide.dataset.left = getComputedStyle(slide).paddingLeft;
    });</script>"""
    page = deck(text("# title", "slide"), text("two", "slide"))
    assert "reveal-print" in page
    found = settled(tmp_path, page, script)
    assert re.findall(r'data-left="(.*?)"', "".join(found)) == ["56px", "56px"]


@needs_reveal
@needs_chromium
@pytest.mark.parametrize(
    "path", DECKS, ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_slides_fit_and_nothing_is_fetched(path):
    """At 1280 x 720, with the network off: no request that fails, no error."""
    page = slides.deck(nbformat.read(path, as_version=4), path)
    assert watched(page) == ([], [], [])


def watched(page):
    """(misfits, addresses asked for, what the scripts said on the console)."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log.json")
        options = [f"--log-net-log={log}", "--enable-logging=stderr"]
        found, errors = slides.look(page, *options)
        events = log.read_text(encoding="utf-8")
    # What the browser asks for itself has "not an origin".
    asked = r'"initiator":"(?!not an origin)[^"]*".*"url":"([^"]+)"'
    requests = [url for url in re.findall(asked, events) if not url.startswith("data:")]
    said = [line for line in errors.splitlines() if ":CONSOLE:" in line]
    return found, requests, said


@needs_reveal
@needs_chromium
def test_a_request_and_an_error_would_be_seen():
    page = deck(text("# title", "slide"))
    bad = '<img src="https://example.org/a.png"><script>nosuch()</script></body>'
    found, requests, said = watched(page.replace("</body>", bad))
    assert found == [] and requests == ["https://example.org/a.png"]
    assert len(said) >= 1 and "nosuch is not defined" in "".join(said)


# make slides


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    for module in slides, run_notebooks:
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save(folder, name, *cells):
    nbformat.write(new_notebook(cells=list(cells)), folder / "notebooks" / name)


@needs_reveal
def test_each_notebook_gets_a_file(folder, monkeypatch, capsys):
    save(folder, "a.ipynb", text("# 甲", "slide"))
    save(folder, "b.ipynb", text("# 乙", "slide"))
    monkeypatch.setattr(slides.chromium, "find", lambda: None)
    assert slides.main([]) == 0
    out = capsys.readouterr().out
    assert "notebooks/a.ipynb -> build/slides/a.html" in out
    assert out.endswith(f"fits was not checked. {chromium.MISSING}.\n")
    assert "<title>乙</title>" in (folder / "build/slides/b.html").read_text("utf-8")
    assert slides.main(["notebooks/c.ipynb"]) == 2
    (folder / "notebooks" / "en").mkdir()
    save(folder, "en/a.ipynb", text("# A", "slide"))
    assert slides.main(["notebooks/en"]) == 0
    assert "<title>A</title>" in (folder / "build/slides/en/a.html").read_text("utf-8")
    assert "<title>甲</title>" in (folder / "build/slides/a.html").read_text("utf-8")


@needs_reveal
@pytest.mark.parametrize("error", [None, Problem("Chromium failed with: x")])
def test_a_misfit_is_an_error_and_the_others_are_made(
    folder, monkeypatch, capsys, error
):
    def look(page):
        if error and "甲" in page:
            raise error
        return (["slide 1 (title) is too tall"] if "甲" in page else []), ""

    save(folder, "a.ipynb", text("# 甲", "slide"))
    save(folder, "b.ipynb", text("# 乙", "slide"))
    monkeypatch.setattr(slides.chromium, "find", lambda: "chromium")
    monkeypatch.setattr(slides, "look", look)
    assert slides.main([]) == 1
    output = capsys.readouterr()
    assert (str(error) if error else "a.ipynb, as slides:\nslide 1 (t") in output.err
    assert "b.ipynb -> " in output.out and (folder / "build/slides/b.html").exists()


def test_without_reveal_a_sentence_says_what_to_do(folder, monkeypatch, capsys):
    save(folder, "a.ipynb", text("# 甲", "slide"))
    monkeypatch.setattr(slides, "PACKAGE", "no_such_package")
    slides.reveal_files.cache_clear()
    assert slides.main([]) == 1
    assert "slides: reveal.js is not installed: make reveal" in capsys.readouterr().err
    slides.reveal_files.cache_clear()


def test_a_browser_that_does_not_run_is_a_sentence(tmp_path, monkeypatch):
    page = tmp_path / "a.html"
    page.write_text("")
    for script, words in [
        ("echo no display >&2; exit 3", "Chromium failed with: no display"),
        ("exec sleep 60", "was not done with .*a.html after 1 seconds"),
    ]:
        program = tmp_path / "browser"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setattr(chromium, "find", lambda: tmp_path / "browser")
        with pytest.raises(Problem, match=words):
            chromium.run(page, seconds=1)
    monkeypatch.setattr(chromium, "find", lambda: None)
    with pytest.raises(Problem, match="no Chromium or Chrome here.*apt install"):
        chromium.run(page)


def test_a_browser_that_is_ended_is_started_once_more(tmp_path, monkeypatch, capsys):
    """As the system does when memory is short; it ends with status 0 all the same."""
    page, program, been = tmp_path / "a.html", tmp_path / "browser", tmp_path / "been"
    page.write_text("")
    ended = "echo ERROR: Abnormal renderer termination. >&2"
    program.write_text(
        f"#!/bin/sh\nif test -e {been}; then echo done; else {ended}; fi\n"
    )
    program.write_text(f"{program.read_text()}touch {been}\n")
    program.chmod(0o755)
    monkeypatch.setattr(chromium, "find", lambda: program)
    assert chromium.run(page) == ("done\n", "")
    sentence = "Chromium was ended before it was done. Is there enough memory?"
    assert capsys.readouterr().err == f"{sentence} Once more.\n"
    program.write_text(f"#!/bin/sh\n{ended}\n")
    with pytest.raises(Problem, match=re.escape(sentence)):
        chromium.run(page)
