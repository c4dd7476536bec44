"""tf.random: the seed."""
import random as _random

from . import _tensorflow_names
from ._missing import missing


def set_seed(seed) -> None:
    """Seed what weights, dropout and shuffling follow: Python's generator, and not NumPy's, as
    keras.utils.set_random_seed does, too."""
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise ValueError(f"set_seed: found {seed!r}; expected a whole number")
    _random.seed(int(seed))


__all__ = ["set_seed"]
__getattr__ = missing("cornu.random", __all__, _tensorflow_names.random)
