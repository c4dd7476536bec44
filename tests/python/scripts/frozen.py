"""Layers that are not trained: transfer learning and fine tuning, with the rule that the next compile counts."""
import keras
import numpy as np
from keras import layers

rng = np.random.default_rng(44)
x, y = rng.random((32, 8, 8, 2), np.float32), rng.integers(0, 3, 32)

base = keras.Sequential([
    keras.Input(shape=(8, 8, 2)),
    layers.Conv2D(4, 3, activation="relu", name="features"),
    layers.BatchNormalization(momentum=0.8, name="norm"),
    layers.MaxPooling2D(),
    layers.Flatten(),
], name="base")
base.trainable = False
model = keras.Sequential([*base.layers, layers.Dense(5, activation="tanh", name="hidden"),
                          layers.BatchNormalization(name="frozen_norm", trainable=False),
                          layers.Dense(3, activation="softmax", name="head")])
model.build((None, 8, 8, 2))
model.set_weights([np.abs(rng.normal(0, 0.3, w.shape)) + 0.05 for w in model.get_weights()])
results = {"flags": [layer.trainable for layer in model.layers],
           "counts": [len(model.trainable_weights), len(model.non_trainable_weights), len(base.trainable_variables),
                      len(base.layers[1].trainable_weights), len(base.layers[1].non_trainable_weights)],
           "config": [model.get_layer("features").get_config()["trainable"], base.get_config()["trainable"]]}


def train(step):
    history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    results[f"{step} loss"], results[f"{step} weights"] = history.history["loss"], model.get_weights()


def compile(optimizer):
    model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy")


compile(keras.optimizers.Adam(0.01, epsilon=1e-3))
train("head alone")
model.get_layer("features").trainable = model.get_layer("norm").trainable = True
model.get_layer("head").trainable = False
train("as it was compiled")
compile(keras.optimizers.SGD(0.02, momentum=0.9, weight_decay=0.01))
model.get_layer("hidden").trainable = False  # before the first step this counts, too
train("fine tuning")
copy = keras.models.clone_model(model)
results["copy"] = [layer.trainable for layer in copy.layers]
model.trainable = False
results["none"] = [len(model.trainable_weights), len(model.non_trainable_weights), [l.trainable for l in model.layers]]
