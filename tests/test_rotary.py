import copy
import math

import numpy as np
import paddle
import pytest

import d2l_ext
from tests import reference

HALF = ["float16", "bfloat16"]


def turned(X, start=0):
    """Each pair of columns as a point of the plane, one after the other."""
    X = np.asarray(X, dtype="float64")
    d, output = X.shape[-1], np.zeros(X.shape)
    for b, i, j in np.ndindex(X.shape[0], X.shape[1], d // 2):
        angle = (start + i) / 10000 ** (2 * j / d)
        point = complex(*X[b, i, 2 * j : 2 * j + 2])
        point *= complex(math.cos(angle), math.sin(angle))
        output[b, i, 2 * j : 2 * j + 2] = point.real, point.imag
    return output


def tensor(*shape, dtype="float64", seed=0):
    return paddle.to_tensor(np.random.default_rng(seed).normal(size=shape), dtype)


@pytest.mark.parametrize(
    "dtype, tolerance",
    [("float64", 1e-13), ("float32", 1e-6), ("float16", 3e-3), ("bfloat16", 3e-2)],
)
@pytest.mark.parametrize("start", [0, 11])
def test_pairs_of_columns_are_turned(dtype, tolerance, start):
    X = tensor(3, 7, 10, dtype=dtype)
    output = d2l_ext.RotaryEncoding(10, 23)(X, start)
    assert output.dtype == X.dtype and output.shape == X.shape
    expected = turned(X.astype("float64").numpy(), start)
    found = output.astype("float64").numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def test_it_is_a_multiplication_by_a_matrix():
    """The transpose of that of (10.6.3), which has sines first and cosines second."""
    d, i = 6, 5
    matrix = np.zeros((d, d))
    for j in range(d // 2):
        angle = i / 10000 ** (2 * j / d)
        c, s = math.cos(angle), math.sin(angle)
        matrix[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = [[c, -s], [s, c]]
    x = tensor(1, 1, d)
    found = d2l_ext.RotaryEncoding(d)(x, i)[0, 0].numpy()
    np.testing.assert_allclose(found, matrix @ x[0, 0].numpy(), rtol=0, atol=1e-14)
    P = reference.positional_encoding(23 + i, d)
    np.testing.assert_allclose(P[:-i] @ matrix, P[i:], rtol=0, atol=1e-14)


def test_scores_depend_on_the_offset_alone():
    n, d = 97, 14
    rotary = d2l_ext.RotaryEncoding(d)
    q, k = (tensor(1, 1, d, seed=seed).expand([1, n, d]) for seed in (1, 2))
    scores = (rotary(q)[0] @ rotary(k)[0].T).numpy()
    middle = {}
    for offset in range(1 - n, n):
        diagonal = np.diagonal(scores, offset)
        middle[offset] = diagonal[0]
        assert np.abs(diagonal - diagonal[0]).max() < 1e-12
    assert np.ptp(list(middle.values())) > 1  # not because all are alike
    assert abs(middle[3] - middle[-3]) > 0.1  # they know before from after
    assert abs(middle[0] - (q[0, 0] * k[0, 0]).sum().item()) < 1e-12


def test_scores_depend_on_the_offset_alone_wherever_the_sequence_starts():
    rotary = d2l_ext.RotaryEncoding(14, 1000)
    Q, K = tensor(2, 5, 14, seed=1), tensor(2, 5, 14, seed=2)
    first, later = (
        paddle.bmm(rotary(Q, start), rotary(K, start).transpose([0, 2, 1])).numpy()
        for start in (0, 991)
    )
    np.testing.assert_allclose(first, later, rtol=0, atol=1e-12)


def test_norms_are_kept():
    X = tensor(3, 97, 14)
    output = d2l_ext.RotaryEncoding(14)(X)
    expected = np.linalg.norm(X.numpy(), axis=-1)
    found = np.linalg.norm(output.numpy(), axis=-1)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_position_0_stays_as_it_is():
    X = tensor(3, 1, 10)
    assert (d2l_ext.RotaryEncoding(10)(X).numpy() == X.numpy()).all()


def test_token_by_token_is_the_same():
    rotary, X = d2l_ext.RotaryEncoding(10), tensor(3, 7, 10)
    steps = [rotary(X[:, i : i + 1], start=i) for i in range(7)]
    assert (paddle.concat(steps, axis=1).numpy() == rotary(X).numpy()).all()


@pytest.mark.parametrize("dtype", [*HALF, "float32", "float64"])
@pytest.mark.parametrize("convert", ["to", "astype"])
def test_layer_of_another_dtype_is_as_exact_as_its_input(dtype, convert):
    rotary = d2l_ext.RotaryEncoding(10, 23)
    rotary.to(dtype=dtype) if convert == "to" else rotary.astype(dtype)
    assert rotary.P.dtype == getattr(paddle, dtype)
    X = tensor(3, 7, 10)
    found = rotary(X).numpy()
    np.testing.assert_allclose(found, turned(X.numpy()), rtol=0, atol=1e-13)


def test_table_is_that_of_the_positional_encoding():
    rotary, encoding = (
        d2l_ext.RotaryEncoding(10, 23),
        d2l_ext.PositionalEncoding(10, 0, 23),
    )
    assert (rotary.P.numpy() == encoding.P.numpy()).all()
    assert rotary.P.dtype == paddle.float32
    assert tuple(d2l_ext.RotaryEncoding(2).P.shape) == (1, 1000, 2)


def test_default_dtype_sets_the_table_s(double_precision):
    P = d2l_ext.RotaryEncoding(10, 23).P
    assert P.dtype == paddle.float64
    expected = reference.positional_encoding(23, 10)
    np.testing.assert_allclose(P[0].numpy(), expected, rtol=0, atol=1e-15)


def test_it_has_no_state_and_can_be_copied():
    rotary, X = d2l_ext.RotaryEncoding(10), tensor(3, 7, 10)
    assert list(rotary.state_dict()) == [] and rotary.parameters() == []
    assert [name for name, _ in rotary.named_buffers()] == ["P"]
    twin = copy.deepcopy(rotary)
    assert twin.P is not rotary.P
    assert (twin(X).numpy() == rotary(X).numpy()).all()


def test_input_is_not_written():
    X = tensor(3, 7, 10)
    before = X.numpy().copy()
    d2l_ext.RotaryEncoding(10)(X)
    assert (X.numpy() == before).all()


@pytest.mark.parametrize("shape", [(0, 3, 10), (2, 0, 10)])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_empty_input_gives_empty_output(shape, dtype):
    output = d2l_ext.RotaryEncoding(10)(paddle.zeros(shape, dtype))
    assert tuple(output.shape) == shape and output.dtype == getattr(paddle, dtype)


def test_gradients_are_turned_back():
    X, G = tensor(3, 7, 10), tensor(3, 7, 10, seed=1)
    X.stop_gradient = False
    (d2l_ext.RotaryEncoding(10)(X) * G).sum().backward()
    # The matrix of a rotation is orthogonal: X.grad turned again is G.
    np.testing.assert_allclose(turned(X.grad.numpy()), G.numpy(), rtol=0, atol=1e-13)


def test_static_program_agrees():
    rotary, X = d2l_ext.RotaryEncoding(10), tensor(3, 7, 10, dtype="float32")
    expected = rotary(X).numpy()
    spec = paddle.static.InputSpec([None, None, 10], "float32")
    static = paddle.jit.to_static(
        copy.deepcopy(rotary), input_spec=[spec], full_graph=True
    )
    np.testing.assert_allclose(static(X).numpy(), expected, rtol=0, atol=1e-6)
    shorter = static(X[:2, :5]).numpy()
    np.testing.assert_allclose(shorter, expected[:2, :5], rtol=0, atol=1e-6)


class RotaryAttention(d2l_ext.DotProductAttention):
    """As 10.6d has it, with tables for heads of 6."""

    def __init__(self):
        super().__init__(dropout=0)
        self.rotary = d2l_ext.RotaryEncoding(6)

    def forward(self, queries, keys, values, valid_lens=None):
        queries, keys = self.rotary(queries), self.rotary(keys)
        return super().forward(queries, keys, values, valid_lens)


@pytest.mark.parametrize("lens", [None, [5, 3], [[1, 2, 3, 4, 5], [1, 1, 2, 2, 7]]])
def test_in_multi_head_attention(double_precision, lens):
    attention = d2l_ext.MultiHeadAttention(12, 12, 12, 12, 2, 0)
    attention.attention = RotaryAttention()
    X = tensor(2, 5, 12)
    W_q, W_k, W_v, W_o = (
        getattr(attention, name).weight.numpy() for name in ("W_q", "W_k", "W_v", "W_o")
    )
    heads = []
    for part in (slice(0, 6), slice(6, 12)):
        Q, K = (turned(X.numpy() @ W[:, part]) for W in (W_q, W_k))
        V = X.numpy() @ W_v[:, part]
        heads.append(reference.dot_product_attention(Q, K, V, lens)[0])
    expected = np.concatenate(heads, axis=-1) @ W_o
    found = attention(X, X, X, lens).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def call(layer, *shape, start=0, dtype="float32"):
    return layer(paddle.zeros(shape, dtype=dtype), start)


def rotary(*sizes):
    return d2l_ext.RotaryEncoding(*sizes)


WRONG_CALLS = [
    (lambda: rotary(7), ValueError, "num_hiddens must be even, got 7"),
    (lambda: rotary(0), ValueError, "num_hiddens must be at least 1, got 0"),
    (lambda: rotary(6.0), TypeError, "num_hiddens must be an integer, got float 6.0"),
    (lambda: rotary(6, 0), ValueError, "max_len must be at least 1, got 0"),
    (lambda: call(rotary(6, 3), 1, 5, 6), ValueError, r"X must have at most max_len \(3\) on axis 1, got 5 in shape \(1, 5, 6\)"),
    (lambda: call(rotary(6, 7), 1, 5, 6, start=3), ValueError, r"X must have at most max_len - start \(4\) on axis 1, got 5 in shape \(1, 5, 6\)"),
    (lambda: call(rotary(6, 7), 1, 1, 6, start=7), ValueError, r"X must have at most max_len - start \(0\) on axis 1, got 1 in shape \(1, 1, 6\)"),
    (lambda: call(rotary(6), 1, 1, 6, start=-1), ValueError, "start must be at least 0, got -1"),
    (lambda: call(rotary(6), 2, 3, 2), ValueError, r"X must have num_hiddens \(6\) on axis 2, got 2 in shape \(2, 3, 2\)"),
    (lambda: call(rotary(6), 3, 6), ValueError, r"X must have 3 axes \(batch, n, num_hiddens\), got shape \(3, 6\)"),
    (lambda: call(rotary(6), 2, 3, 6, dtype="int64"), TypeError, "X must be of a floating point type, got .*int64"),
    (lambda: rotary(6)(np.zeros((2, 3, 6))), TypeError, "X must be a paddle.Tensor, got ndarray"),
]  # fmt: skip


@pytest.mark.parametrize("wrong, error, message", WRONG_CALLS)
def test_wrong_calls_say_what_was_expected_and_what_came(wrong, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        wrong()
