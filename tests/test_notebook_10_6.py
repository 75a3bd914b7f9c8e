"""Section 10.6: the notebook against the book's outline, and its numbers a second way.

The gate compares the notebook with itself. Here its headings, equations and numbers are
compared with what they have to be.
"""

import math
import re

import matplotlib
import numpy as np
import paddle
import pytest
from paddle import nn

import d2l_ext
from tests import reference
from tests.notebooks import Notebook

matplotlib.use("Agg")
NOTEBOOK = Notebook("10-6-self-attention-and-positional-encoding.ipynb")
CELLS, printed = NOTEBOOK.cells, NOTEBOOK.printed


def test_headings_equations_and_figure_stand_in_the_book_s_order():
    assert NOTEBOOK.headings() == [
        "# 10.6 自注意力和位置编码",
        "## 自注意力",
        "## 比较卷积神经网络、循环神经网络和自注意力",
        "## 位置编码",
        "### 绝对位置信息",
        "### 相对位置信息",
        "## 小结",
        "## 练习",
        "### 练习1：堆叠自注意力层",
        "### 练习2：学出来的位置编码",
        "## 参考文献",
    ]
    order = NOTEBOOK.places(
        r"\tag{10.6.1}", "**图10.6.1**", r"\tag{10.6.2}", r"\tag{10.6.3}", "## 小结"
    )
    assert order == sorted(order)


def test_both_names_of_paddle_are_said_once():
    """Whoever reads on meets both."""
    assert NOTEBOOK.prose.count("飞桨（Paddle）") == 1
    first = re.search("飞桨|Paddle", NOTEBOOK.prose)
    assert NOTEBOOK.prose.startswith("飞桨（Paddle）", first.start())


def test_every_reference_is_cited_and_listed():
    cited, listed = NOTEBOOK.references()
    assert cited == listed == set(range(1, 10))


def test_code_is_short_and_narrow():
    NOTEBOOK.check_style()


def saved_class():
    """The class marked #@save, as the notebook defines it."""
    (source,) = [c.source for c in NOTEBOOK.code if c.source.startswith("#@save")]
    names = {"paddle": paddle, "nn": nn}
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


def test_legend_hides_no_curve():
    names = {"PositionalEncoding": saved_class(), "d2l": d2l_ext.patch_d2l()}
    exec(NOTEBOOK.source("curves"), {"paddle": paddle, **names})
    axes = names["d2l"].plt.gca()
    axes.figure.canvas.draw()
    frame = axes.get_legend().get_window_extent()
    assert not frame.overlaps(axes.get_window_extent())
    names["d2l"].plt.close("all")


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


def exercise(number, body=None):
    names = {"math": math, "nn": nn, "np": np, "paddle": paddle}
    names["rng"] = np.random.default_rng(0)
    return NOTEBOOK.exercise(number, names, body)


def test_own_answers_pass(capsys):
    pair_by_pair = """pairs = [(a, b) for i, a in enumerate(Y) for b in Y[:i]]
return np.mean([
    a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in pairs])"""
    exercise(1)
    exercise(1, pair_by_pair)
    by_embedding = """def __init__(self, num_hiddens, dropout, max_len=1000):
    super().__init__()
    self.table = nn.Embedding(max_len, num_hiddens)
    self.dropout = nn.Dropout(dropout)

def forward(self, X):
    return self.dropout(X + self.table(paddle.arange(X.shape[1])))"""
    exercise(2)
    exercise(2, by_embedding)
    assert capsys.readouterr().out.count("检查通过") == 4


@pytest.mark.parametrize(
    "body",
    [
        "return (Y @ Y.T).mean()",
        "Y = Y / np.linalg.norm(Y, axis=1, keepdims=True); return (Y @ Y.T).mean()",
        "Y = Y / np.linalg.norm(Y, axis=0); n = len(Y)\n"
        "return ((Y @ Y.T).sum() - n) / (n * (n - 1))",
    ],
)
def test_wrong_answers_to_exercise_1_fail(body):
    with pytest.raises(AssertionError):
        exercise(1, body)


@pytest.mark.parametrize(
    "table, output",
    [
        ("paddle.randn(shape)", "self.dropout(X + self.P[:, :n])"),
        ("self.create_parameter(shape)", "X + self.P[:, :n]"),
        ("self.create_parameter(shape)", "self.dropout(X + self.P[:, -n:])"),
        ("self.create_parameter(shape)", "self.dropout(X + 2 * self.P[:, :n])"),
        ("self.create_parameter([2, *shape[1:]])", "self.dropout(X + self.P[:, :n])"),
    ],
)
def test_wrong_answers_to_exercise_2_fail(table, output):
    body = f"""def __init__(self, num_hiddens, dropout, max_len=1000):
    super().__init__()
    self.dropout = nn.Dropout(dropout)
    shape = [1, max_len, num_hiddens]
    self.P = {table}

def forward(self, X):
    n = X.shape[1]
    return {output}"""
    with pytest.raises(AssertionError):
        exercise(2, body)


def attention(X, parameters, num_heads):
    """Self-attention of one sample, head by head."""
    q, k, v, o = parameters
    size = X.shape[1] // num_heads
    heads = []
    for h in range(num_heads):
        part = slice(h * size, (h + 1) * size)
        scores = (X @ q)[:, part] @ (X @ k)[:, part].T / math.sqrt(size)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        heads.append(weights @ (X @ v)[:, part])
    return np.concatenate(heads, axis=1) @ o


def test_similarity_by_depth():
    d, n = 32, 20
    embeddings = np.random.default_rng(0).standard_normal((n, d))
    start = embeddings + reference.positional_encoding(n, d)
    lines = printed("exercise-1-similarity").splitlines()
    for line, (residual, norm) in zip(lines, [(0, 0), (1, 0), (1, 1)]):
        rng, X = np.random.default_rng(1), start
        found = []
        for _ in range(24):
            parameters = [rng.normal(0, d**-0.5, (d, d)) for _ in range(4)]
            X = attention(X, parameters, 4) + residual * X
            if norm:
                X = X - X.mean(axis=1, keepdims=True)
                X /= np.sqrt((X**2).mean(axis=1, keepdims=True) + 1e-5)
            unit = X / np.linalg.norm(X, axis=1, keepdims=True)
            found.append((unit @ unit.T)[~np.eye(n, dtype=bool)].mean())
        values = "、".join(f"{found[i - 1]:.2f}" for i in (2, 8, 24))
        assert f"是{values}，" in line and line.endswith(f"{np.abs(X).max():.1f}")


def test_guessing_is_compared_with_what_is_printed():
    """Without positions: the share that is printed, beside 1 of 11 tokens."""
    first = printed("exercise-2-training").splitlines()[0]
    share = int(re.search(r"(\d+)%", first)[1])
    said = CELLS["exercise-2-solution-text"].source
    assert f"猜对了{share}%，是在11个词元中随意猜（约{100 / 11:.0f}%）的三倍多" in said
    assert 3 < share / (100 / 11) < 4
