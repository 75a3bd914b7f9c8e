"""The figures that the book draws by hand, drawn by code: one module each."""

from .multi_head import multi_head
from .sequence_models import sequence_models
from .weighted_sum import weighted_sum

__all__ = ["multi_head", "sequence_models", "weighted_sum"]
