"""cornu: dense and convolutional image classifiers, trained as Keras describes them.

    import cornu as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(10, activation="softmax")])

`cornu.keras` has the shape of Keras 3; what it lacks says so when it is used.
"""
from . import data, keras
from ._cornu import version as __version__
from .devices import config, device, sysconfig, test, versions

__all__ = ["__version__", "config", "data", "device", "keras", "sysconfig", "test", "versions"]
