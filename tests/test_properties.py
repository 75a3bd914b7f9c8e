"""What holds for all shapes, lengths and dtypes, tried on many drawn by hypothesis.

The float64 reference is in tests/reference.py. Examples are the same in every run.
"""

import numpy as np
import paddle
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import d2l_ext
from d2l_ext import _blocks, _pooling
from tests import reference

settings.register_profile(
    "same",
    derandomize=True,
    deadline=None,
    max_examples=60,
    # `way` is the same for all examples of a test.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("same")

# A few units in the last place of numbers of about 1.
TOLERANCE = {"float64": 1e-14, "float32": 3e-6, "float16": 4e-3, "bfloat16": 3e-2}
DTYPES = st.sampled_from(sorted(TOLERANCE))
SIZES = st.sampled_from([1, 2, 3, 5, 7, 11])
SIZES_OR_NONE = st.sampled_from([0, 1, 2, 3, 5])


@pytest.fixture(params=["by size", "plain", "by_blocks"])
def way(request, monkeypatch):
    """Let the calls go each way: as they are so small, the way for others, in blocks."""
    if request.param == "plain":
        monkeypatch.setattr(_pooling, "choose", lambda *arguments: _pooling.plain)
    if request.param == "by_blocks":
        monkeypatch.setattr(_blocks, "BLOCK", 6)
        monkeypatch.setattr(_blocks, "ROWS", 2)


@st.composite
def lengths(draw, batch, queries, keys):
    """None, or (array, the same in one of the forms in which it may be passed)."""
    if draw(st.booleans()):
        return None, None
    shape = (batch,) if draw(st.booleans()) else (batch, queries)
    count = int(np.prod(shape))
    numbers = st.lists(st.integers(-1, keys + 2), min_size=count, max_size=count)
    array = np.array(draw(numbers), dtype="int64").reshape(shape)
    if draw(st.booleans()):
        array = array.astype("float32") + draw(st.sampled_from([0.0, 0.5]))
    form = draw(st.sampled_from([paddle.to_tensor, np.asarray, np.ndarray.tolist]))
    if 0 in shape and form is np.ndarray.tolist:  # [] has forgotten its second size
        form = np.asarray
    return array, form(array)


def numbers(draw, *shape):
    seed = draw(st.integers(0, 2**16))
    return np.random.default_rng(seed).normal(size=shape)


def tensor(array, dtype):
    """The array in a dtype, and what it is after rounding."""
    rounded = paddle.to_tensor(array).astype(dtype)
    return rounded, rounded.astype("float64").numpy()


def tensors(draw, dtype, *shapes):
    """Of each shape a tensor; and a list of what they are after rounding."""
    pairs = [tensor(numbers(draw, *shape), dtype) for shape in shapes]
    return [t for t, _ in pairs], [exact for _, exact in pairs]


def close(found, expected, dtype):
    found = found.astype("float64").numpy()
    assert found.shape == expected.shape
    np.testing.assert_allclose(
        found, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
    )


@given(
    data=st.data(),
    batch=SIZES_OR_NONE,
    queries=SIZES_OR_NONE,
    keys=SIZES_OR_NONE,
    dtype=DTYPES,
)
def test_masked_softmax(data, batch, queries, keys, dtype):
    array, lens = data.draw(lengths(batch, queries, keys))
    X, exact = tensor(5 * numbers(data.draw, batch, queries, keys), dtype)
    weights = d2l_ext.masked_softmax(X, lens)
    expected = reference.masked_softmax(exact, array)
    assert weights.dtype == X.dtype
    close(weights, expected, dtype)
    assert (weights.astype("float64").numpy()[expected == 0] == 0).all()
    np.testing.assert_array_equal(X.astype("float64").numpy(), exact)


@given(
    data=st.data(),
    batch=SIZES_OR_NONE,
    queries=SIZES_OR_NONE,
    keys=SIZES_OR_NONE,
    size=SIZES,
    value_size=SIZES,
    dtype=DTYPES,
)
def test_dot_product_attention(
    way, data, batch, queries, keys, size, value_size, dtype
):
    array, lens = data.draw(lengths(batch, queries, keys))
    shapes = [(batch, queries, size), (batch, keys, size), (batch, keys, value_size)]
    inputs, exact = tensors(data.draw, dtype, *shapes)
    layer = d2l_ext.DotProductAttention(0.5)
    layer.eval()
    output = layer(*inputs, lens)
    expected, weights = reference.dot_product_attention(*exact, array)
    assert output.dtype == inputs[2].dtype
    close(output, expected.reshape(batch, queries, value_size), dtype)
    close(layer.attention_weights, weights, dtype)


def gradients(layer, inputs, lens, G):
    """Of sum(G * output), for the inputs and the parameters."""
    for t in inputs:
        t.stop_gradient = False
    output = layer(*inputs, lens)
    (output.astype("float64") * G.astype("float64")).sum().backward()
    return [t.grad for t in [*inputs, *layer.parameters()]]


def all_close(found, expected, dtype):
    """On the scale of the largest: where all of a sum cancels, its errors do not."""
    scale = max([1, *(np.abs(array).max() for array in expected)])
    for one, other in zip(found, expected):
        close(one.astype("float64") / scale, other / scale, dtype)
    assert len(found) == len(expected)


@given(
    data=st.data(), batch=SIZES, queries=SIZES, keys=SIZES, size=SIZES, value_size=SIZES
)
@pytest.mark.parametrize("dtype", sorted(TOLERANCE))
def test_gradients_of_attention(
    way, data, dtype, batch, queries, keys, size, value_size
):
    array, lens = data.draw(lengths(batch, queries, keys))
    shapes = [(batch, queries, size), (batch, keys, size), (batch, keys, value_size)]
    inputs, exact = tensors(data.draw, dtype, *shapes)
    G, exact_G = tensor(numbers(data.draw, batch, queries, value_size), dtype)
    found = gradients(d2l_ext.DotProductAttention(0), inputs, lens, G)
    expected = reference.dot_product_attention_gradients(*exact, array, exact_G)
    all_close(found, expected, dtype)


@given(data=st.data(), batch=SIZES, queries=SIZES, keys=SIZES, size=SIZES)
@pytest.mark.parametrize("p", [0.25, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dropout_in_training(way, data, dtype, p, batch, queries, keys, size):
    """The values begin with an identity, which shows what became of each weight."""
    array, lens = data.draw(lengths(batch, queries, keys))
    V = numbers(data.draw, batch, keys, size)
    V = np.concatenate([np.broadcast_to(np.eye(keys), (batch, keys, keys)), V], -1)
    QK = (numbers(data.draw, batch, n, size) for n in (queries, keys))
    pairs = [tensor(a, dtype) for a in (*QK, V)]
    G, exact_G = tensor(numbers(data.draw, batch, queries, keys + size), dtype)
    inputs, exact = [t for t, _ in pairs], [a for _, a in pairs]
    layer = d2l_ext.DotProductAttention(p)
    paddle.seed(1)
    output = layer(*inputs, lens)
    weights = reference.dot_product_attention(*exact, array)[1]
    dropped = (output.numpy()[..., :keys] == 0) & (weights > 0)
    factors = np.where(dropped, 0, 1 / (1 - p) if p < 1 else 0)
    close(output, np.matmul(factors * weights, exact[2]), dtype)
    close(layer.attention_weights, weights, dtype)  # from before
    paddle.seed(1)
    found = gradients(layer, inputs, lens, G)
    expected = reference.dot_product_attention_gradients(
        *exact, array, exact_G, factors
    )
    all_close(found, expected, dtype)


@given(
    data=st.data(),
    batch=SIZES,
    queries=SIZES,
    keys=SIZES,
    num_heads=st.sampled_from([1, 2, 3]),
)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_multi_head_attention(way, data, dtype, batch, queries, keys, num_heads):
    """Also where the weights of the layer are of half precision."""
    array, lens = data.draw(lengths(batch, queries, keys))
    paddle.seed(0)
    layer = d2l_ext.MultiHeadAttention(5, 7, 11, 6, num_heads, 0.5)
    layer.to(dtype=dtype)
    layer.eval()
    shapes = [(batch, queries, 7), (batch, keys, 5), (batch, keys, 11)]
    inputs, exact = tensors(data.draw, dtype, *shapes)
    output = layer(*inputs, lens)
    linears = (layer.W_q, layer.W_k, layer.W_v, layer.W_o)
    matrices = [linear.weight.astype("float64").numpy() for linear in linears]
    expected, _ = reference.multi_head_attention(*exact, array, *matrices, num_heads)
    assert output.dtype == getattr(paddle, dtype)
    all_close([output], [expected], dtype)
    G, exact_G = tensor(numbers(data.draw, batch, queries, 6), dtype)
    found = gradients(layer, inputs, lens, G)
    expected = reference.multi_head_attention_gradients(
        *exact, array, *matrices, num_heads, exact_G
    )
    all_close(found, expected, dtype)


@given(data=st.data(), batch=SIZES, queries=SIZES, keys=SIZES, num_hiddens=SIZES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_additive_attention(data, dtype, batch, queries, keys, num_hiddens):
    array, lens = data.draw(lengths(batch, queries, keys))
    paddle.seed(0)
    layer = d2l_ext.AdditiveAttention(5, 7, num_hiddens, 0.5)
    layer.to(dtype=dtype)
    layer.eval()
    shapes = [(batch, queries, 7), (batch, keys, 5), (batch, keys, 11)]
    inputs, exact = tensors(data.draw, dtype, *shapes)
    output = layer(*inputs, lens)
    linears = (layer.W_q, layer.W_k, layer.w_v)
    matrices = [linear.weight.astype("float64").numpy() for linear in linears]
    expected, _ = reference.additive_attention(*exact, array, *matrices)
    assert output.dtype == getattr(paddle, dtype)
    close(output, expected, dtype)
    G, exact_G = tensor(numbers(data.draw, batch, queries, 11), dtype)
    (dQ, dK, dV, dW_k, dW_q, dw_v) = gradients(layer, inputs, lens, G)
    found = (dQ, dK, dV, dW_q, dW_k, dw_v)
    expected = reference.additive_attention_gradients(*exact, array, *matrices, exact_G)
    all_close(found, expected, dtype)


@given(
    data=st.data(),
    batch=SIZES_OR_NONE,
    n=SIZES_OR_NONE,
    num_hiddens=SIZES,
    dtype=DTYPES,
)
def test_positional_encoding(data, batch, n, num_hiddens, dtype):
    X, exact = tensor(numbers(data.draw, batch, n, num_hiddens), dtype)
    layer = d2l_ext.PositionalEncoding(num_hiddens, 0, max_len=max(1, n))
    expected = exact + reference.positional_encoding(n, num_hiddens)
    assert layer(X).dtype == X.dtype
    close(layer(X), expected, dtype)


@given(data=st.data(), batch=SIZES, queries=SIZES, keys=SIZES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["dot", "additive", "multi"])
def test_padding_may_hold_anything(way, data, kind, bad, batch, queries, keys):
    numbers_of_keys = st.lists(st.integers(0, keys), min_size=batch, max_size=batch)
    lens = data.draw(numbers_of_keys)
    paddle.seed(0)
    layer = {
        "dot": d2l_ext.DotProductAttention(0),
        "additive": d2l_ext.AdditiveAttention(6, 6, 3, 0),
        "multi": d2l_ext.MultiHeadAttention(6, 6, 6, 6, 2, 0),
    }[kind]
    Q, K, V = (numbers(data.draw, batch, n, 6) for n in (queries, keys, keys))
    clean = layer(*[paddle.to_tensor(a).astype("float32") for a in (Q, K, V)], lens)
    for b, length in enumerate(lens):
        K[b, length:] = V[b, length:] = bad
    Q = paddle.to_tensor(Q).astype("float32")
    Q.stop_gradient = False
    dirty = layer(Q, *[paddle.to_tensor(a).astype("float32") for a in (K, V)], lens)
    np.testing.assert_array_equal(dirty.numpy(), clean.numpy())
    dirty.sum().backward()
    assert np.isfinite(Q.grad.numpy()).all()


@given(
    data=st.data(),
    batch=SIZES,
    queries=SIZES,
    keys=SIZES,
    size=SIZES,
    scale=st.sampled_from([1.0, 200.0, 6e4]),
)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", ["dot", "additive", "multi"])
def test_half_precision_is_finite_where_float32_is(
    data, kind, dtype, batch, queries, keys, size, scale
):
    """The same numbers in both; a result that the dtype cannot hold is left out."""
    _, lens = data.draw(lengths(batch, queries, keys))
    seed = data.draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    paddle.seed(0)
    layer = {
        "dot": lambda: d2l_ext.DotProductAttention(0),
        "additive": lambda: d2l_ext.AdditiveAttention(size, size, 3, 0),
        "multi": lambda: d2l_ext.MultiHeadAttention(size, size, size, 6, 2, 0),
    }[kind]()
    layer.to(dtype=dtype)
    arrays = [
        rng.uniform(-scale, scale, (batch, n, size)) for n in (queries, keys, keys)
    ]
    half = [tensor(a, dtype)[0] for a in arrays]
    found = layer(*half, lens).astype("float32").numpy()
    layer.to(dtype="float32")
    single = layer(*[t.astype("float32") for t in half], lens).numpy()
    largest = 65504 if dtype == "float16" else 3e38
    assert np.isfinite(found[np.abs(single) < 0.99 * largest]).all()
    assert not np.isnan(found[np.isfinite(single)]).any()
