"""The workers, seen from the one process that asks them."""

import json
import os
import subprocess
import sys
from pathlib import Path

from .cases import VARIABLES

ROOT = Path(__file__).resolve().parents[1]
LOG = ROOT / "build" / "bench.log"
# What the user may have set for other work.
UNSET = ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "MKL_DEBUG_CPU_TYPE", "KMP_BLOCKTIME"]


class NoAnswer(Exception):
    """A worker could not do what it was asked; the text says why."""


def environment(where, variant="", cores=1):
    env = {k: v for k, v in os.environ.items() if k not in UNSET}
    if where == "one core":
        env["OMP_NUM_THREADS"] = "1"
    for name, value in VARIABLES[variant].items():
        env[name] = value.format(cores=cores)
    if where != "GPU":
        env["CUDA_VISIBLE_DEVICES"] = ""
    return env


def all_cores():
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Process:
    """One worker. Use it with `with`: it ends there."""

    def __init__(self, library, where, variant=""):
        cores = "1" if where == "one core" else "0"
        LOG.parent.mkdir(exist_ok=True)
        with open(LOG, "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.worker", library, cores],
                cwd=ROOT,
                env=environment(where, variant, all_cores()),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def ask(self, do, **request):
        try:
            self.process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            status = self.process.wait()
            raise NoAnswer(f"its process ended with status {status}")
        answer = json.loads(line)
        if "error" in answer:
            raise NoAnswer(answer["error"])
        return answer
