"""The losses besides cross-entropies and errors, their options, reductions and weights, in training and of arrays."""
import numpy as np
import keras
from keras import layers, losses

rng = np.random.default_rng(21)
x = rng.random((24, 6), np.float32)
classes = rng.integers(0, 3, 24)
one_hot = keras.utils.to_categorical(classes, 3)
bits = rng.integers(0, 2, (24, 3)).astype("float32")
values = rng.normal(0, 1, (24, 3)).astype("float32")
shares = (np.exp(values) / np.exp(values).sum(1, keepdims=True)).astype("float32")
cases = [
    ("mape", None, values + 3), (losses.MeanAbsolutePercentageError(), "tanh", values + 3),
    ("MSLE", "sigmoid", np.abs(values)), (losses.MeanSquaredLogarithmicError(), "sigmoid", np.abs(values)),
    ("huber", None, values), (losses.Huber(delta=0.3), "tanh", values), (losses.huber, None, values),
    ("log_cosh", None, values), (losses.LogCosh(), "tanh", values),
    ("cosine_similarity", None, values), (losses.CosineSimilarity(axis=-1), "tanh", values),
    ("poisson", "sigmoid", np.round(np.abs(2 * values))), (losses.Poisson(), "sigmoid", bits),
    ("hinge", "tanh", bits), (losses.Hinge(), None, 2 * bits - 1), ("squared_hinge", "tanh", bits),
    (losses.SquaredHinge(), None, 2 * bits - 1), (losses.CategoricalHinge(), None, one_hot),
    ("kld", "softmax", shares), (losses.KLDivergence(), "sigmoid", shares),
    ("binary_focal_crossentropy", "sigmoid", bits),
    (losses.BinaryFocalCrossentropy(True, 0.4, 1.5, from_logits=True, label_smoothing=0.1), None, bits),
    ("categorical_focal_crossentropy", "softmax", one_hot),
    (losses.CategoricalFocalCrossentropy(0.5, gamma=1.5, from_logits=True), None, one_hot),
    (losses.CategoricalGeneralizedCrossEntropy(0.7), "softmax", classes),
    (losses.CategoricalCrossentropy(label_smoothing=0.1), "softmax", one_hot),
    (losses.BinaryCrossentropy(from_logits=True, label_smoothing=0.2, reduction="mean"), None, bits),
    (losses.MeanSquaredError(reduction="sum"), None, values), (losses.Huber(reduction="sum"), None, values),
]

results = {}
for number, (loss, activation, y) in enumerate(cases):
    model = keras.Sequential([keras.Input((6,)), layers.Dense(3, activation=activation)])
    model.set_weights([rng.normal(0, 0.5, w.shape) for w in model.get_weights()])
    model.compile(optimizer=keras.optimizers.SGD(0.05), loss=loss)
    weights = [{}, {"sample_weight": np.linspace(0.5, 2, 24)}, {"class_weight": {0: 2.0, 1: 0.5, 2: 1.0}}]
    weights = weights[number % (3 if y is one_hot or y is classes else 2)]
    history = model.fit(x, y, epochs=2, batch_size=10, shuffle=False, verbose=0, **weights)
    results[f"case {number}"] = {"history": history.history, "weights": model.get_weights()}

for name, y in (("mean_absolute_percentage_error", values), ("mean_squared_logarithmic_error", values),
                ("huber", values), ("log_cosh", 5 * values), ("cosine_similarity", values), ("poisson", bits),
                ("hinge", bits), ("squared_hinge", 2 * bits - 1), ("categorical_hinge", one_hot),
                ("kl_divergence", one_hot), ("binary_focal_crossentropy", bits),
                ("categorical_focal_crossentropy", one_hot)):
    results[f"{name} of arrays"] = np.asarray(getattr(losses, name)(y, shares))
for name in ("binary_focal_crossentropy", "categorical_focal_crossentropy"):
    results[f"{name} of logits"] = np.asarray(getattr(losses, name)(
        one_hot, values, alpha=0.3, gamma=1.2, from_logits=True, label_smoothing=0.1))
results["balanced"] = np.asarray(losses.binary_focal_crossentropy(bits, shares, apply_class_balancing=True))
results["generalized"] = np.asarray(losses.categorical_generalized_cross_entropy(classes, shares, 0.6))
results["huber of 0.2"] = np.asarray(losses.huber(values, shares, delta=0.2))
results["along the first axis"] = np.asarray(losses.cosine_similarity(values, shares, axis=0))
for reduction in ("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", None, "none"):
    loss = losses.MeanAbsoluteError(reduction=reduction)
    results[f"{reduction} of objects"] = [np.asarray(loss(values, shares)),
                                          np.asarray(loss(values, shares, sample_weight=np.arange(24.0)))]
results["object of one column"] = np.asarray(losses.Huber(0.5)(values[:, 0], shares[:, :1]))
