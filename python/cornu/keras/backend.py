"""keras.backend: settings, which keras.config has, too, weights' values, and older scripts' mathematics."""
import gc

import numpy as np

from .._missing import missing
from . import _backend_math, _keras_names, _names, layers

_FLOATX, _EPSILON, _FORMAT = "float32", 1e-7, "channels_last"


def backend() -> str:
    """"cornu"."""
    return "cornu"


def floatx() -> str:
    """"float32": the type of all computation."""
    return _FLOATX


def _only(function: str, value, expected) -> None:
    if value != expected:
        raise NotImplementedError(f"{function}: {value!r} is not in cornu; it takes {expected!r}")


def set_floatx(value) -> None:
    """Only "float32"."""
    _only("set_floatx", value, _FLOATX)


def epsilon() -> float:
    """1e-7: keeps logarithms and divisions away from 0."""
    return _EPSILON


def set_epsilon(value) -> None:
    """Only 1e-7."""
    _only("set_epsilon", value, _EPSILON)


def image_data_format() -> str:
    """"channels_last": images are (height, width, channels)."""
    return _FORMAT


def set_image_data_format(data_format) -> None:
    """Only "channels_last"."""
    _only("set_image_data_format", data_format, _FORMAT)


def clear_session(free_memory=True) -> None:
    """Restart automatic names. Models live as long as something refers to them."""
    _names.forget_names()
    if free_memory:
        gc.collect()


def get_uid(prefix="") -> int:
    """1, 2, ... for each prefix."""
    return _names.count_name(prefix) + 1


def get_value(x):
    """The value of a weight or a learning rate; a number or an array is returned unchanged."""
    if hasattr(x, "assign"):
        return x.numpy() if isinstance(x, layers.Variable) else float(x)
    return x


def set_value(x, value) -> None:
    """Set a weight, or an optimizer's learning rate."""
    if not hasattr(x, "assign"):
        raise NotImplementedError(f"set_value: setting {x!r} is not in cornu; it sets weights and learning rates")
    x.assign(value)


def batch_get_value(tensors) -> list:
    """The values of several weights."""
    return [get_value(t) for t in tensors]


def batch_set_value(tuples) -> None:
    """Set several weights, given as pairs (weight, value)."""
    for variable, value in tuples:
        set_value(variable, value)


def count_params(x) -> int:
    """The number of elements of a weight."""
    return int(np.prod(x.shape))


def int_shape(x) -> tuple:
    """The shape of a weight or an array."""
    return tuple(x.shape)


globals().update({name: getattr(_backend_math, name) for name in _backend_math.names})
__all__ = [*_backend_math.names, "backend", "batch_get_value", "batch_set_value", "clear_session", "count_params", "epsilon", "floatx",
           "get_uid", "get_value", "image_data_format", "int_shape", "set_epsilon", "set_floatx",
           "set_image_data_format", "set_value"]
__getattr__ = missing("cornu.keras.backend", __all__, _keras_names.backend)
