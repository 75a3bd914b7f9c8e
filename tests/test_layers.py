"""What every layer of Paddle can do, and ours therefore have to."""

import copy
import gc
import pickle
import subprocess
import sys
import weakref

import numpy as np
import paddle
import psutil
import pytest
from paddle import nn

import d2l_ext

LENS = [3, 4]


class Net(nn.Layer):
    """All of the package's layers, one after the other."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.encoding = d2l_ext.PositionalEncoding(6, dropout)
        self.attention = d2l_ext.MultiHeadAttention(6, 6, 6, 6, 2, dropout)
        self.additive = d2l_ext.AdditiveAttention(6, 6, 3, dropout)

    def forward(self, X, valid_lens=None):
        X = self.encoding(X)
        X = self.attention(X, X, X, valid_lens)
        return self.additive(X, X, X, valid_lens)


@pytest.fixture(autouse=True)
def X():
    paddle.seed(0)  # the layers' first weights, too
    return paddle.to_tensor(np.random.default_rng(0).normal(size=(2, 5, 6)), "float32")


def test_state_round_trip(X, tmp_path):
    one, other = Net(), Net()
    assert not np.allclose(one(X, LENS).numpy(), other(X, LENS).numpy())
    paddle.save(one.state_dict(), str(tmp_path / "net.pdparams"))
    missing, unexpected = other.set_state_dict(
        paddle.load(str(tmp_path / "net.pdparams"))
    )
    assert list(missing) == list(unexpected) == []
    assert (one(X, LENS).numpy() == other(X, LENS).numpy()).all()


def called(net, X, then):
    """The net after a call whose output is kept, trained with or dropped."""
    net.output = net(X, LENS)
    if then == "backward":
        net.output.sum().backward()
    if then != "kept":
        del net.output
    return net


AFTER = ["kept", "backward", "dropped"]


@pytest.mark.parametrize("then", AFTER)
def test_deepcopy(X, then):
    net = called(Net(), X, then)
    twin = copy.deepcopy(net)
    weights, copied = (n.attention.attention.attention_weights for n in (net, twin))
    assert copied is not weights
    assert (copied.numpy() == weights.numpy()).all()
    assert (twin(X, LENS).numpy() == net(X, LENS).numpy()).all()
    assert twin.attention.W_q.weight is not net.attention.W_q.weight


def test_deepcopy_before_the_first_call(X):
    net = Net()
    twin = copy.deepcopy(net)
    assert twin.attention.attention.attention_weights is None
    assert (twin(X, LENS).numpy() == net(X, LENS).numpy()).all()


@pytest.mark.parametrize("then", AFTER)
def test_pickle(X, then):
    net = called(Net(), X, then)
    try:
        pickle.dumps(nn.Linear(2, 3))
    except TypeError:
        pytest.skip("this Paddle can pickle no layer with parameters")
    twin = pickle.loads(pickle.dumps(net))
    assert twin.attention.attention.attention_weights is None
    assert (twin(X, LENS).numpy() == net(X, LENS).numpy()).all()


def test_pickle_of_a_layer_without_parameters(X):
    layer = d2l_ext.DotProductAttention(0.5)
    output = layer(X, X, X, LENS)
    twin = pickle.loads(pickle.dumps(layer))
    assert twin.dropout.p == 0.5 and twin.attention_weights is None
    layer.eval(), twin.eval()
    assert (twin(X, X, X, LENS).numpy() == layer(X, X, X, LENS).numpy()).all()
    assert output is not None


def by_to(net, dtype):
    return net.to(dtype=dtype)


def by_astype(net, dtype):
    """Of our own layers: in Paddle 3 that of others has no effect."""
    for layer in net.children():
        assert layer.astype(dtype) is layer
    return net


@pytest.mark.parametrize("convert", [by_to, by_astype])
@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_to_another_dtype(X, dtype, convert):
    net = Net()
    expected = net(X, LENS).numpy()
    assert convert(net, dtype) is net
    assert {p.dtype for p in net.parameters()} == {getattr(paddle, dtype)}
    assert {b.dtype for b in net.buffers()} == {getattr(paddle, dtype)}
    output = net(X.astype(dtype), LENS)
    assert output.dtype == getattr(paddle, dtype)
    tolerance = 2e-2 if dtype == "float16" else 1e-6
    found = output.astype("float32").numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_automatic_mixed_precision(X, level):
    net = Net()
    expected = net(X, LENS).numpy()
    if level == "O2":
        net = paddle.amp.decorate(net, level=level, dtype="bfloat16")
    with paddle.amp.auto_cast(level=level, dtype="bfloat16"):
        output = net(X, LENS)
    np.testing.assert_allclose(
        output.astype("float32").numpy(), expected, rtol=0, atol=5e-2
    )
    output.sum().backward()
    for parameter in net.parameters():
        assert np.isfinite(parameter.grad.astype("float32").numpy()).all()


def test_static_program_agrees(X):
    net = Net()
    net.eval()
    lens = paddle.to_tensor(LENS)
    expected = net(X, lens).numpy()
    found = paddle.jit.to_static(net)(X, lens).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_summary_counts_the_parameters():
    # Four 6 x 6 matrices of the heads; 6 x 3, 6 x 3 and 3 x 1 of the additive one.
    assert paddle.summary(Net(), (2, 5, 6))["total_params"] == 4 * 36 + 39


def test_data_parallel(X):
    net = Net()
    assert (paddle.DataParallel(net)(X).numpy() == net(X).numpy()).all()


def test_gradient_flows_through_the_stored_weights(X):
    layer = d2l_ext.MultiHeadAttention(6, 6, 6, 6, 2, 0)
    output = layer(X, X, X, LENS)
    (layer.attention.attention_weights**2).sum().backward()
    assert (layer.W_q.weight.grad.numpy() != 0).any()
    assert layer.W_o.weight.grad is None  # it comes after the weights
    del output


def test_gradient_of_a_loss_with_a_penalty_on_the_weights(X):
    """As a sum of two, worked out one after the other; the output itself is gone."""
    X.stop_gradient = False

    def gradients(factors):
        layer = d2l_ext.DotProductAttention(0)
        loss = factors[0] * (layer(X, X, X, LENS) ** 3).sum()
        loss = loss + factors[1] * (layer.attention_weights**2).sum()
        return paddle.grad(loss, X)[0].numpy()

    both, first, second = (gradients(f) for f in ([1, 1], [1, 0], [0, 1]))
    assert (first != 0).any() and (second != 0).any()
    np.testing.assert_allclose(both, first + second, rtol=0, atol=1e-5)


def test_training_step_with_clipped_gradients(X):
    net = Net()
    before = net.attention.W_q.weight.numpy().copy()
    optimizer = paddle.optimizer.SGD(
        1.0, net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1e-3)
    )
    (1e6 * net(X, LENS)).sum().backward()
    optimizer.step()
    step = np.abs(net.attention.W_q.weight.numpy() - before).max()
    assert 0 < step <= 1e-3


class Witness:
    """Something that lives as long as what holds it."""


@pytest.mark.parametrize("make", [
    lambda: d2l_ext.DotProductAttention(0),
    lambda: d2l_ext.AdditiveAttention(6, 6, 3, 0),
    lambda: d2l_ext.MultiHeadAttention(6, 6, 6, 6, 2, 0),
])  # fmt: skip
def test_stored_weights_keep_no_graph_alive(X, make):
    layer, witness = make(), Witness()
    inner = getattr(layer, "attention", layer)
    X.stop_gradient = False
    before = X * 2
    before.register_hook(lambda gradient, held=witness: None)
    alive, witness = weakref.ref(witness), None
    loss = layer(before, before, before, LENS).sum()
    before = None
    weights = inner.attention_weights.numpy()
    gc.collect()
    assert alive() and not inner.attention_weights.stop_gradient
    loss = None
    gc.collect()
    assert not alive() and inner.attention_weights.stop_gradient
    assert (inner.attention_weights.numpy() == weights).all()
    assert loss is None


def test_nothing_is_kept_but_the_last_weights(X):
    layer = d2l_ext.DotProductAttention(0)
    layer(X, X, X, LENS)
    first = weakref.ref(layer.attention_weights)
    layer(X, X, X, LENS)
    gc.collect()
    assert first() is None


def test_memory_does_not_grow(X):
    """A tensor, a hook or a mask kept of each call would be megabytes in the end."""
    layer, process = d2l_ext.MultiHeadAttention(6, 6, 6, 6, 2, 0.1), psutil.Process()
    lens = paddle.to_tensor(LENS)  # once: Paddle 3.3 keeps 112 bytes of each

    def calls(count):
        for i in range(count):
            output = layer(X, X, X, lens)
            if i % 3 == 0:
                output.sum().backward()
        gc.collect()
        return process.memory_info().rss

    early = calls(1000)
    assert calls(10_000) - early < 2**20


@pytest.mark.parametrize("full_graph", [False, True])
def test_static_program_leaves_numbers_behind(X, full_graph):
    """Those of the call before, or, where Paddle runs parts of it as they are, its own."""
    net, lens = Net(), paddle.to_tensor(LENS)
    weights = []
    for input in X, 2 * X:
        net(input, lens)
        weights.append(net.additive.attention_weights.numpy())
    net(X, lens)
    paddle.jit.to_static(net, full_graph=full_graph)(2 * X, lens)
    found = net.additive.attention_weights.numpy()
    assert any(np.allclose(found, w, rtol=0, atol=1e-6) for w in weights)


@pytest.mark.parametrize("max_len", [3, 13])
def test_checkpoint_with_a_table_of_positions(X, max_len):
    """Older versions of Paddle saved it, of whatever length it was."""
    net = Net()
    expected = net(X, LENS).numpy()
    state = {**net.state_dict(), "encoding.P": paddle.ones([1, max_len, 6])}
    other = Net()
    missing, unexpected = other.set_state_dict(state)
    assert list(missing) == [] and list(unexpected) == ["encoding.P"]
    assert (other(X, LENS).numpy() == expected).all()


def test_checkpoints_of_the_classes_in_d2l(tmp_path):
    """Written by a process of its own: here d2l may have been repaired already."""
    layers = {
        "AdditiveAttention": (6, 6, 3, 0),
        "MultiHeadAttention": (6, 6, 6, 6, 2, 0),
        "MultiHeadAttention ": (6, 6, 6, 6, 2, 0, True),  # with bias
    }
    code = f"""
import paddle, d2l.paddle as d2l
for name, arguments in {layers}.items():
    layer = getattr(d2l, name.strip())(*arguments)
    paddle.save(layer.state_dict(), {str(tmp_path)!r} + "/" + name)
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
    for name, arguments in layers.items():
        layer = getattr(d2l_ext, name.strip())(*arguments)
        state = paddle.load(str(tmp_path / name))
        missing, unexpected = layer.set_state_dict(state)
        assert list(missing) == list(unexpected) == []
        assert len(state) == len(layer.parameters()) > 2
        for key, parameter in layer.named_parameters():
            assert (parameter.numpy() == state[key].numpy()).all()


def test_flops_are_those_of_the_linear_layers(X):
    try:
        one = paddle.flops(nn.Sequential(nn.Linear(6, 6)), [2, 5, 6])
    except TypeError:
        pytest.skip("this Paddle cannot count with this NumPy")
    assert paddle.flops(SelfAttention(), [2, 5, 6]) == 4 * one > 0


class SelfAttention(nn.Layer):
    def __init__(self):
        super().__init__()
        self.attention = d2l_ext.MultiHeadAttention(6, 6, 6, 6, 2, 0)

    def forward(self, X):
        return self.attention(X, X, X, None)
