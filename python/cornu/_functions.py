"""The functions of TensorFlow that scripts use beside Keras: of arrays by NumPy, of a network's tensors as keras.ops has them."""
import functools
from typing import Any, Callable

import numpy as np

from ._arrays import Scaled, TensorShape, TensorSpec, dtype_of, tensor
from .keras import ops
from .keras._array_functions import refuse_tensors
from .keras._tensors import KerasTensor, is_symbolic

float16, float32, float64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
int8, int16, int32, int64 = np.dtype(np.int8), np.dtype(np.int16), np.dtype(np.int32), np.dtype(np.int64)
uint8, uint16, uint32, uint64 = np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32), np.dtype(np.uint64)
string, newaxis = np.dtype(object), None
_bool = np.dtype(bool)


def _given(value):
    """A tensor of a network as it is; anything else as an array."""
    return value if is_symbolic(value) or value is None else tensor(value)


def _result(value):
    if isinstance(value, (list, tuple)):
        return [tensor(part) if isinstance(part, (np.ndarray, np.generic)) else part for part in value]
    return tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value


def _of(function: Callable, name: str, doc: str, **renamed: str) -> Callable:
    """A function of keras.ops or NumPy by TensorFlow's name and names of arguments."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        kwargs.pop("name", None)
        kwargs = {renamed.get(key, key): value for key, value in kwargs.items()}
        return _result(function(*args, **kwargs))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


def _elementwise(name: str, of: Callable) -> Callable:
    def call(x, name=None):
        return _result(of(_given(x)))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name} of each element."
    return call


def _of_two(name: str, of: Callable) -> Callable:
    def call(x, y, name=None):
        if not is_symbolic([x, y]):
            x, y = _alike(x, y)
        return _result(of(x, y))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name} of two tensors, element by element."
    return call


def _alike(x, y) -> tuple:
    """Python's numbers take the type of the other."""
    if not hasattr(x, "dtype") and hasattr(y, "dtype"):
        return tensor(x, y.dtype), tensor(y)
    if not hasattr(y, "dtype") and hasattr(x, "dtype"):
        return tensor(x), tensor(y, x.dtype)
    return tensor(x), tensor(y)


def _reduction(name: str, of: Callable) -> Callable:
    def call(input_tensor, axis=None, keepdims=False, name=None):
        x = _given(input_tensor)
        made = of(x, axis=tuple(axis) if isinstance(axis, list) and not is_symbolic(x) else axis, keepdims=keepdims)
        whole = not is_symbolic(x) and x.dtype.kind in "iuf" and np.asarray(made).dtype.kind in "iuf"
        return tensor(made, x.dtype) if whole else _result(made)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name[7:]} over axes; over all without axis."
    return call


abs, exp, log, sqrt, square, negative, round, floor, ceil, sign, sin, cos, tanh, sigmoid, logical_not, reciprocal = (
    _elementwise(name, getattr(ops, name)) for name in "abs exp log sqrt square negative round floor ceil sign sin cos tanh "
    "sigmoid logical_not reciprocal".split())
add, subtract, multiply, divide, maximum, minimum, equal, not_equal, greater, greater_equal, less, less_equal, logical_and, \
    logical_or, pow = (_of_two(name, getattr(ops, other or name)) for name, other in (
        *((name, None) for name in "add subtract multiply divide maximum minimum equal not_equal greater greater_equal less "
          "less_equal logical_and logical_or".split()), ("pow", "power")))
reduce_mean, reduce_sum, reduce_max, reduce_min, reduce_prod, reduce_any, reduce_all = (
    _reduction(f"reduce_{name}", getattr(ops, name)) for name in "mean sum max min prod any all".split())


def constant(value, dtype=None, shape=None, name="Const"):
    """A tensor of a number, text, an array or lists."""
    made = tensor(value, None if dtype is None else dtype_of(dtype))
    if shape is None:
        return made
    return tensor(np.broadcast_to(made, shape) if made.size == 1 else np.reshape(made, shape))


def convert_to_tensor(value, dtype=None, dtype_hint=None, name=None):
    """The same; a network's tensor as it is."""
    return ops.convert_to_tensor(value, dtype) if is_symbolic(value) else constant(value, dtype)


def identity(input, name=None):
    """The same numbers."""
    return _given(input)


def cast(x, dtype, name=None):
    """Numbers of another type; those of floats lose their fractions where it is a whole one."""
    if isinstance(x, Scaled):
        return x.as_type(dtype)
    return ops.cast(x, dtype) if is_symbolic(x) else tensor(np.asarray(tensor(x)).astype(dtype_of(dtype)))


def is_tensor(x) -> bool:
    """Is it an array, or a network's tensor?"""
    return isinstance(x, (np.ndarray, KerasTensor))


def expand_dims(input, axis, name=None):
    """With a further axis of length 1."""
    return _result(ops.expand_dims(_given(input), axis))


def squeeze(input, axis=None, name=None):
    """Without axes of length 1."""
    return _result(ops.squeeze(_given(input), tuple(axis) if isinstance(axis, list) else axis))


def reshape(tensor, shape, name=None):
    """The same numbers in another shape."""
    return _result(ops.reshape(_given(tensor), tuple(int(n) if n is not None else n for n in np.ravel(shape))))


def transpose(a, perm=None, conjugate=False, name=None):
    """The axes in another order."""
    return _result(ops.transpose(_given(a), perm))


def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    """A 1 at the place of each number, along a new axis at the end; none where there is no such place."""
    if axis not in (None, -1) or on_value not in (None, 1) or off_value not in (None, 0):
        raise NotImplementedError("one_hot: axis, on_value and off_value are not in cornu; it takes -1, 1 and 0")
    kind = None if dtype is None else dtype_of(dtype)
    return _result(ops.one_hot(_given(indices), int(depth), dtype=kind))


def concat(values, axis, name="concat"):
    """Tensors one after the other along an axis."""
    return _result(ops.concatenate([_given(value) for value in values], axis))


def stack(values, axis=0, name="stack"):
    """Tensors along a new axis."""
    return _result(ops.stack([_given(value) for value in values], axis))


def unstack(value, num=None, axis=0, name="unstack"):
    """The parts along an axis, without it."""
    return _result(ops.unstack(_given(value), num, axis))


def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    """Equal parts along an axis, or parts of these sizes."""
    sections = num_or_size_splits
    if np.ndim(sections):
        sections = list(np.cumsum(sections)[:-1])
    return _result(ops.split(_given(value), sections, axis))


def reverse(tensor, axis, name=None):
    """The elements of axes in the reverse order."""
    refuse_tensors("reverse", [tensor])
    return _result(np.flip(_given(tensor), tuple(np.ravel(axis))))


def pad(tensor, paddings, mode="CONSTANT", constant_values=0, name=None):
    """A constant, or the mirrored elements, around a tensor."""
    if is_symbolic(tensor):
        return ops.pad(tensor, paddings, mode.lower(), constant_values)
    more = {"constant_values": constant_values} if mode.upper() == "CONSTANT" else {}
    return _result(np.pad(_given(tensor), np.asarray(paddings), mode.lower(), **more))


def tile(input, multiples, name=None):
    """Copies side by side, so many along each axis."""
    refuse_tensors("tile", [input])
    return _result(np.tile(_given(input), tuple(np.ravel(multiples))))


def repeat(input, repeats, axis=None, name=None):
    """Each element so many times."""
    refuse_tensors("repeat", [input])
    return _result(np.repeat(_given(input), repeats, axis))


def gather(params, indices, validate_indices=None, axis=0, batch_dims=0, name=None):
    """The elements with these numbers along an axis."""
    if batch_dims:
        raise NotImplementedError(f"gather: batch_dims={batch_dims} is not in cornu; it takes 0")
    return _result(ops.take(_given(params), indices, axis))


def boolean_mask(tensor, mask, axis=None, name="boolean_mask"):
    """The elements at which the mask is true."""
    refuse_tensors("boolean_mask", [tensor, mask])
    return _result(np.compress(np.ravel(mask), _given(tensor), axis or 0) if np.ndim(mask) == 1 else np.asarray(tensor)[np.asarray(mask)])


def where(condition, x=None, y=None, name=None):
    """x where the condition is true, else y; of a condition alone the places where it is."""
    if x is None and y is None:
        refuse_tensors("where", [condition])
        return _result(np.argwhere(condition))
    if not is_symbolic([x, y]):
        x, y = _alike(x, y)
    return _result(ops.where(condition, x, y))


def argmax(input, axis=None, output_type=np.int64, name=None):
    """The place of the largest element along an axis (0)."""
    refuse_tensors("argmax", [input])
    return tensor(np.argmax(_given(input), 0 if axis is None else axis), dtype_of(output_type))


def argmin(input, axis=None, output_type=np.int64, name=None):
    """The place of the smallest element along an axis (0)."""
    refuse_tensors("argmin", [input])
    return tensor(np.argmin(_given(input), 0 if axis is None else axis), dtype_of(output_type))


def argsort(values, axis=-1, direction="ASCENDING", stable=False, name=None):
    """The places of the elements in their order."""
    refuse_tensors("argsort", [values])
    given = _given(values)
    return tensor(np.argsort(-given if direction == "DESCENDING" else given, axis, kind="stable"), np.int32)


def sort(values, axis=-1, direction="ASCENDING", name=None):
    """The elements in their order."""
    refuse_tensors("sort", [values])
    made = np.sort(_given(values), axis)
    return _result(np.flip(made, axis) if direction == "DESCENDING" else made)


def clip_by_value(t, clip_value_min, clip_value_max, name=None):
    """The numbers, at least the one and at most the other."""
    x = _given(t)
    made = ops.clip(x, clip_value_min, clip_value_max)
    return made if is_symbolic(x) else tensor(made, x.dtype)


def matmul(a, b, transpose_a=False, transpose_b=False, name=None):
    """The product of matrices."""
    first, second = (np.swapaxes(x, -1, -2) if flip and not is_symbolic(x) else ops.swapaxes(x, -1, -2) if flip else x
                     for x, flip in ((a, transpose_a), (b, transpose_b)))
    return _result(ops.matmul(_given(first), _given(second)))


def tensordot(a, b, axes, name=None):
    """The sum of products over axes."""
    refuse_tensors("tensordot", [a, b])
    return _result(np.tensordot(_given(a), _given(b), axes))


def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):
    """Sums of the elements so far."""
    refuse_tensors("cumsum", [x])
    if exclusive or reverse:
        raise NotImplementedError("cumsum: exclusive and reverse are not in cornu")
    return tensor(np.cumsum(_given(x), axis), _given(x).dtype)


def shape(input, out_type=np.int32, name=None):
    """The sizes, as a tensor; of a network's tensor as a tuple."""
    return input.shape if is_symbolic(input) else tensor(np.array(np.shape(_given(input)), dtype_of(out_type)))


def size(input, out_type=np.int32, name=None):
    """The number of elements."""
    refuse_tensors("size", [input])
    return tensor(dtype_of(out_type).type(np.size(_given(input))))


def rank(input, name=None):
    """The number of axes."""
    return input.ndim if is_symbolic(input) else tensor(np.int32(np.ndim(_given(input))))


def zeros(shape, dtype=np.float32, name=None):
    """Zeros."""
    return tensor(np.zeros(tuple(np.ravel(shape).astype(int)), dtype_of(dtype)))


def ones(shape, dtype=np.float32, name=None):
    """Ones."""
    return tensor(np.ones(tuple(np.ravel(shape).astype(int)), dtype_of(dtype)))


def fill(dims, value, name=None):
    """One number everywhere."""
    return tensor(np.full(tuple(np.ravel(dims).astype(int)), tensor(value)))


def zeros_like(input, dtype=None, name=None):
    """Zeros in the shape of another."""
    return _result(ops.zeros_like(_given(input), dtype))


def ones_like(input, dtype=None, name=None):
    """Ones in the shape of another."""
    return _result(ops.ones_like(_given(input), dtype))


def eye(num_rows, num_columns=None, batch_shape=None, dtype=np.float32, name=None):
    """Ones on the diagonal."""
    if batch_shape is not None:
        raise NotImplementedError("eye: batch_shape is not in cornu; it takes None")
    return tensor(np.eye(num_rows, num_columns, dtype=dtype_of(dtype)))


def linspace(start, stop, num, name=None, axis=0):
    """num numbers from start to stop."""
    return tensor(np.linspace(start, stop, int(num), axis=axis, dtype=np.float32))


def range(start, limit=None, delta=1, dtype=None, name="range"):
    """start, start + delta, ... before limit."""
    first, last = (0, start) if limit is None else (start, limit)
    made = np.arange(first, last, delta)
    return tensor(made, dtype_of(dtype) if dtype is not None else np.float32 if made.dtype.kind == "f" else np.int32)


def function(func=None, **kwargs):
    """A decorator without effect: functions compute at once."""
    return func if func is not None else lambda given: given


def py_function(func=None, inp=None, Tout=None, name=None):
    """The function's result for these tensors, of these types."""
    return _called(func(*map(tensor, inp)), Tout)


def numpy_function(func=None, inp=None, Tout=None, stateful=True, name=None):
    """The same; the function gets NumPy's arrays."""
    return _called(func(*(tensor(value).numpy() for value in inp)), Tout)


def _called(made, kinds) -> Any:
    if isinstance(kinds, (list, tuple)):
        parts = made if isinstance(made, (list, tuple)) else [made]
        return [tensor(part) if dtype_of(kind).kind == "O" else tensor(part, dtype_of(kind)) for part, kind in zip(parts, kinds)]
    return tensor(made) if kinds is None or dtype_of(kinds).kind == "O" else tensor(made, dtype_of(kinds))


names = [name for name, value in dict(globals()).items()
         if not name.startswith("_") and (getattr(value, "__module__", None) == __name__ or isinstance(value, np.dtype))]
names += ["newaxis", "TensorShape", "TensorSpec"]
