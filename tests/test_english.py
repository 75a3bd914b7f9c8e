"""The English edition: the Chinese notebooks, cell by cell, in other words.

The gate executes both. Here they are compared, and each comparison is shown to find what
it is there to find.
"""

import base64
import copy
import functools
import io
import re

import nbformat
import pytest
from PIL import Image

from tests import editions
from tests.notebooks import FOLDER, Notebook

NAMES = sorted(path.name for path in FOLDER.glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("name", NAMES)


@functools.cache
def both(name):
    paths = FOLDER / name, FOLDER / "en" / name
    return [nbformat.read(path, as_version=4) for path in paths]


def cells(name, cell_type):
    """Pairs of cells, the Chinese and the English one."""
    original, edition = both(name)
    pairs = zip(original.cells, edition.cells)
    return [pair for pair in pairs if pair[0].cell_type == cell_type]


def differences(compare, pairs):
    return [sentence for pair in pairs for sentence in compare(*pair)]


def test_every_notebook_is_translated():
    assert sorted(path.name for path in (FOLDER / "en").glob("*.ipynb")) == NAMES


@each_notebook
def test_it_has_the_same_cells(name):
    assert list(editions.frame(*both(name))) == []


@each_notebook
def test_it_has_the_same_code(name):
    assert differences(editions.code, cells(name, "code")) == []


@each_notebook
def test_its_text_has_the_same_formulas_numbers_and_links(name):
    assert differences(editions.prose, cells(name, "markdown")) == []


@each_notebook
def test_it_shows_the_same(name):
    assert differences(editions.outputs, cells(name, "code")) == []


@each_notebook
def test_it_is_in_english(name):
    edition = both(name)[1]
    assert differences(editions.language, [[cell] for cell in edition.cells]) == []
    headings = Notebook(f"en/{name}").headings()
    assert {"## Summary", "## Exercises", "## References"} <= set(headings)


@each_notebook
def test_a_word_is_spelled_in_one_way(name):
    edition = both(name)[1]
    texts = [[cell] for cell in edition.cells if cell.cell_type == "markdown"]
    assert differences(editions.spelling, texts) == []


@each_notebook
def test_its_links_lead_to_english_notebooks(name):
    for target in re.findall(editions.LINK, Notebook(f"en/{name}").prose):
        if not target.startswith("https://"):
            assert (FOLDER / "en" / target).is_file(), target


@each_notebook
def test_its_references_are_cited_and_listed(name):
    cited, listed = Notebook(f"en/{name}").references()
    assert cited == listed


@each_notebook
def test_its_code_is_short_and_narrow(name):
    Notebook(f"en/{name}").check_style()


# Each comparison finds its fault


def code_cell(source, *outputs, **metadata):
    return nbformat.v4.new_code_cell(
        source, id="a", outputs=list(outputs), metadata=metadata
    )


def text_cell(source):
    return nbformat.v4.new_markdown_cell(source, id="a")


def printed(text):
    return nbformat.v4.new_output("stream", text=text)


SAME_CODE = [
    ("x = 1  # 一", "x = 1  # one"),
    ("print(f'{x}：{y:.2f}个')", "print(f'{x}: {y:.2f} of them')"),
    ("f'第{x}'", "f'{x}'"),
    ("f(f'{x}是' '一')", "f(f'{x}'\n  ' is one')"),
    ("def f():\n    '''文'''", "def f():\n    '''Text'''"),
    ("assert x, '错'", "assert x, f'wrong'"),
    ("%matplotlib inline\nx = '一'", "%matplotlib inline\nx = 'one'"),
]
OTHER_CODE = [
    ("x = 1", "x = 2", "the code is another"),
    ("x = '一'", "y = 'one'", "the code is another"),
    ("print(f'{x}：{y}')", "print(f'{y}: {x}')", "the code is another"),
    ("print(f'{x:.2f}个')", "print(f'{x:.3f} of them')", "the code is another"),
    ("print(f'{x!r}个')", "print(f'{x} of them')", "the code is another"),
    ("f(f'{x[\"a\"]}个')", "f(f'{x[\"b\"]} of them')", "'a' has no Chinese"),
    ("x.astype('int64')", "x.astype('int32')", "'int64' has no Chinese"),
    ("f'{x} a'", "f'{x} b'", "' a' has no Chinese"),
    ("#@save\nx = 1", "x = 1", "the markers ['#@save'] became []"),
    ("# NBVAL_IGNORE_OUTPUT\n# 时间", "# a time", "the markers"),
]


@pytest.mark.parametrize("old, new", SAME_CODE)
def test_words_may_differ(old, new):
    assert list(editions.code(code_cell(old), code_cell(new))) == []


@pytest.mark.parametrize("old, new, words", OTHER_CODE)
def test_code_may_not_differ(old, new, words):
    (sentence,) = editions.code(code_cell(old), code_cell(new))
    assert sentence.startswith("a: ") and words in sentence


TEXT = "## 标题\n\n见（10.6.1）、图10.6.1和`f` [1]，$x$。\n\n$$y \\tag{10.6.2}$$\n\n- [一](a.ipynb)\n- 二\n\n| 三 |\n\n1. 四"
ENGLISH = "## Title\n\nSee $x$ in (10.6.1), Figure 10.6.1 and `f` [1].\n\n$$y \\tag{10.6.2}$$\n\n- [one](a.ipynb)\n- two\n\n| three |\n\n1. four"
FAULTS = [
    ("## Title", "### Title", "levels of headings"),
    ("\\tag{10.6.2}", "\\tag{10.6.3}", "numbers of equations"),
    ("(10.6.1)", "(10.6.2)", "equations it refers to"),
    ("Figure 10.6.1", "Figure 10.6.2", "figures"),
    (" [1]", " [2]", "references"),
    ("1. four", "2. four", "numbered points"),
    ("- two", "two", "points"),
    ("| three |", "three", "rows of tables"),
    ("a.ipynb", "b.ipynb", "links"),
    ("$$y ", "$$z ", "formulas"),
    ("$x$", "$X$", "formulas in a line"),
    ("`f`", "`g`", "names"),
]


@pytest.mark.parametrize("part, fault, name", FAULTS)
def test_what_a_text_must_keep(part, fault, name):
    old = text_cell(TEXT)
    assert list(editions.prose(old, text_cell(ENGLISH))) == []
    assert ENGLISH.count(part) == 1
    found = list(editions.prose(old, text_cell(ENGLISH.replace(part, fault))))
    assert any(sentence.startswith(f"a, {name}: ") for sentence in found)


@pytest.mark.parametrize(
    "text, found",
    [
        ("Centre, colours of a neighbour", []),
        ("Colors, neighboring centers", ["Colors", "neighboring", "centers"]),
        ("A `heatmap`, [a](heatmap.png)", []),
        ("the heatmaps", ["heatmaps"]),
        ("x\n## References\n\n1. A center", []),
    ],
)
def test_spelling(text, found):
    sentences = list(editions.spelling(text_cell(text)))
    assert [sentence.split("'")[1] for sentence in sentences] == found


@pytest.mark.parametrize(
    "old, new, same",
    [
        ("误差：0.12，3个", "error 0.12, 3 of them", True),
        ("w=-1e-3和2", "w=-1e-3 and 2", True),
        ("float32的4", "4 of float16", True),  # part of a name
        ("误差：0.12，3个", "error 0.13, 3 of them", False),
        ("误差：0.12，3个", "3 of them, error 0.12", False),
        ("误差：0.12", "error -0.12", False),
        ("误差：0.12", "error", False),
    ],
)
def test_numbers_that_are_printed(old, new, same):
    pair = [code_cell("f()", printed(text)) for text in (old, new)]
    assert (list(editions.outputs(*pair)) == []) == same
    for cell in pair:
        cell.source = "# NBVAL_IGNORE_OUTPUT\n# a time"
    assert list(editions.outputs(*pair)) == []
    assert len(list(editions.outputs(pair[0], code_cell(pair[1].source)))) == 1


def saved_by_another_program(text):
    file = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(text))).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def test_pictures_are_compared():
    """Those of two figures differ; the bytes of one may, if its pixels do not."""
    old, new = copy.deepcopy(cells("10-1-attention-cues.ipynb", "code")[1])
    data = new.outputs[0].data
    data["image/png"] = saved_by_another_program(data["image/png"])
    assert data["image/png"] != old.outputs[0].data["image/png"]
    assert list(editions.outputs(old, new)) == []
    other = cells("10-1-attention-cues.ipynb", "code")[2][1]
    (sentence,) = editions.outputs(old, code_cell(old.source, *other.outputs))
    assert sentence.startswith("figure-10-1-1: the picture differs ")


def test_cells_and_metadata_are_compared():
    original, _ = both("10-1-attention-cues.ipynb")
    for edit, words in [
        (lambda n: n.cells.pop(3), "the cells are "),
        (lambda n: n.cells[2].metadata.update(tags=["solution"]), "imports, metadata"),
        (lambda n: n.cells[2].update(execution_count=7), "imports, execution_count"),
        (lambda n: n.metadata.kernelspec.update(name="py"), "metadata: "),
    ]:
        edition = copy.deepcopy(original)
        assert list(editions.frame(original, edition)) == []
        edit(edition)
        assert next(editions.frame(original, edition)).startswith(words)


@pytest.mark.parametrize("text", ["汉", "a，b", "a：", "（10.6.1）", "。"])
def test_chinese_is_found_everywhere(text):
    data = nbformat.v4.new_output("display_data", data={"text/plain": text})
    for cell in text_cell(text), code_cell(f"# {text}"):
        assert list(editions.language(cell)) == [
            f"a: there is Chinese in {cell.source!r}"
        ]
    for output in printed(text), data:
        assert len(list(editions.language(code_cell("f()", output)))) == 1
    plain = printed("a — “b” × 1 ≤ 2, Sankhyā … α")
    assert list(editions.language(code_cell("f()", plain))) == []
