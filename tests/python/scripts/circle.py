"""Circle loss: embeddings that are compared with all others of their batch."""
import keras
import numpy as np
from keras import layers, losses

rng = np.random.default_rng(83)
x, y = rng.normal(0, 1, (29, 5)).astype("float32"), rng.integers(0, 9, 29)
kinds = {
    "usual": (losses.Circle(), {}),
    "name": ("circle", {}),
    "options": (losses.Circle(gamma=4.0, margin=0.25, remove_diagonal=False), {}),
    "sum": (losses.Circle(gamma=3.0, reduction="sum"), {}),
    "weights": (losses.Circle(gamma=5.0), {"sample_weight": rng.uniform(0.5, 2, 29)}),
    "column": (losses.Circle(gamma=2.0, margin=0.1), {}),
}
results = {}
for name, (loss, options) in kinds.items():
    model = keras.Sequential([keras.Input((5,)), layers.Dense(7, "tanh"), layers.Dense(4), layers.UnitNormalization()])
    model.set_weights([rng.normal(0, 0.4, w.shape) for w in model.get_weights()])
    model.compile(keras.optimizers.SGD(0.01), loss)
    labels = y[:, None] if name == "column" else y
    history = model.fit(x, labels, batch_size=8, epochs=2, shuffle=False, verbose=0, **options).history
    model.save(f"{name}.keras")
    model.save(f"{name}.h5")
    results[name] = {"history": history, "weights": model.get_weights(), "evaluate": model.evaluate(x, labels, batch_size=9, verbose=0),
                     "again": keras.models.load_model(f"{name}.keras").evaluate(x, labels, batch_size=29, verbose=0),
                     "h5": keras.models.load_model(f"{name}.h5").evaluate(x, labels, batch_size=29, verbose=0),
                     "alone": [model.train_on_batch(x[:1], labels[:1]), model.test_on_batch(x[3:5], np.array([4, 4]))]}
a, b = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (rng.normal(0, 1, (6, 3)).astype("float32"), rng.normal(0, 1, (4, 3)).astype("float32")))
y = np.array([0, 0, 1, 1, 1, 2])
results["function"] = {"plain": losses.circle(y, a), "reference": losses.circle(y, a, np.array([0, 1, 1, 2]), b, remove_diagonal=False, gamma=3, margin=0.3),
                       "object": [float(losses.Circle(gamma=3.0, reduction=r)(y, a, w)) for r in ("sum_over_batch_size", "sum", "mean_with_sample_weight")
                                  for w in (None, np.arange(6.0, dtype="float32"))], "each": losses.Circle(reduction=None)(y, a)}
config = losses.Circle(gamma=2.0).get_config()
results["configuration"] = [config[key] for key in ("gamma", "margin", "remove_diagonal", "reduction")]
