"""Pictures of cornu.keras beside those of the installed Keras: same files, classes, order, split and pixels.

    PYTHONPATH=build/release/python .venv/bin/python peers/python_images.py [FOLDER]

FOLDER holds a folder a class; without one, pictures are made (PNG, JPEG). ImageDataGenerator must give the same bytes; with
filters within 3 of 255, as Pillow 13 resizes the height first where it shrinks (earlier ones, and cornu, never).
image_dataset_from_directory must be within 1.2 of 255 for PNG (cornu keeps bytes; 2.2 in grey), and near it for JPEG, which
TensorFlow decodes with fewer bits than Pillow and cornu."""
import inspect
import os
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
import keras as real  # noqa: E402
import numpy as np  # noqa: E402
from keras.src.legacy.preprocessing import image as real_image  # noqa: E402
from PIL import Image  # noqa: E402

from cornu import keras as ours  # noqa: E402
from cornu.keras.preprocessing import image as our_image  # noqa: E402

bad: list[str] = []
JPEG_MEAN = 3  # of 255: TensorFlow's decoder
FILTERED = 3 / 255


def check(right, what: str) -> None:
    if not right:
        bad.append(what)


def make(folder: str) -> None:
    rng = np.random.default_rng(1)
    endings = ("png", "jpg", "png", "PNG", "jpeg")
    for number in range(45):
        name = f"{folder}/{'bcd'[number % 3]}/{'deep' if number % 4 == 1 else ''}"
        os.makedirs(name, exist_ok=True)
        size = rng.integers(20, 90, 2)
        small = Image.fromarray(rng.integers(0, 256, (7, 6, 3)).astype(np.uint8)).resize(tuple(map(int, size)), 2)
        (small.convert("L") if number % 5 == 3 else small).save(f"{name}/{number}.{endings[number % 5]}")
    for name in ("b/.hidden.png", "c/text.txt"):
        with open(f"{folder}/{name}", "wb") as file:
            file.write(b"no picture")
    os.remove(f"{folder}/b/.hidden.png")


def compare_signatures() -> None:
    pairs = [(getattr(our_image.ImageDataGenerator, n), getattr(real_image.ImageDataGenerator, n))
             for n in ("__init__", "flow", "flow_from_directory", "flow_from_dataframe", "fit", "standardize",
                       "random_transform", "get_random_transform", "apply_transform")]
    pairs += [(getattr(ours.utils, n), getattr(real.utils, n)) for n in
              ("image_dataset_from_directory", "load_img", "img_to_array", "array_to_img", "save_img")]
    pairs += [(getattr(our_image, n), getattr(real_image, n)) for n in ("DirectoryIterator", "NumpyArrayIterator")]
    pairs.append((our_image.DataFrameIterator, real_image.DataFrameIterator))
    for mine, theirs in pairs:
        a, b = ([(p.name, p.default) for p in inspect.signature(f).parameters.values()] for f in (mine, theirs))
        check(a == b, f"{mine.__qualname__}: cornu takes {a}, Keras {b}")


def compare_generators(folder: str) -> None:
    cases = [dict(seed=5, target_size=(24, 18)), dict(shuffle=False, color_mode="grayscale", class_mode="sparse"),
             dict(seed=1, target_size=(20, 30), keep_aspect_ratio=True, interpolation="bicubic", class_mode="binary",
                  subset="validation"),
             dict(seed=2, target_size=(33, 20), keep_aspect_ratio=True, subset="training"),
             dict(seed=3, target_size=(16, 16), interpolation="lanczos", class_mode=None)]
    for case in cases:
        a, b = (g(rescale=1 / 255, samplewise_center=True, validation_split=0.3).flow_from_directory(
            folder, batch_size=7, **case) for g in (real_image.ImageDataGenerator, our_image.ImageDataGenerator))
        for name in ("n", "samples", "num_classes", "class_indices", "filenames", "filepaths", "image_shape", "batch_size"):
            check(getattr(a, name) == getattr(b, name), f"{case}: {name}")
        check(np.array_equal(a.classes, b.classes) and len(a) == len(b), f"{case}: classes")
        for number in range(2 * len(a) + 1):
            left, right = (part if isinstance(part, tuple) else (part,) for part in (next(a), next(b)))
            for x, y in zip(left, right):
                most = FILTERED if "interpolation" in case else 1e-5
                check(x.dtype == y.dtype and x.shape == y.shape and np.abs(x - y).max() < most,
                      f"{case}: batch {number}: {np.abs(x - y).max()}")
        check(a.batch_index == b.batch_index, f"{case}: batch_index")


def compare_flow() -> None:
    x, y = np.random.default_rng(2).random((30, 6, 5, 3), np.float32), np.arange(30) % 2
    for case in (dict(seed=4), dict(shuffle=False), dict(seed=1, subset="validation"), dict(sample_weight=y + 1, seed=3)):
        flows = []
        for package in (real_image, our_image):
            g = package.ImageDataGenerator(featurewise_center=True, rescale=2, validation_split=0.4)
            g.fit(x)
            flows.append(g.flow(x, y, batch_size=8, **case))
        for number in range(9):
            for a, b in zip(*map(next, flows)):
                check(a.dtype == b.dtype and np.allclose(a, b, atol=1e-5), f"flow {case}: batch {number}")


def compare_tables(folder: str) -> None:
    try:
        import pandas
    except ImportError:
        return
    names = [os.path.relpath(os.path.join(root, file), folder) for root, _, files in sorted(os.walk(folder))
             for file in sorted(files)][:60]
    table = pandas.DataFrame({"filename": names, "class": [name[0] for name in names], "age": range(len(names))})
    for case in (dict(seed=3), dict(class_mode="raw", y_col="age", weight_col="age", seed=1, subset="training"),
                 dict(classes=[names[-1][0], names[0][0]], class_mode="binary", shuffle=False), dict(class_mode=None)):
        np.random.seed(5)
        a = real_image.ImageDataGenerator(validation_split=0.3).flow_from_dataframe(table, folder, **case)
        np.random.seed(5)
        b = our_image.ImageDataGenerator(validation_split=0.3).flow_from_dataframe(table, folder, **case)
        check(a.filenames == b.filenames and list(getattr(a, "classes", [])) == list(getattr(b, "classes", []))
              and a.n == b.n, f"table {case}: files")
        if case.get("seed") or "shuffle" in case:
            for number in range(3):
                for x, y in zip(*map(next, (a, b))):
                    check(x.dtype == y.dtype and np.allclose(x, y), f"table {case}: batch {number}")


def compare_data_sets(folder: str) -> None:
    cases = [dict(validation_split=0.2, subset="both", seed=3, image_size=(20, 24)),
             dict(shuffle=False, image_size=(30, 20), crop_to_aspect_ratio=True, label_mode="categorical"),
             dict(shuffle=False, image_size=(50, 60), labels=None, interpolation="bicubic"),
             dict(shuffle=False, image_size=(12, 12), interpolation="nearest", batch_size=None),
             dict(shuffle=False, image_size=(12, 12), class_names=["d", "b"], label_mode="binary", interpolation="lanczos3"),
             dict(validation_split=0.3, subset="validation", shuffle=False, color_mode="grayscale", label_mode=None)]
    for case in cases:
        case = {k: v for k, v in case.items() if k != "class_names" or os.path.isdir(f"{folder}/d")}
        case = {**case, "label_mode": "int"} if case.get("label_mode") == "binary" and "class_names" not in case else case
        sets = [k.utils.image_dataset_from_directory(folder, **case) for k in (real, ours)]
        for a, b in zip(*(s if isinstance(s, (list, tuple)) else [s] for s in sets)):
            check(a.class_names == b.class_names and a.file_paths == b.file_paths and len(a) == len(b), f"{case}: files")
            if "shuffle" in case:
                compare_elements(a, b, case)


def compare_elements(a, b, case: dict) -> None:
    at = 0
    for element, mine in zip(a, b):
        parts, mine = (p if isinstance(p, tuple) else (p,) for p in (element, mine))
        parts = [np.asarray(p) for p in parts]
        for p, m in zip(parts, mine):
            check(p.dtype == m.dtype and p.shape == m.shape, f"{case}: {p.dtype} {p.shape}, cornu {m.dtype} {m.shape}")
        check(all(map(np.array_equal, parts[1:], mine[1:])), f"{case}: labels")
        pictures = zip(parts[0], mine[0]) if case.get("batch_size", 1) else [(parts[0], mine[0])]
        for p, m in pictures:
            difference = np.abs(np.clip(p.astype(float), 0, 255) - m)
            jpeg = a.file_paths[at].lower().endswith(("jpg", "jpeg"))
            found = difference.mean() if jpeg else difference.max()
            most = JPEG_MEAN if jpeg else 2.2 if case.get("color_mode") else 1.2
            check(found <= most, f"{case}: {a.file_paths[at]}: pixels differ by {found:.2f}")
            at += 1


def compare_pictures(folder: str) -> None:
    for root, _, files in os.walk(folder):
        for name in files[:20]:
            if not name.lower().endswith(("png", "jpg", "jpeg")):
                continue
            for case in (dict(), dict(color_mode="grayscale", target_size=(9, 11), interpolation="hamming"),
                         dict(target_size=(31, 8), interpolation="box", keep_aspect_ratio=True)):
                a, b = (k.utils.img_to_array(k.utils.load_img(f"{root}/{name}", **case)) for k in (real, ours))
                most = 255 * FILTERED if case else 0
                check(a.dtype == b.dtype and a.shape == b.shape and np.abs(a - b).max() <= most, f"load_img {name} {case}")
                for scale in (True, False):
                    p, m = (np.asarray(k.utils.array_to_img(a, scale=scale)) for k in (real, ours))
                    check(np.array_equal(p, m), f"array_to_img {name}")


def main() -> int:
    with tempfile.TemporaryDirectory() as made:
        folder = sys.argv[1] if len(sys.argv) > 1 else made
        if folder == made:
            make(made)
        compare_signatures()
        compare_generators(folder)
        compare_flow()
        compare_tables(folder)
        compare_data_sets(folder)
        compare_pictures(folder)
    print("\n".join(bad[:30]) or "pictures: as Keras has them")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
