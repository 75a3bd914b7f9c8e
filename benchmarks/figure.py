"""The picture for the README: time beside d2l's, and memory as n grows."""

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from .cases import BOTH, FORWARD, MEMORY, SHAPES, TIMED, Key
from .ratios import ratio

# Entrants, their labels, colours and markers.
SERIES = {
    "d2l": ("d2l (Paddle)", "0.45", "v"),
    "paddle.nn": ("paddle.nn.MultiHeadAttention", "tab:olive", "s"),
    "torch.d2l": ("d2l (PyTorch)", "tab:purple", "D"),
    "torch.F": ("PyTorch's fused attention", "tab:red", "^"),
    "ours": ("d2l_ext", "tab:blue", "o"),
    "ours, MKL": ("d2l_ext, MKL_DEBUG_CPU_TYPE=5", "tab:cyan", "o"),
    "GEMM": ("GEMM of the same flops", "0.7", "x"),
}
TICKS = [0.05, 0.1, 0.2, 0.5, 1, 2]


def draw(measured, path):
    where = "one core" if Key("one core", "S1", FORWARD) in measured else "GPU"
    figure, axes = plt.subplots(
        1, 3, figsize=(10, 3.6), width_ratios=[3, 3, 2], layout="constrained"
    )
    for axis, part in zip(axes, (FORWARD, BOTH)):
        times(axis, measured, where, part)
    axes[0].set_ylabel("time / time of d2l (Paddle)")
    memory(axes[2], measured)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False
    )
    figure.savefig(path, dpi=110)
    plt.close(figure)


def times(axis, measured, where, part):
    """A point for each entrant and shape, the median, and a line for the range."""
    drawn = [name for name in SERIES if name != "d2l"]
    axis.axhline(1, color="0.45", lw=1, label=SERIES["d2l"][0])
    for i, name in enumerate(drawn):
        text, color, marker = SERIES[name]
        found = [
            ratio(measured.get(Key(where, s, part), {}), name, "d2l") for s in TIMED
        ]
        shift = (i - (len(drawn) - 1) / 2) * 0.11
        points = [(x + shift, r) for x, r in enumerate(found) if r is not None]
        if not points:
            continue
        xs, ys = [x for x, _ in points], [r.median for _, r in points]
        axis.plot(xs, ys, marker, color=color, ms=5, ls="", label=text)
        lows, highs = [r.low for _, r in points], [r.high for _, r in points]
        axis.vlines(xs, lows, highs, color=color, lw=1)
    axis.set(yscale="log", title=f"{part}, {where}")
    axis.set_xticks(
        range(len(TIMED)), [f"{s}\nn = {SHAPES[s].n}" for s in TIMED], fontsize=8
    )
    axis.set_yticks(TICKS, map(str, TICKS))
    axis.minorticks_off()
    axis.grid(axis="y", alpha=0.3)


def memory(axis, measured):
    """The peak at S6 and at half its n."""
    for name in "d2l", "torch.F", "ours":
        used = measured.get(Key(MEMORY, "S6", BOTH), {})
        ns = {", half n": SHAPES["S6"].n // 2, "": SHAPES["S6"].n}
        points = [
            (n, size / 1e6)
            for half, n in ns.items()
            for size in used.get(name + half, [])
        ]
        if points:
            _, color, marker = SERIES[name]
            axis.plot(*zip(*sorted(points)), marker + "-", color=color, ms=5)
    ticks = [SHAPES["S6"].n // 2, SHAPES["S6"].n]
    axis.set(xscale="log", yscale="log", xlabel="n", title="peak memory (MB), S6")
    axis.set_xticks(ticks, map(str, ticks), fontsize=8)
    axis.margins(x=0.2)
    axis.minorticks_off()
    axis.grid(alpha=0.3)
