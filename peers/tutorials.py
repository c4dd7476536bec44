#!/usr/bin/env python3
"""Ten networks of tutorials at their usual size: cornu beside Keras on its backends and PyTorch, in turns.

usage: peers/tutorials.py [TUTORIAL…] [--rounds N] [--peers P,…] [--python FOLDER] [--json FILE]

Each peer is a process of its own that has trained once (its compilation is not counted, except where the tutorial
itself makes new models); a round times the same number of epochs in each of them, one after the other, the others
stopped (SIGSTOP) meanwhile. What counts is the least and the median over the rounds. PyTorch's own form is there for
the networks that it has layers for; --python is the folder with the package `cornu`.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
PEERS = ("keras", "keras-xla", "keras-jax", "torch", "torch-compile")


def pictures(count, *shape):
    return np.random.default_rng(1).random((count, *shape), np.float32)


def kinds(count, classes):
    return np.random.default_rng(2).integers(0, classes, count)


def fitting(model, x, y, batch, **more):
    return lambda: model.fit(x, y, batch_size=batch, epochs=1, verbose=0, **more)


def lstm_rows(keras, tf, jit):
    """Pictures of MNIST read row by row."""
    model = keras.Sequential([keras.Input((28, 28)), keras.layers.LSTM(128), keras.layers.Dense(10, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=jit)
    return fitting(model, pictures(3200, 28, 28), kinds(3200, 10), 64)


def signals(keras, tf, jit):
    """Three convolutions over 500 readings."""
    layers, model = keras.layers, keras.Sequential([keras.Input((500, 1))])
    for _ in range(3):
        model.add(layers.Conv1D(64, 3, padding="same"))
        model.add(layers.BatchNormalization())
        model.add(layers.ReLU())
    model.add(layers.GlobalAveragePooling1D())
    model.add(layers.Dense(2, activation="softmax"))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=jit)
    return fitting(model, pictures(960, 500, 1), kinds(960, 2), 32)


def vision_transformer(keras, tf, jit):
    """Four blocks over 64 patches of a picture of CIFAR."""
    layers, width, count = keras.layers, 64, 64
    image, place = keras.Input((32, 32, 3)), keras.Input((count,))
    x = layers.Reshape((count, width))(layers.Conv2D(width, 4, strides=4)(image))
    x = layers.Add()([x, layers.Embedding(count, width)(place)])
    for _ in range(4):
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        y = layers.MultiHeadAttention(num_heads=4, key_dim=width // 4)(y, y)
        x = layers.Add()([x, y])
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        y = layers.Dense(2 * width, activation="gelu")(y)
        x = layers.Add()([x, layers.Dense(width)(y)])
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization(epsilon=1e-6)(x))
    model = keras.Model([image, place], layers.Dense(10, activation="softmax")(x))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=jit)
    return fitting(model, [pictures(640, 32, 32, 3), np.tile(np.arange(count), (640, 1))], kinds(640, 10), 64)


def autoencoder(keras, tf, jit):
    """Transposed convolutions bring pictures of MNIST back."""
    layers = keras.layers
    model = keras.Sequential([
        keras.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu", padding="same"), layers.MaxPooling2D(2, padding="same"),
        layers.Conv2D(32, 3, activation="relu", padding="same"), layers.MaxPooling2D(2, padding="same"),
        layers.Conv2DTranspose(32, 3, strides=2, activation="relu", padding="same"),
        layers.Conv2DTranspose(32, 3, strides=2, activation="relu", padding="same"),
        layers.Conv2D(1, 3, activation="sigmoid", padding="same")])
    model.compile("adam", "binary_crossentropy", jit_compile=jit)
    x = pictures(1280, 28, 28, 1)
    return fitting(model, x, x, 128)


def table(keras, tf, jit):
    """Regression on nine columns, which Normalization standardizes."""
    x = pictures(3200, 9)
    normalizer = keras.layers.Normalization(axis=-1)
    normalizer.adapt(x)
    model = keras.Sequential([keras.Input((9,)), normalizer, keras.layers.Dense(64, activation="relu"),
                              keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.001), "mean_absolute_error", jit_compile=jit)
    return fitting(model, x, x.sum(1), 32)


def multi_label(keras, tf, jit):
    """Six answers to each picture."""
    layers, model = keras.layers, keras.Sequential([keras.Input((64, 64, 3))])
    for filters in (32, 64, 64):
        model.add(layers.Conv2D(filters, 3, activation="relu"))
        model.add(layers.MaxPooling2D(2))
    for layer in (layers.Flatten(), layers.Dense(64, activation="relu"), layers.Dense(6, activation="sigmoid")):
        model.add(layer)
    model.compile("adam", "binary_crossentropy", metrics=["binary_accuracy", keras.metrics.AUC(multi_label=True, num_labels=6)],
                  jit_compile=jit)
    return fitting(model, pictures(640, 64, 64, 3), kinds(640 * 6, 2).reshape(640, 6), 32)


def cats_and_dogs(keras, tf, jit):
    """Augmentation within the model, three convolutions at 180 by 180."""
    layers = keras.layers
    model = keras.Sequential([
        keras.Input((180, 180, 3)), layers.RandomFlip("horizontal"), layers.RandomRotation(0.1), layers.RandomZoom(0.1),
        layers.Rescaling(1.0 / 255)])
    for filters in (16, 32, 64):
        model.add(layers.Conv2D(filters, 3, padding="same", activation="relu"))
        model.add(layers.MaxPooling2D())
    for layer in (layers.Dropout(0.2), layers.Flatten(), layers.Dense(128, activation="relu"), layers.Dense(2, activation="softmax")):
        model.add(layer)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=jit)
    return fitting(model, pictures(160, 180, 180, 3) * 255, kinds(160, 2), 32)


def pipeline(keras, tf, jit):
    """tf.data of bytes, scaled, kept, shuffled, into the dense network of MNIST."""
    x = np.random.default_rng(1).integers(0, 256, (6400, 28, 28)).astype(np.uint8)
    data = tf.data.Dataset.from_tensor_slices((x, kinds(6400, 10)))
    data = data.map(lambda picture, label: (tf.cast(picture, tf.float32) / 255.0, label), num_parallel_calls=tf.data.AUTOTUNE)
    data = data.cache().shuffle(6400).batch(128).prefetch(tf.data.AUTOTUNE)
    model = keras.Sequential([keras.Input((28, 28)), keras.layers.Flatten(), keras.layers.Dense(128, activation="relu"),
                              keras.layers.Dense(10)])
    model.compile(keras.optimizers.Adam(0.001), keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  metrics=[keras.metrics.SparseCategoricalAccuracy()], jit_compile=jit)
    return lambda: model.fit(data, epochs=2, verbose=0)


def folds(keras, tf, jit):
    """Five folds of a table with a rare class: a new model for each."""
    x = pictures(2000, 20)
    y = (x[:, 0] + x[:, 1] > 1.6).astype(int)
    parts = np.array_split(np.random.default_rng(3).permutation(len(x)), 5)

    def run():
        for number, held in enumerate(parts):
            rest = np.concatenate([part for other, part in enumerate(parts) if other != number])
            keras.backend.clear_session()
            model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dropout(0.3),
                                      keras.layers.Dense(1, activation="sigmoid")])
            model.compile("adam", "binary_crossentropy", metrics=["accuracy", keras.metrics.Precision(), keras.metrics.Recall()],
                          jit_compile=jit)
            model.fit(x[rest], y[rest], batch_size=32, epochs=5, verbose=0, class_weight={0: 0.6, 1: 3.0},
                      validation_data=(x[held], y[held]))
    return run


def rate_finder(keras, tf, jit):
    """The learning rate rises at each batch, by assign."""
    class Finder(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self.losses = []
            self.model.optimizer.learning_rate.assign(1e-5)

        def on_train_batch_end(self, batch, logs=None):
            rate = self.model.optimizer.learning_rate
            self.losses.append((float(rate.numpy()), logs["loss"]))
            rate.assign(rate * 1.05)

    layers = keras.layers
    model = keras.Sequential([
        keras.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(2), layers.Flatten(),
        layers.Dense(100, activation="relu"), layers.Dense(10, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=jit)
    return fitting(model, pictures(3200, 28, 28, 1), kinds(3200, 10), 32, callbacks=[Finder()])


TUTORIALS = {f.__name__.replace("_", "-"): f for f in (
    lstm_rows, signals, vision_transformer, autoencoder, table, multi_label, cats_and_dogs, pipeline, folds, rate_finder)}


def in_torch(name, compiled):
    """The same network in PyTorch's own words; None where it is not written here."""
    import torch
    from torch import nn
    torch.manual_seed(0)

    class Lstm(nn.Module):
        def __init__(self):
            super().__init__()
            self.rows, self.out = nn.LSTM(28, 128, batch_first=True), nn.Linear(128, 10)

        def forward(self, x):
            return self.out(self.rows(x)[0][:, -1])

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.cut, self.places = nn.Conv2d(3, 64, 4, 4), nn.Parameter(torch.zeros(64, 64))
            self.blocks = nn.Sequential(*[nn.TransformerEncoderLayer(64, 4, 128, 0, "gelu", 1e-6, True, True) for _ in range(4)])
            self.norm, self.out = nn.LayerNorm(64, 1e-6), nn.Linear(64, 10)

        def forward(self, x):
            x = self.cut(x).flatten(2).transpose(1, 2) + self.places
            return self.out(self.norm(self.blocks(x)).mean(1))

    def channels(x):
        return np.ascontiguousarray(np.moveaxis(x, -1, 1))

    last = torch.channels_last
    entropy = nn.functional.cross_entropy
    if name == "lstm-rows":
        model, x, y, batch, loss = Lstm(), pictures(3200, 28, 28), kinds(3200, 10), 64, entropy
    elif name == "signals":
        rows = [layer for depth in (1, 64, 64) for layer in (nn.Conv1d(depth, 64, 3, padding=1), nn.BatchNorm1d(64), nn.ReLU())]
        model = nn.Sequential(*rows, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(64, 2))
        x, y, batch, loss = channels(pictures(960, 500, 1)), kinds(960, 2), 32, entropy
    elif name == "vision-transformer":
        model, x, y, batch, loss = Transformer(), channels(pictures(640, 32, 32, 3)), kinds(640, 10), 64, entropy
    elif name == "autoencoder":
        model = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.ConvTranspose2d(32, 32, 3, 2, 1, 1), nn.ReLU(), nn.ConvTranspose2d(32, 32, 3, 2, 1, 1), nn.ReLU(),
            nn.Conv2d(32, 1, 3, padding=1))
        x = y = channels(pictures(1280, 28, 28, 1))
        batch, loss = 128, nn.functional.binary_cross_entropy_with_logits
    elif name == "table":
        model = nn.Sequential(nn.Linear(9, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
        x = pictures(3200, 9)
        y, batch, loss = x.sum(1, keepdims=True), 32, nn.functional.l1_loss
    elif name == "multi-label":
        rows = [layer for depth, filters in ((3, 32), (32, 64), (64, 64))
                for layer in (nn.Conv2d(depth, filters, 3), nn.ReLU(), nn.MaxPool2d(2))]
        model = nn.Sequential(*rows, nn.Flatten(), nn.Linear(64 * 36, 64), nn.ReLU(), nn.Linear(64, 6))
        x, y, batch = channels(pictures(640, 64, 64, 3)), kinds(640 * 6, 2).reshape(640, 6).astype(np.float32), 32
        loss = nn.functional.binary_cross_entropy_with_logits
    else:
        return None
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    if x.ndim == 4:
        model, x = model.to(memory_format=last), x.to(memory_format=last)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)

    def step(one, wanted):
        return loss(model(one), wanted)
    step = torch.compile(step) if compiled else step

    def run():
        order = torch.randperm(len(x))
        for begin in range(0, len(x), batch):
            index = order[begin:begin + batch]
            optimizer.zero_grad(set_to_none=True)
            value = step(x[index], y[index])
            value.backward()
            optimizer.step()
            value.item()
    return run


def serve(peer, name):
    """Trains once, says so, then once for each line that it reads."""
    if peer == "cornu":
        import cornu
        from cornu import keras
        run, version = TUTORIALS[name](keras, cornu, False), f"cornu {cornu.__version__}"
    elif peer.startswith("torch"):
        import torch
        run, version = in_torch(name, peer == "torch-compile"), f"torch {torch.__version__}"
    else:
        os.environ.update(KERAS_BACKEND="jax" if peer == "keras-jax" else "tensorflow", TF_CPP_MIN_LOG_LEVEL="3",
                          CUDA_VISIBLE_DEVICES="-1")
        import keras
        import tensorflow
        run, version = TUTORIALS[name](keras, tensorflow, peer != "keras"), f"keras {keras.__version__} on {keras.backend.backend()}"
    if not run:
        sys.exit(f"no network {name}")
    begin = time.perf_counter()
    run()
    print(json.dumps(dict(version=version, first=time.perf_counter() - begin)), flush=True)
    for line in sys.stdin:
        begin = time.perf_counter()
        for _ in range(int(line)):
            run()
        print(json.dumps((time.perf_counter() - begin) / int(line)), flush=True)


class Process:
    def __init__(self, peer, name, python):
        self.name, self.seconds, self.log = peer, [], tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, __file__, name, "--serve", peer], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
            text=True, env=dict(os.environ, PYTHONPATH=python))
        ready = self.answer()
        self.version, self.first = ready["version"], ready["first"]
        self.process.send_signal(signal.SIGSTOP)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            raise RuntimeError((self.log.read().decode(errors="replace").strip().splitlines() or ["no answer"])[-1])
        return json.loads(line)

    def turn(self, times):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(f"{times}\n")
        self.process.stdin.flush()
        self.seconds.append(self.answer())
        self.process.send_signal(signal.SIGSTOP)

    def close(self):
        self.process.kill()
        self.process.wait()


def compare(name, options, notes):
    running = []
    try:
        for peer in ("cornu", *options.peers.split(",")):
            try:
                running.append(Process(peer, name, options.python))
            except RuntimeError as error:
                if peer == "cornu":
                    raise
                if str(error) != f"no network {name}":
                    notes.append(f"{name}: {peer} did not run: {error}")
        for number in range(options.rounds):
            for peer in running:
                peer.turn(options.times)
            print(f"\r{name}: round {number + 1} of {options.rounds}", end="", file=sys.stderr, flush=True)
    finally:
        for peer in running:
            peer.close()
    print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
    return running


def show(name, running):
    own, *others = running
    least = min(others, key=lambda peer: min(peer.seconds))
    median = min(others, key=lambda peer: statistics.median(peer.seconds))
    print(f"{name:<19}{min(own.seconds) * 1e3:>9.1f}{min(least.seconds) * 1e3:>10.1f}  {least.name:<14}"
          f"{min(own.seconds) / min(least.seconds):>6.2f}{statistics.median(own.seconds) / statistics.median(median.seconds):>8.2f}   "
          + ", ".join(f"{peer.name} {min(peer.seconds) * 1e3:.1f}" for peer in others if peer is not least), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tutorials", nargs="*", metavar="TUTORIAL")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--times", type=int, default=1, help="epochs of a round")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--python", default=str(HERE.parent / "build/release/python"))
    parser.add_argument("--json")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in options.tutorials:
        if name not in TUTORIALS:
            sys.exit(f"tutorials: found {name}; expected some of {', '.join(TUTORIALS)}")
    if options.serve:
        return serve(options.serve, options.tutorials[0])
    print(f"ms of training, the least of {options.rounds} rounds in turns\n"
          f"{'tutorial':<19}{'cornu':>9}{'best peer':>10}  {'':<14}{'ratio':>6}{'medians':>8}")
    notes, rows = [], []
    for name in options.tutorials or TUTORIALS:
        running = compare(name, options, notes)
        show(name, running)
        rows.append(dict(tutorial=name, peers=[dict(name=p.name, version=p.version, first=p.first, seconds=p.seconds)
                                               for p in running]))
    for note in notes:
        print("Note:", note)
    print("Versions:", ", ".join(sorted({p["version"] for row in rows for p in row["peers"]})))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(dict(rows=rows, notes=notes), indent=1))


if __name__ == "__main__":
    main()
