"""What the modules share: mostly what differences between Paddle's versions ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from . import _check
from ._paddle import paddle

L = TypeVar("L", bound="Layer")


class Layer(paddle.nn.Layer):
    """A layer whose weights can come from PyTorch and go there.

    And whose astype() works: Paddle 3's leaves the parameters as they were.
    """

    def astype(self, dtype: Any = None) -> Layer:
        return self.to(dtype=dtype)

    def from_torch(self: L, state_dict: Mapping[str, Any]) -> L:
        """Set the weights to those of this layer's namesake in PyTorch.

        The namesake is the class of the book's PyTorch edition, or any module with the
        same names. PyTorch need not be there for arrays of NumPy.

        Args:
            state_dict: what its ``state_dict()`` returns: tensors of PyTorch on any
                device, or arrays of NumPy, by name, of any integer or float type and
                in PyTorch's shapes. It may need gradients; what is set does not depend
                on it. Values are cast to the dtype that the layer has.

        Returns:
            The layer itself.

        Raises:
            TypeError: state_dict is no dict of such tensors.
            ValueError: names are missing or unexpected, or shapes differ. All are
                named, and the layer is left as it was.

        Examples:
            >>> one, other = (d2l_ext.PositionWiseFFN(3, 7, 5) for _ in range(2))
            >>> other.from_torch(one.to_torch()) is other
            True
            >>> X = paddle.ones([1, 2, 3])
            >>> paddle.equal_all(one(X), other(X)).item()
            True
        """
        from . import _torch

        _torch.from_torch(self, state_dict)
        return self

    def to_torch(self) -> dict[str, Any]:
        """Return the weights for ``load_state_dict`` of this layer's namesake.

        Returns:
            Copies as tensors of PyTorch on the CPU, by PyTorch's names, in its shapes
            (those of linear layers are transposed), and of the layer's dtype.

        Raises:
            ImportError: PyTorch is not installed.

        Examples:
            >>> attention = d2l_ext.AdditiveAttention(3, 5, 7, dropout=0)
            >>> for name, tensor in attention.to_torch().items():
            ...     print(name, tuple(tensor.shape))
            W_k.weight (7, 3)
            W_q.weight (7, 5)
            w_v.weight (1, 7)
        """
        from . import _torch

        return _torch.to_torch(self)


class Dropout(paddle.nn.Dropout):
    """Dropout that refuses a probability outside 0 to 1.

    It prints its probability alone: what Paddle adds to that differs from version to
    version, and a notebook that shows a layer must print the same on each.
    """

    def __init__(self, p: float) -> None:
        super().__init__(_check.probability("dropout", p))

    def extra_repr(self) -> str:
        return f"p={self.p}"


@paddle.jit.not_to_static
def computable(X: paddle.Tensor) -> paddle.Tensor:
    """Return X, or a float32 copy: Paddle's CPU kernels know no half precision."""
    half = X.dtype in (paddle.float16, paddle.bfloat16)
    if half and paddle.in_dynamic_mode() and X.place.is_cpu_place():
        return X.astype("float32")
    return X


def without_overflow(X: paddle.Tensor) -> paddle.Tensor:
    """Return X, or float16 as float32: a sum of products soon exceeds 65504."""
    return X.astype("float32") if X.dtype == paddle.float16 else X


def keep_first(
    X: paddle.Tensor, lens: paddle.Tensor, value: float = 0
) -> paddle.Tensor:
    """X (batch, n, …) with ``value`` from element ``lens`` (batch,) of each row on."""
    rest = [1] * (len(X.shape) - 2)
    position = paddle.arange(X.shape[1], dtype=lens.dtype).reshape([1, -1, *rest])
    keep = position < lens.reshape([-1, 1, *rest])
    return paddle.where(keep, X, paddle.full([], value, X.dtype))


def linear(layer: paddle.nn.Linear, X: paddle.Tensor) -> paddle.Tensor:
    """The linear layer, also where Paddle's kernel refuses empty or half tensors."""
    X, weight = computable(X), computable(layer.weight)
    if _check.is_empty(X):
        return paddle.zeros([*X.shape[:-1], weight.shape[1]], X.dtype)
    if weight is layer.weight:
        return layer(X)
    bias = None if layer.bias is None else computable(layer.bias)
    return paddle.nn.functional.linear(X, weight, bias)


def has_hooks(layer: Any) -> bool:
    """Whether a call of the layer is more than its class says."""
    hooks = layer._forward_pre_hooks or layer._forward_post_hooks
    return bool(hooks) or "forward" in layer.__dict__


def weight_alone(layer: Any) -> Any:
    """The layer's weight, if all that it does is to multiply by that; else None."""
    if type(layer) is not paddle.nn.Linear or layer.bias is not None:
        return None
    return None if has_hooks(layer) else layer._parameters.get("weight")


SINGLE_AND_DOUBLE = (paddle.float32, paddle.float64)


def layer_norm(
    layer: paddle.nn.LayerNorm, sizes: list[int], X: paddle.Tensor
) -> paddle.Tensor:
    """The normalization, also where Paddle's kernel refuses empty or half tensors."""
    if _check.is_empty(X):
        return X
    # Not `weight: Any`: of that, to_static makes a syntax error on Paddle 2.6.
    weight = computable(layer.weight)  # type: ignore[arg-type]
    bias = computable(layer.bias)  # type: ignore[arg-type]
    if weight is layer.weight:
        return layer(X)
    return paddle.nn.functional.layer_norm(X, sizes, weight, bias)
