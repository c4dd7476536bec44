"""Penalties on rows and columns of weights that are not orthogonal."""
import keras
import numpy as np
from keras import layers, optimizers, regularizers

rng = np.random.default_rng(71)
x, y = rng.normal(0, 1, (26, 4)).astype("float32"), rng.normal(0, 1, (26, 2)).astype("float32")
numbers = rng.integers(0, 6, (26, 3)).astype("float32")
rows, columns = regularizers.OrthogonalRegularizer(0.3), regularizers.orthogonal_regularizer(factor=0.2, mode="columns")
stacks = {
    "rows": (x, [keras.Input((4,)), layers.Dense(3, "tanh", kernel_regularizer=rows)], {}),
    "columns": (x, [keras.Input((4,)), layers.Dense(5, kernel_regularizer=columns, bias_regularizer="l2"), layers.Dense(3, kernel_regularizer=rows)],
                {"clipnorm": 0.2}),
    "name": (x, [keras.Input((4,)), layers.Dense(50, "tanh", kernel_regularizer="orthogonal_regularizer"),
                 layers.Dense(3, kernel_regularizer="l1", trainable=False)], {"global_clipnorm": 0.3, "momentum": 0.9}),
    "table": (numbers, [keras.Input((3,)), layers.Embedding(6, 4, embeddings_regularizer=columns),
                        layers.LSTM(3, kernel_regularizer=rows, recurrent_regularizer={"class_name": "OrthogonalRegularizer", "config": {"factor": 0.1, "mode": "columns"}})],
              {"gradient_accumulation_steps": 2, "weight_decay": 0.01}),
    "frozen": (x, [keras.Input((4,)), layers.Dense(3, kernel_regularizer=rows, trainable=False)], {}),
}
results = {}
for name, (inputs, stack, options) in stacks.items():
    model = keras.Sequential([*stack, layers.Dense(2, kernel_regularizer=columns if name == "rows" else None)])
    model.set_weights([rng.normal(0, 0.4, w.shape) for w in model.get_weights()])
    model.compile(optimizers.SGD(0.1, **options), "mse", metrics=["mae"])
    history = model.fit(inputs, y, batch_size=8, epochs=2, shuffle=False, validation_split=0.2, verbose=0).history
    model.save(f"{name}.keras")
    results[name] = {"history": history, "weights": model.get_weights(), "evaluate": model.evaluate(inputs, y, batch_size=9, verbose=0),
                     "again": keras.models.load_model(f"{name}.keras").evaluate(inputs, y, verbose=0), "batch": model.train_on_batch(inputs[:5], y[:5])}
results["configuration"] = [regularizers.OrthogonalRegularizer().get_config()["mode"], columns.get_config()["mode"],
                            round(columns.get_config()["factor"], 6), type(regularizers.get("OrthogonalRegularizer")).__name__]
matrix = rng.normal(0, 1, (3, 4)).astype("float32")
results["penalty"] = [float(rows(keras.ops.convert_to_tensor(matrix))), float(columns(keras.ops.convert_to_tensor(matrix)))]
for wrong in [lambda: regularizers.OrthogonalRegularizer(mode="both"), lambda: regularizers.OrthogonalRegularizer(-1.0),
              lambda: rows(keras.ops.convert_to_tensor(np.zeros((2, 2, 2), "float32")))]:
    try:
        wrong()
    except ValueError as error:
        results.setdefault("errors", []).append(str(error).splitlines()[0][:40])
