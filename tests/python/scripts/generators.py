"""Batches from generators and iterators: endless with steps_per_epoch, with weights, for validation and prediction."""
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

rng = np.random.default_rng(20)
x, y = rng.random((60, 5), np.float32), rng.integers(0, 3, 60)


def batches(size, weighted=False):
    while True:
        for begin in range(0, 60, size):
            part = slice(begin, begin + size)
            yield (x[part], y[part], 1 + y[part] / 2) if weighted else (x[part], y[part])


def make():
    model = keras.Sequential([keras.Input((5,)), layers.Dense(3, activation="softmax", kernel_initializer="ones")])
    model.compile(optimizer=keras.optimizers.Adam(0.05), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


model = make()
history = model.fit(batches(16), steps_per_epoch=5, epochs=3, validation_data=(x[:30], y[:30]),
                    verbose=0)
weighted = make().fit(batches(15, weighted=True), steps_per_epoch=4, epochs=2, verbose=0)
once = make().fit(((x[i:i + 12], y[i:i + 12]) for i in range(0, 60, 12)), verbose=0)

results = {"history": history.history, "weighted": weighted.history, "once": once.history,
           "evaluated": model.evaluate(batches(10), steps=3, verbose=0),
           "outputs": model.predict(((x[i:i + 25],) for i in range(0, 60, 25)), verbose=0),
           "weights": model.get_weights()}
