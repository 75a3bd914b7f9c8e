"""Write the parameters that 10.7 trains, for notebooks that look inside its model.

    python tools/make_transformer.py

It executes the cells of 10.7 from the top to the one that trains (about two minutes).
A cell of 10.7 says on every run whether what is stored is what was trained.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import nbformat
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "notebooks" / "10-7-transformer.ipynb"
TARGET = ROOT / "d2l_ext" / "data" / "transformer-10-7.npz"
LAST = "train"  # id of the cell that trains


def trained() -> dict:
    """What the cells of 10.7 define, once they have trained."""
    names: dict = {}
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        if cell.cell_type == "code":
            exec(cell.source, names)
        if cell.id == LAST:
            return names
    raise LookupError(f"{NOTEBOOK.name} has no cell with the id {LAST!r}")


def main() -> None:
    matplotlib.use("Agg")
    names = trained()
    arrays = {
        "src_vocab": np.array(names["src_vocab"].idx_to_token),
        "tgt_vocab": np.array(names["tgt_vocab"].idx_to_token),
    }
    for name, parameter in names["net"].state_dict().items():
        exact = parameter.numpy()
        # Multiples of 2 ** -20 below 16 have at most 24 binary digits.
        arrays[name] = exact.astype("float32")
        assert np.array_equal(arrays[name], exact), name
    np.savez_compressed(TARGET, **arrays)
    print(f"{TARGET.relative_to(ROOT)}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
