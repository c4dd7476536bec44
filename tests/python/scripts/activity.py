"""Penalties on what layers give."""
import keras
import numpy as np
from keras import layers, regularizers

rng = np.random.default_rng(61)
x, y = rng.normal(0, 1, (22, 5, 3)).astype("float32"), rng.random((22, 2)).astype("float32")
stacks = {
    "dense": [layers.Flatten(), layers.Dense(4, "relu", activity_regularizer=regularizers.L1(0.02))],
    "both": [layers.Conv1D(4, 2, activation="tanh", activity_regularizer=regularizers.l1_l2(0.01, 0.03), kernel_regularizer="l2"), layers.Flatten()],
    "layer": [layers.Flatten(), layers.ActivityRegularization(l2=0.01), layers.Dense(3), layers.ActivityRegularization(0.05, 0.1)],
    "name": [layers.SeparableConv1D(3, 2, activity_regularizer="l2"), layers.DepthwiseConv1D(2, activity_regularizer="l1"), layers.Flatten()],
    "steps": [layers.LSTM(3, return_sequences=True, activity_regularizer="l2"), layers.TimeDistributed(layers.Dense(4, activity_regularizer="l1")),
              layers.GRU(2, activity_regularizer=regularizers.L1L2(0.02, 0.03))],
    "table": [layers.Discretization([-0.5, 0.5]), layers.Embedding(3, 2, activity_regularizer="l1"), layers.Flatten()],
    "einsum": [layers.EinsumDense("abc,cd->abd", (5, 2), activity_regularizer="l2"), layers.Flatten()],
}
results = {}
for name, stack in stacks.items():
    model = keras.Sequential([keras.Input((5, 3)), *stack, layers.Dense(2, "softmax", activity_regularizer="l1" if name == "both" else None)])
    model.set_weights([rng.normal(0, 0.4, w.shape) for w in model.get_weights()])
    model.compile(keras.optimizers.SGD(0.1), "categorical_crossentropy", metrics=["mae"])
    history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, validation_split=0.2, verbose=0).history
    model.save(f"{name}.keras")
    results[name] = {"history": history, "weights": model.get_weights(), "evaluate": model.evaluate(x, y, batch_size=9, verbose=0),
                     "again": keras.models.load_model(f"{name}.keras").evaluate(x, y, verbose=0), "predict": model.predict(x, verbose=0)}
results["configuration"] = [layers.ActivityRegularization(0.5).get_config()["l1"], stacks["dense"][1].get_config()["activity_regularizer"] is None]
