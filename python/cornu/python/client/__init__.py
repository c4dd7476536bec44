"""cornu.python.client.device_lib lists devices as TensorFlow's does."""
