"""keras.config: the settings, each of which has only one value."""
from .._missing import missing
from . import _keras_names
from .backend import (backend, epsilon, floatx, image_data_format, set_epsilon, set_floatx, set_image_data_format)

__all__ = ["backend", "epsilon", "floatx", "image_data_format", "set_epsilon", "set_floatx", "set_image_data_format"]
__getattr__ = missing("cornu.keras.config", __all__, _keras_names.config)
