"""The memory of this process: now, and at its peak since the last reset (Linux)."""

import ctypes
import gc
import sys

STATUS, RESET = "/proc/self/status", "/proc/self/clear_refs"


def _status(field):
    with open(STATUS, encoding="ascii") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    raise OSError(f"{STATUS} has no {field}")


def now():
    if sys.platform != "linux":
        raise OSError("peak memory is read from /proc, which only Linux has")
    # What was freed must not be used again unseen: back to the system with it.
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
    if trim is not None:
        trim(0)
    return _status("VmRSS")


def peak():
    return _status("VmHWM")


def reset():
    with open(RESET, "w", encoding="ascii") as file:
        file.write("5")
