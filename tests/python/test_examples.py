"""examples/python: each workload's script runs from its first line to its last, on a few generated samples."""
import gzip
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cornu
from cornu import keras

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"
KINDS = ("bird", "car", "cat", "dog", "flower", "fruit", "motorbike", "person")
rng = np.random.default_rng(4)


def write_mnist(folder: Path) -> None:
    folder.mkdir()
    for name, count in (("train", 120), ("t10k", 30)):
        x, y = rng.integers(0, 256, (count, 28, 28), np.uint8), rng.integers(0, 10, count).astype(np.uint8)
        for kind, magic, array in (("images-idx3", 0x803, x), ("labels-idx1", 0x801, y)):
            head = struct.pack(f">{1 + array.ndim}I", magic, *array.shape)
            (folder / f"{name}-{kind}-ubyte.gz").write_bytes(gzip.compress(head + array.tobytes()))


def records(count: int, labels: int) -> bytes:
    pixels = rng.integers(0, 256, (count, labels + 3072), np.uint8)
    pixels[:, :labels] %= 10
    return pixels.tobytes()


def write_cifar(folder: Path) -> None:
    (folder / "cifar-10-batches-bin").mkdir()
    for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
        (folder / "cifar-10-batches-bin" / f"{name}.bin").write_bytes(records(40, 1))
    (folder / "cifar-100-binary").mkdir()
    for name in ("train", "test"):
        (folder / "cifar-100-binary" / f"{name}.bin").write_bytes(records(100, 2))


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_mnist(folder / "mnist")
    write_cifar(folder)
    for part in ("train", "test"):
        for kind in KINDS:
            (folder / "photos" / part / kind).mkdir(parents=True)
            for number in range(2):
                pixels = rng.integers(0, 256, (40, 30, 3)).astype(np.float32)
                keras.utils.save_img(folder / "photos" / part / kind / f"{number}.png", pixels, scale=False)
    return folder


@pytest.fixture
def run(data, tmp_path):
    """What a script prints, run in an empty folder."""
    def of(name: str, *arguments) -> str:
        package = str(Path(cornu.__file__).parents[1])
        environment = {**os.environ, "CORNU_DATA": str(data), "PYTHONPATH": package}
        done = subprocess.run([sys.executable, EXAMPLES / name, *map(str, arguments)], env=environment, cwd=tmp_path,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return of


def test_cifar10_mlp(run):
    told = run("cifar10_mlp.py", "--epochs", 2, "--samples", 64)
    assert "images (64, 32, 32, 3) classes (64, 1)" in told and "PhysicalDevice(name='/physical_device:CPU:0'" in told
    assert "Epoch 2/2" in told and "2/2 " in told and "accuracy: " in told
    assert "/GPU:0 is left out: device '/GPU:0': not there" in told or "'/GPU:0': " in told
    assert told.count("predicted [") == told.count("in truth  [") == 1


def test_cifar100_mlp(run):
    told = run("cifar100_mlp.py", "--epochs", 1, "--samples", 64)
    assert "1,730,404" in told and "trained in 0:00:" in told and "test accuracy 0." in told


@pytest.mark.parametrize("convolutions, parameters", [(2, "3,274,634"), (4, "3,287,530")])
def test_mnist_cnn(run, convolutions, parameters):
    told = run("mnist_cnn.py", "--convolutions", convolutions, "--epochs", 1, "--samples", 100)
    assert "is_cuda_build" in told and "val_accuracy: " in told and "Test accuracy: 0." in told and parameters in told
    assert told.splitlines()[-1].startswith("Read: [")


def test_photos_cnn(run, data):
    told = run("photos_cnn.py", data / "photos", "--epochs", 1, "--steps", 1, "--validation-steps", 1)
    assert told.count("Found 16 images belonging to 8 classes.") == 2 and "42,520,584" in told
    assert "val_categorical_accuracy: " in told and "validation accuracy: 0." in told
    assert told.count(", in truth ") == 8 and any(f"in truth {kind}\n" in told for kind in KINDS)


def test_cifar10_cnn(run, tmp_path):
    told = run("cifar10_cnn.py", "--epochs", 1, "--samples", 100, "--chart", tmp_path / "chart.png")
    assert "1,337,002" in told and "val_loss: " in told and "s an epoch" in told
    assert len(told.partition("predicted [")[2].partition("]")[0].split()) == 20
    assert (tmp_path / "chart.png").exists() or "no chart" in told


def test_cifar10_resnet(run):
    told = run("cifar10_resnet.py", "--epochs", 1, "--samples", 64)
    assert "274,442" in told and "273,066" in told and "Connected to" in told and "val_accuracy: " in told
    assert "features of ten images (10, 64)" in told


def test_mnist_unet(run):
    told = run("mnist_unet.py", "--epochs", 1, "--samples", 64)
    assert "Connected to" in told and "val_loss: " in told and "with the noise, 0." in told


def test_only_the_import_is_cornus():
    """Every line that names cornu is an import, so that tensorflow's in its place is all that a reader changes."""
    scripts = sorted(EXAMPLES.glob("*.py"))
    assert len(scripts) == 7
    for script in scripts:
        lines = [line for line in script.read_text().splitlines() if "cornu" in line]
        assert lines and all(line.startswith(("import cornu as tf", "from cornu")) for line in lines)
