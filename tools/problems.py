"""What can be wrong with a machine, and the sentence that says what to do about it."""

from __future__ import print_function

import errno
import os
import re
import subprocess
import sys

OLDEST = (3, 9)
NEWEST = {"cpu": (3, 13), "gpu": (3, 12)}  # what Paddle publishes wheels for
# Installed, plus the downloads while they last.
NEED_MB = {"cpu": 2000, "gpu": 6000, "torch": 1200, "site": 300, "slides": 50}

NO_ROOM = r"No space left on device|Errno 28\b|Disk quota exceeded|Errno 122\b"
NO_ACCESS = r"Read-only file system|Permission denied|Errno 13\b|Errno 30\b"
NO_VENV = r"ensurepip|No module named '?(venv|pip)\b"
NO_PROXY = r"ProxyError|Cannot connect to proxy|Tunnel connection failed"
NO_TRUST = r"CERTIFICATE_VERIFY_FAILED|SSLError|SSLCertVerificationError"
NO_NETWORK = (
    r"name resolution|Name or service not known|nodename nor servname|getaddrinfo|"
    r"Connection refused|Connection reset|Network is unreachable|No route to host|"
    r"NewConnectionError|ConnectTimeout|ReadTimeout|timed out|Connection aborted|"
    r"Max retries exceeded|RemoteDisconnected|IncompleteRead"
)
NO_WHEEL = r"No matching distribution found for (\S+)"
NO_WHEEL_FOR = "The package index has no %s"

FULL = "The disk is full. Free some room in {0} and in the folder for temporary files"
LOCKED = "No right to write in {0}. Change its owner or rights, or use another folder"
AGAIN = ", then run make again."


class Problem(Exception):
    """Something the user can put right; its text says how."""


def dotted(version):
    return ".".join(str(number) for number in version)


def version_of(python):
    """(major, minor) of an interpreter, or None where it does not run."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        # -S halves the time it takes; this runs before every make target.
        command = [python, "-I", "-S", "-c", code]
        text = subprocess.check_output(command, stderr=subprocess.STDOUT)
        return tuple(int(part) for part in text.decode("ascii").split("."))
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None


def check_python(version, flavour):
    """Refuse an interpreter without Paddle wheels, and name one that has them."""
    newest = NEWEST[flavour]
    if OLDEST <= version <= newest:
        return
    text = "Python {} is too {}: {} needs Python {} to {}.".format(
        dotted(version),
        "old" if version < OLDEST else "new",
        "Paddle" if flavour == "cpu" else "paddlepaddle-gpu",
        dotted(OLDEST),
        dotted(newest),
    )
    for minor in range(newest[1], OLDEST[1] - 1, -1):
        name = "python3.%d" % minor
        if version_of(name) == (3, minor):
            gpu = " GPU=1" if flavour == "gpu" else ""
            raise Problem("%s Use: make setup PYTHON=%s%s" % (text, name, gpu))
    raise Problem(
        text + " Install one of them (from python.org, conda, pyenv or your system's "
        "packages), then: make setup PYTHON=/path/to/it"
    )


def check_room(folder, flavour):
    disk = os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize // 2**20
    if free < NEED_MB[flavour]:
        raise Problem(
            "The disk is too full. Setup needs about %d MB, and %s has %d MB free. "
            "Free some room%s" % (NEED_MB[flavour], folder, free, AGAIN)
        )


def explain_output(output, status, folder):
    """Tell from what a command printed why it failed; the first match is the cause."""
    venv = (
        "This Python has no venv or no pip. On Debian and Ubuntu install them with: "
        "sudo apt install python%d.%d-venv" % sys.version_info[:2]
    )
    trust = (
        "The certificate of the package index was refused. Check this machine's clock, "
        "and the setting `cert` of pip"
    )
    causes = (
        (NO_ROOM, FULL),
        (NO_VENV, venv),
        (NO_PROXY, "The proxy does not answer. Check https_proxy"),
        (NO_TRUST, trust),
        (NO_NETWORK, "The package index cannot be reached. Check the network"),
        (NO_ACCESS, LOCKED),
    )
    for pattern, text in causes:
        if re.search(pattern, output):
            return text.format(folder) + AGAIN
    wheel = re.search(NO_WHEEL, output)
    if wheel:
        return (NO_WHEEL_FOR + " for this machine. %s") % (
            wheel.group(1),
            "Paddle runs on Linux and Windows with x86_64 and on macOS with arm64, "
            "each with a 64-bit Python from python.org, conda, pyenv or the system."
            if wheel.group(1).startswith("paddle")
            else "If pip uses a mirror (see: pip config list), try another.",
        )
    if status in (-9, 137):
        return "The system ended it, most likely for want of memory. Free some" + AGAIN
    lines = [line for line in output.splitlines() if re.search(r"(?i)error\b", line)]
    lines = lines or output.strip().splitlines() or ["exit status %s" % status]
    return "It failed with: %s" % lines[-1].strip()


def explain_os_error(error, folder):
    """The same for an error of this process itself."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return FULL.format(folder) + AGAIN
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return LOCKED.format(folder) + AGAIN
    return "It failed with: %s" % error
