"""Losses of what targets and outputs share: of a whole batch, or along axes."""
import keras
import numpy as np
from keras import layers, losses

rng = np.random.default_rng(51)
x = rng.normal(0, 1, (20, 4, 4, 2)).astype("float32")
masks = rng.integers(0, 2, (20, 4, 4, 3)).astype("float32")
weights, found = rng.random(20).astype("float32"), rng.random(masks.shape).astype("float32")
results = {}
cases = {"dice": losses.Dice(), "name": "dice", "along": losses.Dice(axis=(1, 2, 3)), "last": losses.Dice("sum", axis=-1),
         "tversky": losses.Tversky(), "weights": losses.Tversky(0.3, 0.7, axis=[1, 2]), "function": losses.tversky}
for name, loss in cases.items():
    model = keras.Sequential([keras.Input((4, 4, 2)), layers.Conv2D(3, 3, padding="same", activation="sigmoid")])
    model.set_weights([rng.normal(0, 0.4, w.shape) for w in model.get_weights()])
    model.compile(keras.optimizers.SGD(0.2), loss, metrics=["mae"])
    history = model.fit(x, masks, batch_size=8, epochs=2, shuffle=False, validation_split=0.25, verbose=0).history
    results[name] = {"history": history, "weights": model.get_weights(),
                     "evaluate": model.evaluate(x, masks, batch_size=7, verbose=0, return_dict=True)}
    if name in ("dice", "along"):
        results[name]["weighted"] = model.evaluate(x, masks, sample_weight=weights, batch_size=20, verbose=0)
for name in ("dice", "tversky"):
    function = getattr(losses, name)
    results[f"{name} of arrays"] = [np.asarray(function(masks, found, axis=axis)) for axis in (None, -1, (1, 2))]
    again = losses.deserialize(losses.serialize(losses.get(name)))
    results[f"{name} as an object"] = float(again(masks, found))
results["config"] = str(sorted((key, value) for key, value in losses.Tversky(0.25, axis=(1, 2)).get_config().items() if key not in ("dtype", "name")))
model = keras.Sequential([keras.Input((3,)), layers.Dense(2, activation="sigmoid")])
model.set_weights([rng.normal(0, 0.4, w.shape) for w in model.get_weights()])
model.compile("sgd", losses.Dice(axis=(1,)))
model.save("model.keras")
model = keras.models.load_model("model.keras")
results["from a file"] = model.evaluate(x[:, 0, 0, :1].repeat(3, 1), masks[:, 0, 0, :2], verbose=0)
