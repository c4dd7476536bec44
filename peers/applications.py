"""cornu's keras.applications beside Keras's own: the same layers by name, options and shapes, the same outputs with the same
weights, and the same losses and statistics in training. Run by a Python that has Keras, with cornu on its path:

    PYTHONPATH=build/release/python python peers/applications.py [--fast] [NAME ...]
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # rounds as one machine does
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from cornu import keras as ck  # noqa: E402

SMALL = {"weights": None, "classes": 7}
# Keras's function: arguments of each case. The first is also trained.
CASES: dict[str, list[dict]] = {
    "VGG16": [{"input_shape": (32, 32, 3)}, {"include_top": False, "pooling": "avg", "input_shape": (33, 47, 1)}],
    "VGG19": [{"include_top": False, "pooling": "max", "input_shape": (32, 32, 3)}],
    "ResNet50": [{"input_shape": (64, 64, 3)}, {"include_top": False, "pooling": "max", "input_shape": (33, 47, 3)}],
    "ResNet101": [{"input_shape": (48, 48, 3)}],
    "ResNet152": [{"input_shape": (48, 48, 3)}],
    "ResNet50V2": [{"input_shape": (64, 64, 3)}, {"include_top": False, "pooling": "max", "input_shape": (33, 47, 3)}],
    "ResNet101V2": [{"input_shape": (48, 48, 3)}],
    "ResNet152V2": [{"input_shape": (48, 48, 3)}],
    "InceptionV3": [{"input_shape": (107, 107, 3)}, {"include_top": False, "pooling": "max", "input_shape": (75, 85, 3)}],
    "DenseNet121": [{"input_shape": (64, 64, 3)}, {"include_top": False, "pooling": "max", "input_shape": (33, 47, 3)}],
    "DenseNet169": [{"input_shape": (48, 48, 3)}],
    "DenseNet201": [{"input_shape": (48, 48, 3)}],
    "MobileNet": [{"input_shape": (64, 64, 3)}, {"alpha": 0.5, "depth_multiplier": 2, "include_top": False, "pooling": "avg",
                                                 "input_shape": (33, 47, 3)},
                  {"dropout": 0.0, "classifier_activation": None, "input_shape": (32, 32, 3)}],
    "MobileNetV2": [{"input_shape": (64, 64, 3)}, {"alpha": 0.35, "include_top": False, "pooling": "avg", "input_shape": (33, 47, 3)},
                    {"alpha": 1.4, "classifier_activation": "sigmoid", "input_shape": (32, 32, 3)}],
    "MobileNetV3Small": [{"input_shape": (64, 64, 3)}, {"alpha": 0.75, "include_top": False, "pooling": "avg",
                                                        "input_shape": (33, 47, 3)},
                         {"alpha": 1.5, "minimalistic": True, "include_preprocessing": False, "dropout_rate": 0.0,
                          "input_shape": (32, 32, 3)}],
    "MobileNetV3Large": [{"input_shape": (64, 64, 3)}, {"minimalistic": True, "include_top": False, "pooling": "max",
                                                        "input_shape": (33, 47, 3)}],
    "EfficientNetB0": [{"input_shape": (64, 64, 3)}, {"include_top": False, "pooling": "max", "input_shape": (33, 47, 3)}],
    "EfficientNetB1": [{"input_shape": (32, 32, 3)}],
    "EfficientNetB2": [{"input_shape": (32, 32, 3)}],
    "EfficientNetB3": [{"input_shape": (32, 32, 3)}],
    "EfficientNetB4": [{"input_shape": (32, 32, 3)}],
    "EfficientNetB5": [{"input_shape": (32, 32, 3)}],
    "EfficientNetB6": [{"input_shape": (32, 32, 3)}],
    "EfficientNetB7": [{"input_shape": (32, 32, 3)}],
    "EfficientNetV2B0": [{"input_shape": (64, 64, 3)}, {"include_top": False, "include_preprocessing": False, "pooling": "max",
                                                        "input_shape": (33, 47, 3)}],
    "EfficientNetV2B1": [{"input_shape": (32, 32, 3)}],
    "EfficientNetV2B2": [{"input_shape": (32, 32, 3)}],
    "EfficientNetV2B3": [{"input_shape": (32, 32, 3)}],
    "EfficientNetV2S": [{"input_shape": (32, 32, 3)}],
    "Xception": [{"input_shape": (96, 96, 3)}, {"include_top": False, "pooling": "max", "input_shape": (71, 81, 3)}],
}
FAST = ["MobileNetV3Small", "ResNet50", "MobileNetV2", "EfficientNetB0"]  # of which the first is trained
WORST = {"outputs": 1e-4, "losses": 1e-4, "statistics": 1e-4}


def described(model) -> list[tuple]:
    return [(layer.name, type(layer).__name__, tuple(layer.output.shape), [tuple(w.shape) for w in layer.weights])
            for layer in model.layers]


def difference(a, b) -> float:
    """The largest, relative to the scale of b."""
    return float(np.abs(np.asarray(a) - np.asarray(b)).max() / max(np.abs(np.asarray(b)).max(), 1e-30))


def shaken(model, seed: int) -> None:
    """Weights that a trained network may have: also batch normalizations differ."""
    rng = np.random.default_rng(seed)
    values = []
    for weight in model.weights:
        value = np.asarray(keras.ops.convert_to_numpy(weight))
        if weight.name == "gamma":  # small, as in trained networks; with 1 a rounding becomes percents of gradients
            value = rng.uniform(0.2, 0.4, value.shape)
        elif weight.name in ("moving_variance", "variance"):
            value = rng.uniform(0.8, 1.2, value.shape)
        elif weight.name in ("beta", "moving_mean", "bias", "mean"):
            value = rng.normal(0, 0.05, value.shape)
        values.append(value.astype(value.dtype if value.dtype.kind == "i" else np.float32))
    model.set_weights(values)


def without_dropout(config: dict) -> dict:
    config = json.loads(json.dumps(config))
    for layer in config["layers"]:
        if "rate" in layer["config"]:
            layer["config"]["rate"] = 0.0
    return config


def good_rate(config: dict, weights: list, batch: tuple) -> float:
    """A learning rate with which a step changes the loss by some percents."""
    model = keras.Model.from_config(config)
    model.set_weights(weights)
    model.compile(keras.optimizers.SGD(1.0), "sparse_categorical_crossentropy")
    model.train_on_batch(*batch)
    squares = [float(np.square(np.float64(keras.ops.convert_to_numpy(w)) - before).sum())
               for w, before in zip(model.weights, weights) if w.trainable]
    return 0.05 / sum(squares)


def trained(module, config: dict, weights: list, batches: list, rate: float) -> tuple[list, list]:
    model = module.Model.from_config(config)
    model.set_weights(weights)
    model.compile(module.optimizers.SGD(rate), "sparse_categorical_crossentropy")
    losses = [float(np.asarray(model.train_on_batch(x, y)).ravel()[0]) for x, y in batches]
    return losses, [np.asarray(w) for w in model.get_weights()]


def compare(name: str, arguments: dict, train: bool) -> dict:
    keras.utils.clear_session()
    ck.utils.clear_session()
    arguments = {**SMALL, **arguments}
    theirs = getattr(keras.applications, name)(**arguments)
    ours = getattr(ck.applications, name)(**arguments)
    assert ours.name == theirs.name, (ours.name, theirs.name)
    for a, b in zip(described(ours), described(theirs)):
        assert a == b, f"{name}: found {a}; expected {b}"
    assert len(ours.layers) == len(theirs.layers) and ours.count_params() == theirs.count_params()
    read = ck.models.model_from_json(theirs.to_json())
    a, b = json.loads(ours.to_json())["config"], json.loads(read.to_json())["config"]
    for one, other in zip(a["layers"], b["layers"]):  # a file's operations with a number are read as layers
        is_operation = one["module"].startswith("keras.src.ops")
        assert one["name"] == other["name"] if is_operation else one == other, f"{name}: found {one}; expected {other}"
    assert {**a, "layers": []} == {**b, "layers": []}

    shaken(theirs, 1)
    weights = theirs.get_weights()
    rng = np.random.default_rng(2)
    size = tuple(n or 40 for n in theirs.input_shape[1:])
    x = rng.uniform(0, 255, (8, *size)).astype(np.float32)
    x = x if name.startswith(("Efficient", "MobileNetV3", "ConvNeXt")) else x / 127.5 - 1
    expected = theirs.predict(x, verbose=0)
    ours.set_weights(weights)
    found = {"outputs": difference(ours.predict(x, verbose=0), expected)}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.keras"
        theirs.save(path)
        found["file"] = difference(ck.models.load_model(path).predict(x, verbose=0), expected)
        theirs.save_weights(pathlib.Path(folder) / "model.weights.h5")
        again = getattr(ck.applications, name)(**{**arguments, "weights": pathlib.Path(folder) / "model.weights.h5"})
        found["weights"] = difference(again.predict(x, verbose=0), expected)
    if train:
        batches = [(np.roll(x, i, 0), rng.integers(0, arguments["classes"], 8)) for i in range(5)]
        rate = good_rate(without_dropout(theirs.get_config()), weights, batches[0])
        one, one_after = trained(keras, without_dropout(theirs.get_config()), weights, batches, rate)
        two, two_after = trained(ck, without_dropout(ours.get_config()), weights, batches, rate)
        found["losses"] = max(abs(a - b) / abs(b) for a, b in zip(two, one))
        statistics = [i for i, w in enumerate(theirs.weights) if w.name.startswith("moving_")]
        found["statistics"] = max([difference(two_after[i], one_after[i]) for i in statistics], default=0.0)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="Keras's functions; all")
    parser.add_argument("--no-training", action="store_true", help="outputs alone")
    parser.add_argument("--fast", action="store_true", help="a few networks")
    options = parser.parse_args()
    failures = 0
    tf.config.run_functions_eagerly(options.fast)  # else most of the time is Keras's tracing
    for name in options.names or (FAST if options.fast else CASES):
        for i, arguments in enumerate(CASES[name][:1] if options.fast else CASES[name]):
            begin = time.time()
            try:
                found = compare(name, arguments, i == 0 and not options.no_training and not (options.fast and name != FAST[0]))
            except (AssertionError, ValueError, NotImplementedError) as error:
                failures += 1
                print(f"{name} {arguments}: {error}"[:1500], flush=True)
                continue
            bad = [key for key, value in found.items() if not value <= WORST.get(key, WORST["outputs"])]
            failures += bool(bad)
            print(f"{name} {arguments}: " + ", ".join(f"{k} {v:.1e}" for k, v in found.items()) +
                  f"; {time.time() - begin:.0f} s" + (f"  TOO FAR: {', '.join(bad)}" if bad else ""), flush=True)
    print("all agree" if not failures else f"{failures} cases differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
