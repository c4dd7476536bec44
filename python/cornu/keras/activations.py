"""keras.activations: functions whose names layers take, and which compute on arrays, too."""
import math

import numpy as np

from .._missing import missing
from .._tables import TABLES
from . import _keras_names

_erf = np.vectorize(math.erf, otypes=[np.float32])


def _softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


_functions = {
    "linear": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x, negative_slope=0.2: np.where(x > 0, x, negative_slope * x),
    "elu": lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))),
    "gelu": lambda x: x * (1 + _erf(np.asarray(x) / math.sqrt(2))) / 2,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "softmax": _softmax,
}


def _named(name):
    def activation(x, *args, **kwargs):
        return _functions[name](np.asarray(x, np.float32), *args, **kwargs)

    activation.__name__ = activation.__qualname__ = name
    return activation


__all__ = []
for _row in TABLES["activations"]:
    globals()[_row["name"]] = _named(_row["name"])
    __all__.append(_row["name"])
    if _row["other_name"]:
        globals()[_row["other_name"]] = globals()[_row["name"]]
        __all__.append(_row["other_name"])


def get(identifier):
    """The function of a name; None is linear."""
    if identifier is None:
        return globals()["linear"]
    if callable(identifier):
        return identifier
    if identifier in __all__:
        return globals()[identifier]
    raise ValueError(f"activation {identifier!r}: unknown; cornu has {', '.join(__all__)}")


def serialize(activation):
    return activation.__name__

__getattr__ = missing("cornu.keras.activations", __all__, _keras_names.activations)
