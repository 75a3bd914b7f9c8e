"""Section 10.6: the notebook against the book's outline, and its numbers a second way.

The gate compares the notebook with itself. Here its headings, equations and numbers are
compared with what they have to be.
"""

import re
import unicodedata
from pathlib import Path

import nbformat
import numpy as np
import paddle
import pytest

import d2l_ext
from tests import reference

PATH = Path(__file__).parents[1] / (
    "notebooks/10-6-self-attention-and-positional-encoding.ipynb"
)
NOTEBOOK = nbformat.read(PATH, as_version=4)
CELLS = {cell.id: cell for cell in NOTEBOOK.cells}
PROSE = "\n".join(c.source for c in NOTEBOOK.cells if c.cell_type == "markdown")


def printed(cell_id):
    return "".join(o.text for o in CELLS[cell_id].outputs if o.output_type == "stream")


def positions(*texts):
    """Where the texts stand in the prose; each must be there once."""
    for text in texts:
        assert PROSE.count(text) == 1, text
    return [PROSE.index(text) for text in texts]


def test_headings_equations_and_figure_stand_in_the_book_s_order():
    headings = re.findall(r"^(#+ .*)$", PROSE, re.MULTILINE)
    assert headings == [
        "# 10.6 自注意力和位置编码",
        "## 自注意力",
        "## 比较卷积神经网络、循环神经网络和自注意力",
        "## 位置编码",
        "### 绝对位置信息",
        "### 相对位置信息",
        "## 小结",
        "## 练习",
        "## 参考文献",
    ]
    order = positions(
        r"\tag{10.6.1}", "**图10.6.1**", r"\tag{10.6.2}", r"\tag{10.6.3}", "## 小结"
    )
    assert order == sorted(order)


def test_every_reference_is_cited_and_listed():
    cited = PROSE[: PROSE.index("## 参考文献")]
    numbers = set()
    for group in re.findall(r"\[([\d, –]+)\]", cited):
        for part in group.split(", "):
            first, _, last = part.partition("–")
            numbers |= set(range(int(first), int(last or first) + 1))
    listed = re.findall(r"^(\d)\. ", PROSE[PROSE.index("## 参考文献") :], re.MULTILINE)
    assert numbers == {int(n) for n in listed} == set(range(1, 8))


@pytest.mark.parametrize("cell", [c for c in CELLS.values() if c.cell_type == "code"])
def test_code_is_short_and_78_columns_wide(cell):
    lines = cell.source.split("\n")
    assert len(lines) <= 20
    for line in lines:
        width = sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line)
        assert width <= 78, line


def test_chinese_comments_have_no_full_stop():
    for cell in CELLS.values():
        if cell.cell_type == "code":
            assert not re.search(r"#.*。\s*$", cell.source, re.MULTILINE), cell.id


def saved_class():
    """The class marked #@save, as the notebook defines it."""
    (source,) = [c.source for c in CELLS.values() if c.source.startswith("#@save")]
    names = {"paddle": paddle, "nn": paddle.nn}
    exec(source, names)
    return names["PositionalEncoding"]


@pytest.mark.parametrize("num_hiddens", [2, 14, 34])
def test_saved_class_and_the_package_s_give_the_same(num_hiddens):
    X = paddle.randn((3, 101, num_hiddens))
    theirs, ours = (
        cls(num_hiddens, dropout=0, max_len=101)
        for cls in (saved_class(), d2l_ext.PositionalEncoding)
    )
    np.testing.assert_allclose(theirs.P.numpy(), ours.P.numpy(), rtol=0, atol=2e-5)
    np.testing.assert_allclose(theirs(X).numpy(), ours(X).numpy(), rtol=0, atol=2e-5)
    assert theirs.state_dict().keys() == ours.state_dict().keys()


def test_shapes_and_weights_that_are_shown():
    assert CELLS["attention-shape"].outputs[0].data["text/plain"] == "[2, 4, 100]"
    text = printed("weights")
    assert f"[{2 * 5}, 4, 4]" in text  # 2 samples, 5 heads
    for length in (3, 2):
        row = [round(1 / length, 4)] * length + [0.0] * (4 - length)
        assert str(row) in text


def test_receptive_fields():
    # Of tokens 1..7, those within L steps of the 4th; up to it; all.
    expected = [
        [n for n in range(1, 8) if abs(n - 4) <= layers] for layers in (1, 2, 3)
    ]
    expected += [[1, 2, 3, 4], [1, 2, 3, 4, 5, 6, 7]]
    lists = [
        line.partition("： ")[2] for line in printed("receptive-fields").split("\n")
    ]
    assert lists == [*map(str, expected), ""]


def test_checks_that_are_shown_came_out_as_claimed():
    assert printed("mask").split() == ["改动填充词元后，输出不变：", "True",
                                       "改动第一个词元后，输出不变：", "False"]  # fmt: skip
    assert printed("order") == "输出只是跟着颠倒： True\n"
    assert printed("table").count("True") == 3 and "False" not in printed("table")


def test_frequencies_that_are_read_off():
    for column in range(6, 10):
        omega = 10000 ** -(column // 2 * 2 / 32)
        line = f"第{column}列：读出的频率{omega:.3f}，公式的频率{omega:.3f}"
        assert line in printed("frequencies")


def test_binary_numbers():
    lines = [f"{i}的二进制是：{i // 4}{i // 2 % 2}{i % 2}" for i in range(8)]
    assert printed("binary").split() == lines


def test_sign_changes():
    cosines = reference.positional_encoding(60, 32)[:, 1::2]
    changes = (np.diff(np.sign(cosines), axis=0) != 0).sum(axis=0).tolist()
    assert str(changes) in printed("sign-changes")


def test_largest_error_of_the_rotation():
    """(10.6.3) with complex numbers: cos + i sin turns by exp(i delta omega)."""
    table = reference.positional_encoding(1000, 32).astype("float32").astype("float64")
    points = table[:, 1::2] + 1j * table[:, 0::2]
    omega = 10000.0 ** -(np.arange(0, 32, 2) / 32)
    worst = 0
    for delta in range(1, 1000):
        error = points[:-delta] * np.exp(1j * delta * omega) - points[delta:]
        worst = max(worst, np.abs(error.real).max(), np.abs(error.imag).max())
    assert f"999个偏移中，最大的误差是{worst:.1e}" in printed("rotation")
