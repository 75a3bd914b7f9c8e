"""What is measured, topic by topic. Each fills `measured` and `missing`."""

import subprocess
import sys
from contextlib import ExitStack
from functools import partial

from .cases import (
    EPOCH,
    IMPORT,
    MEMORY,
    OMP,
    PADDLE,
    PASSES,
    POSITIONS,
    TIMED,
    TORCH,
    Key,
    entrant,
    variants,
)
from .processes import ROOT, NoAnswer, Process, environment
from .rounds import alternate
from .targets import wanted

SECONDS = {"S1": 0.2, "S2": 0.2, "S3": 0.5, "S4": 0.6, "S5": 0.6}
SLOW = {"S4", "S5"}
IMPORTS, EPOCH_SECONDS = 5, 0.6


class Results:
    """Times and bytes by row and entrant; and why others are missing."""

    def __init__(self, tell):
        self.measured, self.missing, self.tell = {}, {}, tell
        self.seconds_once = {}  # of calls that are too slow to be repeated

    def alternate(self, key, asks, seconds):
        self.tell(", ".join(part for part in key if part))
        bound = {
            one: partial(worker.ask, name=name, what=key.what, part=key.part)
            for one, (worker, name) in asks.items()
        }
        times, missing = alternate(bound, wanted(key), seconds, key.what in SLOW)
        self.measured[key] = times
        for one, why in missing.items():
            self.missing[key, one] = why


def attention(results, where, amd, torch):
    """S1 to S5, and the table of positions, under every setting."""
    with ExitStack() as stack:
        asks = {}

        def start(library, variant, names):
            worker = stack.enter_context(Process(library, where, variant))
            worker.ask("about")
            asks.update({entrant(name, variant): (worker, name) for name in names})

        for variant, names in variants(where, amd).items():
            start("in_paddle", variant, names)
        if torch:
            start("in_torch", "", TORCH)
        for what in TIMED:
            for part in PASSES:
                some = {one: asks[one] for one in asks if takes_part(one, what)}
                results.alternate(Key(where, what, part), some, SECONDS[what])
        both = {name: asks[name] for name in ("ours", "d2l")}
        results.alternate(Key(where, POSITIONS), both, 0.3)


def takes_part(one, what):
    """Small calls have no use for threads; at S5, where a call takes a second, only
    d2l_ext is timed under other settings."""
    if OMP in one:
        return what in ("S3", "S4")
    return what != "S5" or ", " not in one or one == "ours, MKL"


def epoch(results, where, amd, torch):
    """The Transformer of 10.7, in other processes, since patch_d2l() changes d2l."""
    with ExitStack() as stack:
        asks = {}
        for variant in [
            v for v, names in variants(where, amd).items() if "GEMM" in names
        ]:
            worker = stack.enter_context(Process("in_paddle", where, variant))
            worker.ask("about")
            asks[entrant("ours", variant)] = worker, "ours"
        if torch:
            worker = stack.enter_context(Process("in_torch", where))
            worker.ask("about")
            asks["torch.d2l"] = worker, "torch.d2l"
        results.alternate(Key(where, EPOCH), asks, EPOCH_SECONDS)


HALF = ", half n"
IN_MEMORY = ["S5", "S6" + HALF, "S6"]


def memory(results, where, amd, torch):
    """Peak memory: a process for each entrant and shape, on all cores."""
    variant = "MKL" if amd and where != "GPU" else ""
    for what in IN_MEMORY:
        for name in "ours", "d2l", "torch.F":
            if name in TORCH and not torch:
                continue
            results.tell(f"memory, {what}, {name}")
            library = "in_paddle" if name in PADDLE else "in_torch"
            try:
                with Process(
                    library, where, variant if name in PADDLE else ""
                ) as worker:
                    worker.ask("about")
                    found = worker.ask("memory", name=name, what=what, parts=PASSES)
            except NoAnswer as error:
                results.missing[Key(MEMORY, what), name] = str(error)
                continue
            keep(results, name, what, found)


def keep(results, name, what, found):
    """Half n stands beside n, so that the growth is a ratio in one row."""
    if what.endswith(HALF):
        what, name = what[: -len(HALF)], name + HALF
    for part in PASSES:
        measured = results.measured.setdefault(Key(MEMORY, what, part), {})
        measured[name] = [found[part]["bytes"]]
        once = results.seconds_once.setdefault(Key(MEMORY, what, part), {})
        once[name] = found[part]["seconds"]


def imports(results):
    """Import times, in fresh processes one after the other."""
    results.tell("import")
    times = results.measured[Key(IMPORT, "")] = {}
    for _ in range(IMPORTS + 1):
        for what in "import paddle", "import d2l_ext":
            code = (
                "import time; start = time.perf_counter()\n"
                f"{what}\nprint('took', time.perf_counter() - start)"
            )
            done = subprocess.run(
                [sys.executable, "-c", code],
                cwd=ROOT,
                env=environment("all cores"),
                capture_output=True,
                text=True,
                check=True,
            )
            times.setdefault(what, []).append(float(done.stdout.split()[-1]))
    for found in times.values():
        del found[0]  # files came from the disk
