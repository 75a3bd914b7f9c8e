"""The results as Markdown, and the lines that `make bench` prints."""

from .cases import (
    EPOCH,
    IMPORT,
    LABELS,
    MEMORY,
    PASSES,
    POSITIONS,
    SHAPES,
    TIMED,
    Key,
)
from .inputs import target_tokens
from .ratios import ratio, typical
from .targets import MISSED, NOT_MEASURED, label, marks


def page(results, machine):
    measured = results.measured
    places = [
        w
        for w in ("one core", "all cores", "GPU")
        if any(k.where == w for k in measured)
    ]
    parts = [
        "# How fast d2l_ext is\n",
        "Written by `make bench`. Ratios are medians over rounds, in which all were\n"
        "timed one after the other, with the lowest and the highest; below 1, d2l_ext\n"
        "is faster, or needs less.\n",
        "\n".join(f"- {name}: {value}" for name, value in machine.items()) + "\n",
        "![Time beside d2l's, and memory](results.png)\n",
        "## Targets\n",
        targets(measured),
    ]
    for where in places:
        parts += [f"## Attention, {where}\n", shapes_note(), attention(measured, where)]
        parts += settings(measured, where)
    parts += ["## Memory\n", memory(results), "## The rest\n", rest(measured, places)]
    parts += ["## Not measured\n", missing(results)]
    return "\n".join(parts)


def targets(measured):
    rows = [
        (
            str(target),
            f"at most {target.limit:g}" + (" (aim)" if target.aim else ""),
            NOT_MEASURED if found is None else str(found),
            f"**{mark}**" if mark == MISSED else mark,
        )
        for target, found, mark in marks(measured)
    ]
    return table(("ratio", "target", "measured", ""), rows)


def shapes_note():
    text = " · ".join(f"{name} {tuple(SHAPES[name])}" for name in TIMED)
    return f"Shapes (batch, n, d, heads): {text}. First column: milliseconds.\n"


def attention(measured, where):
    """d2l_ext's time, and the ratio to each of the others, as Paddle comes."""
    others = [name for name in LABELS if name != "ours"]
    rows = []
    for what in TIMED:
        for part in PASSES:
            times = measured.get(Key(where, what, part), {})
            ratios = [shown(ratio(times, "ours", other)) for other in others]
            rows.append((what, part, milliseconds(typical(times, "ours")), *ratios))
    head = "shape", "pass", "d2l_ext", *(f"/ {LABELS[other]}" for other in others)
    return table(head, rows)


def settings(measured, where):
    """What MKL_DEBUG_CPU_TYPE and OMP_NUM_THREADS change: each over itself without."""
    first = measured.get(Key(where, "S3", PASSES[0]), {})  # where all take part
    names = [name for name in first if ", " in name]
    if not names:
        return []
    rows = []
    for what in TIMED:
        for part in PASSES:
            times = measured.get(Key(where, what, part), {})
            ratios = [ratio(times, name, name.partition(", ")[0]) for name in names]
            rows.append((what, part, *map(shown, ratios)))
    note = (
        "Under other settings, over itself as Paddle is (MKL: MKL_DEBUG_CPU_TYPE=5;\n"
        "OMP: OMP_NUM_THREADS is the number of cores, where Paddle takes 1). What is\n"
        "empty was not measured: small calls have no use for threads, S5 takes long.\n"
    )
    head = "shape", "pass", *map(label, names)
    return [note, table(head, rows)]


def memory(results):
    rows = []
    for key, used in results.measured.items():
        if key.where == MEMORY:
            for name, (size,) in used.items():
                seconds = results.seconds_once[key][name]
                over = shown(ratio(used, name, "d2l"))
                who = label(name.partition(", ")[0])
                n = SHAPES[key.what].n // (2 if "half" in name else 1)
                rows.append(
                    (
                        key.what,
                        key.part,
                        n,
                        who,
                        f"{size / 1e6:.0f}",
                        over,
                        f"{seconds:.2f}",
                    )
                )
    note = (
        "At its peak, above what the process needs before; each in one of its own.\n\n"
    )
    head = "shape", "pass", "n", "", "MB", "/ d2l at n", "seconds (one call)"
    return note + table(head, rows)


def rest(measured, places):
    rows = []
    found = measured.get(Key(IMPORT, ""), {})
    for name in found:
        over = shown(ratio(found, name, "import paddle"))
        rows.append((name, f"{typical(found, name):.2f} s", over, "import paddle"))
    for where in places:
        found = measured.get(Key(where, POSITIONS), {})
        for name in found:
            text = f"positional encodings, 1000 x 512, {where}: {label(name)}"
            over = shown(ratio(found, name, "d2l"))
            rows.append((text, f"{milliseconds(typical(found, name))} ms", over, "d2l"))
    for where in places:
        found = measured.get(Key(where, EPOCH), {})
        for name in found:
            seconds = typical(found, name)
            speed = f"{seconds:.2f} s, {target_tokens() / seconds:.0f} tokens/s"
            text = f"{EPOCH}, {where}: {label(name)}"
            over = shown(ratio(found, name, "torch.d2l"))
            rows.append((text, speed, over, LABELS["torch.d2l"]))
    return table(("", "time", "ratio", "to"), rows)


def missing(results):
    lines = [
        f"- {', '.join(part for part in key if part)}, {label(name)}: {why}"
        for (key, name), why in results.missing.items()
    ]
    return "\n".join(lines or ["Nothing was left out."]) + "\n"


def shown(found):
    return "" if found is None else str(found)


def milliseconds(seconds):
    return "" if seconds is None else f"{seconds * 1e3:.3g}"


def table(head, rows):
    lines = [head, [":--"] * len(head), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def verdicts(measured):
    """A line for each target, and one that counts them."""
    rows = marks(measured)
    lines = [
        f"{mark:<12}  {target.limit:<5g} {shown(found) or '-':<22} {target}"
        + (" (aim)" if target.aim else "")
        for target, found, mark in rows
    ]
    counts = [mark for _, _, mark in rows]
    summary = ", ".join(f"{counts.count(mark)} {mark}" for mark in sorted(set(counts)))
    return "\n".join([f"{'':<12}  {'limit':<5} {'measured':<22}", *lines, summary])
