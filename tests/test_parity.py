"""The same numbers and gradients as other people's classes, with the same weights.

Where PyTorch is missing, its part is skipped. To have it: make torch
"""

import subprocess
import sys

import numpy as np
import paddle
import pytest

import d2l_ext

BATCH, QUERIES, KEYS, HEADS = 2, 3, 5, 2
QUERY_SIZE, KEY_SIZE, VALUE_SIZE, NUM_HIDDENS = 14, 11, 13, 14
LENS = {"none": None, "one each": [3, 5], "one a query": [[1, 5, 2], [3, 4, 1]]}
# Several sums of some ten float32 products, one after the other.
TOLERANCE = 2e-6

per_kind_of_lens = pytest.mark.parametrize("lens", LENS.values(), ids=LENS)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def arrays():
    """Queries, keys and values."""
    return (
        numbers(BATCH, QUERIES, QUERY_SIZE, seed=1),
        numbers(BATCH, KEYS, KEY_SIZE, seed=2),
        numbers(BATCH, KEYS, VALUE_SIZE, seed=3),
    )


def keep(lens):
    """(batch, queries, keys), True where a key is valid."""
    lens = np.asarray(lens).reshape(BATCH, -1, 1)
    return np.broadcast_to(np.arange(KEYS) < lens, (BATCH, QUERIES, KEYS))


def ours(layer, lens):
    """Output, weights, and the gradients of a weighted sum of the output."""
    inputs = [paddle.to_tensor(a, stop_gradient=False) for a in arrays()]
    output = layer(*inputs, lens)
    behind = numbers(*output.shape, seed=4)
    (output * paddle.to_tensor(behind)).sum().backward()
    weights = getattr(layer, "attention", layer).attention_weights
    gradients = [t.grad.numpy() for t in (*inputs, *layer.parameters())]
    return output.numpy(), weights.numpy(), gradients


def all_close(found, expected):
    found, expected = list(found), list(expected)
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        close(one, other)


def close(found, expected):
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE)


def multi_head(bias):
    paddle.seed(0)
    layer = d2l_ext.MultiHeadAttention(
        KEY_SIZE, QUERY_SIZE, VALUE_SIZE, NUM_HIDDENS, HEADS, 0, bias=bias
    )
    for i, parameter in enumerate(layer.parameters()):  # biases start as 0
        parameter.set_value(numbers(*parameter.shape, seed=10 + i) / 3)
    return layer


@per_kind_of_lens
@pytest.mark.parametrize("bias", [False, True])
def test_multi_head_attention_of_paddle(lens, bias):
    layer = multi_head(bias)
    other = paddle.nn.MultiHeadAttention(
        NUM_HIDDENS,
        HEADS,
        kdim=KEY_SIZE,
        vdim=VALUE_SIZE,
        need_weights=True,
        bias_attr=None if bias else False,
    )
    names = ("q_proj", "k_proj", "v_proj", "out_proj")
    for linear, name in zip((layer.W_q, layer.W_k, layer.W_v, layer.W_o), names):
        getattr(other, name).set_state_dict(linear.state_dict())
    inputs = [paddle.to_tensor(a, stop_gradient=False) for a in arrays()]
    mask = None if lens is None else paddle.to_tensor(keep(lens)[:, None])
    expected, weights = other(*inputs, attn_mask=mask)
    output, own_weights, gradients = ours(layer, lens)
    close(output, expected.numpy())
    close(own_weights, weights.numpy().reshape(own_weights.shape))
    behind = paddle.to_tensor(numbers(*output.shape, seed=4))
    (expected * behind).sum().backward()
    parameters = [p for name in names for p in getattr(other, name).parameters()]
    all_close(gradients, (t.grad.numpy() for t in [*inputs, *parameters]))


class InTorch:
    """A class of PyTorch, called as ours is, with the gradients of ours."""

    def __init__(self, torch, module, names, layer):
        self.torch, self.module, self.names = torch, module, names
        tensors = [torch.tensor(p.numpy().T) for p in layer.parameters()]
        module.load_state_dict(dict(zip(names, tensors)))  # misses none of them

    def gradients(self, inputs, output):
        behind = self.torch.tensor(numbers(*output.shape, seed=4))
        (output * behind).sum().backward()
        parameters = dict(self.module.named_parameters())
        yield from (t.grad.numpy() for t in inputs)
        yield from (parameters[name].grad.numpy().T for name in self.names)


def in_torch(torch):
    return [torch.tensor(a, requires_grad=True) for a in arrays()]


@per_kind_of_lens
def test_multi_head_attention_of_pytorch(torch, lens):
    """Its weights lie transposed, and a True in its masks means to leave out."""
    layer = multi_head(bias=False)
    module = torch.nn.MultiheadAttention(
        NUM_HIDDENS,
        HEADS,
        bias=False,
        kdim=KEY_SIZE,
        vdim=VALUE_SIZE,
        batch_first=True,
    )
    names = ("q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight")
    other = InTorch(torch, module, names, layer)
    inputs = in_torch(torch)
    mask = None
    if lens is not None:  # one for each head of each example
        mask = torch.tensor(~np.repeat(keep(lens), HEADS, axis=0))
    expected, weights = module(*inputs, attn_mask=mask, average_attn_weights=False)
    output, own_weights, gradients = ours(layer, lens)
    close(output, expected.detach().numpy())
    close(own_weights, weights.detach().numpy().reshape(own_weights.shape))
    all_close(gradients, other.gradients(inputs, expected))


LAYERS = {
    "MultiHeadAttention": lambda: multi_head(bias=False),
    "MultiHeadAttention with bias": lambda: multi_head(bias=True),
    "AdditiveAttention": lambda: d2l_ext.AdditiveAttention(KEY_SIZE, QUERY_SIZE, 7, 0),
}
ARGUMENTS = {
    "MultiHeadAttention": (KEY_SIZE, QUERY_SIZE, VALUE_SIZE, NUM_HIDDENS, HEADS, 0),
    "AdditiveAttention": (KEY_SIZE, QUERY_SIZE, 7, 0),
}


@per_kind_of_lens
@pytest.mark.parametrize("kind", LAYERS)
def test_classes_of_the_book_in_pytorch(torch, book, kind, lens):
    layer, name = LAYERS[kind](), kind.partition(" ")[0]
    bias = [True] if "bias" in kind else []
    module = getattr(book, name)(*ARGUMENTS[name], *bias)
    names = [key for key, _ in layer.named_parameters()]
    other = InTorch(torch, module, names, layer)
    inputs = in_torch(torch)
    expected = module(*inputs, None if lens is None else torch.tensor(lens))
    weights = getattr(module, "attention", module).attention_weights
    output, own_weights, gradients = ours(layer, lens)
    close(output, expected.detach().numpy())
    close(own_weights, weights.detach().numpy())
    all_close(gradients, other.gradients(inputs, expected))


@per_kind_of_lens
def test_dot_product_attention_of_the_book_in_pytorch(torch, book, lens):
    queries = numbers(BATCH, QUERIES, KEY_SIZE)
    _, keys, values = arrays()
    expected = book.DotProductAttention(0)(
        *map(torch.tensor, (queries, keys, values)),
        None if lens is None else torch.tensor(lens),
    )
    layer = d2l_ext.DotProductAttention(0)
    found = layer(*map(paddle.to_tensor, (queries, keys, values)), lens)
    close(found.numpy(), expected.numpy())


@pytest.mark.parametrize("num_hiddens", [2, 14, 32])
def test_positional_encoding_of_the_book_in_pytorch(torch, book, num_hiddens):
    X = numbers(BATCH, KEYS, num_hiddens)
    expected = book.PositionalEncoding(num_hiddens, 0)(torch.tensor(X))
    found = d2l_ext.PositionalEncoding(num_hiddens, 0)(paddle.to_tensor(X))
    close(found.numpy(), expected.numpy())


@pytest.mark.parametrize("first, second", [("torch", "d2l_ext"), ("d2l_ext", "torch")])
def test_both_libraries_work_in_one_process(torch, first, second):
    code = f"""
import {first}, {second}, paddle
X = paddle.ones([2, 3, 4])
assert (d2l_ext.DotProductAttention(0)(X, X, X, [1, 2]).numpy() == 1).all()
assert torch.ones(2, 3).matmul(torch.ones(3, 2)).tolist() == [[3, 3], [3, 3]]
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], stderr=subprocess.PIPE
    )
    assert done.returncode == 0, done.stderr.decode()
