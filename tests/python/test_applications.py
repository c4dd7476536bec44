"""keras.applications: the library's networks as Keras's functions give them."""
import inspect
import json

import numpy as np
import pytest

from cornu import keras
from cornu.keras import applications

SMALL = {"weights": None, "include_top": False, "input_shape": (32, 32, 3), "alpha": 0.35}


def test_a_network_is_a_model_of_kerass_names():
    model = applications.MobileNetV2(weights=None, classes=5, input_shape=(64, 64, 3), alpha=0.35)
    assert isinstance(model, keras.Model)
    assert model.name == "mobilenetv2_0.35_64"
    assert model.output_shape == (None, 5)
    assert model.layers[1].name == "Conv1" and model.get_layer("block_1_depthwise").kernel_size == (3, 3)
    assert [w.name for w in model.get_layer("bn_Conv1").weights] == ["gamma", "beta", "moving_mean", "moving_variance"]


def test_arguments_and_defaults_are_kerass():
    assert list(inspect.signature(applications.ResNet50).parameters) == [
        "include_top", "weights", "input_tensor", "input_shape", "pooling", "classes", "classifier_activation", "name"]
    assert str(inspect.signature(applications.MobileNet)).startswith("(input_shape=None, alpha=1.0, depth_multiplier=1, dropout=0.001")
    assert inspect.signature(applications.EfficientNetV2B0).parameters["name"].default == "efficientnetv2-b0"


def test_layers_without_names_of_their_own_are_numbered_across_models():
    keras.utils.clear_session()
    first, second = applications.MobileNetV2(**SMALL, pooling="avg"), applications.MobileNetV2(**SMALL, pooling="avg")
    assert (first.layers[0].name, first.layers[-1].name) == ("input_layer", "global_average_pooling2d")
    assert (second.layers[0].name, second.layers[-1].name) == ("input_layer_1", "global_average_pooling2d_1")
    assert second.layers[1].name == "Conv1"


def test_a_frozen_base_trains_its_head_alone():
    base = applications.MobileNetV2(**SMALL, pooling="avg")
    base.trainable = False
    model = keras.Sequential([keras.Input((32, 32, 3)), base, keras.layers.Dense(2, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    before = [w.copy() for w in base.get_weights()]
    model.fit(np.random.default_rng(1).uniform(-1, 1, (8, 32, 32, 3)), np.arange(8) % 2, epochs=1, verbose=0)
    assert len(model.trainable_weights) == 2
    assert all(np.array_equal(a, b) for a, b in zip(before, base.get_weights()))


def test_without_a_shape_and_a_top_any_size_of_images_goes():
    base = applications.MobileNetV2(weights=None, include_top=False, alpha=0.35)
    assert base.input_shape == (None, None, None, 3) and base.name == "mobilenetv2_0.35_None"
    inputs = keras.Input((64, 96, 3))
    assert keras.Model(inputs, base(inputs)).output_shape == (None, 2, 3, 1280)
    assert applications.MobileNetV3Small(weights=None).input_shape == (None, None, None, 3)


def test_a_network_may_begin_with_a_tensor():
    inputs = keras.Input((32, 32, 3))
    scaled = applications.mobilenet_v2.preprocess_input(inputs)
    model = applications.MobileNetV2(weights=None, include_top=False, alpha=0.35, input_tensor=scaled)
    assert model.input is inputs
    assert model.output_shape == (None, 1, 1, 1280)
    assert "Conv1" in [layer.name for layer in model.layers]


def test_weights_come_from_a_file(tmp_path, monkeypatch):
    model = applications.MobileNetV2(**SMALL)
    model.save_weights(tmp_path / "model.weights.h5")
    again = applications.MobileNetV2(**{**SMALL, "weights": tmp_path / "model.weights.h5"})
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), again.get_weights()))

    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    name = "mobilenet_v2_weights_tf_dim_ordering_tf_kernels_0.35_224_no_top.h5"
    with pytest.raises(FileNotFoundError, match=f"{name}.*https://storage.googleapis.com/tensorflow/keras-applications/mobilenet_v2/"):
        applications.MobileNetV2(**{**SMALL, "weights": "imagenet"})
    (tmp_path / "models").mkdir()
    model.save_weights(tmp_path / "model.weights.h5", overwrite=True)
    (tmp_path / "model.weights.h5").rename(tmp_path / "models" / name)
    found = applications.MobileNetV2(**{**SMALL, "weights": "imagenet"})
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), found.get_weights()))


def test_efficientnets_weights_need_another_scale():
    plain = applications.EfficientNetB0(weights=None, include_top=False, input_shape=(32, 32, 3))
    assert [type(layer).__name__ for layer in plain.layers[1:4]] == ["Rescaling", "Normalization", "ZeroPadding2D"]
    with pytest.raises(FileNotFoundError, match="keras-applications/efficientnetb0_notop.h5"):
        applications.EfficientNetB0(include_top=False)


@pytest.mark.parametrize("arguments, said", [
    ({"input_shape": (16, 16, 3)}, "input_shape: found .16, 16, 3.; expected at least 32x32"),
    ({"weights": "imagenet", "classes": 10}, "classes: found 10; expected 1000"),
    ({"weights": "nothing.h5"}, "weights: found 'nothing.h5'; expected None, 'imagenet', or the path"),
    ({"pooling": "min"}, "pooling: found \"min\"; expected avg or max"),
    ({"input_shape": (64, 64)}, "input_shape: found 2 dimensions"),
    ({"input_shape": (None, 64, 3)}, "input_shape: .*open"),
])
def test_bad_arguments_are_refused_by_name(arguments, said):
    with pytest.raises(ValueError, match=said):
        applications.ResNet50(**{"weights": None, **arguments})


def test_other_arguments_are_refused():
    with pytest.raises(TypeError, match="ResNet50: got an unexpected keyword argument 'alpha'; it takes"):
        applications.ResNet50(alpha=1)
    with pytest.raises(NotImplementedError, match="NASNetLarge is not in cornu"):
        applications.NASNetLarge()


def test_pixels_are_prepared_as_kerass():
    x = np.array([[[[0, 127.5, 255]]]])
    assert applications.mobilenet_v2.preprocess_input(x).ravel().tolist() == [-1, 0, 1]
    assert np.allclose(applications.resnet50.preprocess_input(x).ravel(), [255 - 103.939, 127.5 - 116.779, -123.68])
    assert np.allclose(applications.densenet.preprocess_input(x).ravel(), [-0.485 / 0.229, (0.5 - 0.456) / 0.224, (1 - 0.406) / 0.225])
    assert applications.efficientnet.preprocess_input(x) is x
    assert applications.imagenet_utils.preprocess_input(np.zeros((1, 1, 1, 3), np.uint8), mode="tf").dtype == np.float32
    with pytest.raises(ValueError, match="mode=other"):
        applications.imagenet_utils.preprocess_input(x, mode="other")
    with pytest.raises(NotImplementedError, match="data_format"):
        applications.vgg16.preprocess_input(x, data_format="channels_first")


@pytest.mark.parametrize("module", ["mobilenet_v2", "resnet50", "densenet"])
def test_layers_prepare_pixels_as_arrays_do(module):
    prepare = getattr(applications, module).preprocess_input
    x = np.random.default_rng(1).uniform(0, 255, (2, 3, 4, 3)).astype(np.float32)
    inputs = keras.Input((3, 4, 3))
    assert np.allclose(keras.Model(inputs, prepare(inputs)).predict(x, verbose=0), prepare(x), atol=1e-4)


def test_classes_have_names_if_kerass_file_is_there(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.setattr(applications, "_classes", {})
    preds = np.eye(1000, dtype=np.float32)[[3, 7]] + np.linspace(0, 0.1, 1000, dtype=np.float32)
    with pytest.raises(FileNotFoundError, match="imagenet_class_index.json.*https://"):
        applications.resnet50.decode_predictions(preds)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "imagenet_class_index.json").write_text(json.dumps({str(i): [f"n{i}", f"name {i}"] for i in range(1000)}))
    first, second = applications.vgg16.decode_predictions(preds, top=2)
    assert [row[:2] for row in first] == [("n3", "name 3"), ("n999", "name 999")] and len(second) == 2
    assert first[0][2] == preds[0, 3]
    with pytest.raises(ValueError, match="a batch of predictions"):
        applications.vgg16.decode_predictions(preds[:, :10])


def test_a_network_survives_its_files(tmp_path):
    model = applications.MobileNetV2(**SMALL, pooling="max")
    x = np.random.default_rng(1).uniform(-1, 1, (2, 32, 32, 3))
    expected = model.predict(x, verbose=0)
    for name in ("model.keras", "model.h5", "model.safetensors"):
        model.save(tmp_path / name)
        assert np.array_equal(keras.models.load_model(tmp_path / name).predict(x, verbose=0), expected)
    again = keras.models.model_from_json(model.to_json())
    assert [layer.name for layer in again.layers] == [layer.name for layer in model.layers]
