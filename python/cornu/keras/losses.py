"""keras.losses: classes, and functions that compute on arrays and name a loss for compile."""
import inspect

import numpy as np

from .. import _tables
from .._missing import missing
from .._tables import TABLES, Configured, make_classes, names_of, only, options_of, plain
from . import _keras_names, _objects, activations, ops
from ._names import snake_case
from ._tensors import KerasTensor, is_symbolic
from ._tf2 import takes

_EPSILON = 1e-7


_REDUCTIONS = ("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", None, "none", "auto")


class Loss(Configured):
    """Base of all losses.

    A loss is also a function of arrays: loss(y_true, y_pred, sample_weight=None). One of one's own has a method
    call(y_true, y_pred), written with keras.ops and operators, that returns the losses of rows."""

    _may_be_own = True

    def __init__(self, *args, **kwargs):
        if self._row is None and type(self) is not Loss:
            self._config = _own_arguments(type(self).__name__, *args, **kwargs)
        else:
            super().__init__(*args, **kwargs)
        if self.reduction not in _REDUCTIONS:
            raise ValueError(f"{type(self).__name__}: found reduction={self.reduction!r}; expected "
                             f"{', '.join(map(repr, _REDUCTIONS[:-1]))}")

    def __call__(self, y_true, y_pred, sample_weight=None):
        """The losses of arrays' rows, reduced as `reduction` says."""
        if is_symbolic([y_true, y_pred]):
            return self._traced(y_true, y_pred, sample_weight)
        if self._row is None:
            values = np.asarray(self.call(*_floats(y_true, y_pred)))
        else:
            y_true, y_pred = _of_same_rank(y_true, y_pred)
            values = _functions[self._row["name"]](y_true, y_pred, **self._arguments())
        weights = np.ones_like(values)
        if sample_weight is not None:
            values, weights = _of_same_rank(values, sample_weight)
        if self._row is not None and self._row["name"] == "circle":
            weights = weights * self._mask(values)
        values = values * weights
        if self.reduction in (None, "none"):
            return values
        total = np.sum(values)
        if self.reduction == "mean_with_sample_weight":
            return total / (np.sum(weights) or np.float32(1))
        return total if self.reduction == "sum" else total / np.float32(values.size)

    def _mask(self, values: np.ndarray) -> np.ndarray:
        """As Keras's Circle: what is 0 does not count, also in a mean."""
        counts = (values > 0).astype(np.float32)
        return counts * (values.size / max(counts.sum(), 1)) if self.reduction in ("mean", "sum_over_batch_size", "auto") else counts

    def _traced(self, y_true, y_pred, sample_weight):
        """Within a loss of one's own."""
        values = self.call(*_of_same_rank(y_true, y_pred))
        if sample_weight is not None:
            values = values * sample_weight
        if self.reduction in (None, "none"):
            return values
        return ops.sum(values) if self.reduction == "sum" else ops.mean(values)

    def call(self, y_true, y_pred):
        """The losses of rows."""
        if self._row is None:
            raise NotImplementedError(f"{type(self).__name__}: expected a method call(y_true, y_pred) of its own")
        return _functions[self._row["name"]](y_true, y_pred, **self._arguments())

    @classmethod
    def from_config(cls, config: dict):
        """A loss of get_config's dictionary."""
        return super().from_config(config) if cls._row else cls(**config)

    def _arguments(self) -> dict:
        known = inspect.signature(_functions[self._row["name"]]).parameters
        return {name: value for name, value in self._config.items() if name in known}


def _own_arguments(owner: str, name=None, reduction="sum_over_batch_size", dtype=None) -> dict:
    """Of a loss of one's own."""
    _tables.check_dtype(owner, dtype)
    return {"name": name or snake_case(owner), "reduction": reduction}


def _of_same_rank(a, b) -> tuple[np.ndarray, np.ndarray]:
    """As Keras: where one has a last axis of 1 more than the other, both get the same number of axes."""
    a, b = _array(a), _array(b, np.float32)
    for x, y, swapped in ((a, b, False), (b, a, True)):
        if x.ndim == y.ndim + 1 and x.shape[-1] == 1:
            x, y = (x, ops.expand_dims(y, -1)) if y.ndim == 1 else (x[..., 0], y)
            return (y, x) if swapped else (x, y)
    return a, b


def _array(x, dtype=None):
    """An array; a tensor of a loss that is being traced as it is."""
    return x if isinstance(x, KerasTensor) else np.asarray(x, dtype)


def _floats(y_true, y_pred) -> tuple:
    return _array(y_true, np.float32), _array(y_pred, np.float32)


def _pair(y_true, y_pred) -> tuple[np.ndarray, np.ndarray]:
    return _floats(*_of_same_rank(y_true, y_pred))


def _clip(p: np.ndarray) -> np.ndarray:
    return ops.clip(p, np.float32(_EPSILON), np.float32(1 - _EPSILON))


def _probabilities(y_pred, from_logits: bool, activation) -> np.ndarray:
    y_pred = _array(y_pred, np.float32)
    return _clip(activation(y_pred) if from_logits else y_pred)


def _of_shares(y_pred, from_logits: bool, axis: int = -1) -> np.ndarray:
    p = _probabilities(y_pred, from_logits, lambda x: activations.softmax(x, axis))
    return p if from_logits else _clip(p / ops.sum(p, axis, keepdims=True))


def _smoothed(y_true, label_smoothing: float, of: int) -> np.ndarray:
    y_true = _array(y_true, np.float32)
    return y_true * np.float32(1 - label_smoothing) + np.float32(label_smoothing / of) if label_smoothing else y_true


def categorical_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0.0, axis=-1):
    """For one-hot targets: one loss per row."""
    p = _of_shares(y_pred, from_logits, axis)
    return -ops.sum(_smoothed(y_true, label_smoothing, p.shape[-1]) * ops.log(p), axis)


def sparse_categorical_crossentropy(y_true, y_pred, from_logits=False, ignore_class=None, axis=-1):
    """For class numbers: one loss per row. ignore_class: only None; axis: only -1."""
    only("ignore_class", None).check("sparse_categorical_crossentropy", ignore_class)
    only("axis", -1).check("sparse_categorical_crossentropy", axis)
    return -ops.log(_of_class(y_true, _of_shares(y_pred, from_logits)))


def _of_class(y_true, p: np.ndarray) -> np.ndarray:
    if isinstance(y_true, KerasTensor):
        numbers = y_true if y_true.ndim < p.ndim else y_true[..., 0] if y_true.ndim > 2 else ops.reshape(y_true, -1)
        return ops.sum(ops.one_hot(numbers, p.shape[-1]) * p, -1)
    y_true = np.asarray(y_true)
    numbers = (y_true if y_true.ndim < p.ndim else y_true[..., 0]).astype(np.int64)
    return np.take_along_axis(p, numbers[..., None], -1)[..., 0]


def _binary_crossentropy(y_true: np.ndarray, p: np.ndarray) -> np.ndarray:
    return -(y_true * ops.log(p) + (1 - y_true) * ops.log(1 - p))


def binary_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0.0, axis=-1):
    """For targets 0 and 1: one loss per row."""
    p = _probabilities(y_pred, from_logits, activations.sigmoid)
    return ops.mean(_binary_crossentropy(_smoothed(y_true, label_smoothing, 2), p), axis)


def mean_squared_error(y_true, y_pred):
    """One loss per row."""
    y_true, y_pred = _pair(y_true, y_pred)
    return ops.mean(ops.square(y_pred - y_true), -1)


def mean_absolute_error(y_true, y_pred):
    """One loss per row."""
    y_true, y_pred = _pair(y_true, y_pred)
    return ops.mean(ops.absolute(y_pred - y_true), -1)


def mean_absolute_percentage_error(y_true, y_pred):
    """One loss per row, in percent of the targets."""
    y_true, y_pred = _pair(y_true, y_pred)
    return 100 * ops.mean(ops.absolute((y_true - y_pred) / ops.maximum(ops.absolute(y_true), np.float32(_EPSILON))), -1)


def mean_squared_logarithmic_error(y_true, y_pred):
    """One loss per row; numbers below 1e-7 count as 1e-7."""
    logarithms = [ops.log(ops.maximum(y, np.float32(_EPSILON)) + 1) for y in _pair(y_true, y_pred)]
    return ops.mean(ops.square(logarithms[0] - logarithms[1]), -1)


def huber(y_true, y_pred, delta=1.0):
    """Half of the squared error up to delta, and linear above: one loss per row."""
    y_true, y_pred = _pair(y_true, y_pred)
    size, delta = ops.absolute(y_pred - y_true), np.float32(delta)
    return ops.mean(ops.where(size <= delta, ops.square(size) / 2, delta * size - ops.square(delta) / 2), -1)


def log_cosh(y_true, y_pred):
    """The logarithm of the error's hyperbolic cosine: one loss per row."""
    y_true, y_pred = _pair(y_true, y_pred)
    size = ops.absolute(y_pred - y_true)
    return ops.mean(size + activations.softplus(-2 * size) - np.float32(np.log(2)), -1)


def _signs(y_true):
    if isinstance(y_true, KerasTensor):
        raise NotImplementedError("losses.hinge, squared_hinge: within a loss of one's own are not in cornu, as they ask whether all "
                                  "targets are 0 or 1; ops.maximum(1 - y_true * y_pred, 0) is what they compute for -1 and 1")
    return 2 * y_true - 1 if np.all((y_true == 0) | (y_true == 1)) else y_true


def hinge(y_true, y_pred):
    """For targets -1 and 1, or 0 and 1: one loss per row."""
    y_true, y_pred = _floats(y_true, y_pred)
    return ops.mean(ops.maximum(1 - _signs(y_true) * y_pred, 0), -1)


def squared_hinge(y_true, y_pred):
    """For targets -1 and 1, or 0 and 1: one loss per row."""
    y_true, y_pred = _floats(y_true, y_pred)
    return ops.mean(ops.square(ops.maximum(1 - _signs(y_true) * y_pred, 0)), -1)


def categorical_hinge(y_true, y_pred):
    """For one-hot targets: one loss per row."""
    y_true, y_pred = _floats(y_true, y_pred)
    return ops.maximum(ops.max((1 - y_true) * y_pred, -1) - ops.sum(y_true * y_pred, -1) + 1, 0)


def kl_divergence(y_true, y_pred):
    """For targets that are distributions: one loss per row."""
    y_true, y_pred = (ops.clip(y, np.float32(_EPSILON), 1) for y in _floats(y_true, y_pred))
    return ops.sum(y_true * ops.log(y_true / y_pred), -1)


def poisson(y_true, y_pred):
    """For targets that are counts: one loss per row."""
    y_true, y_pred = _floats(y_true, y_pred)
    return ops.mean(y_pred - y_true * ops.log(y_pred + np.float32(_EPSILON)), -1)


def cosine_similarity(y_true, y_pred, axis=-1):
    """-1 where the row and the target have the same direction, 0 where they are orthogonal."""
    y_true, y_pred = _pair(y_true, y_pred)
    return -ops.sum(_normalized(y_true, axis) * _normalized(y_pred, axis), axis)


def _normalized(x: np.ndarray, axis: int) -> np.ndarray:
    return x / ops.maximum(ops.sqrt(ops.sum(ops.square(x), axis, keepdims=True)), np.float32(_EPSILON))


def binary_focal_crossentropy(y_true, y_pred, apply_class_balancing=False, alpha=0.25, gamma=2.0, from_logits=False,
                              label_smoothing=0.0, axis=-1):
    """For targets 0 and 1: one loss per row, in which well predicted ones count less."""
    y_true, y_pred = _smoothed(y_true, label_smoothing, 2), _array(y_pred, np.float32)
    p = activations.sigmoid(y_pred) if from_logits else y_pred
    right = y_true * p + (1 - y_true) * (1 - p)
    values = ops.power(1 - right, np.float32(gamma)) * _binary_crossentropy(y_true, _clip(p))
    if apply_class_balancing:
        values = (y_true * np.float32(alpha) + (1 - y_true) * np.float32(1 - alpha)) * values
    return ops.mean(values, axis)


def categorical_focal_crossentropy(y_true, y_pred, alpha=0.25, gamma=2.0, from_logits=False, label_smoothing=0.0,
                                   axis=-1):
    """For one-hot targets: one loss per row, in which well predicted ones count less."""
    y_pred = _array(y_pred, np.float32)
    p = activations.softmax(y_pred, axis) if from_logits else y_pred
    p = _clip(p / ops.sum(p, axis, keepdims=True))
    y_true = _smoothed(y_true, label_smoothing, p.shape[-1])
    return -ops.sum(ops.power(1 - p, np.float32(gamma)) * np.asarray(alpha, np.float32) * y_true * ops.log(p), axis)


def categorical_generalized_cross_entropy(y_true, y_pred, q):
    """For class numbers, of which some may be wrong: one loss per row."""
    return (1 - ops.power(_of_class(y_true, _array(y_pred, np.float32)), np.float32(q))) / np.float32(q)


def dice(y_true, y_pred, axis=None):
    """1 less twice what targets and outputs share over what both have: of all numbers together, or along axes."""
    y_true, y_pred = _floats(y_true, y_pred)
    both = ops.sum(y_true * y_pred, axis)
    return 1 - 2 * both / (ops.sum(y_true, axis) + ops.sum(y_pred, axis) + np.float32(_EPSILON))


def tversky(y_true, y_pred, alpha=0.5, beta=0.5, axis=None):
    """The same where what the outputs miss weighs alpha, and what they have too much weighs beta."""
    y_true, y_pred = _floats(y_true, y_pred)
    both = ops.sum(y_true * y_pred, axis)
    missed, wrong = ops.sum((1 - y_pred) * y_true, axis), ops.sum(y_pred * (1 - y_true), axis)
    return 1 - both / (both + missed * np.float32(alpha) + wrong * np.float32(beta) + np.float32(_EPSILON))


def circle(y_true, y_pred, ref_labels=None, ref_embeddings=None, remove_diagonal=True, gamma=80, margin=0.4):
    """Of embeddings of length 1 and their labels: one loss per row, of its pairs with all rows, or with the reference."""
    if is_symbolic([y_true, y_pred]):
        raise NotImplementedError("losses.circle: within a loss of one's own is not in cornu, as it compares the samples of a batch; "
                                  "compile(loss=losses.Circle()) is")
    x = np.asarray(y_pred, np.float32)
    others = x if ref_embeddings is None else np.asarray(ref_embeddings, np.float32)
    labels = np.asarray(y_true).astype(np.int32).reshape(-1, 1)
    of_others = labels if ref_labels is None else np.asarray(ref_labels).astype(np.int32).reshape(-1, 1)
    apart = np.maximum(1 - x @ others.T, 0)
    positive = labels == of_others.T
    negative = ~positive
    if remove_diagonal:
        positive = positive & ~np.eye(*positive.shape, dtype=bool)
    near = -gamma * np.maximum((margin + apart) * positive, 0) * (margin - apart)
    far = gamma * np.maximum((1 + margin - apart) * negative, 0) * (1 - margin - apart)
    with np.errstate(divide="ignore", invalid="ignore"):
        both = sum(np.logaddexp.reduce(np.where(mask, logits, -np.inf), axis=1) for mask, logits in ((positive, near), (negative, far)))
    return np.logaddexp(0, both).astype(np.float32)


__all__ = make_classes("losses", Loss, __name__, globals(), options=lambda row: options_of(row, without=("fn",)))
_names = names_of("losses", globals())
_functions = {row["name"]: globals()[row["name"]] for row in TABLES["losses"]}
_others = {other: _functions[row["name"]] for row in TABLES["losses"] if (other := row.get("other_name"))}
globals().update({**_others, **{name.upper(): function for name, function in _others.items()}})
__all__ += ["Loss", "deserialize", "get", "serialize", *_functions, *_others]


def get(identifier):
    """The object of a name, a function of this module, a configuration, a class or an object; a function of one's own as it
    is; None is None."""
    if callable(identifier) and identifier in _functions.values():
        identifier = identifier.__name__
    own = _objects.found(identifier, _names)
    if callable(own) and not isinstance(own, (Loss, type)):
        return own
    if own is not None:
        identifier = own
    return _tables.get("loss", identifier, Loss, _names)


deserialize = _tables.deserializer("loss", get)


@takes(use_legacy_format=(False, True))
def serialize(loss: Loss) -> dict:
    """{class_name, config} of a loss."""
    return plain(loss)


__getattr__ = missing("cornu.keras.losses", __all__, _keras_names.losses)
