#!/usr/bin/env python3
"""Keras's files both ways, with real Keras: .keras, .h5 and .weights.h5.

    PYTHONPATH=build/release/python .venv/bin/python peers/keras_files.py [NAME|layers...]

Of each network: Keras trains and saves, cornu opens the file, evaluates, predicts and goes on training as Keras does;
cornu saves, Keras loads that file, predicts the same and goes on training as cornu does. Networks are the published
workloads (of smaller pictures where those are large) and networks of all layers and optimizers; besides, each layer of
tests/fixtures by itself is saved and loaded both ways. Dropout has rate 0, because random masks cannot agree, and samples
stand in their order. Exit status 0: all agrees."""
import copy
import gc
import json
import logging
import os
import sys
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # rounds as one machine does, whatever oneDNN would choose on this one
import h5py  # noqa: E402
import keras as real  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from keras.src.legacy.saving import legacy_h5_format  # noqa: E402

from cornu import keras as ours  # noqa: E402

logging.getLogger("absl").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", "Skipping variable loading")  # of weights for a model that is not compiled alike
L, O, S = real.layers, real.optimizers, real.optimizers.schedules
WORKLOADS = ("cifar10-mlp", "cifar100-mlp", "mnist-cnn-2", "mnist-cnn-4", "photos-cnn", "photos-cnn-ready", "cifar10-cnn")
PREDICTION_LIMIT, LOSS_LIMIT = 1e-5, 1e-4
BATCH, SAMPLES = 16, 48
# Keras runs these as graphs: eagerly TensorFlow has no gradient of a convolution in groups. The others take two thirds of
# the time eagerly.
AS_GRAPHS = {"groups"}


def many_layers():
    return [L.ZeroPadding2D(1), L.Conv2D(4, 3, activation="relu", use_bias=False), L.BatchNormalization(),
            L.Conv2D(4, 3, padding="same"), L.BatchNormalization(scale=False, name="norm"), L.LeakyReLU(0.1),
            L.MaxPooling2D(), L.AveragePooling2D(2, padding="same"), L.ELU(), L.Dropout(0.0), L.Flatten(),
            L.Reshape((2, -1)), L.LayerNormalization(), L.Flatten(), L.Dense(5, activation="tanh", name="z"),
            L.Dense(5, activation=L.LeakyReLU(0.2), name="a"), L.ReLU(), L.Dense(4), L.Softmax()]


# name: layers, input shape, classes, optimizer, loss
NETWORKS = {
    "sgd": (lambda: [L.Dense(7, activation="relu"), L.Dense(3, activation="softmax")], (5,), 3,
            lambda: O.SGD(0.05), "sparse_categorical_crossentropy"),
    "momentum": (lambda: [L.Dense(7, activation="gelu"), L.Dense(3)], (5,), 3,
                 lambda: O.SGD(0.01, momentum=0.9, nesterov=True), "mse"),
    # With Keras's own epsilon a gradient of rounding alone is a step of its sign; TensorFlow's threads round as they come.
    "adam-all-layers": (many_layers, (8, 8, 2), 4, lambda: O.Adam(0.002, epsilon=1e-4), "sparse_categorical_crossentropy"),
    "amsgrad": (lambda: [L.Conv2D(3, 3, strides=2), L.GlobalAveragePooling2D(), L.Dense(3, activation="softmax")],
                (9, 9, 1), 3, lambda: O.Adam(amsgrad=True), "sparse_categorical_crossentropy"),
    "adamw": (lambda: [L.Rescaling(0.5), L.Flatten(), L.Dense(6, activation="elu"), L.Dense(3, activation="softmax")],
              (4, 4, 1), 3, lambda: O.AdamW(0.01), "sparse_categorical_crossentropy"),
    "rmsprop": (lambda: [L.Dense(6, activation="sigmoid"), L.Dense(6), L.Activation("tanh"),
                         L.Dense(3, activation="softmax")],
                (5,), 3, lambda: O.RMSprop(0.001, momentum=0.5, centered=True), "sparse_categorical_crossentropy"),
    "adagrad": (lambda: [L.Dense(6, activation="relu"), L.Dense(1, activation="sigmoid")], (5,), 2,
                lambda: O.Adagrad(0.05), "binary_crossentropy"),
    **{name: (lambda: [L.Dense(6, activation="tanh"), L.Dense(3, activation="softmax")], (5,), 3, make,
              "sparse_categorical_crossentropy")
       for name, make in (("adadelta", lambda: O.Adadelta(0.5, epsilon=1e-4)), ("adamax", lambda: O.Adamax(0.01)),
                          ("nadam", lambda: O.Nadam(0.01, epsilon=1e-4)),
                          ("nadam-schedule", lambda: O.Nadam(S.ExponentialDecay(0.01, 2, 0.9), epsilon=1e-4)),
                          ("lion", lambda: O.Lion(0.01)), ("ftrl", lambda: O.Ftrl(0.05, beta=0.1)),
                          ("lamb", lambda: O.Lamb(0.01, epsilon=1e-4)),
                          ("adafactor", lambda: O.Adafactor(0.1, epsilon_1=1e-4)),
                          ("muon", lambda: O.Muon(0.02, epsilon=1e-4)),
                          ("muon-excluded", lambda: O.Muon(0.02, epsilon=1e-4, exclude_layers=["dense_1", "_1/k"])),
                          ("schedule-free", lambda: O.ScheduleFreeAdamW(0.01, epsilon=1e-4)),
                          ("averages", lambda: O.SGD(0.1, 0.5, use_ema=True, ema_momentum=0.7, gradient_accumulation_steps=3)))},
    "schedule": (lambda: [L.Dense(6, activation="relu"), L.Dense(3, activation="softmax")], (5,), 3,
                 lambda: O.Adam(S.ExponentialDecay(0.01, 2, 0.9)), "sparse_categorical_crossentropy"),
    "inverse-time": (lambda: [L.Dense(6, activation="relu"), L.Dense(3, activation="softmax")], (5,), 3,
                     lambda: O.SGD(S.InverseTimeDecay(0.1, 1, 0.01), momentum=0.9, nesterov=True),
                     "sparse_categorical_crossentropy"),
    "clipped": (lambda: [L.Dense(6, activation="relu"), L.Dense(3, activation="softmax")], (5,), 3,
                lambda: O.Adam(0.01, clipnorm=0.1), "sparse_categorical_crossentropy"),
    "frozen": (lambda: [L.Conv2D(3, 3, trainable=False), L.BatchNormalization(trainable=False), L.Flatten(),
                        L.Dense(6, activation="tanh"), L.BatchNormalization(), L.Dense(5, trainable=False),
                        L.Dense(3, activation="softmax")],
               (6, 6, 2), 3, lambda: O.Adam(0.002, epsilon=1e-4), "sparse_categorical_crossentropy"),
    "frozen-rmsprop": (lambda: [L.Dense(6, activation="tanh", trainable=False), L.Dense(6, activation="tanh"), L.Dense(3)],
                       (5,), 3, lambda: O.RMSprop(0.001, momentum=0.5, centered=True), "mse"),
    "groups": (lambda: [L.Conv2D(4, 3, padding="same", groups=2), L.Conv2D(4, 3, dilation_rate=2), L.Flatten(),
                        L.Dense(3, activation="softmax")],
               (7, 7, 2), 3, lambda: O.Adam(), "sparse_categorical_crossentropy"),
}


def without_dropout(config):
    """Of a model's to_json(), with small pictures."""
    config = copy.deepcopy(config)
    for layer in config["config"]["layers"]:
        if layer["class_name"] == "Dropout":
            layer["config"]["rate"] = 0.0
        shape = layer["config"].get("batch_shape")
        if shape and shape[1] > 40:
            layer["config"]["batch_shape"] = [None, 38, 38, 3]
    config["config"].pop("build_input_shape", None)
    config.pop("build_config", None)
    return config


def workload(name):
    config = without_dropout(json.loads(ours.models.load_model(name).to_json()))
    compiled = config.pop("compile_config")
    model = real.models.model_from_json(json.dumps(config))
    optimizer = real.optimizers.get(compiled["optimizer"])
    if hasattr(optimizer, "epsilon"):
        optimizer.epsilon = 1e-4  # a step of the sign of a rounding otherwise (peers/parity.py)
    return model, model.output_shape[-1], optimizer, real.losses.get(compiled["loss"])


def functional(model):
    made = real.Model(model.inputs, model.outputs)
    return made


def network(name):
    if name in WORKLOADS:
        model, classes, optimizer, loss = workload(name)
    else:
        base = name.removesuffix("-functional")
        layers, shape, classes, make, loss = NETWORKS[base]
        model, optimizer = real.Sequential([L.Input(shape), *layers()]), make()
        if name != base:
            model = functional(model)
    model.compile(optimizer, loss, metrics=["accuracy"] if loss != "mse" else [])
    return model, classes


def samples(model, classes, seed):
    generator = np.random.default_rng(seed)
    x = generator.random((SAMPLES, *model.input_shape[1:]), "float32")
    y = generator.integers(0, classes, SAMPLES)
    loss = model.loss if isinstance(model.loss, str) else model.loss.name
    if loss == "mse":
        return x, generator.random((SAMPLES, *model.output_shape[1:]), "float32")
    if loss.startswith("categorical"):
        return x, np.eye(classes, dtype="float32")[y]
    return x, y.astype("float32" if loss.startswith("binary") else "int64")


def train(model, x, y):
    return model.fit(x, y, batch_size=BATCH, epochs=2, shuffle=False, verbose=0).history["loss"]


class Difference(Exception):
    pass


def same(what, a, b, limit):
    a, b = np.asarray(a, "float64"), np.asarray(b, "float64")
    if a.shape != b.shape:
        raise Difference(f"{what}: shapes {a.shape}, {b.shape}")
    apart = float(np.max(np.abs(a - b) / np.maximum(1, np.abs(b))))
    if not apart <= limit:
        raise Difference(f"{what}: {apart:.2e} apart, more than {limit:g}")
    return apart


def go_on(model, x, y):
    """Trains, and gives the losses on the way and at the end."""
    return [*train(model, x, y), evaluate(model, x, y)]


def evaluate(model, x, y):
    """The loss: whether a sample counts as right may hang on a rounding."""
    return np.ravel(model.evaluate(x, y, BATCH, verbose=0))[0]


def predict(model, x):
    """Keras's predict() would take a second to trace."""
    return np.asarray(model(x, training=False)) if isinstance(model, real.Model) else model.predict(x, BATCH, verbose=0)


def load_trained(path):
    """Keras's load_model. Of an .h5 file it builds the optimizer for no variables, warns, and cannot train (seen with
    3.15.1, also of its own files): there its own reader's numbers are given to the optimizer by hand."""
    model = real.models.load_model(path)
    if path.endswith(".h5"):
        model.optimizer = None
        optimizer = real.optimizers.deserialize(json.loads(h5py.File(path).attrs["training_config"])["optimizer_config"])
        model.compile(optimizer, model.loss, metrics=model._compile_metrics._user_metrics)
        optimizer.build(model.trainable_variables)
        with h5py.File(path) as f:
            names = legacy_h5_format.load_attributes_from_hdf5_group(f["optimizer_weights"], "weight_names")
            if len(names) != len(optimizer.variables):
                raise Difference(f"{len(names)} variables of the optimizer, not {len(optimizer.variables)}")
            for variable, name in zip(optimizer.variables, names):
                variable.assign(f["optimizer_weights"][name][()])
    return model


class Trained:
    """A network that Keras trained and saved in each way, and what it gives then and after going on: made once, as
    Keras takes a second for each function that it traces."""

    def __init__(self, name, folder):
        real.utils.set_random_seed(7)
        real.backend.clear_session()
        tf.config.run_functions_eagerly(name not in AS_GRAPHS)
        self.model, classes = network(name)
        self.x, self.y = samples(self.model, classes, len(name))
        train(self.model, self.x, self.y)
        self.config = self.model.to_json()  # Keras's own is without an optimizer once the model was saved as .h5
        self.files = {ending: os.path.join(folder, f"keras{ending}") for ending in (".keras", ".h5", ".weights.h5")}
        if name == "adafactor":  # Keras writes no .h5 file of it: two of its variables have one name
            self.files[".h5"] = self.files[".keras"]
        for ending, path in self.files.items():
            self.model.save_weights(path) if "weights" in ending else self.model.save(path)
        self.predicted, self.evaluated = predict(self.model, self.x), evaluate(self.model, self.x, self.y)
        self.losses = go_on(self.model, self.x, self.y)

    def round_trip(self, ending, folder):
        x, y, second = self.x, self.y, os.path.join(folder, f"cornu{ending}")
        mine = ours.models.load_model(self.files[ending])
        worst = [same("predict", predict(mine, x), self.predicted, PREDICTION_LIMIT),
                 same("evaluate", evaluate(mine, x, y), self.evaluated, LOSS_LIMIT),
                 same("cornu goes on: losses", go_on(mine, x, y), self.losses, LOSS_LIMIT)]
        mine.save(second)
        theirs = load_trained(second)
        return max(*worst, same("Keras predicts", predict(theirs, x), predict(mine, x), PREDICTION_LIMIT),
                   same("Keras goes on: losses", go_on(theirs, x, y), go_on(mine, x, y), LOSS_LIMIT))

    def weights_only(self, name, folder):
        mine = ours.models.model_from_json(self.config)
        mine.load_weights(self.files[".weights.h5"])
        worst = same("weights", predict(mine, self.x), self.predicted, PREDICTION_LIMIT)
        second = os.path.join(folder, "cornu.weights.h5")
        mine.save_weights(second)
        fresh, _ = network(name)
        fresh.load_weights(second)
        return max(worst, same("weights back", predict(fresh, self.x), self.predicted, PREDICTION_LIMIT))


def layer_cases():
    """Networks of one layer each: those of tests/fixtures/layers.npz."""
    fixtures = np.load(Path(__file__).parents[1] / "tests" / "fixtures" / "layers.npz")
    for name in fixtures.files:
        if name.endswith("/model"):
            case = name.removesuffix("/model")
            yield case, fixtures[name].tobytes().decode(), fixtures[f"{case}/x"]


def one_layer(config, x, folder):
    """Untrained, with an optimizer that was not asked for anything yet."""
    worst = 0
    for ending in (".keras", ".h5"):
        real.backend.clear_session()
        model = real.models.model_from_json(config)
        model.compile("adam", "mse")
        first, second = (os.path.join(folder, f"{part}{ending}") for part in ("keras", "cornu"))
        model.save(first)
        mine = ours.models.load_model(first)
        expected = predict(model, x)
        worst = max(worst, same("predict", predict(mine, x), expected, PREDICTION_LIMIT))
        mine.save(second)
        worst = max(worst, same("Keras predicts", predict(real.models.load_model(second), x), expected, PREDICTION_LIMIT))
    return worst


def attempt(label, run):
    """What went wrong, in a list."""
    try:
        print(f"{label:32} agrees, {run():.1e} apart", flush=True)
        return []
    except Difference as e:
        wrong = f"{label:32} DIFFERS: {e}"
    except (ValueError, OSError, NotImplementedError, TypeError, KeyError) as e:
        wrong = f"{label:32} FAILS: {type(e).__name__}: {str(e)[:400]}"
    print(wrong, flush=True)
    return [wrong]


def main():
    gc.freeze()  # clear_session() collects: TensorFlow's modules, which stay, would take it longer than a case
    failed = []
    names = [n for n in sys.argv[1:] if n != "layers"] if sys.argv[1:] else [*NETWORKS, "adam-all-layers-functional", *WORKLOADS]
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            trained = Trained(name, folder)
            for ending in (".keras", ".h5"):
                if name + ending != "lamb.h5":  # Keras opens none: Lamb is not in the list that its older files need
                    failed += attempt(name + ending, lambda: trained.round_trip(ending, folder))
            failed += attempt(name + ".weights.h5", lambda: trained.weights_only(name, folder))
    for case, config, x in layer_cases() if not sys.argv[1:] or "layers" in sys.argv[1:] else ():
        with tempfile.TemporaryDirectory() as folder:
            failed += attempt(f"layer {case}", lambda: one_layer(config, x, folder))
    print("\n".join([f"{len(failed)} differ or fail:", *failed]) if failed else "all agree")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
