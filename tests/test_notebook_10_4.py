"""Section 10.4: the notebook against the book's outline, and its numbers a second way."""

import math
import re
import time
from collections import Counter

import numpy as np
import paddle
import pytest

import d2l_ext
from d2l_ext import translation
from tests import reference
from tests.notebooks import Notebook

NOTEBOOK = Notebook("10-4-bahdanau-attention.ipynb")
PAIRS, STEPS = 1200, 10


@pytest.fixture(autouse=True)
def as_in_the_notebook(double_precision):
    """Its first cell says so."""
    assert "paddle.set_default_dtype('float64')" in NOTEBOOK.source("imports")


@pytest.fixture
def saved():
    """What the notebook defines before it trains."""
    names = {
        "d2l": d2l_ext.patch_d2l(),
        "d2l_ext": d2l_ext,
        "nn": paddle.nn,
        "np": np,
        "paddle": paddle,
        "time": time,
    }
    for cell in ("attention-decoder", "seq2seq-decoder", "seq2seq-forward", "smoke"):
        exec(NOTEBOOK.source(cell), names)
    return names


@pytest.fixture(scope="module")
def data():
    return translation.load_data_nmt(64, STEPS, PAIRS)


def test_headings_equation_and_figure_stand_in_the_book_s_order():
    headings = [h for h in NOTEBOOK.headings() if not h.startswith("###")]
    assert headings == [
        "# 10.4 Bahdanau注意力",
        "## 模型",
        "## 定义注意力解码器",
        "## 训练",
        "## 小结",
        "## 练习",
        "## 参考文献",
    ]
    order = NOTEBOOK.places(r"\tag{10.4.1}", "**图10.4.1**", "## 训练", "## 小结")
    assert order == sorted(order)


def test_every_reference_is_cited_and_listed():
    cited, listed = NOTEBOOK.references()
    assert cited == listed and listed == {*range(1, len(listed) + 1)}


def test_code_is_short_and_narrow():
    NOTEBOOK.check_style()


def test_settings_are_the_book_s():
    source = NOTEBOOK.source("data") + NOTEBOOK.source("train")
    for line in (
        "batch_size, num_steps, num_examples = 64, 10, 1200",
        "embed_size, num_hiddens, num_layers, dropout = 32, 32, 2, 0.1",
        "lr, num_epochs, grid = 0.005, 250, 2 ** -16",
    ):
        assert line in source


def test_shapes_of_the_small_example():
    lines = NOTEBOOK.printed("smoke").splitlines()
    assert [line.partition("：")[2].strip() for line in lines] == [
        "[4, 7, 10]",
        "3",
        "[4, 7, 16]",
        "2 每层的隐状态： [4, 16]",
    ]


def test_weights_of_the_first_step(saved):
    rng = np.random.default_rng(0)
    H, s = rng.standard_normal((1, 7, 16)), rng.standard_normal((2, 1, 16))
    W_k, W_q, w_v = (p.numpy() for p in saved["decoder"].attention.parameters())
    _, weights = reference.additive_attention(s[-1:], H, H, [5], W_q, W_k, w_v)
    by_formula, found, unchanged = NOTEBOOK.printed("formula").splitlines()
    expected = weights[0, 0].round(4).tolist()
    assert by_formula == f"公式的权重： {expected[:5]}" and expected[5:] == [0, 0]
    assert found == f"解码器的权重： {expected}"
    assert unchanged.endswith("True")


def test_class_and_the_package_s_give_the_same(saved):
    assert NOTEBOOK.printed("same").count("True") == 3
    sizes = 13, 3, 11, 3
    ours = saved["Seq2SeqAttentionDecoder"](*sizes)
    theirs = d2l_ext.Seq2SeqAttentionDecoder(*sizes)
    assert ours.state_dict().keys() == theirs.state_dict().keys()
    theirs.set_state_dict(ours.state_dict())
    rng = np.random.default_rng(2)
    enc_outputs = tuple(
        paddle.to_tensor(rng.standard_normal(shape))
        for shape in [(7, 2, 11), (3, 2, 11)]
    )
    X = paddle.to_tensor(rng.integers(0, 13, (2, 5)))
    for lens in (None, paddle.to_tensor([4, 7])):
        results = [
            layer(X, layer.init_state(enc_outputs, lens)) for layer in (ours, theirs)
        ]
        for one, other in zip(results[0][0], results[1][0]):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=0, atol=1e-12)
        for one, other in zip(ours.attention_weights, theirs.attention_weights):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=0, atol=1e-12)


def test_interface_has_no_weights_of_its_own(saved):
    with pytest.raises(NotImplementedError):
        _ = saved["AttentionDecoder"]().attention_weights


def test_data_that_are_shown(data):
    lines = NOTEBOOK.printed("data").splitlines()
    shown = [tuple(line.split(" => ")) for line in lines[:6]]
    assert shown == data.train[:3] + data.held_out[:3]
    assert re.findall(r"\d+", lines[6]) == ["1200", "300"]
    assert re.findall(r"\d+", lines[7]) == ["0"]
    sizes = [len(vocab) for vocab in (data.src_vocab, data.tgt_vocab)]
    assert [int(n) for n in re.findall(r"\d+", lines[8])] == sizes


def test_first_epoch_with_the_package_s_decoder(data):
    d2l = d2l_ext.patch_d2l()
    np.random.seed(0)
    paddle.seed(0)
    encoder = d2l.Seq2SeqEncoder(len(data.src_vocab), 32, 32, 2, 0.1)
    decoder = d2l_ext.Seq2SeqAttentionDecoder(len(data.tgt_vocab), 32, 32, 2, 0.1)
    net = d2l.EncoderDecoder(encoder, decoder)
    batches, vocab = data.train_iter, data.tgt_vocab
    (loss,) = translation.train_seq2seq(net, batches, 0.005, 1, vocab, 2**-16)
    lines = NOTEBOOK.printed("train").splitlines()
    assert lines[0] == f"第1轮，每个词元的损失：{loss:.3f}"
    losses = [float(line.partition("：")[2]) for line in lines]
    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.05
    assert loss < math.log(len(data.tgt_vocab))  # less than by guessing


def test_scores_are_parts_of_the_sentences(data):
    trained, held_out = NOTEBOOK.printed("score").splitlines()
    for line, pairs, at_least in [
        (trained, data.train, 0.99),
        (held_out, data.held_out, 0.95),
    ]:
        name, percent, mean_bleu = re.fullmatch(
            r"(..的\d+对)：完全译对([\d.]+)%，BLEU ([\d.]+)", line
        ).groups()
        assert name[2:] == f"的{len(pairs)}对" and float(percent) / 100 > at_least
        right = round(float(percent) / 100 * len(pairs))
        assert f"{right / len(pairs):.1%}" == f"{percent}%"
        assert float(percent) / 100 <= float(mean_bleu) + 0.001


def bleu_by_hand(found, wanted):
    found, wanted = found.split(), wanted.split()
    score = min(1, math.exp(1 - len(wanted) / len(found)))
    for n in (1, 2):
        grams = [Counter(zip(*(s[i:] for i in range(n)))) for s in (found, wanted)]
        score *= (
            (sum((grams[0] & grams[1]).values()) / sum(grams[0].values())) ** 0.5**n
        )
    return score


def test_bleu_of_the_translations_that_are_shown(data):
    held_out = dict(data.held_out)
    lines = NOTEBOOK.printed("translations").splitlines()
    assert len(lines) == 4
    for line in lines:
        english, french, shown = re.fullmatch(r"(.*) => (.*)，BLEU (.*)", line).groups()
        assert shown == f"{bleu_by_hand(french, held_out[english]):.3f}"


def test_none_of_the_translations_that_are_shown_is_word_by_word():
    """Each has a phrase that the text names, or is one of the two dates."""
    said = NOTEBOOK.source("weights-text")
    assert "没有一句可以逐词照译" in said and "两个日期" in said
    phrases, dates = re.findall("“([^”]*)”要说成“([^”]*)”", said), 0
    for line in NOTEBOOK.printed("translations").splitlines():
        english, french = re.match(r"(.*) => (.*)，", line).groups()
        if english.split()[0].endswith("day"):
            dates += 1
            assert english.split()[1] == "december" and french.endswith(" décembre")
        else:
            assert any(e in english and f in french for e, f in phrases), line
    assert dates == 2


def test_sentences_that_went_wrong(data):
    lines = NOTEBOOK.printed("errors").splitlines()
    held_out = NOTEBOOK.printed("score").splitlines()[1]
    assert f"完全译对{1 - len(lines) / len(data.held_out):.1%}，" in held_out
    short, answers = 0, {}
    for line in lines:
        english, found, wanted = re.fullmatch(
            r"(.*) => (.*)（应为(.*)）", line
        ).groups()
        assert dict(data.held_out)[english] == wanted != found
        short += " " not in english
        answers[english] = found, wanted
    # What the text says of single words
    assert answers["sixty"] == ("soixante et un", "soixante")
    assert answers["eighty"] == ("quatre vingt et un", "quatre vingts")
    assert answers["seventeen"] == ("dix", "dix sept")
    assert "“eighty”把“vingts”写成“vingt”，也没有停下" in NOTEBOOK.prose
    assert f"译错的{len(lines)}句中有{short}句只有一个词" in NOTEBOOK.prose
    alone = sum(" " not in english for english, _ in data.train)
    assert f"在训练集的{len(data.train)}对里只有{alone}对" in NOTEBOOK.prose
    # Nothing but "zero" is unknown, and it is in the training part, as the text says.
    words = [w for english, _ in data.train + data.held_out for w in english.split()]
    rare = {word for word, count in Counter(words).items() if count < 2}
    assert rare == {"zero"} and "zero" in dict(data.train)


def test_weights_are_of_the_last_translation():
    english, french = re.match(
        r"(.*) => (.*)，", NOTEBOOK.printed("translations").splitlines()[-1]
    ).groups()
    assert (english, french) == ("monday december sixth", "lundi six décembre")
    shape, padding = NOTEBOOK.printed("weights").splitlines()
    assert shape == f"权重的形状： {[1, 1, len(french.split()) + 1, STEPS]}"
    assert padding.endswith("True")


def test_mean_weights_show_the_order_that_is_told():
    count, *rows = NOTEBOOK.printed("mean").splitlines()
    mean = np.array([[float(x) for x in re.findall(r"[\d.]+", row)] for row in rows])
    assert mean.shape == (4, 4) and int(count.partition("个")[0]) > 90
    np.testing.assert_allclose(mean.sum(axis=1), 1, rtol=0, atol=0.021)
    weekday, day, month = mean[:3]
    assert weekday.argmax() == 0 and abs(weekday[0] - 2 / 3) < 0.02
    assert day[2] + day[3] > 0.8 and month.argmax() == 1


def test_counts_of_the_exercises():
    gru, lstm = (
        int(re.search(r"：(\d+)个参数", line)[1])
        for line in NOTEBOOK.printed("exercise-1-solution-train").splitlines()
    )
    layers = [(32, 32), (32, 32), (64, 32), (32, 32)]  # input and hidden, both halves
    one_gate = sum(32 * (size + hidden) + 2 * 32 for size, hidden in layers)
    assert lstm - gru == one_gate
    assert f"少了 {2 * 16 * 16 + 16} 个参数" in NOTEBOOK.printed("exercise-2-check")
    T, h = 10, 32
    assert f"{T * h * h + h * h + T * h}次对{T * h}次" in NOTEBOOK.prose
    others = 3 * h * 3 * h + 3 * h * 2 * h + h * 50
    assert abs(others - 17000) < 100


class TestExercises:
    @pytest.fixture
    def names(self, saved):
        exec(NOTEBOOK.source("exercise-1-given"), saved)
        return saved

    LSTM = """enc_outputs, (H, C), lens = state
seen, out = [], []
for t in range(X.shape[1]):
    x = self.embedding(X[:, t])
    c = self.attention({}[-1].unsqueeze(1), enc_outputs, enc_outputs, {})
    seen.append(self.attention.attention_weights)
    y, {} = self.rnn(paddle.concat([{}], -1).unsqueeze(0), (H, C))
    out.append(self.dense(y[0]))
self._attention_weights = seen
return paddle.stack(out, axis=1), {}"""
    FINE = "H", "lens", "(H, C)", "c[:, 0], x", "[enc_outputs, (H, C), lens]"
    RIGHT = [
        (1, LSTM.format(*FINE)),
        (1, LSTM.format(*FINE[:4], "(enc_outputs, (H, C), lens)")),
        (2, "decoder.attention = d2l_ext.DotProductAttention(dropout)\nreturn decoder"),
    ]  # fmt: skip
    WRONG = [
        (1, "pass"),
        (1, LSTM.format("C", *FINE[1:])),
        (1, LSTM.format("H", "None", *FINE[2:])),
        (1, LSTM.format("H", "lens", "_", *FINE[3:])),
        (1, LSTM.format("H", "lens", "(H, _)", *FINE[3:])),
        (1, LSTM.format(*FINE[:3], "x, x, x, x, x[:, :0]", FINE[4])),
        (1, LSTM.format(*FINE[:3], "c[:, 0], x * 0", FINE[4])),
        (1, LSTM.format(*FINE[:3], "c[:, 0] * 0, x", FINE[4])),
        (1, LSTM.format(*FINE[:4], "state")),
        (2, "pass"),
        (2, "return decoder"),
        (2, "decoder.attention = d2l.AdditiveAttention(16, 16, 16, 0)\nreturn decoder"),
        (2, "decoder.attention = d2l.DotProductAttention(0)\nreturn decoder"),
        (2, "decoder.product = d2l.DotProductAttention(dropout)\nreturn decoder"),
        (2, "class Plain(nn.Layer):\n"
            "    def forward(self, q, k, v, lens):\n"
            "        s = paddle.bmm(q, k.transpose([0, 2, 1]))\n"
            "        self.attention_weights = d2l.masked_softmax(s, lens)\n"
            "        return paddle.bmm(self.attention_weights, v)\n"
            "decoder.attention = Plain()\nreturn decoder"),
    ]  # fmt: skip

    @pytest.mark.parametrize("number", [1, 2])
    def test_own_solution_passes(self, names, number):
        NOTEBOOK.exercise(number, names)

    @pytest.mark.parametrize("number, body", RIGHT)
    def test_another_right_answer_passes(self, names, number, body):
        NOTEBOOK.exercise(number, names, body)

    @pytest.mark.parametrize("number, body", WRONG)
    def test_wrong_answer_fails(self, names, number, body):
        errors = AssertionError, AttributeError, NameError, TypeError, ValueError
        with pytest.raises(errors):
            NOTEBOOK.exercise(number, names, body)
