"""keras.constraints: what weights are kept to after each step."""
import numpy as np

from .. import _tables
from .._missing import missing
from .._tables import TABLES, Configured, make_classes, names_of, plain
from . import _keras_names
from ._tf2 import takes


class Constraint(Configured):
    """Base of all constraints. Called with an array it gives what that becomes."""

    def __call__(self, w) -> np.ndarray:
        array, name = np.asarray(w, np.float32), self._row["name"]
        if name == "non_neg":
            return np.maximum(array, 0)
        axis = self._config["axis"]
        norms = np.sqrt(np.sum(np.square(array), axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=True))
        low, high = (1, 1) if name == "unit_norm" else (self._config.get("min_value", 0), self._config["max_value"])
        rate = self._config.get("rate", 1)
        return (array * ((rate * np.clip(norms, low, high) + (1 - rate) * norms) / (1e-7 + norms))).astype(np.float32)


_made = make_classes("constraints", Constraint, __name__, globals())
for _row in TABLES["constraints"]:
    globals()[_row["name"]] = globals()[_row["class_name"]]
__all__ = [*_made, "Constraint", *(r["name"] for r in TABLES["constraints"]), "deserialize", "get", "serialize"]
_names = names_of("constraints", globals())


def get(identifier):
    """The object of a name, a configuration, a class or an object; None is None."""
    return _tables.get("constraint", identifier, Constraint, _names)


deserialize = _tables.deserializer("constraint", get)


@takes(use_legacy_format=(False, True))
def serialize(constraint: Constraint) -> dict:
    """{class_name, config} of a constraint."""
    return plain(constraint)


__getattr__ = missing("cornu.keras.constraints", __all__, _keras_names.constraints)
