"""cornu.keras beside the installed Keras: the same signatures, and the same script gives the same numbers.

    PYTHONPATH=build/release/python .venv/bin/python peers/python_face.py

Every class and function that both have: parameters' names, order and defaults; what differs must stand in DIFFERENT,
with the reason. Progress lines must look the same but for their numbers. Then each function of SCRIPTS is run with
both, from the same weights and without shuffling; numbers must agree within 1e-4 of their size."""
import contextlib
import inspect
import io
import os
import re
import sys
import tempfile
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
    "losses.deserialize.name": "cornu's is called config, as those of the other modules",
    "losses.deserialize.config": "the same",
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
    for module in ("activations", "backend", "callbacks", "config", "initializers", "layers", "losses", "metrics",
                   "optimizers", "optimizers.schedules", "saving", "utils"):
        mine_of, theirs_of = attrgetter(module)(ours), attrgetter(module)(real)
        for name in mine_of.__all__:
            mine, theirs = getattr(mine_of, name), getattr(theirs_of, name, None)
            if not callable(mine) or theirs is None or f"{module}.{name}" in DIFFERENT:
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


def watched(keras, callbacks, **kwargs):
    """A run whose loss goes up and down, watched."""
    layers = keras.layers
    model = keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(2)])
    model.compile(optimizer=keras.optimizers.SGD(0.45, momentum=0.9), loss="mse")
    return train(keras, model, ROWS, VALUES, drawn, epochs=12, callbacks=callbacks, **kwargs)


def plateau(keras):
    return watched(keras, [keras.callbacks.ReduceLROnPlateau("loss", 0.5, 1, min_delta=0.05, cooldown=1, min_lr=0.03)])


def upwards(keras):
    return watched(keras, [keras.callbacks.ReduceLROnPlateau("val_loss", patience=2, mode="max"),
                           keras.callbacks.EarlyStopping("loss", patience=6, mode="max")], validation_split=0.25)


def from_a_baseline(keras):
    return watched(keras, [keras.callbacks.EarlyStopping("loss", patience=2, baseline=1e-3, start_from_epoch=3,
                                                         restore_best_weights=True)])


def best(keras):
    """The epochs of which a file is kept, and the table of all."""
    ending = "keras" if keras is real else "safetensors"
    with tempfile.TemporaryDirectory() as folder:
        kept = keras.callbacks.ModelCheckpoint(f"{folder}/{{epoch}}.{ending}", "loss", save_best_only=True,
                                               initial_value_threshold=1.0)
        numbers = watched(keras, [kept, keras.callbacks.CSVLogger(f"{folder}/table.csv")])
        epochs = sorted(int(name.split(".")[0]) for name in os.listdir(folder) if name.endswith(ending))
        header, *rows = (line.split(",") for line in open(f"{folder}/table.csv").read().splitlines())
    table = {name: [float(row[i].replace("NA", "-1")) for row in rows] for i, name in enumerate(header)}
    return {**numbers, "kept epochs": epochs, **table}


def functions(keras):
    """Losses and metrics as functions of arrays."""
    rng = np.random.default_rng(5)
    classes, logits = rng.integers(0, 7, 50), rng.normal(0, 3, (50, 7)).astype(np.float32)
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    rows = np.eye(7, dtype=np.float32)[classes]
    values, metrics, losses = {}, keras.metrics, keras.losses
    for name, y, sure in (("categorical_crossentropy", rows, shares),
                          ("sparse_categorical_crossentropy", classes, shares),
                          ("binary_crossentropy", rows, 1 / (1 + np.exp(-logits)))):
        values[name] = getattr(losses, name)(y, sure)
        values[name + " of logits"] = getattr(losses, name)(y, logits, from_logits=True)
    for name, y, sure in (("categorical_crossentropy", rows, shares), ("binary_crossentropy", rows, shares)):
        values[name + ", smoothed"] = getattr(losses, name)(y, sure, label_smoothing=0.2, axis=0)
    for name in ("linear", "relu", "leaky_relu", "elu", "gelu", "sigmoid", "tanh", "silu", "swish", "softmax"):
        values[name] = getattr(keras.activations, name)(logits)
    for name, given in (("relu", {"negative_slope": 0.1, "max_value": 2.0, "threshold": 0.5}), ("elu", {"alpha": 0.5}),
                        ("gelu", {"approximate": True}), ("softmax", {"axis": 0})):
        values[f"{name} {given}"] = getattr(keras.activations, name)(logits, **given)
    for name in ("mean_squared_error", "mean_absolute_error"):
        values[name] = getattr(losses, name)(rows, shares)
    for name, y in (("binary_accuracy", rows), ("categorical_accuracy", rows),
                    ("sparse_categorical_accuracy", classes)):
        values[name] = getattr(metrics, name)(y, shares)
    for k in (1, 3, 5):
        values[f"top {k}"] = metrics.top_k_categorical_accuracy(rows, shares, k=k)
        values[f"sparse top {k}"] = metrics.sparse_top_k_categorical_accuracy(classes, shares, k=k)
    return values


def named_by_functions(keras):
    layers = keras.layers
    model = keras.Sequential([layers.Flatten(), layers.Dense(5, activation=keras.activations.softmax)])
    model.compile(loss=keras.losses.categorical_crossentropy, optimizer=keras.optimizers.Adagrad(),
                  metrics=[keras.metrics.categorical_accuracy])
    return train(keras, model, IMAGES, keras.utils.to_categorical(LABELS, 5), drawn)


SCRIPTS = [functions, named_by_functions, dense, convolution, one_hot, normalized, binary, scheduled, stopped, rates,
           batches, plateau, upwards, from_a_baseline, best]


# ---- lines -----------------------------------------------------------------------------------------


def shown(keras, verbose, epochs, names):
    """What a reader of standard output has before him at the end, with 9 for every number."""
    layers = keras.layers
    model = keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(5, activation="softmax")])
    x, y = IMAGES.reshape(96, -1), LABELS
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=names)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        model.fit(x, y, epochs=epochs, verbose=verbose, validation_split=0.25,
                  callbacks=[keras.callbacks.ReduceLROnPlateau("loss")])
        model.evaluate(x, y, verbose=verbose)
        model.predict(x, verbose=verbose)
    lines = []
    for line in re.sub(r"\x1b\[\d+m|\x08", "", out.getvalue()).split("\n"):
        cells = []
        for part in line.split("\r"):
            cells = list(part) + cells[len(part):]
        text = re.sub(r"\d+[mu]?s/step", "9s/step", "".join(cells).rstrip())
        text = re.sub(r"\d+\.\d{4}(e[+-]\d+)?", "9.9999", text)
        lines.append(re.sub(r"\d+s ", "9s ", text))
    return lines


def compare_lines():
    bad = []
    for verbose in (0, 1, 2):
        for epochs, names in ((1, ["accuracy"]), (3, ["acc"]), (2, [])):
            mine, theirs = (shown(keras, verbose, epochs, names) for keras in (ours, real))
            if mine != theirs:
                bad.append(f"lines of verbose={verbose}, {epochs} epochs:\n  cornu  {mine}\n  Keras  {theirs}")
    return bad


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
    bad = compare_signatures() + compare_lines()
    for script in SCRIPTS:
        bad += differences(script.__name__, script(ours), script(real))
    print("\n".join(bad))
    print(f"{len(SCRIPTS)} scripts, {len(bad)} differences")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
