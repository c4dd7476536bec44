"""keras.metrics: classes, and functions that compute on arrays and name a metric for compile."""
import numpy as np

from .. import _tables
from .._missing import missing
from .._tables import TABLES, Configured, make_classes, names_of, only, plain
from . import _keras_names
from ._tf2 import takes
from .losses import (Loss, binary_crossentropy, categorical_crossentropy, categorical_hinge, hinge, kl_divergence, log_cosh,
                     mean_absolute_error, mean_absolute_percentage_error, mean_squared_error,
                     mean_squared_logarithmic_error, poisson, sparse_categorical_crossentropy, squared_hinge)


class Metric(Configured):
    """Base of all metrics. name: what logs and History call it."""


def _numbers(y_true, y_pred) -> np.ndarray:
    y_true = np.asarray(y_true)
    return (y_true if y_true.ndim < np.ndim(y_pred) else y_true[..., 0]).astype(np.int64)


def _among_best(numbers, y_pred, k: int) -> np.ndarray:
    y_pred = np.asarray(y_pred)
    own = np.take_along_axis(y_pred, numbers[..., None], -1)
    return (np.sum(y_pred > own, -1) < k).astype(np.float32)


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
__all__ += ["Metric", "deserialize", "get", "serialize", *_functions]


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
