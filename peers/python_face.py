"""cornu.keras beside the installed Keras: the same signatures, and the same script gives the same numbers.

    PYTHONPATH=build/release/python .venv/bin/python peers/python_face.py

Every class that both have: parameters' names, order and defaults; what differs must stand in DIFFERENT, with the
reason. Then each function of SCRIPTS is run with both, from the same weights and without shuffling; numbers must agree
within 1e-4 of their size."""
import inspect
import os
import sys
from operator import attrgetter

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
import keras as real  # noqa: E402
import numpy as np  # noqa: E402

from cornu import keras as ours  # noqa: E402

# "module.Class.parameter" or "module.Class": why it differs.
DIFFERENT = {
    "layers.BatchNormalization.renorm_momentum": "tf.keras 2's, without effect",
    "layers.InputLayer": "Keras's takes **kwargs",
    "layers.AveragePooling2D.pool_size": "Keras wants it said; cornu's is 2, as MaxPooling2D's",
    "layers.AvgPool2D.pool_size": "the same",
    **{f"layers.{pool}.name": "among **kwargs, as of every layer"
       for pool in ("AveragePooling2D", "AvgPool2D", "MaxPooling2D", "MaxPool2D")},
    "losses.Loss": "the base class, of which no object is made",
    "metrics.Metric": "the same",
    **{f"optimizers.{o}.ema_momentum": "without effect, as use_ema is not there"
       for o in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad")},
}
same = differing = 0


def parameters(cls):
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    found = inspect.signature(cls).parameters
    return {n: p.default if n not in ("name", "dtype") else None for n, p in found.items()
            if p.kind not in kinds and n != "self"}


def plain(value):
    return "required" if value is inspect.Parameter.empty else repr(value)


def compare_signatures():
    bad = []
    for module in ("layers", "losses", "metrics", "optimizers", "optimizers.schedules", "initializers", "callbacks"):
        mine_of, theirs_of = attrgetter(module)(ours), attrgetter(module)(real)
        for name in mine_of.__all__:
            mine, theirs = getattr(mine_of, name), getattr(theirs_of, name, None)
            if not inspect.isclass(mine) or not inspect.isclass(theirs) or f"{module}.{name}" in DIFFERENT:
                continue
            a, b = parameters(mine), parameters(theirs)
            a = {k: v for k, v in a.items() if f"{module}.{name}.{k}" not in DIFFERENT}
            b = {k: v for k, v in b.items() if f"{module}.{name}.{k}" not in DIFFERENT}
            if list(a) != list(b):
                bad.append(f"{module}.{name}: cornu takes {list(a)}, Keras {list(b)}")
            bad += [f"{module}.{name}.{k}: cornu's default is {plain(a[k])}, Keras's {plain(b[k])}"
                    for k in a if k in b and plain(a[k]) != plain(b[k]) and a[k] != b[k]]
    for method in ("fit", "evaluate", "predict", "compile", "add", "save"):
        a, b = (list(inspect.signature(getattr(k.Sequential, method)).parameters) for k in (ours, real))
        if [p for p in a if p != "kwargs"] != [p for p in b if p != "kwargs"]:
            bad.append(f"Sequential.{method}: cornu takes {a}, Keras {b}")
    return bad


# ---- scripts ---------------------------------------------------------------------------------------

generator = np.random.default_rng(3)
IMAGES = generator.random((96, 12, 12, 3), np.float32)
LABELS = generator.integers(0, 5, 96)
ROWS = generator.random((128, 20), np.float32)
VALUES = (ROWS @ generator.random((20, 2)) + 0.1).astype(np.float32)


def train(keras, model, x, y, weights, epochs=3, **kwargs):
    """Numbers of a whole run: history, evaluation, predictions, weights."""
    model.build((None, *x.shape[1:]))
    model.set_weights(weights(model))
    history = model.fit(x, y, epochs=epochs, batch_size=32, shuffle=False, verbose=0, **kwargs).history
    scores = model.evaluate(x, y, verbose=0, return_dict=True)
    return {**{f"history {k}": v for k, v in history.items()}, **scores, "outputs": model.predict(x, verbose=0),
            "weights": np.concatenate([w.ravel() for w in model.get_weights()])}


def drawn(model):
    """The same weights for both: drawn by shape; moving variances are 1."""
    rng = np.random.default_rng(11)
    out = []
    for variable in model.weights:
        shape = tuple(variable.shape)
        out.append(np.abs(rng.normal(0, 0.1, shape)).astype(np.float32) + 0.5 if "variance" in variable.path
                   else rng.normal(0, 0.1, shape).astype(np.float32))
    return out


def dense(keras):
    layers = keras.layers
    model = keras.Sequential([layers.Dense(16, activation="relu"), layers.Dense(8, "tanh"), layers.Dense(2)])
    model.compile(optimizer=keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True), loss="mse", metrics=[])
    return train(keras, model, ROWS, VALUES, drawn)


def convolution(keras):
    layers = keras.layers
    model = keras.models.Sequential()
    model.add(layers.Conv2D(8, (3, 3), padding="same", activation="relu", input_shape=(12, 12, 3)))
    model.add(layers.MaxPool2D((2, 2)))
    model.add(layers.Conv2D(6, 3, strides=2))
    model.add(layers.LeakyReLU(0.1))
    model.add(layers.Flatten())
    model.add(layers.Dense(5, activation="softmax"))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return train(keras, model, IMAGES, LABELS, drawn, validation_data=(IMAGES[:40], LABELS[:40]))


def one_hot(keras):
    layers = keras.layers
    y = keras.utils.to_categorical(LABELS, 5)
    model = keras.Sequential([keras.Input((12, 12, 3)), layers.Rescaling(2.0, -1.0), layers.ZeroPadding2D(1),
                              layers.AveragePooling2D(2), layers.Flatten(), layers.Dense(5)])
    loss = keras.losses.CategoricalCrossentropy(from_logits=True)
    metrics = [keras.metrics.CategoricalAccuracy(), keras.metrics.TopKCategoricalAccuracy(k=2, name="top2")]
    model.compile(optimizer=keras.optimizers.RMSprop(learning_rate=0.002), loss=loss, metrics=metrics)
    return train(keras, model, IMAGES, y, drawn, validation_split=0.25)


def normalized(keras):
    layers = keras.layers
    model = keras.Sequential([layers.Conv2D(6, 3, use_bias=False), layers.BatchNormalization(), layers.ReLU(),
                              layers.GlobalAveragePooling2D(), layers.LayerNormalization(),
                              layers.Dense(5, activation="softmax")])
    model.compile(optimizer=keras.optimizers.AdamW(0.003), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return train(keras, model, IMAGES, LABELS, drawn)


def binary(keras):
    layers = keras.layers
    y = (LABELS > 2).astype("float32")
    model = keras.Sequential([layers.Reshape((432,)), layers.Dense(12, activation="silu"),
                              layers.Dense(6, activation="elu"), layers.Dense(1, activation="sigmoid")])
    model.compile(optimizer=keras.optimizers.Adagrad(0.05), loss="binary_crossentropy", metrics=["accuracy"])
    return train(keras, model, IMAGES, y, drawn)


def scheduled(keras):
    layers = keras.layers
    rate = keras.optimizers.schedules.ExponentialDecay(0.1, decay_steps=4, decay_rate=0.7, staircase=True)
    model = keras.Sequential([layers.Dense(8, activation="gelu"), layers.Dense(2)])
    model.compile(optimizer=keras.optimizers.SGD(learning_rate=rate, clipnorm=0.5), loss="mean_absolute_error")
    return train(keras, model, ROWS, VALUES, drawn, epochs=5)


def stopped(keras):
    layers = keras.layers
    model = keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(2)])
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    callbacks = [keras.callbacks.EarlyStopping("loss", min_delta=0.01, patience=2, restore_best_weights=True)]
    return train(keras, model, ROWS, VALUES, drawn, epochs=30, callbacks=callbacks)


def rates(keras):
    layers = keras.layers
    model = keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(2)])
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    callbacks = [keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * (0.5 if epoch % 2 else 1.0))]
    return train(keras, model, ROWS, VALUES, drawn, epochs=6, callbacks=callbacks)


def batches(keras):
    """What callbacks see."""
    seen = []

    class Watch(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append([batch, logs["loss"]])

        def on_epoch_end(self, epoch, logs=None):
            seen.append([epoch, logs["loss"]])

    layers = keras.layers
    model = keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(2)])
    model.compile(optimizer="sgd", loss="mse")
    return {**train(keras, model, ROWS, VALUES, drawn, callbacks=[Watch()]), "seen": seen}


SCRIPTS = [dense, convolution, one_hot, normalized, binary, scheduled, stopped, rates, batches]


def differences(name, mine, theirs):
    if list(mine) != list(theirs):
        return [f"{name}: cornu gives {list(mine)}, Keras {list(theirs)}"]
    bad = []
    for key in mine:
        a, b = np.asarray(mine[key], np.float64), np.asarray(theirs[key], np.float64)
        if a.shape != b.shape:
            bad.append(f"{name}: {key}: cornu's shape is {a.shape}, Keras's {b.shape}")
            continue
        apart = np.max(np.abs(a - b), initial=0) / max(np.max(np.abs(b), initial=0), 1e-6)
        print(f"{name:12} {key:28} apart by {apart:.1e}")
        if not apart <= 1e-4:
            bad.append(f"{name}: {key}: apart by {apart:.2e} of its size")
    return bad


def main():
    bad = compare_signatures()
    for script in SCRIPTS:
        bad += differences(script.__name__, script(ours), script(real))
    print("\n".join(bad))
    print(f"{len(SCRIPTS)} scripts, {len(bad)} differences")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
