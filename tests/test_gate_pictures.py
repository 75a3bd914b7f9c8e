"""What the comparison of pictures forgives, and what it does not.

The two stored pictures are those of `curves` and `heat_map` here, as matplotlib 3.11
drew them: with any version before these tests compare across versions. To draw them
again: `python -m tests.test_gate_pictures` in an environment with that version.
"""

import functools
import io
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tests.gate import pictures

STORED = Path(__file__).parent / "gate"


def png(figure):
    """As the inline backend's retina format draws it."""
    data = io.BytesIO()
    with matplotlib.rc_context(matplotlib.rcParamsDefault):
        figure.savefig(data, format="png", dpi=200, bbox_inches="tight")
    return data.getvalue()


@functools.lru_cache(None)
def curves(
    delay=0.0,
    columns=(6, 7, 8, 9),
    colors="bmgr",
    label="Col 6",
    noise=0.0,
    xlabel="Row (position)",
    grid=True,
    ticks=(0, 20, 40, 60),
):
    axes = Figure(figsize=(6, 2.5)).subplots()
    row = np.arange(60)
    for column, color in zip(columns, colors):
        scale = 10000 ** (column // 2 * 2 / 32)
        shift = delay * 2 * np.pi * (column == 7)
        y = (np.cos if column % 2 else np.sin)(row / scale + shift) + noise * np.sin(
            row**2
        )
        axes.plot(row, y, color, label=f"Col {column}" if column > 6 else label)
    axes.set(xlabel=xlabel, xticks=ticks)
    axes.legend(loc="lower left")
    axes.grid(grid)
    return png(axes.figure)


@functools.lru_cache(None)
def heat_map(change=0.0, cmap="Blues", ylabel="Row (position)", noise=0.0):
    axes = Figure(figsize=(3.5, 4)).subplots()
    data = 0.9 * np.sin(np.arange(60)[:, None] / 10000 ** (np.arange(32) / 32))
    data[30, 10] += change
    data += noise * np.cos(np.arange(60 * 32) ** 2).reshape(60, 32)
    axes.figure.colorbar(axes.imshow(data, cmap=cmap), ax=axes, shrink=0.6)
    axes.set(xlabel="Column (encoding dimension)", ylabel=ylabel)
    return png(axes.figure)


DRAW = {"curves": curves, "heat_map": heat_map}
CHANGES = [
    ("curves", {"delay": 0.1}),
    ("curves", {"delay": 0.05}),
    ("curves", {"columns": (6, 7, 8)}),
    ("curves", {"colors": "bmgc"}),
    ("curves", {"colors": "bkgr"}),
    ("curves", {"label": "Col 8"}),
    ("curves", {"label": "Col 5"}),
    ("curves", {"xlabel": "Row (positian)"}),
    ("curves", {"xlabel": "row (position)"}),
    ("curves", {"grid": False}),
    ("curves", {"ticks": (0, 20, 40, 50)}),
    ("heat_map", {"change": -0.3}),
    ("heat_map", {"cmap": "Greens"}),
    ("heat_map", {"cmap": "PuBu"}),
    ("heat_map", {"ylabel": "Row (positian)"}),
]


def as_if_by_another_version(data):
    text = PngInfo()
    text.add_text("Software", "Matplotlib version99.0, https://matplotlib.org/")
    changed = io.BytesIO()
    Image.open(io.BytesIO(data)).save(changed, "png", pnginfo=text)
    return changed.getvalue()


def stored(name):
    return (STORED / (f"{name}_by_matplotlib_3_11.png")).read_bytes()


@pytest.mark.parametrize("name", DRAW)
@pytest.mark.parametrize("noise", [0, 1e-6, 1e-5])
def test_last_bits_of_the_data_are_forgiven(name, noise):
    same = DRAW[name]()
    assert pictures.difference(same, DRAW[name](noise=noise)) is None


def test_no_shift_is_searched_for_between_equal_pictures(monkeypatch):
    monkeypatch.setattr(pictures, "left_over", None)
    same = curves()
    assert pictures.difference(same, same) is None
    assert pictures.difference(same, as_if_by_another_version(same)) is None
    with pytest.raises(TypeError):
        pictures.difference(same, curves(delay=0.1))


@pytest.mark.parametrize("name", DRAW)
def test_other_version_is_forgiven(name):
    assert pictures.difference(stored(name), DRAW[name]()) is None
    assert pictures.difference(DRAW[name](), stored(name)) is None


@pytest.mark.parametrize("name, change", CHANGES, ids=str)
def test_change_is_found(name, change):
    assert "picture" in pictures.difference(DRAW[name](), DRAW[name](**change))


@pytest.mark.parametrize("name, change", CHANGES, ids=str)
def test_change_is_found_across_versions(name, change):
    assert "picture" in pictures.difference(stored(name), DRAW[name](**change))
    loose = as_if_by_another_version(DRAW[name]())
    assert "drawn by Matplotlib version99.0" in pictures.difference(
        loose, DRAW[name](**change)
    )


@pytest.mark.parametrize(
    "stored_by, drawn_by, loosely",
    [
        ("3.8.4", "3.10.9", False),
        ("3.10.9", "3.10.8", False),
        ("3.11.0", "3.11.2", False),
        ("3.10.9", "3.11.0", True),
        ("3.12.0", "3.11.0", True),
    ],
)
def test_versions_that_draw_alike_are_compared_tightly(stored_by, drawn_by, loosely):
    image = Image.open(io.BytesIO(curves()))
    moved = Image.fromarray(np.roll(np.asarray(image), 3, axis=1))
    data = []
    for picture, version in ((image, stored_by), (moved, drawn_by)):
        info, file = PngInfo(), io.BytesIO()
        info.add_text("Software", f"Matplotlib version{version}, https://x")
        picture.save(file, "png", pnginfo=info)
        data.append(file.getvalue())
    assert (pictures.difference(*data) is None) == loosely


def test_only_other_versions_are_compared_loosely():
    image = Image.open(io.BytesIO(curves()))
    moved, info = io.BytesIO(), PngInfo()
    info.add_text("Software", image.info["Software"])
    Image.fromarray(np.roll(np.asarray(image), 3, axis=1)).save(
        moved, "png", pnginfo=info
    )
    moved = moved.getvalue()
    assert "the picture differs" in pictures.difference(curves(), moved)
    assert pictures.difference(as_if_by_another_version(moved), curves()) is None


def image(color, size=(40, 30), kind="png"):
    data = io.BytesIO()
    Image.new("RGB", size, color).save(data, kind)
    return data.getvalue()


def test_transparent_is_white():
    clear = io.BytesIO()
    Image.new("RGBA", (40, 30), (255, 0, 0, 0)).save(clear, "png")
    assert pictures.difference(image("red"), clear.getvalue()) == (
        "the fresh picture is all white"
    )
    assert pictures.difference(image("white"), image("white")) == (
        "the stored picture is all white"
    )


def test_jpeg():
    assert (
        pictures.difference(image("red", kind="jpeg"), image("red", kind="jpeg"))
        is None
    )
    assert "the picture differs wholly: 1200 of 1200 pixels" in pictures.difference(
        image("red", kind="jpeg"), image("blue", kind="jpeg")
    )


def test_size():
    assert pictures.difference(image("red"), image("red", (42, 30))) == (
        "the picture has another size: expected 40 x 30 pixels, found 42 x 30"
    )
    grown = as_if_by_another_version(image("red", (46, 30)))
    assert "another size" in pictures.difference(curves(), grown)


@pytest.mark.parametrize("cut", [0, 20, 100, -12, -4])
def test_broken(cut):
    whole = curves()
    assert pictures.difference(whole[:cut], whole).startswith(
        "the stored picture is broken"
    )
    assert pictures.difference(whole, whole[:cut]).startswith(
        "the fresh picture is broken"
    )
    assert pictures.difference(whole[:cut], whole[:cut]).startswith(
        "the stored picture is broken"
    )


def test_flipped_bit_is_broken():
    whole = bytearray(image("red"))
    whole[45] ^= 1
    assert "is broken" in pictures.difference(bytes(whole), image("red"))


if __name__ == "__main__":
    for each, draw in DRAW.items():
        (STORED / (f"{each}_by_matplotlib_3_11.png")).write_bytes(draw())
