"""cornu: dense and convolutional image classifiers, trained as Keras describes them.

    import cornu as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(10, activation="softmax")])

`cornu.keras` has the shape of Keras 3 and of tf.keras, and beside it stands what scripts ask TensorFlow for: devices,
threads, seeds. What is not there says so when it is used.
"""
from . import _tensorflow_names, config, data, debugging, devices, keras, nn, python, random, sysconfig, test, version
from ._cornu import version as __version__
from ._missing import missing
from .devices import device, versions

__all__ = ["__version__", "config", "data", "debugging", "device", "devices", "keras", "nn", "python", "random",
           "sysconfig", "test", "version", "versions"]
__getattr__ = missing("cornu", __all__, _tensorflow_names.tensorflow)
