"""ReduceLROnPlateau, and the learning rates that the history shows."""
import numpy as np
import keras
from keras import layers
from keras.callbacks import EarlyStopping, ReduceLROnPlateau

rng = np.random.default_rng(13)
x = rng.random((128, 10), np.float32)
y = (x @ rng.random((10, 2)) + 0.1).astype("float32")
first = [rng.normal(0, 0.1, shape) for shape in ((10, 8), (8,), (8, 2), (2,))]


def trained(*callbacks, **kwargs):
    model = keras.Sequential([keras.Input((10,)), layers.Dense(8, activation="relu"), layers.Dense(2)])
    model.set_weights(first)
    model.compile(optimizer=keras.optimizers.SGD(0.3, momentum=0.9), loss="mse")
    return model.fit(x, y, batch_size=32, epochs=10, shuffle=False, verbose=0, callbacks=callbacks, **kwargs).history


results = {
    "lower and lower": trained(ReduceLROnPlateau("loss", 0.5, 1, min_delta=0.05, cooldown=1, min_lr=0.03)),
    "two": trained(ReduceLROnPlateau("val_loss", patience=2, mode="max"), EarlyStopping("loss", patience=6, mode="max"),
                   validation_split=0.25),
}
