"""cornu.keras: the interface of Keras 3, with older spellings of tf.keras."""
from .. import _cornu
from .._missing import missing
from ..devices import device
from . import _keras_names
from . import (activations, applications, backend, callbacks, config, constraints, datasets, distribution, initializers, layers, legacy, losses, metrics,
               models, ops, optimizers, preprocessing, regularizers, saving, utils)
from .initializers import Initializer
from .layers import Input, Layer
from .losses import Loss
from .metrics import Metric
from .models import Model, Sequential
from .optimizers import Optimizer
from .regularizers import Regularizer
from ._tensors import KerasTensor

__version__ = _cornu.version


def version() -> str:
    """cornu's version."""
    return __version__


__all__ = ["Initializer", "Input", "KerasTensor", "Layer", "Loss", "Metric", "Model", "Optimizer", "Regularizer", "Sequential", "activations", "applications", "backend",
           "callbacks", "config", "constraints", "datasets", "device", "distribution", "initializers", "layers", "legacy", "losses", "metrics", "models", "ops",
           "optimizers", "preprocessing", "regularizers", "saving", "utils", "version"]
__getattr__ = missing("cornu.keras", __all__, _keras_names.keras)
