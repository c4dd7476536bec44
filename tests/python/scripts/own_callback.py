"""A callback of one's own: every hook of training, testing and predicting, in order."""
import numpy as np
from tensorflow import keras

rng = np.random.default_rng(16)
x, y = rng.random((24, 5), np.float32), rng.random((24, 1), np.float32)
seen = []


def hook(name, numbered):
    if numbered:
        def on(self, number, logs=None):
            seen.append([name, number, sorted(logs or {})])
    else:
        def on(self, logs=None):
            seen.append([name, sorted(logs or {})])
    return on


class Everything(keras.callbacks.Callback):
    on_train_begin, on_train_end = hook("train begin", False), hook("train end", False)
    on_epoch_begin, on_epoch_end = hook("epoch begin", True), hook("epoch end", True)
    on_train_batch_begin, on_train_batch_end = hook("batch begin", True), hook("batch end", True)
    on_test_begin, on_test_batch_end = hook("test begin", False), hook("test batch end", True)
    on_predict_begin, on_predict_end = hook("predict begin", False), hook("predict end", False)
    on_predict_batch_begin = hook("predict batch begin", True)


class LossHistory(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.losses = []
        self.parameters = dict(self.params)

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(logs["loss"])


model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones", input_dim=5)])
model.compile("sgd", "mse", metrics=[])
losses = LossHistory()
model.fit(x, y, epochs=2, batch_size=8, validation_data=(x[:10], y[:10]), shuffle=False, verbose=0,
          callbacks=[losses, Everything()])
model.evaluate(x, y, batch_size=12, verbose=0, callbacks=[Everything()])
model.predict(x, batch_size=12, verbose=0, callbacks=[Everything()])

results = {"losses": losses.losses, "epochs": losses.parameters["epochs"], "steps": losses.parameters["steps"],
           "seen": [f"{event[0]} {event[1:-1]}" for event in seen],
           "logs": [" ".join(event[-1]) for event in seen if event[0] in ("epoch end", "batch end")]}
