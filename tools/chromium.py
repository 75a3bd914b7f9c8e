"""Chromium without a window, for what only a browser can do: print, measure."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from problems import Problem

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
ON_A_MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
MISSING = (
    "There is no Chromium or Chrome here; on Debian and Ubuntu: sudo apt install "
    "chromium"
)
ENDED = "Abnormal renderer termination"  # what it says when its renderer was killed
# Alone with its page: no network, nothing that it looks up or fetches by itself.
ALONE = [
    "--headless",
    "--no-sandbox",  # in a container it does not start with one
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND",
]


def find():
    """The path of a Chromium, or None."""
    found = [shutil.which(name) for name in NAMES]
    found.append(ON_A_MAC if os.access(ON_A_MAC, os.X_OK) else None)
    return next(filter(None, found), None)


class Ended(Problem):
    """What lays out the page was ended, as a system does that is short of memory."""


def run(page, *arguments, seconds=300):
    """Open a file, until its scripts are done; returns (stdout, stderr), or a Problem.

    Time in the page is not that of the clock: it stands still while the page is busy,
    so a slow machine is given as much of it as it needs. Chromium ended by the system
    is started a second time, and we say so.
    """
    program = find()
    if program is None:
        raise Problem(MISSING + ".")
    command = [program, *ALONE, "--virtual-time-budget=60000", *arguments]
    command.append(Path(page).as_uri())
    try:
        return run_once(command, seconds)
    except Ended as ended:
        print(f"{ended} Once more.", file=sys.stderr)
    return run_once(command, seconds)


def run_once(command, seconds):
    profile = tempfile.mkdtemp()
    try:
        done = subprocess.run(
            [*command[:-1], f"--user-data-dir={profile}", command[-1]],
            capture_output=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as error:
        text = f"Chromium was not done with {command[-1]} after {seconds} seconds."
        raise Problem(text) from error
    finally:  # what it started may still be writing there
        shutil.rmtree(profile, ignore_errors=True)
    output, errors = (
        part.decode("utf-8", "replace") for part in (done.stdout, done.stderr)
    )
    if ENDED in errors:  # its exit status is 0 then
        raise Ended("Chromium was ended before it was done. Is there enough memory?")
    if done.returncode:
        last = (errors.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise Problem(f"Chromium failed with: {last}")
    return output, errors
