"""keras.ops: mathematics on tensors of a network, as far as layers compute it; on arrays, by NumPy."""
import math
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
        if both and x1.ndim != x2.ndim:
            raise ValueError(f"ops.{function}: found tensors of shapes {x1.shape} and {x2.shape}; expected equal numbers of axes, as "
                             f"with others one's batch would stand beside another axis")
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


def _runs(function: str, axis, rank: int) -> list[list[int]]:
    """The axes of a reduction, neighbours together."""
    if axis is None:
        raise NotImplementedError(f"ops.{function}: over axis=None, all samples together, is not in cornu; it takes axes from 1 to "
                                  f"{rank - 1}")
    numbers = [_axis(function, n, rank) for n in (axis if isinstance(axis, (list, tuple)) else (axis,))]
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"ops.{function}: axis: found {axis} for a tensor of {rank} axes, one of them twice; expected each once")
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _pooled(function: str, x: KerasTensor, axis, keepdims: bool, pool: Callable) -> KerasTensor:
    """A reduction: pooling by windows as wide as the axes, which stand beside each other."""
    runs = _runs(function, axis, x.ndim)
    sample, reduced = list(x.shape[1:]), {n for run in runs for n in run}
    kept = [1 if n in reduced else size for n, size in enumerate(sample, 1) if keepdims or n not in reduced]
    if not kept:
        raise NotImplementedError(f"ops.{function}: over axis={axis!r} of {x.shape} without keepdims is not in cornu, as no axis but "
                                  f"the batch would be left; it takes keepdims=True")
    for run in runs:
        before, width, after = (math.prod(part) for part in (sample[:run[0] - 1], sample[run[0] - 1:run[-1]], sample[run[-1]:]))
        x = pool(pool_size=(1, width))(layers.Reshape((before, width, after))(x))
        sample[run[0] - 1:run[-1]] = [1] * len(run)
    return layers.Reshape(kept)(x)


def mean(x, axis=None, keepdims=False):
    """Over axes of each sample."""
    if not is_symbolic(x):
        return np.mean(x, axis=axis, keepdims=keepdims)
    if x.ndim == 4 and _runs("mean", axis, 4) == [[1, 2]]:
        return layers.GlobalAveragePooling2D(keepdims=bool(keepdims))(x)
    return _pooled("mean", x, axis, keepdims, layers.AveragePooling2D)


def sum(x, axis=None, keepdims=False):
    """Over axes of each sample: their mean times their number."""
    if not is_symbolic(x):
        return np.sum(x, axis=axis, keepdims=keepdims)
    count = math.prod(x.shape[n] for run in _runs("sum", axis, x.ndim) for n in run)
    return _scaled(_pooled("sum", x, axis, keepdims, layers.AveragePooling2D), count, 0)


def _check_initial(function: str, initial) -> None:
    if initial is not None:
        raise NotImplementedError(f"ops.{function}: initial={initial!r} of a tensor is not in cornu; it takes None")


def max(x, axis=None, keepdims=False, initial=None):
    """Over axes of each sample. The gradient goes to the first of equal elements."""
    if not is_symbolic(x):
        return np.max(x, axis=axis, keepdims=keepdims, **({} if initial is None else {"initial": initial}))
    _check_initial("max", initial)
    return _pooled("max", x, axis, keepdims, layers.MaxPooling2D)


def min(x, axis=None, keepdims=False, initial=None):
    """Over axes of each sample: -max(-x)."""
    if not is_symbolic(x):
        return np.min(x, axis=axis, keepdims=keepdims, **({} if initial is None else {"initial": initial}))
    _check_initial("min", initial)
    return negative(_pooled("min", negative(x), axis, keepdims, layers.MaxPooling2D))


def matmul(x1, x2):
    """Products of the samples' matrices."""
    if not is_symbolic([x1, x2]):
        return np.matmul(x1, x2)
    for x in (x1, x2):
        if not isinstance(x, KerasTensor) or x.ndim != 3:
            found = f"a tensor of shape {x.shape}" if isinstance(x, KerasTensor) else f"a {type(x).__name__}"
            raise NotImplementedError(f"ops.matmul: of {found} is not in cornu; it takes two tensors of shape (batch, rows, columns)")
    if x1.shape[2] != x2.shape[1]:
        raise ValueError(f"ops.matmul: found shapes {x1.shape} and {x2.shape}; expected as many columns as rows")
    return layers.Dot(axes=(2, 1))([x1, x2])


def pad(x, pad_width, mode="constant", constant_values=None):
    """Zeros around each sample: pad_width has (before, after) of each axis, (0, 0) of the batch."""
    if not is_symbolic(x):
        return np.pad(x, pad_width, mode, **({} if constant_values is None else {"constant_values": constant_values}))
    if mode != "constant" or constant_values not in (None, 0):
        raise NotImplementedError(f"ops.pad: mode={mode!r}, constant_values={constant_values!r} of a tensor is not in cornu; it takes "
                                  f"zeros")
    widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()
    if widths[0] != [0, 0] or any(not isinstance(n, int) or n < 0 for width in widths for n in width):
        raise ValueError(f"ops.pad: pad_width: found {pad_width} for a tensor of {x.ndim} axes; expected whole numbers of at least 0 "
                         f"for each, and (0, 0) for the batch")
    sample = list(x.shape[1:])
    for place, (before, after) in enumerate(widths[1:]):
        if before or after:
            around = math.prod(sample[:place]), sample[place], math.prod(sample[place + 1:])
            x = layers.ZeroPadding2D(((0, 0), (before, after)))(layers.Reshape(around)(x))
            sample[place] += before + after
            x = layers.Reshape(tuple(sample))(x)
    return x


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

__all__ = ["abs", "absolute", "add", "clip", "concatenate", "divide", "expand_dims", "gelu", "matmul", "max", "maximum", "mean",
           "min", "minimum", "multiply", "negative", "pad", "relu", "reshape", "shape", "square", "squeeze", "stack", "subtract", "sum",
           "true_divide", *_activations]
__getattr__ = missing("cornu.keras.ops", __all__, _keras_names.ops)
