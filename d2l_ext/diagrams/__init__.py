"""The figures that the book draws by hand, drawn by code: one module each."""

from .sequence_models import sequence_models
from .weighted_sum import weighted_sum

__all__ = ["sequence_models", "weighted_sum"]
