"""keras.optimizers.legacy: tf.keras's second name of the optimizers."""
from ..._missing import missing
from .. import _keras_names
from . import _names as _classes

globals().update({cls.__name__: cls for cls in _classes.values()})
__all__ = sorted({cls.__name__ for cls in _classes.values()})
__getattr__ = missing("cornu.keras.optimizers.legacy", __all__, _keras_names.optimizers)
