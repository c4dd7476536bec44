"""keras.regularizers: penalties on weights, which the loss counts."""
import numpy as np

from .. import _tables
from .._missing import missing
from .._tables import TABLES, Configured, make_classes, names_of, plain
from . import _keras_names
from ._tf2 import takes


class Regularizer(Configured):
    """Base of all regularizers. Called with an array it gives the penalty on that."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for option in self._options:
            value = self._config[option.name]
            if option.type == "choice":
                if value not in option.choices:
                    raise ValueError(f"Invalid value for argument `{option.name}`. Expected one of "
                                     f"{{{', '.join(map(repr, option.choices))}}}. Received: {option.name}={value}")
                continue
            value = option.default if value is None else value
            if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 <= value < float("inf"):
                raise ValueError(f"Invalid value for argument {option.name}: expected a non-negative float. "
                                 f"Received: {option.name}={value}")
            self._config[option.name] = float(value)

    def __call__(self, x) -> np.float32:
        array = np.asarray(x, np.float64)
        if "mode" in self._config:
            return self._orthogonal(array)
        return np.float32(self._config.get("l1", 0) * np.abs(array).sum() + self._config.get("l2", 0) * np.square(array).sum())


    def _orthogonal(self, array: np.ndarray) -> np.float32:
        if array.ndim != 2:
            raise ValueError(f"Inputs to OrthogonalRegularizer must have rank 2. Received: inputs.shape={array.shape}")
        rows = array if self._config["mode"] == "rows" else array.T
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-7)
        products, size = np.abs(rows @ rows.T), len(rows)
        np.fill_diagonal(products, 0)
        return np.float32(np.divide(self._config["factor"] * products.sum(), size * (size - 1.0)))


_made = make_classes("regularizers", Regularizer, __name__, globals())
_keras_aliases = [row["name"] for row in TABLES["regularizers"]]
for _row in TABLES["regularizers"]:
    globals()[_row["name"]] = globals()[_row["class_name"]]
_named = [name for name in _made if name in _keras_names.regularizers]
__all__ = [*_named, "Regularizer", *_keras_aliases, "deserialize", "get", "serialize"]
_names = names_of("regularizers", globals())


def get(identifier):
    """The object of a name, a configuration, a class or an object; None is None."""
    if identifier == "l1_l2":  # of tf.keras 2, whose function had these
        return globals()["L1L2"](0.01, 0.01)
    return _tables.get("regularizer", identifier, Regularizer, _names)


deserialize = _tables.deserializer("regularizer", get)


@takes(use_legacy_format=(False, True))
def serialize(regularizer: Regularizer) -> dict:
    """{class_name, config} of a regularizer."""
    return plain(regularizer)


__getattr__ = missing("cornu.keras.regularizers", __all__, _keras_names.regularizers)
