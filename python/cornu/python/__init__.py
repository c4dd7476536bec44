"""Where older scripts find TensorFlow's device_lib."""
from . import client  # noqa: F401  as tf.python.client.device_lib is written without an import of its own
