"""Event files for TensorBoard, which do not change the training."""
import os

import keras
import numpy as np

rng = np.random.default_rng(41)
x, y = rng.random((30, 4), np.float32), rng.random((30, 1), np.float32)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, kernel_initializer="ones")])
model.compile("sgd", "mse")
callback = keras.callbacks.TensorBoard(log_dir="logs", histogram_freq=1, update_freq="batch")
history = model.fit(x, y, epochs=3, batch_size=10, shuffle=False, verbose=0, validation_split=0.2, callbacks=[callback])

results = {"history": history.history, "weights": model.get_weights(), "folders": sorted(os.listdir("logs")),
           "files": [len(os.listdir(f"logs/{run}")) for run in ("train", "validation")],
           "names": [os.listdir(f"logs/{run}")[0].split(".")[:3] for run in ("train", "validation")],
           "options": [callback.log_dir, callback.histogram_freq, callback.write_graph]}
