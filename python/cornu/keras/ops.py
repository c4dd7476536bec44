"""keras.ops: mathematics on tensors of a network, as far as layers compute it; on arrays, by NumPy."""
import builtins
import functools
from typing import Any, Callable

import numpy as np

from .._missing import missing
from . import _array_functions, _keras_names, activations, layers
from ._names import automatic_name
from ._operations import array_of, classes, key_of, operation
from ._own_weights import OwnWeight, WholeNumbers, as_tensors, for_each_sample, with_weights
from ._tensors import FlatShape, KerasTensor, computed, is_symbolic, shown_as
from ._tracing import tracing


def _number(function: str, value: Any) -> float:
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "biuf":
        raise NotImplementedError(f"ops.{function}: a constant of shape {array.shape} is not in cornu; it takes one number")
    return float(array.reshape(()))


def _beside(function: str, operands: list) -> list:
    """Operands that may stand beside each other: one number for all samples may stand beside any tensor."""
    tensors = [x for x in operands if isinstance(x, KerasTensor)]
    operands = [_padded(function, x, tensors) if isinstance(x, KerasTensor) and x.is_of_weights else x for x in operands]
    tensors = [x for x in operands if isinstance(x, KerasTensor)]
    own = [x for x in tensors if x.shape != ()] or tensors
    for x in own[1:]:
        if x.ndim != own[0].ndim:
            raise ValueError(f"ops.{function}: found tensors of shapes {own[0].shape} and {x.shape}; expected equal numbers of "
                             f"axes, as with others one's batch would stand beside another axis")
    rank = len(own[0].sample)
    return [_reshaped(function, x, (1,) * rank) if isinstance(x, KerasTensor) and len(x.sample) != rank else x for x in operands]


def _padded(function: str, x: KerasTensor, beside: list) -> KerasTensor:
    """Numbers of weights alone, with as many axes as the tensors beside it."""
    axes = builtins.max(t.ndim for t in beside)
    sample = (1,) * (axes - x.ndim) + x.sample
    return x if sample == x.sample else _reshaped(function, x, sample)


def _of_weights(made: KerasTensor, operands: list) -> KerasTensor:
    """What was made of these, which is the same for all samples if they are."""
    tensors = [x for x in operands if isinstance(x, KerasTensor)]
    made.is_of_weights = bool(tensors) and builtins.all(x.is_of_weights for x in tensors)
    return made


def _operands(function: str, kind: str, **operands) -> KerasTensor:
    """The operation on tensors, and arrays in the place of some."""
    operands = dict(zip(operands, _beside(function, list(operands.values()))))
    tensors = [x for x in operands.values() if isinstance(x, KerasTensor)]
    arrays = {key: array_of(function, x) for key, x in operands.items() if not isinstance(x, KerasTensor)}
    return operation(kind, tensors, name=automatic_name(function), **arrays)


def _scaled(name: str, x: KerasTensor, scale: float, offset: float) -> KerasTensor:
    return computed(layers.Rescaling(scale, offset, name=automatic_name(name)), x)


def _axis(function: str, axis: int, rank: int) -> int:
    """Counted from the batch, which is none that can be meant."""
    found = axis + rank if axis < 0 else axis
    if not 1 <= found < rank:
        raise ValueError(f"ops.{function}: axis: found {axis} for a tensor of {rank} axes; expected 1 to {rank - 1} (0 is the batch)")
    return found


def _two(function: str, numpy: Callable, kind: str, number: Callable | None = None) -> Callable:
    """A function of two arguments: `kind` takes tensors and arrays; `number` a tensor, a number, and whether the number is first."""

    def of_tensors(x1, x2):
        first, second = (isinstance(x, KerasTensor) for x in (x1, x2))
        x, other = (x1, x2) if first else (x2, x1)
        if first and second:
            beside = _beside(function, [x1, x2])
            return computed((getattr(layers, kind, None) or classes[kind])(name=automatic_name(function)), beside)
        if number and np.size(other) == 1 and np.ndim(other) <= x.ndim:
            return number(x, _number(function, other), second)
        return _operands(function, kind, x1=x1, x2=x2)

    def of_two(x1, x2):
        sum_ = with_weights(function, x1, x2)
        if sum_ is not None:
            return sum_
        x1, x2 = as_tensors(function, [x1, x2])
        return _of_weights(of_tensors(x1, x2), [x1, x2]) if is_symbolic([x1, x2]) else numpy(x1, x2)

    of_two.__name__ = of_two.__qualname__ = function
    of_two.__doc__ = f"{numpy.__name__} of two tensors, or of a tensor and a number or an array; of arrays as NumPy has it."
    return of_two


def _divided(name: str, kind: str, x: KerasTensor, number: float, first: bool) -> KerasTensor:
    if first:
        if number == 1:
            return operation("Reciprocal", x, name=automatic_name(name))
        return _operands(name, kind, x1=number, x2=x)
    if number == 0:
        raise ValueError("ops.divide: found 0 as the divisor; expected another number")
    return _scaled(name, x, 1 / number, 0)


add = _two("add", np.add, "Add", lambda x, n, first: _scaled("add", x, 1, n))
subtract = _two("subtract", np.subtract, "Subtract",
                lambda x, n, first: _scaled("subtract", x, -1, n) if first else _scaled("subtract", x, 1, -n))
multiply = _two("multiply", np.multiply, "Multiply", lambda x, n, first: _scaled("multiply", x, n, 0))
divide = _two("divide", np.divide, "Divide", lambda *given: _divided("divide", "Divide", *given))
true_divide = _two("true_divide", np.true_divide, "TrueDivide", lambda *given: _divided("true_divide", "TrueDivide", *given))
maximum = _two("maximum", np.maximum, "Maximum", lambda x, n, first: operation("Maximum", [x], **{"x1" if first else "x2": n}))
minimum = _two("minimum", np.minimum, "Minimum", lambda x, n, first: operation("Minimum", [x], **{"x1" if first else "x2": n}))
# A comparison of tensors is 1 where it is true, and 0.
greater = _two("greater", np.greater, "Greater")
greater_equal = _two("greater_equal", np.greater_equal, "GreaterEqual")
less = _two("less", np.less, "Less")
less_equal = _two("less_equal", np.less_equal, "LessEqual")
equal = _two("equal", np.equal, "Equal")
not_equal = _two("not_equal", np.not_equal, "NotEqual")


def where(condition, x1=None, x2=None):
    """x1 where the condition is true, or not 0, and x2 elsewhere: tensors, numbers or arrays."""
    condition, x1, x2 = as_tensors("where", [condition, x1, x2])
    if not is_symbolic([condition, x1, x2]):
        return np.where(condition) if x1 is None and x2 is None else np.where(condition, x1, x2)
    if x1 is None or x2 is None:
        raise NotImplementedError("ops.where: of a condition alone is not in cornu; it takes condition, x1 and x2")
    return _operands("where", "Where", condition=condition, x1=x1, x2=x2)


def negative(x):
    """-x."""
    return _scaled("negative", x, -1, 0) if is_symbolic(x) else np.negative(x)


def _of_one(function: str, numpy: Callable, kind: str) -> Callable:
    """Of each element of a tensor."""

    def of_one(x):
        x, = as_tensors(function, [x])
        return _of_weights(operation(kind, x), [x]) if is_symbolic(x) else numpy(x)

    of_one.__name__ = of_one.__qualname__ = function
    of_one.__doc__ = f"{kind} of each element; of arrays by NumPy."
    return of_one


absolute = _of_one("absolute", np.absolute, "Absolute")
exp = _of_one("exp", np.exp, "Exp")
log = _of_one("log", np.log, "Log")
reciprocal = _of_one("reciprocal", lambda x: np.divide(1, x), "Reciprocal")
rsqrt = _of_one("rsqrt", lambda x: np.divide(1, np.sqrt(x)), "Rsqrt")
sqrt = _of_one("sqrt", np.sqrt, "Sqrt")
square = _of_one("square", np.square, "Square")
abs = absolute
_POWERS = {2: "Square", 0.5: "Sqrt", -0.5: "Rsqrt", -1: "Reciprocal"}
_PRODUCTS = (1, 3, 4)


def power(x1, x2):
    """x1 to the power of x2; of tensors to that of 2, 0.5, -0.5 or -1, in losses of 1, 3 and 4."""
    if not is_symbolic([x1, x2]):
        return np.power(x1, x2)
    exponent = None if isinstance(x2, KerasTensor) else _number("power", x2)
    if tracing() and exponent in _PRODUCTS and isinstance(x1, KerasTensor):
        return functools.reduce(multiply, [x1] * int(exponent))
    known = [*_POWERS, *(_PRODUCTS if tracing() else ())]
    if exponent not in _POWERS or not isinstance(x1, KerasTensor):
        raise NotImplementedError(f"ops.power: {x1!r} to the power of {x2!r} is not in cornu; it takes a tensor, and "
                                  f"{', '.join(map(str, known))} as the exponent")
    return operation(_POWERS[exponent], x1, name=automatic_name("power"))


def clip(x, x_min, x_max):
    """x, at least x_min and at most x_max."""
    if not is_symbolic(x):
        return np.clip(x, x_min, x_max)
    return operation("Clip", x, x_min=_number("clip", x_min), x_max=_number("clip", x_max))


def reshape(x, newshape):
    """The same numbers in another shape, which begins with the batch: -1 or None."""
    if not is_symbolic(x):
        return np.reshape(x, newshape)
    wanted = tuple(newshape) if isinstance(newshape, (list, tuple)) else (newshape,)
    if wanted == (-1,) and tracing():
        return _flattened(x)
    if not wanted or wanted[0] not in (-1, None):
        raise ValueError(f"ops.reshape: newshape: found {newshape}; expected -1 first, for the batch")
    return _reshaped("reshape", x, tuple(-1 if n is None else n for n in wanted[1:]))


def _flattened(x: KerasTensor) -> KerasTensor:
    """The numbers of all samples, one after the other, without an axis for the batch."""
    if isinstance(x.shape, FlatShape):
        return x
    flat = _reshaped("reshape", x, (int(np.prod(x.sample)),))
    return shown_as(flat, FlatShape((None,), flat.sample))


def _reshaped(name: str, x: KerasTensor, shape: tuple) -> KerasTensor:
    return computed(layers.Reshape(shape, name=automatic_name(name)), x)


def expand_dims(x, axis):
    """With a further axis of length 1."""
    if not is_symbolic(x):
        return np.expand_dims(x, axis)
    if isinstance(x.shape, FlatShape):
        return _as_column("expand_dims", x, axis)
    place = _axis("expand_dims", axis, x.ndim + 1) - 1
    if None in x.sample:
        return _named_part("expand_dims", x, _along(place + 1, None))
    return _reshaped("expand_dims", x, (*x.shape[1:][:place], 1, *x.shape[1:][place:]))


def _as_column(function: str, x: KerasTensor, axis: int) -> KerasTensor:
    """Of (None,), a number for each sample: (None, 1)."""
    if x.shape != (None,) or x.sample != (1,) or axis not in (1, -1):
        raise NotImplementedError(f"ops.{function}: axis {axis} of a tensor of shape {tuple(x.shape)} is not in cornu; it takes the "
                                  f"axis behind a number of each sample")
    return shown_as(_reshaped(function, x, (1,)), (None, 1))


def squeeze(x, axis=None):
    """Without an axis of length 1, or without all."""
    if not is_symbolic(x):
        return np.squeeze(x, axis)
    places = [i for i, n in enumerate(x.shape) if i and n == 1] if axis is None else [_axis("squeeze", axis, x.ndim)]
    for place in places:
        if x.shape[place] != 1:
            raise ValueError(f"ops.squeeze: axis: found {axis} of length {x.shape[place]} in {x.shape}; expected length 1")
    if None in x.sample:
        return _named_part("squeeze", x, tuple(0 if i in places else slice(None) for i in range(x.ndim)))
    return _reshaped("squeeze", x, tuple(n for i, n in enumerate(x.shape) if i and i not in places))


def concatenate(xs, axis=0):
    """Tensors one after the other along an axis."""
    xs = as_tensors("concatenate", list(xs)) if isinstance(xs, (list, tuple)) else xs
    if not is_symbolic(xs):
        return np.concatenate(xs, axis)
    return computed(layers.Concatenate(axis=_axis("concatenate", axis, xs[0].ndim)), list(xs))


def stack(x, axis=0):
    """Tensors along a new axis."""
    if not is_symbolic(x):
        return np.stack(x, axis)
    return operation("Stack", list(x), axis=_axis("stack", axis, x[0].ndim + 1))


def _part(x: KerasTensor, key) -> KerasTensor:
    """x[key]."""
    if tracing():
        return _part_in_loss(x, key if isinstance(key, tuple) else (key,))
    return operation("GetItem", x, key=key_of(key))


def _part_in_loss(x: KerasTensor, key: tuple) -> KerasTensor:
    """The same in a loss, where one number of each sample has no axis besides the batch."""
    if isinstance(x.shape, FlatShape):
        if key in ((slice(None), None), (Ellipsis, None)):
            return _as_column("get_item", x, -1)
        raise NotImplementedError(f"a part {key} of a tensor of shape {tuple(x.shape)} is not in cornu; it takes [:, None]")
    places = [] if Ellipsis in key or key[:1] != (slice(None),) else key[1:]
    if len(places) < x.ndim - 1 or not all(hasattr(place, "__index__") for place in places):
        return operation("GetItem", x, key=key_of(key))
    runs = [slice(int(place), int(place) + 1 or None) for place in places]
    one = operation("GetItem", x, key=key_of((slice(None), *runs)))
    return shown_as(_reshaped("get_item", one, (1,)) if len(runs) > 1 else one, FlatShape((None,), (1,)))


def _named_part(name: str, x: KerasTensor, key: tuple) -> KerasTensor:
    """x[key] as an operation of another name."""
    return operation("GetItem", x, key=key_of(key), name=automatic_name(name))


def _along(axis: int, part) -> tuple:
    """The key of a part along an axis."""
    return (*[slice(None)] * axis, part)


def transpose(x, axes=None):
    """The axes in another order; the batch stays the first."""
    if not is_symbolic(x):
        return np.transpose(x, axes)
    if axes is None:
        axes = range(x.ndim)[::-1]
    return operation("Transpose", x, axes=list(axes))


def _moved(name: str, x: KerasTensor, axes: list[int]) -> KerasTensor:
    return operation("Transpose", x, axes=axes, name=automatic_name(name))


def swapaxes(x, axis1, axis2):
    """Two axes in each other's place."""
    if not is_symbolic(x):
        return np.swapaxes(x, axis1, axis2)
    first, second = (_axis("swapaxes", axis, x.ndim) for axis in (axis1, axis2))
    axes = list(range(x.ndim))
    axes[first], axes[second] = second, first
    return _moved("swapaxes", x, axes)


def moveaxis(x, source, destination):
    """An axis at another place, among the others in their order."""
    if not is_symbolic(x):
        return np.moveaxis(x, source, destination)
    if isinstance(source, (list, tuple)) or isinstance(destination, (list, tuple)):
        raise NotImplementedError(f"ops.moveaxis: of several axes, {source!r} to {destination!r}, is not in cornu; it takes one")
    begin, end = (_axis("moveaxis", axis, x.ndim) for axis in (source, destination))
    axes = [n for n in range(x.ndim) if n != begin]
    return _moved("moveaxis", x, axes[:end] + [begin] + axes[end:])


def split(x, indices_or_sections, axis=0):
    """Parts along an axis: as many equal ones, or those between the indices."""
    if not is_symbolic(x):
        return np.split(x, indices_or_sections, axis)
    axis = _axis("split", axis, x.ndim)
    size = x.shape[axis]
    if np.ndim(indices_or_sections) == 0:
        if size is None:
            raise NotImplementedError(f"ops.split: equal parts of axis {axis} of {x.shape}, whose size is open, are not in cornu; it "
                                      f"takes a list of indices there")
        sections = int(indices_or_sections)
        if sections < 1 or size % sections:
            raise ValueError(f"ops.split: indices_or_sections: found {indices_or_sections} for axis {axis} of {x.shape}; expected a "
                             f"number that divides {size}, or a list of indices")
        places = [part * (size // sections) for part in range(sections + 1)]
    else:
        places = [0, *map(int, indices_or_sections), size]
    return [_part(x, _along(axis, slice(*ends))) for ends in zip(places, places[1:])]


def unstack(x, num=None, axis=0):
    """The parts along an axis, without it."""
    if not is_symbolic(x):
        return [np.take(x, index, axis) for index in range(np.shape(x)[axis])]
    axis = _axis("unstack", axis, x.ndim)
    size = x.shape[axis]
    if num is None and size is None or num is not None and size not in (None, num):
        raise ValueError(f"ops.unstack: num: found {num} for axis {axis} of {x.shape}; expected "
                         f"{'a number' if size is None else f'None or {size}'}")
    return [_part(x, _along(axis, index)) for index in range(num if size is None else size)]


def take(x, indices, axis=None):
    """One element along an axis; of a table that is a weight of a layer of one's own, the rows by numbers (axis 0)."""
    rows = with_weights("take", x, indices) if axis == 0 else None
    if rows is not None:
        return rows
    if not is_symbolic(x):
        return np.take(x, indices, axis)
    if axis is None or np.ndim(indices):
        raise NotImplementedError(f"ops.take: indices={indices!r}, axis={axis!r} of a tensor is not in cornu; it takes one index "
                                  f"along an axis")
    return _named_part("take", x, _along(_axis("take", axis, x.ndim), int(indices)))


def _reduced_in_loss(kind: str, x: KerasTensor, axis, keepdims: bool, **others) -> KerasTensor:
    """A reduction of a loss, which sees the batch as an axis, too."""
    function, given = kind.lower(), axis if isinstance(axis, (list, tuple)) else [axis]
    axes = range(x.ndim) if axis is None else [n + x.ndim if n < 0 else n for n in given]
    if x.shape == ():
        return x
    if 0 in axes and (keepdims or set(axes) != set(range(x.ndim))):
        raise NotImplementedError(f"ops.{function}: over axis={axis!r} of {tuple(x.shape)}, the batch but not all axes, or with "
                                  f"keepdims, is not in cornu; it takes axes of each sample, or None")
    if 0 in axes:
        return shown_as(operation(kind, x, axis=None, **others), FlatShape((), (1,)))
    if keepdims or set(axes) != set(range(1, x.ndim)):
        return operation(kind, x, axis=list(axes), keepdims=bool(keepdims), **others)
    of_each = operation(kind, x, axis=list(axes), keepdims=True, **others)
    of_each = of_each if x.ndim == 2 else _reshaped(function, of_each, (1,))
    return shown_as(of_each, FlatShape((None,), (1,)))


def _reduced(kind: str, x: KerasTensor, axis, keepdims: bool, **others) -> KerasTensor:
    """A reduction over axes of each sample."""
    function = kind.lower()
    if tracing():
        return _reduced_in_loss(kind, x, axis, keepdims, **others)
    if axis is None:
        raise NotImplementedError(f"ops.{function}: over axis=None, all samples together, is not in cornu; it takes axes from 1 to "
                                  f"{x.ndim - 1}")
    axes = list(axis) if isinstance(axis, (list, tuple)) else axis
    return operation(kind, x, axis=axes, keepdims=bool(keepdims), **others)


def mean(x, axis=None, keepdims=False):
    """Over axes of each sample."""
    return _reduced("Mean", x, axis, keepdims) if is_symbolic(x) else np.mean(x, axis=axis, keepdims=keepdims)


def sum(x, axis=None, keepdims=False):
    """Over axes of each sample: their mean times their number."""
    return _reduced("Sum", x, axis, keepdims) if is_symbolic(x) else np.sum(x, axis=axis, keepdims=keepdims)


def max(x, axis=None, keepdims=False, initial=None):
    """Over axes of each sample. The gradient goes to the first of equal elements."""
    if is_symbolic(x):
        return _reduced("Max", x, axis, keepdims, initial=initial)
    return np.max(x, axis=axis, keepdims=keepdims, **({} if initial is None else {"initial": initial}))


def min(x, axis=None, keepdims=False, initial=None):
    """Over axes of each sample."""
    if is_symbolic(x):
        return _reduced("Min", x, axis, keepdims, initial=initial)
    return np.min(x, axis=axis, keepdims=keepdims, **({} if initial is None else {"initial": initial}))


def matmul(x1, x2):
    """Products of the samples' matrices; an array of two axes is one matrix for all."""
    product = with_weights("matmul", x1, x2)
    if product is not None:
        return product
    x1, x2 = as_tensors("matmul", [x1, x2])
    if not is_symbolic([x1, x2]):
        return np.matmul(x1, x2)
    return _operands("matmul", "Matmul", x1=x1, x2=x2)


def pad(x, pad_width, mode="constant", constant_values=None):
    """A constant around each sample: pad_width has (before, after) of each axis, (0, 0) of the batch."""
    if not is_symbolic(x):
        return np.pad(x, pad_width, mode, **({} if constant_values is None else {"constant_values": constant_values}))
    if mode != "constant":
        raise NotImplementedError(f"ops.pad: mode={mode!r} of a tensor is not in cornu; it takes 'constant'")
    widths = np.asarray(pad_width).tolist()
    constant = 0.0 if constant_values is None else _number("pad", constant_values)
    return operation("Pad", x, pad_width=widths, constant_values=constant)


def shape(x) -> tuple:
    """With None for the batch of a tensor."""
    return x.shape if is_symbolic(x) else np.shape(x)


def cast(x, dtype):
    """Numbers of another type; a tensor's are float32, which comparisons give as 0 and 1."""
    if not is_symbolic(x):
        return np.asarray(x).astype(dtype)
    if np.dtype(dtype).kind != "f":
        return WholeNumbers(x, dtype)
    return x


def convert_to_tensor(x, dtype=None, sparse=None, ragged=None):
    """An array; a tensor as it is."""
    if is_symbolic(x):
        return x if dtype is None else cast(x, dtype)
    return np.asarray(x, dtype)


def zeros_like(x, dtype=None):
    """0 for each number."""
    return greater(x, x) if is_symbolic(x) else np.zeros_like(x, dtype)


def ones_like(x, dtype=None):
    """1 for each number."""
    return 1 - greater(x, x) if is_symbolic(x) else np.ones_like(x, dtype)


def one_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    """A 1 at the place of each class number, along a new axis at the end."""
    if axis not in (-1, np.ndim(x) if not is_symbolic(x) else x.ndim):
        raise NotImplementedError(f"ops.one_hot: axis={axis!r} is not in cornu; it takes -1")
    if not is_symbolic(x):
        return (np.asarray(x)[..., None] == np.arange(num_classes)).astype(dtype or np.float32)
    return equal(expand_dims(x, -1), np.arange(num_classes, dtype=np.float32))


def relu(x):
    """x, and 0 below 0."""
    return activations.relu(x)


def gelu(x, approximate=True):
    """x times the normal distribution's integral up to x; approximate: by tanh."""
    return activations.gelu(x, approximate)


def broadcast_to(x, shape):
    """As NumPy; of a weight of a layer of one's own one for each sample."""
    return for_each_sample("broadcast_to", x, shape) if isinstance(x, OwnWeight) else _array_functions.functions["broadcast_to"](x, shape)


def repeat(x, repeats, axis=None):
    """As NumPy; of a weight of a layer of one's own one for each sample."""
    if isinstance(x, OwnWeight) and axis == 0:
        return for_each_sample("repeat", x, (repeats, *x.shape[1:]))
    return _array_functions.functions["repeat"](x, repeats, axis)


def tile(x, repeats):
    """As NumPy; of a weight of a layer of one's own one for each sample."""
    if isinstance(x, OwnWeight):
        return for_each_sample("tile", x, [n if i == 0 else n * x.shape[i] for i, n in enumerate(repeats)])
    return _array_functions.functions["tile"](x, repeats)


globals().update({name: function for name, function in _array_functions.functions.items() if name not in globals()})
_activations = [name for name in activations.__all__ if name in _keras_names.ops and name not in ("gelu", "relu")]
globals().update({name: getattr(activations, name) for name in _activations})

__all__ = ["abs", "absolute", "add", "clip", "concatenate", "divide", "equal", "exp", "expand_dims", "gelu", "greater",
           "greater_equal", "less", "less_equal", "log", "matmul", "max", "maximum", "mean", "min", "minimum", "moveaxis",
           "multiply", "negative", "not_equal", "pad", "power", "reciprocal", "relu", "reshape", "rsqrt", "shape", "split", "sqrt",
           "square", "squeeze", "stack", "subtract", "sum", "swapaxes", "take", "transpose", "true_divide", "unstack", "where",
           "cast", "convert_to_tensor", "one_hot", "ones_like", "zeros_like", *_activations,
           *(name for name in _array_functions.functions if name in _keras_names.ops and name not in _activations)]
__getattr__ = missing("cornu.keras.ops", __all__, _keras_names.ops)
