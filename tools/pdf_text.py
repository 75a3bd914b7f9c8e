"""What a PDF says its characters are: for searching, copying and reading aloud.

Chromium looks up a character by its shape. Chinese fonts draw a radical, as U+2F00, and
the character that looks the same, as U+4E00, with one shape, and the radical is found
first: a reader who searches for the word misses it.
"""

import re
import unicodedata

from pypdf import PdfWriter
from pypdf.generic import NameObject, TextStringObject

# Those whose NFKC form is not the character that simplified Chinese has in the place.
RADICALS = str.maketrans(
    "⼾⺎⺒⺓⺟⺠⻁⻄⻅⻆⻉⻋⻓⻔⻘⻙⻚⻛⻜⻝⻢⻣⻤⻥⻦⻧⻨⻩⻬⻮⻰⻳",
    "户兀巳幺母民虎西见角贝车长门青韦页风飞食马骨鬼鱼鸟卤麦黄齐齿龙龟",
)
RADICAL = re.compile("[\u2e80-\u2fdf]")
HEAD = """\
/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def
/CMapName /Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
<{first}> <{last}>
endcodespacerange
"""
FOOT = """\
endcmap
CMapName currentdict /CMap defineresource pop
end
end
"""


def character(text):
    """The text with characters for radicals."""
    return RADICAL.sub(
        lambda found: unicodedata.normalize("NFKC", found[0].translate(RADICALS)), text
    )


def characters(cmap):
    """{code in hexadecimal: text} from what a font's ToUnicode stream says."""
    found = {}
    for kind, body in re.findall(r"beginbf(char|range)(.*?)endbf", cmap, re.DOTALL):
        hexes = re.findall("<([0-9A-Fa-f]+)>", body)
        step = 2 if kind == "char" else 3
        for first, *last, text in zip(*(hexes[i::step] for i in range(step))):
            text = bytes.fromhex(text).decode("utf-16-be")
            for more in range(int(last[0], 16) - int(first, 16) + 1 if last else 1):
                code = f"{int(first, 16) + more:0{len(first)}X}"
                found[code] = text[:-1] + chr(ord(text[-1]) + more)
    return found


def as_cmap(found):
    """The stream's text for {code: text}; a block of it has at most 100 entries."""
    width = len(next(iter(found)))
    text = HEAD.format(first="0" * width, last="F" * width)
    entries = [
        f"<{code}> <{char.encode('utf-16-be').hex().upper()}>\n"
        for code, char in sorted(found.items())
    ]
    for start in range(0, len(entries), 100):
        block = entries[start : start + 100]
        text += f"{len(block)} beginbfchar\n{''.join(block)}endbfchar\n"
    return text + FOOT


def correct(reader, titles):
    """A PDF's bytes, with characters for radicals, and with titles in the outline.

    Chromium leaves formulas out of the outline's titles, so all are given, in order.
    """
    writer = PdfWriter(reader, incremental=True)
    streams = {
        id(stream): stream
        for page in writer.pages
        for font in map(resolved, page["/Resources"].get("/Font", {}).values())
        if (stream := font.get("/ToUnicode")) is not None
    }
    for stream in map(resolved, streams.values()):
        found = characters(stream.get_data().decode("ascii"))
        if any(map(RADICAL.search, found.values())):
            right = {code: character(text) for code, text in found.items()}
            stream.set_data(as_cmap(right).encode("ascii"))
    name_outline(resolved(writer.root_object["/Outlines"]), iter(titles))
    return writer


def resolved(thing):
    return thing.get_object()


def name_outline(item, titles):
    """Give the items below one their titles, each before those below it."""
    child = item.get("/First")
    while child is not None:
        child = resolved(child)
        child[NameObject("/Title")] = TextStringObject(next(titles))
        name_outline(child, titles)
        child = child.get("/Next")
