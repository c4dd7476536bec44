"""cornu.python.client.device_lib lists devices as TensorFlow's does."""
from . import device_lib  # noqa: F401
