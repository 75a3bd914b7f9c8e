"""Section 10.7: the Transformer, whole and in parts."""

import subprocess
import sys

import numpy as np
import paddle
import pytest

import d2l_ext
from tests import reference

BATCH, SOURCE, TARGET = 2, 7, 5
SOURCE_WORDS, TARGET_WORDS, SIZE, HIDDEN, HEADS = 11, 13, 6, 17, 3
LENS = [4, 7]


@pytest.fixture(autouse=True)
def same_weights_in_every_run():
    paddle.seed(0)


def tokens(words, n, batch=BATCH):
    array = np.random.default_rng(n).integers(0, words, (batch, n))
    return paddle.to_tensor(array)


def encoder(num_layers=2, dropout=0):
    sizes = SOURCE_WORDS, SIZE, SIZE, SIZE, SIZE, [SIZE], SIZE, HIDDEN, HEADS
    return d2l_ext.TransformerEncoder(*sizes, num_layers, dropout)


def decoder(num_layers=2, dropout=0):
    sizes = TARGET_WORDS, SIZE, SIZE, SIZE, SIZE, [SIZE], SIZE, HIDDEN, HEADS
    return d2l_ext.TransformerDecoder(*sizes, num_layers, dropout)


def first_state(model, batch=BATCH):
    source = encoder()(tokens(SOURCE_WORDS, SOURCE, batch), LENS[:batch])
    return model.init_state(source, LENS[:batch])


def one_by_one(model, X, state, parts=1):
    """The logits of a decoder that gets the tokens bit by bit."""
    logits = []
    for start in range(0, X.shape[1], parts):
        output, state = model(X[:, start : start + parts], state)
        logits.append(output)
    return paddle.concat(logits, axis=1).numpy()


def close(found, expected, tolerance=2e-6):
    found = found.numpy() if paddle.is_tensor(found) else found
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def weights(layer):
    return layer.weight.numpy().astype("float64")


def norm(layer, X):
    """Layer normalization over the last axis, in float64."""
    centred = X - X.mean(axis=-1, keepdims=True)
    X = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
    return X * weights(layer.ln) + layer.ln.bias.numpy()


def feed_forward(ffn, X):
    hidden = np.maximum(X @ weights(ffn.dense1) + ffn.dense1.bias.numpy(), 0)
    return hidden @ weights(ffn.dense2) + ffn.dense2.bias.numpy()


def attend(layer, X, Y, lens):
    matrices = [
        weights(linear) for linear in (layer.W_q, layer.W_k, layer.W_v, layer.W_o)
    ]
    return reference.multi_head_attention(X, Y, Y, lens, *matrices, HEADS)[0]


def randomize(layer):
    """Biases and norms start as 0 and 1, where a wrong use of them does not show."""
    rng = np.random.default_rng(1)
    for parameter in layer.parameters():
        parameter.set_value(rng.normal(size=parameter.shape).astype("float32") / 2)
    return layer


def test_encoder_is_the_formula():
    model, X = randomize(encoder()), tokens(SOURCE_WORDS, SOURCE)
    expected = weights(model.embedding)[X.numpy()] * np.sqrt(SIZE)
    expected = expected + reference.positional_encoding(SOURCE, SIZE)
    for block in model.blks:
        Y = attend(block.attention, expected, expected, LENS)
        expected = norm(block.addnorm1, expected + Y)
        expected = norm(block.addnorm2, expected + feed_forward(block.ffn, expected))
    close(model(X, LENS), expected, 2e-5)
    shapes = [tuple(w.shape) for w in model.attention_weights]
    assert shapes == [(BATCH * HEADS, SOURCE, SOURCE)] * 2


def test_decoder_is_the_formula():
    model, X = randomize(decoder()), tokens(TARGET_WORDS, TARGET)
    state = first_state(model)
    source = state[0].numpy().astype("float64")
    expected = weights(model.embedding)[X.numpy()] * np.sqrt(SIZE)
    expected = expected + reference.positional_encoding(TARGET, SIZE)
    seen = [list(range(1, TARGET + 1))] * BATCH  # each token those up to itself
    for block in model.blks:
        Y = attend(block.attention1, expected, expected, seen)
        expected = norm(block.addnorm1, expected + Y)
        Y = attend(block.attention2, expected, source, LENS)
        expected = norm(block.addnorm2, expected + Y)
        expected = norm(block.addnorm3, expected + feed_forward(block.ffn, expected))
    expected = expected @ weights(model.dense) + model.dense.bias.numpy()
    logits, _ = model(X, state)
    close(logits, expected, 5e-5)
    own, source_weights = model.attention_weights
    assert [tuple(w.shape) for w in own] == [(BATCH * HEADS, TARGET, TARGET)] * 2
    shapes = [tuple(w.shape) for w in source_weights]
    assert shapes == [(BATCH * HEADS, TARGET, SOURCE)] * 2


@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 5, 11])
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_bit_by_bit_gives_the_same_logits_as_all_at_once(n, parts, mode):
    model = decoder()
    getattr(model, mode)()
    X, state = tokens(TARGET_WORDS, n), first_state(model)
    close(one_by_one(model, X, state, parts), model(X, state)[0].numpy())


def test_that_needs_positions(monkeypatch):
    """With position 0 for each token that comes alone, as the source has it."""
    model = decoder()
    X, state = tokens(TARGET_WORDS, TARGET), first_state(model)
    expected = model(X, state)[0].numpy()
    right = type(model.pos_encoding).forward
    monkeypatch.setattr(
        type(model.pos_encoding), "forward", lambda self, X, start: right(self, X)
    )
    assert np.abs(one_by_one(model, X, state) - expected).max() > 0.01


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_no_token_sees_a_later_one(mode):
    model = decoder()
    getattr(model, mode)()
    X, state = tokens(TARGET_WORDS, TARGET), first_state(model)
    changed = X.clone()
    changed[:, 3:] = (X[:, 3:] + 1) % TARGET_WORDS
    one, other = (model(tokens, state)[0].numpy() for tokens in (X, changed))
    close(one[:, :3], other[:, :3])
    assert np.abs(one[:, 3:] - other[:, 3:]).max() > 0.01


def test_state_that_is_handed_in_is_not_changed():
    model = decoder()
    X, state = tokens(TARGET_WORDS, TARGET), first_state(model)
    first = model(X, state)[0].numpy()
    assert state[2] == [None, None]
    close(model(X, state)[0], first, 0)
    _, later = model(X, state)
    shapes = [tuple(seen.shape) for seen in later[2]]
    model(X, later)
    assert [tuple(seen.shape) for seen in later[2]] == shapes
    assert shapes == [(BATCH, TARGET, SIZE)] * 2


def test_padding_of_the_source_does_not_matter():
    model, X = encoder(), tokens(SOURCE_WORDS, SOURCE)
    changed = X.clone()
    changed[0, 4:] = (X[0, 4:] + 1) % SOURCE_WORDS
    one, other = (model(tokens, LENS).numpy() for tokens in (X, changed))
    close(one[0, :4], other[0, :4])
    close(one[1], other[1])


@pytest.mark.parametrize("normalized_shape", [SIZE, [SIZE], [SOURCE, SIZE]])
def test_add_norm(normalized_shape):
    layer = randomize(d2l_ext.AddNorm(normalized_shape, 0))
    X, Y = paddle.randn([2, BATCH, SOURCE, SIZE])
    total = (X + Y).numpy().astype("float64")
    axes = (1, 2) if normalized_shape == [SOURCE, SIZE] else (2,)
    centred = total - total.mean(axis=axes, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(axis=axes, keepdims=True) + 1e-5)
    shape = layer.normalized_shape
    expected *= weights(layer.ln).reshape(shape)
    close(layer(X, Y), expected + layer.ln.bias.numpy().reshape(shape), 2e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_precisions(dtype):
    source, target = encoder(), decoder()
    X, Y = tokens(SOURCE_WORDS, SOURCE), tokens(TARGET_WORDS, TARGET)

    def logits():
        return target(Y, target.init_state(source(X, LENS), LENS))[0]

    expected = logits().numpy()
    source.to(dtype=dtype), target.to(dtype=dtype)
    found = logits()
    assert found.dtype == getattr(paddle, dtype)
    tolerance = {"float16": 2e-2, "bfloat16": 0.2, "float64": 1e-5}[dtype]
    close(found.astype("float32"), expected, tolerance)


@pytest.mark.parametrize("batch, n", [(0, 5), (2, 0)])
def test_nothing_gives_nothing(batch, n):
    model = decoder()
    state = model.init_state(paddle.zeros([batch, SOURCE, SIZE]), None)
    logits, state = model(paddle.zeros([batch, n], "int64"), state)
    assert tuple(logits.shape) == (batch, n, TARGET_WORDS)
    assert tuple(state[2][1].shape) == (batch, n, SIZE)
    output = encoder()(paddle.zeros([batch, n], "int64"), None)
    assert tuple(output.shape) == (batch, n, SIZE)


def test_no_examples_give_nothing_one_by_one():
    model = decoder()
    state = model.init_state(paddle.zeros([0, SOURCE, SIZE]), None)
    for step in range(1, 4):
        logits, state = model(paddle.zeros([0, 1], "int64"), state)
        assert tuple(logits.shape) == (0, 1, TARGET_WORDS)
        assert tuple(state[2][1].shape) == (0, step, SIZE)


def test_state_in_half_precision():
    """As it comes from a call under amp on a GPU."""
    model, X = decoder(), tokens(TARGET_WORDS, TARGET)
    source, lens, seen = model(X, first_state(model))[1]
    expected = model(X, [source, lens, seen])[0].numpy()
    half = [source.astype("float16"), lens, [part.astype("float16") for part in seen]]
    logits, state = model(X, half)
    assert logits.dtype == state[2][1].dtype == paddle.float32
    close(logits, expected, 1e-2)


class Translator(paddle.nn.Layer):
    """From tokens to logits, without a state: to be exported."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = encoder(), decoder()

    def forward(self, X, Y, lens):
        state = self.decoder.init_state(self.encoder(X, lens), lens)
        return self.decoder(Y, state)[0]


def example(batch, source, target):
    X, Y = tokens(SOURCE_WORDS, source, batch), tokens(TARGET_WORDS, target, batch)
    return X, Y, paddle.to_tensor([source, 1, 2][:batch])


def test_static_program_agrees():
    net, other = Translator(), Translator()
    other.set_state_dict(net.state_dict())
    net.eval(), other.eval()
    static = paddle.jit.to_static(other, full_graph=True)
    for target in TARGET, 1:
        arguments = example(BATCH, SOURCE, target)
        close(static(*arguments), net(*arguments).numpy())


def test_static_parts_agree():
    """Where Paddle runs as they are those parts that it cannot put into a program."""
    net, X = encoder(1), tokens(SOURCE_WORDS, 3)
    net.eval()
    expected = net(X, None).numpy()
    close(paddle.jit.to_static(net, full_graph=False)(X, None), expected)


def test_export_with_dynamic_sizes(tmp_path):
    net = Translator()
    net.eval()
    sizes = [(BATCH, SOURCE, TARGET), (3, 5, 1), (1, 3, 2)]
    expected = [net(*example(*size)).numpy() for size in sizes]
    dynamic = [
        paddle.static.InputSpec(shape, "int64")
        for shape in ([None, None], [None, None], [None])
    ]
    paddle.jit.save(net, str(tmp_path / "net"), input_spec=dynamic)
    loaded = paddle.jit.load(str(tmp_path / "net"))
    for size, logits in zip(sizes, expected):
        close(loaded(*example(*size)), logits)


def test_parameters_and_outputs_are_those_of_d2l():
    d2l = d2l_ext.patch_d2l()
    sizes = SOURCE_WORDS, SIZE, SIZE, SIZE, SIZE, [SIZE], SIZE, HIDDEN, HEADS, 2, 0
    theirs, ours = d2l.TransformerEncoder(*sizes), encoder()
    missing, unexpected = ours.set_state_dict(theirs.state_dict())
    assert list(missing) == list(unexpected) == []
    X = tokens(SOURCE_WORDS, SOURCE)
    close(ours(X, LENS), theirs(X, paddle.to_tensor(LENS)).numpy())
    names = [name for name, _ in decoder(1).named_parameters()]
    assert names[0] == "embedding.weight" and names[-1] == "dense.bias"
    assert names[1] == "blks.0.attention1.W_q.weight"
    assert {name.split(".")[2] for name in names[1:-2]} == {
        "attention1",
        "addnorm1",
        "attention2",
        "addnorm2",
        "ffn",
        "addnorm3",
    }


def test_bias_is_what_the_attention_takes():
    """A ParamAttr counts, and None is Paddle's own choice: a bias of zeros."""
    thirds = paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(1 / 3))
    for use_bias, value in (True, 0), (None, 0), (thirds, 1 / 3):
        block = d2l_ext.EncoderBlock(6, 6, 6, 6, 6, 6, 7, 2, 0, use_bias)
        for layer in (block.attention.W_q, block.attention.W_o):
            np.testing.assert_allclose(layer.bias.numpy(), [value] * 6, rtol=1e-6)
    block = d2l_ext.EncoderBlock(6, 6, 6, 6, 6, 6, 7, 2, 0, False)
    assert block.attention.W_k.bias is None


def test_gradients_reach_every_parameter():
    source, target = encoder(dropout=0.1), decoder(dropout=0.1)
    X, Y = tokens(SOURCE_WORDS, SOURCE), tokens(TARGET_WORDS, TARGET)
    logits, _ = target(Y, target.init_state(source(X, LENS), LENS))
    (logits**2).sum().backward()
    for layer in source, target:
        for name, parameter in layer.named_parameters():
            assert np.isfinite(parameter.grad.numpy()).all(), name
            assert (parameter.grad.numpy() != 0).any(), name


def test_a_call_makes_no_noise():
    """In a process of its own: Paddle 3.2 remarks on its min and max once only."""
    code = (
        "import d2l_ext, paddle, warnings\n"
        "warnings.simplefilter('error')\n"
        "encoder = d2l_ext.TransformerEncoder(9, 6, 6, 6, 6, 6, 6, 8, 2, 1, 0)\n"
        "encoder(paddle.to_tensor([[3, 1, 2]]), None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def wrong_state(source=None, seen=(None, None)):
    source = paddle.ones([BATCH, SOURCE, SIZE]) if source is None else source
    return decoder()(tokens(TARGET_WORDS, TARGET), [source, LENS, seen])


def steps(n, size=SIZE, dtype="float32"):
    return paddle.ones([BATCH, n, size], dtype)


WRONG_CALLS = [
    (lambda: wrong_state(steps(7, 5)), ValueError, r"state\[0\] must have num_hiddens \(6\) on axis 2, got 5 in shape \(2, 7, 5\)"),
    (lambda: wrong_state(steps(7, dtype="float64")), TypeError, r"state\[0\] must have the dtype of the layer's weights, .*float32, got .*float64"),
    (lambda: wrong_state(seen=None), TypeError, r"state\[2\] must be a list with an item for block 0, got NoneType None"),
    (lambda: wrong_state(seen={0: None, 1: None}), TypeError, r"state\[2\] must be a list with an item for block 0, got dict {0: None, 1: None}"),
    (lambda: wrong_state(seen=[]), ValueError, r"state\[2\] must be a list with an item for block 0, got list \[\]"),
    (lambda: wrong_state(seen=[None] * 3), ValueError, r"state\[2\] must be a list with an item for each of the 2 blocks, got list \[None, None, None\]"),
    (lambda: wrong_state(seen=[steps(3), None]), ValueError, r"state\[2\] must be a list with None for all blocks or for none, got list \[Tensor.*"),
    (lambda: wrong_state(seen=[steps(3), steps(5)]), ValueError, r"state\[2\]\[1\] must have the steps of state\[2\]\[0\] \(3\) on axis 1, got 5 in shape \(2, 5, 6\)"),
    (lambda: wrong_state(seen=[steps(3), paddle.ones([3])]), ValueError, r"state\[2\]\[1\] must have 3 axes \(batch, steps, num_hiddens\), got shape \(3,\)"),
    (lambda: wrong_state(seen=[steps(3), steps(3, 5)]), ValueError, r"state\[2\]\[1\] must have num_hiddens \(6\) on axis 2, got 5 in shape \(2, 3, 5\)"),
    (lambda: wrong_state(seen=[steps(3, dtype="float64")] * 2), TypeError, r"state\[2\]\[0\] must have the dtype of the layer's weights, .*float32, got .*float64"),
    (lambda: decoder()(tokens(TARGET_WORDS, 5), 3), TypeError, r"state must be \[encoder's outputs, their valid lengths, what each block has seen\], got int 3"),
    (lambda: decoder()(tokens(TARGET_WORDS, 5) + 9, first_state(decoder())), ValueError, r"X must hold tokens from 0 to vocab_size - 1 \(12\), got \d+"),
    (lambda: decoder()(paddle.ones([2, 5]), first_state(decoder())), TypeError, "X must hold tokens, int32 or int64, got .*float32"),
    (lambda: decoder()(tokens(TARGET_WORDS, 5, 3), first_state(decoder())), ValueError, r"state\[0\] must have the batch size of X \(3\) on axis 0, got 2 in shape \(2, 7, 6\)"),
    (lambda: d2l_ext.EncoderBlock(6, 5, 6, 6, 6, 6, 7, 2, 0), ValueError, r"query_size must equal num_hiddens \(6\), got 5"),
    (lambda: d2l_ext.EncoderBlock(6, 6, 6, 6, 6, 7, 7, 2, 0), ValueError, r"ffn_num_input must equal num_hiddens \(6\), got 7"),
    (lambda: d2l_ext.EncoderBlock(6, 6, 6, 6, [], 6, 7, 2, 0), ValueError, r"norm_shape must hold at least 1 size, got list \[\]"),
    (lambda: d2l_ext.AddNorm(7, 0)(paddle.ones([2, 3, 6]), paddle.ones([2, 3, 6])), ValueError, r"X must end in normalized_shape \[7\], got shape \(2, 3, 6\)"),
    (lambda: d2l_ext.AddNorm([3, 6], 0)(*paddle.ones([2, 3, 6])), ValueError, r"X must have an axis before normalized_shape \[3, 6\], got shape \(3, 6\)"),
    (lambda: d2l_ext.AddNorm(6, 0)(paddle.ones([2, 3, 6]), paddle.ones([2, 1, 6])), ValueError, r"Y must have the shape of X, \(2, 3, 6\), got \(2, 1, 6\)"),
    (lambda: d2l_ext.PositionWiseFFN(7, 3, 5)(paddle.ones([2, 3, 6])), ValueError, r"X must have ffn_num_input \(7\) on axis 2, got 6 in shape \(2, 3, 6\)"),
]  # fmt: skip


@pytest.mark.parametrize("call, error, message", WRONG_CALLS)
def test_wrong_calls_say_what_was_expected_and_what_came(call, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        call()
