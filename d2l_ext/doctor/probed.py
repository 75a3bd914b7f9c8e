"""What the doctor's other process does. Run by ``probe``, and not imported."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from typing import Any

MARK = "d2l_ext.doctor "
PACKAGES = (
    *("paddle", "numpy", "d2l", "d2l_ext", "matplotlib", "matplotlib_inline"),
    *("google.protobuf", "pandas", "requests", "IPython", "ipykernel", "ipywidgets"),
    *("torch", "PIL", "jupyter_client"),
)


def places() -> dict[str, str]:
    """Where each package is found, without importing it; '' where it is not."""
    return {name: _place(name) for name in PACKAGES}


def _place(name: str) -> str:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # of google.protobuf, without google
        return ""
    if spec is None:
        return ""
    return next(iter(spec.submodule_search_locations or []), spec.origin or "")


def numpy() -> dict[str, Any]:
    """Import it."""
    import numpy

    return {"version": numpy.__version__}


def paddle() -> dict[str, Any]:
    """Import it, and compute on the device that notebooks would take."""
    import numpy
    import paddle

    X = paddle.to_tensor(numpy.ones((1, 2, 2), "float32"))
    Y = paddle.nn.functional.softmax(paddle.matmul(X, X))
    Z = paddle.nn.functional.conv1d(Y, paddle.ones([2, 2, 1])).numpy()
    if abs(float(Z.sum()) - 4) > 1e-3:  # a softmax of equals is 1/2, twice, four times
        raise ArithmeticError(f"4 was expected, and {Z.sum()} came")
    cuda = paddle.is_compiled_with_cuda()
    devices = paddle.device.cuda.device_count() if cuda else 0
    return {"version": paddle.__version__, "cuda": cuda, "devices": devices}


def d2l_ext() -> None:
    """Import it."""
    import d2l_ext  # noqa: F401


def matplotlib() -> None:
    """Find its letters, and import what draws."""
    from matplotlib import font_manager, pyplot  # noqa: F401

    font_manager.findfont("DejaVu Sans", fallback_to_default=False)


def d2l() -> None:
    """Import it, with all that it imports."""
    importlib.import_module("d2l.paddle")


def kernels() -> dict[str, Any]:
    """List Jupyter's kernels, as it would find them, and where it writes."""
    import ipykernel.kernelapp  # noqa: F401
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_core.paths import jupyter_runtime_dir

    specs = KernelSpecManager().get_all_specs()
    starts = {n: [s["spec"]["argv"], s["resource_dir"]] for n, s in specs.items()}
    return {"specs": starts, "runtime": jupyter_runtime_dir()}


def loaded(before: list[str]) -> list[str]:
    """All modules that a file beside a notebook could take the place of.

    Python has loaded those of ``before`` when it starts, from where it is installed.
    """
    names = {name.partition(".")[0] for name in sys.modules}
    return sorted(names - set(before) - {"__main__", "__mp_main__"})


def _say(text: str) -> None:
    # One write, at once: a crash takes with it what a buffer holds.
    sys.stderr.flush()
    sys.stdout.flush()
    os.write(1, f"\n{MARK}{text}\n".encode())


def _run(name: str) -> None:
    _say(f"begin {name}")
    value, error = None, ""
    try:
        value = loaded(globals()["BEFORE"]) if name == "loaded" else globals()[name]()
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}"
    _say(f"end {json.dumps([name, value, error])}")


if __name__ == "__main__":
    for stage in sys.argv[2:]:
        _run(stage)
