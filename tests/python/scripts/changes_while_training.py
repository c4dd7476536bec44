"""Callbacks that read and write the model: its weights, its learning rate, a file, an evaluation."""
import numpy as np
import keras

rng = np.random.default_rng(18)
x, y = rng.random((64, 6), np.float32), rng.random((64, 2), np.float32)
norms, scores = [], []


class Watch(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            self.model.optimizer.learning_rate = 0.01
        if epoch == 3:
            self.model.layers[0].set_weights([w * 0.5 for w in self.model.layers[0].get_weights()])

    def on_epoch_end(self, epoch, logs=None):
        norms.append(float(np.linalg.norm(self.model.layers[0].get_weights()[0])))
        scores.append(self.model.evaluate(x, y, verbose=0))
        self.model.save("now.keras")


model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(5, "tanh"), keras.layers.Dense(2)])
model.set_weights([rng.normal(0, 0.5, w.shape) for w in model.get_weights()])
model.compile(keras.optimizers.SGD(0.2, momentum=0.9), "mse")
history = model.fit(x, y, epochs=5, batch_size=16, shuffle=False, verbose=0, callbacks=[Watch()])

results = {"history": history.history, "norms": norms, "scores": scores, "weights": model.get_weights(),
           "saved": keras.models.load_model("now.keras").predict(x, verbose=0)}
