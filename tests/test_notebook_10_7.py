"""Section 10.7: the notebook against the book's outline, and its numbers a second way."""

import math
import re

import numpy as np
import paddle
import pytest

import d2l_ext
from d2l_ext import translation
from tests.notebooks import FOLDER, Notebook

NOTEBOOK = Notebook("10-7-transformer.ipynb")
CLASSES = (
    "ffn-class",
    "add-norm-class",
    "encoder-block",
    "encoder-class",
    "decoder-block-layers",
    "decoder-block",
    "decoder-layers",
    "decoder-class",
)


@pytest.fixture(autouse=True)
def as_in_the_notebook(double_precision):
    """Its first cell says so."""
    assert "paddle.set_default_dtype('float64')" in NOTEBOOK.source("imports")


@pytest.fixture
def saved():
    """The notebook's classes."""
    names = {
        "d2l": d2l_ext.patch_d2l(),
        "d2l_ext": d2l_ext,
        "math": math,
        "nn": paddle.nn,
        "np": np,
        "paddle": paddle,
        "rng": np.random.default_rng(0),
        "translation": translation,
    }
    for cell in CLASSES:
        exec(NOTEBOOK.source(cell), names)
    return names


@pytest.fixture
def untrained(saved, capsys):
    """The classes, the data, and the functions that make a net."""
    for cell in ("data", "net"):
        exec(NOTEBOOK.source(cell), saved)
    return saved


def test_headings_and_figure_stand_in_the_book_s_order():
    headings = [h for h in NOTEBOOK.headings() if not h.startswith("###")]
    assert headings == [
        "# 10.7 Transformer",
        "## 模型",
        "## 基于位置的前馈网络",
        "## 残差连接和层规范化",
        "## 编码器",
        "## 解码器",
        "## 训练",
        "## 小结",
        "## 练习",
        "## 参考文献",
    ]
    marks = "## 模型", "**图10.7.1**", "## 基于位置的前馈网络"
    order = NOTEBOOK.places(*marks)
    assert order == sorted(order)


def test_every_reference_is_cited_and_listed():
    cited, listed = NOTEBOOK.references()
    cited -= {24, 32, 100}  # sizes: [24], [32], [100, 24]
    assert cited == listed == set(range(1, 14))


def test_code_is_short_and_narrow():
    NOTEBOOK.check_style()


def test_shapes_that_are_shown():
    shown = {
        "encoder-block-toy": "[2, 100, 24]",
        "encoder-toy": "[2, 100, 24]",
        "decoder-block-toy": "[2, 100, 24]",
        "enc-weights": "[2, 4, 10, 10]",
        # <bos> and the four words of the translation; ten places in the source
        "dec-weights": "([2, 4, 5, 5], [2, 4, 5, 10])",
    }
    for cell, text in shown.items():
        assert NOTEBOOK.cells[cell].outputs[0].data["text/plain"] == text


def test_norms_by_hand():
    """1 and 2 are half a unit around their mean 1.5; so are 2 and 3."""
    rows, columns = [[-1.0, 1.0]] * 2, [[-1.0, -1.0], [1.0, 1.0]]
    expected = f"层规范化： {rows}\n批量规范化： {columns}\n"
    assert NOTEBOOK.printed("norms") == expected


def test_checks_that_are_shown_came_out_as_claimed():
    for cell, trues in [("ffn-toy", 2), ("add-norm-toy", 1), ("decoder-check", 2)]:
        printed = NOTEBOOK.printed(cell)
        assert printed.count("True") == trues and "False" not in printed
    assert NOTEBOOK.printed("ext-check").count("True") == 4
    ends = [line[-5:] for line in NOTEBOOK.printed("decoder-book-way").splitlines()]
    assert ends == ["False"] * 2
    good, bad = NOTEBOOK.printed("norm-shape-check").splitlines()
    assert good.endswith("True") and bad.endswith("False")


SIZES = 6, 6, 6, 6, [6], 6, 17, 3, 2, 0


def randomize(*models):
    """Give all the same parameters, none of which is 0 or 1."""
    rng = np.random.default_rng(1)
    for parameter in models[0].parameters():
        parameter.set_value(rng.standard_normal(parameter.shape) / 2)
    for model in models[1:]:
        assert model.state_dict().keys() == models[0].state_dict().keys()
        model.set_state_dict(models[0].state_dict())


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_saved_classes_and_the_package_s_give_the_same(saved, mode):
    """The package's are compared with the formulas in test_transformer.py."""
    rng = np.random.default_rng(2)
    X, Y = (paddle.to_tensor(rng.integers(0, 11, (3, n))) for n in (7, 5))
    lens = paddle.to_tensor([4, 7, 1])
    encoders = [m["TransformerEncoder"](11, *SIZES) for m in (saved, vars(d2l_ext))]
    decoders = [m["TransformerDecoder"](11, *SIZES) for m in (saved, vars(d2l_ext))]
    outputs = []
    for models in (encoders, decoders):
        randomize(*models)
    for encoder, decoder in zip(encoders, decoders):
        getattr(encoder, mode)(), getattr(decoder, mode)()
        state = decoder.init_state(encoder(X, lens), lens)
        logits, after = decoder(Y, state)
        assert state[2] == [None, None]
        assert [list(seen.shape) for seen in after[2]] == [[3, 5, 6]] * 2
        weights = [*encoder.attention_weights, *sum(decoder.attention_weights, [])]
        outputs.append([state[0], logits, *weights])
    for ours, theirs in zip(*outputs):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_saved_decoder_bit_by_bit(saved, mode, parts):
    rng = np.random.default_rng(3)
    decoder = saved["TransformerDecoder"](11, *SIZES)
    randomize(decoder)
    getattr(decoder, mode)()
    tokens = paddle.to_tensor(rng.integers(0, 11, (2, 7)))
    source = paddle.to_tensor(rng.standard_normal((2, 5, 6)))
    start = decoder.init_state(source, paddle.to_tensor([5, 2]))
    expected, state, logits = decoder(tokens, start)[0].numpy(), start, []
    for t in range(0, 7, parts):
        Y, state = decoder(tokens[:, t : t + parts], state)
        logits.append(Y.numpy())
    found = np.concatenate(logits, axis=1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_data_that_is_shown(untrained):
    data = untrained["data"]
    lines = NOTEBOOK.printed("data").splitlines()
    assert lines[0].startswith("训练600对，检验300对")
    assert not {e for e, _ in data.train} & {e for e, _ in data.held_out}
    assert lines[1].endswith("： 0")
    assert lines[2:] == [f"{e} => {f}" for e, f in data.held_out[:3]]


def pairs_of_tokens(text):
    tokens = text.split()
    return list(zip(tokens, tokens[1:]))


def test_bleu_that_is_shown(untrained):
    """(9.7.4) with k = 2, counted by hand."""
    known = dict(untrained["data"].held_out)
    for line in NOTEBOOK.printed("translate").splitlines():
        english, _, rest = line.partition(" => ")
        french, _, bleu = rest.partition("，BLEU ")
        expected = math.exp(
            min(0, 1 - len(known[english].split()) / len(french.split()))
        )
        for k, parts in enumerate((str.split, pairs_of_tokens), 1):
            wanted, found = parts(known[english]), parts(french)
            hits = sum(min(found.count(p), wanted.count(p)) for p in set(found))
            expected *= (hits / len(found)) ** 0.5**k
        assert bleu == f"{expected:.3f}"


def test_wrong_translations_that_are_shown_are_what_is_missing_to_100_percent(
    untrained,
):
    train, held_out, _, *wrong = NOTEBOOK.printed("score").splitlines()
    assert float(train[len("训练集：完全正确") :].partition("%")[0]) > 99
    known = dict(untrained["data"].held_out)
    for line in wrong:
        english, _, rest = line.partition(" => ")
        found, _, right = rest.rstrip("）").partition("（应为")
        assert known[english] == right != found
    exact = 1 - len(wrong) / len(known)
    assert held_out.startswith(f"没有见过的：完全正确{exact:.1%}") and exact > 0.95


def test_stored_parameters_are_compared_one_by_one(untrained, capsys):
    untrained["net"] = net = untrained["build_net"]()
    net.set_state_dict(translation.trained_transformer(untrained["data"]).state_dict())
    count = sum(1 for _ in net.parameters())
    capsys.readouterr()
    exec(NOTEBOOK.source("stored-check"), untrained)
    expected = f"{count}组参数，全都相同：True\n"
    assert capsys.readouterr().out == expected == NOTEBOOK.printed("stored-check")
    last = net.parameters()[-1]  # one number, by one step of the grid
    last.set_value(last.numpy() + np.eye(50)[7] * 2**-20)
    exec(NOTEBOOK.source("stored-check"), untrained)
    assert capsys.readouterr().out.endswith("全都相同：False\n")


def test_why_70_and_80_are_hard_is_as_described(untrained):
    for number, count in [("seventy", 26), ("eighty", 27)]:
        sentences = [e.split() for e, _ in untrained["data"].train]
        assert sum(number in words for words in sentences) == count
        assert sum(number == words[-1] for words in sentences) == 2


def test_loss_fell():
    first, last = NOTEBOOK.printed("train").strip().split("，")
    assert float(first[-5:]) > 3 and float(last[-5:]) < 0.1


def test_alignment_is_as_described():
    *lines, padding = NOTEBOOK.printed("alignment").splitlines()
    assert [line.partition("，")[0] for line in lines] == [
        "samedi <- saturday",
        "dix <- nineteenth",
        "neuf <- nineteenth",
        "octobre <- october",
        "<eos> <- <eos>",
    ]
    assert all(float(line.partition("，")[2]) > 0.7 for line in lines)
    assert padding.endswith("True")


def test_counts_of_parameters():
    """Block by block, for d = 32, a hidden layer of 64, vocabularies of 73 and 50."""
    encoder_block = 4 * 32**2 + (32 * 64 + 64) + (64 * 32 + 32) + 2 * 64
    decoder_block = 8 * 32**2 + (32 * 64 + 64) + (64 * 32 + 32) + 3 * 64
    rest = (73 + 50) * 32 + 32 * 50 + 50
    lines = NOTEBOOK.printed("exercise-1-depths").splitlines()
    for depth, line in zip((1, 2, 4), lines):
        count = depth * (encoder_block + decoder_block) + rest
        assert line.startswith(f"{depth}层：参数{count}个")


def test_costs_and_windows():
    intermediate = NOTEBOOK.printed("exercise-2-training").splitlines()[1]
    numbers = 64 * 4 * 10 * 10
    assert intermediate.endswith(f"点积{numbers}个数，加性{numbers * 8}个数")
    lines = NOTEBOOK.printed("exercise-4-table").splitlines()
    for n, line in zip((10**2, 10**3, 10**4, 10**5), lines):
        products, linear = 2 * n**2 * 512, 4 * n * 512**2
        assert f"乘加{products + linear:.1e}次" in line
        assert f"占{products / (products + linear):.0%}" in line
        assert line.endswith(f"权重占{8 * n**2 * 4 / 1024**2:.1f} MB")
    window = NOTEBOOK.printed("exercise-5-window").splitlines()
    scores = sum(min(i + 3, 40) - max(i - 3, 0) + 1 for i in range(41))
    for depth, line in enumerate(window, 1):
        assert f"看到{2 * 3 * depth + 1}个词元" in line
        assert line.endswith(f"计算{scores}个得分，全部是{41**2}个")


COUNT = "d2 = d * d\nblock = {} * d2 + 4 * d * ffn + 2 * ffn + 2 * d + 10 * d\n"
LM = (
    "lens = paddle.arange({}, X.shape[1] + {}).tile((X.shape[0], 1))\n"
    "Y = {}\nfor blk in self.blks:\n    Y = blk(Y, lens)\nreturn self.dense(Y)"
)
EMBED = "self.pos_encoding(self.embedding(X) * math.sqrt(self.d))"
ADDITIVE = (
    "for layer in net.sublayers():\n"
    "    if isinstance(layer, d2l.MultiHeadAttention){}:\n"
    "        layer.attention = d2l.AdditiveAttention(8, 8, {}, {})"
)
LINEAR = "A = phi(Q) @ phi(K).T\nreturn A / A.sum(axis=1, keepdims=True) @ V"
RIGHT = [
    (1, COUNT.format(12) + "return num_layers * block + (src_size + tgt_size) * d "
        "+ tgt_size * (d + 1)"),
    (2, ADDITIVE.format("", "8", "dropout")),
    (3, "state = [self.embedding(X[:, :1]), None]\n" + LM.format(1, 1, EMBED)),
    # Those before it only: it sees itself through the residual connection.
    (3, LM.format(0, 0, EMBED)),
    (4, "p = d // num_heads\nper_head = 3 * n * d * p + 2 * n * n * p\n"
        "return num_heads * per_head + n * d * d, num_heads * n ** 2"),
    (5, "total, norm = 0, 0\nfor k, v in zip(phi(K), V):\n"
        "    total, norm = total + np.outer(k, v), norm + k\n"
        "return (phi(Q) @ total) / (phi(Q) @ norm).reshape(-1, 1)"),
    (6, "b, c, h, w = images.shape\n"
        "parts = [images[:, :, i:i + size, j:j + size].reshape((b, -1))\n"
        "         for i in range(0, h, size) for j in range(0, w, size)]\n"
        "return paddle.stack(parts, axis=1)"),
]  # fmt: skip
WRONG = [
    (1, "pass"),
    (1, COUNT.format(8) + "return num_layers * block + (src_size + tgt_size) * d "
        "+ tgt_size * (d + 1)"),
    (1, COUNT.format(12) + "return num_layers * block + (src_size + tgt_size) * d"),
    (2, "pass"),
    (2, ADDITIVE.format(" and layer is not net.decoder.blks[0].attention2",
                        "8", "dropout")),
    (2, ADDITIVE.format("", "32", "dropout")),
    (2, ADDITIVE.format("", "8", "0")),
    (2, "one = d2l.AdditiveAttention(8, 8, 8, dropout)\n"
        + ADDITIVE.format("", "8", "dropout") + "\n        layer.attention = one"),
    (3, "pass"),
    (3, LM.format(1, 1, EMBED).replace("blk(Y, lens)", "blk(Y, None)")),
    (3, LM.format(2, 2, EMBED)),
    (3, "return self.dense(self.pos_encoding(self.embedding(X)))"),
    (3, LM.format(1, 1, "self.embedding(X)")),
    (3, LM.format(1, 1, "self.embedding(X)").replace("in self.blks", "in [self.blks[0]]")),
    (4, "pass"),
    (4, "return 3 * n * d * d + 2 * n * n * d, num_heads * n * n"),
    (4, "return 4 * n * d * d + 2 * n * n * d, n * n"),
    (4, "return 4 * n * d * d + 2 * num_heads * n * n * d, num_heads * n * n"),
    (5, "pass"),
    (5, LINEAR),
    (5, "return phi(Q) @ (phi(K).T @ V)"),
    (5, "return Q @ (K.T @ V) / (Q @ K.sum(axis=0))[:, np.newaxis]"),
    (6, "pass"),
    (6, "return images.reshape((images.shape[0], -1, images.shape[1] * size * size))"),
    (6, "return nn.functional.unfold(images, size, strides=size)"),
]  # fmt: skip


class TestExercises:
    @pytest.mark.parametrize("number", range(1, 7))
    def test_own_solution_passes(self, untrained, number):
        NOTEBOOK.exercise(number, untrained)

    @pytest.mark.parametrize("number, body", RIGHT)
    def test_another_right_answer_passes(self, untrained, number, body):
        NOTEBOOK.exercise(number, untrained, body)

    @pytest.mark.parametrize("number, body", WRONG)
    def test_wrong_answer_fails(self, untrained, number, body):
        with pytest.raises((AssertionError, AttributeError, TypeError, ValueError)):
            NOTEBOOK.exercise(number, untrained, body)


def test_several_devices_as_the_example_says():
    """tests/test_several_devices.py runs it; here, that the notebook says the same."""
    assert NOTEBOOK.printed("gradients-add-up").endswith("： True\n")
    script = (FOLDER.parent / "examples" / "several_devices.py").read_text("utf-8")
    text = NOTEBOOK.source("launcher")
    command = re.search(r"```bash\n(.*)\n```", text)[1]
    assert command in script
    python = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    for line in filter(None, python.splitlines()):
        assert line in script
