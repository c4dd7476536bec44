"""cornu: trains dense and convolutional image classifiers, with Keras's interface.

    import cornu as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(10, activation="softmax")])

`cornu.keras` has the interface of Keras 3 and tf.keras. The other modules have what scripts need of TensorFlow: devices,
threads, seeds. Using something that is missing raises an error that says so.
"""
from importlib import import_module as _import_module

from ._missing import missing

_MODULES = ("config", "data", "debugging", "devices", "keras", "nn", "python", "random", "sysconfig", "test", "version")
_OF_DEVICES = ("device", "versions")


def executing_eagerly() -> bool:
    """True: models return arrays."""
    return True


def get_logger():
    """The logger "cornu", for scripts that set its level; nothing writes to it yet."""
    import logging

    return logging.getLogger("cornu")


__all__ = ["__version__", "executing_eagerly", "get_logger", *_MODULES, *_OF_DEVICES]


def __getattr__(name: str):
    """At their first use: the library, and NumPy, are most of what an import takes."""
    if name in _MODULES:
        return _import_module(f"{__name__}.{name}")
    if name in _OF_DEVICES:
        return getattr(_import_module(f"{__name__}.devices"), name)
    if name == "__version__":
        return _import_module(f"{__name__}._cornu").version
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return missing("cornu", __all__, _import_module(f"{__name__}._tensorflow_names").tensorflow)(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
