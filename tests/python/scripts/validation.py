"""Validation data as a tuple, a list, a split; every second epoch; some steps of it; another batch size."""
import numpy as np
import keras
from keras import layers

rng = np.random.default_rng(23)
x, y = rng.random((90, 8), np.float32), rng.integers(0, 2, 90)
test_x, test_y = rng.random((50, 8), np.float32), rng.integers(0, 2, 50)


def history(**kwargs):
    model = keras.Sequential([keras.Input((8,)), layers.Dense(2, activation="softmax", kernel_initializer="ones")])
    model.compile(optimizer="rmsprop", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model.fit(x, y, **{"epochs": 4, "shuffle": False, "verbose": 0, **kwargs}).history


results = {
    "tuple": history(validation_data=(test_x, test_y)),
    "list": history(validation_data=[test_x, test_y]),
    "split": history(validation_split=0.3),
    "every second": history(validation_data=(test_x, test_y), validation_freq=2),
    "chosen epochs": history(validation_data=(test_x, test_y), validation_freq=[1, 4]),
    "batch size": history(validation_data=(test_x, test_y), batch_size=10, validation_batch_size=25),
    "some steps": history(validation_data=(test_x, test_y), batch_size=10, validation_steps=3),
    "fewer steps": history(steps_per_epoch=2, batch_size=10, epochs=3),
    "one epoch": history(epochs=1, batch_size=90),
}
