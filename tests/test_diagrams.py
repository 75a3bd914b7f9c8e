"""What the drawn figures show is right."""

import doctest

import matplotlib
import numpy as np
import paddle
import pytest

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


@pytest.mark.parametrize("name", diagrams.__all__)
def test_texts_need_no_chinese_font(name):
    drawn = getattr(diagrams, name)()
    for panel in np.atleast_1d(drawn):
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


def test_example_of_sequence_models_prints_what_it_says():
    (example,) = doctest.DocTestFinder(recurse=False).find(
        diagrams.sequence_models, "sequence_models", globs={}
    )
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0
    assert example.examples
