import numpy as np
import paddle
import pytest

import d2l_ext
from tests import reference

# All sizes are different primes: an axis that is swapped cannot go unnoticed.
BATCH, QUERIES, KEYS, QUERY_SIZE, KEY_SIZE, VALUE_SIZE = 2, 3, 5, 7, 11, 13
LENS_1D, LENS_2D = [3, 4], [[1, 5, 2], [3, 4, 1]]


@pytest.fixture(autouse=True)
def same_weights_and_dropout_in_every_run():
    paddle.seed(0)


def random(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def inputs(query_size=QUERY_SIZE, key_size=KEY_SIZE):
    """Arrays for queries, keys and values."""
    return (
        random(BATCH, QUERIES, query_size),
        random(BATCH, KEYS, key_size),
        random(BATCH, KEYS, VALUE_SIZE),
    )


def tensors(arrays):
    return [paddle.to_tensor(a) for a in arrays]


def weight(layer):
    return layer.weight.numpy().astype("float64")


def close(tensor, expected, tolerance=2e-6):
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=0, atol=tolerance)


class TestMaskedSoftmax:
    @pytest.mark.parametrize("lens", [None, LENS_1D, LENS_2D])
    def test_agrees_with_the_reference(self, lens):
        X = random(BATCH, QUERIES, KEYS)
        weights = d2l_ext.masked_softmax(paddle.to_tensor(X), lens)
        close(weights, reference.masked_softmax(X, lens))
        if lens is not None:
            assert (weights.numpy()[0, 0, np.ravel(lens)[0] :] == 0).all()

    @pytest.mark.parametrize("lens", [LENS_1D, LENS_2D])
    @pytest.mark.parametrize(
        "dtype",
        ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"],
    )
    def test_lengths_of_every_type_mean_the_same(self, lens, dtype):
        X = paddle.to_tensor(random(BATCH, QUERIES, KEYS))
        expected = d2l_ext.masked_softmax(X, lens).numpy()
        array = np.array(lens, dtype=dtype)
        for same in (array, paddle.to_tensor(array), array.tolist()):
            assert (d2l_ext.masked_softmax(X, same).numpy() == expected).all()

    @pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
    def test_lengths_of_numpy_types_that_paddle_lacks(self, dtype):
        X = paddle.zeros([1, 1, 4])
        weights = d2l_ext.masked_softmax(X, np.array([2], dtype=dtype))
        assert weights.tolist() == [[[0.5, 0.5, 0, 0]]]

    def test_lengths_beyond_int64_mask_nothing(self):
        lens = np.array([2**64 - 1], dtype="uint64")
        weights = d2l_ext.masked_softmax(paddle.zeros([1, 1, 2]), lens)
        assert weights.tolist() == [[[0.5, 0.5]]]

    @pytest.mark.parametrize("length, kept", [(2.5, 3), (1e30, 4), (float("inf"), 4)])
    def test_lengths_that_are_no_counts(self, length, kept):
        weights = d2l_ext.masked_softmax(paddle.zeros([1, 1, 4]), [length])
        close(weights, [[[1 / kept if k < kept else 0 for k in range(4)]]], 1e-7)

    def test_other_lengths_on_the_same_scores(self):
        X = paddle.zeros([1, 1, 4])
        two, four = (d2l_ext.masked_softmax(X, [n]).tolist() for n in (2, 4))
        assert two == [[[0.5, 0.5, 0, 0]]]
        assert four == [[[0.25, 0.25, 0.25, 0.25]]]
        assert X.tolist() == [[[0, 0, 0, 0]]]

    @pytest.mark.parametrize("lens", [[0, 2], [-3, 2]])
    def test_row_without_a_valid_key_is_zero_and_its_gradient_finite(self, lens):
        X = paddle.zeros([2, 1, 3])
        X.stop_gradient = False
        weights = d2l_ext.masked_softmax(X, lens)
        assert weights.tolist() == [[[0, 0, 0]], [[0.5, 0.5, 0]]]
        (weights * paddle.to_tensor([1.0, 2.0, 3.0])).sum().backward()
        # d/dx of w0 + 2 w1 at w = (1/2, 1/2) is (-1/4, 1/4); padding gets nothing.
        assert X.grad.tolist() == [[[0, 0, 0]], [[-0.25, 0.25, 0]]]

    @pytest.mark.parametrize("padding", [3.4e38, -3.4e38, 0.0])
    @pytest.mark.parametrize("valid", [-3.4e38, -1e7, 1e7, 3.4e38])
    def test_no_finite_score_matters_behind_the_mask(self, valid, padding):
        X = paddle.to_tensor([[[valid, valid, padding, padding]]], dtype="float32")
        weights = d2l_ext.masked_softmax(X, [2])
        assert weights.tolist() == [[[0.5, 0.5, 0, 0]]]

    @pytest.mark.parametrize("padding", [float("nan"), float("inf"), -float("inf")])
    def test_scores_that_are_not_finite_stay_behind_the_mask(self, padding):
        X = paddle.to_tensor([[[1.0, 1.0, padding]]] * 2, stop_gradient=False)
        weights = d2l_ext.masked_softmax(X, [2, 0])
        assert weights.tolist() == [[[0.5, 0.5, 0]], [[0, 0, 0]]]
        (weights * paddle.to_tensor([1.0, 2.0, 3.0])).sum().backward()
        assert X.grad.tolist() == [[[-0.25, 0.25, 0]], [[0, 0, 0]]]

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
    def test_dtype_is_kept_and_the_mask_is_exact(self, dtype):
        X = paddle.to_tensor([[[6e4, 6e4, -6e4]]], dtype="float32").astype(dtype)
        weights = d2l_ext.masked_softmax(X, [2])
        assert weights.dtype == X.dtype
        assert weights.astype("float32").tolist() == [[[0.5, 0.5, 0]]]
        assert d2l_ext.masked_softmax(X, None).dtype == X.dtype

    def test_float64_keeps_its_precision(self):
        X = random(BATCH, QUERIES, KEYS).astype("float64")
        weights = d2l_ext.masked_softmax(paddle.to_tensor(X), LENS_1D)
        close(weights, reference.masked_softmax(X, LENS_1D), 1e-15)

    def test_arguments_are_not_written(self):
        X, lens = paddle.ones([1, 1, 3]), paddle.to_tensor([2.0])
        leaf = paddle.ones([1, 1, 3])
        leaf.stop_gradient = False
        d2l_ext.masked_softmax(X, lens)
        d2l_ext.masked_softmax(leaf, lens)[0, 0, 0].backward()
        assert X.tolist() == leaf.tolist() == [[[1, 1, 1]]]
        assert lens.tolist() == [2]
        assert leaf.grad.tolist() == [[[0.25, -0.25, 0]]]

    @pytest.mark.parametrize("shape", [(0, 3, 5), (2, 0, 5), (2, 3, 0)])
    def test_empty_scores_give_empty_weights(self, shape):
        X = paddle.zeros(shape)
        lens = np.ones(shape[0], dtype="int64")
        assert tuple(d2l_ext.masked_softmax(X, lens).shape) == shape
        assert tuple(d2l_ext.masked_softmax(X, None).shape) == shape


class TestDotProductAttention:
    @pytest.mark.parametrize("lens", [None, LENS_1D, LENS_2D])
    def test_agrees_with_the_reference(self, lens):
        arrays = inputs(key_size=QUERY_SIZE)
        layer = d2l_ext.DotProductAttention(0.5)
        layer.eval()
        output, weights = reference.dot_product_attention(*arrays, lens)
        close(layer(*tensors(arrays), lens), output)
        close(layer.attention_weights, weights)

    def test_toy_data_of_the_book(self):
        # Equal keys: the outputs are the plain means of the first 2 and 6 values.
        keys = paddle.ones([2, 10, 2])
        values = paddle.arange(40, dtype="float32").reshape([1, 10, 4]).tile([2, 1, 1])
        layer = d2l_ext.DotProductAttention(0)
        output = layer(paddle.randn([2, 1, 2]), keys, values, [2, 6])
        close(output, [[[2, 3, 4, 5]], [[10, 11, 12, 13]]], 1e-5)

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    def test_half_precision(self, dtype):
        Q, K, V = (t.astype(dtype) for t in tensors(inputs(key_size=QUERY_SIZE)))
        layer = d2l_ext.DotProductAttention(0.5)
        for training in (layer.eval, layer.train):
            training()
            output = layer(Q, K, V, LENS_1D)
            assert output.dtype == Q.dtype
            assert np.isfinite(output.astype("float32").numpy()).all()
        exact = [t.astype("float32").numpy() for t in (Q, K, V)]
        layer.eval()
        output = layer(Q, K, V, LENS_1D).astype("float32")
        close(output, reference.dot_product_attention(*exact, LENS_1D)[0], 2e-2)

    def test_weights_are_kept_before_dropout(self):
        layer = d2l_ext.DotProductAttention(0.999)
        arrays = inputs(key_size=QUERY_SIZE)
        layer(*tensors(arrays), LENS_1D)
        expected = reference.dot_product_attention(*arrays, LENS_1D)[1]
        close(layer.attention_weights, expected)

    def test_weights_are_no_part_of_the_state(self):
        layer = d2l_ext.DotProductAttention(0)
        assert layer.attention_weights is None
        layer(*tensors(inputs(key_size=QUERY_SIZE)))
        assert list(layer.buffers()) == []
        assert list(layer.state_dict()) == []

    def test_gradient_flows_into_all_three(self):
        Q, K, V = tensors(inputs(key_size=QUERY_SIZE))
        for t in (Q, K, V):
            t.stop_gradient = False
        d2l_ext.DotProductAttention(0)(Q, K, V, [0, 3]).sum().backward()
        assert all(np.isfinite(t.grad.numpy()).all() for t in (Q, K, V))
        assert (K.grad.numpy()[1, 3:] == 0).all()
        assert (V.grad.numpy()[0] == 0).all()

    def test_keys_that_are_padding_for_every_query_may_hold_anything(self):
        arrays = inputs(key_size=QUERY_SIZE)
        layer = d2l_ext.DotProductAttention(0)
        expected = reference.dot_product_attention(*arrays, LENS_2D)[0]
        for array in arrays[1:]:
            array[1, 4] = np.nan  # the second example's longest length is 4
        close(layer(*tensors(arrays), LENS_2D), expected)


class TestAdditiveAttention:
    @pytest.mark.parametrize("lens", [None, LENS_1D, LENS_2D])
    def test_agrees_with_the_reference(self, lens):
        layer = d2l_ext.AdditiveAttention(KEY_SIZE, QUERY_SIZE, 17, 0.5)
        layer.eval()
        matrices = [weight(w) for w in (layer.W_q, layer.W_k, layer.w_v)]
        arrays = inputs()
        output, weights = reference.additive_attention(*arrays, lens, *matrices)
        close(layer(*tensors(arrays), lens), output)
        close(layer.attention_weights, weights)

    def test_parameter_names_are_the_book_s(self):
        layer = d2l_ext.AdditiveAttention(2, 3, 5, 0)
        shapes = {k: tuple(v.shape) for k, v in layer.state_dict().items()}
        assert shapes == {
            "W_k.weight": (2, 5),
            "W_q.weight": (3, 5),
            "w_v.weight": (5, 1),
        }


class TestMultiHeadAttention:
    HEADS, HIDDENS = 3, 51  # 17 for each head

    def layer(self, dropout=0.5, bias=False):
        sizes = (KEY_SIZE, QUERY_SIZE, VALUE_SIZE)
        return d2l_ext.MultiHeadAttention(
            *sizes, self.HIDDENS, self.HEADS, dropout, bias
        )

    @pytest.mark.parametrize("lens", [None, LENS_1D, LENS_2D])
    def test_agrees_with_the_reference(self, lens):
        layer = self.layer()
        layer.eval()
        matrices = [weight(w) for w in (layer.W_q, layer.W_k, layer.W_v, layer.W_o)]
        arrays = inputs()
        output, weights = reference.multi_head_attention(
            *arrays, lens, *matrices, self.HEADS
        )
        close(layer(*tensors(arrays), lens), output)
        kept = layer.attention.attention_weights.numpy()
        assert kept.shape == (BATCH * self.HEADS, QUERIES, KEYS)
        for b in range(BATCH):
            for h in range(self.HEADS):
                expected = weights[h][b]
                np.testing.assert_allclose(
                    kept[b * self.HEADS + h], expected, rtol=0, atol=2e-6
                )

    def test_agrees_with_paddle_s_own_class(self):
        ours = d2l_ext.MultiHeadAttention(6, 6, 6, 6, 2, 0, bias=True)
        theirs = paddle.nn.MultiHeadAttention(6, 2)
        for a, b in [("W_q", "q_proj"), ("W_k", "k_proj"), ("W_v", "v_proj")]:
            getattr(theirs, b).set_state_dict(getattr(ours, a).state_dict())
        theirs.out_proj.set_state_dict(ours.W_o.state_dict())
        Q, K = (paddle.to_tensor(random(2, n, 6)) for n in (3, 5))
        mask = paddle.to_tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], dtype="bool")
        expected = theirs(Q, K, K, attn_mask=mask.reshape([2, 1, 1, 5]))
        close(ours(Q, K, K, LENS_1D), expected.numpy())

    def test_section_10_6_gives_the_same_for_lengths_of_every_type(self):
        layer = d2l_ext.MultiHeadAttention(100, 100, 100, 100, 5, 0.5)
        layer.eval()
        X = paddle.ones([2, 4, 100])
        kinds = [paddle.to_tensor([3, 2], dtype=t) for t in ("int32", "int64")]
        kinds += [paddle.to_tensor([3.0, 2.0]), [3, 2], np.array([3, 2])]
        outputs = []
        for lens in kinds:
            outputs.append(layer(X, X, X, lens).numpy())
            weights = layer.attention.attention_weights[:, 0]
            close(weights, [[1 / 3] * 3 + [0]] * 5 + [[1 / 2] * 2 + [0] * 2] * 5, 1e-7)
        assert outputs[0].shape == (2, 4, 100)
        assert all((o == outputs[0]).all() for o in outputs)

    @pytest.mark.parametrize("bias", [False, True])
    def test_parameter_names_are_the_book_s(self, bias):
        kinds = ["weight", "bias"] if bias else ["weight"]
        names = [f"{w}.{k}" for w in ("W_q", "W_k", "W_v", "W_o") for k in kinds]
        assert list(self.layer(bias=bias).state_dict()) == names

    def test_padding_changes_nothing(self):
        layer = self.layer()
        layer.eval()
        Q, K, V = inputs()
        other_K, other_V = K.copy(), V.copy()
        for b, length in enumerate(LENS_1D):
            other_K[b, length:] = 1e6
            other_V[b, length:] = -1e6
        expected = layer(*tensors((Q, K, V)), LENS_1D).numpy()
        assert (
            layer(*tensors((Q, other_K, other_V)), LENS_1D).numpy() == expected
        ).all()

    def test_dropout_works_in_training_alone(self):
        layer, arguments = self.layer(dropout=0.5), [*tensors(inputs()), LENS_1D]
        one, other = (layer(*arguments).numpy() for _ in range(2))
        assert not np.allclose(one, other)
        layer.eval()
        one, other = (layer(*arguments).numpy() for _ in range(2))
        assert (one == other).all()

    def test_sample_without_a_valid_key_gives_zero_and_finite_gradients(self):
        layer = self.layer(dropout=0)
        output = layer(*tensors(inputs()), [0, 3])
        assert (output.numpy()[0] == 0).all()
        output.sum().backward()
        assert all(np.isfinite(p.grad.numpy()).all() for p in layer.parameters())

    @pytest.mark.parametrize("bias", [None, paddle.ParamAttr(learning_rate=0.5)])
    def test_bias_may_be_whatever_paddle_takes(self, bias):
        layer = self.layer(bias=bias)
        assert layer.W_o.bias is not None
        rates = [layer.W_o.bias.optimize_attr["learning_rate"], 1.0]
        assert rates[0] == (rates[1] if bias is None else 0.5)

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    def test_half_precision_input_comes_back_as_such(self, dtype):
        layer = self.layer()
        layer.eval()
        exact = tensors(inputs())
        output = layer(*(t.astype(dtype) for t in exact), LENS_1D)
        assert output.dtype == getattr(paddle, dtype)
        expected = layer(*exact, LENS_1D).numpy()
        close(output.astype("float32"), expected, 5e-2)

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
    def test_bias_of_every_precision(self, dtype):
        """Of values that are 0 the heads pool b_v, whatever the weights: b_v W_o + b_o."""
        layer = self.layer(bias=True)
        layer.eval()
        for linear in (layer.W_v, layer.W_o):
            linear.bias.set_value(paddle.randn([self.HIDDENS]))
        layer.to(dtype=dtype)
        Q, K, V = (t.astype(dtype) for t in tensors(inputs()))
        output = layer(Q, K, 0 * V, LENS_1D).astype("float64").numpy()
        b_v, b_o, W_o = (
            p.astype("float64").numpy()
            for p in (layer.W_v.bias, layer.W_o.bias, layer.W_o.weight)
        )
        expected = np.broadcast_to(b_v @ W_o + b_o, output.shape)
        tolerance = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 2e-6}[dtype]
        np.testing.assert_allclose(output, expected, rtol=0, atol=tolerance)

    def test_output_is_of_the_dtype_that_the_last_layer_gives(self):
        """Under amp on a GPU, linear layers give half precision for float32."""
        layer = self.layer()
        layer.W_o.register_forward_post_hook(lambda _, given, Y: Y.astype("float64"))
        assert layer(*tensors(inputs()), LENS_1D).dtype == paddle.float64


EMPTY = [
    # batch, queries, keys
    (0, 3, 5),
    (2, 0, 5),
    (2, 3, 0),
]


@pytest.mark.parametrize("batch, queries, keys", EMPTY)
@pytest.mark.parametrize("with_lens", [False, True])
@pytest.mark.parametrize("kind", ["dot", "additive", "multi"])
def test_nothing_to_attend_to_gives_zero_or_nothing(
    kind, with_lens, batch, queries, keys
):
    query_size = KEY_SIZE if kind == "dot" else QUERY_SIZE
    layer, value_size, heads = {
        "dot": (d2l_ext.DotProductAttention(0), VALUE_SIZE, 1),
        "additive": (
            d2l_ext.AdditiveAttention(KEY_SIZE, QUERY_SIZE, 3, 0),
            VALUE_SIZE,
            1,
        ),
        "multi": (TestMultiHeadAttention().layer(), TestMultiHeadAttention.HIDDENS, 3),
    }[kind]
    output = layer(
        paddle.ones([batch, queries, query_size]),
        paddle.ones([batch, keys, KEY_SIZE]),
        paddle.ones([batch, keys, VALUE_SIZE]),
        np.ones((batch, queries)) if with_lens else None,
    )
    assert tuple(output.shape) == (batch, queries, value_size)
    assert (output.numpy() == 0).all()
    weights = getattr(layer, "attention", layer).attention_weights
    assert tuple(weights.shape) == (heads * batch, queries, keys)


@pytest.mark.parametrize("keys, value_size", [(0, 13), (5, 0)])
def test_nothing_of_double_precision(keys, value_size):
    layer = d2l_ext.DotProductAttention(0)
    sizes = [(2, 3, 7), (2, keys, 7), (2, keys, value_size)]
    output = layer(*[paddle.ones(size, "float64") for size in sizes], [1, 2])
    assert tuple(output.shape) == (2, 3, value_size)
    assert tuple(layer.attention_weights.shape) == (2, 3, keys)
    assert output.dtype == layer.attention_weights.dtype == paddle.float64


@pytest.mark.parametrize("batch, queries, keys", EMPTY)
def test_nothing_of_double_precision_in_every_head(batch, queries, keys):
    layer = TestMultiHeadAttention().layer()
    layer.to(dtype="float64")
    sizes = [(queries, QUERY_SIZE), (keys, KEY_SIZE), (keys, VALUE_SIZE)]
    output = layer(*[paddle.ones([batch, *s], "float64") for s in sizes], None)
    assert tuple(output.shape) == (batch, queries, TestMultiHeadAttention.HIDDENS)
    weights = layer.attention.attention_weights
    assert output.dtype == weights.dtype == paddle.float64


class TestTransposes:
    def test_each_head_gets_its_part(self):
        X = random(2, 3, 10)
        split = d2l_ext.transpose_qkv(paddle.to_tensor(X), 5)
        assert tuple(split.shape) == (10, 3, 2)
        for b in range(2):
            for h in range(5):
                part = X[b, :, 2 * h : 2 * h + 2]
                assert (split.numpy()[5 * b + h] == part).all()

    @pytest.mark.parametrize("batch, n", [(0, 3), (2, 0)])
    def test_empty_tensors(self, batch, n):
        split = d2l_ext.transpose_qkv(paddle.ones([batch, n, 35]), 5)
        assert tuple(split.shape) == (5 * batch, n, 7)
        assert tuple(d2l_ext.transpose_output(split, 5).shape) == (batch, n, 35)

    def test_integers_too(self):
        X = paddle.arange(16).reshape([1, 2, 8])
        split = d2l_ext.transpose_qkv(X, 2)
        assert split.tolist() == [[[0, 1, 2, 3], [8, 9, 10, 11]],
                                  [[4, 5, 6, 7], [12, 13, 14, 15]]]  # fmt: skip

    def test_transpose_output_is_the_inverse(self):
        X = random(2, 3, 35)
        split = d2l_ext.transpose_qkv(paddle.to_tensor(X), 5)
        assert (d2l_ext.transpose_output(split, 5).numpy() == X).all()


def t(*shape, dtype="float32"):
    return paddle.zeros(shape, dtype=dtype)


def dot():
    return d2l_ext.DotProductAttention(0)


def additive():
    return d2l_ext.AdditiveAttention(11, 7, 3, 0)


def multi():
    return d2l_ext.MultiHeadAttention(11, 7, 13, 6, 2, 0)


LENS_OF_NUMBERS = "valid_lens must be a tensor, an array or a list of numbers in rows of equal length, got list "
LENS_WANTED = r"valid_lens must be of shape \(batch,\) = \(2,\) or \(batch, queries\) = \(2, 3\), got "
WRONG_CALLS = [
    (lambda: d2l_ext.masked_softmax([[1.0]], None), TypeError, "X must be a paddle.Tensor, got list"),
    (lambda: d2l_ext.masked_softmax(t(2, 3, 5, dtype="int64"), None), TypeError, "X must be of a floating point type, got .*int64"),
    (lambda: d2l_ext.masked_softmax(t(), None), ValueError, r"X must have at least 1 axis, got shape \(\)"),
    (lambda: d2l_ext.masked_softmax(t(3, 5), [1]), ValueError, r"X must have 3 axes \(batch, queries, keys\), got shape \(3, 5\)"),
    (lambda: d2l_ext.masked_softmax(t(2, 3, 5), [1]), ValueError, LENS_WANTED + r"\(1,\)"),
    (lambda: d2l_ext.masked_softmax(t(2, 3, 5), 3), ValueError, LENS_WANTED + r"\(\)"),
    (lambda: d2l_ext.masked_softmax(t(2, 3, 5), [1, 2, 3]), ValueError, LENS_WANTED + r"\(3,\)"),
    (lambda: d2l_ext.masked_softmax(t(2, 3, 5), [[1, 2, 3]]), ValueError, LENS_WANTED + r"\(1, 3\)"),
    (lambda: d2l_ext.masked_softmax(t(2, 3, 5), [[1], [2]]), ValueError, LENS_WANTED + r"\(2, 1\)"),
    (lambda: d2l_ext.masked_softmax(t(2, 3, 5), t(2, 3, 1)), ValueError, LENS_WANTED + r"\(2, 3, 1\)"),
    (lambda: d2l_ext.masked_softmax(t(2, 3, 5), []), ValueError, LENS_WANTED + r"\(0,\)"),
    (lambda: d2l_ext.masked_softmax(t(2, 3, 5), ["a", "b"]), TypeError, LENS_OF_NUMBERS + r"\['a', 'b'\]"),
    (lambda: d2l_ext.masked_softmax(t(2, 3, 5), [True, False]), TypeError, LENS_OF_NUMBERS + r"\[True, False\]"),
    (lambda: d2l_ext.masked_softmax(t(2, 3, 5), [[1, 2], [3]]), TypeError, LENS_OF_NUMBERS + r"\[\[1, 2\], \[3\]\]"),
    (lambda: d2l_ext.masked_softmax(t(2, 3, 5), t(2, dtype="bool")), TypeError, "valid_lens must hold numbers, got .*bool"),
    (lambda: d2l_ext.DotProductAttention(1.5), ValueError, "dropout must lie between 0 and 1, got 1.5"),
    (lambda: d2l_ext.DotProductAttention(None), TypeError, "dropout must be a number from 0 to 1, got NoneType None"),
    (lambda: dot()(t(2, 7), t(2, 5, 7), t(2, 5, 13)), ValueError, r"queries must have 3 axes \(batch, queries, query size\), got shape \(2, 7\)"),
    (lambda: dot()(t(2, 3, 7), t(5, 7), t(2, 5, 13)), ValueError, r"keys must have 3 axes \(batch, keys, key size\), got shape \(5, 7\)"),
    (lambda: dot()(t(2, 3, 7), t(2, 5, 7), t(5, 13)), ValueError, r"values must have 3 axes \(batch, keys, value size\), got shape \(5, 13\)"),
    (lambda: dot()(t(2, 3, 7), None, t(2, 5, 13)), TypeError, "keys must be a paddle.Tensor, got NoneType"),
    (lambda: dot()(t(2, 3, 7), t(1, 5, 7), t(2, 5, 13)), ValueError, r"keys must have the batch size of queries \(2\) on axis 0, got 1 in shape \(1, 5, 7\)"),
    (lambda: dot()(t(2, 3, 7), t(2, 5, 7), t(1, 5, 13)), ValueError, r"values must have the batch size of queries \(2\) on axis 0, got 1 in shape \(1, 5, 13\)"),
    (lambda: dot()(t(2, 3, 7), t(2, 5, 7), t(2, 4, 13)), ValueError, r"values must have the number of keys \(5\) on axis 1, got 4 in shape \(2, 4, 13\)"),
    (lambda: dot()(t(2, 3, 7), t(2, 5, 11), t(2, 5, 13)), ValueError, r"keys must have the size of a query \(7\) on axis 2, got 11 in shape \(2, 5, 11\)"),
    (lambda: dot()(t(2, 3, 0), t(2, 5, 0), t(2, 5, 13)), ValueError, r"queries and keys must be of size 1 or more on axis 2, got 0 in shape \(2, 3, 0\)"),
    (lambda: dot()(t(2, 3, 7), t(2, 0, 7), t(2, 0, 13), [1]), ValueError, LENS_WANTED + r"\(1,\)"),
    (lambda: dot()(t(2, 3, 7), t(2, 5, 7), t(2, 5, 13), [1]), ValueError, LENS_WANTED + r"\(1,\)"),
    (lambda: dot()(t(2, 3, 7), t(2, 5, 7, dtype="float64"), t(2, 5, 13)), TypeError, "keys must have the dtype of queries, .*float32, got .*float64"),
    (lambda: dot()(t(2, 3, 7), t(2, 5, 7), t(2, 5, 13, dtype="float64")), TypeError, "values must have the dtype of queries, .*float32, got .*float64"),
    (lambda: multi()(*(t(2, 5, n, dtype="float64") for n in (7, 11, 13)), None), TypeError, "queries must have the dtype of the layer's weights, .*float32, got .*float64"),
    (lambda: additive()(*(t(2, 5, n, dtype="float64") for n in (7, 11, 13)), None), TypeError, "queries must have the dtype of the layer's weights, .*float32, got .*float64"),
    (lambda: additive()(t(2, 3, 7), t(1, 5, 11), t(2, 5, 13), None), ValueError, r"keys must have the batch size of queries \(2\) on axis 0, got 1 in shape \(1, 5, 11\)"),
    (lambda: additive()(t(2, 3, 1), t(2, 5, 11), t(2, 5, 13), None), ValueError, r"queries must have query_size \(7\) on axis 2, got 1 in shape \(2, 3, 1\)"),
    (lambda: additive()(t(2, 3, 7), t(2, 5, 1), t(2, 5, 13), None), ValueError, r"keys must have key_size \(11\) on axis 2, got 1 in shape \(2, 5, 1\)"),
    (lambda: d2l_ext.AdditiveAttention(0, 7, 3, 0), ValueError, "key_size must be at least 1, got 0"),
    (lambda: d2l_ext.AdditiveAttention(11, 7.0, 3, 0), TypeError, "query_size must be an integer, got float 7.0"),
    (lambda: d2l_ext.AdditiveAttention(11, 7, True, 0), TypeError, "num_hiddens must be an integer, got bool True"),
    (lambda: multi()(t(2, 3, 8), t(2, 5, 11), t(2, 5, 13), None), ValueError, r"queries must have query_size \(7\) on axis 2, got 8 in shape \(2, 3, 8\)"),
    (lambda: multi()(t(2, 3, 7), t(2, 5, 8), t(2, 5, 13), None), ValueError, r"keys must have key_size \(11\) on axis 2, got 8 in shape \(2, 5, 8\)"),
    (lambda: multi()(t(2, 3, 7), t(2, 5, 11), t(2, 5, 8), None), ValueError, r"values must have value_size \(13\) on axis 2, got 8 in shape \(2, 5, 8\)"),
    (lambda: multi()(t(2, 3, 7), t(2, 5, 11), t(2, 5, 13), [3, 2, 1, 4]), ValueError, LENS_WANTED + r"\(4,\)"),
    (lambda: multi()(t(2, 3, 7), t(2, 5, 11), t(2, 5, 13), [1]), ValueError, LENS_WANTED + r"\(1,\)"),
    (lambda: d2l_ext.MultiHeadAttention(1, 1, 1, 10, 3, 0), ValueError, "num_hiddens must be divisible by num_heads, got num_hiddens=10 and num_heads=3"),
    (lambda: d2l_ext.MultiHeadAttention(1, 1, 1, 10, 0, 0), ValueError, "num_heads must be at least 1, got 0"),
    (lambda: d2l_ext.MultiHeadAttention(1, 1, 1, 0, 2, 0), ValueError, "num_hiddens must be at least 1, got 0"),
    (lambda: d2l_ext.MultiHeadAttention(1, 0, 1, 10, 2, 0), ValueError, "query_size must be at least 1, got 0"),
    (lambda: d2l_ext.MultiHeadAttention(0, 1, 1, 10, 2, 0), ValueError, "key_size must be at least 1, got 0"),
    (lambda: d2l_ext.MultiHeadAttention(1, 1, None, 10, 2, 0), TypeError, "value_size must be an integer, got NoneType None"),
    (lambda: d2l_ext.transpose_qkv(t(2, 3, 10), 3), ValueError, r"X must have a multiple of num_heads \(3\) on axis 2, got 10 in shape \(2, 3, 10\)"),
    (lambda: d2l_ext.MultiHeadAttention(1, 1, 2**31, 10, 2, 0), ValueError, "value_size must be at most 2147483647, got 2147483648"),
    (lambda: d2l_ext.MultiHeadAttention(1, 1, t(2, 3), 10, 2, 0), TypeError, r"value_size must be an integer, got a tensor of shape \(2, 3\)"),
    (lambda: d2l_ext.MultiHeadAttention(1, 1, paddle.float32, 10, 2, 0), TypeError, r"value_size must be an integer, got \w+ .*32.*"),
    (lambda: d2l_ext.MultiHeadAttention(1, 1, 1, 10, 2, 0, bias=1.5), TypeError, "bias must be True, False, None or a paddle.ParamAttr, got float 1.5"),
    (lambda: d2l_ext.transpose_qkv(t(2, 10), 5), ValueError, r"X must have 3 axes \(batch, n, num_hiddens\), got shape \(2, 10\)"),
    (lambda: d2l_ext.transpose_qkv(None, 5), TypeError, "X must be a paddle.Tensor, got NoneType"),
    (lambda: d2l_ext.transpose_qkv(t(2, 3, 10), None), TypeError, "num_heads must be an integer, got NoneType None"),
    (lambda: d2l_ext.transpose_output(t(10, 3), 5), ValueError, r"X must have 3 axes \(batch \* num_heads, n, d\), got shape \(10, 3\)"),
    (lambda: d2l_ext.transpose_output(t(10, 3, 2), 0), ValueError, "num_heads must be at least 1, got 0"),
    (lambda: d2l_ext.transpose_output(t(10, 3, 2), 4), ValueError, r"X must have a multiple of num_heads \(4\) on axis 0, got 10 in shape \(10, 3, 2\)"),
]  # fmt: skip


@pytest.mark.parametrize("call, error, message", WRONG_CALLS)
def test_wrong_calls_say_what_was_expected_and_what_came(call, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        call()


def test_saved_program_takes_other_batches_and_lengths(tmp_path):
    class Net(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.encoding = d2l_ext.PositionalEncoding(14, 0)
            self.attention = d2l_ext.MultiHeadAttention(14, 14, 14, 14, 7, 0)

        def forward(self, X, valid_lens):
            X = self.encoding(X)
            return self.attention(X, X, X, valid_lens)

    net = Net()
    net.eval()
    sizes = [(2, 5), (3, 11)]
    inputs = [(paddle.randn((b, n, 14)), paddle.arange(1, b + 1)) for b, n in sizes]
    expected = [net(*given).numpy() for given in inputs]
    dynamic = (
        paddle.static.InputSpec([None, None, 14]),
        paddle.static.InputSpec([None], "int64"),
    )
    paddle.jit.save(net, str(tmp_path / "net"), input_spec=dynamic)
    loaded = paddle.jit.load(str(tmp_path / "net"))
    for given, output in zip(inputs, expected):
        close(loaded(*given), output, 1e-6)
