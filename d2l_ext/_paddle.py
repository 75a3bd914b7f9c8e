"""Import Paddle once for the package: without noise, and with a clear message.

A notebook shows whatever comes on stderr, and none of this helps its reader:

- the warnings of NOISE, when Paddle is imported;
- the log of Paddle's C++ code below the level of errors, such as a missing cuDNN where
  there is no GPU (GLOG_minloglevel, unless the user has set it);
- the INFO log of all other packages, since Paddle sets up the logging of the whole
  process; the root logger is left as it was.
"""

import importlib.util
import logging
import os
import warnings
import zlib  # noqa: F401

# zlib comes before Paddle on purpose: Paddle 2.6 brings one of its own, and if that is
# the first in the process, saving a PNG, and so any figure, ends in a crash.

NOISE = (
    # A compiler cache that nobody needs for running notebooks.
    "No ccache found",
    # paddlepaddle-gpu where there is no GPU. paddle.device.get_device() tells.
    "You are using GPU version Paddle, but your CUDA device is not set properly",
)


def _check_installed() -> None:
    """Find Paddle before it is imported: a file of the user's may have its name."""
    spec = importlib.util.find_spec("paddle")
    if spec is None:
        raise ModuleNotFoundError(
            "d2l_ext needs PaddlePaddle, which is not installed: "
            "pip install paddlepaddle (CPU) or paddlepaddle-gpu",
            name="paddle",
        )
    folders = list(spec.submodule_search_locations or [])
    if not any(os.path.isdir(os.path.join(folder, "nn")) for folder in folders):
        raise ImportError(
            f"{spec.origin or folders[0]} hides the installed PaddlePaddle: "
            "rename it, and restart the kernel"
        )


_check_installed()
os.environ.setdefault("GLOG_minloglevel", "2")
_root = logging.getLogger()
_handlers, _level = list(_root.handlers), _root.level
with warnings.catch_warnings():
    for message in NOISE:
        warnings.filterwarnings("ignore", message=message)
    import paddle
_root.handlers[:] = _handlers
_root.setLevel(_level)

__all__ = ["paddle"]
