"""Import Paddle once for the package: without noise, and with a clear message.

Paddle 3 warns on its first import that ccache, a compiler cache nobody needs for
running notebooks, is not installed. Only that one warning is held back.
"""

import warnings
import zlib  # noqa: F401

# zlib comes before Paddle on purpose: Paddle 2.6 brings one of its own, and if that is
# the first in the process, saving a PNG, and so any figure, ends in a crash.

try:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="No ccache found")
        import paddle
except ModuleNotFoundError as error:
    if error.name != "paddle":  # Paddle is there, but something that it needs is not
        raise
    raise ModuleNotFoundError(
        "d2l_ext needs PaddlePaddle, which is not installed: "
        "pip install paddlepaddle (CPU) or paddlepaddle-gpu",
        name="paddle",
    ) from None

if not hasattr(paddle, "nn"):
    _where = getattr(paddle, "__file__", None) or next(iter(paddle.__path__))
    raise ImportError(
        f"{_where} hides the installed PaddlePaddle: rename it, and restart the kernel"
    )

__all__ = ["paddle"]
