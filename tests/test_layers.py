"""What every layer of Paddle can do, and ours therefore have to."""

import copy
import gc
import weakref

import numpy as np
import paddle
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


@pytest.mark.parametrize("after", ["nothing", "a forward pass", "a backward pass"])
def test_deepcopy(X, after):
    net = Net()
    if after != "nothing":
        loss = net(X, LENS).sum()
        if after == "a backward pass":
            loss.backward()
    twin = copy.deepcopy(net)
    assert (twin(X, LENS).numpy() == net(X, LENS).numpy()).all()
    assert twin.attention.W_q.weight is not net.attention.W_q.weight


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_to_another_dtype(X, dtype):
    net = Net()
    expected = net(X, LENS).numpy()
    net.to(dtype=dtype)
    assert {p.dtype for p in net.parameters()} == {getattr(paddle, dtype)}
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
    layer(X, X, X, LENS)
    (layer.attention.attention_weights**2).sum().backward()
    assert (layer.W_q.weight.grad.numpy() != 0).any()
    assert layer.W_o.weight.grad is None  # it comes after the weights


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


def test_nothing_is_kept_but_the_last_weights(X):
    layer = d2l_ext.DotProductAttention(0)
    layer(X, X, X, LENS)
    first = weakref.ref(layer.attention_weights)
    layer(X, X, X, LENS)
    gc.collect()
    assert first() is None
