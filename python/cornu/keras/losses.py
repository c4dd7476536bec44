"""keras.losses: classes, and functions that compute on arrays and name a loss for compile."""
import inspect

import numpy as np

from .. import _tables
from .._missing import missing
from .._tables import TABLES, Configured, make_classes, names_of, only, options_of, plain
from . import _keras_names, activations
from ._tf2 import takes

_EPSILON = 1e-7


_REDUCTIONS = ("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", None, "none", "auto")


class Loss(Configured):
    """Base of all losses.

    A loss is also a function of arrays: loss(y_true, y_pred, sample_weight=None)."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if self.reduction not in _REDUCTIONS:
            raise ValueError(f"{type(self).__name__}: found reduction={self.reduction!r}; expected "
                             f"{', '.join(map(repr, _REDUCTIONS[:-1]))}")

    def __call__(self, y_true, y_pred, sample_weight=None):
        """The losses of arrays' rows, reduced as `reduction` says."""
        y_true, y_pred = _of_same_rank(y_true, y_pred)
        values = _functions[self._row["name"]](y_true, y_pred, **self._arguments())
        weights = np.ones_like(values)
        if sample_weight is not None:
            values, weights = _of_same_rank(values, sample_weight)
            values = values * weights
        if self.reduction in (None, "none"):
            return values
        total = np.sum(values)
        if self.reduction == "mean_with_sample_weight":
            return total / (np.sum(weights) or np.float32(1))
        return total if self.reduction == "sum" else total / np.float32(values.size)

    def _arguments(self) -> dict:
        known = inspect.signature(_functions[self._row["name"]]).parameters
        return {name: value for name, value in self._config.items() if name in known}


def _of_same_rank(a, b) -> tuple[np.ndarray, np.ndarray]:
    """As Keras: where one has a last axis of 1 more than the other, both get the same number of axes."""
    a, b = np.asarray(a), np.asarray(b, np.float32)
    for x, y, swapped in ((a, b, False), (b, a, True)):
        if x.ndim == y.ndim + 1 and x.shape[-1] == 1:
            x, y = (x, y[:, None]) if y.ndim == 1 else (x[..., 0], y)
            return (y, x) if swapped else (x, y)
    return a, b


def _floats(y_true, y_pred) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(y_true, np.float32), np.asarray(y_pred, np.float32)


def _pair(y_true, y_pred) -> tuple[np.ndarray, np.ndarray]:
    return _floats(*_of_same_rank(y_true, y_pred))


def _clip(p: np.ndarray) -> np.ndarray:
    return np.clip(p, np.float32(_EPSILON), np.float32(1 - _EPSILON))


def _probabilities(y_pred, from_logits: bool, activation) -> np.ndarray:
    y_pred = np.asarray(y_pred, np.float32)
    return _clip(activation(y_pred) if from_logits else y_pred)


def _of_shares(y_pred, from_logits: bool, axis: int = -1) -> np.ndarray:
    p = _probabilities(y_pred, from_logits, lambda x: activations.softmax(x, axis))
    return p if from_logits else _clip(p / p.sum(axis, keepdims=True))


def _smoothed(y_true, label_smoothing: float, of: int) -> np.ndarray:
    y_true = np.asarray(y_true, np.float32)
    return y_true * np.float32(1 - label_smoothing) + np.float32(label_smoothing / of) if label_smoothing else y_true


def categorical_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0.0, axis=-1):
    """For one-hot targets: one loss per row."""
    p = _of_shares(y_pred, from_logits, axis)
    return -np.sum(_smoothed(y_true, label_smoothing, p.shape[-1]) * np.log(p), axis)


def sparse_categorical_crossentropy(y_true, y_pred, from_logits=False, ignore_class=None, axis=-1):
    """For class numbers: one loss per row. ignore_class: only None; axis: only -1."""
    only("ignore_class", None).check("sparse_categorical_crossentropy", ignore_class)
    only("axis", -1).check("sparse_categorical_crossentropy", axis)
    return -np.log(_of_class(y_true, _of_shares(y_pred, from_logits)))


def _of_class(y_true, p: np.ndarray) -> np.ndarray:
    y_true = np.asarray(y_true)
    numbers = (y_true if y_true.ndim < p.ndim else y_true[..., 0]).astype(np.int64)
    return np.take_along_axis(p, numbers[..., None], -1)[..., 0]


def _binary_crossentropy(y_true: np.ndarray, p: np.ndarray) -> np.ndarray:
    return -(y_true * np.log(p) + (1 - y_true) * np.log(1 - p))


def binary_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0.0, axis=-1):
    """For targets 0 and 1: one loss per row."""
    p = _probabilities(y_pred, from_logits, activations.sigmoid)
    return np.mean(_binary_crossentropy(_smoothed(y_true, label_smoothing, 2), p), axis)


def mean_squared_error(y_true, y_pred):
    """One loss per row."""
    y_true, y_pred = _pair(y_true, y_pred)
    return np.mean(np.square(y_pred - y_true), -1)


def mean_absolute_error(y_true, y_pred):
    """One loss per row."""
    y_true, y_pred = _pair(y_true, y_pred)
    return np.mean(np.abs(y_pred - y_true), -1)


def mean_absolute_percentage_error(y_true, y_pred):
    """One loss per row, in percent of the targets."""
    y_true, y_pred = _pair(y_true, y_pred)
    return 100 * np.mean(np.abs((y_true - y_pred) / np.maximum(np.abs(y_true), np.float32(_EPSILON))), -1)


def mean_squared_logarithmic_error(y_true, y_pred):
    """One loss per row; numbers below 1e-7 count as 1e-7."""
    logarithms = [np.log1p(np.maximum(y, np.float32(_EPSILON))) for y in _pair(y_true, y_pred)]
    return np.mean(np.square(logarithms[0] - logarithms[1]), -1)


def huber(y_true, y_pred, delta=1.0):
    """Half of the squared error up to delta, and linear above: one loss per row."""
    y_true, y_pred = _pair(y_true, y_pred)
    size, delta = np.abs(y_pred - y_true), np.float32(delta)
    return np.mean(np.where(size <= delta, np.square(size) / 2, delta * size - np.square(delta) / 2), -1)


def log_cosh(y_true, y_pred):
    """The logarithm of the error's hyperbolic cosine: one loss per row."""
    y_true, y_pred = _pair(y_true, y_pred)
    size = np.abs(y_pred - y_true)
    return np.mean(size + np.log1p(np.exp(-2 * size)) - np.float32(np.log(2)), -1)


def _signs(y_true: np.ndarray) -> np.ndarray:
    return 2 * y_true - 1 if np.all((y_true == 0) | (y_true == 1)) else y_true


def hinge(y_true, y_pred):
    """For targets -1 and 1, or 0 and 1: one loss per row."""
    y_true, y_pred = _floats(y_true, y_pred)
    return np.mean(np.maximum(1 - _signs(y_true) * y_pred, 0), -1)


def squared_hinge(y_true, y_pred):
    """For targets -1 and 1, or 0 and 1: one loss per row."""
    y_true, y_pred = _floats(y_true, y_pred)
    return np.mean(np.square(np.maximum(1 - _signs(y_true) * y_pred, 0)), -1)


def categorical_hinge(y_true, y_pred):
    """For one-hot targets: one loss per row."""
    y_true, y_pred = _floats(y_true, y_pred)
    return np.maximum(np.max((1 - y_true) * y_pred, -1) - np.sum(y_true * y_pred, -1) + 1, 0)


def kl_divergence(y_true, y_pred):
    """For targets that are distributions: one loss per row."""
    y_true, y_pred = (np.clip(y, np.float32(_EPSILON), 1) for y in _floats(y_true, y_pred))
    return np.sum(y_true * np.log(y_true / y_pred), -1)


def poisson(y_true, y_pred):
    """For targets that are counts: one loss per row."""
    y_true, y_pred = _floats(y_true, y_pred)
    return np.mean(y_pred - y_true * np.log(y_pred + np.float32(_EPSILON)), -1)


def cosine_similarity(y_true, y_pred, axis=-1):
    """-1 where the row and the target have the same direction, 0 where they are orthogonal."""
    y_true, y_pred = _pair(y_true, y_pred)
    return -np.sum(_normalized(y_true, axis) * _normalized(y_pred, axis), axis)


def _normalized(x: np.ndarray, axis: int) -> np.ndarray:
    return x / np.maximum(np.sqrt(np.sum(np.square(x), axis, keepdims=True)), np.float32(_EPSILON))


def binary_focal_crossentropy(y_true, y_pred, apply_class_balancing=False, alpha=0.25, gamma=2.0, from_logits=False,
                              label_smoothing=0.0, axis=-1):
    """For targets 0 and 1: one loss per row, in which well predicted ones count less."""
    y_true, y_pred = _smoothed(y_true, label_smoothing, 2), np.asarray(y_pred, np.float32)
    p = activations.sigmoid(y_pred) if from_logits else y_pred
    right = y_true * p + (1 - y_true) * (1 - p)
    values = np.power(1 - right, np.float32(gamma)) * _binary_crossentropy(y_true, _clip(p))
    if apply_class_balancing:
        values = (y_true * np.float32(alpha) + (1 - y_true) * np.float32(1 - alpha)) * values
    return np.mean(values, axis)


def categorical_focal_crossentropy(y_true, y_pred, alpha=0.25, gamma=2.0, from_logits=False, label_smoothing=0.0,
                                   axis=-1):
    """For one-hot targets: one loss per row, in which well predicted ones count less."""
    y_pred = np.asarray(y_pred, np.float32)
    p = activations.softmax(y_pred, axis) if from_logits else y_pred
    p = _clip(p / p.sum(axis, keepdims=True))
    y_true = _smoothed(y_true, label_smoothing, p.shape[-1])
    return -np.sum(np.power(1 - p, np.float32(gamma)) * np.asarray(alpha, np.float32) * y_true * np.log(p), axis)


def categorical_generalized_cross_entropy(y_true, y_pred, q):
    """For class numbers, of which some may be wrong: one loss per row."""
    return (1 - np.power(_of_class(y_true, np.asarray(y_pred, np.float32)), np.float32(q))) / np.float32(q)


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
