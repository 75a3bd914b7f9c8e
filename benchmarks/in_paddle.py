"""What is timed with Paddle: jobs, functions that take nothing."""

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

import d2l_ext

from .cases import BOTH, EPOCH, POSITIONS, SHAPES, flops
from .inputs import lengths, numbers, weights

VERSIONS = {"Paddle": paddle.__version__, "d2l_ext": d2l_ext.__version__}
DEVICE = paddle.device.get_device()
ON_GPU = DEVICE != "cpu"


def synchronize():
    """Wait for the GPU, which answers before it has computed."""
    if ON_GPU:
        paddle.device.synchronize()


def gpu_peak():
    return paddle.device.cuda.max_memory_allocated() if ON_GPU else None


def job(name, what, part):
    if what == EPOCH:
        from .epoch_paddle import epoch

        return epoch()
    if what == POSITIONS:
        return positions(name)
    if name == "GEMM":
        return gemm(SHAPES[what], part)
    return attention(name, SHAPES[what], part)


def attention(name, shape, part):
    layer = ENTRANTS[name](shape)
    layer.eval()
    X = paddle.to_tensor(numbers(shape))
    lens = paddle.to_tensor(lengths(shape))
    if part != BOTH:

        def forward():
            with paddle.no_grad():
                return layer(X, lens)

        return forward
    X.stop_gradient = False

    def both():
        output = layer(X, lens)
        output.sum().backward()
        X.clear_gradient()
        layer.clear_gradients()
        return output

    return both


class OfFour(nn.Layer):
    """Self-attention by a class with the book's arguments."""

    def __init__(self, kind, shape):
        super().__init__()
        d = shape.d
        self.inner = kind(d, d, d, d, shape.heads, 0.0)
        load(
            shape, *(getattr(self.inner, name) for name in ("W_q", "W_k", "W_v", "W_o"))
        )

    def forward(self, X, lens):
        return self.inner(X, X, X, lens)


class OfPaddle(nn.Layer):
    def __init__(self, shape):
        super().__init__()
        self.inner = nn.MultiHeadAttention(shape.d, shape.heads, bias_attr=False)
        names = "q_proj", "k_proj", "v_proj", "out_proj"
        load(shape, *(getattr(self.inner, name) for name in names))

    def forward(self, X, lens):
        return self.inner(X, X, X, low_where_padding(X, lens))


class Fused(nn.Layer):
    """Four projections around Paddle's own function."""

    def __init__(self, shape):
        super().__init__()
        self.heads = shape.heads
        layers = [nn.Linear(shape.d, shape.d, bias_attr=False) for _ in range(4)]
        self.q, self.k, self.v, self.o = layers
        load(shape, *layers)

    def forward(self, X, lens):
        q, k, v = (
            W(X).reshape([0, 0, self.heads, -1]) for W in (self.q, self.k, self.v)
        )
        mask = low_where_padding(X, lens)
        pooled = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o(pooled.flatten(2))


def low_where_padding(X, lens):
    """(batch, 1, 1, n): 0 where a key is valid."""
    valid = paddle.arange(X.shape[1]) < lens.unsqueeze(1)
    return ((valid.astype(X.dtype) - 1) * 1e9).unsqueeze([1, 2])


def load(shape, *layers):
    for layer, W in zip(layers, weights(shape)):
        layer.weight.set_value(W)


def book():
    """d2l.paddle with the least repair: lengths of any type can be compared."""
    import d2l.paddle as d2l

    def sequence_mask(X, valid_len, value=0):
        position = paddle.arange(X.shape[1], dtype=paddle.float32)[None, :]
        mask = position < valid_len[:, None].astype("float32")
        dtype = X.dtype
        X = X.astype(paddle.float32)
        X[~mask] = float(value)
        return X.astype(dtype)

    d2l.sequence_mask = sequence_mask
    return d2l


ENTRANTS = {
    "ours": lambda shape: OfFour(d2l_ext.MultiHeadAttention, shape),
    "d2l": lambda shape: OfFour(book().MultiHeadAttention, shape),
    "paddle.nn": OfPaddle,
    "paddle.F": Fused,
}


def gemm(shape, part):
    """The floor: nothing but one square product of as many flops."""
    side = round((flops(shape, lengths(shape), part) / 2) ** (1 / 3))
    A = paddle.to_tensor(np.ones([side, side], "float32"))
    return lambda: paddle.matmul(A, A)


def positions(name):
    kind = {"ours": d2l_ext, "d2l": book()}[name].PositionalEncoding
    return lambda: kind(512, 0.0, 1000)
