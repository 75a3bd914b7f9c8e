"""What is measured: shapes, entrants, and the settings they run under."""

from typing import NamedTuple


class Key(NamedTuple):
    """One row of measurements: everything in it was timed alternately.

    Attributes:
        where: "one core", "all cores" or "GPU"; for what has no such choice, its topic.
        what: a shape, or another thing that is measured.
        part: a pass, or "".
    """

    where: str
    what: str
    part: str = ""


class Shape(NamedTuple):
    batch: int
    n: int
    d: int
    heads: int


SHAPES = {
    "S1": Shape(2, 4, 100, 5),
    "S2": Shape(64, 10, 32, 4),
    "S3": Shape(8, 128, 256, 8),
    "S4": Shape(2, 1024, 512, 8),
    "S5": Shape(1, 4096, 256, 4),
    "S6": Shape(1, 16384, 128, 2),
    "S6, half n": Shape(1, 8192, 128, 2),  # for how memory grows
}
TIMED = ["S1", "S2", "S3", "S4", "S5"]  # S6 is only run once, for its memory
FORWARD, BOTH = "forward", "forward + backward"
PASSES = [FORWARD, BOTH]
EPOCH, POSITIONS, IMPORT, MEMORY = "epoch of 10.7", "positions", "import", "memory"

# Entrants, and what the tables call them. Those of a library run in processes of their
# own: two OpenMP libraries in one would be in each other's way.
PADDLE = {
    "ours": "d2l_ext",
    "d2l": "d2l (Paddle)",
    "paddle.nn": "paddle.nn.MultiHeadAttention",
    "paddle.F": "Paddle's F.scaled_dot_product_attention",
    "GEMM": "GEMM of the same flops (Paddle)",
}
TORCH = {
    "torch.d2l": "d2l (PyTorch)",
    "torch.nn": "torch.nn.MultiheadAttention",
    "torch.F": "PyTorch's F.scaled_dot_product_attention",
    "torch.GEMM": "GEMM of the same flops (PyTorch)",
}
LABELS = {**PADDLE, **TORCH}

# Variables that Paddle, or its MKL, reads once, when it is imported: a process each.
# KMP_BLOCKTIME: after a call its threads wait for more work, busily, for 200 ms, and so
# take the cores from whoever is timed next; now for 1 ms.
MKL, OMP = "MKL", "OMP"
_MKL = {"MKL_DEBUG_CPU_TYPE": "5"}
_OMP = {"OMP_NUM_THREADS": "{cores}", "KMP_BLOCKTIME": "1"}
VARIABLES = {"": {}, MKL: _MKL, OMP: _OMP, f"{MKL}+{OMP}": {**_MKL, **_OMP}}


def variants(where, amd):
    """The settings of Paddle to try, each with the entrants that run under it."""
    found = {"": list(PADDLE)}
    if where == "GPU":
        return found
    if amd:  # nobody knows what it does elsewhere
        found[MKL] = ["ours", "d2l", "GEMM"]
    if where == "all cores":
        found[f"{MKL}+{OMP}" if amd else OMP] = ["ours", "d2l"]
    return found


def entrant(name, variant=""):
    """An entrant under a setting, such as "ours, MKL"."""
    return f"{name}, {variant}" if variant else name


def flops(shape, lens, part):
    """What has to be computed: four projections, and scores and sums of valid keys."""
    tokens = shape.batch * shape.n
    once = 8 * tokens * shape.d**2 + 4 * shape.n * int(sum(lens)) * shape.d
    return once if part == FORWARD else 3 * once
