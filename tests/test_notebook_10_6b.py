"""10.6b, beside the book: what it prints and asserts, a second way.

Times are never measured here: the cell that judges them is given times of its own.
"""

import base64
import math
import re
import subprocess
import sys
import time

import matplotlib
import numpy as np
import paddle
import pytest

import d2l_ext
from d2l_ext import _blocks
from tests import reference
from tests.gate import pictures, rules
from tests.notebooks import FOLDER, Notebook

matplotlib.use("Agg")
NAME = "10-6b-attention-cost.ipynb"
NOTEBOOK = Notebook(NAME)
CELLS, printed = NOTEBOOK.cells, NOTEBOOK.printed
SIZES = [256, 512, 1024, 2048, 4096]
SLOPES = {"memory-slopes": [(1.8, 2.1), (0.9, 1.1)], "time-slopes": [(1.4, 2.7)] * 2}


@pytest.fixture(autouse=True)
def on_cpu():
    """Its first cell says so."""
    assert "paddle.set_device('cpu')" in NOTEBOOK.source("imports")
    before = paddle.get_device()
    paddle.set_device("cpu")
    yield
    paddle.set_device(before)


def names(*cells, **more):
    """What the cells define, after the imports."""
    found = {"d2l": d2l_ext, "core": paddle.base.core, "math": math, "np": np}
    found.update({"nn": paddle.nn, "paddle": paddle, "time": time, **more})
    for cell in cells:
        exec(NOTEBOOK.source(cell), found)
    return found


def test_headings_and_equations():
    assert NOTEBOOK.headings() == [
        "# 10.6b 注意力的代价：按块计算",
        "## 一次算出全部得分",
        "## 按块计算",
        "## 内存",
        "## 时间",
        "## `d2l_ext`怎样选择",
        "## 小结",
        "## 练习",
        "### 练习1：把键也切成块",
        "### 练习2：不算看不到的键",
        "## 参考文献",
    ]
    order = NOTEBOOK.places(*(rf"\tag{{10.6b.{i}}}" for i in (1, 2, 3)), "## 参考文献")
    assert order == sorted(order)


def test_every_reference_is_cited_and_listed():
    cited, listed = NOTEBOOK.references()
    assert cited == listed == {1, 2, 3}


def test_code_is_short_and_narrow():
    NOTEBOOK.check_style()


def test_neighbours_are_linked():
    links = re.findall(r"\]\((10-[^)]+)\)", NOTEBOOK.prose)
    assert len(links) == 2 and all((FOLDER / link).is_file() for link in links)
    assert Notebook(links[0]).prose.count(f"]({NAME})") == 1


@pytest.mark.parametrize("rows", [1, 3, 7, 11, 64])
def test_both_ways_give_the_formula(rows):
    ways = names("attention", "attention-by-blocks")
    rng = np.random.default_rng(0)
    Q, K, V = (rng.standard_normal((3, n, 5)).astype("float32") for n in (7, 11, 11))
    expected, _ = reference.dot_product_attention(Q, K, V, None)
    tensors = [paddle.to_tensor(a) for a in (Q, K, V)]
    whole = ways["attention"](*tensors)
    blocks = ways["attention_by_blocks"](*tensors, rows)
    for found in (whole, blocks):
        np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=2e-6)


def test_checks_that_are_shown_came_out_as_claimed():
    for cell, count in [("equal", 3), ("library-check", 3)]:
        assert printed(cell).count("True") == count
        assert "False" not in printed(cell)


def test_table_of_scores():
    lines = printed("score-table").splitlines()
    for line, n in zip(lines, [256, 512, 1024, 2048, 4096, 8192, 16384]):
        number = np.float32(0)  # repeated without taking memory
        whole, block = (np.broadcast_to(number, s).nbytes for s in [(n, n), (64, n)])
        found = list(map(float, re.findall(r"[\d.]+", line)))
        assert found == [n, whole / 2**20, block / 1024]
    assert len(lines) == 7
    for claim in ("64倍", "4096倍", "1024 MB，也就是1 GB", "64 GB"):
        assert claim in CELLS["score-table-text"].source
    assert (16384 // 256, (16384 // 256) ** 2, 8 * 8) == (64, 4096, 64)


def held(n, d, rows):
    """Numbers that are alive at once, step by step: the most of both ways."""
    steps = [n * d + n * n, 2 * n * n, 2 * n * n + n * d]
    whole, blocks = max(steps), 0
    for kept in range(0, n, rows):
        done, r = kept * d, min(rows, n - kept)
        blocks = max(blocks, done + 2 * r * n + r * d)
    return whole, max(blocks, 2 * n * d)  # at the end the pieces and the whole output


def test_peaks_that_memory_is_compared_with():
    lines = printed("memory-check").splitlines()
    assert len(lines) == len(SIZES)
    for line, n in zip(lines, SIZES):
        whole, blocks = (count * 4 // 1024 for count in held(n, 64, 64))
        shown = [int(number) for number in re.findall(r"\d+", line)]
        assert shown == [n, whole, blocks, 10]
    assert (round(whole / 1024), round(blocks / 1024)) == (129, 3)
    assert "129 MB对3 MB" in CELLS["memory-figure-text"].source


def in_own_process(program, *cells):
    """The numbers that it prints. Where threads have been, Paddle's counters are off."""
    imports = "import math, re\nimport d2l_ext, paddle\nfrom paddle import nn\n"
    imports += "from paddle.base import core\npaddle.set_device('cpu')\n"
    program = imports + "\n".join([*map(NOTEBOOK.source, cells), program])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return list(map(float, done.stdout.split()))


def test_peak_memory_finds_what_is_used_in_between():
    program = """
def f(n):
    first = paddle.zeros([n, 1000])
    del first
    return paddle.zeros([1000])
for n in (500, 2000, 1000):  # also below a former peak
    print(peak_memory(f, n))
"""
    found = in_own_process(program, "peak-memory")
    assert found == [4000 * n for n in (500, 2000, 1000)]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_process_grows_by_what_paddle_counts():
    """What the kernel says of a whole process, where the notebook counts tensors."""
    program = """
def highest():
    status = open("/proc/self/status").read()
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", status)[1]) / 1024
small, X = paddle.randn([1, 128, 64]), paddle.randn([1, 4096, 64])
attention(small, small, small)
for f in attention_by_blocks, attention:
    before = highest()
    f(X, X, X)
    print(highest() - before)
"""
    blocks, whole = in_own_process(program, "attention", "attention-by-blocks")
    assert blocks < 25 and 100 < whole < 160  # 3 and 129 in tensors


def judge(cell, powers):
    """Run the cell as if both had grown with these powers of n."""
    fit = CELLS["memory-slopes"].source.partition("\n\n\n")[0]
    given = names(sizes=SIZES, ways={"whole": 0, "by blocks": 0})
    exec(fit, given)
    given["times" if cell == "time-slopes" else "memory"] = {
        name: [7e-9 * n**power for n in SIZES]
        for name, power in zip(given["ways"], powers)
    }
    exec(NOTEBOOK.source(cell), given)


@pytest.mark.parametrize("cell", SLOPES)
def test_slopes_within_the_bounds_pass(cell, capsys):
    for edge in (0, 1):
        inwards = 0.01 * (1 - 2 * edge)
        judge(cell, [bounds[edge] + inwards for bounds in SLOPES[cell]])
        assert capsys.readouterr().out == printed(cell)


@pytest.mark.parametrize("cell", SLOPES)
@pytest.mark.parametrize("way, edge", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_slopes_beyond_the_bounds_fail(cell, way, edge):
    powers = [sum(bounds) / 2 for bounds in SLOPES[cell]]
    powers[way] = SLOPES[cell][way][edge] - 0.01 * (1 - 2 * edge)
    with pytest.raises(AssertionError, match=f"斜率是{powers[way]:.2f}"):
        judge(cell, powers)


def test_bounds_that_are_shown():
    for cell, (whole, blocks) in SLOPES.items():
        kind = {"memory": "内存", "time": "时间"}[cell.partition("-")[0]]
        assert printed(cell).splitlines() == [
            f"{name}：{kind}的斜率在{low}与{high}之间"
            for name, (low, high) in [("whole", whole), ("by blocks", blocks)]
        ]
    assert "从1.4到2.7" in CELLS["time-slopes-text"].source


def test_slopes_of_the_peaks():
    """By the normal equations, and in the middle of the bounds."""
    x = np.log2(SIZES) - 10
    for ys, power in zip(zip(*(held(n, 64, 64) for n in SIZES)), (1.96, 1)):
        found = (x @ np.log2(ys)) / (x @ x)
        assert abs(found - power) < 0.02


@pytest.mark.parametrize("powers", [[2, 1], [2, 2]])
def test_dashed_lines_have_their_slopes(powers):
    given = names(sizes=SIZES)
    source = NOTEBOOK.source("memory-figure").partition("\n\n\nshow(")[0]
    exec(source, given)
    measured = [[3e-3 * n**2.2 for n in SIZES], [5e-2 * n**0.9 for n in SIZES]]
    given["show"](measured, powers, "y")
    axes = matplotlib.pyplot.gca()
    *points, first, second = axes.lines
    assert [line.get_linestyle() for line in axes.lines] == ["None"] * 2 + ["--"] * 2
    for line, y, dashed, power in zip(points, measured, (first, second), powers):
        np.testing.assert_allclose(line.get_ydata(), y)
        ratios = np.diff(np.log2(dashed.get_ydata()))
        np.testing.assert_allclose(ratios, power)
        ratio = np.log(dashed.get_ydata() / np.array(y))
        assert abs(ratio.sum()) < 1e-9  # as far below the points as above them
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["whole", "by blocks", *(f"slope {power}" for power in powers)]
    matplotlib.pyplot.close("all")


def test_only_the_figure_of_times_is_not_compared():
    assert [c.id for c in NOTEBOOK.code if rules.IGNORE in c.source] == ["time-figure"]
    for cell in ("memory-figure", "time-figure"):
        (output,) = CELLS[cell].outputs
        pixels, _ = pictures.read(base64.b64decode(output.data["image/png"]))
        assert (pixels != pictures.WHITE).any() and min(pixels.shape[:2]) > 400


def test_time_is_of_one_call():
    """A call that counts as work done: its time comes out whatever n is."""
    calls = []
    given = names(sizes=SIZES)
    source = NOTEBOOK.source("measure-time").partition("\n\n\ntimes")[0]
    exec(source, given)

    class Clock:
        @staticmethod
        def process_time():
            return sum(n**2 for n in calls)

    given["time"] = Clock
    for n in SIZES:
        calls.clear()
        seconds = given["seconds"](
            lambda X, *_: calls.append(X.shape[1]), np.empty((1, n))
        )
        assert seconds == n**2 and sum(m**2 for m in calls) == 4096**2


def test_when_the_package_takes_blocks():
    assert _blocks.BLOCK == 2**18
    assert "超过$2^{18}$" in CELLS["library"].source
    assert "$2^{16}$个以上" in CELLS["library"].source
    assert (2048**2, 2048**2 * 4) == (2**22, 16 * 2**20)


def test_training_does_not_hold_all_scores_either():
    program = """
pooling = d2l_ext.DotProductAttention(dropout=0)
X = paddle.randn([1, 2048, 64])
X.stop_gradient = False
print(peak_memory(lambda: pooling(X, X, X).sum().backward()))
assert X.grad is not None
"""
    (used,) = in_own_process(program, "peak-memory")
    assert 0 < used < 4 * 2048**2


def exercise(number, body=None):
    pooling = d2l_ext.DotProductAttention(dropout=0)
    return NOTEBOOK.exercise(number, names(pooling=pooling), body)


ONE_QUERY_AT_A_TIME = """state = [(-math.inf, 0, 0) for _ in Q]
for K, V in blocks:
    for i, (q, (m, l, u)) in enumerate(zip(Q, state)):
        for k, v in zip(K, V):
            s = q @ k / math.sqrt(len(q))
            if s > m:
                l, u, m = l * math.exp(m - s), u * math.exp(m - s), s
            l, u = l + math.exp(s - m), u + math.exp(s - m) * v
        state[i] = m, l, u
return np.array([u / l for _, l, u in state])"""

EACH_QUERY_BY_ITSELF = """outputs, count = [], 0
for start in range(0, queries.shape[1], rows):
    end = min(start + rows, queries.shape[1])
    for i in range(start, end):
        scores = (queries[:, i:i + 1] * keys[:, :end]).sum(axis=-1)
        weights = paddle.exp(scores / math.sqrt(queries.shape[2]))
        weights = weights * (paddle.arange(end) <= i).astype(weights.dtype)
        weights = weights / weights.sum(axis=-1, keepdim=True)
        outputs.append((weights.unsqueeze(-1) * values[:, :end]).sum(axis=1))
        count += end
return paddle.stack(outputs, axis=1), count"""


def test_own_answers_pass(capsys):
    exercise(1)
    exercise(1, ONE_QUERY_AT_A_TIME)
    exercise(2)
    exercise(2, EACH_QUERY_BY_ITSELF)
    assert capsys.readouterr().out.count("检查通过") == 4


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("l * math.exp(m - s)", "l"),
        ("u * math.exp(m - s)", "u"),
        ("/ math.sqrt(len(q))", ""),
        ("s = q @ k", "m, s = 0, q @ k"),
        ("u / l for", "u for"),
        ("zip(K, V)", "zip(K[:3], V)"),
    ],
)
def test_wrong_answers_to_exercise_1_fail(right, wrong):
    assert ONE_QUERY_AT_A_TIME.count(right) == 1
    with pytest.raises((AssertionError, OverflowError)):
        exercise(1, ONE_QUERY_AT_A_TIME.replace(right, wrong))


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("<= i", "< end"),
        ("<= i", "<= i + 1"),
        ("count += end", "count += queries.shape[1]"),
        ("count += end", "count += i + 1"),
        ("min(start + rows, queries.shape[1])", "queries.shape[1]"),
        ("/ math.sqrt(queries.shape[2])", ""),
    ],
)
def test_wrong_answers_to_exercise_2_fail(right, wrong):
    assert EACH_QUERY_BY_ITSELF.count(right) == 1
    with pytest.raises(AssertionError):
        exercise(2, EACH_QUERY_BY_ITSELF.replace(right, wrong))


def test_share_of_scores_in_exercise_2():
    lines = printed("exercise-2-count").splitlines()
    for line, rows in zip(lines, (16, 64, 256)):
        last = np.arange(1024) // rows * rows + rows  # what the query's block sees
        share = last.sum() / 1024**2
        assert math.isclose(share, (1024 + rows) / 2 / 1024)
        assert line.endswith(f"{share:.1%}")
