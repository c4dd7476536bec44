"""tf.nn: the activations, as keras.activations has them."""
from . import _tensorflow_names
from ._missing import missing
from .keras import activations as _activations

__all__ = [name for name in _activations.__all__ if name not in ("deserialize", "get", "linear", "serialize")]
globals().update({name: getattr(_activations, name) for name in __all__})
__getattr__ = missing("cornu.nn", __all__, _tensorflow_names.nn)
