"""LearningRateScheduler with functions of one and of two arguments."""
import math

import numpy as np
from tensorflow import keras
from tensorflow.keras.callbacks import LearningRateScheduler

rng = np.random.default_rng(14)
x, y = rng.random((64, 6), np.float32), rng.random((64, 3), np.float32)


def scheduler(epoch, lr):
    if epoch < 2:
        return lr
    return lr * math.exp(-0.1)


results = {}
for name, function in (("guide", scheduler), ("steps", lambda epoch, lr: 0.2 * 0.5 ** (epoch // 2))):
    model = keras.Sequential([keras.layers.Dense(3, kernel_initializer="ones", input_shape=(6,))])
    model.compile(keras.optimizers.SGD(learning_rate=0.1), loss="mse")
    history = model.fit(x, y, epochs=6, callbacks=[LearningRateScheduler(function)], shuffle=False, verbose=0)
    results[name] = {"history": history.history, "weights": model.get_weights(),
                     "rate": float(model.optimizer.learning_rate)}
