"""The first post, as its readers type it: CIFAR-10 by dense layers on the GPU and on the CPU. Data and epochs are cut."""
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras

print(tf.__version__, tf.config.experimental.list_physical_devices(), tf.test.is_built_with_cuda())
(X_train, y_train), (X_test, y_test) = keras.datasets.cifar10.load_data()
print(X_train.shape, y_train.shape)
classes = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
print(classes[y_train[3][0]])
X_train_scaled = X_train[:96] / 255
X_test_scaled = X_test / 255
y_train_categorical = keras.utils.to_categorical(y_train[:96], num_classes=10, dtype="float32")
y_test_categorical = keras.utils.to_categorical(y_test, num_classes=10, dtype="float32")
assert y_train_categorical.dtype == np.float32


def get_model():
    model = keras.Sequential([
        keras.layers.Flatten(input_shape=(32, 32, 3)),
        keras.layers.Dense(3000, activation="relu"),
        keras.layers.Dense(1000, activation="relu"),
        keras.layers.Dense(10, activation="sigmoid"),
    ])
    model.compile(optimizer="SGD", loss="categorical_crossentropy", metrics=["accuracy"])
    return model


for device in ["/GPU:0", "/CPU:0"]:
    begin = time.time()
    try:
        with tf.device(device):
            model = get_model()
            history = model.fit(X_train_scaled, y_train_categorical, epochs=2)
    except RuntimeError as error:
        print("left out:", error)
    print(device, time.time() - begin)
losses = history.history["loss"]
assert model.count_params() == 12230010 and 2.2 < losses[0] < 2.6 and losses[1] < losses[0]
print(model.evaluate(X_test_scaled, y_test_categorical))
print(classes[np.argmax(model.predict(np.array([X_test_scaled[0]])))], classes[y_test[0][0]])
