"""A PyDataset (tf.keras: Sequence) of one's own, with on_epoch_end."""
import math

import keras
import numpy as np

rng = np.random.default_rng(21)
x, y = rng.random((50, 4, 4, 1), np.float32), rng.random((50, 2), np.float32)


class Batches(keras.utils.PyDataset):
    def __init__(self, x, y, batch_size, **kwargs):
        super().__init__(**kwargs)
        self.x, self.y, self.batch_size, self.epochs = x, y, batch_size, 0

    def __len__(self):
        return math.ceil(len(self.x) / self.batch_size)

    def __getitem__(self, number):
        low = number * self.batch_size
        high = min(low + self.batch_size, len(self.x))
        return self.x[low:high], self.y[low:high]

    def on_epoch_end(self):
        self.epochs += 1


model = keras.Sequential([keras.Input((4, 4, 1)), keras.layers.Flatten(),
                          keras.layers.Dense(2, kernel_initializer="ones")])
model.compile(optimizer="sgd", loss="mse", metrics=[])
train = Batches(x, y, 16)
history = model.fit(train, epochs=3, shuffle=False, validation_data=Batches(x[:20], y[:20], 8, workers=2), verbose=0)
few = model.fit(train, epochs=2, steps_per_epoch=2, shuffle=False, verbose=0)

results = {"history": history.history, "few": few.history, "evaluated": model.evaluate(Batches(x, y, 9), verbose=0),
           "outputs": model.predict(Batches(x, y, 32), verbose=0), "weights": model.get_weights()}
