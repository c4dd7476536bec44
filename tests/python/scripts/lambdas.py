"""LambdaCallback, History, TerminateOnNaN, and training that a callback stops."""
import numpy as np
from tensorflow import keras
from tensorflow.keras.callbacks import Callback, History, LambdaCallback, TerminateOnNaN

rng = np.random.default_rng(17)
x, y = rng.random((40, 4), np.float32), rng.random((40, 1), np.float32)


def make(rate=0.1):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile(keras.optimizers.SGD(rate), loss="mae")
    return model


class Enough(Callback):
    def on_epoch_end(self, epoch, logs=None):
        if logs["loss"] < 1.2:
            self.model.stop_training = True


told = []
printing = LambdaCallback(on_epoch_begin=lambda epoch, logs: told.append(f"begin {epoch}"),
                          on_epoch_end=lambda epoch, logs: told.append(f"end {epoch}"),
                          on_train_end=lambda logs: told.append("done"))
history = History()
stopped = make().fit(x, y, epochs=50, callbacks=[printing, history, Enough()], shuffle=False, verbose=0)

endless = make()
endless.compile(keras.optimizers.SGD(3e38), loss="mse")
batches = []
counting = LambdaCallback(on_train_batch_end=lambda batch, logs: batches.append(batch))
endless.fit(x, y, batch_size=4, epochs=3, callbacks=[TerminateOnNaN(), counting], shuffle=False, verbose=0)

few = LambdaCallback(on_train_batch_end=lambda batch, logs: setattr(cut, "stop_training", batch == 2))
cut = make()
early = cut.fit(x, y, batch_size=8, epochs=4, callbacks=[few], shuffle=False, verbose=0)

results = {"early": early.history, "early epochs": early.epoch, "stopped": stopped.history, "same": history.history, "epochs": stopped.epoch, "told": told,
           "batches until NaN": batches}
