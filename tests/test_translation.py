"""The corpus of 10.4 and 10.7, how they train and translate, and the progress bar."""

import math

import nbformat
import numpy as np
import paddle
import pytest

import d2l_ext
from d2l_ext import translation
from d2l_ext.progress import progress
from tests.kernel import run_cells
from tests.notebooks import Notebook

STEPS = 10


@pytest.fixture
def d2l():
    return d2l_ext.patch_d2l()


def network(d2l, data, size=11, dropout=0.1, seed=0):
    np.random.seed(seed)
    paddle.seed(seed)
    encoder = d2l.Seq2SeqEncoder(len(data.src_vocab), size, size, 2, dropout)
    decoder = d2l_ext.Seq2SeqAttentionDecoder(
        len(data.tgt_vocab), size, size, 2, dropout
    )
    return d2l.EncoderDecoder(encoder, decoder)


class TestCorpus:
    def test_is_what_the_tool_makes(self, tmp_path, monkeypatch, capsys):
        pytest.importorskip("num2words")
        pytest.importorskip("babel")
        import make_corpus

        stored = make_corpus.DATA
        monkeypatch.setattr(make_corpus, "DATA", tmp_path)
        make_corpus.main()
        names = {file.name for file in stored.glob("*.tsv")}
        assert {file.name for file in tmp_path.iterdir()} == names
        for name in names:
            assert (tmp_path / name).read_bytes() == (stored / name).read_bytes()
        assert "train: 1200 pairs" in capsys.readouterr().out

    def test_nothing_that_is_held_out_is_trained_on(self):
        data = translation.load_data_nmt(64, STEPS, 1200)
        assert (len(data.train), len(data.held_out)) == (1200, 300)
        for side in 0, 1:
            held_out = {pair[side] for pair in data.held_out}
            assert not held_out & {pair[side] for pair in data.train}
        assert len({*data.train, *data.held_out}) == 1500

    def test_half_are_dates_in_both_parts(self):
        data = translation.load_data_nmt(64, STEPS, 1200)
        for part in data.train, data.held_out:
            days = [english.split()[0].endswith("day") for english, _ in part]
            assert sum(days) * 2 == len(days)

    @pytest.mark.parametrize(
        "english, french",
        [
            ("wednesday october seventh", "mercredi sept octobre"),
            ("monday august first", "lundi premier août"),
            ("eighty one", "quatre vingt un"),
            ("two hundred and seventy one", "deux cent soixante et onze"),
            ("five hundred and ninety", "cinq cent quatre vingt dix"),
        ],
    )
    def test_known_translations(self, english, french):
        data = translation.load_data_nmt(64, STEPS, 1200)
        assert dict(data.train + data.held_out)[english] == french

    def test_held_out_words_are_known_and_sentences_fit(self):
        data = translation.load_data_nmt(64, STEPS, 1200)
        for side, vocab in enumerate([data.src_vocab, data.tgt_vocab]):
            for pair in data.train + data.held_out:
                tokens = pair[side].split(" ")
                assert len(tokens) < STEPS
                # "zero" stands in one sentence only, which is too few for a vocabulary.
                known = vocab["<unk>"] not in vocab[tokens]
                assert known or (pair in data.train and tokens[0] in ("zero", "zéro"))


class TestLoader:
    @pytest.mark.parametrize(
        "arguments, message",
        [
            ((64, STEPS, 600, "eng-fra"), "corpus must be one of"),
            ((64, STEPS, 600, ["fra-eng"]), "corpus must be one of"),
            (
                (64, STEPS, 1201),
                "num_examples must be at most 1200 with this corpus, got 1201",
            ),
            ((0, STEPS), "batch_size must be"),
            ((64, 0), "num_steps must be"),
            ((64, STEPS, 0), "num_examples must be"),
        ],
    )
    def test_wrong_arguments(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            translation.load_data_nmt(*arguments)

    @pytest.mark.parametrize("num_examples, held_out", [(1, 1), (7, 3), (600, 300)])
    def test_sizes(self, num_examples, held_out):
        data = translation.load_data_nmt(5, STEPS, num_examples)
        assert (len(data.train), len(data.held_out)) == (num_examples, held_out)
        assert sum(len(batch[0]) for batch in data.train_iter) == num_examples

    def test_arrays_are_the_sentences(self):
        data = translation.load_data_nmt(5, STEPS, 7)
        found = set()
        for X, X_lens, Y, Y_lens in data.train_iter:
            for x, n, y, m in zip(
                X.tolist(), X_lens.tolist(), Y.tolist(), Y_lens.tolist()
            ):
                pair = data.src_vocab.to_tokens(x), data.tgt_vocab.to_tokens(y)
                assert pair[0][n - 1] == pair[1][m - 1] == "<eos>"
                assert {*pair[0][n:], *pair[1][m:]} <= {"<pad>"}
                found.add((n, m))
        lengths = {(len(e.split()) + 1, len(f.split()) + 1) for e, f in data.train}
        assert found == lengths

    def test_the_book_s_sentences(self, d2l, monkeypatch):
        text = (
            "Go.\tVa !\nI won!\tJ'ai gagné !\nHe's calm.\tIl est calme.\nHi.\tSalut !\n"
        )
        monkeypatch.setattr(d2l, "read_data_nmt", lambda: text)
        data = translation.load_data_nmt(2, STEPS, 2, "fra-eng")
        assert data.train == [("go .", "va !"), ("i won !", "j'ai gagné !")]
        assert data.held_out == [("he's calm .", "il est calme .")]

    def test_nothing_of_the_book_s_sentences_is_in_both_parts(self, d2l, monkeypatch):
        """There an English sentence has several lines, and so has a French one."""
        text = (
            "Go.\tVa !\nHi.\tSalut !\nRun!\tCours !\nRun!\tFuyez !\nHello.\tSalut !\n"
            "Who?\tQui ?\nFire!\tAu feu !\nHelp!\tÀ l'aide !\n"
        )
        monkeypatch.setattr(d2l, "read_data_nmt", lambda: text)
        data = translation.load_data_nmt(2, STEPS, 3, "fra-eng")
        assert data.train == [
            ("go .", "va !"),
            ("hi .", "salut !"),
            ("run !", "cours !"),
        ]
        assert data.held_out == [("who ?", "qui ?")]
        data = translation.load_data_nmt(2, STEPS, 1, "fra-eng")
        assert data.held_out == [("hi .", "salut !")]
        data = translation.load_data_nmt(2, STEPS, 7, "fra-eng")
        assert data.held_out == [("help !", "à l'aide !")]
        for num_examples in 8, 600:
            with pytest.raises(
                ValueError, match="num_examples must be at most 7 with this"
            ):
                translation.load_data_nmt(2, STEPS, num_examples, "fra-eng")

    @pytest.mark.parametrize("line", ["<html>", "", "Who?\u2028\tQui ?\tCC-BY 2.0"])
    def test_lines_of_another_form(self, d2l, monkeypatch, line):
        text = f"Go.\tVa !\n{line}\nHelp!\tÀ l'aide !\n"
        monkeypatch.setattr(d2l, "read_data_nmt", lambda: text)
        data = translation.load_data_nmt(2, STEPS, 1, "fra-eng")
        assert data.train == [("go .", "va !")]
        (pair,) = data.held_out
        assert len(pair) == 2 and pair[1] in ("qui ?", "à l'aide !")

    @pytest.mark.parametrize(
        "error", [ConnectionResetError, TimeoutError, OSError, ValueError]
    )
    def test_failed_download_says_what_to_do(self, d2l, monkeypatch, error):
        def read():
            raise error("no route")

        monkeypatch.setattr(d2l, "read_data_nmt", read)
        with pytest.raises(ConnectionError) as caught:
            translation.load_data_nmt(2, STEPS, 2, "fra-eng")
        message = str(caught.value)
        assert "no route" in message and "Try again later" in message
        assert "corpus='numbers'" in message


class Constant(paddle.nn.Layer):
    """Gives each target token the same scores, whatever the source."""

    def __init__(self, scores):
        super().__init__()
        self.scores = self.create_parameter([len(scores)])
        self.scores.set_value(np.asarray(scores))
        self.inputs = []

    def forward(self, X, dec_input, X_valid_len):
        self.inputs.append(dec_input.tolist())
        return self.scores.expand([*dec_input.shape, len(self.scores)]), None


@pytest.mark.usefixtures("double_precision")
class TestTraining:
    def test_loss_is_the_mean_over_tokens_that_are_no_padding(self):
        data = translation.load_data_nmt(5, STEPS, 17)
        scores = np.random.default_rng(0).standard_normal(len(data.tgt_vocab))
        net = Constant(scores)
        losses = translation.train_seq2seq(
            net, data.train_iter, 1e-12, 2, data.tgt_vocab
        )
        log_p = scores - math.log(np.exp(scores).sum())
        tokens = [
            token for _, french in data.train for token in [*french.split(" "), "<eos>"]
        ]
        expected = -np.mean([log_p[data.tgt_vocab[token]] for token in tokens])
        np.testing.assert_allclose(losses, [expected] * 2, rtol=1e-9)

    def test_decoder_sees_the_target_one_token_later(self):
        data = translation.load_data_nmt(5, STEPS, 5)
        net = Constant(np.zeros(len(data.tgt_vocab)))
        batches = [next(iter(data.train_iter))]
        translation.train_seq2seq(net, batches, 0.1, 1, data.tgt_vocab)
        target = batches[0][2].tolist()
        bos = data.tgt_vocab["<bos>"]
        assert net.inputs == [[[bos, *row[:-1]] for row in target]]

    def test_step_is_adam_with_a_clipped_gradient(self):
        data = translation.load_data_nmt(5, STEPS, 5)
        batches = [next(iter(data.train_iter))]
        scores = np.random.default_rng(1).standard_normal(len(data.tgt_vocab))
        net = Constant(scores)
        translation.train_seq2seq(net, batches * 2, 0.01, 1, data.tgt_vocab)
        Y, lens = batches[0][2].numpy(), batches[0][3].numpy()
        first, second = np.zeros_like(scores), np.zeros_like(scores)
        for t in 1, 2:
            p = np.exp(scores) / np.exp(scores).sum()
            one_hot = np.eye(len(p))
            g = sum(p - one_hot[y] for row, n in zip(Y, lens) for y in row[:n]) / STEPS
            g /= max(1, np.sqrt((g**2).sum()))
            first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g**2
            step = first / (1 - 0.9**t) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
            scores = scores - 0.01 * step
        np.testing.assert_allclose(net.scores.numpy(), scores, rtol=0, atol=1e-6)

    def test_an_integer_will_do_for_the_learning_rate(self):
        data = translation.load_data_nmt(5, STEPS, 5)
        net = Constant(np.zeros(len(data.tgt_vocab)))
        translation.train_seq2seq(net, data.train_iter, 1, 1, data.tgt_vocab)
        # Adam's first step is the learning rate, up or down.
        np.testing.assert_allclose(np.abs(net.scores.numpy()).max(), 1, rtol=1e-3)

    @pytest.mark.parametrize("grid", [0, -1, float("nan")])
    def test_wrong_grid(self, grid):
        data = translation.load_data_nmt(5, STEPS, 5)
        net = Constant(np.zeros(len(data.tgt_vocab)))
        with pytest.raises(
            ValueError, match=f"grid must be greater than 0, got {grid}"
        ):
            translation.train_seq2seq(
                net, data.train_iter, 1.0, 1, data.tgt_vocab, grid
            )

    def test_same_seed_gives_the_same_losses(self, d2l):
        data = translation.load_data_nmt(16, STEPS, 40)

        def losses(seed):
            net = network(d2l, data, seed=seed)
            return translation.train_seq2seq(
                net, data.train_iter, 0.01, 3, data.tgt_vocab
            )

        first = losses(3)
        assert losses(3) == first != losses(4)
        assert first[-1] < first[0]


@pytest.mark.usefixtures("double_precision")
class TestGrid:
    GRID = 2**-16

    @staticmethod
    def trained(d2l, grid, noise, monkeypatch):
        """The parameters after training in which each step is off by a last bit."""
        data = translation.load_data_nmt(16, STEPS, 48)
        net = network(d2l, data)
        rng, right = np.random.default_rng(5), paddle.optimizer.Adam.step

        def step(optimizer):
            right(optimizer)
            for p in net.parameters():
                off = 1 + noise * rng.standard_normal(p.shape)
                p.set_value(p.numpy() * off)

        monkeypatch.setattr(paddle.optimizer.Adam, "step", step)
        losses = translation.train_seq2seq(
            net, data.train_iter, 0.01, 4, data.tgt_vocab, grid
        )
        monkeypatch.undo()
        assert losses[-1] < losses[0]
        return [p.numpy() for p in net.parameters()]

    def test_takes_away_what_differs_between_processors(self, d2l, monkeypatch):
        plain, noisy = (
            self.trained(d2l, self.GRID, noise, monkeypatch) for noise in (0, 1e-15)
        )
        for one, other in zip(plain, noisy):
            np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(one, np.round(one / self.GRID) * self.GRID)

    def test_without_it_the_difference_stays(self, d2l, monkeypatch):
        plain, noisy = (
            self.trained(d2l, None, noise, monkeypatch) for noise in (0, 1e-15)
        )
        assert any((one != other).any() for one, other in zip(plain, noisy))


@pytest.mark.usefixtures("double_precision")
class TestTranslation:
    @pytest.fixture
    def trained(self, d2l):
        data = translation.load_data_nmt(16, STEPS, 64)
        net = network(d2l, data, size=16)
        translation.train_seq2seq(net, data.train_iter, 0.01, 25, data.tgt_vocab)
        return net, data

    def test_is_the_book_s_prediction_one_by_one(self, d2l, trained):
        net, data = trained
        sentences = [english for english, _ in data.held_out[:20]]
        found = translation.translate(net, sentences, data, STEPS)
        vocabs = data.src_vocab, data.tgt_vocab
        expected = [
            d2l.predict_seq2seq(net, sentence, *vocabs, STEPS, "cpu")[0]
            for sentence in sentences
        ]
        assert found == expected and len({*found}) > 5

    def test_is_not_longer_than_num_steps(self, d2l):
        data = translation.load_data_nmt(16, STEPS, 64)
        net = network(d2l, data)
        net.decoder.dense.bias.set_value(np.eye(len(data.tgt_vocab))[5] * 100)
        found = translation.translate(net, ["twenty five", "one"], data, 7)
        assert found == [" ".join([data.tgt_vocab.to_tokens(5)] * 7)] * 2

    @pytest.mark.parametrize(
        "sentences, num_steps, error, message",
        [
            ("eighty one", 7, TypeError, "sentences must be a list of texts, got str"),
            ([3], 7, TypeError, "sentences must be a list of texts, got list"),
            (["one"], 0, ValueError, "num_steps must be at least 1, got 0"),
        ],
    )
    def test_wrong_arguments(self, d2l, sentences, num_steps, error, message):
        data = translation.load_data_nmt(16, STEPS, 64)
        net = network(d2l, data)
        with pytest.raises(error, match=message):
            translation.translate(net, sentences, data, num_steps)

    def test_nothing_to_translate(self, d2l):
        data = translation.load_data_nmt(16, STEPS, 64)
        assert translation.translate(network(d2l, data), [], data, STEPS) == []
        with pytest.raises(ValueError, match="pairs must hold at least 1 pair, got 0"):
            translation.score(network(d2l, data), [], data, STEPS)

    def test_any_sentence_will_do(self, d2l):
        data = translation.load_data_nmt(16, STEPS, 64)
        net = network(d2l, data)
        sentences = ["", "xyz", "one " * 50, "one"]
        found = translation.translate(net, tuple(sentences), data, 7)
        alone = [translation.translate(net, [s], data, 7)[0] for s in sentences]
        assert found == alone

    def test_without_dropout(self, trained):
        net, data = trained
        sentences = [english for english, _ in data.train[:7]]
        first = translation.translate(net, sentences, data, STEPS)
        net.train()
        assert translation.translate(net, sentences, data, STEPS) == first


class TestTrainedTransformer:
    @pytest.fixture
    def data(self):
        return translation.load_data_nmt(64, STEPS)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_translates_what_was_held_out_as_10_7_says(self, data, dtype):
        before = paddle.get_default_dtype()
        paddle.set_default_dtype(dtype)
        try:
            net = translation.trained_transformer(data)
        finally:
            paddle.set_default_dtype(before)
        assert not net.training and {p.dtype for p in net.parameters()} == {
            getattr(paddle, dtype)
        }
        exact, mean = translation.score(net, data.held_out, data, STEPS)
        assert exact == 298 / 300
        printed = Notebook("10-7-transformer.ipynb").printed("score")
        assert f"没有见过的：完全正确{exact:.1%}，BLEU {mean:.3f}\n" in printed

    @pytest.mark.usefixtures("double_precision")
    def test_parameters_are_on_the_grid_on_which_10_7_trains(self, data):
        assert "grid=2**-20" in Notebook("10-7-transformer.ipynb").source("train")
        for p in translation.trained_transformer(data).parameters():
            steps = p.numpy() * 2**20
            np.testing.assert_array_equal(steps, np.round(steps))

    def test_each_call_gives_a_net_of_its_own(self, data):
        one, other = (translation.trained_transformer(data) for _ in range(2))
        one.parameters()[0].set_value(paddle.zeros_like(one.parameters()[0]))
        assert other.parameters()[0].abs().sum().item() > 1

    @pytest.mark.parametrize(
        "data, error, message",
        [
            (
                None,
                TypeError,
                "data must be from load_data_nmt, got NoneType None",
            ),
            (
                (1, 2, 3),
                TypeError,
                r"data must be from load_data_nmt, got tuple \(1, 2, 3\)",
            ),
            (
                translation.load_data_nmt(64, STEPS, 1200),
                ValueError,
                r"data must have the src_vocab of load_data_nmt\(64, 10\), 73 tokens, "
                "got another one with 74",
            ),
        ],
    )
    def test_wrong_calls(self, data, error, message):
        with pytest.raises(error, match=f"^{message}$"):
            translation.trained_transformer(data)

    def test_another_order_of_the_tokens_is_noticed(self, data):
        data.tgt_vocab.idx_to_token[7:9] = data.tgt_vocab.idx_to_token[8:6:-1]
        with pytest.raises(ValueError, match="tgt_vocab .* 50 tokens, got another one"):
            translation.trained_transformer(data)


def test_what_is_stored_is_what_10_7_has_trained():
    """A cell of it compares them on every run; training takes too long for a test."""
    notebook = Notebook("10-7-transformer.ipynb")
    order = [cell.id for cell in notebook.code]
    assert order.index("train") < order.index("stored-check")
    assert not any(
        "net = " in notebook.source(cell)
        for cell in order[order.index("train") + 1 : order.index("stored-check")]
    )
    assert notebook.printed("stored-check").endswith("全都相同：True\n")


def test_tool_stores_what_the_cells_up_to_training_define(tmp_path, monkeypatch):
    import make_transformer

    cells = [
        nbformat.v4.new_markdown_cell("# text"),
        nbformat.v4.new_code_cell(
            "class Vocab:\n    idx_to_token = ['<unk>', 'août']\n"
            "src_vocab = tgt_vocab = Vocab()"
        ),
        nbformat.v4.new_code_cell(
            "import paddle\nnet = paddle.nn.Linear(3, 2)\nfor p in net.parameters():\n"
            "    p.set_value(paddle.round(p * 2**20) / 2**20)",
            id="train",
        ),
        nbformat.v4.new_code_cell("1 / 0"),
    ]
    notebook = tmp_path / "a.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), notebook)
    monkeypatch.setattr(make_transformer, "ROOT", tmp_path)
    monkeypatch.setattr(make_transformer, "NOTEBOOK", notebook)
    monkeypatch.setattr(make_transformer, "TARGET", tmp_path / "b.npz")
    make_transformer.main()
    first = (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "b.npz") as arrays:
        assert arrays["src_vocab"].tolist() == ["<unk>", "août"]
        assert arrays["weight"].shape == (3, 2) and arrays["weight"].dtype == "float32"
    del cells[2]["id"]
    cells[2]["id"] = "other"
    del cells[3]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), notebook)
    with pytest.raises(LookupError, match="a.ipynb has no cell with the id 'train'"):
        make_transformer.main()
    assert (tmp_path / "b.npz").read_bytes() == first


def test_score_by_hand(monkeypatch):
    pairs = [("a", "un deux trois"), ("b", "un deux trois quatre"), ("c", "cinq")]
    found = ["un deux trois", "un trois quatre", "six"]
    monkeypatch.setattr(translation, "translate", lambda *arguments: found)
    # The second: 3 words of 3 are right, and 1 pair of 2; one word is missing.
    second = math.exp(1 - 4 / 3) * 1**0.5 * (1 / 2) ** 0.25
    exact, mean = translation.score(None, pairs, None, STEPS)
    assert exact == 1 / 3 and math.isclose(mean, (1 + second + 0) / 3)


class TestProgress:
    def test_gives_every_item_once(self):
        assert [*progress([3, 5, 7])] == [3, 5, 7]
        assert [*progress(range(0))] == []

    def test_any_iterable_will_do(self):
        assert [*progress(iter("abc"))] == [*"abc"]

    def test_shows_nothing_without_a_browser(self):
        assert (
            run_cells(PROGRESS.format("environ.pop('JPY_SESSION_NAME', None)"))[0] == []
        )

    def test_shows_a_bar_in_jupyterlab(self):
        cell = PROGRESS.format("environ['JPY_SESSION_NAME'] = 'x.ipynb'")
        begun = cell.replace("list(items)", "next(items), next(items)")
        whole, part = run_cells(cell, begun)
        (bar,) = whole
        assert bar.data == {}  # drawn, and emptied at the end
        (bar,) = part
        assert bar.data["text/html"] == "<progress value='1' max='3'></progress> 1 / 3"

    def test_leaves_what_the_cell_has_printed(self):
        cell = PROGRESS.format("environ['JPY_SESSION_NAME'] = 'x.ipynb'")
        (outputs,) = run_cells(f"print(7)\n{cell}\nprint(11)\n{cell}\nprint(13)")
        printed = [o.text for o in outputs if o.output_type == "stream"]
        assert "".join(printed) == "7\n11\n13\n"

    def test_vanishes_when_the_loop_is_left(self):
        cell = PROGRESS.format("environ['JPY_SESSION_NAME'] = 'x.ipynb'")
        (bar,) = run_cells(
            cell.replace("done = list(items)", "next(items); items.close()")
        )[0]
        assert bar.data == {}

    def test_is_drawn_once_for_each_item_and_emptied_once(self, monkeypatch):
        from d2l_ext import progress as module

        drawn = []

        class Bar:
            def update(self, html, raw=False):
                drawn.append(html if raw else html.data)

        monkeypatch.setattr(module, "_is_watched", lambda: True)
        monkeypatch.setattr(module, "_bar", Bar)
        assert [*progress(range(5))] == [*range(5)]
        assert len(drawn) == 6 and drawn[-1] == {} and "4 / 5" in drawn[-2]


PROGRESS = """import os
os.{}
from d2l_ext.progress import progress
items = progress(range(3))
done = list(items)"""
