"""keras.ops: mathematics on tensors of a network, as far as layers compute it; on arrays, by NumPy."""
from typing import Any, Callable

import numpy as np

from .._missing import missing
from . import _keras_names, activations, layers
from ._tensors import KerasTensor, is_symbolic


def _number(function: str, value: Any) -> float:
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "biuf":
        raise NotImplementedError(f"ops.{function}: a constant of shape {array.shape} is not in cornu; it takes one number, or "
                                  f"tensors of the network")
    return float(array.reshape(()))


def _scaled(x: KerasTensor, scale: float, offset: float) -> KerasTensor:
    return layers.Rescaling(scale, offset)(x)


def _axis(function: str, axis: int, rank: int) -> int:
    """Counted from the batch, which is none that can be meant."""
    found = axis + rank if axis < 0 else axis
    if not 1 <= found < rank:
        raise ValueError(f"ops.{function}: axis: found {axis} for a tensor of {rank} axes; expected 1 to {rank - 1} (0 is the batch)")
    return found


def _two(function: str, numpy: Callable, layer: type | None, constant: Callable | None) -> Callable:
    """Of two arguments: `layer` merges two tensors; `constant` takes a tensor, a number, and whether the number is first."""

    def operation(x1, x2):
        if not is_symbolic([x1, x2]):
            return numpy(x1, x2)
        both = isinstance(x1, KerasTensor) and isinstance(x2, KerasTensor)
        if both and layer is None:
            raise NotImplementedError(f"ops.{function}: of two tensors is not in cornu; it takes a tensor and a number")
        if both:
            return layer()([x1, x2])
        first = isinstance(x2, KerasTensor)
        return constant(x2 if first else x1, _number(function, x1 if first else x2), first)

    operation.__name__ = operation.__qualname__ = function
    operation.__doc__ = f"{numpy.__name__} of two tensors, or of a tensor and a number; of arrays as NumPy has it."
    return operation


def _divided(x: KerasTensor, number: float, first: bool) -> KerasTensor:
    if first:
        raise NotImplementedError("ops.divide: a number over a tensor is not in cornu; it takes a tensor over a number")
    if number == 0:
        raise ValueError("ops.divide: found 0 as the divisor; expected another number")
    return _scaled(x, 1 / number, 0)


def _at_least(x: KerasTensor, number: float, first: bool = False) -> KerasTensor:
    """max(x, n) = n + relu(x - n)"""
    if number == 0:
        return activations.relu(x)
    return _scaled(activations.relu(_scaled(x, 1, -number)), 1, number)


def _at_most(x: KerasTensor, number: float, first: bool = False) -> KerasTensor:
    """min(x, n) = n - relu(n - x)"""
    return _scaled(activations.relu(_scaled(x, -1, number)), -1, number)


add = _two("add", np.add, layers.Add, lambda x, n, first: _scaled(x, 1, n))
subtract = _two("subtract", np.subtract, layers.Subtract,
                lambda x, n, first: _scaled(x, -1, n) if first else _scaled(x, 1, -n))
multiply = _two("multiply", np.multiply, layers.Multiply, lambda x, n, first: _scaled(x, n, 0))
divide = true_divide = _two("divide", np.divide, None, _divided)
maximum = _two("maximum", np.maximum, layers.Maximum, _at_least)
minimum = _two("minimum", np.minimum, layers.Minimum, _at_most)


def negative(x):
    """-x."""
    return _scaled(x, -1, 0) if is_symbolic(x) else np.negative(x)


def square(x):
    """x x."""
    return layers.Multiply()([x, x]) if is_symbolic(x) else np.square(x)


def absolute(x):
    """|x| = max(x, -x)."""
    return layers.Maximum()([x, negative(x)]) if is_symbolic(x) else np.absolute(x)


abs = absolute


def clip(x, x_min, x_max):
    """x, at least x_min and at most x_max."""
    return _at_most(_at_least(x, x_min), x_max) if is_symbolic(x) else np.clip(x, x_min, x_max)


def reshape(x, newshape):
    """The same numbers in another shape, which begins with the batch: -1 or None."""
    if not is_symbolic(x):
        return np.reshape(x, newshape)
    wanted = tuple(newshape) if isinstance(newshape, (list, tuple)) else (newshape,)
    if not wanted or wanted[0] not in (-1, None):
        raise ValueError(f"ops.reshape: newshape: found {newshape}; expected -1 first, for the batch")
    return layers.Reshape(tuple(-1 if n is None else n for n in wanted[1:]))(x)


def expand_dims(x, axis):
    """With a further axis of length 1."""
    if not is_symbolic(x):
        return np.expand_dims(x, axis)
    place = _axis("expand_dims", axis, x.ndim + 1) - 1
    return layers.Reshape((*x.shape[1:][:place], 1, *x.shape[1:][place:]))(x)


def squeeze(x, axis=None):
    """Without an axis of length 1, or without all."""
    if not is_symbolic(x):
        return np.squeeze(x, axis)
    places = [i for i, n in enumerate(x.shape) if i and n == 1] if axis is None else [_axis("squeeze", axis, x.ndim)]
    for place in places:
        if x.shape[place] != 1:
            raise ValueError(f"ops.squeeze: axis: found {axis} of length {x.shape[place]} in {x.shape}; expected length 1")
    return layers.Reshape(tuple(n for i, n in enumerate(x.shape) if i and i not in places))(x)


def concatenate(xs, axis=0):
    """Tensors one after the other along an axis."""
    if not is_symbolic(xs):
        return np.concatenate(xs, axis)
    return layers.Concatenate(axis=_axis("concatenate", axis, xs[0].ndim))(list(xs))


def stack(x, axis=0):
    """Tensors along a new axis."""
    if not is_symbolic(x):
        return np.stack(x, axis)
    return layers.Concatenate(axis=_axis("stack", axis, x[0].ndim + 1))([expand_dims(part, axis) for part in x])


def mean(x, axis=None, keepdims=False):
    """Over height and width of pictures: axis=(1, 2)."""
    if not is_symbolic(x):
        return np.mean(x, axis=axis, keepdims=keepdims)
    axes = (axis,) if isinstance(axis, int) else tuple(axis or ())
    if x.ndim != 4 or sorted(n % x.ndim for n in axes) != [1, 2]:
        raise NotImplementedError(f"ops.mean: over axis={axis!r} of {x.shape} is not in cornu; it takes axis=(1, 2) of pictures")
    return layers.GlobalAveragePooling2D(keepdims=bool(keepdims))(x)


def shape(x) -> tuple:
    """With None for the batch of a tensor."""
    return x.shape if is_symbolic(x) else np.shape(x)


def relu(x):
    """x, and 0 below 0."""
    return activations.relu(x)


def gelu(x, approximate=True):
    """x times the normal distribution's integral up to x; of tensors only with approximate=False."""
    return activations.gelu(x, approximate)


_activations = [name for name in activations.__all__ if name not in ("deserialize", "gelu", "get", "linear", "relu", "serialize")]
globals().update({name: getattr(activations, name) for name in _activations})

__all__ = ["abs", "absolute", "add", "clip", "concatenate", "divide", "expand_dims", "gelu", "maximum", "mean", "minimum",
           "multiply", "negative", "relu", "reshape", "shape", "square", "squeeze", "stack", "subtract", "true_divide", *_activations]
__getattr__ = missing("cornu.keras.ops", __all__, _keras_names.ops)
