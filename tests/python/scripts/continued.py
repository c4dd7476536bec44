"""fit again and again: epochs go on, optimizers keep their state, compile begins anew."""
import numpy as np
import keras

rng = np.random.default_rng(24)
x, y = rng.random((64, 5), np.float32), rng.random((64, 1), np.float32)

model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1, kernel_initializer="ones")])
model.compile(optimizer=keras.optimizers.Adam(0.05), loss="mae")
first = model.fit(x, y, epochs=2, shuffle=False, verbose=0)
second = model.fit(x, y, initial_epoch=2, epochs=5, shuffle=False, verbose=0)
model.optimizer.learning_rate = 0.001
slow = model.fit(x, y, epochs=2, shuffle=False, verbose=0)
model.compile(optimizer="sgd", loss="mse")
other = model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0)

results = {"first": first.history, "second": second.history, "epochs": [first.epoch, second.epoch],
           "slow": slow.history, "other": other.history, "weights": model.get_weights(), "last": model.history.history}
