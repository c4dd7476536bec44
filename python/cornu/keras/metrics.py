"""keras.metrics: classes, and functions that compute on arrays and name a metric for compile."""
import inspect

import numpy as np

from .. import _tables
from .._arrays import Tensor, tensor
from .._missing import missing
from .._tables import TABLES, Configured, make_classes, names_of, only, plain
from . import _keras_names, _objects, initializers
from ._names import snake_case
from ._tf2 import takes
from .losses import (Loss, binary_crossentropy, binary_focal_crossentropy, categorical_crossentropy, categorical_focal_crossentropy,
                     categorical_hinge, cosine_similarity, hinge, huber, kl_divergence, log_cosh,
                     mean_absolute_error, mean_absolute_percentage_error, mean_squared_error,
                     mean_squared_logarithmic_error, poisson, sparse_categorical_crossentropy, squared_hinge)


class _State(Tensor):
    """A number, or several, that a metric keeps."""

    def assign(self, value) -> "_State":
        """Set it."""
        self.view(np.ndarray)[...] = value
        return self

    def assign_add(self, value) -> "_State":
        """Add to it."""
        self.view(np.ndarray)[...] += value
        return self

    def assign_sub(self, value) -> "_State":
        """Subtract from it."""
        self.view(np.ndarray)[...] -= value
        return self

    @property
    def value(self):
        """Its value."""
        return tensor(self.numpy())


class Metric(Configured):
    """Base of all metrics. name: what logs and History call it.

    As an object by itself: update_state, result, reset_state, on arrays. One of one's own has add_weight for what it keeps,
    update_state(y_true, y_pred, sample_weight=None) and result, in any NumPy code; compile takes it, and functions
    metric(y_true, y_pred), whose values are averaged."""

    _may_be_own = True

    def __init__(self, *args, **kwargs):
        self._states: list[_State] = []
        if self._row is None and type(self) is not Metric:
            self._config = _own_arguments(type(self).__name__, *args, **kwargs)
        else:
            super().__init__(*args, **kwargs)

    @property
    def name(self) -> str:
        """What logs call it."""
        return self._config.get("name") or self._row["name"]

    def add_variable(self, shape, initializer, dtype=None, aggregation="sum", name=None) -> _State:
        """What the metric keeps from batch to batch."""
        start = np.zeros(shape) if initializer in ("zeros", None) else initializers.get(initializer)(shape)
        state = np.array(start, dtype or np.float32).view(_State)
        self._states.append(state)
        return state

    def add_weight(self, shape=(), initializer=None, dtype=None, name=None, aggregation=None) -> _State:
        """The same."""
        return self.add_variable(() if isinstance(shape, str) else shape, initializer, dtype)  # tf.keras 2 has the name first

    @property
    def variables(self) -> list:
        """What it keeps."""
        return list(self._states)

    def _sums(self) -> list[_State]:
        if not self._states:
            self.add_variable((), "zeros"), self.add_variable((), "zeros")
        return self._states

    def update_state(self, y_true, y_pred, sample_weight=None) -> None:
        """Take a batch in."""
        if self._row is None:
            raise NotImplementedError(f"{type(self).__name__}: expected a method update_state of its own")
        values = _values_of(self, np.asarray(y_true), np.asarray(y_pred))
        first, second = self._sums()
        if isinstance(values, tuple):  # two counts
            counts = [np.sum(part * _beside(sample_weight, part)) for part in values]
            first.assign_add(counts[0]), second.assign_add(counts[1])
            return
        values, weights = _of_samples(values, sample_weight)
        first.assign_add(np.sum(values * weights)), second.assign_add(np.sum(np.broadcast_to(weights, values.shape)))

    def result(self):
        """The metric of all batches since the beginning."""
        if self._row is None:
            raise NotImplementedError(f"{type(self).__name__}: expected a method result of its own")
        first, second = (float(state) for state in self._sums())
        name = self._row["class_name"]
        if name in _COUNTS:
            return tensor(np.float32(first))
        if name in ("Precision", "Recall"):
            return tensor(np.float32(first / (first + second) if first + second else 0))
        mean = first / second if second else 0.0
        return tensor(np.float32(np.sqrt(mean) if name == "RootMeanSquaredError" else mean))

    def reset_state(self) -> None:
        """Begin again."""
        for state in self._states:
            state.assign(0)

    def reset_states(self) -> None:
        """tf.keras 2's name of reset_state."""
        self.reset_state()

    def __call__(self, *args, **kwargs):
        """update_state, then result."""
        self.update_state(*args, **kwargs)
        return self.result()

    @classmethod
    def from_config(cls, config: dict):
        """A metric of get_config's dictionary."""
        return super().from_config(config) if cls._row else cls(**config)


_COUNTS = {"TruePositives": (True, True), "TrueNegatives": (False, False), "FalsePositives": (False, True),
           "FalseNegatives": (True, False)}


def _own_arguments(owner: str, dtype=None, name=None) -> dict:
    if isinstance(dtype, str) and not hasattr(np, dtype):
        dtype, name = None, dtype  # tf.keras 2 has the name first
    _tables.check_dtype(owner, dtype)
    return {"name": name or snake_case(owner), "dtype": "float32"}


def _beside(weights, values) -> np.ndarray:
    """Weights of samples, for each of the values."""
    if weights is None:
        return np.ones(1, np.float32)
    weights = np.asarray(weights, np.float32)
    return weights.reshape(weights.shape + (1,) * (np.ndim(values) - weights.ndim)) if weights.ndim < np.ndim(values) else weights


def _of_samples(values, sample_weight) -> tuple:
    """A value for each sample, and their weights."""
    values = np.asarray(values, np.float32)
    if values.ndim > 1:
        values = values.mean(tuple(range(1, values.ndim)))
    weights = np.ones(1, np.float32) if sample_weight is None else np.asarray(sample_weight, np.float32).reshape(-1)
    return np.atleast_1d(values), weights


def _values_of(metric: Metric, y_true: np.ndarray, y_pred: np.ndarray):
    """A table's metric of a batch: values of rows, or two arrays of counts."""
    name, config = metric._row["class_name"], metric.get_config()
    if name in _COUNTS or name in ("Precision", "Recall"):
        threshold = 0.5 if config.get("thresholds") is None else config["thresholds"]
        y_true = y_true.reshape(y_pred.shape)
        if config.get("class_id") is not None:
            y_true, y_pred = y_true[..., config["class_id"]], y_pred[..., config["class_id"]]
        true, found = y_true.astype(bool), y_pred > threshold
        kinds = {"Precision": ((True, True), (False, True)), "Recall": ((True, True), (True, False))}
        pair = kinds.get(name) or (_COUNTS[name], None)
        return tuple(((true == kind[0]) & (found == kind[1])).astype(np.float32) if kind else np.zeros(1, np.float32) for kind in pair)
    function = {"RootMeanSquaredError": mean_squared_error, "CosineSimilarity": cosine_similarity, "Accuracy": _accuracy}.get(
        name, _functions.get(metric._row["name"]))
    if function is None:
        raise NotImplementedError(f"{name}: update_state on arrays is not in cornu; compile takes it")
    known = inspect.signature(function).parameters
    values = function(y_true.reshape(y_pred.shape) if y_true.size == y_pred.size else y_true, y_pred,
                      **{key: value for key, value in config.items() if key in known})
    return -values if name == "CosineSimilarity" else values


class Mean(Metric):
    """The weighted mean of all values: an object by itself, not one of compile's."""

    _row = None

    def __init__(self, name="mean", dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.total, self.count = self._sums()

    def update_state(self, values, sample_weight=None) -> None:
        """Take values in."""
        scalar = np.ndim(values) == 0
        values, weights = _of_samples(values, sample_weight)
        self.total.assign_add(np.sum(values * weights))
        self.count.assign_add(1 if scalar and sample_weight is None else np.sum(np.broadcast_to(weights, values.shape)))

    def result(self):
        """Their mean; 0 of none."""
        return tensor(np.float32(self.total / self.count if self.count > 0 else 0))


class Sum(Metric):
    """The weighted sum of all values."""

    _row = None

    def __init__(self, name="sum", dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_variable((), "zeros")

    def update_state(self, values, sample_weight=None) -> None:
        """Take values in."""
        values = np.asarray(values, np.float32)
        self.total.assign_add(np.sum(values * _beside(sample_weight, values)))

    def result(self):
        """Their sum."""
        return tensor(self.total.numpy())


class MeanMetricWrapper(Mean):
    """The mean of a function's values for (y_true, y_pred), and further arguments of its own."""

    def __init__(self, fn, name=None, dtype=None, **kwargs):
        super().__init__(name=name or getattr(fn, "__name__", type(fn).__name__), dtype=dtype)
        self._fn, self._fn_kwargs = fn, kwargs

    def update_state(self, y_true, y_pred, sample_weight=None) -> None:
        """Take a batch in."""
        super().update_state(self._fn(y_true, y_pred, **self._fn_kwargs), sample_weight)


def _numbers(y_true, y_pred) -> np.ndarray:
    y_true = np.asarray(y_true)
    return (y_true if y_true.ndim < np.ndim(y_pred) else y_true[..., 0]).astype(np.int64)


def _among_best(numbers, y_pred, k: int) -> np.ndarray:
    y_pred = np.asarray(y_pred)
    own = np.take_along_axis(y_pred, numbers[..., None], -1)
    return (np.sum(y_pred > own, -1) < k).astype(np.float32)


def _moments(y_true, y_pred, axis) -> tuple:
    """Both as differences from their means, and the means."""
    y_true, y_pred = np.asarray(y_true, np.float32), np.asarray(y_pred, np.float32)
    means = [np.mean(y, axis=axis, keepdims=True) for y in (y_true, y_pred)]
    return y_true - means[0], y_pred - means[1], *means


def pearson_correlation(y_true, y_pred, axis=-1):
    """From -1 to 1, for each row."""
    y_true, y_pred, _, _ = _moments(y_true, y_pred, axis)
    with np.errstate(all="ignore"):
        return np.mean(y_true / np.std(y_true, axis=axis, keepdims=True) * (y_pred / np.std(y_pred, axis=axis, keepdims=True)), axis=axis)


def concordance_correlation(y_true, y_pred, axis=-1):
    """From -1 to 1, for each row: 1 only where both are equal."""
    y_true, y_pred, true_mean, found_mean = _moments(y_true, y_pred, axis)
    apart = np.var(y_true, axis=axis, keepdims=True) + np.var(y_pred, axis=axis, keepdims=True) + np.square(true_mean - found_mean)
    return np.mean(2 * y_true * y_pred / (apart + np.float32(1e-7)), axis=axis)


def _accuracy(y_true, y_pred):
    return (np.asarray(y_true) == np.asarray(y_pred)).astype(np.float32)


def binary_accuracy(y_true, y_pred, threshold=0.5):
    """1 for each output that is on the right side of the threshold, else 0."""
    return (np.asarray(y_true) == (np.asarray(y_pred) > threshold)).astype(np.float32)


def categorical_accuracy(y_true, y_pred):
    """1 where the largest output is that of the one-hot target, else 0."""
    return (np.argmax(y_true, -1) == np.argmax(y_pred, -1)).astype(np.float32)


def sparse_categorical_accuracy(y_true, y_pred):
    """1 where the largest output is that of the class number, else 0."""
    return (_numbers(y_true, y_pred) == np.argmax(y_pred, -1)).astype(np.float32)


def top_k_categorical_accuracy(y_true, y_pred, k=5):
    """1 where the one-hot target is among the k largest outputs, else 0."""
    return _among_best(np.argmax(y_true, -1), y_pred, k)


def sparse_top_k_categorical_accuracy(y_true, y_pred, k=5, from_sorted_ids=False):
    """1 where the class number is among the k largest outputs, else 0. from_sorted_ids: only False."""
    only("from_sorted_ids", False).check("sparse_top_k_categorical_accuracy", from_sorted_ids)
    return _among_best(_numbers(y_true, y_pred), y_pred, k)


__all__ = make_classes("metrics", Metric, __name__, globals())
_names = names_of("metrics", globals())
_names |= {other: globals()[row["class_name"]] for row in TABLES["losses"]
           if (other := row.get("other_name")) and row["class_name"] in __all__}
_names |= {"log_cosh": LogCoshError, "log_cosh_error": LogCoshError}  # noqa: F821
_functions = {row["name"]: globals()[row["name"]] for row in TABLES["metrics"] if row["name"] in globals()}
_functions["log_cosh"] = log_cosh
_wrapped = {function.__name__: function for function in (binary_focal_crossentropy, categorical_focal_crossentropy, huber)}
__all__ += ["Mean", "MeanMetricWrapper", "Metric", "Sum", "deserialize", "get", "serialize", *_functions, *_wrapped]


def check_name(name: str) -> str:
    """One that the library will know."""
    if name.lower() not in ("accuracy", "acc"):
        _tables.get("metric", name, Metric, _names)
    return name


def get(identifier):
    """The object of a name, a function of this module, a configuration, a class or an object; None is None. What
    "accuracy" is depends on the loss: compile takes it as a string."""
    if identifier is log_cosh:
        return LogCoshError("log_cosh")  # noqa: F821
    if callable(identifier) and identifier in _functions.values():
        identifier = identifier.__name__
    own = None if isinstance(identifier, (Metric, Loss)) else _objects.found(identifier, _names)
    if callable(own) and not isinstance(own, (Metric, type)):
        return MeanMetricWrapper(own)
    if own is not None:
        identifier = own
    if isinstance(identifier, Loss):
        cls = _names.get(type(identifier).__name__)
        if cls is None or type(identifier).__name__ == "CosineSimilarity":  # the metric has the other sign
            raise NotImplementedError(f"metric {identifier!r}: this loss as a metric is not in cornu; it takes those of "
                                      f"keras.metrics")
        return cls(**{k: v for k, v in identifier.get_config().items() if k in cls.__signature__.parameters})
    return _tables.get("metric", identifier, Metric, _names)


deserialize = _tables.deserializer("metric", get)


@takes(use_legacy_format=(False, True))
def serialize(metric: Metric) -> dict:
    """{class_name, config} of a metric."""
    return plain(metric)


__getattr__ = missing("cornu.keras.metrics", __all__, _keras_names.metrics)
