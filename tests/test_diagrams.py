"""What the drawn figures show is right."""

import doctest
import itertools

import matplotlib
import numpy as np
import paddle
import pytest

import d2l_ext
from d2l_ext import diagrams
from d2l_ext.diagrams import _style

matplotlib.use("Agg")
from matplotlib import colors
from matplotlib import pyplot as plt
from matplotlib.patches import Polygon


@pytest.fixture(autouse=True)
def close_figures():
    plt.close("all")
    yield
    plt.close("all")


def arrows(panel):
    """(start, end, whether it is red) of each arrow."""
    red = colors.to_rgba(_style.PATH)
    return [
        (text.xyann, text.xy, text.arrow_patch.get_edgecolor() == red)
        for text in panel.texts
        if text.get_text() == ""
    ]


def words(panel):
    return {t.get_text(): t.get_position() for t in panel.texts if t.get_text()}


@pytest.mark.parametrize(
    "draw, seen, cue",
    [
        (diagrams.involuntary_cue, "coffee", "red stands out"),
        (diagrams.volitional_cue, "book", "I want to read"),
    ],
)
def test_figures_10_1_1_and_10_1_2_look_at_the_right_thing(draw, seen, cue):
    panel = draw()
    texts = words(panel)
    assert set(texts) == {"newspaper", "paper", "coffee", "notebook", "book", cue}
    ((_, (x, _), red),) = arrows(panel)
    assert red and x == texts[seen][0]
    # The cup alone is red, and stands where its name does.
    filled = [p for p in panel.patches if p.get_facecolor() == colors.to_rgba("C3")]
    (cup,) = filled
    assert isinstance(cup, Polygon)
    assert np.isclose(cup.get_xy()[:4, 0].mean(), texts["coffee"][0])


def test_figures_10_1_1_and_10_1_2_differ_in_the_cue_only():
    first, second = diagrams.involuntary_cue(), diagrams.volitional_cue()
    names = set(words(first)) & set(words(second))
    assert len(names) == 5
    assert all(words(first)[n] == words(second)[n] for n in names)


@pytest.mark.parametrize("num_pairs, chosen", [(5, 5), (7, 3)])
def test_figure_10_1_3_pairs_each_key_with_a_value(num_pairs, chosen):
    panel = diagrams.attention_pooling(num_pairs, chosen)
    texts = words(panel)
    from_pairs = {
        start[0]: red for start, end, red in arrows(panel) if end[0] == start[0]
    }
    for i in range(1, num_pairs + 1):
        key, value = texts[f"$k_{i}$"], texts[f"$v_{i}$"]
        assert key[0] == value[0] and key[1] > value[1]
        assert from_pairs[key[0]] is (i == chosen)
    assert f"$k_{num_pairs + 1}$" not in texts


def test_figure_10_7_1_has_every_connection():
    panel = diagrams.transformer()[0]
    texts = [(t.get_text().replace("\n", " "), t.get_position()) for t in panel.texts]
    boxes = {name: [p for n, p in texts if n == name] for name, _ in texts if name}
    counts = {name: len(places) for name, places in boxes.items()}
    assert counts["Add & norm"] == 5 and counts["Position-wise FFN"] == 2
    assert counts["Multi-head attention"] == 2
    assert counts["Masked multi-head attention"] == counts["FC"] == 1
    left, right = (boxes[name][0][0] for name in ("Sources", "Targets"))
    # One arrow in from below for each box and circle, and from the decoder out.
    upwards = [(s, e) for s, e, _ in arrows(panel) if s[0] == e[0] and s[1] < e[1]]
    assert sum(s[0] == left for s, _ in upwards) == 6
    assert sum(s[0] == right for s, _ in upwards) == 10
    # From the side into the norms; and the red one, into the decoder.
    norms = sorted(y for _, y in boxes["Add & norm"])
    beside = sorted(e[1] for s, e, red in arrows(panel) if s[1] == e[1] and not red)
    assert beside[2:] == norms and beside[0] == beside[1]  # those two: positions
    ((_, end, _),) = [a for a in arrows(panel) if a[2]]
    (cross,) = [p for p in boxes["Multi-head attention"] if p[0] == right]
    assert end[1] == cross[1] and end[0] < right


OF_THE_CALLER = {
    "attention_lines": ([[0.25, 0.75]], ["q"], ["k", "l"]),
    "clocks": ([[[0, 1]]], ["i = 0"], ["j = 0"]),
}


@pytest.mark.parametrize("name", diagrams.__all__)
def test_texts_need_no_chinese_font(name):
    drawn = getattr(diagrams, name)(*OF_THE_CALLER.get(name, ()))
    for panel in np.ravel(drawn):
        assert all(t.get_text().isascii() for t in panel.texts)
        assert panel.get_title().isascii()


@pytest.mark.parametrize("source, target, step", [(4, 3, 2), (5, 4, 1), (3, 5, 5)])
def test_figure_10_4_1_looks_back_from_the_step_before(source, target, step):
    (panel,) = diagrams.encoder_decoder(source, target, step)
    texts = words(panel)
    names = {f"$h_{t}$" for t in range(1, source + 1)}
    names |= {f"$s_{t}$" for t in range(target + 1)} | {f"$c_{step}$", "attention"}
    assert names <= set(texts) and f"$s_{target + 1}$" not in texts
    assert len([t for t in texts if t.startswith("$h")]) == source
    middle, height = texts["attention"]
    red = {(start, end) for start, end, on_path in arrows(panel) if on_path}

    def near(point, name):
        return np.hypot(*np.subtract(point, texts[name])) < 0.35

    keys = [start for start, end in red if end[1] < height and start[0] == end[0]]
    assert sorted(round(x, 6) for x, _ in keys) == sorted(
        round(texts[f"$h_{t}$"][0], 6) for t in range(1, source + 1)
    )
    (query,) = [a for a in red if near(a[0], f"$s_{step - 1}$")]
    assert query[1][0] > middle and abs(query[1][1] - height) < 0.35
    assert any(near(end, f"$c_{step}$") for _, end in red)
    assert any(near(a, f"$c_{step}$") and near(b, f"$s_{step}$") for a, b in red)
    assert len(red) == source + 3
    # One state after the other, from the encoder's first to the decoder's last.
    row = [f"$h_{t}$" for t in range(1, source + 1)]
    row += [f"$s_{t}$" for t in range(target + 1)]
    black = [(start, end) for start, end, on_path in arrows(panel) if not on_path]
    for one, other in zip(row, row[1:]):
        assert any(near(a, one) and near(b, other) for a, b in black), (one, other)


def theory(n, half):
    """The matrices of figure 10.6.1, entry by entry."""
    kinds = {
        "cnn": lambda to, start: abs(to - start) <= half,
        "rnn_in": lambda to, start: to == start,
        "rnn_step": lambda to, start: to == start + 1,
        "rnn_out": lambda to, start: to == start,
        "attention": lambda to, start: True,
    }
    return {
        kind: np.array([[arrow(to, start) for start in range(n)] for to in range(n)])
        for kind, arrow in kinds.items()
    }


@pytest.mark.parametrize("n, k", [(5, 3), (7, 5), (11, 3), (3, 1)])
def test_figure_10_6_1_of_matrices_is_that_of_theory(n, k):
    usual = diagrams.sequence_models(n, k)
    given = diagrams.sequence_models(n, k, connections=theory(n, k // 2))
    for one, other in zip(usual, given):
        assert arrows(one) == arrows(other) != []
        assert words(one) == words(other) and one.get_title() == other.get_title()


def test_figure_10_6_1_has_the_arrows_of_the_matrices():
    matrices = {kind: np.zeros((3, 3), dtype=bool) for kind in theory(3, 1)}
    # To row i from column j, both from 0.
    for kind, to, start in [
        ("cnn", 1, 0),
        ("rnn_in", 2, 0),
        ("rnn_step", 0, 2),
        ("rnn_step", 2, 1),
        ("rnn_out", 2, 2),
        ("attention", 2, 0),
        ("attention", 0, 1),
    ]:
        matrices[kind][to, start] = True
    tensors = {kind: paddle.to_tensor(matrix) for kind, matrix in matrices.items()}
    lists = {kind: matrix.tolist() for kind, matrix in matrices.items()}
    for connections in (matrices, tensors, lists):
        cnn, rnn, attention = diagrams.sequence_models(3, 3, connections)
        # The red one in the CNN: from an outer token to the middle.
        assert arrows(cnn) == [((1, 0), (2, 1), True), ((1, 1), (2, 2), False)]
        assert arrows(rnn) == [
            ((1, 0), (3, 1), False),
            ((3, 1), (3, 2), True),
            ((2, 1), (3, 1), True),
            ((3, 1), (1, 1), False),
        ]
        assert arrows(attention) == [((1, 0), (3, 2), True), ((2, 0), (1, 2), False)]


@pytest.mark.parametrize(
    "change, error, message",
    [
        ([], TypeError, r"connections must be a dict of matrices, got list \[\]"),
        ({}, ValueError, r"connections must have the keys \('cnn', .*, got dict \{\}"),
        (
            {"rnn_in": np.ones((3, 3))},
            TypeError,
            r"connections\['rnn_in'\] must hold booleans, got float64",
        ),
        (
            {"attention": np.ones((3, 5), dtype=bool)},
            ValueError,
            r"connections\['attention'\] must be of shape \(num_tokens, num_tokens\) "
            r"= \(3, 3\), got \(3, 5\)",
        ),
        (
            {"cnn": [[True], [True, False]]},
            ValueError,
            r"connections\['cnn'\] must have rows of equal length, got list",
        ),
        (
            {"cnn": "abc"},
            TypeError,
            r"connections\['cnn'\] must hold real numbers, got str",
        ),
        (
            {"more": np.ones((3, 3), dtype=bool)},
            ValueError,
            "connections must have the keys",
        ),
    ],
)
def test_wrong_connections_say_what_was_expected(change, error, message):
    connections = {**theory(3, 1), **change} if change else change
    with pytest.raises(error, match=message):
        diagrams.sequence_models(3, 3, connections)
    assert plt.get_fignums() == []


WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(3), (2, 5, 7))  # 2 x 5 heads
QUERIES, KEYS = list("abcdefg"), ["un", "août", "$x$"]


def lines(panel):
    """{(query, key): (width, colour)}, by the heights at which the lines end."""
    (collection,) = panel.collections
    found = zip(
        collection.get_segments(), collection.get_linewidths(), collection.get_colors()
    )
    return {
        (int(start[1]), int(end[1])): (width, color)
        for (start, end), width, color in found
        if (start[0], end[0]) == (0, 1)
    }


def test_attention_lines_are_as_wide_and_as_strong_as_the_weights():
    panels = diagrams.attention_lines(WEIGHTS, QUERIES, KEYS)
    assert panels.shape == (2, 5)
    for (i, j), panel in np.ndenumerate(panels):
        drawn = lines(panel)
        assert len(drawn) == 7 * 3
        for (query, key), (width, color) in drawn.items():
            weight = WEIGHTS[i, j, query, key]
            assert np.isclose(width, 5 * weight) and np.isclose(color[3], weight)
            assert tuple(color[:3]) == colors.to_rgb(f"C{j}")


def test_attention_lines_lead_from_the_queries_to_the_keys():
    panels = diagrams.attention_lines(WEIGHTS[0], QUERIES, KEYS, titles=list("12345"))
    for panel in panels[0]:
        left = {t.get_text(): t for t in panel.texts if t.get_position()[0] < 0}
        right = {t.get_text(): t for t in panel.texts if t.get_position()[0] > 1}
        assert list(left) == QUERIES and list(right) == KEYS
        for texts, side in [(left, "right"), (right, "left")]:
            assert [t.get_position()[1] for t in texts.values()] == [*range(len(texts))]
            assert {t.get_ha() for t in texts.values()} == {side}
        bottom, top = panel.get_ylim()
        assert bottom > 6 and top < 0  # the first token is the highest
        assert not right["$x$"].get_parse_math()
    assert [panel.get_title() for panel in panels[0]] == list("12345")


def test_tokens_of_attention_lines_stay_in_their_panels_and_fill_them():
    """Wide letters and narrow ones, dollar signs that are no formula, a line's end."""
    tokens = [["mmmmmmmmmmmm", "a"], ["illi", "$mmmm$"], ["a", "mm\nmm", "mm"]]
    for queries, keys in itertools.product(tokens, tokens):
        weights = np.full((1, 2, len(queries), len(keys)), 0.5)
        panels = diagrams.attention_lines(weights, queries, keys)[0]
        figure = panels[0].figure
        figure.canvas.draw()
        for panel in panels:
            edge = panel.get_window_extent()
            boxes = [token.get_window_extent() for token in panel.texts]
            # Two tokens in neighbouring panels are not read as one, and no room is
            # wasted: a wide figure is shrunk in print, with its letters.
            for gap in (
                min(box.x0 for box in boxes) - edge.x0,
                edge.x1 - max(box.x1 for box in boxes),
            ):
                assert 0.03 < gap / figure.dpi < 0.17
        plt.close(figure)


def test_attention_lines_of_tensors_and_of_one_head():
    one = diagrams.attention_lines(paddle.to_tensor(WEIGHTS[0, 0]), QUERIES, KEYS)
    assert one.shape == (1, 1) and len(lines(one[0, 0])) == 21
    # A sum in single precision may be a little more than 1.
    above = diagrams.attention_lines([[np.nextafter(np.float32(1), 2)]], ["a"], ["b"])
    assert lines(above[0, 0])[0, 0][1][3] == 1


def test_clocks_have_the_hands_that_are_given():
    angles = np.array([[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [0.5, -1, 100, 2.5, 0.1]])
    hands = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    panels = diagrams.clocks(paddle.to_tensor(hands), list("abc"), list("vwxyz"))
    assert panels.shape == (3, 5)
    for (i, j), panel in np.ndenumerate(panels):
        ((start, end, red),) = arrows(panel)
        assert red and start == (0, 0)
        np.testing.assert_allclose(end, hands[i, j])
        (face,) = panel.patches
        assert face.get_radius() == 1 and face.get_center() == (0, 0)
        assert panel.get_aspect() == 1 and panel.get_xlim()[1] > 1
        assert panel.get_title() == ("vwxyz"[j] if i == 0 else "")
        assert list(words(panel)) == (["abc"[i]] if j == 0 else [])


def test_eight_clocks_are_no_wider_than_a_page_and_their_texts_stay_apart():
    """Where a figure is wider than the text, print shrinks it, with its letters."""
    texts = [f"j = {10 + j}" for j in range(8)]
    panels = diagrams.clocks(np.tile([0, 1], (8, 8, 1)), texts, texts)
    figure = panels[0, 0].figure
    figure.canvas.draw()
    assert figure.get_figwidth() < 505 / 72
    titles = [panel.title.get_window_extent() for panel in panels[0]]
    assert all(one.x1 < other.x0 for one, other in zip(titles, titles[1:]))
    names = [panel.texts[-1].get_window_extent() for panel in panels[:, 0]]
    assert min(name.x0 for name in names) > 0


def test_clocks_begin_at_twelve_and_turn_as_clocks_do():
    panels = diagrams.clocks([[[0, 1], [1, 0], [0, -1], [-1, 0]]], ["a"], list("bcde"))
    ends = [arrows(panel)[0][1] for panel in panels[0]]
    assert ends == [(0, 1), (1, 0), (0, -1), (-1, 0)]  # up, right, down, left


def draw_lines(weights=((0.5, 0.5),), queries=("a",), keys=("b", "c"), titles=None):
    return diagrams.attention_lines(np.array(weights), queries, keys, titles)


def draw_clocks(hands=((((0, 1)),),), rows=("a",), columns=("b",)):
    return diagrams.clocks(hands, rows, columns)


WRONG_CALLS = [
    (lambda: diagrams.sequence_models("5"), TypeError, "num_tokens must be an integer, got str '5'"),
    (lambda: diagrams.sequence_models(0), ValueError, "num_tokens must be at least 1, got 0"),
    (lambda: diagrams.sequence_models(4), ValueError, "num_tokens must be odd, got 4"),
    (lambda: diagrams.sequence_models(5, 3.0), TypeError, "kernel_size must be an integer, got float 3.0"),
    (lambda: diagrams.sequence_models(5, -1), ValueError, "kernel_size must be at least 1, got -1"),
    (lambda: diagrams.sequence_models(5, 2, theory(5, 1)), ValueError, "kernel_size must be odd, got 2"),
    (lambda: draw_lines(queries="a"), TypeError, "queries must be a list of texts, got str 'a'"),
    (lambda: draw_lines(keys=[1, 2]), TypeError, r"keys must be a list of texts, got list \[1, 2\]"),
    (lambda: draw_lines(keys=["b"]), ValueError, "keys must hold 2 texts, got 1"),
    (lambda: draw_lines(queries=[]), ValueError, "queries must hold 1 texts, got 0"),
    (lambda: draw_lines([[0.5, 1.5]]), ValueError, "weights must lie between 0 and 1, got 1.5"),
    (lambda: draw_lines([[-0.5, 1]]), ValueError, "weights must lie between 0 and 1, got -0.5"),
    (lambda: draw_lines([[0.5, float("nan")]]), ValueError, "weights must lie between 0 and 1, got nan"),
    (lambda: draw_lines([1, 0]), ValueError, r"weights must be of shape .*, got \(2,\)"),
    (lambda: draw_lines([["x", "y"]]), TypeError, "weights must hold real numbers, got ndarray"),
    (lambda: draw_lines(titles=3), TypeError, "titles must be a list of texts, got int 3"),
    (lambda: draw_lines(titles=["a", "b"]), ValueError, "titles must be at most one for each of the 1 panels, got 2"),
    (lambda: draw_clocks([[0, 1]]), ValueError, r"hands must be of shape \(rows, columns, 2\), got \(1, 2\)"),
    (lambda: draw_clocks([[[0, 1, 2]]]), ValueError, r"hands must be of shape \(rows, columns, 2\), got \(1, 1, 3\)"),
    (lambda: draw_clocks(np.ones((0, 1, 2))), ValueError, r"hands must be of shape \(rows, columns, 2\), got \(0, 1, 2\)"),
    (lambda: draw_clocks([[[0, float("inf")]]]), ValueError, "hands must hold finite numbers, got inf"),
    (lambda: draw_clocks("abc"), TypeError, "hands must hold real numbers, got str"),
    (lambda: draw_clocks(rows=["a", "b"]), ValueError, "rows must hold 1 texts, got 2"),
    (lambda: draw_clocks(columns=None), TypeError, "columns must be a list of texts, got NoneType None"),
]  # fmt: skip


@pytest.mark.parametrize("call, error, message", WRONG_CALLS)
def test_wrong_calls_say_what_was_expected_and_what_came(call, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        call()
    assert plt.get_fignums() == []


@pytest.mark.parametrize("name", [*OF_THE_CALLER, "sequence_models"])
def test_example_prints_what_it_says(name):
    names = {"d2l_ext": d2l_ext}
    (example,) = doctest.DocTestFinder().find(
        getattr(diagrams, name), name, globs=names
    )
    assert example.examples
    assert not doctest.DocTestRunner(verbose=False).run(example).failed
