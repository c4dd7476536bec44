"""A learning-rate finder: the rate rises at every batch, by assign; then training at a tenth of the best."""
import numpy as np
import keras
from keras import layers

rng = np.random.default_rng(42)
x = rng.normal(0, 1, (96, 8)).astype("float32")
y = np.argmax(x @ rng.normal(0, 1, (8, 3)), axis=1)


class Finder(keras.callbacks.Callback):
    def __init__(self, low, high, steps):
        super().__init__()
        self.low, self.factor = low, (high / low) ** (1 / steps)
        self.rates, self.losses, self.best = [], [], np.inf

    def on_train_begin(self, logs=None):
        self.start = self.model.get_weights()
        self.model.optimizer.learning_rate.assign(self.low)

    def on_train_batch_end(self, batch, logs=None):
        rate, loss = self.model.optimizer.learning_rate, logs["loss"]
        self.rates.append(rate.numpy())
        self.losses.append(loss)
        self.best = min(self.best, loss)
        if loss > 4 * self.best:
            self.model.stop_training = True
        rate.assign(rate * self.factor)

    def on_train_end(self, logs=None):
        self.model.set_weights(self.start)


model = keras.Sequential([keras.Input((8,)), layers.Dense(12, activation="tanh"), layers.Dense(3, activation="softmax")])
model.set_weights([rng.normal(0, 0.5, w.shape) for w in model.get_weights()])
model.compile(keras.optimizers.SGD(momentum=0.5), "sparse_categorical_crossentropy", metrics=["accuracy"])
finder = Finder(1e-3, 5.0, 36)
model.fit(x, y, batch_size=16, epochs=6, shuffle=False, verbose=0, callbacks=[finder])
rate = model.optimizer.learning_rate
found = {"rates": finder.rates, "losses": finder.losses, "last": float(rate)}

rate.assign(finder.rates[int(np.argmin(finder.losses))] / 10)
found["chosen"] = rate.numpy()
rate.assign_add(0.25)
rate.assign_sub(0.125)
found["moved"], found["shape"], found["kind"], found["name"] = float(rate.value), list(rate.shape), rate.dtype, rate.name
found["compared"] = [bool(rate > 0.1), bool(rate <= 0.1), bool(0.05 < rate), bool(rate == float(rate))]
found["reckoned"] = [float(value) for value in (rate + 1, 1 - rate, rate / 2, 2 / rate, rate**2, -rate, np.sqrt(rate))]
history = model.fit(x, y, batch_size=16, epochs=3, shuffle=False, verbose=0)
model.optimizer.learning_rate = 0.03125
found["set"] = [float(rate), float(model.optimizer.learning_rate), model.optimizer.get_config()["learning_rate"]]

results = {"found": found, "history": history.history, "weights": model.get_weights()}
