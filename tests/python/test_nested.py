"""Models within models stay models in files and in the summary."""
import json

import numpy as np
import pytest

from cornu import keras

L = keras.layers
RNG = np.random.default_rng(2)
X, Y = RNG.random((24, 5), np.float32), RNG.integers(0, 3, 24)


def make():
    seen = keras.Input((5,), name="seen")
    inner = L.Dense(4, activation="tanh", name="inner")(L.BatchNormalization(name="norm")(seen))
    encoder = keras.Model(seen, inner, name="encoder")
    head = keras.Sequential([keras.Input((4,)), L.Dense(3, name="last"), L.Softmax(name="soft")], name="head")
    begin = keras.Input((5,), name="begin")
    both = L.Add(name="sum")([encoder(begin), encoder(L.Dense(5, name="side")(begin))])
    model = keras.Model(begin, head(both), name="outer")
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


@pytest.mark.parametrize("ending", [".keras", ".h5", ".safetensors"])
def test_files_keep_models_within_models(ending, tmp_path):
    model = make()
    model.fit(X, Y, batch_size=8, verbose=0)
    model.save(tmp_path / f"m{ending}")
    again = keras.models.load_model(tmp_path / f"m{ending}")
    assert [layer.name for layer in again.layers] == [layer.name for layer in model.layers]
    assert isinstance(again.get_layer("encoder"), keras.Model)
    assert isinstance(again.get_layer("head"), keras.Sequential)
    assert np.array_equal(again.predict(X, verbose=0), model.predict(X, verbose=0))
    assert json.loads(again.to_json())["config"] == json.loads(model.to_json())["config"]
    losses = [m.fit(X, Y, batch_size=8, shuffle=False, verbose=0).history["loss"] for m in (model, again)]
    assert losses[0] == losses[1]


def test_a_model_within_is_frozen_and_the_file_says_so(tmp_path):
    model = make()
    model.get_layer("encoder").trainable = False
    model.compile("adam", "sparse_categorical_crossentropy")
    before = model.get_layer("encoder").get_weights()
    model.fit(X, Y, batch_size=8, verbose=0)
    assert all(np.array_equal(a, b) for a, b in zip(before, model.get_layer("encoder").get_weights()))
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    assert not again.get_layer("encoder").trainable and again.get_layer("head").trainable
    assert not again.get_layer("encoder").get_layer("inner").trainable


def test_the_summary_has_a_row_for_a_model_or_its_layers_below():
    lines: list = []
    model = make()
    model.summary(print_fn=lines.append)
    assert "encoder" in lines[0] and "norm" not in lines[0]
    model.summary(print_fn=lines.append, expand_nested=True, show_trainable=True)
    for row in ("└ norm", "└ inner (Dense)", "└ last (Dense)", "└ soft"):
        assert row in lines[1]
    columns = [line.split("│")[5].strip() for line in lines[1].split("\n") if line.startswith("│") and "└" in line]
    assert columns == ["-", "Y", "Y", "Y", "-"]


def test_a_layer_of_two_models_is_shared_though_files_cannot():
    model = make()
    shared = model.get_layer("encoder").get_layer("inner")
    begin = keras.Input((5,))
    other = keras.Model(begin, L.Add()([model.get_layer("encoder")(begin), shared(begin)]))
    expected = model.get_layer("encoder").predict(X, verbose=0) + np.tanh(X @ shared.get_weights()[0] + shared.get_weights()[1])
    assert np.allclose(other.predict(X, verbose=0), expected, atol=1e-6)


LEVELS = 40  # the ways to the layer at the bottom are 2 to that power


def twice(levels):
    """A model that calls one twice, which calls one twice, and so on."""
    x = keras.Input((3,))
    model = keras.Model(x, L.Dense(3, name="bottom")(x))
    for level in range(levels):
        x = keras.Input((3,))
        model = keras.Model(x, model(model(x)), name=f"level_{level}")
    return model


def both(levels):
    """A model on two models, each on the same two, and so on."""
    x = keras.Input((3,))
    below = keras.Model(x, L.Dense(3, name="bottom")(x))
    pair = [keras.Sequential([keras.Input((3,)), below], name=f"begin_{i}") for i in range(2)]
    for level in range(levels):
        ends = []
        for i in range(2):
            x = keras.Input((3,))
            ends.append(keras.Model(x, L.Add(name=f"sum_{level}_{i}")([model(x) for model in pair]), name=f"{level}_{i}"))
        pair = ends
    return pair[0]


@pytest.mark.parametrize("make_deep", [twice, both])
def test_what_is_shared_on_every_level_is_visited_once(make_deep):
    model = make_deep(LEVELS)
    assert [w.shape for w in model.weights] == [(3, 3), (3,)] and model.count_params() == 12
    model.trainable = False
    assert not model.trainable_weights and not model.weights[0].trainable and not model.layers[1].trainable
    with pytest.raises(ValueError, match="found more than 1000 calls of layers"):
        model.predict(np.zeros((2, 3), "float32"))


@pytest.mark.parametrize("make_deep, levels", [(twice, 6), (both, 5)])
def test_a_layer_may_be_reached_in_many_ways(make_deep, levels):
    model = make_deep(levels)
    kernel, bias = (np.float64(v.numpy()) for v in model.weights)
    expected = x = np.random.default_rng(1).random((4, 3))
    for _ in range(2 ** levels if make_deep is twice else 1):
        expected = expected @ kernel + bias
    expected = expected * (1 if make_deep is twice else 2 ** levels)
    found = model.predict(np.float32(x), verbose=0)
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()


def test_a_network_has_at_most_1000_calls():
    x = y = keras.Input((1,))
    layer = L.Rescaling(1.0)
    for _ in range(999):
        y = layer(y)
    assert keras.Model(x, y).predict(np.ones((1, 1), "float32"), verbose=0) == 1
    with pytest.raises(ValueError, match="found more than 1000 calls of layers"):
        keras.Model(x, layer(y)).predict(np.ones((1, 1), "float32"), verbose=0)


def test_a_call_with_training_false_is_one_without():
    losses = []
    for training in ({}, {"training": False}):
        keras.utils.set_random_seed(4)
        seen, begin = keras.Input((5,)), keras.Input((5,))
        inner = keras.Model(seen, L.Dropout(0.5)(L.BatchNormalization()(seen), **training))
        model = keras.Model(begin, L.Dense(3, activation="softmax")(inner(begin, **training)))
        model.compile("sgd", "sparse_categorical_crossentropy")
        losses.append(model.fit(X, Y, batch_size=8, shuffle=False, verbose=0).history["loss"])
    assert losses[0] == losses[1]
