"""A process that times one library under one setting, and answers line by line.

    python -m benchmarks.worker in_paddle 1

imports benchmarks/in_paddle.py on one core (0: on all). Each line on its input is a
request in JSON, each on its output the answer.
"""

import importlib
import json
import os
import sys
import time


def main(library, cores):
    # What a library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    if int(cores) and hasattr(os, "sched_setaffinity"):  # Linux only
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(cores)])
    worker = Worker(library)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception as error:  # the others go on
            answer = {"error": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(answer), file=answers, flush=True)


class Worker:
    def __init__(self, library):
        self.library, self.error = None, None
        self.jobs, self.row = {}, None
        self.name = library

    def about(self):
        """Import the library; say what it is and where it computes."""
        self.library = importlib.import_module(f"benchmarks.{self.name}")
        return {"versions": self.library.VERSIONS, "gpu": self.library.ON_GPU}

    def check(self, name, what, part):
        """Run a job once; some numbers of what it returns, to compare, if any."""
        job = self._job(name, what, part)
        start = time.perf_counter()
        output = job()
        self.library.synchronize()
        seconds, sample = time.perf_counter() - start, None
        if hasattr(output, "numpy"):
            flat = output.detach().cpu().numpy().ravel()
            sample = flat[:: max(1, flat.size // 100)].tolist()
        return {"seconds": seconds, "sample": sample}

    def time(self, name, what, part, calls):
        """Seconds of a call."""
        job = self._job(name, what, part)
        if calls > 1:  # others have had the processor, and its cache, meanwhile
            job()
        self.library.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            job()
        self.library.synchronize()
        return {"seconds": (time.perf_counter() - start) / calls}

    def memory(self, name, what, parts):
        """Bytes that each pass needs at most, above what was there before."""
        from . import memory

        for part in parts:  # what a library loads at its first call is not counted
            self._job(name, "S3", part)()
        self.jobs = {}
        start, found = memory.now(), {}
        for part in parts:
            memory.reset()
            begin = time.perf_counter()
            self._job(name, what, part)()
            self.library.synchronize()
            seconds = time.perf_counter() - begin
            peak = self.library.gpu_peak()  # a GPU has its own
            used = memory.peak() - start if peak is None else peak
            found[part] = {"bytes": used, "seconds": seconds}
        return found

    def _job(self, name, what, part):
        if self.row != (what, part):  # the arrays of another row are large
            self.jobs, self.row = {}, (what, part)
        if name not in self.jobs:
            self.jobs[name] = self.library.job(name, what, part)
        return self.jobs[name]


if __name__ == "__main__":
    main(*sys.argv[1:])
