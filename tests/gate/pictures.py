"""Compare the picture stored in a notebook with the one drawn afresh.

Each neighbourhood of WINDOW x WINDOW pixels may lie up to `reach` pixels elsewhere, and
then each pixel anywhere between the darkest and the lightest of the pixels next to it.
What is still left of the difference is added up over the neighbourhood: it must not be
more than `limit`.

matplotlib writes its version into its PNGs, so two cases can be told apart:

SAME_TEXT. Only the last bits of the data can differ. Measured, they change a pixel by 2
of 255 levels, and now and then a tick or its label is rounded to the next pixel. All
versions from 3.8 to 3.10 draw the same pixels, so this holds between them as well.

OTHER_TEXT. FreeType was replaced in matplotlib 3.11: letters lie up to 3 pixels
elsewhere and are cut differently, lines move by 1. Measured between 3.10 and 3.11, at
most 440 is left for the same curves, heat maps and diagrams, and at least 570 where a
letter, a line, a colour or a cell changed. Text smaller than 9 points, and labels so
long that their ends move farther, are beyond that: such figures need the version that
drew them.
"""

import io
import itertools
import re

import numpy as np
from PIL import Image

SAME_TEXT = {"reach": 1, "limit": 100}
OTHER_TEXT = {"reach": 3, "limit": 520}
WINDOW = 7
IGNORED_LEVELS = 8  # of 255: nobody sees them
TILE = 64  # pixels; only for speed
WHITE = 255


class BrokenPicture(ValueError):
    """The bytes are not a whole picture."""


def read(data):
    """Return the pixels, (height, width, 3) on white, and the program that wrote it."""
    try:
        image = Image.open(io.BytesIO(data))
        image.load()
    except Exception as error:  # Pillow has some ten types for broken files
        raise BrokenPicture(f"is broken ({error})") from error
    if image.format == "PNG" and not data.endswith(b"IEND\xaeB`\x82"):
        raise BrokenPicture(
            "is broken (its end is missing)"
        )  # Pillow reads it all the same
    rgba = image.convert("RGBA")
    page = Image.new("RGBA", rgba.size, "white")
    page.alpha_composite(rgba)
    return np.asarray(page.convert("RGB")).astype(np.int32), image.info.get("Software")


def difference(stored, fresh):
    """Return what differs between two pictures (bytes) as a clause, or None."""
    try:
        expected, expected_by = read(stored)
    except BrokenPicture as error:
        return f"the stored picture {error}"
    try:
        found, found_by = read(fresh) if fresh != stored else (expected, expected_by)
    except BrokenPicture as error:
        return f"the fresh picture {error}"
    for name, pixels in (("stored", expected), ("fresh", found)):
        if (pixels == WHITE).all():
            return f"the {name} picture is all white"
    renderers = {_renderer(expected_by), _renderer(found_by)}
    if len(renderers) == 2 and None not in renderers:
        problem = _compare(expected, found, **OTHER_TEXT)
        old, new = expected_by.split(",")[0], found_by.split(",")[0]
        return problem and f"{problem} (drawn by {old}, now by {new})"
    return _compare(expected, found, **SAME_TEXT)


def _renderer(software):
    """The version of matplotlib that decides how text looks; None if it is another."""
    version = re.match(r"Matplotlib version(\d+)\.(\d+)", software or "")
    return version and max((3, 10), tuple(map(int, version.groups())))


def _compare(expected, found, reach, limit):
    if np.array_equal(expected, found):
        return None  # the usual case; to search for shifts takes a tenth of a second
    if max(abs(a - b) for a, b in zip(expected.shape, found.shape)) > reach:
        old, new = (f"{p.shape[1]} x {p.shape[0]}" for p in (expected, found))
        return f"the picture has another size: expected {old} pixels, found {new}"
    pair = on_one_size(expected, found)
    score = left_over(*pair, reach, limit)
    bad = score > limit
    # Letters farther apart in one picture fit the neighbourhoods of the other only.
    if not bad.any() or left_over(*pair[::-1], reach, limit).max() <= limit:
        return None
    y, x = np.unravel_index(score.argmax(), score.shape)
    share = bad.mean()
    size = "in a few spots" if share < 0.01 else "partly" if share < 0.2 else "wholly"
    return (
        f"the picture differs {size}: {bad.sum()} of {bad.size} pixels, most at {x} "
        f"from the left and {y} from the top, by {score.max() / limit:.1f} times what "
        "is allowed"
    )


def left_over(expected, found, reach, limit):
    """Return, for each pixel, what is left of the difference around it.

    Shifts are tried, tile by tile, small ones first, until it is within the limit.
    """
    height, width = expected.shape[:2]
    margin = (reach + WINDOW // 2,) * 2
    stack = [
        np.pad(a, (margin, margin, (0, 0)), constant_values=WHITE)
        for a in (expected, *_range(expected), found, *_range(found))
    ]
    total = np.zeros((height, width))
    for y in range(0, height, TILE):
        for x in range(0, width, TILE):
            h, w = min(TILE, height - y), min(TILE, width - x)
            tiles = [
                a[y : y + h + 2 * margin[0], x : x + w + 2 * margin[0]] for a in stack
            ]
            total[y : y + h, x : x + w] = _best_shift(tiles, reach, limit)
    return total


def _best_shift(tiles, reach, limit):
    h, w = (size - 2 * reach for size in tiles[0].shape[:2])
    still = [a[reach : reach + h, reach : reach + w] for a in tiles[:3]]
    best = None
    for dy, dx in sorted(
        itertools.product(range(2 * reach + 1), repeat=2),
        key=lambda shift: max(abs(s - reach) for s in shift),
    ):
        moved = [a[dy : dy + h, dx : dx + w] for a in tiles[3:]]
        outside = np.maximum.reduce(
            (
                still[1] - moved[0],
                moved[0] - still[2],
                moved[1] - still[0],
                still[0] - moved[2],
            )
        ).max(-1)
        total = _window_sum(np.maximum(outside - IGNORED_LEVELS, 0))
        best = total if best is None else np.minimum(best, total)
        if best.max() <= limit:
            break
    return best


def on_one_size(*pictures):
    """Add white at the right and at the bottom until all have the same size."""
    height, width = np.max([p.shape[:2] for p in pictures], axis=0)
    return [
        np.pad(
            p,
            ((0, height - p.shape[0]), (0, width - p.shape[1]), (0, 0)),
            constant_values=WHITE,
        )
        for p in pictures
    ]


def _range(picture):
    """The darkest and the lightest value among each pixel and the 8 next to it."""
    p = np.pad(picture, ((1, 1), (1, 1), (0, 0)), mode="edge")
    for extreme in (np.minimum, np.maximum):
        rows = extreme(extreme(p[:-2], p[1:-1]), p[2:])
        yield extreme(extreme(rows[:, :-2], rows[:, 1:-1]), rows[:, 2:])


def _window_sum(values):
    total = np.pad(values, ((1, 0), (1, 0))).cumsum(0).cumsum(1)
    return (
        total[WINDOW:, WINDOW:]
        - total[:-WINDOW, WINDOW:]
        - total[WINDOW:, :-WINDOW]
        + total[:-WINDOW, :-WINDOW]
    )


def image_of_difference(stored, fresh):
    """Return a picture, white where both agree, or None if one is broken."""
    try:
        expected, found = on_one_size(read(stored)[0], read(fresh)[0])
    except BrokenPicture:
        return None
    return Image.fromarray((WHITE - np.abs(expected - found)).astype(np.uint8))
