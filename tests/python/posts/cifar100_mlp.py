"""The second post: CIFAR-100 by dense layers. Data and epochs are cut."""
from datetime import datetime

import tensorflow as tf
from tensorflow.keras.datasets import cifar100
from tensorflow.keras.layers import Dense, Flatten
from tensorflow.keras.models import Sequential
from tensorflow.keras.optimizers import Adam
from tensorflow.keras.utils import to_categorical

print("Num GPUs Available: ", len(tf.config.list_physical_devices("GPU")))
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)
(x_train, y_train), (x_test, y_test) = cifar100.load_data()
x_train, x_test = x_train.astype("float32") / 255.0, x_test.astype("float32") / 255.0
y_train, y_test = to_categorical(y_train, 100), to_categorical(y_test, 100)
model = Sequential()
model.add(Flatten(input_shape=(32, 32, 3)))
model.add(Dense(512, activation="relu"))
model.add(Dense(256, activation="relu"))
model.add(Dense(100, activation="softmax"))
model.compile(Adam(lr=0.001), "categorical_crossentropy", ["accuracy"])
model.summary()
begin = datetime.now()
history = model.fit(x_train[:96], y_train[:96], 32, 3, 1, validation_data=(x_test, y_test))
print(datetime.now() - begin, model.metrics_names, model.evaluate(x_test, y_test, verbose=0))
assert model.count_params() == 1730404 and 3 < history.history["loss"][0] < 8
assert history.history["loss"][-1] < history.history["loss"][0]
