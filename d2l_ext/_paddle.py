"""Import Paddle once for the package: without noise, and with a clear message.

Paddle 3 warns on its first import that ccache, a compiler cache nobody needs for
running notebooks, is not installed. Only that one warning is held back. Paddle also
sets up the logging of the whole process, so that matplotlib, say, tells a reader that
it has listed the fonts; the root logger is left as it was.
"""

import importlib.util
import logging
import os
import warnings
import zlib  # noqa: F401

# zlib comes before Paddle on purpose: Paddle 2.6 brings one of its own, and if that is
# the first in the process, saving a PNG, and so any figure, ends in a crash.


def _check_installed():
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
_root = logging.getLogger()
_handlers, _level = list(_root.handlers), _root.level
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message="No ccache found")
    import paddle
_root.handlers[:] = _handlers
_root.setLevel(_level)

__all__ = ["paddle"]
