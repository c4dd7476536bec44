"""CIFAR-10 by six convolutions; the first 1,000 test images validate, all evaluate, 20 are predicted."""
import argparse
import time

import cornu as tf
from cornu.keras.datasets import cifar10
from cornu.keras.layers import Conv2D, Dense, Dropout, Flatten, MaxPool2D
from cornu.keras.models import Sequential

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--samples", type=int, default=50000, help="how many of the training images")
parser.add_argument("--chart", default="cifar10_cnn.png")
options = parser.parse_args()

print("tf", tf.__version__, "GPU available:", tf.test.is_gpu_available())

(x_train, y_train), (x_test, y_test) = cifar10.load_data()
x_train, y_train = x_train[:options.samples] / 255.0, y_train[:options.samples]
x_test = x_test / 255.0

model = Sequential([
    Conv2D(32, 3, padding="same", input_shape=(32, 32, 3)),
    Conv2D(32, 3, padding="same"),
    MaxPool2D(2, padding="same"),
    Conv2D(64, 3, padding="same"),
    Conv2D(64, 3, padding="same"),
    MaxPool2D(2, padding="same"),
    Conv2D(128, 3, padding="same"),
    Conv2D(128, 3, padding="same"),
    Flatten(),
    Dropout(0.3),
    Dense(128, activation="relu"),
    Dense(10, activation="softmax"),
])
model.summary()
model.compile(optimizer=tf.keras.optimizers.Adam(), loss="sparse_categorical_crossentropy", metrics=["accuracy"])

start = time.time()
history = model.fit(x_train, y_train, batch_size=100, epochs=options.epochs,
                    validation_data=[x_test[:1000], y_test[:1000]])
print(f"{(time.time() - start) / options.epochs:.1f} s an epoch")
model.evaluate(x_test, y_test)
print("predicted", model.predict(x_test[:20]).argmax(axis=1))
print("in truth ", y_test[:20].flatten())

try:
    import matplotlib.pyplot as plt
except ImportError:
    print("matplotlib is not installed: no chart")
else:
    for name in ("accuracy", "val_accuracy"):
        plt.plot(history.epoch, history.history[name], label=name)
    plt.legend()
    plt.savefig(options.chart)
