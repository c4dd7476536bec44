"""Weights under PyTorch's names. What they compute is compared with real PyTorch by peers/torch_names.py."""
import json

import numpy as np
import pytest

from cornu import keras


def network():
    return keras.Sequential([keras.Input((4, 4, 2)), keras.layers.Conv2D(3, 3, name="conv1"), keras.layers.Flatten(),
                             keras.layers.Dense(2, name="fc1")])


def tensors(path):
    """{name: array} of a .safetensors file."""
    content = path.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:begin])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(content[begin:], np.float32, (t["data_offsets"][1] - t["data_offsets"][0]) // 4,
                                t["data_offsets"][0]).reshape(t["shape"]) for name, t in header.items()}


def test_a_state_dict_is_written_and_read_again(tmp_path):
    model, again = network(), network()
    model.save_weights(tmp_path / "w.safetensors", names="torch")
    found = tensors(tmp_path / "w.safetensors")
    assert {name: value.shape for name, value in found.items()} == {
        "conv1.weight": (3, 2, 3, 3), "conv1.bias": (3,), "fc1.weight": (2, 12), "fc1.bias": (2,)}
    kernel, _, dense, _ = model.get_weights()
    assert np.array_equal(found["conv1.weight"], kernel.transpose(3, 2, 0, 1))
    assert np.array_equal(found["fc1.weight"].reshape(2, 3, 2, 2), dense.reshape(2, 2, 3, 2).transpose(3, 2, 0, 1))
    again.load_weights(tmp_path / "w.safetensors", names="torch")
    assert all(np.array_equal(a, b) for a, b in zip(again.get_weights(), model.get_weights()))


def test_what_does_not_fit_is_refused_by_name(tmp_path):
    network().save_weights(tmp_path / "w.safetensors", names="torch")
    other = keras.Sequential([keras.Input((4, 4, 1)), *(layer.from_config(layer.get_config()) for layer in network().layers)])
    with pytest.raises(ValueError, match=r"conv1.weight: found shape \(3, 2, 3, 3\); expected \(3, 1, 3, 3\)"):
        other.load_weights(tmp_path / "w.safetensors", names="torch")
    with pytest.raises(ValueError, match="expected torch"):
        other.load_weights(tmp_path / "w.safetensors", names="jax")
    with pytest.raises(FileExistsError):
        network().save_weights(tmp_path / "w.safetensors", overwrite=False, names="torch")


def test_weights_come_from_a_chain_of_onnx(tmp_path):
    model, again = network(), network()
    model.export(tmp_path / "m.onnx")
    again.load_weights(tmp_path / "m.onnx")
    assert all(np.array_equal(a, b) for a, b in zip(again.get_weights(), model.get_weights()))
