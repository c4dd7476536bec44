#!/usr/bin/env python3
"""What does training from Python cost over the command line?

    PYTHONPATH=build/release/python scripts/python_overhead.py build/release/cornu [--rounds 11] [--seconds 2]
        [--photos FOLDER] [WORKLOAD...]

Trains each built-in workload on the same data for the same steps, in turns, with the program and with cornu.keras (fit,
a line an epoch, validation left out), each run in a process of its own. Compared are the seconds of the second epoch: the
program's from its --log, Python's from the beginning of on_epoch_begin to on_epoch_end. The data is random and made here;
--photos names a folder of pictures, one folder a class, for the workloads that change pictures at random.
"""
import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

WORKLOADS = {"cifar10-mlp": (32, 32, 3, 10), "cifar100-mlp": (32, 32, 3, 100), "mnist-cnn-2": (28, 28, 1, 10),
             "mnist-cnn-4": (28, 28, 1, 10), "photos-cnn": (150, 150, 3, 8), "photos-cnn-256": (150, 150, 3, 8),
             "photos-cnn-ready": (150, 150, 3, 8), "cifar10-cnn": (32, 32, 3, 10)}
BATCHES = {"mnist-cnn-2": 50, "mnist-cnn-4": 50, "cifar10-cnn": 100}  # of the recipes that say another than 32
CHANGES = dict(rescale=1 / 255, shear_range=0.2, zoom_range=0.2, rotation_range=20, horizontal_flip=True)


def make_data(path, workload):
    import numpy as np
    *shape, classes = WORKLOADS[workload]
    bits = np.random.default_rng(1)
    count = 320 if "photos" in workload else 16000
    np.savez(path, x_train=bits.random((count, *shape), np.float32), y_train=bits.integers(0, classes, count, np.int32))


def by_program(program, workload, data, steps):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.csv")
        subprocess.run([program, "train", workload, "--data", data, "--epochs", "2", "--steps", str(steps), "--quiet",
                        "--no-save", "--log", log], check=True)
        with open(log) as f:
            return [float(row["seconds"]) for row in csv.DictReader(f)]


def by_python(workload, data, steps):
    text = subprocess.run([sys.executable, __file__, "--train", workload, data, str(steps)], check=True,
                          capture_output=True, text=True).stdout
    return json.loads(text.splitlines()[-1])


def train(workload, data, steps):
    import time

    import numpy as np
    from cornu import keras
    model = keras.models.load_model(workload)
    seconds = []

    class Clock(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.began = time.perf_counter()

        def on_epoch_end(self, epoch, logs=None):
            seconds.append(time.perf_counter() - self.began)

    common = dict(epochs=2, steps_per_epoch=int(steps), verbose=2, callbacks=[Clock()])
    if os.path.isdir(data):
        pictures = keras.preprocessing.image.ImageDataGenerator(**CHANGES)
        model.fit(pictures.flow_from_directory(data, target_size=(150, 150), batch_size=32), **common)
    else:
        with np.load(data) as arrays:
            x, y = arrays["x_train"], arrays["y_train"]
        if "sparse" not in str(model.loss).lower():
            y = keras.utils.to_categorical(y, model.output_shape[-1])
        model.fit(x, y, batch_size=BATCHES.get(workload, 32), **common)
    print(json.dumps(seconds))


def compare(program, workload, data, options):
    first = by_program(program, workload, data, 10)[1]
    steps = max(int(10 * options.seconds / first), 10)
    pairs = [(by_program(program, workload, data, steps)[1], by_python(workload, data, steps)[1])
             for _ in range(options.rounds)]
    ratios = [python / native for native, python in pairs]
    least = min(p for _, p in pairs) / min(n for n, _ in pairs)
    print(f"{workload:17s} {steps:5d} steps: Python over program: median {statistics.median(ratios):.3f}, least over "
          f"least {least:.3f}, {min(ratios):.3f} to {max(ratios):.3f}", flush=True)


def main():
    if sys.argv[1:2] == ["--train"]:
        return train(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--photos")
    options = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as folder:
        for workload in options.workloads:
            data = os.path.join(folder, f"{workload}.npz")
            if workload.startswith("photos-cnn") and not workload.endswith("ready"):
                if not options.photos:
                    print(f"{workload:17s} left out: no --photos")
                    continue
                data = options.photos
            else:
                make_data(data, workload)
            compare(options.program, workload, data, options)


if __name__ == "__main__":
    main()
