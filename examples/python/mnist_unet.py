"""Noise is taken from MNIST's digits by a small U-Net: halves of the way down are joined to those of the way up."""
import argparse

import numpy as np

import cornu as tf
from cornu import keras
from cornu.keras import layers

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--samples", type=int, default=60000, help="how many of the training images")
options = parser.parse_args()

(x_train, _), (x_test, _) = tf.keras.datasets.mnist.load_data()
clean, clean_test = (x.astype("float32")[..., None] / 255 for x in (x_train[:options.samples], x_test))
rng = np.random.default_rng(1)
noisy, noisy_test = (np.clip(x + rng.normal(0, 0.5, x.shape), 0, 1).astype("float32") for x in (clean, clean_test))


def convolutions(x, filters):
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return x


def twice_as_large(x):
    """Each pixel becomes four: twice beside itself, and each row twice."""
    height, width, channels = x.shape[1:]
    x = layers.Reshape((height, 2 * width, channels))(layers.concatenate([x, x], axis=3))
    return layers.Reshape((2 * height, 2 * width, channels))(layers.concatenate([x, x], axis=2))


inputs = keras.Input(shape=(28, 28, 1))
first = convolutions(inputs, 8)
second = convolutions(layers.MaxPooling2D()(first), 16)
x = convolutions(layers.MaxPooling2D()(second), 32)
x = convolutions(layers.concatenate([second, twice_as_large(x)]), 16)
x = convolutions(layers.concatenate([first, twice_as_large(x)]), 8)
model = keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(x), name="unet")
model.summary()
model.compile(optimizer="adam", loss="binary_crossentropy")
model.fit(noisy, clean, batch_size=128, epochs=options.epochs, validation_data=(noisy_test[:1000], clean_test[:1000]))

found = model.predict(noisy_test[:100], verbose=0)
print(f"squared error: {np.mean((noisy_test[:100] - clean_test[:100]) ** 2):.4f} with the noise, "
      f"{np.mean((found - clean_test[:100]) ** 2):.4f} without")
