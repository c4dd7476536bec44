"""CategoryEncoding and Discretization, alone and in a model: bins given, or adapted to an array or to batches; a file."""
import numpy as np
from keras import Model, Sequential, layers, models

rng = np.random.default_rng(44)
numbers = rng.normal(0, 2, (90, 3)).astype("float32")
tokens = rng.integers(0, 5, (90, 2))
target = (numbers[:, :1] + tokens[:, :1]).astype("float32")
results = {}
for mode in ("one_hot", "multi_hot", "count", "binary"):
    layer = layers.CategoryEncoding(num_tokens=5, output_mode=mode)
    results[mode] = np.asarray(layer(tokens[:3]))
    results[mode + " of one axis"] = np.asarray(layer([3, 2, 0, 2]))
    results[mode + " mode"] = layer.output_mode
results["one number each"] = np.asarray(layers.CategoryEncoding(5, "one_hot")(tokens[:3, :1]))
for mode in ("int", "one_hot", "multi_hot", "count"):
    layer = layers.Discretization([-1.0, 0.5, 2.0], output_mode=mode)
    results["bins " + mode] = np.asarray(layer(numbers[:3])).astype("float32")
    results["bins of images " + mode] = np.asarray(layer(numbers[:12].reshape(2, 3, 3, 2))).astype("float32")
    results["bins of one axis " + mode] = np.asarray(layer(numbers[:3, 0])).astype("float32")

adapted = {}
for name, bins, epsilon, data in (("array", 4, 0.01, numbers), ("coarse", 6, 0.1, numbers), ("few", 7, 0.01, numbers[:2]),
                                  ("batches", 5, 0.05, [numbers[:40], numbers[40:70], numbers[70:]]), ("ties", 3, 0.01, tokens)):
    layer = adapted[name] = layers.Discretization(num_bins=bins, epsilon=epsilon)
    layer.adapt(data)
    results[name] = layer.bin_boundaries
    results[name + " bins"] = layer.get_config()["num_bins"]
again = layers.Discretization.from_config(adapted["coarse"].get_config())
results["again"] = again.bin_boundaries

later = layers.Discretization(num_bins=4, output_mode="one_hot")  # adapted when the model is there
begin = layers.Input((3,), name="numbers")
words = layers.Input((2,), name="tokens")
x = layers.Concatenate()([layers.Flatten()(later(begin)), layers.CategoryEncoding(5, output_mode="count")(words)])
model = Model([begin, words], layers.Dense(1)(x))
later.adapt(numbers)
results["shape"] = later.output.shape[1:]
model.set_weights([rng.normal(0, 0.5, w.shape) for w in model.get_weights()])
model.compile("sgd", "mse")
history = model.fit([numbers, tokens], target, batch_size=30, epochs=3, shuffle=False, verbose=0)
results["history"] = history.history
outputs = results["outputs"] = model.predict([numbers, tokens], verbose=0)[:8]
model.save("categories.keras")
read = models.load_model("categories.keras")
results["read"] = read.predict([numbers, tokens], verbose=0)[:8]
results["boundaries read"] = [layer.bin_boundaries for layer in read.layers if "discretization" in layer.name][0]
rows = Sequential([layers.Input((3,)), adapted["array"], layers.Embedding(4, 2, embeddings_initializer="ones"), layers.Flatten()])
results["rows"] = rows.predict(numbers[:4], verbose=0)
