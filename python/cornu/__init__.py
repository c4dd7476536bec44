"""cornu: dense and convolutional image classifiers, trained as Keras describes them.

    import cornu as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(10, activation="softmax")])

`cornu.keras` has the shape of Keras 3 and of tf.keras, and beside it stands what scripts ask TensorFlow for: devices,
threads, seeds. What is not there says so when it is used.
"""
from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from . import _tensorflow_names, config, data, debugging, devices, random, sysconfig, test, version
from ._cornu import version as __version__
from ._missing import missing
from .devices import device, versions
from .python.client import device_lib as _device_lib  # tf.python.client.device_lib, without an import of its own

if TYPE_CHECKING:
    from . import keras, nn


def executing_eagerly() -> bool:
    """True: what models give are arrays."""
    return True


def get_logger():
    """The logger "cornu", which scripts set quieter; nothing writes to it yet."""
    import logging

    return logging.getLogger("cornu")


__all__ = ["__version__", "config", "data", "debugging", "device", "devices", "executing_eagerly", "get_logger", "keras",
           "nn", "python", "random", "sysconfig", "test", "version", "versions"]
_missing_name = missing("cornu", __all__, _tensorflow_names.tensorflow)


def __getattr__(name: str):
    if name in ("keras", "nn"):  # at their first use: they, and NumPy, are most of what an import takes
        return _import_module(f"{__name__}.{name}")
    return _missing_name(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
