"""Figures drawn by code: those that the book draws by hand, and two of ours."""

from .attention_cues import involuntary_cue, volitional_cue
from .attention_lines import attention_lines
from .attention_pooling import attention_pooling
from .clocks import clocks
from .encoder_decoder import encoder_decoder
from .multi_head import multi_head
from .sequence_models import sequence_models
from .transformer import transformer
from .weighted_sum import weighted_sum

__all__ = [
    "attention_lines",
    "attention_pooling",
    "clocks",
    "encoder_decoder",
    "involuntary_cue",
    "multi_head",
    "sequence_models",
    "transformer",
    "volitional_cue",
    "weighted_sum",
]
