"""What the notebooks use of Paddle and 2.5 lacks: added in memory.

It lies in the bundle's folder packages/, beside bundle_start.py. The installed Paddle
stays as it is: a kernel without the notebooks' first cell has Paddle 2.5 as ever.
"""

import functools
import inspect
import sys

# What they make has the default dtype. In 2.5 it is float32 instead.
MAKERS = "ones", "zeros", "full", "eye", "linspace"


def bring_up(paddle):
    """Let a Paddle 2.5 that has been imported do what the notebooks ask of 2.6."""
    if hasattr(paddle, "base"):
        return  # it can: the cell was run before
    # An element of a tensor has no axis; in 2.5 it has one, of length 1.
    paddle.set_flags({"FLAGS_set_to_1d": False})
    # In 2.5 every tensor is contiguous.
    paddle.Tensor.contiguous = lambda tensor: tensor
    paddle.Tensor.addmm_ = functools.partialmethod(addmm_, assign=paddle.assign)
    sys.modules["paddle.base"] = paddle.base = paddle.fluid
    for name in MAKERS:
        setattr(paddle, name, of_default_dtype(getattr(paddle, name), paddle))


def addmm_(tensor, x, y, beta, alpha, assign):
    """tensor = beta * tensor + alpha * x @ y; of beta 0, whatever tensor holds."""
    product = (x @ y).scale_(alpha)
    return assign(product if beta == 0 else product + beta * tensor, tensor)


def of_default_dtype(make, paddle):
    signature = inspect.signature(make)

    @functools.wraps(make)
    def made(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        if given.get("dtype") is None:
            given["dtype"] = paddle.get_default_dtype()
        return make(**given)

    return made
