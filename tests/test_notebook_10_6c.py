"""10.6c, beside the book: what it prints and asserts, a second way.

Times are never measured here: the cell that judges them is given times of its own.
"""

import base64
import contextlib
import functools
import io
import itertools
import math
import re
import time

import matplotlib.pyplot
import numpy as np
import paddle
import pytest

import d2l_ext
from d2l_ext import diagrams
from tests.gate import pictures, rules
from tests.notebooks import FOLDER, Notebook

matplotlib.use("Agg")
NAME = "10-6c-cost-and-paths.ipynb"
NOTEBOOK = Notebook(NAME)
CELLS, printed = NOTEBOOK.cells, NOTEBOOK.printed
LARGE = [256, 512, 1024, 2048]
SWEEPS = [  # architecture, what varies, its values, the theory's power
    ("CNN", "n", LARGE, 1),
    ("CNN", "d", LARGE, 2),
    ("CNN", "k", [3, 5, 9, 17], 1),
    ("RNN", "n", LARGE, 1),
    ("RNN", "d", LARGE, 2),
    ("attention", "n", LARGE, 2),
    ("attention", "d", LARGE, 1),
]


@pytest.fixture(autouse=True)
def on_cpu():
    """Its first cell says so, and a later one asks for float64."""
    assert "paddle.set_device('cpu')" in NOTEBOOK.source("imports")
    before = paddle.get_device()
    paddle.set_device("cpu")
    yield
    paddle.set_device(before)
    paddle.set_default_dtype("float32")
    matplotlib.pyplot.close("all")


def names(*cells, **more):
    """What the cells define, after the imports."""
    found = {"d2l": d2l_ext.patch_d2l(), "diagrams": diagrams, "np": np, "math": math}
    found.update({"contextlib": contextlib, "functools": functools, "io": io})
    found.update({"nn": paddle.nn, "paddle": paddle, "time": time})
    found.update({"rng": np.random.default_rng(1), **more})
    for cell in cells:
        exec(NOTEBOOK.source(cell), found)
    return found


def numbers(text):
    return list(map(float, re.findall(r"\d+(?:\.\d+)?", text)))


def test_headings_and_equations():
    assert NOTEBOOK.headings() == [
        "# 10.6c 三种架构的代价与路径",
        "## 数乘加",
        "## 谁的代价小",
        "## 量时间",
        "## 看路径",
        "## 用测得的连接画图10.6.1",
        "## 小结",
        "## 练习",
        "### 练习1：扩张卷积",
        "### 练习2：只看附近的键",
        "## 参考文献",
    ]
    tags = [rf"\tag{{10.6c.{i}}}" for i in (1, 2, 3, 4)]
    order = NOTEBOOK.places(*tags, "## 参考文献")
    assert order == sorted(order)


def test_every_reference_is_cited_and_listed():
    cited, listed = NOTEBOOK.references()
    assert cited == listed == {1, 2, 3, 4}


def test_code_is_short_and_narrow():
    NOTEBOOK.check_style()


def test_neighbours_are_linked():
    links = re.findall(r"\]\((10-[^)]+)\)", NOTEBOOK.prose)
    assert links == ["10-6b-attention-cost.ipynb", "10-6d-positions.ipynb"]
    assert (FOLDER / links[0]).is_file()


class Number:
    """Counts how often two such numbers are multiplied."""

    products = 0

    def __mul__(self, other):
        Number.products += 1
        return self

    def __add__(self, other):
        return self

    __radd__ = __add__


def table(*shape):
    found = np.empty(shape, dtype=object)
    found.fill(Number())
    return found


def products(compute):
    Number.products = 0
    compute()
    return Number.products


def cnn_by_hand(n, d, k):
    X, W = table(n + k - 1, d), table(d, k, d)  # with the padding
    for i, out in itertools.product(range(n), range(d)):
        sum(x * w for x, w in zip(X[i : i + k].ravel(), W[out].ravel()))


def rnn_by_hand(n, d, k):
    W_x, W_h, h = table(d, d), table(d, d), table(d)
    for x in table(n, d):
        h = np.array([sum(x * w) + sum(h * v) for w, v in zip(W_x, W_h)])


def attention_by_hand(n, d, k):
    Q, K, V = table(n, d), table(n, d), table(n, d)
    for q in Q:
        weights = np.array([sum(q * key) for key in K])
        for column in V.T:
            sum(weights * column)


BY_HAND = {"CNN": cnn_by_hand, "RNN": rnn_by_hand, "attention": attention_by_hand}


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize("n, d, k", [(7, 5, 3), (3, 2, 5), (1, 3, 3)])
def test_counts_are_of_every_single_product(name, n, d, k):
    counts = names("count-functions", "count-table")["counts"]
    found = products(lambda: BY_HAND[name](n, d, k))
    assert found == counts[name](n, d, k) > 0


def test_projections_are_four_products():
    found = products(lambda: [table(7, 5).dot(table(5, 5)) for _ in range(4)])
    assert names("count-functions")["projection_count"](7, 5) == found


def test_table_of_counts():
    lines = printed("count-table").splitlines()
    points = [(64, 64, 3), (128, 64, 3), (64, 128, 3), (64, 64, 6)]
    for line, (n, d, k) in zip(lines, points):
        expected = [k * n * d**2, 2 * n * d**2, 2 * n**2 * d, 4 * n * d**2]
        assert numbers(line) == [n, d, k, *expected]
    assert len(lines) == 4


def test_powers_are_those_of_theory():
    given = names("count-functions", "count-table", "powers")
    shown = [numbers(line) for line in printed("powers").splitlines()]
    for row, name in zip(shown, BY_HAND):
        count = given["counts"][name]
        for i, letter in enumerate("ndk"):  # doubling one size multiplies by 2 ** power
            point = [64, 64, 4]
            before = count(*point)
            point[i] *= 2
            power = math.log2(count(*point) / before)
            assert row[2 * i : 2 * i + 2] == [power, given["theory"][name][letter]]


def test_powers_are_fitted_to_the_whole_grid():
    fit = names("count-functions", "count-table", "powers")["fitted_powers"]
    found = fit(lambda n, d, k: 3 * n**1.5 * d / k**2, [2, 3, 7], [5, 11], [3, 4])
    assert found == {"n": 1.5, "d": 1, "k": -2}
    assert str(fit(lambda n, d, k: n, [2, 3], [5, 7], [3, 5])["k"]).endswith("0.0")


def test_weights_of_the_layers():
    assert printed("weights").splitlines() == [
        f"Conv1D：7 × {3 * 25} = {7 * 75}",
        f"SimpleRNN：7 × {2 * 25} = {7 * 50}",
        f"MultiHeadAttention：7 × {4 * 25} = {7 * 100}",
        "DotProductAttention：7 × 0 = 0",
    ]


def flops(layer, shape):
    found = names("flops-functions")["paddle_flops"](layer, shape)
    if found is None:
        pytest.skip("this Paddle cannot count with this NumPy")
    return found


def test_what_paddle_flops_counts_is_what_the_table_says():
    nn, (n, d, k) = paddle.nn, (7, 5, 3)
    given = names("flops-functions")

    def conv(data_format, bias):
        shape = [1, d, n] if data_format == "NCL" else [1, n, d]
        layer = nn.Conv1D(d, d, k, padding=1, data_format=data_format, bias_attr=bias)
        return flops(nn.Sequential(layer), shape)

    assert conv("NCL", False) == k * n * d * d
    assert conv("NLC", False) == k * n * n * d  # what is axis 1 counts as channels
    assert conv("NCL", None) - conv("NCL", False) == n * d  # one for each output
    for bias in (None, False):
        linear = nn.Sequential(nn.Linear(d, d, bias_attr=bias))
        assert flops(linear, [1, n, d]) == n * d * d
    assert flops(nn.Sequential(nn.SimpleRNN(d, d)), [1, n, d]) == 0
    assert flops(given["SelfAttention"](d), [1, n, d]) == 4 * n * d * d
    assert flops(nn.Linear(d, d), [1, n, d]) == 0  # a basic layer by itself


def test_table_of_flops():
    lines = [line.partition("规则")[2] for line in printed("flops").splitlines()]
    n, d, k = 7, 5, 3
    assert [numbers(line) for line in lines] == [
        [k * n * d**2, k * n * d**2],
        [k * n**2 * d, k * n * d**2],
        [n * d**2, n * d**2],
        [0, 2 * n * d**2],
        [4 * n * d**2, 4 * n * d**2 + 2 * n**2 * d],
    ]


@pytest.mark.parametrize("answer, passes", [(None, True), (1, False)])
def test_flops_are_compared_where_they_can_be_counted(answer, passes, monkeypatch):
    def counted(model, shape):
        print("a list that nobody wants")
        if answer is None:
            raise TypeError("only 0-dimensional arrays")
        return answer

    monkeypatch.setattr(paddle, "flops", counted)
    given = names("count-functions", "flops-functions", n=7, d=5, k=3)
    context = pytest.raises(AssertionError, match="数出1")
    with contextlib.nullcontext() if passes else context:
        exec(NOTEBOOK.source("flops"), given)


def test_who_is_cheaper():
    """The ratios from (10.6c.2), not from the counts."""
    d, k = 100, 3
    lines = printed("crossing-table").splitlines()
    for line, n in zip(lines, (4, 50, 100, 150, 200, 300)):
        ratios = [n / d, 2 * n / (k * d), (n + 2 * d) / d]
        assert numbers(line) == [n, *(float(f"{ratio:.2f}") for ratio in ratios)]
    assert len(lines) == 6


def test_what_is_said_of_the_figure_of_counts():
    said = CELLS["crossing-figure-text"].source
    for claim, n in [
        ("在$n = 100$处越过RNN", 100),
        ("$n = 150$处越过CNN", 3 * 100 // 2),
        ("$n = 2d = 200$", 2 * 100),
    ]:
        assert claim in said and str(n) in claim


@pytest.mark.parametrize("d", [64, 100])
@pytest.mark.parametrize("k", [3, 5, 9])
def test_where_attention_becomes_dearer(d, k):
    given = names("count-functions")
    own, other = given["attention_count"], given["projection_count"]
    cnn, rnn = given["cnn_count"], given["rnn_count"]
    for n in range(1, 6 * d):
        whole = own(n, d, k) + other(n, d)
        assert (own(n, d, k) < rnn(n, d, k)) == (n < d)
        assert (own(n, d, k) < cnn(n, d, k)) == (n < k * d / 2)
        assert (whole < cnn(n, d, k)) == (n < (k - 4) * d / 2)
        assert whole > rnn(n, d, k)
        assert (own(n, d, k) > other(n, d)) == (n > 2 * d)


def test_figure_of_counts():
    given = names("count-functions", "crossing-figure", d=100, k=3)
    texts = [text.get_text() for text in given["axes"].get_legend().get_texts()]
    lines = dict(zip(texts, given["axes"].lines))
    last = {name: line.get_xydata()[-1] for name, line in lines.items()}
    assert {name: tuple(point) for name, point in last.items()} == {
        "CNN, k = 3": (4096, 3 * 4096 * 100**2),
        "RNN": (4096, 2 * 4096 * 100**2),
        "attention": (4096, 2 * 4096**2 * 100),
        "with projections": (4096, 2 * 4096**2 * 100 + 4 * 4096 * 100**2),
    }
    slopes = np.diff(np.log2(lines["with projections"].get_ydata()))
    assert slopes[0] < 1.05 and slopes[-1] > 1.9 and (np.diff(slopes) > 0).all()


def test_at_the_size_of_the_book():
    first, *fits = map(numbers, printed("book-size").splitlines())
    d = 100
    own, projections = 2 * 4**2 * d, 4 * 4 * d**2
    share = projections / (own + projections)
    growth = (4 * own + 2 * projections) / (own + projections)
    assert first == [4, round(100 * share), round(growth, 2)]
    for ns, shown in zip(([4, 8, 16, 32], [1024, 2048, 4096, 8192]), fits):
        assert shown[:2] == [ns[0], ns[-1]]
        points = list(itertools.product(ns, [50, 100, 200]))
        y = np.log2([2 * n * n * d + 4 * n * d * d for n, d in points])
        # The grid is a product: each slope can be fitted by itself.
        for column, power in zip(np.log2(points).T, shown[2:]):
            x = column - column.mean()
            assert abs((x @ y) / (x @ x) - power) < 0.006


def timed(powers):
    """What the cells of times know, with times of these powers."""
    given = names("count-functions", "count-table", "powers", "sweeps")
    assert [(s[0], s[1], s[2]) for s in given["sweeps"]] == [s[:3] for s in SWEEPS]
    values = [np.array(s[2], dtype=float) for s in SWEEPS]
    given["times"] = np.array([3e-5 * v**p for v, p in zip(values, powers)])
    return given


THEORY = [power for *_, power in SWEEPS]


def test_theory_of_the_sweeps():
    theory = timed(THEORY)["theory"]
    assert [theory[name][letter] for name, letter, _, _ in SWEEPS] == THEORY


@pytest.mark.parametrize("off", [-0.49, 0, 0.49])
def test_slopes_near_theory_pass(off, capsys):
    exec(NOTEBOOK.source("slopes"), timed([power + off for power in THEORY]))
    assert capsys.readouterr().out.endswith(printed("slopes"))
    assert printed("slopes").splitlines() == [
        f"{name}，随{letter}：斜率与理论的{power}相差不到0.5"
        for name, letter, _, power in SWEEPS
    ]


@pytest.mark.parametrize("i", range(len(SWEEPS)))
@pytest.mark.parametrize("off", [-0.51, 0.51, 1])
def test_other_slopes_fail(i, off):
    powers = list(THEORY)
    powers[i] += off
    with pytest.raises(AssertionError, match=f"斜率是{powers[i]:.2f}"):
        exec(NOTEBOOK.source("slopes"), timed(powers))


@pytest.mark.parametrize("power, passes", [(0.3, True), (0.99, True), (1.1, False)])
def test_slope_of_small_calls(power, passes, capsys):
    given = timed(THEORY)
    exec(NOTEBOOK.source("slopes"), given)
    given["measure"] = lambda row: [n**power for n in (4, 8, 16, 32)]
    context = pytest.raises(AssertionError, match="斜率是1.10")
    with contextlib.nullcontext() if passes else context:
        exec(NOTEBOOK.source("small"), given)
        assert capsys.readouterr().out.endswith(printed("small"))


def test_time_is_of_one_call_and_rounds_are_of_equal_work():
    done = []
    given = names("measure")

    class Clock:
        @staticmethod
        def process_time():
            return sum(done)

    given["time"] = Clock
    row = [(functools.partial(done.append, cost), cost) for cost in (2, 8, 32)]
    assert given["measure"](row) == [2, 8, 32]
    assert [done.count(cost) for cost in (2, 8, 32)] == [16, 4, 1]


def test_what_is_timed_are_the_layers_with_their_counts():
    given = names("count-functions", "count-table", "sweeps", "measure")
    for name, kind in [("CNN", paddle.nn.Conv1D), ("RNN", paddle.nn.SimpleRNN)]:
        assert isinstance(given["layers"][name](5, 3), kind)
    for name, batch in [("CNN", 1), ("RNN", 8), ("attention", 1)]:
        run, count = given["prepare"](name, 7, 5, 3)
        output = run()
        output = output[0] if name == "RNN" else output
        assert list(output.shape) == [batch, 7, 5]
        assert count == given["counts"][name](7, 5, 3)


@pytest.mark.parametrize("letter", "ndk")
def test_dashed_lines_have_the_slopes_of_theory(letter):
    given = timed([power + 0.2 for power in THEORY])
    exec(NOTEBOOK.source("show"), given)
    panel = matplotlib.pyplot.figure().gca()
    given["show"](panel, letter)
    expected = [(s[0], s[3]) for s in SWEEPS if s[1] == letter]
    texts = [text.get_text() for text in panel.get_legend().get_texts()]
    assert texts == [f"{name}, slope {power}" for name, power in expected]
    assert len(panel.lines) == 2 * len(expected)
    for points, line, (_, power) in zip(panel.lines[::2], panel.lines[1::2], expected):
        assert (points.get_linestyle(), line.get_linestyle()) == ("None", "--")
        steps = np.diff(np.log(line.get_xydata()), axis=0)
        np.testing.assert_allclose(steps[:, 1] / steps[:, 0], power)
        ratio = np.log(line.get_ydata() / points.get_ydata())
        assert abs(ratio.sum()) < 1e-9  # as far below the points as above them


def test_figure_of_times_is_as_wide_as_the_text():
    """In print, a wider one and its labels are shrunk; the legends hide no point."""
    given = timed(THEORY)
    for cell in ("show", "times-figure"):
        exec(NOTEBOOK.source(cell), given)
    given["figure"].canvas.draw()
    assert given["figure"].get_figwidth() <= 7
    for panel in given["panels"]:
        frame = panel.get_legend().get_window_extent()
        assert not frame.overlaps(panel.get_window_extent())


def test_only_the_figure_of_times_is_not_compared():
    assert [c.id for c in NOTEBOOK.code if rules.IGNORE in c.source] == ["times-figure"]
    figures = ["crossing-figure", "times-figure", "depths-figure", "figure-10-6-1"]
    shown = {c.id for c in NOTEBOOK.code for o in c.outputs if "data" in o}
    assert shown == set(figures)
    for cell in figures:
        (output,) = CELLS[cell].outputs
        pixels, _ = pictures.read(base64.b64decode(output.data["image/png"]))
        assert (pixels != pictures.WHITE).any() and min(pixels.shape[:2]) > 400


def test_connections_are_where_a_change_is_felt():
    """Gradients against differences: change one input, see which outputs change."""
    given = names("connections", "sweeps", "stacks", "depths-figure", "one-step")
    n, rng = 7, np.random.default_rng(3)
    X = rng.standard_normal((1, n, 4))
    layers = [given["cnn"](3), given["cnn"](5), given["cnn"](3, 2), given["rnn"]()]
    layers += [given["attention"](), given["stack"]([given["cnn"](3)] * 2)]
    for layer in layers:
        before = layer(paddle.to_tensor(X)).numpy()[0]
        felt = np.empty((n, n), dtype=bool)
        for j in range(n):
            changed = X.copy()
            changed[0, j] += 0.1
            after = layer(paddle.to_tensor(changed)).numpy()[0]
            felt[:, j] = abs(after - before).max(axis=1) > 1e-9
        (found,) = given["connections"](layer, n)
        assert (found == felt).all()


def test_connections_tell_inputs_apart_and_pass_over_rounding():
    given = names("connections")
    first, second = given["connections"](
        lambda X, Y: X + 1e-12 * X.sum(axis=1, keepdim=True) + Y.flip([1]), 5, 2
    )
    assert (first == np.eye(5, dtype=bool)).all()
    assert (second == np.eye(5, dtype=bool)[::-1]).all()


def reached(n, half, depth):
    position = np.arange(n)
    return abs(position - position[:, None]) <= half * depth


def test_stacks_reach_as_far_as_shown():
    given = names("connections", "sweeps", "stacks", "depths-figure")
    for i, depth in enumerate((1, 2, 4, 8)):
        found = {name: matrices[i] for name, matrices in given["reached"].items()}
        assert (found["CNN"] == reached(9, 1, depth)).all()
        assert (found["RNN"] == np.tri(9, dtype=bool)).all()
        assert found["attention"].all()
    figure = matplotlib.pyplot.gcf()
    titles = [panel.get_title() for panel in figure.axes[:12]]
    assert titles[::5] == ["CNN: 1", "RNN: 2", "attention: 4"]
    assert {tuple(p.images[0].get_clim()) for p in figure.axes[:12]} == {(0, 1)}
    assert len(figure.axes) == 12  # and no colour bar: there is no value in between
    assert [panel.get_ylabel() for panel in figure.axes[::4]] == ["output i"] * 3
    assert [panel.get_xlabel() for panel in figure.axes[8:]] == ["input j"] * 4


def test_one_step_of_the_rnn():
    lines = printed("one-step").splitlines()
    for i, matrix in enumerate((np.eye(5), np.eye(5, k=-1))):
        rows = [numbers(line) for line in lines[6 * i : 6 * i + 6]]
        assert rows == [[], *matrix.tolist()]  # a row of the matrix is a line
    assert len(lines) == 12


def breadth_first(edges, start):
    """Steps from a node to each other; at least one, as in the notebook."""
    steps, now, number = {}, {start}, 0
    while now:
        number += 1
        now = {i for j in now for i in np.flatnonzero(edges[:, j])} - set(steps)
        steps.update(dict.fromkeys(now, number))
    return [steps.get(i, 0) for i in range(len(edges))]


@pytest.mark.parametrize("density", [0, 0.1, 0.3, 1])
def test_path_lengths_are_those_of_breadth_first_search(density):
    edges = np.random.default_rng(5).random((11, 11)) < density
    found = names("path-lengths")["path_lengths"](edges)
    assert found.T.tolist() == [breadth_first(edges, start) for start in range(11)]


def test_longest_paths():
    lines = iter(printed("longest-table").splitlines())
    for n in (5, 9, 16, 33):
        for k in (3, 5, 9):
            layers = range(1, n)
            across = next(s for s in layers if reached(n, k // 2, s)[-1, 0])
            half = next(
                s for s in layers if reached(n, k // 2, s)[:, [0, -1]].all(axis=1).any()
            )
            assert numbers(next(lines)) == [n, k, across, across, half, half]
        assert numbers(next(lines)) == [n, n, n, 1, 1]
    assert next(lines, None) is None


def test_checks_that_are_shown_came_out_as_claimed():
    for cell, count in [("powers-of-layers", 4), ("figure-check", 3)]:
        assert printed(cell).count("True") == count
        assert "False" not in printed(cell)
    arrows = [numbers(line)[0] for line in printed("figure-check").splitlines()]
    assert arrows == [2 * (5 * 3 - 2), 5 + 4 + 5, 25]


PATHS = ("connections", "sweeps", "stacks", "depths-figure", "one-step")
FIGURE = (*PATHS, "path-lengths", "figure-10-6-1", "powers", "figure-check")


def test_figure_is_drawn_from_gradients(capsys):
    names(*FIGURE, counts={})
    assert capsys.readouterr().out.endswith(printed("figure-check"))


def test_other_gradients_give_another_figure(capsys):
    given = names(*FIGURE[:-1], counts={})
    wider = given["connections"](given["cnn"](5), 5)[0]
    given["measured"]["cnn"] = wider
    given["panels"] = diagrams.sequence_models(5, 3, connections=given["measured"])
    capsys.readouterr()
    exec(NOTEBOOK.source("figure-check"), given)
    found = capsys.readouterr().out.splitlines()
    assert found[0] == f"CNN：{2 * wider.sum()}个箭头，与10.6节相同：False"
    assert found[1:] == printed("figure-check").splitlines()[1:]


def exercise(number, body=None):
    return NOTEBOOK.exercise(number, names(*PATHS, "path-lengths"), body)


LAYER_AFTER_LAYER = """reach, layers = 0, 0
while reach < n - 1:
    reach += 2 ** layers
    layers += 1
return layers"""

ROW_BY_ROW = """n, rows, count = queries.shape[1], [], 0
for i in range(n):
    near = [j for j in range(n) if abs(i - j) <= r]
    k = paddle.stack([keys[:, j] for j in near], axis=1)
    v = paddle.stack([values[:, j] for j in near], axis=1)
    scores = (queries[:, i:i + 1] * k).sum(axis=-1)
    weights = paddle.exp(scores / math.sqrt(queries.shape[2]))
    weights = weights / weights.sum(axis=-1, keepdim=True)
    rows.append((weights.unsqueeze(-1) * v).sum(axis=1))
    count += len(near)
return paddle.stack(rows, axis=1), count"""


def test_own_answers_pass(capsys):
    exercise(1)
    exercise(1, LAYER_AFTER_LAYER)
    exercise(2)
    exercise(2, ROW_BY_ROW)
    assert capsys.readouterr().out.count("检查通过") == 4


@pytest.mark.parametrize(
    "wrong",
    [
        "n - 1",
        "math.ceil((n - 1) / 2)",
        "math.floor(math.log2(n))",
        "n.bit_length()",
        "math.ceil(math.log(2 * n - 1, 3))",
    ],
)
def test_wrong_answers_to_exercise_1_fail(wrong):
    with pytest.raises(AssertionError, match="n = "):
        exercise(1, f"return {wrong}")


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("abs(i - j) <= r", "abs(i - j) < r or i == j"),
        ("abs(i - j) <= r", "0 <= i - j <= r"),
        ("abs(i - j) <= r", "abs(i - j) <= 2 * r"),
        ("abs(i - j) <= r", "True"),
        ("/ math.sqrt(queries.shape[2])", ""),
        ("count += len(near)", "count += 2 * r + 1"),
        ("count += len(near)", "count += n"),
    ],
)
def test_wrong_answers_to_exercise_2_fail(right, wrong):
    assert ROW_BY_ROW.count(right) == 1
    with pytest.raises(AssertionError, match="r = 1"):
        exercise(2, ROW_BY_ROW.replace(right, wrong))


def test_depths_of_dilated_convolutions():
    first, *lines = printed("exercise-1-depths").splitlines()
    for line, n in zip(lines, (16, 256, 4096)):
        assert numbers(line) == [n, n - 1, math.ceil(math.log2(n))]
    # Walks over the positions 0 to 4, by at most 1 and then by at most 3 or 0.
    ends = {
        (i, i + a + b)
        for i in range(5)
        for a in (-1, 0, 1)
        for b in (-3, 0, 3)
        if 0 <= i + a < 5 and 0 <= i + a + b < 5
    }
    assert numbers(first) == [5, 1, 3, 25 - len(ends)]


def test_cost_of_local_attention():
    distance = abs(np.subtract.outer(np.arange(1024), np.arange(1024)))
    share = (distance <= 32).mean()
    assert f"{share:.1%}" in printed("exercise-2-count")
    assert printed("exercise-2-count").endswith(f"变成{math.ceil(1023 / 32)}\n")
