"""Chapter 10, attention: the public names of this package take over."""

from .. import attention, figures, positional
from ._table import EVERYWHERE, Repair

REPAIRS = (
    Repair(
        "masked_softmax",
        "10.3",
        "A row of valid length 0 averages padding; -1e6 loses to scores below it.",
        EVERYWHERE,
        attention.masked_softmax,
    ),
    *(
        Repair(
            layer.__name__,
            section,
            "Shapes that do not fit broadcast silently; weights are kept as a buffer; "
            "fails on a length without axes for a batch of one.",
            EVERYWHERE,
            layer,
        )
        for section, layer in (
            ("10.3", attention.AdditiveAttention),
            ("10.3", attention.DotProductAttention),
            ("10.5", attention.MultiHeadAttention),
        )
    ),
    Repair(
        "PositionalEncoding",
        "10.6",
        "Odd num_hiddens fails; max_len=1 broadcasts; the float32 table is inexact.",
        EVERYWHERE,
        positional.PositionalEncoding,
    ),
    Repair(
        "plot",
        "2.4",
        "Draws at most four curves, and into the last figure; fails on tensors with "
        "gradients.",
        EVERYWHERE,
        figures.plot,
    ),
    Repair(
        "show_heatmaps",
        "10.1",
        "One colour bar for panels that are scaled one by one; four axes only.",
        EVERYWHERE,
        figures.show_heatmaps,
    ),
)
