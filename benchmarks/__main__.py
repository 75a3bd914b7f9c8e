"""Measure everything, write results.md and results.png, print the targets.

    make bench

takes some minutes; with PyTorch in the same environment, it is compared with, too.
"""

import importlib.util
import os
import sys
import time
from pathlib import Path

from . import figure, measure, report
from .cases import TORCH, Key
from .machine import processor
from .processes import LOG, NoAnswer, Process, all_cores

HERE = Path(__file__).resolve().parent


def main():
    start = time.perf_counter()

    def tell(what):
        print(f"{time.perf_counter() - start:4.0f} s  {what}", flush=True)

    LOG.parent.mkdir(exist_ok=True)
    LOG.write_bytes(b"")
    busy = os.getloadavg()[0]
    results = measure.Results(tell)
    model, amd = processor()
    paddle = about("in_paddle")
    torch, why = find_torch(paddle["gpu"])
    if torch is None:
        for name in TORCH:
            results.missing[Key("everywhere", ""), name] = why
    places = ["GPU"] if paddle["gpu"] else ["one core", "all cores"]
    for where in places:
        measure.attention(results, where, amd, torch)
        measure.epoch(results, where, amd, torch)
    measure.memory(results, places[-1], amd, torch)
    measure.imports(results)
    machine = {
        "processor": model,
        "cores": all_cores(),
        "load average before the start": f"{busy:.1f} (0 on an idle machine)",
        **({"GPU": "yes"} if paddle["gpu"] else {}),
        "Python": ".".join(map(str, sys.version_info[:3])),
        **paddle["versions"],
        **(torch["versions"] if torch else {"PyTorch": "not installed"}),
    }
    (HERE / "results.md").write_text(report.page(results, machine), "utf-8")
    figure.draw(results.measured, HERE / "results.png")
    print(report.verdicts(results.measured))
    tell("written: benchmarks/results.md, benchmarks/results.png")


def about(library):
    with Process(library, "GPU") as worker:  # which hides no GPU
        return worker.ask("about")


def find_torch(gpu):
    """What PyTorch says of itself, or None and why it is not compared with."""
    if importlib.util.find_spec("torch") is None:
        return None, "PyTorch is not installed"
    try:
        found = about("in_torch")
    except NoAnswer as error:
        return None, str(error)
    if gpu and not found["gpu"]:
        return None, "PyTorch finds no GPU"
    return found, ""


if __name__ == "__main__":
    main()
