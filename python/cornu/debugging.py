"""tf.debugging: where work is done."""
from . import _tensorflow_names
from ._missing import missing
from .devices import settings


def set_log_device_placement(enabled) -> None:
    """With True, a line on standard error for each fit, evaluate and predict says on which device it runs."""
    settings.log_placement = bool(enabled)


def get_log_device_placement() -> bool:
    """The last value of set_log_device_placement."""
    return settings.log_placement


__all__ = ["get_log_device_placement", "set_log_device_placement"]
__getattr__ = missing("cornu.debugging", __all__, _tensorflow_names.debugging)
