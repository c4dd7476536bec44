"""Where older scripts find TensorFlow's device_lib."""
