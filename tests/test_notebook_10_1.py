"""Section 10.1: the notebook against the book's outline, and its numbers a second way."""

import math
import re

import numpy as np
import paddle
import pytest

from tests.notebooks import Notebook

NOTEBOOK = Notebook("10-1-attention-cues.ipynb")
NAMES = {"np": np, "paddle": paddle, "nn": paddle.nn}


def test_headings_and_figures_stand_in_the_book_s_order():
    headings = [h for h in NOTEBOOK.headings() if not h.startswith("###")]
    assert headings == [
        "# 10.1 注意力提示",
        "## 生物学中的注意力提示",
        "## 查询、键和值",
        "## 注意力的可视化",
        "## 小结",
        "## 练习",
        "## 参考文献",
    ]
    order = NOTEBOOK.places("**图10.1.1**", "**图10.1.2**", "**图10.1.3**", "## 小结")
    assert order == sorted(order)


def test_both_names_of_paddle_are_said_once():
    """Whoever reads on meets both."""
    assert NOTEBOOK.prose.count("飞桨（Paddle）") == 1
    first = re.search("飞桨|Paddle", NOTEBOOK.prose)
    assert NOTEBOOK.prose.startswith("飞桨（Paddle）", first.start())


def test_every_reference_is_cited_and_listed():
    cited, listed = NOTEBOOK.references()
    assert cited == listed == {1, 2, 3}


def test_code_is_short_and_narrow():
    NOTEBOOK.check_style()


def test_weights_of_the_things_on_the_desk():
    """Each number by hand: the score is 6 times one of the two features."""
    readable, coloured = (0.5, 0.6, 0, 0.2, 1), (0, 0, 1, 0, 0)
    expected = [("没有查询", [0.2] * 5, "全都一样")]
    for name, feature, thing in [
        ("看重颜色", coloured, "咖啡"),
        ("想要阅读", readable, "书"),
    ]:
        powers = [math.exp(6 * f) for f in feature]
        weights = [round(p / sum(powers), 2) for p in powers]
        expected.append((name, weights, f"最大的是{thing}"))
    lines = [f"{n}：权重{w}，{t}" for n, w, t in expected]
    assert NOTEBOOK.printed("desk").splitlines() == lines


def test_both_functions_draw_the_same():
    lines = NOTEBOOK.printed("heatmaps-agree").splitlines()
    assert lines == [
        "first的颜色范围： [0.0, 5.0]",
        "second的颜色范围： [0.0, 5.0]",
        "两个函数画出的内容相同： True",
    ]


def test_largest_random_weights():
    scores = np.random.default_rng(0).normal(size=(10, 10))
    largest = []
    for factor in (1, 5):
        # The largest weight is 1 over the sum of exp(score - largest score).
        gaps = factor * (scores - scores.max(axis=1, keepdims=True))
        largest.append(round((1 / np.exp(gaps).sum(axis=1)).mean(), 2))
    assert str([float(w) for w in largest]) in NOTEBOOK.printed("exercise-2-heatmap")


class TestExercises:
    @pytest.mark.parametrize("number", [1, 2])
    def test_own_solution_passes(self, number):
        NOTEBOOK.exercise(number, NAMES)

    @pytest.mark.parametrize(
        "number, body",
        [
            (2, "e = paddle.exp(scores)\nreturn e / e.sum(axis=1, keepdim=True)"),
            (2, "return paddle.stack([nn.functional.softmax(s) for s in scores])"),
            (2, "return nn.Softmax()(scores - scores.max(axis=1, keepdim=True))"),
        ],
    )
    def test_another_right_answer_passes(self, number, body):
        NOTEBOOK.exercise(number, NAMES, body)

    @pytest.mark.parametrize(
        "number, body",
        [
            (1, "pass"),
            (1, "return {'自主性提示': 1, '非自主性提示': 2, '感官输入': 3}"),
            (1, "return {'自主性提示': 2, '非自主性提示': 3, '感官输入': 1}"),
            (1, "return {'自主性提示': 2, '非自主性提示': 2, '感官输入': 3}"),
            (1, "return {'自主性提示': 2}"),
            (2, "pass"),
            (2, "return scores"),
            (2, "return nn.functional.softmax(scores, axis=0)"),
            (2, "return nn.functional.softmax(scores.flatten()).reshape((10, 10))"),
            (2, "return nn.functional.softmax(2 * scores)"),
            (2, "return scores.abs() / scores.abs().sum(axis=1, keepdim=True)"),
            (2, "return nn.functional.softmax(scores)[:, :5]"),
            (2, "scores[:] = nn.functional.softmax(scores)\nreturn scores"),
        ],
    )
    def test_wrong_answer_fails(self, number, body):
        with pytest.raises((AssertionError, AttributeError, TypeError)):
            NOTEBOOK.exercise(number, NAMES, body)
