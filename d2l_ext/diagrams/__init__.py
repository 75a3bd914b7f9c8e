"""The figures that the book draws by hand, drawn by code."""

from .attention_cues import involuntary_cue, volitional_cue
from .attention_pooling import attention_pooling
from .sequence_models import sequence_models

__all__ = [
    "attention_pooling",
    "involuntary_cue",
    "sequence_models",
    "volitional_cue",
]
