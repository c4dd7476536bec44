"""What TensorFlow calls tensors: NumPy arrays with its methods."""
from typing import Any

import numpy as np


class TensorShape(tuple):
    """A tuple of sizes, None for those that are open, with TensorShape's methods."""

    def as_list(self) -> list:
        """As a list."""
        return list(self)

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self)

    ndims = rank

    def num_elements(self) -> int | None:
        """The product of the sizes; None where one is open."""
        return None if None in self else int(np.prod(self, dtype=np.int64))

    def is_fully_defined(self) -> bool:
        """Is no size open?"""
        return None not in self

    def __getitem__(self, key):
        part = super().__getitem__(key)
        return TensorShape(part) if isinstance(key, slice) else part


class Scaled:
    """Stands for samples of bytes, to see what a function does with them: it may multiply them by numbers."""

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    def _times(self, number, inverse: bool) -> "Scaled":
        if not isinstance(number, (int, float, np.integer, np.floating)) or not number:
            raise TypeError("not a number")
        return Scaled(self.scale / number if inverse else self.scale * number)

    def __mul__(self, other):
        return self._times(other, False)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self._times(other, True)

    def as_type(self, dtype, scale: float = 1.0) -> "Scaled":
        """Cast to float32, to which the library casts them, too."""
        if dtype_of(dtype) != np.float32:
            raise TypeError("not float32")
        return Scaled(self.scale * scale)


class Tensor(np.ndarray):
    """An array with the methods of tensors."""

    def numpy(self):
        """As NumPy has it: an array, or one number (or bytes)."""
        return np.array(self) if self.ndim else np.asarray(self)[()]

    @property
    def shape(self) -> TensorShape:
        return TensorShape(np.ndarray.shape.__get__(self))

    def get_shape(self) -> TensorShape:
        """Its shape."""
        return self.shape

    def set_shape(self, shape) -> None:
        """Check the shape, where it says sizes."""
        if len(shape) != self.ndim or any(n is not None and n != m for n, m in zip(shape, self.shape)):
            raise ValueError(f"set_shape: found a tensor of shape {tuple(self.shape)}; expected {tuple(shape)}")

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        """Python's numbers take the type of the tensor beside them, where that can hold them."""
        inputs = [x.view(np.ndarray) if isinstance(x, Tensor) else x for x in inputs]
        kinds = [x.dtype for x in inputs if isinstance(x, np.ndarray)]
        if method == "__call__" and len(inputs) == 2 and kinds:
            inputs = [kinds[0].type(x) if type(x) is int and kinds[0].kind in "iuf" or type(x) is float and kinds[0].kind == "f"
                      else x for x in inputs]
        if out is not None:
            kwargs["out"] = tuple(x.view(np.ndarray) if isinstance(x, Tensor) else x for x in out)
        made = getattr(ufunc, method)(*inputs, **kwargs)
        return tuple(map(tensor, made)) if isinstance(made, tuple) else out[0] if out is not None else tensor(made)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return tensor(array)

    def __getitem__(self, key):
        return tensor(super().__getitem__(key))

    def __iter__(self):
        return (self[index] for index in range(len(self)))

    def __hash__(self):
        return id(self)

    def __repr__(self) -> str:
        shown = repr(self.numpy()) if self.ndim else str(self.numpy())
        return f"<tf.Tensor: shape={tuple(self.shape)}, dtype={name_of(self.dtype)}, numpy={shown}>"


def name_of(dtype) -> str:
    """TensorFlow's name of a type."""
    return "string" if np.dtype(dtype).kind in "OSU" else np.dtype(dtype).name


def tensor(value, dtype=None) -> Tensor:
    """A tensor of a number, text, an array or nested lists. As in TensorFlow, Python's numbers are float32 and int32."""
    if isinstance(value, Tensor) and dtype is None:
        return value
    if isinstance(value, (str, bytes)):
        return _of_text(np.array(value.encode() if isinstance(value, str) else value, dtype=object))
    array = np.asarray(value)
    if array.dtype.kind in "US":
        return _of_text(array)
    if dtype is None and not hasattr(value, "dtype") and not _has_arrays(value):
        dtype = {"f": np.float32, "i": np.int32}.get(array.dtype.kind)
    return (array if dtype is None else array.astype(dtype, copy=False)).view(Tensor)


def _has_arrays(value) -> bool:
    return isinstance(value, (list, tuple)) and len(value) > 0 and hasattr(value[0], "dtype")


def _of_text(array: np.ndarray) -> Tensor:
    texts = np.empty(array.shape, object)
    for place, text in np.ndenumerate(array):
        texts[place] = text.encode() if isinstance(text, str) else text
    return texts.view(Tensor)


class TensorSpec:
    """The shape and type of a tensor."""

    def __init__(self, shape, dtype=np.float32, name=None):
        self.shape, self.dtype, self.name = TensorShape(shape if shape is not None else ()), dtype_of(dtype), name

    def __eq__(self, other) -> bool:
        return isinstance(other, TensorSpec) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self):
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={tuple(self.shape)}, dtype=tf.{name_of(self.dtype)}, name={self.name!r})"


def dtype_of(dtype) -> np.dtype:
    """A type of NumPy's of a name or a type; texts are objects."""
    if isinstance(dtype, str) and dtype == "string":
        return np.dtype(object)
    return np.dtype(dtype)


def nested(function, value, *others) -> Any:
    """The function of each tensor of a structure of tuples and dictionaries, and of those at its place in others."""
    if isinstance(value, dict):
        return {key: nested(function, value[key], *(other[key] for other in others)) for key in value}
    if isinstance(value, tuple):
        return type(value)(*parts) if hasattr(value, "_fields") and (parts := _each(function, value, others)) else \
            tuple(_each(function, value, others))
    return function(value, *others)


def _each(function, value, others) -> list:
    return [nested(function, *parts) for parts in zip(value, *others)]


def leaves(value) -> list:
    """The tensors of a structure."""
    if isinstance(value, dict):
        return [leaf for key in value for leaf in leaves(value[key])]
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]
