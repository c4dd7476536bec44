#!/usr/bin/env python3
"""Networks as the beginner's guides of Keras and TensorFlow have them: make each in real Keras, give cornu its
to_json(), and train both for two epochs from the same weights on the same samples in the same order (each order
of its own would alone move the accuracy by a point or two). What cornu cannot do it must refuse by the name of the
layer or option.

usage: guides.py [--cornu PROGRAM] [--data FOLDER] [--quick] [--seeds N] [GUIDE...]

Exit status 0: every network that cornu takes reaches Keras's validation accuracy within 2 points (means over the
seeds), the same weights give the same accuracy in both (photographs: also read by cornu from their folder), and the
others are refused as expected.

--data FOLDER holds what there is of mnist (IDX files), cifar-10-batches-bin, and a folder with train/CLASS/IMAGE and
test/CLASS/IMAGE; Fashion-MNIST is where cornu finds it. What is missing is generated: smooth patterns under noise,
three labels in ten drawn at random. --quick generates photographs and CIFAR, and takes parts of the rest.
"""
import argparse
import csv
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

from parity import keras, named_weights, np, run
from keras import layers as L
from safetensors import safe_open

LIMIT = 0.02          # of accuracy, between cornu and Keras
SAME_WEIGHTS = 0.003  # of accuracy, of the same weights in both: a sample or two between two classes
BATCH, EPOCHS = 32, 2
LOGITS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def samples(random, shape, classes, count):
    """Smooth patterns, one a class, under noise, as bytes; three labels in ten are drawn at random, so
    that the loss stays above zero."""
    coarse = random.random((classes, 4, 4, shape[2]))
    rows, columns = (np.arange(n) * 4 // n for n in shape[:2])
    y = random.integers(0, classes, count)
    x = 0.5 * coarse[:, rows][:, :, columns][y] + 0.5 * random.random((count,) + shape)
    y = np.where(random.random(count) < 0.3, random.integers(0, classes, count), y)
    return (x * 255).astype(np.uint8), y


# ---- the networks ---------------------------------------------------------------------------------

def compiled(model, loss, optimizer="adam", metrics=("accuracy",)):
    model.compile(optimizer=optimizer, loss=loss, metrics=list(metrics))
    return model


def clothing(shape, classes):
    """Basic classification: the last layer gives logits."""
    return compiled(keras.Sequential([
        keras.Input(shape), L.Flatten(), L.Dense(128, activation="relu"), L.Dense(classes)]), LOGITS)


def quickstart(shape, classes):
    return compiled(keras.Sequential([
        keras.Input(shape), L.Flatten(), L.Dense(128, activation="relu"), L.Dropout(0.2),
        L.Dense(classes, activation="softmax")]), "sparse_categorical_crossentropy")


def digits_convnet(shape, classes):
    return compiled(keras.Sequential([
        keras.Input(shape), L.Conv2D(32, 3, activation="relu"), L.MaxPool2D(2), L.Conv2D(64, 3, activation="relu"),
        L.MaxPool2D(2), L.Flatten(), L.Dropout(0.5), L.Dense(classes, activation="softmax")]),
        "categorical_crossentropy")


def cifar_convnet(shape, classes):
    return compiled(keras.Sequential([
        keras.Input(shape), L.Conv2D(32, (3, 3), activation="relu"), L.MaxPooling2D((2, 2)),
        L.Conv2D(64, (3, 3), activation="relu"), L.MaxPooling2D((2, 2)), L.Conv2D(64, (3, 3), activation="relu"),
        L.Flatten(), L.Dense(64, activation="relu"), L.Dense(classes)]),
        LOGITS, metrics=[keras.metrics.SparseCategoricalAccuracy(name="acc")])


def convolutions(*filters):
    for count in filters:
        yield L.Conv2D(count, 3, padding="same", activation="relu")
        yield L.MaxPooling2D()


def photographs(shape, classes):
    """Loading images: the network divides by 255 itself."""
    return compiled(keras.Sequential([
        keras.Input(shape), L.Rescaling(1.0 / 255), *convolutions(16, 32, 64), L.Flatten(),
        L.Dense(128, activation="relu"), L.Dense(classes)]), LOGITS)


def two_kinds(shape, classes):
    """Cats and dogs: one sigmoid, pixels from -1 to 1."""
    return compiled(keras.Sequential([
        keras.Input(shape), L.Rescaling(1.0 / 127.5, offset=-1), *convolutions(16, 32), L.GlobalAveragePooling2D(),
        L.Dense(64, activation="relu"), L.Dense(1, activation="sigmoid")]),
        "binary_crossentropy", keras.optimizers.Adam(3e-3), [keras.metrics.BinaryAccuracy(name="acc")])


def batch_norm(shape, classes):
    return compiled(keras.Sequential([
        keras.Input(shape), L.Conv2D(16, 3, use_bias=False), L.BatchNormalization(momentum=0.9), L.Activation("relu"),
        L.MaxPooling2D(), L.Conv2D(32, 3, use_bias=False), L.BatchNormalization(momentum=0.9), L.ReLU(),
        L.GlobalAveragePooling2D(), L.Dense(classes, activation="softmax")]), "sparse_categorical_crossentropy")


def functional_chain(shape, classes):
    """The functional API's first network, on rows of pixels."""
    inputs = keras.Input(shape, name="digits")
    x = L.Dense(64, activation="relu", kernel_initializer=keras.initializers.HeNormal(seed=7))(inputs)
    x = L.Dense(64, activation="relu")(x)
    return compiled(keras.Model(inputs, L.Dense(classes)(x), name="rows"), LOGITS,
                    keras.optimizers.RMSprop(), [keras.metrics.SparseCategoricalAccuracy()])


def overfitting_dropout(shape, classes):
    return compiled(keras.Sequential([
        keras.Input(shape), L.Flatten(), L.Dense(256, activation="elu"), L.Dropout(0.5, seed=3),
        L.Dense(256, activation="elu"), L.Dropout(0.5, seed=4), L.Dense(classes)]), LOGITS,
        keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(1e-3, 1000, 0.9)))


def overfitting_l2(shape, classes):
    return compiled(keras.Sequential([
        keras.Input(shape), L.Flatten(), L.Dense(64, activation="elu", kernel_regularizer="l2", name="penalized"),
        L.Dense(classes)]), LOGITS)


def augmented(shape, classes):
    return compiled(keras.Sequential([
        keras.Input(shape), L.RandomFlip("horizontal"), L.RandomRotation(0.1), L.Rescaling(1.0 / 255),
        *convolutions(16), L.Flatten(), L.Dense(classes)]), LOGITS)


def augmented_inside(shape, classes):
    """Image classification: the random layers are a Sequential of their own."""
    changes = keras.Sequential([L.RandomFlip(), L.RandomZoom(0.1)], name="changes")
    return compiled(keras.Sequential([
        keras.Input(shape), changes, L.Rescaling(1.0 / 255), *convolutions(16), L.Flatten(), L.Dense(classes)]), LOGITS)


def residual(shape, classes):
    inputs = keras.Input(shape)
    x = L.Conv2D(8, 3, activation="relu", padding="same")(inputs)
    y = L.Conv2D(8, 3, activation="relu", padding="same")(x)
    x = L.GlobalAveragePooling2D()(L.add([x, y], name="shortcut"))
    return compiled(keras.Model(inputs, L.Dense(classes)(x)), LOGITS)


def transfer(shape, classes):
    base = keras.applications.MobileNetV2(input_shape=shape, include_top=False, weights=None, alpha=0.35)
    inputs = keras.Input(shape)
    x = L.Rescaling(1.0 / 127.5, offset=-1)(inputs)
    x = L.GlobalAveragePooling2D()(base(x, training=False))
    return compiled(keras.Model(inputs, L.Dense(1)(L.Dropout(0.2)(x))), keras.losses.BinaryCrossentropy(True))


def text(shape, classes):
    return compiled(keras.Sequential([
        keras.Input((50,)), L.Embedding(1000, 16, mask_zero=True, name="words"), L.LSTM(16), L.Dense(1, activation="sigmoid")]),
        "binary_crossentropy")


class Guide(NamedTuple):
    network: object  # (shape, classes) to a compiled model
    data: str        # a key of DATA
    refusal: tuple   # what cornu's message must hold; (): it trains


GUIDES = {
    "clothing": Guide(clothing, "fashion", ()),
    "quickstart": Guide(quickstart, "mnist", ()),
    "digits-convnet": Guide(digits_convnet, "mnist", ()),
    "cifar-convnet": Guide(cifar_convnet, "cifar", ()),
    "photographs": Guide(photographs, "photos", ()),
    "two-kinds": Guide(two_kinds, "two kinds", ()),
    "batch-norm": Guide(batch_norm, "mnist", ()),
    "functional-chain": Guide(functional_chain, "rows", ()),
    "overfitting-dropout": Guide(overfitting_dropout, "fashion", ()),
    "overfitting-l2": Guide(overfitting_l2, "fashion", ()),
    "augmented": Guide(augmented, "photos", ()),
    "augmented-inside": Guide(augmented_inside, "photos", ()),
    "residual": Guide(residual, "cifar", ()),
    "transfer": Guide(transfer, "two kinds", ()),
    "text": Guide(text, "none", ("words, Embedding", "mask_zero")),
}


# ---- the data -------------------------------------------------------------------------------------

class Data(NamedTuple):
    file: str      # .npz of what follows
    train: tuple   # uint8 pixels, class numbers
    test: tuple
    classes: int
    folder: str    # of the same as photographs, or None


def read_idx(folder, part):
    for kind, skip in (("images-idx3", 16), ("labels-idx1", 8)):
        path, = glob.glob(os.path.join(folder, f"{part}-{kind}-ubyte*"))
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
            content = np.frombuffer(f.read()[skip:], np.uint8)
        yield content.reshape(-1, 28, 28) if skip == 16 else content.astype(np.int32)


def idx_folder(options, name):
    """Of the set `name`: in --data, else where cornu knows it to be."""
    for path in (options.data and os.path.join(options.data, name),
                 *re.findall(rf"(?m)^{name}\b.*\n?.*?(/\S+)", run(options.cornu, "data", "list"))):
        if path and glob.glob(os.path.join(path, "t10k-images-idx3-ubyte*")):
            return path
    return None


def of_arrays(folder, train, test, photographs=None):
    path = os.path.join(folder, "data.npz")
    np.savez(path, x_train=train[0], y_train=train[1], x_test=test[0], y_test=test[1])
    return Data(path, train, test, int(train[1].max()) + 1, photographs)


def generated(shape, classes, count):
    x, y = samples(np.random.default_rng(5), shape, classes, count)
    return (x[count // 4:], y[count // 4:].astype(np.int32)), (x[:count // 4], y[:count // 4].astype(np.int32))


def drawings(options, folder, name, shape=(28, 28)):
    found = idx_folder(options, name) or idx_folder(options, "fashion_mnist")
    if not found:
        train, test = generated((28, 28, 1), 10, 16000)
    else:
        train, test = (tuple(read_idx(found, p)) for p in ("train", "t10k"))
        if options.quick:
            train, test = (train[0][:12000], train[1][:12000]), (test[0][:4000], test[1][:4000])
    return of_arrays(folder, *((x.reshape(-1, *shape), y) for x, y in (train, test)))


def cifar(options, folder):
    paths = options.data and not options.quick and [
        sorted(glob.glob(os.path.join(options.data, "cifar-10-batches-bin", name)))
        for name in ("data_batch_*.bin", "test_batch.bin")]
    if not paths or not all(paths):
        return of_arrays(folder, *generated((32, 32, 3), 10, 8000))
    splits = []
    for names in paths:
        rows = np.concatenate([np.fromfile(name, np.uint8).reshape(-1, 3073) for name in names])
        splits.append((rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, 0].astype(np.int32)))
    return of_arrays(folder, *splits)


def write_photos(folder, classes, side):
    """Generated ones, as train/CLASS/IMAGE and test/CLASS/IMAGE."""
    for split, (x, y) in zip(("train", "test"), generated((side, side, 3), classes, 2400)):
        for c in range(classes):
            os.makedirs(os.path.join(folder, split, f"kind {c}"))
        for i, (pixels, c) in enumerate(zip(x, y)):
            keras.utils.save_img(os.path.join(folder, split, f"kind {c}", f"{i}.png"), pixels, scale=False)


def copy_photos(source, classes, folder):
    """The classes of which there are most."""
    names = sorted(os.listdir(os.path.join(source, "train")))
    names.sort(key=lambda name: -len(os.listdir(os.path.join(source, "train", name))))
    for split in ("train", "test"):
        for name in names[:classes]:
            shutil.copytree(os.path.join(source, split, name), os.path.join(folder, split, name))


def read_photos(folder, side):
    """As cornu reads them: each resized to the nearest pixels. In an order of no meaning."""
    names = sorted(os.listdir(os.path.join(folder, "train")))
    for split in ("train", "test"):
        x, y = [], []
        for c, name in enumerate(names):
            for path in sorted(glob.glob(os.path.join(folder, split, name, "*"))):
                x.append(np.array(keras.utils.load_img(path, target_size=(side, side), interpolation="nearest")))
                y.append(c)
        order = np.random.default_rng(6).permutation(len(x))
        yield np.stack(x)[order], np.array(y, np.int32)[order]


def photos(options, folder, classes=8):
    folder = os.path.join(folder, "photographs")
    real = None if options.quick or not options.data else glob.glob(os.path.join(options.data, "*", "train"))
    side = 150 if real else 32
    if real:
        copy_photos(os.path.dirname(real[0]), classes, folder)
    else:
        write_photos(folder, min(classes, 5), side)
    return of_arrays(os.path.dirname(folder), *read_photos(folder, side), folder)


DATA = {
    "fashion": lambda options, folder: drawings(options, folder, "fashion_mnist"),
    "mnist": lambda options, folder: drawings(options, folder, "mnist", (28, 28, 1)),
    "rows": lambda options, folder: drawings(options, folder, "mnist", (784,)),
    "cifar": cifar,
    "photos": photos,
    "two kinds": lambda options, folder: photos(options, folder, 2),
}


# ---- the comparison -------------------------------------------------------------------------------

def for_keras(model, data, split):
    """Pixels as the guides prepare them: divided by 255, unless the network does that itself."""
    x, y = getattr(data, split)
    x = x.astype(np.float32) if any(isinstance(layer, L.Rescaling) for layer in model.layers) else x / np.float32(255)
    return x, np.eye(data.classes, dtype=np.float32)[y] if model.loss == "categorical_crossentropy" else y


def accuracy(scores):
    return next(value for name, value in scores.items() if name.startswith("val_") and name != "val_loss")


def train_in_keras(guide, data, seed):
    keras.backend.clear_session()
    keras.utils.set_random_seed(seed)
    model = guide.network(data.train[0].shape[1:], data.classes)
    initial = {name: w.numpy() for name, w in named_weights(model).items()}
    history = model.fit(*for_keras(model, data, "train"), batch_size=BATCH, epochs=EPOCHS, verbose=0,
                        shuffle=False, validation_data=for_keras(model, data, "test"))
    return model, initial, accuracy({name: values[-1] for name, values in history.history.items()})


def train_in_cornu(program, folder, model, initial, data, seed):
    """The accuracy that cornu logs, that of its model file (on the folder where there is one), and its weights."""
    path = {name: os.path.join(folder, name) for name in
            ("net.json", "recipe.json", "weights.npz", "log.csv", "out.safetensors")}
    with open(path["net.json"], "w") as f:
        f.write(model.to_json())
    with open(path["recipe.json"], "w") as f:
        json.dump({"model": "net.json", "fit": {"batch_size": BATCH, "epochs": EPOCHS, "validation": "test",
                                                "seed": seed, "shuffle": False}}, f)
    np.savez(path["weights.npz"], **initial)
    run(program, "train", path["recipe.json"], "--data", data.file, "--init", path["weights.npz"],
        "--log", path["log.csv"], "--save", path["out.safetensors"], "--quiet")
    with open(path["log.csv"], newline="") as f:
        logged = accuracy({name: float(value) for name, value in list(csv.DictReader(f))[-1].items()})
    printed = run(program, "evaluate", path["out.safetensors"], "--data", data.folder or data.file)
    evaluated = float(re.findall(r"acc\w*: ([.\d]+)", printed)[-1])
    with safe_open(path["out.safetensors"], "numpy") as f:
        weights = {name: f.get_tensor(name) for name in initial}
    return logged, evaluated, weights


def evaluate_in_keras(model, weights, data):
    for name, w in named_weights(model).items():
        w.assign(weights[name])
    scores = model.evaluate(*for_keras(model, data, "test"), verbose=0, return_dict=True)
    return accuracy({f"val_{name}": value for name, value in scores.items()})


def compare(name, guide, options):
    """Trains, and prints a row; True if cornu did as well as Keras."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        data = DATA[guide.data](options, folder)
        for seed in range(1, options.seeds + 1):
            model, initial, theirs = train_in_keras(guide, data, seed)
            ours, again, weights = train_in_cornu(options.cornu, folder, model, initial, data, seed)
            apart = max(abs(again - ours), abs(evaluate_in_keras(model, weights, data) - ours))
            found.append((theirs, ours, apart))
    theirs, ours, apart = np.array(found).T
    right = abs(ours.mean() - theirs.mean()) <= LIMIT and apart.max() <= SAME_WEIGHTS
    print(f"{name:21}{theirs.mean():7.4f} ±{theirs.std():.4f}{ours.mean():8.4f} ±{ours.std():.4f}{apart.max():8.4f}  "
          f"{len(data.train[0])} samples{'' if right else '  WRONG'}", flush=True)
    return bool(right)


def refuse(name, guide, options):
    """True if cornu refuses the network in one line that holds what it must."""
    keras.backend.clear_session()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.json")
        with open(path, "w") as f:
            f.write(guide.network((64, 64, 3), 8).to_json())
        done = subprocess.run([options.cornu, "summary", path], capture_output=True, text=True)
    line = done.stderr.strip().replace(folder + os.sep, "")
    right = done.returncode != 0 and "\n" not in line and all(part in line for part in guide.refusal)
    print(f"{name:21}{line[:200]}{'' if right else '  WRONG, expected ' + ', '.join(guide.refusal)}", flush=True)
    return right


def check_aliases(program):
    """Every name that keras.layers has for a layer of cornu's must be known."""
    def summary(layer, folder):
        path = os.path.join(folder, "r.yaml")
        with open(path, "w") as f:
            f.write(f"model: {{input: [8, 8, 3], layers: [{layer}]}}\n")
        return subprocess.run([program, "summary", path], capture_output=True, text=True).stderr
    with tempfile.TemporaryDirectory() as folder:
        known = re.search(r"cornu has (.*)", summary("NoSuchLayer", folder)).group(1).split(", ")
        own = [getattr(L, name.strip()) for name in known if hasattr(L, name.strip())]  # the others are operations of keras.ops
        names = [n for n in dir(L) if any(getattr(L, n) is layer for layer in own)]
        missing = [n for n in names if "unknown layer" in summary(n, folder)]
    unknown = f"; unknown: {', '.join(missing)}" if missing else ""
    print(f"{'aliases':21}{len(names)} names of {len(own)} layers{unknown}")
    return not missing


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cornu", help="the program",
                        default=os.path.join(os.path.dirname(here), "build", "release", "cornu"))
    parser.add_argument("--data", metavar="FOLDER", help="mnist, cifar-10-batches-bin, a folder of photographs")
    parser.add_argument("--quick", action="store_true", help="parts of the data, and generated ones: a few minutes")
    parser.add_argument("--seeds", type=int, help="runs whose mean accuracy is compared (3; --quick: 1)")
    parser.add_argument("guides", nargs="*", default=list(GUIDES), metavar="GUIDE")
    options = parser.parse_args()
    options.seeds = options.seeds or (1 if options.quick else 3)
    for name in options.guides:
        if name not in GUIDES:
            parser.error(f"found {name}; expected some of: {', '.join(GUIDES)}")
    print(f"cornu beside Keras {keras.__version__}: validation accuracy after {EPOCHS} epochs, mean and deviation of "
          f"{options.seeds} seeds,\nand how far apart evaluations of cornu's weights are")
    print(f"{'guide':21}{'Keras':>7}{'':8}{'cornu':>8}{'':8}{'apart':>8}")
    wrong = 0 if check_aliases(options.cornu) else 1
    for name in options.guides:
        guide = GUIDES[name]
        try:
            wrong += not (refuse if guide.refusal else compare)(name, guide, options)
        except (RuntimeError, KeyError, ValueError, OSError) as e:
            wrong += 1
            print(f"{name:21}{type(e).__name__}: {e}  WRONG", flush=True)
    print(f"{len(options.guides)} guides, {wrong} wrong (limits: accuracy {LIMIT:g}, of the same weights "
          f"{SAME_WEIGHTS:g})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
