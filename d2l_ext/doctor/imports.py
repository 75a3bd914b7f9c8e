"""What is wrong with a package that is there and cannot be imported."""

from __future__ import annotations

import os
import re
from importlib import metadata

from .finding import Finding, found
from .folders import home, writable
from .probe import Probe

# What is in the text of an error, and the finding. The first that matches is the cause.
PATTERNS = (
    (r"SIGILL", "avx"),
    (r"CUDA driver version is insufficient|CUDA error\(35\)", "gpu-driver"),
    (
        r"third-party dynamic library|lib(cuda|cudart|cudnn|cublas\w*|nccl|cusolver"
        r"|cusparse|cufft|curand|nvrtc)\b\S* ?.*(cannot open|No such file|not found)"
        r"|Cannot load cudnn",
        "cuda-library",
    ),
    (r"CUDA error|GPU.{0,20}(out of memory|memory)", "gpu"),
    (
        r"compiled using NumPy 1|numpy\.(_?core\.multiarray|dtype size)"
        r"|numpy\.ndarray size changed|_ARRAY_API",
        "numpy",
    ),
    (r"google\.protobuf|Descriptors can.?not be created|protoc\b", "protobuf"),
    (r"Failed to find font", "fonts"),
    (r"GLIBC(XX)?_\S+. not found", "old-system"),
    (r"(\S+\.so\S*): cannot open shared object", "shared-object"),
    (r"No module named '?([\w.]+)", "needs"),
)
# What pip calls a module that is named otherwise.
PIP = {
    "PIL": "pillow",
    "attr": "attrs",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "distutils": "setuptools",
    "google": "protobuf",
    "mpl_toolkits": "matplotlib",
    "pkg_resources": "setuptools",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}
NAMES = {
    "d2l": "d2l.paddle",
    "kernels": "ipykernel",
}  # where the stage's name is not the module's


def imports(probe: Probe) -> list[Finding]:
    """One finding for each cause; what only follows from an earlier one is left out."""
    findings: dict[str, Finding] = {}
    for stage in ("numpy", "paddle", "d2l_ext", "matplotlib", "d2l", "kernels"):
        error = probe[stage].error
        if not error or _follows(error) or _is_known(probe, stage, error):
            continue
        finding = _explain(NAMES.get(stage, stage), error, probe[stage].noise)
        findings.setdefault(f"{finding.name} {error}", finding)
    return list(findings.values())


def _follows(error: str) -> bool:
    """Whether it comes of PYTHONWARNINGS or of no home, which have checks."""
    if re.search("home directory|getpwuid", error):
        return bool(home())
    is_warning = error.partition(":")[0].endswith("Warning")
    return is_warning and "error" in os.environ.get("PYTHONWARNINGS", "")


def _is_known(probe: Probe, stage: str, error: str) -> bool:
    """Whether a check of packages says it, or it is an earlier stage's failure."""
    needs = {"paddle": ["numpy"], "d2l_ext": ["numpy", "paddle"]}
    needs["d2l"] = [*needs["d2l_ext"], "matplotlib"]
    absent = not probe.place("ipykernel" if stage == "kernels" else stage)
    if absent or any(
        probe[n].error or not probe.place(n) for n in needs.get(stage, [])
    ):
        return True
    return "No module named 'd2l.paddle'" in error


def _explain(module: str, error: str, noise: str) -> Finding:
    folder = os.path.expanduser("~")
    if os.path.join(folder, "") in error and not writable(folder):
        return Finding("home", {"folder": folder})
    text = f"{error}\n{noise}"
    last = " ".join(error.split())
    values = {
        "module": module,
        "error": last if len(last) < 300 else last[:297] + "...",
    }
    for pattern, name in PATTERNS:
        match = re.search(pattern, text)
        if match:
            detail = match[1] if match.re.groups and match[1] else match[0]
            if name == "needs":
                return _needs(detail, values)
            return Finding(name, dict(values, detail=detail))
    if error.startswith(("SIG", "status")):
        return Finding("crash", values)
    return Finding("slow" if error == "timeout" else "broken", values)


def _needs(module: str, values: dict[str, str]) -> Finding:
    """A module that is not there, or a part of a package, which is then too old."""
    top = module.partition(".")[0]
    package = PIP.get(top, top)
    name = "needs"
    if top != module:
        try:
            metadata.version(package)
            name = "needs-part"
        except metadata.PackageNotFoundError:
            pass
    return Finding(name, dict(values, detail=module, package=package))


def gpu(probe: Probe) -> list[Finding]:
    """Paddle for a GPU where it finds none: it says so only in a warning."""
    paddle, noise = probe.value("paddle"), probe["paddle"].noise
    if not paddle.get("cuda") or paddle["devices"]:
        return []
    old = re.search(r"CUDA driver version is insufficient|CUDA error\(35\)", noise)
    return found("gpu-driver" if old else "no-gpu", module="paddle", error="")


def fonts(probe: Probe) -> list[Finding]:
    """No folder that matplotlib can write its list of fonts to: its log says so."""
    noise = probe["matplotlib"].noise
    return found("font-cache") if re.search(r"temporary \w+ directory", noise) else []
