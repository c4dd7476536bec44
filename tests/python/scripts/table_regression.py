"""Regression on a table with Normalization in the model: adapted to an array, to batches, or given."""
import numpy as np
from keras import Sequential, layers

rng = np.random.default_rng(43)
features = rng.normal(0, 1, (96, 4)) * [1, 30, 0.01, 5] + [0, 200, 3, -4]
features = features.astype("float32")
prices = (features @ [3, 0.1, 200, -1] + rng.normal(0, 1, 96)).astype("float32")

normalizer = layers.Normalization(axis=-1)
normalizer.adapt(np.array(features))
model = Sequential([normalizer, layers.Dense(8, activation="relu"), layers.Dense(1)])
model.build((None, 4))
model.set_weights([w if w.shape in ((), (4,)) else rng.normal(0, 0.5, w.shape) for w in model.get_weights()])
model.compile(optimizer="adam", loss="mean_squared_error", metrics=["mae"])
history = model.fit(features, prices, batch_size=16, epochs=3, shuffle=False, validation_split=0.25, verbose=0)

batches = layers.Normalization(axis=None)
batches.adapt([features[:50], features[50:]])
single = layers.Normalization(axis=None, input_shape=[1])
single.adapt(features[:, 1])
given = layers.Normalization(mean=[1.0, 2.0, 3.0, 4.0], variance=[4.0, 0.0, 0.25, 1.0], invert=True)
model.save("table.keras")

results = {"history": history.history, "mean": normalizer.mean.numpy(), "variance": np.asarray(normalizer.variance),
           "normalized": np.asarray(normalizer(features[:3])), "of batches": np.asarray(batches(features[:2])),
           "of one": np.asarray(single(features[:3, 1:2])), "given": np.asarray(given(features[:2])),
           "outputs": model.predict(features[:5], verbose=0), "parameters": model.count_params(),
           "trainable": [w.name for w in model.trainable_weights], "others": [w.name for w in model.non_trainable_weights]}
