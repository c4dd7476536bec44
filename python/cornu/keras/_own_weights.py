"""Weights that layers of one's own make with add_weight: those of layers that compute with them: a kernel and its bias, a scale of
elements and a shift after it, the rows of a table. Anywhere else beside tensors a weight is one: an EinsumDense of the number 1."""
from typing import Any

import numpy as np

from ._tensors import Arithmetic, KerasTensor, _ops

_HERE = ("operators and functions of two operands, ops.matmul, ops.concatenate, ops.broadcast_to of the batch, or "
         "ops.take(table, x, axis=0)")
_LETTERS = "abcde"


class OwnWeight(Arithmetic):
    """A weight of a layer of one's own. Where `call` multiplies by it, or adds it to the product, a Dense or an EinsumDense has it."""

    def __init__(self, layer, number: int, shape: tuple, name: str | None, options: dict, trainable: bool = True):
        self.shape, self.name, self.dtype = shape, name or f"variable_{number}" * (number > 0) or "variable", "float32"
        self.trainable = trainable
        self._owner, self._options = layer, options
        self._dense: Any = None  # the layer that has it
        self._without: Any = None  # of a kernel with a bias: the layer before that was added
        self._part = "kernel"
        self._make: Any = None  # makes that layer
        self._input: Any = None
        self._product: Any = None
        self._tensor: Any = None  # its numbers, the same for each sample

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

    def _begin(self, x: KerasTensor, make) -> KerasTensor:
        """The product of x, by the layer that make(options) gives; with a bias after it, by another one."""
        if self._product is not None:
            raise self._fail("a second product")
        self._make = make
        self._dense = make({"name": self.name, "trainable": self.trainable, **self._as(self._part)})
        self._dense._shown_paths = {self._part: self.path}
        self._input, self._product = x, self._dense(x)
        return self._product

    def _multiplies(self, x: KerasTensor) -> bool:
        return self._free and self.ndim == 2 and x.shape[-1] == self.shape[0]

    @property
    def _free(self) -> bool:
        """Does no layer have it yet?"""
        return self._product is None and self._tensor is None

    def _times(self, x: KerasTensor) -> KerasTensor:
        from .layers import Dense

        return self._begin(x, lambda options: Dense(self.shape[1], **{"use_bias": False, **options}))

    def _fits(self, x: KerasTensor) -> bool:
        axes = len(x.shape)
        return self._free and self.ndim < axes <= len(_LETTERS) and x.shape[axes - self.ndim:] == self.shape

    def _scales(self, x: KerasTensor) -> KerasTensor:
        """x times it, element by element of the last axes."""
        from .layers import EinsumDense

        axes = len(x.shape)
        inputs, own = _LETTERS[:axes], _LETTERS[axes - self.ndim:axes]

        def make(options: dict):
            bias = options.pop("bias", None)
            return EinsumDense(f"{inputs},{own}->{inputs}", x.shape[1:], bias_axes=_LETTERS[axes - bias.ndim:axes] if bias else None, **options)

        return self._begin(x, make)

    def _as_tensor(self, function: str, others: list, axes: int | None = None) -> KerasTensor:
        """Its numbers as a tensor that stands beside others, of so many axes with the batch."""
        from .layers import EinsumDense, Reshape

        if self._product is not None:
            raise self._fail(f"{function} after a product")
        axes = axes or self.ndim + 1
        sample = (1,) * (axes - 1 - self.ndim) + self.shape
        if len(sample) == axes and sample[0] == 1:
            sample = sample[1:]
        if len(sample) != axes - 1 or self.ndim >= len(_LETTERS):
            raise self._fail(f"{function} beside a tensor of {axes} axes")
        if self._tensor is None:
            own = _LETTERS[2:2 + self.ndim]
            layer = EinsumDense(f"ab,{own}->a{own or 'b'}", self.shape or 1, name=self.name, trainable=self.trainable, **self._as("kernel"))
            layer._shown_paths = {"kernel": self.path}
            self._dense, self._tensor = layer, layer(_one_beside([*(self._owner._given or []), *others]))
        made = self._tensor if sample == self._tensor.sample else Reshape(sample)(self._tensor)
        made.is_of_weights = True
        return made

    def _gathered(self, x: KerasTensor) -> KerasTensor:
        from .layers import Embedding

        if self.ndim != 2:
            raise self._fail("take")
        self._part = "embeddings"
        return self._begin(x, lambda options: Embedding(*self.shape, **options))

    def _as(self, part: str) -> dict:
        return {f"{part}_{key}": value for key, value in self._options.items()}

    def _with_bias(self, bias: "OwnWeight") -> KerasTensor:
        self._without = self._dense
        given = {"bias": bias} if type(self._dense).__name__ == "EinsumDense" else {"use_bias": True}
        self._dense = bias._dense = self._make({"name": f"{self.name}_{bias.name}", "trainable": self.trainable, **given,
                                                **self._as("kernel"), **bias._as("bias")})
        self._dense._shown_paths = {"kernel": self.path, "bias": bias.path}
        bias._part, bias._product = "bias", self._product
        return self._dense(self._input)

    def _takes_bias(self, bias: "OwnWeight") -> bool:
        if type(self._dense).__name__ == "EinsumDense":
            given = self._input.shape
            return 0 < bias.ndim < len(given) and given[len(given) - bias.ndim:] == bias.shape
        return bias.shape == self.shape[1:]

    def _added(self, product: KerasTensor) -> KerasTensor | None:
        """The sum by the layer that made the product; None: it has no such bias."""
        for other in self._owner._own_weights:
            if other._product is product and other._part == "kernel":
                if self._free and other._without is None and other._takes_bias(self) and self.trainable == other.trainable:
                    return other._with_bias(self)
        return None

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

    def __neg__(self):
        return _ops().multiply(self, -1.0)

    def __repr__(self) -> str:
        return f"<Variable path={self.path}, shape={self.shape}, dtype=float32>"


class WholeNumbers:
    """A tensor without its fractions, as ops.cast(x, "int32") gives it: the numbers of a table's rows, and nothing else."""

    def __init__(self, tensor: KerasTensor, dtype):
        self.tensor, self.dtype = tensor, np.dtype(dtype).name

    def _fail(self, *others, **more):
        raise NotImplementedError(f"ops.cast: of a tensor to {self.dtype} is not in cornu but in ops.take(table, ops.cast(x, \"int32\"), axis=0) "
                                  f"of a weight of a layer of one's own; all tensors are float32")

    __array__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __getitem__ = _fail


def _one_beside(tensors: list) -> KerasTensor:
    """The number 1 for each sample."""
    ops = _ops()
    x = next(t for t in tensors if isinstance(t, KerasTensor))
    part = x[(slice(None), *[slice(0, 1)] * (x.ndim - 1))]
    return ops.ones_like(part if x.ndim == 2 else ops.reshape(part, (-1, 1)))


def with_weights(function: str, x1, x2):
    """The operation where one of the two is a weight of a layer of one's own that computes it; else None."""
    if not isinstance(x1, OwnWeight) and not isinstance(x2, OwnWeight):
        return None
    weight, other = (x2, x1) if isinstance(x2, OwnWeight) else (x1, x2)
    if function == "take":
        if weight is x1 and isinstance(other, WholeNumbers):
            return weight._gathered(other.tensor)
        raise weight._fail(function)
    if not isinstance(other, KerasTensor):
        return None
    if function == "matmul" and weight is x2 and weight._multiplies(other):
        return weight._times(other)
    if function == "multiply" and weight._fits(other):
        return weight._scales(other)
    return weight._added(other) if function == "add" else None


def as_tensors(function: str, operands: list, axes: int | None = None) -> list:
    """The operands of a function, with tensors in the place of weights of layers of one's own; axes: of each."""
    if not any(isinstance(x, OwnWeight) for x in operands):
        return operands
    shapes = [x.shape for x in operands if isinstance(x, KerasTensor)]
    axes = axes or max((len(shape) for shape in shapes), default=1 + max(x.ndim for x in operands if isinstance(x, OwnWeight)))
    return [x._as_tensor(function, operands, axes) if isinstance(x, OwnWeight) else x for x in operands]


def for_each_sample(function: str, weight: OwnWeight, shape) -> KerasTensor:
    """A weight, whose first axis has length 1, in the place of the batch."""
    tensor = weight._as_tensor(function, [], weight.ndim)
    wanted = (None, *tensor.sample)
    if len(shape) != len(wanted) or shape[0] not in (None, -1) or tuple(shape[1:]) != wanted[1:]:
        raise NotImplementedError(f"ops.{function}: of the weight {weight.name} of shape {weight.shape} to {tuple(shape)} is not in cornu; it takes "
                                  f"{wanted}, the batch's samples")
    return tensor


def in_keras_order(weights: list[OwnWeight]) -> list:
    """The variables of a layer of one's own: those that are trained first."""
    return [w._variable for w in sorted(weights, key=lambda w: not w.trainable) if w._dense is not None and w._dense._variables]


def check_used(layer, network) -> None:
    """Every weight is one of the network's, and no product is used both with its bias and without."""
    for weight in layer._own_weights:
        if weight._free:
            raise NotImplementedError(f"layer {layer.name}: the weight {weight.name}, which call does not use, is not in cornu; it takes {_HERE}")
        if weight._dense not in network.layers:
            raise weight._fail("a product that call does not return")
        if weight._without in network.layers:
            raise weight._fail("a product that is used without its bias, too")
