"""The targets, and whether what was measured meets them."""

from typing import NamedTuple

from .cases import (
    BOTH,
    EPOCH,
    FORWARD,
    IMPORT,
    LABELS,
    MEMORY,
    Key,
)
from .ratios import ratio


class Target(NamedTuple):
    """One ratio that is wanted: ``one`` takes at most ``limit`` times the other.

    Attributes:
        aim: more than what is asked for; named where it is missed, all the same.
    """

    key: Key
    one: str
    other: str
    limit: float
    aim: bool = False

    def __str__(self):
        what = ", ".join(part for part in self.key if part)
        return f"{what}: {label(self.one)} / {label(self.other)}"


def label(entrant):
    name, _, variant = entrant.partition(", ")
    return ", ".join(part for part in (LABELS.get(name, name), variant) if part)


def _pair(where, shape, one, other, forward, both, aim=False):
    """Targets of both passes."""
    limits = zip((FORWARD, BOTH), (forward, both))
    return [Target(Key(where, shape, p), one, other, lim, aim) for p, lim in limits]


# Parts of d2l's time, and of PyTorch's.
ONE, ALL = "one core", "all cores"
TARGETS = [
    *_pair(ONE, "S1", "ours", "d2l", 0.35, 0.50),
    *_pair(ONE, "S2", "ours", "d2l", 0.37, 0.42),
    *_pair(ONE, "S1", "ours", "torch.d2l", 1, 1),
    *_pair(ONE, "S2", "ours", "torch.d2l", 1, 1),
    *_pair(ONE, "S1", "ours", "torch.F", 1, 1, aim=True),
    *_pair(ONE, "S2", "ours", "torch.F", 1, 1, aim=True),
    *_pair(ONE, "S3", "ours", "d2l", 0.49, 0.72),
    *_pair(ONE, "S4", "ours", "d2l", 0.43, 0.58),
    *_pair(ONE, "S5", "ours", "d2l", 0.42, 0.62),
    *_pair(ONE, "S3", "ours, MKL", "d2l", 0.24, 0.34),
    *_pair(ONE, "S4", "ours, MKL", "d2l", 0.18, 0.24),
    *_pair(ONE, "S4", "ours, MKL", "torch.F", 0.86, 0.81),
    *_pair(ALL, "S4", "ours, MKL", "torch.F", 1, 1, aim=True),
    *_pair(ALL, "S5", "ours, MKL", "torch.F", 1, 1, aim=True),
    *_pair(MEMORY, "S6", "ours", "d2l", 0.03, 0.03),
    *_pair(MEMORY, "S6", "ours", "ours, half n", 2.2, 2.2),
    Target(Key(IMPORT, ""), "import d2l_ext", "import paddle", 1.05),
    Target(Key(ONE, EPOCH), "ours", "torch.d2l", 1),
    Target(Key(ALL, EPOCH), "ours", "torch.d2l", 1),
]

MET, MISSED, NOT_MEASURED = "met", "MISSED", "not measured"


def marks(measured, targets=TARGETS):
    """(target, ratio or None, mark) of each; the median decides."""
    rows = []
    for target in targets:
        found = ratio(measured.get(target.key, {}), target.one, target.other)
        if found is None:
            mark = NOT_MEASURED
        else:
            mark = MET if found.median <= target.limit else MISSED
        rows.append((target, found, mark))
    return rows


def wanted(key, targets=TARGETS):
    """The entrants of a key that a target is about, and whom readers look for first."""
    rows = (target for target in targets if target.key == key)
    first = {"ours", "ours, MKL", "d2l", "torch.F"}
    return first.union(*((row.one, row.other) for row in rows))
