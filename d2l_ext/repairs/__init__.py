"""The repairs of d2l, as one table: what was wrong, where, and what replaces it.

Inside d2l every function reaches the others through the module, so replacing a name
there repairs its callers as well. Each replacement is this package's own.
"""

from . import (
    basics,
    chapter_10,
    data,
    detection,
    devices,
    optimization,
    process,
    recurrent,
    translation,
)
from ._table import Repair, Where, book

TOPICS = (
    process,
    data,
    basics,
    devices,
    recurrent,
    translation,
    chapter_10,
    optimization,
    detection,
)
REPAIRS = tuple(repair for topic in TOPICS for repair in topic.REPAIRS)

__all__ = ["REPAIRS", "TOPICS", "Repair", "Where", "book"]
