"""keras.metrics."""
from .. import _tables
from .._missing import missing
from .._tables import Configured, make_classes, names_of, plain
from . import _keras_names


class Metric(Configured):
    """Base of all metrics. name: what logs and History call it."""


__all__ = make_classes("metrics", Metric, __name__, globals())
_names = names_of("metrics", globals())
__all__ += ["Metric", "deserialize", "get", "serialize"]


def get(identifier):
    """The object of a name, a configuration, a class or an object; None is None. What "accuracy" is depends on the loss:
    compile takes it as a string."""
    return _tables.get("metric", identifier, Metric, _names)


deserialize = get


def serialize(metric: Metric) -> dict:
    """{class_name, config} of a metric."""
    return plain(metric)


__getattr__ = missing("cornu.keras.metrics", __all__, _keras_names.metrics)
