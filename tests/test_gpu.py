"""The same numbers on a GPU; skipped where there is none."""

import numpy as np
import paddle
import pytest

import d2l_ext
from tests import reference

BATCH, QUERIES, KEYS, SIZE = 2, 3, 5, 14
LAYERS = {
    "dot product": lambda: d2l_ext.DotProductAttention(0),
    "additive": lambda: d2l_ext.AdditiveAttention(SIZE, SIZE, 11, 0),
    "multi-head": lambda: d2l_ext.MultiHeadAttention(SIZE, SIZE, SIZE, SIZE, 7, 0),
}


@pytest.fixture
def on_device():
    """Computes on the named device; afterwards the former one is back."""
    before = paddle.get_device()

    def compute(device, layer, arrays, weights):
        paddle.set_device(device)
        # float64: of float32 many GPUs multiply only the first ten bits (TF32).
        layer = layer().to(dtype="float64")
        layer.set_state_dict({k: paddle.to_tensor(w) for k, w in weights.items()})
        return layer(*map(paddle.to_tensor, arrays), valid_lens=[2, 5]).numpy()

    yield compute
    paddle.set_device(before)


@pytest.mark.gpu
@pytest.mark.parametrize("name", LAYERS)
def test_attention_on_gpu_equals_cpu(name, on_device):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(BATCH, n, SIZE)) for n in (QUERIES, KEYS, KEYS)]
    state = LAYERS[name]().state_dict()
    weights = {key: rng.normal(size=list(w.shape)) for key, w in state.items()}
    cpu, gpu = (on_device(d, LAYERS[name], arrays, weights) for d in ("cpu", "gpu:0"))
    np.testing.assert_allclose(gpu, cpu, rtol=0, atol=1e-5)


@pytest.mark.gpu
def test_products_beyond_float16_on_gpu():
    """250 * 250 * 5 is 312,500, and float16 ends at 65,504; both keys weigh the same."""
    X = paddle.full([1, 2, 5], 250.0).astype("float16")
    X = X.cuda()
    output = d2l_ext.DotProductAttention(0)(X, X, X)
    assert output.dtype == paddle.float16
    assert (output.astype("float32").numpy() == 250).all()


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_large_calls_on_gpu(dtype):
    """By flash attention, where the GPU has it; the result is the same."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(2, n, SIZE)) for n in (521, 523, 523)]
    expected, weights = reference.dot_product_attention(*arrays, None)
    layer = d2l_ext.DotProductAttention(0)
    inputs = [paddle.to_tensor(a, place="gpu:0").astype(dtype) for a in arrays]
    for found, exact in (
        (layer(*inputs), expected),
        (layer.attention_weights, weights),
    ):
        found = found.astype("float32").numpy()
        np.testing.assert_allclose(found, exact, rtol=0, atol=2e-2)
