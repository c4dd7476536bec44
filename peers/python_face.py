"""cornu.keras beside the installed Keras: the same signatures, and the same script gives the same numbers.

    PYTHONPATH=build/release/python .venv/bin/python peers/python_face.py [--all | --update]

Every class and function that both have: parameters' names, order and defaults; what differs must stand in DIFFERENT,
with the reason. Progress lines must look the same but for their numbers. Then scripts of tests/python/scripts are run
with both, from the same weights and without shuffling; numbers must agree within 1e-4 of their size. What Keras gives
must be what tests/python/scripts/expected.json holds cornu to without Keras. A script that neither changed nor meets
another Keras since then would give it again: of those every fourth is run, or with --all each. --update runs all and
writes what Keras gives."""
import contextlib
import inspect
import io
import json
import multiprocessing
import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from operator import attrgetter
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
import keras as real  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from cornu import keras as ours  # noqa: E402
from cornu.keras import _keras_names  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))
import exchange  # noqa: E402  runs the scripts

# "module.Class.parameter" or "module.Class": why it differs.
DIFFERENT = {
    "layers.BatchNormalization.renorm_momentum": "tf.keras 2's, without effect",
    **{f"callbacks.TensorBoard.{extra}": "cornu's own, by name alone"
       for extra in ("samples", "confusion_matrix", "hyperparameters")},
    "layers.InputLayer": "Keras's takes **kwargs",
    "layers.AveragePooling2D.pool_size": "Keras wants it said; cornu's is 2, as MaxPooling2D's",
    "layers.AvgPool2D.pool_size": "the same",
    "layers.AveragePooling1D.pool_size": "the same",
    "layers.AvgPool1D.pool_size": "the same",
    **{f"layers.{pool}.name": "among **kwargs, as of every layer"
       for pool in ("AveragePooling1D", "AvgPool1D", "MaxPooling1D", "MaxPool1D", "AveragePooling2D", "AvgPool2D",
                    "MaxPooling2D", "MaxPool2D")},
    "layers.RandomCrop.name": "among **kwargs, as of every layer",
    **{f"layers.{layer}.activity_regularizer": "among **kwargs, as of every layer" for layer in ("Embedding", "EinsumDense")},
    **{f"layers.{layer}.value_range": "a list of the same numbers" for layer in ("AutoContrast", "RandomBrightness", "RandomColorDegeneration", "RandomColorJitter", "RandomContrast", "RandomErasing",
                     "RandomHue", "RandomInvert", "RandomPosterization", "RandomSaturation", "RandomSharpness", "Solarization")},
    "layers.RandomErasing.scale": "the same",
    **{f"layers.{layer}.{parameter}": "among **kwargs, as of every layer"
       for layer in ("SpatialDropout1D", "SpatialDropout2D") for parameter in ("name", "dtype")},
    **{f"layers.Discretization.{parameter}": "among **kwargs, as of every layer" for parameter in ("name", "dtype")},
    "layers.ZeroPadding1D.padding": "Keras's is 1, which is the same",
    "losses.deserialize.name": "cornu's is called config, as those of the other modules",
    "losses.deserialize.config": "the same",
    "losses.Loss": "the base class, of which no object is made",
    "metrics.Metric": "the same",
    "metrics.BinaryIoU.target_class_ids": "a list, as JSON has it",
}
# Keras alone runs these as graphs; the others eagerly in two thirds of the time, as short scripts compile more than they
# compute. Eagerly its optimizer refuses weights that are trained later.
AS_GRAPHS = {"frozen.py"}


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
                   "ops", "optimizers", "optimizers.schedules", "saving", "utils"):
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
    for method in ("fit", "evaluate", "predict", "compile", "add", "save", "export"):
        a, b = (list(inspect.signature(getattr(k.Sequential, method)).parameters) for k in (ours, real))
        if [p for p in a if p != "kwargs"] != [p for p in b if p != "kwargs"]:
            bad.append(f"Sequential.{method}: cornu takes {a}, Keras {b}")
    return bad


# ---- scripts ---------------------------------------------------------------------------------------


def numbers_of(name, cornu):
    """The results of a script, or the error that it ended with."""
    tf.config.run_functions_eagerly(not cornu and name not in AS_GRAPHS)
    try:
        return exchange.run(exchange.FOLDER / name, cornu)
    except Exception as error:
        return f"{'cornu' if cornu else 'Keras'}: {type(error).__name__}: {error}"


def differences(name, mine, theirs):
    """Whole arrays of both, not only what expected.json keeps of them."""
    failed = [result for result in (mine, theirs) if isinstance(result, str)]
    if failed:
        return [f"{name}: {error}" for error in failed]
    bad = exchange.differences(exchange.kept(mine), exchange.kept(theirs))
    worst = 0.0
    for key in mine.keys() & theirs.keys():
        a, b = mine[key], theirs[key]
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.shape != b.shape:
            continue
        apart = np.max(np.abs(a - b), initial=0) / max(np.max(np.abs(b), initial=0), 1e-6)
        worst = max(worst, apart)
        if not apart <= exchange.CLOSE:
            bad.append(f"{key}: apart by {apart:.2e} of its size")
    print(f"{name:28} {len(mine):4} results, apart by at most {worst:.1e}")
    return [f"{name}: {difference}" for difference in bad]


def due(scripts):
    """Those without a result of the installed Keras, and every fourth."""
    origin = exchange.read_origin()
    known = origin["scripts"] if origin["keras"] == real.__version__ else {}
    return [script for i, script in enumerate(scripts) if i % 4 == 0 or known.get(script.stem) != exchange.checksum(script)]


def compare_scripts(every, update):
    """Scripts with both, Keras's in a process a core; update: what Keras gives goes into expected.json."""
    scripts = sorted(exchange.FOLDER.glob("*.py"))
    names = [script.name for script in (scripts if every or update else due(scripts))]
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 8), multiprocessing.get_context("spawn")) as pool:
        runs = {name: pool.submit(numbers_of, name, False) for name in names}
        mine = {name: numbers_of(name, True) for name in names}
        theirs = {name: run.result() for name, run in runs.items()}
    bad = [difference for name in names for difference in differences(name, mine[name], theirs[name])]
    gave = {name.removesuffix(".py"): result for name, result in theirs.items() if not isinstance(result, str)}
    if update:
        exchange.write_expected(gave)
        exchange.write_origin(real.__version__)
    expected = exchange.read_expected()
    for name, result in gave.items():
        told = exchange.differences(json.loads(json.dumps(exchange.kept(result))), expected.get(name, {}))
        bad += [f"{exchange.EXPECTED.name}: {name}: Keras gives otherwise now: {difference}" for difference in told]
    return bad, len(names)


# ---- names -----------------------------------------------------------------------------------------


def compare_names():
    """tests/python/test_keras_names.py holds cornu to these names without Keras."""
    modules = {name: attrgetter(name)(real) for name in ("layers", "losses", "metrics", "optimizers", "initializers",
                                                         "regularizers", "constraints", "activations", "callbacks")}
    modules["schedules"] = real.optimizers.schedules
    bad = []
    for name, module in modules.items():
        there = {n for n in dir(module) if not n.startswith("_") and not inspect.ismodule(getattr(module, n))}
        if apart := there ^ getattr(_keras_names, name):
            bad.append(f"_keras_names.{name}: Keras has other names: {' '.join(sorted(apart))}; run make_keras_names.py")
    return bad


# ---- lines -----------------------------------------------------------------------------------------


generator = np.random.default_rng(3)
IMAGES, LABELS = generator.random((96, 12, 12, 3), np.float32), generator.integers(0, 5, 96)


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


def main():
    bad = compare_signatures() + compare_names() + compare_lines()
    different, count = compare_scripts("--all" in sys.argv[1:], "--update" in sys.argv[1:])
    bad += different
    print("\n".join(bad))
    print(f"{count} scripts, {len(bad)} differences")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
