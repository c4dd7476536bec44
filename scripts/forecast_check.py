#!/usr/bin/env python3
"""Does `cornu train` say rightly how long a run will take? Five runs of about a minute each, on a terminal of their own:
what the progress line says after a tenth of the time is held against the time that was really left.

  scripts/forecast_check.py build/release/cornu --data DIR [--busy N] [--seconds 65] [--only NAME]

DIR holds MNIST, CIFAR-10 and a folder of pictures in train/CLASS and test/CLASS (--pictures names it; without, 2,000 are
drawn). --busy N: beside N processes that do nothing but compute. Ends with 1 where a forecast is off by more than 15 %.
"""
import argparse
import multiprocessing
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from fcntl import ioctl

MOST_OFF = 0.15
LEFT = re.compile(r"(?:about|at most) (?:(\d+) d ?)?(?:(\d+) h ?)?(?:(\d+) min ?)?(?:(\d+) s)? ?(?:±|\+-)([\d.]+) (s|min|h) left")
UNITS = {"s": 1, "min": 60, "h": 3600}

PHOTOS = """
name: photos-check
data: {folder: %s, image_size: [150, 150], channels: 3, augment: {horizontal_flip: true, zoom_range: 0.2}}
model:
  input: [150, 150, 3]
  layers:
    - Conv2D: {filters: 32, kernel_size: 3, activation: relu}
    - MaxPooling2D: {pool_size: 2}
    - Conv2D: {filters: 64, kernel_size: 3, activation: relu}
    - MaxPooling2D: {pool_size: 2}
    - Flatten
    - Dense: {units: 64, activation: relu}
    - Dense: {units: %d, activation: softmax}
compile: {optimizer: adam, loss: categorical_crossentropy, metrics: [accuracy]}
fit: {batch_size: 32, validation: test}
"""

# name, recipe, epochs, milliseconds a step on 2 cores (to choose the steps; the time need not be met), --save
RUNS = [
    ("cifar10-mlp", "cifar10-mlp", 5, 10, False),
    ("mnist-cnn-2", "mnist-cnn-2", 4, 10, True),
    ("photos", None, 3, 90, False),
    ("cifar10-cnn", "cifar10-cnn", 2, 45, False),
    ("mnist-cnn-4", "mnist-cnn-4", 12, 18, True),  # often validated
]


def draw_pictures(folder):
    """Noise, in the only format that needs no library."""
    for split, count in (("train", 1600), ("test", 400)):
        for i in range(count):
            place = folder / split / ("even" if i % 2 == 0 else "odd")
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{i}.ppm").write_bytes(b"P6 200 200 255\n" + os.urandom(3 * 200 * 200))
    return folder


def lines_of(command, folder):
    """Run it on a terminal of 200 columns; (seconds since the start, text) of each piece that it writes."""
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    began, found = time.monotonic(), []
    environment = dict(os.environ, TERM="xterm", LC_ALL="C.UTF-8")
    process = subprocess.Popen(command, stdout=slave, stderr=slave, stdin=subprocess.DEVNULL, cwd=folder, env=environment)
    os.close(slave)
    while True:
        if not select.select([master], [], [], 0.5)[0]:
            continue
        try:
            text = os.read(master, 1 << 16).decode(errors="replace")
        except OSError:  # the program has ended, and nothing is left
            break
        found += [(time.monotonic() - began, text)] if text else []
        if not text:
            break
    if process.wait() != 0:
        sys.exit(f"{' '.join(command)}: status {process.returncode}:\n" + "".join(text for _, text in found)[-2000:])
    return time.monotonic() - began, found


def forecasts(found):
    for at, text in found:
        match = LEFT.search(text)
        if match:
            days, hours, minutes, seconds = (int(x or 0) for x in match.groups()[:4])
            error = float(match.group(5)) * UNITS[match.group(6)]
            yield at, ((days * 24 + hours) * 60 + minutes) * 60 + seconds, error


def check(name, command, folder, share=0.1):
    took, found = lines_of(command, folder)
    said = next((f for f in forecasts(found) if f[0] >= share * took), None)
    if not said:
        print(f"{name:12} {took:6.1f} s: no forecast{' of less than a minute; more --seconds' if took < 60 else ''}", flush=True)
        return False
    at, left, error = said
    real = took - at
    off = left / real - 1
    inside = "within" if abs(left - real) <= error else "outside"
    print(f"{name:12} {took:6.1f} s: at {at:4.1f} s {left} s ±{error:g} s left; {real:.1f} s were: {off:+.1%}, {inside} its error", flush=True)
    return abs(off) <= MOST_OFF


def compute():
    while True:
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=65)
    parser.add_argument("--only", action="append", default=[])
    o = parser.parse_args()
    busy = [multiprocessing.Process(target=compute, daemon=True) for _ in range(o.busy)]
    for process in busy:
        process.start()
    right = True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["CORNU_DATA"] = str(o.data.resolve())
        for run, recipe, epochs, ms, save in RUNS:
            if o.only and run not in o.only:
                continue
            steps = max(1, int(o.seconds / epochs / ms * 1000))
            if not recipe:
                pictures = o.pictures or draw_pictures(folder / "pictures")
                classes = len(list((pictures / "train").iterdir()))
                (folder / "photos.yaml").write_text(PHOTOS % (pictures.resolve(), classes))
                recipe = "photos.yaml"
            command = [str(o.program.resolve()), "train", recipe, "--epochs", str(epochs), "--steps", str(steps)]
            right &= check(run, command + (["--save", "model.safetensors"] if save else []), folder)
    for process in busy:
        process.kill()
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
