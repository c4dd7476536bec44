"""keras.utils."""
import functools
import random
from typing import Callable

import numpy as np

from .._missing import missing
from .._modules import submodule
from . import _keras_names
from ._data import PyDataset
from ._image_dataset import image_dataset_from_directory
from ._images import array_to_img, img_to_array, load_img, save_img
from ._objects import (CustomObjectScope, custom_object_scope, get_custom_objects, get_registered_name,
                       get_registered_object, register_keras_serializable)
from ._plot import model_to_dot, plot_model
from ._tf2 import takes
from .backend import clear_session


def _of_a_type(function: Callable) -> Callable:
    """tf.keras 2 has dtype, in third place."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        dtype = args[2] if len(args) == 3 else kwargs.pop("dtype", None)
        made = function(*args[:2], *args[3:], **kwargs)
        return made if dtype is None else made.astype(dtype)

    return call


@_of_a_type
@takes(renamed={"y": "x"})
def to_categorical(x, num_classes=None) -> np.ndarray:
    """Class numbers as one-hot rows."""
    x = np.asarray(x, dtype="int64")
    shape = x.shape[:-1] if x.ndim > 1 and x.shape[-1] == 1 else x.shape
    x = x.reshape(-1)
    count = int(num_classes or (x.max() + 1 if len(x) else 0))
    if len(x) and (x.min() < 0 or x.max() >= count):
        raise ValueError(f"to_categorical: found class numbers from {x.min()} to {x.max()}; expected 0 to {count - 1}")
    out = np.zeros((len(x), count))
    out[np.arange(len(x)), x] = 1
    return out.reshape(*shape, count)


def normalize(x, axis=-1, order=2) -> np.ndarray:
    """An array divided by its norm along an axis; zeros stay 0."""
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    return x / np.expand_dims(norms, axis)


def set_random_seed(seed) -> None:
    """Seed Python's and NumPy's generators, from which weights, dropout and shuffling are drawn."""
    if not isinstance(seed, (int, np.integer)):
        raise ValueError(f"set_random_seed: found {seed!r}; expected a whole number")
    random.seed(int(seed))
    np.random.seed(int(seed) % 2**32)


np_utils = submodule(f"{__name__}.np_utils", "keras.utils.np_utils, as older scripts call it.",
                     normalize=normalize, to_categorical=to_categorical)
Sequence = PyDataset
__all__ = ["CustomObjectScope", "PyDataset", "Sequence", "array_to_img", "clear_session", "custom_object_scope", "get_custom_objects", "get_registered_name", "get_registered_object",
           "image_dataset_from_directory", "img_to_array", "load_img", "model_to_dot", "normalize", "np_utils", "plot_model",
           "register_keras_serializable", "save_img", "set_random_seed", "to_categorical"]
__getattr__ = missing("cornu.keras.utils", __all__, _keras_names.utils)
