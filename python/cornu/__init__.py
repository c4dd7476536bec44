"""cornu: trains dense and convolutional image classifiers, with Keras's interface.

    import cornu as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(10, activation="softmax")])

`cornu.keras` has the interface of Keras 3 and tf.keras. The other modules have what scripts need of TensorFlow: devices,
threads, seeds. Using something that is missing raises an error that says so.
"""
from importlib import import_module as _import_module

from ._missing import missing

_MODULES = ("config", "data", "debugging", "devices", "image", "io", "keras", "math", "nn", "python", "random", "sysconfig",
            "test", "version")
_OF_DEVICES = ("device", "versions")


def executing_eagerly() -> bool:
    """True: models return arrays."""
    return True


def get_logger():
    """The logger "cornu", for scripts that set its level; nothing writes to it yet."""
    import logging

    return logging.getLogger("cornu")


# Of _functions, which are found there at their first use.
_FUNCTIONS = """abs add argmax argmin argsort boolean_mask cast ceil clip_by_value concat constant convert_to_tensor cos cumsum
divide equal exp expand_dims eye fill float16 float32 float64 floor function gather greater greater_equal identity int16 int32
int64 int8 is_tensor less less_equal linspace log logical_and logical_not logical_or matmul maximum minimum multiply negative
newaxis not_equal numpy_function one_hot ones ones_like pad pow py_function range rank reciprocal reduce_all reduce_any reduce_max
reduce_mean reduce_min reduce_prod reduce_sum repeat reshape reverse round shape sigmoid sign sin size sort split sqrt square
squeeze stack string subtract tanh tensordot TensorShape TensorSpec tile transpose uint16 uint32 uint64 uint8 unstack where zeros
zeros_like""".split()
__all__ = ["__version__", "Tensor", "bool", "executing_eagerly", "get_logger", *_MODULES, *_OF_DEVICES, *_FUNCTIONS]


def __getattr__(name: str):
    """At their first use: the library, and NumPy, are most of what an import takes."""
    if name in _MODULES:
        return _import_module(f"{__name__}.{name}")
    if name in _OF_DEVICES:
        return getattr(_import_module(f"{__name__}.devices"), name)
    if name in _FUNCTIONS:
        return getattr(_import_module(f"{__name__}._functions"), name)
    if name == "Tensor":
        return _import_module(f"{__name__}._arrays").Tensor
    if name == "bool":
        return _import_module(f"{__name__}._functions")._bool
    if name == "__version__":
        return _import_module(f"{__name__}._cornu").version
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return missing("cornu", __all__, _import_module(f"{__name__}._tensorflow_names").tensorflow)(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
