"""Class weights and folds: cross-validation of a rare class, a new model for each fold."""
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

rng = np.random.default_rng(57)
x = rng.normal(0, 1, (90, 6)).astype("float32")
y = (x[:, 0] + 0.5 * x[:, 1] > 1.1).astype("int64")
order = rng.permutation(len(x))
folds = np.array_split(order, 3)
start = [rng.normal(0, 0.4, shape).astype("float32") for shape in ((6, 8), (8,), (8, 1), (1,))]


def balanced(numbers):
    counts = np.bincount(numbers, minlength=2)
    return {number: len(numbers) / (2 * count) for number, count in enumerate(counts)}


def model_of():
    tf.keras.backend.clear_session()
    model = keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="relu"), layers.Dense(1, activation="sigmoid")])
    model.set_weights(start)
    model.compile(keras.optimizers.Adam(0.02), "binary_crossentropy",
                  metrics=["accuracy", keras.metrics.Precision(name="precision"), keras.metrics.Recall(name="recall")])
    return model


results = {"weights": [balanced(y)[0], balanced(y)[1]]}
scores, predicted = [], np.zeros(len(x))
for number, held in enumerate(folds):
    rest = np.concatenate([fold for other, fold in enumerate(folds) if other != number])
    model = model_of()
    history = model.fit(x[rest], y[rest], batch_size=12, epochs=4, shuffle=False, verbose=0, class_weight=balanced(y[rest]),
                        validation_data=(x[held], y[held]))
    results[f"fold {number}"] = history.history
    scores.append(model.evaluate(x[held], y[held], batch_size=30, verbose=0))
    predicted[held] = model.predict(x[held], verbose=0)[:, 0]
results["scores"] = [np.mean(scores, axis=0), np.std(scores, axis=0)]
results["of all folds"] = [float(np.mean((predicted > 0.5) == y)), predicted]

several = keras.Sequential([keras.Input((6,)), layers.Dense(3, activation="softmax")])
several.set_weights([start[0][:, :3], start[1][:3]])
several.compile("sgd", "categorical_crossentropy", metrics=["accuracy"])
shares = keras.utils.to_categorical(rng.integers(0, 3, 90), 3)
results["one-hot"] = several.fit(x, shares, batch_size=20, epochs=2, shuffle=False, verbose=0, class_weight={0: 0.5, 1: 1.0, 2: 3.0}).history
