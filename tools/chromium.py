"""Chromium without a window, for what only a browser can do: print, measure."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from problems import Problem

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
ON_A_MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
MISSING = (
    "There is no Chromium or Chrome here; on Debian and Ubuntu: sudo apt install "
    "chromium"
)
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


def run(page, *arguments, seconds=300):
    """Open a file, until its scripts are done; returns (stdout, stderr), or a Problem.

    Time in the page is not that of the clock: it stands still while the page is busy,
    so a slow machine is given as much of it as it needs.
    """
    program = find()
    if program is None:
        raise Problem(MISSING + ".")
    profile = tempfile.mkdtemp()
    command = [program, *ALONE, f"--user-data-dir={profile}"]
    command += ["--virtual-time-budget=60000", *arguments, Path(page).as_uri()]
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        text = f"Chromium was not done with {page} after {seconds} seconds."
        raise Problem(text) from error
    finally:  # what it started may still be writing there
        shutil.rmtree(profile, ignore_errors=True)
    output, errors = (
        part.decode("utf-8", "replace") for part in (done.stdout, done.stderr)
    )
    if done.returncode:
        last = (errors.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise Problem(f"Chromium failed with: {last}")
    return output, errors
