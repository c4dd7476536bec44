"""Constraints on weights, as strings, objects, configurations, and what they make of arrays."""
import numpy as np
import keras
from keras import constraints, layers, optimizers

rng = np.random.default_rng(48)
x = rng.normal(0, 1, (48, 6, 6, 2)).astype("float32")
y = rng.integers(0, 3, 48)
pairs = [("max_norm", constraints.MaxNorm(max_value=0.7, axis=[0, 1, 2])), ("unit_norm", constraints.UnitNorm([0, 1, 2])),
         (constraints.non_neg(), "non_neg"), (constraints.MinMaxNorm(0.3, 0.6, 0.8), constraints.min_max_norm(rate=0.5, axis=(0, 1, 2))),
         ({"class_name": "MaxNorm", "config": {"max_value": 0.5, "axis": 1}}, constraints.UnitNorm(axis=-1))]

results = {}
for number, (dense, conv) in enumerate(pairs):
    model = keras.Sequential([
        keras.Input((6, 6, 2)), layers.Conv2D(4, 3, activation="tanh", kernel_constraint=conv, bias_constraint="max_norm"),
        layers.BatchNormalization(gamma_constraint="non_neg"), layers.Flatten(),
        layers.Dense(53, activation="tanh", kernel_constraint=dense, kernel_regularizer="l2"), layers.Dense(3, kernel_constraint=dense)])
    model.set_weights([rng.uniform(0.2, 1, w.shape) if "moving" in w.path or "gamma" in w.path else rng.normal(0, 0.3, w.shape)
                       for w in model.weights])
    model.compile(optimizers.SGD(0.05, momentum=0.9, clipnorm=None if number % 2 else 1.0),
                  keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = model.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=0)
    results[f"case {number}"] = {"loss": history.history["loss"], "weights": model.get_weights(),
                                 "class": model.get_config()["layers"][1]["config"]["kernel_constraint"]["class_name"]}
w = rng.normal(0, 2, (3, 4)).astype("float32")
for each in ("max_norm", "unit_norm", "non_neg", constraints.MinMaxNorm(1.0, 2.0, 0.5, axis=1)):
    results[f"of an array {type(constraints.get(each)).__name__}"] = np.asarray(constraints.get(each)(w))
