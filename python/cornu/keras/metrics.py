"""keras.metrics."""
import inspect

from .._missing import missing
from .._tables import Configured, make_classes, options_of
from . import _keras_names


class Metric(Configured):
    """Base of all metrics."""


def _options(row):
    return [o for o in options_of(row) if o.name not in ("name", "dtype")]


_name = inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
_dtype = inspect.Parameter("dtype", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
__all__ = make_classes("metrics", Metric, __name__, globals(), options=_options, extra=(_name, _dtype))

__getattr__ = missing("cornu.keras.metrics", __all__, _keras_names.metrics)
