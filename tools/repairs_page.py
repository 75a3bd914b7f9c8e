"""Write docs/d2l-repairs.md from the table of repairs: python tools/repairs_page.py"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "d2l-repairs.md"
INTRODUCTION = """\
# What is repaired in d2l

`d2l_ext.patch_d2l()` repairs the package `d2l` 0.17.6 (its module `d2l.paddle`) in
place. What works on the versions at hand is left alone: `d2l_ext.d2l_repairs()` says
what was repaired here.

This page is written by `python tools/repairs_page.py`.

## Faults of d2l
"""
CELLS_INTRODUCTION = """\
## Faults in the book's own cells

Some cells fail by themselves, not by d2l. Nothing is replaced in Paddle or pandas for
them; this is the smallest change that makes each kind run.
"""


def page():
    """The text of the page."""
    from d2l_ext.repairs import REPAIRS
    from d2l_ext.repairs.cells import CELLS

    repairs = [(f"`{r.name}`", r.section, r.wrong, r.where.text) for r in REPAIRS]
    cells = [(f"`{c.line}`", f"`{c.change}`", c.why, c.where.text) for c in CELLS]
    heads = (
        ("name", "section", "what was wrong", "on which versions"),
        ("in the cell", "write", "why", "on which versions"),
    )
    parts = [INTRODUCTION, table(heads[0], repairs)]
    parts += [CELLS_INTRODUCTION, table(heads[1], cells)]
    return "\n".join(parts)


def table(head, rows):
    """A Markdown table; a text may hold a bar."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(
        "| " + " | ".join(text.replace("|", r"\|") for text in line) + " |\n"
        for line in lines
    )


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    PAGE.write_bytes(page().encode())
