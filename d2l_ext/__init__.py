"""Attention and positional encoding for the Paddle edition of Dive into Deep Learning.

The classes and functions are drop-ins for those of the book's package ``d2l``
(chapter 10): same names, same arguments, same parameter names. ``patch_d2l`` puts
them into an installed ``d2l.paddle`` and repairs the rest of it, so that the book's own
cells run again; ``d2l_repairs`` lists what was wrong.

Importing this package imports Paddle, and neither d2l nor matplotlib nor pandas:
those are loaded when a figure is drawn or d2l is patched.
"""

from ._paddle import paddle as _paddle  # first: a clear message where Paddle is missing
from .attention import (
    AdditiveAttention,
    DotProductAttention,
    MultiHeadAttention,
    masked_softmax,
    transpose_output,
    transpose_qkv,
)
from .figures import plot, show_heatmaps
from .positional import PositionalEncoding
from .repair import d2l_repairs, patch_d2l
from .seq2seq import AttentionDecoder, Seq2SeqAttentionDecoder
from .transformer import (
    AddNorm,
    DecoderBlock,
    EncoderBlock,
    PositionWiseFFN,
    TransformerDecoder,
    TransformerEncoder,
)

__version__ = "0.1.0"

__all__ = [
    "AddNorm",
    "AdditiveAttention",
    "AttentionDecoder",
    "DecoderBlock",
    "DotProductAttention",
    "EncoderBlock",
    "MultiHeadAttention",
    "PositionWiseFFN",
    "PositionalEncoding",
    "Seq2SeqAttentionDecoder",
    "TransformerDecoder",
    "TransformerEncoder",
    "__version__",
    "d2l_repairs",
    "masked_softmax",
    "patch_d2l",
    "plot",
    "show_heatmaps",
    "transpose_output",
    "transpose_qkv",
]

del _paddle
