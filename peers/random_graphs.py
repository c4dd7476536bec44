#!/usr/bin/env python3
"""Random networks that branch, in real Keras and in cornu.

    PYTHONPATH=build/release/python .venv/bin/python peers/random_graphs.py [--graphs N] [--seed N] [--files N]

Each is a Functional model of 4 to 14 layers that cornu has, with tensors that several layers read, or one layer twice, and
layers that are called twice. Keras saves it as .keras, cornu opens that: the layers and weights stand in Keras's order, both predict the same, and after three
steps of SGD the weights still agree. Of the first `--files` graphs cornu writes .keras, .h5 and .weights.h5, which Keras
loads and predicts the same from; cornu reads Keras's .h5 and .weights.h5, and its own .safetensors and .onnx. Prints a line
for each graph that differs. Exit status 0: all agree."""
import argparse
import collections
import json
import logging
import os
import sys
import tempfile
import traceback
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
import keras as real  # noqa: E402
import numpy as np  # noqa: E402

from cornu import _cornu  # noqa: E402
from cornu._tables import TABLES  # noqa: E402

for name in ("absl", "tensorflow"):
    logging.getLogger(name).setLevel(logging.ERROR)
warnings.filterwarnings("ignore", "You are using a softmax")
warnings.filterwarnings("ignore", "Skipping variable loading")
L = real.layers
BATCH, STEPS = 8, 3
OUTPUT_LIMIT, WEIGHT_LIMIT = 1e-5, 1e-4
KNOWN = {row["class_name"] for row in TABLES["layers"]}
MERGES = [name for name in ("Add", "Add", "Average", "Subtract", "Multiply", "Maximum", "Minimum", "Concatenate") if name in KNOWN]
ACTIVATIONS = (None, "relu", "tanh", "gelu", "elu", "sigmoid", "silu", "softmax")


class Drawn:
    """A model under construction."""

    def __init__(self, seed: int, number: int) -> None:
        self.rng = np.random.default_rng((seed, number))
        self.tensors: list = []
        self.read: set[int] = set()
        self.called: list = []  # (layer, shape of its input)

    def pick(self, *values):
        return values[self.rng.integers(len(values))]

    def below(self, least: int, most: int) -> int:
        return int(self.rng.integers(least, most + 1))

    def tensor(self):
        """One that is there, rather a late one."""
        return self.tensors[len(self.tensors) - 1 - int(len(self.tensors) * self.rng.random() ** 2)]

    def call(self, layer, *inputs) -> None:
        y = layer(list(inputs) if len(inputs) > 1 or type(layer).__name__ in MERGES else inputs[0])
        self.read.update(id(x) for x in inputs)
        if len(inputs) == 1:
            self.called.append((layer, inputs[0].shape))
        if 0 < np.prod(y.shape[1:]) <= 4000:
            self.tensors.append(y)
        else:
            self.read.difference_update(id(x) for x in inputs)


def image_layer(d: Drawn, x):
    height, width, channels = x.shape[1:]
    small = min(height, width)
    padding = d.pick("same", "valid") if small >= 3 else "same"
    kind = d.pick("conv", "conv", "conv", "max", "max", "average", "norm", "pad", "global", "dense")
    if kind == "conv":
        groups = d.pick(1, 1, channels)
        return L.Conv2D(groups * d.below(1, 3), d.below(1, 3), strides=d.pick(1, 1, 2), padding=padding, groups=groups,
                        activation=d.pick(*ACTIVATIONS), use_bias=d.pick(True, True, False))
    if kind in ("max", "average"):
        make = L.MaxPooling2D if kind == "max" else L.AveragePooling2D
        return make(d.pick(2, 3), strides=d.pick(None, 1, 2), padding=padding)
    if kind == "pad":
        return L.ZeroPadding2D(d.pick(1, ((0, 1), (2, 0)))) if small < 9 else L.LeakyReLU(0.2)
    return {"norm": L.BatchNormalization(), "global": L.GlobalAveragePooling2D(keepdims=True),
            "dense": L.Dense(d.below(1, 4), activation=d.pick(*ACTIVATIONS))}[kind]


def any_layer(d: Drawn, x):
    n = int(np.prod(x.shape[1:]))
    return d.pick(lambda: L.Activation(d.pick("relu", "tanh", "gelu", "silu")), lambda: L.LeakyReLU(0.3), lambda: L.ELU(),
                  lambda: L.ReLU(), lambda: L.Softmax(), lambda: L.Rescaling(0.7, 0.1), lambda: L.Dropout(0.0),
                  lambda: L.Flatten(), lambda: L.LayerNormalization(), lambda: L.BatchNormalization(),
                  lambda: L.Reshape(reshaped(d, x, n)))()


def reshaped(d: Drawn, x, n: int):
    parts = [p for p in range(1, n + 1) if n % p == 0]
    first = d.pick(*parts)
    if d.rng.random() < 0.5:
        return (first, n // first)
    rest = d.pick(*[p for p in range(1, n // first + 1) if (n // first) % p == 0])
    return (first, rest, n // first // rest)


def merge(d: Drawn, x) -> None:
    """x with others of its shape, or itself."""
    others = [t for t in d.tensors if t.shape == x.shape]
    kind = d.pick(*MERGES)
    count = 2 if kind == "Subtract" else d.pick(2, 2, 3)
    inputs = [x, *[d.pick(*others) for _ in range(count - 1)]]
    d.rng.shuffle(inputs)
    layer = L.Concatenate(axis=d.pick(-1, -1, 1)) if kind == "Concatenate" else getattr(L, kind)()
    d.call(layer, *inputs)


def call_again(d: Drawn, x) -> bool:
    """A layer that was called already, if one was on this shape: it is shared."""
    fits = [layer for layer, shape in d.called if shape == x.shape]
    if fits:
        d.call(d.pick(*fits), x)
    return bool(fits)


def finish(d: Drawn):
    """All that no layer reads becomes rows of one length, whose mean the last layer reads."""
    ends = [t for t in d.tensors if id(t) not in d.read]
    rows = []
    for t in ends:
        if len(t.shape) == 4 and d.rng.random() < 0.5:
            t = L.GlobalAveragePooling2D()(t)
        elif len(t.shape) != 2:
            t = L.Flatten()(t)
        rows.append(L.Dense(4, activation=d.pick("tanh", None))(t))
    together = rows[0] if len(rows) == 1 else getattr(L, d.pick("Add", "Average"))()(rows)
    return L.Dense(3, activation=d.pick(None, "softmax"))(together)


def draw(seed: int, number: int):
    d = Drawn(seed, number)
    real.backend.clear_session()
    real.utils.set_random_seed(number)
    shape = (d.below(3, 8), d.below(3, 8), d.below(1, 3)) if d.rng.random() < 0.8 else (d.below(2, 9),)
    x = L.Input(shape)
    d.tensors.append(x)
    for _ in range(d.below(3, 12)):
        t = d.tensor()
        if d.rng.random() < 0.1 and call_again(d, t):
            continue
        if d.rng.random() < 0.3:
            merge(d, t)
        elif len(t.shape) == 4 and d.rng.random() < 0.7:
            d.call(image_layer(d, t), t)
        elif len(t.shape) == 2 and d.rng.random() < 0.6:
            d.call(L.Dense(d.below(1, 6), activation=d.pick(*ACTIVATIONS)), t)
        else:
            d.call(any_layer(d, t), t)
    model = real.Model(x, finish(d))
    for variable in model.weights:  # also biases, means and variances, so that none is left out unseen
        low = 0.5 if variable.path.endswith(("variance", "gamma")) else -0.5
        if len(variable.shape) == 1:
            variable.assign(d.rng.uniform(low, 1, variable.shape).astype("float32"))
    model.compile(real.optimizers.SGD(0.01), "mse", run_eagerly=True)
    return model, d


class Difference(Exception):
    pass


def same(what: str, found, expected, limit: float) -> float:
    found, expected = np.asarray(found, "float64"), np.asarray(expected, "float64")
    if found.shape != expected.shape:
        raise Difference(f"{what}: shape {found.shape}; expected {expected.shape}")
    apart = float(np.max(np.abs(found - expected), initial=0) / max(np.abs(expected).max(initial=0), 1e-3))
    if not apart <= limit:
        raise Difference(f"{what}: {apart:.2e} apart, more than {limit:g}")
    return apart


class Ours:
    """cornu's library itself: the Python package's models are others' tests."""

    def __init__(self, handle) -> None:
        self.handle = handle

    def outputs(self, x) -> np.ndarray:
        y = np.empty((len(x), *self.handle.shapes()[1]), np.float32)
        self.handle.predict(x, y, batch=len(x))
        return y

    def weights(self) -> list:
        values = [np.empty(shape, np.float32) for _, shape, *_ in self.handle.weights()]
        for i, value in enumerate(values):
            self.handle.get_weight(i, value)
        return values


def equal(what: str, found, expected) -> None:
    if found != expected:
        raise Difference(f"{what}: found {found}; expected {expected}")


def outputs(model, x) -> np.ndarray:
    return np.asarray(model(x, training=False))  # predict() would take a second to trace


def compare_files(model, mine, x, folder: str) -> None:
    expected, config = outputs(model, x), model.to_json()  # which has no optimizer after Keras wrote an .h5
    for ending in (".keras", ".h5", ".weights.h5", ".safetensors", ".onnx"):
        path, theirs = f"{folder}/m{ending}", f"{folder}/k{ending}"
        if ending == ".weights.h5":
            mine.handle.save_weights(path, None)
            model.save_weights(theirs)
            fresh = Ours(_cornu.parse(json.dumps({"model": json.loads(config)}), "graph"))
            fresh.handle.load_weights(theirs, None, False, False)
            back = real.models.model_from_json(config)
            back.load_weights(path)
        elif ending == ".onnx":
            mine.handle.export(path, False)
            back, fresh = None, Ours(_cornu.open(path))
        else:
            mine.handle.save(path)
            back = real.models.load_model(path) if ending != ".safetensors" else None
            if back:
                model.save(theirs)
                equal(f"{ending}: the configuration", json.loads(back.to_json())["config"], json.loads(config)["config"])
            fresh = Ours(_cornu.open(theirs if back else path))
        if back:
            same(f"{ending} of cornu in Keras", outputs(back, x), expected, OUTPUT_LIMIT)
        same(f"{ending} read by cornu", fresh.outputs(x), expected, OUTPUT_LIMIT)


def compare(model, d: Drawn, folder: str, files: bool) -> float:
    x = d.rng.uniform(-1, 1, (BATCH * STEPS, *model.input_shape[1:])).astype("float32")
    y = d.rng.uniform(-1, 1, (BATCH * STEPS, *model.output_shape[1:])).astype("float32")
    model.save(f"{folder}/first.keras")
    mine = Ours(_cornu.open(f"{folder}/first.keras"))
    layers = json.loads(mine.handle.config())["config"]["layers"]
    equal("layers", [layer["config"]["name"] for layer in layers], [layer.name for layer in model.layers])
    equal("weights", [name for name, *_ in mine.handle.weights()], [w.path for w in model.weights])
    for a, b, w in zip(mine.weights(), model.get_weights(), model.weights):
        same(f"read {w.path}", a, b, 0)
    same("outputs", mine.outputs(x), outputs(model, x), OUTPUT_LIMIT)
    if files:
        compare_files(model, mine, x, folder)
    for i in range(0, len(x), BATCH):
        mine.handle.on_batch(x[i:i + BATCH], y[i:i + BATCH], None, True)
        model.train_on_batch(x[i:i + BATCH], y[i:i + BATCH])
    worst = 0.0
    for a, b, w in zip(mine.weights(), model.get_weights(), model.weights):
        worst = max(worst, same(f"after {STEPS} steps {w.path}", a, b, WEIGHT_LIMIT))
    return worst


def show(model) -> str:
    lines = []
    for layer in json.loads(model.to_json())["config"]["layers"]:
        reads = [t["config"]["keras_history"][0] for n in layer["inbound_nodes"]
                 for t in (n["args"][0] if isinstance(n["args"][0], list) else [n["args"][0]])]
        config = {k: v for k, v in layer["config"].items()
                  if k in ("filters", "kernel_size", "strides", "padding", "activation", "units", "pool_size", "target_shape", "axis", "groups")}
        lines.append(f"  {layer['name']} on {', '.join(reads)} {config}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=30)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first graph's number")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed, kinds, worst = [], collections.Counter(), 0.0
    for number in range(options.first, options.first + options.graphs):
        model, d = draw(options.seed, number)
        kinds.update(type(layer).__name__ for layer in model.layers)
        with tempfile.TemporaryDirectory() as folder:
            try:
                worst = max(worst, compare(model, d, folder, number - options.first < options.files))
            except Difference as e:
                failed.append(f"graph {number}: {e}")
            except Exception:
                failed.append(f"graph {number}: {traceback.format_exc(limit=-2)[-700:]}")
        if failed and failed[-1].startswith(f"graph {number}:"):
            print(f"{failed[-1]}\n{show(model)}", flush=True)
    print(", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    print(f"{options.graphs} graphs, {len(failed)} differ; weights at most {worst:.1e} apart; Keras {real.__version__}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
