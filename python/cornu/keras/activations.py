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


def _or_layer(kind: str | None = None) -> Callable:
    """On a tensor of a network: a call of the layer or operation, whose options have the function's names; without one, of
    the layer Activation."""

    def decorate(function: Callable) -> Callable:
        parameters = function.__code__.co_varnames[1:function.__code__.co_argcount]
        defaults = function.__defaults__ or ()  # which may differ from the layer's
        usual = dict(zip(parameters[len(parameters) - len(defaults):], defaults))

        @functools.wraps(function)
        def compute(x, *args, **kwargs):
            if not is_symbolic(x):
                return function(x, *args, **kwargs)
            from . import _operations, layers

            options = {**usual, **dict(zip(parameters, args)), **kwargs} if kind else {"activation": function.__name__}
            made = getattr(layers, kind or "Activation", None) or _operations.classes[kind]
            return computed(made(**options, name=automatic_name(function.__name__)), x)

        return compute

    return decorate


@_or_layer()
def linear(x):
    """x."""
    return _floats(x)


@takes(renamed={"alpha": "negative_slope"})
@_or_layer("ReLU")
def relu(x, negative_slope=0.0, max_value=None, threshold=0.0):
    """x from the threshold on, at most max_value; below it the slope times what is missing."""
    x = _floats(x)
    above = x if max_value is None else np.minimum(x, np.float32(max_value))
    below = np.float32(negative_slope) * (x - np.float32(threshold)) if negative_slope else np.float32(0)
    return np.where(np.isnan(x), x, np.where(x >= threshold, above, below))


@_or_layer("LeakyReLU")
def leaky_relu(x, negative_slope=0.2):
    """x, and below 0 the slope times x."""
    return relu(x, negative_slope)


@_or_layer("ELU")
def elu(x, alpha=1.0):
    """x, and below 0 alpha (exp(x) - 1)."""
    x = _floats(x)
    return np.where(x > 0, x, np.float32(alpha) * np.expm1(np.minimum(x, 0)))


@_or_layer("Gelu")
def gelu(x, approximate=False):
    """x times the normal distribution's integral up to x; approximate: by tanh."""
    x = _floats(x)
    if approximate:
        return x * (1 + np.tanh(np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x**3))) / 2
    return x * (1 + _erf(x / np.float32(math.sqrt(2)))) / 2


@_or_layer("Celu")
def celu(x, alpha=1.0):
    """x, and below 0 alpha (exp(x / alpha) - 1)."""
    x = _floats(x)
    return np.where(x > 0, x, np.float32(alpha) * np.expm1(np.minimum(x, 0) / np.float32(alpha)))


_SELU_SCALE, _SELU_ALPHA = np.float32(1.0507009873554805), np.float32(1.6732632423543772)


@_or_layer()
def selu(x):
    """The scaled exponential linear unit: scale times elu(x, alpha), with its two constants."""
    return _SELU_SCALE * elu(x, _SELU_ALPHA)


@_or_layer("Exp")
def exponential(x):
    """exp(x)."""
    return np.exp(_floats(x))


@_or_layer()
def relu6(x):
    """x from 0 to 6, and these beyond."""
    return np.clip(_floats(x), np.float32(0), np.float32(6))


@_or_layer()
def hard_sigmoid(x):
    """(x + 3) / 6 from 0 to 1."""
    return relu6(_floats(x) + 3) / 6


@_or_layer()
def hard_silu(x):
    """x times the hard sigmoid."""
    return _floats(x) * hard_sigmoid(x)


@_or_layer()
def hard_tanh(x):
    """x from -1 to 1, and these beyond."""
    return np.clip(_floats(x), np.float32(-1), np.float32(1))


@_or_layer("HardShrink")
def hard_shrink(x, threshold=0.5):
    """x, and 0 from minus the threshold to the threshold."""
    x = _floats(x)
    return np.where(np.abs(x) > threshold, x, np.float32(0))


@_or_layer("SoftShrink")
def soft_shrink(x, threshold=0.5):
    """x nearer to 0 by the threshold, and 0 where it is no farther from it."""
    x, limit = _floats(x), np.float32(threshold)
    return np.where(x > limit, x - limit, np.where(x < -limit, x + limit, np.float32(0)))


@_or_layer("Threshold")
def threshold(x, threshold, default_value):
    """x where it is greater than the threshold, and elsewhere the default value."""
    x = _floats(x)
    return np.where(x > threshold, x, np.float32(default_value))


@_or_layer()
def softplus(x):
    """log(1 + exp(x))."""
    return np.logaddexp(_floats(x), np.float32(0))


@_or_layer()
def softsign(x):
    """x / (1 + |x|)."""
    x = _floats(x)
    return x / (1 + np.abs(x))


@_or_layer()
def log_sigmoid(x):
    """log(sigmoid(x))."""
    return -softplus(-_floats(x))


@_or_layer()
def mish(x):
    """x tanh(softplus(x))."""
    return _floats(x) * np.tanh(softplus(x))


@_or_layer()
def sparse_plus(x):
    """0 up to -1, x from 1 on, and (x + 1)^2 / 4 between."""
    x = _floats(x)
    return np.where(x < 1, ((np.maximum(x, -1) + 1) / 2)**2, x)


@_or_layer()
def sparse_sigmoid(x):
    """(x + 1) / 2 from 0 to 1."""
    return np.clip((_floats(x) + 1) / 2, np.float32(0), np.float32(1))


@_or_layer("Squareplus")
def squareplus(x, b=4):
    """(x + sqrt(x^2 + b)) / 2."""
    x = _floats(x)
    return (x + np.sqrt(x * x + np.float32(b))) / 2


@_or_layer()
def tanh_shrink(x):
    """x - tanh(x)."""
    x = _floats(x)
    return x - np.tanh(x)


@_or_layer("Glu")
def glu(x, axis=-1):
    """The first half along an axis times the sigmoid of the second."""
    x = _floats(x)
    if x.shape[axis] % 2:
        raise ValueError(f"glu: found {x.shape[axis]} elements along axis {axis} of {x.shape}; expected an even number")
    first, gate = np.split(x, 2, axis)
    return first * sigmoid(gate)


@_or_layer()
def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return (1 + np.tanh(_floats(x) / 2)) / 2


@_or_layer()
def tanh(x):
    """The hyperbolic tangent."""
    return np.tanh(_floats(x))


@_or_layer()
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


@_or_layer("LogSoftmax")
def log_softmax(x, axis=-1):
    """The softmax's logarithm."""
    x = _floats(x)
    rest = x - np.max(x, axis=axis, keepdims=True)
    return rest - np.log(np.sum(np.exp(rest), axis=axis, keepdims=True))


@_or_layer("Sparsemax")
def sparsemax(x, axis=-1):
    """x less a limit, at least 0: most are 0. The limit is Keras 3's, so that rows have the sum 1 only where one number is
    not 0."""
    x = np.moveaxis(_floats(x), axis, -1)
    falling = -np.sort(-x, axis=-1)
    sums, counts = np.cumsum(falling, -1), np.arange(1, x.shape[-1] + 1, dtype=np.float32)
    support = falling - (sums - 1) / counts > 0
    limit = (np.sum(np.where(support, sums, np.float32(0)), -1, keepdims=True) - 1) / np.sum(support, -1, keepdims=True)
    return np.moveaxis(np.maximum(x - limit, 0), -1, axis).astype(np.float32)


_names = {name: globals()[row["name"]] for row in TABLES["activations"]
          for name in (row["name"], row["other_name"]) if name} | {"glu": glu, "threshold": threshold}
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
