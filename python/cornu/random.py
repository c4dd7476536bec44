"""tf.random: the seed, and random numbers."""
import random as _random

import numpy as _np

from . import _tensorflow_names
from ._arrays import dtype_of as _dtype_of, tensor as _tensor
from ._missing import missing


def set_seed(seed) -> None:
    """Seed what weights, dropout and shuffling follow: Python's generator, and not NumPy's, as
    keras.utils.set_random_seed does, too."""
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise ValueError(f"set_seed: found {seed!r}; expected a whole number")
    _random.seed(int(seed))


def _generator(seed) -> "_np.random.RandomState":
    from .keras.initializers import draw_seed

    return _np.random.RandomState((draw_seed() if seed is None else int(seed)) % 2**32)


def uniform(shape, minval=0, maxval=None, dtype=_np.float32, seed=None, name=None):
    """Numbers from minval up to, and without, maxval (1 of floats), cornu's own."""
    kind, rng = _dtype_of(dtype), _generator(seed)
    size = tuple(_np.ravel(shape).astype(int))
    if kind.kind in "iu":
        if maxval is None:
            raise ValueError(f"uniform: found no maxval for {kind}; expected one")
        return _tensor(rng.randint(minval, maxval, size, dtype=_np.int64), kind)
    return _tensor(rng.uniform(minval, 1 if maxval is None else maxval, size), kind)


def normal(shape, mean=0.0, stddev=1.0, dtype=_np.float32, seed=None, name=None):
    """Normally distributed numbers, cornu's own."""
    return _tensor(_generator(seed).normal(mean, stddev, tuple(_np.ravel(shape).astype(int))), _dtype_of(dtype))


def shuffle(value, seed=None, name=None):
    """The rows in an order drawn at random."""
    array = _np.asarray(value)
    return _tensor(array[_generator(seed).permutation(len(array))])


__all__ = ["normal", "set_seed", "shuffle", "uniform"]
__getattr__ = missing("cornu.random", __all__, _tensorflow_names.random)
