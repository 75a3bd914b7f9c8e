"""Section 10.4: the decoder with additive attention."""

import gc
import weakref

import numpy as np
import paddle
import pytest

import d2l_ext
from tests import reference

BATCH, SOURCE, TARGET, WORDS, EMBEDDING, SIZE = 2, 7, 5, 13, 3, 11
LENS = [4, 7]


@pytest.fixture(autouse=True)
def same_weights_in_every_run():
    paddle.seed(0)


def decoder(num_layers=2, dropout=0):
    return d2l_ext.Seq2SeqAttentionDecoder(WORDS, EMBEDDING, SIZE, num_layers, dropout)


def first_state(model, lens=LENS):
    hidden = paddle.randn([model.rnn.num_layers, BATCH, SIZE])
    return model.init_state((paddle.randn([SOURCE, BATCH, SIZE]), hidden), lens)


def tokens(n=TARGET):
    return paddle.to_tensor(np.random.default_rng(0).integers(0, WORDS, (BATCH, n)))


def arrays(*layers):
    return [p.numpy().astype("float64") for layer in layers for p in layer.parameters()]


def gru(parameters, x, h):
    """One step of one layer; Paddle's gates are reset, update, candidate."""
    W, U, b, c = parameters
    gates = np.split(x @ W.T + b, 3, axis=-1), np.split(h @ U.T + c, 3, axis=-1)
    r, z = (1 / (1 + np.exp(-(gates[0][i] + gates[1][i]))) for i in (0, 1))
    candidate = np.tanh(gates[0][2] + r * gates[1][2])
    return z * h + (1 - z) * candidate


@pytest.mark.parametrize("lens", [None, LENS])
def test_is_the_formula(lens):
    model = decoder(num_layers=1)
    X, state = tokens(), first_state(model, lens)
    outputs, h = (np.asarray(part.numpy(), "float64") for part in state[:2])
    h, logits, weights = h[0], [], []
    W_k, W_q, w_v = arrays(model.attention)
    embedding, (W, b) = arrays(model.embedding)[0], arrays(model.dense)
    for t in range(TARGET):
        context, weight = reference.additive_attention(
            h[:, None], outputs, outputs, lens, W_q, W_k, w_v
        )
        x = np.concatenate([context[:, 0], embedding[X.numpy()[:, t]]], axis=-1)
        h = gru(arrays(model.rnn), x, h)
        logits.append(h @ W + b)
        weights.append(weight)
    found, (_, hidden, _) = model(X, state)
    expected = np.stack(logits, axis=1)
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=5e-6)
    np.testing.assert_allclose(hidden[0].numpy(), h, rtol=0, atol=5e-6)
    for one, other in zip(model.attention_weights, weights):
        np.testing.assert_allclose(one.numpy(), other, rtol=0, atol=5e-6)
    assert len(model.attention_weights) == TARGET


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_bit_by_bit_gives_the_same_logits_as_all_at_once(parts):
    model = decoder()
    X, state = tokens(), first_state(model)
    expected = model(X, state)[0].numpy()
    found, later = [], state
    for start in range(0, TARGET, parts):
        logits, later = model(X[:, start : start + parts], later)
        found.append(logits.numpy())
    np.testing.assert_allclose(np.concatenate(found, 1), expected, rtol=0, atol=2e-6)
    # The state that was handed in is as it was.
    assert (model(X, state)[0].numpy() == expected).all()


def test_shapes_of_the_book():
    d2l = d2l_ext.patch_d2l()
    encoder = d2l.Seq2SeqEncoder(10, 8, 16, 2)
    model = d2l_ext.Seq2SeqAttentionDecoder(10, 8, 16, 2)
    X = paddle.zeros((4, 7), dtype="int64")
    output, state = model(X, model.init_state(encoder(X), None))
    assert tuple(output.shape) == (4, 7, 10) and len(state) == 3
    assert tuple(state[0].shape) == (4, 7, 16) and len(state[1]) == 2
    assert tuple(state[1][0].shape) == (4, 16)


def test_stored_weights_keep_no_graph_alive():
    class Witness:
        pass

    model, witness = decoder(), Witness()
    outputs, hidden, lens = first_state(model)
    outputs.stop_gradient = False
    before = outputs * 2
    before.register_hook(lambda gradient, held=witness: None)
    alive, witness = weakref.ref(witness), None
    loss = model(tokens(), (before, hidden, lens))[0].sum()
    before = None
    gc.collect()
    assert alive() and not model.attention_weights[0].stop_gradient
    loss = None
    gc.collect()
    assert not alive() and loss is None
    assert len(model.attention_weights) == TARGET


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_tokens_give_no_logits(dtype):
    paddle.set_default_dtype(dtype)
    model = decoder()
    state = first_state(model)
    paddle.set_default_dtype("float32")
    logits, _ = model(paddle.zeros([BATCH, 0], "int64"), state)
    assert tuple(logits.shape) == (BATCH, 0, WORDS) and model.attention_weights == []
    assert logits.dtype == getattr(paddle, dtype)


def test_state_in_half_precision():
    """As it comes from an encoder under amp on a GPU."""
    model, X = decoder(), tokens()
    outputs, hidden, lens = first_state(model)
    expected = model(X, [outputs, hidden, lens])[0].numpy()
    half = [outputs.astype("float16"), hidden.astype("float16"), lens]
    found = model(X, half)[0]
    assert found.dtype == paddle.float32
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-3)


class FromTheBook(d2l_ext.Seq2SeqAttentionDecoder):
    """A subclass whose forward() stores the weights as the book's does."""

    def forward(self, X, state):
        self._attention_weights = [paddle.ones([BATCH, 1, SOURCE])] * X.shape[1]
        return X, state


class Mean(paddle.nn.Layer):
    """An attention that is not this package's, with the book's interface."""

    def forward(self, queries, keys, values, valid_lens):
        size = [queries.shape[0], queries.shape[1], keys.shape[1]]
        self.attention_weights = paddle.full(size, 1 / size[2])
        return paddle.bmm(self.attention_weights, values)


def test_weights_of_others():
    model = FromTheBook(WORDS, EMBEDDING, SIZE, 2)
    model(tokens(), None)
    shapes = [tuple(step.shape) for step in model.attention_weights]
    assert shapes == [(BATCH, 1, SOURCE)] * TARGET
    model = decoder()
    model.attention = Mean()
    model(tokens(), first_state(model))
    assert len(model.attention_weights) == TARGET
    for step in model.attention_weights:
        np.testing.assert_allclose(step.numpy(), 1 / SOURCE, rtol=1e-6)


class WithoutState(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.decoder = decoder()

    def forward(self, X, outputs, hidden, lens):
        return self.decoder(X, self.decoder.init_state((outputs, hidden), lens))[0]


def example(n, source=SOURCE):
    outputs, hidden = (
        paddle.randn([source, BATCH, SIZE]),
        paddle.randn([2, BATCH, SIZE]),
    )
    return tokens(n), outputs, hidden, paddle.to_tensor([source, 2])


def test_static_program_agrees():
    net, other = WithoutState(), WithoutState()
    other.set_state_dict(net.state_dict())
    net.eval(), other.eval()
    static = paddle.jit.to_static(other, full_graph=True)
    for arguments in example(TARGET), example(1):
        expected = net(*arguments).numpy()
        found = static(*arguments).numpy()
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6)


@pytest.mark.skipif(
    paddle.__version__ < "3", reason="this Paddle cannot run a GRU in a static loop"
)
def test_export_with_any_number_of_tokens(tmp_path):
    net = WithoutState()
    net.eval()
    examples = [example(TARGET), example(1, 3)]
    expected = [net(*arguments).numpy() for arguments in examples]
    spec = paddle.static.InputSpec
    dynamic = [
        spec([BATCH, None], "int64"),
        spec([None, BATCH, SIZE]),
        spec([2, BATCH, SIZE]),
        spec([BATCH], "int64"),
    ]
    paddle.jit.save(net, str(tmp_path / "net"), input_spec=dynamic)
    loaded = paddle.jit.load(str(tmp_path / "net"))
    for arguments, logits in zip(examples, expected):
        found = loaded(*arguments).numpy()
        np.testing.assert_allclose(found, logits, rtol=0, atol=2e-6)


def test_interface():
    model = d2l_ext.AttentionDecoder()
    with pytest.raises(NotImplementedError):
        model.init_state(None)
    with pytest.raises(NotImplementedError):
        _ = model.attention_weights


def wrong_dtype(*dtypes):
    model = decoder()
    outputs, hidden, lens = first_state(model)
    return model(tokens(), [outputs.astype(dtypes[0]), hidden.astype(dtypes[1]), lens])


WRONG_CALLS = [
    (lambda: wrong_dtype("float64", "float32"), TypeError, r"state\[0\] must have the dtype of the layer's weights, .*float32, got .*float64"),
    (lambda: wrong_dtype("float32", "float64"), TypeError, r"state\[1\] must have the dtype of the layer's weights, .*float32, got .*float64"),
    (lambda: decoder()(tokens(), None), TypeError, r"state must be \[encoder's outputs, hidden state, valid lengths\], got NoneType None"),
    (lambda: decoder()(0 * tokens() + 13, first_state(decoder())), ValueError, r"X must hold tokens from 0 to vocab_size - 1 \(12\), got 13"),
    (lambda: decoder(3)(tokens(), first_state(decoder())), ValueError, r"state\[1\] must have num_layers \(3\) on axis 0, got 2 in shape \(2, 2, 11\)"),
    (lambda: decoder().init_state(3, None), TypeError, r"enc_outputs must be a pair: outputs \(m, batch, num_hiddens\), and the hidden state, got int 3"),
]  # fmt: skip


@pytest.mark.parametrize("call, error, message", WRONG_CALLS)
def test_wrong_calls_say_what_was_expected_and_what_came(call, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        call()
