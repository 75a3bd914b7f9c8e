import base64
import io
import sys

import matplotlib
import numpy as np
import paddle
import pytest
from PIL import Image

import d2l_ext
from d2l_ext import diagrams
from tests import reference
from tests.kernel import pictures, run_cells

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba


@pytest.fixture(autouse=True)
def close_figures():
    plt.close("all")
    yield
    plt.close("all")


def lines(axes):
    return [(x.tolist(), y.tolist()) for x, y in (x.get_data() for x in axes.lines)]


def with_gradient(values):
    return paddle.to_tensor(values, stop_gradient=False) * 2


class TestPlot:
    @pytest.mark.parametrize(
        "X, Y, expected",
        [
            ([3, 4], None, [([0, 1], [3, 4])]),
            (range(2), [3, 4], [([0, 1], [3, 4])]),
            ([5, 6], [[3, 4], [7, 8]], [([5, 6], [3, 4]), ([5, 6], [7, 8])]),
            ([[1], [5, 6]], [[2], [3, 4]], [([1], [2]), ([5, 6], [3, 4])]),
            (np.eye(2), None, [([0, 1], [1, 0]), ([0, 1], [0, 1])]),
            (paddle.arange(2), paddle.eye(2).T, [([0, 1], [1, 0]), ([0, 1], [0, 1])]),
            ([1, 2], with_gradient([3.0, 4.0]), [([1, 2], [6, 8])]),
            ([1, 2], [with_gradient([[3.0], [4.0]])], [([1, 2], [6, 8])]),
            ([1, 2], [paddle.to_tensor(3.0), 4.0], [([1, 2], [3, 4])]),
            (paddle.ones([2], "bfloat16"), None, [([0, 1], [1, 1])]),
            ([], [3, 4], [([0, 1], [3, 4])]),
            (np.array([[5], [6]]), np.array([[3], [4]]), [([5, 6], [3, 4])]),
            (paddle.to_tensor([[3.0], [4.0]]), None, [([0, 1], [3, 4])]),
        ],
    )
    def test_draws_what_it_is_given(self, X, Y, expected):
        assert lines(d2l_ext.plot(X, Y)) == expected

    def test_every_one_of_many_curves_can_be_told_apart(self):
        axes = d2l_ext.plot(
            [0, 1], [[i, i] for i in range(10)], legend=list("abcdefghij")
        )
        styles = {(line.get_color(), line.get_linestyle()) for line in axes.lines}
        assert len(axes.lines) == len(styles) == 10
        assert [t.get_text() for t in axes.get_legend().get_texts()] == list(
            "abcdefghij"
        )

    def test_masked_points_are_not_drawn(self):
        y = np.ma.array([1, 100, 3], mask=[False, True, False])
        (line,) = d2l_ext.plot(y).lines
        np.testing.assert_array_equal(line.get_ydata(), [1, np.nan, 3])

    @pytest.mark.parametrize("legend", ["one", ["one"], np.array(["one"])])
    def test_legend_of_any_kind(self, legend):
        (text,) = d2l_ext.plot([1, 2], legend=legend).get_legend().get_texts()
        assert text.get_text() == "one"

    def test_two_calls_make_two_figures(self):
        first, second = d2l_ext.plot([1, 2]), d2l_ext.plot([3, 4])
        assert first.figure is not second.figure
        assert plt.gca() is second  # what the book draws next goes there
        assert lines(first) == [([0, 1], [1, 2])]

    def test_arguments_of_the_book(self):
        axes = d2l_ext.plot(
            [1, 10], [[1, 2]], "x", "y", ["a"], [1, 20], [0, 3], "log", "linear",
            ("r:",), (4, 3)
        )  # fmt: skip
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
        assert (axes.get_xlim(), axes.get_ylim()) == ((1, 20), (0, 3))
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
        assert (axes.lines[0].get_color(), axes.lines[0].get_linestyle()) == ("r", ":")
        assert tuple(axes.figure.get_size_inches()) == (4, 3)

    def test_given_axes_are_cleared_and_used(self):
        axes = plt.figure().add_subplot()
        axes.plot([1, 2])
        assert d2l_ext.plot([3, 4], axes=axes) is axes
        assert lines(axes) == [([0, 1], [3, 4])]
        assert len(plt.get_fignums()) == 1


def test_figures_need_no_ipython(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", None)  # as if it were not installed
    assert lines(d2l_ext.plot([3, 4])) == [([0, 1], [3, 4])]


class TestShowHeatmaps:
    def test_one_scale_for_all_panels(self):
        matrices = np.zeros((1, 2, 3, 5))
        matrices[0, 0, 0, 0], matrices[0, 1, 0, 0] = 1, 10
        axes = d2l_ext.show_heatmaps(paddle.to_tensor(matrices), "Keys", "Queries")
        assert axes.shape == (1, 2)
        assert [a.images[0].get_clim() for a in axes.flat] == [(0, 10), (0, 10)]
        bar = axes[0, 0].figure.axes[-1]
        assert bar.get_ylim() == (0, 10)

    @pytest.mark.parametrize("shape", [(3, 5), (1, 3, 5), (7, 3, 5), (2, 7, 3, 5)])
    def test_panels_for_each_number_of_axes(self, shape):
        matrices = np.arange(np.prod(shape), dtype="float32").reshape(shape)
        axes = d2l_ext.show_heatmaps(matrices, "Keys", "Queries")
        panels = matrices.reshape((-1, *shape[-2:]))
        assert axes.size == len(panels)
        for drawn, expected in zip(axes.flat, panels):
            assert (drawn.images[0].get_array() == expected).all()

    def test_tensors_with_gradients(self):
        axes = d2l_ext.show_heatmaps(with_gradient([[1.0, 2.0]]), "", "")
        assert axes[0, 0].images[0].get_array().tolist() == [[2, 4]]

    @pytest.mark.parametrize(
        "titles, expected",
        [
            (None, ["", "", "", ""]),
            (["a"], ["a", "", "a", ""]),
            (["a", "b"], ["a", "b", "a", "b"]),
            (["a", "b", "c"], ["a", "b", "c", ""]),
            (["a", "b", "c", "d"], ["a", "b", "c", "d"]),
            (np.array(["a", "b"]), ["a", "b", "a", "b"]),
            ("abc", ["abc", "", "abc", ""]),
        ],
    )
    def test_titles(self, titles, expected):
        axes = d2l_ext.show_heatmaps(np.ones((2, 2, 3, 5)), "", "", titles)
        assert [a.get_title() for a in axes.flat] == expected

    def test_labels_stand_outside_only(self):
        axes = d2l_ext.show_heatmaps(np.ones((2, 2, 3, 5)), "Keys", "Queries")
        assert [a.get_xlabel() for a in axes.flat] == ["", "", "Keys", "Keys"]
        assert [a.get_ylabel() for a in axes.flat] == ["Queries", "", "Queries", ""]

    def test_masked_values_do_not_spoil_the_scale(self):
        matrices = np.ma.array([[0, 1, 1e9]], mask=[[False, False, True]])
        axes = d2l_ext.show_heatmaps(matrices, "", "")
        assert axes[0, 0].images[0].get_clim() == (0, 1)

    def test_values_that_are_not_finite_do_not_spoil_the_scale(self):
        matrices = np.array([[0.0, 1.0], [np.inf, np.nan]])
        axes = d2l_ext.show_heatmaps(matrices, "", "")
        assert axes[0, 0].images[0].get_clim() == (0, 1)


WRONG_CALLS = [
    (lambda: d2l_ext.plot(None), TypeError, "X must hold real numbers, got NoneType"),
    (lambda: d2l_ext.plot("abc"), TypeError, "X must hold real numbers, got str"),
    (lambda: d2l_ext.plot([1j]), TypeError, "X must hold real numbers, got list"),
    (lambda: d2l_ext.plot([1], ["a"]), TypeError, "Y must hold real numbers, got list"),
    (lambda: d2l_ext.plot(5), ValueError, r"X must have 1 or 2 axes, got shape \(\)"),
    (lambda: d2l_ext.plot(np.ones((2, 3, 5))), ValueError, r"X must have 1 or 2 axes, got shape \(2, 3, 5\)"),
    (lambda: d2l_ext.plot([np.ones((2, 3))]), ValueError, r"a curve in X must have 1 axis, got shape \(2, 3\)"),
    (lambda: d2l_ext.plot([1, 2], [1, 2, 3]), ValueError, "X and Y must have as many points, got 2 and 3 in curve 0"),
    (lambda: d2l_ext.plot([[1], [1]], [[1]] * 3), ValueError, "X must hold 1 curve or as many as Y, got 2 and 3"),
    (lambda: d2l_ext.plot([1], axes=np.ones(2)), TypeError, "axes must be matplotlib axes, got ndarray"),
    (lambda: d2l_ext.plot([1], fmts=["?"]), ValueError, r"fmts must be a list of matplotlib's format strings, got list \['\?'\]"),
    (lambda: d2l_ext.plot([1], figsize=3), TypeError, "figsize must be a width and a height in inches, got int 3"),
    (lambda: d2l_ext.plot([1], figsize=(0, 3)), ValueError, r"figsize must be a width and a height in inches, got tuple \(0, 3\)"),
    (lambda: d2l_ext.plot([1], xlim=[1, 2, 3]), ValueError, r"xlim must be a pair of numbers, got list \[1, 2, 3\]"),
    (lambda: d2l_ext.plot([1], yscale="cubic"), ValueError, "yscale must be a scale of matplotlib, got str 'cubic'"),
    (lambda: d2l_ext.plot([1], legend=3), TypeError, "legend must be a list of texts, got int 3"),
    (lambda: d2l_ext.show_heatmaps(np.eye(3), "", "", cmap="Read"), ValueError, "cmap must be a colour map of matplotlib, or its name, got str 'Read'"),
    (lambda: d2l_ext.show_heatmaps(np.eye(3), "", "", titles=3), TypeError, "titles must be a list of texts, got int 3"),
    (lambda: d2l_ext.show_heatmaps([[1, 2], [3]], "", ""), ValueError, r"matrices must have rows of equal length, got list \[\[1, 2\], \[3\]\]"),
    (lambda: d2l_ext.show_heatmaps(np.ones(3), "", ""), ValueError, r"matrices must be of shape .*, got \(3,\)"),
    (lambda: d2l_ext.show_heatmaps(np.ones((1, 0, 2, 2)), "", ""), ValueError, r"matrices must be of shape .*, got \(1, 0, 2, 2\)"),
    (lambda: d2l_ext.show_heatmaps([["a"]], "", ""), TypeError, "matrices must hold real numbers, got list"),
    (lambda: d2l_ext.show_heatmaps(np.eye(3), "", "", ["a", "b"]), ValueError, "titles must be at most one for each of the 1 panels, got 2"),
]  # fmt: skip


@pytest.mark.parametrize("call, error, message", WRONG_CALLS)
def test_wrong_calls_say_what_was_expected_and_what_came(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert plt.get_fignums() == []  # nothing half-drawn is left behind


@pytest.mark.parametrize("num_heads", [1, 3, 4])
def test_figure_10_5_1_has_every_connection(num_heads):
    (panel,) = diagrams.multi_head(num_heads)
    texts = {t.get_text(): t.get_position() for t in panel.texts}
    arrows = {
        (t.xyann, t.xy): t.arrow_patch.get_edgecolor() == to_rgba("#d62728")
        for t in panel.texts
        if t.get_text() == ""
    }
    # A head has 3 from the inputs, 3 into attention, 1 out; then W_o and the output.
    assert len(arrows) == 7 * num_heads + 2 and sum(arrows.values()) == 7
    for name, letter in [("query", "q"), ("key", "k"), ("value", "v")]:
        x, y = texts[f"{name} ${letter}$"]
        for i in range(1, num_heads + 1):
            to_x, to_y = texts[f"$W_{i}^{{({letter})}}$"]
            assert arrows.pop(((x, y + 0.25), (to_x, to_y - 0.25))) is (i == 1)
            assert arrows.pop(((to_x, to_y + 0.25), (to_x, 2.55 - 0.25))) is (i == 1)


def test_figure_10_6_1_has_every_connection():
    cnn, rnn, attention = diagrams.sequence_models(num_tokens=7, kernel_size=3)
    arrows = [sum(t.get_text() == "" for t in a.texts) for a in (cnn, rnn, attention)]
    # CNN: 2 layers of 7 * 3 - 2 (no padding). RNN: in, out, and 6 steps. All pairs.
    assert arrows == [2 * 19, 7 + 7 + 6, 49]


@pytest.mark.parametrize("scores", [(0, 2, 1), (1.5, -1, 0, 0)])
def test_figure_10_3_1_has_arrows_as_wide_as_the_weights(scores):
    (panel,) = diagrams.weighted_sum(scores)
    red = [
        (t.xy, t.arrow_patch.get_linewidth())
        for t in panel.texts
        if t.get_text() == "" and t.arrow_patch.get_edgecolor() == to_rgba("#d62728")
    ]
    weights = reference.masked_softmax([[scores]], None)[0, 0]
    widths = [width for _, width in red]
    # Each weight is on its way into a product, and on the way from there to the sum.
    assert len(red) == 2 * len(scores)
    np.testing.assert_allclose(widths[0::2], 6 * weights)
    np.testing.assert_allclose(widths[1::2], 6 * weights)
    texts = {t.get_text(): t.get_position() for t in panel.texts}
    for i in range(1, len(scores) + 1):
        rows = [texts[f"$k_{i}$"][1], texts[f"$a(q, k_{i})$"][1], red[2 * i - 2][0][1]]
        assert max(rows) - min(rows) < 0.3  # a key, its score and its weight
        assert texts[f"$v_{i}$"][1] > rows[0]  # and its value above


def test_notebook_shows_each_figure_once_sharp_and_prints_nothing():
    outputs = run_cells(
        "import d2l_ext\nfrom d2l_ext import diagrams",
        "d2l_ext.plot([1, 2])",
        "d2l_ext.show_heatmaps([[1, 2]], 'Keys', 'Queries')",
        "d2l_ext.plot([1, 2])\nd2l_ext.plot([3, 4])",
        "diagrams.sequence_models()",
        "from matplotlib import pyplot\nd2l_ext.plot([1], axes=pyplot.figure().gca())",
    )
    assert outputs[0] == []
    assert [len(o) for o in outputs[1:]] == [1, 1, 2, 1, 1]
    for shown in outputs[1:]:
        assert pictures(shown) == shown
    picture = outputs[1][0]
    png = Image.open(io.BytesIO(base64.b64decode(picture.data["image/png"])))
    assert abs(png.width - 2 * picture.metadata["image/png"]["width"]) <= 1


def test_figure_comes_with_its_cell_where_nothing_shows_figures_yet():
    """As in a new kernel with matplotlib 3.8."""
    outputs = run_cells(
        "import d2l_ext\nfrom matplotlib import pyplot",
        "from matplotlib_inline.backend_inline import flush_figures\n"
        "callbacks = get_ipython().events.callbacks['post_execute']\n"
        "callbacks[:] = [c for c in callbacks if c is not flush_figures]",
        "d2l_ext.plot([1, 2])",
        "1 + 1",
    )
    assert [len(pictures(cell)) for cell in outputs] == [0, 0, 1, 0]
