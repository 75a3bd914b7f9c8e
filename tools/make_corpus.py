"""Write the English-French pairs of 10.4 and 10.7: numbers and dates in words.

    python tools/make_corpus.py

Needs num2words and babel, which know how both languages say them. The pairs are stored,
so that no notebook depends on the versions of those two; a test makes them anew.
"""

from __future__ import annotations

import datetime
import random
from pathlib import Path

from babel.dates import format_date
from num2words import num2words

DATA = Path(__file__).resolve().parent.parent / "d2l_ext" / "data"
PARTS = {"train": 1200, "held_out": 300}  # half of them numbers, half of them dates

Pair = tuple[str, str]


def words(text: str) -> str:
    """Lower case, with nothing but single spaces between the tokens."""
    return " ".join(text.lower().replace("-", " ").replace(",", " ").split())


def number(n: int) -> Pair:
    return words(num2words(n, lang="en")), words(num2words(n, lang="fr"))


def date(day: datetime.date) -> Pair:
    """The weekday, month and day, without the year: "mardi premier mars"."""
    english = format_date(day, "EEEE MMMM ", locale="en") + num2words(
        day.day, lang="en", to="ordinal"
    )
    french = num2words(day.day, lang="fr", to="ordinal" if day.day == 1 else "cardinal")
    weekday, month = format_date(day, "EEEE MMMM", locale="fr").split()
    return words(english), words(f"{weekday} {french} {month}")


def numbers(rng: random.Random) -> list[Pair]:
    """Up to 99, the round hundreds, and others of three and of four digits."""
    chosen = {*range(100), *range(100, 10_000, 100)}
    for digits in 3, 4:
        chosen |= {*rng.sample(range(10 ** (digits - 1), 10**digits), 400)}
    return [number(n) for n in sorted(chosen)]


def dates() -> list[Pair]:
    """Each day of 28 years: every weekday falls on every one, 29 February too."""
    first = datetime.date(2000, 1, 1)
    days = (first + datetime.timedelta(i) for i in range(28 * 365 + 7))
    return sorted({date(day) for day in days})


def main() -> None:
    rng = random.Random(0)
    kinds = [numbers(rng), dates()]
    for pairs in kinds:
        rng.shuffle(pairs)
    start = 0
    for part, count in PARTS.items():
        chosen = [p for pairs in kinds for p in pairs[start : start + count // 2]]
        rng.shuffle(chosen)
        text = "\n".join("\t".join(pair) for pair in chosen) + "\n"
        (DATA / f"english-french.{part}.tsv").write_bytes(text.encode("utf-8"))
        start += count // 2
        print(f"{part}: {len(chosen)} pairs")


if __name__ == "__main__":
    main()
