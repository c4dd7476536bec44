"""model.export: ONNX files. What they compute is compared with onnxruntime by peers/onnx_files.py."""
import numpy as np
import pytest

from cornu import keras


def network():
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="scores")])


@pytest.mark.parametrize("options", [{}, {"format": "onnx"}, {"verbose": False}, {"preprocess": True}])
def test_a_network_is_written_as_onnx(tmp_path, options):
    model = network()
    model.export(tmp_path / "m.onnx", **options)
    content = (tmp_path / "m.onnx").read_bytes()
    assert b"scores/kernel" in content and b"Gemm" in content
    assert model.get_weights()[0].tobytes() in content
    assert (b"Cast" in content) == ("preprocess" in options)


def test_any_name_will_do_where_the_format_is_given(tmp_path):
    network().export(str(tmp_path / "model"), format="onnx")
    assert (tmp_path / "model").exists()


@pytest.mark.parametrize("name, options, said", [
    ("m", {}, "format='tf_saved_model'"), ("m.onnx", {"format": "litert"}, "format='litert'"),
    ("m.onnx", {"opset_version": 18}, "opset_version="), ("m.onnx", {"input_signature": [1]}, "input_signature")])
def test_other_formats_and_options_are_refused_by_name(tmp_path, name, options, said):
    with pytest.raises(NotImplementedError, match=said):
        network().export(tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


def test_after_training_the_file_has_the_new_weights(tmp_path):
    model = network()
    model.compile("sgd", "mse")
    model.fit(np.ones((8, 4), np.float32), np.ones((8, 2), np.float32), verbose=0)
    model.export(tmp_path / "m.onnx")
    assert model.get_weights()[0].tobytes() in (tmp_path / "m.onnx").read_bytes()
