"""Keras's files: what models are saved in and loaded from."""
import json
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from cornu import keras

FIXTURES = Path(__file__).parents[1] / "fixtures" / "keras_files.npz"


def small():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(5, activation="relu"), keras.layers.Dense(3)])
    model.compile("adam", "mse")
    x = np.random.default_rng(1).random((32, 4), "float32")
    model.fit(x, x[:, :3], epochs=2, verbose=0)
    return model, x


def test_what_real_keras_saved_is_loaded(tmp_path):
    fixtures = np.load(FIXTURES)
    for ending in (".keras", ".h5"):
        path = tmp_path / f"conv{ending}"
        path.write_bytes(fixtures[f"file/conv{ending}"].tobytes())
        model = keras.models.load_model(path)
        found = model.predict(fixtures["conv/x"], verbose=0)
        np.testing.assert_allclose(found, fixtures["conv/predicted"], atol=1e-5)
        assert model.layers[0].name == "first" and model.optimizer is not None


@pytest.mark.parametrize("name", ["m.keras", "m.h5", "m.hdf5", "m.safetensors"])
def test_a_saved_model_goes_on_training_alike(tmp_path, name):
    model, x = small()
    model.save(tmp_path / name)
    other = keras.models.load_model(tmp_path / name)
    losses = [m.fit(x, x[:, :3], epochs=2, shuffle=False, verbose=0).history["loss"] for m in (model, other)]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("name", ["m.keras", "m.h5", "m.safetensors"])
def test_decay_goes_on_where_a_file_was_saved(tmp_path, name):
    model, x = small()
    with pytest.warns(DeprecationWarning, match="decay"):
        model.compile(keras.optimizers.SGD(0.1, decay=0.05, momentum=0.9, nesterov=True), "mse")
    model.fit(x, x[:, :3], epochs=2, batch_size=8, shuffle=False, verbose=0)
    model.save(tmp_path / name)
    other = keras.models.load_model(tmp_path / name)
    assert other.optimizer.learning_rate.get_config() == model.optimizer.learning_rate.get_config()
    losses = [m.fit(x, x[:, :3], epochs=2, batch_size=8, shuffle=False, verbose=0).history["loss"] for m in (model, other)]
    assert losses[0] == losses[1]


def test_weights_alone_go_into_layers_of_other_names(tmp_path):
    model, x = small()
    model.save_weights(tmp_path / "m.weights.h5")
    other, _ = small()
    other.load_weights(tmp_path / "m.weights.h5")
    assert (other.predict(x, verbose=0) == model.predict(x, verbose=0)).all()
    with pytest.raises(ValueError, match="weights alone"):
        keras.models.load_model(tmp_path / "m.weights.h5")


def named(*layers):
    return keras.Sequential([keras.Input((4,)), *(keras.layers.Dense(units, name=name) for name, units in layers)])


def equal(weights, others):
    return [bool(np.array_equal(a, b)) for a, b in zip(weights, others)]


def without_optimizer(path):
    """The file as Keras writes it once it has saved the model as .h5."""
    with zipfile.ZipFile(path) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(path, "w") as archive:
        for info, content in members:
            if info.filename == "config.json":
                config = json.loads(content)
                del config["compile_config"]["optimizer"]
                content = json.dumps(config)
            archive.writestr(info, content)
    return json.dumps(config)


def test_a_compile_config_without_optimizer_is_of_rmsprop(tmp_path):
    fixtures, path = np.load(FIXTURES), tmp_path / "m.keras"
    path.write_bytes(fixtures["file/conv.keras"].tobytes())
    before = keras.models.load_model(path)
    assert before.optimizer.iterations > 0 and not isinstance(before.optimizer, keras.optimizers.RMSprop)
    config = without_optimizer(path)
    loaded = keras.models.load_model(path)
    for found in (loaded, keras.models.model_from_json(config)):
        assert found.optimizer.get_config() == keras.optimizers.RMSprop().get_config()
        assert found.optimizer.iterations == 0 and found.metrics_names == before.metrics_names
    assert equal(loaded.get_weights(), before.get_weights()) == [True] * len(before.weights)


def unnamed(path):
    """The file as Keras 3 wrote it before it put names beside weights."""
    with zipfile.ZipFile(path) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(path, "w") as archive:
        for info, content in members:
            if info.filename.endswith(".h5"):
                assert content.count(b"name\0") > 1
                content = content.replace(b"name\0", b"nome\0")
            archive.writestr(info, content)


@pytest.mark.parametrize("name", ["m.keras", "old.keras", "m.h5", "m.weights.h5", "m.safetensors"])
def test_weights_go_by_name_where_asked(tmp_path, name):
    model = named(("first", 5), ("second", 5), ("head", 3))
    path = tmp_path / name
    model.save_weights(path) if ".weights." in name else model.save(path)
    if name == "old.keras":
        unnamed(path)
    other = named(("new", 4), ("second", 5), ("head", 3))
    with pytest.raises(ValueError, match=r"second/kernel: found shape \(5, 5\); expected \(4, 5\) \(with skip_mismatch"):
        other.load_weights(path, by_name=True)
    before = other.get_weights()
    with pytest.warns(UserWarning, match="load_weights: .*found weights for 2 of 3 layers; not in the file, and as before: "
                                         "new; of other shapes, and as before: second/kernel"):
        other.load_weights(path, by_name=True, skip_mismatch=True)
    assert equal(other.get_weights()[:3], before) == [True] * 3  # the bias of the second is 0 in both
    assert equal(other.get_weights()[4:], model.get_weights()[4:]) == [True] * 2
    with warnings.catch_warnings():  # nothing stays as it was
        warnings.simplefilter("error")
        named(("first", 5), ("second", 5)).load_weights(path, by_name=True)
    with pytest.raises(ValueError, match="found no weights for any layer of x, y"):
        named(("x", 5), ("y", 5)).load_weights(path, by_name=True)


@pytest.mark.parametrize("name", ["m.keras", "m.h5", "m.weights.h5"])
def test_a_mismatch_is_skipped_by_order(tmp_path, name):
    model, other = named(("a", 5), ("b", 3)), named(("x", 5), ("y", 2))
    path = tmp_path / name
    model.save_weights(path) if ".weights." in name else model.save(path)
    before = other.get_weights()
    with pytest.warns(UserWarning, match="found weights for 1 of 2 layers; of other shapes, and as before: y/kernel"):
        keras.saving.load_weights(other, path, skip_mismatch=True)
    assert equal(other.get_weights(), model.get_weights()[:2] + before[2:]) == [True] * 4
    with pytest.raises(ValueError, match="y/kernel: found shape"):
        other.load_weights(path)


def test_weights_without_names_of_layers_do_not_go_by_name(tmp_path):
    with pytest.raises(ValueError, match="no names of layers"):
        named(("a", 5)).save_weights(tmp_path / "n.weights.h5")
        path = tmp_path / "n.weights.h5"
        path.write_bytes(path.read_bytes().replace(b"name\0", b"nome\0"))
        named(("a", 5)).load_weights(path, by_name=True)


def test_checkpoints_are_keras_files(tmp_path):
    model, x = small()
    model.fit(x, x[:, :3], epochs=2, verbose=0, callbacks=[
        keras.callbacks.ModelCheckpoint(tmp_path / "{epoch}.keras"),
        keras.callbacks.ModelCheckpoint(tmp_path / "{epoch}.weights.h5", save_weights_only=True)])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1.keras", "1.weights.h5", "2.keras", "2.weights.h5"]
    assert zipfile.ZipFile(tmp_path / "2.keras").namelist() == ["metadata.json", "config.json", "model.weights.h5"]
    assert (keras.models.load_model(tmp_path / "2.keras").predict(x, verbose=0) == model.predict(x, verbose=0)).all()


def test_code_in_a_file_is_refused(tmp_path):
    fixtures = np.load(FIXTURES)
    for name, says in (("lambda.keras", "Lambda"), ("custom.keras", "Theirs>Dense"), ("pickled.keras", "pickled")):
        (tmp_path / name).write_bytes(fixtures[f"file/{name}"].tobytes())
        with pytest.raises((ValueError, NotImplementedError), match=says):
            keras.models.load_model(tmp_path / name)
