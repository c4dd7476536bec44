#!/usr/bin/env python3
"""Train the six published networks in real Keras and in cornu from the same weights on the same batches,
and compare every step's loss and the final weights; then open cornu's model file in Keras.

usage: parity.py [--cornu PROGRAM] [--steps N] [--seed N] [NETWORK...]

Exit status 0: everything agrees. Dropout has rate 0 on both sides (random masks cannot agree) and
photos-cnn is scaled down to 50x50 pixels; the networks are those of recipes/*.yaml otherwise.

Two right answers can part: where two elements under a maximum, or an element and the zero of a ReLU,
are one rounding apart, the gradient takes another way, and Adam's first steps blow that up. Therefore
Keras is trained twice, the second time with the samples of each batch in another order (the same sums,
rounded differently), and only seeds for which Keras agrees with itself count ("itself" in the table).
Of those, cornu has a few tries for the whole run, since its roundings fall elsewhere again; the first
steps must agree in each. Small batches of small, noisy numbers keep such accidents rare.
"""
import argparse
import csv
import json
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

LOSS_LIMIT, WEIGHT_LIMIT, PREDICTION_LIMIT = 1e-4, 1e-3, 1e-3
SEEDS, TRIES, FIRST_STEPS = 24, 8, 3
CATEGORICAL, SPARSE = "categorical_crossentropy", "sparse_categorical_crossentropy"


def conv(filters, size, activation=None, padding="same"):
    return L.Conv2D(filters, size, padding=padding, activation=activation)


def mnist(*convolutions):
    stack = []
    for filters, size, count in convolutions:
        stack += [conv(filters, size, "relu") for _ in range(count)] + [L.MaxPooling2D(2)]
    return stack + [L.Flatten(), L.Dense(1024, activation="relu"), L.Dropout(0.0),
                    L.Dense(10, activation="softmax")]


# name: (input shape, classes, batch, optimizer, loss, layers)
NETWORKS = {
    "cifar10-mlp": ((32, 32, 3), 10, 32, "sgd", CATEGORICAL, lambda: [
        L.Flatten(), L.Dense(3000, activation="relu"), L.Dense(1000, activation="relu"),
        L.Dense(10, activation="sigmoid")]),
    "cifar100-mlp": ((32, 32, 3), 100, 32, "adam", CATEGORICAL, lambda: [
        L.Flatten(), L.Dense(512, activation="relu"), L.Dense(256, activation="relu"),
        L.Dense(100, activation="softmax")]),
    "mnist-cnn-2": ((28, 28, 1), 10, 8, "adam", CATEGORICAL, lambda: mnist((32, 5, 1), (64, 5, 1))),
    "mnist-cnn-4": ((28, 28, 1), 10, 8, "adam", CATEGORICAL, lambda: mnist((32, 3, 2), (64, 3, 2))),
    "photos-cnn": ((50, 50, 3), 8, 8, "adam", CATEGORICAL, lambda: [
        conv(32, 3, "relu", "valid"), L.MaxPooling2D(2), conv(64, 3, "relu", "valid"),
        L.MaxPooling2D(2), L.Flatten(), L.Dense(128, activation="relu"), L.Dropout(0.0),
        L.Dense(64, activation="relu"), L.Dropout(0.0), L.Dense(8, activation="softmax")]),
    "cifar10-cnn": ((32, 32, 3), 10, 8, "adam", SPARSE, lambda: [
        conv(32, 3), conv(32, 3), L.MaxPooling2D(2, padding="same"), conv(64, 3), conv(64, 3),
        L.MaxPooling2D(2), conv(128, 3), conv(128, 3), L.Flatten(), L.Dropout(0.0),
        L.Dense(128, activation="relu"), L.Dense(10, activation="softmax")]),
}


def samples(random, shape, classes, count, as_bytes):
    """Smooth patterns, one a class, under noise; three labels in ten are drawn at random, so that the
    loss stays above zero. Bytes, or small floats around zero."""
    coarse = random.random((classes, 4, 4, shape[2]))
    rows, columns = (np.arange(n) * 4 // n for n in shape[:2])
    y = random.integers(0, classes, count)
    x = 0.5 * coarse[:, rows][:, :, columns][y] + 0.5 * random.random((count,) + shape)
    y = np.where(random.random(count) < 0.3, random.integers(0, classes, count), y)
    return (x * 255).astype(np.uint8) if as_bytes else (0.1 * x - 0.05).astype(np.float32), y


def named_weights(model):
    return {f"{layer.name}/{w.name}": w for layer in model.layers for w in layer.weights}


def difference(a, b):
    """Largest |difference| over the largest |b|."""
    return float(np.max(np.abs(np.asarray(a, np.float64) - b)) / np.max(np.abs(b)))


def train_in_keras(network, seed, x, y):
    """The model, its initial weights, and each step's loss."""
    shape, _, batch, optimizer, loss, stack = network
    keras.backend.clear_session()
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input(shape)] + stack())
    model.compile(optimizer=optimizer, loss=loss, metrics=["accuracy"])
    initial = {key: w.numpy() for key, w in named_weights(model).items()}
    losses = []
    for at in range(0, len(x), batch):
        model.reset_metrics()
        losses.append(float(model.train_on_batch(x[at:at + batch], y[at:at + batch])[0]))
    return model, initial, np.array(losses)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def train_in_cornu(program, folder, recipe, batch, steps):
    path = {name: os.path.join(folder, name) for name in
            ("recipe.json", "weights.npz", "steps.csv", "out.safetensors")}
    with open(path["recipe.json"], "w") as f:
        json.dump(recipe, f)
    run(program, "train", path["recipe.json"], "--init", path["weights.npz"], "--steps", str(steps),
        "--epochs", "1", "--batch", str(batch), "--log", path["steps.csv"], "--log-steps", "--save",
        path["out.safetensors"], "--quiet")
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


def largest(a, b):
    """Largest relative difference of the losses, and of the weights over their scale."""
    return (float(np.max(np.abs(a[1] - b[1]) / np.abs(b[1]))),
            max(difference(a[0][key], b[0][key]) for key in b[0]))


def compare(network, seed, options, folder):
    """The columns of the table for one seed: name -> (largest difference, limit); None where Keras
    does not agree with itself."""
    _, classes, batch, optimizer, loss, _ = network
    random = np.random.default_rng(seed)
    n = batch * options.steps
    raw, labels = samples(random, network[0], classes, n + 64, as_bytes=batch > 8)
    x = raw.astype(np.float32) / np.float32(255) if raw.dtype == np.uint8 else raw
    y = labels if loss == SPARSE else np.eye(classes, dtype=np.float32)[labels]

    other = np.concatenate([at + random.permutation(batch) for at in range(0, n, batch)])
    runs = []
    for order in (other, np.arange(n)):
        model, initial, losses = train_in_keras(network, seed, x[order], y[order])
        runs.append(({key: w.numpy() for key, w in named_weights(model).items()}, losses))
    itself = largest(runs[0], runs[1])
    if itself[0] > LOSS_LIMIT / 10 or itself[1] > WEIGHT_LIMIT / 2:
        return None

    data = os.path.join(folder, "data.npz")
    np.savez(data, x_train=raw[:n], y_train=y[:n], x_test=raw[n:], y_test=y[n:])
    np.savez(os.path.join(folder, "weights.npz"), **initial)
    recipe = {"data": {"file": data}, "model": json.loads(model.to_json()),
              "compile": {"optimizer": optimizer, "loss": loss, "metrics": ["accuracy"]},
              "fit": {"shuffle": False}}
    losses, saved = train_in_cornu(options.cornu, folder, recipe, batch, options.steps)
    if losses.shape != (options.steps,):
        raise RuntimeError(f"found {len(losses)} steps in the log; expected {options.steps}")
    read_back, weights = open_model_file(saved)
    found = largest((weights, losses), runs[1])
    own_loss = float(re.findall(r"\bloss: ([-+.\deE]+)",
                                run(options.cornu, "evaluate", saved, "--data", data))[-1])
    read_back.compile(optimizer=optimizer, loss=loss)
    keras_loss = read_back.evaluate(x[n:], y[n:], verbose=0, return_dict=True)["loss"]
    first = np.abs(losses - runs[1][1])[:FIRST_STEPS] / runs[1][1][:FIRST_STEPS]
    return {"first": (float(np.max(first)), LOSS_LIMIT),
            "loss": (found[0], LOSS_LIMIT), "weights": (found[1], WEIGHT_LIMIT),
            "predict": (difference(read_back.predict(x[n:], verbose=0),
                                   model.predict(x[n:], verbose=0)), PREDICTION_LIMIT),
            # printed with four decimals
            "evaluate": (abs(own_loss - keras_loss), 1e-4 + LOSS_LIMIT * abs(keras_loss)),
            "itself": (itself[0], LOSS_LIMIT)}


def check(name, options):
    """Try seeds until one agrees; prints a row for each that counts. True if the network agrees."""
    tries = 0
    for seed in range(options.seed, options.seed + SEEDS):
        with tempfile.TemporaryDirectory() as folder:
            row = compare(NETWORKS[name], seed, options, folder)
        if row is None:
            continue
        tries += 1
        wrong = [column for column, (found, limit) in row.items() if not found <= limit]
        print(f"{name:13}{seed:5}" + "".join(f"{found:9.1e}{'!' if column in wrong else ' '}"
                                            for column, (found, _) in row.items()), flush=True)
        if not wrong:
            return True
        if tries == TRIES or "first" in wrong or "evaluate" in wrong:
            return False
    print(f"{name:13}    Keras disagrees with itself for most of {SEEDS} seeds")
    return False


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cornu", help="the program",
                        default=os.path.join(os.path.dirname(here), "build", "release", "cornu"))
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="the first that is tried")
    parser.add_argument("networks", nargs="*", default=list(NETWORKS), metavar="NETWORK")
    options = parser.parse_args()
    for name in options.networks:
        if name not in NETWORKS:
            parser.error(f"found {name}; expected some of: {', '.join(NETWORKS)}")
    print(f"cornu beside Keras {keras.__version__}: largest differences over {options.steps} steps")
    print(f"{'network':13}{'seed':>5}" + "".join(f"{column:>9} " for column in
          (f"first {FIRST_STEPS}", "loss", "weights", "predict", "evaluate", "itself")))
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
