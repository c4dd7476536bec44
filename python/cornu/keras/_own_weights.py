"""Weights that layers of one's own make with add_weight: the kernels and biases of dense layers, which compute with them."""
from typing import Any

import numpy as np

from ._tensors import KerasTensor

_HERE = "ops.matmul(x, kernel) and + bias after it"


class OwnWeight:
    """A weight of a layer of one's own. Where `call` multiplies by it, or adds it to the product, a Dense has it."""

    def __init__(self, layer, number: int, shape: tuple, name: str | None, options: dict):
        self.shape, self.name, self.dtype, self.trainable = shape, name or f"variable_{number}" * (number > 0) or "variable", "float32", True
        self._owner, self._options = layer, options
        self._dense: Any = None  # the layer that has it
        self._without: Any = None  # of a kernel with a bias: the layer before that was added
        self._part = "kernel"
        self._input: Any = None
        self._product: Any = None

    @property
    def path(self) -> str:
        """The name that Keras shows."""
        return f"{self._owner.name}/{self.name}"

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return len(self.shape)

    def _fail(self, function: str):
        return NotImplementedError(f"layer {self._owner.name}: the weight {self.name} of shape {self.shape} in {function} is not in cornu; "
                                   f"it takes {_HERE}")

    def _times(self, x: KerasTensor) -> KerasTensor:
        from .layers import Dense

        if self.ndim != 2 or x.shape[-1] != self.shape[0]:
            raise self._fail(f"matmul with a tensor of shape {x.shape}")
        if self._product is not None:
            raise self._fail("a second product")
        self._dense = Dense(self.shape[1], use_bias=False, name=self.name, **self._as("kernel"))
        self._dense._shown_paths = {"kernel": self.path}
        self._input, self._product = x, self._dense(x)
        return self._product

    def _as(self, part: str) -> dict:
        return {f"{part}_{key}": value for key, value in self._options.items()}

    def _with_bias(self, bias: "OwnWeight") -> KerasTensor:
        from .layers import Dense

        self._without = self._dense
        self._dense = bias._dense = Dense(self.shape[1], name=f"{self.name}_{bias.name}", **self._as("kernel"), **bias._as("bias"))
        self._dense._shown_paths = {"kernel": self.path, "bias": bias.path}
        bias._part, bias._product = "bias", self._product
        return self._dense(self._input)

    def _added(self, product: KerasTensor) -> KerasTensor:
        for other in self._owner._own_weights:
            if other._product is product and other._part == "kernel":
                if self._product is not None or self.shape != other.shape[1:]:
                    break
                return other._with_bias(self)
        raise self._fail("add")

    @property
    def _variable(self):
        variables = self._dense._variables if self._dense is not None else []
        if not variables:
            raise ValueError(f"{self.path}: found a layer that is not part of a model yet; expected one that was called in a model")
        return variables[self._part == "bias"]

    def numpy(self) -> np.ndarray:
        """A copy of the weight's values."""
        return self._variable.numpy()

    def assign(self, value) -> "OwnWeight":
        """Set the weight to an array of its shape."""
        self._variable.assign(value)
        return self

    def __array__(self, dtype=None, copy=None):
        if self._dense is None or not self._dense._variables:
            raise self._fail("this operation")
        return np.asarray(self.numpy(), dtype)

    def __add__(self, other):
        return with_weights("add", self, other)

    __radd__ = __add__

    def __matmul__(self, other):
        raise self._fail("matmul as the first operand")

    def __repr__(self) -> str:
        return f"<Variable path={self.path}, shape={self.shape}, dtype=float32>"


def with_weights(function: str, x1, x2):
    """The operation where one of the two is a weight of a layer of one's own; else None."""
    if not isinstance(x1, OwnWeight) and not isinstance(x2, OwnWeight):
        return None
    weight, other = (x2, x1) if isinstance(x2, OwnWeight) else (x1, x2)
    if function == "matmul" and weight is x2 and isinstance(other, KerasTensor):
        return weight._times(other)
    if function == "add" and isinstance(other, KerasTensor):
        return weight._added(other)
    raise weight._fail(function)


def check_used(layer, network) -> None:
    """Every weight is one of the network's, and no product is used both with its bias and without."""
    for weight in layer._own_weights:
        if weight._product is None:
            raise NotImplementedError(f"layer {layer.name}: the weight {weight.name}, which call does not use, is not in cornu; it takes {_HERE}")
        if weight._dense not in network.layers:
            raise weight._fail("a product that call does not return")
        if weight._without in network.layers:
            raise weight._fail("a product that is used without its bias, too")
