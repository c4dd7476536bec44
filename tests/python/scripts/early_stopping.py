"""EarlyStopping by the loss, by val_loss, upwards and with a baseline."""
import numpy as np
import keras
from keras import layers
from keras.callbacks import EarlyStopping

rng = np.random.default_rng(12)
x = rng.random((128, 10), np.float32)
y = (x @ rng.random((10, 2)) + 0.1).astype("float32")
first = [rng.normal(0, 0.1, shape) for shape in ((10, 8), (8,), (8, 2), (2,))]


def trained(rate, momentum, callback, **kwargs):
    model = keras.Sequential([keras.Input((10,)), layers.Dense(8, activation="relu"), layers.Dense(2)])
    model.set_weights(first)
    model.compile(optimizer=keras.optimizers.SGD(rate, momentum=momentum), loss="mse")
    history = model.fit(x, y, batch_size=32, epochs=14, shuffle=False, verbose=0, callbacks=[callback], **kwargs)
    return {"history": history.history, "epochs": len(history.epoch), "weights": model.get_weights()}


results = {
    "stopped": trained(0.1, 0.0, EarlyStopping(monitor="loss", min_delta=0.01, patience=2, restore_best_weights=True)),
    "validated": trained(0.1, 0.0, EarlyStopping(patience=3), validation_split=0.25),
    "upwards": trained(0.3, 0.9, EarlyStopping("loss", patience=4, mode="max")),
    "from a baseline": trained(0.3, 0.9, EarlyStopping("loss", patience=2, baseline=1e-3, start_from_epoch=3,
                                                       restore_best_weights=True)),
}
