"""Section 10.3: the notebook against the book's outline, and its numbers a second way."""

import math

import numpy as np
import paddle
import pytest

import d2l_ext
from tests import reference
from tests.notebooks import Notebook

NOTEBOOK = Notebook("10-3-attention-scoring-functions.ipynb")


@pytest.fixture(autouse=True)
def as_in_the_notebook(double_precision):
    """Its first cell says so."""
    assert "paddle.set_default_dtype('float64')" in NOTEBOOK.source("imports")


@pytest.fixture
def saved():
    """What the notebook defines before its exercises."""
    names = {
        "d2l": d2l_ext,
        "math": math,
        "nn": paddle.nn,
        "np": np,
        "paddle": paddle,
        "rng": np.random.default_rng(2),
    }
    for cell in (
        "masked-softmax-function",
        "additive-class",
        "additive-toy",
        "additive-check",
        "dot-product-class",
    ):
        exec(NOTEBOOK.source(cell), names)
    return names


@pytest.fixture
def exercises(saved):
    for cell in ("exercise-1-answer", "exercise-1-data"):
        exec(NOTEBOOK.source(cell), saved)
    return saved


def test_headings_equations_and_figure_stand_in_the_book_s_order():
    headings = [h for h in NOTEBOOK.headings() if not h.startswith("###")]
    assert headings == [
        "# 10.3 注意力评分函数",
        "## 掩蔽softmax操作",
        "## 加性注意力",
        "## 缩放点积注意力",
        "## 小结",
        "## 练习",
        "## 参考文献",
    ]
    marks = [rf"\tag{{10.3.{i}}}" for i in range(1, 6)]
    order = NOTEBOOK.places("**图10.3.1**", *marks, "## 小结")
    assert order == sorted(order)


def test_every_reference_is_cited_and_listed():
    cited, listed = NOTEBOOK.references()
    assert cited == listed == {1, 2, 3, 4}


def test_code_is_short_and_narrow():
    NOTEBOOK.check_style()


def test_gaussian_kernel_is_a_scoring_function():
    kernel = [math.exp(-((2 - k) ** 2) / 2) for k in (0, 1, 2.5, 4)]
    weights = str([round(value / sum(kernel), 4) for value in kernel])
    assert [line.partition("[")[2] for line in NOTEBOOK.printed("gaussian").split("\n")] == [
        weights[1:], weights[1:], "",
    ]  # fmt: skip


def test_weights_that_are_shown():
    rng = np.random.default_rng(0)
    for cell, lens in [("masked-1d", [2, 3]), ("masked-2d", [[1, 3], [2, 4]])]:
        weights = reference.masked_softmax(rng.random((2, 2, 4)), lens).round(3)
        assert NOTEBOOK.printed(cell) == f"{weights}\n"


def test_faults_of_a_constant_as_mask():
    half, quarter, nothing = [0.5, 0.5, 0.0, 0.0], [0.25] * 4, [0.0] * 4
    rows = [quarter, half[::-1], nothing, half]
    lines = NOTEBOOK.printed("masked-faults").splitlines()
    assert [line.partition("： ")[2] for line in lines] == [*map(str, rows), "True"]


def test_checks_that_are_shown_came_out_as_claimed():
    for cell, count in [("masked-same", 3), ("additive-check-result", 3)]:
        assert NOTEBOOK.printed(cell).count("True") == count
        assert "False" not in NOTEBOOK.printed(cell)
    assert "[[[0.5, 0.5, 0.0, 0.0]]]" in NOTEBOOK.printed("masked-same")
    shown = NOTEBOOK.printed("dot-product-check")
    assert shown.count("True") == 2 and "[0.0, 0.0, 0.0, 0.0]" in shown
    assert [line[-5:].strip() for line in NOTEBOOK.printed("nan").splitlines()] == [
        "False",
        "True",
    ]


@pytest.mark.parametrize("cell", ["additive-toy", "dot-product-toy"])
def test_equal_keys_give_the_means_of_the_valid_values(cell):
    values = np.arange(40.0).reshape(10, 4)
    means = np.stack([[values[:2].mean(0)], [values[:6].mean(0)]])
    assert NOTEBOOK.printed(cell) == f"{means}\n"


def test_variance_and_largest_weight_by_length():
    lines = NOTEBOOK.printed("scaling").splitlines()
    assert len(lines) == 6
    for line, d in zip(lines, [4**i for i in range(6)]):
        name, variance, scaled = line.replace("，缩放后", "：方差").split("：方差")
        assert int(name[2:]) == d
        # Of 5000 scores the variance is off by sqrt(2 / 5000) = 2 %, or more for small
        # d, whose scores are not normal.
        assert abs(float(variance) / d - 1) < 0.15
        assert abs(float(scaled) - float(variance) / d) < 0.06 / d + 0.005
    # With 10 scores of variance 1 the largest has a third of the weight, as is said.
    scores = np.random.default_rng(5).standard_normal((20000, 1, 10))
    largest = reference.masked_softmax(scores[:2000], None).max(axis=-1).mean()
    assert abs(largest - 1 / 3) < 0.02


def tensors(*shapes):
    rng = np.random.default_rng(3)
    return [paddle.to_tensor(rng.standard_normal(s)) for s in shapes]


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
@pytest.mark.parametrize("lens", [None, [2, 0, 7], [[1, 7], [0, 3], [5, 9]]])
def test_saved_function_and_classes_and_the_package_s_give_the_same(saved, lens, dtype):
    Q, K, V = tensors((3, 2, 5), (3, 7, 5), (3, 7, 11))
    lens = None if lens is None else paddle.to_tensor(lens).astype(dtype)
    scores = np.random.default_rng(4).standard_normal((3, 2, 7))
    weights = saved["masked_softmax"](paddle.to_tensor(scores), lens).numpy()
    expected = reference.masked_softmax(scores, None if lens is None else lens.numpy())
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-12)
    for name, sizes in [
        ("AdditiveAttention", (5, 5, 13, 0)),
        ("DotProductAttention", (0,)),
    ]:
        ours, theirs = saved[name](*sizes), getattr(d2l_ext, name)(*sizes)
        theirs.set_state_dict(ours.state_dict())
        assert ours.state_dict().keys() == theirs.state_dict().keys()
        np.testing.assert_allclose(
            ours(Q, K, V, lens).numpy(), theirs(Q, K, V, lens).numpy(), rtol=0, atol=1e-12
        )  # fmt: skip


def test_gradient_of_the_saved_function_is_finite_in_a_masked_row(saved):
    (X,) = tensors((2, 1, 3))
    X.stop_gradient = False
    saved["masked_softmax"](X, paddle.to_tensor([0, 2]))[:, :, 0].sum().backward()
    gradient = X.grad.numpy()
    assert (gradient[0] == 0).all() and gradient[1, 0, 2] == 0 and gradient[1, 0, 0] > 0


def test_heat_maps_of_exercise_1_are_as_described(exercises):
    names = exercises
    both = names["two_weights"](
        names["layer"], names["queries"], names["new_keys"], names["values"],
        names["valid_lens"],
    )  # fmt: skip
    for by_sum, by_product in zip(*(w.numpy()[:, 0] for w in both)):
        assert by_sum.argmax() != by_product.argmax()
    assert both[0].numpy()[0, 0].argmax() == 0 and both[1].numpy()[0, 0].argmax() == 1


def test_solutions_print_what_is_claimed():
    shown = NOTEBOOK.printed("exercise-2-solution-check").splitlines()
    assert [line[-4:] for line in shown[:2]] == ["True", "True"]
    assert shown[2] == "M的形状和秩： (5, 7) 2"
    without, with_tanh = NOTEBOOK.printed("exercise-3-solution-check").splitlines()
    assert without == "只求和：0.000" and float(with_tanh.partition("：")[2]) > 0.1


LAYER = """def __init__(self, query_size, key_size):
    super().__init__()
    {}

def forward(self, q, k):
    return {}"""
RIGHT = [
    (1, "d = d2l.DotProductAttention(0)\nd(queries, keys, values, valid_lens)\n"
        "a = d2l.AdditiveAttention(2, 2, 8, 0)\na.set_state_dict(layer.state_dict())\n"
        "a(queries, keys, values, valid_lens)\n"
        "return a.attention_weights, d.attention_weights"),
    (2, LAYER.format("self.M = self.create_parameter([query_size, key_size])",
                     "q @ self.M @ k.transpose([0, 2, 1])")),
    (2, LAYER.format("self.W_q = nn.Linear(query_size, 3, bias_attr=False)\n"
                     "    self.W_k = nn.Linear(key_size, 3, bias_attr=False)",
                     "paddle.bmm(self.W_q(q), self.W_k(k).transpose([0, 2, 1])) / 2")),
    (3, "return nn.functional.softmax((keys @ w).unsqueeze(1), axis=-1)"
        ".tile((1, queries.shape[1], 1))"),
    (3, "e = ((queries @ w).unsqueeze(2) + (keys @ w).unsqueeze(1)).exp()\n"
        "return e / e.sum(axis=-1, keepdim=True)"),
]  # fmt: skip
WRONG = [
    (1, "pass"),
    (1, "layer(queries, keys, values, valid_lens)\n"
        "return layer.attention_weights, layer.attention_weights"),
    (1, "d = DotProductAttention(0)\nd(queries, keys, values)\n"
        "layer(queries, keys, values, None)\n"
        "return layer.attention_weights, d.attention_weights"),
    (1, "d = DotProductAttention(0)\nd(queries, keys, values, valid_lens)\n"
        "layer(queries, keys, values, valid_lens)\n"
        "return d.attention_weights, layer.attention_weights"),
    (2, "pass"),
    (2, LAYER.format("self.W = nn.Linear(query_size, key_size)",
                     "(self.W(q) + 1) @ k.transpose([0, 2, 1])")),
    (2, LAYER.format("self.W = nn.Linear(query_size, key_size)",
                     "self.W(q) @ k.transpose([0, 2, 1])")),
    (2, LAYER.format("self.W = nn.Linear(query_size, key_size, bias_attr=False)",
                     "self.W(q).tanh() @ k.transpose([0, 2, 1])")),
    (2, LAYER.format("self.W = nn.Linear(query_size, key_size, bias_attr=False)",
                     "k @ self.W(q).transpose([0, 2, 1])")),
    (2, LAYER.format("self.W = paddle.ones([query_size, key_size])",
                     "q @ self.W @ k.transpose([0, 2, 1])")),
    (2, LAYER.format("self.W = nn.Linear(query_size, key_size, bias_attr=False)",
                     "(self.W(q) @ k.transpose([0, 2, 1])).cumsum(axis=1)")),
    (3, "pass"),
    (3, "return nn.functional.softmax(queries @ keys.transpose([0, 2, 1]), axis=-1)"),
    (3, "return (queries @ w).unsqueeze(2) + (keys @ w).unsqueeze(1)"),
    (3, "s = (queries @ w).unsqueeze(2) + (keys @ w).unsqueeze(1)\n"
        "return nn.functional.softmax(s, axis=1)"),
    (3, "return nn.functional.softmax(keys @ w, axis=-1)"),
]  # fmt: skip


class TestExercises:
    @pytest.mark.parametrize("number", [1, 2, 3])
    def test_own_solution_passes(self, exercises, number):
        NOTEBOOK.exercise(number, exercises)

    @pytest.mark.parametrize("number, body", RIGHT)
    def test_another_right_answer_passes(self, exercises, number, body):
        NOTEBOOK.exercise(number, exercises, body)

    @pytest.mark.parametrize("number, body", WRONG)
    def test_wrong_answer_fails(self, exercises, number, body):
        with pytest.raises((AssertionError, AttributeError, TypeError)):
            NOTEBOOK.exercise(number, exercises, body)
