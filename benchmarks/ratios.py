"""Ratios of times that were taken alternately, round by round."""

from statistics import median
from typing import NamedTuple


class Ratio(NamedTuple):
    median: float
    low: float
    high: float
    rounds: int

    def __str__(self):
        if self.rounds == 1:
            return f"{self.median:.2f}"
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


def ratio(times, one, other):
    """How many times as long one took as the other, or None where one is missing.

    ``times`` has a list for each entrant, with an item for each round; entrants that
    take long sit out some rounds (None).
    """
    pairs = zip(times.get(one, []), times.get(other, []))
    found = [a / b for a, b in pairs if a is not None and b is not None]
    if not found:
        return None
    return Ratio(median(found), min(found), max(found), len(found))


def typical(times, one):
    """The median of the rounds that an entrant took part in, or None."""
    found = [t for t in times.get(one, []) if t is not None]
    return median(found) if found else None
