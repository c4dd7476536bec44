"""Ways to say loss, optimizer and metrics to compile."""
import keras
import numpy as np
from keras import layers, losses, metrics, optimizers

rng = np.random.default_rng(35)
x, y = rng.random((40, 5), np.float32), rng.integers(0, 3, 40)
forms = {
    "strings": dict(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"]),
    "positions": ("adam", "sparse_categorical_crossentropy", None, ["accuracy"]),
    "objects": dict(optimizer=optimizers.Adam(), loss=losses.SparseCategoricalCrossentropy(),
                    metrics=[metrics.SparseCategoricalAccuracy()]),
    "functions": dict(optimizer=optimizers.SGD(0.1), loss=losses.sparse_categorical_crossentropy,
                      metrics=[metrics.sparse_categorical_accuracy]),
    "no metrics": dict(optimizer="sgd", loss="sparse_categorical_crossentropy"),
    "other arguments": dict(loss="sparse_categorical_crossentropy", optimizer="rmsprop", metrics=["acc"],
                            run_eagerly=False, jit_compile=False),
    "configurations": dict(optimizer={"class_name": "SGD", "config": {"learning_rate": 0.5}},
                           loss="sparse_categorical_crossentropy"),
    "twice": dict(optimizer="sgd", loss="sparse_categorical_crossentropy",
                  metrics=["accuracy", "accuracy", metrics.SparseTopKCategoricalAccuracy(2, name="accuracy")]),
    "lists in a list": dict(optimizer="sgd", loss="sparse_categorical_crossentropy",
                            metrics=[["accuracy", "sparse_categorical_crossentropy"]]),
    "the default": dict(loss="sparse_categorical_crossentropy"),
}

results = {}
for name, form in forms.items():
    model = keras.Sequential([layers.Dense(6, activation="relu"), layers.Dense(3, activation="softmax")])
    model.build((None, 5))
    drawn = np.random.default_rng(350)
    model.set_weights([drawn.normal(0, 0.4, w.shape) for w in model.get_weights()])
    if isinstance(form, tuple):
        model.compile(*form)
    else:
        model.compile(**form)
    history = model.fit(x, y, epochs=2, batch_size=10, shuffle=False, verbose=0)
    results[name] = {"history": history.history, "rate": float(model.optimizer.learning_rate)}
    if name in ("strings", "the default"):
        results[name]["evaluated"] = model.evaluate(x, y, verbose=0)
        results[name]["named"] = model.evaluate(x, y, verbose=0, return_dict=True)
