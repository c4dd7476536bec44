"""Layers of a built model: their weights read, written and counted; add and pop."""
import numpy as np
from keras import Input, Sequential, layers

rng = np.random.default_rng(36)
x = rng.random((4, 6), np.float32)

model = Sequential(name="network")
model.add(Input(shape=(6,)))
model.add(layers.Dense(5, activation="relu", name="first"))
model.add(layers.Dense(4, name="second"))
model.add(layers.Dense(3, name="too much"))
model.pop()
model.set_weights([rng.normal(0, 1, w.shape) for w in model.get_weights()])
before = model.predict(x, verbose=0)
kernel, bias = model.get_layer("second").get_weights()
model.get_layer(index=1).set_weights([kernel * 2, bias + 1])
model.layers[0].bias.assign(np.arange(5) / 10)

results = {"before": before, "after": model.predict(x, verbose=0), "kernel": np.asarray(model.layers[1].kernel),
           "bias": model.layers[0].bias.numpy(), "names": [layer.name for layer in model.layers], "name": model.name,
           "counts": [layer.count_params() for layer in model.layers], "dtype": str(model.layers[0].kernel.dtype),
           "trainable": [weight.name for weight in model.trainable_variables]}
