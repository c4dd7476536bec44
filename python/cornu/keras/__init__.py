"""Keras's face."""
from .. import _cornu
from .._missing import missing
from . import _keras_names
from . import activations, callbacks, datasets, initializers, layers, losses, metrics, models, optimizers, saving, utils
from . import legacy, preprocessing
from .layers import Input
from .models import Model, Sequential

__version__ = _cornu.version
__all__ = ["Input", "Model", "Sequential", "activations", "callbacks", "datasets", "initializers", "layers", "legacy",
           "losses", "metrics", "models", "optimizers", "preprocessing", "saving", "utils"]
__getattr__ = missing("cornu.keras", __all__, _keras_names.keras)
