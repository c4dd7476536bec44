"""Layers that are not trained."""
import json

import numpy as np
import pytest

from cornu import keras

L = keras.layers
RNG = np.random.default_rng(1)
X, Y = RNG.random((24, 5), np.float32), RNG.integers(0, 3, 24)


def make(*frozen):
    model = keras.Sequential([keras.Input((5,)), L.Dense(6, activation="relu", name="below"),
                              L.BatchNormalization(name="norm"), L.Dense(3, activation="softmax", name="head")])
    for name in frozen:
        model.get_layer(name).trainable = False
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


def changed_by_fit(model):
    """The layers whose weights a fit changes."""
    before = {w.path: w.numpy() for w in model.weights}
    model.fit(X, Y, batch_size=8, verbose=0)
    return {w.path.split("/")[0] for w in model.weights if not np.array_equal(before[w.path], w.numpy())}


def test_a_frozen_layer_keeps_its_weights_and_batch_norm_its_averages():
    assert changed_by_fit(make("below", "norm")) == {"head"}
    assert changed_by_fit(make("norm")) == {"below", "head"}
    assert changed_by_fit(make()) == {"below", "norm", "head"}


def test_before_the_first_fit_a_flag_counts_at_once_and_then_by_compile():
    model = make()
    model.layers[0].trainable = False
    assert changed_by_fit(model) == {"norm", "head"}
    model.get_layer("norm").trainable = False
    with pytest.warns(UserWarning, match="the next compile counts"):
        assert changed_by_fit(model) == {"norm", "head"}
    assert [w.path for w in model.trainable_weights] == ["head/kernel", "head/bias"]
    model.compile("adam", "sparse_categorical_crossentropy")
    assert changed_by_fit(model) == {"head"}


def test_a_second_compile_with_the_same_optimizer_counts_as_well():
    model = make()
    assert changed_by_fit(model) == {"below", "norm", "head"}
    model.get_layer("below").trainable = False
    model.compile(model.optimizer, "sparse_categorical_crossentropy")
    assert changed_by_fit(model) == {"norm", "head"}


def test_a_model_sets_all_its_layers_and_outweighs_them():
    model = make()
    model.trainable = False
    assert not any(layer.trainable for layer in model.layers) and model.trainable_weights == []
    assert len(model.non_trainable_weights) == len(model.weights) == 8
    model.get_layer("head").trainable = True
    assert model.get_layer("head").trainable_weights and not model.trainable_weights
    with pytest.warns(UserWarning, match="does not have any trainable weights"):
        model.fit(X, Y, verbose=0)
    model.trainable = True
    assert [w.trainable for w in model.get_layer("norm").weights] == [True, True, False, False]


def test_flags_are_in_configurations_files_and_copies(tmp_path):
    model = make("below")
    model.fit(X, Y, verbose=0)
    again = keras.models.model_from_json(model.to_json())
    flags = [False, True, True]
    for ending in ("keras", "h5", "safetensors"):
        model.save(tmp_path / f"model.{ending}")
    for other in (again, keras.models.clone_model(model), keras.Sequential.from_config(model.get_config()),
                  *(keras.models.load_model(tmp_path / f"model.{e}") for e in ("keras", "h5", "safetensors"))):
        assert [layer.trainable for layer in other.layers] == flags
        assert len(other.trainable_weights) == 4
    loaded = keras.models.load_model(tmp_path / "model.keras")
    loaded.get_layer("norm").trainable = False
    assert changed_by_fit(loaded) == {"head"}  # as in Keras, without another compile
    assert json.loads(loaded.to_json())["config"]["layers"][1]["config"]["trainable"] is False


def test_weights_of_a_frozen_layer_load_into_a_thawed_one():
    frozen, thawed = make("below"), make()
    thawed.set_weights(frozen.get_weights())
    assert all(np.array_equal(a, b) for a, b in zip(frozen.get_weights(), thawed.get_weights()))


def test_a_layer_that_two_models_share_is_frozen_in_both():
    shared = L.Dense(4, name="shared")
    first = keras.Sequential([keras.Input((5,)), shared, L.Dense(3, activation="softmax", name="one")])
    second = keras.Sequential([keras.Input((5,)), shared, L.Dense(3, activation="softmax", name="two")])
    shared.trainable = False
    for model, own in ((first, "one"), (second, "two")):
        model.compile("sgd", "sparse_categorical_crossentropy")
        assert changed_by_fit(model) == {own}


def test_a_model_within_a_model_is_frozen_whole():
    inner = keras.Sequential([keras.Input((5,)), L.Dense(4, name="a"), L.Dense(4, name="b")], name="inner")
    inner.trainable = False
    model = keras.Sequential([keras.Input((5,)), inner, L.Dense(3, activation="softmax", name="head")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    assert changed_by_fit(model) == {"head"}
    assert len(model.trainable_weights) == 2


def test_one_weight_is_not_frozen_by_itself():
    model = make()
    with pytest.raises(NotImplementedError, match="its layer's trainable"):
        model.weights[0].trainable = False
    model.weights[0].trainable = True


def test_summary_counts_them(capsys):
    model = make("below")
    model.summary()
    text = capsys.readouterr().out
    assert "Trainable params: 33 " in text and "Non-trainable params: 48 " in text and "Trai…" not in text


def test_summary_shows_which_are_trained():
    lines = []
    layers = [L.Dense(3, trainable=False), L.BatchNormalization(), L.ReLU(), L.Dense(2, name="a_long_name_that_is_wrapped_into_two")]
    keras.Sequential([keras.Input((4,)), *layers]).summary(show_trainable=True, print_fn=lines.append)
    table = lines[0].split("\n")
    assert table[2].endswith("┃       Param # ┃ Trai… ┃") and table[1].endswith("┳━━━━━━━┓") and table[3].endswith("╇━━━━━━━┩")
    assert [line[-5] for line in table if line.endswith("│")] == ["N", "Y", " ", "-", "Y", " "]
    tensor = keras.Input((4,))
    keras.Model(tensor, L.Dense(2, trainable=False)(tensor)).summary(show_trainable=True, print_fn=lines.append)
    assert [line[-5] for line in lines[1].split("\n") if line.endswith("│")] == ["-", "N"]


def test_batch_by_batch():
    model = make("below")
    before = model.get_weights()
    model.train_on_batch(X, Y)
    after = model.get_weights()
    assert np.array_equal(before[0], after[0]) and not np.array_equal(before[6], after[6])
