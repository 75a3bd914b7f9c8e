"""What is timed with PyTorch: jobs, functions that take nothing."""

import sys
import types
import warnings

import torch
from torch import nn
from torch.nn import functional as F

from .cases import BOTH, EPOCH, SHAPES, flops
from .inputs import lengths, numbers, weights

VERSIONS = {"PyTorch": torch.__version__}
ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"


def synchronize():
    if ON_GPU:
        torch.cuda.synchronize()


def gpu_peak():
    return torch.cuda.max_memory_allocated() if ON_GPU else None


def job(name, what, part):
    if what == EPOCH:
        from .epoch_torch import epoch

        return epoch(book(), DEVICE)
    if name == "torch.GEMM":
        return gemm(SHAPES[what], part)
    return attention(name, SHAPES[what], part)


def attention(name, shape, part):
    layer = ENTRANTS[name](shape).eval().to(DEVICE)
    X = torch.tensor(numbers(shape), device=DEVICE)
    lens = torch.tensor(lengths(shape), device=DEVICE)
    if part != BOTH:

        def forward():
            with torch.no_grad():
                return layer(X, lens)

        return forward
    X.requires_grad_()

    def both():
        output = layer(X, lens)
        output.sum().backward()
        X.grad = None
        layer.zero_grad()
        return output

    return both


class OfBook(nn.Module):
    def __init__(self, shape):
        super().__init__()
        d = shape.d
        self.inner = book().MultiHeadAttention(d, d, d, d, shape.heads, 0.0)
        load(
            shape, *(getattr(self.inner, name) for name in ("W_q", "W_k", "W_v", "W_o"))
        )

    def forward(self, X, lens):
        return self.inner(X, X, X, lens)


class OfTorch(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.inner = nn.MultiheadAttention(
            shape.d, shape.heads, bias=False, batch_first=True
        )
        q, k, v, o = (torch.tensor(W.T) for W in weights(shape))
        with torch.no_grad():
            self.inner.in_proj_weight.copy_(torch.cat([q, k, v]))
            self.inner.out_proj.weight.copy_(o)

    def forward(self, X, lens):
        padding = ~valid(X, lens)
        return self.inner(X, X, X, key_padding_mask=padding, need_weights=False)[0]


class Fused(nn.Module):
    """Four projections around PyTorch's own function."""

    def __init__(self, shape):
        super().__init__()
        self.heads = shape.heads
        layers = [nn.Linear(shape.d, shape.d, bias=False) for _ in range(4)]
        self.q, self.k, self.v, self.o = layers
        load(shape, *layers)

    def forward(self, X, lens):
        q, k, v = (
            W(X).unflatten(2, (self.heads, -1)).transpose(1, 2)
            for W in (self.q, self.k, self.v)
        )
        mask = valid(X, lens)[:, None, None]
        pooled = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o(pooled.transpose(1, 2).flatten(2))


def valid(X, lens):
    return torch.arange(X.shape[1], device=X.device) < lens[:, None]


def load(shape, *layers):
    """PyTorch keeps a weight transposed."""
    with torch.no_grad():
        for layer, W in zip(layers, weights(shape)):
            layer.weight.copy_(torch.tensor(W.T))


def book():
    """d2l.torch. It imports torchvision, which nothing here needs."""
    vision, transforms = (
        types.ModuleType(name) for name in ("torchvision", "torchvision.transforms")
    )
    vision.transforms = transforms
    for module in vision, transforms:
        sys.modules.setdefault(module.__name__, module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its escapes are old-fashioned
        import d2l.torch
    return d2l.torch


ENTRANTS = {"torch.d2l": OfBook, "torch.nn": OfTorch, "torch.F": Fused}


def gemm(shape, part):
    side = round((flops(shape, lengths(shape), part) / 2) ** (1 / 3))
    A = torch.ones(side, side, device=DEVICE)
    return lambda: A @ A
