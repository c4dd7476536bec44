"""What data may be: whole numbers, doubles, bytes, columns, parts of arrays."""
import numpy as np
from keras import Input, Sequential, layers

rng = np.random.default_rng(19)
x, y = rng.integers(0, 5, (40, 6)), rng.integers(0, 3, 40)
big = rng.random((80, 12)).astype("float32")
forms = {
    "integers": (x, y), "floats": (x.astype("float32"), y.astype("float32")), "doubles": (x / 3.0, y.astype("int64")),
    "bytes": (x.astype("uint8"), y.astype("uint8")), "columns": (x.astype("int16"), y.reshape(-1, 1)),
    "every second": (big[::2, ::2], y), "upside down": (big[40:, :6][::-1], y[::-1]),
    "Fortran's": (np.asfortranarray(big[:40, :6]), y), "half": (big[:40, :6].astype("float16"), y),
    "booleans": (x > 2, y),
}

results = {}
for name, (samples, targets) in forms.items():
    model = Sequential([Input((6,)), layers.Dense(3, activation="softmax", kernel_initializer="zeros")])
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(samples, targets, batch_size=16, epochs=2, shuffle=False, verbose=0)
    results[name] = {**history.history, "weights": model.get_weights()}
results["outputs"] = model.predict(x, batch_size=7, verbose=0)
results["evaluated"] = model.evaluate(x > 2, y, batch_size=9, verbose=0)
