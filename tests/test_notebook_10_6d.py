"""10.6d, beside the book: what it prints and asserts, a second way.

The ten models are trained by the notebook's own cells, once; what they answer is then
worked out from their weights in NumPy.
"""

import base64
import itertools
import math
import re

import matplotlib
import numpy as np
import paddle
import pytest
from matplotlib import pyplot as plt

import d2l_ext
from tests import reference
from tests.gate import pictures, rules
from tests.notebooks import FOLDER, Notebook

matplotlib.use("Agg")
NAME = "10-6d-positions.ipynb"
NEIGHBOURS = ["10-6c-cost-and-paths.ipynb", "10-6e-pytorch-beside-paddle.ipynb"]
NOTEBOOK = Notebook(NAME)
CELLS, printed = NOTEBOOK.cells, NOTEBOOK.printed
KINDS = ["none", "fixed", "learned", "RoPE", "ALiBi"]
TASKS = ["shift", "latest"]
LENGTHS = (16, 32, 64)


@pytest.fixture(autouse=True)
def as_in_the_notebook():
    """On the CPU and in double precision, as its cells say."""
    assert "paddle.set_device('cpu')" in NOTEBOOK.source("imports")
    assert "set_default_dtype('float64')" in NOTEBOOK.source("equivariance-check")
    before = paddle.get_device()
    paddle.set_device("cpu")
    paddle.set_default_dtype("float64")
    yield
    paddle.set_default_dtype("float32")
    paddle.set_device(before)
    plt.close("all")


class D2l:
    """The package under the name that the notebook gives to the patched d2l."""

    def __getattr__(self, name):
        return plt if name == "plt" else getattr(d2l_ext, name)


def names(*cells, **more):
    """What the cells define, after the imports."""
    found = {"d2l": D2l(), "d2l_ext": d2l_ext, "itertools": itertools, "math": math}
    found.update({"nn": paddle.nn, "np": np, "paddle": paddle, **more})
    for cell in cells:
        exec(NOTEBOOK.source(cell), found)
    return found


def test_headings_and_equations():
    assert NOTEBOOK.headings() == [
        "# 10.6d 位置：相对、学习与外推",
        "## 编码的点积只与偏移有关",
        "## 没有位置编码：置换等变",
        "## 超出最大长度",
        "## 学出来的位置编码",
        "## 旋转位置编码",
        "## ALiBi：线性偏置",
        "## 五种编码，两个任务",
        "## 五种编码的比较",
        "## 叠得很深",
        "## 小结",
        "## 练习",
        "### 练习1：学出来的相对偏置",
        "### 练习2：ALiBi与指数平均",
        "## 参考文献",
    ]
    tags = (rf"\tag{{10.6d.{i}}}" for i in range(1, 9))
    order = NOTEBOOK.places(*tags, "## 参考文献")
    assert order == sorted(order)


def test_every_reference_is_cited_and_listed():
    cited, listed = NOTEBOOK.references()
    assert cited == listed == set(range(1, 12))


def test_code_is_short_and_narrow():
    NOTEBOOK.check_style()
    assert not [c.id for c in NOTEBOOK.code if rules.IGNORE in c.source]


def test_neighbours_are_linked():
    assert re.findall(r"\]\((10-[^)]+)\)", NOTEBOOK.prose) == NEIGHBOURS
    for name in filter(lambda name: (FOLDER / name).is_file(), NEIGHBOURS):
        assert Notebook(name).prose.count(f"]({NAME})") == 1


def test_figures_show_something():
    cells = ["dot-figure", "rope-figure", "alibi-figure", "trial-figure", "deep-figure"]
    for cell in cells:
        (output,) = (o for o in CELLS[cell].outputs if o.output_type == "display_data")
        pixels, _ = pictures.read(base64.b64decode(output.data["image/png"]))
        assert (pixels != pictures.WHITE).any() and min(pixels.shape[:2]) > 300


def test_numbers_of_the_rotary_figure_stand_apart():
    """By more than their size, each in the direction of its point."""
    given = names("rope-figure")
    given["figure"].canvas.draw()
    points = given["figure"].dpi / 72
    for j, panel in enumerate(given["panels"]):
        for i, text in enumerate(panel.texts):
            assert text.get_text() == str(i)
            x, y = text.get_position()
            angle = i * 10000 ** (-2 * j / 8) % (2 * math.pi)
            assert math.isclose(math.atan2(y, x) % (2 * math.pi), angle, abs_tol=1e-6)
        places = [panel.transData.transform(t.get_position()) for t in panel.texts]
        for one, other in itertools.combinations(places, 2):
            assert np.linalg.norm(one - other) > 1.2 * points * text.get_size()


def turn(delta, d):
    """Turns rows (sin, cos) of (10.6.2) by delta places: (10.6.3) as blocks."""
    M = np.zeros((d, d))
    for j in range(d // 2):
        angle = delta / 10000 ** (2 * j / d)
        M[2 * j, 2 * j] = M[2 * j + 1, 2 * j + 1] = math.cos(angle)
        M[2 * j, 2 * j + 1] = math.sin(angle)
        M[2 * j + 1, 2 * j] = -math.sin(angle)
    return M


def test_functions_of_the_formulas():
    given = names("dot-check", "dot-matrix")
    np.testing.assert_allclose(
        given["encoding"](np.arange(13), 10),
        reference.positional_encoding(13, 10),
        rtol=0,
        atol=1e-14,
    )
    assert given["encoding"](7, 10).shape == (10,)
    for delta in (0, 3, -5):
        expected = sum(math.cos(delta / 10000 ** (2 * j / 10)) for j in range(5))
        assert abs(given["cosines"](delta, 10) - expected) < 1e-14
        assert (given["rotation"](delta, 10) == turn(delta, 10)).all()


def test_dot_products():
    P = reference.positional_encoding(200, 32)
    products = P @ P.T
    for delta in range(200):
        assert np.ptp(np.diagonal(products, delta)) < 1e-12
    from_0 = products[0, :61]
    assert from_0.argmax() == 0 and (np.diff(from_0) > 0).any()
    assert printed("dot-figure").splitlines() == [
        "在偏移0最大： True",
        "左右对称： True",
        "随距离只减不增： False",
    ]


def test_products_through_a_matrix():
    P = reference.positional_encoding(1000, 32)
    mixed = np.random.default_rng(0).normal(0, 32**-0.5, (32, 32))
    lines = printed("dot-matrix").splitlines()
    for line, M in zip(lines, (np.eye(32), mixed, turn(3, 32))):
        later = [P[i] @ M @ P[i + 3] for i in range(0, 997, 7)]
        assert f"各位置相同：{np.ptp(later) < 1e-11}" in line
        assert line.endswith(f"后3个{later[0]:.1f}，前3个{P[3] @ M @ P[0]:.1f}")
    assert len(lines) == 3 and "False" in lines[1]


def attention_in_numpy(X, weights, lens=None):
    return reference.multi_head_attention(X, X, X, lens, *weights, num_heads=4)[0]


def drawn(rng, *shapes):
    """As random_parameters draws them: matrices of a scale, and no bias."""
    matrices = [(rng.standard_normal(s), s) for s in shapes]
    return [m * s[0] ** -0.5 if len(s) == 2 else 0 * m for m, s in matrices]


def attention_weights(rng):
    """W_q, W_k, W_v and W_o, which are drawn in the order of their names."""
    W_k, W_o, W_q, W_v = drawn(rng, *[(32, 32)] * 4)
    return W_q, W_k, W_v, W_o


def test_permutations():
    weights = attention_weights(np.random.default_rng(0))
    X = np.random.default_rng(1).standard_normal((5, 32))
    P, causal = reference.positional_encoding(5, 32), [[1, 2, 3, 4, 5]]
    ways = [(0, None), (P, None), (0, causal)]
    for line, (added, lens) in zip(printed("equivariance-table").splitlines(), ways):
        equal = 0
        Y = attention_in_numpy((X + added)[None], weights, lens)[0]
        for order in map(list, itertools.permutations(range(5))):
            Z = attention_in_numpy((X[order] + added)[None], weights, lens)[0]
            equal += np.abs(Z - Y[order]).max() < 1e-12
        assert line.endswith(f"120种置换中，有{equal}种两边相等")
        assert equal == (1 if lens or added is P else 120)


def test_what_lies_beyond_max_len():
    lines = printed("beyond-check").splitlines()
    message = "X must have at most max_len (10) on axis 1, got 15 in shape (1, 15, 8)"
    assert lines == [
        f"d2l_ext的类： {message}",
        "书中的类：也出错，但没有提到max_len",
        "书中的类，max_len为1：没有出错，输出的形状是 [15, 8]",
        "每个词元得到的都是位置0的编码： True",
    ]
    with pytest.raises(ValueError, match=re.escape(message)):
        d2l_ext.PositionalEncoding(8, 0, 10)(paddle.zeros([1, 15, 8]))


def test_checks_that_are_shown_came_out_as_claimed():
    for cell, count in [("rope-check", 2), ("alibi-check", 2), ("deep-measures", 1)]:
        assert printed(cell).count("True") == count
        assert "False" not in printed(cell)
    assert "399个偏移" in printed("rope-check")


def layer_of(kind):
    """Multi-head attention with 4 heads of 8 and the notebook's own pooling."""
    given = names("rope-attention", "alibi-attention")
    attention = d2l_ext.MultiHeadAttention(32, 32, 32, 32, 4, 0)
    pooling = {"RoPE": ("RotaryAttention", 8), "ALiBi": ("ALiBiAttention", 4)}[kind]
    attention.attention = given[pooling[0]](pooling[1], 0)
    return attention


def by_hand(kind, X, weights, lens):
    """Attention of one layer in NumPy, head by head; lens is (batch, queries)."""
    batch, n, _ = X.shape
    W_q, W_k, W_v, W_o = weights
    distance = np.abs(np.arange(n)[:, None] - np.arange(n))
    heads, kept = [], np.arange(n) < lens[:, :, None]
    all_weights = []
    for h in range(4):
        part = slice(8 * h, 8 * h + 8)
        Q, K, V = (X @ W[:, part] for W in (W_q, W_k, W_v))
        if kind == "RoPE":
            turns = np.exp(1j * np.arange(n)[:, None] * 10000.0 ** (-np.arange(4) / 4))
            # A pair as a complex number; the real part of a product is the dot product.
            Q, K = ((T[..., 0::2] + 1j * T[..., 1::2]) * turns for T in (Q, K))
        scores = (Q @ K.conj().transpose(0, 2, 1)).real / math.sqrt(8)
        if kind == "ALiBi":
            scores = scores - distance / 4 ** (h + 1)
        scores = np.where(kept, scores, -np.inf)
        exp = np.exp(scores - scores.max(axis=-1, keepdims=True))
        all_weights.append(exp / exp.sum(axis=-1, keepdims=True))
        heads.append(all_weights[-1] @ V)
    return np.concatenate(heads, axis=-1) @ W_o, np.stack(all_weights, axis=1)


def weights_of(layer):
    return [getattr(layer, f"W_{name}").weight.numpy() for name in "qkvo"]


@pytest.mark.parametrize("kind", ["RoPE", "ALiBi"])
def test_layers_by_hand(kind):
    layer, lens = layer_of(kind), np.array([[5, 4, 3, 2, 1], [3, 3, 3, 3, 3]])
    X = np.random.default_rng(0).standard_normal((2, 5, 32))
    tensor = paddle.to_tensor(X)
    found = layer(tensor, tensor, tensor, paddle.to_tensor(lens)).numpy()
    expected, weights = by_hand(kind, X, weights_of(layer), lens)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    kept = layer.attention.attention_weights.numpy()
    np.testing.assert_allclose(kept.reshape(2, 4, 5, 5), weights, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["RoPE", "ALiBi"])
def test_padding_does_not_matter_in_the_layers(kind):
    layer, rng = layer_of(kind), np.random.default_rng(0)
    X = rng.standard_normal((2, 5, 32))
    Z = X.copy()
    Z[0, 3:] += 100
    Z[1, 2:] += 100
    queries, *both = map(paddle.to_tensor, (X, X, Z))
    one, other = (layer(queries, K, K, [3, 2]).numpy() for K in both)
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["RoPE", "ALiBi"])
def test_gradients_of_the_layers(kind):
    layer, rng = layer_of(kind), np.random.default_rng(0)
    X, G, D = rng.standard_normal((3, 2, 5, 32))
    lens = np.tile(np.arange(1, 6), (2, 1))
    tensor = paddle.to_tensor(X)
    tensor.stop_gradient = False
    output = layer(tensor, tensor, tensor, paddle.to_tensor(lens))
    (output * paddle.to_tensor(G)).sum().backward()
    weights, step = weights_of(layer), 1e-6
    ahead, back = (
        (by_hand(kind, X + s * D, weights, lens)[0] * G).sum() for s in (step, -step)
    )
    slope = (tensor.grad.numpy() * D).sum()
    assert math.isclose(slope, (ahead - back) / (2 * step), rel_tol=1e-6)
    assert all(p.grad is not None for p in layer.parameters())


@pytest.mark.parametrize("kind", ["RoPE", "ALiBi"])
def test_training_steps_of_the_layers(kind):
    layer, X = layer_of(kind), paddle.to_tensor(np.eye(32)[None, :7])
    adam = paddle.optimizer.Adam(0.01, parameters=layer.parameters())
    losses = []
    for _ in range(20):
        loss = ((layer(X, X, X, None) - 1) ** 2).mean()
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def answers(task, X):
    """What is to be said, token by token."""
    Y = np.full(X.shape, -1)
    for b, i in np.ndindex(*X.shape):
        if task == "shift" and i >= 2:
            Y[b, i] = X[b, i - 2]
        letters = [x for x in X[b, :i] if x > 0]
        if task == "latest" and X[b, i] == 0 and letters:
            Y[b, i] = letters[-1]
    return Y


@pytest.mark.parametrize("task", TASKS)
def test_tasks(task, capsys):
    given = names("trial-tasks")
    assert capsys.readouterr().out == printed("trial-tasks")
    X, Y = given[task](np.random.default_rng(7), (11, 13))
    assert X.shape == (11, 13) and set(np.unique(X)) == set(range(8))
    assert (Y == answers(task, X)).all()
    X, _ = given[task](np.random.default_rng(7), (100, 100))
    assert abs((X == 0).mean() - {"shift": 1 / 8, "latest": 3 / 4}[task]) < 0.01


@pytest.fixture(scope="module")
def trained():
    """The ten models of the notebook."""
    paddle.set_device("cpu")
    paddle.set_default_dtype("float64")
    cells = ["dot-check", "equivariance-check", "learned-class", "rope-attention"]
    cells += ["alibi-attention", "trial-tasks", "trial-model", "trial-train"]
    found = names(*cells, "trial-makers", "trial-table")
    paddle.set_default_dtype("float32")
    return found


def said(given, task, kind, n):
    """Which positions have an answer, where it is right, and the weights: in NumPy."""
    model = given["models"][given[task], kind]
    X, _ = given[task](np.random.default_rng(n), (200, n))
    hidden = model.embedding.weight.numpy()[X]
    if kind == "fixed":
        hidden = hidden + reference.positional_encoding(n, 32)
    if kind == "learned":
        hidden = hidden + model.encoding.P.numpy()[:n]
    lens = np.tile(np.arange(1, n + 1), (200, 1))
    output, weights = by_hand(kind, hidden, weights_of(model.attention), lens)
    scores = (hidden + output) @ model.dense.weight.numpy() + model.dense.bias.numpy()
    Y = answers(task, X)
    return Y >= 0, scores.argmax(axis=-1) == Y, weights


@pytest.fixture(scope="module")
def shares(trained):
    """What is right, in percent, of each task, kind and length."""
    paddle.set_device("cpu")
    found = {}
    for task, kind, n in itertools.product(TASKS, KINDS, LENGTHS):
        answered, right, _ = said(trained, task, kind, n)
        found[task, kind, n] = 100 * right.sum() / answered.sum()
    return found


def test_table_of_accuracies(shares):
    lines = iter(printed("trial-table").splitlines())
    for task, kind in itertools.product(TASKS, KINDS):
        found = re.fullmatch(r"(\w+) +(\w+) *：((?: +\d+%){3})", next(lines))
        assert found.group(1, 2) == (task, kind)
        for shown, n in zip(re.findall(r"\d+", found[3]), LENGTHS):
            assert abs(int(shown) - shares[task, kind, n]) <= 0.5 + 1e-9
    assert next(lines, None) is None


def test_what_the_text_says_of_the_accuracies(shares):
    for task in TASKS:
        assert all(shares[task, k, 16] > 99 for k in ("fixed", "learned", "RoPE"))
        for n in (32, 64):
            fixed, learned = (shares[task, k, n] for k in ("fixed", "learned"))
            assert learned < fixed < 75
        assert shares[task, "RoPE", 32] > 95 and shares[task, "RoPE", 64] < 75
    assert max(shares["shift", "ALiBi", n] for n in LENGTHS) < 40
    assert shares["latest", "ALiBi", 16] - shares["latest", "ALiBi", 64] < 5
    best = {t: max(KINDS, key=lambda k: shares[t, k, 64]) for t in TASKS}
    assert best == {"shift": "RoPE", "latest": "ALiBi"}


def test_figure_of_accuracies_by_position(trained):
    exec(NOTEBOOK.source("trial-figure"), trained)
    panels = plt.gcf().axes
    for axes, task in zip(panels, TASKS):
        for line, kind in zip(axes.lines, KINDS):
            answered, right, _ = said(trained, task, kind, 64)
            for group, y in enumerate(line.get_ydata()):
                part = slice(4 * group, 4 * group + 4)
                expected = right[:, part].sum() / answered[:, part].sum()
                assert abs(y - expected) < 1e-3
        assert axes.lines[5].get_xdata() == [15.5, 15.5]
    texts = [text.get_text() for text in panels[1].get_legend().get_texts()]
    assert texts == KINDS and panels[0].get_legend() is None
    rope = {task: panels[i].lines[3].get_ydata() for i, task in enumerate(TASKS)}
    learned = panels[0].lines[2].get_ydata()
    assert max(learned[4:]) < 0.2 and min(rope["shift"][:9]) > 0.95
    assert max(rope[task][-3:].max() for task in TASKS) < 0.25


def test_weights_of_the_rotary_model(trained):
    for line, n in zip(printed("trial-rope-weights").splitlines(), LENGTHS):
        *_, weights = said(trained, "shift", "RoPE", n)
        last = weights[:, :, -1].mean(axis=0)
        row = max(last, key=lambda row: row[n - 3])
        far = sum(row[j] for j in range(n) if n - 1 - j > 15)
        shown = list(map(int, re.findall(r"(\d+)%", line)))
        assert np.abs(shown - 100 * np.array([row[n - 3], far])).max() <= 0.5 + 1e-6
    assert "94%" in line


def test_rows_that_were_not_trained(trained, capsys):
    exec(NOTEBOOK.source("trial-untrained"), trained)
    assert capsys.readouterr().out == printed("trial-untrained")
    assert printed("trial-untrained").count("变了的行有16行，都在前16行：True") == 2


def test_table_of_kinds(trained, capsys):
    exec(NOTEBOOK.source("compare-check"), trained)
    assert capsys.readouterr().out == printed("compare-check")
    lines = printed("compare-check").splitlines()
    for line, kind in zip(lines, KINDS):
        more = 64 * 32 if kind == "learned" else 0
        blind = kind in ("none", "ALiBi")
        assert line == f"{kind}：多{more}个参数，没有掩蔽时输出只是跟着颠倒：{blind}"


def spread(X):
    """How far the rows are from their mean, pair by pair, over all."""
    n = len(X)
    pairs = sum(((X[i] - X[j]) ** 2).sum() for i in range(n) for j in range(n))
    return math.sqrt(pairs / (2 * n) / (X**2).sum())


def similarity(X):
    pairs = itertools.combinations(X, 2)
    return np.mean([a @ b / math.sqrt((a @ a) * (b @ b)) for a, b in pairs])


def normalized(X):
    centred = X - X.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)


def stacked(residual, norm, ffn):
    """The outputs of 48 layers in NumPy."""
    X = np.random.default_rng(0).standard_normal((1, 20, 32))
    X = X + reference.positional_encoding(20, 32)
    rng, outputs, lens = np.random.default_rng(1), [X[0]], np.full((1, 20), 20)
    for _ in range(48):
        for block in range(1 + ffn):
            Z = normalized(X) if norm == "pre" else X
            if block == 0:
                Y = by_hand("none", Z, attention_weights(rng), lens)[0]
            else:
                shapes = [(128,), (32, 128), (32,), (128, 32)]
                _, W_1, _, W_2 = drawn(rng, *shapes)
                Y = np.maximum(Z @ W_1, 0) @ W_2
            X = X + Y if residual else Y
            X = normalized(X) if norm == "post" else X
        outputs.append(X[0])
    return outputs


STACKS = {
    "attention": (False, None, False),
    "+ FFN": (False, None, True),
    "+ residual": (True, None, False),
    "+ both": (True, None, True),
    "post-norm": (True, "post", True),
    "pre-norm": (True, "pre", True),
}


@pytest.fixture(scope="module")
def deep():
    return {name: stacked(*kinds) for name, kinds in STACKS.items()}


def test_table_of_deep_stacks(deep):
    lines = printed("deep-table").splitlines()
    assert len(lines) == len(STACKS)
    for line, (name, outputs) in zip(lines, deep.items()):
        rs = [spread(outputs[i]) for i in (2, 12, 48)]
        shown = ["<1e-12" if r < 1e-12 else f"{r:.0e}" for r in rs]
        s = [f"{similarity(outputs[i]):.2f}" for i in (2, 12, 48)]
        expected = f"r = {'、'.join(shown)}；s = {'、'.join(s)}"
        assert line == f"{name}：第2、12、48层，{expected}"


def test_speeds_of_deep_stacks(deep):
    first, *lines, last = printed("deep-check").splitlines()
    digits = [-math.log10(spread(deep["attention"][i])) for i in (1, 2, 3)]
    assert first.endswith(str([round(x, 1) for x in digits]))
    for line, name in zip(lines, list(STACKS)[2:]):
        r = [spread(deep[name][i]) for i in (0, 24, 48)]
        rates = [(r[k + 1] / r[k]) ** (1 / 24) for k in (0, 1)]
        expected = "前24层平均每层{:.2f}倍，后24层{:.2f}倍".format(*rates)
        assert line == f"{name}：{expected}"
    assert last.endswith("True")


def test_what_the_text_says_of_deep_stacks(deep):
    for name in ("attention", "+ FFN"):
        assert spread(deep[name][3]) > 1e-12 > spread(deep[name][4])
    for name in ("+ residual", "+ both", "post-norm"):
        assert similarity(deep[name][15]) > 0.99
    assert 0.15 < spread(deep["pre-norm"][48]) < 0.25
    # What pre-norm adds keeps its size, and what it is added to grows.
    size = [np.linalg.norm(X) for X in deep["pre-norm"]]
    steps = np.linalg.norm(np.diff(deep["pre-norm"], axis=0), axis=(1, 2))
    assert steps.max() < 4 * steps.min() and size[-1] > 5 * size[0]
    # With the FFN a little faster without residuals, a little slower with them.
    assert spread(deep["+ FFN"][2]) < spread(deep["attention"][2])
    assert spread(deep["+ both"][48]) > spread(deep["+ residual"][48])


def test_relation_of_both_measures():
    given = names("deep-measures")
    X = np.random.default_rng(3).standard_normal((7, 5))
    assert math.isclose(given["distance_to_rank_one"](X), spread(X))
    assert math.isclose(given["mean_similarity"](X), similarity(X))
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert math.isclose(similarity(X), 1 - 7 / 6 * spread(X) ** 2)
    assert round(1 - 20 / 19 * 0.01**2, 4) == 0.9999  # "r = 0.01时，s已经是0.9999"


def exercise(number, body=None):
    found = names("dot-check", "equivariance-check", alibi=d2l_ext.ALiBi(4))
    return NOTEBOOK.exercise(number, found, body)


A_NUMBER_FOR_EACH_OFFSET = """def __init__(self, num_heads, max_distance):
    super().__init__()
    self.m = max_distance
    self.bias = self.create_parameter((2 * self.m + 1, num_heads))

def forward(self, num_queries, num_keys):
    rows = []
    for i in range(num_keys - num_queries, num_keys):
        row = [min(max(j - i, -self.m), self.m) + self.m for j in range(num_keys)]
        rows.append(nn.functional.embedding(paddle.to_tensor(row), self.bias))
    return paddle.stack(rows).transpose([2, 0, 1])"""

A_PARAMETER_FOR_EACH_OFFSET = """def __init__(self, num_heads, max_distance):
    super().__init__()
    self.m = max_distance
    self.biases = nn.ParameterList(
        [self.create_parameter((num_heads,)) for _ in range(2 * self.m + 1)])

def forward(self, num_queries, num_keys):
    rows = [[self.biases[min(max(j - i, -self.m), self.m) + self.m]
             for j in range(num_keys)]
            for i in range(num_keys - num_queries, num_keys)]
    return paddle.stack([paddle.stack(row, 1) for row in rows], 1)"""

ONE_AFTER_THE_OTHER = """decay = math.exp(-slope)
ones = (np.append(v, 1) for v in V)
totals = itertools.accumulate(ones, lambda total, v: decay * total + v)
return np.stack([total[:-1] / total[-1] for total in totals])"""


def test_own_answers_pass(capsys):
    exercise(1)
    exercise(1, A_NUMBER_FOR_EACH_OFFSET)
    exercise(1, A_PARAMETER_FOR_EACH_OFFSET)
    exercise(2)
    exercise(2, ONE_AFTER_THE_OTHER)
    assert capsys.readouterr().out.count("检查通过") == 5


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("j - i", "abs(j - i)"),
        ("range(num_keys - num_queries, num_keys)", "range(num_queries)"),
        ("min(max(j - i, -self.m), self.m)", "min(max(j - i, 0), self.m)"),
        ("2 * self.m + 1", "2 * self.m + 2"),
        ("[2, 0, 1]", "[2, 1, 0]"),
        ("self.bias)", "self.bias.detach())"),
    ],
)
def test_wrong_answers_to_exercise_1_fail(right, wrong):
    assert A_NUMBER_FOR_EACH_OFFSET.count(right) == 1
    with pytest.raises((AssertionError, RuntimeError, AttributeError)):
        exercise(1, A_NUMBER_FOR_EACH_OFFSET.replace(right, wrong))


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("math.exp(-slope)", "math.exp(slope)"),
        ("math.exp(-slope)", "(1 - slope)"),
        ("/ total[-1]", ""),
        ("decay * total + v", "total + v"),
        ("decay * total + v", "decay * (total + v)"),
    ],
)
def test_wrong_answers_to_exercise_2_fail(right, wrong):
    assert ONE_AFTER_THE_OTHER.count(right) == 1
    with pytest.raises((AssertionError, FloatingPointError, OverflowError)):
        exercise(2, ONE_AFTER_THE_OTHER.replace(right, wrong))


def test_trial_of_exercise_1(trained, capsys):
    exec(NOTEBOOK.source("exercise-1-answer"), trained)
    paddle.set_default_dtype("float64")
    exec(NOTEBOOK.source("exercise-1-trial"), trained)
    assert capsys.readouterr().out == printed("exercise-1-trial")
    shares = re.findall(r"(\d+)%", printed("exercise-1-trial"))
    assert min(map(int, shares[:3])) >= 99 and 90 <= int(shares[5]) <= 92


def test_half_lives_in_exercise_2():
    lines = printed("exercise-2-half").splitlines()
    for line, slope in zip(lines, (4, 16, 64, 256)):
        (half,) = re.findall(r"隔(\d+)个", line)
        assert line.startswith(f"斜率1/{slope}：")
        assert abs(math.exp(-int(half) / slope) - 0.5) < 0.03
