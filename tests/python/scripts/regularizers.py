"""Penalties on weights, as strings, objects, configurations: what the loss is in training and evaluation."""
import numpy as np
import keras
from keras import layers, optimizers, regularizers

rng = np.random.default_rng(47)
x = rng.normal(0, 1, (60, 6, 6, 2)).astype("float32")
y = rng.integers(0, 3, 60)
kinds = ["l1", "l2", regularizers.L1(0.02), regularizers.l1_l2(l1=0.01, l2=0.03), regularizers.L1L2(l2=0.05), None,
         {"class_name": "L2", "config": {"l2": 0.02}}, regularizers.get("l2")]
chosen = [{}, {"momentum": 0.9, "clipnorm": 0.3}, {"global_clipnorm": 0.5}, {"clipvalue": 0.05, "weight_decay": 0.1}]

results = {}
for number, kind in enumerate(kinds):
    model = keras.Sequential([
        keras.Input((6, 6, 2)), layers.Conv2D(4, 3, activation="tanh", kernel_regularizer=kind),
        layers.BatchNormalization(gamma_regularizer=kind), layers.SeparableConv2D(3, 2, depthwise_regularizer=kind, bias_regularizer=kind),
        layers.Flatten(), layers.Dense(4, activation="tanh", kernel_regularizer=kind, trainable=number != 3),
        layers.Dense(3, kernel_regularizer=kind, bias_regularizer=kind)])
    model.set_weights([rng.uniform(0.2, 1, w.shape) if "moving" in w.path or "gamma" in w.path else rng.normal(0, 0.3, w.shape)
                       for w in model.weights])
    model.compile(optimizers.SGD(0.1, **chosen[number % len(chosen)]), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    history = model.fit(x, y, batch_size=16, epochs=2, shuffle=False, validation_split=0.2, verbose=0)
    again = keras.models.clone_model(model)
    config = model.get_config()["layers"][1]["config"]["kernel_regularizer"]
    results[f"case {number}"] = {
        "history": {key: values for key, values in history.history.items() if "loss" in key}, "weights": model.get_weights(),
        "evaluate": model.evaluate(x, y, batch_size=7, verbose=0)[0], "class": config and config["class_name"],
        "kept": again.layers[0].kernel_regularizer is not None, "batch": model.test_on_batch(x[:9], y[:9])[0]}
results["penalty"] = float(regularizers.L1L2(0.5, 0.25)(np.array([[1.0, -2.0], [0.0, 3.0]], "float32")))
results["configuration"] = regularizers.L2(0.25).get_config()
