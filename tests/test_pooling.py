"""Which way a call of attention takes, and what is left of the differences to be seen."""

import copy
import functools
import gc
import subprocess
import sys
import weakref

import numpy as np
import paddle
import pytest

import d2l_ext
from d2l_ext import _blocks, _flash, _pooling
from d2l_ext._lengths import KeyLengths
from tests import reference

# Two examples; more scores than a block has, once small_blocks has made it so small.
HEADS, QUERIES, KEYS, SIZE, VALUE_SIZE = 2, 37, 71, 5, 3
EACH = np.arange(QUERIES) * 2 % (KEYS + 5)
LENS = {
    "none": None,
    "examples": np.array([KEYS - 30, 1]),
    "queries": np.stack([EACH, EACH[::-1]]),
    "nothing": np.array([0, KEYS]),
}


def tensors(dtype="float32", shape=(HEADS, QUERIES, KEYS), seed=0):
    """Queries, keys and values, and the gradient for the output."""
    rng, (batch, queries, keys) = np.random.default_rng(seed), shape
    shapes = [(queries, SIZE), (keys, SIZE), (keys, VALUE_SIZE), (queries, VALUE_SIZE)]
    return [
        paddle.to_tensor(rng.standard_normal((batch, *s)).astype(dtype)) for s in shapes
    ]


@pytest.fixture
def small_blocks(monkeypatch):
    """Seven queries at a time."""
    monkeypatch.setattr(_blocks, "BLOCK", 7 * KEYS)
    monkeypatch.setattr(_blocks, "ROWS", 2)


@pytest.fixture
def ways(monkeypatch):
    """The names of the ways that are taken."""
    taken = []
    for name in "plain", "whole", "by_blocks", "flash":
        way = getattr(_pooling, name)

        def spy(*arguments, name=name, way=way):
            taken.append(name)
            return way(*arguments)

        monkeypatch.setattr(_pooling, name, spy)
    return taken


@pytest.mark.parametrize(
    "shape, dtype, lens, way",
    [
        ((2, 3, 5), "float32", [5, 2], "whole"),
        ((2, 3, 5), "float64", None, "whole"),
        ((1, 512, 512), "float32", None, "whole"),  # just as much as a block
        ((1, 512, 513), "float32", [7], "by_blocks"),
        ((11, 163, 157), "float64", None, "by_blocks"),
        ((11, 163, 157), "float32", [157] * 11, "whole"),  # each example is small
        ((5, 256, 256), "float32", [99] * 5, "whole"),
        ((5, 256, 257), "float32", [99] * 5, "by_blocks"),
        ((2, 3, 5), "float16", [5, 2], "plain"),
        ((2, 3, 5), "bfloat16", None, "plain"),
    ],
)
def test_way_on_a_cpu(ways, shape, dtype, lens, way):
    paddle.set_device("cpu")
    inputs = [t.astype(dtype) for t in tensors(shape=shape)[:3]]
    d2l_ext.DotProductAttention(0)(*inputs, lens)
    assert ways == [way]


def math_as_flash(query, key, value, dropout=0.0, scale=None):
    """What Paddle's function does with (batch, n, heads, size), without its kernel."""
    q, k, v = (t.astype("float32").transpose([0, 2, 1, 3]) for t in (query, key, value))
    scores = paddle.matmul(q, k, transpose_y=True) * (scale or q.shape[-1] ** -0.5)
    output = paddle.matmul(paddle.nn.functional.softmax(scores), v)
    return output.transpose([0, 2, 1, 3]).astype(query.dtype), None


def not_here(*arguments, **options):
    raise RuntimeError("flash attention is not compiled")


class TestFlashAttention:
    """Its kernel needs a GPU, see test_gpu.py; all around it does not."""

    @pytest.fixture
    def flash_is(self, monkeypatch):
        def put(function):
            module = paddle.nn.functional.flash_attention
            monkeypatch.setattr(module, "flash_attention", function)
            _flash.works.cache_clear()

        yield put
        _flash.works.cache_clear()

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    @pytest.mark.parametrize(
        "function, works",
        [
            (math_as_flash, True),
            (functools.partial(math_as_flash, scale=0.3), False),
            (not_here, False),
        ],
    )
    def test_is_used_only_if_it_gives_what_it_should(
        self, flash_is, function, works, dtype
    ):
        flash_is(function)
        with paddle.no_grad():  # it is tried where the first call happens to be
            assert _flash.works("cpu", getattr(paddle, dtype)) is works

    @pytest.mark.parametrize(
        "n, dtype, lens, size, way",
        [
            (700, "float16", None, 8, "flash"),
            (700, "bfloat16", None, 8, "flash"),
            (3, "float16", None, 8, "plain"),
            (700, "float32", None, 8, "plain"),
            (700, "float16", [5], 8, "plain"),
            (700, "float16", None, 257, "plain"),
        ],
    )
    def test_way_on_a_gpu(self, monkeypatch, flash_is, n, dtype, lens, size, way):
        flash_is(math_as_flash)
        X = paddle.zeros([1, n, size]).astype(dtype)
        monkeypatch.setattr(paddle, "get_device", lambda: "gpu:0")
        lens = KeyLengths(lens and paddle.to_tensor(lens))
        dropout = d2l_ext.DotProductAttention(0).dropout
        assert _pooling.choose(X, X, X, lens, dropout) is getattr(_pooling, way)

    def test_output_and_weights(self, monkeypatch, flash_is):
        flash_is(math_as_flash)
        inputs = tensors(shape=(1, 521, 523))[:3]
        inputs[2] = paddle.concat([inputs[2], inputs[2][..., :2]], axis=-1)
        half = [t.astype("float16") for t in inputs]
        layer = d2l_ext.DotProductAttention(0)
        monkeypatch.setattr(paddle, "get_device", lambda: "gpu:0")
        output = layer(*half, None)
        exact = [t.astype("float64").numpy() for t in half]
        expected, weights = reference.dot_product_attention(*exact, None)
        close = functools.partial(np.testing.assert_allclose, rtol=0, atol=2e-3)
        close(output.astype("float64").numpy(), expected)
        close(layer.attention_weights.astype("float64").numpy(), weights)


def test_way_in_a_static_program(ways):
    layer = paddle.jit.to_static(d2l_ext.DotProductAttention(0), full_graph=True)
    X = paddle.randn([1, 3, 5])
    layer(X, X, X, paddle.to_tensor([2]))
    assert {*ways} == {"plain"}


@pytest.mark.parametrize("where", [1, 2])
def test_padding_that_is_not_finite_is_cleaned(ways, where):
    inputs = tensors(shape=(1, 3, 5))[:3]
    inputs[where][0, 4] = float("-inf")
    inputs[0].stop_gradient = False
    output = d2l_ext.DotProductAttention(0)(*inputs, [4])
    assert ways == ["whole"] and np.isfinite(output.numpy()).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_products_may_be_too_large_before_they_are_divided(ways, sign):
    """Of 16 products of 5e18 and 5e18, the sum is above 3.4e38; a quarter is not."""
    Q = paddle.full([1, 1, 16], 5e18)
    V = paddle.to_tensor([[[2.0], [3.0], [5.0]]])
    layer = d2l_ext.DotProductAttention(0)
    output = layer(Q * sign, paddle.concat([Q, Q, Q], axis=1), V, [2])
    assert ways == ["whole"] and output.item() == 2.5
    assert layer.attention_weights.flatten().tolist() == [0.5, 0.5, 0]


def test_scores_beyond_the_largest_number_take_the_way_of_all_others(ways):
    Q = paddle.full([1, 3, 4], 1e20)
    d2l_ext.DotProductAttention(0)(Q, Q, Q, [2])
    assert ways == ["whole", "plain"]


@pytest.mark.parametrize("n", [3, 600])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_values_may_be_of_half_precision_alone(n, dtype):
    Q, K, V, _ = tensors(shape=(1, n, n))
    output = d2l_ext.DotProductAttention(0)(Q, K, V.astype(dtype))
    expected, _ = reference.dot_product_attention(Q.numpy(), K.numpy(), V.numpy(), None)
    assert output.dtype == getattr(paddle, dtype)
    found = output.astype("float32").numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-2)


class Nothing(paddle.nn.Dropout):
    def forward(self, X):
        return X * 0


def with_a_hook():
    dropout = paddle.nn.Dropout(0.0)
    dropout.register_forward_post_hook(lambda layer, inputs, output: output * 2)
    return dropout


@pytest.mark.parametrize(
    "dropout, sums",
    [
        (paddle.nn.Identity, {1}),
        (lambda: Nothing(0.5), {0}),
        (with_a_hook, {2}),
        (lambda: paddle.nn.Dropout(0.5, mode="downscale_in_infer"), {0.5}),
        (lambda: paddle.nn.Dropout(0.5, axis=0), {0, 2}),
    ],
    ids=["identity", "subclass", "hook", "mode", "axis"],
)
@pytest.mark.parametrize("n", [3, 521])
def test_another_dropout_is_called(dropout, sums, n):
    X = paddle.randn([13, n, 5])
    layer = d2l_ext.DotProductAttention(0)
    layer.dropout = dropout()
    if sums == {0.5}:
        layer.eval()
    found = layer(X, X, paddle.ones_like(X)).numpy()
    assert {*np.round(found.flatten(), 4).tolist()} == sums


def test_what_is_hung_on_the_inner_layers_sees_what_it_always_saw():
    layer, X = d2l_ext.MultiHeadAttention(6, 6, 6, 6, 2, 0), paddle.randn([1, 3, 6])
    seen = []
    hook = layer.attention.register_forward_pre_hook(
        lambda _, given: seen.append(given)
    )
    layer(X, X, X, [2])
    layer(X, X, X, None)
    hook.remove()
    assert seen[0][3].tolist() == [2, 2] and seen[1][3] is None
    layer.W_o.forward = lambda Y: Y * 0
    assert (layer(X, X, X, None).numpy() == 0).all()


@pytest.mark.parametrize("kind", LENS)
@pytest.mark.parametrize("cores", [1, 3])
def test_blocks_agree_with_the_reference(ways, small_blocks, monkeypatch, kind, cores):
    monkeypatch.setattr(_blocks, "cores", lambda: cores)
    *inputs, G = tensors()
    lens = LENS[kind]
    layer = d2l_ext.DotProductAttention(0)
    for t in inputs:
        t.stop_gradient = False
    output = layer(*inputs, lens)
    (output * G).sum().backward()
    exact = [t.numpy() for t in inputs]
    expected, weights = reference.dot_product_attention(*exact, lens)
    wanted = reference.dot_product_attention_gradients(*exact, lens, G.numpy())
    np.testing.assert_allclose(output.numpy(), expected, rtol=0, atol=2e-6)
    for t, gradient in zip(inputs, wanted):
        scale = max(1, np.abs(gradient).max())
        np.testing.assert_allclose(
            t.grad.numpy() / scale, gradient / scale, rtol=0, atol=2e-6
        )
    found = layer.attention_weights.numpy()
    np.testing.assert_allclose(found, weights, rtol=0, atol=2e-6)
    assert (found[weights == 0] == 0).all() and ways == ["by_blocks"]


def test_only_some_inputs_may_have_gradients(small_blocks):
    for wanted in range(3):
        *inputs, G = tensors()
        inputs[wanted].stop_gradient = False
        output = d2l_ext.DotProductAttention(0)(*inputs, LENS["examples"])
        (output * G).sum().backward()
        exact = [t.numpy() for t in inputs]
        gradients = reference.dot_product_attention_gradients(
            *exact, LENS["examples"], G.numpy()
        )
        found = inputs[wanted].grad.numpy()
        np.testing.assert_allclose(found, gradients[wanted], rtol=0, atol=2e-5)


def test_dropout_by_blocks(ways, small_blocks):
    """A value of 1 everywhere shows the sum of what is left of the weights."""
    Q, K, V, _ = tensors()
    layer, V = d2l_ext.DotProductAttention(0.25), paddle.ones_like(V)
    outputs = []
    for seed in (1, 1, 2):
        paddle.seed(seed)
        outputs.append(layer(Q, K, V, None).numpy())
    assert ways == ["by_blocks"] * 3
    assert (outputs[0] == outputs[1]).all() and (outputs[0] != outputs[2]).any()
    # 74 sums of 71 weights each: their mean is 1 to within 4 standard deviations.
    assert abs(outputs[0][..., 0].mean() - 1) < 0.05
    layer.eval()
    np.testing.assert_allclose(layer(Q, K, V, None).numpy(), 1, rtol=0, atol=2e-6)


@pytest.mark.usefixtures("small_blocks")
class TestWeightsThatAreNotKept:
    @pytest.fixture
    def call(self):
        *inputs, _ = tensors()
        for t in inputs:
            t.stop_gradient = False
        layer = d2l_ext.DotProductAttention(0)
        return layer, inputs, layer(*inputs, LENS["examples"])

    def test_gradient_flows_through_them(self, call):
        layer, (Q, K, _), output = call
        (layer.attention_weights**2).sum().backward()
        assert (Q.grad.numpy() != 0).any() and (
            K.grad.numpy()[0, KEYS - 30 :] == 0
        ).all()
        del output

    def test_without_the_output_they_are_numbers(self):
        Q, K, V, _ = tensors()
        Q.stop_gradient = False
        layer = d2l_ext.DotProductAttention(0)
        output = layer(Q, K, V, None)
        before = layer.attention_weights
        assert not before.stop_gradient
        before = before.numpy()
        del output
        gc.collect()
        assert layer.attention_weights.stop_gradient
        np.testing.assert_array_equal(layer.attention_weights.numpy(), before)

    @pytest.mark.parametrize("with_gradient", [False, True])
    @pytest.mark.parametrize("kind", ["dot product", "multi-head"])
    def test_are_those_of_the_call_whatever_becomes_of_its_inputs(
        self, kind, with_gradient
    ):
        Q, K, V, _ = tensors()
        K.stop_gradient = not with_gradient
        lens = paddle.to_tensor(LENS["examples"])
        layer = inner = d2l_ext.DotProductAttention(0)
        if kind == "multi-head":
            layer = d2l_ext.MultiHeadAttention(SIZE, SIZE, VALUE_SIZE, 6, 2, 0)
            inner = layer.attention
        output = layer(Q, K, V, lens)
        before, twin = inner.attention_weights.numpy(), copy.deepcopy(inner)
        lens.fill_(3)
        with paddle.no_grad():
            K.set_value(K * 0)
        for found in inner.attention_weights, twin.attention_weights:
            np.testing.assert_array_equal(found.numpy(), before)
        del output

    def test_are_those_of_the_call_after_a_step_of_the_optimizer(self):
        Q, _, V, _ = tensors()
        K = paddle.create_parameter([HEADS, KEYS, SIZE], "float32")
        layer = d2l_ext.DotProductAttention(0)
        output = layer(Q, K, V)
        before = layer.attention_weights.numpy()
        output.sum().backward()
        paddle.optimizer.SGD(100.0, parameters=[K]).step()
        np.testing.assert_array_equal(layer.attention_weights.numpy(), before)

    def test_go_with_a_copy_of_the_layer(self, call):
        layer, _, _ = call
        twin = copy.deepcopy(layer)
        found, expected = twin.attention_weights, layer.attention_weights
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


class TestGradientsByBlocks:
    """Paddle calls hooks of ours; what users do to the graph must not disturb them."""

    @pytest.fixture
    def call(self, small_blocks):
        """The inputs, and the output weighted by G."""
        *inputs, G = tensors()
        for t in inputs:
            t.stop_gradient = False
        return inputs, d2l_ext.DotProductAttention(0)(*inputs, LENS["queries"]), G

    @pytest.fixture
    def expected(self):
        *inputs, G = (t.numpy() for t in tensors())
        return reference.dot_product_attention_gradients(*inputs, LENS["queries"], G)

    @staticmethod
    def same(found, expected, times=1):
        for t, gradient in zip(found, expected):
            np.testing.assert_allclose(
                t.numpy(), times * gradient, rtol=1e-5, atol=2e-5
            )

    def test_more_than_one_backward_pass(self, call, expected):
        inputs, output, G = call
        loss = (output * G).sum()
        for times in 1, 2, 3:
            loss.backward(retain_graph=times < 3)
            self.same([t.grad for t in inputs], expected, times)

    def test_of_some_inputs(self, call, expected):
        inputs, output, G = call
        for i in 2, 0, 1:
            found = paddle.grad(output, inputs[i], G, retain_graph=True)
            self.same(found, expected[i : i + 1])
        self.same(paddle.grad(output, inputs, G), expected)
        assert all(t.grad is None for t in inputs)

    def test_without_those_of_some_inputs(self, call, expected):
        inputs, output, G = call
        for i in range(3):
            others = [t for j, t in enumerate(inputs) if j != i]
            found = paddle.grad(
                output, inputs[i], G, retain_graph=True, no_grad_vars=others
            )
            self.same(found, expected[i : i + 1])

    def test_hooks_of_the_caller(self, call, expected):
        inputs, output, G = call
        output.register_hook(lambda gradient: 3 * gradient)
        inputs[1].register_hook(lambda gradient: 5 * gradient)
        paddle.autograd.backward([output], [G])
        for i, times in enumerate([3, 15, 3]):
            self.same([inputs[i].grad], expected[i : i + 1], times)

    def test_output_changed_in_place(self, call, expected):
        inputs, output, G = call
        output.add_(paddle.ones_like(output))
        (output * G).sum().backward()
        self.same([t.grad for t in inputs], expected)

    def test_one_tensor_thrice(self, small_blocks):
        X = paddle.to_tensor(np.random.default_rng(0).standard_normal((2, 71, 5)))
        X.stop_gradient = False
        (d2l_ext.DotProductAttention(0)(X, X, X) ** 2).sum().backward()
        array = X.numpy()
        output, _ = reference.dot_product_attention(array, array, array, None)
        parts = reference.dot_product_attention_gradients(
            array, array, array, None, 2 * output
        )
        np.testing.assert_allclose(X.grad.numpy(), sum(parts), rtol=0, atol=1e-12)

    def test_an_input_changed_before_its_gradient(self, small_blocks):
        *inputs, _ = tensors()
        inputs[1].stop_gradient = False
        keys = inputs[1] * 1
        output = d2l_ext.DotProductAttention(0)(inputs[0], keys, inputs[2], None)
        keys.fill_(0.0)
        # Paddle makes an error of its own of what a backward pass raises.
        with pytest.raises(Exception, match="changed in place after the call"):
            output.sum().backward()

    def test_no_gradient_of_the_gradient(self, call):
        """As for the other ways: Paddle knows none of softmax."""
        inputs, output, _ = call
        with pytest.raises(RuntimeError, match="create_graph"):
            paddle.grad((output**2).sum(), inputs, create_graph=True)


def test_a_large_call_leaves_nothing_behind():
    """With blocks as they are: 1 MB of scores and more, thrice."""
    Q, K, V, _ = tensors(shape=(1, 521, 523))
    layer, seen = d2l_ext.DotProductAttention(0), []
    for _ in range(3):
        Q.stop_gradient = False
        before = Q * 2
        output = layer(before, K, V, None)
        seen.append((weakref.ref(before), weakref.ref(output)))
        output.sum().backward()
        del before, output
    layer(V[:, :2], V, V, None)
    gc.collect()
    assert not any(ref() for refs in seen for ref in refs)


MEMORY = """
import resource, sys
import d2l_ext, paddle
n = int(sys.argv[1])
layer = d2l_ext.MultiHeadAttention(16, 16, 16, 16, 2, 0)
X = paddle.randn([1, n, 16])
X.stop_gradient = False
layer(X[:, :64], X[:, :64], X[:, :64], None).sum().backward()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
layer(X, X, X, [n - 100]).sum().backward()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kB on Linux")
def test_memory_is_not_that_of_the_scores():
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, "6000"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout.split()[-1]) < 2 * 6000 * 6000 * 4 / 1024 / 3
