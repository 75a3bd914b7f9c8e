"""10.6f, beside the book: what it prints and says of its figures, a second way."""

import io
import math
import re

import matplotlib
import numpy as np
import paddle
import pytest
from PIL import Image

import d2l_ext
from d2l_ext import diagrams, translation
from tests import reference
from tests.gate import rules
from tests.notebooks import Notebook

matplotlib.use("Agg")
from matplotlib import pyplot as plt

NOTEBOOK = Notebook("10-6f-look-inside.ipynb")
CELLS, printed = NOTEBOOK.cells, NOTEBOOK.printed
BEFORE_FIGURES = ("imports", "model", "weights", "of-sentence")
LAYERS, HEADS, STEPS = 2, 4, 10


@pytest.fixture(scope="module")
def names():
    """What the cells with the weights define; float64 as in the notebook."""
    found = {}
    for cell in BEFORE_FIGURES:
        exec(NOTEBOOK.source(cell), found)
    yield found
    paddle.set_default_dtype("float32")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def attention(names):
    """{kind: [(weights (2, 4, queries, keys), queries, keys) of each sentence]}.

    Sentence by sentence, without padding, and the decoder one token after the other.
    """
    data, net = names["data"], names["net"]
    found = {"encoder": [], "decoder": [], "cross": []}
    for english, french in data.held_out:
        source, target = [*english.split(), "<eos>"], french.split()
        X = paddle.to_tensor([data.src_vocab[source]])
        encoded = net.encoder(X, None)
        of_encoder = np.stack([w.numpy() for w in net.encoder.attention_weights])
        found["encoder"].append((of_encoder, source, source))
        inputs = ["<bos>", *target]
        own = np.zeros((LAYERS, HEADS, len(inputs), len(inputs)))
        other = np.zeros((LAYERS, HEADS, len(inputs), len(source)))
        state = net.decoder.init_state(encoded, None)
        for t, token in enumerate(inputs):
            X = paddle.to_tensor([[data.tgt_vocab[token]]])
            _, state = net.decoder(X, state)
            for layer, (w, v) in enumerate(zip(*net.decoder.attention_weights)):
                own[layer, :, t, : t + 1] = w.numpy()[:, 0]
                other[layer, :, t] = v.numpy()[:, 0]
        found["decoder"].append((own, inputs, inputs))
        found["cross"].append((other, [*target, "<eos>"], source))
    return found


def test_headings_and_equations():
    assert NOTEBOOK.headings() == [
        "# 10.6f 注意力的内部",
        "## 训练好的模型",
        "## 热图：每一层的每个头",
        "## 连线：词元看词元",
        "## 300句里也是这样吗",
        "## 自己来看",
        "## 位置是时钟的指针",
        "## 与二进制数并排",
        "## 小结",
        "## 练习",
        "### 练习1：转一圈要走几个位置",
        "### 练习2：集中还是分散",
        "## 参考文献",
    ]
    order = NOTEBOOK.places(r"\tag{10.6f.1}", r"\tag{10.6f.2}", "## 参考文献")
    assert order == sorted(order)


def test_every_reference_is_cited_and_listed():
    cited, listed = NOTEBOOK.references()
    assert cited == listed == {1, 2, 3}


def test_code_is_short_and_narrow():
    NOTEBOOK.check_style()


def test_neighbours_are_linked():
    links = re.findall(r"\]\((10-[^)]+)\)", NOTEBOOK.prose)
    assert links == ["10-6e-pytorch-beside-paddle.ipynb", "10-7-transformer.ipynb"]


def test_every_output_is_compared():
    assert not [cell.id for cell in NOTEBOOK.code if rules.IGNORE in cell.source]


def test_model_is_as_good_as_10_7_says():
    assert printed("model") == "没有见过的300句，完全正确99.3%\n"
    assert "没有见过的：完全正确99.3%" in Notebook("10-7-transformer.ipynb").printed(
        "score"
    )


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_weights_are_those_of_single_sentences(names, attention, kind):
    assert names["weights"][kind].shape == (LAYERS, HEADS, 300, STEPS, STEPS)
    for s, (expected, queries, keys) in enumerate(attention[kind]):
        found, *tokens = names["of_sentence"](kind, s)
        assert tokens == [queries, keys]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_rows_that_are_counted(attention):
    lines = printed("rows-check").splitlines()
    assert all(line.endswith("True") for line in lines) and len(lines) == 4
    for kind, parts in attention.items():
        rows = sum(w.shape[2] for w, _, _ in parts) * LAYERS * HEADS
        assert f"{kind}：{rows}行" in printed("rows-check")


def test_heat_maps_have_one_scale_and_the_tokens(names, attention):
    shown = {**names, "plt": plt}
    source = NOTEBOOK.source("show-heads").partition("\n\n\nexample")[0]
    exec(source, shown)
    s = names["sources"].index("saturday october nineteenth".split())
    for kind, parts in attention.items():
        shown["show_heads"](kind, s)
        *panels, bar = plt.gcf().axes
        weights, queries, keys = parts[s]
        assert len(panels) == LAYERS * HEADS
        for panel, expected in zip(panels, weights.reshape(8, *weights.shape[2:])):
            (image,) = panel.images
            assert image.get_clim() == (0, 1)
            np.testing.assert_allclose(image.get_array(), expected, atol=1e-10)
        assert bar.get_ylim() == (0, 1)
        bottom, left = panels[-1].get_xticklabels(), panels[0].get_yticklabels()
        assert [t.get_text() for t in bottom] == keys
        assert [t.get_text() for t in left] == queries
    calls = {c.source for c in NOTEBOOK.code if "show_heads('" in c.source}
    assert len(calls) == 3


def example(names, attention, kind):
    s = names["sources"].index("saturday october nineteenth".split())
    weights, queries, keys = attention[kind][s]
    return weights, np.array(keys)[weights.argmax(axis=-1)], queries


def test_what_the_texts_say_of_the_encoder_s_figure(names, attention):
    weights, seen, queries = example(names, attention, "encoder")
    assert queries == ["saturday", "october", "nineteenth", "<eos>"]
    first = (seen[0][:, :3] == "<eos>").tolist()
    assert first == [[True] * 3, [True, False, True], [True] * 3, [True] * 3]
    assert seen[0][1, 1] == "nineteenth"
    assert weights[0][:, :3].max(axis=-1).mean() > 1.5 * weights[1].max(axis=-1).mean()


def test_what_the_texts_say_of_the_decoder_s_figures(names, attention):
    weights, _, _ = example(names, attention, "decoder")
    assert (weights.max(axis=-1) > 0.7).all()
    weights, seen, queries = example(names, attention, "cross")
    assert queries == ["samedi", "dix", "neuf", "octobre", "<eos>"]
    for query, key in [(0, "saturday"), (2, "nineteenth"), (3, "october")]:
        assert (seen[1][:, query] == key).all()
    others = ["nineteenth", "<eos>", "nineteenth", "nineteenth"]
    assert seen[1][:, 1].tolist() == others
    assert len({tuple(head) for head in seen[0]}) == 4


PLACES = {
    "前一个": lambda i, n: i - 1,
    "自己": lambda i, n: i,
    "后一个": lambda i, n: i + 1,
    "第一个": lambda i, n: 0,
    "最后一个": lambda i, n: n - 1,
}


def share_of(parts, place):
    """As text, counted token by token: the share whose largest weight is there."""
    hits = np.zeros((LAYERS, HEADS))
    count = 0
    for weights, queries, _ in parts:
        for i in range(1, len(queries)):
            count += 1
            for layer, head in np.ndindex(LAYERS, HEADS):
                row = list(weights[layer, head, i])
                hits[layer, head] += row.index(max(row)) == place(i, len(queries))
    return table(hits / count), count


def table(shares):
    return "    ".join(" ".join(f"{share:4.0%}" for share in layer) for layer in shares)


def test_places_that_are_counted(attention):
    lines = printed("places").splitlines()
    for kind in ("encoder", "decoder"):
        title = lines.pop(0)
        for name, place in PLACES.items():
            row, count = share_of(attention[kind], place)
            assert lines.pop(0) == f"{row}  {name}"
        assert title.endswith(f"：{kind}，{count}个词元")
    assert lines == []


def test_what_is_said_of_the_places():
    encoder, decoder = printed("places").split("decoder")
    shares = [
        [
            [int(n) for n in re.findall(r"(\d+)%", line)]
            for line in part.splitlines()[1:6]
        ]
        for part in (encoder, decoder)
    ]
    text = CELLS["places-result"].source
    before = shares[0][0]
    assert max(before) == before[5] == 43 and "第二层头2，也只有43%" in text
    own, before = shares[1][1], shares[1][0]
    assert max(own) == own[3] == 66 and "第一层头4看自己的最多，占66%" in text
    assert max(before) == before[7] == 51 and "第二层头4看前一个的最多，占51%" in text
    assert shares[1][2] == [0] * 8
    last = shares[0][4][:4]
    assert (min(last), max(last)) == (26, 45) and "只有26%到45%" in text


def test_dates_and_numbers_apart(attention):
    head, *lines = printed("dates").splitlines()
    # The columns are named as in the table above it.
    columns, _, _ = printed("places").partition("encoder")
    assert head == f"{columns}encoder，最后一个" and len(lines) == 2
    for line, name, is_date in zip(lines, ("日期", "数"), (True, False)):
        parts = [p for p in attention["encoder"] if p[1][0].endswith("day") is is_date]
        row, _ = share_of(parts, PLACES["最后一个"])
        assert line == f"{row}  {name}，{len(parts)}句" and len(parts) == 150
    dates, numbers = ([int(n) for n in re.findall(r"(\d+)%", line)] for line in lines)
    assert all(a > b for a, b in zip(dates, numbers))
    assert {i for i in range(4) if dates[i] > 2 * numbers[i]} == {0, 1, 3}


def dictionary():
    found = {}
    exec(NOTEBOOK.source("pairs"), found)
    return {
        name: dict(zip(words.split(), found["english"][name].split()))
        for name, words in found["french"].items()
    }


def seen_for(attention, word, only=None):
    """[[words that the head looks at when it writes this one]], of the second layer."""
    found = [[] for _ in range(HEADS)]
    for weights, queries, keys in attention["cross"]:
        if word in queries and (only is None or only(keys)):
            for head in range(HEADS):
                row = weights[1, head, queries.index(word)]
                found[head].append(keys[int(row.argmax())])
    return found


def test_pairs_are_translations():
    """The dates of the corpus say so; for the numbers, those up to twenty do."""
    data = translation.load_data_nmt(64, STEPS)
    known = {}
    for english, french in data.train + data.held_out:
        e, f = english.split(), french.split()
        if len(e) == len(f) == 1:
            known[f[0]] = e[0]
        elif e[0].endswith("day"):
            known.update({f[0]: e[0], f[-1]: e[1]})
    for name, pairs in dictionary().items():
        if name not in ("cent", "mille"):
            missing = {f for f in pairs if f not in known}
            assert all(known.get(f, e) == e for f, e in pairs.items()) and not (
                missing if name != "数词" else set()
            )
    assert len(dictionary()["星期"]) == 7 and len(dictionary()["月份"]) == 12


def test_alignment_that_is_counted(attention):
    title, *lines = printed("alignment").splitlines()
    for line, (name, pairs) in zip(lines, dictionary().items()):
        hits = []
        for weights, queries, keys in attention["cross"]:
            for query, word in enumerate(queries):
                if word in pairs and queries.count(word) == 1:
                    if keys.count(pairs[word]) == 1:
                        best = weights[:, :, query].argmax(axis=-1)
                        hits.append(best == keys.index(pairs[word]))
        assert line == f"{table(np.mean(hits, axis=0))}  {name}，{len(hits)}处"
    assert len(lines) == 5
    for line in lines[:3]:
        assert line.count("100%") == 4
    cent, mille = ([int(n) for n in re.findall(r"(\d+)%", x)][4:] for x in lines[3:])
    assert cent[1:3] == [0, 0] and min(cent[0], cent[3]) > 80
    assert mille[0] == 100 and max(mille[2:]) <= 5


def test_other_keys_that_are_counted_and_what_is_said_of_them(attention):
    lines = iter(printed("other-keys").splitlines())
    for word in ("cent", "mille"):
        for head, seen in enumerate(seen_for(attention, word), 1):
            counts = sorted(((seen.count(k), k) for k in {*seen}), reverse=True)[:2]
            top = "、".join(f"{key} {count}处" for count, key in counts)
            assert next(lines) == f"{word}，Head {head}：{top}"
    assert next(lines, None) is None
    for word, unit, all_but in [("cent", "hundred", None), ("mille", "thousand", 0)]:
        seen = seen_for(
            attention, word, lambda keys, u=unit: f"one {u}" in " ".join(keys)
        )
        for head, keys in enumerate(seen):
            assert {*keys} == ({"one"} if head != all_but else {"thousand"})

    def other(unit):
        return lambda keys: f"one {unit}" not in " ".join(keys)

    for word, unit, head, key in [
        ("cent", "hundred", 1, "and"),
        ("cent", "hundred", 2, "and"),
        ("mille", "thousand", 3, "hundred"),
    ]:
        keys = seen_for(attention, word, other(unit))[head]
        assert keys.count(key) > 0.8 * len(keys)
    sentences = [keys for _, queries, keys in attention["cross"] if "cent" in queries]
    after = {k[k.index("hundred") + 1] for k in sentences if other("hundred")(k)}
    assert after == {"and"}


def explored(cell, names):
    """The explorer of a cell, and its names."""
    shown = dict(names)
    *_, last = NOTEBOOK.source(cell).split("\n\n\n")
    source = NOTEBOOK.source(cell)
    exec(source[: -len(last)] + "shown = " + last, shown)
    return shown["shown"], shown


def test_explorer_of_heads_shows_each_choice(names, attention):
    exec(NOTEBOOK.source("show-heads").partition("\n\n\n")[0], names)
    names["example"] = names["sources"].index("saturday october nineteenth".split())
    explorer, shown = explored("explore-heads", names)
    assert repr(explorer) == CELLS["explore-heads"].outputs[0].data["text/plain"]
    sentences = explorer._choices["sentence"]
    assert len(sentences) == len({*sentences}) == 20
    for kind, layer, head in [("encoder", 1, "Head 3"), ("cross", 2, "all")]:
        shown["draw_heads"](sentences[7], kind, layer, head)
        weights, queries, keys = attention[kind][7]
        for j, panel in enumerate(plt.gcf().axes):
            (lines,) = panel.collections
            visible = head in ("all", f"Head {j + 1}")
            expected = 5 * weights[layer - 1, j].ravel() * visible
            np.testing.assert_allclose(lines.get_linewidths(), expected, atol=1e-9)
            assert [t.get_text() for t in panel.texts] == [*queries, *keys]


@pytest.fixture(scope="module")
def clocks(names):
    found = dict(names)
    exec(NOTEBOOK.source("clocks").partition("\ndiagrams.")[0], found)
    return found


def test_clocks_show_the_angles(clocks, monkeypatch):
    """Read back from the arrows, against i / 10000 ** (2j / d) in plain Python."""
    exec(NOTEBOOK.source("clocks"), clocks)
    panels = iter(plt.gcf().axes)
    for i in (0, 1, 2, 4, 8, 16, 32, 64):
        for j in range(0, 16, 2):
            panel = next(panels)
            (hand,) = [t for t in panel.texts if not t.get_text()]
            angle = i / 10000 ** (2 * j / 32)
            assert math.isclose(hand.xy[0], math.sin(angle), abs_tol=1e-12)
            assert math.isclose(hand.xy[1], math.cos(angle), abs_tol=1e-12)
            assert panel.get_title() == (f"j = {j}" if i == 0 else "")
    assert next(panels, None) is None


def test_angles_that_are_shown():
    first, *lines = printed("clocks-check").splitlines()
    assert first == "16000个角度与公式都只差整数圈： True"
    for line, j in zip(lines, (0, 4, 14)):
        turned = [180 / math.pi * i * 10000 ** (-2 * j / 32) for i in (1, 8, 64)]
        degrees = "、".join(f"{angle:7.2f}度" for angle in turned)
        assert line == f"第{j:2}根指针，位置1、8、64：{degrees}"
    assert len(lines) == 3


def test_check_of_the_angles_can_fail(clocks, capsys):
    bent = clocks["hands"].copy()
    bent[700, 3] = math.sin(1), math.cos(1)
    exec(NOTEBOOK.source("clocks-check"), {**clocks, "hands": bent})
    assert "整数圈： False" in capsys.readouterr().out


def test_distances_that_are_shown():
    omega = 10000.0 ** -(np.arange(16) / 16)
    apart = [
        math.sqrt(sum(4 * math.sin(delta * w / 2) ** 2 for w in omega))
        for delta in range(1, 1000)
    ]
    assert min(apart) == apart[0] and f"{apart[0]:.2f}" == "1.17"
    same, smallest = printed("unique").splitlines()
    assert same.endswith("True")
    assert smallest == "相邻位置的距离1.17，任意两个位置的距离最小1.17"
    assert "相距1.17" in CELLS["unique-result"].source


def test_explorer_of_clocks_moves_its_hands(clocks):
    explorer, _ = explored("explore-clocks", clocks)
    assert repr(explorer) == "explore(position=10)"
    pictures = [explorer._picture({"position": i}) for i in (10, 11)]
    first, second = (np.asarray(Image.open(io.BytesIO(png))) for png in pictures)
    assert first.shape == second.shape and (first != second).any()
    turns = {j: 10 * 10000 ** (-2 * j / 32) / (2 * math.pi) for j in (0, 2, 4, 8)}
    assert turns[0] > 1.5 and abs(turns[2] - 0.5) < 0.01
    assert 1 / 7 < turns[4] < 1 / 6 and turns[8] < 0.02


def test_sign_changes_and_periods_that_are_shown(clocks):
    bits, cosines, ratio = printed("binary-check").splitlines()
    digits = [f"{i:016b}"[::-1] for i in range(64)]
    flips = [sum(a[k] != b[k] for a, b in zip(digits, digits[1:])) for k in range(16)]
    assert bits == f"二进制：变号{flips}"
    signs = [
        [math.cos(i / 10000 ** (j / 16)) > 0 for i in range(64)] for j in range(16)
    ]
    flips = [sum(a != b for a, b in zip(sign, sign[1:])) for sign in signs]
    assert cosines == f"余弦列：变号{flips}"
    assert ratio == f"每往右一列，周期变为：二进制2.00倍，编码{10000 ** (2 / 32):.2f}倍"
    assert "1.78倍" in CELLS["binary-result"].source


def test_both_pictures_side_by_side(clocks):
    exec(NOTEBOOK.source("binary"), clocks)
    left, right, _ = plt.gcf().axes
    digits = [[1 - 2 * int(bit) for bit in f"{i:016b}"[::-1]] for i in range(64)]
    np.testing.assert_array_equal(right.images[0].get_array(), digits)
    table = [[math.cos(i / 10000 ** (j / 16)) for j in range(16)] for i in range(64)]
    np.testing.assert_allclose(left.images[0].get_array(), table, atol=1e-12)
    assert left.images[0].get_clim() == right.images[0].get_clim()


def exercise(number, body=None):
    known = {"math": math, "np": np, "d2l": d2l_ext}
    return NOTEBOOK.exercise(number, known, body)


@pytest.mark.usefixtures("double_precision")
class TestExercises:
    RIGHT = [
        (1, "return 2 * math.pi * 10 ** (8 * j / d)"),
        (2, "w = np.where(weights > 0, weights, 1)\nreturn np.prod(w ** -w, axis=-1)"),
    ]
    WRONG = [
        (1, "pass"),
        (1, "return 2 * math.pi * 10000 ** (j / d)"),
        (1, "return 10000 ** (2 * j / d)"),
        (1, "return math.pi * 10000 ** (2 * j / d)"),
        (1, "return 2 * math.pi * 10000 ** (2 * j / 32)"),
        (1, "return round(2 * math.pi * 10000 ** (2 * j / d))"),
        (2, "pass"),
        (2, "return np.exp(-(weights * np.log(weights)).sum(axis=-1))"),
        (2, "return (weights > 0).sum(axis=-1)"),
        (2, "return 1 / (weights ** 2).sum(axis=-1)"),
        (2, "logs = np.log(np.where(weights > 0, weights, 1))\n"
            "return -(weights * logs).sum(axis=-1)"),
        (2, "logs = np.log(np.where(weights > 0, weights, 1))\n"
            "return np.exp(-(weights * logs).sum())"),
        (2, "logs = np.log2(np.where(weights > 0, weights, 1))\n"
            "return np.exp(-(weights * logs).sum(axis=-1))"),
    ]  # fmt: skip

    @pytest.mark.parametrize("number", [1, 2])
    def test_own_solution_passes(self, number, capsys):
        exercise(number)
        assert "检查通过" in capsys.readouterr().out

    @pytest.mark.parametrize("number, body", RIGHT)
    def test_another_right_answer_passes(self, number, body):
        exercise(number, body)

    @pytest.mark.parametrize("number, body", WRONG)
    def test_wrong_answer_fails(self, number, body):
        with pytest.raises(
            (AssertionError, ArithmeticError, AttributeError, TypeError)
        ):
            exercise(number, body)


def test_turns_in_exercise_1():
    lines = iter(printed("exercise-1-turns").splitlines())
    for d in (32, 512):
        slowest = 2 * math.pi * 10000 ** ((d - 2) / d)
        assert next(lines) == f"d = {d}：最慢的一根，转一圈要{slowest:.0f}个位置"
        for n in (10, 60, 1000):
            omega = reference_frequencies(d)
            full = int((n * omega >= 2 * math.pi).sum())
            assert next(lines) == (
                f"    {n:4}个位置之内，{d // 2}根中有{full}根转满一圈"
            )
    assert "62832" in CELLS["exercise-1-solution"].source
    assert round(2 * math.pi * 10000) == 62832


def reference_frequencies(d):
    """The angle from position 0 to 1, read from the table by the formula."""
    table = reference.positional_encoding(2, d)
    return np.arctan2(table[1, 0::2], table[1, 1::2])


def test_effective_keys_in_exercise_2(attention):
    lines = iter(printed("exercise-2-heads").splitlines())
    means = {}
    for kind, parts in attention.items():
        for layer in range(LAYERS):
            rows = np.zeros(HEADS)
            for head in range(HEADS):
                counts = [
                    math.exp(-sum(w * math.log(w) for w in row if w > 0))
                    for weights, _, _ in parts
                    for row in weights[layer, head]
                ]
                rows[head] = sum(counts) / len(counts)
            means[kind, layer] = rows
            text = "  ".join(f"{keys:.2f}" for keys in rows)
            assert next(lines) == f"{kind:7}，第{layer + 1}层： {text}"
    spread = max(means, key=lambda at: means[at].max())
    assert spread == ("encoder", 1) and means[spread].argmax() == 0
    focused = min(means, key=lambda at: means[at].min())
    assert focused == ("decoder", 0) and means[focused].argmin() == 1
    text = CELLS["exercise-2-result"].source
    assert "编码器第二层头1，4.27" in text and "头2是1.04" in text
    tokens = [len(queries) for _, queries, _ in attention["encoder"]]
    assert f"平均{np.mean(tokens):.1f}个词元" in text


def test_diagrams_are_the_public_ones():
    used = set(
        re.findall(r"diagrams\.(\w+)", "\n".join(c.source for c in NOTEBOOK.code))
    )
    assert used == {"attention_lines", "clocks"} <= set(diagrams.__all__)
