import copy
import math

import numpy as np
import paddle
import pytest

import d2l_ext
from tests import reference


def slope(head, num_heads):
    """Of one head, by the rule in words."""
    power = 1
    while 2 * power <= num_heads:
        power *= 2
    if head < power:
        return 2 ** (-8 * (head + 1) / power)
    return 2 ** (-8 * (2 * (head - power) + 1) / (2 * power))


def bias(num_heads, queries, keys):
    expected = np.zeros((num_heads, queries, keys))
    for h, i, j in np.ndindex(*expected.shape):
        expected[h, i, j] = -slope(h, num_heads) * abs(keys - queries + i - j)
    return expected


@pytest.mark.parametrize("num_heads", [1, 2, 3, 5, 7, 8, 11, 12, 16, 31, 32])
def test_each_head_has_its_slope(num_heads, double_precision):
    expected = [slope(head, num_heads) for head in range(num_heads)]
    found = d2l_ext.ALiBi(num_heads).slopes
    assert found.dtype == paddle.float64
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-15)


def test_slopes_of_the_paper():
    eight, sixteen = (d2l_ext.ALiBi(n).slopes.numpy() for n in (8, 16))
    assert eight.tolist() == [2.0**-k for k in range(1, 9)]
    # "For 16 heads, interpolate those 8 slopes by geometrically averaging."
    np.testing.assert_allclose(sixteen[1::2], eight, rtol=1e-7)
    between = np.sqrt(sixteen[1:-1:2] * sixteen[3::2])
    np.testing.assert_allclose(sixteen[2::2], between, rtol=1e-6)


def test_slopes_of_twelve_heads():
    found = d2l_ext.ALiBi(12).slopes.numpy()
    exponents = [1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5]
    np.testing.assert_allclose(-np.log2(found), exponents, rtol=0, atol=1e-6)


@pytest.mark.parametrize("num_heads", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("queries, keys", [(1, 1), (5, 5), (1, 11), (3, 11)])
def test_penalty_is_linear_in_the_distance(num_heads, queries, keys):
    found = d2l_ext.ALiBi(num_heads)(queries, keys)
    assert found.dtype == paddle.float32
    expected = bias(num_heads, queries, keys)
    np.testing.assert_allclose(found.numpy(), expected, rtol=2e-7)


def test_last_queries_of_a_sequence_have_its_last_rows():
    alibi = d2l_ext.ALiBi(3)
    whole = alibi(11, 11).numpy()
    for queries in (1, 4, 11):
        assert (alibi(queries, 11).numpy() == whole[:, 11 - queries :]).all()


def test_it_looks_as_far_back_as_ahead():
    found = d2l_ext.ALiBi(3)(11, 11).numpy()
    assert (found == found.transpose(0, 2, 1)).all()
    assert (np.diagonal(found, axis1=1, axis2=2) == 0).all()
    assert (found[:, :-1, :-1] == found[:, 1:, 1:]).all()  # the offset alone counts


@pytest.mark.parametrize("convert", ["to", "astype"])
@pytest.mark.parametrize(
    "dtype, tolerance",
    [("float16", 1e-3), ("bfloat16", 1e-2), ("float32", 2e-7), ("float64", 1e-7)],
)
def test_bias_has_the_dtype_of_the_layer(dtype, tolerance, convert):
    alibi = d2l_ext.ALiBi(3)
    alibi.to(dtype=dtype) if convert == "to" else alibi.astype(dtype)
    found = alibi(7, 11)
    assert found.dtype == alibi.slopes.dtype == getattr(paddle, dtype)
    found = found.astype("float64").numpy()
    np.testing.assert_allclose(found, bias(3, 7, 11), rtol=tolerance)


def test_it_has_no_state_and_can_be_copied():
    alibi = d2l_ext.ALiBi(3)
    assert list(alibi.state_dict()) == [] and alibi.parameters() == []
    assert [name for name, _ in alibi.named_buffers()] == ["slopes"]
    twin = copy.deepcopy(alibi)
    assert twin.slopes is not alibi.slopes
    assert (twin(3, 5).numpy() == alibi(3, 5).numpy()).all()


def test_static_program_agrees():
    alibi = d2l_ext.ALiBi(3)
    expected = alibi(5, 7).numpy()

    class Net(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.alibi = alibi

        def forward(self, scores):
            return scores + self.alibi(5, 7)

    spec = paddle.static.InputSpec([3, 5, 7], "float32")
    static = paddle.jit.to_static(Net(), input_spec=[spec], full_graph=True)
    scores = paddle.ones([3, 5, 7])
    np.testing.assert_allclose(static(scores).numpy(), 1 + expected, rtol=1e-6)


class ALiBiAttention(paddle.nn.Layer):
    """As 10.6d has it."""

    def __init__(self, num_heads):
        super().__init__()
        self.alibi, self.num_heads = d2l_ext.ALiBi(num_heads), num_heads

    def forward(self, queries, keys, values, valid_lens=None):
        scores = paddle.bmm(queries, keys.transpose([0, 2, 1]))
        bias = self.alibi(queries.shape[1], keys.shape[1])
        bias = bias.tile([queries.shape[0] // self.num_heads, 1, 1])
        scores = scores / math.sqrt(queries.shape[-1]) + bias
        weights = d2l_ext.masked_softmax(scores, valid_lens)
        return paddle.bmm(weights, values)


@pytest.mark.parametrize("lens", [None, [5, 3], [[1, 2, 3, 4, 5], [1, 1, 2, 2, 7]]])
def test_in_multi_head_attention(double_precision, lens):
    heads, size = 3, 2
    attention = d2l_ext.MultiHeadAttention(6, 6, 6, 6, heads, 0)
    attention.attention = ALiBiAttention(heads)
    X = np.random.default_rng(0).normal(size=(2, 5, 6))
    W_q, W_k, W_v, W_o = (
        getattr(attention, name).weight.numpy() for name in ("W_q", "W_k", "W_v", "W_o")
    )
    pooled = []
    for h, expected in enumerate(bias(heads, 5, 5)):
        part = slice(h * size, (h + 1) * size)
        Q, K, V = (X @ W[:, part] for W in (W_q, W_k, W_v))
        scores = Q @ K.transpose(0, 2, 1) / math.sqrt(size) + expected
        pooled.append(reference.masked_softmax(scores, lens) @ V)
    expected = np.concatenate(pooled, axis=-1) @ W_o
    X = paddle.to_tensor(X)
    found = attention(X, X, X, lens).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


WRONG_CALLS = [
    (lambda: d2l_ext.ALiBi(0), ValueError, "num_heads must be at least 1, got 0"),
    (lambda: d2l_ext.ALiBi(2.0), TypeError, "num_heads must be an integer, got float 2.0"),
    (lambda: d2l_ext.ALiBi(3)(0, 5), ValueError, "num_queries must be at least 1, got 0"),
    (lambda: d2l_ext.ALiBi(3)(5, 0), ValueError, "num_keys must be at least 1, got 0"),
    (lambda: d2l_ext.ALiBi(3)(5, 2.0), TypeError, "num_keys must be an integer, got float 2.0"),
    (lambda: d2l_ext.ALiBi(3)(5, 3), ValueError, r"num_queries must be at most num_keys \(3\), got 5"),
]  # fmt: skip


@pytest.mark.parametrize("wrong, error, message", WRONG_CALLS)
def test_wrong_calls_say_what_was_expected_and_what_came(wrong, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        wrong()
