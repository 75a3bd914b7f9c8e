"""What the book's cells of chapter 10 ask of d2l, section by section.

The cells are our own, and small; the calls, their arguments and the shapes are the
book's. On Paddle 3 each of them fails, or is silently wrong, without patch_d2l().
"""

import math

import matplotlib
import numpy as np
import paddle
import pytest
from paddle import nn

import d2l_ext

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def d2l():
    module = d2l_ext.patch_d2l()
    yield module
    module.plt.close("all")


def sizes(*tensors):
    return [tuple(t.shape) for t in tensors]


def test_10_1_identity_as_weights(d2l):
    weights = paddle.eye(10).reshape((1, 1, 10, 10))
    axes = d2l.show_heatmaps(weights, xlabel="Keys", ylabel="Queries")
    assert (axes[0, 0].images[0].get_array() == np.eye(10)).all()


def test_10_2_kernel_regression(d2l):
    x_train = paddle.sort(paddle.rand((50,)) * 5)
    y_train = 2 * paddle.sin(x_train) + x_train**0.8
    x_test = paddle.arange(0, 5, 0.1, dtype="float32")
    distances = x_test.unsqueeze(1) - x_train.unsqueeze(0)
    weights = nn.functional.softmax(-(distances**2) / 2, axis=1)
    y_hat = d2l.matmul(weights, y_train)
    axes = d2l.plot(
        x_test, [y_train, y_hat], "x", "y", legend=["Truth", "Pred"], xlim=[0, 5]
    )
    d2l.plt.plot(x_train, y_train, "o", alpha=0.5)
    assert [len(line.get_xdata()) for line in axes.lines] == [50, 50, 50]
    d2l.show_heatmaps(
        weights.unsqueeze(0).unsqueeze(0), xlabel="training", ylabel="testing"
    )


def test_10_2_animator_of_the_training(d2l):
    animator = d2l.Animator(xlabel="epoch", ylabel="loss", xlim=[1, 5])
    for epoch in range(3):
        animator.add(epoch + 1, float(paddle.to_tensor(0.5)))
    assert animator.axes[0].lines[0].get_xydata().tolist() == [
        [1, 0.5],
        [2, 0.5],
        [3, 0.5],
    ]


def test_10_3_masked_softmax_and_both_scoring_functions(d2l):
    for lens in ([2, 3], [[1, 3], [2, 4]]):
        weights = d2l.masked_softmax(paddle.rand((2, 2, 4)), paddle.to_tensor(lens))
        assert (weights[0, 0, 2:] == 0).all()
        np.testing.assert_allclose(weights.sum(-1).numpy(), 1, rtol=1e-6)
    keys = paddle.ones((2, 10, 2))
    values = paddle.arange(40, dtype="float32").reshape((1, 10, 4))
    values = paddle.concat([values, values], axis=0)
    lens = paddle.to_tensor([2, 6])
    expected = [[[2, 3, 4, 5]], [[10, 11, 12, 13]]]
    additive = d2l.AdditiveAttention(
        key_size=2, query_size=20, num_hiddens=8, dropout=0.1
    )
    dot = d2l.DotProductAttention(dropout=0.5)
    for attention, query_size in ((additive, 20), (dot, 2)):
        attention.eval()
        queries = paddle.normal(0, 1, (2, 1, query_size))
        output = attention(queries, keys, values, lens).numpy()
        np.testing.assert_allclose(output, expected, rtol=1e-5)
        weights = attention.attention_weights.reshape((1, 1, 2, 10))
        d2l.show_heatmaps(weights, xlabel="Keys", ylabel="Queries")


def test_10_5_multi_head_attention(d2l):
    attention = d2l.MultiHeadAttention(100, 100, 100, 100, 5, 0.5)
    attention.eval()
    X, Y = paddle.ones((2, 4, 100)), paddle.ones((2, 6, 100))
    assert sizes(attention(X, Y, Y, paddle.to_tensor([3, 2]))) == [(2, 4, 100)]


class AttentionRNN:
    """Builds a decoder in the manner of 10.4 on a patched d2l."""

    def __new__(cls, d2l, vocab_size, embed_size, num_hiddens, num_layers):
        class Decoder(d2l.AttentionDecoder):
            def __init__(self):
                super().__init__()
                self.attention = d2l.AdditiveAttention(
                    num_hiddens, num_hiddens, num_hiddens, 0.1
                )
                self.embedding = nn.Embedding(vocab_size, embed_size)
                self.rnn = nn.GRU(
                    embed_size + num_hiddens, num_hiddens, num_layers, time_major=True
                )
                self.dense = nn.Linear(num_hiddens, vocab_size)

            def init_state(self, enc_outputs, enc_valid_lens, *args):
                outputs, hidden_state = enc_outputs
                return outputs.transpose((1, 0, 2)), hidden_state, enc_valid_lens

            def forward(self, X, state):
                enc_outputs, hidden, enc_valid_lens = state
                outputs, self._weights = [], []
                for x in self.embedding(X).transpose((1, 0, 2)):
                    query = hidden[-1].unsqueeze(1)
                    context = self.attention(
                        query, enc_outputs, enc_outputs, enc_valid_lens
                    )
                    x = paddle.concat((context, x.unsqueeze(1)), axis=-1)
                    out, hidden = self.rnn(x.transpose((1, 0, 2)), hidden)
                    outputs.append(out)
                    self._weights.append(self.attention.attention_weights)
                outputs = self.dense(paddle.concat(outputs, axis=0))
                state = [enc_outputs, hidden, enc_valid_lens]
                return outputs.transpose((1, 0, 2)), state

            @property
            def attention_weights(self):
                return self._weights

        return Decoder()


def test_10_4_shapes_of_the_smoke_test(d2l):
    encoder = d2l.Seq2SeqEncoder(10, 8, 16, 2)
    decoder = AttentionRNN(d2l, 10, 8, 16, 2)
    encoder.eval()
    decoder.eval()
    X = paddle.zeros((4, 7), dtype="int64")
    output, state = decoder(X, decoder.init_state(encoder(X), None))
    assert sizes(output, state[0], state[1][0]) == [(4, 7, 10), (4, 7, 16), (4, 16)]


def pairs(d2l):
    """Sentences and their mirror images, in place of the downloaded pairs."""
    lines = [["go", "."], ["i", "won", "!"], ["he", "is", "calm", "."]]
    target = [line[::-1] for line in lines]
    vocab = d2l.Vocab(lines, reserved_tokens=["<pad>", "<bos>", "<eos>"])
    arrays = [
        a for part in (lines, target) for a in d2l.build_array_nmt(part, vocab, 6)
    ]
    return d2l.load_array(arrays, 2, is_train=False), vocab


def test_10_4_training_prediction_and_bleu(d2l):
    paddle.seed(1)
    data, vocab = pairs(d2l)
    data = [batch for batch in data if len(batch[0]) > 1]  # d2l squeezes a batch of 1
    encoder = d2l.Seq2SeqEncoder(len(vocab), 32, 32, 2, 0.1)
    net = d2l.EncoderDecoder(encoder, AttentionRNN(d2l, len(vocab), 32, 32, 2))
    d2l.train_seq2seq(net, data, 0.005, 120, vocab, d2l.try_gpu())
    translation, weights = d2l.predict_seq2seq(
        net, "i won !", vocab, vocab, 6, d2l.try_gpu(), True
    )
    assert translation == "! won i"
    assert d2l.bleu(translation, "! won i", k=2) == 1
    shape = (1, 1, -1, 6)
    weights = paddle.concat([step[0][0] for step in weights], axis=0).reshape(shape)
    assert (weights[0, 0, :, 4:] == 0).all()  # three words and <eos>, then padding
    d2l.show_heatmaps(weights[:, :, :, :4], xlabel="Key", ylabel="Query")


def test_10_7_encoder_and_its_heat_maps(d2l):
    lens = paddle.to_tensor([3, 2])
    encoder = d2l.TransformerEncoder(200, 24, 24, 24, 24, [100, 24], 24, 48, 8, 2, 0.5)
    block = d2l.EncoderBlock(24, 24, 24, 24, [100, 24], 24, 48, 8, 0.5)
    encoder.eval()
    block.eval()
    X = paddle.ones((2, 100, 24))
    tokens = paddle.ones((2, 100), dtype="int64")
    assert sizes(block(X, lens), encoder(tokens, lens)) == [(2, 100, 24)] * 2
    weights = paddle.concat(encoder.attention_weights, 0).reshape((2, 2, 8, -1, 100))
    assert (weights[:, 0, :, :, 3:] == 0).all() and (weights[:, 1, :, :, 2:] == 0).all()
    titles = [f"Head {i}" for i in range(1, 9)]
    d2l.show_heatmaps(
        weights[:, 0], "Key positions", "Query positions", titles, (7, 3.5)
    )


def test_10_7_decoder_mask_keeps_the_future_out(d2l):
    attention = d2l.MultiHeadAttention(24, 24, 24, 24, 8, 0)
    lens = paddle.arange(1, 6).tile((2, 1))
    attention(*[paddle.randn((2, 5, 24))] * 3, lens)
    weights = attention.attention.attention_weights.numpy()
    assert (weights * (1 - np.tri(5)) == 0).all()


def test_10_7_positions_are_added_to_scaled_embeddings(d2l):
    X = paddle.ones((2, 7, 24)) * math.sqrt(24)
    assert sizes(d2l.PositionalEncoding(24, 0.1)(X)) == [(2, 7, 24)]
