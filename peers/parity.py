#!/usr/bin/env python3
"""Train the six published networks and ResNet-20 in real Keras and in cornu from the same weights on the same
batches, and compare every step's loss and the final weights; then open cornu's model file in Keras.

usage: parity.py [--cornu PROGRAM] [--device DEVICE[,DEVICE...]] [--steps N] [--seed N] [NETWORK...]

Exit status 0: everything agrees. Dropout has rate 0 on both sides (random masks cannot agree),
photos-cnn is scaled down to 38x38 pixels, and Adam's epsilon is 1e-4; the networks are those of
recipes/*.yaml otherwise.

One seed decides, because rounding alone cannot make two right answers part. It could in two ways. Where
an element is next to the zero of a ReLU, or two are nearly equal under a maximum, the gradient takes
another way: therefore each batch is drawn for the weights that Keras then has, of samples for which no
element of any layer is nearer to such a kink than MARGIN of its tensor's largest magnitude. (After 20
steps elements were 3e-7 to 3e-6 of it apart, the most in cifar10-cnn.) And Adam makes a full step of the
sign of a gradient that is nothing but rounding: not with an epsilon above it. In ResNet-20 batch normalization
ties all samples of a batch together, so that none can be chosen alone: it is trained for RESNET_STEPS steps on
whatever comes, slowly. (At a learning rate of 0.001 Keras's own losses, compiled by XLA and not, were 7e-5 apart after
5 steps, at 0.0001 1e-6.)
"""
import argparse
import csv
import json
import logging
import os
import re
import subprocess
import sys
import tempfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import layers as L  # noqa: E402
from safetensors import safe_open  # noqa: E402

logging.getLogger("tensorflow").setLevel(logging.ERROR)  # it finds that six networks are many

LOSS_LIMIT, WEIGHT_LIMIT, PREDICTION_LIMIT = 1e-5, 1e-4, 1e-4
MARGIN, DRAWS_MOST = 1e-5, 1000  # DRAWS_MOST: samples looked at for one that is taken
RESNET_STEPS = 5
RESNET_SCALE = 0.5  # of its weights at least: a bias before batch normalization is nothing but rounding
OPTIMIZERS = {"sgd": {"learning_rate": 0.01}, "adam": {"epsilon": 1e-4},
              "adam, slow": {"epsilon": 1e-4, "learning_rate": 1e-4}}
CATEGORICAL, SPARSE = "categorical_crossentropy", "sparse_categorical_crossentropy"


def conv(filters, size, activation=None, padding="same"):
    return L.Conv2D(filters, size, padding=padding, activation=activation)


def mnist(*convolutions):
    stack = []
    for filters, size, count in convolutions:
        stack += [conv(filters, size, "relu") for _ in range(count)] + [L.MaxPooling2D(2)]
    return stack + [L.Flatten(), L.Dense(1024, activation="relu"), L.Dropout(0.0),
                    L.Dense(10, activation="softmax")]


def resnet20(x):
    """As in examples/resnet20.yaml."""
    def convolve(x, filters, size=3, strides=1):
        return L.Conv2D(filters, size, strides, "same", kernel_initializer="he_normal")(x)

    x = L.ReLU()(L.BatchNormalization()(convolve(x, 16)))
    for filters in (16, 32, 64):
        for block in range(3):
            strides = 2 if filters > 16 and block == 0 else 1
            y = L.ReLU()(L.BatchNormalization()(convolve(x, filters, strides=strides)))
            y = L.BatchNormalization()(convolve(y, filters))
            if strides > 1:
                x = convolve(x, filters, 1, strides)
            x = L.ReLU()(L.Add()([x, y]))
    return L.Dense(10, activation="softmax", kernel_initializer="he_normal")(L.GlobalAveragePooling2D()(x))


# name: (input shape, classes, batch, optimizer, loss, layers; or a function of the input)
NETWORKS = {
    "cifar10-mlp": ((32, 32, 3), 10, 32, "sgd", CATEGORICAL, lambda: [
        L.Flatten(), L.Dense(3000, activation="relu"), L.Dense(1000, activation="relu"),
        L.Dense(10, activation="sigmoid")]),
    "cifar100-mlp": ((32, 32, 3), 100, 32, "adam", CATEGORICAL, lambda: [
        L.Flatten(), L.Dense(512, activation="relu"), L.Dense(256, activation="relu"),
        L.Dense(100, activation="softmax")]),
    "mnist-cnn-2": ((28, 28, 1), 10, 8, "adam", CATEGORICAL, lambda: mnist((32, 5, 1), (64, 5, 1))),
    "mnist-cnn-4": ((28, 28, 1), 10, 8, "adam", CATEGORICAL, lambda: mnist((32, 3, 2), (64, 3, 2))),
    "photos-cnn": ((38, 38, 3), 8, 8, "adam", CATEGORICAL, lambda: [
        conv(32, 3, "relu", "valid"), L.MaxPooling2D(2), conv(64, 3, "relu", "valid"),
        L.MaxPooling2D(2), L.Flatten(), L.Dense(128, activation="relu"), L.Dropout(0.0),
        L.Dense(64, activation="relu"), L.Dropout(0.0), L.Dense(8, activation="softmax")]),
    "cifar10-cnn": ((32, 32, 3), 10, 8, "adam", SPARSE, lambda: [
        conv(32, 3), conv(32, 3), L.MaxPooling2D(2, padding="same"), conv(64, 3), conv(64, 3),
        L.MaxPooling2D(2), conv(128, 3), conv(128, 3), L.Flatten(), L.Dropout(0.0),
        L.Dense(128, activation="relu"), L.Dense(10, activation="softmax")]),
    "resnet20": ((32, 32, 3), 10, 32, "adam, slow", SPARSE, resnet20),
}


class Samples:
    """Smooth patterns, one a class, under noise; three labels in ten are drawn at random, so that the
    loss stays above zero. Bytes, or small floats around zero."""

    def __init__(self, random, shape, classes, as_bytes):
        self.random, self.shape, self.classes, self.as_bytes = random, shape, classes, as_bytes
        coarse = random.random((classes, 4, 4, shape[2]))
        rows, columns = (np.arange(n) * 4 // n for n in shape[:2])
        self.patterns = coarse[:, rows][:, :, columns]

    def draw(self, count):
        """Samples as they are stored, and their classes."""
        y = self.random.integers(0, self.classes, count)
        x = 0.5 * self.patterns[y] + 0.5 * self.random.random((count,) + self.shape)
        y = np.where(self.random.random(count) < 0.3, self.random.integers(0, self.classes, count), y)
        return (x * 255).astype(np.uint8) if self.as_bytes else (0.1 * x - 0.05).astype(np.float32), y

    def seen(self, x):
        """What a network sees of them."""
        return x.astype(np.float32) / np.float32(255) if self.as_bytes else x


def least(margins, scale):
    """The least of each sample's, over the scale."""
    return margins.reshape(len(margins), -1).min(axis=1) / scale


def pool_margins(x):
    """How far the largest of each 2x2 window is above the next; of windows that are all 0, where the
    ReLU before lets no gradient through, infinity."""
    n, height, width, channels = x.shape
    windows = x[:, :height // 2 * 2, :width // 2 * 2].reshape(n, height // 2, 2, width // 2, 2, channels)
    ordered = np.sort(windows.transpose(0, 1, 3, 5, 2, 4).reshape(n, -1, 4), axis=-1)
    return np.where(ordered[..., 3] == 0, np.inf, ordered[..., 3] - ordered[..., 2])


def distances(model, x):
    """Of each sample: how near to a kink its nearest element is, of all layers."""
    nearest = np.full(len(x), np.inf)
    for layer in model.layers:
        if getattr(layer, "activation", None) is keras.activations.relu:
            layer.activation = keras.activations.linear
            x = np.asarray(layer(x))
            layer.activation = keras.activations.relu
            nearest = np.minimum(nearest, least(np.abs(x), np.abs(x).max()))
            x = np.maximum(x, 0)
            continue
        if isinstance(layer, L.MaxPooling2D):
            nearest = np.minimum(nearest, least(pool_margins(np.asarray(x)), np.abs(x).max()))
        x = np.asarray(layer(x))
    return nearest


def named_weights(model, within=""):
    """Each weight under cornu's name for it; those of models within the model, too."""
    found = {}
    for layer in model.layers:
        name = f"{within}{layer.name}/"
        found.update(named_weights(layer, name) if isinstance(layer, keras.Model) else {name + w.name: w for w in layer.weights})
    return found


def difference(a, b, least=0.0):
    """Largest |difference| over the largest |b|, or over `least` where that is larger."""
    return float(np.max(np.abs(np.asarray(a, np.float64) - b)) / max(np.max(np.abs(b)), least))


def draw_batch(model, source, batch):
    """Samples that are away from every kink (of a Sequential), their classes, and how many were looked at."""
    if not isinstance(model, keras.Sequential):
        return *source.draw(batch), batch
    kept, drawn = [], 0
    while sum(len(y) for _, y in kept) < batch:
        if drawn >= DRAWS_MOST * batch:
            raise RuntimeError(f"found no {batch} samples away from every kink among {drawn}")
        x, y = source.draw(2 * batch)
        good = distances(model, source.seen(x)) > MARGIN
        kept.append((x[good], y[good]))
        drawn += len(y)
    return tuple(np.concatenate(part)[:batch] for part in zip(*kept)) + (drawn,)


def make_model(network, seed):
    shape, _, _, optimizer, loss, stack = network
    keras.backend.clear_session()
    keras.utils.set_random_seed(seed)
    start = keras.Input(shape)
    model = keras.Model(start, stack(start)) if stack is resnet20 else keras.Sequential([start] + stack())
    model.compile(optimizer=keras.optimizers.get({"class_name": optimizer.split(",")[0],
                                                  "config": OPTIMIZERS[optimizer]}),
                  loss=loss, metrics=["accuracy"])
    return model


def train_in_keras(model, network, source, steps):
    """The samples as they are stored, their targets, each step's loss, and how many samples were looked
    at for one."""
    _, classes, batch, _, loss, _ = network
    xs, ys, losses, drawn = [], [], [], 0
    for _ in range(steps):
        x, y, count = draw_batch(model, source, batch)
        targets = y if loss == SPARSE else np.eye(classes, dtype=np.float32)[y]
        model.reset_metrics()
        losses.append(float(model.train_on_batch(source.seen(x), targets)[0]))
        xs, ys, drawn = xs + [x], ys + [targets], drawn + count
    return np.concatenate(xs), np.concatenate(ys), np.array(losses), drawn / (batch * steps)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def train_in_cornu(options, device, folder, recipe, batch, steps):
    path = {name: os.path.join(folder, name) for name in
            ("recipe.json", "weights.npz", "steps.csv", "out.safetensors")}
    with open(path["recipe.json"], "w") as f:
        json.dump(recipe, f)
    run(options.cornu, "train", path["recipe.json"], "--init", path["weights.npz"], "--steps", str(steps),
        "--epochs", "1", "--batch", str(batch), "--log", path["steps.csv"], "--log-steps", "--save",
        path["out.safetensors"], "--quiet", "--device", device)
    with open(path["steps.csv"], newline="") as f:
        rows = list(csv.DictReader(f, skipinitialspace=True))
    return np.array([float(row["loss"]) for row in rows]), path["out.safetensors"]


def open_model_file(path):
    """The model as any reader of safetensors can have it."""
    with safe_open(path, "numpy") as f:
        model = keras.models.model_from_json(f.metadata()["keras_config"])
        weights = {name: f.get_tensor(name) for name in f.keys()}
    for name, w in named_weights(model).items():
        w.assign(weights[name])
    return model, weights


def compare(network, options, folder):
    """For each device in turn the columns of the table, name -> (found, limit), and how many samples were looked at
    for one. Keras trains once."""
    shape, classes, batch, optimizer, loss, stack = network
    steps, scale = (min(options.steps, RESNET_STEPS), RESNET_SCALE) if stack is resnet20 else (options.steps, 0)
    source = Samples(np.random.default_rng(options.seed), shape, classes, as_bytes=batch > 8)
    model = make_model(network, options.seed)
    initial = {key: w.numpy() for key, w in named_weights(model).items()}
    x, y, losses, drawn = train_in_keras(model, network, source, steps)
    expected = {key: w.numpy() for key, w in named_weights(model).items()}
    x_test, y_test = source.draw(64)
    y_test = y_test if loss == SPARSE else np.eye(classes, dtype=np.float32)[y_test]

    data = os.path.join(folder, "data.npz")
    np.savez(data, x_train=x, y_train=y, x_test=x_test, y_test=y_test)
    np.savez(os.path.join(folder, "weights.npz"), **initial)
    recipe = {"data": {"file": data}, "model": json.loads(model.to_json()),
              "compile": {"optimizer": {optimizer.split(",")[0]: OPTIMIZERS[optimizer]}, "loss": loss, "metrics": ["accuracy"]},
              "fit": {"shuffle": False}}
    seen = source.seen(x_test)
    predicted = model.predict(seen, verbose=0)
    for device in options.device:
        own_losses, saved = train_in_cornu(options, device, folder, recipe, batch, steps)
        if own_losses.shape != (steps,):
            raise RuntimeError(f"found {len(own_losses)} steps in the log; expected {steps}")
        read_back, weights = open_model_file(saved)
        own_loss = float(re.findall(r"\bloss: ([-+.\deE]+)",
                                    run(options.cornu, "evaluate", saved, "--data", data, "--device", device))[-1])
        read_back.compile(loss=loss)
        keras_loss = read_back.evaluate(seen, y_test, verbose=0, return_dict=True)["loss"]
        yield {"loss": (float(np.max(np.abs(own_losses - losses) / np.abs(losses))), LOSS_LIMIT),
               "weights": (max(difference(weights[key], expected[key], scale) for key in expected), WEIGHT_LIMIT),
               "predict": (difference(read_back.predict(seen, verbose=0), predicted), PREDICTION_LIMIT),
               # printed with four decimals
               "evaluate": (abs(own_loss - keras_loss), 1e-4 + LOSS_LIMIT * abs(keras_loss))}, drawn


def check(name, options):
    """Prints a row a device; True if the network agrees on all."""
    agrees = True
    with tempfile.TemporaryDirectory() as folder:
        for device, (row, drawn) in zip(options.device, compare(NETWORKS[name], options, folder)):
            wrong = [column for column, (found, limit) in row.items() if not found <= limit]
            columns = (f"{found:9.1e}{'!' if column in wrong else ' '}" for column, (found, _) in row.items())
            print(f"{name:13}{device:10}" + "".join(columns) + f"{drawn:8.1f}", flush=True)
            agrees &= not wrong
    return agrees


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cornu", help="the program",
                        default=os.path.join(os.path.dirname(here), "build", "release", "cornu"))
    parser.add_argument("--device", default=["cpu"], type=lambda names: names.split(","),
                        help="of cornu, as in cornu devices")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="of weights and samples")
    parser.add_argument("networks", nargs="*", default=list(NETWORKS), metavar="NETWORK")
    options = parser.parse_args()
    for name in options.networks:
        if name not in NETWORKS:
            parser.error(f"found {name}; expected some of: {', '.join(NETWORKS)}")
    print(f"cornu beside Keras {keras.__version__}: largest differences over {options.steps} steps")
    print(f"{'network':13}{'device':10}" +
          "".join(f"{column:>9} " for column in ("loss", "weights", "predict", "evaluate")) + f"{'looked at':>9}")
    agreed = 0
    for name in options.networks:
        try:
            agreed += check(name, options)
        except (RuntimeError, KeyError, OSError) as e:
            print(f"{name:13}{type(e).__name__}: {e}")
    print(f"{agreed} of {len(options.networks)} networks agree (limits: loss {LOSS_LIMIT:g} relative, "
          f"weights {WEIGHT_LIMIT:g} and predictions {PREDICTION_LIMIT:g} of their scale)")
    return 0 if agreed == len(options.networks) else 1


if __name__ == "__main__":
    sys.exit(main())
