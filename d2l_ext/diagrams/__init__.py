"""The figures that the book draws by hand, drawn by code: one module each."""

from .sequence_models import sequence_models

__all__ = ["sequence_models"]
