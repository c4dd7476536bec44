"""Averages of weights, gradients of several steps, and what an optimizer tells of itself."""
import numpy as np
import keras
from keras import layers, optimizers

rng = np.random.default_rng(11)
x = rng.normal(0, 1, (50, 6)).astype("float32")
y = (x @ rng.normal(0, 1, (6, 2)) + 0.5).astype("float32")
first = [rng.normal(0, 0.4, shape) for shape in ((6, 5), (5,), (5, 2), (2,))]


def model_of(optimizer):
    model = keras.Sequential([keras.Input((6,)), layers.Dense(5, activation="tanh", name="hidden"), layers.Dense(2, name="out")],
                             name="net")
    model.set_weights(first)
    model.compile(optimizer=optimizer, loss="mse")
    return model


class Seen(keras.callbacks.Callback):
    """What a callback sees of the weights at an epoch's end."""

    def __init__(self):
        super().__init__()
        self.weights = []

    def on_epoch_end(self, epoch, logs=None):
        self.weights.append(self.model.get_weights()[0])


results = {}
cases = {
    "average": (optimizers.SGD(0.1, use_ema=True, ema_momentum=0.8), []),
    "overwritten": (optimizers.Adam(0.03, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=3), []),
    "swapped": (optimizers.RMSprop(0.01, use_ema=True, ema_momentum=0.9), [keras.callbacks.SwapEMAWeights()]),
    "swapped at epochs": (optimizers.SGD(0.1, 0.5, use_ema=True, ema_momentum=0.7),
                          [keras.callbacks.SwapEMAWeights(swap_on_epoch=True)]),
    "accumulated": (optimizers.Adam(0.03, gradient_accumulation_steps=3, weight_decay=0.02), []),
    "all": (optimizers.Nadam(0.03, gradient_accumulation_steps=2, clipnorm=0.4, use_ema=True, ema_momentum=0.6), []),
}
for name, (optimizer, callbacks) in cases.items():
    model, seen = model_of(optimizer), Seen()
    history = model.fit(x, y, batch_size=8, epochs=3, shuffle=False, validation_data=(x[:16], y[:16]), verbose=0,
                        callbacks=[*callbacks, seen])
    results[name] = {**history.history, "weights": model.get_weights(), "seen": seen.weights,
                     "iterations": int(optimizer.iterations), "variables": [list(v.shape) for v in optimizer.variables],
                     "kept": [np.array(v) for v in optimizer.variables[1:]]}

# weights that do not decay
for name, chosen in {"names": {"var_names": ["bias", "ou."]}, "variables": {"var_list": 0}, "both": {"var_list": 2, "var_names": ["^net/hid"]},
                     "none": {"var_names": ["nothing"]}}.items():
    optimizer = optimizers.AdamW(0.01, weight_decay=0.5)
    model = keras.Sequential([keras.Input((6,)), layers.Dense(5, activation="tanh", name="hidden"), layers.Dense(2, name="out")],
                             name="net")
    model.set_weights([np.full_like(w, 0.5) for w in first])
    if "var_list" in chosen:
        chosen["var_list"] = model.weights[:1 + chosen["var_list"]]
    optimizer.exclude_from_weight_decay(**chosen)
    model.compile(optimizer, "mse")
    model.fit(x, y, batch_size=25, epochs=2, shuffle=False, verbose=0)
    results[f"without decay: {name}"] = model.get_weights()

# batch by batch, nothing is swapped at the end but by hand
optimizer = optimizers.SGD(0.1, use_ema=True, ema_momentum=0.8)
model = model_of(optimizer)
for _ in range(3):
    model.train_on_batch(x[:16], y[:16])
results["by hand"] = {"before": model.get_weights()}
model.evaluate(x, y, verbose=0, callbacks=[keras.callbacks.SwapEMAWeights()])
results["by hand"]["same"] = model.get_weights()
optimizer.finalize_variable_values(model.trainable_variables)
results["by hand"]["after"] = model.get_weights()
results["by hand"]["predicted"] = model.predict(x[:4], verbose=0, callbacks=[keras.callbacks.SwapEMAWeights()])

# configurations
for optimizer in (optimizers.Adam(0.25, use_ema=True), optimizers.SGD(0.5, gradient_accumulation_steps=4, ema_overwrite_frequency=2),
                  optimizers.get({"class_name": "RMSprop", "config": {"learning_rate": 0.125, "rho": 0.5}}), optimizers.get("Lion")):
    config = optimizer.get_config()
    again = type(optimizer).from_config(config)
    kept = optimizers.deserialize(optimizers.serialize(optimizer))
    results[f"configuration of {type(optimizer).__name__}"] = {
        **{key: value for key, value in sorted(config.items()) if key != "name"},
        "same": [{**other.get_config(), "name": 0} == {**config, "name": 0} for other in (again, kept)],
        "serialized": [value for key, value in sorted(optimizers.serialize(optimizer).items()) if key != "config"]}
for wrong in ({"gradient_accumulation_steps": 1}, {"use_ema": True, "ema_momentum": 1.5},
              {"use_ema": True, "ema_overwrite_frequency": 1.5}, {"clipnorm": 1.0, "clipvalue": 1.0}):
    try:
        optimizers.SGD(0.1, **wrong)
        results[f"wrong {wrong}"] = "taken"
    except (ValueError, TypeError):
        results[f"wrong {wrong}"] = "refused"

# the rate and the number of steps, as variables
optimizer = optimizers.Adam(0.25)
optimizer.learning_rate.assign(0.125)
results["rate"] = [float(optimizer.learning_rate), optimizer.get_config()["learning_rate"], optimizer.learning_rate.numpy()]
optimizer.learning_rate = 0.5
optimizer.learning_rate.assign(np.float64(0.375))
results["rate"] += [float(optimizer.learning_rate), float(optimizer.learning_rate * 2), optimizer.learning_rate.name]
for wrong in ("x", [1.0, 2.0]):
    try:
        optimizer.learning_rate.assign(wrong)
        results[f"rate {wrong}"] = "taken"
    except (ValueError, TypeError):
        results[f"rate {wrong}"] = "refused"
results["iterations"] = [int(optimizer.iterations), len(optimizer.variables)]
