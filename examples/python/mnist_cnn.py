"""MNIST's digits by two convolutions, or by two pairs of them: batches of 50, 20,000 steps."""
import argparse

import numpy as np

import cornu as tf
from cornu.keras.datasets import mnist
from cornu.keras.layers import Conv2D, Dense, Dropout, Flatten, MaxPooling2D
from cornu.keras.models import Sequential

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--convolutions", type=int, choices=(2, 4), default=2)
parser.add_argument("--epochs", type=int, default=17)
parser.add_argument("--samples", type=int, default=60000, help="how many of the training images")
options = parser.parse_args()

print(tf.sysconfig.get_build_info())
print("GPU:", tf.test.gpu_device_name() or "none")

(x_train, y_train), (x_test, y_test) = mnist.load_data()
x_train, y_train = x_train[:options.samples], y_train[:options.samples]
x_train = x_train.reshape(-1, 28, 28, 1).astype("float32") / 255
x_test = x_test.reshape(-1, 28, 28, 1).astype("float32") / 255

model = Sequential()
if options.convolutions == 2:
    model.add(Conv2D(32, (5, 5), padding="same", activation="relu", input_shape=(28, 28, 1)))
    model.add(MaxPooling2D(pool_size=(2, 2)))
    model.add(Conv2D(64, (5, 5), padding="same", activation="relu"))
else:
    model.add(Conv2D(32, (3, 3), padding="same", activation="relu", input_shape=(28, 28, 1)))
    model.add(Conv2D(32, (3, 3), padding="same", activation="relu"))
    model.add(MaxPooling2D(pool_size=(2, 2)))
    model.add(Conv2D(64, (3, 3), padding="same", activation="relu"))
    model.add(Conv2D(64, (3, 3), padding="same", activation="relu"))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Flatten())
model.add(Dense(1024, activation="relu"))
model.add(Dropout(0.5))
model.add(Dense(10, activation="softmax"))
model.summary()
model.compile(loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"])

model.fit(x_train, y_train, batch_size=50, epochs=options.epochs, verbose=1, validation_split=0.1)
score = model.evaluate(x_test, y_test, verbose=0)
print("Test loss:", score[0])
print("Test accuracy:", score[1])
digits = np.argmax(model.predict(x_test[:12], verbose=0), axis=-1)
print("Read:", digits, "written:", y_test[:12])
