"""Section 10.2: the notebook against the book's outline, and its numbers a second way.

Everything is worked out anew in float64 NumPy, from kernels rather than from softmax.
"""

import numpy as np
import paddle
import pytest

from tests import reference
from tests.notebooks import Notebook

NOTEBOOK = Notebook("10-2-nadaraya-watson.ipynb")


def f(x):
    return 2 * np.sin(x) + x**0.8


RNG = np.random.default_rng(0)
X = np.sort(RNG.random(50) * 5)
Y = f(X) + RNG.normal(0.0, 0.5, 50)
X_TEST = np.arange(50) / 10
TRUTH = f(X_TEST)


def weights(x, keys, w=1.0):
    """(10.2.7), row by row."""
    rows = [np.exp(-(((q - keys) * r) ** 2) / 2) for q, r in zip(x, w + 0 * x)]
    return np.array([row / row.sum() for row in rows])


def error_on_truth(w):
    return ((weights(X_TEST, X, w) @ Y - TRUTH) ** 2).mean()


def loss_and_slope(w):
    """The loss of training and its derivative, both by hand from (10.2.7)."""
    loss = slope = 0.0
    for i in range(50):
        x, y = np.delete(X, i), np.delete(Y, i)
        squares = (X[i] - x) ** 2
        alpha = weights(X[i : i + 1], x, w)[0]
        predicted = alpha @ y
        # d alpha_j / dw = alpha_j (-w s_j + w sum_k alpha_k s_k)
        change = alpha * (-w * squares + w * (alpha @ squares))
        loss += (predicted - Y[i]) ** 2
        slope += 2 * (predicted - Y[i]) * (change @ y)
    return loss, slope


def trained(learning_rate=0.5, num_epochs=5):
    losses, w = [], [1.0]
    for _ in range(num_epochs):
        loss, slope = loss_and_slope(w[-1])
        losses.append(loss)
        w.append(w[-1] - learning_rate * slope)
    return losses, w


def test_headings_and_equations_stand_in_the_book_s_order():
    headings = [h for h in NOTEBOOK.headings() if not h.startswith("### 练习")]
    assert headings == [
        "# 10.2 注意力汇聚：Nadaraya-Watson核回归",
        "## 生成数据集",
        "## 平均汇聚",
        "## 非参数注意力汇聚",
        "## 带参数注意力汇聚",
        "### 批量矩阵乘法",
        "### 定义模型",
        "### 训练",
        "## 小结",
        "## 练习",
        "## 参考文献",
    ]
    tags = [rf"\tag{{10.2.{i}}}" for i in range(1, 9)]
    order = NOTEBOOK.places(*tags, "## 小结")
    assert order == sorted(order)


def test_every_reference_is_cited_and_listed():
    cited, listed = NOTEBOOK.references()
    assert cited == listed == {1, 2}


def test_code_is_short_and_narrow():
    NOTEBOOK.check_style()


def test_errors_of_the_three_poolings():
    average = ((Y.mean() - TRUTH) ** 2).mean()
    for cell, error in [
        ("average-pooling", average),
        ("nonparametric-pooling", error_on_truth(1.0)),
        ("predict", error_on_truth(trained()[1][-1])),
    ]:
        assert NOTEBOOK.printed(cell).endswith(f"测试误差：{error:.3f}\n")


def test_checks_that_are_shown_came_out_as_claimed():
    assert NOTEBOOK.printed("kernel-check").count("True") == 3
    assert "False" not in NOTEBOOK.printed("kernel-check")
    assert NOTEBOOK.printed("model-check").endswith("True\n")
    assert NOTEBOOK.printed("leave-one-out") == (
        "键的形状： [50, 49]\n有查询看得到自己的键： False\n"
    )


def test_batch_matrix_multiplication():
    assert NOTEBOOK.cells["bmm-shape"].outputs[0].data["text/plain"] == "[2, 1, 6]"
    means = [sum(range(10)) / 10, sum(range(10, 20)) / 10]
    assert NOTEBOOK.printed("bmm-mean") == f"形状： [2, 1, 1]\n平均值： {means}\n"


def test_training():
    losses, w = trained()
    lines = [
        f"epoch {i + 1}, loss {losses[i]:.3f}, 更新后的w {w[i + 1]:.2f}"
        for i in range(5)
    ]
    assert NOTEBOOK.printed("train").splitlines() == lines


def test_sharpness():
    for name, w in [("非参数", 1.0), ("带参数", trained()[1][-1])]:
        largest = weights(X_TEST, X, w).max(axis=1).mean()
        assert f"{name}注意力汇聚：最大的权重平均是{largest:.2f}" in NOTEBOOK.printed(
            "sharpness"
        )


def test_more_samples():
    errors = []
    for n in (10, 30, 100, 300, 1000):
        rng, total = np.random.default_rng(n), 0
        for _ in range(100):
            x = rng.random(n) * 5
            y = f(x) + rng.normal(0, 0.5, n)
            total += ((weights(X_TEST, x) @ y - TRUTH) ** 2).mean()
        errors.append(round(total / 100, 3))
    # The limit is a quotient of two integrals: here by Gauss's points. x ** 0.8 is
    # not smooth at 0; x = t ** 5 makes it so.
    points, gauss = np.polynomial.legendre.leggauss(60)
    t = (points + 1) / 2 * 5**0.2
    u, gauss = t**5, gauss * 5 * t**4
    kernel = np.exp(-((X_TEST[:, None] - u) ** 2) / 2)
    smooth = kernel @ (gauss * f(u)) / (kernel @ gauss)
    limit = ((smooth - TRUTH) ** 2).mean()
    printed = NOTEBOOK.printed("exercise-1-experiment")
    assert printed == f"测试误差： {[float(e) for e in errors]} 极限：{limit:.3f}\n"
    assert f"误差是{error_on_truth(1.0):.3f}。" in NOTEBOOK.prose


def test_number_of_keys_and_the_best_w():
    for w in (0.1, 1, 5, trained()[1][-1]):
        scores = -(((X_TEST[:, None] - X) * w) ** 2)[None] / 2
        counts = []
        for row in reference.masked_softmax(scores, None)[0]:
            total, count = 0, 0
            for weight in sorted(row, reverse=True):
                total, count = total + weight, count + 1
                if total > 0.9:
                    break
            counts.append(count)
        line = f"w = {w:.1f}：平均要{np.mean(counts):.1f}个键"
        assert line in NOTEBOOK.printed("exercise-2-sharpness")
    low, high = 2.0, 10.0  # the slope changes its sign once in between
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if loss_and_slope(middle)[1] > 0 else (middle, high)
    printed = NOTEBOOK.printed("exercise-2-loss")
    assert f"损失最小的w是{low:.2f}，损失{loss_and_slope(low)[0]:.3f}" in printed
    assert f"测试误差{error_on_truth(low):.3f}" in printed


def test_what_leads_to_the_best_w():
    assert "学习率减小到0.1，或者再训练一百多个周期，就能到达谷底附近" in NOTEBOOK.prose
    assert NOTEBOOK.printed("exercise-2-loss").startswith("损失最小的w是4.93")
    for learning_rate, num_epochs, reached in [
        (0.1, 5, True),
        (0.5, 5 + 120, True),
        (0.5, 5 + 50, False),
    ]:
        w = trained(learning_rate, num_epochs)[1][-1]
        assert (abs(w - 4.93) < 0.5) == reached, (learning_rate, num_epochs, w)


def test_widths():
    """Held-out errors by a short cut: residual over 1 minus the own weight."""
    widths = np.arange(5, 150) / 100
    held_out = []
    for h in widths:
        alpha = weights(X, X, 1 / h)
        held_out.append((((Y - alpha @ Y) / (1 - np.diag(alpha))) ** 2).mean())
    errors = [error_on_truth(1 / h) for h in widths]
    for name, i in [
        ("留一法选出的", np.argmin(held_out)),
        ("测试误差最小的", np.argmin(errors)),
    ]:
        line = f"{name}h是{widths[i]:.2f}，测试误差{errors[i]:.3f}"
        assert line in NOTEBOOK.printed("exercise-3-experiment")


def test_pooling_with_a_width_for_each_query():
    """Newton's method finds the minimum that the notebook trains towards."""

    def loss(p):
        alpha = weights(X, X, np.exp(p[0] + p[1] * (X - 2.5)))
        own = np.diag(alpha)
        return (((Y - alpha @ Y) / (1 - own)) ** 2).sum()

    p, step = np.array([1.2, -0.2]), 1e-3
    for _ in range(20):
        e = step * np.eye(2)
        slope = [(loss(p + d) - loss(p - d)) / (2 * step) for d in e]
        curved = [
            [
                (loss(p + c + d) - loss(p + c - d) - loss(p - c + d) + loss(p - c - d))
                / (4 * step**2)
                for d in e
            ]
            for c in e
        ]
        p = p - np.linalg.solve(curved, slope)
    a, b = p
    lines = [f"损失从{loss_and_slope(1.0)[0]:.2f}降到{loss(p):.2f}"]
    lines.append(f"a = {a:.2f}，b = {b:.2f}")
    for x in (0, 2.5, 5):
        lines.append(f"查询{x}：w = {np.exp(a + b * (x - 2.5)):.1f}")
    lines.append(f"测试误差{error_on_truth(np.exp(a + b * (X_TEST - 2.5))):.3f}")
    assert NOTEBOOK.printed("exercise-4-result").splitlines() == lines


def test_each_figure_has_a_cell_and_a_sentence():
    """What a cell shows is kept on one page: two figures leave the one before empty."""
    cells = list(NOTEBOOK.cells.values())
    for cell, following in zip(cells, cells[1:]):
        shown = ["image/png" in o.get("data", {}) for o in cell.get("outputs", [])]
        assert sum(shown) <= 1, cell.id
        if any(shown):
            assert following.cell_type == "markdown", cell.id


def names():
    """What the checks of the exercises use of the notebook."""
    names = {"np": np, "paddle": paddle, "nn": paddle.nn, "n_test": 50, "n_train": 50}
    names |= {"x_test": paddle.to_tensor(X_TEST), "x_train": paddle.to_tensor(X)}
    names |= {"y_train": paddle.to_tensor(Y), "others": ~paddle.eye(50).astype("bool")}
    names |= {"X_tile": paddle.to_tensor(np.tile(X, (50, 1)))}
    names |= {"Y_tile": paddle.to_tensor(np.tile(Y, (50, 1)))}

    def predict(net):
        return net(names["x_test"], names["X_tile"], names["Y_tile"]).detach()

    names["predict"] = predict
    exec(NOTEBOOK.source("exercise-4-fit"), names)
    return names


KERNEL = "k = np.exp(-(x[:, None] - x_train) ** 2 / {})\nreturn k @ y_train / k.sum(1)"
OWN = """def __init__(self):
    super().__init__()
    self.w = self.create_parameter((1,), dtype="float64")

def forward(self, queries, keys, values):
    d = (queries.unsqueeze(1) - keys).abs()
    weights = nn.functional.softmax({score})
    self.attention_weights = {kept}
    return {pooled}
"""
LAPLACE = {
    "score": "-d * (1 + self.w**2)",
    "kept": "weights",
    "pooled": "paddle.bmm(weights.unsqueeze(1), values.unsqueeze(-1)).flatten()",
}


class TestExercises:
    @pytest.mark.parametrize("number", [1, 2, 3, 4])
    def test_own_solution_passes(self, number):
        NOTEBOOK.exercise(number, names())

    @pytest.mark.parametrize(
        "number, body",
        [
            (1, KERNEL.format("2")),
            (2, "return [int((np.sort(w)[::-1].cumsum() < 0.9).sum()) + 1 for w in weights]"),
            (3, KERNEL.format("(2 * h ** 2)")),
            (3, "return [(lambda k: k @ y_train / k.sum())(np.exp(-((q - x_train) / h) ** 2 / 2)) for q in x]"),
            (4, OWN.format(**LAPLACE)),
        ],
    )  # fmt: skip
    def test_another_right_answer_passes(self, number, body):
        NOTEBOOK.exercise(number, names(), body)

    @pytest.mark.parametrize(
        "number, body",
        [
            (1, "pass"),
            (1, "return np.full(len(x), y_train.mean())"),
            (1, KERNEL.format("1")),
            (1, KERNEL.format("2").replace(" ** 2", "")),
            (1, KERNEL.format("2").replace(" / k.sum(1)", "")),
            (2, "pass"),
            (2, "return (weights > 0.1).sum(axis=1)"),
            (2, "return (np.cumsum(weights, axis=1) <= 0.9).sum(axis=1) + 1"),
            (2, "return (np.cumsum(np.sort(weights), axis=1) <= 0.9).sum(axis=1) + 1"),
            (2, "return (np.cumsum(-np.sort(-weights), axis=1) <= 0.9).sum(axis=1)"),
            (3, "pass"),
            (3, KERNEL.format("2")),
            (3, KERNEL.format("(2 * h ** 3)")),
            (3, KERNEL.format("(2 * h)")),
            (3, KERNEL.format("h ** 2")),
            (4, "pass"),
            (4, OWN.format(**{**LAPLACE, "score": "0 * d * self.w"})),
            (4, OWN.format(**{**LAPLACE, "kept": "2 * weights"})),
            (4, OWN.format(**{**LAPLACE, "pooled": "(weights * values).sum(1) + self.w"})),
            (4, OWN.format(**{**LAPLACE, "kept": "weights[:, :5]"})),
            (4, OWN.format(**{**LAPLACE, "score": "d * (1 + self.w ** 2)"})),
        ],
    )  # fmt: skip
    def test_wrong_answer_fails(self, number, body):
        with pytest.raises((AssertionError, AttributeError, TypeError, ValueError)):
            NOTEBOOK.exercise(number, names(), body)
