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


def test_no_tokens_give_no_logits():
    model = decoder()
    logits, _ = model(paddle.zeros([BATCH, 0], "int64"), first_state(model))
    assert tuple(logits.shape) == (BATCH, 0, WORDS) and model.attention_weights == []


def test_interface():
    model = d2l_ext.AttentionDecoder()
    with pytest.raises(NotImplementedError):
        model.init_state(None)
    with pytest.raises(NotImplementedError):
        _ = model.attention_weights


WRONG_CALLS = [
    (lambda: decoder()(tokens(), None), TypeError, r"state must be \[encoder's outputs, hidden state, valid lengths\], got NoneType None"),
    (lambda: decoder()(0 * tokens() + 13, first_state(decoder())), ValueError, r"X must hold tokens from 0 to vocab_size - 1 \(12\), got 13"),
    (lambda: decoder(3)(tokens(), first_state(decoder())), ValueError, r"state\[1\] must have num_layers \(3\) on axis 0, got 2 in shape \(2, 2, 11\)"),
    (lambda: decoder().init_state(3, None), TypeError, r"enc_outputs must be a pair: outputs \(m, batch, num_hiddens\), and the hidden state, got int 3"),
]  # fmt: skip


@pytest.mark.parametrize("call, error, message", WRONG_CALLS)
def test_wrong_calls_say_what_was_expected_and_what_came(call, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        call()
