"""Outputs without a loss: they are computed, and nothing is trained for them; metrics of them, and targets left out."""
import keras
import numpy as np
from keras import layers

rng = np.random.default_rng(31)
x, price, kind = rng.normal(size=(24, 5)), rng.normal(size=(24, 2)), rng.integers(0, 3, 24)


def make(named=False, **options):
    rng = np.random.default_rng(32)
    pixels = keras.Input((5,), name="pixels")
    stem = layers.Dense(6, activation="tanh", name="stem")(pixels)
    spread = layers.BatchNormalization(name="spread")(layers.Dense(2, use_bias=False, name="wide")(stem))
    kind = layers.Dense(3, activation="softmax", name="kind")(stem)
    outputs = {"price": layers.Dense(2, name="price")(stem), "kind": kind, "spread": spread}
    model = keras.Model(pixels, outputs if named else list(outputs.values()))
    model.set_weights([rng.normal(size=w.shape) ** 2 for w in model.get_weights()])
    model.compile(keras.optimizers.AdamW(0.05, weight_decay=0.1, global_clipnorm=0.5), **options)
    return model


def trained(model, y, **options):
    return dict(sorted(model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0, **options).history.items()))


one = make(loss=["mse", None, None])
results = {"one": trained(one, [price, kind, price]), "one/weights": one.get_weights(),
           "one/evaluate": one.evaluate(x, price, verbose=0), "one/predict": one.predict(x, verbose=0)[2],
           "one/left out": one.train_on_batch(x, [price]),
           "one/none": one.test_on_batch(x, [price, None, None])}
two = make(loss={"price": "mse", "kind": None, "spread": "mae"}, loss_weights={"price": 0.5, "kind": None, "spread": 2.0},
           metrics={"kind": ["sparse_categorical_accuracy"], "spread": ["mse"]})
results |= {"two": trained(two, [price, kind, price], validation_split=1 / 3), "two/weights": two.get_weights(),
            "two/evaluate": two.evaluate(x, [price, kind, price], verbose=0)}
weights = [np.linspace(0, 2, 24), np.linspace(1, 3, 24), np.linspace(2, -1, 24)]
results["two/sample_weight"] = trained(two, [price, kind, price], sample_weight=weights)
results["one/sample_weight"] = one.evaluate(x, [price, None, None], sample_weight=[weights[0], None, None], verbose=0)
two.save("two.keras")
opened = keras.models.load_model("two.keras")
results["opened"] = trained(opened, [price, kind, price])
named = make(True, loss={"spread": "mse"}, metrics={"kind": ["sparse_categorical_accuracy"]})
results |= {"named": trained(named, {"spread": price, "kind": kind, "price": None}), "named/weights": named.get_weights()}
