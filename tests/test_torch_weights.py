"""from_torch and to_torch: the same layer in both libraries, with the same weights.

Each layer is compared with its namesake in the book's PyTorch edition: outputs, and the
gradients of inputs and of parameters, after weights went either way.
"""

import doctest
import subprocess
import sys
from collections import OrderedDict

import numpy as np
import paddle
import pytest

import d2l_ext
from d2l_ext import _compat
from tests.test_wrong_calls import ODD

# Of the largest number of an array. Paddle holds the epsilon of a normalization in
# single precision, also for float64.
TOLERANCE = {"float32": 1e-6, "float64": 1e-11}
STACKS = 4  # times as much for several blocks: rounding errors add up
BATCH, N, M = 2, 5, 3
LENS = [3, 4]


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def tokens(n, vocab_size):
    return np.random.default_rng(0).integers(0, vocab_size, (BATCH, n))


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    paddle.set_default_dtype(request.param)
    yield request.param
    paddle.set_default_dtype("float32")


# name: (arguments of both, arguments of forward() as arrays, those after them)
D, HEADS = 14, 2
BLOCK = (D, D, D, D, [D], D, 11, HEADS)
WITH_LENS = ([numbers(BATCH, N, D)], [LENS])
LAYERS = {
    "MultiHeadAttention": (
        (11, D, 13, D, HEADS, 0),
        [numbers(BATCH, N, D), numbers(BATCH, M, 11), numbers(BATCH, M, 13)],
        [[2, 3]],
    ),
    "MultiHeadAttention with bias": (
        (11, D, 13, D, HEADS, 0, True),
        [numbers(BATCH, N, D), numbers(BATCH, M, 11), numbers(BATCH, M, 13)],
        [[2, 3]],
    ),
    "MultiHeadAttention of one size": (
        (D, D, D, D, HEADS, 0),
        [numbers(BATCH, N, D, seed=s) for s in (1, 2, 3)],
        [LENS],
    ),
    "AdditiveAttention": (
        (11, 7, 13, 0),
        [numbers(BATCH, N, 7), numbers(BATCH, M, 11), numbers(BATCH, M, 5)],
        [[2, 3]],
    ),
    "DotProductAttention": (
        (0,),
        [numbers(BATCH, N, 7), numbers(BATCH, M, 7), numbers(BATCH, M, 5)],
        [[2, 3]],
    ),
    "PositionalEncoding": ((D, 0), [numbers(BATCH, N, D)], []),
    "PositionWiseFFN": ((7, 11, 13), [numbers(BATCH, N, 7)], []),
    "PositionWiseFFN of one size": ((7, 7, 7), [numbers(BATCH, N, 7)], []),
    "AddNorm": (
        ([N, 7], 0),
        [numbers(BATCH, N, 7), numbers(BATCH, N, 7, seed=1)],
        [],
    ),
    "EncoderBlock": ((*BLOCK, 0), *WITH_LENS),
    "EncoderBlock with bias": ((*BLOCK, 0, True), *WITH_LENS),
    "DecoderBlock": ((*BLOCK, 0, 0), [numbers(BATCH, N, D)], "state"),
    "TransformerEncoder": ((17, *BLOCK, 3, 0), [tokens(N, 17)], [LENS]),
    "TransformerDecoder": ((17, *BLOCK, 3, 0), [tokens(N, 17)], "state"),
    "Seq2SeqAttentionDecoder": ((17, 7, 13, 2), [tokens(N, 17)], "hidden state"),
}
WITHOUT_WEIGHTS = ("DotProductAttention", "PositionalEncoding")
per_layer = pytest.mark.parametrize("name", LAYERS)


def make(name):
    """The layer, with numbers of NumPy as its weights: biases, too."""
    layer = getattr(d2l_ext, name.partition(" ")[0])(*LAYERS[name][0])
    for i, parameter in enumerate(layer.parameters()):
        value = 0.3 * numbers(*parameter.shape, seed=100 + i)
        parameter.set_value(value.astype(paddle.get_default_dtype()))
    return layer


def make_module(book, name, layer, dtype):
    """Its namesake, with weights of PyTorch's own."""
    import torch

    from tests import in_torch

    cls, arguments = name.partition(" ")[0], LAYERS[name][0]
    torch.manual_seed(0)
    if cls == "DecoderBlock":
        module = in_torch.decoder_block(book, D, 11, HEADS, 0)
    elif cls == "TransformerDecoder":
        module = in_torch.transformer_decoder(book, 17, D, 11, HEADS, 3)
    elif cls == "Seq2SeqAttentionDecoder":
        module = in_torch.seq2seq_attention_decoder(book, *arguments)
    else:
        module = getattr(book, cls)(*arguments)
    encoding = getattr(module, "pos_encoding", module)
    if hasattr(encoding, "P") and dtype == "float64":  # the book's is float32
        ours = getattr(layer, "pos_encoding", layer)
        encoding.P = torch.tensor(ours.P.numpy())
    return module.to(getattr(torch, dtype))


def call(name, net, leaf, tensor):
    """(inputs, output) of a layer or a module; leaf and tensor make its tensors."""
    _, arrays, more = LAYERS[name]
    inputs = [leaf(a) if a.dtype.kind == "f" else tensor(a) for a in arrays]
    if more == "state":
        encoded = leaf(numbers(BATCH, M, D, seed=5))
        inputs.append(encoded)
        return inputs, net(inputs[0], [encoded, tensor(np.array([2, 3])), [None] * 3])[
            0
        ]
    if more == "hidden state":
        state = [leaf(numbers(BATCH, M, 13, seed=5)), leaf(numbers(2, BATCH, 13))]
        inputs += state
        return inputs, net(inputs[0], [*state, tensor(np.array([2, 3]))])[0]
    return inputs, net(*inputs, *(tensor(np.array(lens)) for lens in more))


def of_paddle(name, layer, dtype):
    inputs, output = call(
        name,
        layer,
        lambda a: paddle.to_tensor(a.astype(dtype), stop_gradient=False),
        paddle.to_tensor,
    )
    behind = paddle.to_tensor(numbers(*output.shape, seed=9).astype(dtype))
    layer.clear_gradients()
    (output * behind).sum().backward()
    found = {"output": output.numpy()}
    for i, X in enumerate(inputs):
        if not X.stop_gradient:
            found[f"input {i}"] = X.grad.numpy()
    for key, parameter in layer.named_parameters():
        found[key] = parameter.grad.numpy()
    return found


def of_torch(name, module, dtype):
    """The same, by Paddle's names and in its shapes."""
    import torch

    inputs, output = call(
        name,
        module,
        lambda a: torch.tensor(a.astype(dtype), requires_grad=True),
        torch.tensor,
    )
    behind = torch.tensor(numbers(*output.shape, seed=9).astype(dtype))
    module.zero_grad()
    (output * behind).sum().backward()
    found = {"output": output.detach().numpy()}
    for i, X in enumerate(inputs):
        if X.requires_grad:
            found[f"input {i}"] = X.grad.numpy()
    for key, parameter in module.named_parameters():
        owner, _, last = key.rpartition(".")
        linear = isinstance(module.get_submodule(owner), torch.nn.Linear)
        gradient = parameter.grad.numpy()
        turned = gradient.T if linear and last == "weight" else gradient
        if isinstance(module.get_submodule(owner), torch.nn.LayerNorm):
            turned = turned.reshape(-1)
        found[key.replace("blks.block", "blks.")] = turned
    return found


def check_equal(name, found, expected, dtype):
    tolerance = TOLERANCE[dtype] * (STACKS if name.startswith("Transformer") else 1)
    assert set(found) == set(expected) and len(found) >= 2
    for key, other in expected.items():
        assert found[key].shape == other.shape, key
        assert found[key].dtype == other.dtype == dtype, key
        error = np.abs(found[key] - other).max() / max(1, np.abs(other).max())
        assert error <= tolerance, (key, error)


@per_layer
def test_weights_that_go_to_pytorch(book, name, dtype):
    layer = make(name)
    module = make_module(book, name, layer, dtype)
    state = layer.to_torch()
    module.load_state_dict(state)  # misses none, has none too many
    assert (state == {}) == (name in WITHOUT_WEIGHTS)
    found = of_paddle(name, layer, dtype)
    check_equal(name, found, of_torch(name, module, dtype), dtype)


@per_layer
def test_weights_that_come_from_pytorch(book, name, dtype):
    layer = make(name)
    module = make_module(book, name, layer, dtype)
    before = of_paddle(name, layer, dtype)["output"]
    assert layer.from_torch(module.state_dict()) is layer
    found = of_paddle(name, layer, dtype)
    check_equal(name, found, of_torch(name, module, dtype), dtype)
    same = np.abs(found["output"] - before).max() < 0.01
    assert same == (name in WITHOUT_WEIGHTS)


@per_layer
def test_there_and_back_is_exact(torch, name, dtype):
    one, other = make(name), make(name)
    for parameter in other.parameters():
        parameter.set_value(paddle.zeros_like(parameter))
    other.from_torch(one.to_torch())
    pairs = list(zip(one.parameters(), other.parameters()))
    assert all((a.numpy() == b.numpy()).all() for a, b in pairs)
    assert all(b.dtype == a.dtype and not b.stop_gradient for a, b in pairs)
    arrays = {key: tensor.numpy() for key, tensor in one.to_torch().items()}
    assert all(
        (a == b.numpy()).all()
        for a, b in zip(arrays.values(), other.to_torch().values())
    )


def test_every_public_layer_has_both():
    layers = [getattr(d2l_ext, name) for name in d2l_ext.__all__]
    layers = [
        c for c in layers if isinstance(c, type) and issubclass(c, paddle.nn.Layer)
    ]
    covered = {name.partition(" ")[0] for name in LAYERS}
    covered |= {"AttentionDecoder", "ALiBi", "RotaryEncoding"}  # without weights
    assert {c.__name__ for c in layers} <= covered, "add the new layer to LAYERS"
    for c in layers:
        assert c.from_torch is _compat.Layer.from_torch, c
        assert c.to_torch is _compat.Layer.to_torch, c


@pytest.mark.parametrize("method", ["from_torch", "to_torch"])
def test_examples(torch, method, capsys):
    names = {"d2l_ext": d2l_ext, "paddle": paddle}
    finder = doctest.DocTestFinder(recurse=False)
    (example,) = finder.find(getattr(_compat.Layer, method), method, globs=names)
    assert example.examples
    assert not doctest.DocTestRunner(verbose=False).run(example).failed, (
        capsys.readouterr().out
    )


# Without the book: names, layouts and dtypes


def ffn_state(dtype="float32"):
    """Of PositionWiseFFN(2, 2, 3), whose first weight is square."""
    return {
        "dense1.weight": np.array([[1, 2], [3, 4]], dtype),
        "dense1.bias": np.array([5, 6], dtype),
        "dense2.weight": np.array([[1, 0], [0, 1], [2, 2]], dtype),
        "dense2.bias": np.array([0, 0, 7], dtype),
    }


def check_by_hand(layer):
    """X W^T + b twice: (1*1 + 2*10 + 5, 3*1 + 4*10 + 6) = (26, 49)."""
    X = paddle.to_tensor([[[1.0, 10.0]]]).astype(layer.dense1.weight.dtype)
    found = layer(X).astype("float64")
    assert found.flatten().tolist() == [26, 49, 2 * 26 + 2 * 49 + 7]


NUMBERS = [
    "float16",
    "float32",
    "float64",
    "int8",
    "uint32",
    ">f4",
    "<f4",
    ">f8",
    ">i2",
]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_arrays_of_any_number_type(dtype):
    layer = d2l_ext.PositionWiseFFN(2, 2, 3).from_torch(ffn_state(dtype))
    assert layer.dense1.weight.dtype == paddle.float32
    check_by_hand(layer)


def test_arrays_do_without_pytorch():
    code = (
        "import d2l_ext, numpy, sys\n"
        "layer = d2l_ext.AddNorm(2, 0)\n"
        "state = {'ln.weight': numpy.ones(2), 'ln.bias': numpy.array([3., 4.])}\n"
        "print(layer.from_torch(state).ln.bias.tolist(), 'torch' in sys.modules)"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[3.0, 4.0] False\n"


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float32", "float64", "int64"])
def test_tensors_of_any_number_type(torch, kind):
    state = {
        key: torch.tensor(value).to(getattr(torch, kind))
        for key, value in ffn_state().items()
    }
    if kind != "int64":
        state = {key: value.requires_grad_() for key, value in state.items()}
    layer = d2l_ext.PositionWiseFFN(2, 2, 3).from_torch(state)
    assert all(not p.stop_gradient and p.is_leaf for p in layer.parameters())
    check_by_hand(layer)


def test_views_and_other_dicts(torch):
    turned = torch.tensor(ffn_state()["dense1.weight"].T.copy()).T  # not contiguous
    state = OrderedDict(ffn_state(), **{"dense1.weight": turned})
    check_by_hand(d2l_ext.PositionWiseFFN(2, 2, 3).from_torch(state))


def test_the_layer_keeps_its_dtype(torch):
    state = {k: torch.tensor(v + 2**-40) for k, v in ffn_state("float64").items()}
    single = d2l_ext.PositionWiseFFN(2, 2, 3).from_torch(state)
    double = d2l_ext.PositionWiseFFN(2, 2, 3).astype("float64").from_torch(state)
    assert single.dense1.weight.dtype == paddle.float32
    assert double.dense1.weight.dtype == paddle.float64
    assert single.dense1.weight[0, 1].item() == 3
    assert double.dense1.weight[0, 1].item() == 3 + 2**-40


def test_bfloat16_there_and_back(torch):
    layer = d2l_ext.PositionWiseFFN(2, 2, 3).from_torch(ffn_state()).astype("bfloat16")
    state = layer.to_torch()
    assert {tensor.dtype for tensor in state.values()} == {torch.bfloat16}
    other = d2l_ext.PositionWiseFFN(2, 2, 3).astype("bfloat16").from_torch(state)
    assert other.dense1.weight.dtype == paddle.bfloat16
    check_by_hand(other)


def test_what_went_to_pytorch_is_a_copy(torch):
    layer = d2l_ext.PositionWiseFFN(2, 2, 3).from_torch(ffn_state())
    for tensor in layer.to_torch().values():
        assert tensor.device.type == "cpu" and tensor.is_contiguous()
        assert not tensor.requires_grad
        tensor.zero_()
    check_by_hand(layer)
    state = layer.to_torch()
    other = d2l_ext.PositionWiseFFN(2, 2, 3).from_torch(state)
    for tensor in state.values():
        tensor.zero_()
    check_by_hand(other)


def test_what_went_to_pytorch_is_on_the_cpu_whatever_the_default_device(torch):
    layer = d2l_ext.PositionWiseFFN(2, 2, 3).from_torch(ffn_state())
    with torch.device("meta"):  # as "cuda" would be, where there is one
        state = layer.to_torch()
    for key, expected in ffn_state().items():
        assert (state[key].numpy() == expected).all(), key


def test_an_embedding_is_not_transposed():
    class Square(_compat.Layer):
        def __init__(self):
            super().__init__()
            self.embedding = paddle.nn.Embedding(2, 2)
            self.linear = paddle.nn.Linear(2, 2, bias_attr=False)
            self.again = self.linear  # has two names, as in PyTorch

    table = np.array([[1, 2], [3, 4]], "float32")
    keys = ("embedding.weight", "linear.weight", "again.weight")
    net = Square().from_torch(dict.fromkeys(keys, table))
    assert net.embedding.weight.tolist() == [[1, 2], [3, 4]]
    assert net.linear.weight.tolist() == [[1, 3], [2, 4]]


def test_buffers_that_are_saved_go_along(torch):
    class Counter(_compat.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("steps", paddle.zeros([3], "int64"))
            self.register_buffer("cache", paddle.zeros([3]), persistable=False)
            self.plain = paddle.zeros([3])

    net = Counter().from_torch({"steps": np.array([1, 2, 3])})
    assert net.steps.dtype == paddle.int64
    assert {k: v.tolist() for k, v in net.to_torch().items()} == {"steps": [1, 2, 3]}


@pytest.mark.parametrize("kind", ["GRU", "LSTM", "SimpleRNN"])
def test_recurrent_layers_in_both_directions(torch, kind):
    class Net(_compat.Layer):
        def __init__(self):
            super().__init__()
            self.rnn = getattr(paddle.nn, kind)(5, 7, 2, direction="bidirect")

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            cls = getattr(torch.nn, kind.replace("Simple", ""))
            self.rnn = cls(5, 7, 2, batch_first=True, bidirectional=True)

    module, X = Module(), numbers(BATCH, N, 5).astype("float32")
    net = Net().from_torch(module.state_dict())
    expected, _ = module.rnn(torch.tensor(X))
    found, _ = net.rnn(paddle.to_tensor(X))
    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), atol=1e-6)


# Wrong calls


def changed(**changes):
    state = ffn_state()
    for key, value in changes.items():
        name = key.replace("_", ".")
        if value is None:
            del state[name]
        else:
            state[name] = value
    return state


WRONG_CALLS = [
    (None, TypeError, "state_dict must be a dict of PyTorch tensors .*, got NoneType"),
    ([np.ones(2)], TypeError, r"state_dict must be a dict .*, got list \[array"),
    (
        changed(dense1_weight=[[1.0, 2.0]]),
        TypeError,
        r"state_dict\['dense1.weight'\] must be .*, got list \[\[1.0, 2.0\]\]",
    ),
    (
        changed(dense1_bias=paddle.ones([2])),
        TypeError,
        r"got a tensor of shape \(2,\) of Paddle \(set_state_dict\(\) is for those\)",
    ),
    (changed(dense1_bias=np.ones(2) > 0), TypeError, "got an array of bool"),
    (changed(dense1_bias=np.ones(2) * 1j), TypeError, "got an array of complex128"),
    (changed(dense1_bias=np.array(["a", "b"])), TypeError, "got an array of <U1"),
    (
        changed(dense1_weight=None, dense2_bias=None),
        ValueError,
        "^state_dict must fit the PositionWiseFFN; "
        "missing: dense1.weight, dense2.bias$",
    ),
    (
        changed(dense3_weight=np.ones(2), gamma=np.ones(2)),
        ValueError,
        "^state_dict must fit the PositionWiseFFN; unexpected: dense3.weight, gamma$",
    ),
    ({**ffn_state(), 7: np.ones(2)}, ValueError, "unexpected: 7$"),
    (
        changed(dense2_weight=np.ones((2, 3)), dense1_bias=np.ones((1, 2))),
        ValueError,
        r"FFN; of another shape \(as in PyTorch\): dense1.bias \(2,\), got \(1, 2\), "
        r"dense2.weight \(3, 2\), got \(2, 3\)$",
    ),
    (
        changed(dense1_weight=None, dense2_bias=np.ones(5), more=np.ones(2)),
        ValueError,
        r"FFN; missing: dense1.weight; unexpected: more; of another shape "
        r"\(as in PyTorch\): dense2.bias \(3,\), got \(5,\)$",
    ),
    ({}, ValueError, "missing: dense1.weight, dense1.bias, dense2.weight, dense2.bias"),
]


@pytest.mark.parametrize("state, error, words", WRONG_CALLS)
def test_wrong_state_changes_nothing(state, error, words):
    layer = d2l_ext.PositionWiseFFN(2, 2, 3).from_torch(ffn_state())
    with pytest.raises(error, match=words):
        layer.from_torch(state)
    check_by_hand(layer)


@pytest.mark.parametrize("name", ODD)
def test_whatever_is_passed_the_error_says_what_was_wrong(name):
    layer = d2l_ext.PositionWiseFFN(2, 2, 3).from_torch(ffn_state())
    for state in ODD[name], changed(dense2_weight=ODD[name]):
        with pytest.raises((TypeError, ValueError), match="^state_dict.*must"):
            layer.from_torch(state)
    check_by_hand(layer)


def test_a_tensor_without_numbers(torch):
    layer = d2l_ext.PositionWiseFFN(2, 2, 3).from_torch(ffn_state())
    state = changed(dense1_bias=torch.ones(2, device="meta"))
    with pytest.raises((TypeError, ValueError), match=r"\['dense1.bias'\] must be a t"):
        layer.from_torch(state)
    with pytest.raises(TypeError, match="got an array of bool"):
        layer.from_torch(changed(dense1_bias=torch.ones(2) > 0))
    check_by_hand(layer)


def test_a_layer_without_weights_takes_none(torch):
    layer = d2l_ext.DotProductAttention(0)
    assert layer.to_torch() == {} and layer.from_torch({}) is layer
    with pytest.raises(ValueError, match="fit the DotProductAttention; unexpected: x"):
        layer.from_torch({"x": np.ones(2)})


def test_to_torch_without_pytorch_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="needs PyTorch.*pip install torch --index"):
        d2l_ext.AddNorm(2, 0).to_torch()
