"""Attention and positional encoding for the Paddle edition of Dive into Deep Learning.

The classes and functions are drop-ins for those of the book's package ``d2l``
(chapter 10): same names, same arguments, same parameter names. ``patch_d2l`` puts
them into an installed ``d2l.paddle`` and repairs the rest of it, so that the book's own
cells run again; ``d2l_repairs`` lists what was wrong.

Importing this package imports Paddle, and neither d2l nor matplotlib nor pandas:
those are loaded when a figure is drawn or d2l is patched. Nor does it import its own
modules for that, until one of their names is used. ``python -m d2l_ext.doctor`` tells
why a notebook fails, also where Paddle cannot be imported.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._start import for_doctor as _for_doctor
from ._start import keep_own_path as _keep_own_path

if _for_doctor():  # which runs also where Paddle does not
    _keep_own_path()
else:
    from ._paddle import (
        paddle as _paddle,
    )  # first: a clear message where Paddle is missing
    from .attention import (
        AdditiveAttention,
        DotProductAttention,
        MultiHeadAttention,
        masked_softmax,
        transpose_output,
        transpose_qkv,
    )
    from .positional import PositionalEncoding
    from .seq2seq import AttentionDecoder, Seq2SeqAttentionDecoder
    from .transformer import (
        AddNorm,
        DecoderBlock,
        EncoderBlock,
        PositionWiseFFN,
        TransformerDecoder,
        TransformerEncoder,
    )

    del _paddle

__version__ = "0.1.0"

__all__ = [
    "ALiBi",
    "AddNorm",
    "AdditiveAttention",
    "AttentionDecoder",
    "DecoderBlock",
    "DotProductAttention",
    "EncoderBlock",
    "MultiHeadAttention",
    "PositionWiseFFN",
    "PositionalEncoding",
    "RotaryEncoding",
    "Seq2SeqAttentionDecoder",
    "TransformerDecoder",
    "TransformerEncoder",
    "__version__",
    "d2l_repairs",
    "explore",
    "masked_softmax",
    "patch_d2l",
    "plot",
    "show_heatmaps",
    "transpose_output",
    "transpose_qkv",
]

_LATER = {
    "ALiBi": "alibi",
    "RotaryEncoding": "rotary",
    "d2l_repairs": "repair",
    "explore": "interactive",
    "patch_d2l": "repair",
    "plot": "figures",
    "show_heatmaps": "figures",
}
_MODULES = (
    "alibi",
    "diagrams",
    "figures",
    "interactive",
    "progress",
    "repair",
    "repairs",
    "rotary",
    "translation",
)

if _TYPE_CHECKING:
    from . import diagrams as diagrams
    from . import translation as translation
    from .alibi import ALiBi
    from .figures import plot, show_heatmaps
    from .interactive import explore
    from .repair import d2l_repairs, patch_d2l
    from .rotary import RotaryEncoding
else:  # not for mypy, which would take any name for one of the package's

    def __getattr__(name: str) -> object:
        """Load what few programs need, when it is asked for."""
        if name in _MODULES:
            return _import_module(f"{__name__}.{name}")
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(_import_module(f"{__name__}.{_LATER[name]}"), name)
        globals()[name] = value  # once: from now on it is found without this function
        return value

    def __dir__() -> list[str]:
        """Name also what is not loaded yet: Tab completes it."""
        return sorted({*globals(), *_LATER, *_MODULES})
