"""Functions of one's own, called once on tensors without numbers: what they compute becomes part of the library's network."""
import contextlib
import contextvars
from typing import Any, Callable

from ._names import kept_names
from ._tensors import KerasTensor, is_symbolic

_traced: contextvars.ContextVar[str] = contextvars.ContextVar("traced", default="")


def tracing() -> str:
    """The loss that is being traced; "" outside of one."""
    return _traced.get()


@contextlib.contextmanager
def _trace_of(what: str):
    token = _traced.set(what)
    try:
        with kept_names():
            yield
    finally:
        _traced.reset(token)


def network_of_loss(name: str, function: Callable, target: tuple, output: tuple) -> dict:
    """The configuration of the network that a loss is, of samples of these shapes."""
    from ._functional import GraphNetwork
    from .layers import Identity, Input

    class Traced(GraphNetwork):
        """The calls between the target, the output and the losses."""

        def __init__(self, inputs: list, outputs):
            self.name, self._trainable, self._compiled = name, True, None
            self._begin_graph(inputs, outputs)

    with _trace_of(f"loss {name}"):
        inputs = [Input(target, name="y_true"), Input(output, name="y_pred")]
        losses = _checked(name, function(*inputs))
        if any(losses is x for x in inputs):
            losses = Identity()(losses)
        return Traced(inputs, losses)._describe()


def _checked(name: str, losses: Any) -> KerasTensor:
    if isinstance(losses, KerasTensor):
        return losses
    told = "several tensors" if is_symbolic(losses) else repr(losses)
    raise TypeError(f"loss {name}: found {told}; expected one tensor, which it computes of y_true and y_pred by keras.ops and "
                    f"operators")
