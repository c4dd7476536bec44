#!/usr/bin/env python3
"""Write what Keras's ImageDataGenerator makes of images with given parameters, as .npz files.

usage: make_changes.py [--output FILE]                       a few small images: tests/fixtures/changes.npz
       make_changes.py --photographs FOLDER --output FOLDER  [--count 200] photographs below the first

tests/parity/changes_test.c reads them; CORNU_CHANGES names a folder of further files for it. Members:

    IMAGE/x            [height][width][channels] bytes
    CASE/image         the number of its image (IMAGE is its decimal digits)
    CASE/parameters    theta, tx, ty, shear, zx, zy, channel shift, brightness (-1: none), flip_horizontal,
                       flip_vertical, fill_mode (nearest, constant, reflect, wrap), cval, rescale (0: none),
                       samplewise_center, samplewise_std_normalization, featurewise_center,
                       featurewise_std_normalization
    CASE/mean, CASE/std  by channel, where featurewise
    CASE/y             what apply_transform and then standardize give
"""
import argparse
import os
import warnings

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
from keras.src.legacy.preprocessing.image import ImageDataGenerator  # noqa: E402
from keras.utils import img_to_array, load_img  # noqa: E402

FILLS = ["nearest", "constant", "reflect", "wrap"]
MOVES = dict(theta=24.0, shear=13.0, zx=0.8, zy=1.3, tx=1.7, ty=-2.2)
# Two images see each of these: name, parameters of apply_transform, options of the generator.
CASES = [
    ("rotation", dict(theta=33.0), {}),
    ("half turn", dict(theta=180.0), {}),
    ("shear", dict(shear=-21.5), {}),
    ("zoom", dict(zx=0.7, zy=1.45), {}),
    ("shift", dict(tx=2.6, ty=-1.3), {}),
    ("whole shift", dict(tx=3, ty=-2), dict(fill_mode="wrap")),
    ("flips", dict(flip_horizontal=True, flip_vertical=True), {}),
    ("channel shift", dict(channel_shift_intensity=47.3), {}),
    ("darker", dict(brightness=0.43), {}),
    ("brighter", dict(brightness=1.7), {}),
    ("stretched", dict(brightness=1.2, theta=11.0), dict(fill_mode="constant", cval=-40.0)),
] + [(f"moves, {fill}", MOVES, dict(fill_mode=fill, cval=77.5)) for fill in FILLS] + [
    (f"far, {fill}", dict(tx=41.3, ty=-57.6, zx=1.9, zy=2.3), dict(fill_mode=fill)) for fill in FILLS[2:]
] + [
    ("rescale", dict(theta=-9.0), dict(rescale=1 / 255)),
    ("samplewise", dict(zx=1.1, zy=1.2), dict(samplewise_center=True, samplewise_std_normalization=True)),
    ("featurewise", dict(tx=0.4), dict(rescale=1 / 255, featurewise_center=True,
                                       featurewise_std_normalization=True)),
    ("all", dict(MOVES, flip_horizontal=True, channel_shift_intensity=-31.0, brightness=1.4),
     dict(fill_mode="reflect", rescale=1 / 127.5, samplewise_center=True, featurewise_center=True)),
]


def parameters_of(change, generator):
    names = ["theta", "tx", "ty", "shear", "zx", "zy", "channel_shift_intensity", "brightness", "flip_horizontal",
             "flip_vertical"]
    defaults = dict(zx=1, zy=1, brightness=-1)
    return [float(change.get(name, defaults.get(name, 0))) for name in names] + [
        FILLS.index(generator.fill_mode), generator.cval, generator.rescale or 0, generator.samplewise_center,
        generator.samplewise_std_normalization, generator.featurewise_center,
        generator.featurewise_std_normalization]


def add_case(members, name, number, image, change, options):
    generator = ImageDataGenerator(**options)
    channels = image.shape[2]
    members[f"{name}/image"] = np.int32(number)
    if generator.featurewise_center:
        generator.mean = np.linspace(0.3, 0.6, channels, dtype=np.float32).reshape(1, 1, channels)
        generator.std = np.linspace(0.2, 0.3, channels, dtype=np.float32).reshape(1, 1, channels)
        members[f"{name}/mean"], members[f"{name}/std"] = generator.mean.ravel(), generator.std.ravel()
    changed = generator.apply_transform(image.astype(np.float32), change)
    members[f"{name}/parameters"] = np.array(parameters_of(change, generator), np.float64)
    members[f"{name}/y"] = generator.standardize(changed.astype(np.float32)).astype(np.float32)


def drawn_image(random, height, width, channels):
    """Soft shapes with noise, and plain parts, as photographs have them."""
    rows, columns = np.mgrid[:height, :width]
    planes = [128 + 100 * np.sin(rows / (2 + k)) * np.cos(columns / (3 - 0.5 * k)) for k in range(channels)]
    image = np.stack(planes, axis=2) + random.normal(0, 12, (height, width, channels))
    image[: height // 3, : width // 2] = 255
    return np.clip(image, 0, 255).astype(np.uint8)


def make_small(path):
    random = np.random.default_rng(1)
    images = [drawn_image(random, 7, 10, 3), drawn_image(random, 9, 9, 1)]
    members = {f"{n}/x": image for n, image in enumerate(images)}
    for number, image in enumerate(images):
        for name, change, options in CASES:
            add_case(members, f"{name} of {number}", number, image, change, options)
    np.savez_compressed(path, **members)
    print(f"{path}: {os.path.getsize(path)} bytes")


def photographs(folder, count):
    names = sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names
                   if name.lower().endswith((".jpg", ".jpeg", ".png")))
    return names[:: max(1, len(names) // count)][:count]


def make_photographs(folder, count, output, seed):
    """Each photograph with every case, whose parameters are drawn anew where they are no choices."""
    random = np.random.default_rng(seed)
    os.makedirs(output, exist_ok=True)
    names = photographs(folder, count)
    for first in range(0, len(names), 20):
        members = {}
        for number, name in enumerate(names[first:first + 20]):
            image = img_to_array(load_img(name, target_size=(96, 128))).astype(np.uint8)
            members[f"{number}/x"] = image
            for case, change, options in CASES:
                drawn = {key: value if isinstance(value, bool) else value * random.uniform(0.5, 1.5)
                         for key, value in change.items()}
                add_case(members, f"{case} of {first + number}", number, image, drawn, options)
        np.savez(os.path.join(output, f"photographs-{first // 20:02}.npz"), **members)
    print(f"{output}: {len(names)} photographs, {len(CASES)} changes of each")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--photographs")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.photographs:
        make_photographs(options.photographs, options.count, options.output, options.seed)
    else:
        make_small(options.output or os.path.join(os.path.dirname(here), "tests", "fixtures", "changes.npz"))


if __name__ == "__main__":
    main()
