"""Callbacks by hand, around a loop of one's own."""
import keras
import numpy as np

rng = np.random.default_rng(32)
x, y = rng.random((30, 4), np.float32), rng.random((30, 1), np.float32)
seen = []


class Watch(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        seen.append(f"train of {self.params['epochs']} epochs")

    def on_epoch_end(self, epoch, logs=None):
        seen.append(f"epoch {epoch}")

    def on_train_batch_end(self, batch, logs=None):
        seen.append(f"batch {batch}")


model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, kernel_initializer="ones")])
model.compile("sgd", "mse")
callbacks = keras.callbacks.CallbackList([Watch(), keras.callbacks.ProgbarLogger()], add_history=True, model=model,
                                         epochs=2, steps=3, verbose=0)
callbacks.on_train_begin()
for epoch in range(2):
    callbacks.on_epoch_begin(epoch)
    model.reset_metrics()
    for batch in range(3):
        callbacks.on_train_batch_begin(batch)
        logs = model.train_on_batch(x[batch * 10:batch * 10 + 10], y[batch * 10:batch * 10 + 10], return_dict=True)
        callbacks.on_train_batch_end(batch, logs)
    callbacks.on_epoch_end(epoch, {"loss": float(logs["loss"])})
callbacks.on_train_end()

results = {"seen": seen, "history": model.history.history, "weights": model.get_weights()}
