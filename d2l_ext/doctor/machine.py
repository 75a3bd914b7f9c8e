"""The machine: Python, processor, memory, disk."""

from __future__ import annotations

import platform
import re
import shutil
import sys
import sysconfig
from pathlib import Path

from .finding import Finding, found, shown

OLDEST, NEWEST = (3, 8), (3, 13)  # what Paddle publishes wheels for
WHEELS = "linux-x86_64 win-amd64 macosx-.*-(arm64|universal2)"
MEMORY_MB = 1000  # the greediest notebook takes 650, JupyterLab 100 and more
DISK_MB, SETUP_MB = 100, 2000  # what is open must be saved; what make setup installs
CPUINFO = Path("/proc/cpuinfo")
MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


def python(has_paddle: bool) -> list[Finding]:
    """A Python that Paddle has no wheels for; where Paddle is there, it had one."""
    version = tuple(sys.version_info[:2])
    dotted = ".".join(map(str, version))
    if version < OLDEST or (version > NEWEST and not has_paddle):
        return found("python", version=dotted)
    if has_paddle:
        return []
    fits = any(re.match(wheel, sysconfig.get_platform()) for wheel in WHEELS.split())
    if not fits or sys.maxsize < 2**32:
        bits = "64" if sys.maxsize > 2**32 else "32"
        return found("platform", platform=f"{sysconfig.get_platform()}, {bits} bit")
    return []


def avx() -> list[Finding]:
    """A processor without AVX: Paddle would end the process with SIGILL."""
    if platform.machine() not in ("x86_64", "AMD64") or not CPUINFO.exists():
        return []
    flags = re.search(r"^flags\s*:(.*)$", CPUINFO.read_text("utf-8"), re.MULTILINE)
    return found("avx") if flags and "avx" not in flags[1].split() else []


def memory() -> list[Finding]:
    """Too little free memory, in the machine or in the container."""
    free = [mb for mb in (_free_in_machine(), _free_in_container()) if mb is not None]
    if free and min(free) < MEMORY_MB:
        return found("memory", free=min(free), needed=MEMORY_MB)
    return []


def _free_in_machine() -> int | None:
    if not MEMINFO.exists():
        return None
    line = re.search(r"^MemAvailable:\s*(\d+) kB", MEMINFO.read_text("utf-8"), re.M)
    return int(line[1]) // 1024 if line else None


def _free_in_container() -> int | None:
    """Version 2 of cgroups; what is only cached counts as free."""
    try:
        limit = (CGROUP / "memory.max").read_text("utf-8").strip()
        used = int((CGROUP / "memory.current").read_text("utf-8"))
        statistics = (CGROUP / "memory.stat").read_text("utf-8")
    except (OSError, ValueError):
        return None
    cached = re.search(r"^inactive_file (\d+)", statistics, re.MULTILINE)
    if limit == "max":
        return None
    return (int(limit) - used + int(cached[1] if cached else 0)) // 2**20


def disk(folder: Path, needed: int) -> list[Finding]:
    """Too little room where notebooks are saved, or where setup installs."""
    free = shutil.disk_usage(folder).free // 2**20
    if free < needed:
        return found("disk", folder=shown(folder), free=free, needed=needed)
    return []
