import numpy as np
import paddle
import pytest

import d2l_ext
from tests import reference


def encoding(num_hiddens, max_len=1000, dropout=0):
    layer = d2l_ext.PositionalEncoding(num_hiddens, dropout, max_len)
    layer.eval()
    return layer


def test_values_that_others_published():
    # https://github.com/zhouhaoyi/Informer2020/issues/224 and two more: odd sizes.
    expected = [0.841471, 0.540302, 0.025116, 0.999685, 0.000631]
    np.testing.assert_allclose(encoding(5).P[0, 1].numpy(), expected, atol=5e-7)


@pytest.mark.parametrize("num_hiddens", [1, 2, 3, 32, 101])
def test_table_is_the_float64_formula_rounded_once(num_hiddens):
    layer = encoding(num_hiddens, 997)
    assert tuple(layer.P.shape) == (1, 997, num_hiddens)
    assert layer.P.dtype == paddle.float32
    expected = reference.positional_encoding(997, num_hiddens)
    # Half a unit in the last place below 1 is 2**-25; libm may differ in float64.
    assert np.abs(layer.P[0].numpy() - expected).max() <= 2**-25 + 1e-12


def test_max_len_is_the_book_s_where_none_is_given():
    assert tuple(d2l_ext.PositionalEncoding(2, 0).P.shape) == (1, 1000, 2)


@pytest.mark.parametrize("n", [1, 13])
def test_adds_the_first_rows(n):
    X = np.random.default_rng(0).normal(size=(3, n, 7)).astype("float32")
    output = encoding(7, 13)(paddle.to_tensor(X))
    expected = X + reference.positional_encoding(n, 7)
    np.testing.assert_allclose(output.numpy(), expected, rtol=0, atol=5e-7)


@pytest.mark.parametrize(
    "dtype, tolerance",
    [("float16", 5e-4), ("bfloat16", 4e-3), ("float32", 6e-8), ("float64", 1e-15)],
)
@pytest.mark.parametrize("training", [False, True])
def test_output_has_the_input_s_dtype(dtype, tolerance, training):
    layer = encoding(7, 13)
    if training:
        layer.train()
    output = layer(paddle.zeros([2, 13, 7]).astype(dtype))
    assert output.dtype == getattr(paddle, dtype)
    values = output.astype("float64")[1].numpy()
    expected = reference.positional_encoding(13, 7)
    np.testing.assert_allclose(values, expected, rtol=0, atol=tolerance)


def test_default_dtype_sets_the_table_s():
    paddle.set_default_dtype("float64")
    try:
        table = encoding(7, 13).P
    finally:
        paddle.set_default_dtype("float32")
    assert table.dtype == paddle.float64
    expected = reference.positional_encoding(13, 7)
    np.testing.assert_allclose(table[0].numpy(), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("of_layer, of_input, tolerance", [
    ("float64", "float64", 1e-15),
    ("float16", "float32", 1e-7),
    ("bfloat16", "float64", 1e-15),
    ("bfloat16", "float16", 5e-4),
])  # fmt: skip
def test_layer_of_another_dtype_is_as_exact_as_its_input(of_layer, of_input, tolerance):
    layer = encoding(7, 13)
    layer.to(dtype=of_layer)
    output = layer(paddle.zeros([1, 13, 7], of_input))
    assert output.dtype == getattr(paddle, of_input)
    expected = reference.positional_encoding(13, 7)
    found = output[0].astype("float64").numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_dropout_works_in_training_alone(dtype):
    layer = encoding(7, 13, dropout=0.5)
    X = paddle.full([3, 13, 7], 5.0).astype(dtype)
    assert (layer(X) != 0).all()
    layer.train()
    output = layer(X)
    dropped = (output == 0).astype("float32").mean().item()
    assert output.dtype == X.dtype and 0.3 < dropped < 0.7


def test_the_table_that_is_added_is_p():
    layer = encoding(7, 13)
    layer.P.set_value(paddle.full([1, 13, 7], 2.0))
    assert (layer(paddle.ones([2, 11, 7])).numpy() == 3).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nothing_is_computed_in_a_wider_dtype(dtype):
    layer, seen = encoding(7, 13), []
    layer.dropout.register_forward_pre_hook(lambda _, given: seen.extend(given))
    layer(paddle.ones([2, 11, 7], dtype))
    assert [tensor.dtype for tensor in seen] == [getattr(paddle, dtype)]


def test_checkpoint_does_not_depend_on_max_len():
    short, long = encoding(4, 10), encoding(4, 20)
    assert list(short.state_dict()) == []
    short.set_state_dict(long.state_dict())
    assert tuple(short.P.shape) == (1, 10, 4)
    assert [name for name, _ in short.named_buffers()] == ["P"]


def test_input_is_not_written():
    X = paddle.zeros([1, 3, 5])
    encoding(5)(X)
    assert (X.numpy() == 0).all()


@pytest.mark.parametrize("shape", [(0, 3, 5), (2, 0, 5)])
def test_empty_input_gives_empty_output(shape):
    assert tuple(encoding(5)(paddle.zeros(shape)).shape) == shape


def call(layer, *shape, dtype="float32"):
    return layer(paddle.zeros(shape, dtype=dtype))


WRONG_CALLS = [
    (lambda: call(encoding(7, 3), 1, 5, 7), ValueError, r"X must have at most max_len \(3\) on axis 1, got 5 in shape \(1, 5, 7\)"),
    (lambda: call(encoding(7, 1), 1, 5, 7), ValueError, r"X must have at most max_len \(1\) on axis 1, got 5 in shape \(1, 5, 7\)"),
    (lambda: call(encoding(7), 2, 3, 1), ValueError, r"X must have num_hiddens \(7\) on axis 2, got 1 in shape \(2, 3, 1\)"),
    (lambda: call(encoding(1), 2, 3, 7), ValueError, r"X must have num_hiddens \(1\) on axis 2, got 7 in shape \(2, 3, 7\)"),
    (lambda: call(encoding(7), 3, 7), ValueError, r"X must have 3 axes \(batch, n, num_hiddens\), got shape \(3, 7\)"),
    (lambda: call(encoding(7), 2, 3, 7, dtype="int64"), TypeError, "X must be of a floating point type, got .*int64"),
    (lambda: encoding(7)(np.zeros((2, 3, 7))), TypeError, "X must be a paddle.Tensor, got ndarray"),
    (lambda: encoding(0), ValueError, "num_hiddens must be at least 1, got 0"),
    (lambda: encoding(7.0), TypeError, "num_hiddens must be an integer, got float 7.0"),
    (lambda: encoding(7, 0), ValueError, "max_len must be at least 1, got 0"),
    (lambda: encoding(7, dropout=-0.1), ValueError, "dropout must lie between 0 and 1, got -0.1"),
    (lambda: encoding(7, dropout=float("nan")), ValueError, "dropout must lie between 0 and 1, got nan"),
]  # fmt: skip


@pytest.mark.parametrize("wrong, error, message", WRONG_CALLS)
def test_wrong_calls_say_what_was_expected_and_what_came(wrong, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        wrong()
