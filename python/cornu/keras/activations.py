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
        """As Keras's, of an array."""
        return _functions[name](np.asarray(x, np.float32), *args, **kwargs)

    activation.__name__ = activation.__qualname__ = name
    return activation


_names = {}
for _row in TABLES["activations"]:
    for _name in (_row["name"], _row["other_name"]):
        if _name:
            _names[_name] = globals()[_name] = globals().get(_row["name"]) or _named(_row["name"])
__all__ = [*_names, "deserialize", "get", "serialize"]


def get(identifier):
    """The function of a name; None is linear."""
    if identifier is None:
        return _names["linear"]
    if identifier in _names.values():
        return identifier
    if callable(identifier):
        raise NotImplementedError(f"activation {identifier!r}: a function of one's own is not in cornu; "
                                  f"there is {', '.join(_names)}")
    if identifier in _names:
        return _names[identifier]
    raise ValueError(f"activation {identifier!r}: unknown; cornu has {', '.join(_names)}")


deserialize = get


def serialize(activation) -> str:
    """The name of a function of this module."""
    return get(activation).__name__


__getattr__ = missing("cornu.keras.activations", __all__, _keras_names.activations)
