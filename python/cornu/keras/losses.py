"""keras.losses: classes, and functions that compute on arrays and name a loss for compile."""
import numpy as np

from .. import _tables
from .._missing import missing
from .._tables import TABLES, Configured, make_classes, names_of, only, options_of, plain
from . import _keras_names, activations
from ._tf2 import takes

_EPSILON = 1e-7


class Loss(Configured):
    """Base of all losses."""


def _probabilities(y_pred, from_logits: bool, activation) -> np.ndarray:
    y_pred = np.asarray(y_pred, np.float32)
    return np.clip(activation(y_pred) if from_logits else y_pred, _EPSILON, 1 - _EPSILON)


def _of_shares(y_pred, from_logits: bool, axis: int = -1) -> np.ndarray:
    p = _probabilities(y_pred, from_logits, lambda x: activations.softmax(x, axis))
    return p if from_logits else np.clip(p / p.sum(axis, keepdims=True), _EPSILON, 1 - _EPSILON)


def categorical_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0.0, axis=-1):
    """For one-hot targets: one loss per row."""
    p = _of_shares(y_pred, from_logits, axis)
    y_true = np.asarray(y_true, np.float32) * (1 - label_smoothing) + label_smoothing / p.shape[-1]
    return -np.sum(y_true * np.log(p), axis)


def sparse_categorical_crossentropy(y_true, y_pred, from_logits=False, ignore_class=None, axis=-1):
    """For class numbers: one loss per row. ignore_class: only None; axis: only -1."""
    only("ignore_class", None).check("sparse_categorical_crossentropy", ignore_class)
    only("axis", -1).check("sparse_categorical_crossentropy", axis)
    p = _of_shares(y_pred, from_logits)
    y_true = np.asarray(y_true)
    numbers = (y_true if y_true.ndim < p.ndim else y_true[..., 0]).astype(np.int64)
    return -np.log(np.take_along_axis(p, numbers[..., None], -1)[..., 0])


def binary_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0.0, axis=-1):
    """For targets 0 and 1: one loss per row."""
    p = _probabilities(y_pred, from_logits, activations.sigmoid)
    y_true = np.asarray(y_true, np.float32) * (1 - label_smoothing) + label_smoothing / 2
    return -np.mean(y_true * np.log(p) + (1 - y_true) * np.log(1 - p), axis)


def mean_squared_error(y_true, y_pred):
    """One loss per row."""
    return np.mean(np.square(np.asarray(y_pred, np.float32) - np.asarray(y_true, np.float32)), -1)


def mean_absolute_error(y_true, y_pred):
    """One loss per row."""
    return np.mean(np.abs(np.asarray(y_pred, np.float32) - np.asarray(y_true, np.float32)), -1)


__all__ = make_classes("losses", Loss, __name__, globals(), options=lambda row: options_of(row, without=("fn",)))
_names = names_of("losses", globals())
_functions = {row["name"]: globals()[row["name"]] for row in TABLES["losses"]}
_others = {other: _functions[row["name"]] for row in TABLES["losses"] if (other := row.get("other_name"))}
globals().update({**_others, **{name.upper(): function for name, function in _others.items()}})
__all__ += ["Loss", "deserialize", "get", "serialize", *_functions, *_others]


def get(identifier):
    """The object of a name, a function of this module, a configuration, a class or an object; None is None."""
    if callable(identifier) and identifier in _functions.values():
        identifier = identifier.__name__
    return _tables.get("loss", identifier, Loss, _names)


deserialize = _tables.deserializer("loss", get)


@takes(use_legacy_format=(False, True))
def serialize(loss: Loss) -> dict:
    """{class_name, config} of a loss."""
    return plain(loss)


__getattr__ = missing("cornu.keras.losses", __all__, _keras_names.losses)
