"""CIFAR-10 by dense layers, on the GPU if there is one and then on the CPU: how long does each take?"""
import argparse
import time

import cornu as tf
from cornu import keras

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--samples", type=int, default=50000, help="how many of the training images")
options = parser.parse_args()

print("version", tf.__version__)
print("devices", tf.config.experimental.list_physical_devices())
print("built with CUDA:", tf.test.is_built_with_cuda())

(X_train, y_train), (X_test, y_test) = tf.keras.datasets.cifar10.load_data()
X_train, y_train = X_train[:options.samples], y_train[:options.samples]
print("images", X_train.shape, "classes", y_train.shape)
classes = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
print("the first is a", classes[y_train[0][0]])

X_train_scaled, X_test_scaled = X_train / 255, X_test / 255
y_train_categorical = keras.utils.to_categorical(y_train, num_classes=10)
y_test_categorical = keras.utils.to_categorical(y_test, num_classes=10)


def get_model():
    model = keras.Sequential([
        keras.layers.Flatten(input_shape=(32, 32, 3)),
        keras.layers.Dense(3000, activation="relu"),
        keras.layers.Dense(1000, activation="relu"),
        keras.layers.Dense(10, activation="sigmoid"),
    ])
    model.compile(optimizer="SGD", loss="categorical_crossentropy", metrics=["accuracy"])
    return model


seconds = {}
for device in ("/GPU:0", "/CPU:0"):
    try:
        with tf.device(device):
            model = get_model()
            begin = time.perf_counter()
            history = model.fit(X_train_scaled, y_train_categorical, epochs=options.epochs)
            seconds[device] = time.perf_counter() - begin
            model.evaluate(X_test_scaled, y_test_categorical)
    except RuntimeError as error:
        print(f"{device} is left out: {error}")

print({device: f"{taken:.1f} s" for device, taken in seconds.items()})
predicted = model.predict(X_test_scaled[:10])
print("predicted", [classes[number] for number in predicted.argmax(axis=1)])
print("in truth ", [classes[number] for number in y_test[:10].flatten()])
