import signal

import numpy as np
import pytest

from cornu import keras

# Whoever starts the tests in the background has Ctrl-C ignored, which their processes would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def samples():
    """Sixty small images of three classes that can be told apart."""
    generator = np.random.default_rng(1)
    y = generator.integers(0, 3, 60)
    x = generator.random((60, 8, 8, 1), np.float32) * 0.5
    x[np.arange(60), y * 2, :, 0] += 1
    return x, y


@pytest.fixture
def model():
    keras.utils.set_random_seed(7)
    m = keras.Sequential([
        keras.Input((8, 8, 1)),
        keras.layers.Conv2D(4, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(3, activation="softmax"),
    ])
    m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m
