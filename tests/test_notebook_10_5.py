"""Section 10.5: the notebook against the book's outline, and its numbers a second way."""

import math

import numpy as np
import paddle
import pytest

import d2l_ext
from tests import reference
from tests.notebooks import Notebook

NOTEBOOK = Notebook("10-5-multi-head-attention.ipynb")


@pytest.fixture(autouse=True)
def as_in_the_notebook(double_precision):
    """Its first cell says so."""
    assert "paddle.set_default_dtype('float64')" in NOTEBOOK.source("imports")


@pytest.fixture
def saved():
    """What the notebook saves for later."""
    names = {"d2l": d2l_ext, "math": math, "nn": paddle.nn, "np": np, "paddle": paddle}
    for cell in ("multi-head-class", "transpose"):
        exec(NOTEBOOK.source(cell), names)
    return names


@pytest.fixture
def trained(saved):
    """The notebook's model, trained as there, and what belongs to it."""
    for cell in ("task-data", "task-training"):
        exec(NOTEBOOK.source(cell), saved)
    return saved


def test_headings_equations_and_figure_stand_in_the_book_s_order():
    headings = [h for h in NOTEBOOK.headings() if not h.startswith("###")]
    assert headings == [
        "# 10.5 多头注意力",
        "## 模型",
        "## 实现",
        "## 小结",
        "## 练习",
        "## 参考文献",
    ]
    marks = "**图10.5.1**", r"\tag{10.5.1}", r"\tag{10.5.2}", "## 小结"
    order = NOTEBOOK.places(*marks)
    assert order == sorted(order)


def test_every_reference_is_cited_and_listed():
    cited, listed = NOTEBOOK.references()
    assert cited == listed == {1, 2, 3}


def test_code_is_short_and_narrow():
    NOTEBOOK.check_style()


def test_splitting_by_hand():
    lines = NOTEBOOK.printed("transpose-check").splitlines()
    assert lines[0] == "原来： [[[0, 1, 2, 3], [4, 5, 6, 7]]]"
    assert lines[1] == "拆开： [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]"
    assert lines[2] == f"[3, 5, 12]拆成4个头：{[3 * 4, 5, 12 // 4]}"
    assert lines[3:] == [
        "还原之后与原来相同： True",
        "与d2l_ext的函数一致： [True, True]",
    ]


def test_shapes_and_counts_that_are_shown():
    layer = NOTEBOOK.cells["toy"].outputs[0].data["text/plain"]
    assert layer.count("in_features=100, out_features=100") == 4
    assert NOTEBOOK.cells["toy-shape"].outputs[0].data["text/plain"] == "[2, 4, 100]"
    shape, *lines = NOTEBOOK.printed("mask").splitlines()
    assert shape == f"权重的形状： {[2 * 5, 4, 6]}"
    for sample, length in enumerate((3, 2)):
        assert lines[sample] == f"样本{sample}，各个头看到的键数： {[length] * 5}"


def test_checks_that_are_shown_came_out_as_claimed():
    for cell in ("formula-check", "ext"):
        assert NOTEBOOK.printed(cell).count("True") == 2
        assert "False" not in NOTEBOOK.printed(cell)
    assert "num_hiddens=100 and num_heads=3" in NOTEBOOK.printed("ext")


def test_ranks_and_parameters():
    """The coefficients of a value are sums of one matrix for each head."""
    lines = [f"{h}个头：参数{4 * 100 * 100}个，系数矩阵的秩{h}" for h in (1, 2, 5)]
    assert NOTEBOOK.printed("rank").splitlines() == lines


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("lens", [None, [2, 0, 7], [[1, 7], [0, 3], [5, 9]]])
def test_saved_class_the_package_s_and_the_formula_give_the_same(saved, lens, bias):
    rng = np.random.default_rng(1)
    shapes = (3, 2, 5), (3, 7, 11), (3, 7, 13)
    arrays = [rng.standard_normal(s) for s in shapes]
    sizes = {"query_size": 5, "key_size": 11, "value_size": 13, "num_hiddens": 6}
    ours, theirs = (
        cls(**sizes, num_heads=3, dropout=0, bias=bias)
        for cls in (saved["MultiHeadAttention"], d2l_ext.MultiHeadAttention)
    )
    theirs.set_state_dict(ours.state_dict())
    assert ours.state_dict().keys() == theirs.state_dict().keys()
    tensors = [paddle.to_tensor(a) for a in arrays]
    lengths = None if lens is None else paddle.to_tensor(lens)
    output = ours(*tensors, lengths).numpy()
    np.testing.assert_allclose(output, theirs(*tensors, lens).numpy(), atol=1e-12)
    if not bias:
        W = [getattr(ours, n).weight.numpy() for n in ("W_q", "W_k", "W_v", "W_o")]
        expected = reference.multi_head_attention(*arrays, lens, *W, 3)[0]
        np.testing.assert_allclose(output, expected, rtol=0, atol=1e-12)


def weights_of(names):
    state = names["model"].state_dict()
    return [state[f"W_{x}.weight"].numpy() for x in "qkvo"]


def test_what_the_trained_model_s_heads_look_at(trained):
    """As described: head 2 looks to the right, head 3 to the left, 0 and 1 at no one."""
    X = trained["X_test"].numpy()[:1]
    weights = reference.multi_head_attention(X, X, X, None, *weights_of(trained), 4)[1]
    places = np.arange(6)
    for head, step in [(2, 1), (3, -1)]:
        assert weights[head][0, places, (places + step) % 6].min() > 0.8
    for head in (0, 1):
        assert (weights[head][0].max(axis=1) < 0.7).sum() >= 2


def test_importance_and_pruning(trained):
    """The loss with some heads only, from the formula, with the others' rows at 0."""
    X, Y = trained["X_test"].numpy(), trained["Y_test"].numpy()
    W_q, W_k, W_v, W_o = weights_of(trained)

    def loss(heads):
        rows = np.isin(np.arange(12) // 3, heads)[:, np.newaxis]
        output = reference.multi_head_attention(
            X, X, X, None, W_q, W_k, W_v, W_o * rows, 4
        )[0]
        return ((output[:, :, :6] - Y) ** 2).mean()

    before, after = NOTEBOOK.printed("task-training").splitlines()
    assert float(before[-5:]) > 1 and after[-5:] == f"{loss(range(4)):.3f}" == "0.000"
    lines = NOTEBOOK.printed("exercise-2-importance").splitlines()
    for head, line in enumerate(lines):
        increase = loss([h for h in range(4) if h != head]) - loss(range(4))
        assert line == f"去掉头{head}，损失增加{increase:.3f}"
    assert NOTEBOOK.printed("exercise-2-prune").count("True") == 4
    left = [0, 1, 2, 3], [0, 2, 3], [2, 3], [3]
    lines = [f"留下头{heads}，损失{loss(heads):.3f}" for heads in left]
    assert NOTEBOOK.printed("exercise-2-curve").splitlines() == lines
    # As the text says of both orders.
    assert loss([2, 3]) < 0.1 and 0.545 < loss([0, 1, 3]) < 0.555 and loss([0, 1]) > 1


def test_pruned_model_is_half_as_large():
    loss, full, pruned = NOTEBOOK.printed("exercise-2-finetune").splitlines()
    assert loss.startswith("留下头[2, 3]") and loss.endswith("之后0.000")
    assert full == f"原来的参数：{3 * 9 * 12 + 12 * 12}个"
    assert pruned == f"剪枝之后的参数：{3 * 9 * 6 + 6 * 12}个"


RIGHT = [
    (1, "w = layer.attention.attention_weights\n"
        "return paddle.stack([w[4 * b:4 * b + 4] for b in range(batch_size)])"),
    (2, "full, result = evaluate(layer), []\nweight = layer.W_v.weight.numpy().copy()\n"
        "for h in range(4):\n    W = weight.copy()\n    W[:, 3 * h:3 * h + 3] = 0\n"
        "    layer.W_v.weight.set_value(W)\n    result.append(evaluate(layer) - full)\n"
        "layer.W_v.weight.set_value(weight)\nreturn np.array(result)"),
]  # fmt: skip
ZERO = (
    "full, result = evaluate(layer), []\nweight = layer.W_o.weight.numpy().copy()\n"
    "for h in range(4):\n    W = weight.copy()\n    {}\n"
    "    layer.W_o.weight.set_value(W)\n    result.append(evaluate(layer){})\n"
    "layer.W_o.weight.set_value({})\nreturn result"
)
WRONG = [
    (1, "pass"),
    (1, "return layer.attention.attention_weights"),
    (1, "w = layer.attention.attention_weights\n"
        "return w.reshape((4, batch_size, 6, 6)).transpose((1, 0, 2, 3))"),
    (1, "w = layer.attention.attention_weights\n"
        "return w.reshape((batch_size, 4, 6, 6)).transpose((0, 1, 3, 2))"),
    (2, "pass"),
    (2, "return [0.0] * 4"),
    (2, ZERO.format("W[3 * h:3 * h + 3] = 0", "", "weight")),
    (2, ZERO.format("W[3 * h:3 * h + 3] = 0", " - full", "W")),
    (2, ZERO.format("W[:, 3 * h:3 * h + 3] = 0", " - full", "weight")),
    (2, ZERO.format("W[h::4] = 0", " - full", "weight")),
]  # fmt: skip


class TestExercises:
    @pytest.mark.parametrize("number", [1, 2])
    def test_own_solution_passes(self, trained, number):
        NOTEBOOK.exercise(number, trained)

    @pytest.mark.parametrize("number, body", RIGHT)
    def test_another_right_answer_passes(self, trained, number, body):
        NOTEBOOK.exercise(number, trained, body)

    @pytest.mark.parametrize("number, body", WRONG)
    def test_wrong_answer_fails(self, trained, number, body):
        with pytest.raises((AssertionError, AttributeError, TypeError)):
            NOTEBOOK.exercise(number, trained, body)
