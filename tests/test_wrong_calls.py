"""Whatever is passed to a public name, it works, or the error says what was wrong.

The texts for the likely mistakes are in the tables WRONG_CALLS beside the other tests.
Here each argument of each public name gets everything that one can think of: there must
be no argument without a check, and no raw error of Paddle, NumPy or matplotlib.
"""

import inspect

import numpy as np
import paddle
import pytest
from matplotlib import pyplot

import d2l_ext


def t(*shape, dtype="float32"):
    return paddle.ones(shape, dtype=dtype)


class Opaque:
    def __repr__(self):
        return "Opaque()\n" * 100  # an error shows a part of it, in one line


ODD = {
    "None": None,
    "True": True,
    "0": 0,
    "-1": -1,
    "1.5": 1.5,
    "nan": float("nan"),
    "1j": 1j,
    "10**30": 10**30,
    "text": "abc",
    "[]": [],
    "{}": {},
    "ragged list": [[1], [1, 2]],
    "[None]": [None],
    "function": len,
    "object": Opaque(),
    "layer": paddle.nn.Linear(2, 2),
    "dtype": paddle.float32,
    "NumPy float": np.float32(1),
    "NumPy int": np.int8(3),
    "array": np.ones((2, 3)),
    "array of objects": np.array([None, 1], dtype=object),
    "array of texts": np.array(["a", "b"]),
    "array of bools": np.array([True, False]),
    "float tensor": t(),
    "int tensor": t(dtype="int64"),
    "1 axis": t(7),
    "2 axes": t(2, 3),
    "3 axes": t(2, 3, 7),
    "3 other axes": t(3, 2, 7),
    "4 axes": t(1, 2, 3, 7),
    "ints": t(2, 3, 7, dtype="int64"),
    "bools": t(2, 3, 7, dtype="bool"),
    "complex": t(2, 3, 7, dtype="complex64"),
    "float64": t(2, 3, 7, dtype="float64"),
    "float16": t(2, 3, 7, dtype="float16"),
    "no examples": t(0, 3, 7),
    "no tokens": t(2, 0, 7),
    "no size": t(2, 3, 0),
    "nothing": t(0),
}

LENS = [3, 2]
QKV = {"queries": t(2, 3, 7), "keys": t(2, 5, 11), "values": t(2, 5, 13)}
DECODER = {
    "key_size": 6,
    "query_size": 6,
    "value_size": 6,
    "num_hiddens": 6,
    "norm_shape": [6],
    "ffn_num_input": 6,
    "ffn_num_hiddens": 11,
    "num_heads": 2,
    "dropout": 0.1,
}
BLOCK = {**DECODER, "use_bias": False}
# Right calls: each argument is replaced in turn.
CALLS = {
    "masked_softmax": {"X": t(2, 3, 5), "valid_lens": LENS},
    "transpose_qkv": {"X": t(2, 3, 10), "num_heads": 5},
    "transpose_output": {"X": t(10, 3, 2), "num_heads": 5},
    "AdditiveAttention": {
        "key_size": 11,
        "query_size": 7,
        "num_hiddens": 3,
        "dropout": 0.1,
    },
    "AdditiveAttention.forward": {**QKV, "valid_lens": LENS},
    "DotProductAttention": {"dropout": 0.1},
    "DotProductAttention.forward": {**QKV, "keys": t(2, 5, 7), "valid_lens": LENS},
    "MultiHeadAttention": {
        "key_size": 11,
        "query_size": 7,
        "value_size": 13,
        "num_hiddens": 6,
        "num_heads": 2,
        "dropout": 0.1,
        "bias": False,
    },
    "MultiHeadAttention.forward": {**QKV, "valid_lens": LENS},
    "PositionalEncoding": {"num_hiddens": 7, "dropout": 0.1, "max_len": 5},
    "PositionalEncoding.forward": {"X": t(2, 3, 7), "start": 1},
    "RotaryEncoding": {"num_hiddens": 14, "max_len": 5},
    "RotaryEncoding.forward": {"X": t(2, 3, 14), "start": 1},
    "ALiBi": {"num_heads": 3},
    "ALiBi.forward": {"num_queries": 3, "num_keys": 5},
    "AttentionDecoder": {},
    "Seq2SeqAttentionDecoder": {
        "vocab_size": 17,
        "embed_size": 5,
        "num_hiddens": 7,
        "num_layers": 1,
        "dropout": 0.1,
    },
    "Seq2SeqAttentionDecoder.init_state": {
        "enc_outputs": (t(5, 2, 7), t(1, 2, 7)),
        "enc_valid_lens": LENS,
    },
    "Seq2SeqAttentionDecoder.forward": {
        "X": t(2, 3, dtype="int64"),
        "state": [t(2, 5, 7), t(1, 2, 7), LENS],
    },
    "PositionWiseFFN": {
        "ffn_num_input": 7,
        "ffn_num_hiddens": 11,
        "ffn_num_outputs": 13,
    },
    "PositionWiseFFN.forward": {"X": t(2, 3, 7)},
    "AddNorm": {"normalized_shape": [7], "dropout": 0.1},
    "AddNorm.forward": {"X": t(2, 3, 7), "Y": t(2, 3, 7)},
    "EncoderBlock": BLOCK,
    "EncoderBlock.forward": {"X": t(2, 3, 6), "valid_lens": LENS},
    "TransformerEncoder": {"vocab_size": 17, **BLOCK, "num_layers": 1},
    "TransformerEncoder.forward": {"X": t(2, 3, dtype="int64"), "valid_lens": LENS},
    "DecoderBlock": {**DECODER, "i": 0},
    "DecoderBlock.forward": {"X": t(2, 3, 6), "state": [t(2, 5, 6), LENS, [None]]},
    "TransformerDecoder": {"vocab_size": 17, **DECODER, "num_layers": 1},
    "TransformerDecoder.init_state": {
        "enc_outputs": t(2, 5, 6),
        "enc_valid_lens": LENS,
    },
    "TransformerDecoder.forward": {
        "X": t(2, 3, dtype="int64"),
        "state": [t(2, 5, 6), LENS, [None]],
    },
    "plot": {
        "X": [1, 2, 3],
        "Y": [1, 2, 3],
        "xlabel": "x",
        "ylabel": "y",
        "legend": ["a"],
        "xlim": [0, 1],
        "ylim": [1, 2],
        "xscale": "linear",
        "yscale": "log",
        "fmts": ["-"],
        "figsize": (3, 2),
        "axes": None,
    },
    "show_heatmaps": {
        "matrices": t(1, 1, 3, 4),
        "xlabel": "x",
        "ylabel": "y",
        "titles": ["a"],
        "figsize": (2, 2),
        "cmap": "Reds",
    },
    "explore": {"draw": lambda: d2l_ext.plot([1, 2])},
}
WITHOUT_ARGUMENTS = {"__version__", "d2l_repairs", "patch_d2l"}


def callable_of(name):
    """The public function or class, or the forward of such a class made as above."""
    name, _, method = name.partition(".")
    public = getattr(d2l_ext, name)
    return getattr(public(**CALLS[name]), method) if method else public


def test_every_argument_of_every_public_name_is_here():
    assert set(d2l_ext.__all__) - WITHOUT_ARGUMENTS == {
        name.partition(".")[0] for name in CALLS
    }
    for name, good in CALLS.items():
        parameters = inspect.signature(callable_of(name)).parameters.values()
        variable = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        names = {p.name for p in parameters if p.kind not in variable}
        assert names == set(good), name


@pytest.mark.parametrize(
    "name, argument", [(name, a) for name, good in CALLS.items() for a in good]
)
def test_it_works_or_the_error_names_the_argument(name, argument):
    function, good = callable_of(name), CALLS[name]
    function(**good)
    for what, odd in ODD.items():
        try:
            function(**{**good, argument: odd})
        except (TypeError, ValueError) as error:
            text = str(error)
            # What is right by itself may not fit the other arguments: either is named.
            assert any(name in text for name in good), (what, text)
            assert "got" in text and "\n" not in text and len(text) < 300, (what, text)
            names_it = argument in text or what in (
                "3 other axes",
                "no examples",
                "no size",
            )
            assert names_it, (what, text)
        pyplot.close("all")
