"""Every metric: by name, as an object with a name, and as a function of arrays."""
import numpy as np
import keras
from keras import layers, metrics

rng = np.random.default_rng(9)
x, classes = rng.random((60, 7), np.float32), rng.integers(0, 6, 60)
one_hot = keras.utils.to_categorical(classes)
sparse = ["accuracy", metrics.SparseCategoricalAccuracy(name="right"), "sparse_categorical_accuracy",
          metrics.SparseTopKCategoricalAccuracy(k=2), metrics.SparseTopKCategoricalAccuracy(k=3, name="top3")]
rows = ["acc", metrics.CategoricalAccuracy(), metrics.TopKCategoricalAccuracy(k=2, name="top2"),
        metrics.TopKCategoricalAccuracy()]
cases = {"sparse": (6, "softmax", "sparse_categorical_crossentropy", sparse, classes),
         "rows": (6, "softmax", "categorical_crossentropy", rows, one_hot),
         "binary": (1, "sigmoid", "binary_crossentropy", ["accuracy", metrics.BinaryAccuracy(name="half")],
                    classes > 2)}

results = {}
for name, (units, activation, loss, watched, y) in cases.items():
    model = keras.Sequential([keras.Input((7,)), layers.Dense(units, activation=activation)])
    model.set_weights([rng.normal(0, 1, w.shape) for w in model.get_weights()])
    model.compile(optimizer=keras.optimizers.Adam(0.05), loss=loss, metrics=watched)
    history = model.fit(x, np.asarray(y, "float32"), epochs=3, shuffle=False, validation_split=0.2, verbose=0)
    results[name] = {**history.history, "evaluated": model.evaluate(x, np.asarray(y, "float32"), verbose=0)}

shares = rng.random((60, 6)).astype("float32")
for name, y in (("binary_accuracy", one_hot), ("categorical_accuracy", one_hot),
                ("sparse_categorical_accuracy", classes)):
    results[name] = np.asarray(getattr(metrics, name)(y, shares))
for k in (1, 3, 5):
    results[f"top {k}"] = np.asarray(metrics.top_k_categorical_accuracy(one_hot, shares, k=k))
    results[f"sparse top {k}"] = np.asarray(metrics.sparse_top_k_categorical_accuracy(classes, shares, k=k))
