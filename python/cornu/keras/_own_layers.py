"""Layers of one's own: what their `call` computes on tensors becomes a model within the model."""
import inspect
from typing import Any

from .._tables import check_dtype
from ._own_weights import OwnWeight, check_used
from ._tensors import is_symbolic


class OwnLayer:
    """Beside Layer: a base of classes whose `call` is their own, written with layers, keras.ops and operators. Called on tensors
    it is a model of its name, which has the layers that `call` uses, with their weights."""

    def _begin_own(self, owner: str, name: str | None, trainable: bool) -> None:
        self._config: dict[str, Any] = {}
        self._begin(owner, name, None)
        self._trainable = trainable
        self.built = False
        self._network: Any = None
        self._traced_for: list[tuple] = []
        self._own_weights: list[OwnWeight] = []
        self._given: list | None = None  # the inputs of call

    def build(self, input_shape) -> None:
        """Make its weights for inputs of this shape, or of a list of shapes. One's own is called once, before the first call."""
        if self._row is not None:
            shapes = input_shape if isinstance(input_shape, list) else [input_shape]
            self._settle([tuple(shape)[1:] for shape in shapes], f"layer {self.name}")

    def call(self, inputs):
        """Its outputs."""
        if self._row is not None:
            return self(inputs)
        raise NotImplementedError(f"{type(self).__name__}: expected a method call of its own")

    def add_weight(self, shape=None, initializer=None, dtype=None, trainable=True, autocast=True, regularizer=None, constraint=None,
                   aggregation="none", overwrite_with_gradient=False, name=None):
        """A weight of a layer of one's own, which `call` takes beside tensors in operators, functions of two operands, ops.matmul
        and ops.concatenate, or in ops.take(table, x, axis=0)."""
        if self._row is not None:
            raise TypeError(f"layer {self.name}: add_weight: found a {type(self).__name__}; expected a layer of one's own")
        check_dtype(f"layer {self.name}", dtype)
        if overwrite_with_gradient:
            raise NotImplementedError(f"layer {self.name}: add_weight(overwrite_with_gradient=True) is not in cornu")
        shape = tuple(int(size) for size in (shape if isinstance(shape, (list, tuple)) else () if shape is None else (shape,)))
        options = {"initializer": initializer or "glorot_uniform", "regularizer": regularizer, "constraint": constraint}
        weight = OwnWeight(self, len(self._own_weights), shape, name, options, bool(trainable))
        self._own_weights.append(weight)
        return weight

    add_variable = add_weight

    def _as_network(self, inputs):
        """The model that computes what `call` does of tensors like these."""
        from .layers import Input
        from .models import Functional

        samples = [t.sample for t in (inputs if isinstance(inputs, (list, tuple)) else [inputs])]
        if self._network is not None:
            if samples != self._traced_for:
                raise NotImplementedError(f"layer {self.name}: called on tensors of shapes {samples}, and before on {self._traced_for}, is not "
                                          f"in cornu; a layer of one's own takes one shape")
            return self._network
        own = [Input(sample) for sample in samples]
        given = own if isinstance(inputs, (list, tuple)) else own[0]
        if not self.built:
            shapes = [t.shape for t in own]
            self.build(shapes if isinstance(inputs, (list, tuple)) else shapes[0])
            self.built = True
        more = {"training": None} if "training" in inspect.signature(self.call).parameters else {}
        self._given = own
        outputs = self.call(given, **more)
        if not is_symbolic(outputs):
            raise TypeError(f"layer {self.name}: found {outputs!r}; expected a tensor, which call computes of its inputs")
        self._traced_for = samples
        self._network = Functional(given, outputs, name=self.name, trainable=self._trainable)
        self._network._weights_made = self._own_weights
        check_used(self, self._network)
        return self._network


def network_of(layer, inputs):
    """The model in the place of a layer of one's own; any other as it is."""
    own = isinstance(layer, OwnLayer) and layer._row is None
    return layer._as_network(inputs) if own else layer
