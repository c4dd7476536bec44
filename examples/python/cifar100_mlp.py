"""CIFAR-100 by three dense layers; the curves of loss and accuracy, if matplotlib is installed."""
import argparse
from datetime import datetime

import cornu as tf
from cornu.keras import datasets, layers, models
from cornu.keras.utils import to_categorical

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--epochs", type=int, default=100)
parser.add_argument("--samples", type=int, default=50000, help="how many of the training images")
parser.add_argument("--chart", default="cifar100_mlp.png")
options = parser.parse_args()

print("GPUs available:", len(tf.config.list_physical_devices("GPU")))
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)

(train_images, train_labels), (test_images, test_labels) = datasets.cifar100.load_data()
train_images, train_labels = train_images[:options.samples] / 255.0, to_categorical(train_labels[:options.samples], 100)
test_images, test_labels = test_images / 255.0, to_categorical(test_labels, 100)

model = models.Sequential()
model.add(layers.Flatten(input_shape=(32, 32, 3)))
model.add(layers.Dense(512, activation="relu"))
model.add(layers.Dense(256, activation="relu"))
model.add(layers.Dense(100, activation="softmax"))
model.summary()
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])

start = datetime.now()
history = model.fit(train_images, train_labels, batch_size=32, epochs=options.epochs)
print("trained in", datetime.now() - start)
loss, accuracy = model.evaluate(test_images, test_labels)
print(f"test loss {loss:.4f}, test accuracy {accuracy:.4f}")

try:
    import matplotlib.pyplot as plt
except ImportError:
    print("matplotlib is not installed: no chart")
else:
    for name, values in history.history.items():
        plt.plot(values, label=name)
    plt.xlabel("epoch")
    plt.legend()
    plt.savefig(options.chart)
