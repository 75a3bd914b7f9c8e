"""Environment variables that change what a notebook does or shows."""

from __future__ import annotations

import os

from .finding import Finding, found

BACKENDS = ("inline", "widget", "ipympl", "nbagg", "notebook")  # that draw in notebooks


def variables() -> list[Finding]:
    """Those that are set and should not be."""
    return [*_breaking(), *_changing()]


def _breaking() -> list[Finding]:
    findings = []
    backend = os.environ.get("MPLBACKEND", "")
    if backend and not any(name in backend.lower() for name in BACKENDS):
        findings += found("backend", value=backend)
    warnings = os.environ.get("PYTHONWARNINGS", "")
    if "error" in warnings:
        findings += found("warnings-error", value=warnings)
    if os.environ.get("PYTHONOPTIMIZE"):
        findings += found("optimize")
    return findings


def _changing() -> list[Finding]:
    findings = []
    warnings = os.environ.get("PYTHONWARNINGS", "")
    if warnings and "error" not in warnings and not warnings.startswith("ignore"):
        findings += found("warnings", value=warnings)
    if os.environ.get("OMP_NUM_THREADS", "1") not in ("", "1"):
        findings += found("threads", value=os.environ["OMP_NUM_THREADS"])
    if os.environ.get("GLOG_v", "0") not in ("", "0"):
        findings += found("log", value=os.environ["GLOG_v"])
    flags = sorted(name for name in os.environ if name.startswith("FLAGS_"))
    return findings + (found("flags", names=", ".join(flags)) if flags else [])
