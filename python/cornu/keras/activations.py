"""keras.activations: functions whose names layers take, and which compute on arrays, too."""
import math

import numpy as np

from .._missing import missing
from .._tables import TABLES, deserializer
from . import _keras_names
from ._tf2 import takes

_erf = np.vectorize(math.erf, otypes=[np.float32])


def _floats(x) -> np.ndarray:
    return np.asarray(x, np.float32)


def linear(x):
    """x."""
    return _floats(x)


@takes(renamed={"alpha": "negative_slope"})
def relu(x, negative_slope=0.0, max_value=None, threshold=0.0):
    """x from the threshold on, at most max_value; below it the slope times what is missing."""
    x = _floats(x)
    above = x if max_value is None else np.minimum(x, np.float32(max_value))
    return np.where(x >= threshold, above, np.float32(negative_slope) * (x - np.float32(threshold)))


def leaky_relu(x, negative_slope=0.2):
    """x, and below 0 the slope times x."""
    return relu(x, negative_slope)


def elu(x, alpha=1.0):
    """x, and below 0 alpha (exp(x) - 1)."""
    x = _floats(x)
    return np.where(x > 0, x, np.float32(alpha) * np.expm1(np.minimum(x, 0)))


def gelu(x, approximate=False):
    """x times the normal distribution's integral up to x; approximate: by tanh."""
    x = _floats(x)
    if approximate:
        return x * (1 + np.tanh(np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x**3))) / 2
    return x * (1 + _erf(x / np.float32(math.sqrt(2)))) / 2


def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return (1 + np.tanh(_floats(x) / 2)) / 2


def tanh(x):
    """The hyperbolic tangent."""
    return np.tanh(_floats(x))


def silu(x):
    """x sigmoid(x)."""
    return _floats(x) * sigmoid(x)


def softmax(x, axis=-1):
    """exp(x) over its sum along an axis."""
    axis = -1 if axis is None else axis
    x = _floats(x)
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


_names = {name: globals()[row["name"]] for row in TABLES["activations"]
          for name in (row["name"], row["other_name"]) if name}
globals().update(_names)
__all__ = [*_names, "deserialize", "get", "serialize"]


def get(identifier):
    """The function of a name; None is linear."""
    if identifier is None:
        return linear
    identifier = getattr(identifier, "_of_keras", identifier)  # tf.nn's
    if callable(identifier) and identifier in _names.values():
        return identifier
    if callable(identifier):
        raise NotImplementedError(f"activation {identifier!r}: a function of one's own is not in cornu; "
                                  f"there is {', '.join(_names)}")
    if isinstance(identifier, str) and identifier in _names:
        return _names[identifier]
    raise ValueError(f"activation {identifier!r}: unknown; cornu has {', '.join(_names)}")


deserialize = deserializer("activation", get)


@takes(use_legacy_format=(False, True))
def serialize(activation) -> str:
    """The name of a function of this module."""
    return get(activation).__name__


__getattr__ = missing("cornu.keras.activations", __all__, _keras_names.activations)
