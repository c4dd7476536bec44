"""keras.utils."""
import random

import numpy as np

from .._missing import missing
from . import _keras_names
from ._image_dataset import image_dataset_from_directory
from ._images import array_to_img, img_to_array, load_img, save_img

__all__ = ["array_to_img", "image_dataset_from_directory", "img_to_array", "load_img", "save_img", "set_random_seed",
           "to_categorical"]


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


def set_random_seed(seed) -> None:
    """Seed Python's and NumPy's generators, which weights, dropout and shuffling follow."""
    if not isinstance(seed, (int, np.integer)):
        raise ValueError(f"set_random_seed: found {seed!r}; expected a whole number")
    random.seed(int(seed))
    np.random.seed(int(seed) % 2**32)

__getattr__ = missing("cornu.keras.utils", __all__, _keras_names.utils)
