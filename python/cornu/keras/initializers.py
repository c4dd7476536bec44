"""keras.initializers: how weights start."""
import json
import random

import numpy as np

from .. import _cornu, _tables
from .._missing import missing
from .._tables import TABLES, Configured, check_dtype, make_classes, names_of, options_of, plain
from . import _keras_names
from ._tf2 import takes


def draw_seed() -> int:
    """As Keras draws one: from Python's generator, which utils.set_random_seed seeds."""
    return random.randint(1, int(1e9))


class Initializer(Configured):
    """Base of all initializers. Called with a shape it gives an array: always the same one of an object, as in Keras."""

    _drawn = None

    def __call__(self, shape, dtype=None) -> np.ndarray:
        check_dtype(type(self).__name__, dtype)
        seed = self._config.get("seed")
        if seed is None:
            seed = self._drawn = self._drawn or draw_seed()
        values = np.empty(shape, np.float32)
        _cornu.initializer_values(json.dumps(plain(self)), int(seed), values)
        return values


_made = make_classes("initializers", Initializer, __name__, globals(),
                     options=lambda row: options_of(row, without=("dtype",)))
for _row in TABLES["initializers"]:
    globals()[_row["name"]] = globals()[_row["class_name"]]
__all__ = [*_made, "Initializer", *(r["name"] for r in TABLES["initializers"]), "deserialize", "get", "serialize"]
_names = names_of("initializers", globals())
_names |= {word: _names[name] for word, name in (("normal", "random_normal"), ("one", "ones"), ("uniform", "random_uniform"), ("zero", "zeros"))}


def get(identifier):
    """The object of a name, a configuration, a class or an object; None is None."""
    return _tables.get("initializer", identifier, Initializer, _names)


deserialize = _tables.deserializer("initializer", get)


@takes(use_legacy_format=(False, True))
def serialize(initializer: Initializer) -> dict:
    """{class_name, config} of an initializer."""
    return plain(initializer)


__getattr__ = missing("cornu.keras.initializers", __all__, _keras_names.initializers)
