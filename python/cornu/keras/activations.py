"""keras.activations: functions whose names layers take, and which compute on arrays, too."""
import functools
import math
from typing import Callable

import numpy as np

from .._missing import missing
from .._tables import TABLES, deserializer
from . import _keras_names
from ._names import automatic_name
from ._tensors import computed, is_symbolic
from ._tf2 import takes

_erf = np.vectorize(math.erf, otypes=[np.float32])


def _floats(x) -> np.ndarray:
    return np.asarray(x, np.float32)


def _or_layer(name: str) -> Callable:
    """On a tensor of a network: a call of the layer, whose options have the function's names."""

    def decorate(function: Callable) -> Callable:
        parameters = function.__code__.co_varnames[1:function.__code__.co_argcount]

        @functools.wraps(function)
        def compute(x, *args, **kwargs):
            if not is_symbolic(x):
                return function(x, *args, **kwargs)
            from . import layers

            options = {**dict(zip(parameters, args)), **kwargs}
            if name == "Activation":
                for key, value in options.items():
                    if value:
                        raise NotImplementedError(f"{function.__name__}: {key}={value!r} of a tensor is not in cornu")
                options = {"activation": function.__name__}
            kind = "LeakyReLU" if set(options) == {"negative_slope"} else name  # relu's slope is that layer's
            return computed(getattr(layers, kind)(**options, name=automatic_name(function.__name__)), x)

        return compute

    return decorate


@_or_layer("Activation")
def linear(x):
    """x."""
    return _floats(x)


@takes(renamed={"alpha": "negative_slope"})
@_or_layer("ReLU")
def relu(x, negative_slope=0.0, max_value=None, threshold=0.0):
    """x from the threshold on, at most max_value; below it the slope times what is missing."""
    x = _floats(x)
    above = x if max_value is None else np.minimum(x, np.float32(max_value))
    return np.where(x >= threshold, above, np.float32(negative_slope) * (x - np.float32(threshold)))


@_or_layer("LeakyReLU")
def leaky_relu(x, negative_slope=0.2):
    """x, and below 0 the slope times x."""
    return relu(x, negative_slope)


@_or_layer("ELU")
def elu(x, alpha=1.0):
    """x, and below 0 alpha (exp(x) - 1)."""
    x = _floats(x)
    return np.where(x > 0, x, np.float32(alpha) * np.expm1(np.minimum(x, 0)))


@_or_layer("Activation")
def gelu(x, approximate=False):
    """x times the normal distribution's integral up to x; approximate: by tanh."""
    x = _floats(x)
    if approximate:
        return x * (1 + np.tanh(np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x**3))) / 2
    return x * (1 + _erf(x / np.float32(math.sqrt(2)))) / 2


@_or_layer("Activation")
def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return (1 + np.tanh(_floats(x) / 2)) / 2


@_or_layer("Activation")
def tanh(x):
    """The hyperbolic tangent."""
    return np.tanh(_floats(x))


@_or_layer("Activation")
def silu(x):
    """x sigmoid(x)."""
    return _floats(x) * sigmoid(x)


@_or_layer("Softmax")
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
