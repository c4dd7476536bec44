"""The metrics that are losses, roots and counts: their values after training, evaluation and of one batch."""
import numpy as np
import keras
from keras import layers, losses, metrics

rng = np.random.default_rng(22)
x = rng.random((26, 5), np.float32)
values = rng.normal(0, 1, (26, 3)).astype("float32")
bits = rng.integers(0, 2, (26, 3)).astype("float32")
one_hot = keras.utils.to_categorical(rng.integers(0, 3, 26), 3)
shares = (np.exp(values) / np.exp(values).sum(1, keepdims=True)).astype("float32")
cases = [
    (None, values, "mse", [metrics.RootMeanSquaredError(), "RootMeanSquaredError", metrics.CosineSimilarity(name="angle"),
                           "cosine_similarity", metrics.LogCoshError(), "log_cosh_error", losses.log_cosh]),
    ("tanh", values + 3, "mae", ["mape", "MSLE", metrics.MeanAbsolutePercentageError(),
                                 metrics.MeanSquaredLogarithmicError(), metrics.mean_absolute_percentage_error]),
    ("sigmoid", bits, "binary_crossentropy", [
        metrics.BinaryAccuracy(threshold=0.4), metrics.TruePositives(), metrics.TrueNegatives(0.4),
        metrics.FalsePositives(thresholds=0.6), metrics.FalseNegatives(name="missed"), metrics.Precision(name="right"),
        "Recall", metrics.Precision(thresholds=0.45, class_id=1), metrics.Recall(class_id=2, name="second"),
        metrics.BinaryCrossentropy(label_smoothing=0.1), metrics.Poisson(), "hinge", metrics.Hinge(),
        metrics.SquaredHinge(name="squares")]),
    (None, bits, losses.BinaryCrossentropy(from_logits=True), [metrics.BinaryCrossentropy(from_logits=True)]),
    ("softmax", one_hot, "categorical_crossentropy", [
        metrics.CategoricalHinge(), metrics.KLDivergence(), "kl_divergence", metrics.Precision(0.4, name="sure"),
        metrics.CategoricalCrossentropy(label_smoothing=0.2)]),
    (None, one_hot, losses.CategoricalCrossentropy(from_logits=True), [
        metrics.CategoricalCrossentropy(from_logits=True)]),
]

results = {}
for number, (activation, y, loss, of) in enumerate(cases):
    model = keras.Sequential([keras.Input((5,)), layers.Dense(3, activation=activation)])
    model.set_weights([rng.normal(0, 0.7, w.shape) for w in model.get_weights()])
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss=loss, metrics=of)
    results[f"case {number}"] = {
        "batch": model.test_on_batch(x[:7], y[:7], return_dict=True),
        "history": model.fit(x, y, epochs=2, batch_size=8, shuffle=False, validation_split=0.25, verbose=0).history,
        "evaluate": model.evaluate(x, y, batch_size=8, verbose=0, return_dict=True)}

pixels = keras.Sequential([keras.Input((4, 4, 2)), layers.Conv2D(1, 2, activation="sigmoid")])
pixels.set_weights([rng.normal(0, 0.7, w.shape) for w in pixels.get_weights()])
pixels.compile("sgd", "binary_crossentropy", metrics=[
    metrics.Precision(name="right"), metrics.TruePositives(name="hits"), "RootMeanSquaredError"])
results["places"] = pixels.evaluate(rng.random((9, 4, 4, 2)), rng.integers(0, 2, (9, 3, 3, 1)), batch_size=4, verbose=0,
                                    return_dict=True)
for name, y in (("mean_absolute_percentage_error", values), ("mean_squared_logarithmic_error", values),
                ("log_cosh", values), ("poisson", bits), ("hinge", bits), ("squared_hinge", bits),
                ("categorical_hinge", one_hot), ("kl_divergence", one_hot)):
    results[f"{name} of arrays"] = np.asarray(getattr(metrics, name)(y, shares))

wide = rng.normal(0, 1, (26, 5)).astype("float32")
model = keras.Sequential([keras.Input((5,)), layers.Dense(5)])
model.set_weights([rng.normal(0, 0.7, w.shape) for w in model.get_weights()])
of = [metrics.PearsonCorrelation(), metrics.ConcordanceCorrelation(name="agreement"), "pearson_correlation", metrics.huber, metrics.Accuracy()]
model.compile("sgd", "mse", metrics=of[:4], weighted_metrics=[metrics.ConcordanceCorrelation()])
results["correlations"] = model.fit(x, wide, sample_weight=rng.random(26), epochs=2, batch_size=8, shuffle=False, validation_split=0.25, verbose=0).history
model = keras.Sequential([keras.Input((5,)), layers.Rescaling(1.0)])
model.compile(loss="mse", metrics=[metrics.Accuracy(), "Accuracy", metrics.Accuracy(name="equal")])
results["equal"] = model.evaluate(np.round(x), np.round(0.6 * x), verbose=0, return_dict=True)
for name in ("pearson_correlation", "concordance_correlation", "huber"):
    results[f"{name} of arrays"] = np.asarray(getattr(metrics, name)(wide, x))
for metric in (metrics.Accuracy(), metrics.PearsonCorrelation(), metrics.ConcordanceCorrelation()):
    metric.update_state(*map(np.round if metric.name == "accuracy" else np.asarray, (wide, x)))
    results[f"{metric.name} by itself"] = float(metric.result())
for name in ("binary_focal_crossentropy", "categorical_focal_crossentropy"):
    results[f"{name} of arrays"] = np.asarray(getattr(metrics, name)(one_hot, shares))
