"""What an optimizer keeps from step to step, as Keras's variables."""
from ..layers import Variable
from ._scalar import Scalar, Steps


class State(Variable):
    """One of an optimizer's own variables, such as the momentum of a weight."""

    def __init__(self, model, index: int, path: str, shape: tuple):
        super().__init__(model, index, path, shape, False, True)


class MomentumProduct(Scalar):
    """Nadam's u_product: of its momentum's schedule over the updates so far."""

    name = "u_product"

    def __init__(self, optimizer):
        self._optimizer = optimizer

    def __float__(self) -> float:
        product = 1.0
        for update in range(1, int(Steps(self._optimizer, accumulates=True)) + 1):
            product *= self._optimizer.beta_1 * (1 - 0.5 * 0.96 ** update)
        return product


def _path(owner: str, model: str, name: str) -> str:
    """The path that Keras gives "optimizer/momentum/dense/kernel"."""
    _, slot, weight = name.split("/", 2)
    return f"{owner}/{model}_{weight.replace('/', '_')}_{slot}"


def states(optimizer, model) -> list[State]:
    """Those of a compiled model, which take values when it is trained."""
    handle = model._model
    first = len(handle.weights())
    kept = [State(handle, first + number, _path(optimizer.name, model.name, name), shape)
            for number, (name, shape, *_) in enumerate(handle.slots())]
    return kept + [MomentumProduct(optimizer)] if type(optimizer).__name__ == "Nadam" and kept else kept
