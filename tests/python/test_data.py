"""Data sets as arrays."""
import gzip
import struct

import numpy as np
import pytest

import cornu
from cornu import keras


@pytest.fixture
def digits(tmp_path, monkeypatch):
    """A data set of MNIST's form, six samples and two."""
    folder = tmp_path / "mnist"
    folder.mkdir()
    made = {}
    for name, count in (("train", 6), ("t10k", 2)):
        x = np.arange(count * 784, dtype=np.uint32).astype(np.uint8).reshape(count, 28, 28)
        y = (np.arange(count) * 3 % 10).astype(np.uint8)
        for kind, magic, array in (("images-idx3", 0x803, x), ("labels-idx1", 0x801, y)):
            head = struct.pack(f">{1 + array.ndim}I", magic, *array.shape)
            (folder / f"{name}-{kind}-ubyte.gz").write_bytes(gzip.compress(head + array.tobytes()))
        made[name] = (x, y)
    monkeypatch.setenv("CORNU_DATA", str(tmp_path))
    return made


def test_load_data_gives_keras_arrays(digits):
    (x, y), (test_x, test_y) = keras.datasets.mnist.load_data()
    assert x.dtype == y.dtype == np.uint8 and x.shape == (6, 28, 28) and test_x.shape == (2, 28, 28)
    assert np.array_equal(x, digits["train"][0]) and np.array_equal(y, digits["train"][1])
    assert np.array_equal(test_x, digits["t10k"][0]) and np.array_equal(test_y, digits["t10k"][1])
    x[:] = 0  # they are the caller's own


def test_imports_go_by_keras_paths():
    from cornu.keras.datasets import mnist
    from cornu.keras.datasets.mnist import load_data
    from cornu.keras.models import Sequential, load_model
    from cornu.keras.optimizers.schedules import CosineDecay
    assert mnist.load_data is load_data and Sequential is keras.Sequential
    assert CosineDecay(0.1, 10).get_config()["decay_steps"] == 10 and load_model


def test_devices_are_told_as_tensorflow_tells_them():
    assert cornu.config.list_physical_devices("CPU")[0].device_type == "CPU"
    assert cornu.config.list_physical_devices()[0].name == "/physical_device:CPU:0"
    assert cornu.test.is_gpu_available() == bool(cornu.config.list_physical_devices("GPU"))
    assert cornu.__version__ in cornu.versions()


def test_a_device_is_chosen_for_a_block(model, samples):
    x, y = samples
    first = model.get_weights()
    with cornu.device("/device:CPU:0"):
        model.fit(x, y, epochs=1, verbose=0, shuffle=False)
    trained = model.get_weights()
    model.set_weights(first)
    keras.utils.set_random_seed(7)
    with cornu.device("reference"):
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        model.fit(x, y, epochs=1, verbose=0, shuffle=False)
    for a, b in zip(trained, model.get_weights()):
        assert np.allclose(a, b, atol=1e-4)


def test_one_hot_rows():
    assert np.array_equal(keras.utils.to_categorical([0, 2, 1]), np.eye(3)[[0, 2, 1]])
    assert keras.utils.to_categorical([[1], [0]], 4).shape == (2, 4)
    assert keras.utils.to_categorical(np.zeros((2, 3), int), 2).shape == (2, 3, 2)
