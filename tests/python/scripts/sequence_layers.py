"""Layers of sequences: rows of tables."""
import numpy as np
from keras import Input, Model, Sequential, layers, optimizers

rng = np.random.default_rng(11)
words, y = rng.integers(0, 20, (48, 6)), rng.random((48, 2)).astype("float32")
results = {}


def train(name, model, x):
    model.set_weights([rng.normal(0, 0.4, w.shape) for w in model.get_weights()])
    for optimizer in optimizers.SGD(0.05), optimizers.SGD(0.05, momentum=0.9):
        model.compile(optimizer, "mse")
        history = model.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=0)
        results[f"{name}, momentum {optimizer.momentum}"] = history.history["loss"]
    results[name] = {"outputs": model.predict(x, verbose=0), "weights": [w.shape for w in model.weights], "parameters": model.count_params()}


train("words", Sequential([Input((6,)), layers.Embedding(20, 5), layers.GlobalAveragePooling1D(), layers.Dense(2)]), words)
train("bytes", Sequential([Input((6,)), layers.Embedding(20, 4, input_length=6), layers.Flatten(), layers.Dense(2)]), words.astype("uint8"))
table = layers.Embedding(20, 3, embeddings_initializer="uniform")
a, b = Input((6,)), Input((2, 3))
both = layers.Concatenate()([layers.Flatten()(table(a)), layers.Flatten()(table(b))])
train("two readers", Model([a, b], layers.Dense(2)(both)), [words, (words - 20).reshape(48, 2, 3)])
