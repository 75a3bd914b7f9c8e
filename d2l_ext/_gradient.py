"""A tensor whose gradient is computed by a function of ours.

Not by paddle.autograd.PyLayer: a second backward pass through one, after
``retain_graph=True``, ends in a crash of the process (Paddle 2.6 to 3.3 all have it).
Hooks on tensors are called in every pass.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

from ._paddle import paddle

Gradients = Callable[[paddle.Tensor], Sequence[paddle.Tensor]]


def with_gradients(
    value: paddle.Tensor, inputs: Sequence[paddle.Tensor], gradients: Gradients
) -> paddle.Tensor:
    """Return a copy of ``value``, to Paddle a function of ``inputs``.

    Args:
        value: what was computed from the inputs, without a graph.
        inputs: what the gradients are for, of size 1 or more; some may need none.
        gradients: of the gradient for the value, those for all inputs. It is called
            without a graph; that of the gradient does not exist, as for Paddle's
            softmax, and to ask for it (``create_graph=True``) is Paddle's error.
    """
    wanted = [i for i, t in enumerate(inputs) if not t.stop_gradient]
    if not wanted or not paddle.is_grad_enabled():
        return value
    backward = _Backward(inputs, gradients)
    # Views, so that the hooks are not those of the caller's tensors.
    views = [inputs[i].unsqueeze(0) for i in wanted]
    for i, view in zip(wanted, views):
        view.register_hook(backward.hook(i))
    inner = value + _nothing(views)
    inner.register_hook(backward.start)
    # One more view: a hook of the caller's on the result has to come first.
    return inner.unsqueeze(0).squeeze(0)


def _nothing(tensors: list[paddle.Tensor]) -> paddle.Tensor:
    """0, whatever the numbers are, but in the graph it depends on all tensors."""
    first, *others = (t.reshape([-1])[:1] for t in tensors)
    for other in others:  # not joined: some may be cut off, by no_grad_vars
        first = first + other
    # The softmax is there since Paddle knows no gradient of its gradient.
    first = paddle.nn.functional.softmax(first)
    return paddle.where(paddle.zeros([1], "bool"), first, paddle.zeros_like(first))


class _Backward:
    """One backward pass after another: the first hook computes, the others take."""

    def __init__(self, inputs: Sequence[paddle.Tensor], gradients: Gradients) -> None:
        self.inputs, self.gradients = inputs, gradients
        self.versions = [t.inplace_version for t in inputs]
        self.found: dict[int, paddle.Tensor] = {}

    def start(self, gradient: paddle.Tensor) -> None:
        """The gradient for the value is there: Paddle calls this before the others."""
        if [t.inplace_version for t in self.inputs] != self.versions:
            raise RuntimeError(
                "an input of attention was changed in place after the call, "
                "and its gradient needs what it was"
            )
        with paddle.no_grad():
            self.found = dict(enumerate(self.gradients(gradient.detach())))

    def hook(self, index: int) -> Callable[[Any], paddle.Tensor]:
        return lambda _: self.found.pop(index).unsqueeze(0)
