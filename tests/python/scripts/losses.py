"""Every loss: by name, as an object and as a function, in training and of arrays."""
import numpy as np
import keras
from keras import layers, losses

rng = np.random.default_rng(8)
x = rng.random((48, 9), np.float32)
classes = rng.integers(0, 4, 48)
one_hot = keras.utils.to_categorical(classes, 4)
values = rng.normal(0, 1, (48, 4)).astype("float32")
cases = [
    ("categorical_crossentropy", "softmax", one_hot), (losses.CategoricalCrossentropy(), "softmax", one_hot),
    (losses.CategoricalCrossentropy(from_logits=True), None, one_hot),
    (losses.categorical_crossentropy, "sigmoid", one_hot), ("sparse_categorical_crossentropy", "softmax", classes),
    (losses.SparseCategoricalCrossentropy(), "softmax", classes),
    (losses.SparseCategoricalCrossentropy(from_logits=True), None, classes),
    ("binary_crossentropy", "sigmoid", one_hot), (losses.BinaryCrossentropy(), "sigmoid", one_hot),
    (losses.BinaryCrossentropy(from_logits=True), None, one_hot),
    ("mse", None, values), ("mean_squared_error", "tanh", values), (losses.MeanSquaredError(), "relu", values),
    ("mae", None, values), (losses.MeanAbsoluteError(), "gelu", values), (losses.mean_absolute_error, "silu", values),
]

results = {}
for number, (loss, activation, y) in enumerate(cases):
    model = keras.Sequential([keras.Input((9,)), layers.Dense(4, activation=activation)])
    model.set_weights([rng.normal(0, 0.5, w.shape) for w in model.get_weights()])
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss=loss)
    history = model.fit(x, y, epochs=2, batch_size=16, shuffle=False, verbose=0)
    results[f"case {number}"] = {"history": history.history, "outputs": np.asarray(model(x))}

shares = (np.exp(values) / np.exp(values).sum(1, keepdims=True)).astype("float32")
for name, y in (("categorical_crossentropy", one_hot), ("sparse_categorical_crossentropy", classes),
                ("binary_crossentropy", one_hot)):
    results[f"{name} of arrays"] = np.asarray(getattr(losses, name)(y, shares))
    results[f"{name} of logits"] = np.asarray(getattr(losses, name)(y, values, from_logits=True))
for name in ("categorical_crossentropy", "binary_crossentropy"):
    results[f"{name}, smoothed"] = np.asarray(getattr(losses, name)(one_hot, shares, label_smoothing=0.2, axis=0))
for name in ("mean_squared_error", "mean_absolute_error"):
    results[f"{name} of arrays"] = np.asarray(getattr(losses, name)(one_hot, values))
