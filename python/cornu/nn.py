"""tf.nn: the activations, as keras.activations has them, by its own names of their arguments."""
from typing import Callable

from . import _tensorflow_names
from ._missing import missing
from .keras import activations as _activations
from .keras._tf2 import ANY, takes


def _of(function: Callable) -> Callable:
    renamed = {"features": "x", "logits": "x"} | ({"alpha": "negative_slope"} if function.__name__ == "leaky_relu" else {})
    own = takes(renamed=renamed, name=ANY, beta=(1, 1.0))(function)
    own._of_keras = function
    return own


__all__ = [name for name in _activations.__all__ if name in _tensorflow_names.nn]
globals().update({name: _of(getattr(_activations, name)) for name in __all__})
__getattr__ = missing("cornu.nn", __all__, _tensorflow_names.nn)
